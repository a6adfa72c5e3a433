//! A Vosk folder as MODEL of the commands.

use std::fs;

use kaldera::io::wave::WaveData;

use crate::bench::Bench;
use crate::online_folder;
use crate::recognition::archive_model;

/// A model in `vosk`, and recordings `a` and `b`.
fn bench() -> Bench {
    let bench = Bench::new();
    online_folder::write(&bench.path("vosk"));
    fs::create_dir(bench.path("in")).unwrap();
    for (name, said, rate) in [("a", "0.3 low 0.3 high 1 high 0.2", 8000), ("b", "0.2 high 0.3 low 0.2", 16_000_u32)] {
        let samples = online_folder::speech(said, rate);
        let wave = WaveData { samp_freq: rate as f32, num_channels: 1, samples };
        wave.write(&mut fs::File::create(bench.path(&format!("in/{name}.wav"))).unwrap()).unwrap();
    }
    bench
}

#[test]
fn recordings_become_words_in_each_format() {
    let bench = bench();
    let words = "a low high high\nb high low\n";
    let ended = bench.line("transcribe vosk in").with(0).tells(&["audio of 16000 Hz is resampled"]);
    assert_eq!(ended.stdout, words);
    for jobs in ["--jobs=1", "--jobs=2"] {
        bench.line(&format!("transcribe -q vosk in {jobs} -o out.txt")).with(0);
        assert_eq!(bench.text("out.txt"), words);
    }
    let ctm = bench.line("transcribe -q vosk in --format=ctm").with(0).stdout;
    let fields: Vec<Vec<&str>> = ctm.lines().map(|line| line.split(' ').collect()).collect();
    let found: Vec<_> = fields.iter().map(|fields| (fields[0], fields[4])).collect();
    assert_eq!(found, [("a", "low"), ("a", "high"), ("a", "high"), ("b", "high"), ("b", "low")]);
    assert!(fields.iter().all(|fields| fields[5].parse::<f64>().is_ok_and(|sure| sure > 0.9)), "{ctm}");
    bench.line("transcribe -q vosk in -o out.jsonl").with(0);
    let lines = bench.text("out.jsonl");
    assert!(lines.contains(r#""key":"a""#) && lines.contains(r#""confidence":"#) && !lines.contains("peak"), "{lines}");
    bench.line("transcribe -q vosk in -o out.jsonl --resume").with(0);
    assert_eq!(bench.text("out.jsonl"), lines);
    bench.line("transcribe -q vosk in/a.wav -o out.srt").with(0);
    assert!(bench.text("out.srt").starts_with("1\n00:00:00,"));
    bench.file("text", "a low high low\nb high low\n");
    let scored = bench.line("score text out.jsonl").with(0).stdout;
    assert!(scored.contains("20.0"), "{scored}");
}

#[test]
fn lines_of_json_have_vectors_of_speakers() {
    let bench = bench();
    online_folder::write_speakers(&bench.path("spk"));
    bench.line("transcribe -q --speakers=spk vosk in -o out.jsonl").with(0);
    let lines = bench.text("out.jsonl");
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The second utterance of `a` is too short.
    for line in &lines {
        let [speaker] = &line["speakers"].as_array().unwrap()[..] else { panic!("{line}") };
        let vector: Vec<f64> = speaker["vector"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        assert!((vector.iter().map(|x| x * x).sum::<f64>() / 3.0 - 1.0).abs() < 1e-4, "{vector:?}");
        assert!((50..70).contains(&speaker["frames"].as_u64().unwrap()), "{speaker}");
        assert!(speaker["start"] == 0.0 && speaker["end"].as_f64().unwrap() > 0.8, "{speaker}");
    }
    assert_eq!(lines.len(), 2);
    bench.line("transcribe -q vosk in -o plain.jsonl").with(0);
    assert!(!bench.text("plain.jsonl").contains("speakers"));
    for output in ["", " -o out.ctm", " --format=nemo"] {
        bench
            .line(&format!("transcribe --speakers=spk vosk in{output}"))
            .with(2)
            .tells(&["--speakers", "-o OUT.jsonl"]);
    }
    bench.line("transcribe -q --speakers=spk vosk in -o spk/mean.vec --format=jsonl").with(2).tells(&["overwrite"]);
    archive_model(&bench);
    let ended = bench.line("transcribe --speakers=spk --format=jsonl model in").with(2);
    ended.tells(&["--speakers", "MODEL must be a Vosk or Kaldi folder"]);
    fs::remove_file(bench.path("spk/mean.vec")).unwrap();
    bench.line("transcribe --speakers=spk vosk in").with(1).tells(&["mean.vec: the file is missing; it has the mean"]);
}

#[test]
fn a_recording_that_fails_is_listed() {
    let bench = bench();
    bench.file("in/c.wav", "no audio");
    let ended = bench.line("transcribe vosk in").with(1).tells(&["c.wav"]);
    assert_eq!(ended.stdout, "a low high high\nb high low\n");
}

#[test]
fn options_without_a_meaning_are_refused_by_name() {
    let bench = bench();
    for option in ["--beam=4", "--lm-weight=2", "--word-score=1", "--lm=in/a.wav", "--graph=vosk/graph/HCLG.fst"] {
        let (name, _) = option.split_once('=').unwrap();
        bench.line(&format!("transcribe {option} vosk in")).with(1).tells(&["option", name, "its graph decides that"]);
    }
    bench.file("hot", "low\n");
    bench.line("transcribe --hotwords=hot vosk in").with(1).tells(&["--hotwords", "its graph decides that"]);
    bench.line("transcribe --max-part=5 vosk in").with(2).tells(&["--max-part", "endpoint rules"]);
    bench.file("text", "a low\n");
    bench.line("align --text=text vosk in").with(1).tells(&["a Vosk or Kaldi folder", "aligns no given"]);
    bench.line("transcribe -q vosk in -o vosk/graph/words.txt").with(2).tells(&["overwrite"]);
}

#[test]
fn options_of_the_search_change_it() {
    let bench = bench();
    let ended = bench.line("transcribe -q --nbest=3 --format=jsonl vosk in/a.wav").with(0);
    assert!(ended.stdout.contains(r#""hypotheses":[{"#), "{ended:?}");
    bench.line("transcribe -q --max-active=0 vosk in/a.wav").with(1).tells(&["kaldera transcribe: ", "is 0"]);
    bench.line("transcribe -q --max-active=50 --acoustic-scale=0.9 vosk in/a.wav").with(0);
}

#[test]
fn check_lists_the_parts_and_those_that_are_left_out() {
    let bench = bench();
    fs::create_dir(bench.path("vosk/rnnlm")).unwrap();
    bench.file("vosk/rnnlm/final.raw", "");
    fs::create_dir(bench.path("vosk/rescore")).unwrap();
    bench.file("vosk/rescore/G.fst", "");
    let ended = bench.line("model check vosk").with(0);
    for expected in [
        "vosk: a Vosk model, 3 words, a frame each 30.0 ms",
        "audio of 8000 Hz; 4 columns of features; streams keep a state",
        "3 outputs of the network, 3 pdfs; a graph in one file",
        "graph/HCLG.fst (",
        "the positions of phones in words, for times",
        "rescore/G.fst is left out: the n-gram model of the graph, which rescoring takes away",
        "rnnlm/final.raw is left out: the recurrent language model for rescoring",
    ] {
        assert!(ended.stdout.contains(expected), "{expected}: {}", ended.stdout);
    }
    bench.file("vosk/rescore/G.carpa", "");
    bench.line("model check vosk").with(1).tells(&["G.fst: "]);
    fs::remove_dir_all(bench.path("vosk/rescore")).unwrap();
    fs::remove_file(bench.path("vosk/graph/words.txt")).unwrap();
    bench.line("model check vosk").with(1).tells(&["words.txt", "the file is missing"]);
}

#[test]
fn a_stream_has_endpoints_and_partial_results() {
    let bench = bench();
    for chunk in ["", "--chunk=10", "--chunk=3000"] {
        let ended = bench.shell(&format!("$K stream -q {chunk} vosk < in/a.wav")).with(0);
        assert_eq!(ended.stdout, "low high\nhigh\n");
    }
    let partial = bench.shell("$K stream -q --partial vosk < in/a.wav").with(0).stdout;
    assert!(partial.contains("partial: low\n") && partial.contains("partial: low high\n"), "{partial}");
    let ctm = bench.shell("$K stream -q --format=ctm vosk < in/a.wav").with(0).stdout;
    let starts: Vec<f64> = ctm.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect();
    assert!(starts.len() == 3 && starts[2] > 2.0, "{ctm}");
    let raw = bench.shell("tail -c +45 in/a.wav | $K stream -q vosk").with(0);
    assert_eq!(raw.stdout, "low high\nhigh\n", "raw samples have the rate of the model");
}

#[test]
fn a_picture_has_the_words() {
    let bench = bench();
    bench.line("plot --model=vosk in/a.wav -o a.png").with(0);
    assert!(bench.path("a.png").is_file());
}
