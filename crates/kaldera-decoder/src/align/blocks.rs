//! The best path through a trellis, in bounded memory.

/// States, and the update of their scores from one frame to the next.
pub(super) trait Trellis {
    /// Returns the scores of all states before the first frame.
    fn start(&self) -> Vec<f64>;
    /// Computes the scores after a frame from the scores before it.
    fn step(&mut self, frame: usize, from: &[f64], to: &mut [f64]);
    /// Returns the state from which the best path came into `state`, by the scores before the
    /// frame.
    fn origin(&self, state: usize, from: &[f64]) -> usize;
    /// Returns the best state in which a path may end; `None` if all have probability 0.
    fn end(&self, scores: &[f64]) -> Option<usize>;
}

/// Maximum number of blocks into which frames are divided if their scores do not fit. Blocks that
/// do not fit either are divided again.
const BLOCKS: usize = 256;

/// Returns the state of the best path for each frame. The scores of all frames are kept if they fit
/// into `max_bytes`. Otherwise only the scores at the beginnings of blocks of frames are kept; each
/// block is computed again from them, last one first, and in the same way. With `L` levels of
/// blocks, a frame is computed `L + 1` times, and the beginnings take `L` times `BLOCKS` rows of
/// scores in addition to `max_bytes`.
pub(super) fn best_states(trellis: &mut impl Trellis, num_frames: usize, max_bytes: usize) -> Option<Vec<usize>> {
    let start = trellis.start();
    let states = start.len();
    let most_frames = (max_bytes / size_of::<f64>() / states.max(1)).max(1);
    let mut path = vec![0; num_frames];
    let (mut columns, mut next) = (vec![], vec![0.0; states]);
    let (mut waiting, mut end, mut state) = (vec![(0, start)], num_frames, None);
    while let Some((first, mut column)) = waiting.pop() {
        let count = end - first;
        if count > most_frames {
            let block = count.div_ceil(BLOCKS).max(most_frames);
            let last = first + (count - 1) / block * block;
            for frame in first..last {
                if (frame - first) % block == 0 {
                    waiting.push((frame, column.clone()));
                }
                trellis.step(frame, &column, &mut next);
                std::mem::swap(&mut column, &mut next);
            }
            waiting.push((last, column));
            continue;
        }
        columns.clear();
        columns.extend_from_slice(&column);
        columns.resize(states * (count + 1), 0.0);
        for (place, frame) in (first..end).enumerate() {
            let (before, after) = columns.split_at_mut((place + 1) * states);
            trellis.step(frame, &before[place * states..], &mut after[..states]);
        }
        let mut at = match state {
            Some(state) => state,
            None => trellis.end(&columns[count * states..])?,
        };
        for place in (0..count).rev() {
            path[first + place] = at;
            at = trellis.origin(at, &columns[place * states..][..states]);
        }
        (state, end) = (Some(at), first);
    }
    Some(path)
}
