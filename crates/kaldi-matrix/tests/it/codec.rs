//! Kaldi's bytes and text: golden ones, round trips, and inputs that are not whole.

use std::io::{self, BufRead, BufReader, Read};

use kaldi_matrix::codec::{self, CodecError, KaldiRead, KaldiWrite};
use kaldi_matrix::{Matrix, SubMatrix, Vector};
use proptest::prelude::*;

fn written(object: &impl KaldiWrite, binary: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::write(&mut bytes, object, binary).unwrap();
    bytes
}

fn read<T: KaldiRead>(bytes: &[u8]) -> Result<T, CodecError> {
    codec::read(&mut &*bytes)
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// What Kaldi writes for the same numbers (known answers, `IO.bytes` and `IO.text`).
#[test]
fn bytes_and_text_are_kaldis() {
    let v = Vector::from(vec![0.1_f32, -1e-20, 123_456_792.0]);
    assert_eq!(written(&v, true), hex("00424656200403000000cdcccc3d08e53c9ea379eb4c"));
    assert_eq!(written(&v, false), b" [ 0.1 -1e-20 1.234568e+08 ]\n");

    let numbers = vec![1.34375, 1.0 / 3.0, 3.328125, -1.953125, -0.34375, -3.359375_f32];
    let m = Matrix::from_vec(2, 3, numbers).unwrap();
    let bytes = hex("0042464d20040200000004030000000000ac3fabaaaa3e000055400000fabf0000b0be000057c0");
    assert_eq!(written(&m, true), bytes);
    assert_eq!(written(&m, false), b" [\n  1.34375 0.3333333 3.328125 \n  -1.953125 -0.34375 -3.359375 ]\n");
    assert_eq!(read::<Matrix<f32>>(&bytes).unwrap(), m);

    let v = Vector::from(vec![0.1_f64, -1e-20, 123_456_789.0]);
    let bytes = hex("00424456200403000000");
    assert_eq!(written(&v, true)[..10], bytes);
    assert_eq!(written(&v, true)[10..], hex("9a9999999999b93f2342920ca19cc7bb00000054346f9d41"));

    assert_eq!(written(&Vector::<f32>::zeros(0), true), hex("00424656200400000000"));
    for (rows, cols) in [(0, 0), (0, 3), (3, 0)] {
        let empty = Matrix::<f32>::zeros(rows, cols);
        assert_eq!(written(&empty, true), hex("0042464d2004000000000400000000"));
        assert_eq!(written(&empty, false), b" [ ]\n");
        assert_eq!(read::<Matrix<f32>>(&written(&empty, true)).unwrap(), Matrix::zeros(0, 0));
    }
}

#[test]
fn gaps_between_rows_are_not_written() {
    let data = [1.0_f32, 2.0, 9.0, 3.0, 4.0];
    let m = SubMatrix::new(&data, 2, 2, 3).unwrap();
    for binary in [true, false] {
        assert_eq!(written(&m, binary), written(&m.to_owned(), binary));
    }
}

#[test]
fn the_other_precision_is_converted() {
    let single = Matrix::from_fn(3, 2, |r, c| (r as f32 + 0.1) * (c as f32 - 0.7));
    let double = Matrix::from_fn(3, 2, |r, c| f64::from(single[(r, c)]));
    assert_eq!(read::<Matrix<f64>>(&written(&single, true)).unwrap(), double);
    assert_eq!(read::<Matrix<f32>>(&written(&double, true)).unwrap(), single);
    let v = Vector::from(vec![1e300_f64, 0.5]);
    assert_eq!(read::<Vector<f32>>(&written(&v, true)).unwrap().data(), [f32::INFINITY, 0.5]);
}

#[test]
fn objects_follow_each_other() {
    for binary in [true, false] {
        let (v, m) = (Vector::from(vec![1.0_f32, 2.0]), Matrix::from_fn(2, 1, |r, _| r as f32));
        let bytes = [written(&v, binary), written(&m, binary), written(&v, binary)].concat();
        let mut rest = &bytes[..];
        assert_eq!(codec::read::<Vector<f32>>(&mut rest).unwrap(), v);
        assert_eq!(codec::read::<Matrix<f32>>(&mut rest).unwrap(), m);
        assert_eq!(codec::read::<Vector<f32>>(&mut rest).unwrap(), v);
        assert!(rest.is_empty());
    }
}

fn header(token: &[u8], sizes: &[i32]) -> Vec<u8> {
    let mut bytes = [b"\0B", token, b" "].concat();
    for size in sizes {
        bytes.push(4);
        bytes.extend(size.to_le_bytes());
    }
    bytes
}

/// A header may promise 2^31 rows; what is not there is not allocated either, or this test would
/// need 2^63 bytes.
#[test]
fn announced_sizes_are_not_allocated_before_data() {
    let max = i32::MAX;
    for (rows, cols) in [(max, 1), (1, max), (max, max), (1 << 20, 1 << 12)] {
        let mut bytes = header(b"FM", &[rows, cols]);
        bytes.resize(40, 1);
        let error = read::<Matrix<f32>>(&bytes).unwrap_err();
        assert_eq!(error.offset(), 40, "{error}");
    }
    let error = read::<Matrix<f64>>(&header(b"DM", &[max, max])).unwrap_err();
    assert_eq!(error.to_string(), "at byte 5: expected a possible matrix size, found 2147483647 x 2147483647");
    let error = read::<Vector<f64>>(&header(b"DV", &[max])).unwrap_err();
    assert_eq!(error.to_string(), "at byte 10: expected more elements, found the end");
}

#[test]
fn sizes_that_cannot_be() {
    for (rows, cols) in [(-1, 1), (1, -1), (i32::MIN, i32::MIN), (0, 3), (3, 0)] {
        assert!(read::<Matrix<f32>>(&header(b"FM", &[rows, cols])).is_err(), "{rows} x {cols}");
    }
    let error = read::<Vector<f32>>(&header(b"FV", &[-7])).unwrap_err();
    assert_eq!(error.to_string(), "at byte 5: expected a number of elements, found -7");
}

#[test]
fn the_wrong_object_is_named() {
    let message = |bytes: &[u8]| read::<Matrix<f32>>(bytes).unwrap_err().to_string();
    let expected = "at byte 2: expected `FM`, `DM`, `CM`, `CM2` or `CM3`, a matrix, found `FV`";
    assert_eq!(message(&header(b"FV", &[1])), expected);
    assert_eq!(message(b"\0C"), "at byte 1: expected `B` after a zero byte, the binary header, found `C`");
    assert_eq!(message(b"\0BFM \x08aaaa"), "at byte 5: expected the size byte 4 of a 32-bit integer, found `\\x08`");
    assert_eq!(message(b""), "at byte 0: expected `[`, found the end");
}

/// Gives its bytes one at a time, with interruptions.
struct Trickle<'a> {
    bytes: &'a [u8],
    interrupt: bool,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = buf.len().min(1);
        self.bytes.read(&mut buf[..len])
    }
}

