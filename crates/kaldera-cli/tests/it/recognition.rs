//! From recordings to words: `transcribe`, `align`, `stream`, `score`, `model`, and `plot` of words.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use kaldera::io::wave::WaveData;
use kaldera::matrix::Matrix;
use kaldera::network::ParameterStore;
use kaldera::pipeline::{FeatureFile, FeatureSink as _};

use crate::bench::{Bench, Ended};

const TOKENS: &str = "<blk> 0\none 1\ntwo 2\nthree 3\n";

/// A model whose network is an archive with what recordings `a` and `b` say, and these recordings.
pub(crate) fn archive_model(bench: &Bench) {
    fs::create_dir(bench.path("model")).unwrap();
    let mut archive = FeatureFile::create(bench.path("model/posteriors.ark")).unwrap();
    for (key, tokens) in [("a", &[0, 1, 1, 0, 2][..]), ("b", &[3, 0, 3])] {
        let score = |row: usize, column| if tokens[row] == column { 0.7_f32.ln() } else { 0.1_f32.ln() };
        archive.write(key, Matrix::from_fn(tokens.len(), 4, score).view()).unwrap();
    }
    archive.finish().unwrap();
    bench.file("model/tokens.txt", TOKENS);
    let network = "[network]\nfile = 'posteriors.ark'\n";
    bench.file("model/model.toml", &format!("kind = 'ctc'\ntokens = 'tokens.txt'\nframe-shift = 0.1\n{network}"));
    for name in ["in/a.wav", "in/b.wav"] {
        bench.wav(name, 8000, 16_000.0);
    }
}

/// A model of random weights for audio of 8 kHz.
pub(crate) fn random_model(bench: &Bench) {
    fs::create_dir(bench.path("model")).unwrap();
    let mut weights = ParameterStore::new();
    let values = (0_u16..80).map(|i| f32::from(i * 37 % 23) / 23.0 - 0.5).collect();
    weights.insert("output.weight", &[4, 20], values).unwrap();
    weights.insert("output.bias", &[4], vec![-100.0, 0.0, 0.5, 1.0]).unwrap();
    weights.save(bench.path("model/network.safetensors")).unwrap();
    bench.file("model/tokens.txt", TOKENS);
    bench.file(
        "model/model.toml",
        "kind = 'ctc'\ntokens = 'tokens.txt'\n\
         features = { kind = 'fbank', sample-frequency = 8000, num-mel-bins = 20 }\n\
         [network]\nfile = 'network.safetensors'\n\
         layers = [{ kind = 'linear', name = 'output' }, { kind = 'log-softmax' }]\n",
    );
}

#[test]
fn a_model_names_files_of_its_folder_only() {
    let bench = Bench::new();
    random_model(&bench);
    let description = bench.text("model/model.toml");
    bench.file("secret", "root:x:0:0\n");
    let absolute = bench.path("secret").display().to_string();
    for file in ["../secret", &absolute, "nothing/../../secret"] {
        bench.file("model/model.toml", &description.replace("tokens.txt", file));
        let ended = bench.line("model check model").with(1).tells(&["key tokens", "--allow-outside"]);
        assert!(!ended.stderr.contains("root:x"), "{ended:?}");
        // It is no list of tokens.
        bench.line("model check --allow-outside model").with(1).tells(&["tokens"]);
    }
    bench.file("model/model.toml", &description);
    bench.shell("mv model/tokens.txt elsewhere && ln -s ../elsewhere model/tokens.txt").with(0);
    bench.line("model check model").with(1).tells(&["key tokens", "is not in the model's folder"]);
    bench.line("model check --allow-outside model").with(0);
    bench.shell("rm model/tokens.txt && mkfifo model/tokens.txt").with(0);
    bench.line("model check --allow-outside model").with(1).tells(&["is not a regular file"]);
    // A file of the command line may lie anywhere.
    bench.shell("rm model/tokens.txt && mv elsewhere model/tokens.txt").with(0);
    bench.wav("a.wav", 8000, 8000.0);
    bench.file("hot", "two\n");
    bench.line("transcribe --hotwords=hot model a.wav").with(0);
}

