//! Kaldi's archive and its index.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use kaldi_io::rxfilename::{Input, Rxfilename, classify};
use kaldi_io::table::SequentialReader;
use kaldi_matrix::codec::{self, KaldiWrite};
use kaldi_matrix::{Matrix, SubMatrix};

use crate::Error;
use crate::pipeline::sink::durability::partial::PartialFile;
use crate::pipeline::sink::durability::run_id::RunId;

/// `x.ark` in binary form, and `x.scp` with a line `KEY x.ark:OFFSET` for each matrix.
#[derive(Debug)]
pub(in crate::pipeline::sink) struct ArkScp {
    ark: Ark,
    scp: PartialFile,
}

impl ArkScp {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        check_name(path)?;
        let ark = Ark { file: PartialFile::create(path)?, bytes: 0 };
        Ok(Self { scp: PartialFile::create(path.with_extension("scp"))?, ark })
    }

    /// Replaces the archive, which is empty, by one with these matrices.
    pub(in crate::pipeline::sink) fn resume(&mut self, ark: Ark, entries: &[(String, u64)]) -> Result<(), Error> {
        self.ark = ark;
        entries.iter().try_for_each(|(key, matrix_at)| self.write_scp(key, *matrix_at))
    }

    fn write_scp(&mut self, key: &str, matrix_at: u64) -> Result<(), Error> {
        let ark_name = self.ark.file.output().as_os_str().as_encoded_bytes();
        let mut write = || {
            write!(self.scp, "{key} ")?;
            self.scp.write_all(ark_name)?;
            writeln!(self.scp, ":{matrix_at}")
        };
        write().map_err(|source| self.scp.error(source))
    }

    /// The archive, and then the index.
    pub(super) fn complete(self) -> Vec<PartialFile> {
        vec![self.ark.file, self.scp]
    }

    pub(super) fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        let matrix_at = self.ark.write(key, features)?;
        self.write_scp(key, matrix_at)
    }
}

