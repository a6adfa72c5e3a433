"""Features of a corpus by Ray Data on two workers, one of which is killed on the way.

    python features.py [--recordings 400] [--command target/release/kaldera]

Makes recordings, three of them damaged, maps kaldera.ray.ExtractFeatures over them, writes an
archive, and compares it with the archive of the command `kaldera features`. Needs `pip install ./crates/kaldera-python 'ray[data]'`.
"""

import argparse
import logging
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import wave

import numpy as np
import ray

import kaldera
import kaldera.ray

RATE = 16000
WORKERS = ray.data.ActorPoolStrategy(size=2)
OPTIONS = {"num_mel_bins": 80, "dither": 0}


def make_corpus(folder, number):
    """WAV files of 1 to 12 s; returns the keys of those that are damaged."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    damaged = {f"utt{i:05}": kind for i, kind in zip([3, number // 2, number - 2], ["empty", "cut", "text"])}
    for i in range(number):
        key, samples = f"utt{i:05}", int(rng.integers(1 * RATE, 12 * RATE))
        tones = np.sin(np.cumsum(rng.uniform(0.05, 0.2, samples // 400 + 1).repeat(400)[:samples]))
        audio = np.round(3000 * tones + rng.normal(0, 100, samples)).astype("<i2")
        path = folder / f"{key}.wav"
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, RATE, samples, "NONE", ""))
            file.writeframes(audio.tobytes())
        if damaged.get(key) == "empty":
            path.write_bytes(b"")
        elif damaged.get(key) == "cut":
            path.write_bytes(path.read_bytes()[:9000])
        elif damaged.get(key) == "text":
            path.write_text("no audio\n")
    return set(damaged)


def start_ray():
    """Starts a cluster of three processors: one is for reading, as the two workers keep theirs."""
    # Without a size the object store takes 30 % of the memory.
    ray.init(
        num_cpus=3,
        include_dashboard=False,
        object_store_memory=512 << 20,
        log_to_driver=False,
        logging_level="ERROR",
    )
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    ray.data.DataContext.get_current().enable_progress_bars = False


class KilledOnce(kaldera.ray.ExtractFeatures):
    """Its process is killed in the middle of the first batch that any of them takes."""

    def __init__(self, marker, **options):
        super().__init__(**options)
        self.marker = pathlib.Path(marker)

    def __call__(self, batch):
        result = super().__call__(batch)
        try:
            self.marker.touch(exist_ok=False)
        except FileExistsError:
            return result
        self.marker.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)


def extract(corpus, mapper, **arguments):
    """Features and errors by key, of two workers."""
    began = time.perf_counter()
    files = ray.data.read_binary_files(str(corpus), include_paths=True, override_num_blocks=8)
    mapped = files.map_batches(mapper, fn_constructor_kwargs=arguments, batch_size=16, compute=WORKERS)
    features, errors = {}, {}
    for row in mapped.iter_rows():
        key = pathlib.Path(row["path"]).stem
        if row["error"]:
            errors[key] = row["error"]
        else:
            features[key] = row["features"]
    return features, errors, time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, default=400)
    parser.add_argument("--command", help="the program kaldera, to compare with")
    arguments = parser.parse_args()
    start_ray()
    with tempfile.TemporaryDirectory(prefix="kaldera-ray-") as folder:
        folder = pathlib.Path(folder)
        corpus, archive = folder / "corpus", folder / "ray.ark"
        damaged = make_corpus(corpus, arguments.recordings)

        features, errors, seconds = extract(corpus, kaldera.ray.ExtractFeatures, kind="fbank", **OPTIONS)
        frames = sum(map(len, features.values()))
        print(f"two workers: {len(features)} recordings, {frames} frames, {len(errors)} damaged, {seconds:.1f} s")
        for key in sorted(errors):
            print(f"  {key}: {errors[key]}")
        assert set(errors) == damaged and len(features) == arguments.recordings - len(damaged)
        kaldera.save_ark(archive, sorted(features.items()), scp=folder / "ray.scp")

        marker = folder / "killed"
        again, errors_again, seconds = extract(corpus, KilledOnce, marker=str(marker), kind="fbank", **OPTIONS)
        print(f"process {marker.read_text()} was killed: the same features in {seconds:.1f} s")
        assert errors_again == errors and again.keys() == features.keys()
        assert all(np.array_equal(again[key], features[key]) for key in features)

        if arguments.command is None:
            print("left out: the archive of the command, as there is no --command")
        else:
            options = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items()]
            made = folder / "command.ark"
            done = subprocess.run(
                [arguments.command, "features", "-q", "--kind", "fbank", *options, "-o", made, corpus],
                capture_output=True,
                text=True,
            )
            assert made.read_bytes() == archive.read_bytes(), done.stderr
            print(f"equal to the archive of the command, {made.stat().st_size} bytes")
    ray.shutdown()


if __name__ == "__main__":
    main()
