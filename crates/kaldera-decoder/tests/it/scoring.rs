//! Files that are scored: what is written is read again, and no text makes a reader panic.

use kaldera_decoder::score::{
    Keep, Rules, ScoreOptions, Spellings, StmSegment, TrnLine, read_ctm, read_stm, read_texts, read_trn, score_ctm,
    score_stm, score_texts, score_trn, score_words,
};
use proptest::prelude::*;

/// Lines of the words that the formats give a meaning.
fn lines() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("{"),
        Just("}"),
        Just("/"),
        Just("@"),
        Just("(a)"),
        Just("(a_1)"),
        Just(";;"),
        Just("=>"),
        Just("[ ]"),
        Just("__"),
        Just("f"),
        Just("1"),
        Just("0.5"),
        Just("-1"),
        Just("nan"),
        Just("1e308"),
        Just("<o>"),
        Just("é-"),
        Just("* *"),
        Just("<ALT_BEGIN>"),
        Just("()"),
    ];
    let line = prop::collection::vec(word, 0..9).prop_map(|words| words.join(" "));
    prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in lines(), other in lines(), odd in "\\PC{0,30}") {
        let rules = Rules::sclite().with_optional_words(true).with_fragments(true);
        for (text, other) in [(&text, &other), (&odd, &text)] {
            if let (Ok(references), Ok(hypotheses)) = (read_trn(text), read_trn(other)) {
                let _ = score_trn(&references, &hypotheses, &rules);
            }
            if let (Ok(references), Ok(hypotheses)) = (read_ctm(text), read_ctm(other)) {
                let _ = score_ctm(&references, &hypotheses, &rules, true);
            }
            if let (Ok(segments), Ok(words)) = (read_stm(text), read_ctm(other)) {
                let _ = score_stm(&segments, &words, &rules, Keep::Both);
            }
            if let Ok(aligned) = score_words(text, other, &rules) {
                let _ = aligned.picture();
            }
            let spellings = Spellings::read(text).unwrap_or_default().without_case().without_punctuation();
            let _ = (spellings.apply(other), spellings.apply_to_reference(other));
            if let (Ok(references), Ok(hypotheses)) = (read_texts(text), read_texts(other)) {
                let options = ScoreOptions::default().with_spellings(spellings);
                let _ = score_texts(&references, &hypotheses, &options, |name| name).map(|scored| scored.report(3));
            }
        }
    }

    #[test]
    fn written_references_are_read_again(words in prop::collection::vec("[a-c<>(){}é\"&]{1,4}", 0..6), start in 0..9000_u32) {
        let text = words.join(" ");
        let line = TrnLine::new("spk_1", text.clone());
        prop_assert_eq!(read_trn(&line.to_string()).unwrap(), [line]);
        let start = f64::from(start) / 8.0;
        let segment = StmSegment::new("rec", "A", "ann", start, start + 1.5, text);
        prop_assert_eq!(read_stm(&segment.to_string()).unwrap(), [segment]);
    }
}
