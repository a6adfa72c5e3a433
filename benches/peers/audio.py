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


STEREO = "aecho=0.8:0.7:9:0.3,pan=stereo|c0=c0|c1=0.5*c0"
"""Two channels that differ, so that a wrong one is seen."""

FORMATS = {
    "WAV, 16 kHz": ("wav", ["-c", "copy"]),
    "WAV, 44.1 kHz stereo": ("wav", ["-ar", "44100", "-af", STEREO]),
    "WAV, 48 kHz": ("wav", ["-ar", "48000"]),
    "FLAC, 16 kHz": ("flac", []),
    "MP3, 44.1 kHz stereo": ("mp3", ["-ar", "44100", "-af", STEREO, "-b:a", "128k"]),
}
"""Formats of the same audio: an ending, and what makes ffmpeg write it."""


def convert(scp: Path, name: str) -> Path:
    """The recordings of `scp` in the format `name`, in a folder beside them, by ffmpeg; returns the path of its list."""
    ending, options = FORMATS[name]
    folder = scp.parent / "".join(letter if letter.isalnum() else "-" for letter in name)
    lines = [line.split(maxsplit=1) for line in scp.read_text().splitlines()]
    text = "".join(f"{key} {folder / key}.{ending}\n" for key, _ in lines)
    converted = folder / "wav.scp"
    if converted.exists() and converted.read_text() == text:
        return converted
    if not shutil.which("ffmpeg"):
        sys.exit("ffmpeg is needed to convert the audio: apt-get install ffmpeg")
    folder.mkdir(exist_ok=True)

    def write(line: list) -> None:
        key, path = line
        ffmpeg = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-bitexact", "-i", path, *options, folder / f"{key}.{ending}"]
        subprocess.run(ffmpeg, check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(write, lines):
            del done  # only to raise here what was raised there
    converted.write_text(text)  # last: its presence says that the folder is complete
    return converted


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
