//! Kaldi's option syntax, for Kaldi's programs and the native command.
//!
//! `--name=value` sets an option and a bare `--name` a bool. `_` and `-` are the same in names, and
//! so are upper and lower case. `--config=FILE` names a file of such options, one per line with `#`
//! comments; the command line overrides it, wherever it names the file. A lone `--` ends the
//! options.
//!
//! | | Kaldi's programs | native command |
//! |---|---|---|
//! | `--name value` | no | yes |
//! | options after the first plain argument | no, they are plain arguments | yes |
//! | `-o FILE`, `-oFILE`, `-j2` | no | yes, if a tool has the letter |
//! | `--no-name` for a bool | no | yes |
//! | `-h`, `-V`, `--version` | as the only argument | anywhere |

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::{io, mem};

use kaldera::feat::options::{OptionError, OptionSet, OptionValue, Registry};
use thiserror::Error;

use crate::VERSION;
use crate::layout::{row, wrap};
use crate::subjects::SUBJECTS;
use kaldera::similar::{did_you_mean, most_similar};

/// A candidate for a word of a command line, and its description.
pub(crate) type Candidate = (String, &'static str);

/// Number of options above which help groups them by subject.
const MOST_IN_ONE_LIST: usize = 10;

/// The syntax of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// Kaldi's syntax.
    Kaldi,
    /// Kaldi's syntax, `--name value`, one-letter options, and options at any position.
    Native,
}

/// An error in a command line or a configuration file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum OptionsError {
    #[error("unknown option '{typed}'{hint}")]
    Unknown { typed: String, hint: String },
    #[error("option --{name}: '{value}' is not one of {choices}{hint}")]
    Choice { name: String, value: String, choices: String, hint: String },
    #[error("option --{name}: {source}")]
    Value { name: String, source: OptionError },
    #[error("option '{typed}' needs a value, as in --{name}=VALUE")]
    NoValue { typed: String, name: String },
    #[error("'{typed}' has no name before its '='")]
    NoName { typed: String },
    #[error("argument '{}' is not UTF-8", .argument.display())]
    NotUtf8 { argument: OsString },
    #[error("cannot read the configuration file '{file}': {source}")]
    Config { file: String, source: io::Error },
    #[error("{file}, line {line}: '{text}' is not of the form --name=value")]
    ConfigLine { file: String, line: usize, text: String },
    #[error("{file}, line {line}: {source}")]
    InConfig { file: String, line: usize, source: Box<OptionsError> },
}

/// The request of a valid command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Print this text, the help or the version; no option has been set.
    Tell(String),
    /// Run with these plain arguments; the options have been set.
    Run(Vec<OsString>),
}

/// The options of one tool: references to their values, and their help.
pub(crate) struct ParseOptions<'a> {
    syntax: Syntax,
    usage: String,
    options: Vec<Entry<'a>>,
    config: String,
    print_args: bool,
    no_pipes: bool,
    verbose: i32,
    quiet: bool,
}

struct Entry<'a> {
    name: &'static str,
    letter: Option<char>,
    value: &'a mut dyn OptionValue,
    /// The accepted values, if the option takes one of several words.
    choices: &'static [&'static str],
    doc: &'static str,
    default: String,
}

/// A command line, split into options and plain arguments.
pub(crate) struct CommandLine {
    asked: Option<Asked>,
    given: Vec<Given>,
    plain: Vec<OsString>,
}

/// A text that a command line requests.
enum Asked {
    Help,
    Version,
}

impl CommandLine {
    /// Returns `true` if the command line requests the help or the version.
    pub(crate) fn asks(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns `true` if the option is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|option| option.name == name)
    }

    /// Returns the last value of the option on the command line.
    pub(crate) fn last(&self, name: &str) -> Option<&str> {
        self.given.iter().rfind(|option| option.name == name)?.value.as_deref()
    }
}

