//! A case of `manifest.json`, and its entry in `precision.json`.

use std::collections::HashMap;

use serde::Deserialize;

/// One command line of Kaldi and its outcome. The fields are described in the README of the set.
#[derive(Debug, Deserialize)]
pub(super) struct ManifestCase {
    pub(super) id: String,
    pub(super) group: String,
    pub(super) tool: String,
    pub(super) args: Vec<String>,
    pub(super) exit: i32,
    pub(super) outputs: Vec<Output>,
    pub(super) stdout: Option<String>,
    #[serde(default)]
    pub(super) note: String,
    #[serde(default)]
    pub(super) bytes_nondeterministic: bool,
    #[serde(default, rename = "kaldi_blas_kernel_jitter_max_abs")]
    pub(super) jitter: f64,
    #[serde(default)]
    pub(super) unstable_keys: Vec<String>,
}

/// A file that Kaldi wrote, or with `absent` one that it did not.
#[derive(Debug, Deserialize)]
pub(super) struct Output {
    pub(super) path: String,
    pub(super) bytes: Option<u64>,
    pub(super) dims: Option<HashMap<String, (usize, usize)>>,
    #[serde(default)]
    pub(super) absent: bool,
}

/// The distances by which rounding moves the answers of a case.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Precision {
    /// Key -> frame -> largest difference in that frame.
    #[serde(default)]
    pub(super) rows: HashMap<String, HashMap<usize, f64>>,
    #[serde(default)]
    pub(super) pitch_off_fraction: f64,
    #[serde(default)]
    pub(super) pitch_off_steps: f64,
    #[serde(default)]
    pub(super) nccf_off: f64,
    pub(super) value_off_fraction: Option<f64>,
    #[serde(default)]
    pub(super) value_off_max: f64,
}

impl ManifestCase {
    /// True if the case only documents Kaldi and is not binding.
    pub(super) fn is_free(&self) -> bool {
        self.note.starts_with("KALDI BUG") || self.id == "err_fbank_utt2spk"
    }

    /// The last value given for an option, read as Kaldi does: underscores are dashes, a bare
    /// option is true.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.args.iter().rev().find_map(|arg| {
            let (given, value) = arg.strip_prefix("--")?.split_once('=').unwrap_or((arg.get(2..)?, "true"));
            (given.replace('_', "-") == name).then_some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_as_kaldi_reads_them() {
        let case: ManifestCase = serde_json::from_str(
            r#"{"id": "a", "group": "fbank", "tool": "t", "exit": 0, "outputs": [],
                "args": ["--use_log-fbank=true", "--use-log_fbank=false", "--return-raw-fft", "x--delta-pitch=3"]}"#,
        )
        .unwrap();
        assert_eq!(case.option("use-log-fbank"), Some("false"));
        assert_eq!(case.option("return-raw-fft"), Some("true"));
        assert_eq!(case.option("delta-pitch"), None);
        assert!(!case.is_free());
    }
}
