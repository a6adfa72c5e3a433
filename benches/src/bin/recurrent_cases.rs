//! Answers `benches/peers/recurrent.py` with the seconds that a case took, done so often. The case
//! `lengths` says the lengths of the mini-batch instead.

use kaldera_benches::on_demand::{seconds, serve};
use kaldera_benches::recurrent::{Case, LENGTHS, case};

enum Answer {
    Seconds(Case),
    Lengths,
}

fn main() -> std::io::Result<()> {
    let find = |name: &str| match name {
        "lengths" => Some(Answer::Lengths),
        _ => case(name).map(Answer::Seconds),
    };
    serve(find, |answer, times| match answer {
        Answer::Seconds(once) => seconds(|| (0..times).for_each(|_| once())).to_string(),
        Answer::Lengths => LENGTHS.map(|length| length.to_string()).join(" "),
    })
}
