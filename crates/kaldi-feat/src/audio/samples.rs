//! The samples of one channel, of either type.

use std::borrow::Cow;
use std::ops::Range;

use kaldera_base::simd::Simd;

/// The samples of one channel, on the scale of 16-bit integers (-32768 to 32767), which is Kaldi's.
///
/// Slices, vectors and arrays of `i16` and `f32` become it by reference. Channels that lie
/// interleaved are taken apart by [`Interleaved`](crate::Interleaved).
#[derive(Debug, Clone, Copy)]
pub enum Samples<'a> {
    /// As they stand in a WAV file.
    I16(&'a [i16]),
    /// The same scale, with fractions.
    F32(&'a [f32]),
}

impl<'a> Samples<'a> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::I16(samples) => samples.len(),
            Self::F32(samples) => samples.len(),
        }
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All as `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut all = Vec::with_capacity(self.len());
        self.append_to(&mut all);
        all
    }

    /// Appends all as `f32`.
    pub(crate) fn append_to(&self, to: &mut Vec<f32>) {
        match self {
            Self::I16(samples) => to.extend(samples.iter().map(|&x| f32::from(x))),
            Self::F32(samples) => to.extend_from_slice(samples),
        }
    }

    /// Parts of `size` samples, the last one of fewer.
    pub(crate) fn chunks(self, size: usize) -> impl Iterator<Item = Samples<'a>> {
        (0..self.len()).step_by(size).map(move |begin| self.range(begin..begin.saturating_add(size).min(self.len())))
    }

    /// The samples of these numbers.
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

    /// Writes the samples from `first` on to all of `to`.
    #[inline(always)]
    pub(crate) fn copy<S: Simd>(&self, s: S, first: usize, to: &mut [f32]) {
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
            }
            Self::F32(samples) => {
                let mut from = samples[first..end].chunks_exact(S::LANES);
                for (to, from) in (&mut vectors).zip(&mut from) {
                    s.store(s.load(from), to);
                }
                vectors.into_remainder().copy_from_slice(from.remainder());
            }
        }
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

/// Of a vector and of an array, which `&samples` of these is.
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
