//! Kaldi's option syntax, for both faces of the command.
//!
//! `--name=value` sets an option and a bare `--name` a bool; `_` and `-` are the same in names, and so are large and
//! small letters. `--config=FILE` names a file of such options, one per line with `#` comments; the command line has the
//! last word, wherever it names the file. A lone `--` ends the options.
//!
//! | | Kaldi's face | people's face |
//! |---|---|---|
//! | `--name value` | no | yes |
//! | options after the first plain argument | no, they are plain arguments | yes |
//! | one-letter options | no | yes, where a tool names them |

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::{fs, io, mem};

use kaldera::feat::options::{OptionError, OptionSet, OptionValue, Registry};
use thiserror::Error;

/// How forgiving the command line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// As Kaldi reads it.
    Kaldi,
    /// Also `--name value`, one-letter options, and options anywhere.
    People,
}

/// What is wrong with a command line or a configuration file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum OptionsError {
    #[error("there is no option '{typed}': --help lists those there are")]
    Unknown { typed: String },
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

/// What a command line that reads well asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// The usage; no option has been set.
    Help,
    /// A run with these plain arguments; the options have been set.
    Run(Vec<OsString>),
}

/// The options of one tool: where their values live and how they are told to people.
pub(crate) struct ParseOptions<'a> {
    syntax: Syntax,
    usage: &'static str,
    options: Vec<Entry<'a>>,
    config: String,
    print_args: bool,
    verbose: i32,
}

struct Entry<'a> {
    name: &'static str,
    letter: Option<char>,
    value: &'a mut dyn OptionValue,
    help: String,
}

/// An option as it stands on the command line.
struct Given {
    typed: String,
    name: String,
    value: Option<String>,
}

impl<'a> Registry<'a> for ParseOptions<'a> {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, doc: &'static str) {
        let help = format!("{doc} ({}, default = {})", value.type_name(), value.show());
        self.options.push(Entry { name, letter: None, value, help });
    }
}

/// Takes options, but none a second time.
struct Untaken<'p, 'a>(&'p mut ParseOptions<'a>);

impl<'a> Registry<'a> for Untaken<'_, 'a> {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, doc: &'static str) {
        if self.0.options.iter().all(|entry| entry.name != name) {
            self.0.add(name, value, doc);
        }
    }
}

impl<'a> ParseOptions<'a> {
    /// A parser that knows only the standard options; `usage` goes above the list of them.
    pub(crate) fn new(syntax: Syntax, usage: &'static str) -> Self {
        let print_args = syntax == Syntax::Kaldi;
        Self { syntax, usage, options: Vec::new(), config: String::new(), print_args, verbose: 0 }
    }

    /// Lets `-letter` stand for the option `name` that was added before, on the people's face.
    pub(crate) fn letter(&mut self, letter: char, name: &'static str) {
        for entry in &mut self.options {
            if entry.name == name {
                entry.letter = Some(letter);
            }
        }
    }

    /// Adds the options of `set` but for those whose names are taken.
    pub(crate) fn add_others(&mut self, set: &'a mut impl OptionSet) {
        set.register(&mut Untaken(self));
    }

    /// All options with their values, but for those with the names `without`: what decides the result of a run.
    pub(crate) fn settings(&self, without: &[&str]) -> String {
        let mut lines: Vec<_> = self.options.iter().filter(|entry| !without.contains(&entry.name)).collect();
        lines.sort_by_key(|entry| entry.name);
        lines.iter().map(|entry| format!("--{}={}\n", entry.name, entry.value.show())).collect()
    }

