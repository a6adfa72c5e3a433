//! How TensorFlow's `strided_slice` is computed: the two examples of carter2005's article of 2020,
//! each with the table of its steps.
//!
//! ```sh
//! cargo run -p kaldera-examples --example strided_slice_article
//! ```

use std::error::Error;

use kaldera::tensor::{Masks, SlicedAxis, StridedSlice, Tensor};

fn main() -> Result<(), Box<dyn Error>> {
    let first = Masks { ellipsis: 0b1000, new_axis: 0b1001, shrink_axis: 0b0100, ..Masks::default() };
    walk_through("Example 1: the ellipsis mask is 0b1000", first)?;
    println!();
    let second = Masks { ellipsis: 0b0100, ..first };
    walk_through("Example 2: the ellipsis mask is 0b0100", second)
}

/// The steps of one slice of an input of shape [6, 3, 4, 10], whose elements are their places: 0,
/// 1, 2 and so on.
fn walk_through(title: &str, masks: Masks) -> Result<(), Box<dyn Error>> {
    let (begin, end, strides) = ([0, 0, 2, 2], [3, 2, 4, 8], [1, 1, 1, 1]);
    let shape = [6, 3, 4, 10];
    let slice = StridedSlice::new(&begin, &end, &strides, masks)?;

    println!("{title}\n");
    println!("Input {shape:?}, begin {begin:?}, end {end:?}, strides {strides:?},");
    println!(
        "new_axis {:#06b}, shrink_axis {:#06b}, ellipsis {:#06b}",
        masks.new_axis, masks.shrink_axis, masks.ellipsis
    );

    println!("\nStep 1. What each entry is: the first of these masks that has its bit.\n");
    println!("  entry  ellipsis  new_axis  shrink  it is");
    for (entry, kind) in entries(&slice).into_iter().enumerate() {
        let bit = |mask: i32| mask >> entry & 1;
        let (ellipsis, new_axis, shrink) = (bit(masks.ellipsis), bit(masks.new_axis), bit(masks.shrink_axis));
        println!("  {entry:>5}  {ellipsis:>8}  {new_axis:>8}  {shrink:>6}  {kind}");
    }
    println!("\n  In Python's words: x{slice}");

    println!("\nStep 2. Which axis each takes, the ellipsis those that are left; ranges cut to their axes; sizes.\n");
    println!("  axis  length  begin  end  stride  gives");
    for axis in slice.resolve(shape)? {
        match axis {
            SlicedAxis::New => println!("  {:>4}  {:>6}  {:>5}  {:>3}  {:>6}  1, new", "", "", "", "", ""),
            SlicedAxis::Index { axis, index } => {
                println!("  {axis:>4}  {:>6}  {index:>5}  {:>3}  {:>6}  no axis", shape[axis], "", "");
            }
            SlicedAxis::Range { axis, begin, end, stride, len } => {
                println!("  {axis:>4}  {:>6}  {begin:>5}  {end:>3}  {stride:>6}  {len}", shape[axis]);
            }
        }
    }

    let elements: Vec<i32> = (0..).take(shape.iter().product()).collect();
    let x = Tensor::from_vec(shape, elements)?;
    let y = x.strided_slice(&slice)?;
    println!("\nStep 3. Where the elements lie. It is a view: nothing was copied.\n");
    println!("  shape    {}", y.shape());
    println!("  strides  {}", y.strides());
    println!("  offset   {}", y.layout().offset());

    println!("\nStep 4. The elements in order, here as runs of places in the input.\n");
    for (from, to) in runs(&y.to_vec()) {
        println!("  {from}..={to}");
    }
    Ok(())
}

/// What each entry of a slice is, in words.
fn entries(slice: &StridedSlice) -> Vec<String> {
    let text = slice.to_string();
    let entries = text.trim_matches(['[', ']']).split(", ");
    let words = |entry: &str| match entry {
        "..." => "the ellipsis".to_owned(),
        "None" => "a new axis".to_owned(),
        range if range.contains(':') => format!("the range {range}"),
        index => format!("element {index}"),
    };
    entries.map(words).collect()
}

/// First and last of each run of numbers that follow one another.
fn runs(numbers: &[i32]) -> Vec<(i32, i32)> {
    numbers.chunk_by(|a, b| a + 1 == *b).filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}
