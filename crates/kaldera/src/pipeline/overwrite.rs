//! Outputs that are inputs.

use std::path::{Path, PathBuf};

use kaldi_io::overwrite::ExistingFiles;
use kaldi_io::rxfilename::{Rxfilename, classify};

use crate::Error;
use crate::pipeline::inputs::files_of_shar;
use crate::pipeline::{Inputs, Source};

/// The files of a data folder that are read with it.
const OF_DATA_FOLDERS: [&str; 3] = ["wav.scp", "segments", "utt2spk"];

impl Inputs {
    /// Refuses outputs of which one is a recording or a list of recordings, by any name or link.
    /// The files that a command reads are not known. [`Pipeline::run`](super::Pipeline::run) does
    /// this with the outputs of its sink.
    ///
    /// # Errors
    /// [`Error::Overwrite`].
    pub fn refuse_overwriting(&self, outputs: &[PathBuf]) -> Result<(), Error> {
        let lists = self.paths.iter().map(PathBuf::as_path);
        refuse_overwriting(lists, outputs)?;
        let of_folders = self.paths.iter().flat_map(|path| OF_DATA_FOLDERS.map(|name| path.join(name)));
        let of_folders: Vec<_> = of_folders.chain(self.paths.iter().flat_map(|path| files_of_shar(path))).collect();
        refuse_overwriting(of_folders.iter().map(PathBuf::as_path), outputs)?;
        let sources = self.utterances().iter().filter_map(|utterance| utterance.source.path());
        refuse_overwriting(sources, outputs)
    }
}

/// Refuses outputs of which one is an input.
pub(super) fn refuse_overwriting<'a>(inputs: impl Iterator<Item = &'a Path>, outputs: &[PathBuf]) -> Result<(), Error> {
    let existing = ExistingFiles::new(outputs);
    if existing.is_empty() {
        return Ok(());
    }
    let mut last = Path::new("");
    for input in inputs {
        // Neighbours are often parts of one recording.
        if input == last {
            continue;
        }
        if let Some(output) = existing.find(input) {
            return Err(Error::Overwrite { output: output.to_owned(), input: input.display().to_string() });
        }
        last = input;
    }
    Ok(())
}

impl Source {
    /// The file that it is, or is in.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Member { archive: path, .. } => Some(path),
            Self::Script(rxfilename) | Self::FoundScript(rxfilename) => match classify(rxfilename) {
                Ok(Rxfilename::File { path } | Rxfilename::Offset { path, .. }) => Some(path.as_ref()),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn recordings_and_their_lists_are_not_overwritten_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("data")).unwrap();
        for name in ["a.wav", "b.wav", "c.wav", "free.ark", "data/segments", "data/utt2spk"] {
            fs::write(at(name), "").unwrap();
        }
        fs::write(at("data/wav.scp"), format!("r {}\n", at("b.wav").display())).unwrap();
        fs::write(at("data/segments"), "u r 0 1\n").unwrap();
        fs::write(at("list.scp"), format!("x {}:7\ny cat no-file |\n", at("c.wav").display())).unwrap();
        let mut inputs = vec!["a.wav", "b.wav", "c.wav", "list.scp", "data/wav.scp", "data/segments", "data/utt2spk"];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("data/segments"), at("soft.ark")).unwrap();
            fs::hard_link(at("c.wav"), at("hard.ark")).unwrap();
            inputs.extend(["soft.ark", "hard.ark"]);
        }
        let listed = Inputs::from_paths(["a.wav", "data", "list.scp"].map(at)).unwrap();
        for name in inputs {
            let refused = listed.refuse_overwriting(&[at("new.ark"), at("data/..").join(name)]);
            assert!(matches!(refused, Err(Error::Overwrite { .. })), "{name}");
        }
        listed.refuse_overwriting(&[at("new.ark"), at("free.ark"), at("data")]).unwrap();
    }
}
