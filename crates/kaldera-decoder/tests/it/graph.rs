//! Recognition with the smallest graph: CTC's topology, in which every token is a word.

use std::collections::HashMap;

use fsa::dense::DenseOptions;
use fsa::graphs::ctc_topo;
use fsa::io::OpenFstText;
use kaldera_decoder::graph::{EndpointRule, EndpointRules, GraphOptions, GraphRecognizer, WordSpellings};
use kaldera_decoder::{Error, FrameTimes, Hypothesis, LogProbs, Segment, ctc};
use proptest::prelude::*;

const TOKENS: usize = 4;
/// Scores of the search are single-precision sums of a few dozen values.
const TOLERANCE: f64 = 1e-3;

fn recognizer(scale: f32) -> GraphRecognizer {
    let search = DenseOptions::default().with_search_beam(f32::INFINITY).with_output_beam(4.0);
    let options = GraphOptions::default().with_search(search).with_acoustic_scale(scale);
    GraphRecognizer::new(ctc_topo(TOKENS - 1, false).unwrap(), None, options).unwrap()
}

proptest! {
    #[test]
    fn the_best_path_of_the_topology_is_the_best_token_of_each_frame(
        values in prop::collection::vec(-6.0_f32..0.0, TOKENS..10 * TOKENS),
        chunk in 1..7_usize,
        scale in 0.5_f32..2.0,
    ) {
        let values = &values[..values.len() / TOKENS * TOKENS];
        let log_probs = LogProbs::new("u", values, TOKENS).unwrap();
        let greedy = ctc::greedy(&log_probs, 0, &FrameTimes::default()).unwrap();
        let recognizer = recognizer(scale);
        let whole = recognizer.decode(&log_probs).unwrap();
        let best = whole.best().unwrap();
        prop_assert_eq!(best.word_ids(), greedy.token_ids());
        prop_assert_eq!(best.token_ids(), greedy.token_ids());
        let scaled = f64::from(scale) * greedy.scores.acoustic;
        prop_assert!((best.scores.acoustic - scaled).abs() < TOLERANCE);
        prop_assert!(best.words.iter().all(|word| word.confidence.is_some_and(|share| (0.0..=1.0 + 1e-4).contains(&share))));
        let mut stream = recognizer.stream("u");
        for start in (0..log_probs.num_frames()).step_by(chunk) {
            let end = (start + chunk).min(log_probs.num_frames());
            recognizer.accept(&mut stream, &log_probs.slice(start..end).unwrap()).unwrap();
            let so_far = recognizer.partial(&stream).unwrap();
            let greedy = ctc::greedy(&log_probs.slice(0..end).unwrap(), 0, &FrameTimes::default()).unwrap();
            let so_far = so_far.best().unwrap();
            prop_assert_eq!(so_far.word_ids(), greedy.token_ids());
            let frames = |segments: &[Segment]| segments.iter().map(|one| one.frames.clone()).collect::<Vec<_>>();
            prop_assert_eq!(frames(&so_far.words), frames(&greedy.tokens));
            let scaled = f64::from(scale) * greedy.scores.acoustic;
            prop_assert!((so_far.scores.acoustic - scaled).abs() < TOLERANCE);
        }
        prop_assert_eq!(recognizer.finish(&stream).unwrap(), whole);
    }
}

#[test]
fn words_of_every_hypothesis_are_in_the_frames_of_its_own_alignment() {
    // Words are tokens here: the runs of the alignment that are not blank.
    let values: Vec<f32> = (0_u16..40).map(|i| -f32::from(i * 37 % 23) / 8.0).collect();
    let search = DenseOptions::default().with_search_beam(f32::INFINITY).with_output_beam(6.0);
    let options = GraphOptions::default().with_search(search).with_acoustic_scale(0.5).with_n_best(20);
    let recognizer = GraphRecognizer::new(ctc_topo(TOKENS - 1, false).unwrap(), None, options).unwrap();
    let result = recognizer.decode(&LogProbs::new("u", &values, TOKENS).unwrap()).unwrap();
    assert_eq!(result.hypotheses.len(), 20);
    for hypothesis in &result.hypotheses {
        let frames = |segments: &[Segment]| segments.iter().map(|one| one.frames.clone()).collect::<Vec<_>>();
        assert_eq!(frames(&hypothesis.words), frames(&hypothesis.tokens), "{:?}", hypothesis.word_ids());
    }
}

