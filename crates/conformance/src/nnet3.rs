//! Networks of Kaldi's nnet3: read, written and computed.

use std::path::Path;

use kaldi_matrix::Matrix;
use kaldi_nnet3::{ForwardOptions, Ivectors, Network, Nnet};

use crate::npz::Npz;
use crate::verdict::judge;
use crate::{Differences, Error, Settings, Stop, Verdict};

/// The README's, of an output: absolute, and relative to its value.
const TOLERANCE: f32 = 4e-5;

/// Runs the networks in a folder. Those without a recorded output are only read and written.
pub(crate) fn run(_: &Settings, folder: &Path) -> Result<(Vec<(String, Verdict)>, String), Error> {
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "raw") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    let mut read_only = 0;
    let verdict = |name: &String| {
        let computed = folder.join(format!("{name}.npz"));
        read_only += usize::from(!computed.is_file());
        (name.clone(), judge(|| check(folder, name, &computed)))
    };
    let verdicts = names.iter().map(verdict).collect();
    Ok((verdicts, format!("{read_only} of them read and written only")))
}

fn check(folder: &Path, name: &str, computed: &Path) -> Result<Vec<String>, Stop> {
    let mut differences = Differences::default();
    for (ending, binary) in [("raw", true), ("txt", false)] {
        let bytes = std::fs::read(folder.join(format!("{name}.{ending}")))?;
        let nnet = Nnet::read(&mut &bytes[..])?;
        let mut written = Vec::new();
        nnet.write(&mut written, binary)?;
        differences.check(written == bytes, || format!("{ending}: other bytes are written"));
        let again = Nnet::read(&mut &written[..])?;
        differences.check(again == nnet, || format!("{ending}: another network is read back"));
        // The other form has the same network, to the digits of text.
        let mut other = Vec::new();
        nnet.write(&mut other, !binary)?;
        let other = Nnet::read(&mut &other[..])?;
        differences.check(other.config_lines() == nnet.config_lines(), || format!("{ending}: other nodes"));
        if computed.is_file() {
            let answers = Npz::open(computed)?;
            for nnet in [&nnet, &other] {
                compute(nnet, &answers, ending, &mut differences)?;
            }
        }
    }
    Ok(differences.0)
}

fn compute(nnet: &Nnet, answers: &Npz, form: &str, differences: &mut Differences) -> Result<(), Stop> {
    let network = Network::new(nnet)?;
    let input = answers.matrix("input")?;
    let expected = answers.matrix("output")?;
    if answers.has("left_context") {
        differences.equal("left_context", answers.size("left_context")?, network.left_context());
        differences.equal("right_context", answers.size("right_context")?, network.right_context());
    }
    let came = if answers.has("frame_subsampling_factor") {
        let ivectors = answers.has("online_ivectors").then(|| answers.matrix("online_ivectors")).transpose()?;
        let ivectors = match &ivectors {
            Some(rows) => Ivectors::online(rows, answers.size("online_ivector_period")?),
            None => Ivectors::None,
        };
        let options = ForwardOptions::default()
            .with_frame_subsampling_factor(answers.size("frame_subsampling_factor")?)
            .with_frames_per_chunk(answers.size("frames_per_chunk")?);
        network.compute(&input, ivectors, &options)?
    } else {
        let vector = network.compute_vector(&input)?;
        Matrix::from_vec(1, vector.len(), vector)?
    };
    let shape = |matrix: &Matrix<f32>| (matrix.num_rows(), matrix.num_cols());
    differences.equal("shape", shape(&expected), shape(&came));
    let pairs = || expected.rows().flatten().zip(came.rows().flatten());
    let far = pairs().filter(|(a, b)| ((*a - *b).abs() > TOLERANCE + TOLERANCE * a.abs()) || b.is_nan()).count();
    differences.check(far == 0, || {
        let most = pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        format!("{form}: {far} numbers differ, by up to {most}")
    });
    Ok(())
}
