//! The recordings to work on, and the key of each.

mod data_folder;
mod manifest;
mod nemo;
mod tar;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera_audio::Recording;
use kaldi_io::lines::{LineError, Lines};

use crate::Error;

pub(super) use self::tar::files_of_shar;

/// Endings of the files that a folder is searched for.
const AUDIO: &[&str] = &["wav", "wave", "aif", "aifc", "aiff", "au", "caf", "nist", "snd", "sph", "w64"];
/// Of those that are compressed.
const COMPRESSED: &[&str] = match (cfg!(feature = "symphonia"), cfg!(feature = "opus")) {
    (true, true) => &["3gp", "flac", "m4a", "m4b", "mka", "mkv", "mp3", "mp4", "oga", "ogg", "opus", "webm"],
    (true, false) => &["3gp", "flac", "m4a", "m4b", "mka", "mkv", "mp3", "mp4", "oga", "ogg", "webm"],
    (false, true) => &["ogg", "oga", "opus"],
    (false, false) => &[],
};

/// A list of recordings with unique keys, in the order in which their features will be written.
///
/// It holds names only. These kinds of paths make it:
///
/// - A folder with a `wav.scp`, Kaldi's data folder: its lines, or the parts of them that the lines
///   of `segments` name, with their keys. Speakers come from `utt2spk`, names of recordings and
///   channels from `reco2file_and_channel`. A warning counts the audio files in the folder that no
///   line names.
/// - Another folder: each `*.wav` (or `wave`, `aif`, `aifc`, `aiff`, `au`, `caf`, `nist`, `snd`,
///   `sph`, `w64`) in it and below, sorted by key; with the feature `symphonia` also `*.flac`,
///   `*.mp3`, `*.ogg`, `*.oga`, `*.m4a`, `*.m4b`, `*.mp4`, `*.3gp`, `*.webm`, `*.mka`, `*.mkv`,
///   with `opus` `*.opus`, `*.ogg`, `*.oga`. The key is the path below the folder without ending,
///   with `-` for `/`: `spk1/a.wav` is `spk1-a`.
/// - `*.scp`: each line `KEY FILE`, or `KEY COMMAND |`, in its order, with its key.
/// - `*.jsonl` and `*.json`, both with `.gz` too, in their order, on lines or as one list: lhotse's
///   recordings or cuts, whose key is the `id`, with the speaker and the text of the first
///   supervision; or NeMo's manifest, whose key is the `id` or made of `audio_filepath`, `offset`
///   and `duration`: `a/b.wav` and `/a/b.wav` from 0.5 s to 2 s are `a-b-0000500-0002000`.
///   Relative paths of NeMo's manifests begin at the folder of the manifest.
/// - `*.tar`, such as WebDataset's shards: the audio files in it, in its order, with the text of a
///   `.txt` or `.json` of the same name. The key is the path in the archive, as of a folder. With
///   NeMo's tarred manifest among the paths, its entries are listed, and each is the member of its
///   name in the archive of its `shard_id`, such as `audio_3.tar`.
/// - A folder with `cuts.*.jsonl`, also with `.gz`, and `recording.*.tar`, lhotse's Shar: its cuts.
/// - Any other file: itself. The key is its name without ending.
///
/// White space in the name of a file becomes `_` in its key, as Kaldi's tables cannot hold it,
/// with one warning that counts such names. In a folder, links to files are followed, links to
/// folders are not.
///
/// Some entries are [`rejected`](Self::rejected) without affecting the others: a line of a list
/// or a file of a folder that cannot be used, and a recording or a line of `utt2spk` with the key
/// of an earlier one. Byte order marks and carriage returns are no part of keys.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    utterances: Vec<Utterance>,
    /// The first ones.
    rejected: Vec<Arc<Error>>,
    num_rejected: usize,
    others: Vec<PathBuf>,
    /// The paths that they were listed from.
    pub(super) paths: Vec<PathBuf>,
    /// Number of files with white space in their names, which their keys do not have.
    with_spaces: usize,
}

