//! Normalisation by numbers that come with a model.

use kaldera_base::text::lines;

use crate::error::Error;
use crate::rows::stream::{RowStream, check_row};
use crate::state::{StateReader, StateWriter};

/// Normalises a model's features: row `x` becomes `(x + shift) * scale`, column by column.
///
/// FunASR's models (SenseVoice, Paraformer) store it in a file `am.mvn`, a network of Kaldi's
/// `nnet1` as text, with the components `<AddShift>` and `<Rescale>`:
///
/// ```
/// use kaldi_feat::GlobalCmvn;
///
/// let cmvn = GlobalCmvn::from_text(
///     "<Nnet>
///      <AddShift> 2 2
///      <LearnRateCoef> 0 [ -8.5 -9 ]
///      <Rescale> 2 2
///      <LearnRateCoef> 0 [ 0.5 0.25 ]
///      </Nnet>",
/// )?;
/// let mut row = [8.5, 13.0];
/// cmvn.apply(&mut row)?;
/// assert_eq!(row, [0.0, 1.0]);
/// # Ok::<(), kaldi_feat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias("am.mvn", "cmvn_file", "load_cmvn"))]
pub struct GlobalCmvn {
    shift: Vec<f32>,
    scale: Vec<f32>,
}

impl GlobalCmvn {
    /// Creates it from vectors of equal length, which is the length of the rows.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] unless there are as many scales as shifts, [`Error::BadCmvn`] for a
    /// number that is not finite and for no numbers.
    pub fn new(shift: Vec<f32>, scale: Vec<f32>) -> Result<Self, Error> {
        if shift.is_empty() {
            return Err(bad("columns", "none", "one or more"));
        }
        if shift.len() != scale.len() {
            return Err(Error::DimMismatch { what: "the scale of CMVN", expected: shift.len(), found: scale.len() });
        }
        let columns = shift.iter().enumerate().chain(scale.iter().enumerate());
        if let Some((column, x)) = columns.into_iter().find(|(_, x)| !x.is_finite()) {
            return Err(bad(&format!("column {column}"), x, "a finite number"));
        }
        Ok(Self { shift, scale })
    }

    /// Reads the text of a file `am.mvn`.
    ///
    /// # Errors
    /// [`Error::BadCmvn`] with the line, if it is no such text; otherwise as [`new`](Self::new).
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let mut words = lines(text).flat_map(|(number, line)| line.split_whitespace().map(move |word| (number, word)));
        let (mut shift, mut scale) = (None, None);
        while let Some((line, word)) = words.next() {
            let vector = match word {
                "<AddShift>" => &mut shift,
                "<Rescale>" => &mut scale,
                _ => continue,
            };
            if vector.is_some() {
                return Err(in_line(line, format!("a second {word}"), "one"));
            }
            *vector = Some(vector_of(line, &mut words)?);
        }
        let missing = |component: &str| bad("the text", format!("no {component}"), "<AddShift> and <Rescale>");
        Self::new(shift.ok_or_else(|| missing("<AddShift>"))?, scale.ok_or_else(|| missing("<Rescale>"))?)
    }

    /// Returns the number of columns of the rows.
    pub fn dim(&self) -> usize {
        self.shift.len()
    }

    /// Returns the vector that is added to the columns.
    pub fn shift(&self) -> &[f32] {
        &self.shift
    }

    /// Returns the factors that the columns are then multiplied with.
    pub fn scale(&self) -> &[f32] {
        &self.scale
    }

    /// Normalises rows that lie one after the other.
    ///
    /// # Errors
    /// [`Error::DimMismatch`] for values that are not whole rows.
    pub fn apply(&self, rows: &mut [f32]) -> Result<(), Error> {
        if !rows.len().is_multiple_of(self.dim()) {
            return Err(Error::DimMismatch { what: "a row", expected: self.dim(), found: rows.len() % self.dim() });
        }
        rows.chunks_exact_mut(self.dim()).for_each(|row| self.apply_row(row));
        Ok(())
    }

    /// Normalises a row, which has as many columns.
    pub(crate) fn apply_row(&self, row: &mut [f32]) {
        for ((x, shift), scale) in row.iter_mut().zip(&self.shift).zip(&self.scale) {
            *x = (*x + shift) * scale;
        }
    }

    /// Creates a stream that does the same for rows that arrive one by one.
    pub fn stream(&self) -> GlobalCmvnStream {
        GlobalCmvnStream { cmvn: self.clone() }
    }
}

fn bad(place: &str, found: impl ToString, expected: &'static str) -> Error {
    Error::BadCmvn { place: place.to_owned(), found: found.to_string(), expected }
}

fn in_line(line: usize, found: impl ToString, expected: &'static str) -> Error {
    bad(&format!("line {line}"), found, expected)
}

