#!/usr/bin/env python3
"""Measures decoders of posteriors beside pyctcdecode, ctc-beam-decoder, flashlight-text, torchaudio and kaldi-decoder: one thread each, in turn.

    python3 benches/peers/decoder.py REALSET               # 5 rounds; two minutes
    python3 benches/peers/decoder.py REALSET --rounds 1    # does everything work?
    python3 benches/peers/decoder.py REALSET --only HLG    # cases whose names contain this

REALSET is `../shared/data/realset`. Characters and spelled words: 2 synthetic utterances of 500 frames and 100 classes, beam 20. An alignment is of 500 frames,
500 classes and 60 labels. The cases of the lexicon and HLG decode the 14 recordings of REALSET, 46.6 s, with the model 20k-pruned and the lexicon g2p-20k.

A round asks each program for each case once, after one run that does not count. The table has medians of processor time in milliseconds, and whether all
programs found the same: scores and texts for synthetic utterances; word errors on the transcripts of REALSET, which the crate kaldera-decoder counts for all.
A case whose first run takes more than 10 s is run once. Programs that cannot do a case have a dash.

All peers come from PyPI; torchaudio brings a PyTorch of several GB, and `--peers` leaves it out. What is made lies in benches/peers/.work.
"""

import argparse
import array
import gzip
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from statistics import median

import machine
from tensor import ROOT, TARGET, WORK, Program

VENV = WORK / "venv-decoder"
PACKAGES = {
    "pyctcdecode": ["pyctcdecode==0.5.0"],
    "ctc-beam-decoder": ["ctc-beam-decoder==0.2.0"],
    "flashlight-text": ["flashlight-text==0.0.7"],
    "torchaudio": ["flashlight-text==0.0.7", "torch==2.5.1", "torchaudio==2.5.1"],
    "kaldi-decoder": ["kaldi-decoder==0.3.2", "kaldifst==1.8.3"],
}
PEERS = list(PACKAGES)

ALIGNMENTS = 100
"""So many a run, as one takes less than answering."""
CASES = {
    "characters": 1, "characters, 200 hot words": 1, "spelled words": 1, "spelled words, 200 hot words": 1, "alignment": ALIGNMENTS,
    "lexicon, best alignment": 1, "lexicon, sum of alignments": 1, "HLG, one best": 1, "HLG, lattice": 1,
}  # fmt: skip
SLOW = 10.0
"""Seconds of a first run that counts, as it is the only one."""

# Those of decoder_cases.rs.
FRAMES, CHARACTERS, CLASSES, FIRST_CHARACTER = 500, 100, 500, 0x4E00
BEAM, LEXICON_BEAM = 20, 200
BOUNDARY = "<wb>"
IMPOSSIBLE = -1000.0
LM_WEIGHT, WORD_SCORE, ACOUSTIC_SCALE = 0.8, 0.6, 1.25
THRESHOLDS = {"characters": (20.0, True), "lexicon, best alignment": (50.0, False), "lexicon, sum of alignments": (20.0, True)}
"""Beam threshold, and whether alignments are summed."""


class Decoder(Program):
    """A child that says what it found."""

    def run(self, case: str):
        """Processor time in seconds, the score and the texts; nothing if the program cannot."""
        times = CASES[case]
        before = self.processor_time()
        self.child.stdin.write(f"{times} {case}\n")
        answer = self.child.stdout.readline().rstrip("\n")
        if not answer:
            sys.exit(f"{self.name} ended at {case}")
        time.sleep(0.002)  # until its time is accounted for
        if answer == "-":
            return None
        score, *texts = answer.split("\t")
        return (self.processor_time() - before) / times, float(score), texts


