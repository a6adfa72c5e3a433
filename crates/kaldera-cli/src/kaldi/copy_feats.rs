//! `copy-feats`: feature matrices between tables, or from one file to another.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::{Holder, HtkMatrix, SphinxMatrix, read_object, write_object};
use kaldera::matrix::{CompressedMatrix, CompressionMethod, Matrix};
use tracing::info;

use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "copy-feats", about: "Copy feature matrices between tables or files, binary or text", run };

const USAGE: &str = "Copies feature matrices, and optionally changes their format.
Usage: copy-feats [options] <feats-rspecifier> <feats-wspecifier>
   or: copy-feats [options] <matrix-rxfilename> <matrix-wxfilename>
For example: copy-feats scp:feats.scp ark,t:-";

struct Options {
    binary: bool,
    htk_in: bool,
    sphinx_in: bool,
    compress: bool,
    compression_method: i32,
    write_num_frames: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            binary: true,
            htk_in: false,
            sphinx_in: false,
            compress: false,
            compression_method: 1,
            write_num_frames: String::new(),
        }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "binary",
            &mut self.binary,
            "Write a single file as binary; tables go by the option t of the wspecifier",
        );
        registry.add("htk-in", &mut self.htk_in, "The input is HTK features");
        registry.add("sphinx-in", &mut self.sphinx_in, "The input is Sphinx features, 13 in a frame (tables only)");
        registry.add("compress", &mut self.compress, "Write compressed matrices (tables only)");
        registry.add(
            "compression-method",
            &mut self.compression_method,
            "Method of --compress: 1 by the number of rows, 2 per column, 3 two bytes, 4 integers of two bytes, 5 one byte, 6 integers of one byte, 7 numbers from 0 to 1 in one byte",
        );
        registry.add(
            "write-num-frames",
            &mut self.write_num_frames,
            "Output of the number of rows of each matrix, such as ark,t:utt2num_frames (wspecifier; tables only)",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [input, output]| {
        if Rspecifier::parse(&input).is_err() {
            return copy_file(&options, &input, &output);
        }
        if options.htk_in {
            write_table(&options, &input, &output, |htk: HtkMatrix| htk.values)
        } else if options.sphinx_in {
            write_table(&options, &input, &output, |sphinx: SphinxMatrix| sphinx.values)
        } else {
            write_table(&options, &input, &output, |matrix: Matrix<f32>| matrix)
        }
    })
}

/// Copies a table of `I`, with or without compression.
fn write_table<I: Holder>(
    options: &Options,
    rspecifier: &str,
    wspecifier: &str,
    features: impl Fn(I) -> Matrix<f32>,
) -> Result<bool, Failure> {
    if options.compress {
        let number = options.compression_method;
        let compress = |matrix: &Matrix<f32>| -> Result<CompressedMatrix, Failure> {
            let method = CompressionMethod::from_number(number).ok_or_else(|| Failure::Option {
                name: "compression-method",
                value: number.to_string(),
                expected: "a number from 1 to 7",
            })?;
            Ok(CompressedMatrix::new(matrix, method)?)
        };
        copy_table(options, rspecifier, wspecifier, features, |matrix, key, writer| {
            Ok(writer.write(key, &compress(matrix)?)?)
        })
    } else {
        copy_table(options, rspecifier, wspecifier, features, |matrix, key, writer| Ok(writer.write(key, matrix)?))
    }
}

fn copy_table<I: Holder, O: Holder>(
    options: &Options,
    rspecifier: &str,
    wspecifier: &str,
    features: impl Fn(I) -> Matrix<f32>,
    write: impl Fn(&Matrix<f32>, &str, &mut TableWriter<O>) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let mut num_frames = super::open_if_given::<i32>(&options.write_num_frames)?;
    let mut writer = TableWriter::open(wspecifier)?;
    let mut copied = 0_u64;
    for entry in SequentialReader::<I>::open(rspecifier)? {
        let (key, object) = entry?;
        let features = features(object);
        write(&features, &key, &mut writer)?;
        if let Some(writer) = &mut num_frames {
            writer.write(&key, &i32::try_from(features.num_rows())?)?;
        }
        copied += 1;
    }
    writer.close()?;
    super::close_if_given(num_frames)?;
    info!("{copied} feature matrices copied");
    Ok(copied > 0)
}

fn copy_file(options: &Options, rxfilename: &str, wxfilename: &str) -> Result<bool, Failure> {
    let for_tables = [
        (options.compress, "compress"),
        (!options.write_num_frames.is_empty(), "write-num-frames"),
        (options.sphinx_in && !options.htk_in, "sphinx-in"),
    ];
    if let Some((_, name)) = for_tables.into_iter().find(|(given, _)| *given) {
        return Err(Failure::SingleFile { name, input: rxfilename.to_owned() });
    }
    let features = if options.htk_in { read_object::<HtkMatrix>(rxfilename)?.values } else { read_object(rxfilename)? };
    write_object(wxfilename, &features, options.binary)?;
    info!("{rxfilename} copied to {wxfilename}");
    Ok(true)
}
