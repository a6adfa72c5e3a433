//! A padded batch, one without padding, and its sequences one at a time give the same bits, on any
//! number of threads.

use kaldera_losses::rnnt::{TdtOptions, get_rnnt_prune_ranges, rnnt_loss_pruned, rnnt_loss_simple, tdt_loss};
use kaldera_losses::{CtcOptions, Padded, Reduction, RnntOptions, ctc_loss, rnnt_loss};
use lod::{Lod, LodTensor};
use ragged_core::Ragged;

use crate::support::{numbers, rows};

const FRAMES: [usize; 3] = [5, 0, 3];

fn lists() -> Vec<Vec<i32>> {
    vec![vec![1, 2], vec![], vec![3]]
}

/// Rows of each sequence in a padded batch whose sequences have `longest` rows, padded with NaN.
fn padded(x: &LodTensor<f64>, longest: usize) -> Padded<f64> {
    let (width, mut values) = (x.width(), Vec::new());
    for sequence in x.sequences() {
        values.extend_from_slice(sequence);
        values.resize(values.len() + longest * width - sequence.len(), f64::NAN);
    }
    Padded::new(values, [x.num_sequences(), longest, width], x.lengths()).unwrap()
}

/// The rows of a padded gradient, and that its padding is 0.
fn unpadded(x: &Padded<f64>) -> Vec<f64> {
    let width = x.shape()[2..].iter().product::<usize>();
    let mut rows = Vec::new();
    for (sequence, &length) in x.values().chunks(x.shape()[1] * width).zip(x.lengths()) {
        let (inside, outside) = sequence.split_at(length * width);
        rows.extend_from_slice(inside);
        assert!(outside.iter().all(|&x| x == 0.0));
    }
    rows
}

#[test]
fn ctc_is_the_same_in_every_layout() {
    let (x, labels) = (rows(&FRAMES, 4, 1), Ragged::from_lists(&lists()).unwrap());
    let options = CtcOptions::default().with_reduction(Reduction::None);
    let (loss, saved) = ctc_loss(&x, &labels, &options).unwrap();
    let gradient = saved.backward(&[1.0, 2.0, 3.0]).unwrap();
    let (of_padded, saved) = ctc_loss(&padded(&x, 6), &labels, &options).unwrap();
    assert_eq!(loss, of_padded);
    assert_eq!(gradient.values(), unpadded(&saved.backward(&[1.0, 2.0, 3.0]).unwrap()));
    for (i, list) in lists().into_iter().enumerate() {
        let alone = LodTensor::from_lengths(&[FRAMES[i]], 4, x.sequence(i).to_vec()).unwrap();
        let (of_one, saved) = ctc_loss(&alone, &Ragged::from_lists(&[list]).unwrap(), &options).unwrap();
        assert_eq!(of_one, [loss[i]]);
        assert_eq!(saved.backward(&[i as f64 + 1.0]).unwrap().values(), gradient.sequence(i));
    }
}

#[test]
fn rnnt_is_the_same_in_every_layout() {
    let (lists, width) = (lists(), 4);
    let labels = Ragged::from_lists(&lists).unwrap();
    let cells: Vec<usize> = FRAMES.iter().zip(&lists).map(|(frames, labels)| frames * (labels.len() + 1)).collect();
    let x = rows(&cells, width, 2);
    let options = RnntOptions::default().with_reduction(Reduction::None);
    let (loss, saved) = rnnt_loss(&x, &labels, &options).unwrap();
    // A sequence without frames and labels has one path, of no arcs.
    assert_eq!(loss[1], 0.0);
    let gradient = saved.backward(&[1.0, 2.0, 3.0]).unwrap();
    // [N, T, S + 1, C]
    let (frames, symbols) = (6, 3);
    let place = |i: usize, t: usize, s: usize| ((i * frames + t) * symbols + s) * width;
    let mut values = vec![f64::NAN; 3 * frames * symbols * width];
    for (i, labels) in lists.iter().enumerate() {
        for (row, from) in x.sequence(i).chunks(width).enumerate() {
            let (t, s) = (row / (labels.len() + 1), row % (labels.len() + 1));
            values[place(i, t, s)..][..width].copy_from_slice(from);
        }
    }
    let batch = Padded::new(values, [3, frames, symbols, width], FRAMES.to_vec()).unwrap();
    let (of_padded, saved) = rnnt_loss(&batch, &labels, &options).unwrap();
    assert_eq!(loss, of_padded);
    let of_padded = saved.backward(&[1.0, 2.0, 3.0]).unwrap();
    for (i, labels) in lists.iter().enumerate() {
        for (row, expected) in gradient.sequence(i).chunks(width).enumerate() {
            let (t, s) = (row / (labels.len() + 1), row % (labels.len() + 1));
            assert_eq!(&of_padded.values()[place(i, t, s)..][..width], expected);
        }
        let alone = LodTensor::from_lengths(&[cells[i]], width, x.sequence(i).to_vec()).unwrap();
        let (of_one, _) = rnnt_loss(&alone, &Ragged::from_lists(&[labels]).unwrap(), &options).unwrap();
        assert_eq!(of_one, [loss[i]]);
    }
}

