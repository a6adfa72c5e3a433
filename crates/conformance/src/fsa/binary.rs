//! Intersection and composition.

use fsa::algorithms::{self, ComposeOptions, Epsilons};
use fsa::scores::{Semiring, total_scores};
use fsa::{Arc, FsaOrVec, FsaVec, Fsas, Graph};
use serde_json::Value;

use super::json::{close, field, graph, numbers};
use super::unary::{Scores, compare_languages};
use super::{Operation, Stop};

/// The code of the operations of this file.
pub(super) fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "intersect" => intersect,
        "intersect_device" => intersect_device,
        "compose" => compose,
        "ctc_compose" => ctc_compose,
        _ => return None,
    })
}

/// With our filter the sum over all paths is right too, where k2 counts some twice; cases in which that happens compare best paths only.
fn epsilons(args: &Value) -> Result<Epsilons, Stop> {
    Ok(if field(args, "treat_epsilons_specially")? { Epsilons::Sequenced } else { Epsilons::AsSymbol })
}

/// Which scores are binding: k2 counts some paths several times if both sides have epsilons that are treated specially.
fn binding(args: &Value) -> Scores {
    if args["treat_epsilons_specially"] == true { Scores::Best } else { Scores::Both }
}

/// Languages and totals; arcs and arc maps only where they must fit to each other.
fn judge(expect: &Value, came: &Graph<FsaOrVec>, scores: Scores) -> Result<Vec<String>, Stop> {
    let mut differences = compare_languages(expect, came, scores)?;
    let sorted = came.connect()?.top_sort()?;
    for (name, semiring) in [("log", Semiring::Log), ("tropical", Semiring::Tropical)] {
        if expect["tot"].get(name).is_none() || (scores == Scores::Best && semiring == Semiring::Log) {
            continue;
        }
        let right = numbers(&expect["tot"][name])?;
        let totals: Vec<f64> = total_scores(sorted.fsas(), semiring)?;
        if right.len() != totals.len() || right.iter().zip(&totals).any(|(&a, &b)| !close(a, b, 1e-4)) {
            differences.push(format!("expected {name} totals {right:?}, came {totals:?}"));
        }
    }
    if expect["empty"] == true && sorted.fsas().as_vec().num_arcs() > 0 {
        differences.push("expected no paths".into());
    }
    Ok(differences)
}

/// Each arc's score is the sum of those that it comes from.
fn check_maps(came: &FsaOrVec, sides: [(&FsaOrVec, &[i32]); 2]) -> Vec<String> {
    let mut differences = Vec::new();
    for (i, arc) in came.as_vec().arcs().iter().enumerate() {
        let score =
            |(fsas, map): (&FsaOrVec, &[i32])| usize::try_from(map[i]).map_or(0.0, |at| fsas.as_vec().arcs()[at].score);
        let sum: f32 = sides.into_iter().map(score).sum();
        if sum != arc.score {
            differences.push(format!("arc {i} has score {}, but comes from arcs with {sum}", arc.score));
        }
    }
    differences
}

fn intersect(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    let epsilons = epsilons(args)?;
    let (fsas, map_a, map_b) = algorithms::intersect(a.fsas(), b.fsas(), epsilons)?;
    let mut differences = check_maps(&fsas, [(a.fsas(), &map_a), (b.fsas(), &map_b)]);
    let came = a.intersect(&b, epsilons)?;
    // Only one side may have epsilons where k2's sums are binding.
    let scores = if has_epsilons(&a) && has_epsilons(&b) { binding(args) } else { Scores::Both };
    differences.append(&mut judge(expect, &came, scores)?);
    Ok(differences)
}

fn has_epsilons(graph: &Graph<FsaOrVec>) -> bool {
    graph.fsas().as_vec().arcs().iter().any(|arc| arc.label == 0)
}

fn intersect_device(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    let map: Vec<i32> = field(args, "b_to_a_map")?;
    let (fsas, map_a, map_b) = algorithms::intersect_device(a.fsas().as_vec(), b.fsas(), &map)?;
    let mut differences = check_maps(&fsas, [(a.fsas(), &map_a), (b.fsas(), &map_b)]);
    differences.append(&mut judge(expect, &Graph::new(fsas), Scores::Both)?);
    Ok(differences)
}

fn compose(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    let inner_labels = args["inner_labels"].as_str().map(str::to_owned);
    let options = ComposeOptions { epsilons: epsilons(args)?, inner_labels, ..ComposeOptions::default() };
    let came = a.compose(&b, &options)?;
    judge(expect, &came, binding(args))
}

/// Acceptors of pairs of a label and what is put out, so that blanks, label 0, count as well.
fn visible<F: Fsas>(graph: &Graph<F>) -> Result<FsaVec, Stop> {
    let fsas = graph.fsas().as_vec();
    let aux = graph.aux_labels().ok_or_else(|| Stop::Damaged("no aux_labels".into()))?;
    let pair = |arc: &Arc, aux: i32| if arc.label < 0 { arc.label } else { 1 + arc.label * 1000 + aux };
    let arcs: Vec<_> = fsas.arcs().iter().zip(aux).map(|(arc, &aux)| Arc { label: pair(arc, aux), ..*arc }).collect();
    Ok(FsaVec::new(fsas.as_ragged().with_values(arcs).map_err(fsa::Error::from)?)?)
}

/// The topology of CTC before a string of symbols: as many states as k2 keeps, and the same strings up to some length.
fn ctc_compose(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let symbols: Vec<Vec<i32>> = field(args, "symbols")?;
    let symbols = ragged_core::Ragged::from_lists(&symbols).map_err(fsa::Error::from)?;
    let topo = fsa::builders::ctc_topo(field(args, "max_token")?, field(args, "modified")?)?;
    let linear = Graph::new(fsa::builders::linear_fsas(&symbols)?);
    let came = topo.compose(&linear, &ComposeOptions::default())?.connect()?;
    let right = graph(expect)?.connect()?;
    let mut differences = Vec::new();
    let (right, came) = (&visible(&right)?, &visible(&came)?);
    if right.num_fsas() != came.num_fsas() {
        return Ok(vec![format!("expected {} FSAs, came {}", right.num_fsas(), came.num_fsas())]);
    }
    let options = algorithms::RandEquivalentOptions { num_paths: 300, ..Default::default() };
    for i in 0..right.num_fsas() {
        if !algorithms::is_rand_equivalent(&right.get(i)?, &came.get(i)?, &options)? {
            differences.push(format!("FSA {i} accepts other strings, or with other scores"));
        }
        let (right, came) = (right.fsa(i).num_states(), came.fsa(i).num_states());
        if right != came {
            differences.push(format!("FSA {i}: expected {right} states, came {came}"));
        }
    }
    Ok(differences)
}
