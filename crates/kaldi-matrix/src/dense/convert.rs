//! Conversion from and to ndarray, without copying the elements.
//!
//! | from | to | |
//! |---|---|---|
//! | `Matrix`, `Vector` | `Array2`, `Array1` | `From`: moves the allocation |
//! | `Array2`, `Array1` | `Matrix`, `Vector` | `From`: moves if row-major, else copies |
//! | `SubMatrix`, `SubVector` (and `Mut`) | `ArrayView2`, `ArrayView1` | `From`: any row stride |
//! | `ArrayView2`, `ArrayView1` (and `Mut`) | `SubMatrix`, `SubVector` | `TryFrom`: no gaps |
//!
//! A view with gaps between its rows cannot become a `SubMatrix`: a `SubMatrix` borrows the gaps
//! too, and with ndarray others may change them at the same time. Convert the whole array, and then
//! take a [`range`](crate::MatrixBase::range) of the `SubMatrix`.

use kaldera_base::Real;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, ShapeBuilder};

use crate::error::Error;
use crate::matrix::{Matrix, SubMatrix, SubMatrixMut};
use crate::vector::{SubVector, SubVectorMut, Vector};

const FITS: &str = "a matrix has as many elements as its shape says";

impl<T: Real> From<Matrix<T>> for Array2<T> {
    fn from(m: Matrix<T>) -> Self {
        Array2::from_shape_vec((m.num_rows(), m.num_cols()), m.into_vec()).expect(FITS)
    }
}

/// Moves the elements if the layout is row-major, else copies them.
impl<T: Real> From<Array2<T>> for Matrix<T> {
    fn from(array: Array2<T>) -> Self {
        let (rows, cols) = array.dim();
        let data = if array.is_standard_layout() {
            owned_elements(array.into_raw_vec_and_offset(), rows * cols)
        } else {
            array.iter().copied().collect()
        };
        Matrix::from_vec(rows, cols, data).expect(FITS)
    }
}

impl<T: Real> From<Vector<T>> for Array1<T> {
    fn from(v: Vector<T>) -> Self {
        Array1::from_vec(v.into_vec())
    }
}

/// Moves the elements if they are contiguous, else copies them.
impl<T: Real> From<Array1<T>> for Vector<T> {
    fn from(array: Array1<T>) -> Self {
        let dim = array.len();
        if array.is_standard_layout() {
            owned_elements(array.into_raw_vec_and_offset(), dim).into()
        } else {
            array.iter().copied().collect()
        }
    }
}

/// Returns the elements of an array in an allocation that may be larger than the array, after
/// slicing.
fn owned_elements<T>((mut data, offset): (Vec<T>, Option<usize>), len: usize) -> Vec<T> {
    data.drain(..offset.unwrap_or(0));
    data.truncate(len);
    data
}

impl<'a, T: Real> From<SubMatrix<'a, T>> for ArrayView2<'a, T> {
    fn from(m: SubMatrix<'a, T>) -> Self {
        let (shape, stride) = ((m.num_rows(), m.num_cols()), m.stride());
        let empty = m.is_empty();
        let data = m.into_slice();
        if empty {
            ArrayView2::from_shape(shape, data)
        } else {
            ArrayView2::from_shape(shape.strides((stride, 1)), data)
        }
        .expect(FITS)
    }
}

impl<'a, T: Real> From<SubMatrixMut<'a, T>> for ArrayViewMut2<'a, T> {
    fn from(m: SubMatrixMut<'a, T>) -> Self {
        let (shape, stride) = ((m.num_rows(), m.num_cols()), m.stride());
        let empty = m.is_empty();
        let data = m.into_slice();
        if empty {
            ArrayViewMut2::from_shape(shape, data)
        } else {
            ArrayViewMut2::from_shape(shape.strides((stride, 1)), data)
        }
        .expect(FITS)
    }
}

/// Fails with [`Error::Layout`] unless the rows are contiguous, without gaps.
impl<'a, T: Real> TryFrom<ArrayView2<'a, T>> for SubMatrix<'a, T> {
    type Error = Error;

    fn try_from(view: ArrayView2<'a, T>) -> Result<Self, Error> {
        let (rows, cols) = view.dim();
        let data = view.to_slice().ok_or_else(|| Error::Layout { strides: view.strides().to_vec() })?;
        SubMatrix::new(data, rows, cols, cols)
    }
}

/// Fails with [`Error::Layout`] unless the rows are contiguous, without gaps.
impl<'a, T: Real> TryFrom<ArrayViewMut2<'a, T>> for SubMatrixMut<'a, T> {
    type Error = Error;

    fn try_from(view: ArrayViewMut2<'a, T>) -> Result<Self, Error> {
        let (rows, cols) = view.dim();
        let strides = view.strides().to_vec();
        let data = view.into_slice().ok_or(Error::Layout { strides })?;
        SubMatrixMut::new(data, rows, cols, cols)
    }
}

