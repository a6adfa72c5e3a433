//! A model that recognises connected English digits, zero to nine, and a recording to try it with.
//!
//! It is a model folder of Kaldera in a crate, so that a program can bring one along:
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! kaldera_digits::write_model(folder.path())?;
//! // For Recognizer::open, or `kaldera transcribe`.
//! assert!(folder.path().join("model.toml").exists());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The README describes the training data and the error rate, NOTICE.md names the owners of the
//! recordings. Model and recording are under CC BY-SA 4.0.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The description of the model: `model.toml`.
pub const MODEL_TOML: &str = include_str!("../model/model.toml");

/// The blank and the digits: `tokens.txt`.
pub const TOKENS: &str = include_str!("../model/tokens.txt");

/// `NOTICE.md`, which names the owners of the recordings.
pub const NOTICE: &str = include_str!("../NOTICE.md");

/// The weights: `network.safetensors`.
pub const NETWORK: &[u8] = include_bytes!("../model/network.safetensors");

/// A WAV file of 8 kHz in which a speaker says some digits. The model was not trained on these
/// takes.
pub const RECORDING: &[u8] = include_bytes!("../digits.wav");

/// The digits of [`RECORDING`].
pub const TRANSCRIPT: &str = "three two five nine";

/// The files of the folder, in the order in which they are looked at.
const FILES: [(&str, &[u8]); 5] = [
    ("model.toml", MODEL_TOML.as_bytes()),
    ("network.safetensors", NETWORK),
    ("tokens.txt", TOKENS.as_bytes()),
    ("digits.wav", RECORDING),
    ("NOTICE.md", NOTICE.as_bytes()),
];

/// A counter that distinguishes folders written at the same time.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// Writes the model, its notice and the recording, `digits.wav`, into a folder, which appears
/// whole or not at all. The folder may be missing or empty. If it has these files already,
/// nothing is done.
///
/// # Errors
/// Errors of the file system, and [`AlreadyExists`](io::ErrorKind::AlreadyExists), with the first
/// file that differs, for a folder that holds something else.
pub fn write_model(folder: &Path) -> io::Result<()> {
    if !is_vacant(folder)? {
        return compare(folder);
    }
    let Some(name) = folder.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "such a folder cannot be made: name a new one"));
    };
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".{}-{}.part", process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let part = folder.with_file_name(part);
    if let Some(parent) = part.parent() {
        fs::create_dir_all(parent)?;
    }
    let made = write_files(&part).and_then(|()| fs::rename(&part, folder));
    if made.is_err() {
        // The remaining part is no model.
        let _ = fs::remove_dir_all(&part);
    }
    // Another call may have been faster.
    made.or_else(|error| compare(folder).map_err(|_| error))
}

/// Returns `true` if there is no such folder, or nothing in it.
fn is_vacant(folder: &Path) -> io::Result<bool> {
    match folder.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
        Ok(_) => Ok(fs::read_dir(folder)?.next().is_none()),
    }
}

/// An error unless a folder has all files.
fn compare(folder: &Path) -> io::Result<()> {
    for (name, bytes) in FILES {
        let path = folder.join(name);
        let is_same = match fs::metadata(&path) {
            Ok(found) => found.is_file() && found.len() == bytes.len() as u64 && fs::read(&path)? == bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !is_same {
            let reason = format!("it exists, and {name} in it is not that of this model: name another folder");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
        }
    }
    Ok(())
}

/// Makes a folder of all files, and waits until they are on the disk.
fn write_files(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    for (name, bytes) in FILES {
        let mut file = File::create_new(folder.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_has_the_files_that_the_model_names() {
        let folder = tempfile::tempdir().unwrap();
        write_model(&folder.path().join("a/b")).unwrap();
        write_model(&folder.path().join("a/b/")).unwrap(); // again is fine
        for name in ["tokens.txt", "network.safetensors"] {
            assert!(MODEL_TOML.contains(&format!("\"{name}\"")), "{name}");
            assert!(folder.path().join("a/b").join(name).exists(), "{name}");
        }
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), FILES.len());
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn folders_of_something_else_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path, named: &str| {
            let error = write_model(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{error}");
            assert!(error.to_string().contains(named), "{error}");
        };
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("model.toml"), "kind = 'ctc'").unwrap();
        refused(&other, "model.toml");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
        assert_eq!(fs::read(other.join("model.toml")).unwrap(), b"kind = 'ctc'");
        let own = folder.path().join("own");
        write_model(&own).unwrap();
        fs::write(own.join("notes.txt"), "mine").unwrap();
        write_model(&own).unwrap();
        let tokens = TOKENS.replace("one", "eno");
        fs::write(own.join("tokens.txt"), &tokens).unwrap();
        refused(&own, "tokens.txt");
        assert_eq!(fs::read(own.join("tokens.txt")).unwrap(), tokens.as_bytes());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(write_model(&folder.path().join("file")).is_err());
        assert!(write_model(&folder.path().join("file/x")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn model_is_small_and_the_recording_a_wav_file() {
        assert!(NETWORK.len() < 400_000, "{} bytes", NETWORK.len());
        assert_eq!(TOKENS.lines().count(), 11);
        assert!(RECORDING.starts_with(b"RIFF") && RECORDING.len() < 100_000);
        assert!(TRANSCRIPT.split(' ').all(|word| TOKENS.contains(&format!("{word} "))), "{TRANSCRIPT}");
    }
}
