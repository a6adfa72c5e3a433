//! Audio from standard input, in chunks.

use std::fmt::Display;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use kaldera::audio::{ChannelChoice, Error, FORMAT_HEAD, WaveError, WaveFormat, WaveSamples, format_name};
use kaldera::feat::Interleaved;

use crate::native::CliError;

/// Minimum size in bytes of the buffer, which holds at least four chunks. Input that arrives while
/// a chunk is recognised must not stay in the pipe, where Ctrl-C would lose it.
const WAITING: usize = 1 << 18;

/// Maximum number of bytes of one read.
const READ: usize = 1 << 14;

/// Interval at which a stream without audio checks if it is stopped.
const LOOK: Duration = Duration::from_millis(20);

/// Properties of the audio from options; a rate or number of channels of 0 was not given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    pub(super) samp_freq: f32,
    pub(super) num_channels: usize,
    pub(super) channel: ChannelChoice,
}

impl Given {
    /// Returns an error if an option contradicts the header of a WAV file.
    fn check(self, format: &WaveFormat) -> Result<(), CliError> {
        let contradicts = |option: &str, given: &dyn Display, found: &dyn Display| {
            let text = format!(
                "option --{option}: {given}, but the WAV header has {found}; this option is only for raw audio"
            );
            Err(CliError::Usage(text))
        };
        if self.samp_freq != 0.0 && self.samp_freq != format.samp_freq() {
            return contradicts("sample-frequency", &self.samp_freq, &format.samp_freq());
        }
        if self.num_channels != 0 && self.num_channels != format.num_channels() {
            return contradicts("num-channels", &self.num_channels, &format.num_channels());
        }
        Ok(())
    }
}

fn failed(error: &dyn Display) -> CliError {
    CliError::Failed(format!("standard input: {error}"))
}

/// Header of the audio, and the bytes that were read with it.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) format: WaveFormat,
    /// `true` if there is no header.
    pub(super) is_raw: bool,
    channel: ChannelChoice,
    /// Bytes of samples that were already read.
    head: Vec<u8>,
}

impl Source {
    /// Reads the header of WAV. Without a header, samples are as `given`, by default at the model's
    /// rate.
    pub(super) fn begin(input: &mut impl Read, model_rate: f32, given: Given) -> Result<Self, CliError> {
        let channel = given.channel;
        let mut head = vec![];
        input.take(FORMAT_HEAD as u64).read_to_end(&mut head).map_err(|error| failed(&error))?;
        if [b"RIFF", b"RIFX", b"RF64", b"BW64"].into_iter().any(|tag| head.starts_with(tag)) {
            let mut whole = (&head[..]).chain(input);
            let format = WaveFormat::read(&mut whole).map_err(|error| failed(&error))?;
            let head = whole.into_inner().0.to_vec();
            given.check(&format)?;
            check_channel(channel, format.num_channels()).map_err(|error| failed(&error))?;
            return Ok(Self { format, is_raw: false, channel, head });
        }
        let samp_freq = if given.samp_freq == 0.0 { model_rate } else { given.samp_freq };
        if !(samp_freq > 0.0 && samp_freq.is_finite()) {
            return Err(CliError::Usage(format!("option --sample-frequency: {samp_freq} is not a sample rate")));
        }
        if let Some(name) = format_name(&head) {
            // Two bytes mark frames of MPEG, and raw samples may begin with them.
            if head.starts_with(b"\xff") {
                tracing::warn!("standard input begins like {name}, and is treated as raw samples");
            } else {
                return Err(failed(&format_args!(
                    "it is {name}, and a stream is WAV or raw samples of 16 bits; convert it in a pipe: \
                 'ffmpeg -i - -f s16le -ar {samp_freq} -ac 1 - | kaldera stream --sample-frequency={samp_freq} MODEL'"
                )));
            }
        }
        let format = WaveFormat::raw(given.num_channels.max(1), samp_freq);
        let checked = check_channel(channel, format.num_channels());
        checked.map_err(|error| CliError::Usage(format!("option --channel: {error}")))?;
        Ok(Self { format, is_raw: true, channel, head })
    }
}

/// Returns an error for a channel that does not exist; warns if channels are ignored.
fn check_channel(channel: ChannelChoice, channels: usize) -> Result<(), Error> {
    channel.index(channels)?;
    if channel == ChannelChoice::First && channels > 1 {
        tracing::warn!("standard input has {channels} channels; taking the first");
    }
    Ok(())
}

