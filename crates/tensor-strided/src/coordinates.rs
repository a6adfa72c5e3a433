//! Coordinates and offsets of elements that lie one behind the other, back and forth.

use crate::layout::dense_strides;
use crate::{Error, Layout, Order, Shape};

/// What becomes of a coordinate that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// It is an error.
    #[default]
    Raise,
    /// It starts again at the other end: -1 is the last entry, and so is `2 * len - 1`.
    Wrap,
    /// It becomes the nearest one in range: the first or the last.
    Clip,
}

/// The elements of a shape, numbered in C or Fortran order: from a coordinate to the number (the offset) and back.
///
/// Made once, it holds a reciprocal for each axis, so that no way leads through a division.
///
/// ```
/// use tensor_strided::{Grid, Mode, Order};
///
/// let grid = Grid::new([3, 4, 5, 6], Order::C)?;
/// assert_eq!(grid.offset([2, 2, 2, 3]), Some(315));
/// assert_eq!(grid.coordinate(315), Some([2, 2, 2, 3]));
///
/// assert_eq!(grid.offset_with([-1, 4, 2, 3], Mode::Wrap)?, grid.offset_with([2, 0, 2, 3], Mode::Raise)?);
/// assert_eq!(grid.offset_with([-1, 4, 2, 3], Mode::Clip)?, grid.offset_with([0, 3, 2, 3], Mode::Raise)?);
///
/// // Many at once, one behind the other.
/// assert_eq!(grid.coordinates(&[0, 315])?, [0, 0, 0, 0, 2, 2, 2, 3]);
/// # Ok::<(), tensor_strided::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    /// The axis that runs slowest first.
    axes: Vec<Axis>,
    order: Order,
    len: usize,
}

#[derive(Debug, Clone)]
struct Axis {
    len: usize,
    stride: usize,
    by_stride: Reciprocal,
}

