//! Everything that a search has found so far: for each frame the states that it has reached, and how they hang together.

/// A way from a token of one frame to a token of the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link {
    /// The place of the token that it comes from in its frame.
    pub(super) source: u32,
    /// The place of the token that it leads to in its frame.
    pub(super) dest: u32,
    /// The arc of the graph.
    pub(super) arc: u32,
    /// The score of the arc of the graph and that of its class.
    pub(super) score: f32,
}

/// Where the tokens and links of a frame are.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Frame {
    first_token: usize,
    /// The first link that leaves a token of the frame.
    first_link: usize,
    /// The best score of a token.
    best: f32,
}

/// The tokens before the first frame, and after each frame; with the links between them in the order of their sources, mostly.
///
/// ```text
///   frames   0      1            2                     the scores of tokens are less the best one of the frame before
///            o --.-> o ---.----> o
///                '-> o --' '---> o
/// ```
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trellis {
    scores: Vec<f32>,
    pub(super) links: Vec<Link>,
    frames: Vec<Frame>,
    /// So many frames were taken out at the front.
    first_frame: usize,
    /// So many links were left when it was last pruned.
    links_left: usize,
}

/// How much worse the best path over each token is than the best one of all; infinite where there is none.
pub(super) struct Extras {
    /// Of the tokens from `first_token` on.
    extras: Vec<f32>,
    first_token: usize,
}

/// So many links may always be added before it is worthwhile to prune.
const LINKS_TO_PRUNE: usize = 1 << 15;

impl Trellis {
    /// One token with the score 0.
    pub(super) fn new() -> Self {
        let start = Frame { first_token: 0, first_link: 0, best: 0.0 };
        Self { scores: vec![0.0], links: vec![], frames: vec![start], first_frame: 0, links_left: 0 }
    }

    /// How many frames have been seen.
    pub(super) fn num_frames(&self) -> usize {
        self.first_frame + self.last()
    }

    /// How many of them were taken out at the front.
    pub(super) fn first_frame(&self) -> usize {
        self.first_frame
    }

    /// The number of the last frame that is there, from that of the first, 0, on.
    pub(super) fn last(&self) -> usize {
        self.frames.len() - 1
    }

