//! The operations by their names.

use fsa::k2::{ComposeOptions, Epsilons, remove_epsilon};
use fsa::openfst::{
    DeterminizeOptions, MinimizeOptions, PushTo, Side, Unique, determinize, difference, minimize, optimize, project,
    push_weights, shortest_paths,
};
use fsa::paths::{reverse_shortest_distance, shortest_distance};
use fsa::{EPSILON, Equivalence, FINAL, Fsa, FsaVec, Graph, Semiring};
use serde_json::Value;

use super::compare::{close, compare_counts, compare_language, compare_some_strings};
use super::text::{Machine, inputs};
use super::{Operation, Stop};

/// The code of an operation.
pub(super) fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "connect" => |case| compare_both(case, &input(case)?.graph.connect()?),
        // OpenFst sorts by output labels; we sort after inverting.
        "arcsort_ilabel" => |case| compare_both(case, &input(case)?.graph.arc_sort()?),
        "arcsort_olabel" => |case| compare_both(case, &input(case)?.graph.invert()?.arc_sort()?.invert()?),
        "rmepsilon" => |case| compare_language(case, &without_epsilons(&acceptor(case)?)?),
        "determinize" => |case| compare_both(case, &determinize(&input(case)?.graph, &DeterminizeOptions::default())?),
        "minimize" => minimize_case,
        "push_weights" => push_weights_case,
        "equivalent" => equivalent_case,
        "optimize_acceptor" => |case| compare_both(case, &optimize(&acceptor(case)?)?),
        "compose" | "intersect" | "lexicon_compose" => |case| {
            let [a, b] = two(case)?;
            compare_language(case, &compose(&a, &b)?)
        },
        "union" => union_case,
        "concat" => |case| {
            let [a, b] = two(case)?;
            compare_language(case, &a.concat(&b)?)
        },
        "closure" => closure_case,
        "reverse" => |case| compare_language(case, &input(case)?.graph.reverse()?),
        "invert" => |case| compare_language(case, &input(case)?.graph.invert()?),
        "project_output" => project_output_case,
        "difference" => difference_case,
        "shortestpath" => |case| distances_case(case, Semiring::Tropical),
        "log_total" => |case| distances_case(case, Semiring::Log),
        "nbest" => nbest_case,
        "lexicon_determinize" => lexicon_determinize_case,
        _ => return None,
    })
}

/// The one input of a case.
fn input(case: &Value) -> Result<Machine, Stop> {
    match <[Machine; 1]>::try_from(inputs(case)?) {
        Ok([machine]) => Ok(machine),
        Err(inputs) => Err(Stop::Damaged(format!("{} inputs", inputs.len()))),
    }
}

/// The one input, of which only the input labels count.
fn acceptor(case: &Value) -> Result<Graph<Fsa>, Stop> {
    Ok(input(case)?.graph.without(fsa::AUX_LABELS))
}

/// The two inputs of a case.
fn two(case: &Value) -> Result<[Graph<Fsa>; 2], Stop> {
    let inputs = <[Machine; 2]>::try_from(inputs(case)?);
    let both = inputs.map_err(|inputs| Stop::Damaged(format!("{} inputs", inputs.len())))?;
    Ok(both.map(|machine| machine.graph))
}

fn compose(a: &Graph<Fsa>, b: &Graph<Fsa>) -> Result<Graph<Fsa>, Stop> {
    Ok(a.compose_with(b, &ComposeOptions::default().with_epsilons(Epsilons::Sequenced))?.connect()?)
}

fn without_epsilons(graph: &Graph<Fsa>) -> Result<Graph<Fsa>, Stop> {
    Ok(Graph::new(remove_epsilon(graph.fsas())?.0))
}

fn union(graphs: &[Graph<Fsa>]) -> Result<Graph<Fsa>, Stop> {
    let fsas: Vec<_> = graphs.iter().map(|graph| graph.fsas().clone()).collect();
    let aux: Vec<_> = graphs.iter().flat_map(|graph| graph.aux_labels().unwrap_or_default()).copied().collect();
    Ok(Graph::new(FsaVec::from_fsas(&fsas)?).with_aux_labels(aux)?.union()?)
}

fn union_case(case: &Value) -> Result<Vec<String>, Stop> {
    compare_language(case, &union(&two(case)?)?)
}

/// k2's closure lets the start be final, so that its start must not be entered: the union of one
/// has such a start.
fn closure_case(case: &Value) -> Result<Vec<String>, Stop> {
    compare_language(case, &union(&[input(case)?.graph])?.closure()?)
}

fn project_output_case(case: &Value) -> Result<Vec<String>, Stop> {
    compare_language(case, &Graph::new(project(&input(case)?.graph, Side::Output)?.0))
}

fn difference_case(case: &Value) -> Result<Vec<String>, Stop> {
    let [a, b] = two(case)?;
    compare_both(case, &a.carry(difference(a.fsas(), b.fsas())?)?)
}

