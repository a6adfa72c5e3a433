//! Mini-batches of sequences of any depth without padding: Paddle's LoD tensors, their operators,
//! and the operations on them that recurrent networks need.
//!
//! Utterances differ in length. Padded to the longest, a batch of speech is more than twice as
//! large as its data, and all the padding is copied, multiplied and masked. Here the rows of all
//! sequences are contiguous in one tensor, and a *LoD* ("level of detail") holds the begin and
//! end of each sequence: offsets, in as many levels as there are sequences of sequences.
//!
//! ```text
//!   LodTensor                       one utterance after the other, of 4, 2 and 3 frames
//!    |- Tensor [9, dim]             a0 a1 a2 a3 b0 b1 c0 c1 c2
//!    '- Lod                         level 0: 0 4 6 9
//!        |                          is a RaggedShape; a clone counts one reference
//!        '- RankTable               a c b
//!            |                      kept in the level: sorted once per mini-batch
//!            '- Segments            a0 c0 b0 | a1 c1 b1 | a2 c2 | a3
//!                                   the steps of a recurrent network
//! ```
//!
//! ```
//! use lod::{LodTensor, concat_outputs, segment_inputs, sequence, sort_by_seq_len};
//!
//! let x = LodTensor::from(vec![vec![1.0, 2.0, 3.0, 4.0], vec![10.0, 20.0], vec![]]);
//!
//! // Operators over sequences, of which some are empty.
//! let (means, _) = sequence::pool(&x, sequence::Pool::Average, 0.0)?;
//! assert_eq!(means.values(), [2.5, 15.0, 0.0]);
//!
//! // Through time: at each step the sequences that are left are the first ones.
//! let steps = segment_inputs(&x, &sort_by_seq_len(&x)?)?;
//! assert_eq!(steps.steps().map(|step| step.len()).collect::<Vec<_>>(), [2, 2, 1, 1]);
//! assert_eq!(concat_outputs(&steps)?, x);
//! # Ok::<(), lod::Error>(())
//! ```
//!
//! # Overview
//! | for | see |
//! |---|---|
//! | levels: offsets, lengths, parts, joins, checks | [`Lod`], [`check_lod`], [`check_abs_lod`] |
//! | tensors with levels: parts, merging, bytes | [`LodTensor`], [`LodSlice`], [`AnyLodTensor`] |
//! | operators over sequences, forward and backward | [`sequence`] |
//! | sort, segment, concat | [`RankTable`], [`Segments`] |
//! | memories | [`init_states`], [`shrink_state`] |
//! | element by element | [`LodTensor::map`], [`LodTensor::zip_map`] |
//! | operators on rows | [`LodTensor::apply`] |
//! | padded batches, and mini-batches of equal work | [`pad_sequence`], [`Batching`] |
//!
//! # Coming from Paddle
//! All names of Paddle lead here in the search of this page.
//!
//! | Paddle | here |
//! |---|---|
//! | `LoDTensor`, `LoD`, `lod()` | [`LodTensor`], [`Lod`], [`LodTensor::lod`] |
//! | `set_lod` | [`Lod::from_offsets`], [`LodTensor::with_lod`] |
//! | `set_recursive_sequence_lengths` | [`Lod::from_lengths`], [`LodTensor::with_lod`] |
//! | `recursive_sequence_lengths()` | [`LodTensor::lengths`], [`Lod::lengths`] |
//! | `create_lod_tensor` | [`LodTensor::from_lengths`], [`LodTensor::from_sequences`] |
//! | `NumLevels`, `NumElements` | [`Lod::num_levels`], [`Lod::num_sequences`] |
//! | `lod_element`, `ToAbsOffset` | [`Lod::element`], [`Lod::to_abs_offsets`] |
//! | `SliceInLevel`, `AppendLoD` | [`Lod::slice_in_level`], [`Lod::append`] |
//! | `GetSubLoDAndAbsoluteOffset` | [`Lod::sub_lod`] |
//! | `SplitLoDTensor`, `MergeLoDTensor` | [`LodTensor::split`], [`LodTensor::merge`] |
//! | `SerializeToStream` | [`LodTensor::write_to`] |
//! | `DeserializeFromStream` | [`LodTensor::read_from`] |
//! | `lod_rank_table`, `max_sequence_len` | [`Lod::rank_table`], [`RankTable::max_sequence_len`] |
//! | `lod_tensor_to_array`, `array_to_lod_tensor` | [`segment_inputs`], [`concat_outputs`] |
//! | `reorder_lod_tensor_by_rank`, `static_input` | [`init_states`] |
//! | `shrink_rnn_memory` | [`shrink_state`] |
//! | `lod_reset`, `sequence_*` | [`sequence`], with a table of its own |
//!
//! A LoD is offsets, as in Paddle's C++. Lengths, as Paddle's Python takes them, have a separate
//! constructor. Offsets have 32 bits. There may be no sequences at all, and sequences may be
//! empty everywhere, also if Paddle refuses them or returns NaN.
//!
//! # Coming from PyTorch
//! | `torch.nn.utils.rnn` | here |
//! |---|---|
//! | `pack_sequence`, `pack_padded_sequence` | [`segment_inputs`] |
//! | `pad_packed_sequence`, `unpack_sequence` | [`concat_outputs`]; padded: then [`pad_sequence`] |
//! | `pad_sequence`, `unpad_sequence` | [`pad_sequence`], [`unpad_sequence`] |
//! | `PackedSequence` | [`Segments`]; its parts: [`PackedSequence`] |
//! | `sorted_indices`, `unsorted_indices` | [`RankTable::order`], [`RankTable::ranks`] |
//! | the output at the last step of each sequence | [`Segments::last_steps`] |
//! | a function of a `PackedSequence`'s data | [`Segments::apply`] |
//!
//! The order is stable, so that it is the same everywhere, and lengths may be 0. Nested tensors
//! can be added only if their offsets are the same object; [`LodTensor::zip_map`] requires equal
//! offsets, and skips the comparison if they are the same object.
//!
//! # Coming from TensorFlow
//! | `tf.RaggedTensor` | here |
//! |---|---|
//! | `from_row_splits`, `from_row_lengths` | [`Lod::from_offsets`], [`Lod::from_lengths`] |
//! | `from_value_rowids` | [`ragged_core::RowSplits::from_row_ids`] with [`Lod::new`] |
//! | `ragged_rank`, `row_splits` | [`Lod::num_levels`], [`Lod::offsets`] |
//! | `flat_values` | [`LodTensor::values`] |
//! | `tf.ragged.map_flat_values` | [`LodTensor::apply`] |
//! | `to_tensor`, `from_tensor` | [`pad_sequence`], [`unpad_sequence`] |
//! | `tf.gather`, `tf.concat` | [`LodTensor::select`], [`LodTensor::merge`] |
//! | `bucket_by_sequence_length` | [`Batching`] |
//!
//! All other operations on ragged tensors are in [`ragged_core`]: a [`Lod`] is a [`RaggedShape`],
//! and [`LodTensor::to_ragged`] and back copy nothing.
//!
//! # Terms of the design document
//! | "RNN with variable-length input" | here |
//! |---|---|
//! | `lod_start_pos_`, a shared pointer to levels | [`Lod`] |
//! | `LODTensor` | [`LodTensor`] |
//! | `Levels`, `Elements` | [`Lod::num_levels`], [`Lod::num_sequences`] |
//! | `LODSlice`, `LODSliceShared` | [`LodTensor::lod_slice`], [`LodTensor::lod_slice_shared`] |
//! | `ShareConstLODFrom` | [`LodTensor::with_lod`] of a clone, or of [`Lod::with_level`] |
//! | `ShareMutableLODFrom`, `ValidLODInput` | the same |
//! | `do_mutate_lod_info`, consumer, producer | [`LodTensor::apply`], [`LodTensor::new`] |
//! | `SortBySeqLen` | [`sort_by_seq_len`] |
//! | `sorted_seqs`, `SortedSeqItem` | [`RankTable`], [`RankTable::sorted_sequences`] |
//! | `SegmentInputs`, `InitMemories` | [`segment_inputs`], [`init_states`] |
//! | `ConcatOutputs` | [`concat_outputs`] |
//! | `sorted_seqs` from `RecurrentOp` to `RecurrentGradientOp` | kept in the level that both have |
//!
//! Where the document is wrong, this crate follows its intention:
//! - `Elements` returns the number of offsets, which is one more than there are elements.
//! - `ShareMutableLODFrom` copies at once, and takes `begin()` of a pointer; here the copy is made
//!   by the first write, of the level that is written.
//! - Propagating the LoD once (`is_lod_inited`) is right only if all batches have the same lengths;
//!   here it is handed on every run.
//! - That later operators see a producer's changes through the pointer that they share contradicts
//!   the producer's private copy: here they share the LoD of the producer's *output*.
//! - `seq_start_positions_`, `is_load_inited`, `is_pod_inited`, `SetmentInputs` are slips for
//!   `lod_start_pos_`, `is_lod_inited` and `SegmentInputs`.
//!
//! # Invariants
//! - A [`Lod`]'s levels fit each other. A [`LodTensor`]'s last level divides exactly its rows,
//!   which are in C order.
//! - Shared levels and values are copy-on-write: a write never changes another owner's data.
//! - Results do not depend on the number of threads.
//!
//! The only inputs that make this crate panic are a level, a row, a sequence or a step out of
//! range in methods that document it, as indexing a slice does.
//!
//! # Design
//! Row ids, the order by length and the index of the time steps are computed on first use. They are
//! stored in the layer of row splits that all tensors of the batch share: once per mini-batch, for
//! all layers, directions and gradients. Operators never return these indexes. Cloning a [`Lod`]
//! only increments a reference count.
//!
//! # Features
//! `rayon` (on): large work is split over threads, with the same result. `serde`: options, such as
//! [`Batching`] and [`Padding`].
//!
//! # When not to use it
//! If all sequences have the same length, a plain tensor does. For lists of numbers without rows,
//! take [`ragged_core`].

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod algebra;
mod batches;
mod check;
mod elementwise;
mod error;
mod lod;

mod packed;
mod padding;
mod parts;
mod rank;
mod rows;
mod segment;
pub mod sequence;
mod serialize;
mod state;
mod tensor;

pub use batches::Batching;
pub use check::{check_abs_lod, check_lod};
pub use error::Error;
pub use kaldera_base::Real;
pub use kaldera_base::buffer::Buffer;
pub use lod::Lod;

pub use packed::PackedSequence;
pub use padding::{Padding, pad_sequence, unpad_sequence};
pub use parts::LodSlice;
pub use ragged_core::{Float, Integer, Number, Packed, Ragged, RaggedShape, RowSplits, Rows};
pub use rank::{RankItem, RankTable, sort_by_seq_len};
pub use segment::{Segments, concat_outputs, concat_outputs_into, segment_inputs, segment_inputs_into};
pub use serialize::{AnyLodTensor, PaddleType};
pub use state::{fill_states, init_states, init_states_backward, shrink_state, shrink_state_backward};
pub use tensor::{LodTensor, Sequences};
pub use tensor_strided::{Element, Layout, Shape, Tensor, TensorView, TensorViewMut};
