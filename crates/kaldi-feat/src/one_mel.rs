//! The energies of one frame in mel filters, its frequencies in the lanes.
//!
//! A filter has sixteen sums, which are added in halves (`mel.rs`). Those of a narrow one are products of a weight with a power each,
//! so that only quarters of the sums need a lane, and the first halves are added across vectors:
//!
//! ```text
//!  powers      p0 p1 p2 ...                            as many as two vectors have, from the first that the filters take
//!  permuted  | filter 0: 4 powers | filter 1 | ... |   weights 0 to 3 of as many filters as there are quarters; then weights 4 to 7 ...
//! ```
//!
//! Wide filters have a vector of powers, or several, for each of them.

use kaldera_base::simd::{Lines, MAX_LANES, Simd};

use crate::mel::{MelBin, SUMS};

/// The filters of a bank, in tables for 8 and for 16 lanes.
#[derive(Debug, Clone)]
pub(crate) struct OneMel([Tables; 2]);

#[derive(Debug, Clone, Default)]
struct Tables {
    /// As many filters each as there are lanes.
    groups: Vec<Group>,
    /// What the groups take, in their order: weights, and the bits of indexes.
    vectors: Lines,
}

#[derive(Debug, Clone)]
enum Group {
    /// For each quarter of the filters the first power, and how many quarters of sums there are. Of each the table has
    /// indexes and weights.
    Narrow { first: [usize; QUARTER], quarters: usize },
    /// For each filter how many runs of [`SUMS`] weights it has, then for each run of each filter its first power. The runs that are
    /// not whole come first, and the table has their weights in the same order.
    Wide { runs: Vec<usize>, first: Vec<usize> },
}

/// Lanes that are a filter's.
const QUARTER: usize = 4;

impl OneMel {
    /// Powers behind the last one that are read.
    pub(crate) const PADDING: usize = 2 * MAX_LANES;

    pub(crate) fn new(bins: &[MelBin]) -> Self {
        Self([8, 16].map(|lanes| Tables::new(bins, lanes)))
    }

    /// Writes all energies, and gives the sum of them all, which is NaN if one is.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(&self, s: S, power: &[f32], energies: &mut [f32]) -> f32 {
        let zero = s.splat(0.0);
        let tables = &self.0[usize::from(S::LANES == MAX_LANES)];
        let mut vectors = tables.vectors.as_vectors(s);
        let mut all = zero;
        for (group, energies) in tables.groups.iter().zip(energies.chunks_mut(S::LANES)) {
            let energy = match group {
                Group::Narrow { first, quarters } => {
                    let mut fours = [zero; QUARTER];
                    for (four, &first) in fours.iter_mut().zip(first) {
                        let (low, high) = (s.load(&power[first..]), s.load(&power[first + S::LANES..]));
                        let (table, rest) = vectors.split_at(2 * quarters);
                        vectors = rest;
                        let table = table.as_chunks::<2>().0;
                        // Quarters i and i + 2 first, as sums i and i + 8.
                        macro_rules! product {
                            ($i:expr) => {{
                                let [indexes, weights] = table[$i];
                                s.mul(weights, s.permute(low, high, s.bits_of(indexes)))
                            }};
                        }
                        *four = match quarters {
                            1 => product!(0),
                            2 => s.add(product!(0), product!(1)),
                            3 => s.add(s.add(product!(0), product!(2)), product!(1)),
                            _ => s.add(s.add(product!(0), product!(2)), s.add(product!(1), product!(3))),
                        };
                    }
                    s.sum_fours(fours)
                }
                Group::Wide { runs, first } => {
                    let mut sums = [zero; MAX_LANES];
                    // Sums of 16 in one vector, or in two that are added.
                    let used = SUMS / S::LANES;
                    let (table, rest) = vectors.split_at(first.len() * used);
                    vectors = rest;
                    let mut all_runs = first.iter().zip(table.chunks_exact(used));
                    for (sum, &runs) in sums.iter_mut().zip(runs) {
                        let mut halves = [zero; 2];
                        for _ in 0..runs {
                            let Some((&first, table)) = all_runs.next() else { break };
                            for (i, half) in halves[..used].iter_mut().enumerate() {
                                *half = s.mul_add(table[i], s.load(&power[first + i * S::LANES..]), *half);
                            }
                        }
                        *sum = if used == 1 { halves[0] } else { s.add(halves[0], halves[1]) };
                    }
                    s.sum_each(&sums[..S::LANES])
                }
            };
            all = s.add(all, energy);
            s.store_partial(energy, energies);
        }
        s.sum(all)
    }
}

