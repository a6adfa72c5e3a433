//! Every loss as the last stage of a network of the crate `recurrent`: a bidirectional GRU and a
//! linear layer, trained by each of them for some steps on the same few strings.
//!
//! A loss over frames is a function from logits to a value and its gradient by the logits; that is
//! all the network has to know of it.
//!
//! ```sh
//! cargo run --release -p kaldera-losses --example training
//! ```

use fsa::dense::{DenseFsaVec, DenseOptions, intersect_dense};
use fsa::graphs::{ctc_graph, ctc_topo};
use kaldera_losses::rnnt::{
    do_rnnt_pruning, get_rnnt_prune_ranges, rnnt_loss_pruned, rnnt_loss_simple, rnnt_loss_smoothed,
};
use kaldera_losses::{
    ChainDenominator, ChainOptions, CtcGraphOptions, CtcOptions, LodTensor, MmiOptions, MwerOptions, Projection,
    Ragged, Reduction, RnntOptions, chain_loss, ctc_loss, ctc_loss_graph, ctc_loss_projected, label_smoothing_loss,
    mmi_loss, mwer_loss_lattice, smbr_loss,
};
use recurrent::train::{Adam, AdamOptions, Linear, clip_grad_norm, log_softmax, log_softmax_backward, uniform};
use recurrent::{Gru, Parameters, Stack, parameters};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The blank, and four labels.
const CLASSES: usize = 5;
const FEATURES: usize = 8;
const HIDDEN: usize = 12;
const STEPS: usize = 40;

/// The encoder's layers may be cells or, in a gradient, their weights.
struct Model<E> {
    encoder: Stack<E>,
    output: Linear<f32>,
    /// A transducer's scores of what follows each symbol.
    decoder: Linear<f32>,
}

parameters! {
    impl<E: Parameters<f32>> Parameters<f32> for Model<E> { encoder, output, decoder }
}

/// Strings, and frames of features that depend on the class of the frame.
struct Batch {
    frames: LodTensor<f32>,
    labels: Ragged<i32>,
    /// The class of each frame.
    classes: Vec<i32>,
}

/// Trains by each loss, and returns an error unless all become smaller.
pub(crate) fn main() -> Result<()> {
    let batch = Batch::new()?;
    let topology = ctc_topo(CLASSES - 1, false)?;
    let graphs = ctc_graph(&batch.labels, false)?;
    let lengths = batch.labels.lengths();
    let alignments = Ragged::from_lists(&by_sequence(&batch.classes, &batch.frames.lengths()))?;

    by_logits("ctc_loss", &batch, |logits| {
        let (loss, saved) = ctc_loss(logits, &batch.labels, &CtcOptions::default())?;
        Ok((loss[0], saved.backward(&[1.0])?))
    })?;
    by_log_probs("ctc_loss_graph", &batch, |dense| {
        let (loss, saved) = ctc_loss_graph(&graphs, dense, &lengths, &CtcGraphOptions::default())?;
        Ok((loss[0], saved.backward(&[1.0])?))
    })?;
    by_log_probs("mmi_loss", &batch, |dense| {
        let den = DenseOptions::default().with_search_beam(30.0).with_output_beam(30.0);
        let options = MmiOptions::default().with_den(den).with_den_scale(0.5);
        let (loss, saved) = mmi_loss(&graphs, &topology, dense, &options)?;
        Ok((loss[0], saved.backward(&[1.0])?))
    })?;
    let denominator = ChainDenominator::new(topology.fsas(), CLASSES)?;
    by_logits("chain_loss", &batch, |logits| {
        let options = ChainOptions::default().with_l2_regularize(1e-3);
        let (loss, saved) = chain_loss(logits, graphs.fsas(), &denominator, &options)?;
        Ok((loss[0], saved.backward(&[1.0])?))
    })?;
    by_log_probs("smbr_loss", &batch, |dense| {
        let lattices = intersect_dense(&topology, dense, 20.0)?;
        let (loss, saved) = smbr_loss(&lattices, &alignments, Reduction::Sum)?;
        Ok((loss[0], lattices.score_gradient(&saved.backward(&[1.0])?, dense)?))
    })?;
    by_log_probs("mwer_loss", &batch, |dense| {
        let lattices = intersect_dense(&topology, dense, 20.0)?;
        let (loss, saved) = mwer_loss_lattice(lattices.graph(), &batch.labels, 20, Some(0.5), &MwerOptions::default())?;
        Ok((loss[0], lattices.score_gradient(&saved.backward(&[1.0])?, dense)?))
    })?;
    by_logits("label_smoothing_loss", &batch, |logits| {
        let (loss, saved) = label_smoothing_loss(logits, &batch.classes, 0.1, Reduction::Mean)?;
        Ok((loss[0], saved.backward(&[1.0])?))
    })?;
    projected(&batch)?;
    transducers(&batch)
}

