//! Contracts of networks from ONNX files.

mod networks;
mod transducers;
