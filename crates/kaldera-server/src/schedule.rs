//! Threads that compute, and the order of their work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kaldera::audio::WaveSamples;
use kaldera::base::panics;
use kaldera::recognizer::{LiveRecognizer, LiveUpdate};
use rayon::ThreadPoolBuilder;
use tokio::sync::oneshot;

/// The place of work in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// A chunk of live speech, which arrived at this time: before any file, the oldest chunk first.
    Live(Instant),
    /// A part of a file, after this number of its parts: a short file does not wait for the end of
    /// a long one.
    File(usize),
}

/// The longest time for which a chunk waits for others. It is short next to a run of a network, and
/// long enough for clients whose last chunks were answered at the same time.
const GATHER: Duration = Duration::from_millis(5);

/// Threads that compute. All threads but one may work on files at the same time, so that live
/// speech finds a thread. Chunks of live speech that wait are divided over the threads, and some
/// networks run over several of them in one pass.
#[derive(Clone)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    jobs: usize,
}

#[derive(Default)]
struct Queue {
    live: BinaryHeap<Reverse<Work>>,
    files: BinaryHeap<Reverse<Work>>,
    running_files: usize,
    /// Number of works so far.
    count: u64,
    closed: bool,
}

struct Work {
    turn: Turn,
    number: u64,
    job: Job,
}

enum Job {
    Call(Box<dyn FnOnce() + Send>),
    Chunk(Chunk),
}

/// The next samples of live speech, of one channel, which wait for a thread.
struct Chunk {
    live: Box<LiveRecognizer>,
    samples: WaveSamples,
    tell: oneshot::Sender<Result<Accepted, Panicked>>,
}

/// Live speech after its samples.
pub(crate) struct Accepted {
    pub(crate) live: Box<LiveRecognizer>,
    pub(crate) update: Result<LiveUpdate, kaldera::Error>,
    /// Its share of the time that a thread took for it and others.
    pub(crate) compute: Duration,
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Work {}

impl PartialOrd for Work {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Work {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.turn, self.number).cmp(&(other.turn, other.number))
    }
}

impl Pool {
    /// Starts this number of threads, or as many as the system allows. Each is rayon's only thread
    /// for its work: in rayon's common pool the order would be lost.
    ///
    /// # Errors
    /// The system's error if there is no thread at all.
    pub(crate) fn new(jobs: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { queue: Mutex::default(), changed: Condvar::new(), jobs: jobs.max(1) });
        for job in 0..shared.jobs {
            let own = Arc::clone(&shared);
            let spawned = thread::Builder::new().name(format!("compute-{job}")).spawn(move || {
                let _pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
                own.work();
            });
            if let Err(error) = spawned {
                if job == 0 {
                    return Err(error);
                }
                tracing::warn!("only {job} of {jobs} threads could be started: {error}");
                break;
            }
        }
        Ok(Self { shared })
    }

    /// Runs work on a thread of the pool and returns its result. Work whose caller is gone is not
    /// run.
    ///
    /// # Errors
    /// [`Panicked`] if the work panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        turn: Turn,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (tell, told) = oneshot::channel();
        let call = Box::new(move || {
            if !tell.is_closed() {
                let _ = tell.send(panics::catch(work).map_err(Panicked));
            }
        });
        self.shared.push(turn, Job::Call(call));
        told.await.unwrap_or_else(|_| Err(Panicked::at_the_end()))
    }

    /// Gives live speech samples of one channel, which arrived at this time.
    ///
    /// # Errors
    /// [`Panicked`] if the recogniser panics, of this speech or of others in the same pass.
    pub(crate) async fn accept(
        &self,
        arrived: Instant,
        live: Box<LiveRecognizer>,
        samples: WaveSamples,
    ) -> Result<Accepted, Panicked> {
        let (tell, told) = oneshot::channel();
        self.shared.push(Turn::Live(arrived), Job::Chunk(Chunk { live, samples, tell }));
        told.await.unwrap_or_else(|_| Err(Panicked::at_the_end()))
    }

    /// Returns the number of chunks and parts that wait for a thread.
    pub(crate) fn num_waiting(&self) -> usize {
        let queue = self.shared.lock();
        queue.live.len() + queue.files.len()
    }

    /// Ends the threads when their work is done; work that waits is dropped.
    pub(crate) fn close(&self) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        queue.live.clear();
        queue.files.clear();
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("jobs", &self.shared.jobs).finish_non_exhaustive()
    }
}

/// The message of a panic in a library.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the recogniser failed: {0}")]
pub(crate) struct Panicked(String);

impl Panicked {
    fn at_the_end() -> Self {
        Self("the server is ending".to_owned())
    }
}

