//! From recordings to words: `transcribe`, `align`, `stream`, `score` and `model`.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use kaldera::matrix::Matrix;
use kaldera::network::ParameterStore;
use kaldera::pipeline::{FeatureFile, FeatureSink as _};

use crate::bench::{Bench, Ended};

const TOKENS: &str = "<blk> 0\none 1\ntwo 2\nthree 3\n";

/// A model whose network is an archive with what recordings `a` and `b` say, and these recordings.
fn archive_model(bench: &Bench) {
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
fn random_model(bench: &Bench) {
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
        ended.with(2).tells(&[found, "write -o OUT.jsonl"]);
    }
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
    bench.stereo("s.wav");
    stream(&bench, &["model"], &fs::read(bench.path("s.wav")).unwrap()).with(1).tells(&["2 channels"]);
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
    bench.run(&["score", "r.stm", "h.trn"]).with(2).tells(&["go together"]);
    bench.run(&["score", "ref.txt"]).with(2);
    bench.file("short.txt", "u1 the cat sat\n");
    bench.run(&["score", "ref.txt", "short.txt"]).with(0).tells(&["u2"]);
    bench.run(&["score", "short.txt", "ref.txt"]).with(1).tells(&["u2"]);
    bench.file("twice.txt", "u1 a\nu1 b\n");
    bench.run(&["score", "twice.txt", "ref.txt"]).with(1).tells(&["u1", "twice"]);
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
    bench.run(&["model", "digits", "digits"]).with(0);
    let told = bench.run(&["model", "check", "digits"]).with(0).stdout;
    assert!(told.contains("11 tokens, a frame each 30.0 ms") && told.contains("8000 Hz"), "{told}");
    let ended = bench.run(&["transcribe", "digits", "digits/digits.wav"]).with(0);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("digits three two five nine\n", ""));
    bench.file("said.txt", "digits three two five nine\n");
    bench.run(&["align", "digits", "--text=said.txt", "-o", "x.ctm", "digits/digits.wav"]).with(0);
    assert_eq!(fs::read_to_string(bench.path("x.ctm")).unwrap().lines().count(), 4);
}
