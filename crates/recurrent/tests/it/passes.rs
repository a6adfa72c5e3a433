//! Whole passes beside passes in pieces: one sequence at a time, one window of time at a time, on
//! one thread and on several.

use kaldera_base::Real;
use lod::{Lod, LodTensor};
use proptest::prelude::*;
use recurrent::{
    Cell, Direction, Error, Gradients, Gru, Lstm, LstmWeights, Matrix, OutputGradients, Parameters, Reset, Rnn, Saved,
    Stack, State, time_window, with_static_input, with_static_input_backward,
};

use crate::common::{Numbers, dot};

/// The gradients of a random loss of the outputs of a pass.
fn gradients<T: Real, C: Cell<T>>(
    cell: &C,
    x: &LodTensor<T>,
    direction: Direction,
    initial: &State<T>,
    y: &LodTensor<T>,
    last: &State<T>,
) -> Gradients<T, C::Weights> {
    let (_, saved) = cell.forward(x, direction, Some(initial)).unwrap();
    saved.backward(OutputGradients { y: Some(y), last: Some(last), cells: None }).unwrap()
}

fn part<T: Real>(state: &State<T>, sequence: usize) -> State<T> {
    let row = |x: &LodTensor<T>| x.like(1, x.row(sequence).to_vec(), Lod::none()).unwrap();
    State { h: row(&state.h), c: row(&state.c) }
}

/// Sums in another order than those of the whole: as many roundings as terms, at the most.
fn close<T: Real>(what: &str, a: &[T], b: &[T], terms: usize) {
    assert_eq!(a.len(), b.len(), "{what}");
    let size = b.iter().map(|x| x.abs().to_f64()).fold(1.0, f64::max);
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let error = (a.to_f64() - b.to_f64()).abs();
        assert!(error <= 8.0 * (terms + 8) as f64 * T::EPSILON.to_f64() * size, "{what}[{i}]: {a} for {b}");
    }
}

fn check_alone<T: Real, C: Cell<T>>(mut cell: C, lengths: &[usize], direction: Direction, seed: u64) {
    let mut numbers = Numbers::new(seed);
    let (outputs, cells) = (cell.output_size(), cell.cell_size());
    numbers.fill(cell.weights_mut(), outputs.max(cells));
    let x: LodTensor<T> = numbers.tensor(lengths, cell.input_size());
    let initial = numbers.state(lengths.len(), outputs, cells);
    let whole = cell.run(&x, direction, Some(&initial)).unwrap();
    assert!(whole.y.lod().ptr_eq(x.lod()));
    let (y, last) = (numbers.like(&whole.y), numbers.state(lengths.len(), outputs, cells));
    let by_whole = gradients(&cell, &x, direction, &initial, &y, &last);

    let mut by_weights = cell.weights().clone();
    by_weights.visit_mut(&mut |_, _, values| values.fill(T::ZERO));
    for sequence in 0..lengths.len() {
        let piece = |tensor: &LodTensor<T>| tensor.lod_slice(0, sequence..sequence + 1).unwrap();
        let alone = cell.run(&piece(&x), direction, Some(&part(&initial, sequence))).unwrap();
        // To the last bit: what stands beside a row does not count.
        assert_eq!(alone.y.values(), piece(&whole.y).values());
        assert_eq!(alone.last.h.values(), part(&whole.last, sequence).h.values());
        assert_eq!(alone.last.c.values(), part(&whole.last, sequence).c.values());
        let (initial, last) = (part(&initial, sequence), part(&last, sequence));
        let by_alone = gradients(&cell, &piece(&x), direction, &initial, &piece(&y), &last);
        let terms = 4 * outputs.max(cells) + lengths.iter().sum::<usize>();
        close("x", by_alone.x.values(), piece(&by_whole.x).values(), terms);
        assert_eq!(by_alone.initial.h.values(), part(&by_whole.initial, sequence).h.values());
        assert_eq!(by_alone.initial.c.values(), part(&by_whole.initial, sequence).c.values());
        for (sum, part) in by_weights.named_mut().into_iter().zip(by_alone.weights.named()) {
            sum.values.iter_mut().zip(part.values).for_each(|(sum, &part)| *sum += part);
        }
    }
    for (sum, whole) in by_weights.named().into_iter().zip(by_whole.weights.named()) {
        close(&sum.name, sum.values, whole.values, lengths.iter().sum::<usize>() + lengths.len());
    }
}

