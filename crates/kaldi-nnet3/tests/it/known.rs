//! Kaldi's own files, if `KNOWN_ANSWERS` names them.

use std::path::PathBuf;

use kaldi_nnet3::Nnet;

fn files(ending: &str) -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("KNOWN_ANSWERS") else {
        eprintln!("KNOWN_ANSWERS is not set: skipped");
        return Vec::new();
    };
    let folder = PathBuf::from(folder).join("nnet3");
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
