//! The indexes of sort, segment and concat, and their effect on rows: `segment.jsonl`.

use kaldera::lod::{Lod, LodTensor, concat_outputs, init_states, init_states_backward, segment_inputs};
use serde_json::{Value, json};

use super::Stop;
use super::plain::{lod_of, numbers};

/// Segments and concatenates the tensor of a case, and compares every index.
pub(super) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let lod = lod_of(case)?;
    let level = usize::try_from(case["level"].as_u64().unwrap_or(0)).map_err(|_| Stop::Damaged("level".into()))?;
    let x = rows(&case["x"], lod)?;
    let table = x.lod().rank_table(level)?;
    let segments = segment_inputs(&x, &table)?;
    let mut came = json!({"order": table.order()});
    let mut differences = Vec::new();
    if case["levels"] == 1 {
        let (packed, reversed) = (table.packed(), table.reversed());
        came["sorted_lengths"] = table.items().map(|item| item.length).collect();
        came["batch_sizes"] = packed.batch_sizes().collect();
        came["step_offsets"] = json!(packed.step_offsets());
        came["packed_to_row"] = json!(table.packed_to_entry());
        came["row_to_packed"] = json!(table.entry_to_packed());
        came["packed_to_row_reversed"] = json!(reversed.packed_to_entry());
        came["last_packed_row_of_seq"] = json!(packed.last_positions());
        came["packed"] = values(segments.packed());
        let boot = numbers::<i64>(&case["boot"])?;
        let boot = LodTensor::from_vec([boot.len()], boot, Lod::none())?;
        let sorted = init_states(&boot, &table)?;
        came["boot_sorted"] = json!(sorted.values());
        if init_states_backward(&sorted, &table)? != boot {
            differences.push("boot: its way back leads elsewhere".into());
        }
        if concat_outputs(&segment_inputs(&x, &reversed)?)? != x {
            differences.push("x: from its end, it does not come back".into());
        }
    } else {
        came["steps"] = (0..segments.num_steps())
            .map(|step| {
                let entries = &table.packed_to_entry()[table.packed().step(step)];
                let tensor = segments.step_tensor(step);
                let rows = entries.iter().flat_map(|&entry| x.lod().element(level + 1, entry as usize));
                json!({
                    "active": table.order()[..table.active(step)],
                    "sub_sequences": entries,
                    "lod": (0..tensor.lod().num_levels()).map(|level| tensor.lod().offsets(level)).collect::<Vec<_>>(),
                    "rows": rows.collect::<Vec<_>>(),
                    "data": values(&tensor),
                })
            })
            .collect();
    }
    if concat_outputs(&segments)? != x {
        differences.push("x: it does not come back".into());
    }
    for (name, came) in came.as_object().into_iter().flatten() {
        if case[name] != *came {
            differences.push(format!("{name}: expected {}, came {came}", case[name]));
        }
    }
    Ok(differences)
}

/// A tensor from a list of rows.
fn rows(value: &Value, lod: Lod) -> Result<LodTensor<i64>, Stop> {
    let rows = value.as_array().ok_or_else(|| Stop::Damaged("no rows".into()))?;
    let width = rows.first().and_then(Value::as_array).map_or(1, Vec::len);
    let values = rows.iter().map(numbers::<i64>).collect::<Result<Vec<_>, _>>()?.concat();
    Ok(LodTensor::from_vec([rows.len(), width], values, lod)?)
}

/// A list of rows.
fn values(tensor: &LodTensor<i64>) -> Value {
    (0..tensor.num_rows()).map(|row| json!(tensor.row(row))).collect()
}
