//! `cairn completions` and `cairn manual`: files that a package has for shells and for `man`, made from the declaration
//! of the commands.

use std::{fs, io, path::Path};

use clap_complete::Shell;
use clap_mangen::Man;

use crate::{
    cli,
    exit::{Exit, Failure, plain},
    out,
};

const NAME: &str = "cairn";

pub(crate) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), NAME, &mut script);
    out::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

pub(crate) fn manual(folder: &Path) -> Result<Exit, Failure> {
    let failed = |path: &Path, error: &io::Error| {
        Failure::usage(format!("{} cannot be written: {}", path.display(), plain(error)))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut command = cli::command();
    // Names of subcommands get those of their parents.
    command.build();
    let mut waiting = vec![command];
    while let Some(command) = waiting.pop() {
        waiting.extend(command.get_subcommands().filter(|sub| sub.get_name() != "help").cloned());
        let man = Man::new(command);
        let path = folder.join(man.get_filename());
        let mut page = Vec::new();
        man.render(&mut page).and_then(|()| fs::write(&path, page)).map_err(|error| failed(&path, &error))?;
    }
    Ok(Exit::Done)
}
