//! WAV reader and writer compatible with Kaldi: 16-bit PCM in a RIFF or RIFX file.
//!
//! Real headers are messy: recorders leave sizes empty or absurd when they stream, tools put chunks
//! of their own before and after `fmt `, downloads stop half-way. [`WaveData`] accepts and refuses
//! the same files as Kaldi's reader, and never trusts a size before it has read the bytes. The only
//! extension is the pad byte after a chunk of odd length.
//!
//! The crate `kaldera-audio` also reads other widths, and other formats.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::Path;

use tracing::warn;

use crate::error::Error;
use crate::rxfilename::Input;
use crate::wxfilename::Output;

pub(crate) mod error;
mod fields;
pub mod header;
mod info;
mod samples;

use self::header::PCM;

pub use self::error::WaveError;
pub use self::fields::{HeaderReader, printable};
pub use self::info::WaveInfo;
pub use self::samples::{read_bytes, read_samples};

/// A recording: 16-bit samples and their rate.
///
/// ```
/// use kaldi_io::wave::WaveData;
///
/// let tone = WaveData { samp_freq: 8000.0, num_channels: 2, samples: vec![1, -1, 2, -2] };
/// let mut file = Vec::new();
/// tone.write(&mut file)?;
/// let back = WaveData::read(&file[..])?;
/// assert_eq!(back, tone);
/// assert_eq!(back.num_samples(), 2);
/// assert_eq!(*back.channel(1), [-1, -2]);
/// # Ok::<(), kaldi_io::wave::WaveError>(())
/// ```
///
/// [`open`](Self::open) and [`save`](Self::save) do the same with a path.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WaveData {
    /// Samples per second.
    pub samp_freq: f32,
    /// Number of channels.
    pub num_channels: usize,
    /// Frame by frame, the channels of a frame side by side.
    pub samples: Vec<i16>,
}

impl WaveData {
    /// Reads the WAV file at a path, like [`read`](Self::read).
    ///
    /// ```
    /// use kaldi_io::WaveData;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tone.wav");
    /// let tone = WaveData { samp_freq: 16000.0, num_channels: 1, samples: vec![5; 16000] };
    /// tone.save(&path)?;
    /// assert_eq!(WaveData::open(&path)?, tone);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Open`]; [`Error::File`] for invalid contents.
    pub fn open(path: impl AsRef<Path>) -> Result<WaveData, Error> {
        let mut input = Input::open_path(path)?;
        Self::read(&mut input).map_err(|error| Error::from(error).in_file(input.name()))
    }

