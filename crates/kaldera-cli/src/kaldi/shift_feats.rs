//! `shift-feats`: features moved in time, with the same number of frames.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::shift_frames;
use kaldera::io::specifier::Rspecifier;
use kaldera::io::{read_object, write_object};
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::Failure;
use crate::kaldi::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "shift-feats", about: "Move features in time", run };

const USAGE: &str = "Moves features by some frames, later if positive; the first or the last frame fills the gap.
Usage: shift-feats [options] <feats-rspecifier> <feats-wspecifier>
   or: shift-feats [options] <matrix-rxfilename> <matrix-wxfilename>
For example: shift-feats --shift=-2 scp:feats.scp ark:earlier.ark";

struct Options {
    shift: i32,
    binary: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("shift", &mut self.shift, "Number of frames by which features are delayed");
        registry.add(
            "binary",
            &mut self.binary,
            "Write a single file as binary; tables go by the option t of the wspecifier",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options { shift: 0, binary: true }, |options, [input, output]| {
        if Rspecifier::parse(&input).is_err() {
            let features: Matrix<f32> = read_object(&input)?;
            if features.is_empty() {
                return Err(Failure::Empty { file: input });
            }
            write_object(&output, &shift_frames(&features, options.shift), options.binary)?;
            return Ok(true);
        }
        let counts = map_table(&input, &output, |key, features: Matrix<f32>| {
            if features.is_empty() {
                warn!("leaving out {key}: it has no frames");
                return Ok(None);
            }
            Ok(Some(shift_frames(&features, options.shift)))
        })?;
        counts.log(&format!("moved by {} frames:", options.shift), "feature matrices");
        Ok(counts.any_done())
    })
}
