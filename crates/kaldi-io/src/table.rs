//! Tables: objects under keys, in archives (`ark`) and script files (`scp`).

mod archive;
mod mapped;
mod random;
mod script;
mod sequential;
mod writer;

pub use mapped::MappedReader;
pub use random::RandomAccessReader;
pub use sequential::SequentialReader;
pub use writer::TableWriter;