impl Chunk {
    /// Gives the samples of all chunks to their recognisers.
    fn accept_all(mut chunks: Vec<Self>) {
        chunks.retain(|chunk| !chunk.tell.is_closed());
        let begin = Instant::now();
        let updates = panics::catch(|| {
            let streams = chunks.iter_mut().map(|Self { live, samples, .. }| match samples {
                WaveSamples::I16(samples) => (&mut **live, (&samples[..]).into()),
                WaveSamples::F32(samples) => (&mut **live, (&samples[..]).into()),
            });
            LiveRecognizer::accept_all(&mut streams.collect::<Vec<_>>())
        });
        let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX).max(1);
        let compute = begin.elapsed() / count;
        match updates {
            Ok(updates) => {
                for (Self { live, tell, .. }, update) in chunks.into_iter().zip(updates) {
                    let _ = tell.send(Ok(Accepted { live, update, compute }));
                }
            }
            Err(message) => {
                let error = Panicked(message);
                chunks.into_iter().for_each(|chunk| drop(chunk.tell.send(Err(error.clone()))));
            }
        }
    }
}

impl Queue {
    /// Returns the time for which the first of the live work waits for more, so that the network
    /// runs over them in one pass.
    fn time_to_gather(&self) -> Option<Duration> {
        let Reverse(Work { turn: Turn::Live(arrived), job: Job::Chunk(first), .. }) = self.live.peek()? else {
            return None;
        };
        let most = if first.live.max_streams() > 1 { GATHER } else { Duration::ZERO };
        most.checked_sub(arrived.elapsed()).filter(|rest| !rest.is_zero())
    }

    /// Takes the chunks that a thread accepts together with this one: a fair part of the queue.
    fn take_part(&mut self, first: Chunk, jobs: usize) -> Vec<Chunk> {
        let free = (jobs - self.running_files).max(1);
        let part = (1 + self.live.len()).div_ceil(free).min(first.live.max_streams());
        let mut chunks = vec![first];
        while chunks.len() < part
            && let Some(Reverse(Work { job: Job::Chunk(next), .. })) = self.live.peek()
            && next.live.max_streams() > 1
            && let Some(Reverse(Work { job: Job::Chunk(next), .. })) = self.live.pop()
        {
            chunks.push(next);
        }
        chunks
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, turn: Turn, job: Job) {
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        queue.count += 1;
        let work = Reverse(Work { turn, number: queue.count, job });
        match turn {
            Turn::Live(_) => queue.live.push(work),
            Turn::File(_) => queue.files.push(work),
        }
        self.changed.notify_one();
    }

