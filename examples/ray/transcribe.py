"""Transcripts of a corpus by Ray Data on two workers, written as Parquet.

    python transcribe.py MODEL [--recordings 40] [--command target/release/kaldera]

Makes recordings, three of them damaged, maps kaldera.ray.Transcribe over them, and writes Parquet
with the columns path, text, words and error. It reads the files again and compares the texts with
the texts of the command `kaldera transcribe`. Needs `pip install ./crates/kaldera-python 'ray[data]'`.
"""

import argparse
import pathlib
import subprocess
import tempfile
import time

import pyarrow.parquet

import kaldera.ray
import ray
from features import WORKERS, make_corpus, start_ray


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--recordings", type=int, default=40)
    parser.add_argument("--command", help="the program kaldera, to compare with")
    arguments = parser.parse_args()
    model = pathlib.Path(arguments.model).resolve()
    start_ray()
    with tempfile.TemporaryDirectory(prefix="kaldera-ray-") as folder:
        folder = pathlib.Path(folder)
        corpus, output = folder / "corpus", folder / "transcripts"
        damaged = make_corpus(corpus, arguments.recordings)

        began = time.perf_counter()
        files = ray.data.read_binary_files(str(corpus), include_paths=True, override_num_blocks=8)
        transcripts = files.map_batches(
            kaldera.ray.Transcribe, fn_constructor_args=[str(model)], batch_size=8, compute=WORKERS
        )
        transcripts.write_parquet(str(output))
        seconds = time.perf_counter() - began

        rows = pyarrow.parquet.read_table(output).sort_by("path").to_pylist()
        errors = {pathlib.Path(row["path"]).stem: row["error"] for row in rows if row["error"]}
        print(f"two workers: {len(rows)} rows of {', '.join(rows[0])} as Parquet, {len(errors)} damaged, {seconds:.1f} s")
        for key, error in errors.items():
            print(f"  {key}: {error}")
        assert len(rows) == arguments.recordings and set(errors) == damaged

        if arguments.command is None:
            print("left out: the texts of the command, as there is no --command")
        else:
            command = [arguments.command, "transcribe", "-q", model, corpus]
            lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
            found = [f"{pathlib.Path(row['path']).stem} {row['text']}".strip() for row in rows if not row["error"]]
            assert lines == found, (lines, found)
            print(f"equal to the {len(lines)} texts of the command")
    ray.shutdown()


if __name__ == "__main__":
    main()
