//! Runs that are killed at any moment, and disks that are full: what is there afterwards is whole,
//! and the next run makes the same bytes as one that nobody has disturbed.
//!
//! `KALDERA_FAULT_ROUNDS` says how many runs are killed; the counts are printed.

use std::collections::HashMap;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use crate::bench::Bench;

const OUTPUTS: [&str; 3] = ["x.ark", "x.npz", "x.safetensors"];

/// Runs that are killed if nothing else is asked for.
const ROUNDS: usize = 24;

fn rounds() -> usize {
    std::env::var("KALDERA_FAULT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

/// Numbers that differ from run to run.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Self(since.as_nanos() as u64 | 1)
    }

    /// Below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

/// Some hundred recordings in a folder, and a list of them.
fn recordings(bench: &Bench, count: usize) {
    let mut list = String::new();
    for i in 0..count {
        bench.wav(&format!("in/{i:03}.wav"), 3000 + i * 37 % 4000, 16_000.0);
        list += &format!("{i:03} in/{i:03}.wav\n");
    }
    fs::write(bench.path("wav.scp"), list).unwrap();
}

const FBANK: [&str; 5] = ["features", "-q", "--kind=fbank", "--num-mel-bins=80", "-j2"];

/// What an undisturbed run writes, by the name of each file; the index is that of an archive in the
/// same place.
fn undisturbed(bench: &Bench) -> HashMap<String, Vec<u8>> {
    let mut expected = HashMap::new();
    for out in OUTPUTS {
        bench.run(&[&FBANK[..], &["-o", out, "wav.scp"]].concat()).with(0);
    }
    for name in OUTPUTS.into_iter().chain(["x.scp"]) {
        expected.insert(name.to_owned(), fs::read(bench.path(name)).unwrap());
        fs::remove_file(bench.path(name)).unwrap();
    }
    expected
}

/// Each output that is there is whole, and an index has its archive beside it.
fn check(bench: &Bench, expected: &HashMap<String, Vec<u8>>, what: &str) {
    for (name, bytes) in expected {
        if bench.path(name).exists() {
            assert!(fs::read(bench.path(name)).unwrap() == *bytes, "{name} is partial: {what}");
        }
    }
    assert!(!bench.path("x.scp").exists() || bench.path("x.ark").exists(), "an index without an archive: {what}");
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".kaldera-") || name.ends_with(".part")
}

#[test]
fn runs_that_are_killed_at_random_moments_leave_nothing_partial() {
    let bench = Bench::new();
    recordings(&bench, 250);
    let expected = undisturbed(&bench);
    let inputs = bench.names();
    let begin = Instant::now();
    bench.run(&[&FBANK[..], &["-o", "x.ark", "wav.scp"]].concat()).with(0);
    let whole = begin.elapsed();
    let mut random = Random::new();
    let (mut killed, mut resumed, mut completed) = (0, 0, 0);
    while killed < rounds() {
        for name in bench.names().into_iter().filter(|name| !inputs.contains(name)) {
            fs::remove_file(bench.path(&name)).unwrap();
        }
        let out = OUTPUTS[random.below(3) as usize];
        let resume: &[&str] = if random.below(3) > 0 { &["--resume"] } else { &[] };
        let args = [&FBANK[..], &["-o", out, "wav.scp"], resume].concat();
        let what = format!("{args:?}");
        // An older output is replaced as a whole.
        let is_old = random.below(3) == 0;
        let old = [&FBANK[..], &["--num-mel-bins=20", "-o", out, "wav.scp"]].concat();
        if is_old {
            bench.run(&old).with(0);
        }
        let old_ark = fs::read(bench.path(out)).unwrap_or_default();
        for _ in 0..1 + random.below(3) {
            let mut child = bench.command(&args).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_micros(random.below(whole.as_micros() as u64 * 5 / 4)));
            let _ = child.kill();
            let status = child.wait().unwrap();
            if status.success() {
                completed += 1
            } else {
                killed += 1
            }
            if is_old {
                let ark = fs::read(bench.path(out)).unwrap();
                assert!(ark == old_ark || ark == expected[out], "{what}");
                // A new archive has the new index or none.
                let scp = fs::read(bench.path("x.scp")).unwrap_or_default();
                let is_new = ark == expected[out];
                assert!(out != "x.ark" || scp.is_empty() || (scp == expected["x.scp"]) == is_new, "{what}");
            } else {
                check(&bench, &expected, &what);
            }
        }
        let had = bench.names().iter().any(|name| name.ends_with(".part"));
        let told = bench.run(&[&args[..], &["--verbose=0"]].concat()).with(0);
        resumed += usize::from(had && !told.stderr.contains("done again"));
        assert!(fs::read(bench.path(out)).unwrap() == expected[out], "{what}");
        if out == "x.ark" {
            assert!(fs::read(bench.path("x.scp")).unwrap() == expected["x.scp"], "{what}");
        }
        let left: Vec<_> = bench.names().into_iter().filter(|name| is_temporary(name)).collect();
        assert!(left.is_empty(), "{left:?} of {what}");
    }
    eprintln!("{killed} runs killed, {completed} were done before; {resumed} resumed");
}

