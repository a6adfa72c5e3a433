//! The text bodies.

use std::io::{self, Write};

use kaldera_base::Real;

use crate::codec::CodecError;
use crate::codec::reader::{ByteReader, describe, is_space};
use crate::matrix::{Matrix, SubMatrix};
use crate::vector::Vector;

/// Appends a number in the format of C's `%.7g`, as in Kaldi's text files: seven significant
/// digits, no trailing zeros, an exponent below 1e-4 and from 1e7 on; `inf`, `-inf`, `nan`, and
/// `-nan` if the sign bit is set.
///
/// ```
/// let mut text = Vec::new();
/// kaldi_matrix::codec::push_number(&mut text, 12345678.0);
/// assert_eq!(text, b"1.234568e+07");
/// ```
pub fn push_number(out: &mut Vec<u8>, x: f64) {
    if x.is_sign_negative() {
        out.push(b'-');
    }
    if !x.is_finite() {
        return out.extend(if x.is_nan() { b"nan" } else { b"inf" });
    }
    // Rust rounds exactly here, half to even, as C does: "d.dddddde[-]x".
    let mut buffer = [0; 16];
    let mut unused = &mut buffer[..];
    write!(unused, "{:.6e}", x.abs()).expect("13 bytes are the most for a double");
    let len = 16 - unused.len();
    let mut digits = [0; 7];
    digits[0] = buffer[0];
    digits[1..].copy_from_slice(&buffer[2..8]);
    let exponent = parse_exponent(&buffer[9..len]);
    let significant = digits.iter().rposition(|&d| d != b'0').map_or(1, |last| last + 1);

    if !(-4..7).contains(&exponent) {
        out.push(digits[0]);
        push_fraction(out, &digits[1..significant]);
        out.extend(if exponent < 0 { b"e-" } else { b"e+" });
        let exponent = exponent.unsigned_abs();
        if exponent >= 100 {
            out.push(b'0' + (exponent / 100) as u8);
        }
        out.extend([b'0' + (exponent / 10 % 10) as u8, b'0' + (exponent % 10) as u8]);
    } else if exponent < 0 {
        out.extend(b"0.");
        out.extend(std::iter::repeat_n(b'0', exponent.unsigned_abs() as usize - 1));
        out.extend(&digits[..significant]);
    } else {
        let whole = exponent as usize + 1;
        out.extend(&digits[..whole]);
        push_fraction(out, &digits[whole..significant.max(whole)]);
    }
}

/// Appends a point and the digits after it, or nothing.
fn push_fraction(out: &mut Vec<u8>, digits: &[u8]) {
    if !digits.is_empty() {
        out.push(b'.');
        out.extend(digits);
    }
}

/// Parses a decimal number of at most three digits, perhaps negative.
fn parse_exponent(digits: &[u8]) -> i32 {
    let (negative, digits) = digits.strip_prefix(b"-").map_or((false, digits), |rest| (true, rest));
    let size = digits.iter().fold(0, |n, &d| 10 * n + i32::from(d - b'0'));
    if negative { -size } else { size }
}

pub(super) fn write_matrix<T: Real>(w: &mut dyn Write, m: SubMatrix<'_, T>) -> io::Result<()> {
    if m.is_empty() {
        return w.write_all(b" [ ]\n");
    }
    let mut line = b" [".to_vec();
    for row in m.rows() {
        line.extend(b"\n  ");
        push_row(&mut line, row);
        w.write_all(&line)?;
        line.clear();
    }
    w.write_all(b"]\n")
}

pub(super) fn write_vector<T: Real>(w: &mut dyn Write, v: &[T]) -> io::Result<()> {
    let mut line = b" [ ".to_vec();
    push_row(&mut line, v);
    line.extend(b"]\n");
    w.write_all(&line)
}

/// Appends numbers with a space after each.
pub(super) fn push_row<T: Real>(line: &mut Vec<u8>, row: &[T]) {
    for x in row {
        push_number(line, x.to_f64());
        line.push(b' ');
    }
}

