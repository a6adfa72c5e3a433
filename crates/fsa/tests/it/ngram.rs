//! N-gram models beside their definitions, on small models of all kinds.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::f64::consts::LN_10;

use fsa::graphs::{ArpaOptions, NgramModel, NgramState, OutOfVocabulary, Perplexity};
use fsa::io::SymbolTable;
use fsa::lattice::{BackoffModel, LanguageModel, LatticeBuilder};
use fsa::{Error, Limits};
use proptest::prelude::*;

use crate::graphs::{Entries, WORDS, arpa, back_off, entries};

/// Sums of a few logarithms of single precision, each below 16.
const TOLERANCE: f64 = 1e-5;

/// Sums of probabilities whose logarithms, above -16, are rounded to single precision; a share
/// below 3e-6 counts as none.
const SUM_TOLERANCE: f64 = 5e-6;

fn model(text: &str) -> Result<NgramModel, Error> {
    NgramModel::from_reader(text.as_bytes(), &ArpaOptions::default(), &mut |_| {})
}

fn written(model: &NgramModel) -> String {
    let mut out = Vec::new();
    model.write_arpa(&mut out, &mut |_| {}).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn counts_of_a_header_may_be_any_numbers() {
    let most = u64::MAX;
    let text = format!("\\data\\\nngram 1={most}\nngram 2={most}\n\\1-grams:\n-1 a\n\\2-grams:\n\\end\\\n");
    assert_eq!(model(&text).unwrap().num_missing(), most);
}

#[test]
fn texts_without_words_have_no_perplexity() {
    let shown = Perplexity::default().to_string();
    assert!(shown.ends_with("logprob= 0.0000 ppl= undefined ppl1= undefined"), "{shown}");
}

/// The n-grams of an ARPA file, with their log10 probabilities and weights.
fn parsed(text: &str) -> BTreeMap<Vec<String>, (f64, f64)> {
    let mut all = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with(['-', '0', '1'])) {
        let mut fields = line.split('\t');
        let p = fields.next().unwrap().parse().unwrap();
        let words = fields.next().unwrap().split(' ').map(str::to_owned).collect();
        all.insert(words, (p, fields.next().map_or(0.0, |backoff| backoff.parse().unwrap())));
    }
    all
}

/// The state after some words from `<s>` on, or without it.
fn state(model: &NgramModel, history: &[&str]) -> NgramState {
    let (mut state, words) = match history {
        ["<s>", words @ ..] => (model.start(), words),
        words => (model.empty(), words),
    };
    for word in words {
        state = model.step(state, model.find(word).unwrap()).0;
    }
    state
}

/// log10 p(word | history) of a model.
fn log10(model: &NgramModel, history: &[&str], word: &str) -> f64 {
    let state = state(model, history);
    let score = match word {
        "</s>" => model.end(state),
        word => model.step(state, model.find(word).unwrap()).1,
    };
    score / LN_10
}

/// The sum of the probabilities of all words after a history, `</s>` among them.
fn sum(model: &NgramModel, history: &[&str]) -> f64 {
    WORDS[1..].iter().map(|word| 10_f64.powf(log10(model, history, word))).sum()
}

/// Histories of up to three words.
fn histories() -> Vec<Vec<&'static str>> {
    let mut all = vec![vec![]];
    for length in 0..3 {
        let longest: Vec<_> = all.iter().filter(|history: &&Vec<_>| history.len() == length).cloned().collect();
        for history in longest {
            for &word in WORDS[..5].iter().filter(|word| length == 0 || **word != "<s>") {
                all.push([&history[..], &[word]].concat());
            }
        }
    }
    all
}

