//! Several outputs for one token.

use std::sync::Arc;

use kaldera_base::Real;
use kaldera_base::math::{log_add, log_softmax};
use lod::LodTensor;

use crate::error::Error;
use crate::network::{Batch, Network, NetworkStream, streams_of};

/// The outputs of each token, at least one each. The probability of a token is the sum over its
/// outputs, divided by the sum over all tokens, because outputs without a token are left out.
///
/// ```
/// use kaldera_network::Merge;
///
/// // Outputs 0 and 2 are token 1, output 1 is token 0, and output 3 is left out.
/// let merge = Merge::new(vec![Some(1), Some(0), Some(1), None], 2)?;
/// let probabilities: [f32; 4] = [0.2, 0.2, 0.1, 0.5];
/// let merged = merge.rows("utt-1", &probabilities.map(f32::ln))?;
/// let merged: Vec<f32> = merged.iter().map(|x| (x.exp() * 100.0).round()).collect();
/// assert_eq!(merged, [40.0, 60.0]);
/// # Ok::<(), kaldera_network::Error>(())
/// ```
#[derive(Debug)]
pub struct Merge {
    num_outputs: usize,
    outputs: Vec<Vec<usize>>,
}

/// A network whose outputs are merged.
#[derive(Debug)]
pub struct Merged {
    network: Arc<dyn Network>,
    merge: Merge,
}

impl Merged {
    /// Merges the outputs of a network.
    ///
    /// # Errors
    /// [`Error::Outputs`] unless there is an entry for each output.
    pub fn new(network: Arc<dyn Network>, merge: Merge) -> Result<Self, Error> {
        merge.check_outputs(network.num_outputs())?;
        Ok(Self { network, merge })
    }
}

impl Merge {
    /// Creates a merge, given the token of each output, and the number of tokens.
    ///
    /// # Errors
    /// [`Error::Token`] for a token without an output, or one out of range.
    pub fn new(tokens: Vec<Option<usize>>, num_tokens: usize) -> Result<Self, Error> {
        let (num_outputs, mut outputs) = (tokens.len(), vec![vec![]; num_tokens]);
        for (output, token) in tokens.into_iter().enumerate() {
            let Some(token) = token else { continue };
            outputs.get_mut(token).ok_or(Error::Token { token, num_tokens })?.push(output);
        }
        match outputs.iter().position(Vec::is_empty) {
            Some(token) => Err(Error::Token { token, num_tokens }),
            None => Ok(Self { num_outputs, outputs }),
        }
    }

    /// Returns the number of outputs before the merge.
    pub fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    /// Returns the number of tokens.
    pub fn num_tokens(&self) -> usize {
        self.outputs.len()
    }

    /// Checks the number of outputs of a network.
    ///
    /// # Errors
    /// [`Error::Outputs`] unless there is an entry for each output.
    pub fn check_outputs(&self, expected: usize) -> Result<(), Error> {
        match self.num_outputs {
            found if found != expected => Err(Error::Outputs { expected, found }),
            _ => Ok(()),
        }
    }

    /// Returns the log-probabilities of tokens, row by row, for the log-probabilities of outputs.
    ///
    /// # Errors
    /// [`Error::Rows`] for values that are not whole rows, and [`Error::NoToken`].
    pub fn rows(&self, utterance: &str, log_probs: &[f32]) -> Result<Vec<f32>, Error> {
        if !log_probs.len().is_multiple_of(self.num_outputs) {
            return Err(Error::Rows { expected: self.num_outputs, found: log_probs.len() });
        }
        let mut merged = Vec::with_capacity(log_probs.len() / self.num_outputs.max(1) * self.outputs.len());
        for (frame, row) in log_probs.chunks_exact(self.num_outputs.max(1)).enumerate() {
            let begin = merged.len();
            let log_sum = |outputs: &Vec<usize>| {
                let log_probs = outputs.iter().map(|&output| f64::from(row[output]));
                f32::from_f64(log_probs.fold(f64::NEG_INFINITY, log_add))
            };
            merged.extend(self.outputs.iter().map(log_sum));
            if !log_softmax(&mut merged[begin..]).is_finite() {
                return Err(Error::NoToken { utterance: utterance.to_owned(), frame });
            }
        }
        Ok(merged)
    }
}

impl Network for Merged {
    fn num_inputs(&self) -> usize {
        self.network.num_inputs()
    }

    fn num_outputs(&self) -> usize {
        self.merge.num_tokens()
    }

    fn subsampling(&self) -> usize {
        self.network.subsampling()
    }

