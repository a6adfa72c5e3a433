//! Sequential access to tables.

use std::collections::VecDeque;
use std::iter::{FusedIterator, Peekable};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tracing::warn;

use crate::error::Error;
use crate::holders::Holder;
use crate::rxfilename::Input;
use crate::specifier::{Rspecifier, TableKind};
use crate::table::archive::ArchiveItems;
use crate::table::script::{Loader, ScriptItems, ScriptLines};

/// Reads a table from its first object to its last: an iterator over keys and objects.
///
/// An error is the last item, as Kaldi throws. With the option `p`, objects that cannot be read are
/// left out with a warning instead: single objects of a script file, but in an archive also all
/// objects after them. A wrong `[range]` is always an error.
///
/// ```
/// use kaldi_io::table::SequentialReader;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ages.txt");
/// # let path = path.to_str().unwrap();
/// std::fs::write(path, "ann 31\nbob 27\n")?;
/// for entry in SequentialReader::<i32>::open(&format!("ark:{path}"))? {
///     let (name, age) = entry?;
///     println!("{name} is {age}");
/// }
/// // The same for a path, and all at once.
/// let ages: std::collections::HashMap<String, i32> =
///     SequentialReader::from_archive(path)?.collect::<Result<_, _>>()?;
/// assert_eq!(ages["bob"], 27);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "SequentialTableReader")]
pub struct SequentialReader<T> {
    source: Source<T>,
    permissive: bool,
    /// `true` if a thread is to read. It starts with the first request, as options may be set until
    /// then.
    background: bool,
}

type Item<T> = Result<(String, T), Error>;

enum Source<T> {
    Archive(Box<dyn Iterator<Item = Item<T>> + Send>),
    Script(Box<ScriptItems<Peekable<ScriptLines>, T>>),
    Background(Background<T>),
    /// The state after the end or an error.
    Ended,
}

impl<T: Holder> SequentialReader<T> {
    /// Opens the table of an rspecifier. Reads the first key and object of an archive, or the first
    /// line of a script file, at once.
    ///
    /// # Errors
    /// [`Error::InvalidRspecifier`]; the errors of opening the file; errors of its beginning, even
    /// with the option `p`.
    pub fn open(rspecifier: &str) -> Result<Self, Error> {
        let specifier = Rspecifier::parse(rspecifier)?;
        let input = Input::open(&specifier.rxfilename)?;
        let reader = match specifier.kind {
            TableKind::Archive => Self::from_archive_input(input)?,
            TableKind::Script => Self::from_script_input(input)?,
        };
        let reader = if specifier.permissive { reader.permissive() } else { reader };
        Ok(if specifier.background { reader.in_background() } else { reader })
    }

    /// Opens the archive in a file, like `ark:`.
    ///
    /// # Errors
    /// [`Error::Open`]; errors of the first key and object.
    pub fn from_archive(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_archive_input(Input::open_path(path)?)
    }

    /// Opens the objects that a script file lists, like `scp:`.
    ///
    /// # Errors
    /// [`Error::Open`]; errors of the first line.
    pub fn from_script(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_script_input(Input::open_path(path)?)
    }

    /// Reads an archive from any input.
    ///
    /// # Errors
    /// Errors of the first key and object.
    pub fn from_archive_input(input: Input) -> Result<Self, Error> {
        let items = started(ArchiveItems::new(input))?;
        Ok(SequentialReader { source: Source::Archive(Box::new(items)), permissive: false, background: false })
    }

    /// Reads the objects of a script file from any input.
    ///
    /// # Errors
    /// Errors of the first line.
    pub fn from_script_input(input: Input) -> Result<Self, Error> {
        let loader = Loader::new(input.name(), false);
        let lines = started(ScriptLines::new(input))?;
        let items = Box::new(ScriptItems::new(lines, loader));
        Ok(SequentialReader { source: Source::Script(items), permissive: false, background: false })
    }

    /// Leaves out objects that cannot be read, like the option `p`.
    #[must_use]
    pub fn permissive(mut self) -> Self {
        self.permissive = true;
        if let Source::Script(items) = &mut self.source {
            items.permissive();
        }
        self
    }

