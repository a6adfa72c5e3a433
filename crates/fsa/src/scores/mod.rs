//! Scores of states, arcs and paths in the log and the tropical semiring, their gradients, and the best paths.
