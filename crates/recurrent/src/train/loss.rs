//! Losses: log-softmax, and the negative log-likelihood of the right classes.

use kaldera_base::Real;
use kaldi_matrix::SubMatrixMut;
use lod::LodTensor;

use crate::error::Error;
use crate::train::linear::check_gradient;

/// Returns log-probabilities of classes: `y = x - ln Σ e^x` of each row, with the same LoD.
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::train::log_softmax;
///
/// let scores = LodTensor::from_vec([1, 2], vec![1000.0_f64, 1000.0], Lod::none())?;
/// assert!((log_softmax(&scores)?.values()[0] - 0.5_f64.ln()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Only errors of the libraries underneath; none for valid tensors.
#[doc(alias = "LogSoftmax")]
pub fn log_softmax<T: Real>(x: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
    let mut y = x.values().to_vec();
    if x.width() > 0 {
        SubMatrixMut::new(&mut y, x.num_rows(), x.width(), x.width())?.apply_log_soft_max_per_row();
    }
    Ok(x.like(x.num_rows(), y, x.lod().clone())?)
}

/// Returns the gradient of [`log_softmax`] by its input: `g - e^y Σ g` of each row. `y` is the
/// result of [`log_softmax`] and `grad` its gradient.
///
/// # Errors
/// [`Error::Shape`]; [`Error::OtherLod`] if `grad` has a LoD that differs from the LoD of `y`.
pub fn log_softmax_backward<T: Real>(y: &LodTensor<T>, grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
    let width = y.width();
    check_gradient("the gradient by the log-probabilities", grad, y, width)?;
    let mut by_x = y.values().to_vec();
    kaldera_base::math::exp_in_place(&mut by_x);
    for (by_x, grad) in by_x.chunks_exact_mut(width.max(1)).zip(grad.values().chunks_exact(width.max(1))) {
        let sum: T = grad.iter().copied().sum();
        by_x.iter_mut().zip(grad).for_each(|(x, &g)| *x = g - *x * sum);
    }
    Ok(y.like(y.num_rows(), by_x, y.lod().clone())?)
}

/// A loss and its gradient by its input.
#[derive(Debug, Clone)]
pub struct Loss<T: Real> {
    /// The loss, a mean over rows; 0 without rows.
    pub value: f64,
    /// The gradient by the input, with the input's LoD.
    pub grad: LodTensor<T>,
}

/// Returns the mean over all rows of `-y[class]`, with log-probabilities y and the right class of
/// each row in `classes`.
///
/// # Errors
/// [`Error::Count`] unless there is one class for each row; [`Error::Class`] for a class beyond the
/// columns.
#[doc(alias = "NLLLoss")]
pub fn nll_loss<T: Real>(y: &LodTensor<T>, classes: &[usize]) -> Result<Loss<T>, Error> {
    check_classes(y, classes)?;
    let width = y.width();
    let rows = y.num_rows().max(1) as f64;
    let mut grad = kaldera_base::memory::zeros(y.values().len());
    let mut sum = 0.0;
    let each = T::from_f64(-1.0 / rows);
    for (row, &class) in classes.iter().enumerate() {
        sum -= y.values()[row * width + class].to_f64();
        grad[row * width + class] = each;
    }
    Ok(Loss { value: sum / rows, grad: y.like(y.num_rows(), grad, y.lod().clone())? })
}

/// Returns the mean negative log-likelihood of the right classes, from scores: [`nll_loss`] of
/// [`log_softmax`], and its gradient by the scores, `(softmax - 1[class]) / rows`.
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::train::cross_entropy;
///
/// let scores = LodTensor::from_vec([2, 4], vec![0.0_f64; 8], Lod::none())?;
/// let loss = cross_entropy(&scores, &[3, 0])?;
/// assert!((loss.value - 4.0_f64.ln()).abs() < 1e-12); // all classes are equally likely
/// assert!(
///     (loss.grad.row(0)[3] + 0.375).abs() < 1e-12 && (loss.grad.row(1)[3] - 0.125).abs() < 1e-12
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`nll_loss`].
#[doc(alias = "CrossEntropyLoss")]
pub fn cross_entropy<T: Real>(scores: &LodTensor<T>, classes: &[usize]) -> Result<Loss<T>, Error> {
    check_classes(scores, classes)?;
    let y = log_softmax(scores)?;
    let loss = nll_loss(&y, classes)?;
    let grad = log_softmax_backward(&y, &loss.grad)?;
    Ok(Loss { value: loss.value, grad })
}

