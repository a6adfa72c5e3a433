//! Components as functions of rows, in test mode.

mod attention;
mod convolution;
mod gates;
mod local;
mod statistics;

use kaldi_matrix::Matrix;

use crate::config_line::MAX_DIM;
use crate::descriptor::MAX_OFFSET;
use crate::fields::{Component, Value};
use crate::pointwise::Pointwise;
use crate::product::Product;

pub(crate) use attention::Attention;
pub(crate) use convolution::{Convolution, MaxPool, TimeHeight};
pub(crate) use gates::{Gru, Lstm, OutputGru};
pub(crate) use local::repeat;
pub(crate) use statistics::{Pooling, extract};

/// Most frames that a window of statistics or of attention may hold.
const MAX_WINDOW: i32 = 100_000;

/// The indexes of a component's input that a row of its result needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Times {
    /// The row at the same index.
    Same,
    /// No rows.
    None,
    /// The rows some frames later; `true` if the result cannot be computed without one.
    Offsets(Vec<(i32, bool)>),
    /// Those from the greatest multiple of `period` that is not later, `step` apart, of which one
    /// must be there.
    Block { period: i32, step: i32 },
    /// Those from `left` frames before to `right` frames after, `step` apart, of which one must be
    /// there; only at multiples of `step`.
    Window { left: i32, right: i32, step: i32 },
    /// The row whose third index is this one's divided by the number.
    Divided(i32),
}

/// A function of rows.
#[derive(Clone, Debug)]
pub(crate) enum Function {
    Identity,
    Product(Product),
    /// Blocks of columns, each with its product; one product serves all blocks.
    Blocks {
        products: Vec<Product>,
        blocks: usize,
    },
    /// These values, again and again.
    Constant(Vec<f32>),
    /// √Σ x² of neighbours.
    Norms(usize),
    /// Product of blocks of columns.
    Products,
    /// Sums of neighbours, so many each.
    Sums(Vec<usize>),
    /// Sum of blocks of columns, multiplied.
    BlockSum(f32),
    Columns(Vec<usize>),
    /// Rows scaled to a root mean square, and the logarithm of their own after them.
    NormalizeLog {
        block: usize,
        target_rms: f32,
    },
    MaxPool(MaxPool),
    Convolution(Convolution),
    TimeHeight(TimeHeight),
    Attention(Attention),
    Extraction {
        variance: bool,
    },
    Pooling(Pooling),
    /// The block of columns that belongs to the third index.
    Distribute,
    Lstm(Lstm),
    Gru(Gru),
    OutputGru(OutputGru),
    Composite(Vec<Layer>),
}

/// A component in test mode.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) function: Function,
    /// Done with each row of the result.
    pub(crate) post: Vec<Pointwise>,
    pub(crate) times: Times,
    /// Columns of an input row.
    pub(crate) inputs: usize,
    /// Columns of a row of the result.
    pub(crate) outputs: usize,
}

impl Layer {
    fn new(function: Function, inputs: usize, outputs: usize) -> Self {
        Self { function, post: Vec::new(), times: Times::Same, inputs, outputs }
    }

    fn at(self, times: Times) -> Self {
        Self { times, ..self }
    }

    /// An operation in place on rows of `dim` columns.
    fn pointwise(dim: usize, post: impl IntoIterator<Item = Pointwise>) -> Self {
        Self { post: post.into_iter().collect(), ..Self::new(Function::Identity, dim, dim) }
    }

    /// The result of a node without a component.
    pub(crate) fn identity(dim: usize) -> Self {
        Self::pointwise(dim, [])
    }

