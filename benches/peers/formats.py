#!/usr/bin/env python3
"""Compares the samples that ours, asrfront and ffmpeg read from files of every format, written by ffmpeg, sox and soundfile.

    python3 benches/peers/formats.py [--binary audio_load] [--python a Python with asrfront, numpy and perhaps soundfile]

One line a file, one channel at 16 kHz from all: against each program how many samples more ours has, the largest and the RMS difference
in units of 16 bits. asrfront rounds to these, so that 0.5 is equality where a file is wider, mixed down or resampled, and 1 where it cuts
off; it reads no MP4 and no Matroska. Ours decodes Opus in fixed point, as libopus can, and ffmpeg in floating point. Ends with 1 if a file is not read or differs by more. Without --binary ours is built. What a program cannot write is left out by name.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import load
import run

NOISE = "anoisesrc=r={rate}:d=2:a=0.2:seed=7,aformat=channel_layouts=mono"
STEREO = "anoisesrc=r={rate}:d=2:a=0.2:seed=7[l];sine=f=440:r={rate}:d=2[r];[l][r]amerge"
MEAN = {1: "anull", 2: "aformat=sample_fmts=flt,pan=mono|c0=0.5*c0+0.5*c1"}
LIMITS = {"asrfront": 1.0, "ffmpeg": 0.1}
"""The largest differences of equality: rounding to 16 bits, and a resampler in single precision."""
OPUS = 4.0
"""The largest difference between a decoder in fixed point and one in floating point, of noise with a peak of 6,554."""

OF_FFMPEG = {
    "wav": "pcm_u8 pcm_s16le pcm_s24le pcm_s32le pcm_f32le pcm_f64le pcm_alaw pcm_mulaw adpcm_ima_wav adpcm_ms",
    "w64": "pcm_s16le pcm_s24le pcm_f32le pcm_mulaw",
    "aiff": "pcm_s8 pcm_s16be pcm_s24be pcm_s32be pcm_s16le pcm_f32be pcm_f64be pcm_alaw pcm_mulaw adpcm_ima_qt",
    "caf": "pcm_s8 pcm_s16be pcm_s24be pcm_s16le pcm_f32be pcm_alaw pcm_mulaw adpcm_ima_qt",
    "au": "pcm_s8 pcm_s16be pcm_s24be pcm_s32be pcm_f32be pcm_f64be pcm_alaw pcm_mulaw",
    "flac": "flac",
    "mp3": "libmp3lame",
    "m4a": "aac alac",
    "mp4": "aac",
    "webm": "libopus libvorbis",
    "mkv": "aac alac flac libmp3lame libopus libvorbis pcm_s16le pcm_f32le",
}
# Without noise in place of samples, which is another in each decoder.
OF_ENCODERS = {"aac": ["-aac_pns", "0"]}
MP4, MATROSKA = ("m4a", "mp4"), ("webm", "mkv")
# Layouts of containers: arguments of ffmpeg for the output, after two inputs, noise and a video.
OF_CONTAINERS = {
    "index in front": ("m4a", "-map 0 -c:a aac -aac_pns 0 -movflags +faststart"),
    "in fragments": ("mp4", "-map 0 -c:a aac -aac_pns 0 -movflags +frag_keyframe+empty_moov -frag_duration 200000"),
    "video beside": ("mp4", "-map 1 -map 0 -c:a aac -aac_pns 0 -c:v mpeg4"),
    "video beside, Opus": ("webm", "-map 1 -map 0 -c:a libopus -c:v libvpx -deadline realtime"),
    "two tracks": ("mp4", "-map 0 -map 0 -c:a aac -aac_pns 0"),
    "two tracks, Vorbis": ("mkv", "-map 0 -map 0 -c:a libvorbis"),
    "streamed, Opus": ("webm", "-map 0 -c:a libopus -live 1"),
    "streamed, AAC": ("mkv", "-map 0 -c:a aac -aac_pns 0 -live 1"),
}
VIDEO = "testsrc=d=2:s=64x64:r=10"
RATES = (8000, 11025, 22050, 32000, 44100, 44101, 48000, 96000)
# Arguments of sox for the output.
OF_SOX = [
    *(f"-b {bits} -t {kind}" for kind in ("wav", "w64", "aiff", "caf", "au", "sph") for bits in (8, 16, 24, 32)),
    *(f"-e {encoding} -t {kind}" for encoding in ("a-law", "mu-law") for kind in ("wav", "w64", "aifc", "caf", "au", "sph")),
    *(f"-e {encoding} -t wav" for encoding in ("ima-adpcm", "ms-adpcm", "floating-point -b 32", "floating-point -b 64")),
    "-B -t sph", "-L -t sph", "-t flac", "-t ogg",
]  # fmt: skip
OF_SOUNDFILE = """
import json, sys
import numpy as np, soundfile
folder, kinds = sys.argv[1], "WAV WAVEX RF64 W64 AIFF CAF AU NIST FLAC MP3 OGG"
subtypes = "PCM_U8 PCM_S8 PCM_16 PCM_24 PCM_32 FLOAT DOUBLE ULAW ALAW IMA_ADPCM MS_ADPCM MPEG_LAYER_III VORBIS"
noise, written = np.random.default_rng(7).normal(0, 0.1, (32000, 2)).clip(-1, 1), []
for kind in kinds.split():
    for subtype in set(subtypes.split()) & set(soundfile.available_subtypes(kind)):
        for channels in (1, 2):
            path = f"{folder}/soundfile-{kind}-{subtype}-{channels}"
            try:
                soundfile.write(path, noise[:, :channels], 16000, subtype, format=kind)
                written.append([f"soundfile: {kind}, {subtype}, {channels} channel(s)", path, channels])
            except soundfile.LibsndfileError as error:
                print(path, error, file=sys.stderr)
