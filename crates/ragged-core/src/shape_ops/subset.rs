//! Removal of rows or elements.

use kaldera_base::memory;

use crate::error::Error;
use crate::shape::RaggedShape;

/// The elements that are kept, with their new and old numbers.
///
/// ```
/// use ragged_core::Renumbering;
///
/// let renumbering = Renumbering::new(&[true, false, true])?;
/// assert_eq!(renumbering.new2old(), [0, 2]);
/// assert_eq!(renumbering.old2new(), [0, 1, 1, 2]);
/// # Ok::<(), ragged_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renumbering {
    keep: Vec<bool>,
    new2old: Vec<i32>,
}

impl Renumbering {
    /// Numbers the elements that are kept. O(elements).
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more than `i32::MAX` elements.
    pub fn new(keep: impl Into<Vec<bool>>) -> Result<Self, Error> {
        let keep = keep.into();
        let new2old = kept(&keep)?;
        Ok(Self { keep, new2old })
    }

    /// Returns the number of elements.
    #[doc(alias = "NumOldElems")]
    pub fn num_old(&self) -> usize {
        self.keep.len()
    }

    /// Returns the number of elements that are kept.
    #[doc(alias = "NumNewElems")]
    pub fn num_new(&self) -> usize {
        self.new2old.len()
    }

    /// Returns the old number of each kept element.
    #[doc(alias = "New2Old")]
    pub fn new2old(&self) -> &[i32] {
        &self.new2old
    }

    /// Returns for each old number the number of kept elements before it, which is its new number
    /// if it is kept itself. The last entry, one more than there are elements, is
    /// [`num_new`](Self::num_new). O(elements).
    #[doc(alias = "Old2New")]
    pub fn old2new(&self) -> Vec<i32> {
        let mut before = 0;
        let mut old2new = memory::with_capacity(self.keep.len() + 1);
        old2new.push(0);
        for &keep in &self.keep {
            before += i32::from(keep);
            old2new.push(before);
        }
        old2new
    }
}

impl AsRef<[bool]> for Renumbering {
    fn as_ref(&self) -> &[bool] {
        &self.keep
    }
}

/// Returns the numbers of the kept elements.
fn kept(keep: &[bool]) -> Result<Vec<i32>, Error> {
    Error::fit("the number of entries", keep.len())?;
    let mut numbers = memory::zeros(keep.len());
    let mut len = 0;
    for (number, &keep) in (0..).zip(keep) {
        // Always written, but counted only if kept: no branch to be mispredicted.
        numbers[len] = number;
        len += usize::from(keep);
    }
    numbers.truncate(len);
    Ok(numbers)
}

impl RaggedShape {
    /// Returns the shape with the kept entries of axis `axis`, and for each remaining element its
    /// old index. Rows above stay, even if they become empty. `keep` is flags, or a
    /// [`Renumbering`].
    ///
    /// O(entries of the axis + size of the result).
    ///
    /// # Errors
    /// [`Error::Axis`]; [`Error::Size`] if there is not one flag for each entry.
    #[doc(alias = "SubsetRaggedShape")]
    #[doc(alias = "SubsampleRaggedShape")]
    pub fn subset(&self, axis: usize, keep: impl AsRef<[bool]>) -> Result<(Self, Vec<i32>), Error> {
        self.index(axis, &self.kept_of(axis, keep.as_ref())?)
    }

    /// Removes rows of the axis before the last and elements of the last at once; an element stays
    /// if it and its row are kept. Returns the shape and the old number of each remaining element.
    ///
    /// O(rows + elements).
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one flag for each row and each element.
    #[doc(alias = "SubsetRaggedShape")]
    pub fn subset_last_two(
        &self,
        keep_lists: impl AsRef<[bool]>,
        keep_elements: impl AsRef<[bool]>,
    ) -> Result<(Self, Vec<i32>), Error> {
        let last = self.num_axes() - 1;
        let lists = self.kept_of(last - 1, keep_lists.as_ref())?;
        let (fewer, elements) = self.subset(last, keep_elements)?;
        let (shape, left) = fewer.index(last - 1, &lists)?;
        Ok((shape, memory::collect(left.iter().map(|&element| elements[element as usize]))))
    }

