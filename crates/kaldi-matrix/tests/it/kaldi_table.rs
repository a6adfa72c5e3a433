//! Reads `KALDI.md`, the table for those who come from Kaldi, and holds it against the source and
//! against the list of Kaldi's methods.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Everything public in Kaldi's matrix library, by class; the section of the table has the class's
/// name.
const KALDI: &[(&str, &str)] = &[
    (
        "VectorBase",
        "SetZero Set IsZero SetRandn SetRandUniform RandCategorical Dim SizeInBytes Data operator() Range CopyFromVec \
         CopyFromPacked CopyRowsFromMat CopyColsFromMat CopyRowFromMat CopyRowFromSp CopyColFromMat CopyDiagFromMat \
         CopyDiagFromPacked CopyDiagFromSp CopyDiagFromTp Floor ApplyFloor Ceiling ApplyCeiling Pow ApplyPow ApplyPowAbs \
         ApplyLog ApplyLogAndCopy ApplyExp ApplyAbs InvertElements Tanh Sigmoid ApplySoftMax ApplyLogSoftMax LogSumExp Norm \
         ApproxEqual AddVec AddVec2 AddVecVec AddVecDivVec AddMatVec AddMatSvec AddSpVec AddTpVec MulTp Solve MulElements \
         DivElements Add Scale ReplaceValue Max Min Sum SumLog AddRowSumMat AddColSumMat AddDiagMat2 AddDiagMatMat Read Write",
    ),
    ("Vector, SubVector", "Vector SubVector Resize Swap RemoveElement operator= Read Destroy"),
    ("Functions of vectors", "VecVec VecMatVec ApproxEqual AssertEqual operator<< operator>>"),
    (
        "MatrixBase",
        "SetZero Set SetUnit SetRandn SetRandUniform NumRows NumCols Stride SizeInBytes Data RowData operator() Row Range \
         RowRange ColRange CopyFromMat CopyFromSp CopyFromTp CopyRowsFromVec CopyColsFromVec CopyColFromVec CopyRowFromVec \
         CopyDiagFromVec Sum Trace Max Min LargestAbsElem FrobeniusNorm LogSumExp Cond MinSingularValue IsSymmetric IsDiagonal \
         IsUnit IsZero ApproxEqual Equal MulElements DivElements Scale MulColsVec MulRowsVec MulRowsGroupMat Invert InvertDouble \
         LogDet InvertElements Transpose CopyCols CopyRows AddCols AddRows AddToRows CopyToRows Pow ApplyPow PowAbs ApplyPowAbs \
         Heaviside ApplyHeaviside Floor ApplyFloor Ceiling ApplyCeiling Exp ApplyExp ExpSpecial ApplyExpSpecial ExpLimited \
         ApplyExpLimited Log ApplyLog SoftHinge Tanh Sigmoid DiffSigmoid DiffTanh ApplySoftMax ApplySoftMaxPerRow GroupPnorm \
         GroupPnormDeriv GroupMax GroupMaxDeriv Eig Power Svd DestructiveSvd SymPosSemiDefEig Add AddToDiag AddVecVec \
         AddVecToRows AddVecToCols AddMat AddSmat AddSmatMat AddMatSmat SymAddMat2 AddDiagVecMat AddMatDiagVec AddMatMatElements \
         AddSp AddMatMat SetMatMatDivMat AddMatMatMat AddSpMat AddTpMat AddMatSp AddSpMatSp AddMatTp AddTpTp AddSpSp \
         CopyLowerToUpper CopyUpperToLower OrthogonalizeRows LapackGesvd JamaSvd TestUninitialized Read Write",
    ),
    ("Matrix, SubMatrix", "Matrix SubMatrix Resize Swap RemoveRow Transpose operator= Read Destroy"),
    (
        "Functions of matrices",
        "TraceMat TraceMatMat TraceMatMatMat TraceMatMatMatMat SortSvd CreateEigenvalueMatrix AttemptComplexPower SameDim \
         AssertSameDim ApproxEqual AssertEqual ReadHtk WriteHtk WriteSphinx operator<< operator>>",
    ),
    (
        "PackedMatrix",
        "PackedMatrix SetZero SetUnit SetRandn Trace Resize AddToDiag ScaleDiag SetDiag CopyFromPacked CopyFromVec Max Min Scale \
         NumRows NumCols SizeInBytes Data operator() Swap Read Write",
    ),
    (
        "SpMatrix",
        "SpMatrix CopyFromMat CopyFromSp operator() Resize Swap Invert InvertDouble LogDet LogPosDefDet Cond IsPosDef Trace \
         FrobeniusNorm MaxAbsEig IsDiagonal IsUnit IsZero IsTridiagonal ApproxEqual ApplyPow Eig SymPosSemiDefEig TopEigs \
         Tridiagonalize Qr ApplyFloor LimitCond LimitCondDouble AddSp AddVec2 AddVecVec AddVec2Sp AddDiagVec AddMat2 AddMat2Sp \
         AddSmat2Sp AddTp2Sp AddTp2 AddMat2Vec",
    ),
    (
        "TpMatrix",
        "TpMatrix operator() Resize Swap Cholesky Invert InvertDouble Determinant CopyFromMat CopyFromTp AddTp",
    ),
    (
        "Functions of packed matrices",
        "TraceSpSp TraceSpSpLower TraceSpMat TraceMatSpMat TraceMatSpMatSp VecSpVec SolverOptions Check SolveQuadraticProblem \
         SolveQuadraticMatrixProblem SolveDoubleQuadraticMatrixProblem",
    ),
    (
        "SparseVector",
        "SparseVector Dim NumElements GetElement Data Sum Max CopyElementsToVec AddToVec CopyFromSvec Scale Resize Swap SetRandn \
         Read Write",
    ),
    (
        "SparseMatrix",
        "SparseMatrix NumRows NumCols NumElements CopyToMat CopyElementsToVec AddToMat CopyFromSmat SelectRows \
         AppendSparseMatrixRows SetRow Row Sum FrobeniusNorm Scale Resize Swap SetRandn Read Write",
    ),
    (
        "GeneralMatrix",
        "GeneralMatrix Type Compress Uncompress GetMatrix GetFullMatrix GetSparseMatrix GetCompressedMatrix CopyToMat AddToMat \
         Scale NumRows NumCols Clear SwapFullMatrix SwapCompressedMatrix SwapSparseMatrix Read Write",
    ),
    (
        "Functions of sparse and general matrices",
        "VecSvec TraceMatSmat AppendGeneralMatrixRows FilterSparseMatrixRows FilterCompressedMatrixRows FilterGeneralMatrixRows \
         FilterMatrixRows ExtractRowRangeWithPadding",
    ),
    (
        "CompressedMatrix",
        "CompressedMatrix CopyFromMat CopyToMat CopyRowToVec CopyColToVec NumRows NumCols Scale Swap Clear Read Write",
    ),
    ("NumpyArray", "NumpyArray Shape NumElements Data Read Write"),
    (
        "Optimization",
        "LinearCgd LinearCgdOptions OptimizeLbfgs LbfgsOptions GetProposedValue DoStep GetValue RecentStepLength",
    ),
    (
        "Transforms",
        "ComplexFft ComplexFt RealFft RealFftInefficient SplitRadixComplexFft SplitRadixRealFft ComputeDctMatrix ComplexMul \
         ComplexAddProduct ComplexImExp Compute ComputePca AddOuterProductPlusMinus",
    ),
    (
        "Types",
        "MatrixTransposeType MatrixResizeType MatrixStrideType SpCopyType CompressionMethod GeneralMatrixType RandomState \
         RandGauss RandUniform",
    ),
];

