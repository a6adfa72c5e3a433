//! `kaldera stream`: recognition of speech from standard input while it arrives.

mod source;
mod suspicion;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kaldera::Error;
use kaldera::decoder::Recognition;
use kaldera::decoder::align::write_ctm;
use kaldera::feat::options::{OptionSet as _, Registry as _};
use kaldera::pipeline::ChannelChoice;
use kaldera::recognizer::{LiveRecognizer, Recognizer};
use serde_json::json;

use self::source::{Chunk, Chunks, Given, Source};
use self::suspicion::Suspicion;
use super::corpus::CHANNEL;
use super::decoding::{Decoding, take_model};
use super::live_line::LiveLine;
use super::{CliError, arguments, print_results, transcripts};
use crate::log::{printable, say};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt};

const TOOL: &str = "stream";
const USAGE: &str = "\
Recognise speech from standard input as it arrives.

Usage: kaldera stream [OPTIONS] MODEL < AUDIO

AUDIO is WAV of any kind that 'kaldera transcribe' reads, or raw samples: 16 bits, little-endian,
with --num-channels (default 1) and --sample-frequency (default: the rate of the model). Other
formats are rejected by name, and implausible raw samples give a warning. The first of several
channels is used, unless --channel selects another one or the mean.

Each utterance ends at a pause and is a line of words. Pauses follow Kaldi's endpoint rules; less
than a second without words is a pause only if the audio is 6 dB quieter than the utterance. A Vosk
or Kaldi folder has rules of its own. With --partial, and on a terminal, the words so far are shown
after each chunk. --format=ctm writes a line for each word, --format=jsonl a JSON object for each
utterance, with times in seconds from the start of the stream.

The end of an utterance is checked every tenth of a second of audio, for any length of chunks. A
network without state between chunks runs over the whole utterance each time. Its words are shown,
and the end is checked, from half a second on, whenever the utterance has grown by an eighth or by a
second, and every tenth of a second while the last half second is quiet. At the end of the audio,
the latency from a chunk to its words is printed to stderr. Ctrl-C ends the last utterance.

Examples:
  kaldera stream model/ < hello.wav
  arecord -q -f S16_LE -r 16000 -c 1 | kaldera stream model/
  kaldera stream --channel=mean --format=jsonl model/ < stereo.wav
  ffmpeg -v error -i talk.mp3 -ac 1 -f wav - | kaldera stream model/

Exit status: 0 success, 1 the audio cannot be used or ends early, 2 wrong usage, 130 stopped by
Ctrl-C, 141 the reader of the output is gone, 143 stopped by SIGTERM.";

/// Maximum number of samples of a chunk, over all channels.
const MAX_CHUNK: usize = 1 << 24;

/// Maximum number of channels, as for recordings.
const MAX_CHANNELS: usize = 256;

/// Cells of a line, if the terminal does not report its width.
const WIDTH: usize = 80;

/// Name of the recording in CTM.
const RECORDING: &str = "stream";

const FORMATS: [&str; 3] = ["text", "ctm", "jsonl"];

/// Answers a call of `kaldera stream`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, stream(call))
}

