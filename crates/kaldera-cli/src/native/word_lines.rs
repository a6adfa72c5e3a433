//! Words over an axis of time: in which line each stands, so that none covers another.

use unicode_width::UnicodeWidthStr as _;

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The line, counted from 0.
    pub(super) line: usize,
    /// Where it begins, in cells or pixels.
    pub(super) left: usize,
}

/// How many cells of a terminal a text has.
pub(super) fn cells(text: &str) -> usize {
    text.width()
}

/// The places of words, which wish to begin at `left` and have a width each, in at most `max` lines
/// of `width`: each in the first line with room for it and `gap` before it. A word that is too wide
/// at its place is moved to the left; one without room has no place.
pub(super) fn places(
    words: impl Iterator<Item = (usize, usize)>,
    gap: usize,
    width: usize,
    max: usize,
) -> Vec<Option<Place>> {
    let mut ends: Vec<usize> = vec![];
    let place = |(left, own): (usize, usize)| {
        let left = left.min(width.checked_sub(own)?);
        let line = match ends.iter().position(|&end| end == 0 || end + gap <= left) {
            Some(line) => line,
            None if ends.len() < max => {
                ends.push(0);
                ends.len() - 1
            }
            None => return None,
        };
        ends[line] = left + own;
        Some(Place { line, left })
    };
    words.map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_covers_another() {
        let words = [(0, 3), (2, 3), (4, 2), (5, 3), (5, 1), (9, 4), (9, 11)];
        let found = places(words.into_iter(), 1, 10, 3);
        let at = |line, left| Some(Place { line, left });
        assert_eq!(found, [at(0, 0), at(1, 2), at(0, 4), at(2, 5), None, at(1, 6), None]);
        assert_eq!(places([(3, 1)].into_iter(), 1, 10, 0), [None]);
        assert_eq!((cells("one"), cells("一二"), cells("")), (3, 4, 0));
    }
}
