//! Manifests of lhotse, recordings or cuts, and of NeMo: one entry as JSON on each line, or all as
//! one list, plain or gzipped.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;

use kaldi_io::lines::{LineError, Lines};
use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Error;
use crate::pipeline::inputs::{Inputs, Source, Span, Utterance, nemo};
use crate::text::uncompressed;

/// Returns `true` if the name has the extension of a manifest.
pub(super) fn is_one(path: &Path) -> bool {
    has_ending(path, &["json", "jsonl"]) || is_yaml(path)
}

fn is_yaml(path: &Path) -> bool {
    has_ending(path, &["yaml", "yml"])
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

/// The most bytes of a line: a cut may have many supervisions, and other people's fields.
const LONGEST: usize = 1 << 24;

/// Lists the recordings or cuts of `path`.
pub(super) fn add(path: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    for_each_entry(path, inputs, &mut |entry, text| utterance(entry, text, path))
}

/// Makes an utterance of an entry and its text; the error describes the part that cannot be used.
type Make<'a> = &'a mut dyn FnMut(&Value, &str) -> Result<Utterance, &'static str>;

/// Adds an utterance for each entry of a manifest, and rejects the entries that give none.
pub(super) fn for_each_entry(path: &Path, inputs: &mut Inputs, make: Make<'_>) -> Result<(), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    if is_yaml(path) {
        let remedy = "a manifest in YAML is not read: make JSON lines of it, with 'lhotse copy IN OUT.jsonl'";
        return Err(unreadable(io::Error::new(io::ErrorKind::Unsupported, remedy)));
    }
    let mut file = uncompressed(File::open(path).map_err(unreadable)?).map_err(unreadable)?;
    if is_list(&mut file).map_err(unreadable)? {
        add_all(path, file, inputs, make);
        return Ok(());
    }
    let mut lines = Lines::new(file).with_longest(LONGEST);
    while let Some(text) = lines.next() {
        let line = lines.number();
        let wrong = |reason: &str| Error::ManifestLine { path: path.to_owned(), line, reason: reason.to_owned() };
        let text = match text {
            Ok(text) => text,
            // The entries before the error are good.
            Err(LineError::Read(source)) => {
                inputs.reject(unreadable(source));
                break;
            }
            Err(source) => {
                inputs.reject(Error::Line { path: path.to_owned(), line, source });
                continue;
            }
        };
        if text.trim().is_empty() {
            continue;
        }
        let entry = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()));
        match entry.and_then(|entry: Value| make(&entry, &text).map_err(wrong)) {
            Ok(utterance) => inputs.utterances.push(utterance),
            Err(error) => inputs.reject(error),
        }
    }
    Ok(())
}

/// Returns `true` if the file is one JSON list; JSON lines begin with an object. A byte order
/// mark and white space before it are skipped.
fn is_list(file: &mut dyn BufRead) -> io::Result<bool> {
    loop {
        let begin = file.fill_buf()?;
        match begin.first() {
            Some(0xEF | 0xBB | 0xBF | b' ' | b'\t' | b'\r' | b'\n') => file.consume(1),
            first => return Ok(first == Some(&b'[')),
        }
    }
}

/// Adds the entries of one list, with one entry in memory at a time.
fn add_all(path: &Path, file: impl BufRead, inputs: &mut Inputs, make: Make<'_>) {
    struct Entries<'a> {
        path: &'a Path,
        inputs: &'a mut Inputs,
        make: Make<'a>,
    }

    impl<'de> Visitor<'de> for Entries<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of recordings or cuts")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
            let mut number = 0;
            while let Some(text) = entries.next_element::<Box<RawValue>>()? {
                number += 1;
                let entry = serde_json::from_str::<Value>(text.get()).map_err(|error| error.to_string());
                match entry.and_then(|entry| (self.make)(&entry, text.get()).map_err(|reason| reason.to_string())) {
                    Ok(utterance) => self.inputs.utterances.push(utterance),
                    Err(reason) => {
                        let source = io::Error::new(io::ErrorKind::InvalidData, format!("entry {number}: {reason}"));
                        self.inputs.reject(Error::Read { path: self.path.to_owned(), source });
                    }
                }
            }
            Ok(())
        }
    }

    let mut json = serde_json::Deserializer::from_reader(file);
    let read = json.deserialize_seq(Entries { path, inputs, make }).and_then(|()| json.end());
    // The entries before the error are good.
    if let Err(error) = read {
        inputs.reject(Error::Read { path: path.to_owned(), source: error.into() });
    }
}

