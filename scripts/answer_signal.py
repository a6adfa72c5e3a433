"""The signal whose features `make-log-mel-answers.py` and `make-preset-answers.py` write down, and tests compute again."""
import numpy as np


def signal(n):
    """A tone that rises, noise that comes and goes, and silence: integers, so that every language makes the same."""
    state, out = 12345, []
    for i in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        noise = state // 2**16 % 2001 - 1000
        triangle = abs(i * (20 + i // 200) % 4000 - 2000) - 1000
        loud = i // 4000 % 3
        out.append(0 if loud == 2 else triangle * 5 + noise * loud)
    return np.array(out, dtype=np.float64) / 32768.0
