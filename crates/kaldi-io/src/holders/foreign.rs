//! Feature files of other toolkits: HTK and Sphinx.

use kaldi_matrix::Matrix;
use kaldi_matrix::codec::{HtkHeader, read_htk, write_htk};

use crate::holders::*;

/// A matrix in HTK's file format: a 12-byte header and numbers, all big-endian. Compressed files
/// can be read, not written.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "HtkHeader")]
pub struct HtkMatrix {
    /// Frames x dimensions.
    pub values: Matrix<f32>,
    /// Frame shift in units of 100 ns; 100000 is 10 ms.
    pub sample_period: i32,
    /// Kind of features (6 = MFCC, 7 = FBANK, 9 = USER) and its qualifiers (`_E` = 0o100, `_0` =
    /// 0o20000).
    pub sample_kind: u16,
}

impl Holder for HtkMatrix {
    const WHAT: &'static str = "HTK features";

    #[doc(alias = "ReadHtk")]
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let (values, HtkHeader { sample_period, sample_kind }) = read_htk(reader)?;
        Ok(HtkMatrix { values, sample_period, sample_kind })
    }

    #[doc(alias = "WriteHtk")]
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        check_binary::<Self>(binary)?;
        let &HtkMatrix { ref values, sample_period, sample_kind } = self;
        Ok(write_htk(writer, values, &HtkHeader { sample_period, sample_kind })?)
    }
}

/// A matrix in the file format of CMU Sphinx: the number of all elements, then the elements,
/// big-endian. The file does not give the number of elements in a frame; reading takes 13, as in
/// Kaldi.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "SphinxMatrixHolder")]
pub struct SphinxMatrix {
    /// Frames x dimensions.
    pub values: Matrix<f32>,
}

impl SphinxMatrix {
    /// Number of columns when reading.
    pub const DIM: usize = 13;
}

impl Holder for SphinxMatrix {
    const WHAT: &'static str = "Sphinx features";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let mut reader = ByteReader::new(reader);
        let mut count = [0; 4];
        reader.read_exact(&mut count, "a number of elements")?;
        let count = i32::from_be_bytes(count);
        let elements = usize::try_from(count).ok().filter(|count| count.is_multiple_of(Self::DIM));
        let Some(elements) = elements else {
            let expected = "a number of elements that is a multiple of 13";
            return Err(Error::Unexpected { expected, found: count.to_string() });
        };
        // Frames are added one by one, as the count may be wrong.
        let mut values = Vec::new();
        let mut frame = [0; 4 * Self::DIM];
        while values.len() < elements {
            reader.read_exact(&mut frame, "as many elements as the file says")?;
            values.extend(frame.as_chunks().0.iter().map(|&bytes| f32::from_be_bytes(bytes)));
        }
        let rows = elements / Self::DIM;
        let values = Matrix::from_vec(rows, if rows == 0 { 0 } else { Self::DIM }, values)
            .expect("as many elements as the shape has");
        Ok(SphinxMatrix { values })
    }

    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        check_binary::<Self>(binary)?;
        let count =
            self.values.num_rows().checked_mul(self.values.num_cols()).and_then(|count| i32::try_from(count).ok());
        let too_many = Error::Unwritable { what: Self::WHAT, how: "with more than 2147483647 elements" };
        let mut out = count.ok_or(too_many)?.to_be_bytes().to_vec();
        out.extend(self.values.rows().flatten().flat_map(|value| value.to_be_bytes()));
        Ok(writer.write_all(&out)?)
    }
}

fn check_binary<T: Holder>(binary: bool) -> Result<(), Error> {
    if binary { Ok(()) } else { Err(Error::Unwritable { what: T::WHAT, how: "as text: leave the option 't' out" }) }
}
