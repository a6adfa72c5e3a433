//! `compute-fbank-feats`, `compute-mfcc-feats`, `compute-plp-feats` and
//! `compute-spectrogram-feats`: one program around four kinds of features.

use std::mem;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::feat::{
    Audio, Extractor, FbankKind, Kind, MelBanks, MelBanksOptions, MfccKind, PlpKind, SpectrogramKind, Workspace,
};
use kaldera::io::HtkMatrix;
use kaldera::io::table::{MappedReader, SequentialReader, TableWriter};
use kaldera::io::wave::WaveData;
use kaldera::matrix::Matrix;
use tracing::{info, trace, warn};

use crate::kaldi::Failure;
use crate::{Call, Tool, log};

pub(super) const FBANK: Tool =
    Tool { name: FbankKind::NAME, about: "Filterbank features of recordings", run: run::<FbankKind> };
pub(super) const MFCC: Tool = Tool { name: MfccKind::NAME, about: "MFCC features of recordings", run: run::<MfccKind> };
pub(super) const PLP: Tool = Tool { name: PlpKind::NAME, about: "PLP features of recordings", run: run::<PlpKind> };
pub(super) const SPECTROGRAM: Tool =
    Tool { name: SpectrogramKind::NAME, about: "Log power spectra of recordings", run: run::<SpectrogramKind> };

/// Properties of a kind of features that the program needs.
trait Program: Kind<Options: OptionSet> {
    const NAME: &'static str;
    const USAGE: &'static str;
    /// `true` if the kind has filters that VTLN can warp.
    const HAS_VTLN: bool = true;
    /// `true` if Kaldi's program refuses --utt2spk without --vtln-map, where it has no meaning.
    const UTT2SPK_NEEDS_MAP: bool = true;
    /// The defaults of Kaldi's program.
    fn defaults() -> Self::Options;
    /// Returns HTK's code for the kind, with the qualifier for the value in the place of C0.
    fn htk_kind(options: &Self::Options) -> u16;
    /// Returns the frame shift for HTK, in units of 100 ns. Most of Kaldi's programs write 10 ms
    /// for any shift.
    fn htk_sample_period(_options: &Self::Options) -> i32 {
        100_000
    }
    fn mel_options(options: &Self::Options) -> Option<&MelBanksOptions>;
}

/// The dither of Kaldi's programs.
const DITHER: f32 = 1.0;

/// Returns HTK's qualifier for features with energy, or with C0 instead.
const fn htk_qualifier(use_energy: bool) -> u16 {
    if use_energy { 0o100 } else { 0o20000 }
}

impl Program for FbankKind {
    const NAME: &'static str = "compute-fbank-feats";
    const USAGE: &'static str = "Computes filterbank (fbank) features of recordings.
Usage: compute-fbank-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-fbank-feats --num-mel-bins=80 scp:wav.scp ark,scp:fbank.ark,fbank.scp";
    const UTT2SPK_NEEDS_MAP: bool = false;

    fn defaults() -> Self::Options {
        Self::Options::default().with_dither(DITHER)
    }

    fn htk_kind(options: &Self::Options) -> u16 {
        0o7 | htk_qualifier(options.use_energy)
    }

    fn mel_options(options: &Self::Options) -> Option<&MelBanksOptions> {
        Some(&options.mel)
    }
}

impl Program for MfccKind {
    const NAME: &'static str = "compute-mfcc-feats";
    const USAGE: &'static str = "Computes MFCC features of recordings.
Usage: compute-mfcc-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-mfcc-feats --config=mfcc.conf scp:wav.scp ark,scp:mfcc.ark,mfcc.scp";

    fn defaults() -> Self::Options {
        Self::Options::default().with_dither(DITHER)
    }

    fn htk_kind(options: &Self::Options) -> u16 {
        0o6 | htk_qualifier(options.use_energy)
    }

    fn mel_options(options: &Self::Options) -> Option<&MelBanksOptions> {
        Some(&options.mel)
    }
}

impl Program for PlpKind {
    const NAME: &'static str = "compute-plp-feats";
    const USAGE: &'static str = "Computes PLP features of recordings.
Usage: compute-plp-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-plp-feats --num-ceps=13 scp:wav.scp ark,scp:plp.ark,plp.scp";

