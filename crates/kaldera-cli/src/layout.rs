//! Help texts in columns, none of whose lines is wider than [`WIDTH`].

/// The most characters in a line of help.
pub(crate) const WIDTH: usize = 100;

/// Breaks each line that is too long between two words; what follows is indented as its beginning is.
pub(crate) fn wrap(text: &str) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        wrapped.push_str(&" ".repeat(indent));
        fill(&mut wrapped, words, indent);
    }
    wrapped
}

/// Rows of two columns: names, and what they are.
pub(crate) fn columns(rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows: Vec<(String, String)> = rows.into_iter().collect();
    let left = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, about) in rows {
        row(&mut text, &format!("  {name}"), left + 4, &about);
    }
    text
}

/// A name, and in the column `at` what it is; below the name, if that is too long.
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

/// Puts words into lines that begin in the column `at`, in which the text stands.
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
    fn columns_stand_below_each_other() {
        let rows = [("a", "one"), ("long", "two")].map(|(name, about)| (name.to_owned(), about.to_owned()));
        assert_eq!(columns(rows), "  a     one\n  long  two\n");
        let mut text = String::new();
        row(&mut text, "  too-long", 6, "about");
        assert_eq!(text, "  too-long\n      about\n");
    }
}
