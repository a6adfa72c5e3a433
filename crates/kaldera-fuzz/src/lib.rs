//! Fuzz tests, which pass damaged input of every kind to code that reads input.
//!
//! A fuzz test is an ordinary test. `cargo test` replays the committed inputs of its corpus, then
//! makes new ones for two seconds:
//!
//! ```text
//! crates/kaldi-io/tests/it/fuzz.rs                    fuzz!("wav", |bytes| ...)
//! crates/kaldi-io/tests/it/__fuzz__/wav/corpus/       inputs that are good, or were once trouble:
//!                                                     replayed, and then damaged
//! crates/kaldi-io/tests/it/__fuzz__/wav/crashes/      where a fuzzer leaves what it finds:
//!                                                     replayed as well
//! ```
//!
//! - Search for a minute per test:
//!   `KALDERA_FUZZ_SECONDS=60 cargo test --release -p kaldi-io --test it fuzz -- --nocapture`
//! - Replay the corpus and nothing else, as CI does: `KALDERA_FUZZ_SECONDS=0 cargo test`
//! - Search with a fuzzer that sees the coverage: `cargo bolero test -p kaldi-io wav` (of the crate
//!   `cargo-bolero`; it needs nightly Rust)
//!
//! Inputs come from `bolero`, which makes a failing one smaller and prints it. Purely random
//! bytes do not get far into a file format: most inputs are therefore taken as instructions for
//! [damaging](damaged) files of the corpus.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[doc(hidden)]
pub use bolero;

/// Runs a fuzz test under a name. The name is also the name of its folder in `__fuzz__`, in the
/// folder of the calling file.
///
/// The second argument takes one input as `&[u8]`, and panics if the tested code is wrong.
///
/// ```
/// fn text_is_never_longer_than_its_bytes() {
///     kaldera_fuzz::fuzz!("text", |bytes| {
///         if let Ok(text) = std::str::from_utf8(bytes) {
///             assert!(text.chars().count() <= bytes.len());
///         }
///     });
/// }
/// ```
#[macro_export]
macro_rules! fuzz {
    ($name:literal, $test:expr) => {{
        let session = $crate::Session::start(env!("CARGO_MANIFEST_DIR"), file!(), $name);
        let test = std::panic::AssertUnwindSafe($crate::of_bytes($test));
        $crate::bolero::check!(name = $name)
            .with_test_time(session.time())
            .with_iterations(session.iterations())
            .with_max_len($crate::INSTRUCTIONS)
            .for_each(|bytes: &[u8]| session.run(bytes, &*test));
        session.report();
    }};
}

/// Gives the compiler the type of a test's argument. For [`fuzz!`].
#[doc(hidden)]
pub fn of_bytes<F: Fn(&[u8])>(test: F) -> F {
    test
}

/// Bytes that an input has at the most: enough for a few dozen instructions.
pub const INSTRUCTIONS: usize = 256;

/// A fuzz test that is running.
#[derive(Debug)]
pub struct Session {
    name: &'static str,
    corpus: Vec<Vec<u8>>,
    seconds: f64,
    started: Instant,
    inputs: AtomicU64,
}

