//! Composition with look-ahead while decoding, beside the static composition.

use std::collections::BTreeMap;

use fsa::dense::{
    Backoff, DecodingStream, DenseFsaVec, DenseLattices, DenseOptions, Ending, LookAheadGraph, LookAheadOptions,
    OnlineDecoder, Outcome, intersect_dense_pruned,
};
use fsa::graphs::{ArpaOptions, CtcTopology, Lexicon, LexiconOptions, NgramModel, OutOfVocabulary, Silence};
use fsa::io::SymbolTable;
use fsa::{AUX_LABELS, Arc, EPSILON, Error, FINAL, Fsa, Graph, GraphLabels, Limits, LookAheadProblem, Operation};
use proptest::prelude::*;

use crate::decoding;
use crate::graphs::{Entries, WORDS, arpa, entries, lexicon_of, lexicon_text};

/// Blank, the tokens X and Y, and silence.
const CLASSES: usize = 4;
/// Sums of some dozen numbers of a few units in single precision.
const SINGLE: f64 = 1e-4;

/// A lexicon and a grammar whose arcs that back off have the label [`Lexicon::backoff_word`].
struct Parts {
    lexicon: Lexicon,
    grammar: Fsa,
    topology: CtcTopology,
}

impl Parts {
    fn new(entries: &[(usize, Vec<usize>)], (order, ngrams): &(usize, Entries), silence: bool, modified: bool) -> Self {
        let text = lexicon_of(entries, |word| WORDS[word + 1].to_owned());
        let (mut tokens, mut words) = (SymbolTable::default(), SymbolTable::default());
        for token in ["<eps>", "X", "Y", "SIL"] {
            tokens.find_or_add(token).unwrap();
        }
        let mut options = LexiconOptions::default();
        options.silence = silence.then(|| Silence { token: "SIL".into(), probability: 0.25 });
        let lexicon = Lexicon::read(text.as_bytes(), &mut tokens, &mut words, &options).unwrap();
        let mut options = ArpaOptions::default();
        options.out_of_vocabulary = OutOfVocabulary::Skip;
        let model = NgramModel::read(arpa(*order, ngrams).as_bytes(), &mut words, &options, &mut |_| {}).unwrap();
        let grammar = model.to_fsa(lexicon.backoff_word()).unwrap();
        Self { lexicon, grammar, topology: CtcTopology::new(CLASSES - 1, modified).unwrap() }
    }

    /// G without arcs that back off: with epsilons for them, or with arcs for all words.
    fn resolved(&self, backing_off: Backoff) -> Fsa {
        let (view, backoff) = (self.grammar.view(), self.lexicon.backoff_word());
        let epsilon = |&arc: &Arc| if arc.label == backoff { Arc { label: EPSILON, ..arc } } else { arc };
        let arcs = match backing_off {
            Backoff::Always => self.grammar.arcs().iter().map(epsilon).collect(),
            Backoff::Unseen => {
                let mut arcs = vec![];
                let mut labels = self.grammar.labels();
                labels.retain(|&label| label != backoff);
                labels.sort_unstable();
                labels.dedup();
                for (state, &label) in (0..view.num_states()).flat_map(|state| labels.iter().map(move |l| (state, l))) {
                    let (mut at, mut before) = (state, 0.0);
                    loop {
                        let find = |label| view.arcs_of(at).iter().find(|arc| arc.label == label);
                        if let Some(&found) = find(label) {
                            let (src_state, score) = (state as i32, found.score + before);
                            arcs.push(Arc { src_state, score, ..found });
                            break;
                        }
                        let Some(back) = find(backoff) else { break };
                        (at, before) = (back.dest_state as usize, before + back.score);
                    }
                }
                arcs
            }
        };
        Fsa::from_arcs(view.num_states(), arcs).unwrap()
    }

    /// H o L o G without epsilons, all of it.
    fn whole(&self, backing_off: Backoff) -> Graph<Fsa> {
        let grammar = Graph::new(self.resolved(backing_off)).arc_sort().unwrap();
        let lg = self.lexicon.to_graph().unwrap().arc_sort().unwrap().compose(&grammar).unwrap();
        let lg = lg.connect().unwrap().remove_epsilon().unwrap().connect().unwrap();
        self.topology.compose(&lg, GraphLabels::Class, None, Limits::default()).unwrap()
    }

