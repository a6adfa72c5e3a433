//! The samples of a recording.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use kaldi_feat::{Audio, PolyphaseResample, Resamplers, Samples, check_resampled};
use kaldi_io::WaveData;

use crate::channel::ChannelChoice;
use crate::error::Error;
use crate::one_channel::OneChannel;
use crate::samples::WaveSamples;

/// Full scale of 16-bit samples. In files and other crates full scale is 1.
pub(crate) const FULL_SCALE: f32 = 32_768.0;

/// Samples of all channels, frame by frame with the channels of a frame side by side, on the scale
/// of 16-bit integers, -32768 to 32767.
///
/// ```
/// use kaldera_audio::Recording;
/// use kaldi_io::WaveData;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("stereo.wav");
/// let samples = (0..8000).flat_map(|i: i16| [i % 100, -1]).collect();
/// WaveData { samp_freq: 8000.0, num_channels: 2, samples }.save(&path)?;
///
/// let recording = Recording::open(&path)?;
/// assert_eq!((recording.num_channels(), recording.num_samples()), (2, 8000));
/// assert_eq!(recording.samples()[..4], [0.0, -1.0, 1.0, -1.0]);
/// assert_eq!(recording.channel(0)?.samples()[..2], [0.0, 1.0]);
/// assert_eq!(recording.mean().samples()[..2], [-0.5, 0.0]);
///
/// let left = recording.channel(0)?;
/// let audio = left.audio()?; // for extraction, of one channel
/// assert_eq!(audio.samples.len(), 8000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Recording {
    samples: WaveSamples,
    num_channels: usize,
    samp_freq: f32,
}

impl Recording {
    /// One channel of 16-bit samples.
    #[must_use]
    pub fn from_i16(samples: Vec<i16>, samp_freq: f32) -> Self {
        Self { samples: WaveSamples::I16(samples), num_channels: 1, samp_freq }
    }

    /// One channel of samples from -1 to 1, the scale of most other audio crates.
    ///
    /// ```
    /// use kaldera_audio::Recording;
    ///
    /// let recording = Recording::from_unit(vec![0.5, -1.0], 16_000.0);
    /// assert_eq!(*recording.samples(), [16_384.0, -32_768.0]);
    /// ```
    #[must_use]
    pub fn from_unit(mut samples: Vec<f32>, samp_freq: f32) -> Self {
        samples.iter_mut().for_each(|sample| *sample *= FULL_SCALE);
        Self::from_f32(samples, samp_freq)
    }

    /// One channel of samples on the scale of 16-bit integers, -32768 to 32767.
    #[must_use]
    pub fn from_f32(samples: Vec<f32>, samp_freq: f32) -> Self {
        Self::interleaved(samples, 1, samp_freq)
    }

    /// Several channels, interleaved.
    pub(crate) fn interleaved(samples: Vec<f32>, num_channels: usize, samp_freq: f32) -> Self {
        Self { samples: WaveSamples::F32(samples), num_channels, samp_freq }
    }

    /// Several channels, interleaved, in either type.
    pub(crate) fn new(samples: WaveSamples, num_channels: usize, samp_freq: f32) -> Self {
        Self { samples, num_channels, samp_freq }
    }

    /// Checks the samples and the rate of a recording that was not read from a file.
    ///
    /// # Errors
    /// [`Error::NoRate`] without channels, or if the rate is not a positive number;
    /// [`Error::NotFiniteSample`].
    pub fn check(&self) -> Result<(), Error> {
        let Self { num_channels, samp_freq, .. } = *self;
        if num_channels == 0 || samp_freq <= 0.0 || !samp_freq.is_finite() {
            return Err(Error::NoRate { channels: num_channels, samp_freq });
        }
        let WaveSamples::F32(samples) = &self.samples else { return Ok(()) };
        match Samples::F32(samples).first_not_finite() {
            Some(i) => {
                let (sample, channel) = (i / num_channels, i % num_channels);
                Err(Error::NotFiniteSample { sample, channel, value: samples[i] })
            }
            None => Ok(()),
        }
    }

