//! `copy-matrix`, `copy-vector` and `copy-int-vector`: objects between tables, or from one file to
//! another.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::specifier::{Rspecifier, Wspecifier};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::{Holder, IntegerVector, read_object, write_object};
use kaldera::matrix::{Matrix, ResizeType, Vector};
use tracing::info;

use crate::kaldi::Failure;
use crate::kaldi::driver::map_between;
use crate::{Call, Tool};

pub(super) const MATRIX: Tool = Tool {
    name: "copy-matrix",
    about: "Copy matrices between tables or files, and change their elements",
    run: matrix,
};
pub(super) const VECTOR: Tool =
    Tool { name: "copy-vector", about: "Copy vectors between tables or files", run: vector };
pub(super) const INT_VECTOR: Tool =
    Tool { name: "copy-int-vector", about: "Copy lists of integers between tables or files", run: int_vector };

const MATRIX_USAGE: &str = "Copies matrices, or archives of them, and optionally changes their elements.
Usage: copy-matrix [options] <matrix-rspecifier> <matrix-wspecifier>
   or: copy-matrix [options] <matrix-rxfilename> <matrix-wxfilename>
For example: copy-matrix --binary=false 1.mat -";

const VECTOR_USAGE: &str = "Copies vectors, or archives of them.
Usage: copy-vector [options] <vector-rspecifier> <vector-wspecifier>
   or: copy-vector [options] <vector-rxfilename> <vector-wxfilename>
For example: copy-vector ark:vad.ark ark,t:-";

const INT_VECTOR_USAGE: &str = "Copies lists of integers, such as alignments, or archives of them.
Usage: copy-int-vector [options] <vector-rspecifier> <vector-wspecifier>
   or: copy-int-vector [options] <vector-rxfilename> <vector-wxfilename>
For example: copy-int-vector ark:1.ali ark,t:-";

const BINARY_HELP: &str = "Write a single file as binary; tables go by the option t of the wspecifier";

/// Changes to the elements of matrices, in the order in which they are applied.
struct MatrixOptions {
    binary: bool,
    scale: f32,
    apply_log: bool,
    apply_exp: bool,
    apply_softmax_per_row: bool,
    apply_power: f32,
}

impl Default for MatrixOptions {
    fn default() -> Self {
        Self {
            binary: true,
            scale: 1.0,
            apply_log: false,
            apply_exp: false,
            apply_softmax_per_row: false,
            apply_power: 1.0,
        }
    }
}

impl OptionSet for MatrixOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("binary", &mut self.binary, BINARY_HELP);
        registry.add("scale", &mut self.scale, "Factor for all elements");
        registry.add("apply-log", &mut self.apply_log, "Apply the logarithm, with a floor of 1e-20");
        registry.add("apply-exp", &mut self.apply_exp, "Apply the exponential function");
        registry.add("apply-softmax-per-row", &mut self.apply_softmax_per_row, "Apply the softmax to each row");
        registry.add("apply-power", &mut self.apply_power, "Raise all elements to a power");
    }
}

impl MatrixOptions {
    fn check(&self) -> Result<(), Failure> {
        let exclusive = [
            (self.apply_log, "apply-log"),
            (self.apply_exp, "apply-exp"),
            (self.apply_softmax_per_row, "apply-softmax-per-row"),
        ];
        let mut given = exclusive.into_iter().filter_map(|(given, name)| given.then_some(name));
        match (given.next(), given.next()) {
            (Some(first), Some(second)) => Err(Failure::Exclusive { first, second }),
            _ => Ok(()),
        }
    }

    fn change(&self, matrix: &mut Matrix<f32>) -> Result<(), Failure> {
        /// Smallest value of which the logarithm is taken.
        const FLOOR: f32 = 1e-20;

        if self.scale != 1.0 {
            matrix.scale(self.scale);
        }
        if self.apply_log {
            matrix.apply_floor(FLOOR);
            map_each(matrix, f32::ln);
        }
        if self.apply_exp {
            map_each(matrix, f32::exp);
        }
        if self.apply_softmax_per_row {
            (0..matrix.num_rows()).for_each(|row| soft_max(matrix.row_mut(row).data_mut()));
        }
        if self.apply_power != 1.0 {
            // Kaldi calls C's `pow`, which has double precision.
            let power = f64::from(self.apply_power);
            map_each(matrix, |x| f64::from(x).powf(power) as f32);
        }
        Ok(())
    }
}

/// Applies a function of the platform to each element, as Kaldi does. The functions of the matrix
/// library are faster, but may differ in the last bit.
fn map_each(matrix: &mut Matrix<f32>, function: impl Fn(f32) -> f32) {
    for x in matrix.rows_mut().flatten() {
        *x = function(*x);
    }
}

/// Computes the softmax element by element, as Kaldi rounds it, so that files are equal to the last
/// bit.
fn soft_max(row: &mut [f32]) {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for x in &mut *row {
        *x = (*x - max).exp();
        sum += *x;
    }
    row.iter_mut().for_each(|x| *x *= 1.0 / sum);
}

fn matrix(call: Call<'_>) -> ExitCode {
    super::run(MATRIX.name, MATRIX_USAGE, call, MatrixOptions::default(), |options, [input, output]| {
        options.check()?;
        let change = |mut matrix| options.change(&mut matrix).map(|()| matrix);
        match is_table(&input, &output)? {
            true => copy_table(&input, &output, "matrices", change),
            false => copy_file::<Matrix<f32>>(&input, &output, options.binary, change),
        }
    })
}