    /// Does work until the pool is closed.
    fn work(&self) {
        let max_files = self.jobs.saturating_sub(1).max(1);
        let mut queue = self.lock();
        while !queue.closed {
            if let Some(rest) = queue.time_to_gather() {
                queue = self.changed.wait_timeout(queue, rest).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let next = match queue.live.pop() {
                None if queue.running_files < max_files => queue.files.pop(),
                next => next,
            };
            let Some(Reverse(Work { turn, job, .. })) = next else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let is_file = usize::from(matches!(turn, Turn::File(_)));
            queue.running_files += is_file;
            match job {
                Job::Call(call) => {
                    drop(queue);
                    call();
                }
                Job::Chunk(first) => {
                    let part = queue.take_part(first, self.jobs);
                    // This thread may have been woken for work that it leaves.
                    if !queue.live.is_empty() {
                        self.changed.notify_one();
                    }
                    drop(queue);
                    Chunk::accept_all(part);
                }
            }
            queue = self.lock();
            queue.running_files -= is_file;
            // Another thread may have left a file because of this one.
            if is_file > 0 && !queue.files.is_empty() {
                self.changed.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use kaldera::feat::{FeatureOptions, FrontEnd, FrontEndOptions, SampleOptions};
    use kaldera::network::{Batch, Error as NetworkError, Network, NetworkStream};
    use kaldera::prelude::*;

    use super::*;

    #[test]
    fn live_speech_goes_first_and_short_files_overtake_long_ones() {
        let pool = Pool::new(1).unwrap();
        let (release, wait) = mpsc::channel::<()>();
        pool.shared.push(Turn::File(0), Job::Call(Box::new(move || wait.recv().unwrap())));
        while pool.num_waiting() > 0 {
            thread::yield_now();
        }
        let now = Instant::now();
        let later = now + Duration::from_millis(1);
        let turns = [Turn::File(2), Turn::Live(later), Turn::File(0), Turn::Live(now), Turn::File(0)];
        let (done, order) = mpsc::channel();
        for (number, turn) in turns.into_iter().enumerate() {
            let done = done.clone();
            pool.shared.push(turn, Job::Call(Box::new(move || done.send(number).unwrap())));
        }
        release.send(()).unwrap();
        let order: Vec<usize> = order.iter().take(turns.len()).collect();
        assert_eq!(order, [3, 1, 2, 4, 0]);
        pool.close();
    }

    #[test]
    fn a_thread_is_left_for_live_speech() {
        let pool = Pool::new(2).unwrap();
        let (release, wait) = mpsc::channel::<()>();
        pool.shared.push(Turn::File(0), Job::Call(Box::new(move || wait.recv().unwrap())));
        let (done, order) = mpsc::channel();
        for turn in [Turn::File(1), Turn::Live(Instant::now())] {
            let done = done.clone();
            pool.shared.push(turn, Job::Call(Box::new(move || done.send(turn).unwrap())));
        }
        assert!(matches!(order.recv().unwrap(), Turn::Live(_)));
        assert!(order.recv_timeout(Duration::from_millis(20)).is_err());
        release.send(()).unwrap();
        assert_eq!(order.recv().unwrap(), Turn::File(1));
        pool.close();
    }

    /// A network that sends the number of streams of each pass, and panics at a loud sample.
    #[derive(Debug)]
    struct Passes(mpsc::Sender<usize>);

    #[derive(Debug)]
    struct Rows;

    impl Network for Passes {
        fn num_inputs(&self) -> usize {
            1
        }

        fn num_outputs(&self) -> usize {
            2
        }

        fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, NetworkError> {
            Ok(batch.rows().clone())
        }

        fn stream(self: Arc<Self>) -> Result<Box<dyn NetworkStream>, NetworkError> {
            Ok(Box::new(Rows))
        }

        fn max_streams(&self) -> usize {
            3
        }

        fn accept_all(&self, streams: &mut [(&mut dyn NetworkStream, &[f32])]) -> Vec<Result<Vec<f32>, NetworkError>> {
            self.0.send(streams.len()).unwrap();
            streams.iter_mut().map(|(stream, rows)| stream.accept(rows)).collect()
        }
    }

    impl NetworkStream for Rows {
        fn accept(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
            assert!(rows.iter().all(|&row| row.abs() < 0.5), "too loud");
            Ok([0.0, -20.0].repeat(rows.len()))
        }

        fn finish(&mut self, rows: &[f32]) -> Result<Vec<f32>, NetworkError> {
            self.accept(rows)
        }
    }

    /// Runs chunks of these samples that have waited together, and returns their results.
    async fn run_waiting(jobs: usize, recognizer: &Arc<Recognizer>, chunks: &[i16]) -> Vec<Result<Accepted, Panicked>> {
        let pool = Pool::new(jobs).unwrap();
        let mut held = vec![];
        for _ in 0..jobs {
            let (release, wait) = mpsc::channel::<()>();
            pool.shared.push(Turn::Live(Instant::now()), Job::Call(Box::new(move || wait.recv().unwrap())));
            held.push(release);
            while pool.num_waiting() > 0 {
                thread::yield_now();
            }
        }
        let accept = |&sample: &i16| {
            let live = Box::new(LiveRecognizer::new(Arc::clone(recognizer), 16_000.0).unwrap());
            let (pool, samples) = (pool.clone(), WaveSamples::I16(vec![sample; 100]));
            tokio::spawn(async move { pool.accept(Instant::now(), live, samples).await })
        };
        let tasks: Vec<_> = chunks.iter().map(accept).collect();
        while pool.num_waiting() < tasks.len() {
            tokio::task::yield_now().await;
        }
        held.last().unwrap().send(()).unwrap();
        let mut results = vec![];
        for task in tasks {
            results.push(task.await.unwrap());
        }
        held.iter().for_each(|release| _ = release.send(()));
        pool.close();
        results
    }

    #[tokio::test]
    async fn chunks_that_wait_are_divided_over_threads() {
        let (tell, passes) = mpsc::channel();
        let features = FeatureOptions::Samples(SampleOptions::default());
        let front_end = FrontEnd::new(FrontEndOptions::from_features(features)).unwrap();
        let decoder = CtcDecoder::new(Vocabulary::new(["<blk>", "a"], 0).unwrap(), CtcDecoderOptions::default());
        let recognizer = Arc::new(Recognizer::new(front_end, Passes(tell), decoder.unwrap()).unwrap());
        for (jobs, expected) in [(1, vec![3, 3, 1]), (2, vec![3, 2, 1, 1])] {
            let results = run_waiting(jobs, &recognizer, &[1; 7]).await;
            assert!(results.iter().all(|result| result.as_ref().is_ok_and(|accepted| accepted.update.is_ok())));
            assert_eq!(passes.try_iter().collect::<Vec<_>>(), expected);
        }
        let results = run_waiting(1, &recognizer, &[1, 1, 1, 1, i16::MAX, 1, 1]).await;
        assert_eq!(
            results.iter().map(Result::is_ok).collect::<Vec<_>>(),
            [true, true, true, false, false, false, true]
        );
        assert!(results[5].as_ref().is_err_and(|error| error.to_string().contains("too loud")));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_thread_lives_on() {
        let pool = Pool::new(1).unwrap();
        let error = pool.run(Turn::File(0), || -> u8 { panic!("no rows") }).await.unwrap_err();
        assert_eq!(error.to_string(), "the recogniser failed: no rows");
        assert_eq!(pool.run(Turn::File(0), || 7).await.unwrap(), 7);
        pool.close();
        assert!(pool.run(Turn::File(0), || 7).await.is_err());
    }
}
