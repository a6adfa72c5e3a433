//! What does not fit is an error that names the sequence; what has no alignment is as asked.

use kaldera_losses::rnnt::{
    PruneRanges, RnntType, TdtOptions, Trellis, do_rnnt_pruning, get_rnnt_prune_ranges, mutual_information_recursion,
    rnnt_loss_pruned, rnnt_loss_smoothed, tdt_loss,
};
use kaldera_losses::{
    ChainDenominator, ChainOptions, CtcOptions, Error, Impossible, Padded, Reduction, RnntOptions, chain_loss,
    ctc_loss, rnnt_loss,
};
use lod::{Lod, LodTensor};
use ragged_core::Ragged;

use crate::support::rows;

fn ctc(logits: &LodTensor<f64>, labels: &[Vec<i32>], options: &CtcOptions) -> Result<Vec<f64>, Error> {
    ctc_loss(logits, &Ragged::from_lists(labels).unwrap(), options).map(|(loss, _)| loss)
}

#[test]
fn batches_that_do_not_fit_are_refused() {
    assert!(matches!(Padded::new(vec![0.0; 12], [2, 3, 2], vec![3]), Err(Error::Count { expected: 2, found: 1, .. })));
    assert!(matches!(Padded::new(vec![0.0; 11], [2, 3, 2], vec![3, 3]), Err(Error::Count { expected: 12, .. })));
    let too_long = Error::Length { sequence: 1, length: 4, frames: 3 };
    assert_eq!(Padded::new(vec![0.0; 12], [2, 3, 2], vec![3, 4]).unwrap_err(), too_long);
    assert!(matches!(Padded::new(vec![0.0], [1], vec![]), Err(Error::Axes { expected: 2, found: 1, .. })));
    let whole = LodTensor::from_vec([2, 2], vec![0.0; 4], Lod::none()).unwrap();
    assert!(matches!(ctc(&whole, &[], &CtcOptions::default()), Err(Error::Lod(_))));
    let flat = LodTensor::from_vec([4], vec![0.0; 4], Lod::from_lengths(&[[2_usize, 2]]).unwrap()).unwrap();
    let no_classes = |found| Error::Axes { what: "a batch of logits", expected: found + 1, found };
    assert_eq!(ctc(&flat, &[vec![], vec![]], &CtcOptions::default()), Err(no_classes(1)));
    let flat = Padded::new(vec![0.0; 6], [2, 3], vec![3, 3]).unwrap();
    let labels = Ragged::from_lists(&[vec![0_i32; 0], vec![]]).unwrap();
    assert_eq!(ctc_loss(&flat, &labels, &CtcOptions::default()).map(|_| ()), Err(no_classes(2)));
}

