//! A recording reads as the same samples in whatever way a WAV file is written.

use kaldera_audio::{Error, ReadOptions, Recording, WaveData, WaveError};
use kaldi_io::WaveInfo;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// How a sample is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    U8,
    /// Of formats other than WAV.
    I8,
    I16,
    I24,
    /// 24 bits in the upper ones of four bytes.
    I24In32,
    I32,
    I64,
    F32,
    F64,
    ALaw,
    MuLaw,
}

impl Width {
    const ALL: [Self; 10] = [
        Self::U8,
        Self::I16,
        Self::I24,
        Self::I24In32,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
        Self::ALaw,
        Self::MuLaw,
    ];

    fn tag(self) -> u16 {
        match self {
            Self::F32 | Self::F64 => 3,
            Self::ALaw => 6,
            Self::MuLaw => 7,
            _ => 1,
        }
    }

    pub(crate) fn bits(self) -> u16 {
        match self {
            Self::U8 | Self::I8 | Self::ALaw | Self::MuLaw => 8,
            Self::I16 => 16,
            Self::I24 | Self::I24In32 => 24,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
        }
    }

    pub(crate) fn bytes(self) -> u16 {
        if self == Self::I24In32 { 4 } else { self.bits() / 8 }
    }

    /// A sample that this width can hold, from any of 32 bits: its bytes, and its value on the
    /// scale of 16 bits.
    pub(crate) fn sample(self, big_endian: bool, any: i32) -> (Vec<u8>, f32) {
        let order = |mut bytes: Vec<u8>| {
            if !big_endian {
                bytes.reverse();
            }
            bytes
        };
        match self {
            Self::U8 => {
                let value = i16::from(any.to_be_bytes()[0]) - 128;
                (vec![any.to_be_bytes()[0]], f32::from(value) * 256.0)
            }
            Self::I8 => (vec![any.to_be_bytes()[0]], f32::from(i16::from_be_bytes([any.to_be_bytes()[0], 0]))),
            Self::ALaw => {
                let byte = any.to_be_bytes()[0];
                (vec![byte], f32::from(a_law(byte)))
            }
            Self::MuLaw => {
                let byte = any.to_be_bytes()[0];
                (vec![byte], f32::from(mu_law(byte)))
            }
            Self::I16 => (order(any.to_be_bytes()[..2].to_vec()), (any >> 16) as f32),
            Self::I24 => (order(any.to_be_bytes()[..3].to_vec()), (any >> 8) as f32 / 256.0),
            Self::I24In32 => (order((any & !0xFF).to_be_bytes().to_vec()), (any >> 8) as f32 / 256.0),
            Self::I32 => (order(any.to_be_bytes().to_vec()), any as f32 / 65_536.0),
            Self::I64 => (order((i64::from(any) << 32).to_be_bytes().to_vec()), any as f32 / 65_536.0),
            Self::F32 => {
                let value = any as f32 / 1_073_741_824.0;
                (order(value.to_be_bytes().to_vec()), value * 32_768.0)
            }
            Self::F64 => {
                let value = f64::from(any) / 1_073_741_824.0;
                (order(value.to_be_bytes().to_vec()), (value * 32_768.0) as f32)
            }
        }
    }
}

/// G.711 by its definition: the middle of the interval that the code stands for.
fn a_law(code: u8) -> i16 {
    let code = code ^ 0x55;
    let (exponent, mantissa) = (i32::from(code >> 4 & 7), i32::from(code & 15));
    let magnitude = if exponent == 0 { (2 * mantissa + 1) << 3 } else { (2 * mantissa + 33) << (exponent + 2) };
    i16::try_from(if code & 0x80 == 0 { -magnitude } else { magnitude }).unwrap()
}

fn mu_law(code: u8) -> i16 {
    let code = !code;
    let (exponent, mantissa) = (i32::from(code >> 4 & 7), i32::from(code & 15));
    let magnitude = ((2 * mantissa + 33) << (exponent + 2)) - 132;
    i16::try_from(if code & 0x80 == 0 { magnitude } else { -magnitude }).unwrap()
}

/// What sizes the header has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sizes {
    /// Those of the file.
    Right,
    /// Of a stream: of the RIFF chunk and of the samples.
    Stream(u32, u32),
    /// As [`Stream`](Self::Stream), cut down to whole frames.
    WholeFrames(u32),
    /// In a `ds64` chunk.
    Rf64,
    /// In a `ds64` chunk, unknown.
    StreamedRf64,
}

