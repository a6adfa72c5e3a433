//! Vosk's speaker models: vectors of the speakers of utterances.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::feat::Audio;
use kaldera::kaldi_online::{OnlineModel, OnlineModelOptions, OnlineResult, SpeakerModel, SpeakerVector, SpokenWord};
use kaldera::matrix::Matrix;
use kaldera::recognizer::{PauseOptions, Recognizer};

use crate::online_folder::{RATE, speech, weight, weights, write, write_speakers};

/// Utterances of 60, 30 and 60 frames of speech.
const SAID: &str = "0.3 low 0.3 high 1 high 1 low 0.3 high 0.3";

/// The bound of the difference of elements, which are near 1: single precision of a few layers.
const TOLERANCE: f64 = 2e-4;

fn model() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_speakers(folder.path());
    folder
}

fn opened() -> Arc<SpeakerModel> {
    Arc::new(SpeakerModel::open(model().path()).unwrap())
}

fn rows(num_rows: usize) -> Matrix<f32> {
    Matrix::from_fn(num_rows, 4, |t, d| ((t * 13 + d * d * 7) % 29) as f32 / 5.0 + (t / 40 * d) as f32)
}

/// Returns the outputs of a layer of [`weight`]s.
fn affine(outputs: usize, inputs: &[f64]) -> Vec<f64> {
    let sum = |row| inputs.iter().enumerate().map(|(col, x)| weight(row, col) * x).sum::<f64>();
    (0..outputs).map(|row| sum(row) + weight(row, inputs.len())).collect()
}

/// Returns the vector as its definition has it: windows of 300 frames, statistics of the frames
/// with both neighbours.
fn naive(rows: &Matrix<f32>) -> Vec<f64> {
    let n = rows.num_rows();
    let normalized = |t: usize| {
        let begin = t.saturating_sub(150).min(n.saturating_sub(300));
        let end = (begin + 300).min(n);
        (0..4).map(move |d| {
            let mean = (begin..end).map(|i| f64::from(rows[(i, d)])).sum::<f64>() / (end - begin) as f64;
            f64::from(rows[(t, d)]) - mean
        })
    };
    let frames: Vec<Vec<f64>> =
        (1..n - 1).map(|t| affine(3, &(t - 1..t + 2).flat_map(normalized).collect::<Vec<_>>())).collect();
    let mean = |value: &dyn Fn(&[f64]) -> f64| frames.iter().map(|row| value(row)).sum::<f64>() / frames.len() as f64;
    let means: Vec<f64> = (0..3).map(|d| mean(&|row| row[d])).collect();
    let deviations = (0..3).map(|d| mean(&|row| (row[d] - means[d]).powi(2)).sqrt());
    let pooled: Vec<f64> = means.iter().copied().chain(deviations).collect();
    let output = affine(5, &pooled);
    let centred: Vec<f64> = output.iter().enumerate().map(|(i, x)| x - weight(i, 40)).collect();
    let vector: Vec<f64> =
        (0..3).map(|row| centred.iter().enumerate().map(|(col, x)| weight(row, col) * x).sum()).collect();
    let length = (vector.iter().map(|x| x * x).sum::<f64>() / 3.0).sqrt();
    vector.iter().map(|x| x / length).collect()
}

fn assert_near(found: &SpeakerVector, rows: &Matrix<f32>) {
    let expected = naive(rows);
    assert_eq!((found.num_frames, found.values.len()), (rows.num_rows(), 3));
    let near = found.values.iter().zip(&expected).all(|(&x, y)| (f64::from(x) - y).abs() < TOLERANCE);
    assert!(near, "{found:?} {expected:?}");
}

#[test]
fn a_vector_is_as_its_definition_has_it() {
    let model = opened();
    assert_eq!((model.dim(), model.mfcc().dim()), (3, 4));
    for num_rows in [50, 151, 300, 301, 777] {
        let rows = rows(num_rows);
        assert_near(&model.vector(&rows).unwrap().unwrap(), &rows);
    }
    for num_rows in [0, 1, 49] {
        assert_eq!(model.vector(&rows(num_rows)).unwrap(), None);
    }
    assert!(model.vector(&Matrix::zeros(60, 5)).is_err());
}

#[test]
fn an_output_without_a_direction_has_no_vector() {
    for transform in ["[\n0 0 0 0 0\n0 0 0 0 0 ]\n", "[\n1 nan 1 1 1 ]\n", "[\n3e38 3e38 3e38 3e38 3e38 ]\n"] {
        let folder = model();
        fs::write(folder.path().join("transform.mat"), transform).unwrap();
        let model = SpeakerModel::open(folder.path()).unwrap();
        assert_eq!(model.vector(&rows(60)).unwrap(), None, "{transform}");
    }
}

#[test]
fn faults_of_a_folder_are_named() {
    let error = |folder: &Path| SpeakerModel::open(folder).unwrap_err().to_string();
    for (file, expected) in [
        ("mfcc.conf", "mfcc.conf: the file is missing; it has the options of MFCC"),
        ("final.ext.raw", "final.ext.raw: the file is missing; it has the network"),
        ("mean.vec", "mean.vec: the file is missing; it has the mean of x-vectors"),
        ("transform.mat", "transform.mat: the file is missing; it has the transform of x-vectors"),
    ] {
        let folder = model();
        fs::remove_file(folder.path().join(file)).unwrap();
        assert!(error(folder.path()).contains(expected), "{}", error(folder.path()));
    }
    for (file, text, expected) in [
        ("mfcc.conf", "--num-ceps=5\n", "final.ext.raw: it has 4 columns of input, but the features have 5"),
        ("mfcc.conf", "--num-ceps=4\n--frame-shift=12.5\n", "mfcc.conf: its features are 12.5 ms apart, not 10"),
        ("mean.vec", "[ 1 2 ]\n", "mean.vec: it has 2 elements, but the network's output has 5"),
        ("transform.mat", &weights(2, 6), "transform.mat: it has 6 columns, but the network's output has 5"),
        ("final.ext.raw", "", "final.ext.raw"),
    ] {
        let folder = model();
        fs::write(folder.path().join(file), text).unwrap();
        assert!(error(folder.path()).contains(expected), "{}", error(folder.path()));
    }
}

