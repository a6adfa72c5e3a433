//! The values of each type of component, in the order in which Kaldi writes them.
//!
//! An optional value is one that only some versions of Kaldi write. Facts: the `Read` functions of
//! Kaldi's `nnet3`.

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Flag,
    Bool,
    Int,
    Ints2,
    Real,
    /// A number that Kaldi writes in double precision.
    Double,
    Reals2,
    Ints,
    Pairs,
    Vector,
    DoubleVector,
    Matrix,
    DoubleMatrix,
    /// A number of components, and the components.
    Components,
}

/// A value that may follow in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) required: bool,
}

/// The values of a type of component.
pub(crate) struct Layout {
    pub(crate) kind: &'static str,
    /// `true` if the values that all trainable components have come first.
    pub(crate) updatable: bool,
    pub(crate) entries: &'static [Entry],
}

const fn one(name: &'static str, form: Form) -> Entry {
    Entry { name, form, required: true }
}

const fn may(name: &'static str, form: Form) -> Entry {
    Entry { name, form, required: false }
}

const fn fixed(kind: &'static str, entries: &'static [Entry]) -> Layout {
    Layout { kind, updatable: false, entries }
}

const fn trained(kind: &'static str, entries: &'static [Entry]) -> Layout {
    Layout { kind, updatable: true, entries }
}

use Form::{
    Bool, Components, Double, DoubleMatrix, DoubleVector, Flag, Int, Ints, Ints2, Matrix, Pairs, Real, Reals2, Vector,
};

/// The values with which each trainable component begins.
pub(crate) const COMMON: &[Entry] = &[
    may("LearningRateFactor", Real),
    may("IsGradient", Bool),
    may("MaxChange", Real),
    may("L2Regularize", Real),
    may("LearningRate", Real),
];

const NONLINEAR: &[Entry] = &[
    one("Dim", Int),
    may("BlockDim", Int),
    one("ValueAvg", Vector),
    one("DerivAvg", Vector),
    one("Count", Double),
    may("OderivRms", Vector),
    may("OderivCount", Double),
    may("NumDimsSelfRepaired", Double),
    may("NumDimsProcessed", Double),
    may("SelfRepairLowerThreshold", Real),
    may("SelfRepairUpperThreshold", Real),
    may("SelfRepairScale", Real),
];

const IN_AND_OUT: &[Entry] = &[one("InputDim", Int), one("OutputDim", Int)];

const REPEATED_AFFINE: &[Entry] =
    &[one("NumRepeats", Int), one("LinearParams", Matrix), one("BiasParams", Vector), may("IsGradient", Bool)];