impl Grid {
    /// The numbers of the elements of this shape.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn new(shape: impl AsRef<[usize]>, order: Order) -> Result<Self, Error> {
        let layout = Layout::ordered(shape.as_ref(), order)?;
        let axis = |(&len, &stride): (&usize, &isize)| {
            let stride = stride.unsigned_abs();
            Axis { len, stride, by_stride: Reciprocal::new(stride) }
        };
        let mut axes: Vec<Axis> = layout.shape().iter().zip(&dense_strides(layout.shape(), order)).map(axis).collect();
        if order == Order::F {
            axes.reverse();
        }
        Ok(Self { axes, order, len: layout.len() })
    }

    /// The number of axes.
    #[inline]
    #[must_use]
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Which index runs fastest.
    #[inline]
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Where the axis that runs `i`-th slowest stands in a coordinate.
    #[inline]
    fn place(&self, i: usize) -> usize {
        match self.order {
            Order::C => i,
            Order::F => self.axes.len() - 1 - i,
        }
    }

    /// The offset of an element; `None` where the coordinate is out of range or has the wrong length.
    #[inline]
    #[must_use]
    #[doc(alias = "ravel_multi_index")]
    #[doc(alias = "UA_cover_coordinate")]
    pub fn offset(&self, coordinate: impl AsRef<[usize]>) -> Option<usize> {
        let coordinate = coordinate.as_ref();
        if coordinate.len() != self.axes.len() {
            return None;
        }
        let (mut offset, mut inside) = (0_usize, true);
        for (i, axis) in self.axes.iter().enumerate() {
            let at = coordinate[self.place(i)];
            inside &= at < axis.len;
            offset = offset.wrapping_add(at.wrapping_mul(axis.stride));
        }
        inside.then_some(offset)
    }

    /// The offset of an element, where a coordinate may be out of range.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::Coordinate`] for the first axis that is out of range, in [`Mode::Raise`] or where an axis has no entries.
    #[inline]
    #[doc(alias = "ravel_multi_index")]
    pub fn offset_with(&self, coordinate: impl AsRef<[i64]>, mode: Mode) -> Result<usize, Error> {
        let coordinate = coordinate.as_ref();
        match coordinate.len() == self.rank() {
            true => self.offset_at(coordinate, mode, 0),
            false => Err(Error::Rank { what: "the coordinate", expected: self.rank(), found: coordinate.len() }),
        }
    }

    /// The offset of a coordinate of the right length, which is number `position` of those given.
    #[inline]
    fn offset_at(&self, coordinate: &[i64], mode: Mode, position: usize) -> Result<usize, Error> {
        let mut offset = 0;
        // Axis by axis as they are given, so that the first one out of range is reported.
        for (i, &found) in coordinate.iter().enumerate() {
            let Axis { len, stride, .. } = self.axes[self.place(i)];
            let at = match (usize::try_from(found), mode) {
                (Ok(at), _) if at < len => at,
                (_, Mode::Wrap) if len > 0 => wrap(found, len),
                (_, Mode::Clip) if len > 0 => {
                    if found < 0 {
                        0
                    } else {
                        len - 1
                    }
                }
                _ => return Err(Error::Coordinate { position, axis: i, found, len }),
            };
            offset += at * stride;
        }
        Ok(offset)
    }

    /// The offsets of many coordinates, which stand one behind the other.
    ///
    /// # Errors
    /// [`Error::Rank`] where the last coordinate is not complete or there are no axes to tell how many there are; else those of
    /// [`offset_with`](Self::offset_with).
    #[doc(alias = "ravel_multi_index")]
    pub fn offsets(&self, coordinates: &[i64], mode: Mode) -> Result<Vec<usize>, Error> {
        let mut offsets = vec![0; coordinates.len().checked_div(self.rank()).unwrap_or(0)];
        self.offsets_into(coordinates, mode, &mut offsets)?;
        Ok(offsets)
    }

    /// As [`offsets`](Self::offsets), into memory that is there already.
    ///
    /// # Errors
    /// As there, and [`Error::Rank`] where `offsets` has another length than there are coordinates.
    pub fn offsets_into(&self, coordinates: &[i64], mode: Mode, offsets: &mut [usize]) -> Result<(), Error> {
        self.check_batch(coordinates.len(), offsets.len())?;
        if self.rank() == 0 {
            offsets.fill(0);
            return Ok(());
        }
        for (position, (at, out)) in coordinates.chunks_exact(self.rank()).zip(offsets).enumerate() {
            *out = self.offset_at(at, mode, position)?;
        }
        Ok(())
    }

    /// The coordinate of an offset, where the number of axes is known; `None` where the offset is out of range or `N` is not the
    /// number of axes.
    #[inline]
    #[must_use]
    #[doc(alias = "unravel_index")]
    pub fn coordinate<const N: usize>(&self, offset: usize) -> Option<[usize; N]> {
        let mut coordinate = [0; N];
        self.coordinate_into(offset, &mut coordinate).then_some(coordinate)
    }

    /// The coordinate of an offset; `None` where it is out of range.
    #[inline]
    #[must_use]
    #[doc(alias = "unravel_index")]
    pub fn coordinate_of(&self, offset: usize) -> Option<Shape> {
        let mut coordinate = Shape::filled(0, self.rank());
        self.coordinate_into(offset, &mut coordinate).then_some(coordinate)
    }

    /// Writes the coordinate of an offset, if that is in range and `out` has the right length.
    #[inline]
    fn coordinate_into(&self, offset: usize, out: &mut [usize]) -> bool {
        let axes = &self.axes[..];
        if offset >= self.len || out.len() != axes.len() {
            return false;
        }
        // Each quotient comes from the offset itself, so that the processor can work on all of them at once.
        let mut above = 0;
        for i in 0..axes.len() {
            let quotient = axes[i].by_stride.quotient(offset);
            out[self.place(i)] = quotient - above * axes[i].len;
            above = quotient;
        }
        true
    }

    /// The coordinates of many offsets, one behind the other.
    ///
    /// # Errors
    /// [`Error::Offset`] for the first one that is out of range.
    #[doc(alias = "unravel_index")]
    pub fn coordinates(&self, offsets: &[i64]) -> Result<Vec<usize>, Error> {
        let mut coordinates = vec![0; offsets.len() * self.rank()];
        self.coordinates_into(offsets, &mut coordinates)?;
        Ok(coordinates)
    }

    /// As [`coordinates`](Self::coordinates), into memory that is there already.
    ///
    /// # Errors
    /// As there, and [`Error::Rank`] where `coordinates` has another length than the result.
    pub fn coordinates_into(&self, offsets: &[i64], coordinates: &mut [usize]) -> Result<(), Error> {
        self.check_batch(coordinates.len(), offsets.len())?;
        // A chunk has one number at least, so that without axes each offset still has a chunk, of none.
        let mut rest = coordinates;
        for (position, &found) in offsets.iter().enumerate() {
            let (out, next) = rest.split_at_mut(self.rank());
            rest = next;
            if !usize::try_from(found).is_ok_and(|offset| self.coordinate_into(offset, out)) {
                return Err(Error::Offset { position, found, len: self.len });
            }
        }
        Ok(())
    }

    fn check_batch(&self, numbers: usize, coordinates: usize) -> Result<(), Error> {
        match coordinates.checked_mul(self.rank()) {
            Some(expected) if expected == numbers => Ok(()),
            expected => Err(Error::Rank {
                what: "the coordinates, one behind the other",
                expected: expected.unwrap_or(usize::MAX),
                found: numbers,
            }),
        }
    }
}

/// `found` modulo a length, never negative.
fn wrap(found: i64, len: usize) -> usize {
    // No length is above `isize::MAX`, and a remainder is below the length.
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    usize::try_from(found.rem_euclid(len)).unwrap_or(0)
}

