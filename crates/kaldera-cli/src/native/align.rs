//! `kaldera align`: where the words of transcripts are.

use std::collections::HashMap;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet as _, Registry as _};

use super::fst::files::read_text;
use super::transcribe::{Decoding, NOT_OF_WORDS, Work, settings_with, take_model};
use super::transcripts::ENDINGS;
use super::{Trouble, arguments};
use crate::Call;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "align";
const USAGE: &str = "\
Find where the words of transcripts are in recordings.

Usage: kaldera align [OPTIONS] --text=FILE -o OUT MODEL INPUTS...

FILE is Kaldi's text: lines of the key of a recording and its words. MODEL and INPUTS are those of
'kaldera transcribe'. Recordings without a transcript, or too short for it, are left out and listed
at the end.

Examples:
  kaldera align model/ --text=text -o words.ctm data/test
  kaldera align model/ --text=text -o hello.TextGrid hello.wav

Exit status: 0 all went well, 1 some or all recordings failed or OUT cannot be written, 2 wrong
usage, 130 stopped by Ctrl-C, 143 by SIGTERM.";

/// Answers a call of `kaldera align`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, align(call))
}

fn align(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let (mut text, mut work) = (String::new(), Work::default());
    let mut parser = ParseOptions::new(Syntax::Native, format!("{USAGE}\n\nOUT ends in {ENDINGS}."));
    parser.add("text", &mut text, "File of transcripts: lines 'KEY WORDS'");
    work.register(&mut parser);
    parser.letter('o', "output");
    parser.letter('j', "jobs");
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    let settings = parser.settings(&NOT_OF_WORDS);
    drop(parser);
    if text.is_empty() {
        return Err(Trouble::Usage("--text=FILE is missing: lines 'KEY WORDS'".to_owned()));
    }
    let model = take_model(&mut paths)?;
    let lines = read_text(&text)?;
    let transcripts: HashMap<&str, &str> =
        lines.lines().map(str::trim).map(|line| line.split_once(char::is_whitespace).unwrap_or((line, ""))).collect();
    let recognizer = Decoding::default().open(&model)?;
    let settings = format!("{}\n{lines}", settings_with(&settings, &model));
    work.run(TOOL, &settings, &paths, quiet, &mut |inputs, options, take, progress| {
        recognizer.align_all(inputs, options, |key| transcripts.get(key).copied(), take, progress)
    })
}
