#!/usr/bin/env python3
"""Measures the prose of comments and papers, and holds it to prose-budget.json.

    python3 scripts/prose.py               # a table
    python3 scripts/prose.py --check       # fails if a number is above its budget
    python3 scripts/prose.py --lower       # lowers budgets to the present numbers; never raises one
    python3 scripts/prose.py --list lod    # each place in crates/lod

A crate is its `src` folder; `papers` are the Markdown files. Code blocks and text in backticks are not counted. The columns:

    what        "what" per 1,000 words
    phrases     "those of", "that of", "alone", "beside", "told" per 1,000 words
    summaries   percentage of doc comments whose first word is an interrogative or "that"
    wide        comment lines of more than 100 columns
    sentence    mean words of a sentence (papers only)

A crate or paper without a budget gets the limits below.
"""

import json
import pathlib
import re
import subprocess
import sys

BUDGET = pathlib.Path("scripts/prose-budget.json")
LIMITS = {"what": 2.0, "phrases": 2.0, "summaries": 2.0, "wide": 0, "sentence": 18.0}
WHAT = re.compile(r"\bwhat\b", re.I)
PHRASES = re.compile(r"\b(those of|that of|alone|beside|told)\b", re.I)
INTERROGATIVE = re.compile(r"\W*(what|whether|which|where|how|who|that)\b", re.I)
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
COMMENT = re.compile(r"^\s*//[/!]?(?: |$)")
WIDTH = 100


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True).stdout.split()


def without_code(text):
    return re.sub(r"`[^`\n]*`", "`code`", re.sub(r"```.*?```", "", text, flags=re.S))


class Counts:
    def __init__(self):
        self.words = self.what = self.phrases = self.docs = self.summaries = self.wide = self.sentences = self.spoken = 0
        self.places = []

    def prose(self, path, number, text):
        text = without_code(text)
        self.words += len(WORD.findall(text.replace("`code`", " ")))
        for pattern, name in ((WHAT, "what"), (PHRASES, "phrases")):
            found = pattern.findall(text)
            setattr(self, name, getattr(self, name) + len(found))
            if found:
                self.places.append(f"{path}:{number}: {name}: {text.strip()}")

    def comments(self, path):
        fenced = in_doc = False
        for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
            if not COMMENT.match(line):
                fenced = in_doc = False
                continue
            if len(line) > WIDTH:
                self.wide += 1
                self.places.append(f"{path}:{number}: wide: {len(line)} columns")
            is_doc = re.match(r"\s*//[/!]", line)
            text = COMMENT.sub("", line, count=1)
            if text.startswith("```"):
                fenced = not fenced
            elif not fenced:
                if is_doc and not in_doc:
                    self.docs += 1
                    if INTERROGATIVE.match(text):
                        self.summaries += 1
                        self.places.append(f"{path}:{number}: summaries: {text.strip()}")
                self.prose(path, number, text)
            in_doc = bool(is_doc)

    def paper(self, path):
        text = without_code(pathlib.Path(path).read_text())
        for number, line in enumerate(text.splitlines(), 1):
            self.prose(path, number, line)
        prose = "\n".join("" if re.match(r"\s*(\||#|<|!\[|\[!)", line) else line for line in text.splitlines())
        prose = re.sub(r"\]\([^)]*\)", "]", prose)
        for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", prose):
            for sentence in re.split(r"(?<=[.!?])\s+(?=[\[`A-Z*\"(])", " ".join(paragraph.split())):
                words = len(WORD.findall(sentence))
                if words > 2:
                    self.sentences += 1
                    self.spoken += words

    def table(self):
        words = max(self.words, 1)
        row = {"what": 1000 * self.what / words, "phrases": 1000 * self.phrases / words}
        if self.docs:
            row["summaries"] = 100 * self.summaries / self.docs
            row["wide"] = self.wide
        if self.sentences:
            row["sentence"] = self.spoken / self.sentences
        return {name: round(value, 1) for name, value in row.items()}


def measure():
    measured = {}
    for crate in sorted({path.split("/")[1] for path in tracked("crates/*/src/*.rs")}):
        counts = measured[crate] = Counts()
        for path in tracked(f"crates/{crate}/src/*.rs"):
            counts.comments(path)
    for path in tracked("*.md"):
        measured[path] = Counts()
        measured[path].paper(path)
    return measured


def main():
    arguments = sys.argv[1:]
    measured = measure()
    if arguments[:1] == ["--list"]:
        for name, counts in measured.items():
            if name in arguments[1:]:
                print("\n".join(counts.places))
        return
    budgets = json.loads(BUDGET.read_text())
    tables = {name: counts.table() for name, counts in measured.items()}
    if arguments == ["--lower"]:
        lowered = {}
        for name in budgets.keys() & tables.keys():
            lower = {key: min(limit, tables[name].get(key, 0)) for key, limit in budgets[name].items()}
            lowered[name] = {key: limit for key, limit in lower.items() if limit > LIMITS[key]}
        budgets = {name: row for name, row in lowered.items() if row}
        BUDGET.write_text(json.dumps(budgets, indent=1, sort_keys=True) + "\n")
        return
    above = []
    for name, row in tables.items():
        for key, value in row.items():
            limit = budgets.get(name, {}).get(key, LIMITS[key])
            if value > limit:
                above.append(f"{name}: {key} is {value}, its budget {limit}")
    if arguments == ["--check"]:
        for line in above:
            print(line, file=sys.stderr)
        if above:
            sys.exit("prose: write these places again (`python3 scripts/prose.py --list NAME`); budgets only fall")
        return
    print(f"{'':34}" + "".join(f"{key:>11}" for key in LIMITS))
    for name, row in tables.items():
        print(f"{name:34}" + "".join(f"{row[key]:>11}" if key in row else " " * 11 for key in LIMITS))


main()
