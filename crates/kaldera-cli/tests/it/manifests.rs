//! NeMo's manifests, and archives of recordings: `transcribe` and `score`.

use std::fs;

use crate::bench::Bench;
use crate::recognition::{archive_model, random_model};

/// A manifest of two recordings of `archive_model`, whose words are "one two" and "three three".
fn manifest(bench: &Bench) -> [&'static str; 2] {
    archive_model(bench);
    let lines = [
        r#"{"text": "one two", "audio_filepath": "in/x.wav", "id": "a", "duration": 0.50, "lang": {"b": 1, "a": [2]}}"#,
        r#"{"audio_filepath": "in/b.wav", "id": "b", "pred_text": "old", "text": "three \u0074wo"}"#,
    ];
    bench.file("nemo.json", &lines.join("\n"));
    lines
}

/// The lines of [`manifest`] with the words of the model.
const PREDICTED: &str = concat!(
    r#"{"text": "one two", "audio_filepath": "in/x.wav", "id": "a", "duration": 0.50, "lang": {"b": 1, "a": [2]}, "pred_text": "one two"}"#,
    "\n",
    r#"{"audio_filepath": "in/b.wav", "id": "b", "text": "three \u0074wo", "pred_text": "three three"}"#,
    "\n"
);

#[test]
fn a_manifest_of_nemo_is_written_with_all_its_fields_and_scored() {
    let bench = Bench::new();
    manifest(&bench);
    let transcribe = |args: &[&str]| bench.run(&[&["transcribe", "--format=nemo", "model"][..], args].concat());
    assert_eq!(transcribe(&["nemo.json"]).with(0).stdout, PREDICTED);
    transcribe(&["-q", "-j2", "-o", "x.jsonl", "nemo.json"]).with(0);
    assert_eq!(bench.text("x.jsonl"), PREDICTED);
    // By shards.
    for shard in ["1/2", "2/2"] {
        transcribe(&["-q", "--shard", shard, "-o", "part.jsonl", "nemo.json"]).with(0);
    }
    assert_eq!(bench.text("part.1-of-2.jsonl") + &bench.text("part.2-of-2.jsonl"), PREDICTED);
    // Its own manifest is an input again.
    assert_eq!(transcribe(&["x.jsonl"]).with(0).stdout, PREDICTED);
    transcribe(&["-o", "x.jsonl", "x.jsonl"]).with(2).tells(&["would overwrite"]);
    bench.line("transcribe -o each/ model nemo.json").with(2).tells(&["--format=NAME", "jsonl, nemo, ctm"]);
    transcribe(&["-o", "each/", "nemo.json"]).with(0);
    assert_eq!(bench.text("each/a.jsonl") + &bench.text("each/b.jsonl"), PREDICTED);
    // With the lines of another format, the name of the file selects no manifest.
    bench.line("transcribe -o x.nemo model nemo.json").with(2).tells(&["x.nemo"]);
    bench.line("align --format=nemo model nemo.json").with(2).tells(&["'nemo'"]);

    let wer = |args: &[&str]| {
        let told = bench.run(&[&["score"], args].concat()).with(0).stdout;
        told.lines().find(|line| line.starts_with("%WER")).unwrap().to_owned()
    };
    let expected = "%WER 25.00 [ 1 / 4, 0 ins, 0 del, 1 sub ]";
    assert_eq!(wer(&["x.jsonl"]), expected);
    assert_eq!(wer(&["--format=jsonl", "x.jsonl"]), expected);
    assert_eq!(wer(&["nemo.json", "x.jsonl"]), expected);
    // As one list.
    let list = |name: &str| format!("\u{feff}[\n{}\n]", bench.text(name).trim_end().replace('\n', ",\n  "));
    bench.file("list.json", &list("x.jsonl"));
    assert_eq!(wer(&["list.json"]), expected);
    bench.file("references.json", &list("nemo.json"));
    assert_eq!(wer(&["references.json", "x.jsonl"]), expected);
    bench.file("text", "a one two\nb three two\n");
    assert_eq!(wer(&["text", "x.jsonl"]), expected);
    bench.line("transcribe -q -o ours.jsonl model nemo.json").with(0);
    assert_eq!(wer(&["nemo.json", "ours.jsonl"]), expected);
    let piped = bench.shell("\"$K\" transcribe --format=nemo model nemo.json | \"$K\" score --format=jsonl -");
    assert!(piped.with(0).stdout.contains(expected));
    // The words of the reference.
    let aligned = bench.line("align --text=nemo.json --format=text model in/a.wav").with(0).stdout;
    assert_eq!(aligned, "a one two\n");
}

