//! Tokens, topologies and triples of a model's file.

use kaldi_matrix::codec::{ByteReader, CodecError, Word};

use super::topology::{State, Topology, Tuple};

pub(super) struct Reader<'a> {
    pub(super) bytes: ByteReader<'a>,
    pub(super) binary: bool,
}

impl Reader<'_> {
    fn token(&mut self, expected: &'static str) -> Result<Word, CodecError> {
        if self.binary { self.bytes.token(expected) } else { self.bytes.word(expected) }
    }

    pub(super) fn expect(&mut self, token: &'static [u8]) -> Result<(), CodecError> {
        let shown = std::str::from_utf8(token).unwrap_or_default();
        let word = self.token(shown)?;
        if word.bytes == token { Ok(()) } else { Err(word.unexpected(shown)) }
    }

    fn int(&mut self, expected: &'static str) -> Result<i32, CodecError> {
        if self.binary {
            return self.bytes.int32(expected);
        }
        let word = self.bytes.word(expected)?;
        parse(&word).ok_or_else(|| word.unexpected(expected))
    }

    /// Reads a count, which must not be negative.
    fn count(&mut self, expected: &'static str) -> Result<i32, CodecError> {
        let at = self.bytes.offset();
        let count = self.int(expected)?;
        if count >= 0 { Ok(count) } else { Err(unexpected(at, expected, count.to_string())) }
    }

    pub(super) fn topology(&mut self) -> Result<Topology, CodecError> {
        self.expect(b"<Topology>")?;
        if self.binary { self.binary_topology() } else { self.text_topology() }
    }

    fn binary_topology(&mut self) -> Result<Topology, CodecError> {
        self.integers()?;
        let entry_of = self.integers()?;
        let mut count = self.int("the number of topologies")?;
        // -1 marks self-loops with pdfs of their own.
        let is_hmm = count != -1;
        if !is_hmm {
            count = self.int("the number of topologies")?;
        }
        let mut entries = Vec::new();
        for _ in 0..count {
            let mut entry = Vec::new();
            for _ in 0..self.count("the number of states")? {
                let pdf_class = self.int("a pdf class")?;
                let loop_class = if is_hmm { pdf_class } else { self.int("the pdf class of a self-loop")? };
                let mut state = State { pdf_class, loop_class, transitions: Vec::new() };
                for _ in 0..self.count("the number of transitions")? {
                    let dest = self.int("the state that a transition leads to")?;
                    state.transitions.push((dest, self.bytes.real("the probability of a transition")?));
                }
                entry.push(state);
            }
            entries.push(entry);
        }
        self.expect(b"</Topology>")?;
        Ok(Topology { entry_of, entries })
    }

    fn text_topology(&mut self) -> Result<Topology, CodecError> {
        const EXPECTED: &str = "a topology: <TopologyEntry>, <ForPhones>, <State> and so on";
        const NO_STATE: &str = "<State>";
        let mut made = Topology::default();
        loop {
            let word = self.bytes.word(EXPECTED)?;
            match &*word.bytes {
                b"</Topology>" => return Ok(made),
                b"<TopologyEntry>" => made.entries.push(Vec::new()),
                b"<ForPhones>" => loop {
                    /// Bound of phones, so that damaged files do not allocate much memory.
                    const MOST_PHONES: usize = 1 << 24;
                    let word = self.bytes.word("a phone or </ForPhones>")?;
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
                    self.int("the number of a state")?;
                    made.entries.last_mut().ok_or_else(|| word.unexpected("<TopologyEntry>"))?.push(State::new());
                }
                b"<PdfClass>" | b"<ForwardPdfClass>" | b"<SelfLoopPdfClass>" => {
                    let class = self.int("a pdf class")?;
                    let state = made.last_state().ok_or_else(|| word.unexpected(NO_STATE))?;
                    if word.bytes != b"<SelfLoopPdfClass>" {
                        state.pdf_class = class;
                    }
                    state.loop_class = class;
                }
                b"<Transition>" => {
                    let dest = self.int("the state that a transition leads to")?;
                    let probability = self.bytes.word("the probability of a transition")?;
                    let number = std::str::from_utf8(&probability.bytes).ok().and_then(|text| text.parse().ok());
                    let number = number.ok_or_else(|| probability.unexpected("the probability of a transition"))?;
                    let state = made.last_state().ok_or_else(|| word.unexpected(NO_STATE))?;
                    state.transitions.push((dest, number));
                }
                b"<Final>" | b"</State>" | b"</TopologyEntry>" => {}
                _ => return Err(word.unexpected(EXPECTED)),
            }
        }
    }

    /// Reads a vector of integers in the binary form.
    fn integers(&mut self) -> Result<Vec<i32>, CodecError> {
        match self.bytes.peek()? {
            Some(4) => self.bytes.bump(),
            other => return Err(self.bytes.unexpected_byte("the size byte 4 of a vector of integers", other)),
        }
        let number = |reader: &mut Self| {
            let mut bytes = [0; 4];
            reader.bytes.read_exact(&mut bytes, "an integer of a vector")?;
            Ok(i32::from_le_bytes(bytes))
        };
        let count = number(self)?;
        (0..count).map(|_| number(self)).collect()
    }

    pub(super) fn tuples(&mut self) -> Result<Vec<Tuple>, CodecError> {
        let word = self.token("<Triples> or <Tuples>")?;
        let end: &[u8] = match &*word.bytes {
            b"<Triples>" => b"</Triples>",
            b"<Tuples>" => b"</Tuples>",
            _ => return Err(word.unexpected("<Triples> or <Tuples>")),
        };
        let mut tuples = Vec::new();
        for _ in 0..self.count("the number of triples")? {
            let [phone, state, pdf] = [self.int("a phone")?, self.int("a state")?, self.int("a pdf")?];
            let loop_pdf = if end == b"</Tuples>" { self.int("the pdf of a self-loop")? } else { pdf };
            tuples.push(Tuple { phone, state, pdf, loop_pdf });
        }
        let word = self.token("the end of the triples")?;
        if word.bytes == end { Ok(tuples) } else { Err(word.unexpected("the end of the triples")) }
    }
}

fn parse(word: &Word) -> Option<i32> {
    std::str::from_utf8(&word.bytes).ok()?.parse().ok()
}

pub(super) fn unexpected(offset: u64, expected: &'static str, found: String) -> CodecError {
    CodecError::Unexpected { offset, expected: expected.into(), found }
}
