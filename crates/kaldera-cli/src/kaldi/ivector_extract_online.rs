//! `ivector-extract-online2`: an i-vector every few frames, from the frames so far.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::kaldi_online::IvectorConfig;
use kaldera::matrix::{Matrix, Vector};
use tracing::{debug, info, warn};

use crate::kaldi::Failure;
use crate::kaldi::driver::Counts;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "ivector-extract-online2", about: "I-vectors every few frames, as a recogniser computes them", run };

const USAGE: &str = "Computes i-vectors every --ivector-period frames, from the frames so far and from earlier utterances of the speaker,
as the online decoders do. Features are not normalised. --use-most-recent-ivector has no effect.
Usage: ivector-extract-online2 [options] <spk2utt-rspecifier> <feats-rspecifier> <ivectors-wspecifier>
For example: ivector-extract-online2 --config=conf/ivector_extractor.conf ark:spk2utt scp:feats.scp ark:ivectors.ark";

struct Options {
    config: IvectorConfig,
    num_threads: i32,
    repeat: bool,
    frame_weights: String,
    length_tolerance: usize,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.config.register(registry);
        registry.add("num-threads", &mut self.num_threads, "No effect: all processors read the extractor");
        registry.add("repeat", &mut self.repeat, "Write an i-vector for each frame, not for each period");
        let doc = "Weights of frames: a vector for each utterance (rspecifier)";
        registry.add("frame-weights-rspecifier", &mut self.frame_weights, doc);
        let doc = "Difference of the numbers of frames and weights that is still accepted";
        registry.add("length-tolerance", &mut self.length_tolerance, doc);
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options {
        config: IvectorConfig::default(),
        num_threads: 8,
        repeat: false,
        frame_weights: String::new(),
        length_tolerance: 0,
    };
    super::run(TOOL.name, USAGE, call, options, |mut options, [speakers, features, ivectors]| {
        options.config.options.use_most_recent_ivector = false;
        extract(&options, &speakers, &features, &ivectors)
    })
}

fn extract(options: &Options, speakers: &str, features: &str, ivectors: &str) -> Result<bool, Failure> {
    let front_end = options.config.open()?;
    let speakers = SequentialReader::<Vec<String>>::open(speakers)?;
    let mut features = RandomAccessReader::<Matrix<f32>>::open(features)?;
    let mut weights = match &*options.frame_weights {
        "" => None,
        rspecifier => Some(RandomAccessReader::<Vector<f32>>::open(rspecifier)?),
    };
    let mut writer = TableWriter::<Matrix<f32>>::open(ivectors)?;
    let dim = front_end.feature_dim();
    let (mut counts, mut warned, mut sums) = (Counts::default(), false, Sums::default());
    for entry in speakers {
        let (speaker, utterances) = entry?;
        let mut state = None;
        for utterance in utterances {
            if !features.has_key(&utterance)? {
                warn!("leaving out {utterance} of {speaker}: it has no features");
                counts.failed += 1;
                continue;
            }
            let mut rows = features.value(&utterance)?.clone();
            if rows.is_empty() {
                // Kaldi's program crashes on it.
                warn!("leaving out {utterance} of {speaker}: it has no frames");
                counts.failed += 1;
                continue;
            }
            if rows.num_cols() == dim + 3 {
                if !warned {
                    warn!("features have {} columns, the last 3 are taken for pitch and left out", rows.num_cols());
                    warned = true;
                }
                rows = rows.col_range(0, dim)?.to_owned();
            }
            let weights = match &mut weights {
                None => None,
                Some(reader) => match weights_of(reader, &utterance, rows.num_rows(), options.length_tolerance)? {
                    Some(weights) => Some(weights),
                    None => {
                        counts.failed += 1;
                        continue;
                    }
                },
            };
            let (out, mut stream) = front_end.extract(&rows, state.take(), weights.as_deref(), options.repeat)?;
            sums.add(&out, stream.online_ivector().improvement_per_frame()?);
            debug!("{utterance} of {speaker}: {} i-vectors", out.num_rows());
            state = Some(stream.speaker()?);
            writer.write(&utterance, &out)?;
            counts.done += 1;
        }
    }
    writer.close()?;
    counts.log("i-vectors computed of", "feature matrices");
    sums.log(front_end.ivector_dim());
    Ok(counts.any_done())
}

/// Returns the weights of an utterance. If it has none, or a wrong number, the reason is logged.
fn weights_of(
    reader: &mut RandomAccessReader<Vector<f32>>,
    utterance: &str,
    frames: usize,
    tolerance: usize,
) -> Result<Option<Vec<f32>>, Failure> {
    if !reader.has_key(utterance)? {
        warn!("leaving out {utterance}: it has no weights");
        return Ok(None);
    }
    let weights = reader.value(utterance)?.data();
    if weights.len().abs_diff(frames) > tolerance {
        warn!("leaving out {utterance}: it has {frames} frames and {} weights", weights.len());
        return Ok(None);
    }
    Ok(Some(weights.to_vec()))
}

/// Sums over utterances, each times its i-vectors.
#[derive(Default)]
struct Sums {
    count: f64,
    improvement: f64,
    length: f64,
    last_length: f64,
}

impl Sums {
    fn add(&mut self, ivectors: &Matrix<f32>, improvement: f64) {
        let length = |row: &[f32]| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        let count = ivectors.num_rows() as f64;
        self.count += count;
        self.improvement += count * improvement;
        self.length += ivectors.rows().map(length).sum::<f64>();
        self.last_length += count * ivectors.rows().next_back().map_or(0.0, length);
    }

    fn log(&self, dim: usize) {
        if self.count > 0.0 {
            let [improvement, length, last] =
                [self.improvement, self.length, self.last_length].map(|sum| sum / self.count);
            info!("log-likelihood better by {improvement:.4} per frame than without i-vectors");
            info!(
                "length of i-vectors {length:.4} on average, {last:.4} at the ends; expected {:.4}",
                (dim as f64).sqrt()
            );
        }
    }
}
