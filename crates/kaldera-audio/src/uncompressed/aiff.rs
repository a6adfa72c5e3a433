//! Apple's AIFF and AIFF-C.

use std::io::Read;

use kaldi_io::wave::{HeaderReader, printable};

use crate::error::Error;
use crate::formats::unread_encoding;
use crate::uncompressed::adpcm::{Adpcm, PACKET_BYTES};
use crate::uncompressed::encoding::Encoding;
use crate::uncompressed::layout::Layout;

const NAME: &str = "AIFF";

/// Reads a header up to the first byte of the samples.
pub(super) fn read(reader: &mut dyn Read) -> Result<Layout, Error> {
    let mut reader = HeaderReader::new(reader, NAME);
    reader.big_endian = true;
    let _form = reader.tag("FORM")?;
    let _size = reader.u32("the size of the FORM chunk")?;
    let kind = reader.tag("AIFF or AIFC")?;
    if !matches!(&kind, b"AIFF" | b"AIFC") {
        return Err(reader.contradiction(format!("an IFF file of the kind '{}'", printable(kind))).into());
    }
    let mut common = None;
    let mut tag = reader.tag("the COMM chunk")?;
    loop {
        let size = reader.u32("the size of a chunk")?;
        match &tag {
            b"COMM" => common = Some(Common::read(&mut reader, size, &kind == b"AIFC")?),
            b"SSND" => {
                let Some(common) = common else {
                    return Err(unread_encoding(NAME, "samples before the COMM chunk that describes them"));
                };
                return common.samples(&mut reader, size);
            }
            _ => reader.skip(u64::from(size))?,
        }
        tag = reader.tag_after(size, "the SSND chunk")?;
    }
}

/// Contents of the `COMM` chunk.
struct Common {
    layout: Layout,
    /// Samples per channel; for ADPCM, packets.
    num_frames: u32,
}

impl Common {
    fn read(reader: &mut HeaderReader<'_>, size: u32, is_compressed: bool) -> Result<Self, Error> {
        const FIELDS: &str = "the end of the COMM chunk";
        let needed = if is_compressed { 22 } else { 18 };
        if size < needed {
            return Err(reader.contradiction(format!("a COMM chunk of {size} bytes, which needs {needed}")).into());
        }
        let channels = reader.u16(FIELDS)?;
        let num_frames = reader.u32(FIELDS)?;
        let bits = reader.u16(FIELDS)?;
        let samp_freq = extended(reader.bytes(FIELDS)?);
        let kind = if is_compressed { reader.tag(FIELDS)? } else { *b"NONE" };
        reader.skip_rest(u64::from(size), u64::from(needed))?;
        let (encoding, big_endian) = encoding(kind, bits)?;
        let layout = Layout::new(NAME, encoding, big_endian, u64::from(channels), samp_freq)?;
        Ok(Self { layout, num_frames })
    }

    /// Advances to the first sample in a `SSND` chunk of `size` bytes.
    fn samples(self, reader: &mut HeaderReader<'_>, size: u32) -> Result<Layout, Error> {
        const FIELDS: &str = "the offset of the samples";
        let offset = reader.u32(FIELDS)?;
        let _block_size = reader.u32(FIELDS)?;
        let layout = self.layout.with_size(size.saturating_sub(8));
        reader.skip(u64::from(offset))?;
        let Some(size) = layout.data_bytes else { return Ok(layout) };
        let frames = u64::from(self.num_frames);
        let unit = layout.frame_bytes().unwrap_or(PACKET_BYTES * layout.num_channels);
        let bytes = frames * unit as u64;
        let size = size.checked_sub(u64::from(offset)).filter(|&size| bytes <= size).ok_or_else(|| {
            reader
                .contradiction(format!("{frames} frames, {bytes} bytes, in a SSND chunk of {size}, {offset} left out"))
        })?;
        // 0 if the writer could not go back to the header. For packets, some writers count half.
        let is_counted = frames > 0 && layout.frame_bytes().is_some();
        Ok(Layout { data_bytes: Some(if is_counted { bytes } else { size }), ..layout })
    }
}

/// Returns the encoding of a compression type, and `true` if it is big-endian.
fn encoding(kind: [u8; 4], bits: u16) -> Result<(Encoding, bool), Error> {
    let integers = || Encoding::of_bits(u64::from(bits)).filter(|_| bits <= 32);
    let (encoding, big_endian) = match &kind {
        b"NONE" | b"twos" => (integers(), true),
        b"sowt" => (integers(), false),
        b"raw " if bits == 8 => (Some(Encoding::U8), true),
        b"in24" => (Some(Encoding::I24), true),
        b"in32" => (Some(Encoding::I32), true),
        // The same in reverse byte order; libsndfile has its own spelling of one.
        b"42ni" | b"42n1" => (Some(Encoding::I24), false),
        b"23ni" => (Some(Encoding::I32), false),
        b"fl32" | b"FL32" => (Some(Encoding::F32), true),
        b"fl64" | b"FL64" => (Some(Encoding::F64), true),
        b"alaw" | b"ALAW" => (Some(Encoding::ALaw), true),
        b"ulaw" | b"ULAW" => (Some(Encoding::MuLaw), true),
        b"ima4" => (Some(Encoding::Adpcm(Adpcm::QuickTime)), true),
        _ => (None, true),
    };
    let unread = || format!("samples of {bits} bits of the kind '{}'", printable(kind));
    let encoding = encoding.ok_or_else(|| unread_encoding(NAME, &unread()))?;
    Ok((encoding, big_endian))
}

/// Decodes a number of 80 bits: sign, 15 bits of exponent, 64 of mantissa without an implied bit.
fn extended([a, b, mantissa @ ..]: [u8; 10]) -> f64 {
    let exponent = i32::from(u16::from_be_bytes([a & 0x7F, b]));
    let [high, low] =
        [&mantissa[..4], &mantissa[4..]].map(|half| half.iter().fold(0, |sum, &b| sum << 8 | u32::from(b)));
    let magnitude =
        f64::from(high) * 2_f64.powi(exponent - 16_383 - 31) + f64::from(low) * 2_f64.powi(exponent - 16_383 - 63);
    if a & 0x80 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_numbers_of_80_bits() {
        assert_eq!(extended([0x40, 0x0C, 0xFA, 0, 0, 0, 0, 0, 0, 0]), 16_000.0);
        assert_eq!(extended([0x40, 0x0E, 0xAC, 0x44, 0x80, 0, 0, 0, 0, 0]), 44_100.5);
        assert_eq!(extended([0xBF, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0]), -1.0);
        assert_eq!(extended([0; 10]), 0.0);
        assert!(!extended([0x7F, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0]).is_finite());
    }
}
