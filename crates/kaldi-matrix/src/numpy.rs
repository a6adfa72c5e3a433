//! Arrays in NumPy's files, `.npy`.

use std::io::{BufRead, Write};

use kaldera_base::Real;
use tensor_strided::npy::{Header, NpyError, NpyType};
use tensor_strided::{Tensor, TensorView};

use crate::error::Error;
use crate::matrix::{Matrix, MatrixBase, SubMatrix};
use crate::storage::Storage;
use crate::vector::{SubVector, Vector, VectorBase};

/// An array of any number of dimensions, its elements in row-major order.
///
/// ```
/// use kaldi_matrix::{Matrix, NumpyArray};
/// let m = Matrix::from_vec(2, 3, vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut file = Vec::new();
/// NumpyArray::from(&m).write(&mut file)?;
/// let array = NumpyArray::<f64>::read(&mut &file[..])?; // either precision
/// assert_eq!(array.shape(), [2, 3]);
/// assert_eq!(array.as_matrix()?[(1, 0)], 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct NumpyArray<T> {
    shape: Vec<usize>,
    data: Vec<T>,
}

impl<T: Real> NumpyArray<T> {
    /// Creates an array from elements in row-major order.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless their number fits the shape.
    pub fn new(shape: &[usize], data: Vec<T>) -> Result<Self, Error> {
        let (operation, found) = ("NumpyArray", data.len());
        let expected = num_elements(shape).unwrap_or(usize::MAX);
        if found != expected {
            return Err(Error::DimMismatch { operation, expected, found });
        }
        Ok(Self { shape: shape.to_vec(), data })
    }

    /// Returns the number of elements along each dimension; empty for a single number.
    #[doc(alias = "Shape")]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of elements.
    #[doc(alias = "NumElements")]
    pub fn num_elements(&self) -> usize {
        self.data.len()
    }

    /// Returns the elements in row-major order.
    #[doc(alias = "Data")]
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Returns the elements in row-major order, mutably.
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns a view as a vector.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless there is one dimension.
    #[doc(alias = "SubVector")]
    pub fn as_vector(&self) -> Result<SubVector<'_, T>, Error> {
        self.check_axes("as_vector", 1, "1")?;
        Ok(SubVector::from(&self.data[..]))
    }

    /// Returns a view as a matrix.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless there are two dimensions.
    #[doc(alias = "SubMatrix")]
    pub fn as_matrix(&self) -> Result<SubMatrix<'_, T>, Error> {
        self.check_axes("as_matrix", 2, "2")?;
        SubMatrix::new(&self.data, self.shape[0], self.shape[1], self.shape[1])
    }

    /// Converts the array into a vector, without copying.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless there is one dimension.
    pub fn into_vector(self) -> Result<Vector<T>, Error> {
        self.check_axes("into_vector", 1, "1")?;
        Ok(self.data.into())
    }

    /// Converts the array into a matrix, without copying.
    ///
    /// # Errors
    /// [`Error::OutOfDomain`] unless there are two dimensions.
    pub fn into_matrix(self) -> Result<Matrix<T>, Error> {
        self.check_axes("into_matrix", 2, "2")?;
        Matrix::from_vec(self.shape[0], self.shape[1], self.data)
    }

    fn check_axes(&self, operation: &'static str, axes: usize, expected: &'static str) -> Result<(), Error> {
        let found = self.shape.len();
        if found == axes {
            return Ok(());
        }
        Err(Error::OutOfDomain { operation, parameter: "the number of dimensions", value: found as f64, expected })
    }

    /// Reads a file with `f32` or `f64`, in either byte order and either order of elements.
    ///
    /// # Errors
    /// [`NpyError`] for any other bytes, and if the file ends too early. Memory grows with the
    /// elements that were read.
    #[doc(alias = "Read")]
    pub fn read(mut r: &mut dyn BufRead) -> Result<Self, NpyError> {
        let header = Header::read(&mut r)?;
        if header.element() == NpyType::for_type::<f32>() {
            Ok(Self::from_tensor(&Tensor::<f32>::read_npy_elements(&header, r)?))
        } else {
            Ok(Self::from_tensor(&Tensor::<f64>::read_npy_elements(&header, r)?))
        }
    }

    fn from_tensor<U: Real>(tensor: &Tensor<U>) -> Self {
        let data = tensor.view().iter().map(|x| T::from_f64(x.to_f64())).collect();
        Self { shape: tensor.shape().to_vec(), data }
    }

    /// Writes a file as NumPy does, little-endian, row-major.
    ///
    /// # Errors
    /// [`NpyError::Io`] for the errors of `w`.
    #[doc(alias = "Write")]
    pub fn write(&self, w: &mut dyn Write) -> Result<(), NpyError> {
        match T::as_f32(&self.data) {
            Some(singles) => TensorView::from_slice(&self.shape, singles)?.write_npy(w),
            None => {
                let doubles: Vec<f64> = self.data.iter().map(|x| x.to_f64()).collect();
                TensorView::from_slice(&self.shape, &doubles)?.write_npy(w)
            }
        }
    }
}

