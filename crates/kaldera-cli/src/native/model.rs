//! `kaldera model`: what a model folder holds.

use std::path::Path;
use std::process::ExitCode;

use super::transcribe::Decoding;
use super::{Trouble, arguments, print};
use crate::Call;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "model";
const USAGE: &str = "\
Say what a model folder holds, and what is wrong with it.

Usage: kaldera model check MODEL

Reads the model.toml of the folder and every file that it names, as 'kaldera transcribe' does.

Example:
  kaldera model check model/

Exit status: 0 the model can be used, 1 it cannot, 2 wrong usage.";

/// Answers a call of `kaldera model`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, model(call))
}

fn model(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    let Some(plain) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    match &plain[..] {
        [operation, folder] if operation == "check" => check(Path::new(folder)),
        _ => Err(Trouble::Usage("expected 'check' and a folder".to_owned())),
    }
}

fn check(folder: &Path) -> Result<ExitCode, Trouble> {
    let recognizer = Decoding::default().open(folder)?;
    let times = recognizer.times();
    let shift = (times.seconds(1) - times.seconds(0)) * 1000.0;
    let audio = match recognizer.samp_freq() {
        Some(samp_freq) => {
            let streams = match recognizer.stream("check", samp_freq).is_ok_and(|stream| stream.keeps_state()) {
                true => "streams keep a state",
                false => "it needs whole utterances: streams compute a sentence again for each result",
            };
            format!("audio of {samp_freq} Hz; {streams}")
        }
        None => "log-probabilities of an archive, by key".to_owned(),
    };
    let tokens = recognizer.vocabulary().len();
    print(&format!("{}: {tokens} tokens, a frame each {shift:.1} ms\n{audio}\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
