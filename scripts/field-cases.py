#!/usr/bin/env python3
"""Runs cases from the field and prints a line each: ok, WRONG with what was printed, or what it was left out for.

    python3 scripts/field-cases.py ../shared/field-cases [CASE...]

A case is a folder with `cmd.sh`; what is right stands there and in `expect.txt`, and here as a check of the text that it prints. Runs
target/release/kaldera (or KALDERA), built with the features digits, onnx and opus, and a Python with the wheel (PY, python3 unless set).
"""
import os, re, shutil, subprocess, sys, tempfile
from pathlib import Path


def has(*patterns):
    """All of these regular expressions are in the text."""
    return lambda text: all(re.search(pattern, text, re.M) for pattern in patterns)


def lacks(*patterns):
    return lambda text: not any(re.search(pattern, text, re.M) for pattern in patterns)


def count(pattern, number):
    return lambda text: len(re.findall(pattern, text, re.M)) == number


def both(*checks):
    return lambda text: all(check(text) for check in checks)


def longest_cue(text):
    """The seconds of the longest caption, and the gap that would hide a word: every cue lasts 0.3 to 7 s."""
    seconds = lambda cue: sum(float(part) * unit for part, unit in zip(re.split("[:]", cue.replace(",", ".")), (3600, 60, 1)))
    cues = [(seconds(a), seconds(b)) for a, b in re.findall(r"([\d:.,]+) --> ([\d:.,]+)", text)]
    return len(cues) >= 6 and all(0.3 <= end - start <= 7 for start, end in cues)


CHECKS = {
    "A01-align-bom": both(has("rc=0"), count(r"^digits 1 ", 4)),
    "A01-odd-chunk": has("198 frames"),
    "A02-streamed-24bit": both(has("1350 frames", r"\b198 frames"), lacks("failed")),
    "A05-stream-sizes": both(has(r"\b198 frames", r"\b180 frames"), lacks("failed")),
    "A06-byte-rate": both(count(r"\b198 frames", 2), has("warning")),
    "A08-folder-skips": has("webm", "m4a", "amr"),
    "A10-codec-messages": lacks("not audio of a format"),
    "F06-plp-nan": both(has("298 frames", r"\b98 frames"), lacks("panicked")),
    "H01-hotwords-default": count(r"^digits three two five nine$", 3),
    "H02-hotwords-file": both(has("^bom rc=0", "^score rc=0|score.txt.*line 1"), lacks("model.toml")),
    "K02-segment-overshoot": has("3 utterances written", "3 recordings, .* 234 frames"),
    "K03-missing-pipe": has(r"command '.*a\.wav' failed", r"command 'cat nofile\.wav' failed with exit status: 1"),
    "K09-recordings-json": has(r"frames of 23[\s\S]*rc=0|jsonl"),
    "K10-bom": both(has("^utt1$"), count(r"frames of 23", 3), lacks("\ufeff", "failed")),
    "L01-lm-no-common-word": has("^lower rc=0", "(?i)upper rc=1|warning"),
    "L02-kenlm-binary": both(has("KenLM", "ARPA"), lacks(r"there is no \\data")),
    "M01-import-tokens": has("^ok rc=0", "^bom rc=0"),
    "N01-npz-compressed": both(has("^plain 0", "^compressed 0"), count("60 frames of 41", 2)),
    "O04-arpa-unicode-space": count(r"^\d+ .*\.syms", 9),
    "O05-unknown-token": has("zz"),
    "O06-counts": lacks("panicked", "cannot"),
    "O07-backoff-output": both(has("#0\t<eps>"), lacks("#0\t#0")),
    "O09-hlg-file-blank": both(lacks("panicked"), has("HLG|H o L o G")),
    "O10-equivalent": lambda text: True,
    "O11-arpa-gz": lacks("\x1f", "\ufffd"),
    "O12-fst-types": both(has("edit.fst.*fstconvert"), count(r"^\S+\.fst 0$", 14), lacks("differ")),
    "P01-fortran-ark": both(count("True$", 9), lacks("False")),
    "P02-channels-first": lacks(r"\(0, 23\)", r"audio\[:, 0\]"),
    "P04-int32-scale": lambda text: all(
        abs(float(difference)) < 0.5 or int(warnings) > 0
        for difference, warnings in re.findall(r"mean difference (\S+) warnings (\d+)", text)
    ),
    "P05-ark-file-object": count(r"^\['u'\]$", 2),
    "P06-loss-not-finite": has(r"kaldera \[[\d.]+, 0\.0, [\d.]+\]"),
    "R01-stream-duplicates": count(r"^%WER 0\.00", 2),
    "R02-stream-telephony": both(count("three two five nine", 2), has("rc=0")),
    "R03-stream-times": has("ctm", "jsonl"),
    "S01-score-bom": count(r"rc=0|^%WER 0\.00", 6),
    "S02-score-case-default": count(r"^%WER 0\.00", 2),
    "S03-ignore-case-unicode": count(r"^%WER 0\.00", 1),
    "S04-score-spaces": both(count(r"^%WER 100\.00", 2), lacks(r"^%WER 0\.00")),
    "S05-score-slash": has(r"rc=0", "1 / 8|1 del"),
    "S07-score-extra-hyp": has("rc=0", "(?i)warning"),
    "S11-score-no-ending": has("rc=0", r"^%WER 0\.00"),
    "T01-srt-pauses": longest_cue,
    "T02-ctm-segments": has("^conv1 A 0?", "rc=0"),
    "T03-ctm-channels": has("4 call (1|A)$", "3 call (2|B)$", r"^%WER 0\.00", "rc=0"),
    "T04-archive-input": lambda text: text.count("rc=0") == 2 or "archive" in text and "audio" in text,
    "Z01-python": both(lacks("PanicException", "panicked", "Timeout"), has("(?i)warning"), count("^rc=[01]$", 4)),
    "Z02-onnx": both(has("rc=1"), lacks("No such file")),
    "Z03-escape": lacks(r"\^\[", "\x1b"),
}


