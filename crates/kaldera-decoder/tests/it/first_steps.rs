//! What somebody who has not read the documentation tries first.

use fsa::Ragged;
use fsa::graphs::ContextGraph;
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, SpellingTree};
use kaldera_decoder::transducer::{
    EncoderOutput, Fusion, StatelessModel, TransducerModel, TransducerOptions, beam_search, tdt_greedy_search,
};
use kaldera_decoder::{Error, FrameTimes, LogProbs, Recognition, Vocabulary, ctc};

fn logs(rows: &[[f32; 3]]) -> Vec<f32> {
    rows.iter().flatten().map(|p| p.ln()).collect()
}

fn vocabulary() -> Vocabulary {
    Vocabulary::new(["-", "a", "b"], 0).unwrap()
}

#[test]
fn nothing_said_is_a_result() {
    let none = LogProbs::new("utt", &[], 3).unwrap();
    let result = CtcDecoder::new(vocabulary(), CtcDecoderOptions::default()).unwrap().decode(&none).unwrap();
    assert_eq!((result.num_frames, result.hypotheses.len(), result.text()), (0, 1, String::new()));
    assert_eq!(ctc::greedy(&none, 0, &FrameTimes::default()).unwrap().tokens, []);
    assert!(Recognition::default().best().is_none());
}

#[test]
fn other_columns_than_tokens_are_an_error_with_the_utterance() {
    let values = [0.0; 4];
    let log_probs = LogProbs::new("utt-9", &values, 2).unwrap();
    let decoder = CtcDecoder::new(vocabulary(), CtcDecoderOptions::default()).unwrap();
    let expected = Error::Columns { utterance: "utt-9".into(), expected: 3, found: 2 };
    assert_eq!(decoder.decode(&log_probs), Err(expected));
}