/// Returns the number of rows with the highest score at the right class; of equal scores the first
/// counts.
///
/// # Errors
/// As [`nll_loss`].
pub fn num_correct<T: Real>(scores: &LodTensor<T>, classes: &[usize]) -> Result<usize, Error> {
    check_classes(scores, classes)?;
    let best = |row: &[T]| (1..row.len()).fold(0, |best, i| if row[i] > row[best] { i } else { best });
    let rows = scores.values().chunks_exact(scores.width().max(1));
    Ok(rows.zip(classes).filter(|&(row, &class)| best(row) == class).count())
}

fn check_classes<T: Real>(scores: &LodTensor<T>, classes: &[usize]) -> Result<(), Error> {
    if classes.len() != scores.num_rows() {
        return Err(Error::Count {
            what: "the number of right classes",
            expected: scores.num_rows(),
            found: classes.len(),
        });
    }
    match classes.iter().position(|&class| class >= scores.width()) {
        Some(row) => Err(Error::Class { row, class: classes[row], classes: scores.width() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use lod::Lod;
    use proptest::prelude::*;

    use super::*;

    fn rows(rows: usize, width: usize, values: &[f64]) -> LodTensor<f64> {
        LodTensor::from_vec([rows, width], values.to_vec(), Lod::from_lengths(&[[rows]]).unwrap()).unwrap()
    }

    #[test]
    fn losses_equal_pytorch() {
        let scores = rows(2, 3, &[0.5, -1.0, 2.0, 3.0, 0.25, -0.75]);
        let loss = cross_entropy(&scores, &[2, 1]).unwrap();
        assert!((loss.value - 1.5375713814464695).abs() < 1e-14);
        let expected = [
            0.08764519607001835,
            0.019556286635343725,
            -0.10720148270536206,
            0.45979311218199004,
            -0.4706064097406296,
            0.010813297558639528,
        ];
        assert!(loss.grad.values().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!(loss.grad.lod().ptr_eq(scores.lod()));
        assert_eq!(num_correct(&scores, &[2, 1]).unwrap(), 1);
    }

    #[test]
    fn no_rows_have_no_loss() {
        let none = rows(0, 3, &[]);
        assert_eq!(cross_entropy(&none, &[]).unwrap().value, 0.0);
        assert!(log_softmax(&rows(2, 0, &[])).unwrap().values().is_empty());
        assert_eq!(num_correct(&none, &[]).unwrap(), 0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let scores = rows(2, 3, &[0.0; 6]);
        let what = "the number of right classes";
        assert_eq!(nll_loss(&scores, &[0]).unwrap_err(), Error::Count { what, expected: 2, found: 1 });
        assert_eq!(cross_entropy(&scores, &[0, 3]).unwrap_err(), Error::Class { row: 1, class: 3, classes: 3 });
        assert!(num_correct(&scores, &[0, 3]).is_err());
        assert!(matches!(log_softmax_backward(&scores, &rows(2, 2, &[0.0; 4])), Err(Error::Shape { .. })));
        let other = scores.with_lod(Lod::from_lengths(&[[1, 1]]).unwrap()).unwrap();
        assert!(matches!(log_softmax_backward(&scores, &other), Err(Error::OtherLod { .. })));
    }

    proptest! {
        /// The gradient of any weighted sum of the log-probabilities is the slope.
        #[test]
        fn log_softmax_backward_is_the_slope(
            x in prop::collection::vec(-4.0_f64..4.0, 6), g in prop::collection::vec(-2.0_f64..2.0, 6),
        ) {
            let (scores, grad) = (rows(2, 3, &x), rows(2, 3, &g));
            let by_x = log_softmax_backward(&log_softmax(&scores).unwrap(), &grad).unwrap();
            let value = |x: &[f64]| -> f64 {
                log_softmax(&rows(2, 3, x)).unwrap().values().iter().zip(&g).map(|(y, g)| y * g).sum()
            };
            for i in 0..6 {
                let at = |h: f64| { let mut x = x.clone(); x[i] += h; value(&x) };
                let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
                prop_assert!((slope - by_x.values()[i]).abs() < 1e-6, "{slope} {}", by_x.values()[i]);
            }
        }

        #[test]
        fn normalized_rows_sum_to_one(x in prop::collection::vec(-800.0_f32..800.0, 1..40)) {
            let scores = LodTensor::from_vec([1, x.len()], x, Lod::none()).unwrap();
            let y = log_softmax(&scores).unwrap();
            let sum: f32 = y.values().iter().map(|y| y.exp()).sum();
            prop_assert!((sum - 1.0).abs() < 1e-3, "{sum}");
        }
    }
}