#[test]
fn each_format_of_transcripts_has_the_words_and_their_times() {
    let bench = Bench::new();
    archive_model(&bench);
    let ended = bench.run(&["transcribe", "model", "in"]).with(0);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("a one two\nb three three\n", ""));
    bench.run(&["transcribe", "-o", "x.jsonl", "--nbest=2", "model", "in"]).with(0);
    let lines = fs::read_to_string(bench.path("x.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["key"], &lines[0]["text"], lines.len()), (&"a".into(), &"one two".into(), 2));
    assert_eq!(lines[0]["hypotheses"].as_array().unwrap().len(), 2);
    // As many as there are, if there is one.
    let line = bench.run(&["transcribe", "--format=jsonl", "--nbest=9", "--beam=1", "model", "in/a.wav"]).stdout;
    assert!(line.contains("\"hypotheses\":[{"), "{line}");
    assert!(!bench.run(&["transcribe", "--format=jsonl", "model", "in/a.wav"]).stdout.contains("hypotheses"));
    for (out, expected) in [
        ("x.ctm", "a 1 0.100 0.200 one\na 1 0.400 0.100 two\nb 1 0.000 0.100 three\nb 1 0.200 0.100 three\n"),
        ("x.trn", "one two (a)\nthree three (b)\n"),
        ("x.txt", "a one two\nb three three\n"),
    ] {
        bench.run(&["transcribe", "-q", "-j2", "-o", out, "model", "in"]).with(0);
        assert_eq!(fs::read_to_string(bench.path(out)).unwrap(), expected);
    }
    for (out, word) in [("x.srt", "00:00:00,100 --> "), ("x.vtt", "WEBVTT"), ("x.TextGrid", "text = \"two\"")] {
        bench.run(&["transcribe", "-o", out, "model", "in/a.wav"]).with(0);
        assert!(fs::read_to_string(bench.path(out)).unwrap().contains(word), "{out}");
        bench.run(&["transcribe", "-o", out, "model", "in"]).with(2).tells(&["one recording"]);
    }
    let ended = bench.run(&["transcribe", "--format=ctm", "model", "in/a.wav"]).with(0);
    assert_eq!(ended.stdout, "a 1 0.100 0.200 one\na 1 0.400 0.100 two\n");
    bench.run(&["transcribe", "-q", "--format=trn", "-o", "x.doc", "model", "in/a.wav"]).with(0);
    assert_eq!(fs::read_to_string(bench.path("x.doc")).unwrap(), "one two (a)\n");
    bench.run(&["transcribe", "--format=cmt", "model", "in"]).with(2).tells(&["cmt", "ctm"]);
    bench.run(&["transcribe", "--format=srt", "model", "in"]).with(2).tells(&["--format=srt", "one recording"]);
    bench.run(&["transcribe", "-o", "x.doc", "model", "in"]).with(2).tells(&["x.doc", ".jsonl"]);
    bench.run(&["transcribe", "-o", "x.txt", "--shard=2/2", "-q", "model", "in"]).with(0);
    assert_eq!(fs::read_to_string(bench.path("x.2-of-2.txt")).unwrap(), "b three three\n");
}

#[test]
fn a_damaged_recording_is_left_out_and_named() {
    let bench = Bench::new();
    random_model(&bench);
    for name in ["in/a.wav", "in/c.wav"] {
        bench.wav(name, 8000, 8000.0);
    }
    bench.file("in/b.wav", "this is not a recording");
    let ended = bench.run(&["transcribe", "model", "in", "-o", "x.txt"]).with(1);
    assert!(ended.stderr.contains("failed: ") && ended.stderr.contains("b.wav"), "{ended:?}");
    assert!(ended.stdout.contains("2 recordings"), "{ended:?}");
    assert_eq!(fs::read_to_string(bench.path("x.txt")).unwrap().lines().count(), 2);
    // All failed: no file.
    bench.run(&["transcribe", "model", "in/b.wav", "-o", "y.txt"]).with(1).tells(&["b.wav"]);
    assert!(!bench.path("y.txt").exists());
    bench.run(&["transcribe", "model"]).with(2);
    bench.run(&["transcribe"]).with(2).tells(&["MODEL"]);
    bench.run(&["transcribe", "nowhere", "in"]).with(1).tells(&["nowhere"]);
}

#[test]
fn a_run_that_was_cut_off_is_gone_on_with() {
    let bench = Bench::new();
    random_model(&bench);
    for name in ["in/a.wav", "in/b.wav", "in/c.wav"] {
        bench.wav(name, 8000, 8000.0);
    }
    let args = ["transcribe", "--resume", "-o", "x.jsonl", "model", "in"];
    bench.run(&["transcribe", "-q", "-o", "whole.jsonl", "model", "in"]).with(0);
    let whole = fs::read_to_string(bench.path("whole.jsonl")).unwrap();
    bench.run(&args).with(0);
    assert_eq!(fs::read_to_string(bench.path("x.jsonl")).unwrap(), whole);
    assert!(bench.run(&args).with(0).stdout.contains("nothing to do"));
    // What a killed run leaves.
    let record = fs::read_to_string(bench.path("x.jsonl.resume")).unwrap();
    let run = record.lines().nth(1).unwrap().strip_prefix("run ").unwrap();
    fs::remove_file(bench.path("x.jsonl")).unwrap();
    fs::write(bench.path(&format!("x.jsonl.{run}.abcdef.part")), &whole[..whole.len() - 5]).unwrap();
    let ended = bench.run(&args).with(0);
    assert!(ended.stdout.contains("2 recordings were there from an earlier run"), "{ended:?}");
    assert_eq!(fs::read_to_string(bench.path("x.jsonl")).unwrap(), whole);
    // A network that was trained anew is another run.
    let (path, file) =
        (bench.path("model/network.safetensors"), fs::read(bench.path("model/network.safetensors")).unwrap());
    let mut other = file.clone();
    *other.last_mut().unwrap() ^= 1;
    fs::write(&path, other).unwrap();
    bench.run(&args).with(0).tells(&["other options"]);
    // So are other words in a file of hot words.
    for (words, status) in [("one", "other options"), ("two", "other options")] {
        bench.file("hot", words);
        bench.run(&[&args[..], &["--hotwords=hot"]].concat()).with(0).tells(&[status]);
    }
    // Other options are another run.
    bench.run(&[&args[..], &["--nbest=2"]].concat()).with(0).tells(&["other options"]);
    for (output, found) in [(&["-o", "x.ctm"][..], "OUT is x.ctm"), (&[], "OUT is standard output")] {
        let ended = bench.run(&[&["transcribe", "--resume", "model", "in"], output].concat());
        ended.with(2).tells(&[found, "use -o OUT.jsonl"]);
    }
    let ended = bench.run(&["transcribe", "--resume", "--format=text", "-o", "y.jsonl", "model", "in"]);
    ended.with(2).tells(&["--format=text", "use --format=jsonl"]);
}

#[test]
fn words_of_a_transcript_are_found() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.file("text", "a one two\nb three\n");
    bench.run(&["align", "--text=text", "-o", "x.ctm", "-q", "model", "in/a.wav"]).with(0);
    let ctm = fs::read_to_string(bench.path("x.ctm")).unwrap();
    assert!(ctm.starts_with("a 1 0.100 0.200 one ") && ctm.contains("\na 1 0.400 0.100 two "), "{ctm}");
    bench.file("text", "a one four\n");
    bench.run(&["align", "--text=text", "-o", "x.ctm", "model", "in"]).with(1).tells(&["four", "no transcript of b"]);
    bench.run(&["align", "-o", "x.ctm", "model", "in"]).with(2).tells(&["--text"]);
    bench.run(&["align", "--text=text", "--max-part=3", "-o", "x.ctm", "model", "in"]).with(2).tells(&["max-part"]);
    bench.file("text", "a one\nb three\na two\n");
    bench.run(&["align", "--text=text", "-o", "x.ctm", "model", "in"]).with(1).tells(&["utterance a", "twice"]);
}

#[test]
fn alignments_go_to_standard_output_with_their_times() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.file("text", "a one two\nb three\n");
    let ctm = bench.run(&["align", "--text=text", "model", "in/a.wav"]).with(0).stdout;
    assert!(ctm.starts_with("a 1 0.100 0.200 one "), "{ctm}");
    let text = bench.run(&["align", "--text=text", "--format=text", "model", "in/a.wav"]).with(0).stdout;
    assert_eq!(text, "a one two\n");
}

#[test]
fn an_archive_of_log_probabilities_needs_no_audio() {
    let bench = Bench::new();
    archive_model(&bench);
    let all = "a one two\nb three three\n";
    assert_eq!(bench.run(&["transcribe", "model", "model/posteriors.ark"]).with(0).stdout, all);
    bench.file("keys.scp", "b nowhere.wav\na nowhere.wav\nc nowhere.wav\n");
    let some = bench.run(&["transcribe", "model", "keys.scp"]).with(1).tells(&["utterance c"]);
    assert_eq!(some.stdout, "b three three\na one two\n");
    let line = bench.run(&["transcribe", "--format=jsonl", "model", "model/posteriors.ark"]).with(0).stdout;
    assert!(line.contains("\"seconds\":0.5"), "{line}");
    bench.file("text", "b three\n");
    let ctm = bench.run(&["align", "--text=text", "model", "keys.scp"]).with(1).stdout;
    assert!(ctm.starts_with("b 1 0.000 0.100 three"), "{ctm}");
    assert!(bench.line("model check model").with(0).stdout.contains("log-probabilities of an archive"));
    stream(&bench, &["model"], &[]).with(1).tells(&["key network.file", "posteriors.ark", "'kaldera decode'"]);
    // The list of the archive, whose commands are not run.
    let description = bench.text("model/model.toml");
    bench.file("model/model.toml", &description.replace("posteriors.ark", "posteriors.scp"));
    for path in ["model/posteriors.scp", "model/posteriors.ark"] {
        assert_eq!(bench.run(&["transcribe", "model", path]).with(0).stdout, all);
    }
    bench.run(&["transcribe", "model", "in", "-o", "model/posteriors.ark"]).with(2);
    bench.file("model/posteriors.scp", "a sh -c 'touch mark' |\n");
    bench.run(&["transcribe", "model", "in"]).with(1).tells(&["posteriors.scp"]);
    assert!(!bench.path("mark").exists());
}

