//! An LSTM learns to say at every step whether the first value of its sequence was positive: it has to remember it through noise. The
//! sequences of the mini-batch have different lengths and are not padded.
//!
//! `cargo run --release -p recurrent --example echo`

use std::error::Error;

use recurrent::train::{Adam, AdamOptions, Linear, clip_grad_norm, cross_entropy, num_correct, uniform};
use recurrent::{Cell, Direction, LodTensor, Lstm, OutputGradients, Saved};

const HIDDEN: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let mut lstm = Lstm::<f32>::zeros(1, HIDDEN);
    let mut output = Linear::<f32>::zeros(HIDDEN, 2);
    uniform(&mut lstm, 0.3, 1);
    uniform(&mut output, 0.3, 2);
    let options = AdamOptions { learning_rate: 0.02, ..AdamOptions::default() };
    let (mut lstm_steps, mut output_steps) = (Adam::new(options)?, Adam::new(options)?);

    let mut noise = Noise(1);
    for batch in 0..=200 {
        let (x, classes) = draw(&mut noise)?;
        let (out, saved) = lstm.forward(&x, Direction::Forward, None)?;
        let scores = output.forward(&out.y)?;
        let loss = cross_entropy(&scores, &classes)?;
        if batch % 50 == 0 {
            let right = 100 * num_correct(&scores, &classes)? / classes.len();
            println!("batch {batch:3}: {} rows, loss {:.4}, {right} % right", x.rows(), loss.value);
        }

        // Backward, in the order in which forward went, reversed.
        let (grad_y, grad_output) = output.backward(&out.y, &loss.grad)?;
        let mut grads = saved.backward(OutputGradients { y: Some(&grad_y), ..OutputGradients::default() })?;
        clip_grad_norm(&mut grads.weights, 1.0)?;
        lstm_steps.step(&mut lstm.weights, &grads.weights)?;
        output_steps.step(&mut output, &grad_output)?;
    }
    Ok(())
}

/// 32 sequences of 2 to 13 values between -1 and 1, and for each row whether the first value of its sequence is positive.
fn draw(noise: &mut Noise) -> Result<(LodTensor<f32>, Vec<usize>), Box<dyn Error>> {
    let lengths: Vec<usize> = (0..32).map(|sequence| 2 + sequence * 5 % 12).collect();
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    for &len in &lengths {
        let sequence: Vec<f32> = (0..len).map(|_| noise.next()).collect();
        classes.extend(vec![usize::from(sequence[0] > 0.0); len]);
        values.extend(sequence);
    }
    Ok((LodTensor::from_lengths(&lengths, 1, values)?, classes))
}

/// Numbers that look random (G. Marsaglia's xorshift).
struct Noise(u32);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (f64::from(self.0) / f64::from(u32::MAX) * 2.0 - 1.0) as f32
    }
}
