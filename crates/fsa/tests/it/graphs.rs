//! Lexica, n-gram models, hot words and CTC graphs beside what they mean, computed in the most
//! direct way.

use std::collections::HashMap;
use std::fmt::Write as _;

use fsa::graphs::{
    ArpaOptions, ContextGraph, CtcTopology, GrammarLabels, Hlg, HlgGraph, HlgOptions, HlgStep, Lexicon, LexiconOptions,
    NgramModel, OutOfVocabulary, Progress, Silence, Step, WordBoundary, make_hlg,
};
use fsa::io::{K2Text, OpenFstText, SymbolTable};
use fsa::{Arc, EPSILON, FINAL, Fsa, Graph, GraphLabels, Limits, Operation};
use proptest::prelude::*;
use ragged_core::Ragged;

/// Scores are sums of a few numbers of single precision, each below 64.
const TOLERANCE: f64 = 1e-4;

// ----------------------------------------------------------------------------------------------------------------
// n-grams

/// N-grams of the words a, b, c, d between <s> and </s>, with log10 of their probabilities and
/// back-off weights.
pub(crate) type Entries = HashMap<Vec<&'static str>, (f64, f64)>;

pub(crate) const WORDS: [&str; 6] = ["<s>", "a", "b", "c", "d", "</s>"];

/// Any order up to 4, any n-grams that sentences can have; also such whose first or last words are
/// no n-gram. All words are unigrams.
pub(crate) fn entries() -> impl Strategy<Value = (usize, Entries)> {
    let weight = || (-300..=0_i32, -100..=100_i32).prop_map(|(p, bow)| (f64::from(p) / 100.0, f64::from(bow) / 100.0));
    let ngram = prop::collection::vec(0..WORDS.len(), 2..=4);
    let longer = prop::collection::vec((ngram, weight()), 0..30);
    (1..=4_usize, prop::collection::vec(weight(), WORDS.len()), longer).prop_map(|(order, unigrams, longer)| {
        let mut entries: Entries = WORDS.iter().zip(unigrams).map(|(&word, it)| (vec![word], it)).collect();
        for (mut ngram, it) in longer {
            ngram.truncate(order);
            let last = ngram.len() - 1;
            let inner = |(i, word): (usize, usize)| match WORDS[word] {
                "<s>" if i > 0 => "a",
                "</s>" if i < last => "b",
                word => word,
            };
            let ngram: Vec<_> = ngram.into_iter().enumerate().map(inner).collect();
            if ngram != ["<s>"] && ngram != ["</s>"] {
                entries.insert(ngram, it);
            }
        }
        (order, entries)
    })
}

pub(crate) fn arpa(order: usize, entries: &Entries) -> String {
    let mut text = String::from("a comment\n\\data\\\n");
    for n in 1..=order {
        let _ = writeln!(text, "ngram {n}={}", entries.keys().filter(|ngram| ngram.len() == n).count());
    }
    for n in 1..=order {
        let _ = writeln!(text, "\n\\{n}-grams:");
        for (ngram, (p, bow)) in entries.iter().filter(|(ngram, _)| ngram.len() == n) {
            let _ = write!(text, "{p}\t{}", ngram.join(" "));
            let _ = if n < order { writeln!(text, "\t{bow}") } else { writeln!(text) };
        }
    }
    text + "\n\\end\\\n"
}

