#!/usr/bin/env python3
"""Lines of Rust per crate: library code, its comments, and tests, of one commit or of two with the difference.

    python3 scripts/count-lines.py                  # HEAD
    python3 scripts/count-lines.py 10de028 HEAD     # two commits side by side
    python3 scripts/count-lines.py --work           # the working tree

Blank lines do not count. Tests are files under `tests/`, files named `tests.rs`, and what stands behind `#[cfg(test)]`; their
comments count as tests. Comments are lines that begin with `//`, doc comments and doc tests among them.
"""

import io
import pathlib
import subprocess
import sys
import tarfile


def files_of(revision):
    """(path, text) of each Rust file below crates/."""
    if revision == "--work":
        for path in sorted(pathlib.Path("crates").rglob("*.rs")):
            yield str(path), path.read_text()
        return
    archive = subprocess.run(["git", "archive", revision, "crates"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(".rs"):
                yield member.name, tar.extractfile(member).read().decode()


def count(path, text):
    """(code, comments, tests) of one file."""
    all_tests = "/tests/" in path or path.endswith("/tests.rs")
    code = comments = tests = 0
    in_tests = False  # inside a `#[cfg(test)]` item at the margin, which ends at the next `}` or `;` there
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped:
            continue
        if line.startswith("#[cfg(test)]") or line.startswith("#[cfg(all(test"):
            in_tests = True
        if all_tests or in_tests:
            tests += 1
            if line.startswith("}") or (not line[0].isspace() and stripped.endswith(";")):
                in_tests = False
        elif stripped.startswith("//"):
            comments += 1
        else:
            code += 1
    return code, comments, tests


def totals(revision):
    crates = {}
    for path, text in files_of(revision):
        crate = path.split("/")[1]
        sums = crates.setdefault(crate, [0, 0, 0])
        for i, n in enumerate(count(path, text)):
            sums[i] += n
    return crates


def main():
    revisions = sys.argv[1:] or ["HEAD"]
    tables = [totals(revision) for revision in revisions]
    names = sorted(set().union(*tables))
    kinds = ["code", "comments", "tests"]
    print(f"{'crate':<16}" + "".join(f"{r[:12] + ' ' + k:>22}" for r in revisions for k in kinds))
    zero = [0, 0, 0]
    rows = [(name, [table.get(name, zero) for table in tables]) for name in names]
    rows.append(("all", [[sum(table[n][i] for n in table) for i in range(3)] for table in tables]))
    for name, row in rows:
        line = f"{name:<16}" + "".join(f"{n:>22,}" for sums in row for n in sums)
        if len(row) == 2:
            line += "   " + " ".join(f"{b - a:+,}" for a, b in zip(*row))
        print(line)


main()
