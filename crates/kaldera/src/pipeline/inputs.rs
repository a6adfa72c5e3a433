//! Which recordings to work on, and the key of each.

mod data_folder;
mod manifest;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::recording::Recording;
use crate::Error;

/// Endings of the files that a folder is searched for.
const AUDIO: &[&str] = if cfg!(feature = "symphonia") { &["wav", "flac", "mp3", "ogg"] } else { &["wav"] };

/// A list of recordings with unique keys, in the order in which their features will be written.
///
/// It holds names only. These kinds of paths make it:
///
/// | path | recordings | key |
/// |---|---|---|
/// | a folder with a `wav.scp`: Kaldi's data folder | its lines, or the parts of them that the lines of `segments` name; speakers by `utt2spk` | as given |
/// | another folder | each `*.wav` in it and below, sorted by key; with the feature `symphonia` also `*.flac`, `*.mp3`, `*.ogg` | path below the folder without ending, `/` as `-`: `spk1/a.wav` is `spk1-a` |
/// | `*.scp` | each line `KEY FILE`, or `KEY COMMAND \|`, in its order | as given |
/// | `*.jsonl`, `*.jsonl.gz` | lhotse's recordings or cuts, in their order; speakers by the first supervision | `id` |
/// | any other file | itself | name without ending |
///
/// White space in the name of a file becomes `_` in its key, as Kaldi's tables cannot hold it. In a folder, links to
/// files are followed, links to folders are not.
#[derive(Debug, Clone)]
pub struct Inputs {
    utterances: Vec<Utterance>,
    /// The paths that they were listed from.
    pub(super) paths: Vec<PathBuf>,
}

/// A recording, or a part of one, that becomes one matrix of features.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Utterance {
    /// Its name in the output.
    pub key: String,
    /// Where its samples are.
    pub source: Source,
    /// Which part of the recording it is; all of it without.
    pub span: Option<Span>,
    /// Which channel, counted from 0; the pipeline's choice without.
    pub channel: Option<usize>,
    /// Who speaks, where that is known.
    pub speaker: Option<String>,
}

impl Utterance {
    /// All of a recording, by an unknown speaker.
    pub fn new(key: impl Into<String>, source: impl Into<Source>) -> Self {
        Self { key: key.into(), source: source.into(), span: None, channel: None, speaker: None }
    }
}

/// A part of a recording, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Span {
    /// Where it begins.
    pub start: f64,
    /// Where it ends; without, at the recording's end.
    pub end: Option<f64>,
}

/// Where samples come from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// What stands in a line of a `wav.scp`: a file, a file with an offset or a command with a pipe.
    #[doc(alias = "rxfilename")]
    Script(String),
    /// They are in memory.
    Samples(Arc<Recording>),
    /// Nowhere: `segments` names a recording that `wav.scp` does not have. The utterance fails when it is its turn.
    Missing(String),
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

/// A file; for a line of a `wav.scp` see [`Source::Script`].
impl From<&str> for Source {
    fn from(path: &str) -> Self {
        Self::File(path.into())
    }
}

impl From<Recording> for Source {
    fn from(recording: Recording) -> Self {
        Self::Samples(Arc::new(recording))
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Script(rxfilename) => rxfilename.fmt(f),
            Self::Samples(recording) => write!(f, "{} samples in memory", recording.num_samples()),
            Self::Missing(recording) => write!(f, "recording {recording}"),
        }
    }
}

impl Inputs {
    /// Lists the recordings that `paths` name, in the order of `paths`.
    ///
    /// A file that does not exist is listed, and fails when it is its turn.
    ///
    /// # Errors
    /// No path at all, a folder or list that cannot be read or is empty, a bad line of a list, a key that occurs twice.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        let mut utterances = Vec::new();
        let paths: Vec<_> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        for path in &paths {
            if path.join(data_folder::RECORDINGS).is_file() {
                data_folder::add(path, &mut utterances)?;
            } else if path.is_dir() {
                add_folder(path, &mut utterances)?;
            } else if path.extension().is_some_and(|ending| ending == "scp") {
                add_script(path, &mut utterances)?;
            } else if manifest::is_one(path) {
                manifest::add(path, &mut utterances)?;
            } else {
                let key = key_of(path.file_name().map_or(path, Path::new));
                utterances.push(Utterance::new(key, Source::File(path.to_owned())));
            }
        }
        Ok(Self { paths, ..Self::new(utterances)? })
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
        for Utterance { key, source, .. } in &utterances {
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
        Ok(Self { utterances, paths: Vec::new() })
    }

    /// The recordings, at least one.
    #[must_use]
    pub fn utterances(&self) -> &[Utterance] {
        &self.utterances
    }

