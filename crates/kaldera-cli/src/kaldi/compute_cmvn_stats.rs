//! `compute-cmvn-stats`: statistics for `apply-cmvn`, of an utterance, a speaker, or all.

use std::process::ExitCode;

use kaldera::feat::CmvnStats;
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::specifier::Wspecifier;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::io::write_object;
use kaldera::matrix::{Matrix, Vector};
use tracing::{info, warn};

use crate::kaldi::Failure;
use crate::kaldi::driver::{Counts, map_between};
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "compute-cmvn-stats",
    about: "Sums and squares of features, per utterance, per speaker or global",
    run,
};

const USAGE: &str = "Accumulates sums of features and their squares for apply-cmvn: per utterance; per speaker with
--spk2utt; or globally, if the output is a file instead of a table.
Usage: compute-cmvn-stats [options] <feats-rspecifier> (<stats-wspecifier>|<stats-wxfilename>)
For example: compute-cmvn-stats --spk2utt=ark:spk2utt scp:feats.scp ark,scp:cmvn.ark,cmvn.scp";

struct Options {
    spk2utt: String,
    weights: String,
    binary: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("spk2utt", &mut self.spk2utt, "Utterances of each speaker (rspecifier)");
        registry.add(
            "weights",
            &mut self.weights,
            "Weights of frames: a vector for each utterance, such as voice activity (rspecifier)",
        );
        registry.add(
            "binary",
            &mut self.binary,
            "Write a single file as binary; tables go by the option t of the wspecifier",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options { spk2utt: String::new(), weights: String::new(), binary: true };
    super::run(TOOL.name, USAGE, call, options, |options, [input, output]| {
        let mut weights = Weights::open(&options.weights)?;
        let counts = match (Wspecifier::parse(&output), options.spk2utt.as_str()) {
            (Ok(_), "") => by_utterance(&mut weights, &input, &output)?,
            (Ok(_), spk2utt) => by_speaker(&mut weights, spk2utt, &input, &output)?,
            (Err(_), "") => of_all(&mut weights, &input, &output, options.binary)?,
            (Err(_), _) => return Err(Failure::SingleFile { name: "spk2utt", input: output }),
        };
        counts.log("summed up", "feature matrices");
        Ok(counts.any_done())
    })
}

fn by_utterance(weights: &mut Weights, input: &str, output: &str) -> Result<Counts, Failure> {
    let writer = TableWriter::open(output)?;
    map_between(SequentialReader::open(input)?, writer, |key, features: Matrix<f32>| {
        let mut stats = None;
        let done = weights.accumulate(key, &features, &mut stats)?;
        Ok(stats.filter(|_| done).map(CmvnStats::into_matrix))
    })
}

fn by_speaker(weights: &mut Weights, spk2utt: &str, input: &str, output: &str) -> Result<Counts, Failure> {
    let mut writer = TableWriter::<Matrix<f64>>::open(output)?;
    let speakers = SequentialReader::<Vec<String>>::open(spk2utt)?;
    let mut features = RandomAccessReader::<Matrix<f32>>::open(input)?;
    let mut counts = Counts::default();
    for entry in speakers {
        let (speaker, utterances) = entry?;
        let mut stats = None;
        for utterance in utterances {
            if !features.has_key(&utterance)? {
                warn!("leaving out {utterance} of {speaker}: it has no features");
                counts.failed += 1;
            } else if weights.accumulate(&utterance, features.value(&utterance)?, &mut stats)? {
                counts.done += 1;
            } else {
                counts.failed += 1;
            }
        }
        match stats {
            Some(stats) => writer.write(&speaker, stats.matrix())?,
            None => warn!("leaving out {speaker}: nothing to sum up"),
        }
    }
    writer.close()?;
    Ok(counts)
}

fn of_all(weights: &mut Weights, input: &str, output: &str, binary: bool) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let mut stats = None;
    for entry in SequentialReader::<Matrix<f32>>::open(input)? {
        let (key, features) = entry?;
        if weights.accumulate(&key, &features, &mut stats)? {
            counts.done += 1;
        } else {
            counts.failed += 1;
        }
    }
    // Kaldi writes these in single precision.
    let stats = stats.map_or_else(Matrix::default, |stats| Matrix::<f32>::from(stats.matrix()));
    write_object(output, &stats, binary)?;
    info!("global statistics written to {output}");
    Ok(counts)
}

/// The table that `--weights` names, if it is given.
struct Weights(Option<RandomAccessReader<Vector<f32>>>);

impl Weights {
    fn open(rspecifier: &str) -> Result<Self, Failure> {
        Ok(Self(if rspecifier.is_empty() { None } else { Some(RandomAccessReader::open(rspecifier)?) }))
    }

    /// Adds an utterance to `stats`. Otherwise logs the reason and returns `false`. `stats` begins
    /// with the first utterance that has frames, even if it has no weights: as in Kaldi, the
    /// statistics of a speaker may be all 0.
    fn accumulate(
        &mut self,
        key: &str,
        features: &Matrix<f32>,
        stats: &mut Option<CmvnStats>,
    ) -> Result<bool, Failure> {
        if features.is_empty() {
            warn!("leaving out {key}: it has no frames");
            return Ok(false);
        }
        let stats = stats.get_or_insert_with(|| CmvnStats::new(features.num_cols()));
        let Some(reader) = &mut self.0 else {
            stats.accumulate(features)?;
            return Ok(true);
        };
        if !reader.has_key(key)? {
            warn!("leaving out {key}: it has no weights");
            return Ok(false);
        }
        let weights = reader.value(key)?.data();
        if weights.len() != features.num_rows() {
            warn!("leaving out {key}: it has {} frames and {} weights", features.num_rows(), weights.len());
            return Ok(false);
        }
        stats.accumulate_weighted(features, weights)?;
        Ok(true)
    }
}
