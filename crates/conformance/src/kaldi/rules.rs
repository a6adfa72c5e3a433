//! The rules of comparison, as the README of the set states them ("How to compare"), numbered as
//! there.

use std::fs;
use std::path::Path;

use super::case::{ManifestCase, Output, Precision};
use super::table::{Entry, Format, Table};
use crate::{near, unless};

/// Rule 2: no log or cepstral value must be closer than this.
const LOG_FLOOR: f64 = 5e-4;
/// Rule 2: how many times the differences between Kaldi's own builds a value may be off.
const JITTER_FACTOR: f64 = 10.0;
const PRECISION_FACTOR: f64 = 4.0;
/// Rule 2: linear values, relative to the largest of the frame.
const LINEAR: f64 = 2e-5;
/// Rule 2: the noise floor of a float FFT, relative to the largest amplitude of the frame.
const FFT_NOISE: f64 = 3e-7;
/// Rules 2 and 4: the fraction of values or frames that may be off even where `precision.json` has
/// none.
const OFF_FRACTION: f64 = 0.01;
const OFF_FACTOR: f64 = 1.5;
/// Rule 2: the mean of a column of processed pitch.
const PITCHPROC_MEAN: f64 = 4e-3;
/// Rule 3: relative to the largest of the row, or to 1.
const POST: f64 = 1e-5;
/// Rule 4.
const PITCH_RELATIVE: f64 = 1e-4;
const NCCF: f64 = 1e-3;
const NCCF_FACTOR: f64 = 2.0;
const MEAN_STEPS: f64 = 0.75;
const MEAN_MIN_FRAMES: usize = 10;
const PROCESSED_PITCH: f64 = 1e-4;
/// Kaldi's default of `--delta-pitch`, the step between two lags.
const DELTA_PITCH: f64 = 0.005;

/// The rule that binds the files of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Rules 1 and 5, and the exact part of rule 3.
    Bytes,
    /// Rule 2.
    Features,
    /// Rule 2 for `pitchproc`.
    ProcessedPitchOfWaves,
    /// Rule 3.
    Post,
    /// Rule 4.
    Pitch,
    /// Rule 4 for `procpitch_*`.
    ProcessedPitch,
}

impl Rule {
    /// The rule of a case, `None` where its group is unknown.
    pub(super) fn of(case: &ManifestCase) -> Option<Self> {
        let rule = match (case.group.as_str(), case.id.as_str()) {
            ("table", "tab_pipe") | ("wav", "mfcc_wav_headers") | ("segments", "segments_mfcc") => Self::Features,
            ("table" | "wav" | "segments" | "errors", _) => Self::Bytes,
            ("mfcc" | "fbank" | "plp" | "spec", _) => Self::Features,
            ("pitchproc", _) => Self::ProcessedPitchOfWaves,
            ("post", _) if is_exact(&case.tool) => Self::Bytes,
            ("post", _) => Self::Post,
            ("pitch", _) if case.tool == "process-kaldi-pitch-feats" => Self::ProcessedPitch,
            ("pitch", _) => Self::Pitch,
            _ => return None,
        };
        Some(if case.exit == 0 { rule } else { Self::Bytes })
    }
}

/// Rule 3: VAD, subsample, select, shift, splice, copies.
fn is_exact(tool: &str) -> bool {
    matches!(
        tool,
        "compute-vad"
            | "copy-feats-to-htk"
            | "copy-feats-to-sphinx"
            | "feat-to-dim"
            | "feat-to-len"
            | "paste-feats"
            | "select-feats"
            | "select-voiced-frames"
            | "shift-feats"
            | "splice-feats"
            | "subsample-feats"
    )
}

/// The data needed to compare two files.
pub(super) struct Judge<'a> {
    pub(super) case: &'a ManifestCase,
    pub(super) rule: Rule,
    pub(super) precision: Option<&'a Precision>,
    /// Folder of the audio.
    pub(super) folder: &'a Path,
}