def prepare(realset: Path, to: Path) -> None:
    """The network's output without the heads of arrays, the model, the lexicon. A second copy of the output ends with a frame that is a boundary of words:
    decoders with a lexicon have one after each word, and the network has none after the last word."""
    shutil.copy(realset / "lexicon/tokens.txt", to / "tokens.txt")
    names, tokens = [], symbols(to / "tokens.txt")
    boundary = array.array("f", (0.0 if token == BOUNDARY else IMPOSSIBLE for token in tokens)).tobytes()
    with zipfile.ZipFile(realset / "posteriors.npz") as archive:
        for entry in archive.namelist():
            names.append(entry.removesuffix(".npy"))
            values = archive.read(entry)
            values = values[10 + int.from_bytes(values[8:10], "little") :]
            (to / f"{names[-1]}.f32").write_bytes(values)
            (to / f"{names[-1]}.ended").write_bytes(values + boundary)
    (to / "recordings.txt").write_text("".join(f"{name}\n" for name in names))
    with gzip.open(realset / "lm/en-us-20k-pruned.arpa.gz") as arpa, open(to / "lm.arpa", "wb") as out:
        shutil.copyfileobj(arpa, out)
    shutil.copy(realset / "lexicon/lexicon-g2p-20k.txt", to / "lexicon.txt")


def serve(cases: dict) -> None:
    """Answers each case with the score and the texts that what `cases` makes returns; the last one is kept."""
    kept = None, None
    for line in sys.stdin:
        times, case = line.rstrip("\n").split(" ", 1)
        if case not in cases:
            print("-", flush=True)
            continue
        if kept[0] != case:
            kept = case, cases[case](case)
        for _ in range(int(times)):
            score, texts = kept[1]()
        print(score, *texts, sep="\t", flush=True)


def labels() -> list:
    return ["", " ", *(chr(FIRST_CHARACTER + number) for number in range(CHARACTERS - 2))]


def floats(path: Path, columns: int):
    import numpy

    return numpy.fromfile(path, dtype="<f4").reshape(-1, columns)


def utterances(folder: Path):
    return list(floats(folder / "characters.f32", CHARACTERS).reshape(-1, FRAMES, CHARACTERS))


def symbols(path: Path) -> dict:
    return {symbol: int(number) for symbol, number in map(str.split, path.read_text().splitlines())}


def recordings(folder: Path, ending: str):
    columns = len(symbols(folder / "tokens.txt"))
    return [floats(folder / f"{name}.{ending}", columns) for name in (folder / "recordings.txt").read_text().split()]


def serve_words(folder: Path, decoder) -> None:
    """pyctcdecode and what has its interface."""
    values, hot_words = utterances(folder), (folder / "hot_words.txt").read_text().split()

    def case(name):
        hot = hot_words if "hot words" in name else None

        def run():
            best = [decoder.decode_beams(utterance, beam_width=BEAM, hotwords=hot)[0] for utterance in values]
            return sum(beam[4] for beam in best), [beam[0] for beam in best]

        return run

    serve({"spelled words": case, "spelled words, 200 hot words": case})


def serve_pyctcdecode(folder: Path) -> None:
    import logging

    import pyctcdecode

    logging.disable(logging.WARNING)
    serve_words(folder, pyctcdecode.build_ctcdecoder(labels()))


def serve_ctc_beam_decoder(folder: Path) -> None:
    import ctc_beam_decoder

    serve_words(folder, ctc_beam_decoder.build_ctcdecoder(labels()))


def collapsed(tokens) -> str:
    """The characters of flashlight's tokens, one a frame, with a silence at both ends that no frame has."""
    of, frames = labels(), list(tokens)[1:-1]
    return " ".join("".join(of[token] for token, before in zip(frames, [-1, *frames]) if token != before).split())


