//! Reader of numbers in a binary file; only the length of the file is trusted.

use crate::error::{Error, Quantity};

/// Reads a file from its start.
pub(super) struct Bytes<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    pub(super) fn error(&self, what: &'static str) -> Error {
        Error::Binary { offset: self.at, what }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.data.len()
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let taken = self.data[self.at..].get(..len).ok_or_else(|| self.error("the file ends too early"))?;
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn i32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads an unsigned number of `len` bytes, up to 8.
    pub(super) fn unsigned(&mut self, len: usize) -> Result<u64, Error> {
        let mut array = [0; 8];
        array[..len].copy_from_slice(self.take(len)?);
        Ok(u64::from_le_bytes(array))
    }

    pub(super) fn i64(&mut self) -> Result<i64, Error> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn f32(&mut self) -> Result<f32, Error> {
        self.array().map(f32::from_le_bytes)
    }

    /// Reads a number of double precision, rounded to single precision.
    #[expect(clippy::cast_possible_truncation, reason = "rounded, and infinite where it is too large")]
    pub(super) fn f64_as_f32(&mut self) -> Result<f32, Error> {
        self.array().map(|bytes| f64::from_le_bytes(bytes) as f32)
    }

    /// Skips some bytes.
    pub(super) fn skip(&mut self, len: usize) -> Result<(), Error> {
        self.take(len).map(|_| ())
    }

    /// Reads a length and as many bytes.
    pub(super) fn string(&mut self) -> Result<String, Error> {
        let len = self.i32()?;
        let len = self.count(len.into(), 1)?;
        let bytes = self.take(len)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| self.error("a string that is not UTF-8"))
    }

    /// Checks a number of items of `size` bytes or more, for which the file must have room.
    pub(super) fn count(&self, number: i64, size: usize) -> Result<usize, Error> {
        let slot = (self.data.len() - self.at) / size;
        let number = usize::try_from(number).ok().filter(|&number| number <= slot);
        number.ok_or_else(|| self.error("a count that the file has no room for"))
    }

    /// Skips to the next multiple of `size` bytes.
    pub(super) fn align(&mut self, size: usize) -> Result<(), Error> {
        self.take(self.at.next_multiple_of(size) - self.at).map(|_| ())
    }
}

/// Writes a length and as many bytes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) -> Result<(), Error> {
    out.extend(Error::fit(Quantity::StringLength, text.len())?.to_le_bytes());
    out.extend(text.as_bytes());
    Ok(())
}
