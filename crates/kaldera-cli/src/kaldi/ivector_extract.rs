//! `ivector-extract`: an i-vector for each utterance or speaker, from posteriors.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::ivector::{FramePosteriors, IvectorTerms, UtteranceStats};
use kaldera::kaldi_online::read_model;
use kaldera::matrix::{Matrix, Vector};
use tracing::{info, warn};

use crate::kaldi::Failure;
use crate::kaldi::driver::Counts;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "ivector-extract", about: "An i-vector for each utterance or speaker, from posteriors", run };

const USAGE: &str = "Computes an i-vector for each utterance, or with --spk2utt for each speaker, from features and posteriors of Gaussians.
Usage: ivector-extract [options] <extractor-rxfilename> <feats-rspecifier> <posteriors-rspecifier> <ivectors-wspecifier>
For example: gmm-global-get-post final.dubm scp:feats.scp ark:- | ivector-extract final.ie scp:feats.scp ark:- ark,t:-";

type Posteriors = Vec<FramePosteriors>;

struct Options {
    compute_objf_change: bool,
    spk2utt: String,
    acoustic_weight: f64,
    max_count: f64,
    num_threads: i32,
    num_threads_total: i32,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        let doc = "Log by how much the log-likelihood is better than without i-vectors";
        registry.add("compute-objf-change", &mut self.compute_objf_change, doc);
        let doc = "Utterances of each speaker (rspecifier): an i-vector for each speaker";
        registry.add("spk2utt", &mut self.spk2utt, doc);
        registry.add("acoustic-weight", &mut self.acoustic_weight, "Factor of posteriors");
        registry.add("max-count", &mut self.max_count, "Scale more frames than this down to it; 0 = never");
        registry.add("num-threads", &mut self.num_threads, "No effect");
        registry.add("num-threads-total", &mut self.num_threads_total, "No effect");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options {
        compute_objf_change: true,
        spk2utt: String::new(),
        acoustic_weight: 1.0,
        max_count: 0.0,
        num_threads: 1,
        num_threads_total: 0,
    };
    super::run(TOOL.name, USAGE, call, options, |options, [extractor, features, posteriors, ivectors]| {
        let terms = IvectorTerms::new(&read_model(&extractor)?)?;
        let mut extraction = Extraction {
            writer: TableWriter::open(&ivectors)?,
            posteriors: RandomAccessReader::open(&posteriors)?,
            terms,
            options,
            frames: 0.0,
            improvement: 0.0,
        };
        let counts = match &*extraction.options.spk2utt {
            "" => extraction.by_utterance(&features)?,
            speakers => {
                let speakers = speakers.to_owned();
                extraction.by_speaker(&speakers, &features)?
            }
        };
        extraction.writer.close()?;
        counts.log("i-vectors computed of", "feature matrices");
        if extraction.options.compute_objf_change && extraction.frames > 0.0 {
            let improvement = extraction.improvement / extraction.frames;
            info!("log-likelihood better by {improvement:.4} per frame than without i-vectors");
        }
        Ok(counts.any_done())
    })
}

struct Extraction {
    options: Options,
    terms: IvectorTerms,
    posteriors: RandomAccessReader<Posteriors>,
    writer: TableWriter<Vector<f32>>,
    frames: f64,
    improvement: f64,
}

impl Extraction {
    fn by_utterance(&mut self, features: &str) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        for entry in SequentialReader::<Matrix<f32>>::open(features)? {
            let (key, features) = entry?;
            let mut stats = self.no_stats();
            if self.accumulate(&key, &features, &mut stats)? {
                self.write(&key, stats)?;
                counts.done += 1;
            } else {
                counts.failed += 1;
            }
        }
        Ok(counts)
    }

    fn by_speaker(&mut self, speakers: &str, features: &str) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        let mut features = RandomAccessReader::<Matrix<f32>>::open(features)?;
        for entry in SequentialReader::<Vec<String>>::open(speakers)? {
            let (speaker, utterances) = entry?;
            let mut stats = self.no_stats();
            for utterance in utterances {
                if !features.has_key(&utterance)? {
                    warn!("leaving out {utterance} of {speaker}: it has no features");
                    counts.failed += 1;
                } else if self.accumulate(&utterance, features.value(&utterance)?, &mut stats)? {
                    counts.done += 1;
                } else {
                    counts.failed += 1;
                }
            }
            if stats.num_frames() == 0.0 {
                warn!("leaving out {speaker}: it has no frames");
            } else {
                self.write(&speaker, stats)?;
            }
        }
        Ok(counts)
    }

    fn no_stats(&self) -> UtteranceStats {
        UtteranceStats::new(self.terms.num_gaussians(), self.terms.feature_dim())
    }

    /// Adds an utterance to `stats`. Otherwise logs the reason and returns `false`.
    fn accumulate(&mut self, key: &str, features: &Matrix<f32>, stats: &mut UtteranceStats) -> Result<bool, Failure> {
        if !self.posteriors.has_key(key)? {
            warn!("leaving out {key}: it has no posteriors");
            return Ok(false);
        }
        let posteriors = self.posteriors.value(key)?;
        if posteriors.len() != features.num_rows() {
            warn!("leaving out {key}: it has {} frames, and {} of posteriors", features.num_rows(), posteriors.len());
            return Ok(false);
        }
        stats.accumulate(features, posteriors)?;
        Ok(true)
    }

    fn write(&mut self, key: &str, mut stats: UtteranceStats) -> Result<(), Failure> {
        let Options { acoustic_weight, max_count, compute_objf_change, .. } = self.options;
        stats.scale(acoustic_weight);
        if max_count > 0.0 && stats.num_frames() > max_count {
            let factor = max_count / stats.num_frames();
            info!("{key}: statistics scaled by {factor:.4} for --max-count={max_count}");
            stats.scale(factor);
        }
        let mut ivector = self.terms.ivector(&stats)?;
        self.frames += stats.num_frames();
        if compute_objf_change {
            self.improvement += self.terms.improvement(&stats, &ivector)?;
        }
        ivector[0] -= self.terms.prior_offset();
        let ivector: Vector<f32> = ivector.iter().map(|&x| x as f32).collect();
        Ok(self.writer.write(key, &ivector)?)
    }
}
