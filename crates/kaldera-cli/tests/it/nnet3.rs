//! Kaldi's programs of networks: small networks whose results can be computed by hand.

use std::fmt::Write as _;
use std::fs;

use crate::bench::Bench;
use crate::ivectors::one_gaussian;

/// The sum of the two values of a frame and of the frame before.
const SUM: &str = "<Nnet3> \ninput-node name=input dim=2\n\
    component-node name=sum component=sum input=Append(Offset(input, -1), input)\n\
    output-node name=output input=sum objective=linear\n\n<NumComponents> 1 \n\
    <ComponentName> sum <SumGroupComponent> <Sizes> [ 4 ]\n</SumGroupComponent> \n</Nnet3> ";

/// The sum of a frame's value and of an i-vector.
const WITH_IVECTOR: &str = "<Nnet3> \ninput-node name=ivector dim=1\ninput-node name=input dim=2\n\
    component-node name=sum component=sum input=Append(input, ReplaceIndex(ivector, t, 0))\n\
    output-node name=output input=sum objective=linear\n\n<NumComponents> 1 \n\
    <ComponentName> sum <SumGroupComponent> <Sizes> [ 3 ]\n</SumGroupComponent> \n</Nnet3> ";

/// A network of which each type of edit finds something.
const EDITED: &str = "<Nnet3> \ninput-node name=input dim=2\n\
    component-node name=affine component=affine input=input\n\
    component-node name=norm component=norm input=affine\n\
    component-node name=xent component=xent input=affine\n\
    output-node name=output input=norm objective=linear\n\
    output-node name=output-xent input=xent objective=linear\n\n<NumComponents> 3 \n\
    <ComponentName> affine <NaturalGradientAffineComponent> <MaxChange> 0.75 <LearningRate> 0.5 <LinearParams>  [\n\
    \x20 1 0 \n  0 2 ]\n<BiasParams>  [ 0.5 -0.5 ]\n<RankIn> 1 <RankOut> 1 <UpdatePeriod> 4 <NumSamplesHistory> 2000 \
    <Alpha> 4 </NaturalGradientAffineComponent> \n\
    <ComponentName> norm <BatchNormComponent> <Dim> 2 <BlockDim> 2 <Epsilon> 0.0009765625 <TargetRms> 1 <TestMode> F \
    <Count> 10 <StatsMean>  [ 0 1 ]\n<StatsVar>  [ 1 4 ]\n</BatchNormComponent> \n\
    <ComponentName> xent <NoOpComponent> <Dim> 2 <BackpropScale> 1 </NoOpComponent> \n</Nnet3> ";

/// Two phones of one state each, in the form in which it is written.
const TRANSITIONS: &str = "<TransitionModel> \n<Topology> \n<TopologyEntry> \n<ForPhones> \n1 2 \n</ForPhones> \n\
    <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \n<State> 1 </State> \n</TopologyEntry> \n\
    </Topology> \n<Triples> 2 \n1 0 0 \n2 0 1 \n</Triples> \n<LogProbs> \n [ 0 -0.5 -0.5 -0.5 -0.5 ]\n</LogProbs> \n\
    </TransitionModel> \n";

/// The word 7 while the first pdf is likely, and then the word 8.
const GRAPH: &str = "0 1 2 7 0.5\n1 1 1 0 0.25\n1 2 0 0 0.125\n2 3 4 8 0.5\n3 0.25\n";

fn model(nnet: &str, priors: &str) -> String {
    format!("{TRANSITIONS}{nnet}<LeftContext> 0 <RightContext> 0 <Priors>  [ {priors}]\n")
}

