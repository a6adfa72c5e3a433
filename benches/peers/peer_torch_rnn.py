"""PyTorch does the cases of recurrent.py: `padded` (oneDNN's LSTM in the forward pass) or `packed`, as the first argument says.

Lines `TIMES NAME` come in and seconds go out, as in tensor.py. The line `0 lengths L0 L1 ..` says what the mini-batch is.
"""

import sys

import torch
from tensor_peer import serve
from torch.nn.utils import rnn

INPUT, HIDDEN, EQUAL = 80, 512, [50] * 64
KIND, THREADS, *LENGTHS = sys.argv[1:]
torch.set_num_threads(int(THREADS))
LENGTHS = [int(length) for length in LENGTHS]


def case(name):
    if name == "gemm":
        return gemm()
    cell, layers, kind, *equal = name.split(" ")
    lengths = EQUAL if equal else LENGTHS
    if KIND == "packed" and kind != "forward" and not equal:
        return None  # quadratic in the number of steps: it does not end within minutes
    torch.manual_seed(1)
    network = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](INPUT, HIDDEN, int(layers))
    parts = [torch.rand(length, INPUT) * 2 - 1 for length in lengths]
    if KIND == "padded":
        x = rnn.pad_sequence(parts)
        grad = rnn.pad_sequence([torch.rand(length, HIDDEN) * 2 - 1 for length in lengths])
    else:
        x = rnn.pack_sequence(parts, enforce_sorted=False)
        grad = torch.rand(sum(lengths), HIDDEN) * 2 - 1

    def forward():
        with torch.inference_mode():
            network(x)

    def both():
        network.zero_grad()
        values = x if KIND == "padded" else x.data
        values.requires_grad_(True)  # as ours, which always gives the gradient by the input
        values.grad = None
        y = network(x)[0]
        (y if KIND == "padded" else y.data).backward(grad)

    return forward if kind == "forward" else both


def gemm():
    """oneDNN's product of 512 x 512 matrices, ten times: the limit of the machine."""
    a, packed = torch.rand(512, 512), torch.ops.mkldnn._reorder_linear_weight(torch.rand(512, 512), 512)

    def once():
        with torch.inference_mode():
            for _ in range(10):
                torch.ops.mkldnn._linear_pointwise(a, packed, None, "none", [], "")

    return once


serve(case)
