//! Rxfilenames: a file, an offset in a file, the standard input or a command.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Stdin};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::warn;

use crate::error::Error;
use crate::specifier::looks_like_specifier;

/// Parsed rxfilename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rxfilename<'a> {
    /// `-` or an empty text.
    Stdin,
    /// `command |`
    Pipe {
        /// Command for `sh -c`.
        command: &'a str,
    },
    /// `file:123`
    Offset {
        /// The part before the last colon.
        path: &'a str,
        /// Bytes from the start of the file.
        offset: u64,
    },
    /// Anything else that is not an error.
    File {
        /// The whole text.
        path: &'a str,
    },
}

/// Parses an rxfilename by Kaldi's rules.
///
/// ```
/// use kaldi_io::rxfilename::{Rxfilename, classify};
/// assert_eq!(classify("-")?, Rxfilename::Stdin);
/// assert_eq!(classify("gunzip -c a.gz |")?, Rxfilename::Pipe { command: "gunzip -c a.gz " });
/// assert_eq!(classify("a.ark:17")?, Rxfilename::Offset { path: "a.ark", offset: 17 });
/// assert!(classify("ark:a.ark").is_err());
/// # Ok::<(), kaldi_io::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidRxfilename`] for `| command`, spaces at either end, a `|` in the middle, whole
/// table specifiers and offsets beyond 64 bits.
#[doc(alias = "ClassifyRxfilename")]
pub fn classify(text: &str) -> Result<Rxfilename<'_>, Error> {
    let invalid = |hint| Err(Error::InvalidRxfilename { name: text.to_owned(), hint });
    if text.is_empty() || text == "-" {
        return Ok(Rxfilename::Stdin);
    }
    if text.starts_with('|') {
        return invalid("'| command' is an output; to read from a command write 'command |'");
    }
    if let Some(command) = text.strip_suffix('|') {
        return Ok(Rxfilename::Pipe { command });
    }
    if text.trim_ascii() != text {
        return invalid("it begins or ends with a space");
    }
    if looks_like_specifier(text) {
        return invalid("one file is expected here, not a table: remove 'ark:' or 'scp:'");
    }
    if let Some((path, digits)) = text.rsplit_once(':')
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        return match digits.parse() {
            Ok(offset) => Ok(Rxfilename::Offset { path, offset }),
            Err(_) => invalid("the offset after the colon is too large"),
        };
    }
    if text.contains('|') {
        return invalid("a command must end with '|'");
    }
    Ok(Rxfilename::File { path: text })
}

/// Input that can skip bytes.
pub trait Skip: BufRead {
    /// Skips `count` bytes, or to the end if it comes first; returns the number of bytes skipped.
    ///
    /// # Errors
    /// The errors of reading.
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        io::copy(&mut Read::take(&mut *self, count), &mut io::sink())
    }
}

impl Skip for &[u8] {
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let count = usize::try_from(count).map_or(self.len(), |count| count.min(self.len()));
        *self = &self[count..];
        Ok(count as u64)
    }
}

/// An open input. It counts the bytes, so that messages can give the offset.
pub struct Input {
    name: String,
    position: u64,
    stream: Stream,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).field("position", &self.position).finish_non_exhaustive()
    }
}

enum Stream {
    File(BufReader<File>),
    Stdin(BufReader<Stdin>),
    // In this order: the output closes before the wait for the command.
    Pipe { output: BufReader<ChildStdout>, shell: Shell },
    Reader(Box<dyn BufRead + Send>),
}

/// Large objects bypass the buffer; it serves keys, headers and text.
const BUFFER: usize = 1 << 14;

