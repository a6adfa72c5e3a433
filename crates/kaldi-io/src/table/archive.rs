//! Archive reader: key, space, object, and again.

use std::io::BufRead;
use std::marker::PhantomData;

use kaldera_base::text::BYTE_ORDER_MARK;
use kaldi_matrix::codec::{ByteReader, CodecError};

use crate::error::{Error, excerpt};
use crate::holders::Holder;
use crate::rxfilename::Input;
use crate::table::until_end::UntilEnd;

/// Iterator over the keys and objects of an archive. An error is the last item.
pub(super) struct ArchiveItems<T> {
    input: UntilEnd,
    holder: PhantomData<fn() -> T>,
}

impl<T: Holder> ArchiveItems<T> {
    pub(super) fn new(input: Input) -> Self {
        ArchiveItems { input: UntilEnd::new(input), holder: PhantomData }
    }

    fn read_item(input: &mut Input) -> Result<Option<(String, T)>, Error> {
        let start = input.position();
        let Some(key) = read_key(input, start).map_err(|error| error.in_archive(input.name()))? else {
            return Ok(None);
        };
        let start = input.position();
        let _span = tracing::error_span!("reading", key, file = input.name()).entered();
        match T::read_in_archive(input) {
            Ok(object) => Ok(Some((key, object))),
            Err(error) => {
                let hint = if input.name().ends_with(".scp") { "; a list of files is read with scp:" } else { "" };
                Err(error.in_table(format!("{}, byte {start}", input.name()), &key, hint))
            }
        }
    }
}

impl<T: Holder> Iterator for ArchiveItems<T> {
    type Item = Result<(String, T), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.input.next(Self::read_item)
    }
}

/// Reads white space, a key and the space or tab after it; `None` at the end.
///
/// Like Kaldi, this leaves a line end for the object, and takes a key without anything after it for
/// the end.
///
/// `start` is the position of the input.
pub(super) fn read_key(input: &mut dyn BufRead, start: u64) -> Result<Option<String>, KeyError> {
    /// Bound on the length of a key, for files that are not archives.
    const LONGEST: usize = 1 << 16;

    let mut reader = ByteReader::new(input);
    reader.skip_whitespace()?;
    let offset = start + reader.offset();
    let mut key = Vec::new();
    let mut left = LONGEST;
    reader.take_while(&mut key, |byte| {
        left = left.saturating_sub(1);
        left > 0 && !byte.is_ascii_whitespace() && byte != 0x0B
    })?;
    let malformed = |found: &[u8]| KeyError::Malformed { offset, found: excerpt(found) };
    match reader.peek()? {
        None => return Ok(None),
        Some(b' ' | b'\t') => reader.bump(),
        Some(b'\n') => {}
        Some(_) => return Err(malformed(&key)),
    }
    if offset == 0 && key.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        key.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(key).map(Some).map_err(|error| malformed(error.as_bytes()))
}

/// Error of [`read_key`].
pub(super) enum KeyError {
    Input(CodecError),
    Malformed { offset: u64, found: String },
}

impl From<CodecError> for KeyError {
    fn from(error: CodecError) -> Self {
        KeyError::Input(error)
    }
}

impl KeyError {
    pub(super) fn in_archive(self, name: &str) -> Error {
        match self {
            KeyError::Input(error) => Error::from(error).in_file(name),
            KeyError::Malformed { offset, found } => Error::Archive { name: name.to_owned(), offset, found },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(bytes: &[u8]) -> Vec<Result<(String, i32), String>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        ArchiveItems::<i32>::new(Input::open_path(file.path()).unwrap())
            .map(|item| item.map_err(|error| error.to_string()))
            .collect()
    }

    fn keys(bytes: &[u8]) -> Vec<String> {
        items(bytes).into_iter().map(|item| item.unwrap().0).collect()
    }

    #[test]
    fn text_and_binary_objects_may_be_mixed() {
        let items = items(b"a 1 \nb \0B\x04\x02\0\0\0c\t-3\n  \n d 4 \n");
        let expected = [("a", 1), ("b", 2), ("c", -3), ("d", 4)];
        assert_eq!(items, expected.map(|(key, value)| Ok((key.to_owned(), value))));
    }

    #[test]
    fn byte_order_marks_and_carriage_returns_are_no_part_of_keys_and_values() {
        let items = items("\u{feff}a 1\r\nb 2\r\n".as_bytes());
        assert_eq!(items, [("a", 1), ("b", 2)].map(|(key, value)| Ok((key.to_owned(), value))));
    }

    #[test]
    fn a_last_key_alone_is_the_end() {
        assert_eq!(keys(b"a 1\nb"), ["a"]);
        assert!(keys(b"").is_empty());
        assert!(keys(b" \n").is_empty());
    }

    #[test]
    fn errors_name_the_place_and_the_key_and_are_the_last_item() {
        let items = items(b"a 1\nb x\nc 3\n");
        assert_eq!(items.len(), 2);
        let message = items[1].as_ref().unwrap_err();
        assert!(message.contains("byte 6: key 'b'") && message.contains("`x`"), "{message}");
    }

    #[test]
    fn bytes_that_are_no_archive() {
        for bytes in [&b"a\r1\n"[..], b"\xFF\xFE 1\n", &[b'x'; 1 << 17]] {
            assert!(items(bytes)[0].as_ref().unwrap_err().contains("expected a key and a space"));
        }
        assert!(items(b"a\n1\n")[0].as_ref().unwrap_err().contains("before the end of the line"));
    }
}
