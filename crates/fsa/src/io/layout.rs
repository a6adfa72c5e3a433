//! Layout of the states and arcs of a drawing, in layers from left to right.
//!
//! A state is in the layer of the longest path to it; arcs that close a cycle are reversed for
//! that. Between two layers of states there is one of labels: each arc passes through a position of
//! its own in every layer on its way, which is as high as its label in the layer of the label.
//! Layers are then put in an order with few crossings, each element by the mean position of its
//! neighbors (Sugiyama, Tagawa, Toda 1981), and moved as close to their neighbors as their heights
//! allow, which is a monotone regression (pool adjacent violators).
//!
//! The crate `layout-rs` was considered instead: it gives each arc's label a rank of its own among
//! the states, tests by a search for each arc if it closes a cycle, and checks with assertions, one
//! of which fails for two labelled arcs between the same states. FSAs have such arcs, and no input
//! may make this crate panic.

use crate::error::{Error, Quantity};
use crate::support::adjacency::Adjacency;

/// Largest number of positions in all layers: more cannot be looked at.
const MOST_PLACES: usize = 200_000;
/// Number of passes over all layers for the order, and for the positions.
const ORDER_PASSES: usize = 16;
const PLACE_PASSES: usize = 24;
/// Free space between two layers, and between two elements of a layer.
const LAYER_GAP: f64 = 30.0;
const ELEMENT_GAP: f64 = 12.0;

/// Area that a state or the label of an arc covers around its position.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    pub(super) width: f64,
    pub(super) up: f64,
    pub(super) down: f64,
}

/// An arc, or several between the same states.
pub(super) struct Edge {
    pub(super) src: usize,
    pub(super) dest: usize,
    pub(super) label: Extent,
}

/// Path of an edge.
pub(super) struct Way {
    /// Points from the source to the destination, in pairs: a curve to the first of each pair, then
    /// straight on to the second. The first and the last point are the centers of states.
    pub(super) points: Vec<(f64, f64)>,
    /// Center of the label.
    pub(super) label: (f64, f64),
}

/// Positions of all states and arcs.
pub(super) struct Layout {
    pub(super) states: Vec<(f64, f64)>,
    pub(super) ways: Vec<Way>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Lays out states of these extents and the edges between different ones.
///
/// # Errors
/// [`Error::OutOfRange`] if the edges would pass through too many layers.
pub(super) fn layout(states: &[Extent], edges: &[Edge]) -> Result<Layout, Error> {
    let (layers, turned) = layers(states.len(), edges);
    // Each edge has a position in every level between its ends; there are two levels to a layer.
    let passed = edges.iter().map(|edge| 2 * layers[edge.src].abs_diff(layers[edge.dest]) - 1);
    let places = passed.fold(states.len(), usize::saturating_add);
    if places > MOST_PLACES {
        return Err(Error::too_many(Quantity::DrawingPlaces, MOST_PLACES, places));
    }
    let mut graph = Graph::default();
    for (extent, &layer) in states.iter().zip(&layers) {
        graph.element(2 * layer, *extent, 1.0);
    }
    let mut chains = Vec::with_capacity(edges.len());
    for (edge, &turned) in edges.iter().zip(&turned) {
        let (from, to) = if turned { (edge.dest, edge.src) } else { (edge.src, edge.dest) };
        chains.push(graph.chain(from, to, edge.label));
    }
    graph.order();
    let y = graph.place();
    let lefts = graph.lefts();
    let middle = |element: usize| {
        let level = graph.level[element];
        ((lefts[level].0 + lefts[level].1) / 2.0, y[element])
    };
    let ways = chains.iter().zip(&turned).map(|(chain, &turned)| {
        let ends =
            |element: usize| [(lefts[graph.level[element]].0, y[element]), (lefts[graph.level[element]].1, y[element])];
        let mut points: Vec<_> = chain.elements.iter().flat_map(|&element| ends(element)).collect();
        let (first, last) = (chain.elements[0], chain.elements[chain.elements.len() - 1]);
        points[0] = middle(first);
        if let Some(point) = points.last_mut() {
            *point = middle(last);
        }
        if turned {
            points.reverse();
        }
        Way { points, label: middle(chain.label) }
    });
    let height = (0..y.len()).map(|element| y[element] + graph.extent[element].down).fold(0.0, f64::max);
    let ways = ways.collect();
    Ok(Layout {
        states: (0..states.len()).map(middle).collect(),
        ways,
        width: lefts.last().map_or(0.0, |level| level.1),
        height,
    })
}

/// Returns the layer of each state, and `true` for the edges that are reversed because they close a
/// cycle.
fn layers(num_states: usize, edges: &[Edge]) -> (Vec<usize>, Vec<bool>) {
    let by_source = Adjacency::new(num_states, edges.iter().map(|edge| edge.src));
    let (mut turned, mut entered, mut left) =
        (vec![false; edges.len()], vec![false; num_states], vec![false; num_states]);
    let (mut stack, mut finished) = (vec![], Vec::with_capacity(num_states));
    for root in 0..num_states {
        if !std::mem::replace(&mut entered[root], true) {
            stack.push((root, by_source.range(root)));
        }
        while let Some((state, next)) = stack.last_mut() {
            let Some(edge) = next.next() else {
                left[*state] = true;
                finished.push(*state);
                stack.pop();
                continue;
            };
            let edge = by_source.order()[edge] as usize;
            let dest = edges[edge].dest;
            if !std::mem::replace(&mut entered[dest], true) {
                stack.push((dest, by_source.range(dest)));
            } else {
                turned[edge] = !left[dest];
            }
        }
    }
    let mut layers = vec![0; num_states];
    for &state in finished.iter().rev() {
        for edge in by_source.row(state).iter().map(|&edge| edge as usize) {
            if !turned[edge] {
                layers[edges[edge].dest] = layers[edges[edge].dest].max(layers[state] + 1);
            }
        }
    }
    (layers, turned)
}

/// Elements of all layers: states, and the positions through which edges pass.
#[derive(Default)]
struct Graph {
    level: Vec<usize>,
    extent: Vec<Extent>,
    weight: Vec<f64>,
    /// Neighbors in the next level and in the one before.
    links: Vec<(usize, usize)>,
    levels: Vec<Vec<usize>>,
}

/// Elements through which an edge passes, and the element of its label.
struct Chain {
    elements: Vec<usize>,
    label: usize,
}

impl Graph {
    fn element(&mut self, level: usize, extent: Extent, weight: f64) -> usize {
        let element = self.level.len();
        if self.levels.len() <= level {
            self.levels.resize(level + 1, vec![]);
        }
        self.levels[level].push(element);
        self.level.push(level);
        self.extent.push(extent);
        self.weight.push(weight);
        element
    }

