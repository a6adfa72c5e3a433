//! One lattice, borrowed: the input of the algorithms.

use kaldera_base::math::log_add;
use ragged_core::Ragged;

use crate::core::arc::Arc;
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::ids::index;

/// The states and arcs of one lattice. Arcs are counted within it.
#[derive(Clone, Copy)]
pub(crate) struct Utterance<'a> {
    pub(crate) fsa: FsaView<'a>,
    graph: &'a [f32],
    acoustic: &'a [f32],
    alignment: &'a Ragged<i32>,
}

impl<'a> Utterance<'a> {
    /// Creates a view; the scores and alignments are the ones of all lattices.
    pub(crate) fn new(fsa: FsaView<'a>, graph: &'a [f32], acoustic: &'a [f32], alignment: &'a Ragged<i32>) -> Self {
        let own = fsa.first_arc()..fsa.first_arc() + fsa.arcs().len();
        Self { fsa, graph: &graph[own.clone()], acoustic: &acoustic[own], alignment }
    }

    pub(crate) fn arc(&self, arc: usize) -> Arc {
        self.fsa.arcs()[arc]
    }

    pub(crate) fn graph(&self, arc: usize) -> f64 {
        f64::from(self.graph[arc])
    }

    pub(crate) fn acoustic(&self, arc: usize) -> f64 {
        f64::from(self.acoustic[arc])
    }

    /// Returns both scores as they are stored.
    pub(crate) fn scores(&self, arc: usize) -> (f32, f32) {
        (self.graph[arc], self.acoustic[arc])
    }

    /// Returns the sum of both scores.
    pub(crate) fn score(&self, arc: usize) -> f64 {
        self.graph(arc) + self.acoustic(arc)
    }

    pub(crate) fn alignment(&self, arc: usize) -> &'a [i32] {
        let range = self.alignment.shape().row_splits(1).row(self.fsa.first_arc() + arc);
        &self.alignment.values()[range]
    }

    /// Returns for each state the best score from the start, -inf if there is none.
    pub(crate) fn best_forward(&self) -> Vec<f64> {
        self.forward(f64::max)
    }

    /// Returns for each state the best score to the end.
    pub(crate) fn best_backward(&self) -> Vec<f64> {
        self.backward(f64::max)
    }

    /// Returns for each state the log-sum of all scores from the start.
    pub(crate) fn log_forward(&self) -> Vec<f64> {
        self.forward(log_add)
    }

    /// Returns for each state the log-sum of all scores to the end.
    pub(crate) fn log_backward(&self) -> Vec<f64> {
        self.backward(log_add)
    }

    fn forward(&self, add: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let mut scores = vec![f64::NEG_INFINITY; self.fsa.num_states()];
        if let Some(start) = scores.first_mut() {
            *start = 0.0;
        }
        for (i, arc) in self.fsa.arcs().iter().enumerate() {
            let (from, to) = arc.states();
            scores[to] = add(scores[to], scores[from] + self.score(i));
        }
        scores
    }

    fn backward(&self, add: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let mut scores = vec![f64::NEG_INFINITY; self.fsa.num_states()];
        if let Some(end) = scores.last_mut() {
            *end = 0.0;
        }
        for (i, arc) in self.fsa.arcs().iter().enumerate().rev() {
            let (from, to) = arc.states();
            scores[from] = add(scores[from], scores[to] + self.score(i));
        }
        scores
    }

    /// Returns for each state its frame: the number of input labels before it. If paths disagree,
    /// the first arc into a state decides; states that cannot be reached have none.
    pub(crate) fn times(&self) -> Vec<Option<usize>> {
        let mut times = vec![None; self.fsa.num_states()];
        if let Some(start) = times.first_mut() {
            *start = Some(0);
        }
        for (i, arc) in self.fsa.arcs().iter().enumerate() {
            let (from, to) = arc.states();
            if times[to].is_none() {
                times[to] = times[from].map(|time| time + self.alignment(i).len());
            }
        }
        times
    }

    /// Returns the arcs of a state, counted within the lattice.
    pub(crate) fn arcs_of(&self, state: i32) -> std::ops::Range<usize> {
        self.fsa.arc_range(index(state))
    }

    /// Returns an arc of a path, which must leave this state.
    ///
    /// # Errors
    /// [`Error::NotAPath`] if it does not.
    pub(crate) fn arc_from(&self, state: i32, arc: i32) -> Result<usize, Error> {
        let own = if self.fsa.num_states() == 0 { 0..0 } else { self.arcs_of(state) };
        usize::try_from(arc).ok().filter(|arc| own.contains(arc)).ok_or(Error::NotAPath { arc, state })
    }
}
