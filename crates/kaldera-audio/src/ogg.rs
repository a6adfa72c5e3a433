//! Pages of Ogg files (RFC 3533), and where such a file is damaged.
//!
//! ```text
//!   page 0 FIRST | page 1 | page 2 | ... | page n LAST || page 0 FIRST | ...  (chained stream)
//!                         |
//!                         '-- header: sequence number, checksum | segment lengths | body
//! ```

use crate::error::Error;

/// A page.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    header: &'a [u8; 27],
    lengths: &'a [u8],
    body: &'a [u8],
}

impl<'a> Page<'a> {
    /// Flags: first and last page of a stream.
    pub(crate) const FIRST: u8 = 2;
    pub(crate) const LAST: u8 = 4;

    /// The first page of `bytes`, which begin with [`MARK`], and the bytes after it.
    fn take(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Damage> {
        let (header, after) = bytes.split_first_chunk::<27>().ok_or(Damage::Cut)?;
        let (lengths, after) = after.split_at_checked(usize::from(header[26])).ok_or(Damage::Cut)?;
        let len = lengths.iter().map(|&len| usize::from(len)).sum();
        let (body, rest) = after.split_at_checked(len).ok_or(Damage::Cut)?;
        let page = Self { header, lengths, body };
        if page.is_whole() { Ok((page, rest)) } else { Err(Damage::Checksum) }
    }

    pub(crate) fn is(&self, flag: u8) -> bool {
        self.header[5] & flag != 0
    }

    pub(crate) fn serial(&self) -> &'a [u8] {
        &self.header[14..18]
    }

    fn sequence(&self) -> u32 {
        u32::from_le_bytes(self.header[18..22].try_into().expect("4 bytes"))
    }

    /// Returns `true` if the checksum of the page equals the one in its header: a CRC with the
    /// polynomial 0x04c11db7, of all bytes with zeros in its place.
    fn is_whole(&self) -> bool {
        let [before, checksum, after] = [&self.header[..22], &self.header[22..26], &self.header[26..]];
        let bytes = before.iter().chain(&[0; 4]).chain(after).chain(self.lengths).chain(self.body);
        let crc = bytes.fold(0_u32, |crc, &byte| (crc << 8) ^ CRC[usize::from((crc >> 24) as u8 ^ byte)]);
        crc.to_le_bytes() == checksum
    }
}

/// The contents of a page, for a decoder that reads its packets.
#[cfg(feature = "opus")]
impl<'a> Page<'a> {
    /// A flag: the first packet goes on from the page before.
    pub(crate) const CONTINUED: u8 = 1;
    /// A segment that is followed by another one of its packet.
    pub(crate) const WHOLE_SEGMENT: usize = 255;
    /// No packet ends on the page.
    pub(crate) const NO_GRANULE: u64 = u64::MAX;

    /// Samples up to the end of the page.
    pub(crate) fn granule(&self) -> u64 {
        u64::from_le_bytes(self.header[6..14].try_into().expect("8 bytes"))
    }

    pub(crate) fn segments(&self) -> Vec<&'a [u8]> {
        let mut rest = self.body;
        let take = |&len: &u8| {
            let (segment, after) = rest.split_at(usize::from(len));
            rest = after;
            segment
        };
        self.lengths.iter().map(take).collect()
    }
}

