//! The error type of this crate.

use std::io;

use kaldi_matrix::codec::CodecError;

use crate::wave::error::WaveError;

/// An error of a specifier, a file, a pipe, a table or an object in one.
///
/// Every message is one line. It names the file, the line or the key, and suggests a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not of the form `ark[,options]:FILE` or `scp[,options]:FILE`.
    #[error("'{text}' does not say how to read a table: {hint}")]
    InvalidRspecifier {
        /// The given text.
        text: String,
        /// Suggestion of a valid specifier.
        hint: String,
    },
    /// Not of the form `ark[,options]:FILE`, `scp:FILE` or `ark,scp:FILE,FILE`.
    #[error("'{text}' does not say how to write a table: {hint}")]
    InvalidWspecifier {
        /// The given text.
        text: String,
        /// Suggestion of a valid specifier.
        hint: String,
    },
    /// Not a file, offset, pipe or `-` that can be read from.
    #[error("cannot read from '{name}': {hint}")]
    InvalidRxfilename {
        /// The given name.
        name: String,
        /// Description of the problem.
        hint: &'static str,
    },
    /// Not a file, pipe or `-` that can be written to.
    #[error("cannot write to '{name}': {hint}")]
    InvalidWxfilename {
        /// The given name.
        name: String,
        /// Description of the problem.
        hint: &'static str,
    },
    /// A file could not be opened, or the shell of a pipe could not be started.
    #[error("cannot open '{name}': {source}{}", remedy(source))]
    Open {
        /// The file or command.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The thread that reads a table in the background panicked.
    #[error(
        "the thread that reads in the background panicked, and the rest of the table is not read: read it without the \
         option bg, and report this"
    )]
    BackgroundPanic,
    /// A file could not be created.
    #[error("cannot create '{name}': {source}{}", remedy(source))]
    Create {
        /// The file or command.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// An output that is also an input, by its name or by a link.
    #[error("'{output}' would overwrite the input '{input}': write to another file, and rename that afterwards")]
    Overwrite {
        /// The output.
        output: String,
        /// The input, as named in its list.
        input: String,
    },
    /// The system failed while reading.
    #[error("cannot read '{name}': {source}{}", remedy(source))]
    Read {
        /// The file or command.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The system failed while writing.
    #[error("cannot write '{name}': {source}{}", remedy(source))]
    Write {
        /// The file or command.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The reader of our output has gone: usually a reason to stop quietly.
    #[error("the reader of '{name}' has gone (broken pipe)")]
    BrokenPipe {
        /// The file or command.
        name: String,
    },
    /// A command that we read from has failed.
    #[error("the command '{command}' failed with {status}; run it by itself to see why")]
    Command {
        /// The command, as given to the shell.
        command: String,
        /// Exit status of the command.
        status: std::process::ExitStatus,
    },
    /// A line of a script file that is not `key rxfilename`.
    #[error(
        "{name}, line {line}: expected 'key file', such as 'utt1 feats.ark:5', found '{found}'{}",
        if *archive { "; this looks like an archive, which is read with ark:" } else { "" }
    )]
    Script {
        /// The script file.
        name: String,
        /// Line number, from 1.
        line: u64,
        /// The start of the line.
        found: String,
        /// `true` if the line looks like a line of an archive.
        archive: bool,
    },
    /// A command in place of a file, in a list whose commands are not run.
    #[error("the command '{command}' is not run, as pipes are switched off for this list; name a file")]
    PipeRefused {
        /// The command.
        command: String,
    },
    /// A line of a list that is too long.
    #[error("{name}, line {line}: it has more than {limit} bytes, which is the limit")]
    LongLine {
        /// The list.
        name: String,
        /// Line number, from 1.
        line: u64,
        /// Maximum number of bytes.
        limit: usize,
    },
    /// A line of a segments file that does not name a part of a recording.
    #[error("{name}, line {line}: expected {expected}, found '{found}'")]
    Segment {
        /// The segments file.
        name: String,
        /// Line number, from 1.
        line: u64,
        /// Description of the expected form.
        expected: &'static str,
        /// The start of the line.
        found: String,
    },
    /// The bytes between two objects of an archive are not a key and a space.
    #[error("{name}, byte {offset}: expected a key and a space, found '{found}': {}", what_is_no_archive(found))]
    Archive {
        /// The archive.
        name: String,
        /// Offset at which the key should have begun.
        offset: u64,
        /// The bytes found there.
        found: String,
    },
    /// An object in a table could not be read or written.
    #[error("{table}: key '{key}': {source}{hint}")]
    Object {
        /// The archive, with the byte offset of the object, or the script file.
        table: String,
        /// The object's key.
        key: String,
        /// The reason.
        source: Box<Error>,
        /// A hint for the user, or empty.
        hint: &'static str,
    },
    /// An object in a file of its own, or one that a script file points to, could not be read or
    /// written.
    #[error("{place}: {source}")]
    File {
        /// The file.
        place: String,
        /// The reason.
        source: Box<Error>,
    },
    /// A key that a table cannot hold.
    #[error("'{key}' cannot be a key: keys are not empty and have no spaces or control characters")]
    InvalidKey {
        /// The key.
        key: String,
    },
    /// A key that occurs twice, which random access does not allow.
    #[error("{name}: the key '{key}' occurs twice; remove one of the two")]
    DuplicateKey {
        /// The archive or script file.
        name: String,
        /// The key.
        key: String,
    },
    /// Keys that are not sorted, despite the `s` option.
    #[error(
        "{name}: key '{key}' follows '{previous}', so the keys are not sorted; drop the option 's' or sort with LC_ALL=C sort"
    )]
    NotSorted {
        /// The archive or script file.
        name: String,
        /// The key before.
        previous: String,
        /// The key that breaks the order.
        key: String,
    },
    /// Requests that are not sorted, despite the `cs` option.
    #[error(
        "{name}: key '{key}' was asked for after '{previous}', which the option 'cs' rules out; drop it or sort the requests"
    )]
    NotCalledSorted {
        /// The archive.
        name: String,
        /// The key of the request before.
        previous: String,
        /// The key of this request.
        key: String,
    },
    /// There is no object with this key.
    #[error("{name}: no entry for the key '{key}'")]
    MissingKey {
        /// The archive or script file.
        name: String,
        /// The key.
        key: String,
    },
    /// A `[range]` that is not `rows` or `rows,columns`, each `first:last` or `:`, inside the
    /// object.
    #[error(
        "invalid range [{range}] for {object}: write [first:last] or [first:last,first:last], counted from 0, last one included"
    )]
    Range {
        /// The text between the brackets.
        range: String,
        /// Description of the object, with its size.
        object: String,
    },
    /// A `[range]` on an object without rows.
    #[error("ranges such as [{range}] are for matrices and vectors, not for {what}")]
    RangeUnsupported {
        /// The text between the brackets.
        range: String,
        /// The kind of object.
        what: &'static str,
    },
    /// A kind of object that has no text form, or that cannot be written at all.
    #[error("{what} cannot be written {how}")]
    Unwritable {
        /// The kind of object.
        what: &'static str,
        /// The form, such as "as text".
        how: &'static str,
    },
    /// Bytes that are not the expected object.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The expected object.
        expected: &'static str,
        /// The bytes found.
        found: String,
    },
    /// The stream under an object failed.
    #[error("{source}{}", remedy(source))]
    Stream {
        /// The system's reason.
        #[from]
        source: io::Error,
    },
    /// A matrix or vector that could not be read.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A WAV file that could not be read or written.
    #[error(transparent)]
    Wave(#[from] WaveError),
}

