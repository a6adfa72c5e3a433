#!/usr/bin/env python3
"""Measures `fsa` beside OpenFst, rustfst and sicada: the same OpenFst files, one process for each operation.

    python3 benches/peers/fst.py                       # 5 rounds, all programs; some three minutes
    python3 benches/peers/fst.py --rounds 1            # does everything work?
    python3 benches/peers/fst.py --only minimize       # operations whose names contain this

The lexicon L has 20,000 words and symbols for disambiguation, the grammar G is made of 180,000 n-grams and backs off with #0 (`fsa_language` writes
both); the lattice has 2500 states and 20,000 arcs. What an operation begins with is what OpenFst's commands made, so that all do the same
work. A round runs the programs one after the other; the table has the median of the rounds.

Processor time is that of the operation alone, in milliseconds, without reading and writing, and with one thread; memory is by how much the process
grew at its peak meanwhile, in megabytes. The sizes are those that `fstinfo` tells of the files written.

Needs Debian's libfst-tools and libfst-dev (without the latter, OpenFst is its commands, with all that they read and write) and a C++ compiler; rustfst and
sicada come from crates.io. All that is made lies in benches/peers/.work, which git ignores.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import machine

HERE = Path(__file__).resolve().parent
WORK = HERE / ".work/fst"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", WORK / "target"))
PEER = TARGET / "release/peer-fst"
OPENFST = WORK / "openfst"

# name: (operation, inputs, the command of OpenFst)
OPERATIONS = {
    "compose L G": ("compose", ["L", "G"], ["fstcompose"]),
    "connect L o G": ("connect", ["LG"], ["fstconnect"]),
    "determinize L": ("determinize", ["L"], ["fstdeterminize"]),
    "determinize L o G": ("determinize", ["LG"], ["fstdeterminize"]),
    "minimize det(L)": ("minimize", ["detL"], ["fstminimize", "--allow_nondet"]),
    "minimize det(L o G)": ("minimize", ["detLG"], ["fstminimize", "--allow_nondet"]),
    "shortest path L o G": ("shortestpath", ["LG"], ["fstshortestpath"]),
    "100-best, lattice": ("100-best", ["lattice"], ["fstshortestpath", "--nshortest=100"]),
}


def file(name: str) -> Path:
    return WORK / f"{name}.fst"


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def prepare():
    WORK.mkdir(parents=True, exist_ok=True)
    if not shutil.which("fstcompose"):
        sys.exit("OpenFst's commands are not there: apt-get install libfst-tools libfst-dev")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE / "fst", env=environment, check=True)
    if not OPENFST.exists():
        compiler = ["g++", "-std=c++17", "-O3", "-DNDEBUG", HERE / "fst/openfst.cc", "-o", OPENFST, "-lfst", "-ldl", "-pthread"]
        if subprocess.run([str(part) for part in compiler]).returncode:
            print("without libfst-dev OpenFst is measured with its reading and writing", file=sys.stderr)
    if not file("detLG").exists():
        run(PEER, "prepare", WORK, WORK)
        run("fstarcsort", "--sort_type=olabel", file("L"), file("L"))
        run("fstarcsort", "--sort_type=ilabel", file("G"), file("G"))
        run("fstcompose", file("L"), file("G"), file("LG"))
        run("fstdeterminize", file("L"), file("detL"))
        run("fstdeterminize", file("LG"), file("detLG"))


def commands(operation: str, inputs: list, command: list) -> dict:
    """What each program is called with; the output comes last."""
    inputs = [file(name) for name in inputs]
    openfst = [OPENFST, operation, *inputs] if OPENFST.exists() else [*command, *inputs]
    return {"ours": [PEER, "ours", operation, *inputs], "OpenFst": openfst} | {
        name: [PEER, name, operation, *inputs] for name in ("rustfst", "sicada")
    }


def measure(command: list, output: Path):
    """Processor time in ms and memory in MB, as the program tells, or of the whole process."""
    child = subprocess.Popen(
        [str(part) for part in [*command, output]],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAYON_NUM_THREADS": "1"},
    )
    answer = child.stdout.read().split()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed")
    if answer:
        return float(answer[0]), float(answer[1])
    return (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024


def sizes(path: Path) -> str:
    if not path.exists():
        return "-"
    info = subprocess.run(["fstinfo", path], capture_output=True, text=True).stdout.splitlines()
    value = {line[: line.rfind(" ")].strip(): line.split()[-1] for line in info if line}
    return f"{value['# of states']} / {value['# of arcs']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    prepare()
    names = ["ours", "OpenFst", "rustfst", "sicada"]
    print(f"{machine.heading(arguments.rounds, 'one thread')}\n")
    print("| ms (MB) | " + " | ".join(names) + " | best peer / ours | states / arcs |")
    print("|---|" + "--:|" * (len(names) + 1) + "---|")
    for title, (operation, inputs, command) in OPERATIONS.items():
        if arguments.only not in title:
            continue
        runs = {name: [] for name in names}
        outputs = {name: WORK / f"out-{name}.fst" for name in names}
        for path in outputs.values():
            path.unlink(missing_ok=True)
        for _ in range(arguments.rounds):
            for name, called in commands(operation, inputs, command).items():
                runs[name].append(measure(called, outputs[name]))
        time = {name: statistics.median(ms for ms, _ in runs[name]) for name in names}
        memory = {name: statistics.median(mb for _, mb in runs[name]) for name in names}
        best = min(time[name] for name in names[1:])
        found = {}
        for name in names:
            found.setdefault(sizes(outputs[name]), []).append(name)
        told = "; ".join(f"{size} ({', '.join(who)})" for size, who in found.items() if size != "-")
        cells = " | ".join(f"{time[name]:.1f} ({memory[name]:.0f})" for name in names)
        print(f"| {title} | {cells} | {best / time['ours']:.2f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