/// A recording, or a part of one, that becomes one matrix of features.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Utterance {
    /// Its name in the output.
    pub key: String,
    /// The source of its samples.
    pub source: Source,
    /// The part of the recording; `None` is all of it.
    pub span: Option<Span>,
    /// The channel, counted from 0; `None` is the pipeline's choice.
    pub channel: Option<usize>,
    /// The speaker, if known.
    pub speaker: Option<String>,
    /// The name of the recording, if it is not the key.
    pub recording: Option<String>,
    /// The name of the channel: A or B, as a `reco2file_and_channel` has it.
    pub channel_name: Option<String>,
    /// The transcript, if a manifest or an archive has it.
    pub text: Option<String>,
    /// Its entry in NeMo's manifest, as JSON on one line.
    pub nemo: Option<Arc<str>>,
}

impl Utterance {
    /// All of a recording, by an unknown speaker.
    pub fn new(key: impl Into<String>, source: impl Into<Source>) -> Self {
        Self {
            key: key.into(),
            source: source.into(),
            span: None,
            channel: None,
            speaker: None,
            recording: None,
            channel_name: None,
            text: None,
            nemo: None,
        }
    }
}

/// A part of a recording, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Span {
    /// The begin.
    pub start: f64,
    /// The end; `None` is the end of the recording.
    pub end: Option<f64>,
}

