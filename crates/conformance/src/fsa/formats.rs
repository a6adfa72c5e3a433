//! Text, plain arrays and properties.

use fsa::io::K2Text;
use fsa::{AUX_LABELS, Attribute, Fsa, FsaOrVec, Fsas, Graph, io};
use serde_json::{Value, json};

use super::json::{self, compare, compare_ints, field};
use super::{Operation, Stop};

/// The code of the operations of this file.
pub(super) fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "from_str" => from_str,
        "from_str_bad" => from_str_bad,
        "properties" => properties,
        "to_tensor" => to_tensor,
        _ => return None,
    })
}

type Differences = Result<Vec<String>, Stop>;

fn read(args: &Value) -> Result<Graph<Fsa>, Stop> {
    let text: String = field(args, "string")?;
    let labels: Option<usize> = field(args, "num_aux_labels")?;
    let lists: Option<Vec<String>> = field(args, "ragged_label_names")?;
    let format = K2Text::acceptor().with_openfst(args["openfst"] == true).with_labels(labels.unwrap_or(0));
    Ok(format.with_list_names(lists.unwrap_or_default()).read(&text)?)
}

fn from_str(args: &Value, expect: &Value) -> Differences {
    let came = read(args)?;
    let mut differences = compare(expect, &came)?;
    differences.extend(compare_properties(expect, &came));
    differences.extend(compare_text(expect, "to_str_simple", &came, false)?);
    differences.extend(compare_text(expect, "to_str_simple_openfst", &came, true)?);
    for (name, right) in expect["attrs"].as_object().into_iter().flatten() {
        let came = match came.attributes().get(name) {
            Some(Attribute::Ints { values, .. }) => json!(values.to_vec()),
            Some(Attribute::Lists(lists)) => json!(lists.rows().collect::<Vec<_>>()),
            _ => Value::Null,
        };
        if *right != came {
            differences.push(format!("expected {name} {right}, came {came}"));
        }
    }
    Ok(differences)
}

fn from_str_bad(args: &Value, _: &Value) -> Differences {
    read(args).map(|_| vec![])
}

fn properties(args: &Value, expect: &Value) -> Differences {
    let graph = json::graph(args)?;
    let mut differences = compare_properties(expect, &graph);
    differences.extend(compare_text(expect, "to_str_simple", &graph, false)?);
    differences.extend(compare_text(expect, "to_str_simple_openfst", &graph, true)?);
    // Text printed without loss reads back.
    if let (FsaOrVec::Fsa(fsa), None | Some(Attribute::Ints { .. })) =
        (graph.fsas(), graph.attributes().get(AUX_LABELS))
    {
        let format = K2Text::of(&graph);
        let back = format.read(&format.print(&graph)?)?;
        if back.fsas() != fsa || back.attributes() != graph.attributes() {
            differences.push(format!("printed {graph:?}, read {back:?}"));
        }
    }
    Ok(differences)
}

fn to_tensor(args: &Value, expect: &Value) -> Differences {
    let graph = json::graph(args)?;
    let (came, same) = match graph.fsas() {
        FsaOrVec::Fsa(fsa) => {
            let tensor = io::fsa_to_tensor(fsa);
            let same = io::fsa_from_tensor(&tensor)? == *fsa;
            (tensor.concat(), same)
        }
        FsaOrVec::FsaVec(fsas) => {
            let tensor = io::fsa_vec_to_tensor(fsas)?;
            let same = io::fsa_vec_from_tensor(&tensor)? == *fsas;
            (tensor, same)
        }
    };
    let mut differences = compare_ints(expect, "tensor_i32", &came)?;
    if !same {
        differences.push(format!("{came:?} reads as other FSAs"));
    }
    Ok(differences)
}

/// The properties by number and by k2's words.
fn compare_properties<F: Fsas>(expect: &Value, came: &Graph<F>) -> Vec<String> {
    let came = came.fsas().as_fsa_vec().properties();
    let mut differences = vec![];
    if expect["properties"].as_u64().is_some_and(|bits| bits != u64::from(came.bits())) {
        differences.push(format!("expected properties {}, came {}", expect["properties"], came.bits()));
    }
    let words = format!("\"{came}\"");
    if expect["properties_str"].as_str().is_some_and(|right| right != words) {
        differences.push(format!("expected {}, came {words}", expect["properties_str"]));
    }
    differences
}

fn compare_text<F: Fsas>(expect: &Value, name: &str, came: &Graph<F>, openfst: bool) -> Differences {
    let Some(right) = expect[name].as_str() else { return Ok(vec![]) };
    let came = K2Text::simple(came).with_openfst(openfst).print(came)?;
    Ok(if right == came { vec![] } else { vec![format!("expected {name} {right:?}, came {came:?}")] })
}
