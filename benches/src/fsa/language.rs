//! A lexicon and an n-gram model of a language that nobody speaks.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use crate::random::Random;

const ONSETS: [&str; 24] = [
    "t", "s", "d", "n", "k", "m", "r", "l", "p", "b", "f", "h", "v", "g", "s t", "p r", "t r", "k l", "w", "jh", "ch",
    "sh", "th", "z",
];
const VOWELS: [&str; 12] = ["ah", "ih", "iy", "eh", "ae", "er", "aa", "ey", "ow", "ay", "uw", "ao"];
const CODAS: [&str; 15] = ["", "", "", "", "n", "", "s", "t", "", "l", "r", "k", "m", "z", "d"];

/// Words with their phones, and a bigram model with back-off over them.
///
/// Words have two or three syllables, of which some are much more frequent than others, as have
/// words and what follows them; one word in a hundred sounds like another one. Probabilities are
/// those of a real model: after every history they add up to 1.
pub struct Language {
    words: Vec<(String, String)>,
    /// For each word, then for `</s>`, its probability.
    unigrams: Vec<f64>,
    /// For each word, then for `<s>`, what may follow and with which probability; the last word is
    /// `</s>`.
    bigrams: Vec<Vec<(usize, f64)>>,
}

/// Where [`Language::write`] has put its files.
pub struct LanguageFiles {
    /// `word phone phone ...`
    pub lexicon: PathBuf,
    /// `phone number`, `<eps>` first.
    pub tokens: PathBuf,
    /// `word number`, `<eps>` first, then `<s>`, `</s>` and `#0` last.
    pub words: PathBuf,
    /// The model.
    pub arpa: PathBuf,
}

impl Language {
    /// 20,000 words and 180,000 n-grams: 20,002 of one word, 159,998 of two, of which 140,007 end
    /// in a word.
    pub fn large() -> Self {
        Self::new(20_000, 140_007, 19_991)
    }

    /// `num_words` words, `inner` bigrams that end in a word, and `ends` that end the sentence.
    ///
    /// # Panics
    /// If `ends` is more than `num_words`.
    pub fn new(num_words: usize, inner: usize, ends: usize) -> Self {
        let mut random = Random(20_261_106);
        let words = words(&mut random, num_words);
        let mut unigrams: Vec<f64> = (0..=num_words).map(|rank| 1.0 / (rank as f64 + 10.0)).collect();
        random.shuffle(&mut unigrams[..num_words]);
        let total: f64 = unigrams.iter().sum();
        unigrams.iter_mut().for_each(|p| *p /= total);
        let mut bigrams: Vec<Vec<(usize, f64)>> = Vec::with_capacity(num_words + 1);
        for history in 0..=num_words {
            let (first, end) = (history * inner / (num_words + 1), (history + 1) * inner / (num_words + 1));
            let mut next = HashSet::new();
            while next.len() < (end - first).min(num_words) {
                // Some words follow much more often than others, after any word.
                next.insert((random.uniform().powi(3) * num_words as f64) as usize);
            }
            let mut next: Vec<_> = next.into_iter().collect();
            next.sort_unstable();
            next.extend((history < ends).then_some(num_words));
            let shares: Vec<_> = next.iter().map(|_| random.uniform() + 0.05).collect();
            let seen = 0.8 / shares.iter().sum::<f64>();
            bigrams.push(next.into_iter().zip(shares.into_iter().map(|share| share * seen)).collect());
        }
        Self { words, unigrams, bigrams }
    }

    /// Writes `lexicon.txt`, `tokens.txt`, `words.txt` and `lm.arpa` into a folder.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, folder: &Path) -> io::Result<LanguageFiles> {
        std::fs::create_dir_all(folder)?;
        let file = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).map(|()| path)
        };
        let mut lexicon = String::new();
        let mut words = String::from("<eps> 0\n");
        for (i, (word, phones)) in self.words.iter().enumerate() {
            let _ = writeln!(lexicon, "{word} {phones}");
            let _ = writeln!(words, "{word} {}", i + 1);
        }
        for (i, word) in ["<s>", "</s>", "#0"].iter().enumerate() {
            let _ = writeln!(words, "{word} {}", self.words.len() + 1 + i);
        }
        let mut phones: Vec<_> = ONSETS.iter().chain(&VOWELS).flat_map(|sounds| sounds.split(' ')).collect();
        phones.sort_unstable();
        phones.dedup();
        let mut tokens = String::from("<eps> 0\n");
        for (i, phone) in phones.iter().enumerate() {
            let _ = writeln!(tokens, "{phone} {}", i + 1);
        }
        Ok(LanguageFiles {
            lexicon: file("lexicon.txt", lexicon)?,
            tokens: file("tokens.txt", tokens)?,
            words: file("words.txt", words)?,
            arpa: file("lm.arpa", self.arpa())?,
        })
    }

    fn arpa(&self) -> String {
        let word = |i: usize| self.words.get(i).map_or("</s>", |(word, _)| word);
        let mut text = String::from("\\data\\\n");
        let _ = writeln!(text, "ngram 1={}", self.unigrams.len() + 1);
        let _ = writeln!(text, "ngram 2={}\n\n\\1-grams:", self.bigrams.iter().map(Vec::len).sum::<usize>());
        for (i, next) in self.bigrams.iter().enumerate() {
            // What the bigrams leave over is given to the words that they do not name.
            let (seen, known) =
                next.iter().fold((0.0, 0.0), |(seen, known), &(w, p)| (seen + p, known + self.unigrams[w]));
            let backoff = ((1.0 - seen) / (1.0 - known)).log10();
            let (name, log) = match self.words.get(i) {
                Some((word, _)) => (word.as_str(), self.unigrams[i].log10()),
                None => ("<s>", -99.0),
            };
            let _ = writeln!(text, "{log:.6}\t{name}\t{backoff:.6}");
        }
        let _ = writeln!(text, "{:.6}\t</s>\n\n\\2-grams:", self.unigrams[self.words.len()].log10());
        for (i, next) in self.bigrams.iter().enumerate() {
            let history = self.words.get(i).map_or("<s>", |(word, _)| word);
            for &(w, p) in next {
                let _ = writeln!(text, "{:.6}\t{history} {}", p.log10(), word(w));
            }
        }
        text.push_str("\n\\end\\\n");
        text
    }
}

/// Words that all differ in how they are written, and most in how they are spoken.
fn words(random: &mut Random, num_words: usize) -> Vec<(String, String)> {
    let mut spellings = HashSet::new();
    let mut words: Vec<(String, String)> = Vec::with_capacity(num_words);
    while words.len() < num_words {
        let homophone = !words.is_empty() && random.uniform() < 0.01;
        let phones = if homophone {
            // Mostly one of the first, so that some sounds are those of ten words.
            words[(random.uniform().powf(2.5) * words.len() as f64) as usize].1.clone()
        } else {
            let mut sounds = Vec::new();
            for _ in 0..2 + random.between(0, 5) / 4 {
                let mut pick = |from: &[&'static str]| from[(random.uniform() * from.len() as f64) as usize];
                sounds.extend([pick(&ONSETS), pick(&VOWELS), pick(&CODAS)]);
            }
            sounds.retain(|sound| !sound.is_empty());
            sounds.join(" ")
        };
        let mut word = phones.replace(' ', "");
        if spellings.contains(&word) {
            if !homophone {
                continue;
            }
            word = (2..).map(|i| format!("{word}{i}")).find(|word| !spellings.contains(word)).expect("a number");
        }
        spellings.insert(word.clone());
        words.push((word, phones));
    }
    words
}
