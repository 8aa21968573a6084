//! How the process ends: the exit codes, and the failures that lead to them.

use std::{fmt, io};

use cairn_checkpoint::CheckpointError;
use cairn_export::ExportError;
use cairn_follow::FollowError;
use cairn_model::ChainParams;
use cairn_node::NodeError;
use cairn_pipeline::PipelineError;
use cairn_reader::ReadError;
use cairn_sources::SourceError;
use cairn_store::StoreError;
use cairn_writer::WriteError;

cairn_model::words! {
    /// Exit codes. Scripts and service managers rely on them: a number never changes its meaning.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Exit {
        Done: 0 = "success",
        Other: 1 = "other error",
        /// The command line, the environment or `cairn.toml` is wrong. Clap uses the same number.
        Usage: 2 = "invalid command line, environment or cairn.toml",
        Source: 3 = "block files or node unusable: missing, unreadable, pruned or of another network",
        Corrupt: 4 = "block or undo files damaged or incomplete (the message names file and offset)",
        Index: 5 = "index missing, empty, damaged, in use by another process or of another network",
        DiskFull: 6 = "disk full, or too small (`cairn plan`); free some space and start again, the work resumes",
        Difference: 7 = "`cairn verify`, `cairn doctor` or another check found damage, a difference or a fault",
        Listen: 8 = "cannot listen: the address is in use or not permitted",
        Interrupted: 130 = "stopped by SIGINT (Ctrl-C); nothing is lost",
        Terminated: 143 = "stopped by SIGTERM; nothing is lost",
    }
    /// Returns the meaning, for `--help` and the operators' guide.
    pub(crate) fn meaning;
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// Lists all codes, one per line.
    pub(crate) fn list() -> String {
        Exit::ALL.iter().fold(String::new(), |list, e| format!("{list}  {:>3}  {}\n", e.code(), e.meaning()))
    }
}

/// A failed command: one line that says what is wrong, and an optional hint that says what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// Creates a failure without a hint.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), hint: None }
    }

    /// Creates a failure for an invalid command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Wraps an error of the operating system about a file or folder.
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            let exit = if is_full(&error) { Exit::DiskFull } else { Exit::Other };
            Failure::new(exit, format!("{}: {}", path.display(), plain(&error)))
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Messages of the database may have several lines. Print one.
        let message = self.message.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, "error: {message}")?;
        // The limit of open files is the cause, not the operation that reached it.
        let hint = if message.contains(TOO_MANY_FILES) { Some(MORE_FILES) } else { self.hint.as_deref() };
        hint.iter().try_for_each(|hint| write!(f, "\n hint: {hint}"))
    }
}

/// Text of the operating system for a reached limit of open files; messages of the database contain it as well.
const TOO_MANY_FILES: &str = "Too many open files";
/// The hint for that case.
const MORE_FILES: &str =
    "nothing is damaged: raise the limit of open files (ulimit -n, or LimitNOFILE in a systemd unit)";

/// Describes an error of the operating system so that a user knows what to check.
pub(crate) fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::NotADirectory => "a file is where a folder is expected".to_owned(),
        io::ErrorKind::IsADirectory => "a folder is where a file is expected".to_owned(),
        io::ErrorKind::PermissionDenied => "this user has no permission for it".to_owned(),
        _ => error.to_string(),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::new(if is_full(&error) { Exit::DiskFull } else { Exit::Other }, plain(&error))
    }
}

