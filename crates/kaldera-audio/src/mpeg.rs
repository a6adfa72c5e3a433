//! Frames of MP3 files: their positions, and gaps between them.
//!
//! ```text
//!   ID3v2 | Info | frame | frame | ... | frame | ID3v1 | ID3v2 | Info | frame | ...
//!           '------------- part --------------'                  '- part
//! ```
//!
//! The header of a frame contains its length. Bytes that are neither the next frame nor a tag are
//! damage, which a decoder skips without a report.

use std::ops::Range;

use crate::error::Error;
use crate::formats;

const MP3: &str = "MP3";

/// Bytes of no meaning that some programs leave at the beginning and at the end.
const PADDING: usize = 4096;

/// Bytes in which a first frame is looked for.
const MOST_BEFORE: usize = 1 << 20;

/// The frames of a file up to the first damage.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) parts: Vec<Part>,
    /// The reason why they end there, if the file is damaged or cut off.
    pub(crate) damage: Option<Error>,
}

/// Frames that follow each other without a tag.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    /// Of the bytes of the file.
    pub(crate) range: Range<usize>,
    /// True if its Info frame gives its length, so that a decoder knows the padding at its end.
    pub(crate) has_length: bool,
}

/// The properties that all frames of a recording share.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kind {
    /// 3 is MPEG 1, 2 is MPEG 2 and 0 is MPEG 2.5.
    version: u8,
    rate: u32,
    is_mono: bool,
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Header {
    kind: Kind,
    /// Of the frame with its header.
    len: usize,
}

impl Header {
    /// The header of the layer III frame that `bytes` begin with.
    fn read(bytes: &[u8]) -> Option<Self> {
        const KBITS_1: [u32; 15] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
        const KBITS_2: [u32; 15] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
        let &[sync, second, third, fourth] = bytes.first_chunk()?;
        let version = second >> 3 & 3;
        if sync != 0xFF || second & 0xE6 != 0xE2 || version == 1 {
            return None;
        }
        let rate = [44_100, 48_000, 32_000].get(usize::from(third >> 2 & 3))?;
        let (rate, kbits, slots) = match version {
            3 => (*rate, KBITS_1, 144_000),
            2 => (rate / 2, KBITS_2, 72_000),
            _ => (rate / 4, KBITS_2, 72_000),
        };
        // 0 is a free bit rate, for which the length is unknown.
        let kbits = *kbits.get(usize::from(third >> 4)).filter(|&&kbits| kbits > 0)?;
        let len = slots * kbits / rate + u32::from(third >> 1 & 1);
        let kind = Kind { version, rate, is_mono: fourth >> 6 == 3 };
        Some(Self { kind, len: usize::try_from(len).ok()? })
    }

    /// The header of the frame at `at`, which another one or the end of the file follows.
    fn confirmed(bytes: &[u8], at: usize) -> Option<Self> {
        let header = Self::read(bytes.get(at..)?)?;
        let next = bytes.get(at + header.len..)?;
        (next.is_empty() || Self::read(next).is_some_and(|next| next.kind == header.kind)).then_some(header)
    }
}

/// The length that an Info frame promises: frames, without itself, or bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    Frames(u64),
    Bytes(u64),
}

/// The length that an Info frame promises; the outer `None` is a frame of audio.
fn info(frame: &[u8], kind: Kind) -> Option<Option<Length>> {
    let side_information = match (kind.version == 3, kind.is_mono) {
        (true, false) => 32,
        (true, true) | (false, false) => 17,
        (false, true) => 9,
    };
    let info = frame.get(4 + side_information..)?;
    let Some(info) = info.strip_prefix(b"Xing").or_else(|| info.strip_prefix(b"Info")) else {
        return frame.get(36..)?.starts_with(b"VBRI").then_some(None);
    };
    let (&[_, _, _, flags], info) = info.split_first_chunk::<4>()?;
    let number = info.first_chunk().map(|&number| u64::from(u32::from_be_bytes(number)));
    // The number of frames comes first, if it is there.
    Some(match flags & 3 {
        1 | 3 => number.map(Length::Frames),
        2 => number.map(Length::Bytes),
        _ => None,
    })
}

