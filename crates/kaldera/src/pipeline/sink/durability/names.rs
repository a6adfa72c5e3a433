//! Temporary files by their names: of this process, of dead ones, and of runs that were
//! interrupted.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempPath;

use crate::pipeline::sink::durability::run_id::{Hash, RunId};

/// The number of attempts at a new name while other processes take it for one of a dead process.
const MAX_TRIES: usize = 16;

/// The prefix and suffix of the names of the temporary files of `path`. They are short, so that
/// any name that a file may have can be written.
pub(super) fn temporary_affixes(path: &Path) -> (OsString, OsString) {
    let mut hash = Hash::default();
    hash.add(path.file_name().unwrap_or_default().as_encoded_bytes());
    let ending = path.extension().map(|ending| [OsStr::new("."), ending].into_iter().collect()).unwrap_or_default();
    (format!(".kaldera-{:016x}-", hash.short()).into(), ending)
}

/// A new temporary file for `path`.
pub(super) fn create_temporary(path: &Path) -> io::Result<(File, TempPath)> {
    let (prefix, suffix) = temporary_affixes(path);
    create_locked(path, &prefix, &suffix, OpenOptions::new().read(true).write(true))
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
            Ok(()) if FileIdentity::from_metadata(&file.metadata()?).num_names == 0 => {}
            // Some network file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok((file, name)),
        }
    }
    Err(io::Error::other("other processes remove its temporary files"))
}

/// Removes the temporary files of `path` that no process has locked.
pub(super) fn remove_dead(path: &Path) {
    let (prefix, suffix) = temporary_affixes(path);
    for name in names_in(folder_of(path), &prefix, &suffix) {
        if open_without_links(&name, OpenOptions::new().write(true)).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&name);
        }
    }
}

/// The unfinished file of `run`, or a new one if there is none that can be trusted. Only one
/// process at a time has it.
pub(super) fn find_or_create(path: &Path, run: RunId) -> io::Result<(File, TempPath)> {
    let (run, suffix) = (format!("{run}."), OsStr::new(".part"));
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let (names, num_bytes) = (names_in(folder_of(path), &prefix, suffix), prefix.len());
    prefix.push(&run);
    let options = || OpenOptions::new().read(true).append(true).clone();
    let (file, name) = create_locked(path, &prefix, suffix, &mut options())?;
    let owner = FileIdentity::from_metadata(&file.metadata()?).owner;
    let mut best = (0, file, name);
    for name in names {
        let id = &name.file_name().unwrap_or_default().as_encoded_bytes()[num_bytes..];
        if !id.starts_with(run.as_bytes()) {
            if RunId::begins(id) {
                tracing::warn!("{} is of a run with other options or inputs: it is left alone", name.display());
            }
            continue;
        }
        let Ok(file) = open_without_links(&name, &options()) else { continue };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(io::Error::other("another run is writing it"));
        }
        let metadata = file.metadata()?;
        if FileIdentity::from_metadata(&metadata).owner != owner {
            tracing::warn!("{} is not this user's alone: it is left alone", name.display());
            continue;
        }
        // After a power cut a file may have its length and not its data.
        if machine_start().is_some_and(|start| !metadata.modified().is_ok_and(|time| time > start)) {
            tracing::warn!("{} is from before this machine was started: all is done anew", name.display());
            file.set_len(0)?;
        }
        // Of several files, the longest one is kept; the others are removed when dropped.
        let (length, name) = (file.metadata()?.len(), TempPath::try_from_path(name)?);
        if length >= best.0 {
            best = (length, file, name);
        }
    }
    let (_, file, mut name) = best;
    name.disable_cleanup(true);
    Ok((file, name))
}

/// The time at which the system was started, if known.
pub(super) fn machine_start() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Files in `folder` with names of this beginning and this end.
fn names_in(folder: &Path, prefix: &OsStr, suffix: &OsStr) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_one = |name: &OsString| {
        let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        rest.is_some_and(|rest| rest.ends_with(suffix.as_encoded_bytes()))
    };
    names.filter(is_one).map(|name| folder.join(name)).collect()
}

/// Opens a regular file that is not a link, and that no other name leads to.
fn open_without_links(name: &Path, options: &OpenOptions) -> io::Result<File> {
    let expected = name.symlink_metadata()?;
    if expected.is_file() {
        let (file, expected) = (options.open(name)?, FileIdentity::from_metadata(&expected));
        if expected.num_names == 1 && FileIdentity::from_metadata(&file.metadata()?) == expected {
            return Ok(file);
        }
    }
    Err(io::Error::other("it is not a regular file of one name"))
}

/// Properties of a file that tell it from others, and the number of its names.
#[derive(PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    number: u64,
    num_names: u64,
    owner: u32,
}

impl FileIdentity {
    #[cfg(unix)]
    fn from_metadata(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self { device: metadata.dev(), number: metadata.ino(), num_names: metadata.nlink(), owner: metadata.uid() }
    }

    /// They are not known, and a file that is open cannot be removed here.
    #[cfg(not(unix))]
    fn from_metadata(_metadata: &Metadata) -> Self {
        Self { device: 0, number: 0, num_names: 1, owner: 0 }
    }
}

/// The folder that contains `path`.
pub(in crate::pipeline) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
