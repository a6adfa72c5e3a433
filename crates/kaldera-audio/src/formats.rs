//! Formats by their first bytes: audio formats, and others that are taken for audio by mistake,
//! so that errors can name the format of a file that is not read.

use crate::error::Error;

/// Number of bytes that identify all of these formats: a tar archive has a header of this size.
pub const FORMAT_HEAD: usize = 512;

/// The name of the format of a file that begins with `head`, such as `WAV`, `FLAC`, `gzip` or
/// `tar archive`, even if this build does not read it; `None` for raw samples, text, and all
/// others without a known beginning.
///
/// `head` should have the first [`FORMAT_HEAD`](crate::FORMAT_HEAD) bytes, or all if there are
/// fewer.
///
/// ```
/// use kaldera_audio::format_name;
///
/// assert_eq!(format_name(b"fLaC\0\0\0\x22"), Some("FLAC"));
/// assert_eq!(format_name(&[0; 64]), None);
/// ```
#[must_use]
pub fn format_name(head: &[u8]) -> Option<&'static str> {
    match (Format::of(head), head) {
        (Format::Wave, [b'F', ..]) => Some("AIFF"),
        (Format::Wave, [b'r', ..]) => Some("Wave64"),
        (Format::Wave, [b'.' | b'd' | 0, ..]) => Some("AU"),
        (Format::Wave, [b'N', ..]) => Some("NIST SPHERE"),
        (Format::Wave, [b'c', ..]) => Some("CAF"),
        (Format::Wave, [_, _, b'6', b'4', ..]) => Some("RF64"),
        (Format::Wave, _) => Some("WAV"),
        #[cfg(feature = "opus")]
        (Format::Opus, _) => Some("Opus"),
        (Format::Unread { name, .. }, _) if name.starts_with("Opus") => Some("Opus"),
        (Format::Other { name } | Format::Unread { name, .. } | Format::NoAudio { name, .. }, _) => Some(name),
        (Format::Unknown, _) => None,
    }
}

/// A command that converts nearly every format.
const FFMPEG: &str = "ffmpeg -i FILE -f wav - |";
/// A command that converts the corpora of the LDC, also those that are compressed with shorten.
const SPH2PIPE: &str = "sph2pipe -f wav FILE |";

/// The format of a file, recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// WAV, or another uncompressed format.
    Wave,
    /// Opus in Ogg, which this build reads.
    #[cfg(feature = "opus")]
    Opus,
    /// Of another format that this build reads.
    Other {
        /// Its name.
        name: &'static str,
    },
    /// Of a format that it does not.
    Unread {
        /// Its name.
        name: &'static str,
        /// A command that converts the file to WAV.
        command: &'static str,
    },
    /// A format that is not audio.
    NoAudio {
        /// Its name.
        name: &'static str,
        /// Advice for the user.
        remedy: &'static str,
    },
    /// Nothing that is known here.
    Unknown,
}

