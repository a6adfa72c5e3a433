#!/usr/bin/env python3
"""PyTorch trains the recogniser of connected digits that examples/digits trains in Rust: the same network, recipe and test strings.

    cargo run --release -p kaldera-train-digits -- ../shared/data/fsdd/recordings --train-takes 5-49 --test-takes 0-4 -o target/digits
    python3 benches/peers/digits.py ../shared/data/fsdd/recordings --train-takes 5-49 --strings target/digits/strings.tsv

fbank-40 of kaldi-native-fbank on the fly, mean and variance of all recordings, 3 frames in a row, a bidirectional GRU of 64, linear, CTC, Adam,
gradients clipped at 5, warm-up in 5 % of the steps and linear decay; 14 epochs with 8 strings to a batch, the first 6 of one or two digits. One
thread; `user CPU` includes reading and features. The first environment of benches/peers/.work that has PyTorch and kaldi-native-fbank runs it, or
the one that --python names (`pip install torch==2.5.1 kaldi-native-fbank numpy`).
"""

import argparse
import os
import resource
import subprocess
import sys
import wave
from pathlib import Path

BINS, STACKED, HIDDEN, TOKENS = 40, 3, 64, 11
NEEDED = "import torch, kaldi_native_fbank"


def interpreter(named):
    """A Python that has what is needed."""
    venvs = (Path(__file__).resolve().parent / ".work").glob("*/bin/python")
    for python in [named] if named else [sys.executable, *map(str, venvs)]:
        if subprocess.run([python, "-c", NEEDED], capture_output=True).returncode == 0:
            return python
    sys.exit("no Python here has torch and kaldi_native_fbank: name one with --python")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--strings", type=Path, required=True, help="the test strings, as examples/digits writes them")
    parser.add_argument("--train-takes", default="10-49")
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--curriculum", type=int, default=6)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", help="an interpreter with torch and kaldi-native-fbank")
    return parser.parse_args()


def user_seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main():
    args = arguments()
    if not os.environ.get("DIGITS_PEER"):
        python = interpreter(args.python)
        os.execve(python, [python, *sys.argv], {**os.environ, "DIGITS_PEER": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
    train(args)


def train(args):
    import kaldi_native_fbank as knf
    import numpy as np
    import torch
    from torch.nn.utils import rnn

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    random = np.random.default_rng(args.seed)
    started = user_seconds()

    options = knf.FbankOptions()
    options.frame_opts.samp_freq = 8000
    options.frame_opts.dither = 0
    options.frame_opts.snip_edges = False
    options.mel_opts.num_bins = BINS

    def fbank(samples):
        computer = knf.OnlineFbank(options)
        computer.accept_waveform(8000, samples)
        computer.input_finished()
        return np.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)])

    def read(path):
        with wave.open(str(path)) as file:
            return np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16).astype(np.float32)

    recordings = {path.stem: read(path) for path in sorted(args.recordings.glob("*.wav"))}
    first, last = map(int, args.train_takes.split("-"))
    chosen = [name for name in recordings if first <= int(name.split("_")[2]) <= last]
    frames = np.concatenate([fbank(recordings[name]) for name in chosen])
    mean, deviation = frames.mean(0), frames.std(0)

    def rows(names, pauses):
        parts = []
        for name, pause in zip([*names, None], pauses):
            parts.append(np.zeros(pause, dtype=np.float32))
            if name:
                parts.append(recordings[name])
        samples = np.concatenate(parts)
        samples += 4 * random.standard_normal(len(samples), dtype=np.float32)
        features = (fbank(samples) - mean) / deviation
        return torch.from_numpy(features[: len(features) // STACKED * STACKED].reshape(-1, STACKED * BINS))

    def strings(shortest, longest):
        result = []
        for speaker in sorted({name.split("_")[1] for name in chosen}):
            left = [name for name in chosen if name.split("_")[1] == speaker]
            random.shuffle(left)
            while left:
                length = random.integers(shortest, longest + 1)
                names, left = left[:length], left[length:]
                result.append((names, random.integers(0, 1201, len(names) + 1)))
        random.shuffle(result)
        return result

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = torch.nn.GRU(BINS * STACKED, HIDDEN, bidirectional=True)
            self.output = torch.nn.Linear(2 * HIDDEN, TOKENS)

        def forward(self, sequences):
            packed = rnn.pack_sequence(sequences, enforce_sorted=False)
            states, lengths = rnn.pad_packed_sequence(self.encoder(packed)[0])
            return self.output(states).log_softmax(-1), lengths

    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    epochs = [strings(*((1, 2) if epoch < args.curriculum else (3, 7))) for epoch in range(args.epochs)]
    total = sum(-(-len(epoch) // args.batch) for epoch in epochs)
    warm_up = total // 20
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: (step + 1) / warm_up if step < warm_up else max(0, total - step) / max(1, total - warm_up)
    )  # fmt: skip
    for number, epoch in enumerate(epochs):
        losses = []
        for at in range(0, len(epoch), args.batch):
            batch = epoch[at : at + args.batch]
            log_probs, lengths = network([rows(*string) for string in batch])
            labels = [[int(name[0]) + 1 for name in names] for names, _ in batch]
            loss = torch.nn.functional.ctc_loss(
                log_probs, torch.tensor(sum(labels, [])), lengths, torch.tensor([len(list) for list in labels]), zero_infinity=True
            )  # fmt: skip
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 5)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {number + 1}/{args.epochs}: loss {np.mean(losses):.4f}, user CPU {user_seconds() - started:.1f} s", flush=True)

    trained = user_seconds() - started
    tested = [line.split("\t") for line in args.strings.read_text().splitlines()]
    errors = wrong = digits = 0
    with torch.inference_mode():
        for said, _, names, pauses in tested:
            best = network([rows(names.split(), list(map(int, pauses.split())))])[0][:, 0].argmax(-1)
            best = torch.unique_consecutive(best)
            distance = edit_distance(said, "".join(str(token - 1) for token in best[best != 0].tolist()))
            errors, wrong, digits = errors + distance, wrong + (distance > 0), digits + len(said)
    print(f"{sum(p.numel() for p in network.parameters())} parameters, PyTorch {torch.__version__}")
    print(f"{100 * errors / digits:.2f} % of the digits wrong ({errors} of {digits}), {wrong} of {len(tested)} strings with an error")
    print(f"user CPU {trained:.1f} s for training, {user_seconds() - started:.1f} s in all")


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, left in enumerate(a):
        diagonal, row[0] = row[0], i + 1
        for j, right in enumerate(b):
            diagonal, row[j + 1] = row[j + 1], min(diagonal + (left != right), row[j] + 1, row[j + 1] + 1)
    return row[-1]


if __name__ == "__main__":
    main()
