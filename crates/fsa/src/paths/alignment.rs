//! Alignment of the symbols of two sequences.

use ragged_core::Ragged;

use crate::core::arc::{Arc, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::FsaVec;
use crate::core::graph::Graph;
use crate::error::{Error, Quantity};

/// Name of the attribute with the symbols of the reference, 0 if it has none.
pub const REF_LABELS: &str = "ref_labels";
/// Name of the attribute with the symbols of the hypothesis, 0 if it has none.
pub const HYP_LABELS: &str = "hyp_labels";

/// Aligns each hypothesis with a reference, so that as few symbols as possible are substituted,
/// inserted or deleted: the Levenshtein distance.
///
/// Both are `[sequence][symbol]`, of symbols other than 0 and -1; `hyp_to_ref` has the index of the
/// reference of each hypothesis. For each hypothesis there is a linear FSA: one arc for each pair
/// of symbols and one final arc. The label is the symbol if both have the same, else 0; the
/// attributes [`REF_LABELS`] and [`HYP_LABELS`] have the symbols of either side, 0 if it has none,
/// -1 on the final arc. The score is 0 if the symbols agree, else -1, so that the total is the
/// distance with its sign turned. Of several alignments one with most substitutions is chosen, as
/// in k2. O(symbols of the reference × symbols of the hypothesis) time, and as many bytes.
///
/// ```
/// use fsa::paths::{REF_LABELS, levenshtein_alignment, total_scores};
/// use fsa::Semiring;
/// use ragged_core::Ragged;
///
/// let refs = Ragged::from_lists(&[vec![7, 8, 9]])?;
/// let hyps = Ragged::from_lists(&[vec![7, 9], vec![7, 8, 9]])?;
/// let aligned = levenshtein_alignment(&refs, &hyps, &[0, 0])?;
/// assert_eq!(total_scores::<f64, _>(aligned.fsas(), Semiring::Tropical)?, [-1.0, 0.0]);
/// assert_eq!(aligned.fsas().labels(), [7, 0, 9, -1, 7, 8, 9, -1]);
/// assert_eq!(aligned.attributes().ints(REF_LABELS).unwrap(), [7, 8, 9, -1, 7, 8, 9, -1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Axes`] unless both have two axes; [`Error::Size`] if there is not one reference for
/// each hypothesis; [`Error::OutOfRange`] if there is no such reference; [`Error::Symbol`] for
/// symbols below 1; [`Error::TooLarge`].
#[doc(alias = "levenshtein_distance")]
pub fn levenshtein_alignment(
    refs: &Ragged<i32>,
    hyps: &Ragged<i32>,
    hyp_to_ref: &[i32],
) -> Result<Graph<FsaVec>, Error> {
    for symbols in [refs, hyps] {
        if symbols.num_axes() != 2 {
            return Err(Error::Axes { what: Quantity::Sequences, expected: 2, found: symbols.num_axes() });
        }
        if let Some(position) = symbols.values().iter().position(|&symbol| symbol < 1) {
            return Err(Error::Symbol { position, symbol: symbols.values()[position], least: 1 });
        }
    }
    Error::same_size(Quantity::References, hyps.num_rows(), hyp_to_ref.len())?;
    let (mut parts, mut sides) = (Vec::with_capacity(hyps.num_rows()), [Vec::new(), Vec::new()]);
    let mut table = Table::default();
    for (hyp, &which) in hyps.rows().zip(hyp_to_ref) {
        let Some(reference) = usize::try_from(which).ok().filter(|&which| which < refs.num_rows()) else {
            let max = i64::from(Error::fit(Quantity::References, refs.num_rows())?) - 1;
            return Err(Error::OutOfRange { what: Quantity::Reference, min: 0, max, found: which.into() });
        };
        let reference = refs.row(reference);
        let pairs = table.align(reference, hyp)?;
        let mut builder = SortedFsaBuilder::default();
        Error::fit(Quantity::States, pairs.len() + 2)?;
        for (state, (a, b)) in (0..).zip(pairs.into_iter().chain([(FINAL, FINAL)])) {
            let (label, score) = if a == b { (a, 0.0) } else { (0, -1.0) };
            builder.arcs.push(Arc::new(state, state + 1, label, score));
            builder.end_state();
            sides[0].push(a);
            sides[1].push(b);
        }
        builder.end_state();
        parts.push(builder);
    }
    let [of_refs, of_hyps] = sides;
    Graph::new(SortedFsaBuilder::assemble(parts)?).with(REF_LABELS, of_refs)?.with(HYP_LABELS, of_hyps)
}

/// Last step of the best alignment of two prefixes.
#[derive(Debug, Clone, Copy, Default)]
enum Step {
    /// Symbols on both sides.
    #[default]
    Both,
    /// A symbol of the reference that is deleted.
    Ref,
    /// A symbol of the hypothesis that is inserted.
    Hyp,
}

/// Buffers for one alignment after another.
#[derive(Debug, Default)]
struct Table {
    /// Last step for each pair of lengths, both above 0.
    steps: Vec<Step>,
    /// For each length of the hypothesis, the number of errors and, in the lower bits, the number
    /// of insertions and deletions.
    costs: Vec<u64>,
}

/// One error, as it is counted in [`Table::costs`].
const ERROR: u64 = 1 << 32;

impl Table {
    /// Returns pairs of symbols, 0 for none.
    fn align(&mut self, reference: &[i32], hyp: &[i32]) -> Result<Vec<(i32, i32)>, Error> {
        let cells = reference.len().saturating_mul(hyp.len());
        Error::fit(Quantity::SymbolPairs, cells)?;
        self.steps.clear();
        self.costs.clear();
        self.costs.extend((0..=hyp.len() as u64).map(|length| length * (ERROR + 1)));
        for (&a, length) in reference.iter().zip(1..) {
            let mut diagonal = self.costs[0];
            self.costs[0] = length * (ERROR + 1);
            for (j, &b) in hyp.iter().enumerate() {
                let both = diagonal + if a == b { 0 } else { ERROR };
                let put_in = self.costs[j] + ERROR + 1;
                diagonal = self.costs[j + 1];
                let left_out = diagonal + ERROR + 1;
                let (cost, step) = [(put_in, Step::Hyp), (left_out, Step::Ref)]
                    .into_iter()
                    .fold((both, Step::Both), |best, other| if other.0 < best.0 { other } else { best });
                self.costs[j + 1] = cost;
                self.steps.push(step);
            }
        }
        let (mut i, mut j) = (reference.len(), hyp.len());
        let mut pairs = Vec::with_capacity(i.max(j));
        while i > 0 || j > 0 {
            let step = match (i, j) {
                (0, _) => Step::Hyp,
                (_, 0) => Step::Ref,
                _ => self.steps[(i - 1) * hyp.len() + j - 1],
            };
            let take = |length: &mut usize, symbols: &[i32]| {
                *length -= 1;
                symbols[*length]
            };
            pairs.push(match step {
                Step::Both => (take(&mut i, reference), take(&mut j, hyp)),
                Step::Ref => (take(&mut i, reference), 0),
                Step::Hyp => (0, take(&mut j, hyp)),
            });
        }
        pairs.reverse();
        Ok(pairs)
    }
}
