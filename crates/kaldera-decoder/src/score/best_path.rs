//! Cheapest path through a reference, in memory of a few rows of the table.
//!
//! A row has the costs of a state of the reference for all numbers of words of the hypothesis. Four
//! techniques make large tables possible; none of them changes the path:
//!
//! - A *band*. A path through a cell before which the numbers of words differ by more than `band`
//!   has that many insertions or deletions, and the opposite ones after it. If the path that is
//!   found costs less, no equally good path leaves the band; otherwise the band is widened
//!   (Ukkonen, 1985).
//! - *Checkpoints*. Only some rows of a too large table are kept. Its parts are computed again from
//!   these, last one first, as the path is followed back. A part ends at a state that no edge goes
//!   past: the rows of alternatives, from brace to brace, are kept as a whole.
//! - A *window*. A part is computed again only within the bounds of the path, as the cost of its
//!   end is known by then.
//! - *Tiles*. Sixteen words in a row are computed together, in vectors along a diagonal, whose
//!   cells do not depend on each other.

use std::ops::{Add, Range};

use crate::score::reference::{Edge, Reference};

/// Maximum number of costs that are kept: 16 MiB.
const MOST_CELLS: usize = 1 << 22;
/// Number of words of a tile.
const TILE: usize = 16;
/// Number of parts into which a larger table is divided.
const PARTS: usize = 16;
/// First band: few references of one utterance are longer.
const FIRST_BAND: usize = 64;

/// A sum of costs.
pub(crate) trait Cost: Copy + PartialOrd + Add<Output = Self> {
    /// No cost.
    const ZERO: Self;
    /// The unit.
    const ONE: Self;
    /// Cost of an unreachable cell. Adding costs does not change it.
    const NONE: Self;

    /// Returns the number of times that `gap` fits into it, rounded down.
    fn gaps(self, gap: Self) -> usize;
    /// Returns `count` times `self`.
    fn times(self, count: usize) -> Self;
}

macro_rules! cost {
    ($float:ty) => {
        impl Cost for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NONE: Self = <$float>::INFINITY;

            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "rounded down; what is too large becomes the largest number"
            )]
            fn gaps(self, gap: Self) -> usize {
                (self / gap) as usize
            }

            #[expect(clippy::cast_precision_loss, reason = "a bound, of whole numbers that have an exact form")]
            fn times(self, count: usize) -> Self {
                self * count as Self
            }
        }
    };
}

cost!(f32);
cost!(f64);

/// Costs of edits.
pub(crate) trait Costs {
    /// Type of the costs.
    type Cost: Cost;
    /// Cost of aligning word `word` of the reference with word `place` of the hypothesis.
    fn pair(&self, word: usize, place: usize) -> Self::Cost;
    /// Cost of a missing word of the reference.
    fn deletion(&self, word: usize) -> Self::Cost;
    /// Cost of an extra word of the hypothesis.
    fn insertion(&self, place: usize) -> Self::Cost;
    /// Least cost of a deletion or an insertion; `None` or 0 if it is unknown.
    fn least_gap(&self) -> Option<Self::Cost>;
    /// The words as numbers, if the costs of edits depend only on equality of numbers.
    fn numbered(&self) -> Option<Numbered<'_, Self::Cost>> {
        None
    }
}

/// Words as numbers, and the costs of all edits of them.
pub(crate) struct Numbered<'a, C> {
    pub(crate) reference: &'a [u32],
    pub(crate) hypothesis: &'a [u32],
    pub(crate) substitution: C,
    pub(crate) insertion: C,
    pub(crate) deletion: C,
}

/// A step of a path: a word of the reference, of the hypothesis, or one of each.
pub(crate) type Step = (Option<usize>, Option<usize>);

/// Returns the cheapest path through a reference with `count` words of a hypothesis. Ties are
/// broken from the last step back: a step takes the first edge, rather with a word of the
/// hypothesis than without, and an insertion only if nothing else is as good.
pub(crate) fn best_path<C: Costs>(reference: &Reference, count: usize, costs: &C) -> Vec<Step> {
    best_path_within(reference, count, costs, (MOST_CELLS, FIRST_BAND))
}

