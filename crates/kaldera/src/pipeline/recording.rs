//! The samples of a recording, from wherever they are.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use kaldi_feat::{Audio, PolyphaseResample, Resamplers, Samples, check_resampled};
use kaldi_io::rxfilename::{Input, Rxfilename, classify};
use kaldi_io::wave::{WaveAudio, WaveData, WaveError, WaveSamples};

use crate::Error;
use crate::pipeline::channel::ChannelChoice;
#[cfg(feature = "symphonia")]
use crate::pipeline::decode;
use crate::pipeline::formats::{self, Format};
use crate::pipeline::inputs::{Source, Span, Utterance};
use crate::pipeline::one_channel::OneChannel;
#[cfg(feature = "opus")]
use crate::pipeline::opus;

/// Samples of all channels, frame by frame with the channels of a frame side by side, on the scale
/// of 16-bit integers, -32768 to 32767.
///
/// ```
/// use kaldera::Recording;
/// use kaldera::io::wave::WaveData;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("stereo.wav");
/// let samples = (0..8000).flat_map(|i: i16| [i % 100, -1]).collect();
/// WaveData { samp_freq: 8000.0, num_channels: 2, samples }.write(&mut std::fs::File::create(&path)?)?;
///
/// let recording = Recording::open(&path)?;
/// assert_eq!((recording.num_channels(), recording.num_samples(), recording.samp_freq()), (2, 8000, 8000.0));
/// assert_eq!(recording.samples()[..4], [0.0, -1.0, 1.0, -1.0]);
/// assert_eq!(recording.channel(0)?.samples()[..2], [0.0, 1.0]);
/// assert_eq!(recording.mean().samples()[..2], [-0.5, 0.0]);
///
/// let left = recording.channel(0)?;
/// let audio = left.audio()?; // for extraction, of one channel
/// assert_eq!(audio.samples.len(), 8000);
/// # Ok::<(), kaldera::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Recording {
    samples: WaveSamples,
    num_channels: usize,
    samp_freq: f32,
}

impl Recording {
    /// Reads an audio file: WAV, AIFF, AU, CAF, Wave64 and NIST SPHERE of any width (see
    /// [`WaveAudio`]); with the feature `symphonia` also FLAC, MP3 and Ogg Vorbis, with `opus`
    /// Ogg Opus. The format is recognised by the contents, not by the extension.
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

    /// One channel of 16-bit samples.
    #[must_use]
    pub fn from_i16(samples: Vec<i16>, samp_freq: f32) -> Self {
        Self { samples: WaveSamples::I16(samples), num_channels: 1, samp_freq }
    }

    /// One channel of samples on the scale of 16-bit integers, -32768 to 32767.
    #[must_use]
    pub fn from_f32(samples: Vec<f32>, samp_freq: f32) -> Self {
        Self::interleaved(samples, 1, samp_freq)
    }

    /// Several channels, interleaved.
    pub(super) fn interleaved(samples: Vec<f32>, num_channels: usize, samp_freq: f32) -> Self {
        Self { samples: WaveSamples::F32(samples), num_channels, samp_freq }
    }

    /// Rejects values that no file should have, and no caller pass.
    fn check(&self) -> Result<(), Error> {
        let Self { num_channels, samp_freq, .. } = *self;
        if num_channels == 0 || samp_freq <= 0.0 || !samp_freq.is_finite() {
            return Err(Error::NoRate { channels: num_channels, samp_freq });
        }
        let WaveSamples::F32(samples) = &self.samples else { return Ok(()) };
        match Samples::F32(samples).first_not_finite() {
            Some(i) => {
                let (sample, channel) = (i / num_channels, i % num_channels);
                Err(Error::NotFiniteSample { sample, channel, value: samples[i] })
            }
            None => Ok(()),
        }
    }

    /// Samples per second, Hz.
    #[must_use]
    #[doc(alias = "sample_rate")]
    pub fn samp_freq(&self) -> f32 {
        self.samp_freq
    }

    /// The number of channels.
    #[must_use]
    pub fn num_channels(&self) -> usize {
        self.num_channels
    }

    /// Samples per channel.
    #[must_use]
    pub fn num_samples(&self) -> usize {
        self.samples.len().checked_div(self.num_channels).unwrap_or(0)
    }

