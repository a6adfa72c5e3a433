//! The operations by their names.

use fsa::k2::{ComposeOptions, Epsilons, remove_epsilon};
use fsa::openfst::{
    DeterminizeOptions, MinimizeOptions, PushTo, Side, Unique, determinize, difference, minimize, optimize, project,
    push_weights, shortest_paths,
};
use fsa::paths::{reverse_shortest_distance, shortest_distance};
use fsa::{Arc, EPSILON, Equivalence, FINAL, Fsa, FsaVec, Graph, Semiring};
use serde_json::{Value, json};

use super::compare::{close, compare_both, compare_counts, compare_language, compare_some_strings};
use super::text::{Machine, inputs};
use crate::{Stop, field, list, unless};

/// Runs a case and returns every difference from its known answer.
pub(crate) fn run(case: &Value) -> Result<Vec<String>, Stop> {
    match case["op"].as_str().unwrap_or_default() {
        "connect" => compare_both(case, &one(case)?.connect()?),
        // OpenFst sorts by output labels; we sort after inverting.
        "arcsort_ilabel" => compare_both(case, &one(case)?.arc_sort()?),
        "arcsort_olabel" => compare_both(case, &one(case)?.invert()?.arc_sort()?.invert()?),
        "rmepsilon" => compare_language(case, &Graph::new(remove_epsilon(acceptor(case)?.fsas())?.0)),
        "determinize" => compare_both(case, &determinize(&one(case)?, &DeterminizeOptions::default())?),
        "minimize" => {
            let input = one(case)?;
            let came = minimize(&input, &MinimizeOptions::default())?;
            Ok([compare_both(case, &came)?, compare_some_strings(&input, &came)].concat())
        }
        "push_weights" => {
            let input = one(case)?;
            compare_language(case, &input.carry(push_weights(input.fsas(), PushTo::Initial)?)?)
        }
        "equivalent" => {
            let [a, b] = two(case)?;
            let (right, came) = (&case["equal"], a.equivalent(&b, Equivalence::default())?);
            Ok(unless(*right == came, || format!("expected equal {right}, came {came}")))
        }
        "optimize_acceptor" => compare_both(case, &optimize(&acceptor(case)?)?),
        "compose" | "intersect" | "lexicon_compose" => {
            let [a, b] = two(case)?;
            compare_language(case, &compose(&a, &b)?)
        }
        "union" => compare_language(case, &union(&two(case)?)?),
        "concat" => {
            let [a, b] = two(case)?;
            compare_language(case, &a.concat(&b)?)
        }
        // k2's closure lets the start be final, so that its start must not be entered: the union of
        // one has such a start.
        "closure" => compare_language(case, &union(&[one(case)?])?.closure()?),
        "reverse" => compare_language(case, &one(case)?.reverse()?),
        "invert" => compare_language(case, &one(case)?.invert()?),
        "project_output" => compare_language(case, &Graph::new(project(&one(case)?, Side::Output)?.0)),
        "difference" => {
            let [a, b] = two(case)?;
            compare_both(case, &a.carry(difference(a.fsas(), b.fsas())?)?)
        }
        "shortestpath" => distances_case(case, Semiring::Tropical),
        "log_total" => distances_case(case, Semiring::Log),
        "nbest" => nbest_case(case),
        "lexicon_determinize" => lexicon_determinize_case(case),
        _ => Err(Stop::NotRun),
    }
}

/// The inputs of a case, as many as there must be.
fn machines<const N: usize>(case: &Value) -> Result<[Machine; N], Stop> {
    <[Machine; N]>::try_from(inputs(case)?).map_err(|inputs| Stop::Damaged(format!("{} inputs", inputs.len())))
}

/// The one input of a case.
fn one(case: &Value) -> Result<Graph<Fsa>, Stop> {
    machines(case).map(|[machine]| machine.graph)
}

/// The one input, of which only the input labels count.
fn acceptor(case: &Value) -> Result<Graph<Fsa>, Stop> {
    Ok(one(case)?.without(fsa::AUX_LABELS))
}

/// The two inputs of a case.
fn two(case: &Value) -> Result<[Graph<Fsa>; 2], Stop> {
    Ok(machines(case)?.map(|machine| machine.graph))
}

fn compose(a: &Graph<Fsa>, b: &Graph<Fsa>) -> Result<Graph<Fsa>, Stop> {
    Ok(a.compose_with(b, &ComposeOptions::default().with_epsilons(Epsilons::Sequenced))?.connect()?)
}