/// The features themselves as output.
pub(crate) fn identity(dim: usize) -> String {
    format!(
        "<Nnet3> \ninput-node name=input dim={dim}\ncomponent-node name=same component=same input=input\n\
         output-node name=output input=same objective=linear\n\n<NumComponents> 1 \n\
         <ComponentName> same <NoOpComponent> <Dim> {dim} <BackpropScale> 1 </NoOpComponent> \n</Nnet3> "
    )
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("sum.raw", SUM);
    bench.file("ivector.raw", WITH_IVECTOR);
    bench.file("edited.raw", EDITED);
    bench.file("sum.mdl", &model(SUM, "0.5 "));
    bench.file("feats", "a  [\n  1 2\n  3 4\n  5 6 ]\nempty  [ ]\nb  [\n  -1 1 ]\n");
    bench
}

#[test]
fn outputs_are_computed() {
    let bench = bench();
    let ended = bench.line("nnet3-compute sum.raw ark:feats ark,t:-").with(0);
    // The frame before the first one is a copy of it.
    assert_eq!(ended.stdout, "a  [\n  6 \n  10 \n  18 ]\nb  [\n  0 ]\n");
    ended.tells(&["Zero-length utterance: empty", "Done 2 utterances, failed for 1"]);
    let options = "--use-gpu=no --frame-subsampling-factor=2 --frames-per-chunk=1 --acoustic-scale=0.5";
    let ended = bench.line(&format!("nnet3-compute {options} sum.raw ark:feats ark,t:-")).with(0);
    assert_eq!(ended.stdout, "a  [\n  3 \n  9 ]\nb  [\n  0 ]\n");
    let more = "--extra-left-context=3 --extra-left-context-initial=0 --extra-right-context=2 \
                --extra-right-context-final=-1 --optimization.optimize=false --computation.debug=false";
    let more = more.split_whitespace().collect::<Vec<_>>().join(" ");
    let again = bench.line(&format!("nnet3-compute {options} {more} sum.raw ark:feats ark,t:-")).with(0);
    assert_eq!(again.stdout, ended.stdout);
    let ended = bench.line("nnet3-compute --apply-exp --acoustic-scale=0 sum.raw ark:feats ark,t:-").with(0);
    assert_eq!(ended.stdout, "a  [\n  1 \n  1 \n  1 ]\nb  [\n  1 ]\n");
    let ended = bench.line("nnet3-compute --use-priors sum.mdl ark:feats ark,t:-").with(0);
    assert!(ended.stdout.ends_with("b  [\n  0.6931472 ]\n"), "minus log 0.5: {}", ended.stdout);
}

#[test]
fn ivectors_come_from_tables() {
    let bench = bench();
    bench.file("by-speaker", "s  [ 100 ]\n");
    bench.file("utt2spk", "a s\nempty s\nb t\n");
    let tables = "--ivectors=ark:by-speaker --utt2spk=ark:utt2spk";
    let ended = bench.line(&format!("nnet3-compute {tables} ivector.raw ark:feats ark,t:-")).with(0);
    assert_eq!(ended.stdout, "a  [\n  103 \n  107 \n  111 ]\n");
    ended.tells(&["No iVector available for utterance b"]);
    bench.file("online", "a  [\n  100\n  200 ]\nb  [\n  300 ]\n");
    let tables = "--online-ivectors=ark:online --online-ivector-period=2 --frames-per-chunk=1";
    let ended = bench.line(&format!("nnet3-compute {tables} ivector.raw ark:feats ark,t:-")).with(0);
    assert_eq!(ended.stdout, "a  [\n  103 \n  107 \n  211 ]\nb  [\n  300 ]\n");

    bench.file("online", "c  [\n  1 ]\n");
    let ended = bench.line(&format!("nnet3-compute {tables} ivector.raw ark:feats ark:/dev/null")).with(1);
    ended.tells(&["No online iVector available for utterance a", "Done 0 utterances, failed for 3"]);
}

