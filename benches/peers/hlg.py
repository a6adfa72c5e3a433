"""Decoding graphs of a real lexicon and language model: kaldera fst make-hlg beside OpenFst.

    python3 benches/peers/hlg.py REALSET [MODEL ...]

REALSET has lexicon/, lm/ and what else ../shared/data/realset has; a MODEL is 5k-tiny or 20k-pruned.
OpenFst's programs are those of Debian's libfst-tools. Both start from texts: the lexicon and the
ARPA model here; L and G as OpenFst's text, which is not counted, there. Each step is a process of
its own, as recipes run them; its processor time and its largest memory are printed.
"""

import gzip
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KALDERA = ROOT / "target/release/kaldera"


def run(command, folder, quiet=True):
    """Runs a command on one thread; its processor time, wall time and peak memory, and what it says."""
    began = time.time()
    environment = os.environ | {"RAYON_NUM_THREADS": "1"}
    process = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment, stderr=subprocess.PIPE)
    told = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command}: {told}")
    name = " ".join(pathlib.Path(str(word)).name for word in command)
    print(f"{usage.ru_utime + usage.ru_stime:7.2f} s CPU {time.time() - began:7.2f} s {usage.ru_maxrss / 1024:7.0f} MiB  {name}", flush=True)
    if not quiet:
        print(told, end="")
    return told


def disambiguated(pronunciations):
    """The K of #K behind each pronunciation, 0 for none: of several that are equal, or that begin another."""
    count, begins = {}, set()
    for _, phones in pronunciations:
        count[phones] = count.get(phones, 0) + 1
        begins.update(phones[:length] for length in range(1, len(phones)))
    last, numbers = {}, []
    for _, phones in pronunciations:
        last[phones] = last.get(phones, 0) + 1
        numbers.append(last[phones] if count[phones] > 1 or phones in begins else 0)
    return numbers


def lexicon(file, words, tokens, boundary):
    """L with one boundary between words, an optional one at both ends, and #0 before it."""
    pronunciations = [(word, tuple(phones)) for word, *phones in map(str.split, file.read_text().splitlines())]
    pronunciations = [(word, phones) for word, phones in pronunciations if word in words]
    numbers = disambiguated(pronunciations)
    backoff = len(tokens)
    for number in range(max(numbers) + 1):
        tokens[f"#{number}"] = backoff + number
    arcs = [(0, 2, tokens[boundary], 0), (0, 2, 0, 0), (1, 2, tokens[boundary], 0), (1, 3, tokens[boundary], 0)]
    arcs += [(state, state, tokens["#0"], words["#0"]) for state in (0, 1)]
    state = 4
    for (word, phones), number in zip(pronunciations, numbers):
        labels = [tokens[phone] for phone in phones] + ([tokens[f"#{number}"]] if number else [])
        source = 2
        for place, label in enumerate(labels):
            target = 1 if place + 1 == len(labels) else state
            state += target != 1
            arcs.append((source, target, label, words[word] if place == 0 else 0))
            source = target
    return "".join("\t".join(map(str, arc)) + "\n" for arc in arcs) + "0\n1\n3\n"


def topology(num_tokens):
    """H: tokens + 1, 0 for epsilon; state i is after token i."""
    lines = []
    for state in range(num_tokens):
        for token in range(num_tokens):
            lines.append(f"{state}\t{token}\t{token + 1}\t{0 if token in (0, state) else token + 1}")
        lines.append(str(state))
    return "\n".join(lines) + "\n"


def relabelled(tokens, shift):
    """Pairs of labels of L o G: tokens + 1, and epsilon for symbols for disambiguation."""
    return "".join(f"{token}\t{0 if symbol.startswith('#') else token + shift}\n" for symbol, token in tokens.items() if token)


def symbols(file):
    return {symbol: int(number) for symbol, number in map(str.split, file.read_text().splitlines())}


