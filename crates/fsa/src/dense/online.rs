//! Utterances whose frames come in chunks.

use std::sync::{Mutex, PoisonError};

use super::graph::{DecodingGraph, check_labels};
use super::intersect::gather;
use super::next::Scratch;
use super::output::{Made, lattice};
use super::search::Search;
use super::{DenseFsaVec, DenseLattices, DenseOptions, Ending, Outcome};
use crate::threads::for_each_job;
use crate::{Error, Fsa, Fsas, Graph};

/// Decodes streams against one graph, as frames come.
///
/// What is decided does not depend on how the frames are cut into chunks: after the last one the lattice is that of
/// [`intersect_dense_pruned`](super::intersect_dense_pruned) over the whole.
///
/// ```
/// use fsa::builders::ctc_topo;
/// use fsa::dense::{DenseFsaVec, DenseOptions, Ending, OnlineDecoder};
/// use fsa::scores::shortest_path;
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
    graph: Graph<Fsa>,
    options: DenseOptions,
    /// Memory of streams that are not at work.
    unused: Mutex<Vec<Scratch>>,
}

/// A stream of frames: where its search is, and what it has found. A clone goes its own way.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodingStream {
    search: Search,
    /// How many states and arcs its graph has.
    graph: [usize; 2],
}

impl DecodingStream {
    /// How many frames it has taken.
    pub fn num_frames(&self) -> usize {
        self.search.trellis.num_frames()
    }

    /// Whether there are states from which to go on. Once there are none, frames are not taken any more.
    pub fn is_alive(&self) -> bool {
        self.search.is_alive()
    }

    /// How many states are active.
    pub fn num_active_states(&self) -> usize {
        self.search.tokens.len()
    }

    /// How many bytes it has for what it has found.
    pub fn num_bytes(&self) -> usize {
        self.search.trellis.bytes()
    }
}

impl OnlineDecoder {
    /// For streams that are decoded with this graph.
    ///
    /// # Errors
    /// [`Error::Beam`], [`Error::OutOfRange`] for options without sense.
    pub fn new(graph: Graph<Fsa>, options: DenseOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self { graph, options, unused: Mutex::default() })
    }

    /// The graph.
    pub fn graph(&self) -> &Graph<Fsa> {
        &self.graph
    }

    /// The options.
    pub fn options(&self) -> &DenseOptions {
        &self.options
    }

    /// A stream before its first frame.
    pub fn stream(&self) -> DecodingStream {
        DecodingStream { search: Search::new(), graph: self.graph_size() }
    }

    /// Takes the next frames of some streams: the first utterance of `chunks` for the first stream, and so on. What came of each is the result: an error
    /// leaves its stream as it was, unless it is [`Error::MemoryLimit`] or [`Error::Overflow`], and says nothing of the others.
    ///
    /// # Errors
    /// [`Error::Size`] for another number of chunks; [`Error::DenseLabel`].
    pub fn decode(
        &self,
        streams: &mut [&mut DecodingStream],
        chunks: &DenseFsaVec<'_>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        Error::same_size("the number of chunks", streams.len(), chunks.num_utterances())?;
        check_labels(self.graph.fsas().as_vec(), chunks.num_classes())?;
        let work = chunks.total_frames().saturating_mul(chunks.num_classes());
        for_each_job(work, streams.iter_mut(), |utterance, stream| Ok(self.decode_one(stream, chunks, utterance)))
    }

    fn graph_size(&self) -> [usize; 2] {
        [self.graph.fsas().num_states(), self.graph.fsas().num_arcs()]
    }

    /// A stream of another decoder is taken if its graph may be the same.
    fn check(&self, stream: &DecodingStream) -> Result<(), Error> {
        let [states, arcs] = self.graph_size();
        Error::same_size("the number of states of a stream's graph", states, stream.graph[0])?;
        Error::same_size("the number of arcs of a stream's graph", arcs, stream.graph[1])
    }

    fn decode_one(&self, stream: &mut DecodingStream, chunks: &DenseFsaVec<'_>, utterance: usize) -> Result<(), Error> {
        self.check(stream)?;
        let frames = chunks.utterance(utterance)?;
        frames.check(utterance)?;
        let graph = self.graph.fsas().view();
        if graph.num_states() == 0 {
            return Ok(());
        }
        let lock = || self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = lock().pop();
        let mut scratch = Scratch::of_size(scratch, DecodingGraph::num_states(&graph));
        let result = stream.search.advance(&graph, frames, &self.options, &mut scratch, utterance);
        lock().push(scratch);
        result
    }

    /// The lattices of streams up to the last frame that each has taken. The streams may go on afterwards.
    ///
    /// # Errors
    /// [`Error::Size`] for a stream of another graph; [`Error::TooLarge`].
    pub fn lattices(&self, streams: &[&DecodingStream], ending: Ending) -> Result<DenseLattices, Error> {
        let graph = self.graph.fsas().view();
        streams.iter().try_for_each(|stream| self.check(stream))?;
        let num_links = streams.iter().map(|stream| stream.search.trellis.sizes().1).sum();
        let made = for_each_job(num_links, streams.iter(), |_, stream| {
            if graph.num_states() == 0 {
                return Ok((Made::default(), Outcome::NoFinalState));
            }
            let made = lattice(&graph, &stream.search, &self.options, ending);
            Ok(made.unwrap_or_else(|error| (Made::default(), Outcome::Failed(error))))
        })?;
        let (made, outcomes): (Vec<_>, _) = made.into_iter().unzip();
        gather(&self.graph, made, outcomes, |_| graph)
    }
}
