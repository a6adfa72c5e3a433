//! Which pdf each transition identifier stands for: what a decoder needs of Kaldi's transition
//! model, the first object of `final.mdl`.

use std::collections::HashMap;
use std::io::BufRead;

use kaldi_matrix::Vector;
use kaldi_matrix::codec::{self, ByteReader, CodecError, KaldiRead, Word};

use crate::error::Error;
use crate::holders::Basic;
use crate::rxfilename::Input;

/// The map from transition identifiers, which are the input labels of Kaldi's decoding graphs, to
/// pdfs, which are the columns of a matrix of log-likelihoods.
///
/// ```text
/// <TransitionModel> <Topology> ... </Topology>
/// <Triples> n  phone state pdf ...        or <Tuples>, with a pdf for other transitions and one for self-loops
/// <LogProbs> [ ... ] </LogProbs> </TransitionModel>
///
/// For each triple in turn, and each transition that leaves its state in the topology of its phone, one identifier, from 1 on.
/// ```
///
/// ```
/// use kaldi_io::TransitionModel;
///
/// let text = "<TransitionModel> <Topology> <TopologyEntry> <ForPhones> 1 </ForPhones>
///     <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology>
///     <Triples> 1 1 0 7 </Triples> <LogProbs> [ 0 -0.69 -0.69 ] </LogProbs> </TransitionModel>";
/// let model = TransitionModel::read(&mut text.as_bytes())?;
/// assert_eq!((model.num_transition_ids(), model.num_pdfs(), model.pdf(2)), (2, 8, Some(7)));
/// # Ok::<(), kaldi_io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionModel {
    /// Of the identifiers from 1 on.
    pdfs: Vec<i32>,
    num_pdfs: usize,
}

impl TransitionModel {
    /// Reads the model that an rxfilename names; what follows it in a file is left.
    ///
    /// # Errors
    /// Whatever keeps the file from being opened; [`Error::File`] for its contents.
    pub fn open(rxfilename: &str) -> Result<Self, Error> {
        let mut input = Input::open(rxfilename)?;
        Self::read(&mut input).map_err(|error| error.in_file(rxfilename))
    }

    /// Reads a model, header included; text or binary is seen from the bytes.
    ///
    /// # Errors
    /// [`Error`] with the place of what is wrong.
    #[doc(alias = "TransitionModel::Read")]
    pub fn read(reader: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(reader)?;
        let mut body = Body { reader: ByteReader::new(reader), binary };
        body.expect("<TransitionModel>")?;
        let topology = body.topology()?;
        let tuples = body.tuples()?;
        body.expect("<LogProbs>")?;
        let at = body.reader.offset();
        let log_probs = Vector::<f32>::read_body(reader, binary).map_err(|error| error.shifted(at))?;
        let mut body = Body { reader: ByteReader::new(reader), binary };
        body.expect("</LogProbs>")
            .and_then(|()| body.expect("</TransitionModel>"))
            .map_err(|error| error.shifted(at))?;

        // The identifiers are counted before there is memory for them: their probabilities have
        // been read, and so the file has bytes for as many.
        let transitions = |tuple: &Tuple| topology.transitions(tuple);
        let mut count = 0_usize;
        for tuple in &tuples {
            let found =
                transitions(tuple).ok_or_else(|| unexpected(at, "a state of the topology of a phone", tuple))?;
            count = count.saturating_add(found.len());
        }
        if count.checked_add(1) != Some(log_probs.dim()) {
            let expected = "a probability for each transition identifier, and one in front";
            let found = format!("{} for {count} identifiers", log_probs.dim());
            return Err(CodecError::Unexpected { offset: at, expected: expected.into(), found }.into());
        }
        let mut pdfs = Vec::with_capacity(count);
        for tuple in &tuples {
            let dests = transitions(tuple).unwrap_or_default();
            pdfs.extend(dests.iter().map(|&dest| if dest == tuple.state { tuple.self_loop_pdf } else { tuple.pdf }));
        }
        let most = tuples.iter().map(|tuple| tuple.pdf.max(tuple.self_loop_pdf)).max().unwrap_or(-1);
        let num_pdfs = usize::try_from(i64::from(most) + 1).unwrap_or(0);
        if let Some(tuple) = tuples.iter().find(|tuple| tuple.pdf < 0 || tuple.self_loop_pdf < 0) {
            return Err(unexpected(at, "pdfs of 0 or above", tuple).into());
        }
        Ok(Self { pdfs, num_pdfs })
    }

