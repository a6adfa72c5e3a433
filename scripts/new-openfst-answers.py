#!/usr/bin/env python3
"""Has OpenFst answer new random cases, in the schema of the known answers, for `conformance` to run.

    python3 scripts/new-openfst-answers.py FOLDER [SEED [CASES]]
    KNOWN_ANSWERS=FOLDER cargo run --release -p conformance -- openfst

The programs are those of Debian's libfst-tools (1.7.9). CASES are as many of each operation (20).
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

WORK = tempfile.TemporaryDirectory()


def run(command, stdin=b""):
    return subprocess.run(command, input=stdin, shell=True, check=True, capture_output=True).stdout


def compiled(text, arc_type="standard"):
    return run(f"fstcompile --arc_type={arc_type}", text.encode())


def printed(fst):
    return run("fstprint", fst).decode()


def of_two(command, a, b):
    paths = [Path(WORK.name, name) for name in ("a.fst", "b.fst")]
    for path, fst in zip(paths, (a, b)):
        path.write_bytes(fst)
    return run(f"{command} {paths[0]} {paths[1]}")


def info(fst):
    told = dict(line.rsplit(None, 1) for line in run("fstinfo --info_type=long", fst).decode().splitlines())
    told = {name.strip(): value for name, value in told.items()}
    counts = {
        "states": "# of states",
        "arcs": "# of arcs",
        "finals": "# of final states",
        "input_epsilons": "# of input epsilons",
        "output_epsilons": "# of output epsilons",
        "accessible": "# of accessible states",
        "coaccessible": "# of coaccessible states",
        "ncc": "# of connected components",
        "nscc": "# of strongly conn components",
    }
    made = {name: int(told[told_name]) for name, told_name in counts.items()}
    acyclic = told["acyclic"] == "y" if "acyclic" in told else told["cyclic"] == "n"
    return made | {"acyclic": acyclic, "ideterm": told["input deterministic"] == "y"}


class Machine:
    """What a text says."""

    def __init__(self, text):
        self.start, self.arcs, self.final_weights = None, {}, {}
        for line in text.splitlines():
            fields = line.split("\t")
            state = int(fields[0])
            self.start = state if self.start is None else self.start
            if len(fields) <= 2:
                self.final_weights[state] = float(fields[1]) if len(fields) == 2 else 0.0
            else:
                weight = float(fields[4]) if len(fields) > 4 else 0.0
                self.arcs.setdefault(state, []).append((*map(int, fields[1:4]), weight))

    def paths(self, state=None, labels=((), ()), weight=0.0):
        """(input labels, output labels, weight) of each path of an acyclic one."""
        state = self.start if state is None else state
        if state in self.final_weights:
            yield *map(list, labels), weight + self.final_weights[state]
        for dest, ilabel, olabel, more in self.arcs.get(state, []):
            step = (labels[0] + (ilabel,) * (ilabel > 0), labels[1] + (olabel,) * (olabel > 0))
            yield from self.paths(dest, step, weight + more)


def shortest(fst):
    for ilabels, olabels, weight in Machine(printed(run("fstshortestpath", fst))).paths():
        return {"ilabels": ilabels, "olabels": olabels, "weight": weight}
    return None


def distances(fst, reverse, count):
    made = [None] * count
    for line in run("fstshortestdistance" + " --reverse" * reverse, fst).decode().splitlines():
        state, *distance = line.split("\t")
        made[int(state)] = float(distance[0]) if distance else 0.0
    return [None if x is None or x == float("inf") else x for x in made]


def as_text(lines):
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def random_text(dice, acyclic=True, acceptor=True, epsilons=0.0, labels=4):
    """States have the numbers that fstcompile gives them: in the order in which they come up."""
    weight = lambda: dice.choice(["0", "0", f"{dice.randint(0, 10) / 2}", f"{dice.randint(0, 5000) / 1000}"])
    label = lambda: 0 if dice.random() < epsilons else dice.randint(1, labels)
    states = dice.randint(2, 6)
    lines = [[0, states - 1, 1, 1, weight()]]
    for state in range(states - acyclic):
        for _ in range(dice.choice([0, 1, 1, 2, 3, 4])):
            dest = dice.randint(state + 1 if acyclic else 0, states - 1)
            ilabel = label()
            lines.append([state, dest, ilabel, ilabel if acceptor else label(), weight()])
    finals = {states - 1} if dice.random() < 0.95 else set()
    if dice.random() < 0.3:
        finals.add(dice.randrange(states))
    lines += [[final, weight()] for final in sorted(finals)]
    names = {}
    for line in lines:
        line[: len(line) // 2] = [names.setdefault(state, len(names)) for state in line[: len(line) // 2]]
    return as_text(lines)


def lexicon_and_grammar(dice):
    """Words of phones 1 to 5, each with 6 at its end, and which word may follow which."""
    sounds = {tuple(dice.randint(1, 5) for _ in range(dice.randint(1, 4))) for _ in range(dice.randint(1, 9))}
    weight = lambda: dice.choice(["0", f"{dice.randint(0, 10) / 2}", f"{dice.randint(0, 5000) / 1000}"])
    lines, states = [], 1
    for word, phones in enumerate(sorted(sounds), 1):
        through = [0, *range(states, states + len(phones)), 0]
        states += len(phones)
        for i, phone in enumerate([*phones, 6]):
            lines.append([through[i], through[i + 1], phone, word if i == 0 else 0, weight() if i == 0 else "0"])
    lexicon = as_text([*lines, [0]])
    words = range(1, len(sounds) + 1)
    lines = [[0, word, word, word, weight()] for word in words]
    lines += [[a, b, b, b, weight()] for a in words for b in words if dice.random() < 0.4]
    lines += [[word, weight()] for word in words if word == len(words) or dice.random() < 0.5]
    return lexicon, as_text(lines)


def answers_of_one_round(dice, cases):
    def add(op, inputs, **expect):
        cases.append({"id": f"{op}_{len(cases)}", "op": op, "inputs": inputs, **expect})

    def add_machine(op, inputs, made, **more):
        add(op, inputs, result=printed(made), info=info(made), shortest=shortest(made), **more)

    maybe = lambda chance: dice.random() < chance
    acyclic_acceptor = lambda **more: random_text(dice, **more)

    def connected(text):
        return printed(run("fstconnect", compiled(text)))

    text = random_text(dice, maybe(0.6), maybe(0.5), dice.choice([0, 0.2]))
    add_machine("connect", [text], run("fstconnect", compiled(text)), samples=[])
    text = random_text(dice, maybe(0.6), epsilons=0.3)
    add_machine("rmepsilon", [text], run("fstrmepsilon", compiled(text)), samples=[])
    text = acyclic_acceptor(epsilons=0.2)
    optimized = run("fstrmepsilon | fstconnect | fstdeterminize | fstminimize", compiled(text))
    add_machine("optimize_acceptor", [text], optimized)
    text = acyclic_acceptor(labels=dice.choice([2, 3, 4]))
    determinized = run("fstdeterminize", compiled(text))
    add_machine("determinize", [text], determinized)
    if deterministic := printed(determinized):
        minimal = run("fstminimize", compiled(deterministic))
        add_machine("minimize", [deterministic], minimal, equivalent_to_input=True)
        add("equivalent", [deterministic, printed(minimal)], equal=True)
    if text := connected(acyclic_acceptor()):
        add_machine("push_weights", [text], run("fstpush --push_weights", compiled(text)))
        in_logs, count = compiled(text, "log"), info(compiled(text))["states"]
        totals = {f"distance_{name}": distances(in_logs, name == "reverse", count) for name in ("forward", "reverse")}
        add("log_total", [text], **totals)
        n = dice.randint(1, 6)
        best = Machine(printed(run(f"fstdeterminize | fstshortestpath --nshortest={n}", compiled(text))))
        paths = [{"weight": weight, "labels": labels} for labels, _, weight in best.paths()]
        add("nbest", [text], n=n, unique=True, paths=sorted(paths, key=lambda path: path["weight"]))

    text = random_text(dice, maybe(0.6), maybe(0.5), dice.choice([0, 0.2]))
    for side in ["ilabel", "olabel"]:
        add_machine(f"arcsort_{side}", [text], run(f"fstarcsort --sort_type={side}", compiled(text)))
    before = compiled(text)
    info_in = info(before)
    of_states = {f"distance_{name}": distances(before, name == "reverse", info_in["states"]) for name in ("forward", "reverse")}
    add("shortestpath", [text], shortest=shortest(before), **of_states, info_in=info_in)
    text = random_text(dice, maybe(0.6), acceptor=False, epsilons=0.2)
    add_machine("project_output", [text], run("fstproject --project_type=output", compiled(text)))

    texts = lexicon_and_grammar(dice)
    a, b = map(compiled, texts)
    made = of_two("fstcompose", run("fstarcsort --sort_type=olabel", a), run("fstarcsort --sort_type=ilabel", b))
    add_machine("lexicon_compose", texts, made, samples=[])
    determinized = run("fstdeterminize", made)
    of_minimal = info(run("fstminimize", determinized))
    add("lexicon_determinize", texts, info=info(determinized), info_min=of_minimal, shortest=shortest(determinized))

    for op in ["compose", "intersect", "union", "concat"]:
        epsilons = 0 if op == "intersect" else 0.2
        texts = [random_text(dice, maybe(0.6), op == "intersect", epsilons, labels=3) for _ in range(2)]
        a, b = map(compiled, texts)
        if op in ("compose", "intersect"):
            a, b = run("fstarcsort --sort_type=olabel", a), run("fstarcsort --sort_type=ilabel", b)
        add_machine(op, texts, of_two(f"fst{op}", a, b), samples=[])
    for op in ["closure", "reverse", "invert"]:
        text = random_text(dice, maybe(0.7), op != "invert", epsilons=0.1)
        add_machine(op, [text], run(f"fst{op}", compiled(text)), samples=[])
    text, taken = random_text(dice, maybe(0.7), labels=3), Machine(acyclic_acceptor(labels=3))
    arcs = [f"{state}\t{dest}\t{i}\t{o}" for state, arcs in taken.arcs.items() for dest, i, o, _ in arcs]
    unweighted = "\n".join([*arcs, *map(str, taken.final_weights)]) + "\n"
    if taken := printed(run("fstdeterminize", compiled(unweighted))):
        a, b = run("fstarcsort --sort_type=olabel", compiled(text)), run("fstarcsort --sort_type=ilabel", compiled(taken))
        add_machine("difference", [text, taken], of_two("fstdifference", a, b), samples=[])


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    folder, seed, rounds = Path(sys.argv[1]), int((sys.argv[2:] or [1])[0]), int((sys.argv[3:] or [20])[0])
    dice, cases = random.Random(seed), []
    for _ in range(rounds):
        answers_of_one_round(dice, cases)
    path = folder / "openfst" / "openfst.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(cases))
    print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main()
