//! The native command as people meet it: the real command, its files, its words and its exit
//! status.

use std::fs;

use crate::bench::{Bench, features};

#[test]
fn three_good_and_three_damaged_recordings() {
    let bench = Bench::new();
    for name in ["in/a.wav", "in/c.wav", "in/e.wav"] {
        bench.wav(name, 16_000, 16_000.0);
    }
    fs::write(bench.path("in/b.wav"), "this is not a recording").unwrap();
    let whole = bench.wav("in/d.wav", 16_000, 16_000.0);
    fs::write(bench.path("in/d.wav"), &whole[..30_000]).unwrap();
    bench.wav("in/f.wav", 0, 16_000.0);

    let ended = bench.run(&["features", "--kind", "fbank", "-o", "x.ark", "in"]).with(1);
    assert_eq!(bench.keys("x.ark"), ["a", "c", "e"]);
    let failures: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("failed: ")).collect();
    assert_eq!(failures.len(), 3, "{ended:?}");
    for (line, file) in failures.iter().zip(["in/b.wav", "in/d.wav", "in/f.wav"]) {
        assert!(line.contains(file), "{line}");
    }
    assert!(ended.stdout.contains("3 recordings failed"), "{ended:?}");
    assert_eq!(bench.names(), ["in", "x.ark", "x.scp"]);
}

