//! Opus in Ogg (RFC 7845), decoded by ropus.
//!
//! ```text
//!   Ogg pages --packets--> OpusHead | OpusTags | audio ...    other streams may be chained to it
//!                              |                  |
//!           channels, mapping, gain, pre-skip     '--ropus--> 48 kHz
//! ```
//!
//! The first `pre_skip` samples and all samples behind the last granule are cut off.
//!
//! ropus decodes to 16 bits, before the gain of the header. Samples above full scale are clipped
//! even if a gain below 0 dB would have lowered them, and a warning reports this.

use std::slice::Iter;

use crate::uncompressed::check_layout;
use kaldera_base::panics;
use ropus::OpusMSDecoder;

use crate::compressed::take_what_comes_before;
use crate::error::Error;
use crate::ogg::{Page, Pages};
use crate::recording::Recording;

/// The rate of decoded Opus in Hz, whatever the rate before encoding.
pub(crate) const SAMP_FREQ: f32 = 48_000.0;

/// Samples per channel of the longest packet: 120 ms.
const MAX_PACKET: usize = 5760;

/// The format, in errors.
const OGG_OPUS: &str = "Ogg Opus";

/// Decodes the streams of a file, one after the other. Channels have the order of the file; for
/// surround sound this is Vorbis's order: left, centre, right and so on.
///
/// A damaged or truncated file is an error, not a shorter recording, unless `allow_truncated` is
/// true. There are at most `most` samples.
pub(crate) fn decode(bytes: &[u8], most: u64, allow_truncated: bool) -> Result<Recording, Error> {
    panics::catch(|| decode_up_to(most, bytes, allow_truncated))
        .unwrap_or_else(|message| Err(damaged(format!("the decoder gave up ({message})"))))
}

/// Decodes a file of at most `most` samples.
fn decode_up_to(most: u64, bytes: &[u8], allow_truncated: bool) -> Result<Recording, Error> {
    let mut decoded = Decoded { num_channels: 0, samples: Vec::new(), most, packet: Vec::new(), clipped: 0, last: 0 };
    let Pages { pages, damage, .. } = Pages::read(bytes, OGG_OPUS);
    let ended = match (decoded.read_all(&pages), damage) {
        (Ok(()) | Err(Error::NoEnd { .. }), Some(damage)) => Err(damage),
        (ended, _) => ended,
    };
    take_what_comes_before(ended, &decoded.samples, allow_truncated)?;
    decoded.warn_of_clipping();
    if decoded.samples.is_empty() {
        return Err(damaged("no samples in it"));
    }
    Ok(Recording::interleaved(decoded.samples, decoded.num_channels, SAMP_FREQ))
}

fn damaged(what: impl Into<String>) -> Error {
    Error::Decoder { format: OGG_OPUS, message: what.into() }
}

/// The packets of a track of another container than Ogg.
#[cfg(feature = "symphonia")]
pub(crate) struct Packets {
    head: Head,
    decoder: OpusMSDecoder,
    decoded: Decoded,
}

#[cfg(feature = "symphonia")]
impl Packets {
    /// Decodes packets after an `OpusHead` to at most `most` samples.
    pub(crate) fn new(head: &[u8], most: u64) -> Result<Self, Error> {
        let head = Head::read(head)?;
        let decoded = Decoded {
            num_channels: head.num_channels,
            samples: Vec::new(),
            most,
            packet: vec![0; MAX_PACKET * head.num_channels],
            clipped: 0,
            last: 0,
        };
        Ok(Self { decoder: head.decoder()?, head, decoded })
    }

    pub(crate) fn num_channels(&self) -> usize {
        self.head.num_channels
    }

    pub(crate) fn decode(&mut self, packet: &[u8]) -> Result<(), Error> {
        self.decoded.decode_packet(packet, &self.head, &mut self.decoder)
    }

    /// Samples per channel of the last packet.
    pub(crate) fn last(&self) -> usize {
        self.decoded.last
    }

    /// The samples; `skips` leaves out the samples that the decoder needs to converge.
    pub(crate) fn finish(mut self, skips: bool) -> Vec<f32> {
        self.decoded.warn_of_clipping();
        if !skips {
            return self.decoded.samples;
        }
        let skipped = (self.head.pre_skip * self.head.num_channels).min(self.decoded.samples.len());
        self.decoded.samples.drain(..skipped);
        self.decoded.samples
    }
}

