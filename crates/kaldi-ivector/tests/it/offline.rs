//! I-vectors of whole utterances, beside their definition.

use kaldi_ivector::{Error, IvectorTerms, Matrix, UtteranceStats, Vector};
use proptest::prelude::*;

use crate::made::{Numbers, SMALL, extractor};

proptest! {
    #[test]
    fn the_ivector_has_the_greatest_log_likelihood(seed in any::<u64>(), frames in 1_usize..20) {
        let mut numbers = Numbers::new(seed);
        let extractor = extractor(&mut numbers, SMALL);
        let terms = IvectorTerms::new(&extractor).unwrap();
        let features = Matrix::from_vec(frames, SMALL.dim, numbers.gaussian(frames * SMALL.dim)).unwrap();
        let posteriors: Vec<Vec<(i32, f32)>> = (0..frames)
            .map(|t| vec![((t % SMALL.gaussians) as i32, 0.75), ((t * 3 % SMALL.gaussians) as i32, 0.25)])
            .collect();
        let mut stats = UtteranceStats::new(SMALL.gaussians, SMALL.dim);
        stats.accumulate(&features, &posteriors).unwrap();
        prop_assert!((stats.num_frames() - frames as f64).abs() < 1e-9);

        // The sum over frames and Gaussians of weighted squared distances, and the prior.
        let log_likelihood = |v: &[f64]| {
            let mut sum = 0.0;
            for (row, pairs) in features.rows().zip(&posteriors) {
                for &(gaussian, weight) in pairs {
                    let gaussian = gaussian as usize;
                    let projection = &extractor.projections()[gaussian];
                    let distance: Vec<f64> = projection
                        .rows()
                        .zip(row)
                        .map(|(m, &x)| f64::from(x) - m.iter().zip(v).map(|(m, v)| m * v).sum::<f64>())
                        .collect();
                    for (r, a) in distance.iter().enumerate() {
                        for (c, b) in distance.iter().enumerate() {
                            sum -= 0.5 * f64::from(weight) * a * b * extractor.inv_covars()[gaussian][(r, c)];
                        }
                    }
                }
            }
            let prior = |(d, &v): (usize, &f64)| if d == 0 { v - extractor.prior_offset() } else { v };
            sum - 0.5 * v.iter().enumerate().map(prior).map(|x| x * x).sum::<f64>()
        };
        let best = terms.ivector(&stats).unwrap();
        let top = log_likelihood(best.data());
        for d in 0..SMALL.ivector {
            for step in [-1e-3, 1e-3] {
                let mut near = best.data().to_vec();
                near[d] += step;
                prop_assert!(log_likelihood(&near) < top);
            }
        }
        let mut prior = vec![0.0; SMALL.ivector];
        prior[0] = extractor.prior_offset();
        let improvement = terms.improvement(&stats, &best).unwrap();
        let expected = top - log_likelihood(&prior);
        prop_assert!((improvement - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{improvement} {expected}");
        prop_assert!(improvement >= 0.0);
    }
}

#[test]
fn wrong_sizes_and_gaussians_are_refused() {
    let terms = IvectorTerms::new(&extractor(&mut Numbers::new(1), SMALL)).unwrap();
    let mut stats = UtteranceStats::new(SMALL.gaussians, SMALL.dim);
    let rows = Matrix::zeros(2, SMALL.dim);
    assert!(matches!(stats.accumulate(&rows, &[vec![]]), Err(Error::Size { .. })));
    assert!(matches!(stats.accumulate(&Matrix::zeros(1, 9), &[vec![]]), Err(Error::Size { .. })));
    for gaussian in [-1, SMALL.gaussians as i32, i32::MIN] {
        let found = stats.accumulate(&rows, &[vec![], vec![(gaussian, 1.0)]]);
        assert!(matches!(found, Err(Error::NoGaussian { frame: 1, .. })), "{found:?}");
    }
    // Without frames, it is the mean of the prior.
    let ivector = terms.ivector(&stats).unwrap();
    assert!((ivector[0] - 10.0).abs() < 1e-12 && ivector.iter().skip(1).all(|x| x.abs() < 1e-12));
    assert!(terms.ivector(&UtteranceStats::new(2, SMALL.dim)).is_err());
    assert!(terms.improvement(&stats, &Vector::zeros(2)).is_err());
}

#[test]
fn weights_that_depend_on_the_ivector_are_estimated() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/__fuzz__/models/corpus/weights.bin");
    let bytes = std::fs::read(corpus).unwrap();
    let extractor = kaldi_ivector::codec::read(&mut &bytes[..]).unwrap();
    let terms = IvectorTerms::new(&extractor).unwrap();
    assert!(terms.has_dependent_weights());
    let mut stats = UtteranceStats::new(3, 2);
    let features = Matrix::from_fn(6, 2, |r, c| r as f32 * 0.3 - c as f32);
    let posteriors: Vec<_> = (0..6).map(|t| vec![(t % 2, 1.0_f32)]).collect();
    stats.accumulate(&features, &posteriors).unwrap();
    let best = terms.ivector(&stats).unwrap();
    // The rounds stop within a tenth of the maximum, where the log-likelihood is flat.
    let top = terms.improvement(&stats, &best).unwrap();
    for d in 0..4 {
        for step in [-0.5, 0.5] {
            let mut near = best.clone();
            near[d] += step;
            assert!(terms.improvement(&stats, &near).unwrap() < top);
        }
    }
}
