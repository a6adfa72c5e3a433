//! Damaged input for every reader: errors may come of it, and nothing worse. How to search longer
//! stands in `kaldera-fuzz`.

use std::fs;
use std::path::Path;

use kaldera_fuzz::fuzz;
use kaldi_io::lines::Lines;
use kaldi_io::rxfilename::{self, Input};
use kaldi_io::segments::Segments;
use kaldi_io::specifier::{Rspecifier, Wspecifier};
use kaldi_io::table::{IndexedArchive, RandomAccessReader, SequentialReader, TableWriter};
use kaldi_io::wave::{WaveData, WaveError, WaveInfo};
use kaldi_io::{Error, Holder, HtkMatrix, IntegerVector, SphinxMatrix, wxfilename};
use kaldi_matrix::codec::MatrixHeader;
use kaldi_matrix::{
    CompressedMatrix, CompressionMethod, GeneralMatrix, Matrix, SpMatrix, SparseMatrix, SparseVector, TpMatrix, Vector,
};

pub(crate) fn input(bytes: &[u8]) -> Input {
    Input::from_reader("fuzz", std::io::Cursor::new(bytes.to_vec()))
}

/// What there is of objects in an archive is written as it was read.
fn archive<T: Holder>(bytes: &[u8]) {
    let mut found = 0;
    if let Ok(reader) = SequentialReader::<T>::from_archive_input(input(bytes)) {
        for (_, object) in reader.map_while(Result::ok) {
            found += 1;
            let mut written = Vec::new();
            if object.write(&mut written, true).is_ok() {
                match T::read(&mut &written[..]) {
                    Ok(again) => {
                        let mut twice = Vec::new();
                        again.write(&mut twice, true).expect("what was written once");
                        assert_eq!(written, twice);
                    }
                    // Of a file that ends within its first frame no sample is left.
                    Err(error) => assert!(matches!(error, Error::Wave(WaveError::Empty { .. })), "{error}"),
                }
            }
            let _ = object.write(&mut Vec::new(), false);
            let _ = object.extract_range("0:1,0:0");
        }
    }
    if let Ok(archive) = IndexedArchive::<T, _>::new("fuzz", bytes) {
        // The index looks at less than reading does.
        assert!(archive.len() >= found);
        for key in archive.keys() {
            assert!(archive.object_bytes(key).is_some());
            let _ = archive.get(key);
        }
    }
}

#[test]
fn archives() {
    fuzz!("archives", |bytes| {
        archive::<i32>(bytes);
        archive::<u8>(bytes);
        archive::<i64>(bytes);
        archive::<f32>(bytes);
        archive::<f64>(bytes);
        archive::<bool>(bytes);
        archive::<String>(bytes);
        archive::<Vec<String>>(bytes);
        archive::<Vec<i32>>(bytes);
        archive::<Vec<Vec<i32>>>(bytes);
        archive::<Vec<(i32, i32)>>(bytes);
        archive::<Vec<f32>>(bytes);
        archive::<Vec<Vec<(i32, f32)>>>(bytes);
        archive::<IntegerVector>(bytes);
        archive::<MatrixHeader>(bytes);
        archive::<Vector<f32>>(bytes);
        archive::<Vector<f64>>(bytes);
        archive::<Matrix<f32>>(bytes);
        archive::<Matrix<f64>>(bytes);
        archive::<SpMatrix<f32>>(bytes);
        archive::<TpMatrix<f64>>(bytes);
        archive::<SparseVector<f32>>(bytes);
        archive::<SparseMatrix<f64>>(bytes);
        archive::<CompressedMatrix>(bytes);
        archive::<GeneralMatrix>(bytes);
        archive::<HtkMatrix>(bytes);
        archive::<SphinxMatrix>(bytes);
        archive::<WaveInfo>(bytes);
        archive::<WaveData>(bytes);
    });
}

