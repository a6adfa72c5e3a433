//! Record of the entries of a text that were left out, and of the symbols that caused it.

use std::collections::BTreeSet;
use std::fmt;

/// Number of symbols that are named, in alphabetical order.
const NAMED: usize = 10;

/// Entries of a text that were left out, and the symbols that caused it.
///
/// ```
/// let mut words = "<eps> 0\na 1\n".parse::<fsa::io::SymbolTable>()?;
/// let mut options = fsa::graphs::LexiconOptions::default();
/// options.words = fsa::graphs::OutOfVocabulary::Skip;
/// let text = "a x\nb y\nc z\nb y y\n";
/// let lexicon = fsa::graphs::Lexicon::read(
///     text.as_bytes(),
///     &mut Default::default(),
///     &mut words,
///     &options
/// )?;
/// assert_eq!(lexicon.left_out().num_entries(), 3);
/// assert_eq!(lexicon.left_out().to_string(), "3 (2 symbols: b, c)");
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    num_entries: u64,
    symbols: BTreeSet<String>,
    /// Bytes of the symbols.
    bytes: usize,
}

impl LeftOut {
    /// Returns the number of entries.
    pub fn num_entries(&self) -> u64 {
        self.num_entries
    }

    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.num_entries == 0
    }

    /// Returns the symbols that caused it, each once, in alphabetical order.
    pub fn symbols(&self) -> impl ExactSizeIterator<Item = &str> {
        self.symbols.iter().map(String::as_str)
    }

    /// Returns `true` if this is one of the symbols.
    pub(crate) fn has(&self, symbol: &str) -> bool {
        self.symbols.contains(symbol)
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an entry, with its symbols.
    pub(crate) fn add<'a>(&mut self, symbols: impl IntoIterator<Item = &'a str>) {
        self.num_entries += 1;
        for symbol in symbols {
            if !self.symbols.contains(symbol) {
                self.bytes += symbol.len() + 4 * size_of::<String>();
                self.symbols.insert(symbol.to_owned());
            }
        }
    }
}

/// Formats the number of entries, the number of symbols, and the first ten of them.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.num_entries)?;
        let number = self.symbols.len();
        if number == 0 {
            return Ok(());
        }
        write!(f, " ({number} symbol{}: ", if number == 1 { "" } else { "s" })?;
        for (at, symbol) in self.symbols().take(NAMED).enumerate() {
            write!(f, "{}{symbol}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(if number > NAMED { " ...)" } else { ")" })
    }
}
