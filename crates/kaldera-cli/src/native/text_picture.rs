//! Pictures as text for a terminal: time to the right, dimension or pitch upwards.

use std::fmt::Write as _;
use std::ops::Range;

use kaldera::feat::nccf_to_pov;
use kaldera::matrix::Matrix;
use unicode_width::UnicodeWidthChar as _;

use crate::native::heat_map::{groups, short};
use crate::native::word_lines::{cells, places};
use crate::native::words::Word;

/// Characters for values from the least to the greatest.
const SHADES: &[u8] = b" .:-=+*#%@";
/// Maximum number of characters in a line, and of lines.
const WIDTH: usize = 88;
const HEIGHT: usize = 24;
/// Maximum number of lines of words.
const WORD_LINES: usize = 8;
/// Number of frames and dimensions that are shown as numbers.
const NUMBERS: (usize, usize) = (4, 8);

/// Formats the first values of a matrix.
pub(super) fn numbers(features: &Matrix<f32>) -> String {
    let mut text = String::new();
    let (frames, dims) = (features.num_rows().min(NUMBERS.0), features.num_cols().min(NUMBERS.1));
    for (frame, row) in features.rows().take(frames).enumerate() {
        let _ = write!(text, "  frame {frame}:");
        for value in &row[..dims] {
            let _ = write!(text, " {value:8.3}");
        }
        text.push_str(if dims < features.num_cols() { " ...\n" } else { "\n" });
    }
    text
}

/// Draws a matrix. Each character is the mean over some frames and dimensions. A dimension is
/// `upwards.1` units of `upwards.0` and may have a name. With `seconds` the time axis ends there
/// and has the full width.
pub(super) fn heat_map(
    features: &Matrix<f32>,
    frame_shift: f64,
    upwards: (&str, f64),
    names: &[String],
    seconds: Option<f64>,
) -> String {
    let frames = features.num_rows();
    let columns = match seconds {
        Some(seconds) => slices(frames, frame_shift, seconds),
        None => groups(frames, WIDTH),
    };
    let rows = groups(features.num_cols(), HEIGHT);
    let mean = |frames: &Range<usize>, dims: &Range<usize>| {
        let values = frames.clone().flat_map(|frame| &features.row_data(frame)[dims.clone()]);
        values.map(|&value| f64::from(value)).sum::<f64>() / (frames.len() * dims.len()) as f64
    };
    let means: Vec<Vec<f64>> =
        rows.iter().map(|dims| columns.iter().map(|frames| mean(frames, dims)).collect()).collect();
    let finite = || means.iter().flatten().copied().filter(|mean| mean.is_finite());
    let (least, most) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let lines = means.iter().map(|line| line.iter().map(|&mean| shade(mean, least, most)).collect::<String>());
    let label = |dims: &Range<usize>| match names.get(dims.start) {
        Some(name) => shortened(name, LABEL).to_owned(),
        None => short((dims.start as f64 * upwards.1).round()),
    };
    let end = end_of(frames, frame_shift, seconds);
    let picture = frame_of(rows.iter().map(label).zip(lines).rev(), columns.len(), &end);
    let unit = upwards.0;
    format!("{:>LABEL$}\n{picture}", unit)
}

/// Draws pitch: `.` for frames that are hardly voiced, `o` if they may be voiced, `@` if they are
/// voiced.
pub(super) fn pitch_track(pitch: &Matrix<f32>, frame_shift: f64) -> String {
    let columns = groups(pitch.num_rows(), WIDTH);
    let highest = pitch.rows().map(|row| f64::from(row[1])).filter(|pitch| pitch.is_finite()).fold(1.0, f64::max);
    let step = highest / (HEIGHT - 1) as f64;
    let line = |level: usize| -> String {
        let middle = level as f64 * step;
        let mark = |frames: &Range<usize>| {
            let rows = frames.clone().map(|frame| pitch.row_data(frame));
            let here = rows.filter(|row| (f64::from(row[1]) - middle).abs() <= step / 2.0);
            match here.map(|row| nccf_to_pov(row[0])).reduce(f32::max) {
                None => ' ',
                Some(voiced) if voiced < 0.3 => '.',
                Some(voiced) if voiced < 0.7 => 'o',
                Some(_) => '@',
            }
        };
        columns.iter().map(mark).collect()
    };
    let lines = (0..HEIGHT).map(|level| (short((level as f64 * step).round()), line(level)));
    let picture = frame_of(lines.rev(), columns.len(), &end_of(pitch.num_rows(), frame_shift, None));
    format!("{:>LABEL$}\n{picture}", "Hz")
}

