//! Everything that the connections of a server share.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::keys::Keys;
use crate::metrics::{Metrics, Reason};
use crate::models::Models;
use crate::options::ServerOptions;
use crate::schedule::Pool;

pub(crate) type State = Arc<Shared>;

/// Minimum number of uploads that are decoded at the same time.
const MIN_DECODED: usize = 4;

/// Everything that the connections of a server share.
pub(crate) struct Shared {
    pub(crate) models: Models,
    pub(crate) options: ServerOptions,
    pub(crate) keys: Keys,
    pub(crate) pool: Pool,
    pub(crate) metrics: Metrics,
    /// No new work is taken.
    pub(crate) ending: CancellationToken,
    /// Work that still runs is cut off.
    pub(crate) cut: CancellationToken,
    pub(crate) tasks: TaskTracker,
    /// Seconds of the start since 1970.
    pub(crate) started: u64,
    /// Uploads that are decoded, with all their samples in memory.
    pub(crate) decoded: Semaphore,
    streams: Arc<Semaphore>,
    uploads: Arc<Semaphore>,
}

/// The right to be one of the streams or uploads, until it is dropped.
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
    gauge: Gauge,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}

impl Shared {
    pub(crate) fn new(models: Models, options: ServerOptions, keys: Keys, pool: Pool) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let limit = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        Self {
            decoded: Semaphore::new((2 * options.num_jobs()).max(MIN_DECODED)),
            streams: limit(options.max_streams),
            uploads: limit(options.max_queue),
            models,
            options,
            keys,
            pool,
            metrics: Metrics::new(),
            ending: CancellationToken::new(),
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
            started,
        }
    }

    /// Returns the right to one more live stream, if there are not too many.
    pub(crate) fn stream(&self) -> Option<Permit> {
        self.permit(&self.streams, &self.metrics.streams, Reason::Streams)
    }

    /// Returns the right to one more upload, if there are not too many.
    pub(crate) fn upload(&self) -> Option<Permit> {
        self.permit(&self.uploads, &self.metrics.uploads, Reason::Queue)
    }

    fn permit(&self, of: &Arc<Semaphore>, gauge: &Gauge, reason: Reason) -> Option<Permit> {
        match Arc::clone(of).try_acquire_owned() {
            Ok(permit) if !self.ending.is_cancelled() => {
                gauge.inc();
                Some(Permit { _permit: permit, gauge: gauge.clone() })
            }
            _ => {
                self.metrics.refuse(reason);
                None
            }
        }
    }

    /// Returns the reason for which a new live stream would be refused.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        if self.ending.is_cancelled() {
            return Some("the server is ending");
        }
        (self.streams.available_permits() == 0).then_some("there are too many live streams")
    }
}
