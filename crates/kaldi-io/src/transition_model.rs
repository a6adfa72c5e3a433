//! Kaldi's transition model: the phone and the column of the network's output of each transition
//! identifier.
//!
//! It is the first part of a model such as `final.mdl`. The acoustic model after it is read by the
//! crate `kaldi-nnet3`, from the same input.
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

use std::io::BufRead;

use kaldi_matrix::Vector;
use kaldi_matrix::codec::{CodecError, FieldReader, Word, read_header};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionModel {
    transitions: Vec<Transition>,
}

/// Destination states of the transitions of each state of a phone.
type Entry = Vec<Vec<i32>>;

/// The topologies of phones.
struct Topology {
    /// Entry of each phone, -1 for none.
    entry_of: Vec<i32>,
    entries: Vec<Entry>,
    /// `true` if self-loops have no pdf of their own.
    is_hmm: bool,
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
        for &(phone, state, pdf, loop_pdf) in &tuples {
            let wrong = |found: String| CodecError::unexpected(at, "triples that fit the topologies", found);
            let entry = usize::try_from(phone).ok().and_then(|phone| topology.entry_of.get(phone));
            let entry = entry.and_then(|&entry| topology.entries.get(usize::try_from(entry).ok()?));
            let entry = entry.ok_or_else(|| wrong(format!("phone {phone}, which has none")))?;
            let dests = usize::try_from(state).ok().and_then(|state| entry.get(state));
            let dests = dests.ok_or_else(|| wrong(format!("state {state} of phone {phone}")))?;
            if transitions.len() + dests.len() > most {
                return Err(wrong(format!("{most} probabilities for more transitions")));
            }
            transitions.extend(dests.iter().map(|&dest| {
                let is_self_loop = dest == state;
                let is_final = usize::try_from(dest).is_ok_and(|dest| dest + 1 == entry.len());
                Transition { phone, state, pdf: if is_self_loop { loop_pdf } else { pdf }, is_self_loop, is_final }
            }));
        }
        if transitions.len() != most {
            let found = format!("{} transitions and {most} probabilities", transitions.len());
            return Err(CodecError::unexpected(at, "one probability for each transition", found));
        }
        Ok(Self { transitions })
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

struct Reader<'a> {
    fields: FieldReader<'a>,
}