/// Decodes the samples of the chosen channel. An incomplete frame at the end is ignored.
fn samples(format: &WaveFormat, channel: ChannelChoice, bytes: &[u8]) -> Result<Vec<f32>, Error> {
    let all = match format.decode(bytes)? {
        WaveSamples::I16(samples) => samples.into_iter().map(f32::from).collect(),
        WaveSamples::F32(samples) => samples,
    };
    let channels = format.num_channels();
    let of = |channel: usize| all.iter().skip(channel).step_by(channels).copied().collect();
    Ok(match channel {
        _ if channels == 1 => all,
        ChannelChoice::One(channel) => of(channel),
        ChannelChoice::Mean => Interleaved::new(&all, channels).expect("whole frames").mean(),
        _ => of(0),
    })
}

/// A part of the audio.
pub(super) struct Chunk {
    pub(super) samples: Vec<f32>,
    /// `true` if no chunk follows.
    pub(super) last: bool,
    /// The error if the audio ends too early here.
    pub(super) trouble: Option<CliError>,
}

/// Bytes that have arrived and have not been taken.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Result of the reader at the end of the audio.
    end: Option<io::Result<()>>,
    /// `true` if no more bytes will be taken.
    closed: bool,
}

/// Buffer between the thread that reads bytes and the thread that recognises them.
#[derive(Default)]
struct Inbox {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads to the end; blocks while more than `most` bytes are waiting.
    fn fill(&self, mut input: impl Read, most: usize) {
        let mut bytes = vec![0; READ];
        loop {
            // A read takes the available bytes: the rest of a chunk may come late, or not at all.
            let end = match input.read(&mut bytes) {
                Ok(0) => Some(Ok(())),
                Ok(count) => {
                    self.lock().bytes.extend_from_slice(&bytes[..count]);
                    None
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Some(Err(error)),
            };
            let mut waiting = self.lock();
            let ended = end.is_some();
            waiting.end = end;
            self.changed.notify_all();
            while waiting.bytes.len() > most && !waiting.closed {
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            if ended || waiting.closed {
                return;
            }
        }
    }
}

/// The chunks of standard input. Another thread reads it, so that this one does not block on audio
/// that does not arrive.
pub(super) struct Chunks {
    inbox: Arc<Inbox>,
    /// Bytes of a chunk.
    size: usize,
    format: WaveFormat,
    channel: ChannelChoice,
    /// Number of bytes that were taken.
    taken: u64,
    stop: &'static AtomicBool,
}

impl Chunks {
    /// Creates chunks with at least `num_samples` samples in each channel.
    pub(super) fn begin(source: Source, num_samples: usize, stop: &'static AtomicBool) -> Result<Self, CliError> {
        let Source { format, channel, head, .. } = source;
        let (inbox, size) = (Arc::new(Inbox::default()), format.bytes_of(num_samples));
        let fill = |most: usize| {
            let (inbox, head) = (Arc::clone(&inbox), head.clone());
            move || {
                let input = (&head[..]).chain(io::stdin().lock()).take(format.data_bytes().unwrap_or(u64::MAX));
                inbox.fill(input, most);
            }
        };
        let reader = fill(WAITING.max(size.saturating_mul(4)));
        if let Err(error) = thread::Builder::new().name("audio".to_owned()).spawn(reader) {
            tracing::warn!("cannot start a thread ({error}): all audio is read before the first word");
            fill(usize::MAX)();
        }
        Ok(Self { inbox, size, format, channel, taken: 0, stop })
    }

    /// Returns the next chunk. The last chunk holds the bytes up to the end of the audio or the
    /// stop.
    pub(super) fn next(&mut self) -> Result<Chunk, CliError> {
        let mut waiting = self.inbox.lock();
        while waiting.bytes.len() < self.size && waiting.end.is_none() && !waiting.closed {
            waiting.closed = self.stop.load(Ordering::Relaxed);
            if !waiting.closed {
                waiting = self.inbox.changed.wait_timeout(waiting, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        let count = self.size.min(waiting.bytes.len());
        let last = count < self.size;
        // After a stop, audio that arrives while the earlier audio is recognised is ignored.
        waiting.closed |= self.stop.load(Ordering::Relaxed);
        self.taken += count as u64;
        let samples = samples(&self.format, self.channel, &waiting.bytes[..count]).map_err(|error| failed(&error))?;
        let trouble = match &waiting.end {
            Some(Err(error)) if last => Some(failed(&error)),
            Some(Ok(())) if last => self.cut_short().map(|error| failed(&error)),
            _ => None,
        };
        waiting.bytes.drain(..count);
        self.inbox.changed.notify_all();
        Ok(Chunk { samples, last, trouble })
    }

    /// Returns the error for a file that is shorter than its header says.
    fn cut_short(&self) -> Option<WaveError> {
        let expected = self.format.data_bytes().filter(|&expected| self.taken < expected)?;
        Some(WaveError::Truncated { container: "WAV", expected, found: self.taken })
    }
}

#[cfg(test)]
mod tests {
    use kaldera::io::wave::WaveData;

    use super::*;

    #[test]
    fn the_chosen_channel_is_taken_of_whole_frames() {
        let bytes: Vec<u8> = [1_i16, -3, 300, 500, i16::MAX, i16::MIN].iter().flat_map(|x| x.to_le_bytes()).collect();
        let taken = |num_channels, channel, len: usize| {
            samples(&WaveFormat::raw(num_channels, 8000.0), channel, &bytes[..len]).unwrap()
        };
        assert_eq!(taken(1, ChannelChoice::Mean, 7), [1.0, -3.0, 300.0]);
        assert_eq!(taken(2, ChannelChoice::First, 12), [1.0, 300.0, 32_767.0]);
        // Half a frame is left over.
        for len in 8..=11 {
            assert_eq!(taken(2, ChannelChoice::One(1), len), [-3.0, 500.0]);
            assert_eq!(taken(2, ChannelChoice::Mean, len), [-1.0, 400.0]);
        }
        assert_eq!(taken(3, ChannelChoice::One(2), 12), [300.0, -32_768.0]);
        assert_eq!(taken(7, ChannelChoice::First, 12), [0.0; 0]);
        assert!(check_channel(ChannelChoice::One(1), 2).is_ok() && check_channel(ChannelChoice::One(2), 2).is_err());
    }

    /// Begins a stream with these bytes and options; the model's rate is 8000 Hz.
    fn begin(mut bytes: &[u8], samp_freq: f32, num_channels: usize) -> Result<Source, String> {
        let given = Given { samp_freq, num_channels, channel: ChannelChoice::Mean };
        let mut source = Source::begin(&mut bytes, 8000.0, given).map_err(|trouble| match trouble {
            CliError::Usage(text) => format!("usage: {text}"),
            CliError::Failed(text) => text,
            CliError::Closed => String::new(),
        })?;
        source.head.extend_from_slice(bytes);
        Ok(source)
    }

    #[test]
    fn other_formats_are_refused_by_name_and_raw_samples_are_not() {
        for (bytes, name) in [
            (&b"fLaC\0\0\0\x22"[..], "FLAC"),
            (b"FORM\0\0\0\x10AIFFCOMM", "AIFF"),
            (b".snd\0\0\0\x18", "AU"),
            (b"caff\0\x01\0\0desc", "CAF"),
            (b"ID3\x04\0\0\0\0", "MP3"),
            (b"OggS\0\x02", "Ogg"),
            (b"\x1A\x45\xDF\xA3", "Matroska or WebM"),
        ] {
            let long = [bytes, &[7; 4000]].concat();
            for bytes in [bytes, &long] {
                let error = begin(bytes, 0.0, 0).unwrap_err();
                assert!(error.starts_with(&format!("standard input: it is {name}, ")), "{error}");
                assert!(error.contains("ffmpeg -i - -f s16le -ar 8000 -ac 1 - |"), "{error}");
            }
        }
        // The sample -1025 is the sync word of MP3.
        for raw in [0, 1, 4, 63, 64, 65, 4000].map(|len| vec![0x11; len]).into_iter().chain([b"\xff\xfb".repeat(50)]) {
            let source = begin(&raw, 0.0, 0).unwrap();
            assert_eq!((source.head, source.format.samp_freq(), source.format.num_channels()), (raw, 8000.0, 1));
        }
    }

    #[test]
    fn options_of_raw_audio_may_not_contradict_a_header() {
        let samples: Vec<i16> = (0..2000).collect();
        let body: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let mut wave = vec![];
        WaveData { samp_freq: 16_000.0, num_channels: 2, samples }.write(&mut wave).unwrap();
        for (samp_freq, num_channels) in [(0.0, 0), (16_000.0, 0), (0.0, 2), (16_000.0, 2)] {
            let source = begin(&wave, samp_freq, num_channels).unwrap();
            let format = source.format;
            assert_eq!((format.samp_freq(), format.num_channels(), &source.head), (16_000.0, 2, &body));
            assert_eq!(format.data_bytes(), Some(4000));
        }
        for (samp_freq, num_channels, expected) in [
            (4000.0, 0, "usage: option --sample-frequency: 4000, but the WAV header has 16000"),
            (0.0, 1, "usage: option --num-channels: 1, but the WAV header has 2"),
        ] {
            let error = begin(&wave, samp_freq, num_channels).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
