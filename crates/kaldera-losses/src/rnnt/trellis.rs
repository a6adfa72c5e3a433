//! Scores of the arcs of a trellis, and the recursion over it.

use kaldera_base::math::double::{exp, ln};
use kaldera_base::memory;
use kaldera_base::simd::{Doubles, Kernel, Lanes, Simd, dispatch};

use crate::error::Error;

/// Arcs of a trellis; k2's `rnnt_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RnntType {
    /// A symbol stays in its frame, so that a frame may emit any number of symbols; the last arc is
    /// a blank.
    #[default]
    Regular,
    /// A symbol goes on to the next frame: at most one symbol per frame.
    Modified,
    /// As modified, and a blank follows the symbol in its frame; its score is added.
    Constrained,
}

/// Step of an arc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    /// Number of symbols that it advances: 0 or 1.
    pub(super) symbols: usize,
    /// Number of frames that it advances.
    pub(super) frames: usize,
}

/// A score for each arc of the trellis of one sequence, or its occupation: the probability that a
/// path has the arc.
///
/// `px(s, t)` emits symbol s in frame t, `py(s, t)` leaves frame t after s symbols. With S symbols
/// and T frames paths lead from (0, 0) to (S, T).
#[derive(Debug, Clone, PartialEq)]
pub struct Trellis {
    rnnt_type: RnntType,
    moves: Vec<Move>,
    num_symbols: usize,
    num_frames: usize,
    /// `true` if a symbol counts as a step, in addition to frames: if some arc stays in its frame.
    is_skewed: bool,
    /// `[move][step][symbol]`: the cells of a step are adjacent, and depend on earlier steps.
    scores: Vec<Vec<f64>>,
}

impl Trellis {
    /// Creates a trellis with scores of minus infinity, for (T + S + 1) (S + 1) cells in the
    /// regular type and (T + 1) (S + 1) in the others.
    ///
    /// # Panics
    /// If these are more than memory can hold, as [`Vec::with_capacity`] does.
    pub fn new(rnnt_type: RnntType, num_symbols: usize, num_frames: usize) -> Self {
        let frames = usize::from(rnnt_type != RnntType::Regular);
        let moves = vec![Move { symbols: 1, frames }, Move { symbols: 0, frames: 1 }];
        Self { rnnt_type, ..Self::with_moves(moves, num_symbols, num_frames) }
    }

    /// Creates a trellis with any arcs, each of which advances to another cell.
    pub(super) fn with_moves(moves: Vec<Move>, num_symbols: usize, num_frames: usize) -> Self {
        let is_skewed = moves.iter().any(|to| to.frames == 0);
        let rnnt_type = if is_skewed { RnntType::Regular } else { RnntType::Modified };
        let mut made = Self { rnnt_type, moves, num_symbols, num_frames, is_skewed, scores: Vec::new() };
        let cells = made.num_steps().saturating_mul(made.width());
        made.scores = made.moves.iter().map(|_| impossible(cells)).collect();
        made
    }

    /// Creates a trellis from the part of padded arrays within a boundary: `px` is `[S, T + 1]` in
    /// the regular type and `[S, T]` in the others, `py` is `[S + 1, T]`; `boundary` is the first
    /// symbol, the first frame, the last symbol and the last frame.
    ///
    /// # Errors
    /// [`Error::Count`]; [`Error::Boundary`].
    pub fn from_padded(
        rnnt_type: RnntType,
        [symbols, frames]: [usize; 2],
        px: &[f64],
        py: &[f64],
        boundary: [usize; 4],
    ) -> Result<Self, Error> {
        let columns = frames.saturating_add(usize::from(rnnt_type == RnntType::Regular));
        Error::check("the scores px", symbols.saturating_mul(columns), px.len())?;
        Error::check("the scores py", symbols.saturating_add(1).saturating_mul(frames), py.len())?;
        let [first_symbol, first_frame, last_symbol, last_frame] = boundary;
        if first_symbol > last_symbol || last_symbol > symbols || first_frame > last_frame || last_frame > frames {
            return Err(Error::Boundary { sequence: 0, found: boundary, symbols, frames });
        }
        let mut made = Self::new(rnnt_type, last_symbol - first_symbol, last_frame - first_frame);
        for s in first_symbol..=last_symbol {
            for t in first_frame..=last_frame {
                let (to_s, to_t) = (s - first_symbol, t - first_frame);
                if s < last_symbol && t < columns && (t < last_frame || rnnt_type == RnntType::Regular) {
                    made.set_px(to_s, to_t, px[s * columns + t]);
                }
                if t < last_frame {
                    made.set_py(to_s, to_t, py[s * frames + t]);
                }
            }
        }
        Ok(made)
    }

