use std::time::Instant;
fn rss() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4 / 1024
}
fn main() {
    for path in std::env::args().skip(1) {
        let before = rss();
        let t = Instant::now();
        let file = fsa::io::TransducerFile::open(&path).unwrap();
        println!("{path}: {:?}, {} states, {} arcs, {} MB rss more, {} MB transducer, {} MB reach, {} MB symbols, highest {:?}, start {:?}", t.elapsed(), file.transducer.num_states(),
            file.transducer.num_arcs(), rss() - before, file.transducer.num_bytes() >> 20,
            file.label_reach.as_ref().map_or(0, |r| r.num_bytes() >> 20), file.input_symbols.as_ref().map_or(0, |r| r.num_bytes() >> 20),
            file.transducer.highest_labels(), file.transducer.start());
        std::mem::forget(file);
    }
}
