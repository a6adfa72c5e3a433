//! The decoder of an utterance.

use std::collections::HashMap;

use crate::core::arc::EPSILON;
use crate::error::{Error, Quantity};
use crate::incremental::appended::{Appended, FIRST_STATE, FIRST_TOKEN};
use crate::incremental::labels::TransitionLabels;
use crate::incremental::options::IncrementalOptions;
use crate::incremental::search::Search;
use crate::lattice::Lattice;
use crate::on_demand::SearchGraph;
use crate::support::ids::NONE;

/// Decodes one utterance after the other with a graph of transition identifiers.
///
/// The scores of a network come row by row, in chunks; the results do not depend on the chunks,
/// except that a stretch of frames is determinized at the end of a chunk. An utterance that ended
/// with an error must [begin](Self::begin) again.
#[derive(Debug, Clone)]
#[doc(alias = "LatticeIncrementalOnlineDecoder")]
#[doc(alias = "SingleUtteranceNnet3IncrementalDecoder")]
pub struct IncrementalDecoder {
    options: IncrementalOptions,
    search: Search,
    appended: Appended,
    /// Number of frames that the lattice has.
    in_lattice: usize,
    /// The labels of the tokens in which the lattice ends.
    labels: HashMap<u32, i32>,
    next_label: i32,
}

/// The best path of an utterance so far.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct BestPath {
    /// The transition identifier of each frame.
    pub labels: Vec<i32>,
    /// The words, without 0.
    pub words: Vec<i32>,
    /// Sum of the costs of the graph, with the cost of ending if there is one.
    pub graph_cost: f64,
    /// Sum of the costs of the network.
    pub acoustic_cost: f64,
}

