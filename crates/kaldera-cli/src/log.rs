//! Log lines on stderr, in the form that scripts around Kaldi look for.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};

use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// From now on, events of every crate go to stderr as lines of `tool`; `verbose` is Kaldi's `--verbose` level.
///
/// A process is one tool, as in Kaldi: a second call keeps the first one's settings.
pub(crate) fn init(tool: &'static str, verbose: i32) {
    let level = match verbose {
        ..0 => LevelFilter::WARN,
        0 => LevelFilter::INFO,
        1 => LevelFilter::DEBUG,
        2.. => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        // Its complaint about a closed stderr would be a panic.
        .log_internal_errors(false)
        .event_format(KaldiLine { tool })
        .finish();
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writes one line to stderr, which may be closed: then nobody is there to tell.
pub(crate) fn say(text: impl fmt::Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// An error and what caused it, on one line, with options in place of fields.
pub(crate) fn one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Many errors already tell their cause.
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    printable(&kaldera::feat::options::fields_to_options(&line))
}

/// Keys and files may be anything: what a terminal would obey, and ends of lines, are spelled out.
fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_debug()) } else { line.push(c) }
    }
    line
}

/// `WARNING (compute-mfcc-feats[kaldera 0.1.0]:kaldi_io::wave:55) the recording is truncated: ... (reading key="a" file="a.wav")`
struct KaldiLine {
    tool: &'static str,
}

impl<S, N> FormatEvent<S, N> for KaldiLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let metadata = event.metadata();
        let severity = match *metadata.level() {
            Level::ERROR => "ERROR",
            Level::WARN => "WARNING",
            Level::INFO => "LOG",
            Level::DEBUG => "VLOG[1]",
            Level::TRACE => "VLOG[2]",
        };
        let (tool, version) = (self.tool, env!("CARGO_PKG_VERSION"));
        write!(writer, "{severity} ({tool}[kaldera {version}]:{}", metadata.target())?;
        if let Some(line) = metadata.line() {
            write!(writer, ":{line}")?;
        }
        writer.write_str(") ")?;
        let mut text = String::new();
        ctx.field_format().format_fields(Writer::new(&mut text), event)?;
        for span in ctx.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                fmt::Write::write_fmt(&mut text, format_args!(" ({} {fields})", span.name()))?;
            }
        }
        writeln!(writer, "{}", printable(&text))
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
    }
}
