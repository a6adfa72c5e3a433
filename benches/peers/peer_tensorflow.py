"""TensorFlow on one CPU thread does the cases of tensor.py. Its outputs are its own; their memory comes from its pool, so it is warm.

Ops are called as directly as Python can, with tensors for begin, end and strides made before.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf
from tensor_peer import COORDINATES, LARGE, SMALL, index, serve

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def spec(entries, rank):
    """begin, end, strides and the masks of an index as Python writes it."""
    entries = list(entries)
    entries += [slice(None)] * (rank - sum(entry is not tf.newaxis for entry in entries))
    begin, end, strides = [], [], []
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    for bit, entry in enumerate(entries):
        begin_i, end_i, stride = 0, 0, 1
        if entry is tf.newaxis:
            masks["new_axis_mask"] |= 1 << bit
        elif isinstance(entry, int):
            begin_i, end_i = entry, entry + 1
            masks["shrink_axis_mask"] |= 1 << bit
        else:
            begin_i, end_i, stride = entry.start or 0, entry.stop or 0, entry.step or 1
            masks["begin_mask"] |= (entry.start is None) << bit
            masks["end_mask"] |= (entry.stop is None) << bit
        begin.append(begin_i)
        end.append(end_i)
        strides.append(stride)
    tensors = {key: tf.constant(value, tf.int64) for key, value in (("begin", begin), ("end", end), ("strides", strides))}
    return {**tensors, **masks}


def case(name):
    kind, _, rest = name.partition(" ")
    if name == "offsets to coordinates":
        offsets = tf.random.uniform([COORDINATES], 0, LARGE[0] * LARGE[1] * LARGE[2], tf.int64, 7)
        dims = tf.constant(LARGE, tf.int64)
        return lambda: tf.raw_ops.UnravelIndex(indices=offsets, dims=dims)
    if " x[" in name:
        kind, _, text = name.rpartition(" x")
        if kind != "copy":
            return None
        x = tf.ones(SMALL)
        arguments = spec(index(text, tf.newaxis), 4)
        return lambda: tf.raw_ops.StridedSlice(input=x, **arguments)
    if kind == "grad":
        arguments = spec(index(rest, tf.newaxis), 3)
        dy = tf.ones(tf.raw_ops.StridedSlice(input=tf.ones(LARGE), **arguments).shape)
        shape = tf.constant(LARGE, tf.int64)
        return lambda: tf.raw_ops.StridedSliceGrad(shape=shape, dy=dy, **arguments)
    if kind == "transpose":
        x, axes = tf.ones(LARGE), tf.constant([int(axis) for axis in rest.split(",")])
        return lambda: tf.raw_ops.Transpose(x=x, perm=axes)
    if name[0] == "[":
        x, arguments = tf.ones(LARGE), spec(index(name, tf.newaxis), 3)
        return lambda: tf.raw_ops.StridedSlice(input=x, **arguments)
    return None


serve(case)
