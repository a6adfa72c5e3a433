//! Decoding with a graph: endpoints.

mod endpoint;

pub use endpoint::{EndpointRule, EndpointRules, EndpointState};
