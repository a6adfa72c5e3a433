//! k2's graph builders.

use fsa::{Attribute, FsaVec, Fsas, Graph, graphs, k2};
use ragged_core::Ragged;
use serde_json::Value;

use super::json::{self, compare, compare_numbers, field};
use super::{Operation, Stop};

/// The code of the operations of this file.
pub(super) fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "linear_fsa" => linear_fsa,
        "linear_fsa_vec" => linear_fsa_vec,
        "linear_fst" | "linear_fst_vec" => linear_fst,
        "linear_fsa_with_self_loops" | "linear_fst_with_self_loops" => linear_with_self_loops,
        "ctc_topo" => ctc_topo,
        "trivial_graph" => trivial_graph,
        "ctc_graph" => ctc_graph,
        "levenshtein_graph" => levenshtein_graph,
        _ => return None,
    })
}

type Differences = Result<Vec<String>, Stop>;

fn lists(args: &Value, name: &str) -> Result<Ragged<i32>, Stop> {
    let lists: Vec<Vec<i32>> = field(args, name)?;
    Ok(Ragged::from_lists(&lists).map_err(fsa::Error::from)?)
}

fn linear_fsa(args: &Value, expect: &Value) -> Differences {
    if args["labels"][0].is_array() {
        return linear_fsa_vec(args, expect);
    }
    let labels: Vec<i32> = field(args, "labels")?;
    compare(expect, &Graph::new(k2::linear_fsa(&labels)?))
}

fn linear_fsa_vec(args: &Value, expect: &Value) -> Differences {
    compare(expect, &Graph::new(k2::linear_fsas(&lists(args, "labels")?)?))
}

fn linear_fst(args: &Value, expect: &Value) -> Differences {
    if args["labels"][0].is_array() {
        return compare(expect, &k2::linear_fsts(&lists(args, "labels")?, &lists(args, "aux_labels")?)?);
    }
    let (labels, aux_labels): (Vec<i32>, Vec<i32>) = (field(args, "labels")?, field(args, "aux_labels")?);
    compare(expect, &k2::linear_fst(&labels, &aux_labels)?)
}

fn linear_with_self_loops(args: &Value, expect: &Value) -> Differences {
    let graph = json::graph(args)?;
    compare(expect, &graph.carry(k2::with_self_loops(graph.fsas())?)?)
}

fn ctc_topo(args: &Value, expect: &Value) -> Differences {
    compare(expect, &graphs::ctc_topo(field(args, "max_token")?, field(args, "modified")?)?)
}

fn trivial_graph(args: &Value, expect: &Value) -> Differences {
    compare(expect, &graphs::trivial_graph(field(args, "max_token")?)?)
}

fn ctc_graph(args: &Value, expect: &Value) -> Differences {
    compare(expect, &graphs::ctc_graph(&lists(args, "symbols")?, field(args, "modified")?)?)
}

fn levenshtein_graph(args: &Value, expect: &Value) -> Differences {
    let came = k2::levenshtein_graph(&lists(args, "symbols")?, field(args, "ins_del_score")?)?;
    let mut differences = compare(expect, &came)?;
    let offsets: Vec<f64> = offsets(&came).into_iter().map(f64::from).collect();
    differences.extend(compare_numbers(expect, "score_offsets", &offsets, 1e-9)?);
    Ok(differences)
}

fn offsets(graph: &Graph<FsaVec>) -> Vec<f32> {
    match graph.attributes().get(k2::INS_DEL_SCORE_OFFSET) {
        Some(Attribute::Floats { values, .. }) => values.to_vec(),
        _ => vec![0.0; graph.fsas().as_fsa_vec().num_arcs()],
    }
}