fn best_path_within<C: Costs>(
    reference: &Reference,
    count: usize,
    costs: &C,
    (most_cells, first_band): (usize, usize),
) -> Vec<Step> {
    let graph = Graph::new(reference);
    let numbered = costs.numbered();
    let tiles = numbered.as_ref().map(Tiles::new);
    let gap = costs.least_gap().filter(|&gap| gap > C::Cost::ZERO);
    let mut band = if gap.is_some() { first_band } else { usize::MAX };
    loop {
        let table = Table { graph: &graph, count, costs, tiles: tiles.as_ref(), gap, band, most_cells };
        match (table.solve(), gap) {
            (Ok(steps), _) => return steps,
            (Err(cost), Some(gap)) if cost < C::Cost::NONE => {
                // The cost of this path bounds the cost of the best one.
                let enough = cost.gaps(gap).saturating_add(graph.difference(count)).div_ceil(2);
                band = enough.min(wider(band));
            }
            (Err(_), _) => band = wider(band),
        }
    }
}

fn wider(band: usize) -> usize {
    band.saturating_mul(4).max(1)
}

/// A reference with the properties of its states that the search needs.
struct Graph<'r> {
    last: usize,
    /// Edges, sorted by the states that they enter.
    edges: Vec<&'r Edge>,
    /// Index of the first edge that enters each state.
    starts: Vec<usize>,
    /// Least and largest number of words before each state.
    before: Vec<(usize, usize)>,
    /// Least and largest number of words after each state.
    after: Vec<(usize, usize)>,
    /// States that no edge goes past.
    cuts: Vec<usize>,
}

impl<'r> Graph<'r> {
    fn new(reference: &'r Reference) -> Self {
        let num_states = reference.num_states.max(1);
        let mut edges: Vec<&Edge> = reference.edges.iter().collect();
        edges.sort_by_key(|edge| edge.to);
        let starts = (0..=num_states).map(|state| edges.partition_point(|edge| edge.to < state)).collect();
        let mut before = vec![(usize::MAX, 0); num_states];
        let mut after = before.clone();
        (before[0], after[num_states - 1]) = ((0, 0), (0, 0));
        let widen = |to: &mut (usize, usize), from: (usize, usize), edge: &Edge| {
            let word = usize::from(edge.word.is_some());
            *to = (to.0.min(from.0.saturating_add(word)), to.1.max(from.1 + word));
        };
        let (mut cuts, mut reached) = (vec![], 0);
        for edge in &edges {
            let from = before[edge.from];
            widen(&mut before[edge.to], from, edge);
        }
        // Edges go to higher states, so those leaving a state come before those entering it.
        let mut leaving: Vec<&Edge> = edges.clone();
        leaving.sort_by_key(|edge| edge.from);
        for edge in leaving.iter().rev() {
            let to = after[edge.to];
            widen(&mut after[edge.from], to, edge);
        }
        let mut leaving = leaving.into_iter().peekable();
        for state in 0..num_states {
            if reached <= state {
                cuts.push(state);
            }
            while let Some(edge) = leaving.next_if(|edge| edge.from == state) {
                reached = reached.max(edge.to);
            }
        }
        Self { last: num_states - 1, edges, starts, before, after, cuts }
    }

    fn entering(&self, state: usize) -> &[&'r Edge] {
        &self.edges[self.starts[state]..self.starts[state + 1]]
    }

    /// Returns the largest difference between the number of words of the reference and `count`.
    fn difference(&self, count: usize) -> usize {
        let (least, most) = self.after[0];
        count.saturating_sub(least).max(most.saturating_sub(count))
    }

    /// Returns the cuts between two states.
    fn cuts(&self, first: usize, last: usize) -> &[usize] {
        let from = self.cuts.partition_point(|&cut| cut <= first);
        let to = self.cuts.partition_point(|&cut| cut < last);
        &self.cuts[from..to.max(from)]
    }
}

/// Costs of a state from a number of words on.
#[derive(Clone)]
struct Row<C> {
    start: usize,
    costs: Vec<C>,
}

impl<C: Cost> Row<C> {
    fn get(&self, place: usize) -> C {
        place.checked_sub(self.start).and_then(|at| self.costs.get(at)).copied().unwrap_or(C::NONE)
    }

    /// Lowers the costs at the places of `from`, moved by `shift`, to the costs in `from` plus
    /// `cost`.
    fn lower(&mut self, from: &Self, shift: usize, cost: impl Fn(usize) -> C) {
        let start = self.start.max(from.start + shift);
        let end = (self.start + self.costs.len()).min(from.start + shift + from.costs.len());
        let Some(count) = end.checked_sub(start) else { return };
        let own = &mut self.costs[start - self.start..][..count];
        let others = &from.costs[start - shift - from.start..][..count];
        for ((own, &other), place) in own.iter_mut().zip(others).zip(start - shift..) {
            let total = other + cost(place);
            *own = if total < *own { total } else { *own };
        }
    }
}

