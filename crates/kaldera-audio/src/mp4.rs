//! Boxes of MP4 files (ISO/IEC 14496-12): where a file is cut short, and the part of a track that
//! is heard.
//!
//! ```text
//!   ftyp | moov: mvhd, trak: tkhd, edts: elst, mdia: mdhd ... | mdat    or moov behind mdat
//!          |
//!          '-- elst: leaves out the first samples of AAC, which only fill the encoder
//! ```

use crate::error::Error;
use crate::formats::unread_encoding;

/// The format, in errors.
pub(crate) const MP4: &str = "MP4";

/// The boxes of a file, as far as they are needed.
#[derive(Debug, Default)]
pub(crate) struct Boxes {
    tracks: Vec<Track>,
    /// Ticks per second of the file.
    timescale: u32,
    /// Start of the last outermost box.
    last: usize,
    /// The reason why the boxes end, if the file is damaged or cut off.
    pub(crate) damage: Option<Error>,
}

#[derive(Debug, Default)]
struct Track {
    id: u32,
    /// Ticks per second of the track.
    timescale: u32,
    edits: Vec<Edit>,
}

/// A part of a track.
#[derive(Debug)]
struct Edit {
    /// In ticks of the file; 0 for all that follows.
    duration: u64,
    /// In ticks of the track; negative for silence.
    start: i64,
}

/// The part of a track that is heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Heard {
    /// Seconds before it.
    pub(crate) start: f64,
    /// Its length in seconds; `None` if it goes to the end.
    pub(crate) length: Option<f64>,
}

impl Boxes {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let (mut boxes, mut rest) = (Self::default(), bytes);
        let (mut has_index, mut has_samples) = (false, false);
        // Line feeds and tags behind all boxes are no damage.
        let is_end = |rest: &[u8]| rest.len() < 8 || rest.starts_with(b"TAG");
        while boxes.damage.is_none() && !rest.is_empty() && !(has_index && has_samples && is_end(rest)) {
            boxes.last = bytes.len() - rest.len();
            let taken = next(&mut rest).and_then(|(kind, content)| {
                has_index |= &kind == b"moov";
                has_samples |= &kind == b"mdat";
                boxes.take(kind, content, 0)
            });
            boxes.damage = taken.err();
        }
        boxes
    }

    /// A file that is cut off, with a last box that ends where the file ends.
    pub(crate) fn mended(&self, bytes: &[u8]) -> Vec<u8> {
        let mut mended = bytes.to_vec();
        if let Some(size) = mended.get_mut(self.last..self.last + 4) {
            // To the end of the file.
            size.fill(0);
        }
        mended
    }

    /// Reads the boxes of a box at this depth.
    fn walk(&mut self, mut bytes: &[u8], depth: usize) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (kind, content) = next(&mut bytes)?;
            self.take(kind, content, depth + 1)?;
        }
        Ok(())
    }

    /// Takes a box. Boxes that contain others are read only at their depths.
    fn take(&mut self, kind: [u8; 4], content: &[u8], depth: usize) -> Result<(), Error> {
        match (&kind, depth) {
            (b"moov", 0) | (b"mdia" | b"edts", 2) => self.walk(content, depth),
            (b"trak", 1) => {
                self.tracks.push(Track::default());
                self.walk(content, depth)
            }
            (b"mvhd", 1) => {
                self.timescale = timescale(content)?;
                Ok(())
            }
            _ => match self.tracks.last_mut() {
                Some(track) => track.take(kind, content),
                None => Ok(()),
            },
        }
    }

    /// The part of a track that is heard.
    ///
    /// # Errors
    /// [`Error::UnreadFormat`] for a track that is put together of several parts.
    pub(crate) fn heard(&self, track: u32) -> Result<Heard, Error> {
        let all = Heard { start: 0.0, length: None };
        let Some(track) = self.tracks.iter().find(|one| one.id == track) else { return Ok(all) };
        // Silence before the audio keeps it in step with a video.
        let mut edits = track.edits.iter().filter(|edit| edit.start >= 0);
        let Some(edit) = edits.next() else { return Ok(all) };
        if edits.next().is_some() {
            return Err(unread_encoding(MP4, "a track of several parts (edits)"));
        }
        let seconds = |ticks: f64, timescale: u32| ticks / f64::from(timescale.max(1));
        let length = (edit.duration > 0).then(|| seconds(edit.duration as f64, self.timescale));
        Ok(Heard { start: seconds(edit.start as f64, track.timescale), length })
    }
}

/// Makes an `OpusHead` of the header of Opus in MP4, whose integers are big-endian.
pub(crate) fn swap_opus_head(head: &mut [u8]) {
    for range in [10..12, 12..16, 16..18] {
        if let Some(integer) = head.get_mut(range) {
            integer.reverse();
        }
    }
}

