//! A table of losses beside tables of inputs: what each loss makes of each input.

use fsa::dense::{DenseFsaVec, DenseOptions, intersect_dense};
use fsa::graphs::{ctc_graph, ctc_topo};
use fsa::{Arc, Fsa, FsaVec, Graph};
use kaldera_losses::rnnt::{PruneRanges, RnntType, TdtOptions, rnnt_loss_pruned, rnnt_loss_smoothed, tdt_loss};
use kaldera_losses::{
    ChainDenominator, ChainOptions, CtcGraphOptions, CtcOptions, Error, Impossible, MmiOptions, MwerOptions,
    Projection, Reduction, RnntOptions, chain_loss, ctc_loss, ctc_loss_graph, ctc_loss_projected, label_smoothing_loss,
    mmi_loss, mwer_loss_lattice, rnnt_loss, smbr_loss,
};
use lod::{Lod, LodTensor};
use ragged_core::Ragged;

use crate::support::{numbers, rows};

const CLASSES: usize = 4;

/// A batch, from which each loss makes what it takes.
#[derive(Debug, Clone)]
struct Input {
    /// Of each sequence.
    frames: Vec<usize>,
    labels: Vec<Vec<i32>>,
    blank: usize,
    /// A sequence whose last logit is this instead.
    damage: Option<(usize, f64)>,
    /// What all logits of the first frame of the first sequence are instead.
    first_frame: Option<f64>,
    impossible: Impossible,
    allow_nan: bool,
}

fn good() -> Input {
    Input {
        frames: vec![5, 3],
        labels: vec![vec![1, 2], vec![3]],
        blank: 0,
        damage: None,
        first_frame: None,
        impossible: Impossible::Infinite,
        allow_nan: false,
    }
}

impl Input {
    fn labels(&self) -> Ragged<i32> {
        Ragged::from_lists(&self.labels).unwrap()
    }

    /// The number of labels of a sequence, plus 1.
    fn symbols(&self, sequence: usize) -> usize {
        self.labels.get(sequence).map_or(1, |labels| labels.len() + 1)
    }

    /// Logits with so many rows for each frame of a sequence.
    fn logits(&self, rows_per_frame: impl Fn(usize) -> usize, width: usize) -> LodTensor<f64> {
        let lengths: Vec<usize> = self.frames.iter().enumerate().map(|(i, t)| t * rows_per_frame(i)).collect();
        let mut logits = rows(&lengths, width, 1);
        if let Some((sequence, logit)) = self.damage {
            let end = lengths[..=sequence].iter().sum::<usize>() * width;
            logits.values_mut()[end - 1] = logit;
        }
        if let Some(logit) = self.first_frame {
            logits.values_mut()[..rows_per_frame(0) * width].fill(logit);
        }
        logits
    }

    /// A decoder's logits.
    fn lm(&self) -> LodTensor<f64> {
        let lengths: Vec<usize> = (0..self.frames.len()).map(|sequence| self.symbols(sequence)).collect();
        rows(&lengths, CLASSES, 2)
    }

    fn ctc(&self) -> CtcOptions {
        let options = CtcOptions::default().with_blank(self.blank).with_reduction(Reduction::None);
        options.with_impossible(self.impossible).with_allow_nan(self.allow_nan)
    }

    /// Of the kind where labels need as many frames.
    fn rnnt(&self) -> RnntOptions {
        let options = RnntOptions::default().with_blank(self.blank).with_reduction(Reduction::None);
        let options = options.with_impossible(self.impossible).with_allow_nan(self.allow_nan);
        options.with_rnnt_type(RnntType::Modified)
    }
}

/// The loss of each sequence, and the gradient.
type Outcome = Result<(Vec<f64>, Vec<f64>), Error>;

fn ctc(input: &Input) -> Outcome {
    let (loss, saved) = ctc_loss(&input.logits(|_| 1, CLASSES), &input.labels(), &input.ctc())?;
    Ok((loss.clone(), saved.backward(&vec![1.0; loss.len()])?.values().to_vec()))
}

