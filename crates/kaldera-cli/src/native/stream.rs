//! `kaldera stream`: words while speech comes from standard input.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Read};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kaldera::Error;
use kaldera::decoder::graph::{EndpointRule, EndpointRules};
use kaldera::decoder::{FrameTimes, Recognition};
use kaldera::feat::Interleaved;
use kaldera::feat::options::{OptionSet as _, Registry as _};
use kaldera::io::wave::{WaveInfo, check_layout};
use kaldera::pipeline::{ChannelChoice, FORMAT_HEAD, format_name};
use kaldera::recognizer::Recognizer;

use super::corpus::CHANNEL;
use super::live_line::LiveLine;
use super::transcribe::{Decoding, take_model};
use super::{Trouble, arguments, print};
use crate::log::say;
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt};

const TOOL: &str = "stream";
const USAGE: &str = "\
Recognise speech while it comes from standard input.

Usage: kaldera stream [OPTIONS] MODEL < AUDIO

AUDIO is 16-bit WAV, or raw samples: 16 bits, little-endian, of --num-channels (1 unless given) and
--sample-frequency (the model's unless given). Other formats are refused by name. Of several
channels the first is taken, unless --channel names another one or mean. Each utterance ends at a
pause (Kaldi's endpoint rules; less than a second without words is one only where the audio is 6 dB
quieter than the utterance) and is a line; with --partial, and on a terminal, its words so far are
shown after each chunk. Its end is looked for each tenth of a second of audio, however long chunks
are. A network that keeps no state runs over the whole utterance each time: from half a second on
words are shown, and its end is looked for, whenever it has grown by an eighth or by a second, and
each tenth of a second while the last half second is quiet. When the audio has ended, stderr tells
how long it took from a chunk to its words. Ctrl-C ends the last utterance.

Examples:
  kaldera stream model/ < hello.wav
  arecord -q -f S16_LE -r 16000 -c 1 | kaldera stream model/
  kaldera stream --channel=mean model/ < stereo.wav
  ffmpeg -v error -i talk.mp3 -ac 1 -f wav - | kaldera stream model/

Exit status: 0 the end of the audio, 1 it cannot be used, 2 wrong usage, 130 stopped by Ctrl-C, 143
by SIGTERM.";

/// The most samples that a chunk may have, of all channels.
const MAX_CHUNK: usize = 1 << 24;

/// The most channels, as of recordings.
const MAX_CHANNELS: usize = 256;

/// So many bytes may wait, or four chunks, if that is more: what comes while a chunk is recognised
/// must not stay in the pipe, where Ctrl-C would lose it.
const WAITING: usize = 1 << 18;

/// The most bytes that are read at once.
const READ: usize = 1 << 14;

/// How often a stream without audio looks whether it is stopped.
const LOOK: Duration = Duration::from_millis(20);

/// The end of an utterance is looked for each time after so many seconds of audio: utterances must not
/// depend on the length of chunks.
const LOOK_FOR_END: f64 = 0.1;

/// Blanks of fewer seconds are silence only where the audio is quiet: a long sound has them, too.
const SURE_SILENCE: f32 = 1.0;

/// So many seconds of the silence that ends an utterance begin the next one, too: a word whose first
/// token has not come may have begun in them.
const OVERLAP: f64 = 0.3;

/// So many seconds after the last token are left out of that: the end of the last word may be there.
const AFTER_LAST: f64 = 0.2;

/// A network that keeps no state runs over the whole utterance for each result so far. One is due when
/// the utterance has grown by 1/GROWTH, or by `MOST_GROWTH`, whatever is less. Of an utterance of 20 s,
/// where Kaldi's rules end it, the network then runs over at most 14 times the audio, however short
/// chunks are.
const GROWTH: usize = 8;

/// In seconds.
const MOST_GROWTH: f64 = 1.0;

/// A result is due, too, when this many seconds at the end, the shortest silence that ends an
/// utterance, are quiet. It is due again after 1/RECHECK of them while they are.
const PAUSE: f64 = 0.5;

/// The parts of a pause after which it is looked at again.
const RECHECK: usize = 5;

/// Quiet adds no results where the network has run over more than so many times the audio.
const MOST_RUNS: usize = 20;

/// What is quiet has at most this part of the mean power of the utterance: 6 dB less. A run
/// of the network costs time; a pause that nobody looks at joins two utterances.
const QUIET: f64 = 0.25;

/// Cells of a line, where the terminal does not tell.
const WIDTH: usize = 80;

/// Answers a call of `kaldera stream`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, stream(call))
}

