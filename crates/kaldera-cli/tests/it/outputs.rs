//! Where output goes: never over an input, never through a link, of a known run, and with keys that
//! its format can hold.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::bench::{Bench, Ended, features};

/// A folder with a list of two recordings and features of both.
fn bench() -> Bench {
    let bench = Bench::new();
    for key in ["a", "b"] {
        bench.wav(&format!("{key}.wav"), 8000, 16_000.0);
    }
    fs::write(bench.path("wav.scp"), "a a.wav\nb b.wav\n").unwrap();
    bench
}

fn fbank(bench: &Bench, args: &[&str]) -> Ended {
    bench.run(&[&["features", "--kind=fbank", "-j1"], args].concat())
}

/// All files with their bytes.
fn contents(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let names = bench.names().into_iter().filter(|name| bench.path(name).is_file());
    names.map(|name| (name.clone(), fs::read(bench.path(&name)).unwrap())).collect()
}

#[test]
fn native_outputs_that_are_inputs_are_refused_before_anything_is_written() {
    let bench = bench();
    fbank(&bench, &["-o", "x.ark", "wav.scp"]).with(0);
    fbank(&bench, &["-o", "y.npz", "wav.scp"]).with(0);
    fs::copy(bench.path("a.wav"), bench.path("rec.ark")).unwrap();
    fs::write(bench.path("list.scp"), "r rec.ark\n").unwrap();
    fs::create_dir(bench.path("data")).unwrap();
    fs::copy(bench.path("wav.scp"), bench.path("data/wav.scp")).unwrap();
    symlink("rec.ark", bench.path("soft.ark")).unwrap();
    fs::hard_link(bench.path("rec.ark"), bench.path("hard.ark")).unwrap();
    fs::write(bench.path("a.txt"), "0 1 7 0.5\n1\n").unwrap();
    fs::write(bench.path("words.txt"), "<eps> 0\na 7\n").unwrap();
    symlink("x.ark", bench.path("x.png")).unwrap();
    fs::copy(bench.path("x.scp"), bench.path("other.scp")).unwrap();
    let before = contents(&bench);
    for args in [
        "features --kind=fbank -o wav.ark wav.scp",
        "features --kind=fbank -o rec.ark rec.ark",
        "features --kind=fbank --resume -o rec.ark rec.ark",
        "features --kind=fbank -o ./rec.ark list.scp",
        "features --kind=fbank -o soft.ark list.scp",
        "features --kind=fbank -o hard.ark list.scp",
        "features --kind=fbank -o data/../list.ark list.scp",
        "features --kind=fbank -o data/wav.ark data",
        "merge -o x.ark x.ark",
        "merge -o x.ark y.npz x.scp",
        "merge -o y.npz x.ark y.npz",
        "merge -o x.ark other.scp",
        "plot x.ark a -o x.png",
        "plot x.scp a -o x.png",
        "plot ark:x.ark a -o x.png",
        "fst convert a.txt a.txt",
        "fst compile --isymbols=words.txt --osymbols=words.txt --acceptor a.txt words.txt",
        "fst union a.txt a.txt ./a.txt",
    ] {
        let args: Vec<_> = args.split(' ').collect();
        bench.run(&args).with(2).tells(&["would overwrite the input"]);
        assert!(contents(&bench) == before, "{args:?}");
    }
    bench.shell("\"$K\" fst convert - a.txt < a.txt").with(2).tells(&["would overwrite"]);
    assert!(contents(&bench) == before);
    // Beside an input is no input.
    fbank(&bench, &["-o", "data.ark", "data"]).with(0);
    bench.run(&["merge", "-o", "x.npz", "x.ark"]).with(0);
}