fn projected(input: &Input) -> Outcome {
    let (weight, bias) = (numbers(3, CLASSES * 3), numbers(4, CLASSES));
    let projection = Projection { weight: &weight, bias: &bias };
    let (loss, saved) = ctc_loss_projected(&input.logits(|_| 1, 3), projection, &input.labels(), &input.ctc())?;
    let (by_states, by_projection) = saved.backward(&vec![1.0; loss.len()])?;
    Ok((loss, [by_states.values(), &by_projection.weight, &by_projection.bias].concat()))
}

fn rnnt(input: &Input) -> Outcome {
    let logits = input.logits(|sequence| input.symbols(sequence), CLASSES);
    let (loss, saved) = rnnt_loss(&logits, &input.labels(), &input.rnnt())?;
    Ok((loss.clone(), saved.backward(&vec![1.0; loss.len()])?.values().to_vec()))
}

fn hat(input: &Input) -> Outcome {
    let logits = input.logits(|sequence| input.symbols(sequence), CLASSES);
    let (loss, saved) = rnnt_loss(&logits, &input.labels(), &input.rnnt().with_use_hat_loss(true))?;
    Ok((loss.clone(), saved.backward(&vec![1.0; loss.len()])?.values().to_vec()))
}

fn pruned(input: &Input) -> Outcome {
    let begins = |(sequence, &frames): (usize, &usize)| {
        (0..frames).map(|t| t.min(input.symbols(sequence).saturating_sub(2))).collect()
    };
    let ranges = PruneRanges::new(2, input.frames.iter().enumerate().map(begins).collect())?;
    let flat = input.logits(|_| 2, CLASSES);
    let lod = Lod::from_lengths(&[&input.frames[..]]).unwrap();
    let shape = [input.frames.iter().sum::<usize>(), 2, CLASSES];
    let logits = LodTensor::from_vec(shape, flat.values().to_vec(), lod).unwrap();
    let (loss, saved) = rnnt_loss_pruned(&logits, &input.labels(), &ranges, &input.rnnt())?;
    Ok((loss.clone(), saved.backward(&vec![1.0; loss.len()])?.values().to_vec()))
}

fn smoothed(input: &Input) -> Outcome {
    let am = input.logits(|_| 1, CLASSES);
    let (loss, saved) = rnnt_loss_smoothed(&am, &input.lm(), &input.labels(), 0.2, 0.1, &input.rnnt())?;
    let (by_am, by_lm) = saved.backward(&vec![1.0; loss.len()])?;
    Ok((loss, [by_am.values(), by_lm.values()].concat()))
}

fn tdt(input: &Input) -> Outcome {
    let logits = input.logits(|sequence| input.symbols(sequence), CLASSES + 2);
    let options = TdtOptions::default().with_blank(input.blank).with_reduction(Reduction::None);
    // No duration of 0: labels need as many frames, and one more.
    let options = options.with_durations(vec![1, 2]).with_impossible(input.impossible);
    let options = options.with_allow_nan(input.allow_nan);
    let (loss, saved) = tdt_loss(&logits, &input.labels(), &options)?;
    Ok((loss.clone(), saved.backward(&vec![1.0; loss.len()])?.values().to_vec()))
}

type Loss = fn(&Input) -> Outcome;

const LOSSES: [(&str, Loss); 7] = [
    ("ctc_loss", ctc),
    ("ctc_loss_projected", projected),
    ("rnnt_loss", rnnt),
    ("rnnt_loss with use_hat_loss", hat),
    ("rnnt_loss_pruned", pruned),
    ("rnnt_loss_smoothed", smoothed),
    ("tdt_loss", tdt),
];