impl IncrementalDecoder {
    /// Creates a decoder.
    ///
    /// # Errors
    /// [`Error::Beam`] for a beam that is not above 0; [`Error::OutOfRange`] for numbers that do
    /// not fit together.
    pub fn new(options: IncrementalOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            options,
            search: Search::new(),
            appended: Appended::default(),
            in_lattice: 0,
            labels: HashMap::new(),
            next_label: FIRST_TOKEN,
        })
    }

    /// Returns the options.
    pub fn options(&self) -> &IncrementalOptions {
        &self.options
    }

    /// Begins an utterance at the start of a graph.
    ///
    /// # Errors
    /// Errors of the graph; [`Error::EndlessCycle`].
    #[doc(alias = "InitDecoding")]
    pub fn begin<G: SearchGraph>(&mut self, graph: &mut G) -> Result<(), Error> {
        self.appended.clear();
        (self.in_lattice, self.next_label) = (0, FIRST_TOKEN);
        self.labels.clear();
        self.search.begin(graph, &self.options)
    }

    /// Takes the next frames: rows of `num_columns` scores, which are log-likelihoods. They have
    /// the acoustic scale.
    ///
    /// # Errors
    /// [`Error::Size`] if they are no whole rows; [`Error::DenseScore`] for NaN or plus infinity;
    /// [`Error::DenseLabel`] for an identifier of the graph without a column; errors of the graph
    /// and of the determinization; [`Error::Size`] if the utterance has not begun or has ended.
    #[doc(alias = "AdvanceDecoding")]
    pub fn advance<G: SearchGraph>(
        &mut self,
        graph: &mut G,
        labels: &TransitionLabels,
        scores: &[f32],
        num_columns: usize,
    ) -> Result<(), Error> {
        if num_columns == 0 || !scores.len().is_multiple_of(num_columns) {
            let expected = scores.len().checked_div(num_columns).unwrap_or(0) * num_columns;
            return Err(Error::Size { what: Quantity::Values, expected, found: scores.len() });
        }
        if self.search.finals.is_some() || self.search.tokens.frames.is_empty() {
            return Err(Error::Size { what: Quantity::Frames, expected: 0, found: scores.len() / num_columns });
        }
        for row in scores.chunks_exact(num_columns) {
            let frame = self.num_frames();
            if let Some(class) = row.iter().position(|score| score.is_nan() || *score == f32::INFINITY) {
                return Err(Error::DenseScore { utterance: 0, frame, class, score: row[class] });
            }
            if frame.is_multiple_of(self.options.prune_interval) {
                self.prune();
            }
            let taken = self.search.take(graph, labels, row, &self.options);
            taken.map_err(|error| Error::DenseFrame { utterance: 0, frame, error: Box::new(error) })?;
        }
        self.determinize(graph, labels)
    }

    fn prune(&mut self) {
        let beam = self.options.lattice_beam;
        self.search.tokens.prune(beam, beam * self.options.prune_scale);
    }

    /// Determinizes a stretch if the lattice is far behind. It ends at the frame with the fewest
    /// tokens.
    #[doc(alias = "UpdateLatticeDeterminization")]
    fn determinize<G: SearchGraph>(&mut self, graph: &mut G, labels: &TransitionLabels) -> Result<(), Error> {
        let last = self.num_frames();
        if last - self.in_lattice < self.options.determinize_max_delay {
            return Ok(());
        }
        self.prune();
        let first = self.in_lattice + self.options.determinize_min_chunk_size;
        let count = |frame: usize| self.search.tokens.frames[frame].count.unwrap_or(u32::MAX);
        // Of equal ones the latest.
        let best = (first..=last).rev().min_by_key(|&frame| count(frame));
        match best {
            Some(frame) if count(frame) as usize <= self.options.determinize_max_active => {
                self.extend(graph, labels, frame, false)
            }
            // It would take too long now.
            _ => Ok(()),
        }
    }

    /// Returns the number of frames taken.
    #[doc(alias = "NumFramesDecoded")]
    pub fn num_frames(&self) -> usize {
        self.search.tokens.num_frames()
    }

    /// Returns the number of frames that [`lattice`](Self::lattice) has without further work.
    pub fn num_frames_in_lattice(&self) -> usize {
        self.in_lattice
    }

    /// Returns `true` if there are states from which to go on.
    pub fn is_alive(&self) -> bool {
        self.search.is_alive()
    }

    /// Returns the best path so far. O(frames).
    ///
    /// The graph need not end there; after [`finish`](Self::finish) the path ends in a final state,
    /// if one was reached.
    #[doc(alias = "GetBestPath")]
    pub fn best_path(&self) -> BestPath {
        let mut path = BestPath::default();
        let finals = self.search.finals.as_ref();
        let Some(mut token) = self.search.best_token(finals) else { return path };
        path.graph_cost = finals.map_or(0.0, |finals| f64::from(finals.cost(token)));
        let mut frame = self.num_frames();
        while token != NONE {
            let step = self.search.step_back(token);
            if let Some(link) = step.link {
                path.graph_cost += f64::from(link.graph);
                path.acoustic_cost += f64::from(link.acoustic);
                path.words.extend(Some(link.word).filter(|&word| word != EPSILON));
                if link.label != EPSILON {
                    frame -= 1;
                    path.acoustic_cost -= f64::from(self.search.tokens.offsets[frame]);
                    path.labels.push(link.label);
                }
            }
            token = step.token;
        }
        path.labels.reverse();
        path.words.reverse();
        path
    }

    /// Returns the best path so far from the last frame back: for each frame a number that belongs
    /// to the token before it, and its transition identifier. As long as the number of a frame
    /// stays, so does the path before it.
    #[doc(alias = "BestPathIterator")]
    pub fn trace_back(&self) -> impl Iterator<Item = (u64, i32)> {
        let mut at = self.search.best_token(self.search.finals.as_ref()).unwrap_or(NONE);
        std::iter::from_fn(move || {
            while at != NONE {
                let step = self.search.step_back(at);
                at = step.token;
                if let Some(label) = step.link.map(|link| link.label).filter(|&label| label != EPSILON) {
                    return Some((self.search.tokens.token(at).number.into(), label));
                }
            }
            None
        })
    }

    /// Returns the cost of the best path that ends in a final state in excess of the best path;
    /// infinite if there is no such path.
    #[doc(alias = "FinalRelativeCost")]
    pub fn final_relative_cost<G: SearchGraph>(&self, graph: &mut G) -> f32 {
        self.search.final_costs(graph).relative
    }

    /// Ends the utterance: its paths end in final states, unless none was reached. No more frames
    /// are taken.
    ///
    /// # Errors
    /// [`Error::Size`] if the utterance has not begun; the errors of the graph.
    #[doc(alias = "FinalizeDecoding")]
    pub fn finish<G: SearchGraph>(&mut self, graph: &mut G) -> Result<(), Error> {
        if self.search.tokens.frames.is_empty() {
            return Err(Error::Size { what: Quantity::Frames, expected: 1, found: 0 });
        }
        if self.search.finals.is_none() {
            self.search.finish(graph, self.options.lattice_beam)?;
        }
        Ok(())
    }

    /// Returns the lattice of the first `num_frames` frames, which are at least as many as the
    /// lattice has already.
    ///
    /// With `use_finals`, which needs all frames, its paths end in final states, unless none was
    /// reached; otherwise in all states of the frame. After [`finish`](Self::finish) only the first
    /// is possible.
    ///
    /// # Errors
    /// [`Error::Size`] for another number of frames; [`Error::Limit`]; [`Error::OutOfRange`] for
    /// words of 100,000,000 or more; errors of the graph.
    #[doc(alias = "GetLattice")]
    pub fn lattice<G: SearchGraph>(
        &mut self,
        graph: &mut G,
        labels: &TransitionLabels,
        num_frames: usize,
        use_finals: bool,
    ) -> Result<Lattice, Error> {
        let all = self.num_frames();
        let must_be_all = use_finals || self.search.finals.is_some();
        if num_frames < self.in_lattice || num_frames > all || (must_be_all && num_frames != all) {
            return Err(Error::Size { what: Quantity::Frames, expected: all, found: num_frames });
        }
        self.extend(graph, labels, num_frames, use_finals || self.search.finals.is_some())?;
        self.appended.lattice()
    }

    /// Extends the lattice to so many frames, and sets the costs of its ends.
    fn extend<G: SearchGraph>(
        &mut self,
        graph: &mut G,
        labels: &TransitionLabels,
        num_frames: usize,
        use_finals: bool,
    ) -> Result<(), Error> {
        if self.in_lattice > 0 && self.appended.is_empty() {
            self.in_lattice = num_frames;
            return Ok(());
        }
        if num_frames > self.in_lattice {
            self.prune();
            self.append(labels, num_frames)?;
        }
        if self.appended.is_empty() {
            return Ok(());
        }
        if !use_finals {
            self.appended.set_ends(|_| 0.0);
            return Ok(());
        }
        let finals = self.search.final_costs(graph);
        let costs: HashMap<i32, f32> =
            finals.costs.iter().filter_map(|(token, &cost)| Some((*self.labels.get(token)?, cost))).collect();
        let cost = |token: i32| costs.get(&token).copied().unwrap_or(f32::INFINITY);
        // If no token that is left is final, all are.
        self.appended.set_ends(|token| if costs.is_empty() { 0.0 } else { cost(token) });
        Ok(())
    }

    /// Appends the frames up to `num_frames` to the lattice.
    fn append(&mut self, labels: &TransitionLabels, num_frames: usize) -> Result<(), Error> {
        if self.appended.is_empty() || self.appended.ends_at_start() {
            self.in_lattice = 0;
            self.appended.clear();
        }
        let first = self.in_lattice;
        let (mut chunk, of_label) = if first > 0 { self.appended.begin_chunk() } else { Default::default() };
        let (tokens, finals) = (&self.search.tokens, self.search.finals.as_ref());
        let mut states: HashMap<u32, usize> = HashMap::new();
        let (mut ends, mut next_labels) = (HashMap::new(), HashMap::new());
        for token in tokens.of_frame(num_frames) {
            let state = chunk.add_state();
            states.insert(token, state);
            // Until the end, all tokens of the last frame are on a best path: the cost behind each
            // is its own cost, negated.
            let own = tokens.token(token);
            let cost = finals.map_or(own.extra - own.cost, |finals| finals.cost(token));
            if cost < f32::INFINITY {
                let label = self.next_label;
                self.next_label += 1;
                let end = chunk.add_state();
                chunk.add_arc((state, end), EPSILON, label, (0.0, 0.0));
                chunk.add_final(end, cost);
                ends.insert(label, cost);
                next_labels.insert(token, label);
            }
        }
        for frame in (first..=num_frames).rev() {
            let offset = tokens.offsets.get(frame).copied().unwrap_or(0.0);
            if frame != num_frames {
                for token in tokens.of_frame(frame) {
                    // The states in which the lattice so far ends; some of them were pruned.
                    let known = (frame == first && first > 0)
                        .then(|| of_label.get(self.labels.get(&token)?).copied())
                        .flatten();
                    states.insert(token, known.unwrap_or_else(|| chunk.add_state()));
                }
            }
            for token in tokens.of_frame(frame) {
                for link in tokens.links_of(token) {
                    // Arcs behind the last frame are left out.
                    let Some(&dest) = states.get(&link.dest) else { continue };
                    if link.word >= FIRST_STATE {
                        let [max, found] = [FIRST_STATE - 1, link.word].map(i64::from);
                        return Err(Error::OutOfRange { what: Quantity::SymbolLabel, min: 0, max, found });
                    }
                    let offset = if link.label == EPSILON { 0.0 } else { offset };
                    let costs = (link.graph, link.acoustic - offset);
                    chunk.add_arc((states[&token], dest), link.label, link.word, costs);
                }
            }
        }
        if first == 0 {
            let Some(&start) = states.get(&tokens.start) else { return Ok(()) };
            chunk.start = start;
        }
        self.labels = next_labels;
        let determinized = chunk.determinize(labels, &self.options)?;
        self.appended.append(&determinized, &ends);
        self.in_lattice = num_frames;
        Ok(())
    }
}
