//! `cairn state`: backup, check and replacement of the database of keys, sessions, feedback and approvals.

use cairn_state::{CheckReport, StateError, accept, backup, check};

use crate::{
    cli::{KeysAt, StateAccept, StateBackup, StateCommand},
    exit::{Exit, Failure},
    out::print,
    runtime::current_thread,
};

/// Steps that bring back an undamaged database.
const RESTORE: &str = "stop all servers; put a backup (made by `cairn state backup`) in place of the database, and remove \
    the -wal and -shm files next to it; run `cairn state accept`, because a backup may be older than the database that \
    was used last; then run `cairn state check` again";

pub(crate) fn state(command: &StateCommand) -> Result<Exit, Failure> {
    current_thread()?.block_on(async {
        match command {
            StateCommand::Backup(args) => back_up(args).await,
            StateCommand::Check(at) => checked(at).await,
            StateCommand::Accept(args) => accepted(args).await,
        }
    })
}

async fn back_up(args: &StateBackup) -> Result<Exit, Failure> {
    let url = args.at.url()?;
    backup(&url, &args.file, args.force).await.map_err(|error| match error {
        StateError::NotAFile => Failure::usage(error.to_string()).hint(
            "run pg_dump with the URL of --state-url, and restore with pg_restore or psql; then `cairn state check`",
        ),
        StateError::Exists(_) => Failure::usage(error.to_string()).hint("name another file, or give --force"),
        // The message names the file.
        StateError::File { .. } if !error.is_disk_full() => Failure::new(Exit::Other, error.to_string()),
        StateError::Database { .. } if !error.is_disk_full() => {
            Failure::from(error).hint("`cairn state check` says if the database is damaged")
        }
        other => other.into(),
    })?;
    print(&format!("backed up to {}; only its owner can read it\n", args.file.display()))?;
    Ok(Exit::Done)
}

async fn checked(at: &KeysAt) -> Result<Exit, Failure> {
    let url = at.url()?;
    let found = check(&url).await.map_err(|error| match error {
        StateError::File { .. } => Failure::new(Exit::Other, error.to_string())
            .hint("the database does not exist: give --datadir or --state-url, or restore a backup"),
        other => other.into(),
    })?;
    if !found.problems.is_empty() {
        let lines: String = found.problems.iter().map(|problem| format!("damaged: {problem}\n")).collect();
        print(&format!("{lines}the service state is damaged: {RESTORE}\n"))?;
        return Ok(Exit::Difference);
    }
    let version = found.version.unwrap_or_default();
    let CheckReport { keys, tickets, approvals, waiting, writers, reports, payments, timestamps, codes, .. } = found;
    let CheckReport { challenges, x402_payments, simulated_invoices, checkouts, .. } = found;
    print(&format!(
        "ok: schema version {version}, {keys} keys and sessions, {tickets} tickets, {approvals} approvals, \
         {waiting} files of documents that wait, {writers} writers, {reports} reports, {payments} payment addresses, \
         {timestamps} timestamps, {codes} codes, {challenges} challenges, {x402_payments} payments of x402, \
         {simulated_invoices} simulated invoices, {checkouts} checkouts\n"
    ))?;
    Ok(Exit::Done)
}

async fn accepted(args: &StateAccept) -> Result<Exit, Failure> {
    let url = args.at.url()?;
    accept(&url, args.new).await.map_err(|error| match error {
        StateError::NotAFile => Failure::usage(error.to_string())
            .hint("nothing is recorded about a PostgreSQL database, so there is nothing to accept"),
        StateError::Exists(path) => Failure::usage(format!("{}: there is a database", path.display()))
            .hint("without --new, it is used; to begin an empty one, move it away first"),
        StateError::File { .. } => Failure::new(Exit::Other, error.to_string())
            .hint("there is no database: put one there, or begin an empty one with --new"),
        other => other.into(),
    })?;
    let keys = "keys that were revoked since are valid again: revoke them";
    let after = if args.new { "issue keys again" } else { keys };
    print(&format!("{url} is used from now on; {after}\n"))?;
    Ok(Exit::Done)
}
