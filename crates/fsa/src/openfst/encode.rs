//! Encodes the labels and the score of an arc as one label, so that an algorithm treats them as one
//! symbol, and decodes them.

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::builder::SortedFsaBuilder;
use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::core::graph_labels::GraphLabels;
use crate::error::{Error, Quantity};
use crate::openfst::machine::only_aux_labels;
use crate::openfst::trim::trim_part;
use crate::support::ids::index;
use crate::support::interner::Interner;

/// Table of the labels that [`encode`] assigned.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder {
    /// Label, output label, and score of label `i + 1`.
    codes: Vec<(i32, i32, f32)>,
    /// `true` if the codes have output labels.
    transducer: bool,
    /// `true` if the codes have scores.
    with_scores: bool,
    /// Interpretation of the original labels.
    graph_labels: GraphLabels,
}

/// Builds acceptors in which one label encodes label, output label, and, if `with_scores`, score.
/// Returns them with the decoder.
///
/// Arcs with label 0 and output 0 keep the label 0, if scores are not encoded. A final arc whose
/// score is encoded becomes two arcs, which [`Encoder::decode`] merges again. O(arcs).
///
/// # Errors
/// [`Error::LostAttribute`] for attributes other than the output labels; [`Error::Attribute`] if
/// these are lists; [`Error::TooLarge`].
#[doc(alias = "fstencode")]
pub fn encode<F: Fsas>(graph: &Graph<F>, with_scores: bool) -> Result<(F, Encoder), Error> {
    let all_aux = only_aux_labels(graph)?;
    let mut codes = Interner::new();
    let mut parts = Vec::new();
    for fsa in graph.fsas().as_fsa_vec().iter() {
        let mut builder = SortedFsaBuilder::default();
        let before = Error::fit(Quantity::States, fsa.num_states().saturating_sub(1))?;
        let last = before.saturating_add(1);
        for state in 0..fsa.num_states().saturating_sub(1) {
            for at in fsa.arc_range(state) {
                let arc = fsa.arcs()[at];
                let aux = all_aux.map_or(0, |aux| aux[fsa.first_arc() + at].max(EPSILON));
                let apart = arc.label == FINAL && (with_scores || aux != EPSILON);
                let dest_state = match arc.label {
                    FINAL if apart => before,
                    FINAL => last,
                    _ => arc.dest_state,
                };
                let silent = !with_scores && aux == EPSILON && (arc.label == EPSILON || arc.label == FINAL);
                let score = if with_scores { arc.score } else { 0.0 };
                let label = if silent { arc.label } else { number(&mut codes, (arc.label, aux, score))? };
                builder.arcs.push(Arc { dest_state, label, score: arc.score - score, ..arc });
            }
            builder.end_state();
        }
        if fsa.num_states() > 0 {
            Error::fit(Quantity::States, index(last) + 1)?;
            builder.arcs.push(Arc::new(before, last, FINAL, 0.0));
            builder.end_state();
            builder.end_state();
        }
        parts.push(builder);
    }
    let encoder = Encoder {
        codes: codes.keys().iter().map(code).collect(),
        transducer: all_aux.is_some(),
        with_scores,
        graph_labels: graph.graph_labels(),
    };
    Ok((graph.fsas().same_kind(SortedFsaBuilder::assemble(parts)?), encoder))
}

/// Returns the number of a code.
fn number(codes: &mut Interner<(u64, u32)>, (label, aux, score): (i32, i32, f32)) -> Result<i32, Error> {
    let labels = (u64::from(label.cast_unsigned()) << 32) | u64::from(aux.cast_unsigned());
    Error::fit(Quantity::EncodedLabels, codes.number((labels, score.to_bits())) as usize + 1)
}

/// Returns the code of a key.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn code(&(labels, score): &(u64, u32)) -> (i32, i32, f32) {
    (((labels >> 32) as u32).cast_signed(), (labels as u32).cast_signed(), f32::from_bits(score))
}

impl Encoder {
    /// Replaces encoded labels by the labels, output labels and scores that they encode. Scores
    /// that encoded arcs have gained since are added. States and arcs on no path to the final state
    /// are left out. O(arcs).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for labels that were not encoded here.
    pub fn decode<F: Fsas>(&self, fsas: &F) -> Result<Graph<F>, Error> {
        let (mut parts, mut aux_labels) = (Vec::new(), Vec::new());
        for fsa in fsas.as_fsa_vec().iter() {
            let last = Error::fit(Quantity::States, fsa.num_states().saturating_sub(1))?;
            let mut builder = SortedFsaBuilder::default();
            let mut aux_of = Vec::new();
            for state in 0..fsa.num_states() {
                for arc in fsa.arcs_of(state) {
                    let (label, aux, score) = match arc.label {
                        FINAL => (FINAL, FINAL, 0.0),
                        EPSILON => (EPSILON, EPSILON, 0.0),
                        code => *self.codes.get(index(code) - 1).ok_or(Error::OutOfRange {
                            what: Quantity::EncodedLabel,
                            min: 0,
                            max: i64::try_from(self.codes.len()).unwrap_or(i64::MAX),
                            found: i64::from(code),
                        })?,
                    };
                    // An encoded final arc leads to a state before the final one. The final arc of
                    // that state is left out.
                    let (dest_state, behind) = match (arc.label, label) {
                        (FINAL, _) => (last, 0.0),
                        (_, FINAL) => {
                            let finals = fsa.arcs_of(index(arc.dest_state)).iter().filter(|arc| arc.label == FINAL);
                            (last, finals.map(|arc| arc.score).fold(f32::NEG_INFINITY, f32::max))
                        }
                        _ => (arc.dest_state, 0.0),
                    };
                    builder.arcs.push(Arc { dest_state, label, score: arc.score + score + behind, ..*arc });
                    aux_of.push(if label == FINAL && aux == EPSILON { FINAL } else { aux });
                }
                builder.end_state();
            }
            let trimmed = trim_part(&builder)?;
            aux_labels.extend(trimmed.sources.iter().map(|&arc| aux_of[arc as usize]));
            parts.push(trimmed.builder);
        }
        let graph = Graph::new(fsas.same_kind(SortedFsaBuilder::assemble(parts)?)).with_graph_labels(self.graph_labels);
        if self.transducer { graph.with_aux_labels(aux_labels) } else { Ok(graph) }
    }

    /// Returns `true` if scores are encoded.
    pub fn with_scores(&self) -> bool {
        self.with_scores
    }
}
