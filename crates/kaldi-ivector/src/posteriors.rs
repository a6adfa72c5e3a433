//! The Gaussians that count for a frame.

use std::cmp::Ordering;

use crate::error::Error;

/// The Gaussians of a frame, each with its posterior or another weight: an entry of Kaldi's
/// `Posterior`.
pub type FramePosteriors = Vec<(i32, f32)>;

/// Largest threshold that a weight of a frame can lead to: as much as keeping the best Gaussian.
const HIGHEST_THRESHOLD: f32 = 0.99;

/// Sets `posteriors` to the `most` likeliest Gaussians of a frame, from the likeliest on, and
/// returns the logarithm of the sum of their likelihoods. Posteriors below `min_post` are left out,
/// and the rest sums to 1.
///
/// Of Gaussians with equal posteriors the one with the lower number comes first; Kaldi leaves their
/// order open.
///
/// ```
/// let log_likes = [0.6_f32, 0.01, 0.3, 0.09].map(f32::ln);
/// let mut posteriors = Vec::new();
/// kaldi_ivector::select_posteriors(&log_likes, 2, 0.02, &mut posteriors)?;
/// assert_eq!(posteriors.iter().map(|pair| pair.0).collect::<Vec<_>>(), [0, 2]);
/// assert!((posteriors[0].1 - 2.0 / 3.0).abs() < 1e-6);
/// # Ok::<(), kaldi_ivector::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoMaximum`] for log-likelihoods without a finite maximum, [`Error::Option`] for a
/// `most` of 0 and for a `min_post` outside of 0..1.
#[doc(alias = "VectorToPosteriorEntry")]
pub fn select_posteriors(
    log_likes: &[f32],
    most: usize,
    min_post: f32,
    posteriors: &mut FramePosteriors,
) -> Result<f32, Error> {
    check_selection(most, min_post)?;
    posteriors.clear();
    let largest = log_likes.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !largest.is_finite() {
        return Err(Error::NoMaximum);
    }
    let likelihoods = |least: f32| {
        let above = (0..).zip(log_likes).filter(move |&(_, &log_like)| log_like > least);
        above.map(move |(gaussian, &log_like)| (gaussian, (log_like - largest).exp()))
    };
    if min_post > 0.0 {
        posteriors.extend(likelihoods(largest + min_post.ln()));
    }
    if posteriors.is_empty() {
        posteriors.extend(likelihoods(f32::NEG_INFINITY));
    }
    let descending = |a: &(i32, f32), b: &(i32, f32)| -> Ordering { b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)) };
    if posteriors.len() > most {
        posteriors.select_nth_unstable_by(most, descending);
        posteriors.truncate(most);
    }
    posteriors.sort_unstable_by(descending);
    let mut total: f32 = posteriors.iter().map(|pair| pair.1).sum();
    let least = min_post * total;
    while posteriors.len() > 1 && posteriors.last().is_some_and(|pair| pair.1 < least) {
        total -= posteriors.pop().map_or(0.0, |pair| pair.1);
    }
    let scale = 1.0 / total;
    posteriors.iter_mut().for_each(|pair| pair.1 *= scale);
    Ok(largest + total.ln())
}

/// Checks the arguments of [`select_posteriors`].
pub(crate) fn check_selection(most: usize, min_post: f32) -> Result<(), Error> {
    if most == 0 {
        return Err(Error::Option { option: "num_gselect", value: most.to_string(), expected: "1 or more" });
    }
    if !(0.0..1.0).contains(&min_post) {
        let expected = "a number from 0 to below 1";
        return Err(Error::Option { option: "min_post", value: min_post.to_string(), expected });
    }
    Ok(())
}

/// Returns the threshold of posteriors of a frame with a weight: posteriors times the weight should
/// be `min_post` or more.
pub(crate) fn weighted_threshold(min_post: f32, weight: f32) -> f32 {
    let threshold = min_post / weight.abs();
    if threshold < HIGHEST_THRESHOLD { threshold } else { HIGHEST_THRESHOLD }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition: all posteriors sorted, cut, pruned from the end, normalised.
    fn naive(log_likes: &[f64], most: usize, min_post: f64) -> Vec<(i32, f64)> {
        let largest = log_likes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut all: Vec<(i32, f64)> = (0..).zip(log_likes).map(|(g, l)| (g, (l - largest).exp())).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.retain(|&(_, p)| p > min_post);
        all.truncate(most);
        let total: f64 = all.iter().map(|pair| pair.1).sum();
        all.retain(|&(_, p)| p >= min_post * total || p == 1.0);
        let total: f64 = all.iter().map(|pair| pair.1).sum();
        all.into_iter().map(|(g, p)| (g, p / total)).collect()
    }

    proptest! {
        #[test]
        fn selection_equals_the_definition(
            log_likes in proptest::collection::vec(-8.0_f64..0.0, 1..30),
            most in 1_usize..8,
            min_post in prop_oneof![Just(0.0), 0.001_f64..0.3],
        ) {
            let single: Vec<f32> = log_likes.iter().map(|&x| x as f32).collect();
            let wide: Vec<f64> = single.iter().map(|&x| x.into()).collect();
            let expected = naive(&wide, most, f64::from(min_post as f32));
            let mut came = Vec::new();
            let log_like = select_posteriors(&single, most, min_post as f32, &mut came).unwrap();
            // A posterior at the threshold may fall on either side.
            if came.len() == expected.len() {
                for (came, expected) in came.iter().zip(&expected) {
                    prop_assert_eq!(came.0, expected.0);
                    prop_assert!((f64::from(came.1) - expected.1).abs() < 1e-5);
                }
            }
            prop_assert!(!came.is_empty() && came.len() <= most);
            prop_assert!((came.iter().map(|pair| pair.1).sum::<f32>() - 1.0).abs() < 1e-5);
            let sum: f64 = came.iter().map(|pair| wide[pair.0 as usize].exp()).sum();
            prop_assert!((f64::from(log_like) - sum.ln()).abs() < 1e-5);
        }
    }

    #[test]
    fn extreme_inputs_have_a_result_or_an_error() {
        let mut out = Vec::new();
        assert!(select_posteriors(&[], 5, 0.1, &mut out).is_err());
        assert!(select_posteriors(&[f32::NAN], 5, 0.1, &mut out).is_err());
        assert!(select_posteriors(&[f32::NEG_INFINITY; 3], 5, 0.1, &mut out).is_err());
        assert!(select_posteriors(&[f32::INFINITY, 0.0], 5, 0.1, &mut out).is_err());
        assert!(select_posteriors(&[0.0], 0, 0.1, &mut out).is_err());
        assert!(select_posteriors(&[0.0], 1, 1.0, &mut out).is_err());
        select_posteriors(&[f32::NAN, f32::NEG_INFINITY, 2.0], 5, 0.0, &mut out).unwrap();
        assert_eq!(out, [(2, 1.0)]);
        select_posteriors(&[1.0, 1.0, 1.0], 2, 0.5, &mut out).unwrap();
        assert_eq!(out, [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn a_small_weight_keeps_the_best_gaussian() {
        assert_eq!(weighted_threshold(0.025, 1.0), 0.025);
        assert_eq!(weighted_threshold(0.025, -0.5), 0.05);
        assert_eq!(weighted_threshold(0.025, 0.001), 0.99);
        assert_eq!(weighted_threshold(0.0, 0.0), 0.99);
    }
}
