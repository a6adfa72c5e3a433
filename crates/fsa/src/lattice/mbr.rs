//! Minimum Bayes risk decoding: the words with the least expected edit distance, with confidences
//! and times.
//!
//! H. Xu, D. Povey, L. Mangu, J. Zhu, *Minimum Bayes risk decoding and system combination based on
//! a recursion for edit distance*, Computer Speech and Language, 2011. A hypothesis, padded with
//! empty bins between its words, is aligned with all paths of a lattice at once; each bin collects
//! the posteriors of the words aligned with it and takes the best one, until nothing changes. The
//! edit distance of the recursion is an upper bound of the expected one, and often equal to it.

use std::collections::BTreeMap;

use kaldera_base::math::log_add;
use kaldera_base::setters;

use crate::core::limits::Limits;
use crate::error::{Error, Operation};
use crate::lattice::container::Lattice;
use crate::lattice::utterance::Utterance;
use crate::support::ids::narrow;

/// Options of [`Lattice::minimum_bayes_risk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
#[doc(alias = "MinimumBayesRiskOptions")]
pub struct MbrOptions {
    /// Change the words for less risk; without it, the words of the best path stay and get
    /// confidences.
    pub decode_mbr: bool,
    /// Keep bins whose best entry is not a word.
    pub print_silence: bool,
    /// Limits for one lattice, whose memory grows with states × words. Default: half of the memory.
    pub limits: Limits,
}

setters! {
    MbrOptions:
    decode_mbr, with_decode_mbr: bool = true, "With or without changing the words.";
    print_silence, with_print_silence: bool = false, "With or without bins of no word.";
    limits, with_limits: Limits = Limits::default(), "With these limits.";
}

/// Words with the least risk.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MbrResult {
    /// The words.
    #[doc(alias = "GetOneBest")]
    pub words: Vec<i32>,
    /// Posterior of each word in its bin.
    #[doc(alias = "GetOneBestConfidences")]
    pub confidences: Vec<f32>,
    /// For each word, the frames at which it begins and ends, as means over paths.
    #[doc(alias = "GetOneBestTimes")]
    pub times: Vec<(f32, f32)>,
    /// Upper bound of the expected edit distance that the recursion computes.
    #[doc(alias = "GetBayesRisk")]
    pub risk: f64,
    /// For each bin its words (0 is none) with their posteriors, from the likeliest down.
    #[doc(alias = "GetSausageStats")]
    pub sausage: Vec<Vec<(i32, f32)>>,
    /// For each bin, the frames at which it begins and ends, as means over paths and words.
    #[doc(alias = "GetSausageTimes")]
    pub sausage_times: Vec<(f32, f32)>,
}

impl Lattice {
    /// Returns the words of lattice `i` with the least expected edit distance to its paths. The
    /// scores are used as they are: scale them first. O(rounds × arcs × words).
    ///
    /// # Errors
    /// If there is no such lattice; [`Error::NoPath`] if it has no path; [`Error::Limit`].
    #[doc(alias = "MinimumBayesRisk")]
    pub fn minimum_bayes_risk(&self, i: usize, options: &MbrOptions) -> Result<MbrResult, Error> {
        let words = self.best_path(i)?.ok_or(Error::NoPath { fsa: i })?.words;
        self.minimum_bayes_risk_from(i, &words, options)
    }

    /// Does the same as [`minimum_bayes_risk`](Self::minimum_bayes_risk), but starts with these
    /// words instead of the words of the best path.
    ///
    /// # Errors
    /// As [`minimum_bayes_risk`](Self::minimum_bayes_risk).
    pub fn minimum_bayes_risk_from(&self, i: usize, words: &[i32], options: &MbrOptions) -> Result<MbrResult, Error> {
        self.check_index(i)?;
        // Dead ends would take a share of the posteriors.
        let connected = self.get(i)?.connect()?;
        let utterance = connected.utterance(0);
        if utterance.fsa.num_states() == 0 {
            return Err(Error::NoPath { fsa: i });
        }
        let cells = utterance.fsa.num_states().saturating_mul(2 * words.len() + 2);
        options.limits.check(
            Operation::MinimumBayesRisk,
            cells.saturating_mul(2 * size_of::<f64>()),
            utterance.fsa.num_states(),
            utterance.fsa.arcs().len(),
        )?;
        Ok(Decoder::new(utterance).decode(words, options))
    }
}

/// Cost of an inserted word in excess of 1, so that of two equal alignments the one without
/// insertions is chosen.
const PENALTY: f64 = 1e-5;
/// Largest number of changes of the words. The changes end by themselves except for rounding.
const MOST_ROUNDS: usize = 100;

/// Returns the loss of a word of the lattice against one of the hypothesis, where 0 is none.
fn loss(word: i32, hypothesis: i32) -> f64 {
    if word == hypothesis { 0.0 } else { 1.0 }
}

