//! The project's own copy of known answers holds, run through the real command.

use std::path::{Path, PathBuf};
use std::process::Command;

use conformance::{Settings, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("known-answers")
}

#[test]
fn every_case_of_the_copy_runs_and_holds() {
    let settings = Settings::new(folder(), env!("CARGO_BIN_EXE_conformance").into());
    let mut report = Vec::new();
    let totals = run(&settings, &mut report).unwrap();
    assert!(totals.complete(), "{}", String::from_utf8_lossy(&report));
}

#[test]
fn the_copy_has_cases_of_each_group_that_has_code() {
    let cases = |file: &str, key: &str| {
        let text = std::fs::read_to_string(folder().join(file)).unwrap();
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        let cases = file["cases"].as_array().or(file["records"].as_array()).or(file.as_array());
        cases.unwrap().iter().map(|case| case[key].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let groups = cases("kaldi/manifest.json", "group");
    for (group, least) in [
        ("mfcc", 35),
        ("fbank", 21),
        ("plp", 13),
        ("pitch", 27),
        ("pitchproc", 4),
        ("post", 41),
        ("segments", 5),
        ("wav", 8),
        ("table", 57),
    ] {
        let count = groups.iter().filter(|name| *name == group).count();
        assert!(count >= least, "{group}: {count} cases");
    }
    for (file, count, operations) in [
        ("k2/ragged_shape.json", 556, 30),
        ("k2/ragged_ops.json", 651, 36),
        ("k2/fsa_basic.json", 210, 33),
        ("k2/intersect.json", 54, 4),
        ("k2/nbest.json", 53, 8),
        ("k2/losses.json", 104, 11),
        ("openfst/openfst.json", 219, 23),
        ("kaldi/matrix.json", 365, 100),
    ] {
        let mut names = cases(file, "op");
        assert_eq!(names.len(), count, "{file}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), operations, "{file}");
    }
}

#[test]
fn the_copy_has_every_case_of_files_by_line() {
    // Each file about LoD tensors begins with a line that is no case.
    let sets = [
        (
            "lod",
            487 + 159 + 60 + 21 + 56 + 31 + 6,
            &["lod_algebra", "seq_ops", "segment", "dynamic", "fused_rnn", "torch_rnn"][..],
        ),
        ("ndarray", 2400, &["arange", "assign", "broadcast", "coords", "index", "reshape", "strided", "views"]),
        ("strided_slice", 3090, &["rules", "slice", "grad", "update"]),
        ("ctc_decode", 77 + 60 + 148, &["greedy", "exact", "pyctc"]),
        ("ctc_align", 108, &["align"]),
        ("context_graph", 60, &["context_graph"]),
        ("endpoint", 298, &["endpoint"]),
        ("transducer_search", 40, &["transducer"]),
        ("wer", 80 + 40 + 50, &["trn", "ctm", "text"]),
    ];
    for (set, wanted, files) in sets {
        let lines = |name: &&str| {
            let text = std::fs::read_to_string(folder().join(set).join(name).with_extension("jsonl")).unwrap();
            text.lines().count()
        };
        assert_eq!(files.iter().map(lines).sum::<usize>(), wanted, "{set}");
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