    /// Returns the type of the arcs.
    pub fn rnnt_type(&self) -> RnntType {
        self.rnnt_type
    }

    /// Returns the number of symbols that a path emits.
    pub fn num_symbols(&self) -> usize {
        self.num_symbols
    }

    /// Returns the number of frames that a path goes through.
    pub fn num_frames(&self) -> usize {
        self.num_frames
    }

    /// Returns the score, or occupation, of emitting symbol `s` in frame `t`.
    ///
    /// # Panics
    /// If there is no such cell.
    #[inline]
    pub fn px(&self, s: usize, t: usize) -> f64 {
        self.scores[0][self.place(s, t)]
    }

    /// Returns the score, or occupation, of leaving frame `t` after `s` symbols.
    ///
    /// # Panics
    /// If there is no such cell.
    #[inline]
    pub fn py(&self, s: usize, t: usize) -> f64 {
        self.scores[1][self.place(s, t)]
    }

    /// Sets the score of emitting symbol `s` in frame `t`.
    ///
    /// # Panics
    /// If there is no such cell.
    #[inline]
    pub fn set_px(&mut self, s: usize, t: usize, score: f64) {
        let place = self.place(s, t);
        self.scores[0][place] = score;
    }

    /// Sets the score of leaving frame `t` after `s` symbols.
    ///
    /// # Panics
    /// If there is no such cell.
    #[inline]
    pub fn set_py(&mut self, s: usize, t: usize, score: f64) {
        let place = self.place(s, t);
        self.scores[1][place] = score;
    }

    /// Returns the score, or occupation, of arc number `index` from a cell.
    #[inline]
    pub(super) fn arc(&self, index: usize, s: usize, t: usize) -> f64 {
        self.scores[index][self.place(s, t)]
    }

    #[inline]
    pub(super) fn arc_mut(&mut self, index: usize, s: usize, t: usize) -> &mut f64 {
        let place = self.place(s, t);
        &mut self.scores[index][place]
    }

    /// Sets all scores to NaN, and with them the total and the occupations.
    pub(super) fn spoil(&mut self) {
        self.scores.iter_mut().for_each(|scores| scores.fill(f64::NAN));
    }

    /// In the constrained type, adds to each symbol the blank that follows it.
    pub(super) fn add_constraint(&mut self) {
        if self.rnnt_type == RnntType::Constrained {
            for t in 0..self.num_frames {
                for s in 0..self.num_symbols {
                    let score = self.px(s, t) + self.py(s + 1, t);
                    self.set_px(s, t, score);
                }
            }
        }
    }

    /// Returns the occupation of the blank at a cell: of its own arc and, in the constrained type,
    /// of the arc of the symbol that it follows.
    #[inline]
    pub(super) fn blank_occupation(&self, s: usize, t: usize) -> f64 {
        let of_symbol = self.rnnt_type == RnntType::Constrained && s > 0;
        self.py(s, t) + if of_symbol { self.px(s - 1, t) } else { 0.0 }
    }

    /// Returns the logarithm of the sum over all paths; NaN if a score is.
    pub fn total(&self) -> f64 {
        if self.has_nan() { f64::NAN } else { self.forward().last().copied().unwrap_or(0.0) }
    }

    /// Returns `true` if a score is NaN, which the maxima of the recursion can lose.
    fn has_nan(&self) -> bool {
        self.scores.iter().flatten().any(|score| score.is_nan())
    }

