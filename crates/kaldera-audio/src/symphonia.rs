//! FLAC, MP3, Ogg Vorbis, MP4 and Matroska by symphonia.
//!
//! symphonia skips damaged parts and goes on behind them, so that all later samples would come
//! too early. The frames of MP3, the pages of Ogg, the numbers of FLAC's samples, the boxes of MP4
//! and the elements of Matroska reveal this.

use std::borrow::Cow;
use std::io::{Cursor, ErrorKind};
use std::iter;
use std::ops::Range;

use crate::uncompressed::check_layout;
use kaldera_base::panics::catch;
use memchr::memmem;
use symphonia::core::codecs::audio::well_known::{CODEC_ID_FLAC, CODEC_ID_MP3, CODEC_ID_OPUS};
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as SymphoniaError;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::packet::Packet;
use symphonia::core::units::Duration;
use symphonia::default::formats::{FlacReader, IsoMp4Reader, MkvReader, MpaReader, OggReader, WavReader};

use crate::compressed::take_what_comes_before;
use crate::error::Error;
use crate::formats::{self, Format};
use crate::matroska::{Elements, MATROSKA};
use crate::mp4::{self, Boxes, MP4};
use crate::mpeg::{self, Frames, Part};
use crate::ogg::Pages;
use crate::recording::{FULL_SCALE, Recording};

/// Decodes the first audio track of a file, and the tracks that are chained to it.
///
/// A damaged or truncated file is an error, not a shorter recording, unless `allow_truncated` is
/// true, which takes the samples before the damage. There are at most `most` samples. A panic of
/// the decoder is an error.
pub(crate) fn decode(bytes: &[u8], most: u64, allow_truncated: bool) -> Result<Recording, Error> {
    catch(|| decode_up_to(most, bytes, allow_truncated)).unwrap_or_else(|message| {
        Err(Error::Decoder { format: "audio", message: format!("the decoder gave up ({message})") })
    })
}

/// Decodes a file of at most `most` samples.
fn decode_up_to(most: u64, bytes: &[u8], allow_truncated: bool) -> Result<Recording, Error> {
    let begin = if bytes.starts_with(b"ID3") { mpeg::tags(bytes) } else { 0 };
    if begin == bytes.len() && begin > 0 {
        return Err(Error::NoEnd { format: "MP3" });
    }
    let head = &bytes[begin..bytes.len().min(begin + formats::FORMAT_HEAD)];
    let container = Format::of(head);
    // Behind a tag.
    if let Some(error) = container.error() {
        return Err(error);
    }
    // The decoder does not recognise frames that contradict the header, and reports a missing
    // end.
    if let Some(&[high, middle, low]) = head.strip_prefix(b"fLaC").and_then(|info| info.get(14..)?.first_chunk()) {
        check_layout("FLAC", 1, f64::from(u32::from_be_bytes([0, high, middle, low]) >> 4))?;
    }
    let all = |range: Range<usize>| vec![Part { range, has_length: true }];
    let (mut mended, mut edits) = (Cow::Borrowed(bytes), Edits::None);
    let (name, parts, damage) = match container {
        Format::Other { name: "Ogg" } => {
            let Pages { len, damage, .. } = Pages::read(&bytes[begin..], "Ogg");
            ("Ogg", all(begin..begin + len), damage)
        }
        Format::Other { name: "FLAC" } => ("FLAC", flac_streams(bytes, begin), None),
        Format::Other { name: MP4 } => {
            let mut boxes = Boxes::read(&bytes[begin..]);
            let damage = boxes.damage.take();
            mended = if damage.is_some() { boxes.mended(&bytes[begin..]).into() } else { bytes[begin..].into() };
            edits = Edits::Mp4(boxes);
            (MP4, all(0..mended.len()), damage)
        }
        Format::Other { name: MATROSKA } => {
            let mut elements = Elements::read(&bytes[begin..]);
            let damage = elements.damage.take();
            mended = if damage.is_some() { elements.mended(&bytes[begin..]).into() } else { bytes[begin..].into() };
            edits = Edits::Matroska(elements);
            (MATROSKA, all(0..mended.len()), damage)
        }
        Format::Wave => ("WAV", all(begin..bytes.len()), None),
        _ => match Frames::read(bytes) {
            Some(Frames { parts, damage }) => ("MP3", parts, damage),
            None if begin > 0 => {
                let message = "no frame follows its ID3 tag".to_owned();
                return Err(Error::Decoder { format: "MP3", message });
            }
            None => return Err(formats::not_audio(bytes)),
        },
    };
    let samples = Vec::new();
    let mut decoded =
        Decoded { container: name, samples, layout: None, most, edits, track: 0, last: 0, tick: 0.0, due: None };
    let ended = parts.iter().try_for_each(|part| decoded.read_part(&mended[part.range.clone()], part.has_length));
    let ended = match (ended, damage) {
        (Err(error @ (Error::TooManySamples { .. } | Error::NoMemory { .. })), _) => Err(error),
        (_, Some(damage)) => Err(damage),
        (ended, None) => ended,
    };
    decoded.cut()?;
    let ended = ended.and_then(|()| match decoded.samples.is_empty() && decoded.layout.is_some() {
        true => Err(decoded.damaged("no samples in it".to_owned())),
        false => Ok(()),
    });
    take_what_comes_before(ended, &decoded.samples, allow_truncated)?;
    let (rate, num_channels) =
        decoded.layout.ok_or_else(|| Error::Decoder { format: name, message: "no samples in it".to_owned() })?;
    Ok(Recording::interleaved(decoded.samples, num_channels, rate as f32))
}

