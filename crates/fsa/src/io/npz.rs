//! FSAs in NumPy's `.npz` files: the arrays of a [`Dict`] by name.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, Write};

use ragged_core::{Ragged, RaggedShape, RowSplits};
use tensor_strided::npy::{Header, NpyElement, NpyError};
use tensor_strided::{Tensor, TensorView};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::core::fsa::{FsaOrVec, Fsas};
use crate::core::graph::Graph;
use crate::error::Error;
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
    for (name, entry) in to_dict(graph)? {
        match entry {
            Entry::Rows(rows) => add(&name, &npy(&[rows.len(), 4], rows.as_flattened())?)?,
            Entry::Ints(values) => add(&name, &npy(&[values.len()], &values)?)?,
            Entry::Floats(values) => add(&name, &npy(&[values.len()], &values)?)?,
            Entry::Lists(lists) => {
                let splits: &[i32] = lists.shape().row_splits(1).as_ref();
                add(&format!("{name}{ROW_SPLITS}"), &npy(&[splits.len()], splits)?)?;
                add(&format!("{name}{VALUES}"), &npy(&[lists.num_elements()], lists.values())?)?;
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

/// Returns the file of an array.
fn npy<T: NpyElement>(shape: &[usize], values: &[T]) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    let array = TensorView::from_slice(shape, values).map_err(NpyError::from);
    array.and_then(|array| array.write_npy(&mut file)).map_err(io::Error::other)?;
    Ok(file)
}

/// Returns an array of any of the types that fit.
fn entry_of(file: &[u8]) -> Option<Entry> {
    let header = Header::read(file).ok()?;
    let ints: fn(&[u8]) -> Option<Vec<i32>> = match &*header.element().to_string() {
        "b1" => ints::<bool>,
        "i1" => ints::<i8>,
        "i2" => ints::<i16>,
        "i4" => ints::<i32>,
        "i8" => ints::<i64>,
        "u1" => ints::<u8>,
        "u2" => ints::<u16>,
        "u4" => ints::<u32>,
        "f2" | "f4" | "f8" if header.shape().len() == 1 => {
            let values = whole(file, |file| Tensor::read_npy_as_f32(file))?;
            return Some(Entry::Floats(values.into_vec()));
        }
        _ => return None,
    };
    match header.shape()[..] {
        [_, 4] => Some(Entry::Rows(ints(file)?.as_chunks().0.to_vec())),
        [_] => ints(file).map(Entry::Ints),
        _ => None,
    }
}

/// The elements of an array of integers, row by row, if they fit 32 bits.
fn ints<T: NpyElement + TryInto<i32>>(file: &[u8]) -> Option<Vec<i32>> {
    let array = whole(file, |file| Tensor::<T>::read_npy(file))?;
    array.view().iter().map(|&x| x.try_into().ok()).collect()
}

/// An array, if nothing follows it.
fn whole<T>(mut file: &[u8], read: impl FnOnce(&mut &[u8]) -> Result<Tensor<T>, NpyError>) -> Option<Tensor<T>> {
    read(&mut file).ok().filter(|_| file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\0", &len[..], header.as_bytes(), data].concat()
    }

    /// The array of a type, with a shape as Python writes it.
    fn entry(kind: &str, shape: &str, data: &[u8]) -> Option<Entry> {
        entry_of(&file(&format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape})}}"), data))
    }

    #[test]
    fn other_orders_of_bytes_and_axes() {
        let header = "{\"shape\": (2L, 4), 'fortran_order': True, 'descr': '>i4'}\n";
        let data = [1_i32, 2, 3, 4, 5, 6, 7, 8].map(i32::to_be_bytes).concat();
        let rows = Some(Entry::Rows(vec![[1, 3, 5, 7], [2, 4, 6, 8]]));
        assert_eq!(entry_of(&file(header, &data)), rows);
        let longer = [b"\x93NUMPY\x02\0", &60_u32.to_le_bytes()[..], format!("{header:60}").as_bytes(), &data].concat();
        assert_eq!(entry_of(&longer), rows);
    }

    #[test]
    fn numbers_of_other_widths_are_read() {
        let ints = |values: [i32; 2]| Some(Entry::Ints(values.to_vec()));
        assert_eq!(entry("|b1", "2,", &[0, 3]), ints([0, 1]));
        assert_eq!(entry("|i1", "2,", &[0xff, 2]), ints([-1, 2]));
        assert_eq!(entry(">i2", "2,", &[0xff, 0xfe, 0, 2]), ints([-2, 2]));
        assert_eq!(entry("<u4", "2,", &[0xff, 0, 0, 0, 2, 0, 0, 0]), ints([255, 2]));
        assert_eq!(entry("<u4", "2,", &[0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0]), None);
        assert_eq!(entry("<i8", "2,", &[-5_i64, 1 << 30].map(i64::to_le_bytes).concat()), ints([-5, 1 << 30]));
        let floats = Some(Entry::Floats(vec![1.0, -2.0]));
        assert_eq!(entry("<f2", "2,", &[0, 0x3c, 0, 0xc0]), floats);
        assert_eq!(entry(">f8", "2,", &[1.0_f64, -2.0].map(f64::to_be_bytes).concat()), floats);
        for (kind, data) in [("<c8", &[0; 16][..]), ("|O", &[0; 16]), ("<u8", &[0; 16])] {
            assert_eq!(entry(kind, "2,", data), None, "{kind}");
        }
    }

    #[test]
    fn sizes_without_numbers_are_refused() {
        assert!(entry("<i4", "2,", &[0; 8]).is_some() && entry("<f4", "2,", &[0; 8]).is_some());
        for shape in ["1,", "3,", "-2,", "4294967296, 4294967296", "99999999999999999999,", "2, 1, 1", "2, 1", ""] {
            for kind in ["<i4", "<f4"] {
                assert_eq!(entry(kind, shape, &[0; 8]), None, "{kind} {shape}");
            }
        }
        for header in ["", "{", "}", "{'descr': 3}", "{'descr': '<i4'}", "{'a': 'b'}", "{é", "{'descr': '<i4"] {
            assert!(entry_of(&file(header, &[])).is_none(), "{header}");
        }
    }
}
