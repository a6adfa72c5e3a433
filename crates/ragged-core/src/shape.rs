//! The shape of lists of lists, without the contents of the rows.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::error::Error;
use crate::row_splits::RowSplits;
use crate::step_index::StepIndex;

/// The shape of lists of lists of any depth: 2 or more axes, and any number of rows, including 0.
///
/// ```text
///   [ [ x x ] [ ] [ x ] ]   [ ]   [ [ x x x ] ]        3 axes
///
///   axis 0   three rows                                        dim0() = 3
///   axis 1   row_splits(1) = 0 3 3 4     row_ids(1) = 0 0 0 2      tot_size(1) = 4
///   axis 2   row_splits(2) = 0 2 2 3 6   row_ids(2) = 0 0 2 3 3 3  tot_size(2) = 6
/// ```
///
/// Layers are shared: a clone counts one reference, and most operations reuse the layers that they
/// do not change. Row ids, the longest row and the order by length are computed on first use and
/// kept, for all shapes that share the layer.
///
/// ```
/// use ragged_core::{RaggedShape, RowSplits};
///
/// let shape = RaggedShape::new([
///     RowSplits::new(vec![0, 3, 3, 4])?,
///     RowSplits::new(vec![0, 2, 2, 3, 6])?
/// ])?;
/// assert_eq!(shape.tot_sizes(), [3, 4, 6]);
/// assert_eq!(shape.row_ids(2), [0, 0, 2, 3, 3, 3]);
/// assert_eq!(shape.max_size(1), 3);
/// # Ok::<(), ragged_core::Error>(())
/// ```
#[derive(Clone)]
pub struct RaggedShape {
    /// At least one layer; the elements of each are the rows of the next.
    layers: Arc<[Arc<Layer>]>,
}

/// The rows of one axis: their splits and the data computed from them.
pub(crate) struct Layer {
    pub(crate) splits: RowSplits,
    row_ids: OnceLock<Vec<i32>>,
    max_len: OnceLock<usize>,
    decreasing: OnceLock<Vec<i32>>,
    step_index: OnceLock<Box<StepIndex>>,
}

impl Layer {
    pub(crate) fn new(splits: RowSplits) -> Arc<Self> {
        Arc::new(Self {
            splits,
            row_ids: OnceLock::new(),
            max_len: OnceLock::new(),
            decreasing: OnceLock::new(),
            step_index: OnceLock::new(),
        })
    }

    /// Creates a layer whose row ids are known already.
    pub(crate) fn with_row_ids(splits: RowSplits, row_ids: Vec<i32>) -> Arc<Self> {
        debug_assert_eq!(row_ids, splits.to_row_ids(), "row ids that are not those of the splits");
        let mut layer = Self::new(splits);
        if let Some(layer) = Arc::get_mut(&mut layer) {
            layer.row_ids = OnceLock::from(row_ids);
        }
        layer
    }

    pub(crate) fn row_ids(&self) -> &[i32] {
        self.row_ids.get_or_init(|| self.splits.to_row_ids())
    }

    pub(crate) fn max_len(&self) -> usize {
        *self.max_len.get_or_init(|| self.splits.max_len())
    }

    pub(crate) fn decreasing(&self) -> &[i32] {
        self.decreasing.get_or_init(|| {
            let mut order: Vec<i32> = (0..self.splits.num_rows() as i32).collect();
            order.sort_by_key(|&row| std::cmp::Reverse(self.splits.len_of(row as usize)));
            order
        })
    }

    pub(crate) fn step_index(&self) -> &StepIndex {
        self.step_index.get_or_init(|| Box::new(StepIndex::new(&self.splits, self.decreasing())))
    }
}