pub(super) fn read_matrix<T: Real>(r: &mut ByteReader<'_>) -> Result<Matrix<T>, CodecError> {
    let mut scratch = Vec::new();
    let mut rows = Rows::default();
    if read_bracket(r)? == Bracket::Both {
        return Ok(Matrix::default());
    }
    loop {
        match r.peek()? {
            Some(b']') => {
                rows.end(r)?;
                read_line_end(r)?;
                return Ok(rows.into_matrix());
            }
            Some(b'\n' | b';') => {
                rows.end(r)?;
                r.bump();
            }
            Some(b) if is_space(b) => r.bump(),
            None => return Err(r.end("a number or `]`")),
            Some(_) => rows.data.push(read_number(r, &mut scratch)?),
        }
    }
}

/// The rows read so far, and the current one.
struct Rows<T> {
    data: Vec<T>,
    /// Number of elements in the complete rows.
    complete: usize,
    /// Number of elements of a row, 0 before the first one is complete.
    cols: usize,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { data: Vec::new(), complete: 0, cols: 0 }
    }
}

impl<T: Real> Rows<T> {
    /// Ends the row, if it has elements.
    fn end(&mut self, r: &ByteReader<'_>) -> Result<(), CodecError> {
        let found = self.data.len() - self.complete;
        if found == 0 {
            return Ok(());
        }
        if self.complete == 0 {
            self.cols = found;
        } else if found != self.cols {
            return Err(CodecError::Unexpected {
                offset: r.offset(),
                expected: format!("{} numbers, as in the first row", self.cols).into(),
                found: format!("a row of {found}"),
            });
        }
        self.complete = self.data.len();
        Ok(())
    }

    fn into_matrix(self) -> Matrix<T> {
        let rows = self.complete.checked_div(self.cols).unwrap_or(0);
        Matrix::from_vec(rows, self.cols, self.data).expect("only complete rows are kept")
    }
}

pub(super) fn read_vector<T: Real>(r: &mut ByteReader<'_>) -> Result<Vector<T>, CodecError> {
    let mut scratch = Vec::new();
    let mut values = Vec::new();
    if read_bracket(r)? == Bracket::Both {
        return Ok(values.into());
    }
    loop {
        match r.peek()? {
            Some(b']') => {
                read_line_end(r)?;
                return Ok(values.into());
            }
            Some(b' ' | b'\t') => r.bump(),
            None => return Err(r.end("a number or `]`")),
            found @ Some(b'\n' | b'\r') => {
                return Err(r.unexpected_byte("the vector on one line", found));
            }
            Some(_) => {
                values.push(read_number(r, &mut scratch)?);
                let next = r.peek()?;
                if !next.is_some_and(|b| is_space(b) || b == b']') {
                    return Err(r.unexpected_byte("a space after a number", next));
                }
            }
        }
    }
}

#[derive(PartialEq)]
pub(super) enum Bracket {
    Open,
    /// `[]`, another form of an empty object.
    Both,
}

pub(super) fn read_bracket(r: &mut ByteReader<'_>) -> Result<Bracket, CodecError> {
    let word = r.word("`[`")?;
    match &word.bytes[..] {
        b"[" => Ok(Bracket::Open),
        b"[]" => Ok(Bracket::Both),
        _ => Err(word.unexpected("`[`")),
    }
}

/// Consumes the `]` and the line end after it, if there is one.
pub(super) fn read_line_end(r: &mut ByteReader<'_>) -> Result<(), CodecError> {
    r.bump();
    if r.peek()? == Some(b'\r') {
        r.bump();
    }
    if r.peek()? == Some(b'\n') {
        r.bump();
    }
    Ok(())
}

