//! Kaldi's own files, from the folder of known answers.

use std::path::{Path, PathBuf};

use kaldi_nnet3::Nnet;

/// The files of an ending; none outside of the project.
fn files(ending: &str) -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/known-answers");
    let folder = std::env::var_os("KNOWN_ANSWERS").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = folder.unwrap_or(own).join("nnet3");
    if !folder.is_dir() {
        eprintln!("{}: no such folder: skipped", folder.display());
        return Vec::new();
    }
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    paths.sort();
    paths
}

#[test]
fn files_are_written_as_they_were_read() {
    for (ending, binary) in [("raw", true), ("txt", false)] {
        for path in files(ending) {
            let bytes = std::fs::read(&path).unwrap();
            let nnet = Nnet::read(&mut &bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut written = Vec::new();
            nnet.write(&mut written, binary).unwrap();
            assert!(written == bytes, "{}", path.display());
            let mut other = Vec::new();
            nnet.write(&mut other, !binary).unwrap();
            let kaldis = std::fs::read(path.with_extension(if binary { "txt" } else { "raw" })).unwrap();
            match binary {
                // Kaldi multiplies the statistics of a batch norm by their number and divides
                // again, which rounds.
                true if kaldis.windows(11).any(|part| part == b"<StatsMean>") => {}
                true => assert!(other == kaldis, "{} as text", path.display()),
                false => assert_eq!(other.len(), kaldis.len(), "{} as binary", path.display()),
            }
        }
    }
}