    /// Samples per second, Hz.
    #[must_use]
    #[doc(alias = "sample_rate")]
    pub fn samp_freq(&self) -> f32 {
        self.samp_freq
    }

    /// The number of channels.
    #[must_use]
    pub fn num_channels(&self) -> usize {
        self.num_channels
    }

    /// Samples per channel.
    #[must_use]
    pub fn num_samples(&self) -> usize {
        self.samples.len().checked_div(self.num_channels).unwrap_or(0)
    }

    /// Length in seconds.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.num_samples() as f32 / self.samp_freq
    }

    /// All samples, interleaved: sample `i` of channel `c` is at `i * num_channels + c`.
    #[must_use]
    pub fn samples(&self) -> Cow<'_, [f32]> {
        match &self.samples {
            WaveSamples::I16(samples) => samples.iter().map(|&sample| f32::from(sample)).collect(),
            WaveSamples::F32(samples) => Cow::Borrowed(samples),
        }
    }

    /// All samples as integers, in the order of [`samples`](Self::samples); `None` unless each is
    /// a whole number of 16 bits, as in 16-bit WAV and FLAC files.
    #[must_use]
    pub fn samples_i16(&self) -> Option<Cow<'_, [i16]>> {
        match &self.samples {
            WaveSamples::I16(samples) => Some(Cow::Borrowed(samples)),
            WaveSamples::F32(samples) => samples.iter().map(|&sample| whole(sample)).collect(),
        }
    }

    /// One channel as a separate recording, counted from 0.
    ///
    /// # Errors
    /// [`Error::NoSuchChannel`].
    pub fn channel(&self, channel: usize) -> Result<Self, Error> {
        if channel >= self.num_channels {
            return Err(Error::NoSuchChannel { channel, channels: self.num_channels });
        }
        let samples = match &self.samples {
            WaveSamples::I16(samples) => WaveSamples::I16(pick(samples, self.num_channels, channel)),
            WaveSamples::F32(samples) => WaveSamples::F32(pick(samples, self.num_channels, channel)),
        };
        Ok(Self { samples, num_channels: 1, samp_freq: self.samp_freq })
    }

    /// The channels mixed down to one: the mean of the samples of each moment.
    #[must_use]
    pub fn mean(&self) -> Self {
        if self.num_channels <= 1 {
            return self.clone();
        }
        let mut mean = Vec::new();
        self.one(None, 0..self.num_samples()).samples(&mut mean);
        Self::from_f32(mean, self.samp_freq)
    }

    /// The input of most models: the [`mean`](Self::mean) of the channels,
    /// [resampled](Self::resample) to `samp_freq` Hz. It takes less time and memory than one
    /// after the other.
    ///
    /// ```
    /// use kaldera_audio::Recording;
    /// use kaldi_io::WaveData;
    ///
    /// let stereo = WaveData { samp_freq: 44_100.0, num_channels: 2, samples: vec![100; 88_200] };
    /// let mono = Recording::from(stereo).into_mono(16_000.0)?;
    /// assert_eq!((mono.num_channels(), mono.num_samples()), (1, 16_000));
    /// # Ok::<(), kaldera_audio::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`resample`](Self::resample).
    #[doc(alias = "load")]
    pub fn into_mono(self, samp_freq: f32) -> Result<Self, Error> {
        match Resamplers::new(samp_freq).get(self.samp_freq)? {
            Some(resampler) => self.resampled_mean(&resampler),
            None if self.num_channels == 1 => Ok(self),
            None => Ok(self.mean()),
        }
    }

    fn resampled_mean(&self, resampler: &Arc<PolyphaseResample>) -> Result<Self, Error> {
        let mut samples = Vec::new();
        self.one(None, 0..self.num_samples()).resample_into(resampler, &mut samples)?;
        Ok(Self::from_f32(samples, resampler.samp_rate_out() as f32))
    }

    /// A channel within `range`, or the mean of all; both must be there.
    fn one(&self, channel: Option<usize>, range: Range<usize>) -> OneChannel<'_> {
        let range = range.start * self.num_channels..range.end * self.num_channels;
        let samples = match &self.samples {
            WaveSamples::I16(samples) => Samples::I16(&samples[range]),
            WaveSamples::F32(samples) => Samples::F32(&samples[range]),
        };
        OneChannel::new(samples, self.num_channels, channel)
    }

    /// The frames within `range` of the channel that `choice` names.
    ///
    /// # Errors
    /// [`Error::NoSuchChannel`].
    ///
    /// # Panics
    /// If `range` is not within [`num_samples`](Self::num_samples).
    pub fn select(&self, choice: ChannelChoice, range: Range<usize>) -> Result<OneChannel<'_>, Error> {
        Ok(self.one(choice.index(self.num_channels)?, range))
    }

    /// The recording at `samp_freq` Hz, each channel resampled with the quality of ffmpeg's default
    /// ([`PolyphaseResample`](kaldi_feat::PolyphaseResample)).
    ///
    /// ```
    /// use kaldera_audio::Recording;
    ///
    /// let recording = Recording::from_i16(vec![100; 44_100], 44_100.0);
    /// assert_eq!(recording.resample(16_000.0)?.num_samples(), 16_000);
    /// # Ok::<(), kaldera_audio::Error>(())
    /// ```
    ///
    /// Rates are rounded to whole numbers.
    ///
    /// # Errors
    /// A rate that is not a number from 1 to 10 million, or more than a thousand times the other;
    /// [`kaldi_feat::Error::TooManyResampled`], [`Error::NoMemory`].
    #[doc(alias = "-ar")]
    pub fn resample(&self, samp_freq: f32) -> Result<Self, Error> {
        let Self { num_channels, .. } = *self;
        let Some(resampler) = Resamplers::new(samp_freq).get(self.samp_freq)? else { return Ok(self.clone()) };
        if num_channels == 1 {
            return self.resampled_mean(&resampler);
        }
        let num_samples = self.num_samples();
        let num_resampled = resampler.num_output_samples(num_samples).saturating_mul(num_channels);
        check_resampled(num_samples * num_channels, num_resampled)?;
        let (mut samples, mut resampled) = (Vec::new(), Vec::new());
        samples.try_reserve_exact(num_resampled).map_err(|_| Error::NoMemory { samples: num_resampled })?;
        samples.resize(num_resampled, 0.0);
        for channel in 0..num_channels {
            self.one(Some(channel), 0..num_samples).resample_into(&resampler, &mut resampled)?;
            for (to, &from) in samples.iter_mut().skip(channel).step_by(num_channels).zip(&resampled) {
                *to = from;
            }
        }
        Ok(Self::interleaved(samples, num_channels, resampler.samp_rate_out() as f32))
    }

    /// The audio from which features are computed.
    ///
    /// # Errors
    /// [`Error::SeveralChannels`] if it is not clear from which channel: take one by
    /// [`channel`](Self::channel), or their [`mean`](Self::mean).
    pub fn audio(&self) -> Result<Audio<'_>, Error> {
        if self.num_channels > 1 {
            return Err(Error::SeveralChannels { channels: self.num_channels });
        }
        Ok(match &self.samples {
            WaveSamples::I16(samples) => Audio::new(samples.as_slice(), self.samp_freq),
            WaveSamples::F32(samples) => Audio::new(samples.as_slice(), self.samp_freq),
        })
    }
}

