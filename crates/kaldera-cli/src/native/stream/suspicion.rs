//! Detection of raw bytes that cannot be 16-bit samples of one rate and number of channels.

/// Seconds of audio that are examined, if there are that many.
const SECONDS: f32 = 3.0;

/// Minimum number of samples for a decision.
const LEAST: usize = 2000;

/// Minimum deviation of loud noise; noise over the whole range of 16 bits has 18,918. Speech and
/// music of nearly this level are low sounds, in which adjacent samples are similar.
const LOUD: f64 = 8000.0;

/// Upper bound on the absolute correlation of adjacent samples in noise.
const ALIKE: f64 = 0.15;

/// Fraction of samples at the ends of the range above which audio is clipped beyond use.
const CLIPPED: f64 = 0.25;

/// Minimum fraction of pairs of samples that form plausible floats, if the bytes are floats.
const FLOATS: f64 = 0.98;

/// The first seconds of raw samples.
#[derive(Debug)]
pub(super) struct Suspicion {
    samples: Vec<f32>,
    most: usize,
    is_told: bool,
}

impl Suspicion {
    /// Creates a detector for samples of this rate.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of samples, which saturates")]
    pub(super) fn new(samp_freq: f32) -> Self {
        Self { samples: vec![], most: ((samp_freq * SECONDS) as usize).max(LEAST), is_told: false }
    }

    /// Takes more samples, and warns once if they cannot be 16-bit samples. `last` is `true` if no
    /// more samples follow.
    pub(super) fn look(&mut self, samples: &[f32], last: bool) {
        if self.is_told {
            return;
        }
        self.samples.extend_from_slice(samples);
        if self.samples.len() >= self.most || last {
            self.is_told = true;
            if let Some(found) = suspicion(&std::mem::take(&mut self.samples)) {
                tracing::warn!("{found}; the input is treated as raw 16-bit little-endian samples");
            }
        }
    }
}

/// Returns the likely format of the samples, if it is not 16-bit samples.
#[expect(clippy::cast_precision_loss, reason = "few samples")]
fn suspicion(samples: &[f32]) -> Option<&'static str> {
    // Silence at the beginning is skipped.
    let begin = samples.iter().position(|&sample| sample != 0.0)? & !1;
    let samples = &samples[begin..];
    if samples.len() < LEAST {
        return None;
    }
    let count = samples.len() as f64;
    let pairs = samples.as_chunks::<2>().0;
    let part = |matches: usize| matches as f64 / pairs.len() as f64;
    if part(pairs.iter().filter(|&pair| is_half_float(*pair)).count()) > FLOATS {
        return Some("the bytes are 32-bit floats: convert them, e.g. with 'ffmpeg -f f32le -ar RATE -i - -f s16le -'");
    }
    if [0, 1].into_iter().any(|place| pairs.iter().all(|pair| pair[place] == 0.0)) {
        return Some("every second sample is 0: 32-bit samples, or two channels (--num-channels=2)");
    }
    if pairs.iter().all(|[a, b]| a == b) {
        return Some("all samples come in equal pairs: two channels (--num-channels=2), or twice the rate");
    }
    let clipped = samples.iter().filter(|&&sample| !(-32_767.0..32_767.0).contains(&sample)).count();
    if clipped as f64 > CLIPPED * count {
        return Some("a quarter of the samples are at the ends of the range: clipped, or not samples of 16 bits");
    }
    let mean = samples.iter().map(|&sample| f64::from(sample)).sum::<f64>() / count;
    let central = |sample: f32| f64::from(sample) - mean;
    let power: f64 = samples.iter().map(|&sample| central(sample).powi(2)).sum();
    let products: f64 = samples.windows(2).map(|pair| central(pair[0]) * central(pair[1])).sum();
    if (power / count).sqrt() > LOUD && (products / power).abs() < ALIKE {
        return Some("the audio is loud noise, as bytes of another encoding are: mu-law, 24 bits, MP3");
    }
    None
}

/// Returns `true` if two samples are the bytes of a float from 2^-24 to below 4, or of 0, on the
/// scale of 1.
#[expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]
fn is_half_float([low, high]: [f32; 2]) -> bool {
    let exponent = (high as i16).cast_unsigned() >> 7 & 0xFF;
    (low == 0.0 && high == 0.0) || (103..=128).contains(&exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_bytes(bytes: impl Iterator<Item = u8>) -> Vec<f32> {
        let bytes: Vec<u8> = bytes.collect();
        bytes.as_chunks().0.iter().map(|&pair| f32::from(i16::from_le_bytes(pair))).collect()
    }

    /// Returns a tone with a pause and noise, on the scale of 1.
    fn sound(i: u32) -> f32 {
        let noise = (i.wrapping_mul(2_654_435_761) >> 16) as f32 / 65_536.0 - 0.5;
        let loud = if (i / 1000).is_multiple_of(3) { 0.001 } else { 0.3 };
        loud * ((i as f32 * 0.2).sin() + 0.2 * noise)
    }

    #[test]
    fn samples_of_other_kinds_are_told_from_samples() {
        let count = 8000_u32;
        let seen = |samples: &[f32]| suspicion(samples).unwrap_or_default();
        let as_16_bits = |i| (sound(i) * 32_768.0).round();
        let plain: Vec<f32> = (0..count).map(as_16_bits).collect();
        assert_eq!(seen(&plain), "");
        assert_eq!(seen(&plain[..LEAST - 1]), "");
        assert_eq!(seen(&vec![0.0; 9000]), "");
        assert!(seen(&of_bytes((0..count).flat_map(|i| sound(i).to_le_bytes()))).contains("float"));
        let wide = |i| ((f64::from(sound(i)) * 2_147_483_648.0) as i32).to_le_bytes();
        assert!(seen(&of_bytes((0..count).flat_map(wide))).contains("noise"));
        assert!(seen(&of_bytes((0..count).flat_map(|i| wide(i)[1..].to_vec()))).contains("noise"));
        let of_16 = |i| [[0, 0], (as_16_bits(i) as i16).to_le_bytes()].concat();
        assert!(seen(&of_bytes((0..count).flat_map(of_16))).contains("every second"));
        let twice = |i| [as_16_bits(i); 2];
        assert!(seen(&(0..count).flat_map(twice).collect::<Vec<_>>()).contains("pairs"));
        let clipped: Vec<f32> = plain.iter().map(|x| (x * 30.0).clamp(-32_768.0, 32_767.0)).collect();
        assert!(seen(&clipped).contains("ends of the range"));
    }
}