#[test]
fn programs_of_kaldi_refuse_to_empty_their_inputs() {
    let bench = Bench::new();
    fs::write(bench.path("x.ark"), "a [\n 1 2 ]\n").unwrap();
    fs::write(bench.path("x.scp"), "a x.ark:2\n").unwrap();
    fs::write(bench.path("o.ark"), "a [\n 1 2 ]\n").unwrap();
    let before = contents(&bench);
    for tool in kaldera_cli::kaldi_tools() {
        let first: &[&str] = match *tool {
            // A program for single files, which reads all before it writes.
            "arpa-to-const-arpa" => continue,
            "matrix-dim"
            | "compute-wer"
            | "compute-wer-bootci"
            | "copy-feats-to-htk"
            | "copy-feats-to-sphinx"
            | "nnet3-info"
            | "nnet3-am-info" => {
                continue;
            }
            // Their output is a file by its name.
            "lattice-arc-post" | "lattice-to-ctm-conf" | "nbest-to-ctm" => {
                bench.run(&[tool, "ark:x.ark", "x.ark"]).with(255).tells(&["would overwrite the input"]);
                continue;
            }
            "align-text"
            | "apply-cmvn"
            | "paste-feats"
            | "select-voiced-frames"
            | "lattice-combine"
            | "lattice-compose"
            | "lattice-copy-backoff"
            | "lattice-interp"
            | "lattice-oracle"
            | "lattice-union" => &["ark:o.ark"],
            "ali-to-phones"
            | "apply-cmvn-online"
            | "gmm-global-get-post"
            | "ivector-extract"
            | "lattice-to-phone-lattice"
            | "transform-feats" => &["o.ark"],
            "ivector-extract-online2" => &["ark:o.ark"],
            "linear-to-nbest" => &["ark:o.ark", "ark:o.ark", "ark:o.ark"],
            "decode-faster" | "nnet3-compute" => &["o.ark"],
            "online2-wav-nnet3-latgen-faster" => &["o.ark", "o.ark", "ark:o.ark"],
            "lattice-lmrescore-pruned" => &["o.ark", "o.ark"],
            "latgen-faster-mapped" | "lattice-align-words" | "lattice-align-words-lexicon" | "nnet3-latgen-faster" => {
                &["o.ark", "o.ark"]
            }
            "select-feats" => &["0"],
            "modify-cmvn-stats" => &["0:1"],
            _ => &[],
        };
        let second: &[&str] = if tool.starts_with("extract-")
            || matches!(*tool, "ivector-extract" | "lattice-lmrescore" | "lattice-lmrescore-const-arpa")
        {
            &["o.ark"]
        } else {
            &[]
        };
        for (input, output) in [
            ("ark:x.ark", "ark:x.ark"),
            ("ark:x.ark", "ark,t:./x.ark"),
            ("ark:x.ark", "ark,scp:new.ark,x.ark"),
            ("scp:x.scp", "ark,scp:new.ark,x.scp"),
            ("scp:x.scp", "ark:x.ark"),
            ("scp,p:x.scp", "ark:x.scp"),
        ] {
            let args = [&[*tool][..], first, &[input], second, &[output]].concat();
            bench.run(&args).with(255).tells(&["would overwrite the input"]);
            assert!(contents(&bench) == before, "{args:?}");
        }
    }
    bench.run(&["copy-feats", "--write-num-frames=ark,t:x.ark", "ark:x.ark", "ark:new.ark"]).with(255);
    bench.run(&["subset-feats", "--include=o.ark", "ark:x.ark", "ark:o.ark"]).with(255);
    bench.shell("\"$K\" copy-feats ark:- ark:x.ark < x.ark").with(255).tells(&["would overwrite"]);
    for line in [
        "decode-faster o.ark ark:x.ark ark:x.ark ark:new.ark",
        "latgen-faster-mapped o.ark o.ark ark:x.ark ark:new.ark ark:x.ark",
        "latgen-faster-mapped o.ark o.ark ark:x.ark ark:x.ark ark:new.ark ark:other.ark",
        "nnet3-compute --online-ivectors=ark:o.ark o.ark ark:x.ark ark:o.ark",
        "lattice-best-path ark:x.ark ark:x.ark ark:new.ark",
        "lattice-best-path --write-lattices=ark:x.ark ark:x.ark ark:new.ark",
        "lattice-mbr-decode ark:x.ark ark:x.ark ark:new.ark ark:other.ark",
        "lattice-mbr-decode --word-symbol-table=x.scp ark:x.ark ark:x.scp ark:new.ark",
        "lattice-oracle ark:x.ark ark:o.ark ark:o.ark ark:new.ark",
        "nbest-to-linear ark:x.ark ark:x.ark ark:new.ark",
    ] {
        let args: Vec<_> = line.split(' ').collect();
        bench.run(&args).with(255).tells(&["would overwrite the input"]);
        assert!(contents(&bench) == before, "{line}");
    }
    bench.run(&["copy-feats-to-htk", "--output-dir=.", "--output-ext=fea", "ark:x.ark"]).with(0);
    fs::copy(bench.path("x.ark"), bench.path("a.fea")).unwrap();
    let before = contents(&bench);
    bench.run(&["copy-feats-to-htk", "--output-dir=.", "ark:a.fea"]).with(255).tells(&["would overwrite"]);
    assert!(contents(&bench) == before);
}

