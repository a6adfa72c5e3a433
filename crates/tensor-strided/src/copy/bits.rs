//! Numbers, which may be moved as nothing but bits.

use std::any::TypeId;

/// An unsigned integer that stands for any number of its size. It has no padding, and its size
/// divides the size of a cache line.
pub(super) trait Bits: Copy + Send + Sync + 'static {}

impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}
impl Bits for u64 {}
impl Bits for u128 {}

/// Evaluates an expression with the type `$bits` that stands for `$number`.
macro_rules! as_bits {
    ($number:ty, |$bits:ident| $do:expr) => {
        match size_of::<$number>() {
            1 => {
                type $bits = u8;
                $do
            }
            2 => {
                type $bits = u16;
                $do
            }
            4 => {
                type $bits = u32;
                $do
            }
            8 => {
                type $bits = u64;
                $do
            }
            _ => {
                type $bits = u128;
                $do
            }
        }
    };
}

/// Returns `true` if `T` is a built-in type in which every bit is part of the value. Other types
/// might have padding, which must not be read; they are copied by simpler code without these
/// kernels. So are numbers that are not aligned to their size, on targets that have such.
#[inline(always)]
pub(super) fn is_number<T: 'static>() -> bool {
    #[inline(always)]
    fn is<T: 'static, U: 'static>() -> bool {
        TypeId::of::<T>() == TypeId::of::<U>()
    }
    let number = is::<T, f32>()
        || is::<T, f64>()
        || is::<T, i8>()
        || is::<T, i16>()
        || is::<T, i32>()
        || is::<T, i64>()
        || is::<T, i128>()
        || is::<T, isize>()
        || is::<T, u8>()
        || is::<T, u16>()
        || is::<T, u32>()
        || is::<T, u64>()
        || is::<T, u128>()
        || is::<T, usize>()
        || is::<T, bool>()
        || is::<T, char>();
    number && align_of::<T>() == size_of::<T>()
}
