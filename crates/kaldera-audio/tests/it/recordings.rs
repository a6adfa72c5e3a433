//! Recordings as they are found: of other formats, chained, cut short, damaged.

use std::fs;
use std::path::Path;

use kaldera_audio::{Error, ReadOptions, Recording, WaveData};
use tempfile::TempDir;

/// 0.3 s of a tone at 16 kHz, one channel, as sox 14.4.2 writes it.
#[cfg(feature = "symphonia")]
const OGG: &[u8] = include_bytes!("audio/tone.ogg");
#[cfg(feature = "symphonia")]
const FLAC: &[u8] = include_bytes!("audio/tone.flac");

fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn open(path: &Path) -> Result<Recording, Error> {
    Recording::open(path)
}

fn truncated(path: &Path) -> Result<Recording, Error> {
    Recording::open_with(path, &ReadOptions::default().with_allow_truncated(true))
}

fn wav(num_samples: usize) -> Vec<u8> {
    let samples = (0..num_samples).map(|i| i16::try_from(i % 2000).unwrap()).collect();
    let mut bytes = Vec::new();
    WaveData { samp_freq: 16_000.0, num_channels: 1, samples }.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_wav_file_that_is_cut_short_is_an_error_unless_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a.wav", &wav(1000)[..1044]);
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("a.wav: truncated") && error.contains("2000 bytes") && error.contains("1000"), "{error}");
    assert_eq!(truncated(&path).unwrap().num_samples(), 500);
}

/// One sample of 1 at 8 kHz.
fn sphere(coding: &str) -> Vec<u8> {
    let fields = "sample_count -i 1\nsample_rate -i 8000\nsample_n_bytes -i 2\nsample_byte_format -s2 10";
    let mut bytes =
        format!("NIST_1A\n   1024\n{fields}\nsample_coding -s{} {coding}\nend_head\n", coding.len()).into_bytes();
    bytes.resize(1024, b' ');
    bytes.extend([0, 1]);
    bytes
}

#[test]
fn contents_tell_the_format_and_not_the_ending() {
    let folder = tempfile::tempdir().unwrap();
    // As TIMIT has it.
    let path = file(&folder, "SA1.WAV", &sphere("pcm"));
    let recording = open(&path).unwrap();
    assert_eq!((recording.samp_freq(), &recording.samples()[..]), (8000.0, &[1.0][..]));
    // A sample is missing.
    let mut au = b".snd\0\0\0\x18\0\0\0\x04\0\0\0\x03\0\0\x3E\x80\0\0\0\x01\0\x07".to_vec();
    let path = file(&folder, "cut.txt", &au);
    let error = open(&path).unwrap_err().to_string();
    assert!(
        error.contains("cut.txt: truncated") && error.contains("Sun/NeXT AU") && error.contains("4 bytes"),
        "{error}"
    );
    assert_eq!(truncated(&path).unwrap().samples()[..], [7.0]);
    au.extend([0, 8]);
    assert_eq!(open(&file(&folder, "cut.txt", &au)).unwrap().samples()[..], [7.0, 8.0]);
}

#[test]
fn formats_that_are_not_read_are_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut adpcm = wav(100);
    adpcm[20] = 0x17;
    for (bytes, expected) in [
        (&sphere("pcm,embedded-shorten-v2.00")[..], ["NIST SPHERE", "sph2pipe -f wav FILE |"]),
        (&sphere("pcm")[..100], ["NIST SPHERE header", "copy or record it again"]),
        (b".snd\0\0\0\x18\0\0\0\x02\0\0\0\x17\0\0\x3E\x80\0\0\0\x01", ["Sun/NeXT AU", "ffmpeg -i FILE -f wav - |"]),
        (b".snd\0\0\0\x18\0\0\0\x02\0\0\0\x03\0\0\0\x01\0\0\0\x01", ["Sun/NeXT AU", "1 channels at 1 Hz"]),
        (b"wvpk.....", ["WavPack", "ffmpeg -i FILE -f wav - |"]),
        (b"#!AMR\n", ["AMR", "ffmpeg -i FILE -f wav - |"]),
        (&adpcm, ["0x0017", "ffmpeg -i FILE -f wav - |"]),
        (b"hello", ["it is text, and begins with 'hello'", "name the audio"]),
        (b"hello\x01", ["it begins with 'hello\\x01'", "copy it again"]),
        (b"", ["not audio", "not a single byte"]),
        (b"PK\x03\x04....", ["not audio: it is a zip archive", "unzip"]),
    ] {
        let error = open(&file(&folder, "x", bytes)).unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    }
}