    /// Disables commands in place of files in a script file, for lists from untrusted sources: such
    /// a key is an error, [`Error::PipeRefused`].
    ///
    /// ```
    /// use kaldi_io::table::SequentialReader;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("words.scp");
    /// std::fs::write(&path, "a echo 1 |\n")?;
    /// let mut numbers = SequentialReader::<i32>::from_script(&path)?.without_pipes();
    /// let error = numbers.next().unwrap().unwrap_err();
    /// assert!(error.to_string().contains("'echo 1' is not run"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_pipes(mut self) -> Self {
        if let Source::Script(items) = &mut self.source {
            items.without_pipes();
        }
        self
    }

    /// Makes a failed command of a script file an error even if it wrote an object, which may be
    /// incomplete. Kaldi's programs warn, and so does a reader without this option.
    ///
    /// ```
    /// use kaldi_io::table::SequentialReader;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("words.scp");
    /// std::fs::write(&path, "a echo 1; exit 3 |\n")?;
    /// let mut numbers = SequentialReader::<i32>::from_script(&path)?.checking_pipes();
    /// let error = numbers.next().unwrap().unwrap_err();
    /// assert!(error.to_string().contains("exit status: 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checking_pipes(mut self) -> Self {
        if let Source::Script(items) = &mut self.source {
            items.checking_pipes();
        }
        self
    }

    /// Reads only the objects whose keys are `wanted`. Other files of a script file are not even
    /// opened; other objects of an archive have to be read on the way.
    ///
    /// ```
    /// use kaldi_io::table::SequentialReader;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("words.scp");
    /// # std::fs::write(&path, "a echo 1 |\nb no-such-command |\nc echo 3 |\n")?;
    /// let numbers = SequentialReader::<i32>::from_script(&path)?.only(|key| key != "b");
    /// assert_eq!(
    ///     numbers.map(|entry| Ok(entry?.1)).collect::<Result<Vec<_>, kaldi_io::Error>>()?,
    ///     [1, 3]
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn only(self, wanted: impl FnMut(&str) -> bool + Send + 'static) -> Self {
        let source = match self.source {
            Source::Script(mut items) => {
                items.only(Box::new(wanted));
                Source::Script(items)
            }
            Source::Archive(items) => Source::Archive(Box::new(items.filter(read_and(wanted)))),
            Source::Background(items) => Source::Archive(Box::new(items.filter(read_and(wanted)))),
            Source::Ended => Source::Ended,
        };
        SequentialReader { source, ..self }
    }

    /// Reads one object ahead in another thread, like the option `bg`, from the first request on.
    /// Objects that are unread when the reader is dropped stay unread. If no thread can be started,
    /// warns and reads without one.
    #[must_use]
    pub fn in_background(self) -> Self {
        SequentialReader { background: true, ..self }
    }
}

impl<T: Holder> Source<T> {
    /// Moves the source to a thread.
    fn in_background(self) -> Self {
        // Without capacity: one object is read ahead and waits.
        let (sender, ready) = sync_channel(0);
        let items = Arc::new(Mutex::new(VecDeque::new()));
        let source = Arc::new(Mutex::new(Some(self)));
        let (span, to_read, read) = (tracing::Span::current(), Arc::clone(&source), Arc::clone(&items));
        let read_all = move || {
            let _span = span.entered();
            let Some(mut source) = lock(&to_read).take() else { return };
            // Sending fails once the reader has been dropped.
            while let Some(item) = source.next() {
                lock(&read).push_back(item);
                if sender.send(()).is_err() {
                    break;
                }
            }
        };
        match thread::Builder::new().spawn(read_all) {
            Ok(thread) => Source::Background(Background { ready, items, thread: Some(thread) }),
            Err(error) => {
                warn!("cannot start a thread to read in the background: {error}");
                lock(&source).take().unwrap_or(Source::Ended)
            }
        }
    }

    fn next(&mut self) -> Option<Item<T>> {
        match self {
            Source::Archive(items) => items.next(),
            Source::Script(items) => items.next(),
            Source::Background(items) => items.next(),
            Source::Ended => None,
        }
    }
}

/// Items that another thread reads. They bypass the channel, so that it is compiled once, not for
/// each type of object.
struct Background<T> {
    ready: Receiver<()>,
    items: Arc<Mutex<VecDeque<Item<T>>>>,
    /// `None` after its end.
    thread: Option<JoinHandle<()>>,
}

impl<T> Iterator for Background<T> {
    type Item = Item<T>;

