//! Rows of features with pitch, in streams and in folders.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::feat::{
    Audio, Fbank, FbankOptions, FeatureStream, PitchExtractionOptions, PitchExtractor, PitchProcessor,
    ProcessPitchOptions, paste_columns,
};
use kaldera::kaldi_online::{OnlineFolder, OnlineModel, OnlineModelOptions, PitchedRows};
use kaldera::matrix::Matrix;
use kaldera::pipeline::PitchFeatures;
use kaldera::recognizer::{LiveRecognizer, Recognizer};
use proptest::prelude::*;

use crate::online_folder::{RATE, speech, write};

const SAID: &str = "0.3 low 0.3 high 1 high 0.2";

/// Samples of 0.1 s.
const CHUNK: usize = 800;

fn fbank() -> Arc<Fbank> {
    Arc::new(Fbank::new(FbankOptions::default().with_sample_frequency(8000.0).with_dither(0.0)).unwrap())
}

fn pitch_options() -> (PitchExtractionOptions, ProcessPitchOptions) {
    let pitch = PitchExtractionOptions::default().with_sample_frequency(8000.0).with_frames_per_chunk(10);
    (pitch, ProcessPitchOptions::default().with_normalization_right_context(25))
}

/// Returns features with pitch pasted, as the programs for whole recordings compute them.
fn pasted(samples: &[i16], pitch: &PitchExtractionOptions, process: &ProcessPitchOptions) -> Matrix<f32> {
    let audio = Audio::new(samples, 8000.0).with_key("a");
    let extractor = PitchExtractor::new(pitch.clone()).unwrap();
    let pitch = PitchProcessor::new(process.clone()).unwrap().compute(&extractor, &audio).unwrap();
    paste_columns(&[fbank().compute(&audio).unwrap().view(), pitch.view()], 3).unwrap()
}

/// Returns the rows of a stream, which are taken `often`, as soon as they are there, or at the end.
fn streamed(
    samples: &[i16],
    pitch: &PitchExtractionOptions,
    process: &ProcessPitchOptions,
    chunk: usize,
    often: bool,
) -> (usize, Vec<f32>) {
    let pitch = PitchFeatures::new(pitch.clone(), process.clone()).unwrap();
    let fbank = fbank();
    let mut rows = PitchedRows::new(fbank.dim(), Some(pitch.stream(8000.0, "a").unwrap()));
    let mut features = FeatureStream::new(fbank).with_key("a");
    let (mut new, mut out) = (vec![], vec![]);
    for chunk in samples.chunks(chunk) {
        if often {
            rows.take(usize::MAX, &mut out);
            assert_eq!(rows.num_waiting(), 0);
        }
        features.accept(chunk).unwrap();
        new.clear();
        features.take_rows(&mut new);
        let chunk: Vec<f32> = chunk.iter().map(|&sample| f32::from(sample)).collect();
        rows.accept(&chunk, &new).unwrap();
    }
    features.finish();
    new.clear();
    features.take_rows(&mut new);
    rows.finish(&new).unwrap();
    rows.take(usize::MAX, &mut out);
    assert_eq!(rows.num_frames_ready() * rows.dim(), out.len());
    (rows.dim(), out)
}

#[test]
fn rows_are_features_with_pitch_pasted() {
    let samples = speech(SAID, RATE);
    let (pitch, process) = pitch_options();
    let noiseless = process.clone().with_delta_pitch_noise_stddev(0.0);
    for process in [process.with_delay(3), noiseless.with_add_raw_log_pitch(true)] {
        let last = streamed(&samples, &pitch, &process, CHUNK, false);
        let expected = pasted(&samples, &pitch, &process);
        assert_eq!(last, (expected.num_cols(), expected.data().to_vec()));
        let first_pass = pitch.clone().with_simulate_first_pass_online(true);
        let first = streamed(&samples, &pitch, &process, CHUNK, true);
        let expected = pasted(&samples, &first_pass, &process);
        assert_eq!(first, (expected.num_cols(), expected.data().to_vec()));
        assert_ne!(first, last, "later audio changes the pitch of frames");
    }
}