/// The seeds of the fuzz test are files of all formats and widths.
#[test]
fn files_of_all_formats_are_errors_when_cut_short_or_empty() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/__fuzz__/recordings/corpus");
    let read = |bytes: &[u8]| Recording::read(bytes, &ReadOptions::default());
    for seed in fs::read_dir(seeds).unwrap() {
        let path = seed.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        // Of headers alone, and of formats that this build does not read.
        let Ok(whole) = read(&bytes) else { continue };
        for len in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
            match read(&bytes[..len]) {
                // Bytes behind the samples may be missing, and a stream ends where it ends.
                Ok(part) => assert!(
                    part == whole || path.to_string_lossy().ends_with("stream"),
                    "{} of {len} bytes: {part:?} of {whole:?}",
                    path.display()
                ),
                Err(Error::NotAudio { .. }) => assert!(len < 12, "{} of {len} bytes", path.display()),
                Err(error) => {
                    let error = error.to_string();
                    let has_remedy = ["copy", "ffmpeg", "sph2pipe"].iter().any(|remedy| error.contains(remedy));
                    assert!(has_remedy, "{} of {len} bytes: {error}", path.display());
                }
            }
        }
    }
}

#[test]
fn wav_of_other_widths_is_read_on_the_scale_of_16_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("float.wav");
    let (samples, rate) = ([0.5_f32, -1.0, 0.25], 8000_u32);
    let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0".to_vec();
    bytes.extend(rate.to_le_bytes());
    bytes.extend((rate * 4).to_le_bytes());
    bytes.extend(b"\x04\0\x20\0data\x0c\0\0\0");
    bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    let size = u32::try_from(bytes.len() - 8).unwrap();
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!((recording.num_channels(), recording.samp_freq()), (1, 8000.0));
    assert_eq!(*recording.samples(), [16_384.0, -32_768.0, 8192.0]);
    assert_eq!(*recording.samples_i16().unwrap(), [16_384, -32_768, 8192]);
}

#[test]
fn the_debug_of_a_recording_is_short() {
    let text = format!("{:?}", Recording::from_i16(vec![7; 100_000], 16_000.0));
    assert_eq!(text, "Recording(100000 16-bit samples x 1 channels at 16000 Hz)");
}

#[cfg(feature = "symphonia")]
mod decoded {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    #[test]
    fn chained_streams_are_one_recording() {
        let folder = tempfile::tempdir().unwrap();
        let once = open(&file(&folder, "once.ogg", OGG)).unwrap();
        assert_eq!((once.num_channels(), once.samp_freq()), (1, 16_000.0));
        let twice = open(&file(&folder, "twice.ogg", &[OGG, OGG].concat())).unwrap();
        assert_eq!(twice.num_samples(), 2 * once.num_samples());
        assert_eq!(twice.samples()[once.num_samples()..], *once.samples());
    }

