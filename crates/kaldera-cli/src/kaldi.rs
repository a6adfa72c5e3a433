//! Kaldi's programs, one file each, with Kaldi's command lines.
//!
//! Exit statuses are Kaldi's: 0 if any utterance succeeded, 1 if none did or the number of
//! arguments is wrong, 255 if Kaldi would throw; output written before the error stays. If the
//! reader of the output is gone, a program ends silently with 141. This is the status that a shell
//! reports for Kaldi's programs, which SIGPIPE kills.

mod add_deltas;
mod align_text;
mod apply_cmvn;
mod apply_cmvn_online;
mod apply_cmvn_sliding;
mod arpa_to_const_arpa;
mod compute_cmvn_stats;
mod compute_feats;
mod compute_vad;
mod compute_wer;
mod copy_feats;
mod copy_feats_to;
mod copy_objects;
mod decode;
mod driver;
mod extract_segments;
mod failure;
mod gmm_models;
mod gmm_posteriors;
mod interpolate_pitch;
mod ivector_extract;
mod ivector_extract_online;
mod latgen;
mod lattice_align;
mod lattice_combine;
mod lattice_copy;
mod lattice_lmrescore;
mod lattice_mbr;
mod lattice_oracle;
mod lattice_paths;
mod lattice_posteriors;
mod lattice_prune;
mod lattices;
mod linear_to_nbest;
mod matrix_sum_rows;
mod modify_cmvn_stats;
mod nnet3_compute;
mod nnet3_forward;
mod nnet3_latgen;
mod nnet3_models;
mod nnet3_options;
mod online2_decode;
mod online2_features;
mod paste_feats;
mod phones;
mod pitch_feats;
mod select_feats;
mod select_voiced_frames;
mod shift_feats;
mod sizes;
mod splice_feats;
mod subsample_feats;
mod subset_feats;
mod transform_feats;
mod wav_copy;
mod wav_to_duration;

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, OptionValue, Registry};
use kaldera::io::table::{TableWriter, refuse_pipes};
use kaldera::io::{Holder, overwrite};

use self::failure::Failure;
use crate::parse_options::{OptionsError, ParseOptions, Request, Syntax, shell_line};
use crate::{Call, Tool, log};

/// The programs, in the order of `kaldera --help`.
pub(crate) const TOOLS: &[Tool] = &[
    add_deltas::DELTAS,
    add_deltas::SHIFTED,
    phones::ALIGNMENTS,
    align_text::TOOL,
    apply_cmvn::TOOL,
    apply_cmvn_online::TOOL,
    apply_cmvn_sliding::TOOL,
    arpa_to_const_arpa::TOOL,
    pitch_feats::COMPUTE_AND_PROCESS,
    compute_cmvn_stats::TOOL,
    compute_feats::FBANK,
    pitch_feats::COMPUTE,
    compute_feats::MFCC,
    compute_feats::PLP,
    compute_feats::SPECTROGRAM,
    compute_vad::TOOL,
    compute_wer::TOOL,
    compute_wer::BOOTSTRAP,
    copy_feats::TOOL,
    copy_feats_to::HTK,
    copy_feats_to::SPHINX,
    copy_objects::INT_VECTOR,
    copy_objects::MATRIX,
    copy_objects::VECTOR,
    decode::FASTER,
    extract_segments::FEATURES,
    extract_segments::TOOL,
    sizes::FEAT_TO_DIM,
    sizes::FEAT_TO_LEN,
    gmm_models::FULL,
    gmm_models::FULL_TO_DIAGONAL,
    gmm_models::DIAGONAL,
    gmm_posteriors::TOOL,
    interpolate_pitch::TOOL,
    ivector_extract::TOOL,
    ivector_extract_online::TOOL,
    gmm_models::EXTRACTOR,
    latgen::TOOL,
    lattice_paths::ONE_BEST,
    lattice_copy::PENALTY,
    lattice_align::WORDS,
    lattice_align::LEXICON,
    lattice_posteriors::ARC_POST,
    lattice_paths::BEST_PATH,
    lattice_combine::COMBINE,
    lattice_combine::COMPOSE,
    lattice_copy::COPY,
    lattice_copy::BACKOFF,
    lattice_posteriors::DEPTH,
    lattice_posteriors::DEPTH_PER_FRAME,
    lattice_prune::DETERMINIZE_WHOLE,
    lattice_prune::DETERMINIZE,
    lattice_combine::INTERP,
    lattice_lmrescore::TOOL,
    lattice_lmrescore::CONST_ARPA,
    lattice_lmrescore::PRUNED,
    lattice_mbr::MBR,
    lattice_oracle::TOOL,
    lattice_combine::PROJECT,
    lattice_prune::PRUNE,
    lattice_copy::SCALE,
    lattice_mbr::CTM_CONF,
    lattice_paths::N_BEST,
    phones::LATTICES,
    lattice_prune::UNION,
    linear_to_nbest::TOOL,
    sizes::MATRIX_DIM,
    matrix_sum_rows::TOOL,
    modify_cmvn_stats::TOOL,
    lattice_paths::CTM,
    lattice_paths::LINEAR,
    nnet3_models::AM_COPY,
    nnet3_models::AM_INFO,
    nnet3_compute::TOOL,
    nnet3_models::COPY,
    nnet3_models::INFO,
    nnet3_latgen::TOOL,
    online2_decode::TOOL,
    paste_feats::TOOL,
    pitch_feats::PROCESS,
    select_feats::TOOL,
    select_voiced_frames::TOOL,
    shift_feats::TOOL,
    splice_feats::TOOL,
    subsample_feats::TOOL,
    subset_feats::TOOL,
    transform_feats::TOOL,
    wav_copy::TOOL,
    wav_to_duration::TOOL,
];

