"""Decodes the network's output of shared/data/realset with benches/src/bin/look_ahead.rs on one thread.

    python3 benches/peers/look_ahead.py REALSET full|20k-pruned|5k-tiny [SEARCH_BEAM [MAX_ACTIVE [always|unseen]]]

`full` is lexicon.txt with en-us.arpa.gz; the others have golden costs, which are printed beside ours. NumPy is not needed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

INPUTS = {
    "full": ("lexicon.txt", "en-us.arpa.gz"),
    "20k-pruned": ("lexicon-g2p-20k.txt", "en-us-20k-pruned.arpa.gz"),
    "5k-tiny": ("lexicon-g2p-5k.txt", "en-us-5k-tiny.arpa.gz"),
}


def unpack(archive, to):
    """The arrays of the archive without their heads."""
    with zipfile.ZipFile(archive) as archive:
        for entry in archive.namelist():
            array = archive.read(entry)
            head = int.from_bytes(array[8:10], "little")
            (to / f"{entry.removesuffix('.npy')}.f32").write_bytes(array[10 + head:])


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in INPUTS:
        sys.exit(__doc__)
    realset, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    options = sys.argv[3:] + ["20", "10000", "always"][len(sys.argv) - 3:]
    lexicon, arpa = INPUTS[name]
    golden = realset / f"golden-{name}.json"
    golden = {it["id"]: it for it in json.loads(golden.read_text())} if golden.exists() else {}
    with tempfile.TemporaryDirectory() as to:
        unpack(realset / "posteriors.npz", pathlib.Path(to))
        command = ["cargo", "run", "--release", "-q", "-p", "kaldera-benches", "--no-default-features", "--features", "rayon", "--bin", "look_ahead", "--"]
        command += [to, realset / "lexicon/tokens.txt", realset / "lexicon" / lexicon, realset / "lm" / arpa]
        environment = os.environ | {"RAYON_NUM_THREADS": "1"}
        root = pathlib.Path(__file__).resolve().parents[2]
        with subprocess.Popen([*command, *options], cwd=root, env=environment, stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                fields = line.rstrip("\n").split("\t")
                right = golden.get(fields[0])
                if right:
                    fields.insert(2, f"golden {right['total']:.4f}, ours is {float(fields[1]) - right['total']:+.4f}")
                print(*fields, sep="\t")
        sys.exit(run.returncode)


if __name__ == "__main__":
    main()