impl Judge<'_> {
    /// Compares our output with the known answer; the error gives the first difference, the
    /// expected value and ours.
    pub(super) fn compare(&self, output: &Output, expected: &[u8], actual: &[u8]) -> Result<(), String> {
        if self.rule == Rule::Bytes {
            return same_bytes(expected, actual);
        }
        let format = Format::of(expected);
        let expected = format.read(expected).map_err(|error| format!("the known answer is damaged: {error}"))?;
        if let Some(dims) = &output.dims {
            let recorded = expected.entries.iter().all(|entry| dims.get(&entry.key) == Some(&entry.dims));
            check(recorded && dims.len() == expected.entries.len(), || {
                "the known answer is damaged: its keys and dims are not those of the manifest".into()
            })?;
        }
        let actual =
            format.read(actual).map_err(|error| format!("expected {format:?}, came bytes that are not: {error}"))?;
        same_shape(&expected, &actual)?;
        match self.rule {
            Rule::Pitch => self.pitch(&expected, &actual),
            Rule::ProcessedPitchOfWaves => self.processed_pitch_of_waves(&expected, &actual),
            _ => self.values(&expected, &actual),
        }
    }

    /// Every value within its own bound.
    fn values(&self, expected: &Table, actual: &Table) -> Result<(), String> {
        let mut differences = Vec::new();
        for (b, a) in expected.entries.iter().zip(&actual.entries) {
            for (frame, row, column, b_value, a_value) in cells(b, a) {
                let bound = self.bound(&b.key, frame, row, column);
                differences.extend(unless(near(b_value, a_value, bound), || {
                    let place = format!("key '{}', frame {frame}, column {column}", b.key);
                    format!("{place}: expected {b_value} within {bound:e}, came {a_value}")
                }));
            }
        }
        match differences.split_first() {
            None => Ok(()),
            Some((first, [])) => Err(first.clone()),
            Some((first, others)) => Err(format!("{first} (and {} more values)", others.len())),
        }
    }

    fn bound(&self, key: &str, frame: usize, row: &[f64], column: usize) -> f64 {
        match self.rule {
            Rule::ProcessedPitch => PROCESSED_PITCH,
            Rule::Post => POST * largest_magnitude(row).max(1.0),
            _ if self.is_linear() => LINEAR * largest_magnitude(row),
            _ => {
                let frames = self.precision.and_then(|precision| precision.rows.get(key));
                let measured = frames.and_then(|frames| frames.get(&frame)).copied().unwrap_or_default();
                let noise = match row.get(column) {
                    // Column 0 is the energy, the bins follow.
                    Some(b) if self.case.group == "spec" && column > 0 => {
                        FFT_NOISE * ((row[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max) - b) / 2.0).exp()
                    }
                    _ => 0.0,
                };
                self.log_bound().max(PRECISION_FACTOR * measured) + noise
            }
        }
    }

    fn log_bound(&self) -> f64 {
        LOG_FLOOR.max(JITTER_FACTOR * self.case.jitter)
    }

    fn is_linear(&self) -> bool {
        let is = |option, value| self.case.option(option).is_some_and(|given| given == value);
        is("use-log-fbank", "false") || is("return-raw-fft", "true")
    }

    fn processed_pitch_of_waves(&self, expected: &Table, actual: &Table) -> Result<(), String> {
        let Some((fraction, off_bound)) =
            self.precision.and_then(|entry| Some((entry.value_off_fraction?, PRECISION_FACTOR * entry.value_off_max)))
        else {
            return self.values(expected, actual);
        };
        let bound = self.log_bound();
        let (mut total, mut off) = (0u32, 0u32);
        for (b, a) in expected.entries.iter().zip(&actual.entries) {
            let key = &b.key;
            for (frame, _, column, b_value, a_value) in cells(b, a) {
                total += 1;
                off += u32::from(!near(b_value, a_value, bound));
                check(near(b_value, a_value, bound.max(off_bound)), || {
                    let place = format!("key '{key}', frame {frame}, column {column}");
                    format!("{place}: expected {b_value} within {off_bound:e}, came {a_value}")
                })?;
            }
            for column in 0..b.dims.1 {
                let (b, a) = (mean(b, column), mean(a, column));
                check(near(b, a, PITCHPROC_MEAN), || {
                    format!("key '{key}', mean of column {column}: expected {b} within {PITCHPROC_MEAN}, came {a}")
                })?;
            }
        }
        let allowed = (OFF_FRACTION + OFF_FACTOR * fraction) * f64::from(total);
        check(f64::from(off) <= allowed, || {
            format!("expected at most {allowed:.1} of {total} values further off than {bound:e}, came {off}")
        })
    }

    /// Column 0 is the NCCF, column 1 the pitch, which lies on a grid of lags.
    fn pitch(&self, expected: &Table, actual: &Table) -> Result<(), String> {
        let none = Precision::default();
        let precision = self.precision.unwrap_or(&none);
        let step = self.case.option("delta-pitch").and_then(|value| value.parse().ok()).unwrap_or(DELTA_PITCH);
        let several = precision.pitch_off_steps > 1.0;
        let max_steps = if several { precision.pitch_off_steps.ceil() + 1.0 } else { 1.0 };
        let mean_bound = step * MEAN_STEPS * if several { 2.0 } else { 1.0 };
        let (mut total, mut off) = (0u32, 0u32);
        for (b, a) in expected.entries.iter().zip(&actual.entries) {
            total += u32::try_from(b.rows.len()).unwrap_or(u32::MAX);
            if self.only_counts(&b.key) {
                continue;
            }
            let key = &b.key;
            for (frame, (b_row, a_row)) in b.rows.iter().zip(&a.rows).enumerate() {
                let (&[b_nccf, b_pitch], &[a_nccf, a_pitch]) = (&b_row[..], &a_row[..]) else {
                    return Err(format!("the known answer is damaged: key '{key}' has {} columns, not 2", b.dims.1));
                };
                let steps = ((a_pitch / b_pitch).ln() / step.ln_1p()).round();
                let on_lag = b_pitch * (1.0 + step).powf(steps);
                check(steps.abs() <= max_steps && near(on_lag, a_pitch, PITCH_RELATIVE * on_lag.abs()), || {
                    let right = format!("{b_pitch} or up to {max_steps} lags of {step} away");
                    format!("key '{key}', frame {frame}, pitch: expected {right}, came {a_pitch}")
                })?;
                let elsewhere = steps != 0.0;
                off += u32::from(elsewhere);
                let bound = if elsewhere { NCCF.max(NCCF_FACTOR * precision.nccf_off) } else { NCCF };
                check(near(b_nccf, a_nccf, bound), || {
                    format!("key '{key}', frame {frame}, NCCF: expected {b_nccf} within {bound:e}, came {a_nccf}")
                })?;
            }
            let (b_mean, a_mean) = (mean(b, 1), mean(a, 1));
            check(b.rows.len() < MEAN_MIN_FRAMES || near(b_mean, a_mean, mean_bound * b_mean), || {
                format!("key '{key}', mean pitch: expected {b_mean} within {mean_bound:e} of it, came {a_mean}")
            })?;
        }
        let allowed = ((OFF_FRACTION + OFF_FACTOR * precision.pitch_off_fraction) * f64::from(total)).max(1.0);
        check(f64::from(off) <= allowed, || {
            format!("expected at most {allowed:.1} of {total} frames on another lag, came {off}")
        })
    }

    /// Signals whose pitch is not determined: unstable by the manifest, or constant.
    fn only_counts(&self, key: &str) -> bool {
        self.case.unstable_keys.iter().any(|unstable| unstable == key)
            || fs::read(self.folder.join(format!("audio/{key}.wav"))).is_ok_and(|wave| is_constant(&wave))
    }
}