/// Entries whose n-grams seen after a history have probabilities that sum to less than 1, and whose
/// unigrams sum to 1.
fn proper() -> impl Strategy<Value = (usize, Entries)> {
    entries().prop_map(|(order, mut entries)| {
        let mut sums: HashMap<Vec<&str>, f64> = HashMap::new();
        for (ngram, (p, _)) in &entries {
            if ngram[..] != ["<s>"] {
                *sums.entry(ngram[..ngram.len() - 1].to_vec()).or_default() += 10_f64.powf(*p);
            }
        }
        for (ngram, (p, _)) in &mut entries {
            let history = &ngram[..ngram.len() - 1];
            let most = if history.is_empty() { 1.0 } else { 0.75 };
            *p += (most / sums.get(history).copied().unwrap_or(1.0)).log10();
        }
        (order, entries)
    })
}

proptest! {
    #[test]
    fn each_step_backs_off_as_the_format_defines((order, entries) in entries()) {
        let model = model(&arpa(order, &entries)).unwrap();
        for history in histories() {
            for word in &WORDS[1..] {
                let (found, expected) = (log10(&model, &history, word), back_off(&entries, order, &history, word));
                prop_assert!((found - expected).abs() < TOLERANCE, "{history:?} {word}: {found} {expected}");
            }
        }
    }

    /// What is written is read with the same numbers, from text and from bytes, with the labels of
    /// a table or its own.
    #[test]
    fn a_model_survives_its_files((order, entries) in entries()) {
        let text = arpa(order, &entries);
        let once = model(&text).unwrap();
        let expected = parsed(&written(&once));
        for (ngram, &(p, backoff)) in &entries {
            let words: Vec<_> = ngram.iter().map(|word| (*word).to_owned()).collect();
            let (found_p, found_backoff) = expected[&words];
            let kept = if ngram.len() < order { backoff } else { 0.0 };
            prop_assert_eq!((found_p as f32, found_backoff as f32), (p as f32, kept as f32));
        }
        let again = model(&written(&once)).unwrap();
        prop_assert_eq!(again.as_bytes(), once.as_bytes());
        let bytes = NgramModel::from_bytes(once.as_bytes().to_vec()).unwrap();
        prop_assert_eq!(written(&bytes), written(&once));
        let mut words: SymbolTable = "<eps> 0\nz 7\nc 9\n".parse().unwrap();
        let read = NgramModel::read(once.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {}).unwrap();
        prop_assert_eq!(read.find("c"), Some(9));
        prop_assert_eq!(read.has_word(7), false);
        for word in &WORDS[1..5] {
            let (label, own) = (words.find(word).unwrap(), once.find(word).unwrap());
            prop_assert_eq!(read.find(word), Some(label));
            prop_assert_eq!(read.step(read.start(), label).1, once.step(once.start(), own).1);
        }
        prop_assert!(read.symbols().unwrap().iter().all(|(word, label)| words.find(word) == Some(label)));
    }

    #[test]
    fn damaged_bytes_are_refused((order, entries) in entries(), at in 0.0..1.0_f64, with in 1..=255_u8, cut in any::<bool>()) {
        let mut bytes = model(&arpa(order, &entries)).unwrap().as_bytes().to_vec();
        let at = (at * bytes.len() as f64) as usize;
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= with;
        }
        let refused = matches!(NgramModel::from_bytes(bytes), Err(Error::Binary { .. } | Error::TooLarge { .. }));
        prop_assert!(refused);
    }

    /// The trait of rescoring gives what the automaton of the model gives.
    #[test]
    fn rescoring_is_that_of_the_automaton(
        (order, entries) in entries(),
        words in prop::collection::vec(1..5_usize, 0..6),
    ) {
        let model = model(&arpa(order, &entries)).unwrap();
        let label = i32::MAX;
        let (grammar, mut lattice) = (model.to_fsa(label).unwrap(), LatticeBuilder::new());
        let mut state = lattice.add_state();
        let labels: Vec<_> = words.iter().map(|&word| model.find(WORDS[word]).unwrap()).collect();
        for &label in &labels {
            let next = lattice.add_state();
            lattice.add_arc(state, next, label, -1.0, -2.0, &[]);
            state = next;
        }
        lattice.add_final(state, 0.0, 0.0, &[]);
        let lattice = lattice.build().unwrap();
        let own = lattice.rescore(&model, 0.5, Limits::default()).unwrap();
        let automaton = lattice.rescore(&BackoffModel::new(&grammar, label), 0.5, Limits::default()).unwrap();
        let graph = |lattice: &fsa::lattice::Lattice| lattice.graph_scores().iter().map(|score| f64::from(*score)).sum::<f64>();
        prop_assert!((graph(&own) - graph(&automaton)).abs() < TOLERANCE * LN_10);
        let expected = 0.5 * model.score(&labels) - labels.len() as f64;
        prop_assert!((graph(&own) - expected).abs() < TOLERANCE * LN_10);
        // Taking the scores away again leaves those of the lattice.
        let back = own.rescore(&model, -0.5, Limits::default()).unwrap();
        prop_assert!((graph(&back) + labels.len() as f64).abs() < TOLERANCE * LN_10);
    }

    #[test]
    fn a_restricted_model_has_the_n_grams_of_the_words(
        (order, entries) in entries(),
        wanted in prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c", "d"]), 0..4),
    ) {
        let whole = model(&arpa(order, &entries)).unwrap();
        let before = parsed(&written(&whole));
        let small = whole.restrict(|word| wanted.contains(word), Limits::default()).unwrap();
        let keeps = |word: &String| word.starts_with('<') || wanted.contains(&**word);
        let expected: BTreeMap<_, _> =
            before.iter().filter(|(ngram, _)| ngram.iter().all(keeps)).map(|(ngram, it)| (ngram.clone(), *it)).collect();
        prop_assert_eq!(small.left_out().num_entries(), (before.len() - expected.len()) as u64);
        prop_assert_eq!(parsed(&written(&small)), expected);
        // A table that lacks words does the same.
        let mut table: SymbolTable = "<eps> 0\n".parse().unwrap();
        for word in &wanted {
            table.find_or_add(word).unwrap();
        }
        let skipped = model(&arpa(order, &entries)).unwrap().with_labels(&mut table, OutOfVocabulary::Skip, Limits::default()).unwrap();
        prop_assert_eq!(written(&skipped), written(&small));
    }

    #[test]
    fn normalized_histories_sum_to_one((order, entries) in entries()) {
        let model = model(&arpa(order, &entries)).unwrap().normalize(Limits::default()).unwrap();
        for history in histories() {
            let sum = sum(&model, &history);
            prop_assert!((sum - 1.0).abs() < SUM_TOLERANCE, "{history:?} {sum}");
        }
    }

    /// Where there is something to share, and a word to get it, probabilities that are seen stay as
    /// they are.
    #[test]
    fn normalizing_changes_weights_only((order, entries) in proper()) {
        let before = model(&arpa(order, &entries)).unwrap();
        let after = before.normalize(Limits::default()).unwrap();
        let (before, after) = (parsed(&written(&before)), parsed(&written(&after)));
        prop_assert!(before.keys().eq(after.keys()));
        let mut seen: HashMap<&[String], (usize, f64)> = HashMap::new();
        for (ngram, (p, _)) in before.iter().filter(|(ngram, _)| ngram[..] != ["<s>"]) {
            let (number, sum) = seen.entry(&ngram[..ngram.len() - 1]).or_default();
            *number += 1;
            *sum += 10_f64.powf(*p);
        }
        for (ngram, (p, _)) in before.iter().filter(|(ngram, _)| ngram[..] != ["<s>"]) {
            let (number, sum) = seen[&ngram[..ngram.len() - 1]];
            let has_something_left = ngram.len() == 1 || (number < WORDS.len() - 1 && sum < 0.99);
            prop_assert!(!has_something_left || (p - after[ngram].0).abs() < TOLERANCE, "{ngram:?}");
        }
    }

    /// Relative entropy by its definition: the sum over all words of the change after a history,
    /// times the probability of the history.
    #[test]
    fn pruning_leaves_out_what_changes_little((order, entries) in proper(), exponent in 1..=60_i32) {
        let threshold = 10_f64.powf(-f64::from(exponent) / 10.0);
        let whole = model(&arpa(order, &entries)).unwrap().normalize(Limits::default()).unwrap();
        let pruned = whole.prune(threshold, Limits::default()).unwrap();
        let (before, after) = (parsed(&written(&whole)), parsed(&written(&pruned)));
        prop_assert!(after.keys().all(|ngram| before.contains_key(ngram)));
        for history in histories() {
            prop_assert!((sum(&pruned, &history) - 1.0).abs() < SUM_TOLERANCE, "{history:?}");
        }
        let mut kept: BTreeSet<Vec<String>> = before.keys().cloned().collect();
        let mut close = false;
        for length in (2..=order).rev() {
            for ngram in before.keys().filter(|ngram| ngram.len() == length) {
                if kept.iter().any(|longer| longer.len() == length + 1 && longer[..length] == ngram[..]) {
                    continue;
                }
                let ngram: Vec<&str> = ngram.iter().map(String::as_str).collect();
                let change = change_of_perplexity(&whole, &before, &ngram);
                close |= (change - threshold).abs() < 1e-5;
                if change < threshold {
                    kept.remove(&ngram.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
                }
            }
        }
        prop_assert!(close || after.keys().cloned().collect::<BTreeSet<_>>() == kept, "{threshold}");
    }

    #[test]
    fn a_mixture_has_the_mixed_probabilities_of_what_it_has(
        (order, first) in proper(),
        (other_order, second) in proper(),
        weight in 0.0..=1.0_f64,
    ) {
        let models = [model(&arpa(order, &first)), model(&arpa(other_order, &second))].map(|it| it.unwrap().normalize(Limits::default()).unwrap());
        let mixed = NgramModel::interpolate(&[(&models[0], weight), (&models[1], 1.0 - weight)], Limits::default()).unwrap();
        let texts = models.each_ref().map(|model| parsed(&written(model)));
        let all: BTreeSet<_> = texts.iter().flat_map(BTreeMap::keys).collect();
        let found = parsed(&written(&mixed));
        prop_assert!(found.keys().eq(all.iter().copied()));
        for ngram in all.iter().filter(|ngram| ngram[..] != ["<s>"]) {
            let words: Vec<&str> = ngram.iter().map(String::as_str).collect();
            let (word, history) = words.split_last().unwrap();
            let [first, second] = models.each_ref().map(|model| 10_f64.powf(log10(model, history, word)));
            let (expected, found) = (weight * first + (1.0 - weight) * second, 10_f64.powf(log10(&mixed, history, word)));
            prop_assert!((found - expected).abs() < SUM_TOLERANCE, "{ngram:?} {found} {expected}");
        }
        for history in histories() {
            prop_assert!((sum(&mixed, &history) - 1.0).abs() < SUM_TOLERANCE, "{history:?}");
        }
        // A share of nothing changes nothing but what is there to back off to.
        let same = NgramModel::interpolate(&[(&models[0], 1.0)], Limits::default()).unwrap();
        for history in histories() {
            for word in &WORDS[1..] {
                let difference = 10_f64.powf(log10(&same, &history, word)) - 10_f64.powf(log10(&models[0], &history, word));
                prop_assert!(difference.abs() < SUM_TOLERANCE);
            }
        }
    }

    #[test]
    fn perplexity_is_that_of_the_words(
        (order, entries) in entries(),
        text in prop::collection::vec(prop::collection::vec(0..6_usize, 0..6), 0..5),
    ) {
        let model = model(&arpa(order, &entries)).unwrap();
        let (mut measured, mut log10_of, mut count) = (Perplexity::default(), 0.0, 0);
        for sentence in &text {
            // 0 and 5 are no words of sentences, and unknown.
            measured.add(&model, sentence.iter().map(|&word| if word % 5 == 0 { "x" } else { WORDS[word] }));
            let mut history = vec!["<s>"];
            for &word in sentence {
                if word % 5 == 0 {
                    history = vec![];
                } else {
                    log10_of += log10(&model, &history, WORDS[word]);
                    history.push(WORDS[word]);
                    count += 1;
                }
            }
            log10_of += log10(&model, &history, "</s>");
            count += 1;
        }
        prop_assert!((measured.log10 - log10_of).abs() < TOLERANCE);
        let words: usize = text.iter().map(Vec::len).sum();
        prop_assert_eq!((measured.sentences, measured.words, measured.zero), (text.len() as u64, words as u64, 0));
        prop_assert_eq!(measured.words + measured.sentences - measured.unknown, count);
        if count > 0 {
            prop_assert!((measured.perplexity().ln() + measured.log10 * LN_10 / count as f64).abs() < TOLERANCE);
        }
    }
}

