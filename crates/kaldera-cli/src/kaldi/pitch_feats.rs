//! `compute-kaldi-pitch-feats`, `compute-and-process-kaldi-pitch-feats` and
//! `process-kaldi-pitch-feats`.

use std::process::ExitCode;

use kaldera::feat::{
    Audio, Error, PitchExtractionOptions, PitchExtractor, PitchProcessor, PitchWorkspace, ProcessPitchOptions,
};
use kaldera::io::wave::WaveData;
use kaldera::matrix::Matrix;
use tracing::warn;

use crate::kaldi::Failure;
use crate::kaldi::driver::{Counts, map_table};
use crate::{Call, Tool, log};

pub(super) const COMPUTE: Tool =
    Tool { name: "compute-kaldi-pitch-feats", about: "Pitch and correlation of recordings", run: run_compute };
pub(super) const COMPUTE_AND_PROCESS: Tool = Tool {
    name: "compute-and-process-kaldi-pitch-feats",
    about: "Pitch features of recordings for a recogniser",
    run: run_compute_and_process,
};
pub(super) const PROCESS: Tool = Tool {
    name: "process-kaldi-pitch-feats",
    about: "Make features for speech recognition from pitch and correlation",
    run: run_process,
};

fn run_compute(call: Call<'_>) -> ExitCode {
    let usage = "Finds the pitch of recordings: for each frame its NCCF, from -1 to 1 and higher where voiced, and its pitch in Hz.
Usage: compute-kaldi-pitch-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-kaldi-pitch-feats --sample-frequency=8000 scp:wav.scp ark:pitch.ark";
    super::run(COMPUTE.name, usage, call, PitchExtractionOptions::default(), |options, [recordings, output]| {
        let extractor = PitchExtractor::new(options)?;
        let mut workspace = PitchWorkspace::default();
        let counts = map_recordings(&recordings, &output, |audio| extractor.compute_with(&mut workspace, audio))?;
        Ok(counts.any_done())
    })
}

fn run_compute_and_process(call: Call<'_>) -> ExitCode {
    let usage = "Extracts the pitch of recordings and makes features for speech recognition, as
compute-kaldi-pitch-feats followed by process-kaldi-pitch-feats; --frames-per-chunk and
--simulate-first-pass-online simulate live audio.
Usage: compute-and-process-kaldi-pitch-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-and-process-kaldi-pitch-feats --srand=1 scp:wav.scp ark:feats.ark";
    let options = <(PitchExtractionOptions, ProcessPitchOptions)>::default();
    super::run(COMPUTE_AND_PROCESS.name, usage, call, options, |(pitch, process), [recordings, output]| {
        let extractor = PitchExtractor::new(pitch)?;
        let processor = PitchProcessor::new(process)?;
        let mut workspace = PitchWorkspace::default();
        let counts =
            map_recordings(&recordings, &output, |audio| processor.compute_with(&mut workspace, &extractor, audio))?;
        Ok(counts.any_done())
    })
}

/// Applies `compute` to the first channel of each recording and writes the result. A wrong sample
/// rate ends the run, as in Kaldi.
fn map_recordings(
    recordings: &str,
    output: &str,
    mut compute: impl FnMut(&Audio<'_>) -> Result<Matrix<f32>, Error>,
) -> Result<Counts, Failure> {
    let counts = map_table(recordings, output, |key, wave: WaveData| {
        if wave.num_channels != 1 {
            warn!("{key} has {} channels: taking channel 0", wave.num_channels);
        }
        let samples = wave.channel(0);
        match compute(&Audio::new(&samples, wave.samp_freq).with_key(key)) {
            Ok(features) => {
                if features.is_empty() {
                    warn!("{key} is too short for a frame: its matrix is empty");
                }
                Ok(Some(features))
            }
            Err(error @ Error::WrongSampleRate { .. }) => Err(error.into()),
            Err(error) => {
                warn!("leaving out {key}: {}", log::one_line(&error));
                Ok(None)
            }
        }
    })?;
    counts.log("pitch found in", "recordings");
    Ok(counts)
}

fn run_process(call: Call<'_>) -> ExitCode {
    let usage =
        "Makes features for a recogniser of NCCF and pitch: by default voicing, normalised log pitch and its change.
Usage: process-kaldi-pitch-feats [options] <feats-rspecifier> <feats-wspecifier>
For example: compute-kaldi-pitch-feats scp:wav.scp ark:- | process-kaldi-pitch-feats ark:- ark:feats.ark";
    super::run(PROCESS.name, usage, call, ProcessPitchOptions::default(), |options, [input, output]| {
        let processor = PitchProcessor::new(options)?;
        let counts = map_table(&input, &output, |key, pitch: Matrix<f32>| Ok(Some(processor.process(&pitch, key)?)))?;
        counts.log("pitch of", "utterances processed");
        Ok(counts.any_done())
    })
}
