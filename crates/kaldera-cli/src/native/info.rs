//! `kaldera info`: properties of this build and machine.

use std::fmt::Write as _;
use std::process::ExitCode;

use kaldera::base::simd::{self, Level};
use kaldera::feat::options::Registry as _;
use kaldera::matrix::{BackendInfo, OpenBlasInfo, backend_info};
use serde_json::{Value, json};

use crate::Call;
use crate::native::{CliError, arguments, print};
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "info";
const USAGE: &str = "\
Show the features of this build and machine.

Usage: kaldera info [--json]

Examples:
  kaldera info
  kaldera info --json | jq -r .simd";

/// Names of the OpenBLAS kernels for AVX-512.
const AVX512_KERNELS: [&str; 4] = ["SkylakeX", "Cooperlake", "SapphireRapids", "Zen5"];

/// The optional features of the command; `true` if this build has the feature.
const FEATURES: [(&str, bool); 8] = [
    ("openblas", cfg!(feature = "openblas")),
    ("pure", cfg!(feature = "pure")),
    ("rayon", cfg!(feature = "rayon")),
    ("symphonia", cfg!(feature = "symphonia")),
    ("opus", cfg!(feature = "opus")),
    ("digits", cfg!(feature = "digits")),
    ("onnx", cfg!(feature = "onnx")),
    ("ort", cfg!(feature = "ort")),
];

/// Answers a call of `kaldera info`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, info(call))
}

fn info(call: Call<'_>) -> Result<ExitCode, CliError> {
    let mut as_json = false;
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    parser.add("json", &mut as_json, "Print JSON");
    let Some(arguments) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    if !arguments.is_empty() {
        return Err(CliError::Usage(format!("expected no arguments, found {}", arguments.len())));
    }
    let backend = backend_info();
    print(&if as_json { format!("{:#}\n", json_of(&backend)) } else { text_of(&backend) })?;
    Ok(ExitCode::SUCCESS)
}

fn text_of(backend: &BackendInfo) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("version", concat!("kaldera ", env!("CARGO_PKG_VERSION")));
    let of = |wanted: bool| {
        let names: Vec<_> = FEATURES.iter().filter(|(_, on)| *on == wanted).map(|(name, _)| *name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    line("features", &format!("{} (not built in: {})", of(true), of(false)));
    line("machine", &format!("{}, {}", std::env::consts::ARCH, std::env::consts::OS));
    line("SIMD", &simd::level().to_string());
    line("threads", &threads());
    line("backend", &backend.choice.to_string());
    if let Some(name) = &backend.ignored {
        line("", &format!("KALDERA_BACKEND={name} names no backend of this build and has no effect"));
    }
    if backend.pure {
        line("pure", "faer");
    }
    if let Some(openblas) = &backend.openblas {
        let OpenBlasInfo { config, corename, threads, .. } = openblas;
        line("openblas", &format!("{}, kernels for {corename}, {threads} thread(s)", config.trim()));
        if let Some(advice) = advice(corename) {
            line("", &advice);
        }
    }
    text
}

fn json_of(backend: &BackendInfo) -> Value {
    let features: serde_json::Map<_, _> = FEATURES.iter().map(|(name, on)| ((*name).to_owned(), json!(on))).collect();
    let openblas = backend.openblas.as_ref().map(|OpenBlasInfo { config, corename, threads, .. }| {
        json!({ "config": config.trim(), "kernels": corename, "threads": threads })
    });
    let processors = std::thread::available_parallelism().ok().map(usize::from);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "features": features,
        "machine": { "architecture": std::env::consts::ARCH, "system": std::env::consts::OS, "processors": processors },
        "simd": simd::level().to_string(),
        "threads": if cfg!(feature = "rayon") { processors.unwrap_or(1) } else { 1 },
        "backend": backend.choice.to_string(),
        "backends": { "pure": backend.pure, "openblas": openblas },
    })
}

fn threads() -> String {
    match std::thread::available_parallelism() {
        Ok(threads) if cfg!(feature = "rayon") => threads.to_string(),
        Ok(processors) => format!("1 of {processors}: the feature rayon is off"),
        Err(error) => format!("1: the number of processors is unknown ({error})"),
    }
}

/// Returns advice if the processor has AVX-512 and OpenBLAS has chosen kernels without it. OpenBLAS
/// does not recognise processors newer than itself, and may choose kernels of half the vector
/// width.
fn advice(corename: &str) -> Option<String> {
    let narrow = !AVX512_KERNELS.iter().any(|name| name.eq_ignore_ascii_case(corename));
    (simd::level() == Level::Avx512 && narrow).then(|| {
        "this processor has AVX-512, which these kernels do not use: set OPENBLAS_CORETYPE=SkylakeX in the \
         environment before the start for about twice the speed"
            .to_owned()
    })
}
