//! The features of a model, under the names of Kaldi's options.

use std::path::Path;
use std::sync::Arc;

use kaldera_audio::OneChannel;
use kaldi_feat::options::{OptionSet, OptionValue, Registry};
use kaldi_feat::{
    Audio, FeatureKind, FeatureOptions, FrontEndOptions, FrontEndWorkspace, GlobalCmvn, PolyphaseResample,
    PolyphaseStream, Preset, Resamplers, Samples,
};
use toml::{Table, Value};

use crate::Error;
use crate::recognizer::digital_silence::DigitalSilence;
use crate::similar::did_you_mean;

/// The front end, which makes rows of the network's input.
#[derive(Debug)]
pub(super) struct ModelFrontEnd {
    /// The front end for audio of its own rate.
    front_end: kaldi_feat::FrontEnd,
    resamplers: Resamplers,
}

/// The features of an utterance whose samples come in chunks.
#[derive(Debug)]
pub(super) struct FrontEndStream {
    resampling: Option<PolyphaseStream>,
    /// The last samples, at the features' rate.
    own: Vec<f32>,
    silence: DigitalSilence,
    rows: kaldi_feat::FrontEndStream,
}

impl FrontEndStream {
    /// Takes more samples, which are finite, on the scale of 16-bit integers, and appends the rows
    /// that are ready.
    pub(super) fn accept(&mut self, samples: &[f32], rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        self.own.clear();
        match &mut self.resampling {
            None => self.own.extend_from_slice(samples),
            Some(stream) => stream.accept(samples, &mut self.own),
        }
        self.accept_own()?;
        self.rows.take_rows(rows);
        Ok(())
    }

    /// Makes rows of the last samples.
    fn accept_own(&mut self) -> Result<(), kaldi_feat::Error> {
        let found = self.silence.find(self.own.iter().copied());
        self.silence.fill(&mut self.own, &found);
        self.rows.accept(&self.own)
    }

    /// Appends the last rows.
    pub(super) fn finish(&mut self, rows: &mut Vec<f32>) -> Result<(), kaldi_feat::Error> {
        if let Some(stream) = &mut self.resampling {
            self.own.clear();
            stream.finish(&mut self.own);
            self.accept_own()?;
        }
        self.rows.finish();
        self.rows.take_rows(rows);
        Ok(())
    }
}

/// Maximum number of samples and rows of silence.
#[cfg(feature = "onnx")]
const MAX_SILENCE: f64 = 1e6;

/// Rounding error of a quotient of times, which may be a little more than a whole number.
#[cfg(feature = "onnx")]
const ROUNDING: f64 = 1e-6;

/// Keys of the table `features` that are no options.
const KEYS: [&str; 3] = ["kind", "preset", "cmvn"];

impl From<kaldi_feat::FrontEnd> for ModelFrontEnd {
    fn from(front_end: kaldi_feat::FrontEnd) -> Self {
        Self { resamplers: Resamplers::new(front_end.samp_freq()), front_end }
    }
}