/// Creates an array with one dimension.
impl<S: Storage> From<&VectorBase<S>> for NumpyArray<S::Elem> {
    fn from(v: &VectorBase<S>) -> Self {
        Self { shape: vec![v.dim()], data: v.data().to_vec() }
    }
}

/// Creates an array with two dimensions.
impl<S: Storage> From<&MatrixBase<S>> for NumpyArray<S::Elem> {
    fn from(m: &MatrixBase<S>) -> Self {
        Self { shape: vec![m.num_rows(), m.num_cols()], data: m.to_owned().into_vec() }
    }
}

/// Returns the product of the sides, if it fits in a machine word.
fn num_elements(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(1_usize, |product, &side| product.checked_mul(side))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(header: &str, elements: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(elements);
        file
    }

    fn read(bytes: &[u8]) -> Result<NumpyArray<f32>, NpyError> {
        NumpyArray::read(&mut &*bytes)
    }

    #[test]
    fn files_are_those_of_numpy() {
        let mut bytes = Vec::new();
        NumpyArray::from(&Vector::from(vec![1.0_f32, 2.0])).write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 128 + 8);
        let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   ";
        assert_eq!((&bytes[..10], &bytes[10..10 + header.len()]), (&b"\x93NUMPY\x01\0\x76\0"[..], &header[..]));
        assert_eq!(bytes[127], b'\n');
        assert_eq!(bytes[128..], [0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]);
    }

    #[test]
    fn every_order_is_read() {
        let elements = |numbers: &[f32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        let fortran = "{'fortran_order': True, \"descr\": \"<f4\", 'shape': (2, 3)}\n";
        let array = read(&file(fortran, &elements(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]))).unwrap();
        assert_eq!(array.into_matrix().unwrap().data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let big: Vec<u8> = [0.5_f64, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        let header = "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }  \n";
        assert_eq!(read(&file(header, &big)).unwrap().as_vector().unwrap().data(), [0.5, -2.0]);
        let scalar = read(&file("{'descr':'<f4','fortran_order':False,'shape':()}", &elements(&[7.0]))).unwrap();
        assert_eq!((scalar.shape(), scalar.data()), (&[][..], &[7.0][..]));
        assert!(scalar.as_vector().is_err() && scalar.as_matrix().is_err());
        let cube = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2, 2)}";
        let cube = read(&file(cube, &elements(&[0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0]))).unwrap();
        assert_eq!(cube.data(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert!(cube.into_vector().is_err());
    }

    #[test]
    fn damaged_files_are_refused() {
        let header = |descr, shape| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        for (descr, shape) in [
            ("<i4", "(2,)"),
            ("<f2", "(2,)"),
            ("|f4", "(2,)"),
            ("", "(2,)"),
            ("<f4", "(2,"),
            ("<f4", "(-2,)"),
            ("<f4", "(18446744073709551615, 2)"),
            ("<f4", "(18446744073709551616,)"),
            ("<f4", "(1000000000000,)"),
            ("<f4", "(,)x"),
        ] {
            assert!(read(&file(&header(descr, shape), b"12345678")).is_err(), "{descr} {shape}");
        }
        assert!(read(&file(&header("<f4", "(2,)"), b"12345678")).is_ok());
        assert!(read(b"\x93NUMPY\x04\0\0\0").is_err());
        assert!(read(b"\x93NUMPY\x02\0\xff\xff\xff\xff").is_err());
        assert!(read(b"NUMPY and so on").is_err());
        assert!(NumpyArray::new(&[2, 3], vec![0.0_f32; 5]).is_err());
        assert!(NumpyArray::new(&[usize::MAX, 3], vec![0.0_f32; 5]).is_err());
        assert_eq!(NumpyArray::new(&[2, 0], Vec::<f32>::new()).unwrap().into_matrix().unwrap().num_rows(), 2);
    }

    proptest! {
        #[test]
        fn values_roundtrip(shape in prop::collection::vec(0_usize..4, 0..4), start in any::<f64>()) {
            let len = num_elements(&shape).unwrap();
            let array = NumpyArray::new(&shape, (0..len).map(|i| start + i as f64).collect()).unwrap();
            let mut bytes = Vec::new();
            array.write(&mut bytes).unwrap();
            let back = NumpyArray::<f64>::read(&mut &bytes[..]).unwrap();
            prop_assert_eq!(back.shape(), array.shape());
            prop_assert!(back.data().iter().zip(array.data()).all(|(a, b)| a.to_bits() == b.to_bits()));
            for cut in 0..bytes.len() {
                prop_assert!(NumpyArray::<f64>::read(&mut &bytes[..cut]).is_err());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(header in "[{}'\":a-z_<>fFT48(), ]{0,80}", elements in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read(&file(&header, &elements));
        }
    }
}