/// Computation of many words of a reference at once.
struct Tiles<'a, C> {
    words: &'a Numbered<'a, C>,
    /// The hypothesis from its end, with padding on both sides.
    backwards: Vec<u32>,
}

impl<'a, C: Cost> Tiles<'a, C> {
    /// Number of no word.
    const NOTHING: u32 = u32::MAX;

    fn new(words: &'a Numbered<'a, C>) -> Self {
        let mut backwards = vec![Self::NOTHING; words.hypothesis.len() + 2 * TILE];
        for (to, &from) in backwards[TILE..].iter_mut().zip(words.hypothesis.iter().rev()) {
            *to = from;
        }
        Self { words, backwards }
    }

    /// Returns the costs at `places` after the words from `first` on, computed from the row before
    /// them.
    fn row(&self, first: usize, above: &Row<C>, places: Range<usize>) -> Row<C> {
        let Numbered { reference, hypothesis, substitution, insertion, deletion } = *self.words;
        let own: &[u32; TILE] = reference[first..].first_chunk().expect("as many words as a tile has");
        let mut made = Row { start: places.start, costs: vec![C::NONE; places.len()] };
        // Cells of each word at the place before, and the cells of the words before it there and at
        // the place before that: a place of the hypothesis is one step later for each word.
        let (mut cells, mut before) = ([C::NONE; TILE], [C::NONE; TILE]);
        for step in above.start..places.end + TILE - 1 {
            let at = hypothesis.len() + TILE - step.min(hypothesis.len() + TILE);
            let others: &[u32; TILE] = self.backwards[at..].first_chunk().expect("there is nothing on both sides");
            let mut up = [C::NONE; TILE];
            up[0] = above.get(step);
            up[1..].copy_from_slice(&cells[..TILE - 1]);
            for k in 0..TILE {
                let pair = before[k] + if own[k] == others[k] { C::ZERO } else { substitution };
                let alone = least(up[k] + deletion, cells[k] + insertion);
                cells[k] = least(pair, alone);
            }
            before = up;
            if let Some(cost) = (step + 1).checked_sub(TILE + made.start).and_then(|at| made.costs.get_mut(at)) {
                *cost = cells[TILE - 1];
            }
        }
        made
    }
}

fn least<C: PartialOrd>(a: C, b: C) -> C {
    if a < b { a } else { b }
}

struct Table<'a, 'r, C: Costs> {
    graph: &'a Graph<'r>,
    count: usize,
    costs: &'a C,
    tiles: Option<&'a Tiles<'a, C::Cost>>,
    gap: Option<C::Cost>,
    band: usize,
    most_cells: usize,
}

impl<C: Costs> Table<'_, '_, C> {
    /// Returns the places of a state that are in the band.
    fn band_places(&self, state: usize) -> Range<usize> {
        let ((least, most), (least_after, most_after)) = (self.graph.before[state], self.graph.after[state]);
        let low = least.max(self.count.saturating_sub(most_after));
        let high = most.min(self.count.saturating_sub(least_after));
        // Neither the words before nor the words after may differ by more than the band.
        let low = low.saturating_sub(self.band);
        let high = high.saturating_add(self.band).min(self.count);
        low..(high + 1).max(low)
    }

    /// Returns the places of a state that are in the band and in a window.
    fn places(&self, state: usize, window: &Range<usize>) -> Range<usize> {
        let own = self.band_places(state);
        let start = own.start.clamp(window.start, window.end);
        start..own.end.clamp(start, window.end.max(start))
    }

    fn cells(&self, first: usize, last: usize, window: &Range<usize>) -> usize {
        (first..=last).map(|state| self.places(state, window).len()).fold(0, usize::saturating_add)
    }

    /// Returns the places of a path from the first of two cuts, whose row is known, to a place of
    /// the last with this cost.
    fn window(&self, (first, row): (usize, &Row<C::Cost>), last: usize, place: usize, cost: C::Cost) -> Range<usize> {
        let Some(gap) = self.gap.filter(|_| cost < C::Cost::NONE) else { return 0..place + 1 };
        let before = &self.graph.before;
        let (least, most) = (before[last].0 - before[first].0, before[last].1 - before[first].1);
        let may = |&(from, &own): &(usize, &C::Cost)| {
            let words = place.saturating_sub(from);
            let gaps = least.saturating_sub(words).max(words.saturating_sub(most));
            from <= place && own + gap.times(gaps) <= cost
        };
        let start = (row.start..).zip(&row.costs).find(may).map_or(0, |(from, _)| from);
        start..place + 1
    }

