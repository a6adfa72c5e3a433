//! Confinement of the files that a model's description names to the model's folder.
//!
//! A folder from elsewhere could otherwise name any file that the user may read, and errors about a
//! file show parts of it. A device or a FIFO could block the reader.

use std::fs;
use std::path::{Component, Path};

/// Bounds of the files that a description may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounds {
    /// Files in the folder, also by links that do not leave it.
    Folder,
    /// Files by relative paths, also above the folder. Results of another program are in the place
    /// where it wrote them.
    Relative,
    /// Any file.
    Anywhere,
}

/// Returns the problem of `file`, which the description in `folder` names. A missing file is left
/// to its reader.
pub(super) fn check(folder: &Path, file: &Path, bounds: Bounds) -> Result<(), String> {
    let outside = || {
        let remedy = "copy it into the folder, or allow files outside (--allow-outside, Recognizer::open_outside)";
        Err(format!("'{}' is not in the model's folder: {remedy}", file.display()))
    };
    match bounds {
        Bounds::Folder if !is_named_below(file) => return outside(),
        Bounds::Relative if file.has_root() || file.is_absolute() => return outside(),
        _ => {}
    }
    let path = folder.join(file);
    let Ok(metadata) = fs::metadata(&path) else { return Ok(()) };
    if !metadata.is_file() {
        return Err(format!("'{}' is not a regular file", file.display()));
    }
    let is_inside = || Some(fs::canonicalize(&path).ok()?.starts_with(fs::canonicalize(folder).ok()?));
    if bounds == Bounds::Folder && is_inside() != Some(true) { outside() } else { Ok(()) }
}

/// Returns the problem of the name of a file without a folder.
pub(super) fn check_name(file: &Path) -> Result<(), String> {
    match is_named_below(file) {
        true => Ok(()),
        false => Err(format!("'{}' is not the name of a file of the model", file.display())),
    }
}

/// Returns `true` if a path names a file of a folder, and none above it.
fn is_named_below(file: &Path) -> bool {
    file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_within_bounds() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("model");
        fs::create_dir_all(folder.join("lang")).unwrap();
        for file in ["model/a.txt", "model/lang/b.txt", "c.txt"] {
            fs::write(parent.path().join(file), "").unwrap();
        }
        let is_allowed = |file: &str, bounds| check(&folder, Path::new(file), bounds).is_ok();
        for file in ["a.txt", "./a.txt", "lang/b.txt", "missing.txt"] {
            assert!(is_allowed(file, Bounds::Folder), "{file}");
        }
        let absolute = parent.path().join("c.txt");
        let absolute = absolute.to_str().unwrap();
        for file in ["../c.txt", "lang/../../c.txt", absolute] {
            assert!(!is_allowed(file, Bounds::Folder), "{file}");
            assert!(is_allowed(file, Bounds::Anywhere), "{file}");
        }
        assert!(is_allowed("../c.txt", Bounds::Relative) && !is_allowed(absolute, Bounds::Relative));
        for bounds in [Bounds::Folder, Bounds::Relative, Bounds::Anywhere] {
            assert!(!is_allowed("lang", bounds), "a folder");
        }
        #[cfg(unix)]
        {
            let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
            link("a.txt", "inside");
            link("../c.txt", "outside");
            link("/dev/zero", "device");
            assert!(is_allowed("inside", Bounds::Folder) && !is_allowed("outside", Bounds::Folder));
            assert!(is_allowed("outside", Bounds::Anywhere) && !is_allowed("device", Bounds::Anywhere));
        }
    }
}
