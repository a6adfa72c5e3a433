//! Ranges of symbols that a joiner computes in each frame: the symbols near the paths of a simple
//! loss.

use std::ops::Range;

use kaldera_base::Real;

use super::trellis::{RnntType, Trellis};
use crate::batch::{Batch, num_classes};
use crate::error::Error;

/// The start of the range of each frame of each sequence: the first of `s_range` consecutive
/// numbers of symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneRanges {
    s_range: usize,
    begins: Vec<Vec<usize>>,
}

impl PruneRanges {
    /// Creates ranges; `begins` has the first number of symbols for each frame of each sequence.
    ///
    /// # Errors
    /// [`Error::Option`] for an `s_range` of 0.
    pub fn new(s_range: usize, begins: Vec<Vec<usize>>) -> Result<Self, Error> {
        Error::check_option("s_range", 0.0, s_range > 0, "1 or more")?;
        Ok(Self { s_range, begins })
    }

    /// Returns the size of the range of each frame.
    pub fn s_range(&self) -> usize {
        self.s_range
    }

    /// Returns the number of sequences.
    pub fn num_sequences(&self) -> usize {
        self.begins.len()
    }

    /// Returns the first number of symbols for each frame of a sequence.
    ///
    /// # Panics
    /// If `sequence` is out of range.
    pub fn begins(&self, sequence: usize) -> &[usize] {
        &self.begins[sequence]
    }

    /// Rejects frames without a symbol.
    pub(super) fn check(&self, sequence: usize, symbols: usize) -> Result<(), Error> {
        match self.begins[sequence].iter().position(|&begin| begin > symbols) {
            Some(frame) => Err(Error::Range { sequence, frame, found: self.begins[sequence][frame], symbols }),
            None => Ok(()),
        }
    }
}

/// Returns for each frame the `s_range` numbers of symbols with the highest occupation in
/// [`rnnt_loss_simple`](super::rnnt_loss_simple), such that a path leads through all ranges.
///
/// The value of a range is the occupation of its blanks minus the occupation of the symbols that
/// enter it. The first range starts at 0, and the last one ends at the last symbol. The starts
/// never fall, and rise slowly enough that a path can follow: by less than `s_range` per frame, or
/// by at most 1 in the types where a frame emits one symbol. As in k2, an `s_range` above S + 1 for
/// the longest sequence is reduced to that. In the regular type, an `s_range` that no path can
/// follow is raised to S / T + 1 for T frames and S symbols, rounded up.
///
/// # Errors
/// [`Error::Option`] for an `s_range` of 0.
pub fn get_rnnt_prune_ranges(occupations: &[Trellis], s_range: usize) -> Result<PruneRanges, Error> {
    let most = occupations.iter().map(Trellis::num_symbols).max().unwrap_or(0);
    let is_regular = occupations.iter().any(|trellis| trellis.rnnt_type() == RnntType::Regular);
    Error::check_option("s_range", s_range as f64, s_range > 0, "1 or more")?;
    let needed = |trellis: &Trellis| trellis.num_symbols().div_ceil(trellis.num_frames().max(1)) + 1;
    let needed = occupations.iter().filter(|_| is_regular).map(needed).max().unwrap_or(1);
    let s_range = s_range.max(needed).min(most + 1);
    let begins = occupations.iter().map(|trellis| {
        let rise = if is_regular { s_range - 1 } else { 1 };
        follow(best_windows(trellis, s_range, most), rise)
    });
    PruneRanges::new(s_range, begins.collect())
}

/// Returns the start of the best range of each frame, which may be after the last symbol; the range
/// of the last frame contains the last symbol.
fn best_windows(trellis: &Trellis, s_range: usize, most: usize) -> Vec<usize> {
    let (symbols, frames) = (trellis.num_symbols(), trellis.num_frames());
    let py = |s: usize, t: usize| if s <= symbols { trellis.py(s, t) } else { 0.0 };
    let entering = |s: usize, t: usize| if s > 0 && s <= symbols { trellis.px(s - 1, t) } else { 0.0 };
    let last = (symbols + 1).saturating_sub(s_range);
    let best = |t: usize| {
        let gain = |begin: usize| (begin..begin + s_range).map(|s| py(s, t)).sum::<f64>() - entering(begin, t);
        let better = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
        let all = (0..=most + 1 - s_range).map(|begin| (begin, gain(begin)));
        all.fold((0, f64::NEG_INFINITY), better).0
    };
    (0..frames).map(|t| if t + 1 < frames { best(t) } else { last }).collect()
}

/// Lowers the starts so that they never fall and begin at 0, then raises or lowers them so that
/// none is more than `rise` above the one before.
fn follow(mut begins: Vec<usize>, rise: usize) -> Vec<usize> {
    let mut next = usize::MAX;
    for begin in begins.iter_mut().rev() {
        next = next.min(*begin);
        *begin = next;
    }
    // Distance of each start below the line of the steepest rise; it must not fall.
    let mut least = usize::MAX;
    for (t, begin) in begins.iter_mut().enumerate().rev() {
        least = least.min((rise * t).saturating_sub(*begin));
        *begin = rise * t - least;
    }
    begins
}