/// Reads the numbers of a component, after its name:
/// `ROWS COLS [<LearnRateCoef> NUMBER] [ NUMBERS ]`.
fn vector_of<'t>(line: usize, words: &mut impl Iterator<Item = (usize, &'t str)>) -> Result<Vec<f32>, Error> {
    let ended = || in_line(line, "the end of the text behind it", "'[', numbers and ']'");
    let ((line, rows), (_, cols)) = words.next().zip(words.next()).ok_or_else(ended)?;
    let dim = rows.parse::<usize>().ok().filter(|_| rows == cols);
    let dim = dim.ok_or_else(|| in_line(line, format!("{rows} {cols}"), "the number of columns, twice"))?;
    loop {
        match words.next() {
            Some((_, "[")) => break,
            Some((_, "<LearnRateCoef>")) => _ = words.next(),
            Some((line, word)) => return Err(in_line(line, word, "'['")),
            None => return Err(ended()),
        }
    }
    let mut numbers = vec![];
    for (line, word) in words {
        if word == "]" {
            let found = numbers.len();
            let mismatch = Error::DimMismatch { what: "a vector of CMVN", expected: dim, found };
            return if found == dim { Ok(numbers) } else { Err(mismatch) };
        }
        let number = word.parse::<f32>().ok().filter(|number| number.is_finite());
        numbers.push(number.ok_or_else(|| in_line(line, word, "a finite number, or ']'"))?);
    }
    Err(ended())
}

/// A [`GlobalCmvn`] over rows that arrive one by one.
#[derive(Debug, Clone)]
pub struct GlobalCmvnStream {
    cmvn: GlobalCmvn,
}

impl RowStream for GlobalCmvnStream {
    fn input_dim(&self) -> usize {
        self.cmvn.dim()
    }

    fn output_dim(&self) -> usize {
        self.cmvn.dim()
    }

    fn accept(&mut self, row: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        check_row(row, self.cmvn.dim())?;
        let begin = out.len();
        out.extend_from_slice(row);
        self.cmvn.apply_row(&mut out[begin..]);
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<f32>) {}

    fn save_state(&self) -> Vec<u8> {
        StateWriter::new(*b"cmvn    ", &format!("{:?}", self.cmvn)).finish()
    }

    fn restore_state(&mut self, state: &[u8]) -> Result<(), Error> {
        StateReader::new(state, *b"cmvn    ", &format!("{:?}", self.cmvn))?.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_am_mvn_is_told_with_its_line() {
        let whole =
            "<Nnet>\n<Splice> 2 2\n[ 0 ]\n<AddShift> 2 2\n<LearnRateCoef> 0 [ 1 2 ]\n<Rescale> 2 2\n[ 3 4 ]\n</Nnet>\n";
        let cmvn = GlobalCmvn::from_text(whole).unwrap();
        assert_eq!((cmvn.shift(), cmvn.scale()), (&[1.0, 2.0][..], &[3.0, 4.0][..]));
        for (from, to, words) in [
            ("<AddShift>", "<Shift>", "no <AddShift>"),
            ("<Rescale>", "<AddShift>", "line 6: a second <AddShift>"),
            ("[ 1 2 ]", "[ 1 x ]", "line 5: x"),
            ("[ 1 2 ]", "[ 1 inf ]", "line 5: inf"),
            ("[ 1 2 ]", "[ 1 2 3 ]", "3 columns where 2"),
            ("[ 1 2 ]", "<Extra>", "line 5: <Extra>"),
            ("<AddShift> 2 2", "<AddShift> 2 3", "line 4: 2 3"),
            ("<AddShift> 2 2", "<AddShift> -2 -2", "line 4: -2 -2"),
            ("<Rescale> 2 2\n[ 3 4 ]", "<Rescale> 3 3\n[ 3 4 5 ]", "scale of CMVN has 3 columns where 2"),
            ("[ 3 4 ]\n</Nnet>\n", "[ 3", "the end of the text"),
            ("[ 3 4 ]\n</Nnet>\n", "", "the end of the text"),
        ] {
            let text = whole.replace(from, to);
            let error = GlobalCmvn::from_text(&text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}: {words}");
        }
        for text in ["", "\0B<Nnet>", "<AddShift>", "<AddShift> 0 0 [ ] <Rescale> 0 0 [ ]"] {
            assert!(GlobalCmvn::from_text(text).is_err(), "{text}");
        }
        assert!(matches!(cmvn.clone().apply(&mut [1.0; 3]), Err(Error::DimMismatch { expected: 2, found: 1, .. })));
    }

    #[test]
    fn streams_give_what_the_whole_gives() {
        let cmvn = GlobalCmvn::new(vec![1.0, -0.3], vec![0.1, 7.0]).unwrap();
        let mut rows = [0.5, 0.7, -3.0, 1e9];
        let (mut stream, mut out) = (cmvn.stream(), vec![]);
        rows.chunks(2).for_each(|row| stream.accept(row, &mut out).unwrap());
        let state = stream.save_state();
        stream.restore_state(&state).unwrap();
        stream.finish(&mut out);
        cmvn.apply(&mut rows).unwrap();
        assert_eq!(out, rows);
    }
}
