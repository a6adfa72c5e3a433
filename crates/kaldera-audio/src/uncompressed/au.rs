//! Sun's and NeXT's AU, also called SND.

use std::io::Read;

use kaldi_io::wave::HeaderReader;

use crate::error::Error;
use crate::formats::unread_encoding;
use crate::uncompressed::encoding::Encoding;
use crate::uncompressed::layout::Layout;

const NAME: &str = "Sun/NeXT AU";

/// Reads a header up to the first byte of the samples.
pub(super) fn read(reader: &mut dyn Read) -> Result<Layout, Error> {
    const FIELDS: &str = "its 24 bytes";
    const HEADER: u32 = 24;
    let mut reader = HeaderReader::new(reader, NAME);
    // Little-endian machines wrote the tag in reverse, or another tag.
    reader.big_endian = &reader.tag(FIELDS)? == b".snd";
    let offset = reader.u32(FIELDS)?;
    let size = reader.u32(FIELDS)?;
    let kind = reader.u32(FIELDS)?;
    let samp_freq = reader.u32(FIELDS)?;
    let channels = reader.u32(FIELDS)?;
    if offset < HEADER {
        return Err(reader.contradiction(format!("samples from byte {offset} on, within its {HEADER}")).into());
    }
    let encoding = match kind {
        1 => Encoding::MuLaw,
        2 => Encoding::I8,
        3 => Encoding::I16,
        4 => Encoding::I24,
        5 => Encoding::I32,
        6 => Encoding::F32,
        7 => Encoding::F64,
        27 => Encoding::ALaw,
        _ => {
            return Err(unread_encoding(NAME, &format!("samples of the kind {kind}")));
        }
    };
    let layout = Layout::new(NAME, encoding, reader.big_endian, u64::from(channels), f64::from(samp_freq))?;
    // Skips a text.
    reader.skip(u64::from(offset - HEADER))?;
    Ok(layout.with_size(size))
}
