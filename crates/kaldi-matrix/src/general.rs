//! A matrix of one of three kinds, and rows of such matrices.

use crate::check::check_dim;
use crate::check::check_range;
use crate::check::check_shape;
use crate::compressed::{CompressedMatrix, CompressionMethod};
use crate::error::{Error, Shape};
use crate::matrix::{Matrix, MatrixBase, Trans};
use crate::sparse::{SparseMatrix, SparseVector};
use crate::storage::{Storage, StorageMut};

/// A matrix of `f32` from a file: full, compressed or sparse.
///
/// ```
/// use kaldi_matrix::{CompressionMethod, GeneralMatrix, Matrix};
/// let mut m = GeneralMatrix::from(Matrix::from_fn(20, 3, |r, c| (r * c) as f32));
/// m.compress(CompressionMethod::Automatic)?;
/// assert!(matches!(m, GeneralMatrix::Compressed(_)));
/// assert_eq!((m.num_rows(), m.get_matrix().num_cols()), (20, 3));
/// # Ok::<(), kaldi_matrix::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum GeneralMatrix {
    /// All elements, uncompressed.
    #[doc(alias = "kFullMatrix")]
    Full(Matrix<f32>),
    /// One or two bytes for each element.
    #[doc(alias = "kCompressedMatrix")]
    Compressed(CompressedMatrix),
    /// Only the elements that are not zero.
    #[doc(alias = "kSparseMatrix")]
    Sparse(SparseMatrix<f32>),
}

/// A full matrix, 0 x 0.
impl Default for GeneralMatrix {
    fn default() -> Self {
        Self::Full(Matrix::default())
    }
}

/// The three kinds of a [`GeneralMatrix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneralMatrixType {
    /// [`GeneralMatrix::Full`].
    Full,
    /// [`GeneralMatrix::Compressed`].
    Compressed,
    /// [`GeneralMatrix::Sparse`].
    Sparse,
}

impl From<Matrix<f32>> for GeneralMatrix {
    fn from(m: Matrix<f32>) -> Self {
        Self::Full(m)
    }
}

impl From<CompressedMatrix> for GeneralMatrix {
    fn from(m: CompressedMatrix) -> Self {
        Self::Compressed(m)
    }
}

impl From<SparseMatrix<f32>> for GeneralMatrix {
    fn from(m: SparseMatrix<f32>) -> Self {
        Self::Sparse(m)
    }
}

impl GeneralMatrix {
    /// Returns the kind.
    #[doc(alias = "Type")]
    pub fn matrix_type(&self) -> GeneralMatrixType {
        match self {
            Self::Full(_) => GeneralMatrixType::Full,
            Self::Compressed(_) => GeneralMatrixType::Compressed,
            Self::Sparse(_) => GeneralMatrixType::Sparse,
        }
    }

    /// Returns the number of rows.
    #[doc(alias = "NumRows")]
    pub fn num_rows(&self) -> usize {
        self.shape().rows
    }

    /// Returns the number of columns.
    #[doc(alias = "NumCols")]
    pub fn num_cols(&self) -> usize {
        self.shape().cols
    }