#[test]
fn short_reads_suffice() {
    let m = Matrix::from_fn(4, 3, |r, c| r as f32 - 1.5 * c as f32);
    for binary in [true, false] {
        let bytes = written(&m, binary);
        let mut input = BufReader::with_capacity(2, Trickle { bytes: &bytes, interrupt: false });
        assert_eq!(codec::read::<Matrix<f32>>(&mut input).unwrap(), m);
    }
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

#[test]
fn a_failing_input_is_reported() {
    let bytes = header(b"FM", &[2, 2]);
    let mut input = BufReader::new(bytes.chain(Broken));
    let error = codec::read::<Matrix<f32>>(&mut input).unwrap_err();
    assert_eq!(error.to_string(), "at byte 15: the disk is gone");
    let input: &mut dyn BufRead = &mut BufReader::new(Broken);
    assert!(matches!(codec::read_header(input), Err(CodecError::Io { offset: 0, .. })));
}

#[test]
fn every_part_of_a_file_is_an_error() {
    let (m, v) = (Matrix::from_fn(2, 2, |r, c| (r + c) as f32 + 0.5), Vector::from(vec![1.5_f32, 2.5]));
    for binary in [true, false] {
        // In text, the object ends with the bracket; the line end after it is optional.
        let (m, v) = (written(&m, binary), written(&v, binary));
        let optional = usize::from(!binary);
        for len in 0..m.len() - optional {
            let error = read::<Matrix<f32>>(&m[..len]).unwrap_err();
            assert!(error.offset() <= len as u64, "{error}");
        }
        for len in 0..v.len() - optional {
            assert!(read::<Vector<f32>>(&v[..len]).is_err());
        }
    }
}

fn any_matrix() -> impl Strategy<Value = Matrix<f32>> {
    (1_usize..9, 1_usize..9).prop_flat_map(|(rows, cols)| {
        proptest::collection::vec(any::<f32>(), rows * cols)
            .prop_map(move |data| Matrix::from_vec(rows, cols, data).unwrap())
    })
}

/// Equal, where NaN equals NaN.
fn same(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
}

proptest! {
    #[test]
    fn binary_gives_back_what_was_written(m in any_matrix()) {
        let back: Matrix<f32> = read(&written(&m, true)).unwrap();
        prop_assert_eq!((back.num_rows(), back.num_cols()), (m.num_rows(), m.num_cols()));
        prop_assert!(same(back.data(), m.data()));
        let back: Vector<f32> = read(&written(&m.row(0), true)).unwrap();
        prop_assert!(same(back.data(), m.row(0).data()));
    }

    /// Seven digits, so half a unit of the seventh; what is rounded up beyond the largest float is
    /// not read.
    #[test]
    fn text_gives_back_seven_digits(m in any_matrix()) {
        let m = Matrix::from_fn(m.num_rows(), m.num_cols(), |r, c| m[(r, c)].clamp(-3e38, 3e38));
        let back: Matrix<f32> = read(&written(&m, false)).unwrap();
        for (a, b) in m.data().iter().zip(back.data()) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            let tolerance = a.abs() * (5e-7 + f64::from(f32::EPSILON)) + 1e-45;
            prop_assert!((a - b).abs() <= tolerance || (a.is_nan() && b.is_nan()), "{a} {b}");
        }
        prop_assert_eq!(written(&back, false), written(&m, false));
    }

    /// The shortest text that `{}` prints gives back the very number.
    #[test]
    fn whatever_rust_prints_is_read(x in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
        let v: Vector<f64> = read(format!("[ {x} {x:e} ]").as_bytes()).unwrap();
        prop_assert_eq!(v.data(), [x, x]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), start in 0_usize..8) {
        let starts: [&[u8]; 8] =
            [b"", b"\0B", b"\0BFM \x04", b"\0BDM \x04", b"\0BFV \x04", b" [ ", b" [ 1 2 \n", b"[ nan;inf "];
        let bytes = [starts[start], &bytes].concat();
        let _ = read::<Matrix<f32>>(&bytes);
        let _ = read::<Matrix<f64>>(&bytes);
        let _ = read::<Vector<f32>>(&bytes);
        let _ = read::<Vector<f64>>(&bytes);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+.0-9eEinfatyNIF;\\[\\] \n\r\t]{0,60}") {
        let text = format!("[ {text}");
        let _ = read::<Matrix<f32>>(text.as_bytes());
        let _ = read::<Vector<f64>>(text.as_bytes());
    }
}
