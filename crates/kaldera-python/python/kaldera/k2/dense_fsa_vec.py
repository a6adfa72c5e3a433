"""The log-probabilities of a network for the frames of utterances."""

from __future__ import annotations

from typing import Any

from ._arrays import is_tensor, like, numpy_of
from .fsa import Fsa


class DenseFsaVec:
    """Log-probabilities of classes for each frame of some utterances, as k2 has them.

    ``log_probs`` are float32 ``[N, T, C]``, a NumPy array or a PyTorch tensor, which gradients go to
    then. Class 0 is the blank. Each row of ``supervision_segments``, int ``[utterances, 3]``, is an
    utterance: a sequence, its first frame, and its number of frames; they need not be sorted.
    Without, each sequence is one. Segments may end ``allow_truncate`` frames after their sequence,
    and are cut there.

    >>> import numpy as np
    >>> dense = DenseFsaVec(np.zeros((2, 5, 3)), [[0, 0, 5], [1, 2, 3]])
    >>> dense.dim0(), dense.duration.tolist()
    (2, [5, 3])
    """

    def __init__(self, log_probs: Any, supervision_segments: Any = None, allow_truncate: int = 0):
        import numpy as np

        #: What the scores are, as it was given.
        self.log_probs = log_probs if is_tensor(log_probs) else numpy_of(log_probs, np.float32)
        if self.log_probs.ndim != 3:
            raise ValueError(f"log_probs are [N, T, C], and this array has the shape {tuple(self.log_probs.shape)}")
        number, frames, _ = self.log_probs.shape
        if supervision_segments is None:
            segments = np.array([[i, 0, frames] for i in range(number)], np.int64).reshape(-1, 3)
        else:
            segments = numpy_of(supervision_segments)
        if segments.ndim != 2 or segments.shape[1] != 3 or segments.dtype.kind not in "iu":
            raise ValueError(
                f"supervision_segments are integers [utterances, 3], and this array is {segments.dtype} of the shape"
                f" {segments.shape}"
            )
        if allow_truncate < 0:
            raise ValueError(f"allow_truncate={allow_truncate} can't be: it must be 0 or more")
        for i, (sequence, start, duration) in enumerate(segments.tolist()):
            fits = 0 <= sequence < number and 0 <= start <= frames and duration >= 0
            if not fits or start + duration > frames + allow_truncate:
                raise ValueError(
                    f"segment {i}, {[sequence, start, duration]}, does not fit {number} sequences of {frames} frames"
                )
        self._segments = segments
        self._allow_truncate = allow_truncate

    @property
    def supervision_segments(self) -> Any:
        """Sequence, first frame and number of frames of each utterance: int ``[utterances, 3]``."""
        return self._segments

    @property
    def duration(self) -> Any:
        """The number of frames of each utterance: int64 ``[utterances]``."""
        import numpy as np

        return np.minimum(self._segments[:, 2], self.log_probs.shape[1] - self._segments[:, 1])

    @property
    def scores(self) -> Any:
        """k2's matrix: float32 ``[frames + utterances, C + 1]``.

        Column 0 is for label -1; the row after the frames of each utterance has a 0 there and -inf
        elsewhere. Gradients go through a tensor.
        """
        import numpy as np

        full, join = np.full_like, np.concatenate
        if is_tensor(self.log_probs):
            from torch import cat as join
            from torch import full_like as full
        classes = self.log_probs.shape[2]
        if classes == 0:
            raise ValueError("log_probs without classes have no scores")
        rows = [self.log_probs.reshape(-1, classes)[:0]]
        column = rows[0][:, :1]
        rows = [join([column, rows[0]], 1)]
        for (sequence, start, _), duration in zip(self._segments.tolist(), self.duration.tolist()):
            own = self.log_probs[sequence, start : start + duration]
            rows.append(join([full(own[:, :1], -np.inf), own], 1))
            end = full(self.log_probs[sequence, :1], -np.inf)
            rows.append(join([full(end[:, :1], 0), end], 1))
        return join(rows, 0)

    @property
    def device(self) -> Any:
        """Where the log-probabilities are."""
        return getattr(self.log_probs, "device", "cpu")

    def is_cpu(self) -> bool:
        """Whether the log-probabilities are on the CPU."""
        return getattr(self.device, "type", "cpu") == "cpu"

    def is_cuda(self) -> bool:
        """Whether the log-probabilities are on a GPU."""
        return not self.is_cpu()

    def dim0(self) -> int:
        """How many utterances there are."""
        return len(self._segments)

    def to(self, device: Any) -> DenseFsaVec:
        """The same with a PyTorch tensor on a device."""
        import torch

        log_probs = torch.as_tensor(self.log_probs).to(device)
        return DenseFsaVec(log_probs, self._segments, self._allow_truncate)

    def _arguments(self) -> tuple[Any, list[list[int]], int]:
        """What the library takes."""
        import numpy as np

        return numpy_of(self.log_probs, np.float32), self._segments.tolist(), self._allow_truncate

    def __str__(self) -> str:
        return f"DenseFsaVec of {self.dim0()} utterances, {self.log_probs.shape[2]} classes"

    __repr__ = __str__


def convert_dense_to_fsa_vec(dense_fsa_vec: DenseFsaVec) -> Fsa:
    """A linear FSA for each utterance, with an arc of each class from frame to frame; without gradients.

    The scores are a tensor where the log-probabilities are one.

    >>> import numpy as np
    >>> print(convert_dense_to_fsa_vec(DenseFsaVec(np.zeros((1, 1, 2))))[0])
    0 1 0 0
    0 1 1 0
    1 2 -1 0
    2
    """
    import numpy as np

    from .fsa_algo import create_fsa_vec

    scores = numpy_of(dense_fsa_vec.scores, np.float32)[:, 1:]
    classes, first, made = scores.shape[1], 0, []
    for frames in dense_fsa_vec.duration.tolist():
        arcs = np.zeros((frames * classes + 1, 4), np.int32)
        arcs[:, 0] = np.append(np.repeat(np.arange(frames), classes), frames)
        arcs[:, 1] = arcs[:, 0] + 1
        arcs[:, 2] = np.append(np.tile(np.arange(classes), frames), -1)
        arcs[:-1, 3] = scores[first : first + frames].reshape(-1).view(np.int32)
        made.append(Fsa(like(arcs, dense_fsa_vec.log_probs)))
        first += frames + 1
    return create_fsa_vec(made)
