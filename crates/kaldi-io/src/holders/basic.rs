//! Numbers and truth values.

use kaldi_matrix::codec::Word;

use crate::holders::*;

/// A number or truth value: Kaldi's basic types.
pub trait Basic: Sized + Send + 'static {
    /// Plural name of the type, for messages.
    const PLURAL: &'static str;

    /// Reads a value; in text, the next word.
    ///
    /// # Errors
    /// [`CodecError`] for anything else.
    #[doc(alias = "ReadBasicType")]
    fn read_value(reader: &mut ByteReader<'_>, binary: bool) -> Result<Self, CodecError>;

    /// Appends a value; in text, followed by a space.
    #[doc(alias = "WriteBasicType")]
    fn push_value(&self, out: &mut Vec<u8>, binary: bool);
}

/// Implements `Basic` for integers: a byte with the size, negative if unsigned, and the bytes.
macro_rules! basic_integer {
    ($($integer:ty, $signed:literal, $expected:literal;)*) => {$(
        impl Basic for $integer {
            const PLURAL: &'static str = "integers";

            fn read_value(reader: &mut ByteReader<'_>, binary: bool) -> Result<Self, CodecError> {
                if !binary {
                    return parse(reader, $expected);
                }
                match reader.peek()? {
                    Some(size) if size == size_byte::<Self>($signed) => reader.bump(),
                    other => return Err(reader.unexpected_byte(concat!("the size byte of ", $expected), other)),
                }
                let mut bytes = [0; size_of::<Self>()];
                reader.read_exact(&mut bytes, $expected)?;
                Ok(<$integer>::from_le_bytes(bytes))
            }

            fn push_value(&self, out: &mut Vec<u8>, binary: bool) {
                if binary {
                    out.push(size_byte::<Self>($signed));
                    out.extend_from_slice(&self.to_le_bytes());
                } else {
                    out.extend_from_slice(format!("{self} ").as_bytes());
                }
            }
        }
    )*};
}
basic_integer! {
    i8, true, "an 8-bit integer";
    i16, true, "a 16-bit integer";
    i32, true, "a 32-bit integer";
    i64, true, "a 64-bit integer";
    u8, false, "an unsigned 8-bit integer";
    u16, false, "an unsigned 16-bit integer";
    u32, false, "an unsigned 32-bit integer";
    u64, false, "an unsigned 64-bit integer";
}

/// Returns the byte in front of the bytes of an integer.
fn size_byte<T>(signed: bool) -> u8 {
    // 1, 2, 4 or 8.
    let size = size_of::<T>() as u8;
    if signed { size } else { size.wrapping_neg() }
}

macro_rules! basic_real {
    ($real:ident) => {
        impl Basic for $real {
            const PLURAL: &'static str = "numbers";

            fn read_value(reader: &mut ByteReader<'_>, binary: bool) -> Result<Self, CodecError> {
                const EXPECTED: &str = "a number";
                if binary { reader.real(EXPECTED) } else { parse(reader, EXPECTED) }
            }

            fn push_value(&self, out: &mut Vec<u8>, binary: bool) {
                if binary {
                    out.push(size_byte::<Self>(true));
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

/// Parses the next word, which ends before white space, a semicolon or a closing bracket.
fn parse<T: std::str::FromStr>(reader: &mut ByteReader<'_>, expected: &'static str) -> Result<T, CodecError> {
    reader.skip_whitespace()?;
    let mut word = Word { offset: reader.offset(), bytes: Vec::new() };
    let ends = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, 0x0B | b';' | b']');
    reader.take_while(&mut word.bytes, |byte| !ends(byte))?;
    if word.bytes.is_empty() {
        let found = reader.peek()?;
        return Err(reader.unexpected_byte(expected, found));
    }
    std::str::from_utf8(&word.bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(|| word.unexpected(expected))
}

/// One value; in text, the only one on its line.
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
