//! `gmm-global-get-post`: the best Gaussians of each frame, with their posteriors.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::ivector::{DiagGmm, FramePosteriors, select_posteriors};
use kaldera::kaldi_online::read_model;
use kaldera::matrix::Matrix;
use tracing::{info, warn};

use crate::kaldi::Failure;
use crate::kaldi::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "gmm-global-get-post", about: "Posteriors of the best diagonal Gaussians of each frame", run };

const USAGE: &str = "Writes the best Gaussians of each frame with their posteriors, from the best on.
Usage: gmm-global-get-post [options] <gmm-rxfilename> <feats-rspecifier> <posteriors-wspecifier>
For example: gmm-global-get-post --n=20 final.dubm scp:feats.scp ark:post.ark";

struct Options {
    n: usize,
    min_post: f32,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("n", &mut self.n, "Number of Gaussians for a frame");
        registry.add("min-post", &mut self.min_post, "Leave smaller posteriors out; the rest sums to 1");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options { n: 50, min_post: 0.0 }, |options, [gmm, features, posteriors]| {
        if options.n == 0 {
            return Err(Failure::Option { name: "n", value: options.n.to_string(), expected: "1 or more" });
        }
        let gmm: DiagGmm = read_model(&gmm)?;
        if options.n > gmm.num_gaussians() {
            warn!(
                "the mixture has {} Gaussians, fewer than --n={}: all of them are taken",
                gmm.num_gaussians(),
                options.n
            );
        }
        let (mut frames, mut log_likelihood) = (0_u64, 0.0);
        let counts = map_table(&features, &posteriors, |key, features: Matrix<f32>| {
            if features.is_empty() {
                warn!("leaving out {key}: it has no frames");
                return Ok(None);
            }
            if features.num_cols() != gmm.dim() {
                warn!("leaving out {key}: it has {} columns, the mixture {}", features.num_cols(), gmm.dim());
                return Ok(None);
            }
            let mut chosen: Vec<FramePosteriors> = Vec::with_capacity(features.num_rows());
            // A few frames at a time: a row has as many numbers as there are Gaussians.
            for first in (0..features.num_rows()).step_by(BLOCK) {
                let block = features.row_range(first, BLOCK.min(features.num_rows() - first))?;
                for log_likes in gmm.log_likelihoods(&block)?.rows() {
                    let mut frame = FramePosteriors::new();
                    log_likelihood += f64::from(select_posteriors(log_likes, options.n, options.min_post, &mut frame)?);
                    chosen.push(frame);
                }
            }
            frames += chosen.len() as u64;
            Ok(Some(chosen))
        })?;
        counts.log("posteriors computed of", "feature matrices");
        if frames > 0 {
            info!("log-likelihood {:.4} per frame, over {frames} frames", log_likelihood / frames as f64);
        }
        Ok(counts.any_done())
    })
}

/// Frames whose likelihoods are computed at once.
const BLOCK: usize = 256;
