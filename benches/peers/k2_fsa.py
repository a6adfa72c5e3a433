#!/usr/bin/env python3
"""Measures `fsa` beside k2: the same FSAs, one operation after the other, both on one thread, in turn.

    python3 benches/peers/k2_fsa.py                    # 5 rounds; some three minutes
    python3 benches/peers/k2_fsa.py --rounds 1         # does everything work?
    python3 benches/peers/k2_fsa.py --only sort        # operations whose names contain this

In each round, ours, ours with two threads, and k2 do the operation ten times (five times where k2 takes long) after as many runs that do not count, since a program that has waited
finds its memory cold; each time on FSAs of which nothing is known yet. The table has the medians of the rounds' medians, in milliseconds: wall time of ours, processor time of k2, which has threads of its own in `connect`.

Needs Python 3.9, for which the last k2 in PyPI is made (k2_venv.py): --python names it.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import machine
from k2_venv import python_with_k2

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = HERE / ".work/k2"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OURS = TARGET / "release/fsa_cases"

# name: what it is, and how many runs are a round
CASES = {
    "construct": ("construct and properties, 1 M arcs", 10),
    "arc_sort": ("arc_sort, 1 M arcs", 10),
    "connect": ("connect, 1 M arcs", 5),
    "top_sort": ("top_sort, 1 M arcs", 10),
    "total_log": ("total scores, log, f64, 1 M arcs", 10),
    "gradient": ("the same with its gradient", 10),
    "posteriors": ("arc posteriors (forward, backward), log, f64, 1 M arcs", 5),
    "total_tropical": ("total scores, tropical, f64, 1 M arcs", 10),
    "shortest_path": ("shortest_path, 1 M arcs", 10),
    "random_paths": ("100 random paths, 1 M arcs", 5),
    "remove_epsilon": ("remove_epsilon, 200 k arcs", 5),
    "determinize": ("determinize, 20,000 words of 8 (one FSA)", 10),
    "intersect": ("ctc_topo of 499 tokens with 64 transcripts of 60", 20),
}


class Program:
    """A process that does operations on demand."""

    def __init__(self, command: list, threads: int):
        count = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "MKL", "RAYON")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([str(part) for part in command], env={**os.environ, **count}, **pipes)

    def seconds(self, times: int, name: str) -> list:
        print(times, name, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args[0]} does not know how to do {name}")
        return [float(second) for second in answer.split()]


def k2_runs():
    """What `fsa_cases` is for ours."""
    import gc

    import k2
    import numpy
    import torch

    import _k2  # it does not find PyTorch's libraries before k2 has loaded them

    torch.set_num_threads(1)
    gc.disable()
    tensors = {path.stem: torch.from_numpy(numpy.fromfile(path, dtype="<i4")) for path in WORK.glob("*.i32")}

    def arcs(name):
        fsas = _k2.fsa_from_tensor(tensors[name])
        return fsas, _k2.get_fsa_vec_basic_properties(fsas)

    topology, of_topology = arcs("topology")

    def gradient(fsas):
        fsas.scores.requires_grad_(True)
        fsas.get_tot_scores(use_double_scores=True, log_semiring=True).sum().backward()

    def objects(name):
        return k2.Fsa(tensors[name])

    # name: (what makes the input, the input, the operation)
    cases = {
        "construct": (lambda name: name, "unsorted", arcs),
        "arc_sort": (arcs, "unsorted", lambda fsas: _k2.arc_sort(fsas[0])),
        "connect": (arcs, "unsorted", lambda fsas: _k2.connect(fsas[0])),
        "top_sort": (arcs, "connected", lambda fsas: _k2.top_sort(fsas[0])),
        "total_log": (objects, "top_sorted", lambda fsas: fsas.get_tot_scores(True, True)),
        "gradient": (objects, "top_sorted", gradient),
        "posteriors": (objects, "top_sorted", lambda fsas: fsas.get_arc_post(True, True)),
        "total_tropical": (objects, "top_sorted", lambda fsas: fsas.get_tot_scores(True, False)),
        "shortest_path": (objects, "top_sorted", lambda fsas: k2.shortest_path(fsas, True)),
        "random_paths": (objects, "top_sorted", lambda fsas: k2.random_paths(fsas, True, 100)),
        "remove_epsilon": (arcs, "with_epsilons", lambda fsas: _k2.remove_epsilon(*fsas)),
        # Of a vector with one FSA, k2 1.23.4 ends by a segmentation fault.
        "determinize": (lambda name: objects(name)[0], "word_trie", k2.determinize),
        "intersect": (arcs, "transcripts", lambda fsas: _k2.intersect(topology, of_topology, *fsas)),
    }
    for line in sys.stdin:
        times, name = line.split()
        make, source, run = cases[name]
        seconds = []
        for _ in range(int(times)):
            fsas = make(source)
            begin = time.process_time()
            result = run(fsas)
            seconds.append(time.process_time() - begin)
            del result, fsas
        print(*seconds, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--python", default="python3.9")
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    build = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "kaldera-benches", "--bin", "fsa_cases"]
    subprocess.run([*build, "--no-default-features", "--features", "rayon"], cwd=ROOT, check=True)
    subprocess.run([OURS, WORK], check=True)
    python = python_with_k2(arguments.python)
    one, two = Program([OURS], 1), Program([OURS], 2)
    k2 = Program([python, __file__, "k2"], 1)
    print(f"{machine.heading(arguments.rounds)}\n")
    print("| ms, cold | ours | k2 | k2 / ours | ours, two threads | one / two |\n|---|--:|--:|--:|--:|--:|")
    for name, (title, times) in CASES.items():
        if arguments.only not in name:
            continue
        runs = {program: [] for program in (one, two, k2)}
        for round in range(-1, arguments.rounds):
            for program, medians in runs.items():
                seconds = median(program.seconds(2 * times, name)[times:])
                if round >= 0:  # the first one only fills caches
                    medians.append(1e3 * seconds)
        ours, theirs, both = (median(runs[program]) for program in (one, k2, two))
        print(f"| {title} | {ours:.3g} | {theirs:.3g} | {theirs / ours:.1f} | {both:.3g} | {ours / both:.2f} |", flush=True)


if __name__ == "__main__":
    k2_runs() if sys.argv[1:] == ["k2"] else main()