fn stream(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let (mut decoding, mut samp_freq, mut chunk_ms, mut partial) = (Decoding::default(), 0.0_f32, 100.0_f32, false);
    let (mut num_channels, mut channel) = (0_u64, ChannelChoice::default());
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    decoding.register(&mut parser);
    parser.add("sample-frequency", &mut samp_freq, "Samples per second of raw audio; 0: the model's");
    parser.add("num-channels", &mut num_channels, "Channels of raw audio, which is interleaved; 0: one");
    parser.add("channel", &mut channel, CHANNEL);
    parser.add("chunk", &mut chunk_ms, "Milliseconds of audio that are taken at once");
    parser.add("partial", &mut partial, "Write the words so far as lines 'partial: WORDS'");
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    drop(parser);
    let model = take_model(&mut paths)?;
    if !paths.is_empty() {
        return Err(Trouble::Usage("expected MODEL alone: audio comes from standard input".to_owned()));
    }
    let recognizer = decoding.open(&model)?;
    let Some(num_channels) = usize::try_from(num_channels).ok().filter(|&count| count <= MAX_CHANNELS) else {
        return Err(Trouble::Usage(format!("option --num-channels: {num_channels} is not 1 to {MAX_CHANNELS}")));
    };
    let given = Given { samp_freq, num_channels, channel };
    let source = Source::begin(&mut io::stdin().lock(), recognizer.samp_freq(), given)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of samples, which saturates and is checked"
    )]
    let chunk = (source.samp_freq * chunk_ms / 1000.0) as usize;
    let max_chunk = MAX_CHUNK / source.frames.num_channels;
    if !(1..=max_chunk).contains(&chunk) {
        return Err(Trouble::Usage(format!("option --chunk: {chunk_ms} ms are {chunk} samples, not 1 to {max_chunk}")));
    }
    let show = if partial {
        Show::Lines
    } else if io::stdout().is_terminal() && !quiet {
        Show::Terminal
    } else {
        Show::Nothing
    };
    let stop = interrupt::watch_flag(TOOL, "the audio that had come is recognised");
    let latency = recognise(&recognizer, source, chunk, show, stop)?;
    if !quiet {
        latency.tell();
    }
    Ok(if stop.load(Ordering::Relaxed) { interrupt::stopped() } else { ExitCode::SUCCESS })
}

/// How results so far are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Nothing,
    Lines,
    /// In the last line, over what was there.
    Terminal,
}

/// What options say of the audio; a rate or number of channels of 0 was not given.
#[derive(Debug, Clone, Copy)]
struct Given {
    samp_freq: f32,
    num_channels: usize,
    channel: ChannelChoice,
}

impl Given {
    /// Refuses what the header of a WAV file contradicts.
    fn check(self, info: &WaveInfo) -> Result<(), Trouble> {
        let contradicts = |option: &str, given: &dyn Display, found: &dyn Display| {
            let text =
                format!("option --{option}: {given}, and the WAV header says {found}; it is for raw audio alone");
            Err(Trouble::Usage(text))
        };
        if self.samp_freq != 0.0 && self.samp_freq != info.samp_freq {
            return contradicts("sample-frequency", &self.samp_freq, &info.samp_freq);
        }
        if self.num_channels != 0 && self.num_channels != info.num_channels {
            return contradicts("num-channels", &self.num_channels, &info.num_channels);
        }
        Ok(())
    }
}

