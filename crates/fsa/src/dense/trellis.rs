//! The results of a search so far: the states reached in each frame, and the links between them.

/// A link from a token of one frame to a token of the next, or over an epsilon arc to another token
/// of the same frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link {
    /// Index of the source token in its frame.
    pub(super) source: u32,
    /// Index of the destination token in its frame.
    pub(super) dest: u32,
    /// The arc of the graph.
    pub(super) arc: u32,
    /// Score of the arc of the graph plus the score of its class.
    pub(super) score: f32,
}

/// Offsets of the tokens and links of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub(super) first_token: usize,
    /// First link between tokens of the frame. Each of these stands behind the links that enter its
    /// source.
    pub(super) first_epsilon: usize,
    /// First link at the end of these that does not: the links from here on close cycles, and no
    /// best path takes any.
    pub(super) first_closing: usize,
    /// First link to the next frame.
    pub(super) first_link: usize,
    /// Best score of a token.
    pub(super) best: f32,
    /// A path into the frame counts if its score is above this. This makes the result independent
    /// of the order in which arcs were followed.
    pub(super) entered: f32,
}

impl Frame {
    /// Frame of the first token.
    const START: Self = Self {
        first_token: 0,
        first_epsilon: 0,
        first_closing: 0,
        first_link: 0,
        best: 0.0,
        entered: f32::NEG_INFINITY,
    };
}

/// The tokens before the first frame, and after each frame; with the links between them, mostly in
/// the order of their sources.
///
/// ```text
///   frames   0      1            2
///            o --.-> o ---.----> o
///                '-> o --' '---> o
///
///   The scores of tokens are less the best one of the frame before.
/// ```
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trellis {
    pub(super) scores: Vec<f32>,
    pub(super) links: Vec<Link>,
    pub(super) frames: Vec<Frame>,
    /// Number of frames that were removed at the front.
    pub(super) first_frame: usize,
    /// Number of links left when it was last pruned.
    pub(super) links_left: usize,
}

/// For each token, the loss of the best path over it against the best path of all; infinite if
/// there is none.
pub(super) struct Extras {
    /// Losses of the tokens from `first_token` on.
    extras: Vec<f32>,
    first_token: usize,
}

/// Number of links that may always be added before pruning is worthwhile.
const LINKS_TO_PRUNE: usize = 1 << 16;

impl Trellis {
    /// Creates a trellis of one token with the score 0.
    pub(super) fn new() -> Self {
        Self { scores: vec![0.0], links: vec![], frames: vec![Frame::START], first_frame: 0, links_left: 0 }
    }

    /// Resets the trellis, and keeps its memory.
    pub(super) fn restart(&mut self) {
        self.links.clear();
        self.scores.truncate(1);
        self.frames.truncate(1);
        (self.scores[0], self.first_frame, self.links_left) = (0.0, 0, 0);
        self.frames[0] = Frame::START;
    }

    /// Returns the number of frames seen.
    pub(super) fn num_frames(&self) -> usize {
        self.first_frame + self.last()
    }

    /// Returns the number of frames that were removed at the front.
    pub(super) fn first_frame(&self) -> usize {
        self.first_frame
    }

    /// Returns the index of the last frame in memory, where the first one has index 0.
    pub(super) fn last(&self) -> usize {
        self.frames.len() - 1
    }

