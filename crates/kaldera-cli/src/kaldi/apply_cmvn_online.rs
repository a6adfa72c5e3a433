//! `apply-cmvn-online`: normalisation by the frames before, filled up with global statistics.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{CmvnStats, OnlineCmvn, OnlineCmvnOptions, RowStream};
use kaldera::io::read_object;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::matrix::Matrix;
use tracing::{info, warn};

use super::driver::map_table;
use super::{Failure, colon_list};
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "apply-cmvn-online", about: "Normalise means (and variances) as in a stream", run };

const USAGE: &str = "Normalises each frame by the statistics of the frames before it, filled up with statistics of
earlier utterances of the speaker and with global ones.
Usage: apply-cmvn-online [options] <global-cmvn-stats-rxfilename> <feats-rspecifier> <feats-wspecifier>
For example: apply-cmvn-online global_cmvn.stats scp:feats.scp ark:normalised.ark";

#[derive(Default)]
struct Options {
    online: OnlineCmvnOptions,
    skip_dims: String,
    spk2utt: String,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.online.register(registry);
        registry.add("skip-dims", &mut self.skip_dims, "Dimensions to skip, separated by colons, as in 13:14");
        registry.add(
            "spk2utt",
            &mut self.spk2utt,
            "Utterances of each speaker, in their order, for statistics of the earlier ones (rspecifier)",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [stats, input, output]| {
        let skipped = colon_list(&options.skip_dims).ok_or_else(|| Failure::Option {
            name: "skip-dims",
            value: options.skip_dims.clone(),
            expected: "dimensions with colons between, as 13:14",
        })?;
        let global = CmvnStats::from_matrix(read_object(&stats)?)?;
        let mut cmvn = OnlineCmvn::new(options.online.clone(), global)?;
        if options.spk2utt.is_empty() {
            let counts = map_table(&input, &output, |_, features: Matrix<f32>| {
                Ok(Some(normalised(&mut cmvn, &features, &skipped)?))
            })?;
            counts.log("normalised", "feature matrices");
            return Ok(counts.any_done());
        }
        let mut all = RandomAccessReader::<Matrix<f32>>::open(&input)?;
        let mut writer = TableWriter::<Matrix<f32>>::open(&output)?;
        let mut done = 0_u64;
        for entry in SequentialReader::<Vec<String>>::open(&options.spk2utt)? {
            let (speaker, utterances) = entry?;
            let mut own: Option<CmvnStats> = None;
            for utterance in utterances {
                if !all.has_key(&utterance)? {
                    warn!("leaving out {utterance} of speaker {speaker}: it is not in {input}");
                    continue;
                }
                let features = all.value(&utterance)?;
                cmvn.set_speaker(own.clone().filter(|stats| stats.count() > 0.0))?;
                writer.write(&utterance, &normalised(&mut cmvn, features, &skipped)?)?;
                own.get_or_insert_with(|| CmvnStats::new(features.num_cols())).accumulate(features)?;
                done += 1;
            }
        }
        writer.close()?;
        info!("{done} feature matrices normalised");
        Ok(done > 0)
    })
}

/// Returns the normalised features; the columns in `skipped` stay as they are.
fn normalised(cmvn: &mut OnlineCmvn, features: &Matrix<f32>, skipped: &[i32]) -> Result<Matrix<f32>, Failure> {
    let mut values = Vec::with_capacity(features.num_rows() * features.num_cols());
    for row in 0..features.num_rows() {
        let (row, start) = (features.row(row), values.len());
        cmvn.accept(row.data(), &mut values)?;
        for &dim in skipped {
            let dim = usize::try_from(dim).ok().filter(|&dim| dim < row.dim()).ok_or_else(|| Failure::Option {
                name: "skip-dims",
                value: dim.to_string(),
                expected: "columns of the features",
            })?;
            values[start + dim] = row.data()[dim];
        }
    }
    cmvn.finish(&mut values);
    Ok(Matrix::from_vec(features.num_rows(), features.num_cols(), values)?)
}
