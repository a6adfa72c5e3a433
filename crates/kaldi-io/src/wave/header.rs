//! RIFF headers of WAV files, in all their varieties.
//!
//! ```
//! use kaldi_io::wave::header::{Header, MU_LAW};
//! use kaldi_io::wave::WaveError;
//!
//! let mut file = &b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x07\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\
//!     \x01\0\x08\0data\x02\0\0\0\x80\xff"[..];
//! let header = Header::read(&mut file, &[*b"RIFF"], |_| Ok::<(), WaveError>(()))?;
//! assert_eq!((header.format.tag, header.format.sample_rate, header.data_size), (MU_LAW, 8000, 2));
//! assert_eq!(file, [0x80, 0xff]);
//! # Ok::<(), WaveError>(())
//! ```

use std::io::Read;

use crate::wave::error::WaveError;
use crate::wave::fields::{HeaderReader, printable};

/// Format tag of plain PCM.
pub const PCM: u16 = 1;
/// Format tag of Microsoft's ADPCM.
pub const MICROSOFT_ADPCM: u16 = 2;
/// Format tag of floating-point samples.
pub const FLOAT: u16 = 3;
/// Format tag of G.711 A-law.
pub const A_LAW: u16 = 6;
/// Format tag of G.711 mu-law.
pub const MU_LAW: u16 = 7;
/// Format tag of IMA's ADPCM.
pub const IMA_ADPCM: u16 = 0x11;
/// Format tag of a `fmt ` chunk with a GUID, which contains the tag of the samples.
pub const EXTENSIBLE: u16 = 0xFFFE;
/// The GUID of PCM, as the four integers that it is stored as. The first is the format tag, the
/// others are the same for all tags.
pub(super) const PCM_GUID: [u32; 4] = [0x0000_0001, 0x0010_0000, 0xAA00_0080, 0x719B_3800];
/// The last three integers of the GUIDs of ambisonic B-format.
const REST_OF_AMBISONIC: [u32; 3] = [0x11D3_0721, 0xC1C8_4486, 0x0000_00CA];
/// The pairs of coefficients that all encoders of Microsoft's ADPCM use, in units of 1/256.
pub const MICROSOFT_COEFFICIENTS: [[i32; 2]; 7] =
    [[256, 0], [512, -256], [0, 0], [192, 64], [240, 0], [460, -208], [392, -232]];

/// The fields of a header.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Header {
    /// `true` for RIFX files.
    pub big_endian: bool,
    /// The `fmt ` chunk.
    pub format: Format,
    /// Size of the RIFF chunk.
    pub riff_size: u32,
    /// Bytes of the RIFF chunk before the samples.
    pub before_data: u64,
    /// Size of the `data` chunk.
    pub data_size: u32,
    /// Size of the samples in RF64 and BW64 files, for which 32 bits are too few.
    pub long_data_size: Option<u64>,
}

/// A `fmt ` chunk.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Format {
    /// The format tag. For an extensible chunk the tag in its GUID; [`EXTENSIBLE`] if the GUID has
    /// none.
    pub tag: u16,
    /// `true` for an extensible chunk.
    pub is_extensible: bool,
    /// `true` if the GUID is of ambisonic B-format, whose channels are not loudspeakers.
    pub is_ambisonic: bool,
    /// Number of channels.
    pub channels: u16,
    /// Samples per second.
    pub sample_rate: u32,
    /// Bytes per second.
    pub byte_rate: u32,
    /// Bytes of a frame, or of a block of ADPCM.
    pub block_align: u16,
    /// Bits per sample.
    pub bits: u16,
    /// Samples per channel in a block of ADPCM; 0 if the chunk does not state it.
    pub block_samples: u16,
    /// `true` if Microsoft's ADPCM has other coefficients than [`MICROSOFT_COEFFICIENTS`].
    pub has_own_coefficients: bool,
}

