//! Combination of the hypotheses of a recording's parts.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use kaldera_decoder::{Hypothesis, Recognition, Segment};

/// Maximum number of words in all hypotheses of a recording that was cut, if they are several: some
/// 120 MB.
const MAX_WORDS: usize = 1 << 20;

/// The parts of a recording, in order.
pub(super) struct Parts {
    n_best: usize,
    max_words: usize,
    parts: Vec<Part>,
}

struct Part {
    /// Seconds within the recording.
    times: Range<f64>,
    recognition: Recognition,
    /// The best combinations of the parts up to here: an index among the combinations before, and a
    /// hypothesis of this part.
    ways: Vec<Way>,
    /// Number of these that the combinations of all parts use.
    num_alive: usize,
}

#[derive(Debug, Clone, Copy)]
struct Way {
    score: f64,
    before: usize,
    own: usize,
}

impl Parts {
    /// Creates a combination without parts; in the end there are at most `n_best` hypotheses.
    pub(super) fn new(n_best: usize) -> Self {
        Self { n_best: n_best.max(1), max_words: MAX_WORDS, parts: vec![] }
    }

    /// Adds the next part with its times within the recording, which begin at the end of the last
    /// part. Returns its words. O(n log n) for n hypotheses.
    pub(super) fn push(&mut self, times: Range<f64>, mut recognition: Recognition) -> &Recognition {
        if recognition.hypotheses.is_empty() {
            recognition.hypotheses.push(Hypothesis::default());
        }
        for hypothesis in &mut recognition.hypotheses {
            end_at(&mut hypothesis.tokens, times.end - times.start);
            end_at(&mut hypothesis.words, times.end - times.start);
        }
        let start = [Way { score: 0.0, before: 0, own: 0 }];
        let before = self.parts.last().map_or(&start[..], |part| &part.ways);
        let mut ways = vec![];
        let scores = falling_scores(&recognition.hypotheses);
        for (rank, way) in before.iter().enumerate() {
            // (rank + 1) (own + 1) pairs, including this one, are no worse than it.
            let count = self.n_best / (rank + 1);
            for (own, score) in scores.iter().enumerate().take(count) {
                ways.push(Way { score: way.score + score, before: rank, own });
            }
        }
        ways.sort_by(|a, b| b.score.total_cmp(&a.score));
        ways.truncate(self.n_best);
        let num_alive = ways.len();
        self.parts.push(Part { times, recognition, ways, num_alive });
        if self.parts.len() > 1 {
            self.drop_unused();
        }
        &self.parts[self.parts.len() - 1].recognition
    }

    /// Empties the hypotheses that no combination of all parts uses. Combinations share their
    /// beginnings, so few hypotheses of a part are left soon after it. If a part keeps all its
    /// combinations, so do the parts before it: O(n) for each part, on average.
    fn drop_unused(&mut self) {
        let mut alive: BTreeSet<usize> = (0..self.parts.last().map_or(0, |part| part.ways.len())).collect();
        for (place, part) in self.parts.iter_mut().rev().enumerate() {
            if place > 0 && alive.len() == part.num_alive {
                break;
            }
            part.num_alive = alive.len();
            let used: BTreeSet<usize> = alive.iter().map(|&way| part.ways[way].own).collect();
            alive = alive.iter().map(|&way| part.ways[way].before).collect();
            for (own, hypothesis) in part.recognition.hypotheses.iter_mut().enumerate() {
                if !used.contains(&own) {
                    *hypothesis = Hypothesis::default();
                }
            }
        }
    }

    /// Returns the hypotheses of the whole, the best one first, each text once. For a recording
    /// that was cut, only the best one has tokens, and the last ones are left out if the words of
    /// all would be more than [`MAX_WORDS`].
    pub(super) fn finish(mut self, utterance: &str) -> Recognition {
        if let [_] = self.parts[..]
            && let Some(part) = self.parts.pop()
        {
            return part.recognition;
        }
        let num_frames = self.parts.iter().map(|part| part.recognition.num_frames).sum();
        let count = self.parts.last().map_or(0, |part| part.ways.len());
        let (mut texts, mut num_words) = (HashSet::new(), 0);
        let all = (0..count).map(|way| self.combined(way)).filter(|hypothesis| texts.insert(hypothesis.text()));
        let few = all.enumerate().take_while(|(place, hypothesis)| {
            num_words += hypothesis.words.len();
            *place == 0 || num_words <= self.max_words
        });
        let hypotheses = few.map(|(_, hypothesis)| hypothesis).collect();
        Recognition::new(utterance, num_frames, hypotheses)
    }

