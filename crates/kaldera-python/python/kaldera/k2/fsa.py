"""Finite-state acceptors with attributes of their arcs."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, Iterator, Sequence

from .. import _kaldera
from .._kaldera import RaggedArc, RaggedTensor
from . import fsa_properties
from ._arrays import index, index_and_sum, index_select, int32_of, is_float, is_tensor, like, numpy_of

#: Names that are the class's own, and no attributes of arcs.
_OWN = ("_arcs", "_scores", "_version", "_tensor_attr", "_non_tensor_attr")


def _svg(dot: str) -> str:
    """The SVG that the program ``dot`` of Graphviz makes of a text."""
    try:
        drawn = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, encoding="utf-8", timeout=60)
    except FileNotFoundError:
        raise RuntimeError("cannot run 'dot' of Graphviz: it is not installed; install Graphviz, or draw a .dot file") from None
    if drawn.returncode != 0:
        raise RuntimeError(f"'dot' of Graphviz failed: {drawn.stderr.strip()}")
    return drawn.stdout


class Fsa:
    """A finite-state acceptor or transducer, or a vector of them, as k2 has them.

    State 0 is the start, the last state the final one; arcs into it have label -1. Scores are
    natural logarithms, larger is better.

    An array, a tensor or a ``RaggedTensor`` that is assigned to any name is an attribute of the arcs,
    and has a row for each; anything else belongs to the whole. Results are new FSAs, or the FSA itself
    where nothing changes, with the attributes of the arcs that their arcs come from. Where an arc comes from several,
    floating-point attributes are summed and integers become lists; where it comes from none, an
    attribute ``foo`` has the value ``foo_filler``, 0 unless it is set. Where two FSAs meet and both
    have an attribute, floating-point ones are summed; others of one name are a ``ValueError``.

    Arrays are NumPy's, or PyTorch's tensors as soon as the scores are a tensor; then scores and what
    is computed from them have gradients.

    >>> fsa = Fsa.from_str("0 1 1 0.5\\n0 1 2 0.5\\n1 2 -1 0\\n2")
    >>> fsa.scores = fsa.scores * 2
    >>> fsa.get_tot_scores(use_double_scores=True, log_semiring=False).tolist()
    [1.0]
    """

    def __init__(self, arcs: Any, aux_labels: Any = None):
        """From k2's int32 ``[arcs, 4]``: source, destination, label, and the bits of the float32 score;
        or from the flat tensor of a vector. State numbers of sources must not fall."""
        given = arcs
        if not isinstance(arcs, RaggedArc):
            arcs = RaggedArc.from_tensor(int32_of(arcs, "arcs"))
        own = {"_arcs": arcs, "_scores": None, "_version": 0, "_tensor_attr": {}, "_non_tensor_attr": {}}
        self.__dict__.update(own)
        if is_tensor(given):
            self.scores = like(arcs.scores(), given)
        if aux_labels is not None:
            self.aux_labels = aux_labels

    # Scores, labels and attributes.

    def __setattr__(self, name: str, value: Any) -> None:
        import numpy as np

        if name in _OWN:
            self.__dict__[name] = value
        elif name == "scores":
            self._set_scores(value)
        elif name == "labels":
            self._arcs = self.arcs.with_labels(int32_of(value, "labels"))
        elif hasattr(type(self), name):
            raise AttributeError(f"'{name}' is part of every Fsa, and can't be assigned")
        elif name == "aux_labels" and not isinstance(value, RaggedTensor):
            # Text, drawings and other algorithms need int32, where NumPy's integers are int64.
            self._set_attribute(name, like(int32_of(value, name), value))
        elif isinstance(value, (np.ndarray, RaggedTensor)) or is_tensor(value):
            self._set_attribute(name, value)
        else:
            self._tensor_attr.pop(name, None)
            self._non_tensor_attr[name] = value

    def _set_attribute(self, name: str, value: Any) -> None:
        """Takes an attribute of arcs."""
        rows = value.dim0 if isinstance(value, RaggedTensor) else (value.shape[0] if value.ndim else 0)
        if rows != self.num_arcs:
            raise ValueError(f"{name} has {rows} rows, and there are {self.num_arcs} arcs")
        self._non_tensor_attr.pop(name, None)
        foreign = not isinstance(value, RaggedTensor) and not getattr(value.dtype, "isnative", True)
        self._tensor_attr[name] = numpy_of(value) if foreign else value

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__.get("_tensor_attr", {})
        if name in arrays:
            arrays[name] = like(arrays[name], self._scores)
            return arrays[name]
        others = self.__dict__.get("_non_tensor_attr", {})
        if name in others:
            return others[name]
        raise AttributeError(f"this Fsa has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if self._tensor_attr.pop(name, self) is self and self._non_tensor_attr.pop(name, self) is self:
            raise AttributeError(f"this Fsa has no attribute '{name}' to delete")

    @property
    def labels(self) -> Any:
        """The label of each arc: int32 ``[arcs]``, a copy; assigned ones get -1 on the arcs into the
        final state, and only there."""
        return like(self._arcs.labels(), self._scores)

    @property
    def scores(self) -> Any:
        """The score of each arc: float32 ``[arcs]``; they may be assigned, and changed in place."""
        if self._scores is None:
            self._scores = self._arcs.scores()
        return self._scores

    def _set_scores(self, scores: Any) -> None:
        import numpy as np

        if not is_tensor(scores):
            scores = numpy_of(scores, np.float32)
        if tuple(scores.shape) != (self.num_arcs,):
            raise ValueError(f"scores have the shape {tuple(scores.shape)}, and there are {self.num_arcs} arcs")
        self._arcs = self._arcs.with_scores(numpy_of(scores, np.float32))
        self._scores = scores
        self._version = getattr(scores, "_version", 0)

    @property
    def arcs(self) -> RaggedArc:
        """The arcs, ``[state][arc]`` or ``[fsa][state][arc]``, with the scores of now."""
        import numpy as np

        scores = self._scores
        if is_tensor(scores):
            if scores._version != self._version:
                self._set_scores(scores)
        elif scores is not None and not np.array_equal(scores, self._arcs.scores()):
            self._set_scores(scores)
        return self._arcs

    def get_filler(self, attribute_name: str) -> Any:
        """What an arc that comes from none has as the attribute: ``fsa.foo_filler`` of ``foo``, else 0."""
        return self._non_tensor_attr.get(f"{attribute_name}_filler", 0)

    def named_tensor_attr(self, include_scores: bool = True) -> Iterator[tuple[str, Any]]:
        """Names and values of the attributes of arcs, without the labels."""
        if include_scores:
            yield "scores", self.scores
        for name in list(self._tensor_attr):
            yield name, getattr(self, name)

    def named_non_tensor_attr(self) -> Iterator[tuple[str, Any]]:
        """Names and values of what belongs to the whole."""
        yield from list(self._non_tensor_attr.items())

    def rename_tensor_attribute_(self, src_name: str, dest_name: str) -> Fsa:
        """Renames an attribute of arcs, in place, with what belongs to the whole and begins with its
        name; ``labels`` and ``scores`` are copied, and stay."""
        if src_name == dest_name:
            raise ValueError(f"'{src_name}' has this name already")
        value = getattr(self, src_name)
        if src_name not in self._tensor_attr and src_name not in ("labels", "scores"):
            raise ValueError(f"'{src_name}' is no attribute of arcs")
        for name in [name for name in self._non_tensor_attr if name.startswith(dest_name)]:
            del self._non_tensor_attr[name]
        setattr(self, dest_name, value)
        self._tensor_attr.pop(src_name, None)
        for name in [name for name in self._non_tensor_attr if name.startswith(src_name)]:
            self._non_tensor_attr[dest_name + name[len(src_name) :]] = self._non_tensor_attr.pop(name)
        return self

    def convert_attr_to_ragged_(self, name: str, remove_eps: bool = True) -> Fsa:
        """Makes lists of one number each of an integer attribute, in place; without zeros by default."""
        ones = _kaldera.RaggedShape.regular_ragged_shape(self.num_arcs, 1)
        lists = RaggedTensor(ones, int32_of(getattr(self, name), name))
        setattr(self, name, lists.remove_values_eq(0) if remove_eps else lists)
        return self

    # What it is.

    @property
    def shape(self) -> tuple[int | None, ...]:
        """``(states, None)`` of one FSA, ``(fsas, None, None)`` of a vector."""
        return (self._arcs.dim0(), *[None] * (self._arcs.num_axes() - 1))

    @property
    def num_arcs(self) -> int:
        """How many arcs there are, in all FSAs."""
        return self._arcs.num_elements()

    @property
    def properties(self) -> int:
        """k2's property bits, of all FSAs together."""
        return self._arcs.properties()

    @property
    def properties_str(self) -> str:
        """The names of k2's properties."""
        return fsa_properties.to_str(self.properties)

    def __len__(self) -> int:
        if self._arcs.num_axes() == 2:
            raise TypeError("this is one FSA and no vector of them")
        return self._arcs.dim0()

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, i: int) -> Fsa:
        """One FSA of a vector."""
        number = len(self)
        at = i + number if i < 0 else i
        if not 0 <= at < number:
            raise IndexError(f"there is no FSA {i}: there are {number}")
        return self._fsa(self.arcs, at)

    def _fsa(self, all_arcs: RaggedArc, at: int) -> Fsa:
        """One FSA of a vector with these arcs, which ``arcs`` takes long to compare with the scores."""
        arcs, begin, end = all_arcs.get(at)
        made = Fsa(arcs)
        for name, value in self._tensor_attr.items():
            lists = isinstance(value, RaggedTensor)
            made._tensor_attr[name] = value.arange(0, begin, end) if lists else value[begin:end]
        made._non_tensor_attr.update(self._non_tensor_attr)
        if is_tensor(self._scores):
            made._keep_scores(self._scores[begin:end])
        return made

    def _keep_scores(self, scores: Any) -> None:
        """Takes a tensor with the scores that the arcs have."""
        self._scores, self._version = scores, scores._version

    def __iter__(self) -> Iterator[Fsa]:
        number, arcs = len(self), self.arcs
        return (self._fsa(arcs, i) for i in range(number))

    # Text, drawings, files.

    @classmethod
    def from_str(
        cls,
        s: str,
        acceptor: bool | None = None,
        num_aux_labels: int | None = None,
        aux_label_names: Sequence[str] | None = None,
        ragged_label_names: Sequence[str] = (),
        openfst: bool = False,
    ) -> Fsa:
        """Reads k2's text, or OpenFst's: lines of source, destination, label, further labels and score.

        ``acceptor=False`` has one more label, ``aux_labels``; ``num_aux_labels`` any number of them,
        ``aux_labels``, ``aux_labels2`` ..., and ``aux_label_names`` names them. The lists of
        ``ragged_label_names`` come after those, as ``[1 2]``. At most one of the first three is given.
        """
        if sum(choice is not None for choice in (acceptor, num_aux_labels, aux_label_names)) > 1:
            raise ValueError("acceptor, num_aux_labels and aux_label_names contradict each other: give one of them")
        if acceptor is not None:
            num_aux_labels = int(not acceptor)
        if aux_label_names is None:
            number = num_aux_labels or 0
            if number < 0:
                raise ValueError(f"num_aux_labels={number} can't be: it must be 0 or more")
            if number > len(s):
                raise ValueError(f"num_aux_labels={number} can't be: the text has {len(s)} characters")
            aux_label_names = ["aux_labels" if i == 1 else f"aux_labels{i}" for i in range(1, number + 1)]
        arcs, labels = RaggedArc.from_str(s, list(aux_label_names), list(ragged_label_names), openfst)
        return cls._of(arcs, labels)

    @classmethod
    def from_openfst(
        cls,
        s: str,
        acceptor: bool | None = None,
        num_aux_labels: int | None = None,
        aux_label_names: Sequence[str] | None = None,
        ragged_label_names: Sequence[str] = (),
    ) -> Fsa:
        """As :meth:`from_str` of OpenFst's text, with costs in place of scores and final costs."""
        return cls.from_str(s, acceptor, num_aux_labels, aux_label_names, ragged_label_names, openfst=True)

    @classmethod
    def from_fsas(cls, fsas: Sequence[Fsa]) -> Fsa:
        """A vector of FSAs, as :func:`create_fsa_vec`."""
        return concatenated(list(fsas))

    @classmethod
    def _of(cls, arcs: RaggedArc, attributes: dict[str, Any]) -> Fsa:
        made = cls(arcs)
        made._tensor_attr.update(attributes)
        return made

    def _printable(self) -> dict[str, Any]:
        """The attributes that text and drawings have: int32 ones, and lists of int32."""
        found = {}
        for name, value in self._tensor_attr.items():
            if isinstance(value, RaggedTensor):
                if value.dtype == "int32":
                    found[name] = value
            elif str(value.dtype).rpartition(".")[2] == "int32" and value.ndim == 1:
                found[name] = numpy_of(value)
        return found

    def to_str(self, openfst: bool = False) -> str:
        """k2's text, or OpenFst's, of one FSA: int32 attributes and lists in the order of their names."""
        return self.arcs.to_str(self._printable(), openfst)

    def __str__(self) -> str:
        if self._arcs.num_axes() == 2:
            return self.to_str()
        return "\n".join(f"FsaVec[{i}]: {fsa.to_str()}" for i, fsa in enumerate(self))

    def __repr__(self) -> str:
        kind = "Fsa" if self._arcs.num_axes() == 2 else f"FsaVec of {len(self)}"
        return f"<{kind}, {self._arcs.num_states()} states, {self.num_arcs} arcs>"

    def _repr_svg_(self) -> str | None:
        return None if shutil.which("dot") is None else _svg(self.arcs.to_dot(self._printable(), ""))

    def draw(self, filename: str | os.PathLike, title: str | None = None) -> None:
        """Writes a drawing: ``.dot`` for Graphviz, or ``.svg`` by an installed Graphviz."""
        name = os.fsdecode(filename)
        if not name.endswith((".svg", ".dot")):
            raise ValueError(f"{name}: drawings are .svg or .dot")
        text = self.arcs.to_dot(self._printable(), title or "")
        if name.endswith(".svg"):
            text = _svg(text)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def as_dict(self) -> dict[str, Any]:
        """The arcs as k2's tensor, and all attributes by name, for ``torch.save`` or ``pickle``."""
        arcs = like(self.arcs.to_tensor(), self._scores)
        return {"arcs": arcs, **dict(self.named_tensor_attr(False)), **self._non_tensor_attr}

    @classmethod
    def from_dict(cls, dict_in: dict[str, Any]) -> Fsa:
        """An FSA from what :meth:`as_dict` has made, here or in k2; ragged tensors of k2 excepted."""
        made = cls(dict_in["arcs"])
        for name, value in dict_in.items():
            # k2's labels_version counts its changes of labels.
            if name not in ("arcs", "labels_version"):
                setattr(made, name, value)
        return made

    def __reduce__(self) -> Any:
        # A leaf of PyTorch's graph keeps requires_grad; others can't be copied with their history.
        scores = self._scores if is_tensor(self._scores) else None
        scores = scores if scores is None or scores.is_leaf else scores.detach()
        return _unpickled, (self.arcs, scores, dict(self.named_tensor_attr(False)), self._non_tensor_attr)

    def arcs_as_tensor(self) -> Any:
        """k2's tensor of the arcs: int32 ``[arcs, 4]``, or the flat one of a vector."""
        return like(self.arcs.to_tensor(), self._scores)

    # Gradients and devices, with PyTorch.

    def requires_grad_(self, requires_grad: bool = True) -> Fsa:
        """Makes the scores a tensor with gradients, in place."""
        if not is_tensor(self._scores):
            import torch

            self.scores = torch.from_numpy(self._arcs.scores() if self._scores is None else self._scores)
        self._scores.requires_grad_(requires_grad)
        return self

    @property
    def requires_grad(self) -> bool:
        """Whether the scores are a tensor with gradients."""
        return is_tensor(self._scores) and self._scores.requires_grad

    @property
    def grad(self) -> Any:
        """The gradient of the scores: ``[arcs]``, or None."""
        return self._scores.grad if is_tensor(self._scores) else None

    @property
    def device(self) -> Any:
        """Where the scores are; computations are on the CPU."""
        return getattr(self.scores, "device", "cpu")

    def is_cpu(self) -> bool:
        """Whether the scores are on the CPU."""
        return getattr(self.device, "type", "cpu") == "cpu"

    def is_cuda(self) -> bool:
        """Whether the scores are on a GPU."""
        return not self.is_cpu()

    def to(self, device: Any) -> Fsa:
        """The same with PyTorch's tensors on a device; computations stay on the CPU."""
        import torch

        made = self.clone()
        made._keep_scores(torch.as_tensor(made.scores).to(device))
        for name, value in made._tensor_attr.items():
            made._tensor_attr[name] = value.to(device) if is_tensor(value) else value
        return made

    def clone(self) -> Fsa:
        """A copy; gradients go through it."""
        import numpy as np

        made = Fsa(self.arcs)
        for name, value in self._tensor_attr.items():
            made._tensor_attr[name] = value.copy() if isinstance(value, np.ndarray) else value.clone()
        made._non_tensor_attr.update(self._non_tensor_attr)
        if is_tensor(self._scores):
            made._keep_scores(self._scores.clone())
        return made

    def detach(self) -> Fsa:
        """The same without gradients."""
        made = self.clone()
        if is_tensor(self._scores):
            made._keep_scores(self._scores.detach())
        for name, value in made._tensor_attr.items():
            made._tensor_attr[name] = value.detach() if is_tensor(value) else value
        return made

    # Inversion.

    def invert(self) -> Fsa:
        """Labels and output labels exchanged; lists of output labels first become chains of arcs."""
        from .fsa_algo import invert

        return invert(self)

    def invert_(self) -> Fsa:
        """Exchanges labels and output labels in place; they are one number for each arc."""
        inverted = self.invert()
        if inverted.num_arcs != self.num_arcs:
            raise ValueError("invert_: the output labels are lists; invert makes a new FSA")
        for name in _OWN:
            self.__dict__[name] = inverted.__dict__[name]
        return self

    # Scores of states, FSAs and arcs.

    def _numbers(self, what: str, use_double_scores: bool, log_semiring: bool) -> Any:
        import numpy as np

        if is_tensor(self._scores):
            from ._autograd import Scores

            return Scores.apply(self.arcs, what, use_double_scores, log_semiring, self._scores)
        numbers, _ = self.arcs.numbers(what, log_semiring)
        return numbers if use_double_scores else numbers.astype(np.float32)

    def get_tot_scores(self, use_double_scores: bool, log_semiring: bool) -> Any:
        """The logarithm of the sum over all paths of each FSA, or the best path's score: ``[fsas]``.

        They have gradients where the scores have. Sums are in double precision; float32 is rounded.
        -inf for an FSA without paths. The FSAs must be top-sorted and without loops.
        """
        return self._numbers("total", use_double_scores, log_semiring)

    def get_forward_scores(self, use_double_scores: bool, log_semiring: bool) -> Any:
        """The score of all paths, or of the best, from the start to each state: ``[states]``."""
        return self._numbers("forward", use_double_scores, log_semiring)

    def get_backward_scores(self, use_double_scores: bool, log_semiring: bool) -> Any:
        """The score of all paths, or of the best, from each state to the end: ``[states]``."""
        return self._numbers("backward", use_double_scores, log_semiring)

    def get_arc_post(self, use_double_scores: bool, log_semiring: bool) -> Any:
        """The logarithm of each arc's share of all paths: ``[arcs]``; with ``log_semiring=False``, how
        much worse the best path over it is than the best of all."""
        return self._numbers("posterior", use_double_scores, log_semiring)

    def set_scores_stochastic_(self, scores: Any) -> None:
        """Sets scores, in place, and subtracts from those that leave a state what makes the
        exponentials sum to 1."""
        self.scores = scores
        if is_tensor(self._scores):
            from ._autograd import log_softmax_of_rows

            lists = RaggedTensor(self._arcs.shape(), self._arcs.scores())
            rows = lists.shape.row_ids(lists.num_axes - 1)
            self.scores = log_softmax_of_rows(self._scores, rows, lists.max())
        else:
            self.scores = self._arcs.scores_stochastic()