    #[test]
    fn what_is_cut_short_is_an_error_unless_it_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        for bytes in [OGG, FLAC, &[OGG, OGG].concat()] {
            let whole = open(&file(&folder, "whole", bytes)).unwrap();
            // Ninths, as a half of two streams is a whole one.
            for part in 1..9 {
                let path = file(&folder, "cut", &bytes[..bytes.len() * part / 9]);
                let error = open(&path).expect_err("a part").to_string();
                let expected = ["cut: ", if bytes == FLAC { "FLAC" } else { "Ogg" }, "copy it again"];
                assert!(expected.iter().all(|part| error.contains(part)), "{error}");
                if let Ok(recording) = truncated(&path) {
                    let samples = recording.samples();
                    assert!(samples.len() < whole.num_samples() && !samples.is_empty());
                    assert_eq!(samples[..], whole.samples()[..samples.len()], "{part}");
                }
            }
        }
    }

    /// 0.5 s of 440 Hz at 16 kHz, 18 pages with 16 of audio, as ffmpeg 5.1 writes it with libvorbis.
    const PAGES: &[u8] = include_bytes!("audio/pages.ogg");
    /// The same with libmp3lame: 16 frames of 72 bytes, and before them one that tells how many.
    const MP3: &[u8] = include_bytes!("audio/tone.mp3");
    /// 0.3 s, by ffmpeg to a pipe: 9 frames of 576 samples, and nothing tells how many.
    const STREAM: &[u8] = include_bytes!("audio/stream.flac");

    fn read(bytes: &[u8]) -> Result<Recording, Error> {
        Recording::read(bytes, &ReadOptions::default())
    }

    /// Asserts that `bytes` are an error that tells what and where, and gives what comes before the
    /// damage of `whole` where that is allowed. Returns how many samples that are.
    #[track_caller]
    fn damaged(bytes: &[u8], whole: &Recording, expected: &[&str]) -> usize {
        let error = read(bytes).expect_err("damage").to_string();
        let remedies = ["copy it again", "`allow_truncated`"];
        assert!(expected.iter().chain(&remedies).all(|part| error.contains(part)), "{error}");
        let Ok(before) = Recording::read(bytes, &ReadOptions::default().with_allow_truncated(true)) else { return 0 };
        let len = before.num_samples();
        assert!(len < whole.num_samples());
        assert_eq!(before.samples()[..], whole.samples()[..len]);
        len
    }

    /// Where the pages of an Ogg file begin, and its end.
    fn ogg_pages(bytes: &[u8]) -> Vec<usize> {
        (0..=bytes.len()).filter(|&at| at == bytes.len() || bytes[at..].starts_with(b"OggS")).collect()
    }

    #[test]
    fn a_page_of_ogg_that_is_missing_or_spoilt_is_an_error_unless_it_is_allowed() {
        let whole = read(PAGES).unwrap();
        assert_eq!(whole.num_samples(), 8000);
        let pages = ogg_pages(PAGES);
        assert_eq!(pages.len(), 19);
        let mut taken = Vec::new();
        for (number, page) in pages.windows(2).enumerate().skip(1) {
            let missing = [&PAGES[..page[0]], &PAGES[page[1]..]].concat();
            let len = damaged(&missing, &whole, &["Ogg"]);
            let mut spoilt = PAGES.to_vec();
            spoilt[page[1] - 1] ^= 1;
            let what = format!("the page at byte {} has a wrong checksum", page[0]);
            assert_eq!(damaged(&spoilt, &whole, &["damaged Ogg", &what]), len, "{number}");
            spoilt[page[0]..page[1]].fill(0);
            assert_eq!(damaged(&spoilt, &whole, &["Ogg"]), len, "{number}");
            taken.push(len);
        }
        // All but the packet that the next page would overlap.
        assert!(taken.is_sorted() && taken[16] > 7000, "{taken:?}");
        let missing = [&PAGES[..pages[5]], &PAGES[pages[6]..]].concat();
        damaged(&missing, &whole, &[&format!("the page at byte {} is number 6, where 5 should follow", pages[5])]);
    }

    #[test]
    fn what_is_between_whole_pages_or_behind_them_is_no_damage() {
        let whole = read(PAGES).unwrap();
        let pages = ogg_pages(PAGES);
        for at in [pages[7], PAGES.len()] {
            let junk = [&PAGES[..at], &[0; 500], &PAGES[at..]].concat();
            assert_eq!(read(&junk).unwrap(), whole);
        }
        let chained = read(&[PAGES, OGG, PAGES].concat()).unwrap();
        assert_eq!(chained.num_samples(), 2 * 8000 + 4800);
        assert_eq!(chained.samples()[12_800..], *whole.samples());
        // Its last page is missing, and another file follows.
        let chained = [&PAGES[..pages[17]], OGG].concat();
        damaged(&chained, &read(&[PAGES, OGG].concat()).unwrap(), &["truncated", "Ogg"]);
    }

    #[test]
    fn a_hole_in_mp3_is_an_error_unless_it_is_allowed() {
        let whole = read(MP3).unwrap();
        assert_eq!(whole.num_samples(), 8000);
        let begin = MP3.windows(2).position(|bytes| bytes == [0xFF, 0xF3]).unwrap();
        let first = MP3.len() - 16 * 72;
        // With and without what tells how many frames there are.
        let bare = [&MP3[..begin], &MP3[first..]].concat();
        let all = read(&bare).unwrap();
        assert_eq!(all.num_samples(), 16 * 576, "with the padding");
        for frame in 3..10 {
            for (len, offset) in [(1, 0), (100, 10), (300, 70)] {
                let spoil = |bytes: &[u8], at: usize| {
                    let mut bytes = bytes.to_vec();
                    bytes[at..at + len].fill(0);
                    bytes
                };
                let at = frame * 72 + offset;
                damaged(&spoil(MP3, first + at), &whole, &["damaged MP3", "no frame begins at byte"]);
                let len = damaged(&spoil(&bare, begin + at), &all, &["damaged MP3", "no frame begins at byte"]);
                assert_eq!(len, 576 * ((at - 1) / 72), "{at}");
            }
        }
        // Frames are missing.
        let missing = [&MP3[..first + 4 * 72], &MP3[first + 7 * 72..]].concat();
        let error = read(&missing).unwrap_err().to_string();
        assert!(error.contains("its MP3 header promises 16 frames, but there are 13"), "{error}");
    }

    #[test]
    fn mp3_files_that_are_joined_are_one_recording() {
        let once = read(MP3).unwrap();
        let tag = [&b"TAG"[..], &[b' '; 125]].concat();
        let joined = read(&[MP3, &tag, MP3, &tag].concat()).unwrap();
        assert_eq!(joined.num_samples(), 16_000);
        assert_eq!(
            [&joined.samples()[..8000], &joined.samples()[8000..]].map(<[f32]>::to_vec),
            [(); 2].map(|()| once.samples().to_vec())
        );
    }

    #[test]
    fn a_hole_in_flac_of_unknown_length_is_an_error_unless_it_is_allowed() {
        let whole = read(STREAM).unwrap();
        assert_eq!(whole.num_samples(), 4800);
        let tagged = [STREAM, b"TAG", &[b' '; 125]].concat();
        assert_eq!(read(&tagged).unwrap(), whole);
        let frames: Vec<_> = (0..STREAM.len()).filter(|&at| STREAM[at..].starts_with(&[0xFF, 0xF8, 0x25])).collect();
        assert!(frames.len() >= 8, "{frames:?}");
        for (number, frame) in frames.windows(2).enumerate() {
            let mut hole = STREAM.to_vec();
            hole[frame[0] + 30..frame[0] + 60].fill(0);
            let what = format!("sample {} follows where sample {} should", 576 * (number + 1), 576 * number);
            assert_eq!(damaged(&hole, &whole, &["damaged FLAC", &what]), 576 * number);
        }
        let mut hole = STREAM.to_vec();
        let at = STREAM.len() - 20;
        hole[at] ^= 1;
        damaged(&hole, &whole, &["truncated", "FLAC"]);
        assert_eq!(read(&[STREAM, STREAM].concat()).unwrap().num_samples(), 9600);
    }

    #[test]
    fn tags_and_other_streams_behind_flac_are_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let whole = open(&file(&folder, "whole.flac", FLAC)).unwrap();
        let id3 = [&b"TAG"[..], &[b' '; 125]].concat();
        let mut ape = b"APETAGEX\xD0\x07\0\0\x2A\0\0\0\x01\0\0\0\0\0\0\xA0\0\0\0\0\0\0\0\0".to_vec();
        ape.extend(b"\x01\0\0\0\0\0\0\0A\0");
        ape.extend_from_within(..32);
        for tag in [&id3[..], &ape, &[&ape[..], &id3].concat(), &[0; 1000]] {
            let tagged = file(&folder, "tagged.flac", &[FLAC, tag].concat());
            assert_eq!(open(&tagged).unwrap(), whole, "{tag:?}");
        }
        let twice = open(&file(&folder, "twice.flac", &[FLAC, &id3, FLAC].concat())).unwrap();
        assert_eq!([&twice.samples()[..4800], &twice.samples()[4800..]], [&whole.samples()[..]; 2]);
        // A number of samples in the header that is too small, 1 of 36 bits, loses none of them.
        let few = [&FLAC[..21], &[FLAC[21] & 0xF0, 0, 0, 0, 1], &FLAC[26..]].concat();
        assert_eq!(open(&file(&folder, "few.flac", &few)).unwrap(), whole);
    }

    #[test]
    fn what_a_decoder_refuses_is_told_with_file_format_and_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let mut damaged = OGG.to_vec();
        damaged[OGG.len() / 2] ^= 0x10;
        let path = file(&folder, "damaged", &damaged);
        let error = open(&path).unwrap_err().to_string();
        let expected = ["damaged: ", "Ogg", "copy it again", "ffmpeg -i FILE"];
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    }

    #[test]
    fn a_rate_that_no_recording_has_is_refused_with_file_and_format() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = [&FLAC[..18], &[0, 0, 0x10], &FLAC[21..]].concat();
        let error = open(&file(&folder, "strange", &bytes)).unwrap_err().to_string();
        let expected = ["strange: ", "FLAC", "at 1 Hz", "copy or record it again"];
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(
            original in 0..4_usize,
            spoilt in vec((any::<Index>(), any::<u8>()), 1..6),
            end: Index,
            allow_truncated: bool,
        ) {
            let mut bytes = [OGG, FLAC, MP3, STREAM][original].to_vec();
            for (index, byte) in spoilt {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            bytes.truncate(bytes.len() - end.index(bytes.len() / 4));
            // Either is right; that it ends in one of them is the test.
            let _ = Recording::read(&bytes[..], &ReadOptions::default().with_allow_truncated(allow_truncated));
        }
    }
}

