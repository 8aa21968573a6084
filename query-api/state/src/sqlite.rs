//! SQLite files: how they are made and opened.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use crate::StateError;

/// Time that a statement waits for another process that writes the file.
pub(crate) const BUSY: Duration = Duration::from_secs(3);
/// Retry interval where SQLite itself does not wait.
const BUSY_AGAIN: Duration = Duration::from_millis(10);

/// Page cache of a connection that writes: minus the KiB, in the words of SQLite.
const WRITER_CACHE: &str = "-8192";
/// Pages of the log, of 4 KiB each, after which they are written to the file.
const LOG_PAGES: &str = "4000";

pub(crate) fn sqlite(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        // `make` creates it with permissions for its owner only.
        .create_if_missing(false)
        // A key that was shown must survive a power failure.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY)
        .foreign_keys(true)
        // Removed data, such as the texts of a report, is overwritten in the file.
        .pragma("secure_delete", "ON")
        .disable_statement_logging()
}

/// Connection options for those that write.
pub(crate) fn sqlite_writer(path: &Path) -> SqliteConnectOptions {
    // Hashes of timestamps come in any order: with small caches, the same pages are written for each group.
    sqlite(path).pragma("cache_size", WRITER_CACHE).pragma("wal_autocheckpoint", LOG_PAGES)
}

/// Switches the file to a write-ahead log, so that readers never wait for a writer. If two processes start at the same
/// time, one gets a busy error, because SQLite does not wait when it has to upgrade a lock.
pub(crate) async fn begin_log(path: &Path) -> Result<(), StateError> {
    let options = sqlite(path).journal_mode(SqliteJournalMode::Wal);
    let began = Instant::now();
    loop {
        let connected = SqliteConnection::connect_with(&options).await;
        match connected {
            Err(error) if is_busy(&error) && began.elapsed() < BUSY => tokio::time::sleep(BUSY_AGAIN).await,
            Err(error) => return Err(StateError::database("cannot be opened")(error)),
            Ok(connection) => {
                // The next connection reports any error.
                let _ended = connection.close().await;
                return Ok(());
            }
        }
    }
}

/// True if another process has the lock: primary result code 5, with any extended code.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}

/// Creates an empty file that only its owner can read, if there is none. SQLite gives its side files the same
/// permissions.
pub(crate) fn make(path: &Path) -> Result<(), StateError> {
    match make_private(path) {
        Err(StateError::File { reason, .. }) if reason.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Creates an empty file that only its owner can read. There must be none.
pub(crate) fn make_private(path: &Path) -> Result<(), StateError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|reason| StateError::File { path: path.to_owned(), reason })
}
