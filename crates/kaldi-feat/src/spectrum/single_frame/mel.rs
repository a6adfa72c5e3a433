//! The energies of one frame in mel filters, with its frequencies in the lanes.
//!
//! A filter has sixteen sums, which are added in halves (`mel.rs`). Here they are the lanes of one
//! vector or of two, and its weights go over the powers in runs of sixteen, with zeros after the
//! last weight.

use kaldera_base::simd::{Lines, MAX_LANES, Simd};

use crate::spectrum::lanes::FILTER_SUMS;

/// The filters of a bank.
#[derive(Debug, Clone)]
pub(crate) struct SingleFrameMel {
    filters: Vec<Filter>,
    /// The weights of all filters, in runs.
    weights: Lines,
}

#[derive(Debug, Clone)]
struct Filter {
    /// The first power that it takes.
    first: usize,
    /// Number of runs of sixteen powers.
    runs: usize,
}

impl SingleFrameMel {
    /// Number of powers after the last one that are read.
    pub(crate) const PADDING: usize = FILTER_SUMS;

    /// Creates it from filters that are given by their first power and their weights.
    pub(crate) fn new<'a>(filters: impl Iterator<Item = (usize, &'a [f32])> + Clone) -> Self {
        let runs = |weights: &[f32]| weights.len().div_ceil(FILTER_SUMS);
        let mut weights = Lines::new();
        let mut rest = weights.floats(filters.clone().map(|(_, weights)| runs(weights) * FILTER_SUMS).sum());
        for (_, weights) in filters.clone() {
            let to = rest.split_off_mut(..runs(weights) * FILTER_SUMS).expect("as many as were counted");
            to[..weights.len()].copy_from_slice(weights);
        }
        let filters = filters.map(|(first, weights)| Filter { first, runs: runs(weights) }).collect();
        Self { filters, weights }
    }

    /// Writes all energies. Returns `true` if all are finite.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(&self, s: S, power: &[f32], energies: &mut [f32]) -> bool {
        let zero = s.splat(0.0);
        // Sums of 16 in one vector, or in two that are added.
        let used = FILTER_SUMS / S::LANES;
        let mut weights = self.weights.as_vectors(s);
        let mut all = zero;
        for (filters, energies) in self.filters.chunks(S::LANES).zip(energies.chunks_mut(S::LANES)) {
            let mut sums = [zero; MAX_LANES];
            for (sum, &Filter { first, runs }) in sums.iter_mut().zip(filters) {
                let (weights_of_filter, rest) = weights.split_at(runs * used);
                weights = rest;
                let powers = power[first..first + runs * FILTER_SUMS].chunks_exact(S::LANES);
                let mut halves = [zero; 2];
                for (i, (powers, &weights)) in powers.zip(weights_of_filter).enumerate() {
                    halves[i % used] = s.mul_add(weights, s.load(powers), halves[i % used]);
                }
                *sum = if used == 1 { halves[0] } else { s.add(halves[0], halves[1]) };
            }
            let energy = s.sum_each(&sums[..S::LANES]);
            all = s.add(all, energy);
            s.store_partial(energy, energies);
        }
        // x - x is NaN if x is not finite.
        s.not_equal_u32(s.bits_of(s.sub(all, all)), s.splat_u32(0)) == 0
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::random::Philox;
    use kaldera_base::simd::{Kernel, available, dispatch_at};

    use crate::spectrum::mel::{MelBanks, MelBanksOptions};
    use crate::spectrum::window::FrameExtractionOptions;

    use super::*;

    struct Compare<'a>(&'a MelBanks, usize);

    impl Kernel for Compare<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self(banks, num_powers) = self;
            let num_bins = banks.bins().len();
            let mut lines = [Lines::new(), Lines::new()];
            let [powers, energies] = &mut lines;
            let numbers = powers.floats(num_powers * S::LANES);
            Philox::new(num_bins as u64).add_gaussian(3.0, 0, numbers);
            numbers.iter_mut().for_each(|x| *x *= *x);
            // Overflow in one frame.
            numbers[5 * S::LANES + 1] = f32::INFINITY;
            let numbers = numbers.to_vec();
            banks.compute(s, powers.vectors(s, num_powers), energies.vectors(s, num_bins));
            let energies = energies.floats(num_bins * S::LANES);
            for lane in 0..S::LANES {
                let in_lane = |x: &[f32]| x.iter().skip(lane).step_by(S::LANES).copied().collect::<Vec<_>>();
                let mut power = in_lane(&numbers);
                power.resize(num_powers + SingleFrameMel::PADDING, 0.0);
                let mut one = vec![f32::NAN; num_bins];
                banks.compute_single_frame(s, &power, &mut one);
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&one), bits(&in_lane(energies)), "{num_bins} filters, lane {lane}");
            }
        }
    }

    #[test]
    fn single_frame_energies_equal_lanes() {
        for num_bins in [3, 4, 7, 8, 9, 15, 16, 17, 23, 40, 80, 100] {
            for htk_mode in [false, true] {
                let options = MelBanksOptions { num_bins, htk_mode, ..Default::default() };
                let Ok(banks) = MelBanks::new(&options, &FrameExtractionOptions::default(), 1.0) else { continue };
                for level in available() {
                    dispatch_at(level, Compare(&banks, 257));
                }
            }
        }
    }
}
