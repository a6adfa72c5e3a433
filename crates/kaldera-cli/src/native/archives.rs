//! Archives of log-probabilities, in memory.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kaldera::Error;
use kaldera::matrix::Matrix;
use kaldera::pipeline::{Inputs, Pipes, read_features_with};

use super::CliError;
use super::corpus::trouble;

/// Log-probabilities by key.
#[derive(Default)]
pub(super) struct Archives {
    /// The files of each archive, first itself, and its keys.
    archives: Vec<(Vec<PathBuf>, Vec<String>)>,
    log_probs: HashMap<String, Vec<f32>>,
}

impl Archives {
    /// Reads archives; also returns the number of columns of their matrices.
    pub(super) fn read(paths: &[PathBuf]) -> Result<(Self, usize), CliError> {
        let (mut archives, mut log_probs, mut columns) = (vec![], HashMap::new(), None);
        for path in paths {
            let (mut files, mut keys) = (vec![path.clone()], vec![]);
            let take = |key: &str, matrix: Matrix<f32>| {
                let (found, expected) = (matrix.num_cols(), *columns.get_or_insert(matrix.num_cols()));
                if found != expected {
                    let reason = format!("{key} has {found} columns, and utterances before it have {expected}");
                    return Err(Error::Read { path: path.clone(), source: io::Error::other(reason) });
                }
                keys.push(key.to_owned());
                log_probs.entry(key.to_owned()).or_insert_with(|| matrix.into_vec());
                Ok(ControlFlow::Continue(()))
            };
            // A folder from elsewhere must not run commands.
            read_features_with(path, Pipes::Never, take).map_err(trouble)?;
            if path.extension().is_some_and(|ending| ending == "scp")
                && let Ok(list) = Inputs::from_paths([path])
            {
                files.extend(list.utterances().iter().filter_map(|one| Some(one.source.path()?.to_owned())));
                files.dedup();
            }
            archives.push((files, keys));
        }
        let Some(columns) = columns else {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            return Err(CliError::Failed(format!("{}: there are no log-probabilities in it", names.join(", "))));
        };
        Ok((Self { archives, log_probs }, columns))
    }

    /// Returns the archives and the files that they name.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.archives.iter().flat_map(|(files, _)| files.clone()).collect()
    }

    /// Returns the keys of an archive, by any of its names.
    pub(super) fn keys_of(&self, path: &Path) -> Option<Vec<String>> {
        let named = self.archives.iter().find(|(files, _)| files.first().is_some_and(|own| own == path));
        let real = |path: &Path| fs::canonicalize(path).ok();
        let found = real(path).filter(|_| named.is_none());
        let is_in = |files: &[PathBuf]| found.is_some() && files.iter().any(|file| real(file) == found);
        Some(named.or_else(|| self.archives.iter().find(|(files, _)| is_in(files)))?.1.clone())
    }

    pub(super) fn log_probs(&self, key: &str) -> Option<&[f32]> {
        self.log_probs.get(key).map(Vec::as_slice)
    }
}
