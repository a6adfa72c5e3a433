//! Tokenizers: against naive definitions, damaged files, and the libraries that made the files.

use std::path::Path;

use kaldera_decoder::Error;
use kaldera_decoder::tokenizer::{ModelType, SentencePiece, Tokenizer};
use proptest::prelude::*;

fn vocab(pieces: &[(String, i32)]) -> String {
    let lines = pieces.iter().map(|(piece, score)| format!("{piece}\t{score}\n"));
    std::iter::once("<unk>\t0\n".to_owned()).chain(lines).collect()
}

/// Pieces of the letters a to c with small scores, in which ties are frequent.
fn pieces() -> impl Strategy<Value = Vec<(String, i32)>> {
    let piece = prop_oneof!["[abc]{1,3}", "▁[abc]{0,2}"];
    prop::collection::btree_map(piece, -6..0_i32, 1..20).prop_map(|map| map.into_iter().collect())
}

/// The largest sum of scores over all ways to divide a text.
fn best_sum(pieces: &[(String, i32)], text: &str) -> i32 {
    if text.is_empty() {
        return 0;
    }
    let least = pieces.iter().map(|(_, score)| *score).min().unwrap_or(0);
    let first = text.chars().next().unwrap().len_utf8();
    let mut sums: Vec<i32> = pieces
        .iter()
        .filter_map(|(piece, score)| Some(score + best_sum(pieces, text.strip_prefix(&**piece)?)))
        .collect();
    if !pieces.iter().any(|(piece, _)| *piece == text[..first]) {
        sums.push(least - 10 + best_sum(pieces, &text[first..]));
    }
    sums.into_iter().max().unwrap()
}

/// Merges the neighbours whose piece has the best score, the leftmost of them, until none is left.
fn merged(pieces: &[(String, i32)], text: &str) -> Vec<String> {
    let mut parts: Vec<String> = text.chars().map(String::from).collect();
    loop {
        let score = |at: usize| {
            let made = format!("{}{}", parts[at], parts[at + 1]);
            pieces.iter().find(|(piece, _)| *piece == made).map(|(_, score)| (*score, std::cmp::Reverse(at)))
        };
        let Some((_, std::cmp::Reverse(at))) = (0..parts.len().saturating_sub(1)).filter_map(score).max() else {
            break;
        };
        let right = parts.remove(at + 1);
        parts[at].push_str(&right);
    }
    parts
}

proptest! {
    #[test]
    fn the_pieces_of_a_unigram_model_have_the_largest_sum(pieces in pieces(), text in "[abcd ]{0,8}") {
        let model = SentencePiece::from_vocab(&vocab(&pieces), ModelType::Unigram).unwrap();
        let normalized = model.normalize(&text);
        let came = model.encode_as_pieces(&text);
        prop_assert_eq!(came.concat(), normalized.clone());
        let least = pieces.iter().map(|(_, score)| *score).min().unwrap_or(0);
        let score = |part: &String| match pieces.iter().find(|(piece, _)| piece == part) {
            Some((_, score)) => *score,
            // What is unknown is one part, whatever its length.
            None => (least - 10) * i32::try_from(part.chars().count()).unwrap(),
        };
        prop_assert_eq!(came.iter().map(score).sum::<i32>(), best_sum(&pieces, &normalized));
    }

    #[test]
    fn byte_pairs_are_merged_from_the_best_score_on(pieces in pieces(), text in "[abcd ]{0,12}") {
        let model = SentencePiece::from_vocab(&vocab(&pieces), ModelType::Bpe).unwrap();
        let known = |part: &String| pieces.iter().any(|(piece, _)| piece == part);
        let mut expected: Vec<(String, bool)> = vec![];
        for part in merged(&pieces, &model.normalize(&text)) {
            match expected.last_mut() {
                Some((last, false)) if !known(&part) => last.push_str(&part),
                _ => expected.push((part.clone(), known(&part))),
            }
        }
        let expected: Vec<String> = expected.into_iter().map(|(part, _)| part).collect();
        prop_assert_eq!(model.encode_as_pieces(&text), expected);
    }

    #[test]
    fn bytes_that_are_no_model_are_errors_or_models(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in ".{0,20}",
    ) {
        if let Ok(tokenizer) = Tokenizer::from_bytes(&bytes) {
            let _ = tokenizer.encode(&text);
        }
    }

    #[test]
    fn damaged_models_are_errors_or_models(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
        text in "[abc <>▁]{0,20}",
    ) {
        let mut bytes = small_model();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        for bytes in [&bytes[..], &small_model()[..cut.index(small_model().len())]] {
            if let Ok(tokenizer) = Tokenizer::from_bytes(bytes) {
                let _ = tokenizer.encode(&text);
            }
        }
    }
}