def _unpickled(arcs: RaggedArc, scores: Any, arrays: dict[str, Any], others: dict[str, Any]) -> Fsa:
    made = Fsa._of(arcs, arrays)
    made._non_tensor_attr.update(others)
    if scores is not None:
        made._keep_scores(scores)
    return made


def _scores_of(made: Fsa, sources: Sequence[tuple[Any, Any]]) -> None:
    """Gives the scores of a result gradients to the tensors among the sources, each of which has a map."""
    tensors = [(scores, arc_map) for scores, arc_map in sources if is_tensor(scores)]
    if tensors:
        from ._autograd import Carry

        maps = [arc_map for _, arc_map in tensors]
        made._keep_scores(Carry.apply(made._arcs.scores(), maps, *[scores for scores, _ in tensors]))


def _followed(value: Any, arc_map: Any, filler: Any) -> Any:
    """An attribute of arcs of which each comes from one, or from none."""
    return value.index(arc_map)[0] if isinstance(value, RaggedTensor) else index_select(value, arc_map, filler)


def _gathered(src: Fsa, name: str, value: Any, arc_map: RaggedTensor, remove_filler: bool) -> Any:
    """An attribute of arcs of which each comes from several."""
    import numpy as np

    if isinstance(value, RaggedTensor):
        return value.index(arc_map).remove_axis(1)
    if is_float(value):
        return index_and_sum(value, arc_map)
    kind = str(value.dtype).rpartition(".")[2]
    if kind != "int32" or value.ndim != 1:
        raise ValueError(f"{name}: {kind} attributes can't follow arcs that come from several: they must be int32")
    filler, value = src.get_filler(name), numpy_of(value)
    if remove_filler and filler != -1:
        # At the end, -1 stands for nothing too.
        value = np.where((src._arcs.labels() == -1) & (value == -1), np.int32(filler), value)
    lists = index(value, arc_map, filler)
    return lists.remove_values_eq(filler) if remove_filler else lists