/// All types, by name.
const LAYOUTS: &[Layout] = &[
    trained(
        "AffineComponent",
        &[
            one("LinearParams", Matrix),
            one("BiasParams", Vector),
            may("IsGradient", Bool),
            may("OrthonormalConstraint", Real),
        ],
    ),
    fixed(
        "BackpropTruncationComponent",
        &[
            one("Dim", Int),
            may("Scale", Real),
            one("ClippingThreshold", Real),
            one("ZeroingThreshold", Real),
            one("ZeroingInterval", Int),
            one("RecurrenceInterval", Int),
            one("NumElementsClipped", Double),
            one("NumElementsZeroed", Double),
            one("NumElementsProcessed", Double),
            one("NumZeroingBoundaries", Double),
        ],
    ),
    fixed(
        "BatchNormComponent",
        &[
            one("Dim", Int),
            one("BlockDim", Int),
            one("Epsilon", Real),
            one("TargetRms", Real),
            one("TestMode", Bool),
            one("Count", Double),
            one("StatsMean", Vector),
            one("StatsVar", Vector),
        ],
    ),
    trained(
        "BlockAffineComponent",
        &[one("NumBlocks", Int), one("LinearParams", Matrix), one("BiasParams", Vector), may("IsGradient", Bool)],
    ),
    fixed(
        "ClipGradientComponent",
        &[
            one("Dim", Int),
            one("ClippingThreshold", Real),
            one("NormBasedClipping", Bool),
            may("SelfRepairClippedProportionThreshold", Real),
            may("SelfRepairTarget", Real),
            may("SelfRepairScale", Real),
            one("NumElementsClipped", Int),
            one("NumElementsProcessed", Int),
            may("NumSelfRepaired", Int),
            may("NumBackpropped", Int),
        ],
    ),
    trained("CompositeComponent", &[one("MaxRowsProcess", Int), one("NumComponents", Components)]),
    trained("ConstantComponent", &[one("Output", Vector), one("IsUpdatable", Bool), one("UseNaturalGradient", Bool)]),
    trained(
        "ConstantFunctionComponent",
        &[one("InputDim", Int), one("Output", Vector), one("IsUpdatable", Bool), one("UseNaturalGradient", Bool)],
    ),
    trained(
        "ConvolutionComponent",
        &[
            one("InputXDim", Int),
            one("InputYDim", Int),
            one("InputZDim", Int),
            one("FiltXDim", Int),
            one("FiltYDim", Int),
            one("FiltXStep", Int),
            one("FiltYStep", Int),
            one("InputVectorization", Int),
            one("FilterParams", Matrix),
            one("BiasParams", Vector),
            may("IsGradient", Bool),
        ],
    ),
    fixed("DistributeComponent", IN_AND_OUT),
    fixed(
        "DropoutComponent",
        &[one("Dim", Int), one("DropoutProportion", Real), may("DropoutPerFrame", Bool), may("TestMode", Bool)],
    ),
    fixed(
        "DropoutMaskComponent",
        &[one("OutputDim", Int), one("DropoutProportion", Real), may("TestMode", Bool), may("Continuous", Flag)],
    ),
    fixed("ElementwiseProductComponent", IN_AND_OUT),
    fixed("FixedAffineComponent", &[one("LinearParams", Matrix), one("BiasParams", Vector)]),
    fixed("FixedBiasComponent", &[one("Bias", Vector)]),
    fixed("FixedScaleComponent", &[one("Scales", Vector)]),
    fixed(
        "GeneralDropoutComponent",
        &[
            one("Dim", Int),
            one("BlockDim", Int),
            one("TimePeriod", Int),
            one("DropoutProportion", Real),
            may("SpecAugmentMaxProportion", Real),
            may("SpecAugmentMaxRegions", Int),
            may("TestMode", Flag),
            may("Continuous", Flag),
        ],
    ),
    trained(
        "GruNonlinearityComponent",
        &[
            one("CellDim", Int),
            one("RecurrentDim", Int),
            one("w_h", Matrix),
            one("ValueAvg", Vector),
            one("DerivAvg", Vector),
            one("SelfRepairTotal", Double),
            one("Count", Double),
            one("SelfRepairThreshold", Real),
            one("SelfRepairScale", Real),
            one("Alpha", Real),
            one("RankInOut", Ints2),
            one("UpdatePeriod", Int),
        ],
    ),
    trained(
        "LinearComponent",
        &[
            one("Params", Matrix),
            may("OrthonormalConstraint", Real),
            one("UseNaturalGradient", Bool),
            one("RankInOut", Ints2),
            one("Alpha", Real),
            one("NumSamplesHistory", Real),
            one("UpdatePeriod", Int),
        ],
    ),
    fixed("LogSoftmaxComponent", NONLINEAR),
    trained(
        "LstmNonlinearityComponent",
        &[
            one("Params", Matrix),
            one("ValueAvg", Matrix),
            one("DerivAvg", Matrix),
            one("SelfRepairConfig", Vector),
            one("SelfRepairProb", Vector),
            may("UseDropout", Bool),
            one("Count", Double),
        ],
    ),
    fixed(
        "MaxpoolingComponent",
        &[
            one("InputXDim", Int),
            one("InputYDim", Int),
            one("InputZDim", Int),
            one("PoolXSize", Int),
            one("PoolYSize", Int),
            one("PoolZSize", Int),
            one("PoolXStep", Int),
            one("PoolYStep", Int),
            one("PoolZStep", Int),
        ],
    ),
    trained(
        "NaturalGradientAffineComponent",
        &[
            one("LinearParams", Matrix),
            one("BiasParams", Vector),
            one("RankIn", Int),
            one("RankOut", Int),
            may("OrthonormalConstraint", Real),
            one("UpdatePeriod", Int),
            one("NumSamplesHistory", Real),
            one("Alpha", Real),
            may("MaxChangePerSample", Real),
            may("IsGradient", Bool),
            may("UpdateCount", Double),
            may("ActiveScalingCount", Double),
            may("MaxChangeScaleStats", Double),
        ],
    ),
    trained(
        "NaturalGradientPerElementScaleComponent",
        &[
            one("Params", Vector),
            one("IsGradient", Bool),
            one("Rank", Int),
            one("UpdatePeriod", Int),
            one("NumSamplesHistory", Real),
            one("Alpha", Real),
            may("MaxChangePerMinibatch", Real),
        ],
    ),
    trained("NaturalGradientRepeatedAffineComponent", REPEATED_AFFINE),
    // With statistics, of which nothing depends, in old files.
    fixed(
        "NoOpComponent",
        &[
            one("Dim", Int),
            may("ValueAvg", Vector),
            may("DerivAvg", Vector),
            may("Count", Real),
            may("OderivRms", Vector),
            may("OderivCount", Real),
            may("NumDimsSelfRepaired", Real),
            may("NumDimsProcessed", Real),
            may("BackpropScale", Real),
        ],
    ),
    fixed(
        "NormalizeComponent",
        &[
            may("Dim", Int),
            may("InputDim", Int),
            may("BlockDim", Int),
            may("TargetRms", Real),
            may("AddLogStddev", Bool),
            may("ValueAvg", DoubleVector),
            may("DerivAvg", DoubleVector),
            may("Count", Double),
        ],
    ),
    trained(
        "OutputGruNonlinearityComponent",
        &[
            one("CellDim", Int),
            one("w_h", Vector),
            one("ValueAvg", Vector),
            one("DerivAvg", Vector),
            one("SelfRepairTotal", Double),
            one("Count", Double),
            one("SelfRepairThreshold", Real),
            one("SelfRepairScale", Real),
            one("Alpha", Real),
            one("Rank", Int),
            one("UpdatePeriod", Int),
        ],
    ),
    trained(
        "PerElementOffsetComponent",
        &[one("Offsets", Vector), may("IsGradient", Bool), may("Dim", Int), may("UseNaturalGradient", Bool)],
    ),
    trained("PerElementScaleComponent", &[one("Params", Vector), may("IsGradient", Bool)]),
    fixed("PermuteComponent", &[one("ColumnMap", Ints)]),
    fixed("PnormComponent", IN_AND_OUT),
    fixed("RectifiedLinearComponent", NONLINEAR),
    trained("RepeatedAffineComponent", REPEATED_AFFINE),
    fixed(
        "RestrictedAttentionComponent",
        &[
            one("NumHeads", Int),
            one("KeyDim", Int),
            one("ValueDim", Int),
            one("NumLeftInputs", Int),
            one("NumRightInputs", Int),
            one("TimeStride", Int),
            one("NumLeftInputsRequired", Int),
            one("NumRightInputsRequired", Int),
            one("OutputContext", Bool),
            one("KeyScale", Real),
            one("StatsCount", Double),
            one("EntropyStats", DoubleVector),
            one("PosteriorStats", DoubleMatrix),
        ],
    ),
    trained(
        "ScaleAndOffsetComponent",
        &[
            one("Dim", Int),
            one("Scales", Vector),
            one("Offsets", Vector),
            one("UseNaturalGradient", Bool),
            one("Rank", Int),
        ],
    ),
    fixed("SigmoidComponent", NONLINEAR),
    fixed("SoftmaxComponent", NONLINEAR),
    fixed(
        "SpecAugmentTimeMaskComponent",
        &[one("Dim", Int), one("ZeroedProportion", Real), one("TimeMaskMaxFrames", Int), may("TestMode", Flag)],
    ),
    // The name with a letter too many is Kaldi's.
    fixed(
        "StatisticsExtractionComponent",
        &[one("InputDim", Int), one("InputPeriod", Int), one("OutputPeriod", Int), one("IncludeVarinance", Bool)],
    ),
    fixed(
        "StatisticsPoolingComponent",
        &[
            one("InputDim", Int),
            one("InputPeriod", Int),
            one("LeftContext", Int),
            one("RightContext", Int),
            one("NumLogCountFeatures", Int),
            one("OutputStddevs", Bool),
            one("VarianceFloor", Real),
        ],
    ),
    fixed("SumBlockComponent", &[one("InputDim", Int), one("OutputDim", Int), one("Scale", Real)]),
    fixed("SumGroupComponent", &[one("Sizes", Ints)]),
    fixed("TanhComponent", NONLINEAR),
    trained(
        "TdnnComponent",
        &[
            one("TimeOffsets", Ints),
            one("LinearParams", Matrix),
            one("BiasParams", Vector),
            one("OrthonormalConstraint", Real),
            one("UseNaturalGradient", Bool),
            one("NumSamplesHistory", Real),
            may("AlphaInOut", Reals2),
            may("Alpha", Real),
            one("RankInOut", Ints2),
        ],
    ),
    trained(
        "TimeHeightConvolutionComponent",
        &[
            one("Model", Flag),
            one("ConvolutionModel", Flag),
            one("NumFiltersIn", Int),
            one("NumFiltersOut", Int),
            one("HeightIn", Int),
            one("HeightOut", Int),
            one("HeightSubsampleOut", Int),
            one("Offsets", Pairs),
            one("RequiredTimeOffsets", Ints),
            one("/ConvolutionModel", Flag),
            one("LinearParams", Matrix),
            one("BiasParams", Vector),
            one("MaxMemoryMb", Real),
            one("UseNaturalGradient", Bool),
            one("NumMinibatchesHistory", Real),
            one("AlphaInOut", Reals2),
            one("RankInOut", Ints2),
        ],
    ),
];

/// Returns the values of a type, or `None` for an unknown one.
pub(crate) fn layout(kind: &str) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.kind == kind)
}

/// Returns `true` for a type with parameters that training changes.
pub(crate) fn is_updatable(kind: &str) -> bool {
    layout(kind).is_some_and(|layout| layout.updatable)
}

/// Returns the types of components that are read, written and computed, in the order of their
/// names.
pub fn component_types() -> impl Iterator<Item = &'static str> {
    LAYOUTS.iter().map(|layout| layout.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sorted_and_distinct() {
        let kinds: Vec<_> = component_types().collect();
        assert!(kinds.is_sorted_by(|a, b| a < b));
        assert_eq!(kinds.len(), 46);
    }
}
