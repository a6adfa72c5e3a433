//! Tokens, topologies and triples of a model's file.

use kaldi_matrix::codec::{CodecError, FieldReader, Word};

use super::topology::{State, Topology, Tuple};

pub(super) struct Reader<'a> {
    pub(super) fields: FieldReader<'a>,
}

impl Reader<'_> {
    pub(super) fn topology(&mut self) -> Result<Topology, CodecError> {
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
            let mut entry = Vec::new();
            for _ in 0..self.fields.size("the number of states")? {
                let pdf_class = self.fields.int("a pdf class")?;
                let loop_class = if is_hmm { pdf_class } else { self.fields.int("the pdf class of a self-loop")? };
                let mut state = State { pdf_class, loop_class, transitions: Vec::new() };
                for _ in 0..self.fields.size("the number of transitions")? {
                    let dest = self.fields.int("the state that a transition leads to")?;
                    state.transitions.push((dest, self.fields.real("the probability of a transition")?));
                }
                entry.push(state);
            }
            entries.push(entry);
        }
        self.fields.expect("</Topology>")?;
        Ok(Topology { entry_of, entries })
    }

    fn text_topology(&mut self) -> Result<Topology, CodecError> {
        const EXPECTED: &str = "a topology: <TopologyEntry>, <ForPhones>, <State> and so on";
        const NO_STATE: &str = "<State>";
        let mut made = Topology::default();
        loop {
            let word = self.fields.token(EXPECTED)?;
            match &*word.bytes {
                b"</Topology>" => return Ok(made),
                b"<TopologyEntry>" => made.entries.push(Vec::new()),
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
                    made.entries.last_mut().ok_or_else(|| word.unexpected("<TopologyEntry>"))?.push(State::new());
                }
                b"<PdfClass>" | b"<ForwardPdfClass>" | b"<SelfLoopPdfClass>" => {
                    let class = self.fields.int("a pdf class")?;
                    let state = made.last_state().ok_or_else(|| word.unexpected(NO_STATE))?;
                    if word.bytes != b"<SelfLoopPdfClass>" {
                        state.pdf_class = class;
                    }
                    state.loop_class = class;
                }
                b"<Transition>" => {
                    let dest = self.fields.int("the state that a transition leads to")?;
                    let probability = self.fields.real("the probability of a transition")?;
                    let state = made.last_state().ok_or_else(|| word.unexpected(NO_STATE))?;
                    state.transitions.push((dest, probability));
                }
                b"<Final>" | b"</State>" | b"</TopologyEntry>" => {}
                _ => return Err(word.unexpected(EXPECTED)),
            }
        }
    }

    pub(super) fn tuples(&mut self) -> Result<Vec<Tuple>, CodecError> {
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
            tuples.push(Tuple { phone, state, pdf, loop_pdf });
        }
        let word = self.fields.token("the end of the triples")?;
        if word.bytes == end { Ok(tuples) } else { Err(word.unexpected("the end of the triples")) }
    }
}

fn parse(word: &Word) -> Option<i32> {
    std::str::from_utf8(&word.bytes).ok()?.parse().ok()
}
