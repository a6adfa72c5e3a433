//! Lattices against lists of all their paths.

use std::collections::BTreeMap;

use fsa::lattice::{
    AlignWordsOptions, BackoffModel, CombinedModels, DeterminizeOptions, LabelRole, LabelRoles, LanguageModel, Lattice,
    LatticeBuilder, MbrOptions, PrunedRescoreOptions, Stretch, WordBoundaries, WordTokens, WordsAtEnds,
};
use fsa::{Error, Limits};
use proptest::prelude::*;

/// Sums of a few numbers in double precision, rounded to single once.
const SUM: f64 = 1e-4;
/// A step of finite differences, and what the second derivative adds to their error at most.
const STEP: f32 = 1.0 / 64.0;
const CURVATURE: f64 = 1e-4;
/// Risks are sums over paths and words.
const RISK: f64 = 1e-4;

/// A path: words, alignment, graph score, acoustic score.
type Path = (Vec<i32>, Vec<i32>, f64, f64);

/// Source, offset to the destination, word, the two scores in sixteenths, input labels.
type Spec = (usize, usize, i32, i32, i32, Vec<i32>);

fn build(num_states: usize, specs: &[Spec]) -> Lattice {
    let mut builder = LatticeBuilder::new();
    let states: Vec<_> = (0..num_states).map(|_| builder.add_state()).collect();
    for (source, offset, word, graph, acoustic, labels) in specs {
        let (source, dest) = (source % num_states, source % num_states + offset);
        let (graph, acoustic) = (*graph as f32 / 16.0, *acoustic as f32 / 16.0);
        if dest < num_states {
            builder.add_arc(states[source], states[dest], *word, graph, acoustic, labels);
        } else {
            builder.add_final(states[source], graph, acoustic, labels);
        }
    }
    builder.build().unwrap()
}

fn lattice() -> impl Strategy<Value = Lattice> {
    let spec = |least: i32, most: i32| {
        let labels = prop::collection::vec(1..4_i32, 0..3);
        prop::collection::vec((0..6_usize, 1..4_usize, 0..4_i32, least..0_i32, least..most, labels), 0..18)
    };
    // With few different scores, many paths tie.
    let specs = prop_oneof![spec(-80, 20), spec(-2, 1)];
    (1..7_usize, specs).prop_map(|(states, specs)| build(states, &specs))
}

/// The arcs of each path from the start to the end.
fn arc_paths(lattice: &Lattice) -> Vec<Vec<usize>> {
    let fsa = lattice.fsas().fsa(0);
    let Some(last) = fsa.final_state() else { return vec![] };
    let (mut all, mut open) = (Vec::new(), vec![(0, vec![])]);
    while let Some((state, path)) = open.pop() {
        if state == last {
            all.push(path);
            continue;
        }
        for arc in fsa.arc_range(state) {
            let next = usize::try_from(fsa.arcs()[arc].dest_state).unwrap();
            open.push((next, [&path[..], &[arc]].concat()));
        }
    }
    all
}

/// The sum of both scores of some arcs.
fn score_of(lattice: &Lattice, arcs: &[usize]) -> f64 {
    let of = |&arc: &usize| f64::from(lattice.graph_scores()[arc]) + f64::from(lattice.acoustic_scores()[arc]);
    arcs.iter().map(of).sum()
}

/// The input labels of an arc.
fn labels_of(lattice: &Lattice, arc: usize) -> &[i32] {
    &lattice.alignment().values()[lattice.alignment().shape().row_splits(1).row(arc)]
}

fn paths(lattice: &Lattice, i: usize) -> Vec<Path> {
    let fsa = lattice.fsas().fsa(i);
    let Some(last) = fsa.final_state() else { return vec![] };
    let (mut all, mut open) = (Vec::new(), vec![(0, (vec![], vec![], 0.0, 0.0))]);
    while let Some((state, path)) = open.pop() {
        if state == last {
            all.push(path);
            continue;
        }
        for arc in fsa.arc_range(state) {
            let at = fsa.first_arc() + arc;
            let (mut words, mut labels, graph, acoustic) = path.clone();
            words.extend(Some(fsa.arcs()[arc].label).filter(|&word| word > 0));
            let row = lattice.alignment().shape().row_splits(1).row(at);
            labels.extend_from_slice(&lattice.alignment().values()[row]);
            let scores = (f64::from(lattice.graph_scores()[at]), f64::from(lattice.acoustic_scores()[at]));
            let next = usize::try_from(fsa.arcs()[arc].dest_state).unwrap();
            open.push((next, (words, labels, graph + scores.0, acoustic + scores.1)));
        }
    }
    all
}

fn score(path: &Path) -> f64 {
    path.2 + path.3
}