#[test]
fn log_probabilities_are_decoded_with_the_rest_of_any_model() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.shell("mv model/posteriors.ark x.ark && rm -r model").with(0);
    random_model(&bench);
    let decode = |args: &[&str]| bench.run(&[&["decode"][..], args].concat());
    assert_eq!(decode(&["model", "x.ark"]).with(0).stdout, "a one two\nb three three\n");
    assert_eq!(decode(&["model", "x.ark", "x.ark"]).with(1).tells(&["a"]).stdout, "a one two\nb three three\n");
    decode(&["model", "-q", "-j2", "--nbest=2", "-o", "x.jsonl", "--resume", "x.ark"]).with(0);
    assert!(bench.text("x.jsonl").lines().all(|line| line.contains("hypotheses") && line.contains("\"seconds\":0.0")));
    let again = decode(&["model", "-j2", "--nbest=2", "-o", "x.jsonl", "--resume", "x.ark"]).with(0);
    assert!(again.stdout.contains("nothing to do"), "{again:?}");
    // Without the network the description must have its subsampling, or no network.
    bench.shell("rm model/network.safetensors").with(0);
    decode(&["model", "x.ark"]).with(1).tells(&["key subsampling", "network.safetensors"]);
    let description = bench.text("model/model.toml");
    bench.file("model/model.toml", &format!("subsampling = 1\n{description}"));
    let found = decode(&["--format=ctm", "model", "x.ark"]).with(0).stdout;
    assert!(found.starts_with("a 1 0.010 0.020 one\n"), "{found}");
    bench.file("model/model.toml", "kind = 'ctc'\ntokens = 'tokens.txt'\nframe-shift = 0.1\n");
    let found = decode(&["--format=ctm", "model", "x.ark"]).with(0).stdout;
    assert!(found.starts_with("a 1 0.100 0.200 one\n"), "{found}");
    bench.run(&["transcribe", "model", "in"]).with(1).tells(&["key network.file: it is missing", "kaldera decode"]);
    let checked = bench.run(&["model", "check", "model"]).with(0).stdout;
    assert_eq!(
        checked,
        "model: 4 tokens, a frame each 100.0 ms\nno network: 'kaldera decode' takes log-probabilities\n"
    );
    bench.file("model/model.toml", "kind = 'ctc'\ntokens = 'tokens.txt'\n");
    bench.run(&["model", "check", "model"]).with(1).tells(&["key frame-shift: it is missing"]);
    bench.file("model/model.toml", "kind = 'ctc'\ntokens = 'tokens.txt'\nframe-shift = 0.1\n");
    decode(&["model"]).with(2).tells(&["ARCHIVE is missing"]);
    decode(&["--channel=1", "model", "x.ark"]).with(2).tells(&["channel"]);
    decode(&["model", "nowhere.ark"]).with(1).tells(&["nowhere.ark"]);
    decode(&["model", "x.wav"]).with(2).tells(&["x.wav", ".ark"]);
    for output in ["x.ark", "model/tokens.txt"] {
        decode(&["model", "x.ark", "--format=text", "-o", output]).with(2).tells(&["would overwrite"]);
    }
    bench.file("model/tokens.txt", "<blk> 0\none 1\n");
    decode(&["model", "x.ark"]).with(1).tells(&["key tokens", "4 scores"]);
}

#[test]
fn a_ctm_has_the_recordings_channels_and_times_of_segments() {
    let bench = Bench::new();
    archive_model(&bench);
    fs::create_dir(bench.path("data")).unwrap();
    bench.file("data/wav.scp", "rec-A nowhere.wav\nrec-B nowhere.wav\n");
    bench.file("data/segments", "a rec-A 10.5 11.0\nb rec-B 2 2.3\n");
    let ctm = |args: &[&str]| bench.run(&[&["transcribe", "--format=ctm", "model"][..], args].concat()).with(0).stdout;
    let found = ctm(&["data"]);
    assert!(found.starts_with("rec-A 1 10.600 0.200 one\nrec-A 1 10.900 0.100 two\nrec-B 1 2.000 "), "{found}");
    bench.file("data/reco2file_and_channel", "rec-A call A\nrec-B call B\n");
    let found = ctm(&["data"]);
    assert!(
        found.starts_with("call A 10.600 0.200 one\n") && found.contains("\ncall B 2.000 0.100 three\n"),
        "{found}"
    );
    bench.file("h.ctm", &found);
    bench.file("r.stm", "call A ann 10.5 11 one two\ncall B ben 2 2.3 three three\n");
    assert!(bench.run(&["score", "r.stm", "h.ctm"]).with(0).stdout.contains("%WER 0.00 [ 0 / 4"));
    // By number, as of two runs over the channels of a recording.
    let numbers = [ctm(&["in/a.wav"]), ctm(&["--channel=1", "in/b.wav"])].concat();
    assert!(numbers.contains("\nb 2 0.000 "), "{numbers}");
    bench.file("h.ctm", &numbers);
    bench.file("r.stm", "a A ann 0 1 one two\nb B ben 0 1 three three\n");
    assert!(bench.run(&["score", "r.stm", "h.ctm"]).with(0).stdout.contains("%WER 0.00 [ 0 / 4"));
}

#[test]
fn a_folder_gets_a_file_of_each_recording() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.file("text", "a one two\nb three\n");
    bench.run(&["align", "--text=text", "--format=TextGrid", "-o", "new/grids/", "model", "in"]).with(0);
    bench.run(&["transcribe", "--format=srt", "-o", "new", "model", "in"]).with(0);
    for name in ["new/grids/a.TextGrid", "new/grids/b.TextGrid", "new/a.srt", "new/b.srt"] {
        assert!(fs::read_to_string(bench.path(name)).unwrap().contains(if name.contains('b') {
            "three"
        } else {
            "two"
        }));
    }
    bench.run(&["transcribe", "-o", "new", "model", "in"]).with(2).tells(&["new is a folder", "--format"]);
    bench.file("keys.scp", "../a x.wav\n");
    bench.run(&["transcribe", "-o", "new/", "--format=srt", "model", "keys.scp"]).with(2).tells(&["'../a'"]);
    let resumed = ["transcribe", "--resume", "-o", "new/", "--format=jsonl", "model", "in"];
    bench.run(&resumed).with(2).tells(&["OUT is the folder new/"]);
    bench.run(&["transcribe", "--caption-lines=0", "model", "in"]).with(2).tells(&["--caption-"]);
}

#[test]
#[cfg(unix)]
fn work_ends_when_nobody_reads_its_results() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.file("text", "a one two\nb three\n");
    for command in ["transcribe model in", "align --text=text model in", "plot in/a.wav"] {
        bench.shell(&format!("{{ sleep 0.2; \"$K\" {command}; echo $? >&2; }} | true")).with(0).tells(&["141"]);
    }
}

