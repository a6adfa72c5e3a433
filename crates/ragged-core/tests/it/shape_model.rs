//! Every operation on shapes against the same on nested lists, on random shapes of 2 to 5 axes with
//! many empty lists.

use proptest::prelude::*;
use ragged_core::{RaggedShape, Renumbering, RowSplits};

/// A list of lists as one writes it on paper. A leaf is the number of the element that it was.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Leaf(i64),
    List(Vec<Tree>),
}
use Tree::{Leaf, List};

impl Tree {
    /// The tree of a shape whose elements have these numbers.
    fn from_shape(shape: &RaggedShape, numbers: impl IntoIterator<Item = i64>) -> Self {
        let mut level: Vec<Tree> = numbers.into_iter().map(Leaf).collect();
        assert_eq!(level.len(), shape.num_elements());
        for axis in (1..shape.num_axes()).rev() {
            let splits = shape.row_splits(axis).as_ref();
            level = splits.windows(2).map(|ends| List(level[ends[0] as usize..ends[1] as usize].to_vec())).collect();
        }
        List(level)
    }

    /// With the elements of the shape numbered from 0.
    fn numbered(shape: &RaggedShape) -> Self {
        Self::from_shape(shape, 0..shape.num_elements() as i64)
    }

    /// Without the numbers of the leaves.
    fn bare(&self) -> Self {
        match self {
            Leaf(_) => Leaf(0),
            List(items) => List(items.iter().map(Tree::bare).collect()),
        }
    }

    fn items(&self) -> &[Tree] {
        match self {
            Leaf(_) => &[],
            List(items) => items,
        }
    }

    /// With the items of each list at this depth replaced (depth 0 is the whole): the items are the
    /// entries of an axis.
    fn edit(&self, depth: usize, edit: &mut impl FnMut(&[Tree]) -> Vec<Tree>) -> Self {
        match depth {
            0 => List(edit(self.items())),
            _ => List(self.items().iter().map(|item| item.edit(depth - 1, edit)).collect()),
        }
    }

    /// All entries of an axis.
    fn entries(&self, axis: usize) -> Vec<Tree> {
        let mut entries = Vec::new();
        self.edit(axis, &mut |items| {
            entries.extend_from_slice(items);
            Vec::new()
        });
        entries
    }

    /// With the entries of an axis turned into elements.
    fn cut(&self, axis: usize) -> Self {
        let mut numbers = 0..;
        self.edit(axis, &mut |items| items.iter().map(|_| Leaf(numbers.next().unwrap())).collect())
    }
}

/// Trees side by side at a depth.
fn zip(trees: &[Tree], depth: usize, join: &impl Fn(&[Tree]) -> Tree) -> Tree {
    if depth == 0 {
        return join(trees);
    }
    let item = |i: usize| trees.iter().map(|tree| tree.items()[i].clone()).collect::<Vec<_>>();
    List((0..trees[0].items().len()).map(|i| zip(&item(i), depth - 1, join)).collect())
}

/// What must hold for any shape.
fn check(shape: &RaggedShape) {
    for axis in 1..shape.num_axes() {
        let splits = shape.row_splits(axis);
        assert_eq!(RowSplits::new(splits.as_ref().to_vec()).as_ref(), Ok(splits));
        assert_eq!(splits.num_rows(), shape.tot_size(axis - 1));
        assert_eq!(splits.num_elements(), shape.tot_size(axis));
        let ids: Vec<i32> =
            (0..).zip(splits.rows()).flat_map(|(row, range)| std::iter::repeat_n(row, range.len())).collect();
        assert_eq!(shape.row_ids(axis), ids);
        assert_eq!(RowSplits::from_row_ids(&ids, splits.num_rows()).as_ref(), Ok(splits));
        assert_eq!(shape.max_size(axis), splits.rows().map(|row| row.len()).max().unwrap_or(0));
    }
    assert_eq!(shape.tot_sizes()[0], shape.dim0());
}

