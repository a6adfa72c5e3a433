//! Random access to tables by key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use tracing::warn;

use crate::error::Error;
use crate::holders::Holder;
use crate::rxfilename::Input;
use crate::specifier::{Rspecifier, TableKind};
use crate::table::archive::ArchiveItems;
use crate::table::script::{Loader, ScriptLine, ScriptLines};

/// Random access to a table by key.
///
/// An archive is read up to the requested key, and all objects on the way are kept, unless options
/// of the rspecifier allow less. With `s` the search stops where the key would have been. With
/// `s,cs` only one object is kept. With `o` an object is dropped at the next request. For a script
/// file the lines are kept, and the last object.
///
/// ```
/// use kaldi_io::table::RandomAccessReader;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("utt2spk");
/// # let path = path.to_str().unwrap();
/// std::fs::write(path, "utt1 ann\nutt2 bob\n")?;
/// let mut speakers = RandomAccessReader::<String>::open(&format!("ark,s,cs:{path}"))?;
/// assert_eq!(speakers.value("utt2")?, "bob");
/// assert!(!speakers.has_key("utt3")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "RandomAccessTableReader")]
pub struct RandomAccessReader<T> {
    name: String,
    source: Source<T>,
}

enum Source<T> {
    Archive(Archive<T>),
    Script(Script<T>),
}

impl<T: Holder> RandomAccessReader<T> {
    /// Opens the table of an rspecifier. A script file is read completely; of an archive nothing is
    /// read yet.
    ///
    /// # Errors
    /// [`Error::InvalidRspecifier`]; the errors of opening the file; for a script file also errors
    /// of its contents, [`Error::DuplicateKey`] and [`Error::NotSorted`].
    pub fn open(rspecifier: &str) -> Result<Self, Error> {
        let specifier = Rspecifier::parse(rspecifier)?;
        let input = Input::open(&specifier.rxfilename)?;
        let Rspecifier { once, sorted, called_sorted, permissive, .. } = specifier;
        let options = Options { once, sorted, called_sorted, permissive };
        let name = specifier.rxfilename;
        let source = match specifier.kind {
            TableKind::Archive => Source::Archive(Archive::new(name.clone(), input, options)),
            TableKind::Script => Source::Script(Script::read(&name, input, options)?),
        };
        Ok(RandomAccessReader { name, source })
    }

