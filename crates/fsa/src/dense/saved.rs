//! Conversion of streams to bytes.

use crate::Error;
use crate::dense::DecodingStream;
use crate::dense::active::Token;
use crate::dense::look_ahead::{Saved, SharedVisited};
use crate::dense::search::Search;
use crate::dense::trellis::{Frame, Link, Trellis};

/// First bytes of a stream; the last one is the version.
const MAGIC: [u8; 8] = *b"fsaDens\x02";

impl DecodingStream {
    /// Returns the stream as bytes, from which [`from_bytes`](Self::from_bytes) makes it again, in
    /// any process. O(results of the stream).
    pub fn to_bytes(&self) -> Vec<u8> {
        let Trellis { scores, links, frames, first_frame, links_left } = &self.search.trellis;
        let tokens = &self.search.tokens;
        let mut bytes = Vec::from(MAGIC);
        let numbers = [self.graph[0], self.graph[1], *first_frame, *links_left];
        let sizes = [frames.len(), scores.len(), links.len(), tokens.len()];
        let mut long = |number: usize| bytes.extend((number as u64).to_le_bytes());
        numbers.into_iter().chain(sizes).for_each(&mut long);
        for frame in frames {
            let Frame { first_token, first_epsilon, first_closing, first_link, .. } = *frame;
            [first_token, first_epsilon, first_closing, first_link].into_iter().for_each(&mut long);
        }
        let mut short = |number: u32| bytes.extend(number.to_le_bytes());
        for frame in frames {
            [frame.best, frame.entered].map(f32::to_bits).into_iter().for_each(&mut short);
        }
        scores.iter().for_each(|score| short(score.to_bits()));
        for link in links {
            [link.source, link.dest, link.arc, link.score.to_bits()].into_iter().for_each(&mut short);
        }
        for token in tokens {
            [token.state, token.score.to_bits()].into_iter().for_each(&mut short);
        }
        if let Some(Saved { pairs, numbered }) = self.visited.as_ref().map(SharedVisited::save) {
            for rows in [pairs, numbered] {
                bytes.extend((rows.len() as u64).to_le_bytes());
                rows.into_iter().flatten().for_each(|number| bytes.extend(number.to_le_bytes()));
            }
        }
        bytes
    }

