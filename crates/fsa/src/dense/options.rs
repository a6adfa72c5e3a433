//! Options of a search.

use kaldera_base::setters;

use crate::core::limits::Limits;
use crate::{Error, Quantity};

/// Options of a search: the paths that it looks at and the paths that it keeps. The defaults are
/// the values of k2's decoding recipes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct DenseOptions {
    /// States whose score in a frame is more than this below the best one are given up. 20 unless
    /// set; infinite for all states.
    pub search_beam: f32,
    /// Arcs that are on no path within this beam of the best one are left out of the lattice. 8
    /// unless set; 0 keeps the best path and paths that are as good.
    pub output_beam: f32,
    /// At least this many states of a frame, the best ones, are kept, however narrow the beam is.
    /// 30 unless set.
    #[doc(alias = "min_active")]
    pub min_active_states: usize,
    /// At most this many states of a frame are kept, except for some with the same score. It takes
    /// precedence over a larger `min_active_states`. 10,000 unless set.
    #[doc(alias = "max_active")]
    pub max_active_states: usize,
    /// If the numbers of active states set the beam of a frame, the beam of the next one is wider
    /// by this than the beam that these numbers require. 0.5 unless set, as in Kaldi.
    pub beam_delta: f32,
    /// If no final state was reached, take all states of the last frame as final ones.
    pub allow_partial: bool,
    /// Exactness of the output beam.
    pub pruning: LatticePruning,
    /// Limits for the paths of one utterance; half of the memory unless set.
    pub limits: Limits,
}

/// Arcs that the output beam leaves in a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LatticePruning {
    /// Only arcs on paths of the whole utterance within the beam.
    #[default]
    Exact,
    /// As in k2: frames are pruned once, 20 at a time, by the next 10 frames. Many more arcs stay,
    /// most of them on paths that lead nowhere.
    Chunkwise,
}

/// End of the paths of a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// In final states of the graph.
    Final,
    /// In final states of the graph or, if none was reached, in all states of the last frame; k2's
    /// `allow_partial`.
    FinalElseActive,
    /// In all states of the last frame, final or not: for results while an utterance goes on.
    Active,
}

setters! {
    DenseOptions:
    search_beam, with_search_beam: f32 = 20.0, "With a search beam.";
    output_beam, with_output_beam: f32 = 8.0, "With an output beam.";
    min_active_states, with_min_active_states: usize = 30, "With at least so many active states.";
    max_active_states, with_max_active_states: usize = 10_000, "With at most so many active states.";
    beam_delta, with_beam_delta: f32 = 0.5,
        "With beams that are wider by this where the numbers of active states set them.";
    allow_partial, with_allow_partial: bool = false, "With partial results.";
    pruning, with_pruning: LatticePruning = LatticePruning::Exact, "With exact pruning, or k2's.";
    limits, with_limits: Limits = Limits::default(), "With limits for an utterance.";
}

impl DenseOptions {
    /// Returns options by which no state is given up, whatever its score.
    pub(super) fn exhaustive(output_beam: f32) -> Self {
        Self {
            search_beam: f32::INFINITY,
            output_beam,
            min_active_states: 0,
            max_active_states: usize::MAX,
            ..Self::default()
        }
    }

    pub(super) fn ending(&self) -> Ending {
        if self.allow_partial { Ending::FinalElseActive } else { Ending::Final }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        for (what, found) in [
            (Quantity::SearchBeam, self.search_beam),
            (Quantity::OutputBeam, self.output_beam),
            (Quantity::BeamDelta, self.beam_delta),
        ] {
            if found.is_nan() || found < 0.0 {
                return Err(Error::Beam { what, found });
            }
        }
        if self.max_active_states == 0 {
            return Err(Error::OutOfRange { what: Quantity::MaxActiveStates, min: 1, max: i64::MAX, found: 0 });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_sense_are_refused() {
        let options = DenseOptions::default;
        for good in [options(), options().with_search_beam(0.0), options().with_output_beam(f32::INFINITY)] {
            assert_eq!(good.check(), Ok(()));
        }
        assert_eq!(options().with_max_active_states(1).check(), Ok(()));
        assert!(options().with_max_active_states(0).check().is_err());
        assert!(matches!(
            options().with_output_beam(f32::NAN).check(),
            Err(Error::Beam { what: Quantity::OutputBeam, .. })
        ));
        assert!(matches!(
            options().with_search_beam(-1.0).check(),
            Err(Error::Beam { what: Quantity::SearchBeam, .. })
        ));
    }
}