/// The flags for this network in place of those for another one.
fn flags_of(chain: ChainParams, not: ChainParams) -> String {
    let flags = format!("--network {}", chain.network());
    match chain.custom_challenge() {
        Some(challenge) => format!("{flags} --signet-challenge {}", challenge.to_hex()),
        None if not.custom_challenge().is_some() => format!("{flags} without --signet-challenge"),
        None => flags,
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let exit = if error.is_corruption() { Exit::Corrupt } else { Exit::Source };
        let hint = match &error {
            SourceError::WrongNetwork { expected, found, .. } => {
                Some(format!("use {} for these block files", flags_of((*found).into(), *expected)))
            }
            SourceError::OtherSignet { .. } => Some(
                "use --network signet, and --signet-challenge with the signetchallenge of the node that wrote the files"
                    .to_owned(),
            ),
            SourceError::Pruned { .. } => {
                Some("copy blocks/ from a node that runs with prune=0; only such a node has the whole chain".to_owned())
            }
            SourceError::FirstFileUnusable { .. } => Some("put the file there, or copy the folder again".to_owned()),
            SourceError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("give this user read access to the files, and search access to their folders".to_owned())
            }
            SourceError::WrongXorKey { .. } => {
                Some("copy xor.dat together with the block files, from the same folder at the same time".to_owned())
            }
            SourceError::CorruptBlock { .. } => {
                Some("copy this file again, or let the node repair it (bitcoind -reindex)".to_owned())
            }
            SourceError::CorruptUndo { .. } => {
                Some("copy this file again, or remove all rev files: indexing then takes longer".to_owned())
            }
            SourceError::BlockChanged { .. } => {
                Some("the files were replaced while they were read; start again when the copy is complete".to_owned())
            }
            SourceError::NoMemoryForBlocks { .. } => {
                Some("raise --memory: it needs 96 MiB plus 170 bytes for each block of the folder".to_owned())
            }
            _ => None,
        };
        Failure { exit, message: error.to_string(), hint }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let hint = match &error {
            // Their messages say what to do.
            ReadError::NewerFormat { .. }
            | ReadError::NewerTables(_)
            | ReadError::StageVersion { .. }
            | ReadError::Stopped(_) => {
                return Failure::new(Exit::Index, error.to_string());
            }
            ReadError::Empty | ReadError::Unusable(_) => "make the index with `cairn index`, or correct --datadir",
            ReadError::Unfinished(_) => "run `cairn index` or `cairn reindex`: it finishes the rebuild",
            ReadError::Database(_) => "check the disk, and that the folder is an index",
            ReadError::Damaged { .. }
            | ReadError::Files(_)
            | ReadError::Lacks { .. }
            | ReadError::Decode(_)
            | ReadError::Broken(_) => {
                "the index is damaged; `cairn verify` shows the damage, `cairn repair` repairs it"
            }
        };
        Failure::new(Exit::Index, error.to_string()).hint(hint)
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Read(error) => error.into(),
            WriteError::DiskFull(_) => Failure::new(Exit::DiskFull, error.to_string())
                .hint("free some space and start again; the work resumes"),
            WriteError::Locked(_) => Failure::new(Exit::Index, error.to_string())
                .hint("only one process can write an index; stop the other process or use another --datadir"),
            WriteError::Database(_) if error.is_damage() => Failure::new(Exit::Index, error.to_string())
                .hint("the index is damaged; `cairn verify` shows the damage, `cairn repair` repairs it"),
            WriteError::Database(_) | WriteError::Io { .. } => Failure::new(Exit::Index, error.to_string()),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let message = error.to_string();
        match error {
            ExportError::Index(error) => error.into(),
            ExportError::Row(_) | ExportError::Contradiction(_) => Failure::new(Exit::Index, message),
            ExportError::Store(error) => {
                Failure::of_store(error, message, "free some space and run the same command again: it goes on")
            }
            ExportError::Folder(_) | ExportError::Memory { .. } => Failure::usage(message),
            _ => Failure::new(Exit::Other, message),
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        let message = error.to_string();
        match error {
            CheckpointError::Index(error) => error.into(),
            CheckpointError::Store(error) => {
                Failure::of_store(error, message, "free some space and run the same command again: it starts over")
            }
            CheckpointError::Folder(_) | CheckpointError::Key(_) => Failure::usage(message),
            CheckpointError::Damaged { .. } | CheckpointError::Untrusted { .. } => {
                Failure::new(Exit::Difference, message)
            }
            _ => Failure::new(Exit::Other, message),
        }
    }
}

impl Failure {
    /// Converts the failure of a store in an export or a checkpoint. `message` is their own text, used if the work was
    /// stopped; `hint` is their hint for a full disk.
    fn of_store(error: StoreError, message: String, hint: &str) -> Self {
        if matches!(error, StoreError::Stopped | StoreError::Panicked) {
            return Failure::new(Exit::Other, message);
        }
        let failure = Failure::from(error);
        if failure.exit == Exit::DiskFull { failure.hint(hint) } else { failure }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::File { path, source } => Failure::io(&path)(source),
            StoreError::Settings(_) | StoreError::Taken(_) => Failure::usage(message),
            StoreError::Failed { .. } => {
                Failure::new(Exit::Other, message).hint("run the same command again: it goes on with what was sent")
            }
            _ => Failure::new(Exit::Other, message),
        }
    }
}