impl Session {
    /// Reads the corpus. For [`fuzz!`], which knows the arguments.
    #[must_use]
    pub fn start(manifest_dir: &str, file: &str, name: &'static str) -> Self {
        let seconds =
            std::env::var("KALDERA_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(2.0);
        let corpus = corpus(manifest_dir, file, name);
        Self { name, corpus, seconds, started: Instant::now(), inputs: AtomicU64::new(0) }
    }

    /// For how long to search.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    /// The number of inputs to search through, besides the corpus: unlimited within the time, or
    /// none.
    #[must_use]
    pub fn iterations(&self) -> usize {
        if self.time().is_zero() { 0 } else { usize::MAX }
    }

    /// Tests an input as it is, and a file of the corpus damaged by it.
    pub fn run(&self, input: &[u8], test: impl Fn(&[u8])) {
        test(input);
        let mut tested = 1;
        if let Some(damaged) = damaged(&self.corpus, input) {
            test(&damaged);
            tested += 1;
        }
        self.inputs.fetch_add(tested, Ordering::Relaxed);
    }

    /// Prints the number of inputs that were tested.
    pub fn report(&self) {
        let inputs = self.inputs.load(Ordering::Relaxed);
        let seconds = self.started.elapsed().as_secs_f64();
        println!("fuzz {}: {inputs} inputs in {seconds:.1} s, from a corpus of {}", self.name, self.corpus.len());
    }
}

/// The files of a test's corpus, in the order of their names.
fn corpus(manifest_dir: &str, file: &str, name: &str) -> Vec<Vec<u8>> {
    let beside =
        |ancestor: &Path| ancestor.join(file).parent().map(|folder| folder.join("__fuzz__").join(name).join("corpus"));
    let folder = Path::new(manifest_dir).ancestors().filter_map(beside).find(|folder| folder.is_dir());
    let entries = folder.and_then(|folder| folder.read_dir().ok()).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Pieces that readers look for, and numbers that overflow.
const PIECES: &[&[u8]] = &[
    b"\0B",
    b"\0BFM \x04",
    b"\0BCM2 ",
    b"\0BSM \x04",
    b"\x04\xff\xff\xff\x7f",
    b"\x04\x00\x00\x00\x80",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x00\x00\xc0\x7f",
    b"RIFF",
    b"RIFX",
    b"fmt ",
    b"data",
    b"LIST",
    b" [ ",
    b" ]\n",
    b"[0:3,:]",
    b"rows=2147483647 dim=2 [ ",
    b"-1",
    b"99999999999999999999",
    b"nan",
    b"1e999",
    b";",
    b":",
    b",",
    b" ",
    b"\n",
    b"--",
    b"=",
    b"#",
];

/// Follows `instructions` for choosing a file of the corpus and damaging it: bytes are changed,
/// pieces inserted, removed, doubled, cut off, or exchanged with pieces of another file. `None`
/// without a corpus or instructions.
#[must_use]
pub fn damaged(corpus: &[Vec<u8>], instructions: &[u8]) -> Option<Vec<u8>> {
    let mut instructions = Instructions { left: instructions };
    let mut bytes = instructions.one_of(corpus)?.clone();
    while damage(&mut bytes, corpus, &mut instructions).is_some() {}
    Some(bytes)
}

/// Follows one instruction; `None` if it is incomplete.
fn damage(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], instructions: &mut Instructions<'_>) -> Option<()> {
    let kind = instructions.number()?;
    let place = instructions.below(bytes.len() + 1)?;
    // Mostly a few bytes.
    let longest = 1 << instructions.below(10)?;
    let len = instructions.below(longest)?.min(bytes.len() - place);
    match kind % 9 {
        0 if len > 0 => bytes[place] ^= 1 << (instructions.number()? % 8),
        1 if len > 0 => bytes[place] = u8::try_from(instructions.below(256)?).unwrap_or(u8::MAX),
        2 => splice(bytes, place, 0, instructions.one_of(PIECES)?),
        3 => {
            let piece = instructions.one_of(PIECES)?;
            splice(bytes, place, piece.len(), piece);
        }
        4 => splice(bytes, place, len, &[]),
        5 => {
            let part = bytes[place..place + len].to_vec();
            splice(bytes, place, 0, &part);
        }
        6 => {
            let other = instructions.one_of(corpus)?;
            let from = instructions.below(other.len() + 1)?;
            splice(bytes, place, len, &other[from..(from + len).min(other.len())]);
        }
        7 => splice(bytes, place, 2, &instructions.number()?.wrapping_sub(u16::MAX / 2).to_le_bytes()),
        // Something is cut off at the end.
        _ => bytes.truncate(bytes.len() - len),
    }
    Some(())
}

/// Exchanges `len` bytes at `place`, as far as there are, for others.
fn splice(bytes: &mut Vec<u8>, place: usize, len: usize, others: &[u8]) {
    let end = (place + len).min(bytes.len());
    bytes.splice(place..end, others.iter().copied());
}

/// Random numbers that are read from the input.
struct Instructions<'a> {
    left: &'a [u8],
}

impl Instructions<'_> {
    fn number(&mut self) -> Option<u16> {
        let (bytes, left) = self.left.split_first_chunk()?;
        self.left = left;
        Some(u16::from_le_bytes(*bytes))
    }

    /// A number below `end`, which is not 0. Files are small.
    fn below(&mut self, end: usize) -> Option<usize> {
        self.number().map(|number| usize::from(number) % end)
    }

    fn one_of<'t, T>(&mut self, things: &'t [T]) -> Option<&'t T> {
        if things.is_empty() { None } else { things.get(self.below(things.len())?) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_damage_the_corpus() {
        let corpus = [b"0123456789".to_vec(), b"abc".to_vec()];
        assert_eq!(damaged(&corpus, &[]), None);
        assert_eq!(damaged(&[], &[0; 100]), None);
        assert_eq!(damaged(&corpus, &[1, 0]).unwrap(), b"abc");
        // Of the first file, kind 4 (take out), at place 2, of 2^2 at most 3.
        let take_out = [0, 0, 4, 0, 2, 0, 2, 0, 3, 0];
        assert_eq!(damaged(&corpus, &take_out).unwrap(), b"0156789");
        assert_eq!(damaged(&corpus, &[&take_out[..], &take_out[2..7]].concat()).unwrap(), b"0156789", "a part of one");
        // Whatever the instructions are, and however they end.
        let mut state = 1_u64;
        for _ in 0..2000 {
            let mut byte = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            };
            let len = usize::from(byte());
            let instructions: Vec<u8> = (0..len).map(|_| byte()).collect();
            if let Some(bytes) = damaged(&corpus, &instructions) {
                assert!(bytes.len() < 40_000);
            }
        }
    }

    #[test]
    fn a_session_counts_its_inputs() {
        crate::fuzz!("session", |bytes| assert!(bytes.len() <= INSTRUCTIONS));
    }
}
