//! Arcs of equal labels in two sorted rows.

use crate::core::arc::Arc;
use crate::error::Error;

/// Calls `found` for the indexes of all arcs of `a` and `b` with equal labels; both are sorted by
/// label (as unsigned numbers). O(shorter row, times the logarithm of the longer one at worst) +
/// O(pairs found).
#[inline]
pub(crate) fn for_each_match(
    a: &[Arc],
    b: &[Arc],
    mut found: impl FnMut(usize, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    if a.len() <= b.len() { for_each_of_shorter(a, b, found) } else { for_each_of_shorter(b, a, |j, i| found(i, j)) }
}

fn for_each_of_shorter(
    short: &[Arc],
    long: &[Arc],
    mut found: impl FnMut(usize, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut i, mut j) = (0, 0);
    while i < short.len() {
        let label = short[i].label;
        j = seek(long, j, label.cast_unsigned());
        if j == long.len() {
            return Ok(());
        }
        let i_end = i + short[i..].iter().take_while(|arc| arc.label == label).count();
        let j_end = j + long[j..].iter().take_while(|arc| arc.label == label).count();
        for i in i..i_end {
            for j in j..j_end {
                found(i, j)?;
            }
        }
        (i, j) = (i_end, j_end);
    }
    Ok(())
}

/// Returns the index of the first arc at or behind `from` whose label is not below `label`.
///
/// The search begins at the index that it has if each label has one arc, and goes on in steps that
/// double, so that a label nearby and one of a dense row are found at once, and others in
/// logarithmic time.
pub(crate) fn seek(arcs: &[Arc], from: usize, label: u32) -> usize {
    let below = |at: usize| arcs[at].label.cast_unsigned() < label;
    if from >= arcs.len() || !below(from) {
        return from;
    }
    let distance = usize::try_from(label - arcs[from].label.cast_unsigned()).unwrap_or(usize::MAX);
    let guess = from.saturating_add(distance).min(arcs.len() - 1);
    // The index is above `low` and not above `high`.
    let (mut low, mut high) = (from, guess);
    let mut step = 1;
    if below(guess) {
        (low, high) = (guess, arcs.len());
        while low + step < arcs.len() {
            if !below(low + step) {
                high = low + step;
                break;
            }
            low += step;
            step *= 2;
        }
    } else {
        while high > from + step {
            if below(high - step) {
                low = high - step;
                break;
            }
            high -= step;
            step *= 2;
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if below(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_label_is_found_where_it_stands(
            mut labels in prop::collection::vec(-1..60_i32, 0..80), label in -1..70_i32, from in 0..80_usize,
        ) {
            labels.sort_by_key(|label: &i32| label.cast_unsigned());
            let arcs: Vec<_> = labels.iter().map(|&label| Arc::new(0, 1, label, 0.0)).collect();
            let from = from.min(arcs.len());
            let naive = labels.iter().skip(from).take_while(|at| at.cast_unsigned() < label.cast_unsigned()).count();
            prop_assert_eq!(seek(&arcs, from, label.cast_unsigned()), from + naive);
        }
    }
}