impl From<FollowError> for Failure {
    fn from(error: FollowError) -> Self {
        let message = error.to_string();
        match error {
            FollowError::Files(error) => error.into(),
            FollowError::Node(error) => error.into(),
            FollowError::Pipeline(error) => error.into(),
            FollowError::Ledger(error) => error.into(),
            FollowError::Read(error) => error.into(),
            FollowError::Folder { path, error } => Failure::io(&path)(error),
            FollowError::Thread(error) => error.into(),
            FollowError::CutShort { .. } => Failure::new(Exit::Corrupt, message).hint(
                "copy the file again, or let the node finish its work or repair its files (bitcoind -reindex); \
                 then start again: it goes on from here",
            ),
            FollowError::Coins(_) | FollowError::Counters(_) | FollowError::Panicked(_) | FollowError::NoSource => {
                Failure::new(Exit::Other, message)
            }
        }
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Self {
        let hint = match &error {
            NodeError::WrongNetwork { .. } => Some("set --network to the node's network"),
            NodeError::WrongSignet { .. } => Some(
                "set --signet-challenge to the node's challenge; leave it out if the node is on the default signet",
            ),
            NodeError::TooOld { .. } => Some("update the node to Bitcoin Core 25 or newer"),
            _ => None,
        };
        let exit = if matches!(error, NodeError::Stopped) { Exit::Interrupted } else { Exit::Source };
        let failure = Failure::new(exit, error.to_string());
        hint.into_iter().fold(failure, Failure::hint)
    }
}

impl From<PipelineError> for Failure {
    fn from(error: PipelineError) -> Self {
        let message = error.to_string();
        let exit = match error {
            PipelineError::Source(error) => return error.into(),
            PipelineError::Write(error) => return error.into(),
            PipelineError::Read(error) => return error.into(),
            PipelineError::WrongNetwork { expected, found } => {
                return Failure::new(Exit::Index, message)
                    .hint(format!("use {}, or another --datadir for another network", flags_of(found, expected)));
            }
            PipelineError::Replica { .. } => {
                return Failure::new(Exit::Index, message).hint(
                    "write on the machine that makes the copies; or, to write this index here from now on, delete the \
                     file `replica` in the data folder",
                );
            }
            PipelineError::ForeignLedger { .. } => {
                return Failure::new(Exit::Index, message)
                    .hint("use another --datadir for another network, or move the folder `ledger` away");
            }
            PipelineError::EventsLost { .. } => {
                return Failure::new(Exit::Index, message).hint(
                    "nothing was changed: restore the folder `ledger` of the data folder from a backup; or run the \
                     same command with --without-events, and import a file of `cairn events export` afterwards",
                );
            }
            PipelineError::LessWork { .. } => {
                return Failure::new(Exit::Source, message)
                    .hint("the block files are older than the index; let the node catch up, or copy them again");
            }
            PipelineError::MissingCoin { .. }
            | PipelineError::MakesMoney { .. }
            | PipelineError::UndoContradicts(_) => Exit::Corrupt,
            PipelineError::UnknownStage(_) | PipelineError::ChainIsTheJournal | PipelineError::AboveTip { .. } => {
                Exit::Usage
            }
            PipelineError::Stopped => Exit::Interrupted,
            _ => Exit::Index,
        };
        Failure::new(exit, message)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cairn_sources::Gap;

    use super::*;

    #[test]
    fn a_limit_of_the_system_is_not_blamed_on_the_disk() {
        let said = "IO error: While open a file for random read: x/000012.sst: Too many open files";
        let failure = Failure::new(Exit::Index, said).hint("check the disk");
        assert_eq!(failure.to_string(), format!("error: {said}\n hint: {MORE_FILES}"));
        let limit = io::Error::from_raw_os_error(24);
        assert!(Failure::io(std::path::Path::new("x"))(limit).to_string().ends_with(MORE_FILES));
    }

    #[test]
    fn codes_are_distinct_and_ascend() {
        assert!(Exit::ALL.windows(2).all(|pair| pair[0].code() < pair[1].code()));
    }

    #[test]
    fn a_message_is_one_line() {
        let failure = Failure::new(Exit::Other, "two\n  lines").hint("do this");
        assert_eq!(failure.to_string(), "error: two lines\n hint: do this");
    }

    #[test]
    fn a_failure_of_following_is_that_of_its_cause() {
        let io = || io::Error::from(io::ErrorKind::StorageFull);
        let path = PathBuf::from("x");
        let end = cairn_sources::DamagedPlace { file: 0, offset: 8 };
        let gap = Gap { after: 3, end, orphan_blocks: 2, cause: None, beyond: None, certain: false };
        let expected = [
            (FollowError::from(ReadError::Empty), Exit::Index),
            (FollowError::Files(SourceError::FolderMissing { path: path.clone() }), Exit::Source),
            (FollowError::Pipeline(PipelineError::Write(WriteError::io(path.clone())(io()))), Exit::DiskFull),
            (FollowError::Folder { path, error: io() }, Exit::DiskFull),
            (FollowError::CutShort { gap, tip: Some(3) }, Exit::Corrupt),
            (FollowError::NoSource, Exit::Other),
        ];
        for (error, exit) in expected {
            let message = error.to_string();
            let failure = Failure::from(error);
            assert_eq!((failure.exit, failure.message), (exit, message));
        }
    }

    #[test]
    fn a_full_disk_is_known_wherever_it_shows() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let failures = [
            Failure::from(full()),
            Failure::io(std::path::Path::new("x"))(full()),
            PipelineError::Write(WriteError::io(PathBuf::from("x"))(full())).into(),
        ];
        assert!(failures.iter().all(|f| f.exit == Exit::DiskFull), "{failures:?}");
    }
}
