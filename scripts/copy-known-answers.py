#!/usr/bin/env python3
"""Makes the project's own copy of known answers, crates/conformance/known-answers, from the whole collection.

    scripts/copy-known-answers.py [SOURCE]        SOURCE: the collection; default ../shared/known-answers beside the project

It copies the cases whose code exists, with the files that they need; READMEs are the project's own. It leaves out everything that comes from a recording of the
Free Spoken Digit Dataset (`fsdd_*`, CC BY-SA), at first or second hand. When a whole file gains its code, add it to WHOLE_FILES.
"""

import json
import re
import shutil
import sys
from pathlib import Path

# Files whose operations all have code, by set; nothing in them comes from recordings.
WHOLE_FILES = {
    "context_graph": ["context_graph.jsonl"],
    "ctc_align": ["align.jsonl"],
    "ctc_decode": ["exact.jsonl", "greedy.jsonl", "pyctc.jsonl", "in/lm0.arpa", "in/lm1.arpa", "in/pyctc_inputs.jsonl"],
    "ctc_rnnt": ["ctc.json", "rnnt.json"],
    "decode_graph": ["decode.jsonl", "lattice.jsonl"],
    "endpoint": ["endpoint.jsonl"],
    "k2": ["dense.json", "fsa_basic.json", "intersect.json", "losses.json", "ragged_ops.json", "ragged_shape.json"],
    "lod": [f"{name}.jsonl" for name in ["lod_algebra", "seq_ops", "segment", "dynamic", "fused_rnn", "torch_rnn"]],
    "ndarray": [f"{name}.jsonl" for name in
                ["arange", "assign", "broadcast", "coords", "index", "reshape", "strided", "views"]],
    "openfst": ["openfst.json"],
    "strided_slice": [f"{name}.jsonl" for name in ["rules", "slice", "grad", "update"]],
    "transducer_search": ["transducer.jsonl"],
    "wer": ["ctm.jsonl", "text.jsonl", "trn.jsonl"],
}
# Sets that are folders of files, each with its patterns; random models of our own.
WHOLE_FOLDERS = {"nnet3": ["*.raw", "*.txt", "*.npz"], "fst_types": ["*/*"], "const_arpa": ["*/**/*"]}
# Operations of `k2/nbest.json` whose code is still to come.
TO_COME: set[str] = set()
FOREIGN = "fsdd_"

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "crates/conformance/known-answers"
PATH = re.compile(r"(?:audio|in|out)/[\w./-]*\w")


def inputs_of(case, source):
    """Every file that a case reads: those on its command line, and those that scp files among them name."""
    outputs = {output["path"] for output in case["outputs"]}
    found, names = set(), PATH.findall(" ".join(case["args"]))
    while names:
        name = names.pop()
        if name in found or name in outputs or not (source / name).is_file():
            continue
        found.add(name)
        if name.startswith("in/") or name.endswith(".scp"):
            names += PATH.findall((source / name).read_text())
    return found | {f"audio/{name}.wav" for name in case["audio"]}


def kaldi(source, target):
    manifest = json.loads((source / "manifest.json").read_text())
    reads = {case["id"]: inputs_of(case, source) for case in manifest["cases"]}
    makes = {case["id"]: {output["path"] for output in case["outputs"]} for case in manifest["cases"]}

    foreign, before = {name for names in reads.values() for name in names if FOREIGN in name}, None
    while foreign != before:
        before = set(foreign)
        for name in reads:
            if reads[name] & foreign:
                foreign |= makes[name]
        foreign |= {name for names in reads.values() for name in names if name.startswith("in/")
                    and foreign & set(PATH.findall((source / name).read_text()))}

    cases = [case for case in manifest["cases"]
             if not (reads[case["id"]] | makes[case["id"]]) & foreign]
    files = set().union(*(reads[case["id"]] | makes[case["id"]] for case in cases))
    for name in sorted(file for file in files if (source / file).is_file()):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)

    kept = {case["id"] for case in cases}
    precision = json.loads((source / "precision.json").read_text())
    precision["cases"] = {name: entry for name, entry in precision["cases"].items() if name in kept}
    write(target / "manifest.json", manifest, "cases", cases)
    (target / "precision.json").write_text(json.dumps(precision, indent=0) + "\n")
    matrix = json.loads((source / "matrix.json").read_text())
    write(target / "matrix.json", matrix, "records", matrix["records"])
    print(f"kaldi: {len(cases)} of {len(manifest['cases'])} cases, {len(matrix['records'])} records")


def whole_files(name, source, target):
    target.mkdir(parents=True, exist_ok=True)
    for file in WHOLE_FILES[name]:
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, target / file)
    print(f"{name}: {', '.join(WHOLE_FILES[name])}")


def nbest(source, target):
    whole = json.loads((source / "nbest.json").read_text())
    cases = [case for case in whole["cases"] if case["op"] not in TO_COME]
    print(f"k2: nbest.json, {len(cases)} of {len(whole['cases'])} cases")
    write(target / "nbest.json", whole | {"num_cases": len(cases)}, "cases", cases)


def write(path, whole, key, items):
    """A JSON object whose list `key` stands last, an item a line."""
    head = json.dumps({name: value for name, value in whole.items() if name != key})
    lines = ",\n".join(json.dumps(item) for item in items)
    path.write_text(f"{head[:-1]}, {json.dumps(key)}: [\n{lines}\n]}}\n")


def main():
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT.parent / "shared/known-answers"
    if not source.is_dir():
        sys.exit(f"{source}: no such folder: name the collection of known answers as the first argument")
    for name in ["kaldi", *WHOLE_FILES]:
        shutil.rmtree(TARGET / name, ignore_errors=True)
    kaldi(source / "kaldi", TARGET / "kaldi")
    for name in WHOLE_FILES:
        whole_files(name, source / name, TARGET / name)
    nbest(source / "k2", TARGET / "k2")
    for name, patterns in WHOLE_FOLDERS.items():
        (TARGET / name).mkdir(parents=True, exist_ok=True)
        files = [file for pattern in patterns for file in sorted((source / name).glob(pattern)) if file.is_file()]
        for file in files:
            target = TARGET / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        print(f"{name}: {len(files)} files")
    for file in sorted(TARGET.rglob("*")):
        if file.is_file() and file.name != "README.md" and (FOREIGN in file.name or FOREIGN.encode() in file.read_bytes()):
            sys.exit(f"{file}: still holds something of {FOREIGN}*")


if __name__ == "__main__":
    main()
