//! Recordings from files, readers and commands.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use kaldera_base::setters;
use kaldi_io::WaveError;
use kaldi_io::rxfilename::{Input, Rxfilename, classify};

#[cfg(any(feature = "symphonia", feature = "opus"))]
use crate::compressed::most_samples;
use crate::error::Error;
use crate::formats::{self, Format};
#[cfg(feature = "opus")]
use crate::opus;
use crate::recording::Recording;
#[cfg(feature = "symphonia")]
use crate::symphonia;
use crate::uncompressed;

/// Options for reading recordings.
///
/// ```
/// use kaldera_audio::{Pipes, ReadOptions};
///
/// // For a list from somebody else: no command in it is run.
/// let options = ReadOptions::default().with_pipes(Pipes::Never);
/// assert!(!options.allow_truncated);
/// ```
///
/// By default truncated files are errors, and the commands of lists that were named are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct ReadOptions {
    /// If a file ends early, or cannot be decoded to its end, return the samples before that,
    /// with a warning. Otherwise it is an error.
    pub allow_truncated: bool,
    /// The lists whose commands, in the place of files, are run: `sox a.mp3 -t wav - |`.
    pub pipes: Pipes,
    /// Maximum number of samples of a recording, of all channels; more are an error. A compressed
    /// file is not decoded beyond them. `None` is only the limit for files of its size.
    pub max_samples: Option<u64>,
}

/// The lists whose commands are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Pipes {
    /// None.
    Never,
    /// Lists that were named, but not a `wav.scp` that was found in a folder.
    #[default]
    Named,
    /// All.
    Always,
}

setters! {
    ReadOptions:
    allow_truncated, with_allow_truncated: bool, "Sets [`allow_truncated`](Self::allow_truncated).";
    pipes, with_pipes: Pipes, "Sets [`pipes`](Self::pipes).";
    max_samples, with_max_samples: Option<u64>, "Sets [`max_samples`](Self::max_samples).";
}

impl Recording {
    /// Reads an audio file: WAV, AIFF, AU, CAF, Wave64 and NIST SPHERE of any width (see
    /// [`uncompressed`](crate::uncompressed)); with the feature `symphonia` also FLAC, MP3, Ogg
    /// Vorbis, MP4 and Matroska, with `opus` Ogg Opus, and with both also Opus in MP4 and Matroska.
    /// The format is recognised by the contents, not by the extension.
    ///
    /// # Errors
    /// [`Error::Recording`], with the file's name, if it cannot be opened or is no audio that
    /// this build reads to its end.
    #[doc(alias = "load")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        read_file(path, options).map_err(|source| Error::Recording { path: path.to_owned(), source: Box::new(source) })
    }

    /// Reads the bytes of an audio file from any reader, such as bytes in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open), without a name.
    pub fn read(mut reader: impl Read, options: &ReadOptions) -> Result<Self, Error> {
        read_stream(&mut reader, options)
    }

    /// Reads the recording that one of Kaldi's rxfilenames names: a file, a file with an offset, or
    /// a command with a pipe, which runs only if `options.pipes` is not [`Pipes::Never`]. If the
    /// command fails, its failure is the error, whatever it wrote before.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`kaldi_io::Error::PipeRefused`] and the errors of
    /// [`Input::open`].
    pub fn open_rxfilename(rxfilename: &str, options: &ReadOptions) -> Result<Self, Error> {
        if let Rxfilename::Pipe { command } = classify(rxfilename)?
            && options.pipes == Pipes::Never
        {
            return Err(kaldi_io::Error::PipeRefused { command: command.trim().to_owned() }.into());
        }
        let mut input = Input::open(rxfilename)?;
        let recording = read_stream(&mut input, options);
        input.finish()?;
        recording
    }
}

/// Enough to read a header at once; samples go past this buffer.
const HEADER_BYTES: usize = 1 << 10;

fn read_file(path: &Path, options: &ReadOptions) -> Result<Recording, Error> {
    let file = File::open(path).map_err(|source| Error::Open { source })?;
    read_stream(&mut BufReader::with_capacity(HEADER_BYTES, file), options)
}

/// Reads a file of samples; a compressed file is decoded, if this build can do that.
fn read_stream(reader: &mut dyn Read, options: &ReadOptions) -> Result<Recording, Error> {
    let recording = read_any(reader, options)?;
    recording.check()?;
    let samples = recording.num_samples() as u64 * recording.num_channels() as u64;
    match options.max_samples {
        Some(limit) if samples > limit => Err(Error::TooManySamples { limit }),
        _ => Ok(recording),
    }
}

fn read_any(reader: &mut dyn Read, options: &ReadOptions) -> Result<Recording, Error> {
    let mut head = Vec::new();
    reader.take(formats::FORMAT_HEAD as u64).read_to_end(&mut head).map_err(|source| Error::Open { source })?;
    let format = Format::of(&head);
    if let Some(error) = format.error() {
        return Err(error);
    }
    if format != Format::Wave {
        return read_other(format, head, reader, options);
    }
    let mut kept = Kept { head: &head, reader, bytes: Vec::new() };
    match uncompressed::read(&mut kept, options.allow_truncated) {
        Err(Error::Wave(WaveError::NotPcm { format })) => {
            let begin = kept.bytes;
            if begin.len() >= Kept::MOST {
                return Err(formats::unread_wave(format));
            }
            read_other(Format::Wave, begin, reader, options).map_err(|_| formats::unread_wave(format))
        }
        read => read,
    }
}

/// Decodes a compressed format; `begin` is the part already read.
#[cfg(any(feature = "symphonia", feature = "opus"))]
fn read_other(
    format: Format,
    begin: Vec<u8>,
    reader: &mut dyn Read,
    options: &ReadOptions,
) -> Result<Recording, Error> {
    /// It is decoded as a whole.
    const MOST_BYTES: u64 = 1 << 32;
    let mut bytes = begin;
    reader.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|source| Error::Open { source })?;
    if bytes.is_empty() {
        return Err(formats::not_audio(&bytes));
    }
    if bytes.len() as u64 > MOST_BYTES {
        return Err(WaveError::TooLong { limit: MOST_BYTES }.into());
    }
    let most = most_samples(bytes.len(), options.max_samples);
    match format {
        #[cfg(feature = "opus")]
        Format::Opus => opus::decode(&bytes, most, options.allow_truncated),
        #[cfg(feature = "symphonia")]
        _ => symphonia::decode(&bytes, most, options.allow_truncated),
        #[cfg(not(feature = "symphonia"))]
        _ => Err(formats::not_audio(&bytes)),
    }
}

/// Without a decoder.
#[cfg(not(any(feature = "symphonia", feature = "opus")))]
fn read_other(
    _format: Format,
    begin: Vec<u8>,
    _reader: &mut dyn Read,
    _options: &ReadOptions,
) -> Result<Recording, Error> {
    Err(formats::not_audio(&begin))
}

/// A file whose first bytes have been read, and are read again; it keeps enough bytes to pass the
/// file to another reader after its header.
struct Kept<'a> {
    head: &'a [u8],
    reader: &'a mut dyn Read,
    bytes: Vec<u8>,
}

impl Kept<'_> {
    /// The longest header up to the format of the samples.
    const MOST: usize = 1 << 16;
}

impl Read for Kept<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = if self.head.is_empty() { self.reader.read(buffer)? } else { self.head.read(buffer)? };
        let room = Self::MOST - self.bytes.len();
        self.bytes.extend_from_slice(&buffer[..read.min(room)]);
        Ok(read)
    }
}