#[test]
fn bad_input_is_an_error_of_every_loss() {
    type Is = fn(&Error) -> bool;
    let faults: [(&str, Input, Is); 8] = [
        (
            "NaN",
            Input { damage: Some((1, f64::NAN)), ..good() },
            |error| matches!(error, Error::Logit { sequence: 1, logit, .. } if logit.is_nan()),
        ),
        ("infinity", Input { damage: Some((0, f64::INFINITY)), ..good() }, |error| {
            matches!(error, Error::Logit { sequence: 0, .. })
        }),
        ("the blank as label", Input { labels: vec![vec![1], vec![2, 0]], ..good() }, |error| {
            *error == Error::BlankLabel { sequence: 1, position: 1, blank: 0 }
        }),
        ("a blank of another class as label", Input { blank: 2, ..good() }, |error| {
            *error == Error::BlankLabel { sequence: 0, position: 1, blank: 2 }
        }),
        ("a label beyond the classes", Input { labels: vec![vec![], vec![4]], ..good() }, |error| {
            *error == Error::Label { sequence: 1, position: 0, label: 4, classes: 4 }
        }),
        ("a negative label", Input { labels: vec![vec![1, i32::MIN], vec![]], ..good() }, |error| {
            *error == Error::Label { sequence: 0, position: 1, label: i32::MIN, classes: 4 }
        }),
        ("labels for one sequence too few", Input { labels: vec![vec![1]], ..good() }, |error| {
            matches!(error, Error::Count { expected: 2, found: 1, .. })
        }),
        ("a blank beyond the classes", Input { blank: 4, ..good() }, |error| {
            *error == Error::Blank { blank: 4, classes: 4 }
        }),
    ];
    for (name, loss) in LOSSES {
        loss(&good()).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (what, input, is_right) in &faults {
            let found = loss(input).expect_err(&format!("{name}, {what}"));
            assert!(is_right(&found), "{name}, {what}: {found}");
        }
    }
}

#[test]
fn an_empty_batch_has_no_losses() {
    for (name, loss) in LOSSES {
        let (losses, gradient) = loss(&Input { frames: vec![], labels: vec![], ..good() }).unwrap();
        assert!(losses.is_empty() && gradient.iter().all(|&slope| slope == 0.0), "{name}: {losses:?} {gradient:?}");
    }
}

#[test]
fn sequences_without_frames_and_labels_have_a_loss_of_0() {
    for (name, loss) in LOSSES {
        let input = Input { frames: vec![0, 3, 0], labels: vec![vec![], vec![1], vec![]], ..good() };
        let (losses, gradient) = loss(&input).unwrap();
        assert!((losses[0], losses[2]) == (0.0, 0.0) && losses[1].is_finite(), "{name}: {losses:?}");
        assert!(gradient.iter().all(|slope| slope.is_finite()), "{name}: {gradient:?}");
    }
}

#[test]
fn sequences_with_too_few_frames_have_what_is_asked_for() {
    for (name, loss) in LOSSES {
        // No frames, and one for two equal labels.
        for (frames, labels) in [(0, vec![1]), (1, vec![2, 2])] {
            let input = Input { frames: vec![3, frames], labels: vec![vec![1], labels], ..good() };
            let alone = loss(&Input { frames: vec![3], labels: vec![vec![1]], ..good() }).unwrap().0;
            let (losses, gradient) = loss(&input).unwrap();
            assert_eq!(losses[1], f64::INFINITY, "{name}");
            // The other sequence is as it is alone; smoothing sees the whole batch.
            assert!(losses[0] == alone[0] || name == "rnnt_loss_smoothed", "{name}");
            assert!(gradient.iter().all(|slope| slope.is_finite()), "{name}: {gradient:?}");
            let zero = loss(&Input { impossible: Impossible::Zero, ..input.clone() }).unwrap().0;
            assert_eq!(zero, [losses[0], 0.0], "{name}");
            let error = loss(&Input { impossible: Impossible::Error, ..input }).unwrap_err();
            let found = frames;
            assert!(
                matches!(error, Error::TooShort { sequence: 1, frames, needed, .. } if frames == found && needed > 0),
                "{name}: {error}"
            );
        }
    }
}