/// A row: Kaldi's name, the code in the second cell, the text of the third.
struct Row {
    line: usize,
    kaldi: String,
    here: Vec<String>,
    remark: String,
}

/// The sections of the table, by their headings.
fn table() -> BTreeMap<String, Vec<Row>> {
    let mut sections: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut heading = String::new();
    for (line, text) in (1..).zip(include_str!("../../KALDI.md").lines()) {
        if let Some(name) = text.strip_prefix("## ") {
            heading = name.to_owned();
        }
        let Some(row) = text.strip_prefix("| `") else { continue };
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').collect();
        let [kaldi, here, remark] = cells[..] else { panic!("line {line}: {} cells", cells.len()) };
        let code = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        sections.entry(heading.clone()).or_default().push(Row {
            line,
            kaldi: code(&format!("`{kaldi}")).remove(0),
            here: code(here),
            remark: remark.trim().to_owned(),
        });
    }
    sections
}

/// A public function of the crate: the type whose `impl` it stands in (none for a free one) and its
/// aliases.
struct Function {
    of: String,
    name: String,
    aliases: Vec<String>,
}

/// What the crate's source declares.
#[derive(Default)]
struct Source {
    functions: Vec<Function>,
    /// Structs, enums, traits, types, modules.
    items: BTreeSet<String>,
    /// Traits that are implemented: `Display`, `From` ...
    implemented: BTreeSet<String>,
}

