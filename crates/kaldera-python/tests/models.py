"""A model as small as can be."""

import numpy as np
import pytest


def write_safetensors(path, tensors):
    """The format is a length, JSON, and bytes."""
    import json
    import struct

    header, body = {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(body), len(body) + array.nbytes]}
        body += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.fixture
def model(tmp_path):
    """Its scores are those of random weights."""
    weights = np.random.default_rng(5).normal(0, 0.02, (3, 40)).astype(np.float32)
    write_safetensors(tmp_path / "network.safetensors", {"output.weight": weights})
    (tmp_path / "tokens.txt").write_text("<blk> 0\nyes 1\nno 2\n")
    (tmp_path / "model.toml").write_text(
        """
        kind = "ctc"
        tokens = "tokens.txt"
        words = "tokens"
        features = { kind = "fbank", num-mel-bins = 40, dither = 0.0 }
        [network]
        file = "network.safetensors"
        layers = [{ kind = "linear", name = "output" }, { kind = "log-softmax" }]
        """
    )
    return tmp_path
