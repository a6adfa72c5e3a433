//! Operations from rows of features to rows: on whole matrices, and as streams.

pub(crate) mod cmvn;
pub(crate) mod deltas;
pub(crate) mod global_cmvn;
pub(crate) mod low_frame_rate;
pub(crate) mod normalize;
pub(crate) mod online_cmvn;
pub(crate) mod ops;
pub(crate) mod queue;
pub(crate) mod sliding_cmvn;
pub(crate) mod splice;
pub(crate) mod stream;
pub(crate) mod vad;
pub(crate) mod window;
