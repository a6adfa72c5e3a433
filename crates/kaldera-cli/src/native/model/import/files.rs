//! Names of files, and errors that name them.

use std::path::Path;

use super::super::super::CliError;

/// Returns an error of a file.
pub(super) fn failed(path: &Path, error: &dyn std::fmt::Display) -> CliError {
    CliError::Failed(format!("{}: {error}", path.display()))
}

/// Returns the name of a file, which must be UTF-8.
pub(super) fn file_name(path: &Path) -> Result<String, CliError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| failed(path, &"its name must be UTF-8"))
}

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}
