#!/usr/bin/env python3
"""Compares the words, with their times, that onnx-asr, sherpa-onnx and Kaldera find with the same networks in the same recordings.

    pip install onnx-asr[cpu]==0.12.* sherpa-onnx==2.0.1 kaldi-native-fbank==1.23.0 onnx onnxruntime numpy
    python3 benches/peers/models.py --kaldera PATH [--only KIND...] [--keep FOLDER]

Each row is a kind of files that people have: small random networks with the names, shapes and
metadata of the real ones (model_kinds.py). A cell counts the recordings in which a tool finds the same
words at the same times as the tool with the star, which ours follows. For some kinds sherpa-onnx has
another front end than the toolkit that trained the models. Ours follows the toolkit then, and the cell
of sherpa-onnx has a dagger: it compares sherpa-onnx with a second search on the same features
(model_fronts.py). Searches are greedy, but for the rows with a beam. A second table has the features of
presets and of onnx-asr. Without --kaldera the other tools are compared only. The status is 1 if a cell
is not full, or features differ.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import wave
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

import numpy as np
import onnx_asr
import sherpa_onnx
from onnx_asr.preprocessors import numpy_preprocessor

import model_fronts as fronts
import model_kinds as kinds
import run

# Half of a millisecond, to which ours rounds, and errors of single precision.
CLOSE = 0.0006
# Logarithms of energies near their floor, in single precision.
SAME_FEATURES = 5e-4
# Seconds of the room's noise after a recording for networks that take chunks: sherpa-onnx leaves out the last one.
TAIL, LEFT_OUT = 2.0, 1.0
SHERPA, ONNX_ASR, OURS, TOOLKIT, ITS = "sherpa-onnx", "onnx-asr", "ours", "the toolkit's front end", "its own front end"


def recordings(folder: Path, rate: int) -> list:
    """The repository's recording of this rate, pieces and changes of it, without digital silence."""
    source = run.ROOT / ("examples/audio/hello.wav" if rate == 16000 else "crates/kaldera-digits/digits.wav")
    with wave.open(str(source)) as file:
        whole = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16).astype(np.float64)
    size = len(whole)
    fast = np.interp(np.arange(0, size - 1, 1.37), np.arange(size), whole)
    made = [
        whole, whole[: size // 2], whole[size // 3 + 17 :], whole[size // 7 : size // 7 + size // 4 + 1], whole[::-1], 0.2 * whole, fast,
        0.5 * (whole + whole[::-1]),
    ]  # fmt: skip
    random, paths = np.random.default_rng(1), []
    for number, samples in enumerate(made):
        for tail in (0.0, TAIL):
            padded = np.concatenate([samples, random.normal(0, 20, int(tail * rate))]) + random.integers(-2, 3, len(samples) + int(tail * rate))
            path = folder / f"{rate}{'-tail' if tail else ''}" / f"r{number}.wav"
            path.parent.mkdir(exist_ok=True)
            with wave.open(str(path), "wb") as file:
                file.setparams((1, 2, rate, 0, "NONE", ""))
                file.writeframes(np.clip(np.rint(padded), -32768, 32767).astype(np.int16).tobytes())
            paths.append(path)
    return paths


def samples_of(path: Path) -> tuple:
    with wave.open(str(path)) as file:
        return file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16).astype(np.float32) / 32768


def words_of(tokens, times) -> list:
    """(word, start) of tokens: a space begins a word, at the start of a token or as a token."""
    words, begins = [], True
    for token, time in zip(tokens, times):
        text = token.strip(" ")
        if token.startswith(" ") or begins:
            words.append([text, time] if text else ["", None])
        else:
            words[-1][0] += text
            words[-1][1] = time if words[-1][1] is None else words[-1][1]
        begins = False
    return [(text, time) for text, time in words if text]


def characters(tokens, times) -> list:
    """Each token is a word."""
    return list(zip(tokens, times))


def cif_words(tokens, times) -> list:
    """Words of Paraformer's tokens: a token with "@@" goes on with the next one."""
    words, begins = [], True
    for token, time in zip(tokens, times):
        text = token.removesuffix("@@")
        if begins:
            words.append((text, time))
        else:
            words[-1] = (words[-1][0] + text, words[-1][1])
        begins = text == token
    return words


