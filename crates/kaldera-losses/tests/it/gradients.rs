//! Every gradient beside the slope of its loss.

use fsa::dense::{DenseFsaVec, DenseOptions, intersect_dense, intersect_dense_pruned};
use fsa::graphs::{ctc_graph, ctc_topo};
use fsa::paths::Nbest;
use fsa::{Arc, Fsa, FsaVec, Graph, GraphLabels};
use kaldera_losses::rnnt::{
    PruneRanges, RnntType, TdtOptions, do_rnnt_pruning, rnnt_loss_pruned, rnnt_loss_simple, rnnt_loss_smoothed,
    tdt_loss,
};
use kaldera_losses::{
    ChainDenominator, ChainOptions, CtcGraphOptions, CtcOptions, MmiOptions, MwerOptions, Projection, Reduction,
    RnntOptions, chain_loss, ctc_loss, ctc_loss_graph, ctc_loss_projected, expected_values, label_smoothing_loss,
    mmi_loss, mwer_loss, mwer_loss_lattice, rnnt_loss, smbr_loss, swoosh_l, swoosh_l_backward, swoosh_r,
    swoosh_r_backward,
};
use lod::LodTensor;
use ragged_core::Ragged;

use crate::support::{check_slope, check_slope_within, numbers, rows};

/// Scores of FSAs are f32: steps are larger, and so are errors.
const SINGLE_STEP: f64 = 1e-2;
const SINGLE_SLOPE: f64 = 2e-4;

fn labels() -> Ragged<i32> {
    Ragged::from_lists(&[vec![1, 2, 2], vec![], vec![3]]).unwrap()
}

fn like(x: &LodTensor<f64>, values: &[f64]) -> LodTensor<f64> {
    x.like(x.num_rows(), values.to_vec(), x.lod().clone()).unwrap()
}

/// Weights of the losses, so that each counts differently.
const WEIGHTS: [f64; 3] = [0.7, -1.1, 0.4];

fn weighted(losses: &[f64]) -> f64 {
    losses.iter().zip(WEIGHTS).map(|(loss, weight)| loss * weight).sum()
}

#[test]
fn ctc() {
    let x = rows(&[6, 2, 3], 4, 1);
    for reduction in [Reduction::None, Reduction::Mean, Reduction::Sum] {
        let options = CtcOptions::default().with_reduction(reduction);
        let loss = |x: &LodTensor<f64>| ctc_loss(x, &labels(), &options).unwrap();
        let (found, saved) = loss(&x);
        let gradient = saved.backward(&WEIGHTS[..found.len()]).unwrap();
        check_slope("ctc", x.values(), gradient.values(), |values| weighted(&loss(&like(&x, values)).0));
    }
}

#[test]
fn projected_ctc() {
    let (dim, classes) = (3, 4);
    let (states, weight, bias) = (rows(&[6, 2, 3], dim, 2), numbers(3, classes * dim), numbers(4, classes));
    let options = CtcOptions::default().with_reduction(Reduction::None);
    let loss = |states: &LodTensor<f64>, weight: &[f64], bias: &[f64]| {
        weighted(&ctc_loss_projected(states, Projection { weight, bias }, &labels(), &options).unwrap().0)
    };
    let (_, saved) =
        ctc_loss_projected(&states, Projection { weight: &weight, bias: &bias }, &labels(), &options).unwrap();
    let (by_states, by_projection) = saved.backward(&WEIGHTS).unwrap();
    check_slope("states", states.values(), by_states.values(), |x| loss(&like(&states, x), &weight, &bias));
    check_slope("weight", &weight, &by_projection.weight, |x| loss(&states, x, &bias));
    check_slope("bias", &bias, &by_projection.bias, |x| loss(&states, &weight, x));
}

fn rnnt_options() -> impl Iterator<Item = RnntOptions> {
    let options = RnntOptions::default().with_reduction(Reduction::None);
    [RnntType::Regular, RnntType::Modified, RnntType::Constrained].into_iter().flat_map(move |kind| {
        let options = options.clone().with_rnnt_type(kind);
        [options.clone(), options.with_delay_penalty(0.2)]
    })
}

