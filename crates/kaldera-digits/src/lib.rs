//! A model that recognises connected English digits, zero to nine, and a recording to try it with.
//!
//! It is a model folder of Kaldera in a crate, so that a program can bring one along:
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! kaldera_digits::write_model(folder.path())?;
//! assert!(folder.path().join("model.toml").exists()); // for Recognizer::open, or `kaldera transcribe`
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The README says what it was trained on and how often it is wrong, NOTICE.md whose recordings
//! these are. Model and recording are under CC BY-SA 4.0.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use std::fs;
use std::io;
use std::path::Path;

/// The description of the model: `model.toml`.
pub const MODEL_TOML: &str = include_str!("../model/model.toml");

/// The blank and the digits: `tokens.txt`.
pub const TOKENS: &str = include_str!("../model/tokens.txt");

/// Whose recordings these are: `NOTICE.md`.
pub const NOTICE: &str = include_str!("../NOTICE.md");

/// The weights: `network.safetensors`.
pub const NETWORK: &[u8] = include_bytes!("../model/network.safetensors");

/// Somebody says some digits: a WAV file of 8 kHz, whose takes the model was not trained on.
pub const RECORDING: &[u8] = include_bytes!("../digits.wav");

/// The digits of [`RECORDING`].
pub const TRANSCRIPT: &str = "three two five nine";

/// Writes the model, its notice and the recording, `digits.wav`, into a folder, which is made if
/// there is none. Each file appears whole or not at all; `model.toml` is the last.
///
/// # Errors
/// What the file system reports.
pub fn write_model(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let files = [
        ("NOTICE.md", NOTICE.as_bytes()),
        ("digits.wav", RECORDING),
        ("tokens.txt", TOKENS.as_bytes()),
        ("network.safetensors", NETWORK),
        ("model.toml", MODEL_TOML.as_bytes()),
    ];
    for (name, bytes) in files {
        let partial = folder.join(format!("{name}.partial"));
        fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, folder.join(name)))?;
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
        write_model(&folder.path().join("a/b")).unwrap(); // again is fine
        for name in ["tokens.txt", "network.safetensors"] {
            assert!(MODEL_TOML.contains(&format!("\"{name}\"")), "{name}");
            assert!(folder.path().join("a/b").join(name).exists(), "{name}");
        }
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), 5);
    }

    #[test]
    fn model_is_small_and_the_recording_a_wav_file() {
        assert!(NETWORK.len() < 400_000, "{} bytes", NETWORK.len());
        assert_eq!(TOKENS.lines().count(), 11);
        assert!(RECORDING.starts_with(b"RIFF") && RECORDING.len() < 100_000);
        assert!(TRANSCRIPT.split(' ').all(|word| TOKENS.contains(&format!("{word} "))), "{TRANSCRIPT}");
    }
}
