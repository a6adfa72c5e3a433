//! Kaldi's programs over features: what goes in and out, in text.

use crate::bench::Bench;

const FEATS: &str = "a  [\n  1 10 \n  2 20 \n  3 30 ]\nnone  [ ]\nb  [\n  7 70 ]\n";

/// A folder with `feats`, a text archive of three frames, none, and one.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("feats", FEATS);
    bench
}

#[test]
fn deltas_are_put_beside() {
    let bench = bench();
    let ended = bench.line("add-deltas --delta-order=1 --delta-window=1 --truncate=1 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  1 0.5 \n  2 1 \n  3 0.5 ]\nb  [\n  7 0 ]\n");
    ended.has_line("WARNING", &["none", "no frames"]);
    bench.line("add-deltas --truncate=3 ark:feats ark,t:-").with(255);
    bench.line("add-deltas --truncate=-1 ark:feats ark,t:-").with(255);
    let ended = bench.line("add-deltas-sdc --num-blocks=2 --block-shift=1 --truncate=1 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  1 0.5 1 \n  2 1 0.5 \n  3 0.5 0 ]\nb  [\n  7 0 0 ]\n");
    bench.file("nothing", "");
    bench.line("add-deltas ark:nothing ark,t:-").with(0);
}

#[test]
fn frames_are_spliced_shifted_and_subsampled() {
    let bench = bench();
    let ended = bench.line("splice-feats --left-context=1 --right-context=0 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  1 10 1 10 \n  1 10 2 20 \n  2 20 3 30 ]\nb  [\n  7 70 7 70 ]\n");
    let ended = bench.line("shift-feats --shift=1 ark:feats ark,t:-").with(0).has_line("WARNING", &["none"]);
    assert_eq!(ended.stdout, "a  [\n  1 10 \n  1 10 \n  2 20 ]\nb  [\n  7 70 ]\n");
    bench.file("one", " [\n 1 2\n 3 4 ]\n");
    assert_eq!(bench.line("shift-feats --shift=-1 --binary=false one -").with(0).stdout, " [\n  3 4 \n  3 4 ]\n");
    let ended = bench
        .line("subsample-feats --n=2 --offset=1 ark:feats ark,t:-")
        .with(0)
        .has_line("WARNING", &["b", "1 frames"]);
    assert_eq!(ended.stdout, "a  [\n  2 20 ]\n");
    let ended = bench.line("subsample-feats --n=-2 ark:feats ark,t:-").with(0);
    assert!(ended.stdout.starts_with("a  [\n  1 10 \n  1 10 \n  2 20 \n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("\nnone  [ ]\n"), "what repeats frames repeats none of none: {}", ended.stdout);
    bench.line("subsample-feats --offset=9 ark:feats ark,t:-").with(1);
    for wrong in ["--n=0", "--offset=-1", "--n=-2 --offset=1"] {
        bench.line(&format!("subsample-feats {wrong} ark:feats ark,t:-")).with(255);
    }
}

#[test]
fn columns_are_selected_and_pasted() {
    let bench = bench();
    assert_eq!(
        bench.line("select-feats 1-0,0 ark:feats ark,t:-").with(0).stdout,
        "a  [\n  10 1 1 \n  20 2 2 \n  30 3 3 ]\nnone  [ ]\nb  [\n  70 7 7 ]\n"
    );
    bench.line("select-feats 0-2 ark:feats ark,t:-").with(255);
    bench.line("select-feats x ark:feats ark,t:-").with(255);

    bench.file("others", "b  [\n  0 ]\na  [\n  1 \n  2 ]\n");
    let ended = bench
        .line("paste-feats --length-tolerance=1 ark:feats ark:others ark,t:-")
        .with(0)
        .has_line("WARNING", &["none"]);
    assert_eq!(ended.stdout, "a  [\n  1 10 1 \n  2 20 2 ]\nb  [\n  7 70 0 ]\n");
    let ended =
        bench.line("paste-feats ark:feats ark:others ark:others ark,t:-").with(0).has_line("WARNING", &["out a:", "3"]);
    assert_eq!(ended.stdout, "b  [\n  7 70 0 0 ]\n");
    bench.file("strangers", "c  [\n  0 ]\n");
    bench.line("paste-feats ark:feats ark:strangers ark,t:-").with(255).has_line("WARNING", &["out a:", "strangers"]);
    bench.line("paste-feats ark:feats ark,t:-").with(1);
    bench.file("one", " [\n 1\n 2 ]\n");
    assert_eq!(bench.line("paste-feats --binary=false one one -").with(0).stdout, " [\n  1 1 \n  2 2 ]\n");
}

#[test]
fn voice_is_found_and_selected() {
    let bench = bench();
    let ended = bench.line("compute-vad --vad-energy-threshold=0 --vad-energy-mean-scale=1 ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [ 0 0 1 ]\nb  [ 0 ]\n");
    ended.has_line("WARNING", &["b", "no voiced frame"]);
    let vad = "compute-vad --vad-energy-threshold=0 --vad-energy-mean-scale=1 --omit-unvoiced-utts ark:feats ark,t:vad";
    bench.line(vad).with(0);
    let ended =
        bench.line("select-voiced-frames ark:feats ark:vad ark,t:-").with(0).has_line("WARNING", &["b", "ark:vad"]);
    assert_eq!(ended.stdout, "a  [\n  3 30 ]\n");
    bench.file("vad", "a  [ 0 0 0 ]\nb  [ 1 1 ]\n");
    bench.line("select-voiced-frames ark:feats ark:vad ark,t:-").with(1).has_line("WARNING", &["b", "1 frames"]);
    bench.line("compute-vad --vad-energy-threshold=100 ark:feats ark,t:-").with(1);
}

#[test]
fn statistics_are_summed_up_changed_and_applied() {
    let bench = bench();
    let sums_of_a = "a  [\n  6 60 3 \n  14 1400 0 ]\n";
    let ended = bench.line("compute-cmvn-stats ark:feats ark,t:-").with(0).has_line("WARNING", &["none"]);
    assert_eq!(ended.stdout, format!("{sums_of_a}b  [\n  7 70 1 \n  49 4900 0 ]\n"));
    bench.file("spk2utt", "anna a b c\nben d\n");
    let ended = bench
        .line("compute-cmvn-stats --spk2utt=ark:spk2utt ark:feats ark,t:-")
        .with(0)
        .has_line("WARNING", &["out ben:"]);
    assert_eq!(ended.stdout, "anna  [\n  13 130 4 \n  63 6300 0 ]\n");
    bench.file("weights", "a  [ 0 0.5 0 ]\n");
    let ended = bench
        .line("compute-cmvn-stats --weights=ark:weights ark:feats ark,t:-")
        .with(0)
        .has_line("WARNING", &["b", "weights"]);
    assert_eq!(ended.stdout, "a  [\n  1 10 0.5 \n  2 200 0 ]\n");
    bench.line("compute-cmvn-stats --binary=false ark:feats global").with(0);
    assert_eq!(bench.line("copy-feats --binary=false global -").with(0).stdout, " [\n  13 130 4 \n  63 6300 0 ]\n");
    bench.line("compute-cmvn-stats --spk2utt=ark:spk2utt ark:feats global").with(255);

    bench.file("stats", sums_of_a);
    assert_eq!(bench.line("modify-cmvn-stats 1 ark:stats ark,t:-").with(0).stdout, "a  [\n  6 0 3 \n  14 3 0 ]\n");
    let ended = bench.line("modify-cmvn-stats --convert-to-mean-and-var ark:stats ark,t:-").with(0);
    assert!(ended.stdout.starts_with("a  [\n  2 20 \n  0.66666"), "{}", ended.stdout);
    bench.file("of_nothing", &format!("z  [\n  0 0 0 \n  0 0 0 ]\n{sums_of_a}"));
    let ended = bench
        .line("modify-cmvn-stats --convert-to-mean-and-var ark:of_nothing ark,t:-")
        .with(0)
        .has_line("WARNING", &["z"]);
    assert!(ended.stdout.starts_with("a  [\n  2 20 \n"), "{}", ended.stdout);
    bench.line("modify-cmvn-stats 2 ark:stats ark,t:-").with(255);
    bench.line("modify-cmvn-stats 1: ark:stats ark,t:-").with(255);

    let ended = bench.line("apply-cmvn ark:stats ark:feats ark,t:-").with(0).has_line("WARNING", &["b", "ark:stats"]);
    assert_eq!(ended.stdout, "a  [\n  -1 -10 \n  0 0 \n  1 10 ]\n");
    assert_eq!(
        bench.line("apply-cmvn --skip-dims=1 ark:stats ark:feats ark,t:-").with(0).stdout,
        "a  [\n  -1 10 \n  0 20 \n  1 30 ]\n"
    );
    bench.file("means", "a  [\n  6 60 3 ]\n");
    let of_means = bench.line("apply-cmvn ark:means ark:feats ark,t:-").with(0).stdout;
    assert_eq!(of_means, "a  [\n  -1 -10 \n  0 0 \n  1 10 ]\n");
    for more in ["--norm-vars", "--skip-dims=1"] {
        bench.line(&format!("apply-cmvn {more} ark:means ark:feats ark,t:-")).with(255);
    }
    bench.file("utt2spk", "a a\nb a\n");
    let ended = bench.line("apply-cmvn --utt2spk=ark:utt2spk ark:stats ark:feats ark,t:-");
    assert!(ended.stdout.contains("a  [\n  -1 -10 "), "{}", ended.stdout);
    assert_eq!(bench.line("apply-cmvn --norm-means=false ark:stats ark:feats ark,t:-").with(0).stdout, FEATS);
    for wrong in ["--norm-means=false --norm-vars", "--skip-dims=a", "--skip-dims=5"] {
        bench.line(&format!("apply-cmvn {wrong} ark:stats ark:feats ark,t:-")).with(255);
    }
    bench.file("strangers", "c  [\n  6 60 3 \n  14 1400 0 ]\n");
    bench.line("apply-cmvn ark:strangers ark:feats ark,t:-").with(1);
    bench.line("apply-cmvn --utt2spk=ark:utt2spk global ark:feats ark,t:-").with(255);

    let ended = bench
        .line("apply-cmvn-sliding --center --cmn-window=3 ark:feats ark,t:-")
        .with(0)
        .has_line("WARNING", &["none"]);
    assert_eq!(ended.stdout, "a  [\n  -1 -10 \n  0 0 \n  1 10 ]\nb  [\n  0 0 ]\n");
}
