//! WAV headers of samples of every width; Wave64 has the same `fmt ` chunk.

use std::io::Read;

use kaldi_io::WaveError;
use kaldi_io::wave::header::{A_LAW, FLOAT, Format, Header, IMA_ADPCM, MICROSOFT_ADPCM, MU_LAW, PCM};
use tracing::warn;

use crate::error::Error;
use crate::formats::unread_encoding;
use crate::uncompressed::adpcm::Adpcm;
use crate::uncompressed::encoding::Encoding;
use crate::uncompressed::layout::{Layout, check_layout};

/// Reads a header up to the first byte of the samples.
pub(super) fn read(reader: &mut dyn Read) -> Result<Layout, Error> {
    let header = Header::read(reader, &[*b"RIFF", *b"RIFX", *b"RF64", *b"BW64"], |format| {
        layout(format, "WAV", false).map(drop)
    })?;
    let Header { big_endian, format, data_size, .. } = header;
    let layout = layout(&format, "WAV", big_endian)?;
    let layout = match header.long_data_size {
        // Writers of streams leave 0 and negative numbers.
        Some(size) if data_size == u32::MAX => {
            Layout { data_bytes: Some(size).filter(|size| (1..1 << 63).contains(size)), ..layout }
        }
        _ => layout.with_size(data_size),
    };
    if let Some(frame) = layout.frame_bytes() {
        check_frame(&format, "WAV", frame)?;
    }
    Ok(layout)
}

/// The layout of samples that go to the end of the file.
pub(super) fn layout(format: &Format, container: &'static str, big_endian: bool) -> Result<Layout, Error> {
    let (channels, samp_freq) = (u64::from(format.channels), f64::from(format.sample_rate));
    // Before the bytes of a frame are computed.
    check_layout(container, channels, samp_freq)?;
    Layout::new(container, Encoding::from_format(format, container)?, big_endian, channels, samp_freq)
}

/// The kind of ADPCM.
fn adpcm(format: &Format, container: &'static str) -> Result<Adpcm, Error> {
    let (block_bytes, channels) = (usize::from(format.block_align), usize::from(format.channels));
    let adpcm = if format.tag == IMA_ADPCM { Adpcm::Ima { block_bytes } } else { Adpcm::Microsoft { block_bytes } };
    if format.tag == MICROSOFT_ADPCM && channels > 2 {
        return Err(unread_encoding(container, &format!("Microsoft ADPCM in {channels} channels")));
    }
    if format.has_own_coefficients {
        return Err(unread_encoding(container, "Microsoft ADPCM with coefficients of its own"));
    }
    let held = adpcm.frames_in(block_bytes, channels);
    // 0 if the chunk does not state it.
    let frames = match usize::from(format.block_samples) {
        0 => held.max(1),
        frames => frames,
    };
    let what = format!("blocks of {block_bytes} bytes with {frames} ADPCM samples in each of {channels} channels");
    if frames > held || 2 * frames < held {
        return Err(WaveError::Contradiction { container, what }.into());
    }
    if frames != held {
        warn!("the {container} header contradicts itself: {what}; taking all {held} that there are");
    }
    Ok(adpcm)
}

/// Checks the bytes per second and per frame; `frame` is the number of bytes of a frame by the bits
/// of a sample.
///
/// A number that differs from the bits is a warning. If both differ and agree with each other, the
/// bits may be wrong, which is an error unless they are the usual 16.
pub(super) fn check_frame(format: &Format, container: &'static str, frame: usize) -> Result<(), Error> {
    let Format { channels, sample_rate, byte_rate, block_align, bits, .. } = *format;
    let is_rate = |frame: u64| u64::from(byte_rate) == u64::from(sample_rate) * frame;
    let (is_right_rate, is_right_frame) = (is_rate(frame as u64), usize::from(block_align) == frame);
    if bits != 16 && block_align > 0 && !is_right_frame && !is_right_rate && is_rate(block_align.into()) {
        let what = format!("{block_align} bytes a frame for {channels} channels of {bits} bits");
        return Err(WaveError::Contradiction { container, what }.into());
    }
    if !is_right_rate {
        warn!(
            "the {container} header contradicts itself: {byte_rate} bytes a second for {channels} channels of {bits} bits at {sample_rate} Hz; \
             going by the latter"
        );
    }
    if !is_right_frame {
        warn!(
            "the {container} header contradicts itself: {block_align} bytes a frame for {channels} channels of {bits} bits; going by the latter"
        );
    }
    Ok(())
}

impl Encoding {
    /// The encoding of the samples behind a `fmt ` chunk.
    pub(super) fn from_format(format: &Format, container: &'static str) -> Result<Self, Error> {
        let Format { tag, channels, sample_rate, byte_rate, block_align, bits, .. } = *format;
        let frames = |bytes: u16| u32::from(channels) * u32::from(bytes);
        // Samples of fewer bits lie in the upper bits of their bytes. Samples of 24 bits may have a
        // fourth byte.
        let in_four_bytes = u32::from(block_align) == frames(4)
            && u64::from(byte_rate) == u64::from(sample_rate) * u64::from(block_align);
        match (tag, bits) {
            (PCM, 1..=8) => Ok(Self::U8),
            (PCM, 9..=16) => Ok(Self::I16),
            (PCM, 17..=24) if in_four_bytes => Ok(Self::I32),
            (PCM, 17..=24) => Ok(Self::I24),
            (PCM, 25..=32) => Ok(Self::I32),
            (PCM, 33..=64) => Ok(Self::I64),
            (FLOAT, 32) => Ok(Self::F32),
            (FLOAT, 64) => Ok(Self::F64),
            (A_LAW, 8) => Ok(Self::ALaw),
            (MU_LAW, 8) => Ok(Self::MuLaw),
            (MICROSOFT_ADPCM | IMA_ADPCM, 4) => adpcm(format, container).map(Self::Adpcm),
            (PCM | FLOAT | A_LAW | MU_LAW | MICROSOFT_ADPCM | IMA_ADPCM, bits) => {
                let encoding = format!("samples of format {tag:#06x} of {bits} bits");
                Err(unread_encoding(container, &encoding))
            }
            (format, _) => Err(WaveError::NotPcm { format }.into()),
        }
    }
}