    fn next(&mut self) -> Option<Item<T>> {
        if self.ready.recv().is_ok() {
            return lock(&self.items).pop_front();
        }
        // A panic is not the end of the table.
        self.thread.take()?.join().err().map(|_| Err(Error::BackgroundPanic))
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Holder> Iterator for SequentialReader<T> {
    type Item = Item<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::take(&mut self.background) {
            self.source = std::mem::replace(&mut self.source, Source::Ended).in_background();
        }
        let item = self.source.next();
        if !matches!(item, Some(Ok(_))) {
            self.source = Source::Ended;
        }
        match item {
            Some(Err(error)) if self.permissive && !error.is_range() => {
                warn!("{error}; ignoring the rest, as in permissive mode");
                None
            }
            item => item,
        }
    }
}

impl<T: Holder> FusedIterator for SequentialReader<T> {}

impl<T> std::fmt::Debug for SequentialReader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SequentialReader").field("permissive", &self.permissive).finish_non_exhaustive()
    }
}

/// Accepts errors, and items whose keys are wanted.
fn read_and<T>(mut wanted: impl FnMut(&str) -> bool) -> impl FnMut(&Item<T>) -> bool {
    move |item| item.as_ref().map_or(true, |(key, _)| wanted(key))
}

/// Reads the first item now: an error makes opening fail. The error of a failed command comes after
/// all items, even if there are none.
fn started<I, V>(items: I) -> Result<Peekable<I>, Error>
where
    I: Iterator<Item = Result<V, Error>>,
{
    let mut items = items.peekable();
    match items.next_if(|item| matches!(item, Err(error) if !matches!(error, Error::Command { .. }))) {
        Some(Err(error)) => Err(error),
        _ => Ok(items),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TableWriter;
    use kaldi_matrix::Matrix;
    use proptest::prelude::*;
    use tempfile::TempDir;

    /// Files in a folder of their own.
    struct Folder(TempDir);

    impl Folder {
        fn new(files: &[(&str, &[u8])]) -> Self {
            let folder = Folder(tempfile::tempdir().unwrap());
            for (name, bytes) in files {
                std::fs::write(folder.path(name), bytes).unwrap();
            }
            folder
        }

        fn path(&self, name: &str) -> String {
            self.0.path().join(name).to_str().unwrap().to_owned()
        }

        /// Writes a script file; `@` stands for this folder.
        fn script(&self, lines: &str) -> String {
            let path = self.path("script.scp");
            std::fs::write(&path, lines.replace('@', self.0.path().to_str().unwrap())).unwrap();
            path
        }
    }

    /// Returns the items before the end or an error, and that error.
    fn read<T: Holder>(rspecifier: &str) -> (Vec<(String, T)>, Option<Error>) {
        let mut items = Vec::new();
        let mut reader = SequentialReader::open(rspecifier).unwrap();
        for item in &mut reader {
            match item {
                Ok(item) => items.push(item),
                Err(error) => {
                    assert!(reader.next().is_none());
                    return (items, Some(error));
                }
            }
        }
        assert!(reader.next().is_none());
        (items, None)
    }

    fn pairs(expected: &[(&str, i32)]) -> Vec<(String, i32)> {
        expected.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
    }

    fn matrix(rows: usize, cols: usize) -> Matrix<f32> {
        Matrix::from_vec(rows, cols, (0..rows * cols).map(|i| i as f32).collect()).unwrap()
    }

    #[test]
    fn archives_from_files_and_commands_also_in_the_background() {
        let folder = Folder::new(&[("a", b"x 1\ny 2\nz 3\n")]);
        let path = folder.path("a");
        for rspecifier in [format!("ark:{path}"), format!("ark:cat {path} |"), format!("ark,bg:{path}")] {
            let (items, error) = read::<i32>(&rspecifier);
            assert_eq!(items, pairs(&[("x", 1), ("y", 2), ("z", 3)]));
            assert!(error.is_none());
        }
        // A reader that is dropped early does not hang on its thread.
        assert!(SequentialReader::<i32>::open(&format!("ark,bg:{path}")).unwrap().next().is_some());
    }

    #[test]
    fn a_panic_in_the_background_is_not_the_end_of_the_table() {
        let items = (1..).map(|value| match value {
            3 => panic!("a reader's panic, on purpose"),
            _ => Ok((value.to_string(), value)),
        });
        let source = Source::Archive(Box::new(items));
        let mut reader = SequentialReader::<i32> { source, permissive: false, background: true };
        assert_eq!(reader.by_ref().take(2).map(|item| item.unwrap().1).collect::<Vec<_>>(), [1, 2]);
        assert!(matches!(reader.next(), Some(Err(Error::BackgroundPanic))));
        assert!(reader.next().is_none());
    }

    #[test]
    fn a_damaged_archive_is_an_error_at_its_place_and_with_p_the_end() {
        let folder = Folder::new(&[("a", b"x 1\ny oops\nz 3\n")]);
        let path = folder.path("a");
        for options in ["ark", "ark,bg"] {
            let (items, error) = read::<i32>(&format!("{options}:{path}"));
            assert_eq!(items, pairs(&[("x", 1)]));
            assert!(error.unwrap().to_string().contains("byte 6: key 'y'"));
        }
        for options in ["ark,p", "ark,p,bg"] {
            let (items, error) = read::<i32>(&format!("{options}:{path}"));
            assert_eq!((items, error.is_none()), (pairs(&[("x", 1)]), true));
        }
    }

    #[test]
    fn a_bad_beginning_keeps_the_table_from_opening() {
        let folder = Folder::new(&[("a", b"x oops\n")]);
        assert!(SequentialReader::<i32>::open(&format!("ark,p:{}", folder.path("a"))).is_err());
        assert!(SequentialReader::<i32>::open(&format!("scp,p:{}", folder.script("x\n"))).is_err());
        assert!(SequentialReader::<i32>::open(&format!("ark,p:{}", folder.path("none"))).is_err());
        assert!(matches!(SequentialReader::<i32>::open("a.ark"), Err(Error::InvalidRspecifier { .. })));
        let empty = Folder::new(&[("a", b"")]);
        assert!(read::<i32>(&format!("ark:{}", empty.path("a"))).0.is_empty());
        assert!(read::<i32>(&format!("scp:{}", empty.path("a"))).0.is_empty());
    }

    #[test]
    fn a_command_that_fails_is_an_error_after_its_items() {
        let (items, error) = read::<i32>("ark:echo x 1; exit 2 |");
        assert_eq!(items, pairs(&[("x", 1)]));
        assert!(error.unwrap().to_string().contains("'echo x 1; exit 2' failed"));
        assert!(matches!(read::<i32>("ark:exit 2 |").1, Some(Error::Command { .. })));
        assert!(read::<i32>("ark,p:echo x 1; exit 2 |").1.is_none());
        assert!(matches!(read::<i32>("scp:exit 2 |").1, Some(Error::Command { .. })));
    }

    #[test]
    fn scripts_point_to_files_offsets_and_commands() {
        let folder = Folder::new(&[("one", b"1\n"), ("ark", b"x 7\nyy 8\n")]);
        let script = folder.script("a @/one\nb @/ark:2\nc @/ark:7\nd @/ark:2\ne echo 5 |\nf @/ark:7\n");
        let (items, error) = read::<i32>(&format!("scp:{script}"));
        assert_eq!(items, pairs(&[("a", 1), ("b", 7), ("c", 8), ("d", 7), ("e", 5), ("f", 8)]));
        assert!(error.is_none());
    }

    #[test]
    fn what_a_script_cannot_load_is_an_error_and_with_p_left_out() {
        let folder = Folder::new(&[("one", b"1\n"), ("bad", b"oops\n")]);
        let script = folder.script("a @/one\nb @/none\nc @/bad\nd exit 1 |\ne @/one\n");
        let (items, error) = read::<i32>(&format!("scp:{script}"));
        assert_eq!(items, pairs(&[("a", 1)]));
        let message = error.unwrap().to_string();
        assert!(message.contains("key 'b'") && message.contains("/none'"), "{message}");
        let (items, error) = read::<i32>(&format!("scp,p:{script}"));
        assert_eq!(items, pairs(&[("a", 1), ("e", 1)]));
        assert!(error.is_none());
    }

    #[test]
    fn what_is_not_wanted_is_not_opened() {
        let folder = Folder::new(&[("one", b"1\n"), ("ark", b"a 1\nb 2\nc 3\nd x\n")]);
        let script = folder.script("a @/one\nb @/none\nc @/one\nd @/none\n");
        let only = |rspecifier: &str| {
            let reader =
                SequentialReader::<i32>::open(rspecifier).unwrap().only(|key| key != "b").only(|key| key < "d");
            reader.map(|item| item.map(|(key, _)| key).map_err(drop)).collect::<Vec<_>>()
        };
        let wanted = ["a", "c"].map(|key| Ok(key.to_owned()));
        assert_eq!(only(&format!("scp:{script}")), wanted);
        // Archives read skipped objects too, and report their errors.
        for rspecifier in [format!("ark:{}", folder.path("ark")), format!("ark,bg:{}", folder.path("ark"))] {
            assert_eq!(only(&rspecifier), [&wanted[..], &[Err(())]].concat());
        }
        assert_eq!(only(&format!("scp,bg:{script}")), wanted);
    }

    #[test]
    fn a_malformed_line_is_an_error_and_with_p_the_end() {
        let folder = Folder::new(&[("one", b"1\n")]);
        let script = folder.script("a @/one\n\nc @/one\n");
        let (items, error) = read::<i32>(&format!("scp:{script}"));
        assert_eq!(items, pairs(&[("a", 1)]));
        assert!(error.unwrap().to_string().contains("line 2"));
        assert_eq!(read::<i32>(&format!("scp,p:{script}")).0, pairs(&[("a", 1)]));
    }

    #[test]
    fn ranges() {
        let folder = Folder::new(&[]);
        let mut writer = TableWriter::open(&format!("ark:{}", folder.path("ark"))).unwrap();
        writer.write("m", &matrix(10, 3)).unwrap();
        writer.close().unwrap();
        let script = folder.script("a @/ark:2[1:2]\nb @/ark:2[:,1:1]\nc @/ark:2[8:12]\n");
        let (items, error) = read::<Matrix<f32>>(&format!("scp:{script}"));
        assert!(error.is_none());
        let expected = [(1, 2, 0, 3), (0, 10, 1, 1), (8, 2, 0, 3)];
        for ((_, part), (row, rows, col, cols)) in items.iter().zip(expected) {
            assert_eq!(part, &matrix(10, 3).range(row, rows, col, cols).unwrap().to_owned());
        }
        for options in ["scp", "scp,p", "scp,p,bg"] {
            let script = folder.script("a @/ark:2\nb @/ark:2[0:13]\nc @/ark:2\n");
            let (items, error) = read::<Matrix<f32>>(&format!("{options}:{script}"));
            assert_eq!(items.len(), 1);
            assert!(error.unwrap().is_range(), "a bad range is an error even with p");
        }
    }

    /// Reduces the number of cases, as each writes files; `PROPTEST_CASES` still scales it.
    fn fewer_cases() -> ProptestConfig {
        let default = ProptestConfig::default();
        ProptestConfig { cases: default.cases / 4, ..default }
    }

    proptest! {
        #![proptest_config(fewer_cases())]

        #[test]
        fn no_archive_makes_it_panic(spoilt in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), end: prop::sample::Index) {
            let folder = Folder::new(&[]);
            let path = folder.path("ark");
            let mut writer = TableWriter::open(&format!("ark:{path}")).unwrap();
            writer.write("a", &matrix(2, 2)).unwrap();
            writer.write("b", &matrix(0, 0)).unwrap();
            writer.write("c", &matrix(1, 3)).unwrap();
            writer.close().unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            for (index, byte) in spoilt {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            bytes.truncate(end.index(bytes.len() + 1));
            std::fs::write(&path, bytes).unwrap();
            if let Ok(reader) = SequentialReader::<Matrix<f32>>::open(&format!("ark:{path}")) {
                prop_assert!(reader.count() <= 30);
            }
        }

        #[test]
        fn no_script_makes_it_panic(lines in "([a-c]{0,2}[ \t]?(@/ark)?(:[0-9]{1,3})?(\\[[0-9:,]{0,5}\\]?)?\n?){0,5}", permissive: bool) {
            let folder = Folder::new(&[("ark", b"a  [ 1 2 3 ]\nb  [ 4 5 ]\n")]);
            let options = if permissive { "scp,p" } else { "scp" };
            if let Ok(reader) = SequentialReader::<Matrix<f32>>::open(&format!("{options}:{}", folder.script(&lines))) {
                prop_assert!(reader.count() <= 6);
            }
        }
    }
}
