//! Script file reader: lines of a key and the location of its object.

use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

use crate::error::{Error, excerpt};
use crate::holders::Holder;
use crate::lines::{self, LONGEST, Line};
use crate::rxfilename::{Input, Rxfilename, classify};
use crate::table::until_end::UntilEnd;

/// One line of a script file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptLine {
    pub(super) key: String,
    pub(crate) rxfilename: String,
    pub(super) range: Option<String>,
}

impl ScriptLine {
    fn parse(line: &str) -> Option<ScriptLine> {
        let (key, rest) = line.trim_ascii_start().split_once(|c: char| c.is_ascii_whitespace())?;
        let rest = rest.trim_ascii();
        let (rxfilename, range) = match rest.strip_suffix(']') {
            Some(rest) => rest.rsplit_once('[').map(|(name, range)| (name, Some(range.to_owned())))?,
            None => (rest, None),
        };
        // A single bracket is the beginning of a matrix.
        let is_file = !key.is_empty() && !matches!(rest, "" | "[") && !rest.contains('\0');
        is_file.then(|| ScriptLine { key: key.to_owned(), rxfilename: rxfilename.to_owned(), range })
    }
}

/// Iterator over the lines of a script file. An error is the last item.
pub(crate) struct ScriptLines {
    input: UntilEnd,
    line: u64,
}

impl ScriptLines {
    pub(crate) fn new(input: Input) -> Self {
        ScriptLines { input: UntilEnd::new(input), line: 0 }
    }

    fn read_line(input: &mut Input, line: u64) -> Result<Option<ScriptLine>, Error> {
        let mut bytes = Vec::new();
        let read = lines::read_line(input, line == 1, LONGEST, &mut bytes);
        let is_archive = bytes.contains(&0) || bytes.trim_ascii_end().ends_with(b" [");
        match read.map_err(|source| input.read_error(source))? {
            Line::End => return Ok(None),
            Line::TooLong if !is_archive => {
                return Err(Error::LongLine { name: input.name().to_owned(), line, limit: LONGEST });
            }
            Line::Whole | Line::TooLong => {}
        }
        let parsed = std::str::from_utf8(&bytes).ok().and_then(ScriptLine::parse);
        parsed.map(Some).ok_or_else(|| Error::Script {
            name: input.name().to_owned(),
            line,
            found: excerpt(bytes.trim_ascii_end()),
            archive: is_archive,
        })
    }
}

impl Iterator for ScriptLines {
    type Item = Result<ScriptLine, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line += 1;
        self.input.next(|input| Self::read_line(input, self.line))
    }
}

static PIPES_REFUSED: AtomicBool = AtomicBool::new(false);

/// Disables the commands of script files in this process from now on: all tables that are opened
/// later behave like [`without_pipes`](super::SequentialReader::without_pipes). For a program that
/// reads lists from elsewhere.
pub fn refuse_pipes() {
    PIPES_REFUSED.store(true, Ordering::Relaxed);
}

/// Loads the objects that lines point to. Adjacent lines into one archive do not open it again.
pub(super) struct Loader<T> {
    script: String,
    /// `true` if objects that cannot be read are missing, not errors.
    pub(super) permissive: bool,
    /// `true` if commands are run.
    pub(super) pipes: bool,
    /// `true` if the output of a command is an object only after exit status 0.
    pub(super) checks_pipes: bool,
    // The archive of the last line.
    input: Option<Input>,
    // The object of the last range, and its rxfilename.
    whole: Option<(String, T)>,
}

impl<T: Holder> Loader<T> {
    /// Creates a loader for lines of `script`, a name for messages.
    pub(super) fn new(script: &str, permissive: bool) -> Self {
        let pipes = !PIPES_REFUSED.load(Ordering::Relaxed);
        Loader { script: script.to_owned(), permissive, pipes, checks_pipes: false, input: None, whole: None }
    }

    /// Loads the object of a line; with `p` it may be missing, which gives a warning.
    ///
    /// A wrong range is an error even then.
    pub(super) fn load(&mut self, line: &ScriptLine) -> Result<Option<T>, Error> {
        // Gives context to warnings from inner functions.
        let _span = tracing::error_span!("reading", key = line.key, file = line.rxfilename).entered();
        let object = self.read_line(line);
        let in_table = |error: Error, hint| Err(error.in_table(self.script.clone(), &line.key, hint));
        match object {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_range() => in_table(error, ""),
            Err(error) if self.permissive => {
                warn!("{}: leaving out key '{}': {error}", self.script, line.key);
                Ok(None)
            }
            Err(error) => in_table(error, "; scp,p: leaves out what cannot be read"),
        }
    }

