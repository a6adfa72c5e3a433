//! Tables against a map in memory: every kind of object there and back, every way of asking for
//! keys, and what of a corpus arrives when some of it is damaged.

use std::collections::HashMap;
use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use kaldi_io::rxfilename::Input;
use kaldi_io::specifier::{Rspecifier, TableKind, WriteTo, Wspecifier};
use kaldi_io::table::{IndexedArchive, MappedReader, RandomAccessReader, SequentialReader, TableWriter};
use kaldi_io::wave::WaveData;
use kaldi_io::wxfilename::Output;
use kaldi_io::{Error, Holder, HtkMatrix};
use kaldi_matrix::codec::MatrixHeader;
use kaldi_matrix::{
    CompressedMatrix, CompressionMethod, GeneralMatrix, Matrix, SpMatrix, SparseMatrix, SparseVector, TpMatrix, Vector,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

fn entries<T>(objects: Vec<T>) -> Vec<(String, T)> {
    objects.into_iter().enumerate().map(|(i, object)| (format!("key-{i:03}"), object)).collect()
}

/// Writes `objects` in both forms and reads them in every way; text need not have a form.
#[track_caller]
fn there_and_back<T: Holder + PartialEq + Debug>(objects: Vec<T>) {
    let folder = Folder::new();
    let entries = entries(objects);
    let pairs = || entries.iter().map(|(key, object)| (key, object));
    for text in [false, true] {
        let (archive, script) = (folder.path("ark"), folder.path("scp"));
        let writer = TableWriter::<T>::to_archive_and_script(&archive, &script).unwrap();
        let mut writer = if text { writer.text() } else { writer };
        if writer.write_all(pairs()).is_err() {
            assert!(text, "everything has a binary form");
            continue;
        }
        writer.close().unwrap();
        let read = |reader: SequentialReader<T>| reader.collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(read(SequentialReader::from_archive(&archive).unwrap()), entries);
        assert_eq!(read(SequentialReader::from_archive(&archive).unwrap().in_background()), entries);
        assert_eq!(read(SequentialReader::from_script(&script).unwrap()), entries);
        let command = format!("ark:cat {} |", archive.display());
        assert_eq!(read(SequentialReader::open(&command).unwrap()), entries);
        let indexed = IndexedArchive::<T, _>::new("memory", fs::read(&archive).unwrap()).unwrap();
        let iterated: Vec<_> =
            indexed.iter().map(|entry| entry.map(|(key, object)| (key.to_owned(), object)).unwrap()).collect();
        assert_eq!(iterated, entries);
        let mut by_archive = RandomAccessReader::<T>::from_archive(&archive).unwrap();
        let mut by_script = RandomAccessReader::<T>::from_script(&script).unwrap();
        for (key, object) in entries.iter().rev() {
            assert_eq!(by_archive.value(key).unwrap(), object);
            assert_eq!(by_script.value(key).unwrap(), object);
            assert_eq!(indexed.get(key).unwrap().as_ref(), Some(object));
        }
    }
}

/// Numbers that seven digits of text give back.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => (-9999i32..9999).prop_map(|n| f64::from(n) / 8.0), 1 => Just(0.0), 1 => Just(1e20), 1 => Just(1e-7)]
}

fn single() -> impl Strategy<Value = f32> {
    number().prop_map(|number| number as f32)
}

fn matrix() -> impl Strategy<Value = Matrix<f32>> {
    (0..5usize, 1..4usize)
        .prop_flat_map(|(rows, cols)| (Just((rows, cols)), vec(single(), rows * cols)))
        .prop_map(|((rows, cols), data)| Matrix::from_vec(rows, if rows == 0 { 0 } else { cols }, data).unwrap())
}

fn sparse_row(dim: usize) -> impl Strategy<Value = Vec<(usize, f32)>> {
    vec((0..dim, 1..50i32), 0..4).prop_map(|row| {
        row.into_iter().collect::<HashMap<_, _>>().into_iter().map(|(i, n)| (i, n as f32 / 4.0)).collect()
    })
}

