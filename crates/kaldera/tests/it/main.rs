//! All integration tests of the crate in one program.

mod first_steps;
mod fuzz;
mod ivectors;
mod live;
mod papers;
mod pipeline;
mod recognizer;
mod recordings;
mod snfa;
mod transducer;
