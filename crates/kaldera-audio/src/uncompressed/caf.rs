//! Apple's Core Audio Format.

use std::io::Read;

use kaldi_io::wave::{HeaderReader, printable};

use crate::error::Error;
use crate::formats::unread_encoding;
use crate::uncompressed::adpcm::{Adpcm, PACKET_BYTES};
use crate::uncompressed::encoding::Encoding;
use crate::uncompressed::layout::Layout;

const NAME: &str = "Core Audio Format";

/// Reads a header up to the first byte of the samples.
pub(super) fn read(reader: &mut dyn Read) -> Result<Layout, Error> {
    const CHUNK: &str = "the data chunk";
    let mut reader = HeaderReader::new(reader, NAME);
    reader.big_endian = true;
    let _caff = reader.tag("caff")?;
    let _version_and_flags = reader.u32("its version")?;
    let mut layout = None;
    loop {
        let tag = reader.tag(CHUNK)?;
        let size = reader.u64(CHUNK)?;
        match &tag {
            b"desc" => layout = Some(description(&mut reader, size)?),
            b"data" => {
                let Some(layout) = layout else {
                    return Err(reader
                        .contradiction("samples before the desc chunk that describes them".to_owned())
                        .into());
                };
                let _edits = reader.u32(CHUNK)?;
                // Negative if the writer could not go back to the header.
                let data_bytes = if size > u64::MAX / 2 {
                    None
                } else {
                    let bytes = size.checked_sub(4);
                    Some(bytes.ok_or_else(|| reader.contradiction(format!("a data chunk of {size} bytes")))?)
                };
                return Ok(Layout { data_bytes, ..layout });
            }
            _ => reader.skip(size)?,
        }
    }
}

/// Reads the `desc` chunk.
fn description(reader: &mut HeaderReader<'_>, size: u64) -> Result<Layout, Error> {
    const FIELDS: &str = "the end of the desc chunk";
    const FLOAT: u32 = 1;
    const LITTLE_ENDIAN: u32 = 2;
    const NEEDED: u64 = 32;
    if size < NEEDED {
        return Err(reader.contradiction(format!("a desc chunk of {size} bytes, which needs {NEEDED}")).into());
    }
    let samp_freq = f64::from_bits(reader.u64(FIELDS)?);
    let kind = reader.tag(FIELDS)?;
    let [flags, packet_bytes, _packet_frames, channels, bits] =
        [reader.u32(FIELDS)?, reader.u32(FIELDS)?, reader.u32(FIELDS)?, reader.u32(FIELDS)?, reader.u32(FIELDS)?];
    reader.skip_rest(size, NEEDED)?;
    let encoding = match (&kind, flags & FLOAT != 0, bits) {
        (b"lpcm", false, bits) => Encoding::of_bits(u64::from(bits)),
        (b"lpcm", true, 32) => Some(Encoding::F32),
        (b"lpcm", true, 64) => Some(Encoding::F64),
        (b"alaw", ..) => Some(Encoding::ALaw),
        (b"ulaw", ..) => Some(Encoding::MuLaw),
        (b"ima4", ..) => Some(Encoding::Adpcm(Adpcm::QuickTime)),
        _ => None,
    };
    let unread = || format!("samples of {bits} bits of the kind '{}'", printable(kind));
    let encoding = encoding.ok_or_else(|| unread_encoding(NAME, &unread()))?;
    let big_endian = flags & LITTLE_ENDIAN == 0;
    let layout = Layout::new(NAME, encoding, big_endian, u64::from(channels), samp_freq)?;
    let expected = layout.frame_bytes().unwrap_or(PACKET_BYTES * layout.num_channels);
    if usize::try_from(packet_bytes) != Ok(expected) {
        return Err(reader.contradiction(format!(
            "packets of {packet_bytes} bytes, where {channels} channels of {bits} bits of the kind '{}' have {expected}",
            printable(kind)
        ))
        .into());
    }
    Ok(layout)
}
