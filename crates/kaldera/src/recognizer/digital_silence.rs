//! Digital silence, which does not occur in recordings of speech.

use std::ops::Range;

use kaldera_base::random::Philox;

/// Standard deviation of the noise, on the scale of 16-bit samples: Kaldi's dither.
const NOISE: f32 = 1.0;

/// Duration of equal samples in seconds that are digital silence: less than a frame of features, so
/// that each frame has noise.
const SHORTEST: f32 = 0.01;

/// Adds the faint noise of recordings to digital silence.
///
/// If a program has cut or padded audio, all samples are equal. Their energy is zero, and its
/// logarithm is far below all training data: networks find words at the borders. For this reason
/// Kaldi adds noise to all samples. Here only samples that equal all samples of the 10 ms before
/// them get noise; all others are unchanged. Samples before the first one count as zeros. The noise
/// is a function of the sample's index, so that chunks get the same noise as the whole.
#[derive(Debug, Clone)]
pub(super) struct DigitalSilence {
    noise: Philox,
    /// Number of samples before the next one.
    position: u64,
    last: f32,
    /// Number of the last samples that are equal, and number of samples that make silence.
    equal: usize,
    needed: usize,
}

impl DigitalSilence {
    /// Creates the filter for samples of this rate.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of samples, which saturates")]
    pub(super) fn new(samp_freq: f32) -> Self {
        let needed = ((samp_freq * SHORTEST) as usize).max(1);
        Self { noise: Philox::new(0), position: 0, last: 0.0, equal: needed, needed }
    }

    /// Returns the ranges of digital silence in the next samples.
    pub(super) fn find(&mut self, samples: impl IntoIterator<Item = f32>) -> Vec<Range<usize>> {
        let (mut found, mut at) = (Vec::<Range<usize>>::new(), 0);
        for sample in samples {
            if sample - self.last == 0.0 {
                self.equal = self.equal.saturating_add(1);
            } else {
                (self.last, self.equal) = (sample, 1);
            }
            if self.equal > self.needed {
                match found.last_mut().filter(|last| last.end == at) {
                    Some(last) => last.end += 1,
                    None => found.push(at..at + 1),
                }
            }
            at += 1;
        }
        self.position += at as u64;
        found
    }

    /// Adds noise to the last samples given to [`find`](Self::find), in the silence that it found.
    pub(super) fn fill(&self, samples: &mut [f32], found: &[Range<usize>]) {
        let first = self.position - samples.len() as u64;
        for silence in found {
            self.noise.add_gaussian(NOISE, first + silence.start as u64, &mut samples[silence.clone()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(samples: &[f32], chunk: usize) -> Vec<f32> {
        let mut silence = DigitalSilence::new(1000.0);
        let mut all = samples.to_vec();
        for chunk in all.chunks_mut(chunk) {
            let found = silence.find(chunk.iter().copied());
            silence.fill(chunk, &found);
        }
        all
    }

    #[test]
    fn runs_of_equal_samples_get_noise_and_others_stay() {
        let sound: Vec<f32> = (0_u16..50).map(|i| f32::from(i * 7 % 31 + 1)).collect();
        let constant = |value: f32, count: usize| vec![value; count];
        let samples = [constant(0.0, 20), sound.clone(), constant(0.0, 10), sound.clone(), constant(8.0, 300)].concat();
        let all = filled(&samples, 1000);
        let changed: Vec<bool> = all.iter().zip(&samples).map(|(a, b)| a != b).collect();
        // The beginning, and the samples after 10 equal ones.
        assert_eq!(changed.iter().position(|&changed| !changed), Some(20));
        assert!(changed[20..140].iter().all(|&changed| !changed) && changed[140..].iter().all(|&changed| changed));
        let deviation = (all[140..].iter().map(|x| (x - 8.0).powi(2)).sum::<f32>() / 290.0).sqrt();
        assert!((0.8..1.2).contains(&deviation), "{deviation}");
        for chunk in [1, 7, 128] {
            assert_eq!(filled(&samples, chunk), all);
        }
    }
}