    /// Returns the number of bytes used.
    pub(super) fn bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
            + self.scores.capacity() * size_of::<f32>()
            + self.frames.capacity() * size_of::<Frame>()
    }

    /// Returns the numbers of tokens and links.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.scores.len(), self.links.len())
    }

    /// Returns the best score in the last frame, and all its scores.
    pub(super) fn last_scores(&self) -> (f32, &[f32]) {
        (self.frames[self.last()].best, self.scores(self.last()))
    }

    /// Returns the scores of a frame.
    fn scores(&self, frame: usize) -> &[f32] {
        &self.scores[self.tokens(frame)]
    }

    /// Returns the range of the tokens of a frame.
    fn tokens(&self, frame: usize) -> std::ops::Range<usize> {
        let end = self.frames.get(frame + 1).map_or(self.scores.len(), |next| next.first_token);
        self.frames[frame].first_token..end
    }

    /// Returns the number of tokens of a frame.
    pub(super) fn num_tokens(&self, frame: usize) -> usize {
        self.tokens(frame).len()
    }

    /// Returns the links from a frame to the next.
    pub(super) fn links_of(&self, frame: usize) -> &[Link] {
        let end = self.frames.get(frame + 1).map_or(self.links.len(), |next| next.first_epsilon);
        &self.links[self.frames[frame].first_link..end]
    }

    /// Returns the links between tokens of a frame that close no cycle, in topological order.
    pub(super) fn epsilons_of(&self, frame: usize) -> &[Link] {
        let Frame { first_epsilon, first_closing, .. } = self.frames[frame];
        &self.links[first_epsilon..first_closing]
    }

    /// Returns the links between tokens of a frame that close cycles.
    pub(super) fn closing_of(&self, frame: usize) -> &[Link] {
        let Frame { first_closing, first_link, .. } = self.frames[frame];
        &self.links[first_closing..first_link]
    }

    /// Sets the tokens before the first frame: the start state and the states that it reaches over
    /// the links in memory, of which the last `num_closing` close cycles.
    pub(super) fn begin(&mut self, best: f32, entered: f32, num_closing: usize, scores: impl Iterator<Item = f32>) {
        self.scores.clear();
        self.scores.extend(scores);
        let first_link = self.links.len();
        let first_closing = first_link - num_closing;
        self.frames[0] = Frame { first_closing, first_link, best, entered, ..Frame::START };
    }

    /// Returns the score that paths to tokens of the last frame must be above.
    pub(super) fn last_entered(&self) -> f32 {
        self.frames[self.last()].entered
    }

    /// Appends a frame: the tokens to which the newest links lead, from `first_epsilon` on the
    /// links between these, and from `first_closing` on the ones that close cycles. Paths with a
    /// score not above `entered` do not count.
    pub(super) fn push_frame(
        &mut self,
        best: f32,
        entered: f32,
        [first_epsilon, first_closing]: [usize; 2],
        scores: impl Iterator<Item = f32>,
    ) {
        let (first_token, first_link) = (self.scores.len(), self.links.len());
        self.frames.push(Frame { first_token, first_epsilon, first_closing, first_link, best, entered });
        self.scores.extend(scores);
    }

    /// Returns `true` if so many links have been added that it is worthwhile to
    /// [`prune`](Self::prune) all of them.
    pub(super) fn has_grown(&self) -> bool {
        self.links.len() >= 2 * self.links_left + LINKS_TO_PRUNE
    }

    /// Runs the backward pass: computes for each token of `from` and later frames the loss of the
    /// best path over it against the best path of all. `last` gives the losses of the tokens of the
    /// last frame. Links with a loss of more than `beam` do not count.
    pub(super) fn extras(&self, from: usize, last: impl Iterator<Item = f32>, beam: f32) -> Extras {
        let first_token = self.frames[from].first_token;
        let mut extras = Extras { extras: vec![f32::INFINITY; self.scores.len() - first_token], first_token };
        let end = self.tokens(self.last()).start - first_token;
        extras.extras[end..].iter_mut().zip(last).for_each(|(extra, last)| *extra = last);
        self.extras_within(self.last(), &mut extras, beam);
        for frame in (from..self.last()).rev() {
            let gap = Gap::new(&self.scores, &self.frames, frame);
            let (before, after) = extras.extras.split_at_mut(self.frames[frame + 1].first_token - first_token);
            let before = &mut before[self.frames[frame].first_token - first_token..];
            for link in self.links_of(frame) {
                let extra = after[link.dest as usize] + gap.lost(link);
                let least = &mut before[link.source as usize];
                if extra <= beam && extra < *least {
                    *least = extra;
                }
            }
            self.extras_within(frame, &mut extras, beam);
        }
        extras
    }

    /// Does the same over the links between tokens of a frame.
    fn extras_within(&self, frame: usize, extras: &mut Extras, beam: f32) {
        let (links, closing) = (self.epsilons_of(frame), self.closing_of(frame));
        let scores = self.scores(frame);
        let extras = &mut extras.extras[self.frames[frame].first_token - extras.first_token..];
        let mut relax = |link: &Link| {
            let extra = extras[link.dest as usize] + lost_within(scores, link);
            let least = &mut extras[link.source as usize];
            let is_less = extra <= beam && extra < *least;
            if is_less {
                *least = extra;
            }
            is_less
        };
        loop {
            links.iter().rev().for_each(|link| {
                relax(link);
            });
            // Nothing is gained around a cycle, and so this comes to an end.
            if !closing.iter().fold(false, |any, link| relax(link) | any) {
                return;
            }
        }
    }

    /// Returns the `extras` of the tokens of a frame.
    pub(super) fn extras_of<'a>(&self, extras: &'a Extras, frame: usize) -> &'a [f32] {
        let tokens = self.tokens(frame);
        &extras.extras[tokens.start - extras.first_token..tokens.end - extras.first_token]
    }

    /// Returns the links from a frame to the next, each with the loss of the best path over it
    /// against the best one; the loss of dead ends is infinite.
    pub(super) fn links_with_extras<'a>(
        &'a self,
        extras: &'a Extras,
        frame: usize,
    ) -> impl Iterator<Item = (&'a Link, f32)> {
        let (gap, after) = (Gap::new(&self.scores, &self.frames, frame), self.extras_of(extras, frame + 1));
        self.links_of(frame).iter().map(move |link| (link, after[link.dest as usize] + gap.lost(link)))
    }

    /// Returns for each token of a frame the loss, against its best path, of the best path whose
    /// last arc has a class; the empty path to the first token of all counts as such a path.
    pub(super) fn entry_losses(&self, frame: usize) -> Vec<f32> {
        let mut losses = vec![f32::INFINITY; self.num_tokens(frame)];
        match frame.checked_sub(1) {
            Some(before) => {
                let gap = Gap::new(&self.scores, &self.frames, before);
                for link in self.links_of(before) {
                    let least = &mut losses[link.dest as usize];
                    *least = gap.lost(link).min(*least);
                }
            }
            None => {
                losses.fill(0.0);
                self.epsilons_of(0).iter().for_each(|link| losses[link.dest as usize] = f32::INFINITY);
            }
        }
        losses
    }

    /// Returns the loss of a path over a link between tokens of a frame against the best path to
    /// its end.
    pub(super) fn lost_within(&self, frame: usize, link: &Link) -> f32 {
        lost_within(self.scores(frame), link)
    }

    /// Removes everything that is on no path within `beam` of the best one, whichever tokens of the
    /// last frame may turn out to be on it; so nothing is lost that could be in the final lattice.
    /// Frames before `from` stay as they are.
    pub(super) fn prune(&mut self, from: usize, beam: f32) {
        let (begin, last) = (from.saturating_sub(1), self.last());
        let extras = self.extras(from, std::iter::repeat(0.0), beam);
        let places = self.places(&extras, from);
        let beam = beam.min(f32::MAX);
        let mut firsts = Vec::with_capacity(last + 1 - begin);
        let mut kept = self.frames[begin].first_epsilon;
        for frame in begin..=last {
            let (first_epsilon, mut first_closing) = (kept, usize::MAX);
            if frame < from {
                first_closing = self.frames[frame].first_closing;
                kept = self.frames[frame].first_link;
            } else {
                let first = self.frames[frame].first_token - extras.first_token;
                let (places, extras) = (&places[first..], &extras.extras[first..]);
                let Frame { first_epsilon: begin, first_closing: closing, first_link: end, .. } = self.frames[frame];
                for at in begin..end {
                    if at == closing {
                        first_closing = kept;
                    }
                    let link = self.links[at];
                    if extras[link.dest as usize] + lost_within(self.scores(frame), &link) <= beam {
                        let [source, dest] = [link.source, link.dest].map(|token| places[token as usize]);
                        self.links[kept] = Link { source, dest, ..link };
                        kept += 1;
                    }
                }
            }
            firsts.push([first_epsilon, first_closing.min(kept), kept]);
            if frame == last {
                break;
            }
            let gap = Gap::new(&self.scores, &self.frames, frame);
            let dests = self.frames[frame + 1].first_token - extras.first_token;
            let (dests, after) = (&places[dests..], &extras.extras[dests..]);
            let sources = self.frames[frame].first_token.checked_sub(extras.first_token).map(|first| &places[first..]);
            for at in self.frames[frame].first_link..self.frames[frame + 1].first_epsilon {
                let link = self.links[at];
                let dest = dests[link.dest as usize];
                let (keep, source) = match sources {
                    // A frame before the first one that is pruned.
                    None => (dest != GONE, link.source),
                    Some(places) => (after[link.dest as usize] + gap.lost(&link) <= beam, places[link.source as usize]),
                };
                if keep {
                    self.links[kept] = Link { source, dest, ..link };
                    kept += 1;
                }
            }
        }
        self.links.truncate(kept);
        self.links_left = kept;
        self.keep_tokens(from, |token| places[token - extras.first_token]);
        for (frame, firsts) in self.frames[begin..].iter_mut().zip(firsts) {
            [frame.first_epsilon, frame.first_closing, frame.first_link] = firsts;
        }
    }

    /// Returns the last frame but the first that all paths enter by the same token, and this token.
    pub(super) fn last_single(&self) -> Option<(usize, u32)> {
        let mut entered_within = Vec::new();
        (1..=self.last()).rev().find_map(|frame| {
            let token = self.links_of(frame - 1).first()?.dest;
            if self.links_of(frame - 1).iter().any(|link| link.dest != token) {
                return None;
            }
            // All other tokens are entered from this one.
            entered_within.clear();
            entered_within.resize(self.num_tokens(frame), false);
            self.epsilons_of(frame).iter().for_each(|link| entered_within[link.dest as usize] = true);
            let others = entered_within.iter().filter(|&&entered| entered).count();
            (others + 1 == self.num_tokens(frame) && !entered_within[token as usize]).then_some((frame, token))
        })
    }

    /// Removes everything up to a frame that all paths enter by a token. The part returned ends
    /// with that token.
    pub(super) fn take_front(&mut self, frame: usize, token: u32) -> Self {
        let Frame { first_token, first_epsilon, .. } = self.frames[frame];
        let mut front = Self {
            scores: self.scores[..first_token].to_vec(),
            links: self.links[..first_epsilon].to_vec(),
            frames: self.frames[..=frame].to_vec(),
            first_frame: self.first_frame,
            links_left: first_epsilon,
        };
        front.scores.push(self.scores(frame)[token as usize]);
        (front.frames[frame].first_closing, front.frames[frame].first_link) = (first_epsilon, first_epsilon);
        let last_links = self.frames[frame - 1].first_link;
        front.links[last_links..].iter_mut().for_each(|link| link.dest = 0);
        self.scores.drain(..first_token);
        self.links.drain(..first_epsilon);
        self.frames.drain(..frame);
        for frame in &mut self.frames {
            frame.first_token -= first_token;
            frame.first_epsilon -= first_epsilon;
            frame.first_closing -= first_epsilon;
            frame.first_link -= first_epsilon;
        }
        self.first_frame += frame;
        self.links_left = self.links_left.saturating_sub(first_epsilon);
        front
    }

    /// Returns for each token of `from` and later frames its index among the tokens of its frame
    /// that are on some path, or [`GONE`].
    fn places(&self, extras: &Extras, from: usize) -> Vec<u32> {
        let mut places = vec![GONE; extras.extras.len()];
        for frame in from..=self.last() {
            let tokens = self.tokens(frame);
            let tokens = tokens.start - extras.first_token..tokens.end - extras.first_token;
            let extras = &extras.extras[tokens.clone()];
            let kept = places[tokens].iter_mut().zip(extras).filter(|&(_, &extra)| extra < f32::INFINITY);
            (0..).zip(kept).for_each(|(new, (place, _))| *place = new);
        }
        places
    }

    /// Removes the tokens of `from` and later frames that have no new index.
    fn keep_tokens(&mut self, from: usize, place: impl Fn(usize) -> u32) {
        let mut kept = self.frames[from].first_token;
        let mut token = kept;
        for frame in from..=self.last() {
            let end = self.tokens(frame).end;
            self.frames[frame].first_token = kept;
            for token in std::mem::replace(&mut token, end)..end {
                if place(token) != GONE {
                    self.scores[kept] = self.scores[token];
                    kept += 1;
                }
            }
        }
        self.scores.truncate(kept);
    }
}