/// That a shape and the old numbers of its elements are what the model says.
#[track_caller]
fn same<N: Copy + Into<i64>>(shape: &RaggedShape, numbers: &[N], num_axes: usize, model: &Tree) {
    check(shape);
    assert_eq!(shape.num_axes(), num_axes);
    assert_eq!(&Tree::from_shape(shape, numbers.iter().map(|&number| number.into())), model);
}

/// The same for a shape alone.
#[track_caller]
fn same_shape(shape: &RaggedShape, num_axes: usize, model: &Tree) {
    same(shape, &vec![0_i64; shape.num_elements()], num_axes, &model.bare());
}

fn shape() -> impl Strategy<Value = RaggedShape> {
    let elements = prop_oneof![Just(0..=0), Just(0..=3), Just(0..=40_usize)];
    (any::<u64>(), elements).prop_map(|(seed, elements)| RaggedShape::random(seed, 2..=5, elements).unwrap())
}

/// A few shapes with the same number of axes.
fn shapes() -> impl Strategy<Value = Vec<RaggedShape>> {
    (2_usize..=4, prop::collection::vec(any::<u64>(), 1..4)).prop_map(|(axes, seeds)| {
        seeds.into_iter().map(|seed| RaggedShape::random(seed, axes..=axes, 0..=20).unwrap()).collect()
    })
}

/// Flags from random bits.
fn flags(bits: &[bool], len: usize) -> Vec<bool> {
    bits.iter().copied().cycle().take(len).collect()
}

/// The trees of shapes with the numbers of merge maps.
fn merged_trees(shapes: &[RaggedShape]) -> Vec<Tree> {
    let numbers = |(source, shape): (usize, &RaggedShape)| {
        Tree::from_shape(shape, (0..shape.num_elements()).map(|index| (index * shapes.len() + source) as i64))
    };
    shapes.iter().enumerate().map(numbers).collect()
}

