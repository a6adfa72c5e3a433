//! Audio that `kaldi-io` does not read, by symphonia: FLAC, MP3, Ogg Vorbis.

use std::io::{Cursor, ErrorKind};

use kaldera_base::panics::catch;
use kaldi_io::wave::check_layout;
use symphonia::core::codecs::audio::well_known::{CODEC_ID_FLAC, CODEC_ID_MP3};
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as SymphoniaError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;

use crate::Error;
use crate::pipeline::formats::{self, Format};
use crate::pipeline::limits::most_samples;
use crate::pipeline::recording::{Recording, take_what_comes_before};

/// symphonia's full scale is 1, Kaldi's that of 16 bits: 16-bit samples come out as they went in.
const FULL_SCALE: f32 = 32_768.0;

/// No frame of an MP3 file is longer: 320 kbit/s at 8 kHz.
const MAX_MPEG_FRAME: usize = 2881;

/// Decodes the first audio track of a file, and of those that are chained to it.
///
/// What cannot be decoded to its end is an error, not a shorter recording, unless `allow_truncated`
/// is true. A panic of the decoder is an error.
pub(super) fn decode(bytes: Vec<u8>, allow_truncated: bool) -> Result<Recording, Error> {
    catch(|| decode_up_to(most_samples(bytes.len() as u64), bytes, allow_truncated))
        .unwrap_or_else(|message| Err(Error::Decoder { format: "audio", message }))
}

/// Decodes what has `most` samples at the most.
fn decode_up_to(most: u64, mut bytes: Vec<u8>, allow_truncated: bool) -> Result<Recording, Error> {
    if bytes.starts_with(b"fLaC") {
        bytes.truncate(len_without_tags(&bytes));
    }
    let truncated = mpeg_frames_missing(&bytes);
    let has_end = has_end_of_ogg(&bytes);
    let head = bytes[..bytes.len().min(formats::HEAD)].to_vec();
    let tail = bytes[bytes.len().saturating_sub(2 * MAX_MPEG_FRAME)..].to_vec();
    // Frames that contradict the header are no frames to the decoder, which tells of a missing end.
    if let Some(&[high, middle, low]) = head.strip_prefix(b"fLaC").and_then(|info| info.get(14..)?.first_chunk()) {
        check_layout("FLAC", 1, f64::from(u32::from_be_bytes([0, high, middle, low]) >> 4))?;
    }
    let stream = MediaSourceStream::new(Box::new(Cursor::new(bytes)), MediaSourceStreamOptions::default());
    let options = (FormatOptions::default(), MetadataOptions::default());
    let probed = symphonia::default::get_probe().probe(&Hint::new(), stream, options.0, options.1);
    let container = match Format::of(&head) {
        Format::Other { name } => name,
        Format::Wave => "WAV",
        // Such as MP3 behind other bytes, which symphonia finds.
        _ => "audio",
    };
    let mut format = probed.map_err(|error| match Format::of(&head) {
        // Nothing that is known.
        Format::Unknown => formats::not_audio(&head),
        _ => refused(container, error),
    })?;
    let mut decoded = Decoded { container, samples: Vec::new(), layout: None, most, last_mpeg_frame: None };
    let ended = match (decoded.read_all(&mut *format), truncated) {
        (Ok(()), Some((expected, found))) => Err(Error::Truncated { format: "MP3", expected, found, unit: "bytes" }),
        (Ok(()), None) if !has_end || decoded.ends_within_mpeg_frame(&tail) => Err(Error::NoEnd { format: container }),
        (ended, _) => ended,
    };
    take_what_comes_before(ended, &decoded.samples, allow_truncated)?;
    let (rate, num_channels) = decoded.layout.ok_or_else(|| given_up(container, "there are no samples in it"))?;
    Ok(Recording::interleaved(decoded.samples, num_channels, rate as f32))
}

/// The error of a file that the decoder of its format refuses.
fn refused(format: &'static str, error: SymphoniaError) -> Error {
    if is_end(&error) { Error::NoEnd { format } } else { given_up(format, error) }
}

