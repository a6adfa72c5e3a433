//! k2's `rnnt_decode`: streams of one symbol per frame, each with its own graph.
//!
//! A state is a context (the last tokens) and a state of the graph. In a frame it stays with the
//! blank, or takes an arc of the graph with a token. The caller evaluates the joiner once for each
//! context of a stream, so that many streams make one batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use fsa::{FINAL, Fsa, Graph, RaggedShape};

use crate::error::Error;

/// Limits of a search, under the names of k2's `RnntDecodingConfig`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "RnntDecodingConfig")]
pub struct RnntConfig {
    /// Number of tokens, including the blank, which is 0.
    pub vocab_size: usize,
    /// Number of tokens that the predictor looks back at.
    pub decoder_history_len: usize,
    /// States that are worse than the best one of a frame by more than this are dropped.
    pub beam: f64,
    /// Maximum number of states of a frame.
    pub max_states: usize,
    /// Maximum number of contexts of a frame.
    pub max_contexts: usize,
}

impl Default for RnntConfig {
    /// icefall's values for a vocabulary of 500 tokens.
    fn default() -> Self {
        Self { vocab_size: 500, decoder_history_len: 2, beam: 8.0, max_states: 64, max_contexts: 8 }
    }
}

impl RnntConfig {
    /// Sets the number of tokens, and the number of tokens that the predictor looks back at.
    #[must_use]
    pub fn with_vocabulary(mut self, vocab_size: usize, decoder_history_len: usize) -> Self {
        (self.vocab_size, self.decoder_history_len) = (vocab_size, decoder_history_len);
        self
    }

    /// Sets the beam.
    #[must_use]
    pub fn with_beam(mut self, beam: f64) -> Self {
        self.beam = beam;
        self
    }

    /// Sets the maximum numbers of states and contexts of a frame.
    #[must_use]
    pub fn with_limits(mut self, max_states: usize, max_contexts: usize) -> Self {
        (self.max_states, self.max_contexts) = (max_states, max_contexts);
        self
    }

    fn check(&self) -> Result<u64, Error> {
        let refuse = |name, value, reason| Err(Error::Option { name, value, reason });
        if self.vocab_size == 0 {
            return refuse("vocab_size", 0.0, "there must be a blank");
        }
        if self.beam.is_nan() || self.beam <= 0.0 {
            return refuse("beam", self.beam, "it must be above 0");
        }
        if self.max_states == 0 || self.max_contexts == 0 {
            return refuse("max_states or max_contexts", 0.0, "it must be 1 or more");
        }
        let all = u64::try_from(self.vocab_size)
            .ok()
            .zip(u32::try_from(self.decoder_history_len).ok())
            .and_then(|(size, length)| size.checked_pow(length));
        match all.filter(|&all| all <= u64::MAX >> 32) {
            Some(all) => Ok(all),
            None => refuse("vocab_size", f64::INFINITY, "there are more contexts than 2^32"),
        }
    }
}

/// An arc between the states of two frames.
#[derive(Debug, Clone, Copy)]
struct Link {
    src: u32,
    dest: u32,
    label: i32,
    /// The arc of the graph; -1 for a blank.
    arc: i32,
    score: f32,
}

/// A stream of frames: the state of its search, and the arcs found so far. Clones are independent.
#[derive(Debug, Clone)]
#[doc(alias = "RnntDecodingStream")]
pub struct RnntStream {
    utterance: String,
    graph: Arc<Graph<Fsa>>,
    /// Sorted by context and state of the graph, with their scores.
    states: Vec<((u64, i32), f64)>,
    frames: Vec<Frame>,
}

#[derive(Debug, Clone)]
struct Frame {
    num_states: usize,
    links: Vec<Link>,
}

impl RnntStream {
    /// Creates a stream that is decoded with this graph, whose labels are tokens. Its empty
    /// contexts are blanks.
    pub fn new(utterance: &str, graph: Arc<Graph<Fsa>>) -> Self {
        let states = if graph.fsas().num_states() == 0 { vec![] } else { vec![((0, 0), 0.0)] };
        Self { utterance: utterance.into(), graph, states, frames: vec![] }
    }

    /// Returns the number of frames taken so far.
    pub fn num_frames(&self) -> usize {
        self.frames.len()
    }

    /// Returns the number of active states.
    pub fn num_active_states(&self) -> usize {
        self.states.len()
    }

    fn contexts(&self) -> impl Iterator<Item = u64> {
        self.states.chunk_by(|a, b| a.0.0 == b.0.0).map(|group| group[0].0.0)
    }
}