/// Frames of each of the sequences of [`labels`].
const FRAMES: [usize; 3] = [4, 2, 3];
const SYMBOLS: [usize; 3] = [4, 1, 2];

#[test]
fn rnnt() {
    let cells: Vec<usize> = FRAMES.iter().zip(SYMBOLS).map(|(frames, symbols)| frames * symbols).collect();
    let x = rows(&cells, 4, 5);
    for options in rnnt_options().flat_map(|options| [options.clone(), options.with_use_hat_loss(true)]) {
        let loss = |x: &LodTensor<f64>| rnnt_loss(x, &labels(), &options).unwrap();
        let gradient = loss(&x).1.backward(&WEIGHTS).unwrap();
        check_slope("rnnt", x.values(), gradient.values(), |values| weighted(&loss(&like(&x, values)).0));
    }
}

#[test]
fn pruned_rnnt() {
    let ranges = PruneRanges::new(2, vec![vec![0, 1, 1, 2], vec![0, 0], vec![0, 0, 0]]).unwrap();
    let x = LodTensor::from_vec([9, 2, 4], numbers(6, 72), lod::Lod::from_lengths(&[FRAMES]).unwrap()).unwrap();
    for options in rnnt_options().flat_map(|options| [options.clone(), options.with_use_hat_loss(true)]) {
        let loss = |x: &LodTensor<f64>| rnnt_loss_pruned(x, &labels(), &ranges, &options).unwrap();
        let gradient = loss(&x).1.backward(&WEIGHTS).unwrap();
        check_slope("pruned", x.values(), gradient.values(), |values| weighted(&loss(&like(&x, values)).0));
    }
}

#[test]
fn simple_and_smoothed_rnnt() {
    let (am, lm) = (rows(&FRAMES, 4, 7), rows(&SYMBOLS, 4, 8));
    for (options, scales) in rnnt_options().flat_map(|options| [(options.clone(), (0.0, 0.0)), (options, (0.25, 0.1))])
    {
        let loss = |am: &LodTensor<f64>, lm: &LodTensor<f64>| {
            rnnt_loss_smoothed(am, lm, &labels(), scales.0, scales.1, &options).unwrap()
        };
        let (by_am, by_lm) = loss(&am, &lm).1.backward(&WEIGHTS).unwrap();
        check_slope("am", am.values(), by_am.values(), |x| weighted(&loss(&like(&am, x), &lm).0));
        check_slope("lm", lm.values(), by_lm.values(), |x| weighted(&loss(&am, &like(&lm, x)).0));
    }
}

#[test]
fn pruning() {
    let ranges = PruneRanges::new(2, vec![vec![0, 1, 1, 2], vec![0, 0], vec![0, 0, 0]]).unwrap();
    let (am, lm) = (rows(&FRAMES, 2, 9), rows(&SYMBOLS, 2, 10));
    let weights = rows(&[36], 1, 11);
    let value = |am: &LodTensor<f64>, lm: &LodTensor<f64>| -> f64 {
        let (am, lm, _) = do_rnnt_pruning(am, lm, &ranges).unwrap();
        am.values().iter().zip(lm.values()).zip(weights.values()).map(|((a, l), w)| w * (a + l * a)).sum()
    };
    let (of_am, of_lm, saved) = do_rnnt_pruning(&am, &lm, &ranges).unwrap();
    let by = |f: &dyn Fn(usize) -> f64| like(&of_am, &(0..36).map(f).collect::<Vec<_>>());
    let by_am = by(&|i| weights.values()[i] * (1.0 + of_lm.values()[i]));
    let by_lm = by(&|i| weights.values()[i] * of_am.values()[i]);
    let (by_am, by_lm) = saved.backward(&by_am, &by_lm).unwrap();
    check_slope("am", am.values(), by_am.values(), |x| value(&like(&am, x), &lm));
    check_slope("lm", lm.values(), by_lm.values(), |x| value(&am, &like(&lm, x)));
}

