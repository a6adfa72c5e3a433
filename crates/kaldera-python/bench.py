"""Measures the wheel beside other packages, and prints a table: CPU time, one thread.

    python bench.py [--site FOLDER]... [--library PROGRAM] [--wheel FILE] [--rounds N] [WORD]...

Peers are what is installed of asrfront, kaldi-native-fbank, torchaudio, kaldiio and torch, in this
environment or in the site-packages of others that --site names. --library is
target/release/examples/fbank_hour (`cargo build --release --example fbank_hour`), --wheel the file
whose size to print. Rows that have one of the WORDs are measured, all without one. Each round
measures ours and the peers in turn; times are the least of the rounds.
"""

import argparse
import contextlib
import functools
import importlib.util
import os
import pathlib
import platform
import re
import site
import subprocess
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import kaldera


def has(module):
    return importlib.util.find_spec(module) is not None


def seconds(function):
    """Those that a function returns, or those that it took, without freeing its result."""
    began = time.process_time()
    result = function()
    took = time.process_time() - began
    return result if isinstance(result, float) else took


def each(function, arguments):
    """Calls a function with each of its arguments, and keeps no result."""
    for argument in arguments:
        function(argument)


def milliseconds(value):
    """In three digits."""
    return f"{1000 * value:,.0f}" if value >= 0.1 else f"{1000 * value:.3g}"


class Table:
    """Rows of ours and of peers, printed as they come."""

    def __init__(self, rounds, words):
        self.rounds, self.words = rounds, words
        print("| work | ours, ms | peer, ms | peer / ours |\n|---|--:|--:|--:|", flush=True)

    def wants(self, *names):
        return not self.words or any(word in name for word in self.words for name in names)

    def row(self, work, ours, peers, rounds=None):
        """``ours`` and each of ``peers`` (name: function) return their seconds, or take them."""
        if not self.wants(work, *peers):
            return
        best = {name: float("inf") for name in ["", *peers]}
        for _ in range(rounds or self.rounds):
            for name, function in [("", ours), *peers.items()]:
                best[name] = min(best[name], seconds(function))
        mine = best.pop("")
        for name, least in (best or {"-": None}).items():
            peer = "-" if least is None else f"{milliseconds(least)}, {name}"
            ratio = "-" if least is None else f"{least / mine:.2f}"
            print(f"| {work} | {milliseconds(mine)} | {peer} | {ratio} |", flush=True)


def features(table, library):
    numbers = np.arange(3600 * 16000, dtype=np.int32)
    hour = ((numbers * 7919) % 4001 - 2000).astype(np.int16)
    floats = hour.astype(np.float32)
    unit = floats / 32768
    parts = np.split(hour, 360)
    fbank = kaldera.Fbank(num_mel_bins=80, dither=0)
    peers = {}
    if library:

        def rust():
            said = subprocess.run([library], capture_output=True, text=True, check=True).stdout
            return float(re.search(r": ([0-9.]+) s", said)[1])

        peers["the Rust library"] = rust
    if has("asrfront"):
        import asrfront

        peers["asrfront"] = lambda: asrfront.sensevoice.fbank_raw(unit)
    table.row("fbank-80 of an hour, one array", lambda: fbank.compute(hour), peers)
    one_by_one = {
        "fbank-80": (kaldera.Fbank(num_mel_bins=80, dither=0, window_type="hamming"), lambda: asrfront.sensevoice.fbank_raw),
        "Whisper-80": (kaldera.LogMel(preset="whisper"), lambda: functools.partial(asrfront.whisper.log_mel, pad_or_trim=False)),
        "Qwen3-ASR: 128": (kaldera.LogMel(preset="qwen3-asr"), lambda: asrfront.qwen3_asr.log_mel),
        "Gemma 4: 128": (kaldera.LogMel(preset="gemma4"), lambda: asrfront.gemma4.log_mel),
    }
    units = np.split(unit, 360)
    for name, (ours, peer) in one_by_one.items():
        beside = {"asrfront": lambda compute=peer: each(compute(), units)} if has("asrfront") else {}
        table.row(f"{name} of an hour, 360 recordings one by one", lambda ours=ours: each(ours.compute, parts), beside)
    slow = {}
    if has("kaldi_native_fbank"):
        import kaldi_native_fbank as knf

        options = knf.FbankOptions()
        options.frame_opts.dither = 0
        options.mel_opts.num_bins = 80

        def frames():
            for part in parts:
                stream = knf.OnlineFbank(options)
                stream.accept_waveform(16000, part.astype(np.float32))
                stream.input_finished()
                np.stack([stream.get_frame(i) for i in range(stream.num_frames_ready)])

        slow["kaldi-native-fbank"] = frames
    if has("torchaudio"):
        import torch
        import torchaudio

        torch.set_num_threads(1)
        tensors = [torch.from_numpy(part.astype(np.float32))[None] for part in parts]

        def compliance():
            for tensor in tensors:
                torchaudio.compliance.kaldi.fbank(tensor, num_mel_bins=80, dither=0.0)

        slow["torchaudio"] = compliance
    table.row(
        "fbank-80 of an hour, 360 recordings", lambda: fbank.compute(parts, threads=1), slow, min(2, table.rounds)
    )
    others = {
        "from float32": lambda: fbank.compute(floats),
        "from float32 in [-1, 1], scale=32768": lambda: fbank.compute(unit, scale=32768),
        "360 recordings, flat": lambda: fbank.compute(parts, threads=1, output="flat"),
        "360 recordings, padded": lambda: fbank.compute(parts, threads=1, output="padded"),
    }
    for name, work in others.items():
        table.row(f"fbank-80 of an hour, {name}", work, {})


