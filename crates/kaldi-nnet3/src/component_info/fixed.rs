//! Components without parameters that training changes.

use std::fmt::Write as _;

use kaldera_base::text::general;

use super::Info;
use crate::fields::Value;

/// Thresholds that are not set have this value in files.
const UNSET: f32 = -1000.0;

impl Info<'_> {
    /// Components without parameters.
    pub(super) fn simple(&mut self) -> Result<(), String> {
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

    pub(super) fn nonlinear(&mut self) {
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

    pub(super) fn batch_norm(&mut self) {
        self.ints(&["Dim", "BlockDim"]);
        self.reals(&["Epsilon", "TargetRms", "Count"]);
        self.switch("TestMode");
        if self.component.double("Count").is_some_and(|count| count > 0.0) {
            self.summary("data-mean", self.component.vector("StatsMean").unwrap_or_default());
            let variances = self.component.vector("StatsVar").unwrap_or_default();
            self.summary("data-stddev", variances.into_iter().map(|variance| variance.max(0.0).sqrt()));
        }
    }

    pub(super) fn attention(&mut self) -> Result<(), String> {
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

    pub(super) fn permute(&mut self) {
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