#[test]
fn tdt() {
    let cells: Vec<usize> = FRAMES.iter().zip(SYMBOLS).map(|(frames, symbols)| frames * symbols).collect();
    for durations in [vec![0, 1, 2], vec![1, 2]] {
        let x = rows(&cells, 4 + durations.len(), 12);
        let options = TdtOptions::default().with_durations(durations).with_sigma(0.1).with_reduction(Reduction::Mean);
        let loss = |x: &LodTensor<f64>| tdt_loss(x, &labels(), &options).unwrap();
        let (found, saved) = loss(&x);
        assert!(found[0].is_finite());
        let gradient = saved.backward(&[0.8]).unwrap();
        check_slope("tdt", x.values(), gradient.values(), |values| 0.8 * loss(&like(&x, values)).0[0]);
    }
}

#[test]
fn fastemit_and_clamp_change_the_gradient_alone() {
    let (am, lm) = (rows(&FRAMES, 4, 7), rows(&SYMBOLS, 4, 8));
    let plain = RnntOptions::default().with_reduction(Reduction::Sum);
    let gradient = |options: &RnntOptions| {
        let (loss, saved) = rnnt_loss_simple(&am, &lm, &labels(), options).unwrap();
        (loss[0], saved.backward(&[1.0]).unwrap().0.values().to_vec())
    };
    let (loss, whole) = gradient(&plain);
    let (same, faster) = gradient(&plain.clone().with_fastemit_lambda(0.5));
    let (_, twice) = gradient(&plain.clone().with_fastemit_lambda(1.0));
    assert_eq!(loss, same);
    // Linear in 1 + lambda.
    for ((a, b), c) in whole.iter().zip(&faster).zip(&twice) {
        assert!((a + c - 2.0 * b).abs() < 1e-12);
    }
    let (_, clamped) = gradient(&plain.with_clamp(Some(0.1)));
    assert!(clamped.iter().zip(&whole).all(|(cut, x)| *cut == x.clamp(-0.1, 0.1)));
}

#[test]
fn label_smoothing_and_swoosh() {
    let x = rows(&[3], 4, 13);
    for reduction in [Reduction::Mean, Reduction::None] {
        let loss = |x: &LodTensor<f64>| label_smoothing_loss(x, &[2, -1, 0], 0.1, reduction).unwrap();
        let (found, saved) = loss(&x);
        let gradient = saved.backward(&WEIGHTS[..found.len()]).unwrap();
        check_slope("smoothing", x.values(), gradient.values(), |values| weighted(&loss(&like(&x, values)).0));
    }
    let ones = vec![1.0; 12];
    check_slope("swoosh_l", x.values(), &swoosh_l_backward(x.values(), &ones).unwrap(), |x| swoosh_l(x).iter().sum());
    check_slope("swoosh_r", x.values(), &swoosh_r_backward(x.values(), &ones).unwrap(), |x| swoosh_r(x).iter().sum());
}

fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

/// Rounded to f32, so that the value is that of the point itself.
fn dense_values(seed: u64, count: usize) -> Vec<f64> {
    singles(&numbers(seed, count)).into_iter().map(f64::from).collect()
}

#[test]
fn graph_ctc() {
    let graph = ctc_graph(&Ragged::from_lists(&[vec![1, 2], vec![2]]).unwrap(), false).unwrap();
    let x = dense_values(14, 24);
    let options = CtcGraphOptions::default()
        .with_delay_penalty(0.1)
        .with_reduction(Reduction::Mean)
        .with_output_beam(f32::INFINITY);
    let value = |x: &[f64]| {
        let x = singles(x);
        let dense = DenseFsaVec::from_padded(&x, [2, 4, 3], &[4, 3]).unwrap();
        ctc_loss_graph(&graph, &dense, &[2, 1], &options).unwrap().0[0]
    };
    let values = singles(&x);
    let dense = DenseFsaVec::from_padded(&values, [2, 4, 3], &[4, 3]).unwrap();
    let (_, saved) = ctc_loss_graph(&graph, &dense, &[2, 1], &options).unwrap();
    check_slope_within("graph", &x, &saved.backward(&[1.0]).unwrap(), SINGLE_STEP, SINGLE_SLOPE, value);
    let num_arcs = graph.fsas().num_arcs();
    let by_graph = saved.backward_to_graph(&[1.0], num_arcs).unwrap();
    let scores: Vec<f64> = vec![0.0; num_arcs];
    check_slope_within("arcs", &scores, &by_graph, SINGLE_STEP, SINGLE_SLOPE, |scores| {
        let fsas = graph.fsas().with_scores(&singles(scores)).unwrap();
        let graph = Graph::from_parts(fsas, graph.attributes().clone()).unwrap();
        ctc_loss_graph(&graph, &dense, &[2, 1], &options).unwrap().0[0]
    });
}