    /// Removes the empty rows among the entries of axis `axis`, and returns for each remaining
    /// entry its old index. A row that holds empty rows is not empty. No element is lost.
    ///
    /// O(entries of the axis + size of the result).
    ///
    /// # Errors
    /// [`Error::Axis`] for the last axis, which has elements and no rows.
    #[doc(alias = "RemoveEmptyLists")]
    #[doc(alias = "RemoveEmptyListsAxis0")]
    pub fn remove_empty_lists(&self, axis: usize) -> Result<(Self, Vec<i32>), Error> {
        Self::check_axis(axis, 0..=self.num_axes() - 2)?;
        let lists = (0..).zip(self.row_splits(axis + 1).rows());
        let left: Vec<i32> = lists.filter(|(_, list)| !list.is_empty()).map(|(entry, _)| entry).collect();
        let (shape, _) = self.index_runs(axis, &left)?;
        Ok((shape, left))
    }

    /// Removes the empty rows among the entries of axis `axis` that are not kept. No element is
    /// lost.
    ///
    /// # Errors
    /// [`Error::Axis`] for the last axis, [`Error::Size`] if there is not one flag for each entry,
    /// or if a row that is not kept has entries.
    #[doc(alias = "RemoveSomeEmptyLists")]
    #[doc(alias = "RenumberAxis0Simple")]
    pub fn remove_some_empty_lists(&self, axis: usize, keep: impl AsRef<[bool]>) -> Result<Self, Error> {
        Self::check_axis(axis, 0..=self.num_axes() - 2)?;
        let left = self.kept_of(axis, keep.as_ref())?;
        let mut lost = self.row_splits(axis + 1).rows().zip(keep.as_ref()).filter(|&(_, keep)| !keep);
        match lost.find(|(list, _)| !list.is_empty()) {
            Some((list, _)) => {
                Err(Error::Size { what: "the length of a row that is left out", expected: 0, found: list.len() })
            }
            None => Ok(self.index_runs(axis, &left)?.0),
        }
    }

    /// Returns the numbers of the kept entries of an axis, if each has a flag.
    fn kept_of(&self, axis: usize, keep: &[bool]) -> Result<Vec<i32>, Error> {
        Self::check_axis(axis, 0..=self.num_axes() - 1)?;
        let (expected, found) = (self.tot_size(axis), keep.len());
        if expected != found {
            return Err(Error::Size { what: "the number of flags", expected, found });
        }
        kept(keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_splits::RowSplits;

    #[test]
    fn flags_that_do_not_fit_are_refused() {
        let shape = RaggedShape::regular(2, 3).unwrap();
        assert_eq!(shape.subset(1, [true; 5]), Err(Error::Size { what: "the number of flags", expected: 6, found: 5 }));
        assert!(shape.subset(2, [true; 6]).is_err());
        assert!(shape.remove_empty_lists(1).is_err());
        assert!(shape.remove_some_empty_lists(0, [true, false]).is_err());
    }

    #[test]
    fn subset_last_two_equals_two_subsets() {
        let shape = RaggedShape::regular(3, 2).unwrap();
        let (left, elements) =
            shape.subset_last_two([true, false, true], [true, true, true, false, false, true]).unwrap();
        assert_eq!((left.row_splits(1).as_ref(), &elements[..]), (&[0, 2, 3][..], &[0, 1, 5][..]));
    }

    #[test]
    fn remove_empty_lists_removes_only_empty_ones() {
        let shape = RaggedShape::new([RowSplits::new(vec![0, 0, 2, 2]).unwrap()]).unwrap();
        assert_eq!(shape.remove_some_empty_lists(0, [false, true, true]).unwrap().row_splits(1).as_ref(), [0, 2, 2]);
        assert_eq!(shape.remove_empty_lists(0).unwrap().1, [1]);
    }
}
