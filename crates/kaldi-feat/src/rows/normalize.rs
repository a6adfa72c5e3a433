//! Mean 0 and variance 1 over an utterance, for models that were trained with such rows.

use crate::options::option_of_names;

/// The normalisation over the rows of an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Normalize {
    /// No normalisation.
    #[default]
    None,
    /// All values together: `(x - mean) / sqrt(variance + 1e-7)`, the variance divided by n, as in
    /// transformers' `Wav2Vec2FeatureExtractor` for samples.
    #[doc(alias("do_normalize", "zero_mean_unit_var_norm"))]
    Samples,
    /// Each column by itself: `(x - mean) / (deviation + 1e-5)`, the variance divided by n - 1, as
    /// in NeMo.
    #[doc(alias = "normalize_batch")]
    PerFeature,
    /// The same with the variance divided by n, as in TeleSpeech.
    PerFeaturePopulation,
}

impl Normalize {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::None, Self::Samples, Self::PerFeature, Self::PerFeaturePopulation];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Samples => "samples",
            Self::PerFeature => "per_feature",
            Self::PerFeaturePopulation => "per_feature_population",
        }
    }

    /// Normalises the rows of an utterance, of `dim` values each, that lie one after the other.
    /// Sums are of double precision. A single row becomes 0 [per feature](Self::PerFeature).
    pub fn apply(self, rows: &mut [f32], dim: usize) {
        match self {
            Self::None => {}
            Self::Samples => all_values(rows),
            Self::PerFeature => columns(rows, dim, |squares, count| (squares / (count - 1.0).max(1.0)).sqrt() + 1e-5),
            Self::PerFeaturePopulation => columns(rows, dim, |squares, count| (squares / count).sqrt() + 1e-5),
        }
    }
}

/// Returns the sum of `term` over the values, in parts, so that no addition waits for the one
/// before it.
fn sum_of(values: &[f32], term: impl Fn(f64) -> f64) -> f64 {
    let mut parts = [0.0; 16];
    let (whole, rest) = values.as_chunks::<16>();
    for values in whole {
        parts.iter_mut().zip(values).for_each(|(part, &x)| *part += term(x.into()));
    }
    parts.iter_mut().zip(rest).for_each(|(part, &x)| *part += term(x.into()));
    parts.iter().sum()
}

fn all_values(values: &mut [f32]) {
    let count = values.len() as f64;
    let mean = sum_of(values, |x| x) / count;
    let variance = sum_of(values, |x| (x - mean).powi(2)) / count;
    let divisor = (variance + 1e-7).sqrt();
    values.iter_mut().for_each(|x| *x = ((f64::from(*x) - mean) / divisor) as f32);
}

/// Normalises each of `dim` columns: `divisor` returns the divisor, given the sum of squared
/// distances from the mean and the number of rows.
fn columns(rows: &mut [f32], dim: usize, divisor: impl Fn(f64, f64) -> f64) {
    let dim = dim.max(1);
    let count = (rows.len() / dim) as f64;
    let mut means = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        means.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    means.iter_mut().for_each(|sum| *sum /= count);
    let mut divisors = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        for ((sum, &mean), &x) in divisors.iter_mut().zip(&means).zip(row) {
            *sum += (f64::from(x) - mean).powi(2);
        }
    }
    divisors.iter_mut().for_each(|sum| *sum = divisor(*sum, count));
    for row in rows.chunks_exact_mut(dim) {
        for ((x, mean), divisor) in row.iter_mut().zip(&means).zip(&divisors) {
            *x = ((f64::from(*x) - mean) / divisor) as f32;
        }
    }
}

option_of_names!(Normalize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;

    /// The tolerance of single precision.
    const TOLERANCE: f32 = 1e-6;

    #[test]
    fn formulas_are_those_of_wav2vec2_and_nemo() {
        // numpy: (x - x.mean()) / sqrt(x.var() + 1e-7); (x - x.mean(0)) / (x.std(0, ddof=1) + 1e-5)
        let rows = [1.0_f32, 2.0, 4.0, -2.0, 1.0, 6.0];
        for (normalize, dim, expected) in [
            (Normalize::None, 2, rows),
            (Normalize::Samples, 1, [-0.397_359_7, 0.0, 0.794_719_4, -1.589_438_8, -0.397_359_7, 1.589_438_8]),
            (
                Normalize::PerFeaturePopulation,
                2,
                [-0.707_101_8, 0.0, 1.414_203_5, -1.224_741_1, -0.707_101_8, 1.224_741_1],
            ),
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

    #[test]
    fn names_are_read_and_shown() {
        let mut normalize = Normalize::None;
        for (name, expected) in Normalize::ALL.map(|one| (one.name(), one)) {
            normalize.set(name).unwrap();
            assert_eq!((normalize, normalize.show().as_str()), (expected, name));
        }
        assert_eq!(
            normalize.set("all").unwrap_err().to_string(),
            "'all' is not one of none, samples, per_feature, per_feature_population"
        );
    }
}
