//! The result of a call, and its comparison with the known answer.

use kaldera::base::Real;
use kaldera::matrix::{MatrixBase, Storage, VectorBase};
use serde_json::Value;

use super::record::{Record, number};

/// Tolerance of a number, as a part of the largest one of its field.
///
/// The largest, not each: Kaldi against itself on another processor moves small elements of a
/// matrix by rounding errors of the large ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance(f64);

impl Tolerance {
    /// Rule 6 of the README of the known answers.
    pub(super) fn of<T: Real>(op: &str) -> Self {
        let single = size_of::<T>() == size_of::<f32>();
        Self(match (op, single) {
            // Kaldi rounds each element to a float in either precision.
            ("Vector.LogSumExp", false) => 1e-6,
            // A trace of an iteration: each step starts from the rounded result of the last one.
            (_, true) if op.starts_with("OptimizeLbfgs") => 1e-3,
            (_, false) if op.starts_with("OptimizeLbfgs") => 1e-9,
            (_, true) => 2e-5,
            (_, false) => 1e-12,
        })
    }
}

/// The result of a call. It must have every field of the known answer, and no other.
pub(super) struct Answer<T> {
    fields: Vec<(&'static str, Came<T>)>,
    instead: Vec<(&'static str, Vec<T>, Vec<T>)>,
    wrong: Vec<String>,
}

enum Came<T> {
    Number(T),
    Numbers(Vec<T>),
    Rows(Vec<Vec<T>>),
    Exact(Value),
    Free,
}

impl<T: Real> Answer<T> {
    pub(super) fn new() -> Self {
        Self { fields: Vec::new(), instead: Vec::new(), wrong: Vec::new() }
    }

    fn with(mut self, name: &'static str, came: Came<T>) -> Self {
        self.fields.push((name, came));
        self
    }

    pub(super) fn number(self, name: &'static str, number: T) -> Self {
        self.with(name, Came::Number(number))
    }

    /// A list of numbers: the stored triangle of a packed matrix, say.
    pub(super) fn numbers(self, name: &'static str, numbers: &[T]) -> Self {
        self.with(name, Came::Numbers(numbers.to_vec()))
    }

    pub(super) fn vector<S: Storage<Elem = T>>(self, name: &'static str, vector: &VectorBase<S>) -> Self {
        self.numbers(name, vector.data())
    }

    pub(super) fn matrix<S: Storage<Elem = T>>(self, name: &'static str, matrix: &MatrixBase<S>) -> Self {
        self.with(name, Came::Rows(matrix.rows().map(<[T]>::to_vec).collect()))
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
    pub(super) fn near(mut self, what: &'static str, expected: &[T], came: &[T]) -> Self {
        self.instead.push((what, expected.to_vec(), came.to_vec()));
        self
    }

    /// Something that must be true of free fields.
    pub(super) fn must(mut self, what: &'static str, holds: bool) -> Self {
        if !holds {
            self.wrong.push(format!("expected that {what}, which does not hold"));
        }
        self
    }

    /// Every difference from the known answer.
    pub(super) fn differences(mut self, record: &Record<'_, T>, tolerance: Tolerance) -> Vec<String> {
        let mut differences = std::mem::take(&mut self.wrong);
        for (name, expected) in record.out.value.as_object().into_iter().flatten() {
            match self.fields.iter().find(|(field, _)| field == name) {
                Some((_, came)) => came.compare(name, expected, tolerance, &mut differences),
                None => differences.push(format!("{name}: expected {expected}, came nothing")),
            }
        }
        for (name, _) in self.fields.iter().filter(|(name, _)| !record.out.has(name)) {
            differences.push(format!("{name}: not in the known answer"));
        }
        for (what, expected, came) in &self.instead {
            compare_numbers(what, expected, came, largest(expected), tolerance, &mut differences);
        }
        differences
    }
}

impl<T: Real> Came<T> {
    fn compare(&self, name: &str, expected: &Value, tolerance: Tolerance, differences: &mut Vec<String>) {
        let list =
            |value: &Value| value.as_array().and_then(|list| list.iter().map(number).collect::<Option<Vec<T>>>());
        match self {
            Self::Free => {}
            Self::Exact(came) if came == expected => {}
            Self::Exact(came) => differences.push(format!("{name}: expected {expected}, came {came}")),
            Self::Number(came) => match number(expected) {
                Some(expected) => compare_number(name, expected, *came, expected.to_f64(), tolerance, differences),
                None => differences.push(format!("{name}: expected {expected}, came the number {came}")),
            },
            Self::Numbers(came) => match list(expected) {
                Some(expected) => {
                    compare_numbers(name, &expected, came, largest(&expected), tolerance, differences);
                }
                None => differences.push(format!("{name}: expected {expected}, came {came:?}")),
            },
            Self::Rows(came) => {
                let rows = expected.as_array().map_or(&[][..], Vec::as_slice);
                if rows.len() != came.len() {
                    return differences.push(format!("{name}: expected {} rows, came {}", rows.len(), came.len()));
                }
                let expected: Vec<_> = rows.iter().map(list).collect();
                let scale = expected.iter().flatten().map(|row| largest(row)).fold(0.0, f64::max);
                for (r, (expected, came)) in expected.iter().zip(came).enumerate() {
                    let name = format!("{name}[{r}]");
                    match expected {
                        Some(expected) => {
                            compare_numbers(&name, expected, came, scale, tolerance, differences);
                        }
                        None => differences.push(format!("{name}: expected a row, {}, came {came:?}", rows[r])),
                    }
                }
            }
        }
    }
}

/// The largest absolute value of those that are finite.
fn largest<T: Real>(numbers: &[T]) -> f64 {
    numbers.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite()).fold(0.0, f64::max)
}

fn compare_numbers<T: Real>(
    name: &str,
    expected: &[T],
    came: &[T],
    scale: f64,
    tolerance: Tolerance,
    differences: &mut Vec<String>,
) {
    if expected.len() != came.len() {
        return differences.push(format!("{name}: expected {} numbers, came {}", expected.len(), came.len()));
    }
    for (i, (expected, came)) in expected.iter().zip(came).enumerate() {
        compare_number(&format!("{name}[{i}]"), *expected, *came, scale, tolerance, differences);
    }
}

fn compare_number<T: Real>(
    name: &str,
    expected: T,
    came: T,
    scale: f64,
    tolerance: Tolerance,
    differences: &mut Vec<String>,
) {
    let bound = tolerance.0 * scale.abs();
    let (a, b) = (expected.to_f64(), came.to_f64());
    let holds = a == b || (a.is_nan() && b.is_nan()) || (a.is_finite() && (a - b).abs() <= bound);
    if !holds {
        differences.push(format!("{name}: expected {a}, came {b} ({bound:.1e} allowed)"));
    }
}