fn directions() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Forward), Just(Direction::Reverse)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn batched_sequence_equals_single_sequence(
        lengths in prop::collection::vec(0_usize..9, 1..12),
        (inputs, hidden) in (1_usize..6, 1_usize..40),
        direction in directions(),
        seed in any::<u64>(),
    ) {
        check_alone::<f32, _>(Rnn::zeros(inputs, hidden), &lengths, direction, seed);
        check_alone::<f32, _>(Lstm::zeros(inputs, hidden), &lengths, direction, seed);
        let mut lstm = Lstm::zeros(inputs, hidden);
        lstm.weights = LstmWeights::zeros_projected(inputs, hidden, 1 + hidden / 2);
        lstm.weights.peepholes = Some(Matrix::zeros(3, hidden));
        check_alone::<f64, _>(lstm, &lengths, direction, seed);
        check_alone::<f32, _>(Gru::zeros(inputs, hidden), &lengths, direction, seed);
        let mut gru = Gru::zeros(inputs, hidden);
        gru.options.reset = Reset::Before;
        gru.weights.bias_hn = None;
        check_alone::<f64, _>(gru, &lengths, direction, seed);
    }

    #[test]
    fn time_windows_equal_one_pass(
        lengths in prop::collection::vec(0_usize..12, 1..8),
        window in 1_usize..5,
        seed in any::<u64>(),
    ) {
        let mut numbers = Numbers::new(seed);
        let mut cell = Lstm::<f32>::zeros(3, 20);
        numbers.fill(&mut cell.weights, 20);
        let x: LodTensor<f32> = numbers.tensor(&lengths, 3);
        let initial = numbers.state(lengths.len(), 20, 20);
        let whole = cell.run(&x, Direction::Forward, Some(&initial)).unwrap();
        let (y, last) = (numbers.like(&whole.y), numbers.state(lengths.len(), 20, 20));
        let by_whole = gradients(&cell, &x, Direction::Forward, &initial, &y, &last);

        let (mut state, mut saved) = (initial, Vec::new());
        for begin in (0..12).step_by(window) {
            let steps = begin..begin + window;
            let (out, way_back) = cell.forward(&time_window(&x, steps.clone()).unwrap(), Direction::Forward, Some(&state)).unwrap();
            prop_assert_eq!(&out.y, &time_window(&whole.y, steps.clone()).unwrap());
            state = out.last;
            saved.push((steps, way_back));
        }
        prop_assert_eq!(state.h.values(), whole.last.h.values());
        prop_assert_eq!(state.c.values(), whole.last.c.values());
        let mut state = last;
        for (steps, way_back) in saved.into_iter().rev() {
            let y = time_window(&y, steps).unwrap();
            state = way_back.backward(OutputGradients { y: Some(&y), last: Some(&state), cells: None }).unwrap().initial;
        }
        prop_assert_eq!(state.h.values(), by_whole.initial.h.values());
        prop_assert_eq!(state.c.values(), by_whole.initial.c.values());
    }
}

/// Batches large enough that all threads take part, of layers whose gates are several blocks of
/// columns.
#[test]
fn parallel_result_equals_serial() {
    let before = |inputs| {
        let mut cell = Gru::zeros(inputs, 160);
        cell.options.reset = Reset::Before;
        cell.weights.bias_hn = None;
        cell
    };
    check_threads(Stack::<Gru<f32>>::new(2, true, 40, |inputs| Gru::zeros(inputs, 160)));
    check_threads(Stack::<Gru<f32>>::new(1, false, 40, before));
    check_threads(Stack::<Lstm<f32>>::new(1, true, 40, |inputs| Lstm::zeros(inputs, 160)));
    check_threads(Stack::<Rnn<f32>>::new(2, true, 40, |inputs| Rnn::zeros(inputs, 160)));
}