    /// Returns the logarithm of the sum over all paths, and the occupation of each arc: the
    /// derivative of the logarithm by the arc's score. It is 0 everywhere if there is no path. All
    /// are NaN if a score is.
    pub fn into_occupation(mut self) -> (f64, Self) {
        if self.has_nan() {
            self.spoil();
            return (f64::NAN, self);
        }
        let sums = self.forward();
        let total = sums.last().copied().unwrap_or(0.0);
        if total == f64::NEG_INFINITY {
            self.scores.iter_mut().for_each(|scores| scores.fill(0.0));
            return (total, self);
        }
        let mut occupations = self.moves.iter().map(|_| memory::zeros(sums.len())).collect::<Vec<_>>();
        dispatch(Backward { trellis: &self, sums: &sums, total, occupations: &mut occupations });
        self.scores = occupations;
        (total, self)
    }

    /// Returns for each cell the sum over all paths that lead to it; the last cell is the end.
    fn forward(&self) -> Vec<f64> {
        let mut sums = impossible(self.num_steps() * self.width());
        sums[0] = 0.0;
        dispatch(Forward { trellis: self, sums: &mut sums });
        sums
    }

    #[inline]
    fn place(&self, s: usize, t: usize) -> usize {
        let is_within = s <= self.num_symbols && t <= self.num_frames;
        assert!(is_within, "({s}, {t}) is not within {} symbols and {} frames", self.num_symbols, self.num_frames);
        let step = if self.is_skewed { s + t } else { t };
        step * self.width() + s
    }

    /// Returns the number of cells of a step, both inside and outside of the trellis.
    #[inline]
    fn width(&self) -> usize {
        self.num_symbols.saturating_add(1)
    }

    #[inline]
    fn num_steps(&self) -> usize {
        let symbols = if self.is_skewed { self.num_symbols } else { 0 };
        self.num_frames.saturating_add(symbols).saturating_add(1)
    }

    /// Returns the number of steps that an arc advances.
    #[inline]
    fn steps(&self, to: Move) -> usize {
        to.frames + if self.is_skewed { to.symbols } else { 0 }
    }

    /// Returns the cells of a step that are within the trellis: the first, and one past the last.
    #[inline]
    fn cells(&self, step: usize) -> (usize, usize) {
        if self.is_skewed {
            (step.saturating_sub(self.num_frames), self.num_symbols.min(step) + 1)
        } else {
            (0, self.num_symbols + 1)
        }
    }
}

/// Returns minus infinity for each cell.
fn impossible(cells: usize) -> Vec<f64> {
    let mut sums = memory::with_capacity(cells);
    sums.resize(cells, f64::NEG_INFINITY);
    sums
}

/// Computes ln (e^a + e^b).
#[inline(always)]
fn log_add<D: Doubles>(s: D, a: D::Vector, b: D::Vector) -> D::Vector {
    let (high, low) = (s.max(a, b), s.min(a, b));
    let more = ln(s, s.add(s.splat(1.0), exp(s, s.sub(low, high))));
    // If both are -inf, their difference is NaN, and the sum is -inf.
    s.select_lt(s.splat(f64::NEG_INFINITY), high, s.add(high, more), high)
}

struct Forward<'a> {
    trellis: &'a Trellis,
    sums: &'a mut [f64],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { trellis, sums } = self;
        let s = s.doubles();
        let lanes = <S::Doubles as Lanes<f64>>::LANES;
        let none = s.splat(f64::NEG_INFINITY);
        let width = trellis.width();
        for step in 1..trellis.num_steps() {
            let (before, row) = sums.split_at_mut(step * width);
            let (first, end) = trellis.cells(step);
            for (&to, scores) in trellis.moves.iter().zip(&trellis.scores) {
                let Some(source) = step.checked_sub(trellis.steps(to)) else { continue };
                let (first, end) = (first.max(to.symbols), end);
                let from = source * width + first - to.symbols..source * width + end.max(first) - to.symbols;
                let (before, scores) = (&before[from.clone()], &scores[from]);
                let row = &mut row[first..end.max(first)];
                for k in (0..row.len()).step_by(lanes) {
                    let arc = s.add(s.load_partial(&before[k..], none), s.load_partial(&scores[k..], none));
                    let sum = log_add(s, s.load_partial(&row[k..], none), arc);
                    s.store_partial(sum, &mut row[k..]);
                }
            }
        }
    }
}

