//! Memory-mapped archives.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::error::Error;
use crate::holders::Holder;
use crate::table::indexed::IndexedArchive;

impl<T: Holder> IndexedArchive<T, Mmap> {
    /// Maps an archive into memory and builds its index. The system loads accessed pages, and may
    /// drop them again: an archive can be larger than the memory of the machine.
    ///
    /// # Errors
    /// [`Error::Open`], also for files that cannot be mapped, such as a pipe; the errors of
    /// [`new`](Self::new).
    ///
    /// # Safety
    /// The file must not change or be truncated while it is mapped: the bytes would change under
    /// slices of them, and access to a truncated part ends the process. It is safe to replace the
    /// file by another one, as most programs do that rewrite files.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self, Error> {
        let name = path.as_ref().display().to_string();
        let open_error = |source| Error::Open { name: name.clone(), source };
        let file = File::open(path).map_err(open_error)?;
        // SAFETY: the caller promises that the file stays as it is.
        let bytes = unsafe { Mmap::map(&file) }.map_err(open_error)?;
        Self::new(name, bytes)
    }
}
