//! A network with its options and i-vectors: it computes whole utterances.

use kaldera::io::table::{MappedReader, RandomAccessReader};
use kaldera::matrix::{Matrix, Vector};
use kaldera::nnet3::{ForwardOptions, Ivectors, Network, Nnet, NodeKind};
use tracing::warn;

use super::nnet3_options::{ComputationOptions, IvectorTables};
use crate::kaldi::Failure;

/// The readers of i-vectors.
pub(super) struct IvectorReaders {
    by_utterance: Option<MappedReader<Vector<f32>>>,
    online: Option<RandomAccessReader<Matrix<f32>>>,
    period: usize,
}

/// The i-vectors of an utterance.
enum Found<'a> {
    None,
    One(&'a Vector<f32>),
    Online(&'a Matrix<f32>),
}

impl IvectorReaders {
    /// Opens the tables that the options name.
    pub(super) fn open(tables: &IvectorTables) -> Result<Self, Failure> {
        let IvectorTables { ivectors, utt2spk, online_ivectors, online_ivector_period } = tables;
        if !ivectors.is_empty() && !online_ivectors.is_empty() {
            return Err(Failure::Exclusive { first: "ivectors", second: "online-ivectors" });
        }
        let period = usize::try_from(*online_ivector_period).unwrap_or(0);
        if !online_ivectors.is_empty() && period == 0 {
            return Err(Failure::Alone { name: "online-ivectors", needs: "online-ivector-period" });
        }
        let online = if online_ivectors.is_empty() { None } else { Some(RandomAccessReader::open(online_ivectors)?) };
        let by_utterance = if ivectors.is_empty() { None } else { Some(MappedReader::open(ivectors, utt2spk)?) };
        Ok(Self { by_utterance, online, period })
    }

    /// Returns the i-vectors of an utterance; `None`, and a warning, if they are missing.
    fn find(&mut self, key: &str) -> Result<Option<Found<'_>>, Failure> {
        if let Some(reader) = &mut self.by_utterance {
            if !reader.has_key(key)? {
                warn!("No iVector available for utterance {key}");
                return Ok(None);
            }
            return Ok(Some(Found::One(reader.value(key)?)));
        }
        if let Some(reader) = &mut self.online {
            if !reader.has_key(key)? {
                warn!("No online iVector available for utterance {key}");
                return Ok(None);
            }
            return Ok(Some(Found::Online(reader.value(key)?)));
        }
        Ok(Some(Found::None))
    }
}

/// A network that computes utterances.
pub(super) struct Forward {
    network: Network,
    /// Columns of an i-vector; 0 for none.
    ivector_dim: usize,
    options: ForwardOptions,
}

impl Forward {
    /// Prepares a network. `priors` are of the columns of its output; there may be none.
    pub(super) fn new(nnet: &Nnet, priors: &[f32], options: &ComputationOptions) -> Result<Self, Failure> {
        let options = options.forward()?;
        let network = Network::new(nnet)?.with_priors(priors)?;
        // Kaldi asks for an i-vector even if the output does not need it.
        let ivector_dim = nnet.nodes().iter().find_map(|node| match node.kind {
            NodeKind::Input { dim } if node.name == "ivector" => Some(dim),
            _ => None,
        });
        Ok(Self { network, ivector_dim: ivector_dim.unwrap_or(0), options })
    }

    /// Returns the number of columns of the output.
    pub(super) fn output_dim(&self) -> usize {
        self.network.output_dim()
    }

    /// Computes an utterance; `None`, and a warning, if it has no frames or no i-vectors.
    pub(super) fn compute(
        &self,
        key: &str,
        features: &Matrix<f32>,
        readers: &mut IvectorReaders,
    ) -> Result<Option<Matrix<f32>>, Failure> {
        if features.num_rows() == 0 {
            warn!("Zero-length utterance: {key}");
            return Ok(None);
        }
        let period = readers.period;
        let Some(found) = readers.find(key)? else { return Ok(None) };
        let (ivectors, dim) = match found {
            Found::None => (Ivectors::None, 0),
            Found::One(ivector) => (Ivectors::One(ivector.data()), ivector.dim()),
            Found::Online(rows) => (Ivectors::online(rows, period), rows.num_cols()),
        };
        if dim != self.ivector_dim {
            return Err(Failure::IvectorDim { key: key.to_owned(), found: dim, wanted: self.ivector_dim });
        }
        let computed = self.network.compute(features, ivectors, &self.options);
        Ok(Some(computed.map_err(|source| Failure::Utterance { key: key.to_owned(), source })?))
    }
}
