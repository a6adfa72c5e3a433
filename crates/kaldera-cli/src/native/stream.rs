//! `kaldera stream`: words while speech comes from standard input.

use std::io::{self, IsTerminal as _, Read};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kaldera::decoder::graph::EndpointRules;
use kaldera::decoder::{FrameTimes, Recognition};
use kaldera::feat::options::{OptionSet as _, Registry as _};
use kaldera::io::wave::WaveInfo;
use kaldera::recognizer::Recognizer;

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

AUDIO is 16-bit WAV, or raw samples: 16 bits, little-endian, one channel, of --sample-frequency (the
model's unless it is given). Each utterance ends at a pause (Kaldi's endpoint rules) and is a line;
with --partial, and on a terminal, its words so far are shown after each chunk, or for a network that
keeps no state whenever the utterance has grown by an eighth: it runs over all of it each time. At the
end stderr tells how long it took from a chunk to its words. Ctrl-C ends the last utterance.

Examples:
  kaldera stream model/ < hello.wav
  arecord -q -f S16_LE -r 16000 -c 1 | kaldera stream model/

Exit status: 0 the end of the audio, 1 it cannot be used, 2 wrong usage, 130 stopped by Ctrl-C, 143
by SIGTERM.";

/// The most samples that a chunk may have.
const MAX_CHUNK: usize = 1 << 24;

/// So many bytes may wait, or four chunks, if that is more: what comes while a chunk is recognised
/// must not stay in the pipe, where Ctrl-C would lose it.
const WAITING: usize = 1 << 18;

/// The most bytes that are read at once.
const READ: usize = 1 << 14;

/// How often a stream without audio looks whether it is stopped.
const LOOK: Duration = Duration::from_millis(20);

/// So many seconds of the silence that ends an utterance begin the next one, too: a word whose first
/// token has not come may have begun in them.
const OVERLAP: f64 = 0.3;

/// So many seconds after the last token are left out of that: the end of the last word may be there.
const AFTER_LAST: f64 = 0.2;

/// A network that keeps no state runs over the whole utterance for each result so far. They are asked
/// for when the utterance has grown by one part in so many: the network then runs over at most about
/// so many times the audio, and one time more, however short chunks are.
const GROWTH: usize = 8;

/// Cells of a line, where the terminal does not tell.
const WIDTH: usize = 80;

/// Answers a call of `kaldera stream`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, stream(call))
}