/// By how much of itself the perplexity of a model on its own distribution grows where an n-gram is
/// left out, and the weight of its history follows.
fn change_of_perplexity(model: &NgramModel, all: &BTreeMap<Vec<String>, (f64, f64)>, ngram: &[&str]) -> f64 {
    let (word, history) = ngram.split_last().unwrap();
    let seen: Vec<&str> = WORDS[1..]
        .iter()
        .copied()
        .filter(|word| {
            all.contains_key(&history.iter().chain([word]).map(|word| (*word).to_owned()).collect::<Vec<_>>())
        })
        .collect();
    let p = |word: &str| 10_f64.powf(log10(model, history, word));
    let lower = |word: &str| 10_f64.powf(log10(model, &history[1..], word));
    let left: f64 = 1.0 - seen.iter().filter(|it| *it != word).map(|word| p(word)).sum::<f64>();
    let lower_left: f64 = 1.0 - seen.iter().filter(|it| *it != word).map(|word| lower(word)).sum::<f64>();
    let changed = |it: &str| if seen.contains(&it) && it != *word { p(it) } else { left / lower_left * lower(it) };
    let mut of_history = 0.0;
    for at in 0..history.len() {
        // The beginning of a sentence is as frequent as its end.
        let word = if history[at] == "<s>" { "</s>" } else { history[at] };
        of_history += log10(model, &history[..at], word);
    }
    let divergence: f64 = WORDS[1..].iter().map(|word| p(word) * (p(word).log10() - changed(word).log10())).sum();
    10_f64.powf(10_f64.powf(of_history) * divergence) - 1.0
}

