//! Union of lattices.

use crate::error::Error;
use crate::lattice::builder::LatticeBuilder;
use crate::lattice::container::Lattice;

impl Lattice {
    /// Returns one lattice with the paths of all. A new start leads to each with an arc without a
    /// word; the final arcs of each stay.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "lattice-union")]
    pub fn union(&self) -> Result<Self, Error> {
        let mut builder = LatticeBuilder::new();
        let filled = (0..self.num_lattices()).filter(|&i| self.utterance(i).fsa.num_states() > 0);
        let filled: Vec<_> = filled.collect();
        if filled.is_empty() {
            return builder.build();
        }
        let start = builder.add_state();
        for i in filled {
            let utterance = self.utterance(i);
            // All states but the final one.
            let states: Vec<_> = (1..utterance.fsa.num_states()).map(|_| builder.add_state()).collect();
            builder.add_arc(start, states[0], 0, 0.0, 0.0, &[]);
            for (arc, &word) in utterance.fsa.arcs().iter().enumerate().map(|(i, arc)| (i, &arc.label)) {
                let (from, to) = utterance.arc(arc).states();
                let (graph, acoustic) = utterance.scores(arc);
                let alignment = utterance.alignment(arc);
                if word < 0 {
                    builder.add_final(states[from], graph, acoustic, alignment);
                } else {
                    builder.add_arc(states[from], states[to], word, graph, acoustic, alignment);
                }
            }
        }
        builder.build()
    }
}
