//! What the workspace's papers say of its crates is what `cargo metadata` says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A crate that is published.
struct Published {
    name: String,
    /// Where it is, from the workspace's folder.
    folder: String,
    /// Published crates of ours that it cannot be without, or optionally uses.
    uses: Vec<String>,
    metadata: Value,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn published() -> Vec<Published> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let of_package = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap()).canonicalize().unwrap();
        let folder = manifest.parent().unwrap().strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let uses = dependencies.filter(|of| of["path"].is_string() && of["kind"] != "dev");
        Published {
            name: package["name"].as_str().unwrap().to_owned(),
            folder,
            uses: uses.map(|of| of["name"].as_str().unwrap().to_owned()).collect(),
            metadata: package.clone(),
        }
    };
    // `publish = false` is an empty list of registries.
    let packages = metadata["packages"].as_array().unwrap().iter();
    let published: Vec<_> = packages.filter(|package| package["publish"].is_null()).map(of_package).collect();
    assert!(published.len() > 10, "the workspace's libraries and its command");
    published
}

/// Where `name` stands in `text` as a word of its own.
fn find_word(text: &str, name: &str) -> Option<usize> {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name)
        .map(|(at, _)| at)
        .find(|&at| !text[..at].ends_with(part_of_word) && !text[at + name.len()..].starts_with(part_of_word))
}

/// The blocks between fences, without their first line, which names a language.
fn code_blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").skip(1).step_by(2).filter_map(|block| Some(block.split_once('\n')?.1))
}

/// The crates of a paper's picture, each with the line that it stands in.
fn picture(paper: &str, crates: &[Published]) -> Vec<(String, usize)> {
    let text = read(paper);
    let in_block = |block: &str| -> Vec<_> {
        let line = |name: &str| block.lines().position(|line| find_word(line, name).is_some());
        crates.iter().filter_map(|of| Some((of.name.clone(), line(&of.name)?))).collect()
    };
    code_blocks(&text).map(in_block).max_by_key(Vec::len).unwrap_or_default()
}

#[track_caller]
fn check_picture(paper: &str) {
    let crates = published();
    let drawn = picture(paper, &crates);
    let line = |name: &str| drawn.iter().find(|(drawn, _)| drawn == name).map(|&(_, line)| line);
    let missing: Vec<_> = crates.iter().map(|of| &of.name).filter(|name| line(name).is_none()).collect();
    assert!(missing.is_empty(), "{paper}: its picture has no {missing:?}");
    for Published { name, uses, .. } in &crates {
        for used in uses {
            assert!(line(name) < line(used), "{paper}: {name} uses {used}, and stands no higher in the picture");
        }
    }
}

#[test]
fn every_published_crate_stands_in_the_picture_of_the_readme_above_those_that_it_uses() {
    check_picture("README.md");
}

#[test]
fn every_published_crate_stands_in_the_picture_of_the_architecture_above_those_that_it_uses() {
    check_picture("ARCHITECTURE.md");
}

#[test]
fn every_published_crate_has_a_row_in_the_readme_that_links_to_its_own() {
    let readme = read("README.md");
    for Published { name, folder, .. } in published() {
        let link = format!("[`{name}`]({folder}/README.md)");
        assert!(readme.lines().any(|line| line.starts_with('|') && line.contains(&link)), "no row with {link}");
        assert!(root().join(&folder).join("README.md").is_file(), "{folder} has no README.md");
    }
}

#[test]
fn the_publishing_order_has_every_crate_after_those_that_it_uses() {
    let contributing = read("CONTRIBUTING.md");
    let line = contributing.lines().find(|line| line.contains("`cargo publish`")).expect("a line with `cargo publish`");
    let is_name = |code: &&str| code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let order: Vec<_> = line.split('`').skip(1).step_by(2).filter(is_name).collect();
    let crates = published();
    for Published { name, uses, .. } in &crates {
        let place = |name: &str| order.iter().position(|of| *of == name);
        let own = place(name).unwrap_or_else(|| panic!("{name} is not listed behind `cargo publish`"));
        for used in uses {
            let before = place(used).is_some_and(|used| used < own);
            assert!(before, "{name} uses {used}, which is published after it, or not at all");
        }
    }
    assert_eq!(order.len(), crates.len(), "{order:?}");
}

#[test]
fn every_published_crate_says_what_it_is_and_under_which_licences() {
    for Published { name, folder, metadata, .. } in published() {
        let is_given = |field: &str| match &metadata[field] {
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => (1..=5).contains(&list.len()), // no more are allowed
            _ => false,
        };
        for field in ["description", "keywords", "categories", "readme", "license"] {
            assert!(is_given(field), "{name} has no {field}");
        }
        assert!(metadata["metadata"]["docs"]["rs"].is_object(), "{name} has no [package.metadata.docs.rs]");
        let folder = root().join(folder);
        if metadata["license"] == "MIT OR Apache-2.0" {
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                assert_eq!(fs::read_to_string(folder.join(licence)).ok(), Some(read(licence)), "{name}: {licence}");
            }
        } else {
            assert!(folder.join("NOTICE.md").is_file(), "{name} says nowhere whose work is under another licence");
        }
        let programs = fs::read_dir(folder.join("examples")).into_iter().flatten().count();
        assert!(programs > 0 || name == "kaldera-cli", "{name} has no program in examples/");
    }
}

#[test]
fn keywords_are_a_crates_own() {
    let crates = published();
    let alike =
        |field: &str, of: &Published| crates.iter().filter(|other| other.metadata[field] == of.metadata[field]).count();
    for of in &crates {
        assert_eq!(alike("keywords", of), 1, "another crate has all keywords of {}", of.name);
    }
}
