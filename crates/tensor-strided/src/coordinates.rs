//! Coordinates and offsets of elements that are contiguous, back and forth.

use crate::dims::Shape;
use crate::error::Error;
use crate::layout::{Layout, Order, dense_strides};

/// The treatment of a coordinate that is out of range.
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

/// The elements of a shape, numbered in C or Fortran order: from a coordinate to the number (the
/// offset) and back.
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
/// assert_eq!(
///     grid.offset_with([-1, 4, 2, 3], Mode::Wrap)?,
///     grid.offset_with([2, 0, 2, 3], Mode::Raise)?
/// );
/// assert_eq!(
///     grid.offset_with([-1, 4, 2, 3], Mode::Clip)?,
///     grid.offset_with([0, 3, 2, 3], Mode::Raise)?
/// );
///
/// // Many at once, one after another.
/// assert_eq!(grid.coordinates(&[0, 315])?, [0, 0, 0, 0, 2, 2, 2, 3]);
/// # Ok::<(), tensor_strided::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    axes: Vec<Axis>,
    order: Order,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
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
        let axes = layout.shape().iter().zip(&dense_strides(layout.shape(), order)).map(axis).collect();
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

    /// Returns `true` if there are no elements.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The index that runs fastest.
    #[inline]
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// The offset of an element; `None` if the coordinate is out of range or has the wrong
    /// length.
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
            inside &= coordinate[i] < axis.len;
            offset = offset.wrapping_add(coordinate[i].wrapping_mul(axis.stride));
        }
        inside.then_some(offset)
    }

    /// The offset of an element, where a coordinate may be out of range.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::Coordinate`] for the first axis that is out of range, in
    /// [`Mode::Raise`] or where an axis has no entries.
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
        for (i, (&found, &Axis { len, stride, .. })) in coordinate.iter().zip(&self.axes).enumerate() {
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

    /// The offsets of many coordinates, which are concatenated.
    ///
    /// # Errors
    /// [`Error::Rank`] if the last coordinate is incomplete, or if there are no axes and so no
    /// number of coordinates; else the errors of [`offset_with`](Self::offset_with).
    #[doc(alias = "ravel_multi_index")]
    pub fn offsets(&self, coordinates: &[i64], mode: Mode) -> Result<Vec<usize>, Error> {
        let mut offsets = vec![0; coordinates.len().checked_div(self.rank()).unwrap_or(0)];
        self.offsets_into(coordinates, mode, &mut offsets)?;
        Ok(offsets)
    }

    /// As [`offsets`](Self::offsets), into memory that is there already.
    ///
    /// # Errors
    /// As there, and [`Error::Rank`] if `offsets` has another length than there are coordinates.
    pub fn offsets_into(&self, coordinates: &[i64], mode: Mode, offsets: &mut [usize]) -> Result<(), Error> {
        self.check_batch(coordinates.len(), offsets.len())?;
        match self.axes[..] {
            [] => offsets.fill(0),
            [a] => return self.offsets_of([a], coordinates, mode, offsets),
            [a, b] => return self.offsets_of([a, b], coordinates, mode, offsets),
            [a, b, c] => return self.offsets_of([a, b, c], coordinates, mode, offsets),
            [a, b, c, d] => return self.offsets_of([a, b, c, d], coordinates, mode, offsets),
            _ => {
                for (position, (at, out)) in coordinates.chunks_exact(self.rank()).zip(offsets).enumerate() {
                    *out = self.offset_at(at, mode, position)?;
                }
            }
        }
        Ok(())
    }

    /// The offsets of coordinates of `N` axes, which the compiler then knows.
    fn offsets_of<const N: usize>(
        &self,
        axes: [Axis; N],
        coordinates: &[i64],
        mode: Mode,
        offsets: &mut [usize],
    ) -> Result<(), Error> {
        let (coordinates, _) = coordinates.as_chunks::<N>();
        for (position, (coordinate, out)) in coordinates.iter().zip(offsets).enumerate() {
            let (mut offset, mut inside) = (0_u64, true);
            for (found, axis) in coordinate.iter().zip(&axes) {
                // A negative one is above every length.
                inside &= found.cast_unsigned() < axis.len as u64;
                offset = offset.wrapping_add(found.cast_unsigned().wrapping_mul(axis.stride as u64));
            }
            // Below the number of elements where all are inside.
            *out = if inside { offset as usize } else { self.offset_at(coordinate, mode, position)? };
        }
        Ok(())
    }

    /// The coordinate of an offset, where the number of axes is known; `None` if the offset is
    /// out of range or `N` is not the number of axes.
    #[inline]
    #[must_use]
    #[doc(alias = "unravel_index")]
    pub fn coordinate<const N: usize>(&self, offset: usize) -> Option<[usize; N]> {
        let mut coordinate = [0; N];
        self.coordinate_into(offset, &mut coordinate).then_some(coordinate)
    }

    /// The coordinate of an offset; `None` if it is out of range.
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
        let inside = offset < self.len && out.len() == self.axes.len();
        if inside {
            split(&self.axes, self.order, offset, out);
        }
        inside
    }

    /// The coordinates of many offsets, one after another.
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
    /// As there, and [`Error::Rank`] if `coordinates` has another length than the result.
    pub fn coordinates_into(&self, offsets: &[i64], coordinates: &mut [usize]) -> Result<(), Error> {
        self.check_batch(coordinates.len(), offsets.len())?;
        match self.axes[..] {
            [a] => self.coordinates_of([a], offsets, coordinates),
            [a, b] => self.coordinates_of([a, b], offsets, coordinates),
            [a, b, c] => self.coordinates_of([a, b, c], offsets, coordinates),
            [a, b, c, d] => self.coordinates_of([a, b, c, d], offsets, coordinates),
            _ => {
                let mut rest = coordinates;
                for (position, &found) in offsets.iter().enumerate() {
                    let (out, next) = rest.split_at_mut(self.rank());
                    rest = next;
                    split(&self.axes, self.order, self.offset_inside(found, position)?, out);
                }
                Ok(())
            }
        }
    }

    /// The coordinates of `N` axes, which the compiler then knows.
    fn coordinates_of<const N: usize>(
        &self,
        axes: [Axis; N],
        offsets: &[i64],
        coordinates: &mut [usize],
    ) -> Result<(), Error> {
        let (coordinates, _) = coordinates.as_chunks_mut::<N>();
        for (position, (&found, out)) in offsets.iter().zip(coordinates).enumerate() {
            split(&axes, self.order, self.offset_inside(found, position)?, out);
        }
        Ok(())
    }

    #[inline]
    fn offset_inside(&self, found: i64, position: usize) -> Result<usize, Error> {
        let offset = usize::try_from(found).ok().filter(|&offset| offset < self.len);
        offset.ok_or(Error::Offset { position, found, len: self.len })
    }

    fn check_batch(&self, numbers: usize, coordinates: usize) -> Result<(), Error> {
        match coordinates.checked_mul(self.rank()) {
            Some(expected) if expected == numbers => Ok(()),
            expected => Err(Error::Rank {
                what: "the coordinates, concatenated",
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

/// The coordinate of an offset in range; `out` has an element for each axis.
#[inline(always)]
fn split(axes: &[Axis], order: Order, offset: usize, out: &mut [usize]) {
    // Each quotient comes from the offset itself, so that the processor can work on all of them at
    // once.
    let mut slower = 0;
    let mut visit = |(axis, out): (&Axis, &mut usize)| {
        let quotient = axis.by_stride.quotient(offset);
        *out = quotient - slower * axis.len;
        slower = quotient;
    };
    match order {
        Order::C => axes.iter().zip(out).for_each(&mut visit),
        Order::F => axes.iter().zip(out).rev().for_each(&mut visit),
    }
}

/// A divisor as a factor and a shift, exact for every number below 2^63.
///
/// With 2^(l-1) < d <= 2^l and f = ceil(2^(63+l) / d), which is below 2^64, f d exceeds 2^(63+l) by
/// less than d; so f n / 2^(63+l) exceeds n / d by less than n / 2^(63+l) <= 1 / d, too little to
/// reach the next whole number.
#[derive(Debug, Clone, Copy)]
struct Reciprocal {
    factor: u64,
    shift: u32,
}

impl Reciprocal {
    /// The divisor is from 1 to `isize::MAX`, as strides are.
    fn new(divisor: usize) -> Self {
        let shift = divisor.next_power_of_two().ilog2();
        let factor = (1_u128 << (63 + shift)).div_ceil(divisor as u128);
        Self { factor: u64::try_from(factor).unwrap_or(u64::MAX), shift }
    }

    /// `n` over the divisor; `n` is at most `isize::MAX`, as offsets are.
    #[inline(always)]
    fn quotient(self, n: usize) -> usize {
        // The upper half of a product fits, and no quotient is above its dividend.
        let high = (u128::from(self.factor) * u128::from((n as u64) << 1)) >> 64;
        (high as u64 >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reciprocal_divides_exactly() {
        let most = usize::MAX >> 1;
        let edges =
            [1, 2, 3, 5, 6, 7, 641, (1 << 31) - 1, 1 << 31, (1 << 32) + 1, most, most - 1, (1 << 62) + 1, 1 << 62];
        for divisor in edges {
            let reciprocal = Reciprocal::new(divisor);
            let near = |n: usize| [n, n.wrapping_mul(divisor), n.wrapping_mul(divisor).wrapping_sub(1)];
            for n in edges.into_iter().chain([0, most / divisor]).flat_map(near).filter(|&n| n <= most) {
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
        fn round_trip(shape in prop::collection::vec(1_usize..9, 0..7), fortran: bool, pick: prop::sample::Index) {
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
            prop_assert_eq!(grid.coordinates(&[offset as i64]).unwrap(), &wanted[..]);
            prop_assert_eq!(grid.offset(&coordinate), Some(offset));
            let signed: Vec<i64> = coordinate.iter().map(|&at| at as i64).collect();
            if !shape.is_empty() {
                prop_assert_eq!(grid.offsets(&signed, Mode::Raise).unwrap(), [offset]);
            }
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
            for mode in [Mode::Raise, Mode::Wrap, Mode::Clip] {
                prop_assert_eq!(grid.offsets(coordinate, mode), grid.offset_with(coordinate, mode).map(|at| vec![at]));
            }
        }
    }
}
