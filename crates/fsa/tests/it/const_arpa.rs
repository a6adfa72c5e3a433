//! Kaldi's ConstArpaLm beside its definition, on small models of all kinds, and damaged ones.

use std::collections::BTreeMap;

use fsa::graphs::{ConstArpa, ConstArpaForm, ConstArpaOptions};
use fsa::lattice::LanguageModel;
use fsa::{Error, Limits};
use proptest::prelude::*;

const START: i32 = 1;
const END: i32 = 2;
const UNKNOWN: i32 = 3;
/// Words of the models are below this; some have no n-gram of order 1.
const WORDS: i32 = 9;

/// N-grams with a logarithm and a weight for backing off, in hundredths.
type Ngrams = BTreeMap<Vec<i32>, (i32, i32)>;

fn hundredths(number: i32) -> String {
    format!("{}", f64::from(number) / 100.0)
}

/// The number that Kaldi keeps of hundredths.
fn natural(number: i32) -> f32 {
    let log10: f32 = hundredths(number).parse().unwrap();
    (f64::from(log10) * std::f64::consts::LN_10) as f32
}

/// The ARPA file with n-grams in the order of their words, or in the opposite one.
fn arpa(ngrams: &Ngrams, order: usize, backwards: bool) -> String {
    let of = |order: usize| ngrams.iter().filter(move |(words, _)| words.len() == order);
    let mut text = String::from("\\data\\\n");
    (1..=order).for_each(|order| text += &format!("ngram {order}={}\n", of(order).count()));
    for section in 1..=order {
        text += &format!("\n\\{section}-grams:\n");
        let line = |(words, (log, backoff)): (&Vec<i32>, &(i32, i32))| {
            let words: Vec<_> = words.iter().map(i32::to_string).collect();
            let weight = if *backoff == 0 || section == order { String::new() } else { hundredths(*backoff) };
            format!("{}\t{}\t{weight}\n", hundredths(*log), words.join(" "))
        };
        let mut lines: Vec<_> = of(section).map(line).collect();
        if backwards {
            lines.reverse();
        }
        text += &lines.concat();
    }
    text + "\n\\end\\\n"
}

fn ngrams() -> impl Strategy<Value = (Ngrams, usize)> {
    let ngram = (prop::collection::vec(1..WORDS, 1..5), -400..1_i32, prop::sample::select(vec![0, 0, -30, -70, 20]));
    (prop::collection::vec(ngram, 0..30), 1..5_usize).prop_map(|(all, order)| {
        let mut ngrams = Ngrams::from([(vec![WORDS - 1], (-100, 0))]);
        for (words, log, backoff) in all {
            let words = &words[..words.len().min(order)];
            // The words before the last one must be there.
            for len in 1..=words.len() {
                let weight = if len == order { 0 } else { backoff };
                ngrams.entry(words[..len].to_vec()).or_insert((log - 10 * i32::try_from(len).unwrap(), weight));
            }
        }
        (ngrams, order)
    })
}

/// Returns the probability of a word after others, from the definition of backing off.
fn score(ngrams: &Ngrams, order: usize, unknown: Option<i32>, history: &[i32], word: i32) -> f32 {
    let known = |&word: &i32| match unknown {
        Some(unknown) if !ngrams.contains_key(&[word][..]) => unknown,
        _ => word,
    };
    let history: Vec<_> = history[history.len().saturating_sub(order - 1)..].iter().map(known).collect();
    let word = known(&word);
    let extended =
        |words: &[i32]| ngrams.keys().any(|longer| longer.len() == words.len() + 1 && longer.starts_with(words));
    let has_state =
        |words: &[i32]| words.len() == 1 || (words.len() < order && (ngrams[words].1 != 0 || extended(words)));
    let mut weights = Vec::new();
    for from in 0..=history.len() {
        let words = [&history[from..], &[word]].concat();
        if let Some(&(log, _)) = ngrams.get(&words) {
            let log = natural(log);
            let log = if has_state(&words) { log } else { f32::from_bits(log.to_bits() & !1) };
            return weights.iter().rev().fold(log, |sum, weight| weight + sum);
        }
        // An n-gram without a state has no weight.
        weights.push(ngrams.get(&history[from..]).map_or(0.0, |&(_, backoff)| natural(backoff)));
    }
    f32::NEG_INFINITY
}

