//! Every command with little memory, and without threads: it works or ends soon with an error in
//! words.

use std::fs;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Ended};
use crate::ivectors::one_gaussian;
use crate::nnet3::identity;
use crate::recognition::random_model;

/// OpenBLAS, which the whole workspace is tested with, starts its threads before `main`, and hangs
/// there where they find no memory. The command by itself is built without it.
const ONE_BLAS_THREAD: &str = "OPENBLAS_NUM_THREADS=1";

/// Limits of memory, in kB. The least ones may be too small for the program itself, whose size
/// depends on how it was built.
const LIMITS_KB: [u32; 5] = [60_000, 80_000, 100_000, 140_000, 200_000];

/// A transition model of two phones, of one state each.
const MODEL: &str = "<TransitionModel> <Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> \
    <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology> \
    <Triples> 2 1 0 0 2 0 1 </Triples> <LogProbs> [ 0 -1 -1 -1 -1 ] </LogProbs> </TransitionModel>\n";

/// What each command is tried with.
fn lines(bench: &Bench) -> Vec<String> {
    for key in ["a", "b"] {
        bench.wav(&format!("wav/{key}.wav"), 80_000, 16_000.0);
    }
    fs::write(bench.path("wav.scp"), "a wav/a.wav\nb wav/b.wav\n").unwrap();
    fs::write(bench.path("seg"), "u a 0.1 0.5\nv b 0 1\n").unwrap();
    fs::write(bench.path("utt2spk"), "a s\nb s\n").unwrap();
    fs::write(bench.path("spk2utt"), "s a b\n").unwrap();
    fs::write(bench.path("text"), "a one two\nb three\n").unwrap();
    random_model(bench);
    let arcs: String = (0..20_000).map(|i| format!("{} {} {} {} 0.5\n", i, i + 1, 1 + i % 7, 1 + i % 5)).collect();
    fs::write(bench.path("a.txt"), arcs + "20000\n").unwrap();
    fs::write(bench.path("lm.arpa"), "\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s>\n-1 </s>\n-0.5 hi\n\n\\end\\\n")
        .unwrap();
    bench.shell("\"$K\" features -q --kind mfcc -o x.ark wav.scp").with(0);
    bench.shell("\"$K\" compute-kaldi-pitch-feats scp:wav.scp ark:pitch.ark").with(0);
    bench.shell("\"$K\" compute-cmvn-stats ark:x.ark ark:cmvn.ark").with(0);
    bench.shell("\"$K\" compute-vad ark:x.ark ark:vad.ark && \"$K\" copy-vector ark:vad.ark ark:v.ark").with(0);
    let kaldi = kaldera_cli::kaldi_tools().iter().map(|tool| {
        let args = match *tool {
            "apply-cmvn" => "ark:cmvn.ark ark:x.ark ark:out",
            "compute-and-process-kaldi-pitch-feats"
            | "compute-fbank-feats"
            | "compute-kaldi-pitch-feats"
            | "compute-mfcc-feats"
            | "compute-plp-feats"
            | "compute-spectrogram-feats"
            | "wav-copy"
            | "wav-to-duration" => "scp,bg:wav.scp ark:out",
            "copy-feats-to-htk" | "copy-feats-to-sphinx" => "--output-dir=files ark:x.ark",
            "copy-int-vector" => "ark:ints ark:out",
            "copy-vector" => "ark:v.ark ark:out",
            "decode-faster" => "a.txt ark:x.ark ark:out",
            "latgen-faster-mapped" => "--allow-partial pdfs a.txt ark:x.ark ark:out",
            "extract-segments" => "scp:wav.scp seg ark:out",
            "extract-feature-segments" => "ark:x.ark seg ark:out",
            "feat-to-dim" | "feat-to-len" => "ark:x.ark ark,t:out",
            "interpolate-pitch" | "process-kaldi-pitch-feats" => "ark:pitch.ark ark:out",
            "lattice-arc-post" | "lattice-to-ctm-conf" | "nbest-to-ctm" => "ark:lats out",
            "lattice-align-words" => "types mdl ark:lats ark:out",
            "lattice-align-words-lexicon" => "align mdl ark:lats ark:out",
            "compute-wer" | "compute-wer-bootci" => "ark:ints ark:ints",
            "ali-to-phones" => "mdl ark:ints ark:out",
            "align-text" => "ark:ints ark:ints ark:out",
            "apply-cmvn-online" => "global.stats ark:x.ark ark:out",
            "arpa-to-const-arpa" => "--bos-symbol=1 --eos-symbol=2 int.arpa G.carpa",
            "lattice-lmrescore" => "ark:lats g.fst ark:out",
            "lattice-lmrescore-const-arpa" => "ark:lats int.carpa ark:out",
            "lattice-lmrescore-pruned" => "--add-const-arpa=true g.fst int.carpa ark:lats ark:out",
            "lattice-to-phone-lattice" => "mdl ark:lats ark:out",
            "linear-to-nbest" => "ark:ints ark:ints \"\" \"\" ark:out",
            "lattice-compose" => "ark:lats g.fst ark:out",
            "lattice-combine" | "lattice-copy-backoff" | "lattice-interp" => "ark:lats ark:lats ark:out",
            "lattice-oracle" => "ark:lats ark:ints ark:out",
            "lattice-union" => "ark:lats ark:lats ark:out",
            name if name.starts_with("lattice-") || name.starts_with("nbest-") => "ark:lats ark:out",
            "fgmm-global-copy" | "fgmm-global-to-gmm" => "full out",
            "gmm-global-copy" => "final.dubm out",
            "gmm-global-get-post" => "final.dubm ark:one.ark ark:out",
            "ivector-extract" => "final.ie ark:one.ark ark:post.ark ark:out",
            "ivector-extract-online2" => "--config=ivector.conf ark:spk2utt ark:x.ark ark:out",
            "ivector-extractor-copy" => "final.ie out",
            "matrix-dim" => "ark:x.ark",
            "modify-cmvn-stats" => "0:1 ark:cmvn.ark ark:out",
            "nnet3-am-copy" => "wide.mdl out",
            "nnet3-am-info" => "wide.mdl",
            "nnet3-compute" => "wide.raw ark:x.ark ark:out",
            "nnet3-copy" => "wide.raw out",
            "nnet3-info" => "wide.raw",
            "nnet3-latgen-faster" => "--allow-partial wide.mdl a.txt ark:x.ark ark:out",
            "online2-wav-nnet3-latgen-faster" => "wide.mdl g.fst ark:spk2utt scp:wav.scp ark:out",
            "paste-feats" => "ark:x.ark ark:x.ark ark:out",
            "select-feats" => "0-3 ark:x.ark ark:out",
            "select-voiced-frames" => "ark:x.ark ark:v.ark ark:out",
            "transform-feats" => "final.mat ark:x.ark ark:out",
            _ => "ark,bg:x.ark ark:out",
        };
        format!("{tool} {args}")
    });
    fs::write(bench.path("ints"), "a 1 2 3\n").unwrap();
    fs::write(bench.path("g.txt"), "0 0 1 1 0.5\n0\n").unwrap();
    bench.shell("\"$K\" fst convert g.txt g.fst").with(0);
    bench.shell("\"$K\" compute-cmvn-stats ark:x.ark global.stats").with(0);
    one_gaussian(bench);
    bench.shell("cp global.stats global_cmvn.stats && \"$K\" select-feats 0 ark:x.ark ark:one.ark").with(0);
    bench.shell("\"$K\" gmm-global-get-post final.dubm ark:one.ark ark:post.ark").with(0);
    fs::write(bench.path("final.mat"), format!(" [ 1 {}]\n", "0 ".repeat(12))).unwrap();
    let full = "<FullGMM> <WEIGHTS> [ 1 ]\n <MEANS_INVCOVARS> [ 2 ]\n <INV_COVARS> [ 2 ]\n </FullGMM>";
    fs::write(bench.path("full"), full).unwrap();
    fs::write(bench.path("int.arpa"), "\\data\\\nngram 1=2\n\n\\1-grams:\n-1 1\n-1 2\n\n\\end\\\n").unwrap();
    bench.shell("\"$K\" arpa-to-const-arpa --bos-symbol=1 --eos-symbol=2 int.arpa int.carpa").with(0);
    fs::write(bench.path("types"), "1 nonword\n2 singleton\n").unwrap();
    fs::write(bench.path("align"), "0 0 1\n1 1 2\n").unwrap();
    fs::write(bench.path("mdl"), MODEL).unwrap();
    fs::write(bench.path("lats"), "a\n0 1 1 1,1,4_3\n1 0.5,1,\n\n").unwrap();
    let phones = "1 2 3 4 5 6 7";
    let topology = format!(
        "<Topology> <TopologyEntry> <ForPhones> {phones} </ForPhones> <State> 0 <PdfClass> 0 <Transition> 1 1 </State> \
         <State> 1 </State> </TopologyEntry> </Topology>"
    );
    let triples: String = (1..8).map(|phone| format!("{phone} 0 {} ", phone + 5)).collect();
    let model = format!(
        "<TransitionModel> {topology} <Triples> 7 {triples} </Triples> <LogProbs> [ 0 0 0 0 0 0 0 0 ] </LogProbs> \
         </TransitionModel>\n"
    );
    let nnet = identity(13);
    fs::write(bench.path("wide.mdl"), format!("{model}{nnet}<LeftContext> 0 <RightContext> 0 <Priors>  [ ]\n"))
        .unwrap();
    fs::write(bench.path("wide.raw"), nnet).unwrap();
    fs::write(bench.path("pdfs"), model).unwrap();
    let kinds = ["fbank", "mfcc", "plp", "spectrogram", "pitch", "whisper", "librosa"];
    let native = kinds.map(|kind| format!("features -j8 --kind={kind} -o out.npz wav.scp")).into_iter().chain(
        [
            "features -j8 --kind=fbank --resume --with-pitch --cmvn=all --deltas -o out.ark wav.scp",
            "features --kind=mfcc -o out.safetensors wav",
            "merge -o out.npz x.ark",
            "plot x.ark a -o out.png",
            "plot wav/a.wav -o out.svg",
            "plot wav/a.wav",
            "info",
            "help",
            "completions bash",
            "transcribe -j2 model wav.scp",
            "stream model < wav/a.wav",
            "align --text=text model wav.scp",
            "plot --model=model wav/a.wav",
            "model check model",
            "fst info a.txt",
            "fst convert a.txt out.fst",
            "fst arcsort a.txt out.fst",
            "fst compose a.txt a.txt out.fst",
            "fst determinize a.txt out.fst",
            "fst minimize a.txt out.fst",
            "fst rmepsilon a.txt out.fst",
            "fst shortestpath a.txt out.fst",
            "fst union a.txt a.txt out.fst",
        ]
        .map(str::to_owned),
    );
    native.chain(kaldi).collect()
}

