//! The objects that tables hold, and how each is spelled in a file.

use std::io::{BufRead, Write};

use kaldi_matrix::codec::{self, ByteReader, CodecError, push_number};
use kaldi_matrix::{Matrix, Vector};

use crate::error::{Error, excerpt};
use crate::range;
use crate::wave::{WaveData, WaveError, WaveInfo};

mod basic;
mod htk;

pub use basic::Basic;
pub use htk::HtkMatrix;

/// An object that can stand in a table, with Kaldi's bytes and text for it.
pub trait Holder: Sized + Send + 'static {
    /// What this is, in the plural, for messages.
    const WHAT: &'static str;

    /// Reads one object, header (`\0B`) included; text or binary is seen from the bytes.
    ///
    /// # Errors
    /// [`Error`] without file and key, which the caller adds.
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error>;

    /// Reads one object of many, so that the stream stands behind it.
    ///
    /// # Errors
    /// As [`read`](Holder::read).
    fn read_in_archive(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Self::read(reader)
    }

    /// Writes one object, header included.
    ///
    /// # Errors
    /// [`Error::Stream`] if the stream fails, [`Error::Unwritable`] if there is no such form.
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error>;

    /// The part of the object that a `[range]` in a script file names.
    ///
    /// # Errors
    /// [`Error::Range`], or [`Error::RangeUnsupported`] for objects without rows.
    fn extract_range(&self, range: &str) -> Result<Self, Error> {
        Err(Error::RangeUnsupported { range: range.to_owned(), what: Self::WHAT })
    }
}

macro_rules! matrix_holder {
    ($real:ty) => {
        impl Holder for Matrix<$real> {
            const WHAT: &'static str = "matrices";

            fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
                Ok(codec::read(reader)?)
            }

            fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
                Ok(codec::write(writer, self, binary)?)
            }

            fn extract_range(&self, range: &str) -> Result<Self, Error> {
                let (rows, cols) = (self.num_rows(), self.num_cols());
                range::of_matrix(range, rows, cols)
                    .and_then(|((row, rows), (col, cols))| self.range(row, rows, col, cols).ok())
                    .map(|part| part.to_owned())
                    .ok_or_else(|| Error::Range {
                        range: range.to_owned(),
                        object: format!("a matrix of {rows} x {cols}"),
                    })
            }
        }

        impl Holder for Vector<$real> {
            const WHAT: &'static str = "vectors";

            fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
                Ok(codec::read(reader)?)
            }

            fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
                Ok(codec::write(writer, self, binary)?)
            }

            fn extract_range(&self, range: &str) -> Result<Self, Error> {
                range::of_vector(range, self.dim())
                    .and_then(|(start, len)| self.range(start, len).ok())
                    .map(|part| part.to_owned())
                    .ok_or_else(|| Error::Range {
                        range: range.to_owned(),
                        object: format!("a vector of {}", self.dim()),
                    })
            }
        }
    };
}
matrix_holder!(f32);
matrix_holder!(f64);

/// A RIFF file as it is, without `\0B`.
impl Holder for WaveData {
    const WHAT: &'static str = "recordings";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(WaveData::read(reader)?)
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        if !binary {
            return Err(Error::Unwritable { what: Self::WHAT, how: "as text: leave the option 't' out" });
        }
        WaveData::write(self, writer).map_err(|error| match error {
            WaveError::Write(source) => Error::Stream { source },
            other => Error::Wave(other),
        })
    }
}

/// Only the header; in an archive the samples are read over.
impl Holder for WaveInfo {
    const WHAT: &'static str = "headers of recordings";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        Ok(WaveInfo::read(reader)?)
    }

    fn read_in_archive(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let info = WaveInfo::read(reader)?;
        info.skip_data(reader)?;
        Ok(info)
    }

    fn write(&self, _writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        Err(Error::Unwritable { what: Self::WHAT, how: "without their samples" })
    }
}

/// One word, to the end of the line; there is no binary form.
impl Holder for String {
    const WHAT: &'static str = "words";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let mut reader = ByteReader::new(reader);
        let word = reader.word("a word")?;
        expect_line_end(&mut reader)?;
        utf8(word.bytes)
    }

    fn write(&self, writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        check_token(self)?;
        Ok(writer.write_all(format!("{self}\n").as_bytes())?)
    }
}

/// The words of the rest of the line; there is no binary form.
impl Holder for Vec<String> {
    const WHAT: &'static str = "lists of words";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let line = utf8(read_line(&mut ByteReader::new(reader))?)?;
        Ok(line.split_ascii_whitespace().map(str::to_owned).collect())
    }

    fn write(&self, writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        let mut line = String::new();
        for word in self {
            check_token(word)?;
            line.push_str(word);
            line.push(' ');
        }
        line.push('\n');
        Ok(writer.write_all(line.as_bytes())?)
    }
}

/// True for what can be a key or a word: not empty, no white space, no control characters.
#[doc(alias = "IsToken")]
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| !byte.is_ascii() || byte.is_ascii_graphic())
}

