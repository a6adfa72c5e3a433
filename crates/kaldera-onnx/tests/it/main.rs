//! Contracts of networks from ONNX files.

mod damaged;
mod kinds;
mod networks;
mod transducers;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file of `tests/networks`.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks").join(name)
}

fn values(of: &Value) -> Vec<f32> {
    of.as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32).collect()
}
