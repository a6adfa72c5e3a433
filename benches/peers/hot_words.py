"""Word errors with hot words of each bonus, from which the default of --hotword-weight was chosen.

    python3 benches/peers/hot_words.py KALDERA DATA

KALDERA is the command, built with the feature digits; DATA has fsdd and realset. Each row is of hot words that are said,
or of others, with the errors in percent for each bonus.
"""

import pathlib
import random
import subprocess
import sys
import tempfile
import wave
import zipfile

BONUSES = ["0", "0.5", "1", "1.5", "2", "3", "5", "10"]
DIGITS = "zero one two three four five six seven eight nine".split()
SPEAKERS = "george jackson lucas nicolas theo yweweler".split()
HOT_DIGITS = ["three", "four", "five", "eight", "nine"]
STRINGS = 100
# A hot word of read speech has at least so many letters.
SHORTEST = 4
MODEL = "kind = 'ctc'\ntokens = 'tokens.txt'\nframe-shift = 0.02\n{}\n[network]\nfile = 'posteriors.npz'\n[decoding]\nbeam = 50\n"


def distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
        before = row
    return before[-1]


def errors(references, found):
    wrong = sum(distance(text.split(), found.get(key, "").split()) for key, text in references.items())
    return wrong, sum(len(text.split()) for text in references.values())


def show(name, kind, cells):
    print(f"| {name} | {kind} | " + " | ".join(f"{100 * wrong / words:.1f}" for wrong, words in cells) + " |", flush=True)


class Bench:
    def __init__(self, kaldera, data, folder):
        self.kaldera, self.data, self.folder = kaldera, pathlib.Path(data), pathlib.Path(folder)

    def transcribe(self, model, recordings, hot, bonus):
        (self.folder / "hot").write_text("".join(word + "\n" for word in hot))
        args = ["transcribe", "-q", model, f"--hotwords={self.folder / 'hot'}", f"--hotword-weight={bonus}", recordings]
        told = subprocess.run([self.kaldera, *args], check=True, capture_output=True, text=True, cwd=self.folder)
        return dict((line.split(" ", 1) + [""])[:2] for line in told.stdout.splitlines())

    def digits(self):
        """Strings of four digits of a speaker, of which one digit is hot; it is said in some strings."""
        subprocess.run([self.kaldera, "model", "digits", "-o", "digits"], check=True, capture_output=True, cwd=self.folder)
        (self.folder / "strings").mkdir()
        draw, references = random.Random(1), {}
        for i in range(STRINGS):
            speaker, digits, samples = draw.choice(SPEAKERS), [draw.randrange(10) for _ in range(4)], b""
            for digit in digits:
                # Those that the model has not been trained with.
                name = f"fsdd/recordings/{digit}_{speaker}_{draw.randrange(5)}.wav"
                with wave.open(str(self.data / name)) as file:
                    samples += file.readframes(file.getnframes())
            with wave.open(str(self.folder / f"strings/d{i:03}.wav"), "wb") as file:
                file.setparams((1, 2, 8000, 0, "NONE", ""))
                file.writeframes(samples)
            references[f"d{i:03}"] = " ".join(DIGITS[digit] for digit in digits)
        sums = {kind: [[0, 0] for _ in BONUSES] for kind in (True, False)}
        for hot in HOT_DIGITS:
            for at, bonus in enumerate(BONUSES):
                found = self.transcribe("digits", "strings", [hot], bonus)
                for said in (True, False):
                    own = {key: text for key, text in references.items() if (hot in text.split()) == said}
                    wrong, words = errors(own, found)
                    sums[said][at][0] += wrong
                    sums[said][at][1] += words
        show("digits, a token each, by a lexicon", "said", sums[True])
        show("digits, a token each, by a lexicon", "that nobody says", sums[False])

    def read_speech(self):
        """A network of phones: words of a lexicon, and words that phones spell, each of which is written as a letter."""
        realset = self.data / "realset"
        lines = (realset / "transcripts.txt").read_text().lower().replace("mister", "mr").splitlines()
        references = dict(line.split(" ", 1) for line in lines if not line.startswith("numbers"))
        lexicon, tokens = {}, {}
        for line in (realset / "lexicon/lexicon-g2p-20k.txt").read_text().splitlines():
            word, *phones = line.split()
            lexicon.setdefault(word, phones)
        for line in (realset / "lexicon/tokens.txt").read_text().splitlines():
            token, number = line.split()
            tokens[token] = int(number)

        def letters(text):
            return "".join(chr(0x100 + tokens[phone]) for phone in lexicon[text]) if text in lexicon else "?"

        spelled = {key: " ".join(letters(word) for word in text.split()) for key, text in references.items()}
        names = {0: "<blk>", 1: "|"}
        named = [f"{names.get(number, chr(0x100 + number))} {number}" for number in sorted(tokens.values())]
        for name in ("words", "letters"):
            (self.folder / name).mkdir()
            with zipfile.ZipFile(realset / "posteriors.npz") as source:
                with zipfile.ZipFile(self.folder / name / "posteriors.npz", "w") as plain:
                    for member in source.namelist():
                        plain.writestr(member, source.read(member))
        for name in ("tokens.txt", "lexicon-g2p-20k.txt"):
            (self.folder / "words" / name).write_bytes((realset / "lexicon" / name).read_bytes())
        (self.folder / "letters/tokens.txt").write_text("\n".join(named) + "\n")
        source = realset / "lm/en-us-20k-pruned.arpa.gz"
        subprocess.run([self.kaldera, "lm", "convert", "-q", source, self.folder / "words/lm.bin"], check=True)
        with_words = "separator = '<wb>'\nlexicon = 'lexicon-g2p-20k.txt'\nlanguage-model = 'lm.bin'"
        (self.folder / "words/model.toml").write_text(MODEL.format(with_words))
        (self.folder / "letters/model.toml").write_text(MODEL.format("words = 'separator'\nseparator = '|'"))

        said = sorted({word for text in references.values() for word in text.split() if len(word) >= SHORTEST and word in lexicon})
        others = sorted(word for word in lexicon if len(word) >= SHORTEST and word.isalpha() and word not in said)
        unsaid = random.Random(2).sample(others, len(said))
        for name, model, texts, spell in (
            ("read speech, lexicon and language model", "words", references, str),
            ("read speech, words that letters spell", "letters", spelled, letters),
        ):
            for kind, hot in (("said", said), ("that nobody says", unsaid)):
                hot = [spell(word) for word in hot]
                found = [self.transcribe(model, realset / "audio", hot, bonus) for bonus in BONUSES]
                show(name, kind, [errors(texts, one) for one in found])


def main():
    kaldera, data = sys.argv[1:]
    print("| decoder | hot words | " + " | ".join(BONUSES) + " |\n|---|---|" + "--:|" * len(BONUSES))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(pathlib.Path(kaldera).resolve(), pathlib.Path(data).resolve(), folder)
        bench.digits()
        bench.read_speech()


if __name__ == "__main__":
    main()
