//! `kaldera plot`: a picture of a feature matrix, of a recording, or of a recording with its words.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use kaldera::Error;
use kaldera::feat::options::Registry as _;
use kaldera::feat::{
    Error as FeatError, Fbank, FbankOptions, FrameExtractionOptions, PitchExtractionOptions, ProcessPitchOptions,
    Spectrogram, SpectrogramOptions,
};
use kaldera::io::overwrite::{self, ExistingFiles};
use kaldera::io::table::{RandomAccessReader, SequentialReader};
use kaldera::matrix::Matrix;
use kaldera::pipeline::{
    ChannelChoice, FeatureExtractor, Inputs, NccfAndPitch, PartialFile, Pipeline, Pipes, PitchFeatures, Utterance,
    read_features,
};
use plotters::coord::Shift;
use plotters::prelude::{
    BitMapBackend, DrawingArea, DrawingAreaErrorKind, DrawingBackend, IntoDrawingArea as _, SVGBackend,
};

use crate::native::corpus::{CHANNEL, duration};
use crate::native::decoding::ALLOW_OUTSIDE;
use crate::native::heat_map::{self, DIMENSIONS, HeatMap, PitchTrack, SIZE};
use crate::native::lettering::Lettered;
use crate::native::spoken::{Posteriors, Spoken, Taking};
use crate::native::words::Word;
use crate::native::{CliError, arguments, print, print_results, svg_paths, text_picture};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt, log};

const TOOL: &str = "plot";
const USAGE: &str = "\
Show features: time to the right, dimension upwards, values as shades or colours.

Usage: kaldera plot [OPTIONS] FEATS [KEY] [-o IMAGE]
       kaldera plot [OPTIONS] RECORDING [-o IMAGE]
       kaldera plot [OPTIONS] RECORDING --words=FILE and/or --model=MODEL [-o IMAGE]

Without -o a picture of text is printed to the terminal. IMAGE ends in .png or .svg. FEATS is an
.ark, .scp, .npz or .safetensors file, or any Kaldi rspecifier; KEY is optional for a single matrix.
With --pitch the matrix is NCCF and pitch, as written by compute-kaldi-pitch-feats. A RECORDING is
shown as spectrogram, fbank features and pitch; darker dots of pitch have a higher probability of
voicing. With --no-pipes no commands of lists are run.

With --words or --model the words of a RECORDING are shown over its spectrogram, from start to end.
FILE is output of 'kaldera transcribe' or 'kaldera align': .ctm, .TextGrid (the tier named words, or
the first), .jsonl or .json. With --model, a folder with a model.toml, the posteriors of its tokens
are shown below, and its words unless --words is given.

Examples:
  kaldera plot fbank.ark utt1
  kaldera plot fbank.npz utt1 -o utt1.png
  kaldera plot recording.wav -o recording.svg
  kaldera plot recording.wav --words=words.ctm
  kaldera plot recording.wav --model=model/ -o recording.png

Exit status: 0 success, 1 failure, 2 wrong usage, 130 stopped by Ctrl-C, 143 stopped by SIGTERM.";

/// Number of keys in the error for a key that is not there.
const KEYS_SHOWN: usize = 5;

/// Answers a call of `kaldera plot`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, plot(call))
}

