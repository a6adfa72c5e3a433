//! Networks of several layers: utterances alone and in batches, streams of any chunks.

use std::sync::Arc;

use kaldera_network::{Batch, Error, Function, LayerOptions, LayerStack, LodTensor, Network, ParameterStore};
use proptest::prelude::*;
use recurrent::train::{Linear, uniform};
use recurrent::{Gru, Lstm, Stack};

/// Values of a row of the input.
const INPUTS: usize = 3;
/// Columns of the convolution.
const COLUMNS: usize = 4;
/// Units of each recurrent layer.
const HIDDEN: usize = 5;
const TOKENS: usize = 6;

fn add(weights: &mut ParameterStore<f32>, prefix: &str, from: &ParameterStore<f32>) {
    for name in from.names().map(str::to_owned).collect::<Vec<_>>() {
        let (shape, values) = from.get(&name).unwrap();
        weights.insert(&format!("{prefix}{name}"), shape, values.to_vec()).unwrap();
    }
}

/// Normalisation, convolution, stacked rows, recurrent layers, scores.
fn network(both_directions: bool, seed: u64) -> LayerStack {
    let mut weights = ParameterStore::new();
    let column = |first: f32| (0_u8..3).map(|i| first + f32::from(i)).collect::<Vec<_>>();
    weights.insert("norm.running_mean", &[INPUTS], column(0.5)).unwrap();
    weights.insert("norm.running_var", &[INPUTS], column(1.0)).unwrap();
    let mut conv = Linear::<f32>::zeros(INPUTS * 3, COLUMNS);
    uniform(&mut conv, 0.5, seed);
    let conv = ParameterStore::from_parameters(&conv);
    weights.insert("conv.weight", &[COLUMNS, INPUTS, 3], conv.get("weight").unwrap().1.to_vec()).unwrap();
    weights.insert("conv.bias", &[COLUMNS], conv.get("bias").unwrap().1.to_vec()).unwrap();
    let mut lstm = Stack::<Lstm<f32>>::new(1, false, 2 * COLUMNS, |inputs| Lstm::zeros(inputs, HIDDEN));
    uniform(&mut lstm, 0.5, seed + 1);
    add(&mut weights, "lstm.", &lstm.to_torch("").unwrap());
    let mut gru = Stack::<Gru<f32>>::new(2, both_directions, HIDDEN, |inputs| Gru::zeros(inputs, HIDDEN));
    uniform(&mut gru, 0.5, seed + 2);
    add(&mut weights, "gru.", &gru.to_torch("").unwrap());
    let width = HIDDEN * (1 + usize::from(both_directions));
    let mut more = Linear::<f32>::zeros(width * 3, width);
    uniform(&mut more, 0.5, seed + 4);
    let more = ParameterStore::from_parameters(&more);
    weights.insert("more.weight", &[width, width, 3], more.get("weight").unwrap().1.to_vec()).unwrap();
    let mut output = Linear::<f32>::zeros(width, TOKENS);
    uniform(&mut output, 0.5, seed + 3);
    add(&mut weights, "output.", &ParameterStore::from_parameters(&output));
    let layers = [
        LayerOptions::batch_norm("norm"),
        LayerOptions::conv("conv", [2, 1]),
        LayerOptions::stack(2, 3),
        LayerOptions::lstm("lstm"),
        LayerOptions::gru("gru"),
        LayerOptions::residual([
            LayerOptions::conv("more", [1, 1]),
            LayerOptions::Activation { function: Function::Tanh },
        ]),
        LayerOptions::linear("output"),
        LayerOptions::LogSoftmax {},
    ];
    // As a file has them.
    let weights = ParameterStore::from_bytes(&weights.to_bytes().unwrap()).unwrap();
    LayerStack::new(INPUTS, &layers, &weights).unwrap()
}

fn rows(lengths: &[usize]) -> LodTensor<f32> {
    let count: usize = lengths.iter().sum::<usize>() * INPUTS;
    let values = (0..u16::try_from(count).unwrap()).map(|i| (f32::from(i) * 0.7).sin()).collect::<Vec<_>>();
    LodTensor::from_lengths(lengths, INPUTS, values).unwrap()
}

fn log_probs(network: &LayerStack, rows: &LodTensor<f32>) -> LodTensor<f32> {
    let names = vec!["u"; rows.num_sequences()];
    network.log_probs(&Batch::new(&names, rows).unwrap()).unwrap()
}

#[test]
fn a_network_of_both_directions_has_no_streams() {
    let network = Arc::new(network(true, 3));
    assert_eq!((network.num_inputs(), network.num_outputs(), network.subsampling()), (INPUTS, TOKENS, 3));
    assert!(matches!(
        Arc::clone(&network).stream().unwrap_err(),
        Error::Layer { number: 4, kind: "gru", source } if matches!(*source, Error::NoStream { .. })
    ));
    let all = log_probs(&network, &rows(&[7, 0, 20]));
    assert_eq!(all.lengths(), [3, 0, 7]);
    for row in all.rows() {
        let sum: f32 = row.iter().map(|value| value.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }
}

proptest! {
    #[test]
    fn an_utterance_of_a_batch_is_as_alone(lengths in prop::collection::vec(0..30_usize, 1..5), seed in 0..1000_u64) {
        let (network, x) = (network(true, seed), rows(&lengths));
        let together = log_probs(&network, &x);
        for (number, &length) in lengths.iter().enumerate() {
            let own = LodTensor::from_lengths(&[length], INPUTS, x.sequence(number).to_vec()).unwrap();
            let alone = log_probs(&network, &own);
            prop_assert_eq!(alone.values(), together.sequence(number));
        }
    }

    #[test]
    fn a_stream_gives_what_the_whole_gives(chunks in prop::collection::vec(0..9_usize, 0..8), seed in 0..1000_u64) {
        let network = Arc::new(network(false, seed));
        let x = rows(&[chunks.iter().sum()]);
        let whole = log_probs(&network, &x);
        let mut stream = Arc::clone(&network).stream().unwrap();
        // Twice: a stream that has finished begins again.
        for _ in 0..2 {
            let (mut found, mut rest) = (vec![], x.values());
            for (number, &chunk) in chunks.iter().enumerate() {
                let (own, others) = rest.split_at(chunk * INPUTS);
                rest = others;
                found.extend(if number + 1 == chunks.len() { stream.finish(own) } else { stream.accept(own) }.unwrap());
            }
            if chunks.is_empty() {
                found.extend(stream.finish(&[]).unwrap());
            }
            prop_assert_eq!(&found[..], whole.values());
        }
    }
}
