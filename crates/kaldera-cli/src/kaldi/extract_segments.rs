//! `extract-segments` and `extract-feature-segments`: parts of recordings, or of feature matrices,
//! as utterances.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::segments::{Segment, Segments};
use kaldera::io::table::{RandomAccessReader, TableWriter};
use kaldera::io::wave::WaveData;
use kaldera::io::{Error, Holder};
use kaldera::matrix::Matrix;
use tracing::{info, warn};

use crate::kaldi::Failure;
use crate::kaldi::driver::Counts;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "extract-segments", about: "Cut recordings into utterances", run };
pub(super) const FEATURES: Tool =
    Tool { name: "extract-feature-segments", about: "Cut feature matrices into utterances", run: run_features };

const USAGE: &str = "Cuts recordings into utterances.
Usage: extract-segments [options] <wav-rspecifier> <segments-rxfilename> <wav-wspecifier>
For example: extract-segments scp:wav.scp segments ark:-
A line of the segments file has an utterance, its recording, start and end in seconds, and
optionally a channel, which is required if the recording has several: 'utt1 rec1 1.10 2.36 1'. An
end of -1 is the end of the recording.";

const FEATURES_USAGE: &str = "Cuts feature matrices into utterances.
Usage: extract-feature-segments [options] <feats-rspecifier> <segments-rxfilename> <feats-wspecifier>
For example: extract-feature-segments scp:feats.scp segments ark:-
A line of the segments file has an utterance, the key of its features, start and end in seconds: 'utt1 rec1 1.10 2.36'.";

struct Options {
    min_segment_length: f32,
    max_overshoot: f32,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("min-segment-length", &mut self.min_segment_length, "Skip shorter utterances (seconds)");
        registry.add(
            "max-overshoot",
            &mut self.max_overshoot,
            "Maximum length by which an utterance may exceed the recording; it is cut off there (seconds)",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options { min_segment_length: 0.1, max_overshoot: 0.5 };
    super::run(TOOL.name, USAGE, call, options, |options, [recordings, segments, output]| {
        let reader = RandomAccessReader::open(&recordings)?;
        let writer = TableWriter::open(&output)?;
        extract(reader, &segments, writer, |segment, wave: &WaveData| options.cut(segment, wave))?;
        // Even if there was no utterance.
        Ok(true)
    })
}

impl Options {
    /// Returns the part of a recording, or `None` if it has to be left out.
    ///
    /// Times are compared in Kaldi's precision.
    fn cut(&self, segment: &Segment, wave: &WaveData) -> Result<Option<WaveData>, Failure> {
        let Segment { key, start, .. } = segment;
        let num_samples = wave.num_samples();
        let length = num_samples as f32 / wave.samp_freq;
        if *start > f64::from(length) {
            warn!("leaving out {key}: it begins at {start} s, and the recording has {length} s");
            return Ok(None);
        }
        let end = segment.end.unwrap_or(f64::from(length));
        if end > f64::from(length + self.max_overshoot) {
            warn!("leaving out {key}: it ends at {end} s, too far behind the recording's {length} s");
            return Ok(None);
        }
        let end = end.min(f64::from(length));
        if end - start < f64::from(self.min_segment_length) {
            warn!(
                "leaving out {key}: its {} s are below --min-segment-length={}",
                end - start,
                self.min_segment_length
            );
            return Ok(None);
        }
        let channel = match segment.channel {
            Some(channel) if channel >= wave.num_channels => {
                warn!("leaving out {key}: it needs channel {channel}, and the recording has {}", wave.num_channels);
                return Ok(None);
            }
            Some(channel) => channel,
            None if wave.num_channels == 1 => 0,
            None => return Err(Failure::NoChannel { key: key.clone(), channels: wave.num_channels }),
        };
        // Rounds to the nearest sample; the conversion is exact for whole numbers.
        let sample = |seconds: f64| (seconds * f64::from(wave.samp_freq) + 0.5) as usize;
        let (start, end) = (sample(*start), sample(end).min(num_samples));
        if start >= end {
            warn!("leaving out {key}: it has no samples");
            return Ok(None);
        }
        let frames = wave.samples.chunks_exact(wave.num_channels).skip(start).take(end - start);
        let samples = frames.map(|frame| frame[channel]).collect();
        Ok(Some(WaveData { samp_freq: wave.samp_freq, num_channels: 1, samples }))
    }
}

struct FeatureOptions {
    common: Options,
    frame_length: i32,
    frame_shift: i32,
    snip_edges: bool,
}

impl OptionSet for FeatureOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.common.register(registry);
        registry.add("frame-length", &mut self.frame_length, "Frame length in milliseconds");
        registry.add("frame-shift", &mut self.frame_shift, "Frame shift in milliseconds");
        registry.add(
            "snip-edges",
            &mut self.snip_edges,
            "Drop the last frames, if their windows extend beyond the utterance, as when features are computed from cut recordings",
        );
    }
}

