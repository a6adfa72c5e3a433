//! The lattice of what a search has found.

use super::graph::{DecodingGraph, GraphArc, NO_ARC};
use super::search::Search;
use super::trellis::{Extras, Link, Trellis};
use super::{DenseOptions, Ending, Outcome};
use crate::core::builder::SortedFsaBuilder;
use crate::{Arc, Error, FINAL, Quantity};

/// A lattice with what belongs to its arcs.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) part: SortedFsaBuilder,
    /// The arcs of the graph, or -1.
    pub(super) graph_arcs: Vec<i32>,
    pub(super) frames: Vec<i32>,
    pub(super) graph_scores: Vec<f32>,
}

/// The lattice, and whether it ends in final states.
///
/// # Errors
/// [`Error::TooLarge`].
pub(super) fn lattice<G: DecodingGraph>(
    graph: &G,
    search: &Search,
    options: &DenseOptions,
    ending: Ending,
) -> Result<(Made, Outcome), Error> {
    let trellis = &search.trellis;
    if !search.is_alive() {
        // The last frame has no states: its arcs led nowhere.
        return Ok((Made::default(), Outcome::Died { frame: trellis.num_frames().saturating_sub(1) }));
    }
    let (links, outcome) = last_links(graph, search, ending);
    if links.is_empty() {
        return Ok((Made::default(), Outcome::NoFinalState));
    }
    let from = search.unpruned_from(options);
    let made = Writer::new(trellis, links, options.output_beam, from).write(graph)?;
    graph.check()?;
    Ok((made, outcome))
}

/// The links from the last frame to the end of all paths.
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

struct Writer<'a> {
    trellis: &'a Trellis,
    extras: Extras,
    /// The links to the end, and how much worse than the best path those over each of them are.
    last: Vec<(Link, f32)>,
    beam: f32,
    /// Before this frame, what is there stays, dead ends too.
    from: usize,
    made: Made,
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
        Self { trellis, extras, last, beam, from, made: Made::default() }
    }

    fn write<G: DecodingGraph>(mut self, graph: &G) -> Result<Made, Error> {
        let mut links = Vec::<Link>::new();
        // The number of a state is its place among the tokens of its frame that stay, behind those
        // of all frames before.
        let mut first = 0;
        let mut places = self.places(0);
        for frame in 0..self.trellis.last() {
            let next = first + places.1;
            let next_places = self.places(frame + 1);
            links.clear();
            if frame < self.from {
                let stays = |link: &&Link| next_places.0[link.dest as usize] != GONE;
                links.extend(self.trellis.links_of(frame).iter().filter(stays));
            } else {
                links.extend(self.trellis.links_within(&self.extras, frame, self.beam));
            }
            if !links.is_sorted_by_key(|link| link.source) {
                links.sort_by_key(|link| link.source);
            }
            for link in &links {
                let [source, dest] = [(first, link.source, &places.0), (next, link.dest, &next_places.0)]
                    .map(|(first, token, places)| first + places[token as usize]);
                let arc = graph.arc(link.arc);
                self.add(source, dest, arc, link.score, self.trellis.first_frame() + frame)?;
            }
            (first, places) = (next, next_places);
        }
        let end = first + places.1;
        for (link, extra) in std::mem::take(&mut self.last) {
            if extra <= self.beam {
                let none = GraphArc { arc: -1, label: FINAL, score: 0.0 };
                let arc = if link.arc == NO_ARC { none } else { graph.arc(link.arc) };
                let source = first + places.0[link.source as usize];
                self.add(source, end, arc, link.score, self.trellis.num_frames())?;
            }
        }
        while self.made.part.ends.len() <= end {
            self.made.part.end_state();
        }
        Ok(self.made)
    }

    /// For each token of a frame its place among those that stay, or [`GONE`]; and how many these
    /// are.
    fn places(&self, frame: usize) -> (Vec<usize>, usize) {
        if frame < self.from {
            let num_tokens = self.trellis.num_tokens(frame);
            return ((0..num_tokens).collect(), num_tokens);
        }
        let mut count = 0;
        let places = self.trellis.extras_of(&self.extras, frame).iter().map(|&extra| {
            if extra == f32::INFINITY {
                return GONE;
            }
            count += 1;
            count - 1
        });
        (places.collect(), count)
    }

    fn add(&mut self, source: usize, dest: usize, arc: GraphArc, score: f32, frame: usize) -> Result<(), Error> {
        while self.made.part.ends.len() < source {
            self.made.part.end_state();
        }
        let [source, dest] = [source, dest].map(|state| Error::fit(Quantity::States, state));
        self.made.part.arcs.push(Arc::new(source?, dest?, arc.label, score));
        self.made.graph_arcs.push(arc.arc);
        self.made.graph_scores.push(arc.score);
        self.made.frames.push(Error::fit(Quantity::Frames, frame)?);
        Ok(())
    }
}

/// The place of a token that does not stay.
const GONE: usize = usize::MAX;