/// The CRC of each byte.
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = ((i as u32) << 24, 0);
        while bit < 8 {
            crc = (crc << 1) ^ if crc >> 31 == 1 { 0x04C1_1DB7 } else { 0 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// The first bytes of a page.
const MARK: &[u8; 4] = b"OggS";

/// The kind of damage in a file.
#[derive(Debug, PartialEq)]
enum Damage {
    /// It ends within a page, or before the last page of a stream.
    Cut,
    /// The checksum of a page is wrong.
    Checksum,
    /// A page does not follow the one before.
    Sequence { expected: u32, found: u32 },
    /// A page of a stream that has no first page, or that has ended.
    NoStream,
    /// Other bytes between two streams, in place of which a whole stream may be missing.
    Between,
}

impl Damage {
    fn error(self, format: &'static str, at: usize) -> Error {
        let message = match self {
            Self::Cut => return Error::NoEnd { format },
            Self::Checksum => format!("the page at byte {at} has a wrong checksum"),
            Self::Sequence { expected, found } => {
                format!("the page at byte {at} is number {found}, where {expected} should follow")
            }
            Self::Between => format!("no page ends at byte {at}, where a stream begins"),
            Self::NoStream => format!("the page at byte {at} belongs to no stream"),
        };
        Error::Decoder { format, message }
    }
}

/// The pages of a file up to the first damage.
#[derive(Debug)]
pub(crate) struct Pages<'a> {
    #[cfg_attr(not(feature = "opus"), expect(dead_code, reason = "symphonia reads them itself"))]
    pub(crate) pages: Vec<Page<'a>>,
    /// The length of the file up to there.
    #[cfg_attr(not(feature = "symphonia"), expect(dead_code, reason = "symphonia reads no pages but bytes"))]
    pub(crate) len: usize,
    /// The reason why it ends there, if it is damaged or cut off.
    pub(crate) damage: Option<Error>,
}

impl<'a> Pages<'a> {
    /// Reads the pages of a file whose name is `format` in errors.
    ///
    /// The numbers of the pages reveal missing ones, so that other bytes between them, or behind
    /// the last one, are left out.
    pub(crate) fn read(bytes: &'a [u8], format: &'static str) -> Self {
        let mut streams = Streams::default();
        let (mut pages, mut rest, mut len) = (Vec::new(), bytes, 0);
        let damage = loop {
            let Some(other) = rest.windows(MARK.len()).position(|bytes| bytes == MARK) else {
                let is_begun = rest == b"O" || (2..MARK.len()).any(|len| rest.ends_with(&MARK[..len]));
                if !is_begun && !rest.is_empty() {
                    tracing::warn!("{} bytes follow the last page, and are left out", rest.len());
                }
                break (is_begun || !streams.open.is_empty()).then_some((Damage::Cut, bytes.len()));
            };
            if other > 0 && streams.open.is_empty() {
                break Some((Damage::Between, len + other));
            }
            if other > 0 {
                tracing::warn!("{other} bytes at byte {len} are no Ogg page, and are left out");
            }
            rest = &rest[other..];
            let at = bytes.len() - rest.len();
            let taken = Page::take(rest).and_then(|(page, rest)| streams.push(&page).map(|()| (page, rest)));
            match taken {
                Ok((page, after)) => {
                    pages.push(page);
                    rest = after;
                    len = bytes.len() - rest.len();
                }
                Err(damage) => break Some((damage, at)),
            }
        };
        Self { pages, len, damage: damage.map(|(damage, at)| damage.error(format, at)) }
    }
}

/// The streams that a file is made of.
#[derive(Default)]
struct Streams<'a> {
    /// Serial number of those that have not ended, and the number of the page that should follow.
    open: Vec<(&'a [u8], u32)>,
    /// First pages come before all others.
    has_begun: bool,
}

impl<'a> Streams<'a> {
    fn push(&mut self, page: &Page<'a>) -> Result<(), Damage> {
        let (serial, next) = (page.serial(), page.sequence().wrapping_add(1));
        let place = self.open.iter().position(|(open, _)| *open == serial);
        let place = if page.is(Page::FIRST) {
            // Another file is chained to one whose end is missing.
            if !self.open.is_empty() && (self.has_begun || place.is_some()) {
                return Err(Damage::Cut);
            }
            self.has_begun = false;
            self.open.push((serial, next));
            self.open.len() - 1
        } else {
            let place = place.ok_or(Damage::NoStream)?;
            let (_, expected) = &mut self.open[place];
            if page.sequence() != *expected {
                return Err(Damage::Sequence { expected: *expected, found: page.sequence() });
            }
            *expected = next;
            self.has_begun = true;
            place
        };
        if page.is(Page::LAST) {
            self.open.swap_remove(place);
        }
        Ok(())
    }
}