    /// Returns the hypothesis of a combination of all parts.
    fn combined(&self, way: usize) -> Hypothesis {
        let (mut chosen, mut at) = (vec![0; self.parts.len()], way);
        for (part, chosen) in self.parts.iter().zip(&mut chosen).rev() {
            let way = part.ways[at];
            (*chosen, at) = (way.own, way.before);
        }
        let (mut whole, mut first_frame) = (Hypothesis::default(), 0);
        for (part, own) in self.parts.iter().zip(chosen) {
            let hypothesis = &part.recognition.hypotheses[own];
            let moved = |segment: &Segment| {
                let mut segment = segment.clone();
                segment.frames = segment.frames.start + first_frame..segment.frames.end + first_frame;
                segment.start += part.times.start;
                // Not beyond the part by rounding.
                segment.end = (segment.end + part.times.start).min(part.times.end);
                segment
            };
            if way == 0 {
                whole.tokens.extend(hypothesis.tokens.iter().map(moved));
            }
            whole.words.extend(hypothesis.words.iter().map(moved));
            whole.scores.acoustic += hypothesis.scores.acoustic;
            whole.scores.language_model += hypothesis.scores.language_model;
            whole.scores.insertion += hypothesis.scores.insertion;
            whole.scores.hot_words += hypothesis.scores.hot_words;
            first_frame += part.recognition.num_frames;
        }
        whole
    }
}

/// Returns the total scores. The decoder may have ordered hypotheses in another precision: its
/// order counts.
fn falling_scores(hypotheses: &[Hypothesis]) -> Vec<f64> {
    let mut last = f64::INFINITY;
    let own = hypotheses.iter().map(|one| one.scores.total());
    own.map(|score| {
        last = last.min(score);
        last
    })
    .collect()
}

/// Ends segments at the end of their audio, after `seconds`. The last frame may reach beyond the
/// last sample, and a network that gets silence after it may find tokens there. Each of these gets
/// at most a frame before the end; together they take at most half of the segment before them.
#[expect(clippy::cast_precision_loss, reason = "an utterance has fewer than 2^53 frames and segments")]
pub(super) fn end_at(segments: &mut [Segment], seconds: f64) {
    let inside = segments.iter().position(|segment| segment.start >= seconds).unwrap_or(segments.len());
    let (inside, beyond) = segments.split_at_mut(inside);
    for segment in inside.iter_mut() {
        segment.end = segment.end.min(seconds);
    }
    let Some(first) = beyond.first() else { return };
    let frame = first.duration() / first.frames.len().max(1) as f64;
    let earliest = inside.last().map_or(0.0, |last| last.end.min(f64::midpoint(last.start, seconds)));
    let start = (seconds - frame * beyond.len() as f64).max(earliest);
    for segment in inside.iter_mut() {
        segment.end = segment.end.min(start);
    }
    let each = (seconds - start) / beyond.len() as f64;
    for (number, segment) in beyond.iter_mut().enumerate() {
        segment.start = start + each * number as f64;
        segment.end = (start + each * (number + 1) as f64).min(seconds);
    }
}

#[cfg(test)]
mod tests {
    use kaldera_decoder::FrameTimes;
    use proptest::prelude::*;

    use super::*;

    fn hypothesis(word: &str, score: f64) -> Hypothesis {
        let mut made = Hypothesis::default();
        made.words.push(Segment::new(1, word, 0..2, &FrameTimes::new(0.5)));
        made.scores.acoustic = score;
        made
    }

    fn recognition(part: usize, scores: &[f64]) -> Recognition {
        let mut scores = scores.to_vec();
        scores.sort_by(|a, b| b.total_cmp(a));
        let all = scores.iter().enumerate().map(|(own, &score)| hypothesis(&format!("w{part}.{own}"), score));
        Recognition::new("u", 2, all.collect())
    }

    proptest! {
        #[test]
        fn the_best_combinations_are_found(
            parts in prop::collection::vec(prop::collection::vec(-9.0..0.0_f64, 1..5), 1..4),
            n_best in 1..6_usize,
        ) {
            let mut all = vec![0.0];
            let mut combined = Parts::new(n_best);
            for (number, scores) in parts.iter().enumerate() {
                let mut recognition = recognition(number, scores);
                recognition.hypotheses.truncate(n_best);
                let own: Vec<f64> = recognition.hypotheses.iter().map(|one| one.scores.acoustic).collect();
                all = all.iter().flat_map(|a| own.iter().map(move |b| a + b)).collect();
                let at = f64::from(u8::try_from(number).unwrap());
                combined.push(at..at + 1.0, recognition);
            }
            all.sort_by(|a, b| b.total_cmp(a));
            all.truncate(n_best);
            let found = combined.finish("u");
            prop_assert_eq!(found.num_frames, 2 * parts.len());
            let scores: Vec<f64> = found.hypotheses.iter().map(|one| one.scores.total()).collect();
            prop_assert_eq!(scores.len(), all.len());
            prop_assert!(scores.iter().zip(&all).all(|(a, b)| (a - b).abs() < 1e-9), "{:?} {:?}", scores, all);
            prop_assert!(found.hypotheses.iter().all(|one| one.words.len() == parts.len()));
        }
    }

