//! Beam search of an utterance whose frames come in chunks.

use std::fmt;
use std::ops::Deref;

use fsa::lattice::LanguageModel;

use crate::ctc::NoModel;
use crate::error::Error;
use crate::result::{FrameTimes, Recognition};
use crate::transducer::fusion::Fusion;
use crate::transducer::model::{EncoderOutput, TransducerModel};
use crate::transducer::options::TransducerOptions;
use crate::transducer::search::Search;
use crate::transducer::topology::TransducerTopology;

/// A beam search of an utterance whose frames of the encoder come in chunks.
/// [`finish`](Self::finish) returns the result of
/// [`modified_beam_search`](super::modified_beam_search), [`beam_search`](super::beam_search) or
/// [`tdt_beam_search`](super::tdt_beam_search), by its topology, regardless of the chunks.
///
/// The stream holds its model by a pointer `P`: an [`Arc`](std::sync::Arc), with which it can be
/// moved to other threads and kept in maps, or a reference.
///
/// ```
/// use kaldera_decoder::FrameTimes;
/// use kaldera_decoder::transducer::{
///     EncoderOutput, Fusion, StatelessModel, TransducerOptions, TransducerStream,
///     TransducerTopology, modified_beam_search,
/// };
///
/// let identity = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
/// let model = StatelessModel::new(vec![], identity, vec![0.0; 3], 3, 0)?;
/// let (options, times) = (TransducerOptions::default(), FrameTimes::default());
/// let rows = [0.1, 2.0, 0.3, 2.0, 0.1, 0.1, 0.5, 0.4, 2.0];
/// let topology = TransducerTopology::Modified;
/// let mut stream =
///     TransducerStream::new("utt-1", &model, &Fusion::NONE, topology, &options, times)?;
/// for row in rows.chunks(3) {
///     stream.accept(&EncoderOutput::new("utt-1", row, 3)?)?;
/// }
/// let whole = EncoderOutput::new("utt-1", &rows, 3)?;
/// assert_eq!(
///     stream.finish(),
///     modified_beam_search(&model, &whole, &Fusion::NONE, &options, &times)?
/// );
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
pub struct TransducerStream<P: Deref<Target: TransducerModel>, L: LanguageModel = NoModel> {
    search: Search<P, L>,
    times: FrameTimes,
}

impl<P: Deref<Target: TransducerModel>, L: LanguageModel> TransducerStream<P, L> {
    /// Creates a stream before its first frame.
    ///
    /// # Errors
    /// [`Error::Option`]; [`Error::Size`] if the topology has durations and the model has none;
    /// errors of the model.
    pub fn new(
        utterance: &str,
        model: P,
        fusion: &Fusion<L>,
        topology: TransducerTopology,
        options: &TransducerOptions,
        times: FrameTimes,
    ) -> Result<Self, Error> {
        options.check()?;
        times.check()?;
        Ok(Self { search: Search::new((model, fusion), topology, options, utterance)?, times })
    }

    /// Takes more frames: rows with the number of values that the joiner takes.
    ///
    /// # Errors
    /// As [`modified_beam_search`](super::modified_beam_search); the stream cannot be used
    /// afterwards.
    pub fn accept(&mut self, chunk: &EncoderOutput<'_>) -> Result<(), Error> {
        chunk.check_dim(&*self.search.model)?;
        self.search.accept(chunk)
    }

    /// Returns the number of frames taken so far.
    pub fn num_frames(&self) -> usize {
        self.search.num_frames
    }

    /// Returns the hypotheses so far; beginnings of hot words have their bonus. More frames may
    /// follow.
    pub fn partial(&self) -> Recognition {
        self.search.result(&self.times, false)
    }

    /// Returns the hypotheses of the utterance.
    pub fn finish(self) -> Recognition {
        self.search.result(&self.times, true)
    }
}

impl<P: Deref<Target: TransducerModel>, L: LanguageModel> fmt::Debug for TransducerStream<P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Search { utterance, num_frames, .. } = &self.search;
        let mut shown = f.debug_struct("TransducerStream");
        shown.field("utterance", utterance).field("num_frames", num_frames).finish_non_exhaustive()
    }
}
