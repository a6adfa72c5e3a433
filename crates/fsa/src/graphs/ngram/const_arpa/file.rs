//! The bytes of a model, in both forms, and look-ups in them.
//!
//! All numbers are little-endian. In the form with names each number of the head stands behind its
//! size in bytes, and the three tables are plain numbers:
//!
//! ```text
//! \0B<ConstArpaLm> <LmInfo> 4 START 4 END 4 UNKNOWN 4 ORDER </LmInfo>
//! <LmStates> 8 COUNT, numbers of 32 bits </LmStates>
//! <LmUnigram> 4 COUNT, numbers of 64 bits </LmUnigram>
//! <LmOverflow> 4 COUNT, numbers of 64 bits </LmOverflow> </ConstArpaLm>
//! ```
//!
//! A space follows each name. The old form has no names, a size before every number of the tables
//! too, and counts states with 32 bits. So a table of either form is numbers at equal distances.
//!
//! A state is an n-gram with a weight for backing off or with longer n-grams, or of order 1: its
//! logarithm, its weight for backing off, the number of its children, and for each child, sorted, a
//! word and the rest of it. The rest is a logarithm whose lowest bit is 0, or an odd number: half
//! of it is the distance of the child's state, if positive, or else minus an index into the table
//! of the overflow. Tables name a state by its position, plus 1.

use crate::error::{Error, Quantity};

/// Highest order of a model that is read.
pub(super) const MAX_ORDER: usize = 16;

/// First bytes of the form with names.
pub(super) const NAMED: &[u8] = b"\0B<ConstArpaLm> ";
const BINARY: &[u8] = b"\0B";
const INFO: &[u8] = b"<LmInfo> ";
const STATES: &[u8] = b"</LmInfo> <LmStates> ";
const UNIGRAMS: &[u8] = b"</LmStates> <LmUnigram> ";
const OVERFLOW: &[u8] = b"</LmUnigram> <LmOverflow> ";
const END: &[u8] = b"</LmOverflow> </ConstArpaLm> ";
/// Numbers of a state before its children.
pub(super) const HEAD: usize = 3;

/// The two forms of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstArpaForm {
    /// With names of sections, as Kaldi writes it since 2015.
    Named,
    /// Without, each number after its size; Kaldi still reads it.
    Old,
}

/// A table: numbers at equal distances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    /// Offset of the first number.
    at: usize,
    /// Bytes from a number to the next.
    stride: usize,
    pub(super) len: usize,
}

/// The head of a model, and the places of its tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sections {
    pub(super) start: i32,
    pub(super) end: i32,
    pub(super) unknown: Option<i32>,
    pub(super) order: usize,
    states: Table,
    unigrams: Table,
    overflow: Table,
}

/// Reads a file from its start.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

fn error(offset: usize, what: &'static str) -> Error {
    Error::Binary { offset, what }
}

impl Cursor<'_> {
    fn name(&mut self, name: &[u8], what: &'static str) -> Result<(), Error> {
        if !self.bytes[self.at..].starts_with(name) {
            return Err(error(self.at, what));
        }
        self.at += name.len();
        Ok(())
    }

    /// Reads a number behind its size.
    fn sized<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let wrong = error(self.at, "a number of another size, or the end of the file");
        let Some((&size, rest)) = self.bytes[self.at..].split_first() else { return Err(wrong) };
        let Some(number) = rest.first_chunk().filter(|_| usize::from(size) == N) else { return Err(wrong) };
        self.at += N + 1;
        Ok(*number)
    }

    fn i32(&mut self) -> Result<i32, Error> {
        self.sized().map(i32::from_le_bytes)
    }

    /// Skips a table of so many numbers of `size` bytes, for which the file must have room.
    fn table(&mut self, len: i64, size: usize, form: ConstArpaForm) -> Result<Table, Error> {
        let prefix = usize::from(form == ConstArpaForm::Old);
        let stride = size + prefix;
        let room = (self.bytes.len() - self.at) / stride;
        let fits = usize::try_from(len).ok().filter(|&len| len <= room);
        let len = fits.ok_or_else(|| error(self.at, "a count that the file has no room for"))?;
        let table = Table { at: self.at + prefix, stride, len };
        if prefix > 0 {
            let sizes = self.bytes[self.at..][..len * stride].chunks_exact(stride);
            if let Some(wrong) = sizes.map(|number| number[0]).position(|it| usize::from(it) != size) {
                return Err(error(self.at + wrong * stride, "a number of another size"));
            }
        }
        self.at += len * stride;
        Ok(table)
    }
}