#[test]
fn unknown_words_are_the_one_that_stands_for_them() {
    let with = "\\data\\\nngram 1=4\nngram 2=1\n\\1-grams:\n-99 <s>\n-1 </s>\n-0.5 a\n-2 <unk> -0.25\n\\2-grams:\n-0.125 <unk> a\n\\end\\\n";
    let it = model(with).unwrap();
    assert_eq!((it.unknown(), it.find("<s>"), it.find("</s>"), it.find("x")), (it.find("<unk>"), None, None, None));
    let (state, score) = it.step(it.start(), 999);
    assert_eq!(score, -2.0 * LN_10);
    assert_eq!(it.step(state, it.find("a").unwrap()).1, -0.125 * LN_10);
    assert_eq!(it.end(state), -1.25 * LN_10);
    let without = with.replace("<unk>", "b");
    let it = model(&without).unwrap();
    let (state, score) = it.step(it.start(), 999);
    assert_eq!((it.unknown(), score, state), (None, f64::NEG_INFINITY, it.empty()));
    assert_eq!(LanguageModel::step(&it, it.start(), 999), None);
}

#[test]
fn words_that_are_only_in_longer_n_grams_have_no_probability_of_their_own() {
    let text = "\\data\\\nngram 1=3\nngram 2=2\n\\1-grams:\n-99 <s>\n-1 </s>\n-0.5 b -0.25\n\\2-grams:\n-0.125 b a\n-0.75 a b\n\\end\\\n";
    let it = model(text).unwrap();
    let (a, b) = (it.find("a").unwrap(), it.find("b").unwrap());
    assert_eq!((it.num_ngrams(), it.step(it.start(), a).1), (6, f64::NEG_INFINITY));
    let (state, _) = it.step(it.start(), b);
    let (state, score) = it.step(state, a);
    assert_eq!((score, it.step(state, b).1), (-0.125 * LN_10, -0.75 * LN_10));
}

