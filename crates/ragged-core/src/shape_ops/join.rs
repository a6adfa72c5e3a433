//! Joining of several shapes into one, and splitting of one into several.

use std::borrow::Borrow;
use std::sync::Arc;

use kaldera_base::memory;

use crate::error::Error;
use crate::kernels::Run;
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};
use crate::shape_ops::gather::{gather, gather_rows, indexes_of, merge_map_of, number_of};

impl RaggedShape {
    /// Puts shapes side by side on a new axis `axis`, and returns the source of each element:
    /// number i of the merge map is `index_in_source * num_sources + source`.
    ///
    /// On axis 0, each shape becomes one row. On lower axes, the shapes must agree down to axis
    /// `axis - 1`, each entry of which becomes a row with one entry for each shape.
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let (a, b): (RaggedShape, RaggedShape) =
    ///     ("[ [ x x ] [ ] ]".parse()?, "[ [ x ] [ x ] ]".parse()?);
    /// let (shape, merge_map) = RaggedShape::stack(0, &[&a, &b])?;
    /// assert_eq!(shape.to_string(), "[ [ [ x x ] [ ] ] [ [ x ] [ x ] ] ]");
    /// let (shape, merge_map) = RaggedShape::stack(1, &[&a, &b])?;
    /// assert_eq!(shape.to_string(), "[ [ [ x x ] [ x ] ] [ [ ] [ x ] ] ]");
    /// assert_eq!(merge_map, [0, 2, 1, 3]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// O(all sizes); axis 0 copies at the speed of memory.
    ///
    /// # Errors
    /// [`Error::NoSources`], [`Error::Axis`], [`Error::Disagree`], [`Error::TooLarge`].
    #[doc(alias = "Stack")]
    pub fn stack(axis: usize, sources: &[impl Borrow<Self>]) -> Result<(Self, Vec<u32>), Error> {
        let (shape, runs) = Self::stack_runs(axis, sources)?;
        Ok((shape, merge_map_of(&runs, sources.len())?))
    }

    /// Same as [`stack`](Self::stack), with the elements as runs.
    pub(crate) fn stack_runs(axis: usize, sources: &[impl Borrow<Self>]) -> Result<(Self, Vec<Run>), Error> {
        let first = same_num_axes(sources)?;
        Self::check_axis(axis, 0..=first.num_axes())?;
        let Some(above) = axis.checked_sub(1) else {
            let sizes = sources.iter().map(|source| source.borrow().dim0());
            let top = RowSplits::from_lengths(sizes.clone())?;
            let runs = sizes.enumerate().map(|(source, size)| Run::whole(source, size));
            let (below, runs) = gather(&layers_from(0, sources), runs.collect::<Result<_, _>>()?)?;
            return Ok((Self::trusted([Layer::new(top)].into_iter().chain(below)), runs));
        };
        let size = first.tot_size(above);
        for (source_index, source) in sources.iter().enumerate() {
            let source = source.borrow();
            if source.tot_size(above) != size {
                let found = source.tot_size(above);
                return Err(Error::Disagree { what: "number of rows", source_index, expected: size, found });
            }
            if let Some(axis) = (1..=above).find(|&axis| source.row_splits(axis) != first.row_splits(axis)) {
                let (expected, found) = first_difference(first.row_splits(axis), source.row_splits(axis));
                return Err(Error::Disagree { what: "lengths of rows above the axis", source_index, expected, found });
            }
        }
        let num_sources = number_of(sources.len())?;
        let rows = RowSplits::regular(size, sources.len())?;
        // Entry by entry, all sources in turn; the product is known to fit.
        let order = (0..rows.num_elements() as u32).map(|k| (k % num_sources, (k / num_sources) as i32));
        let (below, runs) = gather_rows(&layers_from(above, sources), order)?;
        let above = first.layers()[..above].iter().map(Arc::clone);
        Ok((Self::trusted(above.chain([Layer::new(rows)]).chain(below)), runs))
    }

    /// Puts shapes one after the other along axis `axis`, and returns the source of each element,
    /// as [`stack`](Self::stack) does.
    ///
    /// Along axis 0 the rows follow one another. Along axis 1 the first rows of all are joined into
    /// one, then the second ones, and so on. Along any further axis, the shapes must agree down to
    /// axis `axis - 1`.
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let (a, b): (RaggedShape, RaggedShape) =
    ///     ("[ [ x x ] [ ] ]".parse()?, "[ [ x ] [ x ] ]".parse()?);
    /// assert_eq!(RaggedShape::cat(0, &[&a, &b])?.0.to_string(), "[ [ x x ] [ ] [ x ] [ x ] ]");
    /// assert_eq!(RaggedShape::cat(1, &[&a, &b])?.0.to_string(), "[ [ x x x ] [ x ] ]");
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// O(all sizes); axis 0 copies at the speed of memory.
    ///
    /// # Errors
    /// [`Error::NoSources`], [`Error::Axis`], [`Error::Disagree`], [`Error::TooLarge`].
    #[doc(alias = "Cat")]
    pub fn cat(axis: usize, sources: &[impl Borrow<Self>]) -> Result<(Self, Vec<u32>), Error> {
        let (shape, runs) = Self::cat_runs(axis, sources)?;
        Ok((shape, merge_map_of(&runs, sources.len())?))
    }