/// Where the middle of a word is in an image.
fn x_of(svg: &str, word: &str) -> f64 {
    let at = svg.find(&format!("\n{word}\n")).unwrap_or_else(|| panic!("no '{word}' in {svg}"));
    let text = &svg[svg[..at].rfind("<text").unwrap()..at];
    assert!(text.contains("text-anchor=\"middle\""), "{text}");
    text.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
}

#[test]
fn words_are_drawn_where_they_are_said() {
    let bench = Bench::new();
    archive_model(&bench);
    for out in ["x.ctm", "x.TextGrid", "x.jsonl"] {
        bench.run(&["transcribe", "-q", "-o", out, "model", "in/a.wav"]).with(0);
        bench.run(&["plot", "in/a.wav", &format!("--words={out}"), "-o", "x.svg"]).with(0);
        let svg = fs::read_to_string(bench.path("x.svg")).unwrap();
        // Of half a second, which are 810 pixels from the 68th on.
        for (word, middle) in [("one", 0.2), ("two", 0.45)] {
            let (found, expected) = (x_of(&svg, word), 68.0 + 810.0 * middle / 0.5);
            assert!((found - expected).abs() <= 2.0, "{out}: {word} at {found}, not {expected}");
        }
        let text = bench.run(&["plot", "in/a.wav", &format!("--words={out}")]).with(0).stdout;
        assert!(text.starts_with("a, 0.50 s: 2 words, spectrogram\n"), "{text}");
        // Of 88 columns.
        assert!(text.contains(&format!("words |{:17}one{:50}two\n", "", "")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
    // The words and the posteriors of a model.
    let text = bench.run(&["plot", "in/a.wav", "--model=model"]).with(0).stdout;
    assert!(text.contains("a: posteriors") && text.contains("    three |") && text.contains("2 words"), "{text}");
    bench.run(&["plot", "in/a.wav", "--model=model", "-o", "x.svg"]).with(0);
    let svg = fs::read_to_string(bench.path("x.svg")).unwrap();
    for name in ["&lt;blk&gt;", "three", "one"] {
        assert!(svg.contains(&format!("\n{name}\n")), "{name}");
    }
    bench.run(&["plot", "in/a.wav", "--model=model", "--words=x.ctm", "-o", "x.png"]).with(0);
}

#[test]
fn words_that_cannot_be_drawn_are_named() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.file("x.ctm", "a 1 0.1 0.2 one\na 1 0.4 0.3 two\na 1 0.6 0.1 late\nb 1 0 0.1 x\n");
    let ended = bench.run(&["plot", "in/a.wav", "--words=x.ctm"]).with(0).tells(&["beyond the end", "'late'", "0.6 s"]);
    assert!(ended.stdout.contains(" two\n") && !ended.stdout.contains("late"), "{ended:?}");
    bench.file("y.ctm", "b 1 0 0.1 x\n");
    bench.run(&["plot", "in/a.wav", "--words=y.ctm"]).with(1).tells(&["y.ctm", "'a'", "'b'"]);
    bench.file("y.ctm", "a 1 0\n");
    bench.run(&["plot", "in/a.wav", "--words=y.ctm"]).with(1).tells(&["y.ctm", "line 1"]);
    bench.run(&["plot", "in/a.wav", "--words=x.srt"]).with(2).tells(&[".ctm, .TextGrid, .jsonl or .json"]);
    bench.run(&["plot", "in/a.wav", "--words=x.ctm", "--frame-shift=0"]).with(2).tells(&["seconds"]);
    bench.run(&["plot", "x.ark", "--words=x.ctm"]).with(2).tells(&["RECORDING"]);
    bench.run(&["plot", "in/a.wav", "--words=x.ctm", "-o", "x.ctm"]).with(2).tells(&[".png"]);
    bench.run(&["plot", "in/a.wav", "--model=nowhere"]).with(1).tells(&["nowhere"]);
    bench.wav("in/c.wav", 8000, 16_000.0);
    bench.run(&["plot", "in/c.wav", "--model=model"]).with(1).tells(&["c.wav", "utterance c"]);
}

#[test]
fn no_file_that_is_read_is_overwritten() {
    let bench = Bench::new();
    archive_model(&bench);
    let files = [("t.txt", "a one\n"), ("h.txt", "one\n"), ("r.txt", "a one\n")];
    for (name, text) in files {
        bench.file(name, text);
    }
    bench.file("list.scp", "a in/a.wav\nr r.txt\n");
    for args in [
        &["align", "--text=t.txt", "-o", "t.txt", "model", "in"][..],
        &["align", "--text=t.txt", "-o", "model/tokens.txt", "model", "in"],
        &["transcribe", "--hotwords=h.txt", "-o", "h.txt", "model", "in"],
        &["transcribe", "-o", "model/tokens.txt", "model", "in"],
        &["transcribe", "-o", "r.txt", "model", "list.scp"],
    ] {
        bench.run(args).with(2).tells(&["would overwrite"]);
    }
    for (name, text) in files {
        assert_eq!(fs::read_to_string(bench.path(name)).unwrap(), text);
    }
    assert_eq!(fs::read_to_string(bench.path("model/tokens.txt")).unwrap(), TOKENS);
}

#[test]
fn options_that_cannot_be_or_do_nothing_are_named() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.run(&["transcribe", "--word-score=1.5", "model", "in"]).with(0).tells(&["word-score", "no language model"]);
    bench.run(&["transcribe", "--lm=none.arpa", "model", "in"]).with(1).tells(&["option --lm", "none.arpa"]);
    bench.file("graph.txt", "0 0 1 0\n0 1 2 7\n1 1 2 0\n1 0 1 0\n0\n1\n");
    bench.file("model/words.txt", "<eps> 0\nuno 7\n");
    bench.file("hot", "uno");
    let text = fs::read_to_string(bench.path("model/model.toml")).unwrap();
    bench.file("model/model.toml", &text.replace("[network]", "graph-words = 'words.txt'\n[network]"));
    let args = ["transcribe", "--graph=graph.txt", "model", "in/a.wav"];
    bench.run(&[&args[..], &["--beam=3"]].concat()).with(0).tells(&["beam", "decoding graph"]);
    bench.run(&[&args[..], &["--hotwords=hot"]].concat()).with(1).tells(&["option --hotwords"]);
    bench.run(&[&args[..], &["--lm=x.arpa"]].concat()).with(1).tells(&["option --lm"]);
}

fn stream(bench: &Bench, args: &[&str], input: &[u8]) -> Ended {
    let mut command = bench.command(&[&["stream"][..], args].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    Ended::from(child.wait_with_output().unwrap())
}

#[test]
fn a_stream_gives_what_transcribe_gives() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = bench.wav("a.wav", 12_000, 8000.0);
    let whole = bench.run(&["transcribe", "model", "a.wav"]).with(0).stdout;
    let words = whole.trim().strip_prefix("a ").unwrap();
    for chunk in ["--chunk=100", "--chunk=37.5", "--chunk=5000"] {
        let ended = stream(&bench, &["model", chunk], &wave).with(0);
        assert_eq!(ended.stdout.trim(), words);
        assert!(ended.stderr.contains("1.50 s of audio") && ended.stderr.contains(" ms"), "{ended:?}");
    }
    // Raw samples, of the model's rate.
    let ended = stream(&bench, &["-q", "model"], &wave[44..]).with(0);
    assert_eq!((ended.stdout.trim(), &*ended.stderr), (words, ""));
    let ended = stream(&bench, &["model", "--partial"], &wave).with(0);
    assert!(ended.stdout.starts_with("partial: "), "{ended:?}");
    assert_eq!(stream(&bench, &["model"], &[]).with(0).stdout, "");
    // What follows the samples is no audio.
    let expected = stream(&bench, &["model"], &wave).with(0).stdout;
    let more = [&wave[..], b"LIST\x40\x1f\0\0", &[77; 8000]].concat();
    assert_eq!(stream(&bench, &["model"], &more).with(0).stdout, expected);
    stream(&bench, &["model", "--chunk=0"], &[]).with(2);
}

/// A WAV file of one channel at 8 kHz; without a size, it is as long as it is.
fn wave_of(tag: u16, bits: u16, data: &[u8], size: Option<u32>) -> Vec<u8> {
    let frame = bits / 8;
    let mut bytes = [&b"RIFF"[..], &u32::MAX.to_le_bytes(), b"WAVEfmt \x10\0\0\0"].concat();
    bytes.extend([tag, 1, 8000, 0].iter().flat_map(|field: &u16| field.to_le_bytes()));
    bytes.extend((8000 * u32::from(frame)).to_le_bytes());
    bytes.extend([frame, bits].iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(b"data");
    bytes.extend(size.unwrap_or(u32::MAX).to_le_bytes());
    [&bytes, data].concat()
}

#[test]
fn a_stream_reads_every_kind_of_wav_that_transcribe_reads() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = WaveData::read(&bench.wav("a.wav", 12_000, 8000.0)[..]).unwrap();
    let of =
        |bytes: &dyn Fn(i16) -> Vec<u8>| wave.samples.iter().flat_map(|&sample| bytes(sample)).collect::<Vec<u8>>();
    let wide = |sample: i16| (i32::from(sample) << 16).to_le_bytes();
    let low = of(&|sample| vec![sample.to_le_bytes()[1]]);
    let kinds = [
        wave_of(1, 8, &of(&|sample| vec![(sample >> 8) as u8 ^ 0x80]), None),
        wave_of(1, 24, &of(&|sample| wide(sample)[1..].to_vec()), None),
        wave_of(1, 32, &of(&|sample| wide(sample).to_vec()), None),
        wave_of(3, 32, &of(&|sample| (f32::from(sample) / 32_768.0).to_le_bytes().to_vec()), None),
        wave_of(3, 64, &of(&|sample| (f64::from(sample) / 32_768.0).to_le_bytes().to_vec()), None),
        wave_of(6, 8, &low, None),
        wave_of(7, 8, &low, Some(12_000)),
    ];
    for (number, bytes) in kinds.iter().enumerate() {
        fs::write(bench.path("k.wav"), bytes).unwrap();
        let whole = bench.run(&["transcribe", "-q", "model", "k.wav"]).with(0).stdout;
        for chunk in ["--chunk=33", "--chunk=5000"] {
            let ended = stream(&bench, &["-q", chunk, "model"], bytes).with(0);
            assert_eq!(format!("k {}", ended.stdout), whole, "{number}");
        }
    }
    let mut long = wave_of(1, 16, &of(&|sample| sample.to_le_bytes().to_vec()), None);
    let whole = bench.run(&["transcribe", "-q", "model", "a.wav"]).with(0).stdout;
    long[..4].copy_from_slice(b"RF64");
    assert_eq!(format!("a {}", stream(&bench, &["-q", "model"], &long).with(0).stdout), whole);
    let mp3_in_wav = wave_of(0x55, 16, &low, None);
    stream(&bench, &["model"], &mp3_in_wav).with(1).tells(&["standard input", "85"]);
}

#[test]
fn audio_that_ends_early_gives_its_words_and_an_error() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = bench.wav("a.wav", 12_000, 8000.0);
    let whole = wave_of(1, 16, &wave[44..16_044], None);
    let expected = stream(&bench, &["-q", "model"], &whole).with(0).stdout;
    let ended = stream(&bench, &["-q", "model"], &wave[..16_044]).with(1).tells(&["truncated", "24000", "16000"]);
    assert!(!expected.is_empty() && ended.stdout == expected, "{ended:?}");
    stream(&bench, &["-q", "model"], &wave_of(1, 16, &[], Some(4))).with(1).tells(&["truncated"]);
    // No audio at all has no words and no latency.
    assert_eq!(stream(&bench, &["model"], &[]).with(0).stderr, "kaldera stream: no audio came on standard input\n");
}