/// Returns the loss of a word of the lattice that no bin takes.
fn insertion(word: i32) -> f64 {
    if word == 0 { 0.0 } else { 1.0 + PENALTY }
}

/// Alignments of an arc with a bin.
#[derive(Clone, Copy, PartialEq)]
enum Move {
    /// The word of the arc is aligned with the bin.
    Both,
    /// The arc comes after the bin.
    Arc,
    /// The bin has no word of this path.
    Bin,
}

/// Posterior, and the sums of begins and ends weighted by it.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    posterior: f64,
    begin: f64,
    end: f64,
}

type Bin = BTreeMap<i32, Entry>;

struct Decoder<'a> {
    lattice: Utterance<'a>,
    times: Vec<f64>,
    /// For each state the log-sum of the paths to it.
    forward: Vec<f64>,
    /// For each arc its share of the paths into the state that it enters.
    shares: Vec<f64>,
    /// Arcs by the state that they enter.
    entering: Vec<Vec<usize>>,
}

impl<'a> Decoder<'a> {
    fn new(lattice: Utterance<'a>) -> Self {
        let mut forward = vec![f64::NEG_INFINITY; lattice.fsa.num_states()];
        forward[0] = 0.0;
        let mut entering = vec![Vec::new(); lattice.fsa.num_states()];
        for (i, arc) in lattice.fsa.arcs().iter().enumerate() {
            let (from, to) = arc.states();
            forward[to] = log_add(forward[to], forward[from] + lattice.score(i));
            entering[to].push(i);
        }
        let share = |(i, arc): (usize, &crate::Arc)| {
            let (from, to) = arc.states();
            let score = forward[from] + lattice.score(i);
            if score == f64::NEG_INFINITY { 0.0 } else { (score - forward[to]).exp() }
        };
        let shares = lattice.fsa.arcs().iter().enumerate().map(share).collect();
        #[expect(clippy::cast_precision_loss, reason = "frames")]
        let times = lattice.times().into_iter().map(|time| time.unwrap_or(0) as f64).collect();
        Self { lattice, times, forward, shares, entering }
    }

    fn word(&self, arc: usize) -> i32 {
        self.lattice.arc(arc).label.max(0)
    }

    fn decode(&self, words: &[i32], options: &MbrOptions) -> MbrResult {
        let mut hypothesis = padded(words);
        for round in 0.. {
            let distances = self.distances(&hypothesis);
            let risk = distances.last().copied().unwrap_or(0.0);
            let bins = self.align(&hypothesis, &distances);
            let mut changed = false;
            if options.decode_mbr {
                for (word, bin) in hypothesis.iter_mut().zip(&bins) {
                    let best = ranked(bin)[0].0;
                    let posterior = |word: i32| bin.get(&word).map_or(0.0, |entry| narrow(entry.posterior));
                    changed |= posterior(best) > posterior(*word);
                    *word = best;
                }
            }
            if !changed || round >= MOST_ROUNDS {
                return result(&hypothesis, &bins, risk, options);
            }
            hypothesis = padded(&hypothesis);
        }
        unreachable!("the rounds are counted")
    }

    /// Returns for each state, and each number of bins, the expected edit distance of the paths to
    /// it. The last row belongs to the final state.
    fn distances(&self, hypothesis: &[i32]) -> Vec<f64> {
        let width = hypothesis.len() + 1;
        let mut distances = vec![0.0; self.forward.len() * width];
        for bin in 1..width {
            distances[bin] = distances[bin - 1] + loss(0, hypothesis[bin - 1]);
        }
        let mut over = vec![0.0; width];
        for state in 1..self.forward.len() {
            for &arc in &self.entering[state] {
                let from = self.lattice.arc(arc).states().0;
                over_arc(self.word(arc), hypothesis, &distances[from * width..][..width], &mut over, |_, _| ());
                for (sum, distance) in distances[state * width..].iter_mut().zip(&over) {
                    *sum += self.shares[arc] * distance;
                }
            }
        }
        distances
    }