/// The names in [`TOOLS`].
pub(crate) const NAMES: [&str; TOOLS.len()] = {
    let mut names = [""; TOOLS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = TOOLS[i].name;
        i += 1;
    }
    names
};

/// Exit status that shells report for a process killed by SIGPIPE.
pub(crate) const KILLED_BY_SIGPIPE: u8 = 141;

/// Exit status of Kaldi's programs after an exception.
const THROWN: u8 = 255;

/// Reads the command line of `tool` into `options`, runs `body` with them and the `N` plain
/// arguments, and returns Kaldi's exit status. `body` returns `true` if anything was done.
fn run<O: OptionSet, const N: usize>(
    tool: &'static str,
    usage: &'static str,
    call: Call<'_>,
    options: O,
    body: impl FnOnce(O, [String; N]) -> Result<bool, Failure>,
) -> ExitCode {
    run_any(tool, usage, call, options, N..=N, |options, plain| {
        // The conversion cannot fail: `run_any` has checked the number.
        plain.try_into().map_or(Ok(false), |plain| body(options, plain))
    })
}

/// Like [`run`], for a number of plain arguments in `accepted`.
fn run_any<O: OptionSet>(
    tool: &'static str,
    usage: &'static str,
    call: Call<'_>,
    options: O,
    accepted: RangeInclusive<usize>,
    body: impl FnOnce(O, Vec<String>) -> Result<bool, Failure>,
) -> ExitCode {
    run_reading(tool, usage, call, options, accepted, |mut options, plain| {
        // A single argument is an input.
        refuse_overwriting(&mut options, &plain, plain.len().saturating_sub(1).max(1))?;
        body(options, plain)
    })
}

/// Like [`run_any`], for programs with several outputs: all plain arguments after the first
/// `num_inputs`.
fn run_with_outputs<O: OptionSet>(
    tool: &'static str,
    usage: &'static str,
    call: Call<'_>,
    options: O,
    (accepted, num_inputs): (RangeInclusive<usize>, usize),
    body: impl FnOnce(O, Vec<String>) -> Result<bool, Failure>,
) -> ExitCode {
    run_reading(tool, usage, call, options, accepted, |mut options, plain| {
        refuse_overwriting(&mut options, &plain, num_inputs)?;
        body(options, plain)
    })
}

