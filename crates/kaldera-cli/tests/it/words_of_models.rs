//! What decides the words beside the network: graphs, language models, hot words.

use std::fs;

use crate::bench::Bench;
use crate::recognition::archive_model;

/// Numbered by the alphabet its tokens are one, three, two; the model's are one, two, three.
const LEXICON: &str = "uno one\ndue two\ntre three\n";

fn arpa(words: &[&str]) -> String {
    let ngrams: String = words.iter().map(|word| format!("-0.3 {word}\n")).collect();
    let number = words.len() + 2;
    format!("\\data\\\nngram 1={number}\n\n\\1-grams:\n-99 <s>\n-0.5 </s>\n{ngrams}\n\\end\\\n")
}

#[test]
fn a_graph_has_the_tokens_that_its_table_names() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.file("lexicon", LEXICON);
    bench.file("lm.arpa", &arpa(&["uno", "due", "tre"]));
    for (name, format) in [("HLG.fst", "binary"), ("HLG.txt", "text"), ("HLG.k2.txt", "k2")] {
        bench.run(&["fst", "make-hlg", &format!("--format={format}"), "lexicon", "lm.arpa", name]).with(0);
        let ended = bench.run(&["transcribe", &format!("--graph={name}"), "model", "in"]).with(0);
        assert_eq!((&*ended.stdout, &*ended.stderr), ("a uno due\nb tre tre\n", ""), "{format}");
    }
    // Without the table the numbers must do, which is told.
    fs::remove_file(bench.path("HLG.txt.tokens.txt")).unwrap();
    let ended = bench.run(&["transcribe", "--graph=HLG.txt", "model", "in"]).with(0);
    ended.tells(&["no table of tokens", "HLG.txt.tokens.txt"]);
    fs::remove_file(bench.path("HLG.txt.words.txt")).unwrap();
    bench.run(&["transcribe", "--graph=HLG.txt", "model", "in"]).with(1).tells(&["HLG.txt.words.txt"]);
    // A token that the model lacks, and a graph without words.
    bench.file("lexicon", "uno one\ndue zwei\n");
    bench.run(&["fst", "make-hlg", "lexicon", "lm.arpa", "HLG.fst"]).with(0);
    let ended = bench.run(&["transcribe", "--graph=HLG.fst", "model", "in"]).with(1);
    ended.tells(&["option --graph", "HLG.fst", "'zwei'"]);
    bench.file("empty.txt", "0 0 1 0\n0\n");
    bench.file("empty.txt.words.txt", "<eps> 0\n");
    bench.run(&["transcribe", "--graph=empty.txt", "model", "in"]).with(1).tells(&["outputs no word"]);
    bench.file("HLG.pt", "PK\u{3}\u{4}");
    fs::write(bench.path("HLG.pt"), b"PK\x03\x04\xff").unwrap();
    bench.run(&["transcribe", "--graph=HLG.pt", "model", "in"]).with(1).tells(&["zip archive", "to_str"]);
}

