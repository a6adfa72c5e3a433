//! Other voices, rooms, microphones and noises for the same recordings.

use kaldera_base::random::Philox;
use kaldi_matrix::RandomState;

use crate::features::Signal;

/// What a signal is changed by.
///
/// ```text
///   samples --speed--> --reverberation--> --filter--> + noise --> level;   the features' frequency axis is warped
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Augmentation {
    /// How much faster it becomes, which raises the voice, too.
    speed: f64,
    /// How far the mel filters are moved, as by another length of the vocal tract.
    warp: f64,
    /// Until the room is 60 dB quieter, in seconds; 0 without a room.
    reverberation: f64,
    /// What of the sample before is added: the colour of a microphone.
    tilt: f64,
    /// How much the noise is quieter than the signal, in dB.
    noise: f64,
    /// What of the sample before is added to that of the noise: its colour.
    noise_tilt: f64,
    /// How much louder all becomes, in dB.
    level: f64,
    seed: u64,
}

/// The delays of the feedback of a room, in seconds (M. R. Schroeder, *Natural sounding artificial
/// reverberation*, 1962).
const DELAYS: [f64; 4] = [0.0297, 0.0371, 0.0411, 0.0437];

impl Augmentation {
    /// One that is drawn at random.
    pub fn draw(seed: u64) -> Self {
        let mut random = RandomState::new(seed);
        let mut within = |low: f64, high: f64| low + (high - low) * random.uniform();
        let room = within(0.0, 1.0) < 0.5;
        Self {
            speed: within(0.85, 1.15),
            warp: within(0.85, 1.2),
            reverberation: if room { within(0.1, 0.5) } else { 0.0 },
            tilt: within(-0.6, 0.6),
            noise: within(8.0, 45.0),
            noise_tilt: within(-0.5, 0.95),
            level: within(-20.0, 10.0),
            seed,
        }
    }

    /// The signal, changed.
    pub fn apply(&self, samples: &[f32], sample_rate: f32) -> Signal {
        let mut samples = faster(samples, self.speed);
        if self.reverberation > 0.0 {
            samples = in_a_room(&samples, f64::from(sample_rate), self.reverberation);
        }
        tilt(&mut samples, self.tilt);
        let mut noise = vec![0.0; samples.len()];
        Philox::new(self.seed).add_gaussian(1.0, 0, &mut noise);
        colour(&mut noise, self.noise_tilt);
        let loudness = power(&samples).sqrt() / power(&noise).sqrt().max(f64::MIN_POSITIVE);
        let (of_noise, gain) = (loudness * decibels(-self.noise), decibels(self.level));
        for (sample, noise) in samples.iter_mut().zip(&noise) {
            *sample = (gain * (f64::from(*sample) + of_noise * f64::from(*noise))) as f32;
        }
        // Digital silence is nobody's recording.
        Philox::new(!self.seed).add_gaussian(1.0, 0, &mut samples);
        Signal { samples, warp: self.warp as f32 }
    }
}

/// The factor of an amplitude.
fn decibels(level: f64) -> f64 {
    10.0_f64.powf(level / 20.0)
}

fn power(samples: &[f32]) -> f64 {
    samples.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / samples.len().max(1) as f64
}

/// As if played `factor` times as fast, by linear interpolation.
fn faster(samples: &[f32], factor: f64) -> Vec<f32> {
    let length = (samples.len() as f64 / factor) as usize;
    let at = |i: usize| samples.get(i).or(samples.last()).copied().unwrap_or(0.0);
    let interpolated = |i: usize| {
        let position = i as f64 * factor;
        let (before, part) = (position as usize, position.fract() as f32);
        (1.0 - part) * at(before) + part * at(before + 1)
    };
    (0..length).map(interpolated).collect()
}

/// The signal and its echoes, which lose 60 dB in `seconds`.
fn in_a_room(samples: &[f32], sample_rate: f64, seconds: f64) -> Vec<f32> {
    let mut result = samples.to_vec();
    for delay in DELAYS {
        let gain = 10.0_f64.powf(-3.0 * delay / seconds) as f32;
        let delay = (delay * sample_rate) as usize;
        let mut echoes = vec![0.0; samples.len()];
        for i in delay.max(1)..samples.len() {
            echoes[i] = gain * (samples[i - delay.max(1)] + echoes[i - delay.max(1)]);
        }
        result.iter_mut().zip(&echoes).for_each(|(sample, echo)| *sample += 0.5 * echo);
    }
    result
}

/// `y[n] = x[n] + factor x[n-1]`.
fn tilt(samples: &mut [f32], factor: f64) {
    let mut before = 0.0;
    for sample in samples {
        let x = *sample;
        *sample += factor as f32 * before;
        before = x;
    }
}

/// `y[n] = x[n] + factor y[n-1]`.
fn colour(samples: &mut [f32], factor: f64) {
    let mut before = 0.0;
    for sample in samples {
        *sample += factor as f32 * before;
        before = *sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(length: usize) -> Vec<f32> {
        (0..length).map(|i| 1000.0 * (i as f32 * 0.3).sin()).collect()
    }

    #[test]
    fn signals_are_a_function_of_the_seed() {
        let samples = tone(8000);
        for seed in 0..50 {
            let augmentation = Augmentation::draw(seed);
            let signal = augmentation.apply(&samples, 8000.0);
            assert_eq!(signal.samples, augmentation.apply(&samples, 8000.0).samples);
            assert!((6900..9500).contains(&signal.samples.len()) && (0.85..1.2).contains(&signal.warp));
            assert!(signal.samples.iter().all(|x| x.is_finite()) && power(&signal.samples) > 100.0);
            assert_ne!(signal.samples, Augmentation::draw(seed + 50).apply(&samples, 8000.0).samples);
        }
        assert!(Augmentation::draw(1).apply(&[], 8000.0).samples.is_empty());
    }

    #[test]
    fn faster_is_shorter_and_higher() {
        let (slow, fast) = (tone(1000), faster(&tone(1000), 1.25));
        assert_eq!(fast.len(), 800);
        // Linear interpolation of a tone with 21 samples to a period.
        assert!((0..790).all(|i| (fast[i] - 1000.0 * (i as f32 * 0.375).sin()).abs() < 15.0));
        assert_eq!(faster(&slow, 1.0), slow);
    }

    #[test]
    fn echoes_lose_60_decibels_in_the_given_time() {
        let mut click = vec![0.0; 8000];
        click[0] = 1.0;
        let room = in_a_room(&click, 8000.0, 0.4);
        assert_eq!(room[0], 1.0);
        let energy = |samples: &[f32]| samples.iter().map(|x| x * x).sum::<f32>();
        let ratio = energy(&room[3600..4000]) / energy(&room[200..600]);
        assert!((1e-7..1e-4).contains(&ratio), "{ratio}");
    }
}