/// For each word sequence its best score.
fn best_by_words(paths: &[Path]) -> BTreeMap<Vec<i32>, f64> {
    let mut best = BTreeMap::new();
    for path in paths {
        let entry = best.entry(path.0.clone()).or_insert(f64::NEG_INFINITY);
        *entry = score(path).max(*entry);
    }
    best
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() < SUM
}

/// Deterministic, with no word sequence twice, and each path is one of the input's; within the beam
/// with the best score of its words.
fn check_determinized(made: &Lattice, before: &[Path], beam: f32) {
    let fsa = made.fsas().fsa(0);
    for state in 0..fsa.num_states() {
        let mut words: Vec<_> = fsa.arcs_of(state).iter().map(|arc| arc.label).collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]) && !words.contains(&0), "{words:?}");
    }
    let best = best_by_words(before);
    let most = best.values().copied().fold(f64::NEG_INFINITY, f64::max);
    for path in paths(made, 0) {
        let right = best[&path.0];
        let is_best = near(score(&path), right);
        assert!(is_best || right < most - f64::from(beam) + SUM, "{path:?} should have the score {right}");
        let same = |other: &&Path| {
            (&other.0, &other.1) == (&path.0, &path.1) && near(other.2, path.2) && near(other.3, path.3)
        };
        assert!(before.iter().any(|other| same(&other)), "{path:?} is no path of the input");
    }
}

fn edit_distance(a: &[i32], b: &[i32]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for &word in a {
        let mut diagonal = row[0];
        row[0] += 1;
        for (i, &other) in b.iter().enumerate() {
            let least = (diagonal + usize::from(word != other)).min(row[i] + 1).min(row[i + 1] + 1);
            diagonal = std::mem::replace(&mut row[i + 1], least);
        }
    }
    row[b.len()]
}

fn risk(words: &[i32], paths: &[Path]) -> f64 {
    let most = paths.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
    let share = |path: &Path| (score(path) - most).exp();
    let sum: f64 = paths.iter().map(share).sum();
    paths.iter().map(|path| share(path) * edit_distance(words, &path.0) as f64).sum::<f64>() / sum
}

/// A path as words, 0 for none, with the labels of each; both scores.
type Stretches = (Vec<(i32, Vec<i32>)>, f64, f64);

/// The paths of a lattice, without arcs that have neither word nor labels.
fn stretches(lattice: &Lattice) -> Vec<Stretches> {
    let sum = |scores: &[f32], arcs: &[usize]| arcs.iter().map(|&arc| f64::from(scores[arc])).sum();
    let of = |arcs: Vec<usize>| {
        let stretch = |&arc: &usize| (lattice.fsas().arcs()[arc].label.max(0), labels_of(lattice, arc).to_vec());
        let stretches = arcs.iter().map(stretch).filter(|(word, labels)| *word > 0 || !labels.is_empty()).collect();
        (stretches, sum(lattice.graph_scores(), &arcs), sum(lattice.acoustic_scores(), &arcs))
    };
    arc_paths(lattice).into_iter().map(of).collect()
}

/// The best score of each sequence of words.
fn best_of_words<'a>(paths: impl IntoIterator<Item = &'a Stretches>) -> BTreeMap<Vec<i32>, f64> {
    let mut best = BTreeMap::new();
    for (stretches, graph, acoustic) in paths {
        let words = stretches.iter().map(|stretch| stretch.0).filter(|&word| word > 0).collect();
        let known: &mut f64 = best.entry(words).or_insert(f64::NEG_INFINITY);
        *known = known.max(graph + acoustic);
    }
    best
}

/// Checks that all paths are expected, and the best one of each sequence of words is there.
fn check_aligned(found: &[Stretches], expected: &[(Stretches, bool)]) -> Result<(), TestCaseError> {
    for path in found {
        prop_assert!(expected.iter().any(|(expected, _)| expected == path), "{:?}", path);
    }
    prop_assert_eq!(best_of_words(found), best_of_words(expected.iter().map(|path| &path.0)));
    Ok(())
}

/// The same of each path by itself, all of whose words and labels are known from the start, and
/// whether they fit.
fn aligned_alone<B: WordBoundaries>(lattice: &Lattice, boundaries: &B) -> Vec<(Stretches, bool)> {
    let of = |(words, labels, graph, acoustic): Path| {
        let (mut words, mut labels, mut all) = (&words[..], &labels[..], Vec::new());
        loop {
            let (word, length) = match boundaries.next(words, labels, true) {
                Stretch::Open => break,
                Stretch::Gap(length) => (0, length),
                Stretch::Word(length) => (words[0], length),
            };
            words = &words[usize::from(word > 0)..];
            all.push((word, labels[..length].to_vec()));
            labels = &labels[length..];
        }
        let complete = words.is_empty() && labels.is_empty();
        if !labels.is_empty() {
            all.push((words.first().copied().unwrap_or(0), labels.to_vec()));
        }
        ((all, graph, acoustic), complete)
    };
    paths(lattice, 0).into_iter().map(of).collect()
}

