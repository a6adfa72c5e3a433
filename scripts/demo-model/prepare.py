#!/usr/bin/env python3
"""Writes what a model folder needs besides its graph, of the packages hama and pocketsphinx: network, tokens, words, lexicon.

    prepare.py ARPA FOLDER          (called by scripts/get-demo-model.sh, in its environment)

- network.onnx: hama's CTC network.
- tokens.txt, outputs.txt: 39 phones, a word boundary and blank, and which of them each of the network's 191 outputs is
  (phones.txt, beside this program, has those that English uses).
- words.txt: the 20,000 most frequent words of the language model that the dictionary has, too.
- lexicon.txt: how hama's own G2P spells them, as the network was taught.
"""

import functools
import multiprocessing
import shutil
import sys
from importlib import resources
from pathlib import Path

import onnxruntime

# Networks as small as the G2P's are slower on several threads. Set before hama takes the class.
single = onnxruntime.SessionOptions()
single.intra_op_num_threads = single.inter_op_num_threads = 1
onnxruntime.InferenceSession = functools.partial(onnxruntime.InferenceSession, sess_options=single)

from hama.inference import G2PModel  # noqa: E402

NUM_WORDS = 20_000
BLANK, BOUNDARY = "<blk>", "<wb>"


def save(path, lines):
    part = path.with_suffix(".part")
    part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    part.rename(path)


def frequent_words(arpa, known):
    """Words by their probability, the most frequent first; ties by the alphabet."""
    words = []
    with open(arpa, encoding="utf-8") as lines:
        for line in lines:
            fields = line.split()
            if line.startswith("\\2-grams"):
                break
            if len(fields) in (2, 3) and fields[1] in known:
                words.append((-float(fields[0]), fields[1]))
    return [word for _, word in sorted(words)[:NUM_WORDS]]


@functools.cache
def g2p():
    return G2PModel()


def spell(word):
    return [one.phoneme for one in g2p()(word).alignments]


def main():
    arpa, folder = sys.argv[1], Path(sys.argv[2])
    assets = resources.files("hama.assets")
    shutil.copyfile(str(assets.joinpath("asr_waveform_fp16.onnx")), folder / "network.onnx")

    phones = dict(line.split() for line in Path(__file__).with_name("phones.txt").read_text(encoding="utf-8").splitlines())
    tokens = [BLANK, BOUNDARY] + sorted(set(phones.values()) - {BLANK, BOUNDARY})
    save(folder / "tokens.txt", [f"{token} {number}" for number, token in enumerate(tokens)])
    outputs = list(g2p().vocab.decoder) + ["<wb>", "<blank>"]
    missing = set(phones) - set(outputs)
    if missing:
        sys.exit(f"the network has no outputs {sorted(missing)}: is this hama 1.3.13?")
    save(folder / "outputs.txt", [f"{output} {phones.get(output, '-')}" for output in outputs])

    dictionary = resources.files("pocketsphinx").joinpath("model/en-us/cmudict-en-us.dict").read_text(encoding="utf-8")
    known = {line.split()[0] for line in dictionary.splitlines() if line.strip()}
    words = frequent_words(arpa, known)
    lexicon, unspelled = {}, 0
    with multiprocessing.get_context("spawn").Pool() as pool:
        for number, (word, spelled) in enumerate(zip(words, pool.imap(spell, words, chunksize=100))):
            if number % 2000 == 0:
                print(f"spelling words: {number} of {len(words)}", flush=True)
            spelled = [phones[phoneme] for phoneme in spelled if phoneme in phones]
            if spelled:
                lexicon[word] = spelled
            else:
                unspelled += 1
    print(f"{len(lexicon)} words, {unspelled} that cannot be spelled")
    save(folder / "words.txt", sorted(lexicon))
    save(folder / "lexicon.txt", [f"{word} {' '.join(spelled)}" for word, spelled in sorted(lexicon.items())])


if __name__ == "__main__":
    main()
