//! Kaldi's programs, one file each.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::Tool;

/// The programs, in the order of `kaldera --help`.
pub(crate) const TOOLS: &[Tool] = &[
    Tool { name: "compute-fbank-feats", about: "Filterbank features of recordings", run: pending },
    Tool { name: "compute-mfcc-feats", about: "MFCC features of recordings", run: pending },
    Tool { name: "copy-feats", about: "Copy feature matrices, between binary and text form too", run: pending },
    Tool { name: "wav-copy", about: "Copy recordings into an archive, or out of one", run: pending },
    Tool { name: "wav-to-duration", about: "Durations of recordings in seconds", run: pending },
];

/// The names in [`TOOLS`].
pub(crate) const NAMES: &[&str] =
    &["compute-fbank-feats", "compute-mfcc-feats", "copy-feats", "wav-copy", "wav-to-duration"];

fn pending(_: Vec<OsString>) -> ExitCode {
    ExitCode::from(255)
}
