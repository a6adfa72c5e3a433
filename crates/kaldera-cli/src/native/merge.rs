//! `kaldera merge`: the features of several jobs in one file.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera::Error;
use kaldera::feat::options::Registry as _;
use kaldera::io::table::refuse_pipes;
use kaldera::matrix::SubMatrix;
use kaldera::pipeline::{FeatureFile, FeatureSink, merge, shards_of};

use crate::native::corpus::trouble;
use crate::native::{CliError, arguments, print};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt};

const TOOL: &str = "merge";
const USAGE: &str = "\
Merge the feature files of several jobs into one.

Usage: kaldera merge [OPTIONS] -o OUT [PARTS...]

The default of PARTS are the shards of OUT: for x.ark these are x.1-of-8.ark to x.8-of-8.ark, and
all must exist. OUT and PARTS end in .ark, .npz or .safetensors, in any combination; PARTS may also
be .scp, whose commands --no-pipes rejects. OUT has all features in the order of PARTS, and appears
complete or not at all. Keys must be unique.

Examples:
  kaldera merge -o fbank.ark
  kaldera merge -o all.npz dev.ark test.npz

Exit status: 0 success, 1 failure, 2 wrong usage (also an OUT that is a part), 130 stopped by
Ctrl-C, 143 stopped by SIGTERM.";

/// Answers a call of `kaldera merge`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, merge_files(call))
}

fn merge_files(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut output, mut no_pipes) = (String::new(), false);
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    parser.add("output", &mut output, "File to write, ending in .ark, .npz or .safetensors");
    parser.add("no-pipes", &mut no_pipes, "Do not run commands of script files: parts with commands are rejected");
    parser.letter('o', "output");
    let Some(parts) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    drop(parser);
    if no_pipes {
        refuse_pipes();
    }
    if output.is_empty() {
        return Err(CliError::Usage("-o OUT is missing".to_owned()));
    }
    let parts: Vec<PathBuf> = if parts.is_empty() {
        shards_of(&output).map_err(trouble)?
    } else {
        parts.into_iter().map(PathBuf::from).collect()
    };
    let stop = interrupt::watch(TOOL, "nothing was written");
    let mut sink = Stoppable { file: FeatureFile::create(&output).map_err(trouble)?, stop };
    let summary = match merge(&parts, &mut sink) {
        Err(Error::Stopped) => {
            drop(sink);
            return Ok(interrupt::stopped());
        }
        summary => summary.map_err(trouble)?,
    };
    let written: Vec<_> = sink.file.finish().map_err(trouble)?.iter().map(|path| path.display().to_string()).collect();
    if !quiet {
        print(&format!(
            "{} files, {} matrices, {} frames\nwritten to {}\n",
            parts.len(),
            summary.utterances,
            summary.frames,
            written.join(" and ")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that accepts no more features after a request to stop.
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

    fn outputs(&self) -> Vec<PathBuf> {
        self.file.outputs()
    }
}
