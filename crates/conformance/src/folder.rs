//! The folder of known answers, and its files that hold cases.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// Files that a set's README names as companions of its case files.
const COMPANIONS: &[&str] = &["kaldi/precision.json"];

/// Folders of files that are cases themselves: the name, and the folder.
const FOLDERS: &[(&str, &str)] = &[("fst_types/read", "fst_types"), ("fst_types/lookahead", "fst_types/lookahead")];

/// Sets whose answers are arrays of stages; their JSON files are no files of cases.
const STAGED: &[&str] = &["vosk"];

/// A file of cases: its path, and its name as filters and reports speak of it, `SET/FILE`.
pub(crate) struct CaseFile {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// The folder that `KNOWN_ANSWERS` names, relative to the workspace root; without it, the copy in
/// the project.
///
/// # Errors
/// [`Error::NoWorkspace`] if the project is neither at the path where it was built nor above the
/// working folder.
pub fn known_answers() -> Result<PathBuf, Error> {
    let named = std::env::var_os("KNOWN_ANSWERS").filter(|name| !name.is_empty());
    if let Some(absolute) = named.as_ref().map(Path::new).filter(|path| path.is_absolute()) {
        return Ok(absolute.into());
    }
    Ok(workspace_root()?.join(named.unwrap_or_else(|| "crates/conformance/known-answers".into())))
}

fn workspace_root() -> Result<PathBuf, Error> {
    let is_root =
        |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"));
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_owned);
    if let Some(root) = built.filter(|root| is_root(root)) {
        return Ok(root);
    }
    let here = std::env::current_dir()?;
    here.ancestors().find(|folder| is_root(folder)).map(Path::to_owned).ok_or(Error::NoWorkspace)
}

/// All case files one level down in `folder`, in the order of their names.
pub(crate) fn case_files(folder: &Path) -> Result<Vec<CaseFile>, Error> {
    let mut files = Vec::new();
    for set in fs::read_dir(folder).map_err(|_| Error::NoFolder { folder: folder.into() })? {
        let set = set?.path();
        if !set.is_dir() || STAGED.iter().any(|staged| set.ends_with(staged)) {
            continue;
        }
        for entry in fs::read_dir(&set)? {
            let path = entry?.path();
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            // Each stage of these has a runner of its own.
            if name.starts_with("vosk/") {
                continue;
            }
            let holds_cases = path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl");
            if holds_cases && !COMPANIONS.contains(&name.as_str()) {
                files.push(CaseFile { name, path });
            }
        }
    }
    for (name, path) in FOLDERS {
        let path = folder.join(path);
        if path.is_dir() {
            files.push(CaseFile { name: (*name).to_owned(), path });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}
