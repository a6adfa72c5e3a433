//! Object types of tables, and their form in a file.

use std::io::{BufRead, Write};

use kaldi_matrix::codec::{self, ByteReader, CodecError, push_number};

use crate::error::{Error, excerpt};
use crate::rxfilename::Skip;

mod basic;
mod foreign;
mod lists;
mod matrices;
mod posteriors;
mod recordings;
mod words;

pub use basic::Basic;
pub use foreign::{HtkMatrix, SphinxMatrix};
pub use lists::IntegerVector;
use lists::{push_count, read_counted, write_list};
pub use words::is_token;

/// An object type of tables, with Kaldi's binary and text forms.
pub trait Holder: Sized + Send + 'static {
    /// Plural name of the type, for messages.
    const WHAT: &'static str;

    /// Reads one object including the header (`\0B`); detects text or binary from the bytes.
    ///
    /// # Errors
    /// [`Error`] without file and key, which the caller adds.
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error>;

    /// Reads one object of an archive and leaves the stream after it.
    ///
    /// # Errors
    /// As [`read`](Holder::read).
    fn read_in_archive(reader: &mut dyn Skip) -> Result<Self, Error> {
        Self::read(reader)
    }

    /// Skips one object of an archive, with as little reading as its type allows.
    ///
    /// # Errors
    /// As [`read`](Holder::read), as far as the skipped bytes show them.
    fn skip_in_archive(reader: &mut dyn Skip) -> Result<(), Error> {
        Self::read_in_archive(reader).map(drop)
    }

    /// Writes one object including the header.
    ///
    /// # Errors
    /// [`Error::Stream`] if the stream fails, [`Error::Unwritable`] if there is no such form.
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error>;

    /// Returns the part of the object for a `[range]` of a script file.
    ///
    /// # Errors
    /// [`Error::Range`], or [`Error::RangeUnsupported`] for objects without rows.
    fn extract_range(&self, range: &str) -> Result<Self, Error> {
        Err(Error::RangeUnsupported { range: range.to_owned(), what: Self::WHAT })
    }
}

/// Reads the rest of the line and its end. A last line may lack the end, but must not be empty.
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

/// Reads spaces, then the end of the line, which must be there.
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

