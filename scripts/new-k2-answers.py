#!/usr/bin/env python3
"""Has k2 answer new random cases, in the schema of the known answers, for `conformance` to run.

    PYTHON scripts/new-k2-answers.py FOLDER [SEED [CASES]]
    KNOWN_ANSWERS=FOLDER cargo run --release -p conformance -- k2

PYTHON has k2: `benches/peers/k2_fsa.py` installs its last release of PyPI, 1.23.4, and benches/peers/.work/venv-k2/bin/python is one then. CASES are as
many of each operation (40). Automata are small and odd: states that nothing enters or leaves, loops, parallel arcs, epsilons. Where k2 itself refuses a
case there is none.
"""
import json
import math
import random
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path

import k2
import torch

import _k2  # It needs what the others have loaded.

INFINITY = math.inf
DTYPES = {"i32": torch.int32, "f32": torch.float32, "f64": torch.float64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# k2 answers with these alone; all else ends the script.
REFUSALS = (RuntimeError, AttributeError, ValueError)


class Answers:
    """The cases of one file."""

    def __init__(self):
        self.cases = []

    def add(self, op, match, args, expect):
        case = {"id": f"{op}-{len(self.cases)}", "op": op, "match": match, "args": args, "expect": expect}
        self.cases.append({name: value for name, value in case.items() if value is not None})

    def write(self, path, seed):
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"generator": "k2", "k2_commit": "", "k2_version": "1.23.4", "torch": torch.__version__, "device": "cpu"}
        head |= {"set": "new", "seed": seed, "num_cases": len(self.cases), "cases": self.cases}
        path.write_text(json.dumps(head))
        print(f"{path}: {len(self.cases)} cases")


# Numbers as JSON has them.


def as_f32(x):
    return torch.tensor(x, dtype=torch.float32).item()


def number(x, dtype="f64"):
    """As a JSON number: of an f32 the shortest decimal that reads back; a string if it is not finite."""
    if isinstance(x, int):
        return x
    if not math.isfinite(x):
        return "nan" if x != x else "inf" if x > 0 else "-inf"
    if dtype == "f32":
        x = next(short for digits in range(1, 18) if as_f32(short := float(f"%.{digits}g" % x)) == x)
    return x


def numbers(tensor):
    def convert(x):
        return [convert(y) for y in x] if isinstance(x, list) else number(x, NAMES[tensor.dtype])

    return convert(tensor.tolist())


# Automata.


def random_fsa(dice, acyclic=True, states=None, labels=4, epsilons=0.1, dead_ends=0.1, aux_labels=False):
    """Scores are multiples of 1/1024, so that sums of them are exact."""
    states = states or dice.randint(2, 7)
    label = lambda: 0 if dice.random() < epsilons else dice.randint(1, labels)
    arcs = []
    for state in range(states - 1):
        number_of_arcs = dice.choice([0, 1, 1, 2, 2, 3, 4])
        if acyclic and dice.random() > dead_ends:
            number_of_arcs = max(number_of_arcs, 1)
        for _ in range(number_of_arcs):
            ahead = acyclic or dice.random() < 0.5
            dest = dice.randint(state + 1 if ahead else 0, states - 1)
            final = dest == states - 1
            for _ in range(dice.choice([1, 1, 1, 2])):
                arcs.append([state, dest, -1 if final else label(), dice.choice([0, *[dice.randint(-3000, 3000) / 1024] * 3])])
    fsa = {"num_states": states, "arcs": arcs}
    if aux_labels:
        fsa["aux_labels"] = [-1 if arc[2] == -1 else label() for arc in arcs]
    return fsa


def any_fsa(dice):
    return random_fsa(dice, dice.random() < 0.6, epsilons=dice.choice([0, 0.1, 0.4]), dead_ends=dice.choice([0, 0.1, 0.5]))


def acyclic_fsa(dice):
    return random_fsa(dice, epsilons=dice.choice([0, 0.1, 0.4]), dead_ends=dice.choice([0, 0.1, 0.5]))


def whole_fsa(dice):
    return random_fsa(dice, epsilons=dice.choice([0, 0, 0.2]), dead_ends=0)


def to_k2(fsa):
    aux_labels = fsa.get("aux_labels")
    lines = []
    for i, (source, dest, label, score) in enumerate(fsa["arcs"]):
        aux = [] if aux_labels is None else [aux_labels[i]]
        lines.append(" ".join(map(str, [source, dest, label, *aux, repr(float(score))])))
    return k2.Fsa.from_str("\n".join([*lines, str(fsa["num_states"] - 1)]), acceptor=aux_labels is None)


