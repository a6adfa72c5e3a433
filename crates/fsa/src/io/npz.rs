//! FSAs in NumPy's `.npz` files: the arrays of a [`Dict`] by name.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, Write};

use ragged_core::{Ragged, RaggedShape, RowSplits};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::core::fsa::{FsaOrVec, Fsas};
use crate::core::graph::Graph;
use crate::error::Error;
use crate::io::npy::{self, Npy, Numbers};
use crate::io::tensor::{Dict, Entry, from_dict, to_dict};

/// Suffixes of the names of the arrays of an attribute with lists.
const ROW_SPLITS: &str = ".row_splits1";
const VALUES: &str = ".values";
/// Suffix of the names of files in the archive.
const SUFFIX: &str = ".npy";

/// Largest number of bytes of arrays that a byte of a compressed file may become.
const SWELLING: u64 = 200;

/// Errors of an `.npz` file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// It cannot be read or written, or is not an archive.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An array that is compressed with another method than NumPy's.
    #[error("the array {name:?} is compressed in another way than NumPy's; write it with numpy.savez")]
    Compressed {
        /// The array.
        name: String,
    },
    /// Arrays that overlap in the file, or that were compressed to less than arrays can be.
    #[error(
        "the arrays are larger together than the file, which has {len} bytes, or compressed to less than a byte of {SWELLING}"
    )]
    Overlap {
        /// Length of the file.
        len: u64,
    },
    /// An array has another type or number of axes than FSAs and their attributes have.
    #[error(
        "the array {name:?} has neither whole numbers that fit 32 bits nor floating-point numbers, on one axis or in rows of 4"
    )]
    Array {
        /// The array.
        name: String,
    },
    /// The arrays do not form FSAs.
    #[error(transparent)]
    Fsa(#[from] Error),
}

/// Writes FSAs with their attributes: the array `arcs`, of the shape `[arcs, 4]` for an FSA and
/// with one axis for a vector, and one array for each attribute, or two for lists,
/// `NAME.row_splits1` and `NAME.values`.
///
/// # Errors
/// [`NpzError`].
pub fn write_npz<F: Fsas>(graph: &Graph<F>, file: impl Write + Seek) -> Result<(), NpzError> {
    let mut zip = ZipWriter::new(file);
    let mut add = |name: &str, array: &[u8]| {
        let long = u32::try_from(array.len()).is_err();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(long);
        zip.start_file(format!("{name}{SUFFIX}"), options).map_err(io::Error::from)?;
        zip.write_all(array)
    };
    let ints = |shape: &[usize], values: &[i32]| npy::write("<i4", shape, values.iter().map(|x| x.to_le_bytes()));
    for (name, entry) in to_dict(graph)? {
        match entry {
            Entry::Rows(rows) => add(&name, &ints(&[rows.len(), 4], rows.as_flattened()))?,
            Entry::Ints(values) => add(&name, &ints(&[values.len()], &values))?,
            Entry::Floats(values) => {
                add(&name, &npy::write("<f4", &[values.len()], values.iter().map(|x| x.to_le_bytes())))?;
            }
            Entry::Lists(lists) => {
                let splits: &[i32] = lists.shape().row_splits(1).as_ref();
                add(&format!("{name}{ROW_SPLITS}"), &ints(&[splits.len()], splits))?;
                add(&format!("{name}{VALUES}"), &ints(&[lists.num_elements()], lists.values()))?;
            }
        }
    }
    zip.finish().map_err(io::Error::from)?;
    Ok(())
}

/// Reads FSAs that [`write_npz`], `numpy.savez` or `numpy.savez_compressed` wrote. Memory is in
/// proportion to the length of the file, whatever its contents.
///
/// # Errors
/// [`NpzError`].
pub fn read_npz(mut file: impl Read + Seek) -> Result<Graph<FsaOrVec>, NpzError> {
    let len = file.seek(io::SeekFrom::End(0))?;
    file.rewind()?;
    let mut zip = ZipArchive::new(file).map_err(io::Error::from)?;
    let (mut dict, mut splits) = (Dict::new(), BTreeMap::new());
    let (mut stored, mut inflated) = (0, 0);
    for i in 0..zip.len() {
        let mut entry = zip.by_index(i).map_err(io::Error::from)?;
        let name = entry.name().strip_suffix(SUFFIX).unwrap_or(entry.name()).to_owned();
        let (total, most) = match entry.compression() {
            CompressionMethod::Stored => (&mut stored, len),
            CompressionMethod::Deflated => (&mut inflated, len.saturating_mul(SWELLING)),
            _ => return Err(NpzError::Compressed { name }),
        };
        let mut array = Vec::new();
        entry.by_ref().take(most - *total + 1).read_to_end(&mut array)?;
        *total += array.len() as u64;
        if *total > most {
            return Err(NpzError::Overlap { len });
        }
        let entry = entry_of(&array).ok_or_else(|| NpzError::Array { name: name.clone() })?;
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

/// Returns an array of any of the types that fit.
fn entry_of(file: &[u8]) -> Option<Entry> {
    let Npy { numbers, shape } = npy::read(file)?;
    match (numbers, &shape[..]) {
        (Numbers::Int32(values), [_, 4]) => Some(Entry::Rows(values.as_chunks().0.to_vec())),
        (Numbers::Int32(values), [_]) => Some(Entry::Ints(values)),
        (Numbers::Int64(values), [_, 4]) => Some(Entry::Rows(narrow(values)?.as_chunks().0.to_vec())),
        (Numbers::Int64(values), [_]) => narrow(values).map(Entry::Ints),
        (Numbers::Float32(values), [_]) => Some(Entry::Floats(values)),
        _ => None,
    }
}

fn narrow(values: Vec<i64>) -> Option<Vec<i32>> {
    values.into_iter().map(|x| i32::try_from(x).ok()).collect()
}
