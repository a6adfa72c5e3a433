//! Identifies the run of a file of features, so that resuming never accepts a file of another
//! run.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use kaldi_io::rxfilename::{Rxfilename, classify};

use crate::Error;
use crate::pipeline::{Inputs, Source};

/// A hash of everything that determines the content of a file of features: the settings of the
/// extraction, and the list of recordings with their keys, sources, parts, channels, speakers and
/// the sizes of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(u128);

impl RunId {
    /// The run with these settings, a text in a form of the caller's, over `inputs`. It also
    /// depends on the version of this crate.
    ///
    /// ```
    /// use kaldera::pipeline::{Inputs, RunId};
    ///
    /// let inputs = Inputs::from_paths(["a.wav", "b.wav"])?;
    /// let run = RunId::new("fbank, 80 bins", &inputs);
    /// assert_eq!(run, RunId::new("fbank, 80 bins", &inputs));
    /// assert_ne!(run, RunId::new("fbank, 40 bins", &inputs));
    /// assert_ne!(run, RunId::new("fbank, 80 bins", &Inputs::from_paths(["a.wav"])?));
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    #[must_use]
    pub fn new(settings: &str, inputs: &Inputs) -> Self {
        let mut hash = Hash::default();
        hash.add(env!("CARGO_PKG_VERSION").as_bytes());
        hash.add(settings.as_bytes());
        hash.add_number(Some(inputs.len() as u64));
        // Neighbours are often parts of one recording.
        let mut last = (PathBuf::new(), None);
        let mut size_of = |path: &Path| {
            if last.0 != path {
                last = (path.to_owned(), fs::metadata(path).ok().map(|metadata| metadata.len()));
            }
            last.1
        };
        for utterance in inputs {
            hash.add(utterance.key.as_bytes());
            let about = (utterance.span, utterance.channel, &utterance.speaker);
            hash.add(format!("{about:?}").as_bytes());
            match &utterance.source {
                Source::File(path) => {
                    hash.add(path.as_os_str().as_encoded_bytes());
                    hash.add_number(size_of(path));
                }
                Source::Script(rxfilename) | Source::FoundScript(rxfilename) => {
                    hash.add(rxfilename.as_bytes());
                    if let Ok(Rxfilename::File { path } | Rxfilename::Offset { path, .. }) = classify(rxfilename) {
                        hash.add_number(size_of(path.as_ref()));
                    }
                }
                Source::Member { archive, name, offset, len } => {
                    hash.add(archive.as_os_str().as_encoded_bytes());
                    hash.add(name.as_bytes());
                    [size_of(archive), Some(*offset), Some(*len)]
                        .into_iter()
                        .for_each(|number| hash.add_number(number));
                }
                Source::Samples(recording) => {
                    hash.add(format!("{recording:?}").as_bytes());
                    for sample in recording.samples().iter() {
                        hash.add(&sample.to_le_bytes());
                    }
                }
                other => hash.add(other.to_string().as_bytes()),
            }
        }
        Self(hash.finish())
    }

    /// A run that also depends on the texts of the recordings and on their entries of a manifest,
    /// as transcripts may.
    #[must_use]
    pub fn with_texts(self, inputs: &Inputs) -> Self {
        let mut hash = Hash::default();
        hash.add(&self.0.to_le_bytes());
        for utterance in inputs {
            hash.add(format!("{:?}", (&utterance.text, &utterance.nemo)).as_bytes());
        }
        Self(hash.finish())
    }

    /// A run that also depends on the contents of these files, such as the files of a model.
    ///
    /// ```
    /// use kaldera::pipeline::{Inputs, RunId};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let weights = folder.path().join("network.safetensors");
    /// let run = RunId::new("beam 20", &Inputs::from_paths(["a.wav"])?);
    /// std::fs::write(&weights, "trained")?;
    /// let before = run.with_files([&weights])?;
    /// std::fs::write(&weights, "trained again")?;
    /// assert_ne!(run.with_files([&weights])?, before);
    /// # Ok::<(), kaldera::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Read`] for a file that cannot be read.
    pub fn with_files<P: AsRef<Path>>(self, files: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        let mut hash = Hash::default();
        hash.add(&self.0.to_le_bytes());
        let mut part = vec![];
        for path in files {
            let path = path.as_ref();
            let unreadable = |source| Error::Read { path: path.to_owned(), source };
            let file = fs::File::open(path).map_err(unreadable)?;
            loop {
                part.clear();
                (&file).take(1 << 16).read_to_end(&mut part).map_err(unreadable)?;
                hash.add(&part);
                if part.is_empty() {
                    break;
                }
            }
        }
        Ok(Self(hash.finish()))
    }

    #[cfg(test)]
    pub(in crate::pipeline::sink) fn from_number(number: u128) -> Self {
        Self(number)
    }

    /// Returns `true` if a text begins with one of these and a point.
    pub(super) fn begins(text: &[u8]) -> bool {
        text.split_at_checked(32)
            .is_some_and(|(id, rest)| id.iter().all(u8::is_ascii_hexdigit) && rest.first() == Some(&b'.'))
    }
}

/// As 32 hexadecimal digits.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A hash that is the same in every version and on every machine: FNV-1a in 128 bits, over parts
/// and their lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    pub(super) fn add(&mut self, part: &[u8]) {
        let length = (part.len() as u64).to_le_bytes();
        for &byte in length.iter().chain(part) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    pub(super) fn add_number(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.add(&number.to_le_bytes()),
            None => self.add(&[]),
        }
    }

    pub(super) fn finish(self) -> u128 {
        self.0
    }

    /// Half of it.
    pub(super) fn short(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0.to_le_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
