//! The outcome of a case, and of a file of cases.

use std::fmt;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The outcome of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A binding case that agrees with the known answer.
    Holds,
    /// A binding case that does not: every difference found, with the expected value and ours.
    Fails(Vec<String>),
    /// A case that the set's README declares free, or whose input does not determine the answer;
    /// the remark reports a crash of the code on it, or the differences.
    Free(Option<String>),
    /// A case whose group or operation has no code yet.
    NotRun,
}

/// A reason for which a case has no result to compare.
#[derive(Debug)]
pub(crate) enum Stop {
    /// There is no code for the case.
    NotRun,
    /// The case cannot be read.
    Damaged(String),
    /// The call returned an error.
    Refused(String),
    /// The call panicked.
    Panicked(String),
}

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Refused(error.to_string())
    }
}

impl Stop {
    /// The verdict on a binding case; `expected` introduces the error or the panic.
    pub(crate) fn verdict(self, expected: &str) -> Verdict {
        Verdict::fails(match self {
            Self::NotRun => return Verdict::NotRun,
            Self::Damaged(why) => format!("the case itself is damaged: {why}"),
            Self::Refused(error) => format!("{expected}came the error: {error}"),
            Self::Panicked(panic) => format!("{expected}came a panic: {panic}"),
        })
    }
}

/// The result of the code of a case, which may panic.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Stop::Panicked(words.unwrap_or("(silent)").into()))
    })
}

/// The verdict on a case whose code returns the differences.
pub(crate) fn judge(run: impl FnOnce() -> Result<Vec<String>, Stop>) -> Verdict {
    caught(run).map_or_else(|stop| stop.verdict(""), Verdict::of)
}

/// The difference `tell`, unless there is none.
pub(crate) fn unless(holds: bool, tell: impl FnOnce() -> String) -> Vec<String> {
    if holds { vec![] } else { vec![tell()] }
}

/// Returns `true` if two numbers are within `bound`, the same infinity, or both NaN.
pub(crate) fn near(expected: f64, came: f64, bound: f64) -> bool {
    let distance = (expected - came).abs();
    expected == came || (expected.is_nan() && came.is_nan()) || (distance.is_finite() && distance <= bound)
}

/// Returns `true` if two lists are as long and all their numbers are [`near`].
pub(crate) fn all_near(expected: &[f64], came: &[f64], bound: f64) -> bool {
    expected.len() == came.len() && expected.iter().zip(came).all(|(&a, &b)| near(a, b, bound))
}

/// The differences found in a case.
#[derive(Default)]
pub(crate) struct Differences(pub(crate) Vec<String>);

impl Differences {
    /// A difference, if there is one.
    pub(crate) fn equal<T: PartialEq<U> + fmt::Debug, U: fmt::Debug>(&mut self, what: &str, expected: T, came: U) {
        if expected != came {
            self.0.push(format!("{what}: expected {expected:?}, came {came:?}"));
        }
    }

    /// A difference of more than `tolerance`, if there is one.
    pub(crate) fn near(&mut self, what: &str, expected: f64, came: f64, tolerance: f64) {
        if !near(expected, came, tolerance) {
            self.0.push(format!("{what}: expected {expected}, came {came}"));
        }
    }

    /// A difference in words, unless `holds`.
    pub(crate) fn check(&mut self, holds: bool, tell: impl FnOnce() -> String) {
        self.0.extend((!holds).then(tell));
    }

    /// The verdict on a binding case.
    pub(crate) fn verdict(self) -> Result<Verdict, Stop> {
        Ok(Verdict::of(self.0))
    }
}

impl Verdict {
    /// Of a binding case, by the differences found.
    pub(crate) fn of(differences: Vec<String>) -> Self {
        if differences.is_empty() { Self::Holds } else { Self::Fails(differences) }
    }

    /// Of a binding case with one difference.
    pub(crate) fn fails(difference: String) -> Self {
        Self::Fails(vec![difference])
    }

    pub(crate) fn explain(&self, id: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Fails(differences) => {
                writeln!(out, "FAILED {id}")?;
                differences.iter().try_for_each(|difference| writeln!(out, "    {difference}"))
            }
            Self::Free(Some(remark)) => writeln!(out, "free {id}: {remark}"),
            Self::Holds | Self::Free(None) | Self::NotRun => Ok(()),
        }
    }
}

/// Counts of verdicts. Its text is the rest of a file's line: `120 of 120 hold, 3 free, 40 not
/// run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Binding cases that hold.
    pub hold: usize,
    /// Binding cases that were run and fail.
    pub fail: usize,
    /// Cases that are not binding.
    pub free: usize,
    /// Cases that have no code yet.
    pub not_run: usize,
    /// Files that are damaged or that no runner knows.
    pub broken_files: usize,
}

impl Totals {
    /// Returns `true` if every case was run and every binding one holds.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.fail == 0 && self.not_run == 0 && self.broken_files == 0
    }

    pub(crate) fn add(&mut self, verdict: &Verdict) {
        let count = match verdict {
            Verdict::Holds => &mut self.hold,
            Verdict::Fails(_) => &mut self.fail,
            Verdict::Free(_) => &mut self.free,
            Verdict::NotRun => &mut self.not_run,
        };
        *count += 1;
    }
}

impl Totals {
    /// Adds the counts of a stage.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.hold += other.hold;
        self.fail += other.fail;
        self.free += other.free;
        self.not_run += other.not_run;
        self.broken_files += other.broken_files;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} hold", self.hold, self.hold + self.fail)?;
        if self.free > 0 {
            write!(f, ", {} free", self.free)?;
        }
        if self.not_run > 0 {
            write!(f, ", {} not run", self.not_run)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_only_what_there_is() {
        let mut totals = Totals { hold: 3, ..Totals::default() };
        assert_eq!(totals.to_string(), "3 of 3 hold");
        assert!(totals.complete());
        totals.add(&Verdict::Free(None));
        assert!(totals.complete());
        totals.add(&Verdict::NotRun);
        totals.add(&Verdict::Fails(vec!["x".into()]));
        assert_eq!(totals.to_string(), "3 of 4 hold, 1 free, 1 not run");
        assert!(!totals.complete());
    }
}
