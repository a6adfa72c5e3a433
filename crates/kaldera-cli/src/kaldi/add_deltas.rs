//! `add-deltas` and `add-deltas-sdc`: features together with their changes over time.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{DeltaFeaturesOptions, ShiftedDeltaFeaturesOptions, compute_deltas, compute_shifted_deltas};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::matrix::{Matrix, SubMatrix};
use tracing::warn;

use crate::kaldi::Failure;
use crate::kaldi::driver::map_between;
use crate::{Call, Tool};

pub(super) const DELTAS: Tool =
    Tool { name: DeltaFeaturesOptions::NAME, about: "Add deltas to features", run: run::<DeltaFeaturesOptions> };
pub(super) const SHIFTED: Tool = Tool {
    name: ShiftedDeltaFeaturesOptions::NAME,
    about: "Add shifted deltas to features, as for language identification",
    run: run::<ShiftedDeltaFeaturesOptions>,
};

/// The differences between the two programs.
trait Deltas: OptionSet + Default {
    const NAME: &'static str;
    const USAGE: &'static str;
    fn compute(&self, features: &SubMatrix<'_, f32>) -> Result<Matrix<f32>, kaldera::feat::Error>;
}

impl Deltas for DeltaFeaturesOptions {
    const NAME: &'static str = "add-deltas";
    const USAGE: &'static str =
        "Appends deltas of the features to each frame: the first-order differences, their differences, and so on.
Usage: add-deltas [options] <feats-rspecifier> <feats-wspecifier>
For example: add-deltas --delta-order=2 scp:mfcc.scp ark:mfcc39.ark";

    fn compute(&self, features: &SubMatrix<'_, f32>) -> Result<Matrix<f32>, kaldera::feat::Error> {
        compute_deltas(self, features)
    }
}

impl Deltas for ShiftedDeltaFeaturesOptions {
    const NAME: &'static str = "add-deltas-sdc";
    const USAGE: &'static str = "Appends shifted deltas to each frame: deltas of this frame and of later frames.
Usage: add-deltas-sdc [options] <feats-rspecifier> <feats-wspecifier>
For example: add-deltas-sdc scp:mfcc.scp ark:sdc.ark";

    fn compute(&self, features: &SubMatrix<'_, f32>) -> Result<Matrix<f32>, kaldera::feat::Error> {
        compute_shifted_deltas(self, features)
    }
}

#[derive(Default)]
struct Options<D> {
    deltas: D,
    truncate: i32,
}

impl<D: OptionSet> OptionSet for Options<D> {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("truncate", &mut self.truncate, "Keep only this many columns of the features; 0 keeps all");
        self.deltas.register(registry);
    }
}

fn run<D: Deltas>(call: Call<'_>) -> ExitCode {
    super::run(D::NAME, D::USAGE, call, Options::<D>::default(), |options, [input, output]| {
        let columns = usize::try_from(options.truncate).map_err(|_| Failure::Option {
            name: "truncate",
            value: options.truncate.to_string(),
            expected: "a number of columns",
        })?;
        let writer = TableWriter::open(&output)?;
        let counts = map_between(SequentialReader::open(&input)?, writer, |key, features: Matrix<f32>| {
            if features.is_empty() {
                warn!("leaving out {key}: it has no frames");
                return Ok(None);
            }
            let kept = if columns == 0 { features.num_cols() } else { columns };
            if kept > features.num_cols() {
                return Err(Failure::TooFewColumns { key: key.to_owned(), found: features.num_cols(), wanted: kept });
            }
            Ok(Some(options.deltas.compute(&features.col_range(0, kept)?)?))
        })?;
        counts.log("deltas added to", "feature matrices");
        // Kaldi's program succeeds with any number of them.
        Ok(true)
    })
}
