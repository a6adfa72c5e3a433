//! ndarray does the cases of `tensor.py`: reads lines `TIMES NAME`, answers each with the seconds
//! that doing it so often took.
//!
//! Arrays have a rank that is known at run time, as in the other programs. Its negative steps mean
//! something else than Python's: the range is cut first and then reversed, so that `::-1` is the
//! same and so is `::-2` from the other end, which is not used here.

use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use ndarray::{ArrayD, ArrayViewMutD, IxDyn, Slice, SliceInfo, SliceInfoElem};

const LARGE: [usize; 3] = [512, 512, 256];

type Spec = SliceInfo<Vec<SliceInfoElem>, IxDyn, IxDyn>;
type Run = Box<dyn FnMut(usize)>;

fn repeat(mut once: impl FnMut() + 'static) -> Run {
    Box::new(move |times| (0..times).for_each(|_| once()))
}

/// What Python has between brackets: an entry for each axis, and `None`.
fn parse(text: &str) -> Option<Spec> {
    let entries = text.strip_prefix('[')?.strip_suffix(']')?;
    let entry = |entry: &str| {
        let entry = entry.trim();
        if entry == "None" {
            return Some(SliceInfoElem::NewAxis);
        }
        let mut numbers = entry.split(':').map(|number| number.parse::<isize>().ok());
        match (entry.contains(':'), numbers.next()?, numbers.next().flatten(), numbers.next().flatten()) {
            (false, index, ..) => Some(SliceInfoElem::Index(index?)),
            (true, start, end, step) => {
                Some(SliceInfoElem::from(Slice { start: start.unwrap_or(0), end, step: step.unwrap_or(1) }))
            }
        }
    };
    let mut entries: Vec<_> = entries.split(',').map(entry).collect::<Option<_>>()?;
    let taken = entries.iter().filter(|entry| !matches!(entry, SliceInfoElem::NewAxis)).count();
    entries.extend((taken..3).map(|_| SliceInfoElem::from(Slice::from(..))));
    Spec::try_from(entries).ok()
}

fn case(name: &str) -> Option<Run> {
    let elements: usize = LARGE.iter().product();
    let warm = |len: usize| (0..len).map(|i| i as f32).collect::<Vec<_>>();
    let input = || ArrayD::from_shape_vec(IxDyn(&LARGE), warm(elements)).expect("as many");
    if name == "memcpy" {
        let (from, mut to) = (warm(elements), warm(elements));
        return Some(repeat(move || black_box(&mut to).copy_from_slice(black_box(&from))));
    }
    if name.contains(" x[") {
        return small(name);
    }
    if let Some(text) = name.strip_prefix("fresh ") {
        let (spec, x) = (parse(text)?, input());
        return Some(repeat(move || drop(black_box(x.slice(spec.as_ref()).to_owned()))));
    }
    if let Some(text) = name.strip_prefix("grad ") {
        let (spec, mut dx) = (parse(text)?, input());
        let dy = ArrayD::from_elem(dx.slice(spec.as_ref()).shape(), 1.0);
        return Some(repeat(move || {
            dx.fill(0.0);
            dx.slice_mut(spec.as_ref()).assign(&dy);
        }));
    }
    if let Some(axes) = name.strip_prefix("transpose ") {
        let axes: Vec<usize> = axes.split(',').map(|axis| axis.parse().ok()).collect::<Option<_>>()?;
        let (x, mut out) = (input(), warm(elements));
        return Some(repeat(move || {
            let view = x.view().permuted_axes(IxDyn(&axes));
            ArrayViewMutD::from_shape(view.raw_dim(), &mut out).expect("as many").assign(&view);
        }));
    }
    let spec = parse(name)?;
    let (x, mut out) = (input(), warm(elements));
    Some(repeat(move || {
        let view = x.slice(spec.as_ref());
        ArrayViewMutD::from_shape(view.raw_dim(), &mut out[..view.len()]).expect("as many").assign(&view);
    }))
}

/// On an array [6, 3, 4, 10].
fn small(name: &str) -> Option<Run> {
    let x = ArrayD::from_elem(IxDyn(&[6, 3, 4, 10]), 1.0_f32);
    let all = || SliceInfoElem::from(Slice::from(..));
    let front = vec![SliceInfoElem::NewAxis, SliceInfoElem::from(Slice::from(0..2)), SliceInfoElem::Index(2), all(), all()];
    let step = |step| SliceInfoElem::from(Slice { start: 0, end: None, step });
    let steps = vec![step(2), all(), step(-1), step(2)];
    let spec = |entries: &Vec<SliceInfoElem>| Spec::try_from(entries.clone()).expect("entries that fit");
    let (front_spec, steps_spec) = (spec(&front), spec(&steps));
    let (mut out, mut half) = (vec![0.0_f32; 80], vec![0.0_f32; 180]);
    Some(match name {
        "view x[None, 0:2, 2]" => repeat(move || {
            black_box(black_box(&x).slice(black_box(&front_spec).as_ref()));
        }),
        "copy x[None, 0:2, 2]" => repeat(move || {
            black_box(black_box(&x).slice(black_box(&front_spec).as_ref()).to_owned());
        }),
        "copy into x[None, 0:2, 2]" => repeat(move || {
            let view = black_box(&x).slice(black_box(&front_spec).as_ref());
            ArrayViewMutD::from_shape(view.raw_dim(), black_box(&mut out)).expect("as many").assign(&view);
        }),
        "copy x[::2, :, ::-1, ::2]" => repeat(move || {
            black_box(black_box(&x).slice(black_box(&steps_spec).as_ref()).to_owned());
        }),
        "copy into x[::2, :, ::-1, ::2]" => repeat(move || {
            let view = black_box(&x).slice(black_box(&steps_spec).as_ref());
            ArrayViewMutD::from_shape(view.raw_dim(), black_box(&mut half)).expect("as many").assign(&view);
        }),
        _ => return None,
    })
}

fn main() -> std::io::Result<()> {
    let mut kept: Option<(String, Run)> = None;
    for line in stdin().lock().lines() {
        let line = line?;
        let Some((Ok(times), name)) = line.split_once(' ').map(|(times, name)| (times.parse(), name)) else { break };
        if kept.as_ref().is_none_or(|(kept, _)| kept != name) {
            drop(kept.take());
            kept = case(name).map(|run| (name.to_owned(), run));
        }
        match &mut kept {
            Some((_, run)) => {
                let start = Instant::now();
                run(times);
                println!("{}", start.elapsed().as_secs_f64());
            }
            None => println!("-"),
        }
        stdout().flush()?;
    }
    Ok(())
}
