//! The whole of Vosk's recogniser: from samples to JSON.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kaldera::io::wave::WaveData;
use kaldera::kaldi_online::{OnlineModel, OnlineModelOptions, OnlineResult};
use serde_json::Value;

use crate::stage::{LeftOut, Part};
use crate::vosk_decoding::model_folder;
use crate::{Differences, Settings, Stop};

/// Times in seconds, confidences, and minus costs of alternatives.
const TOLERANCES: [(&str, f64); 4] = [("start", 5e-3), ("end", 5e-3), ("conf", 0.02), ("confidence", 0.05)];

/// A way to feed a recogniser.
struct Mode {
    name: &'static str,
    /// Samples that arrive at once.
    chunk: usize,
    partials: bool,
    partial_words: bool,
    alternatives: usize,
}

const fn mode(name: &'static str, chunk: usize) -> Mode {
    Mode { name, chunk, partials: false, partial_words: false, alternatives: 0 }
}

const MODES: [Mode; 5] = [
    mode("whole", usize::MAX),
    mode("chunk4000", 4000),
    Mode { partials: true, ..mode("chunk1600_partials", 1600) },
    Mode { partials: true, partial_words: true, ..mode("chunk4000_partial_words", 4000) },
    Mode { alternatives: 5, ..mode("alternatives5", 4000) },
];

/// Stage `vosk/chain`: recordings in all ways of `libvosk-dither-0.json`.
pub(crate) fn chain(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let fault = |error: kaldera::Error| LeftOut(error.to_string());
    let model = Arc::new(OnlineModel::open(model_folder()?, &OnlineModelOptions::default()).map_err(fault)?);
    let text = std::fs::read_to_string(folder.join("libvosk-dither-0.json"));
    let text = text.map_err(|error| LeftOut(error.to_string()))?;
    let answers: BTreeMap<String, Value> = serde_json::from_str(&text).map_err(|error| LeftOut(error.to_string()))?;
    let mut parts = Vec::new();
    for mode in &MODES {
        for (name, answer) in &answers {
            let (audio, id) = (folder.join("audio").join(format!("{name}.wav")), format!("{name}, {}", mode.name));
            if !audio.is_file() {
                parts.push(Part::left_out(id, "its recording may not be copied".to_owned()));
                continue;
            }
            parts.push(Part::judged(id, || {
                let events = events(&model, &audio, mode)?;
                let expected = answer[mode.name].as_array().cloned().unwrap_or_default();
                let mut differences = Differences::default();
                differences.equal("number of events", expected.len(), events.len());
                for (expected, (at, kind, json)) in expected.iter().zip(&events) {
                    differences.equal(
                        "event",
                        (expected["at"].as_u64(), expected["type"].as_str()),
                        (Some(*at), Some(*kind)),
                    );
                    compare(
                        &format!("{kind} at {at}"),
                        &expected["json"],
                        &serde_json::from_str(json)?,
                        &mut differences,
                    );
                }
                Ok(differences.0)
            }));
        }
    }
    Ok(parts)
}

/// The events of a recording: the number of samples so far, the kind, and the JSON.
fn events(model: &Arc<OnlineModel>, audio: &Path, mode: &Mode) -> Result<Vec<(u64, &'static str, String)>, Stop> {
    let wave = WaveData::read(std::fs::File::open(audio)?)?;
    let mut recognizer = model.recognizer(wave.samp_freq)?;
    recognizer.set_words(true);
    recognizer.set_partial_words(mode.partial_words);
    recognizer.set_max_alternatives(mode.alternatives);
    let (mut events, mut at) = (Vec::new(), 0);
    for samples in wave.samples.chunks(mode.chunk.min(wave.samples.len().max(1))) {
        at += samples.len() as u64;
        if recognizer.accept(samples)? {
            let result: OnlineResult = recognizer.result()?;
            events.push((at, "result", recognizer.json(&result)));
        } else if mode.partials {
            let result = recognizer.partial_result()?;
            events.push((at, "partial", recognizer.json(&result)));
        }
    }
    let result = recognizer.final_result()?;
    events.push((at, "final", recognizer.json(&result)));
    Ok(events)
}

/// Compares two values; numbers within the tolerance of their name.
fn compare(place: &str, expected: &Value, came: &Value, differences: &mut Differences) {
    match (expected, came) {
        (Value::Object(expected), Value::Object(came)) => {
            let names: Vec<_> = expected.keys().collect();
            differences.equal(&format!("{place}: names"), names, came.keys().collect::<Vec<_>>());
            for (name, value) in expected {
                compare(&format!("{place}.{name}"), value, came.get(name).unwrap_or(&Value::Null), differences);
            }
        }
        (Value::Array(expected), Value::Array(came)) => {
            differences.equal(&format!("{place}: length"), expected.len(), came.len());
            for (i, (expected, came)) in expected.iter().zip(came).enumerate() {
                compare(&format!("{place}.{i}"), expected, came, differences);
            }
        }
        (Value::Number(expected), Value::Number(came)) => {
            let name = place.rsplit('.').next().unwrap_or_default();
            let tolerance = TOLERANCES.into_iter().find(|(known, _)| *known == name).map_or(0.0, |(_, bound)| bound);
            let number = |number: &serde_json::Number| number.as_f64().unwrap_or(f64::NAN);
            differences.near(place, number(expected), number(came), tolerance);
        }
        (expected, came) => differences.equal(place, expected, came),
    }
}
