//! Weights in the layout of Paddle's operators: columns of gates in Paddle's order, and several of
//! our tensors in one.

use kaldera_base::Real;
use kaldi_matrix::{Matrix, Vector};

use crate::error::Error;
use crate::gru::GruWeights;
use crate::lstm::LstmWeights;
use crate::weights::order::{Gates, from_paddle_order, to_paddle_order};

/// Weight inputs of Paddle's `lstm` and `lstmp` (`dynamic_lstm`, `dynamic_lstmp`). Their `Input` is
/// projected already, and its columns are in Paddle's order too: see [`from_paddle_order`].
#[derive(Debug, Clone, PartialEq)]
pub struct PaddleLstm<T: Real> {
    /// `Weight`, `[output, 4 hidden]`.
    pub weight: Matrix<T>,
    /// `Bias`, `[4 hidden]`, or `[7 hidden]` with the peepholes of the input, forget and output
    /// gate at the end.
    pub bias: Option<Vector<T>>,
    /// `ProjWeight`, `[hidden, output]`, of `lstmp`.
    pub proj_weight: Option<Matrix<T>>,
}

impl<T: Real> LstmWeights<T> {
    /// Converts the weights of Paddle's operator, for projected inputs.
    ///
    /// # Errors
    /// [`Error::Zero`] for a hidden size of 0, [`Error::Shape`] for tensors that do not fit each
    /// other.
    pub fn from_paddle(paddle: &PaddleLstm<T>) -> Result<Self, Error> {
        let PaddleLstm { weight, bias, proj_weight } = paddle;
        let (output, cols) = (weight.num_rows(), weight.num_cols());
        let hidden = proj_weight.as_ref().map_or(output, Matrix::num_rows);
        Error::check_shape("Weight", &[output, 4 * hidden], &[output, cols])?;
        let weight_hh = gate_rows(Gates::Lstm, hidden, weight.data())?;
        let (mut gates, mut peepholes) = (None, None);
        if let Some(bias) = bias {
            let with_peepholes = bias.dim() == 7 * hidden;
            let expected = if with_peepholes { 7 * hidden } else { 4 * hidden };
            Error::check_shape("Bias", &[expected], &[bias.dim()])?;
            let (added, multiplied) = bias.data().split_at(4 * hidden);
            gates = Some(Vector::from(from_paddle_order(Gates::Lstm, hidden, added)?));
            if with_peepholes {
                peepholes = Some(Matrix::from_vec(3, hidden, multiplied.to_vec())?);
            }
        }
        if let Some(projection) = proj_weight {
            let found = [projection.num_rows(), projection.num_cols()];
            Error::check_shape("ProjWeight", &[hidden, output], &found)?;
        }
        let weight_hr = proj_weight.as_ref().map(|projection| projection.transposed());
        Ok(Self { weight_ih: None, weight_hh, bias: gates, peepholes, weight_hr })
    }

    /// Converts to the layout of Paddle's operator: peepholes follow the bias. With peepholes there
    /// is always a bias.
    ///
    /// # Errors
    /// [`Error::Unused`] for a `weight_ih`, which belongs to another operator in Paddle; otherwise
    /// as [`from_paddle`](Self::from_paddle).
    pub fn to_paddle(&self) -> Result<PaddleLstm<T>, Error> {
        let Self { weight_ih, weight_hh, bias, peepholes, weight_hr } = self;
        projected(weight_ih.as_ref())?;
        let (rows, hidden) = (weight_hh.num_rows(), weight_hh.num_rows() / 4);
        let weight = gate_columns(Gates::Lstm, hidden, weight_hh)?;
        let mut together = match bias {
            Some(bias) => to_paddle_order(Gates::Lstm, hidden, bias.data())?,
            None => vec![T::ZERO; rows],
        };
        Error::check_shape("bias", &[rows], &[together.len()])?;
        if let Some(peepholes) = peepholes {
            Error::check_shape("peepholes", &[3, hidden], &[peepholes.num_rows(), peepholes.num_cols()])?;
            together.extend_from_slice(peepholes.data());
        }
        let bias = (bias.is_some() || peepholes.is_some()).then(|| Vector::from(together));
        Ok(PaddleLstm { weight, bias, proj_weight: weight_hr.as_ref().map(|projection| projection.transposed()) })
    }
}

