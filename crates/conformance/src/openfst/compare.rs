//! The README's rules: the values that must be equal, and the tolerances.

use fsa::{Fsa, Graph};
use serde_json::Value;

use super::text::{Strings, cost_of, counts, distances, read, some_strings};
use crate::{Stop, field, near, unless};

/// OpenFst rounds costs to 1/1024.
const COST: f64 = 1e-3;

/// An infinite cost is of no path, which is near no cost.
pub(super) fn close(a: f64, b: f64) -> bool {
    near(a, b, COST * a.abs().max(b.abs()).max(1.0))
}

/// Counts and language.
pub(super) fn compare_both(case: &Value, came: &Graph<Fsa>) -> Result<Vec<String>, Stop> {
    Ok([compare_counts(case, "info", came), compare_language(case, came)?].concat())
}

/// `info`, under the name `name`: states, arcs and final states must be as many.
pub(super) fn compare_counts(case: &Value, name: &str, came: &Graph<Fsa>) -> Vec<String> {
    let info = &case[name];
    let right = ["states", "arcs", "finals"].map(|what| info[what].as_u64().and_then(|n| usize::try_from(n).ok()));
    let came = counts(came);
    unless(right == came.map(Some), || format!("expected [states, arcs, finals] {right:?}, came {came:?}"))
}

/// `shortest`, `samples` and `result`, those that the case has: the strings accepted and their
/// costs.
pub(super) fn compare_language(case: &Value, came: &Graph<Fsa>) -> Result<Vec<String>, Stop> {
    let mut differences = Vec::new();
    let samples = case["samples"].as_array().into_iter().flatten();
    if let Some(shortest) = case.get("shortest") {
        let best = distances(came, true).last().copied().unwrap_or(f64::INFINITY);
        let right = if shortest.is_null() { f64::INFINITY } else { field(shortest, "weight")? };
        differences.extend(unless(close(best, right), || format!("expected a best path of cost {right}, came {best}")));
    }
    for sample in case.get("shortest").filter(|shortest| !shortest.is_null()).into_iter().chain(samples) {
        let strings: Strings = (field(sample, "ilabels")?, field(sample, "olabels")?);
        let (right, cost) = (field(sample, "weight")?, cost_of(came, &strings));
        let same = close(right, cost);
        differences.extend(unless(same, || format!("expected {strings:?} with cost {right}, came {cost}")));
    }
    if let Some(result) = case["result"].as_str() {
        differences.extend(compare_some_strings(&read(result)?.graph, came));
    }
    Ok(differences)
}

/// Strings of either are accepted by the other with the same cost.
pub(super) fn compare_some_strings(right: &Graph<Fsa>, came: &Graph<Fsa>) -> Vec<String> {
    let strings = some_strings(right).into_iter().chain(some_strings(came));
    let different = strings.flat_map(|strings| {
        let (right, came) = (cost_of(right, &strings), cost_of(came, &strings));
        unless(close(right, came), || format!("expected {strings:?} with cost {right}, came {came}"))
    });
    different.take(3).collect()
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