fn plot(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut output, mut frame_shift, mut is_pitch, mut no_pipes) = (String::new(), 10.0_f64, false, false);
    let (mut words, mut model, mut taking) = (String::new(), String::new(), Taking::default());
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    parser.add("output", &mut output, "Image to write, .png or .svg");
    parser.add(
        "frame-shift",
        &mut frame_shift,
        "Frame shift in milliseconds; 0 for an axis in frames instead of seconds",
    );
    parser.add("pitch", &mut is_pitch, "Draw a matrix of NCCF and pitch as dots, whose colour is the voicing");
    parser.add("no-pipes", &mut no_pipes, "Do not run commands of lists: a matrix that needs one cannot be shown");
    parser.add("words", &mut words, "Words with times, over the spectrogram: .ctm, .TextGrid, .jsonl or .json");
    parser.add("model", &mut model, "Model for posteriors below the spectrogram, and for words over it");
    parser.add("allow-outside", &mut taking.allow_outside, ALLOW_OUTSIDE);
    parser.add("channel", &mut taking.channel, CHANNEL);
    parser.letter('o', "output");
    let Some(arguments) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let quiet = parser.quiet();
    drop(parser);
    if !(0.0..f64::INFINITY).contains(&frame_shift) {
        return Err(CliError::Usage(format!("option --frame-shift: {frame_shift} is not 0 or more")));
    }
    let is_spoken = !words.is_empty() || !model.is_empty();
    if is_spoken && (frame_shift == 0.0 || is_pitch) {
        return Err(CliError::Usage("--words and --model need an axis in seconds, and no --pitch".to_owned()));
    }
    taking.reading = taking.reading.with_pipes(if no_pipes { Pipes::Never } else { Pipes::Named });
    let format = if output.is_empty() { None } else { Some(Format::from_path(&output)?) };
    let stop = interrupt::watch(TOOL, "nothing was drawn");
    if format.is_some() {
        let files = [&words, &model].into_iter().filter(|name| !name.is_empty()).map(OsString::from);
        refuse_overwriting(&arguments.iter().cloned().chain(files).collect::<Vec<_>>(), &output)?;
    }
    let picture = match arguments.as_slice() {
        [recording] if is_recording(recording) && is_spoken => {
            let spoken = Spoken::open(Path::new(recording), &words, &model, &taking)?;
            if format.is_some() {
                refuse_overwriting(&spoken.files, &output)?;
            }
            Picture::from_spoken(spoken, frame_shift / 1000.0)?
        }
        [_, ..] if is_spoken => {
            return Err(CliError::Usage(
                "--words and --model need a RECORDING, and the argument is not one".to_owned(),
            ));
        }
        [recording] if is_recording(recording) => {
            Picture::from_recording(Path::new(recording), frame_shift / 1000.0, &taking)?
        }
        [_, ..] if taking.channel != ChannelChoice::First => {
            return Err(CliError::Usage("--channel is for a RECORDING, and the argument is not one".to_owned()));
        }
        [feats, key @ ..] if key.len() <= 1 => {
            let text = |argument: &OsString| match argument.to_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err(CliError::Usage("FEATS and KEY must be UTF-8".to_owned())),
            };
            let key = key.first().map(text).transpose()?;
            let found = find(&text(feats)?, key.as_deref(), !no_pipes)?;
            Picture::from_features(&text(feats)?, found, frame_shift / 1000.0, is_pitch)?
        }
        _ => {
            let found = arguments.len();
            return Err(CliError::Usage(format!("expected FEATS and KEY, or a RECORDING, found {found} arguments")));
        }
    };
    let left_out = picture.words_left_out(format.is_some());
    if left_out > 0 {
        tracing::warn!("{left_out} of {} words have no room: only their boundaries are drawn", picture.words.len());
    }
    let Some(format) = format else {
        return print_results(&log::for_stdout(&picture.text())).map(|()| ExitCode::SUCCESS);
    };
    let partial = PartialFile::create(&output).map_err(|error| CliError::failed(&error))?;
    let unwritten = |reason: String| {
        // The error must not show the temporary name.
        let reason = reason.replace(&*partial.path().to_string_lossy(), &output);
        CliError::Failed(format!(
            "cannot write '{output}': {reason}; it needs a folder that exists, may be written to and has space"
        ))
    };
    format.draw(&picture, partial.path()).map_err(unwritten)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(interrupt::stopped());
    }
    partial.finish().map_err(|error| CliError::failed(&error))?;
    if !quiet {
        print(&format!("{}\n", log::printable(&format!("{output}: {}", picture.summary()))))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns an error if the picture would replace one of its inputs.
fn refuse_overwriting(arguments: &[OsString], output: &str) -> Result<(), CliError> {
    let existing = ExistingFiles::new([output]);
    for input in arguments {
        let listed = match input.to_str() {
            Some(input) if is_rspecifier(input) => overwrite::refuse_overwriting(&[input], &[output]),
            Some(input) if input.ends_with(".scp") => {
                overwrite::refuse_overwriting(&[&format!("scp:{input}")], &[output])
            }
            _ => Ok(()),
        };
        listed.map_err(|error| CliError::Usage(log::one_line(&error)))?;
        if existing.find(input).is_some() {
            return Err(CliError::Usage(format!("-o {output} would overwrite the input {}", input.display())));
        }
    }
    Ok(())
}

/// Returns `true` for a recording: file extensions mark files of features, and prefixes mark
/// rspecifiers.
fn is_recording(argument: &OsString) -> bool {
    let ending = Path::new(argument).extension().and_then(|ending| ending.to_str());
    let is_table = argument.to_str().is_some_and(is_rspecifier);
    !is_table && !matches!(ending, Some("ark" | "scp" | "npz" | "safetensors"))
}

/// Parts of the picture, from top to bottom.
#[derive(Default)]
struct Picture {
    key: String,
    frame_shift: f64,
    maps: Vec<Map>,
    pitch: Option<Matrix<f32>>,
    /// Words over the first map.
    words: Vec<Word>,
    /// Length in seconds of the recording that has words.
    seconds: Option<f64>,
}

/// A matrix as a map.
struct Map {
    title: String,
    features: Matrix<f32>,
    frame_shift: f64,
    upwards: (&'static str, f64),
    names: Vec<String>,
}

impl Picture {
    fn from_features(
        feats: &str,
        (key, features): (String, Matrix<f32>),
        frame_shift: f64,
        is_pitch: bool,
    ) -> Result<Self, CliError> {
        if features.is_empty() {
            return Err(CliError::Failed(format!("'{key}' in {feats} is empty: there is nothing to draw")));
        }
        let mut picture = Self { key: key.clone(), frame_shift, ..Self::default() };
        match (is_pitch, features.num_cols()) {
            (true, 2) => picture.pitch = Some(features),
            (true, dims) => {
                return Err(CliError::Failed(format!(
                    "'{key}' in {feats} has {dims} columns, and NCCF and pitch are 2"
                )));
            }
            (false, _) => {
                picture.maps.push(Map { title: key, features, frame_shift, upwards: DIMENSIONS, names: vec![] });
            }
        }
        Ok(picture)
    }

    fn from_recording(path: &Path, frame_shift: f64, taking: &Taking) -> Result<Self, CliError> {
        let inputs = Inputs::from_paths([path]).map_err(|error| CliError::failed(&error))?;
        let [utterance] = inputs.utterances() else {
            return Err(CliError::Usage(format!("{} is more than one recording", path.display())));
        };
        let failed = |error| CliError::Failed(format!("{}: {}", path.display(), log::one_line(&error)));
        let key = utterance.key.clone();
        let (spectra, frame) = spectrogram(&inputs, frame_shift, taking, &key).map_err(failed)?;
        let mut fbank = FbankOptions::default().with_frame(frame.clone());
        fbank.mel.num_bins = 40;
        let bank = features_of(&inputs, Fbank::new(fbank), taking).map_err(failed)?;
        let pitch = PitchExtractionOptions::default()
            .with_sample_frequency(frame.samp_freq)
            .with_frame_shift(frame.frame_shift_ms);
        let pitch = PitchFeatures::new(pitch, ProcessPitchOptions::default()).map(NccfAndPitch);
        let pitch = features_of(&inputs, pitch, taking).map_err(failed)?;

        let title = format!("{key}: fbank");
        let bank = Map { title, features: bank, frame_shift, upwards: DIMENSIONS, names: vec![] };
        Ok(Self { key, frame_shift, maps: vec![spectra, bank], pitch: Some(pitch), ..Self::default() })
    }

    /// Creates a spectrogram with words over it, and posteriors below if there is a model.
    fn from_spoken(spoken: Spoken, frame_shift: f64) -> Result<Self, CliError> {
        let Spoken { key, recording, words, posteriors, .. } = spoken;
        let seconds = f64::from(recording.duration());
        let failed = |error| CliError::Failed(format!("{key}: {}", log::one_line(&error)));
        let inputs = Inputs::new(vec![Utterance::new(&key, recording)]).map_err(failed)?;
        let (spectra, _) = spectrogram(&inputs, frame_shift, &Taking::default(), &key).map_err(failed)?;
        let mut maps = vec![spectra];
        if let Some(Posteriors { probabilities, frame_shift, tokens }) = posteriors {
            let title = format!("{key}: posteriors");
            maps.push(Map { title, features: probabilities, frame_shift, upwards: ("token", 1.0), names: tokens });
        }
        Ok(Self { key, frame_shift, maps, pitch: None, words, seconds: Some(seconds) })
    }

    /// Returns the number of words that have no room in the picture.
    fn words_left_out(&self, is_image: bool) -> usize {
        match self.seconds {
            Some(seconds) if is_image => heat_map::words_left_out(&self.words, seconds),
            Some(seconds) => text_picture::words(&self.words, seconds).1,
            None => 0,
        }
    }

    fn height(&self) -> u32 {
        let panels = self.maps.len() + usize::from(self.pitch.is_some());
        SIZE.1 * u32::try_from(panels).unwrap_or(1)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let panels = area.split_evenly((self.maps.len() + usize::from(self.pitch.is_some()), 1));
        for (number, (panel, map)) in panels.iter().zip(&self.maps).enumerate() {
            let Map { title, features, frame_shift, upwards, names } = map;
            let words = if number == 0 { &self.words[..] } else { &[] };
            let (frame_shift, upwards, end) = (*frame_shift, *upwards, self.seconds);
            HeatMap { title, features, frame_shift, upwards, names, end, words }.draw(panel)?;
        }
        if let (Some(pitch), Some(panel)) = (&self.pitch, panels.last()) {
            let title = format!("{}: pitch and voicing", self.key);
            PitchTrack { title: &title, pitch, frame_shift: self.frame_shift }.draw(panel)?;
        }
        area.present()
    }

    /// Returns the whole picture as text for a terminal.
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.summary());
        if let ([Map { features, .. }], None) = (&self.maps[..], self.seconds) {
            text += &text_picture::numbers(features);
        }
        for (number, Map { title, features, frame_shift, upwards, names }) in self.maps.iter().enumerate() {
            if self.maps.len() > 1 {
                let _ = writeln!(text, "\n{title}");
            }
            if let (0, Some(seconds)) = (number, self.seconds) {
                text += &text_picture::words(&self.words, seconds).0;
            }
            text += &text_picture::heat_map(features, *frame_shift, *upwards, names, self.seconds);
        }
        if let Some(pitch) = &self.pitch {
            let _ = writeln!(text, "\n{}: pitch; @ voiced, o possibly voiced, . unvoiced", self.key);
            text += &text_picture::pitch_track(pitch, self.frame_shift);
        }
        text
    }

    fn summary(&self) -> String {
        let Self { key, maps, pitch, .. } = self;
        let first = maps.first().map(|map| &map.features).or(pitch.as_ref());
        let (frames, dims) = first.map_or((0, 0), |features| (features.num_rows(), features.num_cols()));
        if let Some(seconds) = self.seconds {
            let (words, posteriors) = (self.words.len(), if maps.len() > 1 { " and posteriors" } else { "" });
            let (words, noun) = (words, if words == 1 { "word" } else { "words" });
            return format!("{key}, {}: {words} {noun}, spectrogram{posteriors}", duration(seconds));
        }
        match (maps.len(), pitch) {
            (0, _) => format!("{key}, pitch of {frames} frames"),
            (1, None) => format!("{key}, {frames} frames of {dims} dimensions"),
            _ => format!("{key}, spectrogram, fbank and pitch of {frames} frames"),
        }
    }
}

