//! `online2-wav-nnet3-latgen-faster`: recordings to lattices, in chunks as an online decoder gets
//! them.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use kaldera::decoder::graph::{EndpointRules, EndpointState};
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::incremental::{IncrementalDecoder, IncrementalOptions, TransitionLabels};
use kaldera::fsa::io::{SymbolTable, TransducerFile};
use kaldera::fsa::lattice::Lattice;
use kaldera::fsa::on_demand::StaticGraph;
use kaldera::io::lattice::CompactLattice;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::io::transition_model::TransitionModel;
use kaldera::io::wave::WaveData;
use kaldera::ivector::{SilenceWeighting, SilenceWeightingOptions};
use kaldera::kaldi_online::{ids_of_phones, register_endpoint_rules, transition_labels};
use kaldera::nnet3::{LoopedNetwork, LoopedOptions, Stream};
use tracing::{info, warn};

use super::decode::Beams;
use super::latgen::LatticeOptions;
use super::lattices::{read_bytes, read_words, register_word_symbol_table, say_words, to_kaldi, told};
use super::nnet3_models::read_acoustic_model;
use super::nnet3_options::{Unused, check_counts};
use super::online2_features::{FeatureConfig, FeatureInfo, Features, Speaker, phones};
use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "online2-wav-nnet3-latgen-faster",
    about: "Lattices from recordings, in chunks as an online decoder gets them",
    run,
};

const USAGE: &str = "Decodes recordings in chunks as an online decoder does, with i-vectors of the frames so far, and writes lattices.
Utterances of a speaker follow each other; <spk2utt-rspecifier> may name each utterance as its own speaker.
Usage: online2-wav-nnet3-latgen-faster [options] <nnet-in> <fst-in> <spk2utt-rspecifier> <wav-rspecifier> <lattice-wspecifier>
For example: online2-wav-nnet3-latgen-faster --config=conf/online.conf --do-endpointing=true final.mdl HCLG.fst ark:spk2utt scp:wav.scp ark:lat.ark";

struct Options {
    chunk_length: f32,
    word_symbol_table: String,
    do_endpointing: bool,
    online: bool,
    num_threads_startup: i32,
    features: FeatureConfig,
    extra_left_context_initial: usize,
    frame_subsampling_factor: usize,
    frames_per_chunk: usize,
    acoustic_scale: f32,
    unused: Unused,
    beams: Beams,
    lattice: LatticeOptions,
    silence_phones: String,
    endpoints: EndpointRules,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("chunk-length", &mut self.chunk_length, "Seconds of a chunk; 0 or below = all at once");
        register_word_symbol_table(registry, &mut self.word_symbol_table);
        registry.add("do-endpointing", &mut self.do_endpointing, "End an utterance where the rules say so");
        let doc = "If false: all at once, and i-vectors see all frames of the utterance";
        registry.add("online", &mut self.online, doc);
        registry.add("num-threads-startup", &mut self.num_threads_startup, "No effect");
        self.features.register(registry);
        let doc = "Copies of the first frame in addition to those that the network needs";
        registry.add("extra-left-context-initial", &mut self.extra_left_context_initial, doc);
        let doc = "Frames of features for a row of the output, such as 3 for chain models";
        registry.add("frame-subsampling-factor", &mut self.frame_subsampling_factor, doc);
        let doc = "Frames of features that are computed at once; rounded up as the network needs";
        registry.add("frames-per-chunk", &mut self.frames_per_chunk, doc);
        registry.add("acoustic-scale", &mut self.acoustic_scale, "Factor for log-likelihoods");
        self.unused.register(registry);
        self.beams.register(registry);
        self.lattice.register(registry);
        registry.add("endpoint.silence-phones", &mut self.silence_phones, "Phones of silence, such as 1:2:3");
        register_endpoint_rules(&mut self.endpoints, registry);
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            chunk_length: 0.18,
            word_symbol_table: String::new(),
            do_endpointing: false,
            online: true,
            num_threads_startup: 8,
            features: FeatureConfig::default(),
            extra_left_context_initial: 0,
            frame_subsampling_factor: 1,
            frames_per_chunk: 24,
            acoustic_scale: 0.1,
            unused: Unused::default(),
            beams: Beams::new(200),
            lattice: LatticeOptions::default(),
            silence_phones: String::new(),
            endpoints: EndpointRules::kaldi(),
        }
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [nnet, graph, speakers, recordings, lattices]| {
        let model = Model::open(options, &nnet, &graph)?;
        let words = read_words(&model.options.word_symbol_table)?;
        let speakers = SequentialReader::<Vec<String>>::open(&speakers)?;
        let mut recordings = RandomAccessReader::<WaveData>::open(&recordings)?;
        let mut writer = TableWriter::<CompactLattice>::open(&lattices)?;
        let mut totals = Totals::new();
        for entry in speakers {
            let (_, utterances) = entry?;
            let mut speaker = Speaker::default();
            for key in utterances {
                if !recordings.has_key(&key)? {
                    warn!("Did not find audio for utterance {key}");
                    totals.failed += 1;
                    continue;
                }
                let wave = recordings.value(&key)?;
                totals.seconds += f64::from(wave.duration());
                let (lattice, next) = model.decode(&key, wave, &speaker)?;
                speaker = next;
                let Some(lattice) = lattice else {
                    totals.failed += 1;
                    continue;
                };
                totals.add(&key, &lattice, words.as_ref())?;
                let Some(lattice) = told(&key, model.without_scale(&lattice)) else {
                    totals.failed += 1;
                    continue;
                };
                writer.write(&key, &lattice)?;
                info!("Decoded utterance {key}");
                totals.done += 1;
            }
        }
        writer.close()?;
        Ok(totals.log())
    })
}

