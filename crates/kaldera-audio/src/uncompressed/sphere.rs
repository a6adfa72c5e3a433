//! NIST SPHERE, the format of the LDC's corpora.

use std::collections::HashMap;
use std::io::Read;

use kaldi_io::WaveError;
use kaldi_io::wave::HeaderReader;

use crate::error::Error;
use crate::formats::unread_encoding;
use crate::uncompressed::encoding::Encoding;
use crate::uncompressed::layout::Layout;

const NAME: &str = "NIST SPHERE";

/// Reads a header up to the first byte of the samples.
pub(super) fn read(reader: &mut dyn Read) -> Result<Layout, Error> {
    const PREFIX: usize = 16;
    /// Upper bound; usual headers have 1024 bytes.
    const MOST_BYTES: usize = 1 << 20;
    let mut reader = HeaderReader::new(reader, NAME);
    let prefix: [u8; PREFIX] = reader.bytes("its size")?;
    let size = prefix.strip_prefix(b"NIST_1A\n").and_then(|size| str::from_utf8(size).ok()?.trim().parse().ok());
    let size = size.filter(|size| (PREFIX..=MOST_BYTES).contains(size));
    let size = size.ok_or_else(|| reader.contradiction(format!("a size of '{}'", prefix[8..].escape_ascii())))?;
    let mut text = Vec::new();
    let rest = (size - PREFIX) as u64;
    Read::take(&mut *reader.reader, rest).read_to_end(&mut text).map_err(WaveError::Read)?;
    if (text.len() as u64) < rest {
        return Err(WaveError::UnexpectedEnd { container: NAME, wanted: "the end of its size" }.into());
    }
    Fields::of(&String::from_utf8_lossy(&text)).layout()
}

/// Fields of a header by name.
struct Fields<'a>(HashMap<&'a str, &'a str>);

impl<'a> Fields<'a> {
    /// Parses lines `NAME -TYPE VALUE`; other lines are comments.
    fn of(text: &'a str) -> Self {
        let lines = text.lines().take_while(|line| line.trim() != "end_head");
        let field = |line: &'a str| {
            let (name, rest) = line.trim().split_once(' ')?;
            let (_type, value) = rest.trim_start().strip_prefix('-')?.split_once(' ')?;
            Some((name, value.trim()))
        };
        Self(lines.filter_map(field).collect())
    }

    fn number(&self, name: &'static str) -> Result<Option<u64>, Error> {
        let parse =
            |&text: &&str| text.parse().map_err(|_| contradiction(format!("{name} is '{}'", text.escape_debug())));
        self.0.get(name).map(parse).transpose()
    }

    fn layout(&self) -> Result<Layout, Error> {
        let unread = |encoding: String| Err(unread_encoding(NAME, &encoding));
        let coding = self.0.get("sample_coding").copied().unwrap_or("pcm");
        if coding.contains("shorten") {
            return unread("samples compressed with shorten".to_owned());
        }
        let width = self.number("sample_n_bytes")?;
        let encoding = match (coding, width) {
            ("pcm", Some(bytes @ 1..=4)) => Encoding::of_bits(8 * bytes),
            ("ulaw" | "mu-law" | "mulaw", Some(1) | None) => Some(Encoding::MuLaw),
            ("alaw" | "a-law", Some(1) | None) => Some(Encoding::ALaw),
            _ => None,
        };
        let Some(encoding) = encoding else {
            let width = width.map_or_else(|| "an unknown number of".to_owned(), |width| width.to_string());
            return unread(format!("samples of {width} bytes of the coding '{}'", coding.escape_debug()));
        };
        let big_endian = match self.0.get("sample_byte_format").copied() {
            Some("10" | "210" | "3210") => true,
            Some("01" | "012" | "0123") => false,
            _ if matches!(encoding, Encoding::I8 | Encoding::MuLaw | Encoding::ALaw) => false,
            Some(other) => return unread(format!("samples of the byte order '{}'", other.escape_debug())),
            None => return Err(contradiction("there is no sample_byte_format".to_owned())),
        };
        if self.0.get("channels_interleaved").is_some_and(|value| value.eq_ignore_ascii_case("false")) {
            return unread("channels one behind the other".to_owned());
        }
        let channels = self.number("channel_count")?.unwrap_or(1);
        let samp_freq = self.0.get("sample_rate").map(|rate| rate.parse::<f64>());
        let Some(Ok(samp_freq)) = samp_freq else {
            return Err(contradiction("there is no sample_rate that is a number".to_owned()));
        };
        let layout = Layout::new(NAME, encoding, big_endian, channels, samp_freq)?;
        // 0 or missing if the writer could not go back to the header.
        let frames = self.number("sample_count")?.filter(|&frames| frames > 0);
        let data_bytes = frames.zip(layout.frame_bytes()).map(|(frames, frame)| frames.saturating_mul(frame as u64));
        Ok(Layout { data_bytes, ..layout })
    }
}

fn contradiction(what: String) -> Error {
    WaveError::Contradiction { container: NAME, what }.into()
}
