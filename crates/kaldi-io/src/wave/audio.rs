//! Audio files of all usual widths, not only of the ones that Kaldi reads.

use std::io::Read;

use crate::wave::error::WaveError;
use crate::wave::{Truncated, aiff, au, caf, read_up_to, riff, sphere, tolerant, wave64, whole};

/// A recording from a file of any supported format and width.
///
/// [`WaveData`](super::WaveData) reads WAV files as Kaldi does. This reader accepts more formats,
/// and detects them by their contents:
///
/// - WAV (RIFF, RIFX, RF64, BW64), Sony Wave64: PCM of 8 to 64 bits, floating point of 32 and 64,
///   A-law, mu-law, IMA and Microsoft ADPCM.
/// - AIFF, AIFF-C: PCM of 8 to 32 bits in both byte orders, floating point of 32 and 64, A-law,
///   mu-law, IMA ADPCM (`ima4`).
/// - Core Audio Format (CAF): the same, and PCM of 64 bits.
/// - Sun/NeXT AU: PCM of 8 to 32 bits, floating point of 32 and 64, A-law, mu-law.
/// - NIST SPHERE: PCM of 8 to 32 bits in both byte orders, A-law, mu-law.
///
/// For WAV it also accepts:
///
/// - extensible headers;
/// - sizes that ffmpeg, sox, arecord and others leave in the header of a stream: the samples then
///   end with the stream;
/// - chunks of odd length, with or without their pad byte;
/// - headers whose bytes per second or per frame are wrong, with a warning.
///
/// ```
/// use kaldi_io::wave::{WaveAudio, WaveSamples};
///
/// // One second of mu-law at 8 kHz, as telephones have it.
/// let mut file = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x07\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\xff\xff\xff\xff".to_vec();
/// file.extend([0x80; 8000]);
/// let audio = WaveAudio::read(&file[..])?;
/// assert_eq!((audio.samp_freq, audio.num_channels, audio.num_samples()), (8000.0, 1, 8000));
/// let WaveSamples::I16(samples) = audio.samples else { panic!("all of them are whole numbers") };
/// assert_eq!(samples[0], 32_124);
/// # Ok::<(), kaldi_io::wave::WaveError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WaveAudio {
    /// Samples per second.
    pub samp_freq: f32,
    /// Number of channels.
    pub num_channels: usize,
    /// Frame by frame, the channels of a frame side by side.
    pub samples: WaveSamples,
}

/// Samples on the scale of 16-bit integers, -32768 to 32767, for every width in the file.
#[derive(Debug, Clone, PartialEq)]
pub enum WaveSamples {
    /// From at most 16 bits, A-law, mu-law and ADPCM.
    I16(Vec<i16>),
    /// From 24 bits, exactly; from 32 and 64 bits and floating point, rounded to single precision.
    /// Values beyond full scale are not clipped.
    F32(Vec<f32>),
}

impl WaveSamples {
    /// Returns the number of samples of all channels.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I16(samples) => samples.len(),
            Self::F32(samples) => samples.len(),
        }
    }

    /// Returns `true` if there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl WaveAudio {
    /// Reads a file of one of these formats. A truncated file gives the samples before its end and
    /// a warning.
    ///
    /// The header is read in small pieces and the samples in large ones, so a small buffer is
    /// enough.
    ///
    /// # Errors
    /// [`WaveError`], with the problem in the header: [`WaveError::NotPcm`],
    /// [`WaveError::BitsPerSample`] and [`WaveError::UnreadEncoding`] for other encodings;
    /// [`WaveError::Layout`] for numbers of channels and rates that no recording has;
    /// [`WaveError::Empty`] if there is not a single sample in each channel;
    /// [`WaveError::TooLong`]; [`WaveError::NotRiff`] for a file of none of these formats.
    pub fn read(mut reader: impl Read) -> Result<Self, WaveError> {
        Ok(tolerant(Self::read_available(&mut reader)?))
    }

    /// Reads like [`read`](Self::read), but a truncated file is an error.
    ///
    /// # Errors
    /// Also [`WaveError::Truncated`], for a file that ends early.
    pub fn read_whole(mut reader: impl Read) -> Result<Self, WaveError> {
        whole(Self::read_available(&mut reader)?)
    }

    /// Returns the number of samples per channel.
    #[must_use]
    pub fn num_samples(&self) -> usize {
        self.samples.len().checked_div(self.num_channels).unwrap_or(0)
    }

    /// Returns the length in seconds.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.num_samples() as f32 / self.samp_freq
    }

    fn read_available(reader: &mut dyn Read) -> Result<(Self, Option<Truncated>), WaveError> {
        let mut head = [0; 4];
        let read = read_up_to(reader, &mut head)?;
        let mut reader = head[..read].chain(reader);
        let layout = match &head {
            b"FORM" => aiff::read(&mut reader),
            b".snd" | b"dns." | b"\0ds." => au::read(&mut reader),
            b"caff" => caf::read(&mut reader),
            b"riff" => wave64::read(&mut reader),
            b"NIST" => sphere::read(&mut reader),
            _ => riff::read(&mut reader),
        }?;
        layout.read(&mut reader)
    }
}

impl WaveSamples {
    /// Returns the first `len` samples.
    pub(super) fn truncated(mut self, len: usize) -> Self {
        match &mut self {
            Self::I16(samples) => samples.truncate(len),
            Self::F32(samples) => samples.truncate(len),
        }
        self
    }
}
