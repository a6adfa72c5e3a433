//! `kaldera merge`: the features of several jobs, in one file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera::Error;
use kaldera::feat::options::Registry as _;
use kaldera::matrix::SubMatrix;
use kaldera::pipeline::{FeatureFile, FeatureSink, merge, shards_of};

use super::features::trouble;
use super::{Trouble, print};
use crate::interrupt;
use crate::log::{self, say};
use crate::parse_options::{ParseOptions, Request, Syntax};

const TOOL: &str = "merge";
const USAGE: &str = "\
Make one file of the features that several jobs have written.
Usage: kaldera merge -o OUT [PARTS...]

Without PARTS they are the shards of OUT: of x.ark these are x.1-of-8.ark to x.8-of-8.ark, and all must be there.
OUT and PARTS end in .ark, .npz or .safetensors; a file that appears complete or not at all is made of all their features,
in their order. No key may occur twice.
Example: kaldera merge -o fbank.ark
Exit status: 0 merged, 1 not merged, 2 wrong usage, 130 stopped.";

/// Runs `kaldera merge` with the arguments after its name.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    super::end(TOOL, merge_files(&args))
}

fn merge_files(args: &[OsString]) -> Result<ExitCode, Trouble> {
    let mut output = String::new();
    let mut parser = ParseOptions::new(Syntax::People, USAGE);
    parser.add("output", &mut output, "File to write, ending in .ark, .npz or .safetensors");
    parser.letter('o', "output");
    let parts = match parser.read(args)? {
        Request::Help => return print(&parser.help()).map(|()| ExitCode::SUCCESS),
        Request::Run(parts) => parts,
    };
    log::init(TOOL, parser.verbose());
    if output.is_empty() {
        return Err(Trouble::Usage("-o OUT is missing".to_owned()));
    }
    let parts: Vec<PathBuf> = if parts.is_empty() {
        shards_of(&output).map_err(trouble)?
    } else {
        parts.into_iter().map(PathBuf::from).collect()
    };
    let mut sink = Stoppable { file: FeatureFile::create(&output).map_err(trouble)?, stop: interrupt::watch() };
    let summary = match merge(&parts, &mut sink) {
        Err(Error::Stopped) => {
            say(format_args!("kaldera {TOOL}: stopped; nothing was written"));
            return Ok(interrupt::stopped());
        }
        summary => summary.map_err(trouble)?,
    };
    let written: Vec<_> = sink.file.finish().map_err(trouble)?.iter().map(|path| path.display().to_string()).collect();
    print(&format!(
        "{} files, {} matrices, {} frames\nwritten to {}\n",
        parts.len(),
        summary.utterances,
        summary.frames,
        written.join(" and ")
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// A file that takes no more once somebody has asked to stop.
struct Stoppable<'a> {
    file: FeatureFile,
    stop: &'a AtomicBool,
}

impl FeatureSink for Stoppable<'_> {
    fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        self.file.write(key, features)
    }
}
