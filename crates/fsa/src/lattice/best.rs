//! Best paths.

use ragged_core::Ragged;

use crate::core::limits::Limits;
use crate::error::{Error, Operation};
use crate::io::symbols::SymbolTable;
use crate::lattice::builder::LatticeBuilder;
use crate::lattice::container::Lattice;
use crate::paths::{n_best_paths, n_best_strings};
use crate::support::ids::{id, index};

/// A path of a lattice from its start to its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatticePath {
    /// Its words, without 0.
    pub words: Vec<i32>,
    /// The input labels of all its arcs, one for each frame.
    pub alignment: Vec<i32>,
    /// The sum of the graph scores.
    pub graph_score: f64,
    /// The sum of the acoustic scores.
    pub acoustic_score: f64,
    /// Its arcs, counted within the lattice.
    pub arcs: Vec<i32>,
}

impl LatticePath {
    /// Returns the sum of both scores.
    pub fn score(&self) -> f64 {
        self.graph_score + self.acoustic_score
    }
}

impl Lattice {
    /// Returns the best path of lattice `i`, `None` if it has none. O(states + arcs).
    ///
    /// # Errors
    /// If there is no such lattice.
    #[doc(alias = "CompactLatticeShortestPath")]
    pub fn best_path(&self, i: usize) -> Result<Option<LatticePath>, Error> {
        self.check_index(i)?;
        let utterance = self.utterance(i);
        let best = utterance.best_backward();
        let (Some(last), Some(&total)) = (utterance.fsa.final_state(), best.first()) else { return Ok(None) };
        if total == f64::NEG_INFINITY {
            return Ok(None);
        }
        let (mut state, mut arcs) = (0, Vec::new());
        while index(state) != last {
            let rest = |arc: usize| utterance.score(arc) + best[utterance.arc(arc).states().1];
            // The first of the best arcs, so that the result is the same everywhere.
            let Some(arc) = utterance.arcs_of(state).rev().max_by(|&a, &b| rest(a).total_cmp(&rest(b))) else {
                return Ok(None);
            };
            arcs.push(id(arc));
            state = utterance.arc(arc).dest_state;
        }
        Ok(Some(self.path(i, arcs)))
    }

    /// Returns the words of the best path of each lattice, with spaces between them; `None` for a
    /// lattice without paths. O(states + arcs).
    ///
    /// ```
    /// use fsa::RowSplits;
    /// use fsa::dense::{DenseFsaVec, DenseOptions};
    /// use fsa::graphs::{HlgOptions, make_hlg};
    /// use fsa::io::SymbolTable;
    /// use fsa::lattice::Lattice;
    ///
    /// let (tokens, words) = (SymbolTable::default(), SymbolTable::default());
    /// let lexicon = "yes Y EH S\nno N OW\n".as_bytes();
    /// let unigrams = "-99 <s>\n-0.5 </s>\n-0.3 yes\n-0.4 no";
    /// let arpa = format!("\\data\\\nngram 1=4\n\\1-grams:\n{unigrams}\n\\end\\\n");
    /// let options = HlgOptions::default();
    /// let hlg = make_hlg(tokens, words, lexicon, arpa.as_bytes(), &options, &mut |_| {})?;
    /// // Scores of the classes blank, EH, N, OW, S and Y: of two frames, and of three.
    /// let mut scores = [[-5.0_f32; 6]; 5];
    /// for (frame, class) in [2, 3, 5, 1, 4].into_iter().enumerate() {
    ///     scores[frame][class] = -0.1;
    /// }
    /// let frames = RowSplits::from_lengths([2, 3])?;
    /// let dense = DenseFsaVec::from_row_splits(scores.as_flattened(), 6, &frames)?;
    /// let lattices = hlg.graph.intersect_dense_pruned(&dense, &DenseOptions::default())?;
    /// let texts = Lattice::from_dense(&lattices)?.texts(&hlg.words)?;
    /// assert_eq!(texts, [Some("no".to_owned()), Some("yes".to_owned())]);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSymbol`] for a word that the table lacks.
    #[doc(alias = "get_texts")]
    pub fn texts(&self, words: &SymbolTable) -> Result<Vec<Option<String>>, Error> {
        let symbol = |label| words.get(label).ok_or(Error::NoSymbol { label });
        let text =
            |path: LatticePath| Ok(path.words.into_iter().map(symbol).collect::<Result<Vec<_>, Error>>()?.join(" "));
        (0..self.num_lattices()).map(|i| self.best_path(i)?.map(text).transpose()).collect()
    }

