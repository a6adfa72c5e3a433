//! The states of a lattice at one frame, with copies for paths around cycles of epsilon arcs.

use crate::dense::trellis::{Extras, Link, Trellis};

/// The states at a frame: the tokens that stay, once for each number of laps (links that close a
/// cycle) on the paths to them.
///
/// ```text
///   lap 0    a --> b        b --> a closes the cycle
///                   '----.
///   lap 1          a <---'  --> b
///
///   Every copy has the links to the next frame that its paths can afford.
/// ```
#[derive(Debug, Default)]
pub(super) struct FrameStates {
    laps: Vec<Lap>,
    /// Number of states.
    pub(super) count: usize,
}

#[derive(Debug)]
struct Lap {
    /// For each token, its index among the states of the frame, or [`GONE`].
    places: Vec<usize>,
    /// For each token, the loss of this lap's best path against the token's best path; empty for
    /// lap 0, whose paths are the best ones.
    losses: Vec<f32>,
}

/// Index of a token that does not stay.
pub(super) const GONE: usize = usize::MAX;

/// Largest number of laps within a frame of the paths of a lattice, however little they cost.
const MOST_LAPS: usize = 32;

impl FrameStates {
    /// Returns all tokens of a frame, without laps.
    pub(super) fn all(num_tokens: usize, epsilons: &[Link]) -> Self {
        let (places, count) = places(0..num_tokens, num_tokens, epsilons.iter(), 0);
        Self { laps: vec![Lap { places, losses: vec![] }], count }
    }

    /// Returns the tokens of a frame on paths within a beam of the best one.
    pub(super) fn within(trellis: &Trellis, extras: &Extras, frame: usize, beam: f32) -> Self {
        let (epsilons, closing) = (trellis.epsilons_of(frame), trellis.closing_of(frame));
        let extras = trellis.extras_of(extras, frame);
        let tokens = (0..extras.len()).filter(|&token| extras[token] < f32::INFINITY);
        let kept = |link: &&Link| extras[link.dest as usize] + trellis.lost_within(frame, link) <= beam.min(f32::MAX);
        let (places, count) = places(tokens, extras.len(), epsilons.iter().filter(kept), 0);
        let mut states = Self { laps: vec![Lap { places, losses: vec![] }], count };
        if !closing.is_empty() {
            states.add_laps(trellis, extras, frame, beam);
        }
        states
    }

    fn add_laps(&mut self, trellis: &Trellis, extras: &[f32], frame: usize, beam: f32) {
        let (epsilons, closing) = (trellis.epsilons_of(frame), trellis.closing_of(frame));
        let beam = beam.min(f32::MAX);
        let lost = |link: &Link| trellis.lost_within(frame, link);
        let mut losses = trellis.entry_losses(frame);
        for link in epsilons {
            let loss = losses[link.source as usize] + lost(link);
            losses[link.dest as usize] = loss.min(losses[link.dest as usize]);
        }
        for _ in 0..MOST_LAPS {
            let mut next = vec![f32::INFINITY; extras.len()];
            let enter = |next: &mut [f32], loss: f32, link: &Link| {
                let dest = link.dest as usize;
                if loss + extras[dest] <= beam {
                    next[dest] = loss.min(next[dest]);
                }
            };
            closing.iter().for_each(|link| enter(&mut next, losses[link.source as usize] + lost(link), link));
            for link in epsilons {
                let loss = next[link.source as usize] + lost(link);
                enter(&mut next, loss, link);
            }
            let tokens = (0..next.len()).filter(|&token| next[token] < f32::INFINITY);
            let (places, count) = places(tokens, next.len(), epsilons.iter(), self.count);
            if count == 0 {
                return;
            }
            self.count += count;
            self.laps.push(Lap { places, losses: next.clone() });
            losses = next;
        }
    }

    /// Returns the index of a token at which paths enter the frame, or [`GONE`].
    #[inline]
    pub(super) fn entry(&self, token: u32) -> usize {
        self.laps[0].places[token as usize]
    }

    /// Returns the states from which paths within the beam go on over a link that leaves the frame,
    /// if it is this much worse than the best path.
    #[inline]
    pub(super) fn exits(&self, token: u32, extra: f32, beam: f32) -> impl Iterator<Item = usize> {
        self.copies(token, extra, beam).map(|(_, place)| place)
    }

    /// Returns both ends of a link within the frame, once for each lap in which paths within the
    /// beam go over it.
    pub(super) fn ends(&self, link: &Link, closes: bool, extra: f32, beam: f32) -> impl Iterator<Item = [usize; 2]> {
        let dest = link.dest as usize;
        self.copies(link.source, extra, beam).filter_map(move |(lap, source)| {
            let place = self.laps.get(lap + usize::from(closes))?.places[dest];
            (place != GONE).then_some([source, place])
        })
    }

    /// Returns the laps and states of a token from which a path that is this much worse than the
    /// best one stays within the beam.
    #[inline]
    fn copies(&self, token: u32, extra: f32, beam: f32) -> impl Iterator<Item = (usize, usize)> {
        let (token, beam) = (token as usize, beam.min(f32::MAX));
        self.laps.iter().enumerate().filter_map(move |(number, lap)| {
            let loss = lap.losses.get(token).copied().unwrap_or(0.0);
            (lap.places[token] != GONE && extra + loss <= beam).then_some((number, lap.places[token]))
        })
    }
}

/// Returns for each token its index, counted from `first` on, or [`GONE`]; and the number of
/// tokens. Links lead to later indexes.
fn places<'a>(
    tokens: impl Iterator<Item = usize>,
    num_tokens: usize,
    epsilons: impl Iterator<Item = &'a Link>,
    first: usize,
) -> (Vec<usize>, usize) {
    let mut places = vec![GONE; num_tokens];
    let mut epsilons = epsilons.peekable();
    if epsilons.peek().is_none() {
        let mut count = 0;
        for token in tokens {
            places[token] = first + count;
            count += 1;
        }
        return (places, count);
    }
    let mut depths = vec![0; num_tokens];
    for link in epsilons {
        depths[link.dest as usize] = depths[link.dest as usize].max(depths[link.source as usize] + 1);
    }
    let mut tokens: Vec<_> = tokens.collect();
    tokens.sort_by_key(|&token| depths[token]);
    tokens.iter().zip(first..).for_each(|(&token, place)| places[token] = place);
    (places, tokens.len())
}