    /// Opens the archive in a file, like `ark:`.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn from_archive(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::from_archive_input(Input::open_path(path)?))
    }

    /// Opens the objects that a script file lists, like `scp:`, and reads its lines.
    ///
    /// # Errors
    /// [`Error::Open`]; errors of its lines; [`Error::DuplicateKey`].
    pub fn from_script(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_script_input(Input::open_path(path)?)
    }

    /// Reads an archive from any input, as far as the requests need.
    pub fn from_archive_input(input: Input) -> Self {
        let name = input.name().to_owned();
        RandomAccessReader { source: Source::Archive(Archive::new(name.clone(), input, Options::default())), name }
    }

    /// Reads the lines of a script file from any input.
    ///
    /// # Errors
    /// Errors of the lines; [`Error::DuplicateKey`].
    pub fn from_script_input(input: Input) -> Result<Self, Error> {
        let name = input.name().to_owned();
        Ok(RandomAccessReader { source: Source::Script(Script::read(&name, input, Options::default())?), name })
    }

    /// Promises that the keys of the archive are sorted, like the option `s`: a request for a
    /// missing key does not read to the end. No effect on script files, whose lines are all known.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        if let Source::Archive(archive) = &mut self.source {
            archive.options.sorted = true;
        }
        self
    }

    /// Promises that keys are requested in sorted order, like the option `cs`: of an archive that
    /// is [`sorted`](Self::sorted) too, one object is kept.
    #[must_use]
    pub fn called_sorted(mut self) -> Self {
        if let Source::Archive(archive) = &mut self.source {
            archive.options.called_sorted = true;
        }
        self
    }

    /// Promises that each key is requested once, like the option `o`: its object is dropped then.
    #[must_use]
    pub fn once(mut self) -> Self {
        if let Source::Archive(archive) = &mut self.source {
            archive.options.once = true;
        }
        self
    }

    /// Treats objects that cannot be read as missing, like the option `p`.
    #[must_use]
    pub fn permissive(mut self) -> Self {
        match &mut self.source {
            Source::Archive(archive) => archive.options.permissive = true,
            Source::Script(script) => script.loader.permissive = true,
        }
        self
    }

    /// Disables commands in place of files in a script file, for lists from untrusted sources:
    /// access to such an object is an error, [`Error::PipeRefused`].
    #[must_use]
    pub fn without_pipes(mut self) -> Self {
        if let Source::Script(script) = &mut self.source {
            script.loader.pipes = false;
        }
        self
    }

    /// Returns `true` if there is an object with this key. An archive may have to be read for this;
    /// with `scp,p` the object is loaded, and counts as missing if it cannot be.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`], [`Error::NotSorted`], [`Error::NotCalledSorted`]; a damaged
    /// archive, which counts as the end with the option `p`.
    #[doc(alias = "HasKey")]
    pub fn has_key(&mut self, key: &str) -> Result<bool, Error> {
        match &mut self.source {
            Source::Archive(archive) => archive.find(key),
            Source::Script(script) => script.has_key(key),
        }
    }

    /// Returns the object with this key.
    ///
    /// # Errors
    /// [`Error::MissingKey`], the errors of [`has_key`](Self::has_key), and errors of the object.
    #[doc(alias = "Value")]
    pub fn value(&mut self, key: &str) -> Result<&T, Error> {
        let object = match &mut self.source {
            Source::Archive(archive) => archive.value(key)?,
            Source::Script(script) => script.value(key)?,
        };
        object.ok_or_else(|| Error::MissingKey { name: self.name.clone(), key: key.to_owned() })
    }
}

impl<T> std::fmt::Debug for RandomAccessReader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RandomAccessReader").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Options of an rspecifier.
#[derive(Clone, Copy, Default)]
struct Options {
    once: bool,
    sorted: bool,
    called_sorted: bool,
    permissive: bool,
}

/// An archive and the objects read so far.
struct Archive<T> {
    name: String,
    options: Options,
    // `None` after the end or an error.
    items: Option<ArchiveItems<T>>,
    kept: HashMap<String, T>,
    last_read: Option<String>,
    last_asked: Option<String>,
    // With `o`: the key whose object is dropped at the next request.
    spent: Option<String>,
}

impl<T: Holder> Archive<T> {
    fn new(name: String, input: Input, options: Options) -> Self {
        Archive {
            name,
            options,
            items: Some(ArchiveItems::new(input)),
            kept: HashMap::new(),
            last_read: None,
            last_asked: None,
            spent: None,
        }
    }