def followed(src: Fsa, arcs: RaggedArc, arc_map: Any, remove_filler: bool = True) -> Fsa:
    """The result of an algorithm with one source: the attributes follow the arc map."""
    if arc_map is None:
        return src
    made, several = Fsa(arcs), isinstance(arc_map, RaggedTensor)
    for name, value in src._tensor_attr.items():
        made._tensor_attr[name] = (
            _gathered(src, name, value, arc_map, remove_filler)
            if several
            else _followed(value, arc_map, src.get_filler(name))
        )
    made._non_tensor_attr.update(src._non_tensor_attr)
    _scores_of(made, [(src._scores, arc_map)])
    return made


def _kind(value: Any) -> str:
    """The type of an attribute, as messages have it."""
    dtype = str(value.dtype).rpartition(".")[2]
    return f"lists of {dtype}" if isinstance(value, RaggedTensor) else dtype


def _of_either(a: Fsa, name: str, value: Any, other: Any, map_a: Any, map_b: Any) -> Any:
    """An integer attribute, or lists, of arcs that come from ``a`` or from the other side."""
    import numpy as np

    lists = isinstance(value, RaggedTensor)
    from_other = (map_a < 0) & (map_b >= 0)
    if lists:
        places = np.where(from_other, map_b + np.int32(a.num_arcs), map_a)
        return _kaldera.ragged_cat([value, other], 0).index(places)[0]
    own = index_select(numpy_of(value), map_a, a.get_filler(name))
    return np.where(from_other, index_select(numpy_of(other), map_b), own)


