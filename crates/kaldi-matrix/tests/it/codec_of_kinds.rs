//! Kaldi's bytes and text for matrices that are not dense: golden ones, round trips, and inputs
//! that are damaged.

use kaldi_matrix::codec::{self, CodecError, KaldiRead, KaldiWrite};
use kaldi_matrix::general::GeneralMatrixType;
use kaldi_matrix::{
    CompressedMatrix, CompressionMethod, GeneralMatrix, Matrix, SpMatrix, SparseMatrix, SparseVector, TpMatrix,
};
use proptest::prelude::*;

fn written(object: &dyn KaldiWrite, binary: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::write_header(&mut bytes, binary).unwrap();
    object.write_body(&mut bytes, binary).unwrap();
    bytes
}

fn read<T: KaldiRead>(bytes: &[u8]) -> Result<T, CodecError> {
    codec::read(&mut &*bytes)
}

fn message<T: KaldiRead>(bytes: &[u8]) -> String {
    read::<T>(bytes).err().expect("damaged").to_string()
}

/// The header of a compressed matrix that claims this many rows and columns.
fn compressed(token: &str, rows: i32, cols: i32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = [b"\0B", token.as_bytes(), b" "].concat();
    bytes.extend(0_f32.to_le_bytes());
    bytes.extend(255_f32.to_le_bytes());
    bytes.extend(rows.to_le_bytes());
    bytes.extend(cols.to_le_bytes());
    bytes.extend(rest);
    bytes
}

fn compressed_samples() -> Vec<CompressedMatrix> {
    let m = Matrix::from_fn(10, 3, |r, c| ((r * 7 + c * 5) % 11) as f32 - 0.5 * c as f32);
    (1..=7).map(|i| CompressedMatrix::new(&m, CompressionMethod::from_number(i).unwrap()).unwrap()).collect()
}

#[test]
fn compressed_matrices_are_read_as_what_they_are_and_as_matrices() {
    for m in compressed_samples() {
        let bytes = written(&m, true);
        assert_eq!(read::<CompressedMatrix>(&bytes).unwrap(), m);
        assert_eq!(read::<Matrix<f32>>(&bytes).unwrap(), m.to_matrix());
        assert_eq!(read::<Matrix<f64>>(&bytes).unwrap(), m.to_matrix());
        assert_eq!(read::<GeneralMatrix>(&bytes).unwrap(), GeneralMatrix::Compressed(m.clone()));
        assert_eq!(written(&m, false), written(&m.to_matrix::<f32>(), false));
    }
    let exact = compressed("CM3", 1, 2, &[7, 9]);
    assert_eq!(read::<Matrix<f32>>(&exact).unwrap().data(), [7.0, 9.0]);
    let m = Matrix::from_fn(9, 2, |r, c| (r + c) as f64);
    for binary in [true, false] {
        let automatic = CompressedMatrix::new(&m, CompressionMethod::Automatic).unwrap();
        assert_eq!(read::<CompressedMatrix>(&written(&m, binary)).unwrap(), automatic);
    }
    assert!(message::<CompressedMatrix>(b"[ 1 nan ]").contains("expected a matrix that can be compressed"));
}

#[test]
fn empty_compressed_matrices_are_followed_by_what_follows() {
    let empty = CompressedMatrix::default();
    let bytes = written(&empty, true);
    assert_eq!(bytes, compressed("CM", 0, 0, &[])[..5].iter().copied().chain([0; 16]).collect::<Vec<_>>());
    let two = [bytes.clone(), bytes].concat();
    let mut rest = &two[..];
    for _ in 0..2 {
        assert!(codec::read::<CompressedMatrix>(&mut rest).unwrap().is_empty());
    }
    assert!(rest.is_empty());
}

