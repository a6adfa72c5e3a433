//! Each layer against its definition.

use std::sync::Arc;

use kaldera_network::{Batch, Error, Function, LayerOptions, LayerStack, LodTensor, Network, ParameterStore};
use proptest::prelude::*;

/// Sums of a few products in single precision.
const TOLERANCE: f32 = 1e-4;

fn store(tensors: &[(&str, &[usize], &[f32])]) -> ParameterStore<f32> {
    let mut store = ParameterStore::new();
    for (name, shape, values) in tensors {
        store.insert(name, shape, values.to_vec()).unwrap();
    }
    store
}

fn run(layer: LayerOptions, weights: &ParameterStore<f32>, x: &LodTensor<f32>) -> LodTensor<f32> {
    let network = LayerStack::new(x.width(), &[layer], weights).unwrap();
    let names = vec!["u"; x.num_sequences()];
    network.log_probs(&Batch::new(&names, x).unwrap()).unwrap()
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= TOLERANCE * expected.abs().max(1.0), "{place}: {found}, {expected}");
    }
}

#[test]
fn normalisations_are_pytorchs() {
    let x = LodTensor::from_lengths(&[2, 0, 1], 2, vec![1.0, 3.0, 5.0, 7.0, 2.0, 2.0]).unwrap();
    let weights = store(&[
        ("n.running_mean", &[2], &[1.0, 3.0]),
        ("n.running_var", &[2], &[4.0, 0.25]),
        ("n.weight", &[2], &[1.0, 10.0]),
        ("n.bias", &[2], &[0.5, 0.0]),
    ]);
    let batch = LayerOptions::BatchNorm { name: "n".into(), epsilon: 0.0 };
    assert_close(run(batch, &weights, &x).values(), &[0.5, 0.0, 2.5, 80.0, 1.0, -20.0]);
    let layer = LayerOptions::LayerNorm { name: "n".into(), epsilon: 0.0 };
    assert_close(run(layer, &weights, &x).values(), &[-0.5, 10.0, -0.5, 10.0, 0.5, 0.0]);
    let none = store(&[]);
    let utterance = LayerOptions::UtteranceNorm { variance: true, epsilon: 0.0 };
    assert_close(run(utterance, &none, &x).values(), &[-1.0, -1.0, 1.0, 1.0, 0.0, 0.0]);
    let mean = LayerOptions::UtteranceNorm { variance: false, epsilon: 0.0 };
    assert_close(run(mean, &none, &x).values(), &[-2.0, -2.0, 2.0, 2.0, 0.0, 0.0]);
}

#[test]
fn functions_are_what_their_names_say() {
    let x = LodTensor::from_lengths(&[3], 1, vec![-1.0, 0.0, 2.0]).unwrap();
    let of = |function| run(LayerOptions::Activation { function }, &store(&[]), &x).values().to_vec();
    assert_close(&of(Function::Relu), &[0.0, 0.0, 2.0]);
    assert_close(&of(Function::Tanh), &[-0.761_594, 0.0, 0.964_028]);
    assert_close(&of(Function::Sigmoid), &[0.268_941, 0.5, 0.880_797]);
    assert_close(&of(Function::Silu), &[-0.268_941, 0.0, 1.761_594]);
    assert_close(&of(Function::Exp), &[0.367_879, 1.0, 7.389_056]);
    let x = LodTensor::from_lengths(&[2], 1, vec![1.0, 2.0]).unwrap();
    let ln = LayerOptions::Activation { function: Function::Ln };
    assert_close(run(ln, &store(&[]), &x).values(), &[0.0, std::f32::consts::LN_2]);
    let rows = LodTensor::from_lengths(&[1], 2, vec![0.0, 3.0_f32.ln()]).unwrap();
    assert_close(run(LayerOptions::LogSoftmax {}, &store(&[]), &rows).values(), &[0.25_f32.ln(), 0.75_f32.ln()]);
}