#[test]
fn words_of_a_stream_have_times_from_its_start() {
    let bench = Bench::new();
    graph_model(&bench, 1000.0, "");
    // Three utterances, the second after a pause of 9 s.
    let parts = [(0, 500), (1000, 100), (0, 9000), (-1000, 50), (1000, 70), (0, 6000), (-1000, 100), (0, 300)];
    let samples: Vec<u8> = parts.iter().flat_map(|&(value, count)| i16::to_le_bytes(value).repeat(count)).collect();
    let text = stream(&bench, &["-q", "model"], &samples).with(0).stdout;
    let ctm = stream(&bench, &["-q", "--format=ctm", "model"], &samples).with(0).stdout;
    let words: Vec<Vec<&str>> = ctm.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(words.iter().map(|word| word[4]).collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    assert!(words.iter().all(|word| word[..2] == ["stream", "1"]), "{ctm}");
    let begins: Vec<f64> = words.iter().map(|word| word[2].parse().unwrap()).collect();
    assert!((begins[0] - 0.5).abs() < 0.1 && begins.iter().any(|begin| (begin - 9.6).abs() < 0.2), "{ctm}");
    let lines = stream(&bench, &["-q", "--format=jsonl", "--partial", "model"], &samples).with(0).stdout;
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["partial"].is_string()));
    let ended: Vec<_> = lines.iter().filter(|line| line["key"].is_string()).collect();
    let starts: Vec<f64> = ended
        .iter()
        .flat_map(|one| one["words"].as_array().unwrap())
        .map(|word| word["start"].as_f64().unwrap())
        .collect();
    assert!(ended[0]["key"] == "utt-1" && starts.len() == begins.len(), "{ended:?}");
    assert!(starts.iter().zip(&begins).all(|(a, b)| (a - b).abs() < 0.002), "{starts:?} {begins:?}");
    stream(&bench, &["--format=ctm", "--partial", "model"], &[]).with(2).tells(&["--partial", "jsonl"]);
    stream(&bench, &["--format=srt", "model"], &[]).with(2).tells(&["--format", "text, ctm, jsonl"]);
}

