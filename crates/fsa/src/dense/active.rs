//! Beam pruning: the states of a frame from which arcs are followed.

use crate::dense::DenseOptions;

/// A state of the graph that a path has reached, and the score of the best path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token {
    pub(super) state: u32,
    /// Relative to the best score of the frame before.
    pub(super) score: f32,
}

/// Scores that the states of a frame must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Active {
    /// Arcs are followed from states above this.
    pub(super) cutoff: f32,
    /// Beam below the best score for states of the next frame.
    pub(super) next_beam: f32,
}

impl Active {
    /// Returns the states within the search beam of the `best`, but no fewer and no more than the
    /// options say. As in Kaldi: if the beam leaves too many or too few, the next beam is the one
    /// that would have been right here, plus `beam_delta`. Only tokens above `entered` count,
    /// within the beam by which they were entered. `scores` is a buffer to work in.
    pub(super) fn new(
        tokens: &[Token],
        best: f32,
        entered: f32,
        options: &DenseOptions,
        scores: &mut Vec<f32>,
    ) -> Self {
        let most = options.max_active_states;
        let least = options.min_active_states.min(most);
        let in_beam = (best - options.search_beam).next_down().max(entered);
        let count = tokens.iter().filter(|token| token.score > in_beam).count();
        if count > most {
            let last = nth_best(tokens, most - 1, in_beam, scores).unwrap_or(in_beam);
            return Self {
                cutoff: last.next_down(),
                next_beam: options.search_beam.min(best - last + options.beam_delta),
            };
        }
        if count >= least {
            return Self { cutoff: in_beam, next_beam: options.search_beam };
        }
        match nth_best(tokens, least - 1, entered, scores) {
            Some(last) => Self { cutoff: last.next_down(), next_beam: best - last + options.beam_delta },
            // Even all of them are no more than asked for.
            None => Self { cutoff: entered, next_beam: f32::INFINITY },
        }
    }
}

/// Returns the score above `entered` of which `n` others are at least as good; `None` if it is the
/// last one or there is none.
fn nth_best(tokens: &[Token], n: usize, entered: f32, scores: &mut Vec<f32>) -> Option<f32> {
    scores.clear();
    scores.extend(tokens.iter().map(|token| token.score).filter(|&score| score > entered));
    if n + 1 >= scores.len() {
        return None;
    }
    Some(*scores.select_nth_unstable_by(n, |a, b| b.total_cmp(a)).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(scores: &[f32], options: &DenseOptions) -> Active {
        let tokens: Vec<_> = (0..).zip(scores).map(|(state, &score)| Token { state, score }).collect();
        Active::new(&tokens, scores[0], f32::NEG_INFINITY, options, &mut vec![])
    }

    fn count(scores: &[f32], options: &DenseOptions) -> usize {
        let cutoff = active(scores, options).cutoff;
        scores.iter().filter(|&&score| score > cutoff).count()
    }

    #[test]
    fn numbers_of_states_are_kept_to() {
        let scores: Vec<f32> = (0..100).map(|i| -(i as f32)).collect();
        let options = DenseOptions::default().with_search_beam(20.0).with_min_active_states(0);
        assert_eq!(count(&scores, &options), 21);
        assert_eq!(active(&scores, &options).next_beam, 20.0);
        assert_eq!(count(&scores, &options.clone().with_max_active_states(7)), 7);
        assert_eq!(active(&scores, &options.clone().with_max_active_states(7)).next_beam, 6.5);
        assert_eq!(count(&scores, &options.clone().with_min_active_states(40)), 40);
        assert_eq!(active(&scores, &options.clone().with_min_active_states(40)).next_beam, 39.5);
        assert_eq!(count(&scores, &options.clone().with_min_active_states(100)), 100);
        assert_eq!(active(&scores, &options.clone().with_min_active_states(100)).next_beam, f32::INFINITY);
        assert_eq!(count(&scores, &options.clone().with_min_active_states(40).with_max_active_states(1)), 1);
        assert_eq!(count(&scores, &DenseOptions::exhaustive(1.0)), 100);
        assert_eq!(count(&scores, &options.with_search_beam(0.0)), 1);
    }
}
