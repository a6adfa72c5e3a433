//! Feature files of HTK, as `--output-format=htk` writes them.

use super::*;

/// A matrix in HTK's file format: a 12-byte header and numbers, all big-endian.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "HtkHeader")]
pub struct HtkMatrix {
    /// Frames x dimensions.
    pub values: Matrix<f32>,
    /// Frame shift in units of 100 ns; 100000 is 10 ms.
    pub sample_period: i32,
    /// Kind of features (6 = MFCC, 7 = FBANK, 9 = USER) and its qualifiers (`_E` = 0o100, `_0` = 0o20000).
    pub sample_kind: u16,
}

/// Qualifiers of the kind that change the layout of the file.
const COMPRESSED: u16 = 0o2000;
const CHECKSUM: u16 = 0o10000;
const VQ: u16 = 0o40000;

impl Holder for HtkMatrix {
    const WHAT: &'static str = "HTK features";

    #[doc(alias = "ReadHtk")]
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        const HEADER: &str = "an HTK header of 12 bytes";
        let mut reader = ByteReader::new(reader);
        let [mut rows, mut period] = [[0; 4]; 2];
        let [mut row_bytes, mut kind] = [[0; 2]; 2];
        for field in [&mut rows[..], &mut period, &mut row_bytes, &mut kind] {
            reader.read_exact(field, HEADER)?;
        }
        let (rows, row_bytes) = (i32::from_be_bytes(rows), i16::from_be_bytes(row_bytes));
        let kind = u16::from_be_bytes(kind);
        let unexpected = |found| Error::Unexpected { expected: "HTK features of plain 4-byte numbers", found };
        if kind & (COMPRESSED | VQ) != 0 {
            return Err(unexpected(format!("compressed or VQ data (kind {kind:#o})")));
        }
        if row_bytes % 4 != 0 {
            return Err(unexpected(format!("frames of {row_bytes} bytes")));
        }
        let (Ok(rows), Ok(cols)) = (usize::try_from(rows), usize::try_from(row_bytes / 4)) else {
            return Err(unexpected(format!("{rows} frames of {row_bytes} bytes")));
        };
        let mut values = Vec::new();
        let mut row = vec![0; 4 * cols];
        // Rows without columns would cost nothing to claim.
        for _ in 0..if cols == 0 { 0 } else { rows } {
            reader.read_exact(&mut row, "as many numbers as the HTK header says")?;
            values.extend(row.as_chunks().0.iter().map(|&bytes| f32::from_be_bytes(bytes)));
        }
        let rows = values.len().checked_div(cols).unwrap_or(0);
        let values = Matrix::from_vec(rows, if rows == 0 { 0 } else { cols }, values)
            .map_err(|error| unexpected(error.to_string()))?;
        Ok(HtkMatrix { values, sample_period: i32::from_be_bytes(period), sample_kind: kind & !CHECKSUM })
    }

    #[doc(alias = "WriteHtk")]
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        let unwritable = |how| Error::Unwritable { what: Self::WHAT, how };
        if !binary {
            return Err(unwritable("as text: leave the option 't' out"));
        }
        let rows = i32::try_from(self.values.num_rows()).map_err(|_| unwritable("with more than 2147483647 frames"))?;
        let row_bytes =
            i16::try_from(4 * self.values.num_cols()).map_err(|_| unwritable("with more than 8191 columns"))?;
        let mut out = Vec::with_capacity(12 + 4 * self.values.data().len());
        out.extend_from_slice(&rows.to_be_bytes());
        out.extend_from_slice(&self.sample_period.to_be_bytes());
        out.extend_from_slice(&row_bytes.to_be_bytes());
        out.extend_from_slice(&self.sample_kind.to_be_bytes());
        out.extend(self.values.rows().flatten().flat_map(|value| value.to_be_bytes()));
        Ok(writer.write_all(&out)?)
    }
}