/// Weight inputs of Paddle's `gru` and `gru_unit` (`dynamic_gru`). Their `Input` is projected
/// already, and its columns are in Paddle's order too: see [`from_paddle_order`]. The cell resets
/// before the product ([`Reset::Before`](crate::Reset::Before)).
#[derive(Debug, Clone, PartialEq)]
pub struct PaddleGru<T: Real> {
    /// `Weight`: Paddle's shape is `[hidden, 3 hidden]`, but the numbers are a `[hidden, 2 hidden]`
    /// matrix (update, reset) followed by a `[hidden, hidden]` matrix (candidate).
    pub weight: Vec<T>,
    /// `Bias`, `[3 hidden]`.
    pub bias: Option<Vector<T>>,
}

impl<T: Real> GruWeights<T> {
    /// Converts the weights of Paddle's operator, for projected inputs.
    ///
    /// # Errors
    /// [`Error::Zero`] for a hidden size of 0, [`Error::Shape`] for tensors that do not fit.
    pub fn from_paddle(hidden: usize, paddle: &PaddleGru<T>) -> Result<Self, Error> {
        let PaddleGru { weight, bias } = paddle;
        let square = hidden.saturating_mul(hidden);
        Error::check_shape("Weight", &[square.saturating_mul(3)], &[weight.len()])?;
        let (gates, candidate) = weight.split_at(2 * square);
        // Transposed: the rows of update, reset and candidate, each [hidden, hidden].
        let mut rows = transposed(hidden, gates);
        rows.extend(transposed(hidden, candidate));
        let weight_hh = Matrix::from_vec(3 * hidden, hidden, from_paddle_order(Gates::Gru, square, &rows)?)?;
        let bias = match bias {
            Some(bias) => {
                Error::check_shape("Bias", &[3 * hidden], &[bias.dim()])?;
                Some(Vector::from(from_paddle_order(Gates::Gru, hidden, bias.data())?))
            }
            None => None,
        };
        Ok(Self { weight_ih: None, weight_hh, bias, bias_hn: None })
    }

    /// Converts to the layout of Paddle's operator.
    ///
    /// # Errors
    /// [`Error::Unused`] for a `weight_ih`, which belongs to another operator in Paddle, and for a
    /// `bias_hn`; otherwise as [`from_paddle`](Self::from_paddle).
    pub fn to_paddle(&self) -> Result<PaddleGru<T>, Error> {
        let Self { weight_ih, weight_hh, bias, bias_hn } = self;
        projected(weight_ih.as_ref())?;
        if bias_hn.is_some() {
            return Err(Error::Unused { tensor: "bias_hn", because: "Paddle's GRU has one bias" });
        }
        let hidden = weight_hh.num_cols();
        Error::check_shape("weight_hh", &[3 * hidden, hidden], &[weight_hh.num_rows(), hidden])?;
        let rows = to_paddle_order(Gates::Gru, hidden * hidden, weight_hh.data())?;
        let (gates, candidate) = rows.split_at(2 * hidden * hidden);
        // Back from rows to columns.
        let mut weight = transposed(2 * hidden, gates);
        weight.extend(transposed(hidden, candidate));
        let bias = match bias {
            Some(bias) => {
                Error::check_shape("bias", &[3 * hidden], &[bias.dim()])?;
                Some(Vector::from(to_paddle_order(Gates::Gru, hidden, bias.data())?))
            }
            None => None,
        };
        Ok(PaddleGru { weight, bias })
    }
}

/// Converts `[rows, gates · hidden]` in Paddle's order to `[gates · hidden, rows]` in ours.
fn gate_rows<T: Real>(gates: Gates, hidden: usize, values: &[T]) -> Result<Matrix<T>, Error> {
    let ours = from_paddle_order(gates, hidden, values)?;
    let cols = gates.count() * hidden;
    Ok(Matrix::from_vec(ours.len() / cols, cols, ours)?.transposed())
}

/// Inverts [`gate_rows`].
fn gate_columns<T: Real>(gates: Gates, hidden: usize, weight: &Matrix<T>) -> Result<Matrix<T>, Error> {
    let columns = weight.transposed();
    let shape = (columns.num_rows(), columns.num_cols());
    Ok(Matrix::from_vec(shape.0, shape.1, to_paddle_order(gates, hidden, columns.data())?)?)
}