/// log10 p(word | history) as the format defines it.
pub(crate) fn back_off(entries: &Entries, order: usize, history: &[&'static str], word: &'static str) -> f64 {
    let history = &history[history.len() - history.len().min(order - 1)..];
    let ngram: Vec<_> = history.iter().copied().chain([word]).collect();
    match entries.get(&ngram) {
        Some((p, _)) => *p,
        // A weight that is not there is 1.
        None => entries.get(history).map_or(0.0, |(_, bow)| *bow) + back_off(entries, order, &history[1..], word),
    }
}

/// The score of a sentence where back-off arcs are taken only by need, and whether all states on
/// the way are those of a deterministic automaton.
fn walk(grammar: &Fsa, backoff: i32, sentence: &[i32]) -> f64 {
    let (view, mut state, mut total) = (grammar.view(), 0, 0.0);
    for &label in sentence.iter().chain(&[FINAL]) {
        loop {
            let with = |label| {
                let arcs: Vec<_> = view.arcs_of(state).iter().filter(|arc| arc.label == label).collect();
                assert!(arcs.len() < 2, "two arcs of state {state} have label {label}");
                arcs.first().copied()
            };
            let direct = with(label);
            let arc = direct.or_else(|| with(backoff)).expect("all words are unigrams");
            total += f64::from(arc.score);
            state = usize::try_from(arc.dest_state).unwrap();
            if direct.is_some() {
                break;
            }
        }
    }
    total
}

fn read(arpa: &str, words: &mut SymbolTable, options: &ArpaOptions) -> Result<NgramModel, fsa::Error> {
    NgramModel::read(arpa.as_bytes(), words, options, &mut |_| {})
}

proptest! {
    #[test]
    fn sentences_have_the_score_that_backing_off_gives(
        (order, entries) in entries(),
        sentences in prop::collection::vec(prop::collection::vec(1..5_usize, 0..8), 1..8),
    ) {
        let mut words = SymbolTable::default();
        let model = read(&arpa(order, &entries), &mut words, &ArpaOptions::default()).unwrap();
        let graphs = [EPSILON, 99].map(|label| (label, model.to_fsa(label).unwrap()));
        for sentence in sentences {
            let mut history = vec!["<s>"];
            let mut expected = 0.0;
            for &word in sentence.iter().chain(&[5]) {
                expected += back_off(&entries, order, &history, WORDS[word]) * std::f64::consts::LN_10;
                history.push(WORDS[word]);
            }
            let sentence: Vec<_> = sentence.iter().map(|&word| words.find(WORDS[word]).unwrap()).collect();
            prop_assert!((model.score(&sentence) - expected).abs() < TOLERANCE, "{} {expected}", model.score(&sentence));
            for (label, grammar) in &graphs {
                let found = walk(grammar, *label, &sentence);
                prop_assert!((found - expected).abs() < TOLERANCE, "{found} {expected} {sentence:?} {grammar:?}");
            }
        }
    }

    #[test]
    fn broken_models_are_refused_or_read(
        (order, entries) in entries(),
        at in 0.0..1.0_f64,
        with in prop::sample::select(vec!["", "\n", " ", "x", "\\", "\\end\\\n", "9999999999", "-", "nan ", "\u{e9}", "</s> ", "\0"]),
        cut in 0..20_usize,
    ) {
        let text = arpa(order, &entries).into_bytes();
        let at = (at * text.len() as f64) as usize;
        let broken = [&text[..at], with.as_bytes(), &text[(at + cut).min(text.len())..]].concat();
        let mut words = SymbolTable::default();
        if let Ok(model) = NgramModel::read(&broken[..], &mut words, &ArpaOptions::default(), &mut |_| {}) {
            let _ = model.to_fsa(EPSILON);
        }
    }
}

const SMALL: &str = "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99 <s> -0.5\n-1 </s>\n-0.5 a -0.25\n-0.75 b\n\n\\2-grams:\n-0.1 <s> a\n-0.2 a </s>\n\n\\end\\\n";

#[test]
fn grammars_have_no_states_that_only_back_off() {
    let mut words = SymbolTable::default();
    let model = read(SMALL, &mut words, &ArpaOptions::default()).unwrap();
    assert_eq!((model.order(), model.num_ngrams(), model.left_out().num_entries()), (2, 6, 0));
    let grammar = model.to_fsa(7).unwrap();
    // The model keeps the logarithms of its file in single precision.
    let ln = |log10: f64| (f64::from(log10 as f32) * std::f64::consts::LN_10) as f32;
    let (a, b) = (words.find("a").unwrap(), words.find("b").unwrap());
    // State 0 is <s>, 1 that of no words, 2 is a, 3 the end.
    let expected = [
        Arc::new(0, 2, a, ln(-0.1)),
        Arc::new(0, 1, 7, ln(-0.5)),
        Arc::new(1, 2, a, ln(-0.5)),
        Arc::new(1, 1, b, ln(-0.75)),
        Arc::new(1, 3, FINAL, ln(-1.0)),
        Arc::new(2, 1, 7, ln(-0.25)),
        Arc::new(2, 3, FINAL, ln(-0.2)),
    ];
    assert_eq!(grammar.arcs(), expected);
    assert!(grammar.properties().contains(fsa::Properties::ARC_SORTED));
}

#[test]
fn models_that_are_wrong_are_refused_with_the_line() {
    for (from, to, message) in [
        ("ngram 2=2", "ngram 2=1", "the model has 2 n-grams of order 2, but says that it has 1"),
        ("ngram 1=4", "ngram 1=0", "the model has 4 n-grams of order 1, but says that it has 0"),
        (
            "ngram 2=2",
            "ngram 3=2",
            "n-gram model, line 3: there should be `ngram ORDER=COUNT`, for the orders 1, 2 and so on: ngram 3=2",
        ),
        ("-0.75 b", "-0.75", "n-gram model, line 9: too few words: -0.75"),
        ("-0.75 b", "-0.75 b c d", "n-gram model, line 9: there should be a logarithm of a probability: c"),
        ("-0.75 b", "-0.75 b 1 d", "n-gram model, line 9: too many words: -0.75 b 1 d"),
        ("-0.75 b", "NaN b", "n-gram model, line 9: there should be a logarithm of a probability: NaN"),
        ("-0.75 b", "inf b", "n-gram model, line 9: there should be a logarithm of a probability: inf"),
        ("-0.75 b", "-0.75 a", "n-gram model, line 9: an n-gram stands there twice: -0.75 a"),
        (
            "\\2-grams:",
            "\\3-grams:",
            "n-gram model, line 11: the sections must follow each other as 1-grams, 2-grams and so on: \\3-grams:",
        ),
        ("\\end\\", "", "n-gram model, line 16: the model ends before \\end\\"),
        ("\\end\\", "\\3-grams:", "n-gram model, line 15: a section of n-grams that were not counted: \\3-grams:"),
        ("\\data\\", "", "n-gram model, line 16: there is no \\data\\"),
    ] {
        let error = read(&SMALL.replace(from, to), &mut SymbolTable::default(), &ArpaOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let mut no_end = ArpaOptions::default();
    no_end.end = "END".into();
    let model = read(SMALL, &mut SymbolTable::default(), &no_end).unwrap();
    assert_eq!(model.to_fsa(EPSILON), Err(fsa::Error::NoSentence));
}

/// Recipes filter the lines of a model with grep, and leave the header as it was.
#[test]
fn there_may_be_fewer_n_grams_than_the_header_counts() {
    for (header, missing) in [("ngram 2=2", 0), ("ngram 2=7", 5), ("ngram 2=4000000000000", 3_999_999_999_998)] {
        let model = read(&SMALL.replace("ngram 2=2", header), &mut SymbolTable::default(), &ArpaOptions::default());
        let model = model.unwrap();
        assert_eq!((model.num_ngrams(), model.num_missing()), (6, missing));
    }
}

/// All that some standard takes for white space, but for blank, tab and the ends of lines, can
/// stand in a word.
#[test]
fn fields_end_at_blanks_tabs_and_ends_of_lines_only() {
    let spaces =
        ('\u{1}'..=char::MAX).filter(|c| c.is_whitespace() || c.is_control() || "\u{200b}\u{feff}".contains(*c));
    for c in spaces.filter(|c| !" \t\r\n".contains(*c)) {
        for word in [format!("x{c}y"), format!("x{c}"), format!("{c}x"), c.to_string()] {
            let mut words = SymbolTable::default();
            read(&SMALL.replace(" b", &format!(" {word}")), &mut words, &ArpaOptions::default()).unwrap();
            assert!(words.find(&word).is_some() && words.find("b").is_none(), "{word:?}: {words}");
            let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
            let lexicon = format!("a p {word}\n{word}\tq \r\n");
            Lexicon::read(lexicon.as_bytes(), &mut tokens, &mut words, &LexiconOptions::default()).unwrap();
            // One that is in front of all may be a byte order mark.
            assert!(tokens.find(&word).is_some() && words.find(&word).is_some(), "{word:?}: {words}");
            let table = format!("<eps> 0\n{word}\t1\r\n \tb  2\n").parse::<SymbolTable>().unwrap();
            assert_eq!((table.get(1), table.len()), (Some(&*word), 3), "{word:?}");
        }
    }
}

#[test]
fn binary_bytes_never_stand_in_a_message() {
    let message = |text: &[u8]| {
        let mut words = SymbolTable::default();
        NgramModel::read(text, &mut words, &ArpaOptions::default(), &mut |_| {}).unwrap_err().to_string()
    };
    assert_eq!(message(b"\x1e\x8b\x08\xff\xfe\n"), "n-gram model, line 1: the line is not UTF-8");
    assert!(message(b"\x1f\x8b\x08\xff\xfe\n").contains("compressed with gzip"));
    assert!(message(b"\\data\\\n\x1b[31m\x07\n").ends_with("and so on: \u{fffd}[31m\u{fffd}"));
}

#[test]
fn a_grammar_is_that_of_arpa2fst() {
    let mut words = SymbolTable::default();
    let model = read(SMALL, &mut words, &ArpaOptions::default()).unwrap();
    let (a, b) = (words.find("a").unwrap(), words.find("b").unwrap());
    // Arcs that back off are #0:<eps>, and there is no other #0.
    let graph = model.to_graph(GrammarLabels::Disambiguated { backoff: 7 }).unwrap();
    assert_eq!(*graph.fsas(), model.to_fsa(7).unwrap());
    let expected: Vec<_> =
        graph.fsas().labels().into_iter().map(|label| if label == 7 { EPSILON } else { label }).collect();
    assert_eq!(graph.aux_labels(), Some(&expected[..]));
    // Without a symbol for them they are epsilons, and sentences stand between <s> and </s>.
    let graph = model.to_graph(GrammarLabels::Plain { start: 8, end: 9 }).unwrap();
    let (fsa, plain) = (graph.fsas(), model.to_fsa(EPSILON).unwrap());
    assert!(graph.aux_labels().is_none() && fsa.num_states() == plain.num_states() + 2);
    assert_eq!(fsa.arcs()[0], Arc::new(0, 1, 8, 0.0));
    for sentence in [&[][..], &[a], &[b, b], &[a, b, a]] {
        let between = [&[8], sentence, &[9]].concat();
        assert!((best(fsa, &between) - best(&plain, sentence)).abs() < TOLERANCE);
        assert_eq!(best(fsa, sentence), f64::NEG_INFINITY);
    }
    for labels in [
        GrammarLabels::Disambiguated { backoff: 0 },
        GrammarLabels::Disambiguated { backoff: a },
        GrammarLabels::Plain { start: b, end: 9 },
        GrammarLabels::Plain { start: 9, end: -1 },
    ] {
        assert!(matches!(model.to_graph(labels), Err(fsa::Error::Symbol { .. })), "{labels:?}");
    }
}

#[test]
fn words_out_of_the_table_are_added_skipped_or_refused() {
    let read = |out_of_vocabulary| {
        let mut words = SymbolTable::default();
        words.find_or_add("b").unwrap();
        let mut options = ArpaOptions::default();
        options.out_of_vocabulary = out_of_vocabulary;
        let model = read(SMALL, &mut words, &options)?;
        let left_out = (model.left_out().num_entries(), model.left_out().symbols().collect::<Vec<_>>().join(" "));
        Ok::<_, fsa::Error>((model.num_ngrams(), left_out, words.find("a")))
    };
    assert_eq!(read(OutOfVocabulary::Add), Ok((6, (0, String::new()), Some(2))));
    assert_eq!(read(OutOfVocabulary::Skip), Ok((3, (3, "a".to_owned()), None)));
    let error = read(OutOfVocabulary::Refuse).unwrap_err();
    assert_eq!(error.to_string(), "n-gram model, line 8: a word that the table does not have: a");
}

// ----------------------------------------------------------------------------------------------------------------
// transducers

/// All (inputs, outputs) of paths of at most `most` arcs and `words` outputs, without epsilons and
/// final labels, with the score of the best one and the number of paths.
fn language(graph: &Graph<Fsa>, most: usize, words: usize) -> HashMap<(Vec<i32>, Vec<i32>), (f64, usize)> {
    let (view, aux) = (graph.fsas().view(), graph.aux_labels().unwrap());
    let mut found: HashMap<_, (f64, usize)> = HashMap::new();
    let mut waiting = vec![(0, vec![], vec![], 0.0, 0)];
    while let Some((state, inputs, outputs, score, length)) = waiting.pop() {
        if Some(state) == view.final_state() {
            let entry = found.entry((inputs, outputs)).or_insert((f64::NEG_INFINITY, 0));
            *entry = (entry.0.max(score), entry.1 + 1);
            continue;
        }
        if length == most || outputs.len() > words {
            continue;
        }
        for arc in view.arc_range(state) {
            let (it, aux) = (view.arcs()[arc], aux[arc]);
            let with =
                |list: &[i32], label: i32| list.iter().copied().chain((label > 0).then_some(label)).collect::<Vec<_>>();
            let dest = usize::try_from(it.dest_state).unwrap();
            let score = score + f64::from(it.score);
            waiting.push((dest, with(&inputs, it.label), with(&outputs, aux), score, length + 1));
        }
    }
    found
}

// ----------------------------------------------------------------------------------------------------------------
// lexica

pub(crate) fn lexicon_text() -> impl Strategy<Value = Vec<(usize, Vec<usize>)>> {
    prop::collection::vec((0..4_usize, prop::collection::vec(0..2_usize, 1..4)), 1..6).prop_map(|mut entries| {
        entries.sort();
        entries.dedup();
        entries
    })
}

const TOKENS: [&str; 2] = ["X", "Y"];
const SPOKEN: [&str; 4] = ["k", "l", "m", "n"];

/// A lexicon with these entries; `word` gives the words.
pub(crate) fn lexicon_of(entries: &[(usize, Vec<usize>)], word: impl Fn(usize) -> String) -> String {
    let line = |(at, tokens): &(usize, Vec<usize>)| {
        let tokens: Vec<_> = tokens.iter().map(|&token| TOKENS[token]).collect();
        format!("{} {}\n", word(*at), tokens.join(" "))
    };
    entries.iter().map(line).collect()
}

pub(crate) fn boundaries() -> impl Strategy<Value = Option<WordBoundary>> {
    let boundary = any::<(bool, bool)>().prop_map(|(at_start, at_end)| WordBoundary {
        at_start,
        at_end,
        ..WordBoundary::new("<wb>")
    });
    prop::option::of(boundary)
}

/// Each of some with each of others.
fn pairs<A: Clone, B: Clone>(some: &[A], others: &[B]) -> Vec<(A, B)> {
    some.iter().flat_map(|a| others.iter().map(|b| (a.clone(), b.clone()))).collect()
}

proptest! {
    #[test]
    fn a_lexicon_takes_all_pronunciations_of_all_words(
        entries in lexicon_text(), silence: bool, boundary in boundaries(),
    ) {
        let text = lexicon_of(&entries, |word| format!("{} 0.5", SPOKEN[word]));
        let mut options = LexiconOptions::default();
        options.silence = silence.then(|| Silence { token: "SIL".into(), probability: 0.25 });
        options.word_boundary = boundary.clone();
        let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
        let lexicon = Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &options).unwrap();
        prop_assert_eq!(lexicon.word_boundary_token(), tokens.find("<wb>"));
        let ids = |(word, list): &(usize, Vec<usize>)| {
            let list: Vec<_> = list.iter().map(|&token| tokens.find(TOKENS[token]).unwrap()).collect();
            (words.find(SPOKEN[*word]).unwrap(), list)
        };
        // One word, or two, with silence or without at each place: its tokens, the words, and the
        // score.
        let places = if silence {
            vec![(vec![], 0.75_f64.ln()), (vec![tokens.find("SIL").unwrap()], 0.25_f64.ln())]
        } else {
            vec![(vec![], 0.0)]
        };
        // What may stand before a word: one boundary, or none before the first one; and after the
        // last one.
        let token = tokens.find("<wb>").map(|token| vec![token]);
        let either = |more: bool| [Some(vec![]), token.clone().filter(|_| more)].into_iter().flatten().collect::<Vec<_>>();
        let before_first = either(boundary.as_ref().is_some_and(|boundary| boundary.at_start));
        let after_last = either(boundary.is_some_and(|boundary| boundary.at_end));
        let before_others = vec![token.clone().unwrap_or_default()];
        let mut strings: Vec<(Vec<i32>, Vec<i32>, f64)> =
            places.iter().map(|(silence, score)| (silence.clone(), vec![], *score)).collect();
        let mut expected: HashMap<_, (f64, usize)> = HashMap::new();
        for words in 0..=2 {
            for ((tokens, spoken, score), end) in pairs(&strings, if words == 0 { &after_last[..1] } else { &after_last }) {
                let entry = expected.entry(([tokens, end].concat(), spoken)).or_insert((f64::NEG_INFINITY, 0));
                *entry = (entry.0.max(score), entry.1 + 1);
            }
            if words < 2 {
                let boundaries = if words == 0 { &before_first } else { &before_others };
                let mut longer = vec![];
                for (tokens, words, score) in &strings {
                    for ((entry, boundary), (silence, more)) in pairs(&pairs(&entries, boundaries), &places) {
                        let (word, spoken) = ids(&entry);
                        let tokens = [&tokens[..], &boundary, &spoken, &silence].concat();
                        longer.push((tokens, [&words[..], &[word]].concat(), score + 0.5_f64.ln() + more));
                    }
                }
                strings = longer;
            }
        }
        let mut found = language(&lexicon.to_graph().unwrap(), 14, 2);
        found.retain(|(_, words), _| words.len() <= 2);
        prop_assert_eq!(found.len(), expected.len());
        for (key, (score, count)) in expected {
            let (found, paths) = found[&key];
            prop_assert!((found - score).abs() < TOLERANCE && paths == count, "{key:?}: {found} {paths}, {score} {count}");
        }
    }

    /// With the symbols #1, #2, ... no string of tokens has two ways to be made of words.
    #[test]
    fn disambiguated_strings_are_those_of_one_sequence_of_words(
        entries in lexicon_text(), silence: bool, boundary in boundaries(),
    ) {
        let text = lexicon_of(&entries, |word| SPOKEN[word].to_owned());
        let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
        let mut options = LexiconOptions::default();
        options.silence = silence.then(|| Silence { token: "SIL".into(), probability: 0.25 });
        options.word_boundary = boundary;
        let lexicon = Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &options).unwrap();
        prop_assert_eq!(lexicon.first_disambiguation(), tokens.find("#0").unwrap());
        prop_assert_eq!(lexicon.backoff_word(), words.find("#0").unwrap());
        let plain = language(&lexicon.to_graph().unwrap(), 7, 3);
        let mut marked = HashMap::new();
        for ((tokens, words), (_, paths)) in language(&lexicon.to_disambiguated_graph().unwrap(), 7, 3) {
            prop_assert_eq!(paths, 1);
            let first = lexicon.first_disambiguation();
            let mut plain_tokens = tokens.clone();
            plain_tokens.retain(|&token| token < first);
            if words.iter().all(|&word| word < lexicon.backoff_word()) {
                prop_assert!(plain.contains_key(&(plain_tokens, words.clone())) || words.len() > 2);
            }
            prop_assert!(marked.insert(tokens, words).is_none(), "two sequences of words have the same tokens");
        }
    }
}

#[test]
fn symbols_for_disambiguation_are_those_of_kaldi() {
    let text = "silent\nread r iy d\nreed r iy d\nrea r iy\nrid r ih d\n";
    let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
    let lexicon = Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &LexiconOptions::default()).unwrap();
    // #1 is kept for the word without tokens.
    assert_eq!(lexicon.num_disambiguations(), 4);
    let graph = lexicon.to_disambiguated_graph().unwrap();
    let found = language(&graph, 5, 2);
    for (tokens_of, word) in [
        ("#1", "silent"),
        ("r iy d #2", "read"),
        ("r iy d #3", "reed"),
        ("r iy #2", "rea"),
        ("r ih d", "rid"),
        ("#0", "#0"),
    ] {
        let tokens_of = tokens_of.split(' ').map(|token| tokens.find(token).unwrap()).collect();
        assert!(found.contains_key(&(tokens_of, vec![words.find(word).unwrap()])), "{word}");
    }
}

