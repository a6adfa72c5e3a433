//! Lists of numbers or truth values, of such lists, and of pairs.
//!
//! ```text
//!              text            binary, behind \0B
//! list         1 2 3 ⏎         the number of values, then the values
//! of lists     1 2 ; ; 3 ; ⏎   the number of lists, then each list  (a `;` ends a list)
//! of pairs     1 2 ; 3 4 ⏎     the number of pairs, then the values (a `;` stands between pairs)
//! ```
//!
//! Each number follows its size, and so does the count of the values: `04 03 00 00 00`.

use crate::holders::*;

/// Kaldi's `BasicVectorHolder`. In text, the rest of the line without brackets.
impl<T: Basic> Holder for Vec<T> {
    const WHAT: &'static str = "lists";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut reader = ByteReader::new(reader);
        if binary {
            return Ok(read_counted(&mut reader, |reader| T::read_value(reader, true))?);
        }
        let line = read_line(&mut reader)?;
        let mut line: &[u8] = line.trim_ascii_end();
        let mut values = Vec::new();
        while !line.is_empty() {
            values.push(T::read_value(&mut ByteReader::new(&mut line), false)?);
        }
        Ok(values)
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        write_list(writer, binary, |out| {
            push_count::<Self>(out, self.len(), binary)?;
            self.iter().for_each(|value| value.push_value(out, binary));
            Ok(())
        })
    }
}

/// Kaldi's `BasicVectorVectorHolder`. In text, each list ends with a semicolon.
impl<T: Basic> Holder for Vec<Vec<T>> {
    const WHAT: &'static str = "lists of lists";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut reader = ByteReader::new(reader);
        if binary {
            let list = |reader: &mut ByteReader<'_>| read_counted(reader, |reader| T::read_value(reader, true));
            return Ok(read_counted(&mut reader, list)?);
        }
        let (lists, last) = read_groups(&mut reader)?;
        if !last.is_empty() {
            let found = format!("the end of the line after {} values", last.len());
            return Err(Error::Unexpected { expected: "a semicolon behind each list", found });
        }
        Ok(lists)
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        write_list(writer, binary, |out| {
            push_count::<Self>(out, self.len(), binary)?;
            for list in self {
                push_count::<Self>(out, list.len(), binary)?;
                list.iter().for_each(|value| value.push_value(out, binary));
                if !binary {
                    out.extend_from_slice(b"; ");
                }
            }
            Ok(())
        })
    }
}

/// Kaldi's `BasicPairVectorHolder`. In text, a semicolon stands between pairs.
impl<T: Basic> Holder for Vec<(T, T)> {
    const WHAT: &'static str = "lists of pairs";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut reader = ByteReader::new(reader);
        if binary {
            let pair = |reader: &mut ByteReader<'_>| Ok((T::read_value(reader, true)?, T::read_value(reader, true)?));
            return Ok(read_counted(&mut reader, pair)?);
        }
        let (mut groups, last) = read_groups(&mut reader)?;
        if !(groups.is_empty() && last.is_empty()) {
            groups.push(last);
        }
        let pair = |group: Vec<T>| {
            let found = group.len();
            let pair = <[T; 2]>::try_from(group).map(|[first, second]| (first, second));
            pair.map_err(|_| Error::Unexpected {
                expected: "two values between semicolons",
                found: format!("{found} values"),
            })
        };
        groups.into_iter().map(pair).collect()
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        write_list(writer, binary, |out| {
            push_count::<Self>(out, self.len(), binary)?;
            for (i, (first, second)) in self.iter().enumerate() {
                if i > 0 && !binary {
                    out.extend_from_slice(b"; ");
                }
                first.push_value(out, binary);
                second.push_value(out, binary);
            }
            Ok(())
        })
    }
}

