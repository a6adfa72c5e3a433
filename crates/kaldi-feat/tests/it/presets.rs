//! Whole front ends against the packages' own extractors (`scripts/make-preset-answers.py`).

use std::collections::HashMap;

use kaldi_feat::{Audio, FeatureOptions, FrontEnd, GlobalCmvn, MelLog, Normalize, Preset};

use crate::log_mel::signal;

const ANSWERS: &str = include_str!("presets/answers.txt");

/// The noise of a transform in single precision, relative to the largest magnitude of a frame, where
/// both sides have such noise: some roundings of 2^-24.
const NOISE: f64 = 6e-7;

/// What Kaldi's filters, whose corners are of single precision, may be off: half a unit in the last
/// place of 2840 mels, 1.2e-4, beside 33 mels from corner to corner, for some corners.
const KALDI_FILTERS: f64 = 2e-5;

/// `answers.txt` has seven digits, and values are of single precision.
const DIGITS: f64 = 1e-6;

/// The CMVN of the script.
fn cmvn() -> GlobalCmvn {
    let shift = (0..560_u16).map(|i| -8.0 - f32::from(i % 80) / 16.0).collect();
    let scale = (0..560_u16).map(|i| 0.125 + f32::from(i % 7) / 64.0).collect();
    GlobalCmvn::new(shift, scale).unwrap()
}

/// The signal of a name, on the scale of 16-bit integers: `clip:4000` has so many samples.
fn samples(name: &str) -> Vec<f32> {
    let (kind, n) = name.rsplit_once(':').unwrap_or(("", name));
    let n = n.parse().unwrap();
    let of_signal = |change: fn(f32) -> f32| signal(n).into_iter().map(|x| change(x.into())).collect();
    match kind {
        "" => of_signal(|x| x),
        "clip" => of_signal(|x| if x < 0.0 { -32_768.0 } else { 32_767.0 }),
        "loud" => of_signal(|x| 8.0 * x),
        "constant" => vec![8192.0; n],
        "silence" => vec![0.0; n],
        _ => panic!("no signal {name}"),
    }
}

/// What the values of a preset are, as far as rounding goes.
enum Values {
    /// Numbers of the signal.
    Plain,
    /// Logarithms, in which a magnitude of the spectrum counts as many units of its natural one.
    Logarithms { unit: f64 },
}

fn values_of(features: &FeatureOptions) -> Values {
    match features {
        FeatureOptions::Samples(_) => Values::Plain,
        FeatureOptions::LogMel(options) => {
            let unit = if options.use_power { 2.0 } else { 1.0 };
            let unit = if options.log == MelLog::Log10 { unit / 10_f64.ln() } else { unit };
            Values::Logarithms { unit: if options.whisper_scale { unit / 4.0 } else { unit } }
        }
        _ => Values::Logarithms { unit: 2.0 },
    }
}

/// How far a value may be off that is a logarithm: the smaller its magnitude beside the largest of
/// its frame, the more of it is noise.
fn noise_of_logarithm(unit: f64, value: f64, largest: f64) -> f64 {
    unit * NOISE * (1.0 + ((largest - value) / unit).exp())
}

/// How far each value of `rows` may be off, of a front end before its normalisation.
fn bounds(front_end: &FrontEnd, rows: &[f32]) -> Vec<f64> {
    let (frame, filters) = match &front_end.options().features {
        FeatureOptions::Fbank(options) => (usize::try_from(options.mel.num_bins).unwrap(), KALDI_FILTERS),
        _ => (front_end.dim(), 0.0),
    };
    let bounds_of = |values: &[f32]| -> Vec<f64> {
        let largest = f64::from(values.iter().copied().fold(f32::MIN, f32::max));
        let bound = |&value: &f32| match values_of(&front_end.options().features) {
            Values::Plain => 0.0,
            Values::Logarithms { unit } => filters + noise_of_logarithm(unit, value.into(), largest),
        };
        values.iter().map(bound).collect()
    };
    rows.chunks(frame).flat_map(bounds_of).collect()
}

