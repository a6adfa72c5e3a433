#!/usr/bin/env python3
"""Makes a model folder of PyPI's `snfa`, and compares `kaldera align` with snfa's own alignments.

    pip install snfa==0.3.0 numpy safetensors        # and espeak-ng for speech to align
    python3 scripts/snfa-model.py FOLDER             # FOLDER/model, FOLDER/answers
    python3 scripts/snfa-model.py FOLDER --compare target/release/kaldera
    KALDERA_SNFA_MODEL=FOLDER cargo test -p kaldera-speech --test it snfa -- --nocapture

snfa aligns Japanese phones with a GRU in both directions, in numpy; its author gives its weights into the public domain. Its
features are mel filters in whole bins of the Fourier transform, whose triangles rise in Hz: none of Kaldi's. They become the
first layers of the network, after Kaldi's spectrogram: exp, the filters as a matrix, ln. Its blank has a row of the last layer
and no part in its softmax: here its score is so low that its probability is 0.

Answers are recordings of espeak-ng's Japanese voice and of noise, with phones to align, and what snfa gives for them, twice: its
trellis does not count the score of the first frame, unless a path leaves the first phone there, so that a first phone of one frame
is at a disadvantage. With a frame before the first that no path may leave, the same code counts all frames, and gives the best path.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import wave

import numpy as np
import snfa
from safetensors.numpy import save_file
from snfa.stft import mel_filterbank, mel_spectrogram
from snfa.viterbi import softmax, viterbi

# What Kaldi has a sample count: snfa's are between -1 and 1.
SCALE = 32768.0
# What snfa adds to the filters' results (snfa/stft.py).
OFFSET = 1e-7
# The length of its window, whatever the length of its transform is.
WINDOW = 1024
# A score whose probability is 0, and that can still be added.
IMPOSSIBLE = -1e30
# One that no path takes if there is another.
UNLIKELY = -500.0

MODEL = """\
# snfa 0.3.0's network: scripts/snfa-model.py has made this folder.
kind = "hmm"
tokens = "tokens.txt"
blank = 0
words = "tokens"

[features]
kind = "spectrogram"
sample-frequency = {sr}
frame-length = {length}
frame-shift = {shift}
window-type = "hanning"
preemphasis-coefficient = 0
remove-dc-offset = false