    fn read_line(&mut self, line: &ScriptLine) -> Result<T, Error> {
        let Some(range) = &line.range else {
            return self.read(&line.rxfilename);
        };
        let whole = match self.whole.take() {
            Some((name, whole)) if name == line.rxfilename => whole,
            _ => self.read(&line.rxfilename)?,
        };
        let part = whole.extract_range(range).map_err(|error| error.in_file(&line.rxfilename));
        self.whole = Some((line.rxfilename.clone(), whole));
        part
    }

    fn read(&mut self, rxfilename: &str) -> Result<T, Error> {
        let place = classify(rxfilename)?;
        if let Rxfilename::Offset { path, offset } = place {
            let input = match self.input.take() {
                Some(mut input) if input.is_file(path) => {
                    input.seek(offset)?;
                    input
                }
                _ => Input::open(rxfilename)?,
            };
            return T::read(self.input.insert(input)).map_err(|error| error.in_file(rxfilename));
        }
        self.input = None;
        if let Rxfilename::Pipe { command } = place
            && !self.pipes
        {
            return Err(Error::PipeRefused { command: command.trim_ascii().to_owned() });
        }
        let mut input = Input::open(rxfilename)?;
        match T::read(&mut input) {
            Ok(object) if self.checks_pipes => input.finish().map(|()| object),
            Ok(object) => Ok(object),
            Err(error) => Err(match input.finish() {
                // The command's failure is the cause.
                Err(failed @ Error::Command { .. }) => failed,
                _ => error.in_file(rxfilename),
            }),
        }
    }
}

/// Iterator over the keys and objects of a script file. An error is the last item.
pub(super) struct ScriptItems<L, T> {
    lines: L,
    loader: Loader<T>,
    wanted: Option<KeyFilter>,
}

/// Predicate that selects the keys whose objects are read.
pub(super) type KeyFilter = Box<dyn FnMut(&str) -> bool + Send>;

impl<L, T> ScriptItems<L, T> {
    pub(super) fn new(lines: L, loader: Loader<T>) -> Self {
        ScriptItems { lines, loader, wanted: None }
    }

    /// Skips lines whose keys are not wanted from now on.
    pub(super) fn only(&mut self, mut wanted: KeyFilter) {
        self.wanted = Some(match self.wanted.take() {
            Some(mut before) => Box::new(move |key| before(key) && wanted(key)),
            None => wanted,
        });
    }

    /// Makes a failed command an error from now on, whatever its output.
    pub(super) fn checking_pipes(&mut self) {
        self.loader.checks_pipes = true;
    }

    /// Disables commands from now on.
    pub(super) fn without_pipes(&mut self) {
        self.loader.pipes = false;
    }

    /// Leaves out objects that cannot be read from now on.
    pub(super) fn permissive(&mut self) {
        self.loader.permissive = true;
    }
}

impl<L: Iterator<Item = Result<ScriptLine, Error>>, T: Holder> Iterator for ScriptItems<L, T> {
    type Item = Result<(String, T), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.lines.next()?;
            if let (Ok(line), Some(wanted)) = (&line, &mut self.wanted)
                && !wanted(&line.key)
            {
                continue;
            }
            let loaded = line.and_then(|line| {
                let object = self.loader.load(&line)?;
                Ok(object.map(|object| (line.key, object)))
            });
            if let Some(item) = loaded.transpose() {
                return Some(item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &str, rxfilename: &str, range: Option<&str>) -> Option<ScriptLine> {
        let (key, rxfilename, range) = (key.to_owned(), rxfilename.to_owned(), range.map(str::to_owned));
        Some(ScriptLine { key, rxfilename, range })
    }

    #[test]
    fn lines() {
        assert_eq!(ScriptLine::parse("a b.ark:5\r\n"), line("a", "b.ark:5", None));
        assert_eq!(ScriptLine::parse("\ta \t sox a b.wav -t wav - | \n"), line("a", "sox a b.wav -t wav - |", None));
        assert_eq!(ScriptLine::parse("a b.ark:5[0:3,:]"), line("a", "b.ark:5", Some("0:3,:")));
        assert_eq!(ScriptLine::parse("a b[1][2:3]"), line("a", "b[1]", Some("2:3")));
        for text in ["", "\n", "a", "a ", " a\n", "a b]", "a \0BFM ", "a  ["] {
            assert_eq!(ScriptLine::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_archive_given_as_script_file_is_recognised() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for archive in [&b"utt1 \0BFM \x04\x01\0\0\0\x04\x01\0\0\0\0\0\0\0"[..], b"utt1  [\n  1 2 ]\n"] {
            std::fs::write(file.path(), archive).unwrap();
            let error = ScriptLines::new(Input::open_path(file.path()).unwrap()).next().unwrap().unwrap_err();
            let message = error.to_string();
            assert!(message.contains("line 1") && message.contains("read with ark:"), "{message}");
        }
    }
}