    /// How many transition identifiers there are; the first one is 1.
    #[doc(alias = "NumTransitionIds")]
    pub fn num_transition_ids(&self) -> usize {
        self.pdfs.len()
    }

    /// How many pdfs there are: one more than the highest.
    #[doc(alias = "NumPdfs")]
    pub fn num_pdfs(&self) -> usize {
        self.num_pdfs
    }

    /// The pdf of a transition identifier; `None` if there is no such identifier.
    #[doc(alias = "TransitionIdToPdf")]
    pub fn pdf(&self, transition_id: i32) -> Option<i32> {
        let place = usize::try_from(transition_id).ok()?.checked_sub(1)?;
        self.pdfs.get(place).copied()
    }
}

/// A state of a phone with its pdfs.
#[derive(Debug)]
struct Tuple {
    phone: i32,
    state: i32,
    pdf: i32,
    self_loop_pdf: i32,
}

/// For each state of an entry the states that transitions lead to.
type Entry = Vec<Vec<i32>>;

#[derive(Default)]
struct Topology {
    entries: Vec<Entry>,
    /// The entry of each phone.
    of_phones: HashMap<i32, usize>,
}

impl Topology {
    fn transitions(&self, tuple: &Tuple) -> Option<&[i32]> {
        let entry = self.entries.get(*self.of_phones.get(&tuple.phone)?)?;
        entry.get(usize::try_from(tuple.state).ok()?).map(Vec::as_slice)
    }
}

fn unexpected(offset: u64, expected: &'static str, tuple: &Tuple) -> CodecError {
    CodecError::Unexpected { offset, expected: expected.into(), found: format!("{tuple:?}") }
}

/// What follows the header.
struct Body<'a> {
    reader: ByteReader<'a>,
    binary: bool,
}

