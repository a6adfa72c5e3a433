//! Operations on shapes, applied to the values too.

use std::borrow::Borrow;

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels;
use crate::kernels::{Run, grow_rows};
use crate::ragged::{Ragged, check_size};
use crate::row_splits::RowSplits;
use crate::shape::RaggedShape;
use crate::shape_ops::gather::indexes_of;

/// Concatenates the values of runs of elements, in the memory of `values` if that is enough.
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
    /// Returns the rows of `axis` that `indexes` name, and for each value its old index; see
    /// [`RaggedShape::index`].
    ///
    /// The gradient by the values is [`index_add`](crate::index_add) of the output's gradient by
    /// the second result.
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

    /// Same as [`index`](Self::index), without the second result.
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

    /// Same as [`select`](Self::select), but writes to `out`, whose memory for values is reused if
    /// it is large enough and not shared.
    ///
    /// # Errors
    /// As [`RaggedShape::index`]; `out` is then unchanged.
    pub fn select_into(&self, axis: usize, indexes: &[i32], out: &mut Self) -> Result<(), Error> {
        let (shape, runs) = self.shape().index_runs(axis, indexes)?;
        out.refill(shape, &[self], &runs);
        Ok(())
    }

    /// Replaces the values by the elements of `runs`, in the existing memory if that is large
    /// enough and not shared.
    fn refill(&mut self, shape: RaggedShape, sources: &[impl Borrow<Self>], runs: &[Run]) {
        let used = std::mem::replace(self, sources[0].borrow().clone()).into_parts().1.into_unshared();
        *self = Self::trusted(shape, follow(used.unwrap_or_default(), sources, runs));
    }

    /// Adds an axis: the rows of the result are the rows of `indexes`, with the rows of axis 0 that
    /// they name; -1 names an empty row.
    ///
    /// # Errors
    /// If an index is below -1 or there is no such row, or there would be too many values.
    #[doc(alias = "Index")]
    pub fn index_ragged(&self, indexes: &Ragged<i32>) -> Result<Self, Error> {
        let (shape, values) = self.select(0, indexes.values())?.into_parts();
        Ok(Self::trusted(indexes.shape().compose(&shape)?, values))
    }

    /// Concatenates the tensors along `axis`; see [`RaggedShape::cat`].
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

    /// Same as [`cat`](Self::cat), but writes to `out`, whose memory for values is reused if it is
    /// large enough and not shared: the system takes longer to clear fresh memory than this takes
    /// to fill it.
    ///
    /// ```
    /// # use ragged_core::Ragged;
    /// let mut batch = Ragged::from_lists(&[vec![0.0; 1000]])?;
    /// Ragged::cat_into(
    ///     0,
    ///     &[Ragged::from_lists(&[vec![1.0]])?, Ragged::from_lists(&[vec![], vec![2.0]])?],
    ///     &mut batch
    /// )?;
    /// assert_eq!(batch.to_string(), "[ [ 1 ] [ ] [ 2 ] ]");
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedShape::cat`]; `out` is then unchanged.
    pub fn cat_into(axis: usize, sources: &[impl Borrow<Self>], out: &mut Self) -> Result<(), Error> {
        let (shape, runs) = RaggedShape::cat_runs(axis, &shapes(sources))?;
        out.refill(shape, sources, &runs);
        Ok(())
    }

    /// Puts the tensors side by side on a new axis; see [`RaggedShape::stack`].
    ///
    /// # Errors
    /// As [`RaggedShape::stack`].
    #[doc(alias = "Stack")]
    pub fn stack(axis: usize, sources: &[impl Borrow<Self>]) -> Result<Self, Error> {
        let (shape, runs) = RaggedShape::stack_runs(axis, &shapes(sources))?;
        Ok(Self::trusted(shape, follow(Vec::new(), sources, &runs)))
    }

    /// Returns the rows of axis 0 of the tensors in the order of `merge_map`; see
    /// [`RaggedShape::merge`].
    ///
    /// # Errors
    /// As [`RaggedShape::merge`].
    #[doc(alias = "Merge")]
    pub fn merge(sources: &[impl Borrow<Self>], merge_map: &[u32]) -> Result<Self, Error> {
        let (shape, runs) = RaggedShape::merge_runs(&shapes(sources), merge_map)?;
        Ok(Self::trusted(shape, follow(Vec::new(), sources, &runs)))
    }

    /// Appends the rows of `other` to the rows of `self` on axis 0.
    ///
    /// # Errors
    /// If the numbers of axes differ or there would be too many rows or values; `self` is then
    /// unchanged.
    #[doc(alias = "Append")]
    pub fn append(&mut self, other: &Self) -> Result<(), Error> {
        *self = Self::cat(0, &[&*self, other])?;
        Ok(())
    }

    /// Exchanges axes 0 and 1, if all rows of axis 0 have one length; see
    /// [`RaggedShape::transpose`].
    ///
    /// # Errors
    /// As [`RaggedShape::transpose`].
    #[doc(alias = "Transpose")]
    pub fn transpose(&self) -> Result<Self, Error> {
        let (shape, runs) = self.shape().transpose_runs()?;
        Ok(Self::trusted(shape, follow(Vec::new(), &[self], &runs)))
    }

    /// Returns each innermost row with one more value at its end.
    ///
    /// # Errors
    /// If there is not one value for each row, or there would be too many values.
    #[doc(alias = "AddSuffixToRagged")]
    pub fn add_suffix(&self, per_row: &[T]) -> Result<Self, Error> {
        self.grown::<true>(per_row)
    }

    /// Returns each innermost row with one more value at its start.
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
    /// Returns row `i` of axis 0, with one axis fewer. The values are shared, not copied.
    ///
    /// # Errors
    /// As [`RaggedShape::index0`]: for two axes, see [`row`](Self::row).
    #[doc(alias = "Index")]
    pub fn index0(&self, i: usize) -> Result<Self, Error> {
        let shape = self.shape().index0(i)?;
        let elements = self.shape().view().row(i)?.elements();
        Ok(Self::trusted(shape, self.buffer().slice(elements)))
    }

    /// Returns the entries `begin..end` of `axis`, which becomes axis 0. The values are shared, not
    /// copied.
    ///
    /// # Errors
    /// As [`RaggedShape::arange`].
    #[doc(alias = "Arange")]
    pub fn arange(&self, axis: usize, begin: usize, end: usize) -> Result<Self, Error> {
        let (shape, elements) = self.shape().arange(axis, begin, end)?;
        let elements = if elements.is_empty() { 0..0 } else { elements };
        Ok(Self::trusted(shape, self.buffer().slice(elements)))
    }

    /// Removes `axis`, which is not the last: its rows are joined to the rows of the axis above.
    /// The values are shared.
    ///
    /// # Errors
    /// If there are less than three axes or `axis` is the last.
    #[doc(alias = "RemoveAxis")]
    pub fn remove_axis(&self, axis: usize) -> Result<Self, Error> {
        RaggedShape::check_axis(axis, 0..=self.num_axes() - 2)?;
        Ok(Self::trusted(self.shape().remove_axis(axis)?, self.buffer().clone()))
    }

    /// Adds an `axis` whose rows have one entry each; for 0, one row that holds everything. The
    /// values are shared.
    ///
    /// # Errors
    /// If `axis` is beyond the last: a value cannot become a row.
    #[doc(alias = "Unsqueeze")]
    pub fn unsqueeze(&self, axis: usize) -> Result<Self, Error> {
        Ok(Self::trusted(self.shape().unsqueeze(axis)?, self.buffer().clone()))
    }
}