    fn look_ahead(&self, options: LookAheadOptions) -> LookAheadGraph {
        let hl = self.lexicon.to_minimal_graph(Limits::default()).unwrap();
        LookAheadGraph::new(self.topology, &hl, &self.grammar, self.lexicon.backoff_word(), options).unwrap()
    }
}

fn frames() -> impl Strategy<Value = Vec<f32>> {
    decoding::frames(7, CLASSES)
}

fn dense(values: &[f32]) -> DenseFsaVec<'_> {
    DenseFsaVec::from_frames(values, CLASSES).unwrap()
}

fn unlimited() -> DenseOptions {
    DenseOptions::default().with_search_beam(f32::INFINITY).with_output_beam(f32::INFINITY)
}

/// The sequences of words of a lattice, and the score of the best path of each.
fn sentences(lattices: &DenseLattices) -> BTreeMap<Vec<i32>, f64> {
    let fsas = lattices.graph().fsas();
    let Some(words) = lattices.graph().attributes().get(AUX_LABELS) else { return BTreeMap::new() };
    let words = words.to_lists().unwrap();
    let view = fsas.fsa(0);
    let Some(last) = view.final_state() else { return BTreeMap::new() };
    let mut found = vec![BTreeMap::<Vec<i32>, f64>::new(); view.num_states()];
    found[0].insert(vec![], 0.0);
    for state in 0..last {
        for (sentence, score) in std::mem::take(&mut found[state]) {
            for arc in view.arc_range(state) {
                let it = view.arcs()[arc];
                let mut sentence = sentence.clone();
                sentence.extend(words.row(arc).iter().filter(|&&word| word > 0));
                let score = score + f64::from(it.score);
                let best = found[it.dest_state as usize].entry(sentence).or_insert(f64::NEG_INFINITY);
                *best = best.max(score);
            }
        }
    }
    found.pop().unwrap().into_iter().filter(|(_, score)| *score > f64::NEG_INFINITY).collect()
}

