//! Entries of NeMo's manifests: one JSON object for each recording, or part of one.
//!
//! ```text
//! {"audio_filepath": "a/b.wav", "offset": 0.5, "duration": 1.5, "text": "one two", ...}
//!   in: key, source, span, text                    out: all of it, and "pred_text"
//! ```

use std::fmt::{self, Write as _};
use std::path::{self, Component, Path, PathBuf};

use kaldi_io::rxfilename::{Rxfilename, classify};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Error;
use crate::pipeline::inputs::{Source, Span, Utterance, key_of};

/// The field of the path, which no other manifest has.
const AUDIO: &str = "audio_filepath";
/// The field of the words that were recognised.
const PREDICTED: &str = "pred_text";

/// Returns `true` for an entry of NeMo's manifests.
pub(super) fn is_one(entry: &Value) -> bool {
    entry.get(AUDIO).is_some()
}

/// Reads an entry, whose relative paths begin at `folder`; `json` is its text. Without an `id` the
/// key is the whole path without its ending, and the times of a segment in milliseconds.
pub(super) fn utterance(entry: &Value, json: &str, folder: &Path) -> Result<Utterance, &'static str> {
    let Some(audio) = entry[AUDIO].as_str().filter(|audio| !audio.is_empty()).map(Path::new) else {
        return Err("its 'audio_filepath' is not the path of one file");
    };
    let seconds = |name: &str| match &entry[name] {
        Value::Null => Ok(None),
        value => value.as_f64().filter(|seconds| *seconds >= 0.0).map(Some).ok_or(()),
    };
    let (Ok(offset), Ok(duration)) = (seconds("offset"), seconds("duration")) else {
        return Err("its 'offset' or 'duration' is no number of seconds");
    };
    let start = offset.unwrap_or(0.0);
    let end = duration.map(|duration| start + duration);
    let key = match entry["id"].as_str() {
        Some(id) if is_key(id) => id.to_owned(),
        _ => {
            // Of the line only, so that each reader makes the same key. Many recordings may have
            // one file name, so that it is no key.
            let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
            let below: PathBuf = audio.components().filter(|part| !is_root(part)).collect();
            let milliseconds = |seconds: f64| format!("-{:07.0}", seconds * 1000.0);
            let times = offset.map(|start| milliseconds(start) + &end.map_or_else(String::new, milliseconds));
            key_of(&below) + &times.unwrap_or_default()
        }
    };
    let span = (offset.is_some() || end.is_some()).then_some(Span { start, end });
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    let json = json.trim();
    let has_breaks = [b'\n', b'\r'].iter().any(|byte| json.as_bytes().contains(byte));
    // JSON has line breaks only between its tokens, where a space means the same.
    let nemo = if has_breaks { json.replace(['\n', '\r'], " ").into() } else { json.into() };
    Ok(Utterance {
        span,
        speaker: text("speaker"),
        text: text("text"),
        nemo: Some(nemo),
        ..Utterance::new(key, folder.join(audio))
    })
}

/// Returns `true` for an `id` that can be a key.
fn is_key(id: &str) -> bool {
    !id.is_empty() && !id.contains(char::is_whitespace)
}

impl Utterance {
    /// Reads a line of NeMo's manifest, whose relative path begins at the current folder.
    ///
    /// # Errors
    /// [`Error::NemoLine`].
    pub fn from_nemo(line: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::NemoLine { reason };
        let entry: Value = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        utterance(&entry, line, Path::new("")).map_err(|reason| wrong(reason.to_owned()))
    }

