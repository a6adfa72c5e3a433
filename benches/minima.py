#!/usr/bin/env python3
"""Prints the least and the median time of each benchmark that criterion ran last, and the bytes per second of the least.

    benches/minima.py [BEGINNING] [FOLDER]      names that begin so; default: all. FOLDER: default target/criterion

The figures of k2 are least CPU times of many repeats on a busy machine, so that what they compare with is our least time. The
median tells how busy ours was.
"""

import json
import sys
from pathlib import Path
from statistics import median


def seconds(path):
    sample = json.loads((path / "sample.json").read_text())
    return [time / count * 1e-9 for time, count in zip(sample["times"], sample["iters"])]


beginning = sys.argv[1] if len(sys.argv) > 1 else ""
folder = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).parent.parent / "target/criterion")
print(f"{'':64} {'least, ms':>10} {'median, ms':>10} {'GiB/s':>7}")
for description in sorted(folder.glob("**/new/benchmark.json")):
    benchmark = json.loads(description.read_text())
    if not benchmark["full_id"].startswith(beginning):
        continue
    times = seconds(description.parent)
    volume = (benchmark["throughput"] or {}).get("Bytes")
    rate = f"{volume / min(times) / 2**30:7.1f}" if volume else ""
    print(f"{benchmark['full_id']:64} {1e3 * min(times):10.4f} {1e3 * median(times):10.4f} {rate}")