/// Files of ffmpeg 5.1: half a second of 440 Hz at 16 kHz.
#[cfg(feature = "symphonia")]
mod containers_of_tracks {
    use super::*;

    /// AAC, by libavcodec's encoder: 1024 samples before the tone, the index behind the samples.
    const M4A: &[u8] = include_bytes!("audio/tone.m4a");
    /// The same with the index in front.
    const FASTSTART: &[u8] = include_bytes!("audio/faststart.m4a");
    /// AAC and a video of 16 x 16 pixels.
    const VIDEO: &[u8] = include_bytes!("audio/video.mp4");
    const VORBIS: &[u8] = include_bytes!("audio/vorbis.webm");

    fn read(bytes: &[u8]) -> Result<Recording, Error> {
        Recording::read(bytes, &ReadOptions::default())
    }

    /// Amplitude of the tone, and energy of all that is no tone, relative to it.
    fn tone(recording: &Recording) -> (f64, f64) {
        let step = 440.0 / f64::from(recording.samp_freq()) * std::f64::consts::TAU;
        let samples = recording.samples();
        let inner = &samples[samples.len() / 4..samples.len() * 3 / 4];
        let scale = 2.0 / inner.len() as f64;
        let (mut sine, mut cosine, mut energy) = (0.0, 0.0, 0.0);
        for (i, &sample) in inner.iter().enumerate() {
            let (sin, cos) = (i as f64 * step).sin_cos();
            sine += f64::from(sample) * sin * scale;
            cosine += f64::from(sample) * cos * scale;
            energy += f64::from(sample).powi(2) * scale;
        }
        let power = sine * sine + cosine * cosine;
        (power.sqrt(), energy / power - 1.0)
    }