#[test]
fn inputs_that_do_not_fit_end_a_run() {
    let bench = bench();
    let long: String = (0..80).fold(String::new(), |mut text, _| {
        let _ = write!(text, "\n  1 2 ");
        text
    });
    bench.file("long", &format!("a  [{long}]\n"));
    bench.file("wide", "a  [\n  1 2 3 ]\n");
    bench.file("one", "a  [ 1 ]\n");
    bench.file("two", "a  [ 1 2 ]\n");
    bench.file("row", "a  [\n  1 ]\n");
    bench.file("cut.raw", &SUM[..SUM.len() - 30]);
    bench.file("wrong.raw", &SUM.replace("[ 4 ]", "[ 5 ]"));
    bench.file("priors.mdl", &model(SUM, "0.5 0.5 "));
    for (args, expected) in [
        ("sum.raw ark:wide ark:/dev/null", "utterance 'a': input `input` has 3 columns, the network takes 2"),
        ("ivector.raw ark:feats ark:/dev/null", "'a' has an i-vector of 0 elements, and the network takes 1"),
        ("--ivectors=ark:two ivector.raw ark:feats ark:/dev/null", "'a' has an i-vector of 2 elements"),
        ("--ivectors=ark:one sum.raw ark:feats ark:/dev/null", "'a' has an i-vector of 1 elements"),
        ("--online-ivectors=ark:row ivector.raw ark:feats ark:/dev/null", "--online-ivector-period"),
        ("--ivectors=ark:one --online-ivectors=ark:row ivector.raw ark:feats ark:/dev/null", "exclude each other"),
        (
            "--online-ivectors=ark:row --online-ivector-period=1 ivector.raw ark:long ark:/dev/null",
            "no i-vector for frame 64",
        ),
        ("--frames-per-chunk=0 sum.raw ark:feats ark:/dev/null", "--frames-per-chunk=0"),
        ("--use-priors priors.mdl ark:feats ark:/dev/null", "there are 2 priors, and the output has 1 columns"),
        ("sum.mdl ark:feats ark:/dev/null", "sum.mdl: "),
        ("--use-priors sum.raw ark:feats ark:/dev/null", "<TransitionModel>"),
        ("cut.raw ark:feats ark:/dev/null", "cut.raw: "),
        ("wrong.raw ark:feats ark:/dev/null", "its component `sum` takes 5"),
        ("missing.raw ark:feats ark:/dev/null", "missing.raw"),
    ] {
        bench.line(&format!("nnet3-compute {args}")).with(255).has_line("ERROR", &[expected]);
    }
}

#[test]
fn networks_and_models_are_copied_in_both_forms() {
    let bench = bench();
    bench.file("edited.mdl", &model(EDITED, "0.25 0.75 "));
    for (tool, file) in [("nnet3-copy", "edited.raw"), ("nnet3-am-copy", "edited.mdl")] {
        bench.line(&format!("{tool} {file} binary")).with(0);
        bench.line(&format!("{tool} --binary=false binary text")).with(0);
        assert_eq!(bench.text("text"), bench.text(file));
        bench.line(&format!("{tool} text again")).with(0);
        assert!(fs::read(bench.path("again")).unwrap() == fs::read(bench.path("binary")).unwrap());
    }
    let ended = bench.line("nnet3-am-copy --raw=true --binary=false edited.mdl -").with(0);
    assert_eq!(ended.stdout, EDITED);
    let ended = bench.line("nnet3-am-copy --set-raw-nnet=sum.raw --binary=false edited.mdl -").with(0);
    assert_eq!(ended.stdout, model(SUM, "").replace("<LeftContext> 0", "<LeftContext> 1"), "with its context");
    ended.tells(&["Removing 2 priors"]);
}

