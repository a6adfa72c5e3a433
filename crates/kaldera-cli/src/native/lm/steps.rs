//! Progress of the steps of a run: sizes, time and peak memory.

use std::fmt::Display;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kaldera::fsa::graphs::{NgramModel, Progress};

use crate::log::say;
use crate::memory::{megabytes, peak_memory};

/// Interval of progress lines without a terminal.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// A step of a run.
pub(super) struct Step {
    what: String,
    start: Instant,
    quiet: bool,
    bar: Option<ProgressBar>,
    next: Instant,
}

impl Step {
    pub(super) fn start(what: impl Display, quiet: bool) -> Self {
        let start = Instant::now();
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} n-grams ({eta} left)") {
                bar.set_style(style);
            }
            bar
        });
        Self { what: what.to_string(), start, quiet, bar, next: start + REPORT_EVERY }
    }

    /// Reports the progress of the step.
    pub(super) fn tell(&mut self, progress: Progress) {
        let Progress { step, done, of, .. } = progress;
        if let Some(bar) = &self.bar {
            bar.set_length(of.unwrap_or(done));
            bar.set_position(done);
        } else if !self.quiet && Instant::now() >= self.next {
            let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
            say(format_args!("{step}: {done}{of}"));
            self.next = Instant::now() + REPORT_EVERY;
        }
    }

    /// Reports the result of the step.
    pub(super) fn end(self, result: impl Display) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if !self.quiet {
            let peak = peak_memory().map(|bytes| format!(", peak memory {}", megabytes(bytes))).unwrap_or_default();
            say(format_args!("{}: {result}; {:.2} s{peak}", self.what, self.start.elapsed().as_secs_f64()));
        }
    }
}

/// Formats the sizes of a model: its n-grams by order.
pub(super) fn sizes(model: &NgramModel) -> String {
    let counts: Vec<_> = (1..=model.order()).map(|order| model.num_ngrams_of(order).to_string()).collect();
    format!("{} n-grams ({})", model.num_ngrams(), counts.join(" + "))
}
