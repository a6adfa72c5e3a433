//! Ctrl-C, and the SIGTERM of a cluster that takes a job away: the work ends in order, and leaves nothing half-written.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What shells tell of a process that Ctrl-C has ended.
const STOPPED: u8 = 130;

/// From now on, being asked to stop makes the flag true. Who asks a second time is not made to wait.
pub(crate) fn watch() -> &'static AtomicBool {
    static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = |signal| -> io::Result<()> {
            // In this order: what the first signal sets, the second finds.
            flag::register_conditional_shutdown(signal, i32::from(STOPPED), Arc::clone(&stop))?;
            flag::register(signal, Arc::clone(&stop)).map(drop)
        };
        if let Err(error) = watch(SIGINT).and_then(|()| watch(SIGTERM)) {
            tracing::warn!("Ctrl-C will end this at once, and may leave temporary files: {error}");
        }
        stop
    });
    &STOP
}

/// The exit status of what was stopped.
pub(crate) fn stopped() -> ExitCode {
    ExitCode::from(STOPPED)
}
