//! Words as subtitles.

use std::io::{self, Write};

use kaldera_base::setters;

use crate::align::write::millis;
use crate::result::Segment;

/// Rules by which words become captions. A caption ends before a pause, and before the word that
/// would make it too long.
///
/// The defaults follow guides for subtitles in English: two lines of 42 characters, 5/6 s to 7 s
/// (Netflix, Timed Text Style Guide, "General Requirements"; the BBC's guidelines have 37 to 42
/// characters, and two lines). Of pauses they only say that a caption belongs to its speech; 1 s is
/// longer than the pauses within a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct CaptionOptions {
    /// Maximum number of characters of a line. A longer word has a line for itself.
    pub line_length: usize,
    /// Maximum number of lines of a caption.
    pub lines: usize,
    /// Longest time for which a caption is shown, in seconds.
    pub max_seconds: f64,
    /// Shortest time for which a caption is shown, in seconds, unless the next one begins earlier.
    pub min_seconds: f64,
    /// Pause between words after which a new caption begins, in seconds.
    pub pause_seconds: f64,
}

setters! {
    CaptionOptions:
    line_length, with_line_length: usize = 42, "With lines of at most this many characters.";
    lines, with_lines: usize = 2, "With at most this many lines.";
    max_seconds, with_max_seconds: f64 = 7.0, "With captions that are shown for at most this many seconds.";
    min_seconds, with_min_seconds: f64 = 0.833, "With captions that are shown for this many seconds, if there is time.";
    pause_seconds, with_pause_seconds: f64 = 1.0, "With a new caption after a pause of this many seconds.";
}

impl CaptionOptions {
    fn check(&self) -> io::Result<()> {
        let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        if self.line_length == 0 || self.lines == 0 {
            return refuse(format!("captions of {} lines of {} characters", self.lines, self.line_length));
        }
        for (name, seconds, least) in [
            ("max_seconds", self.max_seconds, f64::MIN_POSITIVE),
            ("min_seconds", self.min_seconds, 0.0),
            ("pause_seconds", self.pause_seconds, 0.0),
        ] {
            if seconds.is_nan() || seconds < least {
                return refuse(format!("captions with {name} of {seconds}"));
            }
        }
        if self.min_seconds > self.max_seconds {
            return refuse(format!("captions of at least {} and at most {} s", self.min_seconds, self.max_seconds));
        }
        Ok(())
    }
}

/// Writes SubRip subtitles of segments in the order of their times. Segments without a text are
/// left out. SubRip has no escapes: players take text in angle brackets for formatting.
///
/// # Errors
/// Errors of the writer; [`io::ErrorKind::InvalidInput`] for a time that is not finite, and for
/// options that contradict each other.
pub fn write_srt(writer: &mut dyn Write, segments: &[Segment], options: &CaptionOptions) -> io::Result<()> {
    for (number, Caption { start, end, text }) in (1..).zip(captions(segments, options)?) {
        writeln!(writer, "{number}\n{} --> {}\n{text}\n", clock(start, ','), clock(end, ','))?;
    }
    Ok(())
}

/// Writes WebVTT subtitles of segments in the order of their times. Segments without a text are
/// left out.
///
/// # Errors
/// As [`write_srt`].
pub fn write_vtt(writer: &mut dyn Write, segments: &[Segment], options: &CaptionOptions) -> io::Result<()> {
    writeln!(writer, "WEBVTT\n")?;
    for Caption { start, end, text } in captions(segments, options)? {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(writer, "{} --> {}\n{text}\n", clock(start, '.'), clock(end, '.'))?;
    }
    Ok(())
}

/// A caption with its times in milliseconds; no line of its text is empty.
struct Caption {
    start: u64,
    end: u64,
    text: String,
}