/// What comes before the samples.
#[derive(Debug)]
struct Source {
    samp_freq: f32,
    /// Bytes of samples that were read already.
    head: Vec<u8>,
    /// Bytes of samples, if the header tells; what follows them is other chunks.
    bytes: Option<u64>,
    frames: Frames,
}

impl Source {
    /// Reads the header of WAV; without one, samples are as `given`, at the model's rate if that is open.
    fn begin(input: &mut impl Read, model_rate: Option<f32>, given: Given) -> Result<Self, Trouble> {
        let cannot = |error: &dyn Display| Trouble::Failed(format!("standard input: {error}"));
        let channel = given.channel;
        let mut head = vec![];
        input.take(FORMAT_HEAD as u64).read_to_end(&mut head).map_err(|error| cannot(&error))?;
        if head.starts_with(b"RIFF") || head.starts_with(b"RIFX") {
            let big_endian = head.starts_with(b"RIFX");
            let mut whole = (&head[..]).chain(input);
            let info = WaveInfo::read(&mut whole).map_err(|error| cannot(&error))?;
            let head = whole.into_inner().0.to_vec();
            let frames = Frames { big_endian, num_channels: info.num_channels, channel };
            check_layout("WAV", frames.num_channels as u64, info.samp_freq.into()).map_err(|error| cannot(&error))?;
            given.check(&info)?;
            frames.check().map_err(|error| cannot(&error))?;
            let bytes = info.num_samples.map(|samples| frames.bytes() as u64 * u64::from(samples));
            return Ok(Self { samp_freq: info.samp_freq, head, bytes, frames });
        }
        let samp_freq = if given.samp_freq == 0.0 { model_rate.unwrap_or(0.0) } else { given.samp_freq };
        if !(samp_freq > 0.0 && samp_freq.is_finite()) {
            return Err(Trouble::Usage(format!("option --sample-frequency: {samp_freq} is no number of samples")));
        }
        if let Some(name) = format_name(&head) {
            // Two bytes alone tell frames of MPEG, and raw samples may have them.
            if head.starts_with(b"\xff") {
                tracing::warn!("standard input begins as {name} does, and is taken for raw samples");
            } else {
                return Err(cannot(&format_args!(
                    "it is {name}, and a stream is 16-bit WAV or raw samples; convert it in a pipe: \
                 'ffmpeg -i - -f s16le -ar {samp_freq} -ac 1 - | kaldera stream --sample-frequency={samp_freq} MODEL'"
                )));
            }
        }
        let frames = Frames { big_endian: false, num_channels: given.num_channels.max(1), channel };
        frames.check().map_err(|error| Trouble::Usage(format!("option --channel: {error}")))?;
        Ok(Self { samp_freq, head, bytes: None, frames })
    }
}

/// How samples stand in bytes, and which of them are taken.
#[derive(Debug, Clone, Copy)]
struct Frames {
    big_endian: bool,
    num_channels: usize,
    channel: ChannelChoice,
}

impl Frames {
    /// Bytes of a sample of each channel.
    fn bytes(self) -> usize {
        2 * self.num_channels
    }

    /// Refuses a channel that is not there; warns of those that are not taken.
    fn check(self) -> Result<(), Error> {
        match (self.channel, self.num_channels) {
            (ChannelChoice::One(channel), channels) if channel >= channels => {
                return Err(Error::NoSuchChannel { channel, channels });
            }
            (ChannelChoice::First, 2..) => {
                tracing::warn!("standard input has {} channels; taking the first", self.num_channels);
            }
            _ => {}
        }
        Ok(())
    }

    /// The samples that are taken of whole frames; what is left at the end is none.
    fn samples(self, bytes: &[u8]) -> Vec<f32> {
        let whole = bytes.len() - bytes.len() % self.bytes();
        let sample =
            |&pair: &[u8; 2]| if self.big_endian { i16::from_be_bytes(pair) } else { i16::from_le_bytes(pair) };
        let all: Vec<i16> = bytes[..whole].as_chunks().0.iter().map(sample).collect();
        let of = |channel: usize| all.iter().skip(channel).step_by(self.num_channels).map(|&x| f32::from(x)).collect();
        match self.channel {
            ChannelChoice::One(channel) => of(channel),
            ChannelChoice::Mean => Interleaved::new(&all, self.num_channels).expect("whole frames").mean(),
            _ => of(0),
        }
    }
}