def met(
    a: Fsa,
    b: Fsa,
    arcs: RaggedArc,
    map_a: Any,
    map_b: Any,
    without: Sequence[str] = (),
    either: bool = False,
) -> Fsa:
    """The result of an algorithm with two sources, whose arcs come from both, or with ``either`` from
    one of them."""
    made = Fsa(arcs)
    for name, value in a._tensor_attr.items():
        if name in without:
            continue
        other = b._tensor_attr.get(name)
        if other is None:
            made._tensor_attr[name] = _followed(value, map_a, a.get_filler(name))
            continue
        lists = [isinstance(each, RaggedTensor) for each in (value, other)]
        if not any(lists) and is_float(value) and is_float(other):
            own = _followed(value, map_a, a.get_filler(name))
            made._tensor_attr[name] = own + _followed(other, map_b, a.get_filler(name))
        elif either and _kind(value) == _kind(other):
            made._tensor_attr[name] = _of_either(a, name, value, other, map_a, map_b)
        else:
            raise ValueError(
                f"'{name}' is {_kind(value)} on one side and {_kind(other)} on the other: delete one of the two"
            )
    for name, value in b._tensor_attr.items():
        if name not in a._tensor_attr and name not in without:
            made._tensor_attr[name] = _followed(value, map_b, b.get_filler(name))
    made._non_tensor_attr.update({**b._non_tensor_attr, **a._non_tensor_attr})
    _scores_of(made, [(a._scores, map_a), (b._scores, map_b)])
    return made