impl Input {
    /// Opens an rxfilename; `file:123` starts at byte 123.
    ///
    /// # Errors
    /// [`Error::InvalidRxfilename`], [`Error::Open`], [`Error::Read`] if the offset cannot be
    /// reached.
    #[doc(alias = "Open")]
    pub fn open(rxfilename: &str) -> Result<Input, Error> {
        let mut position = 0;
        let stream = match classify(rxfilename)? {
            Rxfilename::Stdin => Stream::Stdin(BufReader::with_capacity(BUFFER, io::stdin())),
            Rxfilename::Pipe { command } => Stream::pipe(command, rxfilename)?,
            Rxfilename::File { path } => Stream::file(path.as_ref(), rxfilename)?,
            Rxfilename::Offset { path, offset } => {
                let mut stream = Stream::file(path.as_ref(), rxfilename)?;
                if let Stream::File(file) = &mut stream {
                    file.seek(SeekFrom::Start(offset))
                        .map_err(|source| Error::Read { name: rxfilename.to_owned(), source })?;
                }
                position = offset;
                stream
            }
        };
        let name = match classify(rxfilename)? {
            Rxfilename::Stdin => "standard input",
            Rxfilename::Offset { path, .. } => path,
            _ => rxfilename,
        };
        Ok(Input { name: name.to_owned(), position, stream })
    }

    /// Opens a file; its name is taken literally.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn open_path(path: impl AsRef<Path>) -> Result<Input, Error> {
        let name = path.as_ref().display().to_string();
        Ok(Input { stream: Stream::file(path.as_ref(), &name)?, name, position: 0 })
    }

    /// Wraps any reader, such as a decoder of a compressed file. The name appears in messages.
    pub fn from_reader(name: impl Into<String>, reader: impl BufRead + Send + 'static) -> Input {
        Input { name: name.into(), position: 0, stream: Stream::Reader(Box::new(reader)) }
    }

    /// Returns the file without its offset, the command with its `|`, or "standard input".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of bytes from the start of the file, or read so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns `true` if this is the regular file `path`.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        matches!(self.stream, Stream::File(_)) && self.name == path
    }

    /// Seeks to another offset of the same file, within the buffer if it is near. No effect on
    /// other inputs.
    pub(crate) fn seek(&mut self, offset: u64) -> Result<(), Error> {
        if let Stream::File(file) = &mut self.stream {
            let moved = match i64::try_from(i128::from(offset) - i128::from(self.position)) {
                Ok(distance) => file.seek_relative(distance),
                Err(_) => file.seek(SeekFrom::Start(offset)).map(|_| ()),
            };
            moved.map_err(|source| Error::Read { name: self.name.clone(), source })?;
            self.position = offset;
        }
        Ok(())
    }

    /// Creates an error of reading this input.
    pub(crate) fn read_error(&self, source: io::Error) -> Error {
        Error::Read { name: self.name.clone(), source }
    }

    /// Closes the input. For a command this waits, and warns if its exit status is not 0, as Kaldi
    /// does.
    ///
    /// A command that is still writing is cut off, which may be the reason for its failure: only a
    /// reader that came to the end should take [`InputStatus::Failed`] as an error.
    #[doc(alias = "Close")]
    pub fn close(self) -> InputStatus {
        match self.stream {
            Stream::File(_) | Stream::Stdin(_) | Stream::Reader(_) => InputStatus::Success,
            Stream::Pipe { output, mut shell } => {
                drop(output);
                shell.wait()
            }
        }
    }

    /// Closes the input after everything needed was read. The output of a command is invalid if the
    /// command failed.
    ///
    /// The rest of the command's output is read, so that it ends by itself. After 64 MiB it is cut
    /// off, and its exit status is then no error.
    ///
    /// ```
    /// use std::io::Read;
    /// use kaldi_io::rxfilename::Input;
    ///
    /// let mut input = Input::open("echo some; echo more; exit 3 |")?;
    /// input.read_exact(&mut [0; 4])?;
    /// assert!(input.finish().unwrap_err().to_string().contains("exit status: 3"));
    /// # Ok::<(), kaldi_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Command`] for a command that failed, [`Error::Read`] if its output cannot be read.
    /// Never for other inputs.
    pub fn finish(mut self) -> Result<(), Error> {
        const MOST: u64 = 1 << 26;
        if !matches!(self.stream, Stream::Pipe { .. }) {
            return Ok(());
        }
        let rest = io::copy(&mut Read::take(&mut self, MOST), &mut io::sink());
        let rest = rest.map_err(|source| self.read_error(source))?;
        let Stream::Pipe { output, mut shell } = self.stream else { return Ok(()) };
        drop(output);
        match shell.status() {
            Some(Ok(status)) if !status.success() && rest < MOST => {
                Err(Error::Command { command: shell.command.clone(), status })
            }
            _ => Ok(()),
        }
    }
}

