//! Creation of shapes from numbers, and their composition.

use std::ops::RangeInclusive;
use std::sync::Arc;

use kaldera_base::random::Philox;

use crate::error::Error;
use crate::row_splits::RowSplits;
use crate::shape::{Layer, RaggedShape};

impl RaggedShape {
    /// Creates `num_rows` rows of `len` elements each. O(num_rows).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the product is above `i32::MAX`; [`Error::Memory`].
    #[doc(alias = "RegularRaggedShape")]
    #[doc(alias = "regular_ragged_shape")]
    pub fn regular(num_rows: usize, len: usize) -> Result<Self, Error> {
        Ok(Self::trusted([Layer::new(RowSplits::regular(num_rows, len)?)]))
    }

    /// Creates one row of `num_elements` elements. O(1).
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "TrivialShape")]
    pub fn trivial(num_elements: usize) -> Result<Self, Error> {
        Self::regular(1, num_elements)
    }

    /// Creates a shape of `num_axes` axes without rows. O(num_axes).
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] for less than 2 axes.
    #[doc(alias = "EmptyRaggedShape")]
    pub fn empty(num_axes: usize) -> Result<Self, Error> {
        if num_axes < 2 {
            return Err(Error::TooFewAxes { expected: 2, found: num_axes });
        }
        let layer = Layer::new(RowSplits::trusted(vec![0]));
        Ok(Self::trusted(std::iter::repeat_n(layer, num_axes - 1)))
    }

    /// Creates a random shape for tests, the same for the same seed on every machine. A quarter of
    /// its rows is empty.
    ///
    /// ```
    /// use ragged_core::RaggedShape;
    ///
    /// let shape = RaggedShape::random(7, 2..=4, 0..=100)?;
    /// assert!((2..=4).contains(&shape.num_axes()) && shape.num_elements() <= 100);
    /// assert_eq!(shape, RaggedShape::random(7, 2..=4, 0..=100)?);
    /// # Ok::<(), ragged_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] if fewer than 2 axes are possible, [`Error::Range`] for a range
    /// without numbers, [`Error::TooLarge`].
    #[doc(alias = "RandomRaggedShape")]
    #[doc(alias = "random_ragged_shape")]
    pub fn random(
        seed: u64,
        num_axes: RangeInclusive<usize>,
        num_elements: RangeInclusive<usize>,
    ) -> Result<Self, Error> {
        for (axis, range) in [&num_axes, &num_elements].into_iter().enumerate() {
            if range.is_empty() {
                return Err(Error::Range { axis, begin: *range.start(), end: *range.end(), size: 0 });
            }
        }
        if *num_axes.start() < 2 {
            return Err(Error::TooFewAxes { expected: 2, found: *num_axes.start() });
        }
        Error::fit("the number of elements", *num_elements.end())?;
        let mut random = Dice { stream: Philox::new(seed), counter: 0 };
        let axes = random.from(&num_axes);
        let mut size = random.from(&num_elements);
        let mut layers = Vec::with_capacity(axes - 1);
        // From the elements up: rows until all below are in one, then perhaps some empty ones.
        for _ in 1..axes {
            let mut lengths = Vec::new();
            let mut left = size;
            while left > 0 {
                let len = if random.below(4) == 0 { 0 } else { (1 + random.below(8)).min(left) };
                lengths.push(len);
                left -= len;
            }
            lengths.extend((0..random.below(3)).map(|_| 0));
            size = lengths.len();
            layers.push(RowSplits::from_lengths(lengths)?);
        }
        layers.reverse();
        Self::new(layers)
    }

    /// Puts `bottom` below: the elements of this shape become the rows of `bottom`. Memory is
    /// shared. O(axes).
    ///
    /// # Errors
    /// [`Error::LayerMismatch`] if `bottom` does not have one row for each element.
    #[doc(alias = "ComposeRaggedShapes")]
    #[doc(alias = "ComposeRaggedShapes3")]
    pub fn compose(&self, bottom: &Self) -> Result<Self, Error> {
        let (expected, found) = (self.num_elements(), bottom.dim0());
        if expected != found {
            return Err(Error::LayerMismatch { axis: self.num_axes() - 1, expected, found });
        }
        Ok(Self::trusted(self.layers().iter().chain(bottom.layers()).map(Arc::clone)))
    }

    /// Reverses [`compose`](Self::compose): returns the axes up to `axis`, and the axes from `axis`
    /// on. Memory is shared. O(axes).
    ///
    /// # Errors
    /// [`Error::TooFewAxes`] for less than 3 axes, [`Error::Axis`] if `axis` is the first or the
    /// last.
    #[doc(alias = "DecomposeRaggedShape")]
    pub fn decompose(&self, axis: usize) -> Result<(Self, Self), Error> {
        self.check_num_axes(3)?;
        Self::check_axis(axis, 1..=self.num_axes() - 2)?;
        let (top, bottom) = self.layers().split_at(axis);
        Ok((Self::trusted(top.iter().map(Arc::clone)), Self::trusted(bottom.iter().map(Arc::clone))))
    }
}

/// A generator of random numbers.
struct Dice {
    stream: Philox,
    counter: u32,
}

impl Dice {
    /// Returns a number below `end`, which is small.
    fn below(&mut self, end: usize) -> usize {
        let [low, high, ..] = self.stream.block([self.counter, 0, 0, 0]);
        self.counter = self.counter.wrapping_add(1);
        ((u64::from(high) << 32 | u64::from(low)) % end as u64) as usize
    }

    fn from(&mut self, range: &RangeInclusive<usize>) -> usize {
        range.start() + self.below((range.end() - range.start()).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_shapes_are_refused() {
        assert!(RaggedShape::empty(1).is_err());
        assert!(RaggedShape::regular(1 << 16, 1 << 15).is_err());
        assert!(RaggedShape::random(0, 1..=3, 0..=3).is_err());
        #[expect(clippy::reversed_empty_ranges, reason = "it is what must be refused")]
        let reversed = RaggedShape::random(0, 3..=2, 0..=3);
        assert!(reversed.is_err());
        assert!(RaggedShape::random(0, 2..=2, 0..=usize::MAX).is_err());
    }

    #[test]
    fn composing_shares_the_layers_and_decomposing_gives_them_back() {
        let (top, bottom) = (RaggedShape::regular(2, 3).unwrap(), RaggedShape::regular(6, 2).unwrap());
        let both = top.compose(&bottom).unwrap();
        assert_eq!(both.tot_sizes(), [2, 6, 12]);
        assert!(both.row_splits(2).buffer().ptr_eq(bottom.row_splits(1).buffer()));
        assert_eq!(both.decompose(1).unwrap(), (top.clone(), bottom));
        assert_eq!(top.compose(&top), Err(Error::LayerMismatch { axis: 1, expected: 6, found: 2 }));
        assert!(both.decompose(0).is_err() && both.decompose(2).is_err() && top.decompose(1).is_err());
    }
}