impl ModelFrontEnd {
    /// Reads the features of a table: `kind`, `preset` or both, `cmvn` (a file as FunASR's
    /// `am.mvn`), and options of the kind and of the front end. `refuse` makes an error of a key of
    /// the table and the problem. `read` returns the text of a file of the model, for a key.
    pub(super) fn from_table(
        table: &Table,
        refuse: &dyn Fn(&str, String) -> Error,
        read: &dyn Fn(&str, &Path) -> Result<String, Error>,
    ) -> Result<Self, Error> {
        let kind: Option<FeatureKind> = value_of(table, "kind", refuse)?;
        let preset: Option<Preset> = value_of(table, "preset", refuse)?;
        let mut options = match (preset, kind) {
            (None, None) => {
                let kinds = FeatureKind::ALL.map(FeatureKind::name).join(", ");
                return Err(refuse("kind", format!("it is missing: one of {kinds}; or a preset")));
            }
            (None, Some(kind)) => FrontEndOptions::from_features(FeatureOptions::for_kind(kind)),
            (Some(preset), None) => preset.front_end(),
            (Some(preset), Some(kind)) => preset.front_end_of(kind).ok_or_else(|| {
                let kinds: Vec<&str> = preset.kinds().iter().map(|kind| kind.name()).collect();
                let (kinds, name) = (kinds.join(", "), preset.name());
                refuse("kind", format!("there is no {} of {name}, which has {kinds}", kind.name()))
            })?,
        };
        options.features.set_allow_resampling(true);
        set_options(&mut options, table, refuse)?;
        let front_end = kaldi_feat::FrontEnd::new(options)?;
        let Some(file) = table.get("cmvn") else { return Ok(front_end.into()) };
        let file = file.as_str().ok_or_else(|| refuse("cmvn", format!("{file} is not the name of a file")))?;
        let cmvn = GlobalCmvn::from_text(&read("features.cmvn", Path::new(file))?);
        let with_cmvn = cmvn.and_then(|cmvn| front_end.with_cmvn(cmvn));
        with_cmvn.map(Self::from).map_err(|error| refuse("cmvn", format!("{file}: {error}")))
    }

    /// Returns the number of values of a row.
    pub(super) fn dim(&self) -> usize {
        self.front_end.dim()
    }

    pub(super) fn samp_freq(&self) -> f32 {
        self.front_end.samp_freq()
    }

    /// Returns the seconds from one row to the next, which are whole samples.
    pub(super) fn frame_shift(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "rows are fewer than 2^53 samples apart")]
        let samples = self.front_end.shift_samples() as f64;
        samples / f64::from(self.samp_freq())
    }

    /// Returns the resampler to the features' rate; `None` for samples of that rate.
    fn resampler(&self, found: f32) -> Result<Option<Arc<PolyphaseResample>>, kaldi_feat::Error> {
        match self.front_end.options().features.must_resample(found)? {
            true => self.resamplers.get(found),
            false => Ok(None),
        }
    }

    /// Appends the rows of audio of the features' rate, and returns their number.
    fn append_own_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, kaldi_feat::Error> {
        let mut own = vec![];
        let count = self.front_end.compute_into(&mut FrontEndWorkspace::default(), audio, &mut own)?;
        rows.append(&mut own);
        Ok(count)
    }

    /// Appends the rows of an utterance, and returns their number.
    pub(super) fn append_rows(&self, audio: &Audio<'_>, rows: &mut Vec<f32>) -> Result<usize, Error> {
        if audio.samples.is_empty() {
            return Ok(0);
        }
        let mut audio = *audio;
        let mut own = vec![];
        if let Some(resampler) = self.resampler(audio.samp_freq)? {
            audio.samples.check_finite()?;
            OneChannel::from(audio.samples).resample_into(&resampler, &mut own)?;
            (audio.samples, audio.samp_freq) = (own.as_slice().into(), self.samp_freq());
        }
        let mut silence = DigitalSilence::new(audio.samp_freq);
        let found = match audio.samples {
            Samples::I16(samples) => silence.find(samples.iter().map(|&sample| f32::from(sample))),
            Samples::F32(samples) => silence.find(samples.iter().copied()),
        };
        let mut filled;
        if !found.is_empty() {
            filled = audio.samples.to_f32();
            silence.fill(&mut filled, &found);
            audio.samples = filled.as_slice().into();
        }
        Ok(self.append_own_rows(&audio, rows)?)
    }

    /// Returns the row of digital silence, repeated for all rows that begin within `seconds`, at
    /// least once. If rows are normalised over their utterance, it is the row of silence within
    /// silence.
    #[cfg(feature = "onnx")]
    pub(super) fn silence(&self, seconds: f64) -> Result<Vec<f32>, Error> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are positive and bounded")]
        let (samples, count) = (
            f64::from(self.samp_freq()).min(MAX_SILENCE) as usize,
            (seconds / self.frame_shift() - ROUNDING).ceil().clamp(1.0, MAX_SILENCE) as usize,
        );
        let mut rows = vec![];
        let silence = vec![0.0; samples];
        let found = self.append_own_rows(&Audio::new(&silence, self.samp_freq()), &mut rows)?;
        // The first and last rows may differ: they include padding.
        let row = rows.get(found / 2 * self.dim()..).and_then(|rows| rows.get(..self.dim()));
        Ok(row.map_or_else(|| vec![0.0; self.dim()], <[f32]>::to_vec).repeat(count))
    }

    /// Returns `true` if each row depends on all rows of its utterance.
    pub(super) fn needs_utterance(&self) -> bool {
        self.front_end.needs_utterance()
    }

    /// Finishes all rows of an utterance; a [`stream`](Self::stream) leaves this step to its
    /// caller.
    pub(super) fn normalize_utterance(&self, rows: &mut [f32]) {
        self.front_end.finish_rows(rows);
    }

    /// Creates a stream. Its rows lack the steps that need the whole utterance.
    pub(super) fn stream(&self, key: &str, samp_freq: f32) -> Result<FrontEndStream, Error> {
        let resampling = self.resampler(samp_freq)?.map(PolyphaseStream::new);
        let rows = self.front_end.unfinished_stream(key, self.samp_freq())?;
        let silence = DigitalSilence::new(self.samp_freq());
        Ok(FrontEndStream { resampling, own: vec![], silence, rows })
    }
}