#[test]
fn raw_samples_that_can_hardly_be_such_give_a_warning() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = WaveData::read(&bench.wav("a.wav", 12_000, 8000.0)[..]).unwrap();
    let floats: Vec<u8> = wave.samples.iter().flat_map(|&x| (f32::from(x) / 32_768.0).to_le_bytes()).collect();
    stream(&bench, &["model"], &floats).with(0).tells(&["warning", "32-bit floats"]);
    let both: Vec<u8> = wave.samples.iter().flat_map(|&x| [x, x]).flat_map(i16::to_le_bytes).collect();
    stream(&bench, &["model"], &both).with(0).tells(&["warning", "--num-channels=2"]);
}

#[cfg(unix)]
#[test]
fn a_stream_ends_when_nobody_reads_its_words() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = bench.wav("a.wav", 12_000, 8000.0);
    let mut command = bench.command(&["stream", "-q", "--partial", "model"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    // It ends while more could come.
    input.write_all(&wave[44..]).unwrap();
    let ended = Ended::from(child.wait_with_output().unwrap()).with(141);
    assert_eq!(ended.stderr, "");
    drop(input);
}

#[test]
fn one_channel_is_taken_or_the_mean_of_all() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = WaveData::read(&bench.wav("a.wav", 12_000, 8000.0)[..]).unwrap();
    let whole = bench.run(&["transcribe", "model", "a.wav"]).with(0).stdout;
    let words = whole.trim().strip_prefix("a ").unwrap();
    let of = |name: &str, frame: &dyn Fn(i16) -> [i16; 2]| {
        let samples = wave.samples.iter().flat_map(|&sample| frame(sample)).collect();
        let mut bytes = vec![];
        WaveData { samp_freq: 8000.0, num_channels: 2, samples }.write(&mut bytes).unwrap();
        fs::write(bench.path(name), &bytes).unwrap();
        bytes
    };
    let (right, both) = (of("right.wav", &|sample| [0, sample]), of("both.wav", &|sample| [sample; 2]));
    for (option, name, bytes) in [("--channel=1", "right", &right), ("--channel=mean", "both", &both)] {
        let file = format!("{name}.wav");
        let found = bench.run(&["transcribe", option, "model", &file]).with(0);
        assert_eq!((found.stdout.trim(), &*found.stderr), (&*format!("{name} {words}"), ""));
        assert_eq!(stream(&bench, &[option, "model"], bytes).with(0).stdout.trim(), words);
        let raw = stream(&bench, &["--num-channels=2", option, "model"], &bytes[44..]).with(0);
        assert_eq!(raw.stdout.trim(), words);
        bench.file("text", &format!("{name} one"));
        bench.run(&["align", option, "--text=text", "model", &file]).with(0);
        bench.run(&["plot", option, "--model=model", &file]).with(0);
        bench.run(&["features", "--kind=fbank", option, "-q", "--sample-frequency=8000", "-o", "x.ark", &file]).with(0);
        bench.run(&["features", "--kind=fbank", "-q", "--sample-frequency=8000", "-o", "y.ark", "a.wav"]).with(0);
        let [x, y] = ["x.ark", "y.ark"].map(|file| fs::read(bench.path(file)).unwrap());
        assert!(x[name.len()..] == y[1..], "{option}");
    }
    stream(&bench, &["model"], &both).with(0).tells(&["2 channels; taking the first"]);
    stream(&bench, &["--channel=2", "model"], &both).with(1).tells(&["no channel 2 among its 2"]);
    stream(&bench, &["--channel=1", "model"], &[]).with(2).tells(&["--channel", "no channel 1"]);
    stream(&bench, &["--num-channels=257", "model"], &[]).with(2).tells(&["--num-channels", "1 to 256"]);
    stream(&bench, &["--num-channels=1", "model"], &both).with(2).tells(&["--num-channels: 1", "the WAV header has 2"]);
    stream(&bench, &["model"], b"fLaC\0\0\0\x22").with(1).tells(&["standard input: it is FLAC", "ffmpeg"]);
    bench
        .run(&["features", "--kind=fbank", "--channel=left", "-o", "x.ark", "both.wav"])
        .with(2)
        .tells(&["-1, 0, 1, ... or mean"]);
    bench.run(&["plot", "--channel=1", "x.ark"]).with(2).tells(&["--channel is for a RECORDING"]);
}

/// 8 kHz are 80 samples for each of 100 Hz.
#[test]
fn a_rate_that_makes_far_too_many_samples_is_refused_by_align() {
    let bench = Bench::new();
    random_model(&bench);
    bench.wav("slow.wav", 3_400_000, 100.0);
    bench.file("text", "slow one");
    bench.run(&["align", "--text=text", "model", "slow.wav"]).with(1).tells(&["3400000 samples", "272000000"]);
}

/// A model of audio of 1000 Hz with a graph of `one two`, which may end after `one`, but for a cost of 5.
/// High samples are `one`, low ones are `two`, others are blanks.
fn graph_model(bench: &Bench, weight: f32, features: &str) {
    fs::create_dir_all(bench.path("model")).unwrap();
    let mut weights = ParameterStore::new();
    weights.insert("output.weight", &[4, 1], vec![0.0, weight, -weight, 0.0]).unwrap();
    weights.insert("output.bias", &[4], vec![0.0, -15.0, -15.0, -50.0]).unwrap();
    weights.save(bench.path("model/network.safetensors")).unwrap();
    bench.file("model/tokens.txt", TOKENS);
    bench.file("model/words.txt", "<eps> 0\none 1\ntwo 2\n");
    bench.file(
        "model/graph.txt",
        "0 0 1 0\n0 1 2 1\n0 3 3 2\n1 1 2 0\n1 2 1 0\n2 2 1 0\n2 3 3 2\n3 3 3 0\n3 4 1 0\n4 4 1 0\n\
         0\n1 5\n2 5\n3\n4\n",
    );
    bench.file(
        "model/model.toml",
        &format!(
            "kind = 'ctc'\ntokens = 'tokens.txt'\ngraph = 'graph.txt'\ngraph-words = 'words.txt'\n\
             features = {{ kind = 'samples', sample-frequency = 1000{features} }}\n\
             [network]\nfile = 'network.safetensors'\n\
             layers = [{{ kind = 'linear', name = 'output' }}, {{ kind = 'log-softmax' }}]\n"
        ),
    );
}

#[test]
fn utterances_end_where_the_graph_may_end_however_long_chunks_are() {
    let bench = Bench::new();
    let parts =
        [(0, 500), (1000, 100), (0, 730), (-1000, 100), (0, 900), (1000, 100), (0, 1370), (-1000, 100), (0, 300)];
    let samples: Vec<u8> = parts.iter().flat_map(|&(value, count)| i16::to_le_bytes(value).repeat(count)).collect();
    // With a state; and without one, as the whole utterance is normalised.
    for (weight, features) in [(1000.0, ""), (10.0, ", normalize = 'samples'")] {
        graph_model(&bench, weight, features);
        for chunk in ["--chunk=30", "--chunk=100", "--chunk=270", "--chunk=1000", "--chunk=9000"] {
            let ended = stream(&bench, &["model", chunk], &samples).with(0);
            // A pause of 0.73 s does not end what is likely to go on, one of 1.37 s does.
            assert_eq!(ended.stdout, "one two\none\ntwo\n", "{features} {chunk}");
        }
    }
}