def vector(fsas):
    return k2.create_fsa_vec([to_k2(fsa) for fsa in fsas])


def of_k2(fsas):
    """What the schema has of one FSA or of several."""
    is_vec = len(fsas.shape) == 3
    all_fsas = fsas if is_vec else k2.create_fsa_vec([fsas])
    shape = all_fsas.arcs.shape()
    state_splits, arc_splits = shape.row_splits(1).tolist(), shape.row_splits(2).tolist()
    arcs = [[*arc[:3], number(score, "f32")] for arc, score in zip(all_fsas.arcs.values().tolist(), all_fsas.scores.tolist())]
    aux_labels = getattr(fsas, "aux_labels", None)
    made = []
    for first, end in zip(state_splits, state_splits[1:]):
        of_fsa = slice(arc_splits[first], arc_splits[end])
        made.append({"num_states": end - first, "arcs": arcs[of_fsa]})
        if isinstance(aux_labels, torch.Tensor):
            made[-1]["aux_labels"] = aux_labels.tolist()[of_fsa]
    return {"fsas": made, "is_vec": is_vec}


def language(result, aux_labels=False, most_paths=20_000):
    """The strings of a single acyclic FSA with their scores in both semirings, by going all paths; None where that is no answer."""
    if len(result["fsas"]) != 1:
        return None
    fsa = result["fsas"][0]
    last = fsa["num_states"] - 1
    leaving = defaultdict(list)
    for i, (source, dest, label, score) in enumerate(fsa["arcs"]):
        leaving[source].append((dest, label, fsa["aux_labels"][i] if aux_labels else 0, as_f32(float(score))))
    paths, open_paths = [], [(0, (), (), 0.0, frozenset([0]))] if last >= 0 else []
    while open_paths:
        state, labels, aux, score, seen = open_paths.pop()
        if state == last:
            paths.append((labels, aux, score))
        for dest, label, aux_label, more in leaving[state]:
            if dest in seen or len(paths) > most_paths:
                return None
            step = (labels + (label,) * (label > 0), aux + (aux_label,) * (aux_label > 0), score + more, seen | {dest})
            open_paths.append((dest, *step))
    strings = defaultdict(list)
    for labels, aux, score in paths:
        strings[labels, aux].append(score)
    made = []
    for (labels, aux), scores in strings.items():
        best = max(scores)
        total = best + math.log(sum(math.exp(score - best) for score in scores))
        made.append([list(labels), *([list(aux)] if aux_labels else []), round(best, 6), round(total, 6)])
    return sorted(made)


def totals(fsas):
    fsas = fsas if len(fsas.shape) == 3 else k2.create_fsa_vec([fsas])
    fsas = k2.Fsa(k2.top_sort(k2.connect(fsas)).arcs)
    total = lambda log: numbers(fsas.get_tot_scores(log_semiring=log, use_double_scores=True))
    return {"log": total(True), "tropical": total(False)}


def with_map(name):
    """One of k2's functions of C++ that give an arc map."""

    def call(fsas):
        made, arc_map = getattr(_k2, name)(fsas.arcs, need_arc_map=True)
        return k2.Fsa(made), arc_map

    return call


