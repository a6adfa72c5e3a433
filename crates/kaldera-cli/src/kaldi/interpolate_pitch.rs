//! `interpolate-pitch`: pitch without gaps and jumps.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{PitchInterpolator, PitchInterpolatorOptions, interpolate_pitch_linearly};
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::driver::map_table;
use crate::{Call, Tool, log};

pub(super) const TOOL: Tool = Tool { name: "interpolate-pitch", about: "Smooth pitch and fill its gaps", run };

const USAGE: &str =
    "Smooths pitch and fills its gaps, in frames of (probability of voicing, pitch in Hz or 0 for none).
Usage: interpolate-pitch [options] <feats-rspecifier> <feats-wspecifier>
For example: interpolate-pitch --linear-interpolation=true ark:pitch.ark ark:smooth.ark";

#[derive(Default)]
struct Options {
    linear_interpolation: bool,
    model: PitchInterpolatorOptions,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "linear-interpolation",
            &mut self.linear_interpolation,
            "Only interpolate linearly over the gaps, where the pitch is 0",
        );
        self.model.register(registry);
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [input, output]| {
        let mut interpolator = PitchInterpolator::new(options.model)?;
        let counts = map_table(&input, &output, |key, mut pitch: Matrix<f32>| {
            if pitch.is_empty() {
                warn!("leaving out {key}: it has no frames");
                return Ok(None);
            }
            let done = if options.linear_interpolation {
                interpolate_pitch_linearly(&mut pitch)
            } else {
                interpolator.interpolate(&mut pitch)
            };
            if let Err(error) = done {
                warn!("leaving out {key}: {}", log::one_line(&error));
                return Ok(None);
            }
            Ok(Some(pitch))
        })?;
        counts.log("pitch smoothed in", "matrices");
        Ok(counts.any_done())
    })
}
