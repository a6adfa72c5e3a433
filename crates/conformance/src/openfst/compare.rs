//! The README's rules: the values that must be equal, and the tolerances.

use fsa::{Fsa, Graph};
use serde_json::Value;

use super::Stop;
use super::text::{Strings, cost_of, counts, distances, read, some_strings};

/// OpenFst rounds costs to 1/1024.
const COST: f64 = 1e-3;

pub(super) fn close(a: f64, b: f64) -> bool {
    // Infinite: there is no such path, which is near no cost.
    a == b || (a.is_finite() && b.is_finite() && (a - b).abs() <= COST * a.abs().max(b.abs()).max(1.0))
}

/// `info`, under the name `name`: states, arcs and final states must be as many.
pub(super) fn compare_counts(case: &Value, name: &str, came: &Graph<Fsa>) -> Vec<String> {
    let info = &case[name];
    let right = ["states", "arcs", "finals"].map(|what| info[what].as_u64().and_then(|n| usize::try_from(n).ok()));
    let came = counts(came);
    if right == came.map(Some) {
        vec![]
    } else {
        vec![format!("expected [states, arcs, finals] {right:?}, came {came:?}")]
    }
}

/// `shortest`, `samples` and `result`, those that the case has: the strings accepted and their
/// costs.
pub(super) fn compare_language(case: &Value, came: &Graph<Fsa>) -> Result<Vec<String>, Stop> {
    let mut differences = Vec::new();
    if let Some(shortest) = case.get("shortest") {
        let best = distances(came, true).last().copied().unwrap_or(f64::INFINITY);
        let right = if shortest.is_null() { f64::INFINITY } else { weight(shortest)? };
        if !close(best, right) {
            differences.push(format!("expected a best path of cost {right}, came {best}"));
        }
        if !shortest.is_null() {
            differences.extend(compare_sample(shortest, came)?);
        }
    }
    for sample in case["samples"].as_array().into_iter().flatten() {
        differences.extend(compare_sample(sample, came)?);
    }
    if let Some(result) = case["result"].as_str() {
        differences.extend(compare_some_strings(&read(result)?.graph, came));
    }
    Ok(differences)
}

/// Strings of either are accepted by the other with the same cost.
pub(super) fn compare_some_strings(right: &Graph<Fsa>, came: &Graph<Fsa>) -> Vec<String> {
    let strings = some_strings(right).into_iter().chain(some_strings(came));
    let different = strings.filter_map(|strings| {
        let costs = (cost_of(right, &strings), cost_of(came, &strings));
        (!close(costs.0, costs.1)).then(|| format!("expected {strings:?} with cost {}, came {}", costs.0, costs.1))
    });
    different.take(3).collect()
}

fn weight(value: &Value) -> Result<f64, Stop> {
    value["weight"].as_f64().ok_or_else(|| Stop::Damaged("no weight".into()))
}

fn compare_sample(sample: &Value, came: &Graph<Fsa>) -> Result<Option<String>, Stop> {
    let list = |name: &str| {
        serde_json::from_value::<Vec<i32>>(sample[name].clone()).map_err(|why| Stop::Damaged(format!("{name}: {why}")))
    };
    let strings: Strings = (list("ilabels")?, list("olabels")?);
    let (right, cost) = (weight(sample)?, cost_of(came, &strings));
    Ok((!close(right, cost)).then(|| format!("expected {strings:?} with cost {right}, came {cost}")))
}

#[cfg(test)]
mod tests {
    use super::close;

    #[test]
    fn a_path_that_is_not_there_has_no_cost() {
        assert!(close(f64::INFINITY, f64::INFINITY) && close(1.0, 1.0005) && close(1e6, 1e6 + 500.0));
        assert!(!close(f64::INFINITY, 3.0) && !close(3.0, f64::INFINITY) && !close(1.0, 1.01));
    }
}
