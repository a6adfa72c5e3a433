//! `kaldera lm`: models of all formats through the operations, and what they tell.

use std::fs;
use std::io::Write as _;
use std::ops::Deref;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::bench::{self, Ended};

/// <s> and a have seen words, b backs off.
const ARPA: &str = "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n-0.60206\t</s>\n-99\t<s>\t-0.30103\n-0.90309\t<unk>\n-0.60206\ta\t0\n-0.4259687\tb\n\n\
    \\2-grams:\n-0.2041200\t<s> a\n-0.60206\ta b\n\n\\end\\\n";

/// A folder with a model.
struct Bench(bench::Bench);

impl Deref for Bench {
    type Target = bench::Bench;

    fn deref(&self) -> &bench::Bench {
        &self.0
    }
}

impl Bench {
    fn new() -> Self {
        let bench = Self(bench::Bench::new());
        bench.file("lm.arpa", ARPA);
        bench
    }

    fn lm(&self, args: &[&str]) -> Ended {
        self.run(&[&["lm"], args].concat())
    }

    /// Runs what must succeed, and returns what it prints.
    #[track_caller]
    fn made(&self, line: &str) -> String {
        self.line(&format!("lm {line}")).with(0).stdout
    }
}

#[test]
fn a_model_goes_through_all_formats() {
    let bench = Bench::new();
    let plain = bench.made("convert lm.arpa");
    assert_eq!(plain.replace("-0.20412\t", "-0.2041200\t"), ARPA.replace("a\t0\n", "a\n"));
    bench.made("convert lm.arpa lm.bin");
    bench.made("convert lm.bin lm.arpa.gz");
    assert!(fs::read(bench.path("lm.arpa.gz")).unwrap().starts_with(&[0x1f, 0x8b]));
    bench.made("convert --format=binary lm.arpa.gz again");
    assert_eq!(fs::read(bench.path("again")).unwrap(), fs::read(bench.path("lm.bin")).unwrap());
    let mut out = GzEncoder::new(fs::File::create(bench.path("lm.bin.gz")).unwrap(), Compression::fast());
    out.write_all(&fs::read(bench.path("lm.bin")).unwrap()).unwrap();
    out.finish().unwrap();
    for input in ["lm.bin", "lm.arpa.gz", "lm.bin.gz", "cat lm.bin |", "gunzip -c lm.arpa.gz|"] {
        let ended = bench.lm(&["convert", input]);
        assert_eq!((ended.code, &ended.stdout), (Some(0), &plain), "{input}: {}", ended.stderr);
    }
    let info = bench.made("info lm.bin");
    for line in [
        "words                  5",
        "n-grams of order 1     5",
        "n-grams of order 2     2",
        "<unk>                  yes",
    ] {
        assert!(info.contains(line), "{info}");
    }
}

#[test]
fn steps_tell_sizes_time_and_memory() {
    let bench = Bench::new();
    let told = bench.lm(&["convert", "lm.arpa", "lm.bin"]).stderr;
    assert!(told.contains("reading 'lm.arpa': 7 n-grams (5 + 2), 5 words; ") && told.contains(" s"), "{told}");
    assert!(told.contains("writing 'lm.bin': ") && told.contains(" bytes; "), "{told}");
    #[cfg(target_os = "linux")]
    assert!(told.contains("peak memory "), "{told}");
    assert_eq!(bench.lm(&["convert", "--quiet", "lm.arpa", "lm.bin"]).stderr, "");
}

