//! Beam searches of transducers beside all ways through their frames.

use std::collections::BTreeMap;

use kaldera_decoder::transducer::{
    EncoderOutput, Fusion, TransducerModel, TransducerOptions, TransducerStream, beam_search, forced_align,
    modified_beam_search, tdt_beam_search, tdt_greedy_search,
};
use kaldera_decoder::{Error, FrameTimes};
use proptest::prelude::*;

const TOKENS: usize = 3;
/// Sums of a few dozen doubles.
const TOLERANCE: f64 = 1e-9;

/// The encoder's scores, and another bonus after each token.
#[derive(Debug, Clone)]
struct Model {
    durations: Vec<usize>,
    after: [[f32; TOKENS]; TOKENS],
}

impl TransducerModel for Model {
    type State = usize;

    fn num_tokens(&self) -> usize {
        TOKENS
    }

    fn durations(&self) -> &[usize] {
        &self.durations
    }

    fn encoder_dim(&self) -> Option<usize> {
        Some(TOKENS + self.durations.len())
    }

    fn start(&self) -> Result<usize, Error> {
        Ok(0)
    }

    fn advance(&self, _: &usize, token: i32) -> Result<usize, Error> {
        Ok(usize::try_from(token).unwrap())
    }

    fn join(&self, encoder: &[f32], last: &usize, scores: &mut [f32]) -> Result<(), Error> {
        scores.copy_from_slice(encoder);
        for (score, more) in scores.iter_mut().zip(&self.after[*last]) {
            *score += more;
        }
        Ok(())
    }
}

fn log_softmax(scores: &[f32]) -> Vec<f64> {
    let sum: f64 = scores.iter().map(|&score| f64::from(score).exp()).sum();
    scores.iter().map(|&score| f64::from(score) - sum.ln()).collect()
}