fn check_threads<C: Cell<f32>>(mut stack: Stack<C>)
where
    Stack<C>: Parameters<f32>,
    Stack<C::Weights>: Parameters<f32>,
{
    let mut numbers = Numbers::new(3);
    numbers.fill(&mut stack, 160);
    let lengths: Vec<usize> = (0..13).map(|i| 40 + 37 * i % 90).collect();
    let x = numbers.tensor(&lengths, 40);
    let width = stack.run(&x, &[]).unwrap().y.width();
    let y = numbers.tensor(&lengths, width);
    let pass = || {
        let (out, saved) = stack.forward(&x, &[], None).unwrap();
        (out, saved.backward(Some(&y), &[]).unwrap())
    };
    let (out, all) = pass();
    #[cfg(feature = "rayon")]
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (some_out, some) = pool.install(pass);
        assert_eq!(some_out.y, out.y);
        assert_eq!(some.x, all.x);
        for (some, all) in some.initial.iter().zip(&all.initial) {
            assert_eq!((some.h.values(), some.c.values()), (all.h.values(), all.c.values()));
        }
        for (some, all) in some.weights.named().into_iter().zip(all.weights.named()) {
            assert_eq!(some, all);
        }
    }
    assert!(out.y.values().iter().chain(all.x.values()).all(|x| x.is_finite()));
}

/// Weights packed once, for windows of one to three steps.
#[test]
fn prepared_equals_the_cell_it_was_prepared_from() {
    let mut numbers = Numbers::new(8);
    let mut stack = Stack::<Gru<f64>>::new(2, true, 3, |inputs| {
        let mut cell = Gru::zeros(inputs, 5);
        cell.options.reset = Reset::Before;
        cell.weights.bias_hn = None;
        cell
    });
    numbers.fill(&mut stack, 5);
    let x = numbers.tensor(&[7, 0, 4, 1], 3);
    let whole = stack.run(&x, &[]).unwrap();
    let (prepared, cell) = (stack.prepare().unwrap(), stack.layers[0].forward.prepare().unwrap());
    let whole_cell = stack.layers[0].forward.run(&x, Direction::Forward, None).unwrap();
    numbers.fill(&mut stack, 5);
    let again = prepared.run(&x, &[]).unwrap();
    assert_eq!(again.y, whole.y);
    assert_ne!(again.y, stack.run(&x, &[]).unwrap().y);

    let mut last = None;
    for steps in [0..1, 1..4, 4..4, 4..6, 6..9] {
        let window = time_window(&x, steps).unwrap();
        last = Some(cell.run(&window, Direction::Forward, last.as_ref()).unwrap().last);
    }
    assert_eq!(last.unwrap().h.values(), whole_cell.last.h.values());

    stack.layers[1].forward.weights.weight_hh.data_mut()[3] = f64::NAN;
    assert!(matches!(stack.prepare(), Err(Error::NotFinite { tensor: "weight_hh", position: 3, .. })));
    let none = Stack::<Gru<f64>> { layers: vec![] };
    assert!(matches!(none.prepare::<f64>(), Err(Error::Zero { .. })));
    let narrow = Numbers::new(1).tensor::<f64>(&[2], 2);
    assert!(matches!(cell.run(&narrow, Direction::Forward, None), Err(Error::Shape { tensor: "the input", .. })));
}

#[test]
fn batches_without_rows_or_sequences_give_none() {
    let cell = Lstm::<f64>::zeros(2, 3);
    for lengths in [vec![], vec![0, 0]] {
        let x = Numbers::new(1).tensor(&lengths, 2);
        let initial = Numbers::new(2).state(lengths.len(), 3, 3);
        let (out, saved) = cell.forward(&x, Direction::Forward, Some(&initial)).unwrap();
        assert_eq!(out.y.shape()[..], [0, 3]);
        assert_eq!(out.last.c.values(), initial.c.values());
        let gradients = saved.backward(OutputGradients { last: Some(&initial), ..Default::default() }).unwrap();
        assert_eq!(gradients.initial.h.values(), initial.h.values());
        assert!(gradients.weights.named().iter().all(|tensor| tensor.values.iter().all(|&x| x == 0.0)));
    }
}

