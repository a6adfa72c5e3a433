//! Kaldi's `segments` files: the utterances as parts of recordings.
//!
//! ```text
//! utt1-0001 recording1 0.50 3.25            from 0.5 s to 3.25 s
//! utt1-0002 recording1 4.10 -1              to the end of the recording
//! utt2-0001 recording2 0.00 9.99 1          of channel 1, counted from 0
//! ```

use crate::error::{Error, excerpt};
use crate::lines::{self, LONGEST, Line};
use crate::rxfilename::Input;

/// An utterance: a part of a recording.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Segment {
    /// The key of the utterance.
    pub key: String,
    /// The key of the recording.
    pub recording: String,
    /// Start in seconds, not negative.
    pub start: f64,
    /// End in seconds, after the start; `None` (-1 in the file) is the end of the recording.
    pub end: Option<f64>,
    /// Channel, counted from 0; `None` if the line has none.
    pub channel: Option<usize>,
}

impl Segment {
    /// Parses a line of a segments file. The error is the expected form.
    fn parse(line: &str) -> Result<Segment, &'static str> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (&[key, recording, start, end], channel) = match fields.split_first_chunk() {
            Some((fields, [])) => (fields, None),
            Some((fields, [channel])) => (fields, Some(*channel)),
            _ => return Err("'utterance recording start end' and perhaps a channel"),
        };
        let seconds = |text: &str| text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
        let start = seconds(start).filter(|&start| start >= 0.0).ok_or("a start in seconds, not below 0")?;
        let end = seconds(end).ok_or("an end in seconds")?;
        let end = if end == -1.0 { None } else { Some(end) };
        if end.is_some_and(|end| end <= start) {
            return Err("an end after the start");
        }
        // Kaldi's programs count with 32 bits.
        let channel = channel.map(|text| text.parse().ok().filter(|&channel: &i32| channel >= 0));
        let channel = channel.map(|channel| channel.and_then(|channel| usize::try_from(channel).ok()));
        let channel = channel.map(|channel| channel.ok_or("a channel counted from 0")).transpose()?;
        Ok(Segment { key: key.to_owned(), recording: recording.to_owned(), start, end, channel })
    }
}

/// Iterator over the lines of a segments file.
///
/// After an [`Error::Segment`] or [`Error::LongLine`] the next line follows, as Kaldi's programs
/// skip such lines; any other error is the last item.
///
/// ```
/// use kaldi_io::rxfilename::Input;
/// use kaldi_io::segments::Segments;
/// let file = "utt1 rec1 0.5 3.25\nutt2 rec1 4.5 -1\n";
/// let segments: Vec<_> =
///     Segments::new(Input::from_reader("segments", file.as_bytes())).collect::<Result<_, _>>()?;
/// assert_eq!((segments[0].start, segments[0].end), (0.5, Some(3.25)));
/// assert_eq!((segments[1].recording.as_str(), segments[1].end), ("rec1", None));
/// # Ok::<(), kaldi_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Segments {
    input: Input,
    line: u64,
    ended: bool,
}

impl Segments {
    /// Reads segments from any input.
    pub fn new(input: Input) -> Self {
        Segments { input, line: 0, ended: false }
    }

    /// Opens the segments file at an rxfilename.
    ///
    /// # Errors
    /// The errors of [`Input::open`].
    pub fn open(rxfilename: &str) -> Result<Self, Error> {
        Ok(Self::new(Input::open(rxfilename)?))
    }

    fn read_line(&mut self) -> Result<Option<Segment>, Error> {
        let mut bytes = Vec::new();
        let read = lines::read_line(&mut self.input, self.line == 1, LONGEST, &mut bytes);
        match read.map_err(|source| self.input.read_error(source))? {
            Line::End => return Ok(None),
            Line::TooLong => {
                let name = self.input.name().to_owned();
                return Err(Error::LongLine { name, line: self.line, limit: LONGEST });
            }
            Line::Whole => {}
        }
        let parsed = std::str::from_utf8(&bytes).map_err(|_| "text in UTF-8").and_then(Segment::parse);
        parsed.map(Some).map_err(|expected| Error::Segment {
            name: self.input.name().to_owned(),
            line: self.line,
            expected,
            found: excerpt(bytes.trim_ascii_end()),
        })
    }
}

impl Iterator for Segments {
    type Item = Result<Segment, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.line += 1;
        let segment = self.read_line().transpose();
        self.ended = !matches!(segment, Some(Ok(_) | Err(Error::Segment { .. } | Error::LongLine { .. })));
        segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let segment = Segment::parse("u r 0.5 1e1\r\n").unwrap();
        assert_eq!((segment.key.as_str(), segment.recording.as_str()), ("u", "r"));
        assert_eq!((segment.start, segment.end, segment.channel), (0.5, Some(10.0), None));
        assert_eq!(Segment::parse("\tu  r 0 -1 1").unwrap().end, None);
        assert_eq!(Segment::parse("u r 0 -1.0 1").unwrap().channel, Some(1));
        for (line, expected) in [
            ("", "utterance recording"),
            ("u r 0", "utterance recording"),
            ("u r 0 1 2 3", "utterance recording"),
            ("u r x 1", "start"),
            ("u r -0.1 1", "start"),
            ("u r nan 1", "start"),
            ("u r 0 inf", "end"),
            ("u r 0 1s", "end"),
            ("u r 1 1", "after"),
            ("u r 1 -2", "after"),
            ("u r 0 0", "after"),
            ("u r 0 1 -1", "channel"),
            ("u r 0 1 left", "channel"),
            ("u r 0 1 2147483648", "channel"),
        ] {
            assert!(Segment::parse(line).unwrap_err().contains(expected), "{line}");
        }
    }

    #[test]
    fn a_long_line_is_told_with_the_limit_and_does_not_end_it() {
        let text = format!("\u{feff}u r 0 1\r\nu2 {} 0 1\nu3 r 1 2\n", "r".repeat(LONGEST));
        let items: Vec<_> = Segments::new(Input::from_reader("segments", std::io::Cursor::new(text))).collect();
        assert_eq!(items.len(), 3);
        assert_eq!(items[0].as_ref().unwrap().key, "u");
        let message = items[1].as_ref().unwrap_err().to_string();
        assert!(message.contains("line 2") && message.contains("1048576 bytes"), "{message}");
        assert_eq!(items[2].as_ref().unwrap().key, "u3");
    }

    #[test]
    fn bad_lines_are_told_and_do_not_end_it() {
        let input = Input::from_reader("segments", &b"u r 0 1\n\nu2 r \xFF 1\nu3 r 1 2"[..]);
        let items: Vec<_> = Segments::new(input).collect();
        let messages: Vec<String> =
            items.iter().filter_map(|item| item.as_ref().err()).map(|e| e.to_string()).collect();
        assert_eq!(items.len(), 4);
        assert_eq!(items[3].as_ref().unwrap().key, "u3");
        assert!(messages[0].contains("segments, line 2") && messages[1].contains("line 3: expected text in UTF-8"));
    }
}
