//! The operations of `ragged_shape.json`.

use kaldera::ragged::{RaggedShape, RowSplits};
use serde_json::{Value, json};

use super::json::{describe, shape, shapes, with};
use crate::{Stop, field};

/// Runs the operation `op` of the file.
pub(crate) fn run(op: &str, args: &Value) -> Result<Value, Stop> {
    let one = || shape(args);
    let axis = || field::<usize>(args, "axis");
    Ok(match op {
        "parse" | "parse_bad" => describe(&field::<String>(args, "string")?.parse()?),
        "describe" => describe(&one()?),
        "max_size" => {
            let shape = one()?;
            json!({"max_size": (1..shape.num_axes()).map(|axis| shape.max_size(axis)).collect::<Vec<_>>()})
        }
        "decreasing_size_order" => json!({"order": one()?.decreasing_size_order()}),
        "index0" => describe(&one()?.index0(field(args, "i")?)?),
        "index" => {
            let (shape, value_indexes) = one()?.index(axis()?, &field::<Vec<i32>>(args, "indexes")?)?;
            with(describe(&shape), json!({"value_indexes": value_indexes}))
        }
        "remove_axis" => describe(&one()?.remove_axis(axis()?)?),
        "unsqueeze" => describe(&one()?.unsqueeze(axis()?)?),
        "get_layer" => describe(&one()?.layer(field(args, "layer")?)?),
        "arange" => {
            let (shape, values) = one()?.arange(axis()?, field(args, "begin")?, field(args, "end")?)?;
            with(describe(&shape), json!({"value_begin": values.start, "value_end": values.end}))
        }
        "prefix" => describe(&one()?.prefix(field(args, "n")?)?),
        "remove_empty_lists" => {
            let (shape, new2old) = one()?.remove_empty_lists(axis()?)?;
            with(describe(&shape), json!({"new2old": new2old}))
        }
        "subset" => {
            let keep: Vec<i32> = field(args, "keep")?;
            let keep: Vec<bool> = keep.into_iter().map(|flag| flag != 0).collect();
            let (shape, new2old) = one()?.subset(axis()?, &keep)?;
            with(describe(&shape), json!({"elems_new2old": new2old}))
        }
        "change_sublist_size" => describe(&one()?.change_sublist_size(field(args, "delta")?)?),
        "change_sublist_size_pinned" => describe(&one()?.change_sublist_size_pinned(field(args, "delta")?)?),
        "unstack" => {
            let parts = one()?.unstack(axis()?, field(args, "pad_right")?)?;
            let (shapes, maps): (Vec<_>, Vec<_>) =
                parts.into_iter().map(|(shape, map)| (shape.to_string(), map)).unzip();
            json!({"shapes": shapes, "split_maps": maps})
        }
        "make_transposable" => describe(&one()?.make_transposable()?),
        "transpose" => {
            let (shape, value_indexes) = one()?.transpose()?;
            with(describe(&shape), json!({"value_indexes": value_indexes}))
        }
        "decompose" => {
            let (top, bottom) = one()?.decompose(axis()?)?;
            json!({"top": describe(&top), "bottom": describe(&bottom)})
        }
        "stack" => {
            let (shape, merge_map) = RaggedShape::stack(axis()?, &shapes(args)?)?;
            with(describe(&shape), json!({"merge_map": merge_map}))
        }
        "cat" => {
            let (shape, merge_map) = RaggedShape::cat(axis()?, &shapes(args)?)?;
            with(describe(&shape), json!({"merge_map": merge_map}))
        }
        "merge" => {
            let (shape, merge_map) = RaggedShape::merge(&shapes(args)?, &field::<Vec<u32>>(args, "merge_map")?)?;
            with(describe(&shape), json!({"merge_map_out": merge_map}))
        }
        "covering" => {
            let shapes = shapes(args)?;
            let covering = RaggedShape::covering(&shapes)?;
            let maps = shapes.iter().map(|shape| covering.forward_map(shape)).collect::<Result<Vec<_>, _>>()?;
            with(describe(&covering), json!({"forward_maps": maps}))
        }
        "compose" => describe(&shape(&args["top"])?.compose(&shape(&args["bottom"])?)?),
        "regular" => describe(&RaggedShape::regular(field(args, "dim0")?, field(args, "dim1")?)?),
        "empty" => describe(&RaggedShape::empty(field(args, "num_axes")?)?),
        "trivial" => describe(&RaggedShape::trivial(field(args, "num_elems")?)?),
        "row_splits_to_row_ids" => {
            json!({"row_ids": RowSplits::new(field::<Vec<i32>>(args, "row_splits")?)?.to_row_ids()})
        }
        "row_ids_to_row_splits" => {
            let splits = RowSplits::from_row_ids(&field::<Vec<i32>>(args, "row_ids")?, field(args, "num_rows")?)?;
            json!({"row_splits": splits.as_ref()})
        }
        _ => return Err(Stop::NotRun),
    })
}