#[test]
fn lexica_that_are_wrong_are_refused_with_the_line() {
    let read = |text: &str, options: LexiconOptions| {
        let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
        tokens.find_or_add("x").unwrap();
        Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &options).map(|lexicon| lexicon.num_pronunciations())
    };
    let message = |text, options| read(text, options).unwrap_err().to_string();
    let mut options = LexiconOptions::default();
    options.probabilities = Some(true);
    assert_eq!(
        message("a 0.5 x\n\nb 1.5 x\n", options.clone()),
        "lexicon, line 3: there should be a probability above 0 and up to 1 after the word: 1.5"
    );
    assert_eq!(
        message("a\n", options),
        "lexicon, line 1: there should be a probability above 0 and up to 1 after the word"
    );
    let mut options = LexiconOptions::default();
    options.tokens = OutOfVocabulary::Refuse;
    assert_eq!(
        message("a x\nb y\n", options.clone()),
        "lexicon, line 2: a token that the table of tokens does not have: y"
    );
    options.words = OutOfVocabulary::Refuse;
    assert_eq!(message("a x\n", options.clone()), "lexicon, line 1: a word that the table of words does not have: a");
    options.unknown_word = Some("<unk>".into());
    assert_eq!(message("a x\n", options.clone()), "there is no symbol \"<unk>\"");
    options = LexiconOptions::default();
    options.tokens = OutOfVocabulary::Skip;
    assert_eq!(read("a x\nb y\n", options.clone()), Ok(1));
    options.silence = Some(Silence { token: "SIL".into(), probability: 0.5 });
    assert_eq!(message("a x\n", options.clone()), "there is no symbol \"SIL\"");
    options.silence = Some(Silence { token: "x".into(), probability: 1.0 });
    assert_eq!(message("a x\n", options), "the probability of silence must be above 0 and below 1, but it is 1");
    assert_eq!(message("a <eps>\n", LexiconOptions::default()), "lexicon, line 1: epsilon is no token: <eps>");
    assert!(message("a #0\n", LexiconOptions::default()).starts_with("the tokens go up to"));
    assert_eq!(read("", LexiconOptions::default()), Ok(0));
}

