//! The library's warnings as Python's, of the category `kaldera.KalderaWarning`.
//!
//! A warning may come from a thread that must not wait for Python's lock: the holder of the lock
//! may wait for that thread. The warning is therefore kept. The call that it belongs to reports
//! it, once that call has the lock again. A thread that works for calls of several threads of
//! Python leaves its warnings to the next call that ends.
//!
//! A forked process inherits a mutex in the state in which another thread held it. So it uses its
//! own mutex.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt::Debug;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_core::span::Current;

pyo3::create_exception!(
    kaldera,
    KalderaWarning,
    PyUserWarning,
    "What was wrong with a file and could be passed over, such as a damaged part."
);

/// State shared by all threads.
struct Shared {
    /// The spans now open, such as files being read, with the number of holders of each.
    spans: BTreeMap<u64, Span>,
    last_span: u64,
    /// Warnings of threads that are in no call.
    told: Vec<String>,
}

struct Span {
    text: String,
    metadata: &'static Metadata<'static>,
    holders: usize,
}

/// The state shared by the threads of a process, and the state of its forks.
struct Process {
    shared: Mutex<Shared>,
    fork: OnceLock<Box<Process>>,
}

impl Process {
    const fn new() -> Self {
        Self {
            shared: Mutex::new(Shared { spans: BTreeMap::new(), last_span: 0, told: Vec::new() }),
            fork: OnceLock::new(),
        }
    }
}

/// The first process, and how many forks after it this one is.
static FIRST: Process = Process::new();
static FORKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The spans that this thread is in.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    /// The warnings of the call that this thread is in.
    static OF_CALL: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

fn shared() -> MutexGuard<'static, Shared> {
    let forks = 0..FORKS.load(Ordering::Relaxed);
    let process = forks.fold(&FIRST, |process, _| process.fork.get_or_init(|| Box::new(Process::new())));
    process.shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to keep warnings.
pub(crate) fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("KalderaWarning", py.get_type::<KalderaWarning>())?;
    // Of two interpreters in a process the first has set it.
    let _ = tracing::subscriber::set_global_default(Kept);
    let at_exit = wrap_pyfunction!(tell_others, module)?;
    py.import("atexit")?.call_method1("register", (at_exit,))?;
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        let hooks = [("after_in_child", wrap_pyfunction!(forked, module)?)];
        register.call((), Some(&hooks.into_py_dict(py)?))?;
    }
    Ok(())
}

#[pyfunction]
fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The result of `work`, and its warnings.
pub(crate) fn kept<R>(work: impl FnOnce() -> R) -> (R, Vec<String>) {
    // Reading a file object of Python's may call back into this library.
    let outer = OF_CALL.replace(Some(Vec::new()));
    let made = work();
    (made, OF_CALL.replace(outer).unwrap_or_default())
}

/// Issues warnings of a call, and warnings that other threads left.
///
/// # Errors
/// The first that a filter of Python makes an exception of.
pub(crate) fn tell(py: Python<'_>, of_call: Vec<String>) -> PyResult<()> {
    let others = mem::take(&mut shared().told);
    let mut result = Ok(());
    for text in of_call.into_iter().chain(others) {
        result = result.and(warn(py, &py.get_type::<KalderaWarning>(), &text));
    }
    result
}

#[pyfunction]
fn tell_others(py: Python<'_>) -> PyResult<()> {
    tell(py, Vec::new())
}

/// A warning about the line outside of this package that is being executed.
pub(crate) fn warn(py: Python<'_>, category: &Bound<'_, PyAny>, text: &str) -> PyResult<()> {
    // Keys and files may be anything: control characters, which a terminal would obey, and ends
    // of lines are escaped.
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_debug()) } else { line.push(c) }
    }
    let line = CString::new(line)?;
    PyErr::warn(py, category, &line, level(py).unwrap_or(1))
}

/// The number of calls up to that line. At the end of the interpreter there is none.
fn level(py: Python<'_>) -> PyResult<i32> {
    let mut frame = py.import("sys")?.call_method0("_getframe")?;
    let mut level = 1;
    loop {
        let name = frame.getattr("f_globals")?.get_item("__name__")?.to_string();
        frame = frame.getattr("f_back")?;
        if !(name == "kaldera" || name.starts_with("kaldera.")) || frame.is_none() {
            return Ok(level);
        }
        level += 1;
    }
}

/// Keeps warnings until they can be issued.
struct Kept;

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let mut shared = shared();
        shared.last_span += 1;
        let id = shared.last_span;
        let text = fields.others.join(", ");
        shared.spans.insert(id, Span { text, metadata: span.metadata(), holders: 1 });
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut text = fields.message;
        let entered = ENTERED.with_borrow(Clone::clone);
        let mut shared = shared();
        for span in entered.iter().filter_map(|id| shared.spans.get(id)).filter(|span| !span.text.is_empty()) {
            text += &format!(" ({} {})", span.metadata.name(), span.text);
        }
        let text = OF_CALL.with_borrow_mut(|of_call| match of_call {
            Some(of_call) => {
                of_call.push(text);
                None
            }
            None => Some(text),
        });
        shared.told.extend(text);
    }

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(last) = entered.iter().rposition(|&id| id == span.into_u64()) {
                entered.remove(last);
            }
        });
    }

    fn clone_span(&self, span: &Id) -> Id {
        if let Some(span) = shared().spans.get_mut(&span.into_u64()) {
            span.holders += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let (mut shared, id) = (shared(), span.into_u64());
        let Some(span) = shared.spans.get_mut(&id) else { return false };
        span.holders -= 1;
        let is_last = span.holders == 0;
        if is_last {
            shared.spans.remove(&id);
        }
        is_last
    }

    fn current_span(&self) -> Current {
        let Some(id) = ENTERED.with_borrow(|entered| entered.last().copied()) else { return Current::none() };
        match shared().spans.get(&id) {
            Some(span) => Current::new(Id::from_u64(id), span.metadata),
            None => Current::none(),
        }
    }
}

/// The message of an event, and the other fields of the event or of a span.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.others.push(format!("{name}={value:?}")),
        }
    }
}
