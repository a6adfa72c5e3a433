//! The whole of Vosk's recogniser: from samples to JSON.

use std::path::Path;
use std::sync::Arc;

use kaldera::io::wave::WaveData;
use kaldera::kaldi_online::{OnlineModel, OnlineModelOptions, OnlineRecognizer, OnlineResult};
use serde_json::Value;

use crate::stage::{LeftOut, Part};
use crate::verdict::caught;
use crate::vosk_decoding::{fault, model_folder, read_json};
use crate::vosk_results::{Comparison, verdicts};
use crate::{Settings, Stop, Verdict};

/// Samples that arrive at once, unless the mode has its own number.
const CHUNK: usize = 4000;

/// A way to feed a recogniser and to ask for results.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    chunk: usize,
    partials: bool,
    partial_words: bool,
    alternatives: usize,
    nlsml: bool,
}

const fn mode(name: &'static str, chunk: usize) -> Mode {
    Mode { name, chunk, partials: false, partial_words: false, alternatives: 0, nlsml: false }
}

const MODES: [Mode; 5] = [
    mode("whole", usize::MAX),
    mode("chunk4000", CHUNK),
    Mode { partials: true, ..mode("chunk1600_partials", 1600) },
    Mode { partials: true, partial_words: true, ..mode("chunk4000_partial_words", CHUNK) },
    Mode { alternatives: 5, ..mode("alternatives5", CHUNK) },
];

/// Kinds of `libvosk-extra.json`, by the beginning of their names.
const EXTRAS: [Mode; 4] = [
    mode("grammar", CHUNK),
    Mode { alternatives: 10, ..mode("alternatives10", CHUNK) },
    Mode { alternatives: 3, nlsml: true, ..mode("nlsml3", CHUNK) },
    mode("one-recognizer-three-files", CHUNK),
];

fn open() -> Result<Arc<OnlineModel>, LeftOut> {
    OnlineModel::open(model_folder()?, &OnlineModelOptions::default()).map(Arc::new).map_err(fault)
}

/// Stage `vosk/chain`: recordings in all ways of `libvosk-dither-0.json`.
pub(crate) fn chain(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let model = open()?;
    let answers = read_json(&folder.join("libvosk-dither-0.json"))?;
    let mut parts = Vec::new();
    for mode in MODES {
        let cases = answers.iter().map(|(name, answer)| {
            let answer = &answer[mode.name];
            Case { id: format!("{name}, {}", mode.name), recordings: vec![name], answers: vec![answer], grammar: None }
        });
        parts.extend(judged(&model, folder, mode, cases));
    }
    Ok(parts)
}

/// Stage `vosk/extra`: grammars, alternatives, NLSML, and several recordings in one recogniser.
pub(crate) fn extra(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let model = open()?;
    let answers = read_json(&folder.join("libvosk-extra.json"))?;
    let mut parts = Vec::new();
    for mode in EXTRAS {
        let cases = answers.iter().filter(|(name, _)| name.split('/').next() == Some(mode.name));
        let cases = cases.map(|(name, answer)| {
            let recordings: Vec<_> = name.rsplit('/').next().unwrap_or_default().split(',').collect();
            let out = &answer["out"];
            let answers =
                if recordings.len() == 1 { vec![out] } else { out.as_array().into_iter().flatten().collect() };
            Case { id: name.clone(), recordings, answers, grammar: answer["grammar"].as_str() }
        });
        parts.extend(judged(&model, folder, mode, cases));
    }
    Ok(parts)
}

/// Recordings for one recogniser, with the answer for each.
struct Case<'a> {
    id: String,
    recordings: Vec<&'a str>,
    answers: Vec<&'a Value>,
    /// A list of phrases as JSON.
    grammar: Option<&'a str>,
}

