//! The header of a WAV file by Kaldi's rules.

use std::io::Read;

use tracing::{debug, warn};

use crate::rxfilename::Skip;
use crate::wave::error::WaveError;
use crate::wave::header::{Format, Header, PCM};

/// Properties of a recording by its WAV header.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WaveInfo {
    /// Samples per second.
    pub samp_freq: f32,
    /// Number of channels, at least 1.
    pub num_channels: usize,
    /// Samples per channel; `None` if the header was written while streaming, so that only the end
    /// of the file tells.
    pub num_samples: Option<u32>,
    pub(super) big_endian: bool,
}

impl WaveInfo {
    /// Reads the header, up to the first byte of the samples, in many small reads: give it a
    /// buffered reader.
    ///
    /// # Errors
    /// Everything but [`WaveError::Empty`] and the write errors.
    pub fn read(mut reader: impl Read) -> Result<WaveInfo, WaveError> {
        Self::read_from(&mut reader)
    }

    fn read_from(reader: &mut dyn Read) -> Result<WaveInfo, WaveError> {
        let header = Header::read(reader, &[*b"RIFF", *b"RIFX"], check_as_kaldi)?;
        let Header { format, big_endian, riff_size, before_data, data_size, .. } = header;
        let streamed = matches!(riff_size, 0 | u32::MAX) || matches!(data_size, 0 | u32::MAX | 0x7FFF_F000);
        if streamed {
            debug!(
                "RIFF chunk size {riff_size}, data chunk size {data_size}: 'stream mode', reading data to the end of the file"
            );
        } else if (before_data + u64::from(data_size)).abs_diff(u64::from(riff_size)) > 1 {
            // One byte of difference is the padding of an odd chunk.
            warn!(
                "by its header the RIFF chunk has {riff_size} bytes, by its parts up to the samples' end {}; what follows is not read",
                before_data + u64::from(data_size)
            );
        }
        Ok(WaveInfo {
            samp_freq: format.sample_rate as f32,
            num_channels: usize::from(format.channels),
            num_samples: (!streamed).then(|| data_size / (2 * u32::from(format.channels))),
            big_endian,
        })
    }

    /// Length in seconds, or `None` if the header was written while streaming.
    pub fn duration(&self) -> Option<f32> {
        self.num_samples.map(|samples| samples as f32 / self.samp_freq)
    }

    /// Bytes of sample data that the header promises.
    pub(super) fn data_bytes(&self) -> Option<u64> {
        self.num_samples.map(|samples| u64::from(samples) * 2 * self.num_channels as u64)
    }

    /// Goes behind the samples, where an archive goes on.
    pub(crate) fn skip_data(&self, reader: &mut dyn Skip) -> Result<(), WaveError> {
        reader.skip(self.data_bytes().unwrap_or(u64::MAX)).map_err(WaveError::Read)?;
        Ok(())
    }
}

/// Accepts 16-bit PCM whose fields agree, as Kaldi does.
fn check_as_kaldi(format: &Format) -> Result<(), WaveError> {
    let Format { tag, is_extensible, is_ambisonic, channels, sample_rate, byte_rate, block_align, bits, .. } = *format;
    if tag != PCM || is_ambisonic {
        return Err(if is_extensible { WaveError::ExtensibleNotPcm } else { WaveError::NotPcm { format: tag } });
    }
    if channels == 0 {
        return Err(WaveError::NoChannels);
    }
    if bits != 16 {
        return Err(WaveError::BitsPerSample { bits });
    }
    if u64::from(byte_rate) != u64::from(sample_rate) * 2 * u64::from(channels) {
        return Err(WaveError::ByteRate { found: byte_rate, sample_rate, channels });
    }
    if u32::from(block_align) != 2 * u32::from(channels) {
        return Err(WaveError::BlockAlign { found: block_align, channels });
    }
    Ok(())
}
