//! `.npy`, NumPy's file of one array.
//!
//! Versions 1 to 3 of the format are read, in C and Fortran order, with numbers of either byte
//! order. Nothing in a file is trusted: memory is allocated only as bytes arrive, and an invalid
//! header is an error with its position. Files are written as NumPy 2 writes them, byte by byte,
//! in little endian.
//!
//! ```
//! use tensor_strided::Tensor;
//!
//! let x = Tensor::from_vec([2, 3], vec![0.5_f32, 1.0, 1.5, 2.0, 2.5, 3.0])?;
//! let mut file = Vec::new();
//! x.transpose().write_npy(&mut file)?;
//! let back = Tensor::<f32>::read_npy(&file[..])?;
//! assert_eq!(back.view(), x.transpose());
//! // It was written as it lies, which is in Fortran order.
//! assert_eq!(back.strides(), [1, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod element;
mod header;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

pub use element::NpyElement;
use header::Kind;
pub use header::{Header, HeaderProblem, NpyType};

use kaldera_base::math::of_half;

use crate::error::Error;
use crate::layout::{Layout, Order};
use crate::tensor::Tensor;
use crate::view::TensorView;

/// Number of bytes read at once, and the most memory allocated before any data was read.
const CHUNK: usize = 1 << 16;

/// Why a `.npy` file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file does not start with the first bytes of the format.
    #[error("this is no .npy file: it does not start with \\x93NUMPY")]
    NotNpy,
    /// A version of the format that is not known here.
    #[error("version {major}.{minor} of the .npy format is unknown; 1.0, 2.0 and 3.0 can be read")]
    Version {
        /// The first number of the version.
        major: u8,
        /// The second number of the version.
        minor: u8,
    },
    /// A header that is longer than any sensible one.
    #[error("the header claims {len} bytes; no array needs more than {limit}")]
    HeaderTooLong {
        /// Its length in bytes.
        len: u64,
        /// The longest one that is read.
        limit: u64,
    },
    /// An invalid header.
    #[error("the header is wrong at byte {position}: {problem}")]
    Header {
        /// Position of the error, counted from the start of the header.
        position: usize,
        /// The kind of error.
        problem: HeaderProblem,
    },
    /// Elements of another type than the one asked for.
    #[error("the elements are {found}, not {expected}")]
    Type {
        /// The type that was asked for.
        expected: NpyType,
        /// The type in the file.
        found: NpyType,
    },
    /// Fewer elements than the header claims.
    #[error("the file ends after {found} of {expected} bytes of elements")]
    Truncated {
        /// Number of bytes that the elements should have.
        expected: u64,
        /// Number of bytes found.
        found: u64,
    },
    /// A shape that no memory can hold.
    #[error(transparent)]
    Shape(#[from] Error),
}

impl<T: NpyElement> Tensor<T> {
    /// Reads an array of this type of elements, up to its last byte. A Fortran-ordered one keeps
    /// its order.
    ///
    /// # Errors
    /// Any of [`NpyError`].
    pub fn read_npy(mut input: impl Read) -> Result<Self, NpyError> {
        Self::read_npy_elements(&Header::read(&mut input)?, input)
    }

    /// Reads the elements that follow a header. See [`read_npy`](Self::read_npy).
    ///
    /// # Errors
    /// Any of [`NpyError`].
    pub fn read_npy_elements(header: &Header, input: impl Read) -> Result<Self, NpyError> {
        let expected = NpyType::for_type::<T>();
        if header.element() != expected {
            return Err(NpyError::Type { expected, found: header.element() });
        }
        let layout = Layout::ordered(header.shape(), header.order())?;
        let elements = read_elements(input, layout.len(), header.is_big_endian())?;
        Ok(Self::from_parts(elements, layout)?)
    }

    /// Reads a file. See [`read_npy`](Self::read_npy).
    ///
    /// # Errors
    /// Any of [`NpyError`].
    #[doc(alias = "np.load")]
    pub fn load_npy(path: impl AsRef<Path>) -> Result<Self, NpyError> {
        Self::read_npy(File::open(path)?)
    }

    /// Writes the array. See [`TensorView::write_npy`].
    ///
    /// # Errors
    /// [`NpyError::Io`].
    pub fn write_npy(&self, output: impl Write) -> Result<(), NpyError> {
        self.view().write_npy(output)
    }

    /// Writes a file. See [`TensorView::write_npy`].
    ///
    /// # Errors
    /// [`NpyError::Io`].
    #[doc(alias = "np.save")]
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<(), NpyError> {
        let mut file = BufWriter::new(File::create(path)?);
        self.write_npy(&mut file)?;
        Ok(file.flush()?)
    }
}

