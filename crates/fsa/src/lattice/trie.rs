//! Strings of labels in one tree: a string is its last label and the string before it.
//!
//! Each string also has a link to one of its prefixes, some of them much shorter, so that the
//! common prefix of two strings is found in O(log length) (E. W. Myers, *An applicative
//! random-access stack*, 1983): pending strings grow as long as they have no common prefix.

use std::cmp::Ordering;

use crate::error::Error;
use crate::support::pair_interner::PairInterner;

/// The empty string.
pub(super) const EMPTY: u32 = 0;

/// All strings so far. Equal strings have equal numbers.
pub(super) struct Trie {
    /// String `i + 1` is the string of the first number with the label of the second behind it.
    nodes: PairInterner,
    depths: Vec<u32>,
    /// A shorter prefix of each string; its length follows from the length of the string.
    jumps: Vec<u32>,
    scratch: Vec<i32>,
}

impl Trie {
    pub(super) fn new() -> Self {
        Self { nodes: PairInterner::with_capacity(1024), depths: vec![0], jumps: vec![EMPTY], scratch: Vec::new() }
    }

    /// Returns `string` with `label` behind it.
    pub(super) fn push(&mut self, string: u32, label: i32) -> Result<u32, Error> {
        let (node, is_new) = self.nodes.insert(string, label.cast_unsigned())?;
        if is_new {
            self.depths.push(self.len(string) + 1);
            let jump = self.jump(string);
            let equal = self.len(string) - self.len(jump) == self.len(jump) - self.len(self.jump(jump));
            self.jumps.push(if equal { self.jump(jump) } else { string });
        }
        Ok(node + 1)
    }

    /// Returns `string` with `labels` behind it.
    pub(super) fn extend(&mut self, string: u32, labels: &[i32]) -> Result<u32, Error> {
        labels.iter().try_fold(string, |string, &label| self.push(string, label))
    }

    pub(super) fn len(&self, string: u32) -> u32 {
        self.depths[string as usize]
    }

    fn jump(&self, string: u32) -> u32 {
        self.jumps[string as usize]
    }

    fn parent(&self, string: u32) -> (u32, i32) {
        let (parent, label) = self.nodes.pair(string - 1);
        (parent, label.cast_signed())
    }

    /// Returns the first `length` labels of a string that has at least as many. O(log length).
    fn prefix(&self, mut string: u32, length: u32) -> u32 {
        while self.len(string) > length {
            let jump = self.jump(string);
            string = if self.len(jump) >= length { jump } else { self.parent(string).0 };
        }
        string
    }

    /// Returns the longest string that both begin with. O(log length).
    pub(super) fn common_prefix(&self, a: u32, b: u32) -> u32 {
        let length = self.len(a).min(self.len(b));
        let (mut a, mut b) = (self.prefix(a, length), self.prefix(b, length));
        while a != b {
            let (jump_a, jump_b) = (self.jump(a), self.jump(b));
            (a, b) = if jump_a == jump_b { (self.parent(a).0, self.parent(b).0) } else { (jump_a, jump_b) };
        }
        a
    }

    /// Compares strings: shorter ones come first, and equally long ones are in the order of the
    /// first label that differs. O(log length).
    pub(super) fn compare(&self, mut a: u32, mut b: u32) -> Ordering {
        if a == b || self.len(a) != self.len(b) {
            return self.len(a).cmp(&self.len(b));
        }
        loop {
            let ((parent_a, label_a), (parent_b, label_b)) = (self.parent(a), self.parent(b));
            if parent_a == parent_b {
                return label_a.cmp(&label_b);
            }
            let (jump_a, jump_b) = (self.jump(a), self.jump(b));
            (a, b) = if jump_a == jump_b { (parent_a, parent_b) } else { (jump_a, jump_b) };
        }
    }

    /// Returns `a` with `b` behind it. O(length of b).
    pub(super) fn concat(&mut self, a: u32, b: u32) -> Result<u32, Error> {
        if a == EMPTY || b == EMPTY {
            return Ok(a.max(b));
        }
        self.append_behind(a, b, 0)
    }

    /// Returns a string without its first `length` labels. O(labels that remain).
    pub(super) fn behind(&mut self, string: u32, length: u32) -> Result<u32, Error> {
        if length == 0 || string == EMPTY {
            return Ok(string);
        }
        self.append_behind(EMPTY, string, length)
    }

    /// Returns `a` followed by `b` without its first `length` labels.
    fn append_behind(&mut self, a: u32, b: u32, length: u32) -> Result<u32, Error> {
        let mut labels = std::mem::take(&mut self.scratch);
        self.collect(b, length, &mut labels);
        let made = self.extend(a, &labels);
        self.scratch = labels;
        made
    }

    /// Returns the labels of a string.
    pub(super) fn labels(&self, string: u32) -> Vec<i32> {
        let mut labels = Vec::new();
        self.collect(string, 0, &mut labels);
        labels
    }

    fn collect(&self, mut string: u32, length: u32, labels: &mut Vec<i32>) {
        labels.clear();
        while self.len(string) > length {
            let (parent, label) = self.parent(string);
            labels.push(label);
            string = parent;
        }
        labels.reverse();
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes() + (self.depths.capacity() + self.jumps.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn prefixes_and_order_are_those_of_lists(a in prop::collection::vec(-1..2_i32, 0..40), b in prop::collection::vec(-1..2_i32, 0..40), cut in 0..40_usize) {
            let mut trie = Trie::new();
            // Long common prefixes are rare by chance.
            let b = [&a[..cut.min(a.len())], &b].concat();
            let [x, y] = [&a, &b].map(|labels| trie.extend(EMPTY, labels).unwrap());
            let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(trie.labels(trie.common_prefix(x, y)), &a[..common]);
            prop_assert_eq!(trie.compare(x, y), a.len().cmp(&b.len()).then(a.cmp(&b)));
            let both = trie.concat(x, y).unwrap();
            prop_assert_eq!(trie.labels(both), [&a[..], &b].concat());
            let rest = trie.behind(both, trie.len(x)).unwrap();
            prop_assert_eq!(rest, y);
        }
    }

    #[test]
    fn strings_are_numbers() {
        let mut trie = Trie::new();
        let [abc, abd, ab] = [&[1, 2, 3][..], &[1, 2, 4], &[1, 2]].map(|labels| trie.extend(EMPTY, labels).unwrap());
        assert_eq!((trie.labels(abc), trie.len(abd)), (vec![1, 2, 3], 3));
        assert_eq!((trie.common_prefix(abc, abd), trie.common_prefix(ab, abd)), (ab, ab));
        assert_eq!(trie.common_prefix(abc, EMPTY), EMPTY);
        let d = trie.behind(abd, 2).unwrap();
        assert_eq!((trie.labels(d), trie.behind(d, 1).unwrap()), (vec![4], EMPTY));
        assert_eq!(trie.extend(ab, &[4]).unwrap(), abd);
    }
}
