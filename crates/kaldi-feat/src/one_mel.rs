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
//! Wide filters take all powers of the runs of sixteen that they are in, with zeros for weights outside of them: what a moment ago was
//! written as whole vectors is read as such. Which of its sums a power goes to makes no difference, as long as it is every sixteenth.
//! Only where sixteen powers are enough for each do their own runs cost less.

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
    /// For each filter the first power of the first run that it is in, and for each quarter of the filters how many runs are taken. The
    /// table has their weights. There are filters of zeros behind the others, up to 8 or 16 of them.
    Wide { first: Vec<usize>, runs: [usize; QUARTERS] },
}

/// Lanes that are a filter's.
const QUARTER: usize = 4;

/// Parts of a group that have their own number of runs: the higher a filter, the wider.
const QUARTERS: usize = 4;

impl OneMel {
    /// Powers behind the last one that are read.
    pub(crate) const PADDING: usize = 2 * MAX_LANES;

    pub(crate) fn new(bins: &[MelBin]) -> Self {
        Self([8, 16].map(|lanes| Tables::new(bins, lanes)))
    }

    /// Writes all energies. Whether all are finite.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(&self, s: S, power: &[f32], energies: &mut [f32]) -> bool {
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
                Group::Wide { first, runs } => {
                    let in_all = runs.iter().sum::<usize>() * (first.len() / QUARTERS);
                    let (table, rest) = vectors.split_at(in_all * (SUMS / S::LANES));
                    vectors = rest;
                    match <&[usize; MAX_LANES]>::try_from(&first[..]) {
                        Ok(first) => wide::<S, { MAX_LANES / QUARTERS }>(s, runs, table, first, power),
                        Err(_) => match first[..].as_chunks::<HALF>().0 {
                            [first] => wide::<S, { HALF / QUARTERS }>(s, runs, table, first, power),
                            _ => unreachable!("8 filters, or 16"),
                        },
                    }
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
        // What is not finite leaves NaN of itself.
        s.not_equal_u32(s.bits_of(s.sub(all, all)), s.splat_u32(0)) == 0
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

/// Half of the most lanes.
const HALF: usize = MAX_LANES / 2;

/// The energies of wide filters, `N` in each quarter of them. All sums are in registers: the compiler knows which of them each line adds to.
#[inline(always)]
fn wide<S: Simd, const N: usize>(
    s: S,
    runs: &[usize; QUARTERS],
    table: &[S::F32],
    first: &[usize],
    power: &[f32],
) -> S::F32 {
    let (mut sums, mut table) = ([s.splat(0.0); MAX_LANES], table);
    let (first, powers) = (&first.as_chunks::<N>().0[..QUARTERS], power);
    macro_rules! quarters {
        ($($q:literal)*) => { $(
            let (of_quarter, rest) = table.split_at(N * runs[$q] * (SUMS / S::LANES));
            table = rest;
            let some = match runs[$q] {
                0 => [s.splat(0.0); N],
                1 => sums_of_runs::<S, N>(s, 1, of_quarter, &first[$q], powers),
                2 => sums_of_runs::<S, N>(s, 2, of_quarter, &first[$q], powers),
                3 => sums_of_runs::<S, N>(s, 3, of_quarter, &first[$q], powers),
                4 => sums_of_runs::<S, N>(s, 4, of_quarter, &first[$q], powers),
                runs => sums_of_runs::<S, N>(s, runs, of_quarter, &first[$q], powers),
            };
            for i in 0..N {
                sums[$q * N + i] = some[i];
            }
        )* };
    }
    quarters!(0 1 2 3);
    debug_assert!(table.is_empty());
    if N * QUARTERS < S::LANES { sum_half(s, sums.as_chunks().0[0]) } else { s.sum_each(&sums[..S::LANES]) }
}

/// [`Simd::sum_each`] of half as many vectors as 16 lanes take, with zeros behind the sums: half the shuffles.
#[inline(always)]
fn sum_half<S: Simd>(s: S, vectors: [S::F32; HALF]) -> S::F32 {
    // The low and the high part of each `$len` lanes of a, then of b.
    macro_rules! folded {
        ($a:expr, $b:expr, $len:literal) => {{
            let i = s.lane_indexes();
            let low = s.add_u32(i, s.and_u32(i, s.splat_u32(MAX_LANES as u32 - $len)));
            let high = s.add_u32(low, s.splat_u32($len));
            s.add(s.permute($a, $b, low), s.permute($a, $b, high))
        }};
    }
    let [a, b, c, d, e, f, g, h] = vectors;
    let [ab, cd, ef, gh] = [folded!(a, b, 8), folded!(c, d, 8), folded!(e, f, 8), folded!(g, h, 8)];
    let zero = s.splat(0.0);
    s.sum_fours([folded!(ab, cd, 4), folded!(ef, gh, 4), zero, zero])
}

/// The sums of `N` filters with as many `runs` each.
#[inline(always)]
fn sums_of_runs<S: Simd, const N: usize>(
    s: S,
    runs: usize,
    table: &[S::F32],
    first: &[usize; N],
    power: &[f32],
) -> [S::F32; N] {
    // Sums of 16 in one vector, or in two that are added.
    let used = SUMS / S::LANES;
    let table = &table[..N * runs * used];
    let mut sums = [s.splat(0.0); N];
    for i in 0..N {
        let (power, table) = (&power[first[i]..][..runs * SUMS], &table[i * runs * used..][..runs * used]);
        let mut halves = [s.splat(0.0); 2];
        for run in 0..runs {
            for (half, sum) in halves[..used].iter_mut().enumerate() {
                let at = run * used + half;
                *sum = s.mul_add(table[at], s.load(&power[at * S::LANES..]), *sum);
            }
        }
        sums[i] = if used == 1 { halves[0] } else { s.add(halves[0], halves[1]) };
    }
    sums
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
        // Those that a run is enough for have it begin with them.
        let short = bins.iter().all(|bin| bin.weights.len() <= SUMS);
        let runs_of = |bin: &MelBin| bin.first / SUMS..(bin.first + bin.weights.len()).div_ceil(SUMS);
        let end = bins.iter().map(|bin| runs_of(bin).end).max().unwrap_or(0);
        let filters = if bins.len() > HALF { MAX_LANES } else { HALF };
        let (mut all_first, mut all_runs) = (vec![0; filters], [0; QUARTERS]);
        let quarter = filters / QUARTERS;
        for ((bins, first), to) in bins.chunks(quarter).zip(all_first.chunks_mut(quarter)).zip(&mut all_runs) {
            let runs = if short { 1 } else { bins.iter().map(|bin| runs_of(bin).len()).max().unwrap_or(0) };
            let begin = table.len();
            table.resize(begin + quarter * runs * SUMS, 0.0);
            for ((bin, first), weights) in
                bins.iter().zip(first).zip(table[begin..].chunks_exact_mut((runs * SUMS).max(1)))
            {
                // No run behind the last one.
                *first = if short { bin.first } else { runs_of(bin).start.min(end - runs) * SUMS };
                let at = bin.first - *first;
                weights[at..at + bin.weights.len()].copy_from_slice(&bin.weights);
            }
            *to = runs;
        }
        Self::Wide { first: all_first, runs: all_runs }
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