fn token() -> impl Strategy<Value = String> {
    "[!-~é]{1,8}"
}

/// Each case writes files; `PROPTEST_CASES` still says how many there are to be.
fn fewer_cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases / 8, ..default }
}

proptest! {
    #![proptest_config(fewer_cases())]

    #[test]
    fn basic_types(a: Vec<i32>, b: Vec<bool>, c: Vec<u8>, d: Vec<i64>, e in vec(single(), 0..9), f in vec(number(), 0..9)) {
        there_and_back(a);
        there_and_back(b);
        there_and_back(c);
        there_and_back(d);
        there_and_back(e);
        there_and_back(f);
    }

    #[test]
    fn lists(a in vec(vec(any::<i32>(), 0..5), 0..9), b in vec(vec(vec(any::<i32>(), 0..4), 0..4), 0..5), c in vec(vec(any::<(i32, i32)>(), 0..4), 0..5), d in vec(vec(single(), 0..4), 0..5)) {
        there_and_back(a);
        there_and_back(b);
        there_and_back(c);
        there_and_back(d);
    }

    #[test]
    fn posteriors(a in vec(vec(vec((any::<i32>(), single()), 0..4), 0..4), 0..5)) {
        there_and_back(a);
    }

    #[test]
    fn words(a in vec(token(), 0..9), b in vec(vec(token(), 0..4), 0..9)) {
        there_and_back(a);
        there_and_back(b);
    }

    #[test]
    fn matrices(a in vec(matrix(), 0..5), b in vec(vec(number(), 0..5), 0..5)) {
        let row = |v: &Vec<f64>| Matrix::from_vec(usize::from(!v.is_empty()), v.len(), v.clone()).unwrap();
        there_and_back(b.iter().map(row).collect::<Vec<Matrix<f64>>>());
        there_and_back(a.iter().cloned().map(GeneralMatrix::from).collect());
        there_and_back(a.iter().map(|m| HtkMatrix { values: m.clone(), sample_period: 5, sample_kind: 9 }).collect());
        there_and_back(a);
        there_and_back(b.iter().map(|v| Vector::from(v.clone())).collect::<Vec<_>>());
        there_and_back(b.into_iter().map(|v| v.into_iter().map(|x| x as f32).collect::<Vector<f32>>()).collect());
    }

    #[test]
    fn packed_matrices(dims in vec(0..5usize, 0..4), numbers in vec(number(), 15)) {
        let numbers = |dim: usize| numbers[..dim * (dim + 1) / 2].to_vec();
        there_and_back(dims.iter().map(|&dim| SpMatrix::<f64>::from_vec(dim, numbers(dim)).unwrap()).collect());
        there_and_back(dims.iter().map(|&dim| TpMatrix::<f64>::from_vec(dim, numbers(dim)).unwrap()).collect());
    }

    #[test]
    fn sparse(rows in vec(vec(sparse_row(6), 1..4), 0..4)) {
        there_and_back(rows.iter().map(|rows| SparseMatrix::new(6, rows.clone()).unwrap()).collect());
        there_and_back(rows.into_iter().map(|rows| SparseVector::new(6, rows[0].clone()).unwrap()).collect());
    }

    #[test]
    fn compressed(a in vec(matrix(), 0..5), method in 1..=7i32) {
        let method = CompressionMethod::from_number(method).unwrap();
        let compressed: Vec<_> = a.iter().map(|m| CompressedMatrix::new(m, method).unwrap()).collect();
        // Text is what it decompresses to, which is compressed anew by another method.
        let folder = Folder::new();
        let mut writer = TableWriter::<CompressedMatrix>::to_archive(folder.path("ark")).unwrap();
        writer.write_all(entries(compressed.clone())).unwrap();
        writer.close().unwrap();
        let read: Vec<_> = SequentialReader::from_archive(folder.path("ark")).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read, entries(compressed.clone()));
        for (entry, m) in SequentialReader::<Matrix<f32>>::from_archive(folder.path("ark")).unwrap().zip(compressed) {
            prop_assert_eq!(entry.unwrap().1, m.to_matrix());
        }
    }

    #[test]
    fn recordings(samples in vec(vec(any::<i16>(), 1..9), 0..5)) {
        let wave = |samples| WaveData { samp_freq: 8000.0, num_channels: 1, samples };
        there_and_back(samples.into_iter().map(wave).collect());
    }

    /// What `s`, `cs` and `o` promise is kept or broken; a map tells which answers are right.
    #[test]
    fn random_access_in_every_mode(
        keys in vec("[a-e]{1,2}", 0..12),
        asked in vec((any::<Index>(), "[a-f]{1,2}", any::<bool>(), any::<bool>()), 0..20),
        sort_table: bool, sort_asked: bool, script: bool,
    ) {
        let folder = Folder::new();
        let mut keys = keys;
        if sort_table {
            keys.sort();
        }
        let unique = keys.iter().collect::<std::collections::HashSet<_>>().len() == keys.len();
        let mut table = HashMap::new();
        // Of keys that occur twice, the first is found.
        keys.iter().zip(0..).for_each(|(key, value)| { table.entry(key.as_str()).or_insert(value); });
        let (archive, scp) = (folder.path("ark"), folder.path("scp"));
        let mut writer = TableWriter::<i32>::to_archive_and_script(&archive, &scp).unwrap();
        keys.iter().zip(0..).for_each(|(key, value)| writer.write(key, &value).unwrap());
        writer.close().unwrap();
        let mut asked: Vec<(String, bool)> = asked
            .into_iter()
            .map(|(index, other, known, value)| {
                let key = if known && !keys.is_empty() { keys[index.index(keys.len())].clone() } else { other };
                (key, value)
            })
            .collect();
        if sort_asked {
            asked.sort();
        }
        let is_sorted = keys.is_sorted();
        for (sorted, called_sorted) in [(false, false), (true, false), (false, true), (true, true)] {
            let options = [("s", sorted), ("cs", called_sorted)];
            let options: String = options.iter().filter(|(_, on)| *on).map(|(name, _)| format!(",{name}")).collect();
            let kind = if script { "scp" } else { "ark" };
            let file = if script { &scp } else { &archive };
            let mut reader = match RandomAccessReader::<i32>::open(&format!("{kind}{options}:{}", file.display())) {
                Ok(reader) => reader,
                Err(Error::DuplicateKey { .. }) => {
                    prop_assert!(script && !unique);
                    continue;
                }
                Err(Error::NotSorted { .. }) => {
                    prop_assert!(script && sorted && !is_sorted);
                    continue;
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            for (key, value) in &asked {
                let expected = table.get(key.as_str()).copied();
                let found = if *value {
                    reader.value(key).map(|&found| Some(found))
                } else {
                    reader.has_key(key).map(|there| there.then_some(expected.unwrap_or(-1)))
                };
                match found {
                    // Where the keys are said to be sorted and are not, the search may end too
                    // early.
                    Ok(None) | Err(Error::MissingKey { .. }) => {
                        prop_assert!(expected.is_none() || sorted && !is_sorted, "{options} {key}");
                    }
                    Ok(found) => prop_assert_eq!(found, expected, "{}", &options),
                    Err(Error::NotCalledSorted { .. }) => prop_assert!(!script && sorted && called_sorted && !sort_asked),
                    Err(Error::NotSorted { .. }) => prop_assert!(!script && sorted && !is_sorted),
                    Err(Error::DuplicateKey { .. }) => prop_assert!(!script && !unique),
                    Err(error) => return Err(TestCaseError::fail(error.to_string())),
                }
                if !is_sorted || !unique {
                    // The first broken promise may change what follows.
                    break;
                }
            }
        }
    }

    #[test]
    fn specifiers_say_what_was_put_together(
        kind: bool, flags in vec((0..4usize, any::<bool>()), 0..6), background: bool, ignored in vec("[bt]", 0..2),
        position: Index, file in "[a-zA-Z0-9_./:|, -]{0,12}[a-z]",
    ) {
        let names = [["no", "o"], ["ns", "s"], ["ncs", "cs"], ["np", "p"]];
        let mut options: Vec<&str> = flags.iter().map(|&(flag, on)| names[flag][usize::from(on)]).collect();
        options.extend(ignored.iter().map(String::as_str));
        options.extend(background.then_some("bg"));
        options.insert(position.index(options.len() + 1), if kind { "ark" } else { "scp" });
        let on = |flag| flags.iter().rev().find(|&&(name, _)| name == flag).is_some_and(|&(_, on)| on);
        let specifier = Rspecifier::parse(&format!("{}:{file}", options.join(","))).unwrap();
        prop_assert_eq!(specifier.kind, if kind { TableKind::Archive } else { TableKind::Script });
        prop_assert_eq!(specifier.rxfilename, file);
        prop_assert_eq!([specifier.once, specifier.sorted, specifier.called_sorted, specifier.permissive], [on(0), on(1), on(2), on(3)]);
        prop_assert_eq!(specifier.background, background);
    }

    #[test]
    fn wspecifiers_too(kind in 0..3usize, flags in vec("b|t|f|nf|p", 0..5), first in "[a-z/.]{1,8}", second in "[a-z,/.]{0,8}[a-z]") {
        let (archive, script) = [(true, true), (true, false), (false, true)][kind];
        let kinds = [archive.then_some("ark"), script.then_some("scp")];
        let options: Vec<&str> = kinds.into_iter().flatten().chain(flags.iter().map(String::as_str)).collect();
        let specifier = Wspecifier::parse(&format!("{}:{first},{second}", options.join(","))).unwrap();
        let both = format!("{first},{second}");
        let expected = match (archive, script) {
            (true, true) => WriteTo::Both { archive: first, script: second },
            (true, false) => WriteTo::Archive { archive: both },
            _ => WriteTo::Script { script: both },
        };
        prop_assert_eq!(specifier.to, expected);
        let last = |on: &str, off: &str| flags.iter().rev().find(|flag| [on, off].contains(&flag.as_str())).is_none_or(|flag| flag == on);
        prop_assert_eq!((specifier.binary, specifier.flush), (last("b", "t"), last("f", "nf")));
        prop_assert_eq!(specifier.permissive, flags.iter().any(|flag| flag == "p"));
    }
}

/// Thousands of utterances, of which every seventh is trouble of some kind.
#[test]
fn the_good_ones_of_thousands_arrive() {
    const UTTERANCES: usize = 3000;
    let folder = Folder::new();
    let good = |i: usize| Matrix::<f32>::from_fn(1 + i % 5, 2, |row, col| (i + row + col) as f32);
    let archive = folder.name("feats.ark");
    let mut writer = TableWriter::to_archive(&archive).unwrap();
    let mut bytes = 0;
    let mut places = Vec::new();
    for i in 0..UTTERANCES {
        let key = format!("utt-{i:04}");
        writer.write(&key, &good(i)).unwrap();
        bytes += key.len() + 1;
        places.push(bytes);
        bytes += 15 + 4 * 2 * (1 + i % 5);
    }
    writer.close().unwrap();
    assert_eq!(fs::metadata(&archive).unwrap().len(), bytes as u64);
    fs::write(folder.path("empty"), "").unwrap();
    fs::write(folder.path("text"), "no matrix at all\n").unwrap();
    fs::write(folder.path("cut"), &fs::read(&archive).unwrap()[places[5]..places[5] + 20]).unwrap();
    let trouble = |i: usize| match (i / 7) % 8 {
        0 => folder.name("no-such-file"),
        1 => folder.name("empty"),
        2 => folder.name("text"),
        3 => folder.name("cut"),
        4 => format!("{archive}:{}", places[i] + 1),
        5 => format!("{archive}:{}", u64::MAX),
        6 => folder.name(""),
        _ => "| not for reading".to_owned(),
    };
    let mut script = String::new();
    for (i, place) in places.iter().enumerate() {
        let file = if i % 7 == 3 { trouble(i) } else { format!("{archive}:{place}") };
        writeln!(script, "utt-{i:04} {file}").unwrap();
    }
    let scp = folder.path("feats.scp");
    fs::write(&scp, script).unwrap();
    let expected: Vec<_> = (0..UTTERANCES).filter(|i| i % 7 != 3).map(|i| (format!("utt-{i:04}"), good(i))).collect();

    for specifier in ["scp,p", "scp,p,bg"] {
        let reader = SequentialReader::<Matrix<f32>>::open(&format!("{specifier}:{}", scp.display())).unwrap();
        assert_eq!(reader.collect::<Result<Vec<_>, _>>().unwrap(), expected);
    }
    let headers = SequentialReader::<MatrixHeader>::from_script(&scp).unwrap().permissive();
    // A header does not show that elements are missing behind it, in a file of its own.
    assert!(headers.count() >= expected.len());
    let mut by_key = RandomAccessReader::<Matrix<f32>>::from_script(&scp).unwrap().permissive();
    for i in (0..UTTERANCES).rev() {
        assert_eq!(by_key.has_key(&format!("utt-{i:04}")).unwrap(), i % 7 != 3);
    }
    let strict: Vec<_> = SequentialReader::<Matrix<f32>>::from_script(&scp).unwrap().collect();
    assert_eq!(strict.len(), 4, "three that are good and the error");
    assert!(strict[3].as_ref().unwrap_err().to_string().contains("utt-0003"));
}

#[test]
fn tables_without_specifiers() {
    let folder = Folder::new();
    // Names that a specifier could not say.
    let archive = folder.path(" cat |");
    let mut writer = TableWriter::<i32>::to_archive(&archive).unwrap().text().unflushed();
    writer.write_all(HashMap::from([("b", 2)])).unwrap();
    writer.write_all([("a", &1)]).unwrap();
    writer.close().unwrap();
    assert_eq!(fs::read(&archive).unwrap(), b"b 2 \na 1 \n");
    let reader = SequentialReader::<i32>::from_archive(&archive).unwrap();
    assert_eq!(reader.collect::<Result<HashMap<_, _>, _>>().unwrap()["b"], 2);
    let mut reader = RandomAccessReader::<i32>::from_archive(&archive).unwrap().sorted();
    assert!(matches!(reader.has_key("c"), Err(Error::NotSorted { .. })));
    assert!(TableWriter::<i32>::to_archive_and_script(&archive, folder.path("scp")).is_err());
    let input = Input::from_reader("memory", &b"x 1\ny oops\n"[..]);
    let mut reader = SequentialReader::<i32>::from_archive_input(input).unwrap().permissive();
    assert_eq!(reader.next().unwrap().unwrap(), ("x".to_owned(), 1));
    assert!(reader.next().is_none() && reader.next().is_none());
    let input = Input::from_reader("memory", &b"x echo 7 |\n"[..]);
    let reader = SequentialReader::<i32>::from_script_input(input).unwrap();
    assert_eq!(reader.map(Result::unwrap).collect::<Vec<_>>(), [("x".to_owned(), 7)]);
    let mut writer = TableWriter::<i32>::to_output(Output::from_writer("nowhere", std::io::sink()));
    writer.write("a", &1).unwrap();
    writer.close().unwrap();
    let message = SequentialReader::<i32>::from_archive(folder.path("none")).unwrap_err().to_string();
    assert!(message.contains("none") && message.contains("check the path"), "{message}");

    fs::write(folder.path("warps"), "ann 0.5\n").unwrap();
    fs::write(folder.path("utt2spk"), "u1 ann\n").unwrap();
    let table = |name: &str| RandomAccessReader::from_archive(folder.path(name)).unwrap().once();
    let map = RandomAccessReader::from_archive(folder.path("utt2spk")).unwrap();
    let mut mapped = MappedReader::<f32>::new(table("warps"), map);
    assert_eq!(*mapped.value("u1").unwrap(), 0.5);
}

#[test]
fn archives_in_memory() {
    let folder = Folder::new();
    let path = folder.path("ark");
    let matrix = |rows: usize| Matrix::<f32>::from_fn(rows, 3, |row, col| (row * 3 + col) as f32);
    let mut writer = TableWriter::to_archive(&path).unwrap();
    // Keys of all lengths, so that elements lie at all places.
    (1..20).for_each(|len| writer.write(&"k".repeat(len), &matrix(len)).unwrap());
    writer.close().unwrap();
    // SAFETY: nobody else knows the file.
    let archive: IndexedArchive<Matrix<f32>> = unsafe { IndexedArchive::map(&path) }.unwrap();
    assert_eq!(
        (archive.len(), archive.is_empty(), archive.contains_key("k"), archive.contains_key("")),
        (19, false, true, false)
    );
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut borrowed = 0;
                for len in (1..20).rev() {
                    let key = "k".repeat(len);
                    assert_eq!(archive.get(&key).unwrap().unwrap(), matrix(len));
                    let elements = archive.elements(&key).unwrap().unwrap();
                    assert_eq!(&*elements, matrix(len).data());
                    borrowed += usize::from(matches!(elements, std::borrow::Cow::Borrowed(_)));
                    assert_eq!(archive.get_as::<MatrixHeader>(&key).unwrap().unwrap().cols, 3);
                }
                assert!((4..=6).contains(&borrowed), "about a fourth: {borrowed}");
            });
        }
    });
    assert!(archive.elements("x").unwrap().is_none() && archive.object_bytes("x").is_none());
    assert!(archive.get_as::<Vector<f32>>("kk").unwrap_err().to_string().contains("key 'kk'"));
    // SAFETY: as above.
    let error = unsafe { IndexedArchive::<i32>::map(folder.path("none")) }.unwrap_err();
    assert!(matches!(error, Error::Open { .. }));

    let index = |bytes: &'static [u8]| IndexedArchive::<i32, _>::new("memory", bytes).map(|archive| archive.len());
    assert_eq!(index(b"").unwrap(), 0);
    assert_eq!(index(b"a 1\n b\t2\nc").unwrap(), 2);
    assert!(matches!(index(b"a 1\na 2\n"), Err(Error::DuplicateKey { .. })));
    assert!(matches!(index(b"a\xff 1\n"), Err(Error::Archive { .. })));
    assert!(index(b"a 1\nb x\n").unwrap_err().to_string().contains("byte 6"));
    let bytes = fs::read(&path).unwrap();
    let cut = IndexedArchive::<Matrix<f32>, _>::new("cut", &bytes[..bytes.len() - 1]);
    assert!(cut.unwrap_err().to_string().contains("all elements"));
}

#[test]
fn shapes_of_a_damaged_archive() {
    let folder = Folder::new();
    let path: &Path = &folder.path("ark");
    let mut writer = TableWriter::<Matrix<f32>>::to_archive(path).unwrap();
    writer.write_all([("a", Matrix::<f32>::zeros(300, 40)), ("b", Matrix::zeros(300, 40))]).unwrap();
    writer.close().unwrap();
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
    let shapes: Vec<_> = SequentialReader::<MatrixHeader>::from_archive(path).unwrap().collect();
    assert_eq!(shapes[0].as_ref().unwrap().1.rows, 300);
    assert!(shapes[1].as_ref().unwrap_err().to_string().contains("key 'b'"), "{shapes:?}");
}
