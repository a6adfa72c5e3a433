"""What the Python peers share: the job, and its timing.

A peer's program is called as `PROGRAM KIND WAV_SCP OUTPUT`. It reads every recording, writes the features as plain float32, and
prints the CPU seconds (user + system) that this took. Starting Python and importing libraries are not counted.
"""

import resource
import sys
import wave

import numpy as np


def samples_of(path):
    """The samples of a 16-bit mono WAV file, as float32 in the range of 16-bit integers, as Kaldi takes them."""
    with wave.open(path) as file:
        return np.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(np.float32)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(extractors, load=samples_of):
    """Does the job with `extractors[KIND]`, a function from what `load` makes of a path to an array."""
    kind, scp, output = sys.argv[1:]
    extract = extractors[kind]
    start = cpu_seconds()
    with open(scp) as table, open(output, "wb") as out:
        for line in table:
            path = line.split(maxsplit=1)[1].strip()
            out.write(np.ascontiguousarray(extract(load(path)), dtype=np.float32).data)
    print(cpu_seconds() - start)
