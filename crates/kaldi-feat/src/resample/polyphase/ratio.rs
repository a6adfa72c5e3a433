//! Times of output samples, in input samples.

/// Output sample n lies at the time of input sample `n * input / output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ratio {
    /// Both without a common divisor.
    pub(super) input: u32,
    pub(super) output: u32,
}

impl Ratio {
    /// The last input sample that is not after output sample `n`, and the rest of the time between
    /// them, in parts of which there are `output` in an input sample.
    pub(super) fn position(self, n: usize) -> (isize, u32) {
        let ticks = n as u128 * u128::from(self.input);
        let (sample, rest) = (ticks / u128::from(self.output), ticks % u128::from(self.output));
        (isize::try_from(sample).unwrap_or(isize::MAX), u32::try_from(rest).expect("less than a u32"))
    }

    /// How many output samples lie before the time of input sample `num_samples`.
    pub(super) fn outputs_before(self, num_samples: usize) -> usize {
        let ticks = (num_samples as u128 * u128::from(self.output)).div_ceil(u128::from(self.input));
        usize::try_from(ticks).unwrap_or(usize::MAX)
    }

    /// How many output samples are as long as `num_samples` input samples: the nearest number.
    pub(super) fn nearest_outputs(self, num_samples: usize) -> usize {
        let (input, output) = (u128::from(self.input), u128::from(self.output));
        usize::try_from((2 * num_samples as u128 * output + input) / (2 * input)).unwrap_or(usize::MAX)
    }
}