#[test]
fn programs_of_kaldi_write_in_place_where_nothing_is_lost() {
    let bench = Bench::new();
    fs::write(bench.path("x.ark"), "a [\n 1 2 ]\n").unwrap();
    bench.run(&["copy-matrix", "ark:x.ark", "ark,scp:y.ark,y.scp"]).with(0);
    bench.run(&["copy-matrix", "ark:x.ark", "ark,scp:y.ark,y.scp"]).with(0);
    bench.shell("\"$K\" copy-matrix --binary=false 'y.ark:2' one.mat && cp one.mat two.mat").with(0);
    bench.run(&["copy-matrix", "--scale=2", "--binary=false", "one.mat", "one.mat"]).with(0);
    fs::write(bench.path("one.scp"), "a one.mat\n").unwrap();
    bench.run(&["copy-matrix", "--scale=2", "scp:one.scp", "scp,t:one.scp"]).with(0);
    assert!(fs::read_to_string(bench.path("one.mat")).unwrap().contains("4 8"));
    bench.run(&["copy-matrix", "ark:/dev/null", "ark:/dev/null"]);
}

#[test]
fn resuming_believes_no_file_of_another_run() {
    for out in ["x.ark", "x.npz"] {
        let bench = bench();
        let run = |args: &[&str]| fbank(&bench, &[&["--resume", "-o", out], args].concat());
        let is_anew = |ended: Ended, why: &str| {
            let ended = ended.with(0);
            let lines: Vec<_> = ended.stderr.lines().filter(|line| line.contains("everything is done again")).collect();
            assert!(lines.len() == 1 && lines[0].contains(out) && lines[0].contains(why), "{why}: {ended:?}");
        };
        let is_believed = |args: &[&str]| assert!(run(args).with(0).stdout.contains("nothing to do"), "{args:?}");

        run(&["wav.scp"]).with(0);
        is_believed(&["wav.scp"]);
        is_believed(&["-j2", "wav.scp"]);
        let whole = fs::read(bench.path(out)).unwrap();
        fbank(&bench, &["-q", "-o", &format!("plain-{out}"), "wav.scp"]).with(0);
        assert!(whole == fs::read(bench.path(&format!("plain-{out}"))).unwrap());

        // Each of these runs, in its turn, leaves a file that the next one does not believe.
        is_anew(run(&["--num-mel-bins=40", "wav.scp"]), "other options or inputs");
        is_anew(bench.run(&["features", "--kind=mfcc", "--resume", "-o", out, "wav.scp"]), "other options or inputs");
        is_anew(run(&["a.wav"]), "other options or inputs");
        fs::write(bench.path("swapped.scp"), "b b.wav\na a.wav\n").unwrap();
        is_anew(run(&["swapped.scp"]), "other options or inputs");
        run(&["wav.scp"]).with(0);
        bench.wav("b.wav", 9000, 16_000.0);
        is_anew(run(&["wav.scp"]), "other options or inputs");
        let mvn = |number: &str| {
            let numbers = format!("23 23\n<LearnRateCoef> 0 [ {}]\n", format!("{number} ").repeat(23));
            fs::write(bench.path("am.mvn"), format!("<Nnet>\n<AddShift> {numbers}<Rescale> {numbers}</Nnet>\n"))
                .unwrap();
        };
        mvn("1.5");
        run(&["--cmvn-file=am.mvn", "wav.scp"]).with(0);
        is_believed(&["--cmvn-file=am.mvn", "wav.scp"]);
        mvn("2.5");
        is_anew(run(&["--cmvn-file=am.mvn", "wav.scp"]), "other options or inputs");
        run(&["wav.scp"]).with(0);
        let last = fs::read(bench.path(out)).unwrap();

        let foreign = |bytes: &[u8]| fs::write(bench.path(out), bytes).unwrap();
        foreign(b"");
        assert!(run(&["wav.scp"]).with(0).stderr.contains("is empty: everything is done again"));
        foreign(&last[..last.len() / 2]);
        assert!(run(&["wav.scp"]).with(0).stderr.contains("has been changed"));
        fs::remove_file(bench.path(&format!("{out}.resume"))).unwrap();
        assert!(run(&["wav.scp"]).with(0).stderr.contains("is not known to be complete"));
        fbank(&bench, &["-q", "--num-mel-bins=15", "-o", out, "wav.scp"]).with(0);
        assert!(run(&["wav.scp"]).with(0).stderr.contains("is not known to be complete"), "of a run without --resume");
        if out == "x.ark" {
            fs::remove_file(bench.path("x.scp")).unwrap();
            assert!(run(&["wav.scp"]).with(0).stderr.contains("has lost its index"));
        }
        assert!(fs::read(bench.path(out)).unwrap() == last);
        is_believed(&["wav.scp"]);
    }
}

