//! Options of an incremental decoder.

use kaldera_base::setters;

use crate::error::{Error, Quantity};

/// Options of [`IncrementalDecoder`](super::IncrementalDecoder). The defaults are Kaldi's.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "LatticeIncrementalDecoderConfig")]
pub struct IncrementalOptions {
    /// States whose cost is more than this above the best of a frame are given up.
    pub beam: f32,
    /// The largest number of states of a frame from which arcs are followed.
    pub max_active: usize,
    /// At least so many states of a frame are followed, however narrow the beam is.
    pub min_active: usize,
    /// Paths whose cost is more than this above the best one are left out of the lattice.
    pub lattice_beam: f32,
    /// Number of frames after which tokens are pruned.
    pub prune_interval: usize,
    /// Added to the beam that `max_active` or `min_active` implies.
    pub beam_delta: f32,
    /// Pruning stops where costs change by no more than this share of the lattice beam.
    pub prune_scale: f32,
    /// Frames may be this far behind before they are determinized.
    pub determinize_max_delay: usize,
    /// At least so many frames are determinized at once.
    pub determinize_min_chunk_size: usize,
    /// No frame with more tokens than this ends a stretch that is determinized.
    pub determinize_max_active: usize,
}

impl Default for IncrementalOptions {
    fn default() -> Self {
        Self {
            beam: 16.0,
            max_active: i32::MAX as usize,
            min_active: 200,
            lattice_beam: 10.0,
            prune_interval: 25,
            beam_delta: 0.5,
            prune_scale: 0.01,
            determinize_max_delay: 60,
            determinize_min_chunk_size: 20,
            determinize_max_active: 200,
        }
    }
}

setters! {
    IncrementalOptions:
    beam, with_beam: f32, "With this beam.";
    max_active, with_max_active: usize, "With at most so many active states.";
    min_active, with_min_active: usize, "With at least so many active states.";
    lattice_beam, with_lattice_beam: f32, "With this beam of the lattice.";
    prune_interval, with_prune_interval: usize, "With so many frames between two prunings.";
    beam_delta, with_beam_delta: f32, "With this much more than the numbers of active states imply.";
    prune_scale, with_prune_scale: f32, "With this accuracy of pruning.";
    determinize_max_delay, with_determinize_max_delay: usize, "With this delay of determinization.";
    determinize_min_chunk_size, with_determinize_min_chunk_size: usize,
        "With at least so many frames of a stretch.";
    determinize_max_active, with_determinize_max_active: usize,
        "With at most so many tokens at the end of a stretch.";
}

impl IncrementalOptions {
    /// # Errors
    /// [`Error::Beam`], [`Error::OutOfRange`] for options without sense.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (what, found) in [
            (Quantity::SearchBeam, self.beam),
            (Quantity::OutputBeam, self.lattice_beam),
            (Quantity::BeamDelta, self.beam_delta),
            (Quantity::Beam, self.prune_scale),
        ] {
            if found.is_nan() || found <= 0.0 {
                return Err(Error::Beam { what, found });
            }
        }
        let least = |what, min: usize, found: usize| {
            let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
            let [min, found] = [min, found].map(signed);
            if found < min { Err(Error::OutOfRange { what, min, max: i64::MAX, found }) } else { Ok(()) }
        };
        least(Quantity::MaxActiveStates, self.min_active.max(2), self.max_active)?;
        least(Quantity::Frames, 1, self.prune_interval)?;
        least(Quantity::Frames, 1, self.determinize_min_chunk_size)?;
        least(Quantity::Frames, self.determinize_min_chunk_size.saturating_add(1), self.determinize_max_delay)
    }
}
