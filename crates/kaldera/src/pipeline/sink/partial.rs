//! Files that appear complete or not at all, also after a power cut.
//!
//! A file is written under a temporary name in the folder where it will be, and renamed when it
//! is complete. The temporary name is unpredictable and belongs to a file that did not exist
//! before, so that no link that somebody has put there is followed. While it is written it is
//! locked (`flock`): a file without a lock is left from a process that was killed, and the next
//! one that writes the same output removes it.
//!
//! Several files that belong together, an archive and its index, appear in this order:
//!
//! | step | after a cut here |
//! |---|---|
//! | the data of all are synced | the old files |
//! | old index and record are set aside, the folder is synced | the old archive, without index |
//! | the archive is renamed, the folder is synced | the new archive, without index |
//! | the index is renamed, the folder is synced | the new files |
//!
//! So an archive never exists together with an index of another archive. An archive without its
//! index is not taken for a complete output by `--resume`, and any other run replaces it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempPath;

use crate::Error;
use crate::pipeline::sink::hash::Hash;
use crate::pipeline::sink::renames::{Step, not_supported_is_fine, run};
use crate::pipeline::sink::resume::RunId;

/// Enough for a few utterances per system call.
pub(super) const BUFFER_BYTES: usize = 1 << 18;

/// Number of bytes written between two syncs, which run in parallel to the work, so that little
/// is left to be synced in the end.
const SYNC_BYTES: usize = 16 << 20;

/// The number of attempts at a new name while other processes take it for one of a dead process.
const MAX_TRIES: usize = 16;

/// A file that appears complete or not at all. Until it is [finished](Self::finish) it has
/// another name in the same folder, with the same extension. If it is dropped before, it is
/// removed. A file left by a killed process is removed when the next one begins to write the same
/// file.
#[derive(Debug)]
pub struct PartialFile {
    temporary: Temporary,
    path: PathBuf,
    /// Has the lock.
    file: File,
}

impl PartialFile {
    /// Makes an empty file that will be `path`, and opens it.
    ///
    /// # Errors
    /// [`Error::Write`], also if there is something at `path` that is not a regular file.
    pub fn create(path: impl AsRef<Path>) -> Result<(File, Self), Error> {
        let path = path.as_ref();
        let create = || {
            refuse_others_than_files(path)?;
            remove_dead(path);
            let (prefix, suffix) = temporary_affixes(path);
            let (file, name) = create_locked(path, &prefix, &suffix, OpenOptions::new().read(true).write(true))?;
            Ok((file.try_clone()?, file, name))
        };
        let (file, locked, name) = create().map_err(|source| write_error(path, source))?;
        Ok((file, Self { temporary: Temporary::new(name)?, path: path.to_owned(), file: locked }))
    }

    /// The name that it has until it is finished.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.temporary.name
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

/// A file to be kept is removed if it is empty.
impl Drop for PartialFile {
    fn drop(&mut self) {
        if self.temporary.is_kept && self.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            self.temporary.name.disable_cleanup(false);
        }
    }
}

/// A temporary name. If it is dropped, the file is removed, unless it is to be kept.
#[derive(Debug)]
struct Temporary {
    name: TempPath,
    is_kept: bool,
}

impl Temporary {
    fn new(name: TempPath) -> Result<Self, Error> {
        let mut live = live();
        if live.ended {
            return Err(Error::Stopped);
        }
        live.names.insert(name.to_path_buf());
        Ok(Self { name, is_kept: false })
    }

    /// A file that stays.
    fn kept(mut name: TempPath) -> Self {
        name.disable_cleanup(true);
        Self { name, is_kept: true }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        live().names.remove(&*self.name);
    }
}

/// A buffered [`PartialFile`], or one that stays if it is not finished.
#[derive(Debug)]
pub(super) struct Partial {
    writer: BufWriter<File>,
    partial: PartialFile,
    is_kept: bool,
    /// A write has failed. The file will not be finished, and closing it need not fail again.
    has_failed: bool,
    /// Bytes written since the last sync was started.
    not_synced: usize,
    sync: Option<JoinHandle<()>>,
}

