//! Segmentation of a normalized text as in SentencePiece: the cheapest pieces, merged pairs,
//! characters, words.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::hash::FastMap;
use crate::tokenizer::sentencepiece::{Piece, PieceKind, Pieces};
use crate::vocabulary::MARKER;

/// A segment of a text and its piece; `None` if it is unknown.
pub(super) type Segment = (Range<usize>, Option<usize>);

/// Penalty of an unknown character below the worst piece.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Penalty of a user-defined symbol below the best score for its length.
const SYMBOL_PENALTY: f32 = 0.1;

/// Returns the length of the first character.
fn first_length(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Returns the pieces with the largest sum of scores (Kudo, 2018). Sums are of single precision, as
/// in SentencePiece, so that the same pieces win if sums are close.
pub(super) fn unigram(pieces: &Pieces, text: &str) -> Vec<Segment> {
    #[derive(Clone, Copy)]
    struct Best {
        start: usize,
        piece: Option<usize>,
        score: f32,
    }
    let (least, most) = pieces.scores();
    let mut ends: Vec<Option<Best>> = vec![None; text.len() + 1];
    let mut start = 0;
    while start < text.len() {
        let before = ends[start].map_or(0.0, |best| best.score);
        let single = first_length(&text[start..]);
        let mut known = false;
        let mut offer = |end: usize, piece: Option<usize>, score: f32| {
            if ends[end].is_none_or(|best| score > best.score) {
                ends[end] = Some(Best { start, piece, score });
            }
        };
        for (length, number) in pieces.prefixes(&text[start..]) {
            let Piece { kind, score, .. } = pieces.all()[number];
            if kind == PieceKind::Unused {
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "pieces are short")]
            let score = match kind {
                PieceKind::UserDefined => length as f32 * most - SYMBOL_PENALTY,
                _ => score,
            };
            offer(start + length, Some(number), score + before);
            known |= length == single;
        }
        if !known {
            offer(start + single, None, least - UNKNOWN_PENALTY + before);
        }
        start += single;
    }
    let (mut parts, mut end) = (vec![], text.len());
    while let Some(best) = ends[end].filter(|_| end > 0) {
        parts.push((best.start..end, best.piece));
        end = best.start;
    }
    parts.reverse();
    parts
}

/// A part of a text into which pairs are merged; empty after it has been merged itself.
struct Symbol {
    part: Range<usize>,
    before: Option<usize>,
    after: Option<usize>,
    /// `true` for a user-defined symbol, which is never merged.
    fixed: bool,
}

/// Two neighbours that make a piece. The largest has the best score; ties go to the leftmost.
struct Merge {
    score: f32,
    left: usize,
    right: usize,
    length: usize,
}

impl Ord for Merge {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Equal scores may be 0 and -0.
        let scores = self.score.partial_cmp(&other.score).unwrap_or(std::cmp::Ordering::Equal);
        scores.then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Merge {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Merge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Merge {}

/// Merges neighbours that make a piece, the best score first (Sennrich and others, 2016).
/// O(characters log characters).
pub(super) fn byte_pair(pieces: &Pieces, text: &str) -> Vec<Segment> {
    let mut symbols: Vec<Symbol> = vec![];
    let mut at = 0;
    while at < text.len() {
        let defined = pieces.symbol(&text[at..]);
        let end = at + defined.unwrap_or_else(|| first_length(&text[at..]));
        let (before, after) = (symbols.len().checked_sub(1), (end < text.len()).then_some(symbols.len() + 1));
        symbols.push(Symbol { part: at..end, before, after, fixed: defined.is_some() });
        at = end;
    }
    let mut agenda = BinaryHeap::new();
    // Pieces that may not be used, with the parts that they are made of.
    let mut unused: FastMap<usize, (Range<usize>, Range<usize>)> = FastMap::default();
    let mut offer = |symbols: &[Symbol], agenda: &mut BinaryHeap<Merge>, left: Option<usize>, right: Option<usize>| {
        let (Some(left), Some(right)) = (left, right) else { return };
        let (a, b) = (&symbols[left], &symbols[right]);
        if a.fixed || b.fixed {
            return;
        }
        let Some(number) = pieces.number(&text[a.part.start..b.part.end]) else { return };
        let Piece { kind, score, .. } = pieces.all()[number];
        agenda.push(Merge { score, left, right, length: a.part.len() + b.part.len() });
        if kind == PieceKind::Unused {
            unused.insert(number, (a.part.clone(), b.part.clone()));
        }
    };
    for right in 1..symbols.len() {
        offer(&symbols, &mut agenda, Some(right - 1), Some(right));
    }
    while let Some(Merge { left, right, length, .. }) = agenda.pop() {
        let (a, b) = (&symbols[left].part, &symbols[right].part);
        if a.is_empty() || b.is_empty() || a.len() + b.len() != length {
            continue;
        }
        (symbols[left].part.end, symbols[left].after) = (b.end, symbols[right].after);
        if let Some(after) = symbols[right].after {
            symbols[after].before = Some(left);
        }
        symbols[right].part = 0..0;
        let (before, after) = (symbols[left].before, symbols[left].after);
        offer(&symbols, &mut agenda, before, Some(left));
        offer(&symbols, &mut agenda, Some(left), after);
    }
    let mut parts = vec![];
    for symbol in symbols.iter().filter(|symbol| !symbol.part.is_empty()) {
        let mut waiting = vec![symbol.part.clone()];
        while let Some(part) = waiting.pop() {
            let number = pieces.any_number(&text[part.clone()]);
            match number.and_then(|number| unused.get(&number)) {
                // The texts of equal pieces are equal: the same lengths at this place.
                Some((a, _)) => {
                    let middle = part.start + a.len();
                    waiting.extend([middle..part.end, part.start..middle]);
                }
                None => parts.push((part, number)),
            }
        }
    }
    parts
}

/// Returns each character, or user-defined symbol.
pub(super) fn characters(pieces: &Pieces, text: &str) -> Vec<Segment> {
    let (mut parts, mut at) = (vec![], 0);
    while at < text.len() {
        let length = pieces.symbol(&text[at..]).unwrap_or_else(|| first_length(&text[at..]));
        parts.push((at..at + length, pieces.any_number(&text[at..at + length])));
        at += length;
    }
    parts
}

/// Returns each word, beginning with its marker.
pub(super) fn words(pieces: &Pieces, text: &str) -> Vec<Segment> {
    let starts = text.char_indices().filter(|&(at, c)| at == 0 || c == MARKER).map(|(at, _)| at);
    let ends = text.char_indices().filter(|&(at, c)| at > 0 && c == MARKER).map(|(at, _)| at).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| (start..end, pieces.any_number(&text[start..end]))).collect()
}
