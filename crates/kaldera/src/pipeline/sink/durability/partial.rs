//! Files that appear complete or not at all, also after a power cut.
//!
//! A file is written under a temporary name in the folder where it will be, and renamed when it
//! is complete. The temporary name is unpredictable and belongs to a file that did not exist
//! before, so that no link that somebody has put there is followed. While it is written it is
//! locked (`flock`): a file without a lock is left from a process that was killed, and the next
//! one that writes the same output removes it.
//!
//! Several files that belong together, an archive and its index, appear in this order; the folder
//! is synced after each renaming:
//!
//! | step | after a cut here |
//! |---|---|
//! | the data of all are synced | the old files |
//! | old index and record are set aside | the old archive, without index |
//! | the archive is renamed | the new archive, without index |
//! | the index is renamed | the new files |
//!
//! So an archive never exists together with an index of another archive. An archive without its
//! index is not taken for a complete output by `--resume`, and any other run replaces it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

use crate::Error;
use crate::pipeline::sink::durability::names::{create_temporary, find_or_create, folder_of, remove_dead};
use crate::pipeline::sink::durability::run_id::RunId;

/// Enough for a few utterances per system call.
pub(in crate::pipeline::sink) const BUFFER_BYTES: usize = 1 << 18;

/// A file that appears complete or not at all. Until it is [finished](Self::finish) it has
/// another name in the same folder, with the same extension. If it is dropped before, it is
/// removed. A file left by a killed process is removed when the next one begins to write the same
/// file. Writing is buffered.
#[derive(Debug)]
pub struct PartialFile {
    /// Has the lock.
    writer: BufWriter<File>,
    name: TempPath,
    path: PathBuf,
    /// It stays when it is not finished, unless it is empty.
    is_kept: bool,
    /// A write has failed. The file will not be finished, and closing it need not fail again.
    has_failed: bool,
}

impl PartialFile {
    /// Makes an empty file that will be `path`, and opens it.
    ///
    /// # Errors
    /// [`Error::Write`], also if there is something at `path` that is not a regular file.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let created = refuse_others_than_files(path).and_then(|()| {
            remove_dead(path);
            create_temporary(path)
        });
        let created = Self::new(path, created, false)?;
        let mut live = live();
        if live.ended {
            drop(live);
            return Err(Error::Stopped);
        }
        live.names.insert(created.name.to_path_buf());
        Ok(created)
    }

    /// A file that stays when it is not finished, with the data of an earlier run of the same
    /// `run`, which [`file`](Self::file) reads. Only one process at a time has it.
    pub(in crate::pipeline::sink) fn kept(path: &Path, run: RunId) -> Result<Self, Error> {
        Self::new(path, refuse_others_than_files(path).and_then(|()| find_or_create(path, run)), true)
    }

    fn new(path: &Path, opened: io::Result<(File, TempPath)>, is_kept: bool) -> Result<Self, Error> {
        let (file, name) = opened.map_err(|source| write_error(path, source))?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { writer, name, path: path.to_owned(), is_kept, has_failed: false })
    }

    /// The name that it has until it is finished.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.name
    }

    /// Syncs the file to its disk, gives it its name, and returns that.
    ///
    /// # Errors
    /// [`Error::Write`]; [`Error::Stopped`] after [`remove_all`](Self::remove_all).
    pub fn finish(self) -> Result<PathBuf, Error> {
        let path = self.path.clone();
        publish(vec![self], None)?;
        Ok(path)
    }

    /// Removes the unfinished files of this process, for a program that is about to exit without
    /// dropping them. None can be created or finished after it; one that is being given its name
    /// has it when this returns.
    pub fn remove_all() {
        let mut live = live();
        live.ended = true;
        for name in std::mem::take(&mut live.names) {
            let _ = fs::remove_file(name);
        }
    }

    /// The name that it will have.
    pub(in crate::pipeline::sink) fn output(&self) -> &Path {
        &self.path
    }

    /// The file without the buffer.
    pub(in crate::pipeline::sink) fn file(&self) -> &File {
        self.writer.get_ref()
    }

    /// Writes out the buffer of a file that stays after a kill.
    pub(in crate::pipeline::sink) fn flush_kept(&mut self) -> io::Result<()> {
        if self.is_kept { self.flush() } else { Ok(()) }
    }

    /// Appends all of `file`, within the kernel if possible.
    pub(in crate::pipeline::sink) fn append(&mut self, file: &mut File) -> io::Result<()> {
        file.rewind()?;
        io::copy(file, &mut self.writer)?;
        Ok(())
    }

    /// Names the file in an error of writing to it.
    pub(in crate::pipeline::sink) fn error(&self, source: io::Error) -> Error {
        write_error(&self.path, source)
    }

    /// Removes a file that would be kept.
    pub(in crate::pipeline::sink) fn remove(mut self) {
        self.name.disable_cleanup(false);
    }

    /// Brings all data to the disk.
    fn sync(&mut self) -> Result<(), Error> {
        if self.has_failed {
            return Err(self.error(io::Error::other("an earlier write failed")));
        }
        let synced = self.flush().and_then(|()| not_supported_is_fine(self.file().sync_all()));
        synced.map_err(|source| self.error(source))
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_failed {
            self.has_failed = true;
            self.writer.write_all(bytes)?;
            self.has_failed = false;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Seek for PartialFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer.seek(to)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        live().names.remove(&*self.name);
        if self.is_kept && !self.has_failed {
            // The length of the file decides. An error leaves it as it is.
            let _ = self.writer.flush();
        }
        if self.is_kept && self.file().metadata().is_ok_and(|metadata| metadata.len() == 0) {
            self.name.disable_cleanup(false);
        }
    }
}

