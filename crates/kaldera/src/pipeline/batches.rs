//! Mini-batches of features for training or decoding: no files in between.

use std::mem;

use lod::{Lod, LodTensor};

use crate::Error;
use crate::pipeline::{Extent, Extracted, Failure, FeatureExtractor, Pipeline, Utterance, Worker, ordered};

/// The features of some utterances, one below the other, without padding.
#[derive(Debug)]
#[non_exhaustive]
pub struct Batch {
    /// The utterances that went well, in order: sequence i of `features` belongs to `keys[i]`.
    pub keys: Vec<String>,
    /// Frames x dimension, with one level of sequences.
    pub features: LodTensor<f32>,
    /// The utterances that did not, in order.
    pub failures: Vec<Failure>,
}

/// Batches of features, computed as they are asked for; see [`Pipeline::batches`].
#[derive(Debug)]
pub struct Batches<'p, 'a, E, I> {
    pipeline: &'p Pipeline<'a, E>,
    utterances: I,
    size: usize,
}

impl<'a, E: FeatureExtractor> Pipeline<'a, E> {
    /// Gives the features of `utterances`, `size` of them at a time (the last batch may have
    /// fewer). Each batch is computed on all threads of the pipeline when it is asked for; the
    /// values do not depend on `size`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use kaldera::feat::{Fbank, FbankOptions};
    /// use kaldera::pipeline::{Pipeline, Recording, Source, Utterance};
    ///
    /// let fbank = Fbank::new(FbankOptions::default())?;
    /// let tone = |key: &str, samples: usize| {
    ///     let samples = (0..samples).map(|i| if i % 40 < 20 { 1000 } else { -1000 }).collect();
    ///     Utterance::new(key, Source::Samples(Arc::new(Recording::from_i16(samples, 16_000.0))))
    /// };
    /// let utterances = [tone("a", 16_000), tone("b", 8_000), tone("c", 4_000)];
    ///
    /// let pipeline = Pipeline::new(&fbank).with_jobs(2);
    /// let batches: Vec<_> = pipeline.batches(utterances, 2)?.collect::<Result<_, _>>()?;
    /// assert_eq!((batches[0].features.num_rows(), batches[0].features.width()), (98 + 48, 23));
    /// assert_eq!(batches[0].features.lod().offsets(0), [0, 98, 146]);
    /// assert_eq!(batches[1].keys, ["c"]);
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NeedsAll`] if features are normalised over more than an utterance. A batch is an
    /// error if the run was [stopped](Self::with_stop), or if its frames do not fit 32 bits; an
    /// utterance that fails is in the batch's list.
    pub fn batches<I: IntoIterator<Item = Utterance>>(
        &self,
        utterances: I,
        size: usize,
    ) -> Result<Batches<'_, 'a, E, I::IntoIter>, Error> {
        if self.post.cmvn.as_ref().is_some_and(super::Cmvn::needs_others) {
            return Err(Error::NeedsAll { over: "speakers or all", instead: "normalise over each utterance" });
        }
        Ok(Batches { pipeline: self, utterances: utterances.into_iter(), size: size.max(1) })
    }

    fn batch(&self, utterances: &[Utterance]) -> Result<Batch, Error> {
        let dim = self.dim();
        let (mut keys, mut lengths, mut values, mut failures) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let work = |worker: &mut Worker<E::Workspace>, index: usize, extracted: &mut Extracted| {
            extracted.outcome = self.extract(&utterances[index], None, worker, &mut extracted.features);
        };
        let commit = |index: usize, extracted: &mut Extracted| {
            self.check_stop()?;
            match mem::replace(&mut extracted.outcome, Ok(Extent::default())) {
                Ok(Extent { frames, .. }) => {
                    keys.push(utterances[index].key.clone());
                    lengths.push(frames);
                    values.extend_from_slice(&extracted.features);
                }
                Err(source) => failures.push(Failure { utterance: utterances[index].clone(), source }),
            }
            Ok::<_, Error>(())
        };
        ordered::run(self.jobs, utterances.len(), Worker::default, work, commit)?;
        let frames = values.len() / dim.max(1);
        let features = LodTensor::from_vec([frames, dim], values, Lod::from_lengths(&[lengths])?)?;
        Ok(Batch { keys, features, failures })
    }
}

impl<E: FeatureExtractor, I: Iterator<Item = Utterance>> Iterator for Batches<'_, '_, E, I> {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let utterances: Vec<_> = self.utterances.by_ref().take(self.size).collect();
        (!utterances.is_empty()).then(|| self.pipeline.batch(&utterances))
    }
}