    /// Same as [`cat`](Self::cat), with the elements as runs.
    pub(crate) fn cat_runs(axis: usize, sources: &[impl Borrow<Self>]) -> Result<(Self, Vec<Run>), Error> {
        let first = same_num_axes(sources)?;
        Self::check_axis(axis, 0..=first.num_axes() - 1)?;
        let (stacked, runs) = Self::stack_runs(axis, sources)?;
        Ok((stacked.remove_axis(axis)?, runs))
    }

    /// Returns rows of axis 0 of several shapes in the order of `merge_map`, whose numbers are
    /// `list * num_sources + source`, and the merge map of the elements.
    ///
    /// O(axes x rows + elements).
    ///
    /// # Errors
    /// [`Error::NoSources`], [`Error::MergeMap`] for a row that does not exist, [`Error::Disagree`]
    /// on the number of axes, [`Error::TooLarge`].
    #[doc(alias = "Merge")]
    pub fn merge(sources: &[impl Borrow<Self>], merge_map: &[u32]) -> Result<(Self, Vec<u32>), Error> {
        let (shape, runs) = Self::merge_runs(sources, merge_map)?;
        Ok((shape, merge_map_of(&runs, sources.len())?))
    }

    /// Same as [`merge`](Self::merge), with the elements as runs.
    pub(crate) fn merge_runs(sources: &[impl Borrow<Self>], merge_map: &[u32]) -> Result<(Self, Vec<Run>), Error> {
        same_num_axes(sources)?;
        let num_sources = number_of(sources.len())?;
        let split = |number: u32| (number % num_sources, number / num_sources);
        let exists = |&number: &u32| {
            let (source, list) = split(number);
            (list as usize) < sources[source as usize].borrow().dim0()
        };
        if let Some(position) = merge_map.iter().position(|number| !exists(number)) {
            return Err(Error::MergeMap { position, found: merge_map[position] });
        }
        let rows = merge_map.iter().map(|&number| split(number)).map(|(source, list)| (source, list as i32));
        let (layers, runs) = gather_rows(&layers_from(0, sources), rows)?;
        Ok((Self::trusted(layers), runs))
    }

    /// Appends the rows of `other`. O(both sizes).
    ///
    /// # Errors
    /// [`Error::Disagree`] on the number of axes, [`Error::TooLarge`]; the shape is then unchanged.
    #[doc(alias = "Append")]
    pub fn append(&mut self, other: &Self) -> Result<(), Error> {
        let (joined, _) = Self::cat_runs(0, &[&*self, other])?;
        *self = joined;
        Ok(())
    }