    fn chain(&mut self, from: usize, to: usize, label: Extent) -> Chain {
        let (first, last) = (self.level[from], self.level[to]);
        // Labels are in levels of odd numbers.
        let label_level = ((first + last) / 2 - 1) | 1;
        let (mut elements, mut label_at) = (vec![from], from);
        for level in first + 1..last {
            let extent = if level == label_level { label } else { Extent::default() };
            let element = self.element(level, extent, 2.0);
            if level == label_level {
                label_at = element;
            }
            elements.push(element);
        }
        elements.push(to);
        self.links.extend(elements.windows(2).map(|pair| (pair[0], pair[1])));
        Chain { elements, label: label_at }
    }

    /// Returns the neighbors of each element on one side.
    fn neighbours(&self, of: impl Fn(&(usize, usize)) -> (usize, usize)) -> Vec<Vec<usize>> {
        let by_element = Adjacency::new(self.level.len(), self.links.iter().map(|link| of(link).0));
        let row = |element| by_element.row(element).iter().map(|&link| of(&self.links[link as usize]).1).collect();
        (0..self.level.len()).map(row).collect()
    }

    /// Puts each layer in an order with few crossings.
    fn order(&mut self) {
        let before = self.neighbours(|&(a, b)| (b, a));
        let after = self.neighbours(|&(a, b)| (a, b));
        let mut rank = vec![0.0; self.level.len()];
        let ranked = |levels: &[Vec<usize>], rank: &mut [f64]| {
            for level in levels {
                (0..).zip(level).for_each(|(at, &element)| rank[element] = f64::from(at));
            }
        };
        ranked(&self.levels, &mut rank);
        let mut best = (self.crossings(&rank), self.levels.clone());
        for pass in 0..ORDER_PASSES {
            if best.0 == 0 {
                break;
            }
            let forward = pass % 2 == 0;
            let neighbours = if forward { &before } else { &after };
            let mut order: Vec<usize> = (0..self.levels.len()).collect();
            if !forward {
                order.reverse();
            }
            for level in order {
                let mut keyed: Vec<(f64, usize)> = self.levels[level]
                    .iter()
                    .map(|&element| (mean(&rank, &neighbours[element]).unwrap_or(rank[element]), element))
                    .collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.levels[level] = keyed.into_iter().map(|(_, element)| element).collect();
                ranked(&self.levels[level..=level], &mut rank);
            }
            let crossings = self.crossings(&rank);
            if crossings < best.0 {
                best = (crossings, self.levels.clone());
            }
        }
        self.levels = best.1;
    }