    /// Returns the bins with the words that are aligned with them.
    fn align(&self, hypothesis: &[i32], distances: &[f64]) -> Vec<Bin> {
        let width = hypothesis.len() + 1;
        let mut bins = vec![Bin::new(); hypothesis.len()];
        // Share of all paths that is at a state with so many bins done.
        let mut shares = vec![0.0; self.forward.len() * width];
        if let Some(all) = shares.last_mut() {
            *all = 1.0;
        }
        let (mut over, mut moves, mut own) = (vec![0.0; width], vec![Move::Arc; width], vec![0.0; width]);
        for state in (1..self.forward.len()).rev() {
            let end = self.times[state];
            for &arc in &self.entering[state] {
                let (from, word) = (self.lattice.arc(arc).states().0, self.word(arc));
                let row = &distances[from * width..][..width];
                over_arc(word, hypothesis, row, &mut over, |bin, how| moves[bin] = how);
                own.fill(0.0);
                for bin in (1..width).rev() {
                    own[bin] += self.shares[arc] * shares[state * width + bin];
                    match moves[bin] {
                        Move::Both => {
                            shares[from * width + bin - 1] += own[bin];
                            add(&mut bins[bin - 1], word, own[bin], self.times[from], end);
                        }
                        Move::Arc => shares[from * width + bin] += own[bin],
                        Move::Bin => {
                            own[bin - 1] += own[bin];
                            add(&mut bins[bin - 1], 0, own[bin], end, end);
                        }
                    }
                }
                own[0] += self.shares[arc] * shares[state * width];
                shares[from * width] += own[0];
            }
        }
        let mut rest = 0.0;
        for bin in (1..width).rev() {
            rest += shares[bin];
            add(&mut bins[bin - 1], 0, rest, 0.0, 0.0);
        }
        bins
    }
}

/// Computes the distances over an arc; `before` are the distances at the state that it leaves.
/// Calls `how` for each bin with the best move.
fn over_arc(word: i32, hypothesis: &[i32], before: &[f64], over: &mut [f64], mut how: impl FnMut(usize, Move)) {
    over[0] = before[0] + insertion(word);
    for (bin, &expected) in (1..).zip(hypothesis) {
        let both = before[bin - 1] + loss(word, expected);
        let arc = before[bin] + insertion(word);
        let alone = over[bin - 1] + loss(0, expected);
        let (best, by) = if both <= arc { (both, Move::Both) } else { (arc, Move::Arc) };
        let (best, by) = if best <= alone { (best, by) } else { (alone, Move::Bin) };
        over[bin] = best;
        how(bin, by);
    }
}

fn add(bin: &mut Bin, word: i32, posterior: f64, begin: f64, end: f64) {
    if posterior > 0.0 {
        let entry = bin.entry(word).or_default();
        entry.posterior += posterior;
        entry.begin += begin * posterior;
        entry.end += end * posterior;
    } else if bin.is_empty() {
        // No bin may be without an entry.
        bin.insert(word, Entry::default());
    }
}

/// Returns the words of a bin, from the likeliest down; of two equally likely ones the larger
/// number first.
fn ranked(bin: &Bin) -> Vec<(i32, f32)> {
    let mut words: Vec<_> = bin.iter().map(|(&word, entry)| (word, narrow(entry.posterior))).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    words
}

/// Puts an empty bin before, between and after words.
fn padded(words: &[i32]) -> Vec<i32> {
    let mut padded = vec![0];
    padded.extend(words.iter().filter(|&&word| word != 0).flat_map(|&word| [word, 0]));
    padded
}

fn result(hypothesis: &[i32], bins: &[Bin], risk: f64, options: &MbrOptions) -> MbrResult {
    let mut result = MbrResult { risk, ..MbrResult::default() };
    let mut times: Vec<(f64, f64)> = Vec::new();
    for (&word, bin) in hypothesis.iter().zip(bins) {
        let words = ranked(bin);
        if word != 0 || options.print_silence {
            // If no path has the word in this bin, the times of the likeliest word are used.
            let entry = bin.get(&word).or_else(|| bin.get(&words[0].0)).copied().unwrap_or_default();
            let mean = |sum: f64| if entry.posterior > 0.0 { sum / entry.posterior } else { 0.0 };
            result.words.push(word);
            result.confidences.push(bin.get(&word).map_or(0.0, |entry| narrow(entry.posterior)));
            times.push((mean(entry.begin), mean(entry.end)));
            part_last_two(&mut times);
        }
        let sum = |of: fn(&Entry) -> f64| bin.values().map(of).sum::<f64>();
        let mut bounds = (narrow(sum(|entry| entry.begin)), narrow(sum(|entry| entry.end)));
        if let Some(before) = result.sausage_times.last_mut()
            && before.1 > bounds.0
        {
            let middle = 0.5 * (before.1 + bounds.0);
            before.1 = middle;
            bounds.0 = middle;
        }
        result.sausage_times.push(bounds);
        result.sausage.push(words);
    }
    result.times = times.into_iter().map(|(begin, end)| (narrow(begin), narrow(end))).collect();
    result
}

/// Separates the last two words: means over different paths may overlap, and the words then share
/// the time of both by their lengths.
fn part_last_two(times: &mut [(f64, f64)]) {
    let [before @ .., first, second] = times else { return };
    if first.1 <= second.0 {
        return;
    }
    let least = before.last().map_or(0.0, |&(_, end)| end);
    let left = least.max(first.0.min(second.0));
    let right = first.1.max(second.1);
    let lengths = (first.1 - first.0, second.1 - second.0);
    let middle = if lengths.0 > 0.0 { left + (right - left) * lengths.0 / (lengths.0 + lengths.1) } else { left };
    (*first, *second) = ((left, middle), (middle, right));
}