/// Of the two paths for 3 3, the better one shares no arc with what is within the beam, and the other
/// one shares all of them: with 1 3 and with 3.
#[test]
fn below_the_beam_a_worse_path_of_the_same_words_may_stay() {
    let lattice = build(
        5,
        &[
            (0, 3, 1, -2, 0, vec![]),
            (0, 1, 3, -17, -73, vec![]),
            (0, 3, 3, -58, -36, vec![]),
            (1, 3, 3, -27, -49, vec![]),
            (3, 1, 3, -29, -44, vec![]),
            (3, 2, 0, -2, 0, vec![]),
            (4, 1, 0, -2, -16, vec![]),
        ],
    );
    let before = paths(&lattice, 0);
    for (beam, score) in [(5.9375, -11.5625), (f32::INFINITY, -11.5)] {
        let (made, _) = lattice.determinize(&DeterminizeOptions::default().with_beam(beam)).unwrap();
        check_determinized(&made, &before, beam);
        assert!(near(best_by_words(&paths(&made, 0))[&vec![3, 3]], score));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn determinization_keeps_the_best_path_of_each_word_sequence(lattice in lattice()) {
        let before = paths(&lattice, 0);
        let options = DeterminizeOptions::default().with_beam(f32::INFINITY).with_delta(1e-6);
        let (made, beams) = lattice.determinize(&options).unwrap();
        prop_assert_eq!(beams, vec![f32::INFINITY]);
        check_determinized(&made, &before, f32::INFINITY);
        let after: Vec<_> = best_by_words(&paths(&made, 0)).into_keys().collect();
        prop_assert_eq!(after, best_by_words(&before).into_keys().collect::<Vec<_>>());
        prop_assert_eq!(paths(&made, 0).len(), best_by_words(&before).len());
    }

    #[test]
    fn determinization_keeps_what_is_in_the_beam(lattice in lattice(), beam in 0.0_f32..6.0) {
        let before = paths(&lattice, 0);
        let options = DeterminizeOptions::default().with_beam(beam).with_delta(1e-6);
        let (made, _) = lattice.determinize(&options).unwrap();
        check_determinized(&made, &before, beam);
        let after = best_by_words(&paths(&made, 0));
        let most = before.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
        for (words, score) in best_by_words(&before) {
            prop_assert!(score < most - f64::from(beam) + SUM || after.contains_key(&words), "{:?}", words);
        }
    }

    #[test]
    fn limits_of_determinization_narrow_the_beam(lattice in lattice(), states in 1..4_usize) {
        let before = paths(&lattice, 0);
        let limits = Limits::default().with_max_states(states);
        let options = DeterminizeOptions::default().with_beam(20.0).with_delta(1e-6).with_limits(limits);
        let Ok((made, beams)) = lattice.determinize(&options) else { return Ok(()) };
        check_determinized(&made, &before, beams[0]);
        let after = best_by_words(&paths(&made, 0));
        let most = before.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
        for (words, score) in best_by_words(&before) {
            prop_assert!(score <= most - f64::from(beams[0]) + SUM || after.contains_key(&words), "{:?}", words);
        }
    }

    #[test]
    fn best_paths_are_those_of_a_list_of_all(lattice in lattice(), n in 1..6_usize) {
        let mut all = paths(&lattice, 0);
        all.sort_by(|a, b| score(b).total_cmp(&score(a)));
        let best = lattice.best_path(0).unwrap();
        prop_assert_eq!(best.is_some(), !all.is_empty());
        if let Some(best) = &best {
            prop_assert!(near(best.score(), score(&all[0])));
            let linear = lattice.linear(0, best).unwrap();
            prop_assert_eq!(paths(&linear, 0), vec![(best.words.clone(), best.alignment.clone(), best.graph_score, best.acoustic_score)]);
        }
        let many = lattice.n_best_paths(0, n).unwrap();
        prop_assert_eq!(many.len(), n.min(all.len()));
        for (found, expected) in many.iter().zip(&all) {
            prop_assert!(near(found.score(), score(expected)));
        }
        let mut distinct: Vec<_> = best_by_words(&all).into_iter().collect();
        distinct.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = lattice.n_best(0, n).unwrap();
        prop_assert_eq!(found.len(), n.min(distinct.len()));
        let by_words = best_by_words(&all);
        for (i, (path, (_, expected))) in found.iter().zip(&distinct).enumerate() {
            prop_assert!(near(path.score(), *expected) && near(path.score(), by_words[&path.words]));
            prop_assert!(found[..i].iter().all(|other| other.words != path.words));
        }
    }

    #[test]
    fn totals_and_posteriors_are_those_of_a_list(lattice in lattice()) {
        let all = arc_paths(&lattice);
        let share = |arcs: &Vec<usize>| score_of(&lattice, arcs).exp();
        let sum: f64 = all.iter().map(share).sum();
        prop_assert!(near(lattice.total_scores()[0], sum.ln()));
        for (arc, posterior) in lattice.arc_posteriors().into_iter().enumerate() {
            let through: f64 = all.iter().filter(|arcs| arcs.contains(&arc)).map(share).sum();
            prop_assert!((all.is_empty() && posterior == 0.0) || near(posterior, through / sum), "arc {}", arc);
        }
    }

    #[test]
    fn posteriors_are_the_gradient_of_the_total(lattice in lattice()) {
        // Without a path there is no total that could move.
        let arcs = if lattice.total_scores()[0].is_finite() { 0..lattice.fsas().num_arcs() } else { 0..0 };
        for arc in arcs {
            let moved = |by: f32| {
                let mut acoustic = lattice.acoustic_scores().to_vec();
                acoustic[arc] += by;
                lattice.with_scores(lattice.graph_scores().to_vec(), acoustic).unwrap().total_scores()[0]
            };
            let difference = (moved(STEP) - moved(-STEP)) / (2.0 * f64::from(STEP));
            prop_assert!((difference - lattice.arc_posteriors()[arc]).abs() < CURVATURE);
        }
    }

    #[test]
    fn pruning_keeps_exactly_the_arcs_within_the_beam(lattice in lattice(), sixteenths in 0..100_u8) {
        // Scores and beams are exact, and what lies on the beam stays.
        let beam = f32::from(sixteenths) / 16.0;
        let all = arc_paths(&lattice);
        let best = all.iter().map(|arcs| score_of(&lattice, arcs)).fold(f64::NEG_INFINITY, f64::max);
        let within = |arc: &usize| {
            let through = all.iter().filter(|arcs| arcs.contains(arc)).map(|arcs| score_of(&lattice, arcs));
            through.fold(f64::NEG_INFINITY, f64::max) >= best - f64::from(beam)
        };
        let of = |lattice: &Lattice, arc: usize| {
            (lattice.fsas().arcs()[arc].label, labels_of(lattice, arc).to_vec(), [lattice.graph_scores()[arc], lattice.acoustic_scores()[arc]])
        };
        let sorted = |mut arcs: Vec<_>| { arcs.sort_by(|a, b| PartialOrd::partial_cmp(a, b).unwrap()); arcs };
        let expected = (0..lattice.fsas().num_arcs()).filter(|arc| !all.is_empty() && within(arc)).map(|arc| of(&lattice, arc));
        let pruned = lattice.prune(beam).unwrap();
        let kept = (0..pruned.fsas().num_arcs()).map(|arc| of(&pruned, arc));
        prop_assert_eq!(sorted(kept.collect()), sorted(expected.collect()));
        // No path within the beam is lost.
        let kept = paths(&pruned, 0);
        prop_assert!(paths(&lattice, 0).iter().all(|path| score(path) < best - f64::from(beam) || kept.contains(path)));
    }

    #[test]
    fn the_risk_of_a_list_of_paths_is_the_true_one(list in prop::collection::vec((prop::collection::vec(1..4_i32, 0..4), -40..0_i32), 1..6)) {
        let mut builder = LatticeBuilder::new();
        let start = builder.add_state();
        for (words, score) in &list {
            let mut state = start;
            for &word in words {
                let next = builder.add_state();
                builder.add_arc(state, next, word, 0.0, 0.0, &[word]);
                state = next;
            }
            let end = builder.add_state();
            builder.add_arc(state, end, 0, *score as f32 / 16.0, 0.0, &[]);
            builder.add_final(end, 0.0, 0.0, &[]);
        }
        let lattice = builder.build().unwrap();
        let all = paths(&lattice, 0);
        let fixed = MbrOptions::default().with_decode_mbr(false);
        let best = lattice.minimum_bayes_risk(0, &MbrOptions::default()).unwrap();
        for words in [vec![], vec![1, 2], vec![3, 3, 1], best.words.clone()] {
            let result = lattice.minimum_bayes_risk_from(0, &words, &fixed).unwrap();
            prop_assert!((result.risk - risk(&words, &all)).abs() < RISK, "{} of {:?}, not {}", result.risk, words, risk(&words, &all));
        }
        // Of words as likely as others, either may be chosen in the end.
        prop_assert!(risk(&best.words, &all) <= best.risk + RISK);
    }

    #[test]
    fn words_are_aligned_as_on_each_path_by_itself(lattice in lattice(), roles in prop::collection::vec(0..4_usize, 3)) {
        let named = [LabelRole::Inside, LabelRole::End, LabelRole::Blank, LabelRole::Between];
        let roles = LabelRoles::new((1..).zip(roles.into_iter().map(|role| named[role])));
        let (made, incomplete) = lattice.align_words(&roles, &AlignWordsOptions::default()).unwrap();
        let expected = aligned_alone(&lattice, &roles);
        prop_assert_eq!(incomplete[0] == 0, expected.iter().all(|path| path.1));
        check_aligned(&stretches(&made), &expected)?;
    }

    #[test]
    fn words_at_their_ends_are_aligned_as_on_each_path_by_itself(lattice in lattice()) {
        let ends = WordsAtEnds::new([1]);
        let (made, _) = lattice.align_words(&ends, &AlignWordsOptions::default()).unwrap();
        let words = |paths: Vec<Stretches>| paths.into_iter().map(|(stretches, ..)| stretches.iter().map(|stretch| stretch.0).filter(|&word| word > 0).collect::<Vec<_>>());
        let mut found: Vec<_> = words(stretches(&made)).collect();
        let mut expected: Vec<_> = paths(&lattice, 0).into_iter().map(|path| path.0).collect();
        for words in [&mut found, &mut expected] {
            words.sort();
            words.dedup();
        }
        prop_assert_eq!(found, expected);
        let best = |lattice: &Lattice| lattice.best_path(0).unwrap().map_or(f64::NEG_INFINITY, |path| path.graph_score + path.acoustic_score);
        prop_assert!(lattice.fsas().num_arcs() == 0 || near(best(&made), best(&lattice)));
    }

    #[test]
    fn words_have_the_frames_of_their_tokens(
        tokens in prop::collection::vec(prop::collection::vec(prop::collection::vec(2..4_i32, 1..3), 1..3), 3),
        lattice in lattice(),
        said in prop::collection::vec((0..3_usize, 0..2_usize, prop::collection::vec((1..3_usize, 0..2_usize), 2)), 0..4),
        late in prop::collection::vec(0..9_usize, 4),
    ) {
        let lexicon = (1..).zip(&tokens).fold(WordTokens::new([1], []), |lexicon, (word, all)| {
            all.iter().fold(lexicon, |lexicon, tokens| lexicon.with_word(word, tokens.iter().copied()))
        });
        // What fits on its own is the same in the lattice.
        let (made, _) = lattice.align_words(&lexicon, &AlignWordsOptions::default()).unwrap();
        let found = stretches(&made);
        for (words, score) in best_of_words(aligned_alone(&lattice, &lexicon).iter().filter(|path| path.1).map(|path| &path.0)) {
            prop_assert!(best_of_words(&found)[&words] >= score, "{:?}", words);
        }
        // One path that is said in full, a frame an arc; words come later than they begin.
        let mut labels = Vec::new();
        let mut words = Vec::new();
        for (word, pronunciation, lengths) in &said {
            let pronunciation = &tokens[*word][*pronunciation % tokens[*word].len()];
            words.push((labels.len(), i32::try_from(*word).unwrap() + 1));
            for (&token, &(frames, blanks)) in pronunciation.iter().zip(lengths) {
                if labels.last() == Some(&token) {
                    labels.push(1);
                }
                labels.extend(std::iter::repeat_n(token, frames).chain(std::iter::repeat_n(1, blanks)));
            }
        }
        let mut at = 0;
        for ((begin, _), late) in words.iter_mut().zip(late) {
            at = at.max(*begin + late);
            *begin = at;
        }
        let mut builder = LatticeBuilder::new();
        let mut state = builder.add_state();
        for frame in 0..labels.len() + words.len() * 10 {
            let mut here: Vec<_> = words.iter().filter(|word| word.0 == frame).map(|word| word.1).collect();
            let label = labels.get(frame).map(std::slice::from_ref);
            if here.is_empty() {
                here.push(0);
            }
            for (i, word) in here.into_iter().enumerate() {
                let next = builder.add_state();
                builder.add_arc(state, next, word, -0.5, -0.25, label.filter(|_| i == 0).unwrap_or_default());
                state = next;
            }
        }
        builder.add_final(state, 0.0, 0.0, &[]);
        let path = builder.build().unwrap();
        let (made, incomplete) = path.align_words(&lexicon, &AlignWordsOptions::default()).unwrap();
        prop_assert_eq!(&incomplete, &[0]);
        let found = stretches(&made);
        prop_assert_eq!(found.len(), 1);
        let of_words: Vec<_> = found[0].0.iter().filter(|stretch| stretch.0 > 0).collect();
        prop_assert_eq!(of_words.len(), said.len());
        for (stretch, (word, ..)) in of_words.iter().zip(&said) {
            prop_assert_eq!(stretch.0, i32::try_from(*word).unwrap() + 1);
            let mut tokens_of = stretch.1.clone();
            tokens_of.dedup();
            tokens_of.retain(|&label| label != 1);
            prop_assert!(tokens[*word].contains(&tokens_of), "{:?}", stretch);
            prop_assert!(stretch.1.first() != Some(&1) && stretch.1.last() != Some(&1));
        }
        let joined: Vec<_> = found[0].0.iter().flat_map(|stretch| stretch.1.iter().copied()).collect();
        prop_assert_eq!(joined, labels);
        let best = made.best_path(0).unwrap().unwrap();
        for word in made.word_times(0, &best).unwrap() {
            prop_assert!(word.frames.end <= best.alignment.len() && word.frames.start < word.frames.end);
        }
    }

    #[test]
    fn risk_is_bounded_and_no_larger_than_that_of_the_best_path(lattice in lattice()) {
        let all = paths(&lattice, 0);
        match lattice.minimum_bayes_risk(0, &MbrOptions::default()) {
            Err(error) => {
                prop_assert!(all.is_empty());
                prop_assert_eq!(error, Error::NoPath { fsa: 0 });
            },
            Ok(result) => {
                let fixed = lattice.minimum_bayes_risk(0, &MbrOptions::default().with_decode_mbr(false)).unwrap();
                prop_assert!(result.risk <= fixed.risk + SUM);
                prop_assert!(risk(&result.words, &all) <= result.risk + SUM);
                prop_assert_eq!(&fixed.words, &lattice.best_path(0).unwrap().unwrap().words);
                for bin in &result.sausage {
                    let sum: f32 = bin.iter().map(|(_, posterior)| posterior).sum();
                    prop_assert!((sum - 1.0).abs() < 1e-3);
                }
                prop_assert!(result.times.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-3));
            }
        }
    }

    #[test]
    fn the_oracle_is_the_nearest_of_all_paths(lattice in lattice(), reference in prop::collection::vec(1..4_i32, 0..5)) {
        let all = paths(&lattice, 0);
        let expected = all.iter().map(|path| edit_distance(&path.0, &reference)).min();
        let found = lattice.oracle(0, &reference).unwrap();
        prop_assert_eq!(found.as_ref().map(|oracle| oracle.errors()), expected);
        if let Some(oracle) = found {
            prop_assert_eq!(edit_distance(&oracle.words, &reference), oracle.errors());
            prop_assert!(all.iter().any(|path| path.0 == oracle.words));
        }
    }

    #[test]
    fn the_union_has_the_paths_of_both(a in lattice(), b in lattice()) {
        let both = Lattice::cat(&[&a, &b]).unwrap();
        let sorted = |mut paths: Vec<Path>| { paths.sort_by(|a, b| a.partial_cmp(b).unwrap()); paths };
        let mut expected = paths(&a, 0);
        expected.extend(paths(&b, 0));
        prop_assert_eq!(sorted(paths(&both.union().unwrap(), 0)), sorted(expected));
        prop_assert_eq!(both.get(1).unwrap(), b);
    }

    #[test]
    fn rescoring_adds_the_scores_of_the_model(lattice in lattice(), scale in -2..3_i32) {
        let scale = scale as f32;
        let made = lattice.rescore(&Bigrams, scale, Limits::default()).unwrap();
        let sorted = |mut paths: Vec<Path>| { paths.sort_by(|a, b| a.partial_cmp(b).unwrap()); paths };
        let expected = paths(&lattice, 0).into_iter().filter(|path| !path.0.contains(&3)).map(|path| {
            let added = sentence(&path.0);
            (path.0, path.1, path.2 + f64::from(scale) * added, path.3)
        });
        prop_assert_eq!(sorted(paths(&made, 0)), sorted(expected.collect()));
        let back = made.rescore(&Bigrams, -scale, Limits::default()).unwrap();
        let expected = paths(&lattice, 0).into_iter().filter(|path| !path.0.contains(&3)).collect();
        prop_assert_eq!(sorted(paths(&back, 0)), sorted(expected));
    }

    #[test]
    fn rescoring_keeps_the_best_path_of_the_scaled_graph_scores(lattice in lattice(), half in prop::sample::select(vec![-2, -1, 1, 2])) {
        let scale = half as f32 / 2.0;
        let made = paths(&lattice.rescore_best(&Bigrams, scale, Limits::default()).unwrap(), 0);
        let mut expected: BTreeMap<Vec<i32>, f64> = BTreeMap::new();
        for path in paths(&lattice, 0).into_iter().filter(|path| !path.0.contains(&3)) {
            let key = path.2 / f64::from(scale) + path.3;
            let best = expected.entry(path.0).or_insert(f64::NEG_INFINITY);
            *best = best.max(key);
        }
        prop_assert_eq!(made.len(), expected.len());
        for path in made {
            let key = (path.2 - f64::from(scale) * sentence(&path.0)) / f64::from(scale) + path.3;
            prop_assert!(near(key, expected[&path.0]), "{:?} {:?}", path, expected);
        }
    }

    #[test]
    fn pruned_rescoring_without_a_beam_is_rescoring(lattice in lattice(), growth in 0.5_f32..3.0) {
        let model = CombinedModels::new((&Bigrams, -0.5), (&Bigrams, 1.5));
        let options = PrunedRescoreOptions::default().with_growth_ratio(growth);
        let all = options.with_beam(f32::INFINITY).with_max_arcs(usize::MAX);
        let made = lattice.rescore_pruned(&model, &all).unwrap();
        let expected = lattice.rescore(&Bigrams, 1.0, Limits::default()).unwrap();
        let sorted = |mut paths: Vec<Path>| { paths.sort_by(|a, b| a.partial_cmp(b).unwrap()); paths };
        let expected = sorted(paths(&expected, 0));
        prop_assert_eq!(sorted(paths(&made, 0)), expected.clone());
        // With a beam, or a limit of arcs, some of these paths are left, if there is any.
        for options in [options.with_beam(0.5), options.with_max_arcs(1)] {
            let some = paths(&lattice.rescore_pruned(&model, &options).unwrap(), 0);
            prop_assert_eq!(some.is_empty(), expected.is_empty());
            prop_assert!(some.iter().all(|path| expected.contains(path)));
        }
    }
}

