//! Log-probabilities that another program has computed.

use std::collections::HashMap;

use lod::{Lod, LodTensor};

use crate::error::Error;
use crate::network::{Batch, Network};

/// Log-probabilities by utterance, instead of a network: an archive of another program.
///
/// ```
/// use kaldera_network::{Batch, LodTensor, Network, Recorded};
///
/// let recorded = Recorded::new(2, [("utt-1".to_owned(), vec![-0.1, -2.3, -0.7, -0.7])])?;
/// let no_features = LodTensor::from_lengths(&[0], 0, vec![])?;
/// let log_probs = recorded.log_probs(&Batch::new(&["utt-1"], &no_features)?)?;
/// assert_eq!((log_probs.lengths(), log_probs.width()), (vec![2], 2));
/// # Ok::<(), kaldera_network::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recorded {
    num_tokens: usize,
    names: Vec<String>,
    utterances: HashMap<String, Vec<f32>>,
}

impl Recorded {
    /// Takes log-probabilities of `num_tokens` tokens, row by row for each utterance.
    ///
    /// # Errors
    /// [`Error::NotRows`] for values that are not whole rows.
    pub fn new(num_tokens: usize, utterances: impl IntoIterator<Item = (String, Vec<f32>)>) -> Result<Self, Error> {
        let (mut names, mut by_name) = (vec![], HashMap::new());
        for (utterance, values) in utterances {
            if num_tokens == 0 || !values.len().is_multiple_of(num_tokens) {
                return Err(Error::NotRows { utterance, values: values.len(), num_tokens });
            }
            if by_name.insert(utterance.clone(), values).is_none() {
                names.push(utterance);
            }
        }
        Ok(Self { num_tokens, names, utterances: by_name })
    }
}

impl Network for Recorded {
    fn num_inputs(&self) -> Option<usize> {
        None
    }

    fn num_outputs(&self) -> usize {
        self.num_tokens
    }

    fn utterances(&self) -> &[String] {
        &self.names
    }

    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
        let (mut lengths, mut values) = (vec![], vec![]);
        for &name in batch.names() {
            let own = self.utterances.get(name).ok_or_else(|| Error::NotRecorded { utterance: name.into() })?;
            lengths.push(own.len() / self.num_tokens);
            values.extend_from_slice(own);
        }
        let lod = Lod::from_lengths(&[lengths])?;
        Ok(LodTensor::from_vec([lod.num_rows().unwrap_or(0), self.num_tokens], values, lod)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_recorded_is_named() {
        let recorded = Recorded::new(2, [("a".to_owned(), vec![0.0; 4]), ("b".to_owned(), vec![])]).unwrap();
        assert_eq!(recorded.utterances(), ["a", "b"]);
        let rows = LodTensor::from_lengths(&[0, 0], 0, vec![]).unwrap();
        let batch = Batch::new(&["b", "a"], &rows).unwrap();
        assert_eq!(recorded.log_probs(&batch).unwrap().lengths(), [0, 2]);
        let batch = Batch::new(&["a", "c"], &rows).unwrap();
        assert_eq!(recorded.log_probs(&batch), Err(Error::NotRecorded { utterance: "c".into() }));
        assert_eq!(Batch::new(&["a"], &rows).unwrap_err(), Error::Names { names: 1, utterances: 2 });
        let refused = Recorded::new(2, [("a".to_owned(), vec![0.0; 3])]).unwrap_err();
        assert_eq!(refused, Error::NotRows { utterance: "a".into(), values: 3, num_tokens: 2 });
        assert!(matches!(recorded.stream(), Err(Error::NoStream { .. })));
    }
}