#[test]
fn the_sequences_are_those_of_the_last_level() {
    let mut numbers = Numbers::new(5);
    let mut cell = Rnn::<f32>::zeros(2, 4);
    numbers.fill(&mut cell.weights, 4);
    let flat = numbers.tensor(&[2, 3, 1], 2);
    let deep = flat.with_lod(Lod::from_lengths(&[vec![1, 2], vec![2, 3, 1]]).unwrap()).unwrap();
    let (flat, deep) = [flat, deep].map(|x| cell.run(&x, Direction::Forward, None).unwrap().y).into();
    assert_eq!((flat.values(), deep.lod().num_levels()), (deep.values(), 2));
}

#[test]
fn what_does_not_fit_is_refused_with_name_and_shapes() {
    let mut cell = Lstm::<f32>::zeros(2, 3);
    let x = Numbers::new(1).tensor(&[2, 1], 2);
    let run = |cell: &Lstm<f32>, x: &LodTensor<f32>, initial| cell.run(x, Direction::Forward, initial).map(|_| ());
    let narrow = Numbers::new(1).tensor(&[2, 1], 1);
    let shape = |tensor, expected: &[usize], found: &[usize]| {
        Err(Error::Shape { tensor, expected: expected.to_vec(), found: found.to_vec() })
    };
    assert_eq!(run(&cell, &narrow, None), shape("the input", &[3, 2], &[3, 1]));
    let plain = x.with_lod(Lod::none()).unwrap();
    assert_eq!(run(&cell, &plain, None), Err(lod::Error::NoLevel { level: 0, levels: 0 }.into()));
    let state = State::zeros(3, 3, 3);
    assert_eq!(run(&cell, &x, Some(&state)), shape("the hidden state", &[2, 3], &[3, 3]));
    cell.weights.weight_hh.data_mut()[7] = f32::NAN;
    assert!(matches!(run(&cell, &x, None), Err(Error::NotFinite { tensor: "weight_hh", position: 7, .. })));
    cell.weights.weight_hh = Matrix::zeros(12, 4);
    assert_eq!(run(&cell, &x, None), shape("weight_hh", &[12, 3], &[12, 4]));
    cell.weights.weight_hh = Matrix::zeros(0, 0);
    assert!(matches!(run(&cell, &x, None), Err(Error::Zero { .. })));
    let mut clipped = Lstm::<f32>::zeros(2, 3);
    clipped.options.cell_clip = Some(-1.0);
    assert!(matches!(run(&clipped, &x, None), Err(Error::Range { what: "cell_clip", .. })));
    let mut gru = Gru::<f32>::zeros(2, 3);
    gru.options.reset = Reset::Before;
    let refused = gru.run(&x, Direction::Forward, None).map(|_| ());
    assert!(matches!(refused, Err(Error::Unused { tensor: "bias_hn", .. })));

    let rnn = Rnn::<f32>::zeros(2, 3);
    let back = |y: &LodTensor<f32>| {
        let (_, saved) = rnn.forward(&x, Direction::Forward, None).unwrap();
        saved.backward(OutputGradients { y: Some(y), ..Default::default() }).map(|_| ())
    };
    assert_eq!(back(&narrow), shape("the gradient of the output", &[3, 3], &[3, 1]));
    assert!(matches!(back(&Numbers::new(1).tensor(&[1, 2], 3)), Err(Error::OtherLod { .. })));
}

#[test]
fn the_gradient_of_a_static_input_is_the_sum_over_the_steps() {
    let mut numbers = Numbers::new(9);
    let lengths = [2, 0, 3];
    let (x, s) = (numbers.tensor::<f64>(&lengths, 2), numbers.rows::<f64>(3, 4));
    let y = with_static_input(&x, &s).unwrap();
    let grad = numbers.like(&y);
    let (by_x, by_s) = with_static_input_backward(&grad, 4).unwrap();
    // The map is linear: the products of inputs and gradients are the same on both sides.
    let both = dot(x.values(), by_x.values()) + dot(s.values(), by_s.values());
    close("products", &[both], &[dot(y.values(), grad.values())], 50);
    assert!(with_static_input(&x, &numbers.rows(2, 4)).is_err());
    assert!(with_static_input_backward(&grad, 7).is_err());
}