fn union(graphs: &[Graph<Fsa>]) -> Result<Graph<Fsa>, Stop> {
    let fsas: Vec<_> = graphs.iter().map(|graph| graph.fsas().clone()).collect();
    let aux: Vec<_> = graphs.iter().flat_map(|graph| graph.aux_labels().unwrap_or_default()).copied().collect();
    Ok(Graph::new(FsaVec::from_fsas(&fsas)?).with_aux_labels(aux)?.union()?)
}

fn lexicon_determinize_case(case: &Value) -> Result<Vec<String>, Stop> {
    let [a, b] = two(case)?;
    let composed = compose(&a, &b)?;
    let determinized = determinize(&composed, &DeterminizeOptions::default())?;
    let minimized = minimize(&determinized, &MinimizeOptions::default().with_allow_nondet(true))?;
    Ok([
        compare_both(case, &determinized)?,
        compare_counts(case, "info_min", &minimized),
        compare_language(case, &minimized)?,
        compare_some_strings(&composed, &determinized),
        compare_some_strings(&composed, &minimized),
    ]
    .concat())
}

/// Distances of all states in both directions, and the best path if the case has one.
fn distances_case(case: &Value, semiring: Semiring) -> Result<Vec<String>, Stop> {
    let [Machine { graph, by_number, by_appearance }] = machines(case)?;
    // The inputs of log_total are from another source; the others are OpenFst's and keep its
    // numbers.
    let states = if semiring == Semiring::Log { by_appearance } else { by_number };
    // Enough for 1e-3: OpenFst stops at 1e-6.
    const DELTA: f64 = 1e-9;
    let mut differences = Vec::new();
    for (name, came) in [
        ("distance_forward", shortest_distance(graph.fsas(), semiring, DELTA)?),
        ("distance_reverse", reverse_shortest_distance(graph.fsas(), semiring, DELTA)?),
    ] {
        let right: Vec<Option<f64>> = field(case, name)?;
        let (there, states_there) = (right.len(), states.len());
        let tell = || format!("{name}: expected {there} states, came {states_there}");
        differences.extend(unless(there <= states_there, tell));
        // OpenFst's list may be shorter: behind it there is no path.
        for (at, &state) in states.iter().enumerate() {
            let (right, came) = (right.get(at).copied().flatten().unwrap_or(f64::INFINITY), -came[state]);
            let tell = || format!("{name}, entry {at}: expected {right}, came {came}");
            differences.extend(unless(close(right, came), tell));
        }
    }
    if case.get("shortest").is_some() {
        differences.extend(compare_language(case, &graph)?);
        let best = shortest_paths(&graph, 1, Unique::Paths)?;
        let cost = -arcs(&graph, best.values()).map(|arc| arc.score).sum::<f32>();
        let right = &case["shortest"]["weight"];
        let same = right.as_f64().is_none_or(|right| close(right, cost.into()));
        differences.extend(unless(same, || format!("expected a best path of cost {right}, came {cost}")));
    }
    Ok(differences)
}

/// The arcs of a path.
fn arcs(graph: &Graph<Fsa>, path: &[i32]) -> impl Iterator<Item = Arc> + Clone {
    path.iter().filter_map(|&arc| usize::try_from(arc).ok()).map(|arc| graph.fsas().arcs()[arc])
}

/// The paths come in order; of those with equal costs any may come.
fn nbest_case(case: &Value) -> Result<Vec<String>, Stop> {
    let graph = acceptor(case)?;
    let n: usize = field(case, "n")?;
    let unique = if case["unique"] == true { Unique::Labels } else { Unique::Paths };
    // One more, for one that is as good as the last.
    let paths = shortest_paths(&graph, n.saturating_add(1), unique)?;
    let came = paths.rows().map(|path| {
        let arcs = arcs(&graph, path);
        let labels = arcs.clone().map(|arc| arc.label).filter(|&label| label != EPSILON && label != FINAL).collect();
        (arcs.map(|arc| -f64::from(arc.score)).sum(), labels)
    });
    let came: Vec<(f64, Vec<i32>)> = came.collect();
    let (right, num_came) = (list(case, "paths")?, came.len().min(n));
    let same = right.len() == num_came;
    let mut differences = unless(same, || format!("expected {} paths, came {num_came}", right.len()));
    for (right, (cost, labels)) in right.iter().zip(&came) {
        let right_cost = field(right, "weight")?;
        let tie = came.iter().filter(|other| close(other.0, right_cost)).count() > 1;
        let same = close(right_cost, *cost) && (tie || right["labels"] == json!(labels));
        differences.extend(unless(same, || format!("expected {right}, came {cost} {labels:?}")));
    }
    Ok(differences)
}
