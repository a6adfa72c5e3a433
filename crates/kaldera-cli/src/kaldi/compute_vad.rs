//! `compute-vad`: decides which frames are voiced.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{VadEnergyOptions, compute_vad_energy};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::matrix::{Matrix, Vector};
use tracing::{info, warn};

use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "compute-vad", about: "Detect voiced frames by their energy", run };

const USAGE: &str =
    "Writes 1 for each voiced frame and 0 for each other frame, by the log energy in column 0 of the features.
Usage: compute-vad [options] <feats-rspecifier> <vad-wspecifier>
For example: compute-vad scp:mfcc.scp ark:vad.ark";

#[derive(Default)]
struct Options {
    omit_unvoiced_utts: bool,
    vad: VadEnergyOptions,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("omit-unvoiced-utts", &mut self.omit_unvoiced_utts, "Skip utterances without voiced frames");
        self.vad.register(registry);
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [input, output]| decide(&options, &input, &output))
}

fn decide(options: &Options, rspecifier: &str, wspecifier: &str) -> Result<bool, Failure> {
    let reader = SequentialReader::<Matrix<f32>>::open(rspecifier)?;
    let mut writer = TableWriter::<Vector<f32>>::open(wspecifier)?;
    let (mut voiced, mut unvoiced, mut empty) = (0_u64, 0_u64, 0_u64);
    let (mut frames, mut voiced_frames) = (0_usize, 0_usize);
    for entry in reader {
        let (key, features) = entry?;
        if features.is_empty() {
            warn!("leaving out {key}: it has no frames");
            empty += 1;
            continue;
        }
        let decisions = compute_vad_energy(&options.vad, &features)?;
        let positive = decisions.iter().filter(|&&decision| decision != 0.0).count();
        frames += decisions.len();
        voiced_frames += positive;
        if positive == 0 {
            warn!("{key} has no voiced frame");
            unvoiced += 1;
        } else {
            voiced += 1;
        }
        if positive > 0 || !options.omit_unvoiced_utts {
            writer.write(&key, &Vector::from(decisions))?;
        }
    }
    writer.close()?;
    info!("{voiced} utterances are voiced, {unvoiced} have no voiced frame, {empty} no frames");
    if frames > 0 {
        info!("{:.4} of {frames} frames are voiced", voiced_frames as f64 / frames as f64);
    }
    // Kaldi's program does not count the others.
    Ok(voiced > 0)
}
