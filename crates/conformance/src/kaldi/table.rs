//! A strict reader of the files that Kaldi's programs write, for comparison only. It shares no
//! code with `kaldi-io`, so that one mistake cannot hide another. Every byte must be accounted
//! for.

/// The layout of a file. The known answer decides; our output is read the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Binary objects, each after its key and `\0B`.
    Archive,
    /// One binary object, nothing else.
    Object,
    /// Objects in HTK's format, each after its key.
    Htk,
    /// Text.
    Text,
}

/// One object of a table.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Kaldi's token (`FM`, `DV`, ...), or the header's fields that are not dimensions.
    pub(super) kind: String,
    pub(super) dims: (usize, usize),
    pub(super) rows: Vec<Vec<f64>>,
}

/// A whole file.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    /// Text with `#` in the place of every number; empty for binary files.
    pub(super) layout: String,
}

impl Format {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let value = bytes.iter().position(|&byte| byte == b' ').map_or(&[][..], |space| &bytes[space + 1..]);
        if bytes.starts_with(b"\0B") {
            Self::Object
        } else if value.starts_with(b"\0B") {
            Self::Archive
        } else if bytes.contains(&0) {
            Self::Htk
        } else {
            Self::Text
        }
    }

    /// Reads the whole of `bytes`; the error describes the first fault and its position.
    pub(super) fn read(self, bytes: &[u8]) -> Result<Table, String> {
        if self == Self::Text {
            return text(std::str::from_utf8(bytes).map_err(|error| error.to_string())?);
        }
        let mut reader = Reader { bytes, at: 0 };
        let mut entries = Vec::new();
        while reader.at < bytes.len() {
            let start = reader.at;
            let entry = match self {
                Self::Object => reader.object(String::new()),
                Self::Htk => reader.token().and_then(|key| reader.htk(key)),
                _ => reader.token().and_then(|key| reader.object(key)),
            };
            entries.push(entry.ok_or_else(|| {
                format!("the object that starts at byte {start} is malformed near byte {}", reader.at)
            })?);
        }
        Ok(Table { entries, layout: String::new() })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let taken = self.bytes.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(*taken)
    }

    /// Text up to and without the next space, which is swallowed.
    fn token(&mut self) -> Option<String> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b' ')?;
        let token = std::str::from_utf8(&rest[..length]).ok()?;
        self.at += length + 1;
        (!token.is_empty()).then(|| token.to_owned())
    }

    fn dimension(&mut self) -> Option<usize> {
        let [size, number @ ..] = self.take::<5>()?;
        (size == 4).then(|| usize::try_from(i32::from_le_bytes(number)).ok())?
    }

    /// A matrix or vector after its key, from the `\0B` on.
    fn object(&mut self, key: String) -> Option<Entry> {
        (self.take()? == *b"\0B").then_some(())?;
        let kind = self.token()?;
        let vector = kind.ends_with('V');
        let num_rows = if vector { 1 } else { self.dimension()? };
        let num_cols = self.dimension()?;
        let number = match kind.as_str() {
            "FM" | "FV" => |reader: &mut Self| reader.take().map(|bytes| f64::from(f32::from_le_bytes(bytes))),
            "DM" | "DV" => |reader: &mut Self| reader.take().map(f64::from_le_bytes),
            _ => return None,
        };
        let rows = self.rows(num_rows, num_cols, number)?;
        Some(Entry { key, kind, dims: (num_rows, num_cols), rows })
    }

    /// A matrix after its key in HTK's big-endian format: frames, period, bytes per frame, kind of
    /// features.
    fn htk(&mut self, key: String) -> Option<Entry> {
        let num_rows = usize::try_from(i32::from_be_bytes(self.take()?)).ok()?;
        let period = i32::from_be_bytes(self.take()?);
        let frame_bytes = usize::from(u16::from_be_bytes(self.take()?));
        let kind = u16::from_be_bytes(self.take()?);
        (frame_bytes % 4 == 0).then_some(())?;
        let rows = self.rows(num_rows, frame_bytes / 4, |reader| {
            reader.take().map(|bytes| f64::from(f32::from_be_bytes(bytes)))
        })?;
        let kind = format!("HTK period {period}, kind {kind}");
        Some(Entry { key, kind, dims: (num_rows, frame_bytes / 4), rows })
    }

    fn rows(
        &mut self,
        num_rows: usize,
        num_cols: usize,
        number: fn(&mut Self) -> Option<f64>,
    ) -> Option<Vec<Vec<f64>>> {
        // An untrusted size must not allocate more than the file can hold.
        (num_rows.checked_mul(num_cols)? <= self.bytes.len()).then_some(())?;
        let empty = num_cols == 0;
        (0..if empty { 0 } else { num_rows }).map(|_| (0..num_cols).map(|_| number(self)).collect()).collect()
    }
}