impl Format {
    /// The format of a file that begins with `head`, which should have [`FORMAT_HEAD`] bytes.
    pub(crate) fn of(head: &[u8]) -> Self {
        let unread = |name| Self::Unread { name, command: FFMPEG };
        let read = |name| if cfg!(feature = "symphonia") { Self::Other { name } } else { unread(name) };
        let contains = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
        match head {
            [b'R', b'I', b'F', b'F' | b'X', _, _, _, _, b'W', b'A', b'V', b'E', ..]
            | [b'R', b'F', b'6', b'4', _, _, _, _, b'W', b'A', b'V', b'E', ..]
            | [b'B', b'W', b'6', b'4', _, _, _, _, b'W', b'A', b'V', b'E', ..]
            | [b'r', b'i', b'f', b'f', 0x2E, 0x91, 0xCF, 0x11, ..]
            | [b'F', b'O', b'R', b'M', _, _, _, _, b'A', b'I', b'F', b'F' | b'C', ..]
            | [b'.', b's', b'n', b'd', 0, ..]
            | [b'd', b'n', b's', b'.', _, _, _, 0, ..]
            | [0, b'd', b's', b'.', ..]
            | [b'N', b'I', b'S', b'T', b'_', b'1', b'A', ..]
            | [b'c', b'a', b'f', b'f', 0, 1, ..] => Self::Wave,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'A', b'V', b'I', b' ', ..] => unread("AVI"),
            [b'#', b'!', b'A', b'M', b'R', ..] => unread("AMR"),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => read("MP4"),
            [0x1A, 0x45, 0xDF, 0xA3, ..] => read("Matroska or WebM"),
            [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, ..] => unread("Windows Media"),
            [b'w', b'v', b'p', b'k', ..] => unread("WavPack"),
            // With the version, as words may begin so: 3000 to 4351.
            [b'M', b'A', b'C', b' ', _, 0x0B..=0x10, ..] => unread("Monkey's Audio"),
            [b'T', b'T', b'A', b'1', ..] => unread("True Audio"),
            [b'M', b'P', b'C', b'K', ..] | [b'M', b'P', b'+', 0x07 | 0x17 | 0x27, ..] => unread("Musepack"),
            [b'.', b'R', b'M', b'F', ..] => unread("RealMedia"),
            [b'a', b'j', b'k', b'g', ..] => unread("Shorten"),
            [0x0B, 0x77, ..] => unread("AC-3"),
            [0x1F, 0x8B, ..] => Self::Unread { name: "gzip", command: "gunzip -c FILE |" },
            [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
                Self::Unread { name: "bzip2", command: "bunzip2 -c FILE |" }
            }
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Self::Unread { name: "xz", command: "xz -dc FILE |" },
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Self::Unread { name: "Zstandard", command: "zstd -dc FILE |" },
            [0x04, 0x22, 0x4D, 0x18, ..] => Self::Unread { name: "LZ4", command: "lz4 -dc FILE |" },
            #[cfg(feature = "opus")]
            [b'O', b'g', b'g', b'S', ..] if contains(b"OpusHead") => Self::Opus,
            #[cfg(not(feature = "opus"))]
            [b'O', b'g', b'g', b'S', ..] if contains(b"OpusHead") => {
                unread("Opus (a build with the feature opus reads it)")
            }
            [b'O', b'g', b'g', b'S', ..] if contains(b"Speex   ") => unread("Speex"),
            [b'O', b'g', b'g', b'S', ..] => read("Ogg"),
            [b'f', b'L', b'a', b'C', ..] => read("FLAC"),
            [b'I', b'D', b'3', 2..=4, ..] => read("MP3"),
            [b'C', b'r', b'e', b'a', b't', b'i', b'v', b'e', b' ', b'V', b'o', b'i', b'c', b'e', ..] => {
                unread("Creative Voice")
            }
            // A sync word, and the layer: none is AAC in ADTS.
            [0xFF, second, ..] if second & 0xF6 == 0xF0 => unread("AAC"),
            [0xFF, second, ..] if second & 0xE6 == 0xE2 => read("MP3"),
            [0xFF, second, ..] if second & 0xE6 == 0xE4 => unread("MPEG audio of layer II"),
            _ => Self::other(head),
        }
    }

    /// The format of a file that is no audio.
    fn other(head: &[u8]) -> Self {
        let named = |name, remedy| Self::NoAudio { name, remedy };
        let begins = |text: &[u8]| head.len() >= text.len() && head[..text.len()].eq_ignore_ascii_case(text);
        match head {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] | [b'P', b'K', 7, 8, ..] => {
                named("zip archive", "unpack it (unzip FILE), and name the files that were in it")
            }
            _ if is_tar(head) => named("tar archive", "unpack it (tar -xf FILE), and name the files that were in it"),
            [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => {
                named("7z archive", "unpack it (7z x FILE), and name the files that were in it")
            }
            [b'R', b'a', b'r', b'!', 0x1A, 7, ..] => {
                named("RAR archive", "unpack it (unrar x FILE), and name the files that were in it")
            }
            _ if is_table(head) => named(
                "Kaldi archive",
                "name its index, the .scp file that was written with it (features are read from it as ark:FILE)",
            ),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => named("NumPy array", NO_SAMPLES),
            [0x89, b'H', b'D', b'F', b'\r', b'\n', 0x1A, b'\n', ..] => named("HDF5 file", NO_SAMPLES),
            [b'P', b'A', b'R', b'1', ..] => named("Parquet file", NO_SAMPLES),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => named("PNG picture", REMOVE),
            [0xFF, 0xD8, 0xFF, ..] => named("JPEG picture", REMOVE),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => named("GIF picture", REMOVE),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => named("WebP picture", REMOVE),
            [0x7F, b'E', b'L', b'F', ..] => named("program (ELF)", REMOVE),
            [b'M', b'T', b'h', b'd', 0, 0, 0, 6, ..] => named("MIDI file", "it has notes and no samples: remove it"),
            _ if begins(b"%PDF-") => named("PDF document", REMOVE),
            _ if begins(b"SQLite format 3\0") => named("SQLite database", REMOVE),
            _ if begins(b"version https://git-lfs.github.com/spec/") => {
                named("pointer of Git LFS", "get the file that it stands for: git lfs pull")
            }
            _ if begins(b"<!doctype html") || begins(b"<html") => {
                named("web page (HTML)", "download the file itself: this may be a page that says why it was refused")
            }
            _ if begins(b"<?xml ") => named("XML file", REMOVE),
            _ => Self::Unknown,
        }
    }

    /// Returns `true` if this is audio, as far as is known.
    pub(crate) fn is_audio(self) -> bool {
        match self {
            Self::Unread { command, .. } => matches!(command, FFMPEG | SPH2PIPE),
            Self::NoAudio { .. } | Self::Unknown => false,
            _ => true,
        }
    }

    /// The error of a format that is not read; `None` of one that is, or of none.
    pub(crate) fn error(self) -> Option<Error> {
        match self {
            Self::Unread { name, command } => Some(Error::UnreadFormat { format: name.to_owned(), command }),
            Self::NoAudio { name, remedy } => Some(Error::NotAudio { found: format!("it is a {name}"), remedy }),
            #[cfg(feature = "opus")]
            Self::Opus => None,
            Self::Wave | Self::Other { .. } | Self::Unknown => None,
        }
    }
}

