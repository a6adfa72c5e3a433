//! An archive that lies in memory, such as a file that is mapped into it.

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
/// `B` is what holds the bytes: a file that is [mapped](IndexedArchive::map), or a `Vec<u8>`, or
/// anything else that is bytes.
///
/// The index is made by going from object to object. Matrices and recordings tell their size at
/// their beginning, so that of a large archive only a small part is read for it, and afterwards
/// only what is asked for.
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
    // Places in `entries`, in the order of their keys.
    by_key: Vec<usize>,
    holder: PhantomData<fn() -> T>,
}

/// Where a key and its object lie.
struct Entry {
    key: Range<usize>,
    object: Range<usize>,
}

impl<T: Holder, B: AsRef<[u8]>> IndexedArchive<T, B> {
    /// Makes the index of an archive. The name serves messages.
    ///
    /// # Errors
    /// [`Error::Archive`] and [`Error::Object`] for bytes that are not such an archive, as far as
    /// its index shows it; [`Error::DuplicateKey`].
    pub fn new(name: impl Into<String>, bytes: B) -> Result<Self, Error> {
        let name = name.into();
        let (entries, by_key) = index::<T>(&name, bytes.as_ref())?;
        Ok(IndexedArchive { name, bytes, entries, by_key, holder: PhantomData })
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The keys in the order of the archive.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|entry| self.key(entry))
    }

    /// True if there is an object under this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The object under this key, if there is one.
    ///
    /// # Errors
    /// [`Error::Object`], with what is wrong with it.
    pub fn get(&self, key: &str) -> Result<Option<T>, Error> {
        self.get_as(key)
    }

    /// The object under this key, read as something else: only its [header](MatrixHeader), or in
    /// another precision.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_as<U: Holder>(&self, key: &str) -> Result<Option<U>, Error> {
        self.find(key).map(|entry| self.read(entry)).transpose()
    }

    /// The bytes of the object under this key, if there is one.
    pub fn object_bytes(&self, key: &str) -> Option<&[u8]> {
        self.find(key).map(|entry| self.object(entry))
    }

    /// All keys and objects in the order of the archive, each read when its turn comes. Others
    /// follow a damaged one.
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

    /// If the memory has become shorter, which it should not, there is less of the object.
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
    /// The elements of the matrix under this key, row by row; [`get_as`](Self::get_as) gives the
    /// shape. They are borrowed where they lie in memory as `f32` do, which a fourth of all
    /// matrices happen to, and copied otherwise.
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

/// The entries in their order, and their places in the order of their keys.
fn index<T: Holder>(name: &str, bytes: &[u8]) -> Result<(Vec<Entry>, Vec<usize>), Error> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    loop {
        let start = bytes.len() - rest.len();
        let key = read_key(&mut rest, start as u64).map_err(|error| error.in_archive(name))?;
        let Some(key) = key else { break };
        let object = bytes.len() - rest.len();
        T::skip_in_archive(&mut rest).map_err(|error| error.in_table(format!("{name}, byte {object}"), &key, ""))?;
        // The key stands right before the object, but for the space or tab between them.
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

/// The index holds what has been seen to be UTF-8; if the memory has changed since, which it should
/// not, the key is empty.
fn key_of<'a>(bytes: &'a [u8], entry: &Entry) -> &'a str {
    bytes.get(entry.key.clone()).and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default()
}