impl Tables {
    fn new(bins: &[MelBin], lanes: usize) -> Self {
        let mut numbers = Vec::new();
        let groups = bins.chunks(lanes).map(|bins| Group::new(bins, lanes, &mut numbers)).collect();
        let mut vectors = Lines::new();
        vectors.floats(numbers.len()).copy_from_slice(&numbers);
        Self { groups, vectors }
    }
}

impl Group {
    /// Of as many filters as there are lanes or fewer. Appends what it takes to `table`.
    fn new(bins: &[MelBin], lanes: usize, table: &mut Vec<f32>) -> Self {
        Self::narrow(bins, lanes, table).unwrap_or_else(|| Self::wide(bins, table))
    }

    /// If all filters of each quarter of them lie within two vectors of powers.
    fn narrow(bins: &[MelBin], lanes: usize, table: &mut Vec<f32>) -> Option<Self> {
        let longest = bins.iter().map(|bin| bin.weights.len()).max().filter(|&longest| longest <= SUMS)?;
        let quarters = longest.div_ceil(QUARTER).max(1);
        let mut first = [0; QUARTER];
        let mut numbers = Vec::new();
        for (bins, first) in bins.chunks(lanes / QUARTER).zip(&mut first) {
            *first = bins.iter().map(|bin| bin.first).min()?;
            if bins.iter().any(|bin| bin.first + bin.weights.len() > *first + 2 * lanes) {
                return None;
            }
            for quarter in 0..quarters {
                let (mut indexes, mut weights) = (vec![0.0; lanes], vec![0.0; lanes]);
                for (b, bin) in bins.iter().enumerate() {
                    for (i, &weight) in bin.weights.iter().enumerate().skip(quarter * QUARTER).take(QUARTER) {
                        let lane = b * QUARTER + i % QUARTER;
                        indexes[lane] = f32::from_bits(u32::try_from(bin.first - *first + i).ok()?);
                        weights[lane] = weight;
                    }
                }
                numbers.extend(indexes);
                numbers.extend(weights);
            }
        }
        // Quarters of the filters that there are none of.
        numbers.resize(QUARTER * quarters * 2 * lanes, 0.0);
        table.extend(numbers);
        Some(Self::Narrow { first, quarters })
    }

    fn wide(bins: &[MelBin], table: &mut Vec<f32>) -> Self {
        let mut first = Vec::new();
        let mut runs_of = |bin: &MelBin| {
            let (runs, rest) = bin.weights.as_chunks::<SUMS>();
            if !rest.is_empty() {
                first.push(bin.first + SUMS * runs.len());
                table.extend(rest);
                table.resize(table.len().next_multiple_of(SUMS), 0.0);
            }
            first.extend((bin.first..).step_by(SUMS).take(runs.len()));
            table.extend(runs.as_flattened());
            runs.len() + usize::from(!rest.is_empty())
        };
        let runs = bins.iter().map(&mut runs_of).collect();
        Self::Wide { runs, first }
    }
}

#[cfg(test)]
mod tests {
    use kaldera_base::random::Philox;
    use kaldera_base::simd::{Kernel, available, dispatch_at};

    use crate::mel::{MelBanks, MelBanksOptions};
    use crate::window::FrameExtractionOptions;

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
                power.resize(num_powers + OneMel::PADDING, 0.0);
                let mut one = vec![f32::NAN; num_bins];
                banks.compute_one(s, &power, &mut one);
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&one), bits(&in_lane(energies)), "{num_bins} filters, lane {lane}");
            }
        }
    }

    #[test]
    fn one_frame_has_the_energies_that_it_has_among_others() {
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