#[test]
fn a_manifest_that_was_cut_off_is_gone_on_with() {
    let bench = Bench::new();
    manifest(&bench);
    bench.wav("in/x.wav", 8000, 16_000.0);
    let args = ["transcribe", "--resume", "--format=nemo", "-o", "x.jsonl", "model", "nemo.json"];
    bench.run(&args).with(0);
    assert_eq!(bench.text("x.jsonl"), PREDICTED);
    assert!(bench.run(&args).with(0).stdout.contains("nothing to do"));
    // The lines of another format are another run.
    let others = ["transcribe", "--resume", "-o", "x.jsonl", "model", "nemo.json"];
    bench.run(&others).with(0).tells(&["other options"]);
    assert!(bench.text("x.jsonl").starts_with("{\"key\":\"a\""));
    bench.run(&args).with(0).tells(&["other options"]);
    // A killed run.
    let record = bench.text("x.jsonl.resume");
    let run = record.lines().nth(1).unwrap().strip_prefix("run ").unwrap();
    fs::remove_file(bench.path("x.jsonl")).unwrap();
    bench.file(&format!("x.jsonl.{run}.abcdef.part"), &PREDICTED[..PREDICTED.len() - 5]);
    let ended = bench.run(&args).with(0);
    assert!(ended.stdout.contains("1 recording were there from an earlier run"), "{ended:?}");
    assert_eq!(bench.text("x.jsonl"), PREDICTED);
    // Fields are a part of the run, but not of features.
    let features = ["features", "--kind=fbank", "--resume", "-o", "x.ark", "nemo.json"];
    bench.run(&features).with(0);
    bench.file("nemo.json", &bench.text("nemo.json").replace("lang", "language"));
    bench.run(&args).with(0).tells(&["other options"]);
    assert!(bench.text("x.jsonl").contains("language"));
    assert!(bench.run(&features).with(0).stdout.contains("nothing to do"));
    bench.file("nemo.json", &bench.text("nemo.json").replace("\"duration\": 0.50", "\"duration\": 0.25"));
    bench.run(&features).with(0).tells(&["other"]);
}

/// The scripts of the page on scale, whose array is of two jobs here.
#[cfg(unix)]
#[test]
fn a_job_array_writes_the_manifest_and_the_word_errors_of_each_shard() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../kaldera-python/SCALE.md")).unwrap();
    let scripts = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let scripts: Vec<String> = scripts.map(|script| script.replace("shards=100", "shards=2")).collect();
    let is_job = |script: &&String| script.contains("kaldera transcribe");
    let bench = Bench::new();
    manifest(&bench);
    bench.file("test.json", &bench.text("nemo.json"));
    bench.file("job.sh", scripts.iter().find(is_job).unwrap());
    bench.file("merge.sh", scripts.iter().find(|script| script.contains("words/test.jsonl.part")).unwrap());
    let run = |line: &str| bench.shell(&format!("PATH=$(dirname \"$K\"):$PATH; {line}"));
    // A job that has not ended.
    run("SLURM_ARRAY_TASK_ID=2 bash job.sh").with(0);
    run("bash merge.sh").with(1);
    assert!(!bench.path("words/test.jsonl").exists());
    run("for i in 1 2; do SLURM_ARRAY_TASK_ID=$i bash job.sh || exit; done").with(0);
    assert_eq!(bench.text("words/test.2-of-2.jsonl").lines().count(), 1);
    let told = run("bash merge.sh").with(0).stdout;
    let rates: Vec<&str> = told.lines().map(|line| line.split(" [").next().unwrap()).collect();
    assert_eq!(rates, ["1: %WER 0.00", "2: %WER 50.00", "%WER 25.00"]);
    assert_eq!(bench.text("words/test.jsonl"), PREDICTED);
}