const STREAMS: [Sizes; 12] = [
    Sizes::Stream(0, 0),
    Sizes::Stream(u32::MAX, u32::MAX),       // ffmpeg
    Sizes::Stream(0x7FFF_F024, 0x7FFF_F000), // sox, where frames are whole
    Sizes::WholeFrames(0x7FFF_F000),         // sox
    Sizes::Stream(0x8000_0024, 0x8000_0000), // arecord
    Sizes::WholeFrames(0x7FFF_FF00),         // arecord, older
    Sizes::Stream(0x7FFF_FFFF, 0x7FFF_FFFF - 36),
    Sizes::Stream(0x7FFF_FFFF, 0x7FFF_FFFF),
    Sizes::Stream(u32::MAX, u32::MAX - 36),
    Sizes::Stream(36, 0),
    Sizes::Stream(0, u32::MAX),
    Sizes::StreamedRf64,
];

/// One way to write a WAV file.
#[derive(Debug, Clone)]
struct Variant {
    width: Width,
    channels: u16,
    rate: u32,
    big_endian: bool,
    extensible: bool,
    sizes: Sizes,
    /// Whether the name of the long format is that of broadcasters.
    bw64: bool,
    /// Chunks before and behind the format, by tag and length.
    before_format: Vec<(&'static [u8; 4], u8)>,
    before_data: Vec<(&'static [u8; 4], u8)>,
    after_data: Vec<(&'static [u8; 4], u8)>,
    /// Behind chunks of odd length.
    pad: Option<u8>,
    byte_rate_is_wrong: bool,
    block_align_is_wrong: bool,
    /// Bytes behind the fields of the format.
    extra_format: u8,
}

impl Variant {
    /// One channel at 8 kHz.
    fn plain() -> Self {
        Self {
            width: Width::I16,
            channels: 1,
            rate: 8000,
            big_endian: false,
            extensible: false,
            sizes: Sizes::Right,
            bw64: false,
            before_format: vec![],
            before_data: vec![],
            after_data: vec![],
            pad: Some(0),
            byte_rate_is_wrong: false,
            block_align_is_wrong: false,
            extra_format: 0,
        }
    }

    fn u16(&self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn is_long(&self) -> bool {
        matches!(self.sizes, Sizes::Rf64 | Sizes::StreamedRf64)
    }

    fn chunk(&self, file: &mut Vec<u8>, tag: &[u8; 4], content: &[u8]) {
        file.extend(tag);
        file.extend(self.u32(u32::try_from(content.len()).unwrap()));
        file.extend(content);
        if content.len() % 2 == 1 {
            file.extend(self.pad);
        }
    }

    fn format(&self) -> Vec<u8> {
        let Self { width, channels, rate, .. } = *self;
        let frame = width.bytes() * channels;
        // Only the bytes of the frame tell of 24 bits in four bytes.
        let may_be_wrong = width != Width::I24In32;
        let byte_rate = rate.wrapping_mul(u32::from(frame)) + u32::from(self.byte_rate_is_wrong && may_be_wrong);
        let block_align = if self.block_align_is_wrong && may_be_wrong { 1 + frame } else { frame };
        let tag = if self.extensible { 0xFFFE } else { width.tag() };
        let mut format = [tag, channels].map(|value| self.u16(value)).concat();
        format.extend([rate, byte_rate].map(|value| self.u32(value)).concat());
        format.extend([block_align, width.bits()].map(|value| self.u16(value)).concat());
        if self.extensible {
            format.extend([22, width.bits()].map(|value| self.u16(value)).concat());
            let guid = [u32::from(width.tag()), 0x0010_0000, 0xAA00_0080, 0x719B_3800];
            format.extend([0].iter().chain(&guid).flat_map(|&value| self.u32(value)));
        }
        format.extend(vec![0; usize::from(self.extra_format)]);
        format
    }

    /// The size of the RIFF chunk, if it is not that of the file, and that of so many bytes of
    /// samples.
    fn header_sizes(&self, len: usize) -> (Option<u32>, u32) {
        let frame = u32::from(self.width.bytes()) * u32::from(self.channels);
        match self.sizes {
            Sizes::Right => (None, u32::try_from(len).unwrap()),
            Sizes::Stream(riff, data) => (Some(riff), data),
            Sizes::WholeFrames(data) => (Some(data - data % frame + 36), data - data % frame),
            Sizes::Rf64 | Sizes::StreamedRf64 => (Some(u32::MAX), u32::MAX),
        }
    }

    /// The file with these samples, and where the bytes of the samples are in it.
    fn write(&self, samples: &[u8]) -> (Vec<u8>, std::ops::Range<usize>) {
        let frame = u32::from(self.width.bytes()) * u32::from(self.channels);
        let len = u32::try_from(samples.len()).unwrap();
        let (riff_size, data_size) = self.header_sizes(samples.len());
        let mut file = match (self.is_long(), self.big_endian) {
            (true, _) => {
                if self.bw64 {
                    b"BW64"
                } else {
                    b"RF64"
                }
            }
            (false, true) => b"RIFX",
            (false, false) => b"RIFF",
        }
        .to_vec();
        file.extend([0; 4]);
        file.extend(b"WAVE");
        if self.is_long() {
            let is_known = self.sizes == Sizes::Rf64;
            let sizes = if is_known { [u64::from(len) + 100, u64::from(len), u64::from(len / frame)] } else { [0; 3] };
            let content = [sizes.map(u64::to_le_bytes).concat(), vec![0; 4]].concat();
            self.chunk(&mut file, b"ds64", &content);
        }
        let add = |file: &mut Vec<u8>, chunks: &[(&[u8; 4], u8)]| {
            for (tag, len) in chunks {
                // What looks like a chunk inside of one is none.
                let content: Vec<u8> = b"data\x04\0\0\0".iter().copied().cycle().take(usize::from(*len)).collect();
                self.chunk(file, tag, &content);
            }
        };
        add(&mut file, &self.before_format);
        self.chunk(&mut file, b"fmt ", &self.format());
        add(&mut file, &self.before_data);
        file.extend(b"data");
        file.extend(self.u32(data_size));
        let begin = file.len();
        file.extend(samples);
        let end = file.len();
        if matches!(self.sizes, Sizes::Right | Sizes::Rf64) {
            if samples.len() % 2 == 1 {
                file.extend(self.pad);
            }
            add(&mut file, &self.after_data);
        }
        let riff_size = riff_size.unwrap_or_else(|| u32::try_from(file.len() - 8).unwrap());
        file[4..8].copy_from_slice(&self.u32(riff_size));
        (file, begin..end)
    }

    /// The bytes of samples that come from any numbers, and their values; frames are whole.
    fn samples(&self, any: &[i32]) -> (Vec<u8>, Vec<f32>) {
        let whole = any.len() / usize::from(self.channels) * usize::from(self.channels);
        let written = any[..whole].iter().map(|&any| self.width.sample(self.big_endian && !self.is_long(), any));
        let (bytes, values): (Vec<_>, Vec<_>) = written.unzip();
        (bytes.concat(), values)
    }
}

fn chunks() -> impl Strategy<Value = Vec<(&'static [u8; 4], u8)>> {
    let tags = select(&[b"LIST", b"JUNK", b"fact", b"bext", b"PEAK", b"iXML", b"id3 ", b"cue ", b"FLLR"][..]);
    vec((tags, 0..40_u8), 0..3)
}

prop_compose! {
    fn variant()(
        width in select(&Width::ALL[..]),
        channels in select(&[1_u16, 2, 3, 6, 8, 16][..]),
        rate in select(&[8_000_u32, 11_025, 16_000, 44_100, 48_000, 192_000][..]),
        big_endian: bool,
        extensible: bool,
        sizes in prop_oneof![3 => Just(Sizes::Right), 1 => Just(Sizes::Rf64), 4 => select(&STREAMS[..])],
        bw64: bool,
        (before_format, before_data, after_data) in (chunks(), chunks(), chunks()),
        pad in select(&[Some(0_u8), None, Some(b' '), Some(0xFF)][..]),
        (byte_rate_is_wrong, block_align_is_wrong) in (prop::bool::weighted(0.1), prop::bool::weighted(0.1)),
        extra_format in 0..4_u8,
    ) -> Variant {
        let big_endian = big_endian && !matches!(sizes, Sizes::Rf64 | Sizes::StreamedRf64);
        Variant {
            width, channels, rate, big_endian, extensible, sizes, bw64, before_format, before_data, after_data, pad,
            byte_rate_is_wrong, block_align_is_wrong, extra_format,
        }
    }
}

pub(crate) fn read(bytes: &[u8]) -> Result<Recording, Error> {
    Recording::read(bytes, &ReadOptions::default())
}

pub(crate) fn read_truncated(bytes: &[u8]) -> Result<Recording, Error> {
    Recording::read(bytes, &ReadOptions::default().with_allow_truncated(true))
}

proptest! {
    #[test]
    fn a_recording_written_in_any_variant_reads_as_the_same_samples(
        variant in variant(),
        any in vec(any::<i32>(), 16..300),
    ) {
        let (bytes, expected) = variant.samples(&any);
        let (file, _) = variant.write(&bytes);
        let audio = read(&file[..]).unwrap();
        prop_assert_eq!((audio.samp_freq(), audio.num_channels()), (variant.rate as f32, usize::from(variant.channels)));
        prop_assert_eq!(audio.samples().to_vec(), expected);
        // In small pieces, as from a pipe.
        let pieces = Pieces { bytes: &file, size: 1 + any.len() % 7 };
        prop_assert_eq!(Recording::read(pieces, &ReadOptions::default()).unwrap(), audio);
    }

    #[test]
    fn kaldis_reader_takes_the_variants_of_16_bit_pcm_that_kaldi_takes(
        variant in variant(),
        any in vec(any::<i32>(), 16..300),
    ) {
        let (bytes, expected) = variant.samples(&any);
        let (file, _) = variant.write(&bytes);
        let is_contradictory = variant.byte_rate_is_wrong || variant.block_align_is_wrong;
        let is_kaldis = variant.width == Width::I16 && !variant.is_long() && !is_contradictory;
        match WaveData::read(&file[..]) {
            Err(error) => prop_assert!(!is_kaldis, "{error}"),
            Ok(wave) => {
                prop_assert!(is_kaldis);
                // What Kaldi takes for a stream goes to the end of the file.
                let read: Vec<f32> = wave.samples.iter().map(|&sample| f32::from(sample)).collect();
                prop_assert_eq!(&read[..expected.len()], &expected[..]);
                let info = WaveInfo::read(&file[..]).unwrap();
                let (riff, data) = variant.header_sizes(bytes.len());
                let is_stream = matches!(riff, Some(0 | u32::MAX)) || matches!(data, 0 | u32::MAX | 0x7FFF_F000);
                prop_assert_eq!(info.num_samples.is_none(), is_stream);
            }
        }
    }

    #[test]
    fn a_recording_cut_short_is_an_error_or_what_is_there(
        variant in variant(),
        any in vec(any::<i32>(), 16..100),
        cut: Index,
    ) {
        let (bytes, expected) = variant.samples(&any);
        let (file, samples) = variant.write(&bytes);
        let end = cut.index(samples.end);
        let is_stream = !matches!(variant.sizes, Sizes::Right | Sizes::Rf64);
        let frame = usize::from(variant.width.bytes() * variant.channels);
        let frames = end.saturating_sub(samples.start) / frame;
        let strict = read(&file[..end]);
        match read_truncated(&file[..end]) {
            Ok(audio) => {
                prop_assert_eq!(audio.samples().to_vec(), &expected[..frames * usize::from(variant.channels)]);
                prop_assert!(frames > 0);
                let is_truncated = matches!(strict, Err(Error::Truncated { found, .. }) if found == (end - samples.start) as u64);
                prop_assert!(is_truncated != is_stream);
            }
            Err(error) => {
                prop_assert_eq!(frames, 0, "{}", error);
                prop_assert!(strict.is_err());
            }
        }
    }

    #[test]
    fn no_damage_makes_it_panic(
        variant in variant(),
        any in vec(any::<i32>(), 0..40),
        spoilt in vec((any::<Index>(), any::<u8>()), 0..8),
        end: Index,
    ) {
        let (mut file, _) = variant.write(&variant.samples(&any).0);
        for (index, byte) in spoilt {
            let index = index.index(file.len());
            file[index] = byte;
        }
        file.truncate(end.index(file.len() + 1));
        if let Ok(audio) = read_truncated(&file[..]) {
            prop_assert!(audio.num_channels() > 0 && audio.num_samples() > 0);
            prop_assert_eq!(audio.samples().len(), audio.num_samples() * audio.num_channels());
            // ADPCM has two in a byte.
            prop_assert!(audio.samples().len() <= 2 * file.len());
        }
        let _ = WaveData::read(&file[..]);
    }
}

/// A stream that gives a few bytes at a time.
pub(crate) struct Pieces<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) size: usize,
}

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.size.min(buffer.len());
        self.bytes.read(&mut buffer[..most])
    }
}

