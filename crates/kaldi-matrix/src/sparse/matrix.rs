//! Sparse matrices: a sparse vector for each row.

use kaldera_base::Real;

use crate::check::check_dim;
use crate::check::check_range;
use crate::check::check_shape;
use crate::error::{Error, Shape};
use crate::kernels::convert;
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::random::RandomState;
use crate::sparse::SparseVector;
use crate::storage::{Storage, StorageMut};
use crate::vector::{ResizeType, VectorBase};

/// A matrix that stores only the elements that are not zero, row by row.
///
/// ```
/// use kaldi_matrix::{Matrix, SparseMatrix};
/// let posteriors =
///     SparseMatrix::new(4, [vec![(2, 1.0_f32)], vec![], vec![(3, 0.75), (0, 0.25)]])?;
/// assert_eq!(posteriors.num_elements(), 3);
/// assert_eq!(posteriors.to_matrix()[(2, 3)], 0.75);
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct SparseMatrix<T> {
    /// The rows, each with `cols` elements.
    rows: Vec<SparseVector<T>>,
    cols: usize,
}

impl<T: Real> SparseMatrix<T> {
    /// Creates a matrix of `rows` by `cols` zeros.
    ///
    /// # Panics
    /// As `vec!`, if that many empty rows are more than memory can hold.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows: vec![SparseVector::zeros(cols); rows], cols }
    }

    /// Creates a matrix from rows of `cols` elements, each an argument of [`SparseVector::new`]: a
    /// posterior in Kaldi.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a column that does not exist.
    pub fn new<R: IntoIterator<Item = (usize, T)>>(
        cols: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Self, Error> {
        let rows = rows.into_iter().map(|row| SparseVector::new(cols, row)).collect::<Result<_, _>>()?;
        Ok(Self { rows, cols })
    }

    /// Creates a matrix from sparse vectors; without any, it is 0 x 0.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the lengths differ.
    pub fn from_rows(rows: Vec<SparseVector<T>>) -> Result<Self, Error> {
        let cols = rows.first().map_or(0, SparseVector::dim);
        rows.iter().try_for_each(|row| check_dim("from_rows", cols, row.dim()))?;
        Ok(Self { rows, cols })
    }

    /// Creates a matrix with a one in each row, in the column of the list, and `dim` columns; with
    /// [`Trans::Yes`] its transpose.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an index that is not below `dim`.
    #[doc(alias = "SparseMatrix")]
    pub fn from_indexes(indexes: &[usize], dim: usize, trans: Trans) -> Result<Self, Error> {
        Self::one_per_row(indexes.iter().map(|&index| (index, T::ONE)), dim, trans)
    }

    /// As [`from_indexes`](Self::from_indexes), with weights instead of the ones.
    ///
    /// # Errors
    /// As [`from_indexes`](Self::from_indexes); [`Error::DimMismatch`] unless there is one weight
    /// for each index.
    pub fn from_indexes_and_weights(
        indexes: &[usize],
        weights: &VectorBase<impl Storage<Elem = T>>,
        dim: usize,
        trans: Trans,
    ) -> Result<Self, Error> {
        check_dim("from_indexes_and_weights", indexes.len(), weights.dim())?;
        Self::one_per_row(indexes.iter().copied().zip(weights.iter().copied()), dim, trans)
    }

    fn one_per_row(elements: impl Iterator<Item = (usize, T)>, dim: usize, trans: Trans) -> Result<Self, Error> {
        let plain = Self::new(dim, elements.map(|element| [element]))?;
        Ok(match trans {
            Trans::No => plain,
            Trans::Yes => plain.transposed(),
        })
    }

    /// Returns the number of rows.
    #[doc(alias = "NumRows")]
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of columns.
    #[doc(alias = "NumCols")]
    pub fn num_cols(&self) -> usize {
        self.cols
    }

    /// Returns the numbers of rows and columns.
    pub fn shape(&self) -> Shape {
        Shape { rows: self.num_rows(), cols: self.cols }
    }

    /// Returns the number of stored elements.
    #[doc(alias = "NumElements")]
    pub fn num_elements(&self) -> usize {
        self.rows.iter().map(SparseVector::num_elements).sum()
    }

    /// Returns one row.
    ///
    /// # Panics
    /// If there is no such row.
    #[doc(alias = "Row")]
    pub fn row(&self, r: usize) -> &SparseVector<T> {
        &self.rows[r]
    }

    /// Returns the rows, top to bottom.
    #[doc(alias = "Data")]
    pub fn rows(&self) -> &[SparseVector<T>] {
        &self.rows
    }

    /// Sets row `r` to `row`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such row, [`Error::DimMismatch`] unless `row` has as
    /// many elements as there are columns.
    #[doc(alias = "SetRow")]
    pub fn set_row(&mut self, r: usize, row: SparseVector<T>) -> Result<(), Error> {
        check_range("rows", r, 1, self.num_rows())?;
        check_dim("set_row", self.cols, row.dim())?;
        self.rows[r] = row;
        Ok(())
    }

    /// `Σ self`, added in double precision.
    #[doc(alias = "Sum")]
    pub fn sum(&self) -> T {
        T::from_f64(self.elements().map(|x| x.to_f64()).sum())
    }

    /// `√(Σ self²)`, added in double precision.
    #[doc(alias = "FrobeniusNorm")]
    pub fn frobenius_norm(&self) -> T {
        T::from_f64(self.elements().map(|x| x.to_f64() * x.to_f64()).sum::<f64>().sqrt())
    }

    /// Returns the stored elements, row by row.
    fn elements(&self) -> impl Iterator<Item = T> {
        self.rows.iter().flat_map(|row| row.iter().map(|(_, x)| x))
    }

    /// `self *= alpha`.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: T) {
        self.rows.iter_mut().for_each(|row| row.scale(alpha));
    }

    /// Returns a full matrix, with the zeros.
    ///
    /// # Panics
    /// As [`Matrix::zeros`], if that is more than memory can hold.
    pub fn to_matrix(&self) -> Matrix<T> {
        let mut m = Matrix::zeros(self.num_rows(), self.cols);
        self.add_to(T::ONE, &mut m, Trans::No);
        m
    }

    /// Returns the transpose.
    pub fn transposed(&self) -> Self {
        let mut columns = vec![Vec::new(); self.cols];
        for (r, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|(c, x)| columns[c].push((r, x)));
        }
        Self::new(self.num_rows(), columns).expect("rows that are there become columns that are")
    }

    /// `m = op(self)`, zeros included, in either precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `m` has this shape.
    #[doc(alias = "CopyToMat")]
    pub fn copy_to_mat(&self, m: &mut MatrixBase<impl StorageMut>, trans: Trans) -> Result<(), Error> {
        check_shape("copy_to_mat", self.shape().seen(trans), m.shape())?;
        m.set_zero();
        self.for_each(trans, |r, c, x| m[(r, c)] = convert(x));
        Ok(())
    }

    /// `v =` the stored elements, row by row, in either precision.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless `v` has [`num_elements`](Self::num_elements) elements.
    #[doc(alias = "CopyElementsToVec")]
    pub fn copy_elements_to_vec(&self, v: &mut VectorBase<impl StorageMut>) -> Result<(), Error> {
        check_dim("copy_elements_to_vec", self.num_elements(), v.dim())?;
        v.iter_mut().zip(self.elements()).for_each(|(to, x)| *to = convert(x));
        Ok(())
    }

    /// `m += alpha * op(self)`, in either precision.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `m` has this shape.
    #[doc(alias = "AddToMat")]
    pub fn add_to_mat(&self, alpha: T, m: &mut MatrixBase<impl StorageMut>, trans: Trans) -> Result<(), Error> {
        check_shape("add_to_mat", self.shape().seen(trans), m.shape())?;
        self.add_to(alpha, m, trans);
        Ok(())
    }

    /// As [`add_to_mat`](Self::add_to_mat), for shapes that were checked.
    fn add_to<S: StorageMut>(&self, alpha: T, m: &mut MatrixBase<S>, trans: Trans) {
        self.for_each(trans, |r, c, x| {
            let y = &mut m[(r, c)];
            *y = S::Elem::from_f64(y.to_f64() + (alpha * x).to_f64());
        });
    }

    /// Calls `f(row, column, element)` of `op(self)` for each stored element.
    fn for_each(&self, trans: Trans, mut f: impl FnMut(usize, usize, T)) {
        for (r, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|(c, x)| match trans {
                Trans::No => f(r, c, x),
                Trans::Yes => f(c, r, x),
            });
        }
    }

    /// `self = op(other)`, of either precision.
    #[doc(alias = "CopyFromSmat")]
    pub fn copy_from_smat<U: Real>(&mut self, other: &SparseMatrix<U>, trans: Trans) {
        let mut copy = Self::zeros(other.num_rows(), other.cols);
        copy.rows.iter_mut().zip(&other.rows).for_each(|(to, from)| to.copy_from_svec(from));
        *self = match trans {
            Trans::No => copy,
            Trans::Yes => copy.transposed(),
        };
    }

    /// Sets each row r to row `row_indexes[r]` of `other`: any number of rows, in any order,
    /// perhaps with duplicates.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a row that does not exist.
    #[doc(alias = "SelectRows")]
    pub fn select_rows(&mut self, row_indexes: &[usize], other: &Self) -> Result<(), Error> {
        row_indexes.iter().try_for_each(|&r| check_range("rows", r, 1, other.num_rows()))?;
        self.rows = row_indexes.iter().map(|&r| other.rows[r].clone()).collect();
        self.cols = other.cols;
        Ok(())
    }

    /// `self =` the rows of all inputs, one below the other. Inputs without rows are ignored.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] if the numbers of columns differ; `self` is then unchanged.
    #[doc(alias = "AppendSparseMatrixRows")]
    pub fn append_sparse_matrix_rows(&mut self, inputs: impl IntoIterator<Item = Self>) -> Result<(), Error> {
        let rows = inputs.into_iter().flat_map(|input| input.rows).collect();
        *self = Self::from_rows(rows)?;
        Ok(())
    }

    /// Changes the shape. With [`ResizeType::CopyData`] the elements inside of both shapes stay,
    /// else all become zero.
    ///
    /// # Panics
    /// As [`zeros`](Self::zeros).
    #[doc(alias = "Resize")]
    pub fn resize(&mut self, rows: usize, cols: usize, resize_type: ResizeType) {
        if resize_type != ResizeType::CopyData {
            self.rows.clear();
        }
        self.rows.truncate(rows);
        self.rows.iter_mut().for_each(|row| row.resize(cols, resize_type));
        self.rows.resize(rows, SparseVector::zeros(cols));
        self.cols = cols;
    }

    /// Exchanges two matrices.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }

    /// Sets each element to zero with probability `zero_prob`, else to a normally distributed
    /// number with mean 0 and variance 1.
    ///
    /// # Errors
    /// As [`SparseVector::set_randn`].
    #[doc(alias = "SetRandn")]
    pub fn set_randn(&mut self, zero_prob: f64, random: &mut RandomState) -> Result<(), Error> {
        self.rows.iter_mut().try_for_each(|row| row.set_randn(zero_prob, random))
    }
}

