//! NumPy's `.npy`: a header line that describes the numbers, and the numbers.

use kaldera_base::math::of_half;

/// Numbers of a file, and their shape.
#[derive(Debug, PartialEq)]
pub(super) struct Npy {
    pub(super) numbers: Numbers,
    pub(super) shape: Vec<usize>,
}

/// Numbers of one of the types that FSAs and their attributes have.
#[derive(Debug, PartialEq)]
pub(super) enum Numbers {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
}

const MAGIC: &[u8] = b"\x93NUMPY";
/// Numbers begin at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// Returns the file of 32-bit numbers of the type `descr`, `<i4` or `<f4`.
pub(super) fn write(descr: &str, shape: &[usize], numbers: impl ExactSizeIterator<Item = [u8; 4]>) -> Vec<u8> {
    let sizes = shape.iter().map(|size| format!("{size},")).collect::<String>();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let before = MAGIC.len() + 4;
    let padding = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - (before + header.len() + 1);
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut out = Vec::with_capacity(before + header.len() + 4 * numbers.len());
    out.extend(MAGIC);
    out.extend([1, 0]);
    // Two sizes of at most 20 digits: far below 65536.
    out.extend(u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(numbers.flatten());
    out
}

/// Reads a file; returns `None` if it is not valid, or its numbers are of another type. Memory is
/// in proportion to the file, whatever its header says.
pub(super) fn read(file: &[u8]) -> Option<Npy> {
    let rest = file.strip_prefix(MAGIC)?;
    let ([major, _minor], rest) = rest.split_first_chunk::<2>()?;
    let (len, rest) = if *major == 1 {
        let (len, rest) = rest.split_first_chunk()?;
        (usize::from(u16::from_le_bytes(*len)), rest)
    } else {
        let (len, rest) = rest.split_first_chunk()?;
        (usize::try_from(u32::from_le_bytes(*len)).ok()?, rest)
    };
    let (header, data) = rest.split_at_checked(len)?;
    let Header { descr, columns_first, shape } = Header::read(std::str::from_utf8(header).ok()?)?;
    let len = shape.iter().try_fold(1_usize, |len, &size| len.checked_mul(size))?;
    let numbers = match &*descr {
        "<i4" => Numbers::Int32(numbers(data, len, i32::from_le_bytes)?),
        ">i4" => Numbers::Int32(numbers(data, len, i32::from_be_bytes)?),
        "<i8" => Numbers::Int64(numbers(data, len, i64::from_le_bytes)?),
        ">i8" => Numbers::Int64(numbers(data, len, i64::from_be_bytes)?),
        "|i1" => Numbers::Int64(numbers(data, len, |[x]| x.cast_signed().into())?),
        "|u1" => Numbers::Int64(numbers(data, len, |[x]| x.into())?),
        "|b1" => Numbers::Int64(numbers(data, len, |[x]| (x != 0).into())?),
        "<i2" => Numbers::Int64(numbers(data, len, |x| i16::from_le_bytes(x).into())?),
        ">i2" => Numbers::Int64(numbers(data, len, |x| i16::from_be_bytes(x).into())?),
        "<u2" => Numbers::Int64(numbers(data, len, |x| u16::from_le_bytes(x).into())?),
        ">u2" => Numbers::Int64(numbers(data, len, |x| u16::from_be_bytes(x).into())?),
        "<u4" => Numbers::Int64(numbers(data, len, |x| u32::from_le_bytes(x).into())?),
        ">u4" => Numbers::Int64(numbers(data, len, |x| u32::from_be_bytes(x).into())?),
        "<f2" => Numbers::Float32(numbers(data, len, |x| of_half(u16::from_le_bytes(x)))?),
        ">f2" => Numbers::Float32(numbers(data, len, |x| of_half(u16::from_be_bytes(x)))?),
        "<f4" => Numbers::Float32(numbers(data, len, f32::from_le_bytes)?),
        ">f4" => Numbers::Float32(numbers(data, len, f32::from_be_bytes)?),
        "<f8" => Numbers::Float32(numbers(data, len, |x| f64::from_le_bytes(x) as f32)?),
        ">f8" => Numbers::Float32(numbers(data, len, |x| f64::from_be_bytes(x) as f32)?),
        _ => return None,
    };
    Some(match (&shape[..], columns_first) {
        (&[rows, columns], true) => Npy { numbers: numbers.transposed(rows, columns), shape },
        _ => Npy { numbers, shape },
    })
}

/// Reads `len` numbers, which must be all of the data.
fn numbers<T, const N: usize>(data: &[u8], len: usize, of: fn([u8; N]) -> T) -> Option<Vec<T>> {
    let (chunks, rest) = data.as_chunks::<N>();
    (chunks.len() == len && rest.is_empty()).then(|| chunks.iter().map(|&bytes| of(bytes)).collect())
}

impl Numbers {
    /// Converts column-major order to row-major order.
    fn transposed(self, rows: usize, columns: usize) -> Self {
        fn turn<T: Copy>(numbers: &[T], rows: usize, columns: usize) -> Vec<T> {
            (0..rows).flat_map(|row| (0..columns).map(move |column| numbers[column * rows + row])).collect()
        }
        match self {
            Self::Int32(numbers) => Self::Int32(turn(&numbers, rows, columns)),
            Self::Int64(numbers) => Self::Int64(turn(&numbers, rows, columns)),
            Self::Float32(numbers) => Self::Float32(turn(&numbers, rows, columns)),
        }
    }
}

/// Header of a file: a dictionary as Python writes it.
struct Header {
    descr: String,
    columns_first: bool,
    shape: Vec<usize>,
}

impl Header {
    fn read(text: &str) -> Option<Self> {
        let (mut descr, mut columns_first, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{')?;
        loop {
            rest = rest.trim_start();
            if rest.trim_end() == "}" {
                return Some(Self { descr: descr?, columns_first: columns_first?, shape: shape? });
            }
            let (key, after) = quoted(rest)?;
            rest = after.trim_start().strip_prefix(':')?.trim_start();
            match key {
                "descr" => {
                    let (value, after) = quoted(rest)?;
                    descr = Some(value.to_owned());
                    rest = after;
                }
                "fortran_order" => {
                    let (value, after) = match rest.strip_prefix("True") {
                        Some(after) => (true, after),
                        None => (false, rest.strip_prefix("False")?),
                    };
                    columns_first = Some(value);
                    rest = after;
                }
                "shape" => {
                    let (sizes, after) = rest.strip_prefix('(')?.split_once(')')?;
                    let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
                    // Python 2 wrote an L behind some numbers.
                    shape = Some(sizes.map(|size| size.trim_end_matches('L').parse().ok()).collect::<Option<_>>()?);
                    rest = after;
                }
                _ => return None,
            }
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
    }
}

/// Splits off a string in quotes of either kind; returns it and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0], &len, header.as_bytes(), data].concat()
    }

    #[test]
    fn what_is_written_reads_back_and_is_aligned() {
        let written = write("<i4", &[1, 4], [1_i32, -2, 3, 4].map(i32::to_le_bytes).into_iter());
        assert_eq!((written.len() - 16) % ALIGNMENT, 0);
        assert_eq!(read(&written), Some(Npy { numbers: Numbers::Int32(vec![1, -2, 3, 4]), shape: vec![1, 4] }));
        let none = write("<f4", &[0], std::iter::empty());
        assert_eq!(read(&none), Some(Npy { numbers: Numbers::Float32(vec![]), shape: vec![0] }));
    }

    #[test]
    fn other_orders_of_bytes_and_axes() {
        let header = "{\"shape\": (2L, 2), 'fortran_order': True, 'descr': '>i4'}\n";
        let data = [1_i32, 2, 3, 4].map(i32::to_be_bytes).concat();
        assert_eq!(read(&file(header, &data)).unwrap().numbers, Numbers::Int32(vec![1, 3, 2, 4]));
        let longer = [MAGIC, &[2, 0], &60_u32.to_le_bytes(), format!("{header:60}").as_bytes(), &data].concat();
        assert_eq!(read(&longer), read(&file(header, &data)));
    }

    #[test]
    fn numbers_of_other_widths_are_read() {
        let of = |kind: &str, data: &[u8]| {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (2,)}}");
            read(&file(&header, data)).map(|npy| npy.numbers)
        };
        let ints = |values: [i64; 2]| Some(Numbers::Int64(values.to_vec()));
        assert_eq!(of("|i1", &[0xff, 2]), ints([-1, 2]));
        assert_eq!(of(">i2", &[0xff, 0xfe, 0, 2]), ints([-2, 2]));
        assert_eq!(of("<u4", &[0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0]), ints([4_294_967_295, 2]));
        let floats = Some(Numbers::Float32(vec![1.0, -2.0]));
        assert_eq!(of("<f2", &[0, 0x3c, 0, 0xc0]), floats);
        assert_eq!(of(">f8", &[1.0_f64, -2.0].map(f64::to_be_bytes).concat()), floats);
        assert_eq!((of("<c8", &[0; 16]), of("|O", &[0; 16])), (None, None));
    }

    #[test]
    fn sizes_without_numbers_are_refused() {
        let of =
            |shape: &str| file(&format!("{{'descr': '<i4', 'fortran_order': False, 'shape': ({shape})}}"), &[0; 8]);
        assert!(read(&of("2,")).is_some() && read(&of("2, 1, 1")).is_some());
        for shape in ["1,", "3,", "-2,", "4294967296, 4294967296", "99999999999999999999,", "2"] {
            assert_eq!(read(&of(shape)).is_some(), shape == "2", "{shape}");
        }
        for header in ["", "{", "}", "{'descr': 3}", "{'descr': '<i4'}", "{'a': 'b'}", "{é", "{'descr': '<i4"] {
            assert!(read(&file(header, &[])).is_none(), "{header}");
        }
    }
}