fn check_token(word: &str) -> Result<(), Error> {
    if is_token(word) {
        Ok(())
    } else {
        Err(Error::Unexpected {
            expected: "a word without spaces to write",
            found: format!("'{}'", word.escape_debug()),
        })
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes)
        .map_err(|error| Error::Unexpected { expected: "text in UTF-8", found: excerpt(error.as_bytes()) })
}

/// Takes the rest of the line and its end; a last line may lack the end, but not everything.
fn read_line(reader: &mut ByteReader<'_>) -> Result<Vec<u8>, CodecError> {
    if reader.peek()?.is_none() {
        return Err(reader.end("a line"));
    }
    let mut line = Vec::new();
    reader.take_while(&mut line, |byte| byte != b'\n')?;
    if reader.peek()?.is_some() {
        reader.bump();
    }
    Ok(line)
}

/// Takes spaces, then the end of the line, which must be there.
fn expect_line_end(reader: &mut ByteReader<'_>) -> Result<(), CodecError> {
    skip_spaces(reader)?;
    match reader.peek()? {
        Some(b'\n') => {
            reader.bump();
            Ok(())
        }
        other => Err(reader.unexpected_byte("the end of the line", other)),
    }
}

/// Takes white space within the line.
fn skip_spaces(reader: &mut ByteReader<'_>) -> Result<(), CodecError> {
    while reader.peek()?.is_some_and(|byte| byte != b'\n' && (byte.is_ascii_whitespace() || byte == 0x0B)) {
        reader.bump();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Debug;

    fn written<T: Holder>(object: &T, binary: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        object.write(&mut bytes, binary).unwrap();
        bytes
    }

    /// Writes and reads `object` in both forms.
    #[track_caller]
    fn check<T: Holder + PartialEq + Debug>(object: &T, binary: &[u8], text: &str) {
        assert_eq!(written(object, true), binary);
        assert_eq!(String::from_utf8(written(object, false)).unwrap(), text);
        assert_eq!(&T::read(&mut &binary[..]).unwrap(), object);
        assert_eq!(&T::read(&mut text.as_bytes()).unwrap(), object);
    }

    fn fails<T: Holder + Debug>(bytes: &[u8]) -> String {
        T::read(&mut &bytes[..]).unwrap_err().to_string()
    }

    #[test]
    fn basic_types_in_both_forms() {
        check(&-5i32, b"\0B\x04\xFB\xFF\xFF\xFF", "-5 \n");
        check(&0.5f32, b"\0B\x04\0\0\0\x3F", "0.5 \n");
        check(&0.5f64, b"\0B\x08\0\0\0\0\0\0\xE0\x3F", "0.5 \n");
        check(&true, b"\0BT", "T \n");
        check(&vec![1i32, -2], b"\0B\x04\x02\0\0\0\x04\x01\0\0\0\x04\xFE\xFF\xFF\xFF", "1 -2 \n");
        check(&Vec::<i32>::new(), b"\0B\x04\0\0\0\0", "\n");
        assert_eq!(written(&4.486_312_3_f32, false), b"4.486312 \n");
    }

    #[test]
    fn either_precision_is_read() {
        assert_eq!(f32::read(&mut &b"\0B\x08\0\0\0\0\0\0\xE0\x3F"[..]).unwrap(), 0.5);
        assert_eq!(f64::read(&mut &b"\0B\x04\0\0\0\x3F"[..]).unwrap(), 0.5);
    }

    #[test]
    fn text_values_stand_alone_on_their_line() {
        assert_eq!(i32::read(&mut &b" \t7\r\n"[..]).unwrap(), 7);
        assert!(fails::<i32>(b"\n7\n").contains("before the end of the line"));
        assert!(fails::<i32>(b"7 8\n").contains("the end of the line"));
        assert!(fails::<i32>(b"7").contains("the end of the line"));
        assert!(fails::<i32>(b"2147483648\n").contains("32-bit integer"));
        assert!(fails::<f32>(b"x\n").contains("a number"));
        assert!(fails::<bool>(b"yes\n").contains("T or F"));
        assert_eq!(Vec::<i32>::read(&mut &b"  1\t2"[..]).unwrap(), [1, 2]);
        assert!(fails::<Vec<i32>>(b"1 x\n").contains("32-bit integer"));
        assert!(fails::<Vec<i32>>(b"").contains("a line"));
    }

    #[test]
    fn damaged_binary_values() {
        assert!(fails::<i32>(b"\0C\x04\0\0\0\0").contains("binary header"));
        assert!(fails::<i32>(b"\0B\x08\0\0\0\0").contains("size byte 4"));
        assert!(fails::<f32>(b"\0B\x05\0\0\0\0").contains("size byte 4 or 8"));
        assert!(fails::<f32>(b"\0B\x04\0").contains("found the end"));
        assert!(fails::<Vec<i32>>(b"\0B\x04\xFF\xFF\xFF\x7F\x04\0\0\0\0").contains("found the end"));
        assert_eq!(Vec::<i32>::read(&mut &b"\0B\x04\xFF\xFF\xFF\xFF"[..]).unwrap(), [0; 0], "a negative length");
    }

    #[test]
    fn words() {
        let word = "é-1".to_owned();
        assert_eq!(written(&word, true), "é-1\n".as_bytes());
        assert_eq!(String::read(&mut "\n é-1 \r\n".as_bytes()).unwrap(), word);
        assert!(fails::<String>(b"a b\n").contains("the end of the line"));
        assert!(fails::<String>(b"\xFF\n").contains("UTF-8"));
        let words = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(written(&words, false), b"a b \n");
        assert_eq!(Vec::<String>::read(&mut &b" a  b \nc"[..]).unwrap(), words);
        assert!("a b".to_owned().write(&mut Vec::new(), true).is_err());
    }

    #[test]
    fn tokens() {
        for good in ["a", "a-b_c/1", "é"] {
            assert!(is_token(good), "{good}");
        }
        for bad in ["", "a b", "a\t", "a\n", "\u{1}", "\u{7f}"] {
            assert!(!is_token(bad), "{bad:?}");
        }
    }

    #[test]
    fn ranges_are_for_matrices_and_vectors() {
        let matrix = Matrix::from_vec(3, 2, vec![0.0f32, 1.0, 10.0, 11.0, 20.0, 21.0]).unwrap();
        let part = matrix.extract_range("1:2,1:1").unwrap();
        assert_eq!(part, Matrix::from_vec(2, 1, vec![11.0, 21.0]).unwrap());
        let message = matrix.extract_range("0:9").unwrap_err().to_string();
        assert!(message.contains("[0:9]") && message.contains("3 x 2"), "{message}");
        let vector = Vector::from(vec![1.0f64, 2.0, 3.0]);
        assert_eq!(vector.extract_range("1:4").unwrap().data(), [2.0, 3.0]);
        assert!(vector.extract_range("3:3").unwrap_err().is_range());
        assert!(5i32.extract_range("0:1").unwrap_err().is_range());
    }

    #[test]
    fn recordings_have_no_text_form_and_headers_none_at_all() {
        let wave = WaveData { samp_freq: 8000.0, num_channels: 1, samples: vec![1, 2] };
        assert!(Holder::write(&wave, &mut Vec::new(), false).unwrap_err().to_string().contains("as text"));
        let mut bytes = written(&wave, true);
        assert_eq!(<WaveData as Holder>::read(&mut &bytes[..]).unwrap(), wave);
        bytes.extend(b"next");
        let mut rest = &bytes[..];
        let info = WaveInfo::read_in_archive(&mut rest).unwrap();
        assert_eq!((info.num_samples, rest), (Some(2), &b"next"[..]));
        assert!(info.write(&mut Vec::new(), true).is_err());
    }

    #[test]
    fn htk_is_big_endian() {
        let values = Matrix::from_vec(1, 2, vec![1.0, -2.0]).unwrap();
        let features = HtkMatrix { values, sample_period: 100_000, sample_kind: 6 };
        let bytes = written(&features, true);
        assert_eq!(bytes, b"\0\0\0\x01\0\x01\x86\xA0\0\x08\0\x06\x3F\x80\0\0\xC0\0\0\0");
        assert_eq!(HtkMatrix::read(&mut &bytes[..]).unwrap(), features);
        assert!(features.write(&mut Vec::new(), false).is_err());
        assert!(fails::<HtkMatrix>(&bytes[..11]).contains("HTK header"));
        assert!(fails::<HtkMatrix>(&bytes[..19]).contains("as many numbers"));
        assert!(fails::<HtkMatrix>(b"\x7F\xFF\xFF\xFF\0\0\0\0\x04\0\x04\x06").contains("compressed"));
        let empty = HtkMatrix::read(&mut &b"\x7F\xFF\xFF\xFF\0\0\0\0\0\0\0\x06"[..]).unwrap();
        assert_eq!(empty.values, Matrix::zeros(0, 0));
    }

    proptest! {
        #[test]
        fn no_bytes_make_any_reader_panic(tail in proptest::collection::vec(any::<u8>(), 0..60), binary: bool) {
            let bytes = [if binary { &b"\0B"[..] } else { b"" }, &tail].concat();
            let _ = i32::read(&mut &bytes[..]);
            let _ = f32::read(&mut &bytes[..]);
            let _ = f64::read(&mut &bytes[..]);
            let _ = bool::read(&mut &bytes[..]);
            let _ = Vec::<i32>::read(&mut &bytes[..]);
            let _ = Vec::<f32>::read(&mut &bytes[..]);
            let _ = String::read(&mut &bytes[..]);
            let _ = Vec::<String>::read(&mut &bytes[..]);
            let _ = HtkMatrix::read(&mut &bytes[..]);
            let _ = Matrix::<f32>::read(&mut &bytes[..]);
            let _ = Vector::<f64>::read(&mut &bytes[..]);
        }

        #[test]
        fn lists_come_back(list: Vec<i32>, binary: bool) {
            prop_assert_eq!(Vec::<i32>::read(&mut &written(&list, binary)[..]).unwrap(), list);
        }
    }
}
