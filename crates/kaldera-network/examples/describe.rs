//! A network in one file of weights and a few lines of description, run as a batch and as a stream.

use std::sync::Arc;

use kaldera_network::{Batch, LayerOptions, LayerStack, LodTensor, Network, ParameterStore};
use recurrent::train::{Linear, uniform};
use recurrent::{Gru, Stack};

/// Features of a frame, hidden units, tokens.
const SIZES: [usize; 3] = [40, 16, 11];

/// What a `model.toml` says of the network.
const DESCRIPTION: &str = r#"
    layers = [
        { kind = "stack", frames = 3, stride = 3 },
        { kind = "gru", name = "encoder" },
        { kind = "linear", name = "output" },
        { kind = "log-softmax" },
    ]
"#;

#[derive(serde::Deserialize)]
struct Description {
    layers: Vec<LayerOptions>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [inputs, hidden, tokens] = SIZES;
    // What a training would have found.
    let mut encoder = Stack::<Gru<f32>>::new(1, false, 3 * inputs, |inputs| Gru::zeros(inputs, hidden));
    uniform(&mut encoder, 0.3, 1);
    let mut output = Linear::<f32>::zeros(hidden, tokens);
    uniform(&mut output, 0.3, 2);
    let mut weights = encoder.to_torch("encoder.")?;
    let trained = ParameterStore::from_parameters(&output);
    for name in ["weight", "bias"] {
        let (shape, values) = trained.get(name)?;
        weights.insert(&format!("output.{name}"), shape, values.to_vec())?;
    }

    // As a file would be: `weights.save("network.safetensors")`, `ParameterStore::load`.
    let weights = ParameterStore::from_bytes(&weights.to_bytes()?)?;
    let description: Description = toml::from_str(DESCRIPTION)?;
    let network = LayerStack::new(inputs, &description.layers, &weights)?;

    let rows = LodTensor::from_lengths(&[30, 12], inputs, vec![0.5; 42 * inputs])?;
    let log_probs = network.log_probs(&Batch::new(&["a", "b"], &rows)?)?;
    println!("utterances of {:?} frames become {:?} rows of {tokens} tokens", rows.lengths(), log_probs.lengths());

    let mut stream = Arc::new(network).stream()?;
    for (chunk, values) in rows.sequence(0).chunks(7 * inputs).enumerate() {
        println!("chunk {chunk}: {} rows", stream.accept(values)?.len() / tokens);
    }
    println!("at the end: {} rows", stream.finish(&[])?.len() / tokens);
    Ok(())
}
