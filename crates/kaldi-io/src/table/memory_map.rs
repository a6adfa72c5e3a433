//! Files as memory.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::error::Error;
use crate::holders::Holder;
use crate::table::indexed::IndexedArchive;

impl<T: Holder> IndexedArchive<T, Mmap> {
    /// Maps an archive into memory and makes its index. The system loads what is looked at, and may
    /// drop it again: an archive can be larger than the memory of the machine.
    ///
    /// # Errors
    /// [`Error::Open`], also for what cannot be mapped, such as a pipe; those of
    /// [`new`](Self::new).
    ///
    /// # Safety
    /// Nobody may change the file or cut it short as long as it is mapped: the bytes would change
    /// under slices of them, and what has been cut off ends the process. Replacing the file by
    /// another one, as most programs do that rewrite files, is no harm.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self, Error> {
        let name = path.as_ref().display().to_string();
        let open_error = |source| Error::Open { name: name.clone(), source };
        let file = File::open(path).map_err(open_error)?;
        // SAFETY: the caller promises that the file stays as it is.
        let bytes = unsafe { Mmap::map(&file) }.map_err(open_error)?;
        Self::new(name, bytes)
    }
}
