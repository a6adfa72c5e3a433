//! Paddle's byte format for a LoD tensor, as `save_op` writes and `load_op` reads it.
//!
//! ```text
//!   u32  version, 0
//!   u64  levels;  for each: u64 bytes, u64[] offsets
//!   u32  version, 0
//!   i32  bytes of the description, a protobuf message:
//!          1: data type (varint)  2: dims (varint each)
//!        values in C order
//! ```
//!
//! All numbers are little-endian.

use std::io::{self, Read, Write};

use ragged_core::RowSplits;
use tensor_strided::{Element, Layout, Shape};

use crate::error::Error;
use crate::lod::{Lod, number_of, splits_of};
use crate::tensor::LodTensor;

/// The version of both parts of the format.
const VERSION: u32 = 0;
/// Bytes that are read at once: memory grows with the data read, not with the announced size.
const BLOCK: usize = 1 << 16;

/// A type of values that Paddle's format has a number for.
pub trait PaddleType: Element + sealed::Sealed {
    /// Paddle's `VarType.Type`.
    const DATA_TYPE: u64;
    /// Paddle's name of the type.
    const NAME: &'static str;

    /// The little-endian bytes of a value, behind those that are there.
    #[doc(hidden)]
    fn append_to(self, bytes: &mut Vec<u8>);

    /// A value of its little-endian bytes, as many as it has.
    #[doc(hidden)]
    fn of_bytes(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

/// The type, its number and its name.
macro_rules! paddle_types {
    ($($variant:ident $t:ty: $number:literal $name:literal),*) => {
        $(impl sealed::Sealed for $t {}

        impl PaddleType for $t {
            const DATA_TYPE: u64 = $number;
            const NAME: &'static str = $name;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn of_bytes(bytes: &[u8]) -> Self {
                <$t>::from_le_bytes(bytes.try_into().unwrap_or_default())
            }
        })*

        /// A LoD tensor of any of the types, read from a file that contains its type.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum AnyLodTensor {
            $(#[doc = concat!("Of `", $name, "`.")]
            $variant(LodTensor<$t>),)*
        }

        impl AnyLodTensor {
            /// Reads a tensor of any of the types. See [`LodTensor::read_from`].
            ///
            /// # Errors
            /// As [`LodTensor::read_from`], [`Error::DataType`] for a type that has no variant.
            pub fn read_from(reader: &mut impl Read) -> Result<Self, Error> {
                let lod = read_lod(reader)?;
                let (data_type, shape) = read_description(reader)?;
                match data_type {
                    $($number => Ok(Self::$variant(read_values(reader, shape, lod)?)),)*
                    found => Err(Error::DataType { expected: "a number", found }),
                }
            }
        }
    };
}

paddle_types!(
    I16 i16: 1 "int16", I32 i32: 2 "int32", I64 i64: 3 "int64", F32 f32: 5 "float32", F64 f64: 6 "float64", U8 u8: 20 "uint8",
    I8 i8: 21 "int8"
);