    #[test]
    fn tracks_have_the_samples_that_are_heard() {
        for (bytes, num_samples) in [(M4A, 8000), (FASTSTART, 8000), (VIDEO, 8000), (VORBIS, 8064)] {
            let recording = read(bytes).unwrap();
            assert_eq!((recording.num_channels(), recording.samp_freq()), (1, 16_000.0));
            assert_eq!(recording.num_samples(), num_samples);
            let (amplitude, rest) = tone(&recording);
            assert!((amplitude / 4096.0 - 1.0).abs() < 0.05 && rest.abs() < 0.02, "{amplitude} {rest}");
        }
        assert_eq!(read(M4A).unwrap(), read(FASTSTART).unwrap());
    }

    #[test]
    fn tracks_that_are_cut_short_are_errors_or_their_beginnings() {
        for bytes in [M4A, FASTSTART, VIDEO, VORBIS] {
            let whole = read(bytes).unwrap();
            let mut longest = 0;
            for len in (0..bytes.len()).step_by(11) {
                let error = read(&bytes[..len]).expect_err("a part").to_string();
                assert!(len < 12 || error.contains("copy it again"), "{error}");
                let allowed = Recording::read(&bytes[..len], &ReadOptions::default().with_allow_truncated(true));
                let Ok(part) = allowed else { continue };
                longest = longest.max(part.num_samples());
                assert!(part.num_samples() < whole.num_samples() || len + 100 > bytes.len());
                assert_eq!(part.samples()[..], whole.samples()[..part.num_samples()]);
            }
            // An index behind the samples is missing.
            assert_eq!(longest > 4000, bytes != M4A && bytes != VIDEO, "{longest}");
        }
    }

