#!/usr/bin/env python3
"""Measures tensor-strided beside NumPy, TensorFlow and ndarray: the same copies, run in turn in one session, one thread each.

    python3 benches/peers/tensor.py                   # 7 rounds; a quarter of an hour, with TensorFlow's slow cases
    python3 benches/peers/tensor.py --quick           # 2 rounds: does everything work?
    python3 benches/peers/tensor.py --only transpose  # cases whose names contain this

Large cases copy from 256 MiB of float32, [512, 512, 256], into memory that was written to before. The share of memcpy is that of the
program's own plain copy, measured in the same rounds. A round does a case with every program, one after the other; the table has the best of
the rounds, since all that disturbs a copy makes it slower. What counts is the time on a processor, which Linux keeps for each thread:
so a program that waits for its turn does not lose by it. Peers are installed from PyPI and crates.io into benches/peers/.work, which git
ignores; TensorFlow takes 1.3 GB there.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = HERE / ".work"
VENV = WORK / "venv-tensor"
PYTHON = VENV / "bin/python"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

# One thread everywhere; NumPy's copies have no threads.
ENVIRONMENT = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

LARGE = {
    "[:]": 1, "[1:-1,1:-1,:]": 510 * 510 / 512**2, "[:,:,3:-5]": 248 / 256, "[:,:,::2]": 1 / 2, "[:,::2,:]": 1 / 2,
    "[::2,::2,::2]": 1 / 8, "[:,:,::3]": 86 / 256, "[:,:,::-1]": 1, "[::-1,::-1,::-1]": 1, "transpose 2,1,0": 1,
    "transpose 0,2,1": 1, "transpose 1,0,2": 1, "transpose 2,0,1": 1, "[:,:,7]": 1 / 256, "[:,7,:]": 1 / 512,
    "[:,None,:,None,::2]": 1 / 2, "fresh [:,:,::2]": 1 / 2, "fresh [::-1,::-1,::-1]": 1,
}  # fmt: skip
"""The share of the input that is read and written."""

GRADIENTS = ["grad [:,:,::2]", "grad [::2,::2,::2]", "grad [::-1,::-1,::-1]"]
SMALL = [
    "view x[None, 0:2, 2]", "spec and view x[None, 0:2, 2]", "copy x[None, 0:2, 2]", "copy into x[None, 0:2, 2]",
    "copy x[::2, :, ::-1, ::2]", "copy into x[::2, :, ::-1, ::2]",
]  # fmt: skip
COORDINATES = ["offsets to coordinates", "coordinates to offsets"]
COORDINATE_COUNT = 10_000_000
INPUT_BYTES = 512 * 512 * 256 * 4


class Program:
    """A child that measures one case at a time."""

    def __init__(self, name: str, command: list):
        self.name = name
        self.child = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, **ENVIRONMENT},
        )  # fmt: skip

    def seconds(self, case: str, times: int):
        """Processor time for doing the case `times` times, or None if the program cannot."""
        before = self.processor_time()
        self.child.stdin.write(f"{times} {case}\n")
        answer = self.child.stdout.readline().strip()
        if not answer:
            sys.exit(f"{self.name} ended at {case}")
        time.sleep(0.002)  # until it waits for the next line, and its time is accounted for
        return None if answer == "-" else self.processor_time() - before

    def processor_time(self) -> float:
        threads = Path(f"/proc/{self.child.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) * 1e-9

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def install(tensorflow: bool) -> None:
    """Builds ours and ndarray, and installs the Python peers, where that is not done yet."""
    cargo = ["cargo", "build", "--release", "--locked", "--quiet"]
    ours = ["-p", "kaldera-benches", "--bin", "tensor_cases", "--no-default-features", "--features", "rayon"]
    subprocess.run([*cargo, *ours], cwd=ROOT, check=True)
    shutil.copytree(HERE / "ndarray", WORK / "ndarray", dirs_exist_ok=True)
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--target-dir", WORK / "ndarray/target"], cwd=WORK / "ndarray", check=True
    )
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    packages = ["numpy==2.4.6"] + (["tensorflow-cpu"] if tensorflow else [])
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *packages], check=True)


def programs(tensorflow: bool) -> list:
    field = [
        Program("ours", [TARGET / "release/tensor_cases"]),
        Program("ndarray", [WORK / "ndarray/target/release/peer-ndarray"]),
        Program("NumPy", [PYTHON, HERE / "peer_numpy.py"]),
    ]
    return field + ([Program("TensorFlow", [PYTHON, HERE / "peer_tensorflow.py"])] if tensorflow else [])


def measure(field: list, cases: list, rounds: int) -> dict:
    """The seconds of every run: {case: {program: [seconds, ..]}}."""
    runs = {}
    for case in cases:
        times = 20_000 if " x[" in case else 1
        for program in field:
            if program.seconds(case, times) is not None:  # the first one makes the memory warm and does not count
                runs.setdefault(case, {})[program.name] = []
        for _ in range(rounds):
            for program in field:
                if program.name in runs[case]:
                    runs[case][program.name].append(program.seconds(case, times) / times)
        for program in field:
            program.seconds("nothing", 0)  # frees the memory of the case
        print(f"{case}: {describe(runs[case])}", file=sys.stderr)
    return runs


def describe(runs: dict) -> str:
    def unit(seconds):
        return f"{seconds * 1e3:.2f} ms" if seconds > 1e-4 else f"{seconds * 1e9:.0f} ns"

    return ", ".join(f"{name} {unit(min(all_of_it))}" for name, all_of_it in runs.items())


def table(runs: dict, names: list) -> str:
    """The best of each as a Markdown table, with the share of the program's own memcpy where elements are copied."""
    best = {case: {name: min(seconds) for name, seconds in row.items()} for case, row in runs.items()}
    copy = best.get("memcpy", {})

    def share(case, name):
        # Who has no plain copy of memory to be compared with, TensorFlow, is compared with NumPy's.
        speed = 2 * INPUT_BYTES / copy.get(name, copy.get("NumPy", 1))
        return 2 * INPUT_BYTES * LARGE[case] / best[case][name] / speed

    def cell(case, name):
        if name not in best[case]:
            return "-"
        seconds = best[case][name]
        if case in LARGE:
            return f"{seconds * 1e3:.2f} ({share(case, name):.2f})"
        if case in COORDINATES:
            return f"{seconds / COORDINATE_COUNT * 1e9:.2f}"
        return f"{seconds * 1e9:.0f}" if " x[" in case else f"{seconds * 1e3:.2f}"

    parts = []
    for title, cases in (
        ("large copies, ms (share of memcpy)", ["memcpy", *LARGE]),
        ("gradients, ms", GRADIENTS),
        ("small, ns a call", SMALL),
        ("coordinates of rank 3, ns each", COORDINATES),
    ):
        rows = [case for case in cases if case in best]
        if rows:
            lines = [f"| {title} | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
            lines += [f"| `{case}` | {' | '.join(cell(case, name) for name in names)} |" for case in rows]
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def output_of(*command) -> str:
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measures tensor-strided beside NumPy, TensorFlow and ndarray.")
    arguments.add_argument("--rounds", type=int, default=7, help="how often everything runs (default: 7)")
    arguments.add_argument("--quick", action="store_true", help="2 rounds; nothing is kept")
    arguments.add_argument("--only", default="", help="only the cases whose names contain this; nothing is kept")
    arguments.add_argument("--installed", action="store_true", help="take what was built and installed before")
    arguments.add_argument("--no-tensorflow", action="store_true", help="without TensorFlow; nothing is kept")
    chosen = arguments.parse_args()
    rounds = 2 if chosen.quick else chosen.rounds
    keep = not (chosen.quick or chosen.only or chosen.no_tensorflow)

    if not chosen.installed:
        install(not chosen.no_tensorflow)
    cases = [case for case in [*LARGE, *GRADIENTS, *SMALL, *COORDINATES] if chosen.only in case]
    field = programs(not chosen.no_tensorflow)
    heading = machine.heading(rounds, "one thread")
    runs = measure(field, ["memcpy", *cases], rounds)
    for program in field:
        program.end()

    printed = f"{heading}\n\n{table(runs, [program.name for program in field])}"
    print(printed)
    if keep:
        versions = {package["name"]: package["version"] for package in json.loads(output_of(PYTHON, "-m", "pip", "list", "--format=json"))}
        result = {
            "heading": heading,
            "versions": {
                "kaldera": output_of("git", "-C", ROOT, "describe", "--always", "--dirty"),
                "rustc": output_of("rustc", "--version"),
                "python": platform.python_version(),
                "ndarray": "0.17.2",
                **{name: versions.get(name) for name in ("numpy", "tensorflow_cpu", "tensorflow-cpu") if name in versions},
            },
            "seconds": runs,
        }
        print(f"\nkept: {machine.keep('tensor', printed, result).relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
