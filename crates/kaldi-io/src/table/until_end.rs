//! Iteration over the items of an input.

use crate::error::Error;
use crate::rxfilename::{Input, InputStatus};

/// An input up to its end or to an error, which is the last item. The failure of a command is
/// reported at its end.
pub(super) struct UntilEnd {
    // `None` after the last item.
    input: Option<Input>,
}

impl UntilEnd {
    pub(super) fn new(input: Input) -> Self {
        UntilEnd { input: Some(input) }
    }

    /// Reads the next item with `read`, which returns `None` at the end.
    pub(super) fn next<V>(
        &mut self,
        read: impl FnOnce(&mut Input) -> Result<Option<V>, Error>,
    ) -> Option<Result<V, Error>> {
        match read(self.input.as_mut()?) {
            Ok(Some(item)) => Some(Ok(item)),
            Ok(None) => match self.input.take()?.close() {
                InputStatus::Success => None,
                InputStatus::Failed { command, status } => Some(Err(Error::Command { command, status })),
            },
            Err(error) => {
                self.input = None;
                Some(Err(error))
            }
        }
    }
}
