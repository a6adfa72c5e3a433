//! Arrays in NumPy's files, `.npy`.

use std::io::{self, BufRead, Write};

use kaldera_base::Real;

use crate::codec::{ByteReader, CodecError};
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

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Largest size of a header; real arrays have far smaller ones.
const MOST_HEADER: usize = 1 << 16;

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

    /// Reads a file of version 1, 2 or 3 with `f32` or `f64`, in either byte order and either order
    /// of elements.
    ///
    /// # Errors
    /// [`CodecError`] for any other bytes, and if the file ends too early. Memory grows with the
    /// elements that were read.
    #[doc(alias = "Read")]
    pub fn read(r: &mut dyn BufRead) -> Result<Self, CodecError> {
        let mut r = ByteReader::new(r);
        let mut start = [0; 8];
        r.read_exact(&mut start, "a NumPy header")?;
        let unexpected = |offset, expected: &'static str, found: String| {
            Err(CodecError::Unexpected { offset, expected: expected.into(), found })
        };
        if start[..6] != *MAGIC {
            return unexpected(0, "`\\x93NUMPY`", format!("`{}`", start[..6].escape_ascii()));
        }
        let len = match start[6] {
            1 => {
                let mut len = [0; 2];
                r.read_exact(&mut len, "a NumPy header's length")?;
                usize::from(u16::from_le_bytes(len))
            }
            2 | 3 => {
                let mut len = [0; 4];
                r.read_exact(&mut len, "a NumPy header's length")?;
                usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX)
            }
            version => return unexpected(6, "version 1, 2 or 3", version.to_string()),
        };
        let at = r.offset();
        if len > MOST_HEADER {
            return unexpected(at, "a header of at most 65536 bytes", len.to_string());
        }
        let mut header = vec![0; len];
        r.read_exact(&mut header, "a NumPy header")?;
        let Some(header) = Header::parse(&header) else {
            let expected = "a dictionary of descr, fortran_order and shape, with elements of f4 or f8";
            return unexpected(at, expected, format!("`{}`", header.escape_ascii()));
        };
        let Some(len) = num_elements(&header.shape).filter(|len| len.checked_mul(header.size).is_some()) else {
            return unexpected(at, "a shape that can be", format!("{:?}", header.shape));
        };
        let data = header.read_elements(&mut r, len)?;
        let data = if header.fortran_order { row_major(&header.shape, &data) } else { data };
        Ok(Self { shape: header.shape, data })
    }

    /// Writes a file of version 1, little-endian, row-major.
    ///
    /// # Errors
    /// The errors of `w`, and `InvalidInput` for more dimensions than a header of that version can
    /// hold.
    #[doc(alias = "Write")]
    pub fn write(&self, w: &mut dyn Write) -> io::Result<()> {
        let mut shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        if shape.len() == 1 {
            shape.push(String::new());
        }
        let (size, shape) = (size_of::<T>(), shape.join(", "));
        let mut header = format!("{{'descr': '<f{size}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
        // The elements start at a multiple of 64 bytes, with a line end before them.
        let begun = MAGIC.len() + 4 + header.len() + 1;
        header.extend(std::iter::repeat_n(' ', begun.next_multiple_of(64) - begun));
        header.push('\n');
        let len = u16::try_from(header.len()).map_err(|_| {
            let message = format!("a .npy file of version 1 does not hold {} dimensions", self.shape.len());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        w.write_all(MAGIC)?;
        w.write_all(&[1, 0])?;
        w.write_all(&len.to_le_bytes())?;
        w.write_all(header.as_bytes())?;
        self.data.chunks(8192).try_for_each(|chunk| {
            let bytes: Vec<u8> = match T::as_f32(chunk) {
                Some(singles) => singles.iter().flat_map(|x| x.to_le_bytes()).collect(),
                None => chunk.iter().flat_map(|x| x.to_f64().to_le_bytes()).collect(),
            };
            w.write_all(&bytes)
        })
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

/// Converts elements from the order in which the first index is the fastest to the order in which
/// the last one is.
fn row_major<T: Real>(shape: &[usize], data: &[T]) -> Vec<T> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for side in shape {
        strides.push(stride);
        stride *= side;
    }
    let (mut index, mut from) = (vec![0; shape.len()], 0);
    let mut ordered = Vec::with_capacity(data.len());
    for _ in 0..data.len() {
        ordered.push(data[from]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            from -= index[axis] * strides[axis];
            index[axis] = 0;
        }
    }
    ordered
}

/// The dictionary of a file.
struct Header {
    size: usize,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?.trim().strip_prefix('{')?.strip_suffix('}')?;
        let value = |name: &str| {
            let quoted = [format!("'{name}'"), format!("\"{name}\"")];
            let (at, quoted) = quoted.iter().find_map(|quoted| Some((text.find(quoted.as_str())?, quoted)))?;
            text[at + quoted.len()..].trim_start().strip_prefix(':').map(str::trim_start)
        };
        let descr = value("descr")?;
        let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (order, kind) = descr[1..].split_once(quote)?.0.split_at_checked(1)?;
        let size = match kind {
            "f4" => 4,
            "f8" => 8,
            _ => return None,
        };
        let big_endian = match order {
            "<" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        let order = value("fortran_order")?;
        let fortran_order = order.starts_with("True");
        if !fortran_order && !order.starts_with("False") {
            return None;
        }
        let sides = value("shape")?.strip_prefix('(')?.split_once(')')?.0.trim();
        let shape = match sides.strip_suffix(',').unwrap_or(sides) {
            "" if sides.is_empty() => Vec::new(),
            sides => sides.split(',').map(|side| side.trim().parse().ok()).collect::<Option<_>>()?,
        };
        Some(Self { size, big_endian, fortran_order, shape })
    }

    fn read_elements<T: Real>(&self, r: &mut ByteReader<'_>, len: usize) -> Result<Vec<T>, CodecError> {
        let mut data = Vec::new();
        let mut bytes = vec![0; self.size * len.min(8192)];
        while data.len() < len {
            let bytes = &mut bytes[..self.size * (len - data.len()).min(8192)];
            r.read_exact(bytes, "more elements")?;
            if self.big_endian {
                bytes.chunks_exact_mut(self.size).for_each(<[u8]>::reverse);
            }
            if self.size == 4 {
                data.extend(bytes.as_chunks().0.iter().map(|&b| T::from_f64(f32::from_le_bytes(b).into())));
            } else {
                data.extend(bytes.as_chunks().0.iter().map(|&b| T::from_f64(f64::from_le_bytes(b))));
            }
        }
        Ok(data)
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

    fn read(bytes: &[u8]) -> Result<NumpyArray<f32>, CodecError> {
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
