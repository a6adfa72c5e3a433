//! Writers of segments in the formats of other programs.

use std::io::{self, Write};

use crate::result::Segment;

/// Times that differ by less than this, in seconds, are equal: they differ by rounding.
const SAME_TIME: f64 = 1e-6;

/// Writes NIST's CTM: a line for each segment, with its confidence if it has one. White space in a
/// text or a name becomes an underscore. A segment without a text is written by its number. Start
/// and end are rounded to milliseconds, so that segments without a gap have none in the file.
///
/// # Errors
/// Errors of the writer; [`io::ErrorKind::InvalidInput`] for a time that is not finite.
pub fn write_ctm(writer: &mut dyn Write, recording: &str, channel: &str, segments: &[Segment]) -> io::Result<()> {
    let field = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("_");
    for segment in segments {
        let mut text = field(&segment.text);
        if text.is_empty() {
            text = segment.id.to_string();
        }
        let (start, end) = (millis(segment.start)?, millis(segment.end)?);
        let (recording, channel) = (field(recording), field(channel));
        write!(writer, "{recording} {channel} {} {} {text}", decimal(start), decimal(end.saturating_sub(start)))?;
        match segment.confidence.filter(|confidence| confidence.is_finite()) {
            Some(confidence) => writeln!(writer, " {confidence:.4}")?,
            None => writeln!(writer)?,
        }
    }
    Ok(())
}

/// Returns the nearest number of milliseconds; 0 for times before 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0, and saturates")]
pub(super) fn millis(seconds: f64) -> io::Result<u64> {
    if !seconds.is_finite() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a time of {seconds} s")));
    }
    Ok((seconds.max(0.0) * 1000.0).round() as u64)
}