/// Returns `true` if all 16-bit samples after the `data` chunk's head are the same.
fn is_constant(wave: &[u8]) -> bool {
    let Some(data) = wave.windows(4).position(|name| name == b"data").and_then(|at| wave.get(at + 8..)) else {
        return false;
    };
    data.chunks_exact(2).all(|sample| sample == &data[..2])
}

fn same_bytes(expected: &[u8], actual: &[u8]) -> Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    let at = expected.iter().zip(actual).take_while(|(b, a)| b == a).count();
    let around = |bytes: &[u8]| {
        let (from, to) = (at.saturating_sub(8).min(bytes.len()), (at + 24).min(bytes.len()));
        format!("{} bytes with \"{}\"", bytes.len(), bytes[from..to].escape_ascii())
    };
    Err(format!("byte {at}: expected {}, came {}", around(expected), around(actual)))
}

/// Same keys in the same order, same kinds and dims, same text around the numbers.
fn same_shape(expected: &Table, actual: &Table) -> Result<(), String> {
    let describe = |entry: &Entry| format!("key '{}' {} {} x {}", entry.key, entry.kind, entry.dims.0, entry.dims.1);
    for (b, a) in expected.entries.iter().zip(&actual.entries) {
        let (b, a) = (describe(b), describe(a));
        check(b == a, || format!("expected {b}, came {a}"))?;
    }
    let (b, a) = (expected.entries.len(), actual.entries.len());
    check(b == a, || format!("expected {b} keys, came {a}"))?;
    same_bytes(expected.layout.as_bytes(), actual.layout.as_bytes())
        .map_err(|error| format!("layout of the text, {error}"))
}

