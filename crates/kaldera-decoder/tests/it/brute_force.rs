//! Prefix beam search with a beam that cuts nothing, beside all alignments; streams beside one
//! pass.

use std::collections::BTreeMap;

use fsa::Ragged;
use fsa::graphs::ContextGraph;
use fsa::io::SymbolTable;
use fsa::lattice::LanguageModel;
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, NoModel, SpellingTree};
use kaldera_decoder::{LogProbs, Vocabulary};
use proptest::prelude::*;

const TOKENS: usize = 3;
/// Sums of a few dozen doubles.
const TOLERANCE: f64 = 1e-9;

/// A bigram model over the tokens 1 and 2: what follows what.
#[derive(Debug, Clone)]
struct Bigram([[f64; 2]; 3]);

impl LanguageModel for Bigram {
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn step(&self, state: usize, token: i32) -> Option<(usize, f64)> {
        let token = usize::try_from(token).unwrap();
        Some((token, self.0[state][token - 1]))
    }

    fn end(&self, state: usize) -> Option<f64> {
        Some(-0.5 * f64::from(u8::try_from(state).unwrap()))
    }
}

/// For each string of tokens the log-sum over its alignments.
fn all_strings(log_probs: &LogProbs<'_>) -> BTreeMap<Vec<i32>, f64> {
    let frames = log_probs.num_frames();
    let mut sums: BTreeMap<Vec<i32>, f64> = BTreeMap::new();
    for mut number in 0..TOKENS.pow(u32::try_from(frames).unwrap()) {
        let (mut score, mut string, mut last) = (0.0, vec![], 0);
        for frame in 0..frames {
            let label = number % TOKENS;
            number /= TOKENS;
            score += f64::from(log_probs.frame(frame)[label]);
            if label != last && label != 0 {
                string.push(i32::try_from(label).unwrap());
            }
            last = label;
        }
        *sums.entry(string).or_insert(0.0) += score.exp();
    }
    sums.into_iter().map(|(string, sum)| (string, sum.ln())).collect()
}

fn vocabulary() -> Vocabulary {
    Vocabulary::new(["-", "a", "b"], 0).unwrap()
}

fn exhaustive() -> CtcDecoderOptions {
    let options = CtcDecoderOptions::default().with_beam_size(usize::MAX).with_beam_threshold(f64::INFINITY);
    options.with_n_best(usize::MAX).with_lm_weight(0.7).with_word_score(0.3)
}

fn values() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-6.0_f32..0.0, 0..=6 * TOKENS).prop_map(|mut values| {
        values.truncate(values.len() / TOKENS * TOKENS);
        values
    })
}

fn bigram() -> impl Strategy<Value = Bigram> {
    prop::array::uniform3(prop::array::uniform2(-3.0..0.0)).prop_map(Bigram)
}

