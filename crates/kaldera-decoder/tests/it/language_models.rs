//! Decoders with n-gram models: back-off, models without the ends of sentences.

use fsa::graphs::{ArpaOptions, NgramModel};
use fsa::io::SymbolTable;
use fsa::lattice::LanguageModel;
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, SpellingTree, WordModel};
use kaldera_decoder::{Error, LogProbs, Vocabulary};
use proptest::prelude::*;

const TOKENS: usize = 4;
/// Sums of a few dozen doubles, of which the model's are read in single precision.
const TOLERANCE: f64 = 1e-6;

const TRIGRAMS: &str = "\\data\\\nngram 1=6\nngram 2=5\nngram 3=2\n\n\\1-grams:\n-99\t<s>\t-0.4\n-0.9\t</s>\n-1.5\t<unk>\n\
    -0.6\ta\t-0.3\n-0.7\tb\t-0.2\n-1.1\tab\t-0.1\n\n\\2-grams:\n-0.3\t<s> a\t-0.25\n-0.5\ta b\t-0.15\n-0.4\tb b\n\
    -0.8\tb </s>\n-0.2\tab a\n\n\\3-grams:\n-0.1\t<s> a b\n-0.35\ta b b\n\n\\end\\\n";
const WITHOUT_ENDS: &str = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1.5\t<unk>\n-0.6\ta\n-0.7\tb\n\n\\end\\\n";

fn model(arpa: &str, symbols: &mut SymbolTable) -> NgramModel {
    NgramModel::read(arpa.as_bytes(), symbols, &ArpaOptions::default(), &mut |_| {}).unwrap()
}

fn vocabulary() -> Vocabulary {
    Vocabulary::new(["-", "|", "a", "b"], 0).unwrap().with_separator("|").unwrap()
}

fn exhaustive() -> CtcDecoderOptions {
    let options = CtcDecoderOptions::default().with_beam_size(usize::MAX).with_beam_threshold(f64::INFINITY);
    options.with_n_best(usize::MAX).with_lm_weight(0.7).with_word_score(0.25)
}

/// A lexicon of the model's words, spelled by their characters.
fn lexicon(arpa: &str, options: CtcDecoderOptions) -> Result<(CtcDecoder<NgramModel>, NgramModel), Error> {
    let mut symbols = SymbolTable::default();
    let spellings = [("a", vec![2]), ("b", vec![3]), ("ab", vec![2, 3])];
    let tree = SpellingTree::new(spellings, &mut symbols)?;
    let model = model(arpa, &mut symbols);
    Ok((CtcDecoder::with_lexicon(vocabulary(), options, tree.smeared(&model), Some(model.clone()))?, model))
}

proptest! {
    #[test]
    fn words_have_the_score_of_the_model_with_its_back_off(values in prop::collection::vec(-4.0_f32..0.0, 0..6)) {
        // Up to six frames, each of the same values in another order.
        let values: Vec<f32> = values.iter().flat_map(|value| [*value, -0.7 * value - 3.0, -1.0, 0.4 * value]).collect();
        let log_probs = LogProbs::new("u", &values, TOKENS).unwrap();
        let (by_lexicon, model) = lexicon(TRIGRAMS, exhaustive()).unwrap();
        let result = by_lexicon.decode(&log_probs).unwrap();
        prop_assert!(!result.hypotheses.is_empty());
        for hypothesis in &result.hypotheses {
            let expected = 0.7 * model.score(&hypothesis.word_ids());
            prop_assert!((hypothesis.scores.language_model - expected).abs() < TOLERANCE, "{hypothesis:?}");
        }
    }
}

