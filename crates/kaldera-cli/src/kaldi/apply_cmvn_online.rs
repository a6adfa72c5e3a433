//! `apply-cmvn-online`: features normalised by the frames so far and global statistics.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{CmvnStats, OnlineCmvn, OnlineCmvnOptions, RowStream};
use kaldera::io::read_object;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::Failure;
use crate::kaldi::driver::{Counts, map_between};
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "apply-cmvn-online", about: "Normalise features by the frames so far and global statistics", run };

const USAGE: &str =
    "Normalises each frame by a window that ends with it, filled up with earlier frames of the speaker (--spk2utt)
and global statistics, as the online decoders do.
Usage: apply-cmvn-online [options] <global-stats-rxfilename> <feats-rspecifier> <feats-wspecifier>
For example: apply-cmvn-online --spk2utt=ark:spk2utt global_cmvn.stats scp:feats.scp ark:normalised.ark";

#[derive(Default)]
struct Options {
    cmvn: OnlineCmvnOptions,
    spk2utt: String,
    modulus: i32,
    ring_buffer_size: i32,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.cmvn.register(registry);
        let doc = "Utterances of each speaker (rspecifier), whose frames count for the next one";
        registry.add("spk2utt", &mut self.spk2utt, doc);
        registry.add("modulus", &mut self.modulus, "No effect: distance of the statistics that are kept");
        registry.add("ring-buffer-size", &mut self.ring_buffer_size, "No effect: number of statistics that are kept");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options { modulus: 20, ring_buffer_size: 20, ..Options::default() };
    super::run(TOOL.name, USAGE, call, options, |options, [stats, input, output]| {
        let global = CmvnStats::from_matrix(read_object::<Matrix<f64>>(&stats)?)?;
        let cmvn = OnlineCmvn::new(options.cmvn, global)?;
        let counts = match &*options.spk2utt {
            "" => {
                let (reader, writer) = (SequentialReader::open(&input)?, TableWriter::open(&output)?);
                map_between(reader, writer, |_, features: Matrix<f32>| Ok(Some(normalised(cmvn.clone(), &features)?)))?
            }
            speakers => by_speaker(&cmvn, speakers, &input, &output)?,
        };
        counts.log("normalised", "feature matrices");
        Ok(counts.any_done())
    })
}

fn by_speaker(cmvn: &OnlineCmvn, speakers: &str, input: &str, output: &str) -> Result<Counts, Failure> {
    let speakers = SequentialReader::<Vec<String>>::open(speakers)?;
    let mut reader = RandomAccessReader::<Matrix<f32>>::open(input)?;
    let mut writer = TableWriter::<Matrix<f32>>::open(output)?;
    let mut counts = Counts::default();
    for entry in speakers {
        let (speaker, utterances) = entry?;
        let mut stats = CmvnStats::new(cmvn.input_dim());
        for utterance in utterances {
            if !reader.has_key(&utterance)? {
                warn!("leaving out {utterance} of {speaker}: it has no features");
                counts.failed += 1;
                continue;
            }
            let features = reader.value(&utterance)?;
            let mut own = cmvn.clone();
            if stats.count() > 0.0 {
                own.set_speaker(Some(stats.clone()))?;
            }
            writer.write(&utterance, &normalised(own, features)?)?;
            stats.accumulate(features)?;
            counts.done += 1;
        }
    }
    writer.close()?;
    Ok(counts)
}

fn normalised(mut cmvn: OnlineCmvn, features: &Matrix<f32>) -> Result<Matrix<f32>, Failure> {
    let mut rows = Vec::with_capacity(features.num_rows() * features.num_cols());
    for row in features.rows() {
        cmvn.accept(row, &mut rows)?;
    }
    Ok(Matrix::from_vec(features.num_rows(), features.num_cols(), rows)?)
}
