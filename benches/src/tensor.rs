//! What is measured of `tensor-strided`, under the names that `benches/peers/tensor.py` has for the
//! same work by others.

use std::hint::black_box;

use kaldera::tensor::{
    Grid, IndexSpec, Layout, Mode, NewAxis, Order, StridedSlice, Tensor, TensorView, TensorViewMut, ix,
};

/// The input of the large cases: 256 MiB of `f32`.
pub const LARGE: [usize; 3] = [512, 512, 256];

/// Something to be measured.
pub struct Case {
    /// Says what in NumPy's words.
    pub name: String,
    /// Useful bytes: of the elements that must be read and written.
    pub bytes: usize,
    /// Does it this many times.
    pub run: Box<dyn FnMut(usize)>,
}

impl Case {
    fn new(name: impl Into<String>, bytes: usize, mut once: impl FnMut() + 'static) -> Self {
        let run = move |times| (0..times).for_each(|_| once());
        Self { name: name.into(), bytes, run: Box::new(run) }
    }
}

/// Memory that has been written to before, in large pages where there are any.
fn warm(len: usize) -> Vec<f32> {
    let zero = Tensor::scalar(0.0_f32);
    zero.broadcast_to([len]).expect("one becomes many").to_vec()
}

fn input() -> Tensor<f32> {
    Tensor::from_vec(LARGE, warm(LARGE.iter().product())).expect("as many")
}

fn contiguous(shape: &[usize]) -> Layout {
    Layout::contiguous(shape).expect("a shape that exists")
}

/// Copies a view of the large input to `out`.
fn copy_to(view: &TensorView<'_, f32>, out: &mut [f32]) {
    let layout = contiguous(view.shape());
    let mut out = TensorViewMut::new(&mut out[..layout.len()], layout).expect("room for all");
    view.copy_into(&mut out).expect("the same shape");
}

/// The large case of this name, if there is one: into warm memory but for `fresh`. Its memory comes
/// with the first run.
pub fn large(name: &str) -> Option<Case> {
    let elements: usize = LARGE.iter().product();
    let input_layout = contiguous(&LARGE);
    if name == "memcpy" {
        let mut memory = None;
        return Some(Case::new(name, 8 * elements, move || {
            let (from, to) = memory.get_or_insert_with(|| (warm(elements), warm(elements)));
            black_box(to).copy_from_slice(black_box(from));
        }));
    }
    if let Some(text) = name.strip_prefix("grad ") {
        let slice = StridedSlice::from_index(IndexSpec::parse(text).ok()?).ok()?;
        let layout = input_layout.strided_slice(&slice).ok()?;
        let mut memory = None;
        return Some(Case::new(name, 4 * (elements + layout.len()), move || {
            let (dy, out) = memory.get_or_insert_with(|| (warm(layout.len()), warm(elements)));
            let dy = TensorView::new(dy, contiguous(layout.shape())).expect("as many");
            let mut out = TensorViewMut::new(out, contiguous(&LARGE)).expect("room for all");
            dy.strided_slice_grad_into(&slice, &mut out).expect("the shape of the slice");
        }));
    }
    if let Some(text) = name.strip_prefix("fresh ") {
        let index = IndexSpec::parse(text).ok()?;
        let bytes = 8 * input_layout.index(&index).ok()?.len();
        let mut x = None;
        return Some(Case::new(name, bytes, move || {
            black_box(x.get_or_insert_with(input).index(&index).expect("in range").to_contiguous());
        }));
    }
    if let Some(axes) = name.strip_prefix("transpose ") {
        let axes: Vec<isize> = axes.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        let mut memory = None;
        return Some(Case::new(name, 8 * elements, move || {
            let (x, out) = memory.get_or_insert_with(|| (input(), warm(elements)));
            copy_to(&x.permute(&axes).expect("three axes"), out);
        }));
    }
    let index = IndexSpec::parse(name).ok()?;
    let bytes = 8 * input_layout.index(&index).ok()?.len();
    let mut memory = None;
    Some(Case::new(name, bytes, move || {
        let (x, out) = memory.get_or_insert_with(|| (input(), warm(elements)));
        copy_to(&x.index(&index).expect("in range"), out);
    }))
}

/// The small cases, each a few nanoseconds to microseconds: what is done to each tensor, not to
/// each element.
pub fn small(name: &str) -> Option<Case> {
    let x = Tensor::full([6, 3, 4, 10], 1.0_f32).ok()?;
    let front = ix![NewAxis, 0..2, 2];
    let slice = StridedSlice::from_index(front).ok()?;
    let mut out = vec![0.0_f32; 80];
    let mut half = vec![0.0_f32; 180];
    Some(match name {
        "view x[None, 0:2, 2]" => Case::new(name, 0, move || {
            black_box(black_box(&x).strided_slice(black_box(&slice)).expect("in range"));
        }),
        "spec and view x[None, 0:2, 2]" => Case::new(name, 0, move || {
            black_box(black_box(&x).index(black_box(ix![NewAxis, 0..2, 2])).expect("in range"));
        }),
        "copy x[None, 0:2, 2]" => Case::new(name, 640, move || {
            black_box(black_box(&x).strided_slice(black_box(&slice)).expect("in range").to_contiguous());
        }),
        "copy into x[None, 0:2, 2]" => Case::new(name, 640, move || {
            let view = black_box(&x).strided_slice(black_box(&slice)).expect("in range");
            copy_to(&view, black_box(&mut out));
        }),
        "copy x[::2, :, ::-1, ::2]" => Case::new(name, 1440, move || {
            black_box(black_box(&x).index(black_box(ix![..;2, .., ..;-1, ..;2])).expect("in range").to_contiguous());
        }),
        "copy into x[::2, :, ::-1, ::2]" => Case::new(name, 1440, move || {
            let view = black_box(&x).index(black_box(ix![..;2, .., ..;-1, ..;2])).expect("in range");
            copy_to(&view, black_box(&mut half));
        }),
        _ => return None,
    })
}

/// How many coordinates the cases of [`coordinates`] take at once.
pub const COORDINATES: usize = 10_000_000;

/// Between offsets and coordinates, ten million at once, rank 3.
pub fn coordinates(name: &str) -> Option<Case> {
    let grid = Grid::new(LARGE, Order::C).ok()?;
    let len = grid.len() as u64;
    let offsets: Vec<i64> =
        (0..COORDINATES as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % len) as i64).collect();
    let mut coordinates = vec![0_usize; 3 * COORDINATES];
    grid.coordinates_into(&offsets, &mut coordinates).ok()?;
    Some(match name {
        "offsets to coordinates" => Case::new(name, 32 * COORDINATES, move || {
            grid.coordinates_into(black_box(&offsets), black_box(&mut coordinates)).expect("in range");
        }),
        "coordinates to offsets" => {
            let coordinates: Vec<i64> = coordinates.iter().map(|&entry| entry as i64).collect();
            let mut offsets = vec![0_usize; COORDINATES];
            Case::new(name, 32 * COORDINATES, move || {
                grid.offsets_into(black_box(&coordinates), Mode::Raise, black_box(&mut offsets)).expect("in range");
            })
        }
        _ => return None,
    })
}