#[test]
fn classes_that_are_impossible_leave_gradients_finite() {
    for (name, loss) in LOSSES {
        for sequence in [0, 1] {
            // A hidden state of minus infinity is no class.
            if name != "ctc_loss_projected" {
                let (losses, gradient) =
                    loss(&Input { damage: Some((sequence, f64::NEG_INFINITY)), ..good() }).unwrap();
                assert!(losses.iter().all(|loss| !loss.is_nan()), "{name}: {losses:?}");
                assert!(gradient.iter().all(|slope| slope.is_finite()), "{name}: {gradient:?}");
            }
        }
    }
}

#[test]
fn a_frame_of_minus_infinity_is_a_sequence_without_alignment() {
    for (name, loss) in LOSSES.into_iter().filter(|(name, _)| *name != "ctc_loss_projected") {
        let (good_losses, good_gradient) = loss(&good()).unwrap();
        let input = Input { first_frame: Some(f64::NEG_INFINITY), ..good() };
        let (losses, gradient) = loss(&input).unwrap();
        assert_eq!(losses, [f64::INFINITY, good_losses[1]], "{name}");
        // The sequence has no gradient, and the other one its own; smoothing has a part of the whole batch.
        let is_right = |(&slope, &good): (&f64, &f64)| slope == 0.0 || slope == good;
        let is_right = |pair| is_right(pair) || name == "rnnt_loss_smoothed" && pair.0.is_finite();
        assert!(gradient.iter().zip(&good_gradient).all(is_right), "{name}: {gradient:?}");
        let zero = Input { impossible: Impossible::Zero, ..input.clone() };
        assert_eq!(loss(&zero).unwrap(), (vec![0.0, losses[1]], gradient), "{name}");
        let error = loss(&Input { impossible: Impossible::Error, ..input }).unwrap_err();
        assert!(matches!(error, Error::TooShort { sequence: 0, .. }), "{name}: {error}");
    }
}

#[test]
fn nan_that_is_allowed_spoils_its_own_sequence() {
    for (name, loss) in LOSSES {
        let (good_losses, good_gradient) = loss(&good()).unwrap();
        let nan = Input { allow_nan: true, impossible: Impossible::Zero, ..good() };
        assert_eq!(loss(&nan).unwrap(), (good_losses.clone(), good_gradient.clone()), "{name}");
        for input in [
            Input { damage: Some((0, f64::NAN)), ..nan.clone() },
            Input { damage: Some((0, f64::INFINITY)), ..nan.clone() },
            Input { first_frame: Some(f64::NAN), ..nan },
        ] {
            let (losses, gradient) = loss(&input).unwrap();
            assert!(losses[0].is_nan() && losses[1] == good_losses[1], "{name}: {losses:?}");
            let is_right = |(slope, good): (&f64, &f64)| slope.is_nan() || slope == good;
            assert!(gradient.iter().zip(&good_gradient).all(is_right), "{name}: {gradient:?}");
            let spoilt = gradient.iter().filter(|slope| slope.is_nan()).count();
            assert!(gradient[0].is_nan() && spoilt < gradient.len(), "{name}: {gradient:?}");
        }
    }
}

/// Scores of two utterances of 4 and 3 frames, with 3 classes.
fn dense_values() -> Vec<f32> {
    numbers(5, 24).into_iter().map(|x| x as f32).collect()
}

fn dense(values: &[f32]) -> DenseFsaVec<'_> {
    DenseFsaVec::from_padded(values, [2, 4, 3], &[4, 3]).unwrap()
}

fn graphs(labels: &[Vec<i32>]) -> Graph<FsaVec> {
    ctc_graph(&Ragged::from_lists(labels).unwrap(), false).unwrap()
}