#[test]
fn announced_sizes_are_not_allocated_before_data() {
    let max = i32::MAX;
    for token in ["CM", "CM2", "CM3"] {
        for (rows, cols) in [(max, 1), (1, max), (max, max), (1 << 20, 1 << 10)] {
            let bytes = compressed(token, rows, cols, &[1; 19]);
            let error = read::<Matrix<f32>>(&bytes).unwrap_err();
            assert!(matches!(error, CodecError::End { .. }), "{token} {rows} {cols}: {error}");
            assert_eq!(error.offset(), bytes.len() as u64, "{error}");
        }
        for (rows, cols) in [(-1, 3), (3, -1), (0, 3), (i32::MIN, i32::MIN)] {
            let error = read::<CompressedMatrix>(&compressed(token, rows, cols, &[1; 64])).unwrap_err();
            assert!(matches!(error, CodecError::Unexpected { .. }), "{token} {rows} {cols}: {error}");
        }
        assert!(read::<CompressedMatrix>(&compressed(token, 3, 0, &[])).unwrap().is_empty());
    }
    // 40 bytes and less that claim 2^31 - 1 of everything.
    let claim = b"\x04\xff\xff\xff\x7f".to_vec();
    for start in ["SM ", "SV ", "FP ", "DP "] {
        let bytes = [b"\0B", start.as_bytes(), &claim, &claim, b"SV "].concat();
        assert!(read::<SparseMatrix<f32>>(&bytes).is_err());
        assert!(read::<SparseVector<f32>>(&bytes).is_err());
        assert!(read::<SpMatrix<f32>>(&bytes).is_err());
        assert!(read::<TpMatrix<f64>>(&bytes).is_err());
        assert!(read::<GeneralMatrix>(&bytes).is_err());
    }
}

#[test]
fn sparse_objects_in_both_forms() {
    let v = SparseVector::new(9, [(5, 1.75_f32), (1, -2.0), (7, 4.0)]).unwrap();
    assert_eq!(written(&v, false), b"dim=9 [ 1 -2 5 1.75 7 4 ] ");
    for text in ["dim=9 [ 1 -2 5 1.75 7 4 ] ", " dim=9\n[ 1 -2\n5 1.75 7 4]\n", "dim=9 [ 1 -2 5 1.75 7 4 ]"] {
        assert_eq!(read::<SparseVector<f32>>(text.as_bytes()).unwrap(), v, "{text:?}");
    }
    let wide: SparseVector<f64> = read(&written(&v, true)).unwrap();
    assert_eq!(read::<SparseVector<f32>>(&written(&wide, true)).unwrap(), v);

    let m = SparseMatrix::new(4, [vec![(3, 0.5_f32)], vec![], vec![(0, 1.0), (2, -1.0)]]).unwrap();
    assert_eq!(written(&m, false), b"rows=3 dim=4 [ 3 0.5 ] dim=4 [ ] dim=4 [ 0 1 2 -1 ] \n");
    for binary in [true, false] {
        assert_eq!(read::<SparseMatrix<f32>>(&written(&m, binary)).unwrap(), m);
        assert_eq!(read::<GeneralMatrix>(&written(&m, binary)).unwrap(), GeneralMatrix::Sparse(m.clone()));
        let empty = SparseMatrix::<f64>::default();
        assert_eq!(read::<SparseMatrix<f64>>(&written(&empty, binary)).unwrap(), empty);
        // Objects follow each other.
        let bytes = [written(&m, binary), written(&v, binary), written(&m, binary)].concat();
        let mut rest = &bytes[..];
        assert_eq!(codec::read::<SparseMatrix<f32>>(&mut rest).unwrap(), m);
        assert_eq!(codec::read::<SparseVector<f32>>(&mut rest).unwrap(), v);
        assert_eq!(codec::read::<GeneralMatrix>(&mut rest).unwrap().matrix_type(), GeneralMatrixType::Sparse);
        assert!(rest.is_empty());
    }
}