/// Makes captions. Each lasts at least a millisecond, as WebVTT asks, and ends before the next one
/// begins.
fn captions(segments: &[Segment], options: &CaptionOptions) -> io::Result<Vec<Caption>> {
    options.check()?;
    let pause = millis(options.pause_seconds.min(f64::MAX))?;
    let [longest, shortest] =
        [options.max_seconds, options.min_seconds].map(|seconds| millis(seconds.min(f64::MAX)).map(|ms| ms.max(1)));
    let (longest, shortest) = (longest?, shortest?);
    let mut all: Vec<Caption> = vec![];
    // Characters of the last line, and the number of lines.
    let (mut width, mut lines) = (0, 0);
    for segment in segments {
        let words = segment.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            continue;
        }
        let own = words.chars().count();
        let (start, end) = (millis(segment.start)?, millis(segment.end)?);
        let fits = width + 1 + own <= options.line_length;
        let goes_on = all.last().filter(|last| {
            start.saturating_sub(last.end) < pause
                && end.saturating_sub(last.start) <= longest
                && (fits || lines < options.lines)
        });
        if goes_on.is_some()
            && let Some(last) = all.last_mut()
        {
            last.text.push(if fits { ' ' } else { '\n' });
            last.text.push_str(&words);
            last.end = last.end.max(end);
            (width, lines) = if fits { (width + 1 + own, lines) } else { (own, lines + 1) };
        } else {
            // Segments that overlap are put one after the other.
            let start = start.max(all.last().map_or(0, |last| last.start.saturating_add(1)));
            all.push(Caption { start, end: end.max(start), text: words });
            (width, lines) = (own, 1);
        }
    }
    let mut next = u64::MAX;
    for caption in all.iter_mut().rev() {
        let Caption { start, end, .. } = *caption;
        caption.end = end.max(start.saturating_add(shortest)).min(start.saturating_add(longest)).min(next);
        next = start;
    }
    Ok(all)
}

