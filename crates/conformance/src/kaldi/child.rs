//! The real command, in a separate process.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::case::ManifestCase;
use crate::Settings;

/// The way in which a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut(Duration),
}

/// Rust's exit status after a panic.
const PANIC: i32 = 101;

impl Ending {
    /// The ending, if it is one that no input may cause.
    pub(super) fn crash(self) -> Option<Self> {
        (!matches!(self, Self::Exited(status) if status != PANIC)).then_some(self)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(PANIC) => f.write_str("a panic (exit status 101)"),
            Self::Exited(status) => write!(f, "exit status {status}"),
            Self::Signalled(signal) => write!(f, "death by signal {signal}"),
            Self::TimedOut(limit) => write!(f, "no end within {} s", limit.as_secs_f32()),
        }
    }
}

/// Runs the case's command line in `folder`; gives its ending and the last line that it wrote to
/// stderr.
pub(super) fn run(settings: &Settings, folder: &Path, case: &ManifestCase) -> io::Result<(Ending, String)> {
    let stdout = match &case.stdout {
        Some(path) => File::create(folder.join(path))?.into(),
        None => Stdio::null(),
    };
    let mut stderr = tempfile::tempfile()?;
    let mut child = settings
        .command(&case.tool, folder)
        .args(&case.args)
        .env("LC_ALL", "C")
        .stdout(stdout)
        .stderr(stderr.try_clone()?)
        .spawn()?;
    let deadline = Instant::now() + settings.time_limit;
    let ending = loop {
        if let Some(status) = child.try_wait()? {
            break status.code().map_or_else(|| Ending::Signalled(signal(status)), Ending::Exited);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            break Ending::TimedOut(settings.time_limit);
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let mut said = Vec::new();
    stderr.rewind()?;
    stderr.read_to_end(&mut said)?;
    let last = String::from_utf8_lossy(&said)
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("(silent)")
        .to_owned();
    Ok((ending, last))
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> i32 {
    std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or_default()
}

/// Without signals every command has an exit status.
#[cfg(not(unix))]
fn signal(_: ExitStatus) -> i32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `script` in place of the command.
    fn sh(script: &str, seconds: f32) -> (Ending, String) {
        let folder = tempfile::tempdir().unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell.sh");
        let mut settings = Settings::new(folder.path().into(), program.into());
        settings.time_limit = Duration::from_secs_f32(seconds);
        let case = serde_json::json!({"id": "", "group": "", "tool": "", "args": [script], "exit": 0, "outputs": []});
        let case: ManifestCase = serde_json::from_value(case).unwrap();
        run(&settings, folder.path(), &case).unwrap()
    }

    #[test]
    fn endings_are_told_apart() {
        assert_eq!(sh("echo first >&2; echo last >&2; exit 255", 20.0), (Ending::Exited(255), "last".into()));
        assert_eq!(sh("kill -9 $$", 20.0), (Ending::Signalled(9), "(silent)".into()));
        assert!(matches!(sh("exec sleep 20", 0.2).0, Ending::TimedOut(_)));
        assert!(Ending::Exited(101).crash().is_some());
        assert!(Ending::Exited(1).crash().is_none());
    }
}
