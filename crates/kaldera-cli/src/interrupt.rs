//! Ctrl-C, and the SIGTERM of a cluster that takes a job away: the work ends in order, and leaves nothing half-written.

use std::process::ExitCode;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// What shells tell of a process that Ctrl-C has ended.
const STOPPED: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

/// From now on, being asked to stop makes the flag true. Who asks a second time is not made to wait.
pub(crate) fn watch() -> &'static AtomicBool {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let set = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(STOPPED));
            }
        });
        if let Err(error) = set {
            tracing::warn!("Ctrl-C will end this at once, and may leave temporary files: {error}");
        }
    });
    &STOP
}

/// The exit status of what was stopped.
pub(crate) fn stopped() -> ExitCode {
    ExitCode::from(STOPPED)
}
