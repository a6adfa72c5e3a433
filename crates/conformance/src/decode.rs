//! Decoding with graphs that have epsilon arcs: `decode_graph/decode.jsonl`.
//!
//! Every case is a graph, scores of frames, and the result of an exact search. These are binding
//! with unlimited beams: whether a final state is reached, the cost with and without final costs
//! (within 1e-3), the words unless the next best ones are as good; the exact lattice where there
//! is one (word sequences at least 1e-2 inside the beam, costs within 1e-2). With the beams of
//! other decoders, no cost may be below the exact cost. Every best path must be a path of the
//! graph with the cost that it reports.

use kaldera::fsa::dense::{
    DenseFsaVec, DenseLattices, DenseOptions, Ending, OnlineDecoder, Outcome, intersect_dense_pruned,
};
use kaldera::fsa::lattice::{DeterminizeOptions, Lattice};
use kaldera::fsa::paths::shortest_path;
use kaldera::fsa::{FINAL, Fsa, FsaBuilder, Graph, GraphLabels};
use serde::Deserialize;

use crate::{Differences, Stop, Verdict, near, single};

/// Costs agree within this.
const COST: f64 = 1e-3;
/// Costs of lattices agree within this, and sequences this near to the beam may be there or not.
const LATTICE: f64 = 1e-2;
/// More word sequences than any answer has.
const MANY: usize = 100_000;

#[derive(Deserialize)]
pub(crate) struct Answer {
    num_states: i32,
    /// Source, destination, input label, output label, cost.
    arcs: Vec<(i32, i32, i32, i32, f64)>,
    finals: Vec<(i32, f64)>,
    log_probs: Vec<Vec<f64>>,
    exact: Exact,
    #[serde(default)]
    faster: Vec<Beams>,
    #[serde(default)]
    kaldi: Vec<Beams>,
    lattice: Option<ExactLattice>,
    #[serde(default)]
    disagreement: serde_json::Value,
}

#[derive(Deserialize)]
struct Exact {
    reached_final: bool,
    cost: Option<f64>,
    words: Option<Vec<i32>>,
    cost_without_final: Option<f64>,
    words_without_final: Option<Vec<i32>>,
    margin: Option<f64>,
    #[serde(default)]
    disagreement: serde_json::Value,
}

/// The options that another decoder was run with.
#[derive(Deserialize)]
struct Beams {
    beam: Option<f32>,
    max_active: Option<usize>,
    min_active: Option<usize>,
    lattice_beam: Option<f32>,
}

#[derive(Deserialize)]
struct ExactLattice {
    lattice_beam: f32,
    word_sequences: Vec<Sequence>,
}

#[derive(Deserialize)]
struct Sequence {
    words: Vec<i32>,
    cost: f64,
}

/// The verdict on a case.
pub(crate) fn check(answer: Answer) -> Result<Verdict, Stop> {
    let graph = answer.graph()?;
    let values = answer.log_probs.iter().flatten().map(|&score| single(score)).collect::<Vec<_>>();
    let dense = DenseFsaVec::from_frames(&values, answer.log_probs.first().map_or(0, Vec::len))?;
    let all = DenseOptions::default()
        .with_search_beam(f32::INFINITY)
        .with_max_active_states(usize::MAX)
        .with_output_beam(0.0);
    let exact = &answer.exact;
    let mut differences = Differences::default();

    let decoder = OnlineDecoder::new(graph.clone(), all.clone())?;
    let mut stream = decoder.stream();
    for outcome in decoder.decode(&mut [&mut stream], &dense)? {
        outcome?;
    }
    let with_final = decoder.lattices(&[&stream], Ending::Final)?;
    let without = decoder.lattices(&[&stream], Ending::Active)?;
    let outcomes = with_final.outcomes();
    differences.check((outcomes == [Outcome::Final]) == exact.reached_final, || format!("outcome {outcomes:?}"));
    let free = exact.margin.is_some_and(|margin| margin < COST)
        || !exact.disagreement.is_null()
        || !answer.disagreement.is_null();
    let wanted = [
        ("best path", &with_final, exact.cost, &exact.words),
        ("best path without final costs", &without, exact.cost_without_final, &exact.words_without_final),
    ];
    for (what, lattices, cost, words) in wanted {
        match (answer.best(&graph, lattices, &mut differences)?, cost) {
            (Some((found, came)), Some(cost)) => {
                differences.check(near(cost, came, COST), || format!("{what}: cost {came}, expected {cost}"));
                let same = free || words.as_ref().is_none_or(|words| *words == found);
                differences.check(same, || format!("{what}: words {found:?}, expected {words:?}"));
            }
            (None, None) => {}
            (best, cost) => {
                let came = best.map(|(_, cost)| cost);
                differences.check(false, || format!("{what}: cost {came:?}, expected {cost:?}"));
            }
        }
    }

    for beams in answer.faster.iter().chain(&answer.kaldi) {
        let options = all
            .clone()
            .with_search_beam(beams.beam.unwrap_or(f32::INFINITY))
            .with_max_active_states(beams.max_active.unwrap_or(usize::MAX))
            .with_min_active_states(beams.min_active.unwrap_or(0))
            .with_output_beam(beams.lattice_beam.unwrap_or(0.0))
            .with_allow_partial(true);
        let found = intersect_dense_pruned(&graph, &dense, &options)?;
        let least = if found.outcomes() == [Outcome::Final] { exact.cost } else { exact.cost_without_final };
        if let Some(((_, cost), least)) = answer.best(&graph, &found, &mut differences)?.zip(least) {
            differences.check(cost >= least - COST, || format!("cost {cost} below the exact one, {least}"));
        }
    }

    if let Some(expected) = &answer.lattice {
        let options = all.with_output_beam(expected.lattice_beam).with_allow_partial(true);
        expected.compare(&intersect_dense_pruned(&graph, &dense, &options)?, &mut differences)?;
    }
    differences.verdict()
}