/// The source of samples.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// An entry of a `wav.scp`: a file, a file with an offset or a command with a pipe.
    #[doc(alias = "rxfilename")]
    Script(String),
    /// As [`Script`](Self::Script), in a list that was found in a folder. Somebody else may have
    /// put it there, so its commands are run only with [`Pipes::Always`](super::Pipes).
    FoundScript(String),
    /// A file in an archive, which is not compressed.
    Member {
        /// The archive.
        archive: PathBuf,
        /// Name of the file in it.
        name: String,
        /// Place of its first byte in the archive.
        offset: u64,
        /// Its number of bytes.
        len: u64,
    },
    /// They are in memory.
    Samples(Arc<Recording>),
    /// Nowhere: `segments` names a recording that `wav.scp` does not have. The utterance fails when
    /// it is its turn.
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
            Self::Script(rxfilename) | Self::FoundScript(rxfilename) => rxfilename.fmt(f),
            Self::Member { archive, name, .. } => write!(f, "{}: {name}", archive.display()),
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
    /// No path at all, a folder or list that cannot be read or is empty.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        Self::from_paths_or_keys(paths, |_| None)
    }

    /// As [`from_paths`](Self::from_paths), but for paths of which `keys` knows all that they have,
    /// such as archives of log-probabilities.
    ///
    /// # Errors
    /// As [`from_paths`](Self::from_paths).
    pub fn from_paths_or_keys<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        keys: impl Fn(&Path) -> Option<Vec<String>>,
    ) -> Result<Self, Error> {
        let paths: Vec<_> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        let mut inputs = Self::default();
        for path in &paths {
            if let Some(keys) = keys(path) {
                inputs.utterances.extend(keys.into_iter().map(|key| Utterance::new(key, Source::File(path.clone()))));
            } else if path.join(data_folder::RECORDINGS).is_file() {
                inputs.add_list(path, data_folder::add)?;
            } else if tar::is_shar(path) {
                inputs.add_list(path, tar::add_shar)?;
            } else if tar::is_one(path) && path.is_file() {
                inputs.add_list(path, tar::add)?;
            } else if path.is_dir() {
                inputs.add_list(path, add_folder)?;
            } else if path.extension().is_some_and(|ending| ending == "scp") {
                inputs.add_list(path, add_script)?;
            } else if manifest::is_one(path) {
                inputs.add_list(path, manifest::add)?;
            } else {
                inputs.add_file(path.to_owned(), path.file_name().map_or(path, Path::new));
            }
        }
        if inputs.with_spaces > 0 {
            tracing::warn!("keys with '_' for the white space in the names of their files: {}", inputs.with_spaces);
        }
        if inputs.utterances.is_empty() && inputs.num_rejected == 0 {
            return Err(Error::NoInputs);
        }
        tar::join_entries(&paths, &mut inputs);
        inputs.reject_known_keys(0);
        Ok(Self { paths, ..inputs })
    }

    /// Adds an audio file, whose key is its path below the folder that was named.
    fn add_file(&mut self, path: PathBuf, relative: &Path) {
        let key = key_of(relative);
        self.with_spaces += usize::from(relative.with_extension("").to_string_lossy().contains(char::is_whitespace));
        self.utterances.push(Utterance::new(key, Source::File(path)));
    }

    /// Adds the recordings that `add` finds in `path`; an error if it adds and rejects nothing.
    fn add_list(&mut self, path: &Path, add: fn(&Path, &mut Self) -> Result<(), Error>) -> Result<(), Error> {
        let size = |inputs: &Self| (inputs.utterances.len(), inputs.num_rejected);
        let before = size(self);
        add(path, self)?;
        if size(self) == before { Err(Error::EmptyInput { path: path.to_owned() }) } else { Ok(()) }
    }

    /// Records the error of an input that cannot be listed.
    fn reject(&mut self, error: Error) {
        self.num_rejected += 1;
        if self.rejected.len() < MOST_REJECTED {
            self.rejected.push(Arc::new(error));
        }
    }

    /// Takes a list of recordings as it is, but for those with the key of another before them,
    /// which are [`rejected`](Self::rejected).
    ///
    /// # Errors
    /// [`Error::NoInputs`].
    pub fn new(utterances: Vec<Utterance>) -> Result<Self, Error> {
        if utterances.is_empty() {
            return Err(Error::NoInputs);
        }
        let mut inputs = Self { utterances, ..Self::default() };
        inputs.reject_known_keys(0);
        Ok(inputs)
    }

    /// Rejects the utterances that have the key of an earlier one, among those from `begin` on.
    fn reject_known_keys(&mut self, begin: usize) {
        let mut sources: HashMap<&str, &Source> = HashMap::with_capacity(self.utterances.len() - begin);
        let (mut errors, mut count, mut is_new) = (Vec::new(), 0, vec![true; begin]);
        for Utterance { key, source, .. } in &self.utterances[begin..] {
            let entry = sources.entry(key.as_str());
            is_new.push(matches!(entry, Entry::Vacant(_)));
            if let Entry::Occupied(first) = &entry {
                count += 1;
                if count > MOST_REJECTED {
                    continue;
                }
                let (first, second) = (first.get().to_string(), source.to_string());
                errors.push(Error::DuplicateKey { key: key.clone(), first, second });
            }
            entry.or_insert(source);
        }
        let mut is_new = is_new.into_iter();
        self.utterances.retain(|_| is_new.next().unwrap_or(true));
        let more = count - errors.len();
        errors.into_iter().for_each(|error| self.reject(error));
        self.num_rejected += more;
    }

    /// The recordings. There is one at least, unless all that was named is
    /// [`rejected`](Self::rejected).
    #[must_use]
    pub fn utterances(&self) -> &[Utterance] {
        &self.utterances
    }

    /// The errors of inputs that cannot even be tried: malformed lines of lists, audio files in
    /// folders whose formats are not read, and recordings with the key of another. Each error
    /// names its file, and its line. The first hundred are kept;
    /// [`num_rejected`](Self::num_rejected) counts all. A run takes them into its
    /// [`Summary`](super::Summary).
    #[must_use]
    pub fn rejected(&self) -> &[Arc<Error>] {
        &self.rejected
    }

    /// The number of files, lines and recordings that are [`rejected`](Self::rejected).
    #[must_use]
    pub fn num_rejected(&self) -> usize {
        self.num_rejected
    }

    /// The files of folders that are passed over because they are no audio at all, such as
    /// transcripts.
    #[must_use]
    pub fn others(&self) -> &[PathBuf] {
        &self.others
    }

    /// The number of recordings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.utterances.len()
    }

    /// Returns `true` if there are no recordings: all inputs were [`rejected`](Self::rejected).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.utterances.is_empty()
    }

    /// The part of the list that is `shard`'s: consecutive, so that the shards one after the
    /// other are the whole list. The [`rejected`](Self::rejected) inputs are the first shard's.
    ///
    /// # Errors
    /// [`Error::EmptyShard`] if there are fewer recordings than shards and none is left for this
    /// one.
    pub fn shard(&self, shard: Shard) -> Result<Self, Error> {
        let bound = |index: usize| {
            // In 128 bits, as the product may be more than a size can be; the quotient never is.
            usize::try_from(self.utterances.len() as u128 * index as u128 / shard.count as u128).unwrap_or(usize::MAX)
        };
        let utterances = &self.utterances[bound(shard.index - 1)..bound(shard.index)];
        if utterances.is_empty() {
            return Err(Error::EmptyShard { shard, recordings: self.utterances.len() });
        }
        let paths = self.paths.clone();
        let inputs = Self { utterances: utterances.to_vec(), paths, ..Self::default() };
        if shard.index > 1 {
            return Ok(inputs);
        }
        let Self { num_rejected, .. } = *self;
        Ok(Self { rejected: self.rejected.clone(), num_rejected, others: self.others.clone(), ..inputs })
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

    /// The number of parts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The name of the shard's part of the file `path`: for `x.ark` it is `x.2-of-8.ark`.
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

/// The most errors of rejected inputs that are kept.
const MOST_REJECTED: usize = 100;

fn add_folder(folder: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    let (begin, begin_rejected) = (inputs.utterances.len(), inputs.rejected.len());
    let mut to_visit = vec![folder.to_owned()];
    while let Some(visited) = to_visit.pop() {
        let unreadable = |source| Error::Read { path: visited.clone(), source };
        let entries = match fs::read_dir(&visited).map_err(unreadable) {
            Ok(entries) => entries,
            Err(error) if visited == folder => return Err(error),
            Err(error) => {
                inputs.reject(error);
                continue;
            }
        };
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            if entry.file_type().map_err(unreadable)?.is_dir() {
                to_visit.push(path);
            } else if path.is_dir() {
                // A link to a folder is not followed.
            } else if has_ending(&path, AUDIO) || has_ending(&path, COMPRESSED) {
                let relative = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                inputs.add_file(path, &relative);
            } else if let Some(error) = not_listed(&path) {
                inputs.reject(error);
            } else {
                inputs.others.push(path);
            }
        }
    }
    inputs.utterances[begin..].sort_by(|a, b| a.key.cmp(&b.key));
    inputs.rejected[begin_rejected..].sort_by_cached_key(ToString::to_string);
    inputs.others.sort();
    Ok(())
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|is| endings.iter().any(|ending| is.eq_ignore_ascii_case(ending)))
}

