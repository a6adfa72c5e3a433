//! Dropout: units left out at random.

use kaldera_base::random::Philox;
use kaldera_base::{Real, par};
use lod::LodTensor;

use crate::error::Error;

/// Dropout between the layers of a [`Stack`](crate::Stack), or elsewhere
/// ([`apply`](Dropout::apply)), in training. The units that are left are scaled up to make up for
/// it (N. Srivastava et al., *Dropout: a simple way to prevent neural networks from overfitting*,
/// JMLR 2014).
///
/// The mask is a function of seed, layer or name, row and column only. It depends neither on the
/// machine nor on the number of threads. The same seed leaves out the same units, so take another
/// one for each pass.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Dropout {
    /// Probability that a unit is left out: at least 0, below 1.
    pub probability: f64,
    /// Seed of the mask.
    pub seed: u64,
}

impl Dropout {
    /// Checks that the probability is at least 0 and below 1.
    pub(crate) fn check(self) -> Result<(), Error> {
        match (0.0..1.0).contains(&self.probability) {
            true => Ok(()),
            false => {
                Err(Error::Range { what: "the probability of dropout", low: 0.0, high: 1.0, found: self.probability })
            }
        }
    }

    /// Returns the tensor with each value multiplied by 0 or by 1 / (1 - probability). `name` is
    /// the name of the place in the network, for example before an output layer. The backward pass
    /// is the same call on the gradient.
    ///
    /// ```
    /// use lod::{Lod, LodTensor};
    /// use recurrent::Dropout;
    ///
    /// let dropout = Dropout { probability: 0.5, seed: 3 };
    /// let x = LodTensor::from_vec([50, 2], vec![1.0_f32; 100], Lod::none())?;
    /// let y = dropout.apply("output", &x)?;
    /// assert!(y.values().iter().all(|&y| y == 0.0 || y == 2.0));
    /// assert_eq!(dropout.apply("output", &x)?, y); // the mask is a function of seed and name
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`] for a probability below 0, or of 1 or more.
    pub fn apply<T: Real>(self, name: &str, x: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        self.check()?;
        let mut y = x.clone();
        self.apply_in_place(name, y.values_mut());
        Ok(y)
    }

    /// Works like [`apply`](Self::apply), with a checked probability, on the values of all rows.
    pub(crate) fn apply_in_place<T: Real>(self, name: &str, values: &mut [T]) {
        /// Number of values of a task; a multiple of the four values that a block of random words
        /// serves.
        const PART: usize = 1 << 14;
        let stream = Philox::for_name(self.seed, name);
        let part = |(part, values): (usize, &mut [T])| {
            for (block, values) in values.chunks_mut(4).enumerate() {
                self.apply_block(&stream, (part * PART / 4 + block) as u64, values);
            }
        };
        par::for_each(values.chunks_mut(PART).enumerate().collect(), part);
    }

    fn apply_block<T: Real>(self, stream: &Philox, block: u64, values: &mut [T]) {
        let scale = T::from_f64(1.0 / (1.0 - self.probability));
        let words = stream.block([low_word(block), low_word(block >> 32), 0, 0]);
        for (value, word) in values.iter_mut().zip(words) {
            let kept = f64::from(word) >= self.probability * 4_294_967_296.0;
            *value = if kept { scale * *value } else { T::ZERO };
        }
    }
}

/// Returns the lower 32 bits.
fn low_word(x: u64) -> u32 {
    u32::try_from(x & u64::from(u32::MAX)).unwrap_or_else(|_| unreachable!("32 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_drops_the_requested_share() {
        let dropout = Dropout { probability: 0.3, seed: 5 };
        let mut values = vec![1.0_f64; 100_003];
        dropout.apply_in_place("1", &mut values);
        let left_out = values.iter().filter(|&&x| x == 0.0).count() as f64 / values.len() as f64;
        // Five standard deviations.
        assert!((left_out - 0.3).abs() < 5.0 * (0.21_f64 / 1e5).sqrt(), "{left_out}");
        assert!(values.iter().all(|&x| x == 0.0 || x == 1.0 / 0.7));

        let mut again = vec![1.0; 100_003];
        dropout.apply_in_place("1", &mut again);
        assert_eq!(values, again);
        // The beginning does not depend on how much follows; other layers and seeds have other
        // masks.
        let mut start = vec![1.0; 40_001];
        dropout.apply_in_place("1", &mut start);
        assert_eq!(start, values[..40_001]);
        for (dropout, layer) in [(dropout, "2"), (Dropout { seed: 6, ..dropout }, "1")] {
            let mut other = vec![1.0; 40_001];
            dropout.apply_in_place(layer, &mut other);
            assert_ne!(other, start);
        }
    }

    #[test]
    fn no_clip_keeps_gradients() {
        let mut values = [1.5_f32, f32::MAX, -2.0];
        Dropout { probability: 0.0, seed: 1 }.apply_in_place("1", &mut values);
        assert_eq!(values, [1.5, f32::MAX, -2.0]);
        for probability in [1.0, -0.1, f64::NAN] {
            assert!(Dropout { probability, seed: 1 }.check().is_err());
        }
    }
}
