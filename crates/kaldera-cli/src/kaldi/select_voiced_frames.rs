//! `select-voiced-frames`: the voiced frames.

use std::process::ExitCode;

use kaldera::feat::select_voiced;
use kaldera::io::table::RandomAccessReader;
use kaldera::matrix::{Matrix, Vector};
use tracing::warn;

use crate::kaldi::NoOptions;
use crate::kaldi::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "select-voiced-frames", about: "Keep the frames that compute-vad found voiced", run };

const USAGE: &str = "Keeps the voiced frames of features, whose elements in a vector per utterance are not 0.
Usage: select-voiced-frames [options] <feats-rspecifier> <vad-rspecifier> <feats-wspecifier>
For example: select-voiced-frames scp:feats.scp scp:vad.scp ark:voiced.ark";

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, NoOptions, |NoOptions, [feats, vad, output]| {
        let mut decisions = RandomAccessReader::<Vector<f32>>::open(&vad)?;
        let counts = map_table(&feats, &output, |key, features: Matrix<f32>| {
            if features.is_empty() {
                warn!("leaving out {key}: it has no frames");
                return Ok(None);
            }
            if !decisions.has_key(key)? {
                warn!("leaving out {key}: {vad} has no vector of its voiced frames");
                return Ok(None);
            }
            let voiced = decisions.value(key)?.data();
            if voiced.len() != features.num_rows() {
                warn!("leaving out {key}: it has {} frames, and {vad} {}", features.num_rows(), voiced.len());
                return Ok(None);
            }
            if voiced.iter().all(|&voiced| voiced == 0.0) {
                warn!("leaving out {key}: none of its frames is voiced");
                return Ok(None);
            }
            Ok(Some(select_voiced(&features, voiced)?))
        })?;
        counts.log("selected voiced frames of", "feature matrices");
        Ok(counts.any_done())
    })
}
