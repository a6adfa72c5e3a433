//! Linear systems and minima by iteration.

use kaldera::base::Real;
use kaldera::matrix::dense::add_outer_product_plus_minus;
use kaldera::matrix::optimization::{LbfgsOptions, LinearCgdOptions, OptimizeLbfgs, linear_cgd};
use kaldera::matrix::{Matrix, SpMatrix, Vector, vec_vec};
use serde_json::Value;

use super::answer::Answer;
use super::record::{Record, number};
use super::{Operation, Stop};

pub(super) fn operation<T: Real>(op: &str) -> Option<Operation<T>> {
    Some(match op {
        "LinearCgd" => cgd,
        "OptimizeLbfgs(quadratic 0.5 x'Hx - c'x)" => lbfgs,
        "AddOuterProductPlusMinus" => outer_product,
        _ => return None,
    })
}

fn cgd<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let b = record.given.vector("b")?;
    let a = SpMatrix::from_vec(b.dim(), record.given.numbers("A")?)?;
    let mut x = Vector::zeros(b.dim());
    let iterations = linear_cgd(&LinearCgdOptions::default(), &a, &b, &mut x)?;
    Ok(Answer::new().exact("iters", iterations).vector("x", &x))
}

/// The whole trace: every proposed point, the values found there, and the mean length of the
/// steps before.
fn lbfgs<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let (c, x0) = (record.given.vector("c")?, record.given.vector("x0")?);
    let h = SpMatrix::from_vec(c.dim(), record.given.numbers("H")?)?;
    let mut search = OptimizeLbfgs::new(&x0, LbfgsOptions::default())?;
    let mut answer = Answer::new().free("trace");
    let trace: Vec<Value> = record.out.plain("trace")?;
    for step in trace {
        let list = step["x"].as_array().and_then(|list| list.iter().map(number).collect::<Option<Vec<T>>>());
        let (Some(expected), Some(value), Some(length)) = (list, number(&step["f"]), number(&step["RecentStepLength"]))
        else {
            return Err(Stop::Damaged("trace: a step without x, f or RecentStepLength".into()));
        };
        let x = search.get_proposed_value().to_owned();
        let mut gradient = c.clone();
        gradient.add_sp_vec(T::ONE, &h, &x, -T::ONE)?;
        // 0.5 x'Hx - c'x
        let found = (vec_vec(&x, &gradient)? - vec_vec(&x, &c)?) * T::from_f64(0.5);
        answer = answer
            .near("a point of the trace", &expected, x.data())
            .near("a value of the trace", &[value], &[found])
            .near("a step length of the trace", &[length], &[search.recent_step_length()]);
        search.do_step(found, &gradient)?;
    }
    let (best, value) = search.get_value();
    Ok(answer.vector("best_x", &best).number("best_f", value))
}

fn outer_product<T: Real>(record: &Record<'_, T>) -> Result<Answer<T>, Stop> {
    let (a, b) = (record.given.vector("a")?, record.given.vector("b")?);
    let [mut plus, mut minus] = [(); 2].map(|()| Matrix::zeros(a.dim(), b.dim()));
    add_outer_product_plus_minus(record.given.number("alpha")?, &a, &b, &mut plus, &mut minus)?;
    Ok(Answer::new().matrix("plus", &plus).matrix("minus", &minus))
}
