//! Text, plain arrays and properties.

use fsa::io::K2Text;
use fsa::{AUX_LABELS, Attribute, Fsa, FsaOrVec, Fsas, Graph, io};
use serde_json::{Value, json};

use super::json::{self, compare, compare_ints};
use crate::{Stop, field, unless};

/// Runs an operation of this file.
pub(super) fn run(op: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    match op {
        "from_str" => from_str(args, expect),
        "from_str_bad" => read(args).map(|_| vec![]),
        "properties" => properties(args, expect),
        "to_tensor" => to_tensor(args, expect),
        _ => Err(Stop::NotRun),
    }
}

fn read(args: &Value) -> Result<Graph<Fsa>, Stop> {
    let labels: Option<usize> = field(args, "num_aux_labels")?;
    let lists: Option<Vec<String>> = field(args, "ragged_label_names")?;
    let format = K2Text::acceptor().with_openfst(args["openfst"] == true).with_labels(labels.unwrap_or(0));
    Ok(format.with_list_names(lists.unwrap_or_default()).read(&field::<String>(args, "string")?)?)
}

fn from_str(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let came = read(args)?;
    let mut differences = [compare(expect, &came)?, compare_printed(expect, &came)?].concat();
    for (name, right) in expect["attrs"].as_object().into_iter().flatten() {
        let came = match came.attributes().get(name) {
            Some(Attribute::Ints { values, .. }) => json!(values.to_vec()),
            Some(Attribute::Lists(lists)) => json!(lists.rows().collect::<Vec<_>>()),
            _ => Value::Null,
        };
        differences.extend(unless(*right == came, || format!("expected {name} {right}, came {came}")));
    }
    Ok(differences)
}

fn properties(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let graph = json::graph(args)?;
    let mut differences = compare_printed(expect, &graph)?;
    // Text printed without loss reads back.
    if let (FsaOrVec::Fsa(fsa), None | Some(Attribute::Ints { .. })) =
        (graph.fsas(), graph.attributes().get(AUX_LABELS))
    {
        let format = K2Text::for_graph(&graph);
        let back = format.read(&format.print(&graph)?)?;
        let same = back.fsas() == fsa && back.attributes() == graph.attributes();
        differences.extend(unless(same, || format!("printed {graph:?}, read {back:?}")));
    }
    Ok(differences)
}

fn to_tensor(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (came, same) = match json::graph(args)?.fsas() {
        FsaOrVec::Fsa(fsa) => {
            let tensor = io::fsa_to_tensor(fsa);
            (tensor.concat(), io::fsa_from_tensor(&tensor)? == *fsa)
        }
        FsaOrVec::FsaVec(fsas) => {
            let tensor = io::fsa_vec_to_tensor(fsas)?;
            let same = io::fsa_vec_from_tensor(&tensor)? == *fsas;
            (tensor, same)
        }
    };
    let back = unless(same, || format!("{came:?} reads as other FSAs"));
    Ok([compare_ints(expect, "tensor_i32", &came)?, back].concat())
}

/// The properties by number and by k2's words, and the FSA as text of either kind.
fn compare_printed<F: Fsas>(expect: &Value, came: &Graph<F>) -> Result<Vec<String>, Stop> {
    let properties = came.fsas().as_fsa_vec().properties();
    let (bits, words) = (properties.bits(), format!("\"{properties}\""));
    let (right_bits, right_words) = (&expect["properties"], &expect["properties_str"]);
    let same = right_bits.as_u64().is_none_or(|right| right == u64::from(bits));
    let mut differences = unless(same, || format!("expected properties {right_bits}, came {bits}"));
    let same = right_words.as_str().is_none_or(|right| right == words);
    differences.extend(unless(same, || format!("expected {right_words}, came {words}")));
    for (name, openfst) in [("to_str_simple", false), ("to_str_simple_openfst", true)] {
        if let Some(right) = expect[name].as_str() {
            let came = K2Text::simple(came).with_openfst(openfst).print(came)?;
            differences.extend(unless(right == came, || format!("expected {name} {right:?}, came {came:?}")));
        }
    }
    Ok(differences)
}