#[test]
fn recordings_of_nothing_and_of_no_speech_are_no_trouble() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = bench.wav("in/other-rate.wav", 8000, 16_000.0);
    bench.wav("in/other-rate-too.wav", 8000, 16_000.0);
    fs::write(bench.path("in/silence.wav"), [&wave[..44], &vec![0; 16_000]].concat()).unwrap();
    let tone = (0_i16..8000).flat_map(|i| (i % 40 * 500 - 10_000).to_le_bytes()).collect::<Vec<_>>();
    fs::write(bench.path("in/tone.wav"), [&wave[..44], &tone].concat()).unwrap();
    bench.wav("in/empty.wav", 0, 8000.0);
    bench.wav("in/short.wav", 7, 8000.0);
    let ended = bench.run(&["transcribe", "model", "in"]).with(1).tells(&["failed: empty", "not a single sample"]);
    assert_eq!(ended.stderr.matches("16000 Hz is resampled").count(), 1, "{ended:?}");
    assert_eq!(ended.stderr.matches("failed").count(), 1, "{ended:?}");
    let keys: Vec<&str> = ended.stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(keys, ["other-rate", "other-rate-too", "short", "silence", "tone"]);
    assert!(ended.stdout.contains("\nshort\n"), "{ended:?}");
    let text = ["empty", "short", "silence", "tone"].map(|key| format!("{key} one\n")).concat();
    bench.file("text", &text);
    let files = ["in/empty.wav", "in/short.wav", "in/silence.wav", "in/tone.wav"];
    let ended = bench.run(&[&["align", "--text=text", "-o", "x.ctm", "model"][..], &files].concat()).with(1);
    let failed: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("failed: ")).collect();
    assert!(failed.len() == 2 && failed[0].contains("empty") && failed[1].contains("short"), "{ended:?}");
    let ctm = fs::read_to_string(bench.path("x.ctm")).unwrap();
    assert!(ctm.starts_with("silence 1 ") && ctm.lines().count() == 2, "{ctm}");
    for key in ["short", "silence"] {
        bench.run(&["transcribe", "-o", "x.TextGrid", "model", &format!("in/{key}.wav")]).with(0);
    }
    for key in ["empty", "short", "silence"] {
        stream(&bench, &["model"], &fs::read(bench.path(&format!("in/{key}.wav"))).unwrap()).with(0);
    }
    #[cfg(target_os = "linux")]
    bench.shell("\"$K\" transcribe model in > /dev/full").with(1).tells(&["standard output", "No space left"]);
}

