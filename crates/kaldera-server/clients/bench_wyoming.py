"""The program `wyoming-bench` of PyPI, both of its modes.

Its status is 0 even when measurements fail: its report is read.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import MODEL, TEXT, WAV, WYOMING_HOST, WYOMING_PORT, check, finish, require

PROGRAM = os.path.join(os.path.dirname(sys.executable), "wyoming-bench")
SERVER = f"{WYOMING_HOST}:{WYOMING_PORT}"


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60)
    require(done.returncode == 0, f"status {done.returncode}: {done.stdout} {done.stderr}")
    return done.stdout


def info():
    report = run("info", SERVER)
    require(f"model {MODEL} [" in report, report)
    return " ".join(report[report.index("  asr ") :].split())


def bench():
    with tempfile.TemporaryDirectory() as corpus:
        shutil.copy(WAV, os.path.join(corpus, "digits.wav"))
        with open(os.path.join(corpus, "digits.txt"), "w", encoding="utf-8") as file:
            file.write(TEXT)
        report = run("stt", SERVER, "--corpus", corpus, "--rounds", "3", "--timeout", "15", "--programs", "all")
    modes = re.findall(r"\[(\w+)\] ok=(\d+) fail=(\d+)(.*?WER=([\d.]+)%)", report, re.S)
    require(modes, report)
    for mode, ok, failed, _, errors in modes:
        require((ok, failed, errors) == ("3", "0", "0.0"), f"{mode}: {ok} ok, {failed} failed, word errors {errors} %")
    require("NOT SUPPORTED" not in report or len(modes) == 1, report)
    times = [re.search(r"Total \(ms\) +\S+ +\S+ +(\S+)", mode[3])[1] for mode in modes]
    return f"{TEXT} ({', '.join(f'{mode[0]} {time} ms' for mode, time in zip(modes, times))})"


check("wyoming-bench info", info)
check("wyoming-bench stt", bench)
finish()
