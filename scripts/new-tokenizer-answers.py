#!/usr/bin/env python3
"""Trains tokenizers of all kinds on made-up text and lets their libraries divide made-up texts.

    pip install sentencepiece tokenizers
    python3 scripts/new-tokenizer-answers.py FOLDER [SEED]
    KALDERA_TOKENIZERS=FOLDER cargo test -p kaldera-decoder --features tokenizers --test it libraries -- --nocapture

FOLDER gets `texts.txt`, a text in each line, and for each tokenizer `NAME.model` or `NAME.json` with the numbers
of each text's tokens in `NAME.ids` or `NAME.json.ids`; `unknown` stands where tokenizer.json leaves something out.
"""

import os
import random
import sys

import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

folder = sys.argv[1]
rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
os.makedirs(folder, exist_ok=True)

SYLLABLES = ("ka to mi re son the ing ér ü ß na o st a e li qu zh an 日 本 語 も жи во д ﬁ Å é").split()
WORDS = ["".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4))) for _ in range(3000)]
ODD = [
    "  ", "\t", "\u3000", "\u00a0", "ﬀ", "①", "Ａ", "e\u0301", "\u200b", "🙂", "▁", "<s>", "</s>", "<unk>", "<blk>",
    "<sos/eos>", "x", "0x0A", "Ⅷ", "ｶﾞ", "가", "각", "\u0300", "\u00ad", "½", "<0x41>", " ", "\ufeff", "ǅ", "㎏",
]  # fmt: skip
RANGES = [(32, 0x2FF), (0x3000, 0x30FF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x1F600, 0x1F64F)]
LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def word():
    text = WORDS[min(int(rng.paretovariate(0.6)), len(WORDS) - 1)]
    if rng.random() < 0.1:
        text = text.upper()
    return text + rng.choice([",", ".", "!", "'s", "…"]) if rng.random() < 0.05 else text


def odd_text():
    parts = []
    for _ in range(rng.randint(0, 8)):
        kind = rng.random()
        if kind < 0.65:
            parts.append(word() + (" " if rng.random() < 0.9 else ""))
        elif kind < 0.9:
            parts.append(rng.choice(ODD))
        else:
            parts.append(chr(rng.randint(*rng.choice(RANGES))))
    return "".join(c for c in "".join(parts) if c not in LINE_ENDS)


corpus = [" ".join(word() for _ in range(rng.randint(1, 12))) for _ in range(20000)]
texts = [odd_text() for _ in range(4000)]


def path(name):
    return os.path.join(folder, name)


def write(name, lines):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


write("corpus.txt", corpus)
write("texts.txt", texts)

UNIGRAM = {
    "unigram": {"vocab_size": 500},
    "unigram_icefall": {"vocab_size": 300, "user_defined_symbols": ["<blk>", "<sos/eos>"], "unk_id": 2, "bos_id": -1, "eos_id": -1},
    "unigram_bytes": {"vocab_size": 700, "byte_fallback": True, "character_coverage": 0.98},
    "unigram_identity": {"vocab_size": 400, "normalization_rule_name": "identity", "remove_extra_whitespaces": False, "add_dummy_prefix": False},
    "unigram_lower": {"vocab_size": 400, "normalization_rule_name": "nmt_nfkc_cf"},
    "unigram_suffix": {"vocab_size": 400, "treat_whitespace_as_suffix": True},
}  # fmt: skip
BPE = {
    "bpe": {"vocab_size": 500},
    "bpe_bytes": {"vocab_size": 700, "byte_fallback": True, "character_coverage": 0.98},
    "bpe_identity": {"vocab_size": 400, "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "bpe_symbols": {"vocab_size": 400, "treat_whitespace_as_suffix": True, "user_defined_symbols": ["kato", "▁x"]},
    "bpe_across_words": {"vocab_size": 500, "split_by_whitespace": False, "split_digits": True},
}
OTHER = {"char": {"vocab_size": 100, "character_coverage": 0.98}, "word": {"vocab_size": 500}}


def train(name, model_type, options):
    sentencepiece.SentencePieceTrainer.train(
        input=path("corpus.txt"), model_prefix=path(name), model_type=model_type, minloglevel=2, num_threads=1,
        hard_vocab_limit=False, **options,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=path(name + ".model"))
    write(name + ".ids", [" ".join(map(str, model.encode(text))) for text in texts])


for name, options in UNIGRAM.items():
    train(name, "unigram", options)
for name, options in BPE.items():
    train(name, "bpe", options)
for name, options in OTHER.items():
    train(name, name, options)


def save(name, tokenizer, trainer, unknown):
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.save(path(name + ".json"))
    # A unigram model gives what is unknown the text that it has, and this number.
    number = unknown and tokenizer.token_to_id(unknown)

    def ids(text):
        encoding = tokenizer.encode(text, add_special_tokens=False)
        return "unknown" if number in encoding.ids else " ".join(map(str, encoding.ids))

    write(name + ".json.ids", map(ids, texts))


byte_level = tokenizers.Tokenizer(models.BPE())
byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
byte_level.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
save("byte_level", byte_level, trainers.BpeTrainer(vocab_size=800, initial_alphabet=alphabet, show_progress=False), None)

pieces = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
pieces.normalizer = normalizers.BertNormalizer()
pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
special = ["[UNK]", "[CLS]", "[SEP]"]
save("word_piece", pieces, trainers.WordPieceTrainer(vocab_size=500, special_tokens=special, show_progress=False), "[UNK]")

characters = tokenizers.Tokenizer(models.Unigram())
characters.normalizer = normalizers.NFKC()
characters.pre_tokenizer = pre_tokenizers.Metaspace()
special = {"vocab_size": 500, "unk_token": "<unk>", "special_tokens": ["<blk>", "<unk>"], "show_progress": False}
save("metaspace", characters, trainers.UnigramTrainer(**special), "<unk>")
