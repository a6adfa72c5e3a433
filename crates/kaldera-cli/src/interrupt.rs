//! Ctrl-C, and SIGTERM from a cluster that takes a job away: the process ends promptly and leaves
//! nothing half-written.
//!
//! A flag asks the work to end, and the work checks the flag at least once per recording. Work that
//! waits for a pipe or a FIFO does not check flags. For this case a thread also waits for the
//! signal and ends the process if the work has not ended by itself.

#[cfg(feature = "onnx")]
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
#[cfg(unix)]
use std::time::Duration;
use std::{io, thread};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::log::say;

/// Time that work which checks the flag has to end by itself.
#[cfg(unix)]
const GRACE: Duration = Duration::from_millis(150);

/// Number of attempts to remove a folder that others may change meanwhile.
#[cfg(all(unix, feature = "onnx"))]
const REMOVALS: usize = 3;

/// Stack size of a thread that only waits.
#[cfg(unix)]
const STACK_BYTES: usize = 1 << 17;

struct Watch {
    stop: Arc<AtomicBool>,
    /// Exit status that shells report for a process ended by the signal; 0 before a signal has
    /// come.
    status: Arc<AtomicUsize>,
    /// A thread already reports the end and ends the process.
    ending: AtomicBool,
}

static WATCH: LazyLock<Watch> = LazyLock::new(|| Watch {
    stop: Arc::new(AtomicBool::new(false)),
    status: Arc::new(AtomicUsize::new(0)),
    ending: AtomicBool::new(false),
});

/// The tool, and the state that it leaves if it is stopped, for the message to the user.
static TOLD: OnceLock<(&str, &str)> = OnceLock::new();

/// Starts to watch for signals. The first signal sets the flag and soon after ends the process with
/// a line that says that `tool` was stopped and gives the state `left`. A second signal ends the
/// process at once.
pub(crate) fn watch(tool: &'static str, left: &'static str) -> &'static AtomicBool {
    if begin(tool, left, true) {
        #[cfg(unix)]
        if let Err(error) = end_if_the_work_does_not() {
            tracing::debug!("Ctrl-C will not end this while it waits for a pipe: {error}");
        }
    }
    &WATCH.stop
}

/// Like [`watch`], for work that always checks the flag: after the first signal no thread ends the
/// process, however long the work takes to end.
pub(crate) fn watch_flag(tool: &'static str, left: &'static str) -> &'static AtomicBool {
    begin(tool, left, true);
    &WATCH.stop
}

/// Like [`watch_flag`], for work that makes `folder`: a second signal removes the folder and ends
/// the process.
#[cfg(feature = "onnx")]
pub(crate) fn watch_folder(tool: &'static str, left: &'static str, folder: PathBuf) -> &'static AtomicBool {
    let watched = remove_at_the_second(folder);
    if let Err(error) = &watched {
        tracing::debug!("a second Ctrl-C will leave a temporary folder: {error}");
    }
    begin(tool, left, watched.is_err());
    &WATCH.stop
}

/// Registers signals to set the flag, and the second signal to end the process if `at_once`.
/// Returns `true` on the first call.
fn begin(tool: &'static str, left: &'static str, at_once: bool) -> bool {
    let is_first = TOLD.set((tool, left)).is_ok();
    if is_first && let Err(error) = register(SIGINT, at_once).and_then(|()| register(SIGTERM, at_once)) {
        tracing::warn!("Ctrl-C will end this at once, and may leave temporary files: {error}");
    }
    is_first
}

fn register(signal: i32, at_once: bool) -> io::Result<()> {
    let status = 128 + signal;
    // The shutdown must come first: it fires only if an earlier signal has set the flag.
    if at_once {
        flag::register_conditional_shutdown(signal, status, Arc::clone(&WATCH.stop))?;
    }
    let status = usize::try_from(status).map_err(io::Error::other)?;
    flag::register_usize(signal, Arc::clone(&WATCH.status), status)?;
    flag::register(signal, Arc::clone(&WATCH.stop)).map(drop)
}

/// Starts the thread that ends the process if the work does not.
#[cfg(unix)]
fn end_if_the_work_does_not() -> io::Result<()> {
    use kaldera::io::rxfilename::end_commands;
    use kaldera::pipeline::PartialFile;

    end_after(1, || {
        thread::sleep(GRACE);
        end_commands();
        PartialFile::remove_all();
    })
}

/// Starts the thread that removes `folder` and ends the process at the second signal.
#[cfg(all(unix, feature = "onnx"))]
fn remove_at_the_second(folder: PathBuf) -> io::Result<()> {
    end_after(2, move || {
        // The work may still write a file into the folder, or be removing it, too.
        for _ in 0..REMOVALS {
            if std::fs::remove_dir_all(&folder).is_ok() {
                break;
            }
        }
    })
}

#[cfg(all(not(unix), feature = "onnx"))]
fn remove_at_the_second(_folder: PathBuf) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Starts a thread that runs `prepare` and ends the process after this number of signals.
#[cfg(unix)]
fn end_after(signals: usize, prepare: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use signal_hook::low_level::pipe;

    let (mut told, tell) = UnixStream::pair()?;
    pipe::register(SIGINT, tell.try_clone()?)?;
    pipe::register(SIGTERM, tell)?;
    let wait = move || {
        if told.read_exact(&mut vec![0; signals]).is_ok() {
            prepare();
            std::process::exit(i32::from(end()));
        }
    };
    thread::Builder::new().name("signals".to_owned()).stack_size(STACK_BYTES).spawn(wait).map(drop)
}

/// Reports that the work was stopped, and returns the exit status. Only one thread gets here; any
/// other thread waits until the first one ends the process.
fn end() -> u8 {
    while WATCH.ending.swap(true, Ordering::SeqCst) {
        thread::park();
    }
    if let Some((tool, left)) = TOLD.get() {
        say(format_args!("kaldera {tool}: stopped; {left}"));
    }
    u8::try_from(WATCH.status.load(Ordering::SeqCst)).unwrap_or(u8::MAX)
}

/// Returns the exit status of work that was stopped and has cleaned up.
pub(crate) fn stopped() -> ExitCode {
    ExitCode::from(end())
}