fn stream(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let (mut decoding, mut samp_freq, mut chunk_ms, mut partial) = (Decoding::default(), 0.0_f32, 100.0_f32, false);
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    decoding.register(&mut parser);
    parser.add("sample-frequency", &mut samp_freq, "Samples per second of raw audio; 0: the model's");
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
    let source = Source::begin(&mut io::stdin().lock(), &recognizer, samp_freq)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of samples, which saturates and is checked"
    )]
    let chunk = (source.samp_freq * chunk_ms / 1000.0) as usize;
    if !(1..=MAX_CHUNK).contains(&chunk) {
        return Err(Trouble::Usage(format!("option --chunk: {chunk_ms} ms are {chunk} samples, not 1 to {MAX_CHUNK}")));
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

/// What comes before the samples.
struct Source {
    samp_freq: f32,
    /// Bytes of samples that were read already.
    head: Vec<u8>,
    /// Bytes of samples, if the header tells; what follows them is other chunks.
    bytes: Option<u64>,
    big_endian: bool,
}

impl Source {
    fn begin(input: &mut impl Read, recognizer: &Recognizer, samp_freq: f32) -> Result<Self, Trouble> {
        let cannot = |error: &dyn std::fmt::Display| Trouble::Failed(format!("standard input: {error}"));
        let mut head = vec![];
        input.take(4).read_to_end(&mut head).map_err(|error| cannot(&error))?;
        if matches!(&head[..], b"RIFF" | b"RIFX") {
            let big_endian = head == b"RIFX";
            let info = WaveInfo::read((&head[..]).chain(input)).map_err(|error| cannot(&error))?;
            if info.num_channels != 1 {
                return Err(cannot(&format_args!("{} channels, where one is needed", info.num_channels)));
            }
            let bytes = info.num_samples.map(|samples| 2 * u64::from(samples));
            return Ok(Self { samp_freq: info.samp_freq, head: vec![], bytes, big_endian });
        }
        let samp_freq = if samp_freq == 0.0 { recognizer.samp_freq().unwrap_or(0.0) } else { samp_freq };
        if !(samp_freq > 0.0 && samp_freq.is_finite()) {
            return Err(Trouble::Usage(format!("option --sample-frequency: {samp_freq} is no number of samples")));
        }
        Ok(Self { samp_freq, head, bytes: None, big_endian: false })
    }
}

/// From a chunk to its words.
#[derive(Default)]
struct Latency {
    chunks: u32,
    sum: Duration,
    most: Duration,
    seconds: f64,
}

impl Latency {
    fn add(&mut self, begin: Instant) {
        let time = begin.elapsed();
        self.chunks += 1;
        self.sum += time;
        self.most = self.most.max(time);
    }

    fn tell(&self) {
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let mean = millis(self.sum) / f64::from(self.chunks.max(1));
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
    big_endian: bool,
    stop: &'static AtomicBool,
}

impl Chunks {
    fn begin(source: Source, chunk: usize, stop: &'static AtomicBool) -> Result<Self, Trouble> {
        let Source { head, bytes, big_endian, .. } = source;
        let (inbox, size) = (Arc::new(Inbox::default()), 2 * chunk);
        let fill = {
            let inbox = Arc::clone(&inbox);
            move || {
                let input = (&head[..]).chain(io::stdin().lock()).take(bytes.unwrap_or(u64::MAX));
                inbox.fill(input, WAITING.max(4 * size));
            }
        };
        thread::Builder::new().name("audio".to_owned()).spawn(fill).map_err(|error| Trouble::failed(&error))?;
        Ok(Self { inbox, size, big_endian, stop })
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
        let sample = |&pair: &[u8; 2]| {
            f32::from(if self.big_endian { i16::from_be_bytes(pair) } else { i16::from_le_bytes(pair) })
        };
        let samples = waiting.bytes[..count].as_chunks().0.iter().map(sample).collect();
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
    let failed = |error: kaldera::Error| Trouble::failed(&error);
    let samp_freq = source.samp_freq;
    let mut stream = recognizer.stream("utt-1", samp_freq).map_err(failed)?;
    let chunks = Chunks::begin(source, chunk, stop)?;
    let rules = EndpointRules::kaldi();
    let (mut latency, mut number, mut line) = (Latency::default(), 1, LiveLine::default());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of samples, which saturates, of a part of a second"
    )]
    let samples_of = |seconds: f64| (seconds * f64::from(samp_freq)) as usize;
    // The last samples that have come.
    let mut recent: Vec<f32> = vec![];
    let mut due = Due::default();
    loop {
        let Chunk { samples, last } = chunks.next()?;
        let begin = Instant::now();
        #[expect(clippy::cast_precision_loss, reason = "a chunk has at most 2^24 samples")]
        let seconds = samples.len() as f64 / f64::from(samp_freq);
        latency.seconds += seconds;
        stream.accept(&samples).map_err(failed)?;
        due.add(samples.len());
        if last {
            let text = stream.finish().map_err(failed)?.text();
            print(&ended(&text, show, &mut line))?;
            latency.add(begin);
            return Ok(latency);
        }
        recent.extend(samples);
        recent.drain(..recent.len().saturating_sub(samples_of(OVERLAP)));
        if !(stream.keeps_state() || due.is_now()) {
            latency.add(begin);
            continue;
        }
        let so_far = stream.partial().map_err(failed)?;
        if recognizer.endpoint(&so_far, &rules).map_err(failed)?.is_some() {
            number += 1;
            let next = recognizer.stream(&format!("utt-{number}"), samp_freq).map_err(failed)?;
            let utterance = std::mem::replace(&mut stream, next).finish().map_err(failed)?;
            print(&ended(&utterance.text(), show, &mut line))?;
            let again = samples_of(overlap(&utterance, recognizer.times()));
            let again = &recent[recent.len().saturating_sub(again)..];
            stream.accept(again).map_err(failed)?;
            due = Due::default();
            due.add(again.len());
        } else {
            match show {
                Show::Nothing => {}
                Show::Lines => print(&format!("partial: {}\n", so_far.text()))?,
                Show::Terminal => print(&line.show(&so_far.text(), width()))?,
            }
        }
        latency.add(begin);
    }
}

/// When the next result so far is due, of a network that keeps no state.
#[derive(Default)]
struct Due {
    /// Samples of the utterance.
    length: usize,
    /// The length from which on it is.
    next: usize,
}

impl Due {
    fn add(&mut self, samples: usize) {
        self.length += samples;
    }

    /// Whether it is; then the next one is due later.
    fn is_now(&mut self) -> bool {
        let now = self.length >= self.next;
        if now {
            self.next = self.length + self.length / GROWTH;
        }
        now
    }
}

/// How many seconds of the end of an utterance begin the next one.
fn overlap(ended: &Recognition, times: &FrameTimes) -> f64 {
    let spoken = ended.best().and_then(|best| best.tokens.last()).map_or(0, |last| last.frames.end);
    let silence = times.seconds(ended.num_frames) - times.seconds(spoken);
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
    use kaldera::decoder::{Hypothesis, Segment};

    use super::*;

    #[test]
    fn the_work_of_results_is_bounded_for_short_chunks() {
        for (chunk, seconds) in [(1, 100), (160, 20_000), (3200, 20_000), (50_000, 100)] {
            let (mut due, mut work) = (Due::default(), 0);
            for _ in 0..seconds {
                due.add(chunk);
                work += if due.is_now() { due.length } else { 0 };
            }
            assert!(work <= (GROWTH + 2) * due.length + 36 * chunk, "{work} of {}", due.length);
            // None has waited for more than an eighth of what came before it.
            assert!(due.next <= due.length + due.length / GROWTH && due.next + chunk > due.length, "{chunk}");
        }
    }

    #[test]
    fn an_utterance_begins_in_the_silence_before_it() {
        let times = FrameTimes::new(0.01);
        let after = |silence: usize| {
            let mut best = Hypothesis::default();
            best.tokens = vec![Segment::new(1, "a", 10..20, &times)];
            overlap(&Recognition::new("utt-1", 20 + silence, vec![best]), &times)
        };
        assert_eq!((after(0), after(20), after(60)), (0.0, 0.0, OVERLAP));
        assert!((after(30) - 0.1).abs() < 1e-9, "{}", after(30));
        assert_eq!(overlap(&Recognition::new("utt-1", 500, vec![]), &times), OVERLAP);
    }
}
