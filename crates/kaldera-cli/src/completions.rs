//! `kaldera completions`: shell completions of `kaldera` command lines.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::{Shell, generate};

use crate::native::{Trouble, arguments, end, print};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, HELP, tools};
use kaldera::similar::did_you_mean;

const TOOL: &str = "completions";
const USAGE: &str = "\
Print completions of commands, options, kinds and operations for a shell.

Usage: kaldera completions SHELL

SHELL is bash, zsh, fish, elvish or powershell.

Examples:
  kaldera completions bash > ~/.local/share/bash-completion/completions/kaldera
  kaldera completions zsh > ~/.zfunc/_kaldera
  kaldera completions fish > ~/.config/fish/completions/kaldera.fish";

const SHELLS: [(&str, Shell); 5] = [
    ("bash", Shell::Bash),
    ("zsh", Shell::Zsh),
    ("fish", Shell::Fish),
    ("elvish", Shell::Elvish),
    ("powershell", Shell::PowerShell),
];

/// Answers a call of `kaldera completions`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    if let Call::Describe(command) = call {
        let shells = PossibleValuesParser::new(SHELLS.map(|(name, _)| name));
        *command = std::mem::take(command).arg(Arg::new("shell").required(true).value_parser(shells));
        return ExitCode::SUCCESS;
    }
    end(TOOL, complete(call))
}

fn complete(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    let Some(arguments) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let names = SHELLS.map(|(name, _)| name);
    let [name] = &arguments[..] else {
        let found = arguments.len();
        return Err(Trouble::Usage(format!("expected one of {}, found {found} arguments", names.join(", "))));
    };
    let name = name.to_string_lossy();
    let Some((_, shell)) = SHELLS.iter().find(|(known, _)| *known == name) else {
        let hint = did_you_mean(&name, names);
        return Err(Trouble::Usage(format!("'{name}' is not one of {}{hint}", names.join(", "))));
    };
    let mut script = Vec::new();
    generate(*shell, &mut command_line(), "kaldera", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the complete command line by asking each tool.
fn command_line() -> Command {
    let described = tools().map(|tool| {
        let mut command = Command::new(tool.name).about(tool.about);
        (tool.run)(Call::Describe(&mut command));
        if tool.name == HELP {
            let names = PossibleValuesParser::new(tools().map(|tool| tool.name));
            command = command.arg(Arg::new("command").value_parser(names));
        }
        command
    });
    Command::new("kaldera")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .disable_help_subcommand(true)
        .subcommands(described)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command_line().debug_assert();
    }
}
