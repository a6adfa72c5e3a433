//! Conversions from and to other lists of lists: nested `Vec`s, Arrow's list offsets, arrays of
//! `ndarray`.

use std::ops::Range;
use std::sync::Arc;

use kaldera_base::buffer::Buffer;

use crate::error::Error;
use crate::ragged::Ragged;
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};

/// Makes a tensor of two axes. O(lists + elements); elements are moved.
///
/// ```
/// use ragged_core::Ragged;
///
/// let words = Ragged::from(vec![vec!["a", "b"], vec![], vec!["c"]]);
/// assert_eq!(words.shape().row_splits(1).as_ref(), [0, 2, 2, 3]);
/// assert_eq!(Vec::<Vec<&str>>::try_from(&words)?, [vec!["a", "b"], vec![], vec!["c"]]);
/// # Ok::<(), ragged_core::Error>(())
/// ```
///
/// # Panics
/// If there are more than `i32::MAX` lists or values, as `Vec` does beyond its capacity.
/// [`Ragged::from_lists`] returns an error then.
impl<T> From<Vec<Vec<T>>> for Ragged<T> {
    fn from(lists: Vec<Vec<T>>) -> Self {
        let splits = splits_of(lists.iter().map(Vec::len));
        Self::trusted(splits.into(), lists.into_iter().flatten().collect::<Vec<_>>())
    }
}

/// Makes a tensor of two axes, copied.
///
/// # Panics
/// If there are more than `i32::MAX` lists or values; [`Ragged::from_lists`] returns an error then.
impl<T: Clone, R: AsRef<[T]>> From<&[R]> for Ragged<T> {
    fn from(lists: &[R]) -> Self {
        within_limit(Self::from_lists(lists))
    }
}

/// Makes a tensor of two axes, copied.
///
/// # Panics
/// If there are more than `i32::MAX` lists or values; [`Ragged::from_lists`] returns an error then.
impl<T: Clone, R: AsRef<[T]>> From<&Vec<R>> for Ragged<T> {
    fn from(lists: &Vec<R>) -> Self {
        Self::from(&lists[..])
    }
}

/// Makes a tensor of two axes from an array of arrays or of vectors; elements are moved.
///
/// ```
/// use ragged_core::Ragged;
///
/// assert_eq!(Ragged::from([[1, 2], [3, 4]]).to_string(), "[ [ 1 2 ] [ 3 4 ] ]");
/// assert_eq!(Ragged::from([vec![1, 2], vec![]]).to_string(), "[ [ 1 2 ] [ ] ]");
/// ```
///
/// # Panics
/// If there are more than `i32::MAX` values.
impl<T, R: IntoIterator<Item = T>, const N: usize> From<[R; N]> for Ragged<T> {
    fn from(lists: [R; N]) -> Self {
        lists.into_iter().collect()
    }
}

/// Makes a tensor of two axes from an iterator of lists.
///
/// ```
/// use ragged_core::Ragged;
///
/// let words: Ragged<char> = ["ab", "", "c"].iter().map(|word| word.chars()).collect();
/// assert_eq!(words.lengths(), [2, 0, 1]);
/// ```
///
/// # Panics
/// If there are more than `i32::MAX` lists or values, as `Vec` does beyond its capacity.
impl<T, R: IntoIterator<Item = T>> FromIterator<R> for Ragged<T> {
    fn from_iter<I: IntoIterator<Item = R>>(lists: I) -> Self {
        let mut values = Vec::new();
        let splits = splits_of(lists.into_iter().map(|list| {
            let before = values.len();
            values.extend(list);
            values.len() - before
        }));
        Self::trusted(splits.into(), values)
    }
}

fn splits_of(lengths: impl IntoIterator<Item = usize>) -> RowSplits {
    within_limit(RowSplits::from_lengths(lengths))
}

/// Unwraps the result in conversions whose traits cannot return an error; the only possible error
/// is [`Error::TooLarge`].
fn within_limit<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Copies a tensor of two axes to lists.
impl<T: Clone> TryFrom<&Ragged<T>> for Vec<Vec<T>> {
    type Error = Error;

    fn try_from(ragged: &Ragged<T>) -> Result<Self, Error> {
        must_have_axes(2, ragged)?;
        Ok(ragged.shape().row_splits(1).rows().map(|row| ragged.values()[row].to_vec()).collect())
    }
}

