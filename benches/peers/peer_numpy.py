"""NumPy does the cases of tensor.py, into outputs that are there already but for `fresh`."""

import numpy as np
from tensor_peer import COORDINATES, LARGE, SMALL, index, serve


def warm(shape):
    return np.full(shape, 1, np.float32)


def case(name):
    kind, _, rest = name.partition(" ")
    if name == "nothing":
        return None
    if name == "memcpy":
        x, out = warm(LARGE), warm(LARGE)
        return lambda: np.copyto(out, x)
    if name in ("offsets to coordinates", "coordinates to offsets"):
        offsets = np.random.default_rng(7).integers(0, np.prod(LARGE), COORDINATES)
        coordinates = np.unravel_index(offsets, LARGE)
        if kind == "offsets":
            return lambda: np.unravel_index(offsets, LARGE)
        return lambda: np.ravel_multi_index(coordinates, LARGE)
    if " x[" in name:
        return small(name)
    if kind == "fresh":
        x, entries = warm(LARGE), index(rest)
        return lambda: x[entries].copy()
    if kind == "grad":
        out, entries = warm(LARGE), index(rest)
        dy = warm(out[entries].shape)

        def gradient():
            out.fill(0)
            out[entries] = dy

        return gradient
    x = warm(LARGE)
    if kind == "transpose":
        view = x.transpose([int(axis) for axis in rest.split(",")])
    else:
        view = x[index(name)]
    out = warm(view.shape)
    return lambda: np.copyto(out, view)


def small(name):
    x = warm(SMALL)
    if name == "view x[None, 0:2, 2]":
        return lambda: x[None, 0:2, 2]
    if name == "copy x[None, 0:2, 2]":
        return lambda: x[None, 0:2, 2].copy()
    if name == "copy into x[None, 0:2, 2]":
        out = warm((1, 2, 4, 10))
        return lambda: np.copyto(out, x[None, 0:2, 2])
    if name == "copy x[::2, :, ::-1, ::2]":
        return lambda: x[::2, :, ::-1, ::2].copy()
    if name == "copy into x[::2, :, ::-1, ::2]":
        out = warm((3, 3, 4, 5))
        return lambda: np.copyto(out, x[::2, :, ::-1, ::2])
    return None


serve(case)
