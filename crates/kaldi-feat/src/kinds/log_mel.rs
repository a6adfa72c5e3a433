//! Log-mel spectrograms of other toolkits than Kaldi: Whisper, librosa, NeMo, Gemma, snfa,
//! GigaAM, MedASR.

use std::f32::consts::{LN_10, LOG10_E};
use std::f64::consts::TAU;

use kaldera_base::math::{ln, ln_of_large};
use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::audio::MAX_SAMPLE_RATE;
use crate::error::Error;
use crate::extractor::{ExtractKernel, Extractor, Kind};
use crate::options::option_of_names;
use crate::sealed::Sealed;
use crate::spectrum::bands::{Bands, Filters};
use crate::spectrum::frames::{Edges, EnergySource, Framing};
use crate::spectrum::mel::MelBanks;
use crate::spectrum::slaney::{MelRange, to_bfloat16};
use crate::spectrum::window::FrameExtractionOptions;

/// The value written for the energy in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum MelLog {
    /// The energy.
    None,
    /// Its natural logarithm.
    Natural,
    /// Its logarithm to base 10.
    #[default]
    Log10,
    /// 10 times its logarithm to base 10.
    Decibels,
}

impl MelLog {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::None, Self::Natural, Self::Log10, Self::Decibels];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Natural => "natural",
            Self::Log10 => "log10",
            Self::Decibels => "decibels",
        }
    }
}

option_of_names!(MelLog);

/// Options of log-mel spectrograms. The defaults are [Whisper's](Self::whisper) with 80 filters.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct LogMelOptions {
    /// Samples per second, Hz.
    pub samp_freq: f32,
    /// Samples of a frame and of its Fourier transform; even.
    pub fft_size: i32,
    /// Samples of the Hann window, in the middle of the frame; 0 = as many as the frame has. With
    /// `snip_edges` they are the samples of the frame, with zeros after them for the transform.
    pub window_size: i32,
    /// Uses the periodic Hann window (PyTorch's `periodic`), whose next value would be its first;
    /// otherwise the first and the last value are 0.
    pub periodic_window: bool,
    /// Samples from one frame to the next.
    pub hop: i32,
    /// Mirrors the signal where a frame extends beyond it; otherwise there is silence.
    pub reflect: bool,
    /// Includes the frame whose centre is the end of the signal.
    pub last_frame: bool,
    /// Does not centre frames: the first one begins with the signal, and the last one lies in it.
    /// Needs `reflect` and `last_frame` to be false.
    pub snip_edges: bool,
    /// Centres frames with silence before the signal, and requires at least one sample of the
    /// signal after each frame, as in Gemma 4. Needs `reflect`, `last_frame` and `snip_edges` to be
    /// false.
    pub semicausal: bool,
    /// Cuts the signal to this number of samples, or fills it up with silence; 0 = unchanged.
    pub pad_to: i32,
    /// Fills up a shorter signal with silence to this number of samples; 0 = unchanged. Needs
    /// `pad_to` to be 0.
    pub min_samples: i32,
    /// Cuts a longer signal to this number of samples; 0 = unchanged. Needs `pad_to` to be 0.
    pub max_samples: i32,
    /// Number of filters.
    pub num_bins: i32,
    /// Lower end of the first filter, Hz.
    pub low_freq: f32,
    /// Upper end of the last filter, Hz; 0 = half the sample rate.
    pub high_freq: f32,
    /// Uses HTK's mel scale rather than Slaney's.
    pub htk_mel: bool,
    /// Makes the area of each filter 1 (librosa's `norm="slaney"`) rather than its height.
    pub unit_area: bool,
    /// Puts the corners of filters on frequencies of the transform of N samples, at floor((N + 1) f
    /// / sample rate), as in snfa.
    pub whole_bins: bool,
    /// Makes the sides of filters straight over mels, as Kaldi's are, rather than over Hz.
    pub over_mels: bool,
    /// Rounds the window and the filters to bfloat16, the type of the checkpoints of GigaAM v3.
    pub bfloat16: bool,
    /// Filter the power spectrum, rather than its square root.
    pub use_power: bool,
    /// The value written for each energy.
    pub log: MelLog,
    /// The least energy, before the logarithm.
    pub floor: f32,
    /// Added to the energies before the logarithm.
    #[doc(alias = "log_zero_guard_value")]
    pub log_guard: f32,
    /// Raises values that are further than this below the largest value of the recording to that
    /// bound; 0 = no bound.
    pub range: f32,
    /// Maps x to (x + 4) / 4 at the end, as Whisper's network requires.
    pub whisper_scale: bool,
    /// Resamples audio of a higher sample rate (as Kaldi does it) rather than refusing it.
    pub allow_downsample: bool,
    /// Resamples audio of a lower sample rate (as Kaldi does it) rather than refusing it.
    pub allow_upsample: bool,
}