#[test]
fn wav() {
    fuzz!("wav", |bytes| {
        let info = WaveInfo::read(&mut &bytes[..]);
        let Ok(wave) = WaveData::read(&mut &bytes[..]) else { return };
        let info = info.expect("the recording has a header");
        assert_eq!((info.samp_freq, info.num_channels), (wave.samp_freq, wave.num_channels));
        assert!(info.num_samples.is_none_or(|samples| wave.num_samples() <= samples as usize));
        assert!(2 * wave.samples.len() <= bytes.len());
    });
}

#[test]
fn compressed() {
    fuzz!("compressed", |bytes| {
        let header = MatrixHeader::read(&mut &bytes[..]);
        let Ok(matrix) = <CompressedMatrix as Holder>::read(&mut &bytes[..]) else { return };
        let header = header.expect("the matrix has a header");
        assert_eq!((header.rows, header.cols), (matrix.num_rows(), matrix.num_cols()));
        let full: Matrix<f32> = matrix.to_matrix();
        assert_eq!(full.num_rows(), matrix.num_rows());
        let (mut written, mut twice) = (Vec::new(), Vec::new());
        Holder::write(&matrix, &mut written, true).expect("bytes");
        let again = <CompressedMatrix as Holder>::read(&mut &written[..]).expect("what was written can be read");
        Holder::write(&again, &mut twice, true).expect("bytes");
        assert_eq!(written, twice);
        let rows = matrix.num_rows();
        for range in ["0:0", "0:7,0:0", ":,0:1"] {
            if let Ok(part) = matrix.extract_range(range) {
                assert!(part.num_rows() <= rows);
            }
        }
        let _ = CompressedMatrix::new(&full, CompressionMethod::Automatic);
    });
}

#[test]
fn texts() {
    let matrix = Matrix::<f32>::zeros(5, 3);
    let vector = Vector::<f32>::zeros(4);
    fuzz!("texts", |bytes| {
        assert!(Segments::new(input(bytes)).count() <= bytes.len());
        assert!(Lines::new(bytes).with_longest(8).flatten().all(|line| line.len() <= 8 && !line.contains('\n')));
        // Lines are read, and nothing that they name is opened or run.
        if let Ok(mut reader) = RandomAccessReader::<Matrix<f32>>::from_script_input(input(bytes)) {
            assert!(!reader.has_key("no such key").expect("nothing is loaded for this"));
        }
        for line in String::from_utf8_lossy(bytes).lines() {
            let _ = Wspecifier::parse(line);
            let _ = rxfilename::classify(line);
            let _ = wxfilename::classify(line);
            if let Ok(specifier) = Rspecifier::parse(line) {
                assert!(line.ends_with(&specifier.rxfilename));
            }
            if let Ok(part) = matrix.extract_range(line) {
                assert!((1..=5).contains(&part.num_rows()) && (1..=3).contains(&part.num_cols()));
            }
            if let Ok(part) = vector.extract_range(line) {
                assert!((1..=4).contains(&part.dim()));
            }
        }
    });
}

