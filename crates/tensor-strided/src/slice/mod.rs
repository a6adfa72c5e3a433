//! TensorFlow's `strided_slice`, and other ways to write one.
