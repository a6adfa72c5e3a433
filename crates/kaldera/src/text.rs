//! Reader of texts: gzip is uncompressed, up to a limit; a byte order mark is skipped; UTF-16 is
//! reported.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use fsa::Limits;
use kaldera_base::text::from_utf8;

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Number of bytes that gzip may always produce.
const FREE: u64 = 1 << 25;

/// Number of bytes that may be produced for each byte read, if that is more than `FREE`. Manifests
/// of lhotse, whose lines are similar, have 30.
const SWELLING: u64 = 100;

/// Returns a reader of `input`, uncompressed if it begins as gzip does. Gzip may produce 32 MiB, or
/// 100 bytes for each byte read: no text needs more, but files that are made to fill the memory do.
///
/// # Errors
/// Errors of `input`. The reader's errors say which limit is exceeded.
pub fn uncompressed<'r>(mut input: impl Read + 'r) -> io::Result<Box<dyn BufRead + 'r>> {
    let mut start = Vec::new();
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut start)?;
    let compressed = start == GZIP;
    let input = Cursor::new(start).chain(input);
    Ok(if compressed {
        let decoder = MultiGzDecoder::new(Counted { input, bytes: 0 });
        Box::new(BufReader::new(Limited { decoder, bytes: 0 }))
    } else {
        Box::new(BufReader::new(input))
    })
}

/// Returns all bytes of `input`, [uncompressed]. They fit in half of the memory.
///
/// # Errors
/// Errors of `input`; an error for more bytes.
pub fn read_bytes(input: impl Read) -> io::Result<Vec<u8>> {
    let (mut bytes, limit) = (Vec::new(), Limits::half_of_memory());
    uncompressed(input)?.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(io::Error::other(format!("it has more than {limit} bytes, half of the memory there is")));
    }
    Ok(bytes)
}

/// Returns the text of `input`, [uncompressed] and without a byte order mark.
///
/// ```
/// assert_eq!(kaldera::text::read("\u{feff}one two\n".as_bytes())?, "one two\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// As [`read_bytes`]; an error with the line for bytes that are not UTF-8.
pub fn read(input: impl Read) -> io::Result<String> {
    from_utf8(read_bytes(input)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns the text of a file, as [`read`].
///
/// # Errors
/// As [`read`].
pub fn read_file(path: impl AsRef<Path>) -> io::Result<String> {
    read(File::open(path)?)
}

/// A reader that counts bytes.
struct Counted<R> {
    input: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Output of gzip, up to a limit.
struct Limited<R> {
    decoder: MultiGzDecoder<Counted<R>>,
    bytes: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.bytes += read as u64;
        if self.bytes > self.decoder.get_ref().bytes.saturating_mul(SWELLING).max(FREE) {
            return Err(io::Error::other(format!(
                "more than {FREE} bytes come out of gzip, and more than {SWELLING} for each that goes in, which is \
                 the limit; if that is meant, uncompress it first"
            )));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8], times: usize) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        for _ in 0..times {
            encoder.write_all(bytes).unwrap();
        }
        encoder.finish().unwrap()
    }

    #[test]
    fn a_text_is_the_same_plain_or_compressed_with_a_mark_or_without() {
        for text in ["a\nb\n", "\u{feff}a\nb\n"] {
            assert_eq!(read(text.as_bytes()).unwrap(), "a\nb\n");
            assert_eq!(read(&gzip(text.as_bytes(), 1)[..]).unwrap(), "a\nb\n");
            // Files of gzip may be joined.
            let twice = [gzip(b"a\n", 1), gzip(b"b\n", 1)].concat();
            assert_eq!(read(&twice[..]).unwrap(), "a\nb\n");
        }
        assert_eq!((read(&b""[..]).unwrap(), read(&b"\x1f"[..]).unwrap()), (String::new(), "\x1f".to_owned()));
        let error = read(&gzip(b"a\nb\nc \xff", 1)[..]).unwrap_err().to_string();
        assert!(error.contains("line 3 is not UTF-8"), "{error}");
    }

    #[test]
    fn what_swells_without_bound_is_refused() {
        let line = [b'\n'; 1 << 16];
        assert_eq!(read_bytes(&gzip(&line, 512)[..]).unwrap().len(), 1 << 25);
        let error = read_bytes(&gzip(&line, 1024)[..]).unwrap_err().to_string();
        assert!(error.contains("33554432 bytes") && error.contains("uncompress it first"), "{error}");
    }
}
