//! The samples of one channel, of either type.

use std::borrow::Cow;
use std::ops::Range;

use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::error::Error;

/// The samples of one channel, on the scale of 16-bit integers (-32768 to 32767), which is Kaldi's.
///
/// Slices, vectors and arrays of `i16` and `f32` convert to it by reference.
/// [`Interleaved`](crate::Interleaved) separates interleaved channels.
#[derive(Debug, Clone, Copy)]
pub enum Samples<'a> {
    /// Integers, as in a WAV file.
    I16(&'a [i16]),
    /// The same scale, with fractions.
    F32(&'a [f32]),
}

impl<'a> Samples<'a> {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        match self {
            Self::I16(samples) => samples.len(),
            Self::F32(samples) => samples.len(),
        }
    }

    /// Returns `true` if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the index of the first sample that is NaN or infinite.
    pub fn first_not_finite(&self) -> Option<usize> {
        match self {
            Self::F32(samples) if !dispatch(AllFinite(samples)) => {
                samples.iter().position(|sample| !sample.is_finite())
            }
            _ => None,
        }
    }

    /// Refuses samples that nothing can be computed from.
    ///
    /// # Errors
    /// [`Error::BadSample`] for the first sample that is NaN or infinite.
    pub fn check_finite(&self) -> Result<(), Error> {
        match (self, self.first_not_finite()) {
            (Self::F32(samples), Some(index)) => Err(Error::BadSample { index, value: samples[index] }),
            _ => Ok(()),
        }
    }

    /// Converts all samples to `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut all = Vec::with_capacity(self.len());
        self.append_to(&mut all);
        all
    }

    /// Appends all samples as `f32`.
    pub(crate) fn append_to(&self, to: &mut Vec<f32>) {
        match self {
            Self::I16(samples) => to.extend(samples.iter().map(|&x| f32::from(x))),
            Self::F32(samples) => to.extend_from_slice(samples),
        }
    }

    /// Splits the samples into parts of `size` samples; the last part may have fewer.
    pub(crate) fn chunks(self, size: usize) -> impl Iterator<Item = Samples<'a>> {
        (0..self.len()).step_by(size).map(move |begin| self.range(begin..begin.saturating_add(size).min(self.len())))
    }

    /// Returns the samples in `range`.
    pub(crate) fn range(self, range: Range<usize>) -> Samples<'a> {
        match self {
            Self::I16(samples) => Samples::I16(&samples[range]),
            Self::F32(samples) => Samples::F32(&samples[range]),
        }
    }

    pub(crate) fn get(&self, i: usize) -> f32 {
        match self {
            Self::I16(samples) => f32::from(samples[i]),
            Self::F32(samples) => samples[i],
        }
    }

    /// Writes the first samples to all of `to`.
    pub(crate) fn copy_first(&self, to: &mut [f32]) {
        match self {
            Self::I16(samples) => to.iter_mut().zip(*samples).for_each(|(to, &x)| *to = f32::from(x)),
            Self::F32(samples) => to.copy_from_slice(&samples[..to.len()]),
        }
    }

    /// Writes the samples from `first` on to all of `to`. Returns `true` if they are all finite.
    #[inline(always)]
    pub(crate) fn copy<S: Simd>(&self, s: S, first: usize, to: &mut [f32]) -> bool {
        let end = first + to.len();
        let mut vectors = to.chunks_exact_mut(S::LANES);
        match self {
            Self::I16(samples) => {
                let mut from = samples[first..end].chunks_exact(S::LANES);
                for (to, from) in (&mut vectors).zip(&mut from) {
                    s.store(s.load_i16(from), to);
                }
                for (to, &from) in vectors.into_remainder().iter_mut().zip(from.remainder()) {
                    *to = f32::from(from);
                }
                true
            }
            Self::F32(samples) => {
                let mut from = samples[first..end].chunks_exact(S::LANES);
                let mut largest = Largest::new(s);
                for (to, from) in (&mut vectors).zip(&mut from) {
                    let values = s.load(from);
                    largest.take(values);
                    s.store(values, to);
                }
                vectors.into_remainder().copy_from_slice(from.remainder());
                largest.is_finite() && from.remainder().iter().all(|sample| sample.is_finite())
            }
        }
    }
}

/// The largest magnitudes of the lanes of vectors, as bits. The bits have the order of the numbers;
/// infinity and NaN come last.
struct Largest<S: Simd> {
    s: S,
    bits: S::U32,
}

impl<S: Simd> Largest<S> {
    #[inline(always)]
    fn new(s: S) -> Self {
        Self { s, bits: s.splat_u32(0) }
    }

    #[inline(always)]
    fn take(&mut self, values: S::F32) {
        let Self { s, bits } = self;
        *bits = s.max_i32(*bits, s.and_u32(s.bits_of(values), s.splat_u32(i32::MAX.cast_unsigned())));
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        let Self { s, bits } = *self;
        s.not_equal_u32(s.min_i32(bits, s.splat_u32(f32::MAX.to_bits())), bits) == 0
    }
}

/// A kernel that returns `true` if all samples are finite.
struct AllFinite<'a>(&'a [f32]);

impl Kernel for AllFinite<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> bool {
        let mut largest = Largest::new(s);
        let vectors = self.0.chunks_exact(S::LANES);
        let rest = vectors.remainder();
        vectors.for_each(|vector| largest.take(s.load(vector)));
        largest.is_finite() && rest.iter().all(|sample| sample.is_finite())
    }
}

impl<'a> From<&'a [i16]> for Samples<'a> {
    fn from(samples: &'a [i16]) -> Self {
        Self::I16(samples)
    }
}

impl<'a> From<&'a [f32]> for Samples<'a> {
    fn from(samples: &'a [f32]) -> Self {
        Self::F32(samples)
    }
}

/// Implements `From` for references to vectors and to arrays.
macro_rules! from_owned {
    ($t:ty, $variant:ident) => {
        impl<'a> From<&'a Vec<$t>> for Samples<'a> {
            fn from(samples: &'a Vec<$t>) -> Self {
                Self::$variant(samples)
            }
        }

        impl<'a, const N: usize> From<&'a [$t; N]> for Samples<'a> {
            fn from(samples: &'a [$t; N]) -> Self {
                Self::$variant(samples)
            }
        }

        impl<'a> From<&'a Cow<'_, [$t]>> for Samples<'a> {
            fn from(samples: &'a Cow<'_, [$t]>) -> Self {
                Self::$variant(samples)
            }
        }
    };
}

from_owned!(i16, I16);
from_owned!(f32, F32);
