#!/usr/bin/env python3
"""Measures ragged-core beside k2: the same operations on the same data, run in turn in one session, one thread each.

    python3 benches/peers/k2_ragged.py                # 9 rounds; some minutes
    python3 benches/peers/k2_ragged.py --only sort    # cases whose names contain this

5 M values in 500 k rows of geometric lengths, a tenth of them empty; 10 M in 1 M rows for splits and ids. A round does a case with each program,
one after the other, some times in a row: a program that has waited for the other finds neither its data nor fresh memory in the caches, and the
first runs do not count. What counts is the time on a processor of all threads of a program, as in tensor.py; inputs are made before it, results
are given back to the system within it. Each program says once what comes out, and the two must agree.

k2 is for Python 3.9 (k2_venv.py): --python names one, or --k2 the interpreter of an environment that has it. What k2 has only in C++, transposing above all, cannot be measured so.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import machine
from k2_venv import python_with_k2
from tensor import HERE, ROOT, TARGET, Program

# What issue 3 asks: how many times as fast as k2.
ASKED = {
    "splits -> ids": 4, "splits -> ids, warm memory": 4, "ids -> splits": 4, "sum": 1.7, "max": 1.5, "argmax": 1.3, "logsumexp": 10,
    "normalize (log)": 10, "sort": 2.5, "sort, with map": 2.5, "index by all rows": 3,
    "unique, lists that differ": 3, "unique, lists that repeat": 3, "pad": 3, "pad, warm memory": 3,
}  # fmt: skip
REST = 1.3
CASES = [
    *ASKED, "remove_values_leq", "cat of four, axis 0", "cat of four, axis 1", "sum, i32", "min", "normalize (linear)", "remove_values_eq",
    "add per list", "index_select", "index_add", "ragged.index of a tensor", "index_and_sum",
]  # fmt: skip
STAND_IN = {"splits -> ids, warm memory": "splits -> ids", "pad, warm memory": "pad"}
"""k2 has no such call; what it is compared with."""
WARMING, COUNTED = 4, 4
"""Runs in a row that do not count, and such that do."""
ROUGH = "normalize (linear)"
"""Some lists have sums near 0 of values up to 10, so that the quotients tell how each rounds."""


class Peer(Program):
    """A child that does one case at a time, in steps."""

    def ask(self, line: str) -> str:
        self.child.stdin.write(line + "\n")
        answer = self.child.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"{self.name} ended at {line}")
        return answer

    def prepare(self, case: str) -> bool:
        return self.ask(f"prepare {case}") == "ready"

    def run(self) -> float:
        time.sleep(0.002)  # until it waits for the next line, and its time is accounted for
        before = self.processor_time()
        self.ask("run")
        time.sleep(0.002)
        return self.processor_time() - before


def build() -> None:
    cargo = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "kaldera-benches", "--bin", "ragged_cases"]
    subprocess.run([*cargo, "--no-default-features", "--features", "rayon"], cwd=ROOT, check=True)


def agree(case: str, ours: str, theirs: str) -> None:
    a, b = ([float(number) for number in text.split()] for text in (ours, theirs))
    if a[0] != b[0] or any(abs(x - y) > (1e-2 if case == ROUGH else 1e-6) * a[2] for x, y in zip(a[1:], b[1:])):
        print(f"{case}: ours {ours}, k2 {theirs}: they differ")


def measure(ours: Peer, k2: Peer, case: str, rounds: int) -> dict:
    """The seconds of every run."""
    field = [program for program in (ours, k2) if program.prepare(case)]
    if len(field) == 2:
        agree(case, *[program.ask("look") for program in field])
    runs = {program.name: [] for program in field}
    for _ in range(rounds):
        for program in field:
            for k in range(WARMING + COUNTED):
                program.prepare(case)
                seconds = program.run()
                if k >= WARMING:
                    runs[program.name].append(seconds)
    return runs


def table(runs: dict) -> str:
    lines = ["| | ours, ms | median | k2, ms | median | k2 / ours | of medians | asked |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for case, row in runs.items():
        ours = row["ours"]
        k2 = row.get("k2") or runs.get(STAND_IN.get(case), {}).get("k2")
        if not k2:
            continue
        times = [min(ours) * 1e3, statistics.median(ours) * 1e3, min(k2) * 1e3, statistics.median(k2) * 1e3]
        ratios = [times[2] / times[0], times[3] / times[1]]
        cells = [f"{x:.3g}" for x in [*times, *ratios, ASKED.get(case, REST)]]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measures ragged-core beside k2.")
    arguments.add_argument("--rounds", type=int, default=9, help="how often everything runs (default: 9)")
    arguments.add_argument("--only", default="", help="only the cases whose names contain this")
    arguments.add_argument("--python", default="python3.9", help="the Python 3.9 that k2 is installed for (default: python3.9)")
    arguments.add_argument("--k2", type=Path, help="the interpreter of an environment that has k2; nothing is built or installed then")
    arguments.add_argument("--ours", type=Path, default=TARGET / "release/ragged_cases", help="another build of ours")
    chosen = arguments.parse_args()
    if not chosen.k2:
        build()
    interpreter = chosen.k2 or python_with_k2(chosen.python)

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([chosen.ours, "write", folder], check=True)
        ours = Peer("ours", [chosen.ours])
        k2 = Peer("k2", [interpreter, HERE / "peer_k2_ragged.py", folder])
        heading = machine.heading(chosen.rounds, "one thread")
        runs = {case: measure(ours, k2, case, chosen.rounds) for case in CASES if chosen.only in case}
        for program in (ours, k2):
            program.end()

    print(f"{heading}\n")
    print(table(runs))


if __name__ == "__main__":
    main()
