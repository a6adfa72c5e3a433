//! What is measured of recurrent networks, and the mini-batch that it is measured on.

use kaldera::lod::{Lod, LodTensor};
use kaldera::recurrent::train::uniform;
use kaldera::recurrent::weights::{ParameterStore, TorchCell};
use kaldera::recurrent::{Error, Gru, GruOptions, Lstm, LstmOptions, Stack, StackOutput, State};

/// 64 utterances, 38,054 frames: log-normal lengths as speech has them. Padded to 1470 they are
/// 2.47 times as many; at 682 of the 1470 steps at most 8 are left.
pub const LENGTHS: [usize; 64] = [
    995, 534, 389, 1029, 665, 788, 594, 1129, 299, 211, 317, 462, 686, 541, 432, 416, 697, 447, 469, 586, 627, 967,
    424, 407, 1135, 764, 749, 619, 369, 709, 380, 275, 1470, 1071, 505, 358, 333, 563, 519, 346, 491, 722, 578, 602,
    498, 574, 645, 636, 610, 398, 781, 477, 484, 655, 526, 455, 548, 512, 735, 440, 943, 555, 675, 238,
];

/// Frames of 80 features.
pub const INPUT: usize = 80;
/// Hidden units of every layer.
pub const HIDDEN: usize = 512;

/// The mini-batch with rows of `width` numbers evenly between -1 and 1.
pub fn batch(lengths: &[usize], width: usize) -> LodTensor<f32> {
    let rows = lengths.iter().sum();
    let mut store = ParameterStore::<f32>::new();
    let fits = store.insert("batch", &[rows, width], vec![0.0; rows * width]);
    fits.unwrap_or_else(|error| unreachable!("a value for each place: {error}"));
    uniform(&mut store, 1.0, 1);
    let (_, values) = store.get("batch").unwrap_or_else(|error| unreachable!("it has just been put there: {error}"));
    let lod = Lod::from_lengths(&[lengths]).unwrap_or_else(|error| unreachable!("lengths of speech: {error}"));
    LodTensor::from_vec([rows, width], values.to_vec(), lod)
        .unwrap_or_else(|error| unreachable!("as many rows: {error}"))
}

/// Layers with PyTorch's initial weights, `INPUT` to `HIDDEN` to `HIDDEN`.
pub fn stack<C: TorchCell<f32>>(layers: usize, options: C::Options) -> Stack<C> {
    let mut store = ParameterStore::new();
    let rows = C::GATES * HIDDEN;
    for layer in 0..layers {
        let input = if layer == 0 { INPUT } else { HIDDEN };
        let shapes = [
            ("weight_ih", vec![rows, input]),
            ("weight_hh", vec![rows, HIDDEN]),
            ("bias_ih", vec![rows]),
            ("bias_hh", vec![rows]),
        ];
        for (name, shape) in shapes {
            let fits = store.insert(&format!("{name}_l{layer}"), &shape, vec![0.0; shape.iter().product()]);
            fits.unwrap_or_else(|error| unreachable!("a value for each place: {error}"));
        }
    }
    uniform(&mut store, 1.0 / (HIDDEN as f64).sqrt(), 2);
    Stack::from_torch(&store, "", options).unwrap_or_else(|error| unreachable!("weights that fit: {error}"))
}

/// Something to be measured: once more at each call.
pub type Case = Box<dyn FnMut()>;

/// The case of a name, such as `lstm 1 forward`, `gru 2 forward+backward`, `lstm 1 forward+backward
/// equal`; `None` for another. `gru 1 stream` is a hundred calls of ten rows of one sequence; `gru
/// 1 stream-anew` packs the weights at each.
pub fn case(name: &str) -> Option<Case> {
    let words: Vec<&str> = name.split(' ').collect();
    let lengths = match words.get(3) {
        None => &LENGTHS[..],
        Some(&"equal") => &[50; 64],
        Some(_) => return None,
    };
    let layers: usize = words.get(1)?.parse().ok().filter(|layers| (1..=8).contains(layers))?;
    match *words.first()? {
        "lstm" => pass(stack::<Lstm<f32>>(layers, LstmOptions::default()), lengths, words.get(2)?),
        "gru" => pass(stack::<Gru<f32>>(layers, GruOptions::default()), lengths, words.get(2)?),
        _ => None,
    }
}

/// Each with the state that the one before ended with.
fn hundred_calls(call: impl Fn(&[State<f32>]) -> Result<StackOutput<f32>, Error>) {
    let mut state = Vec::new();
    for _ in 0..100 {
        state = call(&state).unwrap_or_else(|error| unreachable!("all fits: {error}")).last;
    }
    std::hint::black_box(state);
}

fn pass<C: TorchCell<f32> + 'static>(stack: Stack<C>, lengths: &[usize], kind: &str) -> Option<Case> {
    let x = batch(lengths, INPUT);
    let rows = batch(&[10], INPUT);
    match kind {
        "stream" => {
            let prepared = stack.prepare().unwrap_or_else(|error| unreachable!("weights that fit: {error}"));
            Some(Box::new(move || hundred_calls(|state| prepared.run(&rows, state))))
        }
        "stream-anew" => Some(Box::new(move || hundred_calls(|state| stack.run(&rows, state)))),
        "forward" => Some(Box::new(move || {
            let out = stack.run(&x, &[]).unwrap_or_else(|error| unreachable!("all fits: {error}"));
            std::hint::black_box(out.y.values()[0]);
        })),
        "forward+backward" => {
            let grad = batch(lengths, HIDDEN);
            Some(Box::new(move || {
                let (_, saved) = stack.forward(&x, &[], None).unwrap_or_else(|error| unreachable!("all fits: {error}"));
                let grads = saved.backward(Some(&grad), &[]).unwrap_or_else(|error| unreachable!("all fits: {error}"));
                std::hint::black_box(grads.x.values()[0]);
            }))
        }
        _ => None,
    }
}
