//! The mel filters of librosa: triangles over frequencies in Hz, on Slaney's mel scale or HTK's; or
//! triangles over mels.

use crate::spectrum::mel::{MelBanks, MelBin};

/// Slaney's scale: 200/3 Hz a mel up to 1000 Hz, from there 27 mels for a factor of 6.4.
const HZ_PER_MEL: f64 = 200.0 / 3.0;
const BEND_HZ: f64 = 1000.0;
const BEND_MEL: f64 = BEND_HZ / HZ_PER_MEL;

/// Returns ln(6.4) / 27.
fn log_step() -> f64 {
    6.4_f64.ln() / 27.0
}

fn mel_of(hz: f64, htk: bool) -> f64 {
    if htk {
        2595.0 * (1.0 + hz / 700.0).log10()
    } else if hz < BEND_HZ {
        hz / HZ_PER_MEL
    } else {
        BEND_MEL + (hz / BEND_HZ).ln() / log_step()
    }
}

fn hz_of(mel: f64, htk: bool) -> f64 {
    if htk {
        700.0 * (10_f64.powf(mel / 2595.0) - 1.0)
    } else if mel < BEND_MEL {
        mel * HZ_PER_MEL
    } else {
        BEND_HZ * ((mel - BEND_MEL) * log_step()).exp()
    }
}

/// The number and the range of the filters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MelRange {
    pub(crate) samp_freq: f64,
    pub(crate) fft_size: usize,
    pub(crate) num_bins: usize,
    pub(crate) low_freq: f64,
    pub(crate) high_freq: f64,
    /// Uses the scale 2595 log10(1 + f/700).
    pub(crate) htk: bool,
    /// Makes each filter's area 1 rather than its height.
    pub(crate) unit_area: bool,
    /// Puts corners on frequencies of the transform: floor((N + 1) f / sample rate).
    pub(crate) whole_bins: bool,
    /// Makes the sides of filters straight over mels rather than over Hz.
    pub(crate) over_mels: bool,
    /// Rounds the filters to bfloat16.
    pub(crate) bfloat16: bool,
}

/// Rounds a finite value to the nearest one of bfloat16, the upper half of single precision; of two
/// that are equally near, to the even one.
pub(crate) fn to_bfloat16(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000)
}

impl MelRange {
    /// Creates the filters. Filters that are too narrow to contain a frequency are empty, as in
    /// librosa.
    #[doc(alias = "librosa.filters.mel")]
    pub(crate) fn filters(&self) -> MelBanks {
        let (low, high) = (mel_of(self.low_freq, self.htk), mel_of(self.high_freq, self.htk));
        let step = (high - low) / (self.num_bins + 1) as f64;
        let hz_of_bin = |k: f64| k * self.samp_freq / self.fft_size as f64;
        let corner = |i: usize| {
            let hz = hz_of(low + i as f64 * step, self.htk);
            let bin = || ((self.fft_size + 1) as f64 * hz / self.samp_freq).floor();
            if self.whole_bins { hz_of_bin(bin()) } else { hz }
        };
        let place = |hz: f64| if self.over_mels { mel_of(hz, self.htk) } else { hz };
        let place_of_bin = |k: usize| place(hz_of_bin(k as f64));
        let mut center_freqs = Vec::with_capacity(self.num_bins);
        let bin = |i: usize| {
            center_freqs.push(corner(i + 1) as f32);
            let [left, center, right] = [i, i + 1, i + 2].map(|i| place(corner(i)));
            let weight = |k| {
                let at = place_of_bin(k);
                let (rise, fall) = ((at - left) / (center - left), (right - at) / (right - center));
                // 0 / 0 if a side has no width: its tip belongs to the falling side.
                if fall.is_nan() { 0.0 } else { rise.min(fall) }
            };
            let inside = |k: &usize| weight(*k) > 0.0;
            let first = (0..=self.fft_size / 2).find(inside).unwrap_or(0);
            // librosa stores the triangles in single precision before it scales them.
            let area = if self.unit_area { 2.0 / (right - left) } else { 1.0 };
            let weights = (first..=self.fft_size / 2).take_while(inside);
            let weights = weights.map(|k| (f64::from(weight(k) as f32) * area) as f32);
            MelBin { first, weights: weights.map(|x| if self.bfloat16 { to_bfloat16(x) } else { x }).collect() }
        };
        let bins = (0..self.num_bins).map(bin).collect();
        MelBanks::from_bins(bins, center_freqs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mel_scales_invert_each_other() {
        for htk in [false, true] {
            for hz in [0.0, 20.0, 999.0, 1000.0, 8000.0] {
                assert!((hz_of(mel_of(hz, htk), htk) - hz).abs() < 1e-9);
            }
        }
        assert!((mel_of(1000.0, false) - 15.0).abs() < 1e-12);
        assert!((mel_of(6400.0, false) - 42.0).abs() < 1e-12);
        assert!((mel_of(1000.0, true) - 1000.0).abs() < 0.1);
    }

    #[test]
    fn whole_bins_give_the_triangles_of_snfa() {
        // The second has filters whose sides have no width.
        for num_bins in [80_u8, 250] {
            let range = MelRange {
                samp_freq: 16000.0,
                fft_size: 1024,
                num_bins: num_bins.into(),
                low_freq: 0.0,
                high_freq: 8000.0,
                htk: true,
                unit_area: false,
                whole_bins: true,
                over_mels: false,
                bfloat16: false,
            };
            let corner = |i: u8| {
                let mel = 2595.0 * (1.0 + 8000.0_f64 / 700.0).log10() * f64::from(i) / f64::from(num_bins + 1);
                (1025.0 * 700.0 * (10_f64.powf(mel / 2595.0) - 1.0) / 16000.0).floor() as usize
            };
            let corners: Vec<usize> = (0..num_bins + 2).map(corner).collect();
            assert_eq!(corners.windows(2).any(|pair| pair[0] == pair[1]), num_bins == 250, "{corners:?}");
            for (filter, corners) in range.filters().bins().iter().zip(corners.windows(3)) {
                let &[left, center, right] = corners else { panic!("{corners:?}") };
                let mut expected = vec![0.0_f32; 513];
                for (k, weight) in expected.iter_mut().enumerate() {
                    if (left..center).contains(&k) {
                        *weight = (k - left) as f32 / (center - left) as f32;
                    } else if (center..right).contains(&k) {
                        *weight = (right - k) as f32 / (right - center) as f32;
                    }
                }
                let mut found = vec![0.0; 513];
                found[filter.first..][..filter.weights.len()].copy_from_slice(&filter.weights);
                assert_eq!(found, expected, "{corners:?}");
            }
        }
    }

    #[test]
    fn filters_have_unit_area() {
        let range = MelRange {
            samp_freq: 16000.0,
            fft_size: 4096,
            num_bins: 40,
            low_freq: 0.0,
            high_freq: 8000.0,
            htk: false,
            unit_area: true,
            whole_bins: false,
            over_mels: false,
            bfloat16: false,
        };
        for bin in range.filters().bins() {
            let area: f32 = bin.weights.iter().sum::<f32>() * 16000.0 / 4096.0;
            assert!((area - 1.0).abs() < 0.02, "{area}");
        }
    }
}
