//! Kaldi's programs of i-vectors: small models whose results can be computed by hand.

use std::fmt::Write as _;

use crate::bench::Bench;

/// Writes a model of one Gaussian in one dimension: features are v(0) + v(1) and noise of variance
/// 1, where v(0) is near 10 and v(1) near 0.
pub(crate) fn one_gaussian(bench: &Bench) {
    bench.file("final.dubm", "<DiagGMM> <WEIGHTS> [ 1 ]\n <MEANS_INVVARS> [ 0 ]\n <INV_VARS> [ 1 ]\n </DiagGMM>\n");
    bench.file(
        "final.ie",
        "<IvectorExtractor> <w>  [ ]\n<w_vec>  [ 1 ]\n<M> 1  [\n  1 1 ]\n<SigmaInv> [\n1 ]\n<IvectorOffset> 10 </IvectorExtractor> ",
    );
    bench.file("final.mat", " [ 1 ]\n");
    bench.file("global_cmvn.stats", " [ 130 10\n 1700 0 ]\n");
    bench.file("online_cmvn.conf", "# nothing\n");
    bench.file("splice.conf", "--left-context=0\n--right-context=0\n");
    bench.file(
        "ivector.conf",
        "--lda-matrix=final.mat\n--global-cmvn-stats=global_cmvn.stats\n--cmvn-config=online_cmvn.conf\n\
         --splice-config=splice.conf\n--diag-ubm=final.dubm\n--ivector-extractor=final.ie\n",
    );
}

/// A folder with the model. Utterance `a` has 11 frames of 13, `b` one.
fn bench() -> Bench {
    let bench = Bench::new();
    one_gaussian(&bench);
    let mut feats = "a  [".to_owned();
    for _ in 0..11 {
        let _ = write!(feats, "\n  13 ");
    }
    bench.file("feats", &format!("{feats}]\nb  [\n  13 ]\n"));
    bench
}

