//! The ARPA file of a model.

use std::io::{self, Write};

use kaldera_base::text::general;

use super::file::{Child, View};

/// An n-gram of a state, and the next of its children to go to.
struct Step {
    state: usize,
    next: usize,
}

/// Calls `each` with the words of each n-gram, its logarithm and its weight for backing off, in the
/// order of the words.
fn for_each(view: &View<'_>, mut each: impl FnMut(&[i32], f32, f32) -> io::Result<()>) -> io::Result<()> {
    let (mut words, mut path) = (Vec::new(), Vec::new());
    for word in (0..).take(view.num_words()) {
        let Some(state) = view.unigram(word) else { continue };
        words.push(word);
        each(&words, view.log_probability(state), view.backoff(state))?;
        path.push(Step { state, next: 0 });
        while let Some(step) = path.last_mut() {
            // Longer n-grams would be damage: no look-up goes to them.
            if step.next == view.num_children(step.state) || words.len() == view.sections.order {
                path.pop();
                words.pop();
                continue;
            }
            let (word, child) = view.child_at(step.state, step.next);
            step.next += 1;
            words.push(word);
            match child {
                Child::Leaf(score) => {
                    each(&words, score, 0.0)?;
                    words.pop();
                }
                Child::State(state) => {
                    each(&words, view.log_probability(state), view.backoff(state))?;
                    path.push(Step { state, next: 0 });
                }
            }
        }
    }
    Ok(())
}

pub(super) fn write_arpa(view: &View<'_>, mut out: impl Write) -> io::Result<()> {
    let mut counts = vec![0_u64; view.sections.order];
    for_each(view, |words, _, _| {
        counts[words.len() - 1] += 1;
        Ok(())
    })?;
    // N-grams of the highest orders may be missing.
    let order = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    writeln!(out, "\n\\data\\")?;
    for (order, count) in (1..).zip(&counts[..order]) {
        writeln!(out, "ngram {order}={count}")?;
    }
    for order in 1..=order {
        writeln!(out, "\n\\{order}-grams:")?;
        for_each(view, |words, score, backoff| {
            if words.len() != order {
                return Ok(());
            }
            write!(out, "{}", general(score.into(), 6))?;
            for (at, word) in words.iter().enumerate() {
                write!(out, "{}{word}", if at == 0 { '\t' } else { ' ' })?;
            }
            if backoff != 0.0 {
                write!(out, "\t{}", general(backoff.into(), 6))?;
            }
            writeln!(out)
        })?;
    }
    writeln!(out, "\n\\end\\")?;
    out.flush()
}