proptest! {
    #[test]
    fn rows_come_once_with_any_options(
        latency in 0..60_i32,
        delay in 0..20_i32,
        contexts in (0..30_i32, 0..30_i32, 1..5_i32),
        len in 0..9000_usize,
        chunk in 1..3000_usize,
    ) {
        let (pitch, process) = pitch_options();
        let pitch = pitch.with_max_frames_latency(latency).with_recompute_frame(30);
        let process = process
            .with_delay(delay)
            .with_normalization_left_context(contexts.0)
            .with_normalization_right_context(contexts.1)
            .with_delta_window(contexts.2);
        let samples = &speech(SAID, RATE)[..len];
        let (dim, rows) = streamed(samples, &pitch, &process, chunk, true);
        let audio = Audio::new(samples, 8000.0);
        let found = PitchExtractor::new(pitch).unwrap().compute(&audio).unwrap().num_rows();
        let with_delay = if found == 0 { 0 } else { found + delay.unsigned_abs() as usize };
        prop_assert_eq!(rows.len(), dim * with_delay.min(fbank().compute(&audio).unwrap().num_rows()));
        prop_assert!(rows.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn audio_of_another_rate_has_the_same_pitch() {
    let (pitch, process) = pitch_options();
    let pitch = PitchFeatures::new(pitch, process.with_add_raw_log_pitch(true)).unwrap();
    for rate in [8000, 16_000, 44_100_u32] {
        let samples: Vec<f32> = speech("0.1 low 0.1", rate).into_iter().map(f32::from).collect();
        let mut stream = pitch.stream(rate as f32, "").unwrap();
        samples.chunks(1000).for_each(|chunk| stream.accept(chunk).unwrap());
        stream.finish().unwrap();
        let hz = stream.frame(25).unwrap()[3].exp();
        assert!((hz - 300.0).abs() < 5.0, "{rate}: {hz}");
        assert!(stream.accept(&[0.0]).is_err());
    }
}

/// Writes a model whose network takes three columns of pitch: `low` is voiced.
fn write_with_pitch(folder: &Path, conf: &str) {
    write(folder);
    let file = |name: &str| folder.join(name);
    let network = fs::read_to_string(file("am/final.mdl")).unwrap();
    let network = network
        .replace("dim=4", "dim=7")
        .replace("0 0 0 0\n1 0 0 0\n0 0 0 1 ]", "0 0 0 0 0 0 0\n0.5 0 0 0 -10 0 0\n0 0 0 1 0 0 0 ]")
        .replace("[ 0 -14 -16 ]", "[ 0 -18 -16 ]");
    fs::write(file("am/final.mdl"), network).unwrap();
    fs::write(file("conf/pitch.conf"), conf).unwrap();
}

const CONF: &str = "--sample-frequency=8000\n--normalization-right-context=25\n--frames-per-chunk=10\n\
                    --simulate-first-pass-online=true\n";

fn text(recognizer: &Recognizer) -> String {
    recognizer.transcribe(&Audio::new(&speech(SAID, RATE), 8000.0)).unwrap().text()
}

#[test]
fn a_network_of_a_folder_hears_pitch() {
    let folder = tempfile::tempdir().unwrap();
    write_with_pitch(folder.path(), CONF);
    let recognizer = Arc::new(Recognizer::open(folder.path()).unwrap());
    assert_eq!(text(&recognizer), "low high high");
    assert!(recognizer.files().iter().any(|file| file.ends_with("conf/pitch.conf")));
    let samples = speech(SAID, RATE);
    let live = |chunk: usize| {
        let mut live = LiveRecognizer::new(Arc::clone(&recognizer), 8000.0).unwrap();
        let mut ended: Vec<_> = samples.chunks(chunk).flat_map(|chunk| live.accept(chunk).unwrap().ended).collect();
        ended.extend(live.finish().unwrap());
        ended
    };
    let whole = live(samples.len());
    assert!(!whole.is_empty());
    assert!([37, 800, 5000].into_iter().all(|chunk| live(chunk) == whole));
}

#[test]
fn a_folder_of_kaldi_says_whether_it_has_pitch() {
    let folder = tempfile::tempdir().unwrap();
    write_with_pitch(folder.path(), CONF);
    let file = |name: &str| folder.path().join(name);
    fs::rename(file("am/final.mdl"), file("final.mdl")).unwrap();
    fs::rename(file("conf/pitch.conf"), file("conf/online_pitch.conf")).unwrap();
    let conf = fs::read_to_string(file("conf/model.conf")).unwrap();
    fs::remove_file(file("conf/model.conf")).unwrap();
    let open = |lines: &str| {
        fs::write(file("conf/online.conf"), format!("--feature-type=fbank\n{lines}{conf}")).unwrap();
        Recognizer::open(folder.path())
    };
    let named = "--online-pitch-config=/export/exp/conf/online_pitch.conf\n";
    assert_eq!(text(&open(&format!("--add-pitch=true\n{named}")).unwrap()), "low high high");
    for lines in [named, ""] {
        let error = open(lines).unwrap_err().to_string();
        assert!(error.contains("the network needs 7 columns of features, but there are 4"), "{error}");
    }
    // Without its name, the options are the defaults, as in Kaldi.
    fs::write(file("conf/online_pitch.conf"), "--add-raw-log-pitch\n").unwrap();
    assert!(open("--add-pitch=true\n").is_ok());
    let error = open(&format!("--add-pitch=true\n{named}")).unwrap_err().to_string();
    assert!(error.contains("the network needs 7 columns of features, but there are 8"), "{error}");
    fs::remove_file(file("conf/online_pitch.conf")).unwrap();
    let error = open(&format!("--add-pitch=true\n{named}")).unwrap_err().to_string();
    assert!(error.contains("is not this file: copy it here"), "{error}");
}

#[test]
fn faults_of_pitch_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (conf, expected) in [
        ("--pitch-scael=2\n", "pitch.conf:1: there is no option --pitch-scael here"),
        ("--min-f0=900\n", "min_f0"),
        ("--frame-shift=12.5\n", "pitch.conf: its frames are 12.5 ms apart, not 10"),
        ("--add-pov-feature=false\n", "the network needs 7 columns of features, but there are 6"),
    ] {
        write_with_pitch(folder.path(), conf);
        let error = Recognizer::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(expected) && (error.contains("pitch.conf") || error.contains("final.mdl")), "{error}");
    }
    write_with_pitch(folder.path(), CONF);
    let stats = folder.path().join("am/global_cmvn.stats");
    fs::write(&stats, " [ 5 5 5 5 10\n 20 20 20 20 0 ]\n").unwrap();
    let error = Recognizer::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("the network needs 7 columns of statistics, but there are 4"), "{error}");
    fs::write(&stats, " [ 0 0 0 0 0 0 0 10\n 20 20 20 20 20 20 20 0 ]\n").unwrap();
    let folder = OnlineFolder::find(folder.path()).unwrap();
    OnlineModel::open_with(folder, &OnlineModelOptions::default().with_dither(true), |config| config).unwrap();
}
