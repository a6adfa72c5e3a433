//! What somebody who has not read the documentation tries first.

use kaldera_losses::rnnt::{do_rnnt_pruning, get_rnnt_prune_ranges, rnnt_loss_pruned, rnnt_loss_simple};
use kaldera_losses::{CtcOptions, CtcSaved, Error, Padded, Reduction, RnntOptions, ctc_loss};
use lod::LodTensor;
use ragged_core::Ragged;

use crate::support::rows;

#[test]
fn options_are_set_one_after_the_other() {
    let options = CtcOptions::default().with_blank(2).with_reduction(Reduction::Sum);
    assert_eq!((options.blank, options.reduction), (2, Reduction::Sum));
    assert_eq!(RnntOptions::default().with_clamp(Some(1.0)).clamp, Some(1.0));
}

#[test]
fn pytorchs_layout_is_taken_as_it_is() {
    let log_probs = vec![0.0_f32; 2 * 5 * 3];
    let logits = Padded::new(log_probs, [2, 5, 3], vec![5, 4]).unwrap();
    let (loss, saved) = ctc_loss(&logits, &Ragged::from(vec![vec![1], vec![2, 1]]), &CtcOptions::default()).unwrap();
    assert_eq!(loss.len(), 1);
    assert_eq!(saved.backward(&[1.0]).unwrap().shape(), [2, 5, 3]);
}

#[test]
fn pruned_rnnt_goes_as_in_icefall() -> Result<(), Error> {
    let labels = Ragged::from_lists(&[vec![1, 2, 3], vec![2]])?;
    let (am, lm) = (rows(&[6, 4], 5, 1), rows(&[4, 2], 5, 2));
    let options = RnntOptions::default();
    let (simple, saved) = rnnt_loss_simple(&am, &lm, &labels, &options)?;
    let ranges = get_rnnt_prune_ranges(saved.occupations(), 2)?;
    let (am_pruned, lm_pruned, pruning) = do_rnnt_pruning(&am, &lm, &ranges)?;
    assert_eq!(&am_pruned.shape()[..], [10, 2, 5]);
    // A joiner that adds.
    let joined = am_pruned.zip_map(&lm_pruned, |a, b| a + b)?;
    let (pruned, saved) = rnnt_loss_pruned(&joined, &labels, &ranges, &options)?;
    assert!(pruned[0] >= simple[0] && pruned[0].is_finite(), "some paths are left out: {pruned:?} {simple:?}");
    let by_joined = saved.backward(&[1.0])?;
    let (by_am, by_lm) = pruning.backward(&by_joined, &by_joined)?;
    assert_eq!((by_am.lengths(), by_lm.lengths()), (vec![6, 4], vec![4, 2]));
    Ok(())
}

#[cfg(feature = "serde")]
#[test]
fn options_are_read_and_written() {
    let options: RnntOptions = serde_json::from_str(r#"{"rnnt_type": "Modified", "clamp": 2.0}"#).unwrap();
    assert_eq!(options.clamp, Some(2.0));
    assert!(serde_json::from_str::<CtcOptions>(r#"{"blnk": 0}"#).is_err());
}

#[test]
fn what_is_saved_is_send_and_sync() {
    const fn send_and_sync<T: Send + Sync>() {}
    const _: () = {
        send_and_sync::<CtcSaved<f32, LodTensor<f32>>>();
        send_and_sync::<Padded<f64>>();
        send_and_sync::<Error>();
    };
}
