"""asrfront (C with SIMD lanes from Python): Kaldi's fbank-80 with a Hamming window, which is the one it has, SenseVoice's rows of it,
and the log-mel of Whisper, Qwen3-ASR and Gemma 4; no dither.

It reads files itself; KIND load writes their samples. Whisper's and Qwen3's log-mel comes as [bins, frames], as OpenAI's does, and is
written so.
"""

import asrfront
import peer


def whisper(samples):
    return asrfront.whisper.log_mel(samples, pad_or_trim=False)


KINDS = {
    "fbank": asrfront.sensevoice.fbank_raw,
    "sensevoice": asrfront.sensevoice.fbank,
    "whisper": whisper,
    "qwen3-asr": asrfront.qwen3_asr.log_mel,
    "gemma4": asrfront.gemma4.log_mel,
    "load": lambda samples: samples,
}
peer.main(KINDS, load=asrfront.load)