    /// Kaldi writes NaN for digital silence.
    fn defaults() -> Self::Options {
        Self::Options::default().with_dither(DITHER).with_autocorrelation_floor(0.0)
    }

    /// Kaldi writes C0 here even if the energy is in its place.
    fn htk_kind(_options: &Self::Options) -> u16 {
        0o13 | htk_qualifier(false)
    }

    fn mel_options(options: &Self::Options) -> Option<&MelBanksOptions> {
        Some(&options.mel)
    }
}

impl Program for SpectrogramKind {
    const NAME: &'static str = "compute-spectrogram-feats";
    const USAGE: &'static str = "Computes spectrograms of recordings.
Usage: compute-spectrogram-feats [options] <wav-rspecifier> <feats-wspecifier>
For example: compute-spectrogram-feats --window-type=hanning scp:wav.scp ark,scp:spectrogram.ark,spectrogram.scp";
    const HAS_VTLN: bool = false;

    fn defaults() -> Self::Options {
        Self::Options::default().with_dither(DITHER)
    }

    fn htk_kind(_options: &Self::Options) -> u16 {
        0o7 | htk_qualifier(false)
    }

    fn htk_sample_period(options: &Self::Options) -> i32 {
        (options.frame.frame_shift_ms * 10_000.0) as i32
    }

    fn mel_options(_options: &Self::Options) -> Option<&MelBanksOptions> {
        None
    }
}

fn run<P: Program>(call: Call<'_>) -> ExitCode {
    super::run(P::NAME, P::USAGE, call, Options::new(P::defaults(), P::HAS_VTLN), compute::<P>)
}

/// The options of the program, with the options of the features.
struct Options<F> {
    features: F,
    has_vtln: bool,
    output_format: String,
    subtract_mean: bool,
    vtln_warp: f32,
    vtln_map: String,
    utt2spk: String,
    channel: i32,
    min_duration: f32,
    write_utt2dur: String,
}

impl<F> Options<F> {
    fn new(features: F, has_vtln: bool) -> Self {
        Self {
            features,
            has_vtln,
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

impl<F: OptionSet> OptionSet for Options<F> {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.features.register(registry);
        registry.add("output-format", &mut self.output_format, "Output format: kaldi or htk");
        registry.add(
            "subtract-mean",
            &mut self.subtract_mean,
            "Subtract the mean of each dimension per utterance; CMVN per speaker is better",
        );
        if self.has_vtln {
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

impl<F> Options<F> {
    fn check(&self, utt2spk_needs_map: bool) -> Result<(), Failure> {
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
        if utt2spk_needs_map && !self.utt2spk.is_empty() && self.vtln_map.is_empty() {
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
fn compute<P: Program>(options: Options<P::Options>, [recordings, output]: [String; 2]) -> Result<bool, Failure> {
    options.check(P::UTT2SPK_NEEDS_MAP)?;
    let htk = (P::htk_sample_period(&options.features), P::htk_kind(&options.features));
    let extractor = Extractor::<P>::new(options.features.clone())?;
    if let Some(mel) = P::mel_options(&options.features).filter(|mel| mel.debug_mel) {
        log_mel_filters(mel, &extractor)?;
    }
    let mut warps = Warps::open(&options)?;
    let reader = SequentialReader::<WaveData>::open(&recordings)?;
    let mut writer = FeatureWriter::open(&options.output_format, &output, htk)?;
    let mut utt2dur = super::open_if_given::<f64>(&options.write_utt2dur)?;

    let (mut workspace, mut values) = (Workspace::default(), Vec::new());
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
fn log_mel_filters<P: Program>(options: &MelBanksOptions, extractor: &Extractor<P>) -> Result<(), Failure> {
    let banks = MelBanks::new(options, extractor.frame_options(), 1.0)?;
    for (i, (bin, hz)) in banks.bins().iter().zip(banks.center_freqs()).enumerate() {
        info!("mel filter {i} around {hz} Hz: weights {:?} from frequency {} on", bin.weights, bin.first);
    }
    Ok(())
}

/// Source of the warp factors.
struct Warps {
    /// The factor without a map.
    factor: f32,
    map: Option<MappedReader<f32>>,
}

impl Warps {
    fn open<F>(options: &Options<F>) -> Result<Self, Failure> {
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
