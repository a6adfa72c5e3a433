//! A network learns what only a memory can know: which two rare symbols came, and in which order,
//! long before the end.
//!
//! Sequences of 20 to 60 symbols are noise (a, b, c, d) but for two: an X or a Y within the first
//! fifth, and another X or Y soon after the middle. When a sequence is over the network has to say
//! which it was: XX, XY, YX or YY. Who remembers nothing is right in one case of four. (S.
//! Hochreiter, J. Schmidhuber, *Long short-term memory*, Neural Computation 9, 1997, task 6a, with
//! lengths that vary more.)
//!
//! The sequences of a mini-batch lie one behind the other, each as long as it is: nothing is
//! padded, masked or cut.
//!
//! ```sh
//! cargo run --release -p kaldera-examples --example recurrent_memory
//! ```

use std::error::Error;
use std::time::Instant;

use kaldera::lod::{Lod, LodTensor};
use kaldera::matrix::RandomState;
use kaldera::recurrent::train::{Adam, AdamOptions, Linear, clip_grad_norm, cross_entropy, num_correct, uniform};
use kaldera::recurrent::{Lstm, Parameters, Stack, State, parameters};

/// a, b, c, d, X, Y; each is a row with a single 1.
const SYMBOLS: usize = 6;
/// XX, XY, YX, YY.
const CLASSES: usize = 4;
const HIDDEN: usize = 32;
const SEED: u64 = 1;
/// What is asked for at the end: of 1000 sequences that it has never seen, so many must be right.
const WANTED: usize = 990;

/// An LSTM, and the scores that a linear layer gives to its last states. With the LSTM's weights
/// for the LSTM it is the gradient.
struct Model<E> {
    encoder: Stack<E>,
    output: Linear<f32>,
}

parameters! {
    impl<E: Parameters<f32>> Parameters<f32> for Model<E> { encoder, output }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut model = Model {
        encoder: Stack::new(1, false, SYMBOLS, |inputs| Lstm::zeros(inputs, HIDDEN)),
        output: Linear::zeros(HIDDEN, CLASSES),
    };
    uniform(&mut model, 1.0 / (HIDDEN as f64).sqrt(), SEED);
    // To begin with, what is in the cells stays there: the second of the four gates is the one that
    // forgets.
    model.encoder.layers[0].forward.weights.bias.as_mut().ok_or("no bias")?.data_mut()[HIDDEN..2 * HIDDEN].fill(2.0);
    println!("{} parameters, chance 25 %", model.num_values());

    let start = Instant::now();
    let mut adam = Adam::new(AdamOptions::default().with_learning_rate(0.02))?;
    let mut random = RandomState::new(SEED);
    for period in 1..=40 {
        const STEPS: usize = 25;
        let (mut correct, mut count, mut loss, mut frames) = (0, 0, 0.0, 0);
        for _ in 0..STEPS {
            let (x, classes) = draw(&mut random, 64)?;
            let (right, value) = learn(&mut model, &mut adam, &x, &classes)?;
            (correct, count, loss, frames) =
                (correct + right, count + classes.len(), loss + value, frames + x.num_rows());
        }
        println!(
            "{:>5} batches: loss {:.4}, {:5.1} % right, {frames} rows without padding, {:.1} s",
            period * STEPS,
            loss / STEPS as f64,
            100.0 * correct as f64 / count as f64,
            start.elapsed().as_secs_f64()
        );
        if correct == count {
            break;
        }
    }

    let (x, classes) = draw(&mut RandomState::new(SEED + 1), 1000)?;
    let correct = num_correct(&model.output.forward(last(&model.encoder.run(&x, &[])?.last)?)?, &classes)?;
    println!("of 1000 sequences never seen before {:.1} % right", correct as f64 / 10.0);
    if correct < WANTED { Err(format!("at least {WANTED} were to be right").into()) } else { Ok(()) }
}

/// One step on one mini-batch: forward, backward, and a little further. Returns how many were right
/// before, and the loss.
fn learn(
    model: &mut Model<Lstm<f32>>,
    adam: &mut Adam<f32>,
    x: &LodTensor<f32>,
    classes: &[usize],
) -> Result<(usize, f64), Box<dyn Error>> {
    let (out, saved) = model.encoder.forward(x, &[], None)?;
    let states = last(&out.last)?;
    let scores = model.output.forward(states)?;
    let loss = cross_entropy(&scores, classes)?;

    let (grad_states, grad_output) = model.output.backward(states, &loss.grad)?;
    let grads = saved.backward(None, &[State::from_hidden(grad_states, HIDDEN)])?;
    let mut gradient = Model { encoder: grads.weights, output: grad_output };
    clip_grad_norm(&mut gradient, 1.0)?;
    adam.step(model, &gradient)?;
    Ok((num_correct(&scores, classes)?, loss.value))
}

/// The last hidden state of each sequence, as rows.
fn last(states: &[State<f32>]) -> Result<&LodTensor<f32>, Box<dyn Error>> {
    Ok(&states.last().ok_or("no layer")?.h)
}

/// Random sequences and their classes.
fn draw(random: &mut RandomState, count: usize) -> Result<(LodTensor<f32>, Vec<usize>), Box<dyn Error>> {
    let mut below = |n: usize| (random.uniform() * n as f64) as usize;
    let (mut rows, mut lengths, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let len = 20 + below(41);
        let mut symbols: Vec<usize> = (0..len).map(|_| below(4)).collect();
        let (first, second) = (below(2), below(2));
        symbols[len / 10 + below(len / 10)] = 4 + first;
        symbols[len / 2 + below(len / 10)] = 4 + second;
        rows.extend(symbols.iter().flat_map(|&symbol| (0..SYMBOLS).map(move |i| f32::from(u8::from(i == symbol)))));
        lengths.push(len);
        classes.push(2 * first + second);
    }
    let lod = Lod::from_lengths(&[&lengths])?;
    Ok((LodTensor::from_vec([lengths.iter().sum(), SYMBOLS], rows, lod)?, classes))
}