def serve_flashlight_text(folder: Path) -> None:
    from flashlight.lib.text import decoder
    from flashlight.lib.text.decoder import kenlm
    from flashlight.lib.text.dictionary import Dictionary

    ctc = decoder.CriterionType.CTC

    def best(made, values):
        return [made.decode(value.ctypes.data, *value.shape)[0] for value in values]

    def characters(name):
        threshold, log_add = THRESHOLDS[name]
        options = decoder.LexiconFreeDecoderOptions(
            beam_size=BEAM, beam_size_token=CHARACTERS, beam_threshold=threshold, lm_weight=0.0, sil_score=0.0, log_add=log_add,
            criterion_type=ctc,
        )  # fmt: skip
        made, values = decoder.LexiconFreeDecoder(options, decoder.ZeroLM(), 1, 0, []), utterances(folder)

        def run():
            found = best(made, values)
            return sum(result.score for result in found), [collapsed(result.tokens) for result in found]

        return run

    def lexicon(name):
        threshold, log_add = THRESHOLDS[name]
        tokens, values = symbols(folder / "tokens.txt"), recordings(folder, "ended")
        spelled = [line.split() for line in (folder / "lexicon.txt").read_text().splitlines()]
        words = Dictionary()
        for word, *_ in spelled:
            words.add_entry(word)
        unknown = words.entry_size()
        words.add_entry("<unk>")
        # The model's scores are base 10 logarithms, and those of the network natural ones.
        model = kenlm.KenLM(str(folder / "lm.arpa"), words)
        tree, start = decoder.Trie(len(tokens), tokens[BOUNDARY]), model.start(False)
        for word, *phones in spelled:
            number = words.get_index(word)
            tree.insert([tokens[phone] for phone in [*phones, BOUNDARY]], number, model.score(start, number)[1])
        tree.smear(decoder.SmearingMode.MAX)
        options = decoder.LexiconDecoderOptions(
            beam_size=LEXICON_BEAM, beam_size_token=len(tokens), beam_threshold=threshold, lm_weight=LM_WEIGHT * math.log(10), word_score=WORD_SCORE,
            unk_score=-math.inf, sil_score=0.0, log_add=log_add, criterion_type=ctc,
        )  # fmt: skip
        made = decoder.LexiconDecoder(options, tree, model, tokens[BOUNDARY], 0, unknown, [], False)

        def run():
            found = best(made, values)
            texts = [" ".join(words.get_entry(word) for word in result.words if word >= 0) for result in found]
            return sum(result.score for result in found), texts

        return run

    serve({"characters": characters, "lexicon, best alignment": lexicon, "lexicon, sum of alignments": lexicon})


def serve_torchaudio(folder: Path) -> None:
    import torch
    from torchaudio.functional import forced_align
    from torchaudio.models.decoder import ctc_decoder

    torch.set_num_threads(1)

    def characters(name):
        threshold, log_add = THRESHOLDS[name]
        names = ["-", "|", *labels()[2:]]
        made = ctc_decoder(
            None, names, beam_size=BEAM, beam_threshold=threshold, log_add=log_add, blank_token="-", sil_token="|", unk_word="<unk>"
        )
        values = [torch.from_numpy(value.copy())[None] for value in utterances(folder)]

        def run():
            found = [made(value)[0][0] for value in values]
            texts = ["".join(made.idxs_to_tokens(result.tokens)).replace("|", " ") for result in found]
            return sum(result.score for result in found), [" ".join(text.split()) for text in texts]

        return run

    def alignment(_):
        values = torch.from_numpy(floats(folder / "alignment.f32", CLASSES).copy())[None]
        targets = torch.tensor([list(map(int, (folder / "alignment.labels").read_text().split()))], dtype=torch.int32)

        def run():
            return float(forced_align(values, targets, blank=0)[1].sum()), []

        return run

    serve({"characters": characters, "alignment": alignment})


def serve_kaldi_decoder(folder: Path) -> None:
    import kaldi_decoder
    import kaldifst

    words = {number: word for word, number in symbols(folder / "words.txt").items()}

    def hlg(_):
        graph, values = kaldifst.StdVectorFst.read(str(folder / "hlg.fst")), recordings(folder, "f32")
        options = kaldi_decoder.FasterDecoderOptions(beam=20.0, max_active=7000, min_active=20)

        def run():
            total, texts = 0.0, []
            for utterance in values:
                decoder = kaldi_decoder.FasterDecoder(graph, options)
                decoder.decode(kaldi_decoder.DecodableCtc(utterance * ACOUSTIC_SCALE))
                _, path = decoder.get_best_path()
                _, _, said, weight = kaldifst.get_linear_symbol_sequence(path)
                total -= weight.value1 + weight.value2
                texts.append(" ".join(words[word] for word in said))
            return total, texts

        return run

    serve({"HLG, one best": hlg})


def programs(folder: Path, peers: list) -> list:
    cargo = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "kaldera-benches", "--bin", "decoder_cases"]
    subprocess.run([*cargo, "--no-default-features", "--features", "rayon"], cwd=ROOT, check=True)
    ours = TARGET / "release/decoder_cases"
    subprocess.run([ours, "write", folder], check=True)
    interpreter = VENV / "bin/python"
    if not interpreter.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    wanted = {package for peer in peers for package in PACKAGES[peer]}
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "numpy<2", *sorted(wanted)], check=True)
    commands = {"ours": [ours, folder]}
    commands |= {peer: [interpreter, __file__, f"serve_{peer.replace('-', '_')}", folder] for peer in peers}
    return [Decoder(name, command) for name, command in commands.items()]


