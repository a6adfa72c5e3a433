//! NumPy's `.npz` files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use kaldi_matrix::Matrix;
use tensor_strided::Tensor;

use crate::Stop;

/// The arrays of a file as `f32`, by name.
pub(crate) struct Npz(BTreeMap<String, (Vec<usize>, Vec<f32>)>);

impl Npz {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Stop> {
        let damaged = |why: String| Stop::Damaged(format!("{}: {why}", path.display()));
        let file = File::open(path).map_err(|error| damaged(error.to_string()))?;
        let mut zip = zip::ZipArchive::new(file).map_err(|error| damaged(error.to_string()))?;
        let mut arrays = BTreeMap::new();
        for number in 0..zip.len() {
            let mut entry = zip.by_index(number).map_err(|error| damaged(error.to_string()))?;
            let name = entry.name().trim_end_matches(".npy").to_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(|error| damaged(error.to_string()))?;
            // Text and other arrays that are no numbers are left out.
            if let Ok(array) = Tensor::read_npy_as_f32(&bytes[..]) {
                let values = array.view().iter().copied().collect();
                arrays.insert(name, (array.shape().to_vec(), values));
            }
        }
        Ok(Self(arrays))
    }

    fn get(&self, name: &str) -> Result<&(Vec<usize>, Vec<f32>), Stop> {
        self.0.get(name).ok_or_else(|| Stop::Damaged(format!("there is no array `{name}`")))
    }

    /// Returns `true` if there is such an array.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns an array of one axis, or the elements of any.
    pub(crate) fn values(&self, name: &str) -> Result<&[f32], Stop> {
        Ok(&self.get(name)?.1)
    }

    /// Returns a whole number.
    pub(crate) fn size(&self, name: &str) -> Result<usize, Stop> {
        Ok(self.values(name)?.first().map_or(0, |&value| value as usize))
    }

    /// Returns an array of two axes; one of one axis is a row.
    pub(crate) fn matrix(&self, name: &str) -> Result<Matrix<f32>, Stop> {
        let (shape, values) = self.get(name)?;
        let (rows, cols) = match shape[..] {
            [rows, cols] => (rows, cols),
            _ => (1, values.len()),
        };
        Ok(Matrix::from_vec(rows, cols, values.clone())?)
    }

    /// Returns an array of two axes, `None` if there is none; one of one axis is a row.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Matrix<f32>>, Stop> {
        if self.has(name) { self.matrix(name).map(Some) } else { Ok(None) }
    }

    /// Returns the whole numbers of an array, none without it.
    pub(crate) fn integers(&self, name: &str) -> Vec<usize> {
        self.0.get(name).map(|(_, values)| values.iter().map(|&value| value as usize).collect()).unwrap_or_default()
    }
}
