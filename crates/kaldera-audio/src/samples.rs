//! Samples as a file has them.

/// Samples on the scale of 16-bit integers, -32768 to 32767, whatever the width in the file is.
#[derive(Debug, Clone, PartialEq)]
pub enum WaveSamples {
    /// Of 8 and 16 bits, A-law, mu-law and ADPCM.
    I16(Vec<i16>),
    /// Of 24 bits, exactly; of 32 and 64 bits and floating point, rounded to single precision.
    /// Values beyond full scale are not clipped.
    F32(Vec<f32>),
}

impl WaveSamples {
    /// Number of samples, of all channels.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I16(samples) => samples.len(),
            Self::F32(samples) => samples.len(),
        }
    }

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `len` samples.
    pub(crate) fn truncated(mut self, len: usize) -> Self {
        match &mut self {
            Self::I16(samples) => samples.truncate(len),
            Self::F32(samples) => samples.truncate(len),
        }
        self
    }
}
