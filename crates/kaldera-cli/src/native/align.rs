//! `kaldera align`: the times of the words of transcripts.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet as _, Registry as _};

use super::corpus::{CorpusOptions, NOT_OF_RESULTS};
use super::decoding::{Decoding, Opened, take_model};
use super::files::read_text;
use super::score::transcripts;
use super::transcript_options::TranscriptOptions;
use super::transcripts::{FORMATS, Format, about_formats};
use super::{CliError, arguments};
use crate::Call;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "align";
const USAGE: &str = "\
Find the times of the words of transcripts in recordings.

Usage: kaldera align [OPTIONS] [--text=FILE] [-o OUT] MODEL INPUTS...

FILE is Kaldi's text (lines of the key of a recording and its words) or the .jsonl of 'kaldera
transcribe'. Without it the texts come from INPUTS: manifests of NeMo or lhotse, or tar shards. MODEL and INPUTS are as for 'kaldera transcribe'. Without -o the words and their times
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
    let (mut text, mut options) = (String::new(), TranscriptOptions::new(Format::Ctm, true).with_one_hypothesis());
    let mut parser = ParseOptions::new(Syntax::Native, format!("{USAGE}\n\n{}", about_formats()));
    parser.add("text", &mut text, "File of transcripts: lines 'KEY WORDS'; default: the texts of a manifest");
    options.register(&mut parser);
    parser.choices("format", &FORMATS);
    CorpusOptions::letters(&mut parser);
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    let settings = parser.settings(&NOT_OF_RESULTS);
    drop(parser);
    let model = take_model(&mut paths)?;
    let lines = if text.is_empty() { String::new() } else { read_text(&text)? };
    let named: HashMap<_, _> = transcripts(&lines, &text)?.into_iter().collect();
    let mut decoding = Decoding::default();
    let opened = decoding.open(&model)?;
    let settings = format!("{}\n{lines}", decoding.settings(&settings, &model));
    let read = decoding.files(&opened).into_iter().chain(Some(text.clone().into()).filter(|_| !text.is_empty()));
    let read: Vec<PathBuf> = read.collect();
    let options = if text.is_empty() { options.with_texts_of_inputs() } else { options };
    let of = (settings.as_str(), &opened);
    options.write(TOOL, of, &read, &paths, quiet, &mut |inputs, options, take, progress| {
        let in_inputs: HashMap<&str, &str> =
            inputs.utterances().iter().filter_map(|one| Some((&*one.key, one.text.as_deref()?))).collect();
        let text = |key: &str| match text.is_empty() {
            true => in_inputs.get(key).copied(),
            false => named.get(key).map(|words| &**words),
        };
        match &opened {
            Opened::Recognizer(recognizer) => recognizer.align_all(inputs, options, text, take, progress),
            Opened::Archives(decoder, archives) => {
                let log_probs = |key: &str| archives.log_probs(key);
                decoder.align_all(inputs, options, log_probs, text, take, progress)
            }
        }
    })
}
