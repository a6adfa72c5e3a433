//! Components in words, as Kaldi prints them.

use std::fmt::Write as _;

use crate::fields::{Component, Value};
use crate::layer::Layer;
use crate::words::{general, kebab, means, summary};

/// Thresholds that are not set have this value in files.
const UNSET: f32 = -1000.0;

/// Returns the type of a component, its dimensions, options and statistics of its parameters.
///
/// # Errors
/// The problem, if its values do not fit together.
pub(crate) fn component_info(component: &Component) -> Result<String, String> {
    let mut info = Info { component, text: component.kind().to_owned() };
    info.describe()?;
    Ok(info.text)
}

struct Info<'a> {
    component: &'a Component,
    text: String,
}

impl Info<'_> {
    fn item(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = write!(self.text, ", {name}={value}");
    }

    /// Integers, under their names in files, as in `InputDim` and `input-dim`.
    fn ints(&mut self, fields: &[&str]) {
        for field in fields {
            if let Some(value) = self.component.int(field) {
                self.item(&kebab(field), value);
            }
        }
    }

    fn reals(&mut self, fields: &[&str]) {
        for field in fields {
            if let Some(value) = self.component.double(field) {
                self.item(&kebab(field), general(value, 6));
            }
        }
    }

    /// Numbers that are left out if they are 0.
    fn reals_unless_zero(&mut self, fields: &[&str]) {
        for field in fields {
            if self.component.double(field).is_some_and(|value| value != 0.0) {
                self.reals(&[field]);
            }
        }
    }

    fn switch(&mut self, field: &str) {
        let value = self.component.bool(field).unwrap_or(false);
        self.item(&kebab(field), value);
    }

    fn dims(&mut self) -> Result<(), String> {
        let layer = Layer::of(self.component)?;
        self.item("input-dim", layer.inputs);
        self.item("output-dim", layer.outputs);
        Ok(())
    }

    /// The values that all trainable components have.
    fn updatable(&mut self) -> Result<(), String> {
        self.dims()?;
        let rate = self.component.double("LearningRate").unwrap_or(0.001);
        self.item("learning-rate", general(rate, 6));
        if self.component.bool("IsGradient").unwrap_or(false) {
            self.item("is-gradient", true);
        }
        self.reals_unless_zero(&["L2Regularize"]);
        if self.component.real("LearningRateFactor").is_some_and(|factor| factor != 1.0) {
            self.reals(&["LearningRateFactor"]);
        }
        self.reals_unless_zero(&["MaxChange"]);
        Ok(())
    }

    fn rms(&mut self, name: &str, values: &[f32]) {
        let (_, square) = means(values);
        self.item(&format!("{name}-rms"), general(square.sqrt(), 4));
    }

    fn mean_and_deviation(&mut self, name: &str, values: &[f32]) {
        let (mean, square) = means(values);
        let deviation = (square - mean * mean).max(0.0).sqrt();
        let _ = write!(self.text, ", {name}-{{mean,stddev}}={},{}", general(mean, 4), general(deviation, 4));
    }

    /// A matrix with the norms of its rows and columns.
    fn matrix_with_norms(&mut self, name: &str, field: &str) {
        let Some(matrix) = self.component.matrix(field) else { return };
        self.rms(name, matrix.data());
        let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let rows: Vec<f64> = matrix.rows().map(|row| norm(&mut row.iter().copied())).collect();
        let column = |c: usize| norm(&mut matrix.rows().map(|row| row[c]));
        let columns: Vec<f64> = (0..matrix.num_cols()).map(column).collect();
        self.item(&format!("{name}-row-norms"), summary(rows));
        self.item(&format!("{name}-col-norms"), summary(columns));
    }

    fn matrix(&mut self, name: &str, field: &str) {
        if let Some(matrix) = self.component.matrix(field) {
            self.rms(name, matrix.data());
        }
    }

    fn vector(&mut self, name: &str, field: &str) {
        if let Some(values) = self.component.vector(field) {
            self.mean_and_deviation(name, &values);
        }
    }

    fn summary(&mut self, name: &str, values: impl IntoIterator<Item = f32>) {
        self.item(name, summary(values.into_iter().map(f64::from).collect()));
    }

    /// The ranks of both sides.
    fn ranks(&mut self) {
        if let Some(&Value::Ints2([input, output])) = self.component.get("RankInOut") {
            self.item("rank-in", input);
            self.item("rank-out", output);
        }
    }

    fn describe(&mut self) -> Result<(), String> {
        match self.component.kind() {
            "SigmoidComponent"
            | "TanhComponent"
            | "RectifiedLinearComponent"
            | "SoftmaxComponent"
            | "LogSoftmaxComponent" => self.nonlinear(),
            "AffineComponent" | "NaturalGradientAffineComponent" => {
                self.updatable()?;
                self.reals_unless_zero(&["OrthonormalConstraint"]);
                self.matrix_with_norms("linear-params", "LinearParams");
                self.vector("bias", "BiasParams");
                self.ints(&["RankIn", "RankOut"]);
                self.reals(&["NumSamplesHistory"]);
                self.ints(&["UpdatePeriod"]);
                self.reals(&["Alpha"]);
            }
            "LinearComponent" => {
                self.updatable()?;
                self.matrix_with_norms("params", "Params");
                self.reals_unless_zero(&["OrthonormalConstraint"]);
                self.switch("UseNaturalGradient");
                self.ranks();
                self.reals(&["NumSamplesHistory"]);
                self.ints(&["UpdatePeriod"]);
                self.reals(&["Alpha"]);
            }
            "TdnnComponent" => self.tdnn()?,
            "RepeatedAffineComponent" | "NaturalGradientRepeatedAffineComponent" | "BlockAffineComponent" => {
                self.updatable()?;
                self.ints(&["NumRepeats", "NumBlocks"]);
                self.matrix("linear-params", "LinearParams");
                self.vector("bias", "BiasParams");
            }
            "FixedAffineComponent" => {
                self.dims()?;
                self.matrix("linear-params", "LinearParams");
                self.vector("bias", "BiasParams");
            }
            "FixedScaleComponent" => {
                self.dims()?;
                self.vector("scales", "Scales");
            }
            "FixedBiasComponent" => {
                self.dims()?;
                self.vector("bias", "Bias");
            }
            "PerElementScaleComponent" | "NaturalGradientPerElementScaleComponent" => {
                self.updatable()?;
                self.extremes("scales", "Params");
                self.vector("scales", "Params");
                self.ints(&["Rank", "UpdatePeriod"]);
                self.reals(&["NumSamplesHistory", "Alpha"]);
            }
            "PerElementOffsetComponent" => {
                self.updatable()?;
                self.extremes("offsets", "Offsets");
                let block = self.component.vector("Offsets").map_or(0, |offsets| offsets.len());
                self.item("block-dim", block);
                let natural = self.component.bool("UseNaturalGradient").unwrap_or(true);
                self.item("use-natural-gradient", natural);
                self.vector("offsets", "Offsets");
            }
            "ScaleAndOffsetComponent" => {
                self.updatable()?;
                self.ints(&["Rank"]);
                let block = self.component.vector("Scales").map_or(0, |scales| scales.len());
                if self.component.int("Dim").and_then(|dim| usize::try_from(dim).ok()) != Some(block) {
                    self.item("block-size", block);
                }
                self.vector("scales", "Scales");
                self.vector("offsets", "Offsets");
            }
            "ConstantFunctionComponent" | "ConstantComponent" => {
                self.updatable()?;
                let _ = write!(self.text, ", {}", self.component.kind());
                let layer = Layer::of(self.component)?;
                if self.component.kind() == "ConstantFunctionComponent" {
                    self.item("input-dim", layer.inputs);
                }
                self.item("output-dim", layer.outputs);
                self.switch("IsUpdatable");
                self.switch("UseNaturalGradient");
                self.vector("output", "Output");
            }
            "LstmNonlinearityComponent" => self.lstm()?,
            "GruNonlinearityComponent" | "OutputGruNonlinearityComponent" => self.gru()?,
            "ConvolutionComponent" => {
                self.updatable()?;
                self.ints(&["InputXDim", "InputYDim", "InputZDim", "FiltXDim", "FiltYDim", "FiltXStep", "FiltYStep"]);
                self.ints(&["InputVectorization"]);
                let filters = self.component.matrix("FilterParams").map_or(0, |filters| filters.num_rows());
                self.item("num-filters", filters);
                self.matrix("filter-params", "FilterParams");
                self.vector("bias-params", "BiasParams");
            }
            "TimeHeightConvolutionComponent" => self.time_height()?,
            "BatchNormComponent" => self.batch_norm(),
            "CompositeComponent" => self.composite()?,
            "RestrictedAttentionComponent" => self.attention()?,
            "PermuteComponent" => self.permute(),
            _ => self.simple()?,
        }
        Ok(())
    }

    /// Components without parameters.
    fn simple(&mut self) -> Result<(), String> {
        match self.component.kind() {
            "DropoutComponent" => {
                self.ints(&["Dim"]);
                self.reals(&["DropoutProportion"]);
                self.switch("DropoutPerFrame");
            }
            "DropoutMaskComponent" => {
                self.ints(&["OutputDim"]);
                self.reals(&["DropoutProportion"]);
                self.continuous();
            }
            "GeneralDropoutComponent" => {
                self.ints(&["Dim", "BlockDim"]);
                self.reals(&["DropoutProportion"]);
                self.continuous();
                if self.component.real("SpecAugmentMaxProportion").is_some_and(|proportion| proportion != 0.0) {
                    let proportion = self.component.double("SpecAugmentMaxProportion").unwrap_or(0.0);
                    self.item("specaugment-max-proportion", general(proportion, 6));
                    self.item("specaugment-max-regions", self.component.int("SpecAugmentMaxRegions").unwrap_or(1));
                }
                if self.component.int("TimePeriod").is_some_and(|period| period > 0) {
                    self.ints(&["TimePeriod"]);
                }
            }
            "SpecAugmentTimeMaskComponent" => {
                self.ints(&["Dim"]);
                self.reals(&["ZeroedProportion"]);
                self.ints(&["TimeMaskMaxFrames"]);
            }
            "NoOpComponent" => {
                self.ints(&["Dim"]);
                if self.component.real("BackpropScale").is_some_and(|scale| scale != 1.0) {
                    self.reals(&["BackpropScale"]);
                }
            }
            "ClipGradientComponent" => {
                self.ints(&["Dim"]);
                self.switch("NormBasedClipping");
                self.reals(&["ClippingThreshold"]);
                let count = |field| f64::from(self.component.int(field).unwrap_or(0));
                let (clipped, all) = (count("NumElementsClipped"), count("NumElementsProcessed"));
                self.item("clipped-proportion", general(if all > 0.0 { clipped / all } else { 0.0 }, 6));
                if self.component.real("SelfRepairScale").is_some_and(|scale| scale != 0.0) {
                    self.reals(&["SelfRepairClippedProportionThreshold", "SelfRepairTarget", "SelfRepairScale"]);
                }
            }
            "BackpropTruncationComponent" => self.truncation(),
            "SumBlockComponent" => {
                self.ints(&["InputDim", "OutputDim"]);
                self.reals(&["Scale"]);
            }
            "NormalizeComponent" => {
                self.dims()?;
                self.reals(&["TargetRms"]);
                self.switch("AddLogStddev");
                let dim = self.component.int("Dim").or_else(|| self.component.int("InputDim"));
                if self.component.int("BlockDim").is_some_and(|block| Some(block) != dim) {
                    self.ints(&["BlockDim"]);
                }
            }
            "MaxpoolingComponent" => {
                self.ints(&["InputXDim", "InputYDim", "InputZDim", "PoolXSize", "PoolYSize", "PoolZSize"]);
                self.ints(&["PoolXStep", "PoolYStep", "PoolZStep"]);
            }
            _ => self.dims()?,
        }
        Ok(())
    }

    fn continuous(&mut self) {
        if self.component.get("Continuous").is_some() {
            self.item("continuous", true);
        }
    }

    fn extremes(&mut self, name: &str, field: &str) {
        let values = self.component.vector(field).unwrap_or_default();
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        self.item(&format!("{name}-min"), general(least.into(), 6));
        self.item(&format!("{name}-max"), general(most.into(), 6));
    }

    fn nonlinear(&mut self) {
        let get = |field| self.component.double(field).unwrap_or(0.0);
        let (count, repaired, processed) = (get("Count"), get("NumDimsSelfRepaired"), get("NumDimsProcessed"));
        let dim = self.component.int("Dim");
        self.ints(&["Dim"]);
        if self.component.int("BlockDim").is_some_and(|block| Some(block) != dim) {
            self.ints(&["BlockDim"]);
        }
        for field in ["SelfRepairLowerThreshold", "SelfRepairUpperThreshold"] {
            if self.component.real(field).is_some_and(|threshold| threshold != UNSET) {
                self.reals(&[field]);
            }
        }
        self.reals_unless_zero(&["SelfRepairScale"]);
        let of_dim = |field| self.component.vector(field).filter(|v| i32::try_from(v.len()).ok() == dim);
        if let Some(values) = of_dim("ValueAvg").filter(|_| count > 0.0) {
            self.item("count", general(count, 3));
            self.item("self-repaired-proportion", general(if processed > 0.0 { repaired / processed } else { 0.0 }, 6));
            self.summary("value-avg", values);
            if let Some(derivatives) = of_dim("DerivAvg") {
                self.summary("deriv-avg", derivatives);
            }
        }
        let count = self.component.double("OderivCount").unwrap_or(0.0);
        if let Some(derivatives) = of_dim("OderivRms").filter(|_| count > 0.0) {
            self.summary("oderiv-rms", derivatives);
            self.item("oderiv-count", general(count, 6));
        }
    }

    fn tdnn(&mut self) -> Result<(), String> {
        self.updatable()?;
        self.reals_unless_zero(&["OrthonormalConstraint"]);
        let offsets = self.component.ints("TimeOffsets").unwrap_or_default();
        let offsets: Vec<String> = offsets.iter().map(i32::to_string).collect();
        self.item("time-offsets", offsets.join(","));
        self.matrix_with_norms("linear-params", "LinearParams");
        match self.component.vector("BiasParams").filter(|bias| !bias.is_empty()) {
            Some(bias) => self.mean_and_deviation("bias", &bias),
            None => self.item("has-bias", false),
        }
        if !self.component.bool("UseNaturalGradient").unwrap_or(true) {
            self.item("use-natural-gradient", false);
            return Ok(());
        }
        self.ranks();
        self.reals(&["NumSamplesHistory"]);
        // The period that all of them have.
        self.item("update-period", 4);
        let both = self.component.double("Alpha").unwrap_or(4.0);
        let (input, output) = match self.component.get("AlphaInOut") {
            Some(&Value::Reals2([input, output])) => (input.into(), output.into()),
            _ => (both, both),
        };
        self.item("alpha-in", general(input, 6));
        self.item("alpha-out", general(output, 6));
        Ok(())
    }

    fn lstm(&mut self) -> Result<(), String> {
        self.updatable()?;
        let Some(params) = self.component.matrix("Params") else { return Ok(()) };
        self.item("cell-dim", params.num_cols());
        self.switch("UseDropout");
        for (name, row) in ["w_ic", "w_fc", "w_oc"].into_iter().zip(params.rows()) {
            self.rms(name, row);
        }
        let count = self.component.double("Count").unwrap_or(0.0);
        if count > 0.0 {
            self.item("count", general(count, 3));
        }
        let config = self.component.vector("SelfRepairConfig").unwrap_or_default();
        let repaired = self.component.vector("SelfRepairProb").unwrap_or_default();
        let at = |values: &[f32], i: usize| general(values.get(i).copied().unwrap_or(0.0).into(), 6);
        let names = ["i_t_sigmoid", "f_t_sigmoid", "c_t_tanh", "o_t_sigmoid", "m_t_tanh"];
        for (i, name) in names.into_iter().enumerate() {
            let _ = write!(self.text, ", {name}={{ self-repair-lower-threshold={}", at(&config, i));
            self.item("self-repair-scale", at(&config, i + 5));
            if count != 0.0 {
                self.item("self-repaired-proportion", at(&repaired, i));
                for (name, field) in [("value-avg", "ValueAvg"), ("deriv-avg", "DerivAvg")] {
                    let matrix = self.component.matrix(field).filter(|matrix| i < matrix.num_rows());
                    self.summary(name, matrix.map_or(Vec::new(), |matrix| matrix.row_data(i).to_vec()));
                }
            }
            self.text.push_str(" }");
        }
        Ok(())
    }

    fn gru(&mut self) -> Result<(), String> {
        self.updatable()?;
        self.ints(&["CellDim", "RecurrentDim"]);
        self.matrix("w_h", "w_h");
        if self.component.kind() == "OutputGruNonlinearityComponent" {
            let weights = self.component.vector("w_h").unwrap_or_default();
            self.rms("w_h", &weights);
        }
        self.reals(&["SelfRepairThreshold", "SelfRepairScale"]);
        let count = self.component.double("Count").unwrap_or(0.0);
        if count > 0.0 {
            self.item("count", general(count, 3));
            let cells = f64::from(self.component.int("CellDim").unwrap_or(0));
            let repaired = self.component.double("SelfRepairTotal").unwrap_or(0.0);
            self.item("self-repaired-proportion", general(repaired / (count * cells), 6));
            for (name, field) in [("value-avg", "ValueAvg"), ("deriv-avg", "DerivAvg")] {
                self.summary(name, self.component.vector(field).unwrap_or_default());
            }
        }
        self.reals(&["Alpha"]);
        self.ranks();
        self.ints(&["Rank", "UpdatePeriod"]);
        Ok(())
    }

    fn time_height(&mut self) -> Result<(), String> {
        self.updatable()?;
        let sizes = ["NumFiltersIn", "NumFiltersOut", "HeightIn", "HeightOut", "HeightSubsampleOut"];
        let size = |field: &&str| format!("{}={}", kebab(field), self.component.int(field).unwrap_or(0));
        let sizes: Vec<String> = sizes.iter().map(size).collect();
        let pairs = match self.component.get("Offsets") {
            Some(Value::Pairs(pairs)) => pairs.iter().map(|(time, height)| format!("{time},{height}")).collect(),
            _ => Vec::new(),
        };
        let required = self.component.ints("RequiredTimeOffsets").unwrap_or_default();
        let required: Vec<String> = required.iter().map(i32::to_string).collect();
        let _ = write!(self.text, " {}", sizes.join(", "));
        self.item("{time,height}-offsets", format!("[{}]", pairs.join(" ")));
        self.item("required-time-offsets", format!("[{}]", required.join(",")));
        self.dims()?;
        self.matrix("filter-params", "LinearParams");
        self.vector("bias-params", "BiasParams");
        self.item("num-params", self.component.num_parameters());
        self.reals(&["MaxMemoryMb"]);
        let natural = self.component.bool("UseNaturalGradient").unwrap_or(true);
        self.item("use-natural-gradient", i32::from(natural));
        if natural {
            self.reals(&["NumMinibatchesHistory"]);
            self.ranks();
            if let Some(&Value::Reals2([alpha, _])) = self.component.get("AlphaInOut") {
                self.item("alpha", general(alpha.into(), 6));
            }
        }
        Ok(())
    }

    fn batch_norm(&mut self) {
        self.ints(&["Dim", "BlockDim"]);
        self.reals(&["Epsilon", "TargetRms", "Count"]);
        self.switch("TestMode");
        if self.component.double("Count").is_some_and(|count| count > 0.0) {
            self.summary("data-mean", self.component.vector("StatsMean").unwrap_or_default());
            let variances = self.component.vector("StatsVar").unwrap_or_default();
            self.summary("data-stddev", variances.into_iter().map(|variance| variance.max(0.0).sqrt()));
        }
    }

    fn composite(&mut self) -> Result<(), String> {
        self.text.push(' ');
        let Some(Value::Components(parts)) = self.component.get("NumComponents") else { return Ok(()) };
        for (i, part) in parts.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(self.text, "{comma}sub-component{} = {{ {} }}", i + 1, component_info(part)?);
        }
        Ok(())
    }

    fn attention(&mut self) -> Result<(), String> {
        self.dims()?;
        self.ints(&["NumHeads", "TimeStride", "KeyDim", "ValueDim", "NumLeftInputs", "NumRightInputs"]);
        let get = |field| i64::from(self.component.int(field).unwrap_or(0));
        self.item("context-dim", get("NumLeftInputs") + 1 + get("NumRightInputs"));
        self.ints(&["NumLeftInputsRequired", "NumRightInputsRequired"]);
        self.switch("OutputContext");
        self.reals(&["KeyScale"]);
        let count = self.component.double("StatsCount").unwrap_or(0.0);
        if count == 0.0 {
            return Ok(());
        }
        let list = |values: &[f64]| values.iter().map(|x| general(x / count, 6) + ",").collect::<String>();
        if let Some(Value::DoubleVector(entropy)) = self.component.get("EntropyStats") {
            self.item("entropy", list(entropy.data()));
        }
        if let Some(Value::DoubleMatrix(posteriors)) = self.component.get("PosteriorStats") {
            for (i, row) in posteriors.rows().take(5).enumerate() {
                let _ = write!(self.text, " posterior-stats[{i}]={}", list(row));
            }
        }
        let _ = write!(self.text, " stats-count={}", general(count, 6));
        Ok(())
    }

    fn truncation(&mut self) {
        let get = |field| self.component.double(field).unwrap_or(0.0);
        let share = |part: f64, all: f64| general(if all > 0.0 { part / all } else { 0.0 }, 6);
        let (count, boundaries) = (get("NumElementsProcessed"), get("NumZeroingBoundaries"));
        let (clipped, zeroed) = (share(get("NumElementsClipped"), count), share(get("NumElementsZeroed"), boundaries));
        self.ints(&["Dim"]);
        self.item("scale", general(self.component.double("Scale").unwrap_or(1.0), 6));
        self.item("count", general(count, 3));
        self.ints(&["RecurrenceInterval"]);
        self.reals(&["ClippingThreshold"]);
        self.item("clipped-proportion", clipped);
        self.reals(&["ZeroingThreshold"]);
        self.ints(&["ZeroingInterval"]);
        self.item("zeroed-proportion", zeroed);
        self.item("count-zeroing-boundaries", general(boundaries.trunc(), 9));
    }

    fn permute(&mut self) {
        const SHOWN: usize = 5;
        let columns = self.component.ints("ColumnMap").unwrap_or_default();
        self.item("dim", columns.len());
        self.text.push_str(" , column-map=[ ");
        columns.iter().take(SHOWN).for_each(|column| {
            let _ = write!(self.text, "{column} ");
        });
        self.text.push_str(if columns.len() > SHOWN { "... ]" } else { "]" });
    }
}