/// Text tables and single objects. A line that opens a matrix starts an entry, each further line up
/// to the `]` is a row; any other line is an entry of one row. Every number counts, but for the key
/// in front.
fn text(text: &str) -> Result<Table, String> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut layout = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let mut row = Vec::new();
        let starts = !inside;
        if starts {
            let key = line.split_whitespace().next().filter(|&first| first != "[").unwrap_or_default();
            entries.push(Entry { key: key.to_owned(), kind: "text".into(), dims: (0, 0), rows: Vec::new() });
        }
        let mut rest = line;
        let mut first = starts;
        while let Some(begin) = rest.find(|c: char| !c.is_ascii_whitespace()) {
            let length = rest[begin..].find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len() - begin);
            let token = &rest[begin..begin + length];
            layout.push_str(&rest[..begin]);
            match token {
                "[" if !inside => inside = true,
                "]" if inside => inside = false,
                _ => {}
            }
            match token.parse() {
                Ok(number) if !first => {
                    row.push(number);
                    layout.push('#');
                }
                _ => layout.push_str(token),
            }
            first = false;
            rest = &rest[begin + length..];
        }
        layout.push_str(rest);
        if let Some(entry) = entries.last_mut().filter(|_| !row.is_empty()) {
            entry.dims = (entry.dims.0 + 1, entry.dims.1.max(row.len()));
            entry.rows.push(row);
        }
    }
    if inside { Err("a matrix or vector is never closed".into()) } else { Ok(Table { entries, layout }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(key: &str, rows: &[[f32; 2]]) -> Vec<u8> {
        let mut bytes = format!("{key} \0BFM ").into_bytes();
        for dim in [rows.len(), if rows.is_empty() { 0 } else { 2 }] {
            bytes.push(4);
            bytes.extend(i32::try_from(dim).unwrap().to_le_bytes());
        }
        bytes.extend(rows.iter().flatten().flat_map(|value| value.to_le_bytes()));
        bytes
    }

    #[test]
    fn archives_are_read_to_the_last_byte() {
        let mut bytes = archive("a", &[[1.0, 2.5], [-3.0, f32::INFINITY]]);
        bytes.extend(archive("b", &[]));
        assert_eq!(Format::of(&bytes), Format::Archive);
        let table = Format::Archive.read(&bytes).unwrap();
        assert_eq!(table.entries[0].rows, [[1.0, 2.5], [-3.0, f64::INFINITY]]);
        assert_eq!((table.entries[1].key.as_str(), table.entries[1].dims), ("b", (0, 0)));
        for length in 1..bytes.len() {
            let whole = length == bytes.len() - archive("b", &[]).len();
            assert_eq!(Format::Archive.read(&bytes[..length]).is_ok(), whole, "{length}");
        }
        bytes.push(b'x');
        assert!(Format::Archive.read(&bytes).is_err());
        assert!(Format::Archive.read(b"k \0BFM \x04\xff\xff\xff\x7f\x04\xff\xff\xff\x7f").is_err());
    }

    #[test]
    fn vectors_doubles_objects_and_htk_are_read() {
        let mut vector = b"v \0BDV \x04\x01\0\0\0".to_vec();
        vector.extend(0.1f64.to_le_bytes());
        assert_eq!(Format::Archive.read(&vector).unwrap().entries[0].rows, [[0.1]]);
        let object = archive("", &[[1.0, 2.0]]).split_off(1);
        assert_eq!(Format::of(&object), Format::Object);
        assert_eq!(Format::Object.read(&object).unwrap().entries[0].dims, (1, 2));
        let mut htk = b"h \0\0\0\x01\0\x01\x86\xa0\0\x04\0\x46".to_vec();
        htk.extend(1.5f32.to_be_bytes());
        assert_eq!(Format::of(&htk), Format::Htk);
        let table = Format::Htk.read(&htk).unwrap();
        assert_eq!(
            (table.entries[0].kind.as_str(), &table.entries[0].rows),
            ("HTK period 100000, kind 70", &vec![vec![1.5]])
        );
    }

    #[test]
    fn text_keeps_its_layout_apart_from_its_numbers() {
        let table = text("17  [\n  1 -2.5 \n  3e-05 nan ]\nutt 1.25 \ne  [ ]\n").unwrap();
        assert_eq!(table.layout, "17  [\n  # # \n  # # ]\nutt # \ne  [ ]\n");
        assert_eq!(table.entries.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["17", "utt", "e"]);
        assert_eq!(table.entries[0].rows[0], [1.0, -2.5]);
        assert_eq!(table.entries[1].rows, [[1.25]]);
        assert!(text("a  [\n 1 2\n").is_err());
        assert_eq!(text(" [ 1 2 ]\n").unwrap().entries[0].rows, [[1.0, 2.0]]);
    }
}
