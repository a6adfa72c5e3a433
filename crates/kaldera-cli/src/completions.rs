//! `kaldera completions`: shell completions of `kaldera` command lines.
//!
//! The script of a shell asks the command itself for the candidates of a word.

use std::ffi::OsString;
use std::process::ExitCode;

use kaldera::feat::options::Registry as _;
use kaldera::similar::did_you_mean;

use crate::native::{CliError, arguments, end, print};
use crate::parse_options::{Candidate, ParseOptions, Syntax};
use crate::{Call, tool_named, tools};

const TOOL: &str = "completions";
const USAGE: &str = "\
Print completions of commands, options, kinds and operations for a shell.

Usage: kaldera completions SHELL

SHELL is bash, zsh or fish.

Examples:
  kaldera completions bash > ~/.local/share/bash-completion/completions/kaldera
  kaldera completions zsh > ~/.zfunc/_kaldera
  kaldera completions fish > ~/.config/fish/completions/kaldera.fish";

/// The names of shells and their scripts. Without candidates they complete names of files.
const SHELLS: [(&str, &str); 3] = [
    (
        "bash",
        r#"_kaldera() {
    COMPREPLY=($("$1" completions --words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _kaldera kaldera
"#,
    ),
    (
        "zsh",
        r#"#compdef kaldera
_kaldera() {
    local -a found=(${(f)"$($words[1] completions --words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    found=(${found/$'\t'/:})
    _describe kaldera found || _files
}
if [[ $funcstack[1] == _kaldera ]]; then _kaldera; else compdef _kaldera kaldera; fi
"#,
    ),
    (
        "fish",
        "complete -c kaldera -a '(kaldera completions --words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'\n",
    ),
];

/// Answers a call of `kaldera completions`.
pub(crate) fn run(mut call: Call<'_>) -> ExitCode {
    if let Call::Complete(_, found) = &mut call {
        found.extend(SHELLS.map(|(name, _)| (name.to_owned(), "")));
    }
    end(TOOL, complete(call))
}

fn complete(call: Call<'_>) -> Result<ExitCode, CliError> {
    let mut words = false;
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    parser.add("words", &mut words, "Print the candidates for the last word after --, for the scripts");
    let Some(arguments) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    drop(parser);
    if words {
        let lines = candidates_of_line(&arguments).into_iter().map(|(word, about)| format!("{word}\t{about}\n"));
        print(&lines.collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let names = SHELLS.map(|(name, _)| name);
    let [name] = &arguments[..] else {
        let found = arguments.len();
        return Err(CliError::Usage(format!("expected one of {}, found {found} arguments", names.join(", "))));
    };
    let name = name.to_string_lossy();
    let Some((_, script)) = SHELLS.iter().find(|(known, _)| *known == name) else {
        let hint = did_you_mean(&name, names);
        return Err(CliError::Usage(format!("'{name}' is not one of {}{hint}", names.join(", "))));
    };
    print(script)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the candidates that begin with the last argument. Bash makes a word of each `=`.
fn candidates_of_line(arguments: &[OsString]) -> Vec<Candidate> {
    let mut words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if words.last().is_some_and(|last| last == "=") {
        words.push(String::new());
    }
    words.retain(|word| word != "=");
    let mut found = candidates(&words);
    found.retain(|(word, _)| words.last().is_some_and(|last| word.starts_with(&**last)));
    found
}

/// Returns the candidates for the last one of `words`, which follow `kaldera`.
pub(crate) fn candidates(words: &[String]) -> Vec<Candidate> {
    let mut found = vec![];
    match words {
        [name, words @ ..] if !words.is_empty() => {
            if let Some(tool) = tool_named(name.as_ref()) {
                (tool.run)(Call::Complete(words, &mut found));
            }
        }
        _ => {
            found.extend(tools().map(|tool| (tool.name.to_owned(), tool.about)));
            found.extend([("--help".to_owned(), "Show this help"), ("--version".to_owned(), "Show the version")]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_by_their_place() {
        for (line, first, last) in [
            ("", "transcribe", "--version"),
            ("feat", "features", "feat-to-len"),
            ("help fst comp", "compile", "compose"),
            ("fst determinize --de", "--delta", "--det-type"),
            ("features --kind f", "fbank", "fbank"),
            ("features --kind=m", "--kind=mfcc", "--kind=mfcc"),
            ("features --kind = m", "mfcc", "mfcc"),
            ("features --kind =", "fbank", "samples"),
            ("compute-mfcc-feats --num-c", "--num-ceps", "--num-ceps"),
            ("completions ", "bash", "fish"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let found = candidates_of_line(&words);
            let ends = found.first().zip(found.last()).map(|(first, last)| (&*first.0, &*last.0));
            assert_eq!(ends, Some((first, last)), "{line}");
        }
        for line in ["none ", "features ", "features --num-mel-bins ", "fst none --", "info x"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(candidates_of_line(&words).is_empty(), "{line}");
        }
    }
}
