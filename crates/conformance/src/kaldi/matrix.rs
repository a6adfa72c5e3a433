//! Kaldi's matrix library: `kaldi/matrix.json`, whose records are calls with their results, in
//! either precision.
//!
//! ```text
//! {"op": "Vector.AddVec2",                             match of a topic's file
//!  "type": "f32",                                      T
//!  "in": {"x": [..], "v": [..], "alpha": -1.5},        the Record itself
//!  "out": {"x": [..]}}                                 held against the Answer
//! ```
//!
//! Each operation makes the call on the values of a [`Record`] and returns the result as an
//! [`Answer`]. To add one, write it as an arm of `run` in its topic's file; an operation that no
//! file names is counted as not run.

mod answer;
mod dense;
mod feat;
#[cfg(feature = "fft")]
mod fourier;
#[cfg(any(feature = "openblas", feature = "pure"))]
mod library;
mod packed;
mod record;
mod stored;
mod vector;

use kaldera::base::Real;
use serde_json::Value;

use answer::Answer;
use record::Record;

use crate::{Stop, Verdict, caught};

/// The verdict on a record of `matrix.json`.
pub(crate) fn judge_matrix(case: &Value) -> Verdict {
    match case["type"].as_str() {
        Some("f32") => judge::<f32>(case, run),
        Some("f64") => judge::<f64>(case, run),
        _ => Verdict::fails("the case itself is damaged: its type is neither f32 nor f64".into()),
    }
}

/// Makes the call of a record, whose operation is in any topic, and returns its result.
fn run<T: Real>(record: &Record<'_, T>) -> Result<Answer, Stop> {
    let topics = [
        vector::run,
        dense::run,
        packed::run,
        #[cfg(any(feature = "openblas", feature = "pure"))]
        library::run,
        stored::run,
        #[cfg(feature = "fft")]
        fourier::run,
        feat::run,
    ];
    let came = topics.iter().map(|run| run(record)).find(|came| !matches!(came, Err(Stop::NotRun)));
    came.unwrap_or(Err(Stop::NotRun))
}

fn judge<T: Real>(case: &Value, run: impl FnOnce(&Record<'_, T>) -> Result<Answer, Stop>) -> Verdict {
    let Some(record) = Record::new(case) else {
        return Verdict::fails("the case itself is damaged: no op, in or out".into());
    };
    match caught(|| run(&record)) {
        Ok(answer) => Verdict::of(answer.differences(&record)),
        Err(stop) => stop.verdict(&format!("expected {}, ", record.out.value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Makes a call on the values v and m.
    type Operation = fn(&Record<'_, f64>) -> Result<Answer, Stop>;

    fn verdict(operation: Operation, out: Value) -> Verdict {
        let given = json!({"v": [1, -2.5, "inf"], "m": [[1, 2], [3, 4]]});
        judge(&json!({"op": "x", "type": "f64", "in": given, "out": out}), operation)
    }

    #[track_caller]
    fn fails(verdict: Verdict, why: &str) {
        let Verdict::Fails(differences) = verdict else { panic!("{verdict:?}") };
        assert!(differences.iter().any(|difference| difference.contains(why)), "{differences:?}");
    }

    #[test]
    fn numbers_agree_within_the_tolerance_and_no_more() {
        let copy: Operation = |record| Ok(Answer::new().vector("v", &record.vector("v")?));
        assert_eq!(verdict(copy, json!({"v": [1, -2.5, "inf"]})), Verdict::Holds);
        assert_eq!(verdict(copy, json!({"v": [1.000_000_000_002, -2.5, "inf"]})), Verdict::Holds);
        fails(verdict(copy, json!({"v": [1.000_000_000_003, -2.5, "inf"]})), "v[0]: expected");
        fails(verdict(copy, json!({"v": [1, -2.5, "-inf"]})), "v[2]: expected -inf, came inf");
        fails(verdict(copy, json!({"v": [1, -2.5, "nan"]})), "v[2]: expected NaN, came inf");
        fails(verdict(copy, json!({"v": [1, -2.5]})), "v: expected 2 numbers, came 3");
    }

    #[test]
    fn matrices_have_a_shape() {
        let copy: Operation = |record| Ok(Answer::new().matrix("m", &record.matrix("m")?));
        assert_eq!(verdict(copy, json!({"m": [[1, 2], [3, 4]]})), Verdict::Holds);
        fails(verdict(copy, json!({"m": [[1, 2], [3, 5]]})), "m[1][1]: expected 5");
        fails(verdict(copy, json!({"m": [1, 2]})), "m[0]: expected a row");
        fails(verdict(copy, json!({"m": [[1, 2]]})), "m: expected 1 rows, came 2");
    }

    #[test]
    fn counts_texts_and_truths_are_exact() {
        let exact: Operation = |_| Ok(Answer::new().exact("n", 3).exact("t", "ab").exact("b", true));
        assert_eq!(verdict(exact, json!({"n": 3, "t": "ab", "b": true})), Verdict::Holds);
        fails(verdict(exact, json!({"n": 4, "t": "ab", "b": true})), "n: expected 4, came 3");
        fails(verdict(exact, json!({"n": 3, "t": "ab ", "b": true})), "t: expected \"ab \", came \"ab\"");
        fails(verdict(exact, json!({"n": 3, "t": "ab", "b": false})), "b: expected false, came true");
    }

    #[test]
    fn every_field_must_be_accounted_for() {
        let free: Operation = |_| Ok(Answer::new().free("u").near("the product", &[1.0, 2.0], &[1.0, 2.0]));
        assert_eq!(verdict(free, json!({"u": [1]})), Verdict::Holds);
        fails(verdict(free, json!({"u": [1], "w": 2})), "w: expected 2, came nothing");
        fails(verdict(free, json!({})), "u: not in the known answer");
        let wrong: Operation = |_| Ok(Answer::new().near("the product", &[1.0, 2.0], &[1.0, 2.1]));
        fails(verdict(wrong, json!({})), "the product[1]: expected 2, came 2.1");
    }

    #[test]
    fn what_cannot_be_run_is_no_pass() {
        let damaged: Operation = |record| record.vector("w").map(|_| Answer::new());
        fails(verdict(damaged, json!({})), "the case itself is damaged: w");
        let refused: Operation = |record| Ok(record.matrix("m")?.range(0, 3, 0, 1).map(|_| Answer::new())?);
        fails(verdict(refused, json!({})), "came the error: rows 0..3");
        let panics: Operation = |_| panic!("on purpose");
        fails(verdict(panics, json!({})), "came a panic: on purpose");
        let unheard_of = json!({"op": "unheard-of", "type": "f32", "in": {}, "out": {}});
        assert_eq!(judge::<f32>(&unheard_of, run), Verdict::NotRun);
    }
}
