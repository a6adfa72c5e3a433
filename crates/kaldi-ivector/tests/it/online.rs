//! I-vectors of streams.

use std::sync::Arc;

use kaldi_ivector::{
    Error, FramePosteriors, IvectorModel, IvectorOptions, OnlineIvector, OnlineStats, SpMatrix, Vector,
    select_posteriors,
};
use kaldi_matrix::{Matrix, Trans};
use proptest::prelude::*;

use crate::made::{Numbers, SMALL, model};

/// Rows of both forms.
fn rows(seed: u64, frames: usize) -> (Vec<f32>, Vec<f32>) {
    let mut numbers = Numbers::new(seed ^ 0xABCD);
    (numbers.gaussian(frames * SMALL.dim), numbers.gaussian(frames * SMALL.dim))
}

/// The i-vector of frames with weights, by its definition: all sums in double precision, solved
/// exactly.
fn naive(model: &IvectorModel, normalized: &[f32], raw: &[f32], weights: &[f32]) -> Vec<f64> {
    let options = model.options();
    let mut stats = OnlineStats::new(model.terms(), options.max_count.into());
    let dim = SMALL.dim;
    for (frame, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        let row = Matrix::from_vec(1, dim, normalized[frame * dim..][..dim].to_vec()).unwrap();
        let log_likes = model.ubm().log_likelihoods(&row).unwrap();
        let mut pairs = FramePosteriors::new();
        let least = (options.min_post / weight.abs()).min(0.99);
        select_posteriors(log_likes.row_data(0), options.num_gselect, least, &mut pairs).unwrap();
        pairs.iter_mut().for_each(|pair| pair.1 *= options.posterior_scale * weight);
        let row = Matrix::from_vec(1, dim, raw[frame * dim..][..dim].to_vec()).unwrap();
        stats.accumulate(model.terms(), &row, &[pairs]).unwrap();
    }
    let mut ivector = Vector::zeros(SMALL.ivector);
    stats.ivector(1000, &mut ivector).unwrap();
    ivector[0] -= model.terms().prior_offset();
    ivector.into_vec()
}

fn near(came: &[f32], expected: &[f64]) -> bool {
    came.iter().zip(expected).all(|(&a, &b)| (f64::from(a) - b).abs() < 2e-5 * (1.0 + b.abs()))
}

proptest! {
    #[test]
    fn a_stream_gives_the_ivectors_of_the_definition(
        seed in any::<u64>(),
        frames in 1_usize..60,
        period in 1_usize..12,
        max_count in prop_oneof![Just(0.0_f32), Just(1.5)],
        newest in any::<bool>(),
    ) {
        let options = IvectorOptions::default()
            .with_ivector_period(period)
            .with_num_cg_iters(100)
            .with_max_count(max_count)
            .with_use_most_recent_ivector(newest);
        let model = Arc::new(model(seed, options));
        let (normalized, raw) = rows(seed, frames);
        let mut stream = OnlineIvector::new(Arc::clone(&model));
        stream.accept(&normalized, &raw).unwrap();
        let mut out = vec![0.0; SMALL.ivector];
        for frame in 0..frames {
            stream.ivector(frame, &mut out).unwrap();
            let last = if newest { frame } else { frame / period * period };
            let expected = naive(&model, &normalized, &raw, &vec![1.0; last + 1]);
            prop_assert!(near(&out, &expected), "{frame}: {out:?} {expected:?}");
        }
    }

    #[test]
    fn chunks_and_earlier_calls_do_not_change_a_bit(
        seed in any::<u64>(),
        frames in 1_usize..80,
        chunks in proptest::collection::vec((1_usize..15, any::<bool>()), 1..20),
        newest in any::<bool>(),
    ) {
        let options = IvectorOptions::default().with_use_most_recent_ivector(newest).with_max_count(2.0);
        let model = Arc::new(model(seed, options));
        let (normalized, raw) = rows(seed, frames);
        let dim = SMALL.dim;
        // With the newest i-vector, the calls are the same in both; else only their frames.
        let mut asked = Vec::new();
        let mut chunked = OnlineIvector::new(Arc::clone(&model));
        let mut out = vec![0.0; SMALL.ivector];
        let mut at = 0;
        for &(size, ask) in chunks.iter().cycle() {
            let end = (at + size).min(frames);
            chunked.accept(&normalized[at * dim..end * dim], &raw[at * dim..end * dim]).unwrap();
            at = end;
            if ask || at == frames {
                chunked.ivector(at - 1, &mut out).unwrap();
                asked.push((at - 1, out.clone()));
            }
            if at == frames {
                break;
            }
        }
        let mut whole = OnlineIvector::new(model);
        whole.accept(&normalized, &raw).unwrap();
        let asked: Vec<_> = if newest { asked } else { asked.into_iter().rev().collect() };
        for (frame, expected) in asked {
            whole.ivector(frame, &mut out).unwrap();
            prop_assert_eq!(&out, &expected, "{}", frame);
        }
    }

    #[test]
    fn weights_that_change_count_as_their_sums(
        seed in any::<u64>(),
        weights in proptest::collection::vec(prop_oneof![Just(0.0_f32), Just(1.0), Just(0.5)], 1..40),
        first in 0_usize..40,
    ) {
        // A threshold of 0 keeps all Gaussians for any weight, so that what is added is taken off.
        let options = IvectorOptions::default().with_min_post(0.0).with_num_gselect(SMALL.gaussians).with_num_cg_iters(100);
        let model = Arc::new(model(seed, options));
        let frames = weights.len();
        let (normalized, raw) = rows(seed, frames);
        let mut stream = OnlineIvector::new(Arc::clone(&model));
        stream.accept(&normalized, &raw).unwrap();
        let mut out = vec![0.0; SMALL.ivector];
        // All count by 0.25 at first; the last frame comes later.
        let quarter: Vec<_> = (0..frames).map(|frame| (frame, 0.25)).collect();
        stream.update_weights(&quarter).unwrap();
        let first = first % frames;
        stream.ivector(first, &mut out).unwrap();
        let expected = naive(&model, &normalized, &raw, &vec![0.25; first + 1]);
        prop_assert!(near(&out, &expected));
        let changes: Vec<_> = weights.iter().enumerate().map(|(frame, weight)| (frame, weight - 0.25)).collect();
        stream.update_weights(&changes).unwrap();
        stream.ivector(frames - 1, &mut out).unwrap();
        if first + 1 < frames {
            let expected = naive(&model, &normalized, &raw, &weights);
            prop_assert!(near(&out, &expected), "{:?} {:?}", out, expected);
        }
    }
}

