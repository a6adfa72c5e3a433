//! Every format gives the samples that were written into it, and names what is wrong with it.

use kaldera_audio::{Error, ReadOptions, Recording, WaveSamples};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::variants::{Pieces, Width, read, read_truncated};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Aiff,
    Aifc,
    Au,
    Caf,
    Wave64,
    Sphere,
}

impl Container {
    const ALL: [Self; 6] = [Self::Aiff, Self::Aifc, Self::Au, Self::Caf, Self::Wave64, Self::Sphere];

    /// As errors name it.
    fn name(self) -> &'static str {
        match self {
            Self::Aiff | Self::Aifc => "AIFF",
            Self::Au => "Sun/NeXT AU",
            Self::Caf => "Core Audio Format",
            Self::Wave64 => "Sony Wave64",
            Self::Sphere => "NIST SPHERE",
        }
    }
}

/// One way to write a recording.
#[derive(Debug, Clone, Copy)]
struct Variant {
    container: Container,
    width: Width,
    big_endian: bool,
    channels: u32,
    rate: u32,
    /// Whether sizes are those of writers who cannot go back to the header.
    streamed: bool,
    /// Whether there are other chunks, of odd sizes, and longer headers.
    extra: bool,
}

impl Variant {
    const PLAIN: Self = Self {
        container: Container::Au,
        width: Width::I16,
        big_endian: true,
        channels: 1,
        rate: 16_000,
        streamed: false,
        extra: false,
    };

    /// Whether the format has that.
    fn is_possible(self) -> bool {
        use Width::{ALaw, F32, F64, I8, I16, I24, I24In32, I32, I64, MuLaw, U8};
        let is_pcm = matches!(self.width, I8 | I16 | I24 | I32);
        match self.container {
            _ if self.width == I24In32 => false,
            Container::Aiff => is_pcm && self.big_endian,
            Container::Aifc => match self.width {
                I8 | I16 | I24 | I32 => true,
                U8 | F32 | F64 | ALaw | MuLaw => self.big_endian,
                I24In32 | I64 => false,
            },
            Container::Au => !matches!(self.width, U8 | I64),
            Container::Caf => self.width != U8,
            Container::Wave64 => self.width != I8 && !self.big_endian,
            Container::Sphere => is_pcm || matches!(self.width, ALaw | MuLaw),
        }
    }

    fn frame(self) -> u32 {
        u32::from(self.width.bytes()) * self.channels
    }

    /// The file, and where its samples begin.
    fn write(self, samples: &[u8]) -> (Vec<u8>, usize) {
        match self.container {
            Container::Aiff | Container::Aifc => self.aiff(samples),
            Container::Au => self.au(samples),
            Container::Caf => self.caf(samples),
            Container::Wave64 => self.wave64(samples),
            Container::Sphere => self.sphere(samples),
        }
    }

    fn aiff(self, samples: &[u8]) -> (Vec<u8>, usize) {
        let is_compressed = self.container == Container::Aifc;
        let len = u32::try_from(samples.len()).unwrap();
        let frames = if self.streamed { 0 } else { len / self.frame() };
        let mut common = u16::try_from(self.channels).unwrap().to_be_bytes().to_vec();
        common.extend(frames.to_be_bytes());
        common.extend(self.width.bits().to_be_bytes());
        let shift = self.rate.leading_zeros();
        common.extend(u16::try_from(16_383 + 31 - shift).unwrap().to_be_bytes());
        common.extend(self.rate.checked_shl(shift).unwrap_or(0).to_be_bytes());
        common.extend([0; 4]);
        if is_compressed {
            let kind = match (self.width, self.big_endian) {
                (Width::U8, _) => b"raw ",
                (Width::F32, _) => b"fl32",
                (Width::F64, _) => b"fl64",
                (Width::ALaw, _) => b"alaw",
                (Width::MuLaw, _) => b"ulaw",
                (_, false) => b"sowt",
                (Width::I24, _) => b"in24",
                (Width::I32, _) => b"in32",
                (_, true) => b"NONE",
            };
            common.extend(kind);
            common.extend(b"\x05plain");
        }
        let mut file = b"FORM\0\0\0\0AIF".to_vec();
        file.push(if is_compressed { b'C' } else { b'F' });
        let chunk = |file: &mut Vec<u8>, tag: &[u8; 4], size: u32, content: &[u8]| {
            file.extend(tag);
            file.extend(size.to_be_bytes());
            file.extend(content);
        };
        if self.extra {
            chunk(&mut file, b"NAME", 3, b"abc\0");
        }
        chunk(&mut file, b"COMM", u32::try_from(common.len()).unwrap(), &common);
        let offset = if self.extra { 5 } else { 0 };
        let size = if self.streamed { 0 } else { 8 + offset + len };
        chunk(&mut file, b"SSND", size, &[offset.to_be_bytes(), [0; 4]].concat());
        file.extend(vec![1; usize::try_from(offset).unwrap()]);
        let begin = file.len();
        file.extend(samples);
        (file, begin)
    }