def size(folder, file):
    told = subprocess.run(["fstinfo", file], cwd=folder, capture_output=True, text=True, check=True).stdout
    states, arcs = (re.search(rf"# of {what} +(\d+)", told).group(1) for what in ("states", "arcs"))
    print(f"{'':42} {file}: {states} states, {arcs} arcs, {(folder / file).stat().st_size / 1e6:.1f} MB")


def openfst(realset, model, lexicon_file, folder):
    """L, G, their composition, determinized, minimized, composed with H, as recipes do it."""
    with gzip.open(realset / f"lm/en-us-{model}.arpa.gz", "rt") as arpa:
        unigrams = []
        for line in arpa:
            if line.startswith("\\2-grams"):
                break
            fields = line.split()
            if len(fields) > 1 and re.match(r"-?[\d.]+$", fields[0]) and fields[1] not in ("<s>", "</s>"):
                unigrams.append(fields[1])
    pronounced = {line.split()[0] for line in lexicon_file.read_text().splitlines()}
    names = ["<eps>", "<s>", "</s>"] + [word for word in unigrams if word in pronounced] + ["#0"]
    words = {word: number for number, word in enumerate(names)}
    tokens = symbols(realset / "lexicon/tokens.txt")
    num_tokens = len(tokens)
    (folder / "words.txt").write_text("".join(f"{word} {number}\n" for word, number in words.items()))
    (folder / "L.txt").write_text(lexicon(lexicon_file, words, tokens, "<wb>"))
    (folder / "H.txt").write_text(topology(num_tokens))
    (folder / "relabel.txt").write_text(relabelled(tokens, 1))
    (folder / "backoff.txt").write_text(f"{words['#0']}\t0\n")
    arpa = realset / f"lm/en-us-{model}.arpa.gz"
    # Kaldi's arpa2fst writes the same.
    run([KALDERA, "fst", "arpa2fst", "--disambig-symbol=#0", "--read-symbol-table=words.txt", arpa, "G0.fst"], folder)
    # The composition matches #0 of L with #0 of G.
    for command in [
        ["fstcompile", "L.txt", "L0.fst"],
        ["fstarcsort", "--sort_type=olabel", "L0.fst", "L.fst"],
        ["fstarcsort", "--sort_type=ilabel", "G0.fst", "G.fst"],
        ["fstcompile", "H.txt", "H0.fst"],
        ["fstarcsort", "--sort_type=olabel", "H0.fst", "H.fst"],
        ["fstcompose", "L.fst", "G.fst", "LG0.fst"],
        ["fstdeterminize", "LG0.fst", "LG1.fst"],
        ["fstminimize", "LG1.fst", "LG2.fst"],
        ["fstrelabel", "--relabel_ipairs=relabel.txt", "--relabel_opairs=backoff.txt", "LG2.fst", "LG3.fst"],
        ["fstarcsort", "--sort_type=ilabel", "LG3.fst", "LG.fst"],
        ["fstcompose", "H.fst", "LG.fst", "HLG0.fst"],
        ["fstconnect", "HLG0.fst", "HLG1.fst"],
        ["fstarcsort", "--sort_type=ilabel", "HLG1.fst", "HLG.openfst.fst"],
    ]:
        run(command, folder)
    for file in ["LG0.fst", "LG1.fst", "LG2.fst", "HLG.openfst.fst"]:
        size(folder, file)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    realset = pathlib.Path(sys.argv[1]).resolve()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for model in sys.argv[2:] or ["5k-tiny", "20k-pruned"]:
        lexicon_file = realset / f"lexicon/lexicon-g2p-{model.split('-')[0]}.txt"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            print(f"## {model}")
            arguments = ["--word-boundary=<wb>", f"--tokens={realset / 'lexicon/tokens.txt'}", lexicon_file]
            arpa = realset / f"lm/en-us-{model}.arpa.gz"
            run([KALDERA, "fst", "make-hlg", *arguments, arpa, "HLG.fst"], folder, quiet=False)
            size(folder, "HLG.fst")
            openfst(realset, model, lexicon_file, folder)


if __name__ == "__main__":
    main()