#[test]
fn a_greedy_stream_looks_at_all_frames() {
    let options = IvectorOptions::default().with_greedy_ivector_extractor(true).with_use_most_recent_ivector(false);
    let greedy = Arc::new(model(3, options));
    let newest = Arc::new(model(3, IvectorOptions::default()));
    let (normalized, raw) = rows(3, 50);
    let [mut a, mut b] = [OnlineIvector::new(greedy), OnlineIvector::new(newest)];
    a.accept(&normalized, &raw).unwrap();
    b.accept(&normalized, &raw).unwrap();
    let [mut first, mut last] = [vec![0.0; SMALL.ivector], vec![0.0; SMALL.ivector]];
    a.ivector(0, &mut first).unwrap();
    b.ivector(49, &mut last).unwrap();
    assert_eq!(first, last);
}

#[test]
fn the_next_utterance_goes_on_with_the_speaker() {
    let options = IvectorOptions::default().with_use_most_recent_ivector(false).with_num_cg_iters(100);
    let model = Arc::new(model(5, options));
    let (normalized, raw) = rows(5, 60);
    let mut whole = OnlineIvector::new(Arc::clone(&model));
    whole.accept(&normalized, &raw).unwrap();
    let mut first = OnlineIvector::new(Arc::clone(&model));
    let cut = 31 * SMALL.dim;
    first.accept(&normalized[..cut], &raw[..cut]).unwrap();
    let [mut a, mut b] = [vec![0.0; SMALL.ivector], vec![0.0; SMALL.ivector]];
    first.ivector(25, &mut a).unwrap();
    assert!((first.adaptation().unwrap().num_frames() - 2.6).abs() < 1e-6, "up to the frame that was asked for");
    first.ivector(30, &mut a).unwrap();
    let stats = first.adaptation().unwrap();
    let mut second = OnlineIvector::with_stats(Arc::clone(&model), stats.clone()).unwrap();
    second.accept(&normalized[cut..], &raw[cut..]).unwrap();
    second.ivector(28, &mut a).unwrap(); // of frame 20, which is frame 51 of the whole
    let mut shifted = OnlineIvector::new(Arc::clone(&model));
    shifted.accept(&normalized, &raw).unwrap();
    shifted.ivector(50, &mut b).unwrap();
    let expected = naive(&model, &normalized, &raw, &vec![1.0; 52]);
    assert!(near(&a, &expected), "{a:?} {expected:?}");

    // Of 10 remembered frames, 1 remains after the scale of posteriors.
    let few = IvectorOptions::default().with_max_remembered_frames(10.0);
    let mut stream = OnlineIvector::new(Arc::new(crate::made::model(5, few)));
    stream.accept(&normalized, &raw).unwrap();
    stream.ivector(59, &mut a).unwrap();
    assert!((stream.adaptation().unwrap().num_frames() - 1.0).abs() < 1e-6);
}

