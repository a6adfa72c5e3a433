//! The losses of `kaldera-losses` in models that candle differentiates: `losses.rs` has the custom
//! operations; here their gradients are checked and two small models are trained with them.
//!
//! ```sh
//! cargo run --release        # in this folder
//! ```

mod definitions;
mod gradients;
mod losses;

use candle_core::{DType, Device, Error, Result, Tensor, Var};
use kaldera_losses::{CtcOptions, Ragged, RnntOptions};

/// The blank, which is class 0, and five labels.
const CLASSES: usize = 6;
const STEPS: usize = 100;
const STRINGS: usize = 200;

fn main() -> Result<()> {
    gradients::check_all()?;
    let (train, test) = (Strings::draw(1, STRINGS)?, Strings::draw(2, STRINGS)?);
    train_ctc(&train, &test)?;
    train_rnnt(&train)?;
    Ok(())
}

/// Strings of labels, and noisy frames of them: two to four for each label, one or two of silence
/// around it.
struct Strings {
    /// `[N, T, C]`, padded with 0.
    frames: Tensor,
    lengths: Vec<usize>,
    labels: Ragged<i32>,
}

impl Strings {
    /// `count` strings of one to six labels, the same for the same seed.
    fn draw(seed: u64, count: usize) -> Result<Self> {
        let mut state = seed;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).map(|x| x % n).map_err(Error::wrap)
        };
        let (mut strings, mut frames) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (mut string, mut classes) = (Vec::new(), vec![0; 1 + below(2)?]);
            for _ in 0..1 + below(6)? {
                let label = 1 + below(CLASSES - 1)?;
                string.push(i32::try_from(label).map_err(Error::wrap)?);
                classes.resize(classes.len() + 2 + below(3)?, label);
                classes.resize(classes.len() + 1 + below(2)?, 0);
            }
            strings.push(string);
            frames.push(classes);
        }
        let lengths: Vec<usize> = frames.iter().map(Vec::len).collect();
        let longest = lengths.iter().copied().fold(0, usize::max);
        let mut values = vec![0.0_f32; count * longest * CLASSES];
        for (to, classes) in values.chunks_mut(longest * CLASSES).zip(frames) {
            for (frame, class) in to.chunks_mut(CLASSES).zip(classes) {
                for (i, x) in frame.iter_mut().enumerate() {
                    *x = below(1000)? as f32 / 1000.0 - 0.5 + f32::from(u8::from(i == class));
                }
            }
        }
        let frames = Tensor::from_vec(values, (count, longest, CLASSES), &Device::Cpu)?;
        Ok(Self { frames, lengths, labels: Ragged::from_lists(&strings).map_err(Error::wrap)? })
    }

    /// The product of frames and weights `[C, C]`: `[N, T, C]`.
    fn scores(&self, weights: &Tensor) -> Result<Tensor> {
        self.frames.flatten_to(1)?.matmul(weights)?.reshape(self.frames.dims())
    }

    /// The last label before each place of each string, 0 at its begin and in the padding:
    /// `[N, S + 1]`.
    fn last_labels(&self) -> Result<Tensor> {
        let longest = self.labels.rows().map(<[i32]>::len).fold(0, usize::max);
        let mut last = Vec::new();
        for string in self.labels.rows() {
            last.push(0_i64);
            last.extend(string.iter().map(|&label| i64::from(label)));
            last.resize(last.len() + longest - string.len(), 0);
        }
        Tensor::from_vec(last, (self.lengths.len(), longest + 1), &Device::Cpu)
    }

    /// How many strings the best class of each frame gives, without repetitions and blanks.
    fn num_right(&self, scores: &Tensor) -> Result<usize> {
        let best = scores.argmax(2)?.to_vec2::<u32>()?;
        let is_right = |((mut classes, &length), labels): ((Vec<u32>, &usize), &[i32])| {
            classes.truncate(length);
            classes.dedup();
            classes.retain(|&class| class != 0);
            classes.iter().map(|&class| i64::from(class)).eq(labels.iter().map(|&label| i64::from(label)))
        };
        Ok(best.into_iter().zip(&self.lengths).zip(self.labels.rows()).map(is_right).filter(|&right| right).count())
    }
}

/// Trains a linear layer by CTC. Returns the loss of each step, and how many strings of `test` are
/// right after the last.
fn train_ctc(train: &Strings, test: &Strings) -> Result<(Vec<f32>, usize)> {
    let weights = Var::zeros((CLASSES, CLASSES), DType::F32, &Device::Cpu)?;
    let loss = || losses::ctc_loss(&train.scores(&weights)?, &train.lengths, &train.labels, &CtcOptions::default());
    let course = descend("CTC", &[&weights], 2.0, loss)?;
    let right = test.num_right(&test.scores(&weights)?)?;
    println!("CTC: {right} of {} new strings are right", test.lengths.len());
    Ok((course, right))
}

/// Trains a transducer: a linear layer over frames, plus scores that depend on the last label.
/// Returns the loss of each step.
fn train_rnnt(train: &Strings) -> Result<Vec<f32>> {
    let zeros = || Var::zeros((CLASSES, CLASSES), DType::F32, &Device::Cpu);
    let (encoder, decoder, last_labels) = (zeros()?, zeros()?, train.last_labels()?);
    let loss = || {
        let decoded = decoder.index_select(&last_labels.flatten_all()?, 0)?;
        let decoded = decoded.reshape((train.lengths.len(), 1, (), CLASSES))?;
        let logits = train.scores(&encoder)?.unsqueeze(2)?.broadcast_add(&decoded)?;
        losses::rnnt_loss(&logits, &train.lengths, &train.labels, &RnntOptions::default())
    };
    descend("RNN-T", &[&encoder, &decoder], 0.5, loss)
}

/// Gradient descent over all strings: `STEPS` steps down a loss.
fn descend(name: &str, weights: &[&Var], rate: f64, loss: impl Fn() -> Result<Tensor>) -> Result<Vec<f32>> {
    let mut course = Vec::new();
    for step in 0..=STEPS {
        let loss = loss()?;
        course.push(loss.to_scalar()?);
        if step % 20 == 0 {
            println!("{name}, step {step}: loss {:.3}", course[step]);
        }
        let gradients = loss.backward()?;
        for &weights in weights {
            if let Some(gradient) = gradients.get(weights) {
                weights.set(&(weights.as_tensor() - (gradient * rate)?)?)?;
            }
        }
    }
    Ok(course)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_descent_lowers_both_losses() {
        let (train, test) = (Strings::draw(1, STRINGS).unwrap(), Strings::draw(2, STRINGS).unwrap());
        let (ctc, right) = train_ctc(&train, &test).unwrap();
        let rnnt = train_rnnt(&train).unwrap();
        for course in [ctc, rnnt] {
            assert!(course[STEPS] < course[0] / 3.0, "{course:?}");
        }
        assert!(right >= STRINGS * 9 / 10, "{right}");
    }
}
