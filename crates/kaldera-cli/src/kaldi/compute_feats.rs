//! `compute-fbank-feats`, `compute-mfcc-feats`, `compute-plp-feats` and
//! `compute-spectrogram-feats`: one program around four kinds of features.

use std::mem;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{
    Audio, FbankOptions, FeatureOptions, FrontEnd, FrontEndOptions, FrontEndWorkspace, MelBanks, MelBanksOptions,
    MfccOptions, PlpOptions, SpectrogramOptions,
};
use kaldera::io::HtkMatrix;
use kaldera::io::table::{MappedReader, SequentialReader, TableWriter};
use kaldera::io::wave::WaveData;
use kaldera::matrix::Matrix;
use tracing::{info, trace, warn};

use crate::kaldi::Failure;
use crate::{Call, Tool, log};

pub(super) const FBANK: Tool =
    Tool { name: "compute-fbank-feats", about: "Filterbank features of recordings", run: fbank };
pub(super) const MFCC: Tool = Tool { name: "compute-mfcc-feats", about: "MFCC features of recordings", run: mfcc };
pub(super) const PLP: Tool = Tool { name: "compute-plp-feats", about: "PLP features of recordings", run: plp };
pub(super) const SPECTROGRAM: Tool =
    Tool { name: "compute-spectrogram-feats", about: "Log power spectra of recordings", run: spectrogram };

/// The dither of Kaldi's programs.
const DITHER: f32 = 1.0;

fn fbank(call: Call<'_>) -> ExitCode {
    const USAGE: &str = "Computes filterbank (fbank) features of recordings.
Usage: compute-fbank-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-fbank-feats --num-mel-bins=80 scp:wav.scp ark,scp:fbank.ark,fbank.scp";
    run(FBANK.name, USAGE, call, FeatureOptions::Fbank(FbankOptions::default().with_dither(DITHER)))
}

fn mfcc(call: Call<'_>) -> ExitCode {
    const USAGE: &str = "Computes MFCC features of recordings.
Usage: compute-mfcc-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-mfcc-feats --config=mfcc.conf scp:wav.scp ark,scp:mfcc.ark,mfcc.scp";
    run(MFCC.name, USAGE, call, FeatureOptions::Mfcc(MfccOptions::default().with_dither(DITHER)))
}

fn plp(call: Call<'_>) -> ExitCode {
    const USAGE: &str = "Computes PLP features of recordings.
Usage: compute-plp-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-plp-feats --num-ceps=13 scp:wav.scp ark,scp:plp.ark,plp.scp";
    // Kaldi writes NaN for digital silence.
    let options = PlpOptions::default().with_dither(DITHER).with_autocorrelation_floor(0.0);
    run(PLP.name, USAGE, call, FeatureOptions::Plp(options))
}

fn spectrogram(call: Call<'_>) -> ExitCode {
    const USAGE: &str = "Computes spectrograms of recordings.
Usage: compute-spectrogram-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-spectrogram-feats --window-type=hanning scp:wav.scp ark,scp:spectrogram.ark,spectrogram.scp";
    run(SPECTROGRAM.name, USAGE, call, FeatureOptions::Spectrogram(SpectrogramOptions::default().with_dither(DITHER)))
}

fn run(name: &'static str, usage: &'static str, call: Call<'_>, defaults: FeatureOptions) -> ExitCode {
    super::run(name, usage, call, Options::new(defaults), compute)
}

/// Returns HTK's code for the kind, with the qualifier for the value in the place of C0: energy, or
/// C0 itself.
fn htk_kind(options: &FeatureOptions) -> u16 {
    let (kind, use_energy) = match options {
        FeatureOptions::Fbank(own) => (0o7, own.use_energy),
        FeatureOptions::Mfcc(own) => (0o6, own.use_energy),
        // Kaldi writes C0 here even if the energy is in its place.
        FeatureOptions::Plp(_) => (0o13, false),
        _ => (0o7, false),
    };
    kind | if use_energy { 0o100 } else { 0o20000 }
}

/// Returns the frame shift for HTK, in units of 100 ns. Most of Kaldi's programs write 10 ms for
/// any shift.
fn htk_sample_period(options: &FeatureOptions) -> i32 {
    match options {
        FeatureOptions::Spectrogram(own) => (own.frame.frame_shift_ms * 10_000.0) as i32,
        _ => 100_000,
    }
}

/// Returns the options of the filters, which VTLN can warp.
fn mel_options(options: &FeatureOptions) -> Option<&MelBanksOptions> {
    match options {
        FeatureOptions::Fbank(FbankOptions { mel, .. })
        | FeatureOptions::Mfcc(MfccOptions { mel, .. })
        | FeatureOptions::Plp(PlpOptions { mel, .. }) => Some(mel),
        _ => None,
    }
}