fn best(sentences: &BTreeMap<Vec<i32>, f64>) -> f64 {
    sentences.values().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Those within a beam of the best one.
fn within(sentences: BTreeMap<Vec<i32>, f64>, beam: f64) -> BTreeMap<Vec<i32>, f64> {
    let best = best(&sentences);
    sentences.into_iter().filter(|&(_, score)| score >= best - beam).collect()
}

fn assert_same(came: &BTreeMap<Vec<i32>, f64>, right: &BTreeMap<Vec<i32>, f64>) -> Result<(), TestCaseError> {
    prop_assert_eq!(came.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (sentence, score) in came {
        prop_assert!((score - right[sentence]).abs() < SINGLE, "{:?}: {} and {}", sentence, score, right[sentence]);
    }
    Ok(())
}

proptest! {
    #[test]
    fn sentences_and_their_scores_are_those_of_the_static_graph(
        entries in lexicon_text(), ngrams in entries(), silence: bool, modified: bool, unseen: bool, values in frames(),
    ) {
        let parts = Parts::new(&entries, &ngrams, silence, modified);
        let backing_off = if unseen { Backoff::Unseen } else { Backoff::Always };
        let right = intersect_dense_pruned(&parts.whole(backing_off), &dense(&values), &unlimited()).unwrap();
        // The arcs of a state are dropped as soon as those of another are requested.
        for cache_bytes in [0, 1 << 20] {
            let options = LookAheadOptions::default().with_backing_off(backing_off).with_cache_bytes(cache_bytes);
            let came = parts.look_ahead(options).intersect_dense_pruned(&dense(&values), &unlimited()).unwrap();
            prop_assert_eq!(came.outcomes()[0].has_paths(), right.outcomes()[0].has_paths());
            assert_same(&sentences(&came), &sentences(&right))?;
        }
    }

    #[test]
    fn a_beam_keeps_the_sentences_within_it(
        entries in lexicon_text(), ngrams in entries(), values in frames(), beam in 0..300_i32,
    ) {
        // Scores are rounded: what is nearer to the border than that may be on either side of it.
        let beam = f64::from(beam) / 64.0;
        let parts = Parts::new(&entries, &ngrams, false, false);
        let right = sentences(&intersect_dense_pruned(&parts.whole(Backoff::Always), &dense(&values), &unlimited()).unwrap());
        let options = unlimited().with_output_beam(beam as f32);
        let graph = parts.look_ahead(LookAheadOptions::default());
        let came = sentences(&graph.intersect_dense_pruned(&dense(&values), &options).unwrap());
        let came_within = within(came.clone(), beam - SINGLE);
        assert_same(&came_within, &within(right.clone(), beam - SINGLE))?;
        for (sentence, score) in came {
            prop_assert!(score < right[&sentence] + SINGLE);
        }
    }

    #[test]
    fn arc_maps_lead_to_the_tokens_and_words_of_the_lexicon(
        entries in lexicon_text(), ngrams in entries(), values in frames(),
    ) {
        let parts = Parts::new(&entries, &ngrams, true, false);
        let graph = parts.look_ahead(LookAheadOptions::default());
        let came = graph.intersect_dense_pruned(&dense(&values), &unlimited()).unwrap();
        let (arcs, words) = (came.graph().fsas().arcs(), came.graph().attributes().ints(AUX_LABELS).unwrap());
        for (i, arc) in arcs.iter().enumerate() {
            match usize::try_from(came.graph_arcs()[i]) {
                Ok(of_graph) => {
                    prop_assert_eq!(arc.label, graph.graph().fsas().arcs()[of_graph].label);
                    prop_assert_eq!(words[i], graph.graph().aux_labels().unwrap()[of_graph]);
                }
                Err(_) => prop_assert_eq!(words[i], EPSILON),
            }
            if arc.label != FINAL {
                let acoustic = values[came.frames()[i] as usize * CLASSES + arc.label as usize];
                prop_assert!(arc.score == f32::NEG_INFINITY
                    || (arc.score - acoustic - came.graph_scores()[i]).abs() < SINGLE as f32);
            }
        }
    }
}

/// Decodes in chunks that end at the given frames, each with a stream that has been saved and read
/// again; and what was finished on the way.
fn in_chunks(decoder: &OnlineDecoder, values: &[f32], ends: &[usize], finish: bool) -> Vec<DenseLattices> {
    let (mut stream, mut made, mut begin) = (decoder.stream(), vec![], 0);
    let frames = values.len() / CLASSES;
    for end in ends.iter().map(|&end| end.min(frames)).chain([frames]) {
        let chunk = dense(&values[begin * CLASSES..end.max(begin) * CLASSES]);
        let mut copy = DecodingStream::from_bytes(&stream.to_bytes()).unwrap();
        assert!(copy == stream);
        decoder.decode(&mut [&mut copy], &chunk).unwrap()[0].clone().unwrap();
        stream = copy;
        begin = end.max(begin);
        if finish {
            made.extend(decoder.take_finished(&mut stream).unwrap());
        }
    }
    made.push(decoder.lattices(&[&stream], Ending::Final).unwrap());
    made
}

proptest! {
    #[test]
    fn chunks_are_decoded_as_the_whole(
        entries in lexicon_text(), ngrams in entries(), values in frames(), mut ends in prop::collection::vec(0..7_usize, 0..4),
        finish: bool, small_cache: bool,
    ) {
        ends.sort_unstable();
        let parts = Parts::new(&entries, &ngrams, true, false);
        let graph = parts.look_ahead(LookAheadOptions::default());
        let whole = sentences(&graph.intersect_dense_pruned(&dense(&values), &unlimited()).unwrap());
        let options = LookAheadOptions::default().with_cache_bytes(if small_cache { 0 } else { 1 << 20 });
        let decoder = OnlineDecoder::with_look_ahead(parts.look_ahead(options), unlimited()).unwrap();
        let made = in_chunks(&decoder, &values, &ends, finish);
        if made.len() == 1 {
            assert_same(&sentences(&made[0]), &whole)?;
        }
        let best_of_parts: f64 = made.iter().map(|part| best(&sentences(part))).sum();
        prop_assert!(best_of_parts == best(&whole) || (best_of_parts - best(&whole)).abs() < SINGLE);
    }

    #[test]
    fn damaged_streams_are_refused_or_decoded(
        entries in lexicon_text(), ngrams in entries(), values in frames(), at: prop::sample::Index, with: u8,
    ) {
        let parts = Parts::new(&entries, &ngrams, false, false);
        let graph = parts.look_ahead(LookAheadOptions::default());
        let decoder = OnlineDecoder::with_look_ahead(graph, unlimited()).unwrap();
        let mut stream = decoder.stream();
        decoder.decode(&mut [&mut stream], &dense(&values)).unwrap()[0].clone().unwrap();
        let mut bytes = stream.to_bytes();
        *at.get_mut(&mut bytes) = with;
        if let Ok(mut stream) = DecodingStream::from_bytes(&bytes) {
            let _ = decoder.decode(&mut [&mut stream], &dense(&values)).map(|came| came[0].clone());
            let _ = decoder.lattices(&[&stream], Ending::FinalElseActive);
        }
    }
}

fn acceptor(num_states: usize, arcs: &[(i32, i32, i32, f32)]) -> Fsa {
    let arcs = arcs.iter().map(|&(src, dest, label, score)| Arc::new(src, dest, label, score));
    Fsa::from_arcs(num_states, arcs.collect::<Vec<_>>()).unwrap()
}

fn made(hl: &[(i32, i32, i32, i32)], grammar: &[(i32, i32, i32, f32)]) -> Result<LookAheadGraph, Error> {
    made_with(hl, grammar, LookAheadOptions::default())
}

fn made_with(
    hl: &[(i32, i32, i32, i32)],
    grammar: &[(i32, i32, i32, f32)],
    options: LookAheadOptions,
) -> Result<LookAheadGraph, Error> {
    let size = |most: Option<i32>| most.map_or(0, |most| most as usize + 1);
    let arcs: Vec<_> = hl.iter().map(|&(src, dest, token, _)| (src, dest, token, 0.0)).collect();
    let fsa = acceptor(size(hl.iter().map(|arc| arc.1).max()), &arcs);
    let hl = Graph::new(fsa).with_aux_labels(hl.iter().map(|arc| arc.3).collect::<Vec<_>>())?;
    let grammar = acceptor(size(grammar.iter().map(|arc| arc.1).max()), grammar);
    LookAheadGraph::new(CtcTopology::new(2, false)?, &hl, &grammar, 9, options)
}

#[test]
fn graphs_that_cannot_be_composed_are_refused() {
    let hl = [(0, 0, 1, 5), (0, 1, -1, -1)];
    let grammar = [(0, 0, 5, -1.0), (0, 1, -1, 0.0)];
    assert!(made(&hl, &grammar).is_ok());
    assert!(made(&[], &[]).is_ok());
    let problem = |hl: &[_], grammar: &[_]| match made(hl, grammar) {
        Err(Error::LookAhead { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    let cycle = [(0, 0, 0, 5), (0, 1, -1, -1)];
    assert_eq!(problem(&cycle, &grammar), LookAheadProblem::EpsilonCycle);
    let longer = [(0, 1, 1, 5), (0, 3, -1, -1), (1, 2, 0, 0), (2, 1, 0, 0), (2, 0, 1, 0)];
    assert_eq!(problem(&longer, &grammar), LookAheadProblem::EpsilonCycle);
    let twice = [(0, 1, 1, 5), (1, 2, 0, 5), (2, 0, 1, 5), (2, 3, -1, -1)];
    assert_eq!(problem(&twice, &grammar), LookAheadProblem::TwoWords);
    let late = [(0, 1, 0, 5), (1, 2, -1, -1)];
    assert_eq!(problem(&late, &grammar), LookAheadProblem::TwoWords);
    let two = [(0, 0, 5, -1.0), (0, 1, 9, 0.0), (0, 1, 9, 0.0), (0, 2, -1, 0.0), (1, 2, -1, 0.0)];
    assert_eq!(problem(&hl, &two), LookAheadProblem::TwoBackoffs);
    let around = [(0, 1, 9, 0.0), (0, 2, -1, 0.0), (1, 0, 9, 0.0)];
    assert_eq!(problem(&hl, &around), LookAheadProblem::BackoffCycle);
    assert!(matches!(made(&[(0, 0, 3, 5), (0, 1, -1, -1)], &grammar), Err(Error::Symbol { symbol: 3, .. })));
    assert!(matches!(made(&hl, &[(0, 0, 0, 1.0), (0, 1, -1, 0.0)]), Err(Error::Symbol { symbol: 0, .. })));
}

#[test]
fn graphs_without_words_in_common_and_empty_ones_have_no_words() {
    let hl = [(0, 0, 1, 5), (0, 1, -1, -1)];
    let values = [0.0; 6];
    let frames = DenseFsaVec::from_frames(&values, 3).unwrap();
    let none = made(&hl, &[(0, 0, 6, 0.0), (0, 1, -1, 0.0)]).unwrap();
    let came = none.intersect_dense_pruned(&frames, &DenseOptions::default()).unwrap();
    assert_eq!(sentences(&came), BTreeMap::from([(vec![], 0.0)]));
    let empty = made(&[], &[]).unwrap();
    let came = empty.intersect_dense_pruned(&frames, &DenseOptions::default()).unwrap();
    assert!(!came.outcomes()[0].has_paths());
}

#[test]
fn a_saved_stream_cannot_take_more_than_the_limit() {
    const TOKENS: i32 = 500;
    const STATES: i32 = 2_000;
    // The state behind the tokens, which is 2 as there is a start before, has a state of the
    // composition for each of them; the grammar counts words.
    let tokens = (1..=TOKENS).map(|token| (0, 1, token, 0));
    let hl: Vec<_> = tokens.chain([(0, 2, FINAL, FINAL), (1, 0, 1, 5)]).collect();
    let arcs: Vec<_> = hl.iter().map(|&(src, dest, token, _)| (src, dest, token, 0.0)).collect();
    let words = hl.iter().map(|arc| arc.3).collect::<Vec<_>>();
    let hl = Graph::new(acceptor(3, &arcs)).with_aux_labels(words).unwrap();
    let grammar: Vec<_> = (0..STATES).flat_map(|i| [(i, (i + 1) % STATES, 5, 0.0), (i, STATES, FINAL, 0.0)]).collect();
    let grammar = acceptor(STATES as usize + 1, &grammar);
    let options = LookAheadOptions::default().with_limits(Limits::default().with_max_bytes(1 << 20));
    let topology = CtcTopology::new(TOKENS as usize, false).unwrap();
    let graph = LookAheadGraph::new(topology, &hl, &grammar, 9, options).unwrap();
    let decoder = OnlineDecoder::with_look_ahead(graph, DenseOptions::default()).unwrap();
    let values = vec![0.0; TOKENS as usize + 1];
    let frame = DenseFsaVec::from_frames(&values, values.len()).unwrap();
    // The start alone has come up, and its arcs were not asked for.
    let untouched = decoder.stream().to_bytes();
    let start = [1_u64, 0, 0].map(u64::to_le_bytes).concat();
    let before = untouched.strip_suffix(&start[..]).unwrap();
    for num_pairs in [10, STATES] {
        let mut bytes = [before, &(num_pairs as u64 + 1).to_le_bytes(), &[0; 8]].concat();
        (0..num_pairs).for_each(|state| bytes.extend([2, state].map(i32::to_le_bytes).concat()));
        bytes.extend([0; 8]);
        let mut stream = DecodingStream::from_bytes(&bytes).unwrap();
        let came = &decoder.decode(&mut [&mut stream], &frame).unwrap()[0];
        match num_pairs {
            STATES => assert!(matches!(came, Err(Error::Limit { limit: 1_048_576, .. })), "{came:?}"),
            _ => assert_eq!(came, &Ok(())),
        }
    }
}

/// A word of eight tokens, each of which makes a state with each of the 62 of a grammar.
fn many_states(options: LookAheadOptions) -> Result<LookAheadGraph, Error> {
    let long = (0..8).map(|i| (i, (i + 1) % 8, 1 + i % 2, if i == 0 { 5 } else { 0 }));
    let mut hl: Vec<_> = [(0, 0, 2, 6), (0, 8, -1, -1)].into_iter().chain(long).collect();
    hl.sort_by_key(|arc| arc.0);
    let grammar: Vec<_> = (0..60).flat_map(|i| [(i, i + 1, 5, -1.0), (i, 0, 6, -2.0), (i, 61, -1, 0.0)]).collect();
    let grammar = [&grammar[..], &[(60, 0, 5, -1.0)]].concat();
    made_with(&hl, &grammar, options)
}

#[test]
fn a_stream_at_the_limit_stays_there() {
    let is_limit = |error: &Error| matches!(error, Error::Limit { operation: Operation::LazyComposition, .. });
    let values = vec![0.0; 3 * 100];
    let frames = DenseFsaVec::from_frames(&values, 3).unwrap();
    let of_states = (62..82).map(|states| Limits::default().with_max_states(states));
    let of_bytes = (0..64).map(|i| Limits::default().with_max_bytes(i << 10));
    let mut refused = 0;
    for limits in of_states.chain(of_bytes) {
        let Ok(graph) = many_states(LookAheadOptions::default().with_limits(limits)) else { continue };
        let whole = graph.intersect_dense_pruned(&frames, &unlimited()).unwrap();
        let decoder = OnlineDecoder::with_look_ahead(graph, unlimited()).unwrap();
        let mut stream = decoder.stream();
        let decode = |stream: &mut DecodingStream| decoder.decode(&mut [stream], &frames).unwrap().remove(0);
        match decode(&mut stream) {
            Ok(()) => continue,
            Err(Error::DenseFrame { error, .. }) if is_limit(&error) => refused += 1,
            Err(error) => assert!(is_limit(&error) && stream.num_frames() == 0, "{error}"),
        }
        assert!(matches!(whole.outcomes()[0], Outcome::Failed(_)), "{limits:?}");
        let num_frames = stream.num_frames();
        assert!(decode(&mut stream).is_err_and(|error| is_limit(&error)));
        assert_eq!(stream.num_frames(), num_frames);
        for ending in [Ending::Active, Ending::Final] {
            for found in [decoder.lattices(&[&stream], ending), decoder.best_paths(&[&stream], ending)] {
                assert!(matches!(&found.unwrap().outcomes()[0], Outcome::Failed(error) if is_limit(error)));
            }
        }
        // What was saved has all that it refers to.
        let mut copy = DecodingStream::from_bytes(&stream.to_bytes()).unwrap();
        assert!(!matches!(decode(&mut copy), Err(Error::Binary { .. })));
    }
    assert!(refused >= 20, "{refused}");
}

#[test]
fn the_limit_holds_for_what_is_made_before_and_for_what_is_visited() {
    let values = vec![0.0; 3 * 400];
    let frames = DenseFsaVec::from_frames(&values, 3).unwrap();
    let outcome = |bytes: usize| {
        let options = LookAheadOptions::default().with_limits(Limits::default().with_max_bytes(bytes));
        match many_states(options) {
            Err(Error::Limit { operation: Operation::LookAhead, .. }) => 0,
            Err(error) => panic!("{error}"),
            Ok(graph) => match &graph.intersect_dense_pruned(&frames, &unlimited()).unwrap().outcomes()[0] {
                Outcome::Failed(Error::DenseFrame { error, .. })
                    if matches!(**error, Error::Limit { operation: Operation::LazyComposition, .. }) =>
                {
                    1
                }
                Outcome::Final => 2,
                other => panic!("{other:?}"),
            },
        }
    };
    let came: Vec<_> = (0..16).map(|i| outcome(i << 12)).collect();
    assert!(came.is_sorted(), "{came:?}");
    assert!([0, 1, 2].iter().all(|outcome| came.contains(outcome)), "{came:?}");
}