/// A score for each pair of words, in eighths; no word 3.
struct Bigrams;

fn bigram(before: i32, word: i32) -> f64 {
    -f64::from(1 + (before * 5 + word * 3) % 7) / 8.0
}

fn sentence(words: &[i32]) -> f64 {
    let (last, sum) = words.iter().fold((9, 0.0), |(before, sum), &word| (word, sum + bigram(before, word)));
    sum + bigram(last, 8)
}

impl LanguageModel for Bigrams {
    type State = i32;

    fn start(&self) -> i32 {
        9
    }

    fn step(&self, state: i32, word: i32) -> Option<(i32, f64)> {
        (word != 3).then(|| (word, bigram(state, word)))
    }

    fn end(&self, state: i32) -> Option<f64> {
        Some(bigram(state, 8))
    }
}

#[test]
fn a_back_off_model_takes_the_back_off_arc_only_where_it_must() {
    use fsa::FsaBuilder;
    let mut builder = FsaBuilder::new();
    let [start, one, root] = [builder.add_state(), builder.add_state(), builder.add_state()];
    for (from, to, word, score) in [
        (start, root, 9, -0.5),
        (start, one, 1, -1.0),
        (one, root, 9, -0.25),
        (root, one, 1, -0.125),
        (root, root, 2, -2.0),
    ] {
        builder.add_arc(from, to, word, score);
    }
    builder.add_final(root, -3.0);
    let fsa = builder.build().unwrap();
    let model = BackoffModel::new(&fsa, 9);
    // In the start, 1 has an arc of its own, though backing off would be better.
    assert_eq!(model.step(0, 1), Some((1, -1.0)));
    assert_eq!(model.step(1, 1), Some((1, -0.375)));
    assert_eq!(model.step(0, 2), Some((2, -2.5)));
    assert_eq!((model.end(1), model.step(0, 7)), (Some(-3.25), None));
}

