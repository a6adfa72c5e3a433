//! WAV headers in all variants.

use std::io::Read;

use tracing::{debug, warn};

use crate::rxfilename::Skip;
use crate::wave::adpcm::MICROSOFT_COEFFICIENTS;
use crate::wave::error::WaveError;
use crate::wave::fields::{HeaderReader, printable};

/// Contents of a WAV header.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WaveInfo {
    /// Samples per second.
    pub samp_freq: f32,
    /// Number of channels, at least 1.
    pub num_channels: usize,
    /// Samples per channel; `None` for the header of a stream, whose length is known only at its
    /// end.
    pub num_samples: Option<u32>,
    pub(super) big_endian: bool,
}

impl WaveInfo {
    /// Reads the header, up to the first byte of the samples, in many small reads: pass a buffered
    /// reader.
    ///
    /// # Errors
    /// All except [`WaveError::Empty`] and the write errors.
    pub fn read(mut reader: impl Read) -> Result<WaveInfo, WaveError> {
        Self::read_from(&mut reader)
    }

    fn read_from(reader: &mut dyn Read) -> Result<WaveInfo, WaveError> {
        let header = Header::read(reader, Format::check_as_kaldi)?;
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

    /// Returns the length in seconds, or `None` for the header of a stream.
    pub fn duration(&self) -> Option<f32> {
        self.num_samples.map(|samples| samples as f32 / self.samp_freq)
    }

    /// Returns the number of bytes of samples in the header.
    pub(super) fn data_bytes(&self) -> Option<u64> {
        self.num_samples.map(|samples| u64::from(samples) * 2 * self.num_channels as u64)
    }

    /// Skips the samples, to the next entry of an archive.
    pub(crate) fn skip_data(&self, reader: &mut dyn Skip) -> Result<(), WaveError> {
        reader.skip(self.data_bytes().unwrap_or(u64::MAX)).map_err(WaveError::Read)?;
        Ok(())
    }
}

/// Format tag of plain PCM.
pub(super) const PCM: u16 = 1;
/// Format tag of Microsoft's ADPCM.
pub(super) const MICROSOFT_ADPCM: u16 = 2;
/// Format tag of floating-point samples.
pub(super) const FLOAT: u16 = 3;
/// Format tag of G.711 A-law.
pub(super) const A_LAW: u16 = 6;
/// Format tag of G.711 mu-law.
pub(super) const MU_LAW: u16 = 7;
/// Format tag of IMA's ADPCM.
pub(super) const IMA_ADPCM: u16 = 0x11;
/// Format tag for a GUID later in the chunk.
pub(super) const EXTENSIBLE: u16 = 0xFFFE;
/// GUID of PCM, as the four integers in the file. The first is the format tag, the others are the
/// same for all formats.
pub(super) const PCM_GUID: [u32; 4] = [0x0000_0001, 0x0010_0000, 0xAA00_0080, 0x719B_3800];
/// Last three integers of the GUIDs of ambisonic B-format, SUBTYPE_AMBISONIC_B_FORMAT_PCM and its
/// floating-point variant.
const REST_OF_AMBISONIC: [u32; 3] = [0x11D3_0721, 0xC1C8_4486, 0x0000_00CA];

/// Fields of a RIFF header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) big_endian: bool,
    pub(super) format: Format,
    pub(super) riff_size: u32,
    /// Bytes of the RIFF chunk before the samples.
    pub(super) before_data: u64,
    pub(super) data_size: u32,
    /// Size of the samples in RF64 and BW64 files, for which 32 bits are too few.
    pub(super) long_data_size: Option<u64>,
}

/// A `fmt ` chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// In an extensible chunk the tag in its GUID; [`EXTENSIBLE`] if the GUID has no format tag.
    pub(super) tag: u16,
    pub(super) is_extensible: bool,
    /// `true` if the GUID is for ambisonic B-format, whose channels may have any meaning.
    pub(super) is_ambisonic: bool,
    pub(super) channels: u16,
    pub(super) sample_rate: u32,
    pub(super) byte_rate: u32,
    pub(super) block_align: u16,
    pub(super) bits: u16,
    /// Samples per channel in a block of ADPCM; 0 if the chunk does not state it.
    pub(super) block_samples: u16,
    /// `true` if Microsoft ADPCM has non-standard coefficients.
    pub(super) has_own_coefficients: bool,
}

impl Format {
    /// Checks for 16-bit PCM without contradictions, as Kaldi does.
    fn check_as_kaldi(&self) -> Result<(), WaveError> {
        let Self { tag, is_extensible, is_ambisonic, channels, sample_rate, byte_rate, block_align, bits, .. } = *self;
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
}

impl Header {
    /// Reads a RIFF or RIFX file up to the first byte of its samples. `check` runs on the format
    /// before anything after it is read.
    fn read(reader: &mut dyn Read, check: fn(&Format) -> Result<(), WaveError>) -> Result<Header, WaveError> {
        Self::read_of(reader, &[*b"RIFF", *b"RIFX"], check)
    }

    /// Reads like [`read`](Self::read), but also accepts RF64 and BW64 files.
    pub(super) fn read_any(
        reader: &mut dyn Read,
        check: fn(&Format) -> Result<(), WaveError>,
    ) -> Result<Header, WaveError> {
        Self::read_of(reader, &[*b"RIFF", *b"RIFX", *b"RF64", *b"BW64"], check)
    }

