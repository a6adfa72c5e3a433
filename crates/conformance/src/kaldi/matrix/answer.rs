//! The result of a call, and its comparison with the known answer.

use kaldera::base::Real;
use kaldera::matrix::{Matrix, MatrixBase, Storage, Vector, VectorBase};
use serde_json::Value;

use super::record::{Record, number, tried};
use crate::{Stop, near};

/// Tolerance of a number, as a part of the largest one of its field: rule 6 of the README of the
/// known answers.
///
/// The largest, not each: Kaldi against itself on another processor moves small elements of a
/// matrix by rounding errors of the large ones.
fn tolerance<T: Real>(op: &str) -> f64 {
    match (op, size_of::<T>() == size_of::<f32>()) {
        // Kaldi rounds each element to a float in either precision.
        ("Vector.LogSumExp", false) => 1e-6,
        // A trace of an iteration: each step starts from the rounded result of the last one.
        (_, true) if op.starts_with("OptimizeLbfgs") => 1e-3,
        (_, false) if op.starts_with("OptimizeLbfgs") => 1e-9,
        (_, true) => 2e-5,
        (_, false) => 1e-12,
    }
}

/// The result of a call. It must have every field of the known answer, and no other.
#[derive(Default)]
pub(super) struct Answer {
    fields: Vec<(&'static str, Came)>,
    instead: Vec<(&'static str, Vec<f64>, Vec<f64>)>,
    wrong: Vec<String>,
}

enum Came {
    Number(f64),
    Numbers(Vec<f64>),
    Rows(Vec<Vec<f64>>),
    Exact(Value),
    Free,
}

fn doubles<T: Real>(numbers: &[T]) -> Vec<f64> {
    numbers.iter().map(|x| x.to_f64()).collect()
}

impl Answer {
    pub(super) fn new() -> Self {
        Self::default()
    }

    fn with(mut self, name: &'static str, came: Came) -> Self {
        self.fields.push((name, came));
        self
    }

    pub(super) fn number<T: Real>(self, name: &'static str, number: T) -> Self {
        self.with(name, Came::Number(number.to_f64()))
    }

    /// A list of numbers: the stored triangle of a packed matrix, say.
    pub(super) fn numbers<T: Real>(self, name: &'static str, numbers: &[T]) -> Self {
        self.with(name, Came::Numbers(doubles(numbers)))
    }

    pub(super) fn vector<S: Storage<Elem: Real>>(self, name: &'static str, vector: &VectorBase<S>) -> Self {
        self.numbers(name, vector.data())
    }

    pub(super) fn matrix<S: Storage<Elem: Real>>(self, name: &'static str, matrix: &MatrixBase<S>) -> Self {
        self.with(name, Came::Rows(matrix.rows().map(doubles).collect()))
    }

    /// A value that must be equal: a count, an index, bytes in hexadecimal, a text, a truth.
    pub(super) fn exact(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with(name, Came::Exact(value.into()))
    }

    /// A field that is one of several right answers: judged by [`near`](Self::near) and
    /// [`must`](Self::must) instead.
    pub(super) fn free(self, name: &'static str) -> Self {
        self.with(name, Came::Free)
    }

    /// A value computed from free fields that must be `expected`, within the tolerance.
    pub(super) fn near<T: Real>(mut self, what: &'static str, expected: &[T], came: &[T]) -> Self {
        self.instead.push((what, doubles(expected), doubles(came)));
        self
    }

    /// Something that must be true of free fields.
    pub(super) fn must(mut self, what: &'static str, holds: bool) -> Self {
        self.wrong.extend((!holds).then(|| format!("expected that {what}, which does not hold")));
        self
    }

    /// Every difference from the known answer.
    pub(super) fn differences<T: Real>(self, record: &Record<'_, T>) -> Vec<String> {
        let mut differences = Differences { tolerance: tolerance::<T>(record.op), all: self.wrong };
        for (name, expected) in record.out.value.as_object().into_iter().flatten() {
            match self.fields.iter().find(|(field, _)| field == name) {
                Some((_, came)) => differences.compare::<T>(name, expected, came),
                None => differences.all.push(format!("{name}: expected {expected}, came nothing")),
            }
        }
        for (name, _) in self.fields.iter().filter(|(name, _)| !record.out.has(name)) {
            differences.all.push(format!("{name}: not in the known answer"));
        }
        for (what, expected, came) in &self.instead {
            differences.numbers(what, expected, came, largest(expected));
        }
        differences.all
    }
}

struct Differences {
    tolerance: f64,
    all: Vec<String>,
}

impl Differences {
    fn compare<T: Real>(&mut self, name: &str, expected: &Value, came: &Came) {
        let read = |value: &Value| number::<T>(value).map(Real::to_f64);
        let list =
            |value: &Value| value.as_array().and_then(|list| list.iter().map(read).collect::<Option<Vec<f64>>>());
        let ours = |came: &[f64]| came.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>();
        match came {
            Came::Free => {}
            Came::Exact(came) if came == expected => {}
            Came::Exact(came) => self.all.push(format!("{name}: expected {expected}, came {came}")),
            Came::Number(came) => match read(expected) {
                Some(expected) => self.number(name, expected, *came, expected),
                None => self.all.push(format!("{name}: expected {expected}, came the number {}", T::from_f64(*came))),
            },
            Came::Numbers(came) => match list(expected) {
                Some(expected) => self.numbers(name, &expected, came, largest(&expected)),
                None => self.all.push(format!("{name}: expected {expected}, came {:?}", ours(came))),
            },
            Came::Rows(came) => {
                let rows = expected.as_array().map_or(&[][..], Vec::as_slice);
                if rows.len() != came.len() {
                    return self.all.push(format!("{name}: expected {} rows, came {}", rows.len(), came.len()));
                }
                let expected: Vec<_> = rows.iter().map(list).collect();
                let scale = expected.iter().flatten().map(|row| largest(row)).fold(0.0, f64::max);
                for (r, (expected, came)) in expected.iter().zip(came).enumerate() {
                    match expected {
                        Some(expected) => self.numbers(&format!("{name}[{r}]"), expected, came, scale),
                        None => {
                            self.all.push(format!("{name}[{r}]: expected a row, {}, came {:?}", rows[r], ours(came)));
                        }
                    }
                }
            }
        }
    }

    fn numbers(&mut self, name: &str, expected: &[f64], came: &[f64], scale: f64) {
        if expected.len() != came.len() {
            return self.all.push(format!("{name}: expected {} numbers, came {}", expected.len(), came.len()));
        }
        for (i, (expected, came)) in expected.iter().zip(came).enumerate() {
            self.number(&format!("{name}[{i}]"), *expected, *came, scale);
        }
    }

    fn number(&mut self, name: &str, expected: f64, came: f64, scale: f64) {
        let bound = self.tolerance * scale.abs();
        if !near(expected, came, bound) {
            self.all.push(format!("{name}: expected {expected}, came {came} ({bound:.1e} allowed)"));
        }
    }
}

/// The largest absolute value of those that are finite.
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(0.0, f64::max)
}

impl<T: Real> Record<'_, T> {
    /// The answer that is the vector `name` after a change.
    pub(super) fn vector_after(
        &self,
        name: &'static str,
        change: impl FnOnce(&mut Vector<T>) -> Result<(), Stop>,
    ) -> Result<Answer, Stop> {
        Ok(Answer::new().vector(name, &tried(&self.vector(name)?, change)?))
    }

    /// The answer that is the matrix `name` after a change.
    pub(super) fn matrix_after(
        &self,
        name: &'static str,
        change: impl FnOnce(&mut Matrix<T>) -> Result<(), Stop>,
    ) -> Result<Answer, Stop> {
        Ok(Answer::new().matrix(name, &tried(&self.matrix(name)?, change)?))
    }
}
