#!/usr/bin/env python3
"""Measures decoding against network output beside k2, kaldi-decoder and sicada: the same graph and log-probabilities, one thread, in turn.

    python3 benches/peers/dense.py FOLDER              # 5 rounds; some five minutes, with k2's and sicada's slow cases
    python3 benches/peers/dense.py FOLDER --rounds 1   # does everything work?
    python3 benches/peers/dense.py FOLDER --only HLG   # cases whose names contain this

FOLDER has hlg_384k.npz, dense_hlg_8x500x500.npz and symbols_64x60.npz (`../shared/data/bench`): 8 utterances of 500 frames and 500 classes. A round asks
each program for each case once, after one run that does not count. The table has medians of processor time in milliseconds for all utterances,
and what was found: the sum of the best scores, and how many arcs a lattice has. Programs that cannot do a case have a dash.

k2 needs Python 3.9 (k2_venv.py; --python names it), kaldi-decoder comes from PyPI, sicada from crates.io; all that is made lies in benches/peers/.work.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from statistics import median

import machine
from k2_venv import python_with_k2
from tensor import HERE, ROOT, TARGET, WORK, Program

INPUTS = ["hlg_384k", "dense_hlg_8x500x500", "symbols_64x60"]
UTTERANCES, FRAMES, CLASSES = 8, 500, 500
VENV = WORK / "venv-dense"
SICADA = WORK / "sicada"

CASES = [
    "HLG, beam 20, one best", "HLG, beam 20, lattice", "HLG, beam 20, lattice by chunks", "HLG online, beam 20, lattice",
    "HLG, beam 10, one best", "HLG, beam 10, lattice", "CTC topology, beam 8, one best", "CTC topology, beam 8, lattice",
    "CTC implicit, beam 8, one best", "CTC implicit, beam 8, lattice", "CTC graphs of 60 tokens, beam 10, lattice",
]  # fmt: skip
STAND_IN = {"CTC implicit": "CTC topology", "HLG online": "HLG"}
"""What a peer does in the place of a way that it does not have."""
PEERS = ["k2", "kaldi-decoder", "sicada"]
SEARCH = {"beam 20": (20.0, 10_000, 30), "beam 10": (10.0, 1000, 30), "beam 8": (8.0, 10_000, 0)}
"""Search beam, max and min active states."""


class Decoder(Program):
    """A child that says what it found."""

    def run(self, case: str):
        """Processor time in seconds and what was found, or nothing if the program cannot."""
        before = self.processor_time()
        self.child.stdin.write(f"1 {case}\n")
        answer = self.child.stdout.readline().split()
        if not answer:
            sys.exit(f"{self.name} ended at {case}")
        if answer == ["-"]:
            return None
        return self.processor_time() - before, float(answer[1]), int(answer[2])


def unpack(folder: Path, to: Path) -> None:
    """The arrays of the archives without their heads, as FILE.ARRAY."""
    for name in INPUTS:
        with zipfile.ZipFile(folder / f"{name}.npz") as archive:
            for entry in archive.namelist():
                array = archive.read(entry)
                head = int.from_bytes(array[8:10], "little")
                (to / f"{name}.{entry.removesuffix('.npy')}").write_bytes(array[10 + head :])


def serve(run) -> None:
    """Answers each case with the sum of best scores and the number of arcs that `run` returns."""
    for line in sys.stdin:
        _, case = line.rstrip("\n").split(" ", 1)
        graph, beam, result = case.split(", ")
        found = run(graph, SEARCH[beam], result)
        print("-" if found is None else f"0 {found[0]} {found[1]}", flush=True)


def serve_k2(folder: Path) -> None:
    import k2
    import numpy
    import torch

    torch.set_num_threads(1)

    def array(name: str, kind: str):
        return torch.from_numpy(numpy.fromfile(folder / name, dtype=kind))

    arcs = torch.cat([array("hlg_384k.arcs", "<i4").reshape(-1, 3), array("hlg_384k.scores", "<i4")[:, None]], dim=1)
    values = array("dense_hlg_8x500x500.log_probs", "<f4").reshape(UTTERANCES, FRAMES, CLASSES)
    segments = torch.tensor([[i, 0, FRAMES] for i in range(UTTERANCES)], dtype=torch.int32)
    dense = k2.DenseFsaVec(values, segments)
    symbols = array("symbols_64x60.symbols", "<i4").reshape(-1, 60)[:UTTERANCES].tolist()
    graphs = {"HLG": k2.Fsa(arcs.contiguous()), "CTC topology": k2.ctc_topo(CLASSES - 1), "CTC graphs of 60 tokens": k2.ctc_graph(symbols)}

    def run(graph, search, result):
        if graph not in graphs or result != "lattice":
            return None
        beam, max_active, min_active = search
        with torch.no_grad():
            if graph == "CTC graphs of 60 tokens":
                lattice = k2.intersect_dense(graphs[graph], dense, beam)
            else:
                lattice = k2.intersect_dense_pruned(graphs[graph], dense, beam, 8.0, min_active, max_active)
            return float(lattice.get_tot_scores(True, False).sum()), lattice.num_arcs

    serve(run)


def serve_kaldi_decoder(folder: Path) -> None:
    import kaldi_decoder
    import kaldifst
    import numpy

    graphs = {"HLG": "hlg.fst", "CTC topology": "ctc_topo.fst"}
    graphs = {name: kaldifst.StdVectorFst.read(str(folder / file)) for name, file in graphs.items()}
    values = numpy.fromfile(folder / "dense_hlg_8x500x500.log_probs", dtype="<f4").reshape(UTTERANCES, FRAMES, CLASSES)

    def run(graph, search, result):
        if graph not in graphs or result != "one best":
            return None
        beam, max_active, min_active = search
        options = kaldi_decoder.FasterDecoderOptions(beam=beam, max_active=max_active, min_active=min_active)
        best = 0.0
        for utterance in values:
            decoder = kaldi_decoder.FasterDecoder(graphs[graph], options)
            decoder.decode(kaldi_decoder.DecodableCtc(utterance))
            found, path = decoder.get_best_path()
            if found:
                weight = kaldifst.get_linear_symbol_sequence(path)[3]
                best -= weight.value1 + weight.value2
        return best, 0

    serve(run)


def programs(folder: Path, python: str, peers: list) -> list:
    cargo = ["cargo", "build", "--release", "--quiet"]
    ours = [*cargo, "--locked", "-p", "kaldera-benches", "--bin", "dense_cases", "--no-default-features", "--features", "rayon"]
    subprocess.run(ours, cwd=ROOT, check=True)
    ours = TARGET / "release/dense_cases"
    subprocess.run([ours, "write", folder], check=True)
    commands = {"ours": [ours, folder]}
    if "k2" in peers:
        commands["k2"] = [python_with_k2(python), __file__, "serve_k2", folder]
    if "kaldi-decoder" in peers:
        interpreter = VENV / "bin/python"
        if not interpreter.exists():
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
            subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "kaldi-decoder==0.3.2", "kaldifst", "numpy"], check=True)
        commands["kaldi-decoder"] = [interpreter, __file__, "serve_kaldi_decoder", folder]
    if "sicada" in peers:
        environment = {**os.environ, "CARGO_TARGET_DIR": str(SICADA)}
        subprocess.run(cargo, cwd=HERE / "sicada", env=environment, check=True)
        commands["sicada"] = [SICADA / "release/peer-sicada", folder]
    return [Decoder(name, command) for name, command in commands.items()]


def measure(field: list, cases: list, rounds: int) -> dict:
    """The runs of each case and program: {case: {program: [(seconds, best, arcs), ..]}}."""
    runs = {}
    for case in cases:
        graph, rest = case.split(", ", 1)
        asked = {program: case if program.name == "ours" else f"{STAND_IN.get(graph, graph)}, {rest}" for program in field}
        able = [program for program in field if "by chunks" not in asked[program] or program.name == "ours"]
        able = [program for program in able if program.run(asked[program]) is not None]  # the first run does not count
        runs[case] = {program.name: [] for program in able}
        for _ in range(rounds):
            for program in able:
                runs[case][program.name].append(program.run(asked[program]))
        print(case, {name: f"{1e3 * median(run[0] for run in all_of_it):.1f}" for name, all_of_it in runs[case].items()}, file=sys.stderr)
    return runs


def table(runs: dict, names: list) -> str:
    lines = ["| CPU ms of 8 utterances | " + " | ".join(names) + " | best peer / ours | best scores | arcs |", "|---|" + "--:|" * (len(names) + 3)]
    for case, row in runs.items():
        times = {name: 1e3 * median(run[0] for run in all_of_it) for name, all_of_it in row.items()}
        peers = [time for name, time in times.items() if name != "ours"]
        cells = [f"{times[name]:.1f}" if name in times else "-" for name in names]
        ratio = f"{min(peers) / times['ours']:.1f}" if peers else "-"
        arcs = ", ".join(f"{name} {row[name][-1][2]:,}" for name in row if row[name][-1][2]) if case.endswith("lattice") else "-"
        lines.append(f"| {case} | {' | '.join(cells)} | {ratio} | {row['ours'][-1][1]:.3f} | {arcs} |")
    return "\n".join(lines)


def main():
    if sys.argv[1] in ("serve_k2", "serve_kaldi_decoder"):
        return globals()[sys.argv[1]](Path(sys.argv[2]))
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", default="", help="only the cases whose names contain this; nothing is kept")
    arguments.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    arguments.add_argument("--python", default="python3.9")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as to:
        unpack(chosen.folder, Path(to))
        field = programs(Path(to), chosen.python, chosen.peers)
        heading = machine.heading(chosen.rounds)
        runs = measure(field, [case for case in CASES if chosen.only in case], chosen.rounds)
        for program in field:
            program.end()
    printed = f"{table(runs, ['ours', *chosen.peers])}\n\n{heading}"
    print(printed)
    if not chosen.only:
        print(f"\nkept: {machine.keep('dense', printed, runs).relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
