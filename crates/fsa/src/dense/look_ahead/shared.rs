//! The visited states of an utterance or a stream, shared by searches that do not change the graph.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::dense::look_ahead::LookAheadGraph;
use crate::dense::look_ahead::visited::{Saved, Visited};
use crate::dense::search::Search;
use crate::error::Error;

/// Visited states, locked by one search at a time. Clones are independent.
#[derive(Debug)]
pub(in crate::dense) struct SharedVisited {
    visited: Mutex<Visited>,
    /// States that were read from bytes and wait for their graph.
    saved: Mutex<Option<Saved>>,
}

impl SharedVisited {
    /// Creates the visited states before the first frame.
    pub(in crate::dense) fn new(graph: &LookAheadGraph) -> Self {
        Self::from_parts(Visited::new(graph), None)
    }

    /// Creates visited states from the result of [`save`](Self::save), which may be of another
    /// graph.
    pub(in crate::dense) fn saved(saved: Saved) -> Self {
        Self::from_parts(Visited::empty(0), Some(saved))
    }

    fn from_parts(visited: Visited, saved: Option<Saved>) -> Self {
        Self { visited: Mutex::new(visited), saved: Mutex::new(saved) }
    }

    pub(in crate::dense) fn save(&self) -> Saved {
        lock(&self.saved).clone().unwrap_or_else(|| self.lock().save())
    }

    /// Makes the saved states usable.
    ///
    /// # Errors
    /// [`Error::Binary`] if they are of another graph, or the search goes over states or arcs that
    /// were not saved; [`Error::Limit`].
    pub(super) fn restore(&self, graph: &LookAheadGraph, search: &Search) -> Result<(), Error> {
        let mut saved = lock(&self.saved);
        if let Some(states) = &*saved {
            let mut visited = Visited::restore(graph, states)?;
            let states = search.tokens.iter().all(|token| visited.has_state(token.state));
            if !states || !search.trellis.links.iter().all(|link| visited.has_arc(graph, link.arc)) {
                visited.check()?;
                return Err(Error::Binary { offset: 0, what: "a stream over states that it has not reached" });
            }
            *self.lock() = visited;
            *saved = None;
        }
        Ok(())
    }

    /// Returns the number of bytes.
    pub(in crate::dense) fn bytes(&self) -> usize {
        self.lock().bytes()
    }

    /// Returns the states that have been visited and [restored](Self::restore).
    pub(super) fn lock(&self) -> MutexGuard<'_, Visited> {
        lock(&self.visited)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clone for SharedVisited {
    fn clone(&self) -> Self {
        Self::from_parts(self.lock().clone(), lock(&self.saved).clone())
    }
}

impl PartialEq for SharedVisited {
    fn eq(&self, other: &Self) -> bool {
        self.save() == other.save()
    }
}
