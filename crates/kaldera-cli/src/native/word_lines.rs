//! Layout of words over a time axis in lines, without overlaps.

use unicode_width::UnicodeWidthStr as _;

/// Place of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Line, counted from 0.
    pub(super) line: usize,
    /// Left end, in cells or pixels.
    pub(super) left: usize,
}

/// Returns the number of terminal cells of a text.
pub(super) fn cells(text: &str) -> usize {
    text.width()
}

/// Returns the places of words, each given by its preferred left end and its width. Each word gets
/// the first line with room for it and `gap` before it, out of at most `max` lines of `width`. A
/// word that is too wide at its place is moved to the left; a word without room has no place.
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
