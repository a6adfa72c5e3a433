#!/usr/bin/env python3
"""Writes the parity table of crates/kaldi-feat/README.md: how far our features are from Kaldi's, and Kaldi's from its own.

    python3 scripts/parity-table.py KALDERA KNOWN_ANSWERS [README]

KALDERA is the command, KNOWN_ANSWERS the folder that has `kaldi/manifest.json`. Each case of the feature groups is run again. Without
README the table is printed; with it, what stands there between the lines `<!-- parity -->` and `<!-- /parity -->` is replaced.
"""
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from array import array

# Of which rows the table is: name, and which cases. Linear values and Fourier transforms are relative to the frame's largest.
KINDS = {
    "filterbank, log": lambda case: case["group"] == "fbank" and "--use-log-fbank=false" not in case["args"],
    "filterbank, linear (relative)": lambda case: case["group"] == "fbank" and "--use-log-fbank=false" in case["args"],
    "MFCC": lambda case: case["group"] == "mfcc",
    "PLP": lambda case: case["group"] == "plp",
    "spectrogram": lambda case: case["group"] == "spec" and "--return-raw-fft=true" not in case["args"],
    "Fourier transform (relative)": lambda case: "--return-raw-fft=true" in case["args"],
    "pitch and its NCCF (relative)": lambda case: case["tool"] == "compute-kaldi-pitch-feats" and case["group"] == "pitch",
    "pitch, processed": lambda case: "process-kaldi-pitch" in case["tool"] and case["group"] in ("pitch", "pitchproc"),
    "deltas": lambda case: case["tool"] in ("add-deltas", "add-deltas-sdc"),
    "CMVN": lambda case: case["tool"] in ("apply-cmvn", "apply-cmvn-sliding"),
}


def matrices(path):
    """The float matrices of a binary archive, key -> rows; none of another file."""
    with open(path, "rb") as file:
        data = file.read()
    at, found = 0, {}
    if b"\0BFM " not in data[:200]:
        return found
    while at < len(data):
        space = data.index(b" ", at)
        key, at = data[at:space].decode(), space + 1
        if data[at : at + 5] != b"\0BFM ":
            raise ValueError(f"{path}: {key} is no float matrix")
        _, rows, _, cols = struct.unpack("<bibi", data[at + 5 : at + 15])
        at += 15
        values = array("f", data[at : at + 4 * rows * cols])
        found[key] = [values[row * cols : (row + 1) * cols] for row in range(rows)]
        at += 4 * rows * cols
    return found


def differences(case, folder, kaldera, relative):
    """|ours - Kaldi's| for each number that is one."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in os.listdir(folder):
            if name != "out":
                os.symlink(os.path.join(folder, name), os.path.join(scratch, name))
        shutil.copytree(os.path.join(folder, "out"), os.path.join(scratch, "out"))
        for output in case["outputs"]:
            os.remove(os.path.join(scratch, output["path"]))
        subprocess.run([kaldera, case["tool"], *case["args"]], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
        for output in case["outputs"]:
            theirs = matrices(os.path.join(folder, output["path"]))
            ours = matrices(os.path.join(scratch, output["path"]))
            if {k: len(v) for k, v in ours.items()} != {k: len(v) for k, v in theirs.items()}:
                raise ValueError(f"{case['id']}: not the same keys and frames")
            for key, rows in theirs.items():
                for expected, found in zip(rows, ours[key]):
                    unit = max((abs(x) for x in expected), default=0) if relative else 1
                    for x, y in zip(expected, found):
                        if not math.isnan(x):
                            yield abs(x - y) / (unit or 1)


def table(kaldera, folder):
    with open(os.path.join(folder, "manifest.json")) as file:
        cases = [case for case in json.load(file)["cases"] if case["exit"] == 0]
    with open(os.path.join(folder, "precision.json")) as file:
        precision = json.load(file)["cases"]
    lines = [
        "| | cases | numbers | ours: largest | ours: mean | Kaldi's, by BLAS kernel: largest | Kaldi's, by precision and FFT: largest |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for kind, chosen in KINDS.items():
        numbers, largest, total = 0, 0.0, 0.0
        of_kind = [case for case in cases if chosen(case)]
        relative = "relative" in kind
        for case in of_kind:
            for difference in differences(case, folder, kaldera, relative):
                numbers, largest, total = numbers + 1, max(largest, difference), total + difference
        measure = "kaldi_blas_kernel_jitter_max_rel_to_matrix_max" if relative else "kaldi_blas_kernel_jitter_max_abs"
        jitter = max((case.get(measure) or 0.0 for case in of_kind), default=0.0)
        rows = [row for case in of_kind for row in precision.get(case["id"], {}).get("rows", {}).values()]
        rounding = max((x for row in rows for x in row.values()), default=0.0)
        rounding = "-" if relative or not rounding else f"{rounding:.1e}"
        mean = total / numbers if numbers else 0.0
        lines.append(f"| {kind} | {len(of_kind)} | {numbers:,} | {largest:.1e} | {mean:.1e} | {jitter:.1e} | {rounding} |")
    return "\n".join(lines) + "\n"


def main():
    kaldera, answers = (os.path.abspath(path) for path in sys.argv[1:3])
    text = table(kaldera, os.path.join(answers, "kaldi"))
    if len(sys.argv) < 4:
        sys.stdout.write(text)
        return
    with open(sys.argv[3]) as file:
        before, rest = file.read().split("<!-- parity -->\n")
    after = rest.split("<!-- /parity -->\n")[1]
    with open(sys.argv[3], "w") as file:
        file.write(f"{before}<!-- parity -->\n{text}<!-- /parity -->\n{after}")


if __name__ == "__main__":
    main()
