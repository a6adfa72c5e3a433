//! Intersection and composition.

use fsa::k2::{ComposeOptions, Epsilons};
use fsa::paths::total_scores;
use fsa::{Arc, FsaOrVec, FsaVec, Fsas, Graph, Semiring, k2};
use serde_json::Value;

use super::json::{all_close, graph, lists};
use super::unary::{SCORE, Scores, compare_both, compare_languages, vector};
use crate::{Stop, field, flat, unless};

/// Runs an operation of this file. The rule decides which scores are binding: k2 counts some paths
/// several times if both sides have epsilons that are treated specially, so that only the best ones
/// can be compared.
pub(super) fn run(op: &str, rule: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let scores = if rule == "equivalent_tropical" { Scores::Best } else { Scores::Both };
    match op {
        "intersect" => intersect(args, expect, scores),
        "intersect_device" => intersect_device(args, expect),
        "compose" => compose(args, expect, scores),
        "ctc_compose" => ctc_compose(args, expect),
        _ => Err(Stop::NotRun),
    }
}

fn epsilons(args: &Value) -> Result<Epsilons, Stop> {
    Ok(if field(args, "treat_epsilons_specially")? { Epsilons::Sequenced } else { Epsilons::AsSymbol })
}

/// Compares languages and totals, and k2's arcs if the case has no language.
fn judge(args: &Value, expect: &Value, came: &Graph<FsaOrVec>, scores: Scores) -> Result<Vec<String>, Stop> {
    let mut differences = compare_languages(expect, came, scores)?;
    let connected = came.connect()?;
    let holds = expect["empty"] != true || connected.fsas().as_fsa_vec().num_arcs() == 0;
    differences.extend(unless(holds, || "expected no paths".into()));
    if !expect["tot"].is_null() {
        let sorted = connected.top_sort()?;
        for (name, semiring) in [("log", Semiring::Log), ("tropical", Semiring::Tropical)] {
            if expect["tot"].get(name).is_none() || (scores == Scores::Best && semiring == Semiring::Log) {
                continue;
            }
            let (right, totals) = (flat(&expect["tot"][name])?, total_scores(sorted.fsas(), semiring)?);
            let same = all_close(&right, &totals, SCORE);
            differences.extend(unless(same, || format!("expected {name} totals {right:?}, came {totals:?}")));
        }
    }
    // If there are cycles, the case has only k2's arcs. If label 0 is a symbol like others, a
    // string has as many arcs in both.
    if args["treat_epsilons_specially"] != true && expect["language"].is_null() && !expect["fsas"].is_null() {
        differences.extend(compare_both(&graph(expect)?, came, Scores::Both)?);
    }
    Ok(differences)
}

/// Each arc's score is the sum of those that it comes from.
fn check_maps(came: &FsaOrVec, sides: [(&FsaOrVec, &[i32]); 2]) -> Vec<String> {
    let check = |(i, arc): (usize, &Arc)| {
        let score = |(fsas, map): (&FsaOrVec, &[i32])| {
            usize::try_from(map[i]).map_or(0.0, |at| fsas.as_fsa_vec().arcs()[at].score)
        };
        let (score, sum): (f32, f32) = (arc.score, sides.into_iter().map(score).sum());
        unless(sum == score, || format!("arc {i} has score {score}, but comes from arcs with {sum}"))
    };
    came.as_fsa_vec().arcs().iter().enumerate().flat_map(check).collect()
}

fn intersect(args: &Value, expect: &Value, scores: Scores) -> Result<Vec<String>, Stop> {
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    let epsilons = epsilons(args)?;
    let (fsas, map_a, map_b) = k2::intersect(a.fsas(), b.fsas(), epsilons.into())?;
    let maps = check_maps(&fsas, [(a.fsas(), &map_a), (b.fsas(), &map_b)]);
    Ok([maps, judge(args, expect, &a.intersect(&b, epsilons.into())?, scores)?].concat())
}

fn intersect_device(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (a, b) = (vector(graph(&args["a"])?)?, graph(&args["b"])?);
    let map: Vec<i32> = field(args, "b_to_a_map")?;
    let (fsas, map_a, map_b) = k2::intersect_device(a.fsas(), b.fsas(), &map)?;
    let maps = check_maps(&fsas, [(&a.fsas().clone().into(), &map_a), (b.fsas(), &map_b)]);
    Ok([maps, judge(args, expect, &a.intersect_device(&b, &map)?, Scores::Both)?].concat())
}

fn compose(args: &Value, expect: &Value, scores: Scores) -> Result<Vec<String>, Stop> {
    const INNER: &str = "inner_labels";
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    let options = ComposeOptions::default().with_epsilons(epsilons(args)?).with_inner_labels(Some(INNER.into()));
    let came = a.compose_with(&b, &options)?;
    let mut differences = judge(args, expect, &came, scores)?;
    if expect.get(INNER).is_some() && !expect["language"].is_null() {
        // The labels on which the two met, for k2's arcs; as output labels they can be compared.
        let right = graph(expect)?.with_aux_labels(field::<Vec<i32>>(expect, INNER)?)?;
        let met = came.attributes().ints(INNER).unwrap_or_default().to_vec();
        differences.extend(compare_both(&right, &came.with_aux_labels(met)?, scores)?);
    }
    Ok(differences)
}

/// Acceptors of pairs of a label and an output label, so that blanks, label 0, count as well.
fn visible<F: Fsas>(graph: &Graph<F>) -> Result<Graph<FsaOrVec>, Stop> {
    let fsas = graph.fsas().as_fsa_vec();
    let aux = graph.aux_labels().ok_or_else(|| Stop::Damaged("no aux_labels".into()))?;
    let pair = |arc: &Arc, aux: i32| if arc.label < 0 { arc.label } else { 1 + arc.label * 1000 + aux };
    let arcs: Vec<_> = fsas.arcs().iter().zip(aux).map(|(arc, &aux)| Arc { label: pair(arc, aux), ..*arc }).collect();
    Ok(Graph::new(FsaVec::new(fsas.as_ragged().with_values(arcs)?)?.into()))
}

/// The topology of CTC, composed with a string of symbols. It must have as many states as k2
/// keeps, and the same strings, each with as many arcs in both.
fn ctc_compose(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let topo = fsa::graphs::ctc_topo(field(args, "max_token")?, field(args, "modified")?)?;
    let linear = Graph::new(k2::linear_fsas(&lists(args, "symbols")?)?);
    let came = visible(&topo.compose(&linear)?.connect()?)?;
    let right = visible(&graph(expect)?.connect()?)?;
    let mut differences = compare_both(&right, &came, Scores::Both)?;
    for (i, (right, came)) in right.fsas().as_fsa_vec().iter().zip(came.fsas().as_fsa_vec().iter()).enumerate() {
        let (right, came) = (right.num_states(), came.num_states());
        differences.extend(unless(right == came, || format!("FSA {i}: expected {right} states, came {came}")));
    }
    Ok(differences)
}
