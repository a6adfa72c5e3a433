//! Rescoring of an utterance's lattice with a large n-gram model.

use std::fs;

use fsa::graphs::ConstArpa;
use fsa::io::OpenFstBinary;
use fsa::lattice::Lattice;
use fsa::openfst::Side;
use fsa::{Fsa, Graph, Limits};

use crate::error::Error;
use crate::kaldi_online::folder::{OnlineFolder, Part};

/// The n-gram model of the graph, and the large one that takes its place.
#[derive(Debug)]
pub(super) struct Rescoring {
    /// An acceptor of words with sorted arcs, which backs off by epsilons.
    old: Graph<Fsa>,
    new: ConstArpa,
}

impl Rescoring {
    /// Reads the models of a folder; `None` without a large one.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if there is only the large one, and for a file that is no FST;
    /// [`Error::Fsa`] with the path for a file that is no large model.
    pub(super) fn open(folder: &OnlineFolder) -> Result<Option<Self>, Error> {
        let Some(path) = folder.find_part(Part::Carpa) else { return Ok(None) };
        let old = open_acceptor(&folder.require(Part::RescoredGrammar)?)?;
        Ok(Some(Self { old, new: ConstArpa::open(path)? }))
    }

    /// Returns the lattice with the scores of the large model in place of the graph's. It has no
    /// path if one of the models lacks words of each path.
    ///
    /// # Errors
    /// [`Error::Fsa`] for a limit.
    #[doc(alias = "ComposeCompactLatticeDeterministic")]
    pub(super) fn rescore(&self, lattice: &Lattice) -> Result<Lattice, Error> {
        let limits = Limits::default();
        // The result is deterministic, as the large model is. Vosk does not determinize it either,
        // and the words of least expected error depend on the states.
        Ok(lattice.compose_best(&self.old, -1.0, limits)?.rescore(&self.new, 1.0, limits)?)
    }
}

/// Reads the acceptor of the words of an FST, whose symbol `#0` of backing off stands on the input
/// side only.
#[doc(alias = "ReadAndPrepareLmFst")]
fn open_acceptor(path: &str) -> Result<Graph<Fsa>, Error> {
    let wrong = |reason: String| Error::ModelFile { path: path.into(), reason };
    let bytes = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let read = OpenFstBinary::read(&bytes).and_then(|file| file.graph.project(Side::Output)?.arc_sort());
    read.map_err(|error| wrong(error.to_string()))
}