    /// Creates the function of a component.
    pub(crate) fn of(component: &Component) -> Result<Self, String> {
        let get = Values(component);
        let layer = match component.kind() {
            "AffineComponent" | "NaturalGradientAffineComponent" | "FixedAffineComponent" => {
                let product = get.product("LinearParams", "BiasParams")?;
                let (inputs, outputs) = (product.inputs(), product.outputs());
                Self::new(Function::Product(product), inputs, outputs)
            }
            "LinearComponent" => {
                let weights = get.matrix("Params")?;
                let (inputs, outputs) = (weights.num_cols(), weights.num_rows());
                Self::new(Function::Product(Product::new(&rows_of(weights), inputs, &[])), inputs, outputs)
            }
            "TdnnComponent" => get.tdnn()?,
            "RepeatedAffineComponent" | "NaturalGradientRepeatedAffineComponent" => {
                let product = get.product("LinearParams", "BiasParams")?;
                let blocks = get.size("NumRepeats", 1)?;
                let wide = |width: usize| blocks.saturating_mul(width);
                let (inputs, outputs) = (wide(product.inputs()), wide(product.outputs()));
                Self::new(Function::Blocks { products: vec![product], blocks }, inputs, outputs)
            }
            "BlockAffineComponent" => get.block_affine()?,
            "FixedScaleComponent" => get.scale_and_offset(get.vector("Scales")?, Vec::new(), None)?,
            "PerElementScaleComponent" | "NaturalGradientPerElementScaleComponent" => {
                get.scale_and_offset(get.vector("Params")?, Vec::new(), None)?
            }
            "FixedBiasComponent" => get.scale_and_offset(Vec::new(), get.vector("Bias")?, None)?,
            "PerElementOffsetComponent" => {
                let dim = component.int("Dim").map(|_| get.size("Dim", 1)).transpose()?;
                get.scale_and_offset(Vec::new(), get.vector("Offsets")?, dim)?
            }
            "ScaleAndOffsetComponent" => {
                get.scale_and_offset(get.vector("Scales")?, get.vector("Offsets")?, Some(get.size("Dim", 1)?))?
            }
            "BatchNormComponent" => get.batch_norm()?,
            "RectifiedLinearComponent" => Self::pointwise(get.size("Dim", 1)?, [Pointwise::Relu]),
            "SigmoidComponent" => Self::pointwise(get.size("Dim", 1)?, [Pointwise::Sigmoid]),
            "TanhComponent" => Self::pointwise(get.size("Dim", 1)?, [Pointwise::Tanh]),
            "SoftmaxComponent" => Self::pointwise(get.size("Dim", 1)?, [Pointwise::Softmax]),
            "LogSoftmaxComponent" => Self::pointwise(get.size("Dim", 1)?, [Pointwise::LogSoftmax]),
            "NoOpComponent" | "ClipGradientComponent" | "GeneralDropoutComponent" | "SpecAugmentTimeMaskComponent" => {
                Self::identity(get.size("Dim", 1)?)
            }
            "DropoutComponent" => {
                let keep = 1.0 - get.real("DropoutProportion")?;
                Self::pointwise(get.size("Dim", 1)?, (keep != 1.0).then_some(Pointwise::Multiply(keep)))
            }
            "BackpropTruncationComponent" => {
                let scale = component.real("Scale").unwrap_or(1.0);
                Self::pointwise(get.size("Dim", 1)?, (scale != 1.0).then_some(Pointwise::Multiply(scale)))
            }
            "NormalizeComponent" => get.normalize()?,
            "ConstantComponent" => {
                let output = get.vector("Output")?;
                let dim = output.len();
                Self::new(Function::Constant(output), 0, dim).at(Times::None)
            }
            "ConstantFunctionComponent" => {
                let output = get.vector("Output")?;
                let dim = output.len();
                Self::new(Function::Constant(output), get.size("InputDim", 1)?, dim)
            }
            "DropoutMaskComponent" => {
                let dim = get.size("OutputDim", 1)?;
                let continuous = component.get("Continuous").is_some();
                let value = if continuous { 1.0 } else { 1.0 - get.real("DropoutProportion")? };
                Self::new(Function::Constant(vec![value]), 0, dim).at(Times::None)
            }
            "PnormComponent" => {
                let (inputs, outputs) = get.in_and_out()?;
                Self::new(Function::Norms(inputs / outputs), inputs, outputs)
            }
            "ElementwiseProductComponent" => {
                let (inputs, outputs) = get.in_and_out()?;
                Self::new(Function::Products, inputs, outputs)
            }
            "SumBlockComponent" => {
                let (inputs, outputs) = get.in_and_out()?;
                Self::new(Function::BlockSum(get.real("Scale")?), inputs, outputs)
            }
            "SumGroupComponent" => {
                let sizes = get.sizes("Sizes", 1)?;
                let (inputs, outputs) = (sizes.iter().sum(), sizes.len());
                Self::new(Function::Sums(sizes), inputs, outputs)
            }
            "PermuteComponent" => {
                let columns = get.sizes("ColumnMap", 0)?;
                let dim = columns.len();
                if let Some(column) = columns.iter().find(|&&column| column >= dim) {
                    return Err(format!("<ColumnMap> names column {column} of {dim}"));
                }
                Self::new(Function::Columns(columns), dim, dim)
            }
            "DistributeComponent" => {
                let (inputs, outputs) = get.in_and_out()?;
                let blocks = i32::try_from(inputs / outputs).map_err(|error| error.to_string())?;
                Self::new(Function::Distribute, inputs, outputs).at(Times::Divided(blocks))
            }
            "MaxpoolingComponent" => get.max_pool()?,
            "ConvolutionComponent" => get.convolution()?,
            "TimeHeightConvolutionComponent" => get.time_height()?,
            "RestrictedAttentionComponent" => get.attention()?,
            "StatisticsExtractionComponent" => get.extraction()?,
            "StatisticsPoolingComponent" => get.pooling()?,
            "LstmNonlinearityComponent" => get.lstm()?,
            "GruNonlinearityComponent" => get.gru()?,
            "OutputGruNonlinearityComponent" => get.output_gru()?,
            "CompositeComponent" => get.composite()?,
            other => return Err(format!("the type {other} is not computed")),
        };
        layer.checked()
    }

