//! Selection of the nodes of a tree that a search still needs.

use std::collections::BTreeSet;

/// The nodes that remain of a tree whose nodes have larger numbers than their parents: the deepest
/// node from which all nodes in use descend, and all nodes between it and them. Their new numbers
/// are their indices here.
///
/// Nodes between two that are in use must stay: a hypothesis that arrives from above must find the
/// same nodes below.
pub(crate) struct LiveNodes(Vec<u32>);

impl LiveNodes {
    /// Selects nodes by the nodes in use. O(nodes that remain × log nodes). Without any, nothing
    /// remains.
    pub(crate) fn new(parent: impl Fn(u32) -> u32, in_use: impl IntoIterator<Item = u32>) -> Self {
        let mut waiting: BTreeSet<u32> = in_use.into_iter().collect();
        let mut kept = vec![];
        while let Some(last) = waiting.pop_last() {
            kept.push(last);
            if !waiting.is_empty() {
                waiting.insert(parent(last));
            }
        }
        kept.reverse();
        Self(kept)
    }

    /// Adds `count` nodes above the first.
    pub(crate) fn with_ancestors(mut self, parent: impl Fn(u32) -> u32, count: usize) -> Self {
        let above = std::iter::successors(self.0.first().copied(), |&node| Some(parent(node)).filter(|&of| of < node));
        let mut all: Vec<u32> = above.skip(1).take(count).collect();
        all.reverse();
        all.append(&mut self.0);
        Self(all)
    }

    /// Returns the old numbers, in increasing order.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.0
    }

    /// Returns the new number of a node, if it remains.
    pub(crate) fn number(&self, old: u32) -> Option<u32> {
        self.0.binary_search(&old).ok().and_then(|place| u32::try_from(place).ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_remains_is_the_tree_of_the_nodes_in_use(
            parents in prop::collection::vec(0..1000_u32, 1..40),
            chosen in prop::collection::vec(0..1000_u32, 1..5),
        ) {
            let parents: Vec<u32> = (0..).zip(parents).map(|(node, any): (u32, u32)| any % node.max(1)).collect();
            let nodes = u32::try_from(parents.len()).unwrap();
            let chosen: Vec<u32> = chosen.iter().map(|any| any % nodes).collect();
            let path = |node: u32| {
                let mut path: Vec<u32> =
                    std::iter::successors(Some(node), |&at| (at > 0).then(|| parents[at as usize])).collect();
                path.reverse();
                path
            };
            let paths: Vec<Vec<u32>> = chosen.iter().map(|&node| path(node)).collect();
            let shared = (0..).take_while(|&i| paths.iter().all(|path| i < path.len() && path[i] == paths[0][i])).count();
            let mut expected: Vec<u32> = paths.iter().flat_map(|path| path[shared - 1..].to_vec()).collect();
            expected.sort_unstable();
            expected.dedup();
            let kept = LiveNodes::new(|node| parents[node as usize], chosen);
            prop_assert_eq!(kept.nodes(), &expected);
            let more = kept.with_ancestors(|node| parents[node as usize], 2);
            let above = paths[0][..shared - 1].iter().rev().take(2).rev().copied();
            prop_assert_eq!(more.nodes(), &above.chain(expected.iter().copied()).collect::<Vec<_>>());
            prop_assert_eq!(more.nodes().iter().position(|&node| node == expected[0]), Some((shared - 1).min(2)));
        }
    }
}