impl<T: PaddleType> LodTensor<T> {
    /// Writes the tensor and its LoD in Paddle's format, byte for byte as Paddle does.
    ///
    /// ```
    /// use lod::LodTensor;
    ///
    /// let x = LodTensor::from_sequences(&[vec![0.5_f32], vec![1.5, 2.5]])?;
    /// let bytes = x.to_bytes();
    /// assert_eq!(LodTensor::<f32>::read_from(&mut &bytes[..])?, x);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`].
    #[doc(alias = "SerializeToStream")]
    pub fn write_to(&self, writer: &mut impl Write) -> Result<(), Error> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        let length = |n: usize| (n as u64).to_le_bytes();
        bytes.extend(length(self.lod().num_levels()));
        for level in self.lod().levels() {
            let offsets: &[i32] = level.as_ref();
            bytes.extend(length(size_of::<u64>() * offsets.len()));
            bytes.extend(offsets.iter().flat_map(|offset| u64::from(offset.unsigned_abs()).to_le_bytes()));
        }
        let mut description = vec![0x08];
        append_varint(&mut description, T::DATA_TYPE);
        for &dim in &self.shape()[..] {
            description.push(0x10);
            append_varint(&mut description, dim as u64);
        }
        let size = i32::try_from(description.len())
            .map_err(|_| Error::TooLarge { what: "the description", size: description.len() as u64 })?;
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(description);
        writer.write_all(&bytes)?;
        for values in self.values().chunks(BLOCK) {
            bytes.clear();
            values.iter().for_each(|value| value.append_to(&mut bytes));
            writer.write_all(&bytes)?;
        }
        Ok(())
    }

    /// As [`write_to`](Self::write_to), in memory.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.write_to(&mut bytes) {
            Ok(()) => bytes,
            Err(error) => unreachable!("a tensor in memory has a short description, and a vector takes it: {error}"),
        }
    }

    /// Reads a tensor in Paddle's format, and no byte more: several can follow each other. Bytes
    /// are not trusted: memory grows with the data read, not with the announced size.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Version`], [`Error::LevelBytes`], [`Error::Description`],
    /// [`Error::DataType`], [`Error::Dim`], the errors of [`Lod::from_offsets`] and
    /// [`LodTensor::new`], [`Error::Io`].
    #[doc(alias = "DeserializeFromStream")]
    pub fn read_from(reader: &mut impl Read) -> Result<Self, Error> {
        let lod = read_lod(reader)?;
        match read_description(reader)? {
            (found, _) if found != T::DATA_TYPE => Err(Error::DataType { expected: T::NAME, found }),
            (_, shape) => read_values(reader, shape, lod),
        }
    }
}

fn read_lod(reader: &mut impl Read) -> Result<Lod, Error> {
    check_version("the LoD", u32::from_le_bytes(read_array(reader, "the version of the LoD")?))?;
    let levels = u64::from_le_bytes(read_array(reader, "the number of levels")?);
    let mut splits: Vec<RowSplits> = Vec::new();
    for level in 0.. {
        if level as u64 == levels {
            break;
        }
        let found = u64::from_le_bytes(read_array(reader, "the size of a level")?);
        if !found.is_multiple_of(size_of::<u64>() as u64) {
            return Err(Error::LevelBytes { level, found });
        }
        let mut offsets = Vec::new();
        read_blocks(reader, "the offsets of a level", found, |bytes| {
            for offset in bytes.as_chunks().0 {
                let offset = i64::try_from(u64::from_le_bytes(*offset)).unwrap_or(i64::MAX);
                offsets.push(number_of(level, offsets.len(), offset)?);
            }
            Ok(())
        })?;
        splits.push(splits_of(level, offsets)?);
    }
    Lod::new(splits)
}

/// The data type and the shape.
fn read_description(reader: &mut impl Read) -> Result<(u64, Shape), Error> {
    check_version("the tensor", u32::from_le_bytes(read_array(reader, "the version of the tensor")?))?;
    let size = i32::from_le_bytes(read_array(reader, "the size of the description")?);
    let size = u64::try_from(size).map_err(|_| Error::Description { position: 0 })?;
    let mut bytes = Vec::new();
    read_blocks(reader, "the description", size, |block| {
        bytes.extend_from_slice(block);
        Ok(())
    })?;
    let mut message = Message { bytes: &bytes, position: 0 };
    let (mut data_type, mut shape) = (None, Shape::new());
    while let Some((field, wire)) = message.tag()? {
        match (field, wire) {
            (1, VARINT) => data_type = Some(message.varint()?),
            (2, VARINT) => push_dim(&mut shape, message.varint()?)?,
            // The same field as newer protobuf packs it.
            (2, BYTES) => {
                let mut dims = Message { bytes: message.bytes_of_field()?, position: 0 };
                while dims.position < dims.bytes.len() {
                    push_dim(&mut shape, dims.varint()?)?;
                }
            }
            (_, wire) => message.skip(wire)?,
        }
    }
    Ok((data_type.ok_or(Error::Description { position: bytes.len() })?, shape))
}

fn push_dim(shape: &mut Shape, dim: u64) -> Result<(), Error> {
    let found = dim.cast_signed();
    shape.push(usize::try_from(found).map_err(|_| Error::Dim { axis: shape.len(), found })?);
    Ok(())
}