#[test]
fn what_is_no_lattice_is_refused() {
    let with = |arcs: &[(i32, i32, i32, f32, f32)]| {
        let mut builder = LatticeBuilder::new();
        let [start, _] = [builder.add_state(), builder.add_state()];
        builder.add_final(start, 0.0, 0.0, &[]);
        arcs.iter()
            .for_each(|&(from, to, word, graph, acoustic)| builder.add_arc(from, to, word, graph, acoustic, &[]));
        builder.build()
    };
    assert!(with(&[]).is_ok());
    assert!(matches!(with(&[(0, 1, 1, f32::NAN, 0.0)]), Err(Error::Score { .. })));
    assert!(matches!(with(&[(0, 1, 1, f32::INFINITY, 0.0)]), Err(Error::Score { .. })));
    assert!(matches!(with(&[(0, 1, 1, f32::NEG_INFINITY, f32::INFINITY)]), Err(Error::Score { .. })));
    assert!(matches!(with(&[(0, 2, 1, 0.0, 0.0)]), Err(Error::NoState { state: 2, .. })));
    assert!(matches!(with(&[(0, i32::MAX, 1, 0.0, 0.0)]), Err(Error::NoState { .. })));
    assert!(matches!(with(&[(0, 1, -3, 0.0, 0.0)]), Err(Error::Label { label: -3, .. })));
    assert!(matches!(with(&[(0, 1, 1, 0.0, 0.0), (1, 0, 1, 0.0, 0.0)]), Err(Error::Cycle { .. })));
    assert!(matches!(with(&[(0, 0, 1, 0.0, 0.0)]), Err(Error::NotTopSorted { .. })));
    let lattice = with(&[(0, 1, 1, 0.0, 0.0)]).unwrap();
    assert!(matches!(lattice.prune(f32::NAN), Err(Error::Beam { .. })));
    assert!(matches!(lattice.determinize(&DeterminizeOptions::default().with_beam(-1.0)), Err(Error::Beam { .. })));
    assert!(lattice.best_path(1).is_err());
    // An arc of no probability is on no path.
    let none = with(&[(0, 1, 1, f32::NEG_INFINITY, 0.0)]).unwrap();
    assert_eq!(none.prune(f32::INFINITY).unwrap().fsas().num_arcs(), 1);
}