/// The length of the tags that `bytes` begin with: ID3, APE, Lyrics3.
pub(crate) fn tags(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some(len @ 1..) = tag(rest) {
        rest = rest.get(len..).unwrap_or_default();
    }
    bytes.len() - rest.len()
}

fn tag(bytes: &[u8]) -> Option<usize> {
    match bytes {
        &[b'I', b'D', b'3', 2..=4, _, flags, a, b, c, d, ..] => {
            let size = [a, b, c, d].iter().fold(0, |size, &byte| size << 7 | usize::from(byte & 0x7F));
            Some(10 + size + if flags & 0x10 == 0 { 0 } else { 10 })
        }
        [b'T', b'A', b'G', b'+', ..] if bytes.get(227..)?.starts_with(b"TAG") => Some(227),
        [b'T', b'A', b'G', ..] => Some(128),
        [b'A', b'P', b'E', b'T', b'A', b'G', b'E', b'X', ..] => {
            // A footer that no header announces has no tag before it here.
            let is_header = bytes.get(23)? & 0x20 != 0;
            let size = u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?);
            Some(32 + if is_header { usize::try_from(size).ok()? } else { 0 })
        }
        _ if bytes.starts_with(b"LYRICSBEGIN") => {
            let ends = |bytes: &[u8]| bytes == b"LYRICSEND" || bytes == b"LYRICS200";
            Some(bytes.windows(9).position(ends)? + 9)
        }
        _ => None,
    }
}

/// `bytes` without the tags at their end: ID3v1 and APE, which may have only a footer.
pub(crate) fn without_tags(mut bytes: &[u8]) -> &[u8] {
    loop {
        let len = match (bytes.last_chunk::<128>(), bytes.last_chunk::<32>()) {
            (Some(tag), _) if tag.starts_with(b"TAG") => 128,
            (_, Some(footer)) if footer.starts_with(b"APETAGEX") => {
                let &[.., a, b, c, d, _, _, _, _, _, _, _, flags, _, _, _, _, _, _, _, _] = footer;
                let header = if flags & 0x80 == 0 { 0 } else { 32 };
                usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX).saturating_add(header)
            }
            _ => return bytes,
        };
        match bytes.len().checked_sub(len) {
            Some(rest) if len > 0 => bytes = &bytes[..rest],
            _ => return bytes,
        }
    }
}

impl Frames {
    /// Reads the frames of a file; `None` of one without.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = without_tags(bytes);
        let begin = tags(bytes);
        let is_free = bytes[begin..].first_chunk().is_some_and(|&[sync, second, third]| {
            sync == 0xFF && second & 0xE6 == 0xE2 && third >> 4 == 0 && third >> 2 & 3 != 3
        });
        if is_free {
            return Some(Self { parts: Vec::new(), damage: Some(formats::unread_encoding(MP3, "a free bit rate")) });
        }
        let at_begin = Header::read(&bytes[begin..]);
        let mut near = begin..bytes.len().min(begin + MOST_BEFORE);
        let confirmed = near.find_map(|at| Some((at, Header::confirmed(bytes, at)?)));
        // The next frame may be missing.
        let (first, header) = match (at_begin, confirmed) {
            (Some(header), Some((_, other))) if header.kind == other.kind => (begin, header),
            (Some(header), None) => (begin, header),
            (_, confirmed) => confirmed?,
        };
        let mut walk = Walk { bytes, kind: header.kind, frames: Self::default() };
        let before = first - begin;
        if before > PADDING {
            walk.frames.damage = Some(damaged(format!("the first frame is {before} bytes behind the beginning")));
        } else {
            if before > 0 {
                tracing::warn!("no MP3 frame begins in {before} bytes at byte {begin}, which are left out");
            }
            walk.frames.damage = walk.parts_from(first).err();
        }
        Some(walk.frames)
    }
}

fn damaged(message: String) -> Error {
    Error::Decoder { format: MP3, message }
}

