//! Operations on the shape that the values follow.

use std::borrow::Borrow;

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels;
use crate::kernels::{Run, grow_rows};
use crate::ragged::{Ragged, check_size};
use crate::row_splits::RowSplits;
use crate::shape::RaggedShape;
use crate::shape_ops::gather::indexes_of;

/// The values of runs of elements, one after the other, in the memory of `values` if that is
/// enough.
fn follow<T: Clone + Send + Sync>(values: Vec<T>, sources: &[impl Borrow<Ragged<T>>], runs: &[Run]) -> Vec<T> {
    match sources {
        [one] => kernels::follow(values, &[one.borrow().values()], runs),
        _ => kernels::follow(values, &sources.iter().map(|source| source.borrow().values()).collect::<Vec<_>>(), runs),
    }
}

fn shapes<'a, T: 'a>(sources: &'a [impl Borrow<Ragged<T>>]) -> Vec<&'a RaggedShape> {
    sources.iter().map(|source| source.borrow().shape()).collect()
}

impl<T: Clone + Send + Sync> Ragged<T> {
    /// The rows of `axis` that `indexes` name, and for each value which old one it is; see
    /// [`RaggedShape::index`].
    ///
    /// The gradient by the values is [`index_add`](crate::index_add) of the output's by the second
    /// result.
    ///
    /// # Errors
    /// As [`RaggedShape::index`].
    #[doc(alias = "Index")]
    pub fn index(&self, axis: usize, indexes: &[i32]) -> Result<(Self, Vec<i32>), Error> {
        if axis + 1 == self.num_axes() {
            return Ok((self.select(axis, indexes)?, memory::collect(indexes.iter().copied())));
        }
        let (shape, runs) = self.shape().index_runs(axis, indexes)?;
        let values = follow(Vec::new(), &[self], &runs);
        Ok((Self::trusted(shape, values), indexes_of(&runs)))
    }

    /// [`index`](Self::index) without the second result.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from_lists(&[vec![1, 2], vec![3]])?;
    /// assert_eq!(a.select(0, &[1, -1, 0])?.rows().collect::<Vec<_>>(), [&[3][..], &[], &[1, 2]]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedShape::index`].
    pub fn select(&self, axis: usize, indexes: &[i32]) -> Result<Self, Error> {
        if axis + 1 == self.num_axes() {
            let shape = self.shape().index_elements(indexes)?;
            let values = memory::collect(indexes.iter().map(|&i| self.values()[i as usize].clone()));
            return Ok(Self::trusted(shape, values));
        }
        let (shape, runs) = self.shape().index_runs(axis, indexes)?;
        Ok(Self::trusted(shape, follow(Vec::new(), &[self], &runs)))
    }

    /// [`select`](Self::select) into `out`, whose values' memory is used again if it is large
    /// enough and nothing shares it.
    ///
    /// # Errors
    /// As [`RaggedShape::index`]; `out` is as it was then.
    pub fn select_into(&self, axis: usize, indexes: &[i32], out: &mut Self) -> Result<(), Error> {
        let (shape, runs) = self.shape().index_runs(axis, indexes)?;
        out.refill(shape, &[self], &runs);
        Ok(())
    }

    /// Becomes the elements of `runs`, in the memory that it has if that is large enough and
    /// nothing shares it.
    fn refill(&mut self, shape: RaggedShape, sources: &[impl Borrow<Self>], runs: &[Run]) {
        let used = std::mem::replace(self, sources[0].borrow().clone()).into_parts().1.into_unshared();
        *self = Self::trusted(shape, follow(used.unwrap_or_default(), sources, runs));
    }

    /// One more axis: in the rows of `indexes`, the rows of axis 0 that they name; -1 names an
    /// empty one.
    ///
    /// # Errors
    /// If an index is below -1 or there is no such row, or there would be too many values.
    #[doc(alias = "Index")]
    pub fn index_ragged(&self, indexes: &Ragged<i32>) -> Result<Self, Error> {
        let (shape, values) = self.select(0, indexes.values())?.into_parts();
        Ok(Self::trusted(indexes.shape().compose(&shape)?, values))
    }

    /// One row of the tensors' rows after the others along `axis`; see [`RaggedShape::cat`].
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let a = Ragged::from_lists(&[vec![1, 2], vec![3]])?;
    /// let b = Ragged::from_lists(&[vec![], vec![4]])?;
    /// assert_eq!(Ragged::cat(1, &[&a, &b])?.rows().collect::<Vec<_>>(), [[1, 2], [3, 4]]);
    /// assert_eq!(Ragged::cat(0, &[a, b])?.num_rows(), 4);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedShape::cat`].
    #[doc(alias = "Cat")]
    pub fn cat(axis: usize, sources: &[impl Borrow<Self>]) -> Result<Self, Error> {
        let (shape, runs) = RaggedShape::cat_runs(axis, &shapes(sources))?;
        Ok(Self::trusted(shape, follow(Vec::new(), sources, &runs)))
    }

    /// [`cat`](Self::cat) into `out`, whose values' memory is used again if it is large enough and
    /// nothing shares it: fresh memory takes the system longer to clear than it takes to fill.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let mut batch = Ragged::from_lists(&[vec![0.0; 1000]])?;
    /// Ragged::cat_into(0, &[Ragged::from_lists(&[vec![1.0]])?, Ragged::from_lists(&[vec![], vec![2.0]])?], &mut batch)?;
    /// assert_eq!(batch.to_string(), "[ [ 1 ] [ ] [ 2 ] ]");
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedShape::cat`]; `out` is as it was then.
    pub fn cat_into(axis: usize, sources: &[impl Borrow<Self>], out: &mut Self) -> Result<(), Error> {
        let (shape, runs) = RaggedShape::cat_runs(axis, &shapes(sources))?;
        out.refill(shape, sources, &runs);
        Ok(())
    }

    /// The tensors side by side on a new axis; see [`RaggedShape::stack`].
    ///
    /// # Errors
    /// As [`RaggedShape::stack`].
    #[doc(alias = "Stack")]
    pub fn stack(axis: usize, sources: &[impl Borrow<Self>]) -> Result<Self, Error> {
        let (shape, runs) = RaggedShape::stack_runs(axis, &shapes(sources))?;
        Ok(Self::trusted(shape, follow(Vec::new(), sources, &runs)))
    }

    /// The rows of axis 0 of the tensors in the order of `merge_map`; see [`RaggedShape::merge`].
    ///
    /// # Errors
    /// As [`RaggedShape::merge`].
    #[doc(alias = "Merge")]
    pub fn merge(sources: &[impl Borrow<Self>], merge_map: &[u32]) -> Result<Self, Error> {
        let (shape, runs) = RaggedShape::merge_runs(&shapes(sources), merge_map)?;
        Ok(Self::trusted(shape, follow(Vec::new(), sources, &runs)))
    }

    /// Puts the rows of `other` after those of `self` on axis 0.
    ///
    /// # Errors
    /// If the numbers of axes differ or there would be too many rows or values; `self` is as it was
    /// then.
    #[doc(alias = "Append")]
    pub fn append(&mut self, other: &Self) -> Result<(), Error> {
        *self = Self::cat(0, &[&*self, other])?;
        Ok(())
    }

    /// Axes 0 and 1 exchanged, where all rows of axis 0 have one length; see
    /// [`RaggedShape::transpose`].
    ///
    /// # Errors
    /// As [`RaggedShape::transpose`].
    #[doc(alias = "Transpose")]
    pub fn transpose(&self) -> Result<Self, Error> {
        let (shape, runs) = self.shape().transpose_runs()?;
        Ok(Self::trusted(shape, follow(Vec::new(), &[self], &runs)))
    }

    /// Each innermost row with one more value, at its end.
    ///
    /// # Errors
    /// If there is not one value for each row, or there would be too many values.
    #[doc(alias = "AddSuffixToRagged")]
    pub fn add_suffix(&self, per_row: &[T]) -> Result<Self, Error> {
        self.grown::<true>(per_row)
    }

    /// Each innermost row with one more value, at its start.
    ///
    /// # Errors
    /// If there is not one value for each row, or there would be too many values.
    #[doc(alias = "AddPrefixToRagged")]
    pub fn add_prefix(&self, per_row: &[T]) -> Result<Self, Error> {
        self.grown::<false>(per_row)
    }

    fn grown<const AT_END: bool>(&self, per_row: &[T]) -> Result<Self, Error> {
        check_size("the number of values for rows", self.num_rows(), per_row.len())?;
        let lists = self.shape().last_splits();
        let splits = RowSplits::from_lengths(lists.rows().map(|list| list.len() + 1))?;
        let values = grow_rows::<T, AT_END>(lists.as_ref(), splits.as_ref(), self.values(), per_row);
        Ok(Self::trusted(self.shape().with_last_splits(splits), values))
    }
}

impl<T> Ragged<T> {
    /// Row `i` of axis 0, with one axis fewer. The values are shared, not copied.
    ///
    /// # Errors
    /// As [`RaggedShape::index0`]: for two axes, see [`row`](Self::row).
    #[doc(alias = "Index")]
    pub fn index0(&self, i: usize) -> Result<Self, Error> {
        let shape = self.shape().index0(i)?;
        let elements = self.shape().view().row(i)?.elements();
        Ok(Self::trusted(shape, self.buffer().slice(elements)))
    }

    /// The entries `begin..end` of `axis`, which becomes axis 0. The values are shared, not copied.
    ///
    /// # Errors
    /// As [`RaggedShape::arange`].
    #[doc(alias = "Arange")]
    pub fn arange(&self, axis: usize, begin: usize, end: usize) -> Result<Self, Error> {
        let (shape, elements) = self.shape().arange(axis, begin, end)?;
        let elements = if elements.is_empty() { 0..0 } else { elements };
        Ok(Self::trusted(shape, self.buffer().slice(elements)))
    }

    /// Without `axis`, which is not the last: its rows are joined to those of the one above. The
    /// values are shared.
    ///
    /// # Errors
    /// If there are less than three axes or it is the last.
    #[doc(alias = "RemoveAxis")]
    pub fn remove_axis(&self, axis: usize) -> Result<Self, Error> {
        RaggedShape::check_axis(axis, 0..=self.num_axes() - 2)?;
        Ok(Self::trusted(self.shape().remove_axis(axis)?, self.buffer().clone()))
    }

    /// A new `axis` whose rows have one entry each. The values are shared.
    ///
    /// # Errors
    /// If `axis` is beyond the last: a value cannot become a row.
    #[doc(alias = "Unsqueeze")]
    pub fn unsqueeze(&self, axis: usize) -> Result<Self, Error> {
        Ok(Self::trusted(self.shape().unsqueeze(axis)?, self.buffer().clone()))
    }
}