/// From the first chunk that a result so far is new for to that result.
#[derive(Default)]
struct Latency {
    chunks: u32,
    results: u32,
    sum: Duration,
    most: Duration,
    /// Of audio.
    seconds: f64,
}

impl Latency {
    fn add(&mut self, begin: Instant) {
        let time = begin.elapsed();
        self.results += 1;
        self.sum += time;
        self.most = self.most.max(time);
    }

    fn tell(&self) {
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let mean = millis(self.sum) / f64::from(self.results.max(1));
        say(format_args!(
            "{:.2} s of audio in {} chunks; from a chunk to its words: {mean:.1} ms, at most {:.1} ms",
            self.seconds,
            self.chunks,
            millis(self.most)
        ));
    }
}

/// A part of the audio.
struct Chunk {
    samples: Vec<f32>,
    /// None will follow.
    last: bool,
}

/// Bytes that have come and that nobody has taken.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// How the audio ended, once it has.
    end: Option<io::Result<()>>,
    /// Nobody takes more.
    closed: bool,
}

/// The bytes between the thread that reads them and the one that recognises them.
#[derive(Default)]
struct Inbox {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads to the end, and waits where more than `most` bytes are waiting.
    fn fill(&self, mut input: impl Read, most: usize) {
        let mut bytes = vec![0; READ];
        loop {
            // What there is: the rest of a chunk may come late, or not at all.
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

/// The chunks of standard input, which another thread reads: this one must not wait for audio that
/// does not come.
struct Chunks {
    inbox: Arc<Inbox>,
    /// Bytes of a chunk.
    size: usize,
    frames: Frames,
    stop: &'static AtomicBool,
}

impl Chunks {
    fn begin(source: Source, chunk: usize, stop: &'static AtomicBool) -> Result<Self, Trouble> {
        let Source { head, bytes, frames, .. } = source;
        let (inbox, size) = (Arc::new(Inbox::default()), frames.bytes() * chunk);
        let fill = {
            let inbox = Arc::clone(&inbox);
            move || {
                let input = (&head[..]).chain(io::stdin().lock()).take(bytes.unwrap_or(u64::MAX));
                inbox.fill(input, WAITING.max(4 * size));
            }
        };
        thread::Builder::new().name("audio".to_owned()).spawn(fill).map_err(|error| Trouble::failed(&error))?;
        Ok(Self { inbox, size, frames, stop })
    }

    /// The next chunk. The last one is what had come when the audio ended or the process was stopped.
    fn next(&self) -> Result<Chunk, Trouble> {
        let mut waiting = self.inbox.lock();
        while waiting.bytes.len() < self.size && waiting.end.is_none() && !waiting.closed {
            waiting.closed = self.stop.load(Ordering::Relaxed);
            if !waiting.closed {
                waiting = self.inbox.changed.wait_timeout(waiting, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        let count = self.size.min(waiting.bytes.len());
        if let (true, Some(Err(error))) = (count < self.size, &waiting.end) {
            return Err(Trouble::Failed(format!("standard input: {error}")));
        }
        // What comes from now on is not waited for, while that which had come is recognised.
        waiting.closed |= self.stop.load(Ordering::Relaxed);
        let samples = self.frames.samples(&waiting.bytes[..count]);
        waiting.bytes.drain(..count);
        self.inbox.changed.notify_all();
        Ok(Chunk { samples, last: count < self.size })
    }
}

fn recognise(
    recognizer: &Recognizer,
    source: Source,
    chunk: usize,
    show: Show,
    stop: &'static AtomicBool,
) -> Result<Latency, Trouble> {
    let failed = |error: Error| Trouble::failed(&error);
    let samp_freq = source.samp_freq;
    let mut stream = recognizer.stream("utt-1", samp_freq).map_err(failed)?;
    let chunks = Chunks::begin(source, chunk, stop)?;
    let rules = EndpointRules::kaldi();
    let of_sounds = without_short_silence(&rules);
    let (mut latency, mut number, mut line) = (Latency::default(), 1, LiveLine::default());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of samples, which saturates, of a part of a second"
    )]
    let samples_of = |seconds: f64| (seconds * f64::from(samp_freq)) as usize;
    // The last samples that have come.
    let mut recent: Vec<f32> = vec![];
    let (pause, most_growth) = (samples_of(PAUSE), samples_of(MOST_GROWTH));
    let look_for_end = samples_of(LOOK_FOR_END).max(1);
    // Samples that come before the next time.
    let mut before_look = look_for_end;
    let mut due = Due::new(pause, most_growth);
    // When the first chunk came that no result so far has.
    let mut waits = None;
    loop {
        let Chunk { samples, last } = chunks.next()?;
        let begin = *waits.get_or_insert_with(Instant::now);
        latency.chunks += u32::from(!samples.is_empty());
        #[expect(clippy::cast_precision_loss, reason = "a chunk has at most 2^24 samples")]
        let seconds = samples.len() as f64 / f64::from(samp_freq);
        latency.seconds += seconds;
        // What to show of the chunk, and whether the last result has all of it.
        let (mut so_far, mut covered) = (None, true);
        let mut rest = &samples[..];
        while !rest.is_empty() {
            let part = rest.split_off(..before_look.min(rest.len())).unwrap_or_default();
            stream.accept(part).map_err(failed)?;
            covered = false;
            due.add(part);
            recent.extend(part);
            recent.drain(..recent.len().saturating_sub(pause));
            before_look -= part.len();
            let look = before_look == 0;
            if look {
                before_look = look_for_end;
            }
            let shown = rest.is_empty() && stream.keeps_state() && !last;
            let looked = look && (stream.keeps_state() || due.is_now(&recent));
            if !(shown || looked) {
                continue;
            }
            let found = stream.partial().map_err(failed)?;
            covered = true;
            let rules = if due.is_quiet(&recent) { &rules } else { &of_sounds };
            if !(looked && stream.endpoint(&found, rules).map_err(failed)?.is_some()) {
                so_far = Some(found);
                continue;
            }
            number += 1;
            let next = recognizer.stream(&format!("utt-{number}"), samp_freq).map_err(failed)?;
            let utterance = std::mem::replace(&mut stream, next).finish().map_err(failed)?;
            print(&ended(&utterance.text(), show, &mut line))?;
            let again = samples_of(overlap(&utterance, recognizer.times(), due.seconds(samp_freq)));
            let again = &recent[recent.len().saturating_sub(again)..];
            stream.accept(again).map_err(failed)?;
            due = Due::new(pause, most_growth);
            due.add(again);
            latency.add(begin);
            so_far = None;
        }
        if last {
            let text = stream.finish().map_err(failed)?.text();
            print(&ended(&text, show, &mut line))?;
            latency.add(begin);
            return Ok(latency);
        }
        if let Some(so_far) = so_far {
            match show {
                Show::Nothing => {}
                Show::Lines => print(&format!("partial: {}\n", so_far.text()))?,
                Show::Terminal => print(&line.show(&so_far.text(), width()))?,
            }
            latency.add(begin);
        }
        if covered {
            waits = None;
        }
    }
}

/// The rules that hold where the audio is not quiet.
fn without_short_silence(rules: &EndpointRules) -> EndpointRules {
    let of_sounds =
        |rule: &&EndpointRule| rule.min_trailing_silence == 0.0 || rule.min_trailing_silence >= SURE_SILENCE;
    EndpointRules::new(rules.rules.iter().filter(of_sounds).copied().collect())
}

/// When the next result so far is due, of a network that keeps no state. Lengths are in samples.
#[derive(Debug)]
struct Due {
    /// Of the utterance.
    length: usize,
    /// The sum of the squares of its samples.
    energy: f64,
    /// Its length at the last result.
    at_result: usize,
    /// What it must grow by from there.
    step: usize,
    /// What the network has run over.
    work: usize,
    most_growth: usize,
    pause: usize,
}

impl Due {
    fn new(pause: usize, most_growth: usize) -> Self {
        // No shorter silence ends an utterance.
        Self { length: 0, energy: 0.0, at_result: 0, step: pause, work: 0, most_growth, pause }
    }

    /// Takes more samples of the utterance.
    fn add(&mut self, samples: &[f32]) {
        self.length += samples.len();
        self.energy += energy(samples);
    }

    /// Whether it is, where these are the last samples, as many as a pause has; then the next one is
    /// due later.
    fn is_now(&mut self, recent: &[f32]) -> bool {
        let grown = self.length - self.at_result;
        let may_recheck = grown >= self.pause / RECHECK && self.work <= MOST_RUNS * self.length;
        let now = grown >= self.step || (may_recheck && self.is_quiet(recent));
        if now {
            self.work += self.length;
            self.at_result = self.length;
            self.step = (self.length / GROWTH).min(self.most_growth);
        }
        now
    }

    /// How long the utterance is.
    #[expect(clippy::cast_precision_loss, reason = "a number of samples")]
    fn seconds(&self, samp_freq: f32) -> f64 {
        self.length as f64 / f64::from(samp_freq)
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of samples")]
    fn is_quiet(&self, recent: &[f32]) -> bool {
        self.length > recent.len() && QUIET * self.energy * recent.len() as f64 > energy(recent) * self.length as f64
    }
}

/// The sum of the squares of samples.
fn energy(samples: &[f32]) -> f64 {
    samples.iter().map(|&sample| f64::from(sample).powi(2)).sum()
}

/// How many seconds of the end of an utterance begin the next one. A network that gets silence after
/// its audio has frames beyond the end, which are none of the silence that has come.
fn overlap(ended: &Recognition, times: &FrameTimes, seconds: f64) -> f64 {
    let spoken = ended.best().and_then(|best| best.tokens.last()).map_or(0, |last| last.frames.end);
    let silence = times.seconds(ended.num_frames).min(seconds) - times.seconds(spoken);
    (silence - AFTER_LAST).clamp(0.0, OVERLAP)
}

/// Cells of a line of the terminal.
fn width() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| usize::from(width.0))
}

/// What to write for the words of an utterance that has ended; nothing if there are none.
fn ended(text: &str, show: Show, line: &mut LiveLine) -> String {
    match (show, text) {
        (Show::Terminal, text) => line.end(text),
        (_, "") => String::new(),
        (_, text) => format!("{text}\n"),
    }
}

#[cfg(test)]
mod tests {
    use kaldera::decoder::graph::EndpointState;
    use kaldera::decoder::{Hypothesis, Segment};
    use kaldera::io::wave::WaveData;

    use super::*;

    /// Where results are due, of samples in chunks; the rate is 1000 Hz.
    fn due_at(samples: &[f32], chunk: usize) -> Vec<usize> {
        let (mut due, mut found, mut end) = (Due::new(500, 1000), vec![], 0_usize);
        for samples_of_chunk in samples.chunks(chunk) {
            due.add(samples_of_chunk);
            end += samples_of_chunk.len();
            if due.is_now(&samples[end.saturating_sub(500)..end]) {
                found.push(end);
            }
        }
        found
    }

    #[test]
    fn the_chosen_channel_is_taken_of_whole_frames() {
        let bytes: Vec<u8> = [1_i16, -3, 300, 500, i16::MAX, i16::MIN].iter().flat_map(|x| x.to_be_bytes()).collect();
        let taken = |num_channels, channel, len: usize| {
            Frames { big_endian: true, num_channels, channel }.samples(&bytes[..len])
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
        let check = |channel| Frames { big_endian: false, num_channels: 2, channel }.check();
        assert!(check(ChannelChoice::One(1)).is_ok() && check(ChannelChoice::One(2)).is_err());
    }

    /// What a stream of the bytes is, with what options give; the model's rate is 8000 Hz.
    fn begin(mut bytes: &[u8], samp_freq: f32, num_channels: usize) -> Result<Source, String> {
        let given = Given { samp_freq, num_channels, channel: ChannelChoice::Mean };
        let mut source = Source::begin(&mut bytes, Some(8000.0), given).map_err(|trouble| match trouble {
            Trouble::Usage(text) => format!("usage: {text}"),
            Trouble::Failed(text) => text,
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
            (b"RF64\xff\xff\xff\xffWAVEds64", "RF64"),
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
            assert_eq!((source.head, source.samp_freq, source.frames.num_channels), (raw, 8000.0, 1));
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
            assert_eq!((source.samp_freq, source.frames.num_channels, &source.head), (16_000.0, 2, &body));
            assert_eq!(source.bytes, Some(4000));
        }
        for (samp_freq, num_channels, expected) in [
            (4000.0, 0, "usage: option --sample-frequency: 4000, and the WAV header says 16000"),
            (0.0, 1, "usage: option --num-channels: 1, and the WAV header says 2"),
        ] {
            let error = begin(&wave, samp_freq, num_channels).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_work_of_results_is_bounded_for_short_chunks() {
        let speech = vec![1000.0; 20_000];
        let mut softer = vec![100.0; 20_000];
        softer[..2000].fill(1000.0);
        for (samples, most) in [(&speech, 14), (&softer, MOST_RUNS + 1)] {
            for chunk in [1, 10, 200, 3000] {
                let found = due_at(samples, chunk);
                let work: usize = found.iter().sum();
                assert!(work <= most * samples.len(), "{work} with chunks of {chunk}");
                // None waits for more than a second and a chunk.
                assert!(found.windows(2).all(|pair| pair[1] - pair[0] <= 1000 + chunk), "{found:?}");
            }
        }
    }

    #[test]
    fn a_pause_is_looked_at_before_it_ends() {
        for pause in [600, 800] {
            for begin in (6000..8000).step_by(130) {
                let mut samples = vec![1000.0; 12_000];
                samples[begin..begin + pause].fill(100.0);
                let found = due_at(&samples, 100);
                assert!(found.iter().any(|at| (begin + 450..=begin + pause).contains(at)), "{begin} {found:?}");
            }
        }
        // Silence from the beginning on is no pause.
        for silence in [0.0, 1.0] {
            assert!(due_at(&[silence; 10_000], 100).len() < 30);
        }
    }

    #[test]
    fn half_a_second_of_blanks_in_a_sound_is_no_pause() {
        let rules = EndpointRules::kaldi();
        let of_sounds = without_short_silence(&rules);
        let found = |frames, silence| {
            let state = EndpointState::new(frames, silence, 0.01, 0.0);
            [&rules, &of_sounds].map(|rules| rules.detect(&state).unwrap().is_some())
        };
        assert_eq!((found(300, 40), found(300, 60), found(300, 110)), ([false, false], [true, false], [true, true]));
        assert_eq!(found(2100, 0), [true, true]);
    }

    #[test]
    fn an_utterance_begins_in_the_silence_before_it() {
        let times = FrameTimes::new(0.01);
        let after = |silence: usize| {
            let mut best = Hypothesis::default();
            best.tokens = vec![Segment::new(1, "a", 10..20, &times)];
            let whole = Recognition::new("utt-1", 20 + silence, vec![best]);
            // 0.3 s more of frames than of audio.
            let padded = Recognition::new("utt-1", whole.num_frames + 30, whole.hypotheses.clone());
            let seconds = times.seconds(whole.num_frames);
            assert_eq!(overlap(&padded, &times, seconds), overlap(&whole, &times, seconds));
            overlap(&whole, &times, seconds + 0.01)
        };
        assert_eq!((after(0), after(20), after(60)), (0.0, 0.0, OVERLAP));
        assert!((after(30) - 0.1).abs() < 1e-9, "{}", after(30));
        assert_eq!(overlap(&Recognition::new("utt-1", 500, vec![]), &times, 5.0), OVERLAP);
    }
}