impl Default for LogMelOptions {
    fn default() -> Self {
        Self::whisper(80)
    }
}

/// Samples of the 30 s that Whisper's network takes.
const WHISPER_SAMPLES: i32 = 480_000;

/// Samples of the half second that Qwen3-ASR's network takes at least.
const QWEN3_ASR_SAMPLES: i32 = 8000;

impl LogMelOptions {
    /// Returns the options of OpenAI's `whisper.log_mel_spectrogram`, with 80 or 128 filters.
    pub fn whisper(num_bins: i32) -> Self {
        Self {
            samp_freq: 16000.0,
            fft_size: 400,
            window_size: 0,
            periodic_window: true,
            hop: 160,
            reflect: true,
            last_frame: false,
            snip_edges: false,
            semicausal: false,
            pad_to: 0,
            min_samples: 0,
            max_samples: 0,
            num_bins,
            low_freq: 0.0,
            high_freq: 0.0,
            htk_mel: false,
            unit_area: true,
            whole_bins: false,
            over_mels: false,
            bfloat16: false,
            use_power: true,
            log: MelLog::Log10,
            floor: 1e-10,
            log_guard: 0.0,
            range: 8.0,
            whisper_scale: true,
            allow_downsample: false,
            allow_upsample: false,
        }
    }

    /// Adds `whisper.pad_or_trim`: any recording gives 3000 rows.
    pub fn of_30_seconds(self) -> Self {
        Self { pad_to: WHISPER_SAMPLES, ..self }
    }

    /// Returns the options of transformers' `Qwen3ASRFeatureExtractor`: Whisper's with 128 filters,
    /// of at least half a second.
    pub fn qwen3_asr() -> Self {
        Self { min_samples: QWEN3_ASR_SAMPLES, ..Self::whisper(128) }
    }

    /// Returns the options of
    /// `librosa.power_to_db(librosa.feature.melspectrogram(y=y, sr=samp_freq))`, transposed.
    pub fn librosa(samp_freq: f32) -> Self {
        Self {
            samp_freq,
            fft_size: 2048,
            hop: 512,
            reflect: false,
            last_frame: true,
            log: MelLog::Decibels,
            range: 80.0,
            whisper_scale: false,
            ..Self::whisper(128)
        }
    }

    /// Returns the options of NeMo's `AudioToMelSpectrogramPreprocessor` (transformers'
    /// `ParakeetFeatureExtractor`) between preemphasis and normalisation, with 80 or 128 filters.
    pub fn nemo(num_bins: i32) -> Self {
        Self {
            fft_size: 512,
            window_size: 400,
            periodic_window: false,
            reflect: false,
            log: MelLog::Natural,
            floor: 0.0,
            log_guard: 2.0_f32.powi(-24),
            range: 0.0,
            whisper_scale: false,
            ..Self::whisper(num_bins)
        }
    }

    /// Returns the options of transformers' `Gemma4AudioFeatureExtractor`.
    pub fn gemma4() -> Self {
        Self {
            window_size: 320,
            periodic_window: true,
            semicausal: true,
            max_samples: WHISPER_SAMPLES,
            htk_mel: true,
            unit_area: false,
            use_power: false,
            log_guard: 1e-3,
            ..Self::nemo(128)
        }
    }

    /// Returns the options of snfa's aligner.
    pub fn snfa() -> Self {
        Self {
            fft_size: 1024,
            window_size: 0,
            hop: 320,
            snip_edges: true,
            htk_mel: true,
            unit_area: false,
            whole_bins: true,
            log_guard: 1e-7,
            ..Self::nemo(80)
        }
    }