def basic_fsa_answers(dice, answers):
    def unary(op, match, make, call, vectors=0.4, wants=()):
        is_vec = dice.random() < vectors
        fsas = [make(dice) for _ in range(dice.randint(1, 4) if is_vec else 1)]
        before = vector(fsas) if is_vec else to_k2(fsas[0])
        made = call(before)
        made, arc_map = made if isinstance(made, tuple) else (made, None)
        expect = of_k2(made)
        if arc_map is not None:
            expect["arc_map"] = numbers(arc_map)
        if "language" in wants:
            expect["language"] = language(expect)
        if "properties" in wants:
            expect["properties"] = made.properties
        answers.add(op, match, {"fsas": fsas, "is_vec": is_vec}, expect)

    arc_sort = lambda fsas: k2.arc_sort(fsas, ret_arc_map=True)
    add_loops = lambda fsas: k2.add_epsilon_self_loops(fsas, ret_arc_map=True)
    transducer = lambda dice: random_fsa(dice, dice.random() < 0.5, dead_ends=0, aux_labels=True)
    unary("arc_sort", "exact", any_fsa, arc_sort, wants=("properties",))
    unary("connect", "exact", any_fsa, with_map("connect"))
    unary("top_sort", "equivalent_top_sorted", acyclic_fsa, with_map("top_sort"), wants=("language",))
    unary("add_epsilon_self_loops", "exact", any_fsa, add_loops)
    unary("remove_epsilon_self_loops", "exact", any_fsa, k2.remove_epsilon_self_loops)
    unary("closure", "exact", whole_fsa, with_map("closure"), vectors=0)
    unary("reverse", "equivalent_reversed", whole_fsa, k2.reverse, vectors=1)
    unary("invert", "exact", transducer, k2.invert, vectors=0)

    fsas = [whole_fsa(dice) for _ in range(dice.randint(1, 4))]
    made, arc_map = _k2.union(vector(fsas).arcs, need_arc_map=True)
    expect = of_k2(k2.Fsa(made))
    expect |= {"arc_map": numbers(arc_map), "language": language(expect)}
    answers.add("union", "exact", {"fsas": fsas, "is_vec": True}, expect)

    fsa = any_fsa(dice)
    made = to_k2(fsa)
    expect = {"properties": made.properties, "properties_str": made.properties_str, "to_str_simple": k2.to_str_simple(made)}
    answers.add("properties", "exact", {"fsas": [fsa], "is_vec": False}, expect)

    for weight_pushing in ["kNoWeightPushing", "kTropicalWeightPushing", "kLogWeightPushing"]:
        before = k2.top_sort(k2.connect(to_k2(random_fsa(dice, labels=3, epsilons=0, dead_ends=0))))
        if before.shape[0] > 0:
            made, _ = _k2.determinize(before.arcs, getattr(_k2.DeterminizeWeightPushingType, weight_pushing))
            expect = of_k2(k2.Fsa(made))
            expect |= {"language": language(expect), "deterministic": True}
            answers.add("determinize", "equivalent_tropical", {**of_k2(before), "weight_pushing": weight_pushing}, expect)

    # Of states that nothing enters, k2 makes NaN.
    before = k2.connect(to_k2(random_fsa(dice, epsilons=dice.choice([0.1, 0.4, 0.8]), dead_ends=dice.choice([0, 0.3]))))
    made = k2.remove_epsilon(before)
    expect = of_k2(made)
    expect |= {"language": language(expect), "properties": made.properties}
    answers.add("remove_epsilon", "equivalent_tropical", of_k2(before), expect)
    made = k2.remove_epsilon_and_add_self_loops(before)
    answers.add("remove_epsilon_and_add_self_loops", "equivalent_tropical", of_k2(before), of_k2(made))

    src = [random_fsa(dice, states=dice.randint(2, 4), labels=3, dead_ends=0) for _ in range(dice.randint(1, 3))]
    index, first = random_fsa(dice, labels=6, dead_ends=0), dice.randint(3, 5)
    made, map_index, map_src = k2.replace_fsa(vector(src), to_k2(index), first, ret_arc_map=True)
    expect = of_k2(made)
    expect |= {"arc_map_index": numbers(map_index), "arc_map_src": numbers(map_src), "language": language(expect)}
    args = {"src": {"fsas": src, "is_vec": True}, "index": {"fsas": [index], "is_vec": False}, "symbol_begin_range": first}
    answers.add("replace_fsa", "exact", args, expect)

    fsa = random_fsa(dice, dice.random() < 0.5, dead_ends=0)
    lists = [[-1] if arc[2] == -1 else [dice.randint(1, 9) for _ in range(dice.choice([0, 1, 1, 2, 3]))] for arc in fsa["arcs"]]
    before = to_k2(fsa)
    before.aux_labels = k2.RaggedTensor(lists)
    expect = of_k2(k2.invert(before))
    expect["language"] = language(expect)
    args = {"fsas": [{**fsa, "aux_labels_ragged": lists}], "is_vec": False}
    answers.add("invert_ragged", "equivalent", args, expect)