/// Returns the loss of a path over a link between tokens of a frame against the best path to its
/// end.
#[inline]
fn lost_within(scores: &[f32], link: &Link) -> f32 {
    // Over a link that closes a cycle without gain, rounding could make it less than 0.
    (scores[link.dest as usize] - (scores[link.source as usize] + link.score)).max(0.0)
}

/// The scores of a frame and of the next.
struct Gap<'a> {
    /// Best score of `from`.
    best: f32,
    from: &'a [f32],
    to: &'a [f32],
    /// A path counts if its score is above this.
    entered: f32,
}

impl<'a> Gap<'a> {
    fn new(scores: &'a [f32], frames: &[Frame], frame: usize) -> Self {
        let [this, next] = [frames[frame], frames[frame + 1]];
        let from = &scores[this.first_token..next.first_token];
        Self { best: this.best, from, to: &scores[next.first_token..], entered: next.entered }
    }

    /// Returns the loss of a path over a link against the best path to its end; infinite if the
    /// path does not count.
    #[inline(always)]
    fn lost(&self, link: &Link) -> f32 {
        let score = (self.from[link.source as usize] - self.best) + link.score;
        if score > self.entered { self.to[link.dest as usize] - score } else { f32::INFINITY }
    }
}

/// Index of a token that is removed.
const GONE: u32 = u32::MAX;
