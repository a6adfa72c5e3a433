//! Paths drawn by their probabilities.

use kaldera_base::random::Philox;
use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::each_fsa::for_each;
use crate::core::fsa::Fsas;
use crate::core::limits::Limits;
use crate::core::view::FsaView;
use crate::error::{Error, Operation, Quantity};
use crate::paths::passes::backward_log;

/// Returns `num_paths` paths of each FSA, chosen evenly by their probabilities: `[fsa][path][arc]`,
/// with arcs counted over all FSAs.
///
/// All paths of an FSA are laid out consecutively on a line, each as wide as it is probable, in the
/// order of their arcs; the result has the paths at the points (i + 1/2) / `num_paths`. So likely
/// paths occur several times, and the result is always the same, as in k2. An FSA without paths has
/// none. The FSAs must be top-sorted and without loops.
/// O(states + arcs + length of the paths times log arcs of a state).
///
/// # Errors
/// [`Error::NotTopSorted`]; [`Error::Limit`] if paths need more than half of the memory;
/// [`Error::TooLarge`].
#[doc(alias = "RandomPaths")]
pub fn random_paths<F: Fsas>(fsas: &F, num_paths: usize) -> Result<Ragged<i32>, Error> {
    draw(fsas, num_paths, |_, path| {
        let mut first = Some((real(path) + 0.5) / real(num_paths));
        move |rest| first.take().unwrap_or(rest)
    })
}

/// Returns `num_paths` paths of each FSA, drawn at random: `[fsa][path][arc]`, with arcs counted
/// over all FSAs.
///
/// Each path is drawn on its own, with its share of all paths as its probability; it is the same
/// for the same `seed`, FSA and number of the path. Otherwise as [`random_paths`].
///
/// # Errors
/// [`Error::NotTopSorted`]; [`Error::Limit`] if paths need more than half of the memory;
/// [`Error::TooLarge`].
pub fn sample_paths<F: Fsas>(fsas: &F, num_paths: usize, seed: u64) -> Result<Ragged<i32>, Error> {
    let stream = Philox::new(seed);
    draw(fsas, num_paths, |fsa, path| {
        let mut step = 0_u32;
        move |_| {
            step += 1;
            uniform(stream.block([low(fsa), low(path), step, 0]))
        }
    })
}

/// Returns 53 random bits as a number in [0, 1).
fn uniform(words: [u32; 4]) -> f64 {
    let bits = (u64::from(words[0]) << 21) ^ u64::from(words[1] >> 11);
    real(usize::try_from(bits).unwrap_or_default()) * 2_f64.powi(-53)
}

/// Returns the low 32 bits: FSAs, paths and steps are fewer than 2^32, except for the highest bits
/// of sizes that fit no memory.
#[expect(clippy::cast_possible_truncation, reason = "a counter that may wrap")]
fn low(x: usize) -> u32 {
    x as u32
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn real(x: usize) -> f64 {
    x as f64
}

/// Draws paths: `points` makes for each FSA and path a function that returns the next point for
/// choosing an arc of a state, at least 0 and below 1. Its argument is the remainder of the last
/// point after the last choice, scaled to that range again.
fn draw<F: Fsas, P: FnMut(f64) -> f64>(
    fsas: &F,
    num_paths: usize,
    points: impl Fn(usize, usize) -> P + Sync,
) -> Result<Ragged<i32>, Error> {
    let fsas = fsas.as_fsa_vec();
    let drawn = for_each(fsas, |i, fsa| {
        let (mut splits, mut arcs) = (vec![0], Vec::new());
        let Some(mut cut) = Cut::new(i, fsa)? else { return Ok((splits, arcs)) };
        for path in 0..num_paths {
            cut.walk(points(i, path), &mut arcs);
            if path == 0 || arcs.capacity() - arcs.len() < fsa.num_states() {
                // Estimates that all paths have about as many arcs as the paths so far; with a copy
                // for all FSAs.
                let of_path =
                    size_of::<usize>() + size_of::<i32>() + (arcs.len() / (path + 1)).max(1) * size_of::<i32>();
                let bytes = num_paths.saturating_mul(2 * of_path);
                Limits::default().check(Operation::RandomPaths, bytes, path + 1, arcs.len())?;
            }
            splits.push(Error::fit(Quantity::PathArcs, arcs.len())?);
        }
        let first = Error::fit(Quantity::Arcs, fsa.first_arc())?;
        arcs.iter_mut().for_each(|arc| *arc += first);
        Ok((splits, arcs))
    })?;
    let (mut paths, mut splits, mut arcs) = (vec![0], vec![0], Vec::new());
    for (own_splits, mut own_arcs) in drawn {
        let before = arcs.len();
        for end in &own_splits[1..] {
            splits.push(Error::fit(Quantity::PathArcs, before + crate::support::ids::index(*end))?);
        }
        paths.push(Error::fit(Quantity::Paths, splits.len() - 1)?);
        arcs.append(&mut own_arcs);
    }
    let shape = RaggedShape::new([RowSplits::new(paths)?, RowSplits::new(splits)?])?;
    Ok(Ragged::new(shape, arcs)?)
}

/// Line of each state's arcs, cut where one arc ends and the next begins.
struct Cut<'a> {
    fsa: FsaView<'a>,
    backward: Vec<f64>,
    /// For each arc of the states seen so far, the point at which it begins, within [0, 1).
    begins: Vec<f64>,
    seen: Vec<bool>,
}

impl<'a> Cut<'a> {
    /// Creates the lines; `None` if there is no path.
    fn new(i: usize, fsa: FsaView<'a>) -> Result<Option<Self>, Error> {
        let mut backward = vec![0.0; fsa.num_states()];
        backward_log(i, fsa, &mut backward)?;
        let made = Self { fsa, begins: vec![0.0; fsa.arcs().len()], seen: vec![false; backward.len()], backward };
        Ok(Some(made).filter(|cut| cut.backward.first().is_some_and(|&total| total > f64::NEG_INFINITY)))
    }

    /// Adds the arcs of a path to `arcs`, counted within the FSA.
    fn walk(&mut self, mut point: impl FnMut(f64) -> f64, arcs: &mut Vec<i32>) {
        let (mut state, mut rest) = (0, 0.0);
        while state + 1 < self.fsa.num_states() {
            let range = self.fsa.arc_range(state);
            if !std::mem::replace(&mut self.seen[state], true) {
                let mut end = 0.0;
                for arc in range.clone() {
                    self.begins[arc] = end;
                    end += self.probability(state, arc);
                }
            }
            let at = point(rest);
            // The last arc that begins at or before the point, and has a width above 0.
            let begins = &self.begins[range.clone()];
            let mut arc = range.start + begins.partition_point(|&begin| begin <= at).max(1) - 1;
            let mut width = self.probability(state, arc);
            while width == 0.0 && arc > range.start {
                arc -= 1;
                width = self.probability(state, arc);
            }
            rest = ((at - self.begins[arc]) / width).clamp(0.0, 1.0 - f64::EPSILON);
            arcs.push(i32::try_from(arc).unwrap_or_default());
            state = self.fsa.arcs()[arc].states().1;
        }
    }

    /// Returns the share of all paths from the state that goes over this arc of it.
    fn probability(&self, state: usize, arc: usize) -> f64 {
        let arc = &self.fsa.arcs()[arc];
        (f64::from(arc.score) + self.backward[arc.states().1] - self.backward[state]).exp()
    }
}
