//! Growing and shrinking of rows at their ends, and shapes that cover others.

use std::borrow::Borrow;

use kaldera_base::memory;

use crate::error::Error;
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};

impl RaggedShape {
    /// Adds `change` elements to each innermost row, or removes them if it is negative. O(innermost
    /// rows).
    ///
    /// A `change` of 1 gives the shape of values with a prefix or suffix added to each row.
    ///
    /// # Errors
    /// [`Error::TooShort`] for a row with fewer elements than are to be removed,
    /// [`Error::TooLarge`].
    #[doc(alias = "ChangeSublistSize")]
    #[doc(alias = "AddSuffixToRagged")]
    #[doc(alias = "AddPrefixToRagged")]
    pub fn change_sublist_size(&self, change: i32) -> Result<Self, Error> {
        let lists = self.last_splits();
        if let Some((row, list)) = lists.rows().enumerate().find(|(_, list)| (list.len() as i64) < -i64::from(change)) {
            return Err(Error::TooShort { row, len: list.len(), change });
        }
        self.with_lengths(lists.rows().map(|list| list.len().saturating_add_signed(change as isize)))
    }

    /// Same as [`change_sublist_size`](Self::change_sublist_size), but empty rows stay empty, and a
    /// row with fewer elements than are to be removed becomes empty. O(innermost rows).
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "ChangeSublistSizePinned")]
    pub fn change_sublist_size_pinned(&self, change: i32) -> Result<Self, Error> {
        let changed = |len: usize| if len == 0 { 0 } else { len.saturating_add_signed(change as isize) };
        self.with_lengths(self.last_splits().rows().map(|list| changed(list.len())))
    }

    /// Returns the same rows with other lengths of the innermost ones.
    fn with_lengths(&self, lengths: impl Iterator<Item = usize>) -> Result<Self, Error> {
        let mut layers = self.layers().to_vec();
        layers.pop();
        layers.push(Layer::new(RowSplits::from_lengths(lengths)?));
        Ok(Self::trusted(layers))
    }

    /// Returns the smallest shape of two axes that covers each shape: each row is as long as the
    /// longest row with its number.
    ///
    /// O(shapes x rows). [`forward_map`](Self::forward_map) returns the places of the elements.
    ///
    /// # Errors
    /// [`Error::NoSources`]; [`Error::Axis`] for a shape of more than two axes; [`Error::Disagree`]
    /// on the number of rows; [`Error::TooLarge`].
    #[doc(alias = "CoveringShape")]
    pub fn covering(sources: &[impl Borrow<Self>]) -> Result<Self, Error> {
        let first = sources.first().ok_or(Error::NoSources)?.borrow();
        let mut lengths = vec![0; first.dim0()];
        for (source_index, source) in sources.iter().enumerate() {
            let lists = source.borrow().only_splits()?;
            if lists.num_rows() != lengths.len() {
                let (expected, found) = (lengths.len(), lists.num_rows());
                return Err(Error::Disagree { what: "number of rows", source_index, expected, found });
            }
            for (longest, list) in lengths.iter_mut().zip(lists.rows()) {
                *longest = list.len().max(*longest);
            }
        }
        Ok(Self::trusted([Layer::new(RowSplits::from_lengths(lengths)?)]))
    }

    /// Returns for each element of this shape, which covers `source`, the element of `source` in
    /// its place, or -1. O(elements).
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let (a, b): (RaggedShape, RaggedShape) =
    ///     ("[ [ x x ] [ ] ]".parse()?, "[ [ x ] [ x ] ]".parse()?);
    /// let covering = RaggedShape::covering(&[&a, &b])?;
    /// assert_eq!(covering.to_string(), "[ [ x x ] [ x ] ]");
    /// assert_eq!(covering.forward_map(&b)?, [0, -1, 1]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Axis`] for more than two axes; [`Error::Size`] if a row of `source` is longer than
    /// the row here or the numbers of rows differ.
    #[doc(alias = "CoveringShapeForwardMap")]
    pub fn forward_map(&self, source: &Self) -> Result<Vec<i32>, Error> {
        let (lists, inner) = (self.only_splits()?, source.only_splits()?);
        if lists.num_rows() != inner.num_rows() {
            let (expected, found) = (lists.num_rows(), inner.num_rows());
            return Err(Error::Size { what: "the number of rows", expected, found });
        }
        let mut map = memory::collect(std::iter::repeat_n(-1, lists.num_elements()));
        for (list, inner) in lists.rows().zip(inner.rows()) {
            let (expected, found) = (list.len(), inner.len());
            let covered = map[list].get_mut(..found);
            let covered =
                covered.ok_or(Error::Size { what: "the length of a covered row, at most,", expected, found })?;
            covered.iter_mut().zip(inner).for_each(|(to, element)| *to = element as i32);
        }
        Ok(map)
    }

    /// Returns the splits of a shape of two axes.
    fn only_splits(&self) -> Result<&RowSplits, Error> {
        Self::check_axis(self.num_axes() - 1, 1..=1)?;
        Ok(self.row_splits(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_cannot_shrink_or_fit_are_refused() {
        let shape = RaggedShape::new([RowSplits::from_lengths([2, 1]).unwrap()]).unwrap();
        assert_eq!(shape.change_sublist_size(-2), Err(Error::TooShort { row: 1, len: 1, change: -2 }));
        assert!(shape.change_sublist_size(i32::MIN).is_err());
        assert!(shape.change_sublist_size(i32::MAX).is_err());
        assert_eq!(shape.change_sublist_size_pinned(i32::MIN).unwrap().num_elements(), 0);
        assert!(shape.forward_map(&shape.change_sublist_size(1).unwrap()).is_err());
        assert!(shape.forward_map(&RaggedShape::trivial(1).unwrap()).is_err());
        assert!(RaggedShape::covering(&[shape.clone(), RaggedShape::trivial(1).unwrap()]).is_err());
        assert!(RaggedShape::covering(&[shape.unsqueeze(0).unwrap()]).is_err());
        assert_eq!(RaggedShape::covering(&[] as &[RaggedShape]), Err(Error::NoSources));
    }
}