    /// Reads a stream from the bytes of [`to_bytes`](Self::to_bytes). It can be used with the
    /// decoder that it comes from, or one with the same graph and options.
    ///
    /// # Errors
    /// [`Error::Binary`] for bytes that are not a stream.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let error = |what| Error::Binary { offset: 0, what };
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| error("this is no stream, or one of another version"))?;
        let mut read = Read { rest, len: bytes.len() };
        let [states, arcs, first_frame, links_left] = [(); 4].map(|()| read.long());
        let [num_frames, num_scores, num_links, num_tokens] = [(); 4].map(|()| read.long());
        let size = |count: Result<usize, Error>, each: usize| match count {
            Ok(count) if count.checked_mul(each).is_some_and(|size| size <= bytes.len()) => Ok(count),
            Ok(_) => Err(error("a count that the stream has no room for")),
            Err(error) => Err(error),
        };
        let (num_frames, num_scores) = (size(num_frames, 40)?, size(num_scores, 4)?);
        let (num_links, num_tokens) = (size(num_links, 16)?, size(num_tokens, 8)?);
        let four = |_| Ok([read.long()?, read.long()?, read.long()?, read.long()?]);
        let firsts: Vec<_> = (0..num_frames).map(four).collect::<Result<_, Error>>()?;
        let mut frames = Vec::with_capacity(num_frames);
        for [first_token, first_epsilon, first_closing, first_link] in firsts {
            let [best, entered] = [read.float()?, read.float()?];
            frames.push(Frame { first_token, first_epsilon, first_closing, first_link, best, entered });
        }
        let scores = (0..num_scores).map(|_| read.float()).collect::<Result<_, _>>()?;
        let links = (0..num_links)
            .map(|_| Ok(Link { source: read.short()?, dest: read.short()?, arc: read.short()?, score: read.float()? }));
        let links = links.collect::<Result<_, Error>>()?;
        let tokens = (0..num_tokens).map(|_| Ok(Token { state: read.short()?, score: read.float()? }));
        let tokens = tokens.collect::<Result<_, Error>>()?;
        let mut visited = None;
        if !read.rest.is_empty() {
            let [pairs, numbered] = [read.rows()?, read.rows()?];
            visited = Some(SharedVisited::saved(Saved { pairs, numbered }));
        }
        if !read.rest.is_empty() {
            return Err(read.error("more than a stream"));
        }
        let trellis = Trellis { scores, links, frames, first_frame: first_frame?, links_left: links_left? };
        let stream = Self { search: Search { trellis, tokens }, graph: [states?, arcs?], visited };
        if stream.holds_together() { Ok(stream) } else { Err(error("numbers that do not fit together")) }
    }

    /// Returns `true` if all references are to existing entries.
    fn holds_together(&self) -> bool {
        let Search { trellis, tokens } = &self.search;
        let Trellis { scores, links, frames, first_frame, links_left } = trellis;
        // With look-ahead, states and arcs are checked when their graph is there.
        let [states, arcs] = if self.visited.is_some() { [usize::MAX; 2] } else { self.graph };
        let ends = frames.iter().skip(1).map(|frame| (frame.first_token, frame.first_epsilon));
        let mut ends: Vec<_> = ends.collect();
        ends.push((scores.len(), links.len()));
        let mut begin = (0, 0);
        for (i, (frame, &end)) in frames.iter().zip(&ends).enumerate() {
            if (frame.first_token, frame.first_epsilon) != begin
                || end.0 < begin.0
                || end.0 > scores.len()
                || ![begin.1, frame.first_closing, frame.first_link, end.1, links.len()].is_sorted()
            {
                return false;
            }
            let num_tokens = end.0 - begin.0;
            let is_there = |link: &Link| {
                let tokens = [link.source, link.dest].into_iter();
                tokens.map(|token| token as usize).all(|token| token < num_tokens) && (link.arc as usize) < arcs
            };
            let within = &links[begin.1..frame.first_link];
            if !within.iter().all(is_there) || !are_in_order(&links[begin.1..frame.first_closing], num_tokens) {
                return false;
            }
            let next = ends.get(i + 1).map_or(0, |next| next.0.saturating_sub(end.0));
            let fits = |link: &Link| {
                (link.source as usize) < end.0 - begin.0 && (link.dest as usize) < next && (link.arc as usize) < arcs
            };
            if !links[frame.first_link..end.1].iter().all(fits) {
                return false;
            }
            begin = end;
        }
        let small = |number: usize| i32::try_from(number).is_ok();
        let of_last = frames.last().map(|frame| scores.get(frame.first_token..));
        of_last.flatten().is_some_and(|scores| scores.len() == tokens.len())
            && tokens.iter().all(|token| (token.state as usize) < states)
            && small(*first_frame)
            && small(*links_left)
            && self.graph.into_iter().all(small)
    }
}

/// Returns `true` if each link between tokens of a frame stands behind the links that enter its
/// source.
fn are_in_order(links: &[Link], num_tokens: usize) -> bool {
    let mut left = vec![false; if links.is_empty() { 0 } else { num_tokens }];
    links.iter().all(|link| {
        left[link.source as usize] = true;
        !left[link.dest as usize]
    })
}

/// Reads numbers from the front of some bytes.
struct Read<'a> {
    rest: &'a [u8],
    len: usize,
}

impl Read<'_> {
    fn error(&self, what: &'static str) -> Error {
        Error::Binary { offset: self.len - self.rest.len(), what }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (array, rest) = self.rest.split_first_chunk().ok_or_else(|| self.error("the stream ends too early"))?;
        self.rest = rest;
        Ok(*array)
    }

    /// Reads pairs of numbers behind their count.
    fn rows(&mut self) -> Result<Vec<[u32; 2]>, Error> {
        let count = self.long()?;
        if count > self.rest.len() / size_of::<[u32; 2]>() {
            return Err(self.error("a count that the stream has no room for"));
        }
        (0..count).map(|_| Ok([self.short()?, self.short()?])).collect()
    }

    fn long(&mut self) -> Result<usize, Error> {
        let number = u64::from_le_bytes(self.array()?);
        usize::try_from(number).map_err(|_| self.error("a number that is too large"))
    }

    fn short(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    fn float(&mut self) -> Result<f32, Error> {
        let float = f32::from_le_bytes(self.array()?);
        if float.is_nan() { Err(self.error("a score that is no number")) } else { Ok(float) }
    }
}