/// Reads an entry of the manifest `path`; the error describes the part that cannot be used.
fn utterance(entry: &Value, text: &str, path: &Path) -> Result<Utterance, &'static str> {
    if nemo::is_one(entry) {
        return nemo::utterance(entry, text, path.parent().unwrap_or(Path::new("")));
    }
    let id = id_of(entry)?;
    if entry.get("sources").is_some() {
        return Ok(Utterance { channel: only_channel(&entry["channel_ids"]), ..Utterance::new(id, source(entry)?) });
    }
    if entry.get("tracks").is_some() {
        return Err("a mixed cut has no recording of its own: lhotse must make one of it first (save_audios)");
    }
    if entry.get("recording").is_none() {
        return Err("it is neither a recording ('sources') nor a cut of one ('recording')");
    }
    cut(entry, None)
}

fn id_of(entry: &Value) -> Result<&str, &'static str> {
    let id = entry["id"].as_str().filter(|id| !id.is_empty() && !id.contains(char::is_whitespace));
    id.ok_or("it has no 'id' without white space")
}

/// Reads a cut of a recording, which is at `found` if the cut does not say where.
pub(super) fn cut(entry: &Value, found: Option<Source>) -> Result<Utterance, &'static str> {
    let id = id_of(entry)?;
    let (Some(start), Some(duration)) = (entry["start"].as_f64(), entry["duration"].as_f64()) else {
        return Err("the cut has no 'start' and 'duration'");
    };
    let channel = match &entry["channel"] {
        Value::Array(channels) => match channels.as_slice() {
            [channel] => channel,
            _ => return Err("a cut of several channels has no one matrix of features"),
        },
        channel => channel,
    };
    let channel = match (channel, channel.as_u64().and_then(|channel| usize::try_from(channel).ok())) {
        (Value::Null, _) => None,
        (_, Some(channel)) => Some(channel),
        (_, None) => return Err("its 'channel' is no number from 0"),
    };
    let speaker = entry["supervisions"][0]["speaker"].as_str().map(str::to_owned);
    // Of all its segments, in their order.
    let texts = entry["supervisions"].as_array().into_iter().flatten().filter_map(|one| one["text"].as_str());
    let texts: Vec<&str> = texts.collect();
    let text = (!texts.is_empty()).then(|| texts.join(" "));
    let span = Some(Span { start, end: Some(start + duration) });
    let recording = entry["recording"]["id"].as_str().map(str::to_owned);
    let source = found.map_or_else(|| source(&entry["recording"]), Ok)?;
    Ok(Utterance { span, channel, speaker, text, recording, ..Utterance::new(id, source) })
}

fn only_channel(channels: &Value) -> Option<usize> {
    match channels.as_array()?.as_slice() {
        [channel] => usize::try_from(channel.as_u64()?).ok(),
        _ => None,
    }
}