impl Error {
    /// Returns `true` if the reader of our output has gone, as after `| head`: a program should
    /// then stop without a message.
    pub fn is_broken_pipe(&self) -> bool {
        match self {
            Error::BrokenPipe { .. } => true,
            Error::Object { source, .. } | Error::File { source, .. } => source.is_broken_pipe(),
            _ => false,
        }
    }

    /// Returns `true` if a `[range]` was wrong: Kaldi throws then even in permissive mode.
    pub(crate) fn is_range(&self) -> bool {
        match self {
            Error::Range { .. } | Error::RangeUnsupported { .. } => true,
            Error::Object { source, .. } | Error::File { source, .. } => source.is_range(),
            _ => false,
        }
    }

    /// Creates the error of a write to `name`; a broken pipe becomes a kind of its own.
    pub(crate) fn write(name: &str, source: io::Error) -> Error {
        if source.kind() == io::ErrorKind::BrokenPipe {
            Error::BrokenPipe { name: name.to_owned() }
        } else {
            Error::Write { name: name.to_owned(), source }
        }
    }

    /// Adds the table and the key to an error of an object.
    pub(crate) fn in_table(self, table: String, key: &str, hint: &'static str) -> Error {
        Error::Object { table, key: key.to_owned(), source: Box::new(self), hint }
    }

    /// Adds the file to an error of the object in it.
    pub(crate) fn in_file(self, place: &str) -> Error {
        Error::File { place: place.to_owned(), source: Box::new(self) }
    }
}

/// Describes the bytes found in place of an archive.
fn what_is_no_archive(found: &str) -> &'static str {
    if ["RIFF", "RIFX", "fLaC", "OggS", "FORM", "NIST_1A", "ID3"].iter().any(|begin| found.starts_with(begin)) {
        "audio, of which features must be made first (compute-mfcc-feats, kaldera features)"
    } else {
        "not an archive, or one that is damaged (a list of files is read with scp:)"
    }
}

/// Returns a remedy for a system error, to be appended to the message.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check the path and that its folder exists",
        io::ErrorKind::PermissionDenied => "; check its permissions",
        io::ErrorKind::IsADirectory => "; name a file in it",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space or write elsewhere",
        io::ErrorKind::ReadOnlyFilesystem => "; write elsewhere",
        _ => "",
    }
}

/// Returns the start of some bytes as one printable line, for messages.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    let more = if bytes.len() > LONGEST { "..." } else { "" };
    format!("{}{more}", text.escape_debug())
}
