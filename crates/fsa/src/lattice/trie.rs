//! Strings of labels in one tree: a string is its last label and the string before it.

use crate::error::Error;
use crate::support::pair_interner::PairInterner;

/// The empty string.
pub(super) const EMPTY: u32 = 0;

/// All strings met so far. Equal strings have equal numbers.
pub(super) struct Trie {
    /// String `i + 1` is the string of the first number with the label of the second behind it.
    nodes: PairInterner,
    depths: Vec<u32>,
    scratch: Vec<i32>,
}

impl Trie {
    pub(super) fn new() -> Self {
        Self { nodes: PairInterner::with_capacity(1024), depths: vec![0], scratch: Vec::new() }
    }

    /// `string` with `label` behind it.
    pub(super) fn push(&mut self, string: u32, label: i32) -> Result<u32, Error> {
        let (node, is_new) = self.nodes.insert(string, label.cast_unsigned())?;
        if is_new {
            self.depths.push(self.depths[string as usize] + 1);
        }
        Ok(node + 1)
    }

    /// `string` with `labels` behind it.
    pub(super) fn extend(&mut self, string: u32, labels: &[i32]) -> Result<u32, Error> {
        labels.iter().try_fold(string, |string, &label| self.push(string, label))
    }

    pub(super) fn len(&self, string: u32) -> u32 {
        self.depths[string as usize]
    }

    fn parent(&self, string: u32) -> (u32, i32) {
        let (parent, label) = self.nodes.pair(string - 1);
        (parent, label.cast_signed())
    }

    /// The longest string that both begin with. O(what is behind it).
    pub(super) fn common_prefix(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if self.len(a) >= self.len(b) { a = self.parent(a).0 } else { b = self.parent(b).0 }
        }
        a
    }

    /// What is left of a string behind its first `length` labels. O(what is left).
    pub(super) fn behind(&mut self, string: u32, length: u32) -> Result<u32, Error> {
        if length == 0 || string == EMPTY {
            return Ok(string);
        }
        let mut labels = std::mem::take(&mut self.scratch);
        self.collect(string, length, &mut labels);
        let rest = self.extend(EMPTY, &labels);
        self.scratch = labels;
        rest
    }

    /// The labels of a string.
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

    /// The memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.depths.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