    #[test]
    fn boxes_in_boxes_without_end_are_no_recursion() {
        let bytes = [&b"\0\0\0\x0cftypM4A "[..], &b"\0\0\0\0moov".repeat(20_000)].concat();
        assert!(read(&bytes).is_err());
        // Tags behind all boxes are no damage.
        for tag in [&b"\n"[..], &[&b"TAG"[..], &[b' '; 125]].concat()] {
            assert_eq!(read(&[M4A, tag].concat()).unwrap(), read(M4A).unwrap());
        }
    }

    #[test]
    fn spoilt_blocks_of_matroska_are_damage() {
        let whole = read(VORBIS).unwrap();
        // A block in the middle: its identifier, its length and its flags.
        let blocks: Vec<usize> = (0..VORBIS.len()).filter(|&at| VORBIS[at..].starts_with(&[0xA3])).collect();
        let mut refused = 0;
        for at in blocks {
            for (offset, value) in [(0, 0xAB), (0, 0x99)] {
                let mut bytes = VORBIS.to_vec();
                bytes[at + offset] = value;
                match read(&bytes) {
                    Ok(found) => assert_eq!(found.num_samples(), whole.num_samples(), "{at}"),
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 10, "{refused}");
    }

    #[test]
    fn a_block_of_matroska_that_is_skipped_leaves_a_gap() {
        let files = [VORBIS, include_bytes!("audio/tone.webm")];
        for bytes in if cfg!(feature = "opus") { &files[..] } else { &files[..1] } {
            let whole = read(bytes).unwrap();
            let find = |id: &[u8]| bytes.windows(4).position(|found| found == id).unwrap() + 4;
            let (segment, cluster) = (find(b"\x18\x53\x80\x67"), find(b"\x1F\x43\xB6\x75"));
            // The size of the cluster has two bytes, its time three, blocks have sizes of one byte or two.
            let mut blocks = vec![cluster + 2 + 3];
            while let Some(&at) = blocks.last().filter(|at| bytes[**at] == 0xA3) {
                let (first, second) = (usize::from(bytes[at + 1]), usize::from(bytes[at + 2]));
                let size = if first < 0x80 { (first - 0x40) * 256 + second + 3 } else { first - 0x80 + 2 };
                blocks.push(at + size);
            }
            blocks.pop();
            assert!(blocks.len() > 5, "{blocks:?}");
            // The first packet of Vorbis has no samples, so that a gap behind it is not known.
            for &at in &blocks[2..blocks.len() - 1] {
                let mut skipped = bytes.to_vec();
                skipped[at] = 0xEC;
                let error = read(&skipped).unwrap_err().to_string();
                assert!(error.contains("s are missing before") && error.contains("copy it again"), "{error}");
                let options = ReadOptions::default().with_allow_truncated(true);
                let part = Recording::read(&skipped[..], &options).unwrap();
                assert_eq!(part.samples()[..], whole.samples()[..part.num_samples()]);
                // An element that was there in addition is no damage.
                let mut more = bytes.to_vec();
                more.splice(at..at, [0xEC, 0x81, 0]);
                // The index says where the elements were; one byte is its size.
                let index = find(b"\x11\x4D\x9B\x74");
                more[index - 4..=index].copy_from_slice(&[0xEC, 0x10, 0, 0, bytes[index] & 0x7F]);
                // The segment has a size of eight bytes.
                for place in [segment + 6, cluster] {
                    let size = u16::from_be_bytes(*bytes[place..].first_chunk().unwrap());
                    more[place..place + 2].copy_from_slice(&(size + 3).to_be_bytes());
                }
                assert_eq!(read(&more).unwrap(), whole);
            }
        }
    }

    #[test]
    fn an_edit_list_that_is_too_short_is_damage() {
        let at = M4A.windows(4).position(|kind| kind == b"elst").unwrap();
        let mut bytes = M4A.to_vec();
        // Two entries in place of one.
        bytes[at + 8..at + 12].copy_from_slice(&2_u32.to_be_bytes());
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains("MP4") && error.contains("a box of a wrong size"), "{error}");
    }

    #[cfg(feature = "opus")]
    #[test]
    fn opus_in_webm_has_the_samples_that_were_encoded() {
        let bytes = include_bytes!("audio/tone.webm");
        let recording = read(bytes).unwrap();
        assert_eq!((recording.num_samples(), recording.samp_freq()), (24_000, 48_000.0));
        let (amplitude, rest) = tone(&recording);
        assert!((amplitude / 4096.0 - 1.0).abs() < 0.1 && rest.abs() < 0.05, "{amplitude} {rest}");
        // The samples that only fill the encoder are left out once.
        assert_eq!(read(include_bytes!("audio/opus.mp4")).unwrap(), recording);
    }
}

#[cfg(feature = "opus")]
mod opus {
    use super::*;