#[test]
fn stacked_rows_drop_what_is_left() {
    let x = LodTensor::from_lengths(&[5, 1, 0, 2], 1, vec![1., 2., 3., 4., 5., 6., 7., 8.]).unwrap();
    let y = run(LayerOptions::stack(2, 2), &store(&[]), &x);
    assert_eq!((y.lengths(), y.values()), (vec![2, 0, 0, 1], &[1., 2., 3., 4., 7., 8.][..]));
    let y = run(LayerOptions::stack(1, 3), &store(&[]), &x);
    assert_eq!((y.lengths(), y.values()), (vec![2, 1, 0, 1], &[1., 4., 6., 7.][..]));
}

/// `nn.Conv1d` by its definition.
fn convolve(x: &[f32], weight: &[f32], bias: &[f32], shape: &Case) -> Vec<f32> {
    let Case { inputs, outputs, taps, stride, dilation, groups, padding, .. } = *shape;
    let rows = x.len() / inputs;
    let padded = rows + padding[0] + padding[1];
    let (own_in, own_out) = (inputs / groups, outputs / groups);
    let mut y = vec![];
    let mut first = 0;
    while rows > 0 && first + (taps - 1) * dilation < padded {
        for out in 0..outputs {
            let mut sum = bias[out];
            for column in 0..own_in {
                for tap in 0..taps {
                    let at = first + tap * dilation;
                    if at >= padding[0] && at < padding[0] + rows {
                        let value = x[(at - padding[0]) * inputs + out / own_out * own_in + column];
                        sum += weight[(out * own_in + column) * taps + tap] * value;
                    }
                }
            }
            y.push(sum);
        }
        first += stride;
    }
    y
}

#[derive(Debug, Clone)]
struct Case {
    lengths: Vec<usize>,
    inputs: usize,
    outputs: usize,
    taps: usize,
    stride: usize,
    dilation: usize,
    groups: usize,
    padding: [usize; 2],
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1..4_usize, 1..4_usize, 1..4_usize, 1..4_usize, 1..3_usize, 1..3_usize);
    let rest = ([0..4_usize, 0..4_usize], prop::collection::vec(0..12_usize, 1..4), any::<u64>());
    (sizes, rest).prop_map(|((inputs, outputs, taps, stride, dilation, groups), (padding, lengths, seed))| Case {
        lengths,
        inputs: inputs * groups,
        outputs: outputs * groups,
        taps,
        stride,
        dilation,
        groups,
        padding: padding.map(|rows: usize| rows % ((taps - 1) * dilation + 1)),
        seed,
    })
}

/// Numbers between -1 and 1.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).unwrap()) / 32768.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

proptest! {
    #[test]
    fn convolution_equals_its_definition(case in cases()) {
        let weight = numbers(case.seed, case.outputs * case.inputs / case.groups * case.taps);
        let bias = numbers(case.seed ^ 77, case.outputs);
        let weights = store(&[
            ("c.weight", &[case.outputs, case.inputs / case.groups, case.taps], &weight),
            ("c.bias", &[case.outputs], &bias),
        ]);
        let rows: usize = case.lengths.iter().sum();
        let x = LodTensor::from_lengths(&case.lengths, case.inputs, numbers(case.seed ^ 5, rows * case.inputs)).unwrap();
        let Case { stride, dilation, groups, padding, .. } = case;
        let y = run(LayerOptions::Conv { name: "c".into(), stride, dilation, groups, padding }, &weights, &x);
        for (found, x) in y.sequences().zip(x.sequences()) {
            assert_close(found, &convolve(x, &weight, &bias, &case));
        }
    }
}