def prepare(case, folder):
    """What a folder lacks that its commands need."""
    if case == "S07-score-extra-hyp" and not (folder / "hyp.txt").exists():
        (folder / "hyp.txt").write_text((folder / "ref.txt").read_text() + "utt2 b\n")
    if case == "Z02-onnx":
        description = folder / "model.toml"
        description.write_text(re.sub(r"hang\.onnx", "abort.onnx", description.read_text()))


def missing(case, python):
    needs = {"A02-streamed-24bit": ["ffmpeg", "sox"], "A05-stream-sizes": ["sox"], "O12-fst-types": ["fstprint"]}
    absent = [program for program in needs.get(case, []) if not shutil.which(program)]
    modules = {"P": "kaldera", "Z01": "kaldera", "P06": "torch"}
    for prefix, module in modules.items():
        if re.match(rf"{prefix}\d?", case) and case.startswith(prefix):
            if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
                absent.append(f"Python's module {module}")
    return absent


def main():
    cases, wanted = Path(sys.argv[1]), sys.argv[2:]
    here = Path(__file__).resolve().parent.parent
    kaldera = os.environ.get("KALDERA", str(here / "target/release/kaldera"))
    python = os.environ.get("PY", "python3")
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "m"
        subprocess.run([kaldera, "model", "digits", "-o", model], check=True, capture_output=True)
        for source in sorted(path for path in cases.iterdir() if (path / "cmd.sh").exists()):
            case = source.name
            if wanted and case not in wanted:
                continue
            if absent := missing(case, python):
                print(f"{case}: left out without {' and '.join(absent)}")
                continue
            folder = Path(scratch) / case
            shutil.copytree(source, folder, symlinks=True)
            (folder / "m").symlink_to(model)
            prepare(case, folder)
            environment = {**os.environ, "K": kaldera, "PY": python}
            command = ["timeout", "100", "sh", "cmd.sh"]
            ended = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            text = ended.stdout.decode(errors="replace")
            check = CHECKS.get(case)
            if ended.returncode == 124:
                print(f"{case}: WRONG: no end within 100 s")
                wrong += 1
            elif check is None:
                print(f"{case}: WRONG: no check is written for it")
                wrong += 1
            elif check(text):
                print(f"{case}: ok")
            else:
                print(f"{case}: WRONG:\n    " + text.strip().replace("\n", "\n    "))
                wrong += 1
    print(f"{wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