    /// Returns the options of GigaAM v2 (torchaudio's `MelSpectrogram` and a logarithm).
    pub fn gigaam_v2() -> Self {
        Self {
            fft_size: 400,
            window_size: 0,
            periodic_window: true,
            reflect: true,
            last_frame: true,
            htk_mel: true,
            unit_area: false,
            floor: 1e-9,
            log_guard: 0.0,
            ..Self::nemo(64)
        }
    }

    /// Returns the options of GigaAM v3: frames of 20 ms that are not centred.
    pub fn gigaam_v3() -> Self {
        Self { fft_size: 320, reflect: false, last_frame: false, snip_edges: true, bfloat16: true, ..Self::gigaam_v2() }
    }

    /// Returns the options of Dolphin: ESPnet's default frontend with 80 filters.
    pub fn dolphin() -> Self {
        Self {
            window_size: 400,
            periodic_window: true,
            reflect: true,
            last_frame: true,
            floor: 1e-10,
            log_guard: 0.0,
            ..Self::nemo(80)
        }
    }

    /// Returns the options of transformers' `LasrFeatureExtractor`, whose network is MedASR.
    pub fn medasr() -> Self {
        Self {
            snip_edges: true,
            low_freq: 125.0,
            high_freq: 7500.0,
            htk_mel: true,
            unit_area: false,
            over_mels: true,
            floor: 1e-5,
            log_guard: 0.0,
            ..Self::nemo(128)
        }
    }

    /// Checks that the options of the signal's ends agree.
    fn edges(&self) -> Result<Edges, Error> {
        let agree = |field, value: bool, others: &[(&str, bool)]| match others.iter().find(|(_, other)| value && *other)
        {
            Some((other, _)) => Err(Error::bad_option(field, value, format!("false where `{other}` is true"))),
            None => Ok(()),
        };
        let (reflect, last) = (("reflect", self.reflect), ("last_frame", self.last_frame));
        agree("snip_edges", self.snip_edges, &[reflect, last])?;
        agree("semicausal", self.semicausal, &[reflect, last, ("snip_edges", self.snip_edges)])?;
        Ok(match (self.snip_edges, self.semicausal) {
            (true, _) => Edges::Snip,
            (_, true) => Edges::Semicausal,
            _ => Edges::Centered { reflect: self.reflect, last: self.last_frame },
        })
    }

    /// Returns the checked sizes: frame, window, hop.
    fn sizes(&self) -> Result<[usize; 3], Error> {
        const MAX: i32 = 4_194_304;
        let size = |option, value: i32, least: i32, most: i32| match usize::try_from(value) {
            Ok(size) if (least..=most).contains(&value) => Ok(size),
            _ => Err(Error::bad_option(option, value, format!("from {least} to {most}"))),
        };
        let frame = size("fft_size", self.fft_size, 4, MAX)?;
        if !frame.is_multiple_of(2) {
            return Err(Error::bad_option("fft_size", self.fft_size, "even"));
        }
        let window = size("window_size", self.window_size, 0, self.fft_size)?;
        Ok([frame, if window == 0 { frame } else { window }, size("hop", self.hop, 1, MAX)?])
    }

    /// Returns the fewest and the most samples of a signal, after it was filled up or cut.
    fn lengths(&self) -> Result<[u64; 2], Error> {
        let length = |field, value: i32| {
            u64::try_from(value).map_err(|_| Error::bad_option(field, value, "a number of samples, or 0"))
        };
        let pad_to = length("pad_to", self.pad_to)?;
        let (least, most) = (length("min_samples", self.min_samples)?, length("max_samples", self.max_samples)?);
        for (field, value) in [("min_samples", least), ("max_samples", most)] {
            if pad_to > 0 && value > 0 {
                let expected = format!("0 where `pad_to` is {pad_to}, which makes all signals as long");
                return Err(Error::bad_option(field, value, expected));
            }
        }
        if most > 0 && least > most {
            let expected = format!("at most `max_samples`, {most}");
            return Err(Error::bad_option("min_samples", least, expected));
        }
        let unless_0 = |most| if most == 0 { u64::MAX } else { most };
        Ok(if pad_to > 0 { [pad_to; 2] } else { [least, unless_0(most)] })
    }