    /// Length in seconds.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.num_samples() as f32 / self.samp_freq
    }

    /// All samples, interleaved: sample `i` of channel `c` is at `i * num_channels + c`.
    #[must_use]
    pub fn samples(&self) -> Cow<'_, [f32]> {
        match &self.samples {
            WaveSamples::I16(samples) => samples.iter().map(|&sample| f32::from(sample)).collect(),
            WaveSamples::F32(samples) => Cow::Borrowed(samples),
        }
    }

    /// All samples as integers, in the order of [`samples`](Self::samples); `None` unless each is
    /// a whole number of 16 bits, as in 16-bit WAV and FLAC files.
    #[must_use]
    pub fn samples_i16(&self) -> Option<Cow<'_, [i16]>> {
        match &self.samples {
            WaveSamples::I16(samples) => Some(Cow::Borrowed(samples)),
            WaveSamples::F32(samples) => samples.iter().map(|&sample| whole(sample)).collect(),
        }
    }

    /// One channel as a separate recording, counted from 0.
    ///
    /// # Errors
    /// [`Error::NoSuchChannel`].
    pub fn channel(&self, channel: usize) -> Result<Self, Error> {
        if channel >= self.num_channels {
            return Err(Error::NoSuchChannel { channel, channels: self.num_channels });
        }
        let samples = match &self.samples {
            WaveSamples::I16(samples) => WaveSamples::I16(pick(samples, self.num_channels, channel)),
            WaveSamples::F32(samples) => WaveSamples::F32(pick(samples, self.num_channels, channel)),
        };
        Ok(Self { samples, num_channels: 1, samp_freq: self.samp_freq })
    }

    /// The channels mixed down to one: the mean of the samples of each moment.
    #[must_use]
    pub fn mean(&self) -> Self {
        if self.num_channels <= 1 {
            return self.clone();
        }
        let mut mean = Vec::new();
        self.one(None, 0..self.num_samples()).samples(&mut mean);
        Self::from_f32(mean, self.samp_freq)
    }

    /// The input of most models: the [`mean`](Self::mean) of the channels,
    /// [resampled](Self::resample) to `samp_freq` Hz. It takes less time and memory than one
    /// after the other.
    ///
    /// ```
    /// use kaldera::Recording;
    /// use kaldera::io::wave::WaveData;
    ///
    /// let stereo = WaveData { samp_freq: 44_100.0, num_channels: 2, samples: vec![100; 88_200] };
    /// let mono = Recording::from(stereo).into_mono(16_000.0)?;
    /// assert_eq!((mono.num_channels(), mono.num_samples()), (1, 16_000));
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`resample`](Self::resample).
    #[doc(alias = "load")]
    pub fn into_mono(self, samp_freq: f32) -> Result<Self, Error> {
        match Resamplers::new(samp_freq).get(self.samp_freq)? {
            Some(resampler) => self.resampled_mean(&resampler),
            None if self.num_channels == 1 => Ok(self),
            None => Ok(self.mean()),
        }
    }

    fn resampled_mean(&self, resampler: &Arc<PolyphaseResample>) -> Result<Self, Error> {
        let mut samples = Vec::new();
        self.one(None, 0..self.num_samples()).resample_into(resampler, &mut samples)?;
        Ok(Self::from_f32(samples, resampler.samp_rate_out() as f32))
    }

    /// A channel within `range`, or the mean of all; both must be there.
    fn one(&self, channel: Option<usize>, range: Range<usize>) -> OneChannel<'_> {
        let range = range.start * self.num_channels..range.end * self.num_channels;
        let samples = match &self.samples {
            WaveSamples::I16(samples) => Samples::I16(&samples[range]),
            WaveSamples::F32(samples) => Samples::F32(&samples[range]),
        };
        OneChannel::new(samples, self.num_channels, channel)
    }

    /// The samples within `range`, which must be there, of the channel that `utterance` names, or
    /// else of `choice`.
    pub(crate) fn channel_of(
        &self,
        utterance: &Utterance,
        choice: ChannelChoice,
        range: Range<usize>,
    ) -> Result<OneChannel<'_>, Error> {
        let channels = self.num_channels;
        let channel = match utterance.channel.map_or(choice, ChannelChoice::One) {
            ChannelChoice::One(channel) if channel >= channels => {
                return Err(Error::NoSuchChannel { channel, channels });
            }
            ChannelChoice::One(channel) => Some(channel),
            ChannelChoice::Mean => None,
            ChannelChoice::First => {
                if channels > 1 {
                    tracing::warn!("{} has {channels} channels; taking the first", utterance.key);
                }
                Some(0)
            }
        };
        Ok(self.one(channel, range))
    }

    /// The recording at `samp_freq` Hz, each channel resampled with the quality of ffmpeg's default
    /// ([`PolyphaseResample`](kaldi_feat::PolyphaseResample)).
    ///
    /// ```
    /// use kaldera::Recording;
    ///
    /// let recording = Recording::from_i16(vec![100; 44_100], 44_100.0);
    /// assert_eq!(recording.resample(16_000.0)?.num_samples(), 16_000);
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    ///
    /// Rates are rounded to whole numbers.
    ///
    /// # Errors
    /// A rate that is not a number from 1 to 10 million, or more than a thousand times the other;
    /// [`kaldi_feat::Error::TooManyResampled`], [`Error::NoMemory`].
    #[doc(alias = "-ar")]
    pub fn resample(&self, samp_freq: f32) -> Result<Self, Error> {
        let Self { num_channels, .. } = *self;
        let Some(resampler) = Resamplers::new(samp_freq).get(self.samp_freq)? else { return Ok(self.clone()) };
        if num_channels == 1 {
            return self.resampled_mean(&resampler);
        }
        let num_samples = self.num_samples();
        let num_resampled = resampler.num_output_samples(num_samples).saturating_mul(num_channels);
        check_resampled(num_samples * num_channels, num_resampled)?;
        let (mut samples, mut resampled) = (Vec::new(), Vec::new());
        samples.try_reserve_exact(num_resampled).map_err(|_| Error::NoMemory { samples: num_resampled })?;
        samples.resize(num_resampled, 0.0);
        for channel in 0..num_channels {
            self.one(Some(channel), 0..num_samples).resample_into(&resampler, &mut resampled)?;
            for (to, &from) in samples.iter_mut().skip(channel).step_by(num_channels).zip(&resampled) {
                *to = from;
            }
        }
        Ok(Self::interleaved(samples, num_channels, resampler.samp_rate_out() as f32))
    }

    /// The audio from which features are computed.
    ///
    /// # Errors
    /// [`Error::SeveralChannels`] if it is not clear from which channel: take one by
    /// [`channel`](Self::channel), or their [`mean`](Self::mean).
    pub fn audio(&self) -> Result<Audio<'_>, Error> {
        if self.num_channels > 1 {
            return Err(Error::SeveralChannels { channels: self.num_channels });
        }
        Ok(match &self.samples {
            WaveSamples::I16(samples) => Audio::new(samples.as_slice(), self.samp_freq),
            WaveSamples::F32(samples) => Audio::new(samples.as_slice(), self.samp_freq),
        })
    }

    /// The samples that `span` is about; all without one. As with Kaldi's `extract-segments`, up to
    /// half a second behind the end is forgiven, a tenth of a second must be left, and times are
    /// compared in Kaldi's precision.
    pub(crate) fn samples_of(&self, span: Option<Span>) -> Result<Range<usize>, Error> {
        const MAX_OVERSHOOT: f32 = 0.5;
        const MIN_SECONDS: f32 = 0.1;
        let num_samples = self.num_samples();
        let Some(Span { start, end }) = span else { return Ok(0..num_samples) };
        let wrong = || Error::Segment { start, end, seconds: self.duration() };
        let length = self.duration();
        let until = end.unwrap_or(f64::from(length));
        if !(start >= 0.0 && until <= f64::from(length + MAX_OVERSHOOT)) {
            return Err(wrong());
        }
        if until.min(f64::from(length)) - start < f64::from(MIN_SECONDS) {
            return Err(wrong());
        }
        // The nearest sample; not negative, and not far behind the last one.
        let sample = |seconds: f64| (seconds * f64::from(self.samp_freq) + 0.5) as usize;
        let (first, last) = (sample(start), sample(until).min(num_samples));
        if first < last { Ok(first..last) } else { Err(wrong()) }
    }
}

