//! Symbol tables of the result of an operation.

use kaldera::fsa::Semiring;
use kaldera::fsa::io::SymbolTable;

use crate::native::files::shown;
use crate::native::fst::CliError;
use crate::native::fst::files::FstFile;
use crate::native::fst::operations::project_side;
use crate::native::fst::options::Options;
use kaldera::fsa::openfst::Side;

/// Rule for the tables of the result, and for the tables that must be equal. A table that one of
/// two files lacks is equal to any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tables {
    /// The operation handles tables itself, or has no result.
    Own,
    /// Labels keep their meaning.
    Kept,
    /// Input and output labels are exchanged.
    Swapped,
    /// Both sides get the table of the side that is kept.
    Projected,
    /// The output table of the first FST and the input table of the second must be equal.
    Chained,
    /// The result has strings of both FSTs: the tables of both sides must be equal.
    Merged,
    /// The result has strings of two acceptors with one kind of labels: all tables must be equal.
    Common,
}

/// The tables of both sides.
type Both = (Option<SymbolTable>, Option<SymbolTable>);

impl Tables {
    /// Returns the tables of the result.
    pub(super) fn result_tables(self, inputs: &[FstFile], options: &Options) -> Result<Both, CliError> {
        let both = |file: &FstFile| (file.input_symbols.clone(), file.output_symbols.clone());
        let name = |at: usize| shown(options.arguments.get(at).map_or("", String::as_str));
        match (self, inputs) {
            (Self::Kept, [file]) => Ok(both(file)),
            (Self::Swapped, [file]) => {
                let (input, output) = both(file);
                Ok((output, input))
            }
            (Self::Projected, [file]) => {
                let kept = match project_side(options)? {
                    Side::Input => &file.input_symbols,
                    Side::Output => &file.output_symbols,
                };
                Ok((kept.clone(), kept.clone()))
            }
            (Self::Chained, [a, b]) => {
                let sides = [("output", name(0)), ("input", name(1))];
                equal(&a.output_symbols, &b.input_symbols, sides)?;
                Ok((a.input_symbols.clone(), b.output_symbols.clone()))
            }
            (Self::Merged | Self::Common, [a, b]) => {
                if self == Self::Common {
                    equal(&a.output_symbols, &b.input_symbols, [("output", name(0)), ("input", name(1))])?;
                    equal(&a.input_symbols, &b.output_symbols, [("input", name(0)), ("output", name(1))])?;
                }
                equal(&a.input_symbols, &b.input_symbols, [("input", name(0)), ("input", name(1))])?;
                equal(&a.output_symbols, &b.output_symbols, [("output", name(0)), ("output", name(1))])?;
                let (first, second) = (both(a), both(b));
                Ok((first.0.or(second.0), first.1.or(second.1)))
            }
            _ => Ok((None, None)),
        }
    }
}

/// Checks that two tables have the same symbols with the same labels.
fn equal(
    a: &Option<SymbolTable>,
    b: &Option<SymbolTable>,
    [(side_a, name_a), (side_b, name_b)]: [(&str, String); 2],
) -> Result<(), CliError> {
    let (Some(a), Some(b)) = (a, b) else { return Ok(()) };
    if a.same_symbols(b) {
        return Ok(());
    }
    let stands_for = |table: &SymbolTable, label| {
        table.get(label).map_or_else(|| "nothing".to_owned(), |symbol| format!("'{symbol}'"))
    };
    let differs = |&(symbol, label): &(&str, i32)| a.get(label) != Some(symbol) || b.get(label) != Some(symbol);
    let example = a.iter().chain(b.iter()).find(differs).map_or_else(String::new, |(_, label)| {
        format!(": label {label} is {} in the first and {} in the second", stands_for(a, label), stands_for(b, label))
    });
    Err(CliError::Failed(format!(
        "the {side_a} symbols of {name_a} and the {side_b} symbols of {name_b} differ{example}; compile both with one table"
    )))
}

/// Returns the semiring of the result, which all inputs with an arc type must share.
pub(super) fn semiring(inputs: &[FstFile], options: &Options) -> Result<Option<Semiring>, CliError> {
    let mut known = inputs.iter().zip(&options.arguments).filter_map(|(file, name)| Some((file.semiring?, name)));
    let Some((first, first_name)) = known.next() else { return Ok(None) };
    match known.find(|(semiring, _)| *semiring != first) {
        None => Ok(Some(first)),
        Some((other, name)) => Err(CliError::Failed(format!(
            "the arcs of {} are of type {}, but the arcs of {} are of type {}; convert one with fstmap --map_type=to_log or --map_type=to_std",
            shown(first_name),
            arc_type(first),
            shown(name),
            arc_type(other)
        ))),
    }
}

/// Returns OpenFst's name of the arc type.
pub(super) fn arc_type(semiring: Semiring) -> &'static str {
    if semiring == Semiring::Log { "log" } else { "standard" }
}
