//! Beam searches of transducers beside all ways through their frames.

use std::collections::BTreeMap;

use kaldera_decoder::transducer::{
    EncoderOutput, Fusion, GreedyStream, TransducerModel, TransducerOptions, TransducerStream, TransducerTopology,
    beam_search, forced_align, greedy_search, modified_beam_search, tdt_beam_search, tdt_greedy_search,
};
use kaldera_decoder::{Error, FrameTimes};
use proptest::prelude::*;

const TOKENS: usize = 3;
/// Sums of a few dozen doubles.
const TOLERANCE: f64 = 1e-9;

/// The encoder's scores, and a bonus that depends on all tokens before: on their sum.
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

    fn advance(&self, sum: &usize, token: i32) -> Result<usize, Error> {
        Ok((sum + usize::try_from(token).unwrap()) % TOKENS)
    }

    fn join(&self, encoder: &[f32], sum: &usize, scores: &mut [f32]) -> Result<(), Error> {
        scores.copy_from_slice(encoder);
        for (score, more) in scores.iter_mut().zip(&self.after[*sum]) {
            *score += more;
        }
        Ok(())
    }
}

/// The state after these tokens.
fn state_after(tokens: &[i32]) -> usize {
    usize::try_from(tokens.iter().sum::<i32>()).unwrap() % TOKENS
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
        model.join(encoder.frame(frame), &state_after(tokens), &mut scores).unwrap();
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
                model.join(row, &state_after(&string), &mut scores).unwrap();
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

const TOPOLOGIES: [TransducerTopology; 3] =
    [TransducerTopology::Regular, TransducerTopology::Modified, TransducerTopology::Durations];

/// The best of all alignments of the tokens that are left: its score, and the first frames of these.
fn best_alignment(
    model: &Model,
    encoder: &EncoderOutput<'_>,
    topology: TransducerTopology,
    (frame, sum): (usize, usize),
    tokens: &[i32],
) -> Option<(f64, Vec<usize>)> {
    if frame >= encoder.num_frames() {
        return tokens.is_empty().then_some((0.0, vec![]));
    }
    let mut scores = vec![0.0; TOKENS + model.durations.len()];
    model.join(encoder.frame(frame), &sum, &mut scores).unwrap();
    let (of_tokens, of_durations) = (log_softmax(&scores[..TOKENS]), log_softmax(&scores[TOKENS..]));
    // The frames of a blank, those of a token, and their score.
    let steps: Vec<(usize, usize, f64)> = match topology {
        TransducerTopology::Regular => vec![(1, 0, 0.0)],
        TransducerTopology::Modified => vec![(1, 1, 0.0)],
        TransducerTopology::Durations => {
            model.durations.iter().zip(&of_durations).map(|(&frames, &score)| (frames.max(1), frames, score)).collect()
        }
    };
    let mut best: Option<(f64, Vec<usize>)> = None;
    let mut add = |score: f64, starts: Vec<usize>| {
        if best.as_ref().is_none_or(|best| score > best.0) {
            best = Some((score, starts));
        }
    };
    for (of_blank, of_token, score) in steps {
        if let Some((rest, starts)) = best_alignment(model, encoder, topology, (frame + of_blank, sum), tokens) {
            add(rest + score + of_tokens[0], starts);
        }
        let Some((&token, others)) = tokens.split_first() else { continue };
        let token = usize::try_from(token).unwrap();
        let next = (frame + of_token, (sum + token) % TOKENS);
        if let Some((rest, starts)) = best_alignment(model, encoder, topology, next, others) {
            add(rest + score + of_tokens[token], [vec![frame], starts].concat());
        }
    }
    best
}

proptest! {
    #[test]
    fn a_stream_gives_what_the_whole_gives(
        model in model(0),
        values in prop::collection::vec(-3.0_f32..3.0, 30),
        (frames, chunk) in (0..9_usize, 1..5_usize),
        (beam, most) in (1..5_usize, 1..4_usize),
        unk in prop::option::of(1..3_i32),
        topology in prop::sample::select(&TOPOLOGIES[..]),
    ) {
        let dim = TOKENS + model.durations.len();
        let values = encoder(&model, &values, frames);
        let (times, fusion) = (FrameTimes::default(), Fusion::NONE);
        let options = TransducerOptions::default().with_unk(unk).with_max_symbols_per_frame(most);
        let (one, several) = (options.clone(), options.with_beam(beam).with_n_best(beam));
        let searched = |encoder: &EncoderOutput<'_>| match topology {
            TransducerTopology::Regular => beam_search(&model, encoder, &fusion, &several, &times),
            TransducerTopology::Modified => modified_beam_search(&model, encoder, &fusion, &several, &times),
            TransducerTopology::Durations => tdt_beam_search(&model, encoder, &fusion, &several, &times),
        };
        let greedy = |encoder: &EncoderOutput<'_>| match topology {
            TransducerTopology::Regular => greedy_search(&model, encoder, &one, &times),
            TransducerTopology::Modified => greedy_search(&model, encoder, &one.clone().with_max_symbols_per_frame(1), &times),
            TransducerTopology::Durations => tdt_greedy_search(&model, encoder, &one, &times),
        };
        let mut beams = TransducerStream::new("u", &model, &fusion, topology, &several, times).unwrap();
        let mut greedies = GreedyStream::new("u", &model, topology, &one, times).unwrap();
        for chunk in values.chunks(chunk * dim) {
            let chunk = EncoderOutput::new("u", chunk, dim).unwrap();
            beams.accept(&chunk).unwrap();
            greedies.accept(&chunk).unwrap();
            // Without hot words, nothing is added at the end.
            let so_far = EncoderOutput::new("u", &values[..beams.num_frames() * dim], dim).unwrap();
            prop_assert_eq!(beams.partial(), searched(&so_far).unwrap());
            prop_assert_eq!(greedies.partial().hypotheses, [greedy(&so_far).unwrap()]);
        }
        let whole = EncoderOutput::new("u", &values, dim).unwrap();
        let expected = searched(&whole).unwrap();
        prop_assert!(expected.hypotheses.iter().all(|one| unk.is_none_or(|unk| !one.token_ids().contains(&unk))));
        prop_assert_eq!(beams.finish(), expected);
        prop_assert_eq!((greedies.num_frames(), greedies.finish().hypotheses), (frames, vec![greedy(&whole).unwrap()]));
    }

    #[test]
    fn the_best_alignment_is_found(
        model in model(0),
        values in prop::collection::vec(-3.0_f32..3.0, 24),
        frames in 0..5_usize,
        tokens in prop::collection::vec(1..3_i32, 0..4),
        topology in prop::sample::select(&TOPOLOGIES[..]),
    ) {
        let values = encoder(&model, &values, frames);
        let encoder = EncoderOutput::new("u", &values, TOKENS + model.durations.len()).unwrap();
        let options = TransducerOptions::default();
        let found = forced_align(&model, &encoder, &tokens, topology, &options, &FrameTimes::default());
        let Some((score, starts)) = best_alignment(&model, &encoder, topology, (0, 0), &tokens) else {
            let is_too_long = matches!(found, Err(Error::TooFewFrames { .. }));
            prop_assert!(is_too_long);
            return Ok(());
        };
        let found = found.unwrap();
        prop_assert!((found.scores.acoustic - score).abs() < TOLERANCE, "{} {}", found.scores.acoustic, score);
        prop_assert_eq!(found.token_ids(), tokens);
        prop_assert_eq!(found.tokens.iter().map(|token| token.frames.start).collect::<Vec<_>>(), starts);
        prop_assert!(found.tokens.iter().all(|token| !token.frames.is_empty() && token.frames.end <= frames));
    }
}