/// Several streams that are decoded together, frame by frame.
///
/// ```
/// use std::sync::Arc;
///
/// use fsa::graphs::trivial_graph;
/// use kaldera_decoder::transducer::{RnntConfig, RnntStream, RnntStreams};
///
/// let graph = Arc::new(trivial_graph(2)?);
/// let mut stream = RnntStream::new("utt-1", graph);
/// let mut streams =
///     RnntStreams::new(vec![&mut stream], RnntConfig::default().with_vocabulary(3, 1))?;
/// for _ in 0..3 {
///     let (shape, contexts) = streams.contexts()?;
///     assert_eq!(shape.num_elements(), contexts.len()); // a token each
///     // What the joiner says of each context: here that the token 2 follows the token 1 alone.
///     let log_probs: Vec<f32> = contexts.iter().flat_map(|&last| match last {
///         0 => [-2.0, -0.1, -9.0],
///         1 => [-2.0, -9.0, -0.1],
///         _ => [-0.1, -9.0, -9.0],
///     }).collect();
///     streams.advance(&log_probs)?;
/// }
/// let lattices = streams.lattices(false)?;
/// let best = lattices.graph(0)?.shortest_path()?;
/// assert_eq!(best.aux_labels(), Some(&[1, 2, 0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[doc(alias = "RnntDecodingStreams")]
pub struct RnntStreams<'a> {
    streams: Vec<&'a mut RnntStream>,
    config: RnntConfig,
    num_contexts: u64,
}

impl<'a> RnntStreams<'a> {
    /// Combines these streams. Each continues after its own last frame.
    ///
    /// # Errors
    /// [`Error::Option`]; [`Error::Label`] for a graph with a label that is no token.
    pub fn new(streams: Vec<&'a mut RnntStream>, config: RnntConfig) -> Result<Self, Error> {
        let num_contexts = config.check()?;
        for stream in &streams {
            let refused =
                |label: i32| label < FINAL || usize::try_from(label).is_ok_and(|label| label >= config.vocab_size);
            if let Some(arc) = stream.graph.fsas().arcs().iter().find(|arc| refused(arc.label)) {
                let (utterance, num_tokens) = (stream.utterance.clone(), config.vocab_size);
                return Err(Error::Label { utterance, label: arc.label, num_tokens });
            }
        }
        Ok(Self { streams, config, num_contexts })
    }

    /// Returns the contexts for which the next frame's log-probabilities are needed: rows
    /// `[stream][context]`, and the tokens of all contexts, [`RnntConfig::decoder_history_len`]
    /// each, the earliest first.
    ///
    /// # Errors
    /// [`Error::Fsa`] for more than 2^31 contexts.
    #[doc(alias = "get_contexts")]
    pub fn contexts(&self) -> Result<(RaggedShape, Vec<i32>), Error> {
        let size = u64::try_from(self.config.vocab_size).unwrap_or(u64::MAX);
        let (mut lengths, mut tokens) = (vec![], vec![]);
        for stream in &self.streams {
            let mut count = 0;
            for mut context in stream.contexts() {
                let start = tokens.len();
                for _ in 0..self.config.decoder_history_len {
                    tokens.push(i32::try_from(context % size).unwrap_or(i32::MAX));
                    context /= size;
                }
                tokens[start..].reverse();
                count += 1;
            }
            lengths.push(count);
        }
        let shape = RaggedShape::from_lengths(lengths).map_err(fsa::Error::from)?;
        Ok((shape, tokens))
    }

    /// Takes a frame of all streams: a row of log-probabilities for each context of
    /// [`contexts`](Self::contexts).
    ///
    /// # Errors
    /// [`Error::Size`] for a wrong number of values; [`Error::Value`].
    pub fn advance(&mut self, log_probs: &[f32]) -> Result<(), Error> {
        let size = self.config.vocab_size;
        let counts: Vec<usize> = self.streams.iter().map(|stream| stream.contexts().count()).collect();
        let expected = counts.iter().sum::<usize>() * size;
        if log_probs.len() != expected {
            return Err(Error::Size { what: "log-probabilities of all contexts", expected, found: log_probs.len() });
        }
        let mut rest = log_probs;
        for (stream, &count) in self.streams.iter().zip(&counts) {
            let (own, others) = rest.split_at(count * size);
            if let Some(at) = own.iter().position(|value| value.is_nan() || *value == f32::INFINITY) {
                let (utterance, frame) = (stream.utterance.clone(), stream.num_frames());
                return Err(Error::Value { utterance, frame, token: at % size, value: own[at] });
            }
            rest = others;
        }
        let mut rest = log_probs;
        for (stream, &count) in self.streams.iter_mut().zip(&counts) {
            let (own, others) = rest.split_at(count * size);
            advance(stream, own, &self.config, self.num_contexts);
            rest = others;
        }
        Ok(())
    }