def tables(table):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        folder = pathlib.Path(folder)
        rows = np.random.default_rng(0).normal(size=(200, 80)).astype(np.float32)
        for frames in (200, 5):
            work = f"load_scp, 10,000 matrices of {frames} x 80"
            if not table.wants(work, "kaldiio"):
                continue
            matrices = {f"utt{i:05}": rows[:frames] for i in range(10_000)}
            kaldera.save_ark(folder / "a.ark", matrices, scp=folder / "a.scp")

            def read(load, frames=frames):
                for _, matrix in load(str(folder / "a.scp")).items():
                    assert matrix.shape == (frames, 80)

            peers = {}
            if has("kaldiio"):
                import kaldiio

                peers["kaldiio"] = lambda: read(kaldiio.load_scp)
            table.row(work, lambda: read(kaldera.load_scp), peers)


def losses(table):
    if not has("torch") or not table.wants("ctc_loss, forward and backward", "ctc_loss with log_softmax"):
        return
    import torch

    import kaldera.torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    logits = torch.randn(500, 16, 500, requires_grad=True)
    targets = torch.randint(1, 500, (16, 60))
    frames, labels = torch.full((16,), 500), torch.full((16,), 60)
    log_probs = logits.log_softmax(-1).detach().requires_grad_()

    def alone(function):
        torch.autograd.grad(function(log_probs, targets, frames, labels), log_probs)

    def whole(function):
        torch.autograd.grad(function(logits.log_softmax(-1), targets, frames, labels), logits)

    peer = torch.nn.functional.ctc_loss
    ours = kaldera.torch.ctc_loss
    work = "ctc_loss, forward and backward, 16 x 500 x 500, 60 labels"
    table.row(work, lambda: alone(ours), {"torch": lambda: alone(peer)})
    table.row("ctc_loss with log_softmax", lambda: whole(ours), {"torch": lambda: whole(peer)})


def package(table, wheel):
    def imported(module):
        script = f"import time, numpy; t = time.process_time(); import {module}; print(time.process_time() - t)"
        return lambda: float(subprocess.check_output([sys.executable, "-c", script]))

    table.row("import kaldera, after NumPy", imported("kaldera"), {})
    if wheel:
        print(f"\n{os.path.basename(wheel)}: {os.path.getsize(wheel) / 1e6:.2f} MB")


def machine():
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", action="append", default=[], help="site-packages of an environment with peers")
    parser.add_argument("--library", help="target/release/examples/fbank_hour")
    parser.add_argument("--wheel", help="the wheel whose size to print")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("word", nargs="*")
    arguments = parser.parse_args()
    for folder in arguments.site:
        site.addsitedir(folder)
    load = os.getloadavg()[0]
    table = Table(arguments.rounds, arguments.word)
    features(table, arguments.library)
    tables(table)
    losses(table)
    package(table, arguments.wheel)
    print(f"\n{machine()}, {os.cpu_count()} CPUs, load before: {load:.1f}, rounds: {arguments.rounds}", end=", ")
    print(f"Python {platform.python_version()}")
    for name in ["numpy", "asrfront", "kaldi_native_fbank", "torch", "torchaudio", "kaldiio"]:
        if has(name):
            with contextlib.suppress(Exception):
                from importlib.metadata import version

                print(f"{name.replace('_', '-')} {version(name.replace('_', '-'))}", end=", ")
    print()


if __name__ == "__main__":
    main()
