//! Segment, concat, memories, and a whole network of a tanh cell written over them:
//! `dynamic.jsonl`.

use kaldera::base::gemm::{Operand, gemm};
use kaldera::lod::{
    Lod, LodTensor, RankTable, Segments, concat_outputs, fill_states, init_states, init_states_backward,
    segment_inputs, shrink_state, shrink_state_backward,
};
use serde_json::Value;

use super::plain::{Float, Results, compare, optional, tensor};
use crate::{Stop, field, list, unless};

/// Runs a case of either kind.
pub(crate) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let op = case["op"].as_str().unwrap_or_default();
    match (op, case["inputs"]["X"]["dtype"].as_str().unwrap_or_default()) {
        ("DynamicRNN", "f32") => network::<f32>(case),
        ("DynamicRNN", "f64") => network::<f64>(case),
        (_, "f32") if op.starts_with("rank_table+") => steps::<f32>(case),
        (_, "f64") if op.starts_with("rank_table+") => steps::<f64>(case),
        _ => Err(Stop::NotRun),
    }
}

/// `rank_table+segment+concat`, perhaps with `+reorder+shrink`.
fn steps<T: Float>(case: &Value) -> Result<Vec<String>, Stop> {
    let expected = &case["outputs"];
    let x = tensor::<T>(&case["inputs"]["X"])?;
    let table = x.lod().rank_table(field(&case["attrs"], "level")?)?;
    let (right, came) = (&expected["max_sequence_len"], table.max_sequence_len());
    let mut differences = unless(*right == came, || format!("expected {right} steps, came {came}"));
    let segments = segment_inputs(&x, &table)?;
    let tensors: Vec<LodTensor<T>> = (0..segments.num_steps()).map(|step| segments.step_tensor(step)).collect();
    let answers = list(expected, "steps")?;
    let (right, came) = (answers.len(), tensors.len());
    differences.extend(unless(right == came, || format!("expected {right} steps, came {came}")));
    for (answer, came) in answers.iter().zip(&tensors) {
        differences.extend(compare("steps", answer, came)?);
    }
    let concat = concat_outputs(&Segments::from_steps(&table, &tensors)?)?;
    differences.extend(compare("concat", &expected["concat"], &concat)?);
    if !expected["reordered_x"].is_null() {
        let reordered = init_states(&x, &x.lod().rank_table(0)?)?;
        differences.extend(compare("reordered_x", &expected["reordered_x"], &reordered)?);
    }
    if !expected["reordered_h"].is_null() {
        let memory = init_states(&tensor::<T>(&case["inputs"]["H"])?, &table)?;
        differences.extend(compare("reordered_h", &expected["reordered_h"], &memory)?);
        for (step, expected) in expected["shrunk_h"].as_object().into_iter().flatten() {
            let step: usize = step.parse().map_err(|_| Stop::Damaged(format!("step {step}")))?;
            differences.extend(compare("shrunk_h", expected, &shrink_state(&memory, &table, step)?)?);
        }
    }
    Ok(differences)
}

/// `h(t) = tanh(x(t) W + h(t - 1) U + b + s V)` over a batch, forward and backward; s is the same
/// at all steps, and may be missing.
fn network<T: Float>(case: &Value) -> Result<Vec<String>, Stop> {
    let input = |name: &str| tensor::<T>(&case["inputs"][name]);
    let (x, w, u, b) = (input("X")?, input("W")?, input("U")?, input("b")?);
    let table = x.lod().rank_table(0)?;
    let h0 = match optional(&case["inputs"]["H0"])? {
        None => fill_states(&table, &[u.num_rows()], T::ZERO)?,
        Some(h0) => h0,
    };
    let constant = match optional(&case["inputs"]["S"])? {
        None => None,
        Some(s) => Some((init_states(&s, &table)?, input("V")?)),
    };
    let cell = Cell { table: &table, w: &w, u: &u, b: &b, constant };
    let (xs, memory) = (segment_inputs(&x, &table)?, init_states(&h0, &table)?);
    let hs = cell.forward(&xs, &memory)?;
    let mut results = Results::default().output("Out", &concat_outputs(&hs)?);
    if !case["outputs"]["Last"].is_null() {
        results = results.output("Last", &hs.last_steps(T::ZERO)?);
    }
    let mut grad_hs = segment_inputs(&tensor::<T>(&case["out_grads"]["Out"])?, &table)?.into_packed();
    if let Some(last) = optional::<T>(&case["out_grads"]["Last"])? {
        add(grad_hs.values_mut(), Segments::last_steps_backward(&table, &last)?.packed().values());
    }
    cell.backward(results, &xs, &memory, &hs, &grad_hs)?.differences_of(case, ["outputs.", "in_grads."])
}

struct Cell<'a, T: Float> {
    table: &'a RankTable,
    w: &'a LodTensor<T>,
    u: &'a LodTensor<T>,
    b: &'a LodTensor<T>,
    /// s in the order of the table, and V.
    constant: Option<(LodTensor<T>, LodTensor<T>)>,
}

