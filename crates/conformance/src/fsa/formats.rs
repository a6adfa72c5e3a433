//! Text, plain arrays and properties.

use super::Operation;

/// The code of the operations of this file.
pub(super) fn operation(op: &str) -> Option<Operation> {
    let _ = op;
    None
}
