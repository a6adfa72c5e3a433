//! The last line of a terminal, which shows the words so far.

use unicode_width::UnicodeWidthChar as _;

use crate::log::printable;
use crate::native::word_lines::cells;

/// The sequences for a return to the first column, and to erase from the cursor to the end of the
/// line.
const BEGIN: &str = "\r";
const ERASE: &str = "\x1b[K";

/// Contents of the last line.
#[derive(Debug, Default)]
pub(super) struct LiveLine {
    shown: String,
}

impl LiveLine {
    /// Returns the bytes that make the line show the end of `text`, shortened to fit before the
    /// last of `width` cells. A longer line would wrap and could not be overwritten. Returns an
    /// empty string if the line already shows this text.
    pub(super) fn show(&mut self, text: &str, width: usize) -> String {
        let text = tail(&printable(text), width.saturating_sub(1));
        if text == self.shown {
            return String::new();
        }
        // The line is erased after the text, not before it, as it would flicker otherwise.
        let written = format!("{BEGIN}{text}{ERASE}");
        self.shown = text;
        written
    }

    /// Returns the bytes for the words of an utterance that has ended. These words stay, and the
    /// next line becomes the last.
    pub(super) fn end(&mut self, text: &str) -> String {
        let clear = if self.shown.is_empty() { String::new() } else { format!("{BEGIN}{ERASE}") };
        self.shown.clear();
        if text.is_empty() { clear } else { format!("{clear}{}\n", printable(text)) }
    }
}

/// Returns the end of a text in at most `width` cells, with an ellipsis if it is shortened.
fn tail(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.to_owned();
    }
    let (mut start, mut used) = (text.len(), 1);
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        start = at;
    }
    if width == 0 { String::new() } else { format!("…{}", &text[start..]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_wider_than_the_terminal() {
        for text in ["", "one two three", "一二三四五六七八", "a\u{301}e\u{301}i\u{301}", "\x1b[2J\n"] {
            for width in 0..20 {
                let mut line = LiveLine::default();
                let written = line.show(text, width);
                let shown = written.trim_start_matches(BEGIN).trim_end_matches(ERASE);
                assert!(cells(shown) < width.max(1), "{text:?} {width} {shown:?}");
                assert!(!shown.contains(char::is_control), "{shown:?}");
                assert_eq!(line.show(text, width), "");
            }
        }
        assert_eq!(tail("one two three", 8), "…o three");
        assert_eq!(tail("一二三", 4), "…三");
        assert_eq!(tail("one", 3), "one");
    }

    #[test]
    fn what_was_shown_is_erased() {
        let mut line = LiveLine::default();
        assert_eq!(line.show("one two", 80), "\rone two\x1b[K");
        assert_eq!(line.show("one", 80), "\rone\x1b[K");
        assert_eq!(line.end("one"), "\r\x1b[Kone\n");
        assert_eq!(line.end(""), "");
        assert_eq!(line.end("a\x1bb"), "a\\u{1b}b\n");
    }
}