def vector_answers(dice, answers):
    fsas = [any_fsa(dice) for _ in range(dice.randint(1, 5))]
    args, before = {"fsas": fsas, "is_vec": True}, vector(fsas)
    other = [any_fsa(dice) for _ in range(dice.randint(1, 3))]
    both = {"a": args, "b": {"fsas": other, "is_vec": True}}
    answers.add("cat_fsa_vec", "exact", both, of_k2(k2.cat([before, vector(other)])))
    indexes = [dice.randrange(len(fsas)) for _ in range(dice.randint(1, 6))]
    made = k2.index_fsa(before, torch.tensor(indexes, dtype=torch.int32))
    answers.add("index_fsa", "exact", {**args, "indexes": indexes}, of_k2(made))
    acyclic = [acyclic_fsa(dice) for _ in range(dice.randint(1, 4))]
    totals = {}
    for name, log in [("log", True), ("tropical", False)]:
        totals[name] = numbers(vector(acyclic).get_tot_scores(log_semiring=log, use_double_scores=True))
    answers.add("tot_scores_no_path", "tolerance", {"fsas": acyclic, "is_vec": True}, totals)


def score_answers(dice, answers):
    fsas = [random_fsa(dice, dead_ends=dice.choice([0, 0, 0.4])) for _ in range(dice.randint(1, 4))]
    args, before = {"fsas": fsas, "is_vec": True}, vector(fsas)
    out_grad = [dice.randint(-2000, 2000) / 1000 for _ in fsas]
    expect = {}
    for name, log in [("log", True), ("tropical", False)]:
        graph = k2.Fsa(before.arcs)
        graph.scores = before.scores.clone()
        graph.requires_grad_(True)
        semiring = {"log_semiring": log, "use_double_scores": True}
        total = graph.get_tot_scores(**semiring)
        if not torch.isfinite(total).all():
            return
        expect[name] = {
            "forward": numbers(graph.get_forward_scores(**semiring)),
            "backward": numbers(graph.get_backward_scores(**semiring)),
            "tot": numbers(total),
            "arc_post": numbers(graph.get_arc_post(**semiring)),
        }
        (total * torch.tensor(out_grad, dtype=torch.float64)).sum().backward()
        expect[name] |= {"tot_out_grad": out_grad, "scores_grad": numbers(graph.scores.grad)}
    answers.add("scores", "tolerance", args, expect)
    best = of_k2(k2.shortest_path(k2.Fsa(before.arcs), use_double_scores=True))
    answers.add("shortest_path", "exact_up_to_ties", args, {**best, "tot": expect["tropical"]["tot"]})

    threshold = dice.choice([0.1, 0.3, 0.4, 0.6])
    pruned = k2.prune_on_arc_post(before, threshold, use_double_scores=True)
    answers.add("prune_on_arc_post", "exact", {**args, "threshold": threshold}, of_k2(pruned))
    scores = torch.tensor([dice.gauss(0, 1) for _ in range(before.num_arcs)], dtype=torch.float32)
    stochastic = k2.Fsa(before.arcs)
    stochastic.set_scores_stochastic_(scores)
    answers.add("set_scores_stochastic", "tolerance", {**args, "scores": numbers(scores)}, {"scores": numbers(stochastic.scores)})


def builder_answers(dice, answers):
    modified, max_token = dice.random() < 0.5, dice.randint(1, 5)
    symbols = [[dice.randint(1, 3) for _ in range(dice.randint(0, 5))] for _ in range(dice.randint(1, 4))]
    ins_del_score = dice.choice([-0.501, -0.6, -1.0])
    topology = k2.ctc_topo(max_token, modified)
    expect = {**of_k2(topology), "properties": topology.properties}
    answers.add("ctc_topo", "exact", {"max_token": max_token, "modified": modified}, expect)
    answers.add("ctc_graph", "exact", {"symbols": symbols, "modified": modified}, of_k2(k2.ctc_graph(symbols, modified)))
    made = of_k2(k2.levenshtein_graph(symbols, ins_del_score=ins_del_score))
    answers.add("levenshtein_graph", "exact", {"symbols": symbols, "ins_del_score": ins_del_score}, made)
    answers.add("linear_fsa", "exact", {"labels": symbols[0]}, of_k2(k2.linear_fsa(symbols[0])))
    if symbols[0]:
        aux_labels = [dice.randint(0, 9) for _ in symbols[0]]
        made = of_k2(k2.linear_fst(symbols[0], aux_labels))
        answers.add("linear_fst", "exact", {"labels": symbols[0], "aux_labels": aux_labels}, made)
    answers.add("linear_fsa_vec", "exact", {"labels": symbols}, of_k2(k2.linear_fsa(symbols)))
    linear = k2.linear_fsa(symbols[0])
    made = of_k2(k2.linear_fsa_with_self_loops(linear))
    answers.add("linear_fsa_with_self_loops", "exact", of_k2(linear), made)
    answers.add("trivial_graph", "exact", {"max_token": max_token}, of_k2(k2.trivial_graph(max_token)))