#[test]
fn mmi() {
    let numerators = ctc_graph(&Ragged::from_lists(&[vec![1, 2], vec![2]]).unwrap(), false).unwrap();
    let denominator = ctc_topo(2, false).unwrap();
    let den = DenseOptions::default().with_search_beam(1000.0).with_output_beam(1000.0);
    let options = MmiOptions::default().with_den_scale(0.9).with_num_beam(1000.0).with_den(den);
    let x = dense_values(15, 24);
    let value = |x: &[f64]| {
        let x = singles(x);
        let dense = DenseFsaVec::from_padded(&x, [2, 4, 3], &[4, 3]).unwrap();
        mmi_loss(&numerators, &denominator, &dense, &options).unwrap().0[0]
    };
    let values = singles(&x);
    let dense = DenseFsaVec::from_padded(&values, [2, 4, 3], &[4, 3]).unwrap();
    let (_, saved) = mmi_loss(&numerators, &denominator, &dense, &options).unwrap();
    check_slope_within("mmi", &x, &saved.backward(&[1.0]).unwrap(), SINGLE_STEP, SINGLE_SLOPE, value);
}

/// Two states that are entered by different classes.
fn language() -> Fsa {
    let arcs = vec![
        Arc::new(0, 1, 0, -0.5),
        Arc::new(0, 2, 1, -1.0),
        Arc::new(1, 1, 0, -0.7),
        Arc::new(1, 2, 1, -0.9),
        Arc::new(1, 3, -1, 0.0),
        Arc::new(2, 1, 2, -0.4),
        Arc::new(2, 3, -1, 0.0),
    ];
    Fsa::from_arcs(4, arcs).unwrap()
}

#[test]
fn chain() {
    let denominator = ChainDenominator::new(&language(), 3).unwrap();
    let one = Fsa::from_arcs(
        3,
        vec![
            Arc::new(0, 0, 0, 0.0),
            Arc::new(0, 1, 1, -0.3),
            Arc::new(1, 1, 1, 0.0),
            Arc::new(1, 1, 2, 0.1),
            Arc::new(1, 2, -1, 0.0),
        ],
    )
    .unwrap();
    let numerators = FsaVec::from_fsas(&[one.clone(), one]).unwrap();
    let x = rows(&[4, 2], 3, 16);
    for (leaky, l2) in [(0.0, 0.0), (0.1, 0.01)] {
        let options = ChainOptions::default()
            .with_leaky_hmm_coefficient(leaky)
            .with_l2_regularize(l2)
            .with_reduction(Reduction::None);
        let loss = |x: &LodTensor<f64>| chain_loss(x, &numerators, &denominator, &options).unwrap();
        let gradient: LodTensor<f64> = loss(&x).1.backward(&WEIGHTS[..2]).unwrap();
        check_slope("chain", x.values(), gradient.values(), |values| weighted(&loss(&like(&x, values)).0));
    }
}