fn read_values<T: PaddleType>(reader: &mut impl Read, shape: Shape, lod: Lod) -> Result<LodTensor<T>, Error> {
    let len = Layout::contiguous(&shape)?.len();
    let too_large = Error::TooLarge { what: "the number of bytes", size: u64::MAX };
    let size = (len as u64).checked_mul(size_of::<T>() as u64).ok_or(too_large)?;
    let mut values = Vec::new();
    read_blocks(reader, "the values", size, |bytes| {
        values.extend(bytes.chunks_exact(size_of::<T>()).map(T::of_bytes));
        Ok(())
    })?;
    LodTensor::from_vec(shape, values, lod)
}

fn check_version(what: &'static str, found: u32) -> Result<(), Error> {
    if found == VERSION { Ok(()) } else { Err(Error::Version { what, found }) }
}

fn read_array<const N: usize>(reader: &mut impl Read, what: &'static str) -> Result<[u8; N], Error> {
    let mut array = [0; N];
    read_blocks(reader, what, N as u64, |bytes| {
        array.copy_from_slice(bytes);
        Ok(())
    })?;
    Ok(array)
}

/// Calls `take` with blocks that are `size` bytes together; each but the last is a multiple of 8
/// bytes.
fn read_blocks(
    reader: &mut impl Read,
    what: &'static str,
    size: u64,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut block = Vec::new();
    let mut read = 0;
    while read < size {
        block.clear();
        let wanted = (size - read).min(BLOCK as u64);
        let found = reader.by_ref().take(wanted).read_to_end(&mut block)? as u64;
        read += found;
        if found < wanted {
            return Err(Error::Truncated { what, expected: size, found: read });
        }
        take(&block)?;
    }
    Ok(())
}

/// Wire types of protobuf.
const VARINT: u8 = 0;
const EIGHT_BYTES: u8 = 1;
const BYTES: u8 = 2;
const FOUR_BYTES: u8 = 5;

/// A protobuf message, read field by field.
struct Message<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Message<'a> {
    /// The number and the wire type of the next field.
    fn tag(&mut self) -> Result<Option<(u64, u8)>, Error> {
        if self.position == self.bytes.len() {
            return Ok(None);
        }
        let tag = self.varint()?;
        // Three bits.
        Ok(Some((tag >> 3, (tag & 7) as u8)))
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let wrong = Error::Description { position: self.position };
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let &byte = self.bytes.get(self.position).ok_or_else(|| wrong.clone())?;
            self.position += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(wrong)
    }

    fn take(&mut self, size: u64) -> Result<&'a [u8], Error> {
        let wrong = Error::Description { position: self.position };
        let end = usize::try_from(size).ok().and_then(|size| self.position.checked_add(size));
        let taken = end.and_then(|end| self.bytes.get(self.position..end)).ok_or(wrong)?;
        self.position += taken.len();
        Ok(taken)
    }

    fn bytes_of_field(&mut self) -> Result<&'a [u8], Error> {
        let size = self.varint()?;
        self.take(size)
    }

    fn skip(&mut self, wire: u8) -> Result<(), Error> {
        match wire {
            VARINT => self.varint().map(drop),
            EIGHT_BYTES => self.take(8).map(drop),
            BYTES => self.bytes_of_field().map(drop),
            FOUR_BYTES => self.take(4).map(drop),
            _ => Err(Error::Description { position: self.position }),
        }
    }
}

