//! Audio of several channels.

use std::ops::Range;

use kaldera_base::kernel;
use kaldera_base::simd::dispatch;

use crate::audio::samples::Samples;
use crate::error::Error;

/// Samples of several channels, frame by frame, the channels of a frame side by side, as in a WAV
/// file.
///
/// ```text
///   left right left right left right      2 channels, 3 frames
///   '--------' '--------' '--------'
/// ```
///
/// Features are of one channel, so one is taken out, or all are averaged:
///
/// ```
/// use kaldi_feat::{Audio, Fbank, FbankOptions, Interleaved};
///
/// let samples: Vec<i16> = (0..32_000).map(|i| if i % 2 == 0 { 1000 } else { -500 }).collect();
/// let stereo = Interleaved::new(&samples, 2)?;
/// let right = stereo.channel(1)?;
/// let mono = stereo.mean();
/// assert_eq!((right[0], mono[0]), (-500.0, 250.0));
///
/// let fbank = Fbank::new(FbankOptions::default())?;
/// let features = fbank.compute(&Audio::new(&mono, 16_000.0))?;
/// assert_eq!(features.num_rows(), 98);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Interleaved<'a> {
    samples: Samples<'a>,
    num_channels: usize,
}

impl<'a> Interleaved<'a> {
    /// Wraps samples of `num_channels` channels.
    ///
    /// # Errors
    /// [`Error::NotInterleaved`] for no channels, and if the last frame is not whole.
    pub fn new(samples: impl Into<Samples<'a>>, num_channels: usize) -> Result<Self, Error> {
        let samples = samples.into();
        if num_channels == 0 || !samples.len().is_multiple_of(num_channels) {
            return Err(Error::NotInterleaved { samples: samples.len(), num_channels });
        }
        Ok(Self { samples, num_channels })
    }

    /// Returns the number of channels.
    pub fn num_channels(&self) -> usize {
        self.num_channels
    }

    /// Returns the number of samples in each channel.
    pub fn num_frames(&self) -> usize {
        self.samples.len() / self.num_channels
    }

    /// Returns the samples of all channels.
    pub fn samples(&self) -> Samples<'a> {
        self.samples
    }

    /// Returns the frames in `range`.
    ///
    /// # Panics
    /// If `range` is out of bounds.
    #[must_use]
    pub fn frames(&self, range: Range<usize>) -> Self {
        let samples = range.start * self.num_channels..range.end * self.num_channels;
        Self { samples: self.samples.range(samples), num_channels: self.num_channels }
    }

    /// Returns the samples of one channel, counted from 0.
    ///
    /// # Errors
    /// [`Error::NoSuchChannel`].
    pub fn channel(&self, channel: usize) -> Result<Vec<f32>, Error> {
        let mut samples = Vec::new();
        self.channel_into(channel, &mut samples)?;
        Ok(samples)
    }

    /// Same as [`channel`](Self::channel), but overwrites `out`.
    ///
    /// # Errors
    /// [`Error::NoSuchChannel`].
    pub fn channel_into(&self, channel: usize, out: &mut Vec<f32>) -> Result<(), Error> {
        let num_channels = self.num_channels;
        if channel >= num_channels {
            return Err(Error::NoSuchChannel { channel, num_channels });
        }
        self.map_frames(|frame| frame[channel].into(), |frame| frame[channel], out);
        Ok(())
    }

    /// Returns the mean of all channels, sample by sample.
    pub fn mean(&self) -> Vec<f32> {
        let mut mean = Vec::new();
        self.mean_into(&mut mean);
        mean
    }

    /// Same as [`mean`](Self::mean), but overwrites `out`.
    pub fn mean_into(&self, out: &mut Vec<f32>) {
        if self.num_channels == 2 {
            return mean_of_two(self.samples, out);
        }
        let num_channels = self.num_channels as f32;
        self.map_frames(
            |frame| frame.iter().map(|&x| f32::from(x)).sum::<f32>() / num_channels,
            |frame| frame.iter().sum::<f32>() / num_channels,
            out,
        );
    }

    fn map_frames(&self, of_i16: impl Fn(&[i16]) -> f32, of_f32: impl Fn(&[f32]) -> f32, out: &mut Vec<f32>) {
        out.clear();
        match self.samples {
            Samples::I16(samples) => out.extend(samples.chunks_exact(self.num_channels).map(of_i16)),
            Samples::F32(samples) => out.extend(samples.chunks_exact(self.num_channels).map(of_f32)),
        }
    }
}

/// Computes the mean of two channels as half of their sum, which equals a division by 2.
fn mean_of_two(samples: Samples<'_>, mean: &mut Vec<f32>) {
    mean.clear();
    mean.resize(samples.len() / 2, 0.0);
    dispatch(kernel!(<'a>(s: S, samples: Samples<'a>, mean: &'a mut [f32] = &mut mean[..]) {
        let half = s.splat(0.5);
        let whole = mean.len() - mean.len() % S::LANES;
        for (i, mean) in mean[..whole].chunks_exact_mut(S::LANES).enumerate() {
            let frames = 2 * S::LANES * i..2 * S::LANES * (i + 1);
            let (a, b) = match samples {
                Samples::I16(samples) => {
                    let (a, b) = samples[frames].split_at(S::LANES);
                    (s.load_i16(a), s.load_i16(b))
                }
                Samples::F32(samples) => {
                    let (a, b) = samples[frames].split_at(S::LANES);
                    (s.load(a), s.load(b))
                }
            };
            let (left, right) = s.unzip(a, b);
            s.store(s.mul(s.add(left, right), half), mean);
        }
        for (i, mean) in mean.iter_mut().enumerate().skip(whole) {
            *mean = (samples.get(2 * i) + samples.get(2 * i + 1)) * 0.5;
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_of_two_channels_is_that_of_many() {
        for frames in [0, 1, 7, 16, 33, 100] {
            let integers: Vec<i16> = (0..2 * frames).map(|i: i16| i.wrapping_mul(12_345)).collect();
            let floats: Vec<f32> = integers.iter().map(|&x| f32::from(x) * 1.1).collect();
            let of =
                |samples: &[f32]| samples.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect::<Vec<_>>();
            assert_eq!(Interleaved::new(&floats, 2).unwrap().mean(), of(&floats));
            let whole: Vec<f32> = integers.iter().map(|&x| f32::from(x)).collect();
            assert_eq!(Interleaved::new(&integers, 2).unwrap().mean(), of(&whole));
        }
    }
}
