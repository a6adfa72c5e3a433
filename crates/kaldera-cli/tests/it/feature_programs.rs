//! Kaldi's programs over features: what goes in and out, in text.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

/// How a program ended, with what it wrote to stdout.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    #[track_caller]
    fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// What it warned of.
    #[track_caller]
    fn warns(self, words: &[&str]) -> Self {
        let warned =
            self.stderr.lines().any(|line| line.starts_with("WARNING") && words.iter().all(|word| line.contains(word)));
        assert!(warned, "no warning with {words:?} in\n{}", self.stderr);
        self
    }
}

const FEATS: &str = "a  [\n  1 10 \n  2 20 \n  3 30 ]\nnone  [ ]\nb  [\n  7 70 ]\n";

struct Bench(TempDir);

impl Bench {
    /// A folder with `feats`, a text archive of three frames, none, and one.
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        bench.file("feats", FEATS);
        bench
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Runs a command line whose words have single blanks between them.
    fn run(&self, line: &str) -> Ended {
        let output =
            Command::new(env!("CARGO_BIN_EXE_kaldera")).args(line.split(' ')).current_dir(&self.0).output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ended { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

#[test]
fn deltas_are_put_beside() {
    let bench = Bench::new();
    let ended = bench.run("add-deltas --delta-order=1 --delta-window=1 --truncate=1 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  1 0.5 \n  2 1 \n  3 0.5 ]\nb  [\n  7 0 ]\n");
    ended.warns(&["none", "no frames"]);
    bench.run("add-deltas --truncate=3 ark:feats ark,t:-").with(255);
    bench.run("add-deltas --truncate=-1 ark:feats ark,t:-").with(255);
    let ended = bench.run("add-deltas-sdc --num-blocks=2 --block-shift=1 --truncate=1 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  1 0.5 1 \n  2 1 0.5 \n  3 0.5 0 ]\nb  [\n  7 0 0 ]\n");
    bench.file("nothing", "");
    bench.run("add-deltas ark:nothing ark,t:-").with(0);
}

#[test]
fn frames_are_spliced_shifted_and_subsampled() {
    let bench = Bench::new();
    let ended = bench.run("splice-feats --left-context=1 --right-context=0 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  1 10 1 10 \n  1 10 2 20 \n  2 20 3 30 ]\nb  [\n  7 70 7 70 ]\n");
    let ended = bench.run("shift-feats --shift=1 ark:feats ark,t:-").with(0).warns(&["none"]);
    assert_eq!(ended.stdout, "a  [\n  1 10 \n  1 10 \n  2 20 ]\nb  [\n  7 70 ]\n");
    bench.file("one", " [\n 1 2\n 3 4 ]\n");
    assert_eq!(bench.run("shift-feats --shift=-1 --binary=false one -").with(0).stdout, " [\n  3 4 \n  3 4 ]\n");
    let ended = bench.run("subsample-feats --n=2 --offset=1 ark:feats ark,t:-").with(0).warns(&["b", "1 frames"]);
    assert_eq!(ended.stdout, "a  [\n  2 20 ]\n");
    let ended = bench.run("subsample-feats --n=-2 ark:feats ark,t:-").with(0);
    assert!(ended.stdout.starts_with("a  [\n  1 10 \n  1 10 \n  2 20 \n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("\nnone  [ ]\n"), "what repeats frames repeats none of none: {}", ended.stdout);
    bench.run("subsample-feats --offset=9 ark:feats ark,t:-").with(1);
    for wrong in ["--n=0", "--offset=-1", "--n=-2 --offset=1"] {
        bench.run(&format!("subsample-feats {wrong} ark:feats ark,t:-")).with(255);
    }
}

#[test]
fn columns_are_selected_and_pasted() {
    let bench = Bench::new();
    assert_eq!(
        bench.run("select-feats 1-0,0 ark:feats ark,t:-").with(0).stdout,
        "a  [\n  10 1 1 \n  20 2 2 \n  30 3 3 ]\nnone  [ ]\nb  [\n  70 7 7 ]\n"
    );
    bench.run("select-feats 0-2 ark:feats ark,t:-").with(255);
    bench.run("select-feats x ark:feats ark,t:-").with(255);

    bench.file("others", "b  [\n  0 ]\na  [\n  1 \n  2 ]\n");
    let ended = bench.run("paste-feats --length-tolerance=1 ark:feats ark:others ark,t:-").with(0).warns(&["none"]);
    assert_eq!(ended.stdout, "a  [\n  1 10 1 \n  2 20 2 ]\nb  [\n  7 70 0 ]\n");
    let ended = bench.run("paste-feats ark:feats ark:others ark:others ark,t:-").with(0).warns(&["a", "3"]);
    assert_eq!(ended.stdout, "b  [\n  7 70 0 0 ]\n");
    bench.file("strangers", "c  [\n  0 ]\n");
    bench.run("paste-feats ark:feats ark:strangers ark,t:-").with(255).warns(&["out a:", "strangers"]);
    bench.run("paste-feats ark:feats ark,t:-").with(1);
    bench.file("one", " [\n 1\n 2 ]\n");
    assert_eq!(bench.run("paste-feats --binary=false one one -").with(0).stdout, " [\n  1 1 \n  2 2 ]\n");
}

#[test]
fn voice_is_found_and_selected() {
    let bench = Bench::new();
    let ended = bench.run("compute-vad --vad-energy-threshold=0 --vad-energy-mean-scale=1 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [ 0 0 1 ]\nb  [ 0 ]\n");
    ended.warns(&["b", "no voiced frame"]);
    let vad = "compute-vad --vad-energy-threshold=0 --vad-energy-mean-scale=1 --omit-unvoiced-utts ark:feats ark,t:vad";
    bench.run(vad).with(0);
    let ended = bench.run("select-voiced-frames ark:feats ark:vad ark,t:-").with(0).warns(&["b", "ark:vad"]);
    assert_eq!(ended.stdout, "a  [\n  3 30 ]\n");
    bench.file("vad", "a  [ 0 0 0 ]\nb  [ 1 1 ]\n");
    bench.run("select-voiced-frames ark:feats ark:vad ark,t:-").with(1).warns(&["b", "1 frames"]);
    bench.run("compute-vad --vad-energy-threshold=100 ark:feats ark,t:-").with(1);
}

#[test]
fn statistics_are_summed_up_changed_and_applied() {
    let bench = Bench::new();
    let sums_of_a = "a  [\n  6 60 3 \n  14 1400 0 ]\n";
    let ended = bench.run("compute-cmvn-stats ark:feats ark,t:-").with(0).warns(&["none"]);
    assert_eq!(ended.stdout, format!("{sums_of_a}b  [\n  7 70 1 \n  49 4900 0 ]\n"));
    bench.file("spk2utt", "anna a b c\nben d\n");
    let ended = bench.run("compute-cmvn-stats --spk2utt=ark:spk2utt ark:feats ark,t:-").with(0).warns(&["ben"]);
    assert_eq!(ended.stdout, "anna  [\n  13 130 4 \n  63 6300 0 ]\n");
    bench.file("weights", "a  [ 0 0.5 0 ]\n");
    let ended =
        bench.run("compute-cmvn-stats --weights=ark:weights ark:feats ark,t:-").with(0).warns(&["b", "weights"]);
    assert_eq!(ended.stdout, "a  [\n  1 10 0.5 \n  2 200 0 ]\n");
    bench.run("compute-cmvn-stats --binary=false ark:feats global").with(0);
    assert_eq!(bench.run("copy-feats --binary=false global -").with(0).stdout, " [\n  13 130 4 \n  63 6300 0 ]\n");
    bench.run("compute-cmvn-stats --spk2utt=ark:spk2utt ark:feats global").with(255);

    bench.file("stats", sums_of_a);
    assert_eq!(bench.run("modify-cmvn-stats 1 ark:stats ark,t:-").with(0).stdout, "a  [\n  6 0 3 \n  14 3 0 ]\n");
    let ended = bench.run("modify-cmvn-stats --convert-to-mean-and-var ark:stats ark,t:-").with(0);
    assert!(ended.stdout.starts_with("a  [\n  2 20 \n  0.66666"), "{}", ended.stdout);
    bench.file("of_nothing", &format!("z  [\n  0 0 0 \n  0 0 0 ]\n{sums_of_a}"));
    let ended = bench.run("modify-cmvn-stats --convert-to-mean-and-var ark:of_nothing ark,t:-").with(0).warns(&["z"]);
    assert!(ended.stdout.starts_with("a  [\n  2 20 \n"), "{}", ended.stdout);
    bench.run("modify-cmvn-stats 2 ark:stats ark,t:-").with(255);
    bench.run("modify-cmvn-stats 1: ark:stats ark,t:-").with(255);

    let ended = bench.run("apply-cmvn ark:stats ark:feats ark,t:-").with(0).warns(&["b", "ark:stats"]);
    assert_eq!(ended.stdout, "a  [\n  -1 -10 \n  0 0 \n  1 10 ]\n");
    assert_eq!(
        bench.run("apply-cmvn --skip-dims=1 ark:stats ark:feats ark,t:-").with(0).stdout,
        "a  [\n  -1 10 \n  0 20 \n  1 30 ]\n"
    );
    bench.file("means", "a  [\n  6 60 3 ]\n");
    let of_means = bench.run("apply-cmvn ark:means ark:feats ark,t:-").with(0).stdout;
    assert_eq!(of_means, "a  [\n  -1 -10 \n  0 0 \n  1 10 ]\n");
    for more in ["--norm-vars", "--skip-dims=1"] {
        bench.run(&format!("apply-cmvn {more} ark:means ark:feats ark,t:-")).with(255);
    }
    bench.file("utt2spk", "a a\nb a\n");
    let ended = bench.run("apply-cmvn --utt2spk=ark:utt2spk ark:stats ark:feats ark,t:-");
    assert!(ended.stdout.contains("a  [\n  -1 -10 "), "{}", ended.stdout);
    assert_eq!(bench.run("apply-cmvn --norm-means=false ark:stats ark:feats ark,t:-").with(0).stdout, FEATS);
    for wrong in ["--norm-means=false --norm-vars", "--skip-dims=a", "--skip-dims=5"] {
        bench.run(&format!("apply-cmvn {wrong} ark:stats ark:feats ark,t:-")).with(255);
    }
    bench.file("strangers", "c  [\n  6 60 3 \n  14 1400 0 ]\n");
    bench.run("apply-cmvn ark:strangers ark:feats ark,t:-").with(1);
    bench.run("apply-cmvn --utt2spk=ark:utt2spk global ark:feats ark,t:-").with(255);

    let ended = bench.run("apply-cmvn-sliding --center --cmn-window=3 ark:feats ark,t:-").with(0).warns(&["none"]);
    assert_eq!(ended.stdout, "a  [\n  -1 -10 \n  0 0 \n  1 10 ]\nb  [\n  0 0 ]\n");
}