impl Partial {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let (file, partial) = PartialFile::create(path)?;
        Ok(Self::new(file, partial, false))
    }

    /// A file that stays when it is not finished, and a second handle to it, from which the data of
    /// an earlier run of the same `run` are to be read first. Only one process at a time has it.
    pub(super) fn kept(path: &Path, run: RunId) -> Result<(Self, File), Error> {
        let open = || {
            refuse_others_than_files(path)?;
            let (name, file) = find_or_create(path, run)?;
            Ok((name, file.try_clone()?, file.try_clone()?, file))
        };
        let (name, writer, to_read, file) = open().map_err(|source| write_error(path, source))?;
        let partial = PartialFile { temporary: Temporary::kept(name), path: path.to_owned(), file };
        Ok((Self::new(writer, partial, true), to_read))
    }

    fn new(file: File, partial: PartialFile, is_kept: bool) -> Self {
        let writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        Self { writer, partial, is_kept, has_failed: false, not_synced: 0, sync: None }
    }

    /// Starts a sync now and then. One that fails, or that no thread can be started for, is left to
    /// the last one.
    fn sync_beside(&mut self, bytes: usize) {
        self.not_synced += bytes;
        if self.not_synced < SYNC_BYTES || self.sync.as_ref().is_some_and(|sync| !sync.is_finished()) {
            return;
        }
        self.not_synced = 0;
        if let Ok(file) = self.partial.file.try_clone() {
            self.sync = thread::Builder::new().spawn(move || drop(file.sync_data())).ok();
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.partial.path
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Appends all of `file`, within the kernel if possible.
    pub(super) fn append(&mut self, file: &mut File) -> io::Result<()> {
        file.rewind()?;
        io::copy(file, &mut self.writer)?;
        Ok(())
    }

    /// Names the file in an error of writing to it.
    pub(super) fn error(&self, source: io::Error) -> Error {
        write_error(self.path(), source)
    }

    /// Removes a file that would be kept.
    pub(super) fn remove(mut self) {
        self.partial.temporary.name.disable_cleanup(false);
    }

    /// Writes out the buffer; the file then only needs its name.
    pub(super) fn complete(mut self) -> Result<PartialFile, Error> {
        if self.has_failed {
            return Err(self.error(io::Error::other("an earlier write failed")));
        }
        self.flush().map_err(|source| self.error(source))?;
        Ok(self.partial)
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.has_failed {
            self.has_failed = true;
            self.writer.write_all(bytes)?;
            self.has_failed = false;
            self.sync_beside(bytes.len());
        }
        Ok(())
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

/// Gives complete files in one folder their names, in the order that the module's documentation
/// shows. `record` describes all of them: if it exists, it is taken away.
///
/// When a step fails, those before it are undone, as far as the old first file is not yet replaced.
pub(super) fn publish(files: Vec<PartialFile>, record: Option<&Path>) -> Result<(), Error> {
    let Some(first) = files.first() else { return Ok(()) };
    let path = first.path.clone();
    for partial in &files {
        not_supported_is_fine(partial.file.sync_all()).map_err(|source| write_error(&partial.path, source))?;
    }
    let (steps, aside) = steps(&files, record).map_err(|source| write_error(&path, source))?;
    let mut live = live();
    if live.ended {
        drop(live);
        return Err(Error::Stopped);
    }
    let outcome = run(&steps);
    if outcome.is_ok() {
        for file in &files {
            live.names.remove(&*file.temporary.name);
        }
    }
    drop(live);
    outcome.map_err(|source| write_error(&path, source))?;
    for mut file in files {
        // Its name is another file's from here on.
        file.temporary.is_kept = false;
        file.temporary.name.disable_cleanup(true);
    }
    drop(aside);
    Ok(())
}

/// The steps of [`publish`], and the names that old files are set aside under, which are removed
/// when dropped.
fn steps(files: &[PartialFile], record: Option<&Path>) -> io::Result<(Vec<Step>, Vec<TempPath>)> {
    let mut steps = Vec::new();
    let mut aside = Vec::new();
    // Removes the remains of a process that was killed at this point; for the files themselves
    // this has been done.
    record.into_iter().for_each(remove_dead);
    let describing = files.iter().skip(1).map(|file| file.path.as_path()).chain(record);
    for old in describing.filter(|old| old.symlink_metadata().is_ok()) {
        let (prefix, suffix) = temporary_affixes(old);
        let (_, name) = create_locked(old, &prefix, &suffix, OpenOptions::new().write(true))?;
        steps.push(Step::Rename { from: old.to_owned(), to: name.to_path_buf() });
        aside.push(name);
    }
    if let (false, Some(file)) = (aside.is_empty(), files.first()) {
        steps.push(Step::Sync { folder: folder_of(&file.path).to_owned() });
    }
    for file in files {
        steps.push(Step::Rename { from: file.temporary.name.to_path_buf(), to: file.path.clone() });
        steps.push(Step::Sync { folder: folder_of(&file.path).to_owned() });
    }
    Ok((steps, aside))
}

pub(super) fn write_error(path: &Path, source: io::Error) -> Error {
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

/// The prefix and suffix of the names of the temporary files of `path`. They are short, so that
/// any name that a file may have can be written.
fn temporary_affixes(path: &Path) -> (OsString, OsString) {
    let mut hash = Hash::default();
    hash.add(path.file_name().unwrap_or_default().as_encoded_bytes());
    let ending = path.extension().map(|ending| [OsStr::new("."), ending].into_iter().collect()).unwrap_or_default();
    (format!(".kaldera-{:016x}-", hash.short()).into(), ending)
}

/// A new file in the folder of `path`, with the permissions of any new file, that this process has
/// locked.
fn create_locked(
    path: &Path,
    prefix: &OsStr,
    suffix: &OsStr,
    options: &mut OpenOptions,
) -> io::Result<(File, TempPath)> {
    let options = options.create_new(true);
    for _ in 0..MAX_TRIES {
        let new = tempfile::Builder::new()
            .prefix(prefix)
            .suffix(suffix)
            .make_in(folder_of(path), |name| options.open(name))?;
        let (file, name) = new.into_parts();
        match file.try_lock() {
            // Another process has taken it for a dead process's file.
            Err(TryLockError::WouldBlock) => {}
            Ok(()) if !is_linked(&file)? => {}
            // Some network file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok((file, name)),
        }
    }
    Err(io::Error::other("other processes remove its temporary files"))
}

/// Removes the temporary files of `path` that no process has locked.
fn remove_dead(path: &Path) {
    let (prefix, suffix) = temporary_affixes(path);
    for name in names_in(folder_of(path), &prefix, &suffix) {
        if let Ok(file) = open_without_links(&name, OpenOptions::new().write(true))
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(&name);
        }
    }
}

/// The unfinished file of `run`, or a new one if there is none that can be trusted.
fn find_or_create(path: &Path, run: RunId) -> io::Result<(TempPath, File)> {
    let mut start = path.file_name().unwrap_or_default().to_owned();
    start.push(".");
    let prefix: OsString = [&*start, OsStr::new(&format!("{run}."))].into_iter().collect();
    let suffix = OsStr::new(".part");
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for name in names_in(folder_of(path), &start, suffix) {
        let file_name = name.file_name().unwrap_or_default().as_encoded_bytes();
        if file_name.starts_with(prefix.as_encoded_bytes()) {
            found.push(name);
        } else if file_name.get(start.len()..).is_some_and(RunId::begins) {
            others.push(name);
        }
    }
    for other in others {
        tracing::warn!("{} is of a run with other options or inputs: it is left alone", other.display());
    }
    let (new, new_name) = create_locked(path, &prefix, suffix, OpenOptions::new().read(true).append(true))?;
    let mut best = (0, new_name, new);
    for name in found {
        let Ok(file) = open_without_links(&name, OpenOptions::new().read(true).append(true)) else { continue };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(io::Error::other("another run is writing it"));
        }
        if !have_same_owner(&file, &best.2)? {
            tracing::warn!("{} is not this user's alone: it is left alone", name.display());
            continue;
        }
        let metadata = file.metadata()?;
        // After a power cut a file may have its length and not its data.
        let is_synced = machine_start().is_none_or(|start| metadata.modified().is_ok_and(|time| time > start));
        let length = if is_synced { metadata.len() } else { 0 };
        if !is_synced {
            tracing::warn!("{} is from before this machine was started: all is done anew", name.display());
            file.set_len(0)?;
        }
        let name = TempPath::try_from_path(name)?;
        // Of several files, the longest one is kept; the others are removed when dropped.
        if length >= best.0 {
            best = (length, name, file);
        }
    }
    let (_, mut name, file) = best;
    name.disable_cleanup(true);
    Ok((name, file))
}

/// The time at which the system was started, if known.
fn machine_start() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Files in `folder` with names of this beginning and this end.
fn names_in(folder: &Path, prefix: &OsStr, suffix: &OsStr) -> Vec<PathBuf> {
    let is_one = |name: &OsStr| {
        let (name, prefix, suffix) = (name.as_encoded_bytes(), prefix.as_encoded_bytes(), suffix.as_encoded_bytes());
        name.len() >= prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| is_one(&entry.file_name())).map(|entry| folder.join(entry.file_name())).collect()
}

/// Opens a regular file that is not a link, and that no other name leads to.
fn open_without_links(name: &Path, options: &OpenOptions) -> io::Result<File> {
    let refuse = || io::Error::other("it is not a regular file of one name");
    let expected = name.symlink_metadata()?;
    if !expected.is_file() {
        return Err(refuse());
    }
    let file = options.open(name)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let opened = file.metadata()?;
        if (opened.dev(), opened.ino(), opened.nlink()) != (expected.dev(), expected.ino(), 1) {
            return Err(refuse());
        }
    }
    Ok(file)
}

#[cfg(unix)]
fn is_linked(file: &File) -> io::Result<bool> {
    Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) > 0)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "a file that is open cannot be removed here")]
