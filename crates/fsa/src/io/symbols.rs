//! Symbol tables: the symbols of labels.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc as Shared;

use crate::core::arc::EPSILON;
use crate::error::parse::ParseErrorKind;
use crate::error::{Error, Quantity};
use crate::io::bytes::{Bytes, string};
use crate::io::cursor::Cursor;
use crate::support::ids::number;
use crate::support::symbols::Symbols;

/// First bytes of a table in OpenFst's binary files.
const MAGIC: i32 = 2_125_658_996;

/// Symbols and their numbers, one to one, in the order in which they were added. OpenFst gives the
/// words that a relabelled transducer lacks one number, so a binary file can have a number, or a
/// symbol, twice: the last symbol of a number and the first number of a symbol are then found.
///
/// The text format is the one of OpenFst, Kaldi (`words.txt`) and k2: a symbol and its number on
/// each line. Numbers are labels: 0 is epsilon.
///
/// ```
/// use fsa::io::SymbolTable;
///
/// let words: SymbolTable = "<eps> 0\nhello 1\n".parse()?;
/// assert_eq!((words.find("hello"), words.get(1), words.get(2)), (Some(1), Some("hello"), None));
/// assert_eq!(words.to_string(), "<eps>\t0\nhello\t1\n");
/// # Ok::<(), fsa::Error>(())
/// ```
///
/// Clones share their symbols until one of them gets another.
#[derive(Clone, Default)]
pub struct SymbolTable {
    name: String,
    symbols: Shared<Symbols>,
}

impl SymbolTable {
    /// Creates a table without symbols, with a name that only OpenFst's binary files keep.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of symbols.
    pub fn len(&self) -> usize {
        self.symbols.labels.len()
    }