    /// Sets the options that `args` (without the program's name) and their configuration files give.
    ///
    /// # Errors
    /// At the first option that is unknown or that its value does not suit; earlier ones are set by then.
    pub(crate) fn read(&mut self, args: &[OsString]) -> Result<Request, OptionsError> {
        let asks_help = |arg: &OsString| arg == "--help" || (self.syntax == Syntax::People && arg == "-h");
        if args.iter().take_while(|&arg| arg != "--").any(asks_help) {
            return Ok(Request::Help);
        }
        let (given, plain) = self.split(args)?;
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

    /// Whether the tool should echo its command line.
    pub(crate) fn print_args(&self) -> bool {
        self.print_args
    }

    /// The level that `--verbose` asked for.
    pub(crate) fn verbose(&self) -> i32 {
        self.verbose
    }

    /// The usage and every option with its type and default.
    pub(crate) fn help(&self) -> String {
        let mut lines: Vec<(String, &str)> = self.options.iter().map(|entry| (entry.shown(), &*entry.help)).collect();
        lines.sort();
        let mut text = format!("\n{}\n\n", self.usage);
        if !lines.is_empty() {
            text.push_str("Options:\n");
            for (name, help) in lines {
                let _ = writeln!(text, "  --{name:<25} : {help}");
            }
            text.push('\n');
        }
        text.push_str("Standard options:\n");
        for (name, help) in [
            ("config", "File of further options, one to a line; may be given more than once (string, default = \"\")"),
            ("help", "Show this text (bool, default = false)"),
            ("print-args", "Echo the command line to stderr (bool, default = "),
            ("verbose", "How much to log, from 0 (int, default = 0)"),
        ] {
            let _ = write!(text, "  --{name:<25} : {help}");
            match (name, self.syntax) {
                ("print-args", Syntax::Kaldi) => text.push_str("true)\n"),
                ("print-args", Syntax::People) => text.push_str("false)\n"),
                _ => text.push('\n'),
            }
        }
        text
    }

    /// Tells options from plain arguments.
    fn split(&mut self, args: &[OsString]) -> Result<(Vec<Given>, Vec<OsString>), OptionsError> {
        let people = self.syntax == Syntax::People;
        let (mut given, mut plain) = (Vec::new(), Vec::new());
        let (mut options_ended, mut dashes_seen) = (false, false);
        let mut args = args.iter().peekable();
        while let Some(arg) = args.next() {
            if arg == "--" && !dashes_seen {
                (options_ended, dashes_seen) = (true, true);
            } else if options_ended || !self.is_option(arg) {
                plain.push(arg.clone());
                options_ended |= !people;
            } else {
                let mut option = self.given(utf8(arg)?)?;
                if people && option.value.is_none() {
                    let is_bool = self.value(&option)?.is_bool();
                    if let Some(value) = args.next_if(|next| !is_bool || *next == "true" || *next == "false") {
                        option.value = Some(utf8(value)?.trim().to_owned());
                    }
                }
                given.push(option);
            }
        }
        Ok((given, plain))
    }

    fn is_option(&self, arg: &OsStr) -> bool {
        let bytes = arg.as_encoded_bytes();
        bytes.starts_with(b"--") || (self.syntax == Syntax::People && bytes.len() > 1 && bytes[0] == b'-')
    }

    /// Takes `--name` or `--name=value` apart; a letter gives the name it stands for.
    fn given(&self, typed: &str) -> Result<Given, OptionsError> {
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value.trim().to_owned())),
            None => (typed, None),
        };
        let typed = typed.to_owned();
        let name = match name.strip_prefix("--") {
            Some("") => return Err(OptionsError::NoName { typed }),
            Some(name) => name.trim_end().replace('_', "-").to_ascii_lowercase(),
            None => {
                let stands_for =
                    |entry: &&Entry<'_>| entry.letter.is_some_and(|letter| name[1..] == *letter.to_string());
                match self.options.iter().find(stands_for) {
                    Some(entry) => entry.name.to_owned(),
                    None => return Err(OptionsError::Unknown { typed }),
                }
            }
        };
        Ok(Given { typed, name, value })
    }

    /// Where the value of `option` lives.
    fn value(&mut self, option: &Given) -> Result<&mut dyn OptionValue, OptionsError> {
        match option.name.as_str() {
            "config" => Ok(&mut self.config),
            "print-args" => Ok(&mut self.print_args),
            "verbose" => Ok(&mut self.verbose),
            name => match self.options.iter_mut().find(|entry| entry.name == name) {
                Some(entry) => Ok(&mut *entry.value),
                None => Err(OptionsError::Unknown { typed: option.typed.clone() }),
            },
        }
    }

    fn set(&mut self, option: &Given) -> Result<(), OptionsError> {
        let value = self.value(option)?;
        let text = match &option.value {
            Some(text) if text.is_empty() && value.is_bool() => None,
            Some(text) => Some(text.as_str()),
            None => value.is_bool().then_some("true"),
        };
        let Some(text) = text else {
            return Err(OptionsError::NoValue { typed: option.typed.clone(), name: option.name.clone() });
        };
        value.set(text).map_err(|source| OptionsError::Value { name: option.name.clone(), source })
    }

    fn read_config(&mut self, file: &str) -> Result<(), OptionsError> {
        let text = fs::read_to_string(file).map_err(|source| OptionsError::Config { file: file.to_owned(), source })?;
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

impl Entry<'_> {
    /// The name as help shows it.
    fn shown(&self) -> String {
        match self.letter {
            Some(letter) => format!("{}, -{letter}", self.name),
            None => self.name.to_owned(),
        }
    }
}

fn utf8(argument: &OsStr) -> Result<&str, OptionsError> {
    argument.to_str().ok_or_else(|| OptionsError::NotUtf8 { argument: argument.to_owned() })
}

/// `args` as one line that a shell would read back as them.
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

    /// Configuration files and command lines may be anything; how to search longer stands in `kaldera-fuzz`.
    #[test]
    fn configs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = format!("--config={}", file.path().display());
        kaldera_fuzz::fuzz!("configs", |bytes| {
            fs::write(file.path(), bytes).unwrap();
            let text = String::from_utf8_lossy(bytes);
            // Other files are none of this test's business.
            let lines: Vec<&str> = text.lines().filter(|line| !line.contains("config")).collect();
            for syntax in [Syntax::Kaldi, Syntax::People] {
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
            Request::Help => panic!("help"),
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
        for syntax in [Syntax::Kaldi, Syntax::People] {
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
        let (request, options) = parse(Syntax::People, &args).unwrap();
        assert_eq!(plain(&request), ["a.wav", "b.wav", "-"]);
        let expected = Options { num_ceps: 3, dither: -0.5, use_energy: false, window_type: "hamming".to_owned() };
        assert_eq!(options, expected);
        assert_eq!(plain(&parse(Syntax::People, &["--use-energy", "a.wav"]).unwrap().0), ["a.wav"]);
    }

    #[test]
    fn errors_say_what_was_typed() {
        let unknown = |typed: &str| format!("there is no option '{typed}': --help lists those there are");
        assert_eq!(error(Syntax::Kaldi, &["--numceps=3"]), unknown("--numceps=3"));
        assert_eq!(error(Syntax::Kaldi, &["--num-ceps=many"]), "option --num-ceps: 'many' is not an integer");
        assert_eq!(error(Syntax::Kaldi, &["--=3"]), "'--=3' has no name before its '='");
        assert_eq!(error(Syntax::People, &["-x"]), unknown("-x"));
        assert_eq!(error(Syntax::People, &["-é=3"]), unknown("-é=3"));
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
        assert_eq!(parse(Syntax::Kaldi, &["a", "b", "--help"]).unwrap().0, Request::Help);
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
