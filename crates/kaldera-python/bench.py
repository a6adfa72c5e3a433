"""Measures the wheel beside what is installed of kaldi-native-fbank, asrfront, kaldiio and torch.

    python bench.py          # in an environment with the wheel; one thread, CPU seconds, best of 5

`cargo run --release --example fbank_hour` measures the library alone.
"""

import importlib.util
import pathlib
import tempfile
import time

import numpy as np

import kaldera


def best(work, repeat=5):
    times = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def report(what, seconds, ours=None):
    print(f"{what:60} {seconds:9.4f} s" + (f"   {seconds / ours:.1f} x ours" if ours else ""), flush=True)


def has(module):
    return importlib.util.find_spec(module) is not None


def features():
    numbers = np.arange(3600 * 16000, dtype=np.int32)
    hour = ((numbers * 7919) % 4001 - 2000).astype(np.int16)
    floats = hour.astype(np.float32)
    fbank = kaldera.Fbank(num_mel_bins=80, dither=0)
    ours = best(lambda: fbank.compute(hour))
    report("fbank-80 of an hour, int16, kaldera", ours)
    report("the same from float32", best(lambda: fbank.compute(floats)), ours)
    parts = np.split(hour, 360)
    report("the same, 360 recordings, one thread", best(lambda: fbank.compute(parts, threads=1)), ours)
    report("the same, flat", best(lambda: fbank.compute(parts, threads=1, output="flat")), ours)
    if has("asrfront"):
        import asrfront

        report("asrfront", best(lambda: asrfront.sensevoice.fbank_raw(floats / 32768), 3), ours)
    if has("kaldi_native_fbank"):
        import kaldi_native_fbank as knf

        options = knf.FbankOptions()
        options.frame_opts.dither = 0
        options.mel_opts.num_bins = 80

        def frames():
            for part in parts:
                stream = knf.OnlineFbank(options)
                stream.accept_waveform(16000, part.astype(np.float32))
                stream.input_finished()
                np.stack([stream.get_frame(i) for i in range(stream.num_frames_ready)])

        report("kaldi-native-fbank, a frame at a time", best(frames, 1), ours)


def tables():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        rows = np.random.default_rng(0).normal(size=(200, 80)).astype(np.float32)
        kaldera.save_ark(folder / "a.ark", {f"utt{i:05}": rows for i in range(10_000)}, scp=folder / "a.scp")

        def read(load):
            for _, matrix in load(str(folder / "a.scp")).items():
                assert matrix.shape == (200, 80)

        ours = best(lambda: read(kaldera.load_scp), 3)
        report("load_scp of 10,000 matrices of 200 x 80, kaldera", ours)
        if has("kaldiio"):
            import kaldiio

            report("kaldiio", best(lambda: read(kaldiio.load_scp), 3), ours)
        small = {f"utt{i:05}": rows[:5] for i in range(10_000)}
        kaldera.save_ark(folder / "a.ark", small, scp=folder / "a.scp")

        def read_small(load):
            for _, matrix in load(str(folder / "a.scp")).items():
                assert matrix.shape == (5, 80)

        ours = best(lambda: read_small(kaldera.load_scp), 3)
        report("the same of 5 x 80", ours)
        if has("kaldiio"):
            report("kaldiio", best(lambda: read_small(kaldiio.load_scp), 3), ours)


def losses():
    if not has("torch"):
        return
    import torch

    import kaldera.torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    logits = torch.randn(500, 16, 500, requires_grad=True)
    targets = torch.randint(1, 500, (16, 60))
    frames, labels = torch.full((16,), 500), torch.full((16,), 60)

    def step(function):
        loss = function(logits.log_softmax(-1), targets, frames, labels)
        torch.autograd.grad(loss, logits)

    ours = best(lambda: step(kaldera.torch.ctc_loss))
    report("ctc_loss, 16 x 500 x 500, 60 labels, with log_softmax", ours)
    report("torch", best(lambda: step(torch.nn.functional.ctc_loss)), ours)
    log_probs = logits.log_softmax(-1).detach().requires_grad_()

    def alone(function):
        torch.autograd.grad(function(log_probs, targets, frames, labels), log_probs)

    ours = best(lambda: alone(kaldera.torch.ctc_loss))
    report("ctc_loss without log_softmax", ours)
    report("torch", best(lambda: alone(torch.nn.functional.ctc_loss)), ours)


if __name__ == "__main__":
    features()
    tables()
    losses()
