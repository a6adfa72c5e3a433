//! Panics of the runtime, and its stack.

use std::fmt::Display;
use std::thread;

use kaldera_base::panics::catch_with_workers;

/// How RTen names the threads of its pools, which resume panics in the thread that waits.
const WORKERS: &str = "rten-";

/// Calls the runtime; a panic is an error with its message.
pub(crate) fn guarded<T, E: Display>(call: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    // What the panic may have left half done is dropped with the closure, but for the runtime's pools
    // of buffers, which hold no values.
    match catch_with_workers(WORKERS, call) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(message) => Err(format!("the runtime panicked: {message}")),
    }
}

/// Runs what goes from node to node by recursion. A graph of many nodes gets a thread of its own, whose
/// stack holds as many calls.
///
/// # Errors
/// Those of `call`, and where no thread can be started.
pub(crate) fn with_stack<T: Send>(
    num_nodes: usize,
    call: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    /// More than a call takes without optimisation. It is memory only where it is written to.
    const OF_NODE: usize = 1 << 13;
    /// Nodes that the smallest stack of a thread has room for.
    const FEW: usize = 1 << 7;
    if num_nodes <= FEW {
        return call();
    }
    let stack = (1 << 21) + num_nodes * OF_NODE;
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(stack).spawn_scoped(scope, call);
        let thread = thread.map_err(|error| format!("no thread can be started for its {num_nodes} nodes: {error}"))?;
        thread.join().unwrap_or_else(|_| Err("the runtime panicked".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        assert_eq!(guarded(|| Ok::<_, String>(1)), Ok(1));
        assert_eq!(guarded(|| Err::<(), _>("refused")), Err("refused".to_owned()));
        let panicked = guarded(|| -> Result<(), String> { panic!("no {}\nmore", "rows") });
        assert_eq!(panicked, Err("the runtime panicked: no rows more".to_owned()));
    }

    #[test]
    fn panics_reach_us_from_threads_that_are_known_by_name() {
        let pool = rten::ThreadPool::with_num_threads(1);
        let name = pool.run(|| std::thread::current().name().map(str::to_owned));
        assert!(name.is_some_and(|name| name.starts_with(WORKERS)));
        let panicked = guarded(|| -> Result<(), String> { pool.run(|| panic!("in a pool")) });
        assert_eq!(panicked, Err("the runtime panicked: in a pool".to_owned()));
    }
}
