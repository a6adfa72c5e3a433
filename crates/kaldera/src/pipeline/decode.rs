//! Audio that is not 16-bit WAV, by symphonia: FLAC, MP3, Ogg Vorbis, WAV of other widths.

use std::io::{Cursor, Read};

use kaldi_io::wave::WaveError;
use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error as SymphoniaError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;

use super::recording::Recording;
use crate::Error;

/// symphonia's full scale is 1, Kaldi's that of 16 bits: 16-bit samples come out as they went in.
const FULL_SCALE: f32 = 32_768.0;

/// Whether a file is no damaged WAV file, but none at all, or one that Kaldi does not read.
pub(super) fn is_for_other_decoders(error: &WaveError) -> bool {
    use WaveError::{BitsPerSample, ExtensibleNotPcm, NotPcm, NotRiff};
    matches!(error, NotRiff { .. } | NotPcm { .. } | ExtensibleNotPcm | BitsPerSample { .. })
}

/// Decodes the first audio track of a stream. What cannot be decoded to its end is an error, not a shorter recording.
pub(super) fn decode(reader: &mut impl Read) -> Result<Recording, Error> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|source| Error::Open { source })?;
    let stream = MediaSourceStream::new(Box::new(Cursor::new(bytes)), MediaSourceStreamOptions::default());
    let mut format = symphonia::default::get_probe().probe(
        &Hint::new(),
        stream,
        FormatOptions::default(),
        MetadataOptions::default(),
    )?;
    let track = format.default_track(TrackType::Audio);
    let parameters = track.and_then(|track| Some((track.id, track.codec_params.as_ref()?.audio()?)));
    let (id, parameters) = parameters.ok_or(SymphoniaError::Unsupported("no audio track"))?;
    let mut decoder =
        symphonia::default::get_codecs().make_audio_decoder(parameters, &AudioDecoderOptions::default())?;

    let (mut samples, mut packet_samples) = (Vec::new(), Vec::<f32>::new());
    let mut layout = None;
    while let Some(packet) = format.next_packet()? {
        if packet.track_id != id {
            continue;
        }
        let buffer = decoder.decode(&packet)?;
        let found = (buffer.spec().rate(), buffer.spec().channels().count());
        if *layout.get_or_insert(found) != found {
            return Err(SymphoniaError::Unsupported("the rate or the number of channels changes on the way").into());
        }
        packet_samples.resize(buffer.samples_interleaved(), 0.0);
        buffer.copy_to_slice_interleaved(&mut packet_samples);
        samples.extend(packet_samples.iter().map(|sample| sample * FULL_SCALE));
    }
    let (rate, num_channels) = layout.ok_or(SymphoniaError::Unsupported("no samples in it"))?;
    Ok(Recording::interleaved(samples, num_channels, rate as f32))
}