/// The options of the program, with the options of the features.
struct Options {
    features: FeatureOptions,
    output_format: String,
    subtract_mean: bool,
    vtln_warp: f32,
    vtln_map: String,
    utt2spk: String,
    channel: i32,
    min_duration: f32,
    write_utt2dur: String,
}

impl Options {
    fn new(features: FeatureOptions) -> Self {
        Self {
            features,
            output_format: "kaldi".to_owned(),
            subtract_mean: false,
            vtln_warp: 1.0,
            vtln_map: String::new(),
            utt2spk: String::new(),
            channel: -1,
            min_duration: 0.0,
            write_utt2dur: String::new(),
        }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        let has_vtln = mel_options(&self.features).is_some();
        self.features.register(registry);
        registry.add("output-format", &mut self.output_format, "Output format: kaldi or htk");
        registry.add(
            "subtract-mean",
            &mut self.subtract_mean,
            "Subtract the mean of each dimension per utterance; CMVN per speaker is better",
        );
        if has_vtln {
            registry.add(
                "vtln-warp",
                &mut self.vtln_warp,
                "VTLN warp factor of all utterances, unless --vtln-map is given",
            );
            registry.add(
                "vtln-map",
                &mut self.vtln_map,
                "VTLN warp factor of each utterance, or of each speaker with --utt2spk (rspecifier)",
            );
            registry.add(
                "utt2spk",
                &mut self.utt2spk,
                "Speaker of each utterance, for a --vtln-map by speaker (rspecifier)",
            );
        }
        registry.add(
            "channel",
            &mut self.channel,
            "Channel to use, from 0; -1 for the first, with a warning if there are several",
        );
        registry.add("min-duration", &mut self.min_duration, "Skip shorter recordings (seconds)");
        registry.add(
            "write-utt2dur",
            &mut self.write_utt2dur,
            "Output of the duration of each utterance in seconds, such as ark,t:utt2dur (wspecifier)",
        );
    }
}

impl Options {
    fn check(&self) -> Result<(), Failure> {
        let wrong = |name, value: &dyn ToString, expected| Failure::Option { name, value: value.to_string(), expected };
        if !(self.vtln_warp > 0.0 && self.vtln_warp.is_finite()) {
            return Err(wrong("vtln-warp", &self.vtln_warp, "a number above 0, such as 1"));
        }
        if self.min_duration.is_nan() {
            return Err(wrong("min-duration", &self.min_duration, "a number of seconds"));
        }
        if self.channel < -1 {
            return Err(wrong("channel", &self.channel, "-1, or a channel counted from 0"));
        }
        // `compute-fbank-feats` accepts `--utt2spk` without `--vtln-map`, and ignores it.
        let needs_map = !matches!(self.features, FeatureOptions::Fbank(_));
        if needs_map && !self.utt2spk.is_empty() && self.vtln_map.is_empty() {
            return Err(Failure::Alone { name: "utt2spk", needs: "vtln-map" });
        }
        Ok(())
    }

    /// Returns the channel of a recording to use, if the recording has it.
    fn channel_of(&self, key: &str, wave: &WaveData) -> Option<usize> {
        let found = wave.num_channels;
        match usize::try_from(self.channel) {
            Err(_) => {
                if found != 1 {
                    warn!("{key} has {found} channels and no --channel was given: taking channel 0");
                }
                Some(0)
            }
            Ok(channel) if channel < found => Some(channel),
            Ok(channel) => {
                warn!("leaving out {key}: --channel={channel} is wanted, and it has {found} channels");
                None
            }
        }
    }
}

