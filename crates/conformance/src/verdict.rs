//! The outcome of a case, and of a file of cases.

use std::fmt;
use std::io::{self, Write};
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The outcome of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A binding case that agrees with the known answer.
    Holds,
    /// A binding case that does not: every difference found, with the expected value and ours.
    Fails(Vec<String>),
    /// A case that the set's README declares free; the remark reports a crash of the code on it.
    Free(Option<String>),
    /// A case whose group or operation has no code yet.
    NotRun,
}

/// The result of the code of a case, or the message of its panic.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        format!("came a panic: {}", words.unwrap_or("(silent)"))
    })
}

impl Verdict {
    /// Of a binding case, by the differences found.
    pub(crate) fn of(differences: Vec<String>) -> Self {
        if differences.is_empty() { Self::Holds } else { Self::Fails(differences) }
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

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
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
