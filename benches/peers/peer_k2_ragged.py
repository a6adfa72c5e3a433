"""k2 does the cases of k2_ragged.py. It reads lines and answers each with one, as benches/src/bin/ragged_cases.rs says.

What k2 has only in C++ has no case: transposing, row ids into memory of the caller, padding into such.
"""

import sys
from pathlib import Path

import k2
import k2.ragged
import numpy as np
import torch

FOLDER = Path(sys.argv[1])
torch.set_num_threads(1)


def integers(name):
    return torch.from_numpy(np.fromfile(FOLDER / name, np.int32))


def floats(name):
    return torch.from_numpy(np.fromfile(FOLDER / name, np.float32))


def ragged(splits, values):
    splits = integers(splits)
    return k2.ragged.RaggedTensor(k2.ragged.create_ragged_shape2(splits, None, len(values)), values)


def short():
    return ragged("splits", floats("values"))


def of(make, run):
    """An operation on what stays as it is."""
    kept = make()
    return lambda: kept, run


def splits_to_ids():
    splits = integers("splits_of_ids")
    count = int(splits[-1])
    # A shape keeps its ids.
    return lambda: k2.ragged.create_ragged_shape2(splits, None, count), lambda shape: shape.row_ids(1)


def ids_to_splits():
    splits = integers("splits_of_ids")
    ids = k2.ragged.create_ragged_shape2(splits, None, int(splits[-1])).row_ids(1).clone()
    return lambda: None, lambda _: k2.ragged.create_ragged_shape2(None, ids, len(ids)).row_splits(1)


def sort(with_map):
    everything = short()

    def run(tensor):
        map = tensor.sort_(need_new2old_indexes=with_map)
        return map if with_map else tensor

    return everything.clone, run


def quarters():
    everything = short()
    rows = everything.dim0
    return [everything.arange(0, i * rows // 4, (i + 1) * rows // 4) for i in range(4)]


def index(with_map):
    order = integers("order")
    run = lambda tensor: tensor.index(order, axis=0, need_value_indexes=with_map)
    return of(short, lambda tensor: run(tensor)[1 if with_map else 0])


def add():
    per_list = integers("order").to(torch.float32)
    return of(short, lambda tensor: tensor.add(per_list, 0.5))


def index_add():
    places, values = integers("places"), floats("values")

    def run(_):
        out = torch.zeros_like(values)
        k2.index_add(places, values, out)
        return out

    return lambda: None, run


def by_places(run):
    places, values = ragged("splits", integers("places")), floats("values")
    return lambda: None, lambda _: run(values, places)


CASES = {
    "splits -> ids": splits_to_ids,
    "ids -> splits": ids_to_splits,
    "sum": lambda: of(short, lambda x: x.sum()),
    "max": lambda: of(short, lambda x: x.max()),
    "min": lambda: of(short, lambda x: x.min()),
    "argmax": lambda: of(short, lambda x: x.argmax()),
    "logsumexp": lambda: of(short, lambda x: x.logsumexp()),
    "normalize (log)": lambda: of(short, lambda x: x.normalize(use_log=True)),
    "normalize (linear)": lambda: of(short, lambda x: x.normalize(use_log=False)),
    "sum, i32": lambda: of(lambda: ragged("splits", integers("integers")), lambda x: x.sum()),
    "sort": lambda: sort(False),
    "sort, with map": lambda: sort(True),
    "index by all rows": lambda: index(False),
    "index by all rows, with map": lambda: index(True),
    "unique, lists that differ": lambda: of(lambda: ragged("splits", integers("integers")), lambda x: x.unique()[0]),
    "unique, lists that repeat": lambda: of(lambda: ragged("repeated_splits", integers("repeated")), lambda x: x.unique()[0]),
    "remove_values_leq": lambda: of(short, lambda x: x.remove_values_leq(0.0)),
    "remove_values_eq": lambda: of(lambda: ragged("splits", integers("integers")), lambda x: x.remove_values_eq(0)),
    "cat of four, axis 0": lambda: of(quarters, lambda x: k2.ragged.cat(x, axis=0)),
    "cat of four, axis 1": lambda: of(quarters, lambda x: k2.ragged.cat(x, axis=1)),
    "pad": lambda: of(short, lambda x: x.pad(mode="constant", padding_value=0.0)),
    "add per list": add,
    "index_select": lambda: by_places(lambda values, places: k2.index_select(values, places.values)),
    "index_add": index_add,
    "ragged.index of a tensor": lambda: by_places(lambda values, places: k2.ragged.index(values, places)),
    "index_and_sum": lambda: by_places(lambda values, places: k2.ragged.index_and_sum(values, places)),
}


def digest(name, outcome):
    """Three numbers of what came out, as ours has them."""
    if name.startswith("unique"):
        return outcome.dim0, int(outcome.values.sum()), outcome.numel()
    numbers = outcome.values if isinstance(outcome, k2.ragged.RaggedTensor) else outcome
    numbers = numbers.flatten().numpy().astype(np.float64)
    weighted = np.arange(len(numbers)) % 1000 * np.where(np.abs(numbers) < 1e30, numbers, 0)
    return len(numbers), weighted.sum(), np.abs(weighted).sum()


def serve():
    name = kept = taken = None
    for line in sys.stdin:
        word, _, asked = line.rstrip("\n").partition(" ")
        if word == "prepare":
            if asked != name:
                kept = taken = None  # frees its memory first
                name, kept = asked, CASES[asked]() if asked in CASES else None
            taken = None
            if kept is not None:
                taken = kept[0]()
            print("ready" if kept else "-", flush=True)
        elif word == "run":
            kept[1](taken)
            print("done", flush=True)
        else:
            print(*digest(name, kept[1](taken)), flush=True)


serve()