fn stream(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut decoding, mut samp_freq, mut chunk_ms, mut partial) = (Decoding::default(), 0.0_f32, 100.0_f32, false);
    let (mut num_channels, mut channel) = (0_usize, ChannelChoice::default());
    let mut format = FORMATS[0].to_owned();
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    decoding.register(&mut parser);
    parser.add("sample-frequency", &mut samp_freq, "Sample rate of raw audio in Hz; 0 for the rate of the model");
    parser.add("num-channels", &mut num_channels, "Number of interleaved channels of raw audio; 0 for one");
    parser.add("channel", &mut channel, CHANNEL);
    parser.add("chunk", &mut chunk_ms, "Length of a chunk of audio in milliseconds");
    parser.add("partial", &mut partial, "Write the words so far, as lines 'partial: WORDS' or as JSON with jsonl");
    parser.add("format", &mut format, "text, ctm or jsonl");
    parser.choices("format", &FORMATS);
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    drop(parser);
    let format = match format.as_str() {
        "jsonl" => Format::JsonLines,
        "ctm" if partial => {
            let text = "option --partial: CTM has no partial words; use --format=jsonl";
            return Err(CliError::Usage(text.to_owned()));
        }
        "ctm" => Format::Ctm,
        _ => Format::Text,
    };
    let model = take_model(&mut paths)?;
    if !paths.is_empty() {
        return Err(CliError::Usage("expected only MODEL: audio is read from standard input".to_owned()));
    }
    let recognizer = Arc::new(decoding.recognizer(&model)?);
    if num_channels > MAX_CHANNELS {
        return Err(CliError::Usage(format!("option --num-channels: {num_channels} is not 1 to {MAX_CHANNELS}")));
    }
    let given = Given { samp_freq, num_channels, channel };
    let source = Source::begin(&mut io::stdin().lock(), recognizer.samp_freq(), given)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of samples, which saturates and is checked"
    )]
    let chunk = (source.format.samp_freq() * chunk_ms / 1000.0) as usize;
    let max_chunk = MAX_CHUNK / source.format.num_channels();
    if !(1..=max_chunk).contains(&chunk) {
        return Err(CliError::Usage(format!(
            "option --chunk: {chunk_ms} ms are {chunk} samples, not 1 to {max_chunk}"
        )));
    }
    let is_terminal = io::stdout().is_terminal();
    let show = if partial {
        Show::Lines
    } else if is_terminal && format == Format::Text && !quiet {
        Show::Terminal
    } else {
        Show::Nothing
    };
    let output = Output { format, show, is_terminal, line: LiveLine::default() };
    let stop = interrupt::watch_flag(TOOL, "the audio so far has been recognised");
    let (latency, trouble) = recognise(recognizer, source, chunk, output, stop)?;
    if !quiet {
        latency.tell();
    }
    match trouble {
        Some(trouble) => Err(trouble),
        None if stop.load(Ordering::Relaxed) => Ok(interrupt::stopped()),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Recognises all audio; also returns the error if the audio is incomplete.
fn recognise(
    recognizer: Arc<Recognizer>,
    source: Source,
    chunk: usize,
    mut output: Output,
    stop: &'static AtomicBool,
) -> Result<(Latency, Option<CliError>), CliError> {
    let failed = |error: Error| CliError::failed(&error);
    let mut live = LiveRecognizer::new(recognizer, source.format.samp_freq()).map_err(failed)?;
    let mut suspicion = source.is_raw.then(|| Suspicion::new(source.format.samp_freq()));
    let mut chunks = Chunks::begin(source, chunk, stop)?;
    let mut latency = Latency::default();
    // Arrival time of the first chunk that no result covers yet.
    let mut waits = None;
    loop {
        let Chunk { samples, last, trouble } = chunks.next()?;
        let begin = *waits.get_or_insert_with(Instant::now);
        latency.chunks += u32::from(!samples.is_empty());
        if let Some(suspicion) = &mut suspicion {
            suspicion.look(&samples, last);
        }
        let update = live.accept(&samples).map_err(failed)?;
        latency.seconds = live.seconds();
        for ended in &update.ended {
            output.ended(Some(ended))?;
            latency.add(begin);
        }
        if last {
            let ended = live.finish().map_err(failed)?;
            output.ended(ended.as_ref())?;
            latency.add(begin);
            return Ok((latency, trouble));
        }
        if let Some(so_far) = update.so_far {
            output.so_far(&so_far)?;
            latency.add(begin);
        }
        if live.num_pending() == 0 {
            waits = None;
        }
    }
}

/// Output format of words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Ctm,
    JsonLines,
}

/// Output of results so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Nothing,
    Lines,
    /// In the last line, which is overwritten.
    Terminal,
}

/// Standard output.
struct Output {
    format: Format,
    show: Show,
    is_terminal: bool,
    line: LiveLine,
}

impl Output {
    /// Writes the words of an utterance that has ended, or handles its end without words.
    fn ended(&mut self, found: Option<&Recognition>) -> Result<(), CliError> {
        let text = found.map(Recognition::text).unwrap_or_default();
        match (self.show, self.format, found) {
            (Show::Terminal, _, _) => print_results(&self.line.end(&text)),
            (_, _, None) => Ok(()),
            (_, Format::Text, _) if text.is_empty() => Ok(()),
            (_, Format::Text, _) => self.lines(&text),
            (_, Format::JsonLines, Some(found)) => {
                self.lines(&transcripts::as_json(&found.utterance, found, found.hypotheses.len() > 1).to_string())
            }
            (_, Format::Ctm, Some(found)) => {
                let mut lines = vec![];
                let words = found.best().map_or(&[][..], |best| &best.words);
                write_ctm(&mut lines, RECORDING, "1", words).map_err(|error| CliError::failed(&error))?;
                String::from_utf8_lossy(&lines).lines().try_for_each(|line| self.lines(line))
            }
        }
    }

    /// Shows the words so far.
    fn so_far(&mut self, found: &Recognition) -> Result<(), CliError> {
        let text = found.text();
        match (self.show, self.format) {
            (Show::Nothing, _) => Ok(()),
            (Show::Terminal, _) => print_results(&self.line.show(&text, width())),
            (Show::Lines, Format::JsonLines) => self.lines(&json!({ "partial": text }).to_string()),
            (Show::Lines, _) => self.lines(&format!("partial: {text}")),
        }
    }

    /// Writes a line, without control characters on a terminal.
    fn lines(&self, line: &str) -> Result<(), CliError> {
        print_results(&if self.is_terminal { format!("{}\n", printable(line)) } else { format!("{line}\n") })
    }
}

/// Returns the number of cells of a line of the terminal.
fn width() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| usize::from(width.0))
}

/// Latency of results: the time from the first chunk that a result newly covers to the result.
#[derive(Default)]
struct Latency {
    chunks: u32,
    results: u32,
    sum: Duration,
    most: Duration,
    /// Seconds of audio.
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
        if self.chunks == 0 {
            return say("kaldera stream: no audio came on standard input");
        }
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