    /// 0.3 s of 440 Hz at an eighth of full scale, one channel, as ffmpeg writes it with libopus;
    /// 312 samples of pre-skip.
    const OPUS: &[u8] = include_bytes!("audio/tone.opus");
    const SAMPLES: usize = 14_400;

    #[test]
    fn a_tone_is_what_was_encoded() {
        let folder = tempfile::tempdir().unwrap();
        let recording = open(&file(&folder, "tone.opus", OPUS)).unwrap();
        assert_eq!((recording.num_channels(), recording.samp_freq()), (1, 48_000.0));
        assert_eq!(recording.num_samples(), SAMPLES, "pre-skip and the end are cut off");
        // At 12 kbit/s, away from the ends: the energy, and next to nothing beside the tone.
        let turns = |i: usize| (i as f64 * 440.0 / 48_000.0 * std::f64::consts::TAU).sin_cos();
        let samples = recording.samples();
        let (mut sine, mut cosine, mut energy) = (0.0, 0.0, 0.0);
        for (i, &sample) in samples.iter().enumerate().skip(2400).take(9600) {
            let (sin, cos) = turns(i);
            sine += f64::from(sample) * sin / 4800.0;
            cosine += f64::from(sample) * cos / 4800.0;
            energy += f64::from(sample).powi(2) / 4800.0;
        }
        assert!((sine.hypot(cosine) / 4096.0 - 1.0).abs() < 0.1, "{sine} {cosine}");
        assert!(energy < 1.05 * (sine * sine + cosine * cosine), "{energy}");
    }