#[test]
fn words_out_of_the_table_are_told_of_binary_files_too() {
    let text = "\\data\\\nngram 1=3\n\\1-grams:\n-99 <s>\n-1 </s>\n-0.5 b\n\\end\\\n";
    let bytes = model(text).unwrap().as_bytes().to_vec();
    let read = |out_of_vocabulary| {
        let (mut words, mut options) = ("<eps> 0\n".parse().unwrap(), ArpaOptions::default());
        options.out_of_vocabulary = out_of_vocabulary;
        let model = NgramModel::read(&bytes[..], &mut words, &options, &mut |_| {})?;
        Ok::<_, Error>((model.num_ngrams(), model.left_out().to_string(), words.find("b")))
    };
    assert_eq!(read(OutOfVocabulary::Add), Ok((3, "0".to_owned(), Some(1))));
    assert_eq!(read(OutOfVocabulary::Skip), Ok((2, "1 (1 symbol: b)".to_owned(), None)));
    assert_eq!(read(OutOfVocabulary::Refuse), Err(Error::MissingSymbol { symbol: "b".to_owned() }));
    let mut zero: SymbolTable = "b 0\n".parse().unwrap();
    assert!(model(text).unwrap().with_labels(&mut zero, OutOfVocabulary::Refuse, Limits::default()).is_err());
}

