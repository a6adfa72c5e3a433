//! One pass over a table.

use std::sync::mpsc::sync_channel;
use std::thread;

use tracing::warn;

use super::archive::ArchiveItems;
use super::script::{ScriptItems, ScriptLines};
use crate::error::Error;
use crate::holders::Holder;
use crate::specifier::{Rspecifier, TableKind};

type Items<T> = Box<dyn Iterator<Item = Result<(String, T), Error>> + Send>;

/// Reads a table from its first object to its last: an iterator of keys and objects.
///
/// An error is the last item, as Kaldi throws. With the option `p` what cannot be read is left out with a warning instead:
/// of a script file single objects, of an archive all that follows. A wrong `[range]` is always an error.
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "SequentialTableReader")]
pub struct SequentialReader<T> {
    // `None` after the end or an error.
    items: Option<Items<T>>,
    permissive: bool,
}

impl<T: Holder> SequentialReader<T> {
    /// Opens a table. The first key and object of an archive, or the first line of a script file, is read at once.
    ///
    /// # Errors
    /// [`Error::InvalidRspecifier`]; whatever keeps the file from being opened; whatever is wrong with its beginning, even with
    /// the option `p`.
    pub fn open(rspecifier: &str) -> Result<Self, Error> {
        let specifier = Rspecifier::parse(rspecifier)?;
        let items: Items<T> = match specifier.kind {
            TableKind::Archive => Box::new(started(ArchiveItems::<T>::open(&specifier.rxfilename)?)?),
            TableKind::Script => {
                let lines = started(ScriptLines::open(&specifier.rxfilename)?)?;
                Box::new(ScriptItems::new(lines, specifier.permissive))
            }
        };
        let items = if specifier.background { in_background(items) } else { items };
        Ok(SequentialReader { items: Some(items), permissive: specifier.permissive })
    }
}

impl<T: Holder> Iterator for SequentialReader<T> {
    type Item = Result<(String, T), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.items.as_mut()?.next();
        if !matches!(item, Some(Ok(_))) {
            self.items = None;
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

impl<T> std::fmt::Debug for SequentialReader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SequentialReader").field("permissive", &self.permissive).finish_non_exhaustive()
    }
}

/// Reads the first item now: if it is an error, opening fails. That of a command comes after all items, even of none.
fn started<I, V>(items: I) -> Result<std::iter::Peekable<I>, Error>
where
    I: Iterator<Item = Result<V, Error>>,
{
    let mut items = items.peekable();
    match items.next_if(|item| matches!(item, Err(error) if !matches!(error, Error::Command { .. }))) {
        Some(Err(error)) => Err(error),
        _ => Ok(items),
    }
}

/// Lets another thread read one object ahead.
fn in_background<T: Holder>(items: Items<T>) -> Items<T> {
    let (sender, receiver) = sync_channel(0);
    thread::spawn(move || {
        // Sending fails once the reader has been dropped.
        let _ = items.map(|item| sender.send(item)).find(Result::is_err);
    });
    Box::new(receiver.into_iter())
}