#[test]
fn sizes_that_no_memory_has_are_refused() {
    let large = 1_usize << 40;
    let shape = [1, large, large, 0];
    let error = Padded::new(Vec::<f64>::new(), shape, vec![large]).unwrap_err();
    assert_eq!(error, Error::TooLarge { shape: shape.to_vec() });
    let error = Padded::new(vec![0.0; 4], [usize::MAX, 4], vec![]).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let error = Padded::new(vec![0.0; 12], [2, 3, 2], vec![3, u32::MAX as usize]).unwrap_err();
    assert!(matches!(error, Error::Length { sequence: 1, .. }), "{error}");

    let ranges = PruneRanges::new(usize::MAX, vec![vec![0, 0], vec![0]]).unwrap();
    let labels = Ragged::from_lists(&[vec![1], vec![]]).unwrap();
    let logits = LodTensor::from_vec([3, 2, 3], vec![0.0; 18], Lod::from_lengths(&[[2_usize, 1]]).unwrap()).unwrap();
    let error = rnnt_loss_pruned(&logits, &labels, &ranges, &RnntOptions::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Count { expected: usize::MAX, found: 2, .. }), "{error}");
    let error = do_rnnt_pruning(&rows(&[2, 1], 3, 1), &rows(&[2, 1], 3, 2), &ranges).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Option { option: "s_range", .. }), "{error}");
    let beyond = PruneRanges::new(2, vec![vec![0, usize::MAX], vec![0]]).unwrap();
    let error = rnnt_loss_pruned(&logits, &labels, &beyond, &RnntOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(error, Error::Range { sequence: 0, frame: 1, found: usize::MAX, symbols: 1 });
    let trellises = [Trellis::new(RnntType::Regular, 2, 3)];
    assert_eq!(get_rnnt_prune_ranges(&trellises, usize::MAX).unwrap().s_range(), 3);

    let durations = TdtOptions::default().with_durations(vec![1, usize::MAX]);
    let error = tdt_loss(&rows(&[2], 4, 1), &Ragged::from_lists(&[vec![1]]).unwrap(), &durations).map(|_| ());
    assert!(matches!(error, Err(Error::Option { option: "durations", .. })));
    let from = |symbols, frames| Trellis::from_padded(RnntType::Regular, [symbols, frames], &[], &[], [0; 4]);
    for (symbols, frames) in [(usize::MAX, 1), (1, usize::MAX), (usize::MAX, usize::MAX)] {
        assert!(matches!(from(symbols, frames), Err(Error::Count { .. })));
    }
}

#[test]
fn a_hybrid_transducer_may_have_no_class_but_the_blank() {
    let logits = LodTensor::from_lengths(&[2], 2, vec![0.5, f64::NEG_INFINITY, 0.2, f64::NEG_INFINITY]).unwrap();
    let options = RnntOptions::default().with_use_hat_loss(true).with_rnnt_type(RnntType::Modified);
    let labels = Ragged::from_lists(&[vec![1]]).unwrap();
    let (loss, saved) = rnnt_loss(&logits, &labels, &options).unwrap();
    assert_eq!(loss, [f64::INFINITY]);
    assert!(saved.backward(&[1.0]).unwrap().values().iter().all(|&slope| slope == 0.0));
}

#[test]
fn scales_of_0_leave_out_what_is_impossible() {
    let mut am = rows(&[3], 3, 1);
    am.values_mut()[1] = f64::NEG_INFINITY;
    let labels = Ragged::from_lists(&[vec![1]]).unwrap();
    let loss = |lm_only, am_only| {
        rnnt_loss_smoothed(&am, &rows(&[2], 3, 2), &labels, lm_only, am_only, &RnntOptions::default()).map(|x| x.0[0])
    };
    // `lm` alone: what `am` says has no influence.
    assert!(loss(1.0, 0.0).unwrap().is_finite());
    assert!(matches!(loss(0.7, 0.7), Err(Error::Option { option: "1 - lm_only_scale - am_only_scale", .. })));
}

#[test]
fn scales_may_sum_to_1_as_decimals() {
    let (mut am, lm) = (rows(&[3], 3, 1), rows(&[2], 3, 2));
    am.values_mut()[1] = f64::NEG_INFINITY;
    let labels = Ragged::from_lists(&[vec![1]]).unwrap();
    for (lm_only, am_only) in [(0.9, 0.1), (0.8, 0.2), (0.7, 0.3), (0.3, 0.7)] {
        let (loss, saved) = rnnt_loss_smoothed(&am, &lm, &labels, lm_only, am_only, &RnntOptions::default()).unwrap();
        assert!(loss[0].is_finite(), "{lm_only} {am_only}: {loss:?}");
        let (by_am, by_lm) = saved.backward(&[1.0]).unwrap();
        assert!(by_am.values().iter().chain(by_lm.values()).all(|slope| slope.is_finite()), "{lm_only} {am_only}");
    }
    // A sum that is above 1 by more than rounding.
    assert!(rnnt_loss_smoothed(&am, &lm, &labels, 0.9, 0.1 + 1e-15, &RnntOptions::default()).is_err());
}