/// The model, which all utterances share.
struct Model {
    options: Options,
    features: FeatureInfo,
    network: Arc<LoopedNetwork>,
    labels: TransitionLabels,
    graph: StaticGraph,
    search: IncrementalOptions,
    /// For each transition identifier, 0 included: its phone ends utterances.
    is_silence: Arc<[bool]>,
    /// The same, for the weights in i-vectors.
    has_less_weight: Arc<[bool]>,
    weighting: SilenceWeightingOptions,
}

impl Model {
    fn open(options: Options, nnet: &str, graph: &str) -> Result<Self, Failure> {
        if !options.lattice.determinize_lattice {
            let reason = "it must be true, as in Kaldi";
            return Err(Failure::Unsupported { name: "determinize-lattice", reason });
        }
        if !options.lattice.determinizes() {
            let reason = "lattices are determinized here";
            return Err(Failure::Unsupported { name: "word-determinize", reason });
        }
        options.lattice.warn();
        check_counts(options.frame_subsampling_factor, options.frames_per_chunk)?;
        let search = options.beams.incremental(options.lattice.lattice_beam)?;
        let silence_phones = phones("endpoint.silence-phones", &options.silence_phones)?;
        let (light_phones, weighting) = options.features.silence()?;
        let features = options.features.open(options.online)?;
        let (transitions, model) = read_acoustic_model(nnet)?;
        let looped = LoopedOptions::default()
            .with_frames_per_chunk(options.frames_per_chunk)
            .with_frame_subsampling_factor(options.frame_subsampling_factor)
            .with_extra_left_context_initial(options.extra_left_context_initial);
        let network = LoopedNetwork::new(model.nnet(), &looped)?.with_priors(model.priors())?;
        check(&network, &features, &transitions)?;
        let graph = StaticGraph::new(TransducerFile::read(&read_bytes(graph)?)?.transducer);
        Ok(Self {
            features,
            network: Arc::new(network),
            labels: transition_labels(&transitions),
            graph,
            search,
            is_silence: ids_of_phones(&transitions, &silence_phones),
            has_less_weight: ids_of_phones(&transitions, &light_phones),
            weighting,
            options,
        })
    }

    /// Decodes a recording. Without frames there is no lattice, and a warning.
    fn decode(&self, key: &str, wave: &WaveData, speaker: &Speaker) -> Result<(Option<Lattice>, Speaker), Failure> {
        let features = self.features.stream(key, wave.samp_freq, speaker)?;
        let factor = self.options.frame_subsampling_factor;
        let mut utterance = Utterance {
            model: self,
            features,
            network: self.network.stream(),
            graph: self.graph.clone(),
            decoder: IncrementalDecoder::new(self.search)?,
            weighting: SilenceWeighting::new(self.weighting.clone(), Arc::clone(&self.has_less_weight), factor),
            ivector: vec![0.0; self.network.ivector_dim().unwrap_or(0)],
        };
        utterance.decoder.begin(&mut utterance.graph)?;
        let samples: Vec<f32> = wave.channel(0).iter().map(|&sample| f32::from(sample)).collect();
        let mut chunks = samples.chunks(self.chunk_samples(wave.samp_freq)).peekable();
        while let Some(chunk) = chunks.next() {
            utterance.accept(chunk, chunks.peek().is_none())?;
            if self.options.do_endpointing && utterance.has_ended()? {
                break;
            }
        }
        utterance.finish(key)
    }

    /// Returns the number of samples of a chunk.
    fn chunk_samples(&self, samp_freq: f32) -> usize {
        let seconds = self.options.chunk_length;
        if self.options.online && seconds > 0.0 { ((samp_freq * seconds) as usize).max(1) } else { usize::MAX }
    }

    fn without_scale(&self, lattice: &Lattice) -> Result<CompactLattice, kaldera::fsa::Error> {
        match self.options.acoustic_scale {
            0.0 => Ok(to_kaldi(lattice)),
            scale => Ok(to_kaldi(&lattice.scale(1.0, 1.0 / scale)?)),
        }
    }
}

