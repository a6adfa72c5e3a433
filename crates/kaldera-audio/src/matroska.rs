//! Elements of Matroska and WebM files (RFC 9559): where a file is cut short, and the samples that
//! its last block drops.
//!
//! ```text
//!   EBML | Segment: Tracks, Cluster: SimpleBlock, BlockGroup: Block, DiscardPadding | ...
//! ```
//!
//! The size of a segment or cluster of a stream is unknown; it ends where the file ends.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::Error;

/// The format, in errors.
pub(crate) const MATROSKA: &str = "Matroska or WebM";

const SEGMENT: u32 = 0x1853_8067;
/// An element that is skipped.
const VOID: u32 = 0xEC;
const SEEK_HEAD: u32 = 0x114D_9B74;
const CLUSTER: u32 = 0x1F43_B675;
const BLOCK_GROUP: u32 = 0xA0;
const BLOCK: u32 = 0xA1;
const SIMPLE_BLOCK: u32 = 0xA3;
const PREVIOUS_SIZE: u32 = 0xAB;
const DISCARD_PADDING: u32 = 0x75A2;
/// Other elements of a cluster and its groups: times, references, additions, slices, checksums.
const OTHERS_OF_CLUSTERS: [u32; 15] =
    [0xE7, 0x5854, 0xA7, 0xAF, 0xEC, 0xBF, 0x75A1, 0x9B, 0xFA, 0xFB, 0xFD, 0xA4, 0x8E, 0xC8, 0xA2];

/// The elements of a file, as far as they are needed.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    /// The blocks of each track.
    tracks: HashMap<u64, Blocks>,
    /// Number of skipped elements in clusters.
    voids: u64,
    /// Places of the sizes of segments and clusters that go beyond the end of the file.
    cut: Vec<Range<usize>>,
    /// Places of the indexes of other elements, which may be behind the end of the file.
    indexes: Vec<Range<usize>>,
    /// End of the last whole element.
    end: usize,
    /// The reason why the elements end there, if the file is damaged or cut off.
    pub(crate) damage: Option<Error>,
}

/// The blocks of a track.
#[derive(Debug, Default)]
struct Blocks {
    /// Number of packets in them.
    packets: u64,
    /// Seconds that the last one drops from its end.
    dropped: f64,
    /// Numbers of the packets before which an element is skipped; it may have been a block.
    after_voids: Vec<u64>,
    /// Number of skipped elements before the last block.
    voids: u64,
}

