//! Options under the names of the toolkits that have them as defaults.

use crate::kinds::fbank::FbankOptions;
use crate::kinds::log_mel::LogMelOptions;
use crate::kinds::mfcc::MfccOptions;
use crate::options::{OptionError, OptionValue};
use crate::spectrum::window::FrameExtractionOptions;

/// Whose features to make.
///
/// | | kaldi | torchaudio | lhotse | whisper | librosa |
/// |---|---|---|---|---|---|
/// | a full-scale sample is | 32768 | 1 | 1 | 1 | 1 |
/// | dither | 1 (seeded here) | 0 | 0 | none | none |
/// | window | Povey, 25 ms | Povey, 25 ms | Povey, 25 ms | Hann, periodic, 400 samples | Hann, periodic, 2048 samples |
/// | from frame to frame | 10 ms | 10 ms | 10 ms | 160 samples | 512 samples |
/// | preemphasis, mean of the frame | 0.97, taken away | 0.97, taken away | 0.97, taken away | none | none |
/// | ends of the signal | only whole frames | only whole frames | mirrored | mirrored around the last sample, frames centred | silence, frames centred |
/// | mel filters | 23, 20 Hz to half the rate | 23, 20 Hz to half the rate | 80 (MFCC: 23), 20 Hz to 400 below half the rate | 80 or 128, Slaney's, area 1 | 128, Slaney's, area 1 |
/// | logarithm | ln | ln | ln | log10 | decibels |
/// | least energy in a filter | 1.19e-7 | 1.19e-7 | 1.19e-7 | 1e-10 | 1e-10 |
/// | then | | | | at most 8 below the largest, (x + 4) / 4 | at most 80 below the largest |
/// | energy floor (`use_energy`) | 0 | 1 | 1e-10 | | |
///
/// ```
/// use kaldi_feat::{FbankOptions, Preset};
///
/// let lhotse = FbankOptions::preset(Preset::Lhotse).expect("lhotse has filterbanks");
/// assert_eq!((lhotse.mel.num_bins, lhotse.frame.full_scale), (80, 1.0));
/// println!("{}", Preset::Lhotse.differences());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Preset {
    /// Kaldi's programs and classes. The default of all options.
    #[default]
    Kaldi,
    /// `torchaudio.compliance.kaldi`, given samples in [-1, 1] as `torchaudio.load` gives them.
    Torchaudio,
    /// `lhotse.Fbank` and `lhotse.Mfcc`.
    Lhotse,
    /// `whisper.log_mel_spectrogram`.
    Whisper,
    /// `librosa.power_to_db(librosa.feature.melspectrogram(y))`.
    Librosa,
}

impl Preset {
    /// All there are.
    pub const ALL: [Self; 5] = [Self::Kaldi, Self::Torchaudio, Self::Lhotse, Self::Whisper, Self::Librosa];

    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kaldi => "kaldi",
            Self::Torchaudio => "torchaudio",
            Self::Lhotse => "lhotse",
            Self::Whisper => "whisper",
            Self::Librosa => "librosa",
        }
    }

    /// What differs from Kaldi's defaults, in words.
    pub fn differences(self) -> &'static str {
        match self {
            Self::Kaldi => "none: samples count as 16-bit integers, dither 1, Povey's window, only whole frames",
            Self::Torchaudio => {
                "samples count as numbers from -1 to 1 (so values are lower by 20.8 and meet the floor sooner), no dither, \
                 energy floor 1"
            }
            Self::Lhotse => {
                "samples count as numbers from -1 to 1, no dither, ends mirrored so that frames depend on the shift alone, filters \
                 up to 400 Hz below half the sample rate, 80 of them (MFCC: 23) with C0 rather than energy, energy floor 1e-10"
            }
            Self::Whisper => {
                "another transform altogether: samples from -1 to 1, centred frames of 400 samples under a periodic Hann window, \
                 no dither, no preemphasis, Slaney's filters, log10, at most 8 below the largest value, (x + 4) / 4"
            }
            Self::Librosa => {
                "another transform altogether: samples from -1 to 1, centred frames of 2048 samples every 512 under a periodic \
                 Hann window, no dither, no preemphasis, 128 of Slaney's filters, decibels, at most 80 below the largest value"
            }
        }
    }

    /// What is the same for the filterbanks and the MFCCs of a toolkit after Kaldi; none for
    /// another transform.
    fn frame_options(self) -> Option<FrameExtractionOptions> {
        let kaldi = FrameExtractionOptions::default();
        match self {
            Self::Kaldi => Some(kaldi),
            Self::Torchaudio => Some(FrameExtractionOptions { dither: 0.0, full_scale: 1.0, ..kaldi }),
            Self::Lhotse => Some(FrameExtractionOptions { dither: 0.0, full_scale: 1.0, snip_edges: false, ..kaldi }),
            Self::Whisper | Self::Librosa => None,
        }
    }

    fn energy_floor(self) -> f32 {
        match self {
            Self::Torchaudio => 1.0,
            Self::Lhotse => 1e-10,
            _ => 0.0,
        }
    }
}

