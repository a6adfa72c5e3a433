//! Operators that keep the LoD allocate no LoD memory, however many levels and sequences there are.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use lod::{Error, Lod, LodTensor};
use tensor_strided::Tensor;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all calls go to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many times `f` asks for memory, on this thread.
fn allocations<R>(f: impl FnOnce() -> R) -> (usize, R) {
    let before = ALLOCATIONS.get();
    let result = f();
    (ALLOCATIONS.get() - before, result)
}

fn batch() -> LodTensor<f32> {
    let lengths = vec![vec![50; 20], vec![2; 1000], vec![3; 2000]];
    let lod = Lod::from_lengths(&lengths).unwrap();
    LodTensor::from_vec([6000, 2], vec![1.0; 12_000], lod).unwrap()
}

fn double(mut x: Tensor<f32>) -> Result<Tensor<f32>, Error> {
    x.view_mut().apply(|x| 2.0 * x);
    Ok(x)
}

#[test]
fn consumers_that_work_in_place_ask_for_no_memory_at_all() {
    let x = batch();
    let lod = x.lod().clone();
    let (count, y) = allocations(|| (0..10).try_fold(x, |x, _| x.apply(double)).unwrap());
    assert_eq!(count, 0);
    assert!(y.lod().ptr_eq(&lod) && y.values()[0] == 1024.0);
}

#[test]
fn sharing_and_shared_parts_ask_for_no_memory() {
    let x = batch();
    let y = LodTensor::from_vec([6000], vec![0_i64; 6000], Lod::none()).unwrap();
    assert_eq!(allocations(|| y.with_lod(x.lod().clone()).unwrap()).0, 0);
    let (count, part) = allocations(|| x.lod_slice_shared(0, 3..7).unwrap());
    assert_eq!((count, part.values().len()), (0, 4 * 300 * 2));
    assert_eq!(allocations(|| x.clone()).0, 0);
    assert_eq!(allocations(|| x.lod().rank_table(1).unwrap()).0, 0);
}

#[test]
fn consumers_with_memory_of_their_own_ask_for_no_more() {
    let x = batch();
    let add_one = |x: Tensor<f32>| Ok::<_, Error>(x.map(|x| x + 1.0));
    let (alone, _) = allocations(|| add_one(x.tensor().clone()).unwrap());
    let (count, _) = allocations(|| (0..3).try_fold(x.clone(), |x, _| x.apply(add_one)).unwrap());
    assert_eq!(count, 3 * alone);
}
