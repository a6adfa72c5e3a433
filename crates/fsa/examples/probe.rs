//! Times.
use fsa::io::TransducerFile;
use fsa::on_demand::*;
use std::time::Instant;
fn rss() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4 / 1024
}
fn load(path: &str) -> TransducerFile {
    let before = rss();
    let t = Instant::now();
    let file = TransducerFile::open(path).unwrap();
    println!(
        "{path}: {:?}, {} states, {} arcs, {} MB rss more, {} MB transducer, {} MB reach, {} MB symbols",
        t.elapsed(),
        file.transducer.num_states(),
        file.transducer.num_arcs(),
        rss() - before,
        file.transducer.num_bytes() >> 20,
        file.label_reach.as_ref().map_or(0, |r| r.num_bytes() >> 20),
        file.input_symbols.as_ref().map_or(0, |r| r.num_bytes() >> 20)
    );
    file
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "compose" {
        let left = TransducerFile::open(&args[2]).unwrap();
        let right = TransducerFile::open(&args[3]).unwrap();
        let lexicon = LookAheadLexicon::new(left.transducer, left.label_reach.unwrap()).unwrap();
        let c = Composition::new(
            lexicon.into(),
            LookAheadGrammar::new(right.transducer).unwrap().into(),
            CompositionOptions::default(),
        );
        let it = c.compose(fsa::Limits::default()).unwrap();
        for s in 0..it.num_states() as u32 {
            for a in it.arcs(s) {
                println!("{s}\t{}\t{}\t{}\t{}", a.dest, a.ilabel, a.olabel, a.cost);
            }
            let f = it.final_cost(s);
            if f < f32::INFINITY || it.arcs(s).is_empty() {
                println!("{s}\t{f}");
            }
        }
        return;
    }
    let mut left = load(&format!("{}/HCLr.fst", args[1]));
    let right = load(&format!("{}/Gr.fst", args[1]));
    let ids: Vec<i32> = std::fs::read_to_string(format!("{}/disambig_tid.int", args[1]))
        .unwrap()
        .split_whitespace()
        .map(|w| w.parse().unwrap())
        .collect();
    let t = Instant::now();
    left.transducer.clear_ilabels(&ids);
    println!("clear {:?}", t.elapsed());
    let t = Instant::now();
    let lexicon = std::sync::Arc::new(LookAheadLexicon::new(left.transducer, left.label_reach.unwrap()).unwrap());
    println!("lexicon {:?}", t.elapsed());
    let t = Instant::now();
    let grammar = std::sync::Arc::new(LookAheadGrammar::new(right.transducer).unwrap());
    println!("grammar {:?}, {} MB", t.elapsed(), grammar.num_bytes() >> 20);
    let c = Composition::new(lexicon, grammar, CompositionOptions::default());
    println!("rss {} MB", rss());
    // All states at up to some cost and depth, in the order of a beam search without acoustics.
    for round in 0..2 {
        let t = Instant::now();
        let mut view = c.view();
        let mut live = vec![(0.0_f32, view.start().unwrap().unwrap())];
        let (mut asked, mut arcs) = (0, 0);
        for frame in 0..60 {
            // epsilons
            let mut best = std::collections::HashMap::new();
            let mut queue = live.clone();
            for &(c, s) in &live {
                best.insert(s, c);
            }
            while let Some((cost, s)) = queue.pop() {
                if best[&s] < cost {
                    continue;
                }
                asked += 1;
                for a in view.arcs(s).epsilons {
                    let new = cost + a.cost;
                    let e = best.entry(a.dest).or_insert(f32::INFINITY);
                    if new < *e {
                        *e = new;
                        queue.push((new, a.dest));
                    }
                }
            }
            let mut next = std::collections::HashMap::new();
            for (&s, &cost) in &best {
                let it = view.arcs(s);
                asked += 1;
                arcs += it.emitting.len();
                for a in it.emitting {
                    let new = cost + a.cost;
                    let e = next.entry(a.dest).or_insert(f32::INFINITY);
                    if new < *e {
                        *e = new;
                    }
                }
            }
            live = next.into_iter().map(|(s, c)| (c, s)).collect();
            live.sort_by(|a, b| a.partial_cmp(b).unwrap());
            live.truncate(3000);
            let mut states: Vec<u32> = live.iter().map(|x| x.1).collect();
            view.renew(&mut states).unwrap();
            for (l, s) in live.iter_mut().zip(states) {
                l.1 = s;
            }
            if frame % 20 == 0 {
                println!("frame {frame}: {:?}, asked {asked}, arcs {arcs}, cached {:?}", t.elapsed(), c.cached());
            }
        }
        println!(
            "round {round}: {:?}, asked {asked}, arcs {arcs}, cached {:?}, rss {} MB",
            t.elapsed(),
            c.cached(),
            rss()
        );
    }
}