/// Transposes a matrix with `rows` rows.
fn transposed<T: Copy>(rows: usize, values: &[T]) -> Vec<T> {
    let cols = values.len() / rows.max(1);
    (0..cols).flat_map(|col| (0..rows).map(move |row| values[row * cols + col])).collect()
}

fn projected<T: Real>(weight_ih: Option<&Matrix<T>>) -> Result<(), Error> {
    match weight_ih {
        Some(_) => Err(Error::Unused { tensor: "weight_ih", because: "Paddle's operator takes projected inputs" }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize) -> Vec<f64> {
        (0..len).map(|i| i as f64).collect()
    }

    #[test]
    fn lstm_weights_survive_the_round_trip() {
        for (hidden, output, bias, projected) in
            [(3, 3, Some(12), false), (2, 2, Some(14), false), (2, 2, None, false), (3, 2, Some(21), true)]
        {
            let paddle = PaddleLstm {
                weight: Matrix::from_vec(output, 4 * hidden, numbers(4 * hidden * output)).unwrap(),
                bias: bias.map(|len| Vector::from(numbers(len))),
                proj_weight: projected.then(|| Matrix::from_vec(hidden, output, numbers(hidden * output)).unwrap()),
            };
            let ours = LstmWeights::from_paddle(&paddle).unwrap();
            // Row 0 of ours is the input gate of unit 0: column `hidden` of Paddle's weights, which
            // begin with the candidate.
            assert_eq!(ours.weight_hh[(0, 1)], paddle.weight[(1, hidden)]);
            assert_eq!(ours.weight_hh[(2 * hidden, 0)], paddle.weight[(0, 0)]);
            if bias == Some(7 * hidden) {
                assert_eq!(ours.peepholes.as_ref().unwrap()[(2, 0)], (6 * hidden) as f64);
            }
            assert_eq!(ours.to_paddle().unwrap(), paddle);
        }
    }

    #[test]
    fn gru_weights_survive_the_round_trip() {
        for (hidden, with_bias) in [(1, true), (3, true), (2, false)] {
            let bias = with_bias.then(|| Vector::from(numbers(3 * hidden)));
            let paddle = PaddleGru { weight: numbers(3 * hidden * hidden), bias };
            let ours = GruWeights::from_paddle(hidden, &paddle).unwrap();
            // Row 0 of ours is the reset gate of unit 0, which is column `hidden` of Paddle's first
            // matrix.
            assert_eq!(ours.weight_hh[(0, 0)], paddle.weight[hidden]);
            assert_eq!(ours.weight_hh[(2 * hidden, 0)], paddle.weight[2 * hidden * hidden]);
            assert_eq!(ours.to_paddle().unwrap(), paddle);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let lstm = |rows, cols, bias, projection: Option<(usize, usize)>| {
            LstmWeights::from_paddle(&PaddleLstm {
                weight: Matrix::<f64>::zeros(rows, cols),
                bias: Some(Vector::zeros(bias)),
                proj_weight: projection.map(|(rows, cols)| Matrix::zeros(rows, cols)),
            })
            .map(|_| ())
        };
        assert_eq!(lstm(2, 8, 14, None), Ok(()));
        assert_eq!(lstm(0, 0, 0, None), Err(Error::Zero { what: "the hidden size" }));
        let shape = |tensor, expected: &[usize], found: &[usize]| {
            Err(Error::Shape { tensor, expected: expected.to_vec(), found: found.to_vec() })
        };
        assert_eq!(lstm(2, 7, 8, None), shape("Weight", &[2, 8], &[2, 7]));
        assert_eq!(lstm(2, 8, 9, None), shape("Bias", &[8], &[9]));
        assert_eq!(lstm(2, 12, 12, Some((3, 1))), shape("ProjWeight", &[3, 2], &[3, 1]));
        let gru = |hidden, weight, bias| {
            let paddle = PaddleGru { weight: vec![0.0_f32; weight], bias: Some(Vector::zeros(bias)) };
            GruWeights::from_paddle(hidden, &paddle).map(|_| ())
        };
        assert_eq!(gru(2, 12, 6), Ok(()));
        assert_eq!(gru(0, 0, 0), Err(Error::Zero { what: "the hidden size" }));
        assert_eq!(gru(2, 11, 6), shape("Weight", &[12], &[11]));
        assert_eq!(gru(2, 12, 5), shape("Bias", &[6], &[5]));
        assert!(gru(usize::MAX, 12, 5).is_err());
    }
}
