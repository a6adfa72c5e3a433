"""Losses of PyTorch, torchaudio and k2, forward and backward on one thread, and ours on the same shapes.

    python3 benches/peers/k2_venv.py                            # installs k2, PyTorch, torchaudio into benches/peers/.work/venv-k2
    benches/peers/.work/venv-k2/bin/python benches/peers/losses.py [BINARY]

Without BINARY ours is built. What is not installed beside PyTorch is left out. Times are CPU times of the process, the best of seven after
one that does not count.
"""

import os
import pathlib
import subprocess
import sys
import time

import torch

try:
    import k2
except ImportError:
    k2 = None
try:
    import torchaudio
except ImportError:
    torchaudio = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPEATS = 7


def report(name, run):
    run()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        value = run()
        times.append((time.process_time() - start) * 1e3)
    times.sort()
    print(f"{name:45} {times[0]:8.2f} ms best, {times[REPEATS // 2]:8.2f} median   ({value:.4f})", flush=True)


def symbols(sequences, labels, classes):
    return torch.tensor([[1 + (s * labels + i) * 7919 % (classes - 1) for i in range(labels)] for s in range(sequences)])


def ctc(n, t, c, u):
    logits = (torch.rand(n, t, c) * 4 - 2).requires_grad_()
    labels = symbols(n, u, c)

    def of_torch():
        logits.grad = None
        log_probs = logits.log_softmax(-1).transpose(0, 1)
        loss = torch.nn.functional.ctc_loss(log_probs, labels, torch.full((n,), t), torch.full((n,), u), reduction="sum")
        loss.backward()
        return loss.item()

    report(f"torch: ctc {n}x{t}x{c}, {u} labels", of_torch)
    if k2 is None:
        return
    segments = torch.tensor([[i, 0, t] for i in range(n)], dtype=torch.int32)
    graph = k2.ctc_graph(labels.tolist())

    def of_k2():
        logits.grad = None
        dense = k2.DenseFsaVec(logits.log_softmax(-1), segments)
        loss = k2.ctc_loss(graph, dense, output_beam=10, reduction="sum")
        loss.backward()
        return loss.item()

    report(f"k2: ctc {n}x{t}x{c}, {u} labels", of_k2)


def transducers():
    n, t, u, c = 8, 250, 60, 500
    am = (torch.rand(n, t, c) * 4 - 2).requires_grad_()
    lm = (torch.rand(n, u + 1, c) * 4 - 2).requires_grad_()
    labels = symbols(n, u, c)
    boundary = torch.tensor([[0, 0, u, t]] * n)

    def simple():
        am.grad = lm.grad = None
        loss = k2.rnnt_loss_simple(lm, am, labels, 0, boundary, reduction="sum")
        loss.backward()
        return loss.item()

    def smoothed():
        am.grad = lm.grad = None
        loss = k2.rnnt_loss_smoothed(lm, am, labels, 0, 0.25, 0.1, boundary, reduction="sum")
        loss.backward()
        return loss.item()

    report("k2: rnnt simple 8x250x60x500", simple)
    report("k2: rnnt smoothed 8x250x60x500", smoothed)
    _, (px_grad, py_grad) = k2.rnnt_loss_simple(lm, am, labels, 0, boundary, reduction="sum", return_grad=True)
    report("k2: rnnt prune ranges, 5 symbols", lambda: k2.get_rnnt_prune_ranges(px_grad, py_grad, boundary, 5)[0, 0, 0].item())
    ranges = k2.get_rnnt_prune_ranges(px_grad, py_grad, boundary, 5)
    of_am, of_lm = k2.do_rnnt_pruning(am, lm, ranges)
    logits = (of_am + of_lm).detach().requires_grad_()

    def pruned():
        logits.grad = None
        loss = k2.rnnt_loss_pruned(logits, labels, ranges, 0, boundary, reduction="sum")
        loss.backward()
        return loss.item()

    report("k2: rnnt pruned 8x250x5x500", pruned)


def full():
    n, t, u, c = 2, 200, 40, 500
    logits = (torch.rand(n, t, u + 1, c) * 4 - 2).requires_grad_()
    labels = symbols(n, u, c)
    boundary = torch.tensor([[0, 0, u, t]] * n)

    def of_k2():
        logits.grad = None
        loss = k2.rnnt_loss(logits, labels, 0, boundary, reduction="sum")
        loss.backward()
        return loss.item()

    def of_torchaudio():
        logits.grad = None
        lengths = torch.full((n,), t, dtype=torch.int32), torch.full((n,), u, dtype=torch.int32)
        loss = torchaudio.functional.rnnt_loss(logits, labels.int(), *lengths, blank=0, reduction="sum")
        loss.backward()
        return loss.item()

    if k2 is not None:
        report("k2: rnnt full 2x200x41x500", of_k2)
    if torchaudio is not None:
        report("torchaudio: rnnt full 2x200x41x500", of_torchaudio)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if len(sys.argv) > 1:
        command = [sys.argv[1]]
    else:
        command = ["cargo", "run", "--release", "-q", "-p", "kaldera-benches", "--no-default-features", "--bin", "losses"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"RAYON_NUM_THREADS": "1"}, check=True)
    ctc(16, 500, 500, 60)
    ctc(4, 500, 5000, 60)
    ctc(4, 3000, 500, 400)
    if k2 is not None:
        transducers()
    full()


if __name__ == "__main__":
    main()
