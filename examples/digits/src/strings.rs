//! Strings of digits, put together of recordings of single ones.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use kaldera_base::random::Philox;
use kaldi_io::wave::WaveData;
use kaldi_matrix::RandomState;

use crate::augmentation::Augmentation;
use crate::corpus::Corpus;
use crate::features::Signal;

/// The longest pause before, between and after digits, in seconds.
const LONGEST_PAUSE: f32 = 0.15;
/// The standard deviation of the noise, on the scale of 16-bit samples.
const NOISE: f32 = 4.0;

/// Digits of one speaker one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigitString {
    /// Indexes of recordings of a corpus.
    pub recordings: Vec<usize>,
    /// Samples of silence before each of them, and after the last.
    pub pauses: Vec<usize>,
    /// Which noise is added.
    pub noise: u64,
}

/// Divides the `chosen` recordings of each speaker into strings of random lengths in random order:
/// each recording is in one string. (A speaker's last string may be shorter than the shortest.)
pub fn divide(
    corpus: &Corpus,
    chosen: &[usize],
    lengths: &RangeInclusive<usize>,
    random: &mut RandomState,
) -> Vec<DigitString> {
    let mut speakers = BTreeMap::<&str, Vec<usize>>::new();
    for &i in chosen {
        speakers.entry(&corpus.recordings[i].speaker).or_default().push(i);
    }
    let longest_pause = (LONGEST_PAUSE * corpus.sample_rate) as usize;
    let mut strings = Vec::new();
    for mut left in speakers.into_values() {
        shuffle(&mut left, random);
        while !left.is_empty() {
            let length = lengths.start() + below(lengths.end() + 1 - lengths.start(), random);
            let recordings = left.split_off(left.len().saturating_sub(length.max(1)));
            let pauses = (0..=recordings.len()).map(|_| below(longest_pause + 1, random)).collect();
            let noise = below(1 << 48, random) as u64;
            strings.push(DigitString { recordings, pauses, noise });
        }
    }
    shuffle(&mut strings, random);
    strings
}

impl DigitString {
    /// The samples, with faint noise.
    pub fn samples(&self, corpus: &Corpus) -> Vec<f32> {
        let mut samples = Vec::new();
        for (i, &pause) in self.pauses.iter().enumerate() {
            samples.resize(samples.len() + pause, 0.0);
            let recording = self.recordings.get(i).map(|&i| &corpus.recordings[i].samples[..]).unwrap_or_default();
            samples.extend(recording.iter().map(|&sample| f32::from(sample)));
        }
        Philox::new(self.noise).add_gaussian(NOISE, 0, &mut samples);
        samples
    }

    /// The samples with faint noise, or with an augmentation that is drawn for this string.
    pub fn signal(&self, corpus: &Corpus, augment: bool) -> Signal {
        let samples = self.samples(corpus);
        match augment {
            true => Augmentation::draw(self.noise).apply(&samples, corpus.sample_rate),
            false => Signal { samples, warp: 1.0 },
        }
    }

    /// The samples with faint noise, as a WAV file holds them.
    pub fn recording(&self, corpus: &Corpus) -> WaveData {
        let samples = self.samples(corpus).into_iter().map(|sample| sample.round() as i16).collect();
        WaveData { samp_freq: corpus.sample_rate, num_channels: 1, samples }
    }

    /// The digits.
    pub fn digits(&self, corpus: &Corpus) -> Vec<u8> {
        self.recordings.iter().map(|&i| corpus.recordings[i].digit).collect()
    }
}

/// A random order (R. Durstenfeld, 1964).
fn shuffle<T>(values: &mut [T], random: &mut RandomState) {
    for i in (1..values.len()).rev() {
        values.swap(i, below(i + 1, random));
    }
}

/// A number below `end`.
fn below(end: usize, random: &mut RandomState) -> usize {
    (random.uniform() * end as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Recording;

    fn corpus() -> Corpus {
        let recording = |i: u32| Recording {
            digit: (i % 10) as u8,
            speaker: if i < 30 { "a" } else { "b" }.into(),
            take: i / 10,
            samples: vec![100; 50 + i as usize],
        };
        Corpus { recordings: (0..50).map(recording).collect(), sample_rate: 8000.0 }
    }

    #[test]
    fn each_recording_is_in_one_string_of_its_speaker() {
        let corpus = corpus();
        let chosen: Vec<usize> = (5..50).collect();
        let strings = divide(&corpus, &chosen, &(3..=7), &mut RandomState::new(1));
        let mut used: Vec<usize> = strings.iter().flat_map(|string| string.recordings.clone()).collect();
        used.sort_unstable();
        assert_eq!(used, chosen);
        for string in &strings {
            let speaker = |i: &usize| &corpus.recordings[*i].speaker;
            assert!(string.recordings.iter().all(|i| speaker(i) == speaker(&string.recordings[0])));
            assert!(string.recordings.len() <= 7 && string.pauses.iter().all(|&pause| pause <= 1200));
            let samples: usize = string.recordings.iter().map(|&i| corpus.recordings[i].samples.len()).sum();
            assert_eq!(string.samples(&corpus).len(), samples + string.pauses.iter().sum::<usize>());
        }
        assert!(strings.iter().filter(|string| string.recordings.len() < 3).count() <= 2, "the rests of two speakers");
        assert_ne!(strings, divide(&corpus, &chosen, &(3..=7), &mut RandomState::new(2)));
    }

    #[test]
    fn nothing_chosen_is_no_string() {
        assert!(divide(&corpus(), &[], &(1..=2), &mut RandomState::new(1)).is_empty());
    }
}
