//! The bytes of a model, made of sorted n-grams.

use super::ConstArpaOptions;
use super::file::{ConstArpaForm, Contents, HEAD};
use crate::error::{Error, Quantity};
use crate::graphs::ngram::layout::check_limit;
use crate::graphs::ngram::lists::Level;

/// The places of the states of the n-grams of an order.
struct Placed {
    /// First child of each n-gram in the next order, and the number of n-grams there.
    children: Vec<usize>,
    /// Position of each n-gram's state.
    positions: Vec<usize>,
}

/// Returns the bytes of a model in the form with names. States follow each other in the order of
/// their words, each of them before all that begin with its words.
///
/// # Errors
/// [`Error::OutOfRange`] for words of `options` that are not among the words,
/// [`Error::SameEnds`], [`Error::NgramLimit`], [`Error::TooLarge`].
pub(super) fn build(levels: Vec<Level>, options: &ConstArpaOptions) -> Result<Vec<u8>, Error> {
    let ConstArpaOptions { start, end, unknown, max_distance, limits } = *options;
    let num_words = levels.first().and_then(|level| level.words.last()).map_or(0, |&word| word as usize + 1);
    let last = Error::fit(Quantity::Symbols, num_words)? - 1;
    let named = [(Quantity::StartWord, Some(start)), (Quantity::EndWord, Some(end)), (Quantity::UnknownWord, unknown)];
    for (what, word) in named {
        if let Some(found) = word.filter(|word| !(1..=last).contains(word)) {
            return Err(Error::OutOfRange { what, min: 1, max: last.into(), found: found.into() });
        }
    }
    if start == end {
        return Err(Error::SameEnds { word: end });
    }
    let ngrams: usize = levels.iter().map(Level::len).sum();
    let taken: usize = levels.iter().map(Level::bytes).sum();
    // Numbers of the states and places of n-grams, and the bytes of the file.
    let needed = ngrams.saturating_mul(5 * 4 + 3 * size_of::<usize>()).saturating_mul(2).saturating_add(taken);
    check_limit(limits, needed.saturating_add(num_words.saturating_mul(16)), ngrams)?;
    let (placed, size) = place(&levels);
    let mut states = vec![0_i32; size];
    let (mut far, mut unigrams) = (Vec::new(), vec![0_i64; num_words]);
    for (order, level) in levels.iter().enumerate() {
        for at in 0..level.len() {
            if !is_state(&levels, &placed, order, at) {
                continue;
            }
            let position = placed[order].positions[at];
            if order == 0 {
                unigrams[level.ngram(at)[0] as usize] = entry(position)?;
            }
            let children = children(&placed, order, at);
            let bits = [level.scores[at], level.backoffs[at]].map(|number| number.to_bits().cast_signed());
            let count = Error::fit(Quantity::Ngrams, children.len())?;
            states[position..][..HEAD].copy_from_slice(&[bits[0], bits[1], count]);
            for (i, child) in children.enumerate() {
                let place = position + HEAD + 2 * i;
                let longer = &levels[order + 1];
                states[place] = longer.ngram(child)[order + 1].cast_signed();
                states[place + 1] = if is_state(&levels, &placed, order + 1, child) {
                    let reached = placed[order + 1].positions[child];
                    let distance = i32::try_from(reached - position).ok().filter(|&distance| distance <= max_distance);
                    match distance.and_then(|distance| distance.checked_mul(2)) {
                        Some(twice) => twice | 1,
                        None => {
                            far.push((place + 1, reached));
                            0
                        }
                    }
                } else {
                    // An odd number would be no logarithm.
                    longer.scores[child].to_bits().cast_signed() & !1
                };
            }
        }
    }
    // The table has them in the order of the states.
    far.sort_unstable();
    let mut overflow = Vec::with_capacity(far.len());
    for (i, (place, reached)) in far.into_iter().enumerate() {
        let twice = Error::fit(Quantity::Values, i)?.checked_mul(2);
        states[place] = -twice.ok_or(Error::TooLarge { what: Quantity::Values, size: i as u64 })? - 1;
        overflow.push(entry(reached)?);
    }
    let contents = Contents {
        start,
        end,
        unknown,
        order: levels.len(),
        states: &mut states.into_iter(),
        unigrams: &mut unigrams.into_iter(),
        overflow: &mut overflow.into_iter(),
    };
    drop((levels, placed));
    contents.write(ConstArpaForm::Named)
}

/// Returns the number by which a table names a position.
fn entry(position: usize) -> Result<i64, Error> {
    i64::try_from(position + 1).map_err(|_| Error::TooLarge { what: Quantity::Values, size: position as u64 })
}

fn children(placed: &[Placed], order: usize, at: usize) -> std::ops::Range<usize> {
    match placed[order].children[..] {
        [] => 0..0,
        ref first => first[at]..first[at + 1],
    }
}

/// Returns `true` if an n-gram has a state: it is a word, or other n-grams depend on it.
fn is_state(levels: &[Level], placed: &[Placed], order: usize, at: usize) -> bool {
    let backoff = levels[order].backoffs[at];
    order == 0 || (order + 1 < levels.len() && (backoff != 0.0 || !children(placed, order, at).is_empty()))
}

/// Finds the places of all states, and the number of numbers that they take.
fn place(levels: &[Level]) -> (Vec<Placed>, usize) {
    let mut placed: Vec<Placed> = Vec::with_capacity(levels.len());
    for (order, level) in levels.iter().enumerate() {
        let mut children = Vec::new();
        if let Some(longer) = levels.get(order + 1) {
            children.reserve_exact(level.len() + 1);
            let mut child = 0;
            for ngram in level.ngrams() {
                children.push(child);
                while child < longer.len() && longer.ngram(child)[..=order] == *ngram {
                    child += 1;
                }
            }
            children.push(child);
        }
        placed.push(Placed { children, positions: Vec::new() });
    }
    let own = |placed: &[Placed], order: usize, at: usize| {
        if is_state(levels, placed, order, at) { HEAD + 2 * children(placed, order, at).len() } else { 0 }
    };
    // The sizes with all longer n-grams, from the longest to the shortest.
    for order in (0..levels.len()).rev() {
        let longer = |at: usize| children(&placed, order, at).map(|child| placed[order + 1].positions[child]);
        let size = |at: usize| own(&placed, order, at) + longer(at).sum::<usize>();
        placed[order].positions = (0..levels[order].len()).map(size).collect();
    }
    // The positions, from the shortest to the longest.
    let mut size = 0;
    if let Some(unigrams) = placed.first_mut() {
        for position in &mut unigrams.positions {
            size += std::mem::replace(position, size);
        }
    }
    for order in 0..levels.len().saturating_sub(1) {
        for at in 0..levels[order].len() {
            let mut next = placed[order].positions[at] + own(&placed, order, at);
            for child in children(&placed, order, at) {
                next += std::mem::replace(&mut placed[order + 1].positions[child], next);
            }
        }
    }
    (placed, size)
}
