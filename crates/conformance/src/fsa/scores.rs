//! Scores, posteriors, gradients and best paths.

use fsa::paths::{
    arc_posteriors_saved, backward_scores, forward_scores, prune_on_arc_post, set_scores_stochastic, shortest_path,
    total_scores, total_scores_saved,
};
use fsa::{FsaOrVec, Fsas, Graph, Semiring};
use serde_json::Value;

use super::json::{all_close, compare, compare_floats, compare_numbers, graph};
use crate::{Stop, flat, floats, number, unless};

/// Values that k2 computes as f64.
const DOUBLE: f64 = 1e-6;
/// Gradients and scores that k2 has as f32: a hundred of its units in the last place, a hundredth
/// of the README's tolerance.
const SINGLE: f64 = 1e-5;

/// Runs an operation of this file.
pub(super) fn run(op: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    match op {
        "scores" => scores(args, expect),
        "tot_scores_no_path" => {
            let graph = graph(args)?;
            let totals =
                |(name, semiring)| compare_numbers(expect, name, &total_scores(graph.fsas(), semiring)?, DOUBLE);
            Ok(SEMIRINGS.map(totals).into_iter().collect::<Result<Vec<_>, _>>()?.concat())
        }
        "set_scores_stochastic" => {
            let fsas = graph(args)?.into_parts().0.as_fsa_vec().with_scores(&floats(&args["scores"])?)?;
            compare_floats(expect, "scores", &set_scores_stochastic(&fsas)?.scores(), SINGLE)
        }
        "shortest_path" => best(args, expect),
        "prune_on_arc_post" => {
            let given = graph(args)?;
            compare(expect, &given.carry(prune_on_arc_post(given.fsas(), number(&args["threshold"])?)?)?)
        }
        _ => Err(Stop::NotRun),
    }
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
            let grad = saved.backward(&flat(&expect["tot_out_grad"])?)?;
            differences.extend(compare_numbers(expect, "scores_grad", &grad, SINGLE)?);
        }
    }
    for (name, semiring) in SEMIRINGS {
        let expect = &expect[format!("arc_post_{name}_grad")];
        if expect.is_object() {
            let (_, saved) = arc_posteriors_saved::<f64, _>(fsas, semiring)?;
            let grad = saved.backward(&flat(&expect["out_grad"])?)?;
            differences.extend(compare_numbers(expect, "scores_grad", &grad, SINGLE)?);
        }
    }
    Ok(differences)
}

fn best(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let given = graph(args)?;
    let (path, map) = shortest_path(given.fsas())?;
    let num_arcs = map.len();
    let came = given.carry((path, map))?;
    let sums = |fsas: &FsaOrVec| total_scores::<f64, _>(fsas, Semiring::Tropical);
    let totals = sums(came.fsas())?;
    let mut differences = compare_numbers(expect, "tot", &totals, DOUBLE)?;
    // Where two paths are equally good, either is right: it is compared by its total, and by being
    // a path of the FSA. Then some arc that is not on the chosen path is on another one as good.
    let right = graph(expect)?;
    let (posteriors, _) = arc_posteriors_saved::<f64, _>(given.fsas(), Semiring::Tropical)?;
    differences.extend(if posteriors.iter().filter(|&&by| by > -DOUBLE).count() > num_arcs {
        let right = sums(right.fsas())?;
        let same = all_close(&right, &totals, DOUBLE);
        unless(same, || format!("expected best paths with the totals {right:?}, came {totals:?}"))
    } else {
        compare(expect, &as_kind(&right, came)?)?
    });
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