fn given_up(format: &'static str, why: impl ToString) -> Error {
    Error::Decoder { format, message: why.to_string() }
}

/// Whether a decoder wants more bytes than there are.
fn is_end(error: &SymphoniaError) -> bool {
    matches!(error, SymphoniaError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof)
}

/// What has been decoded.
struct Decoded {
    /// The format of the file.
    container: &'static str,
    samples: Vec<f32>,
    /// The rate and the number of channels.
    layout: Option<(u32, usize)>,
    /// The most samples that there may be.
    most: u64,
    /// The last whole frame, of an MP3 file.
    last_mpeg_frame: Option<Box<[u8]>>,
}

impl Decoded {
    fn read_all(&mut self, format: &mut dyn FormatReader) -> Result<(), Error> {
        // Once for each of the streams that are chained, as in Ogg, and mostly once.
        loop {
            let track = format.default_track(TrackType::Audio);
            let parameters =
                track.and_then(|track| Some((track.id, track.codec_params.as_ref()?.audio()?, track.num_frames)));
            let (id, parameters, num_frames) =
                parameters.ok_or_else(|| given_up(self.container, "there is no audio track in it"))?;
            if let (Some(rate), Some(channels)) = (parameters.sample_rate, &parameters.channels) {
                check_layout(self.container, channels.count() as u64, f64::from(rate))?;
            }
            // Of other codecs it is an estimate, or counts what is not to be heard.
            let promised = num_frames.filter(|_| parameters.codec == CODEC_ID_FLAC);
            let mut decoder = symphonia::default::get_codecs()
                .make_audio_decoder(parameters, &AudioDecoderOptions::default())
                .map_err(|error| refused(self.container, error))?;
            let begin = self.samples.len();
            let is_chained = self.read_stream(format, id, promised, &mut *decoder)?;
            let (_, num_channels) = self.layout.unwrap_or((0, 1));
            let found = ((self.samples.len() - begin) / num_channels.max(1)) as u64;
            if let Some(expected) = promised.filter(|&promised| found < promised) {
                return Err(Error::Truncated { format: "FLAC", expected, found, unit: "samples" });
            }
            if let Some(expected) = promised.filter(|&promised| 0 < promised && promised < found) {
                tracing::warn!("the FLAC header promises {expected} samples, and there are {found}: taking all");
            }
            if !is_chained {
                return Ok(());
            }
        }
    }

    /// Decodes to the end, or to where another stream begins, which gives true. What follows the
    /// `promised` samples of each channel is no damage.
    fn read_stream(
        &mut self,
        format: &mut dyn FormatReader,
        track: u32,
        promised: Option<u64>,
        decoder: &mut dyn AudioDecoder,
    ) -> Result<bool, Error> {
        /// An encoder's padding fills up to so many frames of an MP3 file.
        const PADDING_FRAMES: usize = 2;
        let is_mp3 = decoder.codec_params().codec == CODEC_ID_MP3;
        let (mut packet_samples, begin, mut unheard) = (Vec::<f32>::new(), self.samples.len(), 0);
        loop {
            let (_, num_channels) = self.layout.unwrap_or((0, 1));
            let found = ((self.samples.len() - begin) / num_channels) as u64;
            let is_complete = promised.is_some_and(|promised| promised > 0 && found >= promised);
            let packet = match format.next_packet() {
                // Concatenated files: it begins anew.
                Ok(Some(packet))
                    if is_complete && packet.track_id == track && packet.pts.get() < found.cast_signed() =>
                {
                    let message = format!("another stream follows the {found} samples of the first: split the file");
                    return Err(given_up(self.container, message));
                }
                Ok(Some(packet)) => packet,
                Err(SymphoniaError::ResetRequired) => return Ok(true),
                Err(error) if !is_complete => return Err(refused(self.container, error)),
                Ok(None) | Err(_) => {
                    if unheard > PADDING_FRAMES {
                        tracing::warn!(
                            "{unheard} frames of MP3 follow those that its header counts, as in concatenated files: \
                             leaving them out"
                        );
                    }
                    return Ok(false);
                }
            };
            if packet.track_id != track {
                continue;
            }
            let buffer = decoder.decode(&packet).map_err(|error| refused(self.container, error))?;
            let found = (buffer.spec().rate(), buffer.spec().channels().count());
            if self.layout.is_none() {
                check_layout(self.container, found.1 as u64, f64::from(found.0))?;
            }
            if *self.layout.get_or_insert(found) != found {
                return Err(given_up(self.container, "the rate or the number of channels changes on the way"));
            }
            let more = buffer.samples_interleaved();
            unheard += usize::from(is_mp3 && more == 0);
            if (self.samples.len() + more) as u64 > self.most {
                return Err(Error::TooManySamples { limit: self.most });
            }
            packet_samples.resize(more, 0.0);
            buffer.copy_to_slice_interleaved(&mut packet_samples);
            self.samples.try_reserve(more).map_err(|_| Error::NoMemory { samples: self.samples.len() + more })?;
            self.samples.extend(packet_samples.iter().map(|sample| sample * FULL_SCALE));
            if is_mp3 {
                self.last_mpeg_frame = Some(packet.data);
            }
        }
    }

