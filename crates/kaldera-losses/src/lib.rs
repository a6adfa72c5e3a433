//! Losses.
#![forbid(unsafe_code)]
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
pub use ctc::{
    CtcOptions, CtcSaved, ProjectedCtcSaved, Projection, ProjectionGradient, ctc_loss, ctc_loss_projected,
};
pub use ctc_graph::{CtcGraphOptions, CtcGraphSaved, ctc_loss_graph};
pub use error::Error;
pub use mbr::{ExpectedValuesSaved, MbrSaved, expected_values, mbr_loss, smbr_loss};
pub use mmi::{MmiOptions, MmiSaved, mmi_loss};
pub use mwer::{MwerLatticeSaved, MwerOptions, MwerSaved, mwer_loss, mwer_loss_lattice};
pub use reduction::{Impossible, Reduction};
pub use rnnt::{RnntOptions, RnntSaved, rnnt_loss};
pub use smoothing::{LabelSmoothingSaved, label_smoothing_loss};
pub use swoosh::{swoosh_l, swoosh_l_backward, swoosh_r, swoosh_r_backward};