/// The streams of a FLAC file, which are several where files were joined. The decoder would take
/// tags, or another stream, for a part of the last frame.
fn flac_streams(bytes: &[u8], begin: usize) -> Vec<Part> {
    // With the header of the first block, which may be the last one too.
    let begins = |place: &usize| matches!(bytes[place + 4..], [0 | 0x80, 0, 0, 34, ..]);
    let others = memmem::find_iter(&bytes[begin..], b"fLaC").map(|place| begin + place).filter(begins);
    let others = others.filter(|&place| place > begin);
    let places: Vec<_> = iter::once(begin).chain(others).chain([bytes.len()]).collect();
    let stream = |place: &[usize]| {
        let len = mpeg::without_tags(&bytes[place[0]..place[1]]).len();
        Part { range: place[0]..place[0] + len, has_length: true }
    };
    places.windows(2).map(stream).collect()
}

/// The samples that a container leaves out of its tracks.
enum Edits {
    None,
    Mp4(Boxes),
    Matroska(Elements),
}

/// The samples decoded so far.
struct Decoded {
    /// The format of the file.
    container: &'static str,
    samples: Vec<f32>,
    /// The rate and the number of channels.
    layout: Option<(u32, usize)>,
    /// The most samples that there may be.
    most: u64,
    edits: Edits,
    /// Number of the track in the file.
    track: u32,
    /// Samples per channel of the last packet.
    last: usize,
    /// Unit in which packets of the track have times, in seconds.
    tick: f64,
    /// Time at which the last packet ends, in seconds.
    due: Option<f64>,
}

