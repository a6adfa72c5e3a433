"""asrfront (C with SIMD lanes from Python): Kaldi's fbank-80 with a Hamming window, which is the one it has, and Whisper's log-mel; no dither.

It reads files itself; KIND load writes their samples. Whisper's log-mel comes as [bins, frames], as OpenAI's does, and is written so.
"""

import asrfront
import peer


def whisper(samples):
    return asrfront.whisper.log_mel(samples, pad_or_trim=False)


peer.main({"fbank": asrfront.sensevoice.fbank_raw, "whisper": whisper, "load": lambda samples: samples}, load=asrfront.load)