/// An option as given on the command line.
struct Given {
    typed: String,
    name: String,
    value: Option<String>,
}

impl<'a> Registry<'a> for ParseOptions<'a> {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, doc: &'static str) {
        let default = value.show();
        self.options.push(Entry { name, letter: None, value, choices: &[], doc, default });
    }
}

/// Registry that skips options whose names are taken.
struct Untaken<'p, 'a>(&'p mut ParseOptions<'a>);

impl<'a> Registry<'a> for Untaken<'_, 'a> {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, doc: &'static str) {
        if self.0.options.iter().all(|entry| entry.name != name) {
            self.0.add(name, value, doc);
        }
    }
}

impl<'a> ParseOptions<'a> {
    /// Creates a parser with only the standard options; `usage` stands above their list.
    pub(crate) fn new(syntax: Syntax, usage: impl Into<String>) -> Self {
        let print_args = syntax == Syntax::Kaldi;
        let (options, config) = (Vec::new(), String::new());
        Self { syntax, usage: usage.into(), options, config, print_args, no_pipes: false, verbose: 0, quiet: false }
    }

    /// Makes `-letter` an abbreviation of the option `name`, which must have been added, on the
    /// native command.
    pub(crate) fn letter(&mut self, letter: char, name: &'static str) {
        for entry in self.options.iter_mut().filter(|entry| entry.name == name) {
            entry.letter = Some(letter);
        }
    }

