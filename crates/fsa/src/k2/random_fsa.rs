//! FSAs drawn at random, for tests and measurements.

use kaldera_base::random::Philox;
use kaldera_base::setters;

use crate::core::arc::{Arc, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::{Fsa, FsaVec};
use crate::error::{Error, Quantity};
use crate::support::ids::index;

/// Options of [`random_fsa`]; the defaults are k2's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct RandomFsaOptions {
    /// `true` if all arcs go to later states, so that the FSA is sorted topologically.
    pub acyclic: bool,
    /// `true` if each state lies on a path from the start to the final state.
    pub connected: bool,
    /// Smallest label; 0 is epsilon.
    pub min_symbol: i32,
    /// Largest label.
    pub max_symbol: i32,
    /// Smallest number of arcs; an FSA without arcs has no states, or the two that it needs.
    pub min_num_arcs: usize,
    /// Largest number of arcs.
    pub max_num_arcs: usize,
}

setters! {
    RandomFsaOptions:
    acyclic, with_acyclic: bool = true, "With arcs only to later states, or to any.";
    connected, with_connected: bool = true, "With or without each state on a path.";
    min_symbol, with_min_symbol: i32 = 0, "With labels from this one on.";
    max_symbol, with_max_symbol: i32 = 50, "With labels up to this one.";
    min_num_arcs, with_min_num_arcs: usize = 0, "With at least this number of arcs.";
    max_num_arcs, with_max_num_arcs: usize = 1000, "With at most this number of arcs.";
}