/// Without the samples.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.samples {
            WaveSamples::I16(_) => "16-bit",
            WaveSamples::F32(_) => "floating-point",
        };
        let Self { num_channels, samp_freq, .. } = self;
        write!(f, "Recording({} {kind} samples x {num_channels} channels at {samp_freq} Hz)", self.num_samples())
    }
}

/// As [`Recording::audio`].
impl<'a> TryFrom<&'a Recording> for Audio<'a> {
    type Error = Error;

    fn try_from(recording: &'a Recording) -> Result<Self, Error> {
        recording.audio()
    }
}

impl From<WaveData> for Recording {
    fn from(wave: WaveData) -> Self {
        Self { samples: WaveSamples::I16(wave.samples), num_channels: wave.num_channels, samp_freq: wave.samp_freq }
    }
}

/// The samples as they are held, which are not copied: integers of an uncompressed file of up to 16
/// bits.
impl From<Recording> for WaveSamples {
    fn from(recording: Recording) -> Self {
        recording.samples
    }
}

/// A sample as the integer that it is.
fn whole(sample: f32) -> Option<i16> {
    // The cast saturates, and makes 0 of NaN. Any sample that is no such integer then differs.
    let rounded = sample as i16;
    (f32::from(rounded) == sample).then_some(rounded)
}

