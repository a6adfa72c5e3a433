//! `lattice-mbr-decode` and `lattice-to-ctm-conf`: the words with the least expected number of
//! errors, with confidences and times.

use std::fmt::Write as _;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::lattice::MbrOptions;
use kaldera::io::lattice::CompactLattice;
use kaldera::io::specifier::Wspecifier;
use kaldera::io::table::{RandomAccessReader, SequentialReader};
use kaldera::io::wxfilename::Output;
use tracing::{info, warn};

use super::Failure;
use super::lattices::{
    Scales, acoustic_scale, read_words, register_frame_shift, register_inv_acoustic_scale, register_word_symbol_table,
    say_words, told,
};
use crate::{Call, Tool};

pub(super) const MBR: Tool =
    Tool { name: "lattice-mbr-decode", about: "Words of lattices with the least Bayes risk", run: mbr };
pub(super) const CTM_CONF: Tool =
    Tool { name: "lattice-to-ctm-conf", about: "Words of lattices with times and confidences", run: ctm_conf };

const MBR_USAGE: &str = "Decodes lattices for the minimum expected number of word errors. Writes the words, the expected number of errors,
the confusion network (as posteriors: bins of words, 0 for none) and the first and last frames of bins or words.
Usage: lattice-mbr-decode [options] <lattice-rspecifier> <transcriptions-wspecifier> [<bayes-risk-wspecifier> [<sausage-stats-wspecifier> [<times-wspecifier>]]]
For example: lattice-mbr-decode --acoustic-scale=0.1 ark:1.lats ark,t:1.tra ark:/dev/null ark:1.sau";

const CTM_CONF_USAGE: &str = "Writes a line for each word of each utterance: key, 1, start and duration in seconds, word, confidence.
The initial words come from <1best-rspecifier> or the best path; --decode-mbr=true changes them to reduce the expected number of errors.
Usage: lattice-to-ctm-conf [options] <lattice-rspecifier> [<1best-rspecifier> [<times-rspecifier>]] <ctm-wxfilename>
Times are recomputed; lattices without a key in <times-rspecifier> are skipped.
For example: lattice-to-ctm-conf --acoustic-scale=0.1 ark:1.lats 1.ctm";

#[derive(Default)]
struct Options {
    scales: Scales,
    word_symbol_table: String,
    one_best_times: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.scales.register(registry);
        register_word_symbol_table(registry, &mut self.word_symbol_table);
        registry.add("one-best-times", &mut self.one_best_times, "Write the times of words instead of all bins");
    }
}

fn mbr(call: Call<'_>) -> ExitCode {
    super::run_with_outputs(MBR.name, MBR_USAGE, call, Options::default(), (2..=5, 1), |options, plain| {
        let argument = |i: usize| plain.get(i).map_or("", String::as_str);
        let reader = SequentialReader::<CompactLattice>::open(argument(0))?;
        let mut transcriptions = super::open_if_given::<Vec<i32>>(argument(1))?;
        let mut risks = super::open_if_given::<f32>(argument(2))?;
        let mut sausages = super::open_if_given::<Vec<Vec<(i32, f32)>>>(argument(3))?;
        let mut times = super::open_if_given::<Vec<(f32, f32)>>(argument(4))?;
        let table = read_words(&options.word_symbol_table)?;
        let (mut done, mut failed, mut words, mut risk) = (0_u32, 0_u64, 0_usize, 0.0);
        for entry in reader {
            let (key, compact) = entry?;
            let scaled = options.scales.apply(&key, &compact);
            let result = scaled.and_then(|lattice| told(&key, lattice.minimum_bayes_risk(0, &MbrOptions::default())));
            let Some(result) = result else {
                failed += 1;
                continue;
            };
            if let Some(writer) = &mut transcriptions {
                writer.write(&key, &result.words)?;
            }
            if let Some(writer) = &mut risks {
                #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
                writer.write(&key, &(result.risk as f32))?;
            }
            say_words(&key, &result.words, table.as_ref())?;
            if let Some(writer) = &mut sausages {
                writer.write(&key, &result.sausage)?;
            }
            if let Some(writer) = &mut times {
                writer.write(&key, if options.one_best_times { &result.times } else { &result.sausage_times })?;
            }
            done += 1;
            words += result.words.len();
            risk += result.risk;
        }
        super::close_if_given(transcriptions)?;
        super::close_if_given(risks)?;
        super::close_if_given(sausages)?;
        super::close_if_given(times)?;
        info!("{done} lattices decoded; {failed} left out");
        info!("Bayes risk: {:.4} a sentence, {words} words in all", risk / f64::from(done.max(1)));
        Ok(done > 0)
    })
}

