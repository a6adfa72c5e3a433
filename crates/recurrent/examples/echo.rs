//! An LSTM learns to say at every step whether the first value of its sequence was positive: it has
//! to remember it through noise. The sequences of the mini-batch have different lengths and are not
//! padded.
//!
//! `cargo run --release -p recurrent --example echo`

use std::error::Error;

use recurrent::train::{Adam, AdamOptions, Linear, clip_grad_norm, cross_entropy, num_correct, uniform};
use recurrent::{Cell, Direction, LodTensor, Lstm, OutputGradients, Parameters, Saved, parameters};

const HIDDEN: usize = 8;

/// An LSTM, and the scores that a linear layer gives to its outputs. With the LSTM's weights for
/// the LSTM it is the gradient.
struct Model<L> {
    lstm: L,
    output: Linear<f32>,
}

parameters! {
    impl<L: Parameters<f32>> Parameters<f32> for Model<L> { lstm, output }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut model = Model { lstm: Lstm::zeros(1, HIDDEN), output: Linear::zeros(HIDDEN, 2) };
    uniform(&mut model, 0.3, 1);
    let mut adam = Adam::new(AdamOptions::default().with_learning_rate(0.02))?;

    let mut noise = Noise(1);
    for batch in 0..=200 {
        let (x, classes) = draw(&mut noise)?;
        let (out, saved) = model.lstm.forward(&x, Direction::Forward, None)?;
        let scores = model.output.forward(&out.y)?;
        let loss = cross_entropy(&scores, &classes)?;
        if batch % 50 == 0 {
            let right = 100 * num_correct(&scores, &classes)? / classes.len();
            println!("batch {batch:3}: {} rows, loss {:.4}, {right} % right", x.num_rows(), loss.value);
        }

        // Backward, in the order in which forward went, reversed.
        let (grad_y, output) = model.output.backward(&out.y, &loss.grad)?;
        let lstm = saved.backward(OutputGradients { y: Some(&grad_y), ..OutputGradients::default() })?.weights;
        let mut grads = Model { lstm, output };
        clip_grad_norm(&mut grads, 1.0)?;
        adam.step(&mut model, &grads)?;
    }
    Ok(())
}

/// 32 sequences of 2 to 13 values between -1 and 1, and for each row whether the first value of its
/// sequence is positive.
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