    /// Returns the number of multiply-adds of its products for a row.
    pub(crate) fn products(&self) -> usize {
        let product = |product: &Product| product.inputs() * product.outputs();
        match &self.function {
            Function::Product(one) => product(one),
            Function::Blocks { products, blocks } => blocks * products.first().map_or(0, product),
            Function::Convolution(convolution) => convolution.products(),
            Function::TimeHeight(convolution) => convolution.products(),
            Function::Gru(gru) => gru.products(),
            Function::Composite(layers) => layers.iter().map(Self::products).sum(),
            _ => 0,
        }
    }

    /// Returns the number of values that are not in the file, but kept for each component.
    pub(crate) fn size(&self) -> usize {
        let rows = match &self.times {
            Times::Offsets(offsets) => offsets.len(),
            _ => 1,
        };
        let own = match &self.function {
            Function::Convolution(convolution) => convolution.size(),
            Function::MaxPool(pool) => pool.size(),
            Function::Composite(layers) => layers.iter().map(Self::size).fold(0, usize::saturating_add),
            _ => 0,
        };
        rows.saturating_mul(self.inputs).saturating_add(self.outputs).saturating_add(own)
    }

    fn checked(self) -> Result<Self, String> {
        match (self.inputs, self.outputs) {
            (_, 0) => Err("its result has no columns".into()),
            (0, _) if self.times != Times::None => Err("its input has no columns".into()),
            (inputs, outputs) if inputs.max(outputs) > MAX_DIM => Err(format!("rows have more than {MAX_DIM} columns")),
            _ => Ok(self),
        }
    }
}

/// The elements of a matrix, row by row.
pub(crate) fn rows_of(matrix: &Matrix<f32>) -> Vec<f32> {
    (0..matrix.num_rows()).flat_map(|row| matrix.row(row).data().to_vec()).collect()
}

/// The values of a component, checked.
struct Values<'a>(&'a Component);