/// Refuses an archive that a line of its index cannot name.
fn check_name(path: &Path) -> Result<(), Error> {
    let is_named = |name: &str| {
        let line = format!("{name}:0");
        !name.contains('\n') && matches!(classify(&line), Ok(Rxfilename::Offset { path, .. }) if path == name)
    };
    match path.to_str() {
        Some(name) if !is_named(name) => {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "a line of its index cannot name it");
            Err(Error::Write { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// The keys of an archive, and the position of the matrix of each.
type Entries = Vec<(String, u64)>;

/// An archive, and the position of its end.
#[derive(Debug)]
pub(in crate::pipeline::sink) struct Ark {
    file: PartialFile,
    bytes: u64,
}

impl Ark {
    /// The unfinished archive that stands for `path` while runs of the same `run` are cut off, with
    /// its keys and the places of their matrices.
    pub(in crate::pipeline::sink) fn resume(path: &Path, run: RunId) -> Result<(Self, Entries), Error> {
        let file = PartialFile::kept(path, run)?;
        let scanned = scan(file.file()).and_then(|(entries, bytes)| {
            file.file().set_len(bytes)?;
            Ok((entries, bytes))
        });
        let (entries, bytes) = scanned.map_err(|source| file.error(source))?;
        Ok((Self { file, bytes }, entries))
    }

    /// Writes a matrix and returns its position.
    pub(in crate::pipeline::sink) fn write(&mut self, key: &str, features: SubMatrix<'_, f32>) -> Result<u64, Error> {
        let file = &mut self.file;
        let mut write = || {
            write!(file, "{key} ")?;
            codec::write_header(file, true)?;
            features.write_body(file, true)?;
            file.flush_kept()
        };
        write().map_err(|source| self.file.error(source))?;
        let matrix_at = self.bytes + key.len() as u64 + 1;
        self.bytes = matrix_at + (HEADER + 4 * features.num_rows() * features.num_cols()) as u64;
        Ok(matrix_at)
    }

    /// Hands on all matrices, each of which has been flushed.
    pub(in crate::pipeline::sink) fn read(
        &self,
        mut take: impl FnMut(&str, SubMatrix<'_, f32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // An empty table has no archive.
        if self.bytes == 0 {
            return Ok(());
        }
        let path = self.file.output();
        let reader = self.file.file().try_clone().and_then(|mut file| file.rewind().map(|()| BufReader::new(file)));
        let reader = reader.map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let input = Input::from_reader(path.to_string_lossy().into_owned(), reader);
        for entry in SequentialReader::<Matrix<f32>>::from_archive_input(input)? {
            let (key, features) = entry?;
            take(&key, features.view())?;
        }
        Ok(())
    }

    /// Has done its work.
    pub(in crate::pipeline::sink) fn remove(self) {
        self.file.remove();
    }
}

/// Number of bytes before the values of a matrix in an archive: a mark, the type, two dimensions
/// with their sizes in bytes.
const HEADER: usize = 15;

/// The keys of an archive that [`ArkScp`] has written, each with the place of its matrix, and the
/// end of the last matrix that is complete.
fn scan(file: &File) -> io::Result<(Entries, u64)> {
    let bytes = file.metadata()?.len();
    let mut reader = BufReader::new(file);
    let (mut entries, mut end) = (Vec::new(), 0);
    while let Some((key, size)) = entry(&mut reader)? {
        let matrix_at = end + key.len() as u64 + 1;
        end = match matrix_at.checked_add(size) {
            Some(end) if end <= bytes => end,
            _ => break,
        };
        reader.seek(SeekFrom::Start(end))?;
        entries.push((key, matrix_at));
    }
    let end = entries.last().map_or(0, |_| end.min(bytes));
    Ok((entries, end))
}

/// The next key, and the length of its matrix with its header; `None` if there is no whole key
/// and header.
fn entry(reader: &mut impl BufRead) -> io::Result<Option<(String, u64)>> {
    let mut key = Vec::new();
    reader.read_until(b' ', &mut key)?;
    let Some(b' ') = key.pop() else { return Ok(None) };
    let mut header = [0; HEADER];
    match reader.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let dimension = |at: usize| {
        let (&[size], &[a, b, c, d]) = (header[at..].first_chunk()?, header[at + 1..].first_chunk()?);
        u64::try_from(i32::from_le_bytes([a, b, c, d])).ok().filter(|_| size == 4)
    };
    let size = || {
        let values = dimension(5)?.checked_mul(dimension(10)?)?.checked_mul(4)?;
        values.checked_add(HEADER as u64).filter(|_| header.starts_with(b"\0BFM "))
    };
    Ok(size().and_then(|size| Some((String::from_utf8(key).ok()?, size))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pipeline::{FeatureFile, FeatureSink as _};

    fn write(file: &mut FeatureFile, seeds: std::ops::Range<usize>) {
        for seed in seeds {
            let matrix = Matrix::from_fn(seed, 2, |row, col| (seed + row + col) as f32);
            file.write(&format!("utt{seed}"), matrix.view()).unwrap();
        }
    }

    #[test]
    fn wherever_it_was_cut_off_the_file_becomes_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, path) = (folder.path().join("whole.ark"), folder.path().join("x.ark"));
        let mut file = FeatureFile::create(&whole).unwrap();
        write(&mut file, 1..6);
        file.finish().unwrap();
        let whole = fs::read(whole).unwrap();
        let run = RunId::from_number(42);
        let part = folder.path().join(format!("x.ark.{run}.abcdef.part"));
        for length in 0..=whole.len() {
            fs::write(&part, &whole[..length]).unwrap();
            let mut file = FeatureFile::resume(&path, run).unwrap();
            let begin = (1..6).find(|seed| !file.has(&format!("utt{seed}"))).unwrap_or(6);
            assert!((begin..6).all(|seed| !file.has(&format!("utt{seed}"))));
            write(&mut file, begin..6);
            file.finish().unwrap();
            assert!(fs::read(&path).unwrap() == whole, "{length}");
            assert!(!part.exists());
            let scp = fs::read_to_string(path.with_extension("scp")).unwrap();
            assert!(scp.lines().count() == 5 && scp.contains(&format!("utt1 {}:5\n", path.display())), "{scp}");
        }
    }

    #[test]
    fn what_is_not_finished_stays_and_belongs_to_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ark");
        let resume = |number| FeatureFile::resume(&path, RunId::from_number(number));
        let mut file = resume(1).unwrap();
        write(&mut file, 1..3);
        assert!(matches!(resume(1), Err(Error::Write { .. })));
        drop(file);
        assert!(resume(1).unwrap().has("utt2"));
        assert!(!resume(2).unwrap().has("utt2"), "of another run");
        assert!(!path.exists() && !path.with_extension("scp").exists());
    }

    #[test]
    fn archives_that_no_index_can_name_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("a\nb.ark"), "|a.ark".into(), " a.ark".into()] {
            assert!(matches!(FeatureFile::create(&path), Err(Error::Write { .. })), "{path:?}");
        }
        FeatureFile::create(folder.path().join("a b:1|.ark")).unwrap();
    }
}