    fn upsampling(&self) -> usize {
        self.network.upsampling()
    }

    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
        let log_probs = self.network.log_probs(batch)?;
        let mut values = vec![];
        for (&name, own) in batch.names().iter().zip(log_probs.sequences()) {
            values.append(&mut self.merge.rows(name, own)?);
        }
        Ok(LodTensor::from_vec([log_probs.num_rows(), self.num_outputs()], values, log_probs.lod().clone())?)
    }

    fn stream(self: Arc<Self>) -> Result<Box<dyn NetworkStream>, Error> {
        Ok(Box::new(MergedStream { stream: Arc::clone(&self.network).stream()?, merged: self }))
    }

    fn max_streams(&self) -> usize {
        self.network.max_streams()
    }

    fn accept_all(&self, streams: &mut [(&mut dyn NetworkStream, &[f32])]) -> Vec<Result<Vec<f32>, Error>> {
        let count = streams.len();
        let own = streams_of::<MergedStream>(streams);
        let own = own.ok().filter(|all| all.iter().all(|(own, _)| std::ptr::eq(&raw const *own.merged, self)));
        let Some(own) = own else { return vec![Err(Error::OtherNetwork); count] };
        let inner = own.into_iter().map(|(own, rows)| (&mut *own.stream, rows));
        let found = self.network.accept_all(&mut inner.collect::<Vec<_>>());
        found.into_iter().map(|rows| self.merge.rows("", &rows?)).collect()
    }
}

#[derive(Debug)]
struct MergedStream {
    stream: Box<dyn NetworkStream>,
    merged: Arc<Merged>,
}

impl NetworkStream for MergedStream {
    fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error> {
        self.merged.merge.rows("", &self.stream.accept(rows)?)
    }

    fn rows_before_result(&self) -> usize {
        self.stream.rows_before_result()
    }

    fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, Error> {
        self.merged.merge.rows("", &self.stream.finish(rows)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of a few numbers of single precision.
    const TOLERANCE: f32 = 1e-6;

    /// A network whose outputs are its inputs.
    #[derive(Debug)]
    struct Same;

    impl Network for Same {
        fn num_inputs(&self) -> usize {
            3
        }

        fn num_outputs(&self) -> usize {
            3
        }

        fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, Error> {
            Ok(batch.rows().clone())
        }
    }

    fn merged(tokens: Vec<Option<usize>>, num_tokens: usize) -> Result<Merged, Error> {
        Merged::new(Arc::new(Same), Merge::new(tokens, num_tokens)?)
    }

    #[test]
    fn probabilities_are_summed_and_divided_by_their_total() {
        let network = merged(vec![Some(0), Some(1), Some(0)], 2).unwrap();
        let rows = [0.1, 0.2, 0.7, 1.0, 0.0, 0.0].map(f32::ln).to_vec();
        let rows = LodTensor::from_lengths(&[2, 0], 3, rows).unwrap();
        let found = network.log_probs(&Batch::new(&["a", "b"], &rows).unwrap()).unwrap();
        assert_eq!((found.lengths(), found.width()), (vec![2, 0], 2));
        for (found, expected) in found.values().iter().zip([0.8, 0.2, 1.0, 0.0]) {
            assert!((found.exp() - expected).abs() <= TOLERANCE, "{found} {expected}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refused = |tokens: Vec<Option<usize>>, num| merged(tokens, num).unwrap_err();
        assert_eq!(refused(vec![Some(0)], 1), Error::Outputs { expected: 3, found: 1 });
        assert_eq!(refused(vec![Some(0), None, Some(2)], 2), Error::Token { token: 2, num_tokens: 2 });
        assert_eq!(refused(vec![Some(0), None, Some(0)], 2), Error::Token { token: 1, num_tokens: 2 });
        let network = merged(vec![None, None, Some(0)], 1).unwrap();
        let rows = LodTensor::from_lengths(&[1], 3, [0.5, 0.5, 0.0].map(f32::ln).to_vec()).unwrap();
        let refused = network.log_probs(&Batch::new(&["a"], &rows).unwrap());
        assert_eq!(refused, Err(Error::NoToken { utterance: "a".into(), frame: 0 }));
        assert!(matches!(Arc::new(network).stream(), Err(Error::NoStream { .. })));
        let refused = Merge::new(vec![Some(0), None], 1).unwrap().rows("a", &[0.0; 3]);
        assert_eq!(refused, Err(Error::Rows { expected: 2, found: 3 }));
    }
}