    fn au(self, samples: &[u8]) -> (Vec<u8>, usize) {
        let kind = match self.width {
            Width::MuLaw => 1,
            Width::I8 => 2,
            Width::I16 => 3,
            Width::I24 => 4,
            Width::I32 => 5,
            Width::F32 => 6,
            Width::F64 => 7,
            _ => 27,
        };
        let offset = if self.extra { 31 } else { 24 };
        let size = if self.streamed { u32::MAX } else { u32::try_from(samples.len()).unwrap() };
        let fields = [offset, size, kind, self.rate, self.channels];
        let order = |field: u32| if self.big_endian { field.to_be_bytes() } else { field.to_le_bytes() };
        let mut file = if self.big_endian { b".snd" } else { b"dns." }.to_vec();
        file.extend(fields.iter().flat_map(|&field| order(field)));
        file.resize(usize::try_from(offset).unwrap(), b' ');
        let begin = file.len();
        file.extend(samples);
        (file, begin)
    }

    fn caf(self, samples: &[u8]) -> (Vec<u8>, usize) {
        let kind = match self.width {
            Width::ALaw => b"alaw",
            Width::MuLaw => b"ulaw",
            _ => b"lpcm",
        };
        let flags = u32::from(matches!(self.width, Width::F32 | Width::F64)) + 2 * u32::from(!self.big_endian);
        let mut description = f64::from(self.rate).to_be_bytes().to_vec();
        description.extend(kind);
        for field in [flags, self.frame(), 1, self.channels, u32::from(self.width.bits())] {
            description.extend(field.to_be_bytes());
        }
        let mut file = b"caff\0\x01\0\0".to_vec();
        let chunk = |file: &mut Vec<u8>, tag: &[u8; 4], size: i64, content: &[u8]| {
            file.extend(tag);
            file.extend(size.to_be_bytes());
            file.extend(content);
        };
        chunk(&mut file, b"desc", 32, &description);
        if self.extra {
            chunk(&mut file, b"free", 3, b"abc");
        }
        let size = if self.streamed { -1 } else { i64::try_from(4 + samples.len()).unwrap() };
        chunk(&mut file, b"data", size, &[0; 4]);
        let begin = file.len();
        file.extend(samples);
        (file, begin)
    }

    fn wave64(self, samples: &[u8]) -> (Vec<u8>, usize) {
        const REST: &[u8; 12] = b"\xF3\xAC\xD3\x11\x8C\xD1\x00\xC0\x4F\x8E\xDB\x8A";
        let tag = match self.width {
            Width::F32 | Width::F64 => 3_u16,
            Width::ALaw => 6,
            Width::MuLaw => 7,
            _ => 1,
        };
        let channels = u16::try_from(self.channels).unwrap();
        let mut format = [tag, channels].map(u16::to_le_bytes).concat();
        format.extend([self.rate, self.rate.wrapping_mul(self.frame())].map(u32::to_le_bytes).concat());
        format.extend([u16::try_from(self.frame()).unwrap(), self.width.bits()].map(u16::to_le_bytes).concat());
        let mut file = b"riff\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\0\0\0\0\0\0\0\0\0\0wave".to_vec();
        file.extend(REST);
        let chunk = |file: &mut Vec<u8>, tag: &[u8; 4], size: usize, content: &[u8]| {
            file.extend(tag);
            file.extend(REST);
            file.extend((24 + size).to_le_bytes());
            file.extend(content);
            file.resize(file.len().next_multiple_of(8), 0);
        };
        if self.extra {
            chunk(&mut file, b"junk", 3, b"abc");
        }
        chunk(&mut file, b"fmt ", format.len(), &format);
        chunk(&mut file, b"data", if self.streamed { 1 << 62 } else { samples.len() }, &[]);
        let begin = file.len();
        file.extend(samples);
        (file, begin)
    }

