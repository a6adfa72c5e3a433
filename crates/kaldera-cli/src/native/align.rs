//! `kaldera align`: the times of the words of transcripts.

use std::collections::HashMap;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet as _, Registry as _};

use super::corpus::{CorpusOptions, NOT_OF_RESULTS};
use super::files::read_text;
use super::score::transcripts;
use super::transcribe::{Decoding, Opened, TranscriptOptions, take_model};
use super::transcripts::{FORMATS, Format, about_formats};
use super::{CliError, arguments};
use crate::Call;
use crate::parse_options::{ParseOptions, Syntax};

pub(super) const TOOL: &str = "align";
const USAGE: &str = "\
Find the times of the words of transcripts in recordings.

Usage: kaldera align [OPTIONS] --text=FILE [-o OUT] MODEL INPUTS...

FILE is Kaldi's text (lines of the key of a recording and its words) or the .jsonl of 'kaldera
transcribe'. MODEL and INPUTS are as for 'kaldera transcribe'. Without -o the words and their times
are written to standard output as CTM, or in the format of --format. Recordings without a
transcript, or too short for it, are skipped and listed at the end.

Examples:
  kaldera align model/ --text=text hello.wav
  kaldera align model/ --text=text -o words.ctm data/test
  kaldera align model/ --text=text -o hello.TextGrid hello.wav
  kaldera align model/ --text=text -o aligned/ --format=TextGrid recordings/

Exit status: 0 success, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage, 130
stopped by Ctrl-C, 141 the reader of the output is gone, 143 stopped by SIGTERM.";

/// Answers a call of `kaldera align`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, align(call))
}

fn align(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut text, mut options) = (String::new(), TranscriptOptions::new(Format::Ctm, true));
    let mut parser = ParseOptions::new(Syntax::Native, format!("{USAGE}\n\n{}", about_formats()));
    parser.add("text", &mut text, "File of transcripts: lines 'KEY WORDS'");
    options.register(&mut parser);
    parser.choices("format", &FORMATS);
    CorpusOptions::letters(&mut parser);
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    let settings = parser.settings(&NOT_OF_RESULTS);
    drop(parser);
    if text.is_empty() {
        return Err(CliError::Usage("--text=FILE is missing: lines 'KEY WORDS'".to_owned()));
    }
    let model = take_model(&mut paths)?;
    let lines = read_text(&text)?;
    let transcripts =
        transcripts(&lines, &text)?.into_iter().map(|(key, words)| (key.into_owned(), words.into_owned()));
    let transcripts: HashMap<String, String> = transcripts.collect();
    let mut decoding = Decoding::default();
    let opened = decoding.open(&model)?;
    let settings = format!("{}\n{lines}", decoding.settings(&settings, &model));
    let read = [decoding.files(&opened), vec![text.into()]].concat();
    let of = (settings.as_str(), &opened);
    let text = |key: &str| transcripts.get(key).map(String::as_str);
    options.write(TOOL, of, &read, &paths, quiet, &mut |inputs, options, take, progress| match &opened {
        Opened::Recognizer(recognizer) => recognizer.align_all(inputs, options, text, take, progress),
        Opened::Archives(archives) => {
            let log_probs = |key: &str| archives.log_probs(key);
            archives.decoder.align_all(inputs, options, log_probs, text, take, progress)
        }
    })
}