fn options(unknown: bool) -> ConstArpaOptions {
    ConstArpaOptions::new(START, END).with_unknown(unknown.then_some(UNKNOWN))
}

fn read(text: &str, options: &ConstArpaOptions) -> Result<ConstArpa, Error> {
    ConstArpa::from_arpa(text.as_bytes(), options, &mut |_, _| {})
}

proptest! {
    #[test]
    fn look_ups_are_the_definition(
        (ngrams, order) in ngrams(),
        unknown: bool,
        backwards: bool,
        near in prop::sample::select(vec![1, 5, 20, (1 << 30) - 1]),
        history in prop::collection::vec(-1..WORDS + 2, 0..6),
        words in prop::collection::vec(0..WORDS + 2, 1..6),
    ) {
        let text = arpa(&ngrams, order, backwards);
        let plain = read(&text, &options(unknown)).unwrap();
        let far = read(&text, &options(unknown).with_max_distance(near)).unwrap();
        let old = ConstArpa::from_bytes(plain.to_bytes(ConstArpaForm::Old).unwrap()).unwrap();
        prop_assert_eq!(old.to_bytes(ConstArpaForm::Named).unwrap(), plain.as_bytes());
        prop_assert_eq!(plain.order(), order);
        let unknown = unknown.then_some(UNKNOWN);
        for model in [&plain, &far, &old] {
            for word in 0..WORDS + 2 {
                let expected = score(&ngrams, order, unknown, &history, word);
                prop_assert_eq!(model.score(&history, word).to_bits(), expected.to_bits());
            }
            let extended = |words: &[i32]| words.is_empty() || ngrams.keys().any(|longer| longer.len() > words.len() && longer.starts_with(words));
            prop_assert_eq!(model.has_history(&history), extended(&history));
            // The on-demand FST: words are kept as far as the model has n-grams for them.
            let (mut state, mut kept) = (model.start(), vec![START]);
            for &word in &words {
                let expected = score(&ngrams, order, unknown, &kept, word);
                let step = model.step(state, word);
                prop_assert_eq!(step.map(|(_, score)| score as f32), Some(expected).filter(|score| score.is_finite()));
                let Some((next, _)) = step else { break };
                kept.push(word);
                let mut from = kept.len().saturating_sub(order - 1);
                while !extended(&kept[from..]) {
                    from += 1;
                }
                kept.drain(..from);
                prop_assert_eq!(next.words(), &kept[..]);
                state = next;
            }
            let end = score(&ngrams, order, unknown, &kept, END);
            prop_assert_eq!(model.end(state).map(|score| score as f32), Some(end).filter(|score| score.is_finite()));
        }
    }

    #[test]
    fn the_arpa_file_has_all_ngrams((ngrams, order) in ngrams()) {
        let model = read(&arpa(&ngrams, order, false), &options(false)).unwrap();
        let mut printed = Vec::new();
        model.write_arpa(&mut printed).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split('\t').collect()).collect();
        let words: Vec<Vec<i32>> = lines.iter().filter_map(|line| line.get(1)).map(|words| words.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
        let mut expected: Vec<_> = ngrams.keys().cloned().collect();
        expected.sort_by_key(|words| (words.len(), words.clone()));
        prop_assert_eq!(words, expected);
    }
}

fn small() -> ConstArpa {
    let ngrams = Ngrams::from([
        (vec![1], (-9900, -50)),
        (vec![2], (-25, 0)),
        (vec![8], (-100, -20)),
        (vec![1, 8], (-12, -5)),
        (vec![8, 8], (-30, 0)),
        (vec![1, 8, 8], (-7, 0)),
    ]);
    read(&arpa(&ngrams, 3, false), &options(false).with_max_distance(7)).unwrap()
}

