//! The gradient that candle gets from a custom operation, against two that know nothing of it.

use candle_core::{Device, Error, Result, Tensor, Var, bail};
use kaldera_losses::{CtcOptions, Ragged, Reduction, RnntOptions};

use crate::{definitions, losses};

/// Rounding in double precision of numbers around 1, over some ten operations for each entry.
const ROUNDING: f64 = 1e-13;
/// The distance of a central difference. Its error is a third derivative times the square of this,
/// and rounding divided by this.
const STEP: f64 = 1e-5;
const DIFFERENCES: f64 = 1e-8;

const CLASSES: usize = 3;
const LENGTHS: [usize; 3] = [4, 3, 2];
/// What each sequence's loss counts, so that the derivatives by them differ.
const WEIGHTS: [f64; 3] = [1.0, -0.5, 2.0];

/// Checks both losses on three sequences.
///
/// # Errors
/// If a gradient is not what it should be.
pub(crate) fn check_all() -> Result<()> {
    let labels = Ragged::from_lists(&[vec![1, 1], vec![2, 1], vec![]]).map_err(Error::wrap)?;
    let options = CtcOptions::default().with_reduction(Reduction::None);
    let ours = |logits: &Tensor| losses::ctc_loss(logits, &LENGTHS, &labels, &options);
    let of_sequence = |n: usize, logits: Tensor| definitions::ctc_loss(&logits, labels.row(n));
    check("CTC", &logits(&[3, 4, CLASSES])?, ours, |logits| each(logits, of_sequence))?;

    let options = RnntOptions::default().with_reduction(Reduction::None);
    let ours = |logits: &Tensor| losses::rnnt_loss(logits, &LENGTHS, &labels, &options);
    let of_sequence = |n: usize, logits: Tensor| definitions::rnnt_loss(&logits, labels.row(n));
    check("RNN-T", &logits(&[3, 4, 3, CLASSES])?, ours, |logits| each(logits, of_sequence))
}

/// Numbers between -2 and 2 without a pattern.
fn logits(shape: &[usize]) -> Result<Var> {
    let count: usize = shape.iter().product();
    let values = (0..count).map(|i| 2.0 * (i as f64 * 12.9898).sin()).collect();
    Var::from_vec(values, shape, &Device::Cpu)
}

/// What `loss` gives for each sequence's number and logits without padding.
fn each(logits: &Tensor, loss: impl Fn(usize, Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let losses = LENGTHS.iter().enumerate().map(|(n, &frames)| loss(n, logits.get(n)?.narrow(0, 0, frames)?));
    Tensor::stack(&losses.collect::<Result<Vec<_>>>()?, 0)
}

fn check(
    name: &str,
    logits: &Var,
    ours: impl Fn(&Tensor) -> Result<Tensor>,
    by_definition: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    let weights = Tensor::new(&WEIGHTS, &Device::Cpu)?;
    let total = |losses: Tensor| (losses * &weights)?.sum_all();
    let gradient = |total: Tensor| match total.backward()?.get(logits) {
        Some(gradient) => gradient.flatten_all()?.to_vec1::<f64>(),
        None => bail!("{name}: the loss does not depend on the logits"),
    };
    let found = gradient(total(ours(logits)?)?)?;
    let autograd = gradient(total(by_definition(logits)?)?)?;

    let values = logits.flatten_all()?.to_vec1::<f64>()?;
    let moved = |i: usize, by: f64| {
        let mut values = values.clone();
        values[i] += by;
        total(ours(&Tensor::from_vec(values, logits.dims(), &Device::Cpu)?)?)?.to_scalar::<f64>()
    };
    let slope = |i: usize| -> Result<f64> { Ok((moved(i, STEP)? - moved(i, -STEP)?) / (2.0 * STEP)) };
    let differences = (0..values.len()).map(slope).collect::<Result<Vec<f64>>>()?;

    let from_autograd = largest_difference(&found, &autograd);
    let from_differences = largest_difference(&found, &differences);
    println!(
        "{name}: {} derivatives; at most {from_autograd:.0e} from candle's autograd over all alignments, \
         {from_differences:.0e} from finite differences",
        found.len()
    );
    if from_autograd <= ROUNDING && from_differences <= DIFFERENCES {
        return Ok(());
    }
    bail!("{name}: the gradient may differ by {ROUNDING:.0e} and {DIFFERENCES:.0e}")
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    // Unlike `f64::max`, this keeps NaN.
    let larger = |most: f64, x: f64| if x > most || x.is_nan() { x } else { most };
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, larger)
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;

    fn labels() -> Ragged<i32> {
        Ragged::from_lists(&[vec![1, 1], vec![2, 1], vec![]]).unwrap()
    }

    #[test]
    fn gradients_are_those_of_autograd_over_all_alignments_and_of_finite_differences() {
        check_all().unwrap();
    }

    #[test]
    fn a_reduced_loss_is_a_scalar_of_the_logits_type() {
        let logits = logits(&[3, 4, CLASSES]).unwrap();
        for dtype in [DType::F32, DType::F64] {
            let loss = losses::ctc_loss(&logits.to_dtype(dtype).unwrap(), &LENGTHS, &labels(), &CtcOptions::default());
            let loss = loss.unwrap();
            assert_eq!((loss.rank(), loss.dtype()), (0, dtype));
        }
    }

    #[test]
    fn transposed_logits_have_the_same_gradient() {
        let time_first = Var::from_tensor(&logits(&[3, 4, CLASSES]).unwrap().transpose(0, 1).unwrap()).unwrap();
        let gradient = |logits: &Tensor, of: &Var| {
            let loss = losses::ctc_loss(logits, &LENGTHS, &labels(), &CtcOptions::default()).unwrap();
            loss.backward().unwrap().get(of).unwrap().clone()
        };
        let batch_first = Var::from_tensor(&time_first.transpose(0, 1).unwrap().contiguous().unwrap()).unwrap();
        let transposed = gradient(&time_first.transpose(0, 1).unwrap(), &time_first).transpose(0, 1).unwrap();
        let straight = gradient(&batch_first, &batch_first);
        assert_eq!(transposed.to_vec3::<f64>().unwrap(), straight.to_vec3::<f64>().unwrap());
    }

    #[test]
    fn bad_input_is_an_error_that_says_what_is_wrong() {
        let logits = logits(&[3, 4, CLASSES]).unwrap();
        let fails = |logits: &Tensor, lengths: &[usize], expected: &str| {
            let error = losses::ctc_loss(logits, lengths, &labels(), &CtcOptions::default()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        fails(&logits, &[5, 3, 2], "sequence 0 has 5 frames by `lengths`, but the padded batch has 4");
        fails(&logits.get(0).unwrap(), &LENGTHS, "rank");
        fails(&logits.to_dtype(DType::U8).unwrap(), &LENGTHS, "unsupported dtype U8 for op ctc_loss");
        fails(&(logits.as_tensor() * f64::NAN).unwrap(), &LENGTHS, "sequence 0, row 0: the logit of class 0 is NaN");
    }
}
