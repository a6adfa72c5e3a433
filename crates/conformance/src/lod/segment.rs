//! The indexes of sort, segment and concat, and their effect on rows: `segment.jsonl`.

use kaldera::lod::{Lod, LodTensor, concat_outputs, init_states, init_states_backward, segment_inputs};
use serde_json::{Value, json};

use super::plain::lod_of;
use crate::{Stop, field, unless};

/// Segments and concatenates the tensor of a case, and compares every index.
pub(crate) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let lod = lod_of(case)?;
    let level = field::<Option<usize>>(case, "level")?.unwrap_or(0);
    let x: Vec<Vec<i64>> = match field(case, "x") {
        Ok(rows) => rows,
        Err(_) => field::<Vec<i64>>(case, "x")?.into_iter().map(|x| vec![x]).collect(),
    };
    let x = LodTensor::from_vec([x.len(), x.first().map_or(1, Vec::len)], x.concat(), lod)?;
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
        let boot = field::<Vec<i64>>(case, "boot")?;
        let boot = LodTensor::from_vec([boot.len()], boot, Lod::none())?;
        let sorted = init_states(&boot, &table)?;
        came["boot_sorted"] = json!(sorted.values());
        let back = init_states_backward(&sorted, &table)?;
        differences.extend(unless(back == boot, || "boot: its way back leads elsewhere".into()));
        let back = concat_outputs(&segment_inputs(&x, &reversed)?)?;
        differences.extend(unless(back == x, || "x: from its end, it does not come back".into()));
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
    differences.extend(unless(concat_outputs(&segments)? == x, || "x: it does not come back".into()));
    for (name, came) in came.as_object().into_iter().flatten() {
        let right = &case[name];
        differences.extend(unless(right == came, || format!("{name}: expected {right}, came {came}")));
    }
    Ok(differences)
}

/// A list of rows.
fn values(tensor: &LodTensor<i64>) -> Value {
    (0..tensor.num_rows()).map(|row| json!(tensor.row(row))).collect()
}