#[test]
fn hypotheses_of_the_parts_of_a_recording_are_combined() {
    let bench = Bench::new();
    random_model(&bench);
    bench.wav("a.wav", 8000, 8000.0);
    let mut found = vec![];
    for out in ["x.jsonl", "x.TextGrid"] {
        bench.run(&["transcribe", "-q", "--nbest=4", "--max-part=0.3", "-o", out, "model", "a.wav"]).with(0);
        found.push(fs::read_to_string(bench.path(out)).unwrap());
    }
    let value: serde_json::Value = serde_json::from_str(found[0].trim()).unwrap();
    let hypotheses = value["hypotheses"].as_array().unwrap();
    assert!(hypotheses.len() > 1 && hypotheses.len() <= 4, "{value}");
    let scores: Vec<f64> = hypotheses.iter().map(|one| one["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && hypotheses[0]["text"] == value["text"], "{value}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_last_utterance_of_a_stream() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = bench.wav("a.wav", 8000, 8000.0);
    let expected = stream(&bench, &["model"], &wave).with(0).stdout;
    let mut command = bench.command(&["stream", "--partial", "model"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // The samples, whose end the header has not told: more could come.
    input.write_all(&wave[44..]).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..10 {
        assert!(lines.next().unwrap().unwrap().starts_with("partial: "));
    }
    bench.shell(&format!("kill -INT {}", child.id())).with(0);
    let last = lines.map(Result::unwrap).find(|line| !line.starts_with("partial: "));
    assert_eq!(last.as_deref(), Some(expected.trim_end()));
    let ended = Ended::from(child.wait_with_output().unwrap()).with(130);
    assert!(ended.stderr.contains("stopped") && ended.stderr.contains("1.00 s of audio"), "{ended:?}");
    drop(input);
}

#[cfg(unix)]
#[test]
fn ctrl_c_loses_nothing_of_a_chunk_that_is_not_full() {
    let bench = Bench::new();
    random_model(&bench);
    let wave = bench.wav("a.wav", 8000, 8000.0);
    let expected = stream(&bench, &["model"], &wave).with(0).stdout;
    for chunk in ["--chunk=5000", "--chunk=700"] {
        let mut command = bench.command(&["stream", chunk, "model"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&wave[44..]).unwrap();
        // Nothing tells that it is read: a chunk has not come.
        std::thread::sleep(std::time::Duration::from_millis(500));
        bench.shell(&format!("kill -INT {}", child.id())).with(0);
        let ended = Ended::from(child.wait_with_output().unwrap()).with(130);
        assert!(ended.stdout == expected && ended.stderr.contains("1.00 s of audio"), "{chunk}: {ended:?}");
        drop(input);
    }
}

#[test]
fn errors_are_counted_in_every_kind_of_file() {
    let bench = Bench::new();
    bench.file("ref.txt", "u1 the cat sat\nu2 on a mat\n");
    bench.file("hyp.txt", "u1 oh the cat sit\nu2 on mat\n");
    let text = bench.run(&["score", "ref.txt", "hyp.txt"]).with(0).stdout;
    assert!(text.contains("%WER 50.00 [ 3 / 6, 1 ins, 1 del, 1 sub ]") && text.contains("sat -> sit"), "{text}");
    bench
        .file("hyp.jsonl", "{\"key\": \"u1\", \"text\": \"THE CAT SAT\"}\n{\"key\": \"u2\", \"text\": \"on a mat\"}\n");
    let text = bench.run(&["score", "--ignore-case", "ref.txt", "hyp.jsonl"]).with(0).stdout;
    assert!(text.contains("%WER 0.00 [ 0 / 6"), "{text}");
    bench.file("r.trn", "a b (x_1)\n");
    bench.file("h.trn", "a c (x_1)\n");
    assert!(bench.run(&["score", "r.trn", "h.trn"]).with(0).stdout.contains("%WER 50.00"));
    bench.file("R.TRN", "a b (x_1)\n");
    assert!(bench.run(&["score", "R.TRN", "h.trn"]).with(0).stdout.contains("%WER 50.00"));
    bench.file("r.stm", "f 1 s 0.0 2.0 a b\n");
    bench.file("h.ctm", "f 1 0.1 0.2 a\nf 1 0.5 0.2 b\n");
    assert!(bench.run(&["score", "r.stm", "h.ctm"]).with(0).stdout.contains("%WER 0.00 [ 0 / 2"));
    bench.run(&["score", "r.stm", "h.trn"]).with(2).tells(&["'r.stm' is stm and 'h.trn' is trn", "--format"]);
    bench.run(&["score", "ref.txt"]).with(2);
    bench.file("short.txt", "u1 the cat sat\n");
    bench.run(&["score", "ref.txt", "short.txt"]).with(0).tells(&["u2"]);
    bench.run(&["score", "short.txt", "ref.txt"]).with(0).tells(&["1 hypotheses have no reference", "u2"]);
    bench.file("other.txt", "x a\n");
    bench.run(&["score", "ref.txt", "other.txt"]).with(1).tells(&["no hypothesis has a reference", "'x'", "'u1'"]);
    bench.file("twice.txt", "u1 a\nu1 b\n");
    bench.run(&["score", "twice.txt", "ref.txt"]).with(1).tells(&["u1", "twice"]);
}

#[test]
fn transcripts_are_scored_as_sclite_does_where_they_are_its_formats() {
    let bench = Bench::new();
    let rate = |args: &[&str]| {
        let told = bench.run(&[&["score"], args].concat()).with(0).stdout;
        told.lines().find(|line| line.starts_with("%WER")).unwrap().split(' ').nth(1).unwrap().to_owned()
    };
    // Of sclite's formats case does not matter, of others it does.
    bench.file("r.trn", "\u{feff}This / or THAT (x_1)\n");
    bench.file("h.trn", "this / or that (X_1)\n");
    assert_eq!(
        (rate(&["r.trn", "h.trn"]), rate(&["--case-sensitive", "r.trn", "h.trn"])),
        ("0.00".into(), "50.00".into())
    );
    bench.file("r.txt", "u \u{dc}BER a\u{a0}b\n");
    bench.file("h.txt", "\u{feff}u \u{fc}ber a b\n");
    assert_eq!(
        (rate(&["r.txt", "h.txt"]), rate(&["--ignore-case", "r.txt", "h.txt"])),
        ("150.00".into(), "100.00".into())
    );
    bench.file("m.txt", "u \u{6211}\u{8981} check \u{4e00}\u{4e0b}\n");
    bench.file("n.txt", "u \u{6211}\u{8981}check \u{4e0b}\n");
    assert_eq!(rate(&["--mixed", "m.txt", "n.txt"]), "20.00");
    bench.run(&["score", "--mixed", "--characters", "m.txt", "n.txt"]).with(2).tells(&["exclude"]);
    // Kaldi's data folders have a file 'stm'.
    bench.file("stm", "f 1 s 0 1 a\nf 1 s 5 6 b\ng 1 s 0 1 c\n");
    bench.file("x.ctm", "f 1 0.1 0.2 a\nh 1 0 1 c\n");
    assert_eq!(rate(&["stm", "x.ctm"]), "66.67");
    assert_eq!(rate(&["--reduced=ref", "stm", "x.ctm"]), "0.00");
    bench.run(&["score", "stm", "x.ctm"]).with(0).tells(&["1 recordings and channels", "h 1"]);
    bench.shell("cp stm one && cp x.ctm two").with(0);
    assert_eq!(rate(&["--format=stm", "one", "two"]), "66.67");
    bench.file("ref.ctm", "f 1 0 1 a\nf 1 * * <ALT_BEGIN>\nf 1 1 1 b\nf 1 * * <ALT>\nf 1 1 1 c\nf 1 * * <ALT_END>\n");
    bench.file("hyp.ctm", "f 1 0 1 a\nf 1 1 1 c\n");
    assert_eq!(rate(&["ref.ctm", "hyp.ctm"]), "0.00");
    // A terminal must not obey what a file says.
    bench.file("e.txt", "\u{1b}[2J a\u{7}\n");
    let told = bench.run(&["score", "e.txt", "e.txt"]).with(0).stdout;
    assert!(told.contains("\\u{1b}[2J") && !told.contains('\u{1b}'), "{told}");
    bench.file("wide16.txt", "u\0 \0a\0\n\0");
    bench.run(&["score", "r.txt", "wide16.txt"]).with(1).tells(&["wide16.txt", "UTF-16"]);
}

#[test]
fn a_model_is_described_or_what_is_wrong_with_it() {
    let bench = Bench::new();
    random_model(&bench);
    let ended = bench.run(&["model", "check", "model"]).with(0);
    assert!(ended.stdout.contains("4 tokens") && ended.stdout.contains("8000 Hz"), "{ended:?}");
    bench.file("model/tokens.txt", "<blk> 0\n");
    bench.run(&["model", "check", "model"]).with(1).tells(&["key tokens", "4 scores"]);
    bench.run(&["model", "chek", "model"]).with(2);
}

#[cfg(feature = "digits")]
#[test]
fn the_shipped_model_recognises_the_shipped_recording() {
    let bench = Bench::new();
    bench.run(&["model", "digits", "-o", "digits"]).with(0);
    bench.run(&["model", "digits", "-o", "digits"]).with(0);
    fs::create_dir(bench.path("other")).unwrap();
    bench.file("other/model.toml", "kind = 'ctc'");
    bench.run(&["model", "digits", "-o", "other"]).with(1).tells(&["other", "model.toml"]);
    assert_eq!(fs::read(bench.path("other/model.toml")).unwrap(), b"kind = 'ctc'");
    let told = bench.run(&["model", "check", "digits"]).with(0).stdout;
    assert!(told.contains("11 tokens, a frame each 30.0 ms") && told.contains("8000 Hz"), "{told}");
    let ended = bench.run(&["transcribe", "digits", "digits/digits.wav"]).with(0);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("digits three two five nine\n", ""));
    bench.file("said.txt", "digits three two five nine\n");
    bench.run(&["align", "digits", "--text=said.txt", "-o", "x.ctm", "digits/digits.wav"]).with(0);
    assert_eq!(fs::read_to_string(bench.path("x.ctm")).unwrap().lines().count(), 4);
}

/// Zeros before, after and within a recording, of any number.
#[cfg(feature = "digits")]
#[test]
fn digital_silence_makes_no_words() {
    let bench = Bench::new();
    bench.run(&["model", "digits", "-o", "digits"]).with(0);
    let wave = WaveData::read(&fs::read(bench.path("digits/digits.wav")).unwrap()[..]).unwrap();
    // The quietest tenth of a second, within a pause.
    let energy = |at: usize| wave.samples[at..at + 800].iter().map(|&x| i64::from(x).pow(2)).sum::<i64>();
    let pause = (4000..wave.samples.len() - 4000).step_by(80).min_by_key(|&at| energy(at)).unwrap() + 400;
    let mut expected = String::new();
    for (number, zeros) in (0..).zip((1..6000_usize).step_by(613)) {
        let (before, after) = wave.samples.split_at(if number % 2 == 0 { 0 } else { pause });
        let samples = [before, &vec![0; zeros], after, &vec![0; zeros * 2]].concat();
        let mut bytes = vec![];
        WaveData { samp_freq: wave.samp_freq, num_channels: 1, samples }.write(&mut bytes).unwrap();
        fs::create_dir_all(bench.path("in")).unwrap();
        fs::write(bench.path(&format!("in/{zeros:04}.wav")), bytes).unwrap();
        expected += &format!("{zeros:04} three two five nine\n");
    }
    assert_eq!(bench.run(&["transcribe", "digits", "in"]).with(0).stdout, expected);
}