    /// Returns the lattices of all streams up to their last frames. As in k2, a path must end in a
    /// final state of the graph in the last frame. With `allow_partial`, a stream without such a
    /// path ends in every state of its last frame. More frames may follow.
    ///
    /// # Errors
    /// [`Error::Fsa`] if a lattice is too large.
    #[doc(alias = "format_output")]
    pub fn lattices(&self, allow_partial: bool) -> Result<RnntLattice, Error> {
        let mut made = RnntLattice { lattices: vec![] };
        for stream in &self.streams {
            let (fsa, arc_map) = lattice(stream, allow_partial)?;
            made.lattices.push((fsa, arc_map, stream.graph.clone()));
        }
        Ok(made)
    }
}

/// The lattices of streams.
#[derive(Debug)]
pub struct RnntLattice {
    lattices: Vec<(Fsa, Vec<i32>, Arc<Graph<Fsa>>)>,
}

impl RnntLattice {
    /// Returns the number of lattices.
    pub fn len(&self) -> usize {
        self.lattices.len()
    }

    /// Returns `true` if there are no lattices.
    pub fn is_empty(&self) -> bool {
        self.lattices.is_empty()
    }

    /// Returns for each arc of lattice `i` its arc of the stream's graph, -1 for blanks and ends;
    /// empty if there is no such lattice.
    pub fn arc_map(&self, i: usize) -> &[i32] {
        self.lattices.get(i).map_or(&[], |(_, arc_map, _)| arc_map)
    }

    /// Returns lattice `i` with the attributes of its graph.
    ///
    /// # Errors
    /// [`Error::Size`] if there is no such lattice.
    pub fn graph(&self, i: usize) -> Result<Graph<Fsa>, Error> {
        let missing = Error::Size { what: "lattices", expected: i + 1, found: self.lattices.len() };
        let (fsa, arc_map, graph) = self.lattices.get(i).ok_or(missing)?;
        Ok(graph.carry((fsa.clone(), arc_map.clone()))?)
    }
}

/// A transition into a state of the next frame.
struct Transition {
    link: Link,
    key: (u64, i32),
    total: f64,
}

fn advance(stream: &mut RnntStream, log_probs: &[f32], config: &RnntConfig, num_contexts: u64) {
    let size = config.vocab_size;
    let factor = u64::try_from(size).unwrap_or(u64::MAX);
    let shorter = num_contexts / factor.min(num_contexts).max(1);
    let graph = stream.graph.fsas();
    let last = i32::try_from(graph.num_states()).map_or(-1, |states| states - 1);
    let best = stream.states.iter().map(|state| state.1).fold(f64::NEG_INFINITY, f64::max);
    let mut transitions: Vec<Transition> = vec![];
    let (mut row, mut before) = (0, None);
    for (src, &((context, state), score)) in (0..).zip(&stream.states) {
        if before.is_some_and(|before| before != context) {
            row += 1;
        }
        before = Some(context);
        if state == last {
            continue;
        }
        let row = &log_probs[row * size..][..size];
        let blank = row[0];
        let link = Link { src, dest: 0, label: 0, arc: -1, score: blank };
        transitions.push(Transition { link, key: (context, state), total: score + f64::from(blank) });
        let view = graph.view();
        let (Ok(at), arcs) = (usize::try_from(state), view.arcs_of(usize::try_from(state).unwrap_or(0))) else {
            continue;
        };
        for (arc, number) in arcs.iter().zip(view.arc_range(at)) {
            let token = usize::try_from(arc.label).ok();
            let token_score = token.map_or(blank, |token| row[token]);
            // The end is not pruned for the cost of the blank.
            let hope = score + f64::from(arc.score) + if token.is_some() { f64::from(token_score) } else { 0.0 };
            if arc.label != 0 && hope < best - config.beam {
                continue;
            }
            let added = arc.score + token_score;
            let context = match u64::try_from(arc.label) {
                Ok(label) if label > 0 && config.decoder_history_len > 0 => (context % shorter) * factor + label,
                _ => context,
            };
            let link = Link { src, dest: 0, label: arc.label, arc: i32::try_from(number).unwrap_or(-1), score: added };
            transitions.push(Transition {
                link,
                key: (context, arc.dest_state),
                total: score + f64::from(arc.score) + f64::from(token_score),
            });
        }
    }
    let mut next: BTreeMap<(u64, i32), f64> = BTreeMap::new();
    for transition in &transitions {
        let total = next.entry(transition.key).or_insert(f64::NEG_INFINITY);
        *total = total.max(transition.total);
    }
    let mut states: Vec<((u64, i32), f64)> = next.into_iter().collect();
    let totals: Vec<f64> = states.iter().map(|state| state.1).collect();
    let least = worst_kept(totals, config.beam, config.max_states);
    states = keep(states, &least, |state| state.1);
    let mut contexts: Vec<(u64, f64)> = vec![];
    for &((context, _), total) in &states {
        match contexts.last_mut().filter(|last| last.0 == context) {
            Some(last) => last.1 = last.1.max(total),
            None => contexts.push((context, total)),
        }
    }
    let least = worst_kept(contexts.iter().map(|context| context.1).collect(), config.beam, config.max_contexts);
    let contexts = keep(contexts, &least, |context| context.1);
    states.retain(|state| contexts.binary_search_by_key(&state.0.0, |context| context.0).is_ok());
    let links = transitions.into_iter().filter_map(|transition| {
        let dest = states.binary_search_by_key(&transition.key, |state| state.0).ok()?;
        Some(Link { dest: u32::try_from(dest).ok()?, ..transition.link })
    });
    stream.frames.push(Frame { num_states: stream.states.len(), links: links.collect() });
    stream.states = states;
}