def offline(make: Callable, words: Callable = words_of, scale: float = 1.0) -> Callable:
    def recognise(folder: Path, paths: list) -> list:
        model, found = make(folder), []
        for path in paths:
            stream = model.create_stream()
            rate, samples = samples_of(path)
            stream.accept_waveform(rate, samples * scale)
            model.decode_stream(stream)
            result = stream.result
            found.append((result.text, words(result.tokens, result.timestamps)))
        return found

    return recognise


def online(make: Callable, language: str = "") -> Callable:
    def recognise(folder: Path, paths: list) -> list:
        model, found = make(folder), []
        for path in paths:
            stream = model.create_stream()
            if language:
                stream.set_option("language", language)
            stream.accept_waveform(*samples_of(path))
            stream.input_finished()
            while model.is_ready(stream):
                model.decode_stream(stream)
            result = model.get_result_all(stream)
            found.append((result.text, words_of(result.tokens, result.timestamps)))
        return found

    return recognise


def of_one_file(constructor: Callable, network: str = "model.onnx", tokens: str = "tokens.txt", **options) -> Callable:
    return lambda folder: constructor(str(folder / network), tokens=str(folder / tokens), **options)


def of_online_file(constructor: Callable, network: str = "model.onnx", **options) -> Callable:
    return lambda folder: constructor(model=str(folder / network), tokens=str(folder / "tokens.txt"), num_threads=1, **options)


def of_parts(constructor: Callable, parts: str = "", tokens: str = "tokens.txt", **options) -> Callable:
    names = ("encoder", "decoder", "joiner")
    return lambda folder: constructor(
        **{name: str(folder / parts / f"{name}.onnx") for name in names}, tokens=str(folder / tokens), num_threads=1, **options
    )


