//! `copy-feats`: feature matrices between tables, or from one file to another.

use std::ffi::OsString;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::{Holder, HtkMatrix, read_object, write_object};
use kaldera::matrix::Matrix;
use tracing::info;

use super::Failure;
use crate::Tool;

pub(super) const TOOL: Tool =
    Tool { name: "copy-feats", about: "Copy feature matrices between tables or files, binary or text", run };

const USAGE: &str = "Copies feature matrices, and can change their form on the way.
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
        registry.add("sphinx-in", &mut self.sphinx_in, "The input is Sphinx features (not supported yet)");
        registry.add("compress", &mut self.compress, "Write compressed matrices (not supported yet)");
        registry.add("compression-method", &mut self.compression_method, "How to compress, 1 to 7, with --compress");
        registry.add(
            "write-num-frames",
            &mut self.write_num_frames,
            "Where to write the rows of each matrix, such as ark,t:utt2num_frames (wspecifier; tables only)",
        );
    }
}

fn run(args: Vec<OsString>) -> ExitCode {
    super::run(TOOL.name, USAGE, &args, Options::default(), |options, [input, output]| {
        options.check()?;
        match (Rspecifier::parse(&input), options.htk_in) {
            (Ok(_), true) => copy_table::<HtkMatrix>(&options, &input, &output, |htk| htk.values),
            (Ok(_), false) => copy_table::<Matrix<f32>>(&options, &input, &output, |matrix| matrix),
            (Err(_), _) => copy_file(&options, &input, &output),
        }
    })
}

impl Options {
    fn check(&self) -> Result<(), Failure> {
        let not_yet = [
            (self.compress, "compress", "leave it out to write plain matrices"),
            (self.sphinx_in, "sphinx-in", "convert the input with Kaldi's copy-feats first"),
        ];
        match not_yet.into_iter().find(|(given, ..)| *given) {
            Some((_, name, instead)) => Err(Failure::NotYet { name, instead }),
            None => Ok(()),
        }
    }
}

fn copy_table<T: Holder>(
    options: &Options,
    rspecifier: &str,
    wspecifier: &str,
    features: impl Fn(T) -> Matrix<f32>,
) -> Result<bool, Failure> {
    let mut num_frames = super::open_if_given::<i32>(&options.write_num_frames)?;
    let mut writer = TableWriter::open(wspecifier)?;
    let mut copied = 0_u64;
    for entry in SequentialReader::<T>::open(rspecifier)? {
        let (key, object) = entry?;
        let features = features(object);
        writer.write(&key, &features)?;
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
    if !options.write_num_frames.is_empty() {
        return Err(Failure::SingleFile { name: "write-num-frames", input: rxfilename.to_owned() });
    }
    let features = if options.htk_in { read_object::<HtkMatrix>(rxfilename)?.values } else { read_object(rxfilename)? };
    write_object(wxfilename, &features, options.binary)?;
    info!("{rxfilename} copied to {wxfilename}");
    Ok(true)
}
