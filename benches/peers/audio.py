"""An hour of speech to measure with: 360 recordings of 10 s, 16 kHz, mono, 16 bit.

espeak-ng speaks random sentences in several voices, sox resamples them and adds a faint noise (so that pauses are not
digital silence). The sentences come from a fixed seed: with the same versions of both programs the audio is the same.
Both come with Debian: apt-get install espeak-ng sox
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS_PER_FILE = 10
FILES_PER_HOUR = 360

VOICES = ["en-us", "en-gb", "en-gb-scotland", "en-us+f3", "en-gb+m3", "en-us+f4"]
WORDS = """river window seven machine under yellow the a of and quickly paper nobody train listens silver question early
market thunder between voices answer children cross winter valley open hundred small engine where shadow bright follow
number letter carry morning kitchen always beside orange station whisper""".split()


def make(folder: Path, files: int) -> Path:
    """Fills `folder` unless it is filled already, and returns the path of its wav.scp."""
    scp = folder / "wav.scp"
    names = [f"utt{index:04}" for index in range(files)]
    text = "".join(f"{name} {folder / name}.wav\n" for name in names)
    if scp.exists() and scp.read_text() == text:
        return scp
    for program in ("espeak-ng", "sox"):
        if not shutil.which(program):
            sys.exit(f"{program} is needed to make the audio: apt-get install espeak-ng sox")

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        noise = Path(scratch) / "noise.wav"
        sox("-n", "-r", "16000", "-c", "1", "-b", "16", noise, "synth", str(SECONDS_PER_FILE), "pinknoise", "vol", "0.01")
        for done in pool.map(lambda index: speak(index, folder / names[index], Path(scratch), noise), range(files)):
            del done  # only to raise here what was raised there
    scp.write_text(text)  # last: its presence says that the folder is complete
    return scp


def speak(index: int, target: Path, scratch: Path, noise: Path) -> None:
    """Writes recording number `index` as `target`.wav."""
    chance = random.Random(index)
    sentence = ". ".join(" ".join(chance.choices(WORDS, k=chance.randint(4, 9))) for _ in range(8))
    spoken, speech = scratch / f"{index}-spoken.wav", scratch / f"{index}-speech.wav"
    voice, speed, pitch = chance.choice(VOICES), chance.randint(140, 200), chance.randint(30, 70)
    subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", spoken, sentence], check=True)
    sox(spoken, "-r", "16000", "-c", "1", "-b", "16", speech, "norm", "-6")
    sox("-m", "-v", "1", speech, "-v", "1", noise, f"{target}.wav", "trim", "0", str(SECONDS_PER_FILE))
    spoken.unlink()
    speech.unlink()


def sox(*arguments) -> None:
    """Runs sox without dither and with its random numbers from a fixed seed."""
    subprocess.run(["sox", "-R", "-D", *arguments], check=True)
