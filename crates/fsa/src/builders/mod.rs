//! k2's graph builders: linear FSAs, CTC topologies and graphs, Levenshtein graphs.