/// Without the samples.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.samples {
            WaveSamples::I16(_) => "16-bit",
            WaveSamples::F32(_) => "floating-point",
        };
        let Self { num_channels, samp_freq, .. } = self;
        write!(f, "Recording({} {kind} samples x {num_channels} channels at {samp_freq} Hz)", self.num_samples())
    }
}

/// As [`Recording::audio`].
impl<'a> TryFrom<&'a Recording> for Audio<'a> {
    type Error = Error;

    fn try_from(recording: &'a Recording) -> Result<Self, Error> {
        recording.audio()
    }
}

impl From<WaveAudio> for Recording {
    fn from(WaveAudio { samples, num_channels, samp_freq, .. }: WaveAudio) -> Self {
        Self { samples, num_channels, samp_freq }
    }
}

impl From<WaveData> for Recording {
    fn from(wave: WaveData) -> Self {
        Self { samples: WaveSamples::I16(wave.samples), num_channels: wave.num_channels, samp_freq: wave.samp_freq }
    }
}

/// The samples as they are held, which are not copied: integers of an uncompressed file of up to 16
/// bits.
impl From<Recording> for WaveSamples {
    fn from(recording: Recording) -> Self {
        recording.samples
    }
}

/// A sample as the integer that it is.
fn whole(sample: f32) -> Option<i16> {
    // The cast saturates, and makes 0 of NaN. Any sample that is no such integer then differs.
    let rounded = sample as i16;
    (f32::from(rounded) == sample).then_some(rounded)
}