#[test]
fn damage_to_sparse_objects_is_named() {
    let vector = message::<SparseVector<f32>>;
    assert_eq!(vector(b"dim=3 [ 3 1 ]"), "at byte 8: expected an index in 0..3, found 3");
    assert_eq!(vector(b"dim=3 [ 1 1 0 1 ]"), "at byte 12: expected an index in 2..3, found 0");
    assert_eq!(vector(b"dim=3 [ -1 1 ]"), "at byte 8: expected an index in 0..3, found -1");
    assert_eq!(vector(b"dim=-3 [ ]"), "at byte 0: expected `dim=` and a number, a sparse vector, found `dim=-3`");
    assert_eq!(vector(b"dim=3 [ 1 x ]"), "at byte 10: expected a number, found `x`");
    assert_eq!(vector(b"dim=3 [ 1 2"), "at byte 10: expected a number and a space, found `2`");
    assert_eq!(
        vector(b"\0BSV \x04\x03\0\0\0\x04\x01\0\0\0\x04\x03\0\0\0"),
        "at byte 15: expected an index in 0..3, found 3"
    );
    assert_eq!(
        vector(b"\0BSV \x04\x03\0\0\0\x04\x01\0\0\0\x04\x02\0\0\0\x05"),
        "at byte 20: expected the size byte of a number, 4 or 8, found `\\x05`"
    );
    let matrix = message::<SparseMatrix<f32>>;
    assert_eq!(
        matrix(b"rows=2 dim=3 [ ] dim=4 [ ]"),
        "at byte 16: expected a row of dimension 3, as the first, found one of 4"
    );
    assert_eq!(matrix(b"rows=x"), "at byte 0: expected `rows=` and a number, a sparse matrix, found `rows=x`");
    assert_eq!(matrix(b"\0BFM "), "at byte 2: expected `SM`, a sparse matrix, found `FM`");
}

#[test]
fn every_part_of_a_file_is_an_error() {
    let sparse = SparseMatrix::new(4, [vec![(3, 0.5_f32)], vec![(0, 1.0), (2, -1.0)]]).unwrap();
    let mut files: Vec<Vec<u8>> = compressed_samples().iter().map(|m| written(m, true)).collect();
    files.push(written(&sparse, true));
    for bytes in files {
        for len in 0..bytes.len() {
            let error = read::<GeneralMatrix>(&bytes[..len]).unwrap_err();
            assert!(error.offset() <= len as u64, "{error}");
        }
    }
}

fn read_all(bytes: &[u8]) {
    let _ = read::<Matrix<f32>>(bytes);
    let _ = read::<CompressedMatrix>(bytes);
    let _ = read::<SparseVector<f64>>(bytes);
    let _ = read::<SparseMatrix<f32>>(bytes);
    let _ = read::<GeneralMatrix>(bytes);
    let _ = read::<SpMatrix<f32>>(bytes);
    let _ = read::<TpMatrix<f64>>(bytes);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        start in prop::sample::select(vec!["CM ", "CM2 ", "CM3 ", "SV \x04", "SM \x04\x02\0\0\0SV \x04", "FP \x04"]),
        bytes in prop::collection::vec(prop_oneof![Just(0), Just(4), Just(8), any::<u8>()], 0..60),
    ) {
        read_all(&[b"\0B", start.as_bytes(), &bytes].concat());
    }

    #[test]
    fn no_text_makes_it_panic(start in "(dim=|rows=|\\[ )?", text in "[-0-9. drows=im\\[\\]\n]{0,60}") {
        read_all(format!("{start}{text}").as_bytes());
    }

    /// One byte of a whole file is another: an error, or another matrix; the scale may become
    /// infinite or NaN.
    #[test]
    fn a_changed_byte_is_harmless(which in 0_usize..7, place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = written(&compressed_samples()[which], true);
        let place = place.index(bytes.len());
        bytes[place] = byte;
        read_all(&bytes);
        if let Ok(m) = read::<CompressedMatrix>(&bytes) {
            let _ = m.range(0, m.num_rows().min(3), 0, m.num_cols());
        }
    }

    #[test]
    fn sparse_matrices_come_back(
        cols in 1_usize..8,
        rows in prop::collection::vec(prop::collection::vec((0_usize..8, any::<f32>()), 0..6), 1..6),
    ) {
        let rows = rows.into_iter().map(|row| row.into_iter().map(|(c, x)| (c % cols, if x.is_finite() { x } else { 1.0 })).collect::<Vec<_>>());
        let m = SparseMatrix::new(cols, rows).unwrap();
        prop_assert_eq!(&read::<SparseMatrix<f32>>(&written(&m, true)).unwrap(), &m);
        let from_text: SparseMatrix<f32> = read(&written(&m, false)).unwrap();
        prop_assert_eq!(written(&from_text, false), written(&m, false));
    }
}
