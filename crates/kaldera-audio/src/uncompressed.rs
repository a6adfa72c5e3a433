//! Audio files whose samples are not compressed, or only by G.711 and ADPCM.
//!
//! | format | PCM | floating point | others |
//! |---|---|---|---|
//! | WAV (RIFF, RIFX, RF64, BW64), Wave64 | 8 to 64 bits | 32, 64 | A-law, mu-law, two ADPCMs |
//! | AIFF, AIFF-C | 8 to 32 bits, both byte orders | 32, 64 | A-law, mu-law, `ima4` |
//! | Core Audio Format (CAF) | 8 to 64 bits, both byte orders | 32, 64 | A-law, mu-law, `ima4` |
//! | Sun/NeXT AU | 8 to 32 bits | 32, 64 | A-law, mu-law |
//! | NIST SPHERE | 8 to 32 bits, both byte orders | | A-law, mu-law |
//!
//! The ADPCMs of WAV are IMA's and Microsoft's; `ima4` is IMA's in other blocks.
//!
//! WAV may have
//!
//! - extensible headers;
//! - sizes that ffmpeg, sox, arecord and others leave in the header of a stream: the samples go to
//!   its end;
//! - chunks of odd length, with their pad byte or without it;
//! - wrong numbers of bytes per second or per frame, with a warning.

use std::io::Read;

use crate::error::Error;
use crate::recording::Recording;

mod adpcm;
mod aiff;
mod au;
mod caf;
mod encoding;
mod layout;
mod riff;
mod sphere;
mod stream;
mod wave64;

#[cfg(any(feature = "symphonia", feature = "opus"))]
pub(crate) use self::layout::check_layout;
pub use self::stream::WaveFormat;

/// Reads a file of one of these formats, up to the last byte that its header promises, so that
/// others may follow it. One that ends early is an error, or, if `allow_truncated` is true, gives
/// the samples before its end and a warning.
///
/// The header is read in small pieces and the samples in large ones: a small buffer in front is
/// enough.
///
/// # Errors
/// [`Error::Wave`], [`Error::Layout`], [`Error::UnreadFormat`], [`Error::AdpcmBlock`],
/// [`Error::Truncated`], [`Error::NoMemory`].
pub fn read(reader: &mut dyn Read, allow_truncated: bool) -> Result<Recording, Error> {
    let mut head = Vec::new();
    reader.take(4).read_to_end(&mut head).map_err(|source| Error::Open { source })?;
    let mut reader = head.chain(reader);
    let layout = match &head[..] {
        b"FORM" => aiff::read(&mut reader),
        b".snd" | b"dns." | b"\0ds." => au::read(&mut reader),
        b"caff" => caf::read(&mut reader),
        b"riff" => wave64::read(&mut reader),
        b"NIST" => sphere::read(&mut reader),
        _ => riff::read(&mut reader),
    }?;
    let samples = layout.read(&mut reader, allow_truncated)?;
    Ok(Recording::new(samples, layout.num_channels, layout.samp_freq))
}