/// Exit status of an [`Input`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputStatus {
    /// A file, or a command with exit status 0.
    Success,
    /// A command with another exit status, or ended by a signal.
    Failed {
        /// The command.
        command: String,
        /// Its exit status.
        status: ExitStatus,
    },
}

impl Stream {
    fn file(path: &Path, name: &str) -> Result<Stream, Error> {
        let open_error = |source| Error::Open { name: name.to_owned(), source };
        let file = File::open(path).map_err(open_error)?;
        // Opening a folder succeeds and only reading fails. Fail now, as tools report errors of
        // opening.
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(open_error(io::ErrorKind::IsADirectory.into()));
        }
        Ok(Stream::File(BufReader::with_capacity(BUFFER, file)))
    }

    fn pipe(command: &str, name: &str) -> Result<Stream, Error> {
        let open_error = |source| Error::Open { name: name.to_owned(), source };
        let mut child = Command::new("sh").arg("-c").arg(command).stdout(Stdio::piped()).spawn().map_err(open_error)?;
        let output = child.stdout.take().ok_or_else(|| open_error(io::ErrorKind::BrokenPipe.into()))?;
        running().insert(child.id());
        let shell = Shell { command: command.trim_ascii().to_owned(), child: Some(child) };
        Ok(Stream::Pipe { output: BufReader::with_capacity(BUFFER, output), shell })
    }

    fn reader(&mut self) -> &mut dyn BufRead {
        match self {
            Stream::File(file) => file,
            Stream::Stdin(stdin) => stdin,
            Stream::Pipe { output, .. } => output,
            Stream::Reader(reader) => reader,
        }
    }
}

/// Returns the process ids of the running commands that are read from.
fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends SIGTERM to the commands that are read from, for a program that is about to exit on
/// request. Programs of a pipeline (`a | b |`) end at their next write.
pub fn end_commands() {
    let running: Vec<String> = running().iter().map(u32::to_string).collect();
    if !running.is_empty() {
        // The shell that ran them has `kill`. A command may have ended in the meantime.
        let _ = Command::new("sh").arg("-c").arg(format!("kill {}", running.join(" "))).stderr(Stdio::null()).status();
    }
}

/// A command whose exit is waited for.
#[derive(Debug)]
struct Shell {
    command: String,
    // `None` after the wait.
    child: Option<Child>,
}

impl Shell {
    /// Waits for the command; `None` after the first call.
    fn status(&mut self) -> Option<io::Result<ExitStatus>> {
        self.child.take().map(|mut child| {
            let status = child.wait();
            running().remove(&child.id());
            status
        })
    }

    fn wait(&mut self) -> InputStatus {
        let status = self.status();
        let command = &self.command;
        match status {
            Some(Ok(status)) if !status.success() => {
                warn!("the command '{command}' ended with {status}");
                InputStatus::Failed { command: command.clone(), status }
            }
            Some(Err(error)) => {
                warn!("cannot learn how the command '{command}' ended: {error}");
                InputStatus::Success
            }
            _ => InputStatus::Success,
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.wait();
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.reader().read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.stream.reader().fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.position += amount as u64;
        self.stream.reader().consume(amount);
    }
}

impl Skip for Input {
    /// Seeks in a file, without reading the bytes in between.
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        if let Stream::File(file) = &mut self.stream
            && count > file.buffer().len() as u64
            && let Ok(distance) = i64::try_from(count)
        {
            let metadata = file.get_ref().metadata()?;
            // A file that ends earlier is read to its end, so that the count is right.
            if metadata.is_file() && self.position.checked_add(count).is_some_and(|end| end <= metadata.len()) {
                file.seek_relative(distance)?;
                self.position += count;
                return Ok(count);
            }
        }
        io::copy(&mut Read::take(self, count), &mut io::sink())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings() {
        let meaning = |text| classify(text).unwrap();
        assert_eq!(meaning(""), Rxfilename::Stdin);
        assert_eq!(meaning("-"), Rxfilename::Stdin);
        assert_eq!(meaning("a b|c |"), Rxfilename::Pipe { command: "a b|c " });
        assert_eq!(meaning("a:b:12"), Rxfilename::Offset { path: "a:b", offset: 12 });
        for path in ["a", "a.12", "12", "a:", "a:1b", "art:a", "sky scp"] {
            assert_eq!(meaning(path), Rxfilename::File { path });
        }
    }

