//! Orders of gates: Paddle's and PyTorch's.

use crate::error::Error;

/// Set of gates of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    /// Four: Paddle's candidate, input, forget, output; ours and PyTorch's input, forget,
    /// candidate, output.
    Lstm,
    /// Three: Paddle's update, reset, candidate; ours and PyTorch's reset, update, candidate.
    Gru,
}

impl Gates {
    /// Returns the position of each of our gates in Paddle's order.
    const fn in_paddle(self) -> &'static [usize] {
        match self {
            Self::Lstm => &[1, 2, 0, 3],
            Self::Gru => &[1, 0, 2],
        }
    }

    /// Returns the number of gates.
    pub const fn count(self) -> usize {
        self.in_paddle().len()
    }
}

/// Reorders blocks from Paddle's order of gates to ours, which is PyTorch's. `block` is the number
/// of adjacent values of a gate: `hidden` for a bias and for the columns of
/// `[rows, gates · hidden]`, `hidden · columns` for the rows of `[gates · hidden, columns]`.
///
/// ```
/// use recurrent::weights::{Gates, from_paddle_order, to_paddle_order};
///
/// let bias = ["candidate", "input", "forget", "output"];
/// let ours = from_paddle_order(Gates::Lstm, 1, &bias)?;
/// assert_eq!(ours, ["input", "forget", "candidate", "output"]);
/// assert_eq!(to_paddle_order(Gates::Lstm, 1, &ours)?, bias);
/// # Ok::<(), recurrent::Error>(())
/// ```
///
/// # Errors
/// [`Error::Zero`] for a block of 0; [`Error::Count`] if the values are not a multiple of all
/// gates' blocks.
pub fn from_paddle_order<V: Clone>(gates: Gates, block: usize, values: &[V]) -> Result<Vec<V>, Error> {
    let order = gates.in_paddle();
    permute(order, block, values)
}

/// Reorders blocks from our order of gates to Paddle's: the inverse of [`from_paddle_order`].
///
/// # Errors
/// As [`from_paddle_order`].
pub fn to_paddle_order<V: Clone>(gates: Gates, block: usize, values: &[V]) -> Result<Vec<V>, Error> {
    let order = gates.in_paddle();
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(ours, &paddle)| inverse[paddle] = ours);
    permute(&inverse, block, values)
}

/// Permutes each group of blocks: block i of the result is block `order[i]`.
fn permute<V: Clone>(order: &[usize], block: usize, values: &[V]) -> Result<Vec<V>, Error> {
    if block == 0 {
        return Err(Error::Zero { what: "the hidden size" });
    }
    let group = block.saturating_mul(order.len());
    if !values.len().is_multiple_of(group) {
        let whole = values.len().next_multiple_of(group);
        return Err(Error::Count { what: "the number of values of all gates", expected: whole, found: values.len() });
    }
    let groups = values.chunks_exact(group);
    Ok(groups.flat_map(|group| order.iter().flat_map(|&i| &group[i * block..(i + 1) * block])).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_the_documentation_and_back() {
        let paddle = ["update", "reset", "candidate"];
        assert_eq!(from_paddle_order(Gates::Gru, 1, &paddle).unwrap(), ["reset", "update", "candidate"]);
        for (gates, block, rows) in [(Gates::Lstm, 3, 2), (Gates::Gru, 2, 4), (Gates::Lstm, 1, 1), (Gates::Gru, 5, 0)] {
            let values: Vec<usize> = (0..rows * gates.count() * block).collect();
            let ours = from_paddle_order(gates, block, &values).unwrap();
            assert_eq!(to_paddle_order(gates, block, &ours).unwrap(), values);
            assert!(rows == 0 || ours != values);
        }
        // The columns of two rows, two units in each gate.
        let rows = [0, 0, 1, 1, 2, 2, 3, 3, 10, 10, 11, 11, 12, 12, 13, 13];
        let ours = [1, 1, 2, 2, 0, 0, 3, 3, 11, 11, 12, 12, 10, 10, 13, 13];
        assert_eq!(from_paddle_order(Gates::Lstm, 2, &rows).unwrap(), ours);
    }

    #[test]
    fn what_is_no_multiple_is_refused() {
        assert_eq!(from_paddle_order(Gates::Gru, 0, &[1]), Err(Error::Zero { what: "the hidden size" }));
        let what = "the number of values of all gates";
        let error = to_paddle_order(Gates::Lstm, 2, &[0; 7]);
        assert_eq!(error, Err(Error::Count { what, expected: 8, found: 7 }));
        assert!(from_paddle_order(Gates::Lstm, usize::MAX, &[0; 7]).is_err());
    }
}