struct CtmOptions {
    scales: Scales,
    inv_acoustic_scale: f32,
    frame_shift: f32,
    decode_mbr: bool,
    print_silence: bool,
    confidence_digits: i32,
}

impl Default for CtmOptions {
    fn default() -> Self {
        Self {
            scales: Scales::default(),
            inv_acoustic_scale: 1.0,
            frame_shift: 0.01,
            decode_mbr: true,
            print_silence: false,
            confidence_digits: 2,
        }
    }
}

impl OptionSet for CtmOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.scales.register(registry);
        register_inv_acoustic_scale(registry, &mut self.inv_acoustic_scale);
        register_frame_shift(registry, &mut self.frame_shift);
        registry.add("decode-mbr", &mut self.decode_mbr, "Change the words to reduce the expected number of errors");
        registry.add("print-silence", &mut self.print_silence, "Write silence as word 0");
        registry.add("confidence-digits", &mut self.confidence_digits, "Number of decimals of confidences and times");
    }
}

fn ctm_conf(call: Call<'_>) -> ExitCode {
    super::run_any(CTM_CONF.name, CTM_CONF_USAGE, call, CtmOptions::default(), 2..=4, |mut options, plain| {
        options.scales.acoustic_scale = acoustic_scale(options.scales.acoustic_scale, options.inv_acoustic_scale)?;
        let ctm = &plain[plain.len() - 1];
        if Wspecifier::parse(ctm).is_ok() {
            return Err(Failure::Argument { value: ctm.clone(), expected: "a file, such as 1.ctm" });
        }
        let mut one_best = match plain.as_slice() {
            [_, one_best, .., _] => Some(RandomAccessReader::<Vec<i32>>::open(one_best)?),
            _ => None,
        };
        let mut times = match plain.as_slice() {
            [_, _, times, _] => Some(RandomAccessReader::<Vec<(f32, f32)>>::open(times)?),
            _ => None,
        };
        let digits = usize::try_from(options.confidence_digits).unwrap_or(6).min(20);
        let reader = SequentialReader::<CompactLattice>::open(&plain[0])?;
        let mut output = Output::create(ctm)?;
        let mbr = MbrOptions::default().with_decode_mbr(options.decode_mbr).with_print_silence(options.print_silence);
        let (mut done, mut failed) = (0_u64, 0_u64);
        for entry in reader {
            let (key, compact) = entry?;
            if let Some(reader) = &mut times
                && !reader.has_key(&key)?
            {
                warn!("leaving out {key}: it has no times");
                failed += 1;
                continue;
            }
            let words = match &mut one_best {
                Some(reader) => {
                    if !reader.has_key(&key)? {
                        warn!("leaving out {key}: it has no best words");
                        failed += 1;
                        continue;
                    }
                    Some(reader.value(&key)?.clone())
                }
                None => None,
            };
            let result = options.scales.apply(&key, &compact).and_then(|lattice| {
                told(
                    &key,
                    match &words {
                        Some(words) => lattice.minimum_bayes_risk_from(0, words, &mbr),
                        None => lattice.minimum_bayes_risk(0, &mbr),
                    },
                )
            });
            let Some(result) = result else {
                failed += 1;
                continue;
            };
            let mut lines = String::new();
            for ((word, (begin, end)), confidence) in result.words.iter().zip(&result.times).zip(&result.confidences) {
                let (start, duration) = (options.frame_shift * begin, options.frame_shift * (end - begin));
                let _ = writeln!(lines, "{key} 1 {start:.digits$} {duration:.digits$} {word} {confidence:.digits$}");
            }
            output.put(lines.as_bytes())?;
            info!("{key}: Bayes risk {}", result.risk);
            done += 1;
        }
        output.close()?;
        info!("{done} lattices written; {failed} left out");
        Ok(done > 0)
    })
}
