//! Kinds of errors: each variant has a text, which is its display form and its documentation.

macro_rules! texts {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = $text] $variant,)*
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $text,)*
                })
            }
        }
    };
}
pub(crate) use texts;

texts! {
    /// Quantity with the wrong size, number of axes or value.
    Quantity {
        ArcLists = "the lists of arcs",
        ArcMapEntries = "the number of entries of the arc map",
        Arcs = "the number of arcs",
        AttributeEntries = "the number of entries of an attribute",
        AuxLabelLists = "the number of lists of auxiliary labels",
        AuxLabels = "the number of auxiliary labels",
        Beam = "the beam",
        BeamDelta = "beam_delta",
        Chunks = "the number of chunks",
        Classes = "the number of classes, if not more,",
        Count = "a count",
        Counts = "the number of counts",
        EncodedLabel = "an encoded label",
        EncodedLabels = "the number of encoded labels",
        EndWord = "the number of the word that ends a sentence",
        Eos = "eos",
        Epsilons = "the number of epsilons on all ways",
        FirstSymbol = "the first symbol to be replaced",
        Frames = "the number of frames",
        Fsa = "an FSA",
        FsaIndex = "the index of an FSA",
        FsaVec = "a vector of FSAs",
        Fsas = "the number of FSAs",
        Gradients = "the number of gradients",
        Graphs = "the number of graphs, if not 1,",
        LabelIntervals = "the number of intervals of labels",
        Labels = "the number of labels",
        LatticeFsas = "the number of FSAs of the lattice",
        Lengths = "the number of lengths",
        ListEntries = "the number of entries of lists",
        Lists = "the number of lists",
        MaxActiveStates = "max_active_states",
        MaxSymbol = "the largest symbol",
        MinArcs = "the smallest number of arcs",
        MinSymbol = "the smallest symbol",
        Ngrams = "the number of n-grams",
        OpenPaths = "the number of open paths",
        Order = "the highest order",
        OutputBeam = "output_beam",
        OutputGradients = "the number of output gradients",
        PairMapEntries = "the number of entries of b_to_a_map",
        PairMapEntry = "an entry of b_to_a_map",
        PathArcs = "the number of arcs of all paths",
        Paths = "the number of paths",
        PhraseToken = "a token of a phrase",
        Phrases = "a list of phrases",
        PruneThreshold = "the threshold of pruning",
        Reference = "the reference of a hypothesis",
        References = "the number of references",
        RowStride = "the row stride, if not more,",
        Scores = "the number of scores",
        SearchBeam = "search_beam",
        SecondFsas = "the number of FSAs on the second side",
        Sentences = "sentences of tokens",
        Sequences = "sequences to align",
        SilenceProbability = "the probability of silence",
        StartWord = "the number of the word that begins a sentence",
        States = "the number of states",
        StreamArcs = "the number of arcs of the graph of a stream",
        StreamStates = "the number of states of the graph of a stream",
        StringLength = "the length of a string",
        Strings = "the number of strings to be compared",
        SymbolLabel = "the label of a symbol",
        SymbolLists = "lists of symbols",
        SymbolPairs = "the number of pairs of symbols",
        Symbols = "the number of symbols",
        Token = "a token",
        Tokens = "the number of tokens",
        UnknownWord = "the number of the unknown word",
        Utterances = "the number of utterances",
        Values = "the number of values",
        Ways = "the number of ways to states",
    }
}

texts! {
    /// Reason why an operation cannot take an attribute.
    AttributeProblem {
        AuxLabelLists = "here every arc has one output label; expand lists with Graph::expand_aux_labels",
        FirstAuxLabels = "the output labels of the first of two must be one for each arc",
        FloatsAsLists = "lists are made of whole numbers",
        GraphLabels = "the labels of one graph are classes, those of another classes + 1: give both the same with Graph::with_graph_labels",
        ListsOfWords = "the best words are found where each arc outputs one label",
        NamedArcs = "an attribute has the name that arcs have",
        NoAuxLabels = "only what has aux_labels of whole numbers can be inverted",
        NoAuxLabelsForPaths = "paths with different output labels need aux_labels",
        NoLmScores = "a lattice to be rescored has the attribute lm_scores",
        NoSequences = "sequences are made of an attribute of whole numbers or lists",
        NotAcceptor = "the output labels of an acceptor are its input labels",
        NotPrintable = "an attribute to be printed is not there, or of another kind",
        WordLists = "L o G outputs a word or none on each arc",
    }
}

texts! {
    /// Reason why plain arrays are not FSAs.
    TensorProblem {
        ArcCount = "the array has not as many arcs as its FSAs",
        AttributeAxes = "an attribute has one axis",
        MissingStates = "the array names a state so high that most of those below it are not in the array",
        NegativeState = "an arc enters a state below 0",
        NoArcs = "there is no array of arcs",
        TooShort = "the array is too short for its number of FSAs",
    }
}

texts! {
    /// Reason why HL and G cannot be composed with look-ahead.
    LookAheadProblem {
        BackoffCycle = "arcs of G that back off make a cycle",
        EpsilonCycle = "arcs of HL with label 0 make a cycle",
        OtherReach = "the labels that can be reached are of another transducer, or of its input",
        TwoBackoffs = "a state of G has two arcs that back off",
        UnsortedInput = "the arcs of a state of G are not sorted by their input labels",
        UnsortedOutput = "the arcs of a state of HL are not sorted by their output labels",
        TwoWords = "HL outputs two words, or one behind the last token, where no token stands between them",
    }
}

texts! {
    /// Operation that can reach a limit.
    Operation {
        AlignWords = "word alignment",
        ArcSort = "sorting arcs",
        ComposeTopology = "composition of H and L o G",
        Composition = "intersection or composition",
        Connect = "connecting",
        CtcTopology = "the topology of CTC with all its arcs",
        DenseIntersection = "dense intersection",
        Determinize = "determinization",
        DeterminizePruned = "determinization with a beam, without epsilons or of several outputs",
        Difference = "difference",
        EpsilonNormalize = "epsilon normalization",
        EquivalenceWithEpsilons = "the comparison of FSAs with epsilons",
        LatticeDeterminize = "determinization of a lattice",
        LatticeOracle = "the search for the path nearest to a reference",
        LatticeRescore = "rescoring",
        LazyComposition = "lazy composition",
        LookAhead = "look-ahead",
        Minimize = "minimization",
        MinimizeNondeterministic = "minimization of an FSA that is not deterministic",
        RandomPaths = "drawing random paths",
        MinimumBayesRisk = "minimum Bayes risk decoding",
        RemoveDisambiguation = "the removal of symbols for disambiguation",
        RemoveEpsilons = "removal of epsilons",
        ReplaceFsa = "replacing labels by FSAs",
        ShortestPaths = "finding the best paths",
        TrivialGraph = "the trivial graph",
    }
}

texts! {
    /// Quantity that a limit bounds.
    Limited {
        Arcs = "arcs",
        Bytes = "bytes",
        States = "states",
    }
}
