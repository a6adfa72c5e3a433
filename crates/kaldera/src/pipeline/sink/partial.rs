//! A file that appears complete or not at all.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::Error;

/// Enough for a few utterances per system call.
pub(super) const BUFFER_BYTES: usize = 1 << 18;

/// A file under a temporary name beside its final one; dropped, it is gone, unless it is to be kept.
#[derive(Debug)]
pub(super) struct Partial {
    writer: BufWriter<File>,
    temporary: Temporary,
    path: PathBuf,
}

#[derive(Debug)]
enum Temporary {
    Removed(PartialFile),
    Kept(PathBuf),
}

/// A file that appears complete or not at all: until it is [finished](Self::finish) it has another name in the same folder,
/// with the same ending; dropped before, it is gone.
#[derive(Debug)]
pub struct PartialFile {
    temporary: TempPath,
    path: PathBuf,
}

impl PartialFile {
    /// Makes an empty file that will be `path`, and opens it.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn create(path: impl AsRef<Path>) -> Result<(File, Self), Error> {
        let path = path.as_ref();
        let (file, temporary) = create_beside(path).map_err(|source| write_error(path, source))?.into_parts();
        Ok((file, Self { temporary, path: path.to_owned() }))
    }

    /// The name that it has until it is finished.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its name, and returns that.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn finish(self) -> Result<PathBuf, Error> {
        let Self { temporary, path } = self;
        temporary.persist(&path).map_err(|error| write_error(&path, error.error))?;
        Ok(path)
    }
}

impl Partial {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let (file, temporary) = PartialFile::create(path)?;
        let temporary = Temporary::Removed(temporary);
        Ok(Self { writer: BufWriter::with_capacity(BUFFER_BYTES, file), temporary, path: path.to_owned() })
    }

    /// A file that stays when it is not finished, as `part`; also what an earlier run has left in it, to be read first.
    /// Only one process at a time has it.
    pub(super) fn kept(path: &Path, part: PathBuf) -> Result<(Self, File), Error> {
        let open = || {
            let file = OpenOptions::new().read(true).append(true).create(true).open(&part)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another run is writing it"));
                }
                // Some network file systems have no locks.
                Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
                _ => {}
            }
            Ok((file.try_clone()?, file))
        };
        let (file, to_read) = open().map_err(|source| write_error(path, source))?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok((Self { writer, temporary: Temporary::Kept(part), path: path.to_owned() }, to_read))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends all of `file`, by the kernel alone where it can.
    pub(super) fn append(&mut self, file: &mut File) -> io::Result<()> {
        file.rewind()?;
        io::copy(file, &mut self.writer)?;
        Ok(())
    }

    /// Names the file in an error of writing to it.
    pub(super) fn error(&self, source: io::Error) -> Error {
        write_error(&self.path, source)
    }

    /// Ends it without a trace.
    pub(super) fn remove(self) -> Result<(), Error> {
        match self.temporary {
            Temporary::Removed(_) => Ok(()),
            Temporary::Kept(part) => fs::remove_file(part).map_err(|source| write_error(&self.path, source)),
        }
    }

    /// Gives the file its name.
    pub(super) fn finish(mut self) -> Result<PathBuf, Error> {
        self.flush().map_err(|source| self.error(source))?;
        let Self { temporary, path, .. } = self;
        match temporary {
            Temporary::Removed(temporary) => temporary.finish(),
            Temporary::Kept(part) => {
                fs::rename(part, &path).map(|()| path.clone()).map_err(|source| write_error(&path, source))
            }
        }
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Seek for Partial {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer.seek(to)
    }
}

pub(super) fn write_error(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source: without_name(source) }
}

/// The cause alone, without the temporary name that `tempfile` adds: whoever reads it knows only the final one.
fn without_name(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((cause, _)) if error.raw_os_error().is_none() => io::Error::new(error.kind(), cause),
        _ => error,
    }
}

/// An empty file in the folder of `path`, with the permissions of any new file.
fn create_beside(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut builder = tempfile::Builder::new();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    builder.prefix(".kaldera-").suffix(&ending);
    if let Some(permissions) = new_file_permissions() {
        builder.permissions(permissions);
    }
    builder.tempfile_in(folder_of(path))
}

/// The folder that `path` lies in.
pub(in crate::pipeline) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Temporary files are private by default; these are not meant to be, beyond what the process's mask takes away.
#[cfg(unix)]
fn new_file_permissions() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn new_file_permissions() -> Option<Permissions> {
    None
}
