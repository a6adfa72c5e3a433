//! Drawings by an installed Graphviz.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::native::CliError;

/// The program that draws.
const DOT: &str = "dot";
/// Time limit of the program: graphs of a few thousand arcs take seconds, larger ones are
/// unreadable.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Returns the SVG that `dot` draws from a text in its language.
pub(super) fn svg(text: String) -> Result<String, CliError> {
    draw(Command::new(DOT).arg("-Tsvg"), text, TIME_LIMIT)
}

/// Returns the output of a program that reads `text`, if it succeeds in time.
fn draw(program: &mut Command, text: String, limit: Duration) -> Result<String, CliError> {
    let spawned = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "it is not installed; install the package graphviz".to_owned(),
            _ => error.to_string(),
        };
        CliError::Failed(format!("cannot run '{DOT}' of Graphviz: {why}; --format=dot needs no other program"))
    })?;
    // Each pipe has a thread, so that neither side blocks the other.
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    let start = || Ok((thread::Builder::new().spawn(write)?, reader(stdout)?, reader(stderr)?));
    let (writer, stdout, stderr) = start().map_err(|error: io::Error| {
        let _ = child.kill();
        let _ = child.wait();
        CliError::Failed(format!("cannot start a thread to run '{DOT}' of Graphviz: {error}; --format=dot needs none"))
    })?;
    let ended = wait(&mut child, limit);
    if !matches!(ended, Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
    }
    let status = match ended {
        Ok(Some(status)) => status,
        Ok(None) => {
            let seconds = limit.as_secs_f32();
            return Err(CliError::Failed(format!(
                "'{DOT}' of Graphviz did not end within {seconds} s: draw a part of it, or write --format=dot"
            )));
        }
        Err(error) => return Err(CliError::Failed(format!("cannot wait for '{DOT}' of Graphviz: {error}"))),
    };
    // If the program has not read all of the text, its status shows the error.
    let _ = writer.join();
    let text =
        |pipe: thread::JoinHandle<Vec<u8>>| String::from_utf8_lossy(&pipe.join().unwrap_or_default()).into_owned();
    let (drawn, said) = (text(stdout), text(stderr));
    if status.success() {
        return Ok(drawn);
    }
    Err(CliError::Failed(format!("'{DOT}' of Graphviz failed ({status}): {}", said.trim())))
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> io::Result<thread::JoinHandle<Vec<u8>>> {
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // The output before an error is shown.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the exit status; returns `None` if the time limit is reached.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(50));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn said(made: Result<String, CliError>) -> String {
        match made {
            Err(CliError::Failed(why) | CliError::Usage(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn large_texts_go_through_and_failures_are_told() {
        let long = "x".repeat(1 << 20);
        assert_eq!(draw(&mut Command::new("cat"), long.clone(), TIME_LIMIT).unwrap_or_default(), long);
        assert!(
            said(draw(Command::new("sh").args(["-c", "echo bad >&2; exit 3"]), long, TIME_LIMIT)).ends_with(": bad")
        );
        let absent = &mut Command::new("/no/such/program");
        assert!(said(draw(absent, String::new(), TIME_LIMIT)).contains("it is not installed"));
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let late = draw(Command::new("sleep").arg("60"), String::new(), Duration::from_millis(50));
        assert!(said(late).contains("did not end within 0.05 s"));
    }
}