impl Body<'_> {
    fn token(&mut self, expected: &'static str) -> Result<Word, CodecError> {
        if self.binary { self.reader.token(expected) } else { self.reader.word(expected) }
    }

    fn expect(&mut self, token: &'static str) -> Result<(), CodecError> {
        let found = self.token(token)?;
        if found.bytes == token.as_bytes() { Ok(()) } else { Err(found.unexpected(token)) }
    }

    fn int(&mut self) -> Result<i32, CodecError> {
        i32::read_value(&mut self.reader, self.binary)
    }

    fn topology(&mut self) -> Result<Topology, CodecError> {
        self.expect("<Topology>")?;
        if self.binary { self.binary_topology() } else { self.text_topology() }
    }

    /// Lists of phones and of the entry of each phone, and then the entries. A number of -1 stands
    /// before the number of entries if states have two classes of pdfs.
    fn binary_topology(&mut self) -> Result<Topology, CodecError> {
        let _phones = self.bare_list()?;
        let mut topology = Topology::default();
        for (phone, entry) in (0..).zip(self.bare_list()?) {
            if let Ok(entry) = usize::try_from(entry) {
                topology.of_phones.insert(phone, entry);
            }
        }
        let mut count = self.int()?;
        let two_classes = count == -1;
        if two_classes {
            count = self.int()?;
        }
        for _ in 0..count {
            let mut entry = Entry::new();
            for _ in 0..self.int()? {
                for _ in 0..1 + i32::from(two_classes) {
                    self.int()?;
                }
                let mut dests = Vec::new();
                for _ in 0..self.int()? {
                    dests.push(self.int()?);
                    f32::read_value(&mut self.reader, true)?;
                }
                entry.push(dests);
            }
            topology.entries.push(entry);
        }
        self.expect("</Topology>")?;
        Ok(topology)
    }

    /// As Kaldi writes lists inside other objects: the size of each number, how many there are, and
    /// the numbers.
    fn bare_list(&mut self) -> Result<Vec<i32>, CodecError> {
        const EXPECTED: &str = "a list of integers";
        let count = self.reader.int32(EXPECTED)?;
        let mut one = || {
            let mut bytes = [0; 4];
            self.reader.read_exact(&mut bytes, EXPECTED)?;
            Ok(i32::from_le_bytes(bytes))
        };
        (0..count).map(|_| one()).collect()
    }

    fn text_topology(&mut self) -> Result<Topology, CodecError> {
        const ENTRY: &str = "<TopologyEntry> or </Topology>";
        let mut topology = Topology::default();
        loop {
            let word = self.token(ENTRY)?;
            match &word.bytes[..] {
                b"</Topology>" => return Ok(topology),
                b"<TopologyEntry>" => {}
                _ => return Err(word.unexpected(ENTRY)),
            }
            self.expect("<ForPhones>")?;
            loop {
                let word = self.token("a phone, or </ForPhones>")?;
                if word.bytes == b"</ForPhones>" {
                    break;
                }
                topology.of_phones.insert(number(&word, "a phone")?, topology.entries.len());
            }
            let entry = self.text_entry()?;
            topology.entries.push(entry);
        }
    }

    /// `<State> 0 <PdfClass> 0 <Transition> 0 0.5 ... </State> ... </TopologyEntry>`.
    fn text_entry(&mut self) -> Result<Entry, CodecError> {
        const STATE: &str = "<State> or </TopologyEntry>";
        let mut entry = Entry::new();
        loop {
            let word = self.token(STATE)?;
            match &word.bytes[..] {
                b"</TopologyEntry>" => return Ok(entry),
                b"<State>" => {}
                _ => return Err(word.unexpected(STATE)),
            }
            let word = self.token("the number of a state")?;
            if usize::try_from(number(&word, "the number of a state")?) != Ok(entry.len()) {
                return Err(word.unexpected("states in the order of their numbers"));
            }
            let mut dests = Vec::new();
            loop {
                const TRANSITION: &str = "<Transition>, a class of pdfs, or </State>";
                let word = self.token(TRANSITION)?;
                match &word.bytes[..] {
                    b"</State>" => break,
                    b"<PdfClass>" | b"<ForwardPdfClass>" | b"<SelfLoopPdfClass>" => drop(self.int()?),
                    b"<Transition>" => {
                        dests.push(self.int()?);
                        f32::read_value(&mut self.reader, false)?;
                    }
                    _ => return Err(word.unexpected(TRANSITION)),
                }
            }
            entry.push(dests);
        }
    }

    fn tuples(&mut self) -> Result<Vec<Tuple>, CodecError> {
        const BEGIN: &str = "<Triples> or <Tuples>";
        let word = self.token(BEGIN)?;
        let (two_pdfs, end) = match &word.bytes[..] {
            b"<Triples>" => (false, "</Triples>"),
            b"<Tuples>" => (true, "</Tuples>"),
            _ => return Err(word.unexpected(BEGIN)),
        };
        let mut tuples = Vec::new();
        for _ in 0..self.int()? {
            let [phone, state, pdf] = [self.int()?, self.int()?, self.int()?];
            let self_loop_pdf = if two_pdfs { self.int()? } else { pdf };
            tuples.push(Tuple { phone, state, pdf, self_loop_pdf });
        }
        self.expect(end)?;
        Ok(tuples)
    }
}

