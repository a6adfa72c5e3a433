//! Vectors and matrices of every kind; `kaldi-matrix` defines their bytes and text.

use kaldi_matrix::codec::MatrixHeader;
use kaldi_matrix::packed::{LowerTriangular, Symmetric};
use kaldi_matrix::{CompressedMatrix, GeneralMatrix, Matrix, PackedMatrix, SparseMatrix, SparseVector, Vector};

use crate::holders::*;
use crate::range::{self, Span};

/// Implements `Holder` for an object that [`codec`] reads and writes, given its name and overrides
/// of other methods.
macro_rules! coded_holder {
    ($object:ty, $what:literal $(, $method:item)*) => {
        impl Holder for $object {
            const WHAT: &'static str = $what;

            fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
                Ok(codec::read(reader)?)
            }

            fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
                Ok(codec::write(writer, self, binary)?)
            }

            $($method)*
        }
    };
}

macro_rules! holders_of {
    ($real:ty) => {
        coded_holder!(
            Matrix<$real>,
            "matrices",
            fn skip_in_archive(reader: &mut dyn Skip) -> Result<(), Error> {
                MatrixHeader::read_in_archive(reader).map(drop)
            },
            fn extract_range(&self, range: &str) -> Result<Self, Error> {
                let ((row, rows), (col, cols)) = part_of_matrix(range, self.num_rows(), self.num_cols())?;
                Ok(self.range(row, rows, col, cols).expect("a part lies inside").to_owned())
            }
        );
        coded_holder!(
            Vector<$real>,
            "vectors",
            fn extract_range(&self, range: &str) -> Result<Self, Error> {
                let (start, len) = range::of_vector(range, self.dim()).ok_or_else(|| Error::Range {
                    range: range.to_owned(),
                    object: format!("a vector of {}", self.dim()),
                })?;
                Ok(self.range(start, len).expect("a part lies inside").to_owned())
            }
        );
        coded_holder!(PackedMatrix<$real, Symmetric>, "symmetric matrices");
        coded_holder!(PackedMatrix<$real, LowerTriangular>, "triangular matrices");
        coded_holder!(SparseVector<$real>, "sparse vectors");
        coded_holder!(
            SparseMatrix<$real>,
            "sparse matrices",
            fn extract_range(&self, range: &str) -> Result<Self, Error> {
                let ((row, rows), (col, cols)) = part_of_matrix(range, self.num_rows(), self.num_cols())?;
                let rows = self.rows()[row..row + rows].iter().map(|row| {
                    row.iter().filter(|(i, _)| (col..col + cols).contains(i)).map(|(i, x)| (i - col, x))
                });
                Ok(SparseMatrix::new(cols, rows).expect("places below the number of columns"))
            }
        );
    };
}
holders_of!(f32);
holders_of!(f64);

coded_holder!(
    CompressedMatrix,
    "compressed matrices",
    fn skip_in_archive(reader: &mut dyn Skip) -> Result<(), Error> {
        MatrixHeader::read_in_archive(reader).map(drop)
    },
    fn extract_range(&self, range: &str) -> Result<Self, Error> {
        let ((row, rows), (col, cols)) = part_of_matrix(range, self.num_rows(), self.num_cols())?;
        // A few rows are compressed anew, which fails for numbers that are not finite.
        self.range(row, rows, col, cols).map_err(|error| Error::Unexpected {
            expected: "a compressed matrix that a part can be taken of",
            found: error.to_string(),
        })
    }
);

coded_holder!(
    GeneralMatrix,
    "matrices",
    fn skip_in_archive(reader: &mut dyn Skip) -> Result<(), Error> {
        MatrixHeader::read_in_archive(reader).map(drop)
    },
    // As in Kaldi, a part of a compressed matrix is a full matrix; here, a part of a sparse matrix
    // is sparse.
    fn extract_range(&self, range: &str) -> Result<Self, Error> {
        Ok(match self {
            Self::Full(matrix) => matrix.extract_range(range)?.into(),
            Self::Compressed(matrix) => matrix.to_matrix::<f32>().extract_range(range)?.into(),
            Self::Sparse(matrix) => matrix.extract_range(range)?.into(),
        })
    }
);

/// The shape of a matrix of any kind, without its elements.
///
/// In an archive that is a file the elements are not even read: only the headers of a corpus are.
///
/// ```
/// use kaldi_io::table::{SequentialReader, TableWriter};
/// use kaldi_matrix::{Matrix, codec::MatrixHeader};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("feats.ark");
/// let mut writer = TableWriter::to_archive(&path)?;
/// writer.write("utt1", &Matrix::<f32>::zeros(100, 80))?;
/// writer.close()?;
///
/// for entry in SequentialReader::<MatrixHeader>::from_archive(&path)? {
///     let (key, header) = entry?;
///     assert_eq!((key.as_str(), header.rows, header.cols), ("utt1", 100, 80));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Holder for MatrixHeader {
    const WHAT: &'static str = "shapes of matrices";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(MatrixHeader::read(reader)?)
    }

    fn read_in_archive(reader: &mut dyn Skip) -> Result<Self, Error> {
        let header = MatrixHeader::read(reader)?;
        let skipped = reader.skip(header.element_bytes)?;
        if skipped < header.element_bytes {
            let (expected, promised) = ("all elements of a matrix", header.element_bytes);
            return Err(Error::Unexpected { expected, found: format!("the end after {skipped} of {promised} bytes") });
        }
        Ok(header)
    }

    fn write(&self, _writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        Err(Error::Unwritable { what: Self::WHAT, how: "without their elements" })
    }

    fn extract_range(&self, range: &str) -> Result<Self, Error> {
        let ((_, rows), (_, cols)) = part_of_matrix(range, self.rows, self.cols)?;
        let mut part = *self;
        (part.rows, part.cols) = (rows, cols);
        Ok(part)
    }
}

/// Returns the rows and the columns of a range.
fn part_of_matrix(range: &str, rows: usize, cols: usize) -> Result<(Span, Span), Error> {
    range::of_matrix(range, rows, cols)
        .ok_or_else(|| Error::Range { range: range.to_owned(), object: format!("a matrix of {rows} x {cols}") })
}