    /// Reverses [`stack`](Self::stack): returns the shapes of the first, second ... entry of each
    /// row on `axis`, and the old elements of each of them.
    ///
    /// Shorter rows count as if filled with empty rows at their end, or at their start without
    /// `pad_right`. On the last axis there are no rows to fill with, and they have fewer elements.
    /// Parts with only one axis, which a shape of two axes gives, are returned as one row.
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let shape: RaggedShape = "[ [ [ x ] [ x x ] ] [ [ x x x ] ] ]".parse()?;
    /// let parts = shape.unstack(1, true)?;
    /// assert_eq!(parts[0].0.to_string(), "[ [ x ] [ x x x ] ]");
    /// assert_eq!(parts[1].0.to_string(), "[ [ x x ] [ ] ]");
    /// assert_eq!(parts[1].1, [1, 2]);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// O(parts x rows above `axis` + elements).
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::TooLarge`].
    #[doc(alias = "Unstack")]
    pub fn unstack(&self, axis: usize, pad_right: bool) -> Result<Vec<(Self, Vec<i32>)>, Error> {
        let last = self.num_axes() - 1;
        Self::check_axis(axis, 0..=last)?;
        let Some(above) = axis.checked_sub(1) else {
            let part = |list: usize| {
                let view = self.view().row(list)?;
                let elements = view.elements();
                let shape = if last == 1 { Self::trivial(elements.len())? } else { view.to_shape()? };
                Ok((shape, memory::collect(elements.start as i32..elements.end as i32)))
            };
            return (0..self.dim0()).map(part).collect();
        };
        let parts = self.max_size(axis);
        let lists = &self.layers()[above].splits;
        // The entry of each row that belongs to part k.
        let entries = |k: usize| {
            lists.rows().map(move |list| {
                let at = if pad_right { Some(k) } else { (k + list.len()).checked_sub(parts) };
                at.filter(|&at| at < list.len()).map_or(-1, |at| (list.start + at) as i32)
            })
        };
        let part = |k: usize| {
            if axis < last {
                let rows = entries(k).map(|entry| (0, entry));
                let (below, runs) = gather_rows(&[&self.layers()[axis..]], rows)?;
                let above = self.layers()[..above].iter().map(Arc::clone);
                return Ok((Self::trusted(above.chain(below)), indexes_of(&runs)));
            }
            let elements: Vec<i32> = entries(k).filter(|&entry| entry >= 0).collect();
            let shape = if last == 1 {
                Self::trivial(elements.len())?
            } else {
                let lists: Vec<i32> = (0..).zip(entries(k)).filter(|&(_, e)| e >= 0).map(|(list, _)| list).collect();
                self.remove_axis(last)?.index_runs(above, &lists)?.0
            };
            Ok((shape, elements))
        };
        (0..parts).map(part).collect()
    }

    /// Returns the starts of the entries of each shape if all are concatenated: for each axis of
    /// the shapes, the sums of the sizes of the shapes before, with the sum of all at the end.
    /// O(axes x shapes).
    ///
    /// # Errors
    /// [`Error::NoSources`], [`Error::Disagree`] on the number of axes.
    #[doc(alias = "GetOffsets")]
    pub fn start_offsets(sources: &[impl Borrow<Self>]) -> Result<Vec<Vec<usize>>, Error> {
        let num_axes = same_num_axes(sources)?.num_axes();
        let offsets = |axis: usize| {
            let sizes = sources.iter().map(|source| source.borrow().tot_size(axis));
            let ends = sizes.scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            [0].into_iter().chain(ends).collect()
        };
        Ok((0..num_axes).map(offsets).collect())
    }
}

/// Returns the first shape, if all have the same number of axes.
fn same_num_axes(sources: &[impl Borrow<RaggedShape>]) -> Result<&RaggedShape, Error> {
    let first = sources.first().ok_or(Error::NoSources)?.borrow();
    let expected = first.num_axes();
    let differs = |source: &&RaggedShape| source.num_axes() != expected;
    match sources.iter().map(Borrow::borrow).enumerate().find(|(_, source)| differs(source)) {
        None => Ok(first),
        Some((source_index, source)) => {
            Err(Error::Disagree { what: "number of axes", source_index, expected, found: source.num_axes() })
        }
    }
}

/// Returns the layers of each shape from `layer` down.
fn layers_from(layer: usize, sources: &[impl Borrow<RaggedShape>]) -> Vec<&[Arc<Layer>]> {
    sources.iter().map(|source| &source.borrow().layers()[layer..]).collect()
}

/// Returns the first lengths that differ.
fn first_difference(a: &RowSplits, b: &RowSplits) -> (usize, usize) {
    let mut lengths = a.rows().zip(b.rows()).map(|(a, b)| (a.len(), b.len()));
    lengths.find(|(a, b)| a != b).unwrap_or((a.num_rows(), b.num_rows()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let shape =
            |lengths: &[usize]| RaggedShape::new([RowSplits::from_lengths(lengths.iter().copied()).unwrap()]).unwrap();
        let (a, b) = (shape(&[1, 2]), shape(&[1, 2, 3]));
        assert_eq!(RaggedShape::cat(0, &[] as &[RaggedShape]), Err(Error::NoSources));
        assert_eq!(
            RaggedShape::cat(1, &[&a, &b]),
            Err(Error::Disagree { what: "number of rows", source_index: 1, expected: 2, found: 3 })
        );
        assert_eq!(
            RaggedShape::stack(2, &[&a, &shape(&[2, 1])]),
            Err(Error::Disagree { what: "lengths of rows above the axis", source_index: 1, expected: 1, found: 2 })
        );
        assert_eq!(
            RaggedShape::cat(0, &[&a, &a.unsqueeze(0).unwrap()]),
            Err(Error::Disagree { what: "number of axes", source_index: 1, expected: 2, found: 3 })
        );
        assert_eq!(RaggedShape::merge(&[&a, &b], &[0, 4]), Err(Error::MergeMap { position: 1, found: 4 }));
        assert!(RaggedShape::cat(2, &[&a]).is_err() && RaggedShape::stack(3, &[&a]).is_err());
    }

    #[test]
    fn append_equals_concatenation() {
        let mut shape = RaggedShape::regular(2, 1).unwrap();
        shape.append(&RaggedShape::trivial(3).unwrap()).unwrap();
        assert_eq!(shape.row_splits(1).as_ref(), [0, 1, 2, 5]);
        let offsets = RaggedShape::start_offsets(&[&shape, &shape]).unwrap();
        assert_eq!(offsets, [[0, 3, 6], [0, 5, 10]]);
    }
}