impl<T: Float> Cell<'_, T> {
    fn forward(&self, xs: &Segments<T>, memory: &LodTensor<T>) -> Result<Segments<T>, Stop> {
        let mut hs = Segments::zeros(self.table, &[self.u.num_rows()])?;
        for step in 0..hs.num_steps() {
            let (before, h) = hs.before_and_step_mut(step);
            let before = if step == 0 { memory.values() } else { before };
            h.chunks_exact_mut(self.b.values().len()).for_each(|row| row.copy_from_slice(self.b.values()));
            multiply(plain(xs.step(step), self.w.num_rows()), plain(self.w.values(), self.u.num_rows()), h);
            multiply(plain(&before[..h.len()], self.u.num_rows()), plain(self.u.values(), self.u.num_rows()), h);
            if let Some((s, v)) = &self.constant {
                let s = shrink_state(s, self.table, step)?;
                multiply(plain(s.values(), v.num_rows()), plain(v.values(), v.width()), h);
            }
            h.iter_mut().for_each(|h| *h = tanh(*h));
        }
        Ok(hs)
    }

    /// The results with the gradients of all inputs; `grad_hs` is the gradient of all states.
    fn backward(
        &self,
        results: Results,
        xs: &Segments<T>,
        memory: &LodTensor<T>,
        hs: &Segments<T>,
        grad_hs: &LodTensor<T>,
    ) -> Result<Results, Stop> {
        let (inputs, states) = (self.w.num_rows(), self.u.num_rows());
        let zeros =
            |like: &LodTensor<T>| like.like(like.num_rows(), vec![T::ZERO; like.values().len()], like.lod().clone());
        let (mut grad_w, mut grad_u, mut grad_b) = (zeros(self.w)?, zeros(self.u)?, zeros(self.b)?);
        let mut grad_constant = match &self.constant {
            Some((s, v)) => Some((zeros(s)?, zeros(v)?)),
            None => None,
        };
        let mut grad_xs = Segments::zeros(self.table, &[inputs])?;
        // The gradient of the state after a step, as the next step needs it.
        let mut wanted = zeros(&shrink_state(memory, self.table, self.table.max_sequence_len())?)?;
        for step in (0..hs.num_steps()).rev() {
            let before = match step.checked_sub(1) {
                Some(before) => hs.step_tensor(before),
                None => memory.clone(),
            };
            let before = shrink_state(&before, self.table, step)?;
            let h = hs.step_tensor(step);
            let mut grad = shrink_state_backward(&wanted, &h)?;
            add(grad.values_mut(), grad_hs.values_of(hs.rows_of_step(step)));
            grad.values_mut().iter_mut().zip(h.values()).for_each(|(g, &h)| *g *= T::ONE - h * h);
            for row in grad.values().chunks_exact(states) {
                add(grad_b.values_mut(), row);
            }
            multiply(transposed(xs.step(step), inputs), plain(grad.values(), states), grad_w.values_mut());
            multiply(transposed(before.values(), states), plain(grad.values(), states), grad_u.values_mut());
            multiply(plain(grad.values(), states), transposed(self.w.values(), states), grad_xs.step_mut(step));
            if let (Some((s, v)), Some((grad_s, grad_v))) = (&self.constant, &mut grad_constant) {
                let s = shrink_state(s, self.table, step)?;
                multiply(transposed(s.values(), v.num_rows()), plain(grad.values(), states), grad_v.values_mut());
                let rows = ..s.values().len();
                multiply(plain(grad.values(), states), transposed(v.values(), states), &mut grad_s.values_mut()[rows]);
            }
            wanted = zeros(&before)?;
            multiply(plain(grad.values(), states), transposed(self.u.values(), states), wanted.values_mut());
        }
        let grad_h0 = init_states_backward(&shrink_state_backward(&wanted, memory)?, self.table)?;
        let results = results
            .gradient("X", &concat_outputs(&grad_xs)?)
            .gradient("H0", &grad_h0)
            .gradient("W", &grad_w)
            .gradient("U", &grad_u)
            .gradient("b", &grad_b.with_lod(Lod::none())?);
        let Some((grad_s, grad_v)) = &grad_constant else { return Ok(results) };
        Ok(results.gradient("S", &init_states_backward(grad_s, self.table)?).gradient("V", grad_v))
    }
}

/// A row-major matrix, and its number of rows when read as `operand` says.
struct Matrix<'a, T> {
    operand: Operand<'a, T>,
    rows: usize,
    cols: usize,
}

fn plain<T>(data: &[T], cols: usize) -> Matrix<'_, T> {
    Matrix { operand: Operand { data, row_step: cols, col_step: 1 }, rows: data.len() / cols.max(1), cols }
}

fn transposed<T>(data: &[T], cols: usize) -> Matrix<'_, T> {
    let Matrix { rows, cols, .. } = plain(data, cols);
    Matrix { operand: Operand { data, row_step: 1, col_step: cols }, rows: cols, cols: rows }
}

/// c += a b
fn multiply<T: Float>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &mut [T]) {
    gemm(a.rows, b.cols, a.cols, T::ONE, a.operand, b.operand, T::ONE, c, b.cols);
}

fn add<T: Float>(a: &mut [T], b: &[T]) {
    a.iter_mut().zip(b).for_each(|(a, &b)| *a += b);
}

fn tanh<T: Float>(x: T) -> T {
    T::from_f64(x.to_f64().tanh())
}
