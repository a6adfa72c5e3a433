//! What share of a copy's bandwidth the operations of `ragged-core` reach on long rows; a copy and
//! the operation run in turn, and the medians count.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo run --release -p kaldera-benches --bin ragged_shares -- 20 40 200     # megabytes of values
//! ```
//!
//! Bytes are those that an operation must touch: values, splits, ids and orders, each once. The
//! first share is of a copy of as many megabytes, which caches may hold; the second of rows in
//! random order by whole lines, which are what memory delivers; the last of a copy that no cache
//! holds.

use std::hint::black_box;
use std::iter::repeat_n;

use kaldera_benches::on_demand::seconds;
use kaldera_benches::ragged::{floats, long_rows, permutation, quarters};
use ragged_core::{Number, Ragged, RowSplits};

const ROUNDS: usize = 11;
const LINE: usize = 64;
/// Bytes that no cache holds.
const MEMORY: usize = 400_000_000;

fn main() {
    println!(
        "| MB | rows | operation | copy, ms | ms | share | of lines | of memory |\n|--:|---|---|--:|--:|--:|--:|--:|"
    );
    let memory = Copy::new(MEMORY).bytes_per_second();
    for megabytes in std::env::args().skip(1) {
        let bytes = megabytes.parse::<usize>().expect("megabytes") * 1_000_000;
        let mut copy = Copy::new(bytes);
        for rows in [Rows::Of(64), Rows::Of(128), Rows::Of(256), Rows::Long] {
            let mut table = Table { megabytes: &megabytes, rows, copy: &mut copy, memory };
            table.ids(bytes);
            table.reductions::<u8>("u8", bytes);
            table.reductions::<i32>("i32", bytes);
            table.reductions::<i64>("i64", bytes);
            table.reductions::<f32>("f32", bytes);
            table.reductions::<f64>("f64", bytes);
            table.gathers::<f32>("f32", bytes);
            table.gathers::<f64>("f64", bytes);
            table.cat(bytes);
        }
    }
}

#[derive(Clone, Copy)]
enum Rows {
    Of(usize),
    /// 64 and more, 128 in the mean.
    Long,
}

impl Rows {
    fn splits(self, elements: usize) -> RowSplits {
        match self {
            Self::Of(length) => RowSplits::from_lengths(repeat_n(length, elements / length)).unwrap(),
            Self::Long => long_rows(elements / 128),
        }
    }

    fn with_values<T: Number>(self, bytes: usize) -> Ragged<T> {
        floats(self.splits(bytes / size_of::<T>())).map(|x| (12.0 * (x.abs())).convert())
    }
}

/// Bytes in huge pages, from one place to another.
struct Copy {
    from: Ragged<u8>,
    to: Ragged<u8>,
}

impl Copy {
    fn new(bytes: usize) -> Self {
        let from = Rows::Of(bytes).with_values(bytes);
        Self { to: from.map(|&x| x), from }
    }

    fn seconds(&mut self) -> f64 {
        let to = self.to.values_mut();
        seconds(|| black_box(to).copy_from_slice(black_box(self.from.values())))
    }