    /// Returns the first word of the tile that begins at a state, if there is one.
    fn tile(&self, state: usize, last: usize) -> Option<usize> {
        let graph = self.graph;
        let at = graph.cuts.binary_search(&state).ok()?;
        let is_chain = state + TILE < last && graph.cuts.get(at + TILE) == Some(&(state + TILE));
        let word = |state: usize| match graph.entering(state) {
            [edge] => edge.word,
            _ => None,
        };
        let first = word(state + 1).filter(|_| is_chain)?;
        (1..=TILE).all(|k| word(state + k) == Some(first + k - 1)).then_some(first)
    }

    /// Computes the row of a state from the rows of the states before it, which are `rows` from
    /// `base` on.
    fn row(&self, state: usize, window: &Range<usize>, base: usize, rows: &[Row<C::Cost>]) -> Row<C::Cost> {
        let places = self.places(state, window);
        let mut made = Row { start: places.start, costs: vec![C::Cost::NONE; places.len()] };
        if state == 0 && made.start == 0 {
            made.costs[0] = C::Cost::ZERO;
        }
        for edge in self.graph.entering(state) {
            let from = &rows[edge.from - base];
            match edge.word {
                None => made.lower(from, 0, |_| C::Cost::ZERO),
                Some(word) => {
                    made.lower(from, 1, |place| self.costs.pair(word, place));
                    let deletion = self.costs.deletion(word);
                    made.lower(from, 0, |_| deletion);
                }
            }
        }
        let mut before = C::Cost::NONE;
        for (cost, place) in made.costs.iter_mut().zip(made.start..) {
            if let Some(place) = place.checked_sub(1) {
                let total = before + self.costs.insertion(place);
                *cost = if total < *cost { total } else { *cost };
            }
            before = *cost;
        }
        made
    }

    /// Returns the steps of the cheapest path, or its cost if a path that leaves the band may be as
    /// cheap.
    fn solve(&self) -> Result<Vec<Step>, C::Cost> {
        let graph = self.graph;
        let mut steps = vec![];
        let all = 0..self.count + 1;
        let mut waiting = vec![(0, self.row(0, &all, 0, &[]))];
        let (mut last, mut place) = (graph.last, self.count);
        // The cost of that place, once it is known.
        let mut reached = None;
        while let Some((first, row)) = waiting.pop() {
            let window = reached.map_or(all.clone(), |cost| self.window((first, &row), last, place, cost));
            let cuts = graph.cuts(first, last);
            let whole = cuts.is_empty() || self.cells(first, last, &window) <= self.most_cells;
            let mut kept = cuts.iter().copied().step_by(cuts.len() / PARTS + 1).peekable();
            if !whole {
                waiting.push((first, row.clone()));
            }
            let (mut base, mut rows, mut state) = (first, vec![row], first);
            while state < last {
                let tile = self.tiles.filter(|_| !whole && rows.len() == 1);
                let row = match tile.and_then(|tiles| Some((tiles, self.tile(state, last)?))) {
                    Some((tiles, word)) => {
                        state += TILE;
                        tiles.row(word, &rows[0], self.places(state, &window))
                    }
                    None => {
                        state += 1;
                        self.row(state, &window, base, &rows)
                    }
                };
                if !whole && graph.cuts.binary_search(&state).is_ok() {
                    // A tile may have gone past the cut.
                    let mut keeps = false;
                    while kept.next_if(|&cut| cut <= state).is_some() {
                        keeps = true;
                    }
                    if keeps && state < last {
                        waiting.push((state, row.clone()));
                    }
                    rows.clear();
                    base = state;
                }
                rows.push(row);
            }
            if reached.is_none() {
                let cost = rows.last().map_or(C::Cost::NONE, |row| row.get(self.count));
                if self.band < self.most_band() && !self.is_sure(cost) {
                    return Err(cost);
                }
                reached = Some(cost);
            }
            if whole {
                place = self.follow(first, &rows, last, place, &mut steps);
                reached = Some(rows[0].get(place));
                last = first;
            }
        }
        steps.reverse();
        Ok(steps)
    }