impl Elements {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut elements = Self::default();
        if let Err(error) = elements.walk(bytes) {
            elements.damage = Some(error);
        }
        elements
    }

    /// Seconds to drop from the end of a track.
    pub(crate) fn dropped(&self, track: u32) -> f64 {
        self.tracks.get(&u64::from(track)).map_or(0.0, |blocks| blocks.dropped)
    }

    /// Number of packets of a track.
    pub(crate) fn packets(&self, track: u32) -> u64 {
        self.tracks.get(&u64::from(track)).map_or(0, |blocks| blocks.packets)
    }

    /// Returns `true` if an element is skipped between a packet of a track and the packet before.
    pub(crate) fn is_after_void(&self, track: u32, packet: u64) -> bool {
        let blocks = self.tracks.get(&u64::from(track));
        blocks.is_some_and(|blocks| blocks.after_voids.binary_search(&packet).is_ok())
    }

    /// The whole elements of a file that is cut off, as a stream.
    pub(crate) fn mended(&self, bytes: &[u8]) -> Vec<u8> {
        let mut mended = bytes[..self.end].to_vec();
        for place in self.cut.iter().filter(|place| place.end <= self.end) {
            // All bits are set but the leading zeros of the length.
            mended[place.clone()].fill(0xFF);
            mended[place.start] = 0xFF >> (place.len() - 1);
        }
        for place in &self.indexes {
            // An element without contents, of the same length.
            let Some((head, content)) = mended[place.clone()].split_first_chunk_mut() else { continue };
            *head = [VOID as u8, 1, 0, 0, 0, 0, 0, 0, 0];
            head[3..].copy_from_slice(&(content.len() as u64).to_be_bytes()[2..]);
        }
        mended
    }

    fn walk(&mut self, bytes: &[u8]) -> Result<(), Error> {
        const NO_END: Error = Error::NoEnd { format: MATROSKA };
        let (mut track, mut in_cluster) = (0, false);
        while self.end < bytes.len() {
            let at = self.end;
            let (id, len) = id(&bytes[at..]).ok_or_else(|| match bytes.len() - at {
                0..4 => NO_END,
                _ => Error::Decoder { format: MATROSKA, message: format!("no element begins at byte {at}") },
            })?;
            let (size, more) = number(&bytes[at + len..]).ok_or(NO_END)?;
            let begin = at + len + more;
            let size = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
            let content = size.and_then(|size| bytes.get(begin..begin.checked_add(size)?));
            self.end = match (id, content) {
                // Their elements follow.
                (SEGMENT | CLUSTER, _) => {
                    if size.is_some() && content.is_none() {
                        self.cut.push(at + len..begin);
                        self.damage = Some(NO_END);
                    }
                    begin
                }
                (BLOCK_GROUP, Some(_)) => begin,
                (_, Some(content)) => begin + content.len(),
                (_, None) => return Err(NO_END),
            };
            let damaged = |what: &str| Error::Decoder { format: MATROSKA, message: format!("{what} at byte {at}") };
            // The elements next to clusters have identifiers of four bytes.
            in_cluster = id == CLUSTER || (in_cluster && len < 4);
            match (id, content) {
                (SEEK_HEAD, Some(_)) => self.indexes.push(at..self.end),
                (BLOCK | SIMPLE_BLOCK, Some(block)) => {
                    let (of, packets) = packets_of(block).ok_or_else(|| damaged("a block that is too short"))?;
                    track = of;
                    let blocks = self.tracks.entry(track).or_default();
                    if blocks.voids < self.voids {
                        blocks.after_voids.push(blocks.packets);
                    }
                    (blocks.packets, blocks.dropped, blocks.voids) = (blocks.packets + packets, 0.0, self.voids);
                }
                (VOID, _) if in_cluster => self.voids += 1,
                (DISCARD_PADDING, Some(nanoseconds)) => {
                    let nanoseconds = signed(nanoseconds).ok_or_else(|| damaged("a number of more than 8 bytes"))?;
                    self.tracks.entry(track).or_default().dropped = nanoseconds.max(0) as f64 / 1e9;
                }
                (CLUSTER | BLOCK_GROUP, _) => {}
                (PREVIOUS_SIZE, Some(size)) if size.len() <= 8 => {}
                (other, _) if in_cluster && !OTHERS_OF_CLUSTERS.contains(&other) => {
                    return Err(damaged("an unknown element"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The identifier that `bytes` begin with, and its length.
fn id(bytes: &[u8]) -> Option<(u32, usize)> {
    let len = bytes.first()?.leading_zeros() as usize + 1;
    let id = bytes.get(..len).filter(|_| len <= 4)?;
    Some((id.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte)), len))
}

/// The number of variable length that `bytes` begin with, and its length; the number is `None` if
/// all of its bits are set, which stands for an unknown size.
fn number(bytes: &[u8]) -> Option<(Option<u64>, usize)> {
    let len = bytes.first()?.leading_zeros() as usize + 1;
    let digits = bytes.get(..len).filter(|_| len <= 8)?;
    let mask = (1_u64 << (7 * len)) - 1;
    let value = digits.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)) & mask;
    Some(((value != mask).then_some(value), len))
}

/// The track of a block, and the number of packets in it.
fn packets_of(block: &[u8]) -> Option<(u64, u64)> {
    const LACING: u8 = 6;
    let (track, len) = number(block)?;
    let &[_, _, flags, ref rest @ ..] = block.get(len..)? else { return None };
    let more = if flags & LACING == 0 { 0 } else { u64::from(*rest.first()?) };
    Some((track?, 1 + more))
}

/// A signed integer of at most 8 bytes.
fn signed(bytes: &[u8]) -> Option<i64> {
    let first = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    (bytes.len() <= 8).then(|| bytes.iter().fold(first, |sum, &byte| sum << 8 | i64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_a_sign_and_blocks_a_number_of_packets() {
        assert_eq!(
            (signed(&[]), signed(&[0x7F]), signed(&[0xFF]), signed(&[0xFE, 0])),
            (Some(0), Some(127), Some(-1), Some(-512))
        );
        assert_eq!((signed(&[0x80, 0, 0, 0, 0, 0, 0, 0]), signed(&[0; 9])), (Some(i64::MIN), None));
        assert_eq!(packets_of(&[0x81, 0, 0, 0x80, 1]), Some((1, 1)));
        assert_eq!(packets_of(&[0x82, 0, 0, 0x86, 7, 1]), Some((2, 8)));
        for block in [&[][..], &[0x81, 0, 0], &[0x81, 0, 0, 2]] {
            assert_eq!(packets_of(block), None, "{block:?}");
        }
    }

    #[test]
    fn numbers_have_a_marker_and_up_to_eight_bytes() {
        assert_eq!(number(&[0x81]), Some((Some(1), 1)));
        assert_eq!(number(&[0x40, 0x02]), Some((Some(2), 2)));
        assert_eq!(number(&[0xFF]), Some((None, 1)));
        assert_eq!(number(&[1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), Some((None, 8)));
        assert_eq!(number(&[1, 0, 0, 0, 0, 0, 1, 0]), Some((Some(256), 8)));
        for bytes in [&[][..], &[0], &[0x40], &[0; 9]] {
            assert_eq!(number(bytes), None, "{bytes:?}");
        }
        assert_eq!(id(&[0x1A, 0x45, 0xDF, 0xA3]), Some((0x1A45_DFA3, 4)));
        assert_eq!(id(&[0x08, 0, 0, 0, 0]), None);
    }
}
