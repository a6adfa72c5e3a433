//! What the rows of an utterance become in the end.

use toml::{Table, Value};

use crate::Error;

/// The key `normalize` of the table `features`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Normalize {
    None,
    /// Zero mean and unit variance: `(x - mean) / sqrt(variance + 1e-7)`, divided by n, as
    /// `Wav2Vec2FeatureExtractor` has it.
    Samples,
    /// Each column by itself: `(x - mean) / (deviation + 1e-5)`, divided by n - 1, as NeMo has it.
    PerFeature,
}

/// Takes the key out of a table, which may lack it.
pub(super) fn take(table: &Table, refuse: &dyn Fn(&str, String) -> Error) -> Result<(Table, Normalize), Error> {
    let mut rest = table.clone();
    let normalize = match rest.remove("normalize") {
        None => Normalize::None,
        Some(Value::String(text)) if text == "none" => Normalize::None,
        Some(Value::String(text)) if text == "samples" => Normalize::Samples,
        Some(Value::String(text)) if text == "per_feature" => Normalize::PerFeature,
        Some(other) => return Err(refuse("normalize", format!("{other} is not none, samples or per_feature"))),
    };
    Ok((rest, normalize))
}

impl Normalize {
    /// Normalises the rows of an utterance, of this many values each.
    pub(super) fn apply(self, rows: &mut [f32], dim: usize) {
        match self {
            Self::None => {}
            Self::Samples => column(rows, 0, 1, |variance, count| (variance / count + 1e-7).sqrt()),
            Self::PerFeature => (0..dim).for_each(|at| {
                column(rows, at, dim, |variance, count| (variance / (count - 1.0).max(1.0)).sqrt() + 1e-5);
            }),
        }
    }
}

/// Normalises one column: `scale` returns the divisor for the sum of squared distances from the mean
/// and the number of rows.
fn column(rows: &mut [f32], first: usize, step: usize, scale: impl FnOnce(f64, f64) -> f64) {
    let values = || rows.iter().skip(first).step_by(step).map(|&x| f64::from(x));
    let count = values().map(|_| 1.0).sum::<f64>();
    let mean = values().sum::<f64>() / count;
    let scale = scale(values().map(|x| (x - mean).powi(2)).sum(), count);
    for x in rows.iter_mut().skip(first).step_by(step) {
        #[expect(clippy::cast_possible_truncation, reason = "features are of single precision")]
        let normalized = ((f64::from(*x) - mean) / scale) as f32;
        *x = normalized;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of single precision.
    const TOLERANCE: f32 = 1e-6;

    #[test]
    fn formulas_are_those_of_wav2vec2_and_nemo() {
        // numpy: (x - x.mean()) / sqrt(x.var() + 1e-7); (x - x.mean(0)) / (x.std(0, ddof=1) + 1e-5)
        let rows = [1.0_f32, 2.0, 4.0, -2.0, 1.0, 6.0];
        for (normalize, dim, expected) in [
            (Normalize::None, 2, rows),
            (Normalize::Samples, 1, [-0.397_359_7, 0.0, 0.794_719_4, -1.589_438_8, -0.397_359_7, 1.589_438_8]),
            (Normalize::PerFeature, 2, [-0.577_347, 0.0, 1.154_694, -0.999_997_5, -0.577_347, 0.999_997_5]),
        ] {
            let mut found = rows;
            normalize.apply(&mut found, dim);
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() <= TOLERANCE, "{normalize:?}: {found:?}");
            }
        }
        // One row, and none.
        let mut one = [3.0_f32];
        Normalize::PerFeature.apply(&mut one, 1);
        Normalize::PerFeature.apply(&mut [], 1);
        Normalize::Samples.apply(&mut [], 1);
        assert_eq!(one, [0.0]);
    }
}
