#!/usr/bin/env python3
"""Measures Kaldera beside its peers: the same hour of speech, read from and written to a RAM disk, run in turn.

    python3 benches/peers/run.py                 # 7 rounds over one hour of audio; five minutes when all is installed
    python3 benches/peers/run.py --quick         # 1 round over six minutes of audio: does everything work?
    python3 benches/peers/run.py --torchaudio    # with torchaudio too (installs several GB from PyPI)

Every round runs every contestant once, so that a slow moment of the machine hits them all; the table has the medians. CPU time
is user + system time. Peers are installed from PyPI and crates.io into benches/peers/.work, which git ignores. Real Kaldi is
in no package registry: its row repeats figures that were recorded earlier on this kind of machine, and says so.

Needs Python 3.9 or newer with venv, cargo, espeak-ng and sox; with GNU time (Debian: time) the table also has the memory.
"""

import argparse
import datetime
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import audio

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = HERE / ".work"
RAM_DISK = Path("/dev/shm")
KALDERA = ROOT / "target/release/kaldera"
PYTHON = WORK / "venv/bin/python"
MEL_SPEC = WORK / "mel_spec/target/release/peer-mel-spec"

DIM = {"fbank-80": 80, "MFCC-13": 13, "PLP-13": 13, "spectrogram": 257, "pitch": 2, "Whisper-80": 80}
FRAMES_PER_FILE = {"Whisper-80": 1000}  # a frame for each 10 ms
WHOLE_FRAMES = 998  # of 25 ms every 10 ms in 10 s, whole frames only

# CPU seconds for an hour of audio: commit f40076610, g++ -O3, one thread, 2 cores of an AMD EPYC (Zen 5).
KALDI_RECORDED = {
    ("fbank-80", 0): 1.16,
    ("MFCC-13", 0): 1.08,
    ("MFCC-13", 1): 4.14,
    ("PLP-13", 0): 1.31,
    ("spectrogram", 0): 1.61,
    ("pitch", 0): 6.4,
}

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "RAYON")}


@dataclass
class Contestant:
    """A program that turns the recordings of a wav.scp into one file of features."""

    name: str
    feature: str
    command: list  # with {scp} and {out} in it
    dither: int = 0
    threads: int = 1
    self_timed: bool = False  # prints its own CPU seconds, without its start-up


def contestants(torchaudio: bool) -> list:
    """Everything that is measured, ours first."""
    field = []
    for feature, options in (("fbank-80", ["compute-fbank-feats", "--num-mel-bins=80"]), ("MFCC-13", ["compute-mfcc-feats"])):
        for dither in (0, 1):
            command = [KALDERA, *options, f"--dither={dither}", "scp:{scp}", "ark:{out}"]
            field.append(Contestant(f"kaldera {options[0]}", feature, command, dither))
    for feature, program in (("PLP-13", "compute-plp-feats"), ("spectrogram", "compute-spectrogram-feats")):
        command = [KALDERA, program, "--dither=0", "scp:{scp}", "ark:{out}"]
        field.append(Contestant(f"kaldera {program}", feature, command))
    pitch = [KALDERA, "compute-kaldi-pitch-feats", "scp:{scp}", "ark:{out}"]
    field.append(Contestant("kaldera compute-kaldi-pitch-feats", "pitch", pitch))
    whisper = [KALDERA, "features", "--kind", "whisper", "--jobs", "1", "-o", "{out}", "{scp}"]
    field.append(Contestant("kaldera features", "Whisper-80", whisper))
    for jobs in (1, 2):
        command = [KALDERA, "features", "--kind", "fbank", "--num-mel-bins=80", "--jobs", str(jobs), "-o", "{out}", "{scp}"]
        field.append(Contestant(f"kaldera features --jobs {jobs}", "fbank-80", command, threads=jobs))

    field.append(Contestant("mel_spec (Rust)", "fbank-80", [MEL_SPEC, "fbank", "{scp}", "{out}"]))
    python_peers = [("kaldi-native-fbank (C++, Python)", "peer_knf.py")]
    if torchaudio:
        python_peers.append(("torchaudio.compliance.kaldi", "peer_torchaudio.py"))
    for name, program in python_peers:
        for feature, kind in (("fbank-80", "fbank"), ("MFCC-13", "mfcc")):
            field.append(Contestant(name, feature, [PYTHON, HERE / program, kind, "{scp}", "{out}"], self_timed=True))
    return field


