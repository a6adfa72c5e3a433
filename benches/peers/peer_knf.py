"""kaldi-native-fbank (C++ with a Python face): fbank-80 and MFCC-13, dither 0."""

import kaldi_native_fbank as knf
import numpy as np
import peer


def features(extractor, samples):
    extractor.accept_waveform(16000, samples)
    extractor.input_finished()
    return np.stack([extractor.get_frame(index) for index in range(extractor.num_frames_ready)])


def fbank(samples):
    options = knf.FbankOptions()
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 80
    return features(knf.OnlineFbank(options), samples)


def mfcc(samples):
    options = knf.MfccOptions()
    options.frame_opts.dither = 0
    return features(knf.OnlineMfcc(options), samples)


peer.main({"fbank": fbank, "mfcc": mfcc})
