//! The runner itself: wrong answers of a command must be failures, each for its own reason.

use std::fs;
use std::path::Path;
use std::time::Duration;

use conformance::{Settings, Totals, run};
use serde_json::{Value, json};

/// Runs a set of one case, whose script stands in for the command; `known` is what Kaldi wrote to
/// `out/a.txt`.
fn verdict(known: Option<&str>, case: Value) -> (Totals, String) {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("kaldi");
    for name in ["audio", "in", "out"] {
        fs::create_dir_all(set.join(name)).unwrap();
    }
    fs::write(set.join("in/input"), "input").unwrap();
    fs::write(set.join("out/earlier"), "earlier").unwrap();
    let mut outputs = json!([{"path": "out/a.txt", "absent": true}]);
    if let Some(known) = known {
        fs::write(set.join("out/a.txt"), known).unwrap();
        outputs = json!([{"path": "out/a.txt", "bytes": known.len()}]);
    }
    let mut whole = json!({"id": "the-case", "group": "wav", "tool": "wav-copy", "exit": 0, "outputs": outputs});
    whole.as_object_mut().unwrap().extend(case.as_object().unwrap().clone());
    fs::write(set.join("manifest.json"), json!({"cases": [whole]}).to_string()).unwrap();

    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell.sh");
    let mut settings = Settings::new(folder.path().into(), program);
    settings.time_limit = Duration::from_secs(2);
    let mut report = Vec::new();
    let totals = run(&settings, &mut report).unwrap();
    assert_eq!(fs::read_to_string(set.join("in/input")).unwrap(), "input", "known answers are only read");
    assert_eq!(fs::read_to_string(set.join("out/earlier")).unwrap(), "earlier", "known answers are only read");
    (totals, String::from_utf8(report).unwrap())
}

fn script(script: &str) -> Value {
    json!({"args": [script]})
}

#[track_caller]
fn fails(known: Option<&str>, case: Value, why: &str) {
    let (totals, report) = verdict(known, case);
    assert_eq!(totals, Totals { fail: 1, ..Totals::default() }, "{report}");
    assert!(report.starts_with("FAILED the-case\n") && report.contains(why), "{report}");
    assert!(report.ends_with("kaldi/manifest.json: 0 of 1 hold\n"), "{report}");
}

#[track_caller]
fn holds(known: Option<&str>, case: Value) {
    let (totals, report) = verdict(known, case);
    assert_eq!(totals, Totals { hold: 1, ..Totals::default() }, "{report}");
    assert_eq!(report, "kaldi/manifest.json: 1 of 1 hold\n");
}

#[test]
fn the_right_answer_holds() {
    holds(Some("k 1 \n"), script("printf 'k 1 \\n' > out/a.txt"));
    holds(Some("k 1 \n"), json!({"args": ["printf 'k 1 \\n'"], "stdout": "out/a.txt"}));
    holds(Some(""), json!({"args": [": > out/a.txt; exit 255"], "exit": 255}));
    holds(None, json!({"args": ["exit 1"], "exit": 1}));
    holds(
        Some("k 1 \n"),
        script(
            "cat > out/a.txt; test \"$LC_ALL\" = C && test -f in/input && test -f out/earlier && printf 'k 1 \\n' > out/a.txt",
        ),
    );
}

#[test]
fn wrong_files_fail() {
    fails(
        Some("k 1 \n"),
        script("printf 'k 2 \\n' > out/a.txt"),
        "out/a.txt: byte 2: expected 5 bytes with \"k 1 \\n\", came 5 bytes with \"k 2 \\n\"",
    );
    fails(Some("k 1 \n"), script(":"), "out/a.txt: expected 5 bytes, came no file");
    fails(None, script(": > out/a.txt"), "out/a.txt: expected no such file, came one");
    fails(None, script(": > out/b.txt"), "expected no other file, came out/b.txt");
    fails(None, script(": > core"), "expected no other file, came core");
    fails(None, script("echo more >> out/earlier"), "out/earlier: expected untouched, came changed");
    fails(None, script("rm out/earlier"), "out/earlier: expected untouched, came removed");
    fails(
        Some("k 1 \n"),
        json!({"args": ["printf 'k 1.001 \\n' > out/a.txt"], "group": "mfcc"}),
        "expected 1 within 5e-4, came 1.001",
    );
}

#[test]
fn wrong_endings_fail() {
    fails(None, json!({"args": [":"], "exit": 1}), "expected exit status 1, came exit status 0: (silent)");
    fails(None, json!({"args": ["exit 1"], "exit": 255}), "expected exit status 255, came exit status 1");
    fails(None, script("echo why >&2; exit 101"), "expected exit status 0, came a panic (exit status 101): why");
    fails(None, json!({"args": ["kill -11 $$"], "exit": 255}), "came death by signal 11");
    fails(None, script("exec sleep 30"), "came no end within 2 s");
}

#[test]
fn free_and_unwritten_cases_are_no_passes() {
    let (totals, report) = verdict(Some("k"), json!({"args": ["exit 3"], "note": "KALDI BUG: so it goes"}));
    assert_eq!(
        (totals, report.as_str()),
        (Totals { free: 1, ..Totals::default() }, "kaldi/manifest.json: 0 of 0 hold, 1 free\n")
    );
    for unwritten in [json!({"args": [":"], "group": "unheard-of"}), json!({"args": [":"], "tool": "unheard-of"})] {
        let (totals, report) = verdict(None, unwritten);
        assert_eq!(
            (totals, report.as_str()),
            (Totals { not_run: 1, ..Totals::default() }, "kaldi/manifest.json: 0 of 0 hold, 1 not run\n")
        );
        assert!(!totals.complete());
    }
}

#[test]
fn damaged_cases_fail() {
    fails(None, json!({"args": 7}), "the case itself is damaged");
    fails(
        Some("k"),
        json!({"args": ["printf k > out/a.txt"], "outputs": [{"path": "out/a.txt", "bytes": 2}]}),
        "the known answer is damaged",
    );
    fails(
        Some("k"),
        json!({"args": ["printf k > out/b.txt"], "outputs": [{"path": "out/b.txt"}]}),
        "the known answer is missing",
    );
}
