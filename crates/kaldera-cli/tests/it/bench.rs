//! A folder in which the real command runs, and how it ended.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kaldera::io::table::SequentialReader;
use kaldera::io::wave::WaveData;
use kaldera::matrix::Matrix;
use tempfile::TempDir;

pub(crate) const KALDERA: &str = env!("CARGO_BIN_EXE_kaldera");

/// A folder to run the command in.
pub(crate) struct Bench(TempDir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn wav(&self, name: &str, num_samples: usize, samp_freq: f32) -> Vec<u8> {
        let sample = |i: usize| i16::try_from(i * i * 13 % 16_001).unwrap() - 8000;
        let wave = WaveData { samp_freq, num_channels: 1, samples: (0..num_samples).map(sample).collect() };
        let mut bytes = Vec::new();
        wave.write(&mut bytes).unwrap();
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), &bytes).unwrap();
        bytes
    }

    /// A second with two channels.
    pub(crate) fn stereo(&self, name: &str) {
        let wave = WaveData { samp_freq: 16_000.0, num_channels: 2, samples: vec![100; 32_000] };
        wave.write(&mut fs::File::create(self.path(name)).unwrap()).unwrap();
    }

    pub(crate) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(KALDERA);
        command.current_dir(self.0.path()).args(args).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[impl AsRef<OsStr>]) -> Ended {
        Ended::from(self.command(args).output().unwrap())
    }

    /// Runs a command line whose words have single blanks between them.
    pub(crate) fn line(&self, line: &str) -> Ended {
        self.run(&line.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a line of shell in which `$K` is the command.
    pub(crate) fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        command.current_dir(self.0.path()).env("K", KALDERA).args(["-c", line]).stdin(Stdio::null());
        Ended::from(command.output().unwrap())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn keys(&self, ark: &str) -> Vec<String> {
        features(&self.path(ark)).into_iter().map(|(key, _)| key).collect()
    }
}

/// Runs the command in a folder.
pub(crate) fn run(dir: &TempDir, args: &[impl AsRef<OsStr>]) -> Ended {
    Ended::from(Command::new(KALDERA).current_dir(dir).args(args).output().unwrap())
}

/// Runs a program that should end with `code`; returns what it printed, and what it told.
#[track_caller]
pub(crate) fn ends(dir: &TempDir, code: i32, args: &[impl AsRef<OsStr>]) -> (String, String) {
    let ended = run(dir, args).with(code);
    (ended.stdout, ended.stderr)
}

pub(crate) fn features(ark: &Path) -> Vec<(String, Matrix<f32>)> {
    let rspecifier = format!("ark:{}", ark.display());
    SequentialReader::open(&rspecifier).unwrap().map(Result::unwrap).collect()
}

/// How a process ended, with what it wrote.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let ended = Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) };
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        ended
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn tells(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "no '{word}' in {self:?}");
        }
        self
    }

    /// There is one line of `severity`, and it has all of `parts` in it.
    #[track_caller]
    pub(crate) fn has_line(self, severity: &str, parts: &[&str]) -> Self {
        let lines: Vec<_> = self.stderr.lines().filter(|line| line.starts_with(severity)).collect();
        let telling = lines.iter().filter(|line| parts.iter().all(|part| line.contains(part)));
        assert_eq!(telling.count(), 1, "{severity} {parts:?} in\n{}", self.stderr);
        self
    }
}