/// Number of characters of a label at the left.
const LABEL: usize = 9;

/// Returns the frames of each character of an axis of `seconds`: the frame at the start of the
/// character, and the frames that begin within it.
fn slices(frames: usize, frame_shift: f64, seconds: f64) -> Vec<Range<usize>> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let frame = |column: usize| (column as f64 / WIDTH as f64 * seconds / frame_shift) as usize;
    let slice = |column| {
        let start = frame(column).min(frames.saturating_sub(1));
        start..frame(column + 1).clamp(start + 1, frames.max(start + 1))
    };
    (0..WIDTH).map(slice).collect()
}

/// Draws words over a picture of `seconds`, each from its start time on, and a line of their
/// boundaries. Also returns the number of words that have no room.
pub(super) fn words(words: &[Word], seconds: f64) -> (String, usize) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the width")]
    let column = |time: f64| (time / seconds * WIDTH as f64).clamp(0.0, (WIDTH - 1) as f64) as usize;
    let texts: Vec<&str> = words.iter().map(|word| shortened(&word.text, WIDTH)).collect();
    let wishes = words.iter().zip(&texts).map(|(word, text)| (column(word.start), cells(text)));
    let places = places(wishes, 1, WIDTH, WORD_LINES);
    let lines = places.iter().flatten().map(|place| place.line + 1).max().unwrap_or(0);
    let mut boundaries = [b' '; WIDTH];
    for word in words {
        let (start, end) = (column(word.start), column(word.end));
        boundaries[start..=end].iter_mut().filter(|cell| **cell == b' ').for_each(|cell| *cell = b'-');
        (boundaries[start], boundaries[end]) = (b'|', b'|');
    }
    let mut picture = String::new();
    for line in (0..lines).rev() {
        let mut row = String::new();
        for (text, place) in texts.iter().zip(&places) {
            if let Some(place) = place.filter(|place| place.line == line) {
                row.push_str(&" ".repeat(place.left - cells(&row)));
                row.push_str(text);
            }
        }
        let _ = writeln!(picture, "{:>LABEL$} |{row}", if line + 1 == lines { "words" } else { "" });
    }
    let boundaries: String = boundaries.into_iter().map(char::from).collect();
    let _ = writeln!(picture, "{:LABEL$} |{}", "", boundaries.trim_end());
    (picture, places.iter().filter(|place| place.is_none()).count())
}

