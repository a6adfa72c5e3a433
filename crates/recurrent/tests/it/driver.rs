//! A step of the user's own: with linear layers for the products, it is the same network as a cell
//! of the crate.

use std::slice::from_ref;

use lod::{Lod, LodTensor};
use recurrent::train::Linear;
use recurrent::{
    Cell, Direction, Error, Matrix, OutputGradients, Parameters, Recurrent, Rnn, Saved, State, Step, StepInputs,
    StepOutputs,
};

use crate::common::Numbers;

type Tensor = LodTensor<f64>;

fn plain(m: &Matrix<f64>) -> Tensor {
    LodTensor::from_vec([m.num_rows(), m.num_cols()], m.data().to_vec(), Lod::none()).unwrap()
}

/// h = tanh(W x + U h' + b + s), where s is the same at all steps.
struct Elman {
    w: Linear<f64>,
    u: Linear<f64>,
    by_w: Linear<f64>,
}

struct ElmanSaved {
    x: Tensor,
    h: Tensor,
    y: Tensor,
}

impl Step<f64> for Elman {
    type Saved = ElmanSaved;

    fn output_shapes(&self) -> Vec<Vec<usize>> {
        vec![vec![self.w.outputs()]]
    }

    fn forward(&self, step: StepInputs<f64>) -> Result<(StepOutputs<f64>, ElmanSaved), Error> {
        let StepInputs { inputs, statics, memories } = step;
        let [x, h] = [inputs[0].clone(), memories[0].clone()];
        let sum =
            self.w.forward(&x)?.zip_map(&self.u.forward(&h)?, |a, b| a + b)?.zip_map(&statics[0], |a, b| a + b)?;
        let y = sum.map(|x| x.tanh());
        let out = StepOutputs { outputs: vec![y.clone()], memories: vec![y.clone()] };
        Ok((out, ElmanSaved { x, h, y }))
    }

    fn backward(&mut self, saved: ElmanSaved, grads: StepOutputs<f64>) -> Result<StepInputs<f64>, Error> {
        let dy = grads.outputs[0].zip_map(&grads.memories[0], |a, b| a + b)?;
        let sum = dy.zip_map(&saved.y, |d, y| d * (1.0 - y * y))?;
        let (by_x, by_w) = self.w.backward(&saved.x, &sum)?;
        let (by_h, _) = self.u.backward(&saved.h, &sum)?;
        for (sum, grad) in self.by_w.named_mut().into_iter().zip(by_w.named()) {
            sum.values.iter_mut().zip(grad.values).for_each(|(sum, &grad)| *sum += grad);
        }
        Ok(StepInputs { inputs: vec![by_x], statics: vec![sum], memories: vec![by_h] })
    }
}

fn near(what: &str, a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{what}[{i}]: {a} for {b}");
    }
}

#[test]
fn recurrent_steps_equal_the_cell() {
    let lengths = [3, 0, 5, 1, 5];
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut numbers = Numbers::new(11);
        let mut rnn = Rnn::<f64>::zeros(2, 4);
        numbers.fill(&mut rnn.weights, 4);
        let x = numbers.tensor(&lengths, 2);
        let initial: State<f64> = numbers.state(lengths.len(), 4, 0);
        let (out, saved) = rnn.forward(&x, direction, Some(&initial)).unwrap();
        let (y, last) = (numbers.like(&out.y), numbers.state(lengths.len(), 4, 0));
        let by = saved.backward(OutputGradients { y: Some(&y), last: Some(&last), cells: None }).unwrap();

        let mut step = Elman {
            w: Linear::new(rnn.weights.weight_ih.clone().unwrap(), rnn.weights.bias.clone()).unwrap(),
            u: Linear::new(rnn.weights.weight_hh.clone(), None).unwrap(),
            by_w: Linear::zeros(2, 4),
        };
        let zeros = plain(&Matrix::zeros(lengths.len(), 4));
        let network = Recurrent::new(direction);
        let (own, saved) = network.forward(&step, from_ref(&x), &[zeros], from_ref(&initial.h)).unwrap();
        near("y", own.outputs[0].values(), out.y.values());
        near("last", own.last[0].values(), out.last.h.values());
        assert_eq!(own.outputs[0].lod(), x.lod());
        let grads = saved.backward(&mut step, &[Some(&y)], &[Some(&last.h)]).unwrap();
        near("by x", grads.inputs[0].values(), by.x.values());
        near("by h0", grads.boots[0].values(), by.initial.h.values());
        near("by W", step.by_w.named()[0].values, by.weights.weight_ih.as_ref().unwrap().data());
        // What is added at all steps is a bias: the sequences' gradients add up to its.
        let by_bias: Vec<f64> = (0..4).map(|j| (0..5).map(|i| grads.statics[0].row(i)[j]).sum()).collect();
        near("by b", &by_bias, by.weights.bias.as_ref().unwrap().data());
        assert!(by.weights.named().len() == 3);
    }
}

#[test]
fn a_batch_without_steps_and_one_that_does_not_fit() {
    let mut step = Elman { w: Linear::zeros(2, 4), u: Linear::zeros(4, 4), by_w: Linear::zeros(2, 4) };
    let network = Recurrent::default();
    let states = |rows| plain(&Matrix::from_fn(rows, 4, |r, c| (r + c) as f64));
    let x = Numbers::new(1).tensor(&[0, 0], 2);
    let (out, saved) = network.forward(&step, &[x], &[states(2)], &[states(2)]).unwrap();
    assert_eq!((out.outputs[0].num_rows(), out.last[0].values()), (0, states(2).values()));
    let grads = saved.backward(&mut step, &[None], &[Some(&states(2))]).unwrap();
    assert_eq!((grads.boots[0].values(), grads.inputs[0].num_rows()), (states(2).values(), 0));

    let x = Numbers::new(1).tensor(&[1, 2], 2);
    assert!(network.forward(&step, &[], &[states(2)], &[states(2)]).is_err());
    assert!(network.forward(&step, from_ref(&x), &[states(2)], &[states(3)]).is_err());
    assert!(network.forward(&step, from_ref(&x), &[states(3)], &[states(2)]).is_err());
    let other = Numbers::new(1).tensor(&[2, 1], 2);
    assert!(network.forward(&step, &[x.clone(), other], &[states(2)], &[states(2)]).is_err());
    let (_, saved) = network.forward(&step, &[x], &[states(2)], &[states(2)]).unwrap();
    assert!(matches!(saved.backward(&mut step, &[], &[None]), Err(Error::Count { expected: 1, found: 0, .. })));
}