impl Sections {
    /// Finds the tables, and checks that look-ups in them end.
    ///
    /// # Errors
    /// [`Error::Binary`], with the offset of the first error.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut cursor = Cursor { bytes, at: 0 };
        cursor.name(BINARY, "this is no binary file of Kaldi")?;
        let named = bytes.starts_with(NAMED);
        let form = if named { ConstArpaForm::Named } else { ConstArpaForm::Old };
        if named {
            cursor.at = NAMED.len();
        } else if bytes.get(cursor.at) != Some(&4) {
            return Err(error(cursor.at, "this is no ConstArpaLm of Kaldi (G.carpa)"));
        }
        let name = |cursor: &mut Cursor<'_>, name, what| if named { cursor.name(name, what) } else { Ok(()) };
        name(&mut cursor, INFO, "there should be <LmInfo>")?;
        let head = cursor.at;
        let [start, end, unknown, order] = [cursor.i32()?, cursor.i32()?, cursor.i32()?, cursor.i32()?];
        let order = usize::try_from(order).ok().filter(|order| (1..=MAX_ORDER).contains(order));
        let order = order.ok_or_else(|| error(head, "an order that is not within 1 and 16"))?;
        name(&mut cursor, STATES, "there should be <LmStates>")?;
        let len = if named { i64::from_le_bytes(cursor.sized()?) } else { cursor.i32()?.into() };
        let states = cursor.table(len, 4, form)?;
        name(&mut cursor, UNIGRAMS, "there should be <LmUnigram>")?;
        let len = cursor.i32()?.into();
        let unigrams = cursor.table(len, 8, form)?;
        name(&mut cursor, OVERFLOW, "there should be <LmOverflow>")?;
        let len = cursor.i32()?.into();
        let overflow = cursor.table(len, 8, form)?;
        name(&mut cursor, END, "there should be </LmOverflow>")?;
        if cursor.at != bytes.len() {
            return Err(error(cursor.at, "bytes after the end of the model"));
        }
        let is_word = |word: i32| usize::try_from(word).is_ok_and(|word| (1..unigrams.len).contains(&word));
        if !is_word(start) || !is_word(end) || !(unknown == -1 || is_word(unknown)) {
            return Err(error(head, "a word for <s>, </s> or <unk> that is not among the words"));
        }
        let unknown = Some(unknown).filter(|&unknown| unknown != -1);
        let sections = Self { start, end, unknown, order, states, unigrams, overflow };
        View::new(bytes, &sections).check()?;
        Ok(sections)
    }
}

/// A child of a state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Child {
    /// An n-gram without a state, and its logarithm.
    Leaf(f32),
    /// The position of its state.
    State(usize),
}

/// A model for look-ups. Positions of states are valid ones.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    bytes: &'a [u8],
    pub(super) sections: &'a Sections,
}

