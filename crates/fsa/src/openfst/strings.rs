//! Strings of labels as numbers: equal strings have equal numbers, and the rest after the first
//! label takes one look-up.

use crate::support::interner::Interner;

/// The empty string.
pub(super) const EMPTY: u32 = 0;

/// All strings so far, each as its first label and the string behind it.
#[derive(Debug)]
pub(super) struct Strings {
    /// First label and rest of string `i + 1`.
    cells: Interner<(u32, u32)>,
    /// Buffer for reversing strings.
    scratch: Vec<i32>,
}

impl Strings {
    pub(super) fn new() -> Self {
        Self { cells: Interner::new(), scratch: Vec::new() }
    }

    /// Returns the first label and the rest; `None` for the empty string.
    #[inline]
    pub(super) fn split(&self, string: u32) -> Option<(i32, u32)> {
        let cell = (string as usize).checked_sub(1)?;
        let (first, rest) = self.cells.keys()[cell];
        Some((first.cast_signed(), rest))
    }

    /// Returns `first` before `rest`.
    pub(super) fn cons(&mut self, first: i32, rest: u32) -> u32 {
        self.cells.number((first.cast_unsigned(), rest)) + 1
    }

    /// Returns `string` with `label` behind it; a label that outputs nothing changes nothing.
    #[inline]
    pub(super) fn append(&mut self, string: u32, label: i32) -> u32 {
        if label <= 0 {
            string
        } else if string == EMPTY {
            self.cons(label, EMPTY)
        } else {
            let last = self.cons(label, EMPTY);
            self.concat(string, last)
        }
    }

    /// Returns `b` behind `a`. O(length of a).
    pub(super) fn concat(&mut self, a: u32, b: u32) -> u32 {
        if a == EMPTY || b == EMPTY {
            return a.max(b);
        }
        self.before(a, usize::MAX, b)
    }

    /// Returns the first `length` labels of `a`, and `rest` behind them.
    fn before(&mut self, a: u32, length: usize, rest: u32) -> u32 {
        let mut labels = std::mem::take(&mut self.scratch);
        let mut at = a;
        while let (Some((first, behind)), true) = (self.split(at), labels.len() < length) {
            labels.push(first);
            at = behind;
        }
        let made = labels.drain(..).rev().fold(rest, |rest, label| self.cons(label, rest));
        self.scratch = labels;
        made
    }

    /// Returns the longest string that both begin with. O(its length).
    pub(super) fn common_prefix(&mut self, a: u32, b: u32) -> u32 {
        if a == b || a == EMPTY {
            return a;
        }
        let (mut length, mut rest) = (0, (a, b));
        while let (Some(of_a), Some(of_b)) = (self.split(rest.0), self.split(rest.1)) {
            if of_a.0 != of_b.0 {
                break;
            }
            length += 1;
            rest = (of_a.1, of_b.1);
        }
        match (length, rest) {
            (0, _) => EMPTY,
            (_, (EMPTY, _)) => a,
            (_, (_, EMPTY)) => b,
            _ => self.before(a, length, EMPTY),
        }
    }

    /// Returns `string` without its prefix `prefix`. O(length of the prefix).
    pub(super) fn behind(&self, string: u32, prefix: u32) -> u32 {
        let (mut string, mut prefix) = (string, prefix);
        while let (Some((_, of_string)), Some((_, of_prefix))) = (self.split(string), self.split(prefix)) {
            (string, prefix) = (of_string, of_prefix);
        }
        string
    }

    /// Returns the labels one after another.
    pub(super) fn labels(&self, string: u32) -> impl Iterator<Item = i32> + '_ {
        std::iter::successors(self.split(string), |&(_, rest)| self.split(rest)).map(|(first, _)| first)
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes_with(0)
    }

    /// Returns the number of bytes with `more` strings.
    pub(super) fn bytes_with(&self, more: usize) -> usize {
        self.cells.bytes_with(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_numbers() {
        let mut strings = Strings::new();
        let of = |strings: &mut Strings, labels: &[i32]| labels.iter().fold(EMPTY, |s, &l| strings.append(s, l));
        let (abc, abd, ab) = (of(&mut strings, &[1, 2, 3]), of(&mut strings, &[1, 2, 0, 4]), of(&mut strings, &[1, 2]));
        assert_eq!(strings.labels(abc).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(strings.common_prefix(abc, abd), ab);
        assert_eq!(strings.common_prefix(ab, abd), ab);
        assert_eq!(strings.common_prefix(abd, EMPTY), EMPTY);
        let d = of(&mut strings, &[4]);
        assert_eq!((strings.behind(abd, ab), strings.behind(abd, abd)), (d, EMPTY));
        assert_eq!((strings.concat(ab, d), strings.concat(ab, EMPTY), strings.concat(EMPTY, d)), (abd, ab, d));
        for i in 1..1000 {
            let s = strings.cons(i, abc);
            assert_eq!((strings.split(s), strings.cons(i, abc)), (Some((i, abc)), s));
        }
    }
}
