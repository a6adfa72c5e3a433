//! Writes tokens and topologies of a model's file, in Kaldi's bytes.

use std::io::{self, Write};

use kaldi_matrix::codec::push_number;

use super::topology::{NO_PDF, State, Topology};

pub(super) struct Writer<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) binary: bool,
}

impl Writer<'_> {
    pub(super) fn token(&mut self, token: &str) -> io::Result<()> {
        write!(self.out, "{token} ")
    }

    /// Ends a line of the text form.
    pub(super) fn line_end(&mut self) -> io::Result<()> {
        if self.binary { Ok(()) } else { self.out.write_all(b"\n") }
    }

    pub(super) fn int(&mut self, number: i32) -> io::Result<()> {
        if !self.binary {
            return write!(self.out, "{number} ");
        }
        self.out.write_all(&[4])?;
        self.out.write_all(&number.to_le_bytes())
    }

    pub(super) fn size(&mut self, size: usize) -> io::Result<()> {
        self.int(i32::try_from(size).map_err(io::Error::other)?)
    }

    fn real(&mut self, number: f32) -> io::Result<()> {
        if self.binary {
            self.out.write_all(&[4])?;
            return self.out.write_all(&number.to_le_bytes());
        }
        let mut text = Vec::new();
        push_number(&mut text, number.into());
        text.push(b' ');
        self.out.write_all(&text)
    }

    /// Writes a vector of integers of the binary form.
    fn integers(&mut self, numbers: &[i32]) -> io::Result<()> {
        self.size(numbers.len())?;
        numbers.iter().try_for_each(|number| self.out.write_all(&number.to_le_bytes()))
    }

    pub(super) fn topology(&mut self, topology: &Topology) -> io::Result<()> {
        self.token("<Topology>")?;
        match self.binary {
            true => self.binary_topology(topology)?,
            false => self.text_topology(topology)?,
        }
        self.token("</Topology>")?;
        self.line_end()
    }

    fn binary_topology(&mut self, topology: &Topology) -> io::Result<()> {
        let phones = (0..).zip(&topology.entry_of).filter(|&(_, &entry)| entry >= 0).map(|(phone, _)| phone);
        self.integers(&phones.collect::<Vec<i32>>())?;
        self.integers(&topology.entry_of)?;
        let is_hmm = topology.is_hmm();
        if !is_hmm {
            self.int(-1)?;
        }
        self.size(topology.entries.len())?;
        for entry in &topology.entries {
            self.size(entry.len())?;
            for State { pdf_class, loop_class, transitions } in entry {
                self.int(*pdf_class)?;
                if !is_hmm {
                    self.int(*loop_class)?;
                }
                self.size(transitions.len())?;
                self.transitions(transitions, "")?;
            }
        }
        Ok(())
    }

    fn text_topology(&mut self, topology: &Topology) -> io::Result<()> {
        let is_hmm = topology.is_hmm();
        self.line_end()?;
        for (entry, phones) in topology.entries.iter().zip(topology.phones()) {
            write!(self.out, "<TopologyEntry> \n<ForPhones> \n")?;
            phones.iter().try_for_each(|phone| write!(self.out, "{phone} "))?;
            write!(self.out, "\n</ForPhones> \n")?;
            for (number, State { pdf_class, loop_class, transitions }) in entry.iter().enumerate() {
                write!(self.out, "<State> {number} ")?;
                match (*pdf_class, is_hmm) {
                    (NO_PDF, _) => {}
                    (class, true) => write!(self.out, "<PdfClass> {class} ")?,
                    (class, false) => write!(self.out, "<ForwardPdfClass> {class} <SelfLoopPdfClass> {loop_class} ")?,
                }
                self.transitions(transitions, "<Transition> ")?;
                write!(self.out, "</State> \n")?;
            }
            write!(self.out, "</TopologyEntry> \n")?;
        }
        Ok(())
    }

    fn transitions(&mut self, transitions: &[(i32, f32)], before: &str) -> io::Result<()> {
        transitions.iter().try_for_each(|&(dest, probability)| {
            self.out.write_all(before.as_bytes())?;
            self.int(dest)?;
            self.real(probability)
        })
    }
}