/// Every number of either form may lie: the reader refuses it, or look-ups end.
#[test]
fn damaged_numbers_are_refused_or_harmless() {
    let model = small();
    for form in [ConstArpaForm::Named, ConstArpaForm::Old] {
        let bytes = model.to_bytes(form).unwrap();
        let mut refused = 0;
        for at in 0..bytes.len() {
            for change in [1, 2, 4, 0x40, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                let Ok(model) = ConstArpa::from_bytes(damaged) else {
                    refused += 1;
                    continue;
                };
                for word in -1..12 {
                    let _ = model.score(&[1, 8], word);
                    let _ = model.step(model.start(), word).map(|(state, _)| model.end(state));
                }
                model.write_arpa(&mut Vec::new()).unwrap();
            }
        }
        assert!(refused > bytes.len(), "{refused} of {}", 6 * bytes.len());
        for len in 0..bytes.len() {
            assert!(ConstArpa::from_bytes(bytes[..len].to_vec()).is_err(), "{len}");
        }
    }
}

/// Sizes far beyond the file take no memory.
#[test]
fn lying_sizes_are_refused() {
    let bytes = small().as_bytes().to_vec();
    for name in ["<LmStates> ", "<LmUnigram> ", "<LmOverflow> "] {
        let at = bytes.windows(name.len()).position(|it| it == name.as_bytes()).unwrap() + name.len();
        let size = usize::from(bytes[at]);
        for lie in [i64::from(i32::MAX), i64::MAX, -1, i64::MIN, 1 << 40] {
            let mut damaged = bytes.clone();
            damaged[at + 1..=at + size].copy_from_slice(&lie.to_le_bytes()[..size]);
            if damaged != bytes {
                assert!(matches!(ConstArpa::from_bytes(damaged), Err(Error::Binary { .. })), "{name} {lie}");
            }
        }
    }
}

#[test]
fn numbers_of_words_may_not_take_more_memory_than_the_limit() {
    let text = "\\data\\\nngram 1=3\n\\1-grams:\n-1\t1\n-1\t2\n-1\t2000000000\n\\end\\\n";
    let limited = options(false).with_limits(Limits::default().with_max_bytes(1 << 20));
    assert!(matches!(read(text, &limited), Err(Error::NgramLimit { .. })));
}

#[test]
fn wrong_texts_name_their_line() {
    let of = |body: &str, options: &ConstArpaOptions| match read(body, options) {
        Err(error) => error.to_string(),
        Ok(model) => panic!("{model:?} of {body}"),
    };
    let plain = options(false);
    let text = |unigrams: &str, bigrams: &str| {
        let count = |lines: &str| lines.lines().count();
        let counts = format!("\\data\\\nngram 1={}\nngram 2={}\n", count(unigrams), count(bigrams));
        format!("{counts}\\1-grams:\n{unigrams}\\2-grams:\n{bigrams}\\end\\\n")
    };
    for (unigrams, bigrams, told) in [
        ("-1 1\n-1 2\n", "-1 3 2\n", "line 8: the words before its last one are no n-gram: 3 2"),
        ("-1 2\n-1 1\n-1 2\n", "", "line 7: an n-gram stands there twice: 2"),
        ("-1 1\n-1 0\n", "", "line 6: there should be the number of a word"),
        ("-1 1\nx 2\n", "", "line 6: there should be a logarithm"),
        ("-1 1\n-1 2\n", "-1 1 2 -1\n", "line 8: too many fields"),
        ("-1 1\n", "", "the number of the word that ends a sentence must be within 1 and 1, but it is 2"),
    ] {
        let found = of(&text(unigrams, bigrams), &plain);
        assert!(found.contains(told), "{found}");
    }
    assert!(of("", &plain).contains("\\data\\"));
    assert!(of("\\data\\\nngram 17=1\n", &plain).contains("within 1 and 16"));
    assert!(of(&text("-1 1\n-1 2\n", ""), &ConstArpaOptions::new(1, 1)).contains("must differ"));
}
