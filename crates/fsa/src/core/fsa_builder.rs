//! An FSA from states and arcs in any order.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::error::{Error, Quantity};
use crate::support::ids::index;

/// Builds an FSA, or a transducer, from states and arcs in any order.
///
/// The first state is the start. Any number of states may be final: k2 has one final state, which
/// is the last one and is entered by arcs with label -1, and [`build`](Self::build) adds it, with
/// an arc from each state of [`add_final`](Self::add_final).
///
/// ```
/// use fsa::FsaBuilder;
///
/// let mut builder = FsaBuilder::new();
/// let [start, middle] = [builder.add_state(), builder.add_state()];
/// builder.add_arc(middle, middle, 8, -0.5);
/// builder.add_arc(start, middle, 7, -1.0);
/// builder.add_final(middle, 0.0);
/// let fsa = builder.build()?;
/// assert_eq!((fsa.num_states(), fsa.labels()), (3, vec![7, 8, -1]));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FsaBuilder {
    num_states: usize,
    arcs: Vec<Arc>,
    aux_labels: Vec<i32>,
    finals: Vec<(i32, f32)>,
}

impl FsaBuilder {
    /// Creates a builder without states.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a state and returns its number: 0 is the start.
    pub fn add_state(&mut self) -> i32 {
        self.num_states += 1;
        // More states than an i32 counts are refused by `build`.
        i32::try_from(self.num_states - 1).unwrap_or(i32::MAX)
    }

    /// Adds an arc; its output label is its input label. `label` is 0 (epsilon) or above.
    pub fn add_arc(&mut self, src_state: i32, dest_state: i32, label: i32, score: f32) {
        self.add_transducer_arc(src_state, dest_state, label, label, score);
    }

    /// Adds an arc with an output label; both labels are 0 (epsilon) or above.
    pub fn add_transducer_arc(&mut self, src_state: i32, dest_state: i32, label: i32, aux_label: i32, score: f32) {
        self.arcs.push(Arc::new(src_state, dest_state, label, score));
        self.aux_labels.push(aux_label);
    }

    /// Makes a state a final one; `score` is added to the paths that end there.
    pub fn add_final(&mut self, state: i32, score: f32) {
        self.finals.push((state, score));
    }

    /// Builds the FSA. The arcs of a state keep their order, its arc into the final state is the
    /// last.
    ///
    /// # Errors
    /// [`Error::NoState`] for an arc of a state that was not added; [`Error::FinalLabel`] for the
    /// label -1 and [`Error::Label`] for labels below; [`Error::Score`]; [`Error::TooLarge`].
    pub fn build(self) -> Result<Fsa, Error> {
        Ok(self.build_graph()?.into_parts().0)
    }

    /// Builds the transducer.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_graph(self) -> Result<Graph<Fsa>, Error> {
        let Self { num_states, arcs, aux_labels, finals } = self;
        let last = Error::fit(Quantity::States, num_states)?;
        if let Some((arc, wrong)) = arcs.iter().enumerate().find(|(_, arc)| arc.label < EPSILON) {
            let Arc { dest_state, label, .. } = *wrong;
            return Err(match label {
                FINAL => Error::FinalLabel { fsa: 0, arc, dest_state, label },
                _ => Error::Label { fsa: 0, arc, label },
            });
        }
        let finals = finals.iter().map(|&(state, score)| (Arc::new(state, last, FINAL, score), FINAL));
        let mut all: Vec<_> = arcs.into_iter().zip(aux_labels).chain(finals).collect();
        for (arc, (Arc { src_state, dest_state, label, .. }, _)) in all.iter().enumerate() {
            let dest_state = if *label == FINAL { *src_state } else { *dest_state };
            if let Some(&state) = [*src_state, dest_state].iter().find(|state| !(0..last).contains(state)) {
                return Err(Error::NoState { arc, state, num_states });
            }
        }
        all.sort_by_key(|(arc, _)| arc.src_state);
        let (arcs, aux_labels): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let num_states = if last == 0 { 0 } else { index(last) + 1 };
        Graph::new(Fsa::from_arcs(num_states, arcs)?).with_aux_labels(aux_labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_of_any_order_make_a_transducer() {
        let mut builder = FsaBuilder::new();
        assert_eq!((0..3).map(|_| builder.add_state()).collect::<Vec<_>>(), [0, 1, 2]);
        builder.add_final(2, 0.5);
        builder.add_arc(2, 0, 5, 0.0);
        builder.add_transducer_arc(0, 1, 7, 70, 1.0);
        builder.add_arc(1, 2, 0, 0.0);
        builder.add_transducer_arc(0, 2, 6, 0, 0.0);
        builder.add_final(0, 0.0);
        let graph = builder.build_graph().unwrap();
        let expected =
            [(0, 1, 7, 1.0), (0, 2, 6, 0.0), (0, 3, -1, 0.0), (1, 2, 0, 0.0), (2, 0, 5, 0.0), (2, 3, -1, 0.5)];
        assert_eq!(*graph.fsas(), crate::core::fsa::fsa(4, &expected));
        assert_eq!(graph.aux_labels(), Some(&[70, 0, -1, 0, 5, -1][..]));
        assert_eq!(FsaBuilder::new().build(), Ok(Fsa::empty()));
    }

    #[test]
    fn states_that_were_not_added_are_refused() {
        let with = |change: fn(&mut FsaBuilder)| {
            let mut builder = FsaBuilder::new();
            builder.add_state();
            change(&mut builder);
            builder.build()
        };
        assert!(with(|builder| builder.add_final(0, 0.0)).is_ok());
        let no_state = |state| Err(Error::NoState { arc: 0, state, num_states: 1 });
        assert_eq!(with(|builder| builder.add_arc(0, 1, 3, 0.0)), no_state(1));
        assert_eq!(with(|builder| builder.add_arc(-1, 0, 3, 0.0)), no_state(-1));
        assert_eq!(with(|builder| builder.add_final(4, 0.0)), no_state(4));
        let final_label = Error::FinalLabel { fsa: 0, arc: 0, dest_state: 0, label: -1 };
        assert_eq!(with(|builder| builder.add_arc(0, 0, -1, 0.0)), Err(final_label));
        assert_eq!(with(|builder| builder.add_arc(0, 0, -2, 0.0)), Err(Error::Label { fsa: 0, arc: 0, label: -2 }));
    }
}