#[test]
fn copies_are_edited() {
    let bench = bench();
    let copy = |option: &str| bench.run(&["nnet3-copy", "--binary=false", option, "edited.raw", "-"]).with(0).stdout;
    let text = copy("--edits=remove-output-nodes name=*-xent;remove-orphans");
    assert!(!text.contains("xent") && text.contains("<NumComponents> 2 "), "{text}");
    assert!(copy("--learning-rate=0.25").contains("<LearningRate> 0.25 "));
    assert!(copy("--batchnorm-test-mode=true").contains("<TestMode> T "));
    bench.file("edits", "# of a recipe\nrename-node old-name=affine new-name=tdnn1\n");
    assert!(copy("--edits-config=edits").contains("component-node name=norm component=norm input=tdnn1\n"));
    for (options, expected) in [
        ("--edits=apply-svd", "the edit `apply-svd` is not supported"),
        ("--scale=0.5", "option --scale is not supported"),
        ("--nnet-config=edits", "option --nnet-config is not supported"),
        ("--prepare-for-test=true", "option --prepare-for-test is not supported"),
    ] {
        let line = format!("nnet3-copy {options} edited.raw none");
        bench.line(&line).with(255).has_line("ERROR", &[expected]);
        assert!(!bench.path("none").exists());
    }
    let line = "nnet3-am-copy --convert-repeated-to-block=true sum.mdl none";
    bench.line(line).with(255).has_line("ERROR", &["--convert-repeated-to-block is not supported"]);
}

#[test]
fn networks_and_models_are_described() {
    let bench = bench();
    let ended = bench.line("nnet3-info edited.raw").with(0);
    let expected = "left-context: 0\nright-context: 0\nnum-parameters: 6\nmodulus: 1\n\
        input-node name=input dim=2\n\
        component-node name=affine component=affine input=input input-dim=2 output-dim=2\n\
        component-node name=norm component=norm input=affine input-dim=2 output-dim=2\n\
        component-node name=xent component=xent input=affine input-dim=2 output-dim=2\n\
        output-node name=output input=norm dim=2 objective=linear\n\
        output-node name=output-xent input=xent dim=2 objective=linear\n\
        component name=affine type=NaturalGradientAffineComponent, input-dim=2, output-dim=2, learning-rate=0.5, \
        max-change=0.75, linear-params-rms=1.118, linear-params-row-norms=[ 1.0 2.0 ], \
        linear-params-col-norms=[ 1.0 2.0 ], bias-{mean,stddev}=0,0.5, rank-in=1, rank-out=1, \
        num-samples-history=2000, update-period=4, alpha=4\n\
        component name=norm type=BatchNormComponent, dim=2, block-dim=2, epsilon=0.000976562, target-rms=1, count=10, \
        test-mode=false, data-mean=[ 0 1.0 ], data-stddev=[ 1.0 2.0 ]\n\
        component name=xent type=NoOpComponent, dim=2\n";
    assert_eq!(ended.stdout, expected);
    bench.file("edited.mdl", &model(EDITED, "0.25 0.75 "));
    let ended = bench.line("nnet3-am-info edited.mdl").with(0);
    let before = "input-dim: 2\nivector-dim: -1\nnum-pdfs: 2\nprior-dimension: 2\nprior-sum: 1\nprior-min: 0.25\n\
                  prior-max: 0.75\n# Nnet info follows.\n";
    assert_eq!(ended.stdout, format!("{before}{expected}"));
    bench.line("nnet3-info edited.mdl").with(255).has_line("ERROR", &["edited.mdl", "<Nnet3>"]);
}

#[test]
fn features_become_lattices() {
    let bench = bench();
    bench.file("same.mdl", &model(&identity(2), ""));
    bench.file("graph", GRAPH);
    bench.file("graphs", &format!("a \n{GRAPH}\nmissing \n{GRAPH}\n"));
    bench.file("loglikes", "a  [\n  -1 -9\n  -1 -9\n  -9 -1 ]\nempty  [ ]\nc  [\n  -1 -9 ]\n");
    let decode = |program: &str, rest: &str| {
        let line = format!(
            "{program} --acoustic-scale=0.5 --lattice-beam=20 {rest} ark:loglikes ark,t:- ark,t:words ark,t:ali"
        );
        bench.line(&line)
    };
    let with_network = decode("nnet3-latgen-faster", "same.mdl graph").with(0);
    assert_eq!((bench.text("words"), bench.text("ali")), ("a 7 8 \n".to_owned(), "a 2 1 4 \n".to_owned()));
    let told = ["Zero-length utterance: empty", "Not producing output for utterance c", "failed for 2"];
    assert_eq!(with_network.stdout, decode("latgen-faster-mapped", "same.mdl graph").with(0).stdout);
    with_network.tells(&told);
    let by_key = decode("nnet3-latgen-faster", "same.mdl ark:graphs").with(0);
    by_key.tells(&["Not decoding utterance missing because no features available."]);
    assert_eq!(bench.text("words"), "a 7 8 \n");

    bench.file("one", "a  [ 1 ]\n");
    let wrong = decode("nnet3-latgen-faster", "--ivectors=ark:one same.mdl graph").with(255);
    wrong.has_line("ERROR", &["'a' has an i-vector of 1 elements, and the network takes 0"]);
    let wrong = decode("nnet3-latgen-faster", "sum.mdl graph").with(255);
    wrong.has_line("ERROR", &["1 columns of output", "2 pdfs"]);
}

