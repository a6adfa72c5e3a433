//! Weights from the best path, beside a plain definition of them.

use kaldi_ivector::{Error, SilenceWeighting, SilenceWeightingOptions};
use proptest::prelude::*;

const SILENCE: f32 = 0.125;

/// Transitions 0 to 3, of which 1 and 2 are silence.
fn weighting(most: Option<usize>, subsampling: usize) -> SilenceWeighting {
    let options = SilenceWeightingOptions::default().with_silence_weight(SILENCE).with_max_state_duration(most);
    SilenceWeighting::new(options, [false, true, true, false].into(), subsampling)
}

/// The weight of each frame of the decoder, if the path was always this one.
fn expected(path: &[i32], ready: usize, most: Option<usize>) -> Vec<f32> {
    let mut weights: Vec<f32> =
        path.iter().map(|&transition| if transition == 1 || transition == 2 { SILENCE } else { 1.0 }).collect();
    if let Some(most) = most {
        for begin in 0..path.len() {
            for end in begin + most..=path.len() {
                if path[begin..end].iter().all(|&transition| transition == path[begin]) {
                    weights[begin..end].fill(SILENCE);
                }
            }
        }
    }
    while weights.len() < ready {
        weights.push(weights.last().copied().unwrap_or(SILENCE));
    }
    weights
}

proptest! {
    #[test]
    fn sums_of_changes_are_the_weights_of_the_last_path(
        paths in proptest::collection::vec((proptest::collection::vec(0_i32..4, 0..12), 0_usize..10), 1..6),
        subsampling in 1_usize..4,
        offset in 0_usize..5,
        most in prop_oneof![Just(None), (2_usize..5).prop_map(Some)],
        tokens in any::<bool>(),
    ) {
        let mut weighting = weighting(most, subsampling);
        let mut sums = Vec::new();
        let mut path: Vec<i32> = Vec::new();
        let mut ready = 0;
        for (step, (tail, ahead)) in paths.iter().enumerate() {
            // The path grows, and its last frames change.
            let kept = path.len().saturating_sub(step % 3);
            let before = path.len();
            path.truncate(kept);
            path.extend(tail);
            while path.len() < before {
                path.push(3);
            }
            if tokens {
                // A token is known by all transitions up to it.
                let token = |end: usize| path[..end].iter().fold(7_u64, |hash, &t| hash.wrapping_mul(31).wrapping_add(t as u64 + 1));
                let back = (0..path.len()).rev().map(|frame| (Some(token(frame + 1)), path[frame]));
                weighting.trace_back(path.len(), back).unwrap();
            } else {
                weighting.set_path(&path).unwrap();
            }
            ready = ready.max(path.len() + ahead).max(1);
            let features = offset + (ready - 1) * subsampling + 1;
            let changes = weighting.changes(features, offset).unwrap();
            prop_assert!(changes.is_sorted_by_key(|change| change.0));
            let end = offset + ready * subsampling;
            sums.resize(sums.len().max(end), 0.0_f32);
            for &(frame, change) in &changes {
                sums[frame] += change;
            }
            prop_assert_eq!(changes.last().map(|change| change.0), Some(end - 1));
            let weights = expected(&path, ready, most);
            for (frame, &weight) in weights.iter().enumerate() {
                for i in 0..subsampling {
                    prop_assert_eq!(sums[offset + frame * subsampling + i], weight, "{} of {:?}", frame, &path);
                }
            }
            prop_assert!(sums[..offset].iter().all(|&sum| sum == 0.0));
            let speech = weighting.speech_frames(features, offset, 1000).unwrap();
            let wanted: Vec<_> = (0..path.len()).filter(|&t| path[t] == 0 || path[t] == 3).collect();
            prop_assert_eq!(speech, wanted);
        }
    }
}

#[test]
fn only_the_last_hundred_frames_change() {
    let mut weighting = weighting(None, 1);
    weighting.set_path(&[0; 250]).unwrap();
    assert_eq!(weighting.changes(250, 0).unwrap().len(), 100, "the first call starts 100 frames back, as in Kaldi");
    weighting.set_path(&[1; 250]).unwrap();
    let changes = weighting.changes(260, 0).unwrap();
    assert_eq!(changes.first(), Some(&(150, SILENCE - 1.0)));
    assert_eq!(changes.len(), 110);
}

#[test]
fn odd_calls_are_errors_or_empty() {
    let mut weighting = weighting(None, 3);
    assert!(weighting.changes(0, 0).unwrap().is_empty());
    assert!(matches!(weighting.changes(3, 3), Err(Error::NotReady { frame: 3, ready: 3 })));
    assert_eq!(weighting.changes(1, 0).unwrap(), [(0, SILENCE), (1, SILENCE), (2, SILENCE)]);
    assert_eq!(weighting.changes(3, 0).unwrap(), [(0, 0.0), (1, 0.0), (2, 0.0)]);
    weighting.set_path(&[]).unwrap();
    weighting.set_path(&[99, -7]).unwrap();
    assert_eq!(weighting.changes(6, 0).unwrap().iter().map(|change| change.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(matches!(weighting.set_path(&[0]), Err(Error::PathShrank { before: 2, found: 1 })));
    assert!(weighting.is_active());
    assert!(!SilenceWeighting::new(SilenceWeightingOptions::default(), [true].into(), 1).is_active());
    let options = SilenceWeightingOptions::default().with_silence_weight(0.0);
    assert!(!SilenceWeighting::new(options, [false].into(), 1).is_active());
}
