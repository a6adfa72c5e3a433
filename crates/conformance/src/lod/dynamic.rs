//! Segment, concat, memories, and a whole network of a tanh cell written over them:
//! `dynamic.jsonl`.

use kaldera::base::gemm::{Operand, gemm};
use kaldera::lod::{
    Lod, LodTensor, RankTable, Segments, concat_outputs, fill_states, init_states, init_states_backward,
    segment_inputs, shrink_state, shrink_state_backward,
};
use serde_json::Value;

use super::Stop;
use super::plain::{Came, Number, compare, tensor};

/// Runs a case of either kind.
pub(super) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let op = case["op"].as_str().unwrap_or_default();
    match (op, case["inputs"]["X"]["dtype"].as_str().unwrap_or_default()) {
        ("DynamicRNN", "f32") => network::<f32>(case),
        ("DynamicRNN", "f64") => network::<f64>(case),
        (_, "f32") if op.starts_with("rank_table+") => steps::<f32>(case),
        (_, "f64") if op.starts_with("rank_table+") => steps::<f64>(case),
        _ => Err(Stop::NotRun),
    }
}

/// A type of values that the operators take.
pub(super) trait Float: Number + kaldera::base::Real {}
impl Float for f32 {}
impl Float for f64 {}

/// `rank_table+segment+concat`, perhaps with `+reorder+shrink`.
fn steps<T: Float>(case: &Value) -> Result<Vec<String>, Stop> {
    let expected = &case["outputs"];
    let x = tensor::<T>(&case["inputs"]["X"])?;
    let level = case["attrs"]["level"].as_u64().and_then(|level| usize::try_from(level).ok());
    let table = x.lod().rank_table(level.ok_or_else(|| Stop::Damaged("no level".into()))?)?;
    let mut differences = Vec::new();
    if expected["max_sequence_len"] != table.max_sequence_len() {
        differences.push(format!("expected {} steps, came {}", expected["max_sequence_len"], table.max_sequence_len()));
    }
    let segments = segment_inputs(&x, &table)?;
    let tensors: Vec<LodTensor<T>> = (0..segments.num_steps()).map(|step| segments.step_tensor(step)).collect();
    let answers = expected["steps"].as_array().ok_or_else(|| Stop::Damaged("no steps".into()))?;
    if answers.len() != tensors.len() {
        differences.push(format!("expected {} steps, came {}", answers.len(), tensors.len()));
    }
    for (answer, came) in answers.iter().zip(&tensors) {
        differences.extend(compare("steps", answer, &came.into())?);
    }
    let concat = concat_outputs(&Segments::from_steps(&table, &tensors)?)?;
    differences.extend(compare("concat", &expected["concat"], &(&concat).into())?);
    if !expected["reordered_x"].is_null() {
        let reordered = init_states(&x, &x.lod().rank_table(0)?)?;
        differences.extend(compare("reordered_x", &expected["reordered_x"], &(&reordered).into())?);
    }
    if !expected["reordered_h"].is_null() {
        let memory = init_states(&tensor::<T>(&case["inputs"]["H"])?, &table)?;
        differences.extend(compare("reordered_h", &expected["reordered_h"], &(&memory).into())?);
        for (step, expected) in expected["shrunk_h"].as_object().into_iter().flatten() {
            let step: usize = step.parse().map_err(|_| Stop::Damaged(format!("step {step}")))?;
            differences.extend(compare("shrunk_h", expected, &(&shrink_state(&memory, &table, step)?).into())?);
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
    let h0 = match case["inputs"]["H0"].is_null() {
        true => fill_states(&table, &[u.num_rows()], T::ZERO)?,
        false => input("H0")?,
    };
    let constant = match case["inputs"]["S"].is_null() {
        true => None,
        false => Some((init_states(&input("S")?, &table)?, input("V")?)),
    };
    let cell = Cell { table: &table, w: &w, u: &u, b: &b, constant };
    let (xs, memory) = (segment_inputs(&x, &table)?, init_states(&h0, &table)?);
    let hs = cell.forward(&xs, &memory)?;
    let out = concat_outputs(&hs)?;
    let mut results: Vec<(&str, Came)> = vec![("Out", (&out).into())];
    if !case["outputs"]["Last"].is_null() {
        results.push(("Last", (&hs.last_steps(T::ZERO)?).into()));
    }
    let mut grad_hs = segment_inputs(&tensor::<T>(&case["out_grads"]["Out"])?, &table)?.into_packed();
    if !case["out_grads"]["Last"].is_null() {
        let more = Segments::last_steps_backward(&table, &tensor::<T>(&case["out_grads"]["Last"])?)?;
        add(grad_hs.values_mut(), more.packed().values());
    }
    let grads = cell.backward(&xs, &memory, &hs, &grad_hs)?;
    let mut differences = Vec::new();
    for (part, came) in [("outputs", &results), ("in_grads", &grads)] {
        for (name, expected) in case[part].as_object().into_iter().flatten().filter(|(_, expected)| !expected.is_null())
        {
            match came.iter().find(|(found, _)| found == name) {
                Some((_, came)) => differences.extend(compare(&format!("{part}.{name}"), expected, came)?),
                None => differences.push(format!("{part}.{name}: expected {expected}, came nothing")),
            }
        }
    }
    Ok(differences)
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

    /// The gradients of all inputs; `grad_hs` is the gradient of all states.
    fn backward(
        &self,
        xs: &Segments<T>,
        memory: &LodTensor<T>,
        hs: &Segments<T>,
        grad_hs: &LodTensor<T>,
    ) -> Result<Vec<(&'static str, Came)>, Stop> {
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
        let mut grads: Vec<(&'static str, Came)> = vec![
            ("X", (&concat_outputs(&grad_xs)?).into()),
            ("H0", (&grad_h0).into()),
            ("W", (&grad_w).into()),
            ("U", (&grad_u).into()),
            ("b", (&grad_b.with_lod(Lod::none())?).into()),
        ];
        if let Some((grad_s, grad_v)) = &grad_constant {
            grads.push(("S", (&init_states_backward(grad_s, self.table)?).into()));
            grads.push(("V", grad_v.into()));
        }
        Ok(grads)
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
