//! Schedule of the partial results of a network without a state.

/// A result is due when the utterance has grown by 1/GROWTH, or by `MOST_GROWTH`, whichever is
/// less. For an utterance of 20 s, the longest by Kaldi's rules, the network then runs over at most
/// 14 times the audio, however short chunks are.
const GROWTH: usize = 8;

/// Number of checks during a pause, while it is quiet.
const RECHECK: usize = 5;

/// Quiet audio adds no results if the network has run over more than this many times the audio.
const MOST_RUNS: usize = 20;

/// Maximum mean power of quiet audio as a part of the utterance's: 6 dB less. A run of the network
/// costs time; a pause that is not checked joins two utterances.
const QUIET: f64 = 0.25;

/// Schedule of the next partial result. Lengths are in samples.
#[derive(Debug)]
pub(super) struct Due {
    /// Length of the utterance.
    length: usize,
    /// Sum of the squares of its samples.
    energy: f64,
    /// Length of the utterance at the last result.
    at_result: usize,
    /// Growth from there until the next result.
    step: usize,
    /// Number of samples that the network has run over.
    work: usize,
    most_growth: usize,
    /// The shortest pause.
    pause: usize,
}

impl Due {
    /// Creates the schedule of an utterance without samples.
    pub(super) fn new(pause: usize, most_growth: usize) -> Self {
        // No shorter silence ends an utterance.
        Self { length: 0, energy: 0.0, at_result: 0, step: pause, work: 0, most_growth, pause }
    }

    /// Creates the schedule of the next utterance.
    pub(super) fn next(&self) -> Self {
        Self::new(self.pause, self.most_growth)
    }

    /// Takes more samples of the utterance.
    pub(super) fn add(&mut self, samples: &[f32]) {
        self.length += samples.len();
        self.energy += energy(samples);
    }

    /// Returns the length of the utterance.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Returns `true` if a result is due; `recent` are the last samples. The next result is then
    /// due later.
    pub(super) fn is_now(&mut self, recent: &[f32]) -> bool {
        let grown = self.length - self.at_result;
        let may_recheck = grown >= self.pause / RECHECK && self.work <= MOST_RUNS * self.length;
        let now = grown >= self.step || (may_recheck && self.is_quiet(recent));
        if now {
            self.work += self.length;
            self.at_result = self.length;
            self.step = (self.length / GROWTH).min(self.most_growth);
        }
        now
    }

    /// Returns `true` if the last samples, as many as in a pause, are quiet compared with the whole
    /// utterance.
    #[expect(clippy::cast_precision_loss, reason = "numbers of samples")]
    pub(super) fn is_quiet(&self, recent: &[f32]) -> bool {
        let recent = &recent[recent.len().saturating_sub(self.pause)..];
        self.length > recent.len() && QUIET * self.energy * recent.len() as f64 > energy(recent) * self.length as f64
    }
}

/// Returns the sum of the squares of samples.
fn energy(samples: &[f32]) -> f64 {
    samples.iter().map(|&sample| f64::from(sample).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the places where results are due, for samples in chunks; the rate is 1000 Hz.
    fn due_at(samples: &[f32], chunk: usize) -> Vec<usize> {
        let (mut due, mut found, mut end) = (Due::new(500, 1000), vec![], 0_usize);
        for samples_of_chunk in samples.chunks(chunk) {
            due.add(samples_of_chunk);
            end += samples_of_chunk.len();
            if due.is_now(&samples[..end]) {
                found.push(end);
            }
        }
        found
    }

    #[test]
    fn the_work_of_results_is_bounded_for_short_chunks() {
        let speech = vec![1000.0; 20_000];
        let mut softer = vec![100.0; 20_000];
        softer[..2000].fill(1000.0);
        for (samples, most) in [(&speech, 14), (&softer, MOST_RUNS + 1)] {
            for chunk in [1, 10, 200, 3000] {
                let found = due_at(samples, chunk);
                let work: usize = found.iter().sum();
                assert!(work <= most * samples.len(), "{work} with chunks of {chunk}");
                // No result waits for more than a second and a chunk.
                assert!(found.windows(2).all(|pair| pair[1] - pair[0] <= 1000 + chunk), "{found:?}");
            }
        }
    }

    #[test]
    fn a_pause_is_looked_at_before_it_ends() {
        for pause in [600, 800] {
            for begin in (6000..8000).step_by(130) {
                let mut samples = vec![1000.0; 12_000];
                samples[begin..begin + pause].fill(100.0);
                let found = due_at(&samples, 100);
                assert!(found.iter().any(|at| (begin + 450..=begin + pause).contains(at)), "{begin} {found:?}");
            }
        }
        // Silence from the beginning on is no pause.
        for silence in [0.0, 1.0] {
            assert!(due_at(&[silence; 10_000], 100).len() < 30);
        }
    }
}