#[test]
fn models_become_smaller_normalized_and_mixed() {
    let bench = Bench::new();
    bench.file("words.txt", "<eps> 0\na 1\n");
    bench.made("restrict --vocab=words.txt lm.arpa small.arpa");
    let small = bench.text("small.arpa");
    assert!(small.contains("ngram 1=4\nngram 2=1\n") && !small.contains('b'), "{small}");
    // What b had goes to the unknown word.
    let normalized = bench.made("normalize small.arpa");
    let of_unknown: f64 =
        normalized.lines().find_map(|line| line.strip_suffix("\t<unk>")).and_then(|log10| log10.parse().ok()).unwrap();
    assert!((10_f64.powf(of_unknown) - 0.5).abs() < 1e-5, "{normalized}");
    let pruned = bench.made("prune --threshold=0.5 lm.arpa");
    assert!(pruned.contains("ngram 1=5\n") && !pruned.contains("2-grams"), "{pruned}");
    bench.made("convert lm.arpa lm.bin");
    let mixed = bench.made("interpolate --lambda=0.25 lm.arpa lm.bin");
    assert!(mixed.contains("ngram 1=5\nngram 2=2\n"), "{mixed}");
}

#[test]
fn perplexity_is_told_as_srilm_does() {
    let bench = Bench::new();
    bench.file("text", "a b\n\nx a\n");
    // log10: <s> a -0.20412, a b -0.60206, b </s> -0.60206; x is unknown, a -0.60206, </s>
    // -0.60206.
    let logprob: f64 = -0.20412 - 4.0 * 0.60206;
    let told = bench.made("perplexity lm.arpa text");
    let expected = format!(
        "file 'text': 2 sentences, 4 words, 1 OOVs\n0 zeroprobs, logprob= {logprob:.4} ppl= {:.4} ppl1= {:.4}\n",
        10_f64.powf(-logprob / 5.0),
        10_f64.powf(-logprob / 3.0)
    );
    assert!(told.starts_with(&expected), "{told} is not {expected}");
    // <s> backs off to <unk>.
    let logprob = logprob - 0.90309 - 2.0_f64.log10();
    assert!(
        told.ends_with(&format!("with OOVs as <unk>: logprob= {logprob:.4} ppl= {:.4}\n", 10_f64.powf(-logprob / 6.0))),
        "{told}"
    );
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let bench = Bench::new();
    bench.file("broken.arpa", "\\data\\\nngram 1=1\n\\1-grams:\nx a\n");
    bench.made("convert lm.arpa lm.bin");
    let mut damaged = fs::read(bench.path("lm.bin")).unwrap();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(bench.path("damaged.bin"), damaged).unwrap();
    for (code, args, message) in [
        (2, &["convert", "lm.arpa", "out.xyz"][..], "the file extension must select the format"),
        (2, &["convert", "lm.arpa", "lm.arpa"], "would overwrite the input"),
        (2, &["convrt", "lm.arpa"], "did you mean 'convert'?"),
        (2, &["restrict", "lm.arpa", "out.bin"], "--vocab=WORDS is missing"),
        (2, &["prune", "--threshold=0", "lm.arpa", "out.bin"], "--threshold must be above 0"),
        (2, &["interpolate", "--lambda=2", "lm.arpa", "lm.bin", "out.bin"], "--lambda must be from 0 to 1"),
        (2, &["interpolate", "lm.arpa"], "expected 2 inputs"),
        (2, &["perplexity", "-"], "the model is standard input: name a text"),
        (1, &["convert", "--max-mem=100", "lm.arpa", "out.bin"], "but its limit is 100; raise the limit"),
        (1, &["convert", "--max-mem=100", "lm.bin", "out.bin"], "but its limit is 100; raise the limit"),
        (1, &["convert", "missing.arpa", "out.bin"], "cannot read 'missing.arpa'"),
        (1, &["convert", "broken.arpa", "out.bin"], "broken.arpa: n-gram model, line 4: there should be a logarithm"),
        (1, &["convert", "damaged.bin", "out.bin"], "damaged.bin: byte 32: the n-gram model is damaged"),
        (1, &["convert", "cat lm.bin; exit 3 |", "out.bin"], "3"),
    ] {
        bench.lm(args).with(code).tells(&[message]);
        assert!(!bench.path("out.bin").exists(), "{args:?}");
    }
}