#[test]
fn a_repeated_n_gram_is_refused_with_its_line() {
    let text = "\\data\\\nngram 1=3\nngram 2=3\n\\1-grams:\n-99 <s>\n-1 </s>\n-0.5 b\n\\2-grams:\n-1 b b\n-1 <s> b\n-2 b b\n\\end\\\n";
    assert_eq!(model(text).unwrap_err().to_string(), "n-gram model, line 11: an n-gram stands there twice: b b");
}

#[test]
fn weights_and_thresholds_that_make_no_sense_are_refused() {
    let it = model("\\data\\\nngram 1=2\n\\1-grams:\n-99 <s>\n0 </s>\n\\end\\\n").unwrap();
    for threshold in [0.0, -1.0, 1.0, f64::NAN] {
        assert!(matches!(it.prune(threshold, Limits::default()), Err(Error::Probability { .. })));
    }
    for weights in [[0.5, 0.6], [-0.5, 1.5], [f64::NAN, 1.0]] {
        let mixed = NgramModel::interpolate(&weights.map(|weight| (&it, weight)), Limits::default());
        assert!(matches!(mixed, Err(Error::InterpolationWeight { .. })));
    }
    assert!(NgramModel::interpolate(&[], Limits::default()).is_err());
}

#[test]
fn models_that_need_more_than_the_limit_are_refused() {
    const LIMIT: usize = 15_000;
    let limits = Limits::default().with_max_bytes(LIMIT);
    let options = ArpaOptions::default().with_limits(limits);
    let refused = |made: Result<NgramModel, Error>| {
        assert!(matches!(made, Err(Error::NgramLimit { limit: LIMIT, needed: LIMIT.., .. })), "{made:?}");
    };
    let words: String = (0..1000).map(|word| format!("-3 w{word}\n")).collect();
    let text = format!("\\data\\\nngram 1=1001\n\\1-grams:\n{words}-1 </s>\n\\end\\\n");
    let read = |bytes: &[u8]| NgramModel::from_reader(bytes, &options, &mut |_| {});
    refused(read(text.as_bytes()));
    let whole = model(&text).unwrap();
    refused(read(whole.as_bytes()));
    refused(whole.normalize(limits));
    refused(whole.prune(0.5, limits));
    refused(NgramModel::interpolate(&[(&whole, 1.0)], limits));
    refused(whole.restrict(|word| word != "w1", limits));
    // A line with 100 words needs 99 n-grams before it.
    let lines: String = (0..10)
        .map(|line| {
            format!("-1{}\n", format!(" {}", if line % 2 == 0 { "a" } else { "b" }).repeat(99) + &format!(" w{line}"))
        })
        .collect();
    let counts: String =
        (1..=100).map(|order| format!("ngram {order}={}\n", if order == 100 { 10 } else { 0 })).collect();
    let sections: String = (1..100).map(|order| format!("\\{order}-grams:\n")).collect();
    let deep = format!("\\data\\\n{counts}{sections}\\100-grams:\n{lines}\\end\\\n");
    assert!(model(&deep).unwrap().num_ngrams() > 2 * 99);
    refused(read(deep.as_bytes()));
}

