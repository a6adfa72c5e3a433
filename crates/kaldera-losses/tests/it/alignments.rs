//! Losses beside the sum over all alignments, one after the other.

use kaldera_losses::rnnt::{RnntType, TdtOptions, rnnt_loss_simple, tdt_loss};
use kaldera_losses::{CtcOptions, Impossible, Reduction, RnntOptions, ctc_loss, rnnt_loss};
use proptest::prelude::*;
use ragged_core::Ragged;

use crate::support::rows;

/// Sums of some hundred terms.
const ROUNDING: f64 = 1e-10;

fn softmax(row: &[f64]) -> Vec<f64> {
    let sum: f64 = row.iter().map(|x| x.exp()).sum();
    row.iter().map(|x| x.exp() / sum).collect()
}

/// The probability of all class sequences that become `labels` without repetitions and blanks.
fn ctc_by_hand(probs: &[Vec<f64>], labels: &[i32], blank: usize) -> f64 {
    let classes = probs.first().map_or(1, Vec::len);
    let mut sum = 0.0;
    for number in 0..classes.pow(u32::try_from(probs.len()).unwrap()) {
        let mut rest = number;
        let sequence: Vec<usize> = probs
            .iter()
            .map(|_| {
                let class = rest % classes;
                rest /= classes;
                class
            })
            .collect();
        let mut collapsed = sequence.clone();
        collapsed.dedup();
        collapsed.retain(|&class| class != blank);
        if collapsed.iter().map(|&class| class as i32).eq(labels.iter().copied()) {
            sum += sequence.iter().zip(probs).map(|(&class, row)| row[class]).product::<f64>();
        }
    }
    sum
}