#[test]
fn a_model_without_ends_is_refused_where_they_are_scored() {
    let without = exhaustive().with_score_boundary(false);
    assert!(matches!(lexicon(WITHOUT_ENDS, exhaustive()), Err(Error::NoBoundaries)));
    let mut symbols = SymbolTable::default();
    let words = WordModel::new(model(WITHOUT_ENDS, &mut symbols), symbols, 1);
    assert!(matches!(CtcDecoder::with_words(vocabulary(), exhaustive(), Some(words)), Err(Error::NoBoundaries)));
    let (decoder, _) = lexicon(WITHOUT_ENDS, without).unwrap();
    let values = [-3.0_f32, -3.0, -0.1, -3.0];
    let result = decoder.decode(&LogProbs::new("u", &values, TOKENS).unwrap()).unwrap();
    assert_eq!(result.text(), "a");
    let expected = 0.7 * -0.6 * std::f64::consts::LN_10;
    assert!((result.best().unwrap().scores.language_model - expected).abs() < TOLERANCE);
}

/// Knows the token 2 alone.
struct OneToken;

impl LanguageModel for OneToken {
    type State = ();

    fn start(&self) {}

    fn step(&self, (): (), token: i32) -> Option<((), f64)> {
        (token == 2).then_some(((), -1.0))
    }

    fn end(&self, (): ()) -> Option<f64> {
        Some(0.0)
    }
}

#[test]
fn what_the_model_does_not_know_may_be_worth_more_than_the_beam_is_wide() {
    let options = CtcDecoderOptions::default().with_beam_threshold(1.0).with_unk_score(10.0);
    let decoder = CtcDecoder::with_tokens(vocabulary(), options, OneToken).unwrap();
    let log_probs = LogProbs::new("u", &[-0.1, -9.0, -3.0, -4.0], TOKENS).unwrap();
    assert_eq!(decoder.decode(&log_probs).unwrap().best().unwrap().token_ids(), [3]);
}

#[test]
fn words_that_nobody_can_find_are_refused() {
    let tree = |spelling| SpellingTree::new([("a", vec![2]), ("hum", spelling)], &mut SymbolTable::default()).unwrap();
    let refused = CtcDecoder::<NgramModel>::with_lexicon(vocabulary(), exhaustive(), tree(vec![2, 0, 3]), None);
    assert_eq!(refused.map(|_| ()), Err(Error::BlankSpelling { word: "hum".into(), blank: 0 }));
    assert!(CtcDecoder::<NgramModel>::with_lexicon(vocabulary(), exhaustive(), tree(vec![2, 3]), None).is_ok());
}

#[test]
fn every_decoder_names_the_utterance_that_it_cannot_take() {
    let (by_lexicon, model) = lexicon(TRIGRAMS, exhaustive()).unwrap();
    let mut symbols = SymbolTable::default();
    let word_model = WordModel::new(self::model(TRIGRAMS, &mut symbols), symbols, 3);
    let decoders = [
        by_lexicon,
        CtcDecoder::with_tokens(vocabulary(), exhaustive(), model).unwrap(),
        CtcDecoder::with_words(vocabulary(), exhaustive(), Some(word_model)).unwrap(),
    ];
    for decoder in &decoders {
        let few = LogProbs::new("utt-7", &[-1.0; 6], 3).unwrap();
        let expected = Error::Columns { utterance: "utt-7".into(), expected: 4, found: 3 };
        assert_eq!(decoder.decode(&few), Err(expected));
        let impossible = LogProbs::new("utt-7", &[f32::NEG_INFINITY; 4], 4).unwrap();
        let expected = Error::NothingLeft { utterance: "utt-7".into(), frame: 0 };
        assert_eq!(decoder.decode(&impossible), Err(expected));
        let nothing = decoder.decode(&LogProbs::new("utt-7", &[], 4).unwrap()).unwrap();
        assert_eq!((nothing.num_frames, nothing.text()), (0, String::new()));
    }
    let refused = LogProbs::new("utt-7", &[-1.0, f32::NAN], 2).unwrap_err();
    assert_eq!(refused.to_string(), "utt-7: frame 0, column 1: NaN is not finite");
}
