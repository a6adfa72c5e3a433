//! Removal and insertion of an axis.

use std::sync::Arc;

use crate::error::Error;
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};

impl RaggedShape {
    /// Removes axis `axis`: its rows are joined in the rows above them. Without the first axis its
    /// rows are one after the other; without the last, the rows above it become the elements.
    /// O(rows above `axis`).
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let shape: RaggedShape = "[ [ [ x ] [ x x ] ] [ [ ] ] ]".parse()?;
    /// assert_eq!(shape.remove_axis(0)?.to_string(), "[ [ x ] [ x x ] [ ] ]");
    /// assert_eq!(shape.remove_axis(1)?.to_string(), "[ [ x x x ] [ ] ]");
    /// assert_eq!(shape.remove_axis(2)?.to_string(), "[ [ x x ] [ x ] ]");
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] for less than 3 axes, [`Error::Axis`].
    #[doc(alias = "RemoveAxis")]
    pub fn remove_axis(&self, axis: usize) -> Result<Self, Error> {
        self.check_num_axes(3)?;
        let last = self.num_axes() - 1;
        Self::check_axis(axis, 0..=last)?;
        let layers = self.layers();
        if axis == 0 {
            return Ok(Self::trusted(layers[1..].iter().map(Arc::clone)));
        }
        if axis == last {
            return Ok(Self::trusted(layers[..last - 1].iter().map(Arc::clone)));
        }
        let (upper, lower) = (layers[axis - 1].splits.as_ref(), layers[axis].splits.as_ref());
        let splits: Vec<i32> = upper.iter().map(|&row| lower[row as usize]).collect();
        let mut layers = layers.to_vec();
        layers.splice(axis - 1..=axis, [Layer::new(RowSplits::trusted(splits))]);
        Ok(Self::trusted(layers))
    }

    /// Adds an axis, as k2 does it: for 0, one row that holds everything; for any other `axis`,
    /// each of its entries becomes a row that holds only this entry. Other layers are shared.
    /// O(entries of `axis`).
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let shape: RaggedShape = "[ [ x x ] [ ] [ x ] ]".parse()?;
    /// assert_eq!(shape.unsqueeze(0)?.to_string(), "[ [ [ x x ] [ ] [ x ] ] ]");
    /// assert_eq!(shape.unsqueeze(1)?.to_string(), "[ [ [ x ] [ x ] ] [ ] [ [ x ] ] ]");
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Axis`].
    #[doc(alias = "Unsqueeze")]
    #[doc(alias = "UnsqueezeParallel")]
    pub fn unsqueeze(&self, axis: usize) -> Result<Self, Error> {
        Self::check_axis(axis, 0..=self.num_axes() - 1)?;
        let size = self.tot_size(axis);
        let splits = if axis == 0 { RowSplits::regular(1, size) } else { RowSplits::regular(size, 1) }?;
        let mut layers = self.layers().to_vec();
        layers.insert(axis, Layer::new(splits));
        Ok(Self::trusted(layers))
    }
}
