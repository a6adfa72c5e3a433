//! Lattices of the same words, whose scores are added.

use std::collections::HashMap;

use crate::core::arc::{EPSILON, FINAL};
use crate::core::limits::Limits;
use crate::error::{Error, Operation, Quantity};
use crate::lattice::builder::LatticeBuilder;
use crate::lattice::container::Lattice;
use crate::lattice::utterance::Utterance;
use crate::support::ids::{id, narrow};

/// A state of both lattices; `true` if the last arc was one of the second lattice without a word.
/// The first lattice then takes no such arc, so that a pair of paths meets in one order only.
type State = (usize, usize, bool);

impl Lattice {
    /// Adds the scores of other lattices, one for each: a path of the result is a path of both with
    /// the same words, with the sums of both scores and the alignment of the first.
    ///
    /// # Errors
    /// [`Error::Size`] if there are not as many of both; [`Error::Limit`] above the limit, without
    /// one half of the memory, for each lattice; [`Error::TooLarge`].
    #[doc(alias = "lattice-interp")]
    #[doc(alias = "lattice-compose")]
    pub fn compose_lattices(&self, others: &Self, limits: Limits) -> Result<Self, Error> {
        Error::same_size(Quantity::Fsas, self.num_lattices(), others.num_lattices())?;
        let lattices: Result<Vec<_>, _> =
            (0..self.num_lattices()).map(|i| compose_one(&self.utterance(i), &others.utterance(i), limits)).collect();
        Self::cat(&lattices?.iter().collect::<Vec<_>>())
    }
}

fn compose_one(first: &Utterance<'_>, second: &Utterance<'_>, limits: Limits) -> Result<Lattice, Error> {
    let mut builder = LatticeBuilder::new();
    let (Some(_), Some(_)) = (first.fsa.final_state(), second.fsa.final_state()) else { return builder.build() };
    // The arcs of each state of the second lattice by their words.
    let mut by_word: Vec<Vec<usize>> =
        (0..second.fsa.num_states()).map(|state| second.fsa.arc_range(state).collect()).collect();
    by_word.iter_mut().for_each(|arcs| arcs.sort_by_key(|&arc| second.arc(arc).label));
    let matching = |state: usize, word: i32| {
        let arcs = &by_word[state];
        let from = arcs.partition_point(|&arc| second.arc(arc).label < word);
        arcs[from..].iter().copied().take_while(move |&arc| second.arc(arc).label == word)
    };
    let (mut states, mut reached) = (HashMap::new(), vec![(0, 0, false)]);
    states.insert(reached[0], builder.add_state());
    let (mut done, mut arcs) = (0, 0_usize);
    while let Some(&(a, b, waits)) = reached.get(done) {
        let from = id(done);
        done += 1;
        let mut reach = |builder: &mut LatticeBuilder, state: State| {
            *states.entry(state).or_insert_with(|| {
                reached.push(state);
                builder.add_state()
            })
        };
        for arc in first.fsa.arc_range(a) {
            let (word, to) = (first.arc(arc).label, first.arc(arc).states().1);
            let (graph, acoustic) = first.scores(arc);
            let alignment = first.alignment(arc);
            if word == EPSILON {
                if !waits {
                    arcs += 1;
                    let next = reach(&mut builder, (to, b, false));
                    builder.add_arc(from, next, EPSILON, graph, acoustic, alignment);
                }
                continue;
            }
            for other in matching(b, word) {
                arcs += 1;
                let graph = narrow(first.graph(arc) + second.graph(other));
                let acoustic = narrow(first.acoustic(arc) + second.acoustic(other));
                if word == FINAL {
                    builder.add_final(from, graph, acoustic, alignment);
                } else {
                    let next = reach(&mut builder, (to, second.arc(other).states().1, false));
                    builder.add_arc(from, next, word, graph, acoustic, alignment);
                }
            }
        }
        for other in matching(b, EPSILON) {
            arcs += 1;
            let (graph, acoustic) = second.scores(other);
            let next = reach(&mut builder, (a, second.arc(other).states().1, true));
            builder.add_arc(from, next, EPSILON, graph, acoustic, &[]);
        }
        let bytes = reached.len() * 3 * size_of::<State>() + arcs * 64;
        limits.check(Operation::Composition, bytes, reached.len(), arcs)?;
    }
    builder.build()?.connect()
}
