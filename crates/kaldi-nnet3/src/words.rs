//! Numbers and lists of numbers in words, as Kaldi prints them.

use kaldera_base::text::general;

/// Returns the mean of values, and of their squares.
pub(crate) fn means(values: &[f32]) -> (f64, f64) {
    let count = values.len() as f64;
    let sum: f64 = values.iter().map(|&x| f64::from(x)).sum();
    let squares: f64 = values.iter().map(|&x| f64::from(x).powi(2)).sum();
    (sum / count, squares / count)
}

/// Returns the name of a field as options have it.
pub(crate) fn kebab(field: &str) -> String {
    let mut name = String::new();
    for (i, c) in field.char_indices() {
        if c.is_ascii_uppercase() && i > 0 {
            name.push('-');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// Returns up to nine values, or percentiles, the mean and the deviation of more.
#[doc(alias = "SummarizeVector")]
pub(crate) fn summary(mut values: Vec<f64>) -> String {
    const PERCENTILES: [usize; 13] = [0, 1, 2, 5, 10, 20, 50, 80, 90, 95, 98, 99, 100];
    if values.len() < 10 {
        let listed: String = values.iter().map(|&x| succinct(x) + " ").collect();
        return format!("[ {listed}]");
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|x| x * x).sum::<f64>() / count;
    let deviation = (square - mean * mean).max(0.0).sqrt();
    values.sort_by(f64::total_cmp);
    let mut text = "[percentiles(0,1,2,5 10,20,50,80,90 95,98,99,100)=(".to_owned();
    for (i, percentile) in PERCENTILES.into_iter().enumerate() {
        text += &succinct(values[(values.len() - 1) * percentile / 100]);
        text += match i {
            12 => "",
            3 | 8 => " ",
            _ => ",",
        };
    }
    text + &format!("), mean={}, stddev={}]", general(mean, 3), general(deviation, 3))
}

/// Returns a number with few digits.
#[doc(alias = "PrintFloatSuccinctly")]
fn succinct(x: f64) -> String {
    match x.abs() {
        10.0..10_000.0 => format!("{x:.0}"),
        0.995.. => format!("{x:.1}"),
        0.01.. => format!("{x:.2}"),
        _ => general(x, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers() {
        assert_eq!([12.4, 1.26, 0.126, 0.004, 20_000.0].map(succinct), ["12", "1.3", "0.13", "0.004", "20000.0"]);
    }

    #[test]
    fn summaries_list_or_count() {
        assert_eq!(summary(vec![1.0, -0.5]), "[ 1.0 -0.50 ]");
        let many = summary((0..101).map(f64::from).collect());
        let values = "0,1.0,2.0,5.0 10,20,50,80,90 95,98,99,100";
        let expected = format!("[percentiles(0,1,2,5 10,20,50,80,90 95,98,99,100)=({values}), mean=50, stddev=29.2]");
        assert_eq!(many, expected);
        assert_eq!(kebab("FiltXDim"), "filt-x-dim");
    }
}