impl<'a> View<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8], sections: &'a Sections) -> Self {
        Self { bytes, sections }
    }

    /// Returns number `i` of a table, 0 behind its end.
    #[inline]
    fn number<const N: usize>(&self, table: Table, i: usize) -> [u8; N] {
        debug_assert!(i < table.len);
        self.bytes[table.at + i * table.stride..].first_chunk().copied().unwrap_or([0; N])
    }

    /// Returns a number of the states.
    #[inline]
    fn int(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.number(self.sections.states, at))
    }

    #[inline]
    fn float(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.number(self.sections.states, at))
    }

    /// Returns the position that an entry of a table of states names.
    #[inline]
    fn entry(&self, table: Table, i: usize) -> Option<usize> {
        usize::try_from(i64::from_le_bytes(self.number(table, i))).ok()?.checked_sub(1)
    }

    /// Returns the number of words, if that is the largest word and 1.
    pub(super) fn num_words(&self) -> usize {
        self.sections.unigrams.len
    }

    /// Returns the state of a word.
    #[inline]
    pub(super) fn unigram(&self, word: i32) -> Option<usize> {
        let unigrams = self.sections.unigrams;
        usize::try_from(word).ok().filter(|&word| word < unigrams.len).and_then(|word| self.entry(unigrams, word))
    }

    #[inline]
    pub(super) fn log_probability(&self, state: usize) -> f32 {
        self.float(state)
    }

    #[inline]
    pub(super) fn backoff(&self, state: usize) -> f32 {
        self.float(state + 1)
    }

    #[inline]
    pub(super) fn num_children(&self, state: usize) -> usize {
        usize::try_from(self.int(state + 2)).unwrap_or(0)
    }

    /// Returns the word of a child, and the child.
    #[inline]
    pub(super) fn child_at(&self, state: usize, i: usize) -> (i32, Child) {
        let at = state + HEAD + 2 * i;
        (self.int(at), self.decode(state, self.int(at + 1)))
    }

    #[inline]
    fn decode(&self, parent: usize, info: i32) -> Child {
        if info & 1 == 0 {
            return Child::Leaf(f32::from_bits(info.cast_unsigned()));
        }
        let half = info / 2;
        let distance = half.unsigned_abs() as usize;
        if half > 0 {
            return Child::State(parent + distance);
        }
        // The check has refused other entries.
        Child::State(self.entry(self.sections.overflow, distance).unwrap_or(parent))
    }

    /// Returns the child with a word. O(log children).
    #[inline]
    pub(super) fn child(&self, state: usize, word: i32) -> Option<Child> {
        // Kaldi's order of halving decides between children with the same word.
        let (mut low, mut high) = (1, self.num_children(state));
        while low <= high {
            let middle = usize::midpoint(low, high);
            let (found, child) = self.child_at(state, middle - 1);
            match found.cmp(&word) {
                std::cmp::Ordering::Equal => return Some(child),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle - 1,
            }
        }
        None
    }

    /// Returns the state of one word or more.
    #[inline]
    pub(super) fn find(&self, words: &[i32]) -> Option<usize> {
        let (&first, rest) = words.split_first()?;
        let mut state = self.unigram(first)?;
        for &word in rest {
            match self.child(state, word)? {
                Child::State(child) => state = child,
                Child::Leaf(_) => return None,
            }
        }
        Some(state)
    }

    /// Checks that states follow each other, that children are sorted, and that the states of words
    /// and children are states, each of them the state of one n-gram.
    fn check(&self) -> Result<(), Error> {
        let states = self.sections.states;
        let wrong = |at: usize, what| error(states.at + at * states.stride, what);
        let mut starts = vec![0_u64; states.len.div_ceil(64)];
        let mut at = 0;
        while at < states.len {
            if states.len - at < HEAD {
                return Err(wrong(at, "a state that ends behind the states"));
            }
            let room = (states.len - at - HEAD) / 2;
            let count = usize::try_from(self.int(at + 2)).ok().filter(|&count| count <= room);
            let count = count.ok_or_else(|| wrong(at + 2, "a number of children that there is no room for"))?;
            starts[at / 64] |= 1 << (at % 64);
            at += HEAD + 2 * count;
        }
        let mut enter = |state: Option<usize>| {
            let state = state.filter(|&state| state < states.len)?;
            let (word, bit) = (&mut starts[state / 64], 1 << (state % 64));
            let is_start = *word & bit != 0;
            *word &= !bit;
            is_start.then_some(())
        };
        const NO_STATE: &str = "the position of no state, or of the state of another n-gram";
        for table in [self.sections.unigrams, self.sections.overflow] {
            for i in 0..table.len {
                let is_none = self.number::<8>(table, i) == [0; 8];
                let is_unigram = table.at == self.sections.unigrams.at;
                if !(is_none && is_unigram) && enter(self.entry(table, i)).is_none() {
                    return Err(error(table.at + i * table.stride, NO_STATE));
                }
            }
        }
        let mut overflow = vec![false; self.sections.overflow.len];
        let mut at = 0;
        while at < states.len {
            let count = self.num_children(at);
            let mut least = i32::MIN;
            for child in 0..count {
                let place = at + HEAD + 2 * child;
                let (word, info) = (self.int(place), self.int(place + 1));
                if word < least {
                    return Err(wrong(place, "children that are not sorted"));
                }
                least = word;
                let half = info / 2;
                let distance = half.unsigned_abs() as usize;
                if info & 1 == 0 {
                    continue;
                } else if half > 0 {
                    enter(at.checked_add(distance)).ok_or_else(|| wrong(place + 1, NO_STATE))?;
                } else {
                    let is_own = overflow.get_mut(distance).is_some_and(|taken| !std::mem::replace(taken, true));
                    let is_behind =
                        is_own && self.entry(self.sections.overflow, distance).is_some_and(|state| state > at);
                    is_behind.then_some(()).ok_or_else(|| wrong(place + 1, NO_STATE))?;
                }
            }
            at += HEAD + 2 * count;
        }
        Ok(())
    }
}

