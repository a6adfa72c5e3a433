//! Common functions of the programs on lattices.

use kaldera::base::text::from_utf8;
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::io::SymbolTable;
use kaldera::fsa::lattice::Lattice;
use kaldera::io::lattice::CompactLattice;
use kaldera::io::rxfilename::Input;
use tracing::warn;

use crate::kaldi::Failure;

/// The scales that most programs take.
pub(super) struct Scales {
    pub(super) acoustic_scale: f32,
    pub(super) lm_scale: f32,
}

impl Default for Scales {
    fn default() -> Self {
        Self { acoustic_scale: 1.0, lm_scale: 1.0 }
    }
}

impl OptionSet for Scales {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        register_acoustic_scale(registry, &mut self.acoustic_scale);
        registry.add("lm-scale", &mut self.lm_scale, "Factor for graph costs, including language model costs");
    }
}

impl Scales {
    /// Returns a lattice for algorithms, with scaled scores. Logs a warning and returns `None` on
    /// an error.
    pub(super) fn apply(&self, key: &str, lattice: &CompactLattice) -> Option<Lattice> {
        told(key, Lattice::try_from(lattice).and_then(|lattice| lattice.scale(self.lm_scale, self.acoustic_scale)))
    }

    /// Returns an error if a scale cannot be undone.
    pub(super) fn check_invertible(&self) -> Result<(), Failure> {
        check_invertible("acoustic-scale", self.acoustic_scale)?;
        check_invertible("lm-scale", self.lm_scale)
    }
}

pub(super) fn register_acoustic_scale<'a>(registry: &mut dyn Registry<'a>, acoustic_scale: &'a mut f32) {
    registry.add("acoustic-scale", acoustic_scale, "Factor for acoustic costs");
}

pub(super) fn register_inv_acoustic_scale<'a>(registry: &mut dyn Registry<'a>, inv_acoustic_scale: &'a mut f32) {
    registry.add("inv-acoustic-scale", inv_acoustic_scale, "Inverse of --acoustic-scale, as an alternative to it");
}

pub(super) fn register_beam<'a>(registry: &mut dyn Registry<'a>, beam: &'a mut f32) {
    registry.add("beam", beam, "Pruning beam: maximum cost difference to the best path, after scaling");
}

pub(super) fn register_frame_shift<'a>(registry: &mut dyn Registry<'a>, frame_shift: &'a mut f32) {
    registry.add("frame-shift", frame_shift, "Seconds from frame to frame");
}

pub(super) fn register_word_symbol_table<'a>(registry: &mut dyn Registry<'a>, word_symbol_table: &'a mut String) {
    registry.add(
        "word-symbol-table",
        word_symbol_table,
        "Symbol table; if given, the words of each utterance are printed to stderr",
    );
}

pub(super) fn register_write_compact<'a>(registry: &mut dyn Registry<'a>, write_compact: &'a mut bool) {
    registry.add(
        "write-compact",
        write_compact,
        "Write the compact form: words on arcs, transition identifiers in weights",
    );
}

pub(super) fn register_write_lattices<'a>(registry: &mut dyn Registry<'a>, write_lattices: &'a mut String) {
    registry.add("write-lattices", write_lattices, "Where to write the paths as lattices (wspecifier)");
}

/// Returns the scale from `--acoustic-scale` or `--inv-acoustic-scale`.
///
/// # Errors
/// Returns an error if both are given.
pub(super) fn acoustic_scale(scale: f32, inverse: f32) -> Result<f32, Failure> {
    match (scale == 1.0, inverse == 1.0) {
        (_, true) => Ok(scale),
        (true, false) => Ok(1.0 / inverse),
        (false, false) => Err(Failure::Exclusive { first: "acoustic-scale", second: "inv-acoustic-scale" }),
    }
}

pub(super) fn check_invertible(name: &'static str, scale: f32) -> Result<(), Failure> {
    if scale != 0.0 {
        return Ok(());
    }
    Err(Failure::Option {
        name,
        value: scale.to_string(),
        expected: "a number other than 0, as the output is divided by it",
    })
}

/// Returns the value, or logs a warning that the utterance is left out.
pub(super) fn told<T>(key: &str, result: Result<T, kaldera::fsa::Error>) -> Option<T> {
    result.map_err(|error| warn!("leaving out {key}: {error}")).ok()
}

/// Converts the first lattice of the result to Kaldi's form.
pub(super) fn to_kaldi(lattice: &Lattice) -> CompactLattice {
    CompactLattice::from_fsa(lattice, 0).unwrap_or_default()
}

/// Reads the table of words that an option names, if it names one.
pub(super) fn read_words(rxfilename: &str) -> Result<Option<SymbolTable>, Failure> {
    if rxfilename.is_empty() {
        return Ok(None);
    }
    Ok(Some(read_text(rxfilename)?.parse()?))
}

/// Reads a whole file as bytes.
pub(super) fn read_bytes(rxfilename: &str) -> Result<Vec<u8>, Failure> {
    let (mut input, mut bytes) = (Input::open(rxfilename)?, Vec::new());
    std::io::Read::read_to_end(&mut input, &mut bytes)
        .map_err(|source| kaldera::io::Error::Read { name: rxfilename.to_owned(), source })?;
    input.finish()?;
    Ok(bytes)
}

/// Reads a whole file as text.
pub(super) fn read_text(rxfilename: &str) -> Result<String, Failure> {
    from_utf8(read_bytes(rxfilename)?).map_err(|error| {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
        kaldera::io::Error::Read { name: rxfilename.to_owned(), source }.into()
    })
}

/// Prints the words of an utterance to stderr, if there is a table.
///
/// # Errors
/// Returns an error if a word is not in the table.
pub(super) fn say_words(key: &str, words: &[i32], table: Option<&SymbolTable>) -> Result<(), Failure> {
    let Some(table) = table else { return Ok(()) };
    let mut line = format!("{key} ");
    for &label in words {
        line.push_str(table.get(label).ok_or(kaldera::fsa::Error::NoSymbol { label })?);
        line.push(' ');
    }
    crate::log::say(line);
    Ok(())
}
