//! Types of elements that `.npy` files and tensors share.

use crate::element::Element;
use crate::npy::header::{Kind, NpyType};

mod sealed {
    pub trait Sealed {}
}

/// A type that can be read from and written to a `.npy` file: `bool`, integers, floats, and
/// complex numbers as `[real, imaginary]`.
pub trait NpyElement: Element + sealed::Sealed {
    #[doc(hidden)]
    const TYPE: NpyType;

    /// Adds the elements that lie complete in `bytes`.
    #[doc(hidden)]
    fn decode(bytes: &[u8], big_endian: bool, elements: &mut Vec<Self>);

    /// Adds the bytes of this element in little endian.
    #[doc(hidden)]
    fn encode(&self, bytes: &mut Vec<u8>);
}

impl NpyType {
    /// The type of files that hold such elements.
    #[must_use]
    pub fn for_type<T: NpyElement>() -> Self {
        T::TYPE
    }
}

macro_rules! numbers {
    ($($T:ty: $kind:ident;)*) => {$(
        impl sealed::Sealed for $T {}

        impl NpyElement for $T {
            const TYPE: NpyType = NpyType::new(Kind::$kind, size_of::<$T>());

            fn decode(bytes: &[u8], big_endian: bool, elements: &mut Vec<Self>) {
                let (items, _) = bytes.as_chunks();
                match big_endian {
                    false => elements.extend(items.iter().map(|&item| Self::from_le_bytes(item))),
                    true => elements.extend(items.iter().map(|&item| Self::from_be_bytes(item))),
                }
            }

            #[inline]
            fn encode(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers! {
    i8: Integer; i16: Integer; i32: Integer; i64: Integer;
    u8: Unsigned; u16: Unsigned; u32: Unsigned; u64: Unsigned;
    f32: Float; f64: Float;
}

macro_rules! complex {
    ($($T:ty)*) => {$(
        impl sealed::Sealed for [$T; 2] {}

        impl NpyElement for [$T; 2] {
            const TYPE: NpyType = NpyType::new(Kind::Complex, size_of::<[$T; 2]>());

            fn decode(bytes: &[u8], big_endian: bool, elements: &mut Vec<Self>) {
                let mut parts = Vec::with_capacity(bytes.len() / size_of::<$T>());
                <$T>::decode(bytes, big_endian, &mut parts);
                elements.extend_from_slice(parts.as_chunks().0);
            }

            #[inline]
            fn encode(&self, bytes: &mut Vec<u8>) {
                self.iter().for_each(|part| part.encode(bytes));
            }
        }
    )*};
}

complex! { f32 f64 }

impl sealed::Sealed for bool {}

impl NpyElement for bool {
    const TYPE: NpyType = NpyType::new(Kind::Bool, 1);

    /// As NumPy does, every byte but 0 is `true`.
    fn decode(bytes: &[u8], _: bool, elements: &mut Vec<Self>) {
        elements.extend(bytes.iter().map(|&byte| byte != 0));
    }

    #[inline]
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }
}