struct Walk<'a> {
    bytes: &'a [u8],
    kind: Kind,
    frames: Frames,
}

impl Walk<'_> {
    /// Goes from part to part, the first of which begins at `begin`.
    fn parts_from(&mut self, mut begin: usize) -> Result<(), Error> {
        loop {
            let (end, is_whole) = self.part(begin)?;
            let Some(next) = self.next_part(end, is_whole)? else { return Ok(()) };
            begin = next;
        }
    }

    /// Adds the part that begins at `begin`. Returns its end, and whether it has all frames that an
    /// Info frame promises.
    fn part(&mut self, begin: usize) -> Result<(usize, bool), Error> {
        let (mut at, mut last, mut num_frames, mut length) = (begin, begin, 0, None);
        while let Some(header) = self.frame(at) {
            let info = self.bytes.get(at..at + header.len).map(|frame| info(frame, header.kind));
            let Some(info) = info else { break };
            if let Some(promised) = info {
                if at > begin {
                    break;
                }
                length = promised;
            } else {
                num_frames += 1;
            }
            (last, at) = (at, at + header.len);
        }
        // Some count the Info frame.
        let counts = num_frames..=num_frames + 1;
        let has_length = matches!(length, Some(Length::Frames(promised)) if counts.contains(&promised));
        let is_whole = matches!(length, Some(Length::Frames(promised)) if promised <= num_frames);
        let rest = &self.bytes[at..];
        let is_known = self.any_frame(at).is_some() || tags(rest) > 0;
        let ended = if is_known { Ok(()) } else { self.check_rest(at, is_whole) };
        // Damage may begin within the last frame.
        let end = if matches!(ended, Err(Error::Decoder { .. })) { last } else { at };
        if end > begin {
            self.frames.parts.push(Part { range: begin..end, has_length });
        }
        if end < at {
            return ended.map(|()| (at, is_whole));
        }
        /// Tags behind the frames may or may not be counted.
        const TAGS: u64 = 1 << 11;
        let found = (at - begin) as u64;
        match length {
            Some(Length::Frames(expected)) if num_frames + 1 < expected => {
                Err(Error::Truncated { format: MP3, expected, found: num_frames, unit: "frames" })
            }
            Some(Length::Bytes(expected)) if found + TAGS < expected => {
                Err(Error::Truncated { format: MP3, expected, found, unit: "bytes" })
            }
            _ => ended.map(|()| (at, is_whole)),
        }
    }

    /// The header of the frame at `at`, of the same kind as the first one.
    fn frame(&self, at: usize) -> Option<Header> {
        Header::read(&self.bytes[at..]).filter(|header| header.kind == self.kind)
    }

    /// The header of the frame at `at`, also of another kind, where another frame confirms that.
    fn any_frame(&self, at: usize) -> Option<Header> {
        self.frame(at).or_else(|| Header::confirmed(self.bytes, at))
    }

    /// The begin of another part behind one that ends at `end`, if there is one.
    fn next_part(&self, end: usize, is_whole: bool) -> Result<Option<usize>, Error> {
        let begin = end + tags(&self.bytes[end..]);
        let rest = &self.bytes[begin..];
        match self.any_frame(begin) {
            Some(header) if header.len > rest.len() && !is_whole => Err(Error::NoEnd { format: MP3 }),
            Some(header) if header.len > rest.len() => Ok(None),
            Some(header) if header.kind != self.kind => {
                Err(formats::unread_encoding(MP3, "a rate or a number of channels that changes"))
            }
            Some(_) => Ok(Some(begin)),
            // Checked already.
            None if begin == end => Ok(None),
            None => self.check_rest(begin, is_whole).map(|()| None),
        }
    }

    /// Checks the bytes from `at` on, where neither a frame nor a tag begins. If `is_whole` is
    /// true, no frame is missing.
    fn check_rest(&self, at: usize, is_whole: bool) -> Result<(), Error> {
        let rest = &self.bytes[at..];
        // Of a header: 11 bits that are set, and the layer.
        let is_begun =
            rest.len() < 4 && rest.iter().zip([(0xFF, 0xFF), (0xE6, 0xE2)]).all(|(byte, (mask, of))| byte & mask == of);
        let goes_on = |at| Header::confirmed(self.bytes, at).is_some_and(|header| header.kind == self.kind);
        if rest.is_empty() {
            Ok(())
        } else if is_begun {
            Err(Error::NoEnd { format: MP3 })
        } else if let Some(next) = (at..self.bytes.len()).find(|&at| goes_on(at)) {
            Err(damaged(format!("no frame begins at byte {at}, and the next one at byte {next}")))
        } else if is_whole {
            Ok(())
        } else if rest.len() <= PADDING {
            tracing::warn!("no MP3 frame begins in {} bytes at byte {at}, which are left out", rest.len());
            Ok(())
        } else {
            Err(damaged(format!("no frame begins in the last {} bytes, from byte {at}", rest.len())))
        }
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, of which one may be all")]
mod tests {
    use super::*;

    const FRAME: usize = 417;

    /// Frames of silence, 128 kbit/s at 44.1 kHz, one channel.
    fn mp3(frames: usize) -> Vec<u8> {
        let mut frame = vec![0; FRAME];
        frame[..4].copy_from_slice(b"\xff\xfb\x90\xc0");
        frame.repeat(frames)
    }

    /// A frame that promises others.
    fn info(flags: u8, number: u32) -> Vec<u8> {
        let mut frame = mp3(1);
        frame[21..25].copy_from_slice(b"Info");
        frame[28] = flags;
        frame[29..33].copy_from_slice(&number.to_be_bytes());
        frame
    }

    fn read(parts: &[&[u8]]) -> (Vec<Range<usize>>, Option<String>) {
        let Frames { parts, damage } = Frames::read(&parts.concat()).unwrap();
        (parts.into_iter().map(|part| part.range).collect(), damage.map(|error| error.to_string()))
    }

    #[track_caller]
    fn is_whole(bytes: &[&[u8]], ranges: &[Range<usize>]) {
        assert_eq!(read(bytes), (ranges.to_vec(), None));
    }

    #[track_caller]
    fn is_damaged(bytes: &[&[u8]], range: Range<usize>, expected: &str) {
        let (ranges, error) = read(bytes);
        let error = error.expect("damage");
        let expected_ranges = if range.is_empty() { vec![] } else { vec![range] };
        assert!(ranges == expected_ranges && error.contains(expected), "{ranges:?} {error}");
    }

    #[test]
    fn headers_tell_the_length_of_a_frame() {
        let len =
            |bytes: [u8; 4]| Header::read(&bytes).map(|header| (header.len, header.kind.rate, header.kind.is_mono));
        assert_eq!(len([0xFF, 0xFB, 0x90, 0xC0]), Some((417, 44_100, true)));
        assert_eq!(len([0xFF, 0xFB, 0x92, 0x40]), Some((418, 44_100, false)));
        assert_eq!(len([0xFF, 0xFA, 0xE4, 0]), Some((960, 48_000, false)));
        assert_eq!(len([0xFF, 0xF3, 0x48, 0xC4]), Some((144, 16_000, true)));
        assert_eq!(len([0xFF, 0xE3, 0xE8, 0xC4]), Some((1440, 8000, true)));
        // A free rate, none, a rate that is reserved, layer II, the version that is reserved, no
        // sync.
        for bytes in [
            [0xFF, 0xFB, 0, 0],
            [0xFF, 0xFB, 0xF0, 0],
            [0xFF, 0xFB, 0x9C, 0],
            [0xFF, 0xFD, 0x90, 0],
            [0xFF, 0xEB, 0x90, 0],
            [0xFE, 0xFB, 0x90, 0],
        ] {
            assert_eq!(len(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn tags_and_padding_are_no_damage() {
        let frames = mp3(5);
        let id3v1 = [&b"TAG"[..], &[b' '; 125]].concat();
        let id3v2 = b"ID3\x04\0\0\0\0\0\x02\xff\xfb";
        let ape = b"APETAGEX\xD0\x07\0\0\x23\0\0\0\0\0\0\0\0\0\0\xA0\0\0\0\0\0\0\0\0abcAPETAGEX\xD0\x07\0\0\x23\0\0\0\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0\0";
        let lyrics = b"LYRICSBEGINETT00003abc000024LYRICS200";
        let len = frames.len();
        is_whole(&[&frames], &[0..len]);
        is_whole(&[id3v2, id3v2, &frames, &id3v1], &[24..24 + len]);
        is_whole(&[&frames, ape, lyrics, &id3v1], &[0..len]);
        is_whole(&[&frames, b"3DI, who knows"], &[0..len]);
        let footer = [&[7; 5000][..], b"APETAGEX\xD0\x07\0\0\xA8\x13\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"].concat();
        is_whole(&[&frames, &footer, &id3v1], &[0..len]);
        is_whole(&[&[0; 100], &frames, &[0; 1000]], &[100..100 + len]);
        // Files that were joined.
        let second = len + 128 + 12;
        is_whole(&[&frames, &id3v1, id3v2, &frames], &[0..len, second..second + len]);
        is_whole(&[&info(1, 5), &frames, &info(1, 5), &frames], &[0..len + FRAME, len + FRAME..2 * (len + FRAME)]);
        // All that was promised is there.
        is_whole(&[&info(1, 5), &frames, &[7; 9000]], &[0..len + FRAME]);
    }

    #[test]
    fn holes_are_seen_wherever_they_are() {
        let frames = mp3(20);
        for (begin, len) in
            [(FRAME, 1), (2 * FRAME + 5, 900), (5 * FRAME - 1, 3), (6 * FRAME, 4 * FRAME), (18 * FRAME, 2)]
        {
            let mut hole = frames.clone();
            hole[begin..begin + len].fill(0);
            let last = (begin - 1) / FRAME * FRAME;
            is_damaged(&[&hole], 0..last, "no frame begins");
            hole.drain(begin..begin + len);
            if len % FRAME != 0 {
                is_damaged(&[&hole], 0..(begin - 1) / FRAME * FRAME, "no frame begins");
            }
        }
        is_damaged(&[&frames, &[0; PADDING + 1]], 0..19 * FRAME, "in the last 4097 bytes");
        let (ranges, error) = read(&[&[0; PADDING + 1], &frames]);
        assert!(ranges.is_empty() && error.unwrap().contains("4097 bytes behind the beginning"));
    }

    #[test]
    fn promised_frames_are_counted() {
        let frames = mp3(5);
        let whole = 6 * FRAME;
        for promised in [0, 1, 5, 6] {
            is_whole(&[&info(1, promised), &frames], &[0..whole]);
        }
        is_damaged(&[&info(1, 7), &frames], 0..whole, "promises 7 frames, but there are 5");
        is_damaged(&[&info(2, 9000), &frames], 0..whole, "promises 9000 bytes, but there are 2502");
        is_whole(&[&info(2, 4000), &frames], &[0..whole]);
        let has_length = |promised| Frames::read(&[info(1, promised), mp3(5)].concat()).unwrap().parts[0].has_length;
        assert_eq!([0, 4, 5, 6].map(has_length), [false, false, true, true]);
    }

    #[test]
    fn what_ends_within_a_frame_is_cut_off() {
        let frames = mp3(5);
        for cut in [1, 100, 413, 414, 415, 416] {
            is_damaged(&[&frames[..5 * FRAME - cut]], 0..4 * FRAME, "ends early");
        }
        let error = Frames::read(b"\xff\xfb\0\0").unwrap().damage.unwrap().to_string();
        assert!(error.contains("free bit rate"), "{error}");
        // At 48 kHz they are shorter.
        let mut other = mp3(1);
        other[2] = 0x94;
        other.truncate(384);
        let other = [&frames[..], &other, &other].concat();
        is_damaged(&[&other], 0..5 * FRAME, "a rate or a number of channels that changes");
        assert!(Frames::read(b"hello").is_none() && Frames::read(b"").is_none());
    }
}
