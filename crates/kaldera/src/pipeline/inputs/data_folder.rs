//! Kaldi's data folder: recordings in `wav.scp`, parts of them in `segments`, speakers in `utt2spk`.

use std::collections::HashMap;
use std::path::Path;

use super::{Source, Span, Utterance, add_script, for_each_line};
use crate::Error;

/// The file that makes a folder a data folder.
pub(super) const RECORDINGS: &str = "wav.scp";

/// Lists the utterances of `folder`. Names of files in it are relative to where the program runs, as in Kaldi.
pub(super) fn add(folder: &Path, utterances: &mut Vec<Utterance>) -> Result<(), Error> {
    let begin = utterances.len();
    add_script(&folder.join(RECORDINGS), utterances)?;
    let segments = folder.join("segments");
    if segments.is_file() {
        let recordings: HashMap<_, _> =
            utterances.drain(begin..).map(|recording| (recording.key, recording.source)).collect();
        for_each_line(&segments, |line| {
            utterances.push(segment(line, &recordings)?);
            Some(())
        })?;
        if utterances.len() == begin {
            return Err(Error::EmptyInput { path: segments });
        }
    }
    let utt2spk = folder.join("utt2spk");
    if utt2spk.is_file() {
        let mut speakers = HashMap::new();
        for_each_line(&utt2spk, |line| {
            let (utterance, speaker) = line.split_once(|c: char| c.is_ascii_whitespace())?;
            speakers.insert(utterance.to_owned(), speaker.trim_start().to_owned());
            Some(())
        })?;
        for utterance in &mut utterances[begin..] {
            utterance.speaker = speakers.get(&utterance.key).cloned();
        }
    }
    Ok(())
}

/// Reads `UTTERANCE RECORDING START END [CHANNEL]`; an end of -1 is that of the recording.
fn segment(line: &str, recordings: &HashMap<String, Source>) -> Option<Utterance> {
    let fields: Vec<_> = line.split_ascii_whitespace().collect();
    let (&[key, recording, start, end], channel) = fields.split_first_chunk()?;
    let source = recordings.get(recording).cloned().unwrap_or_else(|| Source::Missing(recording.to_owned()));
    let (start, end): (f64, f64) = (start.parse().ok()?, end.parse().ok()?);
    let channel = match channel {
        [] => None,
        [channel] => Some(channel.parse().ok()?),
        _ => return None,
    };
    let span = Some(Span { start, end: (end != -1.0).then_some(end) });
    Some(Utterance { span, channel, ..Utterance::new(key, source) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pipeline::Inputs;

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
        assert_eq!(utterances[0].source, Source::Script("sox b.flac -t wav - |".into()));
        assert_eq!(utterances[0].span, Some(Span { start: 0.5, end: Some(2.25) }));
        assert_eq!((utterances[1].span.unwrap().end, utterances[1].channel), (None, Some(1)));
        assert_eq!(utterances[1].speaker.as_deref(), Some("ben"));
        assert_eq!((&utterances[2].source, &utterances[2].speaker), (&Source::Missing("rec9".into()), &None));

        for wrong in ["u1 rec1 0.5", "u1 rec1 a b", "u1 rec1 0 1 0 0"] {
            write("segments", wrong);
            assert!(matches!(list(), Err(Error::ScriptLine { line: 1, .. })), "{wrong}");
        }
    }
}