/// The difference `tell` as an error, unless `holds`.
fn check(holds: bool, tell: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(tell()) }
}

/// Each number of an entry and ours, after its frame, the whole row and its column.
fn cells<'a>(b: &'a Entry, a: &'a Entry) -> impl Iterator<Item = (usize, &'a [f64], usize, f64, f64)> {
    b.rows.iter().zip(&a.rows).enumerate().flat_map(|(frame, (b, a))| {
        b.iter().zip(a).enumerate().map(move |(column, (&b_value, &a_value))| (frame, &b[..], column, b_value, a_value))
    })
}

fn largest_magnitude(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |largest, value| value.abs().max(largest))
}

fn mean(entry: &Entry, column: usize) -> f64 {
    let (sum, count) =
        entry.rows.iter().filter_map(|row| row.get(column)).fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    if count == 0.0 { 0.0 } else { sum / count }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_OUTPUT: Output = Output { path: String::new(), bytes: None, dims: None, absent: false };

    fn case(group: &str, id: &str, tool: &str, exit: i32, args: &[&str], jitter: f64) -> ManifestCase {
        let args: Vec<String> = args.iter().map(|&arg| arg.into()).collect();
        let (group, id, tool, note, unstable_keys) =
            (group.into(), id.into(), tool.into(), String::new(), vec!["unstable".into()]);
        let (outputs, stdout, bytes_nondeterministic) = (Vec::new(), None, false);
        ManifestCase {
            id,
            group,
            tool,
            args,
            exit,
            outputs,
            stdout,
            note,
            bytes_nondeterministic,
            jitter,
            unstable_keys,
        }
    }

    fn archive(key: &str, rows: &[&[f32]]) -> Vec<u8> {
        let mut bytes = format!("{key} \0BFM ").into_bytes();
        for dim in [rows.len(), rows.first().map_or(0, |row| row.len())] {
            bytes.push(4);
            bytes.extend(i32::try_from(dim).unwrap().to_le_bytes());
        }
        bytes.extend(rows.iter().flat_map(|row| row.iter()).flat_map(|value| value.to_le_bytes()));
        bytes
    }

    fn judge(case: &ManifestCase, precision: &Precision, expected: &[u8], actual: &[u8]) -> Result<(), String> {
        let rule = Rule::of(case).unwrap();
        Judge { case, rule, precision: Some(precision), folder: Path::new("/no") }.compare(&NO_OUTPUT, expected, actual)
    }

    fn check(case: &ManifestCase, precision: &Precision, expected: &[&[f32]], actual: &[&[f32]]) -> bool {
        judge(case, precision, &archive("k", expected), &archive("k", actual)).is_ok()
    }

    #[test]
    fn each_case_has_the_rule_of_the_readme() {
        let rule = |group, id, tool, exit| Rule::of(&case(group, id, tool, exit, &[], 0.0));
        assert_eq!(rule("table", "tab_pipe", "compute-mfcc-feats", 0), Some(Rule::Features));
        assert_eq!(rule("table", "tab_pipe_out", "copy-feats", 0), Some(Rule::Bytes));
        assert_eq!(rule("wav", "wav_copy", "wav-copy", 0), Some(Rule::Bytes));
        assert_eq!(rule("mfcc", "a", "compute-mfcc-feats", 0), Some(Rule::Features));
        assert_eq!(rule("mfcc", "a", "compute-mfcc-feats", 1), Some(Rule::Bytes));
        assert_eq!(rule("post", "a", "compute-vad", 0), Some(Rule::Bytes));
        assert_eq!(rule("post", "a", "add-deltas", 0), Some(Rule::Post));
        assert_eq!(rule("pitch", "procpitch_a", "process-kaldi-pitch-feats", 0), Some(Rule::ProcessedPitch));
        assert_eq!(rule("new", "a", "b", 0), None);
    }

    #[test]
    fn log_values_may_differ_by_the_largest_of_three_bounds() {
        let none = Precision::default();
        let plain = case("mfcc", "a", "t", 0, &[], 0.0);
        assert!(check(&plain, &none, &[&[1.0, 2.0]], &[&[1.0, 2.00049]]));
        assert!(!check(&plain, &none, &[&[1.0, 2.0]], &[&[1.0, 2.00051]]));
        assert!(!check(&plain, &none, &[&[1.0]], &[&[f32::NAN]]));
        assert!(!check(&plain, &none, &[&[f32::NAN]], &[&[1.0]]));
        assert!(check(&plain, &none, &[&[f32::NAN, f32::INFINITY]], &[&[-f32::NAN, f32::INFINITY]]));
        assert!(!check(&plain, &none, &[&[f32::INFINITY]], &[&[f32::NEG_INFINITY]]));
        let jittery = case("mfcc", "a", "t", 0, &[], 0.001);
        assert!(check(&jittery, &none, &[&[1.0]], &[&[1.0099]]));
        assert!(!check(&jittery, &none, &[&[1.0]], &[&[1.0101]]));
        let rows = [("k".to_owned(), [(1, 0.01)].into())].into();
        let measured = Precision { rows, ..Precision::default() };
        assert!(check(&plain, &measured, &[&[1.0], &[1.0]], &[&[1.0], &[1.0399]]));
        assert!(!check(&plain, &measured, &[&[1.0], &[1.0]], &[&[1.0], &[1.0401]]));
        assert!(!check(&plain, &measured, &[&[1.0], &[1.0]], &[&[1.0399], &[1.0]]));
    }

    #[test]
    fn linear_values_are_relative_to_the_frame() {
        let none = Precision::default();
        for args in ["--use-log-fbank=false", "--return_raw_fft=true"] {
            let linear = case("fbank", "a", "t", 0, &[args], 1.0);
            assert!(check(&linear, &none, &[&[1.0, -1e6]], &[&[20.0, -1e6]]));
            assert!(!check(&linear, &none, &[&[1.0, -1e6]], &[&[22.0, -1e6]]));
        }
    }

    #[test]
    fn quiet_bins_of_a_loud_spectrum_may_drown_in_noise() {
        let none = Precision::default();
        let spec = case("spec", "a", "t", 0, &[], 0.0);
        // 3e-7 exp(20 / 2) = 6.6e-3 next to the loud bin; the energy in column 0 has no such
        // term.
        assert!(check(&spec, &none, &[&[30.0, 20.0, 0.0]], &[&[30.0, 20.0, 0.007]]));
        assert!(!check(&spec, &none, &[&[30.0, 20.0, 0.0]], &[&[30.0, 20.0, 0.0075]]));
        assert!(!check(&spec, &none, &[&[0.0, 20.0]], &[&[0.001, 20.0]]));
    }

    #[test]
    fn post_is_relative_to_the_row() {
        let none = Precision::default();
        let post = case("post", "a", "add-deltas", 0, &[], 0.0);
        assert!(check(&post, &none, &[&[0.0, 100.0]], &[&[0.0009, 100.0]]));
        assert!(!check(&post, &none, &[&[0.0, 100.0]], &[&[0.0011, 100.0]]));
        assert!(!check(&post, &none, &[&[0.0]], &[&[0.00002]]));
    }

    #[test]
    fn keys_dims_and_types_must_be_the_same() {
        let (case, none) = (case("mfcc", "a", "t", 0, &[], 0.0), Precision::default());
        let expected = archive("k", &[&[1.0, 2.0]]);
        let verdict = |actual: &[u8]| judge(&case, &none, &expected, actual);
        assert!(verdict(&expected).is_ok());
        assert!(
            verdict(&archive("j", &[&[1.0, 2.0]]))
                .unwrap_err()
                .contains("expected key 'k' FM 1 x 2, came key 'j' FM 1 x 2")
        );
        assert!(verdict(&archive("k", &[&[1.0], &[2.0]])).is_err());
        assert!(verdict(b"").unwrap_err().contains("expected 1 keys, came 0"));
        assert!(verdict(&[expected.clone(), expected.clone()].concat()).is_err());
        assert!(verdict(&[&expected[..], b"x"].concat()).is_err());
        assert!(verdict(b"k  [\n  1 2 ]\n").is_err());
        let wrong = judge(&case, &none, &expected, &archive("k", &[&[1.5, 7.0]])).unwrap_err();
        assert!(
            wrong.starts_with("key 'k', frame 0, column 0: expected 1 within 5e-4, came 1.5 (and 1 more"),
            "{wrong}"
        );
    }

    #[test]
    fn printed_features_keep_their_layout() {
        let (case, none) = (case("table", "tab_pipe", "compute-mfcc-feats", 0, &[], 0.0), Precision::default());
        let verdict = |actual: &str| judge(&case, &none, b"k  [\n  1 2 \n  3 4 ]\n", actual.as_bytes());
        assert!(verdict("k  [\n  1.0004 2 \n  3 4.0001 ]\n").is_ok());
        assert!(verdict("k  [\n  1.0006 2 \n  3 4 ]\n").is_err());
        assert!(verdict("k [\n  1 2 \n  3 4 ]\n").unwrap_err().contains("layout"));
        assert!(verdict("k  [\n  1 2 \n  3 4 ]").is_err());
    }

    #[test]
    fn bytes_are_bytes() {
        let (case, none) = (case("table", "tab_text", "copy-feats", 0, &[], 0.0), Precision::default());
        let error = judge(&case, &none, b"syn_a 1.25 \n", b"syn_a 1.26 \n").unwrap_err();
        assert_eq!(error, r#"byte 9: expected 12 bytes with "yn_a 1.25 \n", came 12 bytes with "yn_a 1.26 \n""#);
        assert!(judge(&case, &none, b"a", b"").is_err());
        assert!(judge(&case, &none, b"", b"").is_ok());
    }

    #[test]
    fn pitch_may_sit_on_a_neighbouring_lag_now_and_then() {
        let none = Precision::default();
        let pitch = case("pitch", "a", "compute-kaldi-pitch-feats", 0, &["--delta-pitch=0.01"], 0.0);
        let flat: Vec<&[f32]> = vec![&[0.5, 100.0]; 20];
        let with = |frames: &[&'static [f32]]| {
            let mut rows = flat.clone();
            rows[3..3 + frames.len()].copy_from_slice(frames);
            rows
        };
        assert!(check(&pitch, &none, &flat, &with(&[&[0.5009, 101.0]])));
        assert!(!check(&pitch, &none, &flat, &with(&[&[0.5011, 100.0]])));
        assert!(!check(&pitch, &none, &flat, &with(&[&[0.5, 100.5]])), "between two lags");
        assert!(!check(&pitch, &none, &flat, &with(&[&[0.5, 102.01]])), "two lags away");
        assert!(!check(&pitch, &none, &flat, &with(&[&[0.5, 101.0], &[0.5, 101.0]])), "too often");
        let loose = Precision { pitch_off_fraction: 0.1, pitch_off_steps: 1.5, nccf_off: 0.01, ..Precision::default() };
        assert!(check(&pitch, &loose, &flat, &with(&[&[0.519, 101.0], &[0.5, 103.0301], &[0.5, 99.0099]])));
        assert!(!check(&pitch, &loose, &flat, &with(&[&[0.521, 101.0]])));
        let drifted: Vec<&[f32]> = vec![&[0.5, 101.0]; 20];
        let drifting = Precision { pitch_off_fraction: 1.0, ..Precision::default() };
        assert!(!check(&pitch, &drifting, &flat, &drifted), "the mean moves by a whole lag");
        assert!(judge(&pitch, &none, &archive("unstable", &flat), &archive("unstable", &drifted)).is_ok());
        assert!(judge(&pitch, &none, &archive("unstable", &flat), &archive("unstable", &drifted[1..])).is_err());
    }

    #[test]
    fn processed_pitch_may_be_off_where_the_pitch_was() {
        let case = case("pitchproc", "a", "compute-and-process-kaldi-pitch-feats", 0, &[], 0.0);
        let expected: Vec<&[f32]> = vec![&[1.0]; 100];
        let with = |count: usize, value: &'static [f32]| {
            let mut rows = expected.clone();
            rows[..count].fill(value);
            rows
        };
        let loose = Precision { value_off_fraction: Some(0.02), value_off_max: 0.02, ..Precision::default() };
        assert!(check(&case, &loose, &expected, &with(4, &[1.07])));
        assert!(!check(&case, &loose, &expected, &with(5, &[1.07])), "too many");
        assert!(!check(&case, &loose, &expected, &with(1, &[1.09])), "too far");
        let often = Precision { value_off_fraction: Some(0.5), ..loose };
        assert!(!check(&case, &often, &expected, &with(10, &[1.07])), "the mean moves");
        assert!(!check(&case, &Precision::default(), &expected, &with(1, &[1.07])));
    }

    #[test]
    fn constant_waves_are_recognised() {
        assert!(is_constant(b"RIFF....data\x04\0\0\0\x07\0\x07\0"));
        assert!(!is_constant(b"RIFF....data\x04\0\0\0\x07\0\x08\0"));
        assert!(!is_constant(b"no wave"));
    }
}
