//! Decoding of utterances whose frames come in chunks.

use std::sync::{Mutex, PoisonError};

use super::graph::{DecodingGraph, LabelIndex};
use super::intersect::gather;
use super::look_ahead::SharedVisited;
use super::output::{LatticeArcs, Pruning, lattice};
use super::scores::Frames;
use super::scratch::Scratch;
use super::search::Search;
use super::{CtcGraph, DenseFsaVec, DenseLattices, DenseOptions, Ending, LookAheadGraph, Outcome};
use crate::support::threads::for_each_job;
use crate::{Error, Fsa, Fsas, Graph, GraphLabels, Quantity};

/// Decodes streams against one graph, as frames come.
///
/// Decisions do not depend on how the frames are cut into chunks: after the last one, the lattice
/// equals the result of [`intersect_dense_pruned`](super::intersect_dense_pruned) over the whole.
///
/// ```
/// use fsa::graphs::ctc_topo;
/// use fsa::dense::{DenseFsaVec, DenseOptions, Ending, OnlineDecoder};
/// use fsa::paths::shortest_path;
///
/// let decoder = OnlineDecoder::new(ctc_topo(2, false)?, DenseOptions::default())?;
/// let mut stream = decoder.stream();
/// for chunk in [&[-1.5_f32, -0.5, -2.0, -1.0, -3.0, -0.5][..], &[-0.25, -2.0, -2.0]] {
///     decoder.decode(&mut [&mut stream], &DenseFsaVec::from_frames(chunk, 3)?)?;
///     let so_far = decoder.lattices(&[&stream], Ending::Active)?;
///     assert_eq!(shortest_path(so_far.graph().fsas())?.0.arcs().len(), stream.num_frames() + 1);
/// }
/// let result = decoder.lattices(&[&stream], Ending::Final)?;
/// assert_eq!(shortest_path(result.graph().fsas())?.0.labels(), [1, 2, 0, -1]);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "OnlineDenseIntersecter")]
pub struct OnlineDecoder {
    graph: Source,
    options: DenseOptions,
    /// Buffers of streams that are not being decoded.
    unused: Mutex<Vec<Scratch>>,
}

/// The graph against which streams are decoded.
#[derive(Debug)]
enum Source {
    Graph { graph: Graph<Fsa>, index: LabelIndex },
    Ctc(CtcGraph),
    LookAhead(Box<LookAheadGraph>),
}

/// A stream of frames: the state of its search, and the results so far. Clones are independent.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodingStream {
    pub(super) search: Search,
    /// Numbers of states and arcs of its graph; with look-ahead, the numbers of states of HL and G.
    pub(super) graph: [usize; 2],
    /// With look-ahead, the states reached so far.
    pub(super) visited: Option<SharedVisited>,
}

impl DecodingStream {
    /// Returns the number of frames taken.
    pub fn num_frames(&self) -> usize {
        self.search.trellis.num_frames()
    }

    /// Returns `true` if there are states from which to go on. Once there are none, no more frames
    /// are taken.
    pub fn is_alive(&self) -> bool {
        self.search.is_alive()
    }

    /// Returns the number of active states.
    pub fn num_active_states(&self) -> usize {
        self.search.tokens.len()
    }

    /// Returns the number of bytes of the results so far, and with look-ahead of the states and
    /// arcs reached so far.
    pub fn num_bytes(&self) -> usize {
        self.search.trellis.bytes() + self.visited.as_ref().map_or(0, SharedVisited::bytes)
    }
}

impl OnlineDecoder {
    /// Creates a decoder of streams for this graph.
    ///
    /// # Errors
    /// [`Error::Beam`], [`Error::OutOfRange`] for invalid options.
    pub fn new(graph: Graph<Fsa>, options: DenseOptions) -> Result<Self, Error> {
        let index = LabelIndex::new(graph.fsas().as_fsa_vec(), graph.graph_labels());
        Self::with_source(Source::Graph { graph, index }, options)
    }