#[test]
fn writes_that_fail_leave_the_old_files_and_resuming_gives_the_same_bytes() {
    let bench = Bench::new();
    recordings(&bench, 40);
    let expected = undisturbed(&bench);
    let mut random = Random::new();
    for round in 0..rounds().div_ceil(4) {
        for out in OUTPUTS {
            let blocks = random.below(expected[out].len() as u64 / 512 + 8);
            for resume in ["", "--resume"] {
                fs::write(bench.path(out), "of yesterday").unwrap();
                fs::write(bench.path("x.scp"), "of yesterday").unwrap();
                let line = format!("{} -o {out} wav.scp {resume}", FBANK.join(" "));
                // A limit on the size of files, without its signal, fails writes as a full disk
                // does.
                let ended = bench.shell(&format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$K\" {line}"));
                let what = format!("{blocks} blocks, round {round}: {line}: {ended:?}");
                if ended.code == Some(0) {
                    assert!(fs::read(bench.path(out)).unwrap() == expected[out], "{what}");
                } else {
                    assert!(ended.code == Some(1) && ended.stderr.contains(out), "{what}");
                    for name in [out, "x.scp"] {
                        assert!(fs::read(bench.path(name)).unwrap() == b"of yesterday", "{what}");
                    }
                }
                let left = bench.names().into_iter().filter(|name| is_temporary(name));
                let left: Vec<_> = left.filter(|name| resume.is_empty() || !name.ends_with(".part")).collect();
                assert!(left.is_empty(), "{left:?}: {what}");
                bench.shell(&format!("exec \"$K\" {line}")).with(0);
                assert!(fs::read(bench.path(out)).unwrap() == expected[out], "{what}");
                assert!(!bench.names().iter().any(|name| is_temporary(name)), "{what}");
            }
            for name in [out, "x.scp"] {
                fs::remove_file(bench.path(name)).unwrap();
            }
        }
    }
}

#[test]
fn a_name_that_cannot_be_given_leaves_nothing() {
    let bench = Bench::new();
    bench.wav("a.wav", 8000, 16_000.0);
    for (out, in_the_way) in [("x.ark", "x.ark"), ("x.ark", "x.scp"), ("x.npz", "x.npz")] {
        fs::create_dir(bench.path(in_the_way)).unwrap();
        for resume in [&[][..], &["--resume"]] {
            bench.run(&[&FBANK[..], &["-o", out, "a.wav"], resume].concat()).with(1).tells(&["x."]);
            assert_eq!(bench.names(), ["a.wav", in_the_way]);
        }
        fs::remove_dir(bench.path(in_the_way)).unwrap();
        bench.run(&[&FBANK[..], &["--resume", "-o", out, "a.wav"]].concat()).with(0);
        bench.shell("rm x.*").with(0);
    }
}