impl Reader<'_> {
    fn topology(&mut self) -> Result<Topology, CodecError> {
        self.fields.expect("<Topology>")?;
        if self.fields.is_binary() { self.binary_topology() } else { self.text_topology() }
    }

    fn binary_topology(&mut self) -> Result<Topology, CodecError> {
        self.fields.ints(1)?;
        let entry_of = self.fields.ints(1)?;
        let mut count = self.fields.int("the number of topologies")?;
        // -1 marks self-loops with pdfs of their own.
        let is_hmm = count != -1;
        if !is_hmm {
            count = self.fields.int("the number of topologies")?;
        }
        let mut entries = Vec::new();
        for _ in 0..count {
            let mut entry = Entry::new();
            for _ in 0..self.fields.size("the number of states")? {
                self.fields.int("a pdf class")?;
                if !is_hmm {
                    self.fields.int("the pdf class of a self-loop")?;
                }
                let mut dests = Vec::new();
                for _ in 0..self.fields.size("the number of transitions")? {
                    dests.push(self.fields.int("the state that a transition leads to")?);
                    self.fields.real::<f32>("the probability of a transition")?;
                }
                entry.push(dests);
            }
            entries.push(entry);
        }
        self.fields.expect("</Topology>")?;
        Ok(Topology { entry_of, entries, is_hmm })
    }

    fn text_topology(&mut self) -> Result<Topology, CodecError> {
        const EXPECTED: &str = "a topology: <TopologyEntry>, <ForPhones>, <State> and so on";
        let mut made = Topology { entry_of: Vec::new(), entries: Vec::new(), is_hmm: true };
        loop {
            let word = self.fields.token(EXPECTED)?;
            match &*word.bytes {
                b"</Topology>" => return Ok(made),
                b"<TopologyEntry>" => made.entries.push(Entry::new()),
                b"<ForPhones>" => loop {
                    /// Bound of phones, so that damaged files do not allocate much memory.
                    const MOST_PHONES: usize = 1 << 24;
                    let word = self.fields.token("a phone or </ForPhones>")?;
                    if word.bytes == b"</ForPhones>" {
                        break;
                    }
                    let phone = parse(&word).and_then(|phone: i32| usize::try_from(phone).ok());
                    let phone = phone.filter(|&phone| phone < MOST_PHONES).ok_or_else(|| word.unexpected("a phone"))?;
                    if made.entry_of.len() <= phone {
                        made.entry_of.resize(phone + 1, -1);
                    }
                    made.entry_of[phone] = i32::try_from(made.entries.len()).unwrap_or(i32::MAX) - 1;
                },
                b"<State>" => {
                    self.fields.int("the number of a state")?;
                    made.entries.last_mut().ok_or_else(|| word.unexpected("<TopologyEntry>"))?.push(Vec::new());
                }
                b"<PdfClass>" | b"<ForwardPdfClass>" => {
                    made.is_hmm = word.bytes == b"<PdfClass>";
                    self.fields.int("a pdf class")?;
                }
                b"<SelfLoopPdfClass>" => {
                    self.fields.int("a pdf class")?;
                }
                b"<Transition>" => {
                    let dest = self.fields.int("the state that a transition leads to")?;
                    self.fields.token("the probability of a transition")?;
                    let state = made.entries.last_mut().and_then(|entry| entry.last_mut());
                    state.ok_or_else(|| word.unexpected("<State>"))?.push(dest);
                }
                b"<Final>" | b"</State>" | b"</TopologyEntry>" => {}
                _ => return Err(word.unexpected(EXPECTED)),
            }
        }
    }

    /// Reads phone, state, pdf, and the pdf of self-loops.
    fn tuples(&mut self) -> Result<Vec<(i32, i32, i32, i32)>, CodecError> {
        let word = self.fields.token("<Triples> or <Tuples>")?;
        let end: &[u8] = match &*word.bytes {
            b"<Triples>" => b"</Triples>",
            b"<Tuples>" => b"</Tuples>",
            _ => return Err(word.unexpected("<Triples> or <Tuples>")),
        };
        let mut tuples = Vec::new();
        for _ in 0..self.fields.size("the number of triples")? {
            let [phone, state, pdf] =
                [self.fields.int("a phone")?, self.fields.int("a state")?, self.fields.int("a pdf")?];
            let loop_pdf = if end == b"</Tuples>" { self.fields.int("the pdf of a self-loop")? } else { pdf };
            tuples.push((phone, state, pdf, loop_pdf));
        }
        let word = self.fields.token("the end of the triples")?;
        if word.bytes == end { Ok(tuples) } else { Err(word.unexpected("the end of the triples")) }
    }
}

fn parse(word: &Word) -> Option<i32> {
    std::str::from_utf8(&word.bytes).ok()?.parse().ok()
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
        (0..7).for_each(|_| out.extend((-0.7_f32).to_le_bytes()));
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
    fn pdfs_of_self_loops() {
        let text = TEXT
            .replace("<PdfClass> 0", "<ForwardPdfClass> 0 <SelfLoopPdfClass> 1")
            .replace("<PdfClass> 1", "<ForwardPdfClass> 0 <SelfLoopPdfClass> 1")
            .replace("Triples", "Tuples")
            .replace("1 0 0 \n1 1 1 \n2 0 2 \n", "1 0 0 3 \n1 1 1 4 \n2 0 2 5 \n");
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
            let _ = TransitionModel::read(&mut &damaged[..]);
        }
    }
}
