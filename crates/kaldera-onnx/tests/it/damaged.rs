//! Damaged files: errors may come of them, and nothing worse.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use kaldera_fuzz::fuzz;
use kaldera_onnx::{
    Batch, Description, Layout, LodTensor, Network as _, OnnxNetwork, OnnxOptions, Runtime, weight_files,
};

use crate::path;

const NETWORKS: [&str; 11] = [
    "icefall.onnx",
    "kinds/t-one.onnx",
    "kinds/wenet.onnx",
    "nemo.onnx",
    "nemo-streaming.onnx",
    "samples.onnx",
    "streaming-ctc.onnx",
    "tdt/decoder.onnx",
    "tdt/joiner.onnx",
    "transducer/encoder-epoch-1-avg-1.onnx",
    "transducer/decoder-epoch-1-avg-1.onnx",
];

/// A field of bytes, of any length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut size = bytes.len();
    while size > 0x7f {
        field.push(u8::try_from(size & 0x7f).unwrap() | 0x80);
        size >>= 7;
    }
    field.push(u8::try_from(size).unwrap());
    [&field, bytes].concat()
}

/// Opens a file, and computes with it if it is a network.
fn compute(file: &Path) -> Result<(), String> {
    let description = Description::read(file, Runtime::default()).map_err(|error| error.to_string())?;
    let width = Layout::of(&description).ok().and_then(Layout::width).unwrap_or(8);
    let options = OnnxOptions::default().with_inputs(width).with_subsampling(Some(2));
    let network = OnnxNetwork::open(file, &options).map_err(|error| error.to_string())?;
    let rows = LodTensor::from_lengths(&[40], width, vec![0.5; 40 * width]).map_err(|error| error.to_string())?;
    let batch = Batch::new(&["a"], &rows).map_err(|error| error.to_string())?;
    network.log_probs(&batch).map(drop).map_err(|error| error.to_string())
}

#[test]
fn bytes_that_hang_or_abort_a_runtime_are_refused_before_it_reads_them() {
    let file = std::env::temp_dir().join(format!("kaldera-damaged-{}.onnx", std::process::id()));
    let long = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for (bytes, expected) in [
        (&[0xff; 11][..], "more than 64 bits"),
        (&long, "cut short"),
        (b"this is a text", "no ONNX file"),
        (b"", "no graph"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let error = compute(&file).unwrap_err();
        assert!(error.contains(expected) && error.contains("kaldera-damaged"), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_chain_of_many_nodes_does_not_overflow_the_stack() {
    const NODES: usize = 8_000;
    let node = |i: usize| {
        let (from, to) = (format!("x{i}"), format!("x{}", i + 1));
        field(1, &[field(1, from.as_bytes()), field(2, to.as_bytes()), field(4, b"Sigmoid")].concat())
    };
    let value = |number: u8, name: &str| {
        let axis = |name: &[u8]| field(1, &field(2, name));
        let shape = [axis(b"N"), axis(b"T"), field(1, &[8, 8])].concat();
        let kind = field(1, &[&[8, 1][..], &field(2, &shape)].concat());
        field(number, &[field(1, name.as_bytes()), field(2, &kind)].concat())
    };
    let nodes: Vec<u8> = (0..NODES).flat_map(node).collect();
    let graph = [nodes, value(11, "x0"), value(12, &format!("x{NODES}"))].concat();
    let model = [&[8, 8][..], &field(8, &[16, 17]), &field(7, &graph)].concat();
    let file = std::env::temp_dir().join(format!("kaldera-chain-{}.onnx", std::process::id()));
    std::fs::write(&file, model).unwrap();
    assert_eq!(compute(&file), Ok(()));
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn any_bytes_are_looked_through_to_their_end() {
    let file = std::env::temp_dir().join(format!("kaldera-fuzz-{}.onnx", std::process::id()));
    fuzz!("onnx", |bytes| {
        std::fs::write(&file, bytes).unwrap();
        if let Err(error) = weight_files(&file) {
            assert!(!error.to_string().is_empty());
        }
    });
    // Without time to search, nothing was written.
    let _ = std::fs::remove_file(&file);
}

/// The mutants `FROM..TO` that a child computes.
const RANGE: &str = "KALDERA_MUTANTS_OF_CHILD";

/// Networks that are damaged at random, each computed in a child process with limits of time and
/// memory: `KALDERA_MUTANTS=40000 cargo test -p kaldera-onnx --test it mutants -- --nocapture`.
#[cfg(target_os = "linux")]
#[test]
fn mutants_end_in_time_and_memory() {
    if let Ok(range) = std::env::var(RANGE) {
        let (from, to) = range.split_once("..").unwrap();
        return child(from.parse().unwrap()..to.parse().unwrap());
    }
    let count: u64 = std::env::var("KALDERA_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let (mut next, mut failed, mut good) = (0, vec![], 0);
    while next < count {
        let mut process = Command::new("sh")
            .args(["-c", "ulimit -v 4000000; ulimit -c 0; exec \"$0\" mutants_end_in_time_and_memory --nocapture"])
            .arg(std::env::current_exe().unwrap())
            .env(RANGE, format!("{next}..{count}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (told, tells) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        let reader = thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let mut words = line.split_whitespace();
                if let (Some("mutant"), Some(number), Some(is_good)) = (words.next(), words.next(), words.next()) {
                    let _ = told.send((number.parse::<u64>().unwrap(), is_good == "true"));
                }
            }
        });
        while let Ok((number, is_good)) = tells.recv_timeout(Duration::from_secs(30)) {
            next = number + 1;
            good += u64::from(is_good);
        }
        let _ = process.kill();
        let status = process.wait().unwrap();
        reader.join().unwrap();
        if next < count {
            println!("mutant {next}: {status}");
            failed.push(next);
            next += 1;
        }
    }
    println!("{count} mutants, {good} of them computed, {} failed: {failed:?}", failed.len());
    assert!(failed.is_empty());
}

#[cfg(target_os = "linux")]
fn child(range: std::ops::Range<u64>) {
    let corpus: Vec<Vec<u8>> = NETWORKS.iter().map(|name| std::fs::read(path(name)).unwrap()).collect();
    let file = std::env::temp_dir().join(format!("kaldera-mutant-{}.onnx", std::process::id()));
    for number in range {
        std::fs::write(&file, mutant(&corpus, number)).unwrap();
        if let Ok(kept) = std::env::var("KALDERA_KEEP_MUTANTS") {
            std::fs::copy(&file, Path::new(&kept).join(format!("{number}.onnx"))).unwrap();
        }
        let is_good = compute(&file).is_ok();
        println!("mutant {number} {is_good}");
        std::io::stdout().flush().unwrap();
    }
    std::fs::remove_file(&file).unwrap();
}

#[cfg(target_os = "linux")]
fn mutant(corpus: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    for _ in 0..8 {
        byte();
    }
    // A few instructions of ten bytes, behind the one that chooses the file.
    let len = 2 + 10 * (1 + usize::from(byte() % 4));
    let instructions: Vec<u8> = (0..len).map(|_| byte()).collect();
    kaldera_fuzz::damaged(corpus, &instructions).unwrap()
}
