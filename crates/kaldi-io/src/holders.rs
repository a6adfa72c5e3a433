//! The objects that tables hold, and how each is spelled in a file.

use std::io::{BufRead, Write};

use kaldi_matrix::codec::{self, ByteReader, CodecError, push_number};

use crate::error::{Error, excerpt};
use crate::rxfilename::Skip;

mod basic;
mod foreign;
mod lists;
mod matrices;
mod recordings;
mod words;

pub use basic::Basic;
pub use foreign::{HtkMatrix, SphinxMatrix};
pub use lists::IntegerVector;
pub use words::is_token;

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
    fn read_in_archive(reader: &mut dyn Skip) -> Result<Self, Error> {
        Self::read(reader)
    }

    /// Goes behind one object of many, with as little reading as its kind allows.
    ///
    /// # Errors
    /// As [`read`](Holder::read), as far as they can be seen on the way.
    fn skip_in_archive(reader: &mut dyn Skip) -> Result<(), Error> {
        Self::read_in_archive(reader).map(drop)
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
