//! Errors that end one of Kaldi's programs early.

use std::num::TryFromIntError;

use thiserror::Error;

use crate::parse_options::OptionsError;

/// An error for which Kaldi would throw, in one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error(transparent)]
    Io(#[from] kaldera::io::Error),
    #[error(transparent)]
    Online(#[from] kaldera::Error),
    #[error(transparent)]
    Ivector(#[from] kaldera::ivector::Error),
    #[error(transparent)]
    Nnet3(#[from] kaldera::nnet3::Error),
    #[error("utterance '{key}': {source}")]
    Utterance { key: String, source: kaldera::nnet3::Error },
    #[error("the network has {found} columns of output, and the transition model names {wanted} pdfs")]
    FewPdfs { found: usize, wanted: usize },
    #[error("the features have {found} columns, and the network takes {wanted}")]
    FeatureDim { found: usize, wanted: usize },
    #[error("the network takes i-vectors: give --ivector-extraction-config")]
    NoIvectors,
    #[error("'{key}' has an i-vector of {found} elements, and the network takes {wanted} (0 for none)")]
    IvectorDim { key: String, found: usize, wanted: usize },
    #[error("option --{name} is not supported: {reason}")]
    Unsupported { name: &'static str, reason: &'static str },
    #[error(transparent)]
    Feat(#[from] kaldera::feat::Error),
    #[error(transparent)]
    Fsa(#[from] kaldera::fsa::Error),
    #[error(transparent)]
    Score(#[from] kaldera::decoder::score::ScoreError),
    #[error("'{key}' has no hypothesis: give --mode=present to skip it, or --mode=all to use an empty one")]
    NoHypothesis { key: String },
    #[error(transparent)]
    Matrix(#[from] kaldera::matrix::Error),
    #[error("a count of frames does not fit 32 bits: {0}")]
    TooManyFrames(#[from] TryFromIntError),
    #[error("option --{name}={value}: expected {expected}")]
    Option { name: &'static str, value: String, expected: &'static str },
    #[error("'{value}' is not {expected}")]
    Argument { value: String, expected: &'static str },
    #[error("{file} has no frames")]
    Empty { file: String },
    #[error("'{key}' has {found} columns, and at least {wanted} are needed")]
    TooFewColumns { key: String, found: usize, wanted: usize },
    #[error("'{key}' has {found} columns, and the transition model has {wanted} pdfs")]
    Columns { key: String, found: usize, wanted: usize },
    #[error("nothing was written; {left_out} utterances were left out")]
    NothingDone { left_out: u64 },
    #[error("options --{first} and --{second} exclude each other: give one of them")]
    Exclusive { first: &'static str, second: &'static str },
    #[error("{file} has a line without a key: remove it")]
    EmptyLine { file: String },
    #[error("utterance '{key}' needs a channel in the segments file: its recording has {channels}")]
    NoChannel { key: String, channels: usize },
    #[error("option --{name} has no meaning without --{needs}: give both or neither")]
    Alone { name: &'static str, needs: &'static str },
    #[error("option --{name} is for tables, not for single files: write ark:{input} for a table")]
    SingleFile { name: &'static str, input: String },
    #[error("'{input}' and '{output}' are a table and a single file: put ark: or scp: before both, or neither")]
    Mixed { input: String, output: String },
    #[error("'{key}' cannot be the name of a file, {place}")]
    KeyAsFile { key: String, place: &'static str },
    #[error("recording '{key}' has no duration in its header: check its source, or try --read-entire-file")]
    NoDuration { key: String },
}

impl Failure {
    /// Returns `true` if the only error is that the reader of the output is gone.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Io(error) | Failure::Online(kaldera::Error::Io(error)) if error.is_broken_pipe())
    }
}