/// Returns the spectrogram of the only input, with this key, and its frame options.
fn spectrogram(
    inputs: &Inputs,
    frame_shift: f64,
    taking: &Taking,
    key: &str,
) -> Result<(Map, FrameExtractionOptions), Error> {
    let mut options = SpectrogramOptions::default();
    if frame_shift > 0.0 {
        options.frame.frame_shift_ms = (frame_shift * 1000.0) as f32;
    }
    let plan = |options: &SpectrogramOptions| Spectrogram::new(options.clone());
    let spectra = match features_of(inputs, plan(&options), taking) {
        Err(Error::SampleRate { found, .. }) => {
            options.frame.samp_freq = found;
            features_of(inputs, plan(&options), taking)
        }
        spectra => spectra,
    }?;
    // Column 0 is the energy.
    let bins = spectra.num_cols() - 1;
    let hertz = f64::from(options.frame.samp_freq) / 2.0 / bins as f64;
    let features = spectra.col_range(1, bins)?.to_owned();
    let title = format!("{key}: spectrogram");
    Ok((Map { title, features, frame_shift, upwards: ("Hz", hertz), names: vec![] }, options.frame))
}

/// Returns the features of the only input.
fn features_of<E: FeatureExtractor>(
    inputs: &Inputs,
    extractor: Result<E, FeatError>,
    taking: &Taking,
) -> Result<Matrix<f32>, Error> {
    let mut features = Vec::new();
    let extractor = extractor?;
    let pipeline =
        Pipeline::new(&extractor).with_jobs(1).with_channel(taking.channel).with_reading(taking.reading.clone());
    let mut summary = pipeline.run(inputs, &mut features)?;
    match (features.pop(), summary.failures.pop()) {
        (Some((_, features)), _) => Ok(features),
        (None, Some(failure)) => Err(failure.source),
        (None, None) => Err(Error::NoInputs),
    }
}