#[test]
fn losses_over_graphs_name_the_utterance_whose_scores_are_nan() {
    let mut values = dense_values();
    values[4 * 3 + 1] = f32::NAN;
    let (dense, graphs) = (dense(&values), graphs(&[vec![1], vec![2]]));
    let is_second = |error: Error| assert!(matches!(error, Error::Utterance { utterance: 1, .. }), "{error}");
    for impossible in [Impossible::Infinite, Impossible::Zero, Impossible::Error] {
        let options = CtcGraphOptions::default().with_impossible(impossible);
        is_second(ctc_loss_graph(&graphs, &dense, &[1, 1], &options).unwrap_err());
        let options = MmiOptions::default().with_impossible(impossible);
        is_second(mmi_loss(&graphs, &ctc_topo(2, false).unwrap(), &dense, &options).unwrap_err());
    }
}

#[test]
fn losses_over_graphs_have_what_is_asked_for_without_a_path() {
    // Three frames for four labels.
    let (values, graphs) = (dense_values(), graphs(&[vec![1], vec![2, 1, 2, 1]]));
    let (dense, topology) = (dense(&values), ctc_topo(2, false).unwrap());
    type OverGraphs<'a> = Box<dyn Fn(Impossible) -> Outcome + 'a>;
    let of_ctc: OverGraphs<'_> = Box::new(|impossible| {
        let options = CtcGraphOptions::default().with_reduction(Reduction::None).with_impossible(impossible);
        let (loss, saved) = ctc_loss_graph(&graphs, &dense, &[1, 4], &options)?;
        Ok((loss, saved.backward(&[1.0, 1.0])?))
    });
    let of_mmi: OverGraphs<'_> = Box::new(|impossible| {
        let options = MmiOptions::default().with_reduction(Reduction::None).with_impossible(impossible);
        let (loss, saved) = mmi_loss(&graphs, &topology, &dense, &options)?;
        Ok((loss, saved.backward(&[1.0, 1.0])?))
    });
    for (name, loss) in [("ctc_loss_graph", of_ctc), ("mmi_loss", of_mmi)] {
        let (losses, gradient) = loss(Impossible::Infinite).unwrap();
        assert!(losses[0].is_finite() && losses[1] == f64::INFINITY, "{name}: {losses:?}");
        assert!(gradient[12..].iter().all(|&slope| slope == 0.0), "{name}: {gradient:?}");
        assert_eq!(loss(Impossible::Zero).unwrap().0, [losses[0], 0.0], "{name}");
        let error = loss(Impossible::Error).unwrap_err();
        assert!(matches!(error, Error::TooShort { sequence: 1, frames: 3, .. }), "{name}: {error}");
    }
}

#[test]
fn a_delay_penalty_wants_to_know_which_arcs_output_a_label() {
    let (values, graphs) = (dense_values(), graphs(&[vec![1, 1], vec![2]]));
    let dense = dense(&values);
    let options = CtcGraphOptions::default().with_delay_penalty(0.3).with_output_beam(f32::INFINITY);
    let loss = |graphs: &Graph<FsaVec>| ctc_loss_graph(graphs, &dense, &[2, 1], &options).map(|(loss, _)| loss[0]);
    let by_outputs = loss(&graphs).unwrap();
    let bare = Graph::new(graphs.fsas().clone());
    let error = loss(&bare).unwrap_err();
    assert!(matches!(error, Error::Option { option: "delay_penalty", found: 0.3, .. }), "{error}");
    assert!(ctc_loss_graph(&bare, &dense, &[2, 1], &CtcGraphOptions::default()).is_ok());
    // k2's attribute of phone models says it instead: what outputs no label and is no blank
    // repeats one.
    let outputs = graphs.aux_labels().unwrap();
    let labels = graphs.fsas().iter().flat_map(|fsa| fsa.arcs().iter().map(|arc| arc.label).collect::<Vec<_>>());
    let repeats: Vec<i32> = labels.zip(outputs).map(|(label, &output)| i32::from(label > 0 && output == 0)).collect();
    let marked = bare.with("_is_repeat_token_", repeats).unwrap();
    assert_eq!(loss(&marked).unwrap(), by_outputs);
}