# --- Installing -------------------------------------------------------------------------------------------------------


def install(torchaudio: bool) -> None:
    """Builds ours and the Rust peer, and installs the Python peers, where that is not done yet."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "kaldera-cli"], cwd=ROOT, check=True)

    shutil.copytree(HERE / "mel_spec", WORK / "mel_spec", dirs_exist_ok=True)
    subprocess.run(["cargo", "build", "--release"], cwd=WORK / "mel_spec", check=True)

    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", WORK / "venv"], check=True)
    packages = ["kaldi-native-fbank", "numpy"] + (["torch==2.5.1", "torchaudio==2.5.1"] if torchaudio else [])
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *packages], check=True)


# --- Measuring --------------------------------------------------------------------------------------------------------


def measure(contestant: Contestant, scp: Path, out: Path, files: int) -> dict:
    """Runs one contestant once: CPU and wall seconds, and the peak memory in KiB where GNU time is installed."""
    command = [str(part).format(scp=scp, out=out) for part in contestant.command]
    memory = out.with_name("memory")
    # GNU time is small, so what it sees is the contestant's memory; a direct child of ours would begin with Python's.
    gnu_time = shutil.which("time")
    wrapped = [gnu_time, "-f", "%M", "-o", memory, *command] if gnu_time else command

    environment = {**os.environ, **ONE_THREAD, "RAYON_NUM_THREADS": str(contestant.threads)}
    cpu, wall = cpu_of_children(), time.perf_counter()
    child = subprocess.run(wrapped, check=False, env=environment, capture_output=True, text=True)
    cpu, wall = cpu_of_children() - cpu, time.perf_counter() - wall
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed with status {child.returncode}:\n{child.stderr[-2000:]}")

    frames = FRAMES_PER_FILE.get(contestant.feature, WHOLE_FRAMES)
    expected = files * frames * DIM[contestant.feature] * 4
    if not expected <= out.stat().st_size <= expected * 1.01:
        sys.exit(f"{contestant.name} wrote {out.stat().st_size} bytes, where {expected} and some for the keys are due")
    out.unlink()
    return {
        "name": contestant.name,
        "feature": contestant.feature,
        "dither": contestant.dither,
        "threads": contestant.threads,
        "cpu_s": float(child.stdout) if contestant.self_timed else cpu,
        "wall_s": wall,
        "peak_kib": int(memory.read_text().split()[-1]) if gnu_time else None,
    }


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# --- Reporting --------------------------------------------------------------------------------------------------------


def summarise(runs: list, seconds: float) -> list:
    """One row per contestant: medians over the rounds, and Kaldi's recorded figures among them."""
    groups = {}
    for run in runs:
        groups.setdefault((run["name"], run["feature"], run["dither"], run["threads"]), []).append(run)
    rows = []
    for (name, feature, dither, threads), group in groups.items():
        row = {"name": name, "feature": feature, "dither": dither, "threads": threads}
        for figure in ("cpu_s", "wall_s", "peak_kib"):
            values = [run[figure] for run in group]
            row[figure] = statistics.median(values) if None not in values else None
        rows.append(row)
    for (feature, dither), cpu in KALDI_RECORDED.items():
        cpu *= seconds / 3600
        row = {"name": "Kaldi (recorded)", "feature": feature, "dither": dither, "threads": 1, "cpu_s": cpu}
        rows.append({**row, "wall_s": None, "peak_kib": None})
    return sorted(rows, key=lambda row: (list(DIM).index(row["feature"]), row["dither"], row["cpu_s"]))


