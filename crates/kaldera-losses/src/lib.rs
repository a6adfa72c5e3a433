//! Losses of speech recognition and their gradients: CTC, the RNN-T family, LF-MMI, minimum Bayes
//! risk and minimum word error rate.
//!
//! Each is a function `loss(inputs, labels, &options) -> (losses, saved)`, and
//! `saved.backward(grad)` computes the derivatives by the inputs from the derivatives by the
//! losses. Inputs are [`LodTensor`]s, whose sequences follow each other without padding, or
//! [`Padded`] batches in PyTorch's layout. Gradients have the type and the layout of the inputs.
//! Log-softmax is part of the loss: the gradients are by logits.
//!
//! ```text
//!   a network's output      loss                                      over
//!   ------------------      --------------------------------------    ------------------
//!   [frame][class]          ctc_loss, ctc_loss_projected              alignments
//!                           ctc_loss_graph, mmi_loss                  graphs: fsa::dense
//!                           chain_loss                                an HMM that leaks
//!   [frame][symbol][class]  rnnt_loss, rnnt_loss_pruned, tdt_loss     one kind of trellis
//!   encoder, decoder        rnnt_loss_simple, rnnt_loss_smoothed      the same
//!   lattices                mbr_loss, smbr_loss, mwer_loss            paths, by their errors
//! ```
//!
//! ```
//! use kaldera_losses::{CtcOptions, LodTensor, Ragged, ctc_loss};
//!
//! let logits = LodTensor::from_lengths(&[3, 1], 2, vec![0.0_f32; 8])?; // three frames, and one
//! let labels = Ragged::from_lists(&[vec![1], vec![1]])?;
//! let (loss, saved) = ctc_loss(&logits, &labels, &CtcOptions::default())?;
//! // Six of eight ways to give three frames a blank or the label; one of two for one frame.
//! assert!((loss[0] + ((6.0_f64 / 8.0).ln() + 0.5_f64.ln()) / 2.0).abs() < 1e-6);
//! let gradient = saved.backward(&[1.0])?;
//! assert_eq!(gradient.lengths(), [3, 1]);
//! # Ok::<(), kaldera_losses::Error>(())
//! ```
//!
//! # Training
//! A gradient is the input of a network's backward pass. The example takes one by logits
//! `[frame][class]` and one by their log-probabilities, with the crate `recurrent`:
//!
//! ```
//! use fsa::dense::DenseFsaVec;
//! use fsa::graphs::ctc_graph;
//! use kaldera_losses::{CtcGraphOptions, CtcOptions, LodTensor, Ragged, ctc_loss, ctc_loss_graph};
//! use recurrent::train::{Adam, AdamOptions, Linear, log_softmax, log_softmax_backward, uniform};
//!
//! let mut layer = Linear::zeros(2, 3);
//! uniform(&mut layer, 0.5, 1);
//! let mut adam = Adam::new(AdamOptions::default())?;
//! let frames =
//!     LodTensor::from_lengths(&[3, 2], 2, (0..10).map(|i| (i as f32).cos()).collect::<Vec<_>>())?;
//! let labels = Ragged::from_lists(&[vec![1, 2], vec![2]])?;
//!
//! let logits = layer.forward(&frames)?;
//! let (_, saved) = ctc_loss(&logits, &labels, &CtcOptions::default())?;
//! let (_, gradient) = layer.backward(&frames, &saved.backward(&[1.0])?)?;
//! adam.step(&mut layer, &gradient)?;
//!
//! // Over graphs: log-probabilities in, a gradient in double precision out.
//! let y = log_softmax(&layer.forward(&frames)?)?;
//! let dense =
//!     DenseFsaVec::from_row_splits(y.values(), y.width(), y.lod().last().ok_or("no sequences")?)?;
//! let (_, saved) =
//!     ctc_loss_graph(&ctc_graph(&labels, false)?, &dense, &[2, 1], &CtcGraphOptions::default())?;
//! let by_y: Vec<f32> = saved.backward(&[1.0])?.into_iter().map(|slope| slope as f32).collect();
//! let by_logits = log_softmax_backward(&y, &y.like(y.num_rows(), by_y, y.lod().clone())?)?;
//! let (_, gradient) = layer.backward(&frames, &by_logits)?;
//! adam.step(&mut layer, &gradient)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/training.rs` trains a network with each loss. `backward_into` of [`CtcSaved`] and
//! [`RnntSaved`] writes to a buffer of the caller, which a training loop can reuse.
//!
//! # Coming from k2, PyTorch or Kaldi
//! The search of this page finds all of their names.
//!
//! | k2 | here |
//! |---|---|
//! | `ctc_loss`, `output_beam`, `delay_penalty` | [`ctc_loss_graph`], [`CtcGraphOptions`] |
//! | `rnnt_loss`, `rnnt_loss_simple` | [`rnnt_loss`], [`rnnt`] |
//! | `rnnt_loss_smoothed`, `rnnt_loss_pruned` | [`rnnt`] |
//! | `termination_symbol`, `boundary` | [`RnntOptions::blank`], the lengths of the batch |
//! | `return_grad` | `occupations()` of the saved value |
//! | `get_rnnt_prune_ranges`, `do_rnnt_pruning`, `mutual_information_recursion` | [`rnnt`] |
//! | `MWERLoss` | [`mwer_loss`], [`mwer_loss_lattice`] |
//! | `swoosh_l`, `swoosh_r` | [`swoosh_l`], [`swoosh_r`] |
//!
//! | PyTorch, torchaudio, NeMo | here |
//! |---|---|
//! | `ctc_loss` of `log_softmax` | [`ctc_loss`] |
//! | `zero_infinity` | [`Impossible::Zero`] |
//! | `rnnt_loss`, `clamp` | [`rnnt_loss`], [`RnntOptions::clamp`] |
//! | `CrossEntropyLoss(label_smoothing)` | [`label_smoothing_loss`] |
//! | NeMo's `tdt` | [`rnnt::tdt_loss`] |
//!
//! | Kaldi | here |
//! |---|---|
//! | `ComputeChainObjfAndDeriv`, `DenominatorGraph` | [`chain_loss`], [`ChainDenominator`] |
//! | `LatticeForwardBackwardMpeVariants` | [`smbr_loss`], [`mbr_loss`], [`expected_values`] |
//!
//! # Guarantees
//! - A padded batch, the same batch without padding, and its sequences one at a time have the same
//!   losses and gradients, to the last bit (except
//!   [`rnnt_loss_smoothed`](rnnt::rnnt_loss_smoothed), which takes a mean over the batch).
//! - Results do not depend on the number of threads.
//! - Sums are in double precision, for any type of the logits.
//! - No buffer is larger than the logits, except trellises: the RNN-T family needs a few numbers
//!   for each frame and symbol, [`chain_loss`] one for each frame and state.
//! - A loss that is NaN is an error with its sequence, for any [`Impossible`], unless `allow_nan`
//!   is set.
//! - No input makes this crate panic, except a sequence or cell out of range in the queries that
//!   document it.
//!
//! # Features
//! `rayon` (on): sequences on several threads, with the same result. `serde`: options.
//!
//! # Limits
//! There is no GPU support. [`label_smoothing_loss`] is the only loss of single frames; the crate
//! `recurrent` has cross-entropy over classes.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod batch;
mod chain;
mod ctc;
mod ctc_graph;
mod error;
mod graph_totals;
mod mbr;
mod mmi;
mod mwer;
mod reduction;
pub mod rnnt;
mod rows;
mod smoothing;
mod swoosh;

pub use batch::{Batch, Padded};
pub use chain::{ChainDenominator, ChainOptions, ChainSaved, chain_loss};
pub use ctc::{CtcOptions, CtcSaved, ProjectedCtcSaved, Projection, ProjectionGradient, ctc_loss, ctc_loss_projected};
pub use ctc_graph::{CtcGraphOptions, CtcGraphSaved, ctc_loss_graph};
pub use error::Error;
pub use kaldera_base::{Buffer, Real};
pub use lod::{Lod, LodTensor};
pub use mbr::{ExpectedValuesSaved, MbrSaved, expected_values, mbr_loss, smbr_loss};
pub use mmi::{MmiOptions, MmiSaved, mmi_loss};
pub use mwer::{MwerLatticeSaved, MwerOptions, MwerSaved, mwer_loss, mwer_loss_lattice};
pub use ragged_core::Ragged;
pub use reduction::{Impossible, Reduction};
pub use rnnt::{RnntOptions, RnntSaved, rnnt_loss};
pub use smoothing::{LabelSmoothingSaved, label_smoothing_loss};
pub use swoosh::{swoosh_l, swoosh_l_backward, swoosh_r, swoosh_r_backward};
