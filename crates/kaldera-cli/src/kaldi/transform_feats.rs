//! `transform-feats`: a matrix applied to each frame.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::read_object;
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{MappedReader, SequentialReader, TableWriter};
use kaldera::matrix::{Matrix, Trans};
use tracing::warn;

use crate::kaldi::Failure;
use crate::kaldi::driver::map_between;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "transform-feats", about: "Apply a matrix to features: LDA, MLLT, fMLLR", run };

const USAGE: &str = "Applies a matrix to each frame: of all, or of its utterance, or with --utt2spk of its speaker.
A matrix with a column more than the features have adds that column.
Usage: transform-feats [options] (<matrix-rspecifier>|<matrix-rxfilename>) <feats-rspecifier> <feats-wspecifier>
For example: splice-feats scp:feats.scp ark:- | transform-feats final.mat ark:- ark:transformed.ark";

#[derive(Default)]
struct Options {
    utt2spk: String,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("utt2spk", &mut self.utt2spk, "Speaker of each utterance, for matrices by speaker (rspecifier)");
    }
}

/// Source of the matrices.
enum Source {
    Table(Box<MappedReader<Matrix<f32>>>),
    File(Matrix<f32>),
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [matrices, input, output]| {
        let mut source = match (Rspecifier::parse(&matrices), &*options.utt2spk) {
            (Ok(_), utt2spk) => Source::Table(Box::new(MappedReader::open(&matrices, utt2spk)?)),
            (Err(_), "") => Source::File(read_object(&matrices)?),
            (Err(_), _) => return Err(Failure::SingleFile { name: "utt2spk", input: matrices }),
        };
        let (reader, writer) = (SequentialReader::open(&input)?, TableWriter::open(&output)?);
        let counts = map_between(reader, writer, |key, features: Matrix<f32>| {
            let matrix = match &mut source {
                Source::File(matrix) => &*matrix,
                Source::Table(reader) => {
                    if !reader.has_key(key)? {
                        warn!("leaving out {key}: no matrix for it, or for its speaker");
                        return Ok(None);
                    }
                    reader.value(key)?
                }
            };
            let transformed = transformed(matrix, &features)?;
            if transformed.is_none() {
                let (found, wanted) = (features.num_cols(), matrix.num_cols());
                warn!("leaving out {key}: it has {found} columns, the matrix {wanted}");
            }
            Ok(transformed)
        })?;
        counts.log("transformed", "feature matrices");
        Ok(counts.any_done())
    })
}

/// Returns `features` times the transposed matrix, `None` if they do not fit.
fn transformed(matrix: &Matrix<f32>, features: &Matrix<f32>) -> Result<Option<Matrix<f32>>, Failure> {
    let (rows, dim) = (features.num_rows(), features.num_cols());
    // Of no frames the number of columns is not known.
    if features.is_empty() {
        return Ok(None);
    }
    let mut out = Matrix::zeros(rows, matrix.num_rows());
    if matrix.num_cols() == dim + 1 {
        for row in out.rows_mut() {
            row.iter_mut().zip(matrix.rows()).for_each(|(out, row)| *out = row[dim]);
        }
    } else if matrix.num_cols() != dim {
        return Ok(None);
    }
    let factors = matrix.col_range(0, dim)?;
    out.add_mat_mat(1.0, features, Trans::No, &factors, Trans::Yes, 1.0)?;
    Ok(Some(out))
}