    /// Whether another frame begins after the last whole one: `tail` is the end of the file. The
    /// decoder takes it for the end of the recording.
    fn ends_within_mpeg_frame(&self, tail: &[u8]) -> bool {
        let Some(last) = self.last_mpeg_frame.as_deref().filter(|last| last.len() >= 4) else { return false };
        let Some(at) = tail.windows(last.len()).rposition(|bytes| bytes == last) else { return false };
        // Of a header: 11 bits that are set, version, layer, whether there is a checksum; the
        // sampling rate.
        let of_header = [(0, 0xFF), (1, 0xFF), (2, 0b1100)];
        let rest = &tail[at + last.len()..];
        let mut known = of_header.iter().filter_map(|&(i, mask)| Some((rest.get(i)? ^ last[i]) & mask));
        !rest.is_empty() && known.all(|difference| difference == 0)
    }
}

/// How many bytes come before the tags at the end: ID3v1, and APEv2 before that. The decoder of FLAC
/// takes them for a part of the last frame, whose checksum is then wrong.
fn len_without_tags(bytes: &[u8]) -> usize {
    const ID3: usize = 128;
    const APE: usize = 32;
    let mut rest = bytes;
    if let Some((before, tag)) = rest.split_at_checked(rest.len().saturating_sub(ID3))
        && tag.len() == ID3
        && tag.starts_with(b"TAG")
    {
        rest = before;
    }
    if let Some(footer) = rest.last_chunk::<APE>().filter(|footer| footer.starts_with(b"APETAGEX")) {
        // Of the items and this footer; the highest flag tells of a header of as many bytes.
        let size = u32::from_le_bytes([footer[12], footer[13], footer[14], footer[15]]);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let header = if footer[23] & 0x80 == 0 { 0 } else { APE };
        return rest.len().checked_sub(size.saturating_add(header)).unwrap_or(rest.len());
    }
    rest.len()
}

/// How many bytes the first frame of an MP3 file, which many encoders use for this, says that there
/// are, and how many there are, where those are fewer: the decoder takes the end of the file for
/// that of the recording.
fn mpeg_frames_missing(bytes: &[u8]) -> Option<(u64, u64)> {
    /// Tags behind the frames may or may not be counted.
    const TAGS: u64 = 1 << 11;
    let mut frames = bytes;
    if let Some(&[b'I', b'D', b'3', _, _, flags, a, b, c, d]) = bytes.first_chunk::<10>() {
        let size = [a, b, c, d].iter().fold(0, |size, &byte| size << 7 | usize::from(byte & 0x7F));
        frames = bytes.get(10 + size + if flags & 0x10 == 0 { 0 } else { 10 }..)?;
    }
    let &[0xFF, version, _, mode] = frames.first_chunk::<4>()? else { return None };
    let is_mono = mode >> 6 == 3;
    let side_information = match (version & 0x18 == 0x18, is_mono) {
        (true, false) => 32,
        (true, true) | (false, false) => 17,
        (false, true) => 9,
    };
    let info = frames.get(4 + side_information..)?;
    let info = info.strip_prefix(b"Xing").or_else(|| info.strip_prefix(b"Info"))?;
    let (&[_, _, _, flags], info) = info.split_first_chunk::<4>()?;
    // The number of frames comes first, where it is there.
    let info = if flags & 1 == 0 { info } else { info.get(4..)? };
    let expected = u64::from(u32::from_be_bytes(*info.first_chunk().filter(|_| flags & 2 != 0)?));
    let found = frames.len() as u64;
    (found + TAGS < expected).then_some((expected, found))
}