/// A network for c0 and the i-vectors of `one_gaussian`: the first pdf is likely in the mean.
fn online_bench() -> Bench {
    let bench = Bench::new();
    one_gaussian(&bench);
    let nnet = "<Nnet3> \ninput-node name=ivector dim=2\ninput-node name=input dim=1\n\
        component-node name=pdfs component=pdfs input=Append(input, ReplaceIndex(ivector, t, 0))\n\
        output-node name=output input=pdfs objective=linear\n\n<NumComponents> 1 \n\
        <ComponentName> pdfs <FixedAffineComponent> <LinearParams>  [\n  0.1 0.1 0 \n  0 0 0 ]\n<BiasParams>  [ 0 5 ]\n\
        </FixedAffineComponent> \n</Nnet3> ";
    bench.file("final.mdl", &model(nnet, ""));
    bench.file("same.mdl", &model(&identity(1), ""));
    bench.file("graph.txt", GRAPH);
    bench.line("fst convert graph.txt graph.fst").with(0);
    bench.file("mfcc.conf", "--num-ceps=1\n--use-energy=false\n--dither=0\n");
    bench.file(
        "online.conf",
        "--mfcc-config=mfcc.conf\n--ivector-extraction-config=ivector.conf\n--acoustic-scale=1.0\n",
    );
    bench.wav("a.wav", 16_000, 16_000.0);
    bench.wav("b.wav", 8000, 16_000.0);
    bench.wav("short.wav", 10, 16_000.0);
    bench.file("wav.scp", "a a.wav\nb b.wav\nshort short.wav\n");
    bench.file("spk2utt", "s a missing b short\n");
    bench.file("words.txt", "<eps> 0\nseven 7\neight 8\n");
    bench
}

#[test]
fn recordings_become_lattices() {
    let bench = online_bench();
    let decode = |options: &str| {
        let line = format!(
            "online2-wav-nnet3-latgen-faster --config=online.conf {options} final.mdl graph.fst ark:spk2utt scp:wav.scp ark:lats"
        );
        let told = bench.line(&line.split_whitespace().collect::<Vec<_>>().join(" ")).with(0);
        let best = bench.line("lattice-best-path ark:lats ark,t:- ark,t:ali").with(0);
        let frames = |line: &str| line.split_whitespace().count() - 1;
        (told, best.stdout, bench.text("ali").lines().map(frames).collect::<Vec<_>>())
    };
    let (told, words, frames) = decode("--word-symbol-table=words.txt");
    assert_eq!((words.as_str(), &frames[..]), ("a 7 8 \nb 7 8 \n", &[98, 48][..]), "{told:?}");
    told.tells(&[
        "a seven eight",
        "Did not find audio for utterance missing",
        "leaving out short",
        "Decoded 2 utterances, 2 with errors.",
    ]);
    for options in [
        "--chunk-length=0.05",
        "--chunk-length=-1",
        "--online=false",
        "--frames-per-chunk=10 --extra-left-context-initial=2",
        "--ivector-silence-weighting.silence-phones=1 --ivector-silence-weighting.silence-weight=0.1",
    ] {
        let (_, again, lengths) = decode(options);
        assert_eq!((again, lengths), (words.clone(), frames.clone()), "{options}");
    }
    let (_, _, frames) = decode("--frame-subsampling-factor=3");
    assert_eq!(frames, [33, 16]);
    let rules = "--do-endpointing=true --endpoint.rule5.min-utterance-length=0.3";
    let (_, _, frames) = decode(rules);
    assert!(frames[0] >= 30 && frames[0] < 60, "{frames:?}");
    let (_, _, frames) =
        decode("--do-endpointing=true --endpoint.silence-phones=1:2 --endpoint.rule1.min-trailing-silence=0.25");
    assert!(frames[0] >= 25 && frames[0] < 50, "{frames:?}");
}

