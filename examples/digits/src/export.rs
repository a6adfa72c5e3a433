//! What was learnt, as a model folder that `kaldera transcribe` reads.

use std::fs;
use std::path::Path;

use recurrent::Gru;
use recurrent::train::ParameterStore;

use crate::Error;
use crate::features::{BINS, FrontEnd, STACKED};
use crate::network::Network;

/// In the order of their tokens, from 1 on.
const WORDS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/// Writes `model.toml`, `tokens.txt` and `network.safetensors` into a folder.
///
/// # Errors
/// For a file that cannot be written.
pub fn save_model(folder: &Path, network: &Network<Gru<f32>>, front_end: &FrontEnd) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    weights(network, front_end)?.save(folder.join("network.safetensors"))?;
    let tokens: String = WORDS.iter().zip(1..).map(|(word, token)| format!("{word} {token}\n")).collect();
    save_text(&folder.join("tokens.txt"), &format!("<blank> 0\n{tokens}"))?;
    save_text(&folder.join("model.toml"), &description(front_end.sample_rate()))
}

/// Writes a text file, which appears complete or not at all.
///
/// # Errors
/// For a file that cannot be written.
pub fn save_text(path: &Path, text: &str) -> Result<(), Error> {
    let partial = path.with_extension("partial");
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| format!("{}: {error}", path.display()).into())
}

/// All tensors, a layer's name before each.
fn weights(network: &Network<Gru<f32>>, front_end: &FrontEnd) -> Result<ParameterStore<f32>, Error> {
    let mut store = network.to_store()?;
    let variance: Vec<f32> = front_end.deviation().iter().map(|deviation| deviation * deviation).collect();
    store.insert("normalize.running_mean", &[variance.len()], front_end.mean().to_vec())?;
    store.insert("normalize.running_var", &[variance.len()], variance)?;
    Ok(store)
}

fn description(sample_rate: f32) -> String {
    format!(
        r#"kind = "ctc"
tokens = "tokens.txt"
words = "tokens"

[features]
kind = "fbank"
sample-frequency = {sample_rate}
num-mel-bins = {BINS}
snip-edges = false

[network]
file = "network.safetensors"
inputs = {BINS}

[[network.layers]]
kind = "batch-norm"
name = "normalize"
epsilon = 0.0

[[network.layers]]
kind = "stack"
frames = {STACKED}
stride = {STACKED}

[[network.layers]]
kind = "gru"
name = "encoder"

[[network.layers]]
kind = "layer-norm"
name = "norm"

[[network.layers]]
kind = "linear"
name = "output"

[[network.layers]]
kind = "log-softmax"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_has_the_tensors_of_each_layer() {
        let folder = tempfile::tempdir().unwrap();
        let front_end = FrontEnd::of_recordings(8000.0, [&[100_i16; 4000][..]].into_iter()).unwrap();
        save_model(folder.path(), &Network::new(120, 3, 1), &front_end).unwrap();
        let store = ParameterStore::<f32>::load(folder.path().join("network.safetensors")).unwrap();
        for (name, shape) in [
            ("normalize.running_mean", &[40][..]),
            ("normalize.running_var", &[40]),
            ("encoder.weight_ih_l0", &[9, 120]),
            ("encoder.weight_hh_l0_reverse", &[9, 3]),
            ("encoder.bias_hh_l0", &[9]),
            ("norm.weight", &[6]),
            ("norm.bias", &[6]),
            ("output.weight", &[11, 6]),
            ("output.bias", &[11]),
        ] {
            assert_eq!(store.get(name).unwrap().0, shape, "{name}");
        }
        let tokens = fs::read_to_string(folder.path().join("tokens.txt")).unwrap();
        assert!(tokens.starts_with("<blank> 0\nzero 1\n") && tokens.ends_with("nine 10\n"));
        assert!(fs::read_to_string(folder.path().join("model.toml")).unwrap().contains("sample-frequency = 8000\n"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no partial file is left");
    }
}