    /// How many recordings, at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.utterances.len()
    }

    /// The part of the list that is `shard`'s: consecutive, so that the shards one after the other are the whole list.
    ///
    /// # Errors
    /// [`Error::EmptyShard`] where there are fewer recordings than shards and none is left for this one.
    pub fn shard(&self, shard: Shard) -> Result<Self, Error> {
        let bound = |index: usize| {
            // In 128 bits, as the product may be more than a size can be; the quotient never is.
            usize::try_from(self.utterances.len() as u128 * index as u128 / shard.count as u128).unwrap_or(usize::MAX)
        };
        let utterances = &self.utterances[bound(shard.index - 1)..bound(shard.index)];
        if utterances.is_empty() {
            return Err(Error::EmptyShard { shard, recordings: self.utterances.len() });
        }
        Ok(Self { utterances: utterances.to_vec(), paths: self.paths.clone() })
    }
}

impl<'a> IntoIterator for &'a Inputs {
    type Item = &'a Utterance;
    type IntoIter = std::slice::Iter<'a, Utterance>;

    fn into_iter(self) -> Self::IntoIter {
        self.utterances.iter()
    }
}

impl IntoIterator for Inputs {
    type Item = Utterance;
    type IntoIter = std::vec::IntoIter<Utterance>;

    fn into_iter(self) -> Self::IntoIter {
        self.utterances.into_iter()
    }
}

/// One of the equal parts that the jobs of a cluster share work by; written `2/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1 to `count`.
    index: usize,
    count: usize,
}

impl Shard {
    /// Part `index` of `count`, counted from 1; `None` if there is no such part.
    #[must_use]
    pub fn new(index: usize, count: usize) -> Option<Self> {
        (1..=count).contains(&index).then_some(Self { index, count })
    }

    /// Reads `INDEX/COUNT`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (index, count) = text.split_once('/')?;
        Self::new(index.parse().ok()?, count.parse().ok()?)
    }

    /// How many parts there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// What the shard's part of the file `path` is called: of `x.ark` it is `x.2-of-8.ark`.
    #[must_use]
    pub fn path(&self, path: &Path) -> PathBuf {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{}-of-{}", self.index, self.count));
        if let Some(ending) = path.extension() {
            name.push(".");
            name.push(ending);
        }
        path.with_file_name(name)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
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
            let is_audio =
                path.extension().is_some_and(|is| AUDIO.iter().any(|ending| is.eq_ignore_ascii_case(ending)));
            if entry.file_type().map_err(unreadable)?.is_dir() {
                to_visit.push(path);
            } else if is_audio && !path.is_dir() {
                let key = key_of(path.strip_prefix(folder).unwrap_or(&path));
                utterances.push(Utterance::new(key, Source::File(path)));
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
    for_each_line(path, |line| {
        let (key, rxfilename) = line.split_once(|c: char| c.is_ascii_whitespace())?;
        utterances.push(Utterance::new(key, Source::Script(rxfilename.trim_start().to_owned())));
        Some(())
    })?;
    if utterances.len() == begin {
        return Err(Error::EmptyInput { path: path.to_owned() });
    }
    Ok(())
}

/// Calls `take` with each line of a text file, trimmed; a line that it does not take is an error.
fn for_each_line(path: &Path, mut take: impl FnMut(&str) -> Option<()>) -> Result<(), Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    for (index, line) in text.lines().enumerate() {
        if take(line.trim()).is_none() {
            return Err(Error::ScriptLine { path: path.to_owned(), line: index + 1, text: line.to_owned() });
        }
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

    #[test]
    fn shards_one_after_the_other_are_the_list() {
        for (total, count) in [(10, 3), (7, 7), (5, 1), (3, 5)] {
            let inputs = Inputs::from_paths((0..total).map(|i| format!("{i}.wav"))).unwrap();
            let shards = (1..=count).map(|index| inputs.shard(Shard::new(index, count).unwrap()));
            let (mut joined, mut empty) = (Vec::new(), 0);
            for shard in shards {
                match shard {
                    Ok(shard) => joined.extend(keys(&shard).into_iter().map(str::to_owned)),
                    Err(_) => empty += 1,
                }
            }
            assert_eq!(joined, keys(&inputs), "{total} in {count}");
            assert_eq!(empty, count.saturating_sub(total));
        }
    }

    #[test]
    fn a_shard_is_counted_from_1_and_names_its_part_of_a_file() {
        let shard = Shard::parse("2/8").unwrap();
        assert_eq!(shard.path(Path::new("dir/x.y.ark")), Path::new("dir/x.y.2-of-8.ark"));
        assert_eq!(shard.to_string(), "2/8");
        for wrong in ["0/8", "9/8", "2", "2/", "-1/2", "1/0"] {
            assert_eq!(Shard::parse(wrong), None, "{wrong}");
        }
    }
}