/// Reads a number as Kaldi does: it starts with a digit or `-`, or is one of the words for infinity
/// and NaN. `-inf`, which Kaldi writes but does not read, is accepted.
pub(super) fn read_number<T: Real>(r: &mut ByteReader<'_>, scratch: &mut Vec<u8>) -> Result<T, CodecError> {
    let offset = r.offset();
    scratch.clear();
    let mut digit_seen = false;
    let (mut point_allowed, mut exponent_allowed, mut sign_allowed) = (false, true, false);
    let mut first = true;
    r.take_while(scratch, |b| {
        let accepted = match b {
            b'0'..=b'9' => {
                point_allowed |= first;
                digit_seen = true;
                true
            }
            b'-' if first => {
                point_allowed = true;
                true
            }
            b'-' | b'+' => sign_allowed,
            b'.' => std::mem::take(&mut point_allowed),
            b'e' | b'E' if digit_seen && exponent_allowed => {
                (exponent_allowed, point_allowed) = (false, false);
                sign_allowed = true;
                first = false;
                return true;
            }
            _ => false,
        };
        (first, sign_allowed) = (false, false);
        accepted
    })?;
    if scratch.is_empty() || scratch == b"-" {
        r.take_while(scratch, |b| !is_space(b))?;
        if let Some(x) = special_number(scratch) {
            return Ok(T::from_f64(x));
        }
    } else if let Some(x) = parse(scratch) {
        return Ok(x);
    }
    Err(CodecError::Unexpected { offset, expected: "a number".into(), found: describe(scratch) })
}

/// Parses infinity or NaN, in upper or lower case.
fn special_number(word: &[u8]) -> Option<f64> {
    let (sign, name) = word.strip_prefix(b"-").map_or((1.0, word), |rest| (-1.0, rest));
    if name.eq_ignore_ascii_case(b"inf") || name.eq_ignore_ascii_case(b"infinity") {
        Some(sign * f64::INFINITY)
    } else if name.eq_ignore_ascii_case(b"nan") {
        Some(f64::NAN.copysign(sign))
    } else {
        None
    }
}

/// Parses a number, infinity or NaN.
pub(super) fn number<T: Real>(word: &[u8]) -> Option<T> {
    special_number(word).map(T::from_f64).or_else(|| parse(word))
}

