#!/usr/bin/env python3
"""Measures Kaldera's features beside its peers: the same hour of speech, read from and written to a RAM disk, run in turn.

    python3 benches/peers/run.py                 # 7 rounds over one hour of audio; some eight minutes when all is installed
    python3 benches/peers/run.py --quick         # 1 round over six minutes of audio: does everything work? Nothing is kept
    python3 benches/peers/run.py --torchaudio    # with torchaudio too (installs several GB from PyPI)
    python3 benches/peers/run.py --kaldera PATH  # this binary of ours; nothing is built

Every round runs every contestant once, so that a slow moment of the machine affects them all; the table has the medians of CPU
time, user + system. One thread each. A contestant that takes more than 20 s of CPU counts once, in the first round. The peers are
installed from PyPI into benches/peers/.work, which git ignores. The printed table goes into benches/README.md as it is; it and
the seconds of every run are kept in benches/runs/DATE-MACHINE/features.{txt,json}.

Needs Python 3.9 or newer with venv, espeak-ng and sox, and cargo unless --kaldera is given; with GNU time (Debian: time) the table
also has the memory.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import audio
import machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = HERE / ".work"
RAM_DISK = Path("/dev/shm")
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PYTHON = WORK / "venv/bin/python"

OURS = "ours"
PEERS = {"asrfront": "peer_asrfront.py", "kaldi-native-fbank": "peer_knf.py", "torchaudio": "peer_torchaudio.py"}
PACKAGES = ["asrfront==0.2.2", "kaldi-native-fbank==1.23.0", "numpy"]
TORCHAUDIO = ["torch==2.5.1", "torchaudio==2.5.1"]

WHOLE_FRAMES = 998  # of 25 ms every 10 ms in 10 s, whole frames only
PADDED_FRAMES = 1000  # one for each 10 ms
SLOW = 20.0  # CPU seconds


@dataclass
class Work:
    """What a row of the table is about."""

    title: str
    dim: int
    ours: list  # arguments of the command; {scp} and {out} are the files
    peers: dict  # name: the KIND it is called with
    frames: int = WHOLE_FRAMES


def works() -> list:
    tables = ["scp:{scp}", "ark:{out}"]
    fbank = ["compute-fbank-feats", "--num-mel-bins=80"]
    native = ["features", "--jobs", "1", "-o", "{out}", "{scp}"]
    return [
        Work("fbank-80", 80, [*fbank, "--dither=0", *tables], {name: "fbank" for name in PEERS}),
        Work("fbank-80, dither 1", 80, [*fbank, "--dither=1", *tables], {}),
        Work("MFCC-13", 13, ["compute-mfcc-feats", "--dither=0", *tables], {"kaldi-native-fbank": "mfcc", "torchaudio": "mfcc"}),
        Work(
            "MFCC-13, CMVN, deltas: 39", 39, [*native, "--kind", "mfcc", "--cmvn", "utterance", "--deltas"],
            {"kaldi-native-fbank": "mfcc-cmvn-deltas"},
        ),
        Work("PLP-13", 13, ["compute-plp-feats", "--dither=0", *tables], {}),
        Work("spectrogram-257", 257, ["compute-spectrogram-feats", "--dither=0", *tables], {}),
        Work("pitch, raw: 2", 2, ["compute-kaldi-pitch-feats", *tables], {}),
        Work("pitch, processed: 3", 3, ["compute-and-process-kaldi-pitch-feats", *tables], {"kaldi-native-fbank": "pitch"}),
        Work(
            "Whisper-80", 80, [*native, "--kind", "whisper"],
            {"asrfront": "whisper", "kaldi-native-fbank": "whisper"}, PADDED_FRAMES,
        ),
        Work("Whisper-128, Qwen3-ASR", 128, [*native, "--preset", "qwen3-asr"], {"asrfront": "qwen3-asr"}, PADDED_FRAMES),
        Work("SenseVoice: 560", 560, [*native, "--preset", "sensevoice"], {"asrfront": "sensevoice"}, -(-WHOLE_FRAMES // 6)),
        Work("Gemma 4: 128", 128, [*native, "--preset", "gemma4"], {"asrfront": "gemma4"}, PADDED_FRAMES - 1),
        Work("NeMo-80", 80, [*native, "--preset", "nemo-80"], {}, PADDED_FRAMES),
    ]  # fmt: skip


@dataclass
class Contestant:
    """A program that turns the recordings of a wav.scp into one file of features."""

    name: str
    work: str
    command: list
    bytes_per_file: int
    threads: int = 1
    self_timed: bool = False  # prints its own CPU seconds, without its start-up

    @property
    def key(self):
        return self.name, self.work, self.threads


def contestants(kaldera: Path, torchaudio: bool) -> list:
    """Everything that is measured, ours first."""
    field = []
    for work in works():
        size = 4 * work.frames * work.dim
        field.append(Contestant(OURS, work.title, [kaldera, *work.ours], size))
        for name, kind in work.peers.items():
            if name != "torchaudio" or torchaudio:
                field.append(Contestant(name, work.title, [PYTHON, HERE / PEERS[name], kind, "{scp}", "{out}"], size, self_timed=True))
    for jobs in (1, 2):
        command = [kaldera, "features", "--kind", "fbank", "--num-mel-bins=80", "--jobs", str(jobs), "-o", "{out}", "{scp}"]
        field.append(Contestant(OURS, THREADS, command, 4 * WHOLE_FRAMES * 80, threads=jobs))
    return field


THREADS = "fbank-80, features --jobs"
"""Not a row of the table but the line about threads."""


# --- Installing -------------------------------------------------------------------------------------------------------


def install(build: bool, torchaudio: bool) -> None:
    """Builds ours where asked to, and installs the peers where that is not done yet."""
    if build:
        subprocess.run(["cargo", "build", "--release", "--locked", "-p", "kaldera-cli"], cwd=ROOT, check=True)
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", WORK / "venv"], check=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *PACKAGES, *(TORCHAUDIO if torchaudio else [])], check=True)


# --- Measuring --------------------------------------------------------------------------------------------------------


def measure(contestant: Contestant, scp: Path, out: Path, files: int) -> dict:
    """Runs one contestant once: CPU and wall seconds, and the peak memory in KiB where GNU time is installed."""
    command = [str(part).format(scp=scp, out=out) for part in contestant.command]
    memory = out.with_name("memory")
    # GNU time is small, so what it sees is the contestant's memory; a direct child of ours would begin with Python's.
    gnu_time = shutil.which("time")
    wrapped = [gnu_time, "-f", "%M", "-o", memory, *command] if gnu_time else command

    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    environment = {**os.environ, **threads, "RAYON_NUM_THREADS": str(contestant.threads)}
    cpu, wall = cpu_of_children(), time.perf_counter()
    child = subprocess.run(wrapped, check=False, env=environment, capture_output=True, text=True)
    cpu, wall = cpu_of_children() - cpu, time.perf_counter() - wall
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed with status {child.returncode}:\n{child.stderr[-2000:]}")

    expected = files * contestant.bytes_per_file
    if not expected <= out.stat().st_size <= expected * 1.01:
        sys.exit(f"{contestant.name} wrote {out.stat().st_size} bytes; {expected} and some for the keys are expected")
    out.unlink()
    return {
        "name": contestant.name,
        "work": contestant.work,
        "threads": contestant.threads,
        "cpu_s": float(child.stdout) if contestant.self_timed else cpu,
        "wall_s": wall,
        "peak_kib": int(memory.read_text().split()[-1]) if gnu_time else None,
    }


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_all(field: list, rounds: int, scp: Path, files: int) -> list:
    """All runs that count. Round 0 fills caches and does not."""
    runs, slow = [], set()
    for number in range(rounds + 1):
        for contestant in field:
            if number > 1 and contestant.key in slow:
                continue
            run = measure(contestant, scp, scp.with_name("features.ark"), files)
            if run["cpu_s"] > SLOW:
                slow.add(contestant.key)
            if number > 0:
                runs.append({"round": number, **run})
                print(f"round {number} of {rounds}: {run['name']}, {run['work']}: {run['cpu_s']:.3f} s CPU", file=sys.stderr)
    return runs


# --- Reporting --------------------------------------------------------------------------------------------------------


def medians(runs: list, quantity: str) -> dict:
    """{(name, work, threads): median}"""
    groups = {}
    for run in runs:
        groups.setdefault((run["name"], run["work"], run["threads"]), []).append(run[quantity])
    return {key: statistics.median(values) for key, values in groups.items() if None not in values}


def table(runs: list, seconds: float) -> str:
    """The medians as the Markdown table of benches/README.md: CPU seconds for all of the audio."""
    cpu, peak = medians(runs, "cpu_s"), medians(runs, "peak_kib")
    names = [name for name in PEERS if any(run["name"] == name for run in runs)]
    lines = [
        f"| {seconds / 3600:g} h of audio, CPU s | ours | x real time | {' | '.join(names)} | best peer / ours | ours, peak MiB |",
        "|---|" + "--:|" * (len(names) + 4),
    ]
    for work in dict.fromkeys(run["work"] for run in runs if run["work"] != THREADS):
        ours = cpu[OURS, work, 1]
        theirs = {name: cpu[name, work, 1] for name in names if (name, work, 1) in cpu}
        ratio = f"{min(theirs.values()) / ours:.1f}" if theirs else "-"
        memory = f"{peak[OURS, work, 1] / 1024:.0f}" if (OURS, work, 1) in peak else "-"
        cells = [f"{ours:.3f}", f"{seconds / ours:,.0f}", *(f"{theirs[name]:.3f}" if name in theirs else "-" for name in names)]
        lines.append(f"| {work} | {' | '.join(cells)} | {ratio} | {memory} |")
    return "\n".join(lines)


def thread_line(runs: list) -> str:
    wall = medians(runs, "wall_s")
    one, two = (wall[OURS, THREADS, jobs] for jobs in (1, 2))
    return f"`kaldera features`, fbank-80, wall time: {one:.3f} s with one thread, {two:.3f} s with two ({one / two:.2f} times as fast)."


def versions(torchaudio: bool) -> dict:
    listed = json.loads(output_of(PYTHON, "-m", "pip", "list", "--format=json"))
    found = {package["name"].replace("_", "-"): package["version"] for package in listed}
    wanted = ["asrfront", "kaldi-native-fbank", "numpy", *(["torch", "torchaudio"] if torchaudio else [])]
    return {name: found[name] for name in wanted}


def output_of(*command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measures Kaldera's features beside its peers.")
    arguments.add_argument("--rounds", type=int, default=7, help="how often everything runs (default: 7)")
    arguments.add_argument("--quick", action="store_true", help="1 round over six minutes of audio; nothing is kept")
    arguments.add_argument("--only", default="", help="only the rows whose names contain this; nothing is kept")
    arguments.add_argument("--torchaudio", action="store_true", help="torchaudio too: several GB from PyPI")
    arguments.add_argument("--kaldera", type=Path, help="the binary of ours to measure; nothing is built then")
    arguments.add_argument("--installed", action="store_true", help="take what was built and installed before")
    chosen = arguments.parse_args()
    rounds, files = (1, 36) if chosen.quick else (chosen.rounds, audio.FILES_PER_HOUR)
    kaldera = (chosen.kaldera or TARGET / "release/kaldera").resolve()

    if not chosen.installed:
        install(chosen.kaldera is None, chosen.torchaudio)
    folder = (RAM_DISK if RAM_DISK.is_dir() else WORK) / f"kaldera-peers-{files}"
    scp = audio.make(folder, files)
    seconds = files * audio.SECONDS_PER_FILE

    used = versions(chosen.torchaudio)
    heading = machine.heading(rounds, ", ".join(f"{name} {version}" for name, version in used.items() if name != "numpy"))
    field = [one for one in contestants(kaldera, chosen.torchaudio) if chosen.only in one.work or one.work == THREADS]
    runs = measure_all(field, rounds, scp, files)

    printed = f"{table(runs, seconds)}\n\n{heading}\n\n{thread_line(runs)}"
    print(printed)
    if not (chosen.quick or chosen.only):
        result = {
            "date": datetime.date.today().isoformat(),
            "heading": heading,
            "audio_seconds": seconds,
            "machine": {"cpu": machine.name(), "kernel": platform.release(), "info": output_of(kaldera, "info")},
            "versions": {"kaldera": output_of("git", "-C", ROOT, "describe", "--always", "--dirty"), "python": platform.python_version(), **used},
            "runs": runs,
        }
        print(f"\nkept: {machine.keep('features', printed, result).relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
