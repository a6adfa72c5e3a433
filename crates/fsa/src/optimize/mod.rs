//! OpenFst's algorithms: determinization, minimization, weight pushing, exact n best paths, differences, lazy composition.
