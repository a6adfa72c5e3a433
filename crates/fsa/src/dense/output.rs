//! The lattice of the results of a search.

use super::graph::{DecodingGraph, GraphArc, NO_ARC};
use super::laps::{FrameStates, GONE};
use super::search::Search;
use super::trellis::{Extras, Link, Trellis};
use super::{DenseOptions, Ending, Outcome};
use crate::core::builder::SortedFsaBuilder;
use crate::core::limits::Limits;
use crate::{Arc, Error, FINAL, Operation, Quantity};

/// A lattice with the data of its arcs.
#[derive(Debug, Default)]
pub(super) struct LatticeArcs {
    pub(super) builder: SortedFsaBuilder,
    /// The arcs of the graph, or -1.
    pub(super) graph_arcs: Vec<i32>,
    /// The frames, or -1 for epsilon arcs.
    pub(super) frames: Vec<i32>,
    pub(super) graph_scores: Vec<f32>,
}

/// Pruning that chooses the paths of a lattice.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pruning {
    /// The paths left by the output beam and the kind of pruning.
    OutputBeam,
    /// The best paths, whatever the kind of pruning.
    BestPath,
}

/// Returns the lattice of the results that are left, and its outcome.
///
/// # Errors
/// [`Error::TooLarge`]; [`Error::Limit`], by itself or in [`Error::DenseFrame`]; [`Error::Binary`]
/// for a search that was read from bytes and is of another graph.
pub(super) fn lattice<G: DecodingGraph>(
    graph: &G,
    search: &Search,
    options: &DenseOptions,
    ending: Ending,
    pruning: Pruning,
    utterance: usize,
) -> Result<(LatticeArcs, Outcome), Error> {
    let trellis = &search.trellis;
    if !search.is_alive() {
        // The last frame has no states: its arcs led nowhere.
        return Ok((LatticeArcs::default(), Outcome::Died { frame: trellis.num_frames().saturating_sub(1) }));
    }
    let (mut links, outcome) = last_links(graph, search, ending);
    graph.check()?;
    // A sum may be below everything that single precision holds.
    let (best, scores) = trellis.last_scores();
    links.retain(|link| (scores[link.source as usize] - best) + link.score > f32::NEG_INFINITY);
    if links.is_empty() {
        return Ok((LatticeArcs::default(), Outcome::NoFinalState));
    }
    let (beam, from) = match pruning {
        Pruning::OutputBeam => (options.output_beam, search.unpruned_from(options)),
        Pruning::BestPath => (0.0, 0),
    };
    let made = Writer::new(trellis, links, beam, from).write(graph, options.limits, utterance);
    graph.check()?;
    Ok((made?, outcome))
}

/// Returns the links from the last frame to the end of all paths.
fn last_links<G: DecodingGraph>(graph: &G, search: &Search, ending: Ending) -> (Vec<Link>, Outcome) {
    let mut links = Vec::new();
    if ending != Ending::Active {
        for (source, state) in search.ends() {
            let arcs = graph.final_arcs(state).filter(|&(_, score)| score > f32::NEG_INFINITY);
            links.extend(arcs.map(|(arc, score)| Link { source, dest: 0, arc, score }));
        }
    }
    if ending == Ending::Final || !links.is_empty() {
        return (links, Outcome::Final);
    }
    let active = search.ends().map(|(source, _)| Link { source, dest: 0, arc: NO_ARC, score: 0.0 });
    (active.collect(), Outcome::Partial)
}

/// Memory of an arc of a lattice with its data, once here and once in the lattices of all
/// utterances.
const BYTES_OF_ARC: usize = 2 * (size_of::<Arc>() + 3 * size_of::<i32>());

struct Writer<'a> {
    trellis: &'a Trellis,
    extras: Extras,
    /// The links to the end, and how much worse than the best path the paths over each of them are.
    last: Vec<(Link, f32)>,
    beam: f32,
    /// Before this frame, everything stays, dead ends too.
    from: usize,
    made: LatticeArcs,
}

impl<'a> Writer<'a> {
    fn new(trellis: &'a Trellis, last: Vec<Link>, beam: f32, from: usize) -> Self {
        let (best, scores) = trellis.last_scores();
        let score = |link: &Link| (scores[link.source as usize] - best) + link.score;
        let total = last.iter().map(score).fold(f32::NEG_INFINITY, f32::max);
        let last: Vec<_> = last.into_iter().map(|link| (link, total - score(&link))).collect();
        let mut of_tokens = vec![f32::INFINITY; scores.len()];
        for (link, extra) in last.iter().filter(|(_, extra)| *extra <= beam) {
            let least = &mut of_tokens[link.source as usize];
            *least = extra.min(*least);
        }
        let extras = trellis.extras(from, of_tokens.into_iter(), beam);
        Self { trellis, extras, last, beam, from, made: LatticeArcs::default() }
    }

