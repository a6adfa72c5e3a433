//! Every gradient of every kind of cell beside finite differences, in `f64`.

use crate::common::{Numbers, dot};
use lod::LodTensor;
use recurrent::{
    Activation, Cell, Direction, Gru, GruWeights, Lstm, LstmWeights, OutputGradients, Parameters, Reset, Rnn, Saved,
    State, Update,
};

/// Some empty, one of one row, equal ones.
const LENGTHS: [usize; 6] = [3, 0, 5, 1, 3, 0];
const INPUTS: usize = 3;
/// More than a vector of any instruction set, and no multiple of one.
const HIDDEN: usize = 19;
/// The width of a difference; its error is of the order of the square.
const STEP: f64 = 1e-5;
/// Of the error of a central difference with that step: third derivatives, and rounding over the
/// step.
const TOLERANCE: f64 = 2e-7;

/// What the loss has of each output.
struct Loss {
    y: LodTensor<f64>,
    last: State<f64>,
    cells: Option<LodTensor<f64>>,
}

/// What is differentiated: the cell with its weights, the input and the initial state.
#[derive(Clone)]
struct Point<C> {
    cell: C,
    x: LodTensor<f64>,
    initial: State<f64>,
}

trait Kind: Cell<f64> {
    fn cells(saved: &Self::Saved<'_>) -> Option<LodTensor<f64>>;
}
impl Kind for Rnn<f64> {
    fn cells(_: &Self::Saved<'_>) -> Option<LodTensor<f64>> {
        None
    }
}
impl Kind for Gru<f64> {
    fn cells(_: &Self::Saved<'_>) -> Option<LodTensor<f64>> {
        None
    }
}
impl Kind for Lstm<f64> {
    fn cells(saved: &Self::Saved<'_>) -> Option<LodTensor<f64>> {
        Some(saved.cells().unwrap())
    }
}

fn loss<C: Kind>(point: &Point<C>, direction: Direction, loss: &Loss) -> f64 {
    let (out, saved) = point.cell.forward(&point.x, direction, Some(&point.initial)).unwrap();
    let cells = C::cells(&saved).zip(loss.cells.as_ref());
    dot(out.y.values(), loss.y.values())
        + dot(out.last.h.values(), loss.last.h.values())
        + dot(out.last.c.values(), loss.last.c.values())
        + cells.map_or(0.0, |(cells, grad)| dot(cells.values(), grad.values()))
}

/// Compares one gradient with differences: `value` gives value `i` of what is differentiated.
fn compare<C: Kind>(
    what: &str,
    gradient: &[f64],
    point: &Point<C>,
    direction: Direction,
    weights: &Loss,
    value: impl Fn(&mut Point<C>, usize) -> &mut f64,
) {
    // Of large tensors every seventh number, so that all rows and columns have their turn.
    let stride = if gradient.len() > 100 { 7 } else { 1 };
    for i in (0..gradient.len()).step_by(stride) {
        let at = |step: f64| {
            let mut moved = point.clone();
            *value(&mut moved, i) += step;
            loss(&moved, direction, weights)
        };
        let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
        let (error, size) = ((difference - gradient[i]).abs(), difference.abs().max(1.0));
        assert!(error <= TOLERANCE * size, "{what}[{i}]: {} where the difference is {difference}", gradient[i]);
    }
}

fn check<C: Kind>(name: &str, mut cell: C) {
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut numbers = Numbers::new(7);
        numbers.fill(cell.weights_mut(), HIDDEN);
        let (outputs, cells) = (cell.output_size(), cell.cell_size());
        let point = Point {
            x: numbers.tensor(&LENGTHS, cell.input_size()),
            initial: numbers.state(LENGTHS.len(), outputs, cells),
            cell: cell.clone(),
        };
        let (out, saved) = point.cell.forward(&point.x, direction, Some(&point.initial)).unwrap();
        let weights = Loss {
            y: numbers.like(&out.y),
            last: numbers.state(LENGTHS.len(), outputs, cells),
            cells: C::cells(&saved).map(|cells| numbers.like(&cells)),
        };
        // A pass without a backward pass gives the same numbers.
        let again = point.cell.run(&point.x, direction, Some(&point.initial)).unwrap();
        assert_eq!(again.y, out.y);
        assert_eq!(again.last.h.values(), out.last.h.values());
        assert_eq!(again.last.c.values(), out.last.c.values());

        let grads = OutputGradients { y: Some(&weights.y), last: Some(&weights.last), cells: weights.cells.as_ref() };
        let gradients = saved.backward(grads).unwrap();
        compare(&format!("{name} x"), gradients.x.values(), &point, direction, &weights, |point, i| {
            &mut point.x.values_mut()[i]
        });
        compare(&format!("{name} h0"), gradients.initial.h.values(), &point, direction, &weights, |point, i| {
            &mut point.initial.h.values_mut()[i]
        });
        compare(&format!("{name} c0"), gradients.initial.c.values(), &point, direction, &weights, |point, i| {
            &mut point.initial.c.values_mut()[i]
        });
        for (t, tensor) in gradients.weights.named().into_iter().enumerate() {
            let what = format!("{name} {}", tensor.name);
            compare(&what, tensor.values, &point, direction, &weights, |point, i| {
                let tensor = point.cell.weights_mut().named_mut().remove(t);
                &mut tensor.values[i]
            });
        }
        let expected: Vec<_> = cell.weights().named().into_iter().map(|tensor| (tensor.name, tensor.shape)).collect();
        let found: Vec<_> = gradients.weights.named().into_iter().map(|tensor| (tensor.name, tensor.shape)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn rnn() {
    for activation in [Activation::Tanh, Activation::Sigmoid, Activation::Identity] {
        check("rnn", Rnn { activation, ..Rnn::zeros(INPUTS, HIDDEN) });
    }
    let mut projected = Rnn::zeros(INPUTS, HIDDEN);
    projected.weights.weight_ih = None;
    check("rnn with projected input", projected);
}

#[test]
fn lstm() {
    check("lstm", Lstm::zeros(INPUTS, HIDDEN));
    let mut lstm = Lstm::zeros(INPUTS, HIDDEN);
    lstm.weights.peepholes = Some(recurrent::Matrix::zeros(3, HIDDEN));
    check("lstm with peepholes", lstm.clone());
    lstm.weights.weight_ih = None;
    lstm.weights.bias = None;
    lstm.options.cell_activation = Activation::Identity;
    lstm.options.candidate_activation = Activation::Sigmoid;
    check("lstm with peepholes and projected input", lstm);
}

#[test]
fn lstm_with_projection() {
    let mut lstm = Lstm::zeros(INPUTS, HIDDEN);
    for outputs in [5, HIDDEN, 23] {
        lstm.weights = LstmWeights::zeros_projected(INPUTS, HIDDEN, outputs);
        check("lstm with projection", lstm.clone());
    }
    lstm.weights.peepholes = Some(recurrent::Matrix::zeros(3, HIDDEN));
    lstm.options.projection_activation = Activation::Tanh;
    lstm.options.cell_clip = Some(0.4);
    lstm.options.projection_clip = Some(0.3);
    check("lstm with projection and clips", lstm);
}

#[test]
fn gru() {
    for reset in [Reset::Before, Reset::After] {
        for update in [Update::Old, Update::New] {
            let mut gru = Gru::zeros(INPUTS, HIDDEN);
            (gru.options.reset, gru.options.update) = (reset, update);
            if reset == Reset::Before {
                gru.weights.bias_hn = None;
            }
            check(&format!("gru {reset:?} {update:?}"), gru.clone());
            gru.weights = GruWeights { weight_ih: None, bias: None, ..gru.weights };
            gru.options.candidate_activation = Activation::Identity;
            check(&format!("gru {reset:?} {update:?} with projected input"), gru);
        }
    }
}