    /// Returns the `n` best paths of lattice `i`, from the best down; several may have the same
    /// words.
    ///
    /// # Errors
    /// If there is no such lattice; [`Error::Limit`]; [`Error::TooLarge`].
    #[doc(alias = "lattice-to-nbest")]
    pub fn n_best_paths(&self, i: usize, n: usize) -> Result<Vec<LatticePath>, Error> {
        self.check_index(i)?;
        self.paths(i, &n_best_paths(&self.fsas().index(&[id(i)])?.0, n)?)
    }

    /// Returns the `n` best word sequences of lattice `i`, each with its best path, from the best
    /// down. Exact.
    ///
    /// # Errors
    /// If there is no such lattice; [`Error::Limit`]; [`Error::TooLarge`].
    pub fn n_best(&self, i: usize, n: usize) -> Result<Vec<LatticePath>, Error> {
        self.check_index(i)?;
        let (own, _) = self.fsas().index(&[id(i)])?;
        self.paths(i, &n_best_strings(&own, &own.labels(), n)?)
    }

    /// Returns paths with the data of their arcs.
    fn paths(&self, i: usize, paths: &Ragged<i32>) -> Result<Vec<LatticePath>, Error> {
        let limits = Limits::default();
        let mut bytes = size_of_val(paths.values());
        let mut made = Vec::new();
        for arcs in paths.rows() {
            let path = self.path(i, arcs.to_vec());
            bytes += 2 * size_of::<LatticePath>() + size_of_val(&path.words[..]);
            bytes += size_of_val(&path.alignment[..]) + size_of_val(arcs);
            limits.check(Operation::ShortestPaths, bytes, made.len(), paths.values().len())?;
            made.push(path);
        }
        Ok(made)
    }

    /// Returns a path as a lattice of its own, arc by arc.
    ///
    /// # Errors
    /// If there is no such lattice; [`Error::NotAPath`].
    pub fn linear(&self, i: usize, path: &LatticePath) -> Result<Self, Error> {
        self.check_index(i)?;
        let utterance = self.utterance(i);
        let mut builder = LatticeBuilder::new();
        let (mut state, mut of_path) = (0, builder.add_state());
        for &arc in &path.arcs {
            let arc = utterance.arc_from(state, arc)?;
            state = utterance.arc(arc).dest_state;
            let (graph, acoustic) = utterance.scores(arc);
            let (word, alignment) = (utterance.arc(arc).label, utterance.alignment(arc));
            if word < 0 {
                builder.add_final(of_path, graph, acoustic, alignment);
            } else {
                let next = builder.add_state();
                builder.add_arc(of_path, next, word, graph, acoustic, alignment);
                of_path = next;
            }
        }
        builder.build()
    }

    /// Returns the words, the alignment and the sums of the scores of a path of lattice `i`.
    fn path(&self, i: usize, arcs: Vec<i32>) -> LatticePath {
        let utterance = self.utterance(i);
        let mut path = LatticePath::default();
        for &arc in &arcs {
            let arc = index(arc);
            path.words.extend(Some(utterance.arc(arc).label).filter(|&word| word > 0));
            path.alignment.extend_from_slice(utterance.alignment(arc));
            path.graph_score += utterance.graph(arc);
            path.acoustic_score += utterance.acoustic(arc);
        }
        LatticePath { arcs, ..path }
    }

    /// Checks that there is a lattice `i`.
    pub(super) fn check_index(&self, i: usize) -> Result<(), Error> {
        if i < self.num_lattices() {
            return Ok(());
        }
        let most = self.num_lattices().saturating_sub(1);
        Err(Error::too_many(crate::error::Quantity::FsaIndex, most, i))
    }
}