enum Format {
    Png,
    Svg,
}

impl Format {
    fn from_path(output: &str) -> Result<Self, CliError> {
        match Path::new(output).extension().and_then(|ending| ending.to_str()) {
            Some("png") => Ok(Self::Png),
            Some("svg") => Ok(Self::Svg),
            _ => Err(CliError::Usage(format!("'{output}' must end in .png or .svg"))),
        }
    }

    fn draw(&self, picture: &Picture, path: &Path) -> Result<(), String> {
        let size = (SIZE.0, picture.height());
        match self {
            Self::Png => {
                let mut pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
                picture
                    .draw(&Lettered(BitMapBackend::with_buffer(&mut pixels, size)).into_drawing_area())
                    .map_err(|error| error.to_string())?;
                write_png(path, size, &pixels).map_err(|error| error.to_string())
            }
            Self::Svg => {
                let mut text = String::new();
                picture
                    .draw(&SVGBackend::with_string(&mut text, size).into_drawing_area())
                    .map_err(|error| error.to_string())?;
                fs::write(path, svg_paths::gathered(&text)).map_err(|error| error.to_string())
            }
        }
    }
}

/// Writes a PNG; `pixels` are red, green and blue of each pixel.
fn write_png(path: &Path, (width, height): (u32, u32), pixels: &[u8]) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}