#[test]
fn risk_is_that_of_classes_however_graphs_have_them() {
    let scores = [0.3_f32, 0.7, 0.6, 0.4, 0.9, 0.1].map(f32::ln);
    let dense = DenseFsaVec::from_frames(&scores, 2).unwrap();
    let references = Ragged::from_lists(&[vec![1, 1, 0]]).unwrap();
    let risk = |num_states: usize, arcs: Vec<Arc>, labels: GraphLabels| {
        let graph = Graph::new(Fsa::from_arcs(num_states, arcs).unwrap()).with_graph_labels(labels);
        let options = DenseOptions::default().with_search_beam(100.0).with_output_beam(100.0);
        let lattices = intersect_dense_pruned(&graph, &dense, &options).unwrap();
        smbr_loss(&lattices, &references, Reduction::Sum).unwrap().0[0]
    };
    let classes = vec![Arc::new(0, 0, 0, 0.0), Arc::new(0, 0, 1, 0.0), Arc::new(0, 1, -1, 0.0)];
    // The same behind an epsilon arc.
    let labels = vec![Arc::new(0, 1, 0, 0.0), Arc::new(1, 1, 1, 0.0), Arc::new(1, 1, 2, 0.0), Arc::new(1, 2, -1, 0.0)];
    for found in [risk(2, classes, GraphLabels::Class), risk(3, labels, GraphLabels::ClassPlusOne)] {
        assert!((found - (0.3 + 0.6 + 0.1)).abs() < SINGLE_SLOPE, "{found}");
    }
}

#[test]
fn risks() {
    let graph = ctc_topo(2, false).unwrap();
    let x = singles(&dense_values(17, 24));
    let dense = DenseFsaVec::from_padded(&x, [2, 4, 3], &[4, 3]).unwrap();
    let lattices = intersect_dense(&graph, &dense, f32::INFINITY).unwrap();
    let references = Ragged::from_lists(&[vec![0, 1, 1, 2], vec![2, 2, 0]]).unwrap();
    let (loss, saved) = smbr_loss(&lattices, &references, Reduction::Sum).unwrap();
    let by_arcs = saved.backward(&[1.0]).unwrap();
    let by_scores = lattices.score_gradient(&by_arcs, &dense).unwrap();
    let double: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    check_slope_within("smbr", &double, &by_scores, SINGLE_STEP, SINGLE_SLOPE, |x| {
        let x = singles(x);
        let dense = DenseFsaVec::from_padded(&x, [2, 4, 3], &[4, 3]).unwrap();
        let lattices = intersect_dense(&graph, &dense, f32::INFINITY).unwrap();
        smbr_loss(&lattices, &references, Reduction::Sum).unwrap().0[0]
    });
    // The topology of CTC lets every sequence of classes pass: frames are independent.
    let by_frames: f64 = x
        .chunks(3)
        .zip([0, 1, 1, 2, 2, 2, 0])
        .map(|(row, class)| {
            let sum: f32 = row.iter().map(|x| x.exp()).sum();
            f64::from(1.0 - row[class].exp() / sum)
        })
        .sum();
    assert!((loss[0] - by_frames).abs() < 1e-5, "{} {by_frames}", loss[0]);
    let values = numbers(18, lattices.graph().fsas().num_arcs());
    let (means, saved) = expected_values(lattices.graph().fsas(), &values).unwrap();
    assert_eq!((means.len(), saved.backward(&[1.0, 1.0]).unwrap().len()), (2, values.len()));
}

#[test]
fn word_errors() {
    let arcs = vec![
        Arc::new(0, 1, 7, 0.3),
        Arc::new(0, 1, 8, 0.1),
        Arc::new(1, 2, 9, -0.2),
        Arc::new(1, 2, 7, 0.4),
        Arc::new(2, 3, -1, 0.0),
    ];
    let lattice = FsaVec::from_fsas(&[Fsa::from_arcs(4, arcs).unwrap()]).unwrap();
    let references = Ragged::from_lists(&[vec![7, 9, 9]]).unwrap();
    let options = MwerOptions::default().with_temperature(0.8);
    let value = |fsas: &FsaVec| {
        let nbest = Nbest::best(&Graph::new(fsas.clone()), 10).unwrap();
        mwer_loss(&nbest, &references, &options).unwrap().0[0]
    };
    let (loss, saved) = mwer_loss_lattice(&Graph::new(lattice.clone()), &references, 10, None, &options).unwrap();
    assert!((loss[0] - value(&lattice)).abs() < 1e-12);
    let scores: Vec<f64> = lattice.scores().iter().map(|&x| f64::from(x)).collect();
    check_slope_within("mwer", &scores, &saved.backward(&[1.0]).unwrap(), SINGLE_STEP, SINGLE_SLOPE, |scores| {
        value(&lattice.with_scores(&singles(scores)).unwrap())
    });
}