#[test]
fn words_that_a_given_table_lacks_can_be_one_of_its_own() {
    let (mut tokens, mut words) = (SymbolTable::default(), "<eps> 0\n<unk> 1\na 2\n".parse::<SymbolTable>().unwrap());
    let mut options = LexiconOptions::default();
    options.unknown_word = Some("<unk>".into());
    let lexicon = Lexicon::read(&b"a x\nb y\nc x y\nb y x\n"[..], &mut tokens, &mut words, &options).unwrap();
    assert_eq!(lexicon.words(), [2, 1, 1, 1]);
    assert_eq!(lexicon.unknown().to_string(), "3 (2 symbols: b, c)");
    assert!(lexicon.left_out().is_empty() && words.find("b").is_none());
}

// ----------------------------------------------------------------------------------------------------------------
// hot words

/// The bonus of a string: of each place at which a phrase ends, the bonus of all tokens on the way
/// to its node.
fn bonus(phrases: &[(Vec<i32>, f32)], string: &[i32]) -> f64 {
    // What a token is worth: the most that a phrase gives it that begins so.
    let worth = |prefix: &[i32]| {
        let with = phrases.iter().filter(|(phrase, _)| phrase.starts_with(prefix));
        with.map(|(_, score)| f64::from(*score)).fold(f64::NEG_INFINITY, f64::max)
    };
    let mut distinct: Vec<_> = phrases.iter().map(|(phrase, _)| phrase).collect();
    distinct.sort();
    distinct.dedup();
    let total = |phrase: &[i32]| (1..=phrase.len()).map(|length| worth(&phrase[..length])).sum::<f64>();
    let ends = (1..=string.len()).flat_map(|end| distinct.iter().filter(move |phrase| string[..end].ends_with(phrase)));
    ends.map(|phrase| total(phrase)).sum()
}

