"""Files of audio that Python has no writer for."""

import math
import struct


def aiff(samples, rate):
    """The bytes of a 16-bit AIFF file of one channel."""
    fraction, exponent = math.frexp(rate)
    comm = struct.pack(">hLhHQ", 1, len(samples), 16, exponent + 16382, int(fraction * 2**64))
    chunks = b"COMM" + struct.pack(">L", len(comm)) + comm
    chunks += b"SSND" + struct.pack(">LQ", 8 + 2 * len(samples), 0) + samples.astype(">i2").tobytes()
    return b"FORM" + struct.pack(">L", 4 + len(chunks)) + b"AIFF" + chunks
