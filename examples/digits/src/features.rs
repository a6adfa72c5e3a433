//! From samples to the rows that the network takes.

use kaldera_base::par;
use kaldi_feat::{Audio, Fbank, FbankOptions};
use lod::LodTensor;
use recurrent::train::ParameterStore;

use crate::Error;

/// Mel filters.
pub const BINS: usize = 40;
/// Frames that become one row: one of 30 ms in place of three of 10 ms.
pub const STACKED: usize = 3;

/// Samples, and how far the mel filters are moved for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// The samples, on the scale of 16-bit integers.
    pub samples: Vec<f32>,
    /// The factor of the frequency axis that stands for another length of the vocal tract; 1: none.
    pub warp: f32,
}

/// Normalised log mel energies, three frames to a row.
#[derive(Debug)]
pub struct FrontEnd {
    fbank: Fbank,
    sample_rate: f32,
    mean: Vec<f32>,
    deviation: Vec<f32>,
}

impl FrontEnd {
    /// A front end with the mean and standard deviation of each filter over some recordings.
    ///
    /// # Errors
    /// For a sampling rate that is too low for 40 filters.
    pub fn of_recordings<'a>(sample_rate: f32, recordings: impl Iterator<Item = &'a [i16]>) -> Result<Self, Error> {
        let mut front_end = Self::new(sample_rate)?;
        let audio: Vec<Audio<'_>> = recordings.map(|samples| Audio::new(samples, sample_rate)).collect();
        let features = front_end.fbank.compute_batch(&audio)?.values;
        let count = features.num_rows().max(1) as f64;
        let moment = |of: &dyn Fn(usize, f64) -> f64| {
            let mut sums = vec![0.0; BINS];
            for row in features.data().chunks_exact(BINS) {
                sums.iter_mut().zip(row).enumerate().for_each(|(bin, (sum, &x))| *sum += of(bin, f64::from(x)));
            }
            sums.into_iter().map(|sum| (sum / count) as f32).collect::<Vec<_>>()
        };
        front_end.mean = moment(&|_, x| x);
        let squares = moment(&|bin, x| (x - f64::from(front_end.mean[bin])).powi(2));
        // Digital silence alone has no variance.
        front_end.deviation = squares.into_iter().map(|square| square.sqrt().max(1e-3)).collect();
        Ok(front_end)
    }

    /// A front end that was saved.
    ///
    /// # Errors
    /// For tensors that are missing or of another length.
    pub fn load(sample_rate: f32, prefix: &str, store: &ParameterStore<f32>) -> Result<Self, Error> {
        let mut front_end = Self::new(sample_rate)?;
        front_end.mean = store.get_shaped(&format!("{prefix}mean"), &[BINS])?.to_vec();
        front_end.deviation = store.get_shaped(&format!("{prefix}deviation"), &[BINS])?.to_vec();
        Ok(front_end)
    }

    /// Adds means and standard deviations to a store.
    ///
    /// # Errors
    /// Never: there is one for each filter.
    pub fn save(&self, prefix: &str, store: &mut ParameterStore<f32>) -> Result<(), Error> {
        store.insert(&format!("{prefix}mean"), &[BINS], self.mean.clone())?;
        store.insert(&format!("{prefix}deviation"), &[BINS], self.deviation.clone())?;
        Ok(())
    }

    fn new(sample_rate: f32) -> Result<Self, Error> {
        let options = FbankOptions::default().with_num_mel_bins(BINS as i32);
        let fbank = Fbank::new(options.with_sample_frequency(sample_rate).with_snip_edges(false))?;
        Ok(Self { fbank, sample_rate, mean: vec![0.0; BINS], deviation: vec![1.0; BINS] })
    }

    /// Samples per second, Hz.
    pub fn sample_rate(&self) -> f32 {
        self.sample_rate
    }

    /// The mean of each filter.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// The standard deviation of each filter.
    pub fn deviation(&self) -> &[f32] {
        &self.deviation
    }

    /// How many values a row has.
    pub fn width(&self) -> usize {
        BINS * STACKED
    }

    /// A sequence of rows for each signal; frames at the end that are too few for a row are dropped.
    ///
    /// # Errors
    /// For samples that are not finite.
    pub fn rows(&self, signals: &[Signal]) -> Result<LodTensor<f32>, Error> {
        let audio =
            signals.iter().map(|Signal { samples, warp }| Audio::new(samples, self.sample_rate).with_vtln_warp(*warp));
        let audio: Vec<Audio<'_>> = audio.collect();
        let batch = self.fbank.compute_batch(&audio)?;
        let frames: Vec<&[f32]> = batch
            .row_splits
            .windows(2)
            .map(|ends| {
                let [start, end] = [ends[0], ends[1]].map(|end| end as usize);
                let whole = (end - start) / STACKED * STACKED;
                &batch.values.data()[start * BINS..][..whole * BINS]
            })
            .collect();
        let lengths: Vec<usize> = frames.iter().map(|frames| frames.len() / self.width()).collect();
        let normalised = par::map(frames, |frames| {
            let mut rows = frames.to_vec();
            for row in rows.chunks_exact_mut(BINS) {
                for ((x, &mean), &deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                    *x = (*x - mean) / deviation;
                }
            }
            rows
        });
        Ok(LodTensor::from_lengths(&lengths, self.width(), normalised.concat())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(seed: i32) -> Vec<i16> {
        (0..2000 + 100 * seed).map(|i| ((i * i * 7 + seed * i) % 2001 - 1000) as i16).collect()
    }

    #[test]
    fn normalised_filters_have_mean_zero_and_variance_one() {
        let recordings: Vec<Vec<i16>> = (1..9).map(recording).collect();
        let front_end = FrontEnd::of_recordings(8000.0, recordings.iter().map(Vec::as_slice)).unwrap();
        let signal =
            |samples: &Vec<i16>| Signal { samples: samples.iter().map(|&x| f32::from(x)).collect(), warp: 1.0 };
        let signals: Vec<Signal> = recordings.iter().map(signal).collect();
        let rows = front_end.rows(&signals).unwrap();
        assert_eq!(rows.width(), 120);
        assert_eq!(rows.lengths()[0], (2100 + 40) / 80 / 3);
        for bin in 0..BINS {
            let values: Vec<f32> = rows.values().iter().skip(bin).step_by(BINS).copied().collect();
            let count = values.len() as f32;
            let mean = values.iter().sum::<f32>() / count;
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / count;
            // Frames that are too few for a row count in the mean, but are not in the rows.
            assert!(mean.abs() < 0.2 && (variance - 1.0).abs() < 0.3, "{bin}: {mean}, {variance}");
        }
    }

    #[test]
    fn saved_front_end_gives_the_same_rows() {
        let samples = recording(3);
        let front_end = FrontEnd::of_recordings(8000.0, [&samples[..]].into_iter()).unwrap();
        let mut store = ParameterStore::new();
        front_end.save("x.", &mut store).unwrap();
        let again = FrontEnd::load(8000.0, "x.", &store).unwrap();
        let signals = [vec![1.0; 4000], vec![], vec![-3.0; 100]].map(|samples| Signal { samples, warp: 1.1 });
        let rows = front_end.rows(&signals).unwrap();
        assert_eq!(rows, again.rows(&signals).unwrap());
        assert_eq!(rows.lengths(), [16, 0, 0]);
        assert!(FrontEnd::load(8000.0, "y.", &store).is_err());
    }
}
