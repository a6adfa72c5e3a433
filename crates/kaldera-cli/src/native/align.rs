//! `kaldera align`: the times of the words of transcripts.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

use kaldera::feat::options::Registry as _;

use super::CliError;
use super::decoding::{Decoding, Opened};
use super::files::read_text;
use super::score::transcripts;
use super::transcript_options::TranscriptOptions;
use super::transcripts::Format;
use crate::Call;

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
    let call = options.read((TOOL, USAGE), call, |parser| {
        parser.add("text", &mut text, "File of transcripts: lines 'KEY WORDS'; default: the texts of a manifest");
    })?;
    let Some(mut call) = call else { return Ok(ExitCode::SUCCESS) };
    let lines = if text.is_empty() { String::new() } else { read_text(&text)? };
    let named: HashMap<_, _> = transcripts(&lines, &text)?.into_iter().collect();
    let mut decoding = Decoding::default();
    let opened = decoding.open(&call.model)?;
    if text.is_empty() {
        options = options.with_texts_of_inputs();
    } else {
        call.settings.push_str(&lines);
        call.read.push(PathBuf::from(&text));
    }
    options.write(&call, &decoding, &opened, &mut |inputs, options, take, progress| {
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