proptest! {
    #[test]
    fn ctc_is_the_sum_over_alignments(
        frames in 0_usize..6, blank in 0_usize..3, labels in prop::collection::vec(0_usize..2, 0..4), seed in any::<u64>(),
    ) {
        let labels: Vec<i32> = labels.iter().map(|&label| ((blank + 1 + label) % 3) as i32).collect();
        let logits = rows(&[frames], 3, seed);
        let options = CtcOptions::default().with_blank(blank).with_reduction(Reduction::None);
        let (loss, saved) = ctc_loss(&logits, &Ragged::from_lists(std::slice::from_ref(&labels)).unwrap(), &options).unwrap();
        let probs: Vec<Vec<f64>> = logits.rows().map(softmax).collect();
        let expected = -ctc_by_hand(&probs, &labels, blank).ln();
        prop_assert!(loss[0] == expected || (loss[0] - expected).abs() < ROUNDING, "{} {expected}", loss[0]);
        for row in saved.posteriors(0).chunks(labels.len() + 1) {
            let sum: f64 = row.iter().sum();
            let whole = f64::from(u8::from(expected.is_finite()));
            prop_assert!((sum - whole).abs() < ROUNDING);
        }
    }

    /// Probabilities so small and so large that scaled sums underflow.
    #[test]
    fn ctc_survives_underflow(seed in any::<u64>(), sharpness in 1.0_f64..400.0) {
        let mut logits = rows(&[5], 3, seed);
        logits.values_mut().iter_mut().for_each(|x| *x *= sharpness);
        let labels = vec![1, 2];
        let (loss, saved) =
            ctc_loss(&logits, &Ragged::from_lists(std::slice::from_ref(&labels)).unwrap(), &CtcOptions::default().with_reduction(Reduction::Sum)).unwrap();
        // In logarithms, from above.
        let log_probs: Vec<Vec<f64>> = logits.rows().map(|row| {
            let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let log_sum = highest + row.iter().map(|x| (x - highest).exp()).sum::<f64>().ln();
            row.iter().map(|x| x - log_sum).collect()
        }).collect();
        let mut best = f64::NEG_INFINITY;
        let mut terms = Vec::new();
        for number in 0..243_usize {
            let sequence: Vec<usize> = (0..5).map(|t| number / 3_usize.pow(t) % 3).collect();
            let mut collapsed = sequence.clone();
            collapsed.dedup();
            collapsed.retain(|&class| class != 0);
            if collapsed == [1, 2] {
                let term: f64 = sequence.iter().zip(&log_probs).map(|(&class, row)| row[class]).sum();
                best = best.max(term);
                terms.push(term);
            }
        }
        let expected = -(best + terms.iter().map(|term| (term - best).exp()).sum::<f64>().ln());
        prop_assert!((loss[0] - expected).abs() <= ROUNDING * expected.abs().max(1.0), "{} {expected}", loss[0]);
        prop_assert!(saved.backward(&[1.0]).unwrap().values().iter().all(|x| x.is_finite()));
    }

    #[test]
    fn rnnt_is_the_sum_over_paths(
        kind in 0_usize..3, hat in any::<bool>(), frames in 1_usize..4, symbols in 0_usize..3, seed in any::<u64>(),
    ) {
        let rnnt_type = [RnntType::Regular, RnntType::Modified, RnntType::Constrained][kind];
        let labels: Vec<i32> = (0..symbols).map(|s| 1 + (s % 2) as i32).collect();
        let logits = rows(&[frames * (symbols + 1)], 3, seed);
        let options = RnntOptions::default().with_rnnt_type(rnnt_type).with_use_hat_loss(hat).with_reduction(Reduction::Sum);
        let (loss, _) = rnnt_loss(&logits, &Ragged::from_lists(std::slice::from_ref(&labels)).unwrap(), &options).unwrap();
        let prob = |t: usize, s: usize, class: usize| {
            let row = logits.row(t * (symbols + 1) + s);
            if !hat {
                return softmax(row)[class];
            }
            let blank = 1.0 / (1.0 + (-row[0]).exp());
            if class == 0 { blank } else { (1.0 - blank) * softmax(&row[1..])[class - 1] }
        };
        fn sum(s: usize, t: usize, end: (usize, usize), kind: RnntType, labels: &[i32], p: &dyn Fn(usize, usize, usize) -> f64) -> f64 {
            if t == end.1 {
                return if s == end.0 { 1.0 } else { 0.0 };
            }
            let mut total = p(t, s, 0) * sum(s, t + 1, end, kind, labels, p);
            if s < end.0 {
                let emitted = p(t, s, labels[s] as usize);
                total += match kind {
                    RnntType::Regular => emitted * sum(s + 1, t, end, kind, labels, p),
                    RnntType::Modified => emitted * sum(s + 1, t + 1, end, kind, labels, p),
                    RnntType::Constrained => emitted * p(t, s + 1, 0) * sum(s + 1, t + 1, end, kind, labels, p),
                };
            }
            total
        }
        let expected = -sum(0, 0, (symbols, frames), rnnt_type, &labels, &prob).ln();
        prop_assert!(loss[0] == expected || (loss[0] - expected).abs() < ROUNDING, "{} {expected}", loss[0]);
    }

    #[test]
    fn simple_loss_is_that_of_a_joiner_that_adds(frames in 1_usize..5, symbols in 0_usize..4, seed in any::<u64>()) {
        let labels = Ragged::from_lists(&[(0..symbols).map(|s| 1 + (s % 3) as i32).collect::<Vec<_>>()]).unwrap();
        let (am, lm) = (rows(&[frames], 4, seed), rows(&[symbols + 1], 4, seed ^ 1));
        let joined = am.rows().flat_map(|am| lm.rows().flat_map(|lm| am.iter().zip(lm).map(|(a, l)| a + l).collect::<Vec<_>>()));
        let joined = lod::LodTensor::from_lengths(&[frames * (symbols + 1)], 4, joined.collect::<Vec<_>>()).unwrap();
        let options = RnntOptions::default().with_delay_penalty(0.3);
        let (simple, _) = rnnt_loss_simple(&am, &lm, &labels, &options).unwrap();
        let (full, _) = rnnt_loss(&joined, &labels, &options).unwrap();
        prop_assert!((simple[0] - full[0]).abs() < ROUNDING);
    }

    #[test]
    fn tdt_is_the_sum_over_paths(frames in 1_usize..5, symbols in 0_usize..3, zero in any::<bool>(), seed in any::<u64>()) {
        let durations: Vec<usize> = if zero { vec![0, 1, 2] } else { vec![1, 3] };
        let labels: Vec<i32> = (0..symbols).map(|s| 1 + (s % 2) as i32).collect();
        let width = 3 + durations.len();
        let logits = rows(&[frames * (symbols + 1)], width, seed);
        let options = TdtOptions::default().with_durations(durations.clone()).with_reduction(Reduction::Sum).with_sigma(0.05);
        let (loss, _) = tdt_loss(&logits, &Ragged::from_lists(std::slice::from_ref(&labels)).unwrap(), &options).unwrap();
        fn sum(s: usize, t: usize, symbols: usize, frames: usize, durations: &[usize], p: &dyn Fn(usize, usize, Option<usize>, usize) -> f64) -> f64 {
            if t == frames {
                return if s == symbols { 1.0 } else { 0.0 };
            }
            let mut total = 0.0;
            for (d, &duration) in durations.iter().enumerate() {
                if duration > 0 && t + duration <= frames {
                    total += p(t, s, None, d) * sum(s, t + duration, symbols, frames, durations, p);
                }
                if s < symbols && t + duration < frames {
                    total += p(t, s, Some(s), d) * sum(s + 1, t + duration, symbols, frames, durations, p);
                }
            }
            total
        }
        let prob = |t: usize, s: usize, symbol: Option<usize>, d: usize| {
            let row = logits.row(t * (symbols + 1) + s);
            let class = symbol.map_or(0, |s| labels[s] as usize);
            softmax(&row[..3])[class] * (-0.05_f64).exp() * softmax(&row[3..])[d]
        };
        let expected = -sum(0, 0, symbols, frames, &durations, &prob).ln();
        prop_assert!(loss[0] == expected || (loss[0] - expected).abs() < ROUNDING, "{} {expected}", loss[0]);
    }
}

#[test]
fn long_sequences_of_sure_blanks_have_finite_gradients() {
    // Labels of e^-30 in each frame: 60 of them are beyond what a double holds.
    let (frames, symbols) = (200, 60);
    let mut logits = rows(&[frames], 4, 5);
    for row in logits.rows_mut() {
        row[0] = 30.0;
    }
    let labels = Ragged::from_lists(&[(0..symbols).map(|s| 1 + s % 3).collect::<Vec<i32>>()]).unwrap();
    let options = CtcOptions::default().with_impossible(Impossible::Error);
    let (loss, saved) = ctc_loss(&logits, &labels, &options).unwrap();
    assert!(loss[0] * 60.0 > 1000.0 && loss[0].is_finite(), "{loss:?}");
    for row in saved.posteriors(0).chunks(61) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
