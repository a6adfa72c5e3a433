//! `matrix-sum-rows`: matrices in, the sums of their rows out.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::matrix::{Matrix, Vector};
use tracing::info;

use crate::kaldi::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "matrix-sum-rows", about: "Add the rows of each matrix: a vector of sums, or of means", run };

const USAGE: &str = "Sums the rows of each matrix in a table and writes a table of vectors.
Usage: matrix-sum-rows [options] <matrix-rspecifier> <vector-wspecifier>
For example: matrix-sum-rows ark:feats.ark ark,t:-";

#[derive(Default)]
struct Options {
    do_average: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("do-average", &mut self.do_average, "Divide the sums by the number of rows");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [matrices, vectors]| {
        let mut rows = 0_u64;
        let counts = map_table(&matrices, &vectors, |_key, matrix: Matrix<f64>| {
            rows += matrix.num_rows() as u64;
            let mut sum = Vector::<f64>::zeros(matrix.num_cols());
            sum.add_row_sum_mat(1.0, &matrix, 0.0)?;
            if options.do_average {
                sum.scale(1.0 / matrix.num_rows() as f64);
            }
            Ok(Some(Vector::from_iter(sum.data().iter().map(|&x| x as f32))))
        })?;
        info!("the rows of {} matrices added, {rows} in all", counts.done);
        Ok(counts.any_done())
    })
}