impl RaggedShape {
    /// Puts layers one below the other: the splits of axis 1, of axis 2, and so on. O(axes).
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] without layers; [`Error::LayerMismatch`] if the elements of one are
    /// not the rows of the next.
    #[doc(alias = "RaggedShape2")]
    #[doc(alias = "RaggedShape3")]
    #[doc(alias = "RaggedShape4")]
    #[doc(alias = "create_ragged_shape2")]
    pub fn new(layers: impl IntoIterator<Item = RowSplits>) -> Result<Self, Error> {
        let layers: Arc<[_]> = layers.into_iter().map(Layer::new).collect();
        if layers.is_empty() {
            return Err(Error::TooFewAxes { expected: 2, found: 1 });
        }
        for (upper, lower) in layers.iter().zip(&layers[1..]).enumerate().map(|(i, (a, b))| ((i, a), b)) {
            let (expected, found) = (upper.1.splits.num_elements(), lower.splits.num_rows());
            if expected != found {
                return Err(Error::LayerMismatch { axis: upper.0 + 1, expected, found });
            }
        }
        Ok(Self { layers })
    }

    /// Creates a shape of two axes, with rows of these lengths. O(rows).
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// assert_eq!(RaggedShape::from_lengths([2, 0, 1])?.to_string(), "[ [ x x ] [ ] [ x ] ]");
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the lengths add up to more than `i32::MAX`.
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<Self, Error> {
        RowSplits::from_lengths(lengths).map(Self::from)
    }

    /// Wraps layers that this crate made, unchecked.
    pub(crate) fn trusted(layers: impl IntoIterator<Item = Arc<Layer>>) -> Self {
        let layers: Arc<[_]> = layers.into_iter().collect();
        debug_assert!(!layers.is_empty(), "a shape without layers");
        debug_assert!(
            layers.iter().zip(&layers[1..]).all(|(a, b)| a.splits.num_elements() == b.splits.num_rows()),
            "layers that do not fit"
        );
        Self { layers }
    }

    pub(crate) fn layers(&self) -> &[Arc<Layer>] {
        &self.layers
    }

    /// Returns the number of axes: the depth of the lists, 2 or more.
    #[inline]
    #[doc(alias = "NumAxes")]
    pub fn num_axes(&self) -> usize {
        self.layers.len() + 1
    }

    /// Returns the number of rows on axis 0.
    #[inline]
    #[doc(alias = "Dim0")]
    pub fn dim0(&self) -> usize {
        self.layers[0].splits.num_rows()
    }

    /// Returns the number of entries of axis `axis` in all rows together.
    ///
    /// # Panics
    /// If there is no such axis, as indexing a slice does.
    #[inline]
    #[doc(alias = "TotSize")]
    pub fn tot_size(&self, axis: usize) -> usize {
        match axis {
            0 => self.dim0(),
            _ => self.layers[axis - 1].splits.num_elements(),
        }
    }

    /// Returns [`tot_size`](Self::tot_size) of each axis.
    #[doc(alias = "TotSizes")]
    pub fn tot_sizes(&self) -> Vec<usize> {
        (0..self.num_axes()).map(|axis| self.tot_size(axis)).collect()
    }

    /// Returns the number of elements of the innermost rows together.
    #[inline]
    #[doc(alias = "NumElements")]
    #[doc(alias = "numel")]
    pub fn num_elements(&self) -> usize {
        self.layers[self.layers.len() - 1].splits.num_elements()
    }

    /// Returns the splits that cut axis `axis` into the rows of the axis before; `axis` counts from
    /// 1.
    ///
    /// # Panics
    /// If there is no such axis, as indexing a slice does.
    #[inline]
    #[doc(alias = "RowSplits")]
    pub fn row_splits(&self, axis: usize) -> &RowSplits {
        &self.layer_of(axis).splits
    }

    /// Returns for each entry of axis `axis` its row on the axis before; `axis` counts from 1.
    ///
    /// O(rows + elements) the first time, then free.
    ///
    /// # Panics
    /// If there is no such axis, as indexing a slice does.
    #[inline]
    #[doc(alias = "RowIds")]
    pub fn row_ids(&self, axis: usize) -> &[i32] {
        self.layer_of(axis).row_ids()
    }

    /// Returns the length of the longest row of axis `axis`, from 1; 0 without rows. O(rows) the
    /// first time, then free.
    ///
    /// # Panics
    /// If there is no such axis, as indexing a slice does.
    #[doc(alias = "MaxSize")]
    pub fn max_size(&self, axis: usize) -> usize {
        self.layer_of(axis).max_len()
    }

    /// Returns the rows of axis 0 in the order of their length (number of entries of axis 1),
    /// longest first; equal ones keep their order. O(rows log rows) the first time, then free.
    #[doc(alias = "GetDecreasingSizeOrder")]
    pub fn decreasing_size_order(&self) -> &[i32] {
        self.layers[0].decreasing()
    }

    /// Returns the splits of the innermost rows.
    #[inline]
    pub fn last_splits(&self) -> &RowSplits {
        &self.layers[self.layers.len() - 1].splits
    }

    /// Returns layer `layer` as a shape of two axes: the rows of axis `layer` with their entries on
    /// the next. O(1).
    ///
    /// # Errors
    /// [`Error::Axis`] if `layer + 2` is more than the number of axes.
    #[doc(alias = "GetLayer")]
    pub fn layer(&self, layer: usize) -> Result<Self, Error> {
        let found = self.layers.get(layer);
        let found = found.ok_or(Error::Axis { axis: layer, min: 0, max: self.num_axes() - 2 })?;
        Ok(Self::trusted([Arc::clone(found)]))
    }

    /// Returns `true` if both share the same memory, so that they are equal.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.layers, &other.layers)
    }

    #[inline]
    pub(crate) fn layer_of(&self, axis: usize) -> &Layer {
        match axis.checked_sub(1).and_then(|layer| self.layers.get(layer)) {
            Some(layer) => layer,
            None => panic!("axis {axis} has no row splits: from 1 to {} is possible here", self.num_axes() - 1),
        }
    }

    /// Checks that `axis` is one of `axes`.
    pub(crate) fn check_axis(axis: usize, axes: std::ops::RangeInclusive<usize>) -> Result<(), Error> {
        match axes.contains(&axis) {
            true => Ok(()),
            false => Err(Error::Axis { axis, min: *axes.start(), max: *axes.end() }),
        }
    }

    /// Checks that there are at least `expected` axes.
    pub(crate) fn check_num_axes(&self, expected: usize) -> Result<(), Error> {
        match self.num_axes() >= expected {
            true => Ok(()),
            false => Err(Error::TooFewAxes { expected, found: self.num_axes() }),
        }
    }
}

