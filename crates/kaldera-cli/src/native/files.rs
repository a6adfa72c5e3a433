//! Files that operations read and write: standard input and output, commands, compressed files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufWriter, IsTerminal as _, Read, Write};
use std::path::Path;

use kaldera::io::rxfilename::Input;
use kaldera::pipeline::PartialFile;
use kaldera::text;

use super::Trouble;

/// Returns `true` if a name stands for standard input or output.
pub(crate) fn is_standard(name: &str) -> bool {
    matches!(name, "" | "-")
}

/// Opens a file, standard input, or the output of a command (`gunzip -c lm.arpa.gz |`). Input
/// compressed with gzip is decompressed.
pub(crate) fn open(name: &str) -> Result<Box<dyn BufRead>, Trouble> {
    read_with(name, text::uncompressed)
}

/// Applies `read` to a file, standard input, or the output of a command.
fn read_with<T>(name: &str, read: impl FnOnce(Box<dyn Read>) -> io::Result<T>) -> Result<T, Trouble> {
    let cannot = |error: &dyn std::fmt::Display| Trouble::Failed(format!("cannot read {}: {error}", shown(name)));
    let input: Box<dyn Read> = if is_standard(name) {
        Box::new(io::stdin())
    } else if name.trim_end().ends_with('|') {
        Box::new(Command(Some(Input::open(name.trim()).map_err(|error| cannot(&error))?)))
    } else {
        Box::new(File::open(name).map_err(|error| cannot(&error))?)
    };
    read(input).map_err(|error| cannot(&error))
}

/// Output of a command, whose failure is an error.
struct Command(Option<Input>);

impl Read for Command {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(input) = &mut self.0 else { return Ok(0) };
        let read = input.read(buffer)?;
        if read == 0
            && !buffer.is_empty()
            && let Some(input) = self.0.take()
        {
            input.finish().map_err(io::Error::other)?;
        }
        Ok(read)
    }
}

/// Reads all bytes of the file, decompressed if it is compressed with gzip.
pub(crate) fn read_bytes(name: &str) -> Result<Vec<u8>, Trouble> {
    read_with(name, text::read_bytes)
}

/// Formats a file name for a message.
pub(crate) fn shown(name: &str) -> String {
    if is_standard(name) { "standard input".to_owned() } else { format!("'{name}'") }
}

/// Reads the text of the file, without a byte order mark.
pub(crate) fn read_text(name: &str) -> Result<String, Trouble> {
    read_with(name, text::read)
}

/// Returns an error with the name of its file. The place in a text is on separate lines.
pub(crate) fn in_file(name: &str, error: &kaldera::fsa::Error) -> Trouble {
    let name = if is_standard(name) { "standard input" } else { name };
    Trouble::Failed(format!("{name}: {error}"))
}

/// Returns an error if standard output is a terminal, as binary data may change its state. `option`
/// makes the result a text.
pub(crate) fn refuse_terminal(output: &str, option: &str) -> Result<(), Trouble> {
    if is_standard(output) && io::stdout().is_terminal() {
        return Err(Trouble::Usage(format!(
            "the result is binary, and standard output is a terminal: name a file, or add {option}"
        )));
    }
    Ok(())
}

/// Reason why a file was not written.
pub(crate) enum NotWritten {
    Io(io::Error),
    Fst(kaldera::fsa::Error),
}

impl From<kaldera::fsa::Error> for NotWritten {
    fn from(error: kaldera::fsa::Error) -> Self {
        Self::Fst(error)
    }
}

impl From<io::Error> for NotWritten {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes a file atomically, or writes to standard output, whose reader may close the pipe.
pub(crate) fn write_bytes(name: &str, bytes: &[u8]) -> Result<(), Trouble> {
    write_with(name, |out| out.write_all(bytes))
}

/// Like [`write_bytes`], with `write` for the output.
pub(crate) fn write_with(name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Trouble> {
    write_pieces(name, |out| write(out).map_err(NotWritten::Io))
}

/// Like [`write_bytes`], with `write` for the output, piece by piece.
pub(crate) fn write_pieces(
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> Result<(), NotWritten>,
) -> Result<(), Trouble> {
    let write_to = |out: &mut dyn Write| {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        write(&mut out)?;
        out.flush().map_err(NotWritten::Io)
    };
    let failed = |error: NotWritten| match error {
        NotWritten::Io(error) if is_standard(name) => {
            Trouble::Failed(format!("cannot write to standard output: {error}"))
        }
        NotWritten::Io(error) => Trouble::Failed(format!("cannot write '{name}': {error}")),
        NotWritten::Fst(error) => in_file(name, &error),
    };
    if is_standard(name) {
        return match write_to(&mut io::stdout().lock()) {
            Err(NotWritten::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(failed),
        };
    }
    // A special file, such as /dev/null or a FIFO, cannot be replaced: the bytes are written into
    // it.
    if fs::metadata(name).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = OpenOptions::new().write(true).open(name).map_err(|error| failed(error.into()))?;
        return write_to(&mut file).map_err(failed);
    }
    let mut file = PartialFile::create(Path::new(name)).map_err(|error| Trouble::failed(&error))?;
    write_to(&mut file).map_err(failed)?;
    file.finish().map_err(|error| Trouble::failed(&error))?;
    Ok(())
}