fn varint(number: usize) -> Vec<u8> {
    let low = u8::try_from(number & 0x7F).unwrap();
    if number < 0x80 { vec![low] } else { [vec![low | 0x80], varint(number >> 7)].concat() }
}

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

fn piece(text: &str, score: f32, kind: u8) -> Vec<u8> {
    let score = [&[2 << 3 | 5], &score.to_le_bytes()[..]].concat();
    field(1, &[field(1, text.as_bytes()), score, vec![3 << 3, kind]].concat())
}

/// A trie that maps `ß` to `ss`, as a double array.
fn map() -> Vec<u8> {
    let mut units = vec![0_u32; 512];
    let [first, second] = [0xC3_u32, 0x9F];
    // The root's children are at 1 ^ byte; a unit has its label, and its children's place above bit 10.
    units[0] = 1 << 10;
    let one = 1 ^ first;
    let base = 256;
    units[usize::try_from(one).unwrap()] = first | (one ^ base) << 10;
    let two = base ^ second;
    let leaf = 511;
    units[usize::try_from(two).unwrap()] = second | 1 << 8 | (two ^ leaf) << 10;
    units[usize::try_from(leaf).unwrap()] = 1 << 31;
    let trie: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    [&u32::try_from(trie.len()).unwrap().to_le_bytes()[..], &trie, b"ss\0"].concat()
}

/// A model of byte pairs with a symbol of its user's, a piece that may not be used, and a map.
fn small_model() -> Vec<u8> {
    let map = map();
    let length = [u8::try_from(map.len() & 0x7F).unwrap() | 0x80, u8::try_from(map.len() >> 7).unwrap()];
    let map = [&[2 << 3 | 2], &length[..], &map].concat();
    let length = [u8::try_from(map.len() & 0x7F).unwrap() | 0x80, u8::try_from(map.len() >> 7).unwrap()];
    [
        piece("<unk>", 0.0, 2),
        piece("<x>", 0.0, 4),
        piece("ab", -1.0, 5),
        piece("abc", -2.0, 1),
        piece("a", -3.0, 1),
        piece("b", -3.5, 1),
        piece("▁", -4.0, 1),
        piece("ss", -0.5, 1),
        field(2, &[3 << 3, 2]),
        [&[3 << 3 | 2], &length[..], &map].concat(),
    ]
    .concat()
}

#[test]
fn pieces_are_found_among_all_that_begin_alike() {
    let pieces: Vec<String> = (1..500).map(|length| "a".repeat(length)).collect();
    let lines: String = pieces.iter().map(|piece| format!("{piece}\t-1\n")).collect();
    let model = SentencePiece::from_vocab(&format!("<unk>\t0\n▁\t-1\n{lines}"), ModelType::Unigram).unwrap();
    assert_eq!(model.encode_as_pieces(&"a".repeat(499)), ["▁", &pieces[498]]);
    assert_eq!(model.encode_as_pieces("aab"), ["▁", "aa", "b"]);
}