macro_rules! deeper_lists {
    ($($axes:literal: $Inner:ty;)*) => {$(
        #[doc = concat!(stringify!($axes), " axes. O(lists + elements); elements are moved.")]
        ///
        /// Name the type of the values, `Ragged::<i32>::from(lists)`: a tensor of vectors would be
        /// possible too.
        ///
        /// # Panics
        /// If there are more than `i32::MAX` lists on an axis, or values.
        impl<T> From<Vec<$Inner>> for Ragged<T> {
            fn from(lists: Vec<$Inner>) -> Self {
                let splits = splits_of(lists.iter().map(Vec::len));
                let (inner, values) = Self::from(lists.into_iter().flatten().collect::<$Inner>()).into_parts();
                let layers = std::iter::once(Layer::new(splits)).chain(inner.layers().iter().map(Arc::clone));
                Self::trusted(RaggedShape::trusted(layers), values)
            }
        }

        #[doc = concat!("A tensor of ", stringify!($axes), " axes as lists, copied.")]
        impl<T: Clone> TryFrom<&Ragged<T>> for Vec<$Inner> {
            type Error = Error;

            fn try_from(ragged: &Ragged<T>) -> Result<Self, Error> {
                must_have_axes($axes, ragged)?;
                let (shape, values) = ragged.clone().into_parts();
                let inner_splits = (2..shape.num_axes()).map(|axis| shape.row_splits(axis).clone());
                let inner = Ragged::new(RaggedShape::new(inner_splits)?, values)?;
                let mut lists = <$Inner>::try_from(&inner)?.into_iter();
                Ok(shape.row_splits(1).rows().map(|row| lists.by_ref().take(row.len()).collect()).collect())
            }
        }
    )*};
}

deeper_lists! {
    3: Vec<Vec<T>>;
    4: Vec<Vec<Vec<T>>>;
    5: Vec<Vec<Vec<Vec<T>>>>;
}

fn must_have_axes<T>(expected: usize, ragged: &Ragged<T>) -> Result<(), Error> {
    match ragged.shape().num_axes() {
        found if found == expected => Ok(()),
        found => Err(Error::Size { what: "the number of axes", expected, found }),
    }
}

impl<T> Ragged<T> {
    /// Takes the offsets of nested Arrow lists, outermost first, and the values of the innermost
    /// ones.
    ///
    /// Nothing is copied if offsets start with 0, as in whole arrays. Offsets of a slice may start
    /// later and end before the last child, and are then written anew. In `arrow`, `OffsetBuffer`
    /// and `ScalarBuffer` give up their memory as a `Vec` without a copy.
    ///
    /// ```
    /// use ragged_core::Ragged;
    ///
    /// // A slice of the last two of the lists [a b] [c] [d e].
    /// let ragged = Ragged::from_list_offsets([vec![2, 3, 5]], vec!['a', 'b', 'c', 'd', 'e'])?;
    /// assert_eq!(Vec::<Vec<char>>::try_from(&ragged)?, [vec!['c'], vec!['d', 'e']]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] without offsets, [`Error::SplitsStart`] or [`Error::SplitsFall`] if
    /// they are not offsets, [`Error::Range`] if they reach beyond their children.
    #[doc(alias = "ListArray")]
    #[doc(alias = "ListOffsetArray")]
    pub fn from_list_offsets<O: Into<Buffer<i32>>>(
        offsets: impl IntoIterator<Item = O>,
        values: impl Into<Buffer<T>>,
    ) -> Result<Self, Error> {
        let mut layers: Vec<RowSplits> = Vec::new();
        // The children that the lists so far reach, in the order of the next offsets.
        let mut children = None;
        for offsets in offsets {
            let mut offsets: Buffer<i32> = offsets.into();
            let count = offsets.len().checked_sub(1).ok_or(Error::SplitsStart { found: None })?;
            if let Some(wanted) = children {
                let lists = within(wanted, layers.len(), count)?;
                offsets = offsets.slice(lists.start..lists.end + 1);
            }
            let first = offsets[0];
            let start = usize::try_from(first).map_err(|_| Error::SplitsStart { found: Some(first) })?;
            if first > 0 {
                offsets = offsets.iter().map(|offset| offset.saturating_sub(first)).collect::<Vec<_>>().into();
            }
            let splits = RowSplits::new(offsets)?;
            children = Some(start..start + splits.num_elements());
            layers.push(splits);
        }
        let values = values.into();
        let wanted = children.ok_or(Error::TooFewAxes { expected: 2, found: 1 })?;
        let wanted = within(wanted, layers.len(), values.len())?;
        Self::new(RaggedShape::new(layers)?, values.slice(wanted))
    }

