//! Samples and bytes of a length that a header states, which may be wrong.

use std::io::{self, Read};

use crate::wave::error::WaveError;

/// The most bytes of samples that a recording may have: three days at 16 kHz.
const MOST_BYTES: u64 = 1 << 33;

/// Bytes read at once: the zeros that are written before are still in the cache.
const BLOCK: usize = 1 << 18;

/// The most bytes reserved because of a header: two minutes at 16 kHz.
const TRUSTED: u64 = 1 << 22;

/// Reads up to `limit` bytes, or all there are, as samples in the file's byte order; also returns
/// the number of bytes.
///
/// # Errors
/// [`WaveError::TooLong`] above 8 GiB, [`WaveError::NoMemory`], [`WaveError::Read`].
pub fn read_samples(reader: &mut dyn Read, limit: Option<u64>) -> Result<(Vec<i16>, usize), WaveError> {
    let mut reader = limited(reader, limit)?;
    let mut samples: Vec<i16> = Vec::new();
    reserve(&mut samples, trusted(limit) / 2)?;
    let mut filled = 0;
    loop {
        let block = usize::try_from(reader.limit()).map_or(BLOCK, |left| left.min(BLOCK));
        grow(&mut samples, (filled + block).div_ceil(2))?;
        let read = read_up_to(&mut reader, &mut bytemuck::cast_slice_mut(&mut samples)[filled..filled + block])?;
        filled += read;
        if read < block || block == 0 {
            check_length(filled)?;
            return Ok((samples, filled));
        }
    }
}

/// Reads up to `limit` bytes, or all there are.
///
/// # Errors
/// The errors of [`read_samples`].
pub fn read_bytes(reader: &mut dyn Read, limit: Option<u64>) -> Result<Vec<u8>, WaveError> {
    let mut reader = limited(reader, limit)?;
    let mut bytes = Vec::new();
    reserve(&mut bytes, trusted(limit))?;
    loop {
        let filled = bytes.len();
        let block = usize::try_from(reader.limit()).map_or(BLOCK, |left| left.min(BLOCK));
        grow(&mut bytes, filled + block)?;
        let read = read_up_to(&mut reader, &mut bytes[filled..])?;
        bytes.truncate(filled + read);
        if read < block || block == 0 {
            check_length(bytes.len())?;
            return Ok(bytes);
        }
    }
}

/// A reader that ends one byte behind the longest recording, so that a longer one is recognised.
fn limited(reader: &mut dyn Read, limit: Option<u64>) -> Result<io::Take<&mut dyn Read>, WaveError> {
    if limit.is_some_and(|limit| limit > MOST_BYTES) {
        return Err(WaveError::TooLong { limit: MOST_BYTES });
    }
    Ok(reader.take(limit.unwrap_or(MOST_BYTES + 1)))
}

fn check_length(bytes: usize) -> Result<(), WaveError> {
    if bytes as u64 > MOST_BYTES { Err(WaveError::TooLong { limit: MOST_BYTES }) } else { Ok(()) }
}

/// Number of bytes to reserve if a header states `limit`.
fn trusted(limit: Option<u64>) -> usize {
    usize::try_from(limit.unwrap_or(0).min(TRUSTED)).unwrap_or(0)
}

/// Reserves memory for exactly `additional` elements.
fn reserve<T>(samples: &mut Vec<T>, additional: usize) -> Result<(), WaveError> {
    samples.try_reserve_exact(additional).map_err(|_| WaveError::NoMemory { bytes: additional * size_of::<T>() })
}

/// Extends a vector by zeros; its capacity doubles.
fn grow<T: Default + Clone>(samples: &mut Vec<T>, len: usize) -> Result<(), WaveError> {
    let more = len.saturating_sub(samples.len());
    samples.try_reserve(more).map_err(|_| WaveError::NoMemory { bytes: len * size_of::<T>() })?;
    samples.resize(len, T::default());
    Ok(())
}

/// Fills `buffer` unless the stream ends first; returns the number of bytes read.
fn read_up_to(reader: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, WaveError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(WaveError::Read(error)),
        }
    }
    Ok(filled)
}
