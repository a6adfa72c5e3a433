#!/usr/bin/env python3
"""Measures PyTorch on what benches/benches/lod.rs measures: packing and unpacking of sequences, pooling, softmax. One thread.

    python3 benches/peers/lod.py            # after: RAYON_NUM_THREADS=1 cargo bench -p kaldera-benches --bench lod

Prints the least and the median of the repeats, in milliseconds, and GB/s of what must be read and written. PyTorch is installed from PyPI
into benches/peers/.work, which git ignores (several GB).
"""

import math
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

WORK = Path(__file__).resolve().parent / ".work"
VENV = WORK / "venv"
REPEATS = 9


def in_venv():
    """Starts this again with PyTorch at hand, installing it the first time."""
    if not (VENV / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    python = VENV / "bin/python"
    if subprocess.run([python, "-c", "import torch, numpy"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "torch", "numpy"], check=True)
    os.execve(python, [str(python), __file__], {**os.environ, "KALDERA_PEER": "1", "OMP_NUM_THREADS": "1"})


def measure(name, volume, call):
    call()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    rate = f"{volume / min(times) / 1e9:6.1f}" if volume else ""
    print(f"{name:50} {1e3 * min(times):9.3f} {1e3 * median(times):9.3f} {rate}", flush=True)


def speech_lengths(rows, count):
    """As in lod.rs: log-normal, median 600, sigma 0.5, cut to 200..1600; other random numbers."""
    import numpy as np

    random = np.random.default_rng(20261121)
    lengths = []
    while rows > 0 and len(lengths) < count:
        length = int(min(max(600 * math.exp(0.5 * random.standard_normal()), 200), 1600))
        lengths.append(min(length, rows))
        rows -= lengths[-1]
    return lengths


def main():
    import torch
    from torch.nn.utils import rnn

    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread; least ms, median ms, GB/s")
    with torch.no_grad():
        lengths = speech_lengths(10**9, 64)
        for width in (80, 512):
            x = torch.randn(sum(lengths), width)
            volume = 2 * x.numel() * 4
            out = torch.empty_like(x)
            measure(f"copy, {width}", volume, lambda: out.copy_(x))
            parts = list(x.split(lengths))
            measure(f"pack_sequence, {width}", volume, lambda: rnn.pack_sequence(parts, enforce_sorted=False))
            packed = rnn.pack_sequence(parts, enforce_sorted=False)

            def unpack():
                padded, sizes = rnn.pad_packed_sequence(packed, batch_first=True)
                return torch.cat([row[:size] for row, size in zip(padded, sizes)])

            measure(f"pad_packed_sequence and cat, {width}", volume, unpack)
            index = torch.randperm(len(x))
            measure(f"index_select into warm memory, {width}", volume, lambda: torch.index_select(x, 0, index, out=out))
        lengths = torch.tensor(speech_lengths(10**6, 10**9))
        x = torch.randn(10**6, 64)
        ids = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
        wide_ids = ids[:, None].expand(-1, 64)
        zeros = torch.zeros(len(lengths), 64)
        measure("sum: index_add_", x.numel() * 4, lambda: torch.zeros_like(zeros).index_add_(0, ids, x))
        measure("sum: segment_reduce", x.numel() * 4, lambda: torch.segment_reduce(x, "sum", lengths=lengths))
        measure("max: segment_reduce", x.numel() * 4, lambda: torch.segment_reduce(x, "max", lengths=lengths))
        lowest = torch.full_like(zeros, -math.inf)

        def amax():
            return lowest.clone().scatter_reduce_(0, wide_ids, x, "amax")

        measure("max: scatter_reduce amax", x.numel() * 4, amax)

        def softmax():
            e = (x - amax()[ids]).exp_()
            return e.div_(torch.zeros_like(zeros).index_add_(0, ids, e)[ids])

        measure("softmax of each column, composed", 2 * x.numel() * 4, softmax)


if __name__ == "__main__":
    main() if os.environ.get("KALDERA_PEER") else in_venv()