/// Stores the elements that are not zero, NaN included.
///
/// # Panics
/// For columns with index 2³² or above.
impl<S: Storage> From<&MatrixBase<S>> for SparseMatrix<S::Elem> {
    fn from(m: &MatrixBase<S>) -> Self {
        let rows = (0..m.num_rows()).map(|r| SparseVector::from_slice(m.row_data(r))).collect();
        Self { rows, cols: m.num_cols() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;

    fn sample() -> (SparseMatrix<f32>, Matrix<f32>) {
        let dense = Matrix::from_vec(3, 4, vec![0.0, 1.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.5, 0.0]).unwrap();
        (SparseMatrix::from(&dense), dense)
    }

    #[test]
    fn values_roundtrip() {
        let (sparse, dense) = sample();
        assert_eq!(sparse.to_matrix(), dense);
        assert_eq!((sparse.num_rows(), sparse.num_cols(), sparse.num_elements()), (3, 4, 4));
        assert_eq!(sparse.transposed().to_matrix(), dense.transposed());
        assert_eq!(sparse.transposed().transposed(), sparse);
        let mut copy = Matrix::<f64>::from_fn(4, 3, |_, _| f64::NAN);
        sparse.copy_to_mat(&mut copy, Trans::Yes).unwrap();
        assert_eq!(copy[(3, 0)], -2.0);
        sparse.add_to_mat(2.0, &mut copy, Trans::Yes).unwrap();
        assert_eq!((copy[(3, 0)], copy[(0, 0)]), (-6.0, 0.0));
        let mut elements = Vector::<f64>::zeros(4);
        sparse.copy_elements_to_vec(&mut elements).unwrap();
        assert_eq!(elements.data(), [1.0, -2.0, 3.0, 0.5]);
        assert_eq!((sparse.sum(), sparse.frobenius_norm()), (2.5, 14.25_f32.sqrt()));
        let mut wide = SparseMatrix::<f64>::default();
        wide.copy_from_smat(&sparse, Trans::Yes);
        assert_eq!(wide.to_matrix()[(2, 2)], 0.5);
    }

    #[test]
    fn rows_come_and_go() {
        let (mut sparse, dense) = sample();
        let mut picked = SparseMatrix::default();
        picked.select_rows(&[2, 2, 0], &sparse).unwrap();
        assert_eq!(picked.row(1), sparse.row(2));
        assert!(picked.select_rows(&[3], &sparse).is_err());
        assert_eq!(picked.num_rows(), 3);
        picked.append_sparse_matrix_rows([sparse.clone(), SparseMatrix::zeros(0, 9), sparse.clone()]).unwrap();
        assert_eq!(picked.shape(), Shape { rows: 6, cols: 4 });
        assert!(picked.append_sparse_matrix_rows([sparse.clone(), SparseMatrix::zeros(1, 9)]).is_err());
        assert_eq!(picked.num_rows(), 6);
        sparse.resize(2, 3, ResizeType::CopyData);
        assert_eq!(sparse.to_matrix(), dense.range(0, 2, 0, 3).unwrap().to_owned());
        sparse.resize(4, 5, ResizeType::CopyData);
        assert_eq!((sparse.num_elements(), sparse.shape()), (1, Shape { rows: 4, cols: 5 }));
        sparse.set_row(3, SparseVector::new(5, [(4, 7.0)]).unwrap()).unwrap();
        assert_eq!(sparse.to_matrix()[(3, 4)], 7.0);
        assert!(sparse.set_row(4, SparseVector::zeros(5)).is_err());
        assert!(sparse.set_row(0, SparseVector::zeros(4)).is_err());
        sparse.resize(1, 2, ResizeType::SetZero);
        assert_eq!(sparse, SparseMatrix::zeros(1, 2));
    }

    #[test]
    fn one_element_for_each_index() {
        let ones = SparseMatrix::<f32>::from_indexes(&[2, 0], 3, Trans::No).unwrap();
        assert_eq!(ones.to_matrix().data(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
        let weights = Vector::from(vec![0.5_f32, -1.0]);
        let weighted = SparseMatrix::from_indexes_and_weights(&[2, 0], &weights, 3, Trans::Yes).unwrap();
        assert_eq!(weighted.to_matrix().data(), [0.0, -1.0, 0.0, 0.0, 0.5, 0.0]);
        assert!(SparseMatrix::<f32>::from_indexes(&[3], 3, Trans::No).is_err());
        assert!(SparseMatrix::from_indexes_and_weights(&[1], &weights, 3, Trans::No).is_err());
    }
}