#[test]
fn logarithms_that_no_sum_can_hold_are_refused_with_their_line() {
    let read = |score: &str, backoff: &str| {
        model(&format!(
            "\\data\\\nngram 1=2\nngram 2=1\n\\1-grams:\n{score} a {backoff}\n-1 </s>\n\\2-grams:\n-1 a a\n\\end\\\n"
        ))
    };
    for wrong in ["3e38", "-3e38", "1e39", "-1e39", "inf", "nan", "1e35"] {
        for made in [read(wrong, "0"), read("-1", wrong)] {
            let problem = "n-gram model, line 5: there should be a logarithm of a probability";
            assert!(made.unwrap_err().to_string().starts_with(problem), "{wrong}");
        }
    }
    for good in ["-inf", "-99", "-1e30", "1e30"] {
        let made = read(good, "-1e30").unwrap();
        let a = made.find("a").unwrap();
        let (state, score) = made.step(made.empty(), a);
        assert!(score < f64::INFINITY && made.step(state, a).1.is_finite());
        assert!(made.to_fsa(99).unwrap().scores().iter().all(|score| *score < f32::INFINITY));
    }
}

// ----------------------------------------------------------------------------------------------------------------
// pocketsphinx's files

/// Bits, the lowest of a byte first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn push(&mut self, value: usize, width: usize) {
        self.0.extend((0..width).map(|bit| value >> bit & 1 == 1));
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| bits.iter().enumerate().map(|(at, bit)| u8::from(*bit) << at).sum::<u8>();
        self.0.chunks(8).map(byte).collect()
    }
}

fn width(number: usize) -> usize {
    (0..).find(|bits| number >> bits == 0).unwrap()
}

