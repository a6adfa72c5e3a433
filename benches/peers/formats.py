#!/usr/bin/env python3
"""Compares the samples that ours and asrfront read from files of every format, written by ffmpeg and sox.

    python3 benches/peers/formats.py [--binary audio_load] [--python a Python with asrfront and numpy]

One line a file: how many samples more ours has, the largest and the RMS difference in units of 16 bits. asrfront rounds to these, so that
0.50 is equality where a file is wider, mixed down or resampled. Without --binary ours is built.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import load
import run

NOISE = "anoisesrc=r={rate}:d=2:a=0.2:seed=7,aformat=channel_layouts=mono"
STEREO = "anoisesrc=r={rate}:d=2:a=0.2:seed=7[l];sine=f=440:r={rate}:d=2[r];[l][r]amerge"

# Ending, codec, what ffmpeg writes it from.
OF_FFMPEG = [
    *[("wav", codec, 16000, 1) for codec in "pcm_u8 pcm_s16le pcm_s24le pcm_s32le pcm_f32le pcm_f64le pcm_alaw pcm_mulaw adpcm_ima_wav adpcm_ms".split()],
    *[("w64", codec, 16000, 1) for codec in "pcm_s16le pcm_s24le pcm_f32le pcm_mulaw".split()],
    *[("aiff", codec, 16000, 1) for codec in "pcm_s8 pcm_s16be pcm_s24be pcm_s32be pcm_s16le pcm_f32be pcm_f64be pcm_alaw pcm_mulaw adpcm_ima_qt".split()],
    *[("caf", codec, 16000, 1) for codec in "pcm_s8 pcm_s16be pcm_s24be pcm_s16le pcm_f32be pcm_alaw pcm_mulaw adpcm_ima_qt".split()],
    *[("flac", "flac", rate, channels) for rate, channels in ((16000, 1), (44100, 2))],
    *[("mp3", "libmp3lame", rate, channels) for rate, channels in ((16000, 1), (44100, 2))],
    *[("wav", "pcm_s16le", rate, channels) for rate in (8000, 11025, 22050, 32000, 44100, 44101, 48000, 96000) for channels in (1, 2)],
]  # fmt: skip
# Arguments of sox for the output.
OF_SOX = [["-b", "16", "-t", "sph"], ["-e", "mu-law", "-t", "sph"], ["-e", "a-law", "-t", "sph"]]


def write(folder: Path) -> list:
    """(name, path) of each file; what a program cannot write is left out."""
    files = []
    for ending, codec, rate, channels in OF_FFMPEG:
        path = folder / f"{codec}-{rate}-{channels}.{ending}"
        source = (STEREO if channels == 2 else NOISE).format(rate=rate)
        command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source, "-c:a", codec, path]
        files.append((f"{ending}, {codec}, {rate} Hz, {channels} channel(s)", path, command))
    plain = folder / "pcm_s16le-16000-1.wav"
    for number, arguments in enumerate(OF_SOX):
        path = folder / f"sox-{number}.sph"
        files.append((" ".join(arguments), path, ["sox", "-D", plain, *arguments, path]))
    written = []
    for name, path, command in files:
        done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            written.append((name, path))
        else:
            print(f"{name}: not written: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return written


def main() -> None:
    arguments = argparse.ArgumentParser(description="Compares the samples of every format.")
    arguments.add_argument("--binary", type=Path, help="the audio_load of ours; nothing is built then")
    arguments.add_argument("--python", type=Path, default=run.PYTHON, help="a Python with asrfront and numpy")
    chosen = arguments.parse_args()
    if chosen.binary is None:
        subprocess.run([*load.BUILD, "--bin", "audio_load"], cwd=run.ROOT, check=True)
    ours = (chosen.binary or load.BINARY).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, path in write(folder):
            scp, outs = folder / "wav.scp", [folder / "ours.f32", folder / "asrfront.f32"]
            scp.write_text(f"a {path}\n")
            peer = [chosen.python, run.HERE / "peer_asrfront.py", "load", scp, outs[1]]
            found = []
            for command in ([ours, scp, outs[0]], peer):
                done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
                if done.returncode != 0:
                    found = [(done.stderr.strip().splitlines() or ["failed"])[-1]]
                    break
            print(f"{name:45}", *(found or run.output_of(chosen.python, "-c", load.DIFFERENCES, *outs).split()), flush=True)


if __name__ == "__main__":
    main()
