//! `kaldera model`: what a model folder holds.

use std::path::Path;
use std::process::ExitCode;

use super::transcribe::Decoding;
use super::{Trouble, arguments, print};
use crate::Call;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "model";
const USAGE: &str = "\
Say what a model folder holds, and what is wrong with it; write one to try.

Usage: kaldera model check MODEL
       kaldera model digits FOLDER

'check' reads the model.toml of the folder and every file that it names, as 'kaldera transcribe'
does. 'digits' writes a small model of connected English digits, and digits.wav to try it with;
both are under CC BY-SA 4.0 (NOTICE.md). It needs a command that was built with --features digits.

Examples:
  kaldera model digits digits/ && kaldera transcribe digits/ digits/digits.wav
  kaldera model check model/

Exit status: 0 the model can be used or was written, 1 it cannot or was not, 2 wrong usage.";

/// Answers a call of `kaldera model`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, model(call))
}

fn model(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    let Some(plain) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    match &plain[..] {
        [operation, folder] if operation == "check" => check(Path::new(folder)),
        [operation, folder] if operation == "digits" => write_digits(Path::new(folder)),
        _ => Err(Trouble::Usage("expected 'check' or 'digits', and a folder".to_owned())),
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

#[cfg(feature = "digits")]
fn write_digits(folder: &Path) -> Result<ExitCode, Trouble> {
    let failed = |error| Trouble::Failed(format!("cannot write {}: {error}", folder.display()));
    kaldera_digits::write_model(folder).map_err(failed)?;
    print(&format!("written to {}: a model of English digits, and digits.wav\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(not(feature = "digits"))]
fn write_digits(_folder: &Path) -> Result<ExitCode, Trouble> {
    Err(Trouble::Failed("this command was built without the feature digits, which has that model".to_owned()))
}