fn append_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        // Seven bits.
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io { kind: error.kind(), message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ragged_core::RaggedShape;

    use super::*;

    fn bytes() -> Vec<u8> {
        let lod = Lod::from_lengths(&[vec![2, 0], vec![1, 2]]).unwrap();
        LodTensor::from_vec([3, 200], (0..600).collect::<Vec<i32>>(), lod).unwrap().to_bytes()
    }

    fn read(bytes: &[u8]) -> Result<LodTensor<i32>, Error> {
        LodTensor::read_from(&mut &bytes[..])
    }

    #[test]
    fn every_beginning_is_truncated_and_nothing_else() {
        let bytes = bytes();
        for end in (0..bytes.len()).filter(|end| *end < 120 || end % 97 == 0) {
            assert!(matches!(read(&bytes[..end]), Err(Error::Truncated { .. })), "{end}");
        }
        let mut twice = [&bytes[..], &bytes].concat();
        let mut rest = &twice[..];
        assert_eq!(LodTensor::<i32>::read_from(&mut rest).unwrap(), read(&bytes).unwrap());
        assert_eq!(rest, bytes);
        twice.truncate(3);
        assert_eq!(
            read(&twice).unwrap_err(),
            Error::Truncated { what: "the version of the LoD", expected: 4, found: 3 }
        );
    }

    #[test]
    fn hostile_numbers_are_refused_without_memory_for_them() {
        let changed = |at: usize, number: u64| {
            let mut bytes = bytes();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            read(&bytes).unwrap_err()
        };
        assert_eq!(changed(12, 7), Error::LevelBytes { level: 0, found: 7 });
        assert!(matches!(changed(4, u64::MAX), Error::LevelBytes { .. } | Error::Truncated { .. }));
        assert!(matches!(changed(12, u64::MAX - 7), Error::Number { .. } | Error::Truncated { .. }));
        assert_eq!(changed(12, 0), Error::OffsetsStart { level: 0, found: None });
        assert_eq!(changed(20, 1), Error::OffsetsStart { level: 0, found: Some(1) });
        assert_eq!(changed(28, u64::MAX), Error::Number { level: 0, position: 1, found: i64::MAX });
        assert_eq!(changed(28, 3), Error::OffsetsFall { level: 0, position: 2, before: 3, found: 2 });
        assert_eq!(changed(0, 1), Error::Version { what: "the LoD", found: 1 });
        assert!(matches!(
            LodTensor::<f32>::read_from(&mut &bytes()[..]),
            Err(Error::DataType { expected: "float32", found: 2 })
        ));
    }

    #[test]
    fn descriptions_are_read_as_protobuf() {
        let read = |description: &[u8], values: usize| {
            let mut bytes = vec![0; 16];
            bytes.extend(i32::try_from(description.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(description);
            bytes.extend(vec![1; values]);
            AnyLodTensor::read_from(&mut &bytes[..])
        };
        // Packed dims, and fields that we do not know, of each wire type.
        let packed = [0x12, 2, 2, 3, 0x18, 5, 0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2a, 1, 9, 0x35, 1, 2, 3, 4, 0x08, 20];
        match read(&packed, 6) {
            Ok(AnyLodTensor::U8(x)) => assert_eq!((x.shape().to_vec(), x.values()), (vec![2, 3], &[1; 6][..])),
            other => panic!("{other:?}"),
        }
        assert_eq!(read(&[0x10, 2], 2), Err(Error::Description { position: 2 }));
        assert_eq!(read(&[0x08, 20], 2), Err(Error::Scalar));
        assert_eq!(read(&[0x08, 4, 0x10, 2], 4), Err(Error::DataType { expected: "a number", found: 4 }));
        let negative = [0x08, 20, 0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(read(&negative, 0), Err(Error::Dim { axis: 0, found: -1 }));
        assert!(matches!(
            read(&[0x08, 20, 0x10, 255, 255, 255, 255, 255, 255, 255, 255, 127], 0),
            Err(Error::Truncated { .. })
        ));
        assert!(matches!(read(&[0x10; 40].map(|_| 0xff), 0), Err(Error::Description { .. })));
        assert!(matches!(read(&[0x0b], 0), Err(Error::Description { .. })));
        assert!(matches!(read(&[0x1a, 200], 0), Err(Error::Description { .. })));
        let mut huge = vec![0x08, 6];
        huge.extend([0x10, 255, 255, 255, 255, 127].repeat(2));
        assert!(read(&huge, 0).is_err());
    }

    proptest! {
        #[test]
        fn written_files_are_read_back(seed in any::<u64>(), width in 0_usize..4) {
            let lod = Lod::from(RaggedShape::random(seed, 2..=4, 0..=30).unwrap());
            let rows = lod.num_rows().unwrap();
            let values: Vec<f64> = (0..rows * width).map(|i| i as f64 / 3.0).collect();
            let x = LodTensor::from_vec([rows, width], values, lod).unwrap();
            prop_assert_eq!(&LodTensor::<f64>::read_from(&mut &x.to_bytes()[..]).unwrap(), &x);
            prop_assert_eq!(AnyLodTensor::read_from(&mut &x.to_bytes()[..]).unwrap(), AnyLodTensor::F64(x));
        }

        #[test]
        fn no_bytes_panic(mut bytes in Just(bytes()), at in 0_usize..120, byte in any::<u8>()) {
            bytes[at] = byte;
            drop(AnyLodTensor::read_from(&mut &bytes[..]));
        }
    }
}
