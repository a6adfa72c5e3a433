//! `kaldera decode`: words of log-probabilities that another program computed.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kaldera::Error;
use kaldera::feat::options::OptionSet as _;
use kaldera::matrix::Matrix;
use kaldera::pipeline::{Inputs, Pipes, read_features_with};
use kaldera::recognizer::AnyDecoder;

use super::corpus::{CorpusOptions, NOT_OF_RESULTS, trouble};
use super::transcribe::{Decoding, Opened, TranscriptOptions, take_model};
use super::transcripts::{FORMATS, Format, about_formats};
use super::{CliError, arguments};
use crate::Call;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "decode";
const USAGE: &str = "\
Turn log-probabilities of another program into words.

Usage: kaldera decode [OPTIONS] MODEL ARCHIVE...

MODEL is a folder with a model.toml, whose network need not be there. ARCHIVE is .ark, .scp, .npz or
.safetensors: for each key a matrix of natural logarithms, a row for each frame and a column for each
output of the network. Commands in an .scp are not run. Without -o there is a line 'KEY WORDS' for each key on
standard output, or what --format says. OUT appears complete or not at all, in the order of the archives,
whatever --jobs is. Words have the times of their frames. Keys that cannot be decoded are left out and
listed at the end.

Examples:
  kaldera decode model/ log_probs.npz
  kaldera decode --graph=HLG.fst --format=ctm model/ nnet_output.scp
  kaldera decode model/ --lm=lm.arpa.gz --beam=50 --nbest=5 -o words.jsonl log_probs.*.ark

Exit status: 0 all went well, 1 some or all keys failed or OUT cannot be written, 2 wrong usage,
130 stopped by Ctrl-C, 141 nobody reads the output, 143 by SIGTERM.";

/// A decoder, and log-probabilities by key.
pub(super) struct Archives {
    pub(super) decoder: AnyDecoder,
    /// The files of each archive, first itself, and its keys.
    archives: Vec<(Vec<PathBuf>, Vec<String>)>,
    log_probs: HashMap<String, Vec<f32>>,
}

impl Archives {
    /// Reads archives, and opens the decoder of a model's folder.
    pub(super) fn open(decoding: &mut Decoding, model: &Path, paths: &[PathBuf]) -> Result<Self, CliError> {
        let (mut archives, mut log_probs, mut columns) = (vec![], HashMap::new(), None);
        for path in paths {
            let (mut files, mut keys) = (vec![path.clone()], vec![]);
            let take = |key: &str, matrix: Matrix<f32>| {
                let (found, expected) = (matrix.num_cols(), *columns.get_or_insert(matrix.num_cols()));
                if found != expected {
                    let reason = format!("{key} has {found} columns, and utterances before it have {expected}");
                    return Err(Error::Read { path: path.clone(), source: io::Error::other(reason) });
                }
                keys.push(key.to_owned());
                log_probs.entry(key.to_owned()).or_insert_with(|| matrix.into_vec());
                Ok(ControlFlow::Continue(()))
            };
            // A folder from elsewhere must not run commands.
            read_features_with(path, Pipes::Never, take).map_err(trouble)?;
            if path.extension().is_some_and(|ending| ending == "scp")
                && let Ok(list) = Inputs::from_paths([path])
            {
                files.extend(list.utterances().iter().filter_map(|one| Some(one.source.path()?.to_owned())));
                files.dedup();
            }
            archives.push((files, keys));
        }
        let Some(columns) = columns else {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            return Err(CliError::Failed(format!("{}: there are no log-probabilities in it", names.join(", "))));
        };
        Ok(Self { decoder: decoding.decoder(model, columns)?, archives, log_probs })
    }

    /// Returns the archives and the files that they name.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.archives.iter().flat_map(|(files, _)| files.clone()).collect()
    }

    /// Returns the keys of an archive, by any of its names.
    pub(super) fn keys_of(&self, path: &Path) -> Option<Vec<String>> {
        let named = self.archives.iter().find(|(files, _)| files.first().is_some_and(|own| own == path));
        let real = |path: &Path| fs::canonicalize(path).ok();
        let found = real(path).filter(|_| named.is_none());
        let is_in = |files: &[PathBuf]| found.is_some() && files.iter().any(|file| real(file) == found);
        Some(named.or_else(|| self.archives.iter().find(|(files, _)| is_in(files)))?.1.clone())
    }

    pub(super) fn log_probs(&self, key: &str) -> Option<&[f32]> {
        self.log_probs.get(key).map(Vec::as_slice)
    }
}

/// Answers a call of `kaldera decode`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, decode(call))
}

fn decode(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut decoding, mut transcripts) = (Decoding::default(), TranscriptOptions::new(Format::Text, false));
    let mut parser = ParseOptions::new(Syntax::Native, format!("{USAGE}\n\n{}", about_formats()));
    decoding.register(&mut parser);
    transcripts.register(&mut parser);
    parser.choices("format", &FORMATS);
    CorpusOptions::letters(&mut parser);
    let Some(mut paths) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    let settings = parser.settings(&NOT_OF_RESULTS);
    drop(parser);
    let model = take_model(&mut paths)?;
    let archives: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    if archives.is_empty() {
        return Err(CliError::Usage("ARCHIVE is missing: .ark, .scp, .npz or .safetensors".to_owned()));
    }
    let opened = Opened::Archives(Archives::open(&mut decoding, &model, &archives)?);
    let (settings, read) = (decoding.settings(&settings, &model), decoding.files(&opened));
    transcripts.write(TOOL, (&settings, &opened), &read, &paths, quiet, &mut |inputs, options, take, progress| {
        opened.transcribe_all(inputs, options, take, progress)
    })
}
