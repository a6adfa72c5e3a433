//! The features of a model, by the names of Kaldi's options.

mod normalize;
mod resampled;
mod samples;

use std::fmt;
use std::sync::Arc;

use kaldi_feat::options::{OptionSet, OptionValue, Registry};
use kaldi_feat::{
    Audio, Extractor, Fbank, FbankOptions, FeatureStream, Kind, LogMel, LogMelOptions, Mfcc, MfccOptions, Plp,
    PlpOptions, Spectrogram, SpectrogramOptions, Workspace,
};
use toml::{Table, Value};

use crate::Error;
use crate::recognizer::front_end::normalize::Normalize;
use crate::recognizer::front_end::resampled::{Allowed, Resampled};
use crate::recognizer::front_end::samples::{Emphasized, SampleOptions, SampleRows};

/// What turns samples into rows of the network's input.
#[derive(Debug)]
pub(super) struct FrontEnd {
    /// None where the network looks at names alone.
    features: Option<Box<dyn Features>>,
    /// What the rows of an utterance become in the end.
    normalize: Normalize,
}

/// An extractor of any kind. All but [`Resampled`] take audio of their own rate.
trait Features: fmt::Debug + Send + Sync {
    fn dim(&self) -> usize;
    fn samp_freq(&self) -> f32;
    /// Seconds from one row to the next, which are whole samples.
    fn frame_shift(&self) -> f64;
    /// Appends the rows of an utterance, and says how many they are.
    fn append_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, kaldi_feat::Error>;
    fn stream(&self, key: &str, samp_freq: f32) -> Result<Box<dyn FrontEndStream>, kaldi_feat::Error>;
}

/// The features of an utterance whose samples come in chunks.
pub(super) trait FrontEndStream: fmt::Debug + Send {
    /// Takes more samples, on the scale of 16-bit integers, and appends the rows that are ready.
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error>;
    /// Appends the last rows.
    fn finish(&mut self, rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error>;
}

impl<K: Kind> Features for Arc<Extractor<K>> {
    fn dim(&self) -> usize {
        Extractor::dim(self)
    }

    fn samp_freq(&self) -> f32 {
        self.frame_options().samp_freq
    }

    fn frame_shift(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a frame has fewer than 2^53 samples")]
        let samples = self.frame_shift_samples() as f64;
        samples / f64::from(Features::samp_freq(self))
    }

    fn append_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, kaldi_feat::Error> {
        if audio.samples.is_empty() {
            return Ok(0);
        }
        let mut own = vec![];
        let count = self.compute_into(&mut Workspace::default(), audio, &mut own)?;
        rows.append(&mut own);
        Ok(count)
    }

    fn stream(&self, key: &str, samp_freq: f32) -> Result<Box<dyn FrontEndStream>, kaldi_feat::Error> {
        Ok(Box::new(FeatureStream::new(Arc::clone(self)).with_key(key).with_sample_rate(samp_freq)?))
    }
}

impl<K: Kind> FrontEndStream for FeatureStream<K> {
    fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        self.accept_waveform(samples)?;
        self.take_rows(rows);
        Ok(())
    }

    fn finish(&mut self, rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        self.input_finished();
        self.take_rows(rows);
        Ok(())
    }
}

impl FrontEnd {
    /// No features: the network looks at names alone.
    pub(super) fn none() -> Self {
        Self { features: None, normalize: Normalize::None }
    }