#[test]
fn a_frame_without_probability_is_an_error_with_its_number() {
    let values = [0.0, -1.0, -1.0, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
    let log_probs = LogProbs::new("utt-9", &values, 3).unwrap();
    let decoder = CtcDecoder::new(vocabulary(), CtcDecoderOptions::default()).unwrap();
    assert_eq!(decoder.decode(&log_probs), Err(Error::NothingLeft { utterance: "utt-9".into(), frame: 1 }));
}

#[test]
fn a_lexicon_knows_its_words_alone() {
    let mut symbols = fsa::io::SymbolTable::default();
    let tree = SpellingTree::new([("ab", vec![1, 2]), ("ba", vec![2, 1])], &mut symbols).unwrap();
    let decoder =
        CtcDecoder::<ctc::NoModel>::with_lexicon(vocabulary(), CtcDecoderOptions::default(), tree, None).unwrap();
    let values = logs(&[[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.1, 0.3, 0.6]]);
    let result = decoder.decode(&LogProbs::new("utt", &values, 3).unwrap()).unwrap();
    let word = &result.best().unwrap().words[0];
    assert_eq!((result.text(), word.id, word.frames.clone()), ("ab".into(), symbols.find("ab").unwrap(), 0..3));
    let most = SpellingTree::new([("x", vec![9])], &mut symbols).unwrap();
    let refused = CtcDecoder::<ctc::NoModel>::with_lexicon(vocabulary(), CtcDecoderOptions::default(), most, None);
    assert!(matches!(refused, Err(Error::Label { label: 9, .. })));
}

#[test]
fn hot_words_that_cannot_be_spelled_are_errors() {
    let decoder = || CtcDecoder::new(vocabulary(), CtcDecoderOptions::default()).unwrap();
    assert!(matches!(decoder().with_hot_texts(["axb"]), Err(Error::Untokenizable { .. })));
    assert!(matches!(decoder().with_hot_texts([" "]), Err(Error::EmptyPhrase { .. })));
}

#[test]
fn hot_words_that_never_occur_change_nothing() {
    let values = logs(&[[0.2, 0.5, 0.3], [0.3, 0.4, 0.3], [0.5, 0.1, 0.4]]);
    let log_probs = LogProbs::new("utt", &values, 3).unwrap();
    let options = CtcDecoderOptions::default().with_beam_size(1000).with_n_best(100).with_word_score(0.0);
    let plain = CtcDecoder::new(vocabulary(), options.clone()).unwrap();
    let none = ContextGraph::new(&Ragged::from_lists(&Vec::<Vec<i32>>::new()).unwrap(), &[]).unwrap();
    let hot = CtcDecoder::new(vocabulary(), options.clone()).unwrap().with_hot_words(none.clone()).unwrap();
    assert_eq!(plain.decode(&log_probs), hot.decode(&log_probs));
    let texts = CtcDecoder::<ctc::NoModel>::with_words(vocabulary(), options, None).unwrap();
    assert!(matches!(texts.with_hot_words(none), Err(Error::HotWords)));
}

#[test]
fn transducers_take_several_tokens_of_a_frame() {
    // The joiner's weight lets the encoder's value through; the last token lowers its own score.
    let embedding = vec![0.0, 0.0, 0.0, -9.0, 0.0, 0.0, 0.0, -9.0, 0.0];
    let weight = vec![0.0, 0.0, 4.0, 4.0, 0.0, 0.0, 0.0, 4.0, 0.0];
    let model = StatelessModel::new(vec![embedding], weight, vec![0.0; 3], 3, 0).unwrap();
    let encoder = EncoderOutput::new("utt", &[2.0, 1.0, 0.5], 3).unwrap();
    let options = TransducerOptions::default().with_max_symbols_per_frame(2);
    let result = beam_search(&model, &encoder, &Fusion::NONE, &options, &FrameTimes::default()).unwrap();
    assert!(result.best().unwrap().tokens.len() <= 2);
    let refused = tdt_greedy_search(&model, &encoder, &options, &FrameTimes::default());
    assert!(matches!(refused, Err(Error::Size { .. })));
}

/// Takes the encoder's values as they are: three tokens, then the durations 0, 1 and 2.
struct Durations;

impl TransducerModel for Durations {
    type State = ();

    fn num_tokens(&self) -> usize {
        3
    }

    fn durations(&self) -> &[usize] {
        &[0, 1, 2]
    }

    fn start(&self) -> Result<(), Error> {
        Ok(())
    }

    fn advance(&self, (): &(), _: i32) -> Result<(), Error> {
        Ok(())
    }

    fn join(&self, encoder: &[f32], (): &(), scores: &mut [f32]) -> Result<(), Error> {
        scores.copy_from_slice(encoder);
        Ok(())
    }
}

#[test]
fn durations_say_which_frame_is_next() {
    let frame = |token: usize, duration: usize| {
        let mut row = [0.0; 6];
        (row[token], row[3 + duration]) = (5.0, 5.0);
        row
    };
    // The token 1 for two frames; a blank without a duration goes on by one; 2 cannot end its frame
    // and is taken once.
    let values = [frame(1, 2), frame(2, 1), frame(0, 0), frame(2, 0), frame(1, 1)].concat();
    let encoder = EncoderOutput::new("utt", &values, 6).unwrap();
    let result =
        tdt_greedy_search(&Durations, &encoder, &TransducerOptions::default(), &FrameTimes::default()).unwrap();
    let tokens: Vec<_> = result.tokens.iter().map(|token| (token.id, token.frames.clone())).collect();
    assert_eq!(tokens, [(1, 0..2), (2, 3..4), (1, 4..5)]);
}

#[test]
fn what_threads_share_may_be_shared() {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<CtcDecoder>();
    send_and_sync::<Vocabulary>();
    send_and_sync::<Recognition>();
    send_and_sync::<Error>();
}

#[cfg(feature = "serde")]
#[test]
fn options_are_read_and_written() {
    let options: CtcDecoderOptions = serde_json::from_str(r#"{"beam_size": 7, "lm_weight": 0.25}"#).unwrap();
    assert_eq!(options, CtcDecoderOptions::default().with_beam_size(7).with_lm_weight(0.25));
    assert!(serde_json::from_str::<CtcDecoderOptions>(r#"{"beam_width": 7}"#).is_err());
}
