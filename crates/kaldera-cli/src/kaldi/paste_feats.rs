//! `paste-feats`: features side by side.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::paste_columns;
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::io::{read_object, write_object};
use kaldera::matrix::Matrix;
use tracing::{info, warn};

use crate::kaldi::Failure;
use crate::kaldi::driver::map_between;
use crate::{Call, Tool, log};

pub(super) const TOOL: Tool = Tool { name: "paste-feats", about: "Put features of several tables side by side", run };

const USAGE: &str = "Puts the features of several tables, or files, side by side, as paste does with lines.
Usage: paste-feats [options] <feats-rspecifier1> <feats-rspecifier2> [<feats-rspecifier3> ...] <feats-wspecifier>
   or: paste-feats [options] <matrix-rxfilename1> <matrix-rxfilename2> [...] <matrix-wxfilename>
For example: paste-feats --length-tolerance=2 scp:mfcc.scp scp:pitch.scp ark:both.ark";

struct Options {
    length_tolerance: i32,
    binary: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "length-tolerance",
            &mut self.length_tolerance,
            "Maximum difference of the numbers of frames; all are cut to the shortest",
        );
        registry.add(
            "binary",
            &mut self.binary,
            "Write a single file as binary; tables go by the option t of the wspecifier",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options { length_tolerance: 0, binary: true };
    super::run_any(TOOL.name, USAGE, call, options, 3..=usize::MAX, |options, plain| {
        // A negative tolerance would refuse even equal lengths.
        let tolerance = usize::try_from(options.length_tolerance).map_err(|_| Failure::Option {
            name: "length-tolerance",
            value: options.length_tolerance.to_string(),
            expected: "0 or more frames",
        })?;
        match plain.as_slice() {
            [first, others @ .., output] if Rspecifier::parse(first).is_ok() => {
                paste_tables(tolerance, first, others, output)
            }
            [inputs @ .., output] => paste_files(tolerance, inputs, output, options.binary),
            [] => Ok(false),
        }
    })
}

fn paste_tables(tolerance: usize, first: &str, others: &[String], output: &str) -> Result<bool, Failure> {
    let writer = TableWriter::open(output)?;
    let first = SequentialReader::open(first)?;
    let mut readers = Vec::with_capacity(others.len());
    for rspecifier in others {
        readers.push((rspecifier, RandomAccessReader::<Matrix<f32>>::open(rspecifier)?));
    }
    let counts = map_between(first, writer, |key, features: Matrix<f32>| {
        for (rspecifier, reader) in &mut readers {
            if !reader.has_key(key)? {
                warn!("leaving out {key}: it is not in {rspecifier}");
                return Ok(None);
            }
        }
        let mut parts = Vec::with_capacity(1 + readers.len());
        parts.push(features.view());
        for (_, reader) in &mut readers {
            parts.push(reader.value(key)?.view());
        }
        Ok(match paste_columns(&parts, tolerance) {
            Ok(pasted) if !pasted.is_empty() => Some(pasted),
            Ok(_) => {
                warn!("leaving out {key}: it has no frames in one of the tables");
                None
            }
            Err(error) => {
                warn!("leaving out {key}: {}", log::one_line(&error));
                None
            }
        })
    })?;
    counts.log("pasted", "feature matrices");
    // This is the only program whose exit status here is not 1.
    if counts.any_done() { Ok(true) } else { Err(Failure::NothingDone { left_out: counts.failed }) }
}

fn paste_files(tolerance: usize, inputs: &[String], output: &str, binary: bool) -> Result<bool, Failure> {
    let matrices: Vec<Matrix<f32>> = inputs.iter().map(|input| read_object(input)).collect::<Result<_, _>>()?;
    let parts: Vec<_> = matrices.iter().map(|matrix| matrix.view()).collect();
    match paste_columns(&parts, tolerance) {
        Ok(pasted) if !pasted.is_empty() => {
            write_object(output, &pasted, binary)?;
            info!("{} files pasted into {output}", inputs.len());
            Ok(true)
        }
        Ok(_) => {
            warn!("nothing to paste: a file has no frames");
            Ok(false)
        }
        Err(error) => {
            warn!("cannot paste: {}", log::one_line(&error));
            Ok(false)
        }
    }
}
