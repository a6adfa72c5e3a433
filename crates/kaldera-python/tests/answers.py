"""The recorded inputs of the real k2, and what it returned."""

import json
import pathlib

import numpy as np
import pytest

from kaldera import k2

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "conformance" / "known-answers" / "k2"
#: What went through float32, and what is float64, by the README of the answers.
SINGLE, DOUBLE, SLOPE = 2e-3, 1e-6, 1e-3


def cases(file, *ops, without=None):
    """The recorded cases of some operations, except those whose answers have a name."""
    found = json.loads((FOLDER / f"{file}.json").read_text())["cases"]
    found = [case for case in found if case["op"] in ops and without not in case["expect"]]
    return pytest.mark.parametrize("args, expect", [pytest.param(c["args"], c["expect"], id=c["id"]) for c in found])


def numbers(values):
    return np.array([[float(x) for x in row] if isinstance(row, list) else float(row) for row in values])


def fsa_of(source, dtype=None):
    """An FSA, or a vector, as the answers spell it."""
    made = []
    for each in source["fsas"]:
        rows = np.array(each["arcs"]).reshape(-1, 4)
        arcs = rows.astype(np.int32)
        arcs[:, 3] = rows[:, 3].astype(np.float32).view(np.int32)
        fsa = k2.Fsa(arcs)
        assert fsa.shape == (each["num_states"], None)
        if "aux_labels" in each:
            fsa.aux_labels = np.array(each["aux_labels"], np.int32)
        if "aux_labels_ragged" in each:
            fsa.aux_labels = k2.RaggedTensor(each["aux_labels_ragged"], "int32")
        made.append(fsa)
    return k2.create_fsa_vec(made) if source["is_vec"] else made[0]


def lattices_of(args, graph, log_probs):
    dense = k2.DenseFsaVec(log_probs, args["segments"])
    if "search_beam" not in args:
        return k2.intersect_dense(graph, dense, args["output_beam"], a_to_b_map=args.get("a_to_b_map"))
    beams = [args[name] for name in ("search_beam", "output_beam", "min_active_states", "max_active_states")]
    return k2.intersect_dense_pruned(graph, dense, *beams, allow_partial=args.get("allow_partial", False))
