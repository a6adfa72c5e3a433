//! What a user can get wrong: an error with the tensor's name, never a panic, never a NaN that
//! comes out at the other end.

use lod::{Lod, LodTensor};
use proptest::prelude::*;
use recurrent::{
    Cell, Direction, Error, Gru, GruOptions, GruWeights, Lstm, LstmOptions, LstmWeights, Matrix, OutputGradients,
    Parameters, Reset, Rnn, Saved, Stack, State, Update, Vector,
};

use super::common::Numbers;

fn lstm_of_all_kinds() -> Lstm<f64> {
    let peepholes = Some(Matrix::zeros(3, 4));
    Lstm {
        options: LstmOptions::default(),
        weights: LstmWeights { peepholes, ..LstmWeights::zeros_projected(3, 4, 2) },
    }
}

fn paddles_gru() -> Gru<f64> {
    let options = GruOptions::default().with_reset(Reset::Before).with_update(Update::New);
    Gru { options, weights: GruWeights { bias_hn: None, ..GruWeights::zeros(3, 4) } }
}

/// Every weight of a cell that is not finite is named, by all passes.
fn names_what_is_not_finite<C: Cell<f64> + Parameters<f64>>(cell: &C, fraction: f64, bad: f64) {
    let x = Numbers::new(1).tensor::<f64>(&[2, 3], 3);
    let tensors = cell.named().len();
    assert!(tensors >= 3 && cell.run(&x, Direction::Forward, None).is_ok());
    for t in 0..tensors {
        let mut cell = cell.clone();
        let mut named = cell.named_mut();
        let (name, at) = (named[t].name.clone(), (fraction * named[t].values.len() as f64) as usize);
        named[t].values[at] = bad;
        drop(named);
        let expected = |error: Error| match error {
            Error::NotFinite { tensor, position, .. } => assert_eq!((tensor, position), (&name[..], at)),
            other => panic!("{name}: {other}"),
        };
        expected(cell.run(&x, Direction::Forward, None).unwrap_err());
        expected(cell.forward(&x, Direction::Reverse, None).map(|_| ()).unwrap_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn weights_that_are_not_finite_are_named(fraction in 0.0..1.0_f64, bad in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY])) {
        names_what_is_not_finite(&Rnn::zeros(3, 4), fraction, bad);
        names_what_is_not_finite(&lstm_of_all_kinds(), fraction, bad);
        names_what_is_not_finite(&Gru::zeros(3, 4), fraction, bad);
        names_what_is_not_finite(&paddles_gru(), fraction, bad);
    }

    /// Whatever width the input and the states have, and however many states there are: they fit,
    /// or the error has both shapes.
    #[test]
    fn inputs_and_states_of_any_shape_are_taken_or_refused(
        width in 0_usize..6, sequences in 0_usize..4, h in 0_usize..6, c in 0_usize..6, reverse: bool,
    ) {
        let direction = if reverse { Direction::Reverse } else { Direction::Forward };
        let mut numbers = Numbers::new(2);
        let (x, state) = (numbers.tensor::<f64>(&[2, 3], width), numbers.state(sequences, h, c));
        let fits = |cells| width == 3 && (sequences, h, c) == (2, 4, cells);
        let check = |name: &str, fits: bool, result: Result<(), Error>| match result {
            Ok(()) => assert!(fits, "{name} took it"),
            Err(Error::Shape { expected, found, .. }) => assert!(!fits && expected != found, "{name}"),
            Err(other) => panic!("{name}: {other}"),
        };
        check("rnn", fits(0), Rnn::zeros(3, 4).run(&x, direction, Some(&state)).map(|_| ()));
        check("gru", fits(0), Gru::zeros(3, 4).forward(&x, direction, Some(&state)).map(|_| ()));
        check("lstm", fits(4), Lstm::zeros(3, 4).run(&x, direction, Some(&state)).map(|_| ()));
    }

    /// Gradients of another mini-batch are refused, even one of as many rows.
    #[test]
    fn gradients_of_another_batch_are_refused(lengths in prop::collection::vec(0_usize..4, 1..4), width in 3_usize..5) {
        let (lstm, mut numbers) = (Lstm::<f64>::zeros(3, 4), Numbers::new(3));
        let x = numbers.tensor::<f64>(&[2, 3], 3);
        let (_, saved) = lstm.forward(&x, Direction::Forward, None).unwrap();
        let y = numbers.tensor::<f64>(&lengths, width);
        let result = saved.backward(OutputGradients { y: Some(&y), ..OutputGradients::default() }).map(|_| ());
        let rows: usize = lengths.iter().sum();
        match result {
            Ok(()) => prop_assert!(lengths == [2, 3] && width == 4),
            Err(Error::OtherLod { expected, found, .. }) => prop_assert!(rows == 5 && expected != found),
            Err(Error::Shape { expected, found, .. }) => prop_assert!((rows, width) != (5, 4) && expected != found),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

#[test]
fn no_hidden_units_are_refused() {
    let x = Numbers::new(1).tensor::<f32>(&[2], 3);
    let zero = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Zero { .. })), "{result:?}");
    zero(Rnn::zeros(3, 0).run(&x, Direction::Forward, None).map(|_| ()));
    zero(Lstm::zeros(3, 0).run(&x, Direction::Forward, None).map(|_| ()));
    zero(Gru::zeros(3, 0).forward(&x, Direction::Forward, None).map(|_| ()));
    let projected = Lstm { options: LstmOptions::default(), weights: LstmWeights::zeros_projected(3, 4, 0) };
    zero(projected.run(&x, Direction::Forward, None).map(|_| ()));
    zero(Stack::new(2, true, 3, |inputs| Gru::zeros(inputs, 0)).run(&x, &[]).map(|_| ()));
    zero(Stack::<Gru<f32>> { layers: Vec::new() }.run(&x, &[]).map(|_| ()));
    zero(Stack::<Gru<f32>> { layers: Vec::new() }.forward(&x, &[], None).map(|_| ()));
}