    fn sphere(self, samples: &[u8]) -> (Vec<u8>, usize) {
        let coding = match self.width {
            Width::ALaw => "alaw",
            Width::MuLaw => "ulaw",
            _ => "pcm",
        };
        let bytes = usize::from(self.width.bytes());
        let order: String = "0123"[..bytes].chars().rev().collect();
        let order = if self.big_endian { &order } else { &"0123"[..bytes] };
        let size = if self.extra { 2048 } else { 1024 };
        let mut text = format!("NIST_1A\n{size:7}\nchannel_count -i {}\nsample_rate -i {}\n", self.channels, self.rate);
        if !self.streamed {
            text += &format!("sample_count -i {}\n", samples.len() / usize::try_from(self.frame()).unwrap().max(1));
        }
        text += &format!("sample_n_bytes -i {bytes}\nsample_byte_format -s{bytes} {order}\n");
        text += &format!("; a comment\nsample_coding -s{} {coding}\nend_head\nsample_rate -i 1\n", coding.len());
        let mut file = text.into_bytes();
        file.resize(size, b' ');
        file.extend(samples);
        (file, size)
    }
}

prop_compose! {
    fn variant()(
        container in select(&Container::ALL[..]),
        width in select(&[Width::U8, Width::I8, Width::I16, Width::I24, Width::I32, Width::I64, Width::F32, Width::F64, Width::ALaw, Width::MuLaw][..]),
        big_endian: bool,
        channels in select(&[1_u32, 2, 3, 6, 16][..]),
        rate in select(&[100_u32, 8_000, 11_025, 16_000, 44_100, 192_000][..]),
        streamed: bool,
        extra: bool,
    ) -> Variant {
        Variant { container, width, big_endian, channels, rate, streamed, extra }
    }
}

/// The bytes of whole frames of samples from any numbers, and their values.
fn samples(variant: Variant, any: &[i32]) -> (Vec<u8>, Vec<f32>) {
    let channels = usize::try_from(variant.channels).unwrap();
    let whole = any.len() / channels * channels;
    let written = any[..whole].iter().map(|&any| variant.width.sample(variant.big_endian, any));
    let (bytes, values): (Vec<_>, Vec<_>) = written.unzip();
    (bytes.concat(), values)
}

proptest! {
    #[test]
    fn every_format_gives_the_samples_written_into_it(
        variant in variant().prop_filter("not of that format", |variant| variant.is_possible()),
        any in vec(any::<i32>(), 16..200),
        cut: Index,
    ) {
        let (bytes, expected) = samples(variant, &any);
        let (file, begin) = variant.write(&bytes);
        let audio = read(&file[..]).unwrap();
        let channels = usize::try_from(variant.channels).unwrap();
        prop_assert_eq!((audio.samp_freq(), audio.num_channels()), (variant.rate as f32, channels));
        prop_assert_eq!(audio.samples().to_vec(), &expected[..]);
        // In small pieces, as from a pipe.
        let pieces = Pieces { bytes: &file, size: 1 + any.len() % 7 };
        prop_assert_eq!(Recording::read(pieces, &ReadOptions::default()).unwrap(), audio);

        let end = cut.index(file.len());
        let frames = end.saturating_sub(begin) / usize::try_from(variant.frame()).unwrap();
        let strict = read(&file[..end]);
        match read_truncated(&file[..end]) {
            Ok(audio) => {
                prop_assert!(frames > 0);
                prop_assert_eq!(audio.samples().to_vec(), &expected[..frames * channels]);
                let is_truncated = matches!(&strict, Err(Error::Truncated { format, .. }) if *format == variant.container.name());
                prop_assert!(is_truncated != variant.streamed);
            }
            Err(error) => {
                prop_assert_eq!(frames, 0, "{}", error);
                prop_assert!(strict.is_err());
                // With fewer bytes no format is recognised.
                let is_named = end < 12 || error.to_string().contains(variant.container.name());
                prop_assert!(is_named, "{}", error);
            }
        }
    }
}

