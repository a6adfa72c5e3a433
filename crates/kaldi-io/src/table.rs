//! Tables: objects under keys, in archives (`ark`) and script files (`scp`).

mod archive;
mod indexed;
mod mapped;
#[expect(unsafe_code, reason = "a file that is memory may change under us, which the caller rules out")]
mod memory_map;
mod random;
mod script;
mod sequential;
mod until_end;
mod writer;

pub use indexed::IndexedArchive;
pub use mapped::MappedReader;
pub use random::RandomAccessReader;
pub(crate) use script::ScriptLines;
pub use script::refuse_pipes;
pub use sequential::SequentialReader;
pub use writer::TableWriter;