    /// Returns the numbers of rows and columns.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Full(m) => m.shape(),
            Self::Compressed(m) => Shape { rows: m.num_rows(), cols: m.num_cols() },
            Self::Sparse(m) => m.shape(),
        }
    }

    /// Compresses a full matrix; the other kinds do not change.
    ///
    /// # Errors
    /// As [`CompressedMatrix::new`]; the matrix is then unchanged.
    #[doc(alias = "Compress")]
    pub fn compress(&mut self, method: CompressionMethod) -> Result<(), Error> {
        if let Self::Full(m) = self {
            *self = Self::Compressed(CompressedMatrix::new(m, method)?);
        }
        Ok(())
    }

    /// Decompresses a compressed matrix; the other kinds do not change.
    #[doc(alias = "Uncompress")]
    pub fn uncompress(&mut self) {
        if let Self::Compressed(m) = self {
            *self = Self::Full(m.to_matrix());
        }
    }

    /// Returns the full matrix, if it is one.
    #[doc(alias = "GetFullMatrix")]
    pub fn get_full_matrix(&self) -> Option<&Matrix<f32>> {
        if let Self::Full(m) = self { Some(m) } else { None }
    }

    /// Returns the compressed matrix, if it is one.
    #[doc(alias = "GetCompressedMatrix")]
    pub fn get_compressed_matrix(&self) -> Option<&CompressedMatrix> {
        if let Self::Compressed(m) = self { Some(m) } else { None }
    }

    /// Returns the sparse matrix, if it is one.
    #[doc(alias = "GetSparseMatrix")]
    pub fn get_sparse_matrix(&self) -> Option<&SparseMatrix<f32>> {
        if let Self::Sparse(m) = self { Some(m) } else { None }
    }

    /// Exchanges the contents with a full matrix. Returns `false`, and does nothing, for another
    /// kind with rows.
    #[doc(alias = "SwapFullMatrix")]
    pub fn swap_full_matrix(&mut self, other: &mut Matrix<f32>) -> bool {
        if self.num_rows() == 0 && !matches!(self, Self::Full(_)) {
            *self = Self::Full(Matrix::default());
        }
        let Self::Full(m) = self else { return false };
        std::mem::swap(m, other);
        true
    }

    /// Exchanges the contents with a compressed matrix. Returns `false`, and does nothing, for
    /// another kind with rows.
    #[doc(alias = "SwapCompressedMatrix")]
    pub fn swap_compressed_matrix(&mut self, other: &mut CompressedMatrix) -> bool {
        if self.num_rows() == 0 && !matches!(self, Self::Compressed(_)) {
            *self = Self::Compressed(CompressedMatrix::default());
        }
        let Self::Compressed(m) = self else { return false };
        m.swap(other);
        true
    }

    /// Exchanges the contents with a sparse matrix. Returns `false`, and does nothing, for another
    /// kind with rows.
    #[doc(alias = "SwapSparseMatrix")]
    pub fn swap_sparse_matrix(&mut self, other: &mut SparseMatrix<f32>) -> bool {
        if self.num_rows() == 0 && !matches!(self, Self::Sparse(_)) {
            *self = Self::Sparse(SparseMatrix::default());
        }
        let Self::Sparse(m) = self else { return false };
        m.swap(other);
        true
    }

    /// Exchanges two matrices of any kinds.
    #[doc(alias = "Swap")]
    pub fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
    }

    /// Resets to a full matrix, 0 x 0.
    #[doc(alias = "Clear")]
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns a full matrix of its elements.
    ///
    /// # Panics
    /// As [`Matrix::zeros`], if a sparse matrix with its zeros is more than memory can hold.
    #[doc(alias = "GetMatrix")]
    pub fn get_matrix(&self) -> Matrix<f32> {
        match self {
            Self::Full(m) => m.clone(),
            Self::Compressed(m) => m.to_matrix(),
            Self::Sparse(m) => m.to_matrix(),
        }
    }

    /// `m = op(self)`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `m` has this shape.
    #[doc(alias = "CopyToMat")]
    pub fn copy_to_mat(&self, m: &mut MatrixBase<impl StorageMut<Elem = f32>>, trans: Trans) -> Result<(), Error> {
        match self {
            Self::Full(from) => m.copy_from_mat(from, trans),
            Self::Compressed(from) => from.copy_to_mat(m, trans),
            Self::Sparse(from) => from.copy_to_mat(m, trans),
        }
    }

    /// `m += alpha * op(self)`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `m` has this shape.
    #[doc(alias = "AddToMat")]
    pub fn add_to_mat(
        &self,
        alpha: f32,
        m: &mut MatrixBase<impl StorageMut<Elem = f32>>,
        trans: Trans,
    ) -> Result<(), Error> {
        match self {
            Self::Full(from) => m.add_mat(alpha, from, trans),
            Self::Compressed(from) => {
                check_shape("add_to_mat", self.shape().seen(trans), m.shape())?;
                m.add_mat(alpha, &from.to_matrix::<f32>(), trans)
            }
            Self::Sparse(from) => from.add_to_mat(alpha, m, trans),
        }
    }

    /// `self *= alpha`.
    #[doc(alias = "Scale")]
    pub fn scale(&mut self, alpha: f32) {
        match self {
            Self::Full(m) => m.scale(alpha),
            Self::Compressed(m) => m.scale(alpha),
            Self::Sparse(m) => m.scale(alpha),
        }
    }
}

/// Concatenates the rows of all inputs; inputs without rows are ignored. The result is sparse if
/// all other inputs are, else full.
///
/// # Errors
/// [`Error::DimMismatch`] if the numbers of columns differ.
#[doc(alias = "AppendGeneralMatrixRows")]
pub fn append_general_matrix_rows(inputs: &[&GeneralMatrix]) -> Result<GeneralMatrix, Error> {
    let inputs: Vec<_> = inputs.iter().filter(|m| m.num_rows() > 0).collect();
    let Some(cols) = inputs.first().map(|m| m.num_cols()) else { return Ok(GeneralMatrix::default()) };
    inputs.iter().try_for_each(|m| check_dim("append_general_matrix_rows", cols, m.num_cols()))?;
    let sparse: Option<Vec<_>> = inputs.iter().map(|m| m.get_sparse_matrix()).collect();
    if let Some(sparse) = sparse {
        let rows = sparse.iter().flat_map(|m| m.rows()).cloned().collect();
        return SparseMatrix::from_rows(rows).map(GeneralMatrix::Sparse);
    }
    let mut all = Matrix::zeros(inputs.iter().map(|m| m.num_rows()).sum(), cols);
    let mut start = 0;
    for m in inputs {
        m.copy_to_mat(&mut all.row_range_mut(start, m.num_rows())?, Trans::No)?;
        start += m.num_rows();
    }
    Ok(GeneralMatrix::Full(all))
}

