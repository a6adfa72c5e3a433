//! The operations by their names.

use fsa::optimize::{DeterminizeOptions, MinimizeOptions, PushTo, determinize, minimize, push_weights};
use fsa::{Fsa, Graph};
use serde_json::Value;

use super::compare::{compare_counts, compare_language, compare_some_strings};
use super::text::{Machine, inputs, read};
use super::{Operation, Stop};

/// The code of an operation.
pub(super) fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "determinize" => determinize_case,
        "minimize" => minimize_case,
        "push_weights" => push_weights_case,
        "lexicon_compose" => tmp_lexicon,
        _ => return None,
    })
}

fn tmp_lexicon(case: &Value) -> Result<Vec<String>, Stop> {
    let input = read(case["result"].as_str().unwrap())?.graph;
    let det = determinize(&input, &DeterminizeOptions::default())?;
    let min = minimize(&det, &MinimizeOptions::default())?;
    println!("{:?} {:?}", super::text::counts(&det), super::text::counts(&min));
    let mut d = compare_some_strings(&input, &det);
    d.extend(compare_some_strings(&input, &min));
    Ok(d)
}

/// The one input of a case.
fn input(case: &Value) -> Result<Graph<Fsa>, Stop> {
    match <[Machine; 1]>::try_from(inputs(case)?) {
        Ok([machine]) => Ok(machine.graph),
        Err(inputs) => Err(Stop::Damaged(format!("{} inputs", inputs.len()))),
    }
}

/// Counts and language.
fn compare_both(case: &Value, came: &Graph<Fsa>) -> Result<Vec<String>, Stop> {
    let mut differences = compare_counts(case, "info", came);
    differences.extend(compare_language(case, came)?);
    Ok(differences)
}

fn determinize_case(case: &Value) -> Result<Vec<String>, Stop> {
    compare_both(case, &determinize(&input(case)?, &DeterminizeOptions::default())?)
}

fn minimize_case(case: &Value) -> Result<Vec<String>, Stop> {
    let input = input(case)?;
    let came = minimize(&input, &MinimizeOptions::default())?;
    let mut differences = compare_both(case, &came)?;
    differences.extend(compare_some_strings(&input, &came));
    Ok(differences)
}

fn push_weights_case(case: &Value) -> Result<Vec<String>, Stop> {
    let input = input(case)?;
    let came = input.carry(push_weights(input.fsas(), PushTo::Initial)?)?;
    compare_language(case, &came)
}
