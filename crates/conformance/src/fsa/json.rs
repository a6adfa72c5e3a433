//! FSAs in the JSON of the known answers, read and compared.

use fsa::{Arc, Fsa, FsaOrVec, FsaVec, Fsas, Graph};
use ragged_core::Ragged;
use serde_json::Value;

use super::Stop;

/// Scores are f32; k2's printed numbers differ by no more than its rounding.
const SCORE: f64 = 1e-6;

/// `value` as the type asked for, or the case is damaged.
pub(crate) fn field<T: serde::de::DeserializeOwned>(value: &Value, name: &str) -> Result<T, Stop> {
    serde_json::from_value(value[name].clone()).map_err(|why| Stop::Damaged(format!("{name}: {why}")))
}

/// A number, or one of the strings "inf", "-inf" and "nan".
pub(crate) fn number(value: &Value) -> Result<f64, Stop> {
    let number = value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number.ok_or_else(|| Stop::Damaged(format!("{value} is no number")))
}

/// A list of numbers.
pub(crate) fn numbers(value: &Value) -> Result<Vec<f64>, Stop> {
    value.as_array().ok_or_else(|| Stop::Damaged(format!("{value} is no list")))?.iter().map(number).collect()
}

/// Nested lists of numbers, one after another.
pub(crate) fn flat(value: &Value) -> Result<Vec<f64>, Stop> {
    fn add(value: &Value, to: &mut Vec<f64>) -> Result<(), Stop> {
        match value.as_array() {
            Some(list) => list.iter().try_for_each(|value| add(value, to)),
            None => number(value).map(|number| to.push(number)),
        }
    }
    let mut values = Vec::new();
    add(value, &mut values)?;
    Ok(values)
}

/// A list of f32.
pub(crate) fn floats(value: &Value) -> Result<Vec<f32>, Stop> {
    Ok(numbers(value)?.into_iter().map(single).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "the shortest decimals of numbers that were f32")]
fn single(number: f64) -> f32 {
    number as f32
}

/// The object `{fsas, is_vec}` with its auxiliary labels.
pub(crate) fn graph(value: &Value) -> Result<Graph<FsaOrVec>, Stop> {
    let list = value["fsas"].as_array().ok_or_else(|| Stop::Damaged("no list of fsas".into()))?;
    let mut fsas = Vec::new();
    let (mut aux, mut lists) = (Vec::<i32>::new(), Vec::<Vec<i32>>::new());
    for one in list {
        let rows: Vec<(i32, i32, i32, Value)> = field(one, "arcs")?;
        let arcs = rows
            .iter()
            .map(|(src, dest, label, score)| number(score).map(|score| Arc::new(*src, *dest, *label, single(score))));
        fsas.push(Fsa::from_arcs(field(one, "num_states")?, arcs.collect::<Result<Vec<_>, _>>()?)?);
        if one.get("aux_labels").is_some() {
            aux.append(&mut field(one, "aux_labels")?);
        }
        if one.get("aux_labels_ragged").is_some() {
            lists.append(&mut field(one, "aux_labels_ragged")?);
        }
    }
    let fsas = match (value["is_vec"] == true, &fsas[..]) {
        (false, [one]) => FsaOrVec::Fsa(one.clone()),
        _ => FsaOrVec::FsaVec(FsaVec::from_fsas(&fsas)?),
    };
    let has = |name: &str| list.iter().any(|one| one.get(name).is_some());
    let graph = Graph::new(fsas);
    if has("aux_labels") {
        Ok(graph.with_aux_labels(aux)?)
    } else if has("aux_labels_ragged") {
        Ok(graph.with_aux_labels(Ragged::from_lists(&lists).map_err(fsa::Error::from)?)?)
    } else {
        Ok(graph)
    }
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
        if right.num_states() != came.num_states() {
            differences.push(format!("FSA {i}: expected {} states, came {}", right.num_states(), came.num_states()));
        }
        if right.arcs().len() != came.arcs().len() {
            differences.push(format!("FSA {i}: expected {:?}, came {:?}", right.arcs(), came.arcs()));
            continue;
        }
        for (at, (right, came)) in right.arcs().iter().zip(came.arcs()).enumerate() {
            let key = |arc: &Arc| (arc.src_state, arc.dest_state, arc.label);
            if key(right) != key(came) || !close(right.score.into(), came.score.into(), SCORE) {
                differences.push(format!("FSA {i}: arc {at}: expected {right:?}, came {came:?}"));
            }
        }
    }
    // Without arcs, the kinds of labels cannot be distinguished.
    if right_vec.num_arcs() > 0 && right.attributes().get(fsa::AUX_LABELS) != came.attributes().get(fsa::AUX_LABELS) {
        let of = |graph: &fsa::Attributes| graph.get(fsa::AUX_LABELS).cloned();
        differences.push(format!("expected aux_labels {:?}, came {:?}", of(right.attributes()), of(came.attributes())));
    }
    if let Some(bits) = expect["properties"].as_u64() {
        let came = came_vec.properties();
        if bits != u64::from(came.bits()) {
            differences.push(format!("expected properties {bits}, came {} ({came})", came.bits()));
        }
    }
    Ok(differences)
}

/// The differences of a list of whole numbers under the name `name` of `expect`, if the case has
/// it.
pub(crate) fn compare_ints(expect: &Value, name: &str, came: &[i32]) -> Result<Vec<String>, Stop> {
    if expect.get(name).is_none() {
        return Ok(vec![]);
    }
    let right: Vec<i32> = field(expect, name)?;
    Ok(if right == came { vec![] } else { vec![format!("expected {name} {right:?}, came {came:?}")] })
}

/// The differences of numbers, in nested lists or flat, under the name `name` of `expect`, if the
/// case has it.
pub(crate) fn compare_numbers(expect: &Value, name: &str, came: &[f64], tolerance: f64) -> Result<Vec<String>, Stop> {
    if expect.get(name).is_none() {
        return Ok(vec![]);
    }
    let right = flat(&expect[name])?;
    let same = right.len() == came.len() && right.iter().zip(came).all(|(&a, &b)| close(a, b, tolerance));
    Ok(if same { vec![] } else { vec![format!("expected {name} {right:?}, came {came:?}")] })
}

/// Within `tolerance`, absolute below 1 and relative above; infinities are equal. If k2's value
/// is NaN, it has subtracted infinities, which leaves no number to compare with.
pub(crate) fn close(right: f64, came: f64, tolerance: f64) -> bool {
    // Two infinities have no distance, and a multiple of one is no bound.
    let near = right.is_finite() && (right - came).abs() <= tolerance * right.abs().max(1.0);
    right == came || near || (right.is_nan() && !came.is_finite())
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