impl Values<'_> {
    /// Returns an integer of at least `least`, bounded so that products of two do not overflow.
    fn size(&self, name: &str, least: usize) -> Result<usize, String> {
        let value = self.0.int(name).ok_or_else(|| format!("<{name}> is missing"))?;
        let size = usize::try_from(value).ok().filter(|&size| size >= least && size <= MAX_DIM);
        size.ok_or_else(|| format!("<{name}> is {value}, expected {least} to {MAX_DIM}"))
    }

    /// Returns a number of frames from `least` to [`MAX_WINDOW`].
    fn frames(&self, name: &str, least: i32) -> Result<i32, String> {
        let value = self.0.int(name).ok_or_else(|| format!("<{name}> is missing"))?;
        match value >= least && value <= MAX_WINDOW {
            true => Ok(value),
            false => Err(format!("<{name}> is {value}, expected {least} to {MAX_WINDOW} frames")),
        }
    }

    fn real(&self, name: &str) -> Result<f32, String> {
        self.0.real(name).ok_or_else(|| format!("<{name}> is missing"))
    }

    fn bool(&self, name: &str) -> Result<bool, String> {
        self.0.bool(name).ok_or_else(|| format!("<{name}> is missing"))
    }

    fn vector(&self, name: &str) -> Result<Vec<f32>, String> {
        self.0.vector(name).ok_or_else(|| format!("<{name}> is missing"))
    }

    fn matrix(&self, name: &str) -> Result<&Matrix<f32>, String> {
        let matrix = self.0.matrix(name).ok_or_else(|| format!("<{name}> is missing"))?;
        match matrix.num_rows().max(matrix.num_cols()) <= MAX_DIM && !matrix.is_empty() {
            true => Ok(matrix),
            false => Err(format!("<{name}> is {} x {}", matrix.num_rows(), matrix.num_cols())),
        }
    }

    fn sizes(&self, name: &str, least: i32) -> Result<Vec<usize>, String> {
        let values = self.0.ints(name).ok_or_else(|| format!("<{name}> is missing"))?;
        let sum: i64 = values.iter().map(|&value| i64::from(value)).sum();
        if sum > MAX_DIM as i64 && least > 0 {
            return Err(format!("<{name}> has the sum {sum}, beyond {MAX_DIM}"));
        }
        let size = |&value: &i32| {
            let size = usize::try_from(value).ok().filter(|_| value >= least);
            size.ok_or_else(|| format!("<{name}> has the value {value}, expected at least {least}"))
        };
        values.iter().map(size).collect()
    }

    /// Returns the widths of input and result, of which the first is a multiple of the second.
    fn in_and_out(&self) -> Result<(usize, usize), String> {
        let (inputs, outputs) = (self.size("InputDim", 1)?, self.size("OutputDim", 1)?);
        match inputs % outputs {
            0 => Ok((inputs, outputs)),
            _ => Err(format!("{inputs} columns are no multiple of {outputs}")),
        }
    }

    /// Returns a product with a bias, which may be empty.
    fn product(&self, weights: &str, bias: &str) -> Result<Product, String> {
        let weights = self.matrix(weights)?;
        let values = self.vector(bias)?;
        match values.len() {
            len if len == 0 || len == weights.num_rows() => {
                Ok(Product::new(&rows_of(weights), weights.num_cols(), &values))
            }
            len => Err(format!("<{bias}> has {len} values for {} rows of weights", weights.num_rows())),
        }
    }

    fn tdnn(&self) -> Result<Layer, String> {
        let product = self.product("LinearParams", "BiasParams")?;
        let offsets = self.0.ints("TimeOffsets").ok_or("<TimeOffsets> is missing")?;
        let increasing = offsets.is_sorted_by(|a, b| a < b);
        let near = offsets.iter().all(|offset| offset.unsigned_abs() <= MAX_OFFSET.unsigned_abs());
        if offsets.is_empty() || !increasing || !near || !product.inputs().is_multiple_of(offsets.len()) {
            return Err(format!("<TimeOffsets> {offsets:?} with {} columns of weights", product.inputs()));
        }
        let (inputs, outputs) = (product.inputs() / offsets.len(), product.outputs());
        let times = Times::Offsets(offsets.iter().map(|&offset| (offset, true)).collect());
        Ok(Layer::new(Function::Product(product), inputs, outputs).at(times))
    }

    fn block_affine(&self) -> Result<Layer, String> {
        let weights = self.matrix("LinearParams")?;
        let bias = self.vector("BiasParams")?;
        let blocks = self.size("NumBlocks", 1)?;
        let (outputs, width) = (weights.num_rows(), weights.num_cols());
        if !outputs.is_multiple_of(blocks) || bias.len() != outputs {
            return Err(format!("{blocks} blocks with {outputs} rows of weights and {} of bias", bias.len()));
        }
        let height = outputs / blocks;
        let rows = rows_of(weights);
        let parts = rows.chunks_exact(height * width).zip(bias.chunks_exact(height));
        let products = parts.map(|(weights, bias)| Product::new(weights, width, bias)).collect();
        let inputs = blocks.saturating_mul(width);
        Ok(Layer::new(Function::Blocks { products, blocks }, inputs, outputs))
    }

    /// Creates x a + b of values that repeat in each block of columns. Empty ones are 1 and 0.
    fn scale_and_offset(&self, scale: Vec<f32>, offset: Vec<f32>, dim: Option<usize>) -> Result<Layer, String> {
        let block = scale.len().max(offset.len());
        let dim = dim.unwrap_or(block);
        let fits = |values: &[f32]| values.is_empty() || values.len() == block;
        if block == 0 || !dim.is_multiple_of(block) || !fits(&scale) || !fits(&offset) {
            return Err(format!("{} scales and {} offsets for {dim} columns", scale.len(), offset.len()));
        }
        let wide = |values: Vec<f32>, default: f32| match values.is_empty() {
            true => vec![default; block],
            false => values,
        };
        let pointwise = Pointwise::Affine { scale: wide(scale, 1.0), offset: wide(offset, 0.0) };
        Ok(Layer::pointwise(dim, [pointwise]))
    }

    fn batch_norm(&self) -> Result<Layer, String> {
        let (mean, variance) = (self.vector("StatsMean")?, self.vector("StatsVar")?);
        let block = self.size("BlockDim", 1)?;
        let (epsilon, target_rms) = (self.real("Epsilon")?, self.real("TargetRms")?);
        if self.0.double("Count") == Some(0.0) {
            return Err("it has no statistics, which test mode needs".into());
        }
        if mean.len() != block || variance.len() != block {
            return Err(format!("{} means and {} variances for {block} columns", mean.len(), variance.len()));
        }
        let scale: Vec<f32> = variance.iter().map(|&var| target_rms / (var.max(0.0) + epsilon).sqrt()).collect();
        let offset = mean.iter().zip(&scale).map(|(&mean, &scale)| -mean * scale).collect();
        self.scale_and_offset(scale, offset, Some(self.size("Dim", 1)?))
    }

    fn normalize(&self) -> Result<Layer, String> {
        let name = if self.0.int("InputDim").is_some() { "InputDim" } else { "Dim" };
        let dim = self.size(name, 1)?;
        let block = self.0.int("BlockDim").map_or(Ok(dim), |_| self.size("BlockDim", 1))?;
        if !dim.is_multiple_of(block) {
            return Err(format!("{dim} columns are no multiple of {block}"));
        }
        let target_rms = self.0.real("TargetRms").unwrap_or(1.0);
        Ok(match self.0.bool("AddLogStddev").unwrap_or(false) {
            true => Layer::new(Function::NormalizeLog { block, target_rms }, dim, dim + dim / block),
            false => Layer::pointwise(dim, [Pointwise::Normalize { block, target_rms }]),
        })
    }

    fn composite(&self) -> Result<Layer, String> {
        let Some(Value::Components(parts)) = self.0.get("NumComponents") else {
            return Err("<NumComponents> is missing".into());
        };
        let layers: Vec<Layer> = parts.iter().map(Layer::of).collect::<Result<_, _>>()?;
        let (Some(first), Some(last)) = (layers.first(), layers.last()) else {
            return Err("it has no components".into());
        };
        if layers.iter().any(|layer| layer.times != Times::Same) {
            return Err("a component in it needs more than one row".into());
        }
        if let Some(pair) = layers.windows(2).find(|pair| pair[0].outputs != pair[1].inputs) {
            return Err(format!("rows of {} columns go to one that takes {}", pair[0].outputs, pair[1].inputs));
        }
        let (inputs, outputs) = (first.inputs, last.outputs);
        Ok(Layer::new(Function::Composite(layers), inputs, outputs))
    }
}