    /// Writes a WAV file to a path, like [`write`](Self::write).
    ///
    /// # Errors
    /// [`Error::Create`], [`Error::Write`]; [`Error::Wave`] for a recording that has no such form.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let mut output = Output::create_path(path)?;
        self.write(&mut output).map_err(|error| match error {
            WaveError::Write(source) => output.write_error(source),
            other => other.into(),
        })?;
        output.close()
    }

    /// Reads a whole WAV file from bytes or a file; from an archive, up to the last byte that its
    /// header promises.
    ///
    /// The header is read in small pieces and the samples in large ones, so a small buffer is
    /// enough. A file that ends early gives the samples before its end and a warning, as in Kaldi.
    ///
    /// # Errors
    /// [`WaveError`], with the problem in the header; [`WaveError::Empty`] if there is not a single
    /// byte of samples.
    pub fn read(mut reader: impl Read) -> Result<WaveData, WaveError> {
        Ok(tolerant(Self::read_available(&mut reader)?))
    }

    /// Reads like [`read`](Self::read), but a truncated file is an error.
    ///
    /// # Errors
    /// Also [`WaveError::Truncated`], for a file that ends early.
    pub fn read_whole(mut reader: impl Read) -> Result<WaveData, WaveError> {
        whole(Self::read_available(&mut reader)?)
    }

    fn read_available(reader: &mut dyn Read) -> Result<(WaveData, Option<Truncated>), WaveError> {
        let info = WaveInfo::read(&mut *reader)?;
        let expected = info.data_bytes();
        let (mut samples, bytes) = read_samples(reader, expected)?;
        if bytes == 0 {
            return Err(WaveError::Empty { container: "WAV" });
        }
        let found = bytes as u64;
        let truncated = expected.filter(|&expected| found != expected).map(|expected| Truncated {
            container: "WAV",
            expected,
            found,
        });
        samples.truncate(bytes / (2 * info.num_channels) * info.num_channels);
        if info.big_endian != cfg!(target_endian = "big") {
            samples.iter_mut().for_each(|sample| *sample = sample.swap_bytes());
        }
        Ok((WaveData { samp_freq: info.samp_freq, num_channels: info.num_channels, samples }, truncated))
    }

    /// Writes a RIFF file: 44 bytes of header and little-endian samples, with the same bytes as
    /// Kaldi.
    ///
    /// # Errors
    /// [`WaveError::Unwritable`] unless there are 1 to 32767 channels and whole frames, the rate is
    /// at least 1 and fits the header, and the file is smaller than 4 GiB; [`WaveError::Write`].
    pub fn write(&self, mut writer: impl Write) -> Result<(), WaveError> {
        writer.write_all(&self.header()?).map_err(WaveError::Write)?;
        if cfg!(target_endian = "big") {
            let swapped: Vec<i16> = self.samples.iter().map(|sample| sample.to_le()).collect();
            writer.write_all(bytemuck::cast_slice(&swapped))
        } else {
            writer.write_all(bytemuck::cast_slice(&self.samples))
        }
        .map_err(WaveError::Write)
    }

    /// Returns the 44 bytes in front of the samples.
    fn header(&self) -> Result<[u8; 44], WaveError> {
        let unwritable = |reason| WaveError::Unwritable {
            samples: self.samples.len(),
            channels: self.num_channels,
            samp_freq: self.samp_freq,
            reason,
        };
        let channels = u16::try_from(self.num_channels)
            .ok()
            .filter(|channels| (1..=u16::MAX / 2).contains(channels))
            .ok_or_else(|| unwritable("a WAV file has 1 to 32767 channels"))?;
        if !self.samples.len().is_multiple_of(self.num_channels) {
            return Err(unwritable("the last frame is incomplete"));
        }
        let data_size = u32::try_from(self.samples.len() * 2)
            .ok()
            .filter(|size| *size <= u32::MAX - 36)
            .ok_or_else(|| unwritable("a WAV file ends at 4 GiB; split it"))?;
        let frame_bytes = 2 * channels;
        let rate = Some(self.samp_freq)
            .filter(|rate| (1.0..4.0e9).contains(rate))
            .and_then(|rate| (rate as u32).checked_mul(u32::from(frame_bytes)).map(|bytes| (rate as u32, bytes)));
        let (sample_rate, byte_rate) =
            rate.ok_or_else(|| unwritable("the rate must be at least 1 and fit the header"))?;

        let mut header = [0; 44];
        header[0..4].copy_from_slice(b"RIFF");
        header[4..8].copy_from_slice(&(36 + data_size).to_le_bytes());
        header[8..16].copy_from_slice(b"WAVEfmt ");
        header[16..20].copy_from_slice(&16u32.to_le_bytes());
        header[20..22].copy_from_slice(&PCM.to_le_bytes());
        header[22..24].copy_from_slice(&channels.to_le_bytes());
        header[24..28].copy_from_slice(&sample_rate.to_le_bytes());
        header[28..32].copy_from_slice(&byte_rate.to_le_bytes());
        header[32..34].copy_from_slice(&frame_bytes.to_le_bytes());
        header[34..36].copy_from_slice(&16u16.to_le_bytes());
        header[36..40].copy_from_slice(b"data");
        header[40..44].copy_from_slice(&data_size.to_le_bytes());
        Ok(header)
    }

    /// Returns the number of samples per channel.
    pub fn num_samples(&self) -> usize {
        self.samples.len().checked_div(self.num_channels).unwrap_or(0)
    }

    /// Returns the length in seconds.
    pub fn duration(&self) -> f32 {
        self.num_samples() as f32 / self.samp_freq
    }

    /// Returns the samples of one channel, counted from 0; borrowed if it is the only one.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn channel(&self, channel: usize) -> Cow<'_, [i16]> {
        assert!(channel < self.num_channels, "no channel {channel} in a recording of {}", self.num_channels);
        if self.num_channels == 1 {
            Cow::Borrowed(&self.samples)
        } else {
            Cow::Owned(self.samples.iter().skip(channel).step_by(self.num_channels).copied().collect())
        }
    }
}

/// Bytes of samples: the number in the header, and the number found.
struct Truncated {
    container: &'static str,
    expected: u64,
    found: u64,
}

/// Returns a recording, with a warning if its file ends early.
fn tolerant<T>((recording, truncated): (T, Option<Truncated>)) -> T {
    if let Some(Truncated { expected, found, .. }) = truncated {
        warn!(
            "the recording is truncated: {found} bytes of samples where its header promises {expected}; going on with them"
        );
    }
    recording
}