/// The samples of one channel, which is there.
fn pick<T: Copy>(samples: &[T], num_channels: usize, channel: usize) -> Vec<T> {
    samples.iter().skip(channel).step_by(num_channels).copied().collect()
}

/// Options for reading recordings.
///
/// ```
/// use kaldera::pipeline::{Pipes, ReadOptions};
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
    /// The commands to run that a list has in the place of files: `sox a.mp3 -t wav - |`.
    pub pipes: Pipes,
}

/// The commands of lists that are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Pipes {
    /// None.
    Never,
    /// The commands of lists that were named, and not of a `wav.scp` that was found in a folder.
    #[default]
    Named,
    /// All.
    Always,
}

impl ReadOptions {
    /// Sets [`allow_truncated`](Self::allow_truncated).
    #[must_use]
    pub fn with_allow_truncated(self, allow_truncated: bool) -> Self {
        Self { allow_truncated, ..self }
    }

    /// Sets [`pipes`](Self::pipes).
    #[must_use]
    pub fn with_pipes(self, pipes: Pipes) -> Self {
        Self { pipes, ..self }
    }
}

/// Reads recordings, and caches the last one, or its error, for the segments that are often cut
/// from one file.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    last: Option<(Source, Shared)>,
}

type Shared = Result<Arc<Recording>, Arc<Error>>;

impl Reader {
    /// The recording at `source`, of which only `span` will be asked for.
    pub(crate) fn read(
        &mut self,
        source: &Source,
        span: Option<Span>,
        options: &ReadOptions,
    ) -> Result<Arc<Recording>, Error> {
        if let Some((_, recording)) = self.last.as_ref().filter(|(last, _)| last == source) {
            return recording.clone().map_err(Error::OfSegments);
        }
        self.last = None;
        let recording = match source {
            Source::Samples(recording) => return recording.check().map(|()| Arc::clone(recording)),
            Source::Missing(recording) => return Err(Error::NoRecording { recording: recording.clone() }),
            Source::File(path) => read_file(path, options),
            Source::Script(rxfilename) => read_script(rxfilename, options.pipes != Pipes::Never, options),
            Source::FoundScript(rxfilename) => read_script(rxfilename, options.pipes == Pipes::Always, options)
                .map_err(|error| of_found_list(error, options)),
        };
        let recording = recording.map(Arc::new);
        if span.is_none() {
            return recording;
        }
        let recording = recording.map_err(Arc::new);
        self.last = Some((source.clone(), recording.clone()));
        recording.map_err(Error::OfSegments)
    }
}

/// Enough to read a header at once; samples go past this buffer.
const HEADER_BYTES: usize = 1 << 10;

fn read_file(path: &Path, options: &ReadOptions) -> Result<Recording, Error> {
    let file = File::open(path).map_err(|source| Error::Open { source })?;
    read_stream(&mut BufReader::with_capacity(HEADER_BYTES, file), options)
}

