//! Times of output samples, in input samples.

/// Output sample n lies at the time of input sample `n * input / output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ratio {
    /// Both rates, without a common divisor.
    pub(super) input: u32,
    pub(super) output: u32,
}

impl Ratio {
    /// Returns the last input sample that is not after output sample `n`, and the rest of the time
    /// between them, in parts of which an input sample has `output`.
    pub(super) fn position(self, n: usize) -> (isize, u32) {
        let ticks = n as u128 * u128::from(self.input);
        let (sample, rest) = (ticks / u128::from(self.output), ticks % u128::from(self.output));
        (isize::try_from(sample).unwrap_or(isize::MAX), u32::try_from(rest).expect("less than a u32"))
    }

    /// Returns the number of output samples before the time of input sample `num_samples`.
    pub(super) fn outputs_before(self, num_samples: usize) -> usize {
        let ticks = (num_samples as u128 * u128::from(self.output)).div_ceil(u128::from(self.input));
        usize::try_from(ticks).unwrap_or(usize::MAX)
    }

    /// Returns the number of output samples that is nearest in duration to `num_samples` input
    /// samples.
    pub(super) fn nearest_outputs(self, num_samples: usize) -> usize {
        let (input, output) = (u128::from(self.input), u128::from(self.output));
        usize::try_from((2 * num_samples as u128 * output + input) / (2 * input)).unwrap_or(usize::MAX)
    }
}
