//! Segments as files of other programs.

use std::io::{self, Write};

use crate::result::Segment;

/// Writes NIST's CTM: a line for each segment, with its confidence if it has one. White space in a
/// text becomes an underscore; a segment without a text is written by its number.
///
/// # Errors
/// Those of the writer.
pub fn write_ctm(writer: &mut dyn Write, recording: &str, channel: &str, segments: &[Segment]) -> io::Result<()> {
    for segment in segments {
        let mut text = segment.text.split_whitespace().collect::<Vec<_>>().join("_");
        if text.is_empty() {
            text = segment.id.to_string();
        }
        write!(writer, "{recording} {channel} {:.3} {:.3} {text}", segment.start, segment.duration())?;
        match segment.confidence {
            Some(confidence) => writeln!(writer, " {confidence:.4}")?,
            None => writeln!(writer)?,
        }
    }
    Ok(())
}

/// Writes Praat's TextGrid: an interval tier for each name with its segments, which must not
/// overlap; between them are empty intervals.
///
/// # Errors
/// Those of the writer; [`io::ErrorKind::InvalidInput`] for segments that overlap, or end after
/// `duration`, and for a duration that is not finite.
pub fn write_text_grid(writer: &mut dyn Write, duration: f64, tiers: &[(&str, &[Segment])]) -> io::Result<()> {
    if !duration.is_finite() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a duration of {duration} s")));
    }
    writeln!(writer, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n")?;
    writeln!(writer, "xmin = 0\nxmax = {duration}\ntiers? <exists>\nsize = {}\nitem []:", tiers.len())?;
    for (number, (name, segments)) in (1..).zip(tiers) {
        let mut intervals: Vec<(f64, f64, &str)> = vec![];
        let mut at = 0.0;
        for segment in *segments {
            if !(segment.start >= at && segment.end >= segment.start && segment.end <= duration) {
                let said = format!(
                    "'{}' from {} to {} s does not fit after {at} s and before {duration} s",
                    segment.text, segment.start, segment.end
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
            }
            if segment.start > at {
                intervals.push((at, segment.start, ""));
            }
            intervals.push((segment.start, segment.end, &segment.text));
            at = segment.end;
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

/// Writes SubRip subtitles, of at most `most_words` segments each.
///
/// # Errors
/// Those of the writer.
pub fn write_srt(writer: &mut dyn Write, segments: &[Segment], most_words: usize) -> io::Result<()> {
    for (number, (start, end, text)) in (1..).zip(captions(segments, most_words)) {
        writeln!(writer, "{number}\n{} --> {}\n{text}\n", clock(start, ','), clock(end, ','))?;
    }
    Ok(())
}

/// Writes WebVTT subtitles, of at most `most_words` segments each.
///
/// # Errors
/// Those of the writer.
pub fn write_vtt(writer: &mut dyn Write, segments: &[Segment], most_words: usize) -> io::Result<()> {
    writeln!(writer, "WEBVTT\n")?;
    for (start, end, text) in captions(segments, most_words) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(writer, "{} --> {}\n{text}\n", clock(start, '.'), clock(end, '.'))?;
    }
    Ok(())
}

fn captions(segments: &[Segment], most_words: usize) -> impl Iterator<Item = (f64, f64, String)> {
    segments.chunks(most_words.max(1)).map(|group| {
        let text = group.iter().map(|segment| &*segment.text).collect::<Vec<_>>().join(" ");
        (group[0].start, group[group.len() - 1].end, text)
    })
}

/// `HH:MM:SS` and milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are at least 0, and 2^64 ms are not reached"
)]
fn clock(seconds: f64, point: char) -> String {
    let all = (seconds.max(0.0) * 1000.0).round() as u64;
    let (hours, minutes, seconds, millis) = (all / 3_600_000, all / 60_000 % 60, all / 1000 % 60, all % 1000);
    format!("{hours:02}:{minutes:02}:{seconds:02}{point}{millis:03}")
}

/// Writes a JSON object with the utterance and its segments.
///
/// # Errors
/// Those of the writer.
pub fn write_json(writer: &mut dyn Write, utterance: &str, segments: &[Segment]) -> io::Result<()> {
    write!(writer, "{{\"utterance\": {}, \"segments\": [", json_string(utterance))?;
    for (place, segment) in segments.iter().enumerate() {
        let before = if place > 0 { ", " } else { "" };
        let (text, start, end) = (json_string(&segment.text), segment.start, segment.end);
        write!(writer, "{before}{{\"text\": {text}, \"start\": {start:.3}, \"end\": {end:.3}")?;
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
        let srt = written(|writer| write_srt(writer, &all, 2));
        assert_eq!(srt, "1\n00:00:00,500 --> 00:00:02,000\nsay \"hi\" <b>\n\n");
        assert!(written(|writer| write_vtt(writer, &all, 1)).contains("00:00:01.000 --> 00:00:02.000\n&lt;b&gt;\n"));
        let json: serde_json::Value = serde_json::from_str(&written(|writer| write_json(writer, "u\n", &all))).unwrap();
        assert_eq!((&json["utterance"], &json["segments"][0]["text"]), (&"u\n".into(), &"say \"hi\"".into()));
        let grid = written(|writer| write_text_grid(writer, 2.5, &[("words", &all)]));
        assert!(grid.contains("intervals: size = 4") && grid.contains("text = \"say \"\"hi\"\"\""));
        assert!(write_text_grid(&mut vec![], 1.5, &[("words", &all)]).is_err());
        assert!(write_text_grid(&mut vec![], f64::NAN, &[]).is_err());
    }

    #[test]
    fn a_clock_rounds_to_the_next_millisecond() {
        assert_eq!(clock(3599.9996, ','), "01:00:00,000");
    }
}