def intersect_answers(dice, answers):
    make = lambda **more: random_fsa(dice, labels=3, epsilons=dice.choice([0, 0, 0.2]), **more)

    def add_pair(op, a, b, made, special, match, more):
        expect = of_k2(made)
        expect["language"] = language(expect, op == "compose")
        if expect["language"] is not None:
            none = {"log": ["-inf"], "tropical": ["-inf"]}
            expect |= {"tot": totals(made) if expect["language"] else none, **more}
            answers.add(op, match, {"a": of_k2(a), "b": of_k2(b), "treat_epsilons_specially": special}, expect)

    has_epsilons = lambda fsa: 0 in fsa.labels.tolist()
    special = dice.random() < 0.5
    a, b = k2.arc_sort(to_k2(make(acyclic=dice.random() < 0.8))), k2.arc_sort(to_k2(make()))
    made, map_a, map_b = k2.intersect(a, b, treat_epsilons_specially=special, ret_arc_maps=True)
    # k2 has each path with epsilons of both as often as there are orders of them.
    match = "equivalent_tropical" if special and has_epsilons(a) and has_epsilons(b) else "equivalent"
    add_pair("intersect", a, b, made, special, match, {"arc_map_a": numbers(map_a), "arc_map_b": numbers(map_b), "note": ""})

    a, b = to_k2(make(aux_labels=True)), k2.arc_sort(to_k2(make(aux_labels=dice.random() < 0.5)))
    made = k2.compose(a, b, treat_epsilons_specially=special)
    add_pair("compose", a, b, made, special, "equivalent_tropical" if special else "equivalent", {})

    count = dice.randint(1, 4)
    one_for_all, sorted_match_a = dice.random() < 0.5, dice.random() < 0.5
    b_to_a_map = [0] * count if one_for_all else list(range(count))
    a = k2.arc_sort(vector([make() for _ in range(1 if one_for_all else count)]))
    b = k2.arc_sort(vector([make(acyclic=dice.random() < 0.8) for _ in range(count)]))
    tensor = torch.tensor(b_to_a_map, dtype=torch.int32)
    made, map_a, map_b = _k2.intersect_device(a.arcs, a.properties, b.arcs, b.properties, tensor, True, sorted_match_a)
    made = k2.Fsa(made)
    expect = of_k2(made) | {"arc_map_a": numbers(map_a), "arc_map_b": numbers(map_b)}
    if any(fsa["arcs"] for fsa in expect["fsas"]):
        if any(language({"fsas": [fsa]}) is None for fsa in expect["fsas"]):
            return
        expect["tot"] = totals(made)
    else:
        expect["empty"] = True
    args = {"a": of_k2(a), "b": of_k2(b), "b_to_a_map": b_to_a_map, "sorted_match_a": sorted_match_a}
    answers.add("intersect_device", "equivalent", args, expect)


# Paths of lattices.


