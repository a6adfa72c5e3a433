//! Recordings of a list, and the parts of them that its lines name.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use kaldera_audio::{ChannelChoice, OneChannel, Pipes, ReadOptions, Recording};

use crate::Error;
use crate::pipeline::inputs::{Source, Span, Utterance};

/// Reads recordings, and caches the last one, or its error, for the segments that are often cut
/// from one file.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    last: Option<(Source, Shared)>,
}

type Shared = Result<Arc<Recording>, Arc<Error>>;

impl Reader {
    /// The recording at `source`, of which only `span` will be asked for.
    pub(crate) fn read(
        &mut self,
        source: &Source,
        span: Option<Span>,
        options: &ReadOptions,
    ) -> Result<Arc<Recording>, Error> {
        if let Some((_, recording)) = self.last.as_ref().filter(|(last, _)| last == source) {
            return recording.clone().map_err(Error::OfSegments);
        }
        self.last = None;
        let recording = match source {
            Source::Samples(recording) => {
                recording.check()?;
                return Ok(Arc::clone(recording));
            }
            Source::Missing(recording) => return Err(Error::NoRecording { recording: recording.clone() }),
            Source::File(path) => Recording::open_with(path, options).map_err(|error| match error {
                // The path is the source, which the report of the failure names.
                kaldera_audio::Error::Recording { source, .. } => *source,
                error => error,
            }),
            Source::Member { archive, offset, len, .. } => read_member(archive, *offset, *len, options),
            Source::Script(rxfilename) => Recording::open_rxfilename(rxfilename, options),
            Source::FoundScript(rxfilename) if options.pipes == Pipes::Named => {
                Recording::open_rxfilename(rxfilename, &options.clone().with_pipes(Pipes::Never))
            }
            Source::FoundScript(rxfilename) => Recording::open_rxfilename(rxfilename, options),
        };
        let recording = recording.map_err(|error| of_found_list(error, source, options));
        let recording = recording.map(Arc::new);
        if span.is_none() {
            return recording;
        }
        let recording = recording.map_err(Arc::new);
        self.last = Some((source.clone(), recording.clone()));
        recording.map_err(Error::OfSegments)
    }
}

/// Reads a recording that is a part of a file.
fn read_member(
    archive: &Path,
    offset: u64,
    len: u64,
    options: &ReadOptions,
) -> Result<Recording, kaldera_audio::Error> {
    let open = || {
        let mut file = File::open(archive)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(BufReader::new(file).take(len))
    };
    Recording::read(open().map_err(|source| kaldera_audio::Error::Open { source })?, options)
}

/// The error of a command that is not run as its list was found in a folder; it says how to run it.
fn of_found_list(error: kaldera_audio::Error, source: &Source, options: &ReadOptions) -> Error {
    match (error, source) {
        (kaldera_audio::Error::Io(kaldi_io::Error::PipeRefused { command }), Source::FoundScript(_))
            if options.pipes == Pipes::Named =>
        {
            Error::FoundPipe { command }
        }
        (error, _) => error.into(),
    }
}

/// The frames within `range` of the channel that `utterance` names, or else of `choice`.
pub(crate) fn channel_of<'a>(
    recording: &'a Recording,
    utterance: &Utterance,
    choice: ChannelChoice,
    range: Range<usize>,
) -> Result<OneChannel<'a>, Error> {
    let choice = utterance.channel.map_or(choice, ChannelChoice::One);
    let channels = recording.num_channels();
    if choice == ChannelChoice::First && channels > 1 {
        tracing::warn!("{} has {channels} channels; taking the first", utterance.key);
    }
    Ok(recording.select(choice, range)?)
}

/// The frames of `recording` within `span`, or all. As with Kaldi's `extract-segments`, up to half
/// a second after the end is forgiven, a tenth of a second must be left, and times are compared in
/// Kaldi's precision.
pub(crate) fn frames_of(recording: &Recording, span: Option<Span>) -> Result<Range<usize>, Error> {
    const MAX_OVERSHOOT: f32 = 0.5;
    const MIN_SECONDS: f32 = 0.1;
    let num_samples = recording.num_samples();
    let Some(Span { start, end }) = span else { return Ok(0..num_samples) };
    let wrong = || Error::Segment { start, end, seconds: recording.duration() };
    let length = recording.duration();
    let until = end.unwrap_or(f64::from(length));
    if !(start >= 0.0 && until <= f64::from(length + MAX_OVERSHOOT)) {
        return Err(wrong());
    }
    if until.min(f64::from(length)) - start < f64::from(MIN_SECONDS) {
        return Err(wrong());
    }
    // The nearest sample; not negative, and not far after the last one.
    let sample = |seconds: f64| (seconds * f64::from(recording.samp_freq()) + 0.5) as usize;
    let (first, last) = (sample(start), sample(until).min(num_samples));
    if first < last { Ok(first..last) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_as_kaldi_cuts_them() {
        let recording = Recording::from_i16(vec![0; 16_000], 16_000.0);
        let cut = |start, end| frames_of(&recording, Some(Span { start, end })).ok();
        assert_eq!(frames_of(&recording, None).unwrap(), 0..16_000);
        assert_eq!(cut(0.25, Some(0.5)), Some(4000..8000));
        assert_eq!(cut(0.25, None), Some(4000..16_000));
        assert_eq!(cut(0.5, Some(1.4)), Some(8000..16_000));
        assert_eq!(cut(0.50003, Some(0.70004)), Some(8000..11_201), "the nearest sample");
        for (start, end) in
            [(0.5, Some(1.6)), (0.5, Some(0.59)), (-0.1, Some(0.5)), (2.0, None), (0.6, Some(0.5)), (f64::NAN, None)]
        {
            assert_eq!(cut(start, end), None, "{start} {end:?}");
        }
    }

    #[test]
    fn the_channel_of_an_utterance_is_taken_before_the_choice() {
        let recording =
            Recording::from(kaldi_io::WaveData { samp_freq: 8000.0, num_channels: 2, samples: vec![1, -1, 2, -4] });
        let mut utterance = Utterance::new("a", recording.clone());
        utterance.channel = Some(1);
        let channel = channel_of(&recording, &utterance, ChannelChoice::Mean, 0..2).unwrap();
        assert_eq!(*channel.samples(&mut vec![]).to_f32(), [-1.0, -4.0]);
    }
}
