#!/usr/bin/env python3
"""Measures `recurrent` beside PyTorch: the same mini-batch through the same layers, run in turn in one session.

    python3 benches/peers/recurrent.py                 # 3 rounds, one thread and two; some ten minutes
    python3 benches/peers/recurrent.py --quick         # 1 round: does everything work?
    python3 benches/peers/recurrent.py --only lstm     # cases whose names contain this

64 utterances of 38,054 frames, log-normal lengths, 80 features, 512 hidden units in each layer, f32. PyTorch runs on the padded batch (its
forward pass of an LSTM is oneDNN's) and on the packed one; frames of padding do not count. A round does a case with every program, one after the
other, and the best of the rounds counts, since all that disturbs makes slower. With one thread it is the time on a processor that
counts, which Linux keeps for each thread; with two it is the time that passes. Packed backward passes grow with the square of the steps in
PyTorch, so that they are only measured where all sequences have 50 ("equal").

The share of the limit is that of the arithmetic in matrix products (a backward pass is two forward ones) over the limit of one core, which is
oneDNN's product of 512 x 512 matrices, or what --limit says. PyTorch is installed from PyPI into benches/peers/.work, which git ignores (several
GB).
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VENV = HERE / ".work/venv"
PYTHON = VENV / "bin/python"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OURS = TARGET / "release/recurrent_cases"

INPUT, HIDDEN, EQUAL = 80, 512, [50] * 64
CASES = [f"{cell} {layers} {kind}" for cell in ("lstm", "gru") for layers in (1, 2) for kind in ("forward", "forward+backward")]
CASES += ["lstm 1 forward+backward equal"]


class Program:
    """A child that measures one case at a time."""

    def __init__(self, name: str, command: list, threads: int):
        self.name, self.threads = name, threads
        variables = {name: str(threads) for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        self.child = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, **variables, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def ask(self, case: str, times: int) -> str:
        self.child.stdin.write(f"{times} {case}\n")
        answer = self.child.stdout.readline().strip()
        return answer or sys.exit(f"{self.name} ended at {case}")

    def seconds(self, case: str, times: int = 1):
        """The time of doing the case `times` times, or None if the program cannot."""
        before = self.processor_time()
        answer = self.ask(case, times)
        if answer == "-":
            return None
        time.sleep(0.002)  # until it waits for the next line, and its time is accounted for
        return self.processor_time() - before if self.threads == 1 else float(answer)

    def processor_time(self) -> float:
        threads = Path(f"/proc/{self.child.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) * 1e-9

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def install():
    cargo = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "kaldera-benches", "--bin", "recurrent_cases"]
    features = ["--no-default-features", "--features", "openblas,pure,rayon"]
    subprocess.run([*cargo, *features], cwd=ROOT, check=True)
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    if subprocess.run([PYTHON, "-c", "import torch, numpy"], capture_output=True).returncode:
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "torch", "numpy"], check=True)


def field() -> list:
    """All programs, each waiting for its lines."""
    ours = Program("ours", [OURS], 1)
    lengths = ours.ask("lengths", 0).split()
    torch = [PYTHON, HERE / "peer_torch_rnn.py"]
    return [
        ours,
        Program("torch padded", [*torch, "padded", 1, *lengths], 1),
        Program("torch packed", [*torch, "packed", 1, *lengths], 1),
        Program("ours, two threads", [OURS], 2),
        Program("torch padded, two threads", [*torch, "padded", 2, *lengths], 2),
    ]


def measure(programs: list, cases: list, rounds: int) -> dict:
    """The seconds of every run: {case: {program: [seconds, ..]}}."""
    runs = {case: {} for case in cases}
    for case in cases:
        for program in programs:
            if program.seconds(case, 0) is not None and program.seconds(case) is not None:  # the first one warms up
                runs[case][program.name] = []
        for _ in range(rounds):
            for program in programs:
                if program.name in runs[case]:
                    runs[case][program.name].append(program.seconds(case))
        for program in programs:
            program.ask("nothing 1 nothing", 0) if program.name.startswith("ours") else None  # frees the memory
        best = ", ".join(f"{name} {min(all_of_it):.3f}" for name, all_of_it in runs[case].items())
        print(f"{case}: {best} s", file=sys.stderr)
    return runs


def frames(case: str, lengths: list) -> int:
    return sum(EQUAL if case.endswith("equal") else lengths)


def arithmetic(case: str) -> float:
    """Floating-point operations in products for each frame."""
    cell, layers, kind, *_ = case.split(" ")
    gates = {"lstm": 4, "gru": 3}[cell] * HIDDEN
    inputs = [INPUT] + [HIDDEN] * (int(layers) - 1)
    forward = sum(2 * gates * (input + HIDDEN) for input in inputs)
    return forward * (3 if "backward" in kind else 1)


def table(runs: dict, lengths: list, limit: float) -> str:
    """Useful frames per second, thousands."""
    names = ["ours", "torch padded", "torch packed"]
    lines = [
        "| useful frames per second, thousands | ours | torch padded | torch packed | ours / best | share of the limit"
        " | ours, two threads | two / one | torch padded, two threads |",
        "|---|" + "--:|" * 8,
    ]
    for case, row in runs.items():
        rate = {name: frames(case, lengths) / min(seconds) for name, seconds in row.items()}

        def cell(name):
            return f"{rate[name] / 1e3:.1f}" if name in rate else "-"

        best = max(rate[name] for name in names[1:] if name in rate)
        share = rate["ours"] * arithmetic(case) / limit / 1e9
        two = "ours, two threads"
        scale = f"{rate[two] / rate['ours']:.2f}" if two in rate else "-"
        cells = [cell(name) for name in names] + [f"{rate['ours'] / best:.2f}", f"{100 * share:.0f} %"]
        cells += [cell(two), scale, cell("torch padded, two threads")]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(description="Measures `recurrent` beside PyTorch.")
    arguments.add_argument("--rounds", type=int, default=3, help="how often everything runs (default: 3)")
    arguments.add_argument("--quick", action="store_true", help="1 round; nothing is kept")
    arguments.add_argument("--only", default="", help="only the cases whose names contain this; nothing is kept")
    arguments.add_argument("--one-thread", action="store_true", help="leave out what runs on two threads; nothing is kept")
    arguments.add_argument("--installed", action="store_true", help="take what was built and installed before")
    arguments.add_argument("--limit", type=float, help="GFLOP/s of one core, instead of measuring them")
    chosen = arguments.parse_args()
    rounds = 1 if chosen.quick else chosen.rounds
    keep = not (chosen.quick or chosen.only or chosen.one_thread)

    if not chosen.installed:
        install()
    heading = machine.heading(rounds)
    programs = [program for program in field() if program.threads == 1 or not chosen.one_thread]
    lengths = [int(length) for length in programs[0].ask("lengths", 0).split()]
    limit = chosen.limit or 10 * 2 * 512**3 / min(programs[1].seconds("gemm") for _ in range(10)) / 1e9
    runs = measure(programs, [case for case in CASES if chosen.only in case], rounds)
    for program in programs:
        program.end()

    version = subprocess.run([PYTHON, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout.strip()
    heading += f", torch {version}, limit: {limit:.0f} GFLOP/s"
    printed = f"{heading}\n\n{table(runs, lengths, limit)}"
    print(printed)
    if keep:
        state = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
        result = {"heading": heading, "torch": version, "limit": limit, "kaldera": state, "seconds": runs}
        print(f"\nkept: {machine.keep('recurrent', printed, result).relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
