//! Scores, posteriors, gradients and best paths.

use fsa::paths::{
    arc_posteriors_saved, backward_scores, forward_scores, prune_on_arc_post, set_scores_stochastic, shortest_path,
    total_scores, total_scores_saved,
};
use fsa::{FsaOrVec, Fsas, Graph, Semiring};
use serde_json::Value;

use super::json::{close, compare, compare_numbers, floats, graph, number, numbers};
use super::{Operation, Stop};

/// Values that k2 computes as f64.
const DOUBLE: f64 = 1e-6;
/// Gradients and scores that k2 has as f32: a hundred of its units in the last place, a hundredth
/// of the README's tolerance.
const SINGLE: f64 = 1e-5;

/// The code of the operations of this file.
pub(super) fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "scores" => scores,
        "tot_scores_no_path" => totals,
        "set_scores_stochastic" => stochastic,
        "shortest_path" => best,
        "prune_on_arc_post" => prune,
        _ => return None,
    })
}

const SEMIRINGS: [(&str, Semiring); 2] = [("log", Semiring::Log), ("tropical", Semiring::Tropical)];

fn scores(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let graph = graph(args)?;
    let fsas = graph.fsas();
    let mut differences = Vec::new();
    for (name, semiring) in SEMIRINGS {
        let expect = &expect[name];
        let (totals, saved) = total_scores_saved::<f64, _>(fsas, semiring)?;
        let (posteriors, _) = arc_posteriors_saved::<f64, _>(fsas, semiring)?;
        differences.extend(compare_numbers(expect, "forward", &forward_scores(fsas, semiring)?, DOUBLE)?);
        differences.extend(compare_numbers(expect, "backward", &backward_scores(fsas, semiring)?, DOUBLE)?);
        differences.extend(compare_numbers(expect, "tot", &totals, DOUBLE)?);
        differences.extend(compare_numbers(expect, "arc_post", &posteriors, DOUBLE)?);
        if expect.get("tot_out_grad").is_some() {
            let grad = saved.backward(&numbers(&expect["tot_out_grad"])?)?;
            differences.extend(compare_numbers(expect, "scores_grad", &grad, SINGLE)?);
        }
    }
    for (name, semiring) in SEMIRINGS {
        let expect = &expect[format!("arc_post_{name}_grad")];
        if expect.is_object() {
            let (_, saved) = arc_posteriors_saved::<f64, _>(fsas, semiring)?;
            let grad = saved.backward(&numbers(&expect["out_grad"])?)?;
            differences.extend(compare_numbers(expect, "scores_grad", &grad, SINGLE)?);
        }
    }
    Ok(differences)
}

fn totals(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let graph = graph(args)?;
    let mut differences = Vec::new();
    for (name, semiring) in SEMIRINGS {
        differences.extend(compare_numbers(expect, name, &total_scores(graph.fsas(), semiring)?, DOUBLE)?);
    }
    Ok(differences)
}

fn stochastic(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let fsas = graph(args)?.into_parts().0.as_fsa_vec().with_scores(&floats(&args["scores"])?)?;
    let scores: Vec<f64> = set_scores_stochastic(&fsas)?.scores().into_iter().map(f64::from).collect();
    compare_numbers(expect, "scores", &scores, SINGLE)
}

fn best(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let given = graph(args)?;
    let came = given.carry(shortest_path(given.fsas())?)?;
    let mut differences = compare_numbers(expect, "tot", &total_scores(came.fsas(), Semiring::Tropical)?, DOUBLE)?;
    // Where two paths are equally good, either is right: it is compared by its total, and by being
    // a path of the FSA.
    let right = graph(expect)?;
    if has_ties(given.fsas())? {
        let sums = |fsas: &FsaOrVec| total_scores::<f64, _>(fsas, Semiring::Tropical);
        let (right, came) = (sums(right.fsas())?, sums(came.fsas())?);
        if right.len() != came.len() || !right.iter().zip(&came).all(|(&a, &b)| close(a, b, DOUBLE)) {
            differences.push(format!("expected best paths with the totals {right:?}, came {came:?}"));
        }
        return Ok(differences);
    }
    differences.extend(compare(expect, &as_kind(&right, came)?)?);
    Ok(differences)
}

/// k2 makes vectors of single FSAs; here they stay single.
fn as_kind(right: &Graph<FsaOrVec>, came: Graph<FsaOrVec>) -> Result<Graph<FsaOrVec>, Stop> {
    let (fsas, attributes) = came.into_parts();
    let vec = fsas.as_fsa_vec().clone();
    let fsas = match right.fsas() {
        FsaOrVec::FsaVec(_) => FsaOrVec::FsaVec(vec),
        FsaOrVec::Fsa(_) => FsaOrVec::Fsa(vec.get(0)?),
    };
    Ok(Graph::from_parts(fsas, attributes)?)
}

/// Returns `true` if some arc that is not on the chosen best path is on another path that is as
/// good.
fn has_ties(fsas: &FsaOrVec) -> Result<bool, Stop> {
    let (posteriors, _) = arc_posteriors_saved::<f64, _>(fsas, Semiring::Tropical)?;
    let (_, map) = shortest_path(fsas)?;
    Ok(posteriors.iter().filter(|&&by| by > -DOUBLE).count() > map.len())
}

fn prune(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let given = graph(args)?;
    let came = given.carry(prune_on_arc_post(given.fsas(), number(&args["threshold"])?)?)?;
    compare(expect, &came)
}