/// The score of the best path of a string through an FSA with epsilons, of which none is in a cycle
/// of them.
fn best(fsa: &Fsa, string: &[i32]) -> f64 {
    let view = fsa.view();
    let mut scores = HashMap::from([(0_usize, 0.0_f64)]);
    let close = |scores: &mut HashMap<usize, f64>| {
        let mut waiting: Vec<usize> = scores.keys().copied().collect();
        while let Some(state) = waiting.pop() {
            for arc in view.arcs_of(state).iter().filter(|arc| arc.label == EPSILON) {
                let (dest, score) = (usize::try_from(arc.dest_state).unwrap(), scores[&state] + f64::from(arc.score));
                if scores.get(&dest).is_none_or(|&before| before < score) {
                    scores.insert(dest, score);
                    waiting.push(dest);
                }
            }
        }
    };
    for &label in string.iter().chain(&[FINAL]) {
        close(&mut scores);
        let mut next = HashMap::new();
        for (state, score) in scores {
            for arc in view.arcs_of(state).iter().filter(|arc| arc.label == label) {
                let entry = next.entry(usize::try_from(arc.dest_state).unwrap()).or_insert(f64::NEG_INFINITY);
                *entry = entry.max(score + f64::from(arc.score));
            }
        }
        scores = next;
    }
    scores.values().copied().fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #[test]
    fn hot_words_are_found_wherever_they_stand(
        phrases in prop::collection::vec((prop::collection::vec(1..4_i32, 1..5), (0..16_i32).prop_map(|s| s as f32 / 4.0)), 0..6),
        string in prop::collection::vec(1..5_i32, 0..12),
    ) {
        let lists: Vec<_> = phrases.iter().map(|(phrase, _)| phrase.clone()).collect();
        let scores: Vec<_> = phrases.iter().map(|(_, score)| *score).collect();
        let graph = ContextGraph::new(&Ragged::from_lists(&lists).unwrap(), &scores).unwrap();
        let (mut state, mut total) = (graph.start(), 0.0);
        for (i, &token) in string.iter().enumerate() {
            let step = graph.forward_one_step(state, token, true);
            (state, total) = (step.state, total + f64::from(step.score));
            let longest = lists.iter().filter(|phrase| string[..=i].ends_with(phrase)).max_by_key(|phrase| phrase.len());
            prop_assert_eq!(step.matched.map(|phrase| &lists[phrase]), longest);
        }
        total += f64::from(graph.finalize(state));
        let expected = bonus(&phrases, &string);
        prop_assert!((total - expected).abs() < TOLERANCE, "{total} {expected}");
        let through = best(&graph.to_fsa(4).unwrap(), &string);
        prop_assert!((through - expected).abs() < TOLERANCE, "{through} {expected}");
    }
}

