//! Lists of entries as Python writes them, to be read at run time.

use std::fmt;
use std::str::FromStr;

use crate::dims::Dims;
use crate::error::Error;
use crate::slice::entry::IndexEntry;
use crate::slice::resolve::{Counts, Entries, Entry};
use crate::slice::text;
use crate::slice::text::ParseError;

/// An index as Python writes it, made at run time: from entries or from text.
///
/// Up to eight entries need no allocation. An index that is known when the program is written is
/// simpler with [`ix!`](crate::ix).
///
/// ```
/// use tensor_strided::{IndexSpec, Tensor, ix};
///
/// let x = Tensor::from_vec([3, 4], (0..12).collect::<Vec<i32>>())?;
/// let index: IndexSpec = "[..., ::2, -1]".parse()?;
/// assert_eq!(index, ix![..., ..;2, -1]);
/// assert_eq!(x.index(&index)?.to_vec(), [3, 11]);
/// assert_eq!(index.to_string(), "[..., ::2, -1]");
///
/// let error = "[..., 1:x]".parse::<IndexSpec>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\
/// line 1, column 9: expected a number, ':', ',' or the end
///     [..., 1:x]
///             ^"
/// );
/// # Ok::<(), tensor_strided::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IndexSpec(Dims<IndexEntry>);

impl IndexSpec {
    /// No entry, which is the whole tensor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: impl Into<IndexEntry>) {
        self.0.push(entry.into());
    }

    /// Parses the text between the brackets of Python's `x[...]`, with or without the brackets.
    ///
    /// Entries are whole numbers, `begin:end:step` with any of them left out, `...`, and `None`,
    /// also as `newaxis`, `np.newaxis`, `tf.newaxis` or `NewAxis`. Spaces are allowed anywhere
    /// between, and a comma after the last entry.
    ///
    /// # Errors
    /// [`ParseError`], which shows the position.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        text::parse(text).map(Self)
    }
}

impl FromStr for IndexSpec {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// As Python writes it: `[..., ::2, -1]`.
impl fmt::Display for IndexSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(f, &self.0)
    }
}

impl AsRef<[IndexEntry]> for IndexSpec {
    #[inline]
    fn as_ref(&self) -> &[IndexEntry] {
        &self.0
    }
}

impl<const N: usize> PartialEq<[IndexEntry; N]> for IndexSpec {
    fn eq(&self, other: &[IndexEntry; N]) -> bool {
        *self.0 == *other
    }
}

impl From<&[IndexEntry]> for IndexSpec {
    fn from(entries: &[IndexEntry]) -> Self {
        Self(entries.into())
    }
}

impl<const N: usize> From<[IndexEntry; N]> for IndexSpec {
    fn from(entries: [IndexEntry; N]) -> Self {
        Self(entries.into())
    }
}

impl FromIterator<IndexEntry> for IndexSpec {
    fn from_iter<I: IntoIterator<Item = IndexEntry>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl Extend<IndexEntry> for IndexSpec {
    fn extend<I: IntoIterator<Item = IndexEntry>>(&mut self, entries: I) {
        self.0.extend(entries);
    }
}

/// Entries of Python's kind, checked to have one ellipsis at most.
pub(super) struct Checked<'a> {
    entries: &'a [IndexEntry],
    counts: Counts,
}

impl<'a> Checked<'a> {
    /// # Errors
    /// [`Error::MultipleEllipses`].
    #[inline]
    pub(super) fn new(entries: &'a [IndexEntry]) -> Result<Self, Error> {
        let (mut ellipses, mut ranges, mut new, mut dropped) = (0, 0, 0, 0);
        for entry in entries {
            match entry {
                IndexEntry::Ellipsis => ellipses += 1,
                IndexEntry::NewAxis => new += 1,
                IndexEntry::Index(_) => dropped += 1,
                IndexEntry::Range { .. } => ranges += 1,
            }
        }
        if ellipses > 1 {
            return Err(Error::MultipleEllipses);
        }
        Ok(Self { entries, counts: Counts { taken: ranges + dropped, new, dropped } })
    }
}

impl Entries for Checked<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    fn counts(&self) -> Counts {
        self.counts
    }

    #[inline]
    fn entry(&self, at: usize) -> Entry {
        match self.entries[at] {
            IndexEntry::Ellipsis => Entry::Ellipsis,
            IndexEntry::NewAxis => Entry::NewAxis,
            IndexEntry::Index(index) => Entry::Index { index, stride: 1 },
            IndexEntry::Range { begin, end, step } => Entry::Range { begin, end, stride: step },
        }
    }
}
