//! Hugging Face's format: a header with all names and shapes, then all values.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use kaldi_matrix::SubMatrix;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use crate::Error;
use crate::pipeline::sink::durability::names::folder_of;
use crate::pipeline::sink::durability::partial::{BUFFER_BYTES, PartialFile};

/// The longest header that readers accept.
const MAX_HEADER_BYTES: usize = 100_000_000;

/// One `F32` tensor per utterance. The header comes first and needs every shape, so the values wait
/// in a nameless file.
#[derive(Debug)]
pub(in crate::pipeline::sink) struct Safetensors {
    partial: PartialFile,
    values: BufWriter<File>,
    tensors: Vec<(String, TensorInfo)>,
    /// Bytes in `values`.
    end: usize,
    row: Vec<u8>,
}

impl Safetensors {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let partial = PartialFile::create(path)?;
        let values = tempfile::tempfile_in(folder_of(path)).map_err(|source| partial.error(source))?;
        let values = BufWriter::with_capacity(BUFFER_BYTES, values);
        Ok(Self { partial, values, tensors: Vec::new(), end: 0, row: Vec::new() })
    }

    pub(super) fn complete(mut self) -> Result<PartialFile, Error> {
        let header = header(std::mem::take(&mut self.tensors)).map_err(|source| self.partial.error(source))?;
        if header.len() > MAX_HEADER_BYTES {
            return Err(Error::HeaderTooLarge { path: self.partial.output().to_owned(), bytes: header.len() });
        }
        self.assemble(&header).map_err(|source| self.partial.error(source))?;
        Ok(self.partial)
    }

    fn assemble(&mut self, header: &[u8]) -> io::Result<()> {
        self.partial.write_all(&(header.len() as u64).to_le_bytes())?;
        self.partial.write_all(header)?;
        self.values.flush()?;
        self.partial.append(self.values.get_mut())
    }

    pub(super) fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        for row in features.rows() {
            self.row.clear();
            self.row.extend(row.iter().flat_map(|value| value.to_le_bytes()));
            self.values.write_all(&self.row).map_err(|source| self.partial.error(source))?;
        }
        let shape = vec![features.num_rows(), features.num_cols()];
        let begin = self.end;
        self.end += 4 * features.num_rows() * features.num_cols();
        self.tensors.push((key.to_owned(), TensorInfo { dtype: Dtype::F32, shape, data_offsets: (begin, self.end) }));
        Ok(())
    }
}

/// The names, shapes and places as JSON, padded so that the values are aligned.
fn header(tensors: Vec<(String, TensorInfo)>) -> io::Result<Vec<u8>> {
    let metadata = Metadata::new(None, tensors).map_err(io::Error::other)?;
    let mut json = serde_json::to_vec(&metadata)?;
    json.resize(json.len().next_multiple_of(8), b' ');
    Ok(json)
}