/// Returns `true` if a file that begins with `head` is of an audio format, even if this build does
/// not read it.
#[must_use]
pub fn is_audio(head: &[u8]) -> bool {
    Format::of(head).is_audio()
}

/// The error of a file that begins with `head`; `None` if this build reads its format.
#[must_use]
pub fn format_error(head: &[u8]) -> Option<Error> {
    match Format::of(head) {
        Format::Unknown => Some(not_audio(head)),
        format => format.error(),
    }
}

/// The error of a WAV file with unsupported samples.
pub(crate) fn unread_wave(format: u16) -> Error {
    unread_encoding("WAV", &format!("samples of format {format:#06x}"))
}

/// The error of a file of a supported format with an unsupported encoding.
pub(crate) fn unread_encoding(container: &str, encoding: &str) -> Error {
    let command = if encoding.contains("shorten") { SPH2PIPE } else { FFMPEG };
    Error::UnreadFormat { format: format!("{container} with {encoding}"), command }
}

/// The error of bytes that are of no known format.
pub(crate) fn not_audio(head: &[u8]) -> Error {
    let head = &head[..head.len().min(FORMAT_HEAD)];
    let shown = &head[..head.len().min(16)];
    let (found, remedy) = if head.is_empty() {
        ("there is not a single byte in it".to_owned(), REMOVE)
    } else if is_text(head) {
        let remedy = "name the audio itself; lists of recordings end in .scp (KEY FILE) or .jsonl (lhotse)";
        (format!("it is text, and begins with '{}'", shown.escape_ascii()), remedy)
    } else {
        (format!("it begins with '{}', as no format that is known here", shown.escape_ascii()), REMOVE)
    };
    Error::NotAudio { found, remedy }
}