fn source(recording: &Value) -> Result<Source, &'static str> {
    if recording["transforms"].as_array().is_some_and(|transforms| !transforms.is_empty()) {
        return Err("its recording is to be transformed, which lhotse must do first (save_audios)");
    }
    let Some([source]) = recording["sources"].as_array().map(Vec::as_slice) else {
        return Err("its recording does not have just one source");
    };
    match (source["type"].as_str(), source["source"].as_str()) {
        (Some("file"), Some(path)) => Ok(Source::File(path.into())),
        (Some("command"), Some(command)) => Ok(Source::Script(format!("{command} |"))),
        _ => Err("its source is neither a 'file' nor a 'command'"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const RECORDING: &str = r#"{"id": "rec", "sources": [{"type": "file", "channels": [0], "source": "a/b.flac"}], "sampling_rate": 16000, "num_samples": 32000, "duration": 2.0, "channel_ids": [0]}"#;

    #[test]
    fn recordings_and_cuts_are_listed_plain_or_gzipped() {
        let folder = tempfile::tempdir().unwrap();
        let cut = format!(
            r#"{{"id": "cut-1", "start": 0.5, "duration": 1.25, "channel": 0, "supervisions": [{{"id": "s", "speaker": "anna"}}], "recording": {RECORDING}, "type": "MonoCut"}}"#
        );
        let plain = folder.path().join("cuts.jsonl");
        fs::write(&plain, format!("{RECORDING}\n{cut}\n")).unwrap();
        let utterances = Inputs::from_paths([&plain]).unwrap().utterances().to_vec();
        assert_eq!(utterances[0].key, "rec");
        assert_eq!((&utterances[0].source, utterances[0].span), (&Source::File("a/b.flac".into()), None));
        assert_eq!(utterances[1].span, Some(Span { start: 0.5, end: Some(1.75) }));
        assert_eq!((utterances[1].speaker.as_deref(), utterances[1].channel), (Some("anna"), Some(0)));

        let gzipped = folder.path().join("cuts.jsonl.gz");
        let mut encoder = GzEncoder::new(fs::File::create(&gzipped).unwrap(), Compression::fast());
        encoder.write_all(&fs::read(&plain).unwrap()).unwrap();
        encoder.finish().unwrap();
        assert_eq!(Inputs::from_paths([&gzipped]).unwrap().utterances(), utterances);
    }

    #[test]
    fn what_cannot_be_done_is_told_with_its_line_and_does_not_end_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let cut = |channel: &str| {
            format!(r#"{{"id": "c", "start": 0, "duration": 1, "channel": {channel}, "recording": {RECORDING}}}"#)
        };
        for (line, reason) in [
            ("{", "EOF"),
            (r#"{"id": "a b", "sources": []}"#, "'id'"),
            (r#"{"id": "a"}"#, "neither"),
            (r#"{"id": "a", "tracks": []}"#, "mixed cut"),
            (&cut("[0, 1]"), "several channels"),
            (&cut("-1"), "'channel'"),
            (r#"{"id": "a", "sources": [{"type": "memory", "source": ""}]}"#, "'command'"),
            (r#"{"id": "a", "sources": []}"#, "one source"),
            (&RECORDING.replace(r#""duration""#, r#""transforms": [{"name": "Speed"}], "duration""#), "transformed"),
        ] {
            let last = RECORDING.replace(r#""rec""#, r#""last""#);
            fs::write(&path, format!("\u{feff}{RECORDING}\r\n{line}\r\n{last}\r\n")).unwrap();
            let inputs = Inputs::from_paths([&path]).unwrap();
            let keys: Vec<_> = inputs.utterances().iter().map(|utterance| utterance.key.as_str()).collect();
            assert_eq!((keys, inputs.rejected().len()), (vec!["rec", "last"], 1), "{reason}");
            let error = inputs.rejected()[0].to_string();
            assert!(error.contains("x.jsonl:2") && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn one_list_of_json_is_read_as_its_entries_on_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recordings.json");
        let second = RECORDING.replace(r#""rec""#, r#""second""#);
        fs::write(&path, format!("\u{feff}[\n  {RECORDING},\n {{\"id\": \"a\"}}, {second}\n]\n")).unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        let keys: Vec<_> = inputs.utterances().iter().map(|utterance| utterance.key.as_str()).collect();
        assert_eq!((keys, inputs.rejected().len()), (vec!["rec", "second"], 1));
        let error = inputs.rejected()[0].to_string();
        assert!(error.contains("recordings.json: entry 2: it is neither"), "{error}");
        // Cut short.
        fs::write(&path, format!("[{RECORDING}, {{\"id\": ")).unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        assert_eq!((inputs.len(), inputs.rejected().len()), (1, 1));
        assert!(inputs.rejected()[0].to_string().contains("EOF"), "{:?}", inputs.rejected());
        // Lines under this name.
        fs::write(&path, format!("{RECORDING}\n{second}\n")).unwrap();
        assert_eq!(Inputs::from_paths([&path]).unwrap().len(), 2);
        fs::write(&path, "[]").unwrap();
        assert!(matches!(Inputs::from_paths([&path]), Err(Error::EmptyInput { .. })));
        for name in ["cuts.yaml", "cuts.yml.gz"] {
            let error = Inputs::from_paths([folder.path().join(name)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("lhotse copy IN OUT.jsonl"), "{error}");
        }
    }

    #[test]
    fn a_manifest_that_swells_is_refused_with_the_limit_after_what_is_good() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl.gz");
        let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
        encoder.write_all(format!("{RECORDING}\n").as_bytes()).unwrap();
        let blank = vec![b'\n'; 1 << 22];
        for _ in 0..9 {
            encoder.write_all(&blank).unwrap();
        }
        encoder.finish().unwrap();
        let inputs = Inputs::from_paths([&path]).unwrap();
        assert_eq!(inputs.len(), 1);
        let error = inputs.rejected()[0].to_string();
        assert!(error.contains("33554432 bytes"), "{error}");
    }
}