    #[test]
    fn slips() {
        for text in
            ["|a", " a", "a ", "a\n", "a|b", "ark:a", "scp,p:a", "ark,t:a", "ark,scp:a,b", "a:99999999999999999999"]
        {
            assert!(matches!(classify(text), Err(Error::InvalidRxfilename { .. })), "{text:?}");
        }
    }

    fn read(rxfilename: &str) -> (String, InputStatus) {
        let mut input = Input::open(rxfilename).unwrap();
        let mut text = String::new();
        input.read_to_string(&mut text).unwrap();
        (text, input.close())
    }

    #[test]
    fn files_offsets_and_seeking() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        std::fs::write(path, "0123456789").unwrap();
        assert_eq!(read(path), ("0123456789".to_owned(), InputStatus::Success));
        assert_eq!(read(&format!("{path}:7")).0, "789");
        let mut input = Input::open(&format!("{path}:3")).unwrap();
        let mut two = [0; 2];
        for (offset, expected) in [(3, b"34"), (8, b"89"), (0, b"01"), (2, b"23")] {
            input.seek(offset).unwrap();
            input.read_exact(&mut two).unwrap();
            assert_eq!((&two, input.position()), (expected, offset + 2));
        }
        input.seek(1 << 40).unwrap();
        assert_eq!(input.read(&mut two).unwrap(), 0);
        input.seek(9).unwrap();
        assert_eq!(input.read(&mut two).unwrap(), 1);
    }

    #[test]
    fn skipping() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..=255).cycle().take(5 * BUFFER).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        let path = file.path().to_str().unwrap();
        let from_file = || Input::open_path(path).unwrap();
        let from_reader = || Input::from_reader("memory", io::Cursor::new(bytes.clone()));
        let from_command = || Input::open(&format!("cat {path} |")).unwrap();
        for mut input in [from_file(), from_reader(), from_command()] {
            let mut byte = [0];
            let mut place = 0;
            for count in [0, 1, 10, BUFFER + 3, 2 * BUFFER, 5] {
                assert_eq!(input.skip(count as u64).unwrap(), count as u64);
                input.read_exact(&mut byte).unwrap();
                place += count + 1;
                assert_eq!((byte[0], input.position()), (bytes[place - 1], place as u64), "{input:?}");
            }
            assert_eq!(input.skip(u64::MAX).unwrap(), (bytes.len() - place) as u64);
            assert_eq!((input.skip(1).unwrap(), input.read(&mut byte).unwrap()), (0, 0));
        }
    }

    #[test]
    fn commands_and_their_status() {
        assert_eq!(read("echo a; echo b |"), ("a\nb\n".to_owned(), InputStatus::Success));
        let (text, status) = read("echo a; exit 3 |");
        assert_eq!(text, "a\n");
        assert!(
            matches!(status, InputStatus::Failed { command, status } if command == "echo a; exit 3" && status.code() == Some(3))
        );
        for (command, fails) in
            [("echo a; exit 3 |", true), ("seq 100000; exit 3 |", true), ("seq 100000 |", false), ("yes |", false)]
        {
            let mut input = Input::open(command).unwrap();
            input.read_exact(&mut [0; 2]).unwrap();
            assert_eq!(input.finish().is_err(), fails, "{command}");
        }
        // A command that is still writing is cut off, not waited for.
        let mut input = Input::open("yes |").unwrap();
        input.read_exact(&mut [0; 100]).unwrap();
        assert!(matches!(input.close(), InputStatus::Failed { .. }));
    }

    #[test]
    fn errors_name_the_file_and_the_remedy() {
        let message = |name| Input::open(name).unwrap_err().to_string();
        let missing = message("/no/such/file:12");
        assert!(missing.contains("'/no/such/file:12'") && missing.contains("check the path"), "{missing}");
        assert!(message("/").contains("name a file in it"));
    }
}
