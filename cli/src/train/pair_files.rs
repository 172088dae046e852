//! `--pairs`, which can be given several times with one file or two.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};

const NAME: &str = "pairs";

/// The files of each `--pairs`. clap's derive would put the files of all of them into one list.
#[derive(Clone, Debug, Default)]
pub struct PairFiles(pub Vec<Vec<PathBuf>>);

impl FromArgMatches for PairFiles {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let all = matches.get_occurrences::<PathBuf>(NAME);
        Ok(Self(all.into_iter().flatten().map(|files| files.cloned().collect()).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for PairFiles {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new(NAME)
                .long(NAME)
                .value_name("FILE")
                .required(true)
                .num_args(1..=2)
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
                .help("Lines SOURCE TAB TARGET, or 2 files; repeatable"),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
