//! Reading and writing: the text of k2 and OpenFst, OpenFst's binary files, symbol tables, plain arrays, drawings.