    fn read_of(
        reader: &mut dyn Read,
        accepted: &[[u8; 4]],
        check: fn(&Format) -> Result<(), WaveError>,
    ) -> Result<Header, WaveError> {
        let mut reader = HeaderReader::new(reader, "WAV");
        let riff = reader.tag("RIFF")?;
        if !accepted.contains(&riff) {
            return Err(WaveError::NotRiff { found: printable(riff) });
        }
        reader.big_endian = &riff == b"RIFX";
        let riff_size = reader.u32("the size of the RIFF chunk")?;
        reader.read = 0;
        let wave = reader.tag("WAVE")?;
        if &wave != b"WAVE" {
            return Err(WaveError::NotWave { found: printable(wave) });
        }
        let mut long_data_size = None;
        let mut tag = reader.tag("the fmt chunk")?;
        while &tag != b"fmt " {
            if &tag == b"data" {
                return Err(reader.contradiction("samples before the fmt chunk that describes them".to_owned()));
            }
            let size = reader.u32("the fmt chunk")?;
            if &tag == b"ds64" && size >= 16 && matches!(&riff, b"RF64" | b"BW64") {
                let _riff_size = reader.u64("the end of the ds64 chunk")?;
                long_data_size = Some(reader.u64("the end of the ds64 chunk")?);
                reader.skip(u64::from(size) - 16)?;
            } else {
                reader.skip(u64::from(size))?;
            }
            tag = reader.tag_after(size, "the fmt chunk")?;
        }
        let mut size = reader.u32("the size of the fmt chunk")?;
        let format = reader.format(size, check)?;
        tag = reader.tag_after(size, "the data chunk")?;
        while &tag != b"data" {
            size = reader.u32("the data chunk")?;
            reader.skip(u64::from(size))?;
            tag = reader.tag_after(size, "the data chunk")?;
        }
        let data_size = reader.u32("the size of the data chunk")?;
        let HeaderReader { big_endian, read: before_data, .. } = reader;
        Ok(Header { big_endian, format, riff_size, before_data, data_size, long_data_size })
    }
}

impl HeaderReader<'_> {
    /// Reads a `fmt ` chunk of `size` bytes.
    pub(super) fn format(
        &mut self,
        size: u32,
        check: fn(&Format) -> Result<(), WaveError>,
    ) -> Result<Format, WaveError> {
        const FIELDS: &str = "the end of the fmt chunk";
        let mut format = Format {
            tag: self.u16(FIELDS)?,
            is_extensible: false,
            is_ambisonic: false,
            channels: self.u16(FIELDS)?,
            sample_rate: self.u32(FIELDS)?,
            byte_rate: self.u32(FIELDS)?,
            block_align: self.u16(FIELDS)?,
            bits: self.u16(FIELDS)?,
            block_samples: 0,
            has_own_coefficients: false,
        };
        if format.tag == EXTENSIBLE {
            format.is_extensible = true;
            (format.tag, format.is_ambisonic) = self.extension(size)?;
            self.skip(u64::from(size - 40))?;
        } else {
            if size < 16 && matches!(format.tag, PCM | FLOAT | A_LAW | MU_LAW) {
                return Err(WaveError::ShortFormat { size });
            }
            let read = 16 + if size >= 20 { self.adpcm(size, &mut format)? } else { 0 };
            self.skip(u64::from(size.saturating_sub(read)))?;
        }
        check(&format)?;
        Ok(format)
    }

    /// Reads the fields of the two kinds of ADPCM after the 16 bytes of all `fmt ` chunks; returns
    /// the number of bytes read.
    fn adpcm(&mut self, size: u32, format: &mut Format) -> Result<u32, WaveError> {
        const FIELDS: &str = "the end of the fmt chunk of ADPCM";
        const COEFFICIENTS: u32 = 4 * MICROSOFT_COEFFICIENTS.len() as u32;
        if !matches!(format.tag, MICROSOFT_ADPCM | IMA_ADPCM) {
            return Ok(0);
        }
        let _extra = self.u16(FIELDS)?;
        format.block_samples = self.u16(FIELDS)?;
        if format.tag == IMA_ADPCM || size < 22 + COEFFICIENTS {
            return Ok(4);
        }
        let count = self.u16(FIELDS)?;
        // Blocks that use additional pairs are refused one by one.
        format.has_own_coefficients = usize::from(count) < MICROSOFT_COEFFICIENTS.len();
        for expected in MICROSOFT_COEFFICIENTS.as_flattened() {
            let found = i32::from(self.u16(FIELDS)?.cast_signed());
            format.has_own_coefficients |= found != *expected;
        }
        Ok(6 + COEFFICIENTS)
    }

    /// Reads the rest of a WAVE_FORMAT_EXTENSIBLE chunk. Returns the format tag in its GUID, and
    /// `true` for ambisonic B-format.
    fn extension(&mut self, size: u32) -> Result<(u16, bool), WaveError> {
        const FIELDS: &str = "the end of the extensible fmt chunk";
        let extra = self.u16(FIELDS)?;
        if size < 40 || extra < 22 {
            return Err(WaveError::MalformedExtensible { size, extra });
        }
        let _valid_bits = self.u16(FIELDS)?;
        let _channel_mask = self.u32(FIELDS)?;
        let [tag, rest @ ..] = [self.u32(FIELDS)?, self.u32(FIELDS)?, self.u32(FIELDS)?, self.u32(FIELDS)?];
        let [_, rest_of_all @ ..] = PCM_GUID;
        let is_ambisonic = rest == REST_OF_AMBISONIC;
        let is_known = is_ambisonic || rest == rest_of_all;
        Ok((u16::try_from(tag).ok().filter(|_| is_known).unwrap_or(EXTENSIBLE), is_ambisonic))
    }
}