/// Returns the value of a key whose values have names; `None` if it is missing.
fn value_of<T: OptionValue + Default>(
    table: &Table,
    key: &str,
    refuse: &dyn Fn(&str, String) -> Error,
) -> Result<Option<T>, Error> {
    let Some(found) = table.get(key) else { return Ok(None) };
    let mut value = T::default();
    value.set(found.as_str().unwrap_or(&found.to_string())).map_err(|error| refuse(key, error.to_string()))?;
    Ok(Some(value))
}

/// Sets options to the values of a table. All its keys except [`KEYS`] must be options.
fn set_options(
    options: &mut impl OptionSet,
    table: &Table,
    refuse: &dyn Fn(&str, String) -> Error,
) -> Result<(), Error> {
    let mut setter = Setter { table, known: KEYS.to_vec(), wrong: None };
    options.register(&mut setter);
    let Setter { known, wrong, .. } = setter;
    if let Some((key, problem)) = wrong {
        return Err(refuse(key, problem));
    }
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let hint = did_you_mean(unknown, known.iter().copied());
            Err(refuse(unknown, format!("there is no such option{hint}; there are {}", known.join(", "))))
        }
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

    const MVN: &str = "<AddShift> 2 2\n<LearnRateCoef> 0 [ 1 2 ]\n<Rescale> 2 2\n<LearnRateCoef> 0 [ 0.5 4 ]\n";

    fn of_table(table: &str) -> Result<ModelFrontEnd, Error> {
        let refuse = |key: &str, reason| Error::ModelFile { path: key.into(), reason };
        ModelFrontEnd::from_table(&table.parse().unwrap(), &refuse, &|_, file| match file.to_str() {
            Some("am.mvn") => Ok(MVN.to_owned()),
            _ => Err(refuse("features.cmvn", "there is no such file".to_owned())),
        })
    }

    fn front_end(table: &str) -> ModelFrontEnd {
        of_table(table).unwrap()
    }

    #[cfg(feature = "onnx")]
    #[test]
    fn silence_is_what_a_silent_recording_has() {
        let kaldi = front_end("kind = 'fbank'").silence(0.3).unwrap();
        assert_eq!(kaldi.len(), 30 * 23);
        assert!(kaldi.iter().all(|value| (value - f32::EPSILON.ln()).abs() < 1e-5), "{kaldi:?}");
        assert_eq!(front_end("kind = 'samples'\nsample-frequency = 8000").silence(0.3).unwrap(), vec![0.0; 2400]);
        for preset in Preset::ALL {
            let front_end = front_end(&format!("preset = '{}'", preset.name()));
            let rows = front_end.silence(0.3).unwrap();
            let count = rows.len() / front_end.dim();
            assert!((count as f64 + 0.5) * front_end.frame_shift() > 0.3, "{}: {count} rows", preset.name());
            assert!(rows.iter().all(|value| value.is_finite()), "{}", preset.name());
            assert!(rows.chunks(front_end.dim()).all(|row| row == &rows[..front_end.dim()]));
        }
    }

    #[test]
    fn every_kind_and_preset_resamples() {
        let kinds = FeatureKind::ALL.map(|kind| format!("kind = '{}'", kind.name()));
        let presets = Preset::ALL.map(|preset| format!("preset = '{}'", preset.name()));
        for table in kinds.iter().chain(&presets) {
            let front_end = front_end(table);
            for samp_freq in [8000.0, 44_100.0, 44_101.0] {
                let mut rows = vec![];
                let count = front_end.append_rows(&Audio::new(&[100.0_f32; 9000][..], samp_freq), &mut rows).unwrap();
                assert!(count >= 3 && rows.len() == count * front_end.dim(), "{table} {samp_freq}");
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
        assert_eq!(shift, 220.0 / 22_050.0);
        assert_eq!(front_end("kind = 'log-mel'").frame_shift(), 0.01);
        assert_eq!(front_end("kind = 'samples'\nsample-frequency = 8000").frame_shift(), 0.000_125);
        assert_eq!(front_end("preset = 'paraformer'").frame_shift(), 0.06);
    }

    #[test]
    fn streams_give_what_the_whole_gives() {
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
            let mut stream = front_end.stream("a", samp_freq).unwrap();
            let mut rows = vec![];
            for chunk in samples.chunks(777) {
                stream.accept(chunk, &mut rows).unwrap();
            }
            stream.finish(&mut rows).unwrap();
            front_end.normalize_utterance(&mut rows);
            assert_eq!(rows, whole, "{samp_freq} {kind}");
            assert_eq!(front_end.needs_utterance(), normalize != "none");
        }
        assert!(front_end("preset = 'whisper-30s'").needs_utterance());
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
    fn cmvn_of_a_file_is_the_last_step() {
        let mut rows = vec![];
        let normalized = front_end("kind = 'samples'\nlfr-m = 2\nlfr-n = 2\ncmvn = 'am.mvn'");
        normalized.append_rows(&Audio::new(&[32_768.0_f32, 16_384.0, 0.0], 16_000.0), &mut rows).unwrap();
        assert_eq!(rows, [1.0, 10.0, 0.5, 8.0]);
    }

    #[test]
    fn wrong_options_are_told_with_what_there_is() {
        let refused = |table: &str| of_table(table).map(|_| ()).unwrap_err().to_string();
        let unknown = refused("kind = 'fbank'\npre-emphasis = 0.97");
        assert!(
            unknown.contains("normalize") && unknown.contains("preset, ") && unknown.contains("num-mel-bins"),
            "{unknown}"
        );
        for (table, words) in [
            ("kind = 'fbank'\npreemphasis = 2", "a number from 0 to 1"),
            ("kind = 'fbank'\npreemphasis = nan", "a number from 0 to 1"),
            ("kind = 'fbank'\npreemphasis = true", "'true' is not a number"),
            ("kind = 'fbank'\nnormalize = 1", "'1' is not one of none, samples, per_feature"),
            ("kind = 3", "'3' is not one of fbank, mfcc"),
            ("preset = 'kaldy'", "'kaldy' is not one of kaldi"),
            ("num-mel-bins = 80", "it is missing: one of fbank, mfcc"),
            ("preset = 'whisper'\nkind = 'fbank'", "there is no fbank of whisper, which has log-mel"),
            (
                "preset = 'paraformer'\ncmvn = 'am.mvn'",
                "am.mvn: the CMVN of the front end has 2 columns where 560 are needed",
            ),
            ("kind = 'samples'\ncmvn = 'no.mvn'", "there is no such file"),
            ("kind = 'samples'\ncmvn = 7", "7 is not the name of a file"),
        ] {
            let error = refused(table);
            assert!(error.contains(words), "{table}: {error}");
        }
    }
}
