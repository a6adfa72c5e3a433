//! Wxfilenames: a file, the standard output or a command.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use tracing::warn;

use crate::error::Error;
use crate::specifier::looks_like_specifier;

/// Parsed wxfilename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wxfilename<'a> {
    /// `-` or an empty text.
    Stdout,
    /// `| command`
    Pipe {
        /// Command for `sh -c`.
        command: &'a str,
    },
    /// Anything else that is not an error.
    File {
        /// The whole text.
        path: &'a str,
    },
}

/// Parses a wxfilename by Kaldi's rules.
///
/// ```
/// use kaldi_io::wxfilename::{Wxfilename, classify};
/// assert_eq!(classify("| gzip -c > a.gz")?, Wxfilename::Pipe { command: " gzip -c > a.gz" });
/// assert!(classify("a.ark:17").is_err());
/// # Ok::<(), kaldi_io::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidWxfilename`] for `command |`, spaces at either end, a `|` in the middle, whole
/// table specifiers and names that would be read as an offset.
#[doc(alias = "ClassifyWxfilename")]
pub fn classify(text: &str) -> Result<Wxfilename<'_>, Error> {
    let invalid = |hint| Err(Error::InvalidWxfilename { name: text.to_owned(), hint });
    if text.is_empty() || text == "-" {
        return Ok(Wxfilename::Stdout);
    }
    if let Some(command) = text.strip_prefix('|') {
        return Ok(Wxfilename::Pipe { command });
    }
    if text.ends_with('|') {
        return invalid("'command |' is an input; to write to a command write '| command'");
    }
    if text.trim_ascii() != text {
        return invalid("it begins or ends with a space");
    }
    if looks_like_specifier(text) {
        return invalid("one file is expected here, not a table: remove 'ark:' or 'scp:'");
    }
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.len() < text.len() && name.ends_with(':') {
        return invalid("it ends like an offset into an archive; take the ':' and the digits away");
    }
    if text.contains('|') {
        return invalid("a command must begin with '|'");
    }
    Ok(Wxfilename::File { path: text })
}

/// An open output, with a buffer that large writes bypass. It counts the bytes.
///
/// [`close`](Output::close) returns errors that [`Drop`] can only log.
pub struct Output {
    name: String,
    position: u64,
    // `None` after a failure, and once closed.
    stream: Option<BufWriter<Sink>>,
    child: Option<Child>,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("name", &self.name).field("position", &self.position).finish_non_exhaustive()
    }
}

enum Sink {
    File(File),
    #[cfg(not(unix))]
    Stdout(io::Stdout),
    Pipe(ChildStdin),
    Writer(Box<dyn Write + Send>),
}

const BUFFER: usize = 1 << 16;

fn buffered(sink: Sink) -> BufWriter<Sink> {
    BufWriter::with_capacity(BUFFER, sink)
}

impl Output {
    /// Creates the output of a wxfilename; an existing file is truncated.
    ///
    /// # Errors
    /// [`Error::InvalidWxfilename`], [`Error::Create`].
    #[doc(alias = "Open")]
    pub fn create(wxfilename: &str) -> Result<Output, Error> {
        let create_error = |source| Error::Create { name: wxfilename.to_owned(), source };
        let mut name = wxfilename;
        let mut child = None;
        let sink = match classify(wxfilename)? {
            Wxfilename::Stdout => {
                name = "standard output";
                Sink::stdout().map_err(create_error)?
            }
            Wxfilename::File { path } => Sink::File(File::create(path).map_err(create_error)?),
            Wxfilename::Pipe { command } => {
                let mut shell =
                    Command::new("sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn().map_err(create_error)?;
                let input = shell.stdin.take().ok_or_else(|| create_error(io::ErrorKind::BrokenPipe.into()))?;
                child = Some(shell);
                Sink::Pipe(input)
            }
        };
        Ok(Output { name: name.to_owned(), position: 0, stream: Some(buffered(sink)), child })
    }

    /// Creates a file; its name is taken literally.
    ///
    /// # Errors
    /// [`Error::Create`].
    pub fn create_path(path: impl AsRef<Path>) -> Result<Output, Error> {
        let name = path.as_ref().display().to_string();
        let file = File::create(path).map_err(|source| Error::Create { name: name.clone(), source })?;
        Ok(Output { name, position: 0, stream: Some(buffered(Sink::File(file))), child: None })
    }

    /// Wraps any writer. The name appears in messages.
    pub fn from_writer(name: impl Into<String>, writer: impl Write + Send + 'static) -> Output {
        let stream = Some(buffered(Sink::Writer(Box::new(writer))));
        Output { name: name.into(), position: 0, stream, child: None }
    }

    /// Returns the file, the command with its `|`, or "standard output".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of bytes written so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Creates an error of writing to this output.
    pub(crate) fn write_error(&self, source: io::Error) -> Error {
        Error::write(&self.name, source)
    }

    /// Writes all of `bytes`, like [`write_all`](Write::write_all).
    ///
    /// # Errors
    /// [`Error::Write`] or [`Error::BrokenPipe`], which name this output.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_all(bytes).map_err(|error| self.write_error(error))
    }

