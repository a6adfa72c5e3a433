//! A folder for each case in which its command can do no harm: the files that it may read are
//! there, and the files that it writes are found.

use std::collections::BTreeSet;
use std::fs;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_dir as symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::case::ManifestCase;

/// Folders that commands only read. They are linked, not copied, for every case: the links lead to
/// one copy, so that even a command gone wild does not write to the known answers.
const INPUTS: [&str; 2] = ["audio", "in"];

/// Kaldi's outputs: files that a case writes and later cases read.
const OUTPUTS: &str = "out";

/// The sources from which the folders of all cases are made.
pub(super) struct Stage {
    inputs: TempDir,
    outputs: PathBuf,
    files: BTreeSet<PathBuf>,
}

impl Stage {
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let inputs = tempfile::tempdir()?;
        for name in INPUTS {
            let copy = inputs.path().join(name);
            fs::create_dir(&copy)?;
            for file in files_in(&folder.join(name))? {
                copy_file(&folder.join(name).join(&file), &copy.join(&file))?;
            }
        }
        let outputs = folder.join(OUTPUTS);
        let files = files_in(&outputs)?;
        Ok(Self { inputs, outputs, files })
    }

    /// A new folder for `case`: links to the inputs, and copies of Kaldi's outputs except the
    /// case's own.
    pub(super) fn set_for(&self, case: &ManifestCase) -> io::Result<TempDir> {
        let set = tempfile::tempdir()?;
        for name in INPUTS {
            symlink(self.inputs.path().join(name), set.path().join(name))?;
        }
        let outputs = set.path().join(OUTPUTS);
        fs::create_dir(&outputs)?;
        for file in &self.files {
            if is_output(case, file) {
                fs::create_dir_all(outputs.join(file).parent().unwrap_or(&outputs))?;
            } else {
                copy_file(&self.outputs.join(file), &outputs.join(file))?;
            }
        }
        Ok(set)
    }

    /// Every file that the case wrote, changed or removed although it is not among its outputs.
    pub(super) fn strays(&self, set: &TempDir, case: &ManifestCase) -> io::Result<Vec<String>> {
        let mut strays = Vec::new();
        for entry in fs::read_dir(set.path())? {
            let name = entry?.file_name();
            if name != OUTPUTS && !INPUTS.iter().any(|input| name == *input) {
                strays.push(format!("expected no other file, came {}", name.display()));
            }
        }
        let outputs = set.path().join(OUTPUTS);
        let mut files = files_in(&outputs)?;
        files.extend(self.files.iter().cloned());
        for file in files.iter().filter(|file| !is_output(case, file)) {
            let name = Path::new(OUTPUTS).join(file);
            match (fs::read(self.outputs.join(file)), fs::read(outputs.join(file))) {
                (Ok(before), Ok(after)) if before == after => {}
                (Ok(_), Ok(_)) => strays.push(format!("{}: expected untouched, came changed", name.display())),
                (Ok(_), Err(_)) => strays.push(format!("{}: expected untouched, came removed", name.display())),
                (Err(_), _) => strays.push(format!("expected no other file, came {}", name.display())),
            }
        }
        Ok(strays)
    }
}

fn is_output(case: &ManifestCase, file: &Path) -> bool {
    case.outputs.iter().any(|output| Path::new(&output.path) == Path::new(OUTPUTS).join(file))
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).map(drop)
}

/// All files under `folder`, relative to it; none where it does not exist.
fn files_in(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop().filter(|next| next.is_dir()) {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder).unwrap_or(&path).to_owned());
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> ManifestCase {
        serde_json::from_str(
            r#"{"id": "a", "group": "g", "tool": "t", "args": [], "exit": 0, "outputs": [{"path": "out/deep/own"}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_case_sees_the_inputs_and_other_outputs_only() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["audio/a.wav", "in/a.scp", "out/other", "out/deep/own"] {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(folder.path().join(name), name).unwrap();
        }
        let stage = Stage::new(folder.path()).unwrap();
        let set = stage.set_for(&case()).unwrap();
        let inside = |name: &str| set.path().join(name);
        assert_eq!(fs::read_to_string(inside("in/a.scp")).unwrap(), "in/a.scp");
        assert!(inside("out/other").exists() && inside("out/deep").is_dir() && !inside("out/deep/own").exists());
        fs::write(inside("out/deep/own"), "its output").unwrap();
        assert_eq!(stage.strays(&set, &case()).unwrap(), Vec::<String>::new());

        fs::write(inside("in/a.scp"), "harm").unwrap();
        fs::write(inside("out/other"), "harm").unwrap();
        fs::write(inside("out/more"), "harm").unwrap();
        fs::write(inside("core"), "harm").unwrap();
        assert_eq!(stage.strays(&set, &case()).unwrap().len(), 3);
        fs::remove_file(inside("out/other")).unwrap();
        assert!(stage.strays(&set, &case()).unwrap().contains(&"out/other: expected untouched, came removed".into()));
        assert_eq!(fs::read_to_string(folder.path().join("out/other")).unwrap(), "out/other");
        assert_eq!(fs::read_to_string(folder.path().join("in/a.scp")).unwrap(), "in/a.scp");
    }
}