/// Like [`run_any`], for programs that print their results: all plain arguments are inputs.
fn run_reading<O: OptionSet>(
    tool: &'static str,
    usage: &'static str,
    call: Call<'_>,
    mut options: O,
    accepted: RangeInclusive<usize>,
    body: impl FnOnce(O, Vec<String>) -> Result<bool, Failure>,
) -> ExitCode {
    let mut parser = ParseOptions::new(Syntax::Kaldi, usage);
    options.register(&mut parser);
    let args = match call {
        Call::Run(args) => args,
        Call::Complete(words, found) => {
            parser.complete(words, found);
            return ExitCode::SUCCESS;
        }
    };
    let request = parser.read(&args);
    log::init(tool, Syntax::Kaldi, parser.verbosity());
    let plain = match request {
        Ok(Request::Tell(text)) => {
            return match log::print(&text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    tracing::error!("cannot write to standard output: {error}");
                    ExitCode::from(THROWN)
                }
            };
        }
        Ok(Request::Run(plain)) => plain,
        Err(error) => {
            log::say(parser.help());
            return throw(&error.into());
        }
    };
    if parser.print_args() {
        let words = [OsStr::new("kaldera"), OsStr::new(tool)];
        log::say(shell_line(words.into_iter().chain(args.iter().map(OsString::as_os_str))));
    }
    if !accepted.contains(&plain.len()) {
        log::say(parser.help());
        return ExitCode::from(1);
    }
    if parser.no_pipes() {
        refuse_pipes();
    }
    drop(parser);
    let checked = utf8(plain).and_then(|plain| body(options, plain));
    match checked {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) if failure.is_broken_pipe() => ExitCode::from(KILLED_BY_SIGPIPE),
        Err(failure) => throw(&failure),
    }
}

/// Returns an error if an output would overwrite one of the inputs, before any file is opened.
/// Kaldi's programs have no such check.
fn refuse_overwriting(options: &mut impl OptionSet, plain: &[String], num_inputs: usize) -> Result<(), Failure> {
    let mut files = FileOptions::default();
    options.register(&mut files);
    let (inputs, outputs) = plain.split_at(num_inputs.min(plain.len()));
    let inputs: Vec<_> = inputs.iter().chain(&files.inputs).map(String::as_str).collect();
    let outputs: Vec<_> = outputs.iter().chain(&files.outputs).map(String::as_str).collect();
    Ok(overwrite::refuse_overwriting(&inputs, &outputs)?)
}

/// The files and tables that options name.
#[derive(Default)]
struct FileOptions {
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl<'a> Registry<'a> for FileOptions {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, _doc: &'static str) {
        let files = match name {
            "exclude" | "include" | "spk2utt" | "utt2spk" | "vtln-map" | "weights" | "word-symbol-table" => {
                &mut self.inputs
            }
            "cmvn-config"
            | "diag-ubm"
            | "edits-config"
            | "fbank-config"
            | "frame-weights-rspecifier"
            | "global-cmvn-stats"
            | "ivector-extraction-config"
            | "ivector-extractor"
            | "ivectors"
            | "lda-matrix"
            | "mfcc-config"
            | "online-ivectors"
            | "plp-config"
            | "set-raw-nnet"
            | "splice-config" => &mut self.inputs,
            "write-lattices" | "write-num-frames" | "write-utt2dur" => &mut self.outputs,
            _ => return,
        };
        // `show` puts a text in quotes.
        let shown = value.show();
        let file = shown.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&shown);
        if !file.is_empty() {
            files.push(file.to_owned());
        }
    }
}

/// The options of a program that has only the standard ones.
struct NoOptions;

impl OptionSet for NoOptions {
    fn register<'a>(&'a mut self, _registry: &mut dyn Registry<'a>) {}
}

/// Opens a second output if its option is given.
fn open_if_given<T: Holder>(wspecifier: &str) -> Result<Option<TableWriter<T>>, Failure> {
    if wspecifier.is_empty() { Ok(None) } else { Ok(Some(TableWriter::open(wspecifier)?)) }
}

fn close_if_given<T: Holder>(writer: Option<TableWriter<T>>) -> Result<(), Failure> {
    match writer {
        Some(writer) => Ok(writer.close()?),
        None => Ok(()),
    }
}

/// Parses numbers with colons between them, as in `13:14`; an empty text gives an empty list.
/// Returns `None` for any other text.
fn colon_list(text: &str) -> Option<Vec<i32>> {
    if text.is_empty() { Some(Vec::new()) } else { text.split(':').map(|number| number.trim().parse().ok()).collect() }
}

/// Logs the error and returns the status of Kaldi's programs after an exception.
fn throw(failure: &Failure) -> ExitCode {
    tracing::error!("{}", log::one_line(failure));
    ExitCode::from(THROWN)
}

/// Converts arguments to text, as specifiers must be UTF-8.
fn utf8(args: Vec<OsString>) -> Result<Vec<String>, Failure> {
    let text = |argument: OsString| argument.into_string().map_err(|argument| OptionsError::NotUtf8 { argument });
    Ok(args.into_iter().map(text).collect::<Result<_, _>>()?)
}