def lattice_answers(dice, answers):
    fsas = [random_fsa(dice, states=dice.randint(2, 9), dead_ends=0, aux_labels=True) for _ in range(dice.randint(1, 4))]
    args, lattice = {"fsas": fsas, "is_vec": True}, vector(fsas)

    most = dice.choice([1, 3, 10, 30])
    best = []
    for fsa in fsas:
        paths = [([], 0)]
        leaving = [[i for i, arc in enumerate(fsa["arcs"]) if arc[0] == state] for state in range(fsa["num_states"])]
        whole = []
        while paths:
            arcs, state = paths.pop()
            if state == fsa["num_states"] - 1:
                whole.append({"score": sum(fsa["arcs"][i][3] for i in arcs), "arcs": arcs})
            paths.extend(([*arcs, i], fsa["arcs"][i][1]) for i in leaving[state])
        best.append(sorted(whole, key=lambda path: -path["score"]))
    expect = {"paths": [paths[:most] for paths in best], "num_paths": [len(paths) for paths in best]}
    answers.add("nbest_paths", "tolerance", {**args, "n": most}, expect)

    # With other numbers, points may fall on the border between paths that are as probable, where rounding decides.
    num_paths = dice.choice([4, 8, 20])
    paths = k2.random_paths(k2.Fsa(lattice.arcs), use_double_scores=True, num_paths=num_paths)
    expect = {"row_splits": of_ragged(paths)["row_splits"], "arcs": numbers(paths.values)}
    answers.add("random_paths", "exact_k2_algorithm", {**args, "num_paths": num_paths}, expect)

    args |= {"num_paths": num_paths, "nbest_scale": dice.choice([1.0, 0.5, 0.1])}
    nbest = k2.Nbest.from_lattice(lattice, num_paths, use_double_scores=True, nbest_scale=args["nbest_scale"])

    def of_nbest(nbest):
        words = k2.RaggedTensor(nbest.fsa.arcs.shape().remove_axis(1), nbest.fsa.aux_labels).remove_values_leq(0).tolist()
        totals = nbest.fsa.get_tot_scores(use_double_scores=True, log_semiring=False)
        return {"row_splits": nbest.shape.row_splits(1).tolist(), "total_scores": numbers(totals), "words": words}

    answers.add("nbest_from_lattice", "set_per_utterance", args, of_nbest(nbest))
    # k2 has no more columns than the longest list.
    k = dice.randint(1, max(1, int(nbest.shape.max_size(1))))
    answers.add("nbest_top_k", "scores", {**args, "k": k}, of_nbest(nbest.top_k(k)))


def alignment_answers(dice, answers):
    sequence = lambda: [dice.randint(1, 4) for _ in range(dice.randint(1, 7))]
    ref, hyps = sequence(), [sequence() for _ in range(dice.randint(1, 4))]
    refs, of_hyps = k2.levenshtein_graph([ref]), k2.levenshtein_graph(hyps)
    aligned = k2.levenshtein_alignment(refs, of_hyps, torch.zeros(len(hyps), dtype=torch.int32))
    totals = aligned.get_tot_scores(use_double_scores=True, log_semiring=False)
    answers.add("levenshtein_alignment", "distance", {"hyps": hyps, "ref": ref}, {"distance": numbers(-totals)})

    eos, symbols = 9, dice.randint(2, 8)
    tokens = [[*(dice.randint(1, symbols) for _ in range(dice.randint(0, 9))), eos] for _ in range(dice.randint(1, 7))]
    sizes = [len(sentence) for sentence in tokens]
    keys = dice.randint(0, len(tokens))
    scores = torch.tensor([dice.gauss(0, 1) for _ in range(sum(sizes))], dtype=torch.float32)
    counts = [1] * sum(sizes[:keys]) + [0] * sum(sizes[keys:])
    options = {"eos": eos, "min_token": 1, "max_token": eos, "max_order": dice.randint(2, 6)}
    of_counts = torch.tensor(counts, dtype=torch.int32)
    mean, var, sums, orders = k2.get_best_matching_stats(k2.RaggedTensor(tokens), scores, of_counts, **options)
    expect = {"mean": numbers(mean), "var": numbers(var), "counts_out": sums.tolist(), "ngram_order": orders.tolist()}
    args = {"tokens": tokens, "scores": numbers(scores), "counts": counts, **options}
    answers.add("get_best_matching_stats", "tolerance_on_queries", args, expect)


# Ragged tensors.


def random_value(dice, dtype, special=False):
    if dtype == "i32":
        return dice.randint(-(2**31), 2**31 - 1) if special and dice.random() < 0.3 else dice.randint(-9, 9)
    usual = dice.choice([dice.gauss(0, 3), dice.gauss(0, 3), float(dice.randint(-3, 3))])
    odd = [INFINITY, -INFINITY, 0.0, -0.0, 1e9, -1e9]
    return torch.tensor(dice.choice([*[usual] * 3, *odd]) if special else usual, dtype=DTYPES[dtype]).item()


def random_ragged(dice, dtype, axes=None, special=False):
    """A ragged tensor of k2, and what the schema has of it."""
    shape, rows = None, dice.choice([0, 1, 1, 2, 3, 5])
    for _ in range((axes or dice.choice([2, 2, 3, 4])) - 1):
        splits = [0]
        for _ in range(rows):
            splits.append(splits[-1] + dice.choice([0, 0, 1, 1, 2, 3, 7]))
        rows = splits[-1]
        layer = k2.ragged.create_ragged_shape2(row_splits=torch.tensor(splits, dtype=torch.int32))
        shape = layer if shape is None else shape.compose(layer)
    values = torch.tensor([random_value(dice, dtype, special) for _ in range(rows)], dtype=DTYPES[dtype])
    made = k2.RaggedTensor(shape, values)
    return made, of_ragged(made)