#[test]
fn pitch_is_appended_to_features() {
    let bench = online_bench();
    let network = bench.text("final.mdl");
    let (network, weights) = (network.replace("input dim=1", "input dim=4"), "[\n  0.1 0 0 0 0.1 0 \n  0 0 0 0 0 0 ]");
    bench.file("pitch.mdl", &network.replace("[\n  0.1 0.1 0 \n  0 0 0 ]", weights));
    bench.file("pitch.conf", "--normalization-right-context=25\n--frames-per-chunk=10\n--nccf-ballast-online=true\n");
    let decode = |options: &str, lattices: &str| {
        let options = format!("--config=online.conf {options} graph.fst ark:spk2utt scp:wav.scp ark,t:{lattices}");
        bench.line(&format!("online2-wav-nnet3-latgen-faster {options}")).with(0)
    };
    // All at once: a chunk that waits for pitch has a later i-vector.
    decode("--chunk-length=-1 final.mdl", "without");
    decode("--chunk-length=-1 --add-pitch=true --online-pitch-config=pitch.conf pitch.mdl", "with");
    assert_eq!(bench.text("with"), bench.text("without"), "the network gives pitch no weight");
    bench.file("pitch-stats", " [ 5 0 0 0 10\n 20 20 20 20 0 ]\n");
    bench.file("pitch-cmvn.conf", "--cmn-window=60\n");
    decode("--add-pitch=true --cmvn-config=pitch-cmvn.conf --global-cmvn-stats=pitch-stats pitch.mdl", "normalised");
    decode("--chunk-length=-1 --online-pitch-config=pitch.conf final.mdl", "again")
        .has_line("WARN", &["without --add-pitch"]);
    assert_eq!(bench.text("again"), bench.text("without"));
}

#[test]
fn online_models_that_do_not_fit_end_a_run() {
    let bench = online_bench();
    bench.file("wide.conf", "--dither=0\n");
    for (options, expected) in [
        ("--mfcc-config=mfcc.conf final.mdl", "the network takes i-vectors: give --ivector-extraction-config"),
        ("--mfcc-config=wide.conf final.mdl", "the features have 13 columns, and the network takes 1"),
        ("--config=online.conf --add-pitch=true final.mdl", "the features have 4 columns, and the network takes 1"),
        ("--config=online.conf --feature-type=pitch final.mdl", "--feature-type=pitch"),
        ("--config=online.conf --cmvn-config=online_cmvn.conf final.mdl", "--global-cmvn-stats"),
        ("--config=online.conf --endpoint.silence-phones=sil final.mdl", "--endpoint.silence-phones=sil"),
        ("--config=online.conf --determinize-lattice=false final.mdl", "--determinize-lattice is not supported"),
        ("--mfcc-config=mfcc.conf same.mdl", "1 columns of output"),
    ] {
        let line = format!("online2-wav-nnet3-latgen-faster {options} graph.fst ark:spk2utt scp:wav.scp ark:lats");
        bench.line(&line).with(255).has_line("ERROR", &[expected]);
    }
    // Normalised features of a network.
    let line = "online2-wav-nnet3-latgen-faster --config=online.conf --cmvn-config=online_cmvn.conf \
                --global-cmvn-stats=global_cmvn.stats final.mdl graph.fst ark:spk2utt scp:wav.scp ark:lats";
    bench.line(&line.split_whitespace().collect::<Vec<_>>().join(" ")).with(0);
}
