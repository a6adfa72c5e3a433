//! Does one operation on demand, for `benches/peers/k2_ragged.py`, which looks at the clock.
//!
//! `ragged_cases write FOLDER` writes the data for the peers. Without arguments it reads lines and
//! answers each with one: `prepare NAME` makes the input of a case, `-` if there is none of this
//! name; `run` does it once; `look` does it too, and says what came out, in three numbers.

use std::hint::black_box;
use std::io::{BufRead, Result, Write, stdin, stdout};
use std::path::Path;

use kaldera_benches::ragged::{floats, integers, permutation, quarters, repeated, short_rows};
use ragged_core::{
    Number, Order, PadMode, PadSide, Ragged, RaggedShape, RowSplits, index_add, index_and_sum, index_select,
    index_tensor_ragged,
};

const ROWS: usize = 500_000;
const ROWS_OF_IDS: usize = 1_000_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => serve(),
        [write, folder] if write == "write" => write_data(Path::new(folder)),
        _ => panic!("write FOLDER, or nothing"),
    }
}

fn serve() -> Result<()> {
    let mut kept: Option<(String, Box<dyn Case>)> = None;
    for line in stdin().lock().lines() {
        let line = line?;
        let answer = match (line.strip_prefix("prepare "), &mut kept) {
            (Some(name), _) => {
                if kept.as_ref().is_none_or(|(old, _)| old != name) {
                    drop(kept.take());
                    kept = case(name).map(|case| (name.to_owned(), case));
                }
                kept.as_mut()
                    .map_or("-", |(_, case)| {
                        case.prepare();
                        "ready"
                    })
                    .to_owned()
            }
            (None, Some((_, case))) if line == "run" => {
                case.run();
                "done".to_owned()
            }
            (None, Some((_, case))) if line == "look" => case.look().iter().map(|x| format!("{x:e} ")).collect(),
            _ => break,
        };
        println!("{answer}");
        stdout().flush()?;
    }
    Ok(())
}

/// An operation, whose input is made before the clock is looked at.
trait Case {
    fn prepare(&mut self);
    fn run(&mut self);
    fn look(&mut self) -> [f64; 3];
}

struct Operation<I, P, R> {
    input: Option<I>,
    prepare: P,
    run: R,
}

impl<I, O: Outcome, P: FnMut() -> I, R: FnMut(&mut I) -> O> Case for Operation<I, P, R> {
    fn prepare(&mut self) {
        self.input = None;
        self.input = Some((self.prepare)());
    }
    fn run(&mut self) {
        drop(black_box((self.run)(self.input.as_mut().expect("prepared"))));
    }
    fn look(&mut self) -> [f64; 3] {
        (self.run)(self.input.as_mut().expect("prepared")).digest()
    }
}

/// An operation that needs a fresh input each time.
fn fresh<I: 'static, O: Outcome>(
    prepare: impl FnMut() -> I + 'static,
    run: impl FnMut(&mut I) -> O + 'static,
) -> Option<Box<dyn Case>> {
    Some(Box::new(Operation { input: None, prepare, run }))
}

/// An operation on what stays as it is.
fn fixed<I: 'static, O: Outcome>(input: I, mut run: impl FnMut(&I) -> O + 'static) -> Option<Box<dyn Case>> {
    fresh(|| (), move |_| run(&input))
}