/// Adds to an error how a command of a list that was found in a folder can be run.
fn of_found_list(error: Error, options: &ReadOptions) -> Error {
    match error {
        Error::Io(kaldi_io::Error::PipeRefused { command }) if options.pipes == Pipes::Named => {
            Error::FoundPipe { command }
        }
        error => error,
    }
}

/// Reads the recording that an rxfilename names. If a command fails, its failure is the error,
/// whatever it wrote before.
fn read_script(rxfilename: &str, pipes: bool, options: &ReadOptions) -> Result<Recording, Error> {
    if let Rxfilename::Pipe { command } = classify(rxfilename)?
        && !pipes
    {
        return Err(kaldi_io::Error::PipeRefused { command: command.trim().to_owned() }.into());
    }
    let mut input = Input::open(rxfilename)?;
    let recording = read_stream(&mut input, options);
    input.finish()?;
    recording
}

/// Reads a file of samples; a compressed file is decoded, if this build can do that.
fn read_stream(reader: &mut dyn Read, options: &ReadOptions) -> Result<Recording, Error> {
    let recording = read_any(reader, options)?;
    recording.check()?;
    Ok(recording)
}

fn read_any(reader: &mut dyn Read, options: &ReadOptions) -> Result<Recording, Error> {
    let mut head = Vec::new();
    reader.take(formats::HEAD as u64).read_to_end(&mut head).map_err(|source| Error::Open { source })?;
    let format = Format::of(&head);
    if let Some(error) = format.error() {
        return Err(error);
    }
    if format != Format::Wave {
        return read_other(format, head, reader, options);
    }
    let mut kept = Kept { head: &head, reader, bytes: Vec::new() };
    let audio = if options.allow_truncated { WaveAudio::read(&mut kept) } else { WaveAudio::read_whole(&mut kept) };
    match audio {
        Ok(audio) => Ok(audio.into()),
        Err(WaveError::Truncated { container, expected, found }) => {
            Err(Error::Truncated { format: container, expected, found, unit: "bytes of samples" })
        }
        Err(WaveError::UnreadEncoding { container, encoding }) => Err(formats::unread_encoding(container, &encoding)),
        Err(WaveError::NotPcm { format }) => {
            let begin = kept.bytes;
            if begin.len() >= Kept::MOST {
                return Err(formats::unread_wave(format));
            }
            read_other(Format::Wave, begin, reader, options).map_err(|_| formats::unread_wave(format))
        }
        Err(error) => Err(error.into()),
    }
}

/// Decodes a format that [`WaveAudio`] does not read; `begin` is the part already read.
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
    match format {
        #[cfg(feature = "opus")]
        Format::Opus => opus::decode(&bytes, options.allow_truncated),
        #[cfg(feature = "symphonia")]
        _ => decode::decode(&bytes, options.allow_truncated),
        #[cfg(not(feature = "symphonia"))]
        _ => Err(formats::not_audio(&bytes)),
    }
}

