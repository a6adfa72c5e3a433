//! Transducers (RNN-T, TDT): searches over a predictor and a joiner that the caller owns.
//!
//! ```text
//!   encoder's frames --------.
//!                            |--join--> scores of all tokens --> greedy, beam search
//!   tokens so far --advance--'                              '--> RnntStreams, with a graph
//!
//!   join and advance are methods of TransducerModel.
//! ```
//!
//! | icefall, k2, NeMo | here |
//! |---|---|
//! | `greedy_search` | [`greedy_search`] |
//! | `modified_beam_search` | [`modified_beam_search`] |
//! | `modified_beam_search_lm_shallow_fusion` | [`modified_beam_search`], [`Fusion`] |
//! | `OnlineRecognizer` of sherpa-onnx | [`TransducerStream`], [`GreedyStream`] |
//! | `beam_search` with several symbols a frame | [`beam_search`] |
//! | `fast_beam_search`, `k2.RnntDecodingStreams` | [`RnntStreams`] |
//! | `GreedyTDTInfer`, `BeamTDTInfer` | [`tdt_greedy_search`], [`tdt_beam_search`] |
//! | `rnnt_type` | [`TransducerTopology`] |

mod align;
mod beam;
mod fusion;
mod greedy;
mod joined;
mod model;
mod options;
mod rnnt_streams;
mod search;
mod stream;
mod topology;

pub use align::forced_align;
pub use beam::{beam_search, modified_beam_search, tdt_beam_search};
pub use fusion::Fusion;
pub use greedy::{GreedyStream, greedy_search, tdt_greedy_search};
pub use model::{EncoderOutput, StatelessModel, TransducerModel};
pub use options::TransducerOptions;
pub use rnnt_streams::{RnntConfig, RnntLattice, RnntStream, RnntStreams};
pub use stream::TransducerStream;
pub use topology::TransducerTopology;