/// Ended well, or with an error that says something, within the time.
#[track_caller]
fn check(line: &str, limit: &str, ended: &Ended, time: Duration) {
    assert!(time < Duration::from_secs(10), "{limit}; {line}: {time:?}, {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{limit}; {line}: {ended:?}");
    assert!(ended.code == Some(0) || !ended.stderr.is_empty(), "{limit}; {line}: {ended:?}");
    // Where not even a small vector can grow, Rust says so and aborts.
    let aborted = ended.code.is_none() && ended.stderr.contains("memory allocation of");
    assert!(aborted || ended.code.is_some_and(|code| code < 128 || code == 255), "{limit}; {line}: {ended:?}");
}

#[test]
fn commands_with_little_memory_work_or_end_with_an_error() {
    let bench = Bench::new();
    let lines = lines(&bench);
    // With 60 MB more than the program itself takes, which is large without optimisation: with
    // less, even threads cannot be set up, and which allocation fails is chance.
    let starts = |limit: &u32| {
        let limit = limit.saturating_sub(60_000);
        bench.shell(&format!("ulimit -v {limit}; {ONE_BLAS_THREAD} exec \"$K\" --version")).code == Some(0)
    };
    let limits: Vec<_> = LIMITS_KB.into_iter().filter(starts).collect();
    let mut worked = 0;
    for line in &lines {
        for limit in &limits {
            let limit = format!("ulimit -v {limit}");
            let begin = Instant::now();
            let ended = bench.shell(&format!("{limit}; {ONE_BLAS_THREAD} exec \"$K\" {line}"));
            worked += usize::from(ended.code == Some(0));
            check(line, &limit, &ended, begin.elapsed());
        }
    }
    eprintln!("{worked} of {} runs worked, under {limits:?} kB", limits.len() * lines.len());
}

#[test]
fn commands_without_threads_work_or_end_with_an_error() {
    let bench = Bench::new();
    let lines = lines(&bench);
    // The limit is on the processes of a user, and root has none: another user has to run the
    // command.
    let root = bench.shell("test $(id -u) -eq 0").code == Some(0);
    let user = if root { "setpriv --reuid=54321 --clear-groups " } else { "" };
    bench.shell("chmod -R a+rwX . && mkdir -p bin && cp \"$K\" bin/kaldera").with(0);
    let start = |line: &str| {
        bench.shell(&format!(
            "exec {user}sh -c '(ulimit -u 1) 2>/dev/null && ulimit -u 1 || ulimit -p 1; {ONE_BLAS_THREAD} exec bin/kaldera {line}'"
        ))
    };
    if start("--version").code != Some(0) {
        eprintln!("left out: no other user can run commands here");
        return;
    }
    for line in &lines {
        bench.shell("rm -rf out out.* files; mkdir -m 777 files");
        let begin = Instant::now();
        let ended = start(line);
        check(line, "ulimit -u 1", &ended, begin.elapsed());
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
    }
}