/// The reason why a file without the extension of a supported audio format should be one of the
/// recordings, and is not; `None` if it is not audio.
fn not_listed(path: &Path) -> Option<Error> {
    let in_file = |source| kaldera_audio::Error::Recording { path: path.to_owned(), source: Box::new(source) }.into();
    let mut head = Vec::new();
    // A FIFO may have no writer.
    if path.is_file() {
        let read =
            File::open(path).and_then(|file| file.take(kaldera_audio::FORMAT_HEAD as u64).read_to_end(&mut head));
        if let Err(source) = read {
            return Some(in_file(kaldera_audio::Error::Open { source }));
        }
    }
    match kaldera_audio::format_error(&head) {
        None => Some(Error::UnlistedFile { path: path.to_owned() }),
        Some(error) if kaldera_audio::is_audio(&head) || has_ending(path, kaldera_audio::AUDIO_ENDINGS) => {
            Some(in_file(error))
        }
        Some(_) => None,
    }
}

fn add_script(path: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    add_script_of(path, inputs, Source::Script)
}

fn add_script_of(path: &Path, inputs: &mut Inputs, source: fn(String) -> Source) -> Result<(), Error> {
    for_each_line(path, inputs, |_, line, inputs| {
        let (key, rxfilename) = line.split_once(|c: char| c.is_ascii_whitespace())?;
        inputs.utterances.push(Utterance::new(key, source(rxfilename.trim_start().to_owned())));
        Some(())
    })
}

/// Calls `take` with the number of each line of a text file, counted from 1, and the line,
/// trimmed; a line that it does not take is rejected.
fn for_each_line(
    path: &Path,
    inputs: &mut Inputs,
    mut take: impl FnMut(u64, &str, &mut Inputs) -> Option<()>,
) -> Result<(), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let mut lines = Lines::new(BufReader::new(File::open(path).map_err(unreadable)?));
    while let Some(text) = lines.next() {
        let line = lines.number();
        match text {
            Ok(text) => {
                if take(line, text.trim(), inputs).is_none() {
                    inputs.reject(Error::ScriptLine { path: path.to_owned(), line, text: beginning(&text) });
                }
            }
            Err(LineError::Read(source)) => return Err(unreadable(source)),
            Err(source) => inputs.reject(Error::Line { path: path.to_owned(), line, source }),
        }
    }
    Ok(())
}