[network]
file = "network.safetensors"
inputs = {inputs}
layers = [
    {{ kind = "activation", function = "exp" }},
    {{ kind = "linear", name = "mel" }},
    {{ kind = "activation", function = "ln" }},
    {{ kind = "linear", name = "pre" }},
    {{ kind = "residual", layers = [{{ kind = "gru", name = "bi_rnn" }}] }},
    {{ kind = "linear", name = "fc" }},
    {{ kind = "log-softmax" }},
]
"""

SENTENCES = [
    ("おはようございます", "o h a y o o g o z a i m a s u"),
    ("さくらがさいた", "s a k u r a g a s a i t a"),
    ("きょうはとてもさむい", "ky o o w a t o t e m o s a m u i"),
    ("いちにさんし", "i ch i n i s a n sh i"),
    ("がっこうへいく", "g a cl k o o e i k u"),
    ("りょこうにいきました", "ry o k o o n i i k i m a sh i t a"),
    ("ぴあのをひく", "py a n o o h i k u"),
    ("ちいさいねこ", "ch i i s a i n e k o"),
]


def convert(aligner, folder):
    """Writes the model folder."""
    os.makedirs(folder, exist_ok=True)
    weights = np.load(os.path.join(os.path.dirname(snfa.__file__), "models", "jp.npz"), allow_pickle=True)
    tensors = {name: weights[name].astype(np.float32) for name in weights if name != "meta_data"}
    bins = mel_filterbank(aligner.sr, aligner.n_fft, aligner.n_mels)
    # Kaldi's spectrogram has the energy in column 0, in place of the constant.
    if aligner.n_fft != WINDOW or bins[:, 0].any():
        sys.exit("error: this network's features need what Kaldi's spectrogram does not have")
    tensors["mel.weight"] = (bins / SCALE**2).astype(np.float32)
    tensors["mel.bias"] = np.full(aligner.n_mels, OFFSET, np.float32)
    tensors["fc.weight"][0] = 0
    tensors["fc.bias"][0] = IMPOSSIBLE
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, os.path.join(folder, "network.safetensors"))
    with open(os.path.join(folder, "tokens.txt"), "w") as out:
        out.writelines(f"{phone} {number}\n" for number, phone in enumerate(aligner.phone_set))
    with open(os.path.join(folder, "model.toml"), "w") as out:
        milliseconds = lambda samples: f"{1000 * samples / aligner.sr:g}"
        out.write(MODEL.format(sr=aligner.sr, length=milliseconds(WINDOW), shift=milliseconds(aligner.hop_size), inputs=bins.shape[1]))


def recordings(aligner):
    """Keys, samples of 16 bits and phones."""
    for number, (text, phones) in enumerate(SENTENCES):
        command = ["espeak-ng", "-v", "ja", "-s", str(120 + 10 * number), "--stdout", text]
        try:
            spoken = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"left out: speech, for {error}")
            break
        samples, rate = np.frombuffer(spoken[44:], "<i2").astype(float), 22050
        at = np.arange(0, len(samples) - 1, rate / aligner.sr)
        yield f"speech-{number}", np.interp(at, np.arange(len(samples)), samples).astype(np.int16), phones.split()
    generator = random.Random(3)
    phones = [phone for phone in aligner.phone_set[1:] if phone != "pau"]
    for number in range(8):
        count = generator.randrange(20_000, 60_000)
        noise = np.random.default_rng(number).normal(0, 1, count)
        loud = np.abs(np.sin(np.arange(count) / generator.randrange(2_000, 6_000))) * 10 ** generator.uniform(1, 4)
        yield f"noise-{number}", np.clip(noise * loud, -32768, 32767).astype(np.int16), generator.choices(phones, k=20)


def answer(aligner, folder):
    """Writes recordings and what snfa gives for them."""
    os.makedirs(folder, exist_ok=True)
    log_probs, lines, segments = {}, [], []
    for key, samples, phones in recordings(aligner):
        with wave.open(os.path.join(folder, f"{key}.wav"), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(aligner.sr)
            out.writeframes(samples.tobytes())
        phones = ["pau", *phones, "pau"]
        signal = samples / SCALE
        as_it_is = aligner.align(signal, phones, pad_pause=False)
        mel = mel_spectrogram(signal, sr=aligner.sr, n_fft=aligner.n_fft, hop_length=aligner.hop_size, n_mels=aligner.n_mels)
        logits = aligner.forward(mel.T)
        log_probs[key] = np.log(softmax(logits[:, 1:])).astype(np.float32)
        tokens = aligner.get_indices(phones)
        before = np.zeros((1, logits.shape[1]))
        before[0, tokens[0]] = UNLIKELY
        best = viterbi(np.concatenate([before, logits]), tokens, phone_set=aligner.phone_set)
        lines.append(f"{key} {' '.join(phones)}\n")
        for segment, own in zip(as_it_is, best):
            start, end = max(own.start - 1, 0), own.end - 1
            mean = log_probs[key][start:end, aligner.phone_dict[own.phoneme] - 1].mean()
            # snfa drops what is after the point, and with it a millisecond of 579.99....
            frames = [round((time + 0.5) * aligner.sr / 1000 / aligner.hop_size) for time in (segment.start, segment.end)]
            segments.append(f"{key} {own.phoneme} {start} {end} {frames[0]} {frames[1]} {mean:.6f}\n")
    np.savez(os.path.join(folder, "log_probs.npz"), **log_probs)
    with open(os.path.join(folder, "text"), "w") as out:
        out.writelines(lines)
    # Key, phone, its first frame and the one after its last on the best path, the same as snfa is, mean log-probability.
    with open(os.path.join(folder, "segments"), "w") as out:
        out.writelines(segments)


def compare(folder, kaldera):
    """Prints how the command's alignments differ from snfa's."""
    answers, found = os.path.join(folder, "answers"), os.path.join(folder, "kaldera.jsonl")
    model, text = os.path.join(folder, "model"), os.path.join(answers, "text")
    subprocess.run([kaldera, "align", f"--text={text}", "-o", found, model, answers], check=True)
    ours = {}
    for line in open(found):
        line = json.loads(line)
        ours[line["key"]] = line["words"]
    theirs = {}
    for line in open(os.path.join(answers, "segments")):
        key, phone, *frames, mean = line.split()
        theirs.setdefault(key, []).append((phone, [int(frame) for frame in frames], float(mean)))
    aligner = snfa.Aligner()
    phones, equal, as_it_is, largest = 0, 0, 0, 0.0
    for key, expected in theirs.items():
        words = ours[key]
        assert [word["text"] for word in words] == [phone for phone, *_ in expected], key
        for word, (_, frames, mean) in zip(words, expected):
            found = [round(word[side] * aligner.sr / aligner.hop_size) for side in ("start", "end")]
            same = sum(a == b for a, b in zip(found, frames[:2]))
            phones, equal = phones + 1, equal + same
            as_it_is += sum(a == b for a, b in zip(found, frames[2:]))
            if same == 2 and word["confidence"] > 0:
                largest = max(largest, abs(math.log(word["confidence"]) - mean))
    print(f"{len(theirs)} recordings, {phones} phones, {2 * phones} boundaries: {equal} are equal to snfa's best path,")
    print(f"{as_it_is} to snfa as it is, which does not always count the first frame;")
    print(f"largest difference of a phone's mean log-probability: {largest:.2g}")
    if equal != 2 * phones:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--compare", metavar="KALDERA", help="the command whose alignments are compared with the answers")
    arguments = parser.parse_args()
    if arguments.compare:
        return compare(arguments.folder, arguments.compare)
    aligner = snfa.Aligner()
    convert(aligner, os.path.join(arguments.folder, "model"))
    answer(aligner, os.path.join(arguments.folder, "answers"))
    print(f"written to {arguments.folder}: model, answers")


if __name__ == "__main__":
    main()