/// The temporary files of this process.
struct Live {
    names: BTreeSet<PathBuf>,
    /// The process is about to exit.
    ended: bool,
}

fn live() -> MutexGuard<'static, Live> {
    static LIVE: Mutex<Live> = Mutex::new(Live { names: BTreeSet::new(), ended: false });
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives files in one folder, to which all has been written, their names, in the order that the
/// module's documentation shows. `record` describes all of them: if it exists, it is taken away.
///
/// When a step fails, those before it are undone, as far as the old first file is not yet replaced.
pub(in crate::pipeline::sink) fn publish(mut files: Vec<PartialFile>, record: Option<&Path>) -> Result<(), Error> {
    let Some(path) = files.first().map(|file| file.path.clone()) else { return Ok(()) };
    files.iter_mut().try_for_each(PartialFile::sync)?;
    let (renames, _aside) = renames(&files, record).map_err(|source| write_error(&path, source))?;
    let mut live = live();
    let outcome =
        if live.ended { Err(Error::Stopped) } else { rename(&renames).map_err(|source| write_error(&path, source)) };
    if outcome.is_ok() {
        for file in &mut files {
            // Its name is another file's from here on.
            live.names.remove(&*file.name);
            file.is_kept = false;
            file.name.disable_cleanup(true);
        }
    }
    drop(live);
    outcome
}

/// Renames from one path to another, and the names that old files are set aside under, which are
/// removed when dropped.
type Renames = (Vec<(PathBuf, PathBuf)>, Vec<TempPath>);

/// Returns the renames of [`publish`].
fn renames(files: &[PartialFile], record: Option<&Path>) -> io::Result<Renames> {
    let (mut renames, mut aside) = (Vec::new(), Vec::new());
    // Removes the remains of a process that was killed at this point; for the files themselves
    // this has been done.
    record.into_iter().for_each(remove_dead);
    let describing = files.iter().skip(1).map(|file| file.path.as_path()).chain(record);
    for old in describing.filter(|old| old.symlink_metadata().is_ok()) {
        let (_, name) = create_temporary(old)?;
        renames.push((old.to_owned(), name.to_path_buf()));
        aside.push(name);
    }
    renames.extend(files.iter().map(|file| (file.name.to_path_buf(), file.path.clone())));
    Ok((renames, aside))
}

