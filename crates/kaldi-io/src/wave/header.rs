//! The header of a WAV file, in all its varieties.

use std::io::{self, Read};

use tracing::{debug, warn};

use super::WaveError;
use crate::rxfilename::Skip;

/// What a WAV header says.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WaveInfo {
    /// Samples per second.
    pub samp_freq: f32,
    /// Number of channels, at least 1.
    pub num_channels: usize,
    /// Samples per channel; `None` if the header was written while streaming, so that only the end of the file tells.
    pub num_samples: Option<u32>,
    pub(super) big_endian: bool,
}

impl WaveInfo {
    /// Reads the header, up to the first byte of the samples, in many small reads: give it a buffered reader.
    ///
    /// # Errors
    /// Everything but [`WaveError::Empty`] and the write errors.
    pub fn read(mut reader: impl Read) -> Result<WaveInfo, WaveError> {
        Self::read_from(&mut reader)
    }

    fn read_from(reader: &mut dyn Read) -> Result<WaveInfo, WaveError> {
        let mut reader = HeaderReader { reader, big_endian: false };
        let riff = reader.tag("RIFF")?;
        reader.big_endian = match &riff {
            b"RIFF" => false,
            b"RIFX" => true,
            _ => return Err(WaveError::NotRiff { found: printable(riff) }),
        };
        let riff_size = reader.u32("the size of the RIFF chunk")?;
        let wave = reader.tag("WAVE")?;
        if &wave != b"WAVE" {
            return Err(WaveError::NotWave { found: printable(wave) });
        }
        let mut riff_read = 4 + reader.skip_chunks_to(b"fmt ")?;
        let fmt_size = reader.u32("the size of the fmt chunk")?;
        let (num_channels, sample_rate) = reader.format(fmt_size)?;
        riff_read += 4 + u64::from(fmt_size) + reader.skip_chunks_to(b"data")? + 4;
        let data_size = reader.u32("the size of the data chunk")?;

        let streamed = matches!(riff_size, 0 | u32::MAX) || matches!(data_size, 0 | u32::MAX | 0x7FFF_F000);
        if streamed {
            debug!(
                "RIFF chunk size {riff_size}, data chunk size {data_size}: 'stream mode', reading data to the end of the file"
            );
        } else if (riff_read + u64::from(data_size)).abs_diff(u64::from(riff_size)) > 1 {
            // One byte of difference is the padding of an odd chunk.
            warn!(
                "by its header the RIFF chunk has {riff_size} bytes, by its parts up to the samples' end {}; what follows is not read",
                riff_read + u64::from(data_size)
            );
        }
        Ok(WaveInfo {
            samp_freq: sample_rate as f32,
            num_channels: usize::from(num_channels),
            num_samples: (!streamed).then(|| data_size / (2 * u32::from(num_channels))),
            big_endian: reader.big_endian,
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

/// Format tag of plain PCM.
pub(super) const PCM: u16 = 1;
/// Format tag that sends the reader to a GUID further on.
pub(super) const EXTENSIBLE: u16 = 0xFFFE;
/// That GUID for PCM, as the four integers that it is stored as.
pub(super) const PCM_GUID: [u32; 4] = [0x0000_0001, 0x0010_0000, 0xAA00_0080, 0x719B_3800];

/// Reads the integers and tags of a header.
struct HeaderReader<'a> {
    reader: &'a mut dyn Read,
    big_endian: bool,
}

impl HeaderReader<'_> {
    fn bytes<const N: usize>(&mut self, wanted: &'static str) -> Result<[u8; N], WaveError> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => WaveError::UnexpectedEnd { wanted },
            _ => WaveError::Read(error),
        })?;
        Ok(bytes)
    }

    fn tag(&mut self, wanted: &'static str) -> Result<[u8; 4], WaveError> {
        self.bytes(wanted)
    }

    fn u16(&mut self, wanted: &'static str) -> Result<u16, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&mut self, wanted: &'static str) -> Result<u32, WaveError> {
        let bytes = self.bytes(wanted)?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn skip(&mut self, bytes: u64) -> Result<(), WaveError> {
        io::copy(&mut Read::take(&mut *self.reader, bytes), &mut io::sink()).map_err(WaveError::Read)?;
        Ok(())
    }

    /// Skips chunks up to the tag `wanted` and that tag; returns how many bytes that were.
    fn skip_chunks_to(&mut self, wanted: &'static [u8; 4]) -> Result<u64, WaveError> {
        let name = if wanted == b"fmt " { "the fmt chunk" } else { "the data chunk" };
        let mut read = 4;
        while &self.tag(name)? != wanted {
            let size = u64::from(self.u32(name)?);
            self.skip(size)?;
            read += 8 + size;
        }
        Ok(read)
    }

    /// Reads and checks a `fmt ` chunk of `size` bytes; returns the number of channels and the sample rate.
    fn format(&mut self, size: u32) -> Result<(u16, u32), WaveError> {
        const FIELDS: &str = "the end of the fmt chunk";
        let format = self.u16(FIELDS)?;
        let channels = self.u16(FIELDS)?;
        let sample_rate = self.u32(FIELDS)?;
        let byte_rate = self.u32(FIELDS)?;
        let block_align = self.u16(FIELDS)?;
        let bits = self.u16(FIELDS)?;
        let read = match format {
            PCM if size < 16 => return Err(WaveError::ShortFormat { size }),
            PCM => 16,
            EXTENSIBLE => {
                self.extension(size)?;
                40
            }
            _ => return Err(WaveError::NotPcm { format }),
        };
        self.skip(u64::from(size - read))?;
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
        Ok((channels, sample_rate))
    }

    /// The rest of a WAVE_FORMAT_EXTENSIBLE chunk; only PCM passes.
    fn extension(&mut self, size: u32) -> Result<(), WaveError> {
        const FIELDS: &str = "the end of the extensible fmt chunk";
        let extra = self.u16(FIELDS)?;
        if size < 40 || extra < 22 {
            return Err(WaveError::MalformedExtensible { size, extra });
        }
        let _valid_bits = self.u16(FIELDS)?;
        let _channel_mask = self.u32(FIELDS)?;
        for expected in PCM_GUID {
            if self.u32(FIELDS)? != expected {
                return Err(WaveError::ExtensibleNotPcm);
            }
        }
        Ok(())
    }
}

fn printable(tag: [u8; 4]) -> String {
    tag.escape_ascii().to_string()
}