/// Returns the MFCC of the frames of words, whose times are in the audio.
fn rows_of(words: &[SpokenWord], mfcc: &Matrix<f32>) -> Matrix<f32> {
    let frame = |seconds: f64| (seconds * 100.0).round() as usize;
    let frames: Vec<usize> = words.iter().flat_map(|word| frame(word.start)..frame(word.end)).collect();
    Matrix::from_fn(frames.len(), mfcc.num_cols(), |row, d| mfcc[(frames[row], d)])
}

#[test]
fn results_of_a_recognizer_have_the_vector_of_their_speech() {
    let (folder, speakers, samples) = (tempfile::tempdir().unwrap(), opened(), speech(SAID, RATE));
    write(folder.path());
    let model = Arc::new(OnlineModel::open(folder.path(), &OnlineModelOptions::default()).unwrap());
    let mfcc = speakers.mfcc().compute(&Audio::new(&samples, 8000.0)).unwrap();
    let mut recognizer = model.recognizer(8000.0).unwrap();
    recognizer.set_speaker_model(Arc::clone(&speakers)).unwrap();
    let mut results = vec![];
    for chunk in samples.chunks(1111) {
        if recognizer.accept(chunk).unwrap() {
            results.push(recognizer.result().unwrap());
        }
    }
    results.push(recognizer.final_result().unwrap());
    let mut num_frames = vec![];
    for result in &results {
        let OnlineResult::Best { words, speaker } = result else { panic!("{result:?}") };
        num_frames.push(speaker.as_ref().map(|speaker| speaker.num_frames));
        let json: serde_json::Value = serde_json::from_str(&recognizer.json(result)).unwrap();
        assert_eq!(json["spk_frames"].as_u64(), num_frames.last().unwrap().map(|frames| frames as u64));
        assert_eq!(json["spk"].as_array().map(Vec::len), speaker.as_ref().map(|_| 3));
        if let Some(speaker) = speaker {
            assert_near(speaker, &rows_of(words, &mfcc));
        }
    }
    assert!(matches!(num_frames[..], [Some(50..70), None, Some(50..70)]), "{num_frames:?}");
    // The audio begins anew after its end, and with another model.
    for _ in 0..2 {
        recognizer.set_max_alternatives(2);
        recognizer.accept(&samples[..12_000]).unwrap();
        let result = recognizer.final_result().unwrap();
        let OnlineResult::Alternatives { speaker: Some(speaker), .. } = &result else { panic!("{result:?}") };
        assert_eq!(Some(speaker.num_frames), num_frames[0]);
        assert!(recognizer.json(&result).contains("\"spk_frames\" : "));
        recognizer.accept(&samples[..12_000]).unwrap();
        recognizer.set_speaker_model(Arc::clone(&speakers)).unwrap();
    }
    let error = model.recognizer(6000.0).unwrap().set_speaker_model(speakers).unwrap_err().to_string();
    assert!(error.contains("mfcc.conf: ") && error.contains("6000") && error.contains("8000"), "{error}");
    // An utterance that is given up after the end of the audio does not join the next audio to it.
    recognizer.final_result().unwrap();
    recognizer.reset();
    recognizer.accept(&samples[..12_000]).unwrap();
    assert!(matches!(recognizer.final_result().unwrap(), OnlineResult::Alternatives { speaker: Some(_), .. }));

    let options = folder.path().join("conf/model.conf");
    let without = fs::read_to_string(&options).unwrap().replace("--endpoint.silence-phones=1\n", "");
    fs::write(&options, without).unwrap();
    let model = Arc::new(OnlineModel::open(folder.path(), &OnlineModelOptions::default()).unwrap());
    let error = model.recognizer(8000.0).unwrap().set_speaker_model(opened()).unwrap_err().to_string();
    assert!(error.contains("model.conf: ") && error.ends_with("set --endpoint.silence-phones"), "{error}");
}

#[test]
fn transcripts_have_a_vector_for_each_utterance() {
    let (folder, speakers) = (tempfile::tempdir().unwrap(), opened());
    write(folder.path());
    let recognizer = Recognizer::open(folder.path()).unwrap();
    assert!(recognizer.speaker_model().is_none());
    let with = recognizer.with_speaker_model(Arc::clone(&speakers)).unwrap();
    assert_eq!(with.files().len(), recognizer.files().len() + 4);
    let again = with.with_speaker_model(Arc::clone(&speakers)).unwrap();
    assert_eq!(again.files(), with.files());
    for rate in [RATE, 16_000] {
        let samples = speech(SAID, rate);
        let audio = Audio::new(&samples, rate as f32);
        let plain = recognizer.transcribe_long(&audio, &PauseOptions::default()).unwrap();
        let found = with.transcribe_long(&audio, &PauseOptions::default()).unwrap();
        assert_eq!((&found.recognition, plain.speakers.len()), (&plain.recognition, 0));
        let times: Vec<_> = found.speakers.iter().map(|(times, _)| times.clone()).collect();
        let [first, last] = &times[..] else { panic!("{found:?}") };
        assert!(first.start == 0.0 && (1.2..2.2).contains(&first.end), "{times:?}");
        assert!(last.start > 2.5 && (last.end - found.seconds).abs() < 0.1, "{times:?}");
    }
}