impl<'a, T: Real> From<SubVector<'a, T>> for ArrayView1<'a, T> {
    fn from(v: SubVector<'a, T>) -> Self {
        v.into_slice().into()
    }
}

impl<'a, T: Real> From<SubVectorMut<'a, T>> for ArrayViewMut1<'a, T> {
    fn from(v: SubVectorMut<'a, T>) -> Self {
        v.into_slice().into()
    }
}

/// Fails with [`Error::Layout`] unless the elements are contiguous.
impl<'a, T: Real> TryFrom<ArrayView1<'a, T>> for SubVector<'a, T> {
    type Error = Error;

    fn try_from(view: ArrayView1<'a, T>) -> Result<Self, Error> {
        let data = view.to_slice().ok_or_else(|| Error::Layout { strides: view.strides().to_vec() })?;
        Ok(data.into())
    }
}

/// Fails with [`Error::Layout`] unless the elements are contiguous.
impl<'a, T: Real> TryFrom<ArrayViewMut1<'a, T>> for SubVectorMut<'a, T> {
    type Error = Error;

    fn try_from(view: ArrayViewMut1<'a, T>) -> Result<Self, Error> {
        let strides = view.strides().to_vec();
        let data = view.into_slice().ok_or(Error::Layout { strides })?;
        Ok(data.into())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, s};

    use super::*;

    fn counting(rows: usize, cols: usize) -> Matrix<f32> {
        Matrix::from_fn(rows, cols, |r, c| (10 * r + c) as f32)
    }

    #[test]
    fn owned_conversions_move() {
        let m = counting(3, 4);
        let address = m.data().as_ptr();
        let array = Array2::from(m);
        assert_eq!((array.as_ptr(), array.dim(), array[(2, 1)]), (address, (3, 4), 21.0));
        let m = Matrix::from(array);
        assert_eq!((m.data().as_ptr(), &m), (address, &counting(3, 4)));

        let v = Vector::from(vec![1.0_f64, 2.0]);
        let address = v.data().as_ptr();
        let v = Vector::from(Array1::from(v));
        assert_eq!((v.data().as_ptr(), v.data()), (address, &[1.0, 2.0][..]));
    }

    #[test]
    fn column_major_arrays_are_copied() {
        let array = Array2::from(counting(3, 4));
        assert_eq!(Matrix::from(array.clone().reversed_axes()), counting(3, 4).transposed());
        let part = array.clone().slice_move(s![1.., ..]);
        assert_eq!(Matrix::from(part), counting(3, 4).row_range(1, 2).unwrap());
        let part = array.slice_move(s![.., 1..;2]);
        assert_eq!(Matrix::from(part).data(), [1.0, 3.0, 11.0, 13.0, 21.0, 23.0]);
        let part = Array::range(0.0_f32, 5.0, 1.0).slice_move(s![..;-2]);
        assert_eq!(Vector::from(part).data(), [4.0, 2.0, 0.0]);
        assert_eq!(Matrix::from(Array2::<f32>::zeros((0, 3))).num_cols(), 3);
    }

    #[test]
    fn views_share_the_elements() {
        let mut m = counting(3, 4);
        let view = ArrayView2::from(m.range(1, 2, 1, 2).unwrap());
        assert_eq!(view, ndarray::array![[11.0, 12.0], [21.0, 22.0]]);
        ArrayViewMut2::from(m.range_mut(1, 2, 1, 2).unwrap())[(1, 0)] = -1.0;
        assert_eq!(m[(2, 1)], -1.0);
        ArrayViewMut1::from(m.row_mut(0))[3] = -2.0;
        assert_eq!(ArrayView1::from(m.row(0))[3], -2.0);
        assert_eq!(ArrayView2::from(Matrix::<f32>::zeros(2, 0).view()).dim(), (2, 0));
    }

    #[test]
    fn views_come_back_unless_they_have_gaps() {
        let mut array = Array2::from(counting(3, 4));
        let rows = SubMatrix::try_from(array.slice(s![1.., ..])).unwrap();
        assert_eq!(rows, counting(3, 4).row_range(1, 2).unwrap());
        let gaps = SubMatrix::try_from(array.slice(s![.., 1..]));
        assert_eq!(gaps.err(), Some(Error::Layout { strides: vec![4, 1] }));
        assert!(SubMatrix::try_from(array.t()).is_err());
        assert_eq!(SubVector::try_from(array.row(1)).unwrap().data(), [10.0, 11.0, 12.0, 13.0]);
        assert!(SubVector::try_from(array.column(1)).is_err());
        SubMatrixMut::try_from(array.view_mut()).unwrap().scale(2.0);
        SubVectorMut::try_from(array.row_mut(0)).unwrap().add(1.0);
        assert_eq!((array[(0, 0)], array[(1, 1)]), (1.0, 22.0));
        assert!(SubMatrixMut::try_from(array.slice_mut(s![.., ..2])).is_err());
        assert!(SubVectorMut::try_from(array.column_mut(0)).is_err());
    }
}