def with_onnx_asr(kind: str, front: Optional[Callable] = None, factor: int = 0, symbols: int = 0, precision: Optional[str] = None) -> Callable:
    """Perhaps with another front end; `factor` gives networks with CTC the length T // factor, as sherpa-onnx does."""

    def recognise(folder: Path, paths: list) -> list:
        model = onnx_asr.load_model(kind, folder, quantization=precision).with_timestamps()
        if front:
            model.asr._preprocessor = features
        if symbols:
            model.asr.config["max_tokens_per_step"] = symbols
        results = [model.recognize(path) for path in paths]
        return [(result.text, words_of(result.tokens, result.timestamps)) for result in results]

    def features(waveforms: np.ndarray, _: np.ndarray) -> tuple:
        rows = front(waveforms[0])
        return rows.T[None], np.array([len(rows) // factor * factor if factor else len(rows)])

    return recognise


def by_hand(search: Callable, front: Callable) -> Callable:
    def recognise(folder: Path, paths: list) -> list:
        find = search(folder)
        results = [find(front(samples_of(path)[1])) for path in paths]
        return [("".join(tokens), words_of(tokens, times)) for tokens, times in results]

    return recognise


@dataclass
class Row:
    """A kind of files. The others' tools have a folder of the family, and a function that finds the words with it."""

    name: str
    family: Callable
    ours: str
    tools: dict
    follows: str = SHERPA
    options: list = field(default_factory=list)  # of ours, to import
    search: list = field(default_factory=list)  # of ours, to transcribe
    rate: int = 16000
    chunks: bool = False


OFF, ON = sherpa_onnx.OfflineRecognizer, sherpa_onnx.OnlineRecognizer
PARTS, OF_NEMO = of_parts(OFF.from_transducer, model_type="nemo_transducer"), of_one_file(OFF.from_nemo_ctc)


def with_both(folder: str, kind: str, front: str, sherpa: tuple, **as_sherpa) -> dict:
    """onnx-asr and sherpa-onnx, and the search of the one with the front end of the other."""
    its = (folder, with_onnx_asr(kind, fronts.SHERPAS[front], **as_sherpa))
    return {ONNX_ASR: (folder, with_onnx_asr(kind)), SHERPA: sherpa, ITS: its}


def with_front(search: Callable, front: Callable, its: str, sherpa: Callable) -> dict:
    found = {name: (".", by_hand(search, one)) for name, one in ((TOOLKIT, front), (ITS, fronts.SHERPAS[its]))}
    return {SHERPA: (".", sherpa), **found}


def only_sherpa(recognise: Callable, folder: str = ".") -> dict:
    return {SHERPA: (folder, recognise)}


TDT = with_both("fused", "nemo-conformer-tdt", "nemo-128", ("split", offline(PARTS)), symbols=5)
RNNT = with_both("fused", "nemo-conformer-rnnt", "nemo-80", ("split", offline(PARTS)))
NEMO_CTC = with_both("plain", "nemo-conformer-ctc", "nemo-ctc", ("sherpa", offline(OF_NEMO)), factor=8)
GIGAAM = {version: with_both("plain", f"gigaam-{version}-ctc", "gigaam", ("sherpa", offline(OF_NEMO)), factor=4) for version in ("v2", "v3")}
GIGAAM_RNNT = with_both("plain", "gigaam-v3-rnnt", "gigaam", ("sherpa", offline(PARTS)), symbols=10)
NEMOTRON = with_front(fronts.by_transducer, fronts.of_nemo(128), "nemotron", online(of_parts(ON.from_transducer)))
DOLPHIN = with_front(lambda folder: fronts.by_ctc(folder, normalized=True), fronts.of_dolphin, "dolphin", offline(of_one_file(OFF.from_dolphin_ctc)))
MEDASR = with_front(lambda folder: fronts.by_ctc(folder, mask=True), fronts.of_medasr, "medasr", offline(of_one_file(OFF.from_medasr_ctc)))
# As WeNet's kind sherpa-onnx adds noise to the samples; as Zipformer's it gives the network the same features without.
WENET = with_front(fronts.by_ctc, fronts.OF_WENET, "wenet", offline(of_one_file(OFF.from_zipformer_ctc), scale=32768))
WENET_CHUNKS = with_front(fronts.by_wenet_chunks, fronts.OF_WENET, "wenet", online(of_online_file(ON.from_wenet_ctc, "model-streaming.onnx")))
OMNILINGUAL = offline(of_one_file(OFF.from_omnilingual_asr_ctc, "plain/model.onnx", "sherpa/tokens.txt"))
WAV2VEC2 = with_front(fronts.by_samples, fronts.standard(1e-7), "wav2vec2", OMNILINGUAL)
SENSE_VOICE = only_sherpa(offline(of_one_file(OFF.from_sense_voice)), "sherpa")
PARAFORMER = only_sherpa(offline(of_one_file(OFF.from_paraformer), cif_words), "sherpa")
T_ONE = {ONNX_ASR: ("plain", with_onnx_asr("t-one-ctc")), SHERPA: ("sherpa", online(of_online_file(ON.from_t_one_ctc)))}
VOSK = {ONNX_ASR: (".", with_onnx_asr("vosk")), SHERPA: (".", offline(of_parts(OFF.from_transducer, "am-onnx", "lang/tokens.txt")))}
VOSK_BEAM = only_sherpa(offline(of_parts(OFF.from_transducer, "am-onnx", "lang/tokens.txt", decoding_method="modified_beam_search", max_active_paths=4)))
ROWS = [
    Row("NeMo TDT, fused", kinds.nemo_tdt, "fused", TDT, ONNX_ASR),
    Row("NeMo TDT, int8", kinds.nemo_tdt, "int8", {ONNX_ASR: ("int8", with_onnx_asr("nemo-conformer-tdt", precision="int8"))}, ONNX_ASR),
    Row("NeMo TDT, split", kinds.nemo_tdt, "split", TDT, ONNX_ASR),
    Row("NeMo TDT, Microsoft's", kinds.nemo_tdt, "joint", TDT, ONNX_ASR, ["--normalize=per_feature"]),
    Row("NeMo RNN-T, fused", kinds.nemo_rnnt, "fused", RNNT, ONNX_ASR),
    Row("NeMo RNN-T, split", kinds.nemo_rnnt, "split", RNNT, ONNX_ASR),
    Row("NeMo CTC", kinds.nemo_ctc, "plain", NEMO_CTC, ONNX_ASR, ["--normalize=per_feature"]),
    Row("NeMo CTC of sherpa-onnx", kinds.nemo_ctc, "sherpa", NEMO_CTC, ONNX_ASR),
    Row("Nemotron streaming", kinds.nemotron_en, ".", NEMOTRON, TOOLKIT, chunks=True),
    Row("Nemotron 3.5 streaming", kinds.nemotron_multilingual, ".", NEMOTRON, TOOLKIT, chunks=True),
    Row("GigaAM v2 CTC", kinds.gigaam_v2_ctc, "plain", GIGAAM["v2"], ONNX_ASR),
    Row("GigaAM v3 CTC", kinds.gigaam_v3_ctc, "plain", GIGAAM["v3"], ONNX_ASR),
    Row("GigaAM v3 CTC of sherpa-onnx", kinds.gigaam_v3_ctc, "sherpa", GIGAAM["v3"], ONNX_ASR),
    Row("GigaAM v3 RNN-T", kinds.gigaam_rnnt, "plain", GIGAAM_RNNT, ONNX_ASR),
    Row("GigaAM v3 RNN-T of sherpa-onnx", kinds.gigaam_rnnt, "sherpa", GIGAAM_RNNT, ONNX_ASR),
    Row("wav2vec2", kinds.wav2vec2, "plain", WAV2VEC2, TOOLKIT),
    Row("SenseVoice of sherpa-onnx", kinds.sense_voice, "sherpa", SENSE_VOICE),
    Row("SenseVoice of FunASR", kinds.sense_voice, "funasr", SENSE_VOICE),
    Row("Paraformer of sherpa-onnx", kinds.paraformer, "sherpa", PARAFORMER),
    Row("Paraformer of FunASR", kinds.paraformer, "funasr", PARAFORMER),
    Row("Zipformer CTC", kinds.zipformer_ctc, ".", only_sherpa(offline(of_one_file(OFF.from_zipformer_ctc)))),
    Row("Zipformer CTC streaming", kinds.zipformer_streaming_ctc, ".", only_sherpa(online(of_online_file(ON.from_zipformer2_ctc))), chunks=True),
    Row("WeNet CTC", kinds.wenet_ctc, ".", WENET, TOOLKIT),
    Row("WeNet CTC streaming", kinds.wenet_streaming_ctc, ".", WENET_CHUNKS, TOOLKIT, chunks=True),
    Row("Dolphin", kinds.dolphin, ".", DOLPHIN, TOOLKIT),
    Row("TeleSpeech", kinds.telespeech, ".", only_sherpa(offline(of_one_file(OFF.from_telespeech_ctc), characters))),
    Row("FireRed CTC", kinds.fire_red_ctc, ".", only_sherpa(offline(of_one_file(OFF.from_fire_red_asr_ctc)))),
    Row("MedASR", kinds.medasr, ".", MEDASR, TOOLKIT),
    Row("T-one", kinds.t_one, "plain", T_ONE, ONNX_ASR, rate=8000, chunks=True),
    Row("T-one of sherpa-onnx", kinds.t_one, "sherpa", T_ONE, ONNX_ASR, rate=8000, chunks=True),
    Row("Vosk", kinds.vosk, ".", VOSK),
    Row("Vosk, beam of 4", kinds.vosk, ".", VOSK_BEAM, search=["--beam=4"]),
]


def by_kaldera(binary: Path, row: Row, source: Path, paths: list, scratch: Path) -> list:
    """Texts and words that the command finds with an import of `source`."""
    model = scratch / "imported"
    run_it(binary, "model", "import", source, "-o", model, *row.options)
    lines = run_it(binary, "transcribe", "--quiet", "--format=jsonl", *row.search, model, *paths).splitlines()
    found = {(one := json.loads(line))["key"]: one for line in lines}
    texts = [found[path.stem] for path in paths]
    return [(one["text"], [(word["text"], word.get("peak_start", word["start"])) for word in one["words"]]) for one in texts]


def run_it(*command) -> str:
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
    return done.stdout


CJK = re.compile(r"(?<=[\u4e00-\u9fff]) | (?=[\u4e00-\u9fff])")


def within(result: tuple, limit: Optional[float]) -> tuple:
    """The text, without the spaces around Chinese characters, and the words; if there is a limit, those that begin before it."""
    text, words = result
    if limit is not None:
        # The last one may go on after it.
        words = [(word, start) for word, start in words if start < limit][:-1]
        text = " ".join(word for word, _ in words)
    return CJK.sub("", " ".join(text.split())), words


def equal(one: tuple, other: tuple) -> bool:
    close = len(one[1]) == len(other[1]) and all(a[0] == b[0] and abs(a[1] - b[1]) < CLOSE for a, b in zip(one[1], other[1]))
    return close and one[0] == other[0]


def shown(result: tuple) -> str:
    words = " ".join(f"{word}@{start:.3f}" for word, start in result[1][:12])
    return f"{result[0][:60]!r} {words}"


# Names of front ends that onnx-asr has in NumPy and as networks; it takes the former on a CPU, and they are a thousand times as exact.
PRESETS = {
    "nemo-80": "nemo80", "nemo-128": "nemo128", "gigaam-v2": "gigaam_v2", "gigaam-v3": "gigaam_v3", "whisper-30s": "whisper80",
    "whisper-large-v3": "whisper128",
}  # fmt: skip


def features_differ(binary: Path, paths: list) -> list:
    """Prints the largest differences from the features of onnx-asr; returns the presets with large ones."""
    print(f"\n| preset | largest difference from {ONNX_ASR} | in values of |\n|---|--:|--:|")
    differing = []
    with tempfile.TemporaryDirectory() as place:
        for preset, name in PRESETS.items():
            run_it(binary, "features", "--quiet", f"--preset={preset}", "-o", Path(place) / f"{name}.npz", *paths)
            ours, their = np.load(Path(place) / f"{name}.npz"), getattr(numpy_preprocessor, f"{re.match('[a-z]+', name)[0].title()}PreprocessorNumpy")(name)
            worst, count = 0.0, 0
            for path in paths:
                samples = samples_of(path)[1]
                rows, lengths = their(samples[None], np.array([len(samples)]))
                wanted = rows[0].T[: lengths[0]]
                count += wanted.size
                worst = max(worst, float(np.abs(ours[path.stem] - wanted).max()) if ours[path.stem].shape == wanted.shape else np.inf)
            print(f"| {preset} | {worst:.1e} | {count} |", flush=True)
            differing += [f"preset {preset}: features differ by {worst:.1e}"] if worst > SAME_FEATURES else []
    return differing


def main() -> None:
    arguments = argparse.ArgumentParser(description="Compares ours with onnx-asr and sherpa-onnx on files of every kind.")
    arguments.add_argument("--kaldera", type=Path, help="the command, built with the feature onnx")
    arguments.add_argument("--only", nargs="*", default=[], help="rows whose names have one of these texts")
    arguments.add_argument("--keep", type=Path, help="a new folder for the networks and the recordings")
    chosen = arguments.parse_args()
    binary = chosen.kaldera and chosen.kaldera.resolve()
    rows = [row for row in ROWS if not chosen.only or any(text.lower() in row.name.lower() for text in chosen.only)]
    notes = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=chosen.keep is None)
        every = {rate: recordings(folder, rate) for rate in (16000, 8000)}
        print(f"| kind | words | {ONNX_ASR} | {SHERPA} | {OURS} |\n|---|--:|--:|--:|--:|")
        for row in rows:
            family = folder / row.family.__name__
            if not family.exists():
                row.family(family)
            paths = [path for path in every[row.rate] if path.parent.name.endswith("-tail") == row.chunks]
            limits = [len(samples_of(path)[1]) / row.rate - LEFT_OUT if row.chunks else None for path in paths]
            found = {name: recognise(family / place, paths) for name, (place, recognise) in row.tools.items()}
            if binary:
                try:
                    with tempfile.TemporaryDirectory() as place:
                        found[OURS] = by_kaldera(binary, row, family / row.ours, paths, Path(place))
                except (RuntimeError, KeyError) as error:
                    notes.append(f"{row.name}: {error}")
            found = {name: [within(*one) for one in zip(results, limits)] for name, results in found.items()}
            cells = []
            for name in (ONNX_ASR, SHERPA, OURS):
                right = ITS if name == SHERPA and ITS in found else row.follows
                same = [equal(*pair) for pair in zip(found.get(name, []), found[right])]
                mark = "*" if name == row.follows else "\u2020" if right == ITS else ""
                cells.append(f"{sum(same)} of {len(same)}{mark}" if same else "error" if binary and name == OURS else "-")
                if not all(same):
                    at = same.index(False)
                    notes.append(f"{row.name}, {name}, {paths[at].name}:\n  {shown(found[name][at])}\n  not {shown(found[right][at])}")
            print(f"| {row.name} | {sum(len(words) for _, words in found[row.follows])} | {' | '.join(cells)} |", flush=True)
        if binary and not chosen.only:
            notes += features_differ(binary, [path for path in every[16000] if not path.parent.name.endswith("-tail")])
    print("\n".join(["", *notes]))
    sys.exit(bool(notes))


if __name__ == "__main__":
    main()