/// Returns the most likely rspecifier for a file name; any other text unchanged.
fn rspecifier(feats: &str) -> String {
    match Path::new(feats).extension().and_then(|ending| ending.to_str()) {
        Some(kind @ ("ark" | "scp")) if !is_rspecifier(feats) => format!("{kind}:{feats}"),
        _ => feats.to_owned(),
    }
}

fn is_rspecifier(text: &str) -> bool {
    text.split_once(':').is_some_and(|(options, _)| options.split(',').any(|option| matches!(option, "ark" | "scp")))
}

/// Returns the matrix of `key`, or the only matrix if there is no key, together with its key. It is
/// read by random access from a script file, or by a scan of the file.
///
/// Commands in a script file run only if `pipes` is `true`.
fn find(feats: &str, key: Option<&str>, pipes: bool) -> Result<(String, Matrix<f32>), CliError> {
    let failed = |error: kaldera::io::Error| CliError::failed(&error);
    let rspecifier = rspecifier(feats);
    let is_script = is_rspecifier(&rspecifier)
        && rspecifier.split(':').next().is_some_and(|options| options.split(',').any(|option| option == "scp"));
    if let Some(key) = key.filter(|_| is_script) {
        let mut reader = RandomAccessReader::<Matrix<f32>>::open(&rspecifier).map_err(failed)?;
        if !pipes {
            reader = reader.without_pipes();
        }
        if reader.has_key(key).map_err(failed)? {
            return Ok((key.to_owned(), reader.value(key).map_err(failed)?.to_owned()));
        }
    }
    let (mut found, mut keys) = (None, Vec::new());
    each(feats, &rspecifier, pipes, |this, features| {
        let wanted = key.map_or(keys.is_empty(), |key| key == this);
        if wanted {
            found = Some((this.clone(), features));
        }
        keys.push(this);
        // For a script it is already known that the key is missing.
        let enough = keys.len() > KEYS_SHOWN && (is_script || key.is_none());
        if enough || (wanted && key.is_some()) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match (key, found, keys.len()) {
        (None, Some(found), 1) | (Some(_), Some(found), _) => Ok(found),
        (_, _, 0) => Err(CliError::Failed(format!("{feats} is empty: there is nothing to show"))),
        (None, ..) => {
            Err(CliError::Usage(format!("{feats} has several matrices: give the KEY of one, {}", listed(&keys))))
        }
        (Some(key), ..) => Err(CliError::Failed(format!("{feats} has no '{key}'; it has {}", listed(&keys)))),
    }
}

/// Formats the first keys.
fn listed(keys: &[String]) -> String {
    let shown = keys[..keys.len().min(KEYS_SHOWN)].join("', '");
    if keys.len() > KEYS_SHOWN { format!("'{shown}', ...") } else { format!("'{shown}'") }
}

/// Calls `take` with the keys and matrices of a file or table until it returns `Break`.
fn each(
    feats: &str,
    rspecifier: &str,
    pipes: bool,
    mut take: impl FnMut(String, Matrix<f32>) -> ControlFlow<()>,
) -> Result<(), CliError> {
    if is_rspecifier(rspecifier) {
        let failed = |error: kaldera::io::Error| CliError::failed(&error);
        let reader = SequentialReader::<Matrix<f32>>::open(rspecifier).map_err(failed)?;
        for entry in if pipes { reader } else { reader.without_pipes() } {
            let (key, features) = entry.map_err(failed)?;
            if take(key, features).is_break() {
                break;
            }
        }
        return Ok(());
    }
    read_features(feats, |key, features| Ok(take(key.to_owned(), features))).map_err(super::corpus::trouble)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_becomes_an_rspecifier() {
        for (given, expected) in [
            ("f.ark", "ark:f.ark"),
            ("dir/f.scp", "scp:dir/f.scp"),
            ("scp:f.scp", "scp:f.scp"),
            ("ark,bg:f.ark", "ark,bg:f.ark"),
            ("C:x.ark", "ark:C:x.ark"),
            ("ark:-", "ark:-"),
        ] {
            assert_eq!(rspecifier(given), expected);
        }
    }
}
