"""Losses against the sum over all alignments, and gradients against differences."""

import itertools

import numpy as np
import pytest

import kaldera

RNG = np.random.default_rng(3)


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def naive_ctc(logits, labels, blank):
    """Minus the logarithm of the sum over all sequences of classes that collapse to the labels."""
    scores, total = log_softmax(logits), 0.0
    for path in itertools.product(range(logits.shape[1]), repeat=len(logits)):
        collapsed = [c for c, _ in itertools.groupby(path) if c != blank]
        if collapsed == list(labels):
            total += np.exp(sum(scores[t, c] for t, c in enumerate(path)))
    return -np.log(total) if total else np.inf


def naive_rnnt(logits, labels, blank):
    """Minus the logarithm of the sum over all ways through frames and symbols."""
    scores, frames, total = log_softmax(logits), len(logits), 0.0
    for symbols in itertools.combinations(range(frames - 1 + len(labels)), len(labels)):
        t = s = 0
        score = 0.0
        for step in range(frames - 1 + len(labels)):
            if step in symbols:
                score += scores[t, s, labels[s]]
                s += 1
            else:
                score += scores[t, s, blank]
                t += 1
        total += np.exp(score + scores[t, s, blank])
    return -np.log(total)


def slope(loss, values):
    """The gradient by central differences."""
    gradient, step = np.zeros_like(values), 1e-5
    for place in np.ndindex(values.shape):
        up, down = values.copy(), values.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (loss(up) - loss(down)) / (2 * step)
    return gradient


@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_sums_over_all_alignments(blank):
    logits, lengths = RNG.normal(size=(4, 4, 3)), [4, 3, 2, 0]
    labels = [[l for l in each if l != blank] for each in [[1], [2, 1], [0, 1], []]]
    losses, gradient = kaldera.ctc_loss(logits, labels, lengths, blank=blank, reduction="none")
    for i, length in enumerate(lengths):
        assert losses[i] == pytest.approx(naive_ctc(logits[i, :length], labels[i], blank))
        assert (gradient[i, length:] == 0).all()
    total = lambda values: kaldera.ctc_loss(values, labels, lengths, blank=blank, reduction="sum")[0]
    np.testing.assert_allclose(gradient, slope(total, logits), atol=1e-8)
    mean, by_mean = kaldera.ctc_loss(logits, labels, lengths, blank=blank)
    divisors = [max(len(each), 1) for each in labels]
    assert mean == pytest.approx(np.mean(losses / divisors))
    np.testing.assert_allclose(by_mean, gradient / np.reshape(divisors, (4, 1, 1)) / 4)


def test_labels_may_be_lists_padded_or_in_a_row():
    logits = RNG.normal(size=(2, 5, 4)).astype(np.float32)
    expected = kaldera.ctc_loss(logits, [[1, 2], [3]])
    for labels in [np.array([[1, 2], [3, 0]]), np.array([1, 2, 3])]:
        found = kaldera.ctc_loss(logits, labels, label_lengths=[2, 1])
        assert found[0] == expected[0] and found[1].dtype == np.float32
        np.testing.assert_array_equal(found[1], expected[1])
    with pytest.raises(ValueError, match="sum to 4"):
        kaldera.ctc_loss(logits, np.array([1, 2, 3]), label_lengths=[2, 2])
    with pytest.raises(ValueError, match="7"):
        kaldera.ctc_loss(logits, [[7], []])
    with pytest.raises(ValueError, match="reduction='avg'"):
        kaldera.ctc_loss(logits, [[1], []], reduction="avg")


