//! All integration tests of the crate in one program.

mod first_steps;
mod fuzz;
mod ivectors;
mod live;
mod online;
mod online_folder;
mod papers;
mod pipeline;
mod pitched_rows;
mod recognizer;
mod recordings;
mod rescoring;
mod snfa;
mod speakers;
mod transducer;