    /// Returns a band that has all cells.
    fn most_band(&self) -> usize {
        self.count.max(self.graph.edges.len())
    }

    /// Returns `true` if a path that leaves the band costs more. Before a cell outside, or after
    /// it, there are more than `band` insertions or deletions, and on the other side as many,
    /// except for the difference of the whole.
    fn is_sure(&self, cost: C::Cost) -> bool {
        let gaps = self.band.saturating_mul(2).saturating_add(1).saturating_sub(self.graph.difference(self.count));
        cost < C::Cost::NONE && self.gap.is_some_and(|gap| cost.gaps(gap) <= gaps)
    }

    /// Follows the path from a place of the last state back to the first, whose rows these are.
    fn follow(
        &self,
        first: usize,
        rows: &[Row<C::Cost>],
        mut state: usize,
        mut place: usize,
        steps: &mut Vec<Step>,
    ) -> usize {
        while state > first || first == 0 && place > 0 {
            let cost = rows[state - first].get(place);
            let edges = self.graph.entering(state).iter();
            let step = edges.flat_map(|edge| {
                let from = &rows[edge.from - first];
                let paired = edge.word.and_then(|word| {
                    let before = place.checked_sub(1)?;
                    Some((from.get(before) + self.costs.pair(word, before), (edge.from, before)))
                });
                let added = edge.word.map_or(C::Cost::ZERO, |word| self.costs.deletion(word));
                let alone = Some((from.get(place) + added, (edge.from, place)));
                paired.into_iter().chain(alone).map(|(total, to)| (total, to, edge.word))
            });
            // A sum that is not finite equals none of its parts; any step will do.
            let found = step.clone().find(|(total, ..)| *total == cost).or_else(|| {
                let inserted = place.checked_sub(1);
                inserted.map(|before| (cost, (state, before), None)).or_else(|| step.clone().next())
            });
            let Some((_, (to, before), word)) = found else { break };
            if word.is_some() || before < place {
                steps.push((word, (before < place).then_some(before)));
            }
            (state, place) = (to, before);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Costs of pairs, by words modulo a small number, of deletions and of insertions.
    #[derive(Debug, Clone)]
    struct Random<T> {
        pairs: Vec<T>,
        gaps: Vec<T>,
        words: Vec<usize>,
    }

    impl<T: Cost> Costs for Random<T> {
        type Cost = T;

        fn pair(&self, word: usize, place: usize) -> T {
            self.pairs[(word * 3 + self.words.get(place).copied().unwrap_or(0)) % self.pairs.len()]
        }

        fn deletion(&self, word: usize) -> T {
            self.gaps[word % self.gaps.len()]
        }

        fn insertion(&self, place: usize) -> T {
            self.gaps[place % self.gaps.len()]
        }

        fn least_gap(&self) -> Option<T> {
            self.gaps.iter().copied().reduce(|a, b| if b < a { b } else { a })
        }
    }

    /// Equal numbers cost nothing, an insertion or deletion 2.
    struct Equal {
        reference: Vec<u32>,
        hypothesis: Vec<u32>,
        substitution: f32,
    }

    impl Costs for Equal {
        type Cost = f32;

        fn pair(&self, word: usize, place: usize) -> f32 {
            if self.reference[word] == self.hypothesis[place] { 0.0 } else { self.substitution }
        }

        fn deletion(&self, _: usize) -> f32 {
            2.0
        }

        fn insertion(&self, _: usize) -> f32 {
            2.0
        }

        fn least_gap(&self) -> Option<f32> {
            Some(2.0)
        }

        fn numbered(&self) -> Option<Numbered<'_, f32>> {
            let Self { reference, hypothesis, substitution } = self;
            Some(Numbered { reference, hypothesis, substitution: *substitution, insertion: 2.0, deletion: 2.0 })
        }
    }

    /// A cell: its cost, the last step, and the cell before it.
    type Cell<C> = Option<(C, Step, (usize, usize))>;

    /// Returns the path from the whole table, with the step into each cell.
    fn whole_table<C: Costs>(reference: &Reference, count: usize, costs: &C) -> Vec<Step> {
        let mut table: Vec<Vec<Cell<C::Cost>>> = vec![];
        for state in 0..reference.num_states.max(1) {
            table.push(vec![None; count + 1]);
            for place in 0..=count {
                let mut best = (state == 0 && place == 0).then_some((C::Cost::ZERO, (None, None), (0, 0)));
                let mut offer = |from: (usize, usize), cost: C::Cost, step: Step| {
                    if let Some((before, ..)) = table[from.0][from.1] {
                        let total = before + cost;
                        if best.is_none_or(|(best, ..)| total < best) {
                            best = Some((total, step, from));
                        }
                    }
                };
                for edge in reference.edges.iter().filter(|edge| edge.to == state) {
                    match edge.word {
                        None => offer((edge.from, place), C::Cost::ZERO, (None, None)),
                        Some(word) => {
                            if place > 0 {
                                let step = (Some(word), Some(place - 1));
                                offer((edge.from, place - 1), costs.pair(word, place - 1), step);
                            }
                            offer((edge.from, place), costs.deletion(word), (Some(word), None));
                        }
                    }
                }
                if place > 0 {
                    offer((state, place - 1), costs.insertion(place - 1), (None, Some(place - 1)));
                }
                table[state][place] = best;
            }
        }
        let (mut at, mut steps) = ((reference.num_states.max(1) - 1, count), vec![]);
        while at != (0, 0) {
            let (_, step, from) = table[at.0][at.1].unwrap();
            steps.extend(Some(step).filter(|&step| step != (None, None)));
            at = from;
        }
        steps.reverse();
        steps
    }

    /// Makes a text with alternatives from numbers; all braces are closed.
    fn text(numbers: &[u8]) -> String {
        let (mut words, mut depth): (Vec<&str>, _) = (vec![], 0);
        for &number in numbers {
            words.push(match number {
                0 => "{",
                1 if depth > 0 => "/",
                2 if depth > 0 => "}",
                _ => "w",
            });
            depth = match words.last() {
                Some(&"{") => depth + 1,
                Some(&"}") => depth - 1,
                _ => depth,
            };
        }
        words.extend(std::iter::repeat_n("}", depth));
        words.join(" ")
    }

    fn check<T: Cost>(numbers: &[u8], costs: &Random<T>, sizes: (usize, usize)) -> (Vec<Step>, Vec<Step>) {
        let reference = Reference::parse("u", &text(numbers), false).unwrap();
        let count = costs.words.len();
        (best_path_within(&reference, count, costs, sizes), whole_table(&reference, count, costs))
    }

    proptest! {
        #[test]
        fn any_band_and_any_memory_give_the_path_of_the_whole_table(
            numbers in prop::collection::vec(0..9_u8, 0..40),
            pairs in prop::collection::vec(0..5_usize, 1..9),
            gaps in prop::collection::vec(0..4_usize, 1..4),
            words in prop::collection::vec(0..5_usize, 0..40),
            most_cells in 0..300_usize,
            band in 0..9_usize,
        ) {
            let as_times = Random {
                // Sums of these are exact.
                pairs: pairs.iter().map(|&cost| [0.125, 0.375, 0.75, 1.125, 0.0][cost]).collect(),
                gaps: gaps.iter().map(|&cost| [0.25, 0.5, 0.0, 0.125][cost]).collect(),
                words,
            };
            let (came, expected) = check(&numbers, &as_times, (most_cells, band));
            prop_assert_eq!(came, expected);
        }

        #[test]
        fn tiles_give_the_path_of_the_whole_table(
            numbers in prop::collection::vec(0..40_u8, 0..120),
            reference in prop::collection::vec(0..3_u32, 120),
            hypothesis in prop::collection::vec(0..3_u32, 0..120),
            edits in 1..4_u8,
            most_cells in 0..900_usize,
            band in 0..20_usize,
        ) {
            let parsed = Reference::parse("u", &text(&numbers), false).unwrap();
            let costs = Equal {
                reference: reference[..parsed.words.len()].to_vec(),
                hypothesis,
                substitution: f32::from(edits),
            };
            let count = costs.hypothesis.len();
            let came = best_path_within(&parsed, count, &costs, (most_cells, band));
            prop_assert_eq!(came, whole_table(&parsed, count, &costs));
        }
    }

    #[test]
    fn costs_that_overflow_still_give_a_path() {
        let reference = Reference::parse("u", "a { b / c d } e", false).unwrap();
        let costs = Random { pairs: vec![f64::MAX], gaps: vec![f64::MAX], words: vec![0; 3] };
        let steps = best_path(&reference, 3, &costs);
        assert_eq!(steps.iter().filter(|(_, place)| place.is_some()).count(), 3);
    }
}