/// Returns the least total that is kept, and the number of kept items with this total.
fn worst_kept(mut totals: Vec<f64>, beam: f64, most: usize) -> (f64, usize) {
    totals.sort_unstable_by(|a, b| b.total_cmp(a));
    let best = totals.first().copied().unwrap_or(f64::NEG_INFINITY);
    let kept = totals.iter().take(most).take_while(|&&total| total >= best - beam || total == best).count();
    let Some(&least) = kept.checked_sub(1).and_then(|last| totals.get(last)) else { return (f64::INFINITY, 0) };
    (least, totals[..kept].iter().filter(|&&total| total == least).count())
}

/// Keeps the items from the least total on; ties go to the first.
fn keep<T>(items: Vec<T>, &(least, mut equal): &(f64, usize), total: impl Fn(&T) -> f64) -> Vec<T> {
    let mut kept = vec![];
    for item in items {
        let total = total(&item);
        if total > least {
            kept.push(item);
        } else if total == least && equal > 0 {
            equal -= 1;
            kept.push(item);
        }
    }
    kept
}

fn lattice(stream: &RnntStream, allow_partial: bool) -> Result<(Fsa, Vec<i32>), Error> {
    let Some((end, frames)) = stream.frames.split_last() else { return Ok((Fsa::empty(), vec![])) };
    let num_states = stream.frames.iter().map(|frame| frame.num_states).sum::<usize>() + 1;
    let number = |state: usize| i32::try_from(state).map_err(|_| fsa_too_large(num_states));
    let (mut arcs, mut arc_map, mut first) = (vec![], vec![], 0_usize);
    for frame in frames {
        for link in &frame.links {
            let (src, dest) = (first + link.src as usize, first + frame.num_states + link.dest as usize);
            // A final arc before the last frame leads nowhere.
            arcs.push(fsa::Arc::new(number(src)?, number(dest)?, link.label.max(0), link.score));
            arc_map.push(link.arc);
        }
        first += frame.num_states;
    }
    let ends = end.links.iter().any(|link| link.label == FINAL);
    for link in end.links.iter().filter(|link| link.label == FINAL || allow_partial && !ends) {
        arcs.push(fsa::Arc::new(number(first + link.src as usize)?, number(num_states - 1)?, FINAL, 0.0));
        arc_map.push(-1);
    }
    Ok((Fsa::from_arcs(num_states, arcs)?, arc_map))
}

fn fsa_too_large(states: usize) -> Error {
    Error::Size { what: "states of a lattice", expected: i32::MAX as usize, found: states }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_totals_the_first_are_kept() {
        let least = worst_kept(vec![1.0, 3.0, 2.0, 2.0, 2.0], 10.0, 3);
        assert_eq!(least, (2.0, 2));
        assert_eq!(keep(vec![2.0, 3.0, 2.0, 2.0, 1.0], &least, |total| *total), [2.0, 3.0, 2.0]);
        assert_eq!(worst_kept(vec![], 10.0, 3), (f64::INFINITY, 0));
    }

    #[test]
    fn too_many_contexts_are_refused() {
        let mut stream = RnntStream::new("u", Arc::new(fsa::graphs::trivial_graph(2).unwrap()));
        let config = RnntConfig::default().with_vocabulary(1 << 20, 9);
        assert!(matches!(RnntStreams::new(vec![&mut stream], config), Err(Error::Option { name: "vocab_size", .. })));
        let config = RnntConfig::default().with_vocabulary(2, 1);
        assert!(matches!(RnntStreams::new(vec![&mut stream], config), Err(Error::Label { label: 2, .. })));
    }
}