    /// The features of a table: `kind`, and Kaldi's options of that kind. `refuse` makes an error
    /// of a key of the table and what is wrong with it.
    pub(super) fn from_table(table: &Table, refuse: &dyn Fn(&str, String) -> Error) -> Result<Self, Error> {
        const KINDS: &str = "fbank, mfcc, plp, spectrogram, log-mel or samples";
        let kind = match table.get("kind") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(other) => return Err(refuse("kind", format!("{other} is not {KINDS}"))),
            None => return Err(refuse("kind", format!("it is missing: {KINDS}"))),
        };
        let (mut table, normalize) = normalize::take(table, refuse)?;
        let preemphasis = take_preemphasis(&mut table, refuse)?;
        let table = &table;
        let mut allowed = Allowed { down: true, up: true };
        macro_rules! of_kaldi {
            ($options:ty, $kind:ty) => {{
                let mut options = <$options>::default();
                // Noise would make every run another one, unless it is asked for.
                options.frame.dither = 0.0;
                options.frame.allow_downsample = true;
                options.frame.allow_upsample = true;
                set_options(&mut options, table, refuse)?;
                allowed = Allowed { down: options.frame.allow_downsample, up: options.frame.allow_upsample };
                Box::new(Arc::new(<$kind>::new(options)?)) as Box<dyn Features>
            }};
        }
        let features = match kind {
            "fbank" => of_kaldi!(FbankOptions, Fbank),
            "mfcc" => of_kaldi!(MfccOptions, Mfcc),
            "plp" => of_kaldi!(PlpOptions, Plp),
            "spectrogram" => of_kaldi!(SpectrogramOptions, Spectrogram),
            "log-mel" => {
                let mut options = LogMelOptions::default().with_allow_downsample(true).with_allow_upsample(true);
                set_options(&mut options, table, refuse)?;
                allowed = Allowed { down: options.allow_downsample, up: options.allow_upsample };
                Box::new(Arc::new(LogMel::new(options)?))
            }
            "samples" => {
                let mut options = SampleOptions::default();
                set_options(&mut options, table, refuse)?;
                Box::new(SampleRows::new(&options).map_err(|reason| refuse("sample-frequency", reason))?)
            }
            other => return Err(refuse("kind", format!("'{other}' is not {KINDS}"))),
        };
        let features = match preemphasis {
            Some(coefficient) => Box::new(Emphasized::new(features, coefficient)),
            None => features,
        };
        Ok(Self { features: Some(Box::new(Resampled::new(features, allowed))), normalize })
    }

    /// Values of a row.
    pub(super) fn dim(&self) -> usize {
        self.features.as_ref().map_or(0, |features| features.dim())
    }

    pub(super) fn samp_freq(&self) -> Option<f32> {
        self.features.as_ref().map(|features| features.samp_freq())
    }

    /// Seconds of a sample; 0 without features.
    pub(super) fn sample_seconds(&self) -> f64 {
        self.samp_freq().map_or(0.0, |samp_freq| 1.0 / f64::from(samp_freq))
    }

    pub(super) fn frame_shift(&self) -> Option<f64> {
        self.features.as_ref().map(|features| features.frame_shift())
    }

    /// Appends the rows of an utterance, and says how many they are.
    pub(super) fn append_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, Error> {
        let Some(features) = &self.features else { return Ok(0) };
        let begin = rows.len();
        let count = features.append_rows(audio, rows)?;
        self.normalize_utterance(&mut rows[begin..]);
        Ok(count)
    }

    /// Whether each row depends on all rows of its utterance.
    pub(super) fn needs_utterance(&self) -> bool {
        self.normalize != Normalize::None
    }

    /// What is done with all rows of an utterance, which a [`stream`](Self::stream) leaves to its caller.
    pub(super) fn normalize_utterance(&self, rows: &mut [f32]) {
        self.normalize.apply(rows, self.dim());
    }

    /// A stream; none without features. Its rows are not normalised over the utterance.
    pub(super) fn stream(&self, key: &str, samp_freq: f32) -> Result<Option<Box<dyn FrontEndStream>>, Error> {
        Ok(self.features.as_ref().map(|features| features.stream(key, samp_freq)).transpose()?)
    }
}

/// Takes the key `preemphasis` out of a table, which may lack it.
fn take_preemphasis(table: &mut Table, refuse: &dyn Fn(&str, String) -> Error) -> Result<Option<f32>, Error> {
    let Some(found) = table.remove("preemphasis") else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "samples are of single precision")]
    let coefficient = match found {
        Value::Float(coefficient) => coefficient as f32,
        Value::Integer(coefficient) => coefficient as f32,
        _ => f32::NAN,
    };
    match (0.0..=1.0).contains(&coefficient) {
        true => Ok(Some(coefficient)),
        false => Err(refuse("preemphasis", format!("{found} is not a number from 0 to 1"))),
    }
}

/// Sets options to the values of a table, of which all but `kind` must be options; what all
/// kinds have is no longer in it.
fn set_options(
    options: &mut impl OptionSet,
    table: &Table,
    refuse: &dyn Fn(&str, String) -> Error,
) -> Result<(), Error> {
    let mut setter = Setter { table, known: vec!["kind", "normalize", "preemphasis"], wrong: None };
    options.register(&mut setter);
    let Setter { known, wrong, .. } = setter;
    if let Some((key, problem)) = wrong {
        return Err(refuse(key, problem));
    }
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(refuse(unknown, format!("there is no such option; there are {}", known.join(", ")))),
    }
}

/// Takes values from a table instead of a command line.
struct Setter<'t> {
    table: &'t Table,
    known: Vec<&'static str>,
    wrong: Option<(&'static str, String)>,
}

