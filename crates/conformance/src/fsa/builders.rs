//! k2's graph builders.

use fsa::{Attribute, FsaVec, Fsas, Graph, graphs, k2};
use serde_json::Value;

use super::json::{self, compare, compare_floats, lists};
use crate::{Stop, field};

/// Runs an operation of this file.
pub(super) fn run(op: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    match op {
        "linear_fsa" => linear_fsa(args, expect),
        "linear_fsa_vec" => linear_fsa_vec(args, expect),
        "linear_fst" | "linear_fst_vec" => linear_fst(args, expect),
        "linear_fsa_with_self_loops" | "linear_fst_with_self_loops" => {
            let graph = json::graph(args)?;
            compare(expect, &graph.carry(k2::with_self_loops(graph.fsas())?)?)
        }
        "ctc_topo" => compare(expect, &graphs::ctc_topo(field(args, "max_token")?, field(args, "modified")?)?),
        "trivial_graph" => compare(expect, &graphs::trivial_graph(field(args, "max_token")?)?),
        "ctc_graph" => compare(expect, &graphs::ctc_graph(&lists(args, "symbols")?, field(args, "modified")?)?),
        "levenshtein_graph" => {
            let came = k2::levenshtein_graph(&lists(args, "symbols")?, field(args, "ins_del_score")?)?;
            let offsets = compare_floats(expect, "score_offsets", &offsets(&came), 1e-9)?;
            Ok([compare(expect, &came)?, offsets].concat())
        }
        _ => Err(Stop::NotRun),
    }
}

fn linear_fsa(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    if args["labels"][0].is_array() {
        return linear_fsa_vec(args, expect);
    }
    compare(expect, &Graph::new(k2::linear_fsa(&field::<Vec<i32>>(args, "labels")?)?))
}

fn linear_fsa_vec(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    compare(expect, &Graph::new(k2::linear_fsas(&lists(args, "labels")?)?))
}

fn linear_fst(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    if args["labels"][0].is_array() {
        return compare(expect, &k2::linear_fsts(&lists(args, "labels")?, &lists(args, "aux_labels")?)?);
    }
    let (labels, aux_labels): (Vec<i32>, Vec<i32>) = (field(args, "labels")?, field(args, "aux_labels")?);
    compare(expect, &k2::linear_fst(&labels, &aux_labels)?)
}

fn offsets(graph: &Graph<FsaVec>) -> Vec<f32> {
    match graph.attributes().get(k2::INS_DEL_SCORE_OFFSET) {
        Some(Attribute::Floats { values, .. }) => values.to_vec(),
        _ => vec![0.0; graph.fsas().as_fsa_vec().num_arcs()],
    }
}
