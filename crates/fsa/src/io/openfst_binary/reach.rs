//! The labels that states can reach, behind the states of the look-ahead types.

use super::header::AddOn;
use crate::core::label_reach::LabelReach;
use crate::error::{Error, Quantity};
use crate::io::bytes::Bytes;
use crate::support::ids::number;

/// Marks a file inside another.
pub(super) const MAGIC: i32 = 446_681_434;

/// Reads the data behind the states. Of input and output labels, a file has at most one.
pub(super) fn read_add_on(bytes: &mut Bytes<'_>, add_on: AddOn, num_states: i32) -> Result<Option<LabelReach>, Error> {
    if !bytes.bool()? {
        return Ok(None);
    }
    let mut found = None;
    for of_input in [true, false] {
        if bytes.bool()? && add_on == AddOn::Labels {
            let reach = read_reach(bytes, num_states)?;
            if found.is_some() || reach.of_input() != of_input {
                return Err(bytes.error("the labels that are looked ahead for are not those of the file's type"));
            }
            found = Some(reach);
        }
    }
    Ok(found)
}

fn read_reach(bytes: &mut Bytes<'_>, num_states: i32) -> Result<LabelReach, Error> {
    let (of_input, has_labels) = (bytes.bool()?, bytes.bool()?);
    if has_labels {
        // Old and new label: the transducer has been relabelled already.
        let number = bytes.i64()?;
        for _ in 0..bytes.count(number, 8)? {
            bytes.skip(8)?;
        }
    }
    let final_label = bytes.i32()?;
    let number_of_sets = bytes.i64()?;
    if number_of_sets != i64::from(num_states) {
        return Err(bytes.error("not as many sets of labels as states"));
    }
    let number_of_sets = bytes.count(number_of_sets, 12)?;
    let (mut ends, mut intervals) = (Vec::with_capacity(number_of_sets), Vec::with_capacity(number_of_sets));
    for _ in 0..number_of_sets {
        let size = bytes.i64()?;
        let mut last = 0;
        for _ in 0..bytes.count(size, 8)? {
            let interval @ [first, end] = [bytes.i32()?, bytes.i32()?];
            if first < last || end <= first {
                return Err(bytes.error("intervals of labels that are empty or out of order"));
            }
            last = end;
            intervals.push(interval);
        }
        let _number_of_labels = bytes.i32()?;
        Error::fit(Quantity::Arcs, intervals.len())?;
        ends.push(number(intervals.len()));
    }
    intervals.shrink_to_fit();
    Ok(LabelReach::from_parts(of_input, final_label, ends, intervals))
}
