//! FSAs in NumPy's `.npz` files: the arrays of a [`Dict`] by name.

use std::collections::BTreeMap;
use std::io::{Read, Seek, Write};

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Dimension, OwnedRepr};
use ndarray_npy::{NpzReader, NpzWriter, ReadNpzError, ReadableElement, WriteNpzError};
use ragged_core::{Ragged, RaggedShape, RowSplits};

use super::tensor::{Dict, Entry, from_dict, to_dict};
use crate::{Error, FsaOrVec, Fsas, Graph};

/// What the arrays of an attribute that is lists are called, behind its name.
const ROW_SPLITS: &str = ".row_splits1";
const VALUES: &str = ".values";

/// What can be wrong with an `.npz` file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadNpzError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteNpzError),
    /// An array has another type or number of axes than FSAs and their attributes have.
    #[error(
        "the array {name:?} has neither whole numbers that fit 32 bits nor floating-point numbers of 32 bits, on one axis or in rows of 4"
    )]
    Array {
        /// The array.
        name: String,
    },
    /// The arrays are no FSAs.
    #[error(transparent)]
    Fsa(#[from] Error),
}

/// Writes FSAs with their attributes: the array `arcs`, of the shape `[arcs, 4]` for an FSA and with one axis for a vector, and one for each
/// attribute; lists are two, `NAME.row_splits1` and `NAME.values`.
///
/// # Errors
/// [`NpzError`].
pub fn write_npz<F: Fsas>(graph: &Graph<F>, file: impl Write + Seek) -> Result<(), NpzError> {
    let mut npz = NpzWriter::new(file);
    for (name, entry) in to_dict(graph)? {
        match entry {
            Entry::Rows(rows) => {
                let shape = (rows.len(), 4);
                let view = ArrayView2::from_shape(shape, rows.as_flattened()).expect("as many numbers as in the rows");
                npz.add_array(name, &view)?;
            }
            Entry::Ints(values) => npz.add_array(name, &ArrayView1::from(&values))?,
            Entry::Floats(values) => npz.add_array(name, &ArrayView1::from(&values))?,
            Entry::Lists(lists) => {
                let splits: &[i32] = lists.shape().row_splits(1).as_ref();
                npz.add_array(format!("{name}{ROW_SPLITS}"), &ArrayView1::from(splits))?;
                npz.add_array(format!("{name}{VALUES}"), &ArrayView1::from(lists.values()))?;
            }
        }
    }
    npz.finish()?;
    Ok(())
}

/// Reads FSAs that [`write_npz`] wrote, or NumPy. Memory is what the file says that its arrays take: read files that you trust.
///
/// # Errors
/// [`NpzError`].
pub fn read_npz(file: impl Read + Seek) -> Result<Graph<FsaOrVec>, NpzError> {
    let mut npz = NpzReader::new(file)?;
    let mut dict = Dict::new();
    let mut splits = BTreeMap::new();
    for name in npz.names()? {
        let entry = read_array(&mut npz, &name)?;
        match (name.strip_suffix(ROW_SPLITS), entry) {
            (Some(lists), Entry::Ints(values)) => {
                splits.insert(lists.to_owned(), values);
            }
            (_, entry) => {
                dict.insert(name, entry);
            }
        }
    }
    for (name, splits) in splits {
        let Some(Entry::Ints(values)) = dict.remove(&format!("{name}{VALUES}")) else {
            return Err(NpzError::Array { name: format!("{name}{VALUES}") });
        };
        let shape = RowSplits::new(splits).and_then(|splits| RaggedShape::new([splits])).map_err(Error::from)?;
        dict.insert(name, Entry::Lists(Ragged::new(shape, values).map_err(Error::from)?));
    }
    Ok(from_dict(dict)?)
}

/// An array of any of the types that fit.
fn read_array<R: Read + Seek>(npz: &mut NpzReader<R>, name: &str) -> Result<Entry, NpzError> {
    let none = || NpzError::Array { name: name.to_owned() };
    let narrow = |x: &i64| i32::try_from(*x).map_err(|_| none());
    if let Some(rows) = read(npz, name)? {
        let rows: Array2<i32> = rows;
        if rows.ncols() != 4 {
            return Err(none());
        }
        return Ok(Entry::Rows(rows.rows().into_iter().map(|row| [row[0], row[1], row[2], row[3]]).collect()));
    }
    if let Some(values) = read(npz, name)? {
        let values: Array1<i32> = values;
        return Ok(Entry::Ints(values.to_vec()));
    }
    if let Some(values) = read(npz, name)? {
        let values: Array1<i64> = values;
        return Ok(Entry::Ints(values.iter().map(narrow).collect::<Result<_, _>>()?));
    }
    if let Some(values) = read(npz, name)? {
        let values: Array1<f32> = values;
        return Ok(Entry::Floats(values.to_vec()));
    }
    Err(none())
}

/// The array, if it is of this type.
fn read<T: ReadableElement, D: Dimension, R: Read + Seek>(
    npz: &mut NpzReader<R>,
    name: &str,
) -> Result<Option<ndarray::ArrayBase<OwnedRepr<T>, D>>, NpzError> {
    use ndarray_npy::ReadNpyError;
    match npz.by_name(name) {
        Ok(array) => Ok(Some(array)),
        Err(ReadNpzError::Npy(ReadNpyError::WrongDescriptor(_) | ReadNpyError::WrongNdim(..))) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