def spoilt(losses, gradient, whole):
    """Of the sequence 1, by the losses and the gradient that the others keep."""
    others = [0, 2]
    np.testing.assert_array_equal(losses[others], whole[0][others])
    np.testing.assert_array_equal(gradient[others], whole[1][others])
    return losses[1], gradient[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_that_are_not_finite_spoil_their_own_sequence(dtype):
    ctc = RNG.normal(size=(3, 6, 4)).astype(dtype), kaldera.ctc_loss
    rnnt = RNG.normal(size=(3, 6, 3, 4)).astype(dtype), kaldera.rnnt_loss
    labels, lengths = [[1, 2], [3, 1], [2, 2]], [6, 5, 4]
    for logits, loss in [ctc, rnnt]:
        whole = loss(logits, labels, lengths, reduction="none")
        logits[1, 3] = -np.inf
        loss_of, gradient = spoilt(*loss(logits, labels, lengths, reduction="none"), whole)
        assert loss_of == np.inf and (gradient == 0).all()
        assert loss(logits, labels, lengths)[0] == np.inf
        if loss is kaldera.ctc_loss:
            zero = loss(logits, labels, lengths, reduction="none", zero_infinity=True)
            assert spoilt(*zero, whole)[0] == 0
        for bad in [np.nan, np.inf]:
            logits[1, 3, ..., 2] = bad
            loss_of, gradient = spoilt(*loss(logits, labels, lengths, reduction="none"), whole)
            assert np.isnan(loss_of) and np.isnan(gradient[:5]).all() and (gradient[5:] == 0).all()
            assert np.isnan(loss(logits, labels, lengths)[0])
        # Padding is not read.
        logits[1] = 0
        logits[2, 4:] = np.nan
        assert np.isfinite(loss(logits, labels, lengths)[1]).all()


def test_too_short_sequences_are_infinite_or_zero():
    logits = np.zeros((1, 2, 3))
    assert kaldera.ctc_loss(logits, [[1, 1]])[0] == np.inf
    loss, gradient = kaldera.ctc_loss(logits, [[1, 1]], zero_infinity=True)
    assert loss == 0 and (gradient == 0).all()


@pytest.mark.parametrize("blank", [0, 3])
def test_rnnt_sums_over_all_ways(blank):
    logits, lengths = RNG.normal(size=(3, 4, 3, 4)), [4, 2, 3]
    labels = [[1, 2], [2], []]
    losses, gradient = kaldera.rnnt_loss(logits, labels, lengths, blank=blank, reduction="none")
    for i, length in enumerate(lengths):
        own = logits[i, :length, : len(labels[i]) + 1]
        assert losses[i] == pytest.approx(naive_rnnt(own, labels[i], blank))
    total = lambda values: kaldera.rnnt_loss(values, labels, lengths, blank=blank, reduction="sum")[0]
    np.testing.assert_allclose(gradient, slope(total, logits), atol=1e-8)


def test_simple_rnnt_is_rnnt_of_the_sums():
    am, lm, labels = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 3, 3)), [[1, 2], [2]]
    loss, by_am, by_lm = kaldera.rnnt_loss_simple(am, lm, labels, [4, 3])
    joined = am[:, :, None] + lm[:, None]
    expected, gradient = kaldera.rnnt_loss(joined, labels, [4, 3])
    assert loss == pytest.approx(expected)
    np.testing.assert_allclose(by_am, gradient.sum(2), atol=1e-12)
    np.testing.assert_allclose(by_lm, gradient.sum(1), atol=1e-12)


def test_the_best_alignment_is_the_best_of_all():
    scores = log_softmax(RNG.normal(size=(2, 5, 3))).astype(np.float32)
    labels, lengths = [[1, 1], [2]], [5, 3]
    path, found = kaldera.forced_align(scores, labels, lengths)
    for i, length in enumerate(lengths):
        ways = itertools.product(range(3), repeat=length)
        fits = [way for way in ways if [c for c, _ in itertools.groupby(way) if c] == labels[i]]
        best = max(fits, key=lambda way: sum(scores[i, t, c] for t, c in enumerate(way)))
        assert path[i, :length].tolist() == list(best)
        np.testing.assert_array_equal(found[i, :length], [scores[i, t, c] for t, c in enumerate(best)])
        assert (path[i, length:] == 0).all() and (found[i, length:] == 0).all()
    with pytest.raises(ValueError, match="sequence 1"):
        kaldera.forced_align(scores, labels, [5, 0])


def test_wrong_shapes_and_numbers_are_value_errors():
    logits = np.zeros((1, 3, 2), np.float32)
    for wrong in [
        lambda: kaldera.ctc_loss(np.zeros(5), [[1]]),
        lambda: kaldera.ctc_loss(logits, [[1]], blank=-1),
        lambda: kaldera.ctc_loss(logits, [[1]], [-1]),
        lambda: kaldera.ctc_loss(logits, [[2**31]]),
        lambda: kaldera.ctc_loss(logits, [[1]], threads=-1),
        lambda: kaldera.ctc_loss(logits, np.array([1, 1]), label_lengths=[3, -1]),
        lambda: kaldera.forced_align(np.zeros((1, 10**12, 0)), [[1]], blank=1),
    ]:
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        kaldera.ctc_loss(logits, [[1.5]])


def test_logits_need_no_alignment():
    logits = np.arange(6, dtype=np.float32).reshape(1, 3, 2)
    loose = np.frombuffer(b"\0" + logits.tobytes(), np.float32, offset=1).reshape(1, 3, 2)
    assert kaldera.ctc_loss(loose, [[1]])[0] == kaldera.ctc_loss(logits, [[1]])[0]
    np.testing.assert_array_equal(kaldera.forced_align(loose, [[1]])[0], kaldera.forced_align(logits, [[1]])[0])
