//! A network, a loss and an optimizer together: they learn.

use lod::{Lod, LodTensor};
use recurrent::train::{
    Adam, AdamOptions, Linear, ParameterStore, Sgd, SgdOptions, clip_grad_norm, cross_entropy, num_correct, uniform,
};
use recurrent::{Gru, Lstm, Parameters, Stack, State, parameters};

use super::common::Numbers;

struct Model<E> {
    encoder: Stack<E>,
    output: Linear<f32>,
}

parameters! {
    impl<E: Parameters<f32>> Parameters<f32> for Model<E> { encoder, output }
}

/// Sequences of noise that begin with -1 or 1; the class is which. The last row knows nothing of
/// it.
fn draw(numbers: &mut Numbers, count: usize) -> (LodTensor<f32>, Vec<usize>) {
    let (mut values, mut lengths, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..count {
        let (class, len) = (usize::from(numbers.next::<f32>() > 0.0), 3 + i % 6);
        values.push(if class == 1 { 1.0 } else { -1.0 });
        values.extend((1..len).map(|_| 0.3 * numbers.next::<f32>()));
        lengths.push(len);
        classes.push(class);
    }
    let lod = Lod::from_lengths(&[&lengths]).unwrap();
    (LodTensor::from_vec([values.len(), 1], values, lod).unwrap(), classes)
}

fn rows(states: &[State<f32>]) -> &LodTensor<f32> {
    &states.last().unwrap().h
}

/// Trains with `step`, and returns how many of 200 sequences are right before and after.
fn before_and_after<E>(
    encoder: Stack<E>,
    hidden: usize,
    mut step: impl FnMut(&mut Model<E>, &Model<E::Weights>),
) -> [usize; 2]
where
    E: recurrent::Cell<f32> + Parameters<f32>,
{
    let mut model = Model { encoder, output: Linear::zeros(hidden, 2) };
    uniform(&mut model, 0.5, 3);
    let mut numbers = Numbers::new(1);
    let (unseen, unseen_classes) = draw(&mut Numbers::new(2), 200);
    let count = |model: &Model<E>| {
        let scores = model.output.forward(rows(&model.encoder.run(&unseen, &[]).unwrap().last)).unwrap();
        num_correct(&scores, &unseen_classes).unwrap()
    };
    let before = count(&model);
    for _ in 0..60 {
        let (x, classes) = draw(&mut numbers, 16);
        let (out, saved) = model.encoder.forward(&x, &[], None).unwrap();
        let states = rows(&out.last);
        let loss = cross_entropy(&model.output.forward(states).unwrap(), &classes).unwrap();
        let (by_states, output) = model.output.backward(states, &loss.grad).unwrap();
        let mut grads: Vec<State<f32>> =
            out.last.iter().map(|s| State::zeros(s.h.num_rows(), s.h.width(), s.c.width())).collect();
        grads.last_mut().unwrap().h = by_states;
        let encoder = saved.backward(None, &grads).unwrap().weights;
        let mut gradient = Model { encoder, output };
        clip_grad_norm(&mut gradient, 1.0).unwrap();
        step(&mut model, &gradient);
    }
    // What was learnt survives a file.
    let bytes = ParameterStore::from_parameters(&model).to_bytes().unwrap();
    let after = count(&model);
    uniform(&mut model, 0.5, 4);
    ParameterStore::from_bytes(&bytes).unwrap().copy_to("", &mut model).unwrap();
    assert_eq!(count(&model), after);
    [before, after]
}

#[test]
fn an_lstm_learns_to_remember_with_adam() {
    let mut adam = Adam::new(AdamOptions::default().with_learning_rate(0.05)).unwrap();
    let encoder = Stack::new(1, false, 1, |inputs| Lstm::<f32>::zeros(inputs, 8));
    let [before, after] = before_and_after(encoder, 8, |model, gradient| adam.step(model, gradient).unwrap());
    assert!(before < 150 && after >= 195, "{before} and {after} of 200");
}

#[test]
fn a_gru_of_two_layers_learns_to_remember_with_momentum() {
    let mut sgd = Sgd::new(SgdOptions::default().with_learning_rate(0.3).with_momentum(0.9)).unwrap();
    let encoder = Stack::new(2, false, 1, |inputs| Gru::<f32>::zeros(inputs, 8));
    let [before, after] = before_and_after(encoder, 8, |model, gradient| sgd.step(model, gradient).unwrap());
    assert!(before < 150 && after >= 195, "{before} and {after} of 200");
}