/// Returns a recording, or an error if its file ends early.
fn whole<T>((recording, truncated): (T, Option<Truncated>)) -> Result<T, WaveError> {
    match truncated {
        None => Ok(recording),
        Some(Truncated { container, expected, found }) => Err(WaveError::Truncated { container, expected, found }),
    }
}

#[cfg(test)]
mod tests {
    use super::header::{EXTENSIBLE, PCM_GUID};
    use super::*;
    use proptest::prelude::*;

    /// A WAV file in pieces, so that each can be damaged.
    #[derive(Clone)]
    struct Pieces {
        big_endian: bool,
        riff_size: Option<u32>,
        before_format: Vec<(&'static [u8; 4], Vec<u8>)>,
        format: u16,
        channels: u16,
        rate: u32,
        byte_rate: Option<u32>,
        block_align: Option<u16>,
        bits: u16,
        extension: Vec<u8>,
        before_data: Vec<(&'static [u8; 4], Vec<u8>)>,
        data_size: Option<u32>,
        data: Vec<u8>,
    }

    impl Pieces {
        fn new(samples: &[i16]) -> Self {
            Pieces {
                big_endian: false,
                riff_size: None,
                before_format: vec![],
                format: 1,
                channels: 1,
                rate: 16000,
                byte_rate: None,
                block_align: None,
                bits: 16,
                extension: vec![],
                before_data: vec![],
                data_size: None,
                data: samples.iter().flat_map(|sample| sample.to_le_bytes()).collect(),
            }
        }

        fn u16(&self, value: u16) -> [u8; 2] {
            if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
        }

        fn u32(&self, value: usize) -> [u8; 4] {
            let value = u32::try_from(value).unwrap();
            if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
        }

        fn bytes(&self) -> Vec<u8> {
            let width = self.bits / 8;
            let mut body = b"WAVE".to_vec();
            let chunk = |body: &mut Vec<u8>, tag: &[u8; 4], content: &[u8]| {
                body.extend_from_slice(tag);
                body.extend_from_slice(&self.u32(content.len()));
                body.extend_from_slice(content);
            };
            for (tag, content) in &self.before_format {
                chunk(&mut body, tag, content);
            }
            let mut format = [self.format, self.channels].map(|value| self.u16(value)).concat();
            format.extend(self.u32(self.rate as usize));
            let byte_rate = self.rate * u32::from(width) * u32::from(self.channels);
            format.extend(self.u32(self.byte_rate.unwrap_or(byte_rate) as usize));
            format.extend(self.u16(self.block_align.unwrap_or(width * self.channels)));
            format.extend(self.u16(self.bits));
            format.extend(&self.extension);
            chunk(&mut body, b"fmt ", &format);
            for (tag, content) in &self.before_data {
                chunk(&mut body, tag, content);
            }
            body.extend_from_slice(b"data");
            body.extend(self.u32(self.data_size.map_or(self.data.len(), |size| size as usize)));
            body.extend(&self.data);
            let mut file = if self.big_endian { b"RIFX" } else { b"RIFF" }.to_vec();
            file.extend(self.u32(self.riff_size.map_or(body.len(), |size| size as usize)));
            file.extend(body);
            file
        }
    }

    fn read(bytes: &[u8]) -> Result<WaveData, WaveError> {
        WaveData::read(&mut &bytes[..])
    }

    fn info(bytes: &[u8]) -> Result<WaveInfo, WaveError> {
        WaveInfo::read(&mut &bytes[..])
    }

    const SAMPLES: [i16; 6] = [0, 1, -1, 300, i16::MAX, i16::MIN];

    #[test]
    fn a_plain_file() {
        let wave = read(&Pieces::new(&SAMPLES).bytes()).unwrap();
        assert_eq!(wave.samples, SAMPLES);
        assert_eq!((wave.samp_freq, wave.num_channels, wave.num_samples()), (16000.0, 1, 6));
        assert!(matches!(wave.channel(0), Cow::Borrowed(_)));
        assert_eq!(wave.duration(), 6.0 / 16000.0);
    }

    #[test]
    fn channels_are_interleaved_and_an_incomplete_frame_is_dropped() {
        let mut pieces = Pieces::new(&SAMPLES);
        pieces.channels = 2;
        pieces.data.extend([7, 7, 7]);
        pieces.data_size = Some(0);
        let wave = read(&pieces.bytes()).unwrap();
        assert_eq!(wave.num_samples(), 3);
        assert_eq!(*wave.channel(0), [0, -1, i16::MAX]);
        assert_eq!(*wave.channel(1), [1, 300, i16::MIN]);
    }

    #[test]
    fn a_big_endian_file() {
        let mut pieces = Pieces::new(&[]);
        pieces.big_endian = true;
        pieces.data = SAMPLES.iter().flat_map(|sample| sample.to_be_bytes()).collect();
        assert_eq!(read(&pieces.bytes()).unwrap().samples, SAMPLES);
    }

    #[test]
    fn other_chunks_are_skipped() {
        let mut pieces = Pieces::new(&SAMPLES);
        pieces.before_format = vec![(b"JUNK", vec![0; 28]), (b"bext", vec![1; 3])];
        pieces.before_data = vec![(b"LIST", b"INFOabcdef".to_vec()), (b"fact", vec![0; 4])];
        pieces.extension = vec![0; 2];
        assert_eq!(read(&pieces.bytes()).unwrap().samples, SAMPLES);
    }

    #[test]
    fn extensible_headers() {
        let mut pieces = Pieces::new(&SAMPLES);
        pieces.format = EXTENSIBLE;
        pieces.extension = [22, 0, 16, 0, 4, 0, 0, 0].to_vec();
        pieces.extension.extend(PCM_GUID.iter().flat_map(|part| part.to_le_bytes()));
        assert_eq!(read(&pieces.bytes()).unwrap().samples, SAMPLES);

        let mut float = pieces.clone();
        float.extension[8] = 3;
        assert!(matches!(read(&float.bytes()), Err(WaveError::ExtensibleNotPcm)));
        let mut short = pieces.clone();
        short.extension.truncate(20);
        assert!(matches!(read(&short.bytes()), Err(WaveError::MalformedExtensible { size: 36, extra: 22 })));
        pieces.extension[0] = 10;
        assert!(matches!(read(&pieces.bytes()), Err(WaveError::MalformedExtensible { size: 40, extra: 10 })));
    }

    #[test]
    fn streamed_sizes_mean_to_the_end() {
        let sizes = [
            (Some(0), None),
            (Some(u32::MAX), None),
            (None, Some(0)),
            (None, Some(u32::MAX)),
            (None, Some(0x7FFF_F000)),
        ];
        for (riff_size, data_size) in sizes {
            let pieces = Pieces { riff_size, data_size, ..Pieces::new(&SAMPLES) };
            assert_eq!(read(&pieces.bytes()).unwrap().samples, SAMPLES);
            assert_eq!(info(&pieces.bytes()).unwrap().duration(), None);
        }
        assert_eq!(info(&Pieces::new(&SAMPLES).bytes()).unwrap().duration(), Some(6.0 / 16000.0));
    }

    #[test]
    fn a_truncated_file_gives_what_is_there() {
        let bytes = Pieces::new(&SAMPLES).bytes();
        assert_eq!(read(&bytes[..bytes.len() - 3]).unwrap().samples, SAMPLES[..4]);
        assert!(matches!(read(&bytes[..44]), Err(WaveError::Empty { .. })));
        for end in 0..44 {
            assert!(matches!(read(&bytes[..end]), Err(WaveError::UnexpectedEnd { .. })), "{end}");
        }
    }

    #[test]
    fn or_an_error_for_those_who_want_all_of_it() {
        let bytes = Pieces::new(&SAMPLES).bytes();
        assert_eq!(WaveData::read_whole(&mut &bytes[..]).unwrap().samples, SAMPLES);
        let truncated = WaveData::read_whole(&mut &bytes[..bytes.len() - 3]);
        assert!(matches!(truncated, Err(WaveError::Truncated { expected: 12, found: 9, .. })));
    }

    #[test]
    fn bytes_behind_the_data_stay_in_the_stream() {
        let mut bytes = Pieces::new(&SAMPLES).bytes();
        bytes.extend(b"next");
        let mut rest = &bytes[..];
        WaveData::read(&mut rest).unwrap();
        assert_eq!(rest, b"next");
    }

    #[test]
    fn a_header_cannot_make_us_allocate() {
        let pieces = Pieces { data_size: Some(0x7000_0000), riff_size: Some(0x7000_0024), ..Pieces::new(&SAMPLES) };
        let wave = read(&pieces.bytes()).unwrap();
        assert_eq!(wave.samples, SAMPLES);
        assert!(wave.samples.capacity() <= 1 << 22);
    }

    #[test]
    fn large_files_are_read_in_blocks() {
        let samples: Vec<i16> = (0..400_001).map(|i| (i % 30_011) as i16).collect();
        let mut pieces = Pieces::new(&samples);
        assert_eq!(read(&pieces.bytes()).unwrap().samples, samples);
        pieces.data_size = Some(0);
        assert_eq!(read(&pieces.bytes()).unwrap().samples, samples);
    }

    #[test]
    fn what_kaldi_refuses() {
        let plain = Pieces::new(&SAMPLES);
        let message = |pieces: Pieces| read(&pieces.bytes()).unwrap_err().to_string();
        let with = |format, bits, channels| Pieces { format, bits, channels, ..plain.clone() };
        assert!(message(with(1, 8, 1)).starts_with("samples of 8 bits"));
        assert!(message(with(1, 24, 1)).starts_with("samples of 24 bits"));
        assert!(message(with(3, 32, 1)).starts_with("samples of WAV format 3"));
        assert_eq!(message(with(1, 16, 0)), "a WAV header with no channels; copy or record it again");
        let byte_rate = Pieces { byte_rate: Some(16000), ..plain.clone() };
        assert_eq!(
            message(byte_rate),
            "the WAV header contradicts itself: 16000 bytes a second for 1 channels at 16000 Hz; copy or record it again"
        );
        let block_align = Pieces { block_align: Some(4), ..plain.clone() };
        assert_eq!(
            message(block_align),
            "the WAV header contradicts itself: 4 bytes a frame for 1 channels of 16 bits; copy or record it again"
        );
        assert_eq!(message(Pieces::new(&[])), "not a single sample behind the WAV header; copy or record it again");
        assert!(matches!(read(b"OggS...."), Err(WaveError::NotRiff { .. })));
        assert!(matches!(read(b"RIFF\0\0\0\0AVI "), Err(WaveError::NotWave { .. })));
        let mut short = plain.bytes();
        short[16] = 15;
        assert!(matches!(read(&short), Err(WaveError::ShortFormat { size: 15 })));
    }

    #[test]
    fn writing_gives_the_usual_44_bytes_and_hound_agrees() {
        let wave = WaveData { samp_freq: 8000.0, num_channels: 2, samples: SAMPLES.to_vec() };
        let mut bytes = Vec::new();
        wave.write(&mut bytes).unwrap();
        let pieces = Pieces { rate: 8000, channels: 2, ..Pieces::new(&SAMPLES) };
        assert_eq!(bytes, pieces.bytes());
        let mut peer = hound::WavReader::new(&bytes[..]).unwrap();
        assert_eq!((peer.spec().sample_rate, peer.spec().channels), (8000, 2));
        assert_eq!(peer.samples::<i16>().map(Result::unwrap).collect::<Vec<_>>(), SAMPLES);
    }

    #[test]
    fn what_cannot_be_written() {
        let wave = |samp_freq, num_channels| WaveData { samp_freq, num_channels, samples: vec![0; 6] };
        for (rate, channels) in
            [(8000.0, 0), (8000.0, 4), (8000.0, 40_000), (0.0, 1), (f32::NAN, 1), (-1.0, 1), (1e30, 1), (3e9, 1)]
        {
            let written = wave(rate, channels).write(&mut Vec::new());
            assert!(matches!(written, Err(WaveError::Unwritable { .. })), "{rate} {channels}");
        }
    }

    proptest! {
        #[test]
        fn every_recording_comes_back(samples in proptest::collection::vec(any::<i16>(), 1..100), rate in 1u16..) {
            let wave = WaveData { samp_freq: f32::from(rate), num_channels: 1, samples };
            let mut bytes = Vec::new();
            wave.write(&mut bytes).unwrap();
            prop_assert_eq!(read(&bytes).unwrap(), wave);
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in Just(Pieces::new(&SAMPLES).bytes()), spoilt in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8), end in 0..57usize) {
            for (index, byte) in spoilt {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            bytes.truncate(end);
            if let Ok(wave) = read(&bytes) {
                prop_assert!(wave.num_channels > 0 && !bytes.is_empty());
                for channel in 0..wave.num_channels {
                    prop_assert_eq!(wave.channel(channel).len(), wave.num_samples());
                }
            }
        }

        #[test]
        fn no_noise_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let _ = read(&[b"RIFF....WAVE", &bytes[..]].concat());
        }
    }
}
