//! Intersection and composition.

use fsa::k2::{ComposeOptions, Epsilons};
use fsa::paths::total_scores;
use fsa::{Arc, FsaOrVec, FsaVec, Fsas, Graph, Semiring, k2};
use serde_json::Value;

use super::json::{close, field, graph, numbers};
use super::unary::{Scores, compare_both, compare_languages, vector};
use super::{Operation, Stop};

/// The code of the operations of this file. The rule decides which scores are binding: k2 counts
/// some paths several times if both sides have epsilons that are treated specially, so that only
/// the best ones can be compared.
pub(super) fn operation(op: &str, rule: &str) -> Option<Operation> {
    Some(match (op, rule) {
        ("intersect", "equivalent_tropical") => |args, expect| intersect(args, expect, Scores::Best),
        ("intersect", _) => |args, expect| intersect(args, expect, Scores::Both),
        ("intersect_device", _) => intersect_device,
        ("compose", "equivalent_tropical") => |args, expect| compose(args, expect, Scores::Best),
        ("compose", _) => |args, expect| compose(args, expect, Scores::Both),
        ("ctc_compose", _) => ctc_compose,
        _ => return None,
    })
}

fn epsilons(args: &Value) -> Result<Epsilons, Stop> {
    Ok(if field(args, "treat_epsilons_specially")? { Epsilons::Sequenced } else { Epsilons::AsSymbol })
}

/// Compares languages and totals; arcs and arc maps only if they must fit to each other.
fn judge(expect: &Value, came: &Graph<FsaOrVec>, scores: Scores) -> Result<Vec<String>, Stop> {
    let mut differences = compare_languages(expect, came, scores)?;
    let connected = came.connect()?;
    if expect["empty"] == true && connected.fsas().as_fsa_vec().num_arcs() > 0 {
        differences.push("expected no paths".into());
    }
    if expect["tot"].is_null() {
        return Ok(differences);
    }
    let sorted = connected.top_sort()?;
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
    Ok(differences)
}

/// If there are cycles, the case has only k2's arcs. If label 0 is a symbol like others, a string
/// has as many arcs in both.
fn judge_cyclic(args: &Value, expect: &Value, came: &Graph<FsaOrVec>) -> Result<Vec<String>, Stop> {
    if args["treat_epsilons_specially"] == true || !expect["language"].is_null() || expect["fsas"].is_null() {
        return Ok(vec![]);
    }
    compare_both(&graph(expect)?, came, Scores::Both)
}

/// Each arc's score is the sum of those that it comes from.
fn check_maps(came: &FsaOrVec, sides: [(&FsaOrVec, &[i32]); 2]) -> Vec<String> {
    let mut differences = Vec::new();
    for (i, arc) in came.as_fsa_vec().arcs().iter().enumerate() {
        let score = |(fsas, map): (&FsaOrVec, &[i32])| {
            usize::try_from(map[i]).map_or(0.0, |at| fsas.as_fsa_vec().arcs()[at].score)
        };
        let sum: f32 = sides.into_iter().map(score).sum();
        if sum != arc.score {
            differences.push(format!("arc {i} has score {}, but comes from arcs with {sum}", arc.score));
        }
    }
    differences
}

fn intersect(args: &Value, expect: &Value, scores: Scores) -> Result<Vec<String>, Stop> {
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    let epsilons = epsilons(args)?;
    let (fsas, map_a, map_b) = k2::intersect(a.fsas(), b.fsas(), epsilons.into())?;
    let mut differences = check_maps(&fsas, [(a.fsas(), &map_a), (b.fsas(), &map_b)]);
    let came = a.intersect(&b, epsilons.into())?;
    differences.append(&mut judge(expect, &came, scores)?);
    differences.append(&mut judge_cyclic(args, expect, &came)?);
    Ok(differences)
}

fn intersect_device(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (a, b) = (vector(graph(&args["a"])?)?, graph(&args["b"])?);
    let map: Vec<i32> = field(args, "b_to_a_map")?;
    let (fsas, map_a, map_b) = k2::intersect_device(a.fsas(), b.fsas(), &map)?;
    let mut differences = check_maps(&fsas, [(&a.fsas().clone().into(), &map_a), (b.fsas(), &map_b)]);
    let came = a.intersect_device(&b, &map)?;
    differences.append(&mut judge(expect, &came, Scores::Both)?);
    differences.append(&mut judge_cyclic(args, expect, &came)?);
    Ok(differences)
}

fn compose(args: &Value, expect: &Value, scores: Scores) -> Result<Vec<String>, Stop> {
    const INNER: &str = "inner_labels";
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    let options = ComposeOptions::default().with_epsilons(epsilons(args)?).with_inner_labels(Some(INNER.into()));
    let came = a.compose_with(&b, &options)?;
    let mut differences = judge(expect, &came, scores)?;
    differences.append(&mut judge_cyclic(args, expect, &came)?);
    if expect.get(INNER).is_some() && !expect["language"].is_null() {
        // The labels on which the two met, for k2's arcs; as output labels they can be compared.
        let inner: Vec<i32> = field(expect, INNER)?;
        let right = graph(expect)?.with_aux_labels(inner)?;
        let met = came.attributes().ints(INNER).unwrap_or_default().to_vec();
        differences.append(&mut compare_both(&right, &came.with_aux_labels(met)?, scores)?);
    }
    Ok(differences)
}

/// Acceptors of pairs of a label and an output label, so that blanks, label 0, count as well.
fn visible<F: Fsas>(graph: &Graph<F>) -> Result<Graph<FsaOrVec>, Stop> {
    let fsas = graph.fsas().as_fsa_vec();
    let aux = graph.aux_labels().ok_or_else(|| Stop::Damaged("no aux_labels".into()))?;
    let pair = |arc: &Arc, aux: i32| if arc.label < 0 { arc.label } else { 1 + arc.label * 1000 + aux };
    let arcs: Vec<_> = fsas.arcs().iter().zip(aux).map(|(arc, &aux)| Arc { label: pair(arc, aux), ..*arc }).collect();
    let visible = FsaVec::new(fsas.as_ragged().with_values(arcs).map_err(fsa::Error::from)?)?;
    Ok(Graph::new(visible.into()))
}

/// The topology of CTC, composed with a string of symbols. It must have as many states as k2
/// keeps, and the same strings, each with as many arcs in both.
fn ctc_compose(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let symbols: Vec<Vec<i32>> = field(args, "symbols")?;
    let symbols = ragged_core::Ragged::from_lists(&symbols).map_err(fsa::Error::from)?;
    let topo = fsa::graphs::ctc_topo(field(args, "max_token")?, field(args, "modified")?)?;
    let linear = Graph::new(fsa::k2::linear_fsas(&symbols)?);
    let came = topo.compose(&linear)?.connect()?;
    let right = graph(expect)?.connect()?;
    let (right, came) = (visible(&right)?, visible(&came)?);
    let mut differences = compare_both(&right, &came, Scores::Both)?;
    for (i, (right, came)) in right.fsas().as_fsa_vec().iter().zip(came.fsas().as_fsa_vec().iter()).enumerate() {
        if right.num_states() != came.num_states() {
            differences.push(format!("FSA {i}: expected {} states, came {}", right.num_states(), came.num_states()));
        }
    }
    Ok(differences)
}
