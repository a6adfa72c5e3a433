//! Formats of audio by their first bytes, for those that are not read to be named.

use crate::Error;

/// Bytes that tell all of these formats.
pub const HEAD: usize = 64;

/// The name of the format of a file that begins with `head`, such as `WAV`, `FLAC` or `gzip`, whether
/// this build reads it or not; `None` for raw samples, text, and what else has no known beginning.
///
/// `head` should have the first [`FORMAT_HEAD`](super::FORMAT_HEAD) bytes, or all if there are fewer.
///
/// ```
/// use kaldera::pipeline::format_name;
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
        (Format::Other { name } | Format::Unread { name, .. }, _) => Some(name),
        (Format::Unknown, _) => None,
    }
}

/// What converts nearly everything.
const FFMPEG: &str = "ffmpeg -i FILE -f wav - |";
/// What converts the corpora of the LDC, also those that are compressed with shorten.
const SPH2PIPE: &str = "sph2pipe -f wav FILE |";

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// WAV, or another one whose samples are not compressed: `kaldi-io` reads it.
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
        /// What makes WAV of it.
        command: &'static str,
    },
    /// Nothing that is known here.
    Unknown,
}

impl Format {
    /// Of a file that begins with `head`, of which there should be [`HEAD`] bytes.
    pub(super) fn of(head: &[u8]) -> Self {
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
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => unread("MP4 (M4A)"),
            [0x1A, 0x45, 0xDF, 0xA3, ..] => unread("Matroska or WebM"),
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
            _ => Self::Unknown,
        }
    }

    /// Whether this is audio, as far as is known.
    pub(super) fn is_audio(self) -> bool {
        !matches!(self, Self::Unknown | Self::Unread { name: "gzip", .. })
    }

    /// The error of a format that is not read; `None` of one that is, or of none.
    pub(super) fn error(self) -> Option<Error> {
        match self {
            Self::Unread { name, command } => Some(Error::UnreadFormat { format: name.to_owned(), command }),
            #[cfg(feature = "opus")]
            Self::Opus => None,
            Self::Wave | Self::Other { .. } | Self::Unknown => None,
        }
    }
}

/// The error of a WAV file whose samples are of a kind that is not read.
pub(super) fn unread_wave(format: u16) -> Error {
    unread_encoding("WAV", &format!("samples of format {format:#06x}"))
}

/// The error of a file of a format that is read, whose samples are encoded in a way that is not.
pub(super) fn unread_encoding(container: &str, encoding: &str) -> Error {
    let command = if encoding.contains("shorten") { SPH2PIPE } else { FFMPEG };
    Error::UnreadFormat { format: format!("{container} with {encoding}"), command }
}

/// The error of bytes that are of no known format.
pub(super) fn not_audio(head: &[u8]) -> Error {
    if head.is_empty() {
        return Error::NotAudio { found: "nothing: there is not a single byte".to_owned() };
    }
    let shown = &head[..head.len().min(16)];
    Error::NotAudio { found: format!("'{}'", shown.escape_ascii()) }
}

/// Endings of audio files, for those in a folder that are named as such though nothing in them
/// tells what they are.
pub(super) const AUDIO_ENDINGS: &[&str] = &[
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
        assert_eq!(name(b"\0\0\0\x1cftypM4A "), "MP4 (M4A): ffmpeg -i FILE -f wav - |");
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
            b"RIFF....WEBP",
            b"KEY a.wav\n",
            b"\xFF\xFE1\0",
            // Transcripts.
            b"caffeine is not good for you",
            b"MAC ARTHUR SAID NO",
            b"MP+ IS A FORMAT",
            b"ID3 TAGS ARE READ",
            b".snd files",
            b"dns.example.org",
        ] {
            assert_eq!((Format::of(unknown), format_name(unknown)), (Format::Unknown, None), "{unknown:?}");
        }
    }
}