/// As much of a line as a message should have.
pub(crate) fn beginning(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
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
    }

    #[test]
    fn of_many_lines_that_are_none_the_first_hundred_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wav.scp");
        fs::write(&path, format!("a a.wav\n{}{}", "lonely\n".repeat(300), "a b.wav\n".repeat(300))).unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        assert_eq!((keys(&inputs), inputs.rejected().len(), inputs.num_rejected()), (vec!["a"], 100, 600));
        let repeated = Inputs::new(vec![inputs.utterances()[0].clone(); 201]).unwrap();
        assert_eq!((repeated.rejected().len(), repeated.num_rejected()), (100, 200));
    }

    #[test]
    fn a_line_that_is_none_is_named_and_does_not_end_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wav.scp");
        let long = "x".repeat(2 << 20);
        let text = format!("\u{feff}a a.wav\r\nlonely\n\nb b.wav\r\n{long} c.wav\nd d.wav\n");
        fs::write(&path, [text.as_bytes(), b"\xff e.wav\n"].concat()).unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        assert_eq!(keys(&inputs), ["a", "b", "d"]);
        assert_eq!(inputs.utterances()[0].source, Source::Script("a.wav".into()));
        let errors: Vec<_> = inputs.rejected().iter().map(ToString::to_string).collect();
        for (error, expected) in
            errors.iter().zip(["scp:2: 'lonely'", "scp:3: ''", "scp:5: the line has more than 1048576", "scp:7: "])
        {
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(errors.len(), 4);
        // Even if it is the only one.
        fs::write(&path, "lonely\n").unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        assert!(inputs.is_empty() && inputs.rejected().len() == 1);
    }

    #[test]
    fn files_of_a_folder_that_are_not_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            ("a.wav", &b""[..]),
            ("x.opus", b"OggS\0\x02\0\0\0\0\0\0\0\0\xA2\x4D\x01\x3C\0\0\0\0\xB8\x6D\x0B\xAD\x01\x13OpusHead"),
            ("x.wma", b"\x30\x26\xB2\x75\x8E\x66\xCF\x11"),
            ("sub/x.amr", b"#!AMR\n"),
            ("x.gsm", b"\xD2"),
            ("recording", b"RIFF\0\0\0\0WAVEfmt "),
            ("notes.txt", b"spoken by"),
            ("text.gz", b"\x1F\x8B"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let inputs = Inputs::from_paths([folder.path()]).unwrap();
        let reads_opus = cfg!(feature = "opus");
        assert_eq!(keys(&inputs), if reads_opus { &["a", "x"][..] } else { &["a"] });
        let errors: Vec<_> = inputs.rejected().iter().map(ToString::to_string).collect();
        let mut expected = vec![
            ["recording", "audio by its contents"],
            ["sub/x.amr: AMR", "ffmpeg -i FILE -f wav - |"],
            ["x.gsm: ", "not audio"],
            ["x.opus: Opus", "ffmpeg -i FILE -f wav - |"],
            ["x.wma: Windows Media", "ffmpeg -i FILE -f wav - |"],
        ];
        if reads_opus {
            expected.remove(3);
        }
        assert_eq!(errors.len(), expected.len());
        for (error, parts) in errors.iter().zip(expected) {
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        let others: Vec<_> = inputs.others().iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(others, ["notes.txt", "text.gz"]);
    }

    #[test]
    fn of_a_key_that_occurs_again_the_first_is_kept_and_the_others_are_named() {
        let inputs = Inputs::from_paths(["x/a.wav", "b.wav", "y/a.wav", "z/a.wav"]).unwrap();
        assert_eq!(keys(&inputs), ["a", "b"]);
        assert_eq!(inputs.utterances()[0].source, Source::from("x/a.wav"));
        let errors: Vec<_> = inputs.rejected().iter().map(ToString::to_string).collect();
        for (error, file) in errors.iter().zip(["y/a.wav", "z/a.wav"]) {
            assert!(error.starts_with(file) && error.contains("'a'") && error.contains("x/a.wav"), "{error}");
        }
        assert_eq!(errors.len(), 2);
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
