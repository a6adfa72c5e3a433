//! Files of features, read.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use kaldi_io::table::SequentialReader;
use kaldi_matrix::Matrix;
use ndarray::Array2;
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use tensor_strided::Tensor;
use zip::ZipArchive;

use crate::Error;
use crate::pipeline::limits::{Limited, most_bytes, swells};

/// Calls `take` with the key and the features of each utterance in a file of a format of
/// [`FeatureFile`](super::FeatureFile), or in a script file of Kaldi (`.scp`), until it breaks.
///
/// The features have a row for each frame. Of `.ark`, `.scp` and `.npz` one matrix is in memory at
/// a time; a `.safetensors` file is read as a whole.
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
/// An ending that tells no format, a file that cannot be read or holds anything but matrices of
/// `f32`; errors of `take`.
pub fn read_features(
    path: impl AsRef<Path>,
    take: impl FnMut(&str, Matrix<f32>) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    read_features_of(path.as_ref(), true, take)
}

/// As [`read_features`]; without `pipes`, a line of a script file that has a command is an error.
pub(crate) fn read_features_of(
    path: &Path,
    pipes: bool,
    mut take: impl FnMut(&str, Matrix<f32>) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(kind @ ("ark" | "scp")) => {
            let reader = SequentialReader::<Matrix<f32>>::open(&format!("{kind}:{}", path.display()))?;
            for entry in if pipes { reader } else { reader.without_pipes() } {
                let (key, features) = entry?;
                if take(&key, features)?.is_break() {
                    break;
                }
            }
        }
        Some("npz") => {
            let file = BufReader::new(File::open(path).map_err(unreadable)?);
            let mut npz = ZipArchive::new(file).map_err(|error| unreadable(error.into()))?;
            for i in 0..npz.len() {
                let array = npz.by_index(i).map_err(|error| unreadable(error.into()))?;
                let compressed = array.compressed_size();
                // Before the memory for it is taken.
                if array.size() > most_bytes(compressed) {
                    return Err(unreadable(swells(most_bytes(compressed))));
                }
                let key = array.name().strip_suffix(".npy").unwrap_or(array.name()).to_owned();
                let damaged = |error| unreadable(io::Error::other(format!("'{key}': {error}")));
                let array = Tensor::<f32>::read_npy(Limited::new(array, compressed))
                    .map_err(|error| damaged(error.to_string()))?;
                let array = Array2::try_from(array).map_err(|error| damaged(error.to_string()))?;
                if take(&key, Matrix::from(array))?.is_break() {
                    break;
                }
            }
        }
        Some("safetensors") => {
            let bytes = fs::read(path).map_err(unreadable)?;
            let file = SafeTensors::deserialize(&bytes).map_err(|error| unreadable(io::Error::other(error)))?;
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
    use super::*;
    use crate::pipeline::{FeatureFile, FeatureSink as _};

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
