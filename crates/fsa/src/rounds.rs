//! Work in rounds, where what comes of one round is what the next one has to do.
//!
//! The calling thread leads: it says what the jobs of a round are, and takes what is made of them, in order and alone, so that what it takes to take stays
//! in one processor's caches. Others help it to make. Between rounds they look out for the next one, as to wake them would take longer than many a round.

#[cfg(feature = "rayon")]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "rayon")]
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use crate::Error;
#[cfg(feature = "rayon")]
use crate::threads::{OneLess, lock, look, num_threads, spare_calls};

/// What the leading thread does. `S` is what all look at during a round, `T` what is made of a job.
pub(crate) trait Lead<S, T> {
    /// How many jobs the next round has; if none, all is done.
    fn begin(&mut self, state: &mut S) -> usize;

    /// Takes what was made of the next job.
    ///
    /// # Errors
    /// Ends the work.
    fn take(&mut self, state: &S, made: &T) -> Result<(), Error>;
}

/// Rounds from the first to the last; those of so many jobs or more are done by several threads. What comes out does not depend on who made what. `memory`
/// is what the first job is made in.
///
/// # Errors
/// The first one of `lead`.
pub(crate) fn in_rounds<S: Send + Sync, T: Default + Send>(
    jobs_for_threads: usize,
    mut state: S,
    mut memory: T,
    lead: &mut impl Lead<S, T>,
    make: impl Fn(&S, usize, &mut T) + Sync,
) -> Result<(), Error> {
    #[cfg(feature = "rayon")]
    if jobs_for_threads < usize::MAX && num_threads() > 1 {
        return by_several(jobs_for_threads, state, memory, lead, make);
    }
    let _ = jobs_for_threads;
    small_rounds(usize::MAX, &mut state, lead, &make, &mut memory).map(|_| ())
}

/// Rounds of fewer jobs than this, by one thread. The number of jobs of the one after them, which is begun; 0 if all is done.
fn small_rounds<S, T>(
    jobs_for_threads: usize,
    state: &mut S,
    lead: &mut impl Lead<S, T>,
    make: impl Fn(&S, usize, &mut T),
    made: &mut T,
) -> Result<usize, Error> {
    loop {
        let num_jobs = lead.begin(state);
        if num_jobs == 0 || num_jobs >= jobs_for_threads {
            return Ok(num_jobs);
        }
        for job in 0..num_jobs {
            make(state, job, made);
            lead.take(state, made)?;
        }
    }
}

/// A round that is shared.
#[cfg(feature = "rayon")]
struct Round<S, T> {
    state: S,
    /// What was made of each job and is not taken yet.
    made: Vec<Mutex<Option<T>>>,
}

/// What the threads have in common.
#[cfg(feature = "rayon")]
struct Crew<S, T, M> {
    round: RwLock<Round<S, T>>,
    /// Which round it is.
    number: AtomicUsize,
    /// The next job of it.
    next: AtomicUsize,
    /// How many help, or are called to; how many of them work, and how many may.
    helping: AtomicUsize,
    working: AtomicUsize,
    most: usize,
    make: M,
    /// Memory to make things in.
    spare: Mutex<Vec<T>>,
}

/// The number of the round after the last one.
#[cfg(feature = "rayon")]
const OVER: usize = usize::MAX;

/// So often a helper looks for the next round before it goes.
#[cfg(feature = "rayon")]
const LOOKS: usize = 1024;

