//! Conversion between Kaldi's lattices and `fsa` lattices.

use fsa::lattice::LatticeBuilder;

use super::*;

/// A batch of one lattice. Its arcs have the same order. The states are renumbered if the start is
/// not the first, or if they are not in topological order.
///
/// # Errors
/// [`fsa::Error::Score`] for costs that are NaN or minus infinity, [`fsa::Error::Label`] for words
/// below 0, [`fsa::Error::Cycle`] and [`fsa::Error::NotTopSorted`] for cycles.
impl TryFrom<&CompactLattice> for fsa::lattice::Lattice {
    type Error = fsa::Error;

    fn try_from(compact: &CompactLattice) -> Result<Self, fsa::Error> {
        let mut builder = LatticeBuilder::new();
        let Some(start) = compact.start else { return builder.build() };
        let numbers: Vec<_> = compact.states.iter().map(|_| builder.add_state()).collect();
        // The start becomes 0, and the states before it move up.
        let number = |state: usize| match state {
            _ if state == start => numbers[0],
            _ if state < start => numbers[state + 1],
            _ => numbers[state],
        };
        for (from, state) in compact.states.iter().enumerate() {
            for LatticeArc { olabel, weight, next_state, .. } in &state.arcs {
                let LatticeWeight { graph, acoustic } = weight.weight;
                builder.add_arc(number(from), number(*next_state), *olabel, -graph, -acoustic, &weight.alignment);
            }
            if let Some(CompactLatticeWeight { weight, alignment }) = &state.final_weight {
                builder.add_final(number(from), -weight.graph, -weight.acoustic, alignment);
            }
        }
        builder.build()
    }
}

/// Converts through the compact lattice of the same paths.
impl TryFrom<&Lattice> for fsa::lattice::Lattice {
    type Error = fsa::Error;

    fn try_from(lattice: &Lattice) -> Result<Self, fsa::Error> {
        Self::try_from(&CompactLattice::from(lattice))
    }
}

impl CompactLattice {
    /// Converts lattice `i` of a batch: arcs into the final state become final weights. `None` if
    /// there is no such lattice.
    pub fn from_fsa(lattices: &fsa::lattice::Lattice, i: usize) -> Option<Self> {
        if i >= lattices.num_lattices() {
            return None;
        }
        let fsa = lattices.fsas().fsa(i);
        let mut states: Vec<LatticeState<CompactLatticeWeight>> = vec![LatticeState::default(); fsa.num_states()];
        let mut needs_end = false;
        for (at, arc) in fsa.arcs().iter().enumerate() {
            let at = fsa.first_arc() + at;
            let weight = CompactLatticeWeight {
                // So that no cost is 0, not -0.
                weight: LatticeWeight::new(0.0 - lattices.graph_scores()[at], 0.0 - lattices.acoustic_scores()[at]),
                alignment: lattices.alignment().values()[lattices.alignment().shape().row_splits(1).row(at)].to_vec(),
            };
            let state = &mut states[usize::try_from(arc.src_state).ok()?];
            if arc.label == fsa::FINAL && state.final_weight.is_none() {
                state.final_weight = Some(weight);
                continue;
            }
            // A second arc into the final state remains an arc, without a word.
            needs_end |= arc.label == fsa::FINAL;
            let (word, next_state) = (arc.label.max(0), usize::try_from(arc.dest_state).ok()?);
            state.arcs.push(LatticeArc { ilabel: word, olabel: word, weight, next_state });
        }
        if needs_end {
            states.last_mut()?.final_weight = Some(CompactLatticeWeight::default());
        } else {
            states.pop();
        }
        Some(Self { start: (!states.is_empty()).then_some(0), states })
    }
}