/// Returns the indexes of the entries that are `true`, for a matrix of `rows` rows.
fn kept(operation: &'static str, keep_rows: &[bool], rows: usize) -> Result<Vec<usize>, Error> {
    check_dim(operation, rows, keep_rows.len())?;
    Ok(keep_rows.iter().enumerate().filter(|&(_, &keep)| keep).map(|(r, _)| r).collect())
}

/// Returns the rows whose `keep_rows` is `true`; there may be none.
///
/// # Errors
/// [`Error::DimMismatch`] unless there is one `keep_rows` for each row.
#[doc(alias = "FilterMatrixRows")]
pub fn filter_matrix_rows<S: Storage>(m: &MatrixBase<S>, keep_rows: &[bool]) -> Result<Matrix<S::Elem>, Error> {
    let rows = kept("filter_matrix_rows", keep_rows, m.num_rows())?;
    let data = rows.iter().flat_map(|&r| m.row_data(r)).copied().collect();
    Matrix::from_vec(rows.len(), m.num_cols(), data)
}

/// Returns the rows whose `keep_rows` is `true`; there may be none.
///
/// # Errors
/// [`Error::DimMismatch`] unless there is one `keep_rows` for each row.
#[doc(alias = "FilterSparseMatrixRows")]
pub fn filter_sparse_matrix_rows<T: kaldera_base::Real>(
    m: &SparseMatrix<T>,
    keep_rows: &[bool],
) -> Result<SparseMatrix<T>, Error> {
    let rows = kept("filter_sparse_matrix_rows", keep_rows, m.num_rows())?;
    let mut filtered = SparseMatrix::zeros(0, m.num_cols());
    filtered.select_rows(&rows, m)?;
    Ok(filtered)
}

/// Returns the rows whose `keep_rows` is `true`, decompressed; there may be none.
///
/// # Errors
/// [`Error::DimMismatch`] unless there is one `keep_rows` for each row.
#[doc(alias = "FilterCompressedMatrixRows")]
pub fn filter_compressed_matrix_rows(m: &CompressedMatrix, keep_rows: &[bool]) -> Result<Matrix<f32>, Error> {
    let rows = kept("filter_compressed_matrix_rows", keep_rows, m.num_rows())?;
    let mut filtered = Matrix::zeros(rows.len(), m.num_cols());
    for (to, from) in rows.into_iter().enumerate() {
        m.copy_row_to_vec(from, &mut filtered.row_mut(to))?;
    }
    Ok(filtered)
}

/// Returns the rows whose `keep_rows` is `true`; there may be none. A compressed matrix becomes a
/// full one, the others keep their kind.
///
/// # Errors
/// [`Error::DimMismatch`] unless there is one `keep_rows` for each row.
#[doc(alias = "FilterGeneralMatrixRows")]
pub fn filter_general_matrix_rows(m: &GeneralMatrix, keep_rows: &[bool]) -> Result<GeneralMatrix, Error> {
    Ok(match m {
        GeneralMatrix::Full(m) => GeneralMatrix::Full(filter_matrix_rows(m, keep_rows)?),
        GeneralMatrix::Compressed(m) => GeneralMatrix::Full(filter_compressed_matrix_rows(m, keep_rows)?),
        GeneralMatrix::Sparse(m) => GeneralMatrix::Sparse(filter_sparse_matrix_rows(m, keep_rows)?),
    })
}