proptest! {
    #[test]
    fn unsqueeze_and_remove_axis_equal_the_model(shape in shape()) {
        let (tree, last) = (Tree::numbered(&shape), shape.num_axes() - 1);
        check(&shape);
        let elements: Vec<i64> = (0..shape.num_elements() as i64).collect();
        for axis in 0..=last {
            let mut wrap = |items: &[Tree]| items.iter().map(|item| List(vec![item.clone()])).collect();
            let model = if axis == 0 { List(vec![tree.clone()]) } else { tree.edit(axis, &mut wrap) };
            same(&shape.unsqueeze(axis).unwrap(), &elements, last + 2, &model);
        }
        prop_assert!(shape.unsqueeze(last + 1).is_err());
        if last == 1 {
            prop_assert!(shape.remove_axis(0).is_err());
            return Ok(());
        }
        for axis in 0..last {
            let model = tree.edit(axis, &mut |items| items.iter().flat_map(|item| item.items().to_vec()).collect());
            same(&shape.remove_axis(axis).unwrap(), &elements, last, &model);
        }
        same_shape(&shape.remove_axis(last).unwrap(), last, &tree.cut(last - 1));
        for axis in 1..last {
            let (top, bottom) = shape.decompose(axis).unwrap();
            same_shape(&top, axis + 1, &tree.cut(axis));
            same(&bottom, &elements, last + 1 - axis, &List(tree.entries(axis)));
            prop_assert_eq!(top.compose(&bottom).unwrap(), shape.clone());
        }
    }

    #[test]
    fn ranges_of_an_axis_equal_the_model(shape in shape(), at in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let (tree, last) = (Tree::numbered(&shape), shape.num_axes() - 1);
        for axis in 0..last {
            let size = shape.tot_size(axis);
            let (mut begin, mut end) = (at.index(size + 1), to.index(size + 1));
            if begin > end {
                (begin, end) = (end, begin);
            }
            let (part, elements) = shape.arange(axis, begin, end).unwrap();
            let numbers: Vec<i64> = (elements.start as i64..elements.end as i64).collect();
            same(&part, &numbers, last + 1 - axis, &List(tree.entries(axis)[begin..end].to_vec()));
            let layer = List(tree.entries(axis)).cut(1);
            same_shape(&shape.layer(axis).unwrap(), 2, &layer);
        }
        for (i, list) in shape.view().rows().enumerate() {
            let model = &tree.items()[i];
            prop_assert_eq!(list.dim0(), model.items().len());
            if last > 1 {
                let numbers: Vec<i64> = list.elements().map(|element| element as i64).collect();
                same(&shape.index0(i).unwrap(), &numbers, last, model);
            }
        }
        let lens: Vec<usize> = shape.decreasing_size_order().iter().map(|&i| tree.items()[i as usize].items().len()).collect();
        prop_assert!(lens.is_sorted_by(|a, b| a >= b) && lens.len() == shape.dim0());
    }

    #[test]
    fn index_equals_the_model(shape in shape(), picks in prop::collection::vec(any::<u16>(), 0..30)) {
        let (tree, last) = (Tree::numbered(&shape), shape.num_axes() - 1);
        let indexes: Vec<i32> = picks.iter().map(|&pick| i32::from(pick) % (shape.dim0() as i32 + 1) - 1).collect();
        let pick = |&i: &i32| usize::try_from(i).map_or(List(Vec::new()), |i| tree.items()[i].clone());
        let (picked, elements) = shape.index(0, &indexes).unwrap();
        same(&picked, &elements, last + 1, &List(indexes.iter().map(pick).collect()));
        for axis in 1..=last {
            let size = shape.tot_size(axis) as i32;
            let mut indexes: Vec<i32> = if size == 0 { vec![] } else { picks.iter().map(|&p| i32::from(p) % size).collect() };
            // In the order of the lists above; within one, as they come.
            indexes.sort_by_key(|&i| shape.row_ids(axis)[i as usize]);
            let mut start = 0;
            let model = tree.edit(axis, &mut |items| {
                let range = start..start + items.len() as i32;
                start = range.end;
                let inside = indexes.iter().filter(|i| range.contains(i));
                inside.map(|i| items[(i - range.start) as usize].clone()).collect()
            });
            let (picked, elements) = shape.index(axis, &indexes).unwrap();
            same(&picked, &elements, last + 1, &model);
        }
    }

    #[test]
    fn subset_equals_the_model(shape in shape(), bits in prop::collection::vec(any::<bool>(), 1..30)) {
        let (tree, last) = (Tree::numbered(&shape), shape.num_axes() - 1);
        for axis in 0..=last {
            let renumbering = Renumbering::new(flags(&bits, shape.tot_size(axis))).unwrap();
            let mut keep = renumbering.as_ref().iter();
            let model =
                tree.edit(axis, &mut |items| items.iter().filter(|_| *keep.next().unwrap()).cloned().collect());
            let (left, elements) = shape.subset(axis, &renumbering).unwrap();
            same(&left, &elements, last + 1, &model);
            prop_assert_eq!(left.tot_size(axis), renumbering.num_new());
        }
        for axis in 0..last {
            let model = tree.edit(axis, &mut |items| {
                items.iter().filter(|item| !item.items().is_empty()).cloned().collect()
            });
            let (left, new2old) = shape.remove_empty_lists(axis).unwrap();
            let elements: Vec<i64> = (0..shape.num_elements() as i64).collect();
            same(&left, &elements, last + 1, &model);
            let entries = tree.entries(axis);
            let full: Vec<i32> = (0..).zip(&entries).filter(|(_, e)| !e.items().is_empty()).map(|(i, _)| i).collect();
            prop_assert_eq!(new2old, full);
            let keep: Vec<bool> = entries.iter().map(|entry| !entry.items().is_empty()).collect();
            prop_assert_eq!(shape.remove_some_empty_lists(axis, &keep).unwrap(), left);
        }
        let lists = flags(&bits, shape.tot_size(last - 1));
        let elements = flags(&bits[bits.len() / 2..], shape.num_elements());
        let (left, numbers) = shape.subset_last_two(&lists, &elements).unwrap();
        let kept = |leaf: &&Tree| matches!(leaf, Leaf(number) if elements[*number as usize]);
        let mut keep = lists.iter();
        let model = tree.edit(last - 1, &mut |items| {
            let items = items.iter().filter(|_| *keep.next().unwrap());
            items.map(|list| List(list.items().iter().filter(kept).cloned().collect())).collect()
        });
        same(&left, &numbers, last + 1, &model);
    }

    #[test]
    fn shapes_are_joined(shapes in shapes(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let (trees, num_axes) = (merged_trees(&shapes), shapes[0].num_axes());
        let concatenated = |trees: &[Tree]| List(trees.iter().flat_map(|tree| tree.items().to_vec()).collect());
        let (stacked, map) = RaggedShape::stack(0, &shapes).unwrap();
        same(&stacked, &map, num_axes + 1, &List(trees.clone()));
        let (joined, map) = RaggedShape::cat(0, &shapes).unwrap();
        same(&joined, &map, num_axes, &concatenated(&trees));
        let mut appended = shapes[0].clone();
        shapes[1..].iter().for_each(|shape| appended.append(shape).unwrap());
        prop_assert_eq!(appended, joined);

        let lists: Vec<u32> =
            (0..).zip(&shapes).flat_map(|(s, shape)| (0..shape.dim0() as u32).map(move |i| (s, i)))
                .map(|(source, list)| list * shapes.len() as u32 + source).collect();
        let order: Vec<u32> = if lists.is_empty() { vec![] } else { picks.iter().map(|pick| *pick.get(&lists)).collect() };
        let list = |&number: &u32| trees[number as usize % trees.len()].items()[number as usize / trees.len()].clone();
        let (merged, map) = RaggedShape::merge(&shapes, &order).unwrap();
        same(&merged, &map, num_axes, &List(order.iter().map(list).collect()));

        let offsets = RaggedShape::start_offsets(&shapes).unwrap();
        for (axis, offsets) in offsets.iter().enumerate() {
            for (ends, shape) in offsets.windows(2).zip(&shapes) {
                prop_assert_eq!(ends[1] - ends[0], shape.tot_size(axis));
            }
        }
    }

    #[test]
    fn shapes_that_agree_are_joined_below(shape in shape(), seeds in prop::collection::vec(any::<u64>(), 1..4)) {
        let concatenated = |trees: &[Tree]| List(trees.iter().flat_map(|tree| tree.items().to_vec()).collect());
        for axis in 1..shape.num_axes() {
            // The same lists above the axis; random ones from there on.
            let part = |&seed: &u64| {
                let below = RaggedShape::random(seed, 4..=4, 0..=30).unwrap();
                let indexes: Vec<i32> =
                    (0..shape.tot_size(axis - 1)).map(|i| (i as i32 * 7) % (below.dim0() as i32 + 1) - 1).collect();
                let below = below.index(0, &indexes).unwrap().0;
                if axis == 1 { below } else {
                    (axis..shape.num_axes()).fold(shape.clone(), |top, _| top.remove_axis(top.num_axes() - 1).unwrap()).compose(&below).unwrap()
                }
            };
            let parts: Vec<RaggedShape> = seeds.iter().map(part).collect();
            let trees = merged_trees(&parts);
            let num_axes = parts[0].num_axes();
            let (stacked, map) = RaggedShape::stack(axis, &parts).unwrap();
            same(&stacked, &map, num_axes + 1, &zip(&trees, axis, &|trees| List(trees.to_vec())));
            let (joined, map) = RaggedShape::cat(axis, &parts).unwrap();
            same(&joined, &map, num_axes, &zip(&trees, axis, &concatenated));
            let apart = stacked.unstack(axis, true).unwrap();
            if stacked.tot_size(axis - 1) > 0 {
                prop_assert_eq!(apart.into_iter().map(|(part, _)| part).collect::<Vec<_>>(), parts);
            }
        }
    }

    #[test]
    fn unstack_equals_the_model(shape in shape(), pad_right in any::<bool>()) {
        let (tree, last) = (Tree::numbered(&shape), shape.num_axes() - 1);
        let wrap = |tree: Tree| if last == 1 { List(vec![tree]) } else { tree };
        let parts = shape.unstack(0, pad_right).unwrap();
        prop_assert_eq!(parts.len(), shape.dim0());
        for ((part, map), model) in parts.iter().zip(tree.items()) {
            same(part, map, last.max(2), &wrap(model.clone()));
        }
        for axis in 1..=last {
            let parts = shape.unstack(axis, pad_right).unwrap();
            let longest = shape.max_size(axis);
            prop_assert_eq!(parts.len(), longest);
            for (k, (part, map)) in parts.iter().enumerate() {
                let pick = |list: &Tree| {
                    let at = if pad_right { Some(k) } else { (k + list.items().len()).checked_sub(longest) };
                    let found = at.and_then(|at| list.items().get(at)).cloned();
                    if axis < last { Some(found.unwrap_or(List(vec![]))) } else { found }
                };
                let model = tree.edit(axis - 1, &mut |items| items.iter().filter_map(pick).collect());
                same(part, map, last.max(2), &wrap(model));
            }
        }
    }

    #[test]
    fn shapes_are_transposed(shape in shape()) {
        let (tree, num_axes) = (Tree::numbered(&shape), shape.num_axes());
        let longest = shape.max_size(1);
        let filler = if num_axes == 2 { Leaf(0) } else { List(vec![]) };
        let padded = |list: &Tree| {
            let missing = longest - list.items().len();
            List(list.items().iter().cloned().chain(std::iter::repeat_n(filler.clone(), missing)).collect())
        };
        let regular = shape.make_transposable().unwrap();
        let model = List(tree.items().iter().map(padded).collect());
        same_shape(&regular, num_axes, &model);
        if num_axes > 2 {
            let (transposed, elements) = regular.transpose().unwrap();
            let row = |column: usize| List(model.items().iter().map(|list| list.items()[column].clone()).collect());
            same(&transposed, &elements, num_axes, &List((0..longest).map(row).collect()));
        }
    }

    #[test]
    fn change_sublist_size_equals_the_model(shape in shape(), change in -4..4_i32) {
        let (tree, last) = (Tree::numbered(&shape), shape.num_axes() - 1);
        let len = |list: &[Tree]| list.len() as i32 + change;
        let leaves = |len: i32| vec![Leaf(0); usize::try_from(len).unwrap_or(0)];
        let changed = shape.change_sublist_size(change);
        let shortest = shape.last_splits().rows().map(|list| list.len() as i32).min();
        prop_assert_eq!(changed.is_err(), shortest.is_some_and(|shortest| shortest + change < 0));
        if let Ok(changed) = changed {
            same_shape(&changed, last + 1, &tree.edit(last, &mut |list| leaves(len(list))));
        }
        let pinned = shape.change_sublist_size_pinned(change).unwrap();
        let model = tree.edit(last, &mut |list| if list.is_empty() { vec![] } else { leaves(len(list)) });
        same_shape(&pinned, last + 1, &model);
    }

    #[test]
    fn a_covering_shape_holds_all(lengths in prop::collection::vec([0..4_usize, 0..4, 0..4], 0..10)) {
        let shape = |s: usize| RaggedShape::new([RowSplits::from_lengths(lengths.iter().map(|l| l[s])).unwrap()]).unwrap();
        let sources = [shape(0), shape(1), shape(2)];
        let covering = RaggedShape::covering(&sources).unwrap();
        check(&covering);
        let longest: Vec<usize> = lengths.iter().map(|l| *l.iter().max().unwrap()).collect();
        prop_assert_eq!(covering.row_splits(1), &RowSplits::from_lengths(longest.iter().copied()).unwrap());
        for (s, source) in sources.iter().enumerate() {
            let mut next = 0..;
            let model: Vec<i32> = lengths.iter().zip(&longest)
                .flat_map(|(l, &longest)| (0..longest).map(|k| if k < l[s] { next.next().unwrap() } else { -1 }).collect::<Vec<_>>())
                .collect();
            prop_assert_eq!(covering.forward_map(source).unwrap(), model);
        }
    }
}
