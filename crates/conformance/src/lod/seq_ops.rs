//! Paddle's sequence operators, forward and backward.

use kaldera::lod::sequence::{self, Context, Patches, Pool};
use kaldera::lod::{Lod, LodTensor};
use kaldera::ragged::Float;
use serde_json::Value;

use super::Stop;
use super::plain::{Came, Number, Slots, differences, lod_of, numbers, tensor};

/// The results of a call, by the names of the slots.
#[derive(Default)]
struct Results {
    outputs: Slots,
    gradients: Slots,
}

impl Results {
    fn output<T: Number>(mut self, name: &'static str, tensor: &LodTensor<T>) -> Self {
        self.outputs.push((name, vec![tensor.into()]));
        self
    }

    fn gradient<T: Number>(mut self, name: &'static str, tensor: &LodTensor<T>) -> Self {
        self.gradients.push((name, vec![tensor.into()]));
        self
    }
}

/// Calls the operator of a case and compares all that the case has answers for.
pub(super) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let case = Call { case };
    let results = match case.dtype() {
        "f32" => case.run::<f32>(),
        "f64" => case.run::<f64>(),
        _ => case.run_integers(),
    }?;
    differences(case.case, &results.outputs, &results.gradients)
}

struct Call<'a> {
    case: &'a Value,
}