/// Runs the cases that one rule binds.
fn judged<'a>(model: &Arc<OnlineModel>, folder: &Path, mode: Mode, cases: impl Iterator<Item = Case<'a>>) -> Vec<Part> {
    let (mut parts, mut ids, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases {
        let audio: Vec<_> = case.recordings.iter().map(|name| folder.join(format!("audio/{name}.wav"))).collect();
        if !audio.iter().all(|audio| audio.is_file()) {
            parts.push(Part::left_out(case.id, "its recording may not be copied".to_owned()));
            continue;
        }
        let compared = || {
            let mut comparison = Comparison::default();
            let mut recognizer = None;
            for (audio, answer) in audio.iter().zip(&case.answers) {
                let wave = WaveData::read(std::fs::File::open(audio)?)?;
                let recognizer = match &mut recognizer {
                    Some(recognizer) => recognizer,
                    none => none.insert(recognizer_of(model, wave.samp_freq, mode, case.grammar)?),
                };
                compare(answer, &events(recognizer, &wave.samples, mode)?, &mut comparison)?;
            }
            Ok(comparison)
        };
        found.push(caught(compared).map_err(|stop| stop.verdict("")));
        ids.push(case.id);
    }
    let judged = ids.into_iter().zip(verdicts(found));
    parts.extend(judged.map(|(id, verdict): (String, Verdict)| Part { id, verdict: Ok(verdict) }));
    parts
}

fn recognizer_of(
    model: &Arc<OnlineModel>,
    samp_freq: f32,
    mode: Mode,
    grammar: Option<&str>,
) -> Result<OnlineRecognizer, Stop> {
    let mut recognizer = model.recognizer(samp_freq)?;
    if let Some(grammar) = grammar {
        let phrases: Vec<String> = serde_json::from_str(grammar)?;
        recognizer.set_phrases(phrases.iter().map(String::as_str))?;
    }
    recognizer.set_words(true);
    recognizer.set_partial_words(mode.partial_words);
    recognizer.set_max_alternatives(mode.alternatives);
    Ok(recognizer)
}

/// A result: the number of samples so far, the kind, and the text.
type Event = (u64, &'static str, String);

fn events(recognizer: &mut OnlineRecognizer, samples: &[i16], mode: Mode) -> Result<Vec<Event>, Stop> {
    let text = |recognizer: &OnlineRecognizer, result: &OnlineResult| {
        if mode.nlsml { result.to_nlsml() } else { recognizer.json(result) }
    };
    let (mut events, mut at) = (Vec::new(), 0);
    for samples in samples.chunks(mode.chunk.min(samples.len().max(1))) {
        at += samples.len() as u64;
        if recognizer.accept(samples)? {
            let result = recognizer.result()?;
            events.push((at, "result", text(recognizer, &result)));
        } else if mode.partials {
            let result = recognizer.partial_result()?;
            events.push((at, "partial", text(recognizer, &result)));
        }
    }
    let result = recognizer.final_result()?;
    events.push((at, "final", text(recognizer, &result)));
    Ok(events)
}

/// Compares the events of a recording: their JSON as `json`, or their text as `text`.
fn compare(answer: &Value, events: &[Event], comparison: &mut Comparison) -> Result<(), Stop> {
    let expected = answer.as_array().map_or(&[][..], Vec::as_slice);
    let place = |at: Option<u64>, kind: Option<&str>| format!("{} at {}", kind.unwrap_or("?"), at.unwrap_or(0));
    let expected_places: Vec<_> =
        expected.iter().map(|event| place(event["at"].as_u64(), event["type"].as_str())).collect();
    let places: Vec<_> = events.iter().map(|event| place(Some(event.0), Some(event.1))).collect();
    if expected_places != places {
        comparison.words.push(format!("expected results {expected_places:?}, came {places:?}"));
        return Ok(());
    }
    for ((expected, (_, _, text)), place) in expected.iter().zip(events).zip(&places) {
        match expected["text"].as_str() {
            Some(expected) => comparison.texts(place, expected, text)?,
            None => comparison.values(place, &expected["json"], &serde_json::from_str(text)?),
        }
    }
    Ok(())
}