#[test]
fn what_failed_is_told_again_by_a_run_that_has_nothing_to_do() {
    let bench = bench();
    fs::write(bench.path("bad.wav"), "no recording").unwrap();
    let run = || fbank(&bench, &["--resume", "-o", "x.ark", "a.wav", "bad.wav"]);
    run().with(1).tells(&["bad.wav"]);
    run().with(1).tells(&["1 recording that failed"]);
}

#[test]
fn links_where_temporary_files_go_are_not_followed() {
    let bench = bench();
    fs::write(bench.path("victim"), "mine").unwrap();
    // The name of the unfinished file is known from a run that is killed.
    fs::write(bench.path("kill.scp"), "a a.wav\nb kill -KILL $PPID; sleep 1; cat b.wav |\n").unwrap();
    let run = |input: &str| fbank(&bench, &["--resume", "-o", "x.ark", input]);
    assert_eq!(run("kill.scp").code, None);
    let parts: Vec<_> = bench.names().into_iter().filter(|name| name.ends_with(".part")).collect();
    let [part] = &parts[..] else { panic!("{parts:?}") };
    let plants: [fn(PathBuf, PathBuf) -> io::Result<()>; 2] =
        [|from, to| symlink(from, to), |from, to| fs::hard_link(from, to)];
    for plant in plants {
        fs::remove_file(bench.path(part)).unwrap();
        plant(bench.path("victim"), bench.path(part)).unwrap();
        assert_eq!(run("kill.scp").code, None);
        assert_eq!(fs::read_to_string(bench.path("victim")).unwrap(), "mine");
        for name in bench.names().into_iter().filter(|name| name.ends_with(".part") && name != part) {
            fs::remove_file(bench.path(&name)).unwrap();
        }
    }
}