proptest! {
    #[test]
    fn a_beam_that_cuts_nothing_finds_every_string_with_its_sum(values in values(), model in bigram(), phrase in prop::collection::vec(1..3_i32, 1..4)) {
        let log_probs = LogProbs::new("u", &values, TOKENS).unwrap();
        let graph = ContextGraph::new(&Ragged::from_lists(&[phrase]).unwrap(), &[0.75]).unwrap();
        let decoder = CtcDecoder::with_tokens(vocabulary(), exhaustive(), model.clone()).unwrap().with_hot_words(graph.clone()).unwrap();
        let result = decoder.decode(&log_probs).unwrap();
        let strings = all_strings(&log_probs);
        prop_assert_eq!(result.hypotheses.len(), strings.len());
        for hypothesis in &result.hypotheses {
            let string = hypothesis.token_ids();
            prop_assert!((hypothesis.scores.acoustic - strings[&string]).abs() < TOLERANCE);
            let (mut state, mut lm) = (model.start(), 0.0);
            let (mut hot_state, mut hot) = (graph.start(), 0.0);
            for &token in &string {
                let (next, score) = model.step(state, token).unwrap();
                (state, lm) = (next, lm + score);
                let step = graph.forward_one_step(hot_state, token, true);
                (hot_state, hot) = (step.state, hot + f64::from(step.score));
            }
            lm += model.end(state).unwrap();
            hot += f64::from(graph.finalize(hot_state));
            prop_assert!((hypothesis.scores.language_model - 0.7 * lm).abs() < TOLERANCE);
            prop_assert!((hypothesis.scores.hot_words - hot).abs() < TOLERANCE);
        }
        let totals: Vec<f64> = result.hypotheses.iter().map(|one| one.scores.total()).collect();
        prop_assert!(totals.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn a_lexicon_finds_every_string_of_its_words(values in values(), model in bigram()) {
        let log_probs = LogProbs::new("u", &values, TOKENS).unwrap();
        let mut symbols = SymbolTable::default();
        // The words 1 and 2, whose spellings overlap.
        let tree = SpellingTree::new([("a", vec![1]), ("ab", vec![1, 2])], &mut symbols).unwrap();
        let decoder = CtcDecoder::with_lexicon(vocabulary(), exhaustive(), tree.smeared(&model), Some(model.clone())).unwrap();
        let result = decoder.decode(&log_probs).unwrap();
        let strings = all_strings(&log_probs);
        for hypothesis in &result.hypotheses {
            let spelled: Vec<i32> = hypothesis.word_ids().iter().flat_map(|&word| if word == 1 { vec![1] } else { vec![1, 2] }).collect();
            prop_assert!((hypothesis.scores.acoustic - strings[&spelled]).abs() < TOLERANCE);
            let (mut state, mut lm) = (model.start(), 0.0);
            for word in hypothesis.word_ids() {
                let (next, score) = model.step(state, word).unwrap();
                (state, lm) = (next, lm + score);
            }
            lm += model.end(state).unwrap();
            prop_assert!((hypothesis.scores.language_model - 0.7 * lm).abs() < TOLERANCE);
        }
        let spellable = |string: &&Vec<i32>| {
            // No b without an a before it, and no two of them.
            (0..string.len()).all(|i| string[i] == 1 || i > 0 && string[i - 1] == 1)
        };
        prop_assert_eq!(result.hypotheses.len(), strings.keys().filter(spellable).count());
    }

    #[test]
    fn a_stream_returns_what_one_pass_does(
        values in prop::collection::vec(-6.0_f32..0.0, 0..40 * TOKENS),
        chunk in 1..7_usize,
        beam in 1..9_usize,
        kind in 0..3_u8,
    ) {
        let values = &values[..values.len() / TOKENS * TOKENS];
        let log_probs = LogProbs::new("u", values, TOKENS).unwrap();
        let options = CtcDecoderOptions::default().with_beam_size(beam).with_n_best(3);
        let decoder = match kind {
            0 => CtcDecoder::new(vocabulary(), options).unwrap().with_hot_texts(["ab", "ba"]).unwrap(),
            1 => CtcDecoder::<NoModel>::with_words(vocabulary().with_separator("b").unwrap(), options, None).unwrap(),
            _ => {
                let tree = SpellingTree::new([("a", vec![1]), ("bb", vec![2, 2])], &mut SymbolTable::default()).unwrap();
                CtcDecoder::with_lexicon(vocabulary(), options, tree, None).unwrap()
            }
        };
        let whole = decoder.decode(&log_probs);
        let mut stream = decoder.stream("u");
        let mut at = 0;
        let mut failed = None;
        while at < log_probs.num_frames() && failed.is_none() {
            let end = (at + chunk).min(log_probs.num_frames());
            failed = stream.accept(&log_probs.slice(at..end).unwrap()).err();
            let _ = stream.partial();
            at = end;
        }
        match failed {
            None => prop_assert_eq!(Ok(stream.finish()), whole),
            Some(error) => prop_assert_eq!(Err(error), whole),
        }
    }
}
