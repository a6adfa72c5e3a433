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
    /// All filters in their order.
    Wide { spans: Vec<Span> },
}

/// Filters with as many runs of [`SUMS`] weights.
#[derive(Debug, Clone)]
struct Span {
    runs: usize,
    /// For each run of each filter its first power. A run that is not whole comes first; the table has the weights in the same order.
    first: Vec<usize>,
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
                    let (table, rest) = vectors.split_at(2 * QUARTER * quarters);
                    vectors = rest;
                    let table = table.as_chunks::<2>().0;
                    let fours = match quarters {
                        1 => fours::<S, 1>(s, table, first, power),
                        2 => fours::<S, 2>(s, table, first, power),
                        3 => fours::<S, 3>(s, table, first, power),
                        _ => fours::<S, 4>(s, table, first, power),
                    };
                    s.sum_fours(fours)
                }
                Group::Wide { spans } => {
                    let mut sums = [zero; MAX_LANES];
                    let sums = &mut sums[..S::LANES];
                    match &spans[..] {
                        // As the last of 80 filters are: the compiler knows how many.
                        [Span { runs: 1, first }] if first.len() == S::LANES => {
                            let (table, rest) = vectors.split_at(SUMS);
                            vectors = rest;
                            sums_of_runs(s, 1, table, &first[..S::LANES], power, sums);
                        }
                        spans => {
                            let mut behind = &mut *sums;
                            for Span { runs, first } in spans {
                                let (table, rest) = vectors.split_at(first.len() * SUMS / S::LANES);
                                vectors = rest;
                                let (sums, rest) = behind.split_at_mut(first.len() / runs);
                                behind = rest;
                                match runs {
                                    1 => sums_of_runs(s, 1, table, first, power, sums),
                                    2 => sums_of_runs(s, 2, table, first, power, sums),
                                    3 => sums_of_runs(s, 3, table, first, power, sums),
                                    4 => sums_of_runs(s, 4, table, first, power, sums),
                                    &runs => sums_of_runs(s, runs, table, first, power, sums),
                                }
                            }
                        }
                    }
                    s.sum_each(sums)
                }
            };
            all = s.add(all, energy);
            // Whole vectors can be read again at once.
            if energies.len() < S::LANES {
                s.store_partial(energy, energies);
            } else {
                s.store(energy, energies);
            }
        }
        s.sum(all)
    }
}

/// The sums of each filter in four lanes, those of a quarter of the filters in a vector. There are `N` quarters of sums.
#[inline(always)]
fn fours<S: Simd, const N: usize>(
    s: S,
    table: &[[S::F32; 2]],
    first: &[usize; QUARTER],
    power: &[f32],
) -> [S::F32; QUARTER] {
    let mut fours = [s.splat(0.0); QUARTER];
    for ((four, &first), table) in fours.iter_mut().zip(first).zip(table.as_chunks::<N>().0) {
        let (low, high) = power[first..first + 2 * S::LANES].split_at(S::LANES);
        let (low, high) = (s.load(low), s.load(high));
        let mut products = [low; N];
        for (product, &[indexes, weights]) in products.iter_mut().zip(table) {
            *product = s.mul(weights, s.permute(low, high, s.bits_of(indexes)));
        }
        // Quarters i and i + 2 first, as sums i and i + 8.
        let mut len = N;
        for half in [2, 1] {
            for i in 0..half {
                if i + half < len {
                    products[i] = s.add(products[i], products[i + half]);
                }
            }
            len = len.min(half);
        }
        *four = products[0];
    }
    fours
}

/// The sums of each filter, of which there are as many as `sums`, with `runs` runs each.
#[inline(always)]
fn sums_of_runs<S: Simd>(s: S, runs: usize, table: &[S::F32], first: &[usize], power: &[f32], sums: &mut [S::F32]) {
    // Sums of 16 in one vector, or in two that are added.
    let used = SUMS / S::LANES;
    let filters = first.chunks_exact(runs).zip(table.chunks_exact(runs * used));
    for (sum, (first, table)) in sums.iter_mut().zip(filters) {
        let mut halves = [s.splat(0.0); 2];
        for (&first, table) in first.iter().zip(table.chunks_exact(used)) {
            let power = &power[first..first + SUMS];
            for (i, half) in halves[..used].iter_mut().enumerate() {
                *half = s.mul_add(table[i], s.load(&power[i * S::LANES..]), *half);
            }
        }
        *sum = if used == 1 { halves[0] } else { s.add(halves[0], halves[1]) };
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
            let least = bins.iter().map(|bin| bin.first).min()?;
            let end = bins.iter().map(|bin| bin.first + bin.weights.len()).max()?;
            // From the start of a vector on if they may: it was written a moment ago, and comes from there only as a whole.
            let aligned = least - least % lanes;
            *first = if end <= aligned + 2 * lanes { aligned } else { least };
            if end > *first + 2 * lanes {
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
        let runs_of = |bin: &MelBin| bin.weights.len().div_ceil(SUMS).max(1);
        let mut span_of = |bins: &[MelBin]| {
            let mut first = Vec::new();
            for bin in bins {
                let (whole, rest) = bin.weights.as_chunks::<SUMS>();
                if !rest.is_empty() || whole.is_empty() {
                    first.push(bin.first + SUMS * whole.len());
                    table.extend(rest.iter().chain(&[0.0; SUMS]).take(SUMS));
                }
                first.extend((bin.first..).step_by(SUMS).take(whole.len()));
                table.extend(whole.as_flattened());
            }
            Span { runs: first.len() / bins.len(), first }
        };
        Self::Wide { spans: bins.chunk_by(|a, b| runs_of(a) == runs_of(b)).map(&mut span_of).collect() }
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