/// All sequences of classes 0 and 1.
fn all_of_two() -> Fsa {
    Fsa::from_arcs(2, vec![Arc::new(0, 0, 0, -0.7), Arc::new(0, 0, 1, -0.7), Arc::new(0, 1, -1, 0.0)]).unwrap()
}

#[test]
fn chain_loss_refuses_what_is_no_number_and_what_does_not_fit() {
    let denominator = ChainDenominator::new(&all_of_two(), 2).unwrap();
    let numerators = |of: Fsa| FsaVec::from_fsas(&[all_of_two(), of]).unwrap();
    let scored = |score: f32| {
        Fsa::from_arcs(2, vec![Arc::new(0, 0, 0, 0.0), Arc::new(0, 0, 1, score), Arc::new(0, 1, -1, 0.0)]).unwrap()
    };
    let options = ChainOptions::default().with_reduction(Reduction::None).with_impossible(Impossible::Zero);
    let x = rows(&[3, 0], 2, 6);
    let loss = |x: &LodTensor<f64>, numerators: &FsaVec, options: &ChainOptions| {
        chain_loss(x, numerators, &denominator, options).map(|(loss, _)| loss)
    };
    // The sequence without frames has a loss of 0 but for where the HMM leaks at its end.
    let found = loss(&x, &numerators(all_of_two()), &options).unwrap();
    assert!(found[1].abs() < 1e-4, "{found:?}");
    let mut damaged = x.clone();
    damaged.values_mut()[5] = f64::NAN;
    let error = loss(&damaged, &numerators(all_of_two()), &options).unwrap_err();
    assert!(matches!(error, Error::Logit { sequence: 0, row: 2, class: 1, .. }), "{error}");
    let error = ChainDenominator::new(&scored(1000.0), 2).unwrap_err();
    assert_eq!(error, Error::ArcScore { arc: 1, score: 1000.0 });
    assert!(matches!(ChainDenominator::new(&all_of_two(), 1), Err(Error::Label { label: 1, classes: 1, .. })));
    assert!(matches!(ChainDenominator::new(&all_of_two(), 0), Err(Error::Option { option: "num_classes", .. })));
    let one = FsaVec::from(all_of_two());
    assert!(matches!(loss(&x, &one, &options), Err(Error::Count { expected: 2, found: 1, .. })));
    assert!(matches!(
        loss(&rows(&[3, 1], 3, 6), &numerators(all_of_two()), &options),
        Err(Error::Count { expected: 3, found: 2, .. })
    ));
    for leaky in [-0.1, 1.0, f64::NAN] {
        let options = options.clone().with_leaky_hmm_coefficient(leaky);
        assert!(matches!(
            loss(&x, &numerators(all_of_two()), &options),
            Err(Error::Option { option: "leaky_hmm_coefficient", .. })
        ));
    }
    // Sums that overflow are no loss, and no loss of 0 either.
    let steep = ChainDenominator::new(&scored(700.0), 2).unwrap();
    let high = LodTensor::from_lengths(&[3], 2, vec![30.0; 6]).unwrap();
    let error = chain_loss(&high, &one, &steep, &options).unwrap_err();
    assert!(matches!(error, Error::Loss { sequence: 0, .. }), "{error}");
}

