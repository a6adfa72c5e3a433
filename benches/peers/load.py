#!/usr/bin/env python3
"""Measures how fast recordings become samples of 16 kHz, one channel, beside asrfront, and how far the samples are apart.

    python3 benches/peers/load.py                 # 7 rounds over one hour of audio in each format
    python3 benches/peers/load.py --quick         # 1 round over six minutes; nothing is kept
    python3 benches/peers/load.py --binary PATH   # this audio_load of ours; nothing is built

Every round runs both in turn on each format, one thread each; the table has the medians of CPU time, user + system, ours with its start.
asrfront rounds its samples to 16 bits, as ffmpeg does for Whisper: differences are in units of that. Files and results are on the RAM
disk. The audio is that of run.py, converted by ffmpeg; the table goes into benches/README.md as it is, and is kept in
benches/runs/DATE-MACHINE/load.{txt,json}.

Needs what run.py needs, and ffmpeg.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

import audio
import machine
import run

BINARY = run.TARGET / "release/audio_load"
BUILD = ["cargo", "build", "--release", "--locked", "-p", "kaldera-benches", "--no-default-features", "--features", "symphonia"]
DIFFERENCES = """
import sys
import numpy as np
ours, theirs = (np.fromfile(path, "<f4").astype("f8") * 32768 for path in sys.argv[1:])
shorter = min(len(ours), len(theirs))
apart = ours[:shorter] - theirs[:shorter]
print(len(ours) - len(theirs), np.abs(apart).max(), np.sqrt(np.mean(apart**2)))
"""


def seconds_of(command: list, self_timed: bool) -> float:
    """CPU seconds of a program."""
    before = run.cpu_of_children()
    child = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed with status {child.returncode}:\n{child.stderr[-2000:]}")
    return float(child.stdout) if self_timed else run.cpu_of_children() - before


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measures how fast recordings are loaded.")
    arguments.add_argument("--rounds", type=int, default=7, help="how often everything runs (default: 7)")
    arguments.add_argument("--quick", action="store_true", help="1 round over six minutes of audio; nothing is kept")
    arguments.add_argument("--binary", type=Path, help="the audio_load of ours to measure; nothing is built then")
    arguments.add_argument("--python", type=Path, default=run.PYTHON, help="a Python with asrfront and numpy")
    chosen = arguments.parse_args()
    rounds, files = (1, 36) if chosen.quick else (chosen.rounds, audio.FILES_PER_HOUR)
    if chosen.python == run.PYTHON:
        run.install(build=False, torchaudio=False)
    if chosen.binary is None:
        subprocess.run([*BUILD, "--bin", "audio_load"], cwd=run.ROOT, check=True)
    ours = (chosen.binary or BINARY).resolve()
    folder = (run.RAM_DISK if run.RAM_DISK.is_dir() else run.WORK) / f"kaldera-peers-{files}"
    scp = audio.make(folder, files)
    lists = {name: audio.convert(scp, name) for name in audio.FORMATS}

    def commands(scp: Path, outs: list) -> list:
        peer = [chosen.python, run.HERE / "peer_asrfront.py", "load", scp, outs[1]]
        return [([ours, scp, outs[0]], False), (peer, True)]

    os.environ["RAYON_NUM_THREADS"] = "1"
    heading = machine.heading(rounds, "asrfront 0.2.2")
    times = {name: ([], []) for name in lists}
    for number in range(rounds + 1):
        for name, scp_of in lists.items():
            for kept, (command, self_timed) in zip(times[name], commands(scp_of, [os.devnull, os.devnull])):
                seconds = seconds_of(command, self_timed)
                if number > 0:  # round 0 fills caches
                    kept.append(seconds)
    lines = [
        f"| {files * audio.SECONDS_PER_FILE / 3600:g} h of audio to 16 kHz, CPU s | ours | asrfront | asrfront / ours | largest, RMS difference |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, scp_of in lists.items():
        outs = [folder / "ours.f32", folder / "asrfront.f32"]
        for command, self_timed in commands(scp_of, outs):
            seconds_of(command, self_timed)
        found = run.output_of(chosen.python, "-c", DIFFERENCES, *outs).split()
        more, largest, rms = int(found[0]), float(found[1]), float(found[2])
        for out in outs:
            out.unlink()
        own, theirs = (statistics.median(kept) for kept in times[name])
        samples = f"{largest:.2f}, {rms:.3f}" + (f" ({more:+} samples)" if more else "")
        lines.append(f"| {name} | {own:.3f} | {theirs:.3f} | {theirs / own:.1f} | {samples} |")
    printed = "\n".join(lines) + f"\n\n{heading}"
    print(printed)
    if not chosen.quick:
        result = {"heading": heading, "seconds": {name: {"ours": own, "asrfront": peer} for name, (own, peer) in times.items()}}
        print(f"\nkept: {machine.keep('load', printed, result).relative_to(run.ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
