//! Confidence intervals of error rates: bootstrap over utterances.

use crate::score::counts::Counts;
use crate::score::reference::ScoreError;

/// An error rate with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Interval {
    /// The mean over all draws.
    pub mean: f64,
    /// Half width of the 95 % interval: 1.96 times the standard deviation.
    pub half_width: f64,
    /// Share of draws in which a second system has fewer errors, if its counts are given.
    pub improvement: Option<f64>,
}

/// Computes Bisani and Ney's bootstrap (2004) of the word error rate: each of `replications` draws
/// takes as many utterances as there are, with replacement. With the counts of a second system on
/// the same utterances, it also returns the probability that this system is better. Draws depend
/// only on `seed`.
///
/// # Errors
/// [`ScoreError::Option`] without utterances, or for fewer than two replications;
/// [`ScoreError::Missing`] if the second system has a different number of utterances.
#[doc(alias = "compute-wer-bootci")]
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 words are scored")]
pub fn bootstrap(
    counts: &[Counts],
    second: Option<&[Counts]>,
    replications: usize,
    seed: u64,
) -> Result<Interval, ScoreError> {
    if counts.is_empty() || replications < 2 {
        let (name, value) = if counts.is_empty() { ("utterances", 0.0) } else { ("replications", replications as f64) };
        return Err(ScoreError::Option { name, value, reason: "there must be utterances, and two replications" });
    }
    if second.is_some_and(|second| second.len() != counts.len()) {
        let utterance = format!("one of {} utterances", counts.len());
        return Err(ScoreError::Missing { utterance, missing: "counts of the second system" });
    }
    let mut state = seed;
    let mut draw = || {
        // splitmix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let mixed = mixed ^ (mixed >> 31);
        // The high half of a product is uniform over all places.
        let place = (u128::from(mixed) * u128::try_from(counts.len()).unwrap_or(1)) >> 64;
        usize::try_from(place).unwrap_or(0)
    };
    let (mut sum, mut squares, mut better) = (0.0, 0.0, 0.0);
    for _ in 0..replications {
        let (mut words, mut errors, mut other) = (0, 0, 0);
        for _ in 0..counts.len() {
            let place = draw();
            words += counts[place].words();
            errors += counts[place].errors();
            other += second.map_or(0, |second| second[place].errors());
        }
        let rate = errors as f64 / words.max(1) as f64;
        sum += rate;
        squares += rate * rate;
        better += f64::from(u8::from(other < errors));
    }
    let count = replications as f64;
    let mean = sum / count;
    let deviation = (squares / count - mean * mean).max(0.0).sqrt();
    let improvement = second.map(|_| better / count);
    Ok(Interval { mean, half_width: 1.96 * deviation, improvement })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_narrows_with_more_utterances() {
        let one = |errors: usize| Counts { correct: 10 - errors, substitutions: errors, ..Counts::default() };
        let few: Vec<Counts> = (0..20).map(|i| one(i % 4)).collect();
        let many: Vec<Counts> = (0..2000).map(|i| one(i % 4)).collect();
        let [few, many] = [few, many].map(|counts| bootstrap(&counts, None, 500, 1).unwrap());
        assert!((many.mean - 0.15).abs() < 0.01 && many.half_width < few.half_width / 5.0);
        let equal: Vec<Counts> = (0..9).map(one).collect();
        let better = bootstrap(&equal, Some(&[one(0); 9]), 100, 1).unwrap();
        assert!(better.improvement.unwrap() > 0.9);
        assert!(bootstrap(&[], None, 100, 1).is_err() && bootstrap(&equal, Some(&[]), 100, 1).is_err());
    }
}