#[test]
fn symbols_stay_whole_and_unused_pieces_are_divided_again() {
    let Ok(model) = SentencePiece::from_model(&small_model()) else { panic!("the model should be read") };
    assert_eq!(model.encode_as_pieces(" abcab <x>a"), ["▁", "abc", "a", "b", "▁", "<x>", "a"]);
    assert_eq!(model.encode_as_pieces("ßa"), ["▁", "ss", "a"]);
    assert_eq!((model.model_type(), model.len()), (ModelType::Bpe, 8));
    let unknown = Error::Untokenizable { phrase: "aqz b".into(), part: "qz".into() };
    assert_eq!(Tokenizer::from(model).encode("aqz b"), Err(unknown));
}

#[test]
fn replacements_of_characters_are_short() {
    let model = |length: usize| {
        let texts = map();
        let texts = [&texts[..texts.len() - 3], &b"s".repeat(length), b"\0"].concat();
        let map = [varint(2 << 3 | 2), varint(texts.len()), texts].concat();
        [piece("<unk>", 0.0, 2), varint(3 << 3 | 2), varint(map.len()), map].concat()
    };
    let model_of_1024 = SentencePiece::from_model(&model(1024)).unwrap();
    assert_eq!(model_of_1024.normalize("ß"), format!("▁{}", "s".repeat(1024)));
    assert!(SentencePiece::from_model(&model(1025)).unwrap_err().to_string().contains("1025 bytes"));
}

#[test]
fn models_that_contradict_themselves_are_refused() {
    let refused = |text: &str| SentencePiece::from_vocab(text, ModelType::Unigram).unwrap_err().to_string();
    assert!(refused("a\t-1\n").contains("unknown"));
    assert!(refused("<unk>\t0\na\t-1\na\t-2\n").contains("twice"));
    assert!(refused("<unk>\t0\na -1\n").contains("line 2"));
    assert!(refused("<unk>\t0\na\tNaN\n").contains("piece 1"));
    assert!(refused("<unk>\t0\n<0x41>\t0\n").contains("bytes"));
    assert!(SentencePiece::from_model(&[0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]).is_err());
}

/// The numbers of a text's tokens.
type Encode = Box<dyn Fn(&str) -> Result<Vec<i32>, Error>>;

/// Models and texts by `scripts/new-tokenizer-answers.py FOLDER`, which lets the libraries divide
/// them; `KALDERA_TOKENIZERS` names the folder.
#[test]
fn texts_are_divided_as_the_libraries_do() {
    let Some(folder) = std::env::var_os("KALDERA_TOKENIZERS") else {
        println!("left out: KALDERA_TOKENIZERS is not set");
        return;
    };
    let read = |path: &Path| std::fs::read(path).unwrap();
    let texts = String::from_utf8(read(&Path::new(&folder).join("texts.txt"))).unwrap();
    let (mut wrong, mut all) = (0, 0);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let ids = String::from_utf8(match path.extension().and_then(|end| end.to_str()) {
            Some("model") => read(&path.with_extension("ids")),
            Some("json") if cfg!(feature = "tokenizers") => read(&path.with_extension("json.ids")),
            _ => continue,
        })
        .unwrap();
        let bytes = read(&path);
        let encode: Encode = if bytes.starts_with(b"{") {
            let tokenizer = Tokenizer::from_bytes(&bytes).unwrap();
            Box::new(move |text| tokenizer.encode(text))
        } else {
            let model = SentencePiece::from_model(&bytes).unwrap();
            Box::new(move |text| Ok(model.encode(text)))
        };
        let mut different = 0;
        for (text, expected) in texts.split('\n').zip(ids.lines()) {
            let came = encode(text);
            let shown = came.map(|ids| ids.iter().map(i32::to_string).collect::<Vec<_>>().join(" "));
            if shown.as_deref().unwrap_or("unknown") != expected {
                different += 1;
                if different < 4 {
                    println!("{text:?}: expected {expected}, came {shown:?}");
                }
            }
            all += 1;
        }
        println!("{}: {different} differ", path.display());
        wrong += different;
    }
    assert_eq!(wrong, 0, "of {all}");
}
