//! Options of the programs that compute networks.

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::nnet3::ForwardOptions;

use crate::kaldi::Failure;

/// Options that speed Kaldi's own computation up, or print its steps, with Kaldi's defaults.
const SWITCHES: [(&str, bool); 17] = [
    ("debug-computation", false),
    ("computation.debug", false),
    ("optimization.optimize", true),
    ("optimization.consolidate-model-update", true),
    ("optimization.propagate-in-place", true),
    ("optimization.backprop-in-place", true),
    ("optimization.extend-matrices", true),
    ("optimization.optimize-row-ops", true),
    ("optimization.split-row-ops", true),
    ("optimization.convert-addition", true),
    ("optimization.remove-assignments", true),
    ("optimization.allow-left-merge", true),
    ("optimization.allow-right-merge", true),
    ("optimization.initialize-undefined", true),
    ("optimization.move-sizing-commands", true),
    ("optimization.allocate-from-other", true),
    ("optimization.snip-row-ops", true),
];
const NUMBERS: [(&str, i32); 4] = [
    ("optimization.min-deriv-time", i32::MIN),
    ("optimization.max-deriv-time", i32::MAX),
    ("optimization.max-deriv-time-relative", i32::MAX),
    ("optimization.memory-compression-level", 1),
];

/// Options of the computation without effect here.
pub(super) struct Unused {
    switches: [(&'static str, bool); SWITCHES.len()],
    numbers: [(&'static str, i32); NUMBERS.len()],
}

impl Default for Unused {
    fn default() -> Self {
        Self { switches: SWITCHES, numbers: NUMBERS }
    }
}

impl OptionSet for Unused {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.switches.iter_mut().for_each(|(name, value)| registry.add(name, value, "No effect"));
        self.numbers.iter_mut().for_each(|(name, value)| registry.add(name, value, "No effect"));
    }
}

/// The options of the computation of whole utterances, without `--acoustic-scale`.
pub(super) struct ComputationOptions {
    extra_left_context: usize,
    extra_right_context: usize,
    extra_left_context_initial: i32,
    extra_right_context_final: i32,
    frame_subsampling_factor: usize,
    frames_per_chunk: usize,
    unused: Unused,
}

impl Default for ComputationOptions {
    fn default() -> Self {
        Self {
            extra_left_context: 0,
            extra_right_context: 0,
            extra_left_context_initial: -1,
            extra_right_context_final: -1,
            frame_subsampling_factor: 1,
            frames_per_chunk: 50,
            unused: Unused::default(),
        }
    }
}

impl OptionSet for ComputationOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        let doc = "Frames before a chunk in addition to those that the network needs";
        registry.add("extra-left-context", &mut self.extra_left_context, doc);
        let doc = "Frames after a chunk in addition to those that the network needs";
        registry.add("extra-right-context", &mut self.extra_right_context, doc);
        let doc = "--extra-left-context of the first chunk, if 0 or above";
        registry.add("extra-left-context-initial", &mut self.extra_left_context_initial, doc);
        let doc = "--extra-right-context of the last chunk, if 0 or above";
        registry.add("extra-right-context-final", &mut self.extra_right_context_final, doc);
        let doc = "Frames of features for a row of the output, such as 3 for chain models";
        registry.add("frame-subsampling-factor", &mut self.frame_subsampling_factor, doc);
        let doc = "Frames of features that are computed at once; rounded up as the network needs";
        registry.add("frames-per-chunk", &mut self.frames_per_chunk, doc);
        self.unused.register(registry);
    }
}

impl ComputationOptions {
    /// Returns the options for the library.
    ///
    /// # Errors
    /// Returns an error for a number of 0.
    pub(super) fn forward(&self) -> Result<ForwardOptions, Failure> {
        check_counts(self.frame_subsampling_factor, self.frames_per_chunk)?;
        Ok(ForwardOptions::default()
            .with_frame_subsampling_factor(self.frame_subsampling_factor)
            .with_frames_per_chunk(self.frames_per_chunk)
            .with_extra_left_context(self.extra_left_context)
            .with_extra_right_context(self.extra_right_context)
            .with_extra_left_context_initial(usize::try_from(self.extra_left_context_initial).ok())
            .with_extra_right_context_final(usize::try_from(self.extra_right_context_final).ok()))
    }

    pub(super) fn frame_subsampling_factor(&self) -> usize {
        self.frame_subsampling_factor
    }
}

/// Refuses numbers of no frames.
pub(super) fn check_counts(frame_subsampling_factor: usize, frames_per_chunk: usize) -> Result<(), Failure> {
    for (name, frames) in
        [("frame-subsampling-factor", frame_subsampling_factor), ("frames-per-chunk", frames_per_chunk)]
    {
        if frames == 0 {
            return Err(Failure::Option { name, value: "0".to_owned(), expected: "a number of frames, 1 or more" });
        }
    }
    Ok(())
}

/// The options of i-vectors that were computed before.
#[derive(Default)]
pub(super) struct IvectorTables {
    pub(super) ivectors: String,
    pub(super) utt2spk: String,
    pub(super) online_ivectors: String,
    pub(super) online_ivector_period: i32,
}

impl OptionSet for IvectorTables {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        let doc = "An i-vector for each utterance, or for each speaker with --utt2spk (rspecifier of vectors)";
        registry.add("ivectors", &mut self.ivectors, doc);
        registry.add("utt2spk", &mut self.utt2spk, "Speaker of each utterance, for --ivectors (rspecifier)");
        let doc = "I-vectors every few frames of each utterance (rspecifier of matrices)";
        registry.add("online-ivectors", &mut self.online_ivectors, doc);
        let doc = "Frames from one i-vector of --online-ivectors to the next";
        registry.add("online-ivector-period", &mut self.online_ivector_period, doc);
    }
}