struct Backward<'a> {
    trellis: &'a Trellis,
    sums: &'a [f64],
    total: f64,
    occupations: &'a mut [Vec<f64>],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { trellis, sums, total, occupations } = self;
        let s = s.doubles();
        let lanes = <S::Doubles as Lanes<f64>>::LANES;
        let (none, total) = (s.splat(f64::NEG_INFINITY), s.splat(total));
        let (width, num_steps) = (trellis.width(), trellis.num_steps());
        // For each cell the sum over all paths from it to the end.
        let mut rests = impossible(sums.len());
        if let Some(end) = rests.last_mut() {
            *end = 0.0;
        }
        for step in (0..num_steps - 1).rev() {
            let (row, behind) = rests[step * width..].split_at_mut(width);
            let (first, end) = trellis.cells(step);
            for ((&to, scores), occupations) in trellis.moves.iter().zip(&trellis.scores).zip(occupations.iter_mut()) {
                let steps = trellis.steps(to);
                if step + steps >= num_steps {
                    continue;
                }
                let end = end.min(width - to.symbols).max(first);
                let at = step * width + first..step * width + end;
                let target = (steps - 1) * width + to.symbols;
                let behind = &behind[target + first..target + end];
                let (scores, sums) = (&scores[at.clone()], &sums[at.clone()]);
                let (row, occupations) = (&mut row[first..end], &mut occupations[at]);
                for k in (0..row.len()).step_by(lanes) {
                    let rest = s.add(s.load_partial(&behind[k..], none), s.load_partial(&scores[k..], none));
                    let path = s.sub(s.add(s.load_partial(&sums[k..], none), rest), total);
                    s.store_partial(exp(s, path), &mut occupations[k..]);
                    s.store_partial(log_add(s, s.load_partial(&row[k..], none), rest), &mut row[k..]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the sum over all paths, one after the other.
    fn by_paths(trellis: &Trellis, s: usize, t: usize) -> f64 {
        if (s, t) == (trellis.num_symbols, trellis.num_frames) {
            return 1.0;
        }
        let mut sum = 0.0;
        for (arc, to) in trellis.moves.iter().enumerate() {
            if s + to.symbols <= trellis.num_symbols && t + to.frames <= trellis.num_frames {
                sum += trellis.arc(arc, s, t).exp() * by_paths(trellis, s + to.symbols, t + to.frames);
            }
        }
        sum
    }

    fn random(kind: RnntType, symbols: usize, frames: usize, values: &[f64]) -> Trellis {
        let mut values = values.iter().cycle();
        let mut trellis = Trellis::new(kind, symbols, frames);
        for s in 0..=symbols {
            for t in 0..=frames {
                if s < symbols && (t < frames || kind == RnntType::Regular) {
                    trellis.set_px(s, t, *values.next().unwrap());
                }
                if t < frames {
                    trellis.set_py(s, t, *values.next().unwrap());
                }
            }
        }
        trellis
    }

    proptest! {
        #[test]
        fn total_is_the_sum_over_paths_and_occupation_its_slope(
            modified in any::<bool>(), symbols in 0_usize..4, frames in 0_usize..5,
            values in prop::collection::vec(-3.0_f64..1.0, 40),
        ) {
            let kind = if modified { RnntType::Modified } else { RnntType::Regular };
            let trellis = random(kind, symbols, frames, &values);
            let expected = by_paths(&trellis, 0, 0).ln();
            let (total, occupation) = trellis.clone().into_occupation();
            prop_assert!(total == expected || (total - expected).abs() < 1e-11, "{total} {expected}");
            prop_assert_eq!(total, trellis.total());
            if total > f64::NEG_INFINITY {
                for arc in 0..2 {
                    for s in 0..=symbols {
                        for t in 0..frames {
                            let at = |h: f64| {
                                let mut moved = trellis.clone();
                                *moved.arc_mut(arc, s, t) += h;
                                moved.total()
                            };
                            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                            prop_assert!((slope - occupation.arc(arc, s, t)).abs() < 1e-8);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_to_emit_in_no_frames_is_certain() {
        assert_eq!(Trellis::new(RnntType::Regular, 0, 0).into_occupation().0, 0.0);
        assert_eq!(Trellis::new(RnntType::Modified, 1, 0).total(), f64::NEG_INFINITY);
    }
}