    /// Restricts the option `name`, which must have been added, to these words or an empty value.
    pub(crate) fn choices(&mut self, name: &'static str, choices: &'static [&'static str]) {
        for entry in self.options.iter_mut().filter(|entry| entry.name == name) {
            entry.choices = choices;
        }
    }

    /// Adds the options of `set`, except those with names that are taken.
    pub(crate) fn add_others(&mut self, set: &'a mut impl OptionSet) {
        set.register(&mut Untaken(self));
    }

    /// Returns all options with their values, except the names in `without`. These are the settings
    /// that decide the result of a run.
    pub(crate) fn settings(&self, without: &[&str]) -> String {
        let mut lines: Vec<_> = self.options.iter().filter(|entry| !without.contains(&entry.name)).collect();
        lines.sort_by_key(|entry| entry.name);
        lines.iter().map(|entry| format!("--{}={}\n", entry.name, entry.value.show())).collect()
    }

    /// Sets the options in `args` (without the program's name) and in their configuration files.
    ///
    /// # Errors
    /// Returns an error for the first option that is unknown or has an unsuitable value; earlier
    /// options have been set by then.
    pub(crate) fn read(&mut self, args: &[OsString]) -> Result<Request, OptionsError> {
        let line = self.split(args)?;
        self.apply(line)
    }

    /// Splits a command line; the options may be set in another parser, with these options or some
    /// of them. Unknown options are no errors yet, and no errors are reported with a request for
    /// the help or the version.
    ///
    /// # Errors
    /// Returns an error for an option that has no name or is not UTF-8.
    pub(crate) fn split(&self, args: &[OsString]) -> Result<CommandLine, OptionsError> {
        let asked = self.asked(args);
        let (given, plain) = match self.words(args) {
            Err(_) if asked.is_some() => Default::default(),
            words => words?,
        };
        Ok(CommandLine { asked, given, plain })
    }

    /// Sets the options of a command line and of its configuration files.
    ///
    /// # Errors
    /// As for [`ParseOptions::read`].
    pub(crate) fn apply(&mut self, line: CommandLine) -> Result<Request, OptionsError> {
        let CommandLine { asked, given, plain } = line;
        match asked {
            Some(Asked::Help) => return Ok(Request::Tell(self.help())),
            Some(Asked::Version) => return Ok(Request::Tell(VERSION.to_owned())),
            None => {}
        }
        if self.syntax == Syntax::Native {
            // Unknown names come first, as they have decided which arguments are values.
            for option in given.iter().filter(|option| option.value.is_none()) {
                self.value(option)?;
            }
        }
        for option in given.iter().filter(|option| option.name == "config") {
            self.set(option)?;
            let file = mem::take(&mut self.config);
            self.read_config(&file)?;
        }
        for option in given.iter().filter(|option| option.name != "config") {
            self.set(option)?;
        }
        Ok(Request::Run(plain))
    }

    /// Returns the text that the command line requests.
    fn asked(&self, args: &[OsString]) -> Option<Asked> {
        let anywhere = self.syntax == Syntax::Native || args.len() == 1;
        args.iter().take_while(|&arg| arg != "--").find_map(|arg| match arg.to_str()? {
            "--help" => Some(Asked::Help),
            "-h" if anywhere => Some(Asked::Help),
            "--version" | "-V" if anywhere => Some(Asked::Version),
            _ => None,
        })
    }

    /// Returns `true` if no command of a script file may run.
    pub(crate) fn no_pipes(&self) -> bool {
        self.no_pipes
    }

    /// Returns `true` if the tool should echo its command line.
    pub(crate) fn print_args(&self) -> bool {
        self.print_args
    }

    /// Returns the level of `--verbose`; `None` with `--quiet`.
    pub(crate) fn verbosity(&self) -> Option<i32> {
        (!self.quiet).then_some(self.verbose)
    }

    /// Returns `true` if `--quiet` was given.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// Returns the usage and every option with its type and default, grouped by subject if there
    /// are many.
    pub(crate) fn help(&self) -> String {
        let mut text = match self.syntax {
            Syntax::Kaldi => format!("\n{}\n\n", wrap(&self.usage).trim_end()),
            Syntax::Native => format!("{}\n\n", wrap(&self.usage).trim_end()),
        };
        let mut left: Vec<&Entry<'_>> = self.options.iter().collect();
        left.sort_by_key(|entry| entry.name);
        if left.len() > MOST_IN_ONE_LIST {
            for (subject, names) in SUBJECTS {
                let of_subject: Vec<_> =
                    names.iter().filter_map(|name| left.iter().find(|entry| entry.name == *name).copied()).collect();
                left.retain(|entry| !names.contains(&entry.name));
                self.list(&mut text, subject, &of_subject);
            }
        }
        self.list(&mut text, "Options", &left);
        text.push_str("Standard options:\n");
        for (letter, name, kind, default, doc) in self.standard() {
            self.option(&mut text, letter, name, kind, default, doc);
        }
        text
    }

    fn list(&self, text: &mut String, subject: &str, entries: &[&Entry<'_>]) {
        if entries.is_empty() {
            return;
        }
        let _ = writeln!(text, "{subject}:");
        for Entry { name, letter, value, default, doc, .. } in entries {
            self.option(text, *letter, name, value.type_name(), default, doc);
        }
        text.push('\n');
    }

    /// Returns the options of all tools: letter, name, type, default and meaning.
    fn standard(&self) -> Vec<(Option<char>, &'static str, &'static str, &'static str, &'static str)> {
        let native = self.syntax == Syntax::Native;
        let letter = |letter| Some(letter).filter(|_| native);
        let config = "File of further options, one per line; may be repeated";
        let mut standard = vec![(None, "config", "string", "\"\"", config)];
        standard.push((letter('h'), "help", "bool", "false", "Show this help"));
        if native {
            standard.push((letter('q'), "quiet", "bool", "false", "Print only errors"));
        } else {
            standard.push((None, "print-args", "bool", "true", "Print the command line to stderr"));
            standard.push((None, "no-pipes", "bool", "false", "Do not run commands in script files"));
        }
        standard.push((None, "verbose", "int", "0", "Verbosity of the log, from 0"));
        if native {
            standard.push((letter('V'), "version", "bool", "false", "Show the version"));
        }
        standard
    }

    /// Writes the help of an option in the form of this syntax.
    fn option(&self, text: &mut String, letter: Option<char>, name: &str, kind: &str, default: &str, doc: &str) {
        if self.syntax == Syntax::Kaldi {
            return row(text, &format!("  --{name:<25} :"), 32, &format!("{doc} ({kind}, default = {default})"));
        }
        let letter = letter.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let value = match kind {
            "bool" => "",
            "int" => " N",
            "float" | "double" => " X",
            _ => " TEXT",
        };
        let default = match (kind, default) {
            ("bool", "false") | (_, "\"\"") => String::new(),
            ("bool", _) => format!(" [on; or --no-{name}]"),
            (_, default) => format!(" [{}]", default.trim_matches('"')),
        };
        row(text, &format!("  {letter}--{name}{value}"), 36, &format!("{doc}{default}"));
    }

    /// Adds the candidates for the last one of `words`, the words after the name of the tool.
    pub(crate) fn complete(&self, words: &[String], found: &mut Vec<Candidate>) {
        let choices = |option: &str| {
            let named = |entry: &&Entry<'_>| option.strip_prefix("--") == Some(entry.name);
            self.options.iter().find(named).map_or(&[][..], |entry| entry.choices)
        };
        let Some((current, before)) = words.split_last() else { return };
        if let Some((option, _)) = current.split_once('=') {
            found.extend(choices(option).iter().map(|choice| (format!("{option}={choice}"), "")));
        } else if current.starts_with('-') {
            let own = self.options.iter().map(|entry| (entry.name, entry.doc));
            let standard = self.standard().into_iter().map(|(_, name, _, _, doc)| (name, doc));
            found.extend(own.chain(standard).map(|(name, doc)| (format!("--{name}"), doc)));
        } else if let Some(option) = before.last() {
            found.extend(choices(option).iter().map(|choice| ((*choice).to_owned(), "")));
        }
    }

    /// Separates options from plain arguments.
    fn words(&self, args: &[OsString]) -> Result<(Vec<Given>, Vec<OsString>), OptionsError> {
        let native = self.syntax == Syntax::Native;
        let (mut given, mut plain) = (Vec::new(), Vec::new());
        let (mut options_ended, mut dashes_seen) = (false, false);
        let mut args = args.iter().peekable();
        while let Some(arg) = args.next() {
            if arg == "--" && !dashes_seen {
                (options_ended, dashes_seen) = (true, true);
            } else if options_ended || !self.is_option(arg) {
                plain.push(arg.clone());
                options_ended |= !native;
            } else {
                let mut option = self.given(utf8(arg)?)?;
                if native
                    && option.value.is_none()
                    && let Some(kind) = self.kind(&option.name)
                    && let Some(value) = args.next_if(|next| kind != "bool" || *next == "true" || *next == "false")
                {
                    option.value = Some(utf8(value)?.trim().to_owned());
                }
                given.push(option);
            }
        }
        Ok((given, plain))
    }

    fn is_option(&self, arg: &OsStr) -> bool {
        let bytes = arg.as_encoded_bytes();
        bytes.starts_with(b"--") || (self.syntax == Syntax::Native && bytes.len() > 1 && bytes[0] == b'-')
    }

    /// Splits `--name` or `--name=value`. A letter is replaced by its name, and `--no-name` by the
    /// name with the value `false`.
    fn given(&self, typed: &str) -> Result<Given, OptionsError> {
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value.trim().to_owned())),
            None => (typed, None),
        };
        let Some(name) = name.strip_prefix("--") else { return Ok(self.of_letter(typed)) };
        if name.is_empty() {
            return Err(OptionsError::NoName { typed: typed.to_owned() });
        }
        let name = lenient(name);
        let typed = typed.to_owned();
        match self.negated(&name).filter(|_| value.is_none() && self.kind(&name).is_none()) {
            Some(positive) => Ok(Given { typed, name: positive.to_owned(), value: Some("false".to_owned()) }),
            None => Ok(Given { typed, name, value }),
        }
    }

    /// Returns the bool that `no-name` negates on the native command.
    fn negated<'n>(&self, name: &'n str) -> Option<&'n str> {
        let positive = name.strip_prefix("no-").filter(|_| self.syntax == Syntax::Native)?;
        (self.kind(positive) == Some("bool")).then_some(positive)
    }

    /// Parses `-o`, `-oVALUE` and `-o=VALUE`. The name of an unknown letter is empty.
    fn of_letter(&self, typed: &str) -> Given {
        let mut letters = typed.chars();
        let letter = letters.nth(1);
        let entry = self.options.iter().find(|entry| entry.letter.is_some() && entry.letter == letter);
        let name = match entry {
            Some(entry) => entry.name,
            None if letter == Some('q') => "quiet",
            None => return Given { typed: typed.to_owned(), name: String::new(), value: None },
        };
        let rest = letters.as_str();
        let value = rest.strip_prefix('=').unwrap_or(rest).trim();
        let value = Some(value.to_owned()).filter(|_| !rest.is_empty());
        Given { typed: typed.to_owned(), name: name.to_owned(), value }
    }

    /// Returns the type of the option, if there is one of this name.
    fn kind(&self, name: &str) -> Option<&'static str> {
        match name {
            "config" => Some(self.config.type_name()),
            "print-args" => Some(self.print_args.type_name()),
            "no-pipes" if self.syntax == Syntax::Kaldi => Some(self.no_pipes.type_name()),
            "verbose" => Some(self.verbose.type_name()),
            "quiet" if self.syntax == Syntax::Native => Some(self.quiet.type_name()),
            name => self.options.iter().find(|entry| entry.name == name).map(|entry| entry.value.type_name()),
        }
    }

    fn unknown(&self, typed: &str) -> OptionsError {
        let name = typed.strip_prefix("--").unwrap_or_default().split('=').next().unwrap_or_default();
        let name = &*lenient(name);
        let standard = self.standard().into_iter().map(|(_, name, ..)| name);
        let names: Vec<&str> = self.options.iter().map(|entry| entry.name).chain(standard).collect();
        // A negated name is compared without its `no-`, as it would otherwise resemble every other
        // negated name.
        let positive = name.strip_prefix("no-").filter(|_| self.syntax == Syntax::Native);
        let meant = match positive.and_then(|name| most_similar(name, names.iter().copied())) {
            Some(name) => Some(format!("no-{name}")),
            None => most_similar(name, names).map(str::to_owned),
        };
        let hint = match meant {
            Some(name) => format!("; did you mean '--{name}'?"),
            None => ": --help lists the options".to_owned(),
        };
        OptionsError::Unknown { typed: typed.to_owned(), hint }
    }

    /// Returns a reference to the value of `option`.
    fn value(&mut self, option: &Given) -> Result<&mut dyn OptionValue, OptionsError> {
        match option.name.as_str() {
            "config" => Ok(&mut self.config),
            "print-args" => Ok(&mut self.print_args),
            "no-pipes" if self.syntax == Syntax::Kaldi => Ok(&mut self.no_pipes),
            "verbose" => Ok(&mut self.verbose),
            "quiet" if self.syntax == Syntax::Native => Ok(&mut self.quiet),
            name => match self.options.iter().position(|entry| entry.name == name) {
                Some(at) => Ok(&mut *self.options[at].value),
                None => Err(self.unknown(&option.typed)),
            },
        }
    }

    fn set(&mut self, option: &Given) -> Result<(), OptionsError> {
        let choices =
            self.options.iter().find(|entry| entry.name == option.name).map_or(&[][..], |entry| entry.choices);
        let value = self.value(option)?;
        let text = match &option.value {
            Some(text) if text.is_empty() && value.is_bool() => None,
            Some(text) => Some(text.as_str()),
            None => value.is_bool().then_some("true"),
        };
        let Some(text) = text else {
            return Err(OptionsError::NoValue { typed: option.typed.clone(), name: option.name.clone() });
        };
        if !choices.is_empty() && !text.is_empty() && !choices.contains(&text) {
            let (name, value) = (option.name.clone(), text.to_owned());
            let hint = did_you_mean(text, choices.iter().copied());
            return Err(OptionsError::Choice { name, value, choices: choices.join(", "), hint });
        }
        value.set(text).map_err(|source| OptionsError::Value { name: option.name.clone(), source })
    }

    fn read_config(&mut self, file: &str) -> Result<(), OptionsError> {
        let text =
            kaldera::text::read_file(file).map_err(|source| OptionsError::Config { file: file.to_owned(), source })?;
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let file = || file.to_owned();
            if !text.starts_with("--") {
                return Err(OptionsError::ConfigLine { file: file(), line, text: text.to_owned() });
            }
            let set = self.given(text).and_then(|option| self.set(&option));
            set.map_err(|source| OptionsError::InConfig { file: file(), line, source: Box::new(source) })?;
        }
        Ok(())
    }
}

