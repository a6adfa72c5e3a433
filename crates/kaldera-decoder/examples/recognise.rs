//! A small recogniser: a lexicon, a bigram model and hot words over made-up network output, as a
//! whole and as a stream; then where the words are, as subtitles.

use fsa::graphs::{ArpaOptions, NgramModel};
use fsa::io::SymbolTable;
use kaldera_decoder::align::{AlignOptions, CaptionOptions, forced_align, write_srt};
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, SpellingTree};
use kaldera_decoder::{FrameTimes, LogProbs, Vocabulary};

/// A bigram model of three words.
const ARPA: &str = "\\data\\\nngram 1=5\nngram 2=3\n\\1-grams:\n-99 <s> -0.3\n-0.7 </s>\n-0.9 go -0.2\n-0.9 got -0.2\n-0.9 to\n\
                    \\2-grams:\n-0.2 <s> go\n-0.3 go to\n-0.4 to </s>\n\\end\\\n";

/// Log-probabilities of frames that each favour one token.
fn network(tokens: &[usize], num_tokens: usize) -> Vec<f32> {
    let row =
        |&best: &usize| (0..num_tokens).map(move |token| if token == best { 0.7_f32.ln() } else { 0.06_f32.ln() });
    tokens.iter().flat_map(row).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let vocabulary = Vocabulary::new(["<blk>", "|", "g", "o", "t", "h"], 0)?.with_separator("|")?;
    let times = FrameTimes::new(0.01).with_subsampling(4);

    let mut words = SymbolTable::default();
    let spellings = ["go", "got", "to"].map(|word| (word, vocabulary.tokenize(word)));
    let spellings = spellings.into_iter().map(|(word, tokens)| Ok((word, tokens?)));
    let tree = SpellingTree::new(spellings.collect::<Result<Vec<_>, kaldera_decoder::Error>>()?, &mut words)?;
    let model = NgramModel::read(ARPA.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})?;
    let tree = tree.smeared(&model);

    // Is it "go to" or "got o"? The lexicon and the model know.
    let values = network(&[2, 2, 3, 0, 4, 3, 3, 0], vocabulary.len());
    let log_probs = LogProbs::new("utt-1", &values, vocabulary.len())?;
    let options = CtcDecoderOptions::default().with_lm_weight(1.0).with_n_best(3);
    let decoder = CtcDecoder::with_lexicon(vocabulary.clone(), options, tree, Some(model))?.with_times(times)?;
    let result = decoder.decode(&log_probs)?;
    for hypothesis in &result.hypotheses {
        let scores = &hypothesis.scores;
        let (total, acoustic, model) = (scores.total(), scores.acoustic, scores.language_model);
        println!("{total:8.3}  acoustic {acoustic:7.3}  model {model:7.3}  {}", hypothesis.text());
    }

    let mut stream = decoder.stream("utt-1");
    for start in 0..log_probs.num_frames() {
        stream.accept(&log_probs.slice(start..start + 1)?)?;
        println!("after {} frames: '{}'", stream.num_frames(), stream.partial().text());
    }
    assert_eq!(stream.finish(), result);

    let alignment = forced_align(&log_probs, &[2, 3, 4, 3], &AlignOptions::default(), &times)?;
    let words = alignment.words([("go", 2), ("to", 2)])?;
    write_srt(&mut std::io::stdout(), &words, &CaptionOptions::default())?;
    Ok(())
}