def of_ragged(ragged):
    splits = [ragged.shape.row_splits(axis).tolist() for axis in range(1, ragged.num_axes)]
    return {"dtype": NAMES[ragged.dtype], "row_splits": splits, "values": numbers(ragged.values)}


def ragged_answers(dice, answers, dtype):
    special = dice.random() < 0.4
    add = lambda op, args, expect: answers.add(op, None, args, expect)
    fresh = lambda **more: random_ragged(dice, dtype, **more)

    x, args = fresh(special=special)
    for op in ["sum", "max", "min", "argmax"]:
        initial = [] if dice.random() < 0.5 else [dice.randint(-5, 5)]
        # Infinities of both signs add to NaN in any order, large numbers do not add to the same in each.
        if op != "sum" or dtype == "i32" or not special:
            add(op, {"ragged": args, **dict(zip(["initial_value"], initial))}, {"out": numbers(getattr(x, op)(*initial))})
    x, args = fresh()
    per_list = torch.tensor([random_value(dice, dtype) for _ in range(x.tot_size(x.num_axes - 2))], dtype=DTYPES[dtype])
    alpha = dice.randint(-3, 3) if dtype == "i32" else dice.choice([1, -0.5, 2.5])
    add("add", {"ragged": args, "value": numbers(per_list), "alpha": alpha}, {"out": numbers(x.add(per_list, alpha).values)})
    x, args = fresh(special=special)
    descending = dice.random() < 0.5
    new2old = x.sort_(descending=descending, need_new2old_indexes=True)
    expect = {"values": numbers(x.values), "new2old": numbers(new2old)}
    expect["note"] = "values exact; new2old is exact only where values in a sublist differ"
    add("sort", {"ragged": args, "descending": descending}, expect)
    x, args = fresh(axes=2, special=special)
    padding = {"mode": dice.choice(["constant", "replicate"]), "padding_value": dice.randint(-9, 9), "pad_left": False}
    add("pad", {"ragged": args, **padding}, {"out": numbers(x.pad(padding["mode"], padding["padding_value"]))})
    x, args = fresh(special=special)
    cutoff = random_value(dice, dtype, special)
    add("remove_values_leq", {"ragged": args, "cutoff": number(cutoff, dtype)}, of_ragged(x.remove_values_leq(cutoff)))
    target = dice.choice(x.values.tolist() or [0])
    add("remove_values_eq", {"ragged": args, "target": number(target, dtype)}, of_ragged(x.remove_values_eq(target)))
    if dtype != "i32":
        x, args = fresh(special=special)
        if INFINITY not in x.values.tolist():
            add("logsumexp", {"ragged": args}, {"out": numbers(x.logsumexp())})
        x, args = fresh()
        add("normalize_log", {"ragged": args}, {"out": numbers(x.normalize(True).values)})
        add("normalize_linear", {"ragged": args}, {"out": numbers(x.normalize(False).values)})

    x, args = fresh()
    axis = dice.randint(0, x.num_axes - 2)
    begin = dice.randint(0, x.tot_size(axis))
    end = dice.randint(begin, x.tot_size(axis))
    if begin < end:
        add("arange", {"ragged": args, "axis": axis, "begin": begin, "end": end}, of_ragged(x.arange(axis, begin, end)))
    if x.dim0 > 0:
        indexes = [dice.randrange(x.dim0) for _ in range(dice.randint(0, 5))]
        made, value_indexes = x.index(torch.tensor(indexes, dtype=torch.int32), axis=0, need_value_indexes=True)
        expect = of_ragged(made) | {"value_indexes": numbers(value_indexes)}
        add("index", {"ragged": args, "axis": 0, "indexes": indexes}, expect)
    parts = [fresh(axes=3) for _ in range(dice.randint(1, 3))]
    made = of_ragged(k2.ragged.cat([part for part, _ in parts], axis=0))
    add("cat", {"ragged": [args for _, args in parts], "axis": 0}, made)
    x, args = fresh(axes=dice.choice([3, 4]))
    axis = dice.randint(0, x.num_axes - 2)
    add("remove_axis", {"ragged": args, "axis": axis}, of_ragged(x.remove_axis(axis)))
    source = torch.tensor([random_value(dice, "f32", True) for _ in range(dice.randint(1, 8))])
    index, default = [dice.randint(-1, len(source) - 1) for _ in range(dice.randint(0, 9))], dice.randint(-3, 3)
    made = numbers(k2.index_select(source, torch.tensor(index, dtype=torch.int32), default))
    add("index_select", {"src": numbers(source), "index": index, "default": default}, {"out": made})