    /// Returns its line of NeMo's manifest, with the words that were recognised as `pred_text`.
    /// The other fields are as they stood in the manifest that it was listed from. A recording
    /// from elsewhere has the absolute path of its file or its name in an archive, the `offset` of
    /// a part, the `duration`, which is `seconds`, and the `text` if it is known; its `id` is the
    /// key, unless [`from_nemo`](Self::from_nemo) makes the same key of the path.
    ///
    /// ```
    /// use kaldera::pipeline::Utterance;
    ///
    /// let utterance = Utterance::from_nemo(r#"{"audio_filepath": "a.wav", "lang": "en"}"#)?;
    /// assert_eq!(utterance.key, "a");
    /// let line = r#"{"audio_filepath": "a.wav", "lang": "en", "pred_text": "one"}"#;
    /// assert_eq!(utterance.nemo_line(1.5, "one")?, line);
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NemoLine`] for samples in memory, the output of a command, a path that is not
    /// UTF-8, a key with white space, and a channel other than the first.
    pub fn nemo_line(&self, seconds: f64, pred_text: &str) -> Result<String, Error> {
        let wrong = |reason: String| Error::NemoLine { reason };
        let predicted = json!(pred_text);
        if let Some(channel) = self.channel.filter(|&channel| channel > 0) {
            let key = &self.key;
            return Err(wrong(format!("{key}: it is channel {channel}, and a manifest has no channels: write jsonl")));
        }
        if let Some(entry) = &self.nemo {
            let Fields(fields) = serde_json::from_str(entry).map_err(|error| wrong(error.to_string()))?;
            let kept = fields.iter().filter(|(name, _)| name != PREDICTED).map(|(name, value)| (&**name, value.get()));
            return Ok(object(kept.chain([(PREDICTED, &*predicted.to_string())])));
        }
        let Some(path) = self.nemo_path() else {
            let source = &self.source;
            return Err(wrong(format!("{}: '{source}' is not the path of a file: write another format", self.key)));
        };
        let offset = self.span.map(|span| json!(span.start));
        let text = self.text.as_ref().map(|text| json!(text));
        let fields = [(AUDIO, Some(json!(path))), ("offset", offset), ("duration", Some(json!(seconds)))];
        let fields = fields.into_iter().chain([("text", text), (PREDICTED, Some(predicted))]);
        let fields = fields.filter_map(|(name, value)| Some((name, value?.to_string())));
        let fields: Vec<(&str, String)> = fields.collect();
        let line = |fields: &[(&str, String)]| object(fields.iter().map(|(name, value)| (*name, &**value)));
        let without_id = line(&fields);
        if Self::from_nemo(&without_id).is_ok_and(|same| same.key == self.key) {
            return Ok(without_id);
        }
        if !is_key(&self.key) {
            return Err(wrong(format!("'{}' cannot be an 'id': write another format", self.key.escape_debug())));
        }
        Ok(line(&[&[("id", json!(self.key).to_string())], &fields[..]].concat()))
    }

    /// The path of its file for programs that start in any folder, or its name in an archive.
    fn nemo_path(&self) -> Option<String> {
        let absolute = |path: &Path| path::absolute(path).ok()?.to_str().map(str::to_owned);
        match &self.source {
            Source::File(path) => absolute(path),
            Source::Member { name, .. } => Some(name.clone()),
            Source::Script(rxfilename) | Source::FoundScript(rxfilename) => match classify(rxfilename) {
                Ok(Rxfilename::File { path }) => absolute(path.as_ref()),
                _ => None,
            },
            Source::Samples(_) | Source::Missing(_) => None,
        }
    }
}

/// Writes an object of names and values in JSON, as Python's `json.dumps` does.
fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut line = String::from("{");
    for (name, value) in fields {
        let comma = if line.len() > 1 { ", " } else { "" };
        // A string has room for all of it.
        let _ = write!(line, "{comma}{}: {value}", json!(name));
    }
    line + "}"
}

/// The fields of an object in their order, with the texts of their values.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = vec![];
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(InOrder).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pipeline::{Inputs, Recording};

    #[test]
    fn entries_of_nemo_are_files_and_segments_with_their_texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        let lines = [
            r#"{"audio_filepath": "clips/my a.wav", "text": "one two", "duration": 1.5}"#,
            r#"{"audio_filepath": "/data/b.flac", "offset": 0.25, "duration": 2, "text": "", "lang": "en"}"#,
            r#"{"audio_filepath": "c.wav", "offset": 3.5, "id": "c-3", "speaker": "anna"}"#,
            r#"{"audio_filepath": ["a.wav", "b.wav"], "duration": 1}"#,
            r#"{"audio_filepath": "d.wav", "duration": -1}"#,
        ];
        fs::write(&path, lines.join("\n")).unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        let found: Vec<_> = inputs.utterances().iter().map(|one| (&*one.key, one.span, one.text.as_deref())).collect();
        let span = |start, end| Some(Span { start, end });
        assert_eq!(
            found,
            [
                ("clips-my_a", span(0.0, Some(1.5)), Some("one two")),
                ("data-b-0000250-0002250", span(0.25, Some(2.25)), Some("")),
                ("c-3", span(3.5, None), None),
            ]
        );
        assert_eq!(inputs.utterances()[0].source, Source::File(folder.path().join("clips/my a.wav")));
        assert_eq!(inputs.utterances()[1].source, Source::from("/data/b.flac"));
        let errors: Vec<_> = inputs.rejected().iter().map(ToString::to_string).collect();
        assert!(errors[0].contains("json:4: its 'audio_filepath'") && errors[1].contains("json:5: its 'offset'"));
    }

    #[test]
    fn files_of_one_name_have_keys_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        let entries = ["/x/a.wav", "/y/a.wav", "y/b.wav", "b.wav"];
        let entries = entries.map(|path| format!(r#"{{"audio_filepath": "{path}"}}"#));
        fs::write(&path, entries.join("\n")).unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        let keys: Vec<_> = inputs.utterances().iter().map(|one| &*one.key).collect();
        assert_eq!(keys, ["x-a", "y-a", "y-b", "b"], "{:?}", inputs.rejected());
        for (entry, key) in entries.iter().zip(keys) {
            assert_eq!(Utterance::from_nemo(entry).unwrap().key, key);
        }
    }

    #[test]
    fn a_line_has_the_fields_of_its_entry_as_they_stood() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        let entries = [
            r#"{"text": "one \u00fc", "audio_filepath": "a.wav", "duration": 1.50, "n": 12345678901234567890123}"#,
            r#"{"audio_filepath": "b.wav", "pred_text": "old", "offset": 1e0, "x": {"z": [1, null], "a": "\n"}}"#,
        ];
        let expected = [
            r#"{"text": "one \u00fc", "audio_filepath": "a.wav", "duration": 1.50, "n": 12345678901234567890123, "pred_text": "\"new\""}"#,
            r#"{"audio_filepath": "b.wav", "offset": 1e0, "x": {"z": [1, null], "a": "\n"}, "pred_text": "\"new\""}"#,
        ];
        let list = format!("[{}]", entries.join(",\r\n")).replace(", \"offset\"", ",\n\"offset\"");
        for text in [entries.join("\n"), list] {
            fs::write(&path, text).unwrap();
            let inputs = Inputs::from_paths([&path]).unwrap();
            let lines = inputs.utterances().iter().map(|one| one.nemo_line(9.0, "\"new\"").unwrap());
            assert_eq!(lines.collect::<Vec<_>>(), expected);
            for (one, line) in inputs.utterances().iter().zip(expected) {
                assert_eq!(Utterance::from_nemo(line).unwrap().key, one.key);
            }
        }
    }

    #[test]
    fn a_recording_without_an_entry_has_a_line_that_gives_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let line = |utterance: &Utterance| utterance.nemo_line(1.5, "one").unwrap();
        let flat = line(&Utterance::new("a", Path::new(&at("a.wav"))));
        let expected =
            format!(r#"{{"id": "a", "audio_filepath": "{}", "duration": 1.5, "pred_text": "one"}}"#, at("a.wav"));
        assert_eq!(flat, expected);
        // The key of its path.
        let without_id = flat.replace(r#""id": "a", "#, "");
        let key = Utterance::from_nemo(&without_id).unwrap().key;
        assert_eq!(line(&Utterance::new(key, Path::new(&at("a.wav")))), without_id);
        let mut part = Utterance::new("u", Source::Script(at("a.wav")));
        (part.span, part.text) = (Some(Span { start: 0.5, end: None }), Some("two".to_owned()));
        let expected = format!(
            r#"{{"id": "u", "audio_filepath": "{}", "offset": 0.5, "duration": 1.5, "text": "two", "pred_text": "one"}}"#,
            at("a.wav")
        );
        assert_eq!(line(&part), expected);
        assert_eq!(Utterance::from_nemo(&expected).unwrap().key, "u");
        let relative = line(&Utterance::new("a", "a.wav"));
        assert!(Utterance::from_nemo(&relative).unwrap().source.path().unwrap().is_absolute(), "{relative}");
        let (archive, name) = ("x.tar".into(), "../b/c.wav".to_owned());
        let member = Utterance::new("b-c", Source::Member { archive, name, offset: 512, len: 9 });
        assert!(line(&member).starts_with(r#"{"id": "b-c", "audio_filepath": "../b/c.wav", "#));
        let samples = Recording::from_i16(vec![0; 800], 8000.0);
        for (utterance, reason) in [
            (Utterance::new("a", Source::Script("sox a.flac -t wav - |".to_owned())), "not the path of a file"),
            (Utterance::new("a", samples), "not the path of a file"),
            (Utterance::new("a b", Path::new("a.wav")), "cannot be an 'id'"),
        ] {
            let error = utterance.nemo_line(1.5, "").unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_line_that_is_none_is_an_error() {
        for (line, reason) in [
            ("", "EOF"),
            ("[]", "'audio_filepath'"),
            (r#"{"audio_filepath": 3}"#, "'audio_filepath'"),
            (r#"{"audio_filepath": "a.wav", "offset": "x"}"#, "'offset'"),
        ] {
            let error = Utterance::from_nemo(line).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