/// Makes a shape of two axes.
impl From<RowSplits> for RaggedShape {
    fn from(splits: RowSplits) -> Self {
        Self::trusted([Layer::new(splits)])
    }
}

/// A shape of two axes without rows.
impl Default for RaggedShape {
    fn default() -> Self {
        RowSplits::default().into()
    }
}

impl PartialEq for RaggedShape {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Layer>, &Arc<Layer>)| {
            Arc::ptr_eq(a, b) || a.splits.buffer().ptr_eq(b.splits.buffer()) || a.splits == b.splits
        };
        self.ptr_eq(other)
            || (self.layers.len() == other.layers.len() && self.layers.iter().zip(&*other.layers).all(same))
    }
}

impl Eq for RaggedShape {}

/// Prints the row splits of each axis, abridged. `Display` prints all, in k2's notation.
impl fmt::Debug for RaggedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| layer.splits.buffer())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(numbers: &[i32]) -> RowSplits {
        RowSplits::new(numbers.to_vec()).unwrap()
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        assert_eq!(
            RaggedShape::new([splits(&[0, 2, 3]), splits(&[0, 1])]),
            Err(Error::LayerMismatch { axis: 1, expected: 3, found: 1 })
        );
        assert_eq!(RaggedShape::new([]), Err(Error::TooFewAxes { expected: 2, found: 1 }));
    }

    #[test]
    fn computed_indexes_are_kept_and_shared() {
        let shape = RaggedShape::new([splits(&[0, 2, 3, 3]), splits(&[0, 1, 1, 4])]).unwrap();
        let copy = shape.clone();
        assert_eq!(shape.row_ids(1).as_ptr(), copy.row_ids(1).as_ptr());
        assert!(shape.ptr_eq(&copy) && !shape.ptr_eq(&RaggedShape::new([splits(&[0, 2, 3, 3])]).unwrap()));
        assert_eq!(shape.row_ids(2), [0, 2, 2, 2]);
        assert_eq!((shape.max_size(1), shape.max_size(2)), (2, 3));
        assert_eq!(shape.decreasing_size_order(), [0, 1, 2]);
    }

    #[test]
    fn a_layer_that_does_not_exist_is_refused() {
        let shape = RaggedShape::new([splits(&[0, 2])]).unwrap();
        assert_eq!(shape.layer(1), Err(Error::Axis { axis: 1, min: 0, max: 0 }));
        assert_eq!(shape.layer(0), Ok(shape));
    }

    #[test]
    #[should_panic(expected = "axis 2 has no row splits")]
    fn splits_of_an_axis_that_does_not_exist_panic() {
        let _ = RaggedShape::new([splits(&[0, 2])]).unwrap().row_splits(2);
    }
}
