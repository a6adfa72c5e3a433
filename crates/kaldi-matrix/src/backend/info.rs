//! What is underneath, for people to see.

use std::fmt;

use crate::backend::choice::{Library, WISH};

/// The libraries of this build and how one of them is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendInfo {
    /// OpenBLAS, with the feature `openblas`.
    pub openblas: Option<OpenBlasInfo>,
    /// Is faer there, with the feature `pure`?
    pub pure: bool,
    /// Which of them computes.
    pub choice: Choice,
    /// The value of `KALDERA_BACKEND`, if it names no library of this build and so has no effect.
    pub ignored: Option<String>,
}

/// What the OpenBLAS that was loaded says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenBlasInfo {
    /// Version and build options.
    pub config: String,
    /// The processor that it takes this one for; on a newer one than it knows, that can be half as
    /// fast.
    pub corename: String,
    /// Threads that a call may use: 1, unless `OPENBLAS_NUM_THREADS` says otherwise.
    pub threads: usize,
}

/// Which library computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Loops of ours; there is no library.
    Plain,
    /// OpenBLAS: it is the only one, or `KALDERA_BACKEND` asks for it.
    OpenBlas,
    /// faer: it is the only one, or `KALDERA_BACKEND` asks for it.
    Pure,
    /// For each operation and shape the one that was measured to be faster.
    Fastest,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain loops",
            Self::OpenBlas => "openblas",
            Self::Pure => "pure",
            Self::Fastest => "the faster for each operation and shape",
        })
    }
}

/// Ends the threads that OpenBLAS starts, one for each further processor, when a program that is
/// linked with it is loaded. They have nothing to do, since we call it with one thread, but wait in
/// a busy loop for some hundred milliseconds.
///
/// To be called first thing in `main`, before anything else calls OpenBLAS. Without the feature
/// `openblas`, or with `OPENBLAS_NUM_THREADS` set, it does nothing.
///
/// ```
/// kaldi_matrix::stop_idle_blas_threads();
/// // ... the rest of `main`
/// ```
pub fn stop_idle_blas_threads() {
    #[cfg(feature = "openblas")]
    super::openblas::stop_idle_threads();
}

/// The libraries underneath, as `kaldera info` prints them.
///
/// ```
/// let info = kaldi_matrix::backend_info();
/// println!("products are computed by {}", info.choice);
/// ```
pub fn backend_info() -> BackendInfo {
    let choice = match WISH.backend {
        Some(Library::Plain) => Choice::Plain,
        #[cfg(feature = "openblas")]
        Some(Library::OpenBlas) => Choice::OpenBlas,
        #[cfg(feature = "pure")]
        Some(Library::Pure) => Choice::Pure,
        None => match (cfg!(feature = "openblas"), cfg!(feature = "pure")) {
            (true, true) => Choice::Fastest,
            (true, false) => Choice::OpenBlas,
            (false, true) => Choice::Pure,
            (false, false) => Choice::Plain,
        },
    };
    #[cfg(feature = "openblas")]
    let openblas = {
        let (config, corename, threads) = super::openblas::info();
        Some(OpenBlasInfo { config, corename, threads })
    };
    #[cfg(not(feature = "openblas"))]
    let openblas = None;
    BackendInfo { openblas, pure: cfg!(feature = "pure"), choice, ignored: WISH.ignored.clone() }
}