    /// Returns the number of pairs of links that cross.
    fn crossings(&self, rank: &[f64]) -> u64 {
        let mut by_level: Vec<Vec<(f64, f64)>> = vec![vec![]; self.levels.len()];
        self.links.iter().for_each(|&(a, b)| by_level[self.level[a]].push((rank[a], rank[b])));
        let mut crossings = 0;
        for (level, links) in by_level.iter_mut().enumerate().filter(|(_, links)| links.len() > 1) {
            links.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            // A tree of counts, in which ranks to the right of one are summed.
            let mut tree = vec![0_u64; self.levels[level + 1].len() + 1];
            for (seen, (_, right)) in (0..).zip(links.iter()) {
                let place = position(*right) + 1;
                let (mut at, mut not_after) = (place, 0);
                while at > 0 {
                    not_after += tree[at];
                    at &= at - 1;
                }
                crossings += seen - not_after;
                at = place;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
        crossings
    }

    /// Returns the vertical position of each element.
    fn place(&self) -> Vec<f64> {
        let before = self.neighbours(|&(a, b)| (b, a));
        let after = self.neighbours(|&(a, b)| (a, b));
        let mut y = vec![0.0; self.level.len()];
        for level in &self.levels {
            self.fit(level, &vec![0.0; level.len()], &mut y);
        }
        for pass in 0..PLACE_PASSES {
            let sides: &[_] = match pass % 3 {
                0 => &[&before],
                1 => &[&after],
                _ => &[&before, &after],
            };
            let mut order: Vec<&Vec<usize>> = self.levels.iter().collect();
            if pass % 3 == 1 {
                order.reverse();
            }
            for level in order {
                let wish = |&element: &usize| {
                    let means = sides.iter().filter_map(|neighbours| mean(&y, &neighbours[element]));
                    let (sum, number) = means.fold((0.0, 0.0), |(sum, number), x| (sum + x, number + 1.0));
                    if number > 0.0 { sum / number } else { y[element] }
                };
                let wishes: Vec<f64> = level.iter().map(wish).collect();
                self.fit(level, &wishes, &mut y);
            }
        }
        let top = (0..y.len()).map(|element| y[element] - self.extent[element].up).fold(f64::INFINITY, f64::min);
        y.iter_mut().for_each(|y| *y -= top);
        y
    }

    /// Computes the positions of a layer that are closest to the wished ones and leave each element
    /// the space that it needs.
    fn fit(&self, level: &[usize], wishes: &[f64], y: &mut [f64]) {
        let (mut offset, mut offsets) = (0.0, Vec::with_capacity(level.len()));
        for (at, &element) in level.iter().enumerate() {
            if at > 0 {
                offset += self.extent[level[at - 1]].down + ELEMENT_GAP + self.extent[element].up;
            }
            offsets.push(offset);
        }
        // Blocks of elements that are as close as possible: the mean of their wishes, their weight,
        // their number.
        let mut blocks: Vec<(f64, f64, usize)> = vec![];
        for ((&element, wish), offset) in level.iter().zip(wishes).zip(&offsets) {
            let mut block = (wish - offset, self.weight[element], 1);
            while let Some(&(mean, weight, number)) = blocks.last().filter(|last| last.0 > block.0) {
                let sum = weight + block.1;
                block = ((mean * weight + block.0 * block.1) / sum, sum, number + block.2);
                blocks.pop();
            }
            blocks.push(block);
        }
        let means = blocks.iter().flat_map(|&(mean, _, number)| std::iter::repeat_n(mean, number));
        for ((&element, mean), offset) in level.iter().zip(means).zip(&offsets) {
            y[element] = mean + offset;
        }
    }

    /// Returns the left and the right of each layer.
    fn lefts(&self) -> Vec<(f64, f64)> {
        let mut left = 0.0;
        let edges = self.levels.iter().map(|level| {
            let width = level.iter().map(|&element| self.extent[element].width).fold(0.0, f64::max);
            let edges = (left, left + width);
            left += width + LAYER_GAP;
            edges
        });
        edges.collect()
    }
}

fn mean(of: &[f64], entries: &[usize]) -> Option<f64> {
    let (sum, number) = entries.iter().fold((0.0, 0.0), |(sum, number), &entry| (sum + of[entry], number + 1.0));
    (number > 0.0).then(|| sum / number)
}

/// Returns a rank, which is an integer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ranks are places in a layer")]
fn position(rank: f64) -> usize {
    rank as usize
}
