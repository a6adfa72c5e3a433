//! Renames of files in an order that survives a power cut.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A change in a folder.
#[derive(Debug)]
pub(super) enum Step {
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// All earlier renames are on the disk before any later one.
    Sync {
        folder: PathBuf,
    },
}

/// Takes the steps in this order. When one fails, the renames before it are undone.
pub(super) fn run(steps: &[Step]) -> io::Result<()> {
    for (i, step) in steps.iter().enumerate() {
        let done = match step {
            Step::Rename { from, to } => fs::rename(from, to),
            Step::Sync { folder } => sync_folder(folder),
        };
        if let Err(error) = done {
            for step in steps[..i].iter().rev() {
                if let Step::Rename { from, to } = step {
                    // The first error is the one to report.
                    let _ = fs::rename(to, from);
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match fs::File::open(folder) {
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
pub(super) fn not_supported_is_fine(synced: io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}
