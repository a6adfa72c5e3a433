//! Arrays of NumPy's `.npz` files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use kaldera::matrix::Matrix;
use kaldera::tensor::Tensor;
use zip::ZipArchive;

use crate::Stop;

/// The arrays of a file that are numbers of 32 bits, by name.
pub(crate) struct Npz {
    singles: BTreeMap<String, Tensor<f32>>,
    integers: BTreeMap<String, Tensor<i32>>,
}

impl Npz {
    pub(crate) fn open(path: &Path) -> Result<Self, Stop> {
        let damaged = |why: String| Stop::Damaged(format!("{}: {why}", path.display()));
        let file = File::open(path).map_err(|error| damaged(error.to_string()))?;
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(error.to_string()))?;
        let names: Vec<String> = archive.file_names().map(str::to_owned).collect();
        let mut found = Self { singles: BTreeMap::new(), integers: BTreeMap::new() };
        for file in names {
            let name = file.strip_suffix(".npy").unwrap_or(&file).to_owned();
            let mut bytes = Vec::new();
            let mut entry = archive.by_name(&file).map_err(|error| damaged(error.to_string()))?;
            entry.read_to_end(&mut bytes).map_err(|error| damaged(error.to_string()))?;
            if let Ok(array) = Tensor::read_npy(&*bytes) {
                found.singles.insert(name, array);
            } else if let Ok(array) = Tensor::read_npy(&*bytes) {
                found.integers.insert(name, array);
            }
        }
        Ok(found)
    }

    /// The matrix of a name, `None` if there is none; a list is a matrix of one row.
    pub(crate) fn matrix(&self, name: &str) -> Result<Option<Matrix<f32>>, Stop> {
        let Some(array) = self.singles.get(name) else { return Ok(None) };
        let (rows, cols) = match *array.shape().to_vec() {
            [cols] => (1, cols),
            [rows, cols] => (rows, cols),
            _ => return Err(Stop::Damaged(format!("{name} has neither one axis nor two"))),
        };
        Ok(Some(Matrix::from_vec(rows, cols, array.to_vec())?))
    }

    /// The whole numbers of a name, none without it.
    pub(crate) fn integers(&self, name: &str) -> Vec<usize> {
        let values = self.integers.get(name).map(Tensor::to_vec).unwrap_or_default();
        values.into_iter().map(|value| usize::try_from(value).unwrap_or_default()).collect()
    }
}