impl Answer {
    fn graph(&self) -> Result<Graph<Fsa>, Stop> {
        let mut builder = FsaBuilder::new();
        for _ in 0..self.num_states {
            builder.add_state();
        }
        for &(source, dest, label, word, cost) in &self.arcs {
            builder.add_transducer_arc(source, dest, label, word, single(-cost));
        }
        for &(state, cost) in &self.finals {
            builder.add_final(state, single(-cost));
        }
        Ok(builder.build_graph()?.with_graph_labels(GraphLabels::ClassPlusOne))
    }

    /// The words of the best path of a lattice and its cost by the numbers of the case itself, if
    /// it has one; its errors are appended to `differences`.
    fn best(
        &self,
        graph: &Graph<Fsa>,
        lattices: &DenseLattices,
        differences: &mut Differences,
    ) -> Result<Option<(Vec<i32>, f64)>, Stop> {
        if !lattices.outcomes().iter().all(Outcome::has_paths) {
            return Ok(None);
        }
        let (_, path) = shortest_path(lattices.graph().fsas())?;
        let (mut state, mut frame, mut words, mut cost) = (0, 0, vec![], 0.0);
        for &arc in path.iter() {
            let Ok(of_graph) = usize::try_from(lattices.graph_arcs()[usize::try_from(arc)?]) else { break };
            let it = graph.fsas().arcs()[of_graph];
            differences.check(it.src_state == state, || {
                format!("the arcs of the best path do not follow one another at state {state}")
            });
            state = it.dest_state;
            cost -= f64::from(it.score);
            if it.label > 0 {
                cost -= self.log_probs.get(frame).map_or(f64::NAN, |row| row[it.label as usize - 1]);
                frame += 1;
            }
            let word = graph.aux_labels().map_or(0, |labels| labels[of_graph]);
            words.extend((it.label != FINAL && word != 0).then_some(word));
        }
        let frames = self.log_probs.len();
        differences.check(frame == frames, || format!("the best path has {frame} frames of {frames}"));
        Ok(Some((words, cost)))
    }
}

impl ExactLattice {
    fn compare(&self, found: &DenseLattices, differences: &mut Differences) -> Result<(), Stop> {
        if !found.outcomes().iter().all(Outcome::has_paths) {
            differences.check(false, || "there is no lattice".into());
            return Ok(());
        }
        let scores = found.graph().fsas().scores();
        let acoustic = scores.iter().zip(found.graph_scores()).map(|(all, graph)| all - graph).collect();
        let lattice = Lattice::from_transducers(found.graph(), acoustic)?;
        let beam = self.lattice_beam + single(LATTICE);
        let (lattice, _) = lattice.determinize(&DeterminizeOptions::default().with_beam(beam))?;
        let paths = lattice.n_best(0, MANY)?;
        let best = self.word_sequences.iter().map(|sequence| sequence.cost).fold(f64::INFINITY, f64::min);
        let sure = best + f64::from(self.lattice_beam) - LATTICE;
        for Sequence { words, cost } in &self.word_sequences {
            match paths.iter().find(|path| path.words == *words).map(|path| -path.score()) {
                Some(came) => {
                    let holds = near(*cost, came, LATTICE);
                    differences.check(holds, || format!("lattice: {words:?} cost {came}, expected {cost}"));
                }
                None => differences.check(*cost > sure, || format!("lattice: no {words:?} of cost {cost}")),
            }
        }
        for path in &paths {
            let (words, cost) = (&path.words, -path.score());
            let known = self.word_sequences.iter().any(|sequence| sequence.words == *words);
            differences
                .check(cost >= sure || known, || format!("lattice: {words:?} of cost {cost} is none of the answer's"));
        }
        Ok(())
    }
}