#[test]
fn models_without_a_common_word_are_refused() {
    let bench = Bench::new();
    archive_model(&bench);
    bench.file("lexicon", LEXICON);
    let transcribe = ["transcribe", "--lm=lm.arpa", "model", "in"];
    for unknown in [&[][..], &["<unk>"]] {
        bench.file("lm.arpa", &arpa(&[unknown, &["ONE", "TWO"]].concat()));
        bench.run(&transcribe).with(1).tells(&["option --lm", "lm.arpa", "'one'", "'ONE'", "case"]);
        bench.file("lm.arpa", &arpa(&[unknown, &["eins"]].concat()));
        bench.run(&transcribe).with(1).tells(&["'one'", "'eins'"]);
        bench.run(&["fst", "make-hlg", "lexicon", "lm.arpa", "HLG.fst"]).with(1).tells(&["'uno'", "'eins'"]);
        bench.file("words", "<eps> 0\n#0 1\n<s> 2\n</s> 3\nacht 4\n");
        let to_fst = ["fst", "arpa2fst", "--disambig-symbol=#0", "--read-symbol-table=words", "lm.arpa", "G.fst"];
        bench.run(&to_fst).with(1).tells(&["'acht'"]);
        assert!(!bench.path("G.fst").exists() && !bench.path("HLG.fst").exists());
    }
    bench.file("lm.arpa", &arpa(&["one", "x"]));
    bench.run(&transcribe).with(0).tells(&["1 of the 3 words"]);
    let text = fs::read_to_string(bench.path("model/model.toml")).unwrap();
    bench.file("model/lm.arpa", &arpa(&["x"]));
    bench.file("model/model.toml", &text.replace("[network]", "language-model = 'lm.arpa'\n[network]"));
    bench.run(&["model", "check", "model"]).with(1).tells(&["key language-model", "'x'"]);
    bench.run(&["transcribe", "model", "in"]).with(1).tells(&["key language-model"]);
    // Words that tokens spell.
    bench.file("model/tokens.txt", "<blk> 0\n▁ 1\na 2\nb 3\n");
    bench.file(
        "model/model.toml",
        &text.replace("[network]", "words = 'marker'\nlanguage-model = 'lm.arpa'\n[network]"),
    );
    bench.file("model/lm.arpa", &arpa(&["AB", "BA"]));
    bench.run(&["model", "check", "model"]).with(1).tells(&["'AB'", "spelled", "case"]);
    bench.file("model/lm.arpa", &arpa(&["ab", "cc", "dd"]));
    bench.run(&["model", "check", "model"]).with(0).tells(&["1 of 3 words", "'cc'"]);
}

#[test]
fn language_models_of_other_tools_are_named() {
    let bench = Bench::new();
    archive_model(&bench);
    for (start, said) in [
        (&b"mmap lm http://kheafield.com/code format version 5\n\0"[..], "KenLM's binary format"),
        (b"SRILM_BINARY_NGRAM_002\n", "-write-lm"),
        (b"\0B<ConstArpaLm> <LmInfo> ", "G.carpa"),
    ] {
        fs::write(bench.path("lm.bin"), start).unwrap();
        bench.run(&["lm", "info", "lm.bin"]).with(1).tells(&["lm.bin", said]);
        bench.run(&["transcribe", "--lm=lm.bin", "model", "in"]).with(1).tells(&["option --lm", "lm.bin", said]);
    }
}

#[test]
fn hot_words_have_places_and_bonuses_of_their_own() {
    let bench = Bench::new();
    archive_model(&bench);
    let transcribe = ["transcribe", "--hotwords=hot.txt", "model", "in"];
    for text in ["\u{feff}three :0.1\n", "three :0.1\n\n one\n"] {
        bench.file("hot.txt", text);
        let ended = bench.run(&transcribe).with(0);
        assert_eq!((&*ended.stdout, &*ended.stderr), ("a one two\nb three three\n", ""), "{text}");
    }
    bench.file("hot.txt", "one two :2.5\n");
    assert!(bench.run(&transcribe).with(0).stdout.contains("a one two one two"));
    bench.file("hot.txt", "three :60\n");
    assert!(bench.run(&transcribe).with(0).stdout.contains("a three"));
    bench.file("hot.txt", "one\n\nfour\n");
    bench.run(&transcribe).with(0).tells(&["1 of 2 hot words", "hot.txt, line 3", "four"]);
    for (text, said) in [
        ("four\n", "hot.txt, line 1"),
        ("one\ntwo #0.5\n", "hot.txt, line 2, 'two #0.5'"),
        ("one :1 :2\n", "hot.txt, line 1"),
        ("\n", "hot.txt: there is no hot word"),
    ] {
        bench.file("hot.txt", text);
        let ended = bench.run(&transcribe).with(1).tells(&[said]);
        assert!(!ended.stderr.contains("model.toml") && !ended.stderr.contains("decoding"), "{}", ended.stderr);
    }
}

#[test]
fn programs_of_recipes_are_told_where_they_are() {
    let bench = Bench::new();
    bench.run(&["arpa2fst", "lm.arpa"]).with(2).tells(&["'kaldera fst arpa2fst'"]);
    bench.run(&["gmm-latgen-faster"]).with(2).tells(&["'gmm-latgen-faster'", "are not part of Kaldera"]);
}
