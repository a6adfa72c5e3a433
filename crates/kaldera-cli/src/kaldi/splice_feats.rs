//! `splice-feats`: each frame joined with its neighbours.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::splice_frames;
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::driver::map_between;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "splice-feats", about: "Join frames with their neighbours into longer rows", run };

const USAGE: &str = "Joins each frame with its neighbours; at the ends, the first and last frames are repeated.
Usage: splice-feats [options] <feats-rspecifier> <feats-wspecifier>
For example: splice-feats --left-context=3 --right-context=3 scp:feats.scp ark:spliced.ark";

struct Options {
    left_context: i32,
    right_context: i32,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("left-context", &mut self.left_context, "Number of frames of left context");
        registry.add("right-context", &mut self.right_context, "Number of frames of right context");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options { left_context: 4, right_context: 4 };
    super::run(TOOL.name, USAGE, call, options, |options, [input, output]| {
        let writer = TableWriter::open(&output)?;
        let counts = map_between(SequentialReader::open(&input)?, writer, |key, features: Matrix<f32>| {
            if features.is_empty() {
                // Kaldi's program crashes on it.
                warn!("leaving out {key}: it has no frames");
                return Ok(None);
            }
            Ok(Some(splice_frames(&features, options.left_context, options.right_context)?))
        })?;
        counts.log("spliced", "feature matrices");
        // Kaldi's program succeeds with any number of them.
        Ok(true)
    })
}