    /// Reads on as far as necessary. Returns `true` if `key` is among the kept objects.
    fn find(&mut self, key: &str) -> Result<bool, Error> {
        let Options { sorted, called_sorted, .. } = self.options;
        if sorted && called_sorted {
            self.check_asked(key)?;
        }
        if let Some(spent) = self.spent.take_if(|spent| spent != key) {
            self.kept.remove(&spent);
        }
        while !self.kept.contains_key(key) {
            if sorted && self.last_read.as_deref().is_some_and(|last| last >= key) {
                return Ok(false);
            }
            match self.items.as_mut().and_then(Iterator::next) {
                Some(Ok((read, object))) => self.keep(read, object)?,
                Some(Err(error)) if self.options.permissive => {
                    warn!("{error}; taking this for the end, as in permissive mode");
                    self.items = None;
                }
                Some(Err(error)) => {
                    self.items = None;
                    return Err(error);
                }
                None => {
                    self.items = None;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn value(&mut self, key: &str) -> Result<Option<&T>, Error> {
        if !self.find(key)? {
            return Ok(None);
        }
        if self.options.once {
            self.spent = Some(key.to_owned());
        }
        Ok(self.kept.get(key))
    }

    fn check_asked(&mut self, key: &str) -> Result<(), Error> {
        match self.last_asked.as_deref() {
            Some(last) if last == key => {}
            Some(last) if last > key => {
                return Err(Error::NotCalledSorted {
                    name: self.name.clone(),
                    previous: last.to_owned(),
                    key: key.to_owned(),
                });
            }
            _ => self.last_asked = Some(key.to_owned()),
        }
        Ok(())
    }

    fn keep(&mut self, key: String, object: T) -> Result<(), Error> {
        let name = || self.name.clone();
        if self.options.sorted {
            match self.last_read.replace(key.clone()) {
                Some(last) if last == key => return Err(Error::DuplicateKey { name: name(), key }),
                Some(last) if last > key => return Err(Error::NotSorted { name: name(), previous: last, key }),
                _ => {}
            }
            if self.options.called_sorted {
                self.kept.clear();
            }
        }
        match self.kept.entry(key) {
            Entry::Occupied(entry) => Err(Error::DuplicateKey { name: name(), key: entry.key().clone() }),
            Entry::Vacant(entry) => {
                entry.insert(object);
                Ok(())
            }
        }
    }
}

/// The lines of a script file by key, and the last loaded object.
struct Script<T> {
    lines: HashMap<String, ScriptLine>,
    loader: Loader<T>,
    loaded: Option<(String, T)>,
}

impl<T: Holder> Script<T> {
    fn read(name: &str, input: Input, options: Options) -> Result<Self, Error> {
        let mut lines = HashMap::new();
        let mut last: Option<String> = None;
        for line in ScriptLines::new(input) {
            let line = line?;
            if options.sorted {
                match last.replace(line.key.clone()) {
                    Some(last) if last > line.key => {
                        return Err(Error::NotSorted { name: name.to_owned(), previous: last, key: line.key });
                    }
                    _ => {}
                }
            }
            if let Some(line) = lines.insert(line.key.clone(), line) {
                return Err(Error::DuplicateKey { name: name.to_owned(), key: line.key });
            }
        }
        let loader = Loader::new(name, options.permissive);
        Ok(Script { lines, loader, loaded: None })
    }

    fn has_key(&mut self, key: &str) -> Result<bool, Error> {
        if !self.loader.permissive {
            return Ok(self.lines.contains_key(key));
        }
        Ok(self.value(key)?.is_some())
    }

    fn value(&mut self, key: &str) -> Result<Option<&T>, Error> {
        let Some(line) = self.lines.get(key) else {
            return Ok(None);
        };
        if self.loaded.as_ref().is_none_or(|(loaded, _)| loaded != key) {
            self.loaded = self.loader.load(line)?.map(|object| (key.to_owned(), object));
        }
        Ok(self.loaded.as_ref().map(|(_, object)| object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const SORTED: &str = "a 1\nb 2\nd 4\n";

    fn table(options: &str, text: &str) -> (TempDir, Result<RandomAccessReader<i32>, Error>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table").to_str().unwrap().to_owned();
        std::fs::write(&path, text.replace('@', folder.path().to_str().unwrap())).unwrap();
        std::fs::write(folder.path().join("one"), "1\n").unwrap();
        std::fs::write(folder.path().join("bad"), "oops\n").unwrap();
        (folder, RandomAccessReader::open(&format!("{options}:{path}")))
    }

    #[test]
    fn any_order_with_whatever_options_that_are_true() {
        for options in ["ark", "ark,cs", "ark,s", "ark,o"] {
            let (_folder, reader) = table(options, SORTED);
            let mut reader = reader.unwrap();
            for (key, value) in [("d", 4), ("a", 1), ("b", 2)] {
                assert!(!reader.has_key("c").unwrap() && !reader.has_key("z").unwrap(), "{options}");
                assert!(reader.has_key(key).unwrap(), "{options}");
                assert_eq!(*reader.value(key).unwrap(), value, "{options}");
                assert_eq!(*reader.value(key).unwrap(), value, "{options}");
            }
            assert!(matches!(reader.value("c"), Err(Error::MissingKey { .. })));
        }
    }

    #[test]
    fn sorted_requests_keep_one_object() {
        let (_folder, reader) = table("ark,s,cs", SORTED);
        let mut reader = reader.unwrap();
        for (key, there) in
            [("A", false), ("a", true), ("b", true), ("c", false), ("c", false), ("d", true), ("e", false)]
        {
            assert_eq!(reader.has_key(key).unwrap(), there, "{key}");
            assert_eq!(reader.value(key).is_ok(), there, "{key}");
            let Source::Archive(archive) = &reader.source else { unreachable!() };
            assert!(archive.kept.len() <= 1);
        }
        assert!(matches!(reader.has_key("d"), Err(Error::NotCalledSorted { .. })));
    }

    #[test]
    fn once_forgets() {
        let (_folder, reader) = table("ark,o", SORTED);
        let mut reader = reader.unwrap();
        assert_eq!(*reader.value("b").unwrap(), 2);
        assert!(reader.has_key("a").unwrap());
        assert!(!reader.has_key("b").unwrap());
    }

    #[test]
    fn promises_are_checked() {
        let (_folder, reader) = table("ark,s", "b 1\na 2\n");
        assert!(matches!(reader.unwrap().has_key("c"), Err(Error::NotSorted { .. })));
        for options in ["ark", "ark,s", "ark,s,cs"] {
            let (_folder, reader) = table(options, "a 1\na 2\n");
            assert!(matches!(reader.unwrap().has_key("b"), Err(Error::DuplicateKey { .. })));
        }
        assert!(matches!(table("scp", "a @/one\na @/one\n").1, Err(Error::DuplicateKey { .. })));
        assert!(matches!(table("scp,s", "b @/one\na @/one\n").1, Err(Error::NotSorted { .. })));
    }

    #[test]
    fn a_damaged_archive() {
        let (_folder, reader) = table("ark", "a 1\nb oops\nc 3\n");
        let mut reader = reader.unwrap();
        assert!(reader.has_key("a").unwrap());
        assert!(reader.has_key("c").unwrap_err().to_string().contains("key 'b'"));
        let (_folder, reader) = table("ark,p", "a 1\nb oops\nc 3\n");
        assert!(!reader.unwrap().has_key("c").unwrap());
    }

    #[test]
    fn commands_are_not_run_without_pipes() {
        let (_folder, reader) = table("scp", "a @/one\nb echo 2 |\n");
        let mut reader = reader.unwrap().without_pipes();
        assert_eq!(*reader.value("a").unwrap(), 1);
        let message = reader.value("b").unwrap_err().to_string();
        assert!(message.contains("key 'b'") && message.contains("'echo 2' is not run"), "{message}");
    }

    #[test]
    fn scripts() {
        let lines = "b echo 2 |\na @/one\nc @/bad\nd @/one[0:1]\n";
        let (_folder, reader) = table("scp", lines);
        let mut reader = reader.unwrap();
        assert_eq!(*reader.value("a").unwrap(), 1);
        assert_eq!(*reader.value("b").unwrap(), 2);
        assert!(reader.has_key("c").unwrap());
        assert!(reader.value("c").unwrap_err().to_string().contains("key 'c': "));
        assert!(!reader.has_key("e").unwrap());
        assert!(matches!(reader.value("e"), Err(Error::MissingKey { .. })));
        let (_folder, reader) = table("scp,p", lines);
        let mut reader = reader.unwrap();
        assert!(reader.has_key("a").unwrap());
        assert!(!reader.has_key("c").unwrap());
        assert!(reader.has_key("d").unwrap_err().is_range());
    }
}