/// Returns `num_rows` rows from `row` on, in the kind of the matrix. Rows before the first and
/// after the last are copies of the first or the last row.
///
/// # Errors
/// [`Error::OutOfRange`] for rows of a matrix without rows; as
/// [`CompressedMatrix::range_with_padding`].
#[doc(alias = "ExtractRowRangeWithPadding")]
pub fn extract_row_range_with_padding(m: &GeneralMatrix, row: isize, num_rows: usize) -> Result<GeneralMatrix, Error> {
    if num_rows > 0 {
        check_range("rows", 0, 1, m.num_rows())?;
    }
    let last = m.num_rows().saturating_sub(1);
    let rows = (0..num_rows).map(|r| row.saturating_add_unsigned(r).max(0).unsigned_abs().min(last));
    Ok(match m {
        GeneralMatrix::Full(m) => {
            let data = rows.flat_map(|r| m.row_data(r)).copied().collect();
            GeneralMatrix::Full(Matrix::from_vec(num_rows, m.num_cols(), data)?)
        }
        GeneralMatrix::Compressed(m) => {
            GeneralMatrix::Compressed(m.range_with_padding(row, num_rows, 0, m.num_cols())?)
        }
        GeneralMatrix::Sparse(m) => {
            let rows: Vec<SparseVector<f32>> = rows.map(|r| m.row(r).clone()).collect();
            GeneralMatrix::Sparse(SparseMatrix::from_rows(rows)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_kinds() -> [GeneralMatrix; 3] {
        // Whole numbers from 0 to 255: exact in every kind.
        let full = Matrix::from_fn(10, 3, |r, c| if (r + c) % 3 == 0 { (8 * r + c) as f32 } else { 0.0 });
        let compressed = CompressedMatrix::new(&full, CompressionMethod::OneByteUnsignedInteger).unwrap();
        let sparse = SparseMatrix::from(&full);
        [full.into(), compressed.into(), sparse.into()]
    }

    #[test]
    fn all_kinds_give_the_same_matrix() {
        let [full, ..] = three_kinds();
        let full = full.get_matrix();
        for mut m in three_kinds() {
            assert_eq!(m.shape(), full.shape());
            assert_eq!(m.get_matrix(), full);
            let mut copy = Matrix::zeros(3, 10);
            m.copy_to_mat(&mut copy, Trans::Yes).unwrap();
            assert_eq!(copy, full.transposed());
            m.add_to_mat(2.0, &mut copy, Trans::Yes).unwrap();
            assert_eq!(copy[(0, 9)], 3.0 * full[(9, 0)]);
            assert!(m.add_to_mat(1.0, &mut copy, Trans::No).is_err());
            let keep: Vec<bool> = (0..10).map(|r| r % 4 == 1).collect();
            let filtered = filter_general_matrix_rows(&m, &keep).unwrap();
            assert_eq!(filtered.get_matrix().row_data(2), full.row_data(9));
            assert_eq!(filter_general_matrix_rows(&m, &[false; 10]).unwrap().shape(), Shape { rows: 0, cols: 3 });
            assert!(filter_general_matrix_rows(&m, &keep[1..]).is_err());
            let padded = extract_row_range_with_padding(&m, -2, 13).unwrap();
            assert_eq!(padded.matrix_type(), m.matrix_type());
            let padded = padded.get_matrix();
            assert_eq!((padded.num_rows(), padded.row_data(1)), (13, full.row_data(0)));
            assert_eq!((padded.row_data(7), padded.row_data(12)), (full.row_data(5), full.row_data(9)));
            m.scale(0.5);
            assert_eq!(m.get_matrix()[(9, 0)], 36.0);
            m.clear();
            assert_eq!(m, GeneralMatrix::default());
            assert!(extract_row_range_with_padding(&m, 0, 1).is_err());
        }
    }

    #[test]
    fn kinds_change_only_when_asked() {
        let [mut full, mut compressed, mut sparse] = three_kinds();
        let method = CompressionMethod::Automatic;
        sparse.compress(method).unwrap();
        sparse.uncompress();
        assert_eq!(sparse.matrix_type(), GeneralMatrixType::Sparse);
        full.compress(method).unwrap();
        assert!(full.get_compressed_matrix().is_some() && full.get_full_matrix().is_none());
        compressed.uncompress();
        assert!(compressed.get_full_matrix().is_some() && compressed.get_sparse_matrix().is_none());

        let mut m = Matrix::zeros(1, 1);
        assert!(compressed.swap_full_matrix(&mut m) && m.num_rows() == 10);
        assert!(!sparse.swap_full_matrix(&mut m) && sparse.num_rows() == 10);
        assert!(!sparse.swap_compressed_matrix(&mut CompressedMatrix::default()));
        sparse.clear();
        assert!(sparse.swap_sparse_matrix(&mut SparseMatrix::zeros(2, 2)) && sparse.num_cols() == 2);
        sparse.swap(&mut full);
        assert!(sparse.get_compressed_matrix().is_some() && full.get_sparse_matrix().is_some());
    }

    #[test]
    fn rows_of_all_kinds_are_appended() {
        let [full, compressed, sparse] = three_kinds();
        let nothing = GeneralMatrix::default();
        let all = append_general_matrix_rows(&[&full, &nothing, &compressed, &sparse]).unwrap();
        assert_eq!(all.get_full_matrix().unwrap().shape(), Shape { rows: 30, cols: 3 });
        assert_eq!(all.get_matrix().row_data(19), full.get_matrix().row_data(9));
        let all = append_general_matrix_rows(&[&sparse, &nothing, &sparse]).unwrap();
        assert_eq!(all.get_sparse_matrix().unwrap().num_rows(), 20);
        assert_eq!(append_general_matrix_rows(&[&nothing]).unwrap(), nothing);
        assert!(append_general_matrix_rows(&[&full, &Matrix::zeros(1, 2).into()]).is_err());
    }
}