/// Returns the name of an option in lower case and with `-` for `_`.
fn lenient(name: &str) -> String {
    name.trim_end().replace('_', "-").to_ascii_lowercase()
}

fn utf8(argument: &OsStr) -> Result<&str, OptionsError> {
    argument.to_str().ok_or_else(|| OptionsError::NotUtf8 { argument: argument.to_owned() })
}

/// Returns `args` as one line that a shell parses back into them.
pub(crate) fn shell_line<'s>(args: impl IntoIterator<Item = &'s OsStr>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "[]~#^_-+=:.,/".contains(c);
    let quote = |arg: &OsStr| {
        let arg = arg.to_string_lossy();
        if !arg.is_empty() && arg.chars().all(is_plain) {
            arg.into_owned()
        } else {
            format!("'{}'", arg.replace('\'', r"'\''"))
        }
    };
    args.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Options {
        num_ceps: i32,
        dither: f32,
        use_energy: bool,
        window_type: String,
    }

    fn parse(syntax: Syntax, args: &[&str]) -> Result<(Request, Options), OptionsError> {
        let mut options = Options { num_ceps: 13, dither: 1.0, use_energy: true, window_type: "povey".to_owned() };
        let mut parser = ParseOptions::new(syntax, "Usage: tool [options] in out");
        parser.add("num-ceps", &mut options.num_ceps, "Number of cepstra");
        parser.add("dither", &mut options.dither, "Dithering constant");
        parser.add("use-energy", &mut options.use_energy, "Use energy");
        parser.add("window-type", &mut options.window_type, "Type of window");
        parser.letter('w', "window-type");
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let request = parser.read(&args)?;
        Ok((request, options))
    }

    /// Configuration files and command lines may hold any bytes; `kaldera-fuzz` describes how to
    /// search longer.
    #[test]
    fn configs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = format!("--config={}", file.path().display());
        kaldera_fuzz::fuzz!("configs", |bytes| {
            fs::write(file.path(), bytes).unwrap();
            let text = String::from_utf8_lossy(bytes);
            // Other files are outside the scope of this test.
            let lines: Vec<&str> = text.lines().filter(|line| !line.contains("config")).collect();
            for syntax in [Syntax::Kaldi, Syntax::Native] {
                let of_file = parse(syntax, &[&config]);
                let of_line = parse(syntax, &lines);
                for error in [of_file.err(), of_line.err()].into_iter().flatten() {
                    assert!(!error.to_string().is_empty());
                }
            }
        });
    }

    fn plain(request: &Request) -> Vec<&str> {
        match request {
            Request::Run(args) => args.iter().map(|arg| arg.to_str().unwrap()).collect(),
            Request::Tell(text) => panic!("{text}"),
        }
    }

    fn error(syntax: Syntax, args: &[&str]) -> String {
        parse(syntax, args).unwrap_err().to_string()
    }

    #[test]
    fn kaldi_options_come_first_and_names_are_lenient() {
        let args = ["--Num_Ceps=20", "--use-energy=f", "--dither= 0 ", "scp:a", "--dither=2", "-"];
        let (request, options) = parse(Syntax::Kaldi, &args).unwrap();
        assert_eq!(plain(&request), ["scp:a", "--dither=2", "-"]);
        assert_eq!((options.num_ceps, options.use_energy, options.dither), (20, false, 0.0));
    }

    #[test]
    fn a_bare_bool_is_true_and_nothing_else_may_be_bare() {
        assert!(parse(Syntax::Kaldi, &["--use-energy=false", "--use-energy"]).unwrap().1.use_energy);
        for arg in ["--use-energy=", "--num-ceps", "--window-type", "--config"] {
            assert!(error(Syntax::Kaldi, &[arg]).contains("needs a value"), "{arg}");
        }
        assert_eq!(parse(Syntax::Kaldi, &["--window-type="]).unwrap().1.window_type, "");
    }

    #[test]
    fn two_dashes_end_the_options_once() {
        for syntax in [Syntax::Kaldi, Syntax::Native] {
            let (request, options) = parse(syntax, &["--num-ceps=5", "--", "--num-ceps=6", "--", "x"]).unwrap();
            assert_eq!(plain(&request), ["--num-ceps=6", "--", "x"]);
            assert_eq!(options.num_ceps, 5);
        }
        assert_eq!(plain(&parse(Syntax::Kaldi, &["a", "--", "b"]).unwrap().0), ["a", "b"]);
    }

    #[test]
    fn people_may_use_spaces_letters_and_any_order() {
        let args =
            ["a.wav", "--dither", "-0.5", "--use-energy", "false", "b.wav", "-w", "hamming", "--num-ceps=3", "-"];
        let (request, options) = parse(Syntax::Native, &args).unwrap();
        assert_eq!(plain(&request), ["a.wav", "b.wav", "-"]);
        let expected = Options { num_ceps: 3, dither: -0.5, use_energy: false, window_type: "hamming".to_owned() };
        assert_eq!(options, expected);
        assert_eq!(plain(&parse(Syntax::Native, &["--use-energy", "a.wav"]).unwrap().0), ["a.wav"]);
    }

    #[test]
    fn errors_say_what_was_typed() {
        let unknown = |typed: &str| format!("unknown option '{typed}': --help lists the options");
        assert_eq!(error(Syntax::Kaldi, &["--cqt=3"]), unknown("--cqt=3"));
        assert_eq!(error(Syntax::Kaldi, &["--num-ceps=many"]), "option --num-ceps: 'many' is not an integer");
        assert_eq!(error(Syntax::Kaldi, &["--=3"]), "'--=3' has no name before its '='");
        assert_eq!(error(Syntax::Native, &["-x"]), unknown("-x"));
        assert_eq!(error(Syntax::Native, &["-é=3"]), unknown("-é=3"));
    }

    #[test]
    fn the_command_line_wins_over_a_configuration_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "# a comment\n\n--num-ceps=40   # more\n--use_energy=false\t\n--dither = 2").unwrap();
        let config = format!("--config={}", file.path().display());
        let (_, options) = parse(Syntax::Kaldi, &["--num-ceps=7", &config]).unwrap();
        assert_eq!((options.num_ceps, options.use_energy, options.dither), (7, false, 2.0));
    }

    #[test]
    fn letters_have_their_values_behind_them_and_bools_are_negated() {
        for args in [&["-w", "hamming"][..], &["-whamming"], &["-w=hamming"]] {
            assert_eq!(parse(Syntax::Native, args).unwrap().1.window_type, "hamming");
        }
        assert!(!parse(Syntax::Native, &["--no-use-energy"]).unwrap().1.use_energy);
        assert!(!parse(Syntax::Native, &["-q", "--No_Use_Energy"]).unwrap().1.use_energy);
        assert!(error(Syntax::Native, &["--no-num-ceps"]).contains("'--no-num-ceps'"));
        assert!(error(Syntax::Kaldi, &["--no-use-energy"]).contains("'--no-use-energy'"));
        assert!(error(Syntax::Native, &["-qx"]).contains("'x' is not true or false"));
    }

    #[test]
    fn slips_are_told_with_what_was_meant() {
        for (typed, meant) in
            [("--numceps=3", "'--num-ceps'"), ("--no-use-enrgy", "'--no-use-energy'"), ("--qiet", "'--quiet'")]
        {
            assert!(error(Syntax::Native, &[typed]).ends_with(&format!("; did you mean {meant}?")), "{typed}");
        }
        let mut window = String::new();
        let mut parser = ParseOptions::new(Syntax::Native, "");
        parser.add("window", &mut window, "Window");
        parser.choices("window", &["povey", "hanning"]);
        let error = parser.read(&["--window=povy".into()]).unwrap_err().to_string();
        assert_eq!(error, "option --window: 'povy' is not one of povey, hanning; did you mean 'povey'?");
    }

    #[test]
    fn a_byte_order_mark_and_carriage_returns_are_no_part_of_a_configuration_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all("\u{feff}--num-ceps=7\r\n--window-type=hamming\r\n".as_bytes()).unwrap();
        let config = format!("--config={}", file.path().display());
        let (_, options) = parse(Syntax::Kaldi, &[&config]).unwrap();
        assert_eq!((options.num_ceps, options.window_type.as_str()), (7, "hamming"));
    }

    #[test]
    fn an_error_in_a_configuration_file_names_file_and_line() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let config = format!("--config={path}");
        write!(file, "--num-ceps=40\n--num-ceps=x").unwrap();
        let expected = format!("{path}, line 2: option --num-ceps: 'x' is not an integer");
        assert_eq!(error(Syntax::Kaldi, &[&config]), expected);
        fs::write(&path, "num-ceps=3").unwrap();
        let expected = format!("{path}, line 1: 'num-ceps=3' is not of the form --name=value");
        assert_eq!(error(Syntax::Kaldi, &[&config]), expected);
        assert!(error(Syntax::Kaldi, &["--config=/no/such"]).contains("'/no/such'"));
    }

    #[test]
    fn help_is_asked_for_anywhere_and_shows_defaults() {
        let tells = |syntax, args: &[&str], beginning: &str| {
            let Request::Tell(text) = parse(syntax, args).unwrap().0 else { panic!("{args:?}") };
            assert!(text.starts_with(beginning), "{text}");
        };
        tells(Syntax::Kaldi, &["a", "b", "--help"], "\nUsage: tool");
        tells(Syntax::Kaldi, &["-h"], "\nUsage: tool");
        tells(Syntax::Kaldi, &["-V"], "kaldera ");
        tells(Syntax::Native, &["a", "-h"], "Usage: tool");
        tells(Syntax::Native, &["--version", "a"], "kaldera ");
        assert_eq!(plain(&parse(Syntax::Kaldi, &["-h", "-V"]).unwrap().0), ["-h", "-V"]);
        assert_eq!(plain(&parse(Syntax::Kaldi, &["--", "--help"]).unwrap().0), ["--help"]);
        let mut dither = 1.0_f32;
        let mut parser = ParseOptions::new(Syntax::Kaldi, "Usage: tool");
        parser.add("dither", &mut dither, "Dithering constant");
        assert!(parser.help().contains("  --dither                    : Dithering constant (float, default = 1)\n"));
    }

    #[test]
    fn a_command_line_is_echoed_so_that_a_shell_can_read_it() {
        let args = ["tool", "--dither=0", "ark,t:|cat > 'x'", ""].map(OsStr::new);
        assert_eq!(shell_line(args), r"tool --dither=0 'ark,t:|cat > '\''x'\''' ''");
    }
}