/// The file of a model; n-grams whose ends are none are left out, as the format has no room for
/// them.
fn sphinx(order: usize, entries: &mut Entries) -> Vec<u8> {
    while let Some(ngram) = entries.keys().find(|it| it.len() > 1 && !entries.contains_key(&it[1..])).cloned() {
        entries.remove(&ngram);
    }
    // Its words are in any order; paths go from the last word to the first.
    let id = |word: &str| WORDS.iter().position(|it| *it == word).unwrap();
    let mut levels = vec![BTreeMap::new(); order];
    for (ngram, it) in entries.iter() {
        levels[ngram.len() - 1].insert(ngram.iter().rev().map(|word| id(word)).collect::<Vec<_>>(), *it);
    }
    let log = |log10: f64| ((log10 / 1.0001_f64.log10()) as f32).to_le_bytes();
    let mut out = b"Trie Language Model".to_vec();
    out.push(order as u8);
    levels.iter().for_each(|level| out.extend((level.len() as u32).to_le_bytes()));
    let table = |level: &BTreeMap<Vec<usize>, (f64, f64)>, pick: fn(&(f64, f64)) -> f64| {
        let mut table: Vec<f64> = level.values().map(pick).collect();
        table.resize(1 << 16, 0.0);
        table.into_iter().flat_map(log).collect::<Vec<_>>()
    };
    if order > 1 {
        out.extend(1_u32.to_le_bytes());
        for (at, level) in levels.iter().enumerate().skip(1) {
            out.extend(table(level, |it| it.0));
            if at + 1 < order {
                out.extend(table(level, |it| it.1));
            }
        }
    }
    let first = |at: usize, path: &[usize]| {
        levels.get(at).map_or(0, |level| level.keys().filter(|it| &it[..path.len()] < path).count())
    };
    for (path, (p, backoff)) in &levels[0] {
        out.extend([log(*p), log(*backoff), (first(1, path) as u32).to_le_bytes()].concat());
    }
    out.extend([log(0.0), log(0.0), (levels.get(1).map_or(0, BTreeMap::len) as u32).to_le_bytes()].concat());
    for (at, level) in levels.iter().enumerate().skip(1) {
        let (mut bits, next) = (Bits::default(), levels.get(at + 1).map(BTreeMap::len));
        for (entry, path) in level.keys().enumerate() {
            bits.push(path[at], width(WORDS.len()));
            if let Some(next) = next {
                bits.push(entry, 16);
                bits.push(entry, 16);
                bits.push(first(at + 1, path), width(next));
            } else {
                bits.push(entry, 16);
            }
        }
        bits.push(0, width(WORDS.len()));
        if let Some(next) = next {
            bits.push(0, 32);
            bits.push(next, width(next));
        } else {
            bits.push(0, 16);
        }
        out.extend(bits.bytes());
        out.extend([0; 8]);
    }
    let words: String = WORDS.iter().map(|word| format!("{word}\0")).collect();
    out.extend((words.len() as u32).to_le_bytes());
    out.extend(words.as_bytes());
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn files_of_pocketsphinx_have_the_n_grams_of_the_arpa_file((order, mut entries) in entries()) {
        let bytes = sphinx(order, &mut entries);
        let read = NgramModel::from_reader(&bytes[..], &ArpaOptions::default(), &mut |_| {}).unwrap();
        let (found, expected) = (parsed(&written(&read)), parsed(&written(&model(&arpa(order, &entries)).unwrap())));
        // Numbers of single precision were multiplied by one.
        let close = |a: f64, b: f64| (a - b).abs() <= 2.0 * f64::from(f32::EPSILON) * b.abs();
        prop_assert!(found.keys().eq(expected.keys()));
        // Contexts that were added have the sums of rounded numbers.
        for (ngram, it) in &entries {
            let ngram: Vec<_> = ngram.iter().map(|word| (*word).to_owned()).collect();
            prop_assert!(close(found[&ngram].0, it.0) && (ngram.len() == order || close(found[&ngram].1, it.1)), "{ngram:?}");
        }
    }

    /// Damage gives an error, or a model of no more n-grams than the file has room for.
    #[test]
    fn damaged_files_of_pocketsphinx_are_refused_or_read(
        (order, mut entries) in entries(),
        places in prop::collection::vec((0.0..1.0_f64, any::<u8>(), any::<bool>()), 1..4),
        cut in any::<bool>(),
    ) {
        let mut bytes = sphinx(order, &mut entries);
        // Most bytes are those of tables.
        let tables = 20 + 4 * order..20 + 4 * order + if order > 1 { 4 + 4 * (2 * order - 3) * (1 << 16) } else { 0 };
        for (at, with, in_header) in places {
            let len = if in_header { 20 + 4 * order } else { bytes.len() - tables.end };
            let start = if in_header { 0 } else { tables.end };
            bytes[start + (at * len as f64) as usize] = with;
        }
        if cut {
            bytes.truncate(bytes.len() - 1);
        }
        if let Ok(model) = NgramModel::from_reader(&bytes[..], &ArpaOptions::default(), &mut |_| {}) {
            prop_assert!(model.num_ngrams() <= bytes.len());
            prop_assert!(!model.score(&[1, 2, 3]).is_nan());
            prop_assert!(NgramModel::from_bytes(model.as_bytes().to_vec()).is_ok());
        }
    }
}