def concatenated(fsas: Sequence[Fsa]) -> Fsa:
    """All FSAs in one vector, with the attributes that all of them have."""
    made = Fsa(_kaldera.cat_arcs([fsa.arcs for fsa in fsas]))
    for fsa in reversed(fsas):
        made._non_tensor_attr.update(fsa._non_tensor_attr)
    for name in fsas[0]._tensor_attr if fsas else []:
        if all(name in fsa._tensor_attr for fsa in fsas):
            made._tensor_attr[name] = _joined(name, [fsa._tensor_attr[name] for fsa in fsas])
    if any(is_tensor(fsa._scores) for fsa in fsas):
        import torch

        made._keep_scores(torch.cat([torch.as_tensor(fsa.scores) for fsa in fsas]))
    return made


def _joined(name: str, values: Sequence[Any]) -> Any:
    """Attributes of one type one after the other."""
    import numpy as np

    for i, value in enumerate(values):
        if _kind(value) != _kind(values[0]):
            raise ValueError(f"{name} is {_kind(values[0])} in element 0, and {_kind(value)} in element {i}")
    if isinstance(values[0], RaggedTensor):
        return _kaldera.ragged_cat(list(values), 0)
    if any(is_tensor(value) for value in values):
        import torch

        return torch.cat([torch.as_tensor(value) for value in values])
    return np.concatenate(values)
