//! Temporary.
use std::collections::HashMap;

use crate::Error;

/// Symbols with their numbers.
#[derive(Debug, Clone, Default)]
pub struct SymbolTable {
    ids: HashMap<String, i32>,
    symbols: std::collections::BTreeMap<i32, String>,
}

impl SymbolTable {
    /// The number.
    pub fn id(&self, symbol: &str) -> Option<i32> {
        self.ids.get(symbol).copied()
    }

    /// The symbol.
    pub fn symbol(&self, id: i32) -> Option<&str> {
        self.symbols.get(&id).map(String::as_str)
    }

    /// Adds.
    pub fn add(&mut self, symbol: &str) -> Result<i32, Error> {
        if self.ids.is_empty() {
            self.ids.insert("<eps>".into(), 0);
            self.symbols.insert(0, "<eps>".into());
        }
        let id = self.symbols.last_key_value().map_or(0, |(id, _)| id + 1);
        self.ids.insert(symbol.into(), id);
        self.symbols.insert(id, symbol.into());
        Ok(id)
    }
}
