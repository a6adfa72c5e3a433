//! The project's own copy of known answers holds, run through the real command.

use std::path::Path;
use std::process::Command;

use conformance::{Filter, Settings, Totals, run};

fn settings(filters: &[&str]) -> Settings {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("known-answers");
    let filters = filters.iter().map(|text| Filter::new(text)).collect();
    Settings { filters, ..Settings::new(folder, env!("CARGO_BIN_EXE_conformance").into()) }
}

#[test]
fn every_case_of_the_copy_runs_and_holds() {
    let mut report = Vec::new();
    let totals = run(&settings(&[]), &mut report).unwrap();
    assert!(totals.complete(), "{}", String::from_utf8_lossy(&report));
}

#[test]
fn the_copy_has_cases_of_each_group_that_has_code() {
    for group in ["mfcc", "fbank", "wav", "table"] {
        let totals = run(&settings(&[&format!("kaldi/manifest:{group}")]), &mut std::io::sink()).unwrap();
        assert!(totals.hold > 5 && totals == Totals { hold: totals.hold, ..Totals::default() }, "{group}: {totals}");
    }
}

#[test]
fn the_command_ends_as_documented() {
    let command = |args: &[&str], folder: Option<&Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
        match folder {
            Some(folder) => command.env("KNOWN_ANSWERS", folder),
            None => command.env_remove("KNOWN_ANSWERS"),
        };
        command.args(args).output().unwrap().status.code()
    };
    assert_eq!(command(&["kaldi/manifest:wav"], None), Some(0));
    assert_eq!(command(&["--help"], None), Some(0));
    assert_eq!(command(&["--unheard-of"], None), Some(2));
    assert_eq!(command(&["kaldi/manifest:unheard-of"], None), Some(2));
    assert_eq!(command(&[], Some(Path::new("no/such/folder"))), Some(2));
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("k2")).unwrap();
    std::fs::write(folder.path().join("k2/dense.json"), "not JSON").unwrap();
    assert_eq!(command(&[], Some(folder.path())), Some(1));
}
