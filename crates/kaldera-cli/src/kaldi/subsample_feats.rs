//! `subsample-feats`: every n'th frame, or every frame n times.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::subsample_frames;
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::Failure;
use crate::kaldi::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "subsample-feats", about: "Keep every n'th frame", run };

const USAGE: &str = "Keeps every n'th frame; for n below 0, repeats every frame -n times.
Usage: subsample-feats [options] <feats-rspecifier> <feats-wspecifier>
For example: subsample-feats --n=3 scp:feats.scp ark:fewer.ark";

struct Options {
    n: i32,
    offset: i32,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("n", &mut self.n, "Keep every n'th frame; if below 0, repeat every frame -n times");
        registry.add("offset", &mut self.offset, "Index of the first frame, from 0");
    }
}

impl Options {
    fn check(&self) -> Result<(), Failure> {
        let wrong = |name, value: i32, expected| Err(Failure::Option { name, value: value.to_string(), expected });
        if self.n == 0 {
            wrong("n", self.n, "a number other than 0")
        } else if self.offset < 0 {
            wrong("offset", self.offset, "0 or more")
        } else if self.n < 0 && self.offset > 0 {
            wrong("offset", self.offset, "0, as --n is below 0")
        } else {
            Ok(())
        }
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options { n: 1, offset: 0 }, |options, [input, output]| {
        options.check()?;
        let counts = map_table(&input, &output, |key, features: Matrix<f32>| {
            let subsampled = subsample_frames(&features, options.n, options.offset)?;
            // An empty result counts as failed only for `n` above 0.
            if options.n > 0 && subsampled.is_empty() {
                warn!("leaving out {key}: none of its {} frames is selected", features.num_rows());
                return Ok(None);
            }
            Ok(Some(subsampled))
        })?;
        counts.log("took frames of", "feature matrices");
        Ok(counts.any_done())
    })
}
