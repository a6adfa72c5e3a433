//! Which recordings to work on, and the key of each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// A list of recordings with unique keys, in the order in which their features will be written.
///
/// It holds names only. Three kinds of paths make it:
///
/// | path | recordings | key |
/// |---|---|---|
/// | a folder | each `*.wav` in it and below, sorted by key | path below the folder without ending, `/` as `-`: `spk1/a.wav` is `spk1-a` |
/// | `*.scp` | each line `KEY FILE`, or `KEY COMMAND \|`, in its order | as given |
/// | any other file | itself | name without ending |
///
/// White space in the name of a file becomes `_` in its key, as Kaldi's tables cannot hold it. In a folder, links to
/// files are followed, links to folders are not.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    utterances: Vec<Utterance>,
}

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// Its name in the output.
    pub key: String,
    /// Where its samples are.
    pub source: Source,
}

/// Where samples come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A WAV file.
    File(PathBuf),
    /// What stands in a line of a `wav.scp`: a file, a file with an offset or a command with a pipe.
    #[doc(alias = "rxfilename")]
    Script(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Script(rxfilename) => rxfilename.fmt(f),
        }
    }
}

impl Inputs {
    /// Lists the recordings that `paths` name, in the order of `paths`.
    ///
    /// A file that does not exist is listed, and fails when it is its turn.
    ///
    /// # Errors
    /// No path at all, a folder or script that cannot be read or is empty, a bad line of a script, a key that occurs twice.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        let mut utterances = Vec::new();
        for path in paths {
            let path = path.as_ref();
            if path.is_dir() {
                add_folder(path, &mut utterances)?;
            } else if path.extension().is_some_and(|ending| ending == "scp") {
                add_script(path, &mut utterances)?;
            } else {
                let key = key_of(path.file_name().map_or(path, Path::new));
                utterances.push(Utterance { key, source: Source::File(path.to_owned()) });
            }
        }
        Self::new(utterances)
    }

    /// Takes a list of recordings as it is.
    ///
    /// # Errors
    /// No recording, or a key that occurs twice.
    pub fn new(utterances: Vec<Utterance>) -> Result<Self, Error> {
        if utterances.is_empty() {
            return Err(Error::NoInputs);
        }
        let mut sources = HashMap::with_capacity(utterances.len());
        for Utterance { key, source } in &utterances {
            match sources.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(source);
                }
                Entry::Occupied(first) => {
                    return Err(Error::DuplicateKey {
                        key: key.clone(),
                        first: first.get().to_string(),
                        second: source.to_string(),
                    });
                }
            }
        }
        Ok(Self { utterances })
    }

    /// The recordings, at least one.
    #[must_use]
    pub fn utterances(&self) -> &[Utterance] {
        &self.utterances
    }
}

fn add_folder(folder: &Path, utterances: &mut Vec<Utterance>) -> Result<(), Error> {
    let begin = utterances.len();
    let mut to_visit = vec![folder.to_owned()];
    while let Some(visited) = to_visit.pop() {
        let unreadable = |source| Error::Read { path: visited.clone(), source };
        for entry in fs::read_dir(&visited).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            if entry.file_type().map_err(unreadable)?.is_dir() {
                to_visit.push(path);
            } else if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("wav")) && !path.is_dir() {
                let key = key_of(path.strip_prefix(folder).unwrap_or(&path));
                utterances.push(Utterance { key, source: Source::File(path) });
            }
        }
    }
    if utterances.len() == begin {
        return Err(Error::EmptyInput { path: folder.to_owned() });
    }
    utterances[begin..].sort_by(|a, b| a.key.cmp(&b.key));
    Ok(())
}

fn add_script(path: &Path, utterances: &mut Vec<Utterance>) -> Result<(), Error> {
    let begin = utterances.len();
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    for (index, line) in text.lines().enumerate() {
        let Some((key, rxfilename)) = line.trim().split_once(|c: char| c.is_ascii_whitespace()) else {
            return Err(Error::ScriptLine { path: path.to_owned(), line: index + 1, text: line.to_owned() });
        };
        utterances.push(Utterance { key: key.to_owned(), source: Source::Script(rxfilename.trim_start().to_owned()) });
    }
    if utterances.len() == begin {
        return Err(Error::EmptyInput { path: path.to_owned() });
    }
    Ok(())
}

/// A path below the folder that a person named, or the name of a file, as a key.
fn key_of(relative: &Path) -> String {
    let stem = relative.with_extension("");
    stem.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "-").replace(char::is_whitespace, "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(inputs: &Inputs) -> Vec<&str> {
        inputs.utterances().iter().map(|utterance| utterance.key.as_str()).collect()
    }

    #[test]
    fn a_folder_is_walked_and_sorted_by_key() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.wav", "a.WAV", "spk2/x.wav", "spk1/deep/my file.wav", "notes.txt"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let inputs = Inputs::from_paths([folder.path()]).unwrap();
        assert_eq!(keys(&inputs), ["a", "b", "spk1-deep-my_file", "spk2-x"]);
    }

    #[test]
    fn a_file_is_known_by_its_stem_and_need_not_exist() {
        assert_eq!(keys(&Inputs::from_paths(["/no/such/a.b.wav", "c"]).unwrap()), ["a.b", "c"]);
    }

    #[test]
    fn a_script_gives_keys_and_commands_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wav.scp");
        fs::write(&path, "z  z.wav\na\tsox a.flac -t wav - |\n").unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        assert_eq!(keys(&inputs), ["z", "a"]);
        assert_eq!(inputs.utterances()[1].source, Source::Script("sox a.flac -t wav - |".into()));

        fs::write(&path, "a a.wav\nlonely\n").unwrap();
        let error = Inputs::from_paths([&path]).unwrap_err().to_string();
        assert!(error.contains("wav.scp:2: 'lonely'"), "{error}");
    }

    #[test]
    fn the_same_key_twice_is_an_error_that_names_both_files() {
        let error = Inputs::from_paths(["x/a.wav", "y/a.wav"]).unwrap_err().to_string();
        assert!(error.contains("'a'") && error.contains("x/a.wav") && error.contains("y/a.wav"), "{error}");
    }

    #[test]
    fn nothing_to_do_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Inputs::from_paths([folder.path()]), Err(Error::EmptyInput { .. })));
        assert!(matches!(Inputs::from_paths::<&str>([]), Err(Error::NoInputs)));
    }
}