fn run_features(call: Call<'_>) -> ExitCode {
    let options = FeatureOptions {
        common: Options { min_segment_length: 0.1, max_overshoot: 0.0 },
        frame_length: 25,
        frame_shift: 10,
        snip_edges: true,
    };
    super::run(FEATURES.name, FEATURES_USAGE, call, options, |options, [features, segments, output]| {
        if options.frame_shift < 1 {
            let value = options.frame_shift.to_string();
            return Err(Failure::Option { name: "frame-shift", value, expected: "at least 1 millisecond" });
        }
        let writer = TableWriter::open(&output)?;
        let reader = RandomAccessReader::open(&features)?;
        let counts =
            extract(reader, &segments, writer, |segment, features: &Matrix<f32>| Ok(options.cut(segment, features)))?;
        // Kaldi returns 255 here, not 1.
        if counts.any_done() { Ok(true) } else { Err(Failure::NothingDone { left_out: counts.failed }) }
    })
}

impl FeatureOptions {
    /// Returns the part of a matrix, or `None` if it has to be left out.
    fn cut(&self, segment: &Segment, features: &Matrix<f32>) -> Option<Matrix<f32>> {
        let Segment { key, .. } = segment;
        let Some(end) = segment.end else {
            warn!("leaving out {key}: it has no end");
            return None;
        };
        let num_frames = features.num_rows();
        let (start, mut end) = (self.frames(segment.start), self.frames(end));
        if self.snip_edges {
            let longer = f64::from(self.frame_length) - f64::from(self.frame_shift);
            end -= (longer / f64::from(self.frame_shift)).ceil();
        }
        if start >= num_frames as f64 {
            warn!("leaving out {key}: it begins at frame {start}, and the recording has {num_frames}");
            return None;
        }
        if end > num_frames as f64 {
            if end >= num_frames as f64 + self.frames(f64::from(self.common.max_overshoot)) {
                warn!(
                    "leaving out {key}: it ends at frame {end}, too far beyond the {num_frames} frames of the recording"
                );
                return None;
            }
            end = num_frames as f64;
        }
        if end <= start + self.frames(f64::from(self.common.min_segment_length)) || end <= start {
            warn!("leaving out {key}: its {} frames are too few", (end - start).max(0.0));
            return None;
        }
        // Whole numbers from 0 to `num_frames`.
        let (start, end) = (start as usize, end as usize);
        let part = features.range(start, end - start, 0, features.num_cols());
        part.ok().map(|part| part.to_owned())
    }

    /// Returns the number of frames in `seconds`, rounded to the nearest.
    fn frames(&self, seconds: f64) -> f64 {
        (seconds * 1000.0 / f64::from(self.frame_shift)).round()
    }
}

/// Writes the part of an object for each line of a segments file. If `cut` returns `None`, it has
/// logged the reason.
fn extract<T: Holder>(
    mut reader: RandomAccessReader<T>,
    segments: &str,
    mut writer: TableWriter<T>,
    cut: impl Fn(&Segment, &T) -> Result<Option<T>, Failure>,
) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    for segment in Segments::open(segments)? {
        let segment = match segment {
            Ok(segment) => segment,
            Err(error @ (Error::Segment { .. } | Error::LongLine { .. })) => {
                warn!("leaving out a line: {error}");
                counts.failed += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let part = if reader.has_key(&segment.recording)? {
            cut(&segment, reader.value(&segment.recording)?)?
        } else {
            warn!("leaving out {}: its recording '{}' is missing", segment.key, segment.recording);
            None
        };
        match part {
            Some(part) => {
                writer.write(&segment.key, &part)?;
                counts.done += 1;
            }
            None => counts.failed += 1,
        }
    }
    writer.close()?;
    info!("{} utterances written; {} lines left out", counts.done, counts.failed);
    Ok(counts)
}