    #[test]
    fn words_stay_within_their_parts() {
        let mut parts = Parts::new(2);
        // The last frame of the first part reaches beyond its end.
        parts.push(0.0..0.9, recognition(0, &[-1.0]));
        parts.push(0.9..0.9, Recognition::new("u", 0, vec![]));
        parts.push(0.9..2.5, recognition(2, &[-2.0, -3.0]));
        let found = parts.finish("u");
        let words: Vec<_> =
            found.hypotheses[0].words.iter().map(|word| (word.start, word.end, word.frames.clone())).collect();
        assert_eq!(words, [(0.0, 0.9, 0..2), (0.9, 1.9, 2..4)]);
        assert_eq!((found.hypotheses.len(), found.hypotheses[1].text()), (2, "w0.0 w2.1".to_owned()));
        assert_eq!(Parts::new(0).finish("u"), Recognition::new("u", 0, vec![]));
    }

    #[test]
    fn equal_texts_are_one() {
        let mut parts = Parts::new(4);
        let same = |words: [&str; 2]| Recognition::new("u", 2, words.map(|word| hypothesis(word, -1.0)).to_vec());
        parts.push(0.0..1.0, same(["a", "a b"]));
        parts.push(1.0..2.0, same(["b c", "c"]));
        let texts: Vec<String> = parts.finish("u").hypotheses.iter().map(Hypothesis::text).collect();
        assert_eq!(texts, ["a b c", "a c", "a b b c"]);
    }

    #[test]
    fn words_of_all_hypotheses_are_bounded() {
        let combined = |max_words: usize| {
            let mut parts = Parts::new(4);
            parts.max_words = max_words;
            parts.push(0.0..1.0, recognition(0, &[-1.0, -2.0]));
            parts.push(1.0..2.0, recognition(1, &[-1.0, -3.0]));
            parts.finish("u").hypotheses
        };
        assert_eq!([0, 3, 4, 7, 8].map(|most| combined(most).len()), [1, 1, 2, 3, 4]);
        assert_eq!(combined(5), combined(8)[..2]);
    }

    /// Makes words of a frame each, of 0.5 s.
    fn frames_of(frames: &[usize]) -> Recognition {
        let mut made = Hypothesis::default();
        let word = |&frame: &usize| Segment::new(1, "a", frame..frame + 1, &FrameTimes::new(0.5));
        made.words = frames.iter().map(word).collect();
        made.tokens.clone_from(&made.words);
        Recognition::new("u", 9, vec![made])
    }

    #[test]
    fn segments_that_begin_beyond_their_part_have_a_length_and_do_not_overlap() {
        let times = |frames: &[usize], seconds: f64| {
            let mut parts = Parts::new(1);
            parts.push(0.0..seconds, frames_of(frames));
            let found = parts.finish("u").hypotheses.remove(0);
            assert_eq!(found.tokens, found.words);
            found.words.iter().map(|word| (word.start, word.end)).collect::<Vec<_>>()
        };
        // The second word has the frame from 0.5 to 1 s.
        assert_eq!(times(&[0, 1], 0.4), [(0.0, 0.2), (0.2, 0.4)]);
        assert_eq!(times(&[0, 2, 4], 1.0), [(0.0, 0.5), (0.5, 0.75), (0.75, 1.0)]);
        assert_eq!(times(&[3], 1.0), [(0.5, 1.0)]);
        assert_eq!(times(&[], 1.0), []);
    }

    proptest! {
        #[test]
        fn segments_are_within_their_parts_and_do_not_overlap(
            frames in prop::collection::vec(prop::collection::btree_set(0..9_usize, 0..6), 1..4),
            seconds in 0.1..5.0_f64,
        ) {
            let (mut parts, mut start) = (Parts::new(1), 0.0);
            for frames in &frames {
                parts.push(start..start + seconds, frames_of(&frames.iter().copied().collect::<Vec<_>>()));
                start += seconds;
            }
            let found = parts.finish("u").hypotheses.remove(0);
            prop_assert_eq!(found.words.len(), frames.iter().map(std::collections::BTreeSet::len).sum::<usize>());
            for words in [&found.words, &found.tokens] {
                prop_assert!(words.iter().all(|word| word.start < word.end && word.end <= start), "{words:?}");
                prop_assert!(words.windows(2).all(|pair| pair[0].end <= pair[1].start + 1e-9), "{words:?}");
            }
        }
    }

    #[test]
    fn hypotheses_that_no_way_uses_are_dropped() {
        let mut parts = Parts::new(2);
        // Any other first part is worse than both of the second.
        parts.push(0.0..1.0, recognition(0, &[-1.0, -50.0]));
        parts.push(1.0..2.0, recognition(1, &[-1.0, -2.0]));
        assert_eq!(parts.parts[0].recognition.hypotheses[1], Hypothesis::default());
        assert_eq!(parts.finish("u").hypotheses[1].text(), "w0.0 w1.1");
    }
}