#[test]
fn ivectors_of_streams_grow_with_the_frames() {
    let bench = bench();
    bench.file("spk2utt", "s a b missing\n");
    // After c frames times 0.1, both elements are 3 c / (1 + 2 c) from the mean.
    let ended = bench
        .line("ivector-extract-online2 --config=ivector.conf ark:spk2utt ark:feats ark,t:-")
        .with(0)
        .has_line("WARNING", &["missing", "no features"]);
    let (a, b) = ended.stdout.split_once("b ").unwrap();
    assert_eq!(a, "a  [\n  0.25 0.25 \n  1.03125 1.03125 ]\n");
    assert!(b.starts_with(" [\n  1.0588"), "of 12 frames: {b}");

    bench.file("own", "a a\nb b\n");
    let ended = bench.line("ivector-extract-online2 --repeat --config=ivector.conf ark:own ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout.matches("\n  0.25 0.25 ").count(), 11, "10 frames of a, and b: {}", ended.stdout);

    bench.file("weights", "a  [ 1 0 0 0 0 0 0 0 0 0 0 ]\n");
    let weighted = "ivector-extract-online2 --config=ivector.conf --frame-weights-rspecifier=ark:weights";
    let ended =
        bench.line(&format!("{weighted} ark:own ark:feats ark,t:-")).with(0).has_line("WARNING", &["b", "weights"]);
    assert_eq!(ended.stdout, "a  [\n  0.25 0.25 \n  0.25 0.25 ]\n");

    let ended = bench.line("ivector-extract-online2 --diag-ubm=final.dubm ark:own ark:feats ark,t:-").with(255);
    ended.has_line("ERROR", &["--lda-matrix"]);
    bench.file("splice.conf", "--left=0\n");
    let ended = bench.line("ivector-extract-online2 --config=ivector.conf ark:own ark:feats ark,t:-").with(255);
    ended.has_line("ERROR", &["splice.conf:1", "--left"]);
    bench.file("splice.conf", "--left-context=1\n");
    let ended = bench.line("ivector-extract-online2 --config=ivector.conf ark:own ark:feats ark,t:-").with(255);
    ended.has_line("ERROR", &["columns of the matrix"]);
}

#[test]
fn ivectors_of_utterances_and_speakers() {
    let bench = bench();
    bench.line("gmm-global-get-post final.dubm ark:feats ark,t:post").with(0);
    assert!(bench.text("post").starts_with("a [ 0 1 ] [ 0 1 ] "), "{}", bench.text("post"));
    // 3 * 11 / 23, 3 * 1 / 3 and 3 * 12 / 25.
    let ended = bench.line("ivector-extract final.ie ark:feats ark:post ark,t:-").with(0);
    assert!(ended.stdout.starts_with("a  [ 1.434783 1.434783 ]\nb  [ 1 1 ]"), "{}", ended.stdout);
    bench.file("spk2utt", "s a b\n");
    let ended = bench.line("ivector-extract --spk2utt=ark:spk2utt final.ie ark:feats ark:post ark,t:-").with(0);
    assert!(
        ended.stdout.starts_with("s  [ 1.44 1.44 ]") || ended.stdout.starts_with("s  [ 1.4399"),
        "{}",
        ended.stdout
    );
    let ended = bench.line("ivector-extract --max-count=1 final.ie ark:feats ark:post ark,t:-").with(0);
    assert!(ended.stdout.starts_with("a  [ 1 1 ]\n"), "{}", ended.stdout);
    bench.file("post", "a [ 7 1 ]\n");
    bench.line("ivector-extract final.ie ark:feats ark:post ark,t:-").with(1);
    bench.file("post", "b [ 7 1 ]\n");
    bench.line("ivector-extract final.ie ark:feats ark:post ark,t:-").with(255).has_line("ERROR", &["Gaussian 7"]);
}

#[test]
fn models_are_copied_between_the_two_forms() {
    let bench = bench();
    for (program, file, token) in
        [("gmm-global-copy", "final.dubm", "<DiagGMM>"), ("ivector-extractor-copy", "final.ie", "<IvectorExtractor>")]
    {
        bench.line(&format!("{program} {file} binary")).with(0);
        assert!(std::fs::read(bench.path("binary")).unwrap().starts_with(format!("\0B{token} ").as_bytes()));
        bench.line(&format!("{program} --binary=false binary text")).with(0);
        bench.line(&format!("{program} text again")).with(0);
        assert_eq!(std::fs::read(bench.path("binary")).unwrap(), std::fs::read(bench.path("again")).unwrap());
        bench.line(&format!("{program} feats x")).with(255).has_line("ERROR", &[token]);
    }
    assert!(
        bench.line("gmm-global-copy --binary=false final.dubm -").with(0).stdout.contains("<GCONSTS>  [ -0.9189385 ]")
    );
    bench.file("full", "<FullGMM> <WEIGHTS> [ 1 ]\n <MEANS_INVCOVARS> [ 2 1 ]\n <INV_COVARS> [ 2\n 0 4 ]\n </FullGMM>");
    bench.line("fgmm-global-copy full -").with(0);
    let ended = bench.line("fgmm-global-to-gmm --binary=false full -").with(0);
    assert!(ended.stdout.contains("<INV_VARS>  [\n  2 4 ]"), "{}", ended.stdout);
}

#[test]
fn features_are_normalised_as_they_come_and_transformed() {
    let bench = Bench::new();
    bench.file("feats", "a  [\n  1 10 \n  2 20 \n  3 30 ]\nnone  [ ]\nb  [\n  7 70 ]\n");
    bench.file("global", " [ 60 600 10\n 500 50000 0 ]\n");
    bench.file("few", "a  [\n  1 10 \n  2 20 \n  3 30 ]\nb  [\n  7 70 ]\n");
    let ended = bench.line("apply-cmvn-online --global-frames=1 global ark:few ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  -2.5 -25 \n  -1 -10 \n  0 0 ]\nb  [\n  0.5 5 ]\n");
    bench.file("spk2utt", "s a b c\n");
    let ended = bench.line("apply-cmvn-online --global-frames=1 --spk2utt=ark:spk2utt global ark:few ark,t:-").with(0);
    assert!(ended.stdout.ends_with("b  [\n  3.2 32 ]\n"), "{}", ended.stdout);

    bench.file("matrix", " [ 2 0 1 ]\n");
    let ended = bench.line("transform-feats matrix ark:feats ark,t:-").with(0).has_line("WARNING", &["none"]);
    assert_eq!(ended.stdout, "a  [\n  3 \n  5 \n  7 ]\nb  [\n  15 ]\n");
    bench.file("matrices", "s  [ 0 0.5 ]\n");
    bench.file("utt2spk", "a s\n");
    let ended = bench.line("transform-feats --utt2spk=ark:utt2spk ark:matrices ark:feats ark,t:-");
    assert!(ended.stdout.starts_with("a  [\n  5 \n  10 \n  15 ]\n"), "{}", ended.stdout);
    bench.file("matrix", " [ 2 ]\n");
    bench
        .line("transform-feats matrix ark:feats ark,t:-")
        .with(1)
        .has_line("WARNING", &["leaving out a:", "2 columns"]);
}
