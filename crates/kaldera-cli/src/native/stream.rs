//! `kaldera stream`: words while speech comes from standard input.

use std::io::{self, IsTerminal as _, Read, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kaldera::decoder::graph::EndpointRules;
use kaldera::feat::options::{OptionSet as _, Registry as _};
use kaldera::io::wave::WaveInfo;
use kaldera::recognizer::Recognizer;

use super::transcribe::{Decoding, take_model};
use super::{Trouble, arguments, print};
use crate::Call;
use crate::log::say;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "stream";
const USAGE: &str = "\
Recognise speech while it comes from standard input.

Usage: kaldera stream [OPTIONS] MODEL < AUDIO

AUDIO is 16-bit WAV, or raw samples: 16 bits, little-endian, one channel, of --sample-frequency (the
model's unless it is given). Each utterance ends at a pause (Kaldi's endpoint rules) and is a line;
with --partial, and on a terminal, its words so far are shown after each chunk. At the end stderr
tells how long it took from a chunk to its words.

Examples:
  kaldera stream model/ < hello.wav
  arecord -q -f S16_LE -r 16000 -c 1 | kaldera stream model/

Exit status: 0 the end of the audio, 1 it cannot be used, 2 wrong usage.";

/// The most samples that a chunk may have.
const MAX_CHUNK: usize = 1 << 24;

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
    let mut input = io::stdin().lock();
    let source = Source::begin(&mut input, &recognizer, samp_freq)?;
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
    let latency = recognise(&recognizer, &mut input, source, chunk, show)?;
    if !quiet {
        latency.tell();
    }
    Ok(ExitCode::SUCCESS)
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

fn recognise(
    recognizer: &Recognizer,
    input: &mut impl Read,
    source: Source,
    chunk: usize,
    show: Show,
) -> Result<Latency, Trouble> {
    let failed = |error: kaldera::Error| Trouble::failed(&error);
    let Source { samp_freq, head, bytes, big_endian } = source;
    let mut input = (&head[..]).chain(input).take(bytes.unwrap_or(u64::MAX));
    let rules = EndpointRules::kaldi();
    let (mut latency, mut number) = (Latency::default(), 1);
    let mut stream = recognizer.stream("utt-1", samp_freq).map_err(failed)?;
    loop {
        let mut bytes = vec![];
        let read = input.by_ref().take(2 * chunk as u64).read_to_end(&mut bytes);
        read.map_err(|error| Trouble::Failed(format!("standard input: {error}")))?;
        let last = bytes.len() < 2 * chunk;
        let begin = Instant::now();
        let sample =
            |&pair: &[u8; 2]| f32::from(if big_endian { i16::from_be_bytes(pair) } else { i16::from_le_bytes(pair) });
        let samples: Vec<f32> = bytes.as_chunks().0.iter().map(sample).collect();
        #[expect(clippy::cast_precision_loss, reason = "a chunk has at most 2^24 samples")]
        let seconds = samples.len() as f64 / f64::from(samp_freq);
        latency.seconds += seconds;
        stream.accept(&samples).map_err(failed)?;
        if last {
            let text = stream.finish().map_err(failed)?.text();
            end_line(&text, show)?;
            latency.add(begin);
            return Ok(latency);
        }
        let so_far = stream.partial().map_err(failed)?;
        let ended = recognizer.endpoint(&so_far, &rules).map_err(failed)?.is_some();
        if ended {
            number += 1;
            let next = recognizer.stream(&format!("utt-{number}"), samp_freq).map_err(failed)?;
            let text = std::mem::replace(&mut stream, next).finish().map_err(failed)?.text();
            end_line(&text, show)?;
        } else {
            match show {
                Show::Nothing => {}
                Show::Lines => print(&format!("partial: {}\n", so_far.text()))?,
                Show::Terminal => {
                    print(&format!("\r\x1b[2K{}", so_far.text()))?;
                    let _ = io::stdout().flush();
                }
            }
        }
        latency.add(begin);
    }
}

/// The words of an utterance that has ended; nothing if there are none.
fn end_line(text: &str, show: Show) -> Result<(), Trouble> {
    let clear = if show == Show::Terminal { "\r\x1b[2K" } else { "" };
    match text {
        "" => print(clear),
        text => print(&format!("{clear}{text}\n")),
    }
}
