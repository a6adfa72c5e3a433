//! The label -1 on final arcs.

use crate::core::arc::{EPSILON, FINAL};
use crate::core::fsa::Fsas;
use crate::error::{Error, Quantity};

/// Returns labels of arcs, such as the output labels of a transducer, with -1 on the arcs into the
/// final state, and 0 in place of -1 on all others. O(arcs).
///
/// # Errors
/// [`Error::Size`] if there is not one label for each arc.
#[doc(alias = "FixFinalLabels")]
pub fn fix_final_labels<F: Fsas>(fsas: &F, labels: &[i32]) -> Result<Vec<i32>, Error> {
    let arcs = fsas.as_fsa_vec().arcs();
    Error::same_size(Quantity::Labels, arcs.len(), labels.len())?;
    let fixed = |(label, &other): (i32, &i32)| match (label, other) {
        (FINAL, _) => FINAL,
        (_, FINAL) => EPSILON,
        _ => other,
    };
    Ok(arcs.iter().map(|arc| arc.label).zip(labels).map(fixed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::arc::Arc;
    use crate::core::fsa::Fsa;

    #[test]
    fn final_arcs_and_no_others() {
        let fsa =
            Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(0, 2, -1, 1.0), Arc::new(1, 2, -1, 1.0)]).unwrap();
        assert_eq!(fix_final_labels(&fsa, &[-1, 0, -1]), Ok(vec![0, -1, -1]));
        assert!(fix_final_labels(&fsa, &[-1]).is_err());
    }
}