#[test]
fn a_phrase_that_is_complete_begins_anew_where_that_is_not_strict() {
    let phrases = Ragged::from_lists(&[vec![1, 2], vec![1, 2, 3], vec![2, 4]]).unwrap();
    let graph = ContextGraph::new(&phrases, &[1.0, 2.0, 0.25]).unwrap();
    let run = |strict, string: &[i32]| {
        let mut state = graph.start();
        let steps = string.iter().map(|&token| {
            let step = graph.forward_one_step(state, token, strict);
            state = step.state;
            (step.score, step.matched)
        });
        steps.collect::<Vec<_>>()
    };
    // 1 and 2 are worth 2 each, since the longer phrase begins so; complete, they stay.
    assert_eq!(run(true, &[1, 2, 3]), [(2.0, None), (2.0 + 4.0, Some(0)), (2.0 + 6.0, Some(1))]);
    assert_eq!(run(false, &[1, 2, 3]), [(2.0, None), (2.0, Some(0)), (0.0, None)]);
    assert_eq!(run(true, &[1, 2, 4]), [(2.0, None), (6.0, Some(0)), (0.5 - 4.0 + 0.5, Some(2))]);
}

#[test]
fn hot_words_that_are_wrong_are_refused() {
    let phrases = |list: &[i32]| Ragged::from_lists(&[list]).unwrap();
    assert!(ContextGraph::new(&phrases(&[1, -1]), &[1.0]).is_err());
    assert!(ContextGraph::new(&phrases(&[1]), &[f32::NAN]).is_err());
    assert!(ContextGraph::new(&phrases(&[1]), &[]).is_err());
    let graph = ContextGraph::new(&phrases(&[5]), &[1.0]).unwrap();
    assert!(graph.to_fsa(4).is_err() && graph.to_fsa(-3).is_err() && graph.to_fsa(5).is_ok());
    let none = ContextGraph::new(&phrases(&[]), &[1.0]).unwrap();
    assert_eq!((none.num_states(), none.to_fsa(2).unwrap().num_arcs()), (1, 3));
}

// ----------------------------------------------------------------------------------------------------------------
// CTC

/// A small transducer from the tokens 1 to 3 without epsilons, whose arcs all go on, some in a
/// circle.
fn token_graph() -> impl Strategy<Value = Graph<Fsa>> {
    let arc = (0..3_i32, 0..3_i32, 1..4_i32, 10..13_i32, -8..0_i32);
    (prop::collection::vec(arc, 1..8), prop::collection::vec(any::<bool>(), 3)).prop_map(|(arcs, finals)| {
        let arcs =
            arcs.into_iter().map(|(from, to, label, aux, score)| (Arc::new(from, to, label, score as f32 / 4.0), aux));
        let finals = (0..3).filter(|&state| finals[state]).map(|state| (Arc::new(state as i32, 3, FINAL, -0.5), FINAL));
        let mut all: Vec<_> = arcs.chain(finals).collect();
        all.sort_by_key(|(arc, _)| (arc.src_state, arc.sort_key()));
        let (arcs, aux): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        Graph::new(Fsa::from_arcs(4, arcs).unwrap()).with_aux_labels(aux).unwrap()
    })
}

/// What frames say: tokens one after the other, without repeats but where a blank is between them.
fn collapsed(frames: &[i32]) -> Vec<i32> {
    let mut tokens = frames.to_vec();
    tokens.dedup();
    tokens.retain(|&token| token != EPSILON);
    tokens
}

/// Total probabilities of frames and outputs.
fn frames_of(graph: &Graph<Fsa>, frames: usize) -> HashMap<(Vec<i32>, Vec<i32>), (f64, usize)> {
    let (view, aux) = (graph.fsas().view(), graph.aux_labels().unwrap());
    let mut now = HashMap::from([((0, vec![], vec![]), (0.0_f64, 1_usize))]);
    for frame in 0..=frames {
        let mut next: HashMap<_, (f64, usize)> = HashMap::new();
        for ((state, inputs, outputs), (score, paths)) in now {
            for arc in view.arc_range(state) {
                let (it, aux) = (view.arcs()[arc], aux[arc]);
                if (it.label == FINAL) != (frame == frames) {
                    continue;
                }
                let inputs: Vec<i32> = [&inputs[..], &[it.label]].concat();
                let mut outputs: Vec<i32> = outputs.clone();
                outputs.extend((aux > 0).then_some(aux));
                let entry = next
                    .entry((usize::try_from(it.dest_state).unwrap(), inputs, outputs))
                    .or_insert((f64::NEG_INFINITY, 0));
                *entry = (entry.0.max(score + f64::from(it.score)), entry.1 + paths);
            }
        }
        now = next;
    }
    now.into_iter().map(|((_, inputs, outputs), it)| ((inputs[..frames].to_vec(), outputs), it)).collect()
}

proptest! {
    /// Each string of frames that collapses to tokens of the graph is there once for each of its
    /// paths, and nothing else is.
    #[test]
    fn frames_are_those_that_collapse_to_the_graphs_tokens(graph in token_graph(), frames in 0..5_usize) {
        let tokens = language(&graph, frames + 1, frames);
        let composed = CtcTopology::new(3, false).unwrap().compose(&graph, GraphLabels::Class, Some("tokens"), Limits::default()).unwrap();
        let found = frames_of(&composed, frames);
        let mut expected = HashMap::new();
        for code in 0..4_usize.pow(frames as u32) {
            let string: Vec<i32> = (0..frames).map(|i| (code / 4_usize.pow(i as u32) % 4) as i32).collect();
            for ((inputs, outputs), it) in &tokens {
                if *inputs == collapsed(&string) {
                    expected.insert((string.clone(), outputs.clone()), *it);
                }
            }
        }
        prop_assert_eq!(found, expected);
        prop_assert!(composed.attributes().ints("tokens").is_some());
    }

    /// The modified topology: paths of tokens in the graph, each held for any number of frames.
    #[test]
    fn modified_frames_hold_each_token_for_a_while(graph in token_graph(), frames in 0..5_usize) {
        let composed = CtcTopology::new(3, true).unwrap().compose(&graph, GraphLabels::Class, None, Limits::default()).unwrap();
        let found = frames_of(&composed, frames);
        let explicit = fsa::graphs::ctc_topo(3, true).unwrap();
        let mut expected: HashMap<_, (f64, usize)> = HashMap::new();
        let tokens = language(&graph, frames + 1, frames);
        for ((string, topology), (_, ways)) in frames_of(&explicit, frames) {
            for ((inputs, outputs), (score, paths)) in tokens.iter().filter(|((inputs, _), _)| *inputs == topology) {
                let _ = inputs;
                let entry = expected.entry((string.clone(), outputs.clone())).or_insert((f64::NEG_INFINITY, 0));
                *entry = (entry.0.max(*score), entry.1 + ways * paths);
            }
        }
        prop_assert_eq!(found, expected);
    }
}