def measure(field: list, cases: list, rounds: int) -> dict:
    """The runs of each case and program: {case: {program: [(seconds, score, texts), ..]}}."""
    runs = {}
    for case in cases:
        first = {program: program.run(case) for program in field}
        able = [program for program in field if first[program]]
        slow = [program for program in able if first[program][0] > SLOW]
        runs[case] = {program.name: [first[program]] if program in slow else [] for program in able}
        for _ in range(rounds):
            for program in able:
                if program not in slow:
                    runs[case][program.name].append(program.run(case))
        print(case, {name: f"{1e3 * median(run[0] for run in all_of_it):.2f}" for name, all_of_it in runs[case].items()}, file=sys.stderr)
    return runs


def word_errors(realset: Path, folder: Path, texts: list) -> str:
    """Errors and words, counted by ours; recordings without transcripts don't count."""
    transcripts = dict(line.split(" ", 1) for line in (realset / "transcripts.txt").read_text().lower().splitlines())
    names = (folder / "recordings.txt").read_text().split()
    pairs = [(transcripts[name].replace("mister", "mr"), text) for name, text in zip(names, texts) if name in transcripts]
    lines = "".join(f"{reference}\t{text}\n" for reference, text in pairs)
    return subprocess.run([TARGET / "release/decoder_cases", "score"], input=lines, capture_output=True, text=True, check=True).stdout.strip()


def found(realset: Path, folder: Path, case: str, row: dict) -> str:
    """What the programs found, in a cell of the table."""
    results = {name: all_of_it[-1][1:] for name, all_of_it in row.items()}
    if case.startswith(("lexicon", "HLG")):
        errors = {name: word_errors(realset, folder, texts).split()[0] for name, (_, texts) in results.items()}
        return "word errors: " + ", ".join(f"{name} {number}" for name, number in errors.items())
    scores = ", ".join(f"{score:.3f}" for score, _ in results.values())
    same = all(texts == results["ours"][1] for _, texts in results.values() if texts)
    return f"scores {scores}" + ("" if case == "alignment" or len(row) == 1 else "; same texts" if same else "; texts differ")


def table(runs: dict, names: list, cells: dict) -> str:
    lines = ["| CPU ms | " + " | ".join(names) + " | best peer / ours | found |", "|---|" + "--:|" * (len(names) + 1) + "---|"]
    for case, row in runs.items():
        times = {name: 1e3 * median(run[0] for run in all_of_it) for name, all_of_it in row.items()}
        peers = [time for name, time in times.items() if name != "ours"]
        digits = 3 if case == "alignment" else 1
        columns = [f"{times[name]:,.{digits}f}" if name in times else "-" for name in names]
        ratio = f"{min(peers) / times['ours']:.1f}" if peers else "-"
        lines.append(f"| {case} | {' | '.join(columns)} | {ratio} | {cells[case]} |")
    return "\n".join(lines)


def main():
    if sys.argv[1:] and sys.argv[1].startswith("serve_"):
        return globals()[sys.argv[1]](Path(sys.argv[2]))
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("realset", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", default="", help="only the cases whose names contain this; nothing is kept")
    arguments.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as to:
        folder = Path(to)
        prepare(chosen.realset, folder)
        field = programs(folder, chosen.peers)
        heading = machine.heading(chosen.rounds)
        runs = measure(field, [case for case in CASES if chosen.only in case], chosen.rounds)
        for program in field:
            program.end()
        cells = {case: found(chosen.realset, folder, case, row) for case, row in runs.items()}
    printed = f"{table(runs, ['ours', *chosen.peers], cells)}\n\n{heading}"
    print(printed)
    if not chosen.only:
        kept = {case: {name: [run[:2] for run in all_of_it] for name, all_of_it in row.items()} for case, row in runs.items()}
        print(f"\nkept: {machine.keep('decoder', printed, kept).relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