/// Returns the result of a decoder. If `allow_truncated` is true, damage or truncation is only a
/// warning, unless there are no samples before it. An exceeded limit stays an error.
#[cfg(any(feature = "symphonia", feature = "opus"))]
pub(super) fn take_what_comes_before(
    ended: Result<(), Error>,
    samples: &[f32],
    allow_truncated: bool,
) -> Result<(), Error> {
    match ended {
        Err(error)
            if allow_truncated
                && !samples.is_empty()
                && !matches!(error, Error::TooManySamples { .. } | Error::NoMemory { .. }) =>
        {
            tracing::warn!("the recording is truncated or damaged ({error}); going on with what comes before");
            Ok(())
        }
        ended => ended,
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
    /// No longer are headers up to the format of the samples.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_as_kaldi_cuts_them() {
        let recording = Recording::from_i16(vec![0; 16_000], 16_000.0);
        let cut = |start, end| recording.samples_of(Some(Span { start, end })).ok();
        assert_eq!(recording.samples_of(None).unwrap(), 0..16_000);
        assert_eq!(cut(0.25, Some(0.5)), Some(4000..8000));
        assert_eq!(cut(0.25, None), Some(4000..16_000));
        assert_eq!(cut(0.5, Some(1.4)), Some(8000..16_000));
        assert_eq!(cut(0.50003, Some(0.70004)), Some(8000..11_201), "the nearest sample");
        for (start, end) in
            [(0.5, Some(1.6)), (0.5, Some(0.59)), (-0.1, Some(0.5)), (2.0, None), (0.6, Some(0.5)), (f64::NAN, None)]
        {
            assert_eq!(cut(start, end), None, "{start} {end:?}");
        }
    }

    #[test]
    fn a_recording_without_rate_or_channels_is_refused() {
        let read = |recording| Reader::default().read(&Source::from(recording), None, &ReadOptions::default());
        assert!(read(Recording::from_i16(vec![0; 100], 8000.0)).is_ok());
        for samp_freq in [0.0, -8000.0, f32::NAN, f32::INFINITY] {
            let error = read(Recording::from_i16(vec![0; 100], samp_freq)).unwrap_err();
            assert!(matches!(error, Error::NoRate { channels: 1, .. }), "{error}");
        }
        let none = Recording::interleaved(Vec::new(), 0, 8000.0);
        assert!(matches!(read(none), Err(Error::NoRate { channels: 0, .. })));
    }

    #[test]
    fn a_sample_that_is_not_finite_is_refused_with_its_place() {
        let read = |recording| Reader::default().read(&Source::from(recording), None, &ReadOptions::default());
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut samples = vec![0.0; 100];
            samples[33] = value;
            let error = read(Recording::interleaved(samples, 2, 8000.0)).unwrap_err();
            assert!(matches!(error, Error::NotFiniteSample { sample: 16, channel: 1, .. }), "{error}");
        }
        assert!(read(Recording::from_f32(vec![f32::MAX], 8000.0)).is_ok());
    }

    #[test]
    fn a_recording_without_a_frame_has_empty_channels() {
        let recording = Recording::interleaved(Vec::new(), 2, 8000.0);
        assert_eq!(recording.channel(1).unwrap().num_samples(), 0);
        assert!(matches!(recording.channel(2), Err(Error::NoSuchChannel { .. })));
    }

    #[test]
    fn channels_are_resampled_as_if_alone() {
        let left: Vec<f32> = (0_u16..3000).map(|i| f32::from(i % 101 * 37 % 1000)).collect();
        let right: Vec<f32> = left.iter().map(|sample| 5.0 - sample).collect();
        let both = left.iter().zip(&right).flat_map(|(&left, &right)| [left, right]).collect();
        let both = Recording::interleaved(both, 2, 44_100.0).resample(16_000.0).unwrap();
        assert_eq!((both.num_channels(), both.samp_freq()), (2, 16_000.0));
        for (channel, samples) in [left, right].into_iter().enumerate() {
            let alone = Recording::from_f32(samples, 44_100.0).resample(16_000.0).unwrap();
            assert_eq!(both.channel(channel).unwrap(), alone);
        }
        assert_eq!(both.resample(16_000.0).unwrap(), both);
        for samp_freq in [16_000.0, 44_100.0] {
            assert_eq!(both.clone().into_mono(samp_freq).unwrap(), both.mean().resample(samp_freq).unwrap());
        }
        assert!(both.resample(1.0).is_err());
    }

    #[test]
    fn a_choice_takes_a_channel_or_the_mean_unless_the_utterance_names_one() {
        let recording = Recording::interleaved(vec![1.0, -1.0, 2.0, -4.0, 3.0, -9.0], 2, 8000.0);
        let taken = |utterance: &Utterance, choice: ChannelChoice| {
            recording.channel_of(utterance, choice, 1..3).map(|channel| channel.samples(&mut vec![]).to_f32())
        };
        let mut utterance = Utterance::new("a", recording.clone());
        assert_eq!(taken(&utterance, ChannelChoice::First).unwrap(), [2.0, 3.0]);
        assert_eq!(taken(&utterance, ChannelChoice::One(1)).unwrap(), [-4.0, -9.0]);
        assert_eq!(taken(&utterance, ChannelChoice::Mean).unwrap(), [-1.0, -3.0]);
        assert_eq!(recording.mean().samples()[1..], [-1.0, -3.0]);
        assert!(matches!(
            taken(&utterance, ChannelChoice::One(2)),
            Err(Error::NoSuchChannel { channel: 2, channels: 2 })
        ));
        utterance.channel = Some(1);
        assert_eq!(taken(&utterance, ChannelChoice::Mean).unwrap(), [-4.0, -9.0]);
    }
}