struct VectorOptions {
    binary: bool,
    change_dim: i32,
    scale: f32,
}

impl Default for VectorOptions {
    fn default() -> Self {
        Self { binary: true, change_dim: -1, scale: 1.0 }
    }
}

impl OptionSet for VectorOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("binary", &mut self.binary, BINARY_HELP);
        registry.add("change-dim", &mut self.change_dim, "Cut vectors to this many elements, or add zeros");
        registry.add("scale", &mut self.scale, "Factor for all elements");
    }
}

fn vector(call: Call<'_>) -> ExitCode {
    super::run(VECTOR.name, VECTOR_USAGE, call, VectorOptions::default(), |options, [input, output]| {
        let change = |mut vector: Vector<f32>| {
            if let Ok(dim) = usize::try_from(options.change_dim) {
                vector.resize(dim, ResizeType::CopyData);
            }
            if options.scale != 1.0 {
                vector.scale(options.scale);
            }
            Ok(vector)
        };
        match is_table(&input, &output)? {
            true => copy_table(&input, &output, "vectors", change),
            false => copy_file(&input, &output, options.binary, change),
        }
    })
}

struct IntVectorOptions {
    binary: bool,
}

impl OptionSet for IntVectorOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("binary", &mut self.binary, BINARY_HELP);
    }
}

fn int_vector(call: Call<'_>) -> ExitCode {
    let options = IntVectorOptions { binary: true };
    super::run(INT_VECTOR.name, INT_VECTOR_USAGE, call, options, |options, [input, output]| {
        match is_table(&input, &output)? {
            true => copy_table::<Vec<i32>>(&input, &output, "lists of integers", Ok),
            false => copy_file::<IntegerVector>(&input, &output, options.binary, Ok),
        }
    })
}

/// Returns `true` if both are tables, `false` if neither is.
fn is_table(input: &str, output: &str) -> Result<bool, Failure> {
    match (Rspecifier::parse(input), Wspecifier::parse(output)) {
        (Ok(_), Ok(_)) => Ok(true),
        (Err(_), Err(_)) => Ok(false),
        _ => Err(Failure::Mixed { input: input.to_owned(), output: output.to_owned() }),
    }
}

fn copy_table<T: Holder>(
    rspecifier: &str,
    wspecifier: &str,
    objects: &str,
    mut change: impl FnMut(T) -> Result<T, Failure>,
) -> Result<bool, Failure> {
    let writer = TableWriter::open(wspecifier)?;
    let counts = map_between(SequentialReader::open(rspecifier)?, writer, |_key, object| change(object).map(Some))?;
    info!("{} {objects} copied", counts.done);
    Ok(counts.any_done())
}

fn copy_file<T: Holder>(
    rxfilename: &str,
    wxfilename: &str,
    binary: bool,
    mut change: impl FnMut(T) -> Result<T, Failure>,
) -> Result<bool, Failure> {
    write_object(wxfilename, &change(read_object(rxfilename)?)?, binary)?;
    info!("{rxfilename} copied to {wxfilename}");
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_max_adds_up() {
        let mut row = [1.0, 2.0, 3.0, 1000.0];
        soft_max(&mut row);
        assert_eq!(row, [0.0, 0.0, 0.0, 1.0]);
        let mut row = [0.5; 4];
        soft_max(&mut row);
        assert_eq!(row, [0.25; 4]);
        soft_max(&mut []);
    }

    #[test]
    fn elements_change_in_order() {
        let mut matrix = Matrix::from_vec(1, 2, vec![2.0, -1.0]).unwrap();
        let options = MatrixOptions { scale: 2.0, apply_log: true, apply_power: 2.0, ..MatrixOptions::default() };
        options.change(&mut matrix).unwrap();
        let expected = [4.0_f32.ln().powi(2), 1e-20_f32.ln().powi(2)];
        assert_eq!(matrix.data(), expected);
    }

    #[test]
    fn functions_are_the_platforms_to_the_last_bit() {
        let numbers = Matrix::from_fn(50, 40, |r, c| (r * 40 + c) as f32 * 0.0873 - 87.0);
        let changed = |options: MatrixOptions| {
            let mut matrix = numbers.clone();
            options.change(&mut matrix).unwrap();
            matrix.rows().flatten().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let of =
            |function: fn(f32) -> f32| numbers.rows().flatten().map(|&x| function(x).to_bits()).collect::<Vec<_>>();
        assert_eq!(changed(MatrixOptions { apply_exp: true, ..Default::default() }), of(f32::exp));
        assert_eq!(changed(MatrixOptions { apply_log: true, ..Default::default() }), of(|x| x.max(1e-20).ln()));
        for power in [0.333_f32, 0.5, 2.0, -1.5] {
            // The compiler replaces `powf` with another function if it knows the exponent.
            let exponent = std::hint::black_box(f64::from(power));
            let expected = numbers.rows().flatten().map(|&x| (f64::from(x).powf(exponent) as f32).to_bits());
            let found = changed(MatrixOptions { apply_power: power, ..Default::default() });
            assert_eq!(found, expected.collect::<Vec<_>>(), "power {power}");
        }
    }

    #[test]
    fn one_map_at_a_time() {
        let options = MatrixOptions { apply_log: true, apply_softmax_per_row: true, ..MatrixOptions::default() };
        let message = options.check().unwrap_err().to_string();
        assert!(message.contains("apply-log") && message.contains("apply-softmax-per-row"), "{message}");
    }
}