#[test]
fn channels_and_rates_that_no_recording_has_are_refused_with_the_format() {
    for container in Container::ALL {
        for (channels, rate) in [(0, 16_000), (300, 16_000), (1, 0), (1, 1), (1, 10_000_000)] {
            let big_endian = container != Container::Wave64;
            let (file, _) =
                Variant { container, channels, rate, big_endian, streamed: true, ..Variant::PLAIN }.write(&[0; 1200]);
            let error = read(&file[..]).unwrap_err();
            assert!(matches!(error, Error::Layout { .. }), "{container:?}: {error}");
            let text = error.to_string();
            let parts = [container.name(), &format!("{channels} channels at {rate} Hz"), "copy or record it again"];
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
    }
}

#[test]
fn a_size_that_the_file_cannot_back_is_an_error_and_no_memory() {
    for container in Container::ALL {
        let big_endian = container != Container::Wave64;
        let variant = Variant { container, big_endian, ..Variant::PLAIN };
        let (mut file, begin) = variant.write(&[0; 100]);
        match container {
            Container::Aiff | Container::Aifc => {
                file[begin - 12..begin - 8].copy_from_slice(&0x7000_0000_u32.to_be_bytes());
                // The number of frames, unknown.
                let common = file.windows(4).position(|bytes| bytes == b"COMM").unwrap();
                file[common + 10..common + 14].fill(0);
            }
            Container::Au => file[8..12].copy_from_slice(&0x7000_0000_u32.to_be_bytes()),
            Container::Caf => file[begin - 12..begin - 4].copy_from_slice(&0x7000_0000_u64.to_be_bytes()),
            Container::Wave64 => file[begin - 8..begin].copy_from_slice(&0x7000_0000_u64.to_le_bytes()),
            Container::Sphere => {
                let at = file.windows(9).position(|bytes| bytes == b"count -i ").unwrap();
                let at = at + file[at + 9..].windows(9).position(|bytes| bytes == b"count -i ").unwrap() + 18;
                file[at..at + 2].copy_from_slice(b"9\n");
                file.splice(at + 1..at + 1, *b"99999999");
                file.truncate(1124);
            }
        }
        let error = read(&file[..]).unwrap_err();
        let is_truncated = matches!(error, Error::Truncated { expected, .. } if expected > 1 << 30);
        assert!(is_truncated, "{container:?}: {error}");
        let WaveSamples::I16(samples) = read_truncated(&file[..]).unwrap().into() else { panic!() };
        assert!(samples.capacity() < 1 << 22);
    }
}

#[test]
fn headers_that_contradict_themselves_and_samples_that_are_not_read_are_named() {
    let pcm = |container| Variant { container, ..Variant::PLAIN }.write(&[0; 100]).0;
    let replaced = |mut file: Vec<u8>, from: &[u8], to: &[u8]| {
        let at = file.windows(from.len()).position(|bytes| bytes == from).expect("it is there");
        file.splice(at..at + from.len(), to.iter().copied());
        file
    };
    let au = |at: usize, value: u32| {
        let mut file = pcm(Container::Au);
        file[at..at + 4].copy_from_slice(&value.to_be_bytes());
        file
    };
    for (file, parts) in [
        (replaced(pcm(Container::Aiff), b"AIFF", b"8SVX"), ["not audio", "8SVX"]),
        (
            replaced(pcm(Container::Aiff), &50_u32.to_be_bytes(), &51_u32.to_be_bytes()),
            ["AIFF header contradicts", "51"],
        ),
        (replaced(pcm(Container::Aifc), b"NONE", b"QDM2"), ["AIFF with samples", "QDM2"]),
        (replaced(pcm(Container::Aiff), b"COMM", b"COMX"), ["AIFF with samples before", "COMM"]),
        (au(12, 23), ["Sun/NeXT AU with samples", "kind 23"]),
        (au(4, 20), ["Sun/NeXT AU header contradicts", "byte 20"]),
        (replaced(pcm(Container::Caf), b"lpcm", b"aac "), ["Core Audio Format with", "aac "]),
        (
            replaced(pcm(Container::Caf), &[0, 0, 0, 2], &[0, 0, 0, 7]),
            ["Core Audio Format header contradicts", "7 bytes"],
        ),
        (replaced(pcm(Container::Caf), b"desc", b"desk"), ["Core Audio Format header contradicts", "desc"]),
        (replaced(pcm(Container::Wave64), &[1, 0, 1, 0], &[0x55, 0, 1, 0]), ["Sony Wave64 with", "0x0055"]),
        (replaced(pcm(Container::Wave64), b"wave", b"rave"), ["Sony Wave64 header contradicts", "GUID"]),
        (
            replaced(pcm(Container::Sphere), b"s3 pcm", b"s26 pcm,embedded-shorten-v2.00"),
            ["NIST SPHERE with", "shorten"],
        ),
        (replaced(pcm(Container::Sphere), b"s2 10", b"s2 11"), ["NIST SPHERE with", "'11'"]),
        (
            replaced(pcm(Container::Sphere), b"sample_byte_format", b"xample_byte_format"),
            ["contradicts", "sample_byte_format"],
        ),
        (replaced(pcm(Container::Sphere), b"sample_rate", b"xample_rate"), ["contradicts", "sample_rate"]),
        (replaced(pcm(Container::Sphere), b"   1024", b"   102x"), ["NIST SPHERE header contradicts", "102x"]),
    ] {
        let error = read(&file[..]).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