fn decimal(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// Writes Praat's TextGrid, in its long text format, as UTF-8: an interval tier for each name with
/// its segments, which must not overlap. Empty intervals fill the gaps.
///
/// # Errors
/// Errors of the writer; [`io::ErrorKind::InvalidInput`] for segments that overlap, take no time or
/// end after `duration`, which Praat does not read, and for a duration that is not above 0 and
/// finite.
pub fn write_text_grid(writer: &mut dyn Write, duration: f64, tiers: &[(&str, &[Segment])]) -> io::Result<()> {
    if !(duration.is_finite() && duration > 0.0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a duration of {duration} s")));
    }
    writeln!(writer, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n")?;
    writeln!(writer, "xmin = 0\nxmax = {duration}\ntiers? <exists>\nsize = {}\nitem []:", tiers.len())?;
    for (number, (name, segments)) in (1..).zip(tiers) {
        let mut intervals: Vec<(f64, f64, &str)> = vec![];
        let mut at = 0.0;
        for segment in *segments {
            let start = if (segment.start - at).abs() < SAME_TIME { at } else { segment.start };
            let end = if (segment.end - duration).abs() < SAME_TIME { duration } else { segment.end };
            if !(start >= at && end > start && end <= duration) {
                let said = format!(
                    "'{}' from {} to {} s does not fit after {at} s and before {duration} s",
                    segment.text, segment.start, segment.end
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
            }
            if start > at {
                intervals.push((at, start, ""));
            }
            intervals.push((start, end, &segment.text));
            at = end;
        }
        if at < duration {
            intervals.push((at, duration, ""));
        }
        writeln!(
            writer,
            "    item [{number}]:\n        class = \"IntervalTier\"\n        name = \"{}\"",
            quoted(name)
        )?;
        writeln!(writer, "        xmin = 0\n        xmax = {duration}\n        intervals: size = {}", intervals.len())?;
        for (number, (start, end, text)) in (1..).zip(intervals) {
            writeln!(writer, "        intervals [{number}]:\n            xmin = {start}\n            xmax = {end}")?;
            writeln!(writer, "            text = \"{}\"", quoted(text))?;
        }
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    text.replace('"', "\"\"")
}

/// Writes a JSON object with the utterance and its segments; a number that is not finite is null.
///
/// # Errors
/// Errors of the writer.
pub fn write_json(writer: &mut dyn Write, utterance: &str, segments: &[Segment]) -> io::Result<()> {
    write!(writer, "{{\"utterance\": {}, \"segments\": [", json_string(utterance))?;
    for (place, segment) in segments.iter().enumerate() {
        let before = if place > 0 { ", " } else { "" };
        let number = |value: f64| if value.is_finite() { format!("{value:.3}") } else { "null".into() };
        let (text, start, end) = (json_string(&segment.text), number(segment.start), number(segment.end));
        write!(writer, "{before}{{\"text\": {text}, \"start\": {start}, \"end\": {end}")?;
        if let Some(confidence) = segment.confidence.filter(|confidence| confidence.is_finite()) {
            write!(writer, ", \"confidence\": {confidence:.4}")?;
        }
        write!(writer, "}}")?;
    }
    writeln!(writer, "]}}")
}

fn json_string(text: &str) -> String {
    let mut made = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => made.extend(['\\', c]),
            c if u32::from(c) < 0x20 => made.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => made.push(c),
        }
    }
    made.push('"');
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::read_text_grid;
    use crate::result::FrameTimes;

    fn segments() -> Vec<Segment> {
        let times = FrameTimes::new(0.5);
        vec![Segment::new(1, "say \"hi\"", 1..2, &times).with_confidence(0.5), Segment::new(2, "<b>", 2..4, &times)]
    }

    fn written(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut bytes = vec![];
        write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_format_has_its_own_escapes() {
        let all = segments();
        let ctm = written(|writer| write_ctm(writer, "rec", "1", &all));
        assert_eq!(ctm, "rec 1 0.500 0.500 say_\"hi\" 0.5000\nrec 1 1.000 1.000 <b>\n");
        let number = vec![Segment::new(7, "", 0..1, &FrameTimes::new(0.5))];
        assert_eq!(written(|writer| write_ctm(writer, "rec", "1", &number)), "rec 1 0.000 0.500 7\n");
        let json: serde_json::Value = serde_json::from_str(&written(|writer| write_json(writer, "u\n", &all))).unwrap();
        assert_eq!((&json["utterance"], &json["segments"][0]["text"]), (&"u\n".into(), &"say \"hi\"".into()));
        let grid = written(|writer| write_text_grid(writer, 2.5, &[("words", &all)]));
        assert!(grid.contains("intervals: size = 4") && grid.contains("text = \"say \"\"hi\"\"\""));
        assert!(write_text_grid(&mut vec![], 1.5, &[("words", &all)]).is_err());
        assert!(write_text_grid(&mut vec![], f64::NAN, &[]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_again(
            words in proptest::collection::vec(("[a-c\"<>&\\\\\n é]{0,4}", 0..200_usize, 1..3000_usize), 0..8),
            shift in 0.0001_f64..0.05,
        ) {
            let times = FrameTimes::new(shift);
            let mut at = 0;
            let mut all = vec![];
            for (text, gap, length) in words {
                all.push(Segment::new(7, text, at + gap..at + gap + length, &times));
                at += gap + length;
            }
            let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let near = |a: f64, b: f64| (a - b).abs() < 0.001_001;
            let said: Vec<&Segment> = all.iter().filter(|one| !one.text.trim().is_empty()).collect();
            let ctm = written(|w| write_ctm(w, "a b", "1", &all));
            let mut last = 0.0;
            for (word, segment) in crate::score::read_ctm(&ctm).unwrap().iter().zip(&all) {
                let text = line(&segment.text).replace(' ', "_");
                proptest::prop_assert_eq!(&word.word, if text.is_empty() { "7" } else { &text });
                proptest::prop_assert!(near(word.start, segment.start) && word.start > last - 1e-9);
                proptest::prop_assert!(near(word.start + word.duration, segment.end));
                last = word.start + word.duration;
            }
            proptest::prop_assert_eq!(ctm.lines().count(), all.len());
            let json: serde_json::Value = serde_json::from_str(&written(|w| write_json(w, "u", &all))).unwrap();
            for (value, segment) in json["segments"].as_array().unwrap().iter().zip(&all) {
                proptest::prop_assert_eq!(value["text"].as_str(), Some(&*segment.text));
                proptest::prop_assert!(near(value["end"].as_f64().unwrap(), segment.end));
            }
            let duration = times.seconds(at) + 1.0;
            let grid = read_text_grid(&written(|w| write_text_grid(w, duration, &[("w", &all)]))).unwrap();
            proptest::prop_assert_eq!((grid.len(), &*grid[0].0), (1, "w"));
            proptest::prop_assert_eq!(grid[0].1.len(), said.len());
            for (found, segment) in grid[0].1.iter().zip(said) {
                proptest::prop_assert_eq!(&found.text, &segment.text);
                proptest::prop_assert!(near(found.start, segment.start) && near(found.end, segment.end));
            }
        }
    }

    #[test]
    fn overlapping_words_have_no_text_grid() {
        let times = FrameTimes::new(0.5);
        let all = [Segment::new(1, "a", 0..9, &times), Segment::new(2, "b", 1..2, &times)];
        assert!(write_text_grid(&mut vec![], 9.0, &[("words", &all)]).is_err());
        let none = [Segment::new(1, "a", 3..3, &times)];
        assert!(write_text_grid(&mut vec![], 9.0, &[("words", &none)]).is_err());
        assert!(write_text_grid(&mut vec![], 0.0, &[]).is_err());
    }
}