    fn mel_range(&self) -> Result<MelRange, Error> {
        let [fft_size, ..] = self.sizes()?;
        let nyquist = self.samp_freq / 2.0;
        let high_freq = if self.high_freq == 0.0 { nyquist } else { self.high_freq };
        let num_bins = usize::try_from(self.num_bins).unwrap_or(0);
        if num_bins == 0 || num_bins > fft_size {
            let expected = format!("from 1 to {fft_size}, the size of the FFT");
            return Err(Error::bad_option("num_bins", self.num_bins, expected));
        }
        if !(0.0..nyquist).contains(&self.low_freq) {
            let expected = format!("at least 0 and below {nyquist}, half the sample rate");
            return Err(Error::bad_option("low_freq", self.low_freq, expected));
        }
        if !(high_freq > self.low_freq && high_freq <= nyquist) {
            let expected = format!("above `low_freq`={} and at most {nyquist}, half the sample rate", self.low_freq);
            return Err(Error::bad_option("high_freq", self.high_freq, expected));
        }
        Ok(MelRange {
            samp_freq: f64::from(self.samp_freq),
            fft_size,
            num_bins,
            low_freq: f64::from(self.low_freq),
            high_freq: f64::from(high_freq),
            htk: self.htk_mel,
            unit_area: self.unit_area,
            whole_bins: self.whole_bins,
            over_mels: self.over_mels,
            bfloat16: self.bfloat16,
        })
    }
}

/// Log-mel spectrograms as in Whisper, NeMo's models, Gemma and librosa, a row for each frame.
///
/// Samples are on the scale of 16-bit integers, as everywhere in this crate, and are divided
/// by 32768.
///
/// ```
/// use kaldi_feat::{Audio, LogMel, LogMelOptions};
///
/// let whisper = LogMel::new(LogMelOptions::whisper(80).of_30_seconds())?;
/// let second: Vec<i16> = (0..16000).map(|i| (1000.0 * (i as f32 * 0.2).sin()) as i16).collect();
/// let features = whisper.compute(&Audio::new(&second, 16000.0))?;
/// assert_eq!((features.num_rows(), features.num_cols()), (3000, 80));
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
///
/// The bound of `range` takes the largest value of the whole recording. So a
/// [stream](crate::FeatureStream) gives the rows before this bound, and
/// [`finish_rows`](Self::finish_rows) applies it to any number of rows.
#[doc(alias("log_mel_spectrogram", "melspectrogram"))]
pub type LogMel = Extractor<LogMelKind>;

/// The log-mel kind of features.
#[derive(Debug)]
pub struct LogMelKind {
    num_bins: usize,
    use_power: bool,
    /// The factor of natural logarithms; `None` = no logarithms.
    log_factor: Option<f32>,
    floor: f32,
    log_guard: f32,
    range: f32,
    whisper_scale: bool,
}

impl LogMel {
    /// Applies the bound of `range` and Whisper's scale to rows that lie one after the other and
    /// are taken for the whole recording: the last step of [`compute`](Self::compute), which a
    /// stream lacks.
    pub fn finish_rows(&self, rows: &mut [f32]) {
        self.kind().finish(rows);
    }
}

impl Sealed for LogMelKind {}

impl Kind for LogMelKind {
    type Options = LogMelOptions;
    type Warped = MelBanks;

    fn framing(options: &LogMelOptions) -> Result<Framing, Error> {
        if !(1.0..=MAX_SAMPLE_RATE).contains(&options.samp_freq) {
            let expected = "a number of Hz from 1 to 10000000";
            return Err(Error::bad_option("samp_freq", options.samp_freq, expected));
        }
        let [size, window_size, hop] = options.sizes()?;
        let period = window_size - usize::from(!options.periodic_window && window_size > 1);
        let hann = |i: usize| {
            let value = (0.5 - 0.5 * (TAU * i as f64 / period as f64).cos()) as f32;
            if options.bfloat16 { to_bfloat16(value) } else { value }
        };
        // The middle of an odd window is its last one of two, as in the middle of `size` samples.
        let odd = !window_size.is_multiple_of(2) && !options.snip_edges;
        let window = (0..window_size).map(hann).chain(odd.then_some(0.0)).collect();
        let frame = FrameExtractionOptions {
            samp_freq: options.samp_freq,
            dither: 0.0,
            preemph_coeff: 0.0,
            remove_dc_offset: false,
            full_scale: 1.0,
            allow_downsample: options.allow_downsample,
            allow_upsample: options.allow_upsample,
            ..FrameExtractionOptions::default()
        };
        let edges = options.edges()?;
        let framing = Framing::with_window(frame, window, hop, size, edges);
        let [least, most] = options.lengths()?;
        Ok(framing.with_lengths(least, most))
    }

