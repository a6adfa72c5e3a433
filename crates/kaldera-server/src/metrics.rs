//! Figures for Prometheus.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// A counter of seconds.
type Seconds = Counter<f64, std::sync::atomic::AtomicU64>;

/// Kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum Result {
    Partial,
    Final,
    File,
}

/// Reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum Reason {
    Streams,
    Queue,
    Key,
    Origin,
    Size,
    Slow,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    result: Result,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByReason {
    reason: Reason,
}

/// The figures of a server.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    pub(crate) streams: Gauge,
    pub(crate) uploads: Gauge,
    waiting: Gauge,
    latency: Family<ByResult, Histogram>,
    audio: Family<ByResult, Seconds>,
    compute: Family<ByResult, Seconds>,
    refusals: Family<ByReason, Counter>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("kaldera");
        let (streams, uploads, waiting) = (Gauge::default(), Gauge::default(), Gauge::default());
        let histogram: fn() -> Histogram =
            || Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0]);
        let latency = Family::new_with_constructor(histogram);
        let (audio, compute, refusals) = (Family::default(), Family::default(), Family::default());
        registry.register("streams", "Live streams", streams.clone());
        registry.register("uploads", "Uploads that arrive, wait or are recognised", uploads.clone());
        registry.register("queue", "Chunks and parts of files that wait for a thread", waiting.clone());
        registry.register_with_unit(
            "latency",
            "Time from the arrival of audio to its result",
            Unit::Seconds,
            Family::clone(&latency),
        );
        registry.register_with_unit("audio", "Audio that was recognised", Unit::Seconds, Family::clone(&audio));
        registry.register_with_unit(
            "compute",
            "Time of threads for it: compute / audio is the real-time factor",
            Unit::Seconds,
            Family::clone(&compute),
        );
        registry.register("refusals", "Requests that were refused", Family::clone(&refusals));
        Self { registry: Arc::new(registry), streams, uploads, waiting, latency, audio, compute, refusals }
    }

    pub(crate) fn add_latency(&self, result: Result, latency: Duration) {
        self.latency.get_or_create(&ByResult { result }).observe(latency.as_secs_f64());
    }

    /// Adds seconds of audio, and the time that a thread took for them.
    pub(crate) fn add_audio(&self, result: Result, seconds: f64, compute: Duration) {
        let result = ByResult { result };
        self.audio.get_or_create(&result).inc_by(seconds.max(0.0));
        self.compute.get_or_create(&result).inc_by(compute.as_secs_f64());
    }

    pub(crate) fn refuse(&self, reason: Reason) {
        self.refusals.get_or_create(&ByReason { reason }).inc();
    }

    /// Returns all figures in the text format of OpenMetrics.
    pub(crate) fn text(&self, waiting: usize) -> String {
        self.waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        let mut out = String::new();
        match text::encode(&mut out, &self.registry) {
            Ok(()) => out,
            Err(fmt::Error) => String::new(),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