/// Checks that the parts fit each other.
fn check(network: &LoopedNetwork, features: &FeatureInfo, transitions: &TransitionModel) -> Result<(), Failure> {
    let output = network.output_dim();
    if network.input_dim() != features.dim() {
        return Err(Failure::FeatureDim { found: features.dim(), wanted: network.input_dim() });
    }
    match (network.ivector_dim(), &features.ivector) {
        (Some(wanted), Some(front_end)) if front_end.ivector_dim() != wanted => {
            let key = "--ivector-extraction-config".to_owned();
            return Err(Failure::IvectorDim { key, found: front_end.ivector_dim(), wanted });
        }
        (Some(_), None) => return Err(Failure::NoIvectors),
        _ => {}
    }
    if output < transitions.num_pdfs() {
        return Err(Failure::FewPdfs { found: output, wanted: transitions.num_pdfs() });
    }
    Ok(())
}

/// An utterance that is being decoded.
struct Utterance<'a> {
    model: &'a Model,
    features: Features,
    network: Stream,
    graph: StaticGraph,
    decoder: IncrementalDecoder,
    weighting: SilenceWeighting,
    ivector: Vec<f32>,
}

impl Utterance<'_> {
    /// Takes a chunk of samples, and decodes the rows that are ready then.
    fn accept(&mut self, samples: &[f32], is_last: bool) -> Result<(), Failure> {
        self.features.accept(samples)?;
        if is_last {
            self.features.finish(&mut self.network)?;
        }
        self.weight_silence()?;
        self.advance()
    }

    /// Gives the frames of silence on the best path another weight in the i-vector.
    fn weight_silence(&mut self) -> Result<(), Failure> {
        let ready = self.features.num_frames_ready();
        let Some(ivector) = self.features.ivector.as_mut().filter(|_| ready > 0 && self.weighting.is_active()) else {
            return Ok(());
        };
        let path = self.decoder.trace_back().map(|(token, label)| (Some(token), label));
        self.weighting.trace_back(self.decoder.num_frames(), path)?;
        Ok(ivector.update_weights(&self.weighting.changes(ready, 0)?)?)
    }

    fn advance(&mut self) -> Result<(), Failure> {
        let Model { network, options, labels, .. } = self.model;
        while self.features.fill(&mut self.network)? {
            self.features.newest_ivector(&mut self.ivector)?;
            network.advance(&mut [&mut self.network], &[&self.ivector])?;
            let mut rows = self.network.take_output();
            rows.scale(options.acoustic_scale);
            self.decoder.advance(&mut self.graph, labels, rows.data(), network.output_dim())?;
        }
        Ok(())
    }

    /// Returns `true` if a rule says that the utterance has ended.
    fn has_ended(&mut self) -> Result<bool, Failure> {
        let Model { features, is_silence, options, .. } = self.model;
        let frames = self.decoder.num_frames();
        if frames == 0 {
            return Ok(false);
        }
        let is_silent = |label: i32| usize::try_from(label).ok().and_then(|label| is_silence.get(label)) == Some(&true);
        let silence = self.decoder.trace_back().take_while(|&(_, label)| is_silent(label)).count();
        let shift = features.frame_shift * options.frame_subsampling_factor as f32;
        let relative = self.decoder.final_relative_cost(&mut self.graph);
        let rules = &options.endpoints;
        let found = rules.detect(&EndpointState::new(frames, silence, shift, relative));
        Ok(found.map_err(kaldera::Error::from)?.is_some())
    }

    /// Returns the lattice, and the speaker for the next utterance.
    fn finish(mut self, key: &str) -> Result<(Option<Lattice>, Speaker), Failure> {
        let frames = self.decoder.num_frames();
        if frames == 0 {
            // Kaldi's program ends with an error.
            warn!("leaving out {key}: it is too short, there are no frames to decode");
            return Ok((None, self.features.speaker()?));
        }
        self.decoder.finish(&mut self.graph)?;
        let lattice = self.decoder.lattice(&mut self.graph, &self.model.labels, frames, true);
        Ok((told(key, lattice), self.features.speaker()?))
    }
}

/// Totals of a run, logged at its end.
struct Totals {
    begin: Instant,
    done: u64,
    failed: u64,
    /// Seconds of audio.
    seconds: f64,
    frames: usize,
    log_likelihood: f64,
}

impl Totals {
    fn new() -> Self {
        Self { begin: Instant::now(), done: 0, failed: 0, seconds: 0.0, frames: 0, log_likelihood: 0.0 }
    }

    /// Adds the best path of a lattice, and prints its words if there is a table.
    fn add(&mut self, key: &str, lattice: &Lattice, words: Option<&SymbolTable>) -> Result<(), Failure> {
        let best = if lattice.fsas().num_states() == 0 { None } else { lattice.best_path(0)? };
        let Some(best) = best else {
            warn!("Empty lattice.");
            return Ok(());
        };
        self.frames += best.alignment.len();
        self.log_likelihood += best.score();
        say_words(key, &best.words, words)
    }

    fn log(&self) -> bool {
        let taken = self.begin.elapsed().as_secs_f64();
        let audio = self.seconds;
        info!("Timing stats: real-time factor was {} = {taken} seconds / {audio} seconds.", taken / audio);
        info!("Decoded {} utterances, {} with errors.", self.done, self.failed);
        let per_frame = self.log_likelihood / self.frames as f64;
        info!("Overall likelihood per frame was {per_frame} per frame over {} frames.", self.frames);
        self.done > 0
    }
}