#[test]
fn all_good_is_exit_status_0_with_a_summary() {
    let bench = Bench::new();
    for (name, seconds) in [("in/a.wav", 1), ("in/sub/b.wav", 2)] {
        bench.wav(name, 16_000 * seconds, 16_000.0);
    }
    let ended = bench.run(&["features", "--kind=mfcc", "--output=x.ark", "--jobs", "2", "in"]).with(0);
    for word in ["2 recordings", "3.00 s of audio", "296 frames of 13 dimensions", "x real time", "x.ark and x.scp"] {
        assert!(ended.stdout.contains(word), "no '{word}' in {ended:?}");
    }
    assert_eq!(ended.stderr, "");
    assert_eq!(bench.keys("x.ark"), ["a", "sub-b"]);

    let quiet = bench.run(&["features", "-q", "--kind=mfcc", "-o", "y.npz", "in"]).with(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn options_are_kaldis_in_both_spellings() {
    let bench = Bench::new();
    bench.wav("a.wav", 20_000, 16_000.0);
    fs::write(bench.path("fbank.conf"), "--num-mel-bins=80 # as in many recipes\n").unwrap();
    for (out, options) in [
        ("x.ark", &["--num-mel-bins=80"][..]),
        ("y.ark", &["--num-mel-bins", "80"][..]),
        ("z.ark", &["--config", "fbank.conf"][..]),
    ] {
        let args = [&["features", "--kind", "fbank", "-o", out, "a.wav"], options].concat();
        bench.run(&args).with(0);
    }
    let bytes = fs::read(bench.path("x.ark")).unwrap();
    assert_eq!(features(&bench.path("x.ark"))[0].1.num_cols(), 80);
    assert!(fs::read(bench.path("y.ark")).unwrap() == bytes && fs::read(bench.path("z.ark")).unwrap() == bytes);
}

#[test]
fn a_script_gives_keys_and_commands() {
    let bench = Bench::new();
    bench.wav("a.wav", 4000, 16_000.0);
    fs::write(bench.path("wav.scp"), "two a.wav\none cat a.wav |\nnone no-such.wav\n").unwrap();
    bench.run(&["features", "--kind=fbank", "-o", "x.ark", "wav.scp"]).with(1).tells(&["no-such.wav"]);
    assert_eq!(bench.keys("x.ark"), ["two", "one"]);
}

#[test]
fn wrong_usage_is_exit_status_2() {
    let bench = Bench::new();
    bench.wav("a.wav", 4000, 16_000.0);
    bench.wav("b/a.wav", 4000, 16_000.0);
    for (args, words) in [
        (&["-o", "x.ark", "a.wav"][..], &["--kind"][..]),
        (&["--kind", "cqt", "-o", "x.ark", "a.wav"], &["cqt", "fbank, mfcc, plp"]),
        (&["--kind", "fbank", "--vad", "-o", "x.ark", "a.wav"], &["--vad", "energy"]),
        (&["--kind", "fbank", "--cmvn=some", "-o", "x.ark", "a.wav"], &["--cmvn", "some", "speaker"]),
        (&["--kind", "fbank", "--shard=3/2", "-o", "x.ark", "a.wav"], &["--shard", "3/2"]),
        (&["--kind", "fbank", "--shard=1/2", "-o", "x.ark", "a.wav"], &["1/2", "1 recordings"]),
        (&["--kind", "fbank", "--shard=1/1", "--cmvn=all", "-o", "x.ark", "a.wav"], &["--cmvn=all", "shard"]),
        (&["--kind", "fbank", "--resume", "-o", "x.mat", "a.wav"], &["x.mat", ".ark", ".npz", ".safetensors"]),
        (&["--kind", "mfcc", "--with-pitch", "--min-f0=900", "-o", "x.ark", "a.wav"], &["f0"]),
        (&["--kind", "fbank", "a.wav"], &["-o", ".ark", ".npz", ".safetensors"]),
        (&["--kind", "fbank", "-o", "x.mat", "a.wav"], &["x.mat", ".ark", ".npz", ".safetensors"]),
        (&["--kind", "fbank", "-o", "x.ark"], &["no recordings"]),
        (&["--kind", "fbank", "-o", "x.ark", "--num-mel-bins=many", "a.wav"], &["num-mel-bins", "many"]),
        (&["--kind", "fbank", "-o", "x.ark", "--frame-shift=nan", "a.wav"], &["frame-shift"]),
        (&["--kind", "fbank", "-o", "x.ark", "--vtln-warp=nan", "a.wav"], &["--vtln-warp"]),
        (&["--kind", "fbank", "-o", "x.ark", "--min-duration=nan", "a.wav"], &["--min-duration"]),
        (&["--kind", "fbank", "-o", "x.ark", "--no-such=1", "a.wav"], &["--no-such"]),
        (&["--kind", "fbank", "-o", "x.ark", "--channel=-2", "a.wav"], &["--channel"]),
    ] {
        let ended = bench.run(&[&["features"], args].concat()).with(2).tells(words);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
    assert_eq!(bench.names(), ["a.wav", "b"]);
}

#[test]
fn help_lists_the_options_of_the_kind() {
    let bench = Bench::new();
    for (kind, option) in [("fbank", "--use-log-fbank"), ("mfcc", "--num-ceps")] {
        let ended = bench.run(&["features", "--kind", kind, "--help"]).with(0);
        assert!(ended.stdout.contains(option) && ended.stdout.contains("--jobs"), "{ended:?}");
    }
    let general = bench.run(&["features", "--help"]).with(0).stdout;
    assert!(
        general.contains("--kind KIND --help") && general.contains("whisper.log_mel") && general.contains("lhotse")
    );
    assert!(general.contains("--jobs") && !general.contains("\n      --num-mel-bins"), "{general}");
}

#[test]
fn another_sample_rate_is_told_with_its_remedy() {
    let bench = Bench::new();
    bench.wav("a.wav", 8000, 8000.0);
    let args = ["features", "--kind", "fbank", "-o", "x.ark", "a.wav"];
    bench.run(&args).with(1).tells(&["a.wav", "--sample-frequency=8000", "--allow-upsample=true", "--resample"]);
    assert_eq!(bench.names(), ["a.wav"]);
    for option in ["--sample-frequency=8000", "--allow-upsample=true", "--resample"] {
        bench.run(&[&args[..], &[option]].concat()).with(0);
    }
}

#[test]
fn errors_name_options() {
    let bench = Bench::new();
    bench.wav("a.wav", 8000, 16_000.0);
    bench.wav("b.wav", 300, 16_000.0);
    let fbank = |args: &[&str]| bench.run(&[&["features", "--kind=fbank", "-o", "x.ark"], args].concat());
    fbank(&["--min-duration=2", "a.wav"]).with(1).tells(&["0.5 s long", "--min-duration"]);
    fbank(&["b.wav"]).with(1).tells(&["300 samples", "too few for one frame"]);
    fbank(&["--low-freq=9000", "a.wav"]).with(2).tells(&["--low-freq"]);
    fbank(&["--use-energy", "--vad", "--vad-energy-threshold=99", "a.wav"]).with(1).tells(&["--vad-energy-threshold"]);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let bench = Bench::new();
    bench.wav("a.wav", 4000, 16_000.0);
    for out in ["none/x.ark", "none/x.npz", "none/x.safetensors"] {
        bench.run(&["features", "--kind", "fbank", "-o", out, "a.wav"]).with(1).tells(&[out]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.wav("a.wav", 160_000, 16_000.0);
    fs::write(bench.path("x.ark"), "of yesterday").unwrap();
    for out in ["x.ark", "x.npz", "x.safetensors"] {
        // A limit on the size of files, without its signal, fails writes as a full disk does.
        let line = format!("trap '' XFSZ; ulimit -f 8; exec \"$K\" features --kind fbank -o {out} a.wav");
        let ended = bench.shell(&line).with(1).tells(&[out]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
    assert_eq!(bench.names(), ["a.wav", "x.ark"]);
    assert_eq!(fs::read(bench.path("x.ark")).unwrap(), b"of yesterday");
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    bench.shell("echo old > x.ark; chmod 444 x.ark").with(0);
    bench.line("features --kind fbank -o x.ark a.wav").with(1).tells(&["x.ark", "read-only"]);
    assert_eq!(bench.text("x.ark"), "old\n");
    bench.line("features --kind fbank -j5000 -o y.ark a.wav").with(2).tells(&["--jobs", "1024"]);
}

#[test]
#[cfg(target_os = "linux")]
fn standard_streams_may_be_closed_or_full() {
    let bench = Bench::new();
    bench.wav("good.wav", 4000, 16_000.0);
    fs::write(bench.path("bad.wav"), "").unwrap();
    let features = "\"$K\" features --kind fbank -o x.ark";
    bench.shell(&format!("{features} good.wav > /dev/full")).with(1).tells(&["standard output"]);
    bench.shell(&format!("{features} good.wav 2> /dev/full")).with(0);
    bench.shell(&format!("{features} bad.wav good.wav >&- 2>&-")).with(1);
    bench.shell(&format!("{features} bad.wav good.wav > /dev/full 2> /dev/full")).with(1);
    bench.shell("\"$K\" info >&- 2>&-").with(0);
    bench.shell("\"$K\" info > /dev/full").with(1);
    bench.shell("{ \"$K\" features --help; echo $? >&2; } | true").with(0).tells(&["0"]);
}

#[test]
fn info_tells_what_computes() {
    let ended = Bench::new().run(&["info"]).with(0);
    for word in [env!("CARGO_PKG_VERSION"), "features", "symphonia", "backend", "SIMD", "threads"] {
        assert!(ended.stdout.contains(word), "no '{word}' in {ended:?}");
    }
    let json = Bench::new().run(&["info", "--json"]).with(0).stdout;
    let info: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["features"]["symphonia"], cfg!(feature = "symphonia"));
    assert!(info["threads"].is_u64() && info["simd"].is_string() && info["backends"]["pure"].is_boolean(), "{json}");
}

#[test]
fn a_plot_is_drawn_from_an_archive_or_its_index() {
    let bench = Bench::new();
    bench.wav("utt1.wav", 16_000, 16_000.0);
    bench.wav("utt2.wav", 16_000, 16_000.0);
    bench.run(&["features", "--kind", "fbank", "-o", "x.ark", "utt1.wav", "utt2.wav"]).with(0);
    for feats in ["x.ark", "x.scp", "ark:x.ark", "scp:x.scp"] {
        bench.run(&["plot", feats, "utt2", "-o", "x.png"]).with(0);
        bench.run(&["plot", feats, "utt3", "-o", "y.png"]).with(1).tells(&["utt3", "utt1", "utt2"]);
    }
    assert!(fs::read(bench.path("x.png")).unwrap().starts_with(b"\x89PNG"));
    bench.run(&["plot", "x.ark", "utt1", "-o", "x.svg", "--frame-shift=0"]).with(0);
    let svg = fs::read_to_string(bench.path("x.svg")).unwrap();
    assert!(svg.contains("utt1") && svg.trim_end().ends_with("</svg>"));
    assert!(!bench.path("y.png").exists());

    bench.run(&["plot", "x.ark", "utt1", "-o", "x.jpg"]).with(2).tells(&[".png", ".svg"]);
    bench.run(&["plot", "x.ark", "-o", "x.png"]).with(2).tells(&["KEY", "'utt1'", "'utt2'"]);
    bench.run(&["plot", "x.ark", "utt1", "-o", "-"]).with(2).tells(&[".png", ".svg"]);
    bench.run(&["plot", "x.ark", "utt1", "-o", "none/x.png"]).with(1).tells(&["none/x.png"]);
    bench.run(&["plot", "x.ark", "utt1", "-o", "none/x.svg"]).with(1).tells(&["none/x.svg"]);
    bench.run(&["plot", "none.ark", "utt1", "-o", "z.png"]).with(1).tells(&["none.ark"]);
}

/// What a file of each format gives, with a key, and without where there is but one.
#[test]
fn plot_reads_what_features_writes() {
    let bench = Bench::new();
    bench.wav("one.wav", 16_000, 16_000.0);
    bench.wav("two.wav", 20_000, 16_000.0);
    let mut pictures = Vec::new();
    for ending in ["ark", "npz", "safetensors"] {
        let (one, both) = (format!("one.{ending}"), format!("both.{ending}"));
        bench.run(&["features", "-q", "--kind", "fbank", "-o", &one, "one.wav"]).with(0);
        bench.run(&["features", "-q", "--kind", "fbank", "-o", &both, "one.wav", "two.wav"]).with(0);
        let picture = bench.run(&["plot", &one]).with(0);
        assert_eq!(picture.stderr, "");
        assert_eq!(bench.run(&["plot", &both, "one"]).with(0).stdout, picture.stdout, "{ending}");
        bench.run(&["plot", &both]).with(2).tells(&["'one'", "'two'", "KEY"]);
        bench.run(&["plot", &both, "three"]).with(1).tells(&["'one'", "'two'", "three"]);
        bench.run(&["plot", &both, "two", "-o", "x.svg"]).with(0);
        pictures.push(picture.stdout);
    }
    pictures.push(bench.run(&["plot", "one.scp"]).with(0).stdout);
    pictures.dedup();
    let [picture] = &pictures[..] else { panic!("{pictures:?}") };
    assert!(picture.starts_with("one, 98 frames of 23 dimensions\n  frame 0:"), "{picture}");
    assert!(picture.ends_with("0.98 s\n"), "{picture}");
}

#[test]
fn a_recording_is_shown_in_the_terminal() {
    let bench = Bench::new();
    bench.wav("one.wav", 16_000, 16_000.0);
    let picture = bench.run(&["plot", "one.wav"]).with(0).stdout;
    for word in ["one: spectrogram", "one: fbank", "one: pitch", "Hz", "0.98 s"] {
        assert!(picture.contains(word), "no '{word}' in {picture}");
    }
    assert!(picture.lines().all(|line| line.chars().count() <= 100), "{picture}");
}

#[test]
fn presets_are_defaults_that_options_override() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    let dims = |args: &[&str]| {
        bench.run(&[&["features", "-q", "-o", "x.ark", "a.wav"], args].concat()).with(0);
        let features = features(&bench.path("x.ark")).remove(0).1;
        (features.num_rows(), features.num_cols())
    };
    assert_eq!(dims(&["--kind=fbank", "--preset=lhotse"]), (100, 80));
    assert_eq!(dims(&["--kind=fbank", "--preset=lhotse", "--num-mel-bins=40", "--snip-edges"]), (98, 40));
    assert_eq!(dims(&["--kind=mfcc", "--preset", "torchaudio"]), (98, 13));
    assert_eq!(dims(&["--preset=whisper"]), (100, 80));
    assert_eq!(dims(&["--kind=plp", "--preset=kaldi"]), (98, 13));
    assert_eq!(dims(&["--preset=nemo-80", "--num-mel-bins=128"]), (100, 128));
    assert_eq!(dims(&["--kind=whisper", "--preset=whisper-large-v3"]), (3000, 128));
    assert_eq!(dims(&["--preset=gemma4"]), (99, 128));
    assert_eq!(dims(&["--preset=silero-vad"]), (32, 576));
    assert_eq!(dims(&["--kind=samples", "--frame-samples=160"]), (100, 160));
    assert_eq!(dims(&["--preset=sensevoice"]), (17, 560));
    let numbers = |number: &str| format!("560 560\n<LearnRateCoef> 0 [ {}]\n", format!("{number} ").repeat(560));
    let mvn = format!("<Nnet>\n<AddShift> {}<Rescale> {}</Nnet>\n", numbers("-8.5"), numbers("0"));
    fs::write(bench.path("am.mvn"), mvn).unwrap();
    assert_eq!(dims(&["--preset=paraformer", "--cmvn-file=am.mvn"]), (17, 560));
    assert!(features(&bench.path("x.ark")).remove(0).1.data().iter().all(|&x| x == 0.0));
    fs::write(bench.path("front.conf"), "--preset=lhotse\n").unwrap();
    assert_eq!(dims(&["--kind=fbank", "--preset=torchaudio", "--config=front.conf"]), (98, 23));
    assert_eq!(dims(&["--kind=fbank", "--PRESET=lhotse"]), (100, 80));
    assert_eq!(dims(&["--kind=fbank", "--Kind=mfcc"]), (98, 13));
    for (args, words) in [
        (&["--kind=fbank", "--preset=lhotze"][..], &["'lhotze'", "did you mean 'lhotse'?"][..]),
        (&["--preset=parakeet-tdt-0.6b-v3"], &["one of kaldi, ", "snfa; nemo-128 is for NeMo's Canary"]),
        (&["--kind=fbank", "--preset=whisper"], &["no fbank of whisper, which has whisper"]),
        (&["--kind=whisper", "--preset=librosa"], &["no whisper of librosa"]),
        (&["--kind=plp", "--preset=lhotse"], &["no plp of lhotse, which has fbank, mfcc"]),
        (&["--preset=lhotse"], &["--kind is missing: lhotse has fbank, mfcc"]),
        (&["--preset=sensevoice", "--cmvn-file=a.wav"], &["option --cmvn-file: a.wav: "]),
        (&["--preset=lhotse", "--kind=fbank", "--cmvn-file=am.mvn"], &["has 560 columns where 80 are needed"]),
        (&["--preset=sensevoice", "--with-pitch"], &["--with-pitch needs a row for each frame"]),
        (&["--preset=sensevoice", "--lfr-n=0"], &["--lfr-n=0 can't be"]),
        (&["--preset=gemma4", "--pad-to=480000"], &["--max-samples=480000 can't be"]),
        (&["--kind=pitch", "--cmvn-file=am.mvn"], &["--cmvn-file cannot be used with --kind pitch"]),
        (&["--kind=fbank", "--config=front.conf"], &["give --preset=lhotse on the command line"]),
        (&["--preset=nemo-80", "--vtln-warp=0.9"], &["--vtln-warp is for Kaldi's filters", "not with log-mel"]),
        (&["--kind=spectrogram", "--vtln-warp=1.1"], &["--vtln-warp", "not with spectrogram"]),
        (&["--kind=mfcc", "--vad", "--normalize=per_feature"], &["--vad needs a log energy that is not normalised"]),
        (&["--kind=mfcc", "--vad", "--cmvn-file=am.mvn"], &["--vad needs a log energy that is not normalised"]),
    ] {
        bench.run(&[&["features", "-o", "x.ark", "a.wav"], args].concat()).with(2).tells(words);
    }
}