    fn bytes_per_second(&mut self) -> f64 {
        let median = median((0..ROUNDS).map(|_| self.seconds()).collect());
        2.0 * self.from.num_elements() as f64 / median
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// What must be touched.
struct Bytes {
    once: usize,
    in_lines: Option<usize>,
}

struct Table<'a> {
    megabytes: &'a str,
    rows: Rows,
    copy: &'a mut Copy,
    /// Bytes per second that a copy reads and writes where no cache holds them.
    memory: f64,
}

impl Table<'_> {
    fn line<R>(&mut self, name: &str, bytes: Bytes, mut run: impl FnMut() -> R) {
        run();
        let mut times: [Vec<f64>; 2] = Default::default();
        for _ in 0..ROUNDS {
            times[0].push(self.copy.seconds());
            times[1].push(seconds(|| drop(black_box(run()))));
        }
        let [copy, ours] = times.map(median);
        let copied = 2.0 * self.copy.from.num_elements() as f64 / copy;
        let share_of = |bandwidth: f64, bytes: usize| format!("{:.0} %", 100.0 * bytes as f64 / ours / bandwidth);
        let share = |bytes| share_of(copied, bytes);
        let rows = match self.rows {
            Rows::Of(length) => format!("of {length}"),
            Rows::Long => "long".to_owned(),
        };
        let of_lines = bytes.in_lines.map(share).unwrap_or_default();
        let (megabytes, share, of_memory) = (self.megabytes, share(bytes.once), share_of(self.memory, bytes.once));
        let (copy, ours) = (1e3 * copy, 1e3 * ours);
        println!("| {megabytes} | {rows} | {name} | {copy:.2} | {ours:.2} | {share} | {of_lines} | {of_memory} |");
    }

    fn ids(&mut self, bytes: usize) {
        let splits = self.rows.splits(bytes / 4);
        let ids = splits.to_row_ids();
        let mut warm = ids.clone();
        let touched = || Bytes { once: 4 * (splits.num_rows() + ids.len()), in_lines: None };
        self.line("splits to ids", touched(), || splits.row_ids_into(&mut warm).unwrap());
        self.line("splits to ids, fresh memory", touched(), || splits.to_row_ids());
        self.line("ids to splits", touched(), || RowSplits::from_row_ids(&ids, splits.num_rows()).unwrap());
    }

    fn reductions<T: Number>(&mut self, name: &str, bytes: usize) {
        let ragged = self.rows.with_values::<T>(bytes);
        let (values, rows) = (size_of::<T>() * ragged.num_elements(), ragged.num_rows());
        let touched = |result: usize| Bytes { once: values + (4 + result) * rows, in_lines: None };
        let own = size_of::<T>();
        self.line(&format!("sum, {name}"), touched(own), || ragged.sum());
        self.line(&format!("max, {name}"), touched(own), || ragged.max_from(T::ZERO));
        self.line(&format!("min, {name}"), touched(own), || ragged.min_from(255_u8.convert()));
        self.line(&format!("argmax, {name}"), touched(4), || ragged.argmax_from(T::ZERO));
    }

    fn gathers<T: Number>(&mut self, name: &str, bytes: usize) {
        let ragged = self.rows.with_values::<T>(bytes);
        let rows = ragged.num_rows();
        let order = permutation(rows);
        let mut selected = ragged.select(0, &order).unwrap();
        let start = ragged.values().as_ptr().addr() % LINE;
        let lines = |row: std::ops::Range<usize>| {
            let [first, behind] = [row.start, row.end].map(|at| start + at * size_of::<T>());
            behind.div_ceil(LINE) - first / LINE
        };
        let read_in_lines = ragged.shape().row_splits(1).rows().map(lines).sum::<usize>() * LINE;
        let once = size_of::<T>() * ragged.num_elements();
        // The order, the new splits, and both ends of each row.
        let places = 16 * rows;
        let touched = Bytes { once: 2 * once + places, in_lines: Some(once + read_in_lines + places) };
        self.line(&format!("select all rows in random order, {name}"), touched, || {
            ragged.select_into(0, &order, &mut selected).unwrap();
        });
    }

    fn cat(&mut self, bytes: usize) {
        let ragged = self.rows.with_values::<f32>(bytes);
        let quarters = quarters(&ragged);
        let touched = || Bytes { once: 8 * (ragged.num_elements() + ragged.num_rows()), in_lines: None };
        let mut joined = Ragged::cat(0, &quarters).unwrap();
        self.line("cat of four, f32", touched(), || Ragged::cat_into(0, &quarters, &mut joined).unwrap());
        self.line("cat of four, f32, fresh memory", touched(), || Ragged::cat(0, &quarters).unwrap());
    }
}
