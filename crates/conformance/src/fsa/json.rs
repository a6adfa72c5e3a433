//! FSAs in the JSON of the known answers, read and compared.

use std::fmt::Debug;

use fsa::{Arc, Fsa, FsaOrVec, FsaVec, Fsas, Graph};
use ragged_core::Ragged;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Number, Stop, field, flat, near, single, unless};

/// Scores are f32; k2's printed numbers differ by no more than its rounding.
const SCORE: f64 = 1e-6;

#[derive(Deserialize)]
struct One {
    num_states: usize,
    arcs: Vec<(i32, i32, i32, Number)>,
    aux_labels: Option<Vec<i32>>,
    aux_labels_ragged: Option<Vec<Vec<i32>>>,
}

/// The object `{fsas, is_vec}` with its auxiliary labels.
pub(crate) fn graph(value: &Value) -> Result<Graph<FsaOrVec>, Stop> {
    let list: Vec<One> = field(value, "fsas")?;
    let arc = |&(src, dest, label, score): &(i32, i32, i32, Number)| Arc::new(src, dest, label, single(score.0));
    let fsas = list.iter().map(|one| Fsa::from_arcs(one.num_states, one.arcs.iter().map(arc).collect::<Vec<_>>()));
    let fsas: Vec<Fsa> = fsas.collect::<Result<_, _>>()?;
    let graph = Graph::new(match (value["is_vec"] == true, &fsas[..]) {
        (false, [one]) => FsaOrVec::Fsa(one.clone()),
        _ => FsaOrVec::FsaVec(FsaVec::from_fsas(&fsas)?),
    });
    if list.iter().any(|one| one.aux_labels.is_some()) {
        let labels = list.into_iter().filter_map(|one| one.aux_labels);
        Ok(graph.with_aux_labels(labels.flatten().collect::<Vec<_>>())?)
    } else if list.iter().any(|one| one.aux_labels_ragged.is_some()) {
        let lists = list.into_iter().filter_map(|one| one.aux_labels_ragged);
        Ok(graph.with_aux_labels(Ragged::from_lists(&lists.flatten().collect::<Vec<_>>())?)?)
    } else {
        Ok(graph)
    }
}

/// The lists under the name `name`.
pub(crate) fn lists(value: &Value, name: &str) -> Result<Ragged<i32>, Stop> {
    Ok(Ragged::from_lists(&field::<Vec<Vec<i32>>>(value, name)?)?)
}

/// The differences of every field of `expect` about states, arcs, output labels, and properties.
pub(crate) fn compare<F: Fsas>(expect: &Value, came: &Graph<F>) -> Result<Vec<String>, Stop> {
    let mut differences = Vec::new();
    let right = graph(expect)?;
    let (right_vec, came_vec) = (right.fsas().as_fsa_vec(), came.fsas().as_fsa_vec());
    if right_vec.num_fsas() != came_vec.num_fsas() {
        return Ok(vec![format!("expected {} FSAs, came {}", right_vec.num_fsas(), came_vec.num_fsas())]);
    }
    for (i, (right, came)) in right_vec.iter().zip(came_vec.iter()).enumerate() {
        let (states, came_states) = (right.num_states(), came.num_states());
        differences
            .extend(unless(states == came_states, || format!("FSA {i}: expected {states} states, came {came_states}")));
        if right.arcs().len() != came.arcs().len() {
            differences.push(format!("FSA {i}: expected {:?}, came {:?}", right.arcs(), came.arcs()));
            continue;
        }
        for (at, (right, came)) in right.arcs().iter().zip(came.arcs()).enumerate() {
            let key = |arc: &Arc| (arc.src_state, arc.dest_state, arc.label);
            let same = key(right) == key(came) && close(right.score.into(), came.score.into(), SCORE);
            differences.extend(unless(same, || format!("FSA {i}: arc {at}: expected {right:?}, came {came:?}")));
        }
    }
    // Without arcs, the kinds of labels cannot be distinguished.
    let [right, came] = [right.attributes(), came.attributes()].map(|all| all.get(fsa::AUX_LABELS));
    let same = right_vec.num_arcs() == 0 || right == came;
    differences.extend(unless(same, || format!("expected aux_labels {right:?}, came {came:?}")));
    if let Some(bits) = expect["properties"].as_u64() {
        let came = came_vec.properties();
        let same = bits == u64::from(came.bits());
        differences.extend(unless(same, || format!("expected properties {bits}, came {} ({came})", came.bits())));
    }
    Ok(differences)
}

/// The difference of what stands under the name `name` of `expect`.
pub(crate) fn compare_exact<T: DeserializeOwned + PartialEq + Debug>(
    expect: &Value,
    name: &str,
    came: &T,
) -> Result<Vec<String>, Stop> {
    let right: T = field(expect, name)?;
    Ok(unless(right == *came, || format!("expected {name} {right:?}, came {came:?}")))
}

/// The difference of a list of whole numbers under the name `name` of `expect`, if the case has it.
pub(crate) fn compare_ints(expect: &Value, name: &str, came: &[i32]) -> Result<Vec<String>, Stop> {
    if expect.get(name).is_none() { Ok(vec![]) } else { compare_exact(expect, name, &came.to_vec()) }
}

/// The difference of numbers, in nested lists or flat, under the name `name` of `expect`.
pub(crate) fn compare_by(
    expect: &Value,
    name: &str,
    came: &[f64],
    same: impl Fn(&[f64], &[f64]) -> bool,
) -> Result<Vec<String>, Stop> {
    let right = flat(&expect[name])?;
    Ok(unless(same(&right, came), || format!("expected {name} {right:?}, came {came:?}")))
}

/// The difference of numbers that are not [`close`], if the case has them.
pub(crate) fn compare_numbers(expect: &Value, name: &str, came: &[f64], tolerance: f64) -> Result<Vec<String>, Stop> {
    if expect.get(name).is_none() {
        return Ok(vec![]);
    }
    compare_by(expect, name, came, |right, came| all_close(right, came, tolerance))
}

/// [`compare_numbers`] of ours in single precision.
pub(crate) fn compare_floats(expect: &Value, name: &str, came: &[f32], tolerance: f64) -> Result<Vec<String>, Stop> {
    compare_numbers(expect, name, &came.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), tolerance)
}

/// Within `tolerance`, absolute below 1 and relative above; infinities are equal. If k2's value
/// is NaN, it has subtracted infinities, which leaves no number to compare with.
pub(crate) fn close(right: f64, came: f64, tolerance: f64) -> bool {
    near(right, came, tolerance * right.abs().max(1.0)) || (right.is_nan() && !came.is_finite())
}

/// Returns `true` if two lists are as long and all their numbers are [`close`].
pub(crate) fn all_close(right: &[f64], came: &[f64], tolerance: f64) -> bool {
    right.len() == came.len() && right.iter().zip(came).all(|(&a, &b)| close(a, b, tolerance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_are_near_nothing() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert!(close(1.0, 1.0 + 1e-7, 1e-6) && close(1e9, 1e9 + 100.0, 1e-6) && close(-inf, -inf, 1e-6));
        for (right, came) in [(-inf, 0.0), (0.0, -inf), (inf, -inf), (0.0, nan), (-inf, nan), (nan, 0.0)] {
            assert!(!close(right, came, 1e-6), "{right} {came}");
        }
        assert!(close(nan, -inf, 1e-6) && close(nan, nan, 1e-6));
    }
}