/// The contents of a file that is being written.
pub(super) struct Contents<'a> {
    pub(super) start: i32,
    pub(super) end: i32,
    pub(super) unknown: Option<i32>,
    pub(super) order: usize,
    pub(super) states: &'a mut dyn ExactSizeIterator<Item = i32>,
    pub(super) unigrams: &'a mut dyn ExactSizeIterator<Item = i64>,
    pub(super) overflow: &'a mut dyn ExactSizeIterator<Item = i64>,
}

impl Contents<'_> {
    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(super) fn write(self, form: ConstArpaForm) -> Result<Vec<u8>, Error> {
        let named = form == ConstArpaForm::Named;
        let prefix = usize::from(!named);
        let numbers = (4 + prefix) * self.states.len() + (8 + prefix) * (self.unigrams.len() + self.overflow.len());
        let mut out = Vec::with_capacity(numbers + 256);
        let name = |out: &mut Vec<u8>, name: &[u8]| {
            if named {
                out.extend(name);
            }
        };
        let sized = |out: &mut Vec<u8>, number: i32| {
            out.push(4);
            out.extend(number.to_le_bytes());
        };
        let wide = |out: &mut Vec<u8>, number: i64| {
            if !named {
                out.push(8);
            }
            out.extend(number.to_le_bytes());
        };
        out.extend(if named { NAMED } else { BINARY });
        name(&mut out, INFO);
        let order = Error::fit(Quantity::Order, self.order)?;
        for number in [self.start, self.end, self.unknown.unwrap_or(-1), order] {
            sized(&mut out, number);
        }
        name(&mut out, STATES);
        if named {
            out.push(8);
            out.extend((self.states.len() as u64).to_le_bytes());
        } else {
            sized(&mut out, Error::fit(Quantity::Values, self.states.len())?);
        }
        for number in self.states {
            if !named {
                out.push(4);
            }
            out.extend(number.to_le_bytes());
        }
        name(&mut out, UNIGRAMS);
        sized(&mut out, Error::fit(Quantity::Symbols, self.unigrams.len())?);
        self.unigrams.for_each(|number| wide(&mut out, number));
        name(&mut out, OVERFLOW);
        sized(&mut out, Error::fit(Quantity::Values, self.overflow.len())?);
        self.overflow.for_each(|number| wide(&mut out, number));
        name(&mut out, END);
        Ok(out)
    }
}

/// Returns the bytes of a model.
///
/// # Errors
/// [`Error::TooLarge`].
pub(super) fn write(view: &View<'_>, form: ConstArpaForm) -> Result<Vec<u8>, Error> {
    let &Sections { start, end, unknown, order, states, unigrams, overflow } = view.sections;
    let entry = |table: Table| move |i| i64::from_le_bytes(view.number(table, i));
    let contents = Contents {
        start,
        end,
        unknown,
        order,
        states: &mut (0..states.len).map(|i| view.int(i)),
        unigrams: &mut (0..unigrams.len).map(entry(unigrams)),
        overflow: &mut (0..overflow.len).map(entry(overflow)),
    };
    contents.write(form)
}