impl<'a> Registry<'a> for Setter<'_> {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, _doc: &'static str) {
        self.known.push(name);
        let text = match self.table.get(name) {
            None => return,
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        if let Err(error) = value.set(&text) {
            self.wrong.get_or_insert((name, error.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front_end(table: &str) -> FrontEnd {
        let refuse = |key: &str, reason| Error::ModelFile { path: key.into(), reason };
        FrontEnd::from_table(&table.parse().unwrap(), &refuse).unwrap()
    }

    #[test]
    fn every_kind_resamples() {
        for kind in ["fbank", "mfcc", "plp", "spectrogram", "log-mel", "samples"] {
            let front_end = front_end(&format!("kind = '{kind}'"));
            for samp_freq in [8000.0, 44_100.0, 44_101.0] {
                let mut rows = vec![];
                let count = front_end.append_rows(&Audio::new(&[100.0_f32; 9000][..], samp_freq), &mut rows).unwrap();
                assert!(count > 10 && rows.len() == count * front_end.dim(), "{kind} {samp_freq}");
            }
        }
    }

    #[test]
    fn rates_are_refused_where_the_options_do_not_allow_them() {
        let front_end = front_end("kind = 'fbank'\nallow-downsample = false");
        let rows = |samp_freq| front_end.append_rows(&Audio::new(&[100.0_f32; 9000][..], samp_freq), &mut vec![]);
        assert!(rows(8000.0).is_ok() && rows(16_000.0).is_ok());
        let error = rows(44_100.0).unwrap_err().to_string();
        assert!(error.contains("44100") && error.contains("allow_downsample"), "{error}");
        assert!(front_end.stream("a", 44_100.0).is_err());
    }

    #[test]
    fn frames_advance_by_whole_samples() {
        let shift = front_end("kind = 'fbank'\nsample-frequency = 22050").frame_shift();
        assert_eq!(shift, Some(220.0 / 22_050.0));
        assert_eq!(front_end("kind = 'log-mel'").frame_shift(), Some(0.01));
        assert_eq!(front_end("kind = 'samples'\nsample-frequency = 8000").frame_shift(), Some(0.000_125));
    }

    #[test]
    fn streams_of_samples_give_what_the_whole_gives() {
        let samples: Vec<f32> = (0_u32..9001).map(|i| (i * 31 % 2000) as f32 - 1000.0).collect();
        for (samp_freq, kind, normalize) in [
            (16_000.0, "samples", "none"),
            (44_100.0, "samples", "none"),
            (8000.0, "samples", "samples"),
            (44_100.0, "fbank", "per_feature"),
        ] {
            let front_end = front_end(&format!("kind = '{kind}'\nnormalize = '{normalize}'\npreemphasis = 0.97"));
            let mut whole = vec![];
            front_end.append_rows(&Audio::new(&samples, samp_freq), &mut whole).unwrap();
            let mut stream = front_end.stream("a", samp_freq).unwrap().unwrap();
            let mut rows = vec![];
            for chunk in samples.chunks(777) {
                stream.accept(chunk, &mut rows).unwrap();
            }
            stream.finish(&mut rows).unwrap();
            front_end.normalize_utterance(&mut rows);
            assert_eq!(rows, whole, "{samp_freq} {kind}");
            assert_eq!(front_end.needs_utterance(), normalize != "none");
        }
    }

    #[test]
    fn preemphasis_leaves_the_first_sample() {
        let mut rows = vec![];
        let emphasized = front_end("kind = 'samples'\npreemphasis = 0.5");
        emphasized.append_rows(&Audio::new(&[32_768.0_f32, 16_384.0, -32_768.0], 16_000.0), &mut rows).unwrap();
        assert_eq!(rows, [1.0, 0.0, -1.25]);
        rows.clear();
        let emphasized = front_end("kind = 'samples'\npreemphasis = 1");
        emphasized.append_rows(&Audio::new(&[32_768.0_f32, 16_384.0], 16_000.0), &mut rows).unwrap();
        assert_eq!(rows, [1.0, -0.5]);
    }

    #[test]
    fn wrong_options_are_told_with_what_there_is() {
        let refused = |line: &str| {
            let refuse = |key: &str, reason| Error::ModelFile { path: key.into(), reason };
            let table = format!("kind = 'fbank'\n{line}").parse().unwrap();
            FrontEnd::from_table(&table, &refuse).unwrap_err().to_string()
        };
        let unknown = refused("pre-emphasis = 0.97");
        assert!(unknown.contains("normalize, preemphasis, ") && unknown.contains("num-mel-bins"), "{unknown}");
        for line in ["preemphasis = 2", "preemphasis = '0.97'", "preemphasis = nan"] {
            assert!(refused(line).contains("is not a number from 0 to 1"), "{line}");
        }
    }
}
