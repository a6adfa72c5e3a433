//! Numbers and truth values, alone and in lists.

use super::*;

/// A number or truth value: Kaldi's basic types.
pub trait Basic: Sized + Send + 'static {
    /// What this is, in the plural, for messages.
    const PLURAL: &'static str;

    /// Reads a value; in text, the next word.
    ///
    /// # Errors
    /// [`CodecError`] for anything else.
    #[doc(alias = "ReadBasicType")]
    fn read_value(reader: &mut ByteReader<'_>, binary: bool) -> Result<Self, CodecError>;

    /// Appends a value; in text, with the space that follows it.
    #[doc(alias = "WriteBasicType")]
    fn push_value(&self, out: &mut Vec<u8>, binary: bool);
}

impl Basic for i32 {
    const PLURAL: &'static str = "integers";

    fn read_value(reader: &mut ByteReader<'_>, binary: bool) -> Result<Self, CodecError> {
        const EXPECTED: &str = "a 32-bit integer";
        if binary { reader.int32(EXPECTED) } else { parse(reader, EXPECTED) }
    }

    fn push_value(&self, out: &mut Vec<u8>, binary: bool) {
        if binary {
            out.push(4);
            out.extend_from_slice(&self.to_le_bytes());
        } else {
            out.extend_from_slice(format!("{self} ").as_bytes());
        }
    }
}

macro_rules! basic_real {
    ($real:ident) => {
        impl Basic for $real {
            const PLURAL: &'static str = "numbers";

            fn read_value(reader: &mut ByteReader<'_>, binary: bool) -> Result<Self, CodecError> {
                const EXPECTED: &str = "a number";
                if !binary {
                    return parse(reader, EXPECTED);
                }
                match reader.peek()? {
                    Some(4) => {
                        reader.bump();
                        let mut bytes = [0; 4];
                        reader.read_exact(&mut bytes, EXPECTED)?;
                        Ok(f32::from_le_bytes(bytes) as $real)
                    }
                    Some(8) => {
                        reader.bump();
                        let mut bytes = [0; 8];
                        reader.read_exact(&mut bytes, EXPECTED)?;
                        Ok(f64::from_le_bytes(bytes) as $real)
                    }
                    other => Err(reader.unexpected_byte("the size byte 4 or 8 of a number", other)),
                }
            }

            fn push_value(&self, out: &mut Vec<u8>, binary: bool) {
                if binary {
                    out.push(size_of::<$real>() as u8);
                    out.extend_from_slice(&self.to_le_bytes());
                } else {
                    push_number(out, f64::from(*self));
                    out.push(b' ');
                }
            }
        }
    };
}
basic_real!(f32);
basic_real!(f64);

impl Basic for bool {
    const PLURAL: &'static str = "truth values";

    fn read_value(reader: &mut ByteReader<'_>, binary: bool) -> Result<Self, CodecError> {
        if !binary {
            reader.skip_whitespace()?;
        }
        match reader.peek()? {
            Some(letter @ (b'T' | b'F')) => {
                reader.bump();
                Ok(letter == b'T')
            }
            other => Err(reader.unexpected_byte("T or F", other)),
        }
    }

    fn push_value(&self, out: &mut Vec<u8>, binary: bool) {
        out.push(if *self { b'T' } else { b'F' });
        if !binary {
            out.push(b' ');
        }
    }
}

fn parse<T: std::str::FromStr>(reader: &mut ByteReader<'_>, expected: &'static str) -> Result<T, CodecError> {
    let word = reader.word(expected)?;
    std::str::from_utf8(&word.bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(|| word.unexpected(expected))
}

/// One value; in text, alone on its line.
impl<T: Basic> Holder for T {
    const WHAT: &'static str = T::PLURAL;

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut reader = ByteReader::new(reader);
        if binary {
            return Ok(T::read_value(&mut reader, true)?);
        }
        skip_spaces(&mut reader)?;
        if reader.peek()? == Some(b'\n') {
            return Err(reader.unexpected_byte("a value before the end of the line", Some(b'\n')).into());
        }
        let value = T::read_value(&mut reader, false)?;
        expect_line_end(&mut reader)?;
        Ok(value)
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        let mut out = Vec::new();
        codec::write_header(&mut out, binary)?;
        self.push_value(&mut out, binary);
        if !binary {
            out.push(b'\n');
        }
        Ok(writer.write_all(&out)?)
    }
}

/// A list; in text, the rest of the line without brackets.
impl<T: Basic> Holder for Vec<T> {
    const WHAT: &'static str = "lists";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut reader = ByteReader::new(reader);
        if binary {
            let count = reader.int32("the length of a list")?;
            // Values are added as they come: the length may be anything.
            return Ok((0..count).map(|_| T::read_value(&mut reader, true)).collect::<Result<_, _>>()?);
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
        let mut out = Vec::new();
        codec::write_header(&mut out, binary)?;
        if binary {
            let count = i32::try_from(self.len())
                .map_err(|_| Error::Unwritable { what: Self::WHAT, how: "with more than 2147483647 values" })?;
            count.push_value(&mut out, true);
        }
        self.iter().for_each(|value| value.push_value(&mut out, binary));
        if !binary {
            out.push(b'\n');
        }
        Ok(writer.write_all(&out)?)
    }
}
