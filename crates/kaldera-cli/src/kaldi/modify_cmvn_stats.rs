//! `modify-cmvn-stats`: statistics with which CMVN leaves some dimensions unchanged, or statistics
//! converted to mean and variance.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{CmvnStats, Error};
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::driver::map_table;
use crate::kaldi::{Failure, colon_list};
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "modify-cmvn-stats",
    about: "Exempt dimensions from CMVN, or turn its statistics into mean and variance",
    run,
};

const USAGE: &str = "Sets the mean of some dimensions to 0 and the variance to 1, so that CMVN does not change them.
Usage: modify-cmvn-stats [options] [<dim>:<dim>...] <stats-rspecifier> <stats-wspecifier>
For example: modify-cmvn-stats 13:14:15 ark:cmvn.ark ark:cmvn_but_pitch.ark
         or: modify-cmvn-stats --convert-to-mean-and-var=true ark:cmvn.ark ark,t:-";

#[derive(Default)]
struct Options {
    convert_to_mean_and_var: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "convert-to-mean-and-var",
            &mut self.convert_to_mean_and_var,
            "Write mean and variance in two rows, in place of sums and count",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run_any(TOOL.name, USAGE, call, Options::default(), 2..=3, |options, plain| {
        let (dims, input, output) = match plain.as_slice() {
            [dims, input, output] => (colon_list(dims), input, output),
            [input, output] => (Some(Vec::new()), input, output),
            _ => return Ok(false),
        };
        let Some(dims) = dims else {
            return Err(Failure::Argument {
                value: plain[0].clone(),
                expected: "dimensions with colons between, as 13:14",
            });
        };
        let counts = map_table(input, output, |key, stats: Matrix<f64>| {
            let mut stats = CmvnStats::from_matrix(stats)?;
            stats.fake_dims(&dims)?;
            if !options.convert_to_mean_and_var {
                return Ok(Some(stats.into_matrix()));
            }
            match stats.mean_and_variance() {
                Err(error @ Error::TooFewFrames { .. }) => {
                    warn!("leaving out {key}: {error}");
                    Ok(None)
                }
                mean_and_variance => Ok(Some(mean_and_variance?)),
            }
        })?;
        counts.log("modified", "sets of statistics");
        Ok(counts.any_done())
    })
}
