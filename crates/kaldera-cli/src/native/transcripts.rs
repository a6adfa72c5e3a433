//! Files of transcripts.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use kaldera::decoder::align::{CaptionOptions, write_ctm, write_srt, write_text_grid, write_vtt};
use kaldera::decoder::{Hypothesis, Recognition, Segment};
use kaldera::kaldi_online::SpeakerVector;
use kaldera::pipeline::{ChannelChoice, Inputs, Utterance};
use kaldera::recognizer::Transcript;
use serde_json::{Value, json};

use super::CliError;

/// The file extensions of formats.
const ENDINGS: &str = "\
.jsonl (a JSON object for each recording, with words, times and hypotheses), .ctm, .trn, .txt or .text (Kaldi's: KEY \
and words); of a single recording .srt, .vtt or .TextGrid";

/// Help about times in files.
const TIMES: &str = "\
Words have the times at which they are heard: from the rise of the sound before the network's peak to its fall after it \
(align::Loudness of kaldera-decoder has the rule). In .jsonl, peak_start and peak_end are the times of the peak. A \
.ctm has the recordings and times of segments, and channels 1, 2, ... or from reco2file_and_channel.";

/// The names of formats, which are file extensions as well.
pub(super) const FORMATS: [&str; 7] = ["text", "jsonl", "ctm", "trn", "srt", "vtt", "TextGrid"];

/// The names of formats for words that were recognised.
pub(super) const FORMATS_OF_RECOGNITION: [&str; 8] = ["text", "jsonl", "nemo", "ctm", "trn", "srt", "vtt", "TextGrid"];

/// Returns the help about formats.
pub(super) fn about_formats() -> String {
    format!(
        "OUT ends in {ENDINGS}. --format selects one of them for standard output and other file names. If OUT is a \
        folder or ends in /, a file of this format is written for each recording, such as KEY.TextGrid.\n\n{TIMES}"
    )
}

/// Format of a file of transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    JsonLines,
    /// Lines of NeMo's manifests.
    Nemo,
    Ctm,
    Srt,
    Vtt,
    TextGrid,
    Trn,
    Text,
}

impl Format {
    /// Returns the format by `name`, one of `formats`, or else by the extension of an output. It
    /// must be able to hold the inputs. An output that `is_folder` has a file for each input.
    pub(super) fn select(
        name: &str,
        formats: &[&str],
        (output, is_folder): (&str, bool),
        inputs: &Inputs,
    ) -> Result<Self, CliError> {
        let recordings = inputs.len();
        let ending = Path::new(output).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let (name, option) =
            if name.is_empty() { (ending, format!("-o {output}")) } else { (name, format!("--format={name}")) };
        let format = match name.to_ascii_lowercase().as_str() {
            "jsonl" | "json" => Self::JsonLines,
            "nemo" if option.starts_with("--format") => Self::Nemo,
            "ctm" => Self::Ctm,
            "srt" => Self::Srt,
            "vtt" => Self::Vtt,
            "textgrid" => Self::TextGrid,
            "trn" => Self::Trn,
            "txt" | "text" => Self::Text,
            _ if option.starts_with("-o") && is_folder => {
                let formats = formats.join(", ");
                return Err(CliError::Usage(format!(
                    "{option} is a folder: --format=NAME must select the format of the files: {formats}"
                )));
            }
            _ if option.starts_with("-o") => {
                return Err(CliError::Usage(format!("{option}: the file extension must select the format: {ENDINGS}")));
            }
            _ => {
                let formats = formats.join(", ");
                return Err(CliError::Usage(format!("{option} is not one of the formats {formats}")));
            }
        };
        if recordings > 1 && !is_folder && matches!(format, Self::Srt | Self::Vtt | Self::TextGrid) {
            return Err(CliError::Usage(format!(
                "{option}: this format holds one recording, and there are {recordings}: use .jsonl or .ctm, or a \
                folder with a file for each, -o FOLDER/ --format={}",
                format.name()
            )));
        }
        let divides = |key: &&str| key.is_empty() || key.contains(|c: char| c.is_whitespace() || c.is_control());
        let mut keys = inputs.utterances().iter().map(|utterance| match format {
            Self::Ctm => utterance.recording.as_ref().unwrap_or(&utterance.key).as_str(),
            _ => utterance.key.as_str(),
        });
        if let (Self::Ctm | Self::Trn | Self::Text, Some(key)) = (format, keys.find(divides)) {
            let key = key.escape_debug();
            return Err(CliError::Usage(format!(
                "{option}: '{key}' cannot be a key in this format, as white space separates its fields: use .jsonl"
            )));
        }
        if format == Self::Nemo {
            let mut lines = inputs.utterances().iter().map(|utterance| utterance.nemo_line(0.0, ""));
            lines.try_for_each(|line| line.map(drop)).map_err(|error| CliError::Usage(format!("{option}: {error}")))?;
        }
        Ok(format)
    }

