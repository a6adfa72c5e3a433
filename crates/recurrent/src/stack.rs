//! Layers upon layers, in one direction or both.