fn number(word: &Word, expected: &'static str) -> Result<i32, CodecError> {
    let text = std::str::from_utf8(&word.bytes).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| word.unexpected(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two phones of three states, and one with two pdfs a state.
    const TEXT: &str = "<TransitionModel> 
<Topology> 
<TopologyEntry> 
<ForPhones> 
2 5 
</ForPhones> 
<State> 0 <PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State> 
<State> 1 <PdfClass> 1 <Transition> 1 0.5 <Transition> 2 0.5 </State> 
<State> 2 </State> 
</TopologyEntry> 
<TopologyEntry> 
<ForPhones> 
3 
</ForPhones> 
<State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State> 
<State> 1 </State> 
</TopologyEntry> 
</Topology> 
<Tuples> 4 
2 0 0 0 
2 1 1 1 
3 0 4 2 
5 1 3 3 
</Tuples> 
<LogProbs> 
 [ 0 -0.28 -1.38 -0.69 -0.69 -0.69 -0.69 -0.69 -0.69 ]
</LogProbs> 
</TransitionModel> 
<DIMENSION> 39 and what else a model has
";

    fn pdfs(model: &TransitionModel) -> Vec<i32> {
        (1..).map_while(|id| model.pdf(id)).collect()
    }

    /// The same in binary.
    fn binary() -> Vec<u8> {
        let mut out = b"\0B<TransitionModel> <Topology> ".to_vec();
        let int = |out: &mut Vec<u8>, number: i32| number.push_value(out, true);
        let list = |out: &mut Vec<u8>, numbers: &[i32]| {
            int(out, i32::try_from(numbers.len()).unwrap());
            numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        };
        list(&mut out, &[2, 3, 5]);
        list(&mut out, &[-1, -1, 0, 1, -1, 0]);
        int(&mut out, -1);
        int(&mut out, 2);
        let entries = [&[(0, 0, &[0, 1][..]), (1, 1, &[1, 2]), (-1, -1, &[])][..], &[(0, 1, &[0, 1]), (-1, -1, &[])]];
        for entry in entries {
            int(&mut out, i32::try_from(entry.len()).unwrap());
            for &(forward, self_loop, dests) in entry {
                int(&mut out, forward);
                int(&mut out, self_loop);
                int(&mut out, i32::try_from(dests.len()).unwrap());
                for &dest in dests {
                    int(&mut out, dest);
                    0.5_f32.push_value(&mut out, true);
                }
            }
        }
        out.extend(b"</Topology> <Tuples> ");
        int(&mut out, 4);
        for number in [2, 0, 0, 0, 2, 1, 1, 1, 3, 0, 4, 2, 5, 1, 3, 3] {
            int(&mut out, number);
        }
        out.extend(b"</Tuples> <LogProbs> FV ");
        int(&mut out, 9);
        out.extend([0_f32; 9].iter().flat_map(|number| number.to_le_bytes()));
        out.extend(b"</LogProbs> </TransitionModel> ");
        out
    }

    #[test]
    fn text_and_binary_give_the_same_map() {
        let text = TransitionModel::read(&mut TEXT.as_bytes()).unwrap();
        // Transitions of phone 3: the self-loop has the pdf 2.
        assert_eq!(pdfs(&text), [0, 0, 1, 1, 2, 4, 3, 3]);
        assert_eq!((text.num_pdfs(), text.num_transition_ids()), (5, 8));
        assert_eq!((text.pdf(0), text.pdf(-1), text.pdf(9)), (None, None, None));
        assert_eq!(TransitionModel::read(&mut &binary()[..]).unwrap(), text);
    }

    #[test]
    fn one_class_of_pdfs_is_read() {
        let triples = TEXT.replace("Tuples", "Triples").replace("3 0 4 2", "3 0 4");
        let triples = triples.replace("0 0 0 \n", "0 0 \n").replace("1 1 1 \n", "1 1 \n").replace("1 3 3 \n", "1 3 \n");
        let model = TransitionModel::read(&mut triples.as_bytes()).unwrap();
        assert_eq!(pdfs(&model), [0, 0, 1, 1, 4, 4, 3, 3]);
    }

    #[test]
    fn damaged_models_are_errors() {
        let is_error = |bytes: &[u8]| TransitionModel::read(&mut &bytes[..]).is_err();
        let end = TEXT.find("</TransitionModel>").unwrap() + "</TransitionModel>".len();
        for len in 0..end {
            assert!(is_error(&TEXT.as_bytes()[..len]), "{len} bytes of text");
        }
        let whole = binary();
        for len in 0..whole.len() {
            assert!(is_error(&whole[..len]), "{len} bytes");
        }
        for (from, to) in [
            ("2 0 0 0", "4 0 0 0"),
            ("2 0 0 0", "2 9 0 0"),
            ("2 0 0 0", "2 0 -1 0"),
            ("<Tuples> 4", "<Tuples> 2000000000"),
            ("<State> 1", "<State> 7"),
            ("-0.69 ]", "]"),
        ] {
            assert!(is_error(TEXT.replacen(from, to, 1).as_bytes()), "{to}");
        }
        for place in 0..whole.len() {
            for byte in [0, 4, 0x7F, 0xFF] {
                let mut damaged = whole.clone();
                damaged[place] = byte;
                let _ = TransitionModel::read(&mut &damaged[..]);
            }
        }
    }
}