    /// Returns the extension of its files.
    pub(super) fn ending(self) -> &'static str {
        if self == Self::Nemo { Self::JsonLines.name() } else { self.name() }
    }

    /// Returns the name of the format.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::Nemo => "nemo",
            Self::Ctm => "ctm",
            Self::Srt => "srt",
            Self::Vtt => "vtt",
            Self::TextGrid => "TextGrid",
            Self::Trn => "trn",
            Self::Text => "text",
        }
    }
}

/// Options for writing transcripts.
pub(super) struct Writing {
    pub(super) format: Format,
    pub(super) captions: CaptionOptions,
    /// `true` to write a list of hypotheses.
    pub(super) hypotheses: bool,
    /// `true` to write a list of the vectors of speakers.
    pub(super) speakers: bool,
    /// The channel of recordings without one.
    pub(super) channel: ChannelChoice,
}

impl Writing {
    /// Writes the transcript of a recording.
    pub(super) fn write(&self, out: &mut dyn Write, utterance: &Utterance, transcript: &Transcript) -> io::Result<()> {
        let nothing = Hypothesis::default();
        let best = transcript.recognition.best().unwrap_or(&nothing);
        let (text, key) = (best.text(), &utterance.key);
        match self.format {
            Format::JsonLines => {
                let mut value = as_json(key, &transcript.recognition, self.hypotheses);
                value["seconds"] = json!(millis(transcript.seconds));
                if self.speakers {
                    value["speakers"] = transcript.speakers.iter().map(speaker_as_json).collect();
                }
                writeln!(out, "{value}")
            }
            Format::Nemo => {
                let line = utterance.nemo_line(transcript.seconds, &text).map_err(io::Error::other)?;
                writeln!(out, "{line}")
            }
            Format::Ctm => {
                let recording = utterance.recording.as_ref().unwrap_or(key);
                write_ctm(out, recording, &self.channel_of(utterance), &within_recording(&best.words, utterance))
            }
            Format::Srt => write_srt(out, &best.words, &self.captions),
            Format::Vtt => write_vtt(out, &best.words, &self.captions),
            // The last frame may extend beyond the last sample.
            Format::TextGrid => {
                let end = best.words.last().map_or(0.0, |word| word.end);
                write_text_grid(out, transcript.seconds.max(end), &[("words", &best.words)])
            }
            Format::Trn => writeln!(out, "{text} ({key})"),
            Format::Text => writeln!(out, "{}", format!("{key} {text}").trim_end()),
        }
    }

    /// Returns the name of the channel in a list, or else its number, from 1.
    fn channel_of(&self, utterance: &Utterance) -> String {
        let number = match (utterance.channel, self.channel) {
            (Some(channel), _) | (None, ChannelChoice::One(channel)) => channel.saturating_add(1),
            _ => 1,
        };
        utterance.channel_name.clone().unwrap_or_else(|| number.to_string())
    }
}

/// Returns words with times in the recording, as the utterance may be a part of it.
fn within_recording(words: &[Segment], utterance: &Utterance) -> Vec<Segment> {
    let offset = utterance.span.map_or(0.0, |span| span.start);
    let moved = |word: &Segment| {
        let mut word = word.clone();
        word.start += offset;
        word.end += offset;
        word
    };
    words.iter().map(moved).collect()
}

/// Returns an utterance as a JSON object, with a list of its hypotheses if `hypotheses`.
pub(super) fn as_json(key: &str, recognition: &Recognition, hypotheses: bool) -> Value {
    let word = |word: &Segment| {
        let mut value = json!({ "text": word.text, "start": millis(word.start), "end": millis(word.end) });
        if let Some(confidence) = word.confidence.filter(|confidence| confidence.is_finite()) {
            value["confidence"] = json!(confidence);
        }
        if let Some(peak) = &word.peak {
            value["peak_start"] = json!(millis(peak.start));
            value["peak_end"] = json!(millis(peak.end));
        }
        value
    };
    let nothing = Hypothesis::default();
    let best = recognition.best().unwrap_or(&nothing);
    let mut value = json!({
        "key": key,
        "text": best.text(),
        "words": best.words.iter().map(word).collect::<Vec<_>>(),
    });
    if hypotheses {
        let one = |one: &Hypothesis| json!({ "text": one.text(), "score": one.scores.total() });
        value["hypotheses"] = recognition.hypotheses.iter().map(one).collect();
    }
    value
}

