//! Batches of sequences of rows: without padding or with it.

use std::ops::Range;

use kaldera_base::{Buffer, Real};
use lod::LodTensor;

use crate::error::Error;

/// A network's output for a batch of sequences: a [`LodTensor`] without padding, or a [`Padded`]
/// one. A gradient has the same type and layout.
///
/// Sealed: the losses support only these two types.
pub trait Batch<T: Real>: sealed::Sealed + Clone + Send + Sync {
    /// Returns all values in C order.
    fn values(&self) -> &[T];

    /// Returns the length of each axis.
    fn shape(&self) -> &[usize];

    /// Returns the rows of each sequence; a row is a slice along the last axis.
    ///
    /// # Errors
    /// [`Error::Axes`] for a tensor without an axis of classes after the axis of frames;
    /// [`Error::Lod`] for one without sequences.
    fn rows(&self) -> Result<Vec<Range<usize>>, Error>;

    /// Creates a batch of the same layout with other values.
    ///
    /// # Errors
    /// None if the number of values is the same.
    fn with_values(&self, values: Vec<T>) -> Result<Self, Error>;

    /// Creates a batch of the same frames, with `rows` rows of `width` values for each frame.
    ///
    /// # Errors
    /// None if the number of values fits this shape.
    fn with_rows(&self, rows: usize, width: usize, values: Vec<T>) -> Result<Self, Error>;

    /// Returns the number of rows of a frame, if there are axes between frames and classes.
    fn rows_per_frame(&self) -> Option<usize>;
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for lod::LodTensor<T> {}
    impl<T> Sealed for super::Padded<T> {}
}

impl<T: Real> Batch<T> for LodTensor<T> {
    fn values(&self) -> &[T] {
        LodTensor::values(self)
    }

    fn shape(&self) -> &[usize] {
        self.tensor().shape()
    }

    fn rows(&self) -> Result<Vec<Range<usize>>, Error> {
        check_axes(self.shape(), 2)?;
        let level = self.lod().last().ok_or(lod::Error::NoLevel { level: 0, levels: 0 })?;
        let each = self.rows_per_frame().unwrap_or(1);
        Ok(level.rows().map(|rows| rows.start * each..rows.end * each).collect())
    }

    fn with_values(&self, values: Vec<T>) -> Result<Self, Error> {
        Ok(self.like(self.num_rows(), values, self.lod().clone())?)
    }

    fn with_rows(&self, rows: usize, width: usize, values: Vec<T>) -> Result<Self, Error> {
        Ok(Self::from_vec([self.num_rows(), rows, width], values, self.lod().clone())?)
    }

    fn rows_per_frame(&self) -> Option<usize> {
        inner_rows(self.shape(), 1)
    }
}

/// A padded batch, `[N, T, ..]` in C order, and the number of frames of each sequence, as in
/// PyTorch. Rows after the end of a sequence are not read, and have a gradient of 0.
///
/// ```
/// use kaldera_losses::Padded;
///
/// // Two sequences of three and of two frames, with two classes.
/// let logits = Padded::new(vec![0.0_f32; 12], [2, 3, 2], vec![3, 2])?;
/// assert_eq!(logits.shape(), [2, 3, 2]);
/// # Ok::<(), kaldera_losses::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Padded<T> {
    values: Buffer<T>,
    shape: Vec<usize>,
    lengths: Vec<usize>,
}

impl<T: Real> Padded<T> {
    /// Creates a batch from values of the shape `[N, T, ..]` and the length of each sequence.
    ///
    /// # Errors
    /// [`Error::Axes`] for less than two axes; [`Error::Count`] if the number of values or of
    /// lengths does not fit the shape; [`Error::TooLarge`]; [`Error::Length`] for a length above T.
    pub fn new(values: impl Into<Buffer<T>>, shape: impl AsRef<[usize]>, lengths: Vec<usize>) -> Result<Self, Error> {
        let (values, shape) = (values.into(), shape.as_ref().to_vec());
        let [num_sequences, frames, ..] = shape[..] else {
            return Err(Error::Axes { what: "a padded batch", expected: 2, found: shape.len() });
        };
        // As in NumPy, axes of length 0 do not reduce the limit for the others.
        let addressable = shape.iter().try_fold(1_usize, |size, &length| size.checked_mul(length.max(1)));
        if addressable.is_none() {
            return Err(Error::TooLarge { shape });
        }
        Error::check("the values of a padded batch", shape.iter().product(), values.len())?;
        Error::check("the lengths", num_sequences, lengths.len())?;
        match lengths.iter().position(|&length| length > frames) {
            Some(sequence) => Err(Error::Length { sequence, length: lengths[sequence], frames }),
            None => Ok(Self { values, shape, lengths }),
        }
    }

    /// Returns all values, padding included.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of frames of each sequence.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Converts the values into a buffer that can be shared.
    pub fn into_buffer(self) -> Buffer<T> {
        self.values
    }
}

impl<T: Real> Batch<T> for Padded<T> {
    fn values(&self) -> &[T] {
        &self.values
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn rows(&self) -> Result<Vec<Range<usize>>, Error> {
        check_axes(&self.shape, 3)?;
        let in_frame = self.rows_per_frame().unwrap_or(1);
        let rows = |(i, &length): (usize, &usize)| {
            let first = i * self.shape[1] * in_frame;
            first..first + length * in_frame
        };
        Ok(self.lengths.iter().enumerate().map(rows).collect())
    }

    fn with_values(&self, values: Vec<T>) -> Result<Self, Error> {
        Self::new(values, &self.shape, self.lengths.clone())
    }

    fn with_rows(&self, rows: usize, width: usize, values: Vec<T>) -> Result<Self, Error> {
        Self::new(values, [self.shape[0], self.shape[1], rows, width], self.lengths.clone())
    }

    fn rows_per_frame(&self) -> Option<usize> {
        inner_rows(&self.shape, 2)
    }
}

/// Rejects a batch whose last axis is the axis of frames.
fn check_axes(shape: &[usize], expected: usize) -> Result<(), Error> {
    if shape.len() >= expected {
        return Ok(());
    }
    Err(Error::Axes { what: "a batch of logits", expected, found: shape.len() })
}

/// Returns the product of the axes after the first `outer` ones, without the last.
fn inner_rows(shape: &[usize], outer: usize) -> Option<usize> {
    let inner = shape.get(outer..shape.len().saturating_sub(1)).filter(|inner| !inner.is_empty())?;
    Some(inner.iter().product())
}

/// Returns the number of classes of a row.
pub(crate) fn num_classes<T: Real>(batch: &impl Batch<T>) -> usize {
    batch.shape().last().copied().unwrap_or(0)
}