fn equivalent_case(case: &Value) -> Result<Vec<String>, Stop> {
    let [a, b] = two(case)?;
    let came = a.equivalent(&b, Equivalence::default())?;
    Ok(if case["equal"] == came { vec![] } else { vec![format!("expected equal {}, came {came}", case["equal"])] })
}

fn lexicon_determinize_case(case: &Value) -> Result<Vec<String>, Stop> {
    let [a, b] = two(case)?;
    let composed = compose(&a, &b)?;
    let determinized = determinize(&composed, &DeterminizeOptions::default())?;
    let minimized = minimize(&determinized, &MinimizeOptions::default().with_allow_nondet(true))?;
    let mut differences = compare_both(case, &determinized)?;
    differences.extend(compare_counts(case, "info_min", &minimized));
    differences.extend(compare_language(case, &minimized)?);
    differences.extend(compare_some_strings(&composed, &determinized));
    differences.extend(compare_some_strings(&composed, &minimized));
    Ok(differences)
}

/// Distances of all states in both directions, and the best path if the case has one.
fn distances_case(case: &Value, semiring: Semiring) -> Result<Vec<String>, Stop> {
    let Machine { graph, by_number, by_appearance } = input(case)?;
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
        let right: Vec<Option<f64>> =
            serde_json::from_value(case[name].clone()).map_err(|why| Stop::Damaged(format!("{name}: {why}")))?;
        if right.len() > states.len() {
            differences.push(format!("{name}: expected {} states, came {}", right.len(), states.len()));
        }
        // OpenFst's list may be shorter: behind it there is no path.
        for (at, &state) in states.iter().enumerate() {
            let (right, came) = (right.get(at).copied().flatten().unwrap_or(f64::INFINITY), -came[state]);
            if !close(right, came) {
                differences.push(format!("{name}, entry {at}: expected {right}, came {came}"));
            }
        }
    }
    if case.get("shortest").is_some() {
        differences.extend(compare_language(case, &graph)?);
        let best = shortest_paths(&graph, 1, Unique::Paths)?;
        let score: f32 = best.values().iter().map(|&arc| score(&graph, arc)).sum();
        if case["shortest"]["weight"].as_f64().is_some_and(|right| !close(right, f64::from(-score))) {
            differences.push(format!("expected a best path of cost {}, came {}", case["shortest"]["weight"], -score));
        }
    }
    Ok(differences)
}

fn score(graph: &Graph<Fsa>, arc: i32) -> f32 {
    usize::try_from(arc).map_or(f32::NAN, |arc| graph.fsas().arcs()[arc].score)
}

/// The paths come in order; of those with equal costs any may come.
fn nbest_case(case: &Value) -> Result<Vec<String>, Stop> {
    let graph = acceptor(case)?;
    let n = case["n"].as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(|| Stop::Damaged("no n".into()))?;
    let unique = if case["unique"] == true { Unique::Labels } else { Unique::Paths };
    // One more, for one that is as good as the last.
    let paths = shortest_paths(&graph, n.saturating_add(1), unique)?;
    let came: Vec<(f64, Vec<i32>)> = (paths.rows())
        .map(|path| {
            let arcs = path.iter().filter_map(|&arc| usize::try_from(arc).ok()).map(|arc| graph.fsas().arcs()[arc]);
            let labels =
                arcs.clone().map(|arc| arc.label).filter(|&label| label != EPSILON && label != FINAL).collect();
            (arcs.map(|arc| -f64::from(arc.score)).sum(), labels)
        })
        .collect();
    let num_came = came.len().min(n);
    let right = case["paths"].as_array().ok_or_else(|| Stop::Damaged("no paths".into()))?;
    let mut differences = Vec::new();
    if right.len() != num_came {
        differences.push(format!("expected {} paths, came {num_came}", right.len()));
    }
    for (right, (cost, labels)) in right.iter().zip(&came) {
        let right_cost = right["weight"].as_f64().ok_or_else(|| Stop::Damaged("no weight".into()))?;
        let tie = came.iter().filter(|other| close(other.0, right_cost)).count() > 1;
        if !close(right_cost, *cost) || (!tie && right["labels"] != serde_json::json!(labels)) {
            differences.push(format!("expected {right}, came {cost} {labels:?}"));
        }
    }
    Ok(differences)
}

/// Counts and language.
fn compare_both(case: &Value, came: &Graph<Fsa>) -> Result<Vec<String>, Stop> {
    let mut differences = compare_counts(case, "info", came);
    differences.extend(compare_language(case, came)?);
    Ok(differences)
}

fn minimize_case(case: &Value) -> Result<Vec<String>, Stop> {
    let input = input(case)?.graph;
    let came = minimize(&input, &MinimizeOptions::default())?;
    let mut differences = compare_both(case, &came)?;
    differences.extend(compare_some_strings(&input, &came));
    Ok(differences)
}

fn push_weights_case(case: &Value) -> Result<Vec<String>, Stop> {
    let input = input(case)?.graph;
    let came = input.carry(push_weights(input.fsas(), PushTo::Initial)?)?;
    compare_language(case, &came)
}