/// Returns the vector of the speaker of an utterance as a JSON object.
fn speaker_as_json((times, speaker): &(Range<f64>, SpeakerVector)) -> Value {
    // As many digits as Vosk writes.
    let values: Vec<f64> = speaker.values.iter().map(|&x| (f64::from(x) * 1e6).round() / 1e6).collect();
    json!({ "start": millis(times.start), "end": millis(times.end), "vector": values, "frames": speaker.num_frames })
}

/// Rounds to milliseconds.
fn millis(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// Returns the key of a line of JSON written by [`Writing::write`].
pub(super) fn key_of(format: Format, line: &str) -> Option<String> {
    if format == Format::Nemo {
        return Some(Utterance::from_nemo(line).ok()?.key);
    }
    let value: Value = serde_json::from_str(line).ok()?;
    Some(value.get("key")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use kaldera::decoder::FrameTimes;
    use kaldera::pipeline::Span;

    use super::*;

    #[test]
    fn keys_that_divide_a_line_are_refused_where_fields_stand_in_lines() {
        let inputs = |key: &str| Inputs::new(vec![Utterance::new(key, "x.wav")]).unwrap();
        let formats = &FORMATS_OF_RECOGNITION;
        let select = |name: &str, output: &str, inputs: &Inputs| Format::select(name, formats, (output, false), inputs);
        for output in ["x.ctm", "x.trn", "x.txt"] {
            for key in ["a b", "a\tb", ""] {
                assert!(matches!(select("", output, &inputs(key)), Err(CliError::Usage(_))), "{output} {key:?}");
            }
            assert!(select("", output, &inputs("a-b")).is_ok());
        }
        assert!(matches!(select("", "x.jsonl", &inputs("a b")), Ok(Format::JsonLines)));
        for name in FORMATS_OF_RECOGNITION {
            assert_eq!(select(name, "", &inputs("a-b")).unwrap().name(), name);
        }
    }

    fn writing(format: Format) -> Writing {
        let (captions, channel) = (CaptionOptions::default(), ChannelChoice::default());
        Writing { format, captions, hypotheses: false, speakers: false, channel }
    }

    #[test]
    fn keys_are_read_again_from_lines_of_json() {
        let (mut line, utterance) = (vec![], Utterance::new("a \"b\"", "x.wav"));
        writing(Format::JsonLines).write(&mut line, &utterance, &Transcript::default()).unwrap();
        let found = key_of(Format::JsonLines, std::str::from_utf8(&line).unwrap().trim_end());
        assert_eq!(found, Some("a \"b\"".to_owned()));
        assert_eq!(key_of(Format::JsonLines, "{\"key\": 3}"), None);
        assert_eq!(key_of(Format::Nemo, "{\"key\": \"a\"}"), None);
    }

    #[test]
    fn ctm_has_the_names_and_times_of_recordings() {
        let words = vec![Segment::new(1, "one", 10..20, &FrameTimes::new(0.1))];
        let mut hypothesis = Hypothesis::default();
        hypothesis.words = words;
        let mut transcript = Transcript::default();
        transcript.recognition.hypotheses = vec![hypothesis];
        let written = |utterance: &Utterance, channel: ChannelChoice| {
            let mut bytes = vec![];
            Writing { channel, ..writing(Format::Ctm) }.write(&mut bytes, utterance, &transcript).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let mut utterance = Utterance::new("u", "x.wav");
        assert_eq!(written(&utterance, ChannelChoice::First), "u 1 1.000 1.000 one\n");
        assert_eq!(written(&utterance, ChannelChoice::One(1)), "u 2 1.000 1.000 one\n");
        utterance.channel = Some(2);
        utterance.recording = Some("call".to_owned());
        utterance.span = Some(Span { start: 5.5, end: None });
        assert_eq!(written(&utterance, ChannelChoice::One(1)), "call 3 6.500 1.000 one\n");
        utterance.channel_name = Some("A".to_owned());
        assert_eq!(written(&utterance, ChannelChoice::Mean), "call A 6.500 1.000 one\n");
    }
}