    /// Returns the offsets of nested Arrow lists, outermost first, and the values of the innermost
    /// ones. Nothing is copied.
    #[must_use]
    pub fn into_list_offsets(self) -> (Vec<Buffer<i32>>, Buffer<T>) {
        let (shape, values) = self.into_parts();
        let offsets = (1..shape.num_axes()).map(|axis| shape.row_splits(axis).buffer().clone()).collect();
        (offsets, values)
    }
}

/// Returns `range`, if `axis` has as many entries.
fn within(range: Range<usize>, axis: usize, size: usize) -> Result<Range<usize>, Error> {
    if range.end > size {
        return Err(Error::Range { axis, begin: range.start, end: range.end, size });
    }
    Ok(range)
}

#[cfg(feature = "ndarray")]
mod array {
    use ndarray::{Array, Array2, ArrayViewD, Dimension};

    use crate::convert::{Buffer, Error, Ragged, RaggedShape, RowSplits};
    use crate::value_ops::Padded;

    /// Makes an array without copying a value.
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ragged_core::{PadMode, PadSide, Ragged};
    ///
    /// let padded = Ragged::from(vec![vec![1, 2], vec![], vec![3]])
    ///     .pad(PadMode::Constant, PadSide::Right, 0)?;
    /// assert_eq!(Array2::from(padded), array![[1, 2], [0, 0], [3, 0]]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    impl<T> From<Padded<T>> for Array2<T> {
        fn from(padded: Padded<T>) -> Self {
            let dims = (padded.num_rows(), padded.num_cols());
            Self::from_shape_vec(dims, padded.into_values()).expect("a padded matrix has rows times columns values")
        }
    }

    impl<T: Clone> Ragged<T> {
        /// Makes a tensor of lists of equal lengths from an array of two or more axes.
        ///
        /// The values are not copied if they are in memory in the order of their indexes
        /// (`is_standard_layout`).
        ///
        /// # Errors
        /// [`Error::TooFewAxes`] for an array of fewer axes, [`Error::TooLarge`].
        pub fn from_array<D: Dimension>(array: Array<T, D>) -> Result<Self, Error> {
            let dims = array.shape().to_vec();
            let (&(mut rows), lengths) = dims.split_first().ok_or(Error::TooFewAxes { expected: 2, found: 0 })?;
            let mut layers = Vec::with_capacity(lengths.len());
            for &length in lengths {
                let splits = RowSplits::regular(rows, length)?;
                rows = splits.num_elements();
                layers.push(splits);
            }
            let values: Buffer<T> = if array.is_standard_layout() {
                let length = array.len();
                let (values, first) = array.into_raw_vec_and_offset();
                let first = first.unwrap_or(0);
                Buffer::from(values).slice(first..first + length)
            } else {
                array.iter().cloned().collect::<Vec<_>>().into()
            };
            Self::new(RaggedShape::new(layers)?, values)
        }
    }

    impl<T> Ragged<T> {
        /// Returns the values as an array, if all lists of an axis are equally long. An axis below
        /// one without lists has length 0.
        ///
        /// ```
        /// use ragged_core::Ragged;
        ///
        /// let ragged: Ragged<i32> = "[[1 2 3] [4 5 6]]".parse()?;
        /// assert_eq!(ragged.as_array()?, ndarray::array![[1, 2, 3], [4, 5, 6]].into_dyn());
        /// # Ok::<(), ragged_core::Error>(())
        /// ```
        ///
        /// # Errors
        /// [`Error::NotRegular`].
        pub fn as_array(&self) -> Result<ArrayViewD<'_, T>, Error> {
            let shape = self.shape();
            let mut dims = vec![shape.dim0()];
            for axis in 1..shape.num_axes() {
                let mut lengths = shape.row_splits(axis).rows().map(|row| row.len());
                let expected = lengths.next().unwrap_or(0);
                if let Some((row, found)) = (1..).zip(lengths).find(|&(_, length)| length != expected) {
                    return Err(Error::NotRegular { axis, row, expected, found });
                }
                dims.push(expected);
            }
            ArrayViewD::from_shape(dims, self.values()).map_err(|_| Error::Size {
                what: "the number of values",
                expected: shape.num_elements(),
                found: self.values().len(),
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use ndarray::{Array3, ArrayD, array};

        use super::*;

        #[test]
        fn ndarray_round_trip() {
            let array = Array3::from_shape_fn((2, 3, 2), |(i, j, k)| 100 * i + 10 * j + k);
            let address = array.as_ptr();
            let ragged = Ragged::from_array(array.clone()).unwrap();
            assert_eq!(ragged.as_array().unwrap(), array.view().into_dyn());
            assert_eq!(Ragged::from_array(array).unwrap().values().as_ptr(), address, "no copy");
            let transposed = array![[1, 2], [3, 4]].reversed_axes();
            assert_eq!(Ragged::from_array(transposed).unwrap().to_string(), "[ [ 1 3 ] [ 2 4 ] ]");
            assert!(Ragged::from_array(array![1, 2]).is_err());
        }

        #[test]
        fn only_equal_lengths_are_an_array() {
            let ragged: Ragged<i32> = "[[1 2] [3]]".parse().unwrap();
            assert_eq!(ragged.as_array(), Err(Error::NotRegular { axis: 1, row: 1, expected: 2, found: 1 }));
            let empty: Ragged<i32> = "[[] [] [[]]]".parse().unwrap();
            assert!(empty.as_array().is_err());
            let none: Ragged<i32> = "[[[]] [[]]]".parse().unwrap();
            assert_eq!(none.as_array().unwrap(), ArrayD::<i32>::zeros(vec![2, 1, 0]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_vecs_round_trip() {
        let deep = vec![vec![vec![vec![1, 2], vec![]], vec![]], vec![], vec![vec![vec![3]]]];
        let ragged = Ragged::<i32>::from(deep.clone());
        assert_eq!(ragged.to_string(), "[ [ [ [ 1 2 ] [ ] ] [ ] ] [ ] [ [ [ 3 ] ] ] ]");
        assert_eq!(Vec::<Vec<Vec<Vec<i32>>>>::try_from(&ragged).unwrap(), deep);
        assert_eq!(
            Vec::<Vec<i32>>::try_from(&ragged),
            Err(Error::Size { what: "the number of axes", expected: 2, found: 4 })
        );
        assert_eq!(Ragged::from(Vec::<Vec<i32>>::new()).to_string(), "[ ]");
    }

    #[test]
    fn whole_list_offsets_are_shared() {
        let (outer, inner, values) = (vec![0, 2, 2], vec![0, 1, 3], vec![7, 8, 9]);
        let addresses = (outer.as_ptr(), inner.as_ptr(), values.as_ptr());
        let ragged = Ragged::from_list_offsets([outer, inner], values).unwrap();
        assert_eq!(ragged.to_string(), "[ [ [ 7 ] [ 8 9 ] ] [ ] ]");
        let (offsets, values) = ragged.into_list_offsets();
        assert_eq!((offsets[0].as_ptr(), offsets[1].as_ptr(), values.as_ptr()), addresses);
    }

    #[test]
    fn a_slice_of_lists_of_lists_is_cut_at_each_level() {
        let ragged = Ragged::from_list_offsets([vec![1, 3], vec![0, 1, 2, 4, 5]], vec![1, 2, 3, 4, 5]).unwrap();
        assert_eq!(ragged.to_string(), "[ [ [ 2 ] [ 3 4 ] ] ]");
    }

    #[test]
    fn wrong_offsets_are_refused() {
        let make = |offsets: &[&[i32]]| {
            Ragged::from_list_offsets(offsets.iter().map(|offsets| offsets.to_vec()), vec![1, 2, 3]).map(|_| ())
        };
        assert_eq!(make(&[]), Err(Error::TooFewAxes { expected: 2, found: 1 }));
        assert_eq!(make(&[&[]]), Err(Error::SplitsStart { found: None }));
        assert_eq!(make(&[&[-1, 2]]), Err(Error::SplitsStart { found: Some(-1) }));
        assert!(matches!(make(&[&[2, i32::MIN]]), Err(Error::SplitsFall { position: 1, .. })));
        assert_eq!(make(&[&[0, 4]]), Err(Error::Range { axis: 1, begin: 0, end: 4, size: 3 }));
        assert_eq!(make(&[&[0, 2], &[0, 3]]), Err(Error::Range { axis: 1, begin: 0, end: 2, size: 1 }));
        assert_eq!(make(&[&[0, 0], &[]]), Err(Error::SplitsStart { found: None }));
    }
}
