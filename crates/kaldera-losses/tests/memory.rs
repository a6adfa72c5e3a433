//! No buffer is larger than the logits, and a forward pass keeps little beside them. Alone in its
//! program, as its allocator counts what all threads ask for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use kaldera_losses::{CtcOptions, Projection, RnntOptions, ctc_loss, ctc_loss_projected, rnnt_loss};
use lod::LodTensor;
use ragged_core::Ragged;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `run` returns, the bytes of the largest buffer that it asks for, and the most bytes that
/// it holds at once.
fn bytes<R>(run: impl FnOnce() -> R) -> (R, usize, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    LARGEST.store(0, Relaxed);
    let result = run();
    (result, LARGEST.load(Relaxed), PEAK.load(Relaxed) - before)
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 12.9898).sin()).collect()
}

fn labels(sequences: usize, count: i32, classes: i32) -> Ragged<i32> {
    Ragged::from_lists(&vec![(0..count).map(|i| 1 + i % (classes - 1)).collect::<Vec<_>>(); sequences]).unwrap()
}

#[test]
fn no_buffer_is_larger_than_the_logits() {
    let (frames, classes) = (200, 300);
    let logits = LodTensor::from_lengths(&[frames; 4], classes, numbers(4 * frames * classes)).unwrap();
    let size = 4 * frames * classes * size_of::<f32>();
    let (options, labels_of_ctc) = (CtcOptions::default(), labels(4, 20, 300));
    let ((_, saved), largest, peak) = bytes(|| ctc_loss(&logits, &labels_of_ctc, &options).unwrap());
    assert!(largest <= size / 4 && peak <= size, "CTC, forward: {largest}, {peak} of {size}");
    let (gradient, largest, peak) = bytes(|| saved.backward(&[1.0]).unwrap());
    assert!(largest <= size && peak <= 2 * size, "CTC, backward: {largest}, {peak} of {size}");
    let mut values = gradient.values().to_vec();
    let ((), largest, peak) = bytes(|| saved.backward_into(&[1.0], &mut values).unwrap());
    assert!(largest <= size / 4 && peak <= size, "CTC, backward into: {largest}, {peak} of {size}");

    let (frames, symbols) = (50, 10);
    let rows = frames * (symbols + 1);
    let logits = LodTensor::from_lengths(&[rows; 2], classes, numbers(2 * rows * classes)).unwrap();
    let size = 2 * rows * classes * size_of::<f32>();
    let (options, labels_of_rnnt) = (RnntOptions::default(), labels(2, 10, 300));
    let ((_, saved), largest, peak) = bytes(|| rnnt_loss(&logits, &labels_of_rnnt, &options).unwrap());
    assert!(largest <= size / 4 && peak <= size, "RNN-T, forward: {largest}, {peak} of {size}");
    let (gradient, largest, peak) = bytes(|| saved.backward(&[1.0]).unwrap());
    assert!(largest <= size && peak <= 2 * size, "RNN-T, backward: {largest}, {peak} of {size}");
    let mut values = gradient.values().to_vec();
    let ((), largest, peak) = bytes(|| saved.backward_into(&[1.0], &mut values).unwrap());
    assert!(largest <= size / 4 && peak <= size, "RNN-T, backward into: {largest}, {peak} of {size}");

    // Logits of 128 frames at once.
    let (frames, dim, classes) = (300, 16, 2000);
    let states = LodTensor::from_lengths(&[frames; 2], dim, numbers(2 * frames * dim)).unwrap();
    let (weight, bias) = (numbers(classes * dim), numbers(classes));
    let projection = Projection { weight: &weight, bias: &bias };
    let (labels, size) = (labels(2, 20, 2000), 2 * frames * classes * size_of::<f32>());
    let run = || {
        let (_, saved) = ctc_loss_projected(&states, projection, &labels, &CtcOptions::default()).unwrap();
        saved.backward(&[1.0]).unwrap()
    };
    let (_, largest, peak) = bytes(run);
    assert!(largest <= size / 2 && peak <= size, "projected: {largest}, {peak} of {size}");
}