impl Source {
    fn read(&mut self, folder: &Path) {
        let mut entries: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                self.read(&path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.scan(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    fn scan(&mut self, text: &str) {
        let (mut of, mut aliases) = (String::new(), Vec::new());
        // rustfmt breaks a long head of an `impl` into lines; only its first words matter here.
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("impl") {
                let (implemented, name) = head(rest);
                self.implemented.extend(implemented);
                of = name;
            } else if line.starts_with('}') {
                of.clear();
            }
            let words = line.trim_start();
            if let Some(derived) = words.strip_prefix("#[derive(") {
                self.implemented.extend(derived.split(", ").map(|name| identifier(name, "").to_owned()));
            }
            if let Some(alias) = words.strip_prefix("#[doc(alias = \"") {
                aliases.push(identifier(alias, "<>()=").to_owned());
            } else if let Some(rest) = words.strip_prefix("pub fn ").or_else(|| words.strip_prefix("pub const fn ")) {
                let name = identifier(rest, "").to_owned();
                self.functions.push(Function { of: of.clone(), name, aliases: std::mem::take(&mut aliases) });
            } else if let Some(rest) = ["struct ", "enum ", "trait ", "type ", "mod "]
                .iter()
                .find_map(|kind| words.strip_prefix("pub ").and_then(|rest| rest.strip_prefix(kind)))
            {
                self.items.insert(identifier(rest, "").to_owned());
                aliases.clear();
            } else if !words.starts_with("#[") && !words.starts_with("//") {
                aliases.clear();
            }
        }
    }
}

/// The trait, if any, and the type of `impl` and what follows it.
fn head(rest: &str) -> (Option<String>, String) {
    let rest = without_generics(rest);
    match rest.split_once(" for ") {
        Some((of, name)) => {
            let of = of.split('<').next().unwrap_or_default();
            (of.rsplit("::").next().map(|of| of.trim().to_owned()), type_name(name))
        }
        None => (None, type_name(rest)),
    }
}

/// What follows `<...>`, if the text starts with that.
fn without_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text.trim_start();
    }
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !text[..i].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text[i + 1..].trim_start();
        }
    }
    ""
}

fn type_name(text: &str) -> String {
    identifier(text.trim_start_matches(|c: char| !c.is_alphabetic()), "").to_owned()
}

/// The identifier that a text starts with, which may have `more` characters in it.
fn identifier<'a>(text: &'a str, more: &str) -> &'a str {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || more.contains(c))).map_or(text, |end| &text[..end])
}

fn source() -> Source {
    let mut source = Source::default();
    source.read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    source
}

/// The types whose methods a section is about: those that its heading names. Free functions are
/// allowed everywhere.
fn types_of(heading: &str) -> Vec<String> {
    let mut types: Vec<String> = heading.split(", ").map(str::to_owned).collect();
    for (of, also) in [
        ("VectorBase", ["Vector", "SubVector", "SubVectorMut"]),
        ("Vector", ["VectorBase", "SubVector", "SubVectorMut"]),
        ("MatrixBase", ["Matrix", "SubMatrix", "SubMatrixMut"]),
        ("Matrix", ["MatrixBase", "SubMatrix", "SubMatrixMut"]),
        ("SpMatrix", ["PackedMatrix"; 3]),
        ("TpMatrix", ["PackedMatrix"; 3]),
    ] {
        if types.iter().any(|name| name == of) {
            types.extend(also.map(str::to_owned));
        }
    }
    types
}

#[test]
fn what_the_table_names_exists() {
    let source = source();
    let mut wrong = Vec::new();
    for (heading, rows) in table() {
        let types = types_of(&heading);
        for Row { line, kaldi, here, remark } in rows {
            if here.is_empty() && remark.is_empty() {
                wrong.push(format!("line {line}: {kaldi} has nothing here and no reason why"));
            }
            for code in here {
                let mut parts: Vec<&str> = code.split("::").map(|part| identifier(part, "")).collect();
                let name = parts.pop().unwrap_or_default();
                let of = parts.pop();
                if name.starts_with(char::is_uppercase) {
                    if !source.items.contains(name) && !source.implemented.contains(name) {
                        wrong.push(format!("line {line}: there is no `{name}`"));
                    }
                    continue;
                }
                // Constructors and operators have no name in Kaldi that one would search for.
                let nameless = kaldi.starts_with("operator")
                    || kaldi.starts_with(char::is_uppercase) && source.items.contains(&kaldi);
                let belongs = |f: &&Function| match of {
                    Some(of) if of.starts_with(char::is_uppercase) => f.of == of,
                    Some(_) => f.of.is_empty(),
                    None => f.of.is_empty() || types.contains(&f.of) || nameless,
                };
                let mut found = source.functions.iter().filter(|f| f.name == name).filter(belongs).peekable();
                if found.peek().is_none() {
                    wrong.push(format!("line {line}: no public `{code}` belongs to {heading}"));
                } else if !nameless && !found.any(|f| f.aliases.contains(&kaldi)) {
                    wrong.push(format!("line {line}: `{code}` lacks #[doc(alias = \"{kaldi}\")]"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_kaldi_has_is_in_the_table() {
    let table = table();
    let mut missing = Vec::new();
    for (heading, names) in KALDI {
        let rows = table.get(*heading).map_or(&[][..], Vec::as_slice);
        for name in names.split_whitespace() {
            if !rows.iter().any(|row| row.kaldi == name) {
                missing.push(format!("{heading}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_alias_in_kaldis_style_is_in_the_table() {
    let named: BTreeSet<String> = table().into_values().flatten().map(|row| row.kaldi).collect();
    let aliases = source().functions.into_iter().flat_map(|f| f.aliases);
    let missing: BTreeSet<String> =
        aliases.filter(|alias| alias.starts_with(char::is_uppercase) && !named.contains(alias)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
