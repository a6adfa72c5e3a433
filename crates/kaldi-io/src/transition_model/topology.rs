//! The topologies of phones, and the states to which pdfs belong.

/// The class of a state that has no pdf.
pub(super) const NO_PDF: i32 = -1;

/// A state of a phone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// [`NO_PDF`] for none.
    pub(super) pdf_class: i32,
    pub(super) loop_class: i32,
    /// Destination and probability of the transitions.
    pub(super) transitions: Vec<(i32, f32)>,
}

impl State {
    pub(super) fn new() -> Self {
        Self { pdf_class: NO_PDF, loop_class: NO_PDF, transitions: Vec::new() }
    }
}

/// The topologies of phones.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Topology {
    /// Entry of each phone, -1 for none.
    pub(super) entry_of: Vec<i32>,
    pub(super) entries: Vec<Vec<State>>,
}

impl Topology {
    pub(super) fn entry(&self, phone: i32) -> Option<&[State]> {
        let entry = self.entry_of.get(usize::try_from(phone).ok()?)?;
        self.entries.get(usize::try_from(*entry).ok()?).map(Vec::as_slice)
    }

    /// Returns the phones of each entry.
    pub(super) fn phones(&self) -> Vec<Vec<usize>> {
        let mut phones = vec![Vec::new(); self.entries.len()];
        for (phone, &entry) in self.entry_of.iter().enumerate() {
            if let Some(phones) = usize::try_from(entry).ok().and_then(|entry| phones.get_mut(entry)) {
                phones.push(phone);
            }
        }
        phones
    }

    pub(super) fn last_state(&mut self) -> Option<&mut State> {
        self.entries.last_mut()?.last_mut()
    }

    /// Returns `true` if self-loops have no pdf of their own.
    pub(super) fn is_hmm(&self) -> bool {
        self.entries.iter().flatten().all(|state| state.pdf_class == state.loop_class)
    }
}

/// A state of a phone in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tuple {
    pub(super) phone: i32,
    pub(super) state: i32,
    pub(super) pdf: i32,
    pub(super) loop_pdf: i32,
}
