//! Kaldi's transition model: the phone and the column of the network's output of each transition
//! identifier.
//!
//! It is the first part of a model such as `final.mdl`. The acoustic model after it is read and
//! written by the crate `kaldi-nnet3`, from the same input and to the same output.
//! The binary and the text form are supported, with topologies of one pdf for a state
//! (`<PdfClass>`) and of two (`<ForwardPdfClass>`, `<SelfLoopPdfClass>`):
//!
//! ```text
//! <TransitionModel> <Topology> entries: for each state its pdf classes and transitions </Topology>
//! <Triples> count: phone, state, pdf; or <Tuples>, with the pdf of self-loops besides </Triples>
//! <LogProbs> a vector, by transition identifier </LogProbs> </TransitionModel>
//! ```
//!
//! Transition identifiers number the transitions of all triples from 1, one triple after the other.

mod reader;
mod topology;
mod writer;

use std::io::{self, BufRead, Write};

use kaldi_matrix::Vector;
use kaldi_matrix::codec::{CodecError, FieldReader, FieldWriter, read_header, write_header};

use self::reader::Reader;
use self::topology::{Topology, Tuple};
use self::writer::Writer;
use crate::error::Error;
use crate::rxfilename::Input;

/// Transition of an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The phone.
    pub phone: i32,
    /// State of the phone's topology that it leaves.
    pub state: i32,
    /// Column of the network's output, from 0.
    pub pdf: i32,
    /// `true` if it stays in its state.
    pub is_self_loop: bool,
    /// `true` if the phone ends with it.
    pub is_final: bool,
}

/// Map from Kaldi's transition identifiers to transitions.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionModel {
    topology: Topology,
    tuples: Vec<Tuple>,
    /// Logarithms of the probabilities of the identifiers; index 0 belongs to none.
    log_probs: Vector<f32>,
    transitions: Vec<Transition>,
}

impl TransitionModel {
    /// Reads the model at an rxfilename.
    ///
    /// # Errors
    /// The errors of opening the file; [`Error::File`] for its contents.
    pub fn open(rxfilename: &str) -> Result<Self, Error> {
        let mut input = Input::open(rxfilename)?;
        // The rest of the file is not read, so a command that writes it may be cut off.
        Self::read(&mut input).map_err(|error| Error::from(error).in_file(rxfilename))
    }

    /// Reads a model, up to the end of its part of the file.
    ///
    /// # Errors
    /// [`CodecError`], with the offset of the problem. Memory is in proportion to the input, apart
    /// from a table of at most 2^24 phones.
    pub fn read(input: &mut dyn BufRead) -> Result<Self, CodecError> {
        let binary = read_header(input)?;
        let mut reader = Reader { fields: FieldReader::new(input, binary) };
        reader.fields.expect("<TransitionModel>")?;
        let topology = reader.topology()?;
        let tuples = reader.tuples()?;
        reader.fields.expect("<LogProbs>")?;
        let at = reader.fields.offset();
        let log_probs: Vector<f32> = reader.fields.object()?;
        reader.fields.expect("</LogProbs>")?;
        reader.fields.expect("</TransitionModel>")?;
        // Index 0 belongs to no identifier.
        let most = log_probs.dim().saturating_sub(1);
        let mut transitions = Vec::new();
        for &Tuple { phone, state, pdf, loop_pdf } in &tuples {
            let wrong = |found: String| CodecError::unexpected(at, "triples that fit the topologies", found);
            let entry = topology.entry(phone).ok_or_else(|| wrong(format!("phone {phone}, which has none")))?;
            let found = usize::try_from(state).ok().and_then(|state| entry.get(state));
            let found = found.ok_or_else(|| wrong(format!("state {state} of phone {phone}")))?;
            if transitions.len() + found.transitions.len() > most {
                return Err(wrong(format!("{most} probabilities for more transitions")));
            }
            transitions.extend(found.transitions.iter().map(|&(dest, _)| {
                let is_self_loop = dest == state;
                let is_final = usize::try_from(dest).is_ok_and(|dest| dest + 1 == entry.len());
                Transition { phone, state, pdf: if is_self_loop { loop_pdf } else { pdf }, is_self_loop, is_final }
            }));
        }
        if transitions.len() != most {
            let found = format!("{} transitions and {most} probabilities", transitions.len());
            return Err(CodecError::unexpected(at, "one probability for each transition", found));
        }
        Ok(Self { topology, tuples, log_probs, transitions })
    }