#[test]
fn a_residual_adds_what_it_was_given() {
    let weights = store(&[("l.weight", &[2, 2], &[0.0, 1.0, 2.0, 0.0]), ("m.weight", &[1, 2], &[1.0, 1.0])]);
    let x = LodTensor::from_lengths(&[2, 0], 2, vec![1.0, 3.0, -1.0, 0.0]).unwrap();
    let relu = LayerOptions::Activation { function: Function::Relu };
    let y = run(LayerOptions::residual([LayerOptions::linear("l"), relu]), &weights, &x);
    assert_close(y.values(), &[4.0, 5.0, -1.0, 0.0]);
    assert_eq!(y.lengths(), [2, 0]);
    for (layers, said) in [
        (vec![LayerOptions::linear("m")], "layer 0 (residual): 1 values of a row cannot be added to 2"),
        (vec![LayerOptions::stack(1, 2)], "layer 0 (residual): 2 rows that become one cannot be added to 1"),
        (vec![LayerOptions::linear("k")], "layer 0 (residual): layer 0 (linear)"),
        (vec![], "layer 0 (residual): a network needs at least one layer"),
    ] {
        let refused = LayerStack::new(2, &[LayerOptions::residual(layers)], &weights).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    // A convolution without padding has fewer rows.
    let weights = store(&[("c.weight", &[1, 1, 2], &[1.0, 1.0]), ("d.weight", &[1, 1, 3], &[1.0; 3])]);
    let network = |layers: Vec<LayerOptions>| LayerStack::new(1, &[LayerOptions::residual(layers)], &weights);
    let error = network(vec![LayerOptions::conv("c", [0, 0])]).unwrap_err().to_string();
    assert!(error.contains("999999 rows cannot be added to 1000000"), "{error}");
    // One more row than it took off: utterances of one row are lost within.
    let network = network(vec![LayerOptions::conv("c", [0, 0]), LayerOptions::conv("d", [1, 2])]).unwrap();
    let run = |rows: usize| {
        let x = LodTensor::from_lengths(&[rows], 1, vec![1.0; rows]).unwrap();
        network.log_probs(&Batch::new(&["u"], &x).unwrap()).map(|y| y.num_rows())
    };
    assert_eq!(run(3), Ok(3));
    let error = run(1).unwrap_err().to_string();
    assert!(error.contains("0 rows cannot be added to 1"), "{error}");
    assert!(Arc::new(network).stream().unwrap().finish(&[1.0]).is_err());
}

#[test]
fn what_does_not_fit_is_named() {
    let weights = store(&[
        ("l.weight", &[2, 3], &[0.0; 6]),
        ("c.weight", &[2, 3, 1], &[0.0; 6]),
        ("n.running_mean", &[3], &[0.0; 3]),
        ("n.running_var", &[3], &[1.0, 0.0, -1.0]),
        ("g.weight_ih_l0", &[3, 2], &[0.0; 6]),
        ("g.weight_hh_l0", &[3, 1], &[0.0; 3]),
    ]);
    let refused = |inputs, layer: LayerOptions| match LayerStack::new(inputs, &[layer], &weights).unwrap_err() {
        Error::Layer { number: 0, source, .. } => *source,
        other => panic!("{other}"),
    };
    let width = |tensor: &str, expected, found| Error::Width { tensor: tensor.into(), expected, found };
    assert_eq!(refused(4, LayerOptions::linear("l")), width("l.weight", 4, 3));
    assert_eq!(refused(4, LayerOptions::conv("c", [0, 0])), width("c.weight", 4, 3));
    assert_eq!(refused(4, LayerOptions::gru("g")), width("g.weight_ih_l0", 4, 2));
    assert!(matches!(refused(3, LayerOptions::linear("k")), Error::Recurrent(_)));
    assert!(matches!(refused(3, LayerOptions::conv("n.running_mean", [0, 0])), Error::Recurrent(_)));
    let batch = LayerOptions::BatchNorm { name: "n".into(), epsilon: 0.0 };
    assert!(matches!(refused(3, batch), Error::Variance { position: 1, .. }));
    let batch = LayerOptions::BatchNorm { name: "n".into(), epsilon: f32::NAN };
    assert!(matches!(refused(3, batch), Error::Option { key: "epsilon", .. }));
    assert!(matches!(refused(3, LayerOptions::stack(0, 1)), Error::Option { key: "frames", .. }));
    assert!(matches!(refused(3, LayerOptions::stack(2, 0)), Error::Option { key: "stride", .. }));
    assert!(matches!(refused(3, LayerOptions::stack(usize::MAX, 1)), Error::Option { .. }));
    assert!(matches!(refused(3, LayerOptions::conv("c", [0, 1])), Error::Option { key: "padding", .. }));
    let groups = |groups| LayerOptions::Conv { name: "c".into(), stride: 1, dilation: 1, groups, padding: [0, 0] };
    assert!(matches!(refused(3, groups(0)), Error::Option { key: "groups", .. }));
    assert!(matches!(refused(3, groups(2)), Error::Option { key: "groups", .. }));
    let rnn = LayerOptions::Rnn { name: "g".into(), activation: Function::Silu };
    assert!(matches!(refused(2, rnn), Error::Option { key: "activation", .. }));
    assert_eq!(LayerStack::new(3, &[], &weights).unwrap_err(), Error::NoLayers);
    let network = LayerStack::new(3, &[LayerOptions::linear("l")], &weights).unwrap();
    let rows = LodTensor::from_lengths(&[1], 2, vec![0.0; 2]).unwrap();
    let batch = Batch::new(&["a"], &rows).unwrap();
    assert_eq!(network.log_probs(&batch), Err(Error::Rows { expected: 3, found: 2 }));
    assert_eq!(Arc::new(network).stream().unwrap().accept(&[0.0; 4]), Err(Error::Rows { expected: 3, found: 4 }));
}

#[test]
fn rows_without_values_and_too_wide_ones_are_refused() {
    let empty = store(&[("c.weight", &[0, 0, 1], &[])]);
    for groups in [1, 1 << 60] {
        let groups = LayerOptions::Conv { name: "c".into(), stride: 1, dilation: 1, groups, padding: [0, 0] };
        let refused = LayerStack::new(0, &[groups], &empty).unwrap_err().to_string();
        assert!(refused.contains("groups"), "{refused}");
    }
    let none = store(&[("l.weight", &[0, 3], &[])]);
    let refused = LayerStack::new(3, &[LayerOptions::linear("l")], &none).unwrap_err();
    assert!(matches!(refused, Error::Layer { source, .. } if *source == Error::NoColumns));
    let stacks = [LayerOptions::stack(256, 1), LayerOptions::stack(256, 1), LayerOptions::stack(256, 1)];
    let refused = LayerStack::new(3, &stacks, &none).unwrap_err().to_string();
    assert!(refused.contains("layer 2") && refused.contains("2^20"), "{refused}");
}

#[test]
fn descriptions_are_read_with_their_defaults_and_no_other_keys() {
    #[derive(serde::Deserialize, Debug)]
    struct Layers {
        layers: Vec<LayerOptions>,
    }
    let read = |text: &str| toml::from_str::<Layers>(text).map(|read| read.layers);
    let conv = read("layers = [{ kind = 'conv', name = 'c', padding = [2, 0] }, { kind = 'log-softmax' }]").unwrap();
    assert_eq!(conv, [LayerOptions::conv("c", [2, 0]), LayerOptions::LogSoftmax {}]);
    let rest = "layers = [{ kind = 'batch-norm', name = 'n' }, { kind = 'layer-norm', name = 'n' },
        { kind = 'utterance-norm' }, { kind = 'activation', function = 'silu' }, { kind = 'rnn', name = 'r' }]";
    let rest = read(rest).unwrap();
    assert_eq!(
        rest[..3],
        [LayerOptions::batch_norm("n"), LayerOptions::layer_norm("n"), LayerOptions::utterance_norm()]
    );
    assert_eq!(rest[4], LayerOptions::Rnn { name: "r".into(), activation: Function::Tanh });
    let residual = read("[[layers]]\nkind = 'residual'\n[[layers.layers]]\nkind = 'gru'\nname = 'g'").unwrap();
    assert_eq!(residual, [LayerOptions::residual([LayerOptions::gru("g")])]);
    let deep = format!("{}kind = 'log-softmax'{}", "kind = 'residual', layers = [{ ".repeat(5000), " }]".repeat(5000));
    assert!(read(&format!("layers = [{{ {deep} }}]")).is_err());
    let deep: String =
        (1..2000).map(|n| format!("[[{}]]\nkind = 'residual'\n", ["layers"].repeat(n).join("."))).collect();
    assert!(read(&deep).is_err());
    for (text, named) in [
        ("layers = [{ kind = 'linear' }]", "name"),
        ("layers = [{ kind = 'linear', name = 'l', nmae = 'x' }]", "nmae"),
        ("layers = [{ kind = 'attention' }]", "attention"),
        ("layers = [{ kind = 'log-softmax', axis = 1 }]", "axis"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}
