//! Cells with packed weights.

use std::fmt;
use std::sync::Arc;

use kaldera_base::Real;
use lod::LodTensor;

use crate::error::Error;
use crate::forward::pass;
use crate::kernels::steps::Forward;
use crate::state::{Direction, Output, State};

/// A cell ready to run, its weights checked and packed for the products of a step. Meant for
/// streams.
///
/// [`Cell::run`](crate::Cell::run) prepares the cell on each call. That reads all weights, as much
/// work as some steps. For calls of few steps, prepare the cell once. A `Prepared` is a copy: it
/// does not follow changes of the cell's weights and does not borrow the cell. Clones share it,
/// also between threads.
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::train::uniform;
/// use recurrent::{Cell, Direction, Gru};
///
/// let mut gru = Gru::<f32>::zeros(2, 3);
/// uniform(&mut gru, 0.5, 1);
/// let prepared = gru.prepare()?;
///
/// // A stream of rows, one at a time.
/// let mut state = None;
/// for row in [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]] {
///     let x = LodTensor::from_vec([1, 2], row.to_vec(), Lod::from_lengths(&[[1]])?)?;
///     state = Some(prepared.run(&x, Direction::Forward, state.as_ref())?.last);
/// }
/// let all = LodTensor::from_vec(
///     [3, 2],
///     vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
///     Lod::from_lengths(&[[3]])?
/// )?;
/// let whole = gru.run(&all, Direction::Forward, None)?;
/// assert_eq!(state.map(|state| state.h), Some(whole.last.h)); // to the last bit
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Prepared<T: Real> {
    run: Arc<Run<T>>,
}

type Run<T> = dyn Fn(&LodTensor<T>, Direction, Option<&State<T>>) -> Result<Output<T>, Error> + Send + Sync;

impl<T: Real> Prepared<T> {
    /// Creates a prepared cell for a user-defined [`Cell`](crate::Cell). [`run`](Self::run) calls
    /// `run`.
    pub fn new(
        run: impl Fn(&LodTensor<T>, Direction, Option<&State<T>>) -> Result<Output<T>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { run: Arc::new(run) }
    }

    /// Creates a prepared cell from packed weights.
    pub(crate) fn from_packed(packed: impl Forward<T> + 'static) -> Self {
        Self::new(move |x, direction, initial| Ok(pass(&packed, x, direction, initial, false)?.output))
    }

    /// Runs a forward pass, with the results of [`Cell::run`](crate::Cell::run) to the last bit.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`] for an input or states that do not fit;
    /// [`Error::Lod`] without a level.
    pub fn run(&self, x: &LodTensor<T>, direction: Direction, initial: Option<&State<T>>) -> Result<Output<T>, Error> {
        (self.run)(x, direction, initial)
    }
}

impl<T: Real> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}
