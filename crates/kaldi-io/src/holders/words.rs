//! Words and lists of words: text in either mode.

use crate::holders::*;

/// One word, to the end of the line; there is no binary form.
impl Holder for String {
    const WHAT: &'static str = "words";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let mut reader = ByteReader::new(reader);
        let word = reader.word("a word")?;
        expect_line_end(&mut reader)?;
        utf8(word.bytes)
    }

    fn write(&self, writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        check_token(self)?;
        Ok(writer.write_all(format!("{self}\n").as_bytes())?)
    }
}

/// The words of the rest of the line; there is no binary form.
impl Holder for Vec<String> {
    const WHAT: &'static str = "lists of words";

    fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let line = utf8(read_line(&mut ByteReader::new(reader))?)?;
        Ok(line.split_ascii_whitespace().map(str::to_owned).collect())
    }

    fn write(&self, writer: &mut dyn Write, _binary: bool) -> Result<(), Error> {
        let mut line = String::new();
        for word in self {
            check_token(word)?;
            line.push_str(word);
            line.push(' ');
        }
        line.push('\n');
        Ok(writer.write_all(line.as_bytes())?)
    }
}

/// Returns `true` for a valid key or word: not empty, without ASCII white space and control
/// characters.
#[doc(alias = "IsToken")]
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| !byte.is_ascii() || byte.is_ascii_graphic())
}

fn check_token(word: &str) -> Result<(), Error> {
    if is_token(word) {
        Ok(())
    } else {
        Err(Error::Unexpected {
            expected: "a word without spaces to write",
            found: format!("'{}'", word.escape_debug()),
        })
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes)
        .map_err(|error| Error::Unexpected { expected: "text in UTF-8", found: excerpt(error.as_bytes()) })
}
