"""kaldi-native-fbank (C++ from Python): fbank-80, MFCC-13, MFCC with CMVN and deltas, processed pitch, Whisper's log-mel; no dither.

Frames leave it one by one through `get_frame`; it has no call for all of them but for pitch.
"""

import kaldi_native_fbank as knf
import numpy as np
import peer


def frames(extractor, samples):
    extractor.accept_waveform(16000, samples)
    extractor.input_finished()
    return np.stack([extractor.get_frame(index) for index in range(extractor.num_frames_ready)])


def fbank(samples):
    options = knf.FbankOptions()
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 80
    return frames(knf.OnlineFbank(options), samples)


def mfcc(samples):
    options = knf.MfccOptions()
    options.frame_opts.dither = 0
    return frames(knf.OnlineMfcc(options), samples)


def mfcc_cmvn_deltas(samples):
    features = mfcc(samples)
    features = knf.apply_cmvn(knf.compute_cmvn_stats(features), knf.CmvnOptions(), features)
    return knf.compute_deltas(knf.DeltaOptions(), features)


def pitch(samples):
    return knf.compute_and_process_kaldi_pitch(knf.PitchExtractionOptions(), knf.ProcessPitchOptions(), samples)


def whisper(samples):
    """It gives mel energies; logarithm, floor and scale are the caller's."""
    energies = frames(knf.OnlineWhisperFbank(knf.WhisperFeatureOptions()), samples / np.float32(32768))
    log = np.log10(np.maximum(energies, 1e-10))
    return (np.maximum(log, log.max() - 8) + 4) / 4


peer.main({"fbank": fbank, "mfcc": mfcc, "mfcc-cmvn-deltas": mfcc_cmvn_deltas, "pitch": pitch, "whisper": whisper})
