//! Help texts in columns, with lines of at most [`WIDTH`] characters.

/// Maximum number of characters in a line of help.
pub(crate) const WIDTH: usize = 100;

/// Breaks each line that is too long between two words; the new lines have the same indent. If the
/// next line is of the same paragraph, it is joined to the rest.
pub(crate) fn wrap(text: &str) -> String {
    let mut wrapped = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut paragraph = line.to_owned();
        while paragraph.chars().count() > WIDTH {
            let Some(next) = lines.next_if(|next| goes_on(line, next)) else { break };
            paragraph.push(' ');
            paragraph.push_str(next);
        }
        let words = paragraph.trim_start();
        let indent = paragraph.len() - words.len();
        wrapped.push_str(&" ".repeat(indent));
        fill(&mut wrapped, words, indent);
    }
    wrapped
}

/// Returns `true` if the next line continues a line of prose.
fn goes_on(line: &str, next: &str) -> bool {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.starts_with("Usage:");
    is_prose(line) && is_prose(next) && !next.starts_with("For example") && !next.starts_with("Example")
}

/// Formats rows of two columns: names and descriptions.
pub(crate) fn columns(rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows: Vec<(String, String)> = rows.into_iter().collect();
    let left = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, about) in rows {
        row(&mut text, &format!("  {name}"), left + 4, &about);
    }
    text
}

/// Appends a name, and its description in the column `at`. A name that is too long has the
/// description below it.
pub(crate) fn row(text: &mut String, name: &str, at: usize, about: &str) {
    text.push_str(name);
    if name.len() < at {
        text.push_str(&" ".repeat(at - name.len()));
    } else {
        text.push('\n');
        text.push_str(&" ".repeat(at));
    }
    fill(text, about, at);
}

/// Breaks words into lines that begin in the column `at`; the text already stands in that column.
fn fill(text: &mut String, words: &str, at: usize) {
    let mut column = at;
    for word in words.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if column > at && column + length > WIDTH {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&" ".repeat(at));
            column = at;
        }
        text.push_str(word);
        column += word.chars().count();
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_indented() {
        let words = "word ".repeat(30);
        let wrapped = wrap(&format!("  {words}\nshort   as it is\n\nend"));
        let lines: Vec<_> = wrapped.lines().collect();
        assert_eq!(lines[2..], ["short   as it is", "", "end"]);
        assert!(lines[..2].iter().all(|line| line.starts_with("  word") && line.len() <= WIDTH), "{wrapped}");
        assert_eq!(wrapped.matches("word").count(), 30);
    }

    #[test]
    fn the_rest_of_a_long_line_goes_on_with_the_next_one() {
        let long = "word ".repeat(30);
        assert_eq!(wrap(&format!("{long}\nnext.\n  code\n")).lines().count(), 3);
        assert_eq!(wrap(&format!("{long}\nUsage: tool\n")).lines().nth(2), Some("Usage: tool"));
        assert_eq!(wrap("short\nnext\n"), "short\nnext\n");
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [("a", "one"), ("long", "two")].map(|(name, about)| (name.to_owned(), about.to_owned()));
        assert_eq!(columns(rows), "  a     one\n  long  two\n");
        let mut text = String::new();
        row(&mut text, "  too-long", 6, "about");
        assert_eq!(text, "  too-long\n      about\n");
    }
}