/// Trains by a loss of logits.
fn by_logits(name: &str, batch: &Batch, loss: impl Fn(&LodTensor<f32>) -> Result<(f64, LodTensor<f32>)>) -> Result<()> {
    train(name, |model| {
        let (out, of_encoder) = model.encoder.forward(&batch.frames, &[], None)?;
        let logits = model.output.forward(&out.y)?;
        let (value, by_logits) = loss(&logits)?;
        let (by_states, output) = model.output.backward(&out.y, &by_logits)?;
        let encoder = of_encoder.backward(Some(&by_states), &[])?.weights;
        Ok((value, Model { encoder, output, decoder: Linear::zeros(CLASSES, CLASSES) }))
    })
}

/// Trains by a loss of log-probabilities over graphs, whose gradient is in double precision.
fn by_log_probs(name: &str, batch: &Batch, loss: impl Fn(&DenseFsaVec<'_>) -> Result<(f64, Vec<f64>)>) -> Result<()> {
    by_logits(name, batch, |logits| {
        let y = log_softmax(logits)?;
        let dense = DenseFsaVec::from_row_splits(y.values(), y.width(), y.lod().last().ok_or("no sequences")?)?;
        let (value, by_y) = loss(&dense)?;
        let by_y: Vec<f32> = by_y.into_iter().map(|slope| slope as f32).collect();
        Ok((value, log_softmax_backward(&y, &y.like(y.num_rows(), by_y, y.lod().clone())?)?))
    })
}

/// CTC that has the linear layer within, for large vocabularies.
fn projected(batch: &Batch) -> Result<()> {
    train("ctc_loss_projected", |model| {
        let (out, of_encoder) = model.encoder.forward(&batch.frames, &[], None)?;
        let mut output = Linear::zeros(2 * HIDDEN, CLASSES);
        let [weight, bias] = &model.output.named()[..] else { return Err("a linear layer without bias".into()) };
        let projection = Projection { weight: weight.values, bias: bias.values };
        let (loss, saved) = ctc_loss_projected(&out.y, projection, &batch.labels, &CtcOptions::default())?;
        let (by_states, by_projection) = saved.backward(&[1.0])?;
        output.named_mut()[0].values.copy_from_slice(&by_projection.weight);
        output.named_mut()[1].values.copy_from_slice(&by_projection.bias);
        let encoder = of_encoder.backward(Some(&by_states), &[])?.weights;
        Ok((loss[0], Model { encoder, output, decoder: Linear::zeros(CLASSES, CLASSES) }))
    })
}

/// Sums of an encoder's and a decoder's logits: alone, and to find what a joiner is to compute, as
/// in icefall.
fn transducers(batch: &Batch) -> Result<()> {
    let before = batch.symbols_before()?;
    let options = RnntOptions::default();
    let run = |name: &str, loss: &TransducerLoss<'_>| {
        train(name, |model| {
            let (out, of_encoder) = model.encoder.forward(&batch.frames, &[], None)?;
            let (am, lm) = (model.output.forward(&out.y)?, model.decoder.forward(&before)?);
            let (value, by_am, by_lm) = loss(&am, &lm)?;
            let (by_states, output) = model.output.backward(&out.y, &by_am)?;
            let (_, decoder) = model.decoder.backward(&before, &by_lm)?;
            Ok((value, Model { encoder: of_encoder.backward(Some(&by_states), &[])?.weights, output, decoder }))
        })
    };
    run("rnnt_loss_simple", &|am, lm| {
        let (loss, saved) = rnnt_loss_simple(am, lm, &batch.labels, &options)?;
        let (by_am, by_lm) = saved.backward(&[1.0])?;
        Ok((loss[0], by_am, by_lm))
    })?;
    run("rnnt_loss_smoothed", &|am, lm| {
        let (loss, saved) = rnnt_loss_smoothed(am, lm, &batch.labels, 0.25, 0.1, &options)?;
        let (by_am, by_lm) = saved.backward(&[1.0])?;
        Ok((loss[0], by_am, by_lm))
    })?;
    run("rnnt_loss_pruned", &|am, lm| {
        let (_, simple) = rnnt_loss_simple(am, lm, &batch.labels, &options)?;
        let ranges = get_rnnt_prune_ranges(simple.occupations(), 3)?;
        let (of_am, of_lm, pruning) = do_rnnt_pruning(am, lm, &ranges)?;
        // A joiner that adds; one that learns has its backward pass between these two.
        let joined = of_am.zip_map(&of_lm, |am, lm| am + lm)?;
        let (loss, saved) = rnnt_loss_pruned(&joined, &batch.labels, &ranges, &options)?;
        let by_joined = saved.backward(&[1.0])?;
        let (by_am, by_lm) = pruning.backward(&by_joined, &by_joined)?;
        Ok((loss[0], by_am, by_lm))
    })
}