/// The bounds after each column was normalised: with its own error, and that of mean and deviation,
/// which is at most that of the values on average.
fn normalized_bounds(raw: &[f32], bounds: &[f64], normalized: &[f32], dim: usize) -> Vec<f64> {
    let column = |values: &[f64], at: usize| values.iter().skip(at).step_by(dim).copied().collect::<Vec<_>>();
    let raw: Vec<f64> = raw.iter().map(|&x| x.into()).collect();
    let mut out = vec![0.0; raw.len()];
    for at in 0..dim {
        let (values, own) = (column(&raw, at), column(bounds, at));
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0)).sqrt();
        let average = own.iter().sum::<f64>() / count;
        for (row, own) in own.iter().enumerate() {
            let z = f64::from(normalized[row * dim + at]).abs();
            out[row * dim + at] = (own + (1.0 + z) * average) / (deviation + 1e-5);
        }
    }
    out
}

/// The rows of a preset, and how far each value may be off.
fn computed(preset: Preset, name: &str, with_cmvn: bool) -> (Vec<f32>, Vec<f64>, usize) {
    let samples = samples(name);
    let plain = FrontEnd::new(preset.front_end().with_normalize(Normalize::None)).unwrap();
    let front_end = FrontEnd::new(preset.front_end()).unwrap();
    let audio = Audio::new(&samples, front_end.samp_freq());
    let raw = plain.compute(&audio).unwrap();
    let mut own = bounds(&plain, raw.data());
    let dim = plain.dim();
    let normalized = if with_cmvn {
        for (bound, scale) in own.iter_mut().zip(cmvn().scale().iter().cycle()) {
            *bound *= f64::from(*scale);
        }
        front_end.with_cmvn(cmvn()).unwrap().compute(&audio).unwrap()
    } else {
        front_end.compute(&audio).unwrap()
    };
    if preset.front_end().normalize == Normalize::PerFeature {
        own = normalized_bounds(raw.data(), &own, normalized.data(), dim);
    }
    (normalized.into_vec(), own, dim)
}

#[test]
fn rows_are_those_of_the_packages() {
    let mut lines = ANSWERS.lines();
    let (mut presets, mut all_computed) = (vec![], HashMap::new());
    while let Some(head) = lines.next() {
        let words: Vec<&str> = head.split(' ').collect();
        let [name, package, signal, numbers @ ..] = &words[..] else { panic!("{head}") };
        let numbers: Vec<usize> = numbers.iter().map(|number| number.parse().unwrap()).collect();
        let [rows, cols, row_step, column_step] = numbers[..] else { panic!("{head}") };
        let preset = Preset::ALL.into_iter().find(|preset| preset.name() == *name).unwrap();
        presets.push(preset);
        let with_cmvn = package.ends_with("-cmvn");
        let (found, bounds, dim) =
            all_computed.entry((*name, *signal, with_cmvn)).or_insert_with(|| computed(preset, signal, with_cmvn));
        let dim = *dim;
        assert_eq!((found.len() / dim, dim), (rows, cols), "{head}");
        let mut worst = 0.0_f64;
        for row in (0..rows).step_by(row_step) {
            let expected = lines.next().unwrap().split(' ').map(|x| x.parse::<f64>().unwrap());
            for (column, expected) in (0..cols).step_by(column_step).zip(expected) {
                let found = f64::from(found[row * dim + column]);
                let bound = bounds[row * dim + column] + DIGITS * (1.0 + expected.abs());
                let error = (found - expected).abs();
                assert!(
                    error <= bound,
                    "{head}: {found} for {expected} in {row}, {column}: off by {error}, {bound} at most"
                );
                worst = worst.max(error);
            }
        }
        println!("{head}: off by {worst:.1e} at most");
    }
    // Those of toolkits have tests of their own.
    let toolkits = [Preset::Kaldi, Preset::Torchaudio, Preset::Lhotse, Preset::Librosa];
    let missing: Vec<Preset> =
        Preset::ALL.into_iter().filter(|preset| !presets.contains(preset) && !toolkits.contains(preset)).collect();
    assert!(missing.is_empty(), "no answers for {missing:?}");
}
