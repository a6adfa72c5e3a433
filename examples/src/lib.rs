//! Examples: see the `examples` folder.
