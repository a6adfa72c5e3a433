//! Sony's Wave64: WAV with sizes of 64 bits.

use std::io::Read;

use kaldi_io::WaveError;
use kaldi_io::wave::HeaderReader;
use kaldi_io::wave::header::Format;

use crate::error::Error;
use crate::formats::unread_encoding;
use crate::uncompressed::layout::Layout;
use crate::uncompressed::riff;

const NAME: &str = "Sony Wave64";

/// GUID of the file, in the order of its bytes.
const RIFF: [u8; 16] = *b"riff\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\x00\x00";
/// Last bytes of the GUIDs of all chunks; the first four bytes are the tag of WAV files.
const REST: [u8; 12] = *b"\xF3\xAC\xD3\x11\x8C\xD1\x00\xC0\x4F\x8E\xDB\x8A";
/// Bytes of a chunk's GUID and size, which its size includes.
const CHUNK_HEAD: u64 = 24;

/// Reads a header up to the first byte of the samples.
pub(super) fn read(reader: &mut dyn Read) -> Result<Layout, Error> {
    const CHUNK: &str = "the data chunk";
    let mut reader = HeaderReader::new(reader, NAME);
    if reader.bytes("its GUID")? != RIFF {
        return Err(reader.contradiction("not the GUID of this format".to_owned()).into());
    }
    let _size = reader.u64("the size of the file")?;
    if reader.bytes("the GUID of WAVE")? != guid(*b"wave") {
        return Err(reader.contradiction("not the GUID of WAVE".to_owned()).into());
    }
    let mut layout: Option<Layout> = None;
    loop {
        let chunk: [u8; 16] = reader.bytes(CHUNK)?;
        let size = reader.u64(CHUNK)?;
        if chunk == guid(*b"data") {
            let Some(layout) = layout else {
                return Err(reader.contradiction("samples before the fmt chunk that describes them".to_owned()).into());
            };
            // Very long or empty if the writer could not go back to the header.
            let data_bytes = size.checked_sub(CHUNK_HEAD).filter(|bytes| (1..1 << 62).contains(bytes));
            return Ok(Layout { data_bytes, ..layout });
        }
        let content = size.checked_sub(CHUNK_HEAD);
        let content = content.ok_or_else(|| reader.contradiction(format!("a chunk of {size} bytes")))?;
        let begin = reader.read;
        if chunk == guid(*b"fmt ") {
            let content = u32::try_from(content);
            let content = content.map_err(|_| reader.contradiction(format!("a fmt chunk of {size} bytes")))?;
            let found = Format::read(&mut reader, content)?;
            let described = riff::layout(&found, NAME, false).map_err(|error| match error {
                Error::Wave(WaveError::NotPcm { format }) => {
                    unread_encoding(NAME, &format!("samples of format {format:#06x}"))
                }
                other => other,
            })?;
            if let Some(frame) = described.frame_bytes() {
                riff::check_frame(&found, NAME, frame)?;
            }
            layout = Some(described);
        }
        // Chunks begin at multiples of 8 bytes.
        reader.skip_rest(content.saturating_add(7) / 8 * 8, reader.read - begin)?;
    }
}

fn guid(tag: [u8; 4]) -> [u8; 16] {
    let mut guid = [0; 16];
    guid[..4].copy_from_slice(&tag);
    guid[4..].copy_from_slice(&REST);
    guid
}