impl Decoded {
    /// Decodes a part of a file. If an MP3 file has no length in it, symphonia guesses one, and
    /// would cut off the samples beyond.
    fn read_part(&mut self, bytes: &[u8], has_length: bool) -> Result<(), Error> {
        let stream = MediaSourceStream::new(Box::new(Cursor::new(bytes)), MediaSourceStreamOptions::default());
        let options = FormatOptions::default();
        // Not symphonia's probe, which would search for another format in the bytes that follow.
        let reader: symphonia::core::errors::Result<Box<dyn FormatReader + '_>> = match self.container {
            "Ogg" => OggReader::try_new(stream, options).map(|reader| Box::new(reader) as _),
            "FLAC" => FlacReader::try_new(stream, options).map(|reader| Box::new(reader) as _),
            "WAV" => WavReader::try_new(stream, options).map(|reader| Box::new(reader) as _),
            MP4 => IsoMp4Reader::try_new(stream, options).map(|reader| Box::new(reader) as _),
            MATROSKA => MkvReader::try_new(stream, options).map(|reader| Box::new(reader) as _),
            _ => MpaReader::try_new(stream, options).map(|reader| Box::new(reader) as _),
        };
        let mut reader = reader.map_err(|error| self.error(error))?;
        self.read_all(&mut *reader, bytes, has_length)
    }

    fn error(&self, error: SymphoniaError) -> Error {
        let format = self.container;
        match error {
            SymphoniaError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => Error::NoEnd { format },
            SymphoniaError::Unsupported(what) => formats::unread_encoding(format, what),
            error => self.damaged(error.to_string()),
        }
    }

    fn damaged(&self, message: String) -> Error {
        Error::Decoder { format: self.container, message }
    }

    fn read_all(&mut self, format: &mut dyn FormatReader, bytes: &[u8], has_length: bool) -> Result<(), Error> {
        // Once for each of the streams that are chained, as in Ogg, and mostly once.
        loop {
            let track = format.default_track(TrackType::Audio);
            let parameters =
                track.and_then(|track| Some((track.id, track.codec_params.as_ref()?.audio()?, track.num_frames)));
            let Some((id, parameters, num_frames)) = parameters else {
                return Err(formats::unread_encoding(self.container, "no audio track"));
            };
            self.track = id;
            let base = track.and_then(|track| track.time_base);
            self.tick = base.map_or(0.0, |base| f64::from(base.numer.get()) / f64::from(base.denom.get()));
            self.due = None;
            if format.tracks().iter().filter(|track| is_audio(track)).count() > 1 && self.edits.is_container() {
                tracing::warn!("the file has several tracks of audio; taking track {id}");
            }
            if parameters.codec == CODEC_ID_OPUS {
                let mut head = parameters.extra_data.clone().unwrap_or_default();
                if self.container == MP4 {
                    mp4::swap_opus_head(&mut head);
                }
                self.read_opus(format, id, &head)?;
                return Ok(());
            }
            if let (Some(rate), Some(channels)) = (parameters.sample_rate, &parameters.channels) {
                check_layout(self.container, channels.count() as u64, f64::from(rate))?;
            }
            // In other codecs the number is an estimate, or counts samples that are not to be
            // heard.
            let promised = num_frames.filter(|&promised| promised > 0 && parameters.codec == CODEC_ID_FLAC);
            let mut decoder = symphonia::default::get_codecs()
                .make_audio_decoder(parameters, &AudioDecoderOptions::default())
                .map_err(|error| self.error(error))?;
            let begin = self.samples.len();
            let Ended { is_chained, last_packet } =
                self.read_stream(format, id, &mut *decoder, has_length, promised.unwrap_or(0))?;
            let (_, num_channels) = self.layout.unwrap_or((0, 1));
            let found = ((self.samples.len() - begin) / num_channels.max(1)) as u64;
            if let Some(expected) = promised.filter(|&promised| found < promised) {
                return Err(Error::Truncated { format: "FLAC", expected, found, unit: "samples" });
            }
            if let Some(expected) = promised.filter(|&promised| promised < found) {
                tracing::warn!("the FLAC header promises {expected} samples, and there are {found}: taking all");
            }
            // symphonia does not recognise a frame with a wrong checksum.
            if self.container == "FLAC" && promised.is_none() && !bytes.ends_with(&last_packet) {
                return Err(Error::NoEnd { format: "FLAC" });
            }
            if !is_chained {
                return Ok(());
            }
        }
    }

    /// Decodes a track of Opus, which has one stream.
    #[cfg(feature = "opus")]
    fn read_opus(&mut self, format: &mut dyn FormatReader, track: u32, head: &[u8]) -> Result<(), Error> {
        use crate::opus::{Packets, SAMP_FREQ};

        let container = self.container;
        let in_container = |error| match error {
            Error::Decoder { message, .. } => Error::Decoder { format: container, message },
            error => error,
        };
        let mut packets = Packets::new(head, self.most).map_err(in_container)?;
        self.layout = Some((SAMP_FREQ as u32, packets.num_channels()));
        let mut count = 0;
        let ended = loop {
            match self.next_packet(format) {
                Ok(Some(packet)) if packet.track_id == track => {
                    let decoded = self.check_time(&packet, count).and_then(|()| packets.decode(&packet.data));
                    if let Err(error) = decoded {
                        break Err(in_container(error));
                    }
                    count += 1;
                    self.due = self.due.map(|due| due + packets.last() as f64 / f64::from(SAMP_FREQ));
                }
                Ok(Some(_)) => {}
                Ok(None) => break self.check_count(track, count),
                Err(error) => break Err(self.error(error)),
            }
        };
        self.last = packets.last();
        // The edits of MP4 leave them out, too.
        let has_edit = matches!(&self.edits, Edits::Mp4(boxes) if boxes.heard(track)?.start > 0.0);
        self.samples = packets.finish(!has_edit);
        ended
    }

    #[cfg(not(feature = "opus"))]
    fn read_opus(&mut self, _format: &mut dyn FormatReader, _track: u32, _head: &[u8]) -> Result<(), Error> {
        Err(formats::unread_encoding(self.container, "Opus (a build with the feature opus reads it)"))
    }

    /// Removes the samples of the track that are not heard.
    fn cut(&mut self) -> Result<(), Error> {
        let Some((rate, num_channels)) = self.layout else { return Ok(()) };
        let frames = |seconds: f64| (seconds * f64::from(rate)).round() as usize;
        let found = self.samples.len() / num_channels;
        let heard = match &self.edits {
            Edits::None => return Ok(()),
            Edits::Mp4(boxes) => {
                let heard = boxes.heard(self.track)?;
                let start = frames(heard.start).min(found);
                start..heard.length.map_or(found, |length| start.saturating_add(frames(length)).min(found))
            }
            Edits::Matroska(elements) => 0..found.saturating_sub(frames(elements.dropped(self.track)).min(self.last)),
        };
        self.samples.truncate(heard.end * num_channels);
        self.samples.drain(..heard.start * num_channels);
        Ok(())
    }

    /// Refuses fewer packets of a track of Matroska than its blocks have.
    fn check_count(&self, track: u32, count: u64) -> Result<(), Error> {
        match &self.edits {
            Edits::Matroska(elements) if elements.packets(track) != count => {
                let expected = elements.packets(track);
                Err(self.damaged(format!("{count} packets of {expected} can be read")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a packet of Matroska that begins after the end of the packet before, if an element
    /// between them is skipped: it was a block. Other gaps are no damage, as recorders leave them.
    fn check_time(&mut self, packet: &Packet, number: u64) -> Result<(), Error> {
        let Edits::Matroska(elements) = &self.edits else { return Ok(()) };
        let begin = packet.pts.get() as f64 * self.tick;
        let due = self.due.unwrap_or(begin);
        // Times are rounded.
        if begin - due > 1.5 * self.tick && elements.is_after_void(self.track, number) {
            return Err(self.damaged(format!("{:.3} s are missing before {begin:.3} s", begin - due)));
        }
        self.due = Some(begin.max(due));
        Ok(())
    }

    /// Takes the next packet of any track; `None` at the end.
    fn next_packet(&self, format: &mut dyn FormatReader) -> symphonia::core::errors::Result<Option<Packet>> {
        match format.next_packet() {
            // A stream ends with the file, and `Elements` has found whole elements.
            Err(SymphoniaError::IoError(error))
                if self.container == MATROSKA && error.kind() == ErrorKind::UnexpectedEof =>
            {
                Ok(None)
            }
            packet => packet,
        }
    }

    /// Decodes to the end, or to the beginning of another stream. Samples beyond the `promised`
    /// samples of each channel are no damage; `promised` is 0 if the number is unknown.
    fn read_stream(
        &mut self,
        format: &mut dyn FormatReader,
        track: u32,
        decoder: &mut dyn AudioDecoder,
        has_length: bool,
        promised: u64,
    ) -> Result<Ended, Error> {
        let mut packet_samples = Vec::<f32>::new();
        let mut last_packet = Box::default();
        let (begin, codec, mut count) = (self.samples.len(), decoder.codec_params().codec, 0);
        loop {
            let (_, num_channels) = self.layout.unwrap_or((0, 1));
            let next = ((self.samples.len() - begin) / num_channels) as u64;
            let mut packet = match self.next_packet(format) {
                Ok(Some(packet)) => packet,
                Ok(None) => {
                    self.check_count(track, count)?;
                    return Ok(Ended { is_chained: false, last_packet });
                }
                Err(SymphoniaError::ResetRequired) => return Ok(Ended { is_chained: true, last_packet }),
                Err(_) if promised > 0 && next >= promised => return Ok(Ended { is_chained: false, last_packet }),
                Err(error) => return Err(self.error(error)),
            };
            if packet.track_id != track {
                continue;
            }
            self.check_time(&packet, count)?;
            count += 1;
            if codec == CODEC_ID_MP3 && !has_length {
                packet.trim_end = Duration::ZERO;
            }
            if codec == CODEC_ID_FLAC && self.container == "FLAC" {
                let found = packet.pts.get();
                if u64::try_from(found) != Ok(next) {
                    return Err(self.damaged(format!("sample {found} follows where sample {next} should")));
                }
            }
            let buffer = match decoder.decode(&packet) {
                Ok(buffer) => buffer,
                Err(SymphoniaError::Unsupported(what)) => return Err(formats::unread_encoding(self.container, what)),
                Err(error) => return Err(self.damaged(error.to_string())),
            };
            let found = (buffer.spec().rate(), buffer.spec().channels().count());
            if self.layout.is_none() {
                check_layout(self.container, found.1 as u64, f64::from(found.0))?;
            }
            if *self.layout.get_or_insert(found) != found {
                let changes = "a rate or a number of channels that changes";
                return Err(formats::unread_encoding(self.container, changes));
            }
            let more = buffer.samples_interleaved();
            self.last = more / found.1.max(1);
            // The first packet of Vorbis has no samples, and a time.
            let due = self.due.filter(|_| more > 0);
            self.due = due.map(|due| due + self.last as f64 / f64::from(found.0));
            if (self.samples.len() + more) as u64 > self.most {
                return Err(Error::TooManySamples { limit: self.most });
            }
            packet_samples.resize(more, 0.0);
            buffer.copy_to_slice_interleaved(&mut packet_samples);
            self.samples.try_reserve(more).map_err(|_| Error::NoMemory { samples: self.samples.len() + more })?;
            self.samples.extend(packet_samples.iter().map(|sample| sample * FULL_SCALE));
            last_packet = packet.data;
        }
    }
}

impl Edits {
    /// Returns `true` for formats that may have several tracks.
    fn is_container(&self) -> bool {
        !matches!(self, Self::None)
    }
}

fn is_audio(track: &Track) -> bool {
    track.codec_params.as_ref().is_some_and(|parameters| parameters.audio().is_some())
}

/// The end of a stream.
struct Ended {
    /// Another one follows.
    is_chained: bool,
    last_packet: Box<[u8]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], allow_truncated: bool) -> Result<Recording, Error> {
        super::decode(bytes, u64::MAX, allow_truncated)
    }

    #[test]
    fn what_swells_is_refused_with_the_limit() {
        let flac = include_bytes!("../tests/it/audio/tone.flac");
        assert_eq!(decode_up_to(4800, flac, false).unwrap().num_samples(), 4800);
        for allow_truncated in [false, true] {
            let error = decode_up_to(4799, flac, allow_truncated).unwrap_err().to_string();
            assert!(error.contains("more than 4799 samples"), "{error}");
        }
    }

    /// Silence of 128 kbit/s at 44.1 kHz, of which `cut` bytes are missing.
    fn mp3(frames: usize, cut: usize) -> Vec<u8> {
        const FRAME: usize = 417;
        let mut frame = vec![0; FRAME];
        frame[..4].copy_from_slice(b"\xff\xfb\x90\xc0");
        let mut bytes = frame.repeat(frames);
        bytes.truncate(bytes.len() - cut);
        bytes
    }

    #[test]
    fn an_mp3_that_ends_within_a_frame_is_truncated() {
        let whole = decode(&mp3(10, 0), false).unwrap().num_samples();
        for cut in [1, 100, 413, 414, 415, 416] {
            let error = decode(&mp3(10, cut), false).unwrap_err();
            assert!(matches!(error, Error::NoEnd { .. }), "{cut}: {error}");
            assert_eq!(decode(&mp3(10, cut), true).unwrap(), decode(&mp3(9, 0), false).unwrap());
        }
        // A tag behind the frames is not a frame.
        let mut tagged = mp3(10, 0);
        tagged.extend(b"TAG");
        tagged.resize(tagged.len() + 125, b' ');
        assert_eq!(decode(&tagged, false).unwrap().num_samples(), whole);
    }

    #[test]
    fn what_is_no_audio_is_told_by_its_beginning() {
        let error = decode(b"hello, this is no audio at all", false).unwrap_err().to_string();
        assert!(error.contains("'hello, this is n'"), "{error}");
        // Audio that begins further on is not recognised.
        let wav = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x04\0\0\0\x01\0\x02\0";
        let flac = &include_bytes!("../tests/it/audio/tone.flac")[..];
        for (junk, audio) in [(&b"junk\0"[..], &wav[..]), (&[0; 600], wav), (b"\0", flac), (b"ab\n", flac)] {
            let error = decode(&[junk, audio].concat(), false).unwrap_err();
            assert!(matches!(error, Error::NotAudio { .. }), "{error}");
        }
    }
}
