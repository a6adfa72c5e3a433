//! Benchmarks: see the `benches` folder.
