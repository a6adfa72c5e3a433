"""Random automata and lists through k2 and through ``kaldera.k2``, where k2 is installed: check-ecosystem.sh.

FSAs have output labels, an integer, a floating-point and a list attribute, a filler and a text. Results are
equal in arcs, scores, attributes and gradients, except where the README names a difference.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("k2")

import kaldera.torch as losses
from kaldera import k2 as ours

#: Scores and attributes went through sums in float32.
TOLERANCE = 2e-3
SEEDS = range(8)


def random_arcs(rng, epsilons=True, connected=True):
    """An acyclic FSA: int32 [arcs, 3]; connected ones have a path through each state."""
    states = int(rng.integers(3, 6))
    rows = []
    for source in range(states - 1):
        ends = [source + 1] if connected else []
        ends += [int(rng.integers(source + 1, states)) for _ in range(rng.integers(1, 4))]
        for end in ends:
            label = -1 if end == states - 1 else int(rng.integers(0 if epsilons else 1, 4))
            rows.append((source, end, label))
    return np.array(rows, np.int32)


def random_spec(rng, names=("aux_labels", "tone", "cost", "rag"), lists=False, **options):
    """Arcs, scores and attributes, from which both toolkits make an FSA."""
    arcs = random_arcs(rng, **options)
    number, ends = len(arcs), arcs[:, 2] == -1
    attributes = {
        "aux_labels": np.where(ends, -1, rng.integers(0, 4, number)).astype(np.int32),
        "tone": rng.integers(0, 5, number).astype(np.int32),
        "cost": rng.normal(size=number).astype(np.float32),
        "rag": [rng.integers(1, 5, rng.integers(0, 3)).tolist() for _ in range(number)],
    }
    if lists:
        attributes["aux_labels"] = [[*row, -1] if end else row for row, end in zip(attributes["rag"], ends)]
    scores = np.round(rng.normal(size=number), 2).astype(np.float32)
    return arcs, scores, {name: attributes[name] for name in names}


def fsa_of(module, spec):
    arcs, scores, attributes = spec
    fsa = module.Fsa(torch.from_numpy(np.concatenate([arcs, scores.view(np.int32)[:, None]], 1)))
    for name, value in attributes.items():
        is_list = isinstance(value, list)
        setattr(fsa, name, module.RaggedTensor(value, dtype=torch.int32) if is_list else torch.from_numpy(value.copy()))
    fsa.tone_filler = 2
    fsa.word = "w"
    return fsa


def plain(value):
    if isinstance(value, (theirs.RaggedTensor, ours.RaggedTensor)):
        return value.tolist()
    return value.detach().tolist() if isinstance(value, torch.Tensor) else np.asarray(value).tolist()


def described(fsa, leaves):
    """All that an FSA has, and the gradients of its scores."""
    found = {"shape": tuple(fsa.shape), "arcs": plain(fsa.arcs.values()[:, :3]), "scores": plain(fsa.scores)}
    found.update((name, plain(value)) for name, value in fsa.named_tensor_attr(include_scores=False) if name != "labels")
    found.update((name, value) for name, value in fsa.named_non_tensor_attr() if name != "labels_version")
    if fsa.requires_grad:
        weights = torch.arange(1, fsa.num_arcs + 1, dtype=torch.float32)
        slopes = torch.autograd.grad((fsa.scores * weights).sum(), leaves, retain_graph=True, allow_unused=True)
        found["slopes"] = [None if slope is None else plain(slope) for slope in slopes]
    return found


def totals(fsa, leaves):
    """What does not depend on the order of states: how many arcs there are, scores of all paths, gradients."""
    module = ours if isinstance(fsa, ours.Fsa) else theirs
    fsa = module.top_sort(module.connect(fsa))
    fsa = fsa if len(fsa.shape) == 3 else module.create_fsa_vec([fsa])
    sums = [fsa.get_tot_scores(True, log_semiring) for log_semiring in (False, True)]
    slopes = torch.autograd.grad(sums[1][sums[1].isfinite()].sum(), leaves, allow_unused=True)
    return {
        "arcs": fsa.num_arcs,
        "totals": [plain(each) for each in sums],
        "slopes": [None if slope is None else plain(slope) for slope in slopes],
        "names": sorted(name for name, _ in fsa.named_tensor_attr(include_scores=False) if name != "labels"),
    }


def assert_equal(found, known, what):
    if isinstance(known, dict):
        assert set(found) == set(known), what
        for name in known:
            assert_equal(found[name], known[name], f"{what} {name}")
    elif isinstance(known, (list, tuple)):
        assert len(found) == len(known), (what, found, known)
        for a, b in zip(found, known):
            assert_equal(a, b, what)
    elif isinstance(known, float):
        assert found == known or abs(found - known) <= TOLERANCE or found != found and known != known, (what, found, known)
    else:
        assert found == known, (what, found, known)


def compare(function, *specs, by=described, gradients=True):
    """Both toolkits do the same with FSAs of these specs; a list of specs is a vector."""
    results = []
    for module in (ours, theirs):
        fsas, leaves = [], []
        for spec in specs:
            made = [fsa_of(module, each) for each in spec] if isinstance(spec, list) else fsa_of(module, spec)
            made = module.create_fsa_vec(made) if isinstance(made, list) else made
            if gradients:
                made.scores = made.scores.clone().detach().requires_grad_(True)
                leaves.append(made.scores)
            fsas.append(made)
        results.append(by(function(module, *fsas), leaves))
    assert_equal(*results, [specs])


UNARY = {
    "arc_sort": lambda m, f: m.arc_sort(f),
    "connect": lambda m, f: m.connect(f),
    "top_sort": lambda m, f: m.top_sort(f),
    "add_epsilon_self_loops": lambda m, f: m.add_epsilon_self_loops(f),
    "remove_epsilon_self_loops": lambda m, f: m.remove_epsilon_self_loops(m.add_epsilon_self_loops(f)),
    "remove_epsilon": lambda m, f: m.remove_epsilon(f),
    "remove_epsilon_and_add_self_loops": lambda m, f: m.remove_epsilon_and_add_self_loops(f),
    "invert": lambda m, f: m.invert(f),
    "expand_ragged_attributes": lambda m, f: m.expand_ragged_attributes(f),
    "clone": lambda m, f: f.clone(),
    "detach": lambda m, f: f.detach(),
    "as_dict": lambda m, f: m.Fsa.from_dict(f.as_dict()),
}
VECTORS = {
    "shortest_path": lambda m, f: m.shortest_path(f, use_double_scores=True),
    "union": lambda m, f: m.union(f),
    "index_fsa": lambda m, f: m.index_fsa(f, torch.tensor([1, 0, 1], dtype=torch.int32)),
    "one of a vector": lambda m, f: f[1],
    "prune_on_arc_post": lambda m, f: m.prune_on_arc_post(f, 0.3, True),
    "linear_fsa_with_self_loops": lambda m, f: m.linear_fsa_with_self_loops(m.shortest_path(f, True)),
}


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("name", [*UNARY, *VECTORS])
def test_results_of_one_fsa_or_a_vector(name, lists):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        specs = [random_spec(rng, lists=lists) for _ in range(2)]
        if name in UNARY:
            compare(UNARY[name], specs[0])
        compare({**UNARY, **VECTORS}[name], specs)


def test_determinized_fsas():
    for seed in SEEDS:
        spec = random_spec(np.random.default_rng(seed), epsilons=False)
        for pushing in ["kNoWeightPushing", "kLogWeightPushing", "kTropicalWeightPushing"]:
            # States, and the arcs of each, have another order.
            kind = lambda m: getattr(m.DeterminizeWeightPushingType, pushing)  # noqa: B023
            compare(lambda m, f: m.determinize(m.arc_sort(f), kind(m)), spec, by=in_any_order, gradients=False)


def in_any_order(fsa, leaves):
    """The labels and attributes of all arcs, and the scores of all paths."""
    found = described(fsa, leaves)
    columns = [[label for *_, label in found["arcs"]], *(found[name] for name in ("aux_labels", "tone", "rag"))]
    module = ours if isinstance(fsa, ours.Fsa) else theirs
    vec = module.create_fsa_vec([module.top_sort(fsa)])
    sums = [plain(vec.get_tot_scores(True, log_semiring)) for log_semiring in (False, True)]
    return {"shape": found["shape"], "arcs": sorted(map(list, zip(*columns))), "cost": float(np.sum(found["cost"])), "sums": sums}


def test_linear_transducers_get_self_loops():
    for seed in SEEDS:
        specs = [random_spec(np.random.default_rng(seed + i), ["aux_labels"]) for i in (0, 100)]
        # k2 leaves out what belongs to the whole.
        function = lambda m, f: m.linear_fst_with_self_loops(m.shortest_path(f, True))
        compare(function, specs, by=lambda fsa, leaves: {k: v for k, v in described(fsa, leaves).items() if k not in ("word", "tone_filler")})


@pytest.mark.parametrize("special", [True, False])
def test_fsas_meet(special):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        a, b = random_spec(rng), random_spec(rng, ["cost"], epsilons=False)
        compare(lambda m, f, g: m.intersect(m.arc_sort(f), m.arc_sort(g), treat_epsilons_specially=special), a, b, by=totals)
        compare(lambda m, f, g: m.compose(f, m.arc_sort(g), treat_epsilons_specially=special), a, b, by=totals)
        specs = [random_spec(rng) for _ in range(2)], [random_spec(rng, ["cost"]) for _ in range(2)]
        map_ = torch.tensor([1, 0], dtype=torch.int32)
        compare(lambda m, f, g: m.intersect_device(f, g, map_), *specs, by=totals)


def test_fsas_replace_arcs():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        specs = random_spec(rng), [random_spec(rng, ["cost"]) for _ in range(2)]
        compare(lambda m, f, g: m.replace_fsa(g, f, 2), *specs)
        compare(lambda m, f, g: m.cat([g, g]), *specs)


def paths_of(module, lattice):
    """The words and scores of the paths of each utterance."""
    nbest = module.Nbest.from_lattice(lattice, 20, nbest_scale=0.7)
    splits, scores = plain(nbest.shape.row_splits(1)), plain(nbest.fsa.get_tot_scores(True, False))
    words = module.get_aux_labels(nbest.fsa)
    paths = [(row, round(score, 2)) for row, score in zip(words, scores)]
    return [sorted(paths[begin:end]) for begin, end in zip(splits, splits[1:])]


def test_lattices_and_what_is_made_of_them():
    for seed in SEEDS:
        log_probs = torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(seed)).log_softmax(-1)
        found = []
        for module in (ours, theirs):
            lattice = module.get_lattice(log_probs, torch.tensor([7, 5]), module.ctc_topo(3))
            best = module.one_best_decoding(lattice)
            dense = module.DenseFsaVec(log_probs, torch.tensor([[0, 0, 7], [1, 1, 4]], dtype=torch.int32))
            graph = module.ctc_graph([[1, 2], [3, 3]])
            ctc, mwer = (losses.CtcLoss, losses.MWERLoss) if module is ours else (theirs.CtcLoss, theirs.MWERLoss)
            made = module.convert_dense_to_fsa_vec(dense)
            reductions = [
                plain(ctc(10.0, how)(graph, dense, penalty, torch.tensor([2, 2])))
                for how in ("none", "mean", "sum")
                for penalty in (0.0, 0.5)
            ]
            found.append(
                [
                    plain(lattice.get_tot_scores(True, True)),
                    module.get_aux_labels(best),
                    plain(best.get_tot_scores(True, False)),
                    paths_of(module, lattice),
                    reductions,
                    [plain(mwer(2.0, reduction=how)(lattice, [[1], [2, 3]], 0.5, 30)) for how in ("sum", "mean")],
                    [plain(made.arcs.values()[:, :3]), plain(made.scores)],
                    [module.to_str_simple(graph[0]), module.to_str_simple(graph[1], openfst=True), plain(module.to_tensor(graph))],
                    [module.properties_to_str(each.properties) for each in (graph, lattice, made)],
                ]
            )
        assert_equal(*found, seed)


def test_lists():
    rng = np.random.default_rng(0)
    for dtype in [torch.int32, torch.float32, torch.float64]:
        for _ in range(20):
            rows = [rng.integers(-5, 6, n).tolist() for n in rng.integers(0, 5, 6)]
            deep = [rows[:2], [], rows[2:5], rows[5:]]
            alpha, initial = int(rng.integers(-3, 4)), int(rng.integers(-7, 8))
            found = [list(of_lists(module, rows, deep, dtype, alpha, initial)) for module in (ours, theirs)]
            assert_equal(*found, rows)


def of_lists(module, rows, deep, dtype, alpha, initial):
    """What is made of lists, each computed when the one before was taken: k2's slices share memory."""
    for lists in (rows, deep):
        tensor = module.RaggedTensor(lists, dtype=dtype)
        yield from [str(tensor), repr(tensor), tensor.to_str_simple(), tensor == tensor.clone()]
        made = [tensor.add(torch.arange(6).to(dtype), alpha)]
        made += [tensor[1:3], tensor[:-2], tensor[-3:], tensor[2:2], tensor[-100:100]]
        made += [tensor[torch.tensor([3, 0, 3], dtype=torch.int32)]]
        for reduce in (tensor.sum, tensor.max, tensor.min, tensor.argmax):
            made += [reduce(), reduce(initial_value=initial)]
        if dtype != torch.int32:
            made += [tensor.logsumexp(), tensor.logsumexp(initial_value=initial)]
        made += [module.RaggedTensor.cat([tensor, tensor], axis=axis) for axis in (0, 1)]
        made += [module.RaggedTensor(tensor.shape, value=torch.as_tensor(tensor.values))]
        made += [module.RaggedTensor(torch.arange(12).reshape(2, 3, 2).to(dtype))]
        yield from map(plain, made)
        for descending in (True, False):
            yield plain(tensor.sort_(descending, need_new2old_indexes=True))
            yield plain(tensor)


def test_arc_maps_and_symbols(tmp_path):
    first, second = (torch.tensor(each, dtype=torch.int32) for each in ([5, 6, 7], [2, -1, 0]))
    text = "<eps> 0\na 1\n\nc\t3\n"
    found = []
    for module in (ours, theirs):
        lists = module.RaggedTensor([[0, 1], [2], [], [3]])
        selected = module.simple_ragged_index_select(torch.tensor([0, 5, 0, 7], dtype=torch.int32), lists)
        table = module.SymbolTable.from_str(text)
        numbers = [table.add(symbol) for symbol in ("d", "a", "e")]
        table.to_file(str(tmp_path / "words"))
        again = module.SymbolTable.from_file(str(tmp_path / "words"))
        results = [numbers, table.ids, table.symbols, table["c"], table.get(1), 2 in table, "d" in table, len(table)]
        results += [table.to_str(), again == table, table.merge(module.SymbolTable.from_str("z 9")).to_str()]
        found.append([plain(module.compose_arc_maps(first, second)), plain(selected), results])
    assert_equal(*found, text)