#[test]
fn recordings_of_no_manifest_have_their_paths_and_durations() {
    let bench = Bench::new();
    random_model(&bench);
    for name in ["in/a.wav", "in/deep/b.wav"] {
        bench.wav(name, 8000, 8000.0);
    }
    let lines = bench.line("transcribe --format=nemo model in").with(0).stdout;
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = |name: &str| serde_json::json!(bench.path(name).canonicalize().unwrap());
    let root = std::path::Path::new(lines[0]["audio_filepath"].as_str().unwrap());
    assert_eq!(serde_json::json!(root.canonicalize().unwrap()), expected("in/a.wav"));
    assert_eq!((&lines[0]["duration"], lines[0].as_object().unwrap().len()), (&serde_json::json!(1.0), 4));
    // The path does not give the key.
    assert_eq!((&lines[0]["id"], &lines[1]["id"]), (&serde_json::json!("a"), &serde_json::json!("deep-b")));
    // A run that goes on knows the keys.
    let args = ["transcribe", "--resume", "--format=nemo", "-o", "x.jsonl", "model", "in"];
    bench.run(&args).with(0);
    let (whole, record) = (bench.text("x.jsonl"), bench.text("x.jsonl.resume"));
    let run = record.lines().nth(1).unwrap().strip_prefix("run ").unwrap();
    fs::rename(bench.path("x.jsonl"), bench.path(&format!("x.jsonl.{run}.abcdef.part"))).unwrap();
    assert!(bench.run(&args).with(0).stdout.contains("2 recordings were there from an earlier run"));
    assert_eq!(bench.text("x.jsonl"), whole);
    bench.line("score x.jsonl").with(1).tells(&["x.jsonl: line 1", "no text 'text'"]);
    bench.file("wav.scp", "a cat in/a.wav |\n");
    bench.line("transcribe --format=nemo model wav.scp").with(2).tells(&["a: 'cat in/a.wav |'", "another format"]);
    // A part, with its place.
    bench.shell("mkdir data && echo 'r in/a.wav' > data/wav.scp && echo 'u r 0.25 0.75' > data/segments").with(0);
    let line = bench.line("transcribe --format=nemo model data").with(0).stdout;
    assert!(line.starts_with("{\"id\": \"u\", ") && line.contains("\"offset\": 0.25, \"duration\": 0.5, "), "{line}");
    // A matrix is no recording.
    bench.shell("rm -r model").with(0);
    archive_model(&bench);
    let ended = bench.line("transcribe --format=nemo model model/posteriors.ark");
    ended.with(2).tells(&["--format=nemo", "'a' is a matrix"]);
}