def table(rows: list, seconds: float) -> str:
    """The rows as a Markdown table. The ratio is to our Kaldi face, with the same feature and the same dither."""
    ours = {(row["feature"], row["dither"]): row["cpu_s"] for row in rows if row["name"].startswith("kaldera compute-")}
    ours.update({(row["feature"], row["dither"]): row["cpu_s"] for row in rows if row["feature"] == "Whisper-80"})
    lines = [
        "| program | feature | dither | threads | CPU s | x real time | CPU, ours = 1 | wall s | peak MiB |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        wall = f"{row['wall_s']:.3f}" if row["wall_s"] else "-"
        peak = f"{row['peak_kib'] / 1024:.0f}" if row["peak_kib"] else "-"
        ratio = row["cpu_s"] / ours[row["feature"], row["dither"]]
        lines.append(
            f"| {row['name']} | {row['feature']} | {row['dither']} | {row['threads']} | {row['cpu_s']:.3f} "
            f"| {seconds / row['cpu_s']:,.0f} | {ratio:.2f} | {wall} | {peak} |"
        )
    return "\n".join(lines)


def machine() -> dict:
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": cpu.group(1).strip() if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "info": output_of(KALDERA, "info"),
    }


def versions(torchaudio: bool) -> dict:
    listed = json.loads(output_of(PYTHON, "-m", "pip", "list", "--format=json"))
    wanted = ["kaldi-native-fbank", "numpy"] + (["torch", "torchaudio"] if torchaudio else [])
    found = {package["name"].replace("_", "-"): package["version"] for package in listed}
    lock = (WORK / "mel_spec/Cargo.lock").read_text()
    return {
        "kaldera": output_of("git", "-C", ROOT, "describe", "--always", "--dirty"),
        "rustc": output_of("rustc", "--version"),
        "python": platform.python_version(),
        "mel_spec": re.search(r'name = "mel_spec"\nversion = "(.*)"', lock).group(1),
        **{name: found[name] for name in wanted},
    }


def output_of(*command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measures Kaldera beside its peers.")
    arguments.add_argument("--rounds", type=int, default=7, help="how often everything runs (default: 7)")
    arguments.add_argument("--quick", action="store_true", help="1 round over six minutes of audio; nothing is kept")
    arguments.add_argument("--torchaudio", action="store_true", help="torchaudio too: several GB from PyPI")
    chosen = arguments.parse_args()
    rounds, files = (1, 36) if chosen.quick else (chosen.rounds, audio.FILES_PER_HOUR)

    install(chosen.torchaudio)
    folder = (RAM_DISK if RAM_DISK.is_dir() else WORK) / f"kaldera-peers-{files}"
    scp = audio.make(folder, files)
    seconds = files * audio.SECONDS_PER_FILE

    runs, conditions = [], machine()
    for number in range(rounds + 1):  # round 0 warms caches up and does not count
        for contestant in contestants(chosen.torchaudio):
            run = measure(contestant, scp, folder / "features.ark", files)
            if number > 0:
                runs.append({"round": number, **run})
                name = f"{run['name']}, {run['feature']}, dither {run['dither']}"
                print(f"round {number} of {rounds}: {name}: {run['cpu_s']:.3f} s CPU", file=sys.stderr)

    rows = summarise(runs, seconds)
    result = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python3 benches/peers/run.py", *sys.argv[1:]]),
        "audio_seconds": seconds,
        "machine": conditions,
        "versions": versions(chosen.torchaudio),
        "medians": rows,
        "runs": runs,
    }
    print(f"{result['date']}, {conditions['cpu']}, {conditions['cores']} cores, `{result['command']}`, rounds: {rounds}\n")
    print(table(rows, seconds))
    if not chosen.quick:
        slug = re.sub(r"[^a-z0-9]+", "-", conditions["cpu"].lower()).strip("-")
        kept = HERE / "results" / f"{result['date']}-{slug}.json"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(result, indent=1) + "\n")
        print(f"\nall runs: {kept.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
