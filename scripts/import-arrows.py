#!/usr/bin/env python3
"""The arrows between the modules of a crate, by its `use crate::...` lines, and the cycles among them.

    python3 scripts/import-arrows.py ragged-core lod     # cycles only
    python3 scripts/import-arrows.py --arrows lod        # each arrow too
    python3 scripts/import-arrows.py --check             # all crates; fails if a cycle has an arrow that allowed-cycles.txt lacks

A module is a file; `x.rs` beside `x/` is the module of the folder. Imports of tests, of `lib.rs`, which only re-exports, and what a module
re-exports of those below it do not count. A cycle is a set of modules each of which reaches all others.
"""

import pathlib
import re
import sys


def modules(crate):
    source = pathlib.Path("crates") / crate / "src"
    for path in sorted(source.rglob("*.rs")):
        name = str(path.relative_to(source))[:-3].replace("/", "::")
        if name not in ("lib", "main") and not name.endswith("tests"):
            yield name, re.split(r"^#\[cfg\((?:all\()?test", path.read_text(), flags=re.M)[0]


def paths_of(tree, prefix=""):
    """The paths that a `use` tree names: `a::{b, c::d}` gives `a::b` and `a::c::d`."""
    depth, item, items = 0, "", []
    for char in tree:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            items.append(item)
            item = ""
        else:
            item += char
    for item in map(str.strip, [*items, item]):
        if "{" in item:
            head, rest = item.split("{", 1)
            yield from paths_of(rest.rsplit("}", 1)[0], prefix + head.strip())
        elif item:
            yield prefix + item.split(" as ")[0].strip()


def arrows(crate):
    texts = dict(modules(crate))
    found = {name: set() for name in texts}
    for name, text in texts.items():
        for exported, tree in re.findall(r"^\s*(pub(?:\([^)]*\))? )?use ((?:crate|self|super)::[^;]+);", text, re.M):
            for path in paths_of(" ".join(tree.split())):
                parts = path.split("::")
                base = name.split("::")
                if parts[0] == "self":
                    parts = base + parts[1:]
                elif parts[0] == "super":
                    while parts[0] == "super":
                        parts, base = parts[1:], base[:-1]
                    parts = base + parts
                else:
                    parts = parts[1:]
                while parts and "::".join(parts) not in texts:
                    parts.pop()
                target = "::".join(parts)
                re_exported = exported and target.startswith(name + "::")
                if target and target != name and not re_exported:
                    found[name].add(target)
    return found


def cycles(found):
    """Strongly connected components of more than one module."""
    index, low, stack, components = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for next_node in found[node]:
            if next_node not in index:
                visit(next_node)
                low[node] = min(low[node], low[next_node])
            elif next_node in stack:
                low[node] = min(low[node], index[next_node])
        if low[node] == index[node]:
            at = stack.index(node)
            component = sorted(stack[at:])
            del stack[at:]
            if len(component) > 1:
                components.append(component)

    for node in found:
        if node not in index:
            visit(node)
    return components


def arrows_of_cycles():
    """The arrows inside cycles, of all crates, as lines."""
    for crate in sorted(path.parent.name for path in pathlib.Path("crates").glob("*/src")):
        found = arrows(crate)
        for component in cycles(found):
            yield from (f"{crate}: {a} -> {b}" for a in component for b in sorted(found[a]) if b in component)


def check():
    """Compares the cycles with the list of those allowed, which may only become shorter."""
    path = pathlib.Path(__file__).with_name("allowed-cycles.txt")
    allowed = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    found = list(arrows_of_cycles())
    new = [f"new in a cycle: {line}" for line in found if line not in allowed]
    gone = [f"no longer in a cycle, remove it from {path.name}: {line}" for line in allowed if line not in found]
    print("\n".join(new + gone) or f"{len(found)} arrows in cycles, all allowed")
    return 1 if new or gone else 0


def main():
    arguments = sys.argv[1:]
    if arguments == ["--check"]:
        sys.exit(check())
    show = "--arrows" in arguments
    for crate in [argument for argument in arguments if argument != "--arrows"]:
        found = arrows(crate)
        print(f"{crate}: {len(found)} modules, {sum(map(len, found.values()))} arrows, {len(cycles(found))} cycles")
        if show:
            for name, targets in sorted(found.items()):
                print(f"  {name} -> {', '.join(sorted(targets)) or 'none'}")
        for component in cycles(found):
            inside = [f"{a} -> {b}" for a in component for b in sorted(found[a]) if b in component]
            print(f"  cycle of {len(component)}: {', '.join(inside)}")


main()