/// Parses the nearest number of type `T`; none outside its range, and for an incomplete number such
/// as `1e`.
fn parse<T: Real>(digits: &[u8]) -> Option<T> {
    let digits = str::from_utf8(digits).ok()?;
    // Through f64, an f32 would be rounded twice.
    let x = if size_of::<T>() == size_of::<f32>() {
        T::from_f64(digits.parse::<f32>().ok()?.into())
    } else {
        T::from_f64(digits.parse::<f64>().ok()?)
    };
    x.is_finite().then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(x: f64) -> String {
        let mut out = Vec::new();
        push_number(&mut out, x);
        String::from_utf8(out).unwrap()
    }

    /// Golden strings from `printf '%.7g'`.
    #[test]
    fn numbers_print_as_in_c() {
        for (x, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (100.0, "100"),
            (9_999_999.0, "9999999"),
            (9_999_999.5, "1e+07"),
            (12_345_678.0, "1.234568e+07"),
            (1e7, "1e+07"),
            (1_234_567.5, "1234568"),
            (1_234_566.5, "1234566"),
            (0.1, "0.1"),
            (0.1_f32.into(), "0.1"),
            (1.0 / 3.0, "0.3333333"),
            (2.0 / 3.0, "0.6666667"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (0.000_099_999_996, "0.0001"),
            (0.000_099_999_94, "9.999994e-05"),
            (f32::MAX.into(), "3.402823e+38"),
            (f32::MIN_POSITIVE.into(), "1.175494e-38"),
            (f64::MAX, "1.797693e+308"),
            (-5e-324, "-4.940656e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "-nan"),
        ] {
            assert_eq!(shown(x), text);
        }
    }

    fn matrix(text: &str) -> Result<Matrix<f32>, CodecError> {
        read_matrix(&mut ByteReader::new(&mut text.as_bytes()))
    }

    fn vector(text: &str) -> Result<Vector<f32>, CodecError> {
        read_vector(&mut ByteReader::new(&mut text.as_bytes()))
    }

    #[test]
    fn matrices_in_all_spellings() {
        let expected = Matrix::from_vec(2, 2, vec![1.0, -2.0, 3.5, 4e3]).unwrap();
        for text in [
            " [\n  1 -2 \n  3.5 4e3 ]\n",
            "[ 1 -2 ; 3.5 4E+3 ]",
            "[ 1 -2 \r\n 3.50 4000. \r\n ]\r\n",
            "  \n[ \n\n1\t-2;;3.5 4.0e03]",
        ] {
            assert_eq!(matrix(text).unwrap(), expected, "{text:?}");
        }
        for text in ["[ ]", " [ ]\n", "[]", "[\n\n]"] {
            assert_eq!(matrix(text).unwrap(), Matrix::zeros(0, 0), "{text:?}");
        }
    }

    #[test]
    fn infinity_and_nan_in_any_case() {
        let v = vector(" [ inf Infinity INF -inf -Infinity nan NaN ]\n").unwrap();
        let inf = f32::INFINITY;
        assert_eq!(v.data()[..5], [inf, inf, inf, -inf, -inf]);
        assert!(v[5].is_nan() && v[6].is_nan());
    }

    #[test]
    fn numbers_that_kaldi_refuses() {
        for number in
            [".5", "+1", "x", "1e", "1e+", "1.5.2", "1,5", "0x10", "1e39", "-", "--1", "infx", "1_0", "5-", "é"]
        {
            assert!(matrix(&format!("[ 1 {number} ]")).is_err(), "{number}");
            assert!(vector(&format!("[ 1 {number} ]")).is_err(), "{number}");
        }
        assert_eq!(vector("[ -.5 1. 1e-60 ]").unwrap().data(), [-0.5, 1.0, 0.0]);
    }

    #[test]
    fn errors_say_where_and_what() {
        let message = |text| matrix(text).unwrap_err().to_string();
        assert_eq!(message("[ 1 2 .5 ]"), "at byte 6: expected a number, found `.5`");
        assert_eq!(message("[ 1 2 ; 3 ]"), "at byte 10: expected 2 numbers, as in the first row, found a row of 1");
        assert_eq!(message("[ 1 2"), "at byte 5: expected a number or `]`, found the end");
        assert_eq!(message("( 1 2 )"), "at byte 0: expected `[`, found `(`");
        assert!(message("RIFF\x24\0\0\0WAVEfmt ").contains(": audio, of which features must be made first"));
        assert_eq!(message(" \n "), "at byte 3: expected `[`, found the end");
        let message = vector("[ 1 \n 2 ]").unwrap_err().to_string();
        assert_eq!(message, "at byte 4: expected the vector on one line, found `\\n`");
    }

    #[test]
    fn a_float_is_rounded_once() {
        // The nearest double is exactly between two floats; the decimal number is a little above
        // it.
        let text = "[ 1.00000017881393432617187501 ]";
        assert_eq!(vector(text).unwrap()[0], 1.000_000_2_f32);
    }

    #[test]
    fn vectors_written_and_read() {
        let mut text = Vec::new();
        write_vector(&mut text, &[1.0_f32, 2.5]).unwrap();
        write_vector::<f32>(&mut text, &[]).unwrap();
        assert_eq!(text, b" [ 1 2.5 ]\n [ ]\n");
        let mut rest = &text[..];
        assert_eq!(read_vector::<f64>(&mut ByteReader::new(&mut rest)).unwrap().data(), [1.0, 2.5]);
        assert_eq!(rest, b" [ ]\n");
        assert_eq!(read_vector::<f64>(&mut ByteReader::new(&mut rest)).unwrap().dim(), 0);
        assert!(rest.is_empty());
    }
}