/// Formats a time as `HH:MM:SS` and milliseconds.
fn clock(millis: u64, point: char) -> String {
    let (hours, minutes, seconds) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}{point}{:03}", millis % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::FrameTimes;

    fn written(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut bytes = vec![];
        write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn srt(segments: &[Segment], options: &CaptionOptions) -> String {
        written(|writer| write_srt(writer, segments, options))
    }

    /// Words of these times, in tenths of a second.
    fn words(times: &[(&str, std::ops::Range<usize>)]) -> Vec<Segment> {
        times.iter().map(|(text, frames)| Segment::new(1, *text, frames.clone(), &FrameTimes::new(0.1))).collect()
    }

    #[test]
    fn no_caption_holds_a_pause() {
        let all = words(&[("one", 2..5), ("two", 9..12), ("three", 140..144), ("four", 152..155), ("five", 166..170)]);
        let expected = "1\n00:00:00,200 --> 00:00:01,200\none two\n\n2\n00:00:14,000 --> 00:00:15,500\nthree four\n\n\
            3\n00:00:16,600 --> 00:00:17,433\nfive\n\n";
        assert_eq!(srt(&all, &CaptionOptions::default()), expected);
        assert_eq!(srt(&all, &CaptionOptions::default().with_pause_seconds(0.1)).matches(" --> ").count(), 5);
        assert_eq!(srt(&all, &CaptionOptions::default().with_pause_seconds(0.9)).matches(" --> ").count(), 3);
    }

    #[test]
    fn captions_are_no_longer_than_their_lines_and_their_time() {
        let all = words(&[("aaaa", 0..1), ("bbb", 1..2), ("cccccc", 2..3), ("d", 3..4), ("e", 4..5)]);
        let options = CaptionOptions::default().with_line_length(8);
        assert!(
            srt(&all, &options).starts_with("1\n00:00:00,000 --> 00:00:00,400\naaaa bbb\ncccccc d\n\n2\n00:00:00,400 ")
        );
        let options = options.with_lines(1);
        assert!(srt(&all, &options).contains("\ncccccc d\n\n3\n00:00:00,400 --> 00:00:01,233\ne\n"));
        let options = CaptionOptions::default().with_max_seconds(0.3).with_min_seconds(0.0);
        assert_eq!(srt(&all, &options).lines().nth(2), Some("aaaa bbb cccccc"));
        let long = words(&[("a", 0..90), ("b", 90..91)]);
        let expected = "1\n00:00:00,000 --> 00:00:07,000\na\n\n2\n00:00:09,000 --> 00:00:09,833\nb\n\n";
        assert_eq!(srt(&long, &CaptionOptions::default()), expected);
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let wrong = |options: CaptionOptions| write_srt(&mut vec![], &[], &options).is_err();
        let options = CaptionOptions::default();
        assert!(!wrong(options.with_pause_seconds(f64::INFINITY).with_max_seconds(f64::INFINITY)));
        assert!(wrong(options.with_lines(0)) && wrong(options.with_line_length(0)));
        assert!(wrong(options.with_max_seconds(f64::NAN)) && wrong(options.with_max_seconds(0.0)));
        assert!(wrong(options.with_min_seconds(-1.0)) && wrong(options.with_min_seconds(8.0)));
        assert!(wrong(options.with_pause_seconds(f64::NAN)));
    }

    #[test]
    fn texts_are_escaped_where_the_format_has_escapes() {
        let all = words(&[("say \"hi\"", 5..10), ("<b>", 10..20), ("\n&\n\nx", 20..21), (" ", 21..22)]);
        let options = CaptionOptions::default();
        assert_eq!(srt(&all, &options), "1\n00:00:00,500 --> 00:00:02,100\nsay \"hi\" <b> & x\n\n");
        let vtt = written(|writer| write_vtt(writer, &all, &options));
        assert_eq!(vtt, "WEBVTT\n\n00:00:00.500 --> 00:00:02.100\nsay \"hi\" &lt;b&gt; &amp; x\n\n");
    }

    #[test]
    fn a_clock_rounds_to_the_next_millisecond() {
        assert_eq!(clock(millis(3599.9996).unwrap(), ','), "01:00:00,000");
        assert_eq!(clock(millis(59.9995).unwrap(), '.'), "00:01:00.000");
        assert_eq!(clock(millis(-0.5).unwrap(), '.'), "00:00:00.000");
        assert_eq!(clock(360_000_000, ','), "100:00:00,000");
        assert!(millis(f64::NAN).is_err());
    }

    proptest::proptest! {
        #[test]
        fn captions_have_all_words_in_order_and_none_covers_another(
            words in proptest::collection::vec(("[a-c\n é]{0,4}", 0..300_usize, 0..300_usize), 0..20),
            length in 1..20_usize, lines in 1..4_usize, longest in 1..9_u8, pause in 0..5_u8,
        ) {
            let times = FrameTimes::new(0.01);
            let (mut at, mut all) = (0, vec![]);
            for (text, gap, length) in words {
                all.push(Segment::new(7, text, at + gap..at + gap + length, &times));
                // Some overlap.
                at += gap + length / 2;
            }
            let options = CaptionOptions::default()
                .with_line_length(length)
                .with_lines(lines)
                .with_max_seconds(f64::from(longest))
                .with_pause_seconds(f64::from(pause));
            let made = captions(&all, &options).unwrap();
            let said: Vec<&str> = all.iter().flat_map(|one| one.text.split_whitespace()).collect();
            let shown: Vec<&str> = made.iter().flat_map(|one| one.text.split_whitespace()).collect();
            proptest::prop_assert_eq!(said, shown);
            for one in &made {
                proptest::prop_assert!(one.start < one.end && one.end - one.start <= u64::from(longest) * 1000);
                proptest::prop_assert!(one.text.lines().count() <= lines);
                for line in one.text.lines() {
                    proptest::prop_assert!(!line.is_empty());
                    proptest::prop_assert!(line.chars().count() <= length || !line.contains(' ') || line.chars().count() <= 7);
                }
            }
            proptest::prop_assert!(made.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
