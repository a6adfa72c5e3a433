//! What transducers refuse, with the utterance and the frame.

use kaldera_decoder::transducer::{
    EncoderOutput, Fusion, StatelessModel, TransducerModel, TransducerOptions, TransducerTopology, forced_align,
    greedy_search, modified_beam_search,
};
use kaldera_decoder::{Error, FrameTimes};

/// A model of three tokens whose joiner or predictor fails after a token.
#[derive(Clone, Copy)]
struct Failing {
    joiner: bool,
}

impl Failing {
    fn error(part: &'static str) -> Error {
        Error::Model { part, reason: "no memory".to_owned() }
    }
}

impl TransducerModel for Failing {
    type State = bool;

    fn num_tokens(&self) -> usize {
        3
    }

    fn start(&self) -> Result<bool, Error> {
        Ok(false)
    }

    fn advance(&self, _: &bool, _: i32) -> Result<bool, Error> {
        if self.joiner { Ok(true) } else { Err(Self::error("predictor")) }
    }

    fn join(&self, encoder: &[f32], after: &bool, scores: &mut [f32]) -> Result<(), Error> {
        scores.copy_from_slice(encoder);
        if *after { Err(Self::error("joiner")) } else { Ok(()) }
    }
}

#[test]
fn a_model_that_fails_is_named_with_the_utterance_and_the_frame() {
    // Blank, then the token 1.
    let encoder = EncoderOutput::new("utt-7", &[9.0, 0.0, 0.0, 0.0, 9.0, 0.0, 9.0, 0.0, 0.0], 3).unwrap();
    let (options, times) = (TransducerOptions::default().with_beam(1), FrameTimes::default());
    for (model, said) in [
        (Failing { joiner: true }, "utt-7: frame 2: the transducer's joiner: no memory"),
        (Failing { joiner: false }, "utt-7: frame 1: the transducer's predictor: no memory"),
    ] {
        let beam = modified_beam_search(&model, &encoder, &Fusion::NONE, &options, &times).unwrap_err();
        let greedy = greedy_search(&model, &encoder, &options, &times).unwrap_err();
        assert_eq!([beam.to_string(), greedy.to_string()], [said; 2]);
    }
    let error =
        forced_align(&Failing { joiner: false }, &encoder, &[1], TransducerTopology::Modified, &options, &times)
            .unwrap_err();
    assert_eq!(error.to_string(), "utt-7: the transducer's predictor: no memory");
}

#[test]
fn transcripts_that_are_too_long_to_align_have_a_remedy() {
    let model = StatelessModel::new(vec![], vec![0.0; 2], vec![0.0; 2], 1, 0).unwrap();
    let values = vec![0.0; 8192];
    let encoder = EncoderOutput::new("utt-7", &values, 1).unwrap();
    let options = TransducerOptions::default();
    let error =
        forced_align(&model, &encoder, &[1; 4096], TransducerTopology::Modified, &options, &FrameTimes::default());
    let error = error.unwrap_err();
    assert!(matches!(error, Error::TooManyPairs { num_frames: 8192, labels: 4096, most: 0x100_0000, .. }), "{error}");
    assert!(error.to_string().starts_with("utt-7: 8192 frames and 4096 labels") && error.to_string().contains("cut"));
}
