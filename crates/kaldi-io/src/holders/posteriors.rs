//! Posteriors: for each frame a list of states or Gaussians by number, each with its probability or
//! another weight.
//!
//! ```text
//! text                    binary, behind \0B
//! [ 3 0.5 7 0.5 ] [ ] ⏎   the number of frames, then of each frame the number of pairs
//!                         and the pairs
//! ```

use crate::holders::*;

/// Kaldi's `Posterior`: frames x pairs. A frame may have none.
impl Holder for Vec<Vec<(i32, f32)>> {
    const WHAT: &'static str = "posteriors";

    #[doc(alias = "ReadPosterior")]
    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut reader = ByteReader::new(reader);
        let pair = |reader: &mut ByteReader<'_>, binary| {
            Ok((i32::read_value(reader, binary)?, f32::read_value(reader, binary)?))
        };
        if binary {
            let frame = |reader: &mut ByteReader<'_>| read_counted(reader, |reader| pair(reader, true));
            return Ok(read_counted(&mut reader, frame)?);
        }
        let line = read_line(&mut reader)?;
        let mut line: &[u8] = line.trim_ascii();
        let mut reader = ByteReader::new(&mut line);
        let mut frames = Vec::new();
        while let Some(byte) = reader.peek()? {
            if byte != b'[' {
                return Err(reader.unexpected_byte("`[`, the beginning of a frame", Some(byte)).into());
            }
            reader.bump();
            let mut pairs = Vec::new();
            loop {
                reader.skip_whitespace()?;
                if reader.peek()? == Some(b']') {
                    reader.bump();
                    break;
                }
                pairs.push(pair(&mut reader, false)?);
            }
            frames.push(pairs);
            reader.skip_whitespace()?;
        }
        Ok(frames)
    }

    #[doc(alias = "WritePosterior")]
    fn write(&self, writer: &mut dyn Write, binary: bool) -> Result<(), Error> {
        write_list(writer, binary, |out| {
            push_count::<Self>(out, self.len(), binary)?;
            for frame in self {
                push_count::<Self>(out, frame.len(), binary)?;
                if !binary {
                    out.extend_from_slice(b"[ ");
                }
                for (number, weight) in frame {
                    number.push_value(out, binary);
                    weight.push_value(out, binary);
                }
                if !binary {
                    out.extend_from_slice(b"] ");
                }
            }
            Ok(())
        })
    }
}