/// Returns the rows of an encoder's and a decoder's output that a joiner combines for the ranges,
/// `s_range` rows per frame: rows of `am`, repeated, and the row of `lm` for each number of
/// symbols. `am` has a row for each frame, `lm` for each number of symbols. Numbers above a
/// sequence's last one repeat its last row.
///
/// # Errors
/// [`Error::Count`], [`Error::Rows`] for ranges of another batch; [`Error::Range`];
/// [`Error::Option`] for an `s_range` above the rows that `lm` has for the longest sequence.
pub fn do_rnnt_pruning<T: Real, B: Batch<T>>(
    am: &B,
    lm: &B,
    ranges: &PruneRanges,
) -> Result<(B, B, PruningSaved<B>), Error> {
    let (am_width, lm_width, s_range) = (num_classes(am), num_classes(lm), ranges.s_range);
    let (am_rows, lm_rows) = (am.rows()?, lm.rows()?);
    Error::check("the sequences of the ranges", am_rows.len(), ranges.num_sequences())?;
    Error::check("the sequences of `lm`", am_rows.len(), lm_rows.len())?;
    let most = lm_rows.iter().map(Range::len).max().unwrap_or(0);
    let is_good = s_range <= most || am_rows.is_empty();
    Error::check_option("s_range", s_range as f64, is_good, "at most the rows that `lm` has for the longest sequence")?;
    let all_frames = am.values().len().checked_div(am_width).unwrap_or(0);
    // Place in the batch, and the row of `lm`, for each place of a frame's range.
    let mut pairs = Vec::new();
    for (sequence, (frames, symbols)) in am_rows.iter().zip(&lm_rows).enumerate() {
        let (expected, found) = (frames.len(), ranges.begins(sequence).len());
        if expected != found {
            return Err(Error::Rows { sequence, what: "the ranges", expected, found });
        }
        let last = symbols.len().checked_sub(1).ok_or(Error::Rows { sequence, what: "`lm`", expected: 1, found: 0 })?;
        ranges.check(sequence, last)?;
        for (frame, &begin) in frames.clone().zip(ranges.begins(sequence)) {
            pairs.extend((0..s_range).map(|r| (frame * s_range + r, symbols.start + (begin + r).min(last))));
        }
    }
    let mut of_am = vec![T::ZERO; all_frames * s_range * am_width];
    let mut of_lm = vec![T::ZERO; all_frames * s_range * lm_width];
    for &(to, symbol) in &pairs {
        let frame = to / s_range;
        of_am[to * am_width..][..am_width].copy_from_slice(&am.values()[frame * am_width..][..am_width]);
        of_lm[to * lm_width..][..lm_width].copy_from_slice(&lm.values()[symbol * lm_width..][..lm_width]);
    }
    let (of_am, of_lm) = (am.with_rows(s_range, am_width, of_am)?, am.with_rows(s_range, lm_width, of_lm)?);
    Ok((of_am, of_lm, PruningSaved { am: am.clone(), lm: lm.clone(), s_range, pairs }))
}

/// Values that the gradient of [`do_rnnt_pruning`] needs.
#[derive(Debug, Clone)]
pub struct PruningSaved<B> {
    am: B,
    lm: B,
    s_range: usize,
    pairs: Vec<(usize, usize)>,
}

impl<B> PruningSaved<B> {
    /// Returns the derivatives by `am` and `lm`, given the derivatives by the two results.
    ///
    /// # Errors
    /// [`Error::Count`] unless these have the shapes of the results.
    pub fn backward<T: Real>(&self, am_grad: &B, lm_grad: &B) -> Result<(B, B), Error>
    where
        B: Batch<T>,
    {
        let (am_width, lm_width) = (num_classes(&self.am), num_classes(&self.lm));
        let frames = self.am.values().len().checked_div(am_width).unwrap_or(0);
        Error::check("the derivatives by `am`", frames * self.s_range * am_width, am_grad.values().len())?;
        Error::check("the derivatives by `lm`", frames * self.s_range * lm_width, lm_grad.values().len())?;
        let (mut by_am, mut by_lm) = (vec![T::ZERO; self.am.values().len()], vec![T::ZERO; self.lm.values().len()]);
        let add = |to: &mut [T], from: &[T]| to.iter_mut().zip(from).for_each(|(to, &from)| *to += from);
        for &(from, symbol) in &self.pairs {
            let frame = from / self.s_range;
            add(&mut by_am[frame * am_width..][..am_width], &am_grad.values()[from * am_width..][..am_width]);
            add(&mut by_lm[symbol * lm_width..][..lm_width], &lm_grad.values()[from * lm_width..][..lm_width]);
        }
        Ok((self.am.with_values(by_am)?, self.lm.with_values(by_lm)?))
    }
}
