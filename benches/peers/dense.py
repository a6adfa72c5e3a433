"""Unpacks the inputs of benches/src/bin/dense.rs and runs it on one thread.

    python3 benches/peers/dense.py FOLDER

FOLDER has hlg_384k.npz, dense_hlg_8x500x500.npz and symbols_64x60.npz. NumPy is not needed.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

INPUTS = ["hlg_384k", "dense_hlg_8x500x500", "symbols_64x60"]


def unpack(folder, to):
    """The arrays of the archives without their heads, as FILE.ARRAY."""
    for name in INPUTS:
        with zipfile.ZipFile(folder / f"{name}.npz") as archive:
            for entry in archive.namelist():
                array = archive.read(entry)
                head = int.from_bytes(array[8:10], "little")
                (to / f"{name}.{entry.removesuffix('.npy')}").write_bytes(array[10 + head:])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as to:
        unpack(pathlib.Path(sys.argv[1]), pathlib.Path(to))
        command = ["cargo", "run", "--release", "-q", "-p", "kaldera-benches", "--bin", "dense", "--", to]
        environment = os.environ | {"RAYON_NUM_THREADS": "1"}
        sys.exit(subprocess.run(command, cwd=root, env=environment).returncode)


if __name__ == "__main__":
    main()