/// A divisor as a factor and shifts: exact for all numbers (Granlund and Montgomery, "Division by invariant integers using multiplication",
/// figure 4.1).
#[derive(Debug, Clone, Copy)]
struct Reciprocal {
    factor: u64,
    first_shift: u32,
    second_shift: u32,
}

impl Reciprocal {
    /// # Panics
    /// If `divisor` is 0; strides are not.
    fn new(divisor: usize) -> Self {
        let divisor = u128::try_from(divisor).unwrap_or(u128::MAX);
        // The least number of bits with 2^bits >= divisor.
        let bits = divisor.next_power_of_two().ilog2();
        let factor = (((1 << bits) - divisor) << 64) / divisor + 1;
        let factor = u64::try_from(factor).unwrap_or(u64::MAX);
        Self { factor, first_shift: bits.min(1), second_shift: bits.saturating_sub(1) }
    }

    #[inline]
    fn quotient(self, n: usize) -> usize {
        // A `usize` has 64 bits at most, the upper half of a product as many as the number, and no quotient is above the number.
        let n = n as u64;
        let high = ((u128::from(self.factor) * u128::from(n)) >> 64) as u64;
        ((high + ((n - high) >> self.first_shift)) >> self.second_shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reciprocal_divides_exactly() {
        let edges =
            [0, 1, 2, 3, 5, 6, 7, 641, (1 << 31) - 1, 1 << 31, (1 << 32) + 1, usize::MAX >> 1, (usize::MAX >> 1) - 1];
        for divisor in edges.into_iter().filter(|&d| d > 0) {
            let reciprocal = Reciprocal::new(divisor);
            for n in
                edges.into_iter().flat_map(|n| [n, n.wrapping_mul(divisor), n.wrapping_mul(divisor).wrapping_sub(1)])
            {
                assert_eq!(reciprocal.quotient(n), n / divisor, "{n} / {divisor}");
            }
        }
    }

    #[test]
    fn without_axes_there_is_one_element() {
        let grid = Grid::new([], Order::C).unwrap();
        assert_eq!((grid.offset([]), grid.coordinate(0), grid.coordinate::<0>(1)), (Some(0), Some([]), None));
        assert_eq!(grid.coordinates(&[0, 0]), Ok(vec![]));
        assert!(grid.coordinates(&[0, 1]).is_err());
    }

    #[test]
    fn an_empty_axis_has_no_coordinates() {
        let grid = Grid::new([2, 0], Order::F).unwrap();
        assert!(grid.is_empty() && grid.coordinate_of(0).is_none());
        for mode in [Mode::Raise, Mode::Wrap, Mode::Clip] {
            let refused = grid.offset_with([0, 0], mode);
            assert_eq!(refused, Err(Error::Coordinate { position: 0, axis: 1, found: 0, len: 0 }));
        }
    }

    #[test]
    fn too_many_elements_are_refused() {
        assert!(matches!(Grid::new([1 << 40, 1 << 40], Order::C), Err(Error::TooLarge { .. })));
    }

    proptest! {
        #[test]
        fn there_and_back(shape in prop::collection::vec(1_usize..9, 0..7), fortran: bool, pick: prop::sample::Index) {
            let order = if fortran { Order::F } else { Order::C };
            let grid = Grid::new(&shape, order).unwrap();
            let offset = pick.index(grid.len());
            let coordinate = grid.coordinate_of(offset).unwrap();
            // The naive way: take off the axis that runs fastest, again and again.
            let mut rest = offset;
            let mut wanted = vec![0; shape.len()];
            let fastest_first: Vec<usize> = if fortran { (0..shape.len()).collect() } else { (0..shape.len()).rev().collect() };
            for axis in fastest_first {
                wanted[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            prop_assert_eq!(&coordinate, &wanted);
            prop_assert_eq!(grid.offset(&coordinate), Some(offset));
            prop_assert_eq!(Layout::ordered(&shape, order).unwrap().offset_of(&coordinate), Some(offset));
        }

        #[test]
        fn modes_bring_coordinates_into_range(shape in prop::collection::vec(1_usize..9, 1..5), seed: [i64; 4]) {
            let grid = Grid::new(&shape, Order::C).unwrap();
            let coordinate = &seed[..shape.len()];
            let lengths = shape.iter().map(|&n| n as i64);
            let wrapped: Vec<i64> = coordinate.iter().zip(lengths.clone()).map(|(&at, n)| at.rem_euclid(n)).collect();
            let clipped: Vec<i64> = coordinate.iter().zip(lengths).map(|(&at, n)| at.clamp(0, n - 1)).collect();
            prop_assert_eq!(grid.offset_with(coordinate, Mode::Wrap), grid.offset_with(&wrapped, Mode::Raise));
            prop_assert_eq!(grid.offset_with(coordinate, Mode::Clip), grid.offset_with(&clipped, Mode::Raise));
            prop_assert_eq!(grid.offset_with(coordinate, Mode::Raise).is_ok(), wrapped == coordinate);
        }
    }
}
