//! Compression of SVG files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Joins consecutive filled rectangles of the same colour to one path, as a map has hundreds of
/// thousands of them. Rectangles of different colours must not overlap.
pub(super) fn gathered(svg: &str) -> String {
    let mut text = String::new();
    let mut paths: BTreeMap<&str, String> = BTreeMap::new();
    for line in svg.lines() {
        match cell(line) {
            // The background lies below the cells.
            Some(([x, y, width, height], color)) if width.min(height) < LARGE => {
                let path = paths.entry(color).or_default();
                let _ = write!(path, "M{x} {y}h{width}v{height}h-{width}z");
            }
            _ => {
                flush(&mut paths, &mut text);
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    flush(&mut paths, &mut text);
    text
}

/// Lower bound on the smaller side of a rectangle that is not a cell of a map, in pixels.
const LARGE: u32 = 400;

fn flush(paths: &mut BTreeMap<&str, String>, text: &mut String) {
    for (color, path) in std::mem::take(paths) {
        let _ = writeln!(text, "<path fill=\"{color}\" d=\"{path}\"/>");
    }
}

/// Parses the position and the colour of an opaque rectangle in plotters' form.
fn cell(line: &str) -> Option<([u32; 4], &str)> {
    let rest = line.strip_prefix("<rect ")?.strip_suffix(" stroke=\"none\"/>")?;
    let mut parts = rest.split('"');
    let mut value = |name: &str| {
        let (found, value) = (parts.next()?, parts.next()?);
        (found.trim_start() == name).then_some(value)
    };
    let mut pixels = [0; 4];
    for (pixel, name) in pixels.iter_mut().zip(["x=", "y=", "width=", "height="]) {
        *pixel = value(name)?.parse().ok()?;
    }
    (value("opacity=")? == "1").then_some(())?;
    Some((pixels, value("fill=")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_colour_are_one_path_and_all_else_stays() {
        let rect = |x: u32, width: u32, color: &str| {
            format!(
                "<rect x=\"{x}\" y=\"2\" width=\"{width}\" height=\"4\" opacity=\"1\" fill=\"{color}\" stroke=\"none\"/>\n"
            )
        };
        let faint = rect(9, 1, "#000000").replace("opacity=\"1\"", "opacity=\"0.5\"");
        let cells = [rect(1, 2, "#0000FF"), rect(3, 1, "#00FF00"), rect(4, 3, "#0000FF")].concat();
        let background = rect(0, 900, "#FFFFFF").replace("height=\"4\"", "height=\"480\"");
        let svg = format!("<svg>\n{background}{cells}<text>\n a \n</text>\n{faint}</svg>\n");
        let expected = format!(
            "<svg>\n{background}<path fill=\"#0000FF\" d=\"M1 2h2v4h-2zM4 2h3v4h-3z\"/>\n\
            <path fill=\"#00FF00\" d=\"M3 2h1v4h-1z\"/>\n<text>\n a \n</text>\n{faint}</svg>\n"
        );
        assert_eq!(gathered(&svg), expected);
    }
}