/// Draws an FSA at random; it depends only on the seed and the options.
///
/// Scores are multiples of 1/1024 from -4 up to 4, so that sums of them are exact. The arcs of a
/// state are in no order.
///
/// ```
/// use fsa::k2::{RandomFsaOptions, random_fsa};
///
/// let options = RandomFsaOptions::default().with_min_num_arcs(5).with_max_num_arcs(9);
/// let fsa = random_fsa(7, &options)?;
/// assert!((5..=9).contains(&fsa.num_arcs()));
/// assert_eq!(fsa, random_fsa(7, &options)?);
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfRange`] if labels would be negative or a range is empty.
#[doc(alias = "RandomFsa")]
pub fn random_fsa(seed: u64, options: &RandomFsaOptions) -> Result<Fsa, Error> {
    random_fsa_vec(seed, 1, options)?.get(0)
}

/// Draws `num_fsas` FSAs at random.
///
/// # Errors
/// As [`random_fsa`].
#[doc(alias = "RandomFsaVec")]
pub fn random_fsa_vec(seed: u64, num_fsas: usize, options: &RandomFsaOptions) -> Result<FsaVec, Error> {
    let RandomFsaOptions { min_symbol, max_symbol, min_num_arcs, max_num_arcs, .. } = *options;
    let within = |what, min: i64, found: i64, max: i64| {
        if (min..=max).contains(&found) { Ok(()) } else { Err(Error::OutOfRange { what, min, max, found }) }
    };
    within(Quantity::MinSymbol, 0, min_symbol.into(), max_symbol.into())?;
    within(Quantity::MaxSymbol, 0, max_symbol.into(), i64::from(i32::MAX) - 1)?;
    let most_arcs = Error::fit(Quantity::Arcs, max_num_arcs)?;
    let fewest_arcs = Error::fit(Quantity::Arcs, min_num_arcs)?;
    within(Quantity::MinArcs, 0, fewest_arcs.into(), most_arcs.into())?;
    let stream = Philox::new(seed);
    let parts = (0..num_fsas)
        .map(|i| Ok(draw(&mut Draws { stream, fsa: words(i), next: 0 }, options)))
        .collect::<Result<_, Error>>()?;
    SortedFsaBuilder::assemble(parts)
}

/// Returns the lower and the upper half of the index, for the counter of the random numbers.
fn words(i: usize) -> [u32; 2] {
    let i = i as u64;
    [u32::try_from(i & u64::from(u32::MAX)).unwrap_or(0), u32::try_from(i >> 32).unwrap_or(0)]
}

/// Random numbers of one FSA.
struct Draws {
    stream: Philox,
    fsa: [u32; 2],
    next: u64,
}

impl Draws {
    fn word(&mut self) -> u32 {
        let count = u32::try_from(self.next / 4).unwrap_or(u32::MAX);
        let block = self.stream.block([count, 0, self.fsa[0], self.fsa[1]]);
        let word = block[usize::try_from(self.next % 4).unwrap_or(0)];
        self.next += 1;
        word
    }

    /// Returns a number from `low` up to, but without, `high`, which is larger.
    fn between(&mut self, low: i32, high: i32) -> i32 {
        let range = u64::from(high.abs_diff(low));
        let above = (u64::from(self.word()) * range) >> 32;
        low.wrapping_add(i32::try_from(above).unwrap_or(0))
    }

    fn score(&mut self) -> f32 {
        let steps = i16::try_from(self.between(-4096, 4096)).unwrap_or(0);
        f32::from(steps) / 1024.0
    }
}

fn draw(draws: &mut Draws, options: &RandomFsaOptions) -> SortedFsaBuilder {
    let bound = |count: usize| i32::try_from(count).unwrap_or(i32::MAX - 1);
    let num_arcs = draws.between(bound(options.min_num_arcs), bound(options.max_num_arcs) + 1);
    if num_arcs == 0 {
        return SortedFsaBuilder { ends: vec![0; if draws.between(0, 2) == 0 { 0 } else { 2 }], arcs: vec![] };
    }
    // At most two arcs connect a state.
    let last = draws.between(1, (num_arcs / 2).max(1) + 1);
    let mut ends = Vec::with_capacity(index(num_arcs));
    if options.connected {
        let mut left = vec![false; index(last)];
        for state in 1..=last {
            let from = draws.between(0, state);
            left[index(from)] = true;
            ends.push((from, state));
        }
        for state in (0..last).filter(|&state| !left[index(state)]) {
            ends.push((state, draws.between(state + 1, last + 1)));
        }
    }
    while ends.len() < index(num_arcs) {
        let from = draws.between(0, last);
        ends.push((from, draws.between(if options.acyclic { from + 1 } else { 0 }, last + 1)));
    }
    ends.sort_by_key(|&(from, _)| from);
    let mut builder = SortedFsaBuilder::with_capacity(index(last) + 1, ends.len());
    for state in 0..=last {
        for &(from, to) in ends[builder.arcs.len()..].iter().take_while(|&&(from, _)| from == state) {
            let drawn = draws.between(options.min_symbol, options.max_symbol + 1);
            let label = if to == last { FINAL } else { drawn };
            builder.arcs.push(Arc::new(from, to, label, draws.score()));
        }
        builder.end_state();
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::properties::Properties;

    #[test]
    fn what_was_asked_for_is_drawn() {
        let options = RandomFsaOptions { max_num_arcs: 30, max_symbol: 3, ..Default::default() };
        let fsas = random_fsa_vec(1, 200, &options).unwrap();
        assert_eq!(fsas, random_fsa_vec(1, 200, &options).unwrap());
        assert_ne!(fsas, random_fsa_vec(2, 200, &options).unwrap());
        let all = Properties::TOP_SORTED_AND_ACYCLIC | Properties::MAYBE_ACCESSIBLE | Properties::MAYBE_COACCESSIBLE;
        for fsa in fsas.iter().filter(|fsa| !fsa.arcs().is_empty()) {
            assert!(Properties::new(fsa).contains(all));
            assert!(fsa.arcs().iter().all(|arc| (-1..=3).contains(&arc.label)));
        }
        assert!(fsas.iter().any(|fsa| fsa.num_states() == 0));
        let cyclic = RandomFsaOptions { acyclic: false, min_symbol: 2, min_num_arcs: 30, ..options };
        let fsas = random_fsa_vec(1, 20, &cyclic).unwrap();
        assert!(!fsas.properties().contains(Properties::TOP_SORTED));
        assert!(fsas.properties().contains(Properties::EPSILON_FREE) && fsas.num_arcs() == 600);
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let refused = |options: &RandomFsaOptions| random_fsa(0, options).is_err();
        let base = RandomFsaOptions::default();
        assert!(refused(&RandomFsaOptions { min_symbol: -1, ..base }));
        assert!(refused(&RandomFsaOptions { min_symbol: 7, max_symbol: 6, ..base }));
        assert!(refused(&RandomFsaOptions { min_num_arcs: 7, max_num_arcs: 6, ..base }));
        assert!(refused(&RandomFsaOptions { max_symbol: i32::MAX, ..base }));
    }
}