#[test]
fn a_batch_has_a_text_for_each_lattice_with_a_path() {
    let lattice = |words: &[i32], score: f32| {
        let mut builder = LatticeBuilder::new();
        let mut last = builder.add_state();
        for &word in words {
            let next = builder.add_state();
            builder.add_arc(last, next, word, score, 0.0, &[]);
            last = next;
        }
        builder.add_final(last, 0.0, 0.0, &[]);
        builder.build().unwrap()
    };
    let all = [lattice(&[7, 0, 8], -1.0), lattice(&[7], f32::NEG_INFINITY), lattice(&[], 0.0)];
    let batch = Lattice::cat(&all.each_ref()).unwrap();
    let words = "yes 7\nno 8\n".parse().unwrap();
    assert_eq!(batch.texts(&words).unwrap(), [Some("yes no".to_owned()), None, Some(String::new())]);
    assert_eq!(batch.texts(&"yes 7\n".parse().unwrap()), Err(Error::NoSymbol { label: 8 }));
}

#[test]
fn a_transducer_of_tokens_and_words_becomes_a_lattice() {
    use fsa::k2::linear_fst;
    use fsa::{FsaVec, Graph};
    let (fsa, attributes) = linear_fst(&[5, 0, 6], &[1, 2, 0]).unwrap().into_parts();
    let fsas = FsaVec::from_fsas(&[fsa]).unwrap().with_scores(&[-1.0, -2.0, -3.0, -0.5]).unwrap();
    let graph = Graph::from_parts(fsas, attributes).unwrap();
    let lattice = Lattice::from_transducers(&graph, vec![-0.25, -0.5, -1.0, 0.0]).unwrap();
    let best = lattice.best_path(0).unwrap().unwrap();
    assert_eq!((best.words, best.alignment), (vec![1, 2], vec![5, 6]));
    assert_eq!((best.graph_score, best.acoustic_score), (-4.75, -1.75));
    assert_eq!(lattice.state_times(0).unwrap(), [Some(0), Some(1), Some(1), Some(2), Some(2)]);
}

