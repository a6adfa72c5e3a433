//! `apply-cmvn`: features normalised by statistics of their utterance, of their speaker, or of all.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{CmvnStats, apply_cmvn, apply_cmvn_reverse};
use kaldera::io::read_object;
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{MappedReader, SequentialReader, TableWriter};
use kaldera::matrix::{GeneralMatrix, Matrix};
use tracing::warn;

use crate::kaldi::driver::{map_between, map_table};
use crate::kaldi::{Failure, colon_list};
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "apply-cmvn", about: "Normalise means (and variances) of features by statistics", run };

const USAGE: &str = "Normalises features by statistics of compute-cmvn-stats: subtracts the mean, and optionally normalises the variance.
Usage: apply-cmvn [options] (<stats-rspecifier>|<stats-rxfilename>) <feats-rspecifier> <feats-wspecifier>
For example: apply-cmvn --utt2spk=ark:utt2spk scp:cmvn.scp scp:feats.scp ark:normalised.ark";

struct Options {
    utt2spk: String,
    norm_vars: bool,
    norm_means: bool,
    skip_dims: String,
    reverse: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("utt2spk", &mut self.utt2spk, "Speaker of each utterance, for statistics by speaker (rspecifier)");
        registry.add("norm-vars", &mut self.norm_vars, "Normalise the variances");
        registry.add(
            "norm-means",
            &mut self.norm_means,
            "Normalise the means; if false, features are copied unchanged",
        );
        registry.add("skip-dims", &mut self.skip_dims, "Dimensions to skip, separated by colons, as in 13:14");
        registry.add("reverse", &mut self.reverse, "Undo the normalisation");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options {
        utt2spk: String::new(),
        norm_vars: false,
        norm_means: true,
        skip_dims: String::new(),
        reverse: false,
    };
    super::run(TOOL.name, USAGE, call, options, |options, [stats, input, output]| {
        if options.norm_vars && !options.norm_means {
            return Err(Failure::Alone { name: "norm-vars", needs: "norm-means" });
        }
        if !options.norm_means {
            let counts = map_table(&input, &output, |_, matrix: GeneralMatrix| Ok(Some(matrix)))?;
            counts.log("passed on", "feature matrices");
            return Ok(counts.any_done());
        }
        normalise(&options, &stats, &input, &output)
    })
}

fn normalise(options: &Options, stats: &str, input: &str, output: &str) -> Result<bool, Failure> {
    let skipped = colon_list(&options.skip_dims).ok_or_else(|| Failure::Option {
        name: "skip-dims",
        value: options.skip_dims.clone(),
        expected: "dimensions with colons between, as 13:14",
    })?;
    let (reader, writer) = (SequentialReader::open(input)?, TableWriter::open(output)?);
    let mut source = Source::open(stats, &options.utt2spk)?;
    let counts = map_between(reader, writer, |key, mut features: Matrix<f32>| {
        let Some(stats) = source.stats_of(key)? else {
            warn!("leaving out {key}: no statistics for it, or for its speaker, in {stats}");
            return Ok(None);
        };
        let mut stats = CmvnStats::from_matrix(stats.clone())?;
        // Without dimensions to skip, statistics of the mean suffice.
        if !skipped.is_empty() {
            stats.fake_dims(&skipped)?;
        }
        let apply = if options.reverse { apply_cmvn_reverse } else { apply_cmvn };
        apply(&stats, options.norm_vars, &mut features)?;
        Ok(Some(features))
    })?;
    counts.log(if options.reverse { "denormalised" } else { "normalised" }, "feature matrices");
    Ok(counts.any_done())
}

/// Source of the statistics.
enum Source {
    /// A table, by utterance or speaker.
    Table(Box<MappedReader<Matrix<f64>>>),
    /// A file, for all.
    File(Matrix<f64>),
}

impl Source {
    fn open(stats: &str, utt2spk: &str) -> Result<Self, Failure> {
        match (Rspecifier::parse(stats), utt2spk) {
            (Ok(_), _) => Ok(Self::Table(Box::new(MappedReader::open(stats, utt2spk)?))),
            (Err(_), "") => Ok(Self::File(read_object(stats)?)),
            (Err(_), _) => Err(Failure::SingleFile { name: "utt2spk", input: stats.to_owned() }),
        }
    }

    fn stats_of(&mut self, key: &str) -> Result<Option<&Matrix<f64>>, Failure> {
        match self {
            Self::Table(reader) => Ok(if reader.has_key(key)? { Some(reader.value(key)?) } else { None }),
            Self::File(stats) => Ok(Some(stats)),
        }
    }
}