#[test]
fn frames_without_a_path_in_the_denominator_are_impossible() {
    // One frame of class 0, and no way on.
    let arcs = vec![fsa::Arc::new(0, 1, 0, 0.0), fsa::Arc::new(1, 2, -1, 0.0)];
    let denominator = ChainDenominator::new(&fsa::Fsa::from_arcs(3, arcs).unwrap(), 2).unwrap();
    let all = vec![fsa::Arc::new(0, 0, 0, 0.0), fsa::Arc::new(0, 0, 1, 0.0), fsa::Arc::new(0, 1, -1, 0.0)];
    let numerator = fsa::FsaVec::from(fsa::Fsa::from_arcs(2, all).unwrap());
    let x = rows(&[4], 2, 1);
    let options = ChainOptions::default().with_leaky_hmm_coefficient(0.0);
    let (loss, saved) = chain_loss(&x, &numerator, &denominator, &options).unwrap();
    assert_eq!(loss, [f64::INFINITY]);
    assert!(saved.backward::<f64>(&[1.0]).unwrap().values().iter().all(|&slope| slope == 0.0));
}

#[test]
fn labels_that_are_no_classes_are_named() {
    let x = rows(&[3, 3], 3, 1);
    let plain = CtcOptions::default();
    let label = |label| Error::Label { sequence: 1, position: 1, label, classes: 3 };
    assert_eq!(ctc(&x, &[vec![], vec![1, 3]], &plain), Err(label(3)));
    assert_eq!(ctc(&x, &[vec![], vec![1, -1]], &plain), Err(label(-1)));
    let blank = Error::BlankLabel { sequence: 0, position: 0, blank: 0 };
    assert_eq!(ctc(&x, &[vec![0], vec![]], &plain), Err(blank));
    assert_eq!(ctc(&x, &[vec![], vec![]], &plain.clone().with_blank(3)), Err(Error::Blank { blank: 3, classes: 3 }));
    assert!(matches!(ctc(&x, &[vec![]], &plain), Err(Error::Count { expected: 2, found: 1, .. })));
}

#[test]
fn logits_that_are_no_numbers_name_their_sequence() {
    let mut x = rows(&[3, 3], 3, 1);
    x.values_mut()[3 * 4 + 2] = f64::NAN;
    let error = ctc(&x, &[vec![1], vec![2]], &CtcOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Logit { sequence: 1, row: 1, class: 2, logit } if logit.is_nan()), "{error}");
    x.values_mut()[3 * 4 + 2] = f64::INFINITY;
    assert!(matches!(ctc(&x, &[vec![1], vec![2]], &CtcOptions::default()), Err(Error::Logit { sequence: 1, .. })));
    // A class may be impossible.
    x.values_mut()[3 * 4 + 2] = f64::NEG_INFINITY;
    assert!(ctc(&x, &[vec![1], vec![2]], &CtcOptions::default()).unwrap()[0].is_finite());
}

#[test]
fn sequences_without_alignment_have_what_is_asked_for() {
    let x = rows(&[2, 3], 3, 1);
    // Two equal labels need three frames.
    let labels = Ragged::from_lists(&[vec![1, 1], vec![1, 1]]).unwrap();
    let none = CtcOptions::default().with_reduction(Reduction::None);
    let (loss, saved) = ctc_loss(&x, &labels, &none).unwrap();
    assert_eq!(loss[0], f64::INFINITY);
    let gradient = saved.backward(&[1.0, 1.0]).unwrap();
    assert!(gradient.sequence(0).iter().all(|&x| x == 0.0) && gradient.sequence(1).iter().any(|&x| x != 0.0));
    assert!(saved.posteriors(0).iter().all(|&x| x == 0.0));
    let zero = none.clone().with_impossible(Impossible::Zero);
    assert_eq!(ctc_loss(&x, &labels, &zero).unwrap().0[0], 0.0);
    let error = none.with_impossible(Impossible::Error);
    let too_short = Error::TooShort { sequence: 0, labels: 2, frames: 2, needed: 3 };
    assert_eq!(ctc_loss(&x, &labels, &error).unwrap_err(), too_short);
    // Probabilities of 0 on all alignments.
    let never = LodTensor::from_lengths(&[2], 2, vec![0.0, f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY]).unwrap();
    let (loss, saved) = ctc_loss(&never, &Ragged::from_lists(&[vec![1]]).unwrap(), &CtcOptions::default()).unwrap();
    assert_eq!(loss[0], f64::INFINITY);
    assert!(saved.backward(&[1.0]).unwrap().values().iter().all(|&x| x == 0.0));
}