    /// Creates a decoder of streams for the topology of CTC and this graph of tokens.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_ctc_topology(graph: CtcGraph, options: DenseOptions) -> Result<Self, Error> {
        Self::with_source(Source::Ctc(graph), options)
    }

    /// Creates a decoder of streams for HL and G, composed with look-ahead. Each stream stores the
    /// states that it has reached. States that it does not need any more are removed from time to
    /// time, so that a stream may go on without end.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_look_ahead(graph: LookAheadGraph, options: DenseOptions) -> Result<Self, Error> {
        Self::with_source(Source::LookAhead(Box::new(graph)), options)
    }

    fn with_source(graph: Source, options: DenseOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self { graph, options, unused: Mutex::default() })
    }

    /// Returns the graph to whose arcs arc maps refer.
    pub fn graph(&self) -> &Graph<Fsa> {
        match &self.graph {
            Source::Graph { graph, .. } => graph,
            Source::Ctc(graph) => graph.graph(),
            Source::LookAhead(graph) => graph.graph(),
        }
    }

    /// Returns the options.
    pub fn options(&self) -> &DenseOptions {
        &self.options
    }

    /// Returns a stream before its first frame.
    pub fn stream(&self) -> DecodingStream {
        let visited = match &self.graph {
            Source::LookAhead(graph) => Some(SharedVisited::new(graph)),
            _ => None,
        };
        let mut stream = DecodingStream { search: Search::new(), graph: self.graph_size(), visited };
        // An endless cycle of epsilon arcs is found again with the first frame.
        let _ = match &self.graph {
            Source::Graph { graph, index } => self.begin(&index.graph(graph.fsas().as_fsa_vec(), 0), &mut stream),
            Source::Ctc(graph) => self.begin(graph, &mut stream),
            // It has no epsilons.
            Source::LookAhead(_) => Ok(()),
        };
        stream
    }

    fn begin<G: DecodingGraph>(&self, graph: &G, stream: &mut DecodingStream) -> Result<(), Error> {
        self.with_scratch(graph, |scratch| stream.search.begin(graph, &self.options, scratch, 0))
    }

    /// Takes the next frames of some streams: the first utterance of `chunks` for the first stream,
    /// and so on. The outcome of each is returned: an error leaves its stream as it was, unless it
    /// is [`Error::DenseFrame`], and does not concern the others.
    ///
    /// # Errors
    /// [`Error::Size`] for another number of chunks; [`Error::DenseLabel`].
    pub fn decode(
        &self,
        streams: &mut [&mut DecodingStream],
        chunks: &DenseFsaVec<'_>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        Error::same_size(Quantity::Chunks, streams.len(), chunks.num_utterances())?;
        match &self.graph {
            Source::Graph { index, .. } => index.check(chunks.num_classes())?,
            Source::Ctc(graph) => graph.topology.check_classes(chunks.num_classes())?,
            Source::LookAhead(graph) => graph.topology.check_classes(chunks.num_classes())?,
        }
        let work = chunks.total_frames().saturating_mul(chunks.num_classes());
        for_each_job(work, streams.iter_mut(), |utterance, stream| Ok(self.decode_one(stream, chunks, utterance)))
    }

    fn graph_size(&self) -> [usize; 2] {
        match &self.graph {
            Source::Graph { graph, .. } => [graph.fsas().num_states(), graph.fsas().num_arcs()],
            Source::Ctc(graph) => [graph.num_states(), graph.num_arcs()],
            Source::LookAhead(graph) => graph.num_states(),
        }
    }

    /// Checks that the graph of a stream may be the graph of this decoder.
    fn check(&self, stream: &DecodingStream) -> Result<(), Error> {
        if stream.visited.is_some() != matches!(self.graph, Source::LookAhead(_)) {
            return Err(Error::Binary { offset: 0, what: "a stream of a graph of another kind" });
        }
        let [states, arcs] = self.graph_size();
        Error::same_size(Quantity::StreamStates, states, stream.graph[0])?;
        Error::same_size(Quantity::StreamArcs, arcs, stream.graph[1])
    }

    fn decode_one(&self, stream: &mut DecodingStream, chunks: &DenseFsaVec<'_>, utterance: usize) -> Result<(), Error> {
        self.check(stream)?;
        let frames = chunks.utterance(utterance)?;
        frames.check(utterance)?;
        match &self.graph {
            Source::Graph { graph, index } => {
                self.advance(&index.graph(graph.fsas().as_fsa_vec(), 0), stream, frames, utterance)
            }
            Source::Ctc(graph) => self.advance(graph, stream, frames, utterance),
            Source::LookAhead(graph) => {
                let Some(visited) = stream.visited.take() else { return Ok(()) };
                let graph = graph.of_stream(&visited, &stream.search);
                let advanced = graph.and_then(|graph| self.advance(&graph, stream, frames, utterance));
                stream.visited = Some(visited);
                advanced
            }
        }
    }

    fn advance<G: DecodingGraph>(
        &self,
        graph: &G,
        stream: &mut DecodingStream,
        frames: Frames<'_>,
        utterance: usize,
    ) -> Result<(), Error> {
        graph.check()?;
        if graph.num_states() == 0 {
            return Ok(());
        }
        let advance = |scratch: &mut Scratch| stream.search.advance(graph, frames, &self.options, scratch, utterance);
        self.with_scratch(graph, advance)
    }

    fn with_scratch<G: DecodingGraph, T>(&self, graph: &G, run: impl FnOnce(&mut Scratch) -> T) -> T {
        let lock = || self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = lock().pop();
        let mut scratch = Scratch::of_size(scratch, graph.num_states());
        let result = run(&mut scratch);
        lock().push(scratch);
        result
    }

    /// Returns the lattices of streams up to the last frame that each has taken. The streams may go
    /// on afterwards.
    ///
    /// # Errors
    /// [`Error::Size`] or [`Error::Binary`] for a stream of another graph; [`Error::TooLarge`].
    pub fn lattices(&self, streams: &[&DecodingStream], ending: Ending) -> Result<DenseLattices, Error> {
        self.lattices_of(streams, ending, Pruning::OutputBeam)
    }

    /// Returns the lattices of only the best paths of streams, and of the paths that are exactly as
    /// good. This is enough for a partial result, and cheaper than all
    /// [`lattices`](Self::lattices).
    ///
    /// # Errors
    /// As [`lattices`](Self::lattices).
    pub fn best_paths(&self, streams: &[&DecodingStream], ending: Ending) -> Result<DenseLattices, Error> {
        self.lattices_of(streams, ending, Pruning::BestPath)
    }

    fn lattices_of(
        &self,
        streams: &[&DecodingStream],
        ending: Ending,
        pruning: Pruning,
    ) -> Result<DenseLattices, Error> {
        streams.iter().try_for_each(|stream| self.check(stream))?;
        let num_links = streams.iter().map(|stream| stream.search.trellis.sizes().1).sum();
        let made = for_each_job(num_links, streams.iter(), |utterance, stream| {
            let made = match &self.graph {
                Source::Graph { graph, index } => {
                    self.lattice(&index.graph(graph.fsas().as_fsa_vec(), 0), (utterance, stream), ending, pruning)
                }
                Source::Ctc(graph) => self.lattice(graph, (utterance, stream), ending, pruning),
                Source::LookAhead(graph) => match &stream.visited {
                    Some(visited) => {
                        let graph = graph.of_stream(visited, &stream.search);
                        graph.and_then(|graph| self.lattice(&graph, (utterance, stream), ending, pruning))
                    }
                    None => Ok((LatticeArcs::default(), Outcome::NoFinalState)),
                },
            };
            Ok(made.unwrap_or_else(|error| (LatticeArcs::default(), Outcome::Failed(error))))
        })?;
        let (made, outcomes): (Vec<_>, _) = made.into_iter().unzip();
        let labels = match &self.graph {
            Source::Graph { graph, .. } => graph.graph_labels(),
            Source::Ctc(_) | Source::LookAhead(_) => GraphLabels::Class,
        };
        gather(self.graph(), labels, made, outcomes, |_| self.graph().fsas().view())
    }

    /// Removes the part of a stream that is decided and returns its lattice, so that a stream may
    /// go on without end in bounded memory; `None` if there is nothing yet.
    ///
    /// It ends at the last frame in which all paths of the lattice go through the same state. The
    /// lattice of the whole is the parts concatenated, except for the arc with label -1 at the end
    /// of each, whose score is 0: this one is [`Outcome::Partial`], and its frames count from the
    /// first one that the stream has ever taken. The stream goes on with the rest, even if the
    /// outcome is [`Outcome::Failed`] because the lattice would exceed the limit: its frames are
    /// gone then.
    ///
    /// # Errors
    /// [`Error::Size`] or [`Error::Binary`] for a stream of another graph; [`Error::TooLarge`].
    pub fn take_finished(&self, stream: &mut DecodingStream) -> Result<Option<DenseLattices>, Error> {
        self.check(stream)?;
        let Some(search) = stream.search.take_finished(&self.options) else { return Ok(None) };
        let part = DecodingStream { search, graph: stream.graph, visited: stream.visited.take() };
        let lattices = self.lattices(&[&part], Ending::Active);
        stream.visited = part.visited;
        lattices.map(Some)
    }

    fn lattice<G: DecodingGraph>(
        &self,
        graph: &G,
        (utterance, stream): (usize, &DecodingStream),
        ending: Ending,
        pruning: Pruning,
    ) -> Result<(LatticeArcs, Outcome), Error> {
        graph.check()?;
        if graph.num_states() == 0 {
            return Ok((LatticeArcs::default(), Outcome::NoFinalState));
        }
        lattice(graph, &stream.search, &self.options, ending, pruning, utterance)
    }
}