impl Header {
    /// Reads a file up to the first byte of its samples, in many small reads. `accepted` are the
    /// tags with which the file may begin: `RIFF`, `RIFX`, `RF64`, `BW64`. `check` gets the format
    /// before the bytes behind it are read.
    ///
    /// # Errors
    /// [`WaveError`] for a header that is none; the errors of `check`.
    pub fn read<E: From<WaveError>>(
        reader: &mut dyn Read,
        accepted: &[[u8; 4]],
        check: impl FnOnce(&Format) -> Result<(), E>,
    ) -> Result<Header, E> {
        let mut reader = HeaderReader::new(reader, "WAV");
        let riff = reader.tag("RIFF")?;
        if !accepted.contains(&riff) {
            return Err(WaveError::NotRiff { found: printable(riff) }.into());
        }
        reader.big_endian = &riff == b"RIFX";
        let riff_size = reader.u32("the size of the RIFF chunk")?;
        reader.read = 0;
        let wave = reader.tag("WAVE")?;
        if &wave != b"WAVE" {
            return Err(WaveError::NotWave { found: printable(wave) }.into());
        }
        let mut long_data_size = None;
        let mut tag = reader.tag("the fmt chunk")?;
        while &tag != b"fmt " {
            if &tag == b"data" {
                let message = "samples before the fmt chunk that describes them".to_owned();
                return Err(reader.contradiction(message).into());
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
        let format = Format::read(&mut reader, size)?;
        check(&format)?;
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

impl Format {
    /// Reads a `fmt ` chunk of `size` bytes.
    ///
    /// # Errors
    /// [`WaveError::ShortFormat`], [`WaveError::MalformedExtensible`],
    /// [`WaveError::UnexpectedEnd`], [`WaveError::Read`].
    pub fn read(reader: &mut HeaderReader<'_>, size: u32) -> Result<Self, WaveError> {
        const FIELDS: &str = "the end of the fmt chunk";
        let mut format = Self {
            tag: reader.u16(FIELDS)?,
            is_extensible: false,
            is_ambisonic: false,
            channels: reader.u16(FIELDS)?,
            sample_rate: reader.u32(FIELDS)?,
            byte_rate: reader.u32(FIELDS)?,
            block_align: reader.u16(FIELDS)?,
            bits: reader.u16(FIELDS)?,
            block_samples: 0,
            has_own_coefficients: false,
        };
        if format.tag == EXTENSIBLE {
            format.is_extensible = true;
            (format.tag, format.is_ambisonic) = extension(reader, size)?;
            reader.skip(u64::from(size - 40))?;
        } else {
            if size < 16 && matches!(format.tag, PCM | FLOAT | A_LAW | MU_LAW) {
                return Err(WaveError::ShortFormat { size });
            }
            let read = 16 + if size >= 20 { format.adpcm(reader, size)? } else { 0 };
            reader.skip(u64::from(size.saturating_sub(read)))?;
        }
        Ok(format)
    }

    /// Reads the fields of ADPCM behind the 16 bytes of all `fmt ` chunks; returns the number of
    /// bytes read.
    fn adpcm(&mut self, reader: &mut HeaderReader<'_>, size: u32) -> Result<u32, WaveError> {
        const FIELDS: &str = "the end of the fmt chunk of ADPCM";
        const COEFFICIENTS: u32 = 4 * MICROSOFT_COEFFICIENTS.len() as u32;
        if !matches!(self.tag, MICROSOFT_ADPCM | IMA_ADPCM) {
            return Ok(0);
        }
        let _extra = reader.u16(FIELDS)?;
        self.block_samples = reader.u16(FIELDS)?;
        if self.tag == IMA_ADPCM || size < 22 + COEFFICIENTS {
            return Ok(4);
        }
        let count = reader.u16(FIELDS)?;
        // Blocks of more pairs than all encoders use are refused one by one.
        self.has_own_coefficients = usize::from(count) < MICROSOFT_COEFFICIENTS.len();
        for expected in MICROSOFT_COEFFICIENTS.as_flattened() {
            let found = i32::from(reader.u16(FIELDS)?.cast_signed());
            self.has_own_coefficients |= found != *expected;
        }
        Ok(6 + COEFFICIENTS)
    }
}

/// Reads the rest of a WAVE_FORMAT_EXTENSIBLE chunk: the format tag in its GUID, and `true` if the
/// GUID is of ambisonic B-format.
fn extension(reader: &mut HeaderReader<'_>, size: u32) -> Result<(u16, bool), WaveError> {
    const FIELDS: &str = "the end of the extensible fmt chunk";
    let extra = reader.u16(FIELDS)?;
    if size < 40 || extra < 22 {
        return Err(WaveError::MalformedExtensible { size, extra });
    }
    let _valid_bits = reader.u16(FIELDS)?;
    let _channel_mask = reader.u32(FIELDS)?;
    let [tag, rest @ ..] = [reader.u32(FIELDS)?, reader.u32(FIELDS)?, reader.u32(FIELDS)?, reader.u32(FIELDS)?];
    let [_, rest_of_all @ ..] = PCM_GUID;
    let is_ambisonic = rest == REST_OF_AMBISONIC;
    let is_known = is_ambisonic || rest == rest_of_all;
    Ok((u16::try_from(tag).ok().filter(|_| is_known).unwrap_or(EXTENSIBLE), is_ambisonic))
}