print(json.dumps(sorted(written)))
"""


def write(folder: Path, python: Path) -> list:
    """(name, path, number of channels) of each file."""
    encodings = [(ending, codec, 16000, channels) for ending, codecs in OF_FFMPEG.items() for codec in codecs.split() for channels in (1, 2)]
    encodings += [(ending, codec, 44100, 2) for ending, codec in (("flac", "flac"), ("mp3", "libmp3lame"))]
    # At lower rates ffmpeg drops a part of the samples before the first one, as it counts them at 48 kHz.
    encodings += [("mp4", "libopus", 48000, channels) for channels in (1, 2)]
    encodings += [("wav", "pcm_s16le", rate, channels) for rate in RATES for channels in (1, 2)]
    files = []
    for ending, codec, rate, channels in encodings:
        path = folder / f"{codec}-{rate}-{channels}.{ending}"
        source = (STEREO if channels == 2 else NOISE).format(rate=rate)
        options = OF_ENCODERS.get(codec, [])
        command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source, "-c:a", codec, "-strict", "-2", *options, path]
        files.append((f"ffmpeg: {ending}, {codec}, {rate} Hz, {channels} channel(s)", path, channels, command))
    for name, (ending, arguments) in OF_CONTAINERS.items():
        path, inputs = folder / f"{name.replace(' ', '-')}.{ending}", ["-f", "lavfi", "-i", NOISE.format(rate=16000), "-f", "lavfi", "-i", VIDEO]
        files.append((f"ffmpeg: {ending}, {name}", path, 1, ["ffmpeg", "-v", "error", "-nostdin", "-y", *inputs, *arguments.split(), path]))
    for number, arguments in enumerate(OF_SOX):
        for channels in (1, 2):
            path, plain = folder / f"sox-{number}-{channels}", folder / f"pcm_s16le-16000-{channels}.wav"
            files.append((f"sox: {arguments}, {channels} channel(s)", path, channels, ["sox", "-D", plain, *arguments.split(), path]))
    written = []
    for name, path, channels, command in files:
        done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            written.append((name, path, channels))
        else:
            print(f"{name}: not written: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    done = subprocess.run([python, "-c", OF_SOUNDFILE, folder], check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print("soundfile's files are left out", file=sys.stderr)
    return written + (json.loads(done.stdout) if done.returncode == 0 else [])


def main() -> None:
    arguments = argparse.ArgumentParser(description="Compares the samples of every format.")
    arguments.add_argument("--binary", type=Path, help="the audio_load of ours; nothing is built then")
    arguments.add_argument("--python", type=Path, default=run.PYTHON, help="a Python with asrfront and numpy")
    chosen = arguments.parse_args()
    if chosen.binary is None:
        subprocess.run([*load.BUILD[:-1], "symphonia,opus", "--bin", "audio_load"], cwd=run.ROOT, check=True)
    ours = (chosen.binary or load.BINARY).resolve()
    files, worse = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        scp, outs = folder / "wav.scp", {name: folder / f"{name}.f32" for name in ("ours", *LIMITS)}
        print(f"{'':55} {' | '.join(LIMITS)}")
        for name, path, channels in write(folder, chosen.python):
            scp.write_text(f"a {path}\n")
            ending = Path(path).suffix[1:]
            # ffmpeg 5.1 leaves the samples after the end of an edit list, which a file in fragments has not.
            cut = "atrim=end=2," if ending in MP4 and "fragments" not in name else ""
            commands = {
                "ours": [ours, scp, outs["ours"]],
                "asrfront": [chosen.python, run.HERE / "peer_asrfront.py", "load", scp, outs["asrfront"]],
                # "-ac 1" makes floating-point samples 3 dB louder.
                "ffmpeg": ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", path, "-af", cut + MEAN[channels], "-ar", "16000", "-f", "f32le", outs["ffmpeg"]],
            }
            if ending in MP4 + MATROSKA:
                del commands["asrfront"]
            failed = {}
            for program, command in commands.items():
                done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
                if done.returncode != 0:
                    failed[program] = (done.stderr.strip().splitlines() or ["failed"])[-1]
            found, equal = [], "ours" not in failed
            for program, limit in LIMITS.items():
                if program not in commands:
                    found.append("-")
                    continue
                limit = OPUS if "opus" in name.lower() else limit
                if failed.keys() & {"ours", program}:
                    found.append(f"not read: {failed.get('ours') or failed[program]}")
                    continue
                more, largest, rms = run.output_of(chosen.python, "-c", load.DIFFERENCES, outs["ours"], outs[program]).split()
                found.append(f"{more} {float(largest):.3f} {float(rms):.3f}")
                equal &= more == "0" and float(largest) <= limit
            files, worse = files + 1, worse + (not equal)
            print(f"{name:55} {' | '.join(found)}{'' if equal else '   <--'}", flush=True)
    print(f"{files - worse} of {files} files equal")
    sys.exit(worse > 0)


if __name__ == "__main__":
    main()