/// Writes the corpora anew: run it when there is a new kind of object, with `--ignored`.
#[test]
#[ignore = "writes into the source"]
fn write_corpora() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/__fuzz__");
    let folder = |name: &str| {
        let folder = corpora.join(name).join("corpus");
        fs::create_dir_all(&folder).expect("a folder");
        folder
    };
    fn tables<T: Holder>(folder: &Path, name: &str, objects: &[T]) {
        let keys = ["a", "utt-2", "z"];
        let mut writer = TableWriter::<T>::to_archive(folder.join(format!("{name}.ark"))).expect("an archive");
        writer.write_all(keys.iter().zip(objects)).expect("objects");
        writer.close().expect("an archive");
        let mut bytes = Vec::new();
        for (key, object) in keys.iter().zip(objects) {
            bytes.extend(format!("{key} ").bytes());
            if object.write(&mut bytes, false).is_err() {
                return;
            }
        }
        fs::write(folder.join(format!("{name}.txt")), bytes).expect("an archive");
    }
    let archives = folder("archives");
    let matrix = |rows, cols| Matrix::<f32>::from_fn(rows, cols, |row, col| (row * 7 + col * 3) as f32 / 8.0 - 2.0);
    tables(&archives, "int32", &[5, -70_000, i32::MAX]);
    tables(&archives, "uint8", &[0_u8, 255]);
    tables(&archives, "int64", &[1_i64 << 40, -3]);
    tables(&archives, "float", &[0.5_f32, -1e-30, f32::NAN]);
    tables(&archives, "double", &[0.1, f64::INFINITY]);
    tables(&archives, "bool", &[true, false]);
    tables(&archives, "token", &["word".to_owned(), "é".to_owned()]);
    tables(&archives, "tokens", &[vec!["two".to_owned(), "words".to_owned()], vec![]]);
    tables(&archives, "ints", &[vec![1, -2, 300_000], vec![]]);
    tables(&archives, "int-lists", &[vec![vec![1, 2], vec![], vec![3]], vec![]]);
    tables(&archives, "int-pairs", &[vec![(1, 2), (3, 4)], vec![]]);
    tables(&archives, "posteriors", &[vec![vec![(1, 0.5_f32), (2, 0.5)], vec![], vec![(3, 1.0)]], vec![]]);
    tables(&archives, "integer-vector", &[IntegerVector(vec![1, 2, 3])]);
    tables(&archives, "vector", &[Vector::from(vec![1.0_f32, -0.25, 1e20]), Vector::zeros(0)]);
    tables(&archives, "vector-double", &[Vector::from(vec![0.1_f64, -3e-200])]);
    tables(&archives, "matrix", &[matrix(3, 2), matrix(0, 0), matrix(1, 5)]);
    tables(&archives, "matrix-double", &[Matrix::<f64>::from_fn(2, 3, |row, col| (row + col) as f64 * 0.1)]);
    tables(&archives, "sp", &[SpMatrix::<f32>::zeros(3)]);
    tables(&archives, "tp", &[TpMatrix::<f64>::zeros(2)]);
    let sparse = SparseVector::new(9, [(1, -2.0_f32), (5, 1.75)]).expect("places below 9");
    tables(&archives, "sparse-vector", &[sparse]);
    let sparse = SparseMatrix::new(4, [vec![(0, 1.5)], vec![], vec![(1, -1.0), (3, 2.0)]]).expect("places below 4");
    tables(&archives, "sparse", &[sparse]);
    let compressed = |matrix, method| CompressedMatrix::new(&matrix, method).expect("numbers");
    tables(
        &archives,
        "general",
        &[
            GeneralMatrix::from(matrix(2, 2)),
            compressed(matrix(9, 2), CompressionMethod::Automatic).into(),
            SparseMatrix::new(3, [vec![(0, 1.5_f32)]]).expect("a place below 3").into(),
        ],
    );
    tables(&archives, "htk", &[HtkMatrix { values: matrix(3, 2), sample_period: 100_000, sample_kind: 6 }]);
    // Two rows of one number, compressed; and with a checksum.
    let mut htk = b"a \0\0\0\x06\0\x01\x86\xa0\0\x02\x14\x06".to_vec();
    htk.extend([2.0_f32, 1.0].iter().flat_map(|x| x.to_be_bytes()));
    htk.extend(b"\0\x03\xff\x6ack");
    fs::write(archives.join("htk-compressed.ark"), htk).expect("a file");
    // A row of reflection coefficients in 16-bit integers.
    fs::write(archives.join("htk-irefc.ark"), b"a \0\0\0\x01\0\x01\x86\xa0\0\x04\0\x05\x80\x01\x7f\xff")
        .expect("a file");
    tables(&archives, "sphinx", &[SphinxMatrix { values: matrix(2, 13) }]);
    let wave = |num_channels, samples: &[i16]| WaveData { samp_freq: 8000.0, num_channels, samples: samples.to_vec() };
    tables(&archives, "wave", &[wave(1, &[1, -2, 300]), wave(2, &[1, 2, 3, 4])]);

    let compressed_files = folder("compressed");
    for (number, rows) in (1..=7).flat_map(|number| [(number, 3), (number, 12)]) {
        let method = CompressionMethod::from_number(number).expect("1 to 7");
        let mut bytes = Vec::new();
        Holder::write(&compressed(matrix(rows, 4), method), &mut bytes, true).expect("bytes");
        fs::write(compressed_files.join(format!("method-{number}-rows-{rows}")), bytes).expect("a file");
    }

    let recordings = folder("wav");
    let mut plain = Vec::new();
    wave(1, &[1, -2, 300, i16::MIN, i16::MAX]).write(&mut plain).expect("bytes");
    let mut streamed = plain.clone();
    streamed[4..8].fill(0xff);
    streamed[40..44].fill(0);
    let mut with_list = plain.clone();
    with_list.splice(36..36, *b"LIST\x04\0\0\0INFO");
    with_list[4] += 12;
    let mut stereo = Vec::new();
    wave(2, &[1, 2, 3, 4, 5, 6]).write(&mut stereo).expect("bytes");
    let swapped = |bytes: &[u8]| {
        // Every number of the header and each sample the other way round.
        let mut bytes = bytes.to_vec();
        bytes[3] = b'X';
        for (start, len) in [(4, 4), (16, 4), (20, 2), (22, 2), (24, 4), (28, 4), (32, 2), (34, 2), (40, 4)] {
            bytes[start..start + len].reverse();
        }
        bytes[44..].chunks_exact_mut(2).for_each(<[u8]>::reverse);
        bytes
    };
    let mut extensible = plain[..36].to_vec();
    extensible[16] = 40;
    extensible[20..22].copy_from_slice(&[0xfe, 0xff]);
    extensible.extend(b"\x16\0\x10\0\0\0\0\0\x01\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71");
    extensible.extend(&plain[36..]);
    extensible[4] += 24;
    let mut odd_list = plain.clone();
    odd_list.splice(36..36, *b"LIST\x05\0\0\0INFOa\0");
    odd_list[4] += 14;
    for (name, bytes) in [
        ("odd-list", odd_list),
        ("plain", plain.clone()),
        ("streamed", streamed),
        ("list", with_list),
        ("stereo", stereo.clone()),
        ("rifx", swapped(&stereo)),
        ("extensible", extensible),
        ("truncated", plain[..47].to_vec()),
    ] {
        assert!(WaveData::read(&mut &bytes[..]).is_ok(), "{name}");
        fs::write(recordings.join(name), bytes).expect("a file");
    }

    let texts = folder("texts");
    for (name, text) in [
        ("rspecifiers", "ark:a.ark\nscp,p:b.scp\nark,s,cs,o,bg,t:gunzip -c a.gz |\nns,no,ncs,np,scp:-\n"),
        ("wspecifiers", "ark,t:-\nark,scp,f:a.ark,a.scp\nscp,p:a.scp\nark,nf,b:| gzip -c > a.gz\n"),
        ("files", "a.ark:123\n-\ncat a |\n| cat\na b\n"),
        ("ranges", "0:4\n:,0:2\n1:2,1:1\n0:7\n:\n"),
        ("script", "a a.ark:5\nb b.ark:77[0:3]\nc sox c.flac -t wav - |\nd d.mat[0:1,:]\n"),
        ("windows", "\u{feff}utt1 rec1 0.50 3.25\r\nutt2 rec1 4.10 -1\r\n"),
        ("segments", "utt1 rec1 0.50 3.25\nutt2 rec1 4.10 -1\nutt3 rec2 0 9.99 1\n"),
    ] {
        fs::write(texts.join(name), text).expect("a file");
    }
}