/// Whether each stream in an Ogg file has its last page, and that page all of its bytes; true of
/// other files. The decoder takes a file that is cut off where another stream begins for a whole
/// one.
fn has_end_of_ogg(bytes: &[u8]) -> bool {
    /// Flags of the first and of the last page of a stream.
    const FIRST: u8 = 2;
    const LAST: u8 = 4;
    let (mut rest, mut open) = (bytes, Vec::new());
    while let Some((header, after)) = rest.split_first_chunk::<27>() {
        let &[b'O', b'g', b'g', b'S', _, flags, .., num_segments] = header else { break };
        let Some((segments, body)) = after.split_at_checked(usize::from(num_segments)) else { return false };
        let Some((_, next)) = body.split_at_checked(segments.iter().map(|&len| usize::from(len)).sum()) else {
            return false;
        };
        let serial = &header[14..18];
        if flags & FIRST != 0 {
            open.push(serial);
        }
        if flags & LAST != 0 {
            open.retain(|other| *other != serial);
        }
        rest = next;
    }
    open.is_empty() && !(rest.len() < 27 && !rest.is_empty() && rest.starts_with(&b"OggS"[..rest.len().min(4)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_swells_is_refused_with_the_limit() {
        let flac = include_bytes!("../../tests/it/audio/tone.flac");
        assert_eq!(decode_up_to(4800, flac.to_vec(), false).unwrap().num_samples(), 4800);
        for allow_truncated in [false, true] {
            let error = decode_up_to(4799, flac.to_vec(), allow_truncated).unwrap_err().to_string();
            assert!(error.contains("more than 4799 samples"), "{error}");
        }
    }

    #[test]
    fn missing_frames_are_seen_from_the_first_one() {
        let mut mp3 = b"ID3\x04\0\0\0\0\0\x02..\xff\xfb\x90\xc0".to_vec();
        mp3.extend([0; 17]);
        mp3.extend(b"Info\0\0\0\x03\0\0\0\x01\0\0\x20\0");
        assert_eq!(mpeg_frames_missing(&mp3), Some((0x2000, mp3.len() as u64 - 12)));
        mp3.resize(12 + 0x2000, 0);
        assert_eq!(mpeg_frames_missing(&mp3), None);
        for end in 0..40 {
            assert_eq!(mpeg_frames_missing(&mp3[..end]), None);
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
        let whole = decode(mp3(10, 0), false).unwrap().num_samples();
        for cut in [1, 100, 413, 414, 415, 416] {
            let error = decode(mp3(10, cut), false).unwrap_err();
            assert!(matches!(error, Error::NoEnd { format: "MP3" }), "{cut}: {error}");
            assert_eq!(decode(mp3(10, cut), true).unwrap(), decode(mp3(9, 0), false).unwrap());
        }
        // A tag behind the frames is none of them.
        let mut tagged = mp3(10, 0);
        tagged.extend(b"TAG");
        tagged.resize(tagged.len() + 125, b' ');
        assert_eq!(decode(tagged, false).unwrap().num_samples(), whole);
    }

    #[test]
    fn what_is_no_audio_is_told_by_its_beginning() {
        let error = decode(b"hello, this is no audio at all".to_vec(), false).unwrap_err().to_string();
        assert!(error.contains("'hello, this is n'"), "{error}");
    }
}