    /// How many bytes are used.
    pub(super) fn bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
            + self.scores.capacity() * size_of::<f32>()
            + self.frames.capacity() * size_of::<Frame>()
    }

    /// How many tokens and links there are.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.scores.len(), self.links.len())
    }

    /// The best score in the last frame, and all of them.
    pub(super) fn last_scores(&self) -> (f32, &[f32]) {
        (self.frames[self.last()].best, self.scores(self.last()))
    }

    /// The scores of a frame.
    fn scores(&self, frame: usize) -> &[f32] {
        &self.scores[self.tokens(frame)]
    }

    /// Where the tokens of a frame are.
    fn tokens(&self, frame: usize) -> std::ops::Range<usize> {
        let end = self.frames.get(frame + 1).map_or(self.scores.len(), |next| next.first_token);
        self.frames[frame].first_token..end
    }

    /// The links from a frame to the next.
    fn links_of(&self, frame: usize) -> &[Link] {
        let end = self.frames.get(frame + 1).map_or(self.links.len(), |next| next.first_link);
        &self.links[self.frames[frame].first_link..end]
    }

    /// One frame more, with the tokens to which the newest links lead.
    pub(super) fn push_frame(&mut self, best: f32, scores: impl Iterator<Item = f32>) {
        self.frames.push(Frame { first_token: self.scores.len(), first_link: self.links.len(), best });
        self.scores.extend(scores);
    }

    /// Whether so many links have been added that it is worthwhile to [`prune`](Self::prune) them all.
    pub(super) fn has_grown(&self) -> bool {
        self.links.len() >= 2 * self.links_left + LINKS_TO_PRUNE
    }

    /// The backward pass: how much worse than the best path those over each token of `from` and later frames are, if those over the tokens of the
    /// last frame are as much worse as `last` says. Links of a frame over which it is worse by more than `beam` of that frame do not count.
    pub(super) fn extras(&self, from: usize, last: impl Iterator<Item = f32>, beam: impl Fn(usize) -> f32) -> Extras {
        let first_token = self.frames[from].first_token;
        let mut extras = Extras { extras: vec![f32::INFINITY; self.scores.len() - first_token], first_token };
        let end = self.tokens(self.last()).start - first_token;
        extras.extras[end..].iter_mut().zip(last).for_each(|(extra, last)| *extra = last);
        for frame in (from..self.last()).rev() {
            let [source, dest] = [frame, frame + 1].map(|frame| self.tokens(frame));
            let (before, after) = extras.extras.split_at_mut(dest.start - first_token);
            let before = &mut before[source.start - first_token..];
            let (best, from, to) = (self.frames[frame].best, &self.scores[source], &self.scores[dest]);
            let beam = beam(frame);
            for link in self.links_of(frame) {
                let (source, dest) = (link.source as usize, link.dest as usize);
                let extra = after[dest] + (to[dest] - ((from[source] - best) + link.score));
                if extra <= beam && extra < before[source] {
                    before[source] = extra;
                }
            }
        }
        extras
    }

    /// The tokens of a frame with their `extras`.
    pub(super) fn extras_of<'a>(&self, extras: &'a Extras, frame: usize) -> &'a [f32] {
        let tokens = self.tokens(frame);
        &extras.extras[tokens.start - extras.first_token..tokens.end - extras.first_token]
    }

    /// Whether a link from a frame to the next is on a path that is worse by no more than `beam`; dead ends are not.
    #[inline]
    fn within(&self, extras: &Extras, frame: usize, link: &Link, beam: f32) -> bool {
        let [source, dest] =
            [self.tokens(frame).start + link.source as usize, self.tokens(frame + 1).start + link.dest as usize];
        let lost = self.scores[dest] - ((self.scores[source] - self.frames[frame].best) + link.score);
        extras.extras[dest - extras.first_token] + lost <= beam.min(f32::MAX)
    }

    /// The links from a frame to the next that are on paths that are worse by no more than `beam`.
    pub(super) fn links_within<'a>(
        &'a self,
        extras: &'a Extras,
        frame: usize,
        beam: f32,
    ) -> impl Iterator<Item = &'a Link> {
        self.links_of(frame).iter().filter(move |link| self.within(extras, frame, link, beam))
    }

    /// Takes out what is on no path within `beam` of the best one, whichever tokens of the last frame may turn out to be on it; so nothing is lost that
    /// could be in the lattice in the end. Frames before `from` stay as they are.
    pub(super) fn prune(&mut self, from: usize, beam: f32) {
        let (begin, last) = (from.saturating_sub(1), self.last());
        let extras = self.extras(from, std::iter::repeat(0.0), |_| beam);
        let places = self.places(&extras, from);
        let place = |token: usize| places[token - extras.first_token];
        let mut first_links = Vec::with_capacity(last + 1 - begin);
        let mut kept = self.frames[begin].first_link;
        for frame in begin..last {
            first_links.push(kept);
            let [sources, dests] = [frame, frame + 1].map(|frame| self.tokens(frame).start);
            for at in self.frames[frame].first_link..self.frames[frame + 1].first_link {
                let link = self.links[at];
                let dest = place(dests + link.dest as usize);
                let (keep, source) = match frame < from {
                    true => (dest != GONE, link.source),
                    false => (self.within(&extras, frame, &link, beam), place(sources + link.source as usize)),
                };
                if keep {
                    self.links[kept] = Link { source, dest, ..link };
                    kept += 1;
                }
            }
        }
        first_links.push(kept);
        self.links.truncate(kept);
        self.links_left = kept;
        self.keep_tokens(from, place);
        self.frames[begin..].iter_mut().zip(first_links).for_each(|(frame, link)| frame.first_link = link);
    }

    /// For each token of `from` and later frames its place among those of its frame that are on some path, or [`GONE`].
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

    /// Takes out the tokens of `from` and later frames that have no place.
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

/// The place of a token that is taken out.
const GONE: u32 = u32::MAX;