/// A recording without a sample is an error; a list behind it is not taken for samples.
#[test]
fn chunks_behind_no_samples_are_no_samples() {
    let variant = Variant { channels: 2, after_data: vec![(b"LIST", 8), (b"id3 ", 3)], ..Variant::plain() };
    let (file, _) = variant.write(&[]);
    assert!(matches!(read(&file[..]), Err(Error::Wave(WaveError::Empty { .. }))));
    // Half a frame is none.
    let (file, _) = variant.write(&[1, 2]);
    assert!(matches!(read(&file[..]), Err(Error::Wave(WaveError::Empty { .. }))));
    // Kaldi's reader gives a recording without a sample then.
    let (file, samples) = Variant { channels: 2, ..Variant::plain() }.write(&[1, 2, 3, 4]);
    let wave = WaveData::read(&file[..samples.end - 2]).unwrap();
    assert_eq!((wave.num_channels, wave.num_samples(), wave.channel(1).len()), (2, 0, 0));
}

#[test]
fn headers_that_are_none_are_refused_with_what_is_wrong() {
    let plain = Variant::plain();
    let (file, _) = plain.write(&[1, 2, 3, 4]);
    let with = |offset: usize, value: u16| {
        let mut file = file.clone();
        file[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
        read(&file[..]).unwrap_err()
    };
    assert!(matches!(with(20, 0x55), Error::UnreadFormat { .. }));
    assert!(matches!(with(22, 0), Error::Layout { channels: 0, .. }));
    assert!(matches!(with(24, 0), Error::Layout { samp_freq: 0.0, .. }));
    assert!(matches!(with(34, 0), Error::UnreadFormat { .. }));
    assert!(matches!(with(34, 65), Error::UnreadFormat { .. }));
    assert!(matches!(with(16, 15), Error::Wave(WaveError::ShortFormat { size: 15 })));
    // The samples come first.
    let mut swapped = file.clone();
    let (format, data) = (b"fmt ", b"data");
    swapped[12..16].copy_from_slice(data);
    let data_at = file.windows(4).position(|bytes| bytes == data).unwrap();
    swapped[data_at..data_at + 4].copy_from_slice(format);
    let error = read(&swapped[..]).unwrap_err();
    assert!(
        matches!(error, Error::Wave(WaveError::Contradiction { .. })) && error.to_string().contains("before the fmt"),
        "{error}"
    );
    // More than any recording may have, in a header that only claims it.
    let long = Variant { sizes: Sizes::Rf64, ..plain };
    let (mut file, _) = long.write(&[1, 2]);
    file[28..36].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let error = read(&file[..]).unwrap_err();
    assert!(
        matches!(error, Error::Wave(WaveError::TooLong { .. })) && error.to_string().contains("8589934592"),
        "{error}"
    );
}

/// The bits of a sample are believed against one of the other two sizes, and against both of them
/// only if they are 16.
#[test]
fn bits_that_both_other_sizes_contradict_are_refused_unless_they_are_16() {
    let (file, _) = Variant { width: Width::U8, ..Variant::plain() }.write(&[7; 64]);
    for bits in 1..=64_u16 {
        let mut file = file.clone();
        file[34..36].copy_from_slice(&bits.to_le_bytes());
        match read(&file[..]) {
            Ok(audio) => assert!(bits <= 8 || bits == 16, "{bits}: {audio:?}"),
            Err(error) => {
                let expected = format!("1 bytes a frame for 1 channels of {bits} bits");
                assert!(bits > 8 && error.to_string().contains(&expected), "{bits}: {error}");
            }
        }
        // The byte rate alone contradicts them.
        let bytes = [1, 2, 3, 4, 8].into_iter().find(|&bytes| bits <= 8 * bytes).unwrap();
        file[32..34].copy_from_slice(&bytes.to_le_bytes());
        assert!(read(&file[..]).is_ok(), "{bits}");
    }
}

/// A WAV file of ADPCM of 16 kHz, one channel, whose `fmt ` chunk has a tail of its own.
fn adpcm(tag: u16, block_bytes: u16, block_samples: u16, tail: &[u8], blocks: &[u8]) -> Vec<u8> {
    let mut format = [tag, 1].map(u16::to_le_bytes).concat();
    format.extend([16_000_u32, 8_000].map(u32::to_le_bytes).concat());
    let extra = u16::try_from(2 + tail.len()).unwrap();
    format.extend([block_bytes, 4, extra, block_samples].map(u16::to_le_bytes).concat());
    format.extend(tail);
    let mut file = b"RIFF\0\0\0\0WAVE".to_vec();
    for (tag, content) in [(b"fmt ", &format[..]), (b"data", blocks)] {
        file.extend(tag);
        file.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        file.extend(content);
    }
    file
}

#[test]
fn blocks_of_adpcm_have_the_samples_that_their_bytes_hold() {
    const IMA: u16 = 0x11;
    // A head of four bytes, and 24 differences.
    let block: Vec<u8> = [&[0, 1, 20, 0][..], &[0x17, 0x93, 0x5A, 0x28].repeat(3)].concat();
    let blocks = block.repeat(3);
    let read = |block_bytes, block_samples| read(&adpcm(IMA, block_bytes, block_samples, &[], &blocks)[..]);
    let all = read(16, 25).unwrap();
    assert_eq!(all.num_samples(), 75);
    // 0 is none; a few less are those of a careless encoder, which other programs decode as well.
    assert_eq!(read(16, 0).unwrap(), all);
    assert_eq!(read(16, 24).unwrap(), all);
    // More cannot be, and so few are not those of these blocks.
    for (block_bytes, block_samples) in [(16, 26), (16, 12), (0, 25), (3, 1), (4, 25), (u16::MAX, 25)] {
        let error = read(block_bytes, block_samples).unwrap_err();
        assert!(
            matches!(error, Error::Wave(WaveError::Contradiction { .. })),
            "{block_bytes} {block_samples}: {error}"
        );
    }
}

#[test]
fn microsofts_adpcm_may_list_more_coefficients_than_it_uses() {
    const PAIRS: [[i16; 2]; 8] =
        [[256, 0], [512, -256], [0, 0], [192, 64], [240, 0], [460, -208], [392, -232], [100, 1]];
    let block = [&[5, 70, 0, 191, 254, 220, 5][..], &[0x17; 9]].concat();
    let read = |pairs: &[[i16; 2]], block: &[u8]| {
        let mut tail = u16::try_from(pairs.len()).unwrap().to_le_bytes().to_vec();
        tail.extend(pairs.as_flattened().iter().flat_map(|value| value.to_le_bytes()));
        read(&adpcm(2, 16, 20, &tail, block)[..])
    };
    let expected = read(&PAIRS[..7], &block).unwrap();
    assert_eq!(expected.num_samples(), 20);
    assert_eq!(read(&PAIRS, &block).unwrap(), expected);
    let mut damaged = block.clone();
    damaged[0] = 7;
    assert!(matches!(read(&PAIRS, &damaged), Err(Error::AdpcmBlock { block: 0, .. })));
    let mut own = PAIRS;
    own[0] = [255, 0];
    assert!(matches!(read(&own, &block), Err(Error::UnreadFormat { .. })));
}

#[test]
fn sound_fields_are_read_and_kaldis_reader_refuses_them() {
    let plain = Variant { extensible: true, ..Variant::plain() };
    let (mut file, _) = plain.write(&[1, 2, 3, 4]);
    let expected = read(&file[..]).unwrap();
    WaveData::read(&file[..]).unwrap();
    let at = file.windows(4).position(|bytes| bytes == [0, 0, 0x10, 0]).unwrap();
    // The rest of SUBTYPE_AMBISONIC_B_FORMAT_PCM, 00000001-0721-11d3-8644-c8c1ca000000.
    file[at..at + 12].copy_from_slice(b"\x21\x07\xD3\x11\x86\x44\xC8\xC1\xCA\0\0\0");
    assert_eq!(read(&file[..]).unwrap(), expected);
    assert!(matches!(WaveData::read(&file[..]), Err(WaveError::ExtensibleNotPcm)));
}