#[test]
fn risks_refuse_what_is_no_number_and_what_does_not_fit() {
    let values = dense_values();
    let dense = dense(&values);
    let lattices = intersect_dense(&ctc_topo(2, false).unwrap(), &dense, f32::INFINITY).unwrap();
    let risk = |references: &[Vec<i32>]| {
        smbr_loss(&lattices, &Ragged::from_lists(references).unwrap(), Reduction::None).map(|(loss, _)| loss)
    };
    assert_eq!(risk(&[vec![0; 4], vec![0; 3]]).unwrap().len(), 2);
    let short = Error::Rows { sequence: 1, what: "the reference", expected: 3, found: 2 };
    assert_eq!(risk(&[vec![0; 4], vec![0; 2]]).unwrap_err(), short);
    assert!(matches!(risk(&[vec![0; 4]]), Err(Error::Count { expected: 2, found: 1, .. })));
    let nan = kaldera_losses::mbr_loss(&lattices, |utterance, _, _| [0.0, f64::NAN][utterance], Reduction::None);
    assert!(matches!(nan.map(|_| ()), Err(Error::Loss { sequence: 1, .. })));
    let values = vec![f64::INFINITY; lattices.graph().fsas().num_arcs()];
    let infinite = kaldera_losses::expected_values(lattices.graph().fsas(), &values).map(|_| ());
    assert!(matches!(infinite, Err(Error::Loss { sequence: 0, .. })));
}

#[test]
fn word_errors_refuse_what_is_no_number_and_what_does_not_fit() {
    let arcs = vec![Arc::new(0, 1, 7, 0.3), Arc::new(0, 1, 8, 0.1), Arc::new(1, 2, -1, 0.0)];
    let lattice = Graph::new(FsaVec::from(Fsa::from_arcs(3, arcs).unwrap()));
    let loss = |references: &[Vec<i32>], temperature: f64| {
        let options = MwerOptions::default().with_temperature(temperature);
        mwer_loss_lattice(&lattice, &Ragged::from_lists(references).unwrap(), 4, None, &options).map(|x| x.0)
    };
    assert!(loss(&[vec![7]], 1.0).is_ok());
    assert!(matches!(loss(&[], 1.0), Err(Error::Count { expected: 1, found: 0, .. })));
    for temperature in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(loss(&[vec![7]], temperature), Err(Error::Option { option: "temperature", .. })));
    }
    // So cold that scores are infinite.
    assert!(matches!(loss(&[vec![7]], 5e-324), Err(Error::Loss { sequence: 0, .. })));
}

#[test]
fn label_smoothing_refuses_what_is_no_number_and_what_does_not_fit() {
    let loss = |x: &LodTensor<f64>, labels: &[i32], smoothing: f64| {
        label_smoothing_loss(x, labels, smoothing, Reduction::None).map(|(loss, _)| loss)
    };
    let mut x = rows(&[2, 1], 3, 8);
    assert_eq!(loss(&x, &[1, -1, 2], 0.1).unwrap()[1], 0.0);
    assert_eq!(loss(&rows(&[], 3, 8), &[], 0.1).unwrap(), [0.0; 0]);
    assert!(matches!(loss(&x, &[1, 2], 0.1), Err(Error::Count { expected: 3, found: 2, .. })));
    assert!(matches!(loss(&x, &[1, 3, 2], 0.1), Err(Error::Label { position: 1, label: 3, classes: 3, .. })));
    for smoothing in [-0.1, 1.1, f64::NAN] {
        assert!(matches!(loss(&x, &[1, 1, 2], smoothing), Err(Error::Option { option: "smoothing", .. })));
    }
    x.values_mut()[7] = f64::NAN;
    assert!(matches!(loss(&x, &[1, 1, 2], 0.1), Err(Error::Logit { row: 2, class: 1, .. })));
    // A row that does not count is not read.
    assert!(loss(&x, &[1, 1, -1], 0.1).is_ok());
}

#[test]
fn searches_of_no_utterances_have_no_losses() {
    let (values, graphs) = (Vec::<f32>::new(), graphs(&[]));
    let dense = DenseFsaVec::from_padded(&values, [0, 4, 3], &[]).unwrap();
    let options = CtcGraphOptions::default().with_reduction(Reduction::None);
    assert_eq!(ctc_loss_graph(&graphs, &dense, &[], &options).unwrap().0, [0.0; 0]);
    let options = MmiOptions::default().with_reduction(Reduction::None).with_den(DenseOptions::default());
    assert_eq!(mmi_loss(&graphs, &ctc_topo(2, false).unwrap(), &dense, &options).unwrap().0, [0.0; 0]);
}