#[test]
fn a_largest_count_is_a_scale_of_the_statistics() {
    let model = model(8, IvectorOptions::default());
    let (_, raw) = rows(8, 20);
    let features = Matrix::from_vec(20, SMALL.dim, raw).unwrap();
    let posteriors: Vec<FramePosteriors> = (0..20).map(|t| vec![(t % 7, 0.5), ((t + 1) % 7, 0.5)]).collect();
    let ivector = |max_count: f64, factor: f64| {
        let mut stats = OnlineStats::new(model.terms(), max_count);
        stats.accumulate(model.terms(), &features, &posteriors).unwrap();
        stats.scale(factor).unwrap();
        let mut ivector = Vector::zeros(SMALL.ivector);
        stats.ivector(100, &mut ivector).unwrap();
        assert!(stats.improvement(&ivector).unwrap() > 0.0);
        ivector
    };
    let (limited, scaled) = (ivector(5.0, 1.0), ivector(0.0, 0.25));
    assert!(limited.iter().zip(scaled.iter()).all(|(a, b)| (a - b).abs() < 1e-9), "{limited} {scaled}");
    let (limited, scaled) = (ivector(5.0, 0.1), ivector(0.0, 0.1));
    assert!(limited.iter().zip(scaled.iter()).all(|(a, b)| (a - b).abs() < 1e-9), "{limited} {scaled}");
}

#[test]
fn calls_out_of_order_are_errors() {
    let model = Arc::new(model(2, IvectorOptions::default()));
    let (normalized, raw) = rows(2, 3000);
    let dim = SMALL.dim;
    let mut out = vec![0.0; SMALL.ivector];
    let mut stream = OnlineIvector::new(Arc::clone(&model));
    assert!(matches!(stream.ivector(0, &mut out), Err(Error::NotReady { frame: 0, ready: 0 })));
    assert!(stream.accept(&normalized[..dim + 1], &raw[..dim + 1]).is_err());
    assert!(stream.accept(&normalized[..dim], &raw[..2 * dim]).is_err());
    stream.accept(&normalized[..9 * dim], &raw[..9 * dim]).unwrap();
    assert!(stream.ivector(3, &mut out[1..]).is_err());
    stream.ivector(3, &mut out).unwrap();
    assert!(matches!(stream.update_weights(&[(5, 1.0)]), Err(Error::WeightsTooLate)));

    let mut stream = OnlineIvector::new(Arc::clone(&model));
    stream.accept(&normalized, &raw).unwrap();
    assert!(matches!(stream.update_weights(&[(5, f32::NAN)]), Err(Error::BadWeight { frame: 5, .. })));
    stream.update_weights(&[(5, 1.0)]).unwrap();
    assert!(matches!(stream.ivector(6, &mut out), Err(Error::NoWeight { frame: 6 })));
    stream.update_weights(&[(2999, 1.0)]).unwrap();
    stream.ivector(2999, &mut out).unwrap();
    assert!(matches!(stream.update_weights(&[(5, -1.0)]), Err(Error::Forgotten { frame: 5, first: 1976 })));
    stream.update_weights(&[(1976, 0.5), (3000, 0.5)]).unwrap();

    let mut stream = OnlineIvector::new(Arc::clone(&model));
    stream.accept(&[f32::NAN; 3], &[0.0; 3]).unwrap();
    assert!(matches!(stream.ivector(0, &mut out), Err(Error::NoMaximum)));
    for options in [
        IvectorOptions::default().with_ivector_period(0),
        IvectorOptions::default().with_num_gselect(0),
        IvectorOptions::default().with_min_post(0.5),
        IvectorOptions::default().with_posterior_scale(0.0),
        IvectorOptions::default().with_max_count(f32::NAN),
        IvectorOptions::default().with_max_remembered_frames(-1.0),
    ] {
        assert!(matches!(options.check(), Err(Error::Option { .. })), "{options:?}");
    }
}

#[test]
fn the_terms_are_the_products_of_the_extractor() {
    let extractor = crate::made::extractor(&mut Numbers::new(4), SMALL);
    let terms = kaldi_ivector::IvectorTerms::new(&extractor).unwrap();
    let mut stats = OnlineStats::new(&terms, 0.0);
    let row = Matrix::from_vec(1, SMALL.dim, vec![0.5, -1.0, 2.0]).unwrap();
    stats.accumulate(&terms, &row, &[vec![(2, 0.5)]]).unwrap();
    let (m, s) = (&extractor.projections()[2], &extractor.inv_covars()[2]);
    let mut quadratic = SpMatrix::unit(SMALL.ivector);
    quadratic.add_mat2_sp(0.5, m, Trans::Yes, s, 1.0).unwrap();
    let mut product = Vector::zeros(SMALL.dim);
    product.add_sp_vec(0.5, s, &Vector::from(vec![0.5, -1.0, 2.0]), 0.0).unwrap();
    let mut linear = Vector::zeros(SMALL.ivector);
    linear[0] = 10.0;
    linear.add_mat_vec(1.0, m, Trans::Yes, &product, 1.0).unwrap();
    let mut ivector = Vector::zeros(SMALL.ivector);
    stats.ivector(100, &mut ivector).unwrap();
    let mut back = Vector::zeros(SMALL.ivector);
    back.add_sp_vec(1.0, &quadratic, &ivector, 0.0).unwrap();
    assert!(back.iter().zip(linear.iter()).all(|(a, b)| (a - b).abs() < 1e-8), "{back} {linear}");
}
