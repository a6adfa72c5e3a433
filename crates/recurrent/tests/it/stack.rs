//! Layers upon layers: what they give is what their cells give one by one, and gradients are
//! slopes.

use lod::{Lod, LodTensor};
use proptest::prelude::*;
use recurrent::weights::ParameterStore;
use recurrent::{
    Activation, Cell, Direction, Dropout, Error, Gru, GruOptions, Lstm, LstmOptions, LstmWeights, Parameters, Rnn,
    Stack, State,
};

use super::common::{Numbers, dot};

fn filled<C: Cell<f64> + Parameters<f64>>(
    layers: usize,
    both: bool,
    inputs: usize,
    cell: impl Fn(usize) -> C,
) -> Stack<C> {
    let mut stack = Stack::new(layers, both, inputs, cell);
    Numbers::new(11).fill(&mut stack, 9);
    stack
}

fn states<C: Cell<f64>>(numbers: &mut Numbers, stack: &Stack<C>, sequences: usize) -> Vec<State<f64>> {
    let cells = stack.layers.iter().flat_map(|layer| std::iter::once(&layer.forward).chain(&layer.reverse));
    cells.map(|cell| numbers.state(sequences, cell.output_size(), cell.cell_size())).collect()
}

/// One number made of all outputs of a pass.
fn value<C: Cell<f64>>(
    stack: &Stack<C>,
    x: &LodTensor<f64>,
    initial: &[State<f64>],
    dropout: Option<Dropout>,
    (by_y, by_last): (&LodTensor<f64>, &[State<f64>]),
) -> f64 {
    let (out, _) = stack.forward(x, initial, dropout).unwrap();
    let of_states =
        |(a, b): (&State<f64>, &State<f64>)| dot(a.h.values(), b.h.values()) + dot(a.c.values(), b.c.values());
    dot(out.y.values(), by_y.values()) + out.last.iter().zip(by_last).map(of_states).sum::<f64>()
}

/// All gradients of a stack against differences, with states, gradients by all outputs, and
/// dropout.
fn gradients_are_slopes<C: Cell<f64> + Parameters<f64>>(stack: &Stack<C>, dropout: Option<Dropout>) {
    let (lengths, mut numbers) = ([3, 0, 2, 4], Numbers::new(5));
    let x = numbers.tensor::<f64>(&lengths, stack.layers[0].forward.input_size());
    let initial = states(&mut numbers, stack, lengths.len());
    let by_last = states(&mut numbers, stack, lengths.len());
    let (out, saved) = stack.forward(&x, &initial, dropout).unwrap();
    let by_y = numbers.like(&out.y);
    let grads = saved.backward(Some(&by_y), &by_last).unwrap();
    let weights = (&by_y, &by_last[..]);
    let close = |what: &str, gradient: f64, at: &dyn Fn(f64) -> f64| {
        let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((slope - gradient).abs() < 1e-6 * gradient.abs().max(1.0), "{what}: {gradient}, slope {slope}");
    };
    for i in 0..x.values().len() {
        close("x", grads.x.values()[i], &|h| {
            let mut x = x.clone();
            x.values_mut()[i] += h;
            value(stack, &x, &initial, dropout, weights)
        });
    }
    for state in 0..initial.len() {
        for i in 0..initial[state].h.values().len() {
            close("h0", grads.initial[state].h.values()[i], &|h| {
                let mut initial = initial.clone();
                initial[state].h.values_mut()[i] += h;
                value(stack, &x, &initial, dropout, weights)
            });
        }
        for i in 0..initial[state].c.values().len() {
            close("c0", grads.initial[state].c.values()[i], &|h| {
                let mut initial = initial.clone();
                initial[state].c.values_mut()[i] += h;
                value(stack, &x, &initial, dropout, weights)
            });
        }
    }
    let (names, found): (Vec<_>, Vec<_>) =
        grads.weights.named().into_iter().map(|tensor| (tensor.name.clone(), tensor)).unzip();
    assert_eq!(names, stack.named().into_iter().map(|tensor| tensor.name).collect::<Vec<_>>());
    for (t, tensor) in found.iter().enumerate() {
        for i in 0..tensor.values.len() {
            close(&tensor.name, tensor.values[i], &|h| {
                let mut stack = stack.clone();
                stack.named_mut()[t].values[i] += h;
                value(&stack, &x, &initial, dropout, weights)
            });
        }
    }
}

#[test]
fn gradients_of_all_kinds_are_slopes() {
    let dropout = Some(Dropout { probability: 0.4, seed: 3 });
    gradients_are_slopes(&filled(2, true, 2, |inputs| Lstm::zeros(inputs, 2)), None);
    gradients_are_slopes(&filled(3, false, 1, |inputs| Gru::zeros(inputs, 2)), dropout);
    gradients_are_slopes(&filled(2, true, 2, |inputs| Rnn::zeros(inputs, 3)), dropout);
    let projected =
        |inputs| Lstm { options: LstmOptions::default(), weights: LstmWeights::zeros_projected(inputs, 3, 2) };
    gradients_are_slopes(&filled(2, true, 2, projected), dropout);
}

