//! `apply-cmvn-sliding`: normalisation over a sliding window.

use std::process::ExitCode;

use kaldera::feat::{SlidingWindowCmnOptions, sliding_window_cmn};
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "apply-cmvn-sliding", about: "Normalise means (and variances) over a sliding window", run };

const USAGE: &str =
    "Subtracts from each frame the mean over a window before or around it, and optionally normalises the variance.
Usage: apply-cmvn-sliding [options] <feats-rspecifier> <feats-wspecifier>
For example: apply-cmvn-sliding --center=true --cmn-window=300 scp:feats.scp ark:normalised.ark";

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, SlidingWindowCmnOptions::default(), |options, [input, output]| {
        let counts = map_table(&input, &output, |key, features: Matrix<f32>| {
            if features.is_empty() {
                warn!("leaving out {key}: it has no frames");
                return Ok(None);
            }
            Ok(Some(sliding_window_cmn(&options, &features)?))
        })?;
        counts.log("normalised", "feature matrices");
        Ok(counts.any_done())
    })
}