/// Rows without values leave the biases and what the network says to itself.
#[test]
fn inputs_of_no_width_are_as_inputs_of_zeros() {
    fn check<C: Cell<f64> + Parameters<f64>>(cell: impl Fn(usize) -> C) {
        let (mut without, mut with) = (cell(0), cell(1));
        Numbers::new(6).fill(&mut with, 4);
        let of_with = with.named().into_iter().map(|tensor| (tensor.name.clone(), tensor.values.to_vec()));
        let values: std::collections::HashMap<_, _> = of_with.collect();
        for tensor in without.named_mut().into_iter().filter(|tensor| tensor.name != "weight_ih") {
            tensor.values.copy_from_slice(&values[&tensor.name]);
        }
        let (nothing, zeros) = (Numbers::new(1).tensor::<f64>(&[3, 2], 0), Numbers::new(1).tensor::<f64>(&[3, 2], 1));
        let zeros = zeros.map(|_| 0.0);
        let (out, saved) = without.forward(&nothing, Direction::Forward, None).unwrap();
        assert_eq!(out.y.values(), with.run(&zeros, Direction::Forward, None).unwrap().y.values());
        assert!(out.y.values().iter().any(|&y| y != 0.0));
        let grads = saved.backward(OutputGradients { y: Some(&out.y), ..OutputGradients::default() }).unwrap();
        assert_eq!(grads.x.shape()[..], [5, 0]);
    }
    check(|inputs| Rnn::zeros(inputs, 4));
    check(|inputs| Lstm::zeros(inputs, 4));
    check(|inputs| Gru::zeros(inputs, 4));
}

#[test]
fn weights_of_the_wrong_shape_are_named() {
    let x = Numbers::new(1).tensor::<f64>(&[2], 3);
    let named = |tensor: &str, result: Result<(), Error>| match result {
        Err(Error::Shape { tensor: found, .. }) => assert_eq!(found, tensor),
        other => panic!("{tensor}: {other:?}"),
    };
    let lstm = |change: &dyn Fn(&mut LstmWeights<f64>)| {
        let mut lstm = lstm_of_all_kinds();
        change(&mut lstm.weights);
        lstm.run(&x, Direction::Forward, None).map(|_| ())
    };
    named("weight_ih", lstm(&|weights| weights.weight_ih = Some(Matrix::zeros(12, 3))));
    named("bias", lstm(&|weights| weights.bias = Some(Vector::zeros(15))));
    named("peepholes", lstm(&|weights| weights.peepholes = Some(Matrix::zeros(4, 4))));
    named("weight_hr", lstm(&|weights| weights.weight_hr = Some(Matrix::zeros(2, 3))));
    named("weight_hh", lstm(&|weights| weights.weight_hh = Matrix::zeros(16, 3)));
    let gru = |change: &dyn Fn(&mut GruWeights<f64>)| {
        let mut gru = Gru::zeros(3, 4);
        change(&mut gru.weights);
        gru.run(&x, Direction::Forward, None).map(|_| ())
    };
    named("weight_hh", gru(&|weights| weights.weight_hh = Matrix::zeros(11, 4)));
    named("weight_ih", gru(&|weights| weights.weight_ih = Some(Matrix::zeros(9, 3))));
    named("bias", gru(&|weights| weights.bias = Some(Vector::zeros(4))));
    named("bias_hn", gru(&|weights| weights.bias_hn = Some(Vector::zeros(12))));
    let mut rnn = Rnn::zeros(3, 4);
    rnn.weights.weight_hh = Matrix::zeros(4, 5);
    named("weight_hh", rnn.run(&x, Direction::Forward, None).map(|_| ()));
}

#[test]
fn stacks_name_what_they_cannot_use() {
    let stack = Stack::new(2, true, 3, |inputs| Lstm::<f64>::zeros(inputs, 2));
    let mut numbers = Numbers::new(4);
    let x = numbers.tensor::<f64>(&[2, 3], 3);
    let three = vec![State::zeros(2, 2, 2); 3];
    let what = "the number of initial states";
    assert_eq!(stack.run(&x, &three).map(|_| ()), Err(Error::Count { what, expected: 4, found: 3 }));
    let back = |y: Option<&LodTensor<f64>>, last: &[State<f64>]| {
        let (_, saved) = stack.forward(&x, &[], None).unwrap();
        saved.backward(y, last).map(|_| ())
    };
    let what = "the number of gradients of last states";
    assert_eq!(back(None, &three), Err(Error::Count { what, expected: 4, found: 3 }));
    for (lengths, width) in [(&[2, 3][..], 3), (&[2, 2], 4), (&[], 4)] {
        assert!(matches!(back(Some(&numbers.tensor(lengths, width)), &[]), Err(Error::Shape { .. })));
    }
    assert!(matches!(back(Some(&numbers.tensor(&[3, 2], 4)), &[]), Err(Error::OtherLod { .. })));
    assert!(back(Some(&numbers.tensor(&[2, 3], 4)), &[]).is_ok());
    assert!(back(None, &[]).is_ok());
    // A cell in the middle that does not take what the one before gives.
    let mut torn = stack.clone();
    torn.layers[1].reverse = Some(Lstm::zeros(3, 2));
    assert!(matches!(torn.run(&x, &[]), Err(Error::Shape { .. })));
    // Rows that nothing divides into sequences.
    let plain = x.with_lod(Lod::none()).unwrap();
    assert!(matches!(stack.run(&plain, &[]), Err(Error::Lod(_))));
}
