//! Removal of arcs.

use crate::core::builder::{SortedFsaBuilder, map_arcs};
use crate::core::fsa::Fsas;
use crate::error::{Error, Quantity};

/// Keeps the arcs that `keep` selects by their index over all FSAs, and all states. Returns the arc
/// map too.
pub(crate) fn keep_arcs<F: Fsas>(fsas: &F, keep: impl Fn(usize) -> bool + Sync) -> Result<(F, Vec<i32>), Error> {
    let (made, map) = map_arcs(fsas.as_fsa_vec(), |_, fsa| {
        let (mut builder, mut map) = (SortedFsaBuilder::default(), Vec::new());
        for state in 0..fsa.num_states() {
            for arc in fsa.arc_range(state).filter(|arc| keep(fsa.first_arc() + arc)) {
                builder.arcs.push(fsa.arcs()[arc]);
                map.push(Error::fit(Quantity::Arcs, arc)?);
            }
            builder.end_state();
        }
        Ok((builder, map))
    })?;
    Ok((fsas.same_kind(made), map))
}
