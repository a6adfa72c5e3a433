//! The recursion over given scores.

use kaldera_base::par;

use super::trellis::Trellis;
use crate::error::Error;

/// Computes the logarithm of the sum over all paths of each trellis. It is the mutual information
/// of two sequences if `px` and `py` are differences of log-probabilities (k2).
///
/// ```
/// use kaldera_losses::rnnt::{RnntType, Trellis, mutual_information_recursion};
///
/// // One symbol, two frames: it is emitted before the first blank, the second, or behind both.
/// let mut trellis = Trellis::new(RnntType::Regular, 1, 2);
/// for (t, score) in [0.1_f64, 0.2, 0.3].into_iter().enumerate() {
///     trellis.set_px(0, t, score.ln());
/// }
/// for (s, t) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
///     trellis.set_py(s, t, 0.0);
/// }
/// let (scores, saved) = mutual_information_recursion(vec![trellis])?;
/// assert!((scores[0] - 0.6_f64.ln()).abs() < 1e-12);
/// assert!((saved.occupations()[0].px(0, 2) - 0.5).abs() < 1e-12);
/// # Ok::<(), kaldera_losses::Error>(())
/// ```
///
/// # Errors
/// [`Error::Score`] for NaN and plus infinity.
pub fn mutual_information_recursion(trellises: Vec<Trellis>) -> Result<(Vec<f64>, MutualInformationSaved), Error> {
    for (sequence, trellis) in trellises.iter().enumerate() {
        check(sequence, trellis)?;
    }
    let (totals, occupations) = par::map(trellises, Trellis::into_occupation).into_iter().unzip();
    Ok((totals, MutualInformationSaved { occupations }))
}

/// Computes [`mutual_information_recursion`] of trellises whose scores are sums of several terms,
/// and the contribution of each term: `[term][sequence]`. Term i > 0 contributes its mean over all
/// paths, the first term the rest, so that a sequence's terms add up to its total.
///
/// # Errors
/// As [`mutual_information_recursion`]; [`Error::Count`] if the terms differ in the number of
/// sequences, or their trellises in the number of symbols or frames.
pub fn joint_mutual_information_recursion(
    terms: &[Vec<Trellis>],
) -> Result<(Vec<Vec<f64>>, MutualInformationSaved), Error> {
    let Some((first, others)) = terms.split_first() else {
        return Ok((Vec::new(), MutualInformationSaved { occupations: Vec::new() }));
    };
    let mut sums = first.clone();
    for other in others {
        Error::check("the sequences of each term", first.len(), other.len())?;
        for (sum, term) in sums.iter_mut().zip(other) {
            Error::check("the symbols of each term", sum.num_symbols(), term.num_symbols())?;
            Error::check("the frames of each term", sum.num_frames(), term.num_frames())?;
            each_arc(term, |is_px, s, t| match is_px {
                true => sum.set_px(s, t, sum.px(s, t) + term.px(s, t)),
                false => sum.set_py(s, t, sum.py(s, t) + term.py(s, t)),
            });
        }
    }
    let (totals, saved) = mutual_information_recursion(sums)?;
    let mean = |(term, occupation): (&Trellis, &Trellis)| {
        let mut mean = 0.0;
        each_arc(term, |is_px, s, t| {
            let (score, share) = match is_px {
                true => (term.px(s, t), occupation.px(s, t)),
                false => (term.py(s, t), occupation.py(s, t)),
            };
            if share > 0.0 {
                mean += score * share;
            }
        });
        mean
    };
    let of_others: Vec<Vec<f64>> =
        others.iter().map(|term| term.iter().zip(&saved.occupations).map(mean).collect()).collect();
    let of_first = (0..totals.len()).map(|i| totals[i] - of_others.iter().map(|term: &Vec<f64>| term[i]).sum::<f64>());
    Ok((std::iter::once(of_first.collect()).chain(of_others.iter().cloned()).collect(), saved))
}

/// Values that the gradient of [`mutual_information_recursion`] needs.
#[derive(Debug, Clone)]
pub struct MutualInformationSaved {
    occupations: Vec<Trellis>,
}

impl MutualInformationSaved {
    /// Returns the derivative of each sequence's total by the scores of its arcs; k2's
    /// `return_grad`.
    pub fn occupations(&self) -> &[Trellis] {
        &self.occupations
    }

    /// Returns the derivative by the scores of arcs, given the derivative by each total. For
    /// several terms, it is the derivative by each of them.
    ///
    /// # Errors
    /// [`Error::Count`] unless `grad` has one value for each sequence.
    pub fn backward(&self, grad: &[f64]) -> Result<Vec<Trellis>, Error> {
        Error::check("the derivatives by the totals", self.occupations.len(), grad.len())?;
        let scaled = |(occupation, &grad): (&Trellis, &f64)| {
            let mut scaled = occupation.clone();
            each_arc(occupation, |is_px, s, t| match is_px {
                true => scaled.set_px(s, t, occupation.px(s, t) * grad),
                false => scaled.set_py(s, t, occupation.py(s, t) * grad),
            });
            scaled
        };
        Ok(self.occupations.iter().zip(grad).map(scaled).collect())
    }
}

/// Calls `f` for each arc, with `true` if it emits a symbol, and with its cell.
fn each_arc(trellis: &Trellis, mut f: impl FnMut(bool, usize, usize)) {
    for s in 0..=trellis.num_symbols() {
        for t in 0..=trellis.num_frames() {
            if s < trellis.num_symbols() {
                f(true, s, t);
            }
            if t < trellis.num_frames() {
                f(false, s, t);
            }
        }
    }
}

fn check(sequence: usize, trellis: &Trellis) -> Result<(), Error> {
    let mut wrong = None;
    each_arc(trellis, |is_px, symbol, frame| {
        let score = if is_px { trellis.px(symbol, frame) } else { trellis.py(symbol, frame) };
        if score.is_nan() || score == f64::INFINITY {
            wrong.get_or_insert(Error::Score { sequence, symbol, frame, score });
        }
    });
    wrong.map_or(Ok(()), Err)
}
