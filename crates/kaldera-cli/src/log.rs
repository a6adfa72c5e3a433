//! Log lines on stderr: for Kaldi's programs in the form that Kaldi's scripts search for, for the
//! native command in plain words.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

use kaldera::base::text::with_causes;
use kaldera::feat::fields_to_options;
use tracing::callsite::Identifier;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use crate::parse_options::Syntax;

/// Sends events of every crate to stderr as lines of `tool`. `verbosity` is Kaldi's `--verbose`
/// level; `None` allows only errors.
///
/// A process is one tool, as in Kaldi: a second call keeps the settings of the first.
pub(crate) fn init(tool: &'static str, face: Syntax, verbosity: Option<i32>) {
    let level = match verbosity {
        None => LevelFilter::ERROR,
        Some(..0) => LevelFilter::WARN,
        Some(0) => LevelFilter::INFO,
        Some(1) => LevelFilter::DEBUG,
        Some(2..) => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        // An internal error about a closed stderr would panic.
        .log_internal_errors(false)
        .event_format(Line { tool, face, each: verbosity > Some(0) })
        .finish();
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writes lines to stderr, without control characters. A closed stderr is ignored.
pub(crate) fn say(text: impl fmt::Display) {
    let _ = io::stderr().write_all(format!("{}\n", printable_lines(&text.to_string())).as_bytes());
}

/// Writes to stdout, to a terminal without control characters. A reader that has closed the pipe is
/// no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    match print_strictly(&for_stdout(text)) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// Writes to stdout unchanged; a reader that has closed the pipe is an error.
pub(crate) fn print_strictly(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
}

/// Returns a text for stdout, without control characters if stdout is a terminal.
pub(crate) fn for_stdout(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { printable_lines(text).into() } else { text.into() }
}

/// Formats an error and its causes on one line, with options in place of field names.
pub(crate) fn one_line(error: &dyn Error) -> String {
    // Field names of the pipeline that are options here.
    let own =
        [("`min_seconds`", "--min-duration"), ("`allow_truncated`", "--allow-truncated"), ("`resample`", "--resample")];
    let line = own.iter().fold(with_causes(error), |line, (field, option)| line.replace(field, option));
    printable(&fields_to_options(&line))
}

/// Escapes control characters, which a terminal would obey, and line ends. Keys and file names may
/// hold any character.
pub(crate) fn printable(text: &str) -> String {
    spelled_out(text, char::is_control)
}

/// Like [`printable`], for a text of several lines, which may have tabs.
fn printable_lines(text: &str) -> String {
    spelled_out(text, |c| c.is_control() && c != '\n' && c != '\t')
}

fn spelled_out(text: &str, is_hidden: impl Fn(char) -> bool) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { line.extend(c.escape_debug()) } else { line.push(c) }
    }
    line
}

/// Warnings that were shown, by their place in the code, with the number of repetitions.
static TOLD: Mutex<Option<HashMap<Identifier, (String, u64)>>> = Mutex::new(None);

/// Returns `true` if a warning is the first of its kind; others are counted.
fn is_first(warning: Identifier, text: &str) -> bool {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let mut first = false;
    let (_, again) = told.get_or_insert_default().entry(warning).or_insert_with(|| {
        first = true;
        (text.to_owned(), 0)
    });
    *again += u64::from(!first);
    first
}

/// Reports the warnings that came more than once, as only the first of each kind was shown.
pub(crate) fn end(tool: &str) {
    let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut again: Vec<_> = told.into_iter().flatten().map(|(_, told)| told).filter(|(_, again)| *again > 0).collect();
    again.sort();
    for (text, again) in again {
        say(format_args!("kaldera {tool}: {again} more warnings like this (--verbose=1 shows all): {text}"));
    }
}

/// Format of log lines. Kaldi's programs write
/// `WARNING (compute-mfcc-feats[kaldera-0.1.0]:kaldi_io::wave:55) the recording is truncated: ...
/// (reading key="a" file="a.wav")`.
/// The native command writes `kaldera features: warning: the recording is truncated: ...`, and only
/// the first warning of each kind.
struct Line {
    tool: &'static str,
    face: Syntax,
    /// `true` to show all warnings of a kind.
    each: bool,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let metadata = event.metadata();
        let mut text = String::new();
        ctx.field_format().format_fields(Writer::new(&mut text), event)?;
        for span in ctx.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                fmt::Write::write_fmt(&mut text, format_args!(" ({} {fields})", span.name()))?;
            }
        }
        let (tool, text) = (self.tool, printable(&text));
        if self.face == Syntax::Native {
            let warns = *metadata.level() == Level::WARN;
            if warns && !self.each && !is_first(metadata.callsite(), &text) {
                return Ok(());
            }
            return writeln!(writer, "kaldera {tool}: {}{text}", if warns { "warning: " } else { "" });
        }
        let severity = match *metadata.level() {
            Level::ERROR => "ERROR",
            Level::WARN => "WARNING",
            Level::INFO => "LOG",
            Level::DEBUG => "VLOG[1]",
            Level::TRACE => "VLOG[2]",
        };
        let version = env!("CARGO_PKG_VERSION");
        write!(writer, "{severity} ({tool}[kaldera-{version}]:{}", metadata.target())?;
        if let Some(line) = metadata.line() {
            write!(writer, ":{line}")?;
        }
        writeln!(writer, ") {text}")
    }
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error)]
    #[error("cannot write 'x.ark'")]
    struct Outer {
        source: io::Error,
    }

    #[test]
    fn an_error_and_its_causes_fit_on_one_line() {
        let error = Outer { source: io::Error::other("no space\nleft") };
        assert_eq!(one_line(&error), r"cannot write 'x.ark': no space\nleft");
        assert_eq!(printable_lines("a\tb\n\u{1b}[2J\r"), "a\tb\n\\u{1b}[2J\\r");
    }
}