/// Advice for files that should not be there.
const REMOVE: &str = "remove it, or copy it again";
/// For files of numbers.
const NO_SAMPLES: &str = "write its samples as WAV";

/// Returns `true` if this is the header of a tar archive: its checksum is right, even if an old
/// program wrote no name of the format.
fn is_tar(head: &[u8]) -> bool {
    /// Position of the checksum; its bytes count as blanks.
    const CHECKSUM: std::ops::Range<usize> = 148..156;
    let Some(header) = head.first_chunk::<512>() else { return false };
    let digits = header[CHECKSUM].iter().skip_while(|byte| **byte == b' ').take_while(|byte| byte.is_ascii_digit());
    let stated = digits.fold(0_u32, |sum, digit| 8 * sum + u32::from(digit & 7));
    let sum = header.iter().enumerate().map(|(at, &byte)| if CHECKSUM.contains(&at) { 32 } else { u32::from(byte) });
    header[0] != 0 && stated == sum.sum::<u32>()
}

/// Returns `true` if this is the beginning of a binary archive of Kaldi's: a key, a blank and an
/// object.
fn is_table(head: &[u8]) -> bool {
    let key = head.iter().take_while(|byte| byte.is_ascii_graphic()).count();
    let object = head.get(key + 1..).unwrap_or_default();
    let is_object = [&b"\0B"[..], b"RIFF", b"NIST_1A", b"fLaC", b"OggS"].iter().any(|begin| object.starts_with(begin));
    key > 0 && head.get(key) == Some(&b' ') && is_object
}

/// Returns `true` if this is text, which may be cut within its last character.
fn is_text(head: &[u8]) -> bool {
    let is_cut = |error: std::str::Utf8Error| error.error_len().is_none();
    let is_mark = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    head.iter().all(is_mark) && std::str::from_utf8(head).map_or_else(is_cut, |_| true)
}

