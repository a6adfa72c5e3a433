//! Cross-entropy with smoothed labels, for attention decoders.

use kaldera_base::{Real, memory};

use crate::batch::{Batch, num_classes};
use crate::error::Error;
use crate::reduction::Reduction;
use crate::rows::{Norm, norms, softmax};

/// Computes the cross-entropy of logits with the distribution that has `1 - smoothing` at a row's
/// label and, in addition, `smoothing / classes` everywhere; PyTorch's
/// `CrossEntropyLoss(label_smoothing=..)`. Rows whose label is negative are ignored (PyTorch:
/// `ignore_index`). With [`Reduction::None`] there is a loss for each row, 0 for ignored rows; a
/// mean is over the other rows.
///
/// `labels` has an entry for each row of `logits`, padding included.
///
/// # Errors
/// [`Error::Count`] unless there is one label for each row; [`Error::Label`]; [`Error::Logit`];
/// [`Error::Option`] unless `smoothing` is in 0..=1.
pub fn label_smoothing_loss<T: Real, B: Batch<T>>(
    logits: &B,
    labels: &[i32],
    smoothing: f64,
    reduction: Reduction,
) -> Result<(Vec<f64>, LabelSmoothingSaved<T, B>), Error> {
    Error::check_option("smoothing", smoothing, (0.0..=1.0).contains(&smoothing), "in 0..=1")?;
    let classes = num_classes(logits);
    Error::check("the labels", logits.values().len().checked_div(classes).unwrap_or(0), labels.len())?;
    let (mut targets, mut found, mut losses) = (Vec::new(), Vec::new(), vec![0.0; labels.len()]);
    for (row, (x, &label)) in logits.values().chunks_exact(classes.max(1)).zip(labels).enumerate() {
        let Ok(class) = usize::try_from(label) else { continue };
        if class >= classes {
            return Err(Error::Label { sequence: 0, position: row, label, classes });
        }
        if x.iter().all(|&x| x == -T::INFINITY) {
            return Err(Error::Logit { sequence: 0, row, class: 0, logit: f64::NEG_INFINITY });
        }
        let norm = norms(0, x, classes, false).map_err(|error| error.behind(row))?[0];
        let spread = |x: &T| norm.log_prob(*x);
        let mean = if smoothing > 0.0 { x.iter().map(spread).sum::<f64>() / classes as f64 } else { 0.0 };
        // With a weight of 0, a term that may be minus infinity is left out.
        let own = if smoothing < 1.0 { (1.0 - smoothing) * norm.log_prob(x[class]) } else { 0.0 };
        losses[row] = -own - smoothing * mean;
        targets.push((row, class));
        found.push(norm);
    }
    let weight = if reduction == Reduction::Mean { 1.0 / targets.len().max(1) as f64 } else { 1.0 };
    let rows = labels.len();
    let loss = if reduction == Reduction::None { losses } else { vec![losses.iter().sum::<f64>() * weight] };
    let saved =
        LabelSmoothingSaved { logits: logits.clone(), targets, norms: found, smoothing, weight, rows, reduction };
    Ok((loss, saved))
}

/// Values that the gradient of [`label_smoothing_loss`] needs.
#[derive(Debug, Clone)]
pub struct LabelSmoothingSaved<T, B> {
    logits: B,
    /// Rows that are not ignored, and their classes.
    targets: Vec<(usize, usize)>,
    norms: Vec<Norm<T>>,
    smoothing: f64,
    weight: f64,
    rows: usize,
    reduction: Reduction,
}

impl<T: Real, B: Batch<T>> LabelSmoothingSaved<T, B> {
    /// Returns the derivative by the logits, given the derivative by each loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each loss.
    pub fn backward(&self, grad: &[f64]) -> Result<B, Error> {
        let is_single = self.reduction != Reduction::None;
        Error::check("the derivatives by the loss", if is_single { 1 } else { self.rows }, grad.len())?;
        let classes = num_classes(&self.logits);
        let mut values: Vec<T> = memory::zeros(self.logits.values().len());
        for (&(row, class), norm) in self.targets.iter().zip(&self.norms) {
            let grad = self.weight * if is_single { grad[0] } else { grad[row] };
            let at = row * classes..(row + 1) * classes;
            let to = &mut values[at.clone()];
            softmax(&self.logits.values()[at], classes, &[*norm], &[grad], to);
            let spread = T::from_f64(grad * self.smoothing / classes as f64);
            to.iter_mut().for_each(|x| *x -= spread);
            to[class] -= T::from_f64(grad * (1.0 - self.smoothing));
        }
        self.logits.with_values(values)
    }
}