#[test]
fn a_manifest_that_cannot_be_scored_is_named_with_its_line() {
    let bench = Bench::new();
    let line = |id: &str, rest: &str| format!("{{\"audio_filepath\": \"{id}.wav\", {rest}}}\n");
    let both = r#""text": "one two", "pred_text": "one""#;
    for (text, reason) in [
        (String::new(), "there is no utterance in it"),
        ("\n\n".to_owned(), "there is no utterance in it"),
        (line("a", both) + &line("b", r#""text": "one""#), "line 2: NeMo's manifest: it has no text 'pred_text'"),
        (line("a", r#""pred_text": "one""#), "line 1: NeMo's manifest: it has no text 'text'"),
        (line("a", r#""text": null, "pred_text": "one""#), "it has no text 'text'"),
        (line("a", both) + &line("b", both) + &line("a", both), "utterance a is there twice"),
        ("{\"key\": \"a\", \"text\": \"one\"}\n".to_owned(), "line 1: NeMo's manifest: its 'audio_filepath'"),
        ("{\"audio_filepath\": 3}\n".to_owned(), "line 1: NeMo's manifest: its 'audio_filepath'"),
        (line("a", both) + "{\"audio", "line 2: EOF"),
    ] {
        bench.file("x.jsonl", &text);
        bench.line("score x.jsonl").with(1).tells(&["x.jsonl: ", reason]);
    }
    for (list, reason) in [
        ("[]", "there is no utterance in it"),
        ("[{\"audio", "EOF"),
        (
            "[{\"audio_filepath\": \"a.wav\", \"text\": \"one\"}]",
            "entry 1: NeMo's manifest: it has no text 'pred_text'",
        ),
    ] {
        bench.file("x.json", list);
        bench.line("score x.json").with(1).tells(&["x.json: ", reason]);
    }
    // Files of one name.
    bench.file("x.jsonl", &(line("/x/a", both) + &line("/y/a", both)));
    assert!(bench.line("score x.jsonl").with(0).stdout.contains("%WER 50.00 [ 2 / 4"));
    bench.file("x.txt", "a one\n");
    bench.line("score x.txt").with(2).tells(&["REF and HYP", "manifest"]);
    // Parts of one file are different utterances.
    let part = |start: u8| line("a", &format!("\"offset\": {start}, \"duration\": 1, {both}"));
    bench.file("x.jsonl", &(part(0) + &part(1)));
    assert!(bench.line("score x.jsonl").with(0).stdout.contains("%WER 50.00 [ 2 / 4"));
}

/// A tar archive of recordings with these names.
fn tar(bench: &Bench, names: &[String], contents: impl Fn(usize) -> Vec<u8>) {
    let mut bytes = vec![];
    for (i, name) in names.iter().enumerate() {
        let content = contents(i);
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        bytes.extend(header);
        bytes.extend(&content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    fs::write(bench.path("x.tar"), bytes).unwrap();
}

#[test]
fn of_a_thousand_members_the_damaged_one_is_named() {
    let bench = Bench::new();
    let wave = bench.wav("a.wav", 1600, 16_000.0);
    let names: Vec<String> = (0..1000).map(|i| format!("set/{i:04}.wav")).collect();
    let contents = |i: usize| if i == 617 { wave[..wave.len() / 2].to_vec() } else { wave.clone() };
    tar(&bench, &names, contents);
    let ended = bench.line("features --kind=fbank -q -o x.ark x.tar").with(1);
    let failed: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("failed: ")).collect();
    assert!(failed.len() == 1 && failed[0].contains("x.tar: set/0617.wav"), "{failed:?}");
    let keys = bench.keys("x.ark");
    assert_eq!((keys.len(), &*keys[0], &*keys[998]), (999, "set-0000", "set-0999"));
    assert!(!keys.contains(&"set-0617".to_owned()));
    // The header of a member: what follows it cannot be found, and that is an error.
    let mut bytes = fs::read(bench.path("x.tar")).unwrap();
    let at = bytes.windows(12).position(|name| name == b"set/0500.wav").unwrap();
    bytes[at] ^= 1;
    fs::write(bench.path("x.tar"), bytes).unwrap();
    bench.line("features --kind=fbank -q -o x.ark x.tar").with(1).tells(&["rejected: x.tar: "]);
    assert_eq!(bench.keys("x.ark").len(), 500);
}

#[test]
fn names_in_archives_are_keys_and_no_paths() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = bench.wav("a.wav", 8000, 16_000.0);
    // The files of these names are no audio.
    let outside = bench.path("outside.wav").display().to_string();
    bench.file("outside.wav", "secret");
    tar(&bench, &["../outside.wav".to_owned(), outside], |_| wave.clone());
    bench.line("features --kind=fbank -q -o x.ark x.tar").with(0);
    let keys = bench.keys("x.ark");
    assert_eq!((keys.len(), &*keys[0]), (2, "outside"));
    assert!(keys[1].ends_with("-outside") && !keys[1].starts_with('-'), "{keys:?}");
    // Of lhotse's Shar, a cut is a name in the archive, too.
    bench.shell("mkdir shar && mv x.tar shar/recording.000000.tar").with(0);
    let cut = |id: &str, source: &str| {
        format!(
            r#"{{"id": "{id}", "start": 0, "duration": 1, "channel": 0, "recording": {{"id": "{id}", "sources": [{{"type": "file", "source": "{source}"}}]}}}}"#
        )
    };
    bench.file("shar/cuts.000000.jsonl", &(cut("../outside", "/etc/hostname") + "\n" + &cut("../a", "a.wav")));
    let ended =
        bench.line("features --kind=fbank -q -o y.ark shar").with(1).tells(&["jsonl:2: its shard has no recording"]);
    assert!(ended.stderr.contains("belong to no cut"), "{ended:?}");
    assert_eq!(bench.keys("y.ark"), ["../outside"]);
    // A zip archive and an empty tar are refused by name.
    fs::write(bench.path("x.zip"), b"PK\x03\x04\x14\0\0\0\0\0").unwrap();
    for command in ["features --kind=fbank -o z.ark x.zip", "transcribe model x.zip"] {
        bench.line(command).with(1).tells(&["x.zip", "zip archive", "unzip FILE"]);
    }
    fs::write(bench.path("empty.tar"), [0; 1024]).unwrap();
    bench.line("features --kind=fbank -o z.ark empty.tar").with(1).tells(&["empty.tar"]);
    fs::write(bench.path("empty.tar"), []).unwrap();
    bench.line("features --kind=fbank -o z.ark empty.tar").with(1).tells(&["empty.tar"]);
}