#[test]
fn keys_that_a_format_cannot_hold_are_refused_before_the_first_byte() {
    let bench = bench();
    let cut = |key: &str| {
        format!(r#"{{"id": "{key}", "sources": [{{"type": "file", "source": "a.wav"}}], "channel_ids": [0]}}"#)
    };
    for (out, key, words) in [
        ("x.safetensors", "__metadata__", "entry of their own"),
        ("x.ark", r"a\u0001b", "Kaldi's archives"),
        ("x.ark", r"a\u0000b", "Kaldi's archives"),
        ("x.npz", "../evil", "outside the folder"),
        ("x.npz", "/evil", "outside the folder"),
        ("x.npz", r"a\u0000b", "control characters"),
    ] {
        fs::write(bench.path("list.jsonl"), format!("{}\n{}\n", cut("good"), cut(key))).unwrap();
        let before = bench.names();
        for resume in [&[][..], &["--resume"]] {
            let ended = fbank(&bench, &[&["-o", out, "list.jsonl"], resume].concat());
            // A list may refuse them itself.
            assert!(matches!(ended.code, Some(1 | 2)), "{key}: {ended:?}");
            assert!(ended.stderr.contains(words) || ended.stderr.contains("list.jsonl:2"), "{key}: {ended:?}");
            assert_eq!(bench.names(), before, "{key}");
        }
    }
}

#[test]
fn keys_never_name_files_outside_the_output_folder() {
    let bench = Bench::new();
    for (tool, ending) in [("copy-feats-to-htk", "fea"), ("copy-feats-to-sphinx", "mfc")] {
        let absolute = bench.path("absolute").to_str().unwrap().to_owned();
        for key in ["../evil", &absolute, "a/../../evil", ".."] {
            fs::write(bench.path("x.ark"), format!("{key} [\n 1 2 ]\n")).unwrap();
            let args = [tool, "--output-dir=out", "ark:x.ark"];
            bench.run(&args).with(255).tells(&["outside --output-dir"]);
            assert_eq!(bench.names(), ["out", "x.ark"], "{key}");
        }
        fs::create_dir_all(bench.path("out/spk")).unwrap();
        fs::write(bench.path("x.ark"), "spk/a [\n 1 2 ]\n").unwrap();
        bench.run(&[tool, "--output-dir=out", "ark:x.ark"]).with(0);
        assert!(bench.path(&format!("out/spk/a.{ending}")).exists());
    }
}

#[test]
fn a_device_receives_what_cannot_replace_it() {
    let bench = Bench::new();
    fs::write(bench.path("a.txt"), "0 1 7 0.5\n1\n").unwrap();
    bench.run(&["fst", "convert", "--format=text", "a.txt", "/dev/null"]).with(0);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    bench.shell("mkfifo f; cat f > out & \"$K\" fst convert --format=text a.txt f; wait").with(0);
    assert!(fs::read_to_string(bench.path("out")).unwrap().contains("7"));
    bench.wav("a.wav", 8000, 16_000.0);
    bench.shell("mkfifo x.ark").with(0);
    fbank(&bench, &["-o", "x.ark", "a.wav"]).with(1).tells(&["x.ark", "FIFO"]);
}

/// Everything that may wait for a FIFO ends at once, with the status of the signal and without a
/// trace.
#[test]
fn signals_end_a_run_at_once_even_while_it_waits_for_a_fifo() {
    let bench = bench();
    bench.shell("mkfifo f.wav f.ark").with(0);
    // The shell must not keep our end of stderr open.
    fs::write(bench.path("wait.scp"), "a a.wav\nb exec 2>&-; echo $$ > pid; exec sleep 20 |\n").unwrap();
    fs::write(bench.path("pid"), "").unwrap();
    for (args, left) in [
        (&["features", "--kind=fbank", "-o", "x.ark", "a.wav", "f.wav"][..], "nothing was written"),
        (&["features", "--kind=fbank", "-o", "x.npz", "wait.scp"], "nothing was written"),
        (&["features", "--kind=fbank", "-o", "x.ark", "--resume", "-j2", "a.wav", "f.wav"], "--resume continues"),
        (&["merge", "-o", "x.ark", "f.ark"], "nothing was written"),
        (&["plot", "f.wav", "-o", "x.png"], "nothing was drawn"),
    ] {
        for (signal, status) in [("TERM", 143), ("INT", 130)] {
            let before = bench.names();
            let child = bench.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(400));
            let begin = Instant::now();
            bench.shell(&format!("kill -{signal} {}", child.id())).with(0);
            let ended = Ended::from(child.wait_with_output().unwrap());
            assert!(begin.elapsed() < Duration::from_secs(2), "{args:?}: {:?}", begin.elapsed());
            assert_eq!(ended.code, Some(status), "{args:?}: {ended:?}");
            assert!(ended.stderr.contains("stopped") && ended.stderr.contains(left), "{args:?}: {ended:?}");
            let names: Vec<_> = bench.names().into_iter().filter(|name| !name.ends_with(".part")).collect();
            let before: Vec<_> = before.into_iter().filter(|name| !name.ends_with(".part")).collect();
            assert_eq!(names, before, "{args:?}");
            if args.contains(&"wait.scp") {
                // It has ended, though perhaps nobody has asked how.
                bench.shell("! kill -0 $(cat pid) || grep -q 'State:.Z' /proc/$(cat pid)/status").with(0);
            }
        }
    }
    let part = bench.names().into_iter().find(|name| name.ends_with(".part")).unwrap();
    assert_eq!(features(&bench.path(&part)).len(), 1, "what was done stays");
}