// ----------------------------------------------------------------------------------------------------------------
// HLG

/// Where paths end that have taken the same classes and output the same words, with the score of
/// the best one.
type Reached = HashMap<(usize, Vec<i32>, Vec<i32>), f64>;

/// Strings of classes with the words that they are decoded to, and the score of the best path, for
/// strings of one length.
fn decoded(hlg: &Hlg, frames: usize) -> HashMap<(Vec<i32>, Vec<i32>), f64> {
    let (graph, labels) = (&hlg.graph, hlg.graph.graph_labels());
    let view = graph.fsas().view();
    let words_of = |arc: usize| match graph.aux_labels() {
        Some(words) => &words[arc..=arc],
        None => graph.attributes().lists("aux_labels").unwrap().row(arc),
    };
    let follow = |from: &Reached, to: &mut Reached, takes: &dyn Fn(i32) -> bool| {
        let mut grew = false;
        for ((state, classes, words), score) in from {
            for arc in view.arc_range(*state).filter(|&arc| takes(view.arcs()[arc].label)) {
                let it = view.arcs()[arc];
                let (mut classes, mut words) = (classes.clone(), words.clone());
                classes.extend(labels.class(it.label).map(|class| i32::try_from(class).unwrap()));
                words.extend(words_of(arc).iter().filter(|&&word| word > 0));
                let entry =
                    to.entry((usize::try_from(it.dest_state).unwrap(), classes, words)).or_insert(f64::NEG_INFINITY);
                let score = score + f64::from(it.score);
                grew |= score > *entry;
                *entry = entry.max(score);
            }
        }
        grew
    };
    let mut now = HashMap::from([((0, vec![], vec![]), 0.0_f64)]);
    for frame in 0..=frames {
        while follow(&now.clone(), &mut now, &|label| labels.is_epsilon(label)) {}
        let mut next = HashMap::new();
        let takes = |label| (label == FINAL) == (frame == frames) && !labels.is_epsilon(label);
        follow(&now, &mut next, &takes);
        now = next;
    }
    now.into_iter().map(|((_, classes, words), score)| ((classes, words), score)).collect()
}

/// Determinization and minimization round scores to multiples of 1/1024, a few times on each arc.
const QUANTIZED: f64 = 0.02;

proptest! {
    /// Each string of frames is decoded to sequences of words that sound so, the best one with the
    /// score that the grammar gives it. With epsilons, so are all others; where words sound alike,
    /// removing epsilons keeps the best.
    #[test]
    fn hlg_decodes_what_the_lexicon_and_the_grammar_allow(
        entries in lexicon_text(), (order, ngrams) in entries(), minimize: bool, modified: bool, boundary in boundaries(),
        remove_epsilon: bool,
    ) {
        // The words of the lexicon are some of those of the model. With back-off weights above 1, a
        // word that follows itself by backing off may make the score rise.
        let text = lexicon_of(&entries, |word| WORDS[word + 1].to_owned());
        let mut options = HlgOptions::default();
        (options.minimize, options.modified, options.remove_epsilon) = (minimize, modified, remove_epsilon);
        options.lexicon.word_boundary = boundary;
        let empty = SymbolTable::default();
        let arpa = arpa(order, &ngrams);
        let hlg = make_hlg(empty.clone(), empty.clone(), text.as_bytes(), arpa.as_bytes(), &options, &mut |_| {}).unwrap();

        let (mut tokens, mut words) = (empty.clone(), empty);
        let lexicon = Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &options.lexicon).unwrap();
        let mut options = ArpaOptions::default();
        options.out_of_vocabulary = OutOfVocabulary::Skip;
        let grammar = read(&arpa, &mut words, &options).unwrap().to_fsa(EPSILON).unwrap();
        let spoken = language(&lexicon.to_graph().unwrap(), 5, 4);
        let base = lexicon.max_token() as usize + 1;
        for frames in 0..=3 {
            let mut expected: HashMap<_, f64> = HashMap::new();
            for code in 0..base.pow(frames as u32) {
                let string: Vec<i32> = (0..frames).map(|i| (code / base.pow(i as u32) % base) as i32).collect();
                for (tokens, words) in spoken.keys() {
                    let fits = if modified { holds(&string, tokens) } else { *tokens == collapsed(&string) };
                    if fits {
                        expected.insert((string.clone(), words.clone()), best(&grammar, words));
                    }
                }
            }
            let found = decoded(&hlg, frames);
            if !remove_epsilon {
                prop_assert_eq!(found.len(), expected.len());
                for (key, score) in &expected {
                    prop_assert!((found[key] - score).abs() < QUANTIZED, "{key:?} {} {score}", found[key]);
                }
            }
            // What is found is right, and the best of each string is found.
            for ((string, words), score) in &found {
                let expected = expected.get(&(string.clone(), words.clone()));
                prop_assert!(expected.is_some_and(|expected| *score < expected + QUANTIZED), "{string:?} {words:?} {score} {expected:?}");
            }
            let best_of = |all: &HashMap<(Vec<i32>, Vec<i32>), f64>, string: &[i32]| {
                let scores = all.iter().filter(|((frames, _), _)| frames == string).map(|(_, score)| *score);
                scores.fold(f64::NEG_INFINITY, f64::max)
            };
            for string in expected.keys().map(|(string, _)| string) {
                let (found, expected) = (best_of(&found, string), best_of(&expected, string));
                prop_assert!((found - expected).abs() < QUANTIZED, "{string:?} {found} {expected}");
            }
        }
    }
}

/// Whether frames are these tokens, each held for a while, with any blanks between.
fn holds(frames: &[i32], tokens: &[i32]) -> bool {
    match (frames.split_first(), tokens.split_first()) {
        (None, None) => true,
        (Some((&0, rest)), _) if holds(rest, tokens) => true,
        (Some((frame, _)), Some((token, later))) if frame == token => {
            let most = frames.iter().take_while(|frame| *frame == token).count();
            (1..=most).any(|held| holds(&frames[held..], later))
        }
        _ => false,
    }
}