    fn write<G: DecodingGraph>(mut self, graph: &G, limits: Limits, utterance: usize) -> Result<LatticeArcs, Error> {
        let mut outgoing = Vec::new();
        // The number of a state is its index among the states of its frame, behind the states of
        // all frames before.
        let mut first = 0;
        let mut states = self.states(0);
        for frame in 0..=self.trellis.last() {
            let next = first + states.count;
            outgoing.clear();
            self.within(frame, first, &states, &mut outgoing);
            let next_states = if frame < self.trellis.last() {
                let next_states = self.states(frame + 1);
                self.onward(frame, (first, &states), (next, &next_states), &mut outgoing);
                next_states
            } else {
                self.ends((first, &states), next, &mut outgoing);
                FrameStates::default()
            };
            if !outgoing.is_sorted_by_key(|arc: &Outgoing| arc.source) {
                outgoing.sort_by_key(|arc| arc.source);
            }
            for arc in &outgoing {
                self.add(arc, graph)?;
            }
            let arcs = self.made.builder.arcs.len();
            let needed = self.trellis.bytes() + arcs.saturating_mul(BYTES_OF_ARC);
            limits.check(Operation::DenseIntersection, needed, next, arcs).map_err(|error| {
                let (frame, error) = (self.trellis.first_frame() + frame, Box::new(error));
                Error::DenseFrame { utterance, frame, error }
            })?;
            (first, states) = (next, next_states);
        }
        while self.made.builder.ends.len() <= first {
            self.made.builder.end_state();
        }
        Ok(self.made)
    }

    fn states(&self, frame: usize) -> FrameStates {
        if frame < self.from {
            FrameStates::all(self.trellis.num_tokens(frame), self.trellis.epsilons_of(frame))
        } else {
            FrameStates::within(self.trellis, &self.extras, frame, self.beam)
        }
    }

    /// Adds the arcs between states of a frame.
    fn within(&self, frame: usize, first: usize, states: &FrameStates, outgoing: &mut Vec<Outgoing>) {
        let (epsilons, closing) = (self.trellis.epsilons_of(frame), self.trellis.closing_of(frame));
        if epsilons.is_empty() && closing.is_empty() {
            return;
        }
        let is_kept = frame < self.from;
        let extras = if is_kept { &[][..] } else { self.trellis.extras_of(&self.extras, frame) };
        let links = epsilons.iter().map(|link| (link, false)).chain(closing.iter().map(|link| (link, true)));
        for (link, closes) in links {
            let extra =
                extras.get(link.dest as usize).map_or(0.0, |extra| extra + self.trellis.lost_within(frame, link));
            for [source, dest] in states.ends(link, closes, extra, self.beam) {
                outgoing.push(Outgoing::new(link, first + source, first + dest, None));
            }
        }
    }

    /// Adds the arcs to states of the next frame.
    fn onward(
        &self,
        frame: usize,
        (first, states): (usize, &FrameStates),
        (next, next_states): (usize, &FrameStates),
        outgoing: &mut Vec<Outgoing>,
    ) {
        let number = Some(self.trellis.first_frame() + frame);
        let mut add = |link: &Link, extra: f32| {
            let dest = next_states.entry(link.dest);
            if dest != GONE {
                let arc = |source| Outgoing::new(link, first + source, next + dest, number);
                outgoing.extend(states.exits(link.source, extra, self.beam).map(arc));
            }
        };
        if frame < self.from {
            self.trellis.links_of(frame).iter().for_each(|link| add(link, 0.0));
        } else {
            self.trellis.links_with_extras(&self.extras, frame).for_each(|(link, extra)| add(link, extra));
        }
    }

    /// Adds the arcs into the final state.
    fn ends(&self, (first, states): (usize, &FrameStates), end: usize, outgoing: &mut Vec<Outgoing>) {
        let number = Some(self.trellis.num_frames());
        for (link, extra) in &self.last {
            let arc = |source| Outgoing::new(link, first + source, end, number);
            outgoing.extend(states.exits(link.source, *extra, self.beam).map(arc));
        }
    }

    fn add<G: DecodingGraph>(&mut self, it: &Outgoing, graph: &G) -> Result<(), Error> {
        while self.made.builder.ends.len() < it.source {
            self.made.builder.end_state();
        }
        let none = GraphArc { arc: -1, label: FINAL, score: 0.0 };
        let arc = if it.arc == NO_ARC { none } else { graph.arc(it.arc) };
        if (arc.label == FINAL) != (it.frame == Some(self.trellis.num_frames())) {
            return Err(Error::Binary { offset: 0, what: "links of a stream that are no arcs of this graph" });
        }
        let [source, dest] = [it.source, it.dest].map(|state| Error::fit(Quantity::States, state));
        self.made.builder.arcs.push(Arc::new(source?, dest?, arc.label, it.score));
        self.made.graph_arcs.push(arc.arc);
        self.made.graph_scores.push(arc.score);
        self.made.frames.push(it.frame.map_or(Ok(-1), |frame| Error::fit(Quantity::Frames, frame))?);
        Ok(())
    }
}

/// An arc of the lattice, with the numbers of its states.
#[derive(Debug)]
struct Outgoing {
    source: usize,
    dest: usize,
    /// The arc of the graph.
    arc: u32,
    score: f32,
    /// Frame in which it takes its class, if it takes one.
    frame: Option<usize>,
}

impl Outgoing {
    fn new(link: &Link, source: usize, dest: usize, frame: Option<usize>) -> Self {
        Self { source, dest, arc: link.arc, score: link.score, frame }
    }
}
