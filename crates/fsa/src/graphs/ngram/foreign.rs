//! Files of other tools that hold language models and are not read, recognized by their first
//! bytes.

use crate::error::Error;

/// A format with the bytes at an offset, its name, and advice.
struct Foreign {
    at: usize,
    magic: &'static [u8],
    format: &'static str,
    remedy: &'static str,
}

impl Foreign {
    const fn new(magic: &'static [u8], format: &'static str, remedy: &'static str) -> Self {
        Self { at: 0, magic, format, remedy }
    }
}

const DECOMPRESS: &str = "decompress it";
const ALL: &[Foreign] = &[
    Foreign::new(
        b"mmap lm http://kheafield.com/code",
        "KenLM's binary format",
        "use the ARPA file that it was made of",
    ),
    Foreign::new(
        b"SRILM_BINARY_NGRAM",
        "SRILM's binary format",
        "write an ARPA file, as with 'ngram -lm FILE -write-lm lm.arpa'",
    ),
    Foreign::new(b"SRILM_BINARY_COUNTS", "SRILM's counts", "estimate an ARPA file of them, as with 'ngram-count'"),
    Foreign::new(
        b"\0B<ConstArpaLm>",
        "Kaldi's ConstArpaLm (G.carpa)",
        "use the ARPA file that 'arpa-to-const-arpa' made it of",
    ),
    Foreign::new(b"blmt", "IRSTLM's binary format", "write an ARPA file, as with 'compile-lm FILE --text=yes lm.arpa'"),
    Foreign::new(
        b"Qblmt",
        "IRSTLM's binary format",
        "write an ARPA file, as with 'compile-lm FILE --text=yes lm.arpa'",
    ),
    Foreign::new(b"qARPA", "IRSTLM's quantized text", "use the ARPA file that it was made of"),
    Foreign::new(b"iARPA", "IRSTLM's text", "write an ARPA file, as with 'compile-lm FILE --text=yes lm.arpa'"),
    Foreign {
        at: 4,
        magic: b"Darpa Trigram LM",
        format: "the format DMP of Sphinx",
        remedy: "write an ARPA file, as with 'sphinx_lm_convert -i FILE -o lm.arpa'",
    },
    Foreign::new(
        &[0xd6, 0xfd, 0xb2, 0x7e],
        "one of OpenFst's files",
        "an ARPA file is expected, of which graphs are made",
    ),
    Foreign::new(b"PK\x03\x04", "a zip archive, as PyTorch's files are", "use an ARPA file, which n-gram tools write"),
    Foreign::new(&[0x1f, 0x8b], "compressed with gzip", DECOMPRESS),
    Foreign::new(b"BZh", "compressed with bzip2", DECOMPRESS),
    Foreign::new(&[0xfd, b'7', b'z', b'X', b'Z', 0], "compressed with xz", DECOMPRESS),
    Foreign::new(&[0x28, 0xb5, 0x2f, 0xfd], "compressed with zstd", DECOMPRESS),
];

/// Number of bytes that are enough to recognize a format.
pub(super) const LONGEST: usize = 33;

/// Refuses the formats of other tools.
///
/// # Errors
/// [`Error::Foreign`].
pub(super) fn refuse(start: &[u8]) -> Result<(), Error> {
    let is = |of: &&Foreign| start.get(of.at..).is_some_and(|bytes| bytes.starts_with(of.magic));
    match ALL.iter().find(is) {
        Some(&Foreign { format, remedy, .. }) => Err(Error::Foreign { format, remedy }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_told_by_few_bytes() {
        for of in ALL {
            let start = [&vec![7; of.at], of.magic].concat();
            assert!(start.len() <= LONGEST && refuse(&start).unwrap_err().to_string().contains(of.format));
        }
        assert_eq!(OPENFST.to_le_bytes(), ALL.iter().find(|of| of.format.contains("OpenFst")).unwrap().magic);
        for fine in [&b"\\data\\\n"[..], b"", b"Trie Language Model"] {
            assert_eq!(refuse(fine), Ok(()));
        }
    }

    const OPENFST: i32 = 2_125_659_606;
}
