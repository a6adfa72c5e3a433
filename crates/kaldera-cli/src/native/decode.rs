//! `kaldera decode`: words of log-probabilities that another program computed.

use std::path::PathBuf;
use std::process::ExitCode;

use kaldera::feat::options::OptionSet as _;

use super::CliError;
use super::decoding::Decoding;
use super::transcript_options::TranscriptOptions;
use super::transcripts::Format;
use crate::Call;

const TOOL: &str = "decode";
const USAGE: &str = "\
Turn log-probabilities of another program into words.

Usage: kaldera decode [OPTIONS] MODEL ARCHIVE...

MODEL is a folder with a model.toml, whose network need not be there. ARCHIVE is .ark, .scp, .npz or
.safetensors: for each key a matrix of natural logarithms, with a row for each frame and a column for
each output of the network. Commands in an .scp are not run. Without -o a line 'KEY WORDS' for each
key is written to standard output, or the format of --format. OUT appears complete or not at all, in
the order of the archives for any number of --jobs. Words have the times of their frames. Keys that
cannot be decoded are skipped and listed at the end.

Examples:
  kaldera decode model/ log_probs.npz
  kaldera decode --graph=HLG.fst --format=ctm model/ nnet_output.scp
  kaldera decode model/ --lm=lm.arpa.gz --beam=50 --nbest=5 -o words.jsonl log_probs.*.ark

Exit status: 0 success, 1 some or all keys failed or OUT cannot be written, 2 wrong usage, 130
stopped by Ctrl-C, 141 the reader of the output is gone, 143 stopped by SIGTERM.";

/// Answers a call of `kaldera decode`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, decode(call))
}

fn decode(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut decoding, mut transcripts) = (Decoding::default(), TranscriptOptions::new(Format::Text, false));
    let call = transcripts.read((TOOL, USAGE), call, |parser| decoding.register(parser))?;
    let Some(call) = call else { return Ok(ExitCode::SUCCESS) };
    let archives: Vec<PathBuf> = call.paths.iter().map(PathBuf::from).collect();
    if archives.is_empty() {
        return Err(CliError::Usage("ARCHIVE is missing: .ark, .scp, .npz or .safetensors".to_owned()));
    }
    let opened = decoding.open_archives(&call.model, &archives)?;
    transcripts.write(&call, &decoding, &opened, &mut |inputs, options, take, progress| {
        opened.transcribe_all(inputs, options, take, progress)
    })
}