#[cfg(feature = "rayon")]
fn by_several<S: Send + Sync, T: Default + Send>(
    jobs_for_threads: usize,
    state: S,
    memory: T,
    lead: &mut impl Lead<S, T>,
    make: impl Fn(&S, usize, &mut T) + Sync,
) -> Result<(), Error> {
    let [number, next, helping, working] = [0; 4].map(AtomicUsize::new);
    let round = RwLock::new(Round { state, made: vec![] });
    let (most, spare) = (num_threads() - 1, Mutex::new(vec![memory]));
    let crew = Crew { round, number, next, helping, working, most, make, spare };
    rayon::in_place_scope(|scope| {
        let call_others = || {
            let missing = crew.most.saturating_sub(crew.helping.load(Ordering::Relaxed));
            for _ in 0..if missing > 0 { missing + spare_calls() } else { 0 } {
                crew.helping.fetch_add(1, Ordering::Relaxed);
                scope.spawn(|_| crew.help());
            }
        };
        // They come while the first rounds go on, which may be small.
        call_others();
        let result = loop {
            match crew.prepare(jobs_for_threads, lead) {
                Ok(0) => break Ok(()),
                Ok(num_jobs) => {
                    call_others();
                    if let Err(error) = crew.lead(num_jobs, lead) {
                        break Err(error);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        crew.number.store(OVER, Ordering::Release);
        look(|| crew.helping.load(Ordering::Acquire) == 0);
        result
    })
}

#[cfg(feature = "rayon")]
impl<S, T: Default, M: Fn(&S, usize, &mut T)> Crew<S, T, M> {
    /// Does all small rounds, and begins the next one with the number of jobs that comes back; 0 if there is none.
    fn prepare(&self, jobs_for_threads: usize, lead: &mut impl Lead<S, T>) -> Result<usize, Error> {
        let mut round = loop {
            // Who still reads has no more to do. To sleep until then would take longer.
            match self.round.try_write() {
                Ok(round) => break round,
                Err(TryLockError::Poisoned(round)) => break round.into_inner(),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        };
        let mut memory = self.memory();
        let num_jobs = small_rounds(jobs_for_threads, &mut round.state, lead, &self.make, &mut memory)?;
        lock(&self.spare).push(memory);
        round.made.resize_with(num_jobs, Mutex::default);
        self.next.store(0, Ordering::Relaxed);
        drop(round);
        self.number.fetch_add(1, Ordering::Release);
        Ok(num_jobs)
    }

    /// Makes and takes what the round has of jobs.
    fn lead(&self, num_jobs: usize, lead: &mut impl Lead<S, T>) -> Result<(), Error> {
        let round = self.shared();
        let mut turn = 0;
        let mut take_ready = || -> Result<bool, Error> {
            while let Some(made) = round.made.get(turn).and_then(|made| lock(made).take()) {
                lead.take(&round.state, &made)?;
                lock(&self.spare).push(made);
                turn += 1;
            }
            Ok(turn == num_jobs)
        };
        while self.make_next(&round) {
            take_ready()?;
        }
        // What is missing when nobody helps any more never comes: a helper panicked, which the scope passes on.
        loop {
            let alone = self.helping.load(Ordering::Acquire) == 0;
            if take_ready()? || alone {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }

    fn help(&self) {
        let _one_helper_less = OneLess(&self.helping);
        let one_more = self.working.fetch_add(1, Ordering::Relaxed) < self.most;
        let _one_less = OneLess(&self.working);
        if !one_more {
            return;
        }
        let (mut seen, mut looks) = (0, 0);
        while looks < LOOKS {
            let number = self.number.load(Ordering::Acquire);
            if number == OVER {
                return;
            }
            if number == seen {
                looks += 1;
                std::thread::yield_now();
            } else {
                (seen, looks) = (number, 0);
                let round = self.shared();
                while self.make_next(&round) {}
            }
        }
    }

    fn memory(&self) -> T {
        let spare = lock(&self.spare).pop();
        spare.unwrap_or_default()
    }

    fn shared(&self) -> RwLockReadGuard<'_, Round<S, T>> {
        self.round.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the next job of the round, if there is one.
    fn make_next(&self, round: &Round<S, T>) -> bool {
        let job = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(place) = round.made.get(job) else { return false };
        let mut made = self.memory();
        (self.make)(&round.state, job, &mut made);
        *lock(place) = Some(made);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each round has as many jobs as the list says, and each job makes its number three times.
    struct Counted {
        rounds: Vec<usize>,
        taken: Vec<(usize, usize)>,
        fails_at: usize,
    }

    impl Lead<usize, Vec<(usize, usize)>> for Counted {
        fn begin(&mut self, state: &mut usize) -> usize {
            *state += 1;
            self.rounds.get(*state - 1).copied().unwrap_or(0)
        }

        fn take(&mut self, state: &usize, made: &Vec<(usize, usize)>) -> Result<(), Error> {
            if self.taken.len() / 3 == self.fails_at {
                return Err(Error::SingleState { fsa: *state });
            }
            self.taken.extend_from_slice(made);
            Ok(())
        }
    }

    fn run(jobs_for_threads: usize, rounds: &[usize], fails_at: usize) -> (Result<(), Error>, Vec<(usize, usize)>) {
        let mut lead = Counted { rounds: rounds.to_vec(), taken: vec![], fails_at };
        let result = in_rounds(jobs_for_threads, 0, vec![], &mut lead, |&round, job, made: &mut Vec<_>| {
            made.clear();
            made.extend([(round, job); 3]);
        });
        (result, lead.taken)
    }

    #[test]
    fn what_is_made_is_taken_in_order() {
        for rounds in [&[][..], &[1], &[1, 20, 3, 1, 1000, 50, 2], &[300, 1, 1, 1, 300]] {
            for fails_at in [0, 1, 17, 500, usize::MAX] {
                let (result, taken) = run(usize::MAX, rounds, fails_at);
                let all: usize = rounds.iter().sum();
                assert_eq!((result.is_err(), taken.len()), (fails_at < all, 3 * all.min(fails_at)));
                #[cfg(feature = "rayon")]
                for threads in 1..=3 {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    for jobs_for_threads in [0, 1, 8] {
                        let again = pool.install(|| run(jobs_for_threads, rounds, fails_at));
                        assert_eq!(again, (result.clone(), taken.clone()));
                    }
                }
                assert_eq!(run(8, rounds, fails_at), (result, taken));
            }
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn a_panic_of_any_thread_ends_all() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for panics_at in [0, 1, 99, 199] {
            let mut lead = Counted { rounds: vec![200; 3], taken: vec![], fails_at: usize::MAX };
            let make = |_: &usize, job, _: &mut Vec<_>| assert!(job != panics_at, "as it is meant to");
            let run = std::panic::AssertUnwindSafe(|| pool.install(|| in_rounds(8, 0, vec![], &mut lead, make)));
            assert!(std::panic::catch_unwind(run).is_err());
        }
    }
}
