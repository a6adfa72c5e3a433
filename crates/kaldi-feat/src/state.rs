//! The bytes of a stream's saved state.
//!
//! ```text
//!  tag: 8 bytes | hash of the options: u64 | numbers ... | hash of all before: u64
//!
//!  all little-endian
//! ```
//!
//! A state is read by the program that wrote it, or by another process of the same version: it is
//! not a format for archives.

use crate::error::Error;

/// Collects a state.
#[derive(Debug)]
pub(crate) struct StateWriter {
    bytes: Vec<u8>,
}

impl StateWriter {
    /// Begins the state of a stream of the kind `tag`. `options` is any text that is the same for
    /// the same options.
    pub(crate) fn new(tag: [u8; 8], options: &str) -> Self {
        let mut writer = Self { bytes: tag.to_vec() };
        writer.u64(hash(options.as_bytes()));
        writer
    }

    pub(crate) fn u64(&mut self, x: u64) {
        self.bytes.extend(x.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, x: f64) {
        self.u64(x.to_bits());
    }

    pub(crate) fn f32s(&mut self, values: &[f32]) {
        self.u64(values.len() as u64);
        self.bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) {
        self.u64(values.len() as u64);
        self.bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.u64(hash(&self.bytes));
        self.bytes
    }
}

/// Reads a state. Lengths are checked before memory is allocated.
#[derive(Debug)]
pub(crate) struct StateReader<'a> {
    rest: &'a [u8],
}

impl<'a> StateReader<'a> {
    /// Checks the whole of a state, and goes to its first number.
    ///
    /// # Errors
    /// If it is of another kind, of other options, or was changed.
    pub(crate) fn new(state: &'a [u8], tag: [u8; 8], options: &str) -> Result<Self, Error> {
        let bad = |reason| Err(Error::BadState { reason });
        let Some((content, checksum)) = state.split_last_chunk::<8>() else { return bad("it is too short") };
        let mut reader = Self { rest: content };
        match reader.take::<8>() {
            Ok(found) if found == tag => {}
            Ok(_) => return bad("it is of another kind of stream"),
            Err(error) => return Err(error),
        }
        if u64::from_le_bytes(*checksum) != hash(content) {
            return bad("its bytes were changed");
        }
        if reader.u64()? != hash(options.as_bytes()) {
            return bad("it is of a stream with other options");
        }
        Ok(reader)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (&found, rest) = self.rest.split_first_chunk().ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(found)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn usize(&mut self) -> Result<usize, Error> {
        usize::try_from(self.u64()?).map_err(|_| ENDS_EARLY)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Error> {
        Ok(f64::from_bits(self.u64()?))
    }

    pub(crate) fn bool(&mut self) -> Result<bool, Error> {
        match self.u64()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::BadState { reason: "a yes or no in it is neither" }),
        }
    }

    fn counted(&mut self, size: usize) -> Result<&'a [u8], Error> {
        let len = self.usize()?.checked_mul(size).ok_or(ENDS_EARLY)?;
        let (found, rest) = self.rest.split_at_checked(len).ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(found)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        self.counted(1)
    }

    pub(crate) fn f32s(&mut self) -> Result<Vec<f32>, Error> {
        let (numbers, _) = self.counted(4)?.as_chunks();
        Ok(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }

    pub(crate) fn f64s(&mut self) -> Result<Vec<f64>, Error> {
        let (numbers, _) = self.counted(8)?.as_chunks();
        Ok(numbers.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect())
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(Error::BadState { reason: "it is too long" }) }
    }
}

const ENDS_EARLY: Error = Error::BadState { reason: "it ends early" };

/// Computes FNV-1a of 64 bits: enough against accidents, and no defence against anything else.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> Vec<u8> {
        let mut writer = StateWriter::new(*b"test    ", "a=1");
        writer.u64(7);
        writer.f32s(&[1.0, f32::NAN]);
        writer.f64(0.5);
        writer.f64s(&[2.0]);
        writer.bytes(b"xyz");
        writer.finish()
    }

    fn read(state: &[u8], options: &str) -> Result<(), Error> {
        let mut reader = StateReader::new(state, *b"test    ", options)?;
        assert_eq!(reader.usize()?, 7);
        assert_eq!(reader.f32s()?.len(), 2);
        assert_eq!(reader.f64()?, 0.5);
        assert_eq!(reader.f64s()?, [2.0]);
        assert_eq!(reader.bytes()?, b"xyz");
        reader.finish()
    }

    #[test]
    fn written_states_are_read_back() {
        read(&state(), "a=1").unwrap();
        assert_eq!(read(&state(), "a=2"), Err(Error::BadState { reason: "it is of a stream with other options" }));
    }

    #[test]
    fn changed_states_are_refused() {
        let good = state();
        for len in 0..good.len() {
            assert!(read(&good[..len], "a=1").is_err());
        }
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 4;
            assert!(read(&bad, "a=1").is_err());
        }
    }
}