/// A list in the form that Kaldi uses inside other objects and in files of their own: `[ 1 2 3 ]`
/// in text, the numbers without their sizes in binary. In tables a list is a `Vec`.
///
/// ```
/// use kaldi_io::{IntegerVector, read_object, write_object};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("phones");
/// # let path = path.to_str().unwrap();
/// write_object(path, &IntegerVector(vec![3, 1, 2]), false)?;
/// assert_eq!(std::fs::read_to_string(path)?, "[ 3 1 2 ]\n");
/// assert_eq!(read_object::<IntegerVector>(path)?.0, [3, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(alias = "ReadIntegerVector")]
#[doc(alias = "WriteIntegerVector")]
pub struct IntegerVector(pub Vec<i32>);

impl Holder for IntegerVector {
    const WHAT: &'static str = "lists of integers";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut reader = ByteReader::new(reader);
        if binary {
            let bare = |reader: &mut ByteReader<'_>| {
                let mut bytes = [0; 4];
                reader.read_exact(&mut bytes, "as many integers as the list says")?;
                Ok(i32::from_le_bytes(bytes))
            };
            match reader.peek()? {
                Some(4) => reader.bump(),
                other => return Err(reader.unexpected_byte("the size byte 4 of the integers of a list", other).into()),
            }
            let count = bare(&mut reader)?;
            return Ok(IntegerVector((0..count).map(|_| bare(&mut reader)).collect::<Result<_, CodecError>>()?));
        }
        reader.skip_whitespace()?;
        match reader.peek()? {
            Some(b'[') => reader.bump(),
            other => return Err(reader.unexpected_byte("`[`, the beginning of a list", other).into()),
        }
        let mut values = Vec::new();
        loop {
            reader.skip_whitespace()?;
            if reader.peek()? == Some(b']') {
                reader.bump();
                return Ok(IntegerVector(values));
            }
            values.push(i32::read_value(&mut reader, false)?);
        }
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        let mut out = Vec::new();
        codec::write_header(&mut out, binary)?;
        if binary {
            // The size of each number, and the count, without a size of its own.
            push_count::<Self>(&mut out, self.0.len(), true)?;
            self.0.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        } else {
            out.extend_from_slice(b"[ ");
            self.0.iter().for_each(|value| value.push_value(&mut out, false));
            out.extend_from_slice(b"]\n");
        }
        Ok(writer.write_all(&out)?)
    }
}

/// Reads a count and as many values. They are added one by one, as the count may be wrong. A
/// negative count means none, as in Kaldi.
pub(super) fn read_counted<V>(
    reader: &mut ByteReader<'_>,
    mut read: impl FnMut(&mut ByteReader<'_>) -> Result<V, CodecError>,
) -> Result<Vec<V>, CodecError> {
    let count = reader.int32("the length of a list")?;
    (0..count).map(|_| read(reader)).collect()
}

/// Reads the values of a line: the groups before each semicolon, and the group after the last one.
fn read_groups<T: Basic>(reader: &mut ByteReader<'_>) -> Result<(Vec<Vec<T>>, Vec<T>), CodecError> {
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    loop {
        skip_spaces(reader)?;
        match reader.peek()? {
            Some(b'\n') => {
                reader.bump();
                return Ok((groups, group));
            }
            Some(b';') => {
                reader.bump();
                groups.push(std::mem::take(&mut group));
            }
            Some(_) => group.push(T::read_value(reader, false)?),
            None => return Err(reader.end("the end of the line")),
        }
    }
}

/// Appends the count, only in binary.
pub(super) fn push_count<T: Holder>(out: &mut Vec<u8>, count: usize, binary: bool) -> Result<(), Error> {
    if binary {
        let too_many = |_| Error::Unwritable { what: T::WHAT, how: "with more than 2147483647 values" };
        i32::try_from(count).map_err(too_many)?.push_value(out, true);
    }
    Ok(())
}

/// Writes the bytes that `push` appends, after a header in binary, before the end of the line in
/// text.
pub(super) fn write_list(
    writer: &mut dyn Write,
    binary: bool,
    push: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut out = Vec::new();
    codec::write_header(&mut out, binary)?;
    push(&mut out)?;
    if !binary {
        out.push(b'\n');
    }
    Ok(writer.write_all(&out)?)
}