#[test]
fn transcripts_that_cannot_be_aligned_are_refused() {
    let model = Model { durations: vec![], after: [[0.0; 3]; 3] };
    let encoder = EncoderOutput::new("u", &[0.0; 6], TOKENS).unwrap();
    let align = |tokens: &[i32], options: &TransducerOptions| {
        forced_align(&model, &encoder, tokens, TransducerTopology::Modified, options, &FrameTimes::default())
            .unwrap_err()
    };
    let options = TransducerOptions::default();
    assert!(matches!(align(&[1, 0], &options), Error::BlankLabel { position: 1, .. }));
    assert!(matches!(align(&[2], &options.clone().with_unk(Some(2))), Error::BlankLabel { blank: 2, .. }));
    assert!(matches!(align(&[1, 3], &options), Error::Label { label: 3, num_tokens: 3, .. }));
    assert!(matches!(align(&[1, 1, 1], &options), Error::TooFewFrames { needed: 3, num_frames: 2, .. }));
    let times = FrameTimes::default();
    let refused = forced_align(&model, &encoder, &[1], TransducerTopology::Durations, &options, &times);
    assert!(matches!(refused, Err(Error::Size { expected: 1, found: 0, .. })));
    // Tokens of 2 frames at least, of which the last may be cut off.
    let with_durations = Model { durations: vec![3, 2], ..model.clone() };
    let encoder = EncoderOutput::new("u", &[0.0; 10], TOKENS + 2).unwrap();
    let align = |tokens: &[i32]| {
        forced_align(&with_durations, &encoder, tokens, TransducerTopology::Durations, &options, &times)
    };
    assert!(matches!(align(&[1, 2]), Err(Error::TooFewFrames { needed: 3, num_frames: 2, .. })));
    assert_eq!(align(&[1]).unwrap().tokens[0].frames, 0..2);
    // Any number of tokens is in a frame, but not in none.
    let long = [1; 40];
    let rows = EncoderOutput::new("u", &[0.0; 3], TOKENS).unwrap();
    let found = forced_align(&model, &rows, &long, TransducerTopology::Regular, &options, &times).unwrap();
    assert!(found.tokens.len() == 40 && found.tokens.iter().all(|token| token.frames == (0..1)));
    let nothing = EncoderOutput::new("u", &[], TOKENS).unwrap();
    let refused = forced_align(&model, &nothing, &long, TransducerTopology::Regular, &options, &times);
    assert!(matches!(refused, Err(Error::TooFewFrames { needed: 1, num_frames: 0, .. })));
}