/// A loss, and its gradients by the encoder's and by the decoder's logits.
type Transduced = (f64, LodTensor<f32>, LodTensor<f32>);

/// A loss of an encoder's and a decoder's logits.
type TransducerLoss<'a> = dyn Fn(&LodTensor<f32>, &LodTensor<f32>) -> Result<Transduced> + 'a;

/// The gradient of a model.
type Gradient = Model<recurrent::GruWeights<f32>>;

/// Trains a model by what gives a loss and its gradient.
fn train(name: &str, step: impl Fn(&Model<Gru<f32>>) -> Result<(f64, Gradient)>) -> Result<()> {
    let mut model = Model {
        encoder: Stack::new(1, true, FEATURES, |inputs| Gru::zeros(inputs, HIDDEN)),
        output: Linear::zeros(2 * HIDDEN, CLASSES),
        decoder: Linear::zeros(CLASSES, CLASSES),
    };
    uniform(&mut model, 1.0 / (HIDDEN as f64).sqrt(), 1);
    let mut adam = Adam::new(AdamOptions::default().with_learning_rate(0.02))?;
    let (first, _) = step(&model)?;
    for _ in 0..STEPS {
        let (_, mut gradient) = step(&model)?;
        clip_grad_norm(&mut gradient, 5.0)?;
        adam.step(&mut model, &gradient)?;
    }
    let (last, _) = step(&model)?;
    println!("{name:22} {first:8.3} -> {last:8.3}");
    if last < first { Ok(()) } else { Err(format!("{name} does not become smaller").into()) }
}

impl Batch {
    /// Four strings, without equal neighbours; each label lasts three frames, as does the silence
    /// after it.
    fn new() -> Result<Self> {
        let strings = [vec![1, 2, 3], vec![4, 1], vec![2, 4, 2, 1], vec![3]];
        let (mut lengths, mut classes, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for string in &strings {
            let of_string: Vec<i32> = string.iter().flat_map(|&label| [label, label, label, 0, 0, 0]).collect();
            lengths.push(of_string.len());
            classes.extend(of_string);
        }
        for (t, &class) in classes.iter().enumerate() {
            values.extend(
                (0..FEATURES).map(|i| ((class * 3) as f32 + i as f32).sin() + 0.2 * ((t * 7 + i) as f32).cos()),
            );
        }
        let frames = LodTensor::from_lengths(&lengths, FEATURES, values)?;
        Ok(Self { frames, labels: Ragged::from_lists(&strings)?, classes })
    }

    /// For each number of symbols the last one before it, as rows with a single 1.
    fn symbols_before(&self) -> Result<LodTensor<f32>> {
        let lengths: Vec<usize> = self.labels.rows().map(|labels| labels.len() + 1).collect();
        let before = self.labels.rows().flat_map(|labels| [0].into_iter().chain(labels.iter().copied()));
        let row = |symbol: i32| (0..CLASSES).map(move |i| f32::from(u8::from(usize::try_from(symbol) == Ok(i))));
        Ok(LodTensor::from_lengths(&lengths, CLASSES, before.flat_map(row).collect::<Vec<_>>())?)
    }
}

/// The elements of each sequence.
fn by_sequence(values: &[i32], lengths: &[usize]) -> Vec<Vec<i32>> {
    let mut rest = values;
    let take = |&length: &usize| {
        let (of_sequence, behind) = rest.split_at(length);
        rest = behind;
        of_sequence.to_vec()
    };
    lengths.iter().map(take).collect()
}