/// The samples decoded so far.
struct Decoded {
    num_channels: usize,
    samples: Vec<f32>,
    /// The most samples that there may be.
    most: u64,
    /// Room for a packet.
    packet: Vec<i16>,
    /// Number of samples at full scale in streams whose gain is below 0 dB.
    clipped: usize,
    /// Samples per channel of the last packet.
    last: usize,
}

impl Decoded {
    fn warn_of_clipping(&self) {
        if self.clipped > 0 {
            tracing::warn!(
                "{} samples are clipped at full scale, which the gain of the file then lowers",
                self.clipped
            );
        }
    }

    fn read_all(&mut self, pages: &[Page<'_>]) -> Result<(), Error> {
        let mut pages = pages.iter();
        while let Some(first) = pages.next() {
            self.read_stream(first, &mut pages)?;
        }
        Ok(())
    }

    /// Decodes the stream that begins with `first`.
    fn read_stream(&mut self, first: &Page<'_>, pages: &mut Iter<'_, Page<'_>>) -> Result<(), Error> {
        let head = Head::read(&first.segments().concat())?;
        check_layout(OGG_OPUS, head.num_channels as u64, f64::from(SAMP_FREQ))?;
        if self.num_channels != 0 && self.num_channels != head.num_channels {
            return Err(damaged("chained streams have different numbers of channels"));
        }
        self.num_channels = head.num_channels;
        self.packet.resize(MAX_PACKET * head.num_channels, 0);
        let begin = self.samples.len();
        let ended = self.read_pages(first, &head, pages);
        let skipped = (head.pre_skip * head.num_channels).min(self.samples.len() - begin);
        self.samples.drain(begin..begin + skipped);
        ended
    }

    /// Decodes the pages behind the `first` one.
    fn read_pages(&mut self, first: &Page<'_>, head: &Head, pages: &mut Iter<'_, Page<'_>>) -> Result<(), Error> {
        // Made for the first packet of audio: of 255 streams it takes megabytes.
        let mut decoder = None;
        let begin = self.samples.len();
        let (mut number, mut packet) = (0_u64, Vec::new());
        // Samples before the first page's, if a recording was cut out of a longer one.
        let mut start = None;
        let (mut last_granule, mut missing) = (0, 0);
        for page in pages {
            if page.serial() != first.serial() {
                return Err(damaged("several streams in turn, of which one cannot be chosen"));
            }
            if page.is(Page::CONTINUED) == packet.is_empty() {
                return Err(damaged("a packet without its beginning or its end"));
            }
            let mut unfinished = page.is(Page::CONTINUED);
            for segment in page.segments() {
                packet.extend_from_slice(segment);
                unfinished = segment.len() == Page::WHOLE_SEGMENT;
                if unfinished {
                    continue;
                }
                // Packet 0 holds the tags.
                match number {
                    0 if !packet.starts_with(b"OpusTags") => return Err(damaged("no OpusTags follow OpusHead")),
                    0 => {}
                    _ => {
                        let decoder = match &mut decoder {
                            Some(decoder) => decoder,
                            none => none.insert(head.decoder()?),
                        };
                        self.decode_packet(&packet, head, decoder)?;
                    }
                }
                number += 1;
                packet.clear();
            }
            let has_audio = number > 1 && page.granule() != Page::NO_GRANULE;
            if has_audio {
                let decoded = ((self.samples.len() - begin) / head.num_channels) as u64;
                // The last page may end within its last packet.
                let is_first = start.is_none();
                let start = *start.get_or_insert_with(|| match page.is(Page::LAST) {
                    true => 0,
                    false => page.granule().saturating_sub(decoded),
                });
                if page.granule() < last_granule {
                    let granule = page.granule();
                    return Err(damaged(format!("a page up to sample {granule} after one up to {last_granule}")));
                }
                last_granule = page.granule();
                let gap = (last_granule - start).saturating_sub(decoded);
                if gap > missing && !is_first {
                    let at = decoded as f32 / SAMP_FREQ;
                    let seconds = (gap - missing) as f32 / SAMP_FREQ;
                    tracing::warn!("{seconds} s are missing before {at} s; what follows is so much too early");
                    missing = gap;
                }
                if page.is(Page::LAST) {
                    let kept = page.granule().saturating_sub(start).min(decoded);
                    // No more than there are.
                    self.samples.truncate(begin + kept as usize * head.num_channels);
                }
            }
            if page.is(Page::LAST) {
                return match unfinished {
                    true => Err(Error::NoEnd { format: OGG_OPUS }),
                    false if decoder.is_none() => Err(damaged("a stream without audio")),
                    false => Ok(()),
                };
            }
        }
        Err(Error::NoEnd { format: OGG_OPUS })
    }

    fn decode_packet(&mut self, packet: &[u8], head: &Head, decoder: &mut OpusMSDecoder) -> Result<(), Error> {
        let refused = |code: i32| damaged(format!("ropus refuses a packet of {} bytes: error {code}", packet.len()));
        let len = i32::try_from(packet.len()).map_err(|_| damaged("a packet of more than 2 GiB"))?;
        if packet.is_empty() {
            return Err(damaged("a packet of no bytes"));
        }
        let frames = decoder.decode(Some(packet), len, &mut self.packet, MAX_PACKET as i32, false).map_err(refused)?;
        self.last = usize::try_from(frames).map_err(|_| refused(frames))?;
        let more = self.last * head.num_channels;
        if (self.samples.len() + more) as u64 > self.most {
            return Err(Error::TooManySamples { limit: self.most });
        }
        self.samples.try_reserve(more).map_err(|_| Error::NoMemory { samples: self.samples.len() + more })?;
        if head.gain < 1.0 {
            let at_full_scale = |sample: &&i16| matches!(**sample, i16::MIN | i16::MAX);
            self.clipped += self.packet[..more].iter().filter(at_full_scale).count();
        }
        self.samples.extend(self.packet[..more].iter().map(|&sample| f32::from(sample) * head.gain));
        Ok(())
    }
}

/// The identification header.
#[derive(Debug, PartialEq)]
struct Head {
    num_channels: usize,
    /// Samples at 48 kHz that the decoder needs to converge, and that are not heard.
    pre_skip: usize,
    /// A factor.
    gain: f32,
    num_streams: u8,
    num_coupled: u8,
    mapping: Vec<u8>,
}

impl Head {
    fn read(packet: &[u8]) -> Result<Self, Error> {
        let short = || damaged("OpusHead is too short");
        let (head, rest) = packet.split_first_chunk::<19>().ok_or_else(short)?;
        let &[b'O', b'p', b'u', b's', b'H', b'e', b'a', b'd', version, channels, skip_low, skip_high, ..] = head else {
            return Err(damaged("a stream of another codec than Opus"));
        };
        if version >> 4 != 0 {
            return Err(damaged(format!("OpusHead of version {version}, where 1 is known")));
        }
        let (gain, family) = (i16::from_le_bytes([head[16], head[17]]), head[18]);
        let (num_streams, num_coupled, mapping) = match family {
            0 if (1..=2).contains(&channels) => (1, channels - 1, (0..channels).collect()),
            0 => return Err(damaged(format!("{channels} channels in a mapping of one or two"))),
            // Surround sound, and channels without a defined meaning; ambisonics of family 2 have
            // such a table.
            1 | 2 | 255 => match rest {
                [streams, coupled, mapping @ ..] => {
                    (*streams, *coupled, mapping.get(..usize::from(channels)).ok_or_else(short)?.to_vec())
                }
                _ => return Err(short()),
            },
            other => {
                return Err(damaged(format!("channels of mapping family {other}, where 0, 1, 2 and 255 are known")));
            }
        };
        Ok(Self {
            num_channels: usize::from(channels),
            pre_skip: usize::from(u16::from_le_bytes([skip_low, skip_high])),
            // In 256ths of a decibel.
            gain: 10_f32.powf(f32::from(gain) / (20.0 * 256.0)),
            num_streams,
            num_coupled,
            mapping,
        })
    }

    fn decoder(&self) -> Result<OpusMSDecoder, Error> {
        let Self { num_channels, num_streams, num_coupled, ref mapping, .. } = *self;
        let channels = i32::try_from(num_channels).expect("a byte");
        OpusMSDecoder::new(SAMP_FREQ as i32, channels, num_streams.into(), num_coupled.into(), mapping).map_err(|_| {
            damaged(format!(
                "OpusHead maps {num_channels} channels to {num_streams} streams, {num_coupled} of them of two"
            ))
        })
    }
}
