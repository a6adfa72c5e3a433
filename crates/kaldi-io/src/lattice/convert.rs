//! Conversion between the two kinds of lattices.

use super::*;

/// Each identifier gets an arc: the first one is on the arc of the word, which has the costs.
impl From<&CompactLattice> for Lattice {
    #[doc(alias = "ConvertLattice")]
    fn from(compact: &CompactLattice) -> Self {
        let mut states = vec![LatticeState::default(); compact.states.len()];
        for (from, state) in compact.states.iter().enumerate() {
            for arc in &state.arcs {
                let labels = &arc.weight.alignment;
                spell(&mut states, from, arc.olabel, arc.weight.weight, labels, Some(arc.next_state));
            }
            if let Some(CompactLatticeWeight { weight, alignment }) = &state.final_weight {
                if alignment.is_empty() {
                    states[from].final_weight = Some(*weight);
                } else {
                    let end = spell(&mut states, from, 0, *weight, alignment, None);
                    states[end].final_weight = Some(LatticeWeight::default());
                }
            }
        }
        Self { start: compact.start, states }
    }
}

/// Adds a chain of arcs with these labels to state `to`, or to a new state; returns its last state.
fn spell(
    states: &mut Vec<LatticeState<LatticeWeight>>,
    from: usize,
    word: i32,
    weight: LatticeWeight,
    labels: &[i32],
    to: Option<usize>,
) -> usize {
    let (mut state, mut word, mut weight) = (from, word, weight);
    let none = [0];
    let labels = if labels.is_empty() { &none[..] } else { labels };
    for (i, &ilabel) in labels.iter().enumerate() {
        let next_state = match to {
            Some(to) if i + 1 == labels.len() => to,
            _ => {
                states.push(LatticeState::default());
                states.len() - 1
            }
        };
        states[state].arcs.push(LatticeArc { ilabel, olabel: word, weight, next_state });
        (state, word, weight) = (next_state, 0, LatticeWeight::default());
    }
    state
}

/// Merges chains of arcs: a state is removed if one arc enters it and its only arc has no word. The
/// start and final states are kept.
impl From<&Lattice> for CompactLattice {
    #[doc(alias = "ConvertLattice")]
    fn from(lattice: &Lattice) -> Self {
        let mut entering = vec![0_usize; lattice.states.len()];
        let arcs = lattice.states.iter().flat_map(|state| &state.arcs);
        arcs.for_each(|arc| entering[arc.next_state] += 1);
        let inner = |state: usize| {
            let LatticeState { final_weight, arcs } = &lattice.states[state];
            Some(state) != lattice.start
                && final_weight.is_none()
                && entering[state] == 1
                && matches!(&arcs[..], [arc] if arc.olabel == 0)
        };
        let mut numbers = vec![None; lattice.states.len()];
        let mut kept = 0;
        for (state, number) in numbers.iter_mut().enumerate() {
            if !inner(state) {
                *number = Some(kept);
                kept += 1;
            }
        }
        let mut states = Vec::with_capacity(kept);
        for (_, state) in lattice.states.iter().enumerate().filter(|(state, _)| numbers[*state].is_some()) {
            let mut arcs = Vec::with_capacity(state.arcs.len());
            for arc in &state.arcs {
                let mut weight = CompactLatticeWeight { weight: arc.weight, alignment: Vec::new() };
                weight.alignment.extend(Some(arc.ilabel).filter(|&label| label != 0));
                let mut next = arc.next_state;
                // A chain from a kept state ends at a kept state: no arc enters a cycle of inner
                // states.
                while numbers[next].is_none() {
                    let step = &lattice.states[next].arcs[0];
                    weight.weight.graph += step.weight.graph;
                    weight.weight.acoustic += step.weight.acoustic;
                    weight.alignment.extend(Some(step.ilabel).filter(|&label| label != 0));
                    next = step.next_state;
                }
                let next_state = numbers[next].unwrap_or_default();
                arcs.push(LatticeArc { ilabel: arc.olabel, olabel: arc.olabel, weight, next_state });
            }
            let final_weight = state.final_weight.map(|weight| CompactLatticeWeight { weight, alignment: Vec::new() });
            states.push(LatticeState { final_weight, arcs });
        }
        Self { start: lattice.start.and_then(|start| numbers[start]), states }
    }
}
