"""What the Python peers of tensor.py have in common: lines `TIMES NAME` come in, seconds go out.

A peer has a function `case(name)` that prepares the case of this name and returns a function which does it once, or None if the
peer cannot do it.
"""

import sys
import time

LARGE = (512, 512, 256)
SMALL = (6, 3, 4, 10)
COORDINATES = 10_000_000


def index(text, new_axis=None):
    """What Python has between the brackets of `[...]`, as a tuple of slices, integers and new axes."""
    return eval(f"_[{text.strip()[1:-1]}]", {"_": _Index(), "None": new_axis})  # the names are our own


class _Index:
    def __getitem__(self, entries):
        return entries if isinstance(entries, tuple) else (entries,)


def serve(case):
    kept = None
    for line in sys.stdin:
        times, name = line.rstrip("\n").split(" ", 1)
        if kept is None or kept[0] != name:
            kept = None  # frees its memory first
            kept = (name, case(name))
        once = kept[1]
        if once is None:
            print("-", flush=True)
            continue
        start = time.perf_counter()
        for _ in range(int(times)):
            once()
        print(time.perf_counter() - start, flush=True)
