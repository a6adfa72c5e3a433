//! Writes tokens and topologies of a model's file, in Kaldi's bytes.

use std::io;

use kaldi_matrix::codec::FieldWriter;

use super::topology::{NO_PDF, State, Topology};

pub(super) struct Writer<'a> {
    pub(super) fields: FieldWriter<'a>,
}

impl Writer<'_> {
    pub(super) fn topology(&mut self, topology: &Topology) -> io::Result<()> {
        self.fields.token("<Topology>")?;
        match self.fields.is_binary() {
            true => self.binary_topology(topology)?,
            false => self.text_topology(topology)?,
        }
        self.fields.token("</Topology>")?;
        self.fields.line_end()
    }

    fn binary_topology(&mut self, topology: &Topology) -> io::Result<()> {
        let phones = (0..).zip(&topology.entry_of).filter(|&(_, &entry)| entry >= 0).map(|(phone, _)| phone);
        self.fields.ints(&phones.collect::<Vec<i32>>(), 1)?;
        self.fields.ints(&topology.entry_of, 1)?;
        let is_hmm = topology.is_hmm();
        if !is_hmm {
            self.fields.int(-1)?;
        }
        self.fields.size(topology.entries.len())?;
        for entry in &topology.entries {
            self.fields.size(entry.len())?;
            for State { pdf_class, loop_class, transitions } in entry {
                self.fields.int(*pdf_class)?;
                if !is_hmm {
                    self.fields.int(*loop_class)?;
                }
                self.fields.size(transitions.len())?;
                self.transitions(transitions, "")?;
            }
        }
        Ok(())
    }

    fn text_topology(&mut self, topology: &Topology) -> io::Result<()> {
        let is_hmm = topology.is_hmm();
        self.fields.line_end()?;
        for (entry, phones) in topology.entries.iter().zip(topology.phones()) {
            self.text("<TopologyEntry> \n<ForPhones> \n")?;
            phones.iter().try_for_each(|phone| self.text(&format!("{phone} ")))?;
            self.text("\n</ForPhones> \n")?;
            for (number, State { pdf_class, loop_class, transitions }) in entry.iter().enumerate() {
                self.text(&format!("<State> {number} "))?;
                match (*pdf_class, is_hmm) {
                    (NO_PDF, _) => {}
                    (class, true) => self.text(&format!("<PdfClass> {class} "))?,
                    (class, false) => {
                        self.text(&format!("<ForwardPdfClass> {class} <SelfLoopPdfClass> {loop_class} "))?
                    }
                }
                self.transitions(transitions, "<Transition> ")?;
                self.text("</State> \n")?;
            }
            self.text("</TopologyEntry> \n")?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.fields.bytes(text.as_bytes())
    }

    fn transitions(&mut self, transitions: &[(i32, f32)], before: &str) -> io::Result<()> {
        transitions.iter().try_for_each(|&(dest, probability)| {
            self.text(before)?;
            self.fields.int(dest)?;
            self.fields.single(probability)
        })
    }
}