    /// Flushes the buffer and closes the output. Waits for a command, and warns if its exit status
    /// is not 0, as Kaldi does.
    ///
    /// # Errors
    /// [`Error::Write`] or [`Error::BrokenPipe`] if the last bytes cannot be written.
    #[doc(alias = "Close")]
    pub fn close(mut self) -> Result<(), Error> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Error> {
        let flushed = match self.stream.take() {
            Some(mut stream) => {
                let flushed = stream.flush();
                // So that the buffer's own drop does not try again.
                drop(stream.into_parts());
                flushed
            }
            None => Ok(()),
        };
        if let Some(mut child) = self.child.take() {
            match child.wait() {
                Ok(status) if status.success() => {}
                Ok(status) => warn!("the command '{}' ended with {status}", self.name),
                Err(error) => warn!("cannot learn how the command '{}' ended: {error}", self.name),
            }
        }
        flushed.map_err(|source| self.write_error(source))
    }

    fn stream(&mut self) -> io::Result<&mut BufWriter<Sink>> {
        self.stream.as_mut().ok_or_else(|| io::Error::other("an earlier write has failed"))
    }

    /// Drops the rest of the buffer after an error: closing would only meet the same error again.
    fn giving_up<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            drop(self.stream.take().map(BufWriter::into_parts));
        }
        written
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Err(error) = self.finish()
            && !error.is_broken_pipe()
        {
            warn!("{error}");
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream()?.write(bytes);
        let written = self.giving_up(written)?;
        self.position += written as u64;
        Ok(written)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.stream()?.write_all(bytes);
        self.giving_up(written)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream()?.flush();
        self.giving_up(flushed)
    }
}

impl Sink {
    /// Duplicates the descriptor: the standard library's own buffer looks for line ends in every
    /// byte.
    #[cfg(unix)]
    fn stdout() -> io::Result<Sink> {
        use std::os::fd::AsFd;
        Ok(Sink::File(File::from(io::stdout().as_fd().try_clone_to_owned()?)))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "duplicating the descriptor can fail elsewhere")]
    fn stdout() -> io::Result<Sink> {
        Ok(Sink::Stdout(io::stdout()))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Sink::File(file) => file,
            #[cfg(not(unix))]
            Sink::Stdout(stdout) => stdout,
            Sink::Pipe(input) => input,
            Sink::Writer(writer) => writer,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings() {
        let meaning = |text| classify(text).unwrap();
        assert_eq!(meaning(""), Wxfilename::Stdout);
        assert_eq!(meaning("-"), Wxfilename::Stdout);
        assert_eq!(meaning("|a|b"), Wxfilename::Pipe { command: "a|b" });
        for path in ["a", "a.12", "12", "a:", "a:1b"] {
            assert_eq!(meaning(path), Wxfilename::File { path });
        }
    }

    #[test]
    fn slips() {
        for text in ["a|", " a", "a ", "a|b", "ark:a", "scp:a", "ark,scp:a,b", "a:1", "a:b:12", ":1"] {
            assert!(matches!(classify(text), Err(Error::InvalidWxfilename { .. })), "{text:?}");
        }
    }

    #[test]
    fn files_and_commands_receive_everything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").to_str().unwrap().to_owned();
        for wxfilename in [path.clone(), format!("|cat > {path}")] {
            let mut output = Output::create(&wxfilename).unwrap();
            output.write_all(b"small ").unwrap();
            output.write_all(&[b'x'; 2 * BUFFER]).unwrap();
            assert_eq!(output.position(), 6 + 2 * BUFFER as u64);
            output.close().unwrap();
            assert_eq!(std::fs::read(&path).unwrap().len(), 6 + 2 * BUFFER);
        }
        // Only a warning, as in Kaldi.
        Output::create("|exit 3").unwrap().close().unwrap();
    }

    #[test]
    fn errors_name_the_file_and_the_remedy() {
        let error = Output::create("/no/such/folder/a").unwrap_err().to_string();
        assert!(error.contains("'/no/such/folder/a'") && error.contains("folder exists"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_shows_at_the_latest_when_closing() {
        let mut output = Output::create("/dev/full").unwrap();
        output.write_all(b"a").unwrap();
        let error = output.close().unwrap_err().to_string();
        assert!(error.contains("'/dev/full'") && error.contains("free some space"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn after_a_failure_nothing_more_is_written() {
        let mut output = Output::create("/dev/full").unwrap();
        output.write_all(b"a").unwrap();
        assert_eq!(output.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(output.write_all(b"b").unwrap_err().to_string().contains("earlier write"));
    }

    #[test]
    fn a_broken_pipe_has_a_kind_of_its_own() {
        let mut output = Output::create("|exec 0<&-; sleep 0.1").unwrap();
        let written = (0..100).try_for_each(|_| output.write_all(&[0; BUFFER]));
        assert!(output.write_error(written.unwrap_err()).is_broken_pipe());
    }
}