fn case(name: &str) -> Option<Box<dyn Case>> {
    let short = || floats(short_rows(ROWS));
    match name {
        "splits -> ids" => fixed(short_rows(ROWS_OF_IDS), |splits| splits.to_row_ids()),
        "splits -> ids, warm memory" => {
            let splits = short_rows(ROWS_OF_IDS);
            let mut ids = splits.to_row_ids();
            fixed((), move |()| splits.row_ids_into(&mut ids).unwrap())
        }
        "ids -> splits" => {
            fixed(short_rows(ROWS_OF_IDS).to_row_ids(), |ids| RowSplits::from_row_ids(ids, ROWS_OF_IDS).unwrap())
        }
        "sum" => fixed(short(), |x| x.sum()),
        "max" => fixed(short(), |x| x.max()),
        "min" => fixed(short(), |x| x.min()),
        "argmax" => fixed(short(), |x| x.argmax()),
        "logsumexp" => fixed(short(), |x| x.logsumexp()),
        "normalize (log)" => fixed(short(), |x| x.normalize_log()),
        "normalize (linear)" => fixed(short(), |x| x.normalize_linear()),
        "sum, i32" => fixed(integers(&short()), |x| x.sum()),
        "sort" => {
            let all = short();
            fresh(
                move || copy_of(&all),
                |x| {
                    x.sort(Order::Ascending);
                    x.clone()
                },
            )
        }
        "sort, with map" => {
            let all = short();
            fresh(move || copy_of(&all), |x| x.sort_with_map(Order::Ascending))
        }
        "index by all rows" => fixed(short(), {
            let order = permutation(ROWS);
            move |x| x.select(0, &order).unwrap()
        }),
        "index by all rows, with map" => fixed(short(), {
            let order = permutation(ROWS);
            move |x| x.index(0, &order).unwrap()
        }),
        "unique, lists that differ" => fixed(integers(&short()), |x| Lists(x.unique().rows)),
        "unique, lists that repeat" => fixed(repeated(&integers(&short())), |x| Lists(x.unique().rows)),
        "remove_values_leq" => fixed(short(), |x| x.remove_values_leq(0.0)),
        "remove_values_eq" => fixed(integers(&short()), |x| x.remove_values_eq(0)),
        "cat of four, axis 0" => fixed(quarters(&short()), |x| Ragged::cat(0, x).unwrap()),
        "cat of four, axis 1" => fixed(quarters(&short()), |x| Ragged::cat(1, x).unwrap()),
        "pad" => fixed(short(), |x| x.pad(PadMode::Constant, PadSide::Right, 0.0).unwrap().into_values()),
        "pad, warm memory" => {
            let all = short();
            let (rows, columns) = all.padded_size().unwrap();
            let mut out = vec![0.0; rows * columns];
            fixed((), move |()| all.pad_into(PadMode::Constant, PadSide::Right, 0.0, &mut out).unwrap())
        }
        "add per list" => fixed(short(), {
            let per_list: Vec<f32> = permutation(ROWS).into_iter().map(|i| i as f32).collect();
            move |x| x.add(&per_list, 0.5).unwrap()
        }),
        "index_select" => fixed(short(), {
            let places = places();
            move |x| index_select(x.values(), places.values(), 0.0).unwrap()
        }),
        "index_add" => fixed(short(), {
            let places = places();
            move |x| {
                let mut out = vec![0.0; x.num_elements()];
                index_add(places.values(), x.values(), &mut out).unwrap();
                out
            }
        }),
        "ragged.index of a tensor" => fixed(short(), {
            let places = places();
            move |x| index_tensor_ragged(x.values(), &places, 0.0).unwrap()
        }),
        "index_and_sum" => fixed(short(), {
            let places = places();
            move |x| index_and_sum(x.values(), &places).unwrap()
        }),
        _ => None,
    }
}

/// The numbers of all values, in a random order.
fn places() -> Ragged<i32> {
    let rows = short_rows(ROWS);
    let order = permutation(rows.num_elements());
    Ragged::new(RaggedShape::new([rows]).unwrap(), order).unwrap().map(|&i| i)
}

/// With values of its own.
fn copy_of(x: &Ragged<f32>) -> Ragged<f32> {
    let mut copy = x.clone();
    copy.values_mut();
    copy
}

fn write_data(folder: &Path) -> Result<()> {
    fn bytes<T: Copy, const N: usize>(numbers: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        numbers.iter().flat_map(|&x| of(x)).collect()
    }
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.join(name), bytes);
    let write_i32 = |name: &str, numbers: &[i32]| write(name, bytes(numbers, i32::to_le_bytes));
    let short = floats(short_rows(ROWS));
    let repeated = repeated(&integers(&short));
    write_i32("splits_of_ids", short_rows(ROWS_OF_IDS).as_ref())?;
    write_i32("splits", short.shape().last_splits().as_ref())?;
    write("values", bytes(short.values(), f32::to_le_bytes))?;
    write_i32("integers", integers(&short).values())?;
    write_i32("repeated_splits", repeated.shape().last_splits().as_ref())?;
    write_i32("repeated", repeated.values())?;
    write_i32("order", &permutation(ROWS))?;
    write_i32("places", places().values())
}

/// What comes out, in few numbers, so that it can be told from something else.
trait Outcome {
    fn digest(&self) -> [f64; 3];
}

impl Outcome for () {
    fn digest(&self) -> [f64; 3] {
        [0.0; 3]
    }
}

impl Outcome for RowSplits {
    fn digest(&self) -> [f64; 3] {
        digest(self.as_ref())
    }
}

impl<T: Number> Outcome for Vec<T> {
    fn digest(&self) -> [f64; 3] {
        digest(self)
    }
}

impl<T: Number> Outcome for Ragged<T> {
    fn digest(&self) -> [f64; 3] {
        digest(self.values())
    }
}

impl<T: Number> Outcome for (Ragged<T>, Vec<i32>) {
    fn digest(&self) -> [f64; 3] {
        digest(&self.1)
    }
}

/// Lists in any order.
struct Lists(Ragged<i32>);

impl Outcome for Lists {
    fn digest(&self) -> [f64; 3] {
        let sum = self.0.values().iter().map(|&x| f64::from(x)).sum();
        [self.0.num_rows() as f64, sum, self.0.num_elements() as f64]
    }
}

/// How many numbers there are, the sum of those that are of some use times something that tells
/// places apart, and the same of their absolute values.
fn digest<T: Number>(numbers: &[T]) -> [f64; 3] {
    let numbers = (0..).zip(numbers).map(|(i, x)| (f64::from(i % 1000), x.convert::<f64>()));
    let mut sums = [0.0; 3];
    for (weight, x) in numbers {
        sums[0] += 1.0;
        if x.abs() < 1e30 {
            sums[1] += weight * x;
            sums[2] += weight * x.abs();
        }
    }
    sums
}