/// Renames files in this order, each on the disk before the next one. When one fails, those before
/// it are undone.
fn rename(renames: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    for (i, (from, to)) in renames.iter().enumerate() {
        let renamed = fs::rename(from, to);
        let num_done = i + usize::from(renamed.is_ok());
        if let Err(error) = renamed.and_then(|()| sync_folder(folder_of(to))) {
            for (from, to) in renames[..num_done].iter().rev() {
                // The first error is the one to report.
                let _ = fs::rename(to, from);
            }
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Ok(folder) => not_supported_is_fine(folder.sync_all()),
        // A folder may be open to writing and not to reading.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "folders cannot be opened here")]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Some file systems have nothing to sync.
fn not_supported_is_fine(synced: io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

pub(in crate::pipeline::sink) fn write_error(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source: without_name(source) }
}

/// Keeps only the cause, without the temporary name that `tempfile` adds: users know only the
/// final one.
fn without_name(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((cause, _)) if error.raw_os_error().is_none() => io::Error::new(error.kind(), cause),
        _ => error,
    }
}

/// A rename would replace a folder's name, a device or a FIFO.
fn refuse_others_than_files(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is a device or a FIFO")),
        Ok(metadata) if metadata.permissions().readonly() => {
            Err(io::Error::other("it is read-only: make it writable, or choose another name"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::pipeline::sink::durability::names::{machine_start, temporary_affixes};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn new_file(path: &Path, text: &str) -> PartialFile {
        let mut file = PartialFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.flush().unwrap();
        file
    }

    /// Leaves the same files as a process that is killed.
    fn kill(mut partial: PartialFile) {
        partial.name.disable_cleanup(true);
    }

    #[test]
    fn no_cut_leaves_a_new_archive_beside_an_old_index() {
        for stop in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let (ark, scp, record) = (at("x.ark"), at("x.scp"), at("x.ark.resume"));
            for path in [&ark, &scp, &record] {
                fs::write(path, "old").unwrap();
            }
            let files = vec![new_file(&ark, "new"), new_file(&scp, "new")];
            let (renames, aside) = renames(&files, Some(&record)).unwrap();
            if stop > renames.len() {
                assert!(stop > 4);
                break;
            }
            rename(&renames[..stop]).unwrap();
            for mut name in aside {
                name.disable_cleanup(true);
            }
            files.into_iter().for_each(kill);

            let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
            assert!(["old", "new"].contains(&text(&ark).as_str()), "{stop}");
            for describing in [&scp, &record] {
                assert!(["", &text(&ark)].contains(&text(describing).as_str()), "{stop} {describing:?}");
            }
            // The next run completes it, and removes the remains.
            publish(vec![new_file(&ark, "third"), new_file(&scp, "third")], Some(&record)).unwrap();
            assert_eq!((text(&ark), text(&scp)), ("third".to_owned(), "third".to_owned()), "{stop}");
            assert_eq!(names(folder.path()), ["x.ark", "x.scp"], "{stop}");
        }
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_files() {
        let folder = tempfile::tempdir().unwrap();
        let (ark, scp) = (folder.path().join("x.ark"), folder.path().join("x.scp"));
        fs::write(&scp, "old").unwrap();
        let files = vec![new_file(&ark, "new"), new_file(&scp, "new")];
        fs::create_dir_all(ark.join("in the way")).unwrap();
        assert!(matches!(publish(files, None), Err(Error::Write { path, .. }) if path == ark));
        assert_eq!(fs::read_to_string(&scp).unwrap(), "old");
        assert_eq!(names(folder.path()), ["x.ark", "x.scp"]);
    }

    #[test]
    fn the_next_process_removes_what_a_dead_one_has_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ark");
        kill(new_file(&path, "dead"));
        let (living, other) = (new_file(&path, "living"), new_file(&folder.path().join("y.ark"), "of another output"));
        let (living_name, other_name) = (living.path().to_owned(), other.path().to_owned());
        kill(other);
        let third = new_file(&path, "third");
        assert!(living_name.exists() && other_name.exists());
        assert_eq!(names(folder.path()).len(), 3);
        living.finish().unwrap();
        third.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "third");
        assert_eq!(names(folder.path()).len(), 2);
    }

    #[test]
    #[cfg(unix)]
    fn links_at_temporary_names_are_not_followed() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("x.ark"), folder.path().join("victim"));
        fs::write(&victim, "mine").unwrap();
        let (prefix, suffix) = temporary_affixes(&path);
        let planted: OsString = [&*prefix, OsStr::new("AAAAAA"), &*suffix].into_iter().collect();
        symlink(&victim, folder.path().join(&planted)).unwrap();
        let run = RunId::from_number(7);
        for (link, name) in [(true, "a"), (false, "b")] {
            let part = folder.path().join(format!("x.ark.{run}.{name}.part"));
            if link { symlink(&victim, part).unwrap() } else { fs::hard_link(&victim, part).unwrap() }
        }
        let mut kept = PartialFile::kept(&path, run).unwrap();
        kept.write_all(b"new").unwrap();
        kept.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert!(folder.path().join(planted).is_symlink());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_power_cut_may_have_left_without_data_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, run) = (folder.path().join("x.ark"), RunId::from_number(7));
        for (age, length) in [(Duration::ZERO, 3), (Duration::from_secs(1), 0)] {
            let part = folder.path().join(format!("x.ark.{run}.a.part"));
            fs::write(&part, "old").unwrap();
            let written = if age.is_zero() { SystemTime::now() } else { machine_start().unwrap() - age };
            File::options().append(true).open(&part).unwrap().set_modified(written).unwrap();
            let kept = PartialFile::kept(&path, run).unwrap();
            assert_eq!(kept.file().metadata().unwrap().len(), length);
            kept.remove();
            assert_eq!(names(folder.path()).len(), 0);
        }
    }

    #[test]
    #[cfg(unix)]
    fn devices_are_not_replaced() {
        for path in ["/dev/null", "/dev"] {
            assert!(matches!(PartialFile::create(path), Err(Error::Write { .. })), "{path}");
        }
    }
}