    #[test]
    fn chained_streams_are_one_recording() {
        let folder = tempfile::tempdir().unwrap();
        let once = open(&file(&folder, "once", OPUS)).unwrap();
        let twice = open(&file(&folder, "twice", &[OPUS, OPUS].concat())).unwrap();
        assert_eq!(twice.num_samples(), 2 * SAMPLES);
        assert_eq!(twice.samples()[SAMPLES..], *once.samples());
    }

    #[test]
    fn a_tag_behind_the_last_page_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let whole = open(&file(&folder, "whole", OPUS)).unwrap();
        let tagged = [OPUS, b"TAG", &[b' '; 125]].concat();
        assert_eq!(open(&file(&folder, "tagged", &tagged)).unwrap(), whole);
        // What may be another stream is no tag.
        for rest in [&OPUS[..100], &[&b"x"[..], OPUS].concat(), b"  Og"] {
            assert!(open(&file(&folder, "damaged", &[OPUS, rest].concat())).is_err());
        }
    }

    /// A page with whole packets of less than 255 bytes; its checksum is yet to be set.
    fn page(flags: u8, granule: u64, sequence: u32, packets: &[&[u8]]) -> Vec<u8> {
        let mut page = b"OggS\0".to_vec();
        page.push(flags);
        page.extend(granule.to_le_bytes());
        page.extend([1, 0, 0, 0]);
        page.extend(sequence.to_le_bytes());
        page.extend([0; 4]);
        page.push(u8::try_from(packets.len()).unwrap());
        page.extend(packets.iter().map(|packet| u8::try_from(packet.len()).unwrap()));
        page.extend(packets.concat());
        page
    }

    #[test]
    fn granules_may_leave_a_gap_and_may_not_decrease() {
        let head = b"OpusHead\x01\x01\0\0\x80\xBB\0\0\0\0\0";
        let tags = b"OpusTags\0\0\0\0\0\0\0\0";
        // 20 ms without a frame, at which the decoder conceals.
        let silence: &[u8] = &[0x78];
        let read = |granules: [u64; 3]| {
            let pages = [
                page(2, 0, 0, &[head]),
                page(0, 0, 1, &[tags]),
                page(0, granules[0], 2, &[silence]),
                page(0, granules[1], 3, &[silence]),
                page(4, granules[2], 4, &[silence]),
            ];
            let bytes = crate::ogg::with_checksums(pages.concat());
            Recording::read(&bytes[..], &ReadOptions::default())
        };
        assert_eq!(read([960, 1920, 2880]).unwrap().num_samples(), 2880);
        assert_eq!(read([960, 1920, 2000]).unwrap().num_samples(), 2000);
        assert_eq!(read([960, 9600, 10_560]).unwrap().num_samples(), 2880);
        let error = read([960, 1920, 0]).unwrap_err().to_string();
        assert!(error.contains("up to sample 0 after one up to 1920"), "{error}");
    }

    #[test]
    fn a_stream_without_audio_is_refused() {
        let head = b"OpusHead\x01\x01\0\0\x80\xBB\0\0\0\0\0";
        let tags = b"OpusTags\0\0\0\0\0\0\0\0";
        let bytes = crate::ogg::with_checksums([page(2, 0, 0, &[head]), page(4, 0, 1, &[tags])].concat());
        let error = Recording::read(&[OPUS, &bytes].concat()[..], &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("a stream without audio"), "{error}");
    }

    #[test]
    fn what_is_cut_short_or_damaged_is_an_error_unless_it_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let whole = open(&file(&folder, "whole", OPUS)).unwrap();
        for len in (1..OPUS.len()).step_by(7) {
            let path = file(&folder, "cut", &OPUS[..len]);
            let error = open(&path).expect_err("a part").to_string();
            assert!(error.contains("cut: "), "{error}");
            if let Ok(recording) = truncated(&path) {
                assert_eq!(recording.samples()[..], whole.samples()[..recording.num_samples()], "{len}");
            }
        }
        // Checksums see each damage.
        for at in (0..OPUS.len()).step_by(3) {
            let mut bytes = OPUS.to_vec();
            bytes[at] ^= 0x10;
            assert!(Recording::read(&bytes[..], &ReadOptions::default()).is_err(), "{at}");
        }
    }
}
