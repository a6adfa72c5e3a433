"""Shared by the checks of real clients: the expected words, the recording in each client's form, a line a check.

`check-clients.sh` sets the environment variables that are read here.
"""

import array
import asyncio
import functools
import math
import os
import sys
import wave

URL = os.environ["KALDERA_URL"]
KEYED_URL, KEY = os.environ["KALDERA_KEYED_URL"], os.environ["KALDERA_KEY"]
WYOMING_HOST, WYOMING_PORT = os.environ["KALDERA_WYOMING"].rsplit(":", 1)
WAV = os.environ["KALDERA_WAV"]
STARTS = [float(start) for start in os.environ["KALDERA_STARTS"].split()]
MODEL, TEXT = "digits", "three two five nine"
TOLERANCE = 0.15  # seconds: a stream may cut its frames elsewhere than a file
SECONDS = 30  # no answer of a check takes longer

failed = False


class Wrong(Exception):
    """An answer that a client accepts but that is not right."""


def require(condition, message):
    if not condition:
        raise Wrong(message)


def near(found, expected, of):
    require(abs(found - expected) <= TOLERANCE, f"{of} is {found:.2f} s and not {expected:.2f} s")


def heard(text, starts=None):
    """The line for words and, where the protocol has them, their starts: checked against the expected."""
    require(text.split() == TEXT.split(), f"the words are {text!r}")
    if starts is None:
        return TEXT
    require(len(starts) == len(STARTS), f"there are {len(starts)} times")
    for word, start, expected in zip(TEXT.split(), starts, STARTS):
        near(start, expected, f"the start of {word!r}")
    return f"{TEXT} ({' '.join(f'{start:.2f}' for start in starts)})"


def check(name, run, *arguments):
    """Runs a check, or the coroutine that it returns, and prints its line."""
    global failed
    try:
        line = run(*arguments)
        if asyncio.iscoroutine(line):
            line = asyncio.run(asyncio.wait_for(line, SECONDS))
        print(f"ok {name}: {line}", flush=True)
    except Exception as error:  # whatever a client raises is the reason
        failed = True
        reason = f"no answer in {SECONDS} s" if isinstance(error, asyncio.TimeoutError) else str(error)
        kind = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
        print(f"FAILED {name}: {kind}{' '.join(reason.split())[:400]}", flush=True)


def finish():
    sys.exit(1 if failed else 0)


@functools.cache
def samples(factor=1):
    """The recording at `factor` times its rate of 8 kHz, by a windowed sinc over 16 samples on each side."""
    with wave.open(WAV) as file:
        require(file.getparams()[:3] == (1, 2, 8000), f"{WAV} is not 8 kHz, mono, 16 bits")
        recording = array.array("h", file.readframes(file.getnframes()))
    if factor == 1:
        return recording
    half, upsampled = 16, array.array("h")
    padded = [0] * half + list(recording) + [0] * half
    phases = []
    for phase in range(factor):
        at = [phase / factor - tap for tap in range(1 - half, half + 1)]
        sinc = [math.sin(math.pi * t) / (math.pi * t) if t else 1.0 for t in at]
        phases.append([s * (0.5 + 0.5 * math.cos(math.pi * t / half)) for s, t in zip(sinc, at)])
    for middle in range(half, half + len(recording)):
        around = padded[middle - half + 1 : middle + half + 1]
        for taps in phases:
            value = round(sum(tap * sample for tap, sample in zip(taps, around)))
            upsampled.append(max(-32768, min(32767, value)))
    return upsampled


def pcm(factor=1):
    return samples(factor).tobytes()


def mu_law():
    """The recording in G.711's mu-law."""

    def code(sample):
        magnitude = min(abs(sample), 32635) + 132
        exponent = magnitude.bit_length() - 8
        return ~((sample < 0) << 7 | exponent << 4 | magnitude >> exponent + 3 & 15) & 255

    return bytes(map(code, samples()))


def a_law():
    """The recording in G.711's A-law."""

    def code(sample):
        magnitude = (sample if sample >= 0 else ~sample) >> 3
        exponent = max(magnitude.bit_length() - 5, 0)
        return (exponent << 4 | magnitude >> max(exponent, 1) & 15) ^ (0xD5 if sample >= 0 else 0x55)

    return bytes(map(code, samples()))
