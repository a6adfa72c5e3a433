//! Panics of the runtime, and its stack.

use std::fmt::Display;
use std::thread;

use kaldera_base::panics::catch_with_workers;

/// Prefix of the names of RTen's pool threads. A panic there is resumed in the thread that waits.
const WORKERS: &str = "rten-";

/// Calls the runtime. A panic becomes an error with its message.
pub(crate) fn guarded<T, E: Display>(call: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    // State that a panic left half done is dropped with the closure, except for the runtime's
    // buffer pools, which hold no values.
    match catch_with_workers(WORKERS, call) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(message) => Err(format!("the runtime panicked: {message}")),
    }
}

/// Runs a call that recurses from node to node. For a graph of many nodes it runs on its own
/// thread, with a stack for that many calls.
///
/// # Errors
/// The errors of `call`, and an error if no thread can be started.
pub(crate) fn with_stack<T: Send>(
    num_nodes: usize,
    call: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    /// More bytes than a call takes without optimisation. Memory is used only for the part that is
    /// written.
    const OF_NODE: usize = 1 << 13;
    /// Number of nodes that fit on the smallest stack of a thread.
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