    /// Returns `true` if there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.symbols.labels.is_empty()
    }

    /// Returns the symbol of a label.
    pub fn get(&self, label: i32) -> Option<&str> {
        self.symbols.of_label(label).map(|at| self.symbols.text(at))
    }

    /// Returns the label of a symbol.
    #[doc(alias = "Find")]
    pub fn find(&self, symbol: &str) -> Option<i32> {
        self.symbols.find(symbol).map(|at| self.symbols.labels[at as usize])
    }

    /// Returns the symbols with their labels, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, i32)> {
        self.symbols.labels.iter().enumerate().map(|(at, &label)| (self.symbols.text(number(at)), label))
    }

    /// Returns the number of bytes in memory, which clones may share.
    pub fn num_bytes(&self) -> usize {
        self.symbols.bytes()
    }

    /// Returns `true` if both tables have the same symbols with the same labels, in any order.
    /// Names are ignored, as when OpenFst compares tables.
    ///
    /// ```
    /// use fsa::io::SymbolTable;
    ///
    /// let (one, other) =
    ///     ("a 0\nb 1\n".parse::<SymbolTable>()?, "b 1\na 0\n".parse::<SymbolTable>()?);
    /// assert!(one.same_symbols(&other) && one != other);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    #[doc(alias = "CompatSymbols")]
    pub fn same_symbols(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(symbol, label)| other.find(symbol) == Some(label))
    }

    /// Adds a symbol.
    ///
    /// # Errors
    /// [`Error::RepeatedSymbol`] if the table has the symbol or the label already.
    #[doc(alias = "AddSymbol")]
    pub fn add(&mut self, symbol: &str, label: i32) -> Result<(), Error> {
        if let Some(what) = self.has(symbol, label) {
            return Err(Error::RepeatedSymbol { what, symbol: symbol.to_owned(), label });
        }
        Shared::make_mut(&mut self.symbols).add(symbol, label).map(|_| ())
    }

    /// Returns the label of a symbol, which gets the one after the highest if it has none; an empty
    /// table gets `<eps>` first, as 0.
    ///
    /// ```
    /// let mut words = fsa::io::SymbolTable::default();
    /// assert_eq!((words.find_or_add("hello")?, words.find_or_add("<eps>")?), (1, 0));
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the highest label is the highest of all.
    pub fn find_or_add(&mut self, symbol: &str) -> Result<i32, Error> {
        if self.is_empty() {
            self.add("<eps>", EPSILON)?;
        }
        if let Some(label) = self.find(symbol) {
            return Ok(label);
        }
        let too_large = Error::TooLarge { what: Quantity::SymbolLabel, size: i32::MAX as u64 + 1 };
        let label = self.symbols.highest.checked_add(1).ok_or(too_large)?;
        self.add(symbol, label)?;
        Ok(label)
    }

    /// Returns the name of the part, symbol or label, that the table has already.
    fn has(&self, symbol: &str, label: i32) -> Option<&'static str> {
        if self.symbols.find(symbol).is_some() {
            Some("a symbol")
        } else {
            self.symbols.of_label(label).map(|_| "a label")
        }
    }

    /// Reads a table from one of OpenFst's binary files. It shares its symbols with `like` if they
    /// are the same.
    pub(super) fn read(bytes: &mut Bytes<'_>, like: Option<&Self>) -> Result<Self, Error> {
        if bytes.i32()? != MAGIC {
            return Err(bytes.error("a symbol table begins with another number"));
        }
        let mut table = Self::new(bytes.string()?);
        let _available_key = bytes.i64()?;
        let len = bytes.i64()?;
        // A symbol takes at least 12 bytes.
        let len = bytes.count(len, 12)?;
        let mut same = like.filter(|like| like.len() == len);
        let mut symbols = Symbols::default();
        if same.is_none() {
            symbols.reserve(len);
        }
        let mut symbol = String::new();
        for at in 0..len {
            symbol.clear();
            bytes.string_into(&mut symbol)?;
            let label = i32::try_from(bytes.i64()?).map_err(|_| bytes.error("a label of more than 32 bits"))?;
            if let Some(like) = same {
                if like.symbols.labels[at] == label && like.symbols.text(number(at)) == symbol {
                    continue;
                }
                same = None;
                symbols.reserve(len);
                like.iter().take(at).try_for_each(|(symbol, label)| symbols.append(symbol, label).map(|_| ()))?;
            }
            symbols.append(&symbol, label)?;
        }
        table.symbols = same.map_or_else(|| Shared::new(symbols), |like| Shared::clone(&like.symbols));
        Ok(table)
    }

    /// Writes the table in the format of OpenFst's binary files.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let available = self.iter().map(|(_, label)| i64::from(label) + 1).max().unwrap_or(0);
        out.extend(MAGIC.to_le_bytes());
        string(out, &self.name)?;
        out.extend(available.to_le_bytes());
        out.extend(i64::from(Error::fit(Quantity::Symbols, self.len())?).to_le_bytes());
        for (symbol, label) in self.iter() {
            string(out, symbol)?;
            out.extend(i64::from(label).to_le_bytes());
        }
        Ok(())
    }
}

impl PartialEq for SymbolTable {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && (Shared::ptr_eq(&self.symbols, &other.symbols) || self.iter().eq(other.iter()))
    }
}

impl Eq for SymbolTable {}

impl fmt::Debug for SymbolTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SymbolTable {:?} ", self.name)?;
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Reads a symbol and its label from each line.
impl FromStr for SymbolTable {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut table = Self::default();
        let mut cursor = Cursor::new(text);
        while cursor.next_line() {
            let symbol = cursor.expect("a symbol")?;
            let number = cursor.expect("a label")?;
            let label: i32 = cursor.parse(number, "a label, 0 or above")?;
            if label < 0 {
                let what = "a label, 0 or above";
                return Err(cursor.error(ParseErrorKind::Expected { what }, number.position));
            }
            cursor.end_of_line()?;
            if let Some(what) = table.has(symbol.text, label) {
                return Err(cursor.error(ParseErrorKind::Repeated { what }, symbol.position));
            }
            table.add(symbol.text, label)?;
        }
        Ok(table)
    }
}

/// Prints a symbol, a tab and its label on each line.
impl fmt::Display for SymbolTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(symbol, label)| writeln!(f, "{symbol}\t{label}"))
    }
}
