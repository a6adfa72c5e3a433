//! Archives in memory, such as mapped files.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

use kaldi_matrix::Matrix;
use kaldi_matrix::codec::{MatrixHeader, MatrixStorage};
use memmap2::Mmap;

use crate::error::Error;
use crate::holders::Holder;
use crate::table::archive::read_key;

/// An archive in memory, with an index by key: any object at any time, from several threads.
///
/// `B` holds the bytes: a file that is [mapped](IndexedArchive::map), a `Vec<u8>`, or any other
/// bytes.
///
/// Building the index skips from object to object. Matrices and recordings begin with their size,
/// so only a small part of a large archive is read for it, and afterwards only the requested
/// objects.
///
/// ```
/// use kaldi_io::table::{IndexedArchive, TableWriter};
/// use kaldi_matrix::{Matrix, codec::MatrixHeader};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("feats.ark");
/// let mut writer = TableWriter::to_archive(&path)?;
/// writer.write("utt1", &Matrix::<f32>::zeros(100, 80))?;
/// writer.write("utt2", &Matrix::<f32>::zeros(200, 80))?;
/// writer.close()?;
///
/// // SAFETY: nobody changes the file while it is mapped.
/// let feats: IndexedArchive<Matrix<f32>> = unsafe { IndexedArchive::map(&path)? };
/// assert_eq!(feats.keys().collect::<Vec<_>>(), ["utt1", "utt2"]);
/// assert_eq!(feats.get("utt2")?.unwrap().num_rows(), 200);
/// assert_eq!(feats.get_as::<MatrixHeader>("utt1")?.unwrap().rows, 100);
/// assert!(feats.get("utt3")?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IndexedArchive<T, B = Mmap> {
    name: String,
    bytes: B,
    // In the order of the archive.
    entries: Vec<Entry>,
    // Indexes into `entries`, in the order of their keys.
    by_key: Vec<usize>,
    holder: PhantomData<fn() -> T>,
}

/// Ranges of a key and its object.
struct Entry {
    key: Range<usize>,
    object: Range<usize>,
}

impl<T: Holder, B: AsRef<[u8]>> IndexedArchive<T, B> {
    /// Builds the index of an archive. The name appears in messages.
    ///
    /// # Errors
    /// [`Error::Archive`] and [`Error::Object`] for bytes that are not such an archive, as far as
    /// the index shows it; [`Error::DuplicateKey`].
    pub fn new(name: impl Into<String>, bytes: B) -> Result<Self, Error> {
        let name = name.into();
        let (entries, by_key) = index::<T>(&name, bytes.as_ref())?;
        Ok(IndexedArchive { name, bytes, entries, by_key, holder: PhantomData })
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there is no object.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the keys in the order of the archive.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|entry| self.key(entry))
    }

    /// Returns `true` if there is an object with this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Returns the object with this key, if there is one.
    ///
    /// # Errors
    /// [`Error::Object`] for a damaged object.
    pub fn get(&self, key: &str) -> Result<Option<T>, Error> {
        self.get_as(key)
    }

    /// Returns the object with this key, read as another type: only its [header](MatrixHeader), or
    /// in another precision.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_as<U: Holder>(&self, key: &str) -> Result<Option<U>, Error> {
        self.find(key).map(|entry| self.read(entry)).transpose()
    }

    /// Returns the bytes of the object with this key, if there is one.
    pub fn object_bytes(&self, key: &str) -> Option<&[u8]> {
        self.find(key).map(|entry| self.object(entry))
    }

    /// Iterates over all keys and objects in the order of the archive, and reads each object in
    /// turn. The iteration continues after a damaged object.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<(&str, T), Error>> {
        self.entries.iter().map(|entry| Ok((self.key(entry), self.read(entry)?)))
    }

    fn find(&self, key: &str) -> Option<&Entry> {
        let found = self.by_key.binary_search_by(|&i| self.key(&self.entries[i]).cmp(key));
        found.ok().map(|place| &self.entries[self.by_key[place]])
    }

    fn key(&self, entry: &Entry) -> &str {
        key_of(self.bytes.as_ref(), entry)
    }

    /// Returns the bytes of an object; none if the memory has become shorter, which it should not.
    fn object(&self, entry: &Entry) -> &[u8] {
        self.bytes.as_ref().get(entry.object.clone()).unwrap_or_default()
    }

    fn read<U: Holder>(&self, entry: &Entry) -> Result<U, Error> {
        U::read(&mut self.object(entry)).map_err(|error| {
            let place = format!("{}, byte {}", self.name, entry.object.start);
            error.in_table(place, self.key(entry), "")
        })
    }
}

impl<B: AsRef<[u8]>> IndexedArchive<Matrix<f32>, B> {
    /// Returns the elements of the matrix with this key, row by row; [`get_as`](Self::get_as) gives
    /// the shape. They are borrowed if they lie in memory as aligned `f32`, as about a fourth of
    /// all matrices do, and copied otherwise.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn elements(&self, key: &str) -> Result<Option<Cow<'_, [f32]>>, Error> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        let header: MatrixHeader = self.read(entry)?;
        let bytes = self.object(entry);
        let elements = usize::try_from(header.element_bytes).ok().and_then(|len| bytes.len().checked_sub(len));
        if header.storage == MatrixStorage::Single && cfg!(target_endian = "little") {
            let elements = elements.map(|start| bytemuck::try_cast_slice(&bytes[start..]));
            if let Some(Ok(elements)) = elements {
                return Ok(Some(Cow::Borrowed(elements)));
            }
        }
        let matrix: Matrix<f32> = self.read(entry)?;
        Ok(Some(Cow::Owned(matrix.into_vec())))
    }
}

impl<T, B> std::fmt::Debug for IndexedArchive<T, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexedArchive")
            .field("name", &self.name)
            .field("len", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// Returns the entries in their order, and their indexes in the order of their keys.
fn index<T: Holder>(name: &str, bytes: &[u8]) -> Result<(Vec<Entry>, Vec<usize>), Error> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    loop {
        let start = bytes.len() - rest.len();
        let key = read_key(&mut rest, start as u64).map_err(|error| error.in_archive(name))?;
        let Some(key) = key else { break };
        let object = bytes.len() - rest.len();
        T::skip_in_archive(&mut rest).map_err(|error| error.in_table(format!("{name}, byte {object}"), &key, ""))?;
        // The key is right before the object, except for the space or tab between them.
        let between = usize::from(object > 0 && matches!(bytes[object - 1], b' ' | b'\t'));
        let end = object - between;
        entries.push(Entry { key: end - key.len()..end, object: object..bytes.len() - rest.len() });
    }
    let mut by_key: Vec<usize> = (0..entries.len()).collect();
    by_key.sort_unstable_by_key(|&i| key_of(bytes, &entries[i]));
    let twins = by_key.windows(2).find(|pair| key_of(bytes, &entries[pair[0]]) == key_of(bytes, &entries[pair[1]]));
    match twins {
        Some(pair) => {
            Err(Error::DuplicateKey { name: name.to_owned(), key: key_of(bytes, &entries[pair[0]]).to_owned() })
        }
        None => Ok((entries, by_key)),
    }
}

/// Returns the key of an entry. The index holds only keys in UTF-8; if the memory has changed
/// since, which it should not, the key is empty.
fn key_of<'a>(bytes: &'a [u8], entry: &Entry) -> &'a str {
    bytes.get(entry.key.clone()).and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default()
}
