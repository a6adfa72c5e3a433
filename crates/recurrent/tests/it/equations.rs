//! The cells beside their equations, written as loops over the units of one sequence.

use proptest::prelude::*;
use recurrent::{Cell, Direction, Gru, Lstm, LstmWeights, Matrix, Reset, State, Update};

use crate::common::{Numbers, dot};

/// Both sum in another order: some roundings of numbers of the order of 1.
const TOLERANCE: f64 = 1e-12;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// W x + U h + b, unit `unit` of gate `gate`.
fn sum([w, u]: [&Matrix<f64>; 2], bias: f64, unit: usize, x: &[f64], h: &[f64]) -> f64 {
    dot(w.row_data(unit), x) + dot(u.row_data(unit), h) + bias
}

fn near(found: &[f64], expected: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        prop_assert!((found - expected).abs() <= TOLERANCE * expected.abs().max(1.0), "{found} for {expected}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn lstm((hidden, outputs) in (1_usize..40, 1_usize..20), steps in 1_usize..6, seed in any::<u64>()) {
        let mut numbers = Numbers::new(seed);
        let mut lstm = Lstm::<f64>::zeros(3, hidden);
        lstm.weights = LstmWeights::zeros_projected(3, hidden, outputs);
        lstm.weights.peepholes = Some(Matrix::zeros(3, hidden));
        numbers.fill(&mut lstm.weights, hidden);
        let (x, initial) = (numbers.tensor::<f64>(&[steps], 3), numbers.state(1, outputs, hidden));
        let found = lstm.run(&x, Direction::Forward, Some(&initial)).unwrap();

        let weights = &lstm.weights;
        let both = [weights.weight_ih.as_ref().unwrap(), &weights.weight_hh];
        let (bias, peepholes) = (weights.bias.as_ref().unwrap(), weights.peepholes.as_ref().unwrap());
        let State { h, c } = initial;
        let (mut h, mut c, mut y) = (h.to_vec(), c.to_vec(), Vec::new());
        for step in 0..steps {
            let mut m = Vec::new();
            for unit in 0..hidden {
                let gate = |gate: usize| {
                    let unit = gate * hidden + unit;
                    sum(both, bias[unit], unit, x.row(step), &h)
                };
                let i = sigmoid(gate(0) + peepholes[(0, unit)] * c[unit]);
                let f = sigmoid(gate(1) + peepholes[(1, unit)] * c[unit]);
                c[unit] = f * c[unit] + i * gate(2).tanh();
                m.push(sigmoid(gate(3) + peepholes[(2, unit)] * c[unit]) * c[unit].tanh());
            }
            h = weights.weight_hr.as_ref().unwrap().rows().map(|row| dot(row, &m)).collect();
            y.extend_from_slice(&h);
        }
        near(found.y.values(), &y)?;
        near(found.last.c.values(), &c)?;
    }

    #[test]
    fn gru(hidden in 1_usize..40, steps in 1_usize..6, before in any::<bool>(), new in any::<bool>(), seed in any::<u64>()) {
        let mut numbers = Numbers::new(seed);
        let mut gru = Gru::<f64>::zeros(3, hidden);
        if before {
            gru.options.reset = Reset::Before;
            gru.weights.bias_hn = None;
        }
        gru.options.update = if new { Update::New } else { Update::Old };
        numbers.fill(&mut gru.weights, hidden);
        let (x, initial) = (numbers.tensor::<f64>(&[steps], 3), numbers.state(1, hidden, 0));
        let found = gru.run(&x, Direction::Forward, Some(&initial)).unwrap();

        let weights = &gru.weights;
        let both = [weights.weight_ih.as_ref().unwrap(), &weights.weight_hh];
        let bias = weights.bias.as_ref().unwrap();
        let (mut h, mut y): (Vec<f64>, Vec<f64>) = (initial.h.values().to_vec(), Vec::new());
        for step in 0..steps {
            let gate = |unit: usize| sigmoid(sum(both, bias[unit], unit, x.row(step), &h));
            let reset: Vec<f64> = (0..hidden).map(|unit| gate(unit) * h[unit]).collect();
            let mut next = Vec::new();
            for unit in 0..hidden {
                let (r, z, row) = (gate(unit), gate(hidden + unit), 2 * hidden + unit);
                let n = match &weights.bias_hn {
                    None => sum(both, bias[row], row, x.row(step), &reset),
                    Some(bias_hn) => {
                        let product = dot(both[1].row_data(row), &h) + bias_hn[unit];
                        dot(both[0].row_data(row), x.row(step)) + bias[row] + r * product
                    }
                };
                let (z, n) = (if new { 1.0 - z } else { z }, n.tanh());
                next.push(z * h[unit] + (1.0 - z) * n);
            }
            h = next;
            y.extend_from_slice(&h);
        }
        near(found.y.values(), &y)?;
    }
}