/// Reads recordings and writes their features. Memory does not grow with the number of recordings.
fn compute(options: Options, [recordings, output]: [String; 2]) -> Result<bool, Failure> {
    options.check()?;
    let features = &options.features;
    let extractor = FrontEnd::new(FrontEndOptions::from_features(features.clone()))?;
    if let (Some(mel), Some(frame)) = (mel_options(features), features.frame_options())
        && mel.debug_mel
    {
        log_mel_filters(&MelBanks::new(mel, frame, 1.0)?);
    }
    let mut warps = Warps::open(&options)?;
    let reader = SequentialReader::<WaveData>::open(&recordings)?;
    let mut writer =
        FeatureWriter::open(&options.output_format, &output, (htk_sample_period(features), htk_kind(features)))?;
    let mut utt2dur = super::open_if_given::<f64>(&options.write_utt2dur)?;

    let (mut workspace, mut values) = (FrontEndWorkspace::default(), Vec::new());
    let (mut found, mut done) = (0_u64, 0_u64);
    for entry in reader {
        let (key, wave) = entry?;
        found += 1;
        let duration = wave.duration();
        if duration < options.min_duration {
            warn!("leaving out {key}: its {duration} s are below --min-duration={}", options.min_duration);
            continue;
        }
        let Some(channel) = options.channel_of(&key, &wave) else { continue };
        let Some(warp) = warps.get(&key)? else { continue };
        let samples = wave.channel(channel);
        let audio = Audio::new(&samples, wave.samp_freq).with_key(&key).with_vtln_warp(warp);
        let rows = match extractor.compute_into(&mut workspace, &audio, &mut values) {
            Ok(rows) => rows,
            Err(error) => {
                warn!("leaving out {key}: {}", log::one_line(&error));
                continue;
            }
        };
        // Kaldi's matrix without rows has no columns either.
        let cols = if rows == 0 { 0 } else { extractor.dim() };
        let mut features = Matrix::from_vec(rows, cols, mem::take(&mut values))?;
        if options.subtract_mean {
            kaldera::pipeline::subtract_mean(&mut features)?;
        }
        values = writer.write(&key, features)?.into_vec();
        if let Some(writer) = &mut utt2dur {
            writer.write(&key, &f64::from(duration))?;
        }
        if found % 10 == 0 {
            info!("{found} utterances so far");
        }
        trace!("features of {key} are written");
        done += 1;
    }
    writer.close()?;
    super::close_if_given(utt2dur)?;
    info!("features of {done} of {found} utterances written");
    Ok(done > 0)
}

/// Logs the mel filters for `--debug-mel`. Kaldi also prints the energies of each frame, which
/// `compute-fbank-feats` can write instead.
fn log_mel_filters(banks: &MelBanks) {
    for (i, (bin, hz)) in banks.bins().iter().zip(banks.center_freqs()).enumerate() {
        info!("mel filter {i} around {hz} Hz: weights {:?} from frequency {} on", bin.weights, bin.first);
    }
}

/// Source of the warp factors.
struct Warps {
    /// The factor without a map.
    factor: f32,
    map: Option<MappedReader<f32>>,
}

impl Warps {
    fn open(options: &Options) -> Result<Self, Failure> {
        let Options { vtln_map, utt2spk, .. } = options;
        let map = if vtln_map.is_empty() { None } else { Some(MappedReader::open(vtln_map, utt2spk)?) };
        Ok(Self { factor: options.vtln_warp, map })
    }

    fn get(&mut self, key: &str) -> Result<Option<f32>, Failure> {
        let Some(map) = &mut self.map else { return Ok(Some(self.factor)) };
        if !map.has_key(key)? {
            warn!("leaving out {key}: no warp factor for it, or for its speaker, in --vtln-map");
            return Ok(None);
        }
        Ok(Some(*map.value(key)?))
    }
}

/// Writer of one of the two output formats.
enum FeatureWriter {
    Kaldi(TableWriter<Matrix<f32>>),
    Htk { writer: TableWriter<HtkMatrix>, sample_period: i32, kind: u16 },
}

impl FeatureWriter {
    /// Opens the output; `htk` is the sample period and the kind for HTK's header.
    fn open(format: &str, wspecifier: &str, htk: (i32, u16)) -> Result<Self, Failure> {
        match format {
            "kaldi" => Ok(Self::Kaldi(TableWriter::open(wspecifier)?)),
            "htk" => {
                let (sample_period, kind) = htk;
                Ok(Self::Htk { writer: TableWriter::open(wspecifier)?, sample_period, kind })
            }
            _ => Err(Failure::Option { name: "output-format", value: format.to_owned(), expected: "kaldi or htk" }),
        }
    }

    /// Writes `features` and returns them, so that their memory can be reused.
    fn write(&mut self, key: &str, features: Matrix<f32>) -> Result<Matrix<f32>, Failure> {
        match self {
            Self::Kaldi(writer) => {
                writer.write(key, &features)?;
                Ok(features)
            }
            Self::Htk { writer, sample_period, kind } => {
                let matrix = HtkMatrix { values: features, sample_period: *sample_period, sample_kind: *kind };
                writer.write(key, &matrix)?;
                Ok(matrix.values)
            }
        }
    }

    fn close(self) -> Result<(), Failure> {
        match self {
            Self::Kaldi(writer) => writer.close()?,
            Self::Htk { writer, .. } => writer.close()?,
        }
        Ok(())
    }
}
