//! WAV headers for samples of every width, for [`WaveAudio`](super::WaveAudio); Wave64 has the same
//! `fmt ` chunk.

use std::io::Read;

use tracing::warn;

use crate::wave::adpcm::Adpcm;
use crate::wave::encoding::Encoding;
use crate::wave::error::WaveError;
use crate::wave::header::{A_LAW, FLOAT, Format, Header, IMA_ADPCM, MICROSOFT_ADPCM, MU_LAW, PCM};
use crate::wave::layout::{self, Layout};

/// Reads a header up to the first byte of the samples.
pub(super) fn read(reader: &mut dyn Read) -> Result<Layout, WaveError> {
    let header = Header::read_any(reader, |format| format.layout("WAV", false).map(drop))?;
    let Header { big_endian, format, data_size, .. } = header;
    let layout = format.layout("WAV", big_endian)?;
    let layout = match header.long_data_size {
        // 0 and negative numbers mean a stream.
        Some(size) if data_size == u32::MAX => {
            Layout { data_bytes: Some(size).filter(|size| (1..1 << 63).contains(size)), ..layout }
        }
        _ => layout.with_size(data_size),
    };
    if let Some(frame) = layout.frame_bytes() {
        format.check_frame("WAV", frame)?;
    }
    Ok(layout)
}

impl Format {
    /// Returns the layout of samples that extend to the end of the file.
    pub(super) fn layout(&self, container: &'static str, big_endian: bool) -> Result<Layout, WaveError> {
        let (channels, samp_freq) = (u64::from(self.channels), f64::from(self.sample_rate));
        // Before the bytes of a frame are computed.
        layout::check_layout(container, channels, samp_freq)?;
        Layout::new(container, Encoding::of(self, container)?, big_endian, channels, samp_freq)
    }

    /// Returns the kind of ADPCM.
    fn adpcm(&self, container: &'static str) -> Result<Adpcm, WaveError> {
        let (block_bytes, channels) = (usize::from(self.block_align), usize::from(self.channels));
        let adpcm = if self.tag == IMA_ADPCM { Adpcm::Ima { block_bytes } } else { Adpcm::Microsoft { block_bytes } };
        let unread = |encoding| Err(WaveError::UnreadEncoding { container, encoding });
        if self.tag == MICROSOFT_ADPCM && channels > 2 {
            return unread(format!("Microsoft ADPCM in {channels} channels"));
        }
        if self.has_own_coefficients {
            return unread("Microsoft ADPCM with coefficients of its own".to_owned());
        }
        let held = adpcm.frames_in(block_bytes, channels);
        // 0 if the chunk does not state it.
        let frames = match usize::from(self.block_samples) {
            0 => held.max(1),
            frames => frames,
        };
        let what = format!("blocks of {block_bytes} bytes with {frames} ADPCM samples in each of {channels} channels");
        if frames > held || 2 * frames < held {
            return Err(WaveError::Contradiction { container, what });
        }
        if frames != held {
            warn!("the {container} header contradicts itself: {what}; taking all {held} that there are");
        }
        Ok(adpcm)
    }

    /// Checks the bytes per second and per frame, given the bytes `frame` of a frame by the bits of
    /// a sample.
    ///
    /// If only one of the two differs, it is a warning. If both differ but agree with each other,
    /// it is an error, as the bits may be wrong, unless the bits are the usual 16.
    pub(super) fn check_frame(&self, container: &'static str, frame: usize) -> Result<(), WaveError> {
        let Self { channels, sample_rate, byte_rate, block_align, bits, .. } = *self;
        let is_rate = |frame: u64| u64::from(byte_rate) == u64::from(sample_rate) * frame;
        let (is_right_rate, is_right_frame) = (is_rate(frame as u64), usize::from(block_align) == frame);
        if bits != 16 && block_align > 0 && !is_right_frame && !is_right_rate && is_rate(block_align.into()) {
            let what = format!("{block_align} bytes a frame for {channels} channels of {bits} bits");
            return Err(WaveError::Contradiction { container, what });
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
}

impl Encoding {
    /// Returns the encoding of the samples by a `fmt ` chunk.
    pub(super) fn of(format: &Format, container: &'static str) -> Result<Self, WaveError> {
        let Format { tag, channels, sample_rate, byte_rate, block_align, bits, .. } = *format;
        let frames = |bytes: u16| u32::from(channels) * u32::from(bytes);
        // Samples of fewer bits use the upper bits of their bytes. Some files of 24 bits have a
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
            (MICROSOFT_ADPCM | IMA_ADPCM, 4) => format.adpcm(container).map(Self::Adpcm),
            (PCM | FLOAT | A_LAW | MU_LAW | MICROSOFT_ADPCM | IMA_ADPCM, bits) => {
                let encoding = format!("samples of format {tag:#06x} of {bits} bits");
                Err(WaveError::UnreadEncoding { container, encoding })
            }
            (format, _) => Err(WaveError::NotPcm { format }),
        }
    }
}
