//! Files of transcripts.

use std::io::{self, Write};
use std::path::Path;

use kaldera::decoder::align::{write_ctm, write_srt, write_text_grid, write_vtt};
use kaldera::decoder::{Hypothesis, Segment};
use kaldera::pipeline::Inputs;
use kaldera::recognizer::Transcript;
use serde_json::{Value, json};

use super::Trouble;

/// The endings that tell a format.
const ENDINGS: &str = "\
.jsonl (a JSON object for each recording, with words, times and hypotheses), .ctm, .trn, .txt or .text (Kaldi's: KEY \
and words); of a single recording .srt, .vtt or .TextGrid";

/// How many words a subtitle has at most.
const WORDS_OF_SUBTITLE: usize = 10;

/// The names that tell a format, as endings do.
pub(super) const FORMATS: [&str; 7] = ["text", "jsonl", "ctm", "trn", "srt", "vtt", "TextGrid"];

/// What help texts say about formats.
pub(super) fn about_formats() -> String {
    format!("OUT ends in {ENDINGS}. --format names one of them for standard output, or for any other OUT.")
}

/// What a file of transcripts is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    JsonLines,
    Ctm,
    Srt,
    Vtt,
    TextGrid,
    Trn,
    Text,
}

impl Format {
    /// As `name` says, or else the ending of an output; it must have a place for the inputs.
    pub(super) fn of(name: &str, output: &str, inputs: &Inputs) -> Result<Self, Trouble> {
        let recordings = inputs.len();
        let ending = Path::new(output).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let (name, option) =
            if name.is_empty() { (ending, format!("-o {output}")) } else { (name, format!("--format={name}")) };
        let format = match name.to_ascii_lowercase().as_str() {
            "jsonl" | "json" => Self::JsonLines,
            "ctm" => Self::Ctm,
            "srt" => Self::Srt,
            "vtt" => Self::Vtt,
            "textgrid" => Self::TextGrid,
            "trn" => Self::Trn,
            "txt" | "text" => Self::Text,
            _ if option.starts_with("-o") => {
                return Err(Trouble::Usage(format!("{option}: the ending must tell the format: {ENDINGS}")));
            }
            _ => {
                let formats = FORMATS.join(", ");
                return Err(Trouble::Usage(format!("{option}: that is none of the formats {formats}")));
            }
        };
        if recordings > 1 && matches!(format, Self::Srt | Self::Vtt | Self::TextGrid) {
            return Err(Trouble::Usage(format!(
                "{option}: such a file is of one recording, and there are {recordings}: write .jsonl or .ctm"
            )));
        }
        let divides = |key: &&str| key.is_empty() || key.contains(|c: char| c.is_whitespace() || c.is_control());
        let mut keys = inputs.utterances().iter().map(|utterance| utterance.key.as_str());
        if let (Self::Ctm | Self::Trn | Self::Text, Some(key)) = (format, keys.find(divides)) {
            let key = key.escape_debug();
            return Err(Trouble::Usage(format!(
                "{option}: '{key}' cannot be a key there, as white space divides the fields: write .jsonl"
            )));
        }
        Ok(format)
    }

    /// Writes the transcript of a recording.
    pub(super) fn write(self, out: &mut dyn Write, key: &str, transcript: &Transcript) -> io::Result<()> {
        let nothing = Hypothesis::default();
        let best = transcript.recognition.best().unwrap_or(&nothing);
        let text = best.text();
        match self {
            Self::JsonLines => writeln!(out, "{}", as_json(key, transcript)),
            Self::Ctm => write_ctm(out, key, "1", &best.words),
            Self::Srt => write_srt(out, &best.words, WORDS_OF_SUBTITLE),
            Self::Vtt => write_vtt(out, &best.words, WORDS_OF_SUBTITLE),
            // The last frame may reach beyond the last sample.
            Self::TextGrid => {
                let end = best.words.last().map_or(0.0, |word| word.end);
                write_text_grid(out, transcript.seconds.max(end), &[("words", &best.words)])
            }
            Self::Trn => writeln!(out, "{text} ({key})"),
            Self::Text => writeln!(out, "{}", format!("{key} {text}").trim_end()),
        }
    }
}

fn as_json(key: &str, transcript: &Transcript) -> Value {
    let word = |word: &Segment| {
        let mut value = json!({ "text": word.text, "start": millis(word.start), "end": millis(word.end) });
        if let Some(confidence) = word.confidence.filter(|confidence| confidence.is_finite()) {
            value["confidence"] = json!(confidence);
        }
        value
    };
    let nothing = Hypothesis::default();
    let best = transcript.recognition.best().unwrap_or(&nothing);
    let mut value = json!({
        "key": key,
        "text": best.text(),
        "seconds": millis(transcript.seconds),
        "words": best.words.iter().map(word).collect::<Vec<_>>(),
    });
    if transcript.recognition.hypotheses.len() > 1 {
        let one = |one: &Hypothesis| json!({ "text": one.text(), "score": one.scores.total() });
        value["hypotheses"] = transcript.recognition.hypotheses.iter().map(one).collect();
    }
    value
}

/// To the millisecond.
fn millis(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// The key of a line of JSON that [`Format::write`] has written.
pub(super) fn key_of(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    Some(value.get("key")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use kaldera::pipeline::Utterance;

    use super::*;

    #[test]
    fn keys_that_divide_a_line_are_refused_where_fields_stand_in_lines() {
        let inputs = |key: &str| Inputs::new(vec![Utterance::new(key, "x.wav")]).unwrap();
        for output in ["x.ctm", "x.trn", "x.txt"] {
            for key in ["a b", "a\tb", ""] {
                assert!(matches!(Format::of("", output, &inputs(key)), Err(Trouble::Usage(_))), "{output} {key:?}");
            }
            assert!(Format::of("", output, &inputs("a-b")).is_ok());
        }
        assert!(matches!(Format::of("", "x.jsonl", &inputs("a b")), Ok(Format::JsonLines)));
        for name in FORMATS {
            assert!(Format::of(name, "", &inputs("a-b")).is_ok(), "{name}");
        }
        let mut line = vec![];
        Format::JsonLines.write(&mut line, "a \"b\"", &Transcript::default()).unwrap();
        assert_eq!(key_of(std::str::from_utf8(&line).unwrap().trim_end()), Some("a \"b\"".to_owned()));
        assert_eq!(key_of("{\"key\": 3}"), None);
    }
}