/// Extensions of audio files, for files in a folder that are named as such though their contents
/// do not identify them.
pub const AUDIO_ENDINGS: &[&str] = &[
    "3gp", "aac", "ac3", "aif", "aifc", "aiff", "alac", "amr", "ape", "au", "awb", "caf", "dss", "flac", "gsm", "m4a",
    "m4b", "mka", "mp2", "mp3", "mp4", "oga", "ogg", "opus", "ra", "snd", "sph", "spx", "tta", "voc", "vox", "w64",
    "wav", "wave", "webm", "wma", "wv",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let name = |head: &[u8]| match Format::of(head).error() {
            Some(Error::UnreadFormat { format, command }) => format!("{format}: {command}"),
            _ => format!("{:?}", Format::of(head)),
        };
        let opus = name(b"OggS\0\x02\0\0\0\0\0\0\0\0\xA2\x4D\x01\x3C\0\0\0\0\xB8\x6D\x0B\xAD\x01\x13OpusHead");
        if cfg!(feature = "opus") {
            assert_eq!(opus, "Opus");
        } else {
            assert_eq!(opus, "Opus (a build with the feature opus reads it): ffmpeg -i FILE -f wav - |");
        }
        let mp4 = name(b"\0\0\0\x1cftypM4A ");
        assert_eq!(mp4.starts_with("MP4: ffmpeg"), cfg!(not(feature = "symphonia")), "{mp4}");
        for (wave, name) in [
            (&b"RIFF....WAVE"[..], "WAV"),
            (b"RIFX....WAVE", "WAV"),
            (b"RF64....WAVE", "RF64"),
            (b"BW64....WAVE", "RF64"),
            (b"riff\x2E\x91\xCF\x11", "Wave64"),
            (b"FORM....AIFF", "AIFF"),
            (b"FORM....AIFC", "AIFF"),
            (b".snd\0\0\0\x18", "AU"),
            (b"dns.\x18\0\0\0", "AU"),
            (b"\0ds.", "AU"),
            (b"caff\0\x01\0\0", "CAF"),
            (b"NIST_1A\n   1024\n", "NIST SPHERE"),
        ] {
            assert_eq!((Format::of(wave), format_name(wave)), (Format::Wave, Some(name)), "{wave:?}");
        }
        let begins = [(&b"fLaC"[..], "FLAC"), (b"ID3\x04", "MP3"), (b"wvpk", "WavPack"), (b"\x1F\x8B\x08", "gzip")];
        for (begin, name) in begins {
            assert_eq!(format_name(begin), Some(name));
        }
        assert_eq!(name(b"MAC \x96\x0F\0\0"), "Monkey's Audio: ffmpeg -i FILE -f wav - |");
        assert_eq!(name(b"MP+\x07"), "Musepack: ffmpeg -i FILE -f wav - |");
        for unknown in [
            &b""[..],
            b"R",
            b"RIFF....XXXX",
            b"KEY a.wav\n",
            b"\xFF\xFE1\0",
            // Transcripts.
            b"caffeine is not good for you",
            b"MAC ARTHUR SAID NO",
            b"MP+ IS A FORMAT",
            b"ID3 TAGS ARE READ",
            b".snd files",
            b"dns.example.org",
            b"PK",
            b"PK is a king",
            b"BZh is no name",
            b"key RIF",
            b"word",
            b"word ",
            b" RIFF....WAVE",
            &[0; 512],
            &[b' '; 512],
        ] {
            assert_eq!((Format::of(unknown), format_name(unknown)), (Format::Unknown, None), "{unknown:?}");
        }
    }

    /// The header of a tar archive, with the name of the format or without.
    fn tar(magic: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..9].copy_from_slice(b"clips/a.w");
        header[124..135].copy_from_slice(b"00000176444");
        header[148..156].fill(b' ');
        header[257..257 + magic.len()].copy_from_slice(magic);
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    }

    #[test]
    fn what_is_no_audio_is_named_with_what_to_do() {
        let error = |head: &[u8]| Format::of(head).error().unwrap_or_else(|| not_audio(head)).to_string();
        for (head, expected) in [
            (&tar(b"ustar\x0000")[..], ["tar archive", "tar -xf"]),
            (&tar(b""), ["tar archive", "tar -xf"]),
            (b"PK\x03\x04\x14\0", ["zip archive", "unzip"]),
            (b"BZh91AY&SY", ["bzip2", "bunzip2 -c FILE |"]),
            (b"\xFD7zXZ\0", ["xz", "xz -dc FILE |"]),
            (b"7z\xBC\xAF\x27\x1C\0\x04", ["7z archive", "7z x"]),
            (b"%PDF-1.7", ["PDF", "remove"]),
            (b"<!DOCTYPE HTML>", ["HTML", "download"]),
            (b"version https://git-lfs.github.com/spec/v1\noid", ["Git LFS", "git lfs pull"]),
            (b"utt1 RIFF\x24\0\0\0WAVEfmt ", ["Kaldi archive", ".scp"]),
            (b"utt1 \0BFM \x04", ["Kaldi archive", ".scp"]),
            ("a text: \u{e4}".as_bytes(), ["it is text", "name the audio"]),
            ("a text: \u{e4}".as_bytes().split_last().unwrap().1, ["it is text", "name the audio"]),
            (b"a\0b", ["as no format", "copy it again"]),
            (b"", ["not a single byte", "copy it again"]),
        ] {
            let (error, is_audio) = (error(head), Format::of(head).is_audio());
            assert!(!is_audio && expected.iter().all(|part| error.contains(part)), "{error}");
        }
        // A byte that is not as the checksum has it.
        let mut spoilt = tar(b"ustar");
        spoilt[0] += 1;
        assert_eq!(Format::of(&spoilt), Format::Unknown);
    }
}