#[test]
fn hlg_keeps_to_its_limits() {
    let lexicon = "a X Y\nb Y\n";
    let make = |options: &HlgOptions| {
        let empty = SymbolTable::default();
        make_hlg(empty.clone(), empty, lexicon.as_bytes(), SMALL.as_bytes(), options, &mut |_| {})
    };
    let mut options = HlgOptions::default();
    options.limits = Limits::default().with_max_bytes(100);
    assert!(make(&options).is_err());
    let mut options = HlgOptions::default();
    options.max_token = Some(1);
    assert!(matches!(make(&options), Err(fsa::Error::Symbol { symbol: 2, .. })));
    options.max_token = Some(9);
    options.inner_labels = Some("tokens".into());
    let hlg = make(&options).unwrap();
    assert!(hlg.graph.attributes().ints("tokens").is_some());
    options.topology = false;
    let lg = make(&options).unwrap();
    assert!(lg.graph.fsas().num_arcs() < hlg.graph.fsas().num_arcs());
    options.remove_epsilon = true;
    assert!(!make(&options).unwrap().graph.fsas().labels().contains(&EPSILON));
    assert_eq!(
        hlg.steps.last().map(|step| (step.graph, step.num_arcs)),
        Some((HlgGraph::Hlg, hlg.graph.fsas().num_arcs()))
    );
}

/// What the removal of epsilons costs is known before, and is never less than what comes.
#[test]
fn the_cost_of_removing_epsilons_is_told_before() {
    let lexicon = "a X Y\nb Y\n";
    for modified in [false, true] {
        let mut options = HlgOptions::default();
        (options.remove_epsilon, options.modified) = (true, modified);
        let (mut expected, mut made) = (vec![], vec![]);
        let mut tell = |now: Progress| {
            // All that is expected is told before it is made.
            let seen = |steps: &[HlgStep], step: &HlgStep| steps.iter().any(|other| other.graph == step.graph);
            assert!(now.expected.iter().all(|step| now.step == Step::RemoveEpsilons && !seen(&made, step)));
            expected.extend(now.expected);
            made.extend(now.made);
        };
        let empty = SymbolTable::default();
        let hlg = make_hlg(empty.clone(), empty, lexicon.as_bytes(), SMALL.as_bytes(), &options, &mut tell).unwrap();
        assert_eq!(made, hlg.steps);
        let graphs: Vec<_> = expected.iter().map(|step| step.graph).collect();
        assert_eq!(graphs, [HlgGraph::EpsilonFree, HlgGraph::Hlg]);
        for expected in expected {
            let made = made.iter().find(|made| made.graph == expected.graph).unwrap();
            assert!(
                expected.num_states >= made.num_states && expected.num_arcs >= made.num_arcs,
                "{expected:?} {made:?}"
            );
            assert!(
                expected.num_arcs <= 2 * made.num_arcs && expected.num_bytes >= made.num_bytes,
                "{expected:?} {made:?}"
            );
        }
    }
}

/// Every limit is kept to at some step, or is enough; what comes out does not depend on it.
#[test]
fn limits_of_memory_are_those_of_every_step() {
    let mut lexicon = String::new();
    for (i, word) in ["a", "b", "c", "d"].iter().enumerate() {
        for (tokens, more) in [("X", i % 2), ("Y", i / 2), ("X Y", i)] {
            let _ = writeln!(lexicon, "{word} {tokens}{}", " Z".repeat(more));
        }
    }
    let make = |max_bytes, (topology, remove_epsilon)| {
        let empty = SymbolTable::default();
        let mut options = HlgOptions::default();
        (options.limits, options.topology) = (Limits::default().with_max_bytes(max_bytes), topology);
        options.remove_epsilon = remove_epsilon;
        make_hlg(empty.clone(), empty, lexicon.as_bytes(), SMALL.as_bytes(), &options, &mut |_| {})
    };
    for topology in pairs(&[false, true], &[false, true]) {
        let right = make(None, topology).unwrap();
        let (mut steps, mut max_bytes) = (vec![], 0);
        let enough = loop {
            match make(Some(max_bytes), topology) {
                Ok(made) => break made,
                Err(fsa::Error::Limit { operation, limit, needed, .. }) => {
                    assert!(limit == max_bytes && needed > limit, "{operation}");
                    steps.push(operation);
                }
                Err(fsa::Error::DeterminizeLimit { limit, .. }) => {
                    assert_eq!(limit, max_bytes);
                    steps.push(Operation::Determinize);
                }
                Err(error) => panic!("{error}"),
            }
            max_bytes += 50;
        };
        assert_eq!(enough.graph, right.graph);
        steps.dedup();
        assert!(steps.contains(&Operation::Composition) && steps.contains(&Operation::Minimize), "{steps:?}");
        assert!(max_bytes < 100_000, "{max_bytes} {steps:?}");
    }
    let message = make(Some(1000), (true, false)).unwrap_err().to_string();
    assert!(message.contains("but its limit is 1000; raise the limit"), "{message}");
}

/// As Windows writes texts: a byte order mark in front, and carriage returns.
#[test]
fn byte_order_marks_and_carriage_returns_are_no_part_of_symbols_and_words() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let table = "<eps> 0\na 1\n";
    assert_eq!(windows(table).parse::<SymbolTable>().unwrap(), table.parse().unwrap());
    let fst = "0 1 1 1 0.5\n1\n";
    let text = OpenFstText::default();
    assert_eq!(text.print(&text.read(&windows(fst)).unwrap()), text.print(&text.read(fst).unwrap()));
    let fsa = "0 1 1 0.5\n1 2 -1 0\n2\n";
    let text = K2Text::acceptor();
    assert_eq!(text.print(&text.read(&windows(fsa)).unwrap()), text.print(&text.read(fsa).unwrap()));

    let lexicon = "read r iy d\nrid r ih d\n";
    let read_lexicon = |text: &str| {
        let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
        Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &LexiconOptions::default()).unwrap();
        (tokens, words)
    };
    assert_eq!(read_lexicon(&windows(lexicon)), read_lexicon(lexicon));
    let model = "\\data\\\nngram 1=3\n\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.6 a\n\n\\end\\\n";
    let read_model = |text: &str| {
        let mut words = SymbolTable::default();
        let model = read(text, &mut words, &ArpaOptions::default()).unwrap();
        (model.num_ngrams(), words)
    };
    assert_eq!(read_model(&windows(model)), read_model(model));
}
