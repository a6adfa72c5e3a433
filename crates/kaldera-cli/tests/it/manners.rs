//! What the command says of itself, wherever it is asked, and how it takes what was mistyped.

use std::process::{Command, Stdio};

use crate::bench::{Bench, Ended, KALDERA};

const NATIVE: [&str; 14] = [
    "transcribe",
    "decode",
    "stream",
    "align",
    "score",
    "model",
    "features",
    "fst",
    "lm",
    "plot",
    "merge",
    "info",
    "completions",
    "help",
];
const KINDS: [&str; 7] = ["fbank", "mfcc", "plp", "spectrogram", "pitch", "whisper", "librosa"];
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// A run, the words of which have single blanks between them.
fn kaldera(line: &str) -> Ended {
    let args = line.split(' ').filter(|word| !word.is_empty());
    Ended::from(Command::new(KALDERA).args(args).stdin(Stdio::null()).output().unwrap())
}

/// The operations of `kaldera fst` or `lm`, as its help lists them.
fn operations(of: &str) -> Vec<String> {
    let help = kaldera(&format!("{of} --help")).with(0).stdout;
    let list = help.lines().skip_while(|line| *line != "Operations:").skip(1).take_while(|line| !line.is_empty());
    list.filter(|line| !line.starts_with("   "))
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

#[test]
fn an_instruction_set_that_is_none_is_a_warning_of_every_command() {
    for (choice, warns) in [("nonsense", true), ("AVX2", true), ("", false), ("portable", false), ("avx512", false)] {
        for line in ["info", "--version", "compute-mfcc-feats --help"] {
            let output = Command::new(KALDERA).args(line.split(' ')).env("KALDERA_SIMD", choice).output().unwrap();
            let warning = format!(
                "kaldera: warning: KALDERA_SIMD={choice:?} has no effect: it must be portable, avx2 or avx512\n"
            );
            let stderr = Ended::from(output).with(0).stderr;
            assert_eq!(stderr, if warns { warning } else { String::new() }, "{line}");
        }
    }
}

#[test]
fn help_and_version_are_answered_at_every_level_on_standard_output() {
    let kaldi = kaldera_cli::kaldi_tools().iter().map(|tool| (*tool).to_owned());
    let native = NATIVE.iter().map(|tool| (*tool).to_owned());
    let (fst, lm) = (operations("fst"), operations("lm"));
    assert!(fst.len() >= 27 && fst.contains(&"compose".to_owned()), "{fst:?}");
    assert!(lm.len() >= 7 && lm.contains(&"prune".to_owned()), "{lm:?}");
    let operations = fst.iter().map(|operation| format!("fst {operation}"));
    let operations = operations.chain(lm.iter().map(|operation| format!("lm {operation}")));
    let kinds = KINDS.iter().map(|kind| format!("features --kind {kind}"));
    for level in std::iter::once(String::new()).chain(native).chain(kaldi).chain(operations).chain(kinds) {
        let ask = |flag: &str| {
            let ended = kaldera(&format!("{level} {flag}")).with(0);
            assert_eq!(ended.stderr, "", "{level} {flag}");
            assert!(!ended.stdout.is_empty(), "{level} {flag}");
            for line in ended.stdout.lines() {
                assert!(line.chars().count() <= 100, "{level} {flag}: {line}");
            }
            ended.stdout
        };
        let help = ask("--help");
        assert!(help.contains("Usage: ") && help.contains("xample"), "{level}: {help}");
        assert_eq!(ask("-h"), help, "{level}");
        assert_eq!(kaldera(&format!("help {level}")).with(0).stdout, help, "{level}");
        let version = concat!("kaldera ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!((ask("--version").as_str(), ask("-V").as_str()), (version, version), "{level}");
    }
}

#[test]
fn options_are_listed_by_subject() {
    let help = kaldera("features --kind mfcc --help").with(0).stdout;
    let subjects = ["Input and output:", "Cluster:", "Frames:", "Cepstra:", "Normalisation:", "Standard options:"];
    let places: Vec<_> = subjects.iter().map(|subject| help.find(&format!("\n{subject}\n"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {help}");
    for level in KINDS.map(|kind| format!("features --kind {kind} --with-pitch")).iter().map(String::as_str).chain([
        "features",
        "compute-plp-feats",
        "compute-and-process-kaldi-pitch-feats",
        "fst make-hlg",
        "transcribe",
        "decode",
        "stream",
    ]) {
        let help = kaldera(&format!("help {level}")).with(0).stdout;
        assert!(!help.contains("\nOptions:\n"), "an option of {level} has no subject: {help}");
    }
}

#[test]
fn slips_are_told_with_what_was_meant() {
    for (line, words) in [
        ("feature --kind fbank", "there is no command 'feature'; did you mean 'features'?"),
        ("compute-fbank-feat", "did you mean 'compute-fbank-feats'?"),
        ("help comput-mfcc-feats", "did you mean 'compute-mfcc-feats'?"),
        ("--hlp", "there is no option '--hlp'"),
        ("features --knd fbank -o x.ark a.wav", "unknown option '--knd'; did you mean '--kind'?"),
        ("features --kind fbnk -o x.ark a.wav", "did you mean 'fbank'?"),
        ("features --kind fbank --num-mel-bin 80 -o x.ark a.wav", "did you mean '--num-mel-bins'?"),
        ("features --kind fbank --no-snip-edge -o x.ark a.wav", "did you mean '--no-snip-edges'?"),
        ("features --kind fbank --cmvn=uterance -o x.ark a.wav", "did you mean 'utterance'?"),
        ("features --kind fbank -o - a.wav", "-o -: features go into a file"),
        ("features --kind fbank -o ark:- a.wav", ".npz (NumPy)"),
        ("fst compsoe a b", "did you mean 'compose'?"),
        ("completions bsh", "did you mean 'bash'?"),
        ("plot x.ark --frame-shit 5", "did you mean '--frame-shift'?"),
    ] {
        let ended = kaldera(line);
        assert_eq!(ended.code, Some(2), "{line}: {ended:?}");
        assert!(ended.stdout.is_empty() && ended.stderr.contains(words), "{line}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{line}: {ended:?}");
    }
    let kaldi = kaldera("compute-mfcc-feats --num-cep=3 a b").with(255).stderr;
    assert!(kaldi.contains("did you mean '--num-ceps'?"), "{kaldi}");
}

#[test]
fn letters_and_negations_are_taken() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    for (line, frames) in [
        ("-ox.ark -j2", 98),
        ("-o x.ark -j 2", 98),
        ("-o=x.ark --no-snip-edges", 100),
        ("--output=x.ark --snip-edges=false", 100),
    ] {
        let args: Vec<&str> =
            ["features", "--kind", "fbank", "-q", "a.wav"].into_iter().chain(line.split(' ')).collect();
        bench.run(&args).with(0);
        assert_eq!(crate::bench::features(&bench.path("x.ark"))[0].1.num_rows(), frames, "{line}");
    }
}

#[test]
fn completions_know_commands_options_kinds_and_operations() {
    for shell in SHELLS {
        let script = kaldera(&format!("completions {shell}")).with(0).stdout;
        assert!(script.contains("completions --words -- "), "{script}");
    }
    for (line, word) in [
        ("compute-f", "compute-fbank-feats"),
        ("compute-fbank-feats --num", "--num-mel-bins"),
        ("fst det", "determinize"),
        ("fst arcsort --so", "--sort-type"),
        ("features --pre", "--preset"),
        ("features --cm", "--cmvn"),
        ("features --preset lh", "lhotse"),
        ("features --kind=sp", "--kind=spectrogram"),
        ("features --cmvn utt", "utterance"),
    ] {
        let found = kaldera(&format!("completions --words -- {line}")).with(0).stdout;
        assert!(found.lines().any(|line| line.split('\t').next() == Some(word)), "no {word} in {found}");
    }
}

/// Bash in the path completes with its script.
#[test]
#[cfg(unix)]
fn bash_completes_words_and_the_values_of_options() {
    let bench = Bench::new();
    std::os::unix::fs::symlink(KALDERA, bench.path("kaldera")).unwrap();
    for (words, last, found) in [
        ("kaldera fst det", 2, "determinize"),
        ("kaldera features --kind = spec", 4, "spectrogram"),
        ("kaldera features x.wav", 2, ""),
    ] {
        let line = format!(
            "PATH=$PWD:$PATH; . <(kaldera completions bash); COMP_WORDS=({words}); COMP_CWORD={last}; _kaldera kaldera; \
             echo ${{COMPREPLY[*]}}"
        );
        let mut bash = Command::new("bash");
        let output = bash.args(["-c", &line]).current_dir(bench.path("")).output().unwrap();
        assert_eq!(Ended::from(output).with(0).stdout.trim(), found, "{words}");
    }
}

/// Two channels in every recording give the same warning each time.
#[test]
fn a_warning_comes_once_in_plain_words_and_not_when_quiet() {
    let bench = Bench::new();
    for key in ["a", "b", "c"] {
        bench.stereo(&format!("{key}.wav"));
    }
    let run = |args: &[&str]| {
        bench
            .run(&[&["features", "--kind=fbank", "-o", "x.ark", "a.wav", "b.wav", "c.wav"], args].concat())
            .with(0)
            .stderr
    };
    let told = run(&["-j1"]);
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].starts_with("kaldera features: warning: a has 2 channels"), "{told}");
    assert!(lines[1].starts_with("kaldera features: 2 more warnings like this"), "{told}");
    assert!(!told.contains("::"), "a path of Rust: {told}");
    assert_eq!(run(&["--verbose=1"]).matches("warning: ").count(), 3);
    assert_eq!(run(&["-q"]), "");
}

#[test]
#[cfg(unix)]
fn names_of_unfinished_files_are_not_told() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    bench.run(&["features", "-q", "--kind", "fbank", "-o", "a.ark", "a.wav"]).with(0);
    std::fs::write(bench.path("a.txt"), "0 1 7 0.5\n1\n").unwrap();
    for (args, output) in [
        (&["features", "--kind", "fbank", "a.wav", "-o"][..], "none/x.ark"),
        (&["features", "--kind", "fbank", "a.wav", "-o"], "none/x.safetensors"),
        (&["plot", "a.ark", "-o"], "none/x.png"),
        (&["plot", "a.ark", "-o"], "none/x.svg"),
        (&["merge", "a.ark", "-o"], "none/x.npz"),
        (&["fst", "union", "a.txt", "a.txt"], "none/x.txt"),
    ] {
        let told = bench.run(&[args, &[output]].concat()).with(1).tells(&[output]).stderr;
        assert!(!told.contains(".kaldera-"), "{told}");
        assert!(told.contains("No such file or directory"), "{told}");
    }
}

#[test]
fn the_readme_names_all_commands() {
    let readme = include_str!("../../README.md");
    for name in NATIVE.iter().filter(|name| **name != "help") {
        assert!(readme.contains(&format!("kaldera {name}")), "{name}");
    }
    for name in kaldera_cli::kaldi_tools().iter().chain(&KINDS).chain(&SHELLS) {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}

/// Runs the README's examples in a folder of their own, and compares all they print but times.
#[test]
#[cfg(unix)]
fn the_readme_shows_what_happens() {
    let bench = Bench::new();
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(from, bench.path(to)).unwrap();
    link(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"), "examples");
    link(KALDERA, "kaldera");
    let examples = include_str!("../../README.md").split("```console\n").skip(1);
    let lines: Vec<&str> = examples.flat_map(|rest| rest.split("```").next().unwrap_or_default().lines()).collect();
    assert!(lines.len() > 20, "{lines:?}");
    for shown in lines.chunk_by(|_, next| !next.starts_with("$ ")) {
        let command = shown[0].trim_start_matches("$ ");
        let ended = bench.shell(&format!("PATH=$PWD:$PATH; exec 2>&1; {command}"));
        let printed: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!(printed.len(), shown.len() - 1, "{command}: {ended:?}");
        for (shown, printed) in shown[1..].iter().zip(printed).filter(|(shown, _)| !shown.contains("x real time")) {
            assert_eq!(*shown, printed, "{command}");
        }
    }
}