def more_ragged_answers(dice, answers, dtype):
    add = lambda op, args, expect: answers.add(op, None, args, expect)
    fresh = lambda **more: random_ragged(dice, dtype, **more)

    def random_indexes(length, least=0):
        """Indexes of so many things, as a ragged tensor."""
        shape = random_ragged(dice, "i32", axes=dice.choice([2, 2, 3]))[0].shape
        values = [dice.randint(least, length - 1) for _ in range(shape.numel())]
        made = k2.RaggedTensor(shape, torch.tensor(values, dtype=torch.int32))
        return made, of_ragged(made)

    x, args = fresh()
    if x.dim0 > 0:
        indexes, of_indexes = random_indexes(x.dim0)
        add("index_ragged", {"ragged": args, "indexes": of_indexes}, of_ragged(x.index(indexes)))
    if x.dim0 > 0 and x.num_axes > 2:
        i = dice.randrange(x.dim0)
        add("index0", {"ragged": args, "i": i}, of_ragged(x[i]))
    source = torch.tensor([random_value(dice, dtype) for _ in range(dice.randint(1, 8))], dtype=DTYPES[dtype])
    of_source = {"src": numbers(source), "dtype": dtype}
    default = dice.randint(-9, 9)
    indexes, of_indexes = random_indexes(len(source), least=-1)
    made = of_ragged(k2.ragged.index(source, indexes, default))
    add("index_tensor_ragged", {**of_source, "indexes": of_indexes, "default": default}, made)
    if dtype == "i32":
        shape = random_ragged(dice, dtype, axes=dice.choice([2, 3]))[0].shape
        few = [dice.randint(1, 2) for _ in range(shape.numel())]
        x = k2.RaggedTensor(shape, torch.tensor(few, dtype=torch.int32))
        made, num_repeats, new2old = x.unique(need_num_repeats=True, need_new2old_indexes=True)
        expect = {**of_ragged(made), "num_repeats": of_ragged(num_repeats), "new2old": numbers(new2old)}
        expect["note"] = "the order of the lists that are kept is that of a hash"
        add("unique", {"ragged": of_ragged(x)}, expect)
        return
    if dtype == "f32" and indexes.num_axes == 2:
        add("index_and_sum", {**of_source, "indexes": of_indexes}, {"out": numbers(k2.ragged.index_and_sum(source, indexes))})
    x, args = fresh()
    x.requires_grad_(True)
    for op, call, more in [
        ("sum_grad", lambda: x.sum(), {}),
        ("logsumexp_grad", lambda: x.logsumexp(), {}),
        ("normalize_grad", lambda: x.normalize(True).values, {"use_log": True}),
    ]:
        made = call()
        finite = torch.where(torch.isfinite(made), made, torch.zeros_like(made))
        out_grad = torch.tensor([dice.gauss(0, 1) for _ in range(len(made))], dtype=DTYPES[dtype])
        (finite * out_grad).sum().backward()
        add(op, {"ragged": args, **more, "out_grad": numbers(out_grad)}, {"grad": numbers(x.grad)})
        x.values.grad = None


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    folder, seed, cases = Path(sys.argv[1]), int((sys.argv[2:] or [1])[0]), int((sys.argv[3:] or [40])[0])
    makers = {
        "fsa_basic": [basic_fsa_answers, vector_answers, score_answers, builder_answers],
        "intersect": [intersect_answers],
        "nbest": [lattice_answers, alignment_answers],
        "ragged_ops": [partial(make, dtype=dtype) for make in (ragged_answers, more_ragged_answers) for dtype in DTYPES],
    }
    for name, of_file in makers.items():
        dice, answers = random.Random(f"{seed} {name}"), Answers()
        for _ in range(cases):
            for make in of_file:
                try:
                    make(dice, answers)
                except REFUSALS:
                    pass  # What k2 refuses has no answer; it has said so itself.
        answers.write(folder / "k2" / f"{name}.json", seed)


if __name__ == "__main__":
    main()