#[test]
fn dropout_is_a_function_of_its_seed_and_spares_recognition() {
    let stack = filled(2, true, 3, |inputs| Gru::zeros(inputs, 4));
    let x = Numbers::new(1).tensor::<f64>(&[5, 3], 3);
    let y = |seed| stack.forward(&x, &[], Some(Dropout { probability: 0.5, seed })).unwrap().0.y;
    assert_eq!(y(1).values(), y(1).values());
    assert_ne!(y(1).values(), y(2).values());
    assert_eq!(stack.forward(&x, &[], None).unwrap().0.y.values(), stack.run(&x, &[]).unwrap().y.values());
    // One layer has nothing in between.
    let one = filled(1, true, 3, |inputs| Gru::zeros(inputs, 4));
    let dropped = one.forward(&x, &[], Some(Dropout { probability: 0.5, seed: 1 })).unwrap().0;
    assert_eq!(dropped.y.values(), one.run(&x, &[]).unwrap().y.values());
}

#[test]
fn pytorch_names_round_trip() {
    let x = Numbers::new(1).tensor::<f64>(&[2, 0, 3], 3);
    fn check<C: recurrent::weights::TorchCell<f64> + Parameters<f64>>(
        stack: &Stack<C>,
        options: C::Options,
        x: &LodTensor<f64>,
    ) {
        let store = stack.to_torch("a.").unwrap();
        let again =
            Stack::<C>::from_torch(&ParameterStore::from_bytes(&store.to_bytes().unwrap()).unwrap(), "a.", options);
        assert_eq!(again.unwrap().run(x, &[]).unwrap().y.values(), stack.run(x, &[]).unwrap().y.values());
    }
    check(&filled(2, true, 3, |inputs| Lstm::zeros(inputs, 2)), LstmOptions::default(), &x);
    check(&filled(3, false, 3, |inputs| Gru::zeros(inputs, 2)), GruOptions::default(), &x);
    check(&filled(2, true, 3, |inputs| Rnn::zeros(inputs, 2)), Activation::Tanh, &x);
    let projected =
        |inputs| Lstm { options: LstmOptions::default(), weights: LstmWeights::zeros_projected(inputs, 3, 2) };
    check(&filled(2, true, 3, projected), LstmOptions::default(), &x);

    let store = filled(1, true, 3, |inputs| Lstm::zeros(inputs, 2)).to_torch("lstm.").unwrap();
    let names = ["bias_hh_l0", "bias_ih_l0", "weight_hh_l0", "weight_ih_l0"];
    let expected: Vec<String> =
        names.iter().flat_map(|name| [format!("lstm.{name}"), format!("lstm.{name}_reverse")]).collect();
    assert_eq!(store.names().collect::<Vec<_>>(), expected);
}

#[test]
fn a_wrong_prefix_lists_what_there_is() {
    let store = filled(1, false, 3, |inputs| Gru::zeros(inputs, 2)).to_torch("encoder.rnn.").unwrap();
    let error = Stack::<Gru<f64>>::from_torch(&store, "encoder.", GruOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no tensor named encoder.weight_hh_l0; did you mean encoder.rnn.weight_hh_l0? There are \
         encoder.rnn.bias_hh_l0, encoder.rnn.bias_ih_l0, encoder.rnn.weight_hh_l0, encoder.rnn.weight_ih_l0"
    );
}