#[test]
fn nothing_has_no_loss() {
    let none = LodTensor::from_lengths(&[], 3, Vec::<f64>::new()).unwrap();
    let labels = Ragged::from_lists(&Vec::<Vec<i32>>::new()).unwrap();
    let (loss, saved) = ctc_loss(&none, &labels, &CtcOptions::default()).unwrap();
    assert_eq!((loss, saved.backward(&[1.0]).unwrap().num_rows()), (vec![0.0], 0));
    assert_eq!(rnnt_loss(&none, &labels, &RnntOptions::default()).unwrap().0, [0.0]);
    let empty = rows(&[0], 3, 1);
    assert_eq!(ctc(&empty, &[vec![]], &CtcOptions::default()).unwrap(), [0.0]);
    assert_eq!(ctc(&empty, &[vec![1]], &CtcOptions::default()).unwrap(), [f64::INFINITY]);
}

#[test]
fn transducers_refuse_what_does_not_fit() {
    let labels = Ragged::from_lists(&[vec![1, 2]]).unwrap();
    let rnnt =
        |rows_of: usize, options: &RnntOptions| rnnt_loss(&rows(&[rows_of], 3, 1), &labels, options).map(|x| x.0);
    assert!(matches!(rnnt(7, &RnntOptions::default()), Err(Error::Rows { sequence: 0, found: 7, .. })));
    let modified = RnntOptions::default().with_rnnt_type(RnntType::Modified).with_impossible(Impossible::Error);
    let too_short = Error::TooShort { sequence: 0, labels: 2, frames: 1, needed: 2 };
    assert_eq!(rnnt(3, &modified), Err(too_short));
    assert!(matches!(
        rnnt(3, &RnntOptions::default().with_clamp(Some(-1.0))),
        Err(Error::Option { option: "clamp", .. })
    ));
    let nan = RnntOptions::default().with_delay_penalty(f64::NAN);
    assert!(matches!(rnnt(3, &nan), Err(Error::Option { option: "delay_penalty", .. })));
    let tdt = TdtOptions::default().with_durations(vec![0]);
    assert!(matches!(tdt_loss(&rows(&[3], 4, 1), &labels, &tdt), Err(Error::Option { option: "durations", .. })));
}

#[test]
fn trellises_refuse_what_is_no_score() {
    let mut trellis = Trellis::new(RnntType::Regular, 1, 1);
    trellis.set_py(0, 0, f64::NAN);
    let error = mutual_information_recursion(vec![trellis]).unwrap_err();
    assert!(matches!(error, Error::Score { sequence: 0, symbol: 0, frame: 0, .. }), "{error}");
    let beyond = Trellis::from_padded(RnntType::Modified, [1, 1], &[0.0], &[0.0; 2], [0, 0, 2, 1]);
    assert!(matches!(beyond, Err(Error::Boundary { found: [0, 0, 2, 1], .. })));
    assert!(matches!(
        Trellis::from_padded(RnntType::Regular, [1, 1], &[0.0], &[0.0; 2], [0, 0, 1, 1]),
        Err(Error::Count { .. })
    ));
    assert!(matches!(get_rnnt_prune_ranges(&[], 0), Err(Error::Option { option: "s_range", .. })));
}