fn is_linked(_file: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn have_same_owner(a: &File, b: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(a.metadata()?.uid() == b.metadata()?.uid())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "owners are not known here")]
fn have_same_owner(_a: &File, _b: &File) -> io::Result<bool> {
    Ok(true)
}

/// The folder that contains `path`.
pub(in crate::pipeline) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn new_file(path: &Path, text: &str) -> PartialFile {
        let (mut file, partial) = PartialFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        partial
    }

    /// Leaves the same files as a process that is killed.
    fn kill(mut partial: PartialFile) {
        partial.temporary.name.disable_cleanup(true);
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
            let (steps, aside) = steps(&files, Some(&record)).unwrap();
            if stop > steps.len() {
                assert!(stop > 5);
                break;
            }
            run(&steps[..stop]).unwrap();
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
        let run = RunId::of_number(7);
        for (link, name) in [(true, "a"), (false, "b")] {
            let part = folder.path().join(format!("x.ark.{run}.{name}.part"));
            if link { symlink(&victim, part).unwrap() } else { fs::hard_link(&victim, part).unwrap() }
        }
        let (mut kept, _) = Partial::kept(&path, run).unwrap();
        kept.write_all(b"new").unwrap();
        kept.complete().unwrap().finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert!(folder.path().join(planted).is_symlink());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_power_cut_may_have_left_without_data_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, run) = (folder.path().join("x.ark"), RunId::of_number(7));
        for (age, length) in [(Duration::ZERO, 3), (Duration::from_secs(1), 0)] {
            let part = folder.path().join(format!("x.ark.{run}.a.part"));
            fs::write(&part, "old").unwrap();
            let written = if age.is_zero() { SystemTime::now() } else { machine_start().unwrap() - age };
            File::options().append(true).open(&part).unwrap().set_modified(written).unwrap();
            let (kept, to_read) = Partial::kept(&path, run).unwrap();
            assert_eq!(to_read.metadata().unwrap().len(), length);
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