#[test]
fn wrong_tensors_of_a_file_are_named() {
    let whole = filled(2, true, 3, |inputs| Lstm::zeros(inputs, 2)).to_torch("").unwrap();
    let read =
        |store: &ParameterStore<f64>| Stack::<Lstm<f64>>::from_torch(store, "", LstmOptions::default()).unwrap_err();
    let with = |name: &str, shape: &[usize]| {
        let mut store = whole.clone();
        store.insert(name, shape, vec![0.5; shape.iter().product()]).unwrap();
        read(&store)
    };
    let shape = |tensor: &str, expected: &[usize], found: &[usize]| Error::TensorShape {
        tensor: tensor.into(),
        expected: expected.to_vec(),
        found: found.to_vec(),
    };
    // The output of layer 0 is 4 wide: two directions.
    assert_eq!(with("weight_ih_l1", &[8, 3]), shape("weight_ih_l1", &[8, 4], &[8, 3]));
    assert_eq!(with("weight_hh_l0_reverse", &[8, 3]), shape("weight_hh_l0_reverse", &[12, 3], &[8, 3]));
    assert_eq!(with("bias_hh_l1", &[7]), shape("bias_hh_l1", &[8], &[7]));
    assert_eq!(with("weight_ih_l0", &[24]), Error::NoMatrix { tensor: "weight_ih_l0".into(), found: vec![24] });
    assert_eq!(with("weight_hh_l0", &[0, 0]), Error::Zero { what: "the hidden size" });
    let not_in_store = |error: Error, name: &str| matches!(error, Error::NotInStore { tensor, .. } if tensor == name);
    assert!(not_in_store(with("weight_hr_l0", &[2, 2]), "weight_hr_l0_reverse"));

    for missing in ["weight_ih_l1_reverse", "weight_hh_l1", "bias_ih_l0", "bias_hh_l1_reverse", "weight_ih_l0"] {
        let mut store = ParameterStore::new();
        for tensor in whole.named().iter().filter(|tensor| tensor.name != missing) {
            store.insert(&tensor.name, &tensor.shape, tensor.values.to_vec()).unwrap();
        }
        assert!(not_in_store(read(&store), missing), "{missing}");
    }
    let error = read(&ParameterStore::new());
    assert_eq!(error.to_string(), "there is no tensor named weight_hh_l0: there are no tensors at all");
    assert!(not_in_store(error, "weight_hh_l0"));

    let mut store = whole.clone();
    let mut values = vec![0.25; 24];
    values[5] = f64::NAN;
    store.insert("weight_ih_l0", &[8, 3], values).unwrap();
    assert!(matches!(read(&store), Error::TensorNotFinite { tensor, position: 5, .. } if tensor == "weight_ih_l0"));

    let bytes = whole.to_bytes().unwrap();
    let singles = ParameterStore::<f32>::from_bytes(&bytes).unwrap();
    let error = Stack::<Lstm<f32>>::from_torch(&singles, "", LstmOptions::default()).unwrap_err();
    let expected = Error::TensorType { tensor: "weight_hh_l0".into(), expected: "F32", found: "F64".into() };
    assert_eq!(error, expected);

    let mut projected = ParameterStore::<f64>::new();
    for (name, shape) in [("weight_ih_l0", [9, 1]), ("weight_hh_l0", [9, 2]), ("weight_hr_l0", [2, 3])] {
        projected.insert(name, &shape, vec![0.5; shape[0] * shape[1]]).unwrap();
    }
    let error = Stack::<Gru<f64>>::from_torch(&projected, "", GruOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Unused { tensor: "weight_hr", .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A mini-batch gives what its sequences give one at a time; and what its cells give one after
    /// the other.
    #[test]
    fn batch_equals_its_sequences(
        lengths in prop::collection::vec(0_usize..6, 0..5), layers in 1_usize..4, both: bool, seed in 0_u64..1000,
    ) {
        let stack = filled(layers, both, 3, |inputs| Lstm::zeros(inputs, 2));
        let mut numbers = Numbers::new(seed);
        let x = numbers.tensor::<f64>(&lengths, 3);
        let initial = states(&mut numbers, &stack, lengths.len());
        let out = stack.run(&x, &initial).unwrap();
        prop_assert!(out.y.lod() == x.lod());
        let near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        for (i, &len) in lengths.iter().enumerate() {
            let rows = x.lod().element(0, i);
            let one = LodTensor::from_vec([len, 3], x.values_of(rows).to_vec(), lod::Lod::from_lengths(&[[len]]).unwrap()).unwrap();
            let row = |state: &State<f64>| State {
                h: state.h.like(1, state.h.row(i).to_vec(), Lod::none()).unwrap(),
                c: state.c.like(1, state.c.row(i).to_vec(), Lod::none()).unwrap(),
            };
            let alone = stack.run(&one, &initial.iter().map(row).collect::<Vec<_>>()).unwrap();
            prop_assert!(near(alone.y.values(), out.y.sequence(i)));
            for (alone, all) in alone.last.iter().zip(&out.last) {
                prop_assert!(near(alone.h.values(), all.h.row(i)) && near(alone.c.values(), all.c.row(i)));
            }
        }
        // By hand: forward and reverse side by side, layer upon layer.
        let (mut y, mut state) = (x.clone(), 0);
        for layer in &stack.layers {
            let forward = layer.forward.run(&y, Direction::Forward, Some(&initial[state])).unwrap();
            state += 1;
            y = match &layer.reverse {
                None => forward.y,
                Some(cell) => {
                    let reverse = cell.run(&y, Direction::Reverse, Some(&initial[state])).unwrap();
                    state += 1;
                    let rows = (0..y.num_rows()).flat_map(|row| [forward.y.row(row), reverse.y.row(row)].concat());
                    LodTensor::from_vec([y.num_rows(), 4], rows.collect::<Vec<_>>(), y.lod().clone()).unwrap()
                }
            };
        }
        prop_assert!(near(y.values(), out.y.values()));
    }
}
