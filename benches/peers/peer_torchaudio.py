"""torchaudio.compliance.kaldi on one thread: fbank-80 and MFCC-13, dither 0."""

import peer
import torch
from torchaudio.compliance import kaldi

torch.set_num_threads(1)


def fbank(samples):
    return kaldi.fbank(torch.from_numpy(samples)[None], num_mel_bins=80, dither=0.0).numpy()


def mfcc(samples):
    return kaldi.mfcc(torch.from_numpy(samples)[None], use_energy=True, dither=0.0).numpy()


peer.main({"fbank": fbank, "mfcc": mfcc})