#[test]
fn words_begin_with_their_first_token_wherever_the_graph_has_them() {
    // Word 1 is the tokens 1 2, word 2 is 1 3: determinized, the graph has each with its second token.
    let graph = OpenFstText::default()
        .read("0 0 1 0\n0 1 2 0\n1 1 1 0\n1 2 3 1\n1 2 4 2\n2 2 1 0\n2 2 3 0\n2 1 2 0\n2\n")
        .unwrap();
    let recognizer = GraphRecognizer::new(graph, None, GraphOptions::default()).unwrap();
    let best_tokens = [0, 1, 0, 2, 2, 0, 0, 1, 3];
    let values: Vec<f32> = best_tokens
        .iter()
        .flat_map(|&best| (0..TOKENS).map(move |token| if token == best { -0.1 } else { -9.0 }))
        .collect();
    let frames = |recognizer: &GraphRecognizer| {
        let result = recognizer.decode(&LogProbs::new("u", &values, TOKENS).unwrap()).unwrap();
        let words = &result.best().unwrap().words;
        words.iter().map(|word| (word.id, word.frames.clone())).collect::<Vec<_>>()
    };
    assert_eq!(frames(&recognizer), [(1, 3..8), (2, 8..9)]);
    let spellings = HashMap::from([(1, vec![vec![1, 2]]), (2, vec![vec![1, 3]])]);
    let recognizer = recognizer.with_spellings(WordSpellings::new(spellings, None));
    assert_eq!(frames(&recognizer), [(1, 1..5), (2, 7..9)]);
}

#[test]
fn hypotheses_are_ordered_by_totals_with_the_acoustic_scale() {
    let values: Vec<f32> = (0_u16..40).map(|i| -f32::from(i * 37 % 23) / 8.0).collect();
    for scale in [0.25, 1.0, 1.5] {
        let search = DenseOptions::default().with_search_beam(f32::INFINITY).with_output_beam(4.0);
        let options = GraphOptions::default().with_search(search).with_acoustic_scale(scale).with_n_best(10);
        let recognizer = GraphRecognizer::new(ctc_topo(TOKENS - 1, false).unwrap(), None, options).unwrap();
        let result = recognizer.decode(&LogProbs::new("u", &values, TOKENS).unwrap()).unwrap();
        assert_eq!(result.hypotheses.len(), 10, "{scale}");
        let totals: Vec<f64> = result.hypotheses.iter().map(|one| one.scores.total()).collect();
        assert!(totals.is_sorted_by(|a, b| *a >= b - TOLERANCE), "{totals:?}");
        // The topology has no scores of its own.
        let acoustic = |hypothesis: &Hypothesis| {
            let class = |frame: usize| {
                let own = hypothesis.tokens.iter().find(|token| token.frames.contains(&frame));
                own.map_or(0, |token| usize::try_from(token.id).unwrap())
            };
            (0..10).map(|frame| f64::from(values[frame * TOKENS + class(frame)])).sum::<f64>()
        };
        for (hypothesis, total) in result.hypotheses.iter().zip(&totals) {
            assert!((total - f64::from(scale) * acoustic(hypothesis)).abs() < TOLERANCE, "{total} {scale}");
        }
        let posteriors = result.posteriors();
        assert!((posteriors[1] / posteriors[0] - (totals[1] - totals[0]).exp()).abs() < TOLERANCE);
    }
}

#[test]
fn silence_at_the_end_is_an_endpoint() {
    let rules = EndpointRules::new(vec![EndpointRule::new(true, 0.03, f32::INFINITY, 0.0)]);
    let options = GraphOptions::default().with_endpoints(rules);
    let recognizer = GraphRecognizer::new(ctc_topo(1, false).unwrap(), None, options).unwrap();
    let mut stream = recognizer.stream("u");
    assert_eq!(recognizer.endpoint(&stream), Ok(None));
    let mut ended = vec![];
    for spoken in [false, true, true, false, false, false, false] {
        let frame = if spoken { [-3.0, -0.1] } else { [-0.1, -3.0] };
        recognizer.accept(&mut stream, &LogProbs::new("u", &frame, 2).unwrap()).unwrap();
        ended.push(recognizer.endpoint(&stream).unwrap());
    }
    assert_eq!(ended, [None, None, None, None, None, Some(1), Some(1)]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let made = |options| GraphRecognizer::new(ctc_topo(1, false).unwrap(), None, options).map(|_| ());
    assert!(matches!(made(GraphOptions::default().with_n_best(0)), Err(Error::Option { name: "n_best", .. })));
    let scale = GraphOptions::default().with_acoustic_scale(f32::NAN);
    assert!(matches!(made(scale), Err(Error::Option { name: "acoustic_scale", .. })));
    let recognizer = recognizer(1.0);
    let few = LogProbs::new("u", &[0.0; 2], 2).unwrap();
    assert!(recognizer.decode(&few).is_err());
    let none = recognizer.decode(&LogProbs::new("u", &[], 4).unwrap()).unwrap();
    assert_eq!(none.num_frames, 0);
}