impl OptionValue for Preset {
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == text);
        *self = found.ok_or_else(|| OptionError::new(text, "one of kaldi, torchaudio, lhotse, whisper, librosa"))?;
        Ok(())
    }
    fn show(&self) -> String {
        self.name().to_owned()
    }
    fn type_name(&self) -> &'static str {
        "string"
    }
}

impl FbankOptions {
    /// The defaults of a toolkit; none if its filterbanks are [`LogMelOptions`].
    pub fn preset(preset: Preset) -> Option<Self> {
        let frame = preset.frame_options()?;
        let mut options = Self { frame, energy_floor: preset.energy_floor(), ..Self::default() };
        if preset == Preset::Lhotse {
            options.mel.num_bins = 80;
            options.mel.high_freq = -400.0;
        }
        Some(options)
    }
}

impl MfccOptions {
    /// The defaults of a toolkit; none if they are not Kaldi's kind of MFCCs.
    pub fn preset(preset: Preset) -> Option<Self> {
        let frame = preset.frame_options()?;
        let mut options = Self { frame, energy_floor: preset.energy_floor(), ..Self::default() };
        if preset != Preset::Kaldi {
            options.use_energy = false;
        }
        if preset == Preset::Lhotse {
            options.mel.high_freq = -400.0;
        }
        Some(options)
    }
}

impl LogMelOptions {
    /// The defaults of a toolkit, for audio of 16 kHz; none if its filterbanks are
    /// [`FbankOptions`].
    pub fn preset(preset: Preset) -> Option<Self> {
        match preset {
            Preset::Whisper => Some(Self::whisper(80)),
            Preset::Librosa => Some(Self::librosa(16000.0)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Audio, Fbank};

    #[test]
    fn each_has_one_kind_of_filterbank_and_says_what_differs() {
        for preset in Preset::ALL {
            assert_ne!(FbankOptions::preset(preset).is_some(), LogMelOptions::preset(preset).is_some());
            assert!(!preset.differences().is_empty());
            let mut read = Preset::default();
            read.set(preset.name()).unwrap();
            assert_eq!(read, preset);
        }
        assert!(Preset::Kaldi.set("matlab").is_err());
        assert_eq!(FbankOptions::preset(Preset::Kaldi), Some(FbankOptions::default()));
    }

    #[test]
    fn the_scale_moves_logarithms_by_a_constant() {
        let rows = |full_scale| {
            let mut options = FbankOptions { use_energy: true, ..Default::default() };
            options.frame.dither = 0.0;
            options.frame.full_scale = full_scale;
            let samples: Vec<i16> = (0..2000).map(|i| ((i * i * 7) % 20011) as i16).collect();
            Fbank::new(options).unwrap().compute(&Audio::new(&samples, 16000.0)).unwrap()
        };
        for (large, small) in rows(32768.0).data().iter().zip(rows(1.0).data()) {
            assert!((large - small - 30.0 * std::f32::consts::LN_2).abs() < 1e-4, "{large} {small}");
        }
    }
}
