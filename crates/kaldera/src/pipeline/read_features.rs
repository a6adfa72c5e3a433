//! Files of features, read.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind};
use std::ops::ControlFlow;
use std::path::Path;

use kaldi_io::table::SequentialReader;
use kaldi_matrix::Matrix;
use ndarray::Array2;
use recurrent::weights::ParameterStore;
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use tensor_strided::Tensor;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::Error;
use crate::pipeline::Pipes;
use crate::pipeline::limits::{Limited, most_bytes, swells};

/// Calls `take` with the key and the features of each utterance in a file of a format of
/// [`FeatureFile`](super::FeatureFile), or in a script file of Kaldi (`.scp`), until it breaks.
///
/// The features have a row for each frame. Of `.ark`, `.scp` and `.npz` one matrix is in memory
/// at a time; a `.safetensors` file is read as a whole. An `.npz` may be compressed, and have
/// numbers of any type but complex ones, which become `f32`.
///
/// ```no_run
/// use std::ops::ControlFlow;
///
/// kaldera::pipeline::read_features("fbank.npz", |key, features| {
///     println!("{key}: {} frames of {}", features.num_rows(), features.num_cols());
///     Ok(ControlFlow::Continue(()))
/// })?;
/// # Ok::<(), kaldera::Error>(())
/// ```
///
/// # Errors
/// An unknown extension, a file that cannot be read or holds anything but matrices of `f32`;
/// errors of `take`.
pub fn read_features(
    path: impl AsRef<Path>,
    take: impl FnMut(&str, Matrix<f32>) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    read_features_with(path, Pipes::Named, take)
}

