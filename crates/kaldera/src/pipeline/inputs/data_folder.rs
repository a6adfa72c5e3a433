//! Kaldi's data folder: recordings in `wav.scp`, parts of them in `segments`, speakers in
//! `utt2spk`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use kaldi_io::rxfilename::Input;
use kaldi_io::segments::{Segment, Segments};

use crate::Error;
use crate::pipeline::inputs::{Inputs, Source, Span, Utterance, add_folder, add_script_of, for_each_line};

/// The file that makes a folder a data folder.
pub(super) const RECORDINGS: &str = "wav.scp";

/// Lists the utterances of `folder`. Names of files in it are relative to the working directory,
/// as in Kaldi.
pub(super) fn add(folder: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    let begin = inputs.utterances.len();
    add_script_of(&folder.join(RECORDINGS), inputs, Source::FoundScript)?;
    warn_of_unnamed(folder, &inputs.utterances[begin..])?;
    let segments = folder.join("segments");
    if segments.is_file() {
        inputs.reject_known_keys(begin);
        let recordings: HashMap<_, _> =
            inputs.utterances.drain(begin..).map(|recording| (recording.key, recording.source)).collect();
        let num_rejected = inputs.num_rejected;
        for segment in Segments::new(Input::open_path(&segments)?) {
            let Segment { key, recording, start, end, channel, .. } = match segment {
                Ok(segment) => segment,
                Err(line @ (kaldi_io::Error::Segment { .. } | kaldi_io::Error::LongLine { .. })) => {
                    inputs.reject(line.into());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let source = recordings.get(&recording).cloned().unwrap_or_else(|| Source::Missing(recording.clone()));
            let (span, recording) = (Some(Span { start, end }), Some(recording));
            inputs.utterances.push(Utterance { span, channel, recording, ..Utterance::new(key, source) });
        }
        if inputs.utterances.len() == begin && inputs.num_rejected == num_rejected {
            return Err(Error::EmptyInput { path: segments });
        }
    }
    let utt2spk = folder.join("utt2spk");
    if utt2spk.is_file() {
        let speakers = table(&utt2spk, inputs)?;
        for utterance in &mut inputs.utterances[begin..] {
            utterance.speaker = speakers.get(&utterance.key).map(|(_, speaker)| speaker.clone());
        }
    }
    let names = folder.join("reco2file_and_channel");
    if names.is_file() {
        let names = table(&names, inputs)?;
        for utterance in &mut inputs.utterances[begin..] {
            let recording = utterance.recording.as_ref().unwrap_or(&utterance.key);
            let Some((_, name)) = names.get(recording) else { continue };
            let mut fields = name.split_ascii_whitespace().map(str::to_owned);
            (utterance.recording, utterance.channel_name) = (fields.next(), fields.next());
        }
    }
    Ok(())
}

/// Warns of the audio files in `folder` that no line of its `wav.scp` has the name of.
fn warn_of_unnamed(folder: &Path, recordings: &[Utterance]) -> Result<(), Error> {
    let mut files = Inputs::default();
    add_folder(folder, &mut files)?;
    if files.utterances.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = recordings.iter().map(|recording| recording.source.to_string()).collect();
    let is_named = |file: &Utterance| {
        let path = file.source.to_string();
        let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
        lines.iter().any(|line| line.contains(&*name))
    };
    let unnamed: Vec<_> = files.utterances.iter().filter(|file| !is_named(file)).collect();
    if let [first, ..] = &unnamed[..] {
        tracing::warn!(
            "{} of the {} audio files in {} are not in its {RECORDINGS} and are not read, such as {}; to read them, \
             name them",
            unnamed.len(),
            files.utterances.len(),
            folder.display(),
            first.source
        );
    }
    Ok(())
}

/// The rest of each line of a table behind its key, and the line's number. Later lines of a key are
/// rejected.
fn table(path: &Path, inputs: &mut Inputs) -> Result<HashMap<String, (u64, String)>, Error> {
    let mut found = HashMap::new();
    for_each_line(path, inputs, |number, line, inputs| {
        let (key, rest) = line.split_once(|c: char| c.is_ascii_whitespace())?;
        match found.entry(key.to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert((number, rest.trim_start().to_owned()));
            }
            Entry::Occupied(entry) => {
                let (path, key, first) = (path.to_owned(), key.to_owned(), entry.get().0);
                inputs.reject(Error::RepeatedLine { path, line: number, key, first });
            }
        }
        Some(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn segments_and_speakers_are_those_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("wav.scp", "rec1 a.wav\nrec2 sox b.flac -t wav - |\n");
        let list = || Inputs::from_paths([folder.path()]).map(|inputs| inputs.utterances().to_vec());
        assert_eq!(list().unwrap().len(), 2);

        write("segments", "u1 rec2 0.5 2.25\nu2 rec1 1 -1 1\nu3 rec9 0 1\n");
        write("utt2spk", "u1 anna\nu2 ben\n");
        let utterances = list().unwrap();
        assert_eq!(utterances[0].source, Source::FoundScript("sox b.flac -t wav - |".into()));
        assert_eq!(utterances[0].span, Some(Span { start: 0.5, end: Some(2.25) }));
        assert_eq!((utterances[1].span.unwrap().end, utterances[1].channel), (None, Some(1)));
        assert_eq!(utterances[1].speaker.as_deref(), Some("ben"));
        assert_eq!((&utterances[2].source, &utterances[2].speaker), (&Source::Missing("rec9".into()), &None));

        assert_eq!(utterances[0].recording.as_deref(), Some("rec2"));

        write("reco2file_and_channel", "rec2 call7 B\nrec9 call8 A\n");
        let utterances = list().unwrap();
        let names = utterances.iter().map(|one| (one.recording.as_deref(), one.channel_name.as_deref()));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [(Some("call7"), Some("B")), (Some("rec1"), None), (Some("call8"), Some("A"))]
        );

        for again in ["u1 ben", "u1 anna"] {
            write("utt2spk", &format!("u1 anna\nu2 ben\n{again}\n"));
            let inputs = Inputs::from_paths([folder.path()]).unwrap();
            assert_eq!(inputs.utterances()[0].speaker.as_deref(), Some("anna"));
            let error = inputs.rejected()[0].to_string();
            assert!(error.contains("utt2spk:3: the key 'u1' stands in line 1 already"), "{error}");
        }
        write("utt2spk", "u1 anna\nu2 ben\n");

        write("wav.scp", "rec1 a.wav\nrec2 b.wav\nrec1 c.wav\n");
        let inputs = Inputs::from_paths([folder.path()]).unwrap();
        assert_eq!(inputs.utterances()[1].source, Source::FoundScript("a.wav".into()));
        let error = inputs.rejected()[0].to_string();
        assert!(error.starts_with("c.wav") && error.contains("'rec1'") && error.contains("a.wav"), "{error}");
        write("wav.scp", "rec1 a.wav\nrec2 b.wav\n");

        for wrong in ["u1 rec1 0.5", "u1 rec1 a b", "u1 rec1 0 1 0 0", ""] {
            write("segments", &format!("\u{feff}u0 rec1 0 1\r\n{wrong}\r\nu2 rec1 1 2\r\n"));
            let inputs = Inputs::from_paths([folder.path()]).unwrap();
            let keys: Vec<_> = inputs.utterances().iter().map(|utterance| utterance.key.as_str()).collect();
            assert_eq!((keys, inputs.rejected().len()), (vec!["u0", "u2"], 1));
            let error = inputs.rejected()[0].to_string();
            assert!(error.contains("segments, line 2") && error.contains(wrong), "{error}");
        }
    }
}