    /// Writes the model with its header, in Kaldi's bytes. An acoustic model may follow.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut dyn Write, binary: bool) -> io::Result<()> {
        write_header(out, binary)?;
        let mut writer = Writer { fields: FieldWriter::new(out, binary) };
        writer.fields.token("<TransitionModel>")?;
        writer.fields.line_end()?;
        writer.topology(&self.topology)?;
        let is_hmm = self.topology.is_hmm();
        let name = if is_hmm { "Triples" } else { "Tuples" };
        writer.fields.token(&format!("<{name}>"))?;
        writer.fields.size(self.tuples.len())?;
        writer.fields.line_end()?;
        for &Tuple { phone, state, pdf, loop_pdf } in &self.tuples {
            let numbers = [phone, state, pdf, loop_pdf];
            numbers[..if is_hmm { 3 } else { 4 }].iter().try_for_each(|&number| writer.fields.int(number))?;
            writer.fields.line_end()?;
        }
        writer.fields.token(&format!("</{name}>"))?;
        writer.fields.line_end()?;
        writer.fields.token("<LogProbs>")?;
        writer.fields.line_end()?;
        writer.fields.object(&self.log_probs)?;
        for token in ["</LogProbs>", "</TransitionModel>"] {
            writer.fields.token(token)?;
            writer.fields.line_end()?;
        }
        Ok(())
    }

    /// Returns the number of transition identifiers: they are 1, 2 and so on.
    pub fn num_transition_ids(&self) -> usize {
        self.transitions.len()
    }

    /// Returns the number of columns that the network's output must have.
    pub fn num_pdfs(&self) -> usize {
        let most = self.transitions.iter().map(|transition| transition.pdf).max();
        most.and_then(|most| usize::try_from(most).ok()).map_or(0, |most| most + 1)
    }

    /// Returns the transition of an identifier, or `None` for an unknown one.
    #[doc(alias = "TransitionIdToPhone")]
    #[doc(alias = "TransitionIdToPdf")]
    pub fn get(&self, transition_id: i32) -> Option<Transition> {
        let place = usize::try_from(transition_id).ok()?.checked_sub(1)?;
        self.transitions.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two phones: phone 1 with two emitting states, phone 2 with one.
    const TEXT: &str = "<TransitionModel> \n<Topology> \n<TopologyEntry> \n<ForPhones> \n1 \n</ForPhones> \n\
        <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \n\
        <State> 1 <PdfClass> 1 <Transition> 1 0.5 <Transition> 2 0.5 </State> \n<State> 2 </State> \n</TopologyEntry> \n\
        <TopologyEntry> \n<ForPhones> \n2 \n</ForPhones> \n\
        <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \n<State> 1 </State> \n</TopologyEntry> \n\
        </Topology> \n<Triples> 3 \n1 0 0 \n1 1 1 \n2 0 2 \n</Triples> \n<LogProbs> \n \
        [ 0 -0.7 -0.7 -0.7 -0.7 -0.7 -0.7 ]\n</LogProbs> \n</TransitionModel> \nrest";

    fn binary() -> Vec<u8> {
        let mut out = b"\0B<TransitionModel> <Topology> ".to_vec();
        let int = |out: &mut Vec<u8>, i: i32| {
            out.push(4);
            out.extend(i.to_le_bytes());
        };
        for list in [&[1, 2][..], &[-1, 0, 1]] {
            int(&mut out, i32::try_from(list.len()).unwrap());
            list.iter().for_each(|i: &i32| out.extend(i.to_le_bytes()));
        }
        int(&mut out, 2);
        for states in [3, 2] {
            int(&mut out, states);
            for state in 0..states {
                int(&mut out, if state + 1 == states { -1 } else { state });
                int(&mut out, if state + 1 == states { 0 } else { 2 });
                for dest in (state..states).take(if state + 1 == states { 0 } else { 2 }) {
                    int(&mut out, dest);
                    out.push(4);
                    out.extend(0.5_f32.to_le_bytes());
                }
            }
        }
        out.extend(b"</Topology> <Triples> ");
        [3, 1, 0, 0, 1, 1, 1, 2, 0, 2].iter().for_each(|&i| int(&mut out, i));
        out.extend(b"</Triples> <LogProbs> FV ");
        int(&mut out, 7);
        (0..7).for_each(|id| out.extend(if id == 0 { 0.0 } else { -0.7_f32 }.to_le_bytes()));
        out.extend(b"</LogProbs> </TransitionModel> rest");
        out
    }

    #[test]
    fn both_forms_say_the_same() {
        let model = TransitionModel::read(&mut TEXT.as_bytes()).unwrap();
        assert_eq!(model, TransitionModel::read(&mut &binary()[..]).unwrap());
        assert_eq!((model.num_transition_ids(), model.num_pdfs()), (6, 3));
        let transition =
            |phone, state, pdf, is_self_loop, is_final| Some(Transition { phone, state, pdf, is_self_loop, is_final });
        assert_eq!(model.get(1), transition(1, 0, 0, true, false));
        assert_eq!(model.get(4), transition(1, 1, 1, false, true));
        assert_eq!(model.get(6), transition(2, 0, 2, false, true));
        assert_eq!((model.get(0), model.get(7), model.get(-1)), (None, None, None));
    }

    #[test]
    fn what_is_written_was_read() {
        let written = |text: &[u8], binary| {
            let mut out = Vec::new();
            TransitionModel::read(&mut &*text).unwrap().write(&mut out, binary).unwrap();
            out
        };
        let whole = |file: &[u8]| file[..file.len() - "rest".len()].to_vec();
        let (text, bytes) = (whole(TEXT.as_bytes()), whole(&binary()));
        for from in [&text, &bytes] {
            assert_eq!(String::from_utf8(written(from, false)).unwrap().as_bytes(), text);
            assert_eq!(written(from, true), bytes);
        }
        let chain = chain();
        let chain = whole(chain.as_bytes());
        assert_eq!(String::from_utf8(written(&written(&chain, true), false)).unwrap().as_bytes(), chain);
    }

    /// The model with pdfs of self-loops.
    fn chain() -> String {
        TEXT.replace("<PdfClass> 0", "<ForwardPdfClass> 0 <SelfLoopPdfClass> 1")
            .replace("<PdfClass> 1", "<ForwardPdfClass> 0 <SelfLoopPdfClass> 1")
            .replace("Triples", "Tuples")
            .replace("1 0 0 \n1 1 1 \n2 0 2 \n", "1 0 0 3 \n1 1 1 4 \n2 0 2 5 \n")
    }

    #[test]
    fn pdfs_of_self_loops() {
        let text = chain();
        let model = TransitionModel::read(&mut text.as_bytes()).unwrap();
        assert_eq!((model.get(1).unwrap().pdf, model.get(2).unwrap().pdf, model.num_pdfs()), (3, 0, 6));
    }

    #[test]
    fn damaged_models_are_errors() {
        for (from, to) in
            [("1 1 1", "1 9 1"), ("2 0 2", "7 0 2"), ("-0.7 ]", "]"), ("-0.7 ]", "-0.7 1 ]"), ("<State> 0", "<Stat> 0")]
        {
            let text = TEXT.replacen(from, to, 1);
            assert!(TransitionModel::read(&mut text.as_bytes()).is_err(), "{from} {to}");
        }
        let whole = binary();
        let body = whole.len() - "rest".len() - 1;
        for end in 0..body {
            assert!(TransitionModel::read(&mut &whole[..end]).is_err(), "{end}");
        }
        for at in 0..body {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x81;
            if let Ok(model) = TransitionModel::read(&mut &damaged[..]) {
                let _ = model.write(&mut Vec::new(), false);
            }
        }
    }
}