/// Returns the beginning of a text, in at most `width` cells.
fn shortened(text: &str, width: usize) -> &str {
    if cells(text) <= width {
        return text;
    }
    let mut used = 0;
    // The emoji selector widens the character before it by a cell.
    let end = text.char_indices().find(|&(_, c)| {
        used += if c == '\u{fe0f}' { 1 } else { c.width().unwrap_or(1) };
        used > width
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Returns the label at the end of a time axis.
fn end_of(frames: usize, frame_shift: f64, seconds: Option<f64>) -> String {
    match seconds {
        Some(seconds) => format!("{} s", short(seconds)),
        None if frame_shift > 0.0 => format!("{} s", short(frames as f64 * frame_shift)),
        None => format!("{frames} frames"),
    }
}

/// Draws lines from the top, each with its label, over a time axis.
fn frame_of(lines: impl Iterator<Item = (String, String)>, width: usize, end: &str) -> String {
    let mut picture = String::new();
    for (label, line) in lines {
        let pad = LABEL.saturating_sub(cells(&label));
        let _ = writeln!(picture, "{:pad$}{label} |{}", "", line.trim_end());
    }
    let _ = writeln!(picture, "{:LABEL$} +{}", "", "-".repeat(width));
    let gap = width.saturating_sub(1);
    let _ = writeln!(picture, "{:LABEL$}  0{end:>gap$}", "");
    picture
}

fn shade(value: f64, least: f64, most: f64) -> char {
    if !value.is_finite() {
        return '?';
    }
    let part = if least < most { (value - least) / (most - least) } else { 0.5 };
    let shades = SHADES.len();
    let at = (1..shades).take_while(|&at| part * shades as f64 >= at as f64).count();
    char::from(SHADES[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_blank_and_the_most_is_full() {
        let features = Matrix::from_fn(200, 30, |frame, dim| (frame + dim) as f32);
        let picture = heat_map(&features, 0.01, ("dimension", 1.0), &[], None);
        let lines: Vec<_> = picture.lines().collect();
        assert_eq!(lines.len(), 1 + HEIGHT + 2);
        assert!(lines[1].ends_with('@') && lines[HEIGHT].starts_with("        0 | "), "{picture}");
        assert!(lines[HEIGHT + 2].ends_with(" 2 s"), "{picture}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{picture}");
    }

    #[test]
    fn values_that_are_all_the_same_or_not_finite_can_be_shown() {
        for value in [0.0, 7.0, f32::NAN, f32::INFINITY] {
            let picture = heat_map(&Matrix::from_fn(3, 2, |_, _| value), 0.0, ("dimension", 1.0), &[], None);
            assert_eq!(picture.contains('?'), !value.is_finite(), "{picture}");
            assert!(picture.contains("3 frames"));
        }
        assert_eq!([0.0, 0.95, 1.0].map(|value| shade(value, 0.0, 1.0)), [' ', '@', '@']);
    }

    #[test]
    fn words_begin_at_their_columns() {
        // A second is 44 columns.
        let all = [("one", 0.25, 0.5), ("two", 0.5, 1.0), ("三四五", 1.01, 1.02), ("six", 1.05, 1.99)];
        let all = all.map(|(text, start, end)| Word::new(text, start, end));
        let (picture, left_out) = words(&all, 2.0);
        let expected = format!(
            "    words |{:46}six\n{:9} |{:11}one{:8}two{:19}三四五\n{:9} |{:11}|----------|---------------------| |{}|\n",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
            "-".repeat(40)
        );
        assert_eq!((&*picture, left_out), (&*expected, 0));
        let crowd: Vec<Word> = (0..30).map(|_| Word::new("same", 1.0, 1.5)).collect();
        assert_eq!(words(&crowd, 2.0).1, 30 - WORD_LINES);
        assert_eq!(words(&[Word::new(&"w".repeat(200), 0.5, 1.0)], 2.0).1, 0);
    }

    #[test]
    fn a_text_is_cut_where_its_cells_end() {
        assert_eq!((shortened("three", 3), shortened("one", 3), shortened("一二三", 5)), ("thr", "one", "一二"));
        for text in ["e\u{301}", "☁\u{fe0f}", "👩\u{200d}🔬", "a\u{7}", "\u{644}\u{627}"] {
            let text = text.repeat(40_000);
            for width in [0, 1, LABEL, WIDTH] {
                assert!(cells(shortened(&text, width)) <= width, "{width}");
            }
        }
    }

    #[test]
    fn maps_of_the_same_time_are_equally_wide() {
        let names = ["<blk>", "a"].map(str::to_owned);
        let few = Matrix::from_fn(4, 2, |frame, dim| (frame / 2 * dim) as f32);
        let picture = heat_map(&few, 0.5, ("token", 1.0), &names, Some(2.0));
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines[1], format!("        a |{:44}{}", "", "@".repeat(44)));
        assert_eq!(lines[2], "    <blk> |");
        assert!(lines[4].ends_with(" 2 s") && lines[4].len() == 11 + WIDTH, "{picture}");
        assert_eq!(slices(0, 0.5, 2.0)[0], 0..1);
        assert_eq!(slices(1000, 0.002, 2.0).last().cloned(), Some(988..1000));
    }

    #[test]
    fn pitch_is_at_its_height() {
        let pitch = Matrix::from_fn(50, 2, |frame, col| if col == 0 { 0.99 } else { 100.0 + 2.0 * frame as f32 });
        let picture = pitch_track(&pitch, 0.01);
        let top = picture.lines().nth(1).unwrap_or_default();
        assert!(top.contains("198 |") && top.ends_with('@'), "{picture}");
    }

    #[test]
    fn a_short_row_is_shown_whole() {
        assert_eq!(numbers(&Matrix::from_fn(1, 2, |_, col| col as f32)), "  frame 0:    0.000    1.000\n");
    }
}