#[test]
fn simple_pruned_and_tdt_are_the_same_in_every_layout() {
    let (lists, frames) = (lists(), [5, 2, 3]);
    let labels = Ragged::from_lists(&lists).unwrap();
    let (am, lm) = (rows(&frames, 4, 3), rows(&[3, 1, 2], 4, 4));
    let options = RnntOptions::default().with_reduction(Reduction::None);
    let (loss, saved) = rnnt_loss_simple(&am, &lm, &labels, &options).unwrap();
    let (of_padded, of_saved) = rnnt_loss_simple(&padded(&am, 7), &padded(&lm, 4), &labels, &options).unwrap();
    assert_eq!(loss, of_padded);
    let ((by_am, by_lm), (padded_am, padded_lm)) =
        (saved.backward(&[1.0; 3]).unwrap(), of_saved.backward(&[1.0; 3]).unwrap());
    assert_eq!((by_am.values(), by_lm.values()), (&unpadded(&padded_am)[..], &unpadded(&padded_lm)[..]));

    let ranges = get_rnnt_prune_ranges(saved.occupations(), 2).unwrap();
    assert_eq!(ranges, get_rnnt_prune_ranges(of_saved.occupations(), 2).unwrap());
    let x = LodTensor::from_vec([10, 2, 4], numbers(5, 80), Lod::from_lengths(&[frames]).unwrap()).unwrap();
    let as_rows = LodTensor::from_lengths(&frames, 8, x.values().to_vec()).unwrap();
    let wide = padded(&as_rows, 6);
    let batch = Padded::new(wide.values().to_vec(), [3, 6, 2, 4], frames.to_vec()).unwrap();
    let (loss, saved) = rnnt_loss_pruned(&x, &labels, &ranges, &options).unwrap();
    let (of_padded, of_saved) = rnnt_loss_pruned(&batch, &labels, &ranges, &options).unwrap();
    assert_eq!(loss, of_padded);
    assert_eq!(saved.backward(&[1.0; 3]).unwrap().values(), unpadded(&of_saved.backward(&[1.0; 3]).unwrap()));

    let cells: Vec<usize> = frames.iter().zip(&lists).map(|(frames, labels)| frames * (labels.len() + 1)).collect();
    let x = rows(&cells, 9, 6);
    let options = TdtOptions::default().with_reduction(Reduction::None);
    let (loss, _) = tdt_loss(&x, &labels, &options).unwrap();
    for (i, list) in lists.iter().enumerate() {
        let alone = LodTensor::from_lengths(&[cells[i]], 9, x.sequence(i).to_vec()).unwrap();
        assert_eq!(tdt_loss(&alone, &Ragged::from_lists(&[list]).unwrap(), &options).unwrap().0, [loss[i]]);
    }
}

#[test]
fn single_precision_is_near_double() {
    let (x, labels) = (rows(&[40, 30], 30, 7), Ragged::from_lists(&[vec![1, 2, 2, 9], vec![3]]).unwrap());
    let single: Vec<f32> = x.values().iter().map(|&x| x as f32).collect();
    let single = x.like(70, single, x.lod().clone()).unwrap();
    let (loss, saved) = ctc_loss(&x, &labels, &CtcOptions::default()).unwrap();
    let (of_single, of_saved) = ctc_loss(&single, &labels, &CtcOptions::default()).unwrap();
    assert!((loss[0] - of_single[0]).abs() < 1e-4);
    let (a, b) = (saved.backward(&[1.0]).unwrap(), of_saved.backward(&[1.0]).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(a, &b)| (a - f64::from(b)).abs() < 1e-6));
}

/// Every loss whose sequences are divided among threads, and its gradient.
#[cfg(feature = "rayon")]
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let frames = [40, 3, 25, 60];
    let labels = Ragged::from_lists(&[vec![1, 2, 2], vec![], vec![3], vec![2, 1, 3, 1]]).unwrap();
    let (am, lm) = (rows(&frames, 4, 11), rows(&[4, 1, 2, 5], 4, 12));
    let cells: Vec<usize> = frames.iter().zip([4, 1, 2, 5]).map(|(frames, symbols)| frames * symbols).collect();
    let joined = rows(&cells, 4, 13);
    let (dim, weight, bias) = (4, numbers(14, 300 * 4), numbers(15, 300));
    let projection = kaldera_losses::Projection { weight: &weight, bias: &bias };
    assert_eq!(dim, am.width());
    let run = || {
        let (mut all, one) = (Vec::new(), [0.7]);
        let (loss, saved) = ctc_loss(&am, &labels, &CtcOptions::default()).unwrap();
        all.extend([loss, saved.backward(&one).unwrap().values().to_vec()].concat());
        let (loss, saved) =
            kaldera_losses::ctc_loss_projected(&am, projection, &labels, &CtcOptions::default()).unwrap();
        let (by_states, by_projection) = saved.backward(&one).unwrap();
        all.extend([loss, by_states.values().to_vec(), by_projection.weight, by_projection.bias].concat());
        let (loss, saved) =
            kaldera_losses::rnnt::rnnt_loss_smoothed(&am, &lm, &labels, 0.2, 0.1, &RnntOptions::default()).unwrap();
        let (by_am, by_lm) = saved.backward(&one).unwrap();
        all.extend([loss, by_am.values().to_vec(), by_lm.values().to_vec()].concat());
        let (loss, saved) = rnnt_loss(&joined, &labels, &RnntOptions::default()).unwrap();
        all.extend([loss, saved.backward(&one).unwrap().values().to_vec()].concat());
        all
    };
    let on = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
    let serial = on(1);
    assert_eq!(serial, on(3));
}