/// The samples of one channel, which is there.
fn pick<T: Copy>(samples: &[T], num_channels: usize, channel: usize) -> Vec<T> {
    samples.iter().skip(channel).step_by(num_channels).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_without_rate_or_channels_is_refused() {
        assert!(Recording::from_i16(vec![0; 100], 8000.0).check().is_ok());
        for samp_freq in [0.0, -8000.0, f32::NAN, f32::INFINITY] {
            let error = Recording::from_i16(vec![0; 100], samp_freq).check().unwrap_err();
            assert!(matches!(error, Error::NoRate { channels: 1, .. }), "{error}");
        }
        let none = Recording::interleaved(Vec::new(), 0, 8000.0);
        assert!(matches!(none.check(), Err(Error::NoRate { channels: 0, .. })));
    }

    #[test]
    fn a_sample_that_is_not_finite_is_refused_with_its_place() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut samples = vec![0.0; 100];
            samples[33] = value;
            let error = Recording::interleaved(samples, 2, 8000.0).check().unwrap_err();
            assert!(matches!(error, Error::NotFiniteSample { sample: 16, channel: 1, .. }), "{error}");
        }
        assert!(Recording::from_f32(vec![f32::MAX], 8000.0).check().is_ok());
    }

    #[test]
    fn a_choice_is_a_channel_or_the_mean() {
        let recording = Recording::interleaved(vec![1.0, -1.0, 2.0, -4.0, 3.0, -9.0], 2, 8000.0);
        let selected = |choice| recording.select(choice, 1..3).map(|channel| channel.samples(&mut vec![]).to_f32());
        assert_eq!(selected(ChannelChoice::First).unwrap(), [2.0, 3.0]);
        assert_eq!(selected(ChannelChoice::One(1)).unwrap(), [-4.0, -9.0]);
        assert_eq!(selected(ChannelChoice::Mean).unwrap(), [-1.0, -3.0]);
        assert_eq!(recording.mean().samples()[1..], [-1.0, -3.0]);
        let error = selected(ChannelChoice::One(2)).unwrap_err();
        assert!(matches!(error, Error::NoSuchChannel { channel: 2, channels: 2 }));
    }

    #[test]
    fn a_recording_without_a_frame_has_empty_channels() {
        let recording = Recording::interleaved(Vec::new(), 2, 8000.0);
        assert_eq!(recording.channel(1).unwrap().num_samples(), 0);
        assert!(matches!(recording.channel(2), Err(Error::NoSuchChannel { .. })));
    }

    #[test]
    fn channels_are_resampled_as_if_alone() {
        let left: Vec<f32> = (0_u16..3000).map(|i| f32::from(i % 101 * 37 % 1000)).collect();
        let right: Vec<f32> = left.iter().map(|sample| 5.0 - sample).collect();
        let both = left.iter().zip(&right).flat_map(|(&left, &right)| [left, right]).collect();
        let both = Recording::interleaved(both, 2, 44_100.0).resample(16_000.0).unwrap();
        assert_eq!((both.num_channels(), both.samp_freq()), (2, 16_000.0));
        for (channel, samples) in [left, right].into_iter().enumerate() {
            let alone = Recording::from_f32(samples, 44_100.0).resample(16_000.0).unwrap();
            assert_eq!(both.channel(channel).unwrap(), alone);
        }
        assert_eq!(both.resample(16_000.0).unwrap(), both);
        for samp_freq in [16_000.0, 44_100.0] {
            assert_eq!(both.clone().into_mono(samp_freq).unwrap(), both.mean().resample(samp_freq).unwrap());
        }
        assert!(both.resample(1.0).is_err());
    }
}