/// As [`read_features`]; with [`Pipes::Never`], a line of a script file that has a command is an
/// error.
///
/// # Errors
/// As [`read_features`].
pub fn read_features_with(
    path: impl AsRef<Path>,
    pipes: Pipes,
    mut take: impl FnMut(&str, Matrix<f32>) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    let path = path.as_ref();
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(kind @ ("ark" | "scp")) => {
            let reader = SequentialReader::<Matrix<f32>>::open(&format!("{kind}:{}", path.display()))?;
            for entry in if pipes == Pipes::Never { reader.without_pipes() } else { reader.checking_pipes() } {
                let (key, features) = entry?;
                if take(&key, features)?.is_break() {
                    break;
                }
            }
        }
        Some("npz") => {
            let file = BufReader::new(File::open(path).map_err(unreadable)?);
            let damaged = |what: String| unreadable(io::Error::new(ErrorKind::InvalidData, what));
            let mut npz = ZipArchive::new(file)
                .map_err(|error| damaged(format!("no .npz file, or one that is damaged or cut short: {error}")))?;
            for i in 0..npz.len() {
                let array = npz.by_index(i).map_err(|error| match error {
                    ZipError::UnsupportedArchive(_) => damaged(format!(
                        "array {i} is compressed or encrypted as numpy.savez and numpy.savez_compressed do not do it: {error}"
                    )),
                    error => damaged(format!("array {i}: {error}")),
                })?;
                let compressed = array.compressed_size();
                // Before the memory for it is taken.
                if array.size() > most_bytes(compressed) {
                    return Err(unreadable(swells(most_bytes(compressed))));
                }
                let key = array.name().strip_suffix(".npy").unwrap_or(array.name()).to_owned();
                let array = Tensor::read_npy_as_f32(Limited::new(array, compressed))
                    .map_err(|error| damaged(format!("'{key}': {error}")))?;
                let shape = array.shape().to_vec();
                let array = Array2::try_from(array)
                    .map_err(|_| damaged(format!("'{key}': an array of shape {shape:?}, where a matrix is needed")))?;
                if take(&key, Matrix::from(array))?.is_break() {
                    break;
                }
            }
        }
        Some("safetensors") => {
            let bytes = fs::read(path).map_err(unreadable)?;
            let file = SafeTensors::deserialize(&bytes).map_err(|error| {
                // The store of parameters has the clearer message.
                let problem = match ParameterStore::<f32>::from_bytes(&bytes) {
                    Err(recurrent::Error::File { problem, .. }) => problem,
                    _ => error.to_string(),
                };
                unreadable(io::Error::new(ErrorKind::InvalidData, problem))
            })?;
            let mut tensors = file.tensors();
            // In the order in which they were written.
            tensors.sort_by_key(|(_, tensor)| tensor.data().as_ptr().addr());
            for (key, tensor) in tensors {
                let (Dtype::F32, &[rows, cols]) = (tensor.dtype(), tensor.shape()) else {
                    return Err(unreadable(io::Error::other(format!("'{key}' is not a matrix of F32"))));
                };
                let values = tensor.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                if take(&key, Matrix::from_vec(rows, cols, values)?)?.is_break() {
                    break;
                }
            }
        }
        _ => return Err(Error::UnknownFormat { path: path.to_owned() }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;
    use crate::pipeline::{FeatureFile, FeatureSink as _};

    /// An `.npz` file of one array.
    fn npz(folder: &Path, kind: &str, shape: &str, values: &[u8], method: CompressionMethod) -> PathBuf {
        let path = folder.join("x.npz");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        zip.start_file("utt.npy", SimpleFileOptions::default().compression_method(method)).unwrap();
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        zip.write_all(&[b"\x93NUMPY\x01\0", &len[..], header.as_bytes(), values].concat()).unwrap();
        zip.finish().unwrap();
        path
    }

    fn read(path: &Path) -> Result<Vec<Matrix<f32>>, String> {
        let mut all = vec![];
        let read = read_features(path, |_, features| {
            all.push(features);
            Ok(ControlFlow::Continue(()))
        });
        read.map(|()| all).map_err(|error| error.to_string())
    }

    #[test]
    fn arrays_of_numpy_are_read_whatever_their_type_and_compression() {
        let folder = tempfile::tempdir().unwrap();
        let values = [1_i16, -2, 3, 0, 100, -7];
        let expected = vec![Matrix::from_vec(2, 3, values.map(f32::from).to_vec()).unwrap()];
        // By numpy.array([1, -2, 3, 0, 100, -7], dtype='<f2').tobytes().
        let half = b"\x00\x3c\x00\xc0\x00\x42\x00\x00\x40\x56\x00\xc7".to_vec();
        for (kind, bytes) in [
            ("<f2", half),
            ("<f4", values.map(|value| f32::from(value).to_le_bytes()).concat()),
            (">f4", values.map(|value| f32::from(value).to_be_bytes()).concat()),
            ("<f8", values.map(|value| f64::from(value).to_le_bytes()).concat()),
            ("<i2", values.map(i16::to_le_bytes).concat()),
            ("<i8", values.map(|value| i64::from(value).to_le_bytes()).concat()),
        ] {
            for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
                let path = npz(folder.path(), kind, "(2, 3)", &bytes, method);
                assert_eq!(read(&path), Ok(expected.clone()), "{kind}");
            }
        }
        for (kind, shape, expected) in [
            ("<f4", "(6,)", "'utt': an array of shape [6], where a matrix is needed"),
            ("<f4", "(1000000, 1000000)", "'utt': the file ends after 24 of 4000000000000 bytes"),
            ("<c8", "(3, 1)", "'utt': the elements are c8"),
            ("|O", "(3, 1)", "'|O' cannot be read"),
        ] {
            let error = read(&npz(folder.path(), kind, shape, &[0; 24], CompressionMethod::Deflated)).unwrap_err();
            assert!(error.contains("x.npz") && error.contains(expected), "{error}");
        }
        fs::write(folder.path().join("x.npz"), "no archive").unwrap();
        assert!(read(&folder.path().join("x.npz")).unwrap_err().contains("no .npz file"));
    }

    #[test]
    fn an_array_that_would_swell_beyond_the_limit_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = npz(folder.path(), "<f4", "(500, 1000)", &vec![0; 2_000_000], CompressionMethod::Deflated);
        let mut bytes = fs::read(&path).unwrap();
        let directory = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        // Its size without compression.
        bytes[directory + 24..directory + 28].copy_from_slice(&i32::MAX.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.contains("268435456 bytes"), "{error}");
    }

    #[test]
    fn a_safetensors_file_that_is_cut_short_is_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        let mut file = FeatureFile::create(&path).unwrap();
        file.write("utt", Matrix::from_fn(3, 2, |row, col| (row + col) as f32).view()).unwrap();
        file.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        for len in 0..bytes.len() {
            fs::write(&path, &bytes[..len]).unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.contains("x.safetensors") && error.contains("copy it again"), "{error}");
        }
    }

    #[test]
    fn what_was_written_is_read_as_far_as_it_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let written: Vec<_> = (1..4)
            .map(|seed| (format!("utt{seed}"), Matrix::from_fn(seed, 2, |row, col| (seed + 10 * row + col) as f32)))
            .collect();
        for ending in ["ark", "npz", "safetensors"] {
            let path = folder.path().join("x").with_extension(ending);
            let mut file = FeatureFile::create(&path).unwrap();
            for (key, features) in &written {
                file.write(key, features.view()).unwrap();
            }
            for path in file.finish().unwrap() {
                let (mut all, mut first) = (Vec::new(), Vec::new());
                let mut keep = |key: &str, features| {
                    all.push((key.to_owned(), features));
                    Ok(ControlFlow::Continue(()))
                };
                read_features(&path, &mut keep).unwrap();
                assert_eq!(all, written, "{}", path.display());
                read_features(&path, |key, _| {
                    first.push(key.to_owned());
                    Ok(ControlFlow::Break(()))
                })
                .unwrap();
                assert_eq!(first, ["utt1"]);
            }
        }
        let unknown = read_features("x.txt", |_, _| Ok(ControlFlow::Continue(())));
        assert!(matches!(unknown, Err(Error::UnknownFormat { .. })));
    }
}