    fn new(options: &LogMelOptions, _: &MelBanks) -> Result<Self, Error> {
        if !(options.floor.is_finite() && options.floor >= 0.0) {
            return Err(Error::bad_option("floor", options.floor, "a number, 0 or more"));
        }
        if !(options.range.is_finite() && options.range >= 0.0) {
            return Err(Error::bad_option("range", options.range, "a number above 0, or 0"));
        }
        if !(options.log_guard.is_finite() && options.log_guard >= 0.0) {
            return Err(Error::bad_option("log_guard", options.log_guard, "a number, 0 or more"));
        }
        let log_factor = match options.log {
            MelLog::None => None,
            MelLog::Natural => Some(1.0),
            MelLog::Log10 => Some(LOG10_E),
            MelLog::Decibels => Some(10.0 / LN_10),
        };
        Ok(Self {
            num_bins: options.num_bins as usize,
            use_power: options.use_power,
            log_factor,
            floor: options.floor,
            log_guard: options.log_guard,
            range: options.range,
            whisper_scale: options.whisper_scale,
        })
    }

    /// Ignores the warp factor.
    fn warped(options: &LogMelOptions, _: f32) -> Result<MelBanks, Error> {
        Ok(options.mel_range()?.filters())
    }

    fn dim(&self) -> usize {
        self.num_bins
    }

    fn filters<'a>(&self, banks: &'a MelBanks) -> Option<Filters<'a>> {
        Some(Filters { banks, magnitudes: !self.use_power })
    }

    fn scratch_rows(&self) -> usize {
        0
    }

    fn energy_source(&self) -> EnergySource {
        EnergySource::None
    }

    fn run(kernel: ExtractKernel<'_, '_, Self>) {
        dispatch(kernel);
    }

    #[inline(always)]
    fn features<S: Simd>(&self, s: S, _: &MelBanks, frames: Bands<'_, S::F32>, features: &mut [S::F32]) {
        if let Some(factor) = self.log_factor {
            for (to, &x) in features.iter_mut().zip(&*frames.bands) {
                *to = s.mul(self.floored_ln(s, x), s.splat(factor));
            }
        } else {
            features.copy_from_slice(frames.bands);
        }
    }

    fn needs_utterance(&self) -> bool {
        self.range > 0.0 || self.whisper_scale
    }

    fn finish(&self, rows: &mut [f32]) {
        if self.needs_utterance() {
            dispatch(Finish { kind: self, rows });
        }
    }
}

impl LogMelKind {
    #[inline(always)]
    fn floored_ln<S: Simd>(&self, s: S, x: S::F32) -> S::F32 {
        let x = s.add(s.max(s.splat(self.floor), x), s.splat(self.log_guard));
        if self.floor + self.log_guard >= f32::MIN_POSITIVE { ln_of_large(s, x) } else { ln(s, x) }
    }
}

struct Finish<'a> {
    kind: &'a LogMelKind,
    rows: &'a mut [f32],
}

impl Kernel for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { kind, rows } = self;
        let mut least = s.splat(f32::NEG_INFINITY);
        if kind.range > 0.0 {
            // Two at a time, so that they don't all wait for the one before.
            let mut largest = [least; 2];
            let mut vectors = rows.chunks_exact(S::LANES);
            for (i, v) in vectors.by_ref().enumerate() {
                largest[i % 2] = s.max(s.load(v), largest[i % 2]);
            }
            let rest = s.load_partial(vectors.remainder(), least);
            let largest = s.max_lane(s.max(rest, s.max(largest[0], largest[1])));
            least = s.splat(largest - kind.range);
        }
        let finish = |x| {
            let x = s.max(least, x);
            if kind.whisper_scale { s.mul(s.add(x, s.splat(4.0)), s.splat(0.25)) } else { x }
        };
        let mut vectors = rows.chunks_exact_mut(S::LANES);
        for v in &mut vectors {
            s.store(finish(s.load(v)), v);
        }
        let rest = vectors.into_remainder();
        s.store_partial(finish(s.load_partial(rest, least)), rest);
    }
}