#[test]
fn the_lattice_of_a_search_has_a_label_for_each_frame() {
    use fsa::dense::{DenseFsaVec, DenseOptions, intersect_dense_pruned};
    use fsa::{Arc, Fsa, FsaVec, Graph, Ragged};
    // Blank or token 1, then token 1, which outputs the words 7 and 8.
    let arcs = vec![Arc::new(0, 0, 0, -0.5), Arc::new(0, 1, 1, -0.25), Arc::new(1, 2, -1, -1.0)];
    let words = Ragged::from_lists(&[vec![], vec![7, 8], vec![]]).unwrap();
    let graph = Graph::new(FsaVec::from_fsas(&[Fsa::from_arcs(3, arcs).unwrap()]).unwrap());
    let graph = graph.with_aux_labels(words).unwrap();
    let scores = [-1.0_f32, -2.0, -1.5, -3.0, -1.25, -0.5];
    let dense = DenseFsaVec::from_frames(&scores, 2).unwrap();
    let options = DenseOptions::default();
    let lattice = Lattice::from_dense(&intersect_dense_pruned(&graph, &dense, &options).unwrap()).unwrap();
    let best = lattice.best_path(0).unwrap().unwrap();
    assert_eq!((best.words, best.alignment), (vec![7, 8], vec![0, 0, 1]));
    assert_eq!((best.graph_score, best.acoustic_score), (-2.25, -3.0));
}