/// Skips white space within the line.
fn skip_spaces(reader: &mut ByteReader<'_>) -> Result<(), CodecError> {
    while reader.peek()?.is_some_and(|byte| byte != b'\n' && (byte.is_ascii_whitespace() || byte == 0x0B)) {
        reader.bump();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wave::{WaveData, WaveInfo};
    use kaldi_matrix::codec::{MatrixHeader, MatrixStorage};
    use kaldi_matrix::{CompressedMatrix, CompressionMethod, GeneralMatrix, Matrix, SparseMatrix, Vector};
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
    fn posteriors_in_both_forms() {
        let posteriors = vec![vec![(3, 0.5f32), (-7, 0.25)], vec![], vec![(1, 1.0)]];
        let binary = b"\x04\x03\0\0\0\
            \x04\x02\0\0\0\x04\x03\0\0\0\x04\0\0\0\x3F\x04\xF9\xFF\xFF\xFF\x04\0\0\x80\x3E\
            \x04\0\0\0\0\
            \x04\x01\0\0\0\x04\x01\0\0\0\x04\0\0\x80\x3F";
        check(&posteriors, &[b"\0B", &binary[..]].concat(), "[ 3 0.5 -7 0.25 ] [ ] [ 1 1 ] \n");
        check(&Vec::<Vec<(i32, f32)>>::new(), b"\0B\x04\0\0\0\0", "\n");
        type Posteriors = Vec<Vec<(i32, f32)>>;
        assert_eq!(Posteriors::read(&mut &b" [1 0.5\t] [ ]\r\n[ 2 1 ]\n"[..]).unwrap(), [vec![(1, 0.5)], vec![]]);
        for (wrong, expected) in [
            ("1 0.5\n", "the beginning of a frame"),
            ("[ 1 ] \n", "a number"),
            ("[ 1 0.5\n", "found the end"),
            ("[ 1.5 0.5 ] \n", "32-bit integer"),
            ("[ ] ]\n", "the beginning of a frame"),
            ("", "a line"),
        ] {
            let message = fails::<Posteriors>(wrong.as_bytes());
            assert!(message.contains(expected), "{wrong:?}: {message}");
        }
        assert!(fails::<Posteriors>(b"\0B\x04\xFF\xFF\xFF\x7F\x04\0\0\0\0").contains("found the end"));
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
        assert!(fails::<i32>(b"\0B\x08\0\0\0\0").contains("size byte of a 32-bit integer"));
        assert!(fails::<f32>(b"\0B\x05\0\0\0\0").contains("size byte of a number, 4 or 8"));
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
    fn other_integers_have_their_size_in_front() {
        check(&-5i8, b"\0B\x01\xFB", "-5 \n");
        check(&5u8, b"\0B\xFF\x05", "5 \n");
        check(&-2i16, b"\0B\x02\xFE\xFF", "-2 \n");
        check(&0xFFFEu16, b"\0B\xFE\xFE\xFF", "65534 \n");
        check(&7u32, b"\0B\xFC\x07\0\0\0", "7 \n");
        check(&-1i64, b"\0B\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "-1 \n");
        check(&1u64, b"\0B\xF8\x01\0\0\0\0\0\0\0", "1 \n");
        assert!(fails::<u32>(b"\0B\x04\x07\0\0\0").contains("unsigned 32-bit"));
        assert!(fails::<u8>(b"256 \n").contains("unsigned 8-bit"));
    }

    #[test]
    fn lists_of_lists_end_each_with_a_semicolon() {
        type Lists = Vec<Vec<i32>>;
        let lists: Lists = vec![vec![1, 2], vec![], vec![3]];
        let binary =
            b"\0B\x04\x03\0\0\0\x04\x02\0\0\0\x04\x01\0\0\0\x04\x02\0\0\0\x04\0\0\0\0\x04\x01\0\0\0\x04\x03\0\0\0";
        check(&lists, binary, "1 2 ; ; 3 ; \n");
        check(&Lists::new(), b"\0B\x04\0\0\0\0", "\n");
        assert_eq!(Lists::read(&mut &b" 1 2;;\t3 ;\r\nnext"[..]).unwrap(), lists);
        assert!(fails::<Lists>(b"1 ; 2\n").contains("a semicolon behind each list"));
        assert!(fails::<Lists>(b"1 ;").contains("the end of the line"));
        assert!(fails::<Lists>(b"1 x ;\n").contains("32-bit integer"));
        assert!(fails::<Lists>(&binary[..20]).contains("found the end"));
    }

    #[test]
    fn between_pairs_stands_a_semicolon() {
        type Pairs = Vec<(i32, i32)>;
        let pairs: Pairs = vec![(1, 2), (-3, 4)];
        let binary = b"\0B\x04\x02\0\0\0\x04\x01\0\0\0\x04\x02\0\0\0\x04\xFD\xFF\xFF\xFF\x04\x04\0\0\0";
        check(&pairs, binary, "1 2 ; -3 4 \n");
        check(&Pairs::new(), b"\0B\x04\0\0\0\0", "\n");
        assert_eq!(Pairs::read(&mut &b"1 2;-3 4\n"[..]).unwrap(), pairs);
        for (line, found) in [(&b"1\n"[..], "1 values"), (b"1 2 ;\n", "0 values"), (b"1 2 3 ; 4 5\n", "3 values")] {
            assert!(fails::<Pairs>(line).contains(found), "{line:?}");
        }
    }

    #[test]
    fn lists_in_files_of_their_own() {
        let list = IntegerVector(vec![1, -2]);
        check(&list, b"\0B\x04\x02\0\0\0\x01\0\0\0\xFE\xFF\xFF\xFF", "[ 1 -2 ]\n");
        check(&IntegerVector::default(), b"\0B\x04\0\0\0\0", "[ ]\n");
        assert_eq!(IntegerVector::read(&mut &b"\n [1\n-2]"[..]).unwrap(), list);
        assert!(fails::<IntegerVector>(b"1 2\n").contains("`[`"));
        assert!(fails::<IntegerVector>(b"[ 1").contains("32-bit integer"));
        assert!(fails::<IntegerVector>(b"\0B\x04\xFF\xFF\xFF\x7F\0\0").contains("as many integers"));
    }

    #[test]
    fn compressed_and_general_matrices_keep_their_bytes() {
        let full = Matrix::from_fn(12, 3, |row, col| (row * col) as f32);
        let compressed = CompressedMatrix::new(&full, CompressionMethod::Automatic).unwrap();
        let bytes = written(&compressed, true);
        assert_eq!(written(&<CompressedMatrix as Holder>::read(&mut &bytes[..]).unwrap(), true), bytes);
        let general = <GeneralMatrix as Holder>::read(&mut &bytes[..]).unwrap();
        assert_eq!((written(&general, true), general.get_compressed_matrix()), (bytes.clone(), Some(&compressed)));
        assert_eq!(<Matrix<f64> as Holder>::read(&mut &bytes[..]).unwrap(), compressed.to_matrix());
        let part = general.extract_range("1:2,1:2").unwrap();
        assert_eq!(part.get_full_matrix().unwrap(), &compressed.to_matrix::<f32>().extract_range("1:2,1:2").unwrap());
        let sparse = SparseMatrix::new(4, [vec![(0, 1.5_f32)], vec![(1, 2.0), (3, 3.0)]]).unwrap();
        let part = GeneralMatrix::from(sparse).extract_range("1:1,1:3").unwrap();
        assert_eq!(part.get_sparse_matrix().unwrap(), &SparseMatrix::new(3, [vec![(0, 2.0), (2, 3.0)]]).unwrap());
    }

    #[test]
    fn shapes_are_known_without_the_elements() {
        let full = Matrix::<f32>::from_fn(20, 3, |row, col| (row + col) as f32);
        let compressed = |method| written(&CompressedMatrix::new(&full, method).unwrap(), true);
        let sparse = SparseMatrix::new(3, vec![vec![(0, 1.5_f32)]; 20]).unwrap();
        for (bytes, storage) in [
            (written(&full, true), MatrixStorage::Single),
            (written(&Matrix::<f64>::zeros(20, 3), true), MatrixStorage::Double),
            (written(&full, false), MatrixStorage::Text),
            (written(&sparse, true), MatrixStorage::Sparse),
            (written(&sparse, false), MatrixStorage::Sparse),
            (compressed(CompressionMethod::SpeechFeature), MatrixStorage::CompressedColumns),
            (compressed(CompressionMethod::TwoByteAuto), MatrixStorage::CompressedTwoBytes),
            (compressed(CompressionMethod::OneByteAuto), MatrixStorage::CompressedOneByte),
        ] {
            let archive = [&bytes[..], b"next"].concat();
            let mut rest = &archive[..];
            let header = MatrixHeader::read_in_archive(&mut rest).unwrap();
            assert_eq!((header.rows, header.cols, header.storage, rest), (20, 3, storage, &b"next"[..]));
            let part = header.extract_range("0:4,1:2").unwrap();
            assert_eq!((part.rows, part.cols), (5, 2));
            assert!(header.extract_range("0:30").unwrap_err().is_range());
            // A single object is read up to its elements; in an archive the elements must be there.
            let whole = matches!(storage, MatrixStorage::Text | MatrixStorage::Sparse);
            assert_eq!(<MatrixHeader as Holder>::read(&mut &bytes[..26]).is_ok(), !whole, "{storage:?}");
            assert!(MatrixHeader::read_in_archive(&mut &bytes[..bytes.len() - 4]).is_err(), "{storage:?}");
        }
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
        assert!(fails::<HtkMatrix>(&bytes[..19]).contains("more elements"));
    }

    #[test]
    fn sphinx_is_big_endian_and_has_frames_of_13() {
        let values = Matrix::from_fn(2, 13, |row, col| (row * 13 + col) as f32);
        let features = SphinxMatrix { values };
        let bytes = written(&features, true);
        assert_eq!(bytes[..12], *b"\0\0\0\x1A\0\0\0\0\x3F\x80\0\0");
        assert_eq!(SphinxMatrix::read(&mut &bytes[..]).unwrap(), features);
        assert!(features.write(&mut Vec::new(), false).is_err());
        assert!(fails::<SphinxMatrix>(b"\0\0\0\x0E").contains("a multiple of 13, found 14"));
        assert!(fails::<SphinxMatrix>(b"\xFF\xFF\xFF\xF3").contains("found -13"));
        assert!(fails::<SphinxMatrix>(&bytes[..50]).contains("as many elements"));
        assert_eq!(SphinxMatrix::read(&mut &[0; 4][..]).unwrap().values, Matrix::zeros(0, 0));
    }
}