impl Tensor<f32> {
    /// Reads an array of real numbers of any type, up to its last byte: integers, booleans as 0
    /// and 1, and floating point of 16, 32 and 64 bits. Values that `f32` cannot represent are
    /// rounded. A Fortran-ordered array keeps its order.
    ///
    /// ```
    /// use tensor_strided::Tensor;
    ///
    /// let mut file = Vec::new();
    /// Tensor::from_vec([3], vec![1_i64, -2, 3])?.write_npy(&mut file)?;
    /// assert_eq!(
    ///     Tensor::read_npy_as_f32(&file[..])?,
    ///     Tensor::from_vec([3], vec![1.0, -2.0, 3.0])?
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any of [`NpyError`].
    pub fn read_npy_as_f32(mut input: impl Read) -> Result<Self, NpyError> {
        let header = Header::read(&mut input)?;
        let layout = Layout::ordered(header.shape(), header.order())?;
        let all = Elements { input, len: layout.len(), big_endian: header.is_big_endian() };
        let found = header.element();
        let elements = match (found.kind(), found.size()) {
            (Kind::Float, 2) => all.read(of_half),
            (Kind::Float, 4) => all.read(|x: f32| x),
            (Kind::Float, 8) => all.read(|x: f64| x as f32),
            (Kind::Integer, 1) => all.read(|x: i8| x.into()),
            (Kind::Integer, 2) => all.read(|x: i16| x.into()),
            (Kind::Integer, 4) => all.read(|x: i32| x as f32),
            (Kind::Integer, 8) => all.read(|x: i64| x as f32),
            (Kind::Unsigned, 1) => all.read(|x: u8| x.into()),
            (Kind::Unsigned, 2) => all.read(|x: u16| x.into()),
            (Kind::Unsigned, 4) => all.read(|x: u32| x as f32),
            (Kind::Unsigned, 8) => all.read(|x: u64| x as f32),
            (Kind::Bool, _) => all.read(|x: bool| x.into()),
            _ => Err(NpyError::Type { expected: NpyType::for_type::<f32>(), found }),
        };
        Ok(Self::from_parts(elements?, layout)?)
    }
}

/// The elements of a file, of any type.
struct Elements<R> {
    input: R,
    len: usize,
    big_endian: bool,
}

impl<R: Read> Elements<R> {
    fn read<T: NpyElement>(self, of: impl Fn(T) -> f32) -> Result<Vec<f32>, NpyError> {
        let elements = read_elements::<T>(self.input, self.len, self.big_endian)?;
        Ok(elements.into_iter().map(of).collect())
    }
}

impl<T: NpyElement> TensorView<'_, T> {
    /// Writes the array: in Fortran order if its elements are contiguous in that order, else in C
    /// order.
    ///
    /// # Errors
    /// [`NpyError::Io`].
    pub fn write_npy(&self, mut output: impl Write) -> Result<(), NpyError> {
        let order = self.layout().natural_order();
        output.write_all(&Header::new(T::TYPE, self.shape(), order).to_bytes())?;
        let in_order = match order {
            Order::C => self.clone(),
            Order::F => self.transpose(),
        };
        let mut bytes = Vec::with_capacity(CHUNK);
        let mut write = |elements: &mut dyn Iterator<Item = &T>| -> io::Result<()> {
            for x in elements {
                x.encode(&mut bytes);
                if bytes.len() >= CHUNK {
                    output.write_all(&bytes)?;
                    bytes.clear();
                }
            }
            Ok(())
        };
        match in_order.as_slice() {
            Some(elements) => write(&mut elements.iter())?,
            None => write(&mut in_order.iter())?,
        }
        Ok(output.write_all(&bytes)?)
    }
}

/// Reads `len` elements in chunks. It allocates at most about twice the memory that the data
/// really needs.
fn read_elements<T: NpyElement>(mut input: impl Read, len: usize, big_endian: bool) -> Result<Vec<T>, NpyError> {
    let per_chunk = CHUNK / size_of::<T>();
    let mut elements: Vec<T> = Vec::with_capacity(len.min(per_chunk));
    let mut bytes = vec![0; per_chunk.min(len) * size_of::<T>()];
    while elements.len() < len {
        let wanted = (len - elements.len()).min(per_chunk) * size_of::<T>();
        let got = read_up_to(&mut input, &mut bytes[..wanted])?;
        T::decode(&bytes[..got], big_endian, &mut elements);
        if got < wanted {
            let size = size_of::<T>() as u64;
            let found = elements.len() as u64 * size + (got % size_of::<T>()) as u64;
            return Err(NpyError::Truncated { expected: (len as u64).saturating_mul(size), found });
        }
    }
    Ok(elements)
}

/// Fills `bytes` as far as there is input; returns how far.
fn read_up_to(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests;
