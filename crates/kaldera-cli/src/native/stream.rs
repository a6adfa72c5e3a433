//! `kaldera stream`: words while speech comes from standard input.

use std::io::{self, IsTerminal as _, Read};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use kaldera::decoder::graph::EndpointRules;
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
with --partial, and on a terminal, its words so far are shown after each chunk. At the end stderr
tells how long it took from a chunk to its words. Ctrl-C ends the last utterance.

Examples:
  kaldera stream model/ < hello.wav
  arecord -q -f S16_LE -r 16000 -c 1 | kaldera stream model/

Exit status: 0 the end of the audio, 1 it cannot be used, 2 wrong usage, 130 stopped by Ctrl-C, 143
by SIGTERM.";

/// The most samples that a chunk may have.
const MAX_CHUNK: usize = 1 << 24;

/// How many chunks may wait.
const WAITING: usize = 4;

/// How often a stream without audio looks whether it is stopped.
const LOOK: Duration = Duration::from_millis(20);

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

/// The chunks of standard input, which another thread reads: this one must not wait for audio that
/// does not come.
fn chunks(source: Source, chunk: usize) -> Result<Receiver<io::Result<Chunk>>, Trouble> {
    let (send, receive) = sync_channel(WAITING);
    let read = move || {
        let Source { head, bytes, big_endian, .. } = source;
        let mut input = (&head[..]).chain(io::stdin().lock()).take(bytes.unwrap_or(u64::MAX));
        loop {
            let mut bytes = vec![];
            let read = input.by_ref().take(2 * chunk as u64).read_to_end(&mut bytes);
            let last = bytes.len() < 2 * chunk;
            let sample = |&pair: &[u8; 2]| {
                f32::from(if big_endian { i16::from_be_bytes(pair) } else { i16::from_le_bytes(pair) })
            };
            let samples = bytes.as_chunks().0.iter().map(sample).collect();
            let failed = read.is_err();
            // Nobody waits for more after the end of the other thread.
            if send.send(read.map(|_| Chunk { samples, last })).is_err() || failed || last {
                return;
            }
        }
    };
    thread::Builder::new().name("audio".to_owned()).spawn(read).map_err(|error| Trouble::failed(&error))?;
    Ok(receive)
}

/// The next chunk; an empty last one once the process is stopped.
fn next(chunks: &Receiver<io::Result<Chunk>>, stop: &AtomicBool) -> Result<Chunk, Trouble> {
    let nothing = Chunk { samples: vec![], last: true };
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(nothing);
        }
        match chunks.recv_timeout(LOOK) {
            Ok(chunk) => return chunk.map_err(|error| Trouble::Failed(format!("standard input: {error}"))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(nothing),
        }
    }
}

fn recognise(
    recognizer: &Recognizer,
    source: Source,
    chunk: usize,
    show: Show,
    stop: &AtomicBool,
) -> Result<Latency, Trouble> {
    let failed = |error: kaldera::Error| Trouble::failed(&error);
    let samp_freq = source.samp_freq;
    let mut stream = recognizer.stream("utt-1", samp_freq).map_err(failed)?;
    let chunks = chunks(source, chunk)?;
    let rules = EndpointRules::kaldi();
    let (mut latency, mut number, mut line) = (Latency::default(), 1, LiveLine::default());
    loop {
        let Chunk { samples, last } = next(&chunks, stop)?;
        let begin = Instant::now();
        #[expect(clippy::cast_precision_loss, reason = "a chunk has at most 2^24 samples")]
        let seconds = samples.len() as f64 / f64::from(samp_freq);
        latency.seconds += seconds;
        stream.accept(&samples).map_err(failed)?;
        if last {
            let text = stream.finish().map_err(failed)?.text();
            print(&ended(&text, show, &mut line))?;
            latency.add(begin);
            return Ok(latency);
        }
        let so_far = stream.partial().map_err(failed)?;
        if recognizer.endpoint(&so_far, &rules).map_err(failed)?.is_some() {
            number += 1;
            let next = recognizer.stream(&format!("utt-{number}"), samp_freq).map_err(failed)?;
            let text = std::mem::replace(&mut stream, next).finish().map_err(failed)?.text();
            print(&ended(&text, show, &mut line))?;
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