/// The probability of each string of tokens: the sum over all ways through the frames.
fn all_strings(model: &Model, encoder: &EncoderOutput<'_>, most: usize) -> BTreeMap<Vec<i32>, f64> {
    fn walk(
        (model, encoder, most): (&Model, &EncoderOutput<'_>, usize),
        (frame, taken): (usize, usize),
        tokens: &mut Vec<i32>,
        score: f64,
        sums: &mut BTreeMap<Vec<i32>, f64>,
    ) {
        if frame >= encoder.num_frames() {
            *sums.entry(tokens.clone()).or_insert(0.0) += score.exp();
            return;
        }
        let mut scores = vec![0.0; TOKENS + model.durations.len()];
        let last = tokens.last().map_or(0, |&token| usize::try_from(token).unwrap());
        model.join(encoder.frame(frame), &last, &mut scores).unwrap();
        let (of_tokens, of_durations) = (log_softmax(&scores[..TOKENS]), log_softmax(&scores[TOKENS..]));
        for (token, of_token) in (0..).zip(&of_tokens) {
            for (place, &duration) in model.durations.iter().enumerate() {
                let score = score + of_token + of_durations[place];
                if token == 0 {
                    walk((model, encoder, most), (frame + duration.max(1), 0), tokens, score, sums);
                    continue;
                }
                tokens.push(token);
                let next = match duration {
                    0 if taken + 1 < most => (frame, taken + 1),
                    0 => (frame + 1, 0),
                    _ => (frame + duration, 0),
                };
                walk((model, encoder, most), next, tokens, score, sums);
                tokens.pop();
            }
        }
    }
    let mut sums = BTreeMap::new();
    walk((model, encoder, most), (0, 0), &mut vec![], 0.0, &mut sums);
    sums.into_iter().map(|(string, sum)| (string, sum.ln())).collect()
}

/// The same without durations: up to `most` tokens in a frame and then its blank, or, with `one`,
/// one token or the blank.
fn all_of_frames(model: &Model, encoder: &EncoderOutput<'_>, most: usize, one: bool) -> BTreeMap<Vec<i32>, f64> {
    let mut sums = BTreeMap::from([(vec![], 1.0)]);
    for row in encoder.frames() {
        let mut ended: BTreeMap<Vec<i32>, f64> = BTreeMap::new();
        for _ in 0..=most {
            let mut longer: BTreeMap<Vec<i32>, f64> = BTreeMap::new();
            for (string, sum) in sums {
                let mut scores = [0.0; TOKENS];
                let last = string.last().map_or(0, |&token| usize::try_from(token).unwrap());
                model.join(row, &last, &mut scores).unwrap();
                let scores = log_softmax(&scores);
                *ended.entry(string.clone()).or_insert(0.0) += sum * scores[0].exp();
                for (token, score) in (1..).zip(&scores[1..]) {
                    let grown = [&string[..], &[token]].concat();
                    *if one { &mut ended } else { &mut longer }.entry(grown).or_insert(0.0) += sum * score.exp();
                }
            }
            sums = longer;
        }
        sums = ended;
    }
    sums.into_iter().map(|(string, sum)| (string, sum.ln())).collect()
}

fn model(least: usize) -> impl Strategy<Value = Model> {
    let durations = prop::collection::btree_set(least..4_usize, 1..4);
    let after = prop::array::uniform3(prop::array::uniform3(-1.0_f32..1.0));
    (durations, after).prop_map(|(durations, after)| Model { durations: durations.into_iter().collect(), after })
}

fn encoder(model: &Model, values: &[f32], frames: usize) -> Vec<f32> {
    values.iter().copied().cycle().take(frames * (TOKENS + model.durations.len())).collect()
}

#[test]
fn counts_that_make_no_sense_are_refused() {
    let model = Model { durations: vec![1], after: [[0.0; 3]; 3] };
    let encoder = EncoderOutput::new("u", &[9.0, 0.0, 0.0, 0.0], TOKENS + 1).unwrap();
    let search =
        |options: TransducerOptions| tdt_beam_search(&model, &encoder, &Fusion::NONE, &options, &FrameTimes::default());
    let options = TransducerOptions::default();
    // A hypothesis without tokens is not divided by 0.
    let found = search(options.clone().with_length_norm(Some(0)).with_n_best(2)).unwrap();
    assert_eq!(found.hypotheses.iter().map(|of| of.tokens.len()).collect::<Vec<_>>(), [0, 1]);
    for (name, options) in [
        ("max_symbols", options.clone().with_max_symbols(0)),
        ("max_symbols_per_frame", options.clone().with_max_symbols_per_frame(0)),
        ("max_symbols_per_frame", options.clone().with_max_symbols_per_frame(usize::MAX)),
    ] {
        assert!(matches!(search(options), Err(Error::Option { name: of, .. }) if of == name), "{name}");
    }
}

proptest! {
    #[test]
    fn a_beam_that_cuts_nothing_finds_every_string_with_its_sum(
        model in model(0),
        values in prop::collection::vec(-3.0_f32..3.0, 18),
        frames in 0..4_usize,
        most in 1..3_usize,
    ) {
        let values = encoder(&model, &values, frames);
        let encoder = EncoderOutput::new("u", &values, TOKENS + model.durations.len()).unwrap();
        let options = TransducerOptions::default().with_beam(usize::MAX).with_n_best(usize::MAX).with_max_symbols_per_frame(most);
        let result = tdt_beam_search(&model, &encoder, &Fusion::NONE, &options, &FrameTimes::default()).unwrap();
        let strings = all_strings(&model, &encoder, most);
        prop_assert_eq!(result.hypotheses.len(), strings.len());
        for hypothesis in &result.hypotheses {
            let sum = strings[&hypothesis.token_ids()];
            prop_assert!((hypothesis.scores.total() - sum).abs() < TOLERANCE, "{} {}", hypothesis.scores.total(), sum);
            prop_assert!(hypothesis.tokens.iter().all(|token| !token.frames.is_empty() && token.frames.end <= frames));
            prop_assert!(hypothesis.tokens.is_sorted_by_key(|token| token.frames.start));
        }
    }

    #[test]
    fn frames_of_one_token_or_of_several_have_their_sums(
        after in prop::array::uniform3(prop::array::uniform3(-1.0_f32..1.0)),
        values in prop::collection::vec(-3.0_f32..3.0, 0..4 * TOKENS),
        most in 1..3_usize,
        one: bool,
    ) {
        let model = Model { durations: vec![], after };
        let values = &values[..values.len() / TOKENS * TOKENS];
        let encoder = EncoderOutput::new("u", values, TOKENS).unwrap();
        let options = TransducerOptions::default().with_beam(usize::MAX).with_n_best(usize::MAX).with_max_symbols_per_frame(most);
        let times = FrameTimes::default();
        let result = if one {
            modified_beam_search(&model, &encoder, &Fusion::NONE, &options, &times).unwrap()
        } else {
            beam_search(&model, &encoder, &Fusion::NONE, &options, &times).unwrap()
        };
        let strings = all_of_frames(&model, &encoder, most, one);
        prop_assert_eq!(result.hypotheses.len(), strings.len());
        for hypothesis in &result.hypotheses {
            prop_assert!((hypothesis.scores.total() - strings[&hypothesis.token_ids()]).abs() < TOLERANCE);
        }
    }

    #[test]
    fn one_hypothesis_is_what_the_greedy_search_finds(model in model(1), values in prop::collection::vec(-3.0_f32..3.0, 60), frames in 0..12_usize) {
        let values = encoder(&model, &values, frames);
        let encoder = EncoderOutput::new("u", &values, TOKENS + model.durations.len()).unwrap();
        let (options, times) = (TransducerOptions::default().with_beam(1), FrameTimes::default());
        let result = tdt_beam_search(&model, &encoder, &Fusion::NONE, &options, &times).unwrap();
        let greedy = tdt_greedy_search(&model, &encoder, &options, &times).unwrap();
        let places = |tokens: &[kaldera_decoder::Segment]| tokens.iter().map(|token| (token.id, token.frames.clone())).collect::<Vec<_>>();
        prop_assert_eq!(places(&result.best().unwrap().tokens), places(&greedy.tokens));
        prop_assert!((result.best().unwrap().scores.total() - greedy.scores.total()).abs() < TOLERANCE);
    }
}

#[test]
fn what_a_search_cannot_take_is_named() {
    let model = Model { durations: vec![1], after: [[0.0; TOKENS]; TOKENS] };
    let search = |values: &[f32], dim, times: &FrameTimes| {
        let encoder = EncoderOutput::new("utt-3", values, dim).unwrap();
        tdt_beam_search(&model, &encoder, &Fusion::NONE, &TransducerOptions::default(), times).map(|_| ())
    };
    let times = FrameTimes::default();
    let expected = Error::EncoderDim { utterance: "utt-3".into(), expected: 4, found: 5 };
    assert_eq!(search(&[0.0; 5], 5, &times), Err(expected));
    assert_eq!(search(&[], 4, &times), Ok(()));
    let impossible = [0.0, f32::MIN, f32::MIN, 0.0];
    assert_eq!(search(&impossible, 4, &times), Ok(()));
    for shift in [0.0, -0.01, f64::NAN, f64::INFINITY] {
        let refused = search(&[0.0; 4], 4, &FrameTimes::new(shift));
        assert!(matches!(refused, Err(Error::Option { name: "frame_shift", .. })), "{shift}");
    }
    let refused = search(&[0.0; 4], 4, &times.with_subsampling(0));
    assert!(matches!(refused, Err(Error::Option { name: "subsampling", .. })));
}

/// All alignments of a transcript with one token or none in each frame: the score of the best, and
/// the frames of its tokens.
fn best_alignment(model: &Model, encoder: &EncoderOutput<'_>, tokens: &[i32]) -> Option<(f64, Vec<usize>)> {
    let num_frames = encoder.num_frames();
    let mut best: Option<(f64, Vec<usize>)> = None;
    for chosen in 0_u32..1 << num_frames {
        let frames: Vec<usize> = (0..num_frames).filter(|frame| chosen >> frame & 1 == 1).collect();
        if frames.len() != tokens.len() {
            continue;
        }
        let (mut total, mut last, mut rest) = (0.0, 0, tokens);
        for frame in 0..num_frames {
            let mut scores = [0.0; TOKENS];
            model.join(encoder.frame(frame), &last, &mut scores).unwrap();
            let scores = log_softmax(&scores);
            if frames.contains(&frame) {
                last = usize::try_from(rest[0]).unwrap();
                rest = &rest[1..];
                total += scores[last];
            } else {
                total += scores[0];
            }
        }
        if best.as_ref().is_none_or(|best| total > best.0) {
            best = Some((total, frames));
        }
    }
    best
}

proptest! {
    #[test]
    fn a_stream_gives_what_the_whole_gives(
        after in prop::array::uniform3(prop::array::uniform3(-1.0_f32..1.0)),
        values in prop::collection::vec(-3.0_f32..3.0, 0..9 * TOKENS),
        beam in 1..5_usize,
        chunk in 1..5_usize,
        unk in prop::option::of(1..3_i32),
    ) {
        let model = Model { durations: vec![], after };
        let values = &values[..values.len() / TOKENS * TOKENS];
        let (times, fusion) = (FrameTimes::default(), Fusion::NONE);
        let options = TransducerOptions::default().with_beam(beam).with_n_best(beam).with_unk(unk);
        let mut stream = TransducerStream::new("u", &model, &fusion, &options, times).unwrap();
        for chunk in values.chunks(chunk * TOKENS) {
            stream.accept(&EncoderOutput::new("u", chunk, TOKENS).unwrap()).unwrap();
            // Without hot words, nothing is added at the end.
            let so_far = EncoderOutput::new("u", &values[..stream.num_frames() * TOKENS], TOKENS).unwrap();
            let expected = modified_beam_search(&model, &so_far, &fusion, &options, &times).unwrap();
            prop_assert_eq!(stream.partial(), expected);
        }
        let whole = EncoderOutput::new("u", values, TOKENS).unwrap();
        let expected = modified_beam_search(&model, &whole, &fusion, &options, &times).unwrap();
        prop_assert!(expected.hypotheses.iter().all(|one| unk.is_none_or(|unk| !one.token_ids().contains(&unk))));
        prop_assert_eq!(stream.finish(), expected);
    }

    #[test]
    fn the_best_alignment_is_found(
        after in prop::array::uniform3(prop::array::uniform3(-1.0_f32..1.0)),
        values in prop::collection::vec(-3.0_f32..3.0, 0..6 * TOKENS),
        tokens in prop::collection::vec(1..3_i32, 0..5),
    ) {
        let model = Model { durations: vec![], after };
        let values = &values[..values.len() / TOKENS * TOKENS];
        let encoder = EncoderOutput::new("u", values, TOKENS).unwrap();
        let found = forced_align(&model, &encoder, &tokens, &TransducerOptions::default(), &FrameTimes::default());
        let Some((score, frames)) = best_alignment(&model, &encoder, &tokens) else {
            let is_too_long = matches!(found, Err(Error::TooFewFrames { .. }));
            prop_assert!(is_too_long);
            return Ok(());
        };
        let found = found.unwrap();
        prop_assert!((found.scores.acoustic - score).abs() < TOLERANCE, "{} {}", found.scores.acoustic, score);
        prop_assert_eq!(found.token_ids(), tokens);
        prop_assert_eq!(found.tokens.iter().map(|token| token.frames.start).collect::<Vec<_>>(), frames);
    }
}

#[test]
fn transcripts_that_cannot_be_aligned_are_refused() {
    let model = Model { durations: vec![], after: [[0.0; 3]; 3] };
    let encoder = EncoderOutput::new("u", &[0.0; 6], TOKENS).unwrap();
    let align = |tokens: &[i32], options: &TransducerOptions| {
        forced_align(&model, &encoder, tokens, options, &FrameTimes::default()).unwrap_err()
    };
    let options = TransducerOptions::default();
    assert!(matches!(align(&[1, 0], &options), Error::BlankLabel { position: 1, .. }));
    assert!(matches!(align(&[2], &options.clone().with_unk(Some(2))), Error::BlankLabel { blank: 2, .. }));
    assert!(matches!(align(&[1, 3], &options), Error::Label { label: 3, num_tokens: 3, .. }));
    assert!(matches!(align(&[1, 1, 1], &options), Error::TooFewFrames { needed: 3, num_frames: 2, .. }));
    let with_durations = Model { durations: vec![1], ..model.clone() };
    let encoder = EncoderOutput::new("u", &[0.0; 8], TOKENS + 1).unwrap();
    let refused = forced_align(&with_durations, &encoder, &[1], &options, &FrameTimes::default());
    assert!(matches!(refused, Err(Error::Size { expected: 0, found: 1, .. })));
}