impl Call<'_> {
    fn input(&self, name: &str) -> &Value {
        &self.case["inputs"][name]
    }

    fn attr(&self, name: &str) -> &Value {
        &self.case["attrs"][name]
    }

    fn dtype(&self) -> &str {
        let x = self.input("X");
        x["dtype"].as_str().or_else(|| x[0]["dtype"].as_str()).unwrap_or_default()
    }

    fn integer(&self, name: &str) -> Result<i64, Stop> {
        self.attr(name).as_i64().ok_or_else(|| Stop::Damaged(format!("no attribute {name}")))
    }

    /// An attribute whose negative numbers stand for its default.
    fn size(&self, name: &str) -> Result<Option<usize>, Stop> {
        Ok(usize::try_from(self.integer(name)?).ok())
    }

    fn sizes<const N: usize>(&self, name: &str) -> Result<[usize; N], Stop> {
        let sizes: Option<Vec<usize>> = numbers::<i64>(self.attr(name))?.iter().map(|&n| n.try_into().ok()).collect();
        sizes.and_then(|sizes| sizes.try_into().ok()).ok_or_else(|| Stop::Damaged(format!("attribute {name}")))
    }

    /// The gradient of an output that the case feeds in, if it does.
    fn out_grad<T: Number>(&self, name: &str) -> Result<Option<LodTensor<T>>, Stop> {
        let grad = &self.case["out_grads"][name];
        if grad.is_null() { Ok(None) } else { tensor(grad).map(Some) }
    }

    fn run<T: Number + Float>(&self) -> Result<Results, Stop> {
        let results = Results::default();
        let op = self.case["op"].as_str().unwrap_or_default();
        if op == "sequence_concat" {
            return self.concat::<T>();
        }
        let x: LodTensor<T> = tensor(self.input("X"))?;
        let grad = |name: &str| self.out_grad::<T>(name);
        match op {
            "sequence_pool" | "sequence_first_step" | "sequence_last_step" => {
                let how = match self.attr("pooltype").as_str() {
                    Some("AVERAGE") => Pool::Average,
                    Some("SUM") => Pool::Sum,
                    Some("SQRT") => Pool::Sqrt,
                    Some("MAX") => Pool::Max,
                    Some("FIRST") => Pool::First,
                    Some("LAST") => Pool::Last,
                    _ if op == "sequence_first_step" => Pool::First,
                    _ if op == "sequence_last_step" => Pool::Last,
                    _ => return Err(Stop::NotRun),
                };
                let pad_value = self.attr("pad_value").as_f64().unwrap_or(0.0);
                let (y, saved) = sequence::pool(&x, how, T::from_f64(pad_value))?;
                let mut results = results.output("Out", &y);
                if how == Pool::Max {
                    results =
                        results.output("MaxIndex", &y.like(y.num_rows(), saved.max_index().to_vec(), Lod::none())?);
                }
                with_gradient(results, "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_softmax" => {
                let (y, saved) = sequence::softmax(&x)?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_expand" => {
                let (y, saved) = sequence::expand(&x, &lod_of(self.input("Y"))?, self.size("ref_level")?)?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_expand_as" => {
                let (y, saved) = sequence::expand_as(&x, &lod_of(self.input("Y"))?)?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_slice" => {
                let of = |name: &str| numbers::<i64>(&self.input(name)["data"]);
                let (y, saved) = sequence::slice(&x, &of("Offset")?, &of("Length")?)?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_reverse" => {
                let (y, saved) = sequence::reverse(&x)?;
                with_gradient(results.output("Y", &y), "X", grad("Y")?, |g| saved.backward(g))
            }
            "sequence_pad" => {
                let pad_value = numbers::<T>(&self.input("PadValue")["data"])?;
                let (y, saved) = sequence::pad(&x, &pad_value, self.size("padded_length")?)?;
                let lengths: Vec<i64> = saved.lengths().map(|n| n as i64).collect();
                let lengths = LodTensor::from_vec([lengths.len()], lengths, Lod::none())?;
                let results = results.output("Out", &y).output("Length", &lengths);
                with_gradient(results, "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_unpad" => {
                let (y, saved) = sequence::unpad(&x, &numbers::<i64>(&self.input("Length")["data"])?)?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_conv" => self.conv(&x),
            "row_conv" => {
                let (y, saved) = sequence::row_conv(&x, &tensor(self.input("Filter"))?)?;
                let results = results.output("Out", &y);
                let Some(out_grad) = grad("Out")? else { return Ok(results) };
                let (x, filter) = saved.backward(&out_grad)?;
                Ok(results.gradient("X", &x).gradient("Filter", &filter))
            }
            "sequence_reshape" => {
                let width = self.size("new_dim")?.ok_or_else(|| Stop::Refused("a negative width".into()))?;
                let (y, saved) = sequence::reshape(&x, width)?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "sequence_scatter" => {
                let (ids, updates) = (self.input("Ids"), self.input("Updates"));
                let (y, saved) = sequence::scatter(&x, &tensor(ids)?, &tensor(updates)?)?;
                let results = results.output("Out", &y);
                let Some(out_grad) = grad("Out")? else { return Ok(results) };
                let (x, updates) = saved.backward(&out_grad)?;
                Ok(results.gradient("X", &x).gradient("Updates", &updates))
            }
            "sequence_topk_avg_pooling" => {
                let topks: Vec<usize> = numbers::<i64>(self.attr("topks"))?.iter().map(|&k| k as usize).collect();
                let channels = self.size("channel_num")?.unwrap_or(0);
                let (row, column) = (lod_of(self.input("ROW"))?, lod_of(self.input("COLUMN"))?);
                let (y, saved) = sequence::topk_avg_pool(&x, &row, &column, &topks, channels)?;
                let pos = saved.positions().to_vec();
                let pos = LodTensor::from_vec([pos.len()], pos, Lod::none())?;
                let results = results.output("Out", &y).output("pos", &pos);
                with_gradient(results, "X", grad("Out")?, |g| saved.backward(g))
            }
            "im2sequence" => {
                let (kernel, stride, padding) =
                    (self.sizes("kernels")?, self.sizes("strides")?, self.sizes("paddings")?);
                let (y, saved) = sequence::im2sequence(&x, Patches { kernel, stride, padding })?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "lod_reset" => {
                let y = self.input("Y");
                let target = match (y.is_null(), lod_of(y)?) {
                    (false, lod) if !lod.is_none() => lod,
                    (false, _) => Lod::from_offsets(&[numbers::<i64>(&y["data"])?])?,
                    (true, _) => Lod::from_offsets(&[numbers::<i64>(self.attr("target_lod"))?])?,
                };
                let (y, saved) = sequence::reset(&x, &target, self.attr("append").as_bool().unwrap_or(false))?;
                with_gradient(results.output("Out", &y), "X", grad("Out")?, |g| saved.backward(g))
            }
            "split_lod_tensor" => {
                let mask = numbers::<bool>(&self.input("Mask")["data"])?;
                let level = self.size("level")?.unwrap_or(0);
                let ((yes, _), (no, _)) = sequence::split_by_mask(&x, &mask, level)?;
                Ok(results.output("OutTrue", &yes).output("OutFalse", &no))
            }
            _ => Err(Stop::NotRun),
        }
    }

    fn concat<T: Number + Float>(&self) -> Result<Results, Stop> {
        let sources = self.input("X").as_array().ok_or_else(|| Stop::Damaged("no list of inputs".into()))?;
        let sources: Vec<LodTensor<T>> = sources.iter().map(tensor).collect::<Result<_, _>>()?;
        let (y, saved) = sequence::concat(&sources.iter().collect::<Vec<_>>())?;
        let mut results = Results::default().output("Out", &y);
        if let Some(out_grad) = self.out_grad("Out")? {
            let grads = saved.backward::<T>(&out_grad)?;
            results.gradients.push(("X", grads.iter().map(Came::from).collect()));
        }
        Ok(results)
    }

    fn conv<T: Number + Float>(&self, x: &LodTensor<T>) -> Result<Results, Stop> {
        if self.attr("contextStride").as_i64().is_some_and(|stride| stride != 1) {
            return Err(Stop::Refused("only steps of 1".into()));
        }
        let of_attr = |name: &str| i32::try_from(self.integer(name)?).map_err(|_| Stop::Damaged(name.into()));
        let length = u32::try_from(of_attr("contextLength")?).map_err(|_| Stop::Refused("a negative length".into()))?;
        let context = Context { start: of_attr("contextStart")?, length };
        let trainable = self.attr("paddingTrainable").as_bool().unwrap_or(false);
        let padding = if trainable { Some(tensor(self.input("PaddingData"))?) } else { None };
        let (y, saved) = sequence::conv(x, &tensor(self.input("Filter"))?, context, padding.as_ref())?;
        let mut results = Results::default().output("Out", &y);
        if let Some(out_grad) = self.out_grad("Out")? {
            let grads = saved.backward(&out_grad)?;
            results = results.gradient("X", &grads.x).gradient("Filter", &grads.filter);
            if let Some(padding) = &grads.padding {
                results = results.gradient("PaddingData", padding);
            }
        }
        Ok(results)
    }

    fn run_integers(&self) -> Result<Results, Stop> {
        match self.dtype() {
            "i32" => self.run_ids::<i32>(),
            "i64" => self.run_ids::<i64>(),
            _ => Err(Stop::NotRun),
        }
    }

    fn run_ids<T: Number + kaldera::ragged::Number>(&self) -> Result<Results, Stop> {
        let results = Results::default();
        match self.case["op"].as_str().unwrap_or_default() {
            "sequence_enumerate" => {
                let pad_value = T::read(self.attr("pad_value")).ok_or_else(|| Stop::Damaged("no pad_value".into()))?;
                let window = self.size("win_size")?.ok_or_else(|| Stop::Refused("a negative window".into()))?;
                Ok(results.output("Out", &sequence::enumerate(&tensor::<T>(self.input("X"))?, window, pad_value)?))
            }
            "sequence_erase" => {
                let tokens = numbers::<T>(self.attr("tokens"))?;
                Ok(results.output("Out", &sequence::erase(&tensor::<T>(self.input("X"))?, &tokens)?))
            }
            "sequence_mask" => {
                let mask = sequence::mask(&tensor(self.input("X"))?, self.size("maxlen")?)?;
                let numbers: Vec<i64> = mask.values().iter().map(|&flag| flag.into()).collect();
                Ok(results.output("Y", &LodTensor::from_vec(mask.shape(), numbers, Lod::none())?))
            }
            "sequence_reverse" => Ok(results.output("Y", &sequence::reverse(&tensor::<T>(self.input("X"))?)?.0)),
            _ => Err(Stop::NotRun),
        }
    }
}

/// The results with the gradient of one input, if the case has one of the output.
fn with_gradient<T: Number>(
    results: Results,
    name: &'static str,
    out_grad: Option<LodTensor<T>>,
    backward: impl FnOnce(&LodTensor<T>) -> Result<LodTensor<T>, kaldera::lod::Error>,
) -> Result<Results, Stop> {
    match out_grad {
        Some(out_grad) => Ok(results.gradient(name, &backward(&out_grad)?)),
        None => Ok(results),
    }
}