impl Track {
    fn take(&mut self, kind: [u8; 4], content: &[u8]) -> Result<(), Error> {
        match &kind {
            b"tkhd" => {
                let at = if is_long(content) { 20 } else { 12 };
                self.id = u32_at(content, at).ok_or_else(damaged)?;
            }
            b"mdhd" => self.timescale = timescale(content)?,
            b"elst" => self.edits = edits(content).ok_or_else(damaged)?,
            _ => {}
        }
        Ok(())
    }
}

/// Takes a box off `bytes`: its kind and contents.
fn next<'a>(bytes: &mut &'a [u8]) -> Result<([u8; 4], &'a [u8]), Error> {
    let no_end = Error::NoEnd { format: MP4 };
    let Some((&[a, b, c, d, kind @ ..], rest)) = bytes.split_first_chunk::<8>() else { return Err(no_end) };
    let (size, content) = match (u32::from_be_bytes([a, b, c, d]), rest.split_first_chunk::<8>()) {
        // To the end of the file.
        (0, _) => (rest.len() as u64, rest),
        (1, Some((&long, rest))) => (u64::from_be_bytes(long).checked_sub(16).ok_or_else(damaged)?, rest),
        (size, _) => (u64::from(size).checked_sub(8).ok_or_else(damaged)?, rest),
    };
    let size = usize::try_from(size).ok().filter(|&size| size <= content.len()).ok_or(no_end)?;
    let (content, rest) = content.split_at(size);
    *bytes = rest;
    Ok((kind, content))
}

fn damaged() -> Error {
    Error::Decoder { format: MP4, message: "a box of a wrong size".to_owned() }
}

/// Returns `true` if the times of a box have 64 bits.
fn is_long(content: &[u8]) -> bool {
    content.first() == Some(&1)
}

fn u32_at(content: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*content.get(at..)?.first_chunk()?))
}

fn u64_at(content: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*content.get(at..)?.first_chunk()?))
}

/// Ticks per second, of `mvhd` or `mdhd`.
fn timescale(content: &[u8]) -> Result<u32, Error> {
    u32_at(content, if is_long(content) { 20 } else { 12 }).ok_or_else(damaged)
}

fn edits(content: &[u8]) -> Option<Vec<Edit>> {
    let (is_long, count) = (is_long(content), u32_at(content, 4)?);
    let size = if is_long { 20 } else { 12 };
    let entries = content.get(8..)?.chunks_exact(size);
    let read = |entry: &[u8]| {
        Some(match is_long {
            true => Edit { duration: u64_at(entry, 0)?, start: u64_at(entry, 8)?.cast_signed() },
            false => Edit { duration: u32_at(entry, 0)?.into(), start: u32_at(entry, 4)?.cast_signed().into() },
        })
    };
    if entries.len() < usize::try_from(count).ok()? {
        return None;
    }
    entries.take(count as usize).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let size = u32::try_from(8 + content.len()).unwrap();
        [&size.to_be_bytes()[..], kind, content].concat()
    }

    /// A file of 1000 ticks per second with a track of 16 kHz and these edits.
    fn file(edits: &[(u32, i32)]) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let entries = edits.iter().flat_map(|&(duration, start)| words(&[duration, start.cast_unsigned(), 1 << 16]));
        let list = [words(&[0, u32::try_from(edits.len()).unwrap()]), entries.collect()].concat();
        let track = [
            a_box(b"tkhd", &words(&[0, 0, 0, 7])),
            a_box(b"edts", &a_box(b"elst", &list)),
            a_box(b"mdia", &a_box(b"mdhd", &words(&[0, 0, 0, 16_000]))),
        ];
        let movie = [a_box(b"mvhd", &words(&[0, 0, 0, 1000])), a_box(b"trak", &track.concat())];
        [a_box(b"ftyp", b"M4A "), a_box(b"moov", &movie.concat())].concat()
    }

    #[test]
    fn one_edit_is_the_part_that_is_heard() {
        let heard = |edits: &[(u32, i32)], track| {
            let boxes = Boxes::read(&file(edits));
            assert!(boxes.damage.is_none(), "{:?}", boxes.damage);
            boxes.heard(track)
        };
        let part = |start, length| Heard { start, length };
        assert_eq!(heard(&[(500, 1600)], 7).unwrap(), part(0.1, Some(0.5)));
        assert_eq!(heard(&[(0, 1600)], 7).unwrap(), part(0.1, None));
        assert_eq!(heard(&[(20, -1), (500, 1600)], 7).unwrap(), part(0.1, Some(0.5)), "after silence");
        assert_eq!(heard(&[], 7).unwrap(), part(0.0, None));
        assert_eq!(heard(&[(500, 1600)], 8).unwrap(), part(0.0, None), "of another track");
        let error = heard(&[(500, 1600), (500, 16_000)], 7).unwrap_err().to_string();
        assert!(error.contains("MP4 with a track of several parts") && error.contains("ffmpeg"), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_has_no_end() {
        let bytes = file(&[(500, 1600)]);
        for len in 1..bytes.len() {
            let damage = Boxes::read(&bytes[..len]).damage;
            assert_eq!(damage.is_some(), len != 12, "{len}");
        }
    }
}
